/* SPDX-License-Identifier: Apache-2.0
 * Regions: memory that a client on a Unix socket shares, as a memfd sealed so that it cannot
 * shrink. It is a way for tensor bytes, never their place: they are copied out once when they are
 * announced, and nothing else is ever read there. Owned by the session; counted by what is under
 * way. Thread: loop. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "proto/base/map.h"
#include "proto/message.h"

typedef struct bd_region {
    uint32_t count;
    uint8_t *bytes; /* mapped */
    size_t size_bytes;
} bd_region;

typedef struct bd_regions {
    bd_map regions; /* number → bd_region */
    uint64_t bytes, bytes_max;
} bd_regions;

/* Takes the descriptor over; -1: none came. INVALID, LIMIT, CONFLICT. */
bd_error *bd_regions_add(bd_regions *regions, const struct bd_message_region_add *add,
                         int own_fd) BD_MUST_USE;
bd_error *bd_regions_drop(bd_regions *regions, uint64_t number) BD_MUST_USE;
void bd_regions_deinit(bd_regions *regions);
/* NOT_FOUND, or INVALID if the bytes do not lie within it. Borrowed. */
bd_error *bd_regions_find(const bd_regions *regions, uint64_t number, uint64_t place,
                          uint64_t bytes, bd_region **out) BD_MUST_USE;
bd_region *bd_region_retain(bd_region *region);
void bd_region_release(bd_region *region); /* NULL is fine */
