/* SPDX-License-Identifier: Apache-2.0
 * The heap of an instance: blocks of a few sizes (four a doubling), each size with a list of free
 * ones, cut from memory that only grows. Owner: the instance, which has one thread. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_BYTES = 65536,
    HEAD_BYTES = 16, /* before each block: its class; keeps blocks aligned */
    LEAST_SHIFT = 4, /* the smallest block has 16 bytes */
    STEPS = 4,
    CLASSES = 28 * STEPS,
};

typedef struct block {
    struct block *next;
} block;

extern unsigned char __heap_base; /* of the linker: where the static data ends */

static uintptr_t heap_at, heap_end;
static block *spare[CLASSES];

/* 16, 20, 24, 28, 32, 40 … bytes, rounded up to a multiple of 16. */
static size_t class_bytes(unsigned which)
{
    size_t least = (size_t)1 << (LEAST_SHIFT + which / STEPS);
    size_t bytes = least + least / STEPS * (which % STEPS);
    return (bytes + 15) & ~(size_t)15;
}

static unsigned class_of(size_t size_bytes)
{
    if (size_bytes <= 16)
        return 0;
    unsigned shift = 31 - (unsigned)__builtin_clz((unsigned)(size_bytes - 1));
    unsigned which = (shift - LEAST_SHIFT) * STEPS;
    while (class_bytes(which) < size_bytes)
        which++;
    return which;
}

static void *cut(size_t size_bytes)
{
    if (heap_at == 0) {
        heap_at = ((uintptr_t)&__heap_base + 15) & ~(uintptr_t)15;
        heap_end = (uintptr_t)__builtin_wasm_memory_size(0) * PAGE_BYTES;
    }
    if (heap_end - heap_at < size_bytes) {
        size_t pages = (size_bytes - (heap_end - heap_at) + PAGE_BYTES - 1) / PAGE_BYTES;
        if (__builtin_wasm_memory_grow(0, pages) == SIZE_MAX)
            return NULL;
        heap_end += pages * PAGE_BYTES;
    }
    void *place = (void *)heap_at;
    heap_at += size_bytes;
    return place;
}

void *malloc(size_t size_bytes)
{
    if (size_bytes > ((size_t)1 << 30))
        return NULL;
    unsigned which = class_of(size_bytes);
    block *found = spare[which];
    if (found) {
        spare[which] = found->next;
        return found;
    }
    unsigned char *place = cut(HEAD_BYTES + class_bytes(which));
    if (!place)
        return NULL;
    *(unsigned *)(void *)place = which;
    return place + HEAD_BYTES;
}

static unsigned class_at(const void *own_block)
{
    return *(const unsigned *)((uintptr_t)own_block - HEAD_BYTES);
}

void free(void *own_block)
{
    if (!own_block)
        return;
    block *freed = own_block;
    unsigned which = class_at(freed);
    freed->next = spare[which];
    spare[which] = freed;
}

void *calloc(size_t count, size_t size_bytes)
{
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, size_bytes, &bytes))
        return NULL;
    void *place = malloc(bytes);
    return place ? memset(place, 0, bytes) : NULL;
}

void *realloc(void *own_block, size_t size_bytes)
{
    if (!own_block)
        return malloc(size_bytes);
    size_t have_bytes = class_bytes(class_at(own_block));
    if (size_bytes <= have_bytes)
        return own_block;
    void *place = malloc(size_bytes);
    if (!place)
        return NULL;
    memcpy(place, own_block, have_bytes);
    free(own_block);
    return place;
}
