/* SPDX-License-Identifier: Apache-2.0
 * A connection within a WebSocket: the upgrade, messages in (each one frame of the protocol), the
 * headers of messages out, its close. Framing as such is proto/websocket.h.
 * Owned by its connection; thread: loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/websocket.h"
#include "server/web.h"

typedef struct bd_websocket {
    bd_ws_decoder decoder;
    bool in_message;
    bool resumed; /* by the message that comes: what follows may be the rest of a frame */
    uint64_t parts_before; /* that the connection had taken when the message began */
    bd_ws_status status;   /* for the close frame; NONE: as the error says */
    bool said_close;
    char origin[128]; /* empty: no browser */
    char token[128];  /* from the subprotocol; empty: none */
} bd_websocket;

/* Answers a request for an upgrade: true if the connection is a WebSocket now; else out says why
 * not. */
bool bd_websocket_upgrade(bd_connection *connection, const bd_http_head *head, bd_answer *out);
void bd_websocket_close(bd_connection *connection);

/* Takes all bytes, unmasks them in place. An error closes the connection. */
bd_error *bd_websocket_take(bd_connection *connection, uint8_t *bytes,
                            size_t size) BD_MUST_USE;
/* Queues the close frame that belongs to the code of an error. */
void bd_websocket_say_close(bd_connection *connection, bd_code code);
