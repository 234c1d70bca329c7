/* SPDX-License-Identifier: Apache-2.0
 * Growable array on the heap. Zero-initialise it, free it with bd_vec_deinit.
 *     typedef BD_VEC(uint32_t) index_vec;
 *     index_vec v = {0};  *bd_vec_push(&v) = 7;  v.items[0];  v.count;
 * A pointer into it is valid until the next push. */
#pragma once

#include <stddef.h>

#define BD_VEC(type)                                                                               \
    struct {                                                                                       \
        type *items;                                                                               \
        size_t count;                                                                              \
        size_t capacity;                                                                           \
    }

/* The place of a new last item, not zeroed. */
#define bd_vec_push(vec)                                                                           \
    (bd_vec_reserve((vec), (vec)->count + 1), &(vec)->items[(vec)->count++])
#define bd_vec_reserve(vec, wanted)                                                                \
    ((vec)->items = bd_vec_with_room((vec)->items, (wanted), &(vec)->capacity,                     \
                                     sizeof *(vec)->items))
#define bd_vec_clear(vec) ((void)((vec)->count = 0))
#define bd_vec_deinit(vec)                                                                         \
    (bd_vec_free((vec)->items), (vec)->items = NULL, (vec)->count = 0, (vec)->capacity = 0)

void *bd_vec_grow(void *items, size_t wanted_count, size_t *capacity, size_t item_bytes);
void bd_vec_free(void *items);
static inline void *bd_vec_with_room(void *items, size_t wanted_count, size_t *capacity,
                                     size_t item_bytes)
{
    return wanted_count <= *capacity ? items
                                     : bd_vec_grow(items, wanted_count, capacity, item_bytes);
}
