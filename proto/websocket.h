/* SPDX-License-Identifier: Apache-2.0
 * Frames of WebSocket (RFC 6455, section 5), without extensions: a decoder that says where bytes
 * of a message lie, in place, or may be read to, and the headers of what is sent. Both sides use
 * it. It does no I/O and allocates nothing.
 * Owned by one thread. Invariant: no length from the peer is acted on before it is checked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"

enum { BD_WS_HEADER_BYTES_MAX = 14, BD_WS_CONTROL_BYTES_MAX = 125, BD_WS_MASK_BYTES = 4 };

typedef enum bd_ws_opcode {
    BD_WS_CONTINUATION = 0,
    BD_WS_TEXT = 1,
    BD_WS_BINARY = 2,
    BD_WS_CLOSE = 8,
    BD_WS_PING = 9,
    BD_WS_PONG = 10,
} bd_ws_opcode;

typedef enum bd_ws_status {
    BD_WS_STATUS_NORMAL = 1000,
    BD_WS_STATUS_GOING_AWAY = 1001,
    BD_WS_STATUS_PROTOCOL = 1002,
    BD_WS_STATUS_UNSUPPORTED = 1003,
    BD_WS_STATUS_NONE = 1005, /* never sent */
    BD_WS_STATUS_POLICY = 1008,
    BD_WS_STATUS_TOO_BIG = 1009,
} bd_ws_status;

typedef enum bd_ws_event {
    BD_WS_EVENT_MORE,    /* all bytes are taken, more are needed */
    BD_WS_EVENT_DATA,    /* some of a message's bytes: data, data_bytes */
    BD_WS_EVENT_END,     /* the message is complete */
    BD_WS_EVENT_CONTROL, /* a close, ping or pong (opcode) with its bytes: data, data_bytes */
} bd_ws_event;

typedef struct bd_ws_decoder {
    const uint8_t *data; /* of DATA: within the bytes fed; of CONTROL: until the next feed */
    size_t data_bytes;
    bd_ws_opcode opcode;    /* of CONTROL */
    bd_ws_status violation; /* after an error: what the close frame shall say */
    /* Private from here on. */
    bool masked; /* frames that come must be, or must not be */
    uint64_t message_bytes_max, message_bytes;
    int state;
    bool in_message, final, control;
    uint64_t left_bytes; /* of the frame's payload */
    uint8_t mask[BD_WS_MASK_BYTES]; /* rotated to the next byte */
    uint8_t gathered_bytes;
    uint8_t header[BD_WS_HEADER_BYTES_MAX];
    uint8_t control_data[BD_WS_CONTROL_BYTES_MAX];
} bd_ws_decoder;

/* from_client: what comes is masked. */
void bd_ws_decoder_init(bd_ws_decoder *decoder, bool from_client, uint64_t message_bytes_max);

/* Takes bytes up to the next event, and unmasks them in place. Call until MORE. After an error the
 * decoder must not be fed.
 * Errors: PROTOCOL for a violation; UNSUPPORTED for text; LIMIT for a message that is too long. */
bd_error *bd_ws_feed(bd_ws_decoder *decoder, uint8_t *bytes, size_t size_bytes, size_t *out_taken,
                     bd_ws_event *out_event) BD_MUST_USE;

/* How many bytes of the message come next, for reading them straight to where they belong; 0
 * between frames. After reading, unmask that many; then feed on (with no bytes, if need be). */
size_t bd_ws_room(const bd_ws_decoder *decoder);
void bd_ws_filled(bd_ws_decoder *decoder, uint8_t *bytes, size_t size_bytes);

/* The status within a CLOSE's bytes; NONE if there is none. */
bd_ws_status bd_ws_close_status(const uint8_t *data, size_t data_bytes);

/* Writes the header of an unfragmented frame; returns its size. mask: NULL, or 4 random bytes. */
size_t bd_ws_header(uint8_t header[BD_WS_HEADER_BYTES_MAX], bd_ws_opcode opcode,
                    uint64_t payload_bytes, const uint8_t *mask);
/* The size of the header that begins with these two bytes, and once it is whole the payload's. */
uint8_t bd_ws_header_bytes(const uint8_t *header);
uint64_t bd_ws_header_length(const uint8_t *header);
/* Masks or unmasks in place; mask is rotated, so that the next bytes can follow. */
void bd_ws_mask(uint8_t mask[BD_WS_MASK_BYTES], uint8_t *bytes, size_t size_bytes);
