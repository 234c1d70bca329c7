/* SPDX-License-Identifier: Apache-2.0
 * Bytes on their way to one peer: small messages are gathered in blocks, tensor bytes are borrowed
 * from their buffer until they are written; one write takes many of both.
 * Owned by a connection; thread: loop. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"
#include "server/stream.h"

typedef struct bd_out_segment {
    uint8_t *block;       /* owned, or NULL: borrowed */
    const uint8_t *bytes; /* what is left to write */
    size_t size_bytes, capacity_bytes;
    void (*release)(void *owner); /* borrowed: called once written or dropped */
    void *owner;
} bd_out_segment;

typedef struct bd_outbox {
    bd_out_segment *segments;
    size_t first, count, capacity;
    size_t bytes; /* of all segments */
    uint8_t *spare; /* one empty block, kept */
} bd_outbox;

void bd_outbox_deinit(bd_outbox *outbox); /* releases what is left */

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
