/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lower/region.h"

#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"

bd_region *bd_region_create(bd_graph *graph, bd_arena *arena, uint32_t number)
{
    bd_region *region = bd_alloc_zeroed(sizeof *region);
    region->graph = graph;
    region->ints = bd_graph_ints(graph);
    region->arena = arena;
    region->number = number;
    region->acc = region->score = UINT32_MAX;
    *bd_vec_push(&region->contexts) = (bd_region_context){0};
    return region;
}

void bd_region_destroy(bd_region *region)
{
    if (!region)
        return;
    bd_vec_deinit(&region->values);
    bd_vec_deinit(&region->guards);
    bd_vec_deinit(&region->contexts);
    bd_vec_deinit(&region->roots);
    bd_vec_deinit(&region->opened);
    bd_free(region);
}

/* ---- axes ---- */

int bd_region_add_axis(bd_region *region, bd_int extent, uint8_t role)
{
    if (region->axis_count == BD_AXES_MAX)
        return -1;
    uint32_t axis = region->axis_count++;
    region->extents[axis] = bd_int_find(region->ints, extent);
    region->roles[axis] = role;
    region->order[axis] = (uint8_t)axis;
    return (int)axis;
}

bd_position bd_region_span(bd_region *region, const bd_int *dims, uint32_t rank)
{
    bd_position position = {0};
    if (rank == 0)
        return position;
    bd_int product = bd_dims_product(region->ints, dims, rank);
    position.run_count = 1;
    position.runs = BD_ARENA_ARRAY(region->arena, bd_run, rank);
    position.runs[0].dim_count = rank;
    position.runs[0].index = bd_affine_const(BD_INT_0);
    if (product != BD_INT_1) {
        int axis = bd_region_add_axis(region, product, BD_KIR_PARALLEL);
        position.runs[0].index = bd_affine_axis((uint8_t)axis);
    }
    return position;
}

bd_position bd_region_span_dims(bd_region *region, const bd_int *dims, uint32_t rank)
{
    bd_position position = {0, BD_ARENA_ARRAY(region->arena, bd_run, rank + 1)};
    for (uint32_t d = 0; d < rank; d++) {
        bd_run *run = &position.runs[position.run_count++];
        run->dim_count = 1;
        run->index = bd_affine_const(BD_INT_0);
        if (bd_int_find(region->ints, dims[d]) == BD_INT_1)
            continue;
        int axis = bd_region_add_axis(region, dims[d], BD_KIR_PARALLEL);
        if (axis < 0) /* the caller sees a region that lacks dims */
            return (bd_position){0};
        run->index = bd_affine_axis((uint8_t)axis);
    }
    return position;
}

static bool split_position(bd_region *region, bd_position *position, uint8_t axis, bd_int inner,
                           uint8_t outer)
{
    for (uint32_t i = 0; i < position->run_count; i++) {
        if (!bd_affine_split(region->ints, &position->runs[i].index, axis, inner, outer, axis))
            return false;
    }
    return true;
}

/* Of attention, inner axes are one; and so are the keys that a softmax runs over, and its columns,
 * which would each need it again. */
static bool may_split(const bd_region *region, uint8_t axis)
{
    uint8_t role = region->roles[axis];
    return region->family != BD_REGION_ATTENTION ||
           (role != BD_KIR_K && role != BD_KIR_E && role != BD_KIR_N);
}

int bd_region_split(bd_region *region, uint8_t axis, bd_int inner_extent)
{
    bd_int outer_extent;
    if (region->axis_count == BD_AXES_MAX || !may_split(region, axis) ||
        !bd_product_divide(region->ints, region->extents[axis], inner_extent, &outer_extent))
        return -1;
    uint8_t outer = (uint8_t)region->axis_count++;
    region->extents[outer] = outer_extent;
    region->extents[axis] = bd_int_find(region->ints, inner_extent);
    bool rows = region->family == BD_REGION_ATTENTION && region->roles[axis] == BD_KIR_M;
    region->roles[outer] = rows ? BD_KIR_BATCH : region->roles[axis];
    uint32_t place = 0;
    while (region->order[place] != axis)
        place++;
    memmove(region->order + place + 1, region->order + place, region->axis_count - 1u - place);
    region->order[place] = outer;
    bool fits = true;
    for (size_t i = 0; i < region->values.count; i++) {
        bd_region_value *value = &region->values.items[i];
        fits &= split_position(region, &value->position, axis, inner_extent, outer);
        fits &= bd_affine_split(region->ints, value->element, axis, inner_extent, outer, axis);
        if (value->index)
            fits &= bd_affine_split(region->ints, value->index, axis, inner_extent, outer, axis);
    }
    for (size_t i = 0; i < region->guards.count; i++)
        fits &= bd_affine_split(region->ints, &region->guards.items[i].index, axis, inner_extent,
                                outer, axis);
    for (size_t i = 0; i < region->roots.count; i++)
        fits &= bd_affine_split(region->ints, &region->roots.items[i].address, axis, inner_extent,
                                outer, axis);
    for (uint32_t i = 0; i < region->live_count; i++)
        fits &= split_position(region, region->live[i], axis, inner_extent, outer);
    BD_ASSERT(fits); /* a function has at most one term an axis and few virtual ones (view.c) */
    return outer;
}

uint32_t bd_region_axes_of_role(const bd_region *region, uint8_t role)
{
    uint32_t axes = 0;
    for (uint32_t i = 0; i < region->axis_count; i++) {
        if (region->roles[i] == role)
            axes |= 1u << i;
    }
    return axes;
}

/* ---- positions ---- */

bd_position bd_position_copy(bd_arena *arena, const bd_position *position)
{
    bd_position copy = {position->run_count, NULL};
    if (position->run_count > 0)
        copy.runs = bd_arena_copy(arena, position->runs, position->run_count * sizeof *copy.runs);
    return copy;
}

/* Makes dim `place` begin a run. */
static bool cut_before(bd_region *region, bd_position *position, const bd_int *dims, uint32_t place)
{
    for (;;) {
        uint32_t run = 0, begin = 0;
        while (run < position->run_count && begin + position->runs[run].dim_count <= place)
            begin += position->runs[run++].dim_count;
        if (run == position->run_count || begin == place)
            return true;
        uint32_t end = begin + position->runs[run].dim_count;
        bd_cut_request request = {
            &position->runs[run].index,
            bd_dims_product(region->ints, dims + place, end - place),
            bd_dims_product(region->ints, dims + begin, place - begin),
            region->extents,
            region->virtual_extents,
        };
        bd_affine outer, inner;
        uint8_t axis = 0;
        bd_int extent = BD_INT_1;
        switch (bd_affine_cut(region->ints, &request, &outer, &inner, &axis, &extent)) {
        case BD_CUT_IMPOSSIBLE:
            return false;
        case BD_CUT_SPLIT_AXIS:
            if (bd_region_split(region, axis, extent) < 0)
                return false;
            continue;
        case BD_CUT_DONE:
            break;
        }
        bd_run *runs = BD_ARENA_ARRAY(region->arena, bd_run, position->run_count + 1);
        memcpy(runs, position->runs, run * sizeof *runs);
        runs[run] = (bd_run){place - begin, outer};
        runs[run + 1] = (bd_run){end - place, inner};
        memcpy(runs + run + 2, position->runs + run + 1,
               (position->run_count - run - 1) * sizeof *runs);
        position->runs = runs;
        position->run_count++;
        return true;
    }
}

bool bd_region_take(bd_region *region, bd_position *position, const bd_int *dims, uint32_t begin,
                    uint32_t end, bd_affine *out)
{
    *out = bd_affine_const(BD_INT_0);
    if (begin == end)
        return true;
    if (!cut_before(region, position, dims, begin) || !cut_before(region, position, dims, end))
        return false;
    uint32_t run = 0, at = 0;
    while (at < begin)
        at += position->runs[run++].dim_count;
    uint32_t last = run;
    for (uint32_t reached = at; reached < end; last++)
        reached += position->runs[last].dim_count;
    bd_position part = {last - run, position->runs + run};
    return bd_position_linear(region->ints, &part, dims + begin, out);
}

/* ---- values ---- */

static bool is_scalar_leaf(const bd_graph_node *node)
{
    return node->kind != BD_NODE_OP && node->kind != BD_NODE_EXTERNAL;
}

uint32_t bd_region_want_self(bd_region *region, bd_node node, const bd_position *position,
                             uint8_t domain, uint32_t context)
{
    const bd_graph_node *wanted = bd_graph_at(region->graph, node);
    bool leaf = is_scalar_leaf(wanted);
    bd_position none = {0};
    if (leaf) {
        position = &none;
        context = 0;
        domain = BD_DOMAIN_MAIN;
    }
    bd_affine element;
    bool fits = bd_position_linear(region->ints, position, wanted->dims, &element);
    BD_ASSERT(fits); /* a function has at most one term an axis and few virtual ones (view.c) */
    for (size_t i = 0; i < region->values.count; i++) {
        const bd_region_value *value = &region->values.items[i];
        if (value->node == node && value->domain == domain && value->context == context &&
            bd_affine_equal(region->ints, value->element, &element))
            return (uint32_t)i;
    }
    uint32_t number = (uint32_t)region->values.count;
    bd_position own = bd_position_copy(region->arena, position);
    bd_region_value *value = bd_vec_push(&region->values);
    *value = (bd_region_value){.node = node, .domain = domain, .context = context, .position = own};
    value->element = bd_arena_copy(region->arena, &element, sizeof element);
    if (leaf) {
        value->state = BD_VALUE_LEAF;
    } else if (wanted->kind == BD_NODE_EXTERNAL) {
        value->state = BD_VALUE_LOAD;
    } else {
        value->state = BD_VALUE_OPEN;
        *bd_vec_push(&region->opened) = number;
    }
    return number;
}

uint32_t bd_region_want(bd_region *region, bd_node node, const bd_position *position,
                        uint8_t domain, uint32_t context)
{
    bd_position at = bd_position_copy(region->arena, position);
    region->live[region->live_count++] = &at;
    while (region->live_count + 8 < BD_REGION_LIVE_MAX &&
           bd_view_pass(region, &node, &at, domain, context))
        continue;
    uint32_t value = bd_region_want_self(region, node, &at, domain, context);
    region->live_count--;
    return value;
}

void bd_region_store(bd_region *region, uint32_t number, bd_node target)
{
    *bd_vec_push(&region->roots) = (bd_region_root){
        .value = number, .target = target, .address = *region->values.items[number].element};
}

bool bd_region_visits_once(bd_region *region, uint32_t number, uint32_t *out_axes)
{
    const bd_region_value *value = &region->values.items[number];
    const bd_graph_node *node = bd_graph_at(region->graph, value->node);
    bd_affine linear = *value->element;
    if (value->domain != BD_DOMAIN_MAIN || value->context != 0 || bd_affine_has_virtual(&linear) ||
        linear.offset != BD_INT_0)
        return false;
    bd_int reach = BD_INT_1;
    uint32_t used = 0;
    for (uint32_t i = 0; i < linear.count; i++) {
        bool found = false;
        for (uint32_t j = 0; j < linear.count && !found; j++) {
            if ((used >> j & 1) || !bd_product_equal(region->ints, linear.terms[j].factor, reach))
                continue;
            bd_int both[2] = {reach, region->extents[linear.terms[j].axis]};
            reach = bd_dims_product(region->ints, both, 2);
            used |= 1u << j;
            found = true;
        }
        if (!found)
            return false;
    }
    *out_axes = bd_affine_axes(&linear);
    return bd_product_equal(region->ints, reach,
                            bd_dims_product(region->ints, node->dims, node->rank));
}
