/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target of the op stream: the input is a flag byte and op records, run by the whole engine on
 * the ref device, then read back. The mutator appends well-formed records, so that the stages after
 * decoding are reached; libFuzzer's own mutations damage them. */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "backends/ref/ref.h"
#include "engine/engine.h"
#include "proto/base/alloc.h"
#include "proto/base/arena.h"
#include "proto/base/log.h"
#include "proto/limits.h"

enum {
    FIRST_OUTPUT = 6, /* five uploads come before */
    RECORD_BYTES_MAX = 1024,
    SESSION_BYTES_MAX = 64 * 1024,
    AS_PROGRAM = 1,
    READ_EACH = 2,
    CUT_IN_HALF = 4,
    REUSE_IDS = 8,
    LAST_IDS = 16,
    REPLAY = 32,
    ONLY_CALLS = 64,
    CANCELLED = 128,
    UPLOADS = FIRST_OUTPUT - 1,
    AGAIN = 1000000,
    OUTPUTS_MAX = 100000,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *count, char ***arguments);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned int seed);

/* The registry of this target: the interpreter alone. */
int bd_driver_count(void)
{
    return 1;
}

const bd_driver *bd_driver_at(int index)
{
    return index == 0 ? &bd_ref_driver : NULL;
}

const bd_driver *bd_driver_find(const char *name)
{
    return strcmp(name, bd_ref_driver.name) == 0 ? &bd_ref_driver : NULL;
}

/* ---- the engine ---- */

static struct fuzz_state {
    bd_engine *engine;
    uint64_t session;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool woken;
} state = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void wake(void *user)
{
    (void)user;
    pthread_mutex_lock(&state.lock);
    state.woken = true;
    pthread_cond_signal(&state.changed);
    pthread_mutex_unlock(&state.lock);
}

/* Takes replies until the session is closed. */
static void drain(void)
{
    for (bool closed = false; !closed;) {
        bd_reply *reply = bd_engine_next_reply(state.engine);
        if (reply) {
            closed = reply->kind == BD_REPLY_SESSION_CLOSED && reply->session == state.session;
            if (reply->kind == BD_REPLY_DATA && !reply->error && !reply->buffer)
                abort();
            bd_reply_destroy(reply);
            continue;
        }
        pthread_mutex_lock(&state.lock);
        while (!state.woken)
            pthread_cond_wait(&state.changed, &state.lock);
        state.woken = false;
        pthread_mutex_unlock(&state.lock);
    }
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count, (void)arguments;
    /* The engine's thread and this one take long turns: side by side they would wake processors. */
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(sched_getcpu(), &here);
    if (sched_setaffinity(0, sizeof here, &here) != 0 ||
        sched_setscheduler(0, SCHED_BATCH, &(struct sched_param){0}) != 0)
        abort();
    bd_engine_options options = {.driver = "ref", .device = {.threads = 1}, .fusion = true,
                                 .session_bytes_max = SESSION_BYTES_MAX, .wake = wake};
    bd_log_set_level(BD_LOG_ERROR);
    bd_error *error = bd_engine_open(&options, &state.engine);
    if (error)
        abort();
    return 0;
}

/* ---- one run ---- */

static bd_request *make(bd_request_kind kind)
{
    static uint64_t request;
    bd_request *made = bd_request_create(kind, state.session);
    made->request = ++request;
    return made;
}

static void upload(uint64_t id, burn_dtype dtype, int rank, int64_t rows, int64_t columns)
{
    bd_request *put = make(BD_REQUEST_PUT);
    put->id = id;
    put->type =
        (burn_tensor_type){.dtype = dtype, .shape = {.rank = rank, .dims = {rows, columns}}};
    size_t size;
    if (burn_shape_check(&put->type.shape, dtype, &size) ||
        bd_engine_upload_buffer(state.engine, state.session, size, &put->buffer))
        abort();
    memset(bd_buffer_bytes(put->buffer), 0, size);
    uint8_t *bytes = bd_buffer_bytes(put->buffer);
    for (size_t i = 0; i < size / burn_dtype_size(dtype); i++) {
        float value = (float)i - 2.5f;
        if (dtype == BURN_F32)
            memcpy(bytes + 4 * i, &value, sizeof value);
        else
            bytes[i * burn_dtype_size(dtype)] = (uint8_t)(i % 2);
    }
    bd_engine_post(state.engine, put);
}

static void post_records(bd_request_kind kind, const uint8_t *bytes, size_t size,
                         uint64_t first_output)
{
    bd_request *request = make(kind);
    request->first_output = first_output;
    request->first_op_index = 1;
    request->program = 1;
    request->program_inputs = kind == BD_REQUEST_PROGRAM_DEFINE ? FIRST_OUTPUT - 1 : 0;
    request->payload = bd_alloc(size ? size : 1);
    request->payload_bytes = size;
    memcpy(request->payload, bytes, size);
    bd_engine_post(state.engine, request);
}

/* Empty, and the same each time: what the target itself allocates is a good part of a run. */
static bd_arena *fresh_arena(void)
{
    static bd_arena arena;
    if (arena.head)
        bd_arena_keep_largest(&arena);
    return &arena;
}

/* How many outputs the records have, up to the first that is wrong; *size_bytes grows by what
 * they take. */
static uint32_t whole_records(const uint8_t *bytes, size_t size, size_t *size_bytes)
{
    bd_arena *arena = fresh_arena();
    const uint8_t *cursor = bytes;
    uint32_t count = 0;
    bd_error *error = NULL;
    while (!error && cursor < bytes + size && count < OUTPUTS_MAX) {
        burn_op_record record;
        error = burn_record_decode(&cursor, bytes + size, AGAIN, arena, &record);
        count += error ? 0 : record.output_count;
    }
    bd_error_free(error);
    *size_bytes += (size_t)(cursor - bytes);
    return count;
}

/* Calls program 1 on the five uploads before first_output. */
static void post_call(uint64_t first_output, uint32_t outputs)
{
    burn_operand inputs[UPLOADS];
    for (uint64_t i = 0; i < UPLOADS; i++)
        inputs[i] = (burn_operand){.kind = BURN_OPERAND_TENSOR, .id = first_output - UPLOADS + i};
    burn_op_record record = {.info = burn_op_find("call"), .inputs = inputs, .input_count = UPLOADS,
                             .first_output = first_output, .output_count = outputs};
    record.attrs[0].value = 1;
    record.attrs[1].value = outputs;
    uint8_t bytes[RECORD_BYTES_MAX];
    post_records(BD_REQUEST_OPS, bytes, burn_record_encode(&record, bytes), first_output);
}

static void upload_five(uint64_t first)
{
    upload(first, BURN_F32, 2, 2, 3);
    upload(first + 1, BURN_I64, 1, 4, 0);
    upload(first + 2, BURN_F32, 0, 0, 0);
    upload(first + 3, BURN_F32, 2, 3, 3);
    upload(first + 4, BURN_BOOL, 2, 2, 3);
}

static void get(uint64_t id)
{
    bd_request *request = make(BD_REQUEST_GET);
    request->id = id;
    bd_engine_post(state.engine, request);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 1)
        return 0;
    uint8_t flags = bytes[0];
    state.session++;
    bd_request *open = make(BD_REQUEST_SESSION_OPEN);
    open->only_calls = flags & ONLY_CALLS;
    bd_engine_post(state.engine, open);
    upload_five(1);
    post_records(BD_REQUEST_OPS, bytes + 1, size - 1, FIRST_OUTPUT);
    if (flags & CANCELLED)
        bd_engine_post(state.engine, make(BD_REQUEST_CANCEL_WORK));
    if (flags & CUT_IN_HALF)
        bd_engine_post(state.engine, make(BD_REQUEST_SYNC));
    for (uint64_t id = FIRST_OUTPUT; (flags & READ_EACH) && id < FIRST_OUTPUT + 8; id++)
        get(id);
    /* The same again, replayed where nothing has failed; then as a program. */
    if (flags & REPLAY) {
        upload_five(AGAIN);
        post_records(BD_REQUEST_OPS, bytes + 1, size - 1, AGAIN + UPLOADS);
    }
    if (flags & AS_PROGRAM) {
        post_records(BD_REQUEST_PROGRAM_DEFINE, bytes + 1, size - 1, FIRST_OUTPUT);
        upload_five(2 * AGAIN);
        size_t whole = 0;
        post_call(2 * AGAIN + UPLOADS, whole_records(bytes + 1, size - 1, &whole));
    }
    if (flags & REUSE_IDS)
        post_records(BD_REQUEST_OPS, bytes + 1, size - 1, FIRST_OUTPUT);
    if (flags & LAST_IDS)
        post_records(BD_REQUEST_OPS, bytes + 1, size - 1, BURN_ID_MAX - 2);
    bd_engine_post(state.engine, make(BD_REQUEST_SYNC));
    bd_engine_post(state.engine, make(BD_REQUEST_SESSION_CLOSE));
    drain();
    return 0;
}

/* ---- the mutator ---- */

typedef struct dice {
    uint32_t state;
} dice;

static uint32_t roll(dice *dice, uint32_t sides)
{
    dice->state = dice->state * 1664525u + 1013904223u;
    return (dice->state >> 8) % sides;
}

static burn_operand random_operand(dice *dice, uint64_t first_output)
{
    switch (roll(dice, 8)) {
    case 0:
        return (burn_operand){.kind = BURN_OPERAND_FLOAT, .f = (double)roll(dice, 9) / 2 - 2};
    case 1:
        return (burn_operand){.kind = BURN_OPERAND_INT, .i = (int64_t)roll(dice, 5) - 1};
    case 2:
        return (burn_operand){.kind = BURN_OPERAND_BOOL, .i = roll(dice, 2)};
    case 3:
        return (burn_operand){.kind = BURN_OPERAND_TENSOR,
                              .id = first_output - 1 - roll(dice, (uint32_t)first_output - 1)};
    default: {
        uint32_t near = (uint32_t)first_output - 1 < 3 ? (uint32_t)first_output - 1 : 3;
        return (burn_operand){.kind = BURN_OPERAND_TENSOR,
                              .id = first_output - 1 - roll(dice, near)};
    }
    }
}

/* Mostly one that suits the role. */
static burn_operand random_input(dice *dice, burn_input_role role, uint64_t first_output)
{
    if (role == BURN_INPUT_VALUE || roll(dice, 4) == 0)
        return random_operand(dice, first_output);
    if (role == BURN_INPUT_INDEX || role == BURN_INPUT_CONDITION)
        return (burn_operand){.kind = BURN_OPERAND_TENSOR, .id = role == BURN_INPUT_INDEX ? 2 : 5};
    if (role == BURN_INPUT_NUMBER)
        return (burn_operand){.kind = BURN_OPERAND_INT, .i = (int64_t)roll(dice, 5) - 1};
    return (burn_operand){.kind = BURN_OPERAND_FLOAT, .f = (double)roll(dice, 9) / 8};
}

static void random_attr(dice *dice, const burn_attr_info *info, bd_arena *arena, burn_attr *out)
{
    if (info->has_default && roll(dice, 2)) {
        out->value = info->default_value;
        return;
    }
    uint32_t count = roll(dice, 4);
    int64_t *values = BD_ARENA_ARRAY(arena, int64_t, count + 1);
    for (uint32_t i = 0; i < count; i++)
        values[i] = (int64_t)roll(dice, 8) - 2;
    switch (info->kind) {
    case BURN_ATTR_INT:
    case BURN_ATTR_SIZE:
        out->value = (int64_t)roll(dice, 8) - 2;
        break;
    case BURN_ATTR_DTYPE:
        out->value = roll(dice, 14);
        break;
    case BURN_ATTR_INTS:
    case BURN_ATTR_SIZES:
        out->values = values;
        out->count = count;
        break;
    case BURN_ATTR_BYTES:
        out->bytes = (const uint8_t *)values;
        out->count = count * 8;
        break;
    }
}

static size_t random_record(dice *dice, uint64_t first_output, uint8_t *bytes, size_t room)
{
    const burn_op_info *info;
    do
        info = burn_op_at((int)roll(dice, (uint32_t)burn_op_count()));
    while (info->flags & BURN_OP_INTERNAL);
    bd_arena *arena = fresh_arena();
    bool variadic = info->flags & BURN_OP_VARIADIC;
    burn_op_record record = {
        .info = info, .first_output = first_output, .flags = (uint8_t)roll(dice, 2)};
    record.input_count = variadic ? info->input_count - 1 + roll(dice, 4) : info->input_count;
    burn_operand *inputs = BD_ARENA_ARRAY(arena, burn_operand, record.input_count + 1);
    for (uint32_t i = 0; i < record.input_count; i++) {
        inputs[i] = i > 0 && roll(dice, 2)
                        ? inputs[i - 1]
                        : random_input(dice, burn_op_input_role(info, i), first_output);
        if (i < info->input_count && (info->input_optional >> i & 1) && roll(dice, 2))
            inputs[i] = (burn_operand){.kind = BURN_OPERAND_ABSENT};
    }
    record.inputs = inputs;
    for (int i = 0; i < info->attr_count; i++)
        random_attr(dice, &info->attrs[i], arena, &record.attrs[i]);
    size_t size = burn_record_bound(&record);
    if (size > room)
        size = 0;
    else
        burn_record_encode(&record, bytes);
    return size;
}

/* The sum of the last tensor and gradients of it. */
static size_t gradient_records(dice *dice, uint64_t first_output, uint8_t *bytes, size_t room)
{
    burn_operand last = {.kind = BURN_OPERAND_TENSOR, .id = first_output - 1};
    burn_op_record sum = {.info = burn_op_find("sum"),
                          .flags = BURN_RECORD_TRACK,
                          .inputs = &last,
                          .input_count = 1,
                          .first_output = first_output,
                          .output_count = 1};
    burn_operand inputs[4] = {{.kind = BURN_OPERAND_TENSOR, .id = first_output},
                              {.kind = BURN_OPERAND_ABSENT}};
    for (int i = 2; i < 4; i++)
        inputs[i] = (burn_operand){.kind = BURN_OPERAND_TENSOR,
                                   .id = roll(dice, 2) ? 1 + roll(dice, UPLOADS)
                                                       : first_output - 1 - roll(dice, UPLOADS)};
    burn_op_record grad = {.info = burn_op_find("grad"),
                           .flags = (uint8_t)roll(dice, 2),
                           .inputs = inputs,
                           .input_count = 3 + roll(dice, 2),
                           .first_output = first_output + 1};
    grad.attrs[0].value = 1;
    grad.output_count = grad.input_count - 2;
    size_t size = burn_record_bound(&sum) + burn_record_bound(&grad);
    if (size > room)
        return 0;
    burn_record_encode(&grad, bytes + burn_record_encode(&sum, bytes));
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max_size, unsigned int seed)
{
    dice dice = {seed};
    if (size > 0 && roll(&dice, 8) == 0)
        bytes[0] ^= (uint8_t)(1 << roll(&dice, 8));
    if (size < 2 || roll(&dice, 4) == 0)
        size = LLVMFuzzerMutate(bytes, size, max_size);
    if (size < 1 || roll(&dice, 4) == 0)
        return size;
    /* Behind the records that are whole. */
    size_t whole = 1;
    uint64_t next = FIRST_OUTPUT;
    next += whole_records(bytes + 1, size - 1, &whole);
    for (uint32_t more = 1 + roll(&dice, 4); more > 0; more--) {
        size_t room = max_size - whole < RECORD_BYTES_MAX ? max_size - whole : RECORD_BYTES_MAX,
               added = 0;
        size_t wanted = roll(&dice, 6) ? random_record(&dice, next, bytes + whole, room)
                                       : gradient_records(&dice, next, bytes + whole, room);
        next += whole_records(bytes + whole, wanted, &added);
        whole += wanted;
    }
    return whole;
}
