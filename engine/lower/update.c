/* SPDX-License-Identifier: Apache-2.0
 * Roots that write a part of a buffer: slices that are set, scatters, pieces of a concatenation. */
#include "engine/lower/region.h"
#include "proto/base/assert.h"

/* An axis a dim, as the places need them apart; emission joins those that nothing tells apart. */
static bd_position span(bd_region *region, const bd_graph_node *node)
{
    return node->rank < BD_AXES_MAX ? bd_region_span_dims(region, node->dims, node->rank)
                                    : bd_region_span(region, node->dims, node->rank);
}

static bool add_root(bd_region *region, bd_region_root root, const bd_position *place)
{
    const bd_graph_node *target = bd_graph_at(region->graph, root.target);
    if (!bd_position_linear(region->ints, place, target->dims, &root.address))
        return false;
    *bd_vec_push(&region->roots) = root;
    return true;
}

bool bd_region_copy_base(bd_region *region, bd_node node)
{
    const bd_graph_node *update = bd_graph_at(region->graph, node);
    bd_position at = bd_region_span(region, update->dims, update->rank);
    region->live[region->live_count++] = &at;
    uint32_t value = bd_region_want(region, update->inputs[0], &at, BD_DOMAIN_MAIN, 0);
    region->live_count--;
    return add_root(region, (bd_region_root){.value = value, .target = node, .copies = 1}, &at);
}

/* In all of these the places are cut out first, then the value is wanted: a view that cannot be
 * told apart there is then stored by a region of its own. */

static bool add_root_of(bd_region *region, bd_node wanted, bd_position *at, bd_position *place,
                        bd_region_root root)
{
    region->live[region->live_count++] = at;
    region->live[region->live_count++] = place;
    root.value = bd_region_want(region, wanted, at, BD_DOMAIN_MAIN, 0);
    region->live_count -= 2;
    return add_root(region, root, place);
}

static bool axes_of_dim(bd_region *region, bd_position *at, const bd_int *dims, uint32_t dim,
                        uint32_t *out_axes)
{
    bd_affine index;
    if (!bd_region_take(region, at, dims, dim, dim + 1, &index))
        return false;
    *out_axes = bd_affine_axes(&index);
    return true;
}

/* Windows overlap: what adds to one element lies in one row. The elements of windows are counted
 * outside, so that neighbours in memory are added together. */
static bool set_window_roles(bd_region *region, const bd_graph_node *window, bd_position *at)
{
    uint32_t count = window->attrs[0].count, rank = window->rank - count, places = 0, elements = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place, element;
        if (!axes_of_dim(region, at, window->dims, (uint32_t)window->attrs[0].values[i], &place) ||
            !axes_of_dim(region, at, window->dims, rank + i, &element))
            return false;
        places |= place;
        elements |= element;
    }
    uint8_t order[BD_AXES_MAX];
    uint32_t next = 0;
    for (uint32_t turn = 0; turn < 3; turn++)
        for (uint32_t i = 0; i < region->axis_count; i++) {
            uint8_t axis = region->order[i];
            bool is_place = places >> axis & 1, is_element = elements >> axis & 1;
            if (turn == (is_place ? 2u : is_element ? 1u : 0u))
                order[next++] = axis;
            if (is_place || is_element)
                region->roles[axis] = BD_KIR_SERIAL;
        }
    for (uint32_t i = 0; i < next; i++)
        region->order[i] = order[i];
    return true;
}

static bool store_windows(bd_region *region, bd_node node)
{
    const bd_graph_node *update = bd_graph_at(region->graph, node);
    const bd_graph_node *written = bd_graph_at(region->graph, update->inputs[1]);
    bd_position at = span(region, written), place;
    /* The places are those that a window with these attributes would show. */
    bd_graph_node window = *update;
    window.dims = written->dims;
    window.rank = written->rank;
    if (!bd_window_place(region, &window, update, &at, &place) ||
        !add_root_of(region, update->inputs[1], &at, &place,
                     (bd_region_root){.target = node, .mode = BD_KIR_ACCUMULATE}))
        return false;
    return set_window_roles(region, &window, &at);
}

bool bd_region_store_update(bd_region *region, bd_node node)
{
    const bd_graph_node *update = bd_graph_at(region->graph, node);
    if (update->op == BURN_OP_WINDOW_ADD)
        return store_windows(region, node);
    const bd_graph_node *written = bd_graph_at(region->graph, update->inputs[1]);
    bd_position at = span(region, written), place;
    /* The places are those that a slice with these attributes would show. */
    bd_graph_node slice = *update;
    slice.dims = written->dims;
    return bd_slice_place(region, &slice, update, &at, &place) &&
           add_root_of(region, update->inputs[1], &at, &place,
                       (bd_region_root){.target = node, .mode = (uint8_t)bd_lower_code(update)});
}

bool bd_region_store_scatter(bd_region *region, bd_node node)
{
    const bd_graph_node *scatter = bd_graph_at(region->graph, node);
    const bd_graph_node *source = bd_graph_at(region->graph, scatter->inputs[2]);
    uint32_t dim = (uint32_t)scatter->attrs[0].value;
    bd_position at = span(region, source), place;
    bd_affine along;
    /* The places are those that a gather with this index would read. */
    bd_graph_node gather = *scatter;
    gather.dims = source->dims;
    region->live[region->live_count++] = &at;
    bool told = bd_region_take(region, &at, source->dims, dim, dim + 1, &along);
    region->live_count--;
    if (!told || !bd_gather_place(region, &gather, scatter, &at, &place) ||
        !add_root_of(region, scatter->inputs[2], &at, &place,
                     (bd_region_root){.target = node,
                                      .mode = (uint8_t)bd_lower_code(scatter),
                                      .each = along.count > 0}))
        return false;
    /* Equal indices collide along the dim only, so that rows are independent. */
    told = bd_region_take(region, &at, source->dims, dim, dim + 1, &along);
    BD_ASSERT(told); /* it is cut already */
    for (uint32_t i = 0; i < along.count; i++)
        region->roles[along.terms[i].axis] = BD_KIR_SERIAL;
    return true;
}

bool bd_region_store_piece(bd_region *region, bd_node node, uint32_t operand)
{
    const bd_graph_node *concat = bd_graph_at(region->graph, node);
    const bd_graph_node *piece = bd_graph_at(region->graph, concat->inputs[operand]);
    uint32_t dim = (uint32_t)concat->attrs[0].value;
    bd_ints *ints = region->ints;
    bd_int offset = BD_INT_0;
    for (uint32_t i = 0; i < operand; i++) {
        const bd_graph_node *before = bd_graph_at(region->graph, concat->inputs[i]);
        offset = bd_int_add(ints, offset, before->dims[dim]);
    }
    bd_position at = span(region, piece);
    bd_run runs[3];
    bd_position place = {0, runs};
    const uint32_t begins[4] = {0, dim, dim + 1, piece->rank};
    region->live[region->live_count++] = &at;
    region->live[region->live_count++] = &place;
    bool told = true;
    for (uint32_t i = 0; i < 3 && told; i++) {
        bd_affine index;
        if (begins[i] == begins[i + 1])
            continue;
        told = bd_region_take(region, &at, piece->dims, begins[i], begins[i + 1], &index);
        if (i == 1)
            index.offset = bd_int_find(ints, bd_int_add(ints, index.offset, offset));
        runs[place.run_count++] = (bd_run){begins[i + 1] - begins[i], index};
    }
    region->live_count -= 2;
    return told && add_root_of(region, concat->inputs[operand], &at, &place,
                               (bd_region_root){.target = node});
}
