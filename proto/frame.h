/* SPDX-License-Identifier: Apache-2.0
 * Frames: the 16-byte preface, the 32-byte header, and an incremental parser that says where
 * payload bytes shall go before they are read. Both sides use it. It does no I/O and allocates
 * only the buffer of a message that arrives in pieces, never more than message_bytes_max.
 * Owned by one thread. Invariant: no length from the peer is acted on before it is checked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"
#include "proto/limits.h"

/* ---- preface --------------------------------------------------------------------------------- */

typedef struct bd_preface {
    uint16_t version_min, version_max;
    uint32_t status; /* of the daemon's answer: 0, or a bd_code with the range that it speaks */
} bd_preface;

extern const bd_preface bd_preface_own; /* the version that this build speaks */

void bd_preface_encode(const bd_preface *preface, uint8_t bytes[BURN_PREFACE_BYTES]);
/* PROTOCOL if the magic is wrong. */
bd_error *bd_preface_decode(const uint8_t bytes[BURN_PREFACE_BYTES], bd_preface *out) BD_MUST_USE;
/* True if these first bytes (fewer than 16, too) can still become a preface. */
bool bd_preface_begins(const uint8_t *bytes, size_t size_bytes);

/* ---- header ---------------------------------------------------------------------------------- */

typedef enum bd_frame_flags {
    BURN_FRAME_IGNORABLE = 1, /* a receiver that does not know the type skips the frame */
    BURN_FRAME_ALIGNED = 2,   /* zeros before the payload, so that it begins at a multiple of 64 */
} bd_frame_flags;

typedef struct bd_frame {
    uint16_t type, flags;
    uint32_t stream;        /* 0 */
    uint32_t message_bytes; /* the msgpack header after these 32 bytes */
    uint64_t payload_bytes;
} bd_frame;

void bd_frame_encode(const bd_frame *frame, uint8_t bytes[BURN_FRAME_HEADER_BYTES]);
/* PROTOCOL for reserved bits, checksums that were not negotiated and unknown flags. */
bd_error *bd_frame_decode(const uint8_t bytes[BURN_FRAME_HEADER_BYTES], bd_frame *out) BD_MUST_USE;
/* Zeros between message and payload. */
size_t bd_frame_padding(const bd_frame *frame);
/* All bytes of the frame. */
uint64_t bd_frame_bytes(const bd_frame *frame);
/* What a frame whose message spends credit costs: its bytes, and at least BURN_FRAME_COST_MIN, so
 * that credit bounds the number of frames, too. */
uint64_t bd_frame_cost(const bd_frame *frame);

/* ---- parser ---------------------------------------------------------------------------------- */

typedef enum bd_frame_event {
    BD_FRAME_MORE,    /* all bytes are taken, more are needed */
    BD_FRAME_MESSAGE, /* frame and message are there; say where the payload goes, then feed on */
    BD_FRAME_DONE,    /* the payload is complete */
} bd_frame_event;

typedef struct bd_frame_parser {
    bd_frame frame;         /* valid from MESSAGE to DONE */
    const uint8_t *message; /* frame.message_bytes long; valid from MESSAGE until the next feed */
    uint32_t message_bytes_max;
    uint32_t payload_bytes_max;
    /* Private from here on. */
    int state;
    uint32_t have_bytes; /* of the current part */
    uint32_t padding_bytes;
    uint64_t payload_left_bytes;
    uint8_t *payload;
    uint8_t *message_buffer; /* holds a message that came in pieces */
    uint32_t message_capacity;
    uint8_t header[BURN_FRAME_HEADER_BYTES];
} bd_frame_parser;

void bd_frame_parser_init(bd_frame_parser *parser, uint32_t message_bytes_max,
                          uint32_t payload_bytes_max);
void bd_frame_parser_deinit(bd_frame_parser *parser);

/* Takes bytes up to the next event. Call until MORE. After an error the parser must not be fed.
 * Errors: PROTOCOL (bad header, lengths above the maxima, padding that is not zero). */
bd_error *bd_frame_parser_feed(bd_frame_parser *parser, const uint8_t *bytes, size_t size_bytes,
                               size_t *out_taken, bd_frame_event *out_event) BD_MUST_USE;

/* Whether a frame has begun and is not complete. */
bool bd_frame_parser_is_within(const bd_frame_parser *parser);

/* After MESSAGE: where the frame's payload goes; NULL (the default) drops it. */
void bd_frame_parser_set_payload(bd_frame_parser *parser, uint8_t *payload);

/* The rest of the place for the payload, for reading straight into it; 0 bytes when no payload is
 * awaited or it is dropped. After reading, say how much; then feed (with no bytes, if need be). */
size_t bd_frame_parser_room(const bd_frame_parser *parser, uint8_t **out_place);
/* Bytes of the payload that are still awaited, wherever they go; 0 outside of one. */
uint64_t bd_frame_parser_left(const bd_frame_parser *parser);
void bd_frame_parser_filled(bd_frame_parser *parser, size_t size_bytes);
/* True if the next byte is the first of a frame. */
bool bd_frame_parser_between(const bd_frame_parser *parser);
