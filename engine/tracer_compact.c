/* SPDX-License-Identifier: Apache-2.0
 * A trace without a record that cannot be planned, and without all that is made from it. */
#include "engine/history.h"
#include "engine/trace_key.h"
#include "engine/tracer.h"
#include "proto/base/alloc.h"

void bd_tracer_leave_out(const bd_tracer *tracer, uint32_t blamed, uint8_t *spoiled)
{
    for (size_t i = blamed; i < tracer->records.count; i++) {
        const bd_trace_record *record = &tracer->records.items[i];
        bool bad = i == blamed;
        for (uint32_t k = 0; !bad && k < record->input_count; k++)
            bad = record->inputs[k].kind == BD_INPUT_VALUE && spoiled[record->inputs[k].number];
        for (uint32_t k = 0; bad && k < record->output_count; k++)
            spoiled[record->first_value + k] = 1;
    }
}

typedef struct renumbering {
    bd_tracer *tracer;
    uint32_t *values; /* old number → new one */
    uint32_t *slots;  /* likewise, + 1; 0: not used any more */
    bd_trace_external *externals;
    bd_buffer **buffers;
    uint32_t record_count, value_count, slot_count, scalar_count;
} renumbering;

static void renumber_inputs(renumbering *to, bd_trace_record *record)
{
    bd_tracer *tracer = to->tracer;
    bd_input *inputs =
        bd_arena_copy(&tracer->arena, record->inputs, record->input_count * sizeof *inputs);
    for (uint32_t i = 0; i < record->input_count; i++) {
        uint32_t old = inputs[i].number;
        if (inputs[i].kind == BD_INPUT_VALUE) {
            inputs[i].number = to->values[old];
        } else if (inputs[i].kind == BD_INPUT_SCALAR) {
            tracer->floats.items[to->scalar_count] = tracer->floats.items[old];
            tracer->integers.items[to->scalar_count] = tracer->integers.items[old];
            inputs[i].number = to->scalar_count++;
        } else if (inputs[i].kind == BD_INPUT_EXTERNAL) {
            if (!to->slots[old]) {
                to->externals[to->slot_count] = tracer->externals.items[old];
                to->buffers[to->slot_count] = tracer->buffers.items[old];
                to->slots[old] = ++to->slot_count;
            }
            inputs[i].number = to->slots[old] - 1;
        }
    }
    record->inputs = inputs;
}

static void keep_record(renumbering *to, bd_trace_record record)
{
    bd_tracer *tracer = to->tracer;
    uint32_t known_slots = to->slot_count;
    renumber_inputs(to, &record);
    for (uint32_t i = 0; i < record.output_count; i++) {
        uint32_t old = record.first_value + i;
        uint32_t value = to->value_count + i;
        to->values[old] = value;
        tracer->values.items[value] = tracer->values.items[old];
        tracer->values.items[value].record = to->record_count;
        tracer->ids.items[value] = tracer->ids.items[old];
        tracer->surviving += tracer->values.items[value].survives;
    }
    record.first_value = to->value_count;
    to->value_count += record.output_count;
    tracer->records.items[to->record_count++] = record;
    if (bd_trace_key_is_gradient(record.info))
        tracer->has_gradient = true;
    bd_vec_reserve(&tracer->key, tracer->key.count + bd_trace_key_bound(&record));
    tracer->key.count += bd_trace_key_record(&record, tracer->values.items, to->externals,
                                             known_slots, tracer->key.items + tracer->key.count);
    *bd_vec_push(&tracer->ends) = (uint32_t)tracer->key.count;
}

static bool is_spoiled(const bd_trace_record *record, const uint8_t *spoiled)
{
    return record->output_count > 0 && spoiled[record->first_value];
}

void bd_tracer_compact(bd_tracer *tracer, const uint8_t *spoiled)
{
    size_t value_count = tracer->values.count, slot_count = tracer->externals.count;
    renumbering to = {
        .tracer = tracer,
        .values = bd_alloc_zeroed((value_count + 1) * sizeof(uint32_t)),
        .slots = bd_alloc_zeroed((slot_count + 1) * sizeof(uint32_t)),
        .externals = bd_alloc((slot_count + 1) * sizeof(bd_trace_external)),
        .buffers = bd_alloc((slot_count + 1) * sizeof(bd_buffer *)),
    };
    bd_vec_clear(&tracer->key);
    bd_vec_clear(&tracer->ends);
    tracer->surviving = 0;
    tracer->has_gradient = false;
    size_t record_count = tracer->records.count;
    for (size_t i = 0; i < record_count; i++)
        if (!is_spoiled(&tracer->records.items[i], spoiled))
            keep_record(&to, tracer->records.items[i]);
    for (size_t i = 0; i < slot_count; i++) {
        if (to.slots[i])
            continue;
        bd_buffer_release(tracer->buffers.items[i]);
        bd_history_release(tracer->externals.items[i].history);
    }
    for (uint32_t i = 0; i < to.slot_count; i++) {
        tracer->externals.items[i] = to.externals[i];
        tracer->buffers.items[i] = to.buffers[i];
    }
    tracer->externals.count = tracer->buffers.count = to.slot_count;
    tracer->records.count = to.record_count;
    tracer->values.count = tracer->ids.count = to.value_count;
    tracer->floats.count = tracer->integers.count = to.scalar_count;
    bd_free(to.values);
    bd_free(to.slots);
    bd_free(to.externals);
    bd_free(to.buffers);
}
