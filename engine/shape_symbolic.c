/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/graph_parts.h"
#include "proto/base/assert.h"
#include "proto/op_rules.h"

/* The symbolic side of the shape rules (proto/infer.c has the numeric one). Sizes were checked
 * there, so here equalities are only noted. */
typedef struct op_shaping {
    bd_graph *graph;
    const burn_op_info *info;
    const bd_node *inputs;
    uint32_t input_count;
    const bd_attr_value *attrs;
    bd_int *dims; /* of the output */
    int rank;
} op_shaping;

static const bd_attr_value *attr(const op_shaping *shaping, const char *name)
{
    int index = burn_op_attr(shaping->info, name);
    BD_ASSERT(index >= 0);
    return &shaping->attrs[index];
}

static const bd_graph_node *input(const op_shaping *shaping, uint32_t i)
{
    return bd_graph_at(shaping->graph, shaping->inputs[i]);
}

static bool has_input(const op_shaping *shaping, uint32_t i)
{
    return i < shaping->input_count && shaping->inputs[i] != BD_NODE_NONE;
}

static void unite(const op_shaping *shaping, bd_int a, bd_int b)
{
    bd_int_unite(shaping->graph->ints, a, b);
}

static void take_dims(op_shaping *shaping, const bd_graph_node *node)
{
    shaping->rank = node->rank;
    memcpy(shaping->dims, node->dims, sizeof *node->dims * node->rank);
}

static void take_sizes(op_shaping *shaping, const char *name)
{
    const bd_attr_value *sizes = attr(shaping, name);
    shaping->rank = (int)sizes->count;
    for (uint32_t i = 0; i < sizes->count && i < BURN_RANK_MAX; i++)
        shaping->dims[i] = (bd_int)sizes->values[i];
}

static void unite_nodes(const op_shaping *shaping, const bd_graph_node *a, const bd_graph_node *b)
{
    for (uint32_t i = 0; i < a->rank && i < b->rank; i++)
        unite(shaping, a->dims[i], b->dims[i]);
}

/* ---- views ---- */

static void expand(op_shaping *shaping)
{
    const bd_graph_node *x = input(shaping, 0);
    take_sizes(shaping, "shape");
    for (uint32_t i = 0; i < x->rank && shaping->rank >= x->rank; i++)
        if (bd_int_find(shaping->graph->ints, x->dims[i]) != BD_INT_1)
            unite(shaping, x->dims[i], shaping->dims[(uint32_t)shaping->rank - x->rank + i]);
}

static void permute(op_shaping *shaping)
{
    const bd_graph_node *x = input(shaping, 0);
    const bd_attr_value *order = attr(shaping, "dims");
    shaping->rank = x->rank;
    for (uint32_t i = 0; i < x->rank && i < order->count; i++)
        shaping->dims[i] = x->dims[order->values[i]];
}

/* Sums, products and quotients of sizes are never negative; differences may be. */
static bool is_natural(const bd_ints *ints, bd_int number, int depth)
{
    const bd_int_entry *e = bd_int_at(ints, bd_int_find(ints, number));
    if (e->kind == BD_INT_CONST)
        return e->value >= 0;
    if (e->kind < BD_INT_ADD)
        return true;
    return e->kind != BD_INT_SUB && depth > 0 && is_natural(ints, e->a, depth - 1) &&
           is_natural(ints, e->b, depth - 1);
}

static bd_int slice_size(bd_ints *ints, bd_int start, bd_int stop, bd_int step)
{
    bd_int span = bd_int_sub(ints, stop, start);
    if (!is_natural(ints, span, 8))
        span = bd_int_max(ints, span, BD_INT_0);
    if (bd_int_find(ints, step) == BD_INT_1)
        return span;
    return bd_int_div(ints, bd_int_add(ints, span, bd_int_sub(ints, step, BD_INT_1)), step);
}

static void slice(const op_shaping *shaping, bd_int *dims, int *rank)
{
    bd_ints *ints = shaping->graph->ints;
    const bd_attr_value *starts = attr(shaping, "starts"), *stops = attr(shaping, "stops"),
                        *steps = attr(shaping, "steps");
    *rank = (int)starts->count;
    for (uint32_t i = 0; i < starts->count && i < BURN_RANK_MAX; i++)
        dims[i] = slice_size(ints, (bd_int)starts->values[i], (bd_int)stops->values[i],
                             (bd_int)steps->values[i]);
}

/* x with a part replaced by input 1, which has the part's shape. */
static void slice_set(op_shaping *shaping)
{
    bd_int part[BURN_RANK_MAX];
    int rank;
    take_dims(shaping, input(shaping, 0));
    slice(shaping, part, &rank);
    const bd_graph_node *value = input(shaping, 1);
    for (uint32_t i = 0; i < value->rank && (int)i < rank; i++)
        unite(shaping, part[i], value->dims[i]);
}

static void pad(op_shaping *shaping)
{
    bd_ints *ints = shaping->graph->ints;
    const bd_attr_value *low = attr(shaping, "low"), *high = attr(shaping, "high");
    take_dims(shaping, input(shaping, 0));
    for (int i = 0; i < shaping->rank; i++)
        shaping->dims[i] =
            bd_int_add(ints, bd_int_add(ints, (bd_int)low->values[i], shaping->dims[i]),
                       (bd_int)high->values[i]);
}

static void concat(op_shaping *shaping)
{
    int64_t dim = attr(shaping, "dim")->value;
    take_dims(shaping, input(shaping, 0));
    for (uint32_t i = 1; i < shaping->input_count; i++) {
        const bd_graph_node *x = input(shaping, i);
        for (int axis = 0; axis < shaping->rank && axis < x->rank; axis++) {
            if (axis == dim)
                shaping->dims[axis] =
                    bd_int_add(shaping->graph->ints, shaping->dims[axis], x->dims[axis]);
            else
                unite(shaping, shaping->dims[axis], x->dims[axis]);
        }
    }
}

/* ---- windows ---- */

static void window(op_shaping *shaping)
{
    const bd_attr_value *windowed = attr(shaping, "dims"), *counts = attr(shaping, "counts"),
                        *sizes = attr(shaping, "sizes");
    take_dims(shaping, input(shaping, 0));
    for (uint32_t i = 0; i < windowed->count; i++) {
        shaping->dims[windowed->values[i]] = (bd_int)counts->values[i];
        shaping->dims[shaping->rank++] = (bd_int)sizes->values[i];
    }
}

static void window_add(op_shaping *shaping)
{
    window(shaping);
    const bd_graph_node *value = input(shaping, 1);
    for (uint32_t i = 0; i < value->rank; i++)
        unite(shaping, shaping->dims[i], value->dims[i]);
    take_dims(shaping, input(shaping, 0));
}

/* Windows of a dim of the node, which is padded if there is padding. */
static bd_int window_count(const op_shaping *shaping, bd_int extent, bd_int size, uint32_t i)
{
    bd_ints *ints = shaping->graph->ints;
    const bd_attr_value *low = attr(shaping, "low"), *high = attr(shaping, "high");
    bd_int last = bd_int_mul(ints, bd_int_sub(ints, size, BD_INT_1),
                             (bd_int)attr(shaping, "dilations")->values[i]);
    if (low->count > 0)
        extent = bd_int_add(ints, bd_int_add(ints, extent, (bd_int)low->values[i]),
                            (bd_int)high->values[i]);
    bd_int room = bd_int_sub(ints, bd_int_sub(ints, extent, last), BD_INT_1);
    room = bd_int_div(ints, room, (bd_int)attr(shaping, "strides")->values[i]);
    return bd_int_add(ints, room, BD_INT_1);
}

static void conv(op_shaping *shaping)
{
    const bd_graph_node *x = input(shaping, 0), *weight = input(shaping, 1);
    bd_ints *ints = shaping->graph->ints;
    unite(shaping, x->dims[1],
          bd_int_mul(ints, weight->dims[1], (bd_int)attr(shaping, "groups")->value));
    take_dims(shaping, x);
    shaping->dims[1] = weight->dims[0];
    for (uint32_t i = 0; i + 2 < x->rank; i++)
        shaping->dims[2 + i] = window_count(shaping, x->dims[2 + i], weight->dims[2 + i], i);
    if (has_input(shaping, 2))
        unite(shaping, weight->dims[0], input(shaping, 2)->dims[0]);
}

static void conv_input(op_shaping *shaping)
{
    const bd_graph_node *g = input(shaping, 0), *weight = input(shaping, 1);
    bd_ints *ints = shaping->graph->ints;
    unite(shaping, g->dims[1], weight->dims[0]);
    take_dims(shaping, g);
    shaping->dims[1] =
        bd_int_mul(ints, weight->dims[1], (bd_int)attr(shaping, "groups")->value);
    for (uint32_t i = 0; i + 2 < g->rank; i++)
        shaping->dims[2 + i] = (bd_int)attr(shaping, "shape")->values[i];
}

static void conv_weight(op_shaping *shaping)
{
    const bd_graph_node *x = input(shaping, 0), *g = input(shaping, 1);
    bd_ints *ints = shaping->graph->ints;
    unite(shaping, x->dims[0], g->dims[0]);
    take_dims(shaping, g);
    shaping->dims[0] = g->dims[1];
    shaping->dims[1] = bd_int_div(ints, x->dims[1], (bd_int)attr(shaping, "groups")->value);
    for (uint32_t i = 0; i + 2 < g->rank; i++)
        shaping->dims[2 + i] = (bd_int)attr(shaping, "shape")->values[i];
}

static void channel_norm(op_shaping *shaping)
{
    const bd_graph_node *x = input(shaping, 0);
    take_dims(shaping, x);
    for (uint32_t i = 1; i < shaping->input_count; i++)
        if (has_input(shaping, i) && input(shaping, i)->rank == 1)
            unite(shaping, x->dims[1], input(shaping, i)->dims[0]);
}

static void pool(op_shaping *shaping)
{
    const bd_attr_value *sizes = attr(shaping, "sizes");
    take_dims(shaping, input(shaping, 0));
    uint32_t first = (uint32_t)shaping->rank - sizes->count;
    for (uint32_t i = 0; i < sizes->count; i++)
        shaping->dims[first + i] =
            window_count(shaping, shaping->dims[first + i], (bd_int)sizes->values[i], i);
}

/* ---- reductions, products, indices ---- */

static void reduce(op_shaping *shaping)
{
    const bd_graph_node *x = input(shaping, 0);
    const bd_attr_value *dims = attr(shaping, "dims");
    bool keep = attr(shaping, "keepdim")->value != 0;
    shaping->rank = 0;
    for (uint32_t axis = 0; axis < x->rank; axis++) {
        bool reduced = false;
        for (uint32_t i = 0; i < dims->count; i++)
            reduced |= dims->values[i] == axis;
        if (!reduced)
            shaping->dims[shaping->rank++] = x->dims[axis];
        else if (keep)
            shaping->dims[shaping->rank++] = BD_INT_1;
    }
}

static void dot(op_shaping *shaping)
{
    const bd_graph_node *a = input(shaping, 0), *b = input(shaping, 1);
    uint32_t rank = a->rank;
    BD_ASSERT(rank >= 2 && b->rank == rank);
    take_dims(shaping, a);
    for (uint32_t i = 0; i + 2 < rank; i++)
        unite(shaping, a->dims[i], b->dims[i]);
    unite(shaping, a->dims[rank - 1], b->dims[rank - 2]);
    shaping->dims[rank - 1] = b->dims[rank - 1];
}

static void layer_norm(op_shaping *shaping)
{
    const bd_graph_node *x = input(shaping, 0);
    const bd_attr_value *shape = attr(shaping, "shape");
    take_dims(shaping, x);
    for (uint32_t i = 0; i < shape->count && shape->count <= x->rank; i++) {
        bd_int dim = x->dims[x->rank - shape->count + i];
        unite(shaping, dim, (bd_int)shape->values[i]);
        for (uint32_t j = 1; j < shaping->input_count; j++)
            if (has_input(shaping, j) && input(shaping, j)->rank == shape->count)
                unite(shaping, dim, input(shaping, j)->dims[i]);
    }
}

/* The dims of input 1 in the place of `taken` dims of input 0 from `dim` on. */
static void replace_dims(op_shaping *shaping, int64_t dim, uint32_t taken)
{
    const bd_graph_node *x = input(shaping, 0), *index = input(shaping, 1);
    shaping->rank = 0;
    for (uint32_t axis = 0; axis < x->rank; axis++) {
        if (axis == dim)
            for (uint32_t i = 0; i < index->rank; i++)
                shaping->dims[shaping->rank++] = index->dims[i];
        if (axis < dim || axis >= dim + taken)
            shaping->dims[shaping->rank++] = x->dims[axis];
    }
}

static void gather(op_shaping *shaping)
{
    take_dims(shaping, input(shaping, 1));
}

static void scatter(op_shaping *shaping)
{
    take_dims(shaping, input(shaping, 0));
    unite_nodes(shaping, input(shaping, 1), input(shaping, 2));
}

static void class_loss(op_shaping *shaping)
{
    const bd_graph_node *x = input(shaping, 0), *target = input(shaping, 1);
    uint32_t class_dim = x->rank > 1;
    for (uint32_t axis = 0, at = 0; axis < x->rank && at < target->rank; axis++)
        if (axis != class_dim)
            unite(shaping, x->dims[axis], target->dims[at++]);
    if (has_input(shaping, 2) && input(shaping, 2)->rank == 1)
        unite(shaping, x->dims[class_dim], input(shaping, 2)->dims[0]);
    if (attr(shaping, "reduction")->value == 0)
        take_dims(shaping, target);
}

static void same(op_shaping *shaping)
{
    take_dims(shaping, input(shaping, 0));
}

static void named_shape(op_shaping *shaping)
{
    take_sizes(shaping, "shape");
}

static void slice_dims(op_shaping *shaping)
{
    slice(shaping, shaping->dims, &shaping->rank);
}

static void embedding(op_shaping *shaping)
{
    replace_dims(shaping, 0, 1);
}

/* Of the ops that can stay whole; the others become their parts as soon as they are built. */
typedef void (*shape_function)(op_shaping *shaping);
static const shape_function functions[] = {
    [BURN_SHAPE_RULE_BROADCAST] = same,
    [BURN_SHAPE_RULE_SAME] = same,
    [BURN_SHAPE_RULE_SAME_DIM] = same,
    [BURN_SHAPE_RULE_FLIP] = same,
    [BURN_SHAPE_RULE_TRIANGLE] = same,
    [BURN_SHAPE_RULE_SHAPE] = named_shape,
    [BURN_SHAPE_RULE_RESHAPE] = named_shape,
    [BURN_SHAPE_RULE_EXPAND] = expand,
    [BURN_SHAPE_RULE_PERMUTE] = permute,
    [BURN_SHAPE_RULE_SLICE] = slice_dims,
    [BURN_SHAPE_RULE_SLICE_SET] = slice_set,
    [BURN_SHAPE_RULE_PAD] = pad,
    [BURN_SHAPE_RULE_CONCAT] = concat,
    [BURN_SHAPE_RULE_REDUCE] = reduce,
    [BURN_SHAPE_RULE_REDUCE_SOME] = reduce,
    [BURN_SHAPE_RULE_DOT] = dot,
    [BURN_SHAPE_RULE_LAYER_NORM] = layer_norm,
    [BURN_SHAPE_RULE_EMBEDDING] = embedding,
    [BURN_SHAPE_RULE_GATHER] = gather,
    [BURN_SHAPE_RULE_SCATTER] = scatter,
    [BURN_SHAPE_RULE_CLASS_LOSS] = class_loss,
    [BURN_SHAPE_RULE_WINDOW] = window,
    [BURN_SHAPE_RULE_WINDOW_ADD] = window_add,
    [BURN_SHAPE_RULE_CONV] = conv,
    [BURN_SHAPE_RULE_CONV_INPUT] = conv_input,
    [BURN_SHAPE_RULE_CONV_WEIGHT] = conv_weight,
    [BURN_SHAPE_RULE_CHANNEL_NORM] = channel_norm,
    [BURN_SHAPE_RULE_POOL] = pool,
};

int bd_shape_symbolic(bd_graph *graph, const burn_op_info *info, const bd_node *inputs,
                      uint32_t input_count, const bd_attr_value *attrs, bd_int dims[BURN_RANK_MAX])
{
    op_shaping shaping = {.graph = graph,
                          .info = info,
                          .inputs = inputs,
                          .input_count = input_count,
                          .attrs = attrs,
                          .dims = dims};
    shape_function function = NULL;
    if (info->shape_rule < sizeof functions / sizeof *functions)
        function = functions[info->shape_rule];
    if (function)
        function(&shaping);
    if (!function || shaping.rank > BURN_RANK_MAX) {
        bd_graph_fail(graph, BD_ERROR(INTERNAL, "op %s has no symbolic shape", info->name));
        return -1;
    }
    for (int i = 0; i < shaping.rank; i++)
        dims[i] = bd_int_find(graph->ints, dims[i]);
    return shaping.rank;
}
