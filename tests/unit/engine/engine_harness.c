/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/engine/engine_harness.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/map.h"
#include "proto/base/vec.h"

/* What the client side of a session keeps. */
typedef struct harness_client {
    uint64_t number;
    uint64_t next_id, next_op, next_request;
    BD_VEC(uint8_t) batch;
    uint64_t batch_first_id, batch_first_op;
    bool in_program;
    uint32_t program_inputs;
    uint64_t saved_next_id, saved_next_op;
} harness_client;

struct harness {
    bd_engine *engine;
    pthread_mutex_t lock;
    pthread_cond_t woken;
    uint64_t wakes;
    bd_map clients;
    harness_client *client;
};

const char *harness_driver(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], "-d") == 0)
            return argv[i + 1];
    const char *name = getenv("BURN_TEST_DRIVER");
    return name && *name ? name : "ref";
}

static void wake(void *user)
{
    harness *h = user;
    pthread_mutex_lock(&h->lock);
    h->wakes++;
    pthread_cond_signal(&h->woken);
    pthread_mutex_unlock(&h->lock);
}

/* Not Check's assertions: the fuzzer and benchmarks use the harness too. */
static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "harness: %s\n", what);
    abort();
}

static void must(bd_error *error)
{
    expect(!error, bd_error_text(error));
}

harness *harness_open_with(const harness_options *options)
{
    harness *h = bd_alloc_zeroed(sizeof *h);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->woken, NULL);
    bd_engine_options engine_options = {
        .driver = options->driver,
        .device = {.threads = options->threads ? options->threads : 2,
                   .cache_path = options->cache_path,
                   .cache_bytes_max = 64 << 20,
                   .compile_never = options->compile_never},
        .fusion = !options->unfused,
        .memory_bytes_max = options->memory_bytes_max,
        .session_bytes_max = options->session_bytes_max,
        .wake = wake,
        .wake_user = h,
    };
    must(bd_engine_open(&engine_options, &h->engine));
    harness_session(h, 1);
    return h;
}

harness *harness_open(const char *driver, bool fusion)
{
    return harness_open_with(&(harness_options){.driver = driver, .unfused = !fusion});
}

void harness_close(harness *h)
{
    uint64_t number;
    void *value;
    for (size_t cursor = 0; bd_map_next(&h->clients, &cursor, &number, &value);) {
        harness_client *client = value;
        bd_vec_deinit(&client->batch);
        bd_free(client);
    }
    bd_map_deinit(&h->clients);
    bd_engine_close(h->engine);
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->woken);
    bd_free(h);
}

bd_engine *harness_engine(harness *h)
{
    return h->engine;
}

void harness_session(harness *h, uint64_t session)
{
    if (h->client)
        flush(h);
    h->client = bd_map_get(&h->clients, session);
    if (h->client)
        return;
    harness_client *client = bd_alloc_zeroed(sizeof *client);
    client->number = session;
    client->next_id = client->next_op = client->next_request = 1;
    bd_map_put(&h->clients, session, client);
    h->client = client;
    bd_engine_post(h->engine, bd_request_create(BD_REQUEST_SESSION_OPEN, session));
}

/* Waits for the reply of a kind and number; others are dropped. */
static bd_reply *await(harness *h, bd_reply_kind kind, uint64_t request)
{
    for (;;) {
        pthread_mutex_lock(&h->lock);
        uint64_t seen = h->wakes;
        pthread_mutex_unlock(&h->lock);
        for (bd_reply *reply; (reply = bd_engine_next_reply(h->engine));) {
            if (reply->kind == kind && reply->request == request &&
                reply->session == h->client->number)
                return reply;
            bd_reply_destroy(reply);
        }
        pthread_mutex_lock(&h->lock);
        while (h->wakes == seen)
            pthread_cond_wait(&h->woken, &h->lock);
        pthread_mutex_unlock(&h->lock);
    }
}

void harness_end_session(harness *h)
{
    flush(h);
    harness_client *client = h->client;
    bd_engine_post(h->engine, bd_request_create(BD_REQUEST_SESSION_CLOSE, client->number));
    bd_reply_destroy(await(h, BD_REPLY_SESSION_CLOSED, 0));
    bd_map_remove(&h->clients, client->number);
    bd_vec_deinit(&client->batch);
    bd_free(client);
    h->client = NULL;
}

/* ---- records ---- */

static void begin_batch(harness_client *client)
{
    if (client->batch.count)
        return;
    client->batch_first_id = client->next_id;
    client->batch_first_op = client->next_op;
}

static uint64_t record(harness *h, burn_op number, uint8_t flags, uint32_t input_count,
                       const burn_operand *inputs, uint32_t attr_count, const burn_attr *attrs)
{
    harness_client *client = h->client;
    burn_op_record record = {.info = burn_op_lookup((int)number),
                             .flags = flags,
                             .input_count = input_count,
                             .inputs = inputs};
    expect(record.info != NULL, "the op is not in the table");
    burn_operand padded[BURN_OP_INPUTS_NAMED_MAX] = {0};
    if (!(record.info->flags & BURN_OP_VARIADIC) && input_count < record.info->input_count) {
        for (uint32_t i = 0; i < input_count; i++)
            padded[i] = inputs[i];
        record.inputs = padded;
        record.input_count = record.info->input_count;
    }
    for (uint32_t i = 0; i < record.info->attr_count; i++)
        record.attrs[i] =
            i < attr_count ? attrs[i] : (burn_attr){.value = record.info->attrs[i].default_value};
    record.first_output = client->next_id;
    record.output_count = burn_op_output_count(&record);
    begin_batch(client);
    size_t bound = burn_record_bound(&record);
    bd_vec_reserve(&client->batch, client->batch.count + bound);
    client->batch.count += burn_record_encode(&record, client->batch.items + client->batch.count);
    client->next_id += record.output_count;
    client->next_op++;
    if (!client->in_program && client->batch.count > 64 * 1024)
        flush(h);
    return record.first_output;
}

uint64_t op(harness *h, burn_op number, uint32_t input_count, const burn_operand *inputs,
            uint32_t attr_count, const burn_attr *attrs)
{
    return record(h, number, 0, input_count, inputs, attr_count, attrs);
}

uint64_t op_tracked(harness *h, burn_op number, uint32_t input_count, const burn_operand *inputs,
                    uint32_t attr_count, const burn_attr *attrs)
{
    return record(h, number, BURN_RECORD_TRACK, input_count, inputs, attr_count, attrs);
}

uint64_t op1(harness *h, burn_op number, burn_operand a)
{
    return op(h, number, 1, &a, 0, NULL);
}

uint64_t op2(harness *h, burn_op number, burn_operand a, burn_operand b)
{
    return op(h, number, 2, (burn_operand[]){a, b}, 0, NULL);
}

void free_tensor(harness *h, uint64_t id)
{
    op(h, BURN_OP_FREE, 1, &T(id), 0, NULL);
}

void mark(harness *h)
{
    op(h, BURN_OP_MARK, 0, NULL, 0, NULL);
}

uint64_t grad(harness *h, uint64_t root, uint32_t count, const uint64_t *wrt)
{
    burn_operand *inputs = bd_alloc_zeroed((count + 2) * sizeof *inputs);
    inputs[0] = T(root);
    for (uint32_t i = 0; i < count; i++)
        inputs[i + 2] = T(wrt[i]);
    uint64_t first = op(h, BURN_OP_GRAD, count + 2, inputs, 1, &A(1));
    bd_free(inputs);
    return first;
}

uint64_t next_id(const harness *h)
{
    return h->client->next_id;
}

void skip_ids(harness *h, uint64_t count)
{
    flush(h);
    h->client->next_id += count;
}

static void post_ops(harness *h, uint8_t *own_payload, size_t size_bytes, uint64_t first_id,
                     uint64_t first_op)
{
    bd_request *request = bd_request_create(BD_REQUEST_OPS, h->client->number);
    request->payload = own_payload;
    request->payload_bytes = size_bytes;
    request->first_output = first_id;
    request->first_op_index = first_op;
    request->credit_bytes = size_bytes;
    bd_engine_post(h->engine, request);
}

void flush(harness *h)
{
    harness_client *client = h->client;
    if (!client->batch.count || client->in_program)
        return;
    uint8_t *payload = bd_alloc(client->batch.count);
    memcpy(payload, client->batch.items, client->batch.count);
    post_ops(h, payload, client->batch.count, client->batch_first_id, client->batch_first_op);
    bd_vec_clear(&client->batch);
}

void send_bytes(harness *h, const uint8_t *bytes, size_t size_bytes, uint64_t first_output)
{
    flush(h);
    uint8_t *payload = bd_alloc(size_bytes + 1);
    memcpy(payload, bytes, size_bytes);
    post_ops(h, payload, size_bytes, first_output, h->client->next_op++);
}

/* ---- programs ---- */

void program_begin(harness *h, uint32_t inputs, uint64_t *out_first_input)
{
    flush(h);
    harness_client *client = h->client;
    client->in_program = true;
    client->program_inputs = inputs;
    client->saved_next_id = client->next_id;
    client->saved_next_op = client->next_op;
    client->next_id = 1 + inputs;
    *out_first_input = 1;
}

bd_error *program_end(harness *h, uint64_t program)
{
    harness_client *client = h->client;
    bd_request *request = bd_request_create(BD_REQUEST_PROGRAM_DEFINE, client->number);
    request->request = client->next_request++;
    request->program = program;
    request->program_inputs = client->program_inputs;
    request->first_output = 1 + client->program_inputs;
    request->payload = bd_alloc(client->batch.count + 1);
    if (client->batch.count)
        memcpy(request->payload, client->batch.items, client->batch.count);
    request->payload_bytes = client->batch.count;
    strcpy(request->name, "test");
    bd_vec_clear(&client->batch);
    client->in_program = false;
    client->next_id = client->saved_next_id;
    client->next_op = client->saved_next_op;
    uint64_t number = request->request;
    bd_engine_post(h->engine, request);
    bd_reply *reply = await(h, BD_REPLY_DONE, number);
    bd_error *error = reply->error;
    reply->error = NULL;
    bd_reply_destroy(reply);
    return error;
}

uint64_t call(harness *h, uint64_t program, uint32_t input_count, const burn_operand *inputs,
              uint32_t output_count)
{
    return op(h, BURN_OP_CALL, input_count, inputs, 2,
              (burn_attr[]){A((int64_t)program), A(output_count)});
}

/* ---- data ---- */

uint64_t put(harness *h, burn_dtype dtype, int32_t rank, const int64_t *dims, const void *bytes)
{
    flush(h);
    harness_client *client = h->client;
    bd_request *request = bd_request_create(BD_REQUEST_PUT, client->number);
    request->id = client->next_id++;
    request->type.dtype = dtype;
    request->type.shape.rank = rank;
    size_t size_bytes = burn_dtype_size(dtype);
    for (int32_t i = 0; i < rank; i++) {
        request->type.shape.dims[i] = dims[i];
        size_bytes *= (size_t)dims[i];
    }
    request->error =
        bd_engine_upload_buffer(h->engine, client->number, size_bytes, &request->buffer);
    if (!request->error && size_bytes)
        memcpy(bd_buffer_bytes(request->buffer), bytes, size_bytes);
    uint64_t id = request->id;
    bd_engine_post(h->engine, request);
    return id;
}

uint64_t put_f32(harness *h, const float *values, int32_t rank, const int64_t *dims)
{
    return put(h, BURN_F32, rank, dims, values);
}

uint64_t put_i64(harness *h, const int64_t *values, int32_t rank, const int64_t *dims)
{
    return put(h, BURN_I64, rank, dims, values);
}

bd_error *get(harness *h, uint64_t id, void *bytes, size_t size_bytes, burn_tensor_type *out_type)
{
    flush(h);
    harness_client *client = h->client;
    bd_request *request = bd_request_create(BD_REQUEST_GET, client->number);
    request->request = client->next_request++;
    request->id = id;
    uint64_t number = request->request;
    bd_engine_post(h->engine, request);
    bd_reply *reply = await(h, BD_REPLY_DATA, number);
    bd_error *error = reply->error;
    reply->error = NULL;
    if (!error) {
        size_t held = bd_buffer_size(reply->buffer) - reply->offset_bytes;
        if (size_bytes)
            memcpy(bytes, (const char *)bd_buffer_bytes(reply->buffer) + reply->offset_bytes,
                   size_bytes < held ? size_bytes : held);
        if (out_type)
            *out_type = reply->type;
    }
    bd_reply_destroy(reply);
    return error;
}

static void get_typed(harness *h, uint64_t id, burn_dtype dtype, void *out, size_t count)
{
    burn_tensor_type type = {0};
    must(get(h, id, out, count * burn_dtype_size(dtype), &type));
    expect(type.dtype == dtype, "the dtype is another one");
    expect(burn_shape_elements(&type.shape) == (int64_t)count, "the count of elements differs");
}

void get_f32(harness *h, uint64_t id, float *out, size_t count)
{
    get_typed(h, id, BURN_F32, out, count);
}

void get_i64(harness *h, uint64_t id, int64_t *out, size_t count)
{
    get_typed(h, id, BURN_I64, out, count);
}

bd_error *sync_now(harness *h)
{
    flush(h);
    bd_request *request = bd_request_create(BD_REQUEST_SYNC, h->client->number);
    request->request = h->client->next_request++;
    uint64_t number = request->request;
    bd_engine_post(h->engine, request);
    bd_reply *reply = await(h, BD_REPLY_SYNCED, number);
    bd_error *error = reply->error;
    reply->error = NULL;
    bd_reply_destroy(reply);
    return error;
}

bd_engine_stats harness_stats(harness *h)
{
    bd_engine_stats stats;
    bd_engine_get_stats(h->engine, &stats);
    return stats;
}
