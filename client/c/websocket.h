/* SPDX-License-Identifier: Apache-2.0
 * A context's connection within a WebSocket (RFC 6455): each frame of the protocol that is written
 * becomes a message, masked; the bytes of messages are read. Below it lies client/c/link.h.
 * Thread: any, under the context's lock. Nothing waits but the upgrade. */
#pragma once

#include <sys/uio.h>

#include "client/c/context.h"

typedef struct bd_websocket bd_websocket;

/* Upgrades the connection within the time; host as the Host header names it. Errors say what the
 * other side answered. */
bd_error *bd_websocket_open(burn_context *context, const char *host, int timeout_ms) BD_MUST_USE;

/* As bd_link_read and bd_link_write; what a write has taken need not be given again. */
ssize_t bd_websocket_read(burn_context *context, uint8_t *bytes, size_t size);
ssize_t bd_websocket_write(burn_context *context, const struct iovec *parts, int count);
/* Hands on what it keeps; true while some of it remains. */
bool bd_websocket_flush(burn_context *context);
/* Between frames: what is written next is the rest of a frame of which the daemon has a part. */
void bd_websocket_rest(burn_context *context, uint64_t size_bytes);
/* True if the daemon has said goodbye. */
bool bd_websocket_closed(const burn_context *context);
/* Says goodbye. */
void bd_websocket_finish(burn_context *context);
