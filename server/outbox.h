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

/* Where a byte that the peer counts stands. */
typedef struct bd_out_place {
    uint64_t counted;      /* such bytes before it */
    uint64_t offset;       /* all bytes before it */
    uint64_t message_left; /* WebSocket: bytes of its message from it on; 0: it begins one */
} bd_out_place;

typedef struct bd_outbox {
    bd_out_segment *segments;
    size_t first, count, capacity;
    size_t bytes; /* of all segments */
    uint8_t *spare; /* one empty block, kept */
    bool keeps;     /* what is written, until the peer says that it has it */
    BD_VEC(bd_out_segment) kept;
    size_t kept_bytes;
    uint64_t kept_from, written; /* offsets */
    bool in_messages;            /* only the bytes within binary messages of a WebSocket count */
    bd_out_place acknowledged;
} bd_outbox;

void bd_outbox_deinit(bd_outbox *outbox); /* releases what is left */

/* From here on bytes are counted, and kept when they are written. in_messages: as the field. */
void bd_outbox_keep(bd_outbox *outbox, bool in_messages);
/* The peer has so many of them, or as many as it said before. PROTOCOL if it was not sent them. */
bd_error *bd_outbox_acknowledge(bd_outbox *outbox, uint64_t received) BD_MUST_USE;
/* What the peer has not acknowledged will be written again. */
void bd_outbox_rewind(bd_outbox *outbox);

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
