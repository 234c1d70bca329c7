/* SPDX-License-Identifier: Apache-2.0
 * Bytes on their way to one peer: small messages are gathered in blocks, tensor bytes are borrowed
 * from their buffer until they are written; one write takes many of both.
 * Owned by a connection; thread: loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"
#include "proto/base/vec.h"
#include "server/stream.h"

typedef struct bd_out_segment {
    uint8_t *block;       /* owned, or NULL: borrowed */
    const uint8_t *bytes; /* what is left to write */
    size_t size_bytes, capacity_bytes;
    size_t done_bytes; /* written before `bytes` */
    void (*release)(void *owner); /* borrowed: called once written or dropped */
    void *owner;
} bd_out_segment;

typedef struct bd_outbox {
    bd_out_segment *segments;
    size_t first, count, capacity;
    size_t bytes; /* of all segments */
    uint8_t *spare; /* one empty block, kept */
    bool keeps;     /* what is written, until the peer says that it has it */
    BD_VEC(bd_out_segment) kept;
    size_t kept_bytes;
    uint64_t kept_from, written, before; /* offsets; the first counted byte stands at `before` */
} bd_outbox;

void bd_outbox_deinit(bd_outbox *outbox); /* releases what is left */

/* From here on bytes are counted, and kept when they are written. */
void bd_outbox_keep(bd_outbox *outbox);
/* The peer has so many of them. PROTOCOL if it has not been sent them, or said more before. */
bd_error *bd_outbox_acknowledge(bd_outbox *outbox, uint64_t received) BD_MUST_USE;
/* All that is kept will be written again … */
void bd_outbox_rewind(bd_outbox *outbox);
/* … but for what the peer has; acknowledge came before. */
void bd_outbox_skip(bd_outbox *outbox, uint64_t received);

/* Room for at least size_bytes behind what is queued; then say how many were used. */
uint8_t *bd_outbox_room(bd_outbox *outbox, size_t size_bytes);
void bd_outbox_commit(bd_outbox *outbox, size_t size_bytes);
/* Queues bytes that stay where they are until release(owner). */
void bd_outbox_borrow(bd_outbox *outbox, const uint8_t *bytes, size_t size_bytes,
                      void (*release)(void *owner), void *owner);

/* Writes as much as the stream takes. *out_written: bytes of this call. UNAVAILABLE: the peer is
 * gone. */
bd_error *bd_outbox_write(bd_outbox *outbox, bd_stream *stream,
                          size_t *out_written) BD_MUST_USE;
