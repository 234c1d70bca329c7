/* SPDX-License-Identifier: Apache-2.0 */
#include "server/session.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/clock.h"
#include "proto/base/log.h"
#include "proto/base/utf8.h"
#include "proto/ops.h"
#include "server/admin.h"
#include "server/connection.h"
#include "server/leases.h"
#include "server/net.h"
#include "server/sharing.h"
#include "server/report.h"
#include "server/tls.h"
#include "server/transfer.h"

enum { IDLE_MS_MIN = 1000 };

static bd_error *spend(bd_session *session, uint64_t cost);
static bd_error *hello(bd_connection *connection, const struct bd_message_hello *hello);
static bd_error *dispatch(bd_connection *connection, const bd_message *message,
                          const bd_frame *frame, uint8_t **out_payload);
static void cancel(bd_connection *connection, uint64_t request);

static void post(bd_connection *connection, bd_request *own_request)
{
    bd_engine_post(connection->daemon->engine, own_request);
}

static void answer_error(bd_connection *connection, uint64_t request, const bd_error *error)
{
    bd_code code = bd_error_code(error);
    bd_log(BD_LOG_DEBUG, "session",
           "failed session=%" PRIu64 " request=%" PRIu64 " code=%s at=%s:%d",
           connection->session.number, request, bd_code_name(code), bd_error_file(error),
           bd_error_line(error));
    bd_connection_send(connection, &(bd_message){.type = BD_MESSAGE_ERROR,
                                                 .error = {.request = request,
                                                           .code = (uint64_t)code,
                                                           .text = bd_text_of(bd_error_text(error)),
                                                           .op_index = bd_error_op_index(error),
                                                           .retryable = bd_code_retryable(code)}});
}

void bd_session_answer_failure(bd_connection *connection, uint64_t request, bd_error *own_error)
{
    answer_error(connection, request, own_error);
    bd_error_free(own_error);
}

void bd_session_return_credit(bd_connection *connection, uint64_t bytes)
{
    bd_session *session = &connection->session;
    session->returned_bytes += bytes;
    if (session->returned_bytes < session->window_bytes / 4)
        return;
    session->credit_bytes += session->returned_bytes;
    bd_connection_send(connection, &(bd_message){.type = BD_MESSAGE_CREDIT,
                                                 .credit.bytes = session->returned_bytes});
    session->returned_bytes = 0;
}

bd_error *bd_session_message(bd_connection *connection, const bd_message *message,
                             const bd_frame *frame, uint8_t **out_payload)
{
    bd_session *session = &connection->session;
    session->frame_cost = bd_frame_cost(frame);
    if (message->type == BD_MESSAGE_PUT_REGION) {
        if (message->put_region.bytes > BURN_CHUNK_BYTES_MAX)
            BD_FAIL(PROTOCOL, "PUT_REGION: %" PRIu64 " bytes are above the limit of %d",
                    message->put_region.bytes, BURN_CHUNK_BYTES_MAX);
        session->frame_cost += message->put_region.bytes;
    }
    if (bd_message_lookup(message->type)->spends_credit) {
        BD_TRY(spend(session, session->frame_cost));
        session->worked_ms = bd_daemon_now_ms(connection->daemon);
    }
    uint64_t request;
    bd_error *denied = bd_principal_may(&session->principal, message, &request);
    if (denied) {
        connection->daemon->access.refused[BD_REFUSAL_LACKING_SCOPE]++;
        if (!request)
            return denied;
        session->upload = 0; /* the payload is nobody's */
        bd_session_answer_failure(connection, request, denied);
        return frame->payload_bytes ? NULL : bd_session_payload_done(connection);
    }
    return dispatch(connection, message, frame, out_payload);
}

/* Frames that spend no credit are counted instead. The first of a turn is free: who waits for his
 * answers may ask as often as he likes. */
bd_error *bd_connection_count_free_frame(bd_connection *connection)
{
    int64_t second = bd_daemon_now_ms(connection->daemon) / 1000;
    if (connection->free_frames_second != second) {
        connection->free_frames_second = second;
        connection->free_frames = 0;
    }
    if (connection->free_frames_turn++ == 0)
        return NULL;
    if (++connection->free_frames > BURN_FREE_FRAMES_MAX)
        BD_FAIL(PROTOCOL, "more than %d frames that cost no credit came within a second",
                BURN_FREE_FRAMES_MAX);
    return NULL;
}

static bd_error *spend(bd_session *session, uint64_t cost)
{
    if (cost > session->credit_bytes)
        BD_FAIL(PROTOCOL, "credit overrun: a frame costs %" PRIu64 ", %" PRIu64 " are left", cost,
                session->credit_bytes);
    session->credit_bytes -= cost;
    return NULL;
}

static void report(bd_connection *connection, uint64_t request, bd_message_type type)
{
    size_t size;
    char *text = bd_report(connection, type, &size);
    if (size > BURN_REPORT_BYTES_MAX) {
        bd_session_answer_failure(connection, request,
                                  BD_ERROR(LIMIT, "the report has %zu bytes, %d are the limit",
                                           size, BURN_REPORT_BYTES_MAX));
    } else {
        bd_message message = {.type = BD_MESSAGE_REPORT, .report.request = request};
        bd_connection_send_payload(connection, &message, text, size);
    }
    bd_free(text);
    bd_session_return_credit(connection, connection->session.frame_cost);
}

static void ask_engine(bd_connection *connection, const bd_message *message)
{
    bd_request_kind kind = message->type == BD_MESSAGE_GET    ? BD_REQUEST_GET
                           : message->type == BD_MESSAGE_SYNC ? BD_REQUEST_SYNC
                                                              : BD_REQUEST_PROGRAM_DROP;
    bd_request *request = bd_request_create(kind, connection->session.number);
    request->request = message->get.request; /* all have it first */
    if (kind == BD_REQUEST_GET)
        request->id = message->get.id;
    if (kind == BD_REQUEST_PROGRAM_DROP)
        request->program = message->program_drop.program;
    bd_session_ask(connection, request);
}

/* What concerns the connection alone. */
static bd_error *keep_up(bd_connection *connection, const bd_message *message)
{
    bd_message pong = {.type = BD_MESSAGE_PONG, .pong.token = message->ping.token};
    if (message->type == BD_MESSAGE_PING)
        bd_connection_send(connection, &pong);
    if (message->type == BD_MESSAGE_RECEIVED) {
        bd_connection_touch(connection); /* downloads may go on */
        return bd_outbox_acknowledge(&connection->outbox, message->received.bytes);
    }
    if (message->type == BD_MESSAGE_BYE)
        connection->session.resume.is_on = false;
    if (message->type == BD_MESSAGE_CANCEL)
        cancel(connection, message->cancel.request);
    return NULL; /* any byte counts as a sign of life */
}

static bd_error *dispatch(bd_connection *connection, const bd_message *message,
                          const bd_frame *frame, uint8_t **out_payload)
{
    switch ((int)message->type) {
    case BD_MESSAGE_HELLO:
        return hello(connection, &message->hello);
    case BD_MESSAGE_PING:
    case BD_MESSAGE_PONG:
    case BD_MESSAGE_RECEIVED:
    case BD_MESSAGE_BYE:
    case BD_MESSAGE_CANCEL:
        return keep_up(connection, message);
    case BD_MESSAGE_OPS:
        return bd_transfer_ops(connection, &message->ops, frame, out_payload);
    case BD_MESSAGE_PUT_BEGIN:
        return bd_transfer_put_begin(connection, &message->put_begin, frame, out_payload);
    case BD_MESSAGE_PUT_DATA:
        return bd_transfer_put_data(connection, &message->put_data, frame, out_payload);
    case BD_MESSAGE_GET:
    case BD_MESSAGE_SYNC:
    case BD_MESSAGE_PROGRAM_DROP:
        ask_engine(connection, message);
        return NULL;
    case BD_MESSAGE_PROGRAM_DEFINE:
        return bd_transfer_program(connection, &message->program_define, frame, out_payload);
    case BD_MESSAGE_REGION_ADD:
    case BD_MESSAGE_REGION_DROP:
    case BD_MESSAGE_PUT_REGION:
    case BD_MESSAGE_GET_REGION:
    case BD_MESSAGE_REGION_TAKEN:
        return bd_transfer_region_message(connection, message);
    case BD_MESSAGE_EXPORT:
    case BD_MESSAGE_IMPORT:
    case BD_MESSAGE_UNEXPORT:
    case BD_MESSAGE_LIST_NAMES:
    case BD_MESSAGE_EXPORT_PROGRAM:
    case BD_MESSAGE_IMPORT_PROGRAM:
        return bd_sharing_message(connection, message, frame, out_payload);
    case BD_MESSAGE_STATS:
    case BD_MESSAGE_DEVICES:
    case BD_MESSAGE_SESSIONS:
    case BD_MESSAGE_KERNELS:
    case BD_MESSAGE_CONFIG:
        report(connection, message->stats.request, message->type); /* all have the request first */
        return NULL;
    case BD_MESSAGE_CANCEL_WORK:
        return bd_admin_cancel_work(connection, &message->cancel_work);
    case BD_MESSAGE_RELOAD:
    case BD_MESSAGE_TOKEN_CREATE:
    case BD_MESSAGE_TOKEN_REVOKE:
    case BD_MESSAGE_TOKEN_ROTATE:
    case BD_MESSAGE_TOKENS:
    case BD_MESSAGE_LISTENERS:
    case BD_MESSAGE_SHUTDOWN:
    case BD_MESSAGE_TOKEN_MINT:
    case BD_MESSAGE_CLOSE_SESSION:
        bd_admin_message(connection, message);
        return NULL;
    default: /* the first message, or none: RESUME; what only a daemon sends */
        break;
    }
    BD_FAIL(PROTOCOL, "message %d does not come from a client", (int)message->type);
}

/* ---- opening --------------------------------------------------------------------------------- */

bd_visitor bd_session_visitor(const bd_connection *connection)
{
    const bd_stream *stream = &connection->stream;
    return (bd_visitor){.fd = stream->fd,
                        .is_unix = connection->is_unix,
                        .is_tls = stream->tls,
                        .uid = connection->peer_uid,
                        .subject = stream->tls ? bd_tls_subject(stream->tls) : "",
                        .origin = ""};
}

bd_error *bd_session_identify(const bd_connection *connection, bd_text token, bd_principal *out)
{
    const bd_websocket *websocket = connection->websocket;
    bd_visitor visitor = bd_session_visitor(connection);
    visitor.token = token;
    if (websocket)
        visitor.origin = websocket->origin;
    if (websocket && !token.size_bytes)
        visitor.token = bd_text_of(websocket->token);
    return bd_access_identify(&connection->daemon->access, &visitor, out);
}

int64_t bd_session_note_stranger(const bd_connection *connection)
{
    char peer[BD_PEER_TEXT_BYTES];
    bd_daemon *daemon = connection->daemon;
    return bd_failures_note(&daemon->failures, bd_net_peer_text(connection->stream.fd, peer),
                            bd_daemon_now_ms(daemon));
}

static bool has_feature(const struct bd_message_hello *hello, const char *name)
{
    bool has = false;
    for (uint32_t i = 0; i < hello->features.count; i++)
        has |= bd_text_equal(hello->features.items[i], name);
    return has;
}

/* While the daemon drains only those come in who ask how it is, and may. */
static bool is_let_in(const bd_connection *connection, const struct bd_message_hello *hello)
{
    if (!connection->daemon->drain.started_ms)
        return true;
    return has_feature(hello, "observe") &&
           connection->session.principal.scopes & (BD_SCOPE_METRICS | BD_SCOPE_ADMIN);
}

/* Features that the session just remembers. */
static const struct {
    const char *name;
    size_t flag;
} features[] = {
    {"keepalive", offsetof(bd_session, answers_pings)},
    {"cancel_work", offsetof(bd_session, cancels_work)},
    {"mint", offsetof(bd_session, mints)},
    {"observe", offsetof(bd_session, observes)},
    {"rotate", offsetof(bd_session, rotates)},
    {"close_session", offsetof(bd_session, closes_sessions)},
};
enum { FEATURE_COUNT = (int)(sizeof features / sizeof *features) };

static void take_features(bd_connection *connection, const struct bd_message_hello *hello)
{
    char *session = (char *)&connection->session;
    for (int i = 0; i < FEATURE_COUNT; i++)
        *(bool *)(session + features[i].flag) = has_feature(hello, features[i].name);
    connection->stream.takes_fds =
        connection->is_unix && connection->daemon->config->regions &&
        has_feature(hello, "regions");
    if (has_feature(hello, "resume"))
        bd_resume_offer(connection);
}

/* Those in use, for WELCOME. */
static void list_features(const bd_connection *connection, bd_texts *out)
{
    const char *session = (const char *)&connection->session;
    for (int i = 0; i < FEATURE_COUNT; i++) {
        if (*(const bool *)(session + features[i].flag))
            out->items[out->count++] = bd_text_of(features[i].name);
    }
    if (connection->stream.takes_fds)
        out->items[out->count++] = bd_text_of("regions");
    if (connection->session.resume.is_on)
        out->items[out->count++] = bd_text_of("resume");
}

static bd_error *check_hello(const bd_connection *connection, const struct bd_message_hello *hello)
{
    const bd_daemon *daemon = connection->daemon;
    if (hello->version != BURN_PROTOCOL_VERSION)
        BD_FAIL(UNSUPPORTED, "the client speaks protocol version %" PRIu64 ", this daemon %d",
                hello->version, BURN_PROTOCOL_VERSION);
    if (hello->device.size_bytes && !bd_text_equal(hello->device, daemon->config->device))
        BD_FAIL(NOT_FOUND, "there is no device \"%.*s\"; this daemon has \"%s\"",
                (int)hello->device.size_bytes, hello->device.bytes, daemon->config->device);
    if (!is_let_in(connection, hello))
        BD_FAIL(UNAVAILABLE, "the daemon is draining: it takes no new session and is about to end");
    if (daemon->sessions.count >= (size_t)daemon->config->sessions)
        BD_FAIL(UNAVAILABLE, "%zu sessions are open, more are not allowed", daemon->sessions.count);
    return NULL;
}

static void note_open(const bd_connection *connection)
{
    const bd_session *session = &connection->session;
    char peer[BD_PEER_TEXT_BYTES];
    bd_log(BD_LOG_INFO, "session",
           "open session=%" PRIu64 " peer=%s principal=%s client=%s", session->number,
           bd_net_peer_name(connection->stream.fd, peer), BD_QUOTED(session->principal.name),
           BD_QUOTED(session->client));
}

static void welcome(bd_connection *connection)
{
    const bd_daemon *daemon = connection->daemon;
    const bd_session *session = &connection->session;
    bd_message welcome = {.type = BD_MESSAGE_WELCOME,
                          .welcome = {.session = session->number,
                                      .server = bd_text_of("burnd " BURN_VERSION),
                                      .message_bytes_max = BURN_MESSAGE_BYTES_MAX,
                                      .batch_bytes_max = BURN_BATCH_BYTES_MAX,
                                      .chunk_bytes_max = BURN_CHUNK_BYTES_MAX,
                                      .credit_bytes = session->credit_bytes,
                                      .rank_max = BURN_RANK_MAX,
                                      .idle_ms = session->idle_ms,
                                      .device = bd_text_of(daemon->config->device),
                                      .devices = {.count = 1,
                                                  .items = {bd_text_of(daemon->config->device)}},
                                      .op_revision = burn_op_table_revision,
                                      .resume_key = bd_text_of(session->resume.key),
                                      .resume_ms = (uint64_t)daemon->config->resume_grace}};
    list_features(connection, &welcome.welcome.features);
    bd_connection_send(connection, &welcome);
}

static bd_error *hello(bd_connection *connection, const struct bd_message_hello *hello)
{
    bd_daemon *daemon = connection->daemon;
    bd_session *session = &connection->session;
    if (session->number)
        BD_FAIL(PROTOCOL, "HELLO came twice");
    BD_TRY(bd_session_identify(connection, hello->token, &session->principal));
    BD_TRY(check_hello(connection, hello));
    BD_TRY(bd_quotas_enter(&daemon->quotas, daemon->config, session->principal.name,
                           &session->quota, &session->window_bytes));
    session->number = ++daemon->next_session;
    session->opened_ms = bd_daemon_now_ms(daemon);
    session->credit_bytes = session->window_bytes;
    session->idle_ms = (uint64_t)daemon->config->idle_timeout;
    if (hello->idle_ms && hello->idle_ms < session->idle_ms)
        session->idle_ms = hello->idle_ms < IDLE_MS_MIN ? IDLE_MS_MIN : hello->idle_ms;
    take_features(connection, hello);
    session->regions.bytes_max = (uint64_t)daemon->config->regions;
    bd_text_copy(hello->client, session->client, sizeof session->client);
    bd_map_put(&daemon->sessions, session->number, connection);
    daemon->counters.sessions++;
    bd_leases_begin(daemon, &session->principal);
    bd_request *open = bd_request_create(BD_REQUEST_SESSION_OPEN, session->number);
    snprintf(open->name, sizeof open->name, "%s", session->principal.name);
    open->quota = bd_quota_retain(session->quota);
    open->only_calls = !(session->principal.scopes & BD_SCOPE_COMPUTE);
    post(connection, open);
    welcome(connection);
    bd_resume_begin(connection);
    note_open(connection);
    return NULL;
}

/* ---- requests that wait for the engine ------------------------------------------------------- */

/* What stands in session->requests for a number: when it came in microseconds, its type, and
 * whether it was cancelled. */
enum { MARK_CANCELLED = 1, MARK_TYPE_SHIFT = 1, MARK_TIME_SHIFT = 7 };

/* The request is answered. */
static void settle(bd_connection *connection, const bd_reply *reply)
{
    uintptr_t mark = (uintptr_t)bd_map_remove(&connection->session.requests, reply->request);
    if (!mark)
        return;
    bd_quota_add(connection->session.quota, BD_QUOTA_REQUESTS, -1);
    int64_t came_us = (int64_t)(mark >> MARK_TIME_SHIFT);
    bd_daemon *daemon = connection->daemon;
    daemon->counters.requests[mark >> MARK_TYPE_SHIFT & (BD_TYPES_COUNTED - 1)]
                             [bd_error_code(reply->error)]++;
    bd_histogram_add(&daemon->request_durations, bd_now_ns() - came_us * 1000);
}

bool bd_session_expect(bd_connection *connection, uint64_t request)
{
    bd_session *session = &connection->session;
    bd_error *error = NULL;
    if (bd_map_get(&session->requests, request))
        error = BD_ERROR(CONFLICT, "request %" PRIu64 " is under way already", request);
    else if (session->requests.count >= BURN_IN_FLIGHT_MAX)
        error = BD_ERROR(LIMIT, "%d requests wait for an answer, more are not allowed",
                         BURN_IN_FLIGHT_MAX);
    else
        error = bd_quota_check(session->quota, BD_QUOTA_REQUESTS, 1);
    if (error) {
        bd_session_answer_failure(connection, request, error);
        return false;
    }
    uintptr_t mark = (uintptr_t)bd_now_us() << MARK_TIME_SHIFT |
                     (uintptr_t)connection->message.type << MARK_TYPE_SHIFT;
    bd_map_put(&session->requests, request, (void *)mark);
    bd_quota_add(session->quota, BD_QUOTA_REQUESTS, 1);
    return true;
}

void bd_session_ask(bd_connection *connection, bd_request *own_request)
{
    own_request->credit_bytes = connection->session.frame_cost;
    if (bd_session_expect(connection, own_request->request)) {
        post(connection, own_request);
    } else {
        bd_session_return_credit(connection, own_request->credit_bytes);
        bd_request_destroy(own_request);
    }
}

static void cancel(bd_connection *connection, uint64_t request)
{
    bd_session *session = &connection->session;
    if (bd_transfer_cancel_download(connection, request)) {
        connection->daemon->counters.cancelled++;
        return;
    }
    uintptr_t mark = (uintptr_t)bd_map_get(&session->requests, request);
    if (!mark || (mark & MARK_CANCELLED))
        return; /* answered, or cancelled before */
    bd_map_put(&session->requests, request, (void *)(mark | MARK_CANCELLED));
    connection->daemon->counters.cancelled++;
    bd_request *message = bd_request_create(BD_REQUEST_CANCEL, session->number);
    message->request = request;
    post(connection, message);
}

/* What somebody waits for. */
static void answer(bd_connection *connection, bd_reply *reply)
{
    const bd_error *error = reply->error;
    bd_message synced = {.type = BD_MESSAGE_SYNCED,
                         .synced = {.request = reply->request,
                                    .code = (uint64_t)bd_error_code(error),
                                    .text = bd_text_of(bd_error_text(error)),
                                    .op_index = bd_error_op_index(error)}};
    bd_message done = {.type = BD_MESSAGE_DONE, .done.request = reply->request};
    settle(connection, reply);
    if (error && reply->kind == BD_REPLY_DATA)
        bd_transfer_refuse_download(connection, reply->request);
    if (reply->kind == BD_REPLY_SYNCED)
        bd_connection_send(connection, &synced);
    else if (error)
        answer_error(connection, reply->request, error);
    else if (reply->kind == BD_REPLY_DATA)
        bd_transfer_download(connection, reply);
    else if (reply->kind == BD_REPLY_DONE)
        bd_connection_send(connection, &done);
    else
        bd_sharing_reply(connection, reply);
}

void bd_session_reply(bd_connection *connection, bd_reply *own_reply)
{
    if (own_reply->credit_bytes)
        bd_session_return_credit(connection, own_reply->credit_bytes);
    switch (own_reply->kind) {
    case BD_REPLY_CREDIT:
    case BD_REPLY_PROBED:
    case BD_REPLY_LOST:
    case BD_REPLY_SESSION_CLOSED:
        break;
    case BD_REPLY_DATA:
    case BD_REPLY_SYNCED:
    case BD_REPLY_DONE:
    case BD_REPLY_IMPORTED:
    case BD_REPLY_NAMES:
        answer(connection, own_reply);
        break;
    }
    bd_reply_destroy(own_reply);
}

bool bd_session_busy(const bd_session *session)
{
    return session->requests.count || session->downloads_first;
}

void bd_session_end(bd_connection *connection, bd_code code, const char *why)
{
    if (connection->state == BD_CONNECTION_DETACHED) {
        bd_connection_close(connection);
        return;
    }
    bd_connection_send(connection,
                       &(bd_message){.type = BD_MESSAGE_GOAWAY,
                                     .goaway = {.code = (uint64_t)code,
                                                .text = bd_text_of(why)}});
    bd_connection_fail(connection, bd_error_make(code, __FILE__, __LINE__, "%s", why));
}

void bd_session_close(bd_connection *connection)
{
    bd_session *session = &connection->session;
    bd_daemon *daemon = connection->daemon;
    size_t requests = session->requests.count;
    bd_transfer_drop_all(connection);
    bd_map_deinit(&session->requests);
    if (!session->number || !bd_map_remove(&daemon->sessions, session->number))
        return;
    post(connection, bd_request_create(BD_REQUEST_SESSION_CLOSE, session->number));
    bd_quotas_leave(&daemon->quotas, session->quota, session->window_bytes, requests);
    session->quota = NULL;
    bd_log(BD_LOG_INFO, "session",
           "close session=%" PRIu64 " seconds=%" PRId64 " in=%" PRIu64 " out=%" PRIu64,
           session->number, (bd_daemon_now_ms(daemon) - session->opened_ms) / 1000,
           connection->bytes_in, connection->bytes_out);
}
