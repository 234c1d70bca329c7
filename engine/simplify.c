/* SPDX-License-Identifier: Apache-2.0
 * Local rewriting of core ops that changes no bit of a result, NaN, infinities and the sign of zero
 * included. Only constants written in rules are folded; scalars of the stream stay opaque. Equal
 * nodes become one by hash-consing, unused ones are left behind. */
#include <math.h>
#include <string.h>

#include "engine/graph_parts.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

static const bd_attr_value *attr(const bd_graph_node *node, const char *name)
{
    int index = burn_op_attr(burn_op_lookup(node->op), name);
    BD_ASSERT(index >= 0);
    return &node->attrs[index];
}

static const bd_graph_node *op_input(const bd_graph *graph, const bd_graph_node *node, uint32_t i,
                                     burn_op op)
{
    const bd_graph_node *input = bd_graph_at(graph, node->inputs[i]);
    return input->kind == BD_NODE_OP && input->op == op ? input : NULL;
}

static bool same_dims(const bd_graph *graph, const bd_graph_node *a, const bd_graph_node *b)
{
    bool same = a->rank == b->rank;
    for (uint32_t i = 0; same && i < a->rank; i++)
        same = bd_int_equal(graph->ints, a->dims[i], b->dims[i]);
    return same;
}

/* The rank-0 node that all elements equal, or NONE. */
static bd_node uniform(const bd_graph *graph, bd_node node)
{
    const bd_graph_node *at = bd_graph_at(graph, node);
    if (at->rank == 0)
        return node;
    if (at->kind == BD_NODE_OP && at->op == BURN_OP_EXPAND &&
        bd_graph_at(graph, at->inputs[0])->rank == 0)
        return at->inputs[0];
    return BD_NODE_NONE;
}

static const bd_graph_node *constant(const bd_graph *graph, bd_node node)
{
    bd_node scalar = uniform(graph, node);
    if (scalar == BD_NODE_NONE || bd_graph_at(graph, scalar)->kind != BD_NODE_CONSTANT)
        return NULL;
    return bd_graph_at(graph, scalar);
}

/* Bit for bit: 0.0 is not -0.0. */
static bool is_number(const bd_graph *graph, bd_node node, double value)
{
    const bd_graph_node *leaf = constant(graph, node);
    if (!leaf)
        return false;
    if (burn_dtype_is_float(leaf->dtype))
        return leaf->constant_f == value && signbit(leaf->constant_f) == signbit(value);
    return !signbit(value) && (double)leaf->constant_i == value;
}

static bd_node rewrite(bd_graph *graph, bd_node at, bool single_use);

/* ---- folding of constants ---- */

static bool fold_float(burn_op op, double a, double b, double *out)
{
    if (op == BURN_OP_ADD)
        *out = a + b;
    else if (op == BURN_OP_SUB)
        *out = a - b;
    else if (op == BURN_OP_MUL)
        *out = a * b;
    else if (op == BURN_OP_DIV)
        *out = a / b;
    else if (op == BURN_OP_NEG)
        *out = -a;
    else
        return false;
    return true;
}

static bool fold_int(burn_op op, int64_t a, int64_t b, int64_t *out)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    if (op == BURN_OP_ADD)
        *out = (int64_t)(x + y);
    else if (op == BURN_OP_SUB)
        *out = (int64_t)(x - y);
    else if (op == BURN_OP_MUL)
        *out = (int64_t)(x * y);
    else if (op == BURN_OP_NEG)
        *out = (int64_t)(0 - x);
    else
        return false;
    return true;
}

/* Of rank 0, in dtypes whose arithmetic C has: the result of an f32 op of f32 operands, computed in
 * double and rounded once more, is the f32 result (double holds more than twice the digits). */
static bd_node fold(bd_graph *graph, const bd_graph_node *node)
{
    bd_graph_node made = {.kind = BD_NODE_CONSTANT, .dtype = node->dtype};
    const bd_graph_node *operands[2] = {NULL, NULL};
    if (node->rank || node->input_count == 0 || node->input_count > 2)
        return BD_NODE_NONE;
    for (uint32_t i = 0; i < node->input_count; i++) {
        operands[i] = constant(graph, node->inputs[i]);
        if (!operands[i] || operands[i]->dtype != node->dtype)
            return BD_NODE_NONE;
    }
    const bd_graph_node *a = operands[0], *b = operands[1] ? operands[1] : a;
    if (node->dtype == BURN_F64) {
        if (!fold_float(node->op, a->constant_f, b->constant_f, &made.constant_f))
            return BD_NODE_NONE;
    } else if (node->dtype == BURN_F32) {
        if (!fold_float(node->op, (float)a->constant_f, (float)b->constant_f, &made.constant_f))
            return BD_NODE_NONE;
        made.constant_f = (float)made.constant_f;
    } else if (node->dtype != BURN_I64 ||
               !fold_int(node->op, a->constant_i, b->constant_i, &made.constant_i)) {
        return BD_NODE_NONE;
    }
    return bd_graph_append(graph, &made);
}

/* ---- rewriting ---- */

static bd_node uniform_pointwise(bd_graph *graph, const bd_graph_node *node)
{
    bd_node *scalars = bd_alloc(sizeof *scalars * (node->input_count + 1));
    bool all = node->rank > 0 && node->input_count > 0;
    for (uint32_t i = 0; all && i < node->input_count; i++) {
        scalars[i] =
            node->inputs[i] == BD_NODE_NONE ? BD_NODE_NONE : uniform(graph, node->inputs[i]);
        all = node->inputs[i] == BD_NODE_NONE || scalars[i] != BD_NODE_NONE;
    }
    bd_node out = BD_NODE_NONE;
    if (all) {
        bd_graph_node small = *node;
        small.rank = 0;
        small.inputs = scalars;
        out = fold(graph, &small);
        if (out == BD_NODE_NONE)
            out = bd_graph_append(graph, &small);
        out = bd_build_expand(graph, out, node->dims, node->rank);
    }
    bd_free(scalars);
    return out;
}

static bd_node arithmetic(bd_graph *graph, const bd_graph_node *node)
{
    bd_node a = node->inputs[0], b = node->inputs[1];
    bool is_float = burn_dtype_is_float(node->dtype);
    if (node->dtype == BURN_BOOL)
        return BD_NODE_NONE;
    switch (node->op) {
    case BURN_OP_MUL:
        return is_number(graph, b, 1) ? a : is_number(graph, a, 1) ? b : BD_NODE_NONE;
    case BURN_OP_DIV:
        return is_float && is_number(graph, b, 1) ? a : BD_NODE_NONE;
    case BURN_OP_ADD: /* x + 0.0 would turn -0.0 into 0.0, x + -0.0 keeps all */
        return is_number(graph, b, is_float ? -0.0 : 0)   ? a
               : is_number(graph, a, is_float ? -0.0 : 0) ? b
                                                          : BD_NODE_NONE;
    case BURN_OP_SUB:
        return is_number(graph, b, 0) ? a : BD_NODE_NONE;
    default:
        return BD_NODE_NONE;
    }
}

/* Whether an index might be out of range in what makes a node; true also if that is much. */
static bool may_fault(const bd_graph *graph, bd_node node)
{
    enum { SEARCH_MAX = 32 };
    bd_node stack[SEARCH_MAX];
    uint32_t depth = 0, seen = 0;
    stack[depth++] = node;
    while (depth > 0 && seen++ < SEARCH_MAX) {
        const bd_graph_node *at = bd_graph_at(graph, stack[--depth]);
        if (at->kind != BD_NODE_OP)
            continue;
        if (at->op == BURN_OP_GATHER || at->op == BURN_OP_SCATTER ||
            at->op == BURN_OP_SCATTER_ADD || at->op == BURN_OP_CHECK_INDEX ||
            depth + at->input_count > SEARCH_MAX)
            return true;
        for (uint32_t i = 0; i < at->input_count; i++)
            stack[depth++] = at->inputs[i];
    }
    return depth > 0;
}

static bd_node select(bd_graph *graph, const bd_graph_node *node)
{
    const bd_graph_node *condition = constant(graph, node->inputs[0]);
    if (node->inputs[1] == node->inputs[2] && !may_fault(graph, node->inputs[0]))
        return node->inputs[1];
    if (condition)
        return node->inputs[condition->constant_i ? 1 : 2];
    return BD_NODE_NONE;
}

/* Whether every value of a is one of b. */
static bool holds_all(burn_dtype a, burn_dtype b)
{
    burn_dtype_kind from = burn_dtype_kind_of(a), to = burn_dtype_kind_of(b);
    size_t from_bits = burn_dtype_size(a) * 8, to_bits = burn_dtype_size(b) * 8;
    if (from == BURN_KIND_BOOL)
        return to != BURN_KIND_BOOL;
    if (from == BURN_KIND_FLOAT)
        return to == BURN_KIND_FLOAT && to_bits > from_bits;
    if (to == BURN_KIND_FLOAT)
        return (b == BURN_F32 || b == BURN_F64) && to_bits >= 2 * from_bits;
    if (to == BURN_KIND_SIGNED)
        return from == BURN_KIND_SIGNED ? to_bits >= from_bits : to_bits > from_bits;
    return from == BURN_KIND_UNSIGNED && to == BURN_KIND_UNSIGNED && to_bits >= from_bits;
}

static bd_node cast(bd_graph *graph, const bd_graph_node *node)
{
    bd_node x = node->inputs[0];
    const bd_graph_node *inner = op_input(graph, node, 0, BURN_OP_CAST);
    if (bd_graph_at(graph, x)->dtype == node->dtype)
        return x;
    if (inner && holds_all(bd_graph_at(graph, inner->inputs[0])->dtype, inner->dtype))
        return bd_build_cast(graph, inner->inputs[0], node->dtype);
    bd_node scalar = uniform(graph, x);
    if (scalar == BD_NODE_NONE)
        return BD_NODE_NONE;
    bd_node made = bd_build_cast(graph, scalar, node->dtype);
    if (node->rank == 0 && bd_graph_at(graph, made)->kind == BD_NODE_OP)
        return BD_NODE_NONE;
    return bd_build_expand(graph, made, node->dims, node->rank);
}

static bool is_identity(const int64_t *order, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (order[i] != i)
            return false;
    return true;
}

static bool swaps_last(const int64_t *order, uint32_t count)
{
    return count >= 2 && is_identity(order, count - 2) && order[count - 2] == count - 1 &&
           order[count - 1] == count - 2;
}

static bd_node swap_last(bd_graph *graph, bd_node node)
{
    int64_t order[BURN_RANK_MAX];
    uint32_t rank = bd_graph_at(graph, node)->rank;
    for (uint32_t i = 0; i < rank; i++)
        order[i] = i + 2 < rank ? i : 2 * (int64_t)rank - 3 - i;
    bd_attr_value attrs = {.values = order, .count = rank};
    bd_node swapped = bd_build(graph, BURN_OP_PERMUTE, &node, 1, &attrs);
    bd_node simpler = graph->error ? BD_NODE_NONE : rewrite(graph, swapped, false);
    return simpler != BD_NODE_NONE ? simpler : swapped;
}

/* (a b)^T = b^T a^T: the transposes move to the operands, where they cost nothing. */
static bd_node transposed_product(bd_graph *graph, const bd_graph_node *node,
                                  const bd_graph_node *product)
{
    bd_node operands[2] = {swap_last(graph, product->inputs[1]),
                           swap_last(graph, product->inputs[0])};
    bd_graph_node made = *product;
    made.inputs = operands;
    made.dims = node->dims;
    return graph->error ? BD_NODE_NONE : bd_graph_append(graph, &made);
}

static bd_node permute(bd_graph *graph, const bd_graph_node *node, bool single_use)
{
    const bd_attr_value *order = attr(node, "dims");
    const bd_graph_node *inner = op_input(graph, node, 0, BURN_OP_PERMUTE);
    const bd_graph_node *product = op_input(graph, node, 0, BURN_OP_DOT);
    if (product && single_use && swaps_last(order->values, order->count))
        return transposed_product(graph, node, product);
    if (is_identity(order->values, order->count))
        return node->inputs[0];
    if (!inner)
        return BD_NODE_NONE;
    int64_t composed[BURN_RANK_MAX];
    for (uint32_t i = 0; i < order->count; i++)
        composed[i] = attr(inner, "dims")->values[order->values[i]];
    if (is_identity(composed, order->count))
        return inner->inputs[0];
    bd_attr_value attrs[BURN_OP_ATTRS_MAX] = {{0}};
    attrs[burn_op_attr(burn_op_lookup(node->op), "dims")] =
        (bd_attr_value){.values = composed, .count = order->count};
    bd_graph_node made = *node;
    made.inputs = inner->inputs;
    made.attrs = attrs;
    return bd_graph_append(graph, &made);
}

/* reshape of reshape, expand of expand, and either that changes nothing. */
static bd_node resize(bd_graph *graph, const bd_graph_node *node)
{
    const bd_graph_node *inner = op_input(graph, node, 0, node->op);
    if (same_dims(graph, node, bd_graph_at(graph, node->inputs[0])))
        return node->inputs[0];
    if (!inner)
        return BD_NODE_NONE;
    if (node->op == BURN_OP_RESHAPE)
        return bd_build_reshape(graph, inner->inputs[0], node->dims, node->rank);
    return bd_build_expand(graph, inner->inputs[0], node->dims, node->rank);
}

static bool is_value(const bd_graph *graph, int64_t size, int64_t value)
{
    int64_t have;
    return bd_int_is_const(graph->ints, (bd_int)size, &have) && have == value;
}

static bd_node slice(bd_graph *graph, const bd_graph_node *node)
{
    const bd_attr_value *starts = attr(node, "starts"), *steps = attr(node, "steps");
    if (!same_dims(graph, node, bd_graph_at(graph, node->inputs[0])))
        return BD_NODE_NONE;
    for (uint32_t i = 0; i < starts->count; i++)
        if (!is_value(graph, starts->values[i], 0) || !is_value(graph, steps->values[i], 1))
            return BD_NODE_NONE;
    return node->inputs[0];
}

static bd_node pad(bd_graph *graph, const bd_graph_node *node)
{
    const bd_attr_value *low = attr(node, "low"), *high = attr(node, "high");
    for (uint32_t i = 0; i < low->count; i++)
        if (!is_value(graph, low->values[i], 0) || !is_value(graph, high->values[i], 0))
            return BD_NODE_NONE;
    return node->inputs[0];
}

/* A sum, product or extremum over dims of size 1 is the element itself. */
static bd_node reduce(bd_graph *graph, const bd_graph_node *node)
{
    const bd_attr_value *dims = attr(node, "dims");
    for (uint32_t i = 0; i < dims->count; i++)
        if (bd_graph_dim(graph, node->inputs[0], (uint32_t)dims->values[i]) != BD_INT_1)
            return BD_NODE_NONE;
    if (bd_graph_at(graph, node->inputs[0])->dtype != node->dtype)
        return BD_NODE_NONE;
    return bd_build_reshape(graph, node->inputs[0], node->dims, node->rank);
}

/* An equal node that is simpler, or NONE. single_use: nobody else reads input 0. */
static bd_node rewrite(bd_graph *graph, bd_node at, bool single_use)
{
    const bd_graph_node *node = bd_graph_at(graph, at);
    if (node->kind != BD_NODE_OP)
        return BD_NODE_NONE;
    const burn_op_info *info = burn_op_lookup(node->op);
    bd_node out = fold(graph, node);
    if (out != BD_NODE_NONE)
        return out;
    if ((info->flags & BURN_OP_VIEW) && node->rank &&
        uniform(graph, node->inputs[0]) != BD_NODE_NONE && node->op != BURN_OP_EXPAND)
        return bd_build_expand(graph, uniform(graph, node->inputs[0]), node->dims, node->rank);
    switch (node->op) {
    case BURN_OP_FULL:
        return bd_build_expand(graph, bd_build_cast(graph, node->inputs[0], node->dtype),
                               node->dims, node->rank);
    case BURN_OP_CAST:
        return cast(graph, node);
    case BURN_OP_PERMUTE:
        return permute(graph, node, single_use);
    case BURN_OP_RESHAPE:
    case BURN_OP_EXPAND:
        return resize(graph, node);
    case BURN_OP_SLICE:
        return slice(graph, node);
    case BURN_OP_PAD:
        return pad(graph, node);
    case BURN_OP_CONCAT:
        return node->input_count == 1 ? node->inputs[0] : BD_NODE_NONE;
    case BURN_OP_SUM:
    case BURN_OP_PROD:
    case BURN_OP_MAX:
    case BURN_OP_MIN:
        return reduce(graph, node);
    case BURN_OP_NEG: {
        const bd_graph_node *inner = op_input(graph, node, 0, BURN_OP_NEG);
        if (inner)
            return inner->inputs[0];
        break;
    }
    case BURN_OP_WHERE:
        out = select(graph, node);
        break;
    case BURN_OP_ADD:
    case BURN_OP_SUB:
    case BURN_OP_MUL:
    case BURN_OP_DIV:
        out = arithmetic(graph, node);
        break;
    default:
        break;
    }
    /* An index of no elements is right, whatever they would be. */
    if (out == BD_NODE_NONE && info->flags & BURN_OP_POINTWISE && node->op != BURN_OP_CHECK_INDEX)
        out = uniform_pointwise(graph, node);
    return out;
}

/* By node: how many nodes and roots read it. */
static uint32_t *count_uses(const bd_graph *graph, const bd_node_list *order, const bd_node *roots,
                            uint32_t root_count)
{
    uint32_t *uses = bd_alloc_zeroed(sizeof *uses * graph->nodes.count);
    for (size_t i = 0; i < order->count; i++) {
        const bd_graph_node *node = bd_graph_at(graph, order->items[i]);
        for (uint32_t j = 0; j < node->input_count; j++)
            uses[node->inputs[j]]++;
    }
    for (uint32_t i = 0; i < root_count; i++)
        uses[roots[i]]++;
    return uses;
}

bd_error *bd_graph_simplify(bd_graph *graph, bd_node *roots, uint32_t root_count)
{
    bd_node_list order = {0};
    bd_graph_order(graph, roots, root_count, &order);
    bd_node *replaced = bd_alloc_zeroed(sizeof *replaced * graph->nodes.count);
    uint32_t *uses = count_uses(graph, &order, roots, root_count);
    for (size_t i = 0; i < order.count && !graph->error; i++) {
        bd_node at = order.items[i];
        const bd_graph_node *node = bd_graph_at(graph, at);
        graph->record = node->record;
        bd_node now = node->kind == BD_NODE_OP ? bd_graph_rebuild(graph, node, replaced) : at;
        for (int step = 0; step < 8; step++) {
            bd_node next = rewrite(graph, now, node->input_count && uses[node->inputs[0]] == 1);
            if (next == BD_NODE_NONE || next == now)
                break;
            now = next;
        }
        replaced[at] = now;
    }
    for (uint32_t i = 0; i < root_count && !graph->error; i++)
        if (roots[i] != BD_NODE_NONE)
            roots[i] = replaced[roots[i]];
    bd_free(uses);
    bd_free(replaced);
    bd_vec_deinit(&order);
    return bd_graph_take_error(graph);
}
