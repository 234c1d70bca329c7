/* SPDX-License-Identifier: Apache-2.0
 * Bump arena: things that die together. Owned by one thread at a time.
 * Memory is aligned to 16 bytes and not zeroed unless asked. Blocks grow by doubling up to 1
 * MiB. */
#pragma once

#include <stddef.h>

typedef struct bd_arena_block bd_arena_block;
typedef struct bd_arena {
    bd_arena_block *head;
    size_t used_bytes;  /* of the head block */
    size_t total_bytes; /* of all blocks */
} bd_arena;

void bd_arena_init(bd_arena *arena);
void bd_arena_deinit(bd_arena *arena);
/* Empty; keeps the largest block. */
void bd_arena_reset(bd_arena *arena);
void *bd_arena_alloc(bd_arena *arena, size_t size_bytes);
void *bd_arena_zeroed(bd_arena *arena, size_t size_bytes);
void *bd_arena_copy(bd_arena *arena, const void *bytes, size_t size_bytes);

#define BD_ARENA_ARRAY(arena, type, count)                                                         \
    ((type *)bd_arena_zeroed((arena), sizeof(type) * (size_t)(count)))
