/* SPDX-License-Identifier: Apache-2.0 */
#include "server/connection.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/base/log.h"
#include "proto/base/utf8.h"
#include "server/net.h"
#include "server/resume.h"

enum {
    READ_ROUNDS = 8,
    WRITE_ROUNDS = 8,
    LINGER_MS = 500,
    MESSAGES_A_TURN = 1024, /* after so many the other connections come first */
};

static void on_poll(uv_poll_t *poll, int status, int events);
static void on_closed(uv_handle_t *handle);
static void read_some(bd_connection *connection);
static bd_error *take_bytes(bd_connection *connection, uint8_t *bytes, size_t size);
static bd_error *take_preface(bd_connection *connection, const uint8_t *bytes, size_t size,
                              size_t *out_taken);
static bd_error *take_message(bd_connection *connection);
static void flush(bd_connection *connection);
static void await(bd_connection *connection, int events);
static void end_handshake(bd_connection *connection);

/* Ends the handshake that has lasted longest: who opens connections and says nothing keeps nobody
 * else out, whose handshake takes two round trips. */
static void make_room(bd_daemon *daemon)
{
    bd_connection *oldest = NULL;
    for (bd_connection *other = daemon->connections; other; other = other->next)
        oldest = other->in_handshake ? other : oldest;
    daemon->counters.late_handshake++;
    bd_connection_close(oldest);
}

static bd_error *prepare(bd_connection *opened, int fd, bool tls)
{
    bd_daemon *daemon = opened->daemon;
    if (tls && !daemon->access.tls)
        BD_FAIL(UNAVAILABLE, "there is no certificate");
    if (tls && daemon->handshakes >= (size_t)daemon->config->handshakes)
        make_room(daemon);
    BD_TRY(bd_net_prepare(fd, &opened->is_unix));
    if (opened->is_unix)
        BD_TRY(bd_net_peer(fd, &opened->peer_uid, &opened->peer_pid));
    return bd_stream_open(&opened->stream, fd, tls ? daemon->access.tls : NULL);
}

bd_error *bd_connection_open(bd_daemon *daemon, int fd, bool tls)
{
    bd_connection opened = {.daemon = daemon};
    bd_error *error = prepare(&opened, fd, tls);
    if (error) {
        close(fd);
        return error;
    }
    bd_connection *connection = bd_alloc(sizeof *connection);
    *connection = opened;
    bd_frame_parser_init(&connection->parser, BURN_HELLO_BYTES_MAX, BURN_CHUNK_BYTES_MAX);
    connection->opened_ms = connection->read_ms = bd_daemon_now_ms(daemon);
    int status = uv_poll_init(&daemon->loop, &connection->poll, fd);
    if (status != 0) {
        bd_stream_close(&connection->stream);
        bd_free(connection);
        BD_FAIL(UNAVAILABLE, "cannot watch a connection: %s", uv_strerror(status));
    }
    connection->in_handshake = connection->is_tls = tls;
    daemon->handshakes += tls;
    connection->poll.data = connection;
    connection->next = daemon->connections;
    if (daemon->connections)
        daemon->connections->previous = connection;
    daemon->connections = connection;
    daemon->connection_count++;
    await(connection, bd_stream_events(&connection->stream, false));
    bd_daemon_start_tick(daemon);
    return NULL;
}

void bd_connection_touch(bd_connection *connection)
{
    if (connection->in_unflushed)
        return;
    connection->in_unflushed = true;
    connection->next_unflushed = connection->daemon->unflushed;
    connection->daemon->unflushed = connection;
}

bd_transport bd_connection_transport(const bd_connection *connection)
{
    if (connection->websocket)
        return connection->is_tls ? BD_TRANSPORT_WSS : BD_TRANSPORT_WS;
    if (connection->is_tls)
        return BD_TRANSPORT_TLS;
    return connection->is_unix ? BD_TRANSPORT_UNIX : BD_TRANSPORT_TCP;
}

static void count_frame(bd_connection *connection, bd_way way, uint16_t type)
{
    if (type < BD_TYPES_COUNTED)
        connection->daemon->counters.frames[way][type]++;
}

/* Puts the header of a WebSocket message before the bytes at room, where one is needed. */
static size_t wrap(const bd_connection *connection, uint8_t *room, size_t size, size_t more_bytes)
{
    uint8_t header[BD_WS_HEADER_BYTES_MAX];
    if (!connection->websocket)
        return size;
    size_t header_bytes = bd_ws_header(header, BD_WS_BINARY, size + more_bytes, NULL);
    memmove(room + header_bytes, room, size);
    memcpy(room, header, header_bytes);
    return header_bytes + size;
}

void bd_connection_send_payload(bd_connection *connection, const bd_message *message,
                                const void *payload, size_t payload_bytes)
{
    if (connection->state >= BD_CONNECTION_LINGERING)
        return;
    size_t capacity = BD_MESSAGE_FRAME_BYTES_MAX, more = payload_bytes + BD_WS_HEADER_BYTES_MAX;
    uint8_t *room = bd_outbox_room(&connection->outbox, capacity + more);
    size_t size = bd_message_encode(message, payload_bytes, room, capacity);
    if (size > capacity) {
        capacity = size;
        room = bd_outbox_room(&connection->outbox, capacity + more);
        size = bd_message_encode(message, payload_bytes, room, capacity);
    }
    size = wrap(connection, room, size, payload_bytes);
    count_frame(connection, BD_WAY_OUT, (uint16_t)message->type);
    if (payload_bytes)
        memcpy(room + size, payload, payload_bytes);
    bd_outbox_commit(&connection->outbox, size + payload_bytes);
    bd_connection_touch(connection);
}

void bd_connection_send(bd_connection *connection, const bd_message *message)
{
    bd_connection_send_payload(connection, message, NULL, 0);
}

void bd_connection_send_borrowed(bd_connection *connection, const bd_message *message,
                                 const void *payload, size_t payload_bytes,
                                 void (*release)(void *owner), void *owner)
{
    bd_outbox *outbox = &connection->outbox;
    uint8_t *room = bd_outbox_room(outbox, BD_MESSAGE_FRAME_BYTES_MAX + BD_WS_HEADER_BYTES_MAX);
    size_t size = bd_message_encode(message, payload_bytes, room, BD_MESSAGE_FRAME_BYTES_MAX);
    bd_outbox_commit(outbox, wrap(connection, room, size, payload_bytes));
    bd_outbox_borrow(outbox, payload, payload_bytes, release, owner);
    count_frame(connection, BD_WAY_OUT, (uint16_t)message->type);
    bd_connection_touch(connection);
}

void bd_connection_flush_all(bd_daemon *daemon)
{
    while (daemon->unflushed) {
        bd_connection *connection = daemon->unflushed;
        daemon->unflushed = connection->next_unflushed;
        connection->in_unflushed = false;
        flush(connection);
    }
}

void bd_connection_fail(bd_connection *connection, bd_error *own_error)
{
    if (connection->state < BD_CONNECTION_LINGERING) {
        bd_code code = bd_error_code(own_error);
        if (code == BD_CODE_PROTOCOL)
            connection->daemon->counters.protocol_errors++;
        char peer[BD_PEER_TEXT_BYTES];
        bd_log(BD_LOG_WARN, "connection", "closing session=%" PRIu64 " peer=%s code=%s reason=%s",
               connection->session.number, bd_net_peer_name(connection->stream.fd, peer),
               bd_code_name(code), BD_QUOTED(bd_error_text(own_error)));
        bd_message message = {.type = BD_MESSAGE_ERROR,
                              .error = {.code = (uint64_t)code,
                                        .text = bd_text_of(bd_error_text(own_error)),
                                        .retryable = bd_code_retryable(code)}};
        if (connection->state >= BD_CONNECTION_HELLO)
            bd_connection_send(connection, &message);
        bd_connection_hang_up(connection, code);
    }
    bd_error_free(own_error);
}

void bd_connection_hang_up(bd_connection *connection, bd_code code)
{
    bd_session_close(connection);
    if (connection->websocket)
        bd_websocket_say_close(connection, code);
    connection->state = BD_CONNECTION_LINGERING;
    connection->lingering_ms = bd_daemon_now_ms(connection->daemon);
    bd_daemon_start_tick(connection->daemon);
    bd_connection_touch(connection);
}

void bd_connection_close(bd_connection *connection)
{
    if (connection->state == BD_CONNECTION_CLOSED)
        return;
    bd_session_close(connection);
    connection->state = BD_CONNECTION_CLOSED;
    bd_outbox_deinit(&connection->outbox);
    bd_error_free(connection->refusal);
    connection->refusal = NULL;
    uv_poll_stop(&connection->poll);
    uv_close((uv_handle_t *)&connection->poll, on_closed);
    end_handshake(connection);
    bd_stream_close(&connection->stream);
}

static void on_closed(uv_handle_t *handle)
{
    bd_connection *connection = handle->data;
    bd_daemon *daemon = connection->daemon;
    if (connection->in_unflushed) {
        bd_connection **link = &daemon->unflushed;
        while (*link != connection)
            link = &(*link)->next_unflushed;
        *link = connection->next_unflushed;
    }
    if (connection->previous)
        connection->previous->next = connection->next;
    else
        daemon->connections = connection->next;
    if (connection->next)
        connection->next->previous = connection->previous;
    daemon->connection_count--;
    bd_frame_parser_deinit(&connection->parser);
    bd_web_close(connection);
    bd_websocket_close(connection);
    bd_free(connection);
    bd_daemon_connection_closed(daemon);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void await(bd_connection *connection, int events)
{
    if (connection->events == events)
        return;
    if (events & ~connection->events & UV_WRITABLE) {
        connection->written_ms = bd_daemon_now_ms(connection->daemon);
        bd_daemon_start_tick(connection->daemon);
    }
    connection->events = events;
    uv_poll_start(&connection->poll, events, on_poll);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    bd_connection *connection = poll->data;
    bd_daemon *daemon = connection->daemon;
    bd_daemon_stir(daemon); /* without a reserve what takes memory is refused */
    if (status >= 0)
        events = bd_stream_ready(&connection->stream, events);
    if (status < 0)
        bd_connection_lose(connection);
    else if (events & UV_READABLE)
        read_some(connection);
    if (connection->state != BD_CONNECTION_CLOSED && (events & UV_WRITABLE))
        bd_connection_touch(connection);
    bd_connection_flush_all(daemon);
    if (connection->in_handshake) /* which reads and writes by turns */
        await(connection, bd_stream_events(&connection->stream, connection->outbox.bytes > 0));
}

/* Ends the count; the peer may have hung up. */
static void end_handshake(bd_connection *connection)
{
    connection->daemon->handshakes -= connection->in_handshake;
    connection->in_handshake = false;
}

static void note_failed_handshake(bd_connection *connection)
{
    char peer[BD_PEER_TEXT_BYTES];
    if (!connection->in_handshake)
        return;
    if (!bd_web_refuse_plain(connection))
        connection->daemon->counters.handshakes_failed++;
    bd_log(BD_LOG_INFO, "connection", "no handshake peer=%s reason=%s",
           bd_net_peer_name(connection->stream.fd, peer),
           BD_QUOTED(bd_stream_problem(&connection->stream)));
}

/* Into the place of a payload first, what is more into the daemon's buffer. */
static ssize_t receive(bd_connection *connection, uint8_t *place, size_t room)
{
    bd_daemon *daemon = connection->daemon;
    struct iovec parts[2] = {{place, room}, {daemon->receive, sizeof daemon->receive}};
    return bd_stream_read(&connection->stream, room ? parts : parts + 1, room ? 2 : 1);
}

/* How much of a payload may be read straight to its place. */
static size_t direct_room(const bd_connection *connection, uint8_t **out_place)
{
    if (connection->state != BD_CONNECTION_OPEN)
        return 0;
    size_t room = bd_frame_parser_room(&connection->parser, out_place);
    size_t fragment = connection->websocket ? bd_ws_room(&connection->websocket->decoder) : room;
    return room < fragment ? room : fragment;
}

static void read_some(bd_connection *connection)
{
    bd_daemon *daemon = connection->daemon;
    uint64_t frames_before = daemon->counters.frames_in;
    connection->free_frames_turn = 0;
    for (int round = 0; round < READ_ROUNDS && connection->state != BD_CONNECTION_CLOSED; round++) {
        uint8_t *place = NULL;
        size_t room = direct_room(connection, &place);
        ssize_t got = receive(connection, place, room);
        if (connection->in_handshake && bd_stream_established(&connection->stream))
            end_handshake(connection);
        if (got == BD_STREAM_LATER)
            return;
        if (got < 0) {
            note_failed_handshake(connection);
            bd_connection_lose(connection);
            return;
        }
        size_t size = (size_t)got, direct = size < room ? size : room;
        connection->read_ms = bd_daemon_now_ms(daemon);
        connection->pings_unanswered = 0;
        connection->bytes_in += size;
        daemon->counters.bytes[BD_WAY_IN][bd_connection_transport(connection)] += size;
        if (direct && connection->websocket)
            bd_ws_filled(&connection->websocket->decoder, place, direct);
        if (direct)
            bd_frame_parser_filled(&connection->parser, direct);
        connection->session.resume.received += direct;
        bd_error *error = take_bytes(connection, daemon->receive, size - direct);
        if (error)
            bd_connection_fail(connection, error);
        if (connection->stream.came_fd >= 0 && !bd_frame_parser_is_within(&connection->parser))
            close(bd_stream_take_fd(&connection->stream)); /* no message claimed it */
        bd_resume_acknowledge(connection);
        if (size < room + sizeof daemon->receive ||
            daemon->counters.frames_in - frames_before > MESSAGES_A_TURN)
            return;
    }
}

static bd_error *take_bytes(bd_connection *connection, uint8_t *bytes, size_t size)
{
    size_t offset = 0;
    if (connection->state == BD_CONNECTION_PREFACE && !connection->websocket &&
        !connection->preface_bytes && size && bd_http_begins(bytes[0]))
        bd_web_open(connection);
    if (connection->state == BD_CONNECTION_HTTP)
        bd_web_take(connection, bytes, size, &offset);
    if (connection->websocket)
        return bd_websocket_take(connection, bytes + offset, size - offset);
    return bd_connection_take(connection, bytes + offset, size - offset);
}

bd_error *bd_connection_take(bd_connection *connection, const uint8_t *bytes, size_t size)
{
    size_t offset = 0, taken;
    if (connection->state == BD_CONNECTION_PREFACE) {
        BD_TRY(take_preface(connection, bytes, size, &taken));
        offset += taken;
    }
    while (connection->state == BD_CONNECTION_HELLO || connection->state == BD_CONNECTION_OPEN) {
        bd_frame_event event;
        bool opened = connection->state == BD_CONNECTION_OPEN;
        BD_TRY(bd_frame_parser_feed(&connection->parser, bytes + offset, size - offset, &taken,
                                    &event));
        offset += taken;
        connection->session.resume.received += opened ? taken : 0;
        if (event == BD_FRAME_MORE)
            break;
        if (event == BD_FRAME_MESSAGE) {
            BD_TRY(take_message(connection));
            if (connection->outbox.bytes > (uint64_t)connection->daemon->config->outbound)
                flush(connection); /* closes it, if it does not read */
            continue;
        }
        connection->parts_taken++;
        if (connection->parser.frame.payload_bytes)
            BD_TRY(bd_session_payload_done(connection));
    }
    return NULL;
}

static bd_error *take_preface(bd_connection *connection, const uint8_t *bytes, size_t size,
                              size_t *out_taken)
{
    size_t wanted = BURN_PREFACE_BYTES - connection->preface_bytes;
    size_t count = size < wanted ? size : wanted;
    memcpy(connection->preface + connection->preface_bytes, bytes, count);
    connection->preface_bytes += count;
    *out_taken = count;
    if (!bd_preface_begins(connection->preface, connection->preface_bytes))
        BD_FAIL(PROTOCOL, "the peer does not speak the burnd protocol");
    if (connection->preface_bytes < BURN_PREFACE_BYTES)
        return NULL;
    bd_preface theirs, ours = bd_preface_own;
    BD_TRY(bd_preface_decode(connection->preface, &theirs));
    bool common = theirs.version_min <= ours.version_max && theirs.version_max >= ours.version_min;
    if (!common)
        ours.status = BD_CODE_UNSUPPORTED;
    connection->parts_taken++;
    uint8_t *room =
        bd_outbox_room(&connection->outbox, BURN_PREFACE_BYTES + BD_WS_HEADER_BYTES_MAX);
    bd_preface_encode(&ours, room);
    bd_outbox_commit(&connection->outbox, wrap(connection, room, BURN_PREFACE_BYTES, 0));
    bd_connection_touch(connection);
    if (!common)
        BD_FAIL(UNSUPPORTED, "the client speaks protocol versions %u to %u, this daemon %d",
                theirs.version_min, theirs.version_max, BURN_PROTOCOL_VERSION);
    connection->state = BD_CONNECTION_HELLO;
    return NULL;
}

/* At once, or, who shows wrong identities again and again, later. */
static bd_error *refuse(bd_connection *connection, bd_error *own_error)
{
    bd_daemon *daemon = connection->daemon;
    int64_t delay_ms = bd_session_note_stranger(connection);
    if (!delay_ms)
        return own_error;
    connection->state = BD_CONNECTION_REFUSED;
    connection->refused_until_ms = bd_daemon_now_ms(daemon) + delay_ms;
    connection->refusal = own_error;
    return NULL;
}

static bd_error *take_message(bd_connection *connection)
{
    const bd_frame *frame = &connection->parser.frame;
    const bd_message_facts *facts = bd_message_lookup(frame->type);
    connection->daemon->counters.frames_in++;
    count_frame(connection, BD_WAY_IN, frame->type);
    if (!facts || !facts->spends_credit)
        BD_TRY(bd_connection_count_free_frame(connection));
    if (!facts && (frame->flags & BURN_FRAME_IGNORABLE))
        return NULL;
    bd_message *message = &connection->message;
    BD_TRY(bd_message_decode(frame, connection->parser.message, BD_MESSAGE_FROM_CLIENT, message));
    bool opens = connection->state == BD_CONNECTION_HELLO;
    bool resumes = opens && message->type == BD_MESSAGE_RESUME;
    if (opens && !resumes && message->type != BD_MESSAGE_HELLO)
        BD_FAIL(PROTOCOL, "the first message must be HELLO, not %s", facts->name);
    uint8_t *payload = NULL;
    bd_error *error = resumes ? bd_connection_resume(connection, &message->resume)
                              : bd_session_message(connection, message, frame, &payload);
    if (opens && bd_error_code(error) == BD_CODE_UNAUTHENTICATED)
        return refuse(connection, error);
    if (error || resumes)
        return error;
    bd_frame_parser_set_payload(&connection->parser, payload);
    if (message->type == BD_MESSAGE_HELLO) {
        connection->state = BD_CONNECTION_OPEN;
        connection->parser.message_bytes_max = BURN_MESSAGE_BYTES_MAX;
    }
    return NULL;
}

/* ---- writing and deadlines ------------------------------------------------------------------- */

static void flush(bd_connection *connection)
{
    if (connection->state == BD_CONNECTION_CLOSED)
        return;
    for (int round = 0; connection->state != BD_CONNECTION_DETACHED; round++) {
        if (connection->state == BD_CONNECTION_OPEN)
            bd_session_pump(connection);
        else if (connection->state == BD_CONNECTION_HTTP && bd_web_pump(connection))
            bd_connection_hang_up(connection, BD_CODE_OK);
        size_t wanted = connection->outbox.bytes, written;
        if (!wanted || round == WRITE_ROUNDS) /* the rest after the others' turn */
            break;
        bd_error *error = bd_outbox_write(&connection->outbox, &connection->stream, &written);
        if (error) {
            bd_error_free(error); /* the peer hung up: nothing to tell and nobody to tell it to */
            bd_connection_lose(connection);
            return;
        }
        connection->bytes_out += written;
        connection->daemon->counters.bytes[BD_WAY_OUT][bd_connection_transport(connection)] +=
            written;
        if (written)
            connection->written_ms = bd_daemon_now_ms(connection->daemon);
        if (written < wanted)
            break;
    }
    if (connection->outbox.bytes + connection->outbox.kept_bytes >
        (uint64_t)connection->daemon->config->outbound) {
        connection->daemon->counters.slow_closed++;
        bd_log(BD_LOG_WARN, "connection",
               "closing session=%" PRIu64 " reason=\"%zu bytes wait for it\"",
               connection->session.number, connection->outbox.bytes);
        bd_connection_close(connection);
        return;
    }
    if (connection->state == BD_CONNECTION_DETACHED)
        return;
    if (connection->state == BD_CONNECTION_LINGERING && !connection->outbox.bytes)
        bd_stream_finish(&connection->stream);
    await(connection, bd_stream_events(&connection->stream, connection->outbox.bytes > 0));
}

static void tick_open(bd_connection *connection, int64_t now_ms)
{
    const bd_session *session = &connection->session;
    int64_t silence = now_ms - connection->read_ms;
    if (!session->answers_pings ||
        silence < (int64_t)session->idle_ms * (connection->pings_unanswered + 1))
        return;
    if (connection->pings_unanswered >= 2) {
        connection->daemon->counters.idle_closed++;
        bd_connection_fail(connection,
                           BD_ERROR(DEADLINE, "no sign of life for %" PRId64 " ms", silence));
        return;
    }
    connection->pings_unanswered++;
    bd_connection_send(connection, &(bd_message){.type = BD_MESSAGE_PING, .ping.token = now_ms});
}

bool bd_connection_has_deadline(const bd_connection *connection)
{
    return connection->state != BD_CONNECTION_OPEN || connection->session.answers_pings ||
           (connection->events & UV_WRITABLE);
}

static void tick_handshake(bd_connection *connection, int64_t now_ms)
{
    bd_daemon *daemon = connection->daemon;
    bool late = now_ms - connection->opened_ms > daemon->config->handshake_timeout;
    if (connection->in_handshake && late)
        read_some(connection); /* what came while this process could not run is not late */
    if (!connection->in_handshake || !late)
        return;
    daemon->counters.late_handshake++;
    bd_connection_close(connection);
}

void bd_connection_tick(bd_connection *connection, int64_t now_ms)
{
    const bd_config *config = connection->daemon->config;
    switch (connection->state) {
    case BD_CONNECTION_PREFACE:
    case BD_CONNECTION_HELLO:
        tick_handshake(connection, now_ms);
        if (connection->state > BD_CONNECTION_HELLO)
            return;
        if (connection->daemon->embedded || now_ms - connection->opened_ms <= config->hello_timeout)
            break; /* a parent that is slow to speak is waited for: its end is noticed */
        read_some(connection); /* what came while this process could not run is not late */
        if (connection->state > BD_CONNECTION_HELLO)
            return;
        connection->daemon->counters.late_hello++;
        bd_connection_fail(connection, BD_ERROR(DEADLINE, "no HELLO within %" PRId64 " ms",
                                                config->hello_timeout));
        return;
    case BD_CONNECTION_HTTP:
        if (bd_web_holds(connection, now_ms) || !bd_web_late(connection, now_ms))
            break;
        read_some(connection);
        if (connection->state == BD_CONNECTION_HTTP && bd_web_late(connection, now_ms))
            bd_web_end_late(connection);
        return;
    case BD_CONNECTION_REFUSED:
        if (now_ms >= connection->refused_until_ms) {
            bd_connection_fail(connection, connection->refusal);
            connection->refusal = NULL;
        }
        return;
    case BD_CONNECTION_OPEN:
        tick_open(connection, now_ms);
        break;
    case BD_CONNECTION_DETACHED:
        if (now_ms - connection->detached_ms > config->resume_grace)
            bd_connection_close(connection);
        return;
    case BD_CONNECTION_LINGERING:
        if (now_ms - connection->lingering_ms > LINGER_MS)
            bd_connection_close(connection);
        return;
    case BD_CONNECTION_CLOSED:
        return;
    }
    if ((connection->events & UV_WRITABLE) &&
        now_ms - connection->written_ms > config->write_timeout) {
        connection->daemon->counters.slow_closed++;
        bd_log(BD_LOG_WARN, "connection", "closing session=%" PRIu64 " reason=\"it does not read\"",
               connection->session.number);
        bd_connection_close(connection);
    }
}
