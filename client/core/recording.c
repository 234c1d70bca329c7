/* SPDX-License-Identifier: Apache-2.0 */
#include "client/core/recording.h"

#include <pthread.h>
#include <string.h>

#include "client/core/client_state.h"
#include "client/core/program_state.h"
#include "client/core/tensor_state.h"
#include "proto/base/alloc.h"
#include "proto/base/arena.h"
#include "proto/base/assert.h"

/* Until the inputs are counted, outputs are told from them by this. */
static const uint64_t OUTPUT_TAG = (uint64_t)1 << 40;

/* A tensor from outside, or a whole storage if it has one. */
typedef struct adopted {
    burn_tensor *tensor;  /* retained */
    bd_storage *storage;  /* counted; NULL: the tensor alone */
    bd_value *original;   /* held */
    uint64_t placeholder; /* id of the value that stands for it */
    burn_tensor *grad;    /* before; retained; may be NULL */
} adopted;

struct bd_recording {
    bd_session *session;
    pthread_t thread;
    bd_arena arena;
    BD_VEC(burn_op_record) records;
    BD_VEC(adopted) adopted;
    uint32_t argument_count;
    uint64_t input_count, output_count;
    burn_tensor_type *argument_types;
    uint64_t random_begin; /* the session's offset */
    BD_VEC(bd_number_input) numbers;
};

static bd_value *placeholder(bd_recording *recording, const burn_tensor_type *type)
{
    bd_value *value = bd_value_create(recording->session);
    value->id = ++recording->input_count;
    value->flags = BD_VALUE_RECORDED;
    value->type = *type;
    return value;
}

/* ---- recording ------------------------------------------------------------------------------- */

bd_error *bd_recording_begin(bd_session *session, burn_tensor *const *arguments, uint32_t count,
                             burn_tensor **out_arguments)
{
    if (session->recording)
        BD_FAIL(CONFLICT, "a program is being recorded already");
    bd_recording *recording = bd_alloc_zeroed(sizeof *recording);
    recording->session = session;
    recording->thread = pthread_self();
    recording->argument_count = count;
    recording->argument_types = bd_alloc_zeroed((count + 1) * sizeof(burn_tensor_type));
    recording->random_begin = session->random_offset;
    bd_arena_init(&recording->arena);
    for (uint32_t i = 0; i < count; i++) {
        recording->argument_types[i] = *bd_tensor_type(arguments[i]);
        out_arguments[i] =
            bd_tensor_create(session, placeholder(recording, &recording->argument_types[i]));
    }
    session->recording = recording;
    return NULL;
}

bd_recording *bd_recording_here(const bd_session *session)
{
    bd_recording *recording = session->recording;
    return recording && pthread_equal(recording->thread, pthread_self()) ? recording : NULL;
}

static burn_attr copy_attr(bd_arena *arena, const burn_attr_info *info, const burn_attr *attr)
{
    burn_attr copy = *attr;
    if (attr->count == 0)
        return copy;
    if (info->kind == BURN_ATTR_BYTES)
        copy.bytes = bd_arena_copy(arena, attr->bytes, attr->count);
    else
        copy.values = bd_arena_copy(arena, attr->values, attr->count * sizeof(int64_t));
    return copy;
}

/* The number comes in by an input of its own. */
static burn_attr number_attr(bd_recording *recording, bool is_seed, int64_t value)
{
    bd_number_input input = {.id = ++recording->input_count, .is_seed = is_seed};
    if (!is_seed)
        input.offset = (uint64_t)value - recording->random_begin;
    *bd_vec_push(&recording->numbers) = input;
    return (burn_attr){.value = BURN_PROGRAM_SIZE(input.id - 1)};
}

static void make_random(bd_recording *recording, burn_op_record *record)
{
    int seed = burn_op_attr(record->info, "seed"), offset = burn_op_attr(record->info, "offset");
    if (seed >= 0)
        record->attrs[seed] = number_attr(recording, true, record->attrs[seed].value);
    if (offset >= 0)
        record->attrs[offset] = number_attr(recording, false, record->attrs[offset].value);
}

bd_error *bd_recording_append(bd_recording *recording, burn_op_record *record)
{
    burn_op_record copy = *record;
    copy.inputs = bd_arena_copy(&recording->arena, record->inputs,
                                record->input_count * sizeof *record->inputs);
    for (int i = 0; i < record->info->attr_count; i++)
        copy.attrs[i] = copy_attr(&recording->arena, &record->info->attrs[i], &record->attrs[i]);
    if (record->info->flags & BURN_OP_RANDOM)
        make_random(recording, &copy);
    record->first_output = copy.first_output = OUTPUT_TAG + recording->output_count + 1;
    recording->output_count += record->output_count;
    *bd_vec_push(&recording->records) = copy;
    return NULL;
}

bd_error *bd_recording_adopt(bd_recording *recording, burn_tensor *tensor)
{
    bd_storage *storage = tensor->storage;
    bd_value *shown = storage ? storage->value : tensor->value;
    if (shown->flags & BD_VALUE_RECORDED)
        return NULL;
    adopted entry = {.tensor = tensor, .storage = storage, .grad = tensor->grad};
    bd_value *value = placeholder(recording, &shown->type);
    entry.placeholder = value->id;
    entry.original = shown;
    bd_tensor_retain(tensor);
    if (entry.grad)
        bd_tensor_retain(entry.grad);
    if (storage) {
        storage->refs++;
        storage->value = value; /* the entry takes the reference to the original */
        storage->version++;
    } else {
        tensor->value = value;
    }
    *bd_vec_push(&recording->adopted) = entry;
    return NULL;
}

static bd_value *shown_by(const adopted *entry)
{
    return entry->storage ? entry->storage->value : entry->tensor->value;
}

/* Gives the tensors from outside back what they showed. */
static void restore(bd_recording *recording)
{
    for (size_t i = 0; i < recording->adopted.count; i++) {
        adopted *entry = &recording->adopted.items[i];
        burn_tensor *tensor = entry->tensor, *grad = tensor->grad;
        tensor->grad = entry->grad;
        if (grad)
            bd_tensor_release(grad);
        bd_storage *storage = entry->storage;
        if (storage) {
            bd_value_drop(storage->value);
            storage->value = entry->original;
            storage->version++;
            if (--storage->refs == 0) {
                bd_value_drop(storage->value);
                bd_free(storage);
            }
        } else {
            bd_tensor_show(tensor, entry->original);
        }
        if (tensor->storage && !storage) { /* it was viewed within the recording only */
            bd_value_hold(tensor->value);
            bd_value_drop(tensor->storage->value);
            tensor->storage->value = tensor->value;
            tensor->version = ++tensor->storage->version;
        }
        entry->tensor = NULL;
        bd_tensor_release(tensor);
    }
    bd_vec_clear(&recording->adopted);
}

static void destroy(bd_recording *recording)
{
    recording->session->recording = NULL;
    restore(recording);
    bd_vec_deinit(&recording->adopted);
    bd_vec_deinit(&recording->records);
    bd_vec_deinit(&recording->numbers);
    bd_arena_deinit(&recording->arena);
    bd_free(recording->argument_types);
    bd_free(recording);
}

void bd_recording_abort(bd_session *session)
{
    if (session->recording)
        destroy(session->recording);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* One record a program output, so that each is there once, and in order. */
static bd_error *yield(bd_program *program, bd_session *session, bd_value *value)
{
    bd_value *out = NULL;
    *bd_vec_push(&program->types) = value->type;
    BD_TRY(bd_emit_unary(session, BURN_OP_CLONE, value, NULL, false, &out));
    bd_value_drop(out);
    return NULL;
}

static bd_error *add_effect(bd_program *program, burn_tensor *tensor, bool is_grad, bd_value *value)
{
    *bd_vec_push(&program->effects) =
        (bd_effect){.tensor = tensor, .is_grad = is_grad, .clears = !value};
    bd_tensor_retain(tensor);
    return value ? yield(program, tensor->session, value) : NULL;
}

static bd_error *yield_all(bd_program *program, bd_recording *recording,
                           burn_tensor *const *outputs, uint32_t count)
{
    bd_session *session = recording->session;
    for (uint32_t i = 0; i < count; i++) {
        bd_value *value = NULL;
        BD_TRY(bd_tensor_value(outputs[i], &value));
        BD_TRY(yield(program, session, value));
    }
    for (size_t i = 0; i < recording->adopted.count; i++) {
        adopted entry = recording->adopted.items[i];
        bd_value *value = shown_by(&entry);
        if (value->id != entry.placeholder)
            BD_TRY(add_effect(program, entry.tensor, false, value));
        burn_tensor *grad = entry.tensor->grad;
        if (grad == entry.grad)
            continue;
        value = NULL;
        if (grad)
            BD_TRY(bd_tensor_value(grad, &value));
        BD_TRY(add_effect(program, entry.tensor, true, value));
    }
    for (size_t i = 0; i < recording->adopted.count; i++) {
        const adopted *entry = &recording->adopted.items[i];
        *bd_vec_push(&program->captures) =
            (bd_capture){.tensor = entry->tensor, .id = entry->placeholder};
        bd_tensor_retain(entry->tensor);
    }
    return NULL;
}

static uint64_t final_id(const bd_recording *recording, uint64_t id)
{
    return id > OUTPUT_TAG ? id - OUTPUT_TAG + recording->input_count : id;
}

/* What is no output of the program is freed at its end. */
static bd_error *free_others(bd_recording *recording, size_t outputs)
{
    uint64_t count = recording->output_count - outputs;
    burn_operand *inputs = bd_arena_alloc(&recording->arena, (count + 1) * sizeof *inputs);
    for (uint64_t i = 0; i < count; i++)
        inputs[i] = (burn_operand){.kind = BURN_OPERAND_TENSOR, .id = OUTPUT_TAG + i + 1};
    for (uint64_t i = 0; i < count; i += BD_FREE_BATCH_COUNT) {
        uint64_t left = count - i;
        burn_op_record record = {
            .info = burn_op_lookup(BURN_OP_FREE),
            .input_count = (uint32_t)(left < BD_FREE_BATCH_COUNT ? left : BD_FREE_BATCH_COUNT),
            .inputs = inputs + i};
        BD_TRY(bd_recording_append(recording, &record));
    }
    return NULL;
}

/* The records with final numbers. */
static bd_error *encode(bd_recording *recording, uint8_t **out_bytes, size_t *out_size)
{
    size_t bound = 0;
    for (size_t i = 0; i < recording->records.count; i++)
        bound += burn_record_bound(&recording->records.items[i]);
    uint8_t *bytes = bd_alloc(bound + 1);
    size_t used = 0;
    for (size_t i = 0; i < recording->records.count; i++) {
        burn_op_record record = recording->records.items[i];
        burn_operand *inputs = bd_arena_copy(&recording->arena, record.inputs,
                                             record.input_count * sizeof *record.inputs);
        for (uint32_t k = 0; k < record.input_count; k++)
            if (inputs[k].kind == BURN_OPERAND_TENSOR)
                inputs[k].id = final_id(recording, inputs[k].id);
        record.inputs = inputs;
        record.first_output = final_id(recording, record.first_output);
        used += burn_record_encode(&record, bytes + used);
    }
    if (used > BURN_BATCH_BYTES_MAX) {
        bd_free(bytes);
        BD_FAIL(LIMIT, "the program's records take %zu bytes, at most %d are allowed", used,
                BURN_BATCH_BYTES_MAX);
    }
    *out_bytes = bytes;
    *out_size = used;
    return NULL;
}

bd_error *bd_recording_end(bd_session *session, burn_tensor *const *outputs, uint32_t count,
                           const char *name, bd_pending *pending, bd_program **out_program)
{
    bd_recording *recording = session->recording;
    if (!recording)
        BD_FAIL(CONFLICT, "no program is being recorded");
    bd_program *program = bd_alloc_zeroed(sizeof *program);
    program->session = session;
    session->program_count++;
    program->argument_count = recording->argument_count;
    program->output_count = count;
    program->argument_types = recording->argument_types;
    recording->argument_types = NULL;
    uint8_t *bytes = NULL;
    size_t size = 0;
    bd_error *error = yield_all(program, recording, outputs, count);
    if (!error)
        error = free_others(recording, program->types.count);
    if (!error)
        error = encode(recording, &bytes, &size);
    uint32_t input_count = program->input_count = (uint32_t)recording->input_count;
    for (size_t i = 0; i < recording->numbers.count; i++)
        *bd_vec_push(&program->numbers) = recording->numbers.items[i];
    program->random_count = session->random_offset - recording->random_begin;
    session->random_offset = recording->random_begin; /* recording has drawn nothing */
    destroy(recording);
    if (error) {
        bd_program_destroy(program);
        return error;
    }
    program->number = session->next_program++;
    bd_client_define(session->client, program->number, name, input_count, bytes, size, pending);
    bd_free(bytes);
    *out_program = program;
    return NULL;
}

/* ---- programs -------------------------------------------------------------------------------- */

uint32_t bd_program_argument_count(const bd_program *program)
{
    return program->argument_count;
}

uint32_t bd_program_output_count(const bd_program *program)
{
    return program->output_count;
}

void bd_program_drop(bd_program *program)
{
    bd_client_drop(program->session->client, program->number);
    bd_program_destroy(program);
}

void bd_program_destroy(bd_program *program)
{
    if (!program)
        return;
    for (size_t i = 0; i < program->captures.count; i++)
        bd_tensor_release(program->captures.items[i].tensor);
    for (size_t i = 0; i < program->effects.count; i++)
        bd_tensor_release(program->effects.items[i].tensor);
    bd_vec_deinit(&program->captures);
    bd_vec_deinit(&program->numbers);
    bd_vec_deinit(&program->effects);
    bd_vec_deinit(&program->types);
    bd_free(program->argument_types);
    bd_session *session = program->session;
    bd_free(program);
    session->program_count--;
    bd_session_collect(session);
}

static bd_error *check_arguments(const bd_program *program, burn_tensor *const *arguments,
                                 uint32_t count)
{
    char a[BURN_SHAPE_TEXT_MAX], b[BURN_SHAPE_TEXT_MAX];
    if (count != program->argument_count)
        BD_FAIL(INVALID, "the program takes %u arguments, got %u", program->argument_count, count);
    for (uint32_t i = 0; i < count; i++) {
        const burn_tensor_type *want = &program->argument_types[i],
                               *got = bd_tensor_type(arguments[i]);
        if (want->dtype != got->dtype || !burn_shape_equal(&want->shape, &got->shape))
            BD_FAIL(INVALID, "argument %u of the program is %s%s, got %s%s", i,
                    burn_dtype_name(want->dtype), burn_shape_text(&want->shape, a),
                    burn_dtype_name(got->dtype), burn_shape_text(&got->shape, b));
    }
    return NULL;
}

bd_error *bd_program_capture(burn_tensor *tensor, bd_value **out_value)
{
    BD_TRY(bd_tensor_value(tensor, out_value));
    if (tensor->storage)
        *out_value = tensor->storage->value;
    return NULL;
}

static void show_result(burn_tensor *tensor, bd_value *own_value)
{
    bd_storage *storage = tensor->storage;
    if (!storage) {
        bd_tensor_show(tensor, own_value);
        tensor->version++;
        return;
    }
    bd_value_drop(storage->value);
    storage->value = own_value;
    storage->version++;
}

static void apply_effects(bd_program *program, bd_value *const *values)
{
    uint32_t next = program->output_count;
    for (size_t i = 0; i < program->effects.count; i++) {
        const bd_effect *e = &program->effects.items[i];
        if (!e->is_grad) {
            show_result(e->tensor, values[next++]);
            continue;
        }
        burn_tensor *before = e->tensor->grad;
        e->tensor->grad = e->clears ? NULL : bd_tensor_create(program->session, values[next++]);
        if (before)
            bd_tensor_release(before);
    }
}

static bd_error *gather_inputs(bd_program *program, burn_tensor *const *arguments,
                               bd_value_operand *inputs)
{
    bd_session *session = program->session;
    for (uint32_t i = 0; i < program->argument_count; i++) {
        inputs[i].kind = BURN_OPERAND_TENSOR;
        BD_TRY(bd_tensor_value(arguments[i], &inputs[i].value));
    }
    for (size_t i = 0; i < program->captures.count; i++) {
        const bd_capture *c = &program->captures.items[i];
        inputs[c->id - 1].kind = BURN_OPERAND_TENSOR;
        BD_TRY(bd_program_capture(c->tensor, &inputs[c->id - 1].value));
    }
    for (size_t i = 0; i < program->numbers.count; i++) {
        const bd_number_input *n = &program->numbers.items[i];
        uint64_t value = n->is_seed ? session->seed : session->random_offset + n->offset;
        inputs[n->id - 1] = (bd_value_operand){.kind = BURN_OPERAND_INT, .i = (int64_t)value};
    }
    return NULL;
}

bd_error *bd_program_call(bd_program *program, burn_tensor *const *arguments, uint32_t count,
                          burn_tensor **out_outputs)
{
    bd_session *session = program->session;
    if (!session->client)
        BD_FAIL(UNAVAILABLE, "the connection was closed");
    if (session->recording)
        BD_FAIL(INVALID, "a program cannot call a program");
    BD_TRY(check_arguments(program, arguments, count));
    uint32_t output_count = (uint32_t)program->types.count;
    bd_value_operand *inputs = bd_alloc_zeroed((program->input_count + 1) * sizeof *inputs);
    bd_value **values = bd_alloc_zeroed((output_count + 1) * sizeof(bd_value *));
    bd_error *error = gather_inputs(program, arguments, inputs);
    burn_attr attrs[BURN_OP_ATTRS_MAX] = {{.value = (int64_t)program->number},
                                          {.value = output_count}};
    bd_emission emission = {.info = burn_op_lookup(BURN_OP_CALL),
                            .inputs = inputs,
                            .input_count = program->input_count,
                            .output_count = output_count,
                            .attrs = attrs,
                            .output_types = program->types.items};
    if (!error)
        error = bd_emit(session, &emission, values);
    if (!error) {
        session->random_offset += program->random_count;
        for (uint32_t i = 0; i < program->output_count; i++)
            out_outputs[i] = bd_tensor_create(session, values[i]);
        apply_effects(program, values);
    }
    bd_free(inputs);
    bd_free(values);
    return error;
}
