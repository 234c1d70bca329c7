/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/websocket.h"

#include <inttypes.h>
#include <string.h>

enum state { STATE_HEADER, STATE_PAYLOAD, STATE_END };

enum { FIN = 0x80, RESERVED = 0x70, OPCODE = 0x0F, MASKED = 0x80, LENGTH = 0x7F };

void bd_ws_mask(uint8_t mask[BD_WS_MASK_BYTES], uint8_t *bytes, size_t size_bytes)
{
    uint64_t wide;
    memcpy(&wide, mask, BD_WS_MASK_BYTES);
    memcpy((uint8_t *)&wide + BD_WS_MASK_BYTES, mask, BD_WS_MASK_BYTES);
    size_t i = 0;
    for (; i + sizeof wide <= size_bytes; i += sizeof wide) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof word);
        word ^= wide;
        memcpy(bytes + i, &word, sizeof word);
    }
    size_t rest = size_bytes - i;
    for (size_t j = 0; j < rest; j++)
        bytes[i + j] ^= mask[j % BD_WS_MASK_BYTES];
    for (size_t j = 0; j < BD_WS_MASK_BYTES; j++) /* the second half of wide repeats the first */
        mask[j] = ((const uint8_t *)&wide)[rest % BD_WS_MASK_BYTES + j];
}

size_t bd_ws_header(uint8_t header[BD_WS_HEADER_BYTES_MAX], bd_ws_opcode opcode,
                    uint64_t payload_bytes, const uint8_t *mask)
{
    size_t length_bytes = payload_bytes < 126 ? 0 : payload_bytes <= UINT16_MAX ? 2 : 8;
    header[0] = (uint8_t)(FIN | (unsigned)opcode);
    header[1] = (uint8_t)(length_bytes == 0   ? payload_bytes
                          : length_bytes == 2 ? 126u
                                              : 127u);
    for (size_t i = 0; i < length_bytes; i++)
        header[2 + i] = (uint8_t)(payload_bytes >> 8 * (length_bytes - 1 - i));
    if (!mask)
        return 2 + length_bytes;
    header[1] |= MASKED;
    memcpy(header + 2 + length_bytes, mask, BD_WS_MASK_BYTES);
    return 2 + length_bytes + BD_WS_MASK_BYTES;
}

void bd_ws_decoder_init(bd_ws_decoder *decoder, bool from_client, uint64_t message_bytes_max)
{
    *decoder = (bd_ws_decoder){.masked = from_client,
                               .message_bytes_max = message_bytes_max,
                               .violation = BD_WS_STATUS_PROTOCOL,
                               .state = STATE_HEADER};
}

uint8_t bd_ws_header_bytes(const uint8_t *header)
{
    uint8_t length = header[1] & LENGTH;
    return (uint8_t)(2 + (length == 126   ? 2
                          : length == 127 ? 8
                                          : 0) +
                     (header[1] & MASKED ? BD_WS_MASK_BYTES : 0));
}

uint64_t bd_ws_header_length(const uint8_t *header)
{
    uint8_t length = header[1] & LENGTH;
    size_t length_bytes = length == 126 ? 2 : length == 127 ? 8 : 0;
    uint64_t value = length_bytes ? 0 : length;
    for (size_t i = 0; i < length_bytes; i++)
        value = value << 8 | header[2 + i];
    return value;
}

/* What the first two bytes say, as soon as they are there. */
static bd_error *check_head(bd_ws_decoder *decoder)
{
    uint8_t opcode = decoder->header[0] & OPCODE;
    bool control = opcode >= BD_WS_CLOSE;
    if (decoder->header[0] & RESERVED)
        BD_FAIL(PROTOCOL, "a WebSocket frame has reserved bits; no extension was negotiated");
    if (opcode > BD_WS_PONG || (opcode > BD_WS_BINARY && !control))
        BD_FAIL(PROTOCOL, "a WebSocket frame has the reserved opcode %u", opcode);
    if (((decoder->header[1] & MASKED) != 0) != decoder->masked)
        BD_FAIL(PROTOCOL, "a WebSocket frame is %s", decoder->masked ? "not masked" : "masked");
    if (control && (!(decoder->header[0] & FIN) ||
                    (decoder->header[1] & LENGTH) > BD_WS_CONTROL_BYTES_MAX))
        BD_FAIL(PROTOCOL, "a control frame of WebSocket is fragmented, or longer than %d bytes",
                BD_WS_CONTROL_BYTES_MAX);
    if (opcode == BD_WS_TEXT && !decoder->in_message) {
        decoder->violation = BD_WS_STATUS_UNSUPPORTED;
        BD_FAIL(UNSUPPORTED, "a WebSocket message is text; burnd speaks binary messages only");
    }
    if (!control && (opcode == BD_WS_CONTINUATION) != decoder->in_message)
        BD_FAIL(PROTOCOL, "%s", decoder->in_message
                                    ? "a WebSocket message begins within another"
                                    : "a continuation of WebSocket continues no message");
    return NULL;
}

static bd_error *begin_frame(bd_ws_decoder *decoder)
{
    const uint8_t *header = decoder->header;
    uint64_t length = bd_ws_header_length(header);
    uint8_t form = header[1] & LENGTH;
    if ((form == 126 && length < 126) || (form == 127 && length <= UINT16_MAX))
        BD_FAIL(PROTOCOL, "the length of a WebSocket frame is not in its shortest form");
    if (length > INT64_MAX)
        BD_FAIL(PROTOCOL, "the length of a WebSocket frame has its highest bit set");
    decoder->control = (header[0] & OPCODE) >= BD_WS_CLOSE;
    if (!decoder->control) {
        if (!decoder->in_message)
            decoder->message_bytes = 0;
        decoder->in_message = true;
        decoder->final = (header[0] & FIN) != 0;
        if (length > decoder->message_bytes_max - decoder->message_bytes) {
            decoder->violation = BD_WS_STATUS_TOO_BIG;
            BD_FAIL(LIMIT, "a WebSocket message has more than %" PRIu64 " bytes",
                    decoder->message_bytes_max);
        }
        decoder->message_bytes += length;
    }
    if (decoder->masked)
        memcpy(decoder->mask, header + bd_ws_header_bytes(header) - BD_WS_MASK_BYTES,
               BD_WS_MASK_BYTES);
    decoder->left_bytes = length;
    decoder->gathered_bytes = 0;
    decoder->state = length ? STATE_PAYLOAD : STATE_END;
    return NULL;
}

/* Gathers the header; *taken grows. True once it is complete. */
static bd_error *take_header(bd_ws_decoder *decoder, const uint8_t *bytes, size_t size,
                             size_t *taken)
{
    while (*taken < size) {
        decoder->header[decoder->gathered_bytes++] = bytes[(*taken)++];
        if (decoder->gathered_bytes == 2)
            BD_TRY(check_head(decoder));
        if (decoder->gathered_bytes >= 2 &&
            decoder->gathered_bytes == bd_ws_header_bytes(decoder->header))
            return begin_frame(decoder);
    }
    return NULL;
}

static bd_error *check_close(const bd_ws_decoder *decoder)
{
    if (decoder->opcode != BD_WS_CLOSE || decoder->data_bytes == 0)
        return NULL;
    unsigned status = bd_ws_close_status(decoder->data, decoder->data_bytes);
    bool defined = (status >= 1000 && status <= 1003) || (status >= 1007 && status <= 1014) ||
                   (status >= 3000 && status <= 4999);
    if (!defined)
        BD_FAIL(PROTOCOL, "a close frame of WebSocket has no valid status");
    return NULL;
}

bd_ws_status bd_ws_close_status(const uint8_t *data, size_t data_bytes)
{
    return data_bytes < 2 ? BD_WS_STATUS_NONE : (bd_ws_status)(data[0] << 8 | data[1]);
}

void bd_ws_filled(bd_ws_decoder *decoder, uint8_t *bytes, size_t size_bytes)
{
    if (decoder->masked)
        bd_ws_mask(decoder->mask, bytes, size_bytes);
    decoder->left_bytes -= size_bytes;
    if (!decoder->left_bytes)
        decoder->state = STATE_END;
}

size_t bd_ws_room(const bd_ws_decoder *decoder)
{
    return decoder->state == STATE_PAYLOAD && !decoder->control ? (size_t)decoder->left_bytes : 0;
}

/* Some of the payload; true if it is an event: bytes of a message. */
static bool take_payload(bd_ws_decoder *decoder, uint8_t *bytes, size_t size, size_t *taken)
{
    size_t part = size - *taken;
    if (part > decoder->left_bytes)
        part = (size_t)decoder->left_bytes;
    uint8_t *at = bytes + *taken;
    *taken += part;
    bd_ws_filled(decoder, at, part);
    if (!decoder->control) {
        decoder->data = at;
        decoder->data_bytes = part;
        return true;
    }
    memcpy(decoder->control_data + decoder->gathered_bytes, at, part);
    decoder->gathered_bytes = (uint8_t)(decoder->gathered_bytes + part);
    return false;
}

/* The frame's payload is complete. */
static bd_ws_event end_frame(bd_ws_decoder *decoder)
{
    size_t control_bytes = decoder->gathered_bytes;
    decoder->state = STATE_HEADER;
    decoder->gathered_bytes = 0;
    if (decoder->control) {
        decoder->opcode = (bd_ws_opcode)(decoder->header[0] & OPCODE);
        decoder->data = decoder->control_data;
        decoder->data_bytes = control_bytes;
        return BD_WS_EVENT_CONTROL;
    }
    decoder->in_message = !decoder->final;
    return decoder->final ? BD_WS_EVENT_END : BD_WS_EVENT_MORE;
}

bd_error *bd_ws_feed(bd_ws_decoder *decoder, uint8_t *bytes, size_t size_bytes, size_t *out_taken,
                     bd_ws_event *out_event)
{
    size_t taken = 0;
    bd_ws_event event = BD_WS_EVENT_MORE;
    while (event == BD_WS_EVENT_MORE && (taken < size_bytes || decoder->state == STATE_END)) {
        if (decoder->state == STATE_HEADER)
            BD_TRY(take_header(decoder, bytes, size_bytes, &taken));
        else if (decoder->state == STATE_END)
            event = end_frame(decoder);
        else if (take_payload(decoder, bytes, size_bytes, &taken))
            event = BD_WS_EVENT_DATA;
        if (event == BD_WS_EVENT_CONTROL)
            BD_TRY(check_close(decoder));
    }
    *out_taken = taken;
    *out_event = event;
    return NULL;
}
