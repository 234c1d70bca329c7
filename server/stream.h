/* SPDX-License-Identifier: Apache-2.0
 * What a connection reads from and writes to, without ever waiting: a socket as it is, or TLS over
 * it. Owned by its connection; thread: loop. Invariant: after a read, no byte waits inside the
 * stream that poll would not report. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "proto/base/error.h"

typedef struct bd_tls bd_tls;
typedef struct bd_tls_link bd_tls_link;

typedef struct bd_stream {
    int fd; /* -1: closed */
    bd_tls_link *tls; /* NULL: plain */
    bool takes_fds;   /* a descriptor may come along, else the kernel drops it */
    int came_fd;      /* one that came and was not taken; -1: none */
} bd_stream;

/* Results of read and write besides a number of bytes. */
enum { BD_STREAM_LATER = 0, BD_STREAM_GONE = -1 };

/* Takes the non-blocking fd over, unless it fails; tls: speak TLS by it; NULL: plain. */
bd_error *bd_stream_open(bd_stream *stream, int fd, bd_tls *tls) BD_MUST_USE;
/* Fills one or two parts in order as far as bytes are there. The last part must have room for 32
 * KiB. LATER: none are there; GONE: the peer has hung up or the link is broken. */
ssize_t bd_stream_read(bd_stream *stream, const struct iovec *parts, size_t count);
/* The descriptor that came, for the caller to close; -1: none. */
int bd_stream_take_fd(bd_stream *stream);
/* Writes what the socket takes now. LATER: nothing. Bytes that were not taken must come first the
 * next time. */
ssize_t bd_stream_write(bd_stream *stream, const struct iovec *parts, size_t count);
/* UV_READABLE, UV_WRITABLE: what to wait for; writes: bytes are left to be written. */
int bd_stream_events(const bd_stream *stream, bool writes);
/* What to try after poll reported events: UV_READABLE a read, UV_WRITABLE a write. */
int bd_stream_ready(const bd_stream *stream, int events);
/* False while a handshake is under way. */
bool bd_stream_established(const bd_stream *stream);
/* Whether TLS was awaited and a request of plain HTTP came. */
bool bd_stream_met_http(const bd_stream *stream);
/* Why the last read or write gave GONE, as far as it is known. */
const char *bd_stream_problem(const bd_stream *stream);
/* Tells the peer that nothing more comes; reading goes on. */
void bd_stream_finish(bd_stream *stream);
/* Hangs up, but keeps the descriptor's number until bd_stream_close: poll handles go by it. */
bd_error *bd_stream_detach(bd_stream *stream) BD_MUST_USE;
void bd_stream_close(bd_stream *stream);
