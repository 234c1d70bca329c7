/* SPDX-License-Identifier: Apache-2.0
 * Map from u64 to a pointer: open addressing, linear probes, deletion by back-shift.
 * Zero-initialise it. Values are borrowed, never NULL. Owned by one thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct bd_map {
    struct bd_map_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
} bd_map;

void bd_map_deinit(bd_map *map);
void *bd_map_get(const bd_map *map, uint64_t key); /* NULL if absent */
/* Returns the value that stood there, or NULL. */
void *bd_map_put(bd_map *map, uint64_t key, void *value);
void *bd_map_remove(bd_map *map, uint64_t key);
/* Iterates: start with *cursor = 0; false at the end. The map must not change meanwhile. */
int bd_map_next(const bd_map *map, size_t *cursor, uint64_t *out_key, void **out_value);
