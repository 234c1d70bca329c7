/* SPDX-License-Identifier: Apache-2.0
 * The bytes of a context's connection: over its socket as it is or over TLS, and either as they are
 * or within a WebSocket. Under the context's lock; nothing waits. Results are those of recv and
 * sendmsg: bytes, 0 at the end, -1 with errno. */
#pragma once

#include <sys/uio.h>

#include "client/c/context.h"

/* A short count means that nothing more is there. */
ssize_t bd_link_read(burn_context *context, void *bytes, size_t size);
/* fd: a descriptor that goes along, on a Unix socket only; -1: none. */
ssize_t bd_link_write(burn_context *context, const struct iovec *parts, int count, int fd);
/* True while bytes that a write has taken are on their way to the socket. */
bool bd_link_flush(burn_context *context);
/* The daemon, or a machine between, has hung up, whatever may be left to read. */
bool bd_link_ended(const burn_context *context);
/* The end in order, before the socket is closed. */
void bd_link_finish(burn_context *context);

/* The same below a WebSocket. */
ssize_t bd_link_read_below(burn_context *context, void *bytes, size_t size);
ssize_t bd_link_write_below(burn_context *context, const struct iovec *parts, int count, int fd);
bool bd_link_flush_below(burn_context *context);
