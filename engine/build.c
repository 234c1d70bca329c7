/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/graph_parts.h"
#include "engine/rules.h"
#include "engine/rules_build.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/op_rules.h"

/* One op on its way to a node. */
typedef struct op_making {
    bd_graph *graph;
    const burn_op_info *info;
    const bd_record_input *given;
    uint32_t count;
    const bd_attr_value *attrs;
    burn_dtype dtype; /* computed in */
    bd_node *inputs;  /* as built */
} op_making;

/* ---- dtypes ---- */

static burn_operand_kind weak_kind(const bd_graph_node *node)
{
    if (node->kind == BD_NODE_INTEGER)
        return BURN_OPERAND_INT;
    if (node->kind != BD_NODE_CONSTANT || node->number != BD_CONSTANT_WEAK)
        return BURN_OPERAND_TENSOR;
    return burn_dtype_is_float(node->dtype) ? BURN_OPERAND_FLOAT : BURN_OPERAND_INT;
}

/* Numbers alone decide as tensors of their dtype would. */
static bool all_weak(const op_making *making)
{
    for (uint32_t i = 0; i < making->count; i++) {
        bd_node node = making->given[i].node;
        if (node != BD_NODE_NONE && burn_op_input_role(making->info, i) == BURN_INPUT_VALUE &&
            weak_kind(bd_graph_at(making->graph, node)) == BURN_OPERAND_TENSOR)
            return false;
    }
    return true;
}

static burn_dtype compute_dtype(const op_making *making)
{
    const burn_op_info *info = making->info;
    burn_operand *operands = bd_alloc_zeroed(sizeof *operands * (making->count + 1));
    burn_tensor_type *types = bd_alloc_zeroed(sizeof *types * (making->count + 1));
    const burn_tensor_type **pointers = bd_alloc_zeroed(sizeof *pointers * (making->count + 1));
    burn_op_record record = {.info = info, .input_count = making->count, .inputs = operands};
    bool strong = all_weak(making);
    for (uint32_t i = 0; i < making->count; i++) {
        const bd_record_input *given = &making->given[i];
        operands[i].kind = given->scalar_kind;
        if (given->node == BD_NODE_NONE)
            continue;
        const bd_graph_node *node = bd_graph_at(making->graph, given->node);
        operands[i].kind = strong ? BURN_OPERAND_TENSOR : weak_kind(node);
        if (operands[i].kind != BURN_OPERAND_TENSOR)
            continue;
        types[i].dtype = node->dtype;
        types[i].shape.rank = node->rank;
        for (uint32_t axis = 0; axis < node->rank; axis++)
            types[i].shape.dims[axis] = 1;
        pointers[i] = &types[i];
    }
    for (uint32_t i = 0; i < info->attr_count; i++)
        if (info->attrs[i].kind == BURN_ATTR_INT || info->attrs[i].kind == BURN_ATTR_DTYPE)
            record.attrs[i].value = making->attrs[i].value;
    burn_dtype dtype = burn_op_compute_dtype(&record, pointers);
    bd_free(operands);
    bd_free(types);
    bd_free(pointers);
    return dtype;
}

static burn_dtype dtype_attr(const op_making *making)
{
    for (uint32_t i = 0; i < making->info->attr_count; i++)
        if (making->info->attrs[i].kind == BURN_ATTR_DTYPE)
            return (burn_dtype)making->attrs[i].value;
    return BURN_DTYPE_NONE;
}

static burn_dtype output_dtype(const op_making *making, uint32_t output)
{
    switch ((burn_dtype_rule)making->info->dtype_rule) {
    case BURN_DTYPE_RULE_NONE:
    case BURN_DTYPE_RULE_SAME:
    case BURN_DTYPE_RULE_SAME_FLOAT:
    case BURN_DTYPE_RULE_PROMOTE:
    case BURN_DTYPE_RULE_PROMOTE_NUMBER:
    case BURN_DTYPE_RULE_PROMOTE_WIDE:
    case BURN_DTYPE_RULE_PROMOTE_FLOAT:
    case BURN_DTYPE_RULE_PROMOTE_INTEGER:
    case BURN_DTYPE_RULE_FLOAT:
    case BURN_DTYPE_RULE_ALIKE:
    case BURN_DTYPE_RULE_SUM:
    case BURN_DTYPE_RULE_MEAN:
        return making->dtype;
    case BURN_DTYPE_RULE_SAME_INDEX:
        return output == 0 ? making->dtype : BURN_I64;
    case BURN_DTYPE_RULE_BOOL:
    case BURN_DTYPE_RULE_BOOL_FLOAT:
    case BURN_DTYPE_RULE_LOGICAL:
        return BURN_BOOL;
    case BURN_DTYPE_RULE_TRUTH:
        return making->dtype == BURN_U8 ? BURN_U8 : BURN_BOOL;
    case BURN_DTYPE_RULE_I64:
        return BURN_I64;
    case BURN_DTYPE_RULE_ATTR:
    case BURN_DTYPE_RULE_ATTR_FLOAT:
        return dtype_attr(making);
    }
    return BURN_DTYPE_NONE;
}

/* ---- inputs ---- */

/* The dtype in which rules see an input, or NONE to leave it as it is. */
static burn_dtype wanted_dtype(const op_making *making, uint32_t i)
{
    const bd_record_input *given = &making->given[i];
    switch (burn_op_input_role(making->info, i)) {
    case BURN_INPUT_VALUE:
        return making->dtype;
    case BURN_INPUT_INDEX:
        return BURN_I64;
    case BURN_INPUT_CONDITION:
        return BURN_BOOL;
    case BURN_INPUT_PARAM:
        return BURN_F64;
    case BURN_INPUT_NUMBER:
        if (given->node == BD_NODE_NONE)
            return given->scalar_kind == BURN_OPERAND_FLOAT ? BURN_F64 : BURN_I64;
        return burn_dtype_is_float(bd_graph_at(making->graph, given->node)->dtype) ? BURN_F64
                                                                                   : BURN_I64;
    }
    return BURN_DTYPE_NONE;
}

static bool resolve_inputs(op_making *making)
{
    bd_graph *graph = making->graph;
    for (uint32_t i = 0; i < making->count; i++) {
        const bd_record_input *given = &making->given[i];
        bool absent = given->node == BD_NODE_NONE && given->scalar_kind == BURN_OPERAND_ABSENT;
        if (absent) {
            if (i < 16 && making->info->input_optional >> i & 1)
                continue;
            bd_graph_fail(graph,
                          BD_ERROR(INTERNAL, "op %s: input %u is absent", making->info->name, i));
            return false;
        }
        burn_dtype dtype = wanted_dtype(making, i);
        if (given->node == BD_NODE_NONE)
            making->inputs[i] = bd_graph_scalar_node(graph, UINT32_MAX, given->slot, dtype);
        else
            making->inputs[i] =
                dtype == BURN_DTYPE_NONE ? given->node : bd_build_cast(graph, given->node, dtype);
    }
    return !graph->error;
}

/* Pointwise inputs get the dims of all together. */
static void broadcast_inputs(op_making *making)
{
    bd_graph *graph = making->graph;
    bd_int dims[BURN_RANK_MAX];
    uint32_t rank = 0;
    for (uint32_t i = 0; i < making->count; i++)
        if (making->inputs[i] != BD_NODE_NONE && bd_graph_at(graph, making->inputs[i])->rank > rank)
            rank = bd_graph_at(graph, making->inputs[i])->rank;
    for (uint32_t axis = 0; axis < rank; axis++)
        dims[axis] = BD_INT_1;
    for (uint32_t i = 0; i < making->count; i++) {
        if (making->inputs[i] == BD_NODE_NONE)
            continue;
        const bd_graph_node *node = bd_graph_at(graph, making->inputs[i]);
        for (uint32_t axis = 0; axis < node->rank; axis++) {
            bd_int have = bd_int_find(graph->ints, node->dims[axis]);
            bd_int *want = &dims[axis + rank - node->rank];
            if (have == BD_INT_1)
                continue;
            if (bd_int_find(graph->ints, *want) == BD_INT_1)
                *want = have;
            else
                bd_int_unite(graph->ints, *want, have);
        }
    }
    for (uint32_t i = 0; i < making->count; i++)
        if (making->inputs[i] != BD_NODE_NONE)
            making->inputs[i] = bd_build_expand(graph, making->inputs[i], dims, rank);
}

/* ---- attributes ---- */

static void sort_dims(int64_t *dims, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t j = i; j > 0 && dims[j] < dims[j - 1]; j--) {
            int64_t swap = dims[j];
            dims[j] = dims[j - 1];
            dims[j - 1] = swap;
        }
}

/* Reductions name their dims one by one, in rising order; a scalar has none. */
static void normalize_list(bd_graph *graph, bd_attr_value *attr, int64_t rank, bool reduction)
{
    int64_t *dims = bd_arena_alloc(&graph->arena, sizeof *dims * (BURN_RANK_MAX + attr->count));
    uint32_t count = 0;
    for (uint32_t i = 0; i < attr->count; i++)
        if (rank > 0)
            dims[count++] = bd_dim_number(attr->values[i], rank);
    if (reduction && attr->count == 0)
        for (; count < rank; count++)
            dims[count] = count;
    if (reduction)
        sort_dims(dims, count);
    attr->values = dims;
    attr->count = count;
}

static const bd_attr_value *normalize_attrs(const op_making *making)
{
    const burn_op_info *info = making->info;
    bd_graph *graph = making->graph;
    if (!info->attr_count)
        return NULL;
    bd_attr_value *attrs = bd_arena_alloc(&graph->arena, sizeof *attrs * info->attr_count);
    for (uint32_t i = 0; i < info->attr_count; i++) {
        if (making->attrs)
            attrs[i] = making->attrs[i];
        else
            attrs[i] = (bd_attr_value){.value = info->attrs[i].default_value};
        bool is_dim = strcmp(info->attrs[i].name, "dim") == 0,
             is_dims = strcmp(info->attrs[i].name, "dims") == 0;
        if ((!is_dim && !is_dims) || !making->count || making->inputs[0] == BD_NODE_NONE)
            continue;
        int64_t rank = bd_graph_at(graph, making->inputs[0])->rank;
        if (is_dim)
            attrs[i].value =
                bd_dim_number(attrs[i].value, info->shape_rule == BURN_SHAPE_RULE_STACK ? rank + 1
                                              : rank                                    ? rank
                                                                                        : 1);
        else
            normalize_list(graph, &attrs[i], rank, (info->flags & BURN_OP_REDUCTION) != 0);
    }
    return attrs;
}

/* ---- ops ---- */

static bd_node keep_whole(const op_making *making)
{
    bd_graph *graph = making->graph;
    bd_int dims[BURN_RANK_MAX];
    int rank =
        bd_shape_symbolic(graph, making->info, making->inputs, making->count, making->attrs, dims);
    if (rank < 0)
        return BD_NODE_NONE;
    return bd_graph_append(graph, &(bd_graph_node){.kind = BD_NODE_OP,
                                                   .op = making->info->number,
                                                   .dtype = (uint8_t)output_dtype(making, 0),
                                                   .rank = (uint8_t)rank,
                                                   .dims = dims,
                                                   .input_count = (uint16_t)making->count,
                                                   .inputs = making->inputs,
                                                   .attrs = making->attrs});
}

/* Scalars that are indexed along "the dim 0" of a scalar become vectors of one element. */
static bool lift_scalars(op_making *making)
{
    bd_graph *graph = making->graph;
    uint8_t rule = making->info->shape_rule;
    if ((rule != BURN_SHAPE_RULE_GATHER && rule != BURN_SHAPE_RULE_SCATTER) || !making->count ||
        bd_graph_at(graph, making->inputs[0])->rank > 0)
        return false;
    for (uint32_t i = 0; i < making->count; i++)
        if (making->inputs[i] != BD_NODE_NONE && bd_graph_at(graph, making->inputs[i])->rank == 0)
            making->inputs[i] = bd_rule_unsqueeze(graph, making->inputs[i], 0);
    return true;
}

static uint32_t decompose(const op_making *making, bd_node *out, uint32_t out_max)
{
    bd_graph *graph = making->graph;
    bd_build_widen(graph, making->info, making->inputs, making->count);
    uint32_t count =
        bd_decompose_rule_of(making->info->number)(&(bd_rule_call){.graph = graph,
                                                                   .inputs = making->inputs,
                                                                   .input_count = making->count,
                                                                   .attrs = making->attrs},
                                                   out);
    BD_ASSERT(count <= out_max);
    for (uint32_t i = 0; i < count && !graph->error; i++)
        out[i] = bd_build_cast(graph, out[i], output_dtype(making, i));
    return count;
}

/* Ops with a gradient rule stay whole, so that it is used; what has none is differentiated through
 * its parts. */
static uint32_t make(op_making *making, bd_node *out, uint32_t out_max)
{
    bd_graph *graph = making->graph;
    if (graph->error)
        return 0;
    const burn_op_info *info = making->info;
    bd_attr_value zero[BURN_OP_ATTRS_MAX] = {{0}};
    const bd_attr_value *given_attrs = making->attrs;
    if (!given_attrs) {
        for (uint32_t i = 0; i < info->attr_count; i++)
            zero[i].value = info->attrs[i].default_value;
        making->attrs = zero;
    }
    making->inputs = bd_alloc_zeroed(sizeof *making->inputs * (making->count + 1));
    making->dtype = compute_dtype(making);
    uint32_t made = 0;
    if (resolve_inputs(making)) {
        bool lifted = lift_scalars(making);
        making->attrs = given_attrs;
        making->attrs = normalize_attrs(making);
        if (info->flags & BURN_OP_POINTWISE)
            broadcast_inputs(making);
        bool whole = !bd_decompose_rule_of(info->number) ||
                     (bd_gradient_rule_of(info->number) && info->output_count == 1 &&
                      info->output_rule == BURN_OUTPUTS_FIXED);
        if (graph->error) {
            made = 0;
        } else if (whole) {
            out[0] = keep_whole(making);
            made = 1;
        } else {
            made = decompose(making, out, out_max);
        }
        for (uint32_t i = 0; i < made && lifted && !graph->error; i++)
            out[i] = bd_rule_squeeze(graph, out[i], 0);
    }
    bd_free(making->inputs);
    return graph->error ? 0 : made;
}

uint32_t bd_build_record(bd_graph *graph, const burn_op_info *info, const bd_record_input *inputs,
                         uint32_t input_count, const bd_attr_value *attrs, bd_node *out,
                         uint32_t out_max)
{
    uint32_t before = bd_graph_count(graph);
    op_making making = {
        .graph = graph, .info = info, .given = inputs, .count = input_count, .attrs = attrs};
    uint32_t count = make(&making, out, out_max);
    for (uint32_t i = 0; i < count; i++) {
        bool taken = out[i] <= before;
        for (uint32_t j = 0; j < i; j++)
            taken |= out[j] == out[i];
        if (taken)
            out[i] = bd_build_identity(graph, out[i]);
    }
    return count;
}

uint32_t bd_build_outputs(bd_graph *graph, burn_op op, const bd_node *inputs, uint32_t input_count,
                          const bd_attr_value *attrs, bd_node *out, uint32_t out_max)
{
    if (graph->error)
        return 0;
    bd_record_input *given = bd_alloc_zeroed(sizeof *given * (input_count + 1));
    for (uint32_t i = 0; i < input_count; i++)
        given[i].node = inputs[i];
    op_making making = {.graph = graph,
                        .info = burn_op_lookup(op),
                        .given = given,
                        .count = input_count,
                        .attrs = attrs};
    uint32_t count = make(&making, out, out_max);
    bd_free(given);
    return count;
}

bd_node bd_build(bd_graph *graph, burn_op op, const bd_node *inputs, uint32_t input_count,
                 const bd_attr_value *attrs)
{
    bd_node out[BURN_OP_OUTPUTS_MAX] = {BD_NODE_NONE};
    return bd_build_outputs(graph, op, inputs, input_count, attrs, out, BURN_OP_OUTPUTS_MAX)
               ? out[0]
               : BD_NODE_NONE;
}
