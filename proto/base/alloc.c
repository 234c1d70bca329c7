/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "proto/base/assert.h"

void *bd_try_alloc(size_t size_bytes)
{
    return malloc(size_bytes ? size_bytes : 1);
}

void *bd_try_alloc_zeroed(size_t size_bytes)
{
    return calloc(1, size_bytes ? size_bytes : 1);
}

enum { RESERVE_BYTES = 1 << 20 };
static _Atomic(void *) reserve;

bool bd_alloc_keep_reserve(void)
{
    if (atomic_load(&reserve))
        return true;
    void *none = NULL, *block = bd_try_alloc(RESERVE_BYTES);
    if (block && !atomic_compare_exchange_strong(&reserve, &none, block))
        free(block); /* another thread was first */
    return block != NULL;
}

static void spend_reserve(void)
{
    void *block = atomic_exchange(&reserve, NULL);
    BD_ASSERT(block && "the host has no memory left");
    free(block);
}

void *bd_alloc(size_t size_bytes)
{
    void *block = bd_try_alloc(size_bytes);
    while (!block) {
        spend_reserve();
        block = bd_try_alloc(size_bytes);
    }
    return block;
}

void *bd_alloc_zeroed(size_t size_bytes)
{
    void *block = bd_try_alloc_zeroed(size_bytes);
    while (!block) {
        spend_reserve();
        block = bd_try_alloc_zeroed(size_bytes);
    }
    return block;
}

void *bd_realloc(void *block, size_t size_bytes)
{
    void *moved = realloc(block, size_bytes ? size_bytes : 1);
    while (!moved) {
        spend_reserve();
        moved = realloc(block, size_bytes ? size_bytes : 1);
    }
    return moved;
}

void bd_free(void *block)
{
    free(block);
}

bool bd_alloc_is_left(size_t size_bytes)
{
    void *volatile block = malloc(size_bytes); /* volatile: the pair is not optimised away */
    free(block);
    return block != NULL;
}

void bd_alloc_trim(void)
{
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

char *bd_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(bd_alloc(size), text, size);
}

bool bd_size_mul(size_t a, size_t b, size_t *out)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product))
        return false;
    *out = product;
    return true;
}

bool bd_size_add(size_t a, size_t b, size_t *out)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return false;
    *out = sum;
    return true;
}
