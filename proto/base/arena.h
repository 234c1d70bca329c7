/* SPDX-License-Identifier: Apache-2.0
 * Bump arena: things that die together. Owned by one thread at a time.
 * Memory is aligned to 16 bytes and not zeroed unless asked. Blocks grow by doubling up to 1
 * MiB. */
#pragma once

#include <stddef.h>

typedef struct bd_arena_block {
    struct bd_arena_block *next;
    size_t size_bytes;
    _Alignas(16) unsigned char bytes[];
} bd_arena_block;

typedef struct bd_arena {
    bd_arena_block *head;
    size_t used_bytes;  /* of the head block */
    size_t total_bytes; /* of all blocks */
} bd_arena;

void bd_arena_init(bd_arena *arena);
void bd_arena_deinit(bd_arena *arena);
void *bd_arena_grow(bd_arena *arena, size_t size_bytes); /* what bd_arena_alloc gives else */
void bd_arena_keep_largest(bd_arena *arena);
/* Empty; keeps the largest block. */
static inline void bd_arena_reset(bd_arena *arena)
{
    if (arena->head && arena->head->next)
        bd_arena_keep_largest(arena);
    arena->used_bytes = 0;
}
static inline void *bd_arena_alloc(bd_arena *arena, size_t size_bytes)
{
    size_t rounded = (size_bytes + 15) & ~(size_t)15;
    if (!arena->head || rounded < size_bytes ||
        arena->head->size_bytes - arena->used_bytes < rounded)
        return bd_arena_grow(arena, size_bytes);
    void *place = arena->head->bytes + arena->used_bytes;
    arena->used_bytes += rounded;
    return place;
}
void *bd_arena_zeroed(bd_arena *arena, size_t size_bytes);
void *bd_arena_copy(bd_arena *arena, const void *bytes, size_t size_bytes);

#define BD_ARENA_ARRAY(arena, type, count)                                                         \
    ((type *)bd_arena_zeroed((arena), sizeof(type) * (size_t)(count)))
