/* SPDX-License-Identifier: Apache-2.0 */
#include "server/resume.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "proto/base/log.h"
#include "server/connection.h"
#include "server/leases.h"

enum { ACKNOWLEDGE_BYTES = 256 * 1024 };

void bd_resume_offer(bd_connection *connection)
{
    uint8_t random[(BD_RESUME_KEY_BYTES - 1) / 2];
    bd_resume *resume = &connection->session.resume;
    if (connection->is_unix || connection->daemon->config->resume_grace == 0 ||
        getrandom(random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        return;
    resume->is_on = true;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(resume->key + 2 * i, 3, "%02x", random[i]);
}

void bd_resume_begin(bd_connection *connection)
{
    if (connection->session.resume.is_on)
        bd_outbox_keep(&connection->outbox, connection->websocket != NULL);
}

void bd_resume_acknowledge(bd_connection *connection)
{
    bd_resume *resume = &connection->session.resume;
    if (!resume->is_on || resume->received - resume->acknowledged < ACKNOWLEDGE_BYTES)
        return;
    resume->acknowledged = resume->received;
    bd_connection_send(connection, &(bd_message){.type = BD_MESSAGE_RECEIVED,
                                                 .received.bytes = resume->received});
}

void bd_connection_lose(bd_connection *connection)
{
    bd_daemon *daemon = connection->daemon;
    bool keeps = connection->state == BD_CONNECTION_OPEN && connection->session.resume.is_on &&
                 !daemon->drain.started_ms;
    if (keeps) {
        uv_poll_stop(&connection->poll);
        connection->events = 0;
        bd_error *error = bd_stream_detach(&connection->stream);
        keeps = !error;
        bd_error_free(error);
    }
    if (!keeps) {
        bd_connection_close(connection);
        return;
    }
    connection->state = BD_CONNECTION_DETACHED;
    connection->detached_ms = bd_daemon_now_ms(daemon);
    bd_daemon_start_tick(daemon);
    bd_log(BD_LOG_INFO, "session", "lost session=%" PRIu64, connection->session.number);
}

uint64_t bd_resume_ms_left(const bd_connection *connection)
{
    bd_daemon *daemon = connection->daemon;
    int64_t left_ms = connection->detached_ms + daemon->config->resume_grace -
                      bd_daemon_now_ms(daemon);
    return left_ms > 0 ? (uint64_t)left_ms : 0;
}

/* Equal in a time that does not tell where they differ. */
static bool has_key(const bd_connection *connection, bd_text key)
{
    const bd_resume *resume = &connection->session.resume;
    unsigned difference = 0;
    if (!resume->is_on || key.size_bytes != BD_RESUME_KEY_BYTES - 1)
        return false;
    for (size_t i = 0; i < key.size_bytes; i++)
        difference |= (unsigned char)key.bytes[i] ^ (unsigned char)resume->key[i];
    return difference == 0;
}

static bd_connection *find(bd_daemon *daemon, bd_text key)
{
    for (bd_connection *at = daemon->connections; at; at = at->next)
        if ((at->state == BD_CONNECTION_OPEN || at->state == BD_CONNECTION_DETACHED) &&
            has_key(at, key))
            return at;
    return NULL;
}

/* The session and all that is under way change connections; the old one closes. */
static void take_place(bd_connection *connection, bd_connection *lost)
{
    bd_frame_parser parser = connection->parser;
    bd_outbox outbox = connection->outbox; /* the preface */
    connection->parser = lost->parser;
    lost->parser = parser;
    connection->message = lost->message;
    connection->outbox = lost->outbox;
    lost->outbox = outbox;
    connection->session = lost->session;
    lost->session = (bd_session){0};
    if (connection->websocket)
        connection->websocket->resumed = true;
    connection->bytes_in += lost->bytes_in;
    connection->bytes_out += lost->bytes_out;
    connection->state = BD_CONNECTION_OPEN;
    bd_map_put(&connection->daemon->sessions, connection->session.number, connection);
    bd_connection_close(lost);
}

/* At once, into a socket whose buffer is empty: it stands before all that is counted. Within a
 * WebSocket the rest of a message that was cut is announced by a header of its own. */
static bd_error *answer(bd_connection *connection, const bd_connection *lost)
{
    bd_message message = {.type = BD_MESSAGE_RESUMED,
                          .resumed.received = lost->session.resume.received};
    uint64_t rest = lost->outbox.acknowledged.message_left;
    bd_outbox *outbox = &connection->outbox; /* the preface may still be there */
    size_t written, size;
    bd_connection_send(connection, &message);
    if (rest) {
        uint8_t *room = bd_outbox_room(outbox, BD_WS_HEADER_BYTES_MAX);
        bd_outbox_commit(outbox, bd_ws_header(room, BD_WS_BINARY, rest, NULL));
    }
    size = outbox->bytes;
    BD_TRY(bd_outbox_write(outbox, &connection->stream, &written));
    if (written != size)
        BD_FAIL(UNAVAILABLE, "the answer to RESUME cannot be sent");
    return NULL;
}

bd_error *bd_connection_resume(bd_connection *connection, const struct bd_message_resume *resume)
{
    bd_daemon *daemon = connection->daemon;
    bd_principal principal;
    if (resume->version != BURN_PROTOCOL_VERSION)
        BD_FAIL(UNSUPPORTED, "the client speaks protocol version %" PRIu64 ", this daemon %d",
                resume->version, BURN_PROTOCOL_VERSION);
    BD_TRY(bd_session_identify(connection, resume->token, &principal));
    bd_connection *lost = find(daemon, resume->key);
    if (!lost || strcmp(lost->session.principal.name, principal.name) != 0 ||
        (lost->session.principal.scopes ^ principal.scopes) & BD_SCOPE_COMPUTE ||
        connection->is_unix || !connection->websocket != !lost->websocket)
        BD_FAIL(NOT_FOUND, "there is no session to be resumed by this key; it is kept for %" PRId64
                           " ms after its connection was lost",
                daemon->config->resume_grace);
    BD_TRY(bd_outbox_acknowledge(&lost->outbox, resume->received));
    if (lost->outbox.acknowledged.counted != resume->received)
        BD_FAIL(PROTOCOL, "the client has received %" PRIu64 " bytes, but said before that it had "
                          "%" PRIu64, resume->received, lost->outbox.acknowledged.counted);
    BD_TRY(answer(connection, lost));
    take_place(connection, lost);
    connection->session.principal = principal; /* the token may be a new one */
    bd_leases_begin(daemon, &principal);
    bd_outbox_rewind(&connection->outbox);
    connection->session.resume.acknowledged = connection->session.resume.received;
    bd_connection_touch(connection);
    bd_log(BD_LOG_INFO, "session", "resumed session=%" PRIu64, connection->session.number);
    return NULL;
}
