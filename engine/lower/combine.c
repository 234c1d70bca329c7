/* SPDX-License-Identifier: Apache-2.0
 * Two regions over the same axes become one, so that what both read is read once. */
#include <string.h>

#include "engine/lower/region.h"
#include "proto/base/assert.h"

typedef struct mapping {
    bd_region *into;
    const bd_region *from;
    uint8_t axes[BD_AXES_MAX];      /* of `from` to those of `into` */
    uint32_t first_virtual, first_guard, first_context;
    uint32_t *values;               /* numbers in `into` */
} mapping;

/* Axes in order, roles and sizes alike; those of one point do not count. */
static bool map_axes(mapping *map)
{
    const bd_region *into = map->into, *from = map->from;
    uint32_t a = 0, b = 0;
    for (;;) {
        while (a < into->axis_count && into->extents[into->order[a]] == BD_INT_1)
            a++;
        while (b < from->axis_count && from->extents[from->order[b]] == BD_INT_1)
            map->axes[from->order[b++]] = UINT8_MAX;
        if (a == into->axis_count || b == from->axis_count)
            return a == into->axis_count && b == from->axis_count;
        uint8_t own = into->order[a++], other = from->order[b++];
        if (into->roles[own] != from->roles[other] ||
            !bd_product_equal(into->ints, into->extents[own], from->extents[other]))
            return false;
        map->axes[other] = own;
    }
}

static bd_affine translate(const mapping *map, const bd_affine *index)
{
    bd_affine out = bd_affine_const(index->offset);
    for (uint32_t i = 0; i < index->count; i++) {
        uint8_t axis = index->terms[i].axis;
        if (axis >= BD_VIRTUAL_AXIS)
            axis = (uint8_t)(axis + map->first_virtual);
        else if (map->axes[axis] == UINT8_MAX)
            continue;
        else
            axis = map->axes[axis];
        bd_term moved = {axis, index->terms[i].factor};
        bd_affine term = {.offset = BD_INT_0, .count = 1, .terms = {moved}};
        bool fits = bd_affine_add(map->into->ints, &out, &term);
        BD_ASSERT(fits);
    }
    return out;
}

static bd_affine *translate_copy(const mapping *map, const bd_affine *index)
{
    if (!index)
        return NULL;
    bd_affine made = translate(map, index);
    return bd_arena_copy(map->into->arena, &made, sizeof made);
}

static uint32_t context_of(const mapping *map, uint32_t context)
{
    return context == 0 ? 0 : map->first_context + context - 1;
}

static void copy_contexts(mapping *map)
{
    bd_region *into = map->into;
    map->first_guard = (uint32_t)into->guards.count;
    map->first_context = (uint32_t)into->contexts.count;
    for (size_t i = 0; i < map->from->guards.count; i++) {
        const bd_region_guard *guard = &map->from->guards.items[i];
        bd_region_guard copy = {translate(map, &guard->index), guard->extent};
        *bd_vec_push(&into->guards) = copy;
    }
    for (size_t i = 1; i < map->from->contexts.count; i++) {
        bd_region_context context = map->from->contexts.items[i];
        for (uint32_t g = 0; g < context.guard_count; g++)
            context.guards[g] += map->first_guard;
        *bd_vec_push(&into->contexts) = context;
    }
}

static uint32_t find_alike(const mapping *map, const bd_region_value *value,
                           const bd_affine *element)
{
    const bd_region *into = map->into;
    for (size_t i = 0; i < into->values.count && value->context == 0; i++) {
        const bd_region_value *other = &into->values.items[i];
        if (other->node == value->node && other->state == value->state &&
            other->domain == value->domain && other->context == 0 &&
            bd_affine_equal(into->ints, other->element, element))
            return (uint32_t)i;
    }
    return UINT32_MAX;
}

/* First the values, then their operands, which may stand anywhere. */
static void copy_values(mapping *map)
{
    bd_region *into = map->into;
    const bd_region *from = map->from;
    uint32_t first = (uint32_t)into->values.count;
    for (size_t i = 0; i < from->values.count; i++) {
        bd_region_value value = from->values.items[i];
        value.element = translate_copy(map, value.element);
        map->values[i] = find_alike(map, &value, value.element);
        if (map->values[i] != UINT32_MAX)
            continue;
        value.index = translate_copy(map, value.index);
        value.context = context_of(map, value.context);
        value.position = (bd_position){0}; /* no longer cut */
        map->values[i] = (uint32_t)into->values.count;
        *bd_vec_push(&into->values) = value;
    }
    for (size_t i = 0; i < from->values.count; i++) {
        bd_region_value *value = &into->values.items[map->values[i]];
        if (map->values[i] < first)
            continue;
        uint32_t *operands = BD_ARENA_ARRAY(into->arena, uint32_t, value->operand_count + 1);
        uint32_t *guards = BD_ARENA_ARRAY(into->arena, uint32_t, value->operand_count + 1);
        for (uint32_t k = 0; k < value->operand_count; k++) {
            operands[k] = map->values[value->operands[k]];
            if (value->operand_guards)
                guards[k] = context_of(map, value->operand_guards[k]);
        }
        value->operands = operands;
        value->operand_guards = value->operand_guards ? guards : NULL;
    }
}

static bool shares_reads(const mapping *map)
{
    uint32_t all = (1u << map->into->axis_count) - 1, needed = 0;
    for (uint32_t i = 0; i < map->into->axis_count; i++) {
        if (map->into->extents[i] != BD_INT_1)
            needed |= 1u << i;
    }
    for (size_t i = 0; i < map->from->values.count; i++) {
        const bd_region_value *value = &map->from->values.items[i];
        if (value->state != BD_VALUE_LOAD || bd_affine_has_virtual(value->element))
            continue;
        bd_affine element = translate(map, value->element);
        if ((bd_affine_axes(&element) & all) == needed &&
            find_alike(map, value, &element) != UINT32_MAX)
            return true;
    }
    return false;
}

static bool fits_together(const bd_region *into, const bd_region *from)
{
    enum { ROOTS_MAX = 12 };
    uint32_t buffers = (uint32_t)(into->roots.count + from->roots.count);
    for (size_t i = 0; i < into->values.count; i++)
        buffers += into->values.items[i].state == BD_VALUE_LOAD;
    for (size_t i = 0; i < from->values.count; i++)
        buffers += from->values.items[i].state == BD_VALUE_LOAD;
    return into->roots.count + from->roots.count <= ROOTS_MAX && buffers <= BD_REGION_BUFFERS_MAX &&
           into->cost + from->cost <= BD_REGION_COST_MAX &&
           into->values.count + from->values.count <= BD_REGION_ROW_VALUES_MAX &&
           into->virtual_count + from->virtual_count <= BD_REGION_VIRTUALS_MAX;
}

bool bd_region_may_combine(bd_region *into, const bd_region *from)
{
    mapping map = {.into = into, .from = from, .first_virtual = into->virtual_count};
    return into->family == BD_REGION_LOOP && from->family == BD_REGION_LOOP &&
           fits_together(into, from) && map_axes(&map) && shares_reads(&map);
}

void bd_region_combine(bd_region *into, const bd_region *from)
{
    mapping map = {.into = into, .from = from, .first_virtual = into->virtual_count};
    bool alike = map_axes(&map);
    BD_ASSERT(alike);
    map.values = BD_ARENA_ARRAY(into->arena, uint32_t, from->values.count + 1);
    copy_contexts(&map);
    copy_values(&map);
    for (uint32_t i = 0; i < from->virtual_count; i++) {
        bd_region_virtual place = from->virtuals[i];
        place.value = map.values[place.value];
        into->virtual_extents[into->virtual_count] = place.extent;
        into->virtuals[into->virtual_count++] = place;
    }
    into->checked |= from->checked << map.first_virtual;
    for (size_t i = 0; i < from->roots.count; i++) {
        bd_region_root root = from->roots.items[i];
        root.value = map.values[root.value];
        root.address = translate(&map, &root.address);
        *bd_vec_push(&into->roots) = root;
    }
    into->cost += from->cost;
}
