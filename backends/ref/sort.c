/* SPDX-License-Identifier: Apache-2.0
 * SORT: a merge of positions by their keys, which keeps the order of equal ones. */
#include <math.h>
#include <string.h>

#include "backends/ref/interp.h"

/* Whether the key at position b stands strictly before the one at a. */
static bool precedes(bd_ref_cells keys, burn_dtype dtype, int64_t b, int64_t a)
{
    if (dtype == BURN_I64)
        return keys.i[b] < keys.i[a];
    if (dtype == BURN_U64)
        return (uint64_t)keys.i[b] < (uint64_t)keys.i[a];
    double left = dtype == BURN_F64 ? keys.d[b] : (double)keys.f[b];
    double right = dtype == BURN_F64 ? keys.d[a] : (double)keys.f[a];
    return isnan(right) ? !isnan(left) : left < right;
}

typedef struct merge {
    bd_ref_cells keys;
    burn_dtype dtype;
    bool descending;
} merge;

static void merge_runs(const merge *it, const int64_t *from, int64_t *to, int64_t first,
                       int64_t middle, int64_t last)
{
    int64_t a = first, b = middle;
    for (int64_t at = first; at < last; at++) {
        bool right = a == middle;
        if (!right && b < last)
            right = it->descending ? precedes(it->keys, it->dtype, from[a], from[b])
                                   : precedes(it->keys, it->dtype, from[b], from[a]);
        to[at] = right ? from[b++] : from[a++];
    }
}

void bd_ref_sort(const bd_ref_run *run, const bd_kir_instr *instr)
{
    merge it = {{.bytes = run->slots[instr->index]}, (burn_dtype)instr->dtype, instr->flags & 1};
    int64_t *order = (int64_t *)(void *)run->slots[instr->index + 1];
    int64_t *room = (int64_t *)(void *)run->slots[instr->index + 2];
    int64_t count = run->serial_points;
    for (int64_t i = 0; i < count; i++)
        order[i] = i;
    for (int64_t width = 1; width < count; width *= 2) {
        for (int64_t first = 0; first < count; first += 2 * width) {
            int64_t middle = first + width < count ? first + width : count;
            int64_t last = first + 2 * width < count ? first + 2 * width : count;
            merge_runs(&it, order, room, first, middle, last);
        }
        memcpy(order, room, (size_t)count * sizeof *order);
    }
}
