/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/graph_parts.h"
#include "engine/trace_key.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/op_rules.h"

/* Sizes of 1 are part of a trace's key, so they may be taken as constants; all others are sources.
 */
static bd_int dim_source(bd_graph *graph, bd_int_kind kind, uint32_t number, uint32_t axis,
                         int64_t value)
{
    return value == 1 ? BD_INT_1 : bd_int_source(graph->ints, kind, number, axis);
}

bd_node bd_graph_slot_node(bd_graph *graph, uint32_t slot)
{
    if (graph->slot_externals[slot])
        return graph->origins.items[graph->slot_externals[slot] - 1].leaf;
    const bd_trace_external *external = &graph->trace->externals[slot];
    uint32_t number = (uint32_t)graph->externals.count;
    uint32_t rank = (uint32_t)external->type.shape.rank;
    *bd_vec_push(&graph->externals) =
        (bd_graph_external){.slot = slot, .dtype = (uint8_t)external->type.dtype};
    *bd_vec_push(&graph->origins) =
        (bd_graph_origin){.history = external->history, .history_node = external->history_node};
    graph->slot_externals[slot] = number + 1;
    bd_int dims[BURN_RANK_MAX];
    for (uint32_t axis = 0; axis < rank; axis++)
        dims[axis] =
            dim_source(graph, BD_INT_EXTERNAL_DIM, slot, axis, external->type.shape.dims[axis]);
    return bd_graph_external_node(graph, number, external->type.dtype, dims, rank);
}

static bd_record_input convert_input(bd_graph *graph, const bd_input *input)
{
    switch ((bd_input_kind)input->kind) {
    case BD_INPUT_ABSENT:
        break;
    case BD_INPUT_VALUE:
        return (bd_record_input){.node = graph->results[input->number].node};
    case BD_INPUT_EXTERNAL:
        return (bd_record_input){.node = bd_graph_slot_node(graph, input->number)};
    case BD_INPUT_SCALAR:
        return (bd_record_input){.scalar_kind = input->scalar_kind, .slot = input->number};
    }
    return (bd_record_input){.scalar_kind = BURN_OPERAND_ABSENT};
}

/* Sizes become sources. Lists are given their values by the arena. */
static void convert_attrs(bd_graph *graph, const bd_trace_record *record, bd_attr_value *attrs)
{
    for (uint32_t i = 0; i < record->info->attr_count; i++) {
        const burn_attr *given = &record->attrs[i];
        attrs[i] = (bd_attr_value){.value = given->value};
        switch (record->info->attrs[i].kind) {
        case BURN_ATTR_INT:
        case BURN_ATTR_DTYPE:
            break;
        case BURN_ATTR_SIZE:
            attrs[i].value = BD_INT_1;
            if (given->value != 1 || !bd_trace_key_has_one(&record->info->attrs[i]))
                attrs[i].value = bd_int_source(graph->ints, BD_INT_ATTR, graph->record, i << 16);
            break;
        case BURN_ATTR_INTS:
            attrs[i].values = given->values;
            attrs[i].count = given->count;
            break;
        case BURN_ATTR_SIZES: {
            int64_t *sizes = bd_arena_alloc(&graph->arena, sizeof *sizes * (given->count + 1));
            for (uint32_t j = 0; j < given->count; j++)
                sizes[j] =
                    dim_source(graph, BD_INT_ATTR, graph->record, i << 16 | j, given->values[j]);
            attrs[i].values = sizes;
            attrs[i].count = given->count;
            break;
        }
        case BURN_ATTR_BYTES:
            break;
        }
    }
}

static const burn_tensor_type *type_of(const bd_graph *graph, const bd_input *input)
{
    if (input->kind == BD_INPUT_VALUE)
        return &graph->trace->values[input->number].type;
    return input->kind == BD_INPUT_EXTERNAL ? &graph->trace->externals[input->number].type : NULL;
}

static bd_int product(bd_ints *ints, const bd_int *dims, uint32_t count)
{
    bd_int out = BD_INT_1;
    for (uint32_t i = 0; i < count; i++)
        out = bd_int_mul(ints, out, dims[i]);
    return out;
}

/* The regrouping of dims is part of the key: what a group takes has as many elements as what it
 * gives. */
static void unite_groups(bd_graph *graph, const bd_trace_record *record, const bd_graph_node *from,
                         const bd_graph_node *to)
{
    const burn_tensor_type *type = type_of(graph, &record->inputs[0]);
    burn_reshape_group groups[2 * BURN_RANK_MAX];
    int count = burn_reshape_groups(&type->shape,
                                    &graph->trace->values[record->first_value].type.shape, groups);
    for (int i = 0, a = 0, b = 0; i < count; i++) {
        uint32_t taken = groups[i].input_count, given = groups[i].output_count;
        if (taken && given)
            bd_int_unite(graph->ints, product(graph->ints, from->dims + a, taken),
                         product(graph->ints, to->dims + b, given));
        a += (int)taken;
        b += (int)given;
    }
}

/* As PyTorch, concat passes over tensors of shape [0] among others of higher rank. */
static uint32_t drop_skipped(const bd_graph *graph, const bd_trace_record *record,
                             bd_record_input *inputs)
{
    int32_t rank = 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < record->input_count; i++) {
        const burn_tensor_type *type = type_of(graph, &record->inputs[i]);
        if (type && type->shape.rank > rank)
            rank = type->shape.rank;
    }
    for (uint32_t i = 0; i < record->input_count; i++) {
        const burn_tensor_type *type = type_of(graph, &record->inputs[i]);
        if (!type || !burn_concat_skips(&type->shape, rank))
            inputs[kept++] = inputs[i];
    }
    return kept;
}

static void set_results(bd_graph *graph, const bd_trace_record *record, const bd_node *nodes)
{
    for (uint32_t i = 0; i < record->output_count; i++) {
        const bd_trace_value *value = &graph->trace->values[record->first_value + i];
        const bd_graph_node *node = bd_graph_at(graph, nodes[i]);
        if (node->rank != value->type.shape.rank || node->dtype != value->type.dtype) {
            bd_graph_fail(graph,
                          BD_ERROR(INTERNAL,
                                   "op %s: made %s of rank %u, but %s of rank %d was inferred",
                                   record->info->name, burn_dtype_name(node->dtype), node->rank,
                                   burn_dtype_name(value->type.dtype), value->type.shape.rank));
            return;
        }
        for (uint32_t axis = 0; axis < node->rank; axis++)
            if (value->type.shape.dims[axis] == 1)
                bd_int_unite(graph->ints, node->dims[axis], BD_INT_1);
        graph->results[record->first_value + i] =
            (bd_graph_result){.node = nodes[i],
                              .survives = value->survives,
                              .tracked = value->tracked && node->tracked};
    }
}

static void add_op(bd_graph *graph, const bd_trace_record *record)
{
    const burn_op_info *info = record->info;
    bool detaches = (info->flags & BURN_OP_VIEW) && (info->flags & BURN_OP_NO_GRADIENT);
    graph->tracking = (record->flags & BURN_RECORD_TRACK) && !detaches;
    bd_record_input *inputs = bd_alloc_zeroed(sizeof *inputs * (record->input_count + 1));
    bd_node *out = bd_alloc_zeroed(sizeof *out * (record->output_count + BURN_OP_OUTPUTS_MAX));
    bd_attr_value attrs[BURN_OP_ATTRS_MAX];
    uint32_t count = record->input_count;
    for (uint32_t i = 0; i < count; i++)
        inputs[i] = convert_input(graph, &record->inputs[i]);
    if (info->shape_rule == BURN_SHAPE_RULE_CONCAT)
        count = drop_skipped(graph, record, inputs);
    convert_attrs(graph, record, attrs);
    uint32_t made = bd_build_record(graph, info, inputs, count, attrs, out,
                                    record->output_count + BURN_OP_OUTPUTS_MAX);
    if (!graph->error && made < record->output_count)
        bd_graph_fail(graph, BD_ERROR(INTERNAL, "op %s made %u of %u outputs", info->name, made,
                                      record->output_count));
    if (!graph->error && count < record->input_count) /* what is passed over counts in promotion */
        out[0] = bd_build_cast(graph, out[0], graph->trace->values[record->first_value].type.dtype);
    if (!graph->error && info->shape_rule == BURN_SHAPE_RULE_RESHAPE)
        unite_groups(graph, record, bd_graph_at(graph, inputs[0].node), bd_graph_at(graph, out[0]));
    if (!graph->error)
        set_results(graph, record, out);
    bd_free(inputs);
    bd_free(out);
}

/* roots, as many seeds, then the wrt tensors. */
static void add_gradient(bd_graph *graph, const bd_trace_record *record)
{
    uint32_t root_count = (uint32_t)record->attrs[burn_op_attr(record->info, "roots")].value;
    bool retain = record->attrs[burn_op_attr(record->info, "retain")].value != 0;
    uint32_t wrt_count = record->input_count - 2 * root_count;
    BD_ASSERT(record->input_count >= 2 * root_count && record->output_count == wrt_count);
    int64_t cuts = record->attrs[burn_op_attr(record->info, "cuts")].value;
    BD_ASSERT(cuts >= 0 && cuts <= wrt_count);
    graph->tracking = (record->flags & BURN_RECORD_TRACK) != 0;
    bd_node *nodes = bd_alloc_zeroed(sizeof *nodes * (record->input_count + 1));
    bd_node *out = bd_alloc_zeroed(sizeof *out * (wrt_count + 1));
    for (uint32_t i = 0; i < record->input_count; i++) {
        bd_record_input input = convert_input(graph, &record->inputs[i]);
        nodes[i] = input.node;
        if (input.scalar_kind != BURN_OPERAND_ABSENT && i >= root_count && i < 2 * root_count) {
            bd_node root = nodes[i - root_count];
            nodes[i] = bd_build_expand_as(graph,
                                          bd_graph_scalar_node(graph, UINT32_MAX, input.slot,
                                                               bd_graph_at(graph, root)->dtype),
                                          root);
        }
    }
    bd_graph_differentiate(graph, nodes, nodes + root_count, root_count, nodes + 2 * root_count,
                           wrt_count, (uint32_t)cuts, retain, out);
    if (!graph->error)
        set_results(graph, record, out);
    bd_free(nodes);
    bd_free(out);
}

bd_error *bd_graph_build(const bd_trace *trace, bd_graph **out)
{
    bd_graph *graph = bd_graph_create();
    graph->trace = trace;
    graph->import = bd_import_create();
    graph->value_count = trace->value_count;
    graph->results = bd_alloc_zeroed(sizeof *graph->results * (trace->value_count + 1));
    graph->slot_externals =
        bd_alloc_zeroed(sizeof *graph->slot_externals * (trace->external_count + 1));
    graph->distinct = 1;
    for (uint32_t i = 0; i < trace->record_count && !graph->error; i++) {
        const bd_trace_record *record = &trace->records[i];
        graph->record = i;
        if (record->info->output_rule == BURN_OUTPUTS_WRT)
            add_gradient(graph, record);
        else if (record->info->flags & BURN_OP_CONTROL)
            bd_graph_fail(graph, BD_ERROR(INTERNAL, "op %s in a trace", record->info->name));
        else
            add_op(graph, record);
    }
    bd_error *error = graph->error;
    graph->error = NULL;
    graph->trace = NULL;
    bd_import_destroy(graph->import);
    graph->import = NULL;
    graph->record = BD_NO_RECORD;
    graph->tracking = 0;
    graph->distinct = 0;
    if (error) {
        bd_graph_destroy(graph);
        return error;
    }
    *out = graph;
    return NULL;
}
