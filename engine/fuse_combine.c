/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/fuse_parts.h"
#include "proto/base/alloc.h"

static bool writes_partly(const bd_region *region)
{
    for (size_t i = 0; i < region->roots.count; i++) {
        const bd_region_root *root = &region->roots.items[i];
        if (root->copies || root->mode != BD_KIR_SET || bd_affine_has_virtual(&root->address))
            return true;
    }
    return false;
}

static void redirect(bd_fusion *fusion, uint32_t from, uint32_t to)
{
    bd_number_list *moved = &fusion->successors.items[from];
    for (size_t i = 0; i < moved->count; i++)
        *bd_vec_push(&fusion->successors.items[to]) = moved->items[i];
    bd_vec_deinit(moved);
    for (size_t r = 0; r < fusion->successors.count; r++) {
        bd_number_list *list = &fusion->successors.items[r];
        for (size_t i = 0; i < list->count; i++) {
            if (list->items[i] == from)
                list->items[i] = to;
        }
    }
}

/* Numbers become dense again. */
static void drop_combined(bd_fusion *fusion)
{
    uint32_t *numbers = bd_alloc_zeroed((fusion->regions.count + 1) * sizeof *numbers);
    uint32_t kept = 0;
    for (size_t i = 0; i < fusion->regions.count; i++) {
        if (!fusion->regions.items[i])
            continue;
        numbers[i] = kept;
        fusion->regions.items[kept] = fusion->regions.items[i];
        fusion->regions.items[kept]->number = kept;
        fusion->successors.items[kept++] = fusion->successors.items[i];
    }
    fusion->regions.count = fusion->successors.count = kept;
    for (uint32_t r = 0; r < kept; r++) {
        bd_number_list *list = &fusion->successors.items[r];
        for (size_t i = 0; i < list->count; i++)
            list->items[i] = numbers[list->items[i]];
    }
    bd_free(numbers);
}

/* A bit set of the nodes that a region loads, several nodes a bit. */
static uint64_t loads_of(const bd_region *region)
{
    uint64_t loads = 0;
    for (size_t i = 0; region && i < region->values.count; i++) {
        if (region->values.items[i].state == BD_VALUE_LOAD)
            loads |= (uint64_t)1 << (region->values.items[i].node * 0x9E3779B1u >> 26);
    }
    return loads;
}

void bd_fuse_combine_siblings(bd_fuse_walk *fuser)
{
    enum { DISTANCE_MAX = 64 }; /* regions that stand near each other are looked at in pairs */
    bd_fusion *fusion = fuser->fusion;
    size_t count = fusion->regions.count;
    uint64_t *loads = bd_alloc_zeroed((count + 1) * sizeof *loads);
    for (size_t a = 0; a < count; a++)
        loads[a] = loads_of(fusion->regions.items[a]);
    for (size_t a = 0; a < count; a++) {
        bd_region *into = fusion->regions.items[a];
        for (size_t b = a + 1; b < count && b - a <= DISTANCE_MAX && into && !writes_partly(into);
             b++) {
            bd_region *from = fusion->regions.items[b];
            if (!from || (loads[a] & loads[b]) == 0 || writes_partly(from) ||
                !bd_region_may_combine(into, from) ||
                bd_fuse_reaches(fuser, (uint32_t)a, (uint32_t)b) ||
                bd_fuse_reaches(fuser, (uint32_t)b, (uint32_t)a))
                continue;
            bd_region_combine(into, from);
            loads[a] |= loads[b];
            redirect(fusion, (uint32_t)b, (uint32_t)a);
            bd_region_destroy(from);
            fusion->regions.items[b] = NULL;
        }
    }
    bd_free(loads);
    drop_combined(fusion);
}
