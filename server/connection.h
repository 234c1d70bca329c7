/* SPDX-License-Identifier: Apache-2.0
 * One connection: socket, parser, outbox, deadlines. What its messages mean is the session's
 * business (server/session.h), which lives within it: one connection, one session.
 * Owned by the daemon; thread: loop. Invariant: after bd_connection_fail or _close no message is
 * handled any more, and the memory goes when libuv has let go of the socket. */
#pragma once

#include <sys/types.h>

#include "proto/frame.h"
#include "proto/message.h"
#include "server/daemon.h"
#include "server/outbox.h"
#include "server/session.h"
#include "server/stream.h"
#include "server/web.h"
#include "server/websocket.h"

typedef enum bd_connection_state {
    BD_CONNECTION_PREFACE,   /* the preface must come, or what tells it from HTTP */
    BD_CONNECTION_HTTP,      /* requests of HTTP come, one of which may make it a WebSocket */
    BD_CONNECTION_HELLO,     /* HELLO must come */
    BD_CONNECTION_REFUSED,   /* it showed a wrong identity, and hears of it in a while */
    BD_CONNECTION_OPEN,
    BD_CONNECTION_DETACHED,  /* the peer is lost, its session is kept for a while */
    BD_CONNECTION_LINGERING, /* a last error goes out, what comes in is dropped */
    BD_CONNECTION_CLOSED,
} bd_connection_state;

struct bd_connection {
    bd_daemon *daemon;
    bd_connection *next, *previous;
    bd_connection *next_unflushed;
    bd_connection_state state;
    uv_poll_t poll;
    bd_stream stream;
    int events; /* that poll waits for */
    bool is_unix, is_tls, in_unflushed;
    bool in_handshake; /* counted among the daemon's handshakes */
    uid_t peer_uid;
    pid_t peer_pid;
    uint8_t preface[BURN_PREFACE_BYTES];
    size_t preface_bytes;
    bd_frame_parser parser;
    bd_message message; /* of the frame whose payload comes in */
    uint64_t parts_taken; /* prefaces and frames */
    bd_web *web;             /* NULL: it does not speak HTTP */
    bd_websocket *websocket; /* NULL: frames come and go as they are */
    bd_outbox outbox;
    int64_t opened_ms, read_ms, written_ms, lingering_ms, refused_until_ms, detached_ms;
    bd_error *refusal; /* while REFUSED */
    int pings_unanswered;
    uint32_t free_frames_turn, free_frames; /* that spend no credit: of this turn, of this second */
    int64_t free_frames_second;
    uint64_t bytes_in, bytes_out;
    bd_session session;
};

/* Takes fd over; on failure it is closed. tls: whether TLS is spoken by it. */
bd_error *bd_connection_open(bd_daemon *daemon, int fd, bool tls) BD_MUST_USE;

/* Queues a message; it goes out when the loop has nothing more to read. */
void bd_connection_send(bd_connection *connection, const bd_message *message);
/* The same with a payload that is copied. */
void bd_connection_send_payload(bd_connection *connection, const bd_message *message,
                                const void *payload, size_t payload_bytes);
/* The same with a payload that stays where it is until release(owner). */
void bd_connection_send_borrowed(bd_connection *connection, const bd_message *message,
                                 const void *payload, size_t payload_bytes,
                                 void (*release)(void *owner), void *owner);
/* Marks it as having something to write. */
void bd_connection_touch(bd_connection *connection);
/* Writes what is queued by all that were touched. */
void bd_connection_flush_all(bd_daemon *daemon);

/* Frees the session's holdings, sends the error, then closes. Consumes the error. */
void bd_connection_fail(bd_connection *connection, bd_error *own_error);
/* Frees the session's holdings, says goodbye where the transport knows how, then closes. */
void bd_connection_hang_up(bd_connection *connection, bd_code code);
/* The connection takes the place of another one that has the key (server/resume.c). */
bd_error *bd_connection_resume(bd_connection *connection,
                               const struct bd_message_resume *resume) BD_MUST_USE;
/* The peer is gone: the session waits for it, or the connection closes. */
void bd_connection_lose(bd_connection *connection);
/* Closes at once. */
void bd_connection_close(bd_connection *connection);
/* Deadlines; called about four times a second while any connection has one. */
void bd_connection_tick(bd_connection *connection, int64_t now_ms);
bool bd_connection_has_deadline(const bd_connection *connection);

bd_transport bd_connection_transport(const bd_connection *connection);

/* ---- for the transports ---- */
/* Takes bytes of preface and frames. */
bd_error *bd_connection_take(bd_connection *connection, const uint8_t *bytes,
                             size_t size) BD_MUST_USE;
/* Counts what came and spent no credit; PROTOCOL if it is too much. */
bd_error *bd_connection_count_free_frame(bd_connection *connection) BD_MUST_USE;
