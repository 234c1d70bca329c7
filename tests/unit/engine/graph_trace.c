/* SPDX-License-Identifier: Apache-2.0 */
#include "graph_trace.h"

#include <stdio.h>
#include <string.h>

#include "proto/base/alloc.h"

void test_trace_init(test_trace *trace)
{
    memset(trace, 0, sizeof *trace);
    bd_arena_init(&trace->arena);
    trace->next_tensor = 1;
}

void test_trace_deinit(test_trace *trace)
{
    bd_vec_deinit(&trace->records);
    bd_vec_deinit(&trace->values);
    bd_vec_deinit(&trace->externals);
    bd_vec_deinit(&trace->data);
    bd_vec_deinit(&trace->scalars);
    bd_vec_deinit(&trace->scalars_int);
    bd_arena_deinit(&trace->arena);
}

test_input test_external(test_trace *trace, burn_dtype dtype, int rank, const int64_t *dims,
                         const double *data)
{
    bd_trace_external external = {.type = {.dtype = dtype, .shape = {.rank = rank}}};
    for (int i = 0; i < rank; i++)
        external.type.shape.dims[i] = dims[i];
    external.tensor = trace->next_tensor++;
    *bd_vec_push(&trace->externals) = external;
    *bd_vec_push(&trace->data) = data;
    return (test_input){.input = {BD_INPUT_EXTERNAL, 0, (uint32_t)trace->externals.count - 1}};
}

test_input test_value(uint32_t value)
{
    return (test_input){.input = {BD_INPUT_VALUE, 0, value}};
}

test_input test_float(double value)
{
    return (test_input){.input = {BD_INPUT_SCALAR, BURN_OPERAND_FLOAT, 0}, .scalar = value};
}

test_input test_int(int64_t value)
{
    return (test_input){.input = {BD_INPUT_SCALAR, BURN_OPERAND_INT, 0}, .scalar = (double)value};
}

test_input test_absent(void)
{
    return (test_input){.input = {BD_INPUT_ABSENT, 0, 0}};
}

test_attrs test_attrs_of(const char *op)
{
    test_attrs attrs = {0};
    const burn_op_info *info = burn_op_find(op);
    for (int i = 0; i < info->attr_count; i++)
        attrs.attrs[i].value = info->attrs[i].default_value;
    return attrs;
}

void test_set(test_trace *trace, const char *op, test_attrs *attrs, const char *name, int64_t value)
{
    (void)trace;
    attrs->attrs[burn_op_attr(burn_op_find(op), name)].value = value;
}

void test_set_list(test_trace *trace, const char *op, test_attrs *attrs, const char *name,
                   int count, const int64_t *values)
{
    burn_attr *attr = &attrs->attrs[burn_op_attr(burn_op_find(op), name)];
    attr->count = (uint32_t)count;
    if (count)
        attr->values = bd_arena_copy(&trace->arena, values, sizeof *values * (size_t)count);
}

static const burn_tensor_type *type_of(const test_trace *trace, const bd_input *input)
{
    if (input->kind == BD_INPUT_VALUE)
        return &trace->values.items[input->number].type;
    return input->kind == BD_INPUT_EXTERNAL ? &trace->externals.items[input->number].type : NULL;
}

uint32_t test_op(test_trace *trace, const char *op, int track, int input_count,
                 const test_input *inputs, const test_attrs *attrs)
{
    size_t count = (size_t)input_count;
    burn_operand *operands = bd_arena_zeroed(&trace->arena, sizeof *operands * (count + 1));
    const burn_tensor_type **types = bd_arena_zeroed(&trace->arena, sizeof *types * (count + 1));
    bd_input *own = bd_arena_zeroed(&trace->arena, sizeof *own * (count + 1));
    for (size_t i = 0; i < count; i++) {
        own[i] = inputs[i].input;
        types[i] = type_of(trace, &own[i]);
        operands[i].kind = types[i] ? BURN_OPERAND_TENSOR : (burn_operand_kind)own[i].scalar_kind;
        if (own[i].kind == BD_INPUT_SCALAR && own[i].scalar_kind == BURN_OPERAND_FLOAT)
            operands[i].f = inputs[i].scalar;
        else if (own[i].kind == BD_INPUT_SCALAR)
            operands[i].i = (int64_t)inputs[i].scalar;
    }
    burn_op_record record = {.info = burn_op_find(op),
                             .flags = track ? BURN_RECORD_TRACK : 0,
                             .input_count = (uint32_t)count,
                             .inputs = operands};
    if (attrs)
        memcpy(record.attrs, attrs->attrs, sizeof record.attrs);
    else
        memcpy(record.attrs, test_attrs_of(op).attrs, sizeof record.attrs);
    record.output_count = burn_op_output_count(&record);
    burn_tensor_type *outputs =
        bd_arena_zeroed(&trace->arena, sizeof *outputs * (record.output_count + 1));
    bd_error *error = burn_op_infer(&record, types, outputs);
    if (error) {
        snprintf(trace->error, sizeof trace->error, "%s", bd_error_text(error));
        bd_error_free(error);
        return UINT32_MAX;
    }
    for (size_t i = 0; i < count; i++)
        if (own[i].kind == BD_INPUT_SCALAR) {
            own[i].number = (uint32_t)trace->scalars.count;
            *bd_vec_push(&trace->scalars) = inputs[i].scalar;
            *bd_vec_push(&trace->scalars_int) = (int64_t)inputs[i].scalar;
        }
    bd_trace_record *kept = bd_vec_push(&trace->records);
    *kept = (bd_trace_record){.info = record.info,
                              .flags = record.flags,
                              .input_count = record.input_count,
                              .output_count = record.output_count,
                              .inputs = own,
                              .first_value = (uint32_t)trace->values.count,
                              .op_index = trace->records.count};
    memcpy(kept->attrs, record.attrs, sizeof record.attrs);
    uint32_t first = kept->first_value;
    for (uint32_t i = 0; i < record.output_count; i++)
        *bd_vec_push(&trace->values) =
            (bd_trace_value){.type = outputs[i],
                             .record = (uint32_t)trace->records.count - 1,
                             .tracked = (uint8_t)(track != 0)};
    return first;
}

uint32_t test_grad(test_trace *trace, test_input root, int wrt_count, const test_input *wrt,
                   int retain, int track)
{
    test_attrs attrs = test_attrs_of("grad");
    test_input inputs[32] = {root, test_absent()};
    for (int i = 0; i < wrt_count; i++)
        inputs[2 + i] = wrt[i];
    test_set(trace, "grad", &attrs, "roots", 1);
    test_set(trace, "grad", &attrs, "retain", retain);
    return test_op(trace, "grad", track, 2 + wrt_count, inputs, &attrs);
}

void test_survive(test_trace *trace, uint32_t value)
{
    trace->values.items[value].survives = 1;
}

void test_trace_view(test_trace *trace, bd_trace *out)
{
    *out = (bd_trace){.records = trace->records.items,
                      .values = trace->values.items,
                      .externals = trace->externals.items,
                      .scalars_as_double = trace->scalars.items,
                      .scalars_as_int = trace->scalars_int.items,
                      .record_count = (uint32_t)trace->records.count,
                      .value_count = (uint32_t)trace->values.count,
                      .external_count = (uint32_t)trace->externals.count,
                      .scalar_count = (uint32_t)trace->scalars.count};
}
