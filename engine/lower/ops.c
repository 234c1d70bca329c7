/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lower/ops.h"

#include "engine/op_kir.h"
#include "proto/base/assert.h"

/* Ops that are more than an instruction. Columns: op, class, code (view and source kinds stand in
 * the same column), cost. */
typedef struct row {
    uint16_t op;
    uint8_t class;
    uint16_t code;
    uint16_t cost;
} row;

enum { CHEAP = 1, DIVIDE = 4, FUNCTION = 12, HARD = 24, PHILOX = 30 };

static const row rows[] = {
    {BURN_OP_CAST, BD_CLASS_MAP, BD_KIR_CAST, CHEAP},
    {BURN_OP_RESHAPE, BD_CLASS_VIEW, BD_VIEW_RESHAPE, 0},
    {BURN_OP_PERMUTE, BD_CLASS_VIEW, BD_VIEW_PERMUTE, 0},
    {BURN_OP_EXPAND, BD_CLASS_VIEW, BD_VIEW_EXPAND, 0},
    {BURN_OP_SLICE, BD_CLASS_VIEW, BD_VIEW_SLICE, 0},
    {BURN_OP_FLIP, BD_CLASS_VIEW, BD_VIEW_FLIP, 0},
    {BURN_OP_WINDOW, BD_CLASS_VIEW, BD_VIEW_WINDOW, 0},
    {BURN_OP_PAD, BD_CLASS_PAD, 0, CHEAP},
    {BURN_OP_CONCAT, BD_CLASS_CONCAT, 0, CHEAP},
    {BURN_OP_SUM, BD_CLASS_REDUCE, BD_KIR_REDUCE_SUM, CHEAP},
    {BURN_OP_PROD, BD_CLASS_REDUCE, BD_KIR_REDUCE_PROD, CHEAP},
    {BURN_OP_MAX, BD_CLASS_REDUCE, BD_KIR_REDUCE_MAX, CHEAP},
    {BURN_OP_MIN, BD_CLASS_REDUCE, BD_KIR_REDUCE_MIN, CHEAP},
    {BURN_OP_ARGMAX, BD_CLASS_REDUCE, BD_KIR_REDUCE_ARGMAX, CHEAP},
    {BURN_OP_ARGMIN, BD_CLASS_REDUCE, BD_KIR_REDUCE_ARGMIN, CHEAP},
    {BURN_OP_SCAN_SUM, BD_CLASS_SCAN, BD_KIR_SCAN_SUM, CHEAP},
    {BURN_OP_SCAN_PROD, BD_CLASS_SCAN, BD_KIR_SCAN_PROD, CHEAP},
    {BURN_OP_SCAN_MAX, BD_CLASS_SCAN, BD_KIR_SCAN_MAX, CHEAP},
    {BURN_OP_SCAN_MIN, BD_CLASS_SCAN, BD_KIR_SCAN_MIN, CHEAP},
    {BURN_OP_SCAN_LOGSUM, BD_CLASS_SCAN, BD_KIR_SCAN_LOGSUM, HARD},
    {BURN_OP_SORT_ORDER, BD_CLASS_SORT, BD_KIR_SORT, HARD},
    {BURN_OP_GATHER, BD_CLASS_GATHER, 0, CHEAP},
    {BURN_OP_SCATTER_ADD, BD_CLASS_SCATTER, BD_KIR_ACCUMULATE, CHEAP},
    {BURN_OP_SCATTER, BD_CLASS_SCATTER, BD_KIR_SET, CHEAP},
    {BURN_OP_SCATTER_PROD, BD_CLASS_SCATTER, BD_KIR_ACCUMULATE_PROD, CHEAP},
    {BURN_OP_SCATTER_MAX, BD_CLASS_SCATTER, BD_KIR_ACCUMULATE_MAX, CHEAP},
    {BURN_OP_SCATTER_MIN, BD_CLASS_SCATTER, BD_KIR_ACCUMULATE_MIN, CHEAP},
    {BURN_OP_FULL, BD_CLASS_SOURCE, BD_SOURCE_FULL, 0},
    {BURN_OP_IOTA, BD_CLASS_SOURCE, BD_SOURCE_IOTA, CHEAP},
    {BURN_OP_RANDOM_UNIFORM, BD_CLASS_SOURCE, BD_SOURCE_RANDOM_UNIFORM, PHILOX},
    {BURN_OP_RANDOM_BITS, BD_CLASS_SOURCE, BD_SOURCE_RANDOM_BITS, PHILOX},
    {BURN_OP_DOT, BD_CLASS_DOT, 0, 0},
    {BURN_OP_ATTEND, BD_CLASS_ATTEND, 0, FUNCTION},
    {BURN_OP_SLICE_SET, BD_CLASS_UPDATE, BD_KIR_SET, 0},
    {BURN_OP_SLICE_ADD, BD_CLASS_UPDATE, BD_KIR_ACCUMULATE, 0},
    {BURN_OP_WINDOW_ADD, BD_CLASS_UPDATE, BD_KIR_ACCUMULATE, 0},
};

static uint16_t cost_of_code(int code)
{
    if (code == BD_KIR_DIV || code == BD_KIR_FLOORDIV || code == BD_KIR_MOD ||
        (code >= BD_KIR_SQRT && code <= BD_KIR_RECIP))
        return DIVIDE;
    if (code == BD_KIR_POW || code == BD_KIR_LGAMMA || code == BD_KIR_DIGAMMA)
        return HARD;
    if ((code >= BD_KIR_EXP && code <= BD_KIR_SIGMOID) || code == BD_KIR_FMOD ||
        code == BD_KIR_ATAN2 || code == BD_KIR_NEXTAFTER)
        return FUNCTION;
    return CHEAP;
}

static row row_of(const bd_graph_node *node)
{
    if (node->kind != BD_NODE_OP)
        return (row){.class = BD_CLASS_LEAF};
    int code = bd_op_kir((burn_op)node->op);
    if (code >= 0)
        return (row){node->op, BD_CLASS_MAP, (uint16_t)code, cost_of_code(code)};
    for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].op == node->op)
            return rows[i];
    }
    return (row){.class = BD_CLASS_NONE};
}

bd_op_class bd_class_of(const bd_graph_node *node)
{
    return (bd_op_class)row_of(node).class;
}

bd_kir_code bd_lower_code(const bd_graph_node *node)
{
    return (bd_kir_code)row_of(node).code;
}

bd_view_kind bd_view_kind_of(const bd_graph_node *node)
{
    row own = row_of(node);
    BD_ASSERT(own.class == BD_CLASS_VIEW);
    return (bd_view_kind)own.code;
}

bd_source_kind bd_source_kind_of(const bd_graph_node *node)
{
    row own = row_of(node);
    BD_ASSERT(own.class == BD_CLASS_SOURCE);
    return (bd_source_kind)own.code;
}

uint32_t bd_lower_cost(const bd_graph_node *node)
{
    return row_of(node).cost;
}

uint32_t bd_reduced_dims(const bd_graph *graph, const bd_graph_node *node)
{
    const bd_graph_node *input = bd_graph_at(graph, node->inputs[0]);
    uint32_t mask = 0;
    for (uint32_t i = 0; i < node->attrs[0].count; i++)
        mask |= 1u << node->attrs[0].values[i];
    return mask ? mask : (1u << input->rank) - 1;
}

bool bd_reduce_keeps_dims(const bd_graph_node *node)
{
    return node->attrs[1].value != 0;
}
