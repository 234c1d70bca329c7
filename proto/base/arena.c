/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/base/arena.h"

#include <stdint.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"

enum { FIRST_BLOCK_BYTES = 4096, LARGEST_BLOCK_BYTES = 1 << 20 };

void bd_arena_init(bd_arena *arena)
{
    *arena = (bd_arena){0};
}

void bd_arena_deinit(bd_arena *arena)
{
    for (bd_arena_block *block = arena->head; block;) {
        bd_arena_block *next = block->next;
        bd_free(block);
        block = next;
    }
    *arena = (bd_arena){0};
}

void bd_arena_keep_largest(bd_arena *arena)
{
    bd_arena_block *largest = arena->head;
    for (bd_arena_block *block = arena->head; block; block = block->next)
        if (block->size_bytes > largest->size_bytes)
            largest = block;
    for (bd_arena_block *block = arena->head; block;) {
        bd_arena_block *next = block->next;
        if (block != largest)
            bd_free(block);
        block = next;
    }
    *arena = (bd_arena){.head = largest, .total_bytes = largest->size_bytes};
    largest->next = NULL;
}

void *bd_arena_grow(bd_arena *arena, size_t size_bytes)
{
    BD_ASSERT(size_bytes <= SIZE_MAX / 4);
    size_t rounded = (size_bytes + 15) & ~(size_t)15;
    size_t block_bytes = arena->head ? arena->head->size_bytes * 2 : FIRST_BLOCK_BYTES;
    if (block_bytes > LARGEST_BLOCK_BYTES)
        block_bytes = LARGEST_BLOCK_BYTES;
    if (block_bytes < rounded)
        block_bytes = rounded;
    bd_arena_block *block = bd_alloc(sizeof *block + block_bytes);
    block->next = arena->head;
    block->size_bytes = block_bytes;
    arena->head = block;
    arena->used_bytes = rounded;
    arena->total_bytes += block_bytes;
    return block->bytes;
}

void *bd_arena_zeroed(bd_arena *arena, size_t size_bytes)
{
    return memset(bd_arena_alloc(arena, size_bytes), 0, size_bytes);
}

void *bd_arena_copy(bd_arena *arena, const void *bytes, size_t size_bytes)
{
    void *place = bd_arena_alloc(arena, size_bytes);
    if (size_bytes)
        memcpy(place, bytes, size_bytes);
    return place;
}
