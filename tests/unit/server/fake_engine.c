/* SPDX-License-Identifier: Apache-2.0
 * An engine for tests of the server alone: it keeps uploads and gives them back, knows no ops, and
 * answers on a thread of its own as the real one does. Programs and op batches are taken up and
 * dropped; a batch whose payload begins with 0xFF fails with INVALID. FAKE_SLOW_MS delays a
 * SYNC. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine.h"
#include "engine/mailbox.h"
#include "proto/base/alloc.h"
#include "proto/base/map.h"

struct bd_buffer {
    atomic_int count;
    size_t size;
    bd_engine *engine;
    void *bytes;
};

typedef struct fake_tensor {
    burn_tensor_type type;
    bd_buffer *buffer;
    bd_error *error;
} fake_tensor;

typedef struct fake_session {
    bd_map tensors;
    bd_error *first_error;
} fake_session;

struct bd_engine {
    bd_engine_options options;
    pthread_t thread;
    bd_mailbox *down, *up;
    bd_map sessions;
    atomic_llong device_bytes, tensor_count, session_count, op_count;
};

/* A request or a reply on its way. */
typedef struct parcel {
    bd_letter letter;
    void *content;
} parcel;

static void send_parcel(bd_mailbox *box, void *content)
{
    parcel *made = bd_alloc_zeroed(sizeof *made);
    made->content = content;
    bd_mailbox_push(box, &made->letter);
}

/* What lay in the parcel; NULL for none. */
static void *unwrap(bd_letter *own_letter)
{
    parcel *got = (parcel *)own_letter;
    void *content = got ? got->content : NULL;
    bd_free(got);
    return content;
}

static void reply(bd_engine *engine, bd_reply_kind kind, const bd_request *request, bd_error *error,
                  const fake_tensor *tensor)
{
    bd_reply *made = bd_alloc_zeroed(sizeof *made);
    made->kind = kind;
    made->session = request->session;
    made->request = request->request;
    made->credit_bytes = request->credit_bytes;
    made->error = error;
    if (tensor) {
        made->type = tensor->type;
        made->buffer = bd_buffer_retain(tensor->buffer);
    }
    send_parcel(engine->up, made);
    engine->options.wake(engine->options.wake_user);
}

static void note_error(fake_session *session, bd_error *own_error)
{
    if (session->first_error)
        bd_error_free(own_error);
    else
        session->first_error = own_error;
}

static void drop_session(bd_engine *engine, uint64_t number)
{
    fake_session *session = bd_map_remove(&engine->sessions, number);
    size_t cursor = 0;
    uint64_t id;
    void *value;
    while (session && bd_map_next(&session->tensors, &cursor, &id, &value)) {
        fake_tensor *tensor = value;
        if (tensor->buffer)
            bd_buffer_release(tensor->buffer);
        bd_error_free(tensor->error);
        bd_free(tensor);
        atomic_fetch_sub(&engine->tensor_count, 1);
    }
    if (session) {
        bd_map_deinit(&session->tensors);
        bd_error_free(session->first_error);
        bd_free(session);
        atomic_fetch_sub(&engine->session_count, 1);
    }
}

static void put(bd_engine *engine, fake_session *session, bd_request *request)
{
    if (bd_map_get(&session->tensors, request->id)) {
        note_error(session, BD_ERROR(CONFLICT, "id reused"));
        return;
    }
    fake_tensor *tensor = bd_alloc_zeroed(sizeof *tensor);
    tensor->type = request->type;
    tensor->buffer = request->buffer;
    tensor->error = bd_error_retain(request->error);
    if (request->error)
        note_error(session, bd_error_retain(request->error));
    request->buffer = NULL;
    bd_map_put(&session->tensors, request->id, tensor);
    atomic_fetch_add(&engine->tensor_count, 1);
}

static void get(bd_engine *engine, fake_session *session, const bd_request *request)
{
    fake_tensor *tensor = bd_map_get(&session->tensors, request->id);
    bd_error *error = NULL;
    if (!tensor)
        error = BD_ERROR(NOT_FOUND, "tensor unknown");
    else if (tensor->error)
        error = bd_error_retain(tensor->error);
    reply(engine, BD_REPLY_DATA, request, error, error ? NULL : tensor);
}

static void handle(bd_engine *engine, bd_request *request)
{
    fake_session *session = bd_map_get(&engine->sessions, request->session);
    const char *slow = getenv("FAKE_SLOW_MS");
    if (request->kind == BD_REQUEST_PROBE)
        reply(engine, BD_REPLY_PROBED, request, NULL, NULL);
    if (!session && request->kind != BD_REQUEST_SESSION_OPEN)
        return;
    switch (request->kind) {
    case BD_REQUEST_SESSION_OPEN:
        bd_map_put(&engine->sessions, request->session, bd_alloc_zeroed(sizeof(fake_session)));
        atomic_fetch_add(&engine->session_count, 1);
        break;
    case BD_REQUEST_SESSION_CLOSE:
        drop_session(engine, request->session);
        reply(engine, BD_REPLY_SESSION_CLOSED, request, NULL, NULL);
        break;
    case BD_REQUEST_OPS:
        if (request->payload_bytes && request->payload[0] == 0xFF) {
            bd_error *error = BD_ERROR(INVALID, "no such op");
            bd_error_set_op_index(error, request->first_op_index);
            note_error(session, error);
        }
        atomic_fetch_add(&engine->op_count, 1);
        reply(engine, BD_REPLY_CREDIT, request, NULL, NULL);
        break;
    case BD_REQUEST_PUT:
        put(engine, session, request);
        break;
    case BD_REQUEST_GET:
        get(engine, session, request);
        break;
    case BD_REQUEST_SYNC:
        if (slow)
            usleep((useconds_t)atoi(slow) * 1000);
        reply(engine, BD_REPLY_SYNCED, request, session->first_error, NULL);
        session->first_error = NULL;
        break;
    case BD_REQUEST_PROGRAM_DEFINE:
    case BD_REQUEST_PROGRAM_DROP:
    case BD_REQUEST_EXPORT:
    case BD_REQUEST_EXPORT_PROGRAM:
    case BD_REQUEST_UNEXPORT:
        reply(engine, BD_REPLY_DONE, request, NULL, NULL);
        break;
    case BD_REQUEST_IMPORT:
    case BD_REQUEST_IMPORT_PROGRAM:
    case BD_REQUEST_LIST_NAMES:
        reply(engine, BD_REPLY_IMPORTED, request, BD_ERROR(NOT_FOUND, "no names here"), NULL);
        break;
    case BD_REQUEST_PROBE:
    case BD_REQUEST_CANCEL:
    case BD_REQUEST_CANCEL_WORK:
        break;
    }
}

static void *run(void *user)
{
    bd_engine *engine = user;
    for (bd_request *request; (request = unwrap(bd_mailbox_wait(engine->down)));) {
        handle(engine, request);
        bd_request_destroy(request);
    }
    return NULL;
}

bd_error *bd_engine_open(const bd_engine_options *options, bd_engine **out)
{
    bd_engine *engine = bd_alloc_zeroed(sizeof *engine);
    engine->options = *options;
    engine->down = bd_mailbox_create();
    engine->up = bd_mailbox_create();
    if (pthread_create(&engine->thread, NULL, run, engine) != 0)
        BD_FAIL(INTERNAL, "no thread");
    *out = engine;
    return NULL;
}

void bd_engine_close(bd_engine *engine)
{
    bd_mailbox_close(engine->down);
    pthread_join(engine->thread, NULL);
    size_t cursor = 0;
    uint64_t number;
    void *value;
    while (cursor = 0, bd_map_next(&engine->sessions, &cursor, &number, &value))
        drop_session(engine, number);
    for (bd_reply *left; (left = bd_engine_next_reply(engine));)
        bd_reply_destroy(left);
    bd_map_deinit(&engine->sessions);
    bd_mailbox_destroy(engine->down);
    bd_mailbox_destroy(engine->up);
    bd_free(engine);
}

bd_error *bd_engine_upload_buffer(bd_engine *engine, uint64_t session, size_t size_bytes,
                                  bd_buffer **out)
{
    (void)session;
    if (engine->options.session_bytes_max && size_bytes > engine->options.session_bytes_max)
        BD_FAIL(LIMIT, "%zu bytes are more than the session may have", size_bytes);
    bd_buffer *buffer = bd_alloc_zeroed(sizeof *buffer);
    atomic_init(&buffer->count, 1);
    buffer->size = size_bytes;
    buffer->engine = engine;
    buffer->bytes = bd_try_alloc(size_bytes + 1);
    if (!buffer->bytes) {
        bd_free(buffer);
        BD_FAIL(NO_MEMORY, "no memory for %zu bytes", size_bytes);
    }
    atomic_fetch_add(&engine->device_bytes, (long long)size_bytes);
    *out = buffer;
    return NULL;
}

void *bd_buffer_bytes(bd_buffer *buffer)
{
    return buffer->bytes;
}

size_t bd_buffer_size(const bd_buffer *buffer)
{
    return buffer->size;
}

bd_buffer *bd_buffer_retain(bd_buffer *buffer)
{
    atomic_fetch_add(&buffer->count, 1);
    return buffer;
}

void bd_buffer_release(bd_buffer *buffer)
{
    if (atomic_fetch_sub(&buffer->count, 1) != 1)
        return;
    atomic_fetch_sub(&buffer->engine->device_bytes, (long long)buffer->size);
    bd_free(buffer->bytes);
    bd_free(buffer);
}

bd_request *bd_request_create(bd_request_kind kind, uint64_t session)
{
    bd_request *request = bd_alloc_zeroed(sizeof *request);
    request->kind = kind;
    request->session = session;
    return request;
}

void bd_request_destroy(bd_request *request)
{
    if (request->buffer)
        bd_buffer_release(request->buffer);
    bd_error_free(request->error);
    bd_free(request->payload);
    bd_free(request);
}

void bd_engine_post(bd_engine *engine, bd_request *own_request)
{
    send_parcel(engine->down, own_request);
}

bd_reply *bd_engine_next_reply(bd_engine *engine)
{
    return unwrap(bd_mailbox_take(engine->up));
}

void bd_reply_destroy(bd_reply *made)
{
    if (made->buffer)
        bd_buffer_release(made->buffer);
    bd_error_free(made->error);
    bd_free(made);
}

void bd_engine_get_stats(bd_engine *engine, bd_engine_stats *out)
{
    *out = (bd_engine_stats){.device_bytes = (uint64_t)atomic_load(&engine->device_bytes),
                             .tensors = (uint64_t)atomic_load(&engine->tensor_count),
                             .sessions = (uint64_t)atomic_load(&engine->session_count),
                             .ops = (uint64_t)atomic_load(&engine->op_count)};
}

void bd_engine_describe(bd_engine *engine, bd_device_facts *out)
{
    (void)engine;
    *out = (bd_device_facts){.name = "fake", .detail = "for tests", .threads = 1};
}

bool bd_engine_session_stats(bd_engine *engine, uint64_t session, bd_session_gauges *out)
{
    (void)engine, (void)session;
    *out = (bd_session_gauges){0};
    return true;
}

char *bd_engine_kernels_json(bd_engine *engine)
{
    (void)engine;
    return bd_strdup("[]");
}
