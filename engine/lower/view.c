/* SPDX-License-Identifier: Apache-2.0
 * Views as functions of positions: where the element of a view lies in its input. */
#include <assert.h>
#include <string.h>

#include "engine/lower/region.h"
#include "proto/base/assert.h"

static_assert(BD_AXES_MAX + 4 <= BD_TERMS_MAX, "gathers may add virtual terms");

/* A position under construction: at most one run a dim. */
typedef struct builder {
    bd_region *region;
    bd_position position;
} builder;

static builder begin_position(bd_region *region, uint32_t rank)
{
    return (builder){region, {0, BD_ARENA_ARRAY(region->arena, bd_run, rank + 2)}};
}

static void push(builder *into, uint32_t dim_count, const bd_affine *index)
{
    if (dim_count > 0)
        into->position.runs[into->position.run_count++] = (bd_run){dim_count, *index};
}

/* Copies dims [begin, end) of a position as one run. A split within take rewrites what is live, so
 * the builder's runs are live too. */
static bool copy_dims(builder *into, bd_position *from, const bd_int *dims, uint32_t begin,
                      uint32_t end)
{
    bd_region *region = into->region;
    bd_affine index;
    region->live[region->live_count++] = &into->position;
    bool taken = bd_region_take(region, from, dims, begin, end, &index);
    region->live_count--;
    if (taken)
        push(into, end - begin, &index);
    return taken;
}

static bool same_dim(const bd_region *region, bd_int a, bd_int b)
{
    return bd_int_equal(region->ints, a, b);
}

static bool is_one(const bd_region *region, bd_int dim)
{
    return bd_int_find(region->ints, dim) == BD_INT_1;
}

static bool pass_permute(builder *into, const bd_graph_node *view, const bd_graph_node *input,
                         bd_position *from)
{
    uint32_t place[BURN_RANK_MAX] = {0}; /* of each input dim in the view */
    for (uint32_t o = 0; o < view->rank; o++)
        place[view->attrs[0].values[o]] = o;
    for (uint32_t i = 0; i < input->rank;) {
        uint32_t length = 1;
        while (i + length < input->rank && place[i + length] == place[i] + length)
            length++;
        if (!copy_dims(into, from, view->dims, place[i], place[i] + length))
            return false;
        i += length;
    }
    return true;
}

static bool pass_expand(builder *into, const bd_graph_node *view, const bd_graph_node *input,
                        bd_position *from)
{
    uint32_t added = (uint32_t)(view->rank - input->rank);
    bd_affine zero = bd_affine_const(BD_INT_0);
    for (uint32_t i = 0; i < input->rank;) {
        if (is_one(into->region, input->dims[i])) {
            push(into, 1, &zero);
            i++;
            continue;
        }
        uint32_t end = i + 1;
        while (end < input->rank && !is_one(into->region, input->dims[end]))
            end++;
        if (!copy_dims(into, from, view->dims, added + i, added + end))
            return false;
        i = end;
    }
    return true;
}

/* dims [d] of the view show start + step * i. */
static bool push_strided(builder *into, bd_position *from, const bd_graph_node *view, uint32_t d,
                         bd_int start, bd_int step)
{
    bd_ints *ints = into->region->ints;
    if (!copy_dims(into, from, view->dims, d, d + 1))
        return false;
    bd_affine *index = &into->position.runs[into->position.run_count - 1].index;
    *index = bd_affine_scale(ints, index, step);
    index->offset = bd_int_find(ints, bd_int_add(ints, index->offset, start));
    return true;
}

static bool is_whole(const bd_region *region, const bd_graph_node *view, const bd_graph_node *input,
                     uint32_t d)
{
    return bd_int_find(region->ints, (bd_int)view->attrs[0].values[d]) == BD_INT_0 &&
           bd_int_find(region->ints, (bd_int)view->attrs[2].values[d]) == BD_INT_1 &&
           same_dim(region, view->dims[d], input->dims[d]);
}

static bool pass_slice(builder *into, const bd_graph_node *view, const bd_graph_node *input,
                       bd_position *from)
{
    for (uint32_t d = 0; d < view->rank;) {
        uint32_t end = d;
        while (end < view->rank && is_whole(into->region, view, input, end))
            end++;
        if (end > d) {
            if (!copy_dims(into, from, view->dims, d, end))
                return false;
            d = end;
            continue;
        }
        bd_int step = view->attrs[2].count > d ? (bd_int)view->attrs[2].values[d] : BD_INT_1;
        if (!push_strided(into, from, view, d, (bd_int)view->attrs[0].values[d], step))
            return false;
        d++;
    }
    return true;
}

static bool pass_flip(builder *into, const bd_graph_node *view, bd_position *from)
{
    bd_ints *ints = into->region->ints;
    uint32_t flipped = 0;
    for (uint32_t i = 0; i < view->attrs[0].count; i++)
        flipped |= 1u << view->attrs[0].values[i];
    for (uint32_t d = 0; d < view->rank;) {
        uint32_t end = d;
        while (end < view->rank && !(flipped >> end & 1))
            end++;
        if (end > d) {
            if (!copy_dims(into, from, view->dims, d, end))
                return false;
            d = end;
            continue;
        }
        bd_int last = bd_int_sub(ints, view->dims[d], BD_INT_1);
        if (!push_strided(into, from, view, d, last, bd_int_const(ints, -1)))
            return false;
        d++;
    }
    return true;
}

/* The number of a dim among the windowed ones, or -1. */
static int windowed(const bd_graph_node *view, uint32_t dim)
{
    for (uint32_t i = 0; i < view->attrs[0].count; i++) {
        if (view->attrs[0].values[i] == dim)
            return (int)i;
    }
    return -1;
}

/* A windowed dim shows place * stride + element * dilation. */
static bool pass_window(builder *into, const bd_graph_node *view, const bd_graph_node *input,
                        bd_position *from)
{
    bd_ints *ints = into->region->ints;
    for (uint32_t d = 0; d < input->rank;) {
        uint32_t end = d;
        while (end < input->rank && windowed(view, end) < 0)
            end++;
        if (end > d) {
            if (!copy_dims(into, from, view->dims, d, end))
                return false;
            d = end;
            continue;
        }
        uint32_t number = (uint32_t)windowed(view, d), within = input->rank + number;
        bd_int stride = (bd_int)view->attrs[3].values[number];
        bd_int dilation = (bd_int)view->attrs[4].values[number];
        if (!push_strided(into, from, view, d, BD_INT_0, stride) ||
            !push_strided(into, from, view, within, BD_INT_0, dilation))
            return false;
        bd_run *runs = into->position.runs + --into->position.run_count;
        if (!bd_affine_add(ints, &runs[-1].index, &runs[0].index))
            return false;
        d++;
    }
    return true;
}

/* Whether the first `a` input dims and the first `b` view dims hold equally many elements. */
static bool is_border(bd_region *region, const bd_graph_node *input, uint32_t a,
                      const bd_graph_node *view, uint32_t b)
{
    bd_ints *ints = region->ints;
    return bd_product_equal(ints, bd_dims_product(ints, input->dims, a),
                            bd_dims_product(ints, view->dims, b)) ||
           bd_product_equal(ints, bd_dims_product(ints, input->dims + a, input->rank - a),
                            bd_dims_product(ints, view->dims + b, view->rank - b));
}

/* Runs of the view are joined until the elements before them equal those before some input dim. */
static bool pass_reshape(builder *into, const bd_graph_node *view, const bd_graph_node *input,
                         bd_position *from)
{
    bd_region *region = into->region;
    uint32_t first_run = 0, run = 0, view_begin = 0, view_end = 0, input_begin = 0;
    if (input->rank == 0)
        return true;
    while (run < from->run_count) {
        view_end += from->runs[run++].dim_count;
        uint32_t input_end = input->rank;
        if (run < from->run_count) {
            input_end = input_begin;
            while (input_end <= input->rank && !is_border(region, input, input_end, view, view_end))
                input_end++;
            if (input_end > input->rank)
                continue;
        }
        bd_position part = {run - first_run, from->runs + first_run};
        bd_affine index;
        if (!bd_position_linear(region->ints, &part, view->dims + view_begin, &index))
            return false;
        push(into, input_end - input_begin, &index);
        first_run = run;
        view_begin = view_end;
        input_begin = input_end;
    }
    if (input_begin < input->rank) { /* only dims of size 1 are left, or the view has rank 0 */
        bd_affine zero = bd_affine_const(BD_INT_0);
        push(into, input->rank - input_begin, &zero);
    }
    return true;
}

/* The virtual axis of a computed index, one for each record whose fault it is. */
static bool add_virtual(bd_region *region, uint32_t value, bd_int extent, uint32_t record,
                        uint8_t *out_axis)
{
    for (uint32_t i = 0; i < region->virtual_count; i++) {
        if (region->virtuals[i].value == value && region->virtuals[i].record == record &&
            bd_int_equal(region->ints, region->virtuals[i].extent, extent)) {
            *out_axis = (uint8_t)(BD_VIRTUAL_AXIS + i);
            return true;
        }
    }
    if (region->virtual_count == BD_REGION_VIRTUALS_MAX)
        return false;
    *out_axis = (uint8_t)(BD_VIRTUAL_AXIS + region->virtual_count);
    region->virtual_extents[region->virtual_count] = extent;
    region->virtuals[region->virtual_count++] = (bd_region_virtual){value, extent, record};
    return true;
}

static uint32_t count_virtual(const bd_position *position)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < position->run_count; i++) {
        const bd_affine *index = &position->runs[i].index;
        for (uint32_t j = 0; j < index->count; j++)
            count += index->terms[j].axis >= BD_VIRTUAL_AXIS;
    }
    return count;
}

/* All other dims are cut before the index is wanted, whose views might split axes elsewhere. */
static bool pass_gather(builder *into, const bd_graph_node *gather, const bd_graph_node *input,
                        bd_position *from)
{
    bd_region *region = into->region;
    uint32_t dim = (uint32_t)gather->attrs[0].value, place = 0;
    bd_affine unknown = bd_affine_const(BD_INT_0);
    if (count_virtual(from) >= 3)
        return false;
    for (uint32_t d = 0; d < input->rank;) {
        if (d == dim) {
            place = into->position.run_count;
            push(into, 1, &unknown);
            d++;
            continue;
        }
        uint32_t end = d + 1;
        while (end < input->rank && end != dim &&
               same_dim(region, input->dims[end], gather->dims[end]) &&
               same_dim(region, input->dims[end - 1], gather->dims[end - 1]))
            end++;
        if (!copy_dims(into, from, gather->dims, d, end))
            return false;
        d = end;
    }
    region->live[region->live_count++] = &into->position;
    uint32_t index = bd_region_want(region, gather->inputs[1], from, BD_DOMAIN_MAIN, 0);
    region->live_count--;
    uint8_t axis;
    if (!add_virtual(region, index, input->dims[dim], gather->record, &axis))
        return false;
    into->position.runs[place].index = bd_affine_axis(axis);
    region->checked |= 1u << (axis - BD_VIRTUAL_AXIS);
    return true;
}

bool bd_view_pass(bd_region *region, bd_node *node, bd_position *position, uint8_t domain,
                  uint32_t context)
{
    const bd_graph_node *view = bd_graph_at(region->graph, *node);
    bd_op_class class = bd_class_of(view);
    if (class != BD_CLASS_VIEW && class != BD_CLASS_GATHER)
        return false;
    const bd_graph_node *input = bd_graph_at(region->graph, view->inputs[0]);
    builder into = begin_position(region, input->rank);
    bool passed = false;
    if (class == BD_CLASS_GATHER) {
        /* A false guard would make the index 0, which need not be in range. */
        passed = domain == BD_DOMAIN_MAIN && context == 0 &&
                 pass_gather(&into, view, input, position);
    } else {
        switch (bd_view_kind_of(view)) {
        case BD_VIEW_RESHAPE:
            passed = pass_reshape(&into, view, input, position);
            break;
        case BD_VIEW_PERMUTE:
            passed = pass_permute(&into, view, input, position);
            break;
        case BD_VIEW_EXPAND:
            passed = pass_expand(&into, view, input, position);
            break;
        case BD_VIEW_SLICE:
            passed = pass_slice(&into, view, input, position);
            break;
        case BD_VIEW_FLIP:
            passed = pass_flip(&into, view, position);
            break;
        case BD_VIEW_WINDOW:
            passed = pass_window(&into, view, input, position);
            break;
        }
    }
    if (!passed)
        return false;
    *position = into.position;
    *node = view->inputs[0];
    return true;
}

bool bd_slice_place(bd_region *region, const bd_graph_node *slice, const bd_graph_node *input,
                    bd_position *at, bd_position *out)
{
    builder into = begin_position(region, input->rank);
    region->live[region->live_count++] = at;
    bool passed = pass_slice(&into, slice, input, at);
    region->live_count--;
    *out = into.position;
    return passed;
}

bool bd_window_place(bd_region *region, const bd_graph_node *window, const bd_graph_node *input,
                     bd_position *at, bd_position *out)
{
    builder into = begin_position(region, input->rank);
    region->live[region->live_count++] = at;
    bool passed = pass_window(&into, window, input, at);
    region->live_count--;
    *out = into.position;
    return passed;
}

bool bd_gather_place(bd_region *region, const bd_graph_node *gather, const bd_graph_node *input,
                     bd_position *at, bd_position *out)
{
    builder into = begin_position(region, input->rank);
    region->live[region->live_count++] = at;
    bool passed = pass_gather(&into, gather, input, at);
    region->live_count--;
    *out = into.position;
    return passed;
}

/* ---- reductions ---- */

bool bd_reduce_input(bd_region *region, bd_node node, bd_position *output, bd_position *reduced,
                     bd_position *out)
{
    const bd_graph_node *reduce = bd_graph_at(region->graph, node);
    const bd_graph_node *input = bd_graph_at(region->graph, reduce->inputs[0]);
    uint32_t mask = bd_reduced_dims(region->graph, reduce);
    bool keeps = bd_reduce_keeps_dims(reduce);
    bd_int reduced_dims[BURN_RANK_MAX];
    uint32_t reduced_rank = 0;
    for (uint32_t d = 0; d < input->rank; d++) {
        if (mask >> d & 1)
            reduced_dims[reduced_rank++] = input->dims[d];
    }
    builder into = begin_position(region, input->rank);
    region->live[region->live_count++] = output;
    region->live[region->live_count++] = reduced;
    bool fits = true;
    uint32_t output_dim = 0, reduced_dim = 0;
    for (uint32_t d = 0; d < input->rank && fits;) {
        uint32_t end = d + 1, is_reduced = mask >> d & 1;
        while (end < input->rank && (mask >> end & 1) == is_reduced)
            end++;
        uint32_t count = end - d;
        if (is_reduced) {
            fits = copy_dims(&into, reduced, reduced_dims, reduced_dim, reduced_dim + count);
            reduced_dim += count;
            output_dim += keeps ? count : 0;
        } else {
            fits = copy_dims(&into, output, reduce->dims, output_dim, output_dim + count);
            output_dim += count;
        }
        d = end;
    }
    region->live_count -= 2;
    *out = into.position;
    return fits;
}
