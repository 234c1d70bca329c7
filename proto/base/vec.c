/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/base/vec.h"

#include <stdint.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"

void *bd_vec_grow(void *items, size_t wanted_count, size_t *capacity, size_t item_bytes)
{
    if (wanted_count <= *capacity)
        return items;
    size_t next = *capacity ? *capacity * 2 : 8;
    if (next < wanted_count)
        next = wanted_count;
    BD_ASSERT(next <= SIZE_MAX / 2 / item_bytes);
    *capacity = next;
    return bd_realloc(items, next * item_bytes);
}

void bd_vec_free(void *items)
{
    bd_free(items);
}
