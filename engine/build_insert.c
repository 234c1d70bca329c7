/* SPDX-License-Identifier: Apache-2.0
 * Leaves, and the ops that building itself inserts: casts, broadcasts, reshapes, sums. */
#include <string.h>

#include "engine/graph_parts.h"
#include "proto/base/assert.h"
#include "proto/op_rules.h"

static bd_node append_op(bd_graph *graph, burn_op op, burn_dtype dtype, const bd_int *dims,
                         uint32_t rank, bd_node input, const bd_attr_value *attrs)
{
    return bd_graph_append(graph, &(bd_graph_node){.kind = BD_NODE_OP,
                                                   .op = (uint16_t)op,
                                                   .dtype = (uint8_t)dtype,
                                                   .rank = (uint8_t)rank,
                                                   .dims = dims,
                                                   .input_count = 1,
                                                   .inputs = &input,
                                                   .attrs = attrs});
}

bd_node bd_build_constant(bd_graph *graph, burn_dtype dtype, double value)
{
    bd_graph_node node = {.kind = BD_NODE_CONSTANT, .dtype = (uint8_t)dtype};
    if (burn_dtype_is_float(dtype))
        node.constant_f = value;
    else
        node.constant_i = dtype == BURN_BOOL ? value != 0 : (int64_t)value;
    return bd_graph_append(graph, &node);
}

bd_node bd_build_number(bd_graph *graph, double value)
{
    return bd_graph_append(graph, &(bd_graph_node){.kind = BD_NODE_CONSTANT,
                                                   .dtype = BURN_F64,
                                                   .number = BD_CONSTANT_WEAK,
                                                   .constant_f = value});
}

bd_node bd_build_whole(bd_graph *graph, int64_t value)
{
    return bd_graph_append(graph, &(bd_graph_node){.kind = BD_NODE_CONSTANT,
                                                   .dtype = BURN_I64,
                                                   .number = BD_CONSTANT_WEAK,
                                                   .constant_i = value});
}

bd_node bd_build_integer(bd_graph *graph, bd_int value)
{
    int64_t constant;
    bd_graph_node node = {
        .kind = BD_NODE_INTEGER, .dtype = BURN_I64, .number = bd_int_find(graph->ints, value)};
    if (bd_int_is_const(graph->ints, value, &constant))
        node = (bd_graph_node){.kind = BD_NODE_CONSTANT,
                               .dtype = BURN_I64,
                               .number = BD_CONSTANT_WEAK,
                               .constant_i = constant};
    return bd_graph_append(graph, &node);
}

bd_node bd_build_identity(bd_graph *graph, bd_node node)
{
    if (graph->error || node == BD_NODE_NONE)
        return BD_NODE_NONE;
    const bd_graph_node *at = bd_graph_at(graph, node);
    return append_op(graph, BURN_OP_CAST, at->dtype, at->dims, at->rank, node,
                     &(bd_attr_value){.value = at->dtype});
}

/* Numbers that are exact in double are converted at once; everything else is a node. */
static bool recast_leaf(bd_graph *graph, const bd_graph_node *node, burn_dtype dtype, bd_node *out)
{
    /* The stream holds both a float64 and a saturated int64 of each scalar. */
    bool held = node->dtype == BURN_I64 ||
                (node->dtype == BURN_F64 && (burn_dtype_is_float(dtype) || dtype == BURN_I64));
    if (node->kind == BD_NODE_SCALAR && held && dtype != BURN_BOOL) {
        const bd_graph_scalar scalar = graph->scalars.items[node->number];
        *out = bd_graph_scalar_node(graph, scalar.path, scalar.slot, dtype);
        return true;
    }
    if (node->kind != BD_NODE_CONSTANT)
        return false;
    bool from_float = burn_dtype_is_float(node->dtype), to_float = burn_dtype_is_float(dtype);
    if (from_float && !to_float && dtype != BURN_BOOL)
        return false;
    bd_graph_node made = {.kind = BD_NODE_CONSTANT, .dtype = (uint8_t)dtype};
    if (to_float)
        made.constant_f = from_float ? node->constant_f : (double)node->constant_i;
    else if (dtype == BURN_BOOL)
        made.constant_i = from_float ? node->constant_f != 0 : node->constant_i != 0;
    else
        made.constant_i = node->constant_i;
    *out = bd_graph_append(graph, &made);
    return true;
}

bd_node bd_build_cast(bd_graph *graph, bd_node node, burn_dtype dtype)
{
    if (graph->error || node == BD_NODE_NONE)
        return BD_NODE_NONE;
    const bd_graph_node *at = bd_graph_at(graph, node);
    bd_node out;
    if (at->dtype == dtype || dtype == BURN_DTYPE_NONE)
        return node;
    if (recast_leaf(graph, at, dtype, &out))
        return out;
    return append_op(graph, BURN_OP_CAST, dtype, at->dims, at->rank, node,
                     &(bd_attr_value){.value = dtype});
}

static bool is_arithmetic(const burn_op_info *info)
{
    return (info->flags & BURN_OP_POINTWISE) || info->dtype_rule == BURN_DTYPE_RULE_FLOAT ||
           info->dtype_rule == BURN_DTYPE_RULE_PROMOTE_FLOAT ||
           info->dtype_rule == BURN_DTYPE_RULE_MEAN ||
           info->shape_rule == BURN_SHAPE_RULE_LIKE_INPUTS;
}

void bd_build_widen(bd_graph *graph, const burn_op_info *info, bd_node *inputs,
                    uint32_t input_count)
{
    for (uint32_t i = 0; is_arithmetic(info) && i < input_count && !graph->error; i++) {
        burn_dtype dtype = inputs[i] == BD_NODE_NONE
                               ? BURN_DTYPE_NONE
                               : (burn_dtype)bd_graph_at(graph, inputs[i])->dtype;
        if (dtype == BURN_F16 || dtype == BURN_BF16)
            inputs[i] = bd_build_cast(graph, inputs[i], BURN_F32);
    }
}

static bool has_dims(const bd_graph *graph, const bd_graph_node *node, const bd_int *dims,
                     uint32_t rank)
{
    if (node->rank != rank)
        return false;
    for (uint32_t i = 0; i < rank; i++)
        if (!bd_int_equal(graph->ints, node->dims[i], dims[i]))
            return false;
    return true;
}

static bd_node with_dims(bd_graph *graph, burn_op op, bd_node node, const bd_int *dims,
                         uint32_t rank)
{
    int64_t values[BURN_RANK_MAX];
    for (uint32_t i = 0; i < rank; i++)
        values[i] = bd_int_find(graph->ints, dims[i]);
    return append_op(graph, op, bd_graph_at(graph, node)->dtype, dims, rank, node,
                     &(bd_attr_value){.values = values, .count = rank});
}

bd_node bd_build_expand(bd_graph *graph, bd_node node, const bd_int *dims, uint32_t rank)
{
    if (graph->error || node == BD_NODE_NONE)
        return BD_NODE_NONE;
    const bd_graph_node *at = bd_graph_at(graph, node);
    BD_ASSERT(at->rank <= rank);
    for (uint32_t i = 0; i < at->rank; i++)
        if (bd_int_find(graph->ints, at->dims[i]) != BD_INT_1)
            bd_int_unite(graph->ints, at->dims[i], dims[i + rank - at->rank]);
    if (has_dims(graph, at, dims, rank))
        return node;
    return with_dims(graph, BURN_OP_EXPAND, node, dims, rank);
}

bd_node bd_build_expand_as(bd_graph *graph, bd_node node, bd_node like)
{
    if (graph->error || node == BD_NODE_NONE || like == BD_NODE_NONE)
        return BD_NODE_NONE;
    return bd_build_expand(graph, node, bd_graph_at(graph, like)->dims,
                           bd_graph_at(graph, like)->rank);
}

bd_node bd_build_reshape(bd_graph *graph, bd_node node, const bd_int *dims, uint32_t rank)
{
    if (graph->error || node == BD_NODE_NONE)
        return BD_NODE_NONE;
    if (has_dims(graph, bd_graph_at(graph, node), dims, rank))
        return node;
    return with_dims(graph, BURN_OP_RESHAPE, node, dims, rank);
}

bd_node bd_build_sum_to(bd_graph *graph, bd_node node, bd_node like)
{
    if (graph->error || node == BD_NODE_NONE || like == BD_NODE_NONE)
        return BD_NODE_NONE;
    const bd_graph_node *from = bd_graph_at(graph, node), *to = bd_graph_at(graph, like);
    BD_ASSERT(from->rank >= to->rank);
    int64_t dims[BURN_RANK_MAX];
    uint32_t count = 0, extra = from->rank - to->rank;
    for (uint32_t axis = 0; axis < from->rank; axis++) {
        bool one = bd_graph_dim(graph, node, axis) == BD_INT_1;
        if (axis < extra || (!one && bd_graph_dim(graph, like, axis - extra) == BD_INT_1))
            dims[count++] = axis;
    }
    if (count) {
        bd_attr_value attrs[BURN_OP_ATTRS_MAX] = {{0}};
        const burn_op_info *info = burn_op_lookup(BURN_OP_SUM);
        attrs[burn_op_attr(info, "dims")] = (bd_attr_value){.values = dims, .count = count};
        attrs[burn_op_attr(info, "keepdim")].value = 1;
        attrs[burn_op_attr(info, "dtype")].value = from->dtype;
        node = bd_build(graph, BURN_OP_SUM, &node, 1, attrs);
    }
    return bd_build_reshape(graph, node, to->dims, to->rank);
}

bool bd_op_is_cheap(const burn_op_info *info)
{
    static const uint8_t rules[] = {
        BURN_SHAPE_RULE_SAME,      BURN_SHAPE_RULE_SHAPE,    BURN_SHAPE_RULE_PAD,
        BURN_SHAPE_RULE_CONCAT,    BURN_SHAPE_RULE_TRIANGLE, BURN_SHAPE_RULE_SLICE_UPDATE,
        BURN_SHAPE_RULE_SLICE_SET, BURN_SHAPE_RULE_WINDOW,
    };
    if (info->flags & (BURN_OP_POINTWISE | BURN_OP_VIEW | BURN_OP_RANDOM))
        return true;
    return memchr(rules, info->shape_rule, sizeof rules) != NULL;
}
