/* SPDX-License-Identifier: Apache-2.0
 * The op stream of a session: every record is decoded, resolved and validated here, and appended to
 * the trace, or its outputs are poisoned. Thread: device. */
#include <inttypes.h>
#include <string.h>

#include "engine/core.h"
#include "engine/session.h"
#include "engine/trace_key.h"
#include "proto/limits.h"

/* ---- poison ---- */

static void poison_outputs(bd_session *session, const burn_op_record *record, const uint64_t *ids,
                           bd_error *error)
{
    for (uint32_t i = 0; i < record->output_count; i++) {
        bd_tensor *tensor = bd_tensors_add(&session->tensors, ids[i]);
        tensor->state = BD_TENSOR_POISON;
        tensor->error = bd_error_retain(error);
    }
}

/* A record failed: its outputs hold the error, and so does the next SYNC. */
static void fail(bd_session *session, const burn_op_record *record, const uint64_t *ids,
                 uint64_t op_index, bd_error *own_error)
{
    bd_error_set_op_index(own_error, op_index);
    poison_outputs(session, record, ids, own_error);
    bd_session_note_error(session, own_error);
    bd_error_free(own_error);
}

bd_error *bd_stream_spoiled(bd_tensor *tensor)
{
    if (tensor->state == BD_TENSOR_STORED && tensor->stored->buffer->error)
        bd_tensor_poison(tensor, tensor->stored->buffer->error);
    return tensor->state == BD_TENSOR_POISON ? tensor->error : NULL;
}

/* ---- ops ---- */

static void follow(bd_session *session)
{
    bd_trie *trie = session->core->trie;
    bd_tracer *tracer = &session->tracer;
    if (tracer->ends.count == 1) {
        session->cursor = bd_trie_root(trie);
        session->cursor_generation = bd_trie_generation(trie);
    } else if (!session->cursor) {
        return;
    } else if (session->cursor_generation != bd_trie_generation(trie)) {
        session->cursor =
            bd_trie_walk(trie, tracer->key.items, tracer->ends.items, tracer->ends.count - 1);
        session->cursor_generation = bd_trie_generation(trie);
        if (!session->cursor)
            return;
    }
    size_t size_bytes = 0;
    const uint8_t *bytes = bd_tracer_last(tracer, &size_bytes);
    session->cursor = bd_trie_next(session->cursor, bytes, size_bytes);
}

/* Finds the inputs' tensors. *out_poison is the first error among them, borrowed. */
static bd_error *resolve(bd_session *session, const burn_op_record *record, bd_error **out_poison)
{
    bd_vec_reserve(&session->inputs, (size_t)record->input_count + 1);
    bd_vec_reserve(&session->types, (size_t)record->input_count + 1);
    const bd_trace_value *values = session->tracer.values.items;
    for (uint32_t i = 0; i < record->input_count; i++) {
        session->inputs.items[i] = NULL;
        session->types.items[i] = NULL;
        if (record->inputs[i].kind != BURN_OPERAND_TENSOR)
            continue;
        bd_tensor *tensor = bd_tensors_find(&session->tensors, record->inputs[i].id);
        if (!tensor)
            BD_FAIL(NOT_FOUND, "%s: tensor %" PRIu64 " is unknown or was freed", record->info->name,
                    record->inputs[i].id);
        bd_error *error = bd_stream_spoiled(tensor);
        if (error && !*out_poison)
            *out_poison = error;
        session->inputs.items[i] = tensor;
        if (tensor->state == BD_TENSOR_VALUE)
            session->types.items[i] = &values[tensor->value].type;
        else if (tensor->state == BD_TENSOR_STORED)
            session->types.items[i] = &tensor->stored->type;
    }
    return NULL;
}

/* Types of the outputs, into the trace's next places. */
static bd_error *infer(bd_session *session, const burn_op_record *record, bd_trace_value *room)
{
    if (record->output_count == 1)
        return burn_op_infer(record, session->types.items, &room->type);
    bd_vec_reserve(&session->outputs, (size_t)record->output_count + 1);
    BD_TRY(burn_op_infer(record, session->types.items, session->outputs.items));
    for (uint32_t i = 0; i < record->output_count; i++)
        bd_type_copy(&room[i].type, &session->outputs.items[i]);
    return NULL;
}

static void apply_op(bd_session *session, const burn_op_record *record, const uint64_t *ids,
                     uint64_t op_index)
{
    bd_tracer *tracer = &session->tracer;
    bd_trace_value *room = bd_tracer_room(tracer, record->output_count);
    bd_error *poison = NULL;
    bd_error *error = resolve(session, record, &poison);
    if (!error && poison) {
        poison_outputs(session, record, ids, poison);
        return;
    }
    if (!error)
        error = infer(session, record, room);
    if (error) {
        fail(session, record, ids, op_index, error);
        return;
    }
    uint32_t value = bd_tracer_append(tracer, record, session->inputs.items, ids, op_index);
    for (uint32_t i = 0; i < record->output_count; i++) {
        bd_tensor *tensor = bd_tensors_add(&session->tensors, ids[i]);
        tensor->state = BD_TENSOR_VALUE;
        tensor->value = value + i;
    }
    follow(session);
}

/* ---- control records ---- */

void bd_stream_free(bd_session *session, bd_tensor *tensor, uint64_t id)
{
    if (tensor->state == BD_TENSOR_VALUE)
        bd_tracer_drop_value(&session->tracer, tensor->value);
    else if (tensor->state == BD_TENSOR_STORED && tensor->epoch == session->tracer.epoch)
        bd_tracer_drop_external(&session->tracer, tensor->value - 1);
    bd_tensors_free(&session->tensors, id);
}

static void apply_free(bd_session *session, const burn_op_record *record, uint64_t op_index)
{
    for (uint32_t i = 0; i < record->input_count; i++) {
        if (record->inputs[i].kind != BURN_OPERAND_TENSOR)
            continue;
        bd_tensor *tensor = bd_tensors_find(&session->tensors, record->inputs[i].id);
        if (!tensor) {
            bd_error *error =
                BD_ERROR(NOT_FOUND, "free: tensor %" PRIu64 " is unknown or was freed",
                         record->inputs[i].id);
            fail(session, record, NULL, op_index, error);
            continue;
        }
        bd_stream_free(session, tensor, record->inputs[i].id);
    }
}

static bd_error *store_constant(bd_session *session, const burn_op_record *record, uint64_t id)
{
    burn_tensor_type type;
    BD_TRY(burn_op_infer(record, NULL, &type));
    const burn_attr *bytes = &record->attrs[burn_op_attr(record->info, "bytes")];
    bd_buffer *buffer = NULL;
    BD_TRY_NOTE(bd_memory_alloc(session->core->memory, session->account, bytes->count,
                                BD_MEMORY_HOST, &buffer),
                "constant");
    if (bytes->count)
        memcpy(buffer->bytes, bytes->bytes, bytes->count);
    bd_tensor_store(bd_tensors_add(&session->tensors, id), &type, buffer,
                    ++session->core->next_tensor);
    return NULL;
}

static void apply_constant(bd_session *session, const burn_op_record *record, const uint64_t *ids,
                           uint64_t op_index)
{
    bd_error *error = store_constant(session, record, ids[0]);
    if (error)
        fail(session, record, ids, op_index, error);
}

static void begin_call(bd_session *session, const burn_op_record *record, const uint64_t *ids,
                       uint64_t op_index)
{
    uint64_t number = (uint64_t)record->attrs[burn_op_attr(record->info, "program")].value;
    bd_program *program = bd_map_get(&session->programs, number);
    bd_error *error = program ? bd_call_begin(program, record, op_index, &session->call)
                              : BD_ERROR(NOT_FOUND, "call: program %" PRIu64 " is unknown", number);
    if (error)
        fail(session, record, ids, op_index, error);
}

/* Also while ops are refused tensors can be freed. */
static bool refused(bd_session *session, const burn_op_record *record, const uint64_t *ids,
                    uint64_t op_index)
{
    if (record->info->number != BURN_OP_FREE)
        fail(session, record, ids, op_index,
             BD_ERROR(LIMIT, "%s: %s", record->info->name, bd_error_text(session->refusal)));
    return record->info->number != BURN_OP_FREE;
}

static bool has_room(bd_session *session, const burn_op_record *record, const uint64_t *ids,
                     uint64_t op_index)
{
    if (record->output_count + session->tensors.live <= session->tensors_max)
        return true;
    if (session->refusal && record->output_count + session->tensors.live <= BD_TENSORS_MAX)
        return !refused(session, record, ids, op_index);
    bd_error *error = BD_ERROR(LIMIT, "%s: the session has %" PRIu64 " tensors, %d are the limit",
                               record->info->name, session->tensors.live, BD_TENSORS_MAX);
    bd_error_set_op_index(error, op_index);
    bd_session_note_error(session, error);
    bd_error_free(error);
    return false;
}

/* Applies one record; a cut that it asks for is made at once. */
static void apply(bd_session *session, const burn_op_record *record, const uint64_t *ids,
                  uint64_t op_index)
{
    bd_count(&session->core->counters.ops, 1);
    bd_count(&session->account->ops, 1);
    if (!has_room(session, record, ids, op_index))
        return;
    if (session->dropped && record->output_count) {
        fail(session, record, ids, op_index,
             BD_ERROR(CANCELLED, "the work of the session was cancelled"));
        return;
    }
    if (!(record->info->flags & BURN_OP_CONTROL) || bd_trace_key_is_gradient(record->info)) {
        apply_op(session, record, ids, op_index);
        if (bd_tracer_is_full(&session->tracer))
            bd_session_cut(session);
        return;
    }
    switch (record->info->number) {
    case BURN_OP_FREE:
        apply_free(session, record, op_index);
        break;
    case BURN_OP_MARK:
        bd_session_cut(session);
        break;
    case BURN_OP_CALL:
        begin_call(session, record, ids, op_index);
        break;
    case BURN_OP_CONSTANT:
        apply_constant(session, record, ids, op_index);
        break;
    }
}

/* ---- batches ---- */

static bool cut_was_made(const bd_session *session, uint64_t epoch)
{
    return session->waiting || session->tracer.epoch != epoch;
}

/* What a record takes of a turn. Short programs of records that cut nothing could go on for hours.
 */
static void spend(uint64_t *budget, const burn_op_record *record)
{
    uint64_t cost = (uint64_t)1 + record->input_count + record->output_count;
    *budget -= cost < *budget ? cost : *budget;
}

/* False if a cut was made within, or the turn is over. */
static bool go_on_with_call(bd_session *session, uint64_t *budget)
{
    bd_core *core = session->core;
    uint64_t epoch = session->tracer.epoch;
    while (*budget && !cut_was_made(session, epoch)) {
        BD_UNSET burn_op_record record;
        uint64_t *ids = NULL;
        bd_arena_reset(&core->scratch);
        if (!bd_call_next(session->call, &core->scratch, &session->next_hidden, &record, &ids)) {
            bd_call_end(session->call);
            session->call = NULL;
            return true;
        }
        apply(session, &record, ids, session->call->op_index);
        spend(budget, &record);
    }
    return false;
}

static bd_error *begin_batch(bd_session *session, const bd_request *request)
{
    session->at = request->payload;
    session->next_output = request->first_output;
    session->next_op = request->first_op_index;
    if (request->first_output <= session->last_id)
        BD_FAIL(CONFLICT, "ids must increase: the batch begins at %" PRIu64 ", after %" PRIu64,
                request->first_output, session->last_id);
    return NULL;
}

/* Records of a session that may only call programs. */
static bool may_call(const burn_op_record *record)
{
    int op = record->info->number;
    return op == BURN_OP_CALL || op == BURN_OP_CONSTANT || op == BURN_OP_FREE || op == BURN_OP_MARK;
}

static bd_error *next_record(bd_session *session, const bd_request *request, uint64_t *budget)
{
    bd_core *core = session->core;
    BD_UNSET burn_op_record record;
    bd_arena_reset(&core->scratch);
    BD_TRY(burn_record_decode(&session->at, request->payload + request->payload_bytes,
                              session->next_output, &core->scratch, &record));
    if (record.output_count > BD_TRACE_VALUES_MAX / 2)
        BD_FAIL(LIMIT, "%s: %" PRIu32 " outputs are more than a trace can hold", record.info->name,
                record.output_count);
    if (record.output_count > BURN_ID_MAX - session->next_output)
        BD_FAIL(LIMIT, "ids end at %" PRIu64, (uint64_t)BURN_ID_MAX);
    bd_vec_reserve(&session->ids, (size_t)record.output_count + 1);
    for (uint32_t i = 0; i < record.output_count; i++)
        session->ids.items[i] = session->next_output + i;
    session->next_output += record.output_count;
    if (record.output_count)
        session->last_id = session->next_output - 1;
    if (session->only_calls && !may_call(&record))
        fail(session, &record, session->ids.items, session->next_op,
             BD_ERROR(DENIED,
                      "%s: this session may only call programs, with values that it has uploaded; "
                      "other ops need the scope compute",
                      record.info->name));
    else
        apply(session, &record, session->ids.items, session->next_op);
    spend(budget, &record);
    session->next_op++;
    return NULL;
}

bool bd_stream_go_on(bd_session *session, const bd_request *request, uint64_t budget)
{
    bd_error *error = NULL;
    if (!session->begun) {
        session->begun = true;
        error = begin_batch(session, request);
    }
    uint64_t epoch = session->tracer.epoch;
    while (!error) {
        if (session->call && !go_on_with_call(session, &budget))
            return false;
        if (session->at >= request->payload + request->payload_bytes)
            break;
        if (budget == 0)
            return false;
        error = next_record(session, request, &budget);
        if (!error && cut_was_made(session, epoch))
            return false;
    }
    if (error) { /* what is left of the batch cannot be read */
        bd_error_set_op_index(error, session->next_op);
        bd_session_note_error(session, error);
        bd_error_free(error);
    }
    session->begun = false;
    return true;
}
