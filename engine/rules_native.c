/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rules_native.h"

#include "engine/rules_build.h"
#include "proto/base/alloc.h"

/* A part of some dims of a tensor, replaced by one dim that an index runs over. */
typedef struct index_place {
    int64_t dim, count;  /* dims that the index takes the place of */
    bd_node index;       /* [n], checked */
    bd_attr_value shape; /* of the index before it was flattened */
} index_place;

static bd_attr_value list_of(const bd_int *sizes, int64_t *values, uint32_t count);
static bd_node slice_part(bd_graph *graph, bd_node x, int64_t dim, bd_int start, bd_int stop);
static bd_attr_value common_dims(bd_graph *graph, const bd_node *nodes, uint32_t count,
                                 int64_t drop_last);
static bd_node check_index(bd_graph *graph, bd_node index, bd_int size, int64_t wrap);
static index_place place_of(bd_graph *graph, bd_node x, const bd_node *indices, uint32_t count,
                            int64_t dim);
static bd_node flat_source(bd_graph *graph, bd_node x, const index_place *place);
static bd_node spread_index(bd_graph *graph, bd_node flat_x, const index_place *place);
static bd_attr_value placed_dims(bd_graph *graph, bd_node x, const index_place *place);
static bd_node take_at(bd_graph *graph, bd_node x, const index_place *place);

void bd_gradient_concat(const bd_rule_call *call, bd_node *out_gradients)
{
    bd_graph *graph = call->graph;
    int64_t dim = call->attrs[0].value, rank = bd_rule_rank(graph, call->self);
    bd_int start = BD_INT_0;
    for (uint32_t i = 0; i < call->input_count; i++) {
        out_gradients[i] = BD_NODE_NONE;
        if (bd_rule_rank(graph, call->inputs[i]) != rank)
            continue; /* the empty [0] that concat passes over */
        bd_int stop =
            bd_int_add(bd_graph_ints(graph), start, bd_rule_size(graph, call->inputs[i], dim));
        if (call->wanted[i])
            out_gradients[i] = bd_rule_gradient(
                graph, slice_part(graph, call->gradient, dim, start, stop), call->inputs[i]);
        start = stop;
    }
}

uint32_t bd_decompose_stack(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node *parts = bd_alloc_zeroed(sizeof *parts * (call->input_count + 1));
    for (uint32_t i = 0; i < call->input_count; i++)
        parts[i] = bd_rule_unsqueeze(graph, call->inputs[i], call->attrs[0].value);
    out[0] = bd_build(graph, BURN_OP_CONCAT, parts, call->input_count, call->attrs);
    bd_free(parts);
    return 1;
}

uint32_t bd_decompose_split(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_int start = BD_INT_0;
    for (uint32_t i = 0; i < call->attrs[0].count; i++) {
        bd_int stop = bd_int_add(bd_graph_ints(graph), start, (bd_int)call->attrs[0].values[i]);
        out[i] = slice_part(graph, call->inputs[0], call->attrs[1].value, start, stop);
        start = stop;
    }
    return call->attrs[0].count;
}

/* Vectors become matrices; a matrix on the right lets all leading dims of the left be rows. */
uint32_t bd_decompose_matmul(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node a = call->inputs[0], b = call->inputs[1];
    bool row = bd_rule_rank(graph, a) == 1, column = bd_rule_rank(graph, b) == 1;
    a = row ? bd_rule_unsqueeze(graph, a, 0) : a;
    b = column ? bd_rule_unsqueeze(graph, b, 1) : b;
    bd_node product;
    if (bd_rule_rank(graph, b) == 2) {
        int64_t flat[] = {bd_rule_product(graph, a, 0, -1), bd_rule_size(graph, a, -1)};
        int64_t last[] = {bd_rule_size(graph, b, 1)};
        bd_attr_value shape = bd_rule_join(graph, bd_rule_dims(graph, a, 0, -1),
                                           (bd_attr_value){.values = last, .count = 1});
        bd_node rows = bd_rule_reshape(graph, a, (bd_attr_value){.values = flat, .count = 2});
        product = bd_build(graph, BURN_OP_DOT, (bd_node[]){rows, b}, 2, NULL);
        product = bd_rule_reshape(graph, product, shape);
    } else {
        bd_attr_value batch = common_dims(graph, (bd_node[]){a, b}, 2, 2);
        int64_t rank_a = bd_rule_rank(graph, a), rank_b = bd_rule_rank(graph, b);
        a = bd_rule_expand_to(graph, a,
                              bd_rule_join(graph, batch, bd_rule_dims(graph, a, -2, rank_a)));
        b = bd_rule_expand_to(graph, b,
                              bd_rule_join(graph, batch, bd_rule_dims(graph, b, -2, rank_b)));
        product = bd_build(graph, BURN_OP_DOT, (bd_node[]){a, b}, 2, NULL);
    }
    product = column ? bd_rule_squeeze(graph, product, -1) : product;
    out[0] = row ? bd_rule_squeeze(graph, product, column ? -1 : -2) : product;
    return 1;
}

uint32_t bd_decompose_take(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node index = call->inputs[1];
    int64_t dim = call->attrs[0].value, rank = bd_rule_rank(graph, index);
    index_place place = {.dim = dim, .count = 1, .shape = bd_rule_dims(graph, index, 0, rank)};
    if (call->attrs[1].value)
        index = check_index(graph, index, bd_rule_size(graph, call->inputs[0], dim), 1);
    int64_t flat[] = {bd_rule_product(graph, index, 0, rank)};
    place.index = bd_rule_reshape(graph, index, (bd_attr_value){.values = flat, .count = 1});
    out[0] = take_at(graph, call->inputs[0], &place);
    return 1;
}

uint32_t bd_decompose_take_nd(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    index_place place = place_of(graph, call->inputs[0], call->inputs + 1, call->input_count - 1,
                           call->attrs[0].value);
    out[0] = take_at(graph, call->inputs[0], &place);
    return 1;
}

uint32_t bd_decompose_put_nd(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node x = call->inputs[0];
    index_place place =
        place_of(graph, x, call->inputs + 2, call->input_count - 2, call->attrs[0].value);
    bd_node flat_x = flat_source(graph, x, &place), index = spread_index(graph, flat_x, &place);
    bd_node value = bd_rule_expand_to(graph, call->inputs[1], placed_dims(graph, x, &place));
    value = bd_rule_reshape(graph, value,
                            bd_rule_dims(graph, index, 0, bd_rule_rank(graph, index)));
    burn_op op = call->attrs[1].value ? BURN_OP_SCATTER_ADD : BURN_OP_SCATTER;
    const bd_attr_value dim = {.value = place.dim};
    bd_node result = bd_build(graph, op, (bd_node[]){flat_x, index, value}, 3, &dim);
    out[0] = bd_rule_reshape(graph, result, bd_rule_dims(graph, x, 0, bd_rule_rank(graph, x)));
    return 1;
}

uint32_t bd_decompose_global_norm(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value all[] = {{0}, {0}, {0}}; /* dims, keepdim, dtype */
    bd_node total = BD_NODE_NONE;
    for (uint32_t i = 0; i < call->input_count; i++) {
        bd_node x = call->inputs[i];
        bd_node square = bd_build(graph, BURN_OP_MUL, (bd_node[]){x, x}, 2, NULL);
        bd_node sum = bd_build(graph, BURN_OP_SUM, &square, 1, all);
        total = i ? bd_build(graph, BURN_OP_ADD, (bd_node[]){total, sum}, 2, NULL) : sum;
    }
    out[0] = bd_build(graph, BURN_OP_SQRT, &total, 1, NULL);
    return 1;
}

/* ---- local ----------------------------------------------------------------------------------- */

static bd_attr_value list_of(const bd_int *sizes, int64_t *values, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        values[i] = sizes[i];
    return (bd_attr_value){.values = values, .count = count};
}

/* x from start up to stop in one dim, whole in the others. */
static bd_node slice_part(bd_graph *graph, bd_node x, int64_t dim, bd_int start, bd_int stop)
{
    bd_int starts[BURN_RANK_MAX], stops[BURN_RANK_MAX], steps[BURN_RANK_MAX];
    int64_t values[3][BURN_RANK_MAX];
    uint32_t rank = (uint32_t)bd_rule_rank(graph, x);
    for (uint32_t axis = 0; axis < rank; axis++) {
        starts[axis] = axis == dim ? start : BD_INT_0;
        stops[axis] = axis == dim ? stop : bd_rule_size(graph, x, axis);
        steps[axis] = BD_INT_1;
    }
    const bd_attr_value attrs[] = {list_of(starts, values[0], rank),
                                   list_of(stops, values[1], rank),
                                   list_of(steps, values[2], rank)};
    return bd_build(graph, BURN_OP_SLICE, &x, 1, attrs);
}

/* The dims that the nodes broadcast to, without the last `drop_last` of each. */
static bd_attr_value common_dims(bd_graph *graph, const bd_node *nodes, uint32_t count,
                                 int64_t drop_last)
{
    int64_t rank = 0, kept[BURN_RANK_MAX];
    for (uint32_t i = 0; i < count; i++) {
        int64_t own = bd_rule_rank(graph, nodes[i]) - drop_last;
        rank = own > rank ? own : rank;
    }
    for (int64_t axis = 0; axis < rank; axis++) {
        kept[axis] = BD_INT_1;
        for (uint32_t i = 0; i < count && kept[axis] == BD_INT_1; i++) {
            int64_t own = bd_rule_rank(graph, nodes[i]) - drop_last, at = axis - (rank - own);
            if (at >= 0)
                kept[axis] = bd_rule_size(graph, nodes[i], at);
        }
    }
    bd_attr_value none = {.values = kept, .count = 0},
                  all = {.values = kept, .count = (uint32_t)rank};
    return bd_rule_join(graph, all, none); /* a copy in the arena */
}

static bd_node check_index(bd_graph *graph, bd_node index, bd_int size, int64_t wrap)
{
    const bd_attr_value attrs[] = {{.value = size}, {.value = wrap}};
    return bd_build(graph, BURN_OP_CHECK_INDEX, &index, 1, attrs);
}

/* Several indices in consecutive dims: each is checked by itself, then they are one index into the
 * dims taken together. */
static index_place place_of(bd_graph *graph, bd_node x, const bd_node *indices, uint32_t count,
                            int64_t dim)
{
    index_place place = {
        .dim = dim, .count = count, .shape = common_dims(graph, indices, count, 0)};
    bd_node index = BD_NODE_NONE;
    for (uint32_t i = 0; i < count; i++) {
        bd_int size = bd_rule_size(graph, x, dim + i);
        bd_node one =
            check_index(graph, bd_rule_expand_to(graph, indices[i], place.shape), size, 1);
        if (i) {
            bd_node factor = bd_build_integer(graph, size);
            index = bd_build(graph, BURN_OP_MUL, (bd_node[]){index, factor}, 2, NULL);
            index = bd_build(graph, BURN_OP_ADD, (bd_node[]){index, one}, 2, NULL);
        } else {
            index = one;
        }
    }
    int64_t flat[] = {bd_rule_product(graph, index, 0, bd_rule_rank(graph, index))};
    place.index = bd_rule_reshape(graph, index, (bd_attr_value){.values = flat, .count = 1});
    return place;
}

/* x with the dims of the place as one. */
static bd_node flat_source(bd_graph *graph, bd_node x, const index_place *place)
{
    int64_t taken[] = {bd_rule_product(graph, x, place->dim, place->dim + place->count)};
    bd_attr_value shape = bd_rule_join(graph, bd_rule_dims(graph, x, 0, place->dim),
                                       (bd_attr_value){.values = taken, .count = 1});
    return bd_rule_reshape(graph, x,
                           bd_rule_join(graph, shape,
                                        bd_rule_dims(graph, x, place->dim + place->count,
                                                     bd_rule_rank(graph, x))));
}

/* The index repeated over the other dims, as gather and scatter want it. */
static bd_node spread_index(bd_graph *graph, bd_node flat_x, const index_place *place)
{
    int64_t count[] = {bd_rule_size(graph, place->index, 0)};
    bd_attr_value dims = bd_rule_join(graph, bd_rule_dims(graph, flat_x, 0, place->dim),
                                      (bd_attr_value){.values = count, .count = 1});
    dims = bd_rule_join(graph, dims,
                        bd_rule_dims(graph, flat_x, place->dim + 1, bd_rule_rank(graph, flat_x)));
    return bd_rule_expand_to(graph, bd_rule_along(graph, place->index, flat_x, place->dim), dims);
}

static bd_attr_value placed_dims(bd_graph *graph, bd_node x, const index_place *place)
{
    bd_attr_value dims = bd_rule_join(graph, bd_rule_dims(graph, x, 0, place->dim), place->shape);
    return bd_rule_join(graph, dims,
                        bd_rule_dims(graph, x, place->dim + place->count, bd_rule_rank(graph, x)));
}

static bd_node take_at(bd_graph *graph, bd_node x, const index_place *place)
{
    bd_node flat_x = flat_source(graph, x, place), index = spread_index(graph, flat_x, place);
    const bd_attr_value dim = {.value = place->dim};
    bd_node taken = bd_build(graph, BURN_OP_GATHER, (bd_node[]){flat_x, index}, 2, &dim);
    return bd_rule_reshape(graph, taken, placed_dims(graph, x, place));
}
