/* SPDX-License-Identifier: Apache-2.0
 * Convolutions: products over windows, which are views of the padded input. A convolution y =
 * conv(x, w) is linear in both; its adjoints, conv_input (y, w to x) and conv_weight (x, y to w),
 * are convolutions again, so each has the other two as gradients. All take channels in the dim 1.
 */
#include "engine/graph_parts.h"
#include "engine/rules_build.h"
#include "engine/rules_native.h"
#include "proto/base/assert.h"

/* One convolution in symbols. x [N, C, n..], w [O, C / groups, k..], y [N, O, m..]. */
typedef struct conv_call {
    bd_graph *graph;
    bd_ints *ints;
    uint32_t spatial;
    bd_attr_value strides, low, dilations; /* low: empty without padding */
    bd_int groups;
} conv_call;

static conv_call conv_of(const bd_rule_call *call, burn_op op)
{
    const burn_op_info *info = burn_op_lookup(op);
    return (conv_call){
        .graph = call->graph,
        .ints = bd_graph_ints(call->graph),
        .spatial = (uint32_t)bd_rule_rank(call->graph, call->inputs[0]) - 2,
        .strides = call->attrs[burn_op_attr(info, "strides")],
        .low = call->attrs[burn_op_attr(info, "low")],
        .dilations = call->attrs[burn_op_attr(info, "dilations")],
        .groups = (bd_int)call->attrs[burn_op_attr(info, "groups")].value,
    };
}

static bool has_groups(const conv_call *c)
{
    return bd_int_find(c->ints, c->groups) != BD_INT_1;
}

static bd_int of(bd_attr_value list, uint32_t i)
{
    return (bd_int)list.values[i];
}

static bd_int less_one(bd_ints *ints, bd_int size)
{
    return bd_int_sub(ints, size, BD_INT_1);
}

/* (size - 1) * step + 1 elements lie under `size` of them, `step` apart. */
static bd_int spread(bd_ints *ints, bd_int size, bd_int step)
{
    if (bd_int_find(ints, step) == BD_INT_1)
        return size;
    return bd_int_add(ints, bd_int_mul(ints, less_one(ints, size), step), BD_INT_1);
}

/* ---- pieces ---- */

/* The last dims padded by 0, or by a value; both lists have a size for each of them. */
static bd_node pad_last(bd_graph *graph, bd_node x, bd_node value, bd_attr_value low,
                        bd_attr_value high)
{
    uint32_t rank = (uint32_t)bd_rule_rank(graph, x), first = rank - low.count;
    int64_t lows[BURN_RANK_MAX], highs[BURN_RANK_MAX];
    for (uint32_t d = 0; d < rank; d++) {
        lows[d] = d < first ? (int64_t)BD_INT_0 : low.values[d - first];
        highs[d] = d < first ? (int64_t)BD_INT_0 : high.values[d - first];
    }
    const bd_attr_value attrs[] = {bd_rule_list(graph, lows, rank),
                                   bd_rule_list(graph, highs, rank)};
    return bd_build(graph, BURN_OP_PAD, (bd_node[]){x, value}, 2, attrs);
}

static void window_attrs(bd_graph *graph, int64_t first, bd_attr_value counts, bd_attr_value sizes,
                         bd_attr_value strides, bd_attr_value dilations, bd_attr_value *out)
{
    int64_t dims[BURN_RANK_MAX];
    for (uint32_t i = 0; i < counts.count; i++)
        dims[i] = first + i;
    out[0] = bd_rule_list(graph, dims, counts.count);
    out[1] = counts;
    out[2] = sizes;
    out[3] = strides;
    out[4] = dilations;
}

static bd_node window(bd_graph *graph, bd_node x, bd_attr_value counts, bd_attr_value sizes,
                      bd_attr_value strides, bd_attr_value dilations)
{
    bd_attr_value attrs[5];
    window_attrs(graph, bd_rule_rank(graph, x) - counts.count, counts, sizes, strides, dilations,
                 attrs);
    return bd_build(graph, BURN_OP_WINDOW, &x, 1, attrs);
}

static bd_node permute(bd_graph *graph, bd_node x, const int64_t *order, uint32_t rank)
{
    const bd_attr_value dims = bd_rule_list(graph, order, rank);
    return bd_build(graph, BURN_OP_PERMUTE, &x, 1, &dims);
}

/* Dims [begin, end) become one. */
static bd_node join_dims(bd_graph *graph, bd_node x, int64_t begin, int64_t end)
{
    int64_t size[] = {bd_rule_product(graph, x, begin, end)}, rank = bd_rule_rank(graph, x);
    bd_attr_value shape =
        bd_rule_join(graph, bd_rule_dims(graph, x, 0, begin), bd_rule_list(graph, size, 1));
    return bd_rule_reshape(graph, x,
                           bd_rule_join(graph, shape, bd_rule_dims(graph, x, end, rank)));
}

static bd_node dot(bd_graph *graph, bd_node a, bd_node b)
{
    return bd_build(graph, BURN_OP_DOT, (bd_node[]){a, b}, 2, NULL);
}

/* The same for every element of the batch, which is a new first dim. */
static bd_node repeat(bd_graph *graph, bd_node x, bd_int batch)
{
    int64_t first[] = {batch};
    return bd_rule_expand_to(graph, x,
                             bd_rule_join(graph, bd_rule_list(graph, first, 1),
                                          bd_rule_dims(graph, x, 0, bd_rule_rank(graph, x))));
}

static bd_node zero(bd_graph *graph, bd_node like)
{
    return bd_build_constant(graph, (burn_dtype)bd_graph_at(graph, like)->dtype, 0.0);
}

/* The windows of the input that the places of y see: [N, C, m.., k..]. */
static bd_node windows_of(const conv_call *c, bd_node x, bd_attr_value counts, bd_attr_value kernel)
{
    if (c->low.count > 0) {
        bd_attr_value highs =
            bd_rule_conv_high(c->graph, bd_rule_dims(c->graph, x, 2, c->spatial + 2), kernel,
                              counts, c->strides, c->low, c->dilations);
        x = pad_last(c->graph, x, zero(c->graph, x), c->low, highs);
    }
    return window(c->graph, x, counts, kernel, c->strides, c->dilations);
}

/* [N, C, m.., k..] to [N, (groups,) C / groups * k.., m..] as two dims behind the batch. */
static bd_node windows_by_channel(const conv_call *c, bd_node windows)
{
    uint32_t s = c->spatial, rank = 2 + 2 * s;
    int64_t order[BURN_RANK_MAX] = {0, 1};
    for (uint32_t i = 0; i < s; i++) {
        order[2 + i] = 2 + s + i;
        order[2 + s + i] = 2 + i;
    }
    bd_node at = permute(c->graph, windows, order, rank);
    bool grouped = has_groups(c);
    if (grouped)
        at = bd_rule_split_dim(c->graph, at, 1, c->groups);
    at = join_dims(c->graph, at, 2 + grouped + s, 2 + grouped + 2 * s);
    return join_dims(c->graph, at, 1 + grouped, 2 + grouped + s);
}

/* [N, (groups,) channels, places] to [N, all channels, m..]. */
static bd_node to_places(const conv_call *c, bd_node product, bd_int channels, bd_attr_value places)
{
    int64_t first[] = {bd_rule_size(c->graph, product, 0), channels};
    return bd_rule_reshape(c->graph, product,
                           bd_rule_join(c->graph, bd_rule_list(c->graph, first, 2), places));
}

/* ---- rules ---- */

bd_attr_value bd_rule_conv_high(bd_graph *graph, bd_attr_value extents, bd_attr_value kernel,
                                bd_attr_value counts, bd_attr_value strides, bd_attr_value low,
                                bd_attr_value dilations)
{
    bd_ints *ints = bd_graph_ints(graph);
    int64_t values[BURN_RANK_MAX];
    for (uint32_t i = 0; i < low.count; i++) {
        bd_int reach = bd_int_mul(ints, less_one(ints, of(counts, i)), of(strides, i));
        reach = bd_int_add(ints, reach, spread(ints, of(kernel, i), of(dilations, i)));
        values[i] = bd_int_sub(ints, bd_int_sub(ints, reach, of(low, i)), of(extents, i));
    }
    return bd_rule_list(graph, values, low.count);
}

uint32_t bd_decompose_conv(const bd_rule_call *call, bd_node *out)
{
    conv_call c = conv_of(call, BURN_OP_CONV);
    bd_graph *graph = call->graph;
    bd_node x = call->inputs[0], w = call->inputs[1];
    bd_int dims[BURN_RANK_MAX];
    bd_shape_symbolic(graph, burn_op_lookup(BURN_OP_CONV), call->inputs, call->input_count,
                      call->attrs, dims);
    int64_t values[BURN_RANK_MAX];
    for (uint32_t i = 0; i < c.spatial; i++)
        values[i] = dims[2 + i];
    bd_attr_value counts = bd_rule_list(graph, values, c.spatial);
    bd_attr_value kernel = bd_rule_dims(graph, w, 2, 2 + c.spatial);
    bd_int outputs = bd_rule_size(graph, w, 0);
    bd_node b = windows_by_channel(&c, windows_of(&c, x, counts, kernel));
    bd_node a = join_dims(graph, w, 1, 2 + c.spatial);
    if (has_groups(&c))
        a = bd_rule_split_dim(graph, a, 0, c.groups);
    bd_node y = dot(graph, repeat(graph, a, bd_rule_size(graph, x, 0)), b);
    y = to_places(&c, y, outputs, counts);
    if (call->inputs[2] != BD_NODE_NONE)
        y = bd_build(graph, BURN_OP_ADD,
                     (bd_node[]){y, bd_rule_along(graph, call->inputs[2], y, 1)}, 2, NULL);
    out[0] = y;
    return 1;
}

/* y with zeros between its elements, as far apart as the windows were. */
static bd_node spread_out(const conv_call *c, bd_node y)
{
    bd_graph *graph = c->graph;
    bd_ints *ints = c->ints;
    int64_t rank = bd_rule_rank(graph, y), starts[BURN_RANK_MAX], steps[BURN_RANK_MAX],
            dims[BURN_RANK_MAX];
    bool apart = false;
    for (int64_t d = 0; d < rank; d++) {
        starts[d] = BD_INT_0;
        steps[d] = d < 2 ? (int64_t)BD_INT_1 : c->strides.values[d - 2];
        dims[d] = spread(ints, bd_rule_size(graph, y, d), (bd_int)steps[d]);
        apart |= bd_int_find(ints, (bd_int)steps[d]) != BD_INT_1;
    }
    if (!apart)
        return y;
    const bd_attr_value full[] = {bd_rule_list(graph, dims, (uint32_t)rank),
                                  {.value = bd_graph_at(graph, y)->dtype}};
    bd_node nothing = bd_rule_whole(graph, 0);
    bd_node base = bd_build(graph, BURN_OP_FULL, &nothing, 1, full);
    const bd_attr_value places[] = {bd_rule_list(graph, starts, (uint32_t)rank),
                                    bd_rule_list(graph, dims, (uint32_t)rank),
                                    bd_rule_list(graph, steps, (uint32_t)rank)};
    return bd_build(graph, BURN_OP_SLICE_SET, (bd_node[]){base, y}, 2, places);
}

/* ---- to the input ---- */

static bool has_strides(const conv_call *c)
{
    for (uint32_t i = 0; i < c->spatial; i++)
        if (bd_int_find(c->ints, of(c->strides, i)) != BD_INT_1)
            return true;
    return false;
}

static bool has_dilations(const conv_call *c)
{
    for (uint32_t i = 0; i < c->spatial; i++)
        if (bd_int_find(c->ints, of(c->dilations, i)) != BD_INT_1)
            return true;
    return false;
}

static bool is_pointwise(const conv_call *c, bd_attr_value kernel)
{
    for (uint32_t i = 0; i < c->spatial; i++)
        if (bd_int_find(c->ints, of(kernel, i)) != BD_INT_1)
            return false;
    return c->low.count == 0;
}

static bd_int low_of(const conv_call *c, uint32_t i)
{
    return c->low.count ? of(c->low, i) : BD_INT_0;
}

/* How the places of x fall apart: x at s * q + r - low sums y at q - t times w at r + s * t, for
 * all t < steps. No zeros between the elements of y are multiplied, and the same t serve all r. */
typedef struct phase_sizes {
    int64_t steps[BURN_RANK_MAX];  /* the most elements of a window that are a stride apart */
    int64_t first[BURN_RANK_MAX];  /* where x begins in the first stride, */
    int64_t counts[BURN_RANK_MAX]; /* and strides that it reaches into */
    int64_t before[BURN_RANK_MAX], after[BURN_RANK_MAX]; /* padding of y */
} phase_sizes;

static bd_int divide_up(bd_ints *ints, bd_int a, bd_int b)
{
    return bd_int_div(ints, bd_int_add(ints, a, less_one(ints, b)), b);
}

static void find_phases(const conv_call *c, bd_node y, bd_attr_value kernel, bd_attr_value extents,
                        phase_sizes *out)
{
    bd_ints *ints = c->ints;
    for (uint32_t i = 0; i < c->spatial; i++) {
        bd_int stride = of(c->strides, i), low = low_of(c, i);
        bd_int steps = divide_up(ints, of(kernel, i), stride);
        bd_int first = bd_int_mod(ints, low, stride);
        bd_int counts = divide_up(ints, bd_int_add(ints, first, of(extents, i)), stride);
        bd_int before = bd_int_sub(ints, less_one(ints, steps), bd_int_div(ints, low, stride));
        bd_int sees = less_one(ints, bd_int_add(ints, counts, steps));
        bd_int held = bd_int_add(ints, before, bd_rule_size(c->graph, y, 2 + i));
        out->steps[i] = steps;
        out->first[i] = first;
        out->counts[i] = counts;
        out->before[i] = before;
        out->after[i] = bd_int_sub(ints, sees, held);
    }
}

/* w [O, C / groups, k..] to [(groups,) strides.. * C / groups, steps.. * O / groups], steps turned
 * round. The channels, which are many, stand innermost. */
static bd_node weight_by_phase(const conv_call *c, bd_node w, const phase_sizes *sizes)
{
    bd_graph *graph = c->graph;
    uint32_t n = c->spatial;
    int64_t none[BURN_RANK_MAX], more[BURN_RANK_MAX], parts[BURN_RANK_MAX], turned[BURN_RANK_MAX];
    for (uint32_t i = 0; i < n; i++) {
        bd_int whole = bd_int_mul(c->ints, (bd_int)sizes->steps[i], of(c->strides, i));
        none[i] = BD_INT_0;
        more[i] = bd_int_sub(c->ints, whole, bd_rule_size(graph, w, 2 + i));
        parts[2 * i] = sizes->steps[i];
        parts[2 * i + 1] = of(c->strides, i);
        turned[i] = 2 + 2 * i;
    }
    bd_attr_value channels = bd_rule_dims(graph, w, 0, 2);
    w = pad_last(graph, w, zero(graph, w), bd_rule_list(graph, none, n),
                 bd_rule_list(graph, more, n));
    for (uint32_t i = 0; i < n; i++)
        bd_int_unite(c->ints, bd_rule_size(graph, w, 2 + i),
                     bd_int_mul(c->ints, (bd_int)parts[2 * i], (bd_int)parts[2 * i + 1]));
    w = bd_rule_reshape(graph, w, bd_rule_join(graph, channels, bd_rule_list(graph, parts, 2 * n)));
    const bd_attr_value turn = bd_rule_list(graph, turned, n);
    w = bd_build(graph, BURN_OP_FLIP, &w, 1, &turn);
    w = bd_rule_split_dim(graph, w, 0, c->groups); /* [groups, O / groups, C / groups, ..] */
    int64_t order[BURN_RANK_MAX] = {0};
    order[1 + n] = 2;
    order[2 + 2 * n] = 1;
    for (uint32_t i = 0; i < n; i++) {
        order[1 + i] = 4 + 2 * i;
        order[2 + n + i] = 3 + 2 * i;
    }
    w = join_dims(graph, permute(graph, w, order, 3 + 2 * n), 2 + n, 3 + 2 * n);
    w = join_dims(graph, w, 1, 2 + n);
    return has_groups(c) ? w : join_dims(graph, w, 0, 2);
}

/* Windows [N, O, counts.., steps..] to [N, (groups,) steps.. * O / groups, counts..], both dims
 * behind the groups joined. */
static bd_node windows_by_step(const conv_call *c, bd_node windows)
{
    uint32_t n = c->spatial, rank = 3 + 2 * n;
    bd_node at = bd_rule_split_dim(c->graph, windows, 1, c->groups);
    int64_t order[BURN_RANK_MAX] = {0, 1};
    order[2 + n] = 2;
    for (uint32_t i = 0; i < n; i++) {
        order[2 + i] = 3 + n + i;
        order[3 + n + i] = 3 + i;
    }
    at = join_dims(c->graph, permute(c->graph, at, order, rank), 3 + n, rank);
    at = join_dims(c->graph, at, 2, 3 + n);
    return has_groups(c) ? at : join_dims(c->graph, at, 0, 2);
}

/* [N, (groups,) strides.. * C / groups, counts..] as one product to [N, C, extents..]. */
static bd_node join_phases(const conv_call *c, bd_node product, bd_int channels,
                           bd_attr_value extents, const phase_sizes *sizes)
{
    bd_graph *graph = c->graph;
    uint32_t n = c->spatial, rank = 2 + n;
    int64_t order[BURN_RANK_MAX] = {0, 1, 2 + n}, joined[BURN_RANK_MAX], from[BURN_RANK_MAX];
    int64_t outer[] = {bd_rule_size(graph, product, 0), c->groups};
    int64_t inner[] = {bd_int_div(c->ints, channels, c->groups)};
    bd_attr_value apart = bd_rule_join(graph, bd_rule_list(graph, outer, 2), c->strides);
    apart = bd_rule_join(graph, apart, bd_rule_list(graph, inner, 1));
    apart = bd_rule_join(graph, apart, bd_rule_list(graph, sizes->counts, n));
    bd_node x = bd_rule_reshape(graph, product, apart);
    joined[0] = bd_rule_size(graph, x, 0);
    joined[1] = channels;
    from[0] = from[1] = BD_INT_0;
    for (uint32_t i = 0; i < n; i++) {
        order[3 + 2 * i] = 3 + n + i;
        order[4 + 2 * i] = 2 + i;
        joined[2 + i] = bd_int_mul(c->ints, (bd_int)sizes->counts[i], of(c->strides, i));
        from[2 + i] = sizes->first[i];
    }
    x = bd_rule_reshape(graph, permute(graph, x, order, 3 + 2 * n),
                        bd_rule_list(graph, joined, rank));
    bd_attr_value starts = bd_rule_list(graph, from, rank);
    bd_attr_value whole = bd_rule_join(graph, bd_rule_list(graph, joined, 2), extents);
    const bd_attr_value cut[] = {starts, bd_rule_sizes_add(graph, starts, whole),
                                 bd_rule_ones_like(graph, starts)};
    return bd_build(graph, BURN_OP_SLICE, &x, 1, cut);
}

static bd_node input_by_phase(const conv_call *c, bd_node y, bd_node w, bd_attr_value extents,
                              bd_int channels)
{
    bd_graph *graph = c->graph;
    uint32_t n = c->spatial;
    phase_sizes sizes;
    find_phases(c, y, bd_rule_dims(graph, w, 2, 2 + n), extents, &sizes);
    bd_node padded = pad_last(graph, y, zero(graph, y), bd_rule_list(graph, sizes.before, n),
                              bd_rule_list(graph, sizes.after, n));
    bd_attr_value counts = bd_rule_list(graph, sizes.counts, n);
    bd_attr_value ones = bd_rule_ones_like(graph, counts);
    bd_node windows =
        window(graph, padded, counts, bd_rule_list(graph, sizes.steps, n), ones, ones);
    bd_node a = weight_by_phase(c, w, &sizes);
    bd_node product = dot(graph, repeat(graph, a, bd_rule_size(graph, y, 0)),
                          windows_by_step(c, windows));
    return join_phases(c, product, channels, extents, &sizes);
}

/* A window of one element: x is the product at the places of y, zeros between them and behind. */
static bd_node input_of_points(const conv_call *c, bd_node y, bd_node w, bd_attr_value extents)
{
    bd_graph *graph = c->graph;
    bd_attr_value places = bd_rule_dims(graph, y, 2, 2 + c->spatial);
    bd_attr_value ones = bd_rule_ones_like(graph, places);
    const bd_attr_value attrs[] = {
        places, ones, c->low, ones, {.value = (int64_t)c->groups}};
    bd_node x = spread_out(c, bd_build(graph, BURN_OP_CONV_INPUT, (bd_node[]){y, w}, 2, attrs));
    int64_t none[BURN_RANK_MAX], more[BURN_RANK_MAX];
    for (uint32_t i = 0; i < c->spatial; i++) {
        none[i] = BD_INT_0;
        more[i] = bd_int_sub(c->ints, of(extents, i), bd_rule_size(graph, x, 2 + i));
    }
    return pad_last(graph, x, zero(graph, x), bd_rule_list(graph, none, c->spatial),
                    bd_rule_list(graph, more, c->spatial));
}

/* Each element of x sees the places whose windows it was in: a convolution of y, spread out, with
 * the weight turned round. */
uint32_t bd_decompose_conv_input(const bd_rule_call *call, bd_node *out)
{
    conv_call c = conv_of(call, BURN_OP_CONV_INPUT);
    bd_graph *graph = call->graph;
    bd_node y = call->inputs[0], w = call->inputs[1];
    bd_attr_value extents = call->attrs[0], kernel = bd_rule_dims(graph, w, 2, 2 + c.spatial);
    bd_int channels = bd_int_mul(c.ints, c.groups, bd_rule_size(graph, w, 1));
    bool alone = has_groups(&c) && bd_rule_single(graph, w, 1);
    if (has_strides(&c) && !has_dilations(&c) && !alone) {
        out[0] = is_pointwise(&c, kernel) ? input_of_points(&c, y, w, extents)
                                          : input_by_phase(&c, y, w, extents, channels);
        return 1;
    }
    bd_node apart = spread_out(&c, y);
    int64_t lows[BURN_RANK_MAX], highs[BURN_RANK_MAX], ones[BURN_RANK_MAX], flipped[BURN_RANK_MAX];
    for (uint32_t i = 0; i < c.spatial; i++) {
        bd_int reach = less_one(c.ints, spread(c.ints, of(kernel, i), of(c.dilations, i)));
        bd_int low = c.low.count ? of(c.low, i) : BD_INT_0;
        lows[i] = bd_int_sub(c.ints, reach, low);
        highs[i] = bd_int_add(c.ints, bd_int_sub(c.ints, of(extents, i),
                                                 bd_rule_size(graph, apart, 2 + i)), low);
        ones[i] = BD_INT_1;
        flipped[i] = 2 + i;
    }
    bd_node padded = pad_last(graph, apart, zero(graph, y), bd_rule_list(graph, lows, c.spatial),
                              bd_rule_list(graph, highs, c.spatial));
    bd_node b = windows_by_channel(&c, window(graph, padded, extents, kernel,
                                              bd_rule_list(graph, ones, c.spatial), c.dilations));
    const bd_attr_value turn = bd_rule_list(graph, flipped, c.spatial);
    bd_node a = bd_build(graph, BURN_OP_FLIP, &w, 1, &turn);
    bool grouped = has_groups(&c);
    a = bd_rule_split_dim(graph, a, 0, c.groups); /* [groups, O / groups, C / groups, k..] */
    int64_t order[BURN_RANK_MAX];
    for (uint32_t d = 0; d < 3 + c.spatial; d++)
        order[d] = d == 1 ? 2 : d == 2 ? 1 : d;
    a = join_dims(graph, permute(graph, a, order, 3 + c.spatial), 2, 3 + c.spatial);
    a = grouped ? a : join_dims(graph, a, 0, 2);
    bd_node x = dot(graph, repeat(graph, a, bd_rule_size(graph, y, 0)), b);
    out[0] = to_places(&c, x, channels, extents);
    return 1;
}

/* Sums over the batch and the places of y. */
uint32_t bd_decompose_conv_weight(const bd_rule_call *call, bd_node *out)
{
    conv_call c = conv_of(call, BURN_OP_CONV_WEIGHT);
    bd_graph *graph = call->graph;
    uint32_t s = c.spatial;
    bd_node x = call->inputs[0], y = call->inputs[1];
    bd_attr_value kernel = call->attrs[0];
    bd_node windows = windows_of(&c, x, bd_rule_dims(graph, y, 2, 2 + s), kernel);
    /* [N, groups, C / groups, m.., k..] */
    windows = bd_rule_split_dim(graph, windows, 1, c.groups);
    bd_int within = bd_rule_size(graph, windows, 2);
    int64_t order[BURN_RANK_MAX] = {1, 0};
    for (uint32_t i = 0; i < s; i++) {
        order[2 + i] = 3 + i;
        order[3 + s + i] = 3 + s + i;
    }
    order[2 + s] = 2;
    bd_node b = permute(graph, windows, order, 3 + 2 * s);
    b = join_dims(graph, join_dims(graph, b, 2 + s, 3 + 2 * s), 1, 2 + s);
    bd_node a = bd_rule_split_dim(graph, y, 1, c.groups); /* [N, groups, O / groups, m..] */
    for (uint32_t d = 0; d < 3 + s; d++)
        order[d] = d < 2 ? d + 1 : d == 2 ? 0 : d;
    a = join_dims(graph, permute(graph, a, order, 3 + s), 2, 3 + s);
    if (!has_groups(&c)) {
        a = join_dims(graph, a, 0, 2);
        b = join_dims(graph, b, 0, 2);
    }
    bd_node product = dot(graph, a, b); /* [(groups,) O / groups, C / groups * k..] */
    int64_t shape[] = {bd_rule_size(graph, y, 1), within};
    out[0] = bd_rule_reshape(graph, product,
                             bd_rule_join(graph, bd_rule_list(graph, shape, 2), kernel));
    return 1;
}
