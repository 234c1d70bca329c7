/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tracer.h"

#include <string.h>

#include "engine/history.h"
#include "engine/trace_key.h"
#include "proto/base/assert.h"

void bd_tracer_init(bd_tracer *tracer)
{
    *tracer = (bd_tracer){.epoch = 1};
    bd_arena_init(&tracer->arena);
}

void bd_tracer_reset(bd_tracer *tracer)
{
    for (size_t i = 0; i < tracer->externals.count; i++) {
        bd_buffer_release(tracer->buffers.items[i]);
        bd_history_release(tracer->externals.items[i].history);
    }
    bd_vec_clear(&tracer->records);
    bd_vec_clear(&tracer->values);
    bd_vec_clear(&tracer->externals);
    bd_vec_clear(&tracer->floats);
    bd_vec_clear(&tracer->integers);
    bd_vec_clear(&tracer->ids);
    bd_vec_clear(&tracer->buffers);
    bd_vec_clear(&tracer->key);
    bd_vec_clear(&tracer->ends);
    bd_vec_clear(&tracer->tail);
    bd_arena_reset(&tracer->arena);
    tracer->epoch++;
    tracer->surviving = 0;
    tracer->has_gradient = false;
}

void bd_tracer_deinit(bd_tracer *tracer)
{
    bd_tracer_reset(tracer);
    bd_vec_deinit(&tracer->records);
    bd_vec_deinit(&tracer->values);
    bd_vec_deinit(&tracer->externals);
    bd_vec_deinit(&tracer->floats);
    bd_vec_deinit(&tracer->integers);
    bd_vec_deinit(&tracer->ids);
    bd_vec_deinit(&tracer->buffers);
    bd_vec_deinit(&tracer->key);
    bd_vec_deinit(&tracer->ends);
    bd_vec_deinit(&tracer->tail);
    bd_arena_deinit(&tracer->arena);
}

bd_trace_value *bd_tracer_room(bd_tracer *tracer, uint32_t output_count)
{
    bd_vec_reserve(&tracer->values, tracer->values.count + output_count + 1);
    return tracer->values.items + tracer->values.count;
}

static uint32_t external_slot(bd_tracer *tracer, bd_tensor *tensor)
{
    if (tensor->epoch == tracer->epoch)
        return tensor->value - 1;
    const bd_stored *stored = tensor->stored;
    uint32_t slot = (uint32_t)tracer->externals.count;
    bd_trace_external *external = bd_vec_push(&tracer->externals);
    bd_type_copy(&external->type, &stored->type);
    external->dies = 0;
    external->history = bd_history_retain(stored->history);
    external->history_node = stored->history_node;
    external->tensor = stored->tensor;
    *bd_vec_push(&tracer->buffers) = bd_buffer_retain(stored->buffer);
    tensor->epoch = tracer->epoch;
    tensor->value = slot + 1;
    return slot;
}

static int64_t truncated(double value)
{
    if (value >= 9223372036854775807.0)
        return INT64_MAX;
    if (value <= -9223372036854775808.0)
        return INT64_MIN;
    return value == value ? (int64_t)value : 0;
}

static bd_input resolve(bd_tracer *tracer, const burn_operand *operand, bd_tensor *tensor)
{
    if (tensor) {
        if (tensor->state == BD_TENSOR_VALUE)
            return (bd_input){BD_INPUT_VALUE, 0, tensor->value};
        return (bd_input){BD_INPUT_EXTERNAL, 0, external_slot(tracer, tensor)};
    }
    if (operand->kind == BURN_OPERAND_ABSENT)
        return (bd_input){BD_INPUT_ABSENT, 0, 0};
    uint32_t number = (uint32_t)tracer->floats.count;
    bool is_float = operand->kind == BURN_OPERAND_FLOAT;
    *bd_vec_push(&tracer->floats) = is_float ? operand->f : (double)operand->i;
    *bd_vec_push(&tracer->integers) = is_float ? truncated(operand->f) : operand->i;
    return (bd_input){BD_INPUT_SCALAR, (uint8_t)operand->kind, number};
}

static void copy_attrs(bd_tracer *tracer, bd_trace_record *to, const burn_op_record *from)
{
    for (uint32_t i = 0; i < from->info->attr_count; i++) {
        to->attrs[i] = from->attrs[i];
        if (from->attrs[i].count)
            to->attrs[i].values = bd_arena_copy(&tracer->arena, from->attrs[i].values,
                                                from->attrs[i].count * sizeof(int64_t));
    }
}

/* The roots of a grad record that retains nothing let go of what was kept for them; this trace
 * still holds it. */
static void use_up(const burn_op_record *record, bd_tensor *const *inputs)
{
    if (record->attrs[burn_op_attr(record->info, "retain")].value)
        return;
    int64_t root_count = record->attrs[burn_op_attr(record->info, "roots")].value;
    for (int64_t i = 0; i < root_count; i++) {
        if (!inputs[i] || inputs[i]->state != BD_TENSOR_STORED)
            continue;
        bd_history_release(inputs[i]->stored->history);
        inputs[i]->stored->history = NULL;
    }
}

uint32_t bd_tracer_append(bd_tracer *tracer, const burn_op_record *record, bd_tensor *const *inputs,
                          const uint64_t *output_ids, uint64_t op_index)
{
    uint32_t known_externals = (uint32_t)tracer->externals.count;
    bd_input *resolved = bd_arena_alloc(&tracer->arena, record->input_count * sizeof *resolved);
    for (uint32_t i = 0; i < record->input_count; i++)
        resolved[i] = resolve(tracer, &record->inputs[i], inputs[i]);

    uint32_t first_value = (uint32_t)tracer->values.count;
    BD_DASSERT(tracer->values.count + record->output_count <= tracer->values.capacity);
    tracer->values.count += record->output_count;
    for (uint32_t i = 0; i < record->output_count; i++) {
        bd_trace_value *value = &tracer->values.items[first_value + i];
        value->record = (uint32_t)tracer->records.count;
        value->survives = 1;
        value->tracked = (record->flags & BURN_RECORD_TRACK) != 0;
        *bd_vec_push(&tracer->ids) = output_ids[i];
    }
    tracer->surviving += record->output_count;

    bd_trace_record *kept = bd_vec_push(&tracer->records);
    kept->info = record->info;
    kept->flags = record->flags;
    kept->input_count = record->input_count;
    kept->output_count = record->output_count;
    kept->inputs = resolved;
    kept->first_value = first_value;
    kept->op_index = op_index;
    copy_attrs(tracer, kept, record);
    if (bd_trace_key_is_gradient(record->info)) {
        tracer->has_gradient = true;
        use_up(record, inputs);
    }

    size_t room = bd_trace_key_bound(kept);
    bd_vec_reserve(&tracer->key, tracer->key.count + room);
    tracer->key.count +=
        bd_trace_key_record(kept, tracer->values.items, tracer->externals.items, known_externals,
                            tracer->key.items + tracer->key.count);
    *bd_vec_push(&tracer->ends) = (uint32_t)tracer->key.count;
    return first_value;
}

void bd_tracer_drop_value(bd_tracer *tracer, uint32_t value)
{
    bd_trace_value *dropped = &tracer->values.items[value];
    BD_DASSERT(dropped->survives);
    dropped->survives = 0;
    tracer->surviving--;
}

void bd_tracer_drop_external(bd_tracer *tracer, uint32_t slot)
{
    tracer->externals.items[slot].dies = 1;
}

void bd_tracer_finish(bd_tracer *tracer, bd_trace *out)
{
    *out = (bd_trace){
        .records = tracer->records.items,
        .values = tracer->values.items,
        .externals = tracer->externals.items,
        .scalars_as_double = tracer->floats.items,
        .scalars_as_int = tracer->integers.items,
        .record_count = (uint32_t)tracer->records.count,
        .value_count = (uint32_t)tracer->values.count,
        .external_count = (uint32_t)tracer->externals.count,
        .scalar_count = (uint32_t)tracer->floats.count,
    };
    bd_vec_clear(&tracer->tail);
    size_t room = bd_trace_key_tail_bound(out);
    bd_vec_reserve(&tracer->tail, room);
    tracer->tail.count = bd_trace_key_tail(out, tracer->tail.items);
    if (tracer->has_gradient)
        bd_trace_key_histories(out, &tracer->tail.items, &tracer->tail.count,
                               &tracer->tail.capacity);
}
