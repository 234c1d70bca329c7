/* SPDX-License-Identifier: Apache-2.0
 * Values: counting, the links for reachability, and the recording of ops over them. */
#include <string.h>

#include "client/core/client_state.h"
#include "client/core/recording.h"
#include "client/core/tensor_state.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

enum { INPUTS_INLINE = 16, OUTPUTS_INLINE = 4 };

/* ---- sessions -------------------------------------------------------------------------------- */

bd_session *bd_session_create(const char *library, const char *device, const char *token,
                              unsigned wishes)
{
    bd_session *session = bd_alloc_zeroed(sizeof *session);
    session->client = bd_client_create(library, device, token, wishes);
    session->grad_enabled = true;
    session->next_program = 1;
    return session;
}

void bd_session_collect(bd_session *session)
{
    if (session->client || session->tensor_count > 0 || session->value_count > 0 ||
        session->program_count > 0)
        return;
    while (session->spare_values) {
        bd_value *value = session->spare_values;
        session->spare_values = value->next;
        bd_free(value);
    }
    while (session->spare_tensors) {
        burn_tensor *tensor = session->spare_tensors;
        session->spare_tensors = tensor->next;
        bd_free(tensor);
    }
    if (session->on_empty)
        session->on_empty(session->user);
    bd_free(session);
}

void bd_session_destroy(bd_session *session)
{
    if (!session)
        return;
    bd_recording_abort(session);
    bd_client_destroy(session->client);
    session->client = NULL;
    bd_session_collect(session);
}

bd_client *bd_session_client(bd_session *session)
{
    return session->client;
}

void bd_session_set_grad(bd_session *session, bool enabled)
{
    session->grad_enabled = enabled;
}

void bd_session_set_foreign(bd_session *session, bool (*is_foreign)(const void *user))
{
    session->is_foreign = is_foreign;
}

void bd_session_set_user(bd_session *session, void *user, void (*on_empty)(void *user))
{
    session->user = user;
    session->on_empty = on_empty;
}

void bd_session_mark(bd_session *session)
{
    if (!bd_recording_here(session) && !session->client->failure)
        bd_client_mark(session->client);
}

uint64_t bd_session_attachments(const bd_session *session)
{
    return session->attachment_count;
}

void *bd_session_user(const bd_session *session)
{
    return session->user;
}

void bd_session_seed(bd_session *session, uint64_t seed, uint64_t offset)
{
    session->seed = seed;
    session->random_offset = offset;
}

void bd_session_next_random(bd_session *session, uint64_t count, uint64_t *out_seed,
                            uint64_t *out_offset)
{
    *out_seed = session->seed;
    *out_offset = session->random_offset;
    session->random_offset += count;
}

/* ---- counting -------------------------------------------------------------------------------- */

bd_value *bd_value_create(bd_session *session)
{
    bd_value *value = session->spare_values;
    if (value)
        session->spare_values = value->next;
    else
        value = bd_alloc(sizeof *value);
    value->session = session;
    value->id = 0;
    value->refs = value->handles = 1;
    value->flags = value->parent_count = 0;
    value->mark = 0;
    value->accumulator = NULL;
    value->attachment = NULL;
    value->parents = value->parents_inline;
    session->value_count++;
    return value;
}

void bd_value_retain(bd_value *value)
{
    value->refs++;
}

static void tell_gone(bd_value *value)
{
    if (value->flags & (BD_VALUE_GONE | BD_VALUE_RECORDED))
        return;
    value->flags |= BD_VALUE_GONE;
    if (value->session->client && value->id != 0)
        bd_client_free_id(value->session->client, value->id);
}

void bd_accumulator_release(bd_accumulator *accumulator)
{
    if (accumulator && --accumulator->refs == 0)
        bd_free(accumulator);
}

/* Destroys a value without references and puts those parents that lost their last one on the list:
 * long chains must not recurse. */
static void destroy(bd_value *value, bd_value **list)
{
    bd_session *session = value->session;
    tell_gone(value);
    for (uint32_t i = 0; i < value->parent_count; i++) {
        bd_value *parent = value->parents[i];
        if (--parent->refs == 0) {
            parent->next = *list;
            *list = parent;
        }
    }
    if (value->parents != value->parents_inline)
        bd_free(value->parents);
    bd_accumulator_release(value->accumulator);
    if (value->attachment) {
        value->attachment->release(value->attachment->object);
        bd_free(value->attachment);
        session->attachment_count--;
    }
    value->next = session->spare_values;
    session->spare_values = value;
    session->value_count--;
}

static void destroy_all(bd_value *list)
{
    while (list) {
        bd_value *value = list;
        list = value->next;
        destroy(value, &list);
    }
}

void bd_value_release(bd_value *value)
{
    if (--value->refs > 0)
        return;
    value->next = NULL;
    destroy_all(value);
}

void bd_value_hold(bd_value *value)
{
    value->handles++;
    value->refs++;
}

/* A leaf, and what has an attachment, stays on the daemon while a graph leads to it, so that its
 * gradient can be asked for. */
void bd_value_drop(bd_value *value)
{
    if (!value)
        return;
    bool asked_for = value->flags & BD_VALUE_LEAF || value->attachment;
    if (--value->handles == 0 && !(asked_for && value->refs > 1))
        tell_gone(value);
    bd_value_release(value);
}

void bd_value_forget_parents(bd_value *value)
{
    bd_value *list = NULL;
    for (uint32_t i = 0; i < value->parent_count; i++) {
        bd_value *parent = value->parents[i];
        if (--parent->refs == 0) {
            parent->next = list;
            list = parent;
        }
    }
    value->parent_count = 0;
    if (value->parents != value->parents_inline)
        bd_free(value->parents);
    value->parents = value->parents_inline;
    destroy_all(list);
}

void bd_value_add_parent(bd_value *value, bd_value *parent)
{
    uint32_t count = value->parent_count;
    if (count >= BD_VALUE_PARENTS_INLINE) {
        bd_value **parents = bd_alloc((count + 1) * sizeof *parents);
        memcpy(parents, value->parents, count * sizeof *parents);
        if (value->parents != value->parents_inline)
            bd_free(value->parents);
        value->parents = parents;
    }
    value->parents[value->parent_count++] = parent;
    value->flags |= BD_VALUE_TRACKED;
    bd_value_retain(parent);
}

void bd_value_set_accumulator(bd_value *value, bd_accumulator *accumulator)
{
    if (accumulator)
        accumulator->refs++;
    bd_accumulator_release(value->accumulator);
    value->accumulator = accumulator;
}

/* ---- recording ------------------------------------------------------------------------------- */

static void link_parents(bd_value *value, const bd_emission *emission)
{
    uint64_t mark = ++value->session->mark;
    uint32_t count = 0;
    for (uint32_t i = 0; i < emission->input_count; i++) {
        const bd_value_operand *input = &emission->inputs[i];
        if (input->kind == BURN_OPERAND_TENSOR && input->value->flags & BD_VALUE_TRACKED)
            count++;
    }
    if (count > BD_VALUE_PARENTS_INLINE)
        value->parents = bd_alloc(count * sizeof *value->parents);
    for (uint32_t i = 0; i < emission->input_count; i++) {
        const bd_value_operand *input = &emission->inputs[i];
        if (input->kind != BURN_OPERAND_TENSOR || !(input->value->flags & BD_VALUE_TRACKED) ||
            input->value->mark == mark)
            continue;
        input->value->mark = mark;
        bd_value_retain(input->value);
        value->parents[value->parent_count++] = input->value;
    }
    value->flags |= BD_VALUE_TRACKED;
}

static bool any_tracked(const bd_emission *emission)
{
    for (uint32_t i = 0; i < emission->input_count; i++)
        if (emission->inputs[i].kind == BURN_OPERAND_TENSOR &&
            emission->inputs[i].value->flags & BD_VALUE_TRACKED)
            return true;
    return false;
}

static bd_error *send_record(bd_session *session, burn_op_record *record)
{
    bd_recording *recording = bd_recording_here(session);
    if (recording)
        return bd_recording_append(recording, record);
    if (bd_client_record_bound(record) > BURN_BATCH_BYTES_MAX)
        BD_FAIL(LIMIT, "%s: the record is larger than the %d bytes that a batch may have",
                record->info->name, BURN_BATCH_BYTES_MAX);
    bd_client_record(session->client, record);
    return NULL;
}

/* Infers and records; the outputs' types stand in `types` (one output: in out_values[0]). */
static bd_error *record_op(bd_session *session, const bd_emission *emission, burn_operand *operands,
                           const burn_tensor_type **input_types, burn_tensor_type *types,
                           bd_value **out_values)
{
    BD_UNSET burn_op_record record;
    record.info = emission->info;
    record.flags = 0;
    record.input_count = emission->input_count;
    record.inputs = operands;
    record.output_count = emission->output_count;
    record.first_output = 0;
    for (uint32_t i = 0; i < emission->input_count; i++) {
        const bd_value_operand *input = &emission->inputs[i];
        operands[i].kind = input->kind;
        input_types[i] = NULL;
        if (input->kind == BURN_OPERAND_TENSOR) {
            operands[i].id = input->value->id;
            input_types[i] = &input->value->type;
        } else {
            operands[i].i = input->i; /* the union's 64 bits, whatever the kind */
        }
    }
    for (int i = 0; i < emission->info->attr_count; i++)
        record.attrs[i] = emission->attrs
                              ? emission->attrs[i]
                              : (burn_attr){.value = emission->info->attrs[i].default_value};
    if (emission->output_types)
        memcpy(types, emission->output_types, emission->output_count * sizeof *types);
    else
        BD_TRY(burn_op_infer(&record, input_types, types));
    bool differentiable =
        !(emission->info->flags & BURN_OP_NO_GRADIENT) || emission->info->number == BURN_OP_GRAD;
    bool track = emission->track && differentiable && any_tracked(emission);
    if (track)
        record.flags = BURN_RECORD_TRACK;
    BD_TRY(send_record(session, &record));
    for (uint32_t i = 0; i < emission->output_count; i++) {
        bd_value *value = out_values[i];
        value->id = record.first_output + i;
        if (types != &value->type)
            value->type = types[i];
        if (bd_recording_here(session))
            value->flags |= BD_VALUE_RECORDED;
        if (track && burn_dtype_is_float(types[i].dtype))
            link_parents(value, emission);
    }
    return NULL;
}

bd_error *bd_emit(bd_session *session, const bd_emission *emission, bd_value **out_values)
{
    if (!session->client)
        BD_FAIL(UNAVAILABLE, "the connection was closed");
    if (session->client->failure)
        return bd_error_retain(session->client->failure);
    if (emission->info->since > session->client->facts.op_revision)
        BD_FAIL(UNSUPPORTED, "%s came with op table %u; the daemon has table %u: update it",
                emission->info->name, (unsigned)emission->info->since,
                (unsigned)session->client->facts.op_revision);
    BD_UNSET burn_operand operands_inline[INPUTS_INLINE];
    BD_UNSET const burn_tensor_type *inputs_inline[INPUTS_INLINE];
    BD_UNSET burn_tensor_type types_inline[OUTPUTS_INLINE];
    burn_operand *operands = operands_inline;
    const burn_tensor_type **inputs = inputs_inline;
    burn_tensor_type *types = types_inline;
    uint32_t count = emission->output_count;
    if (emission->input_count > INPUTS_INLINE) {
        operands = bd_alloc(emission->input_count * sizeof *operands);
        inputs = bd_alloc(emission->input_count * sizeof *inputs);
    }
    for (uint32_t i = 0; i < count; i++)
        out_values[i] = bd_value_create(session);
    if (count == 1)
        types = &out_values[0]->type;
    else if (count > OUTPUTS_INLINE)
        types = bd_alloc(count * sizeof *types);
    bd_error *error = record_op(session, emission, operands, inputs, types, out_values);
    if (error)
        for (uint32_t i = 0; i < count; i++) {
            bd_value_drop(out_values[i]);
            out_values[i] = NULL;
        }
    if (count > OUTPUTS_INLINE)
        bd_free(types);
    if (emission->input_count > INPUTS_INLINE) {
        bd_free(operands);
        bd_free(inputs);
    }
    return error;
}

bd_error *bd_emit_unary(bd_session *session, int op, bd_value *value, const burn_attr *attrs,
                        bool track, bd_value **out_value)
{
    bd_value_operand input = {.kind = BURN_OPERAND_TENSOR, .value = value};
    bd_emission emission = {.info = burn_op_lookup(op),
                            .inputs = &input,
                            .input_count = 1,
                            .output_count = 1,
                            .attrs = attrs,
                            .track = track};
    return bd_emit(session, &emission, out_value);
}
