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

static void stack(op_shaping *shaping)
{
    int64_t dim = attr(shaping, "dim")->value;
    const bd_graph_node *x = input(shaping, 0);
    shaping->rank = x->rank + 1;
    for (int axis = 0, from = 0; axis < shaping->rank && axis < BURN_RANK_MAX; axis++)
        shaping->dims[axis] = axis == dim ? bd_int_const(shaping->graph->ints, shaping->input_count)
                                          : x->dims[from++];
    for (uint32_t i = 1; i < shaping->input_count; i++)
        unite_nodes(shaping, x, input(shaping, i));
}

/* ---- reductions, products, indices ---- */

static void reduce(op_shaping *shaping, const int64_t *dims, uint32_t count)
{
    const bd_graph_node *x = input(shaping, 0);
    bool keep = attr(shaping, "keepdim")->value != 0;
    shaping->rank = 0;
    for (uint32_t axis = 0; axis < x->rank; axis++) {
        bool reduced = false;
        for (uint32_t i = 0; i < count; i++)
            reduced |= dims[i] == axis;
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

/* Of matmul's two operands, with their batch dims broadcast. */
static void matmul(op_shaping *shaping)
{
    bd_ints *ints = shaping->graph->ints;
    const bd_graph_node *a = input(shaping, 0), *b = input(shaping, 1);
    bd_int inner_a = a->dims[a->rank - 1], inner_b = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    uint32_t batch_a = a->rank > 2 ? a->rank - 2u : 0, batch_b = b->rank > 2 ? b->rank - 2u : 0;
    uint32_t batch = batch_a > batch_b ? batch_a : batch_b;
    unite(shaping, inner_a, inner_b);
    for (uint32_t i = 0; i < batch; i++) {
        bd_int x =
            i + batch_a >= batch ? bd_int_find(ints, a->dims[i + batch_a - batch]) : BD_INT_1;
        bd_int y =
            i + batch_b >= batch ? bd_int_find(ints, b->dims[i + batch_b - batch]) : BD_INT_1;
        if (x != BD_INT_1 && y != BD_INT_1)
            unite(shaping, x, y);
        shaping->dims[i] = x == BD_INT_1 ? y : x;
    }
    shaping->rank = (int)batch;
    if (a->rank > 1)
        shaping->dims[shaping->rank++] = a->dims[a->rank - 2];
    if (b->rank > 1)
        shaping->dims[shaping->rank++] = b->dims[b->rank - 1];
}

static void linear(op_shaping *shaping)
{
    const bd_graph_node *x = input(shaping, 0), *weight = input(shaping, 1);
    take_dims(shaping, x);
    unite(shaping, x->dims[x->rank - 1], weight->dims[1]);
    shaping->dims[x->rank - 1] = weight->dims[0];
    if (has_input(shaping, 2))
        unite(shaping, weight->dims[0], input(shaping, 2)->dims[0]);
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

static void soft_loss(op_shaping *shaping)
{
    const bd_graph_node *x = input(shaping, 0);
    uint32_t class_dim = x->rank > 1;
    unite_nodes(shaping, x, input(shaping, 1));
    if (attr(shaping, "reduction")->value == 0)
        for (uint32_t axis = 0; axis < x->rank; axis++)
            if (axis != class_dim)
                shaping->dims[shaping->rank++] = x->dims[axis];
}

static void apply(op_shaping *shaping)
{
    const burn_op_info *info = shaping->info;
    switch ((burn_shape_rule)info->shape_rule) {
    case BURN_SHAPE_RULE_NONE:
    case BURN_SHAPE_RULE_GRAD:
    case BURN_SHAPE_RULE_CONSTANT:
    case BURN_SHAPE_RULE_SPLIT:
    case BURN_SHAPE_RULE_TAKE_ND:
        shaping->rank = -1; /* no rows of these stay whole */
        break;
    case BURN_SHAPE_RULE_SCALAR:
        break;
    case BURN_SHAPE_RULE_BROADCAST:
    case BURN_SHAPE_RULE_SAME:
    case BURN_SHAPE_RULE_SAME_DIM:
    case BURN_SHAPE_RULE_FLIP:
    case BURN_SHAPE_RULE_TRIANGLE:
    case BURN_SHAPE_RULE_SLICE_UPDATE:
    case BURN_SHAPE_RULE_PUT_ND:
    case BURN_SHAPE_RULE_LIKE_INPUTS:
        take_dims(shaping, input(shaping, 0));
        break;
    case BURN_SHAPE_RULE_POINT_LOSS:
        if (attr(shaping, "reduction")->value == 0)
            take_dims(shaping, input(shaping, 0));
        break;
    case BURN_SHAPE_RULE_SHAPE:
    case BURN_SHAPE_RULE_RESHAPE:
        take_sizes(shaping, "shape");
        break;
    case BURN_SHAPE_RULE_COUNT:
        shaping->dims[shaping->rank++] = (bd_int)attr(shaping, "count")->value;
        break;
    case BURN_SHAPE_RULE_EYE:
        shaping->dims[shaping->rank++] = (bd_int)attr(shaping, "rows")->value;
        shaping->dims[shaping->rank++] = (bd_int)attr(shaping, "columns")->value;
        break;
    case BURN_SHAPE_RULE_ONE_HOT:
        take_dims(shaping, input(shaping, 0));
        shaping->dims[shaping->rank++] = (bd_int)attr(shaping, "classes")->value;
        break;
    case BURN_SHAPE_RULE_PERMUTE:
        permute(shaping);
        break;
    case BURN_SHAPE_RULE_EXPAND:
        expand(shaping);
        break;
    case BURN_SHAPE_RULE_SLICE:
        slice(shaping, shaping->dims, &shaping->rank);
        break;
    case BURN_SHAPE_RULE_PAD:
        pad(shaping);
        break;
    case BURN_SHAPE_RULE_CONCAT:
        concat(shaping);
        break;
    case BURN_SHAPE_RULE_STACK:
        stack(shaping);
        break;
    case BURN_SHAPE_RULE_SLICE_SET:
        slice_set(shaping);
        break;
    case BURN_SHAPE_RULE_REDUCE:
    case BURN_SHAPE_RULE_REDUCE_SOME:
        reduce(shaping, attr(shaping, "dims")->values, attr(shaping, "dims")->count);
        break;
    case BURN_SHAPE_RULE_REDUCE_ONE:
        reduce(shaping, &attr(shaping, "dim")->value, 1);
        break;
    case BURN_SHAPE_RULE_MATMUL:
        matmul(shaping);
        break;
    case BURN_SHAPE_RULE_LINEAR:
        linear(shaping);
        break;
    case BURN_SHAPE_RULE_DOT:
        dot(shaping);
        break;
    case BURN_SHAPE_RULE_LAYER_NORM:
        layer_norm(shaping);
        break;
    case BURN_SHAPE_RULE_EMBEDDING:
        replace_dims(shaping, 0, 1);
        break;
    case BURN_SHAPE_RULE_TAKE:
        replace_dims(shaping, attr(shaping, "dim")->value, 1);
        break;
    case BURN_SHAPE_RULE_GATHER:
        gather(shaping);
        break;
    case BURN_SHAPE_RULE_SCATTER:
        scatter(shaping);
        break;
    case BURN_SHAPE_RULE_CLASS_LOSS:
        class_loss(shaping);
        break;
    case BURN_SHAPE_RULE_SOFT_LOSS:
        soft_loss(shaping);
        break;
    }
}

int bd_shape_symbolic(bd_graph *graph, const burn_op_info *info, const bd_node *inputs,
                      uint32_t input_count, const bd_attr_value *attrs, bd_int dims[BURN_RANK_MAX])
{
    op_shaping shaping = {.graph = graph,
                          .info = info,
                          .inputs = inputs,
                          .input_count = input_count,
                          .attrs = attrs,
                          .dims = dims};
    apply(&shaping);
    if (shaping.rank < 0 || shaping.rank > BURN_RANK_MAX) {
        bd_graph_fail(graph, BD_ERROR(INTERNAL, "op %s: no symbolic shape of rank %d", info->name,
                                      shaping.rank));
        return -1;
    }
    for (int i = 0; i < shaping.rank; i++)
        dims[i] = bd_int_find(graph->ints, dims[i]);
    return shaping.rank;
}
