/* SPDX-License-Identifier: Apache-2.0
 * Pools: reductions over windows. Tiled ones lie side by side, so that the input's dims split into
 * places and elements, and gradients are mere maps; others overlap, and their gradients are added.
 */
#include "engine/graph_parts.h"
#include "engine/rules_build.h"
#include "engine/rules_native.h"
#include "proto/base/assert.h"

typedef struct pool_call {
    bd_graph *graph;
    bd_ints *ints;
    uint32_t rank, spatial;
    bd_attr_value sizes, strides, low, high, dilations, counts;
    bool tiled;
} pool_call;

static pool_call pool_of(const bd_rule_call *call, burn_op op)
{
    const burn_op_info *info = burn_op_lookup(op);
    pool_call p = {
        .graph = call->graph,
        .ints = bd_graph_ints(call->graph),
        .rank = (uint32_t)bd_rule_rank(call->graph, call->inputs[0]),
        .sizes = call->attrs[burn_op_attr(info, "sizes")],
        .strides = call->attrs[burn_op_attr(info, "strides")],
        .low = call->attrs[burn_op_attr(info, "low")],
        .high = call->attrs[burn_op_attr(info, "high")],
        .dilations = call->attrs[burn_op_attr(info, "dilations")],
        .tiled = call->attrs[burn_op_attr(info, "tiled")].value != 0,
    };
    bd_int dims[BURN_RANK_MAX];
    bd_shape_symbolic(call->graph, info, call->inputs, call->input_count, call->attrs, dims);
    int64_t counts[BURN_RANK_MAX];
    p.spatial = p.sizes.count;
    for (uint32_t i = 0; i < p.spatial; i++)
        counts[i] = dims[p.rank - p.spatial + i];
    p.counts = bd_rule_list(call->graph, counts, p.spatial);
    return p;
}

static bd_node pad_by(const pool_call *p, bd_node x, bd_node value, const int64_t *lows,
                      const int64_t *highs)
{
    const bd_attr_value attrs[] = {bd_rule_list(p->graph, lows, p->rank),
                                   bd_rule_list(p->graph, highs, p->rank)};
    return bd_build(p->graph, BURN_OP_PAD, (bd_node[]){x, value}, 2, attrs);
}

static bd_node padded(const pool_call *p, bd_node x, double value)
{
    int64_t lows[BURN_RANK_MAX], highs[BURN_RANK_MAX];
    uint32_t first = p->rank - p->spatial;
    if (p->low.count == 0)
        return x;
    for (uint32_t d = 0; d < p->rank; d++) {
        lows[d] = d < first ? (int64_t)BD_INT_0 : p->low.values[d - first];
        highs[d] = d < first ? (int64_t)BD_INT_0 : p->high.values[d - first];
    }
    burn_dtype dtype = (burn_dtype)bd_graph_at(p->graph, x)->dtype;
    return pad_by(p, x, bd_build_constant(p->graph, dtype, value), lows, highs);
}

static void window_attrs(const pool_call *p, bd_attr_value *out)
{
    int64_t dims[BURN_RANK_MAX];
    for (uint32_t i = 0; i < p->spatial; i++)
        dims[i] = p->rank - p->spatial + i;
    out[0] = bd_rule_list(p->graph, dims, p->spatial);
    out[1] = p->counts;
    out[2] = p->sizes;
    out[3] = p->strides;
    out[4] = p->dilations;
}

/* [.., counts.., sizes..] of an input that is padded already. */
static bd_node windows(const pool_call *p, bd_node x)
{
    bd_attr_value attrs[5];
    window_attrs(p, attrs);
    return bd_build(p->graph, BURN_OP_WINDOW, &x, 1, attrs);
}

static bd_node reduce_windows(const pool_call *p, burn_op op, bd_node of)
{
    int64_t dims[BURN_RANK_MAX];
    for (uint32_t i = 0; i < p->spatial; i++)
        dims[i] = p->rank + i;
    bd_attr_value attrs[3] = {{.values = dims, .count = p->spatial}, {0}, {0}};
    return bd_build(p->graph, op, &of, 1, attrs);
}

static double lowest(bd_graph *graph, bd_node x)
{
    switch ((burn_dtype)bd_graph_at(graph, x)->dtype) {
    case BURN_U8:
    case BURN_U16:
    case BURN_U32:
    case BURN_U64:
    case BURN_BOOL:
        return 0.0;
    case BURN_I8:
        return -128.0;
    case BURN_I16:
        return -32768.0;
    case BURN_I32:
        return -2147483648.0;
    case BURN_I64:
        return -9223372036854775808.0;
    case BURN_F16:
    case BURN_BF16:
    case BURN_F32:
    case BURN_F64:
    case BURN_DTYPE_NONE:
    case BURN_DTYPE_END:
        break;
    }
    return -__builtin_inf();
}

/* A node of places, repeated for the elements of each window. */
static bd_node repeat_places(const pool_call *p, bd_node places)
{
    int64_t rank = bd_rule_rank(p->graph, places);
    bd_attr_value dims = bd_rule_dims(p->graph, places, 0, rank);
    bd_attr_value shape = bd_rule_join(p->graph, dims, bd_rule_ones_like(p->graph, p->sizes));
    return bd_rule_expand_to(p->graph, bd_rule_reshape(p->graph, places, shape),
                             bd_rule_join(p->graph, dims, p->sizes));
}

/* The number of each element within its window, row by row: dims [sizes..]. */
static bd_node element_numbers(const pool_call *p)
{
    bd_node number = BD_NODE_NONE;
    for (uint32_t i = 0; i < p->spatial; i++) {
        const bd_attr_value attrs[] = {p->sizes, {.value = i}};
        bd_node along = bd_build(p->graph, BURN_OP_IOTA, NULL, 0, attrs);
        if (i == 0) {
            number = along;
            continue;
        }
        bd_node size = bd_build_integer(p->graph, (bd_int)p->sizes.values[i]);
        number = bd_build(p->graph, BURN_OP_MUL, (bd_node[]){number, size}, 2, NULL);
        number = bd_build(p->graph, BURN_OP_ADD, (bd_node[]){number, along}, 2, NULL);
    }
    return number;
}

/* [.., counts.., sizes..] with tiled windows back to the input's places; what no window covers
 * is 0. */
static bd_node place_tiles(const pool_call *p, bd_node windowed, bd_node x)
{
    bd_graph *graph = p->graph;
    uint32_t first = p->rank - p->spatial;
    int64_t order[BURN_RANK_MAX], lows[BURN_RANK_MAX], highs[BURN_RANK_MAX], shape[BURN_RANK_MAX];
    for (uint32_t d = 0; d < first; d++)
        order[d] = d;
    for (uint32_t i = 0; i < p->spatial; i++) {
        order[first + 2 * i] = first + i;
        order[first + 2 * i + 1] = p->rank + i;
    }
    const bd_attr_value dims = bd_rule_list(graph, order, p->rank + p->spatial);
    bd_node tiles = bd_build(graph, BURN_OP_PERMUTE, &windowed, 1, &dims);
    for (uint32_t d = 0; d < p->rank; d++) {
        bd_int size = bd_rule_size(graph, x, d), covered = size;
        if (d >= first)
            covered = bd_int_mul(p->ints, (bd_int)p->counts.values[d - first],
                                 (bd_int)p->sizes.values[d - first]);
        shape[d] = covered;
        lows[d] = BD_INT_0;
        highs[d] = bd_int_sub(p->ints, size, covered);
    }
    tiles = bd_rule_reshape(graph, tiles, bd_rule_list(graph, shape, p->rank));
    burn_dtype dtype = (burn_dtype)bd_graph_at(graph, tiles)->dtype;
    return pad_by(p, tiles, bd_build_constant(graph, dtype, 0.0), lows, highs);
}

/* What elements of windows give, brought to the input's places. */
static bd_node collect(const pool_call *p, bd_node windowed, bd_node x)
{
    bd_graph *graph = p->graph;
    bd_attr_value attrs[5], ends;
    if (p->tiled)
        return place_tiles(p, windowed, x);
    window_attrs(p, attrs);
    bd_node base = bd_rule_zeros(graph, padded(p, x, 0.0));
    bd_node sums = bd_build(graph, BURN_OP_WINDOW_ADD, (bd_node[]){base, windowed}, 2, attrs);
    if (p->low.count == 0)
        return sums;
    int64_t starts[BURN_RANK_MAX];
    for (uint32_t d = 0; d < p->rank; d++)
        starts[d] = d < p->rank - p->spatial ? (int64_t)BD_INT_0
                                             : p->low.values[d - (p->rank - p->spatial)];
    bd_attr_value from = bd_rule_list(graph, starts, p->rank);
    ends = bd_rule_sizes_add(graph, from, bd_rule_dims(graph, x, 0, p->rank));
    const bd_attr_value cut[] = {from, ends, bd_rule_ones_like(graph, from)};
    return bd_build(graph, BURN_OP_SLICE, &sums, 1, cut);
}

/* ---- maximum ---- */

uint32_t bd_decompose_max_pool(const bd_rule_call *call, bd_node *out)
{
    pool_call p = pool_of(call, BURN_OP_MAX_POOL);
    bd_node x = call->inputs[0];
    out[0] = reduce_windows(&p, BURN_OP_MAX, windows(&p, padded(&p, x, lowest(p.graph, x))));
    return 1;
}

static bd_node hits(const pool_call *p, bd_node x)
{
    return reduce_windows(p, BURN_OP_ARGMAX, windows(p, padded(p, x, lowest(p->graph, x))));
}

/* The first of equal elements has it all. */
void bd_gradient_max_pool(const bd_rule_call *call, bd_node *out_gradients)
{
    pool_call p = pool_of(call, BURN_OP_MAX_POOL);
    bd_node x = call->inputs[0], zero = bd_rule_whole(p.graph, 0);
    out_gradients[0] = BD_NODE_NONE;
    if (!call->wanted[0])
        return;
    bd_node hit =
        bd_build(p.graph, BURN_OP_EQ,
                 (bd_node[]){repeat_places(&p, hits(&p, x)), element_numbers(&p)}, 2, NULL);
    bd_node given = bd_build(p.graph, BURN_OP_WHERE,
                             (bd_node[]){hit, repeat_places(&p, call->gradient), zero}, 3, NULL);
    out_gradients[0] = bd_rule_gradient(p.graph, collect(&p, given, x), x);
}

/* Position in the input's plane: sum over dims of (place * stride - low + element * dilation). */
uint32_t bd_decompose_max_pool_index(const bd_rule_call *call, bd_node *out)
{
    pool_call p = pool_of(call, BURN_OP_MAX_POOL_INDEX);
    bd_graph *graph = p.graph;
    bd_node x = call->inputs[0], rest = hits(&p, x), position = BD_NODE_NONE;
    bd_attr_value dims = bd_rule_dims(graph, rest, 0, p.rank);
    bd_int plane = BD_INT_1;
    for (uint32_t i = p.spatial; i-- > 0;) {
        uint32_t dim = p.rank - p.spatial + i;
        bd_node size = bd_build_integer(graph, (bd_int)p.sizes.values[i]);
        bd_node element = rest;
        if (i > 0) {
            element = bd_build(graph, BURN_OP_REMAINDER, (bd_node[]){rest, size}, 2, NULL);
            rest = bd_build(graph, BURN_OP_FLOOR_DIVIDE, (bd_node[]){rest, size}, 2, NULL);
        }
        const bd_attr_value attrs[] = {dims, {.value = dim}};
        bd_node place = bd_build(graph, BURN_OP_IOTA, NULL, 0, attrs);
        bd_node stride = bd_build_integer(graph, (bd_int)p.strides.values[i]);
        bd_node dilation = bd_build_integer(graph, (bd_int)p.dilations.values[i]);
        place = bd_build(graph, BURN_OP_MUL, (bd_node[]){place, stride}, 2, NULL);
        element = bd_build(graph, BURN_OP_MUL, (bd_node[]){element, dilation}, 2, NULL);
        place = bd_build(graph, BURN_OP_ADD, (bd_node[]){place, element}, 2, NULL);
        if (p.low.count > 0) {
            bd_node low = bd_build_integer(graph, (bd_int)p.low.values[i]);
            place = bd_build(graph, BURN_OP_SUB, (bd_node[]){place, low}, 2, NULL);
        }
        bd_node scale = bd_build_integer(graph, plane);
        place = bd_build(graph, BURN_OP_MUL, (bd_node[]){place, scale}, 2, NULL);
        position = position == BD_NODE_NONE
                       ? place
                       : bd_build(graph, BURN_OP_ADD, (bd_node[]){position, place}, 2, NULL);
        plane = bd_int_mul(p.ints, plane, bd_rule_size(graph, x, dim));
    }
    out[0] = position;
    return 1;
}

/* ---- mean ---- */

/* Elements of the window at each place of a dim that lie in the input (mode 2), or in it and its
 * padding alike on both sides (mode 1): min(start + size, end) - max(start, begin). */
static bd_node count_along(const pool_call *p, bd_node x, uint32_t i, bool with_padding)
{
    bd_graph *graph = p->graph;
    const bd_attr_value attrs[] = {p->counts, {.value = i}};
    bd_node place = bd_build(graph, BURN_OP_IOTA, NULL, 0, attrs);
    bd_node stride = bd_build_integer(graph, (bd_int)p->strides.values[i]);
    bd_int low = p->low.count > 0 ? (bd_int)p->low.values[i] : BD_INT_0;
    bd_int extent = bd_rule_size(graph, x, p->rank - p->spatial + i);
    bd_node first = bd_build(graph, BURN_OP_MUL, (bd_node[]){place, stride}, 2, NULL);
    first = bd_build(graph, BURN_OP_SUB, (bd_node[]){first, bd_build_integer(graph, low)}, 2, NULL);
    bd_node size = bd_build_integer(graph, (bd_int)p->sizes.values[i]);
    bd_node last = bd_build(graph, BURN_OP_ADD, (bd_node[]){first, size}, 2, NULL);
    bd_int end = with_padding ? bd_int_add(p->ints, extent, low) : extent;
    last =
        bd_build(graph, BURN_OP_MINIMUM, (bd_node[]){last, bd_build_integer(graph, end)}, 2, NULL);
    if (!with_padding)
        first = bd_build(graph, BURN_OP_MAXIMUM,
                         (bd_node[]){first, bd_build_integer(graph, BD_INT_0)}, 2, NULL);
    return bd_build(graph, BURN_OP_SUB, (bd_node[]){last, first}, 2, NULL);
}

/* By what the sum of each window is divided; to be broadcast. */
static bd_node divisor(const pool_call *p, bd_node x, int64_t mode)
{
    bd_graph *graph = p->graph;
    bd_int all = BD_INT_1;
    bd_node product = BD_NODE_NONE;
    for (uint32_t i = 0; i < p->spatial; i++) {
        all = bd_int_mul(p->ints, all, (bd_int)p->sizes.values[i]);
        if (mode == 0)
            continue;
        bd_node own = count_along(p, x, i, mode == 1);
        product = i ? bd_build(graph, BURN_OP_MUL, (bd_node[]){product, own}, 2, NULL) : own;
    }
    if (mode == 0)
        product = bd_build_integer(graph, all);
    return bd_build_cast(graph, product, (burn_dtype)bd_graph_at(graph, x)->dtype);
}

uint32_t bd_decompose_avg_pool(const bd_rule_call *call, bd_node *out)
{
    pool_call p = pool_of(call, BURN_OP_AVG_POOL);
    bd_node x = call->inputs[0];
    int64_t mode = call->attrs[burn_op_attr(burn_op_lookup(BURN_OP_AVG_POOL), "mode")].value;
    bd_node sum = reduce_windows(&p, BURN_OP_SUM, windows(&p, padded(&p, x, 0.0)));
    out[0] = bd_build(p.graph, BURN_OP_DIV, (bd_node[]){sum, divisor(&p, x, mode)}, 2, NULL);
    return 1;
}

void bd_gradient_avg_pool(const bd_rule_call *call, bd_node *out_gradients)
{
    pool_call p = pool_of(call, BURN_OP_AVG_POOL);
    bd_node x = call->inputs[0];
    int64_t mode = call->attrs[burn_op_attr(burn_op_lookup(BURN_OP_AVG_POOL), "mode")].value;
    out_gradients[0] = BD_NODE_NONE;
    if (!call->wanted[0])
        return;
    bd_node shares = bd_build(p.graph, BURN_OP_DIV,
                              (bd_node[]){call->gradient, divisor(&p, x, mode)}, 2, NULL);
    out_gradients[0] = bd_rule_gradient(p.graph, collect(&p, repeat_places(&p, shares), x), x);
}
