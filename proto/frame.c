/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/frame.h"

#include <string.h>

#include "proto/base/alloc.h"
#include "proto/base/assert.h"

/* No TLS record or HTTP method begins so; CR LF and 0x1A show a link that changes bytes. */
static const uint8_t magic[8] = {0x89, 'B', 'R', 'N', '\r', '\n', 0x1A, '\n'};

enum { FLAGS_KNOWN = BURN_FRAME_IGNORABLE | BURN_FRAME_ALIGNED };

enum state { STATE_HEADER, STATE_MESSAGE, STATE_PADDING, STATE_PAYLOAD };

static void put_u16(uint8_t *bytes, uint16_t value)
{
    bytes[0] = (uint8_t)value;
    bytes[1] = (uint8_t)(value >> 8);
}

static void put_u32(uint8_t *bytes, uint32_t value)
{
    put_u16(bytes, (uint16_t)value);
    put_u16(bytes + 2, (uint16_t)(value >> 16));
}

static uint16_t get_u16(const uint8_t *bytes)
{
    return (uint16_t)(bytes[0] | bytes[1] << 8);
}

static uint32_t get_u32(const uint8_t *bytes)
{
    return get_u16(bytes) | (uint32_t)get_u16(bytes + 2) << 16;
}

static uint64_t get_u64(const uint8_t *bytes)
{
    return get_u32(bytes) | (uint64_t)get_u32(bytes + 4) << 32;
}

const bd_preface bd_preface_own = {.version_min = BURN_PROTOCOL_VERSION,
                                   .version_max = BURN_PROTOCOL_VERSION};

void bd_preface_encode(const bd_preface *preface, uint8_t bytes[BURN_PREFACE_BYTES])
{
    memcpy(bytes, magic, sizeof magic);
    put_u16(bytes + 8, preface->version_min);
    put_u16(bytes + 10, preface->version_max);
    put_u32(bytes + 12, preface->status);
}

bd_error *bd_preface_decode(const uint8_t bytes[BURN_PREFACE_BYTES], bd_preface *out)
{
    if (memcmp(bytes, magic, sizeof magic) != 0)
        BD_FAIL(PROTOCOL, "the peer does not speak the burnd protocol");
    *out = (bd_preface){.version_min = get_u16(bytes + 8),
                        .version_max = get_u16(bytes + 10),
                        .status = get_u32(bytes + 12)};
    return NULL;
}

bool bd_preface_begins(const uint8_t *bytes, size_t size_bytes)
{
    return memcmp(bytes, magic, size_bytes < sizeof magic ? size_bytes : sizeof magic) == 0;
}

/* Header: message length, type, flags, stream, zero, payload length, two checksums (zero). */
void bd_frame_encode(const bd_frame *frame, uint8_t bytes[BURN_FRAME_HEADER_BYTES])
{
    memset(bytes, 0, BURN_FRAME_HEADER_BYTES);
    put_u32(bytes, frame->message_bytes);
    put_u16(bytes + 4, frame->type);
    put_u16(bytes + 6, frame->flags);
    put_u32(bytes + 8, frame->stream);
    put_u32(bytes + 16, (uint32_t)frame->payload_bytes);
    put_u32(bytes + 20, (uint32_t)(frame->payload_bytes >> 32));
}

bd_error *bd_frame_decode(const uint8_t bytes[BURN_FRAME_HEADER_BYTES], bd_frame *out)
{
    bd_frame frame = {.message_bytes = get_u32(bytes),
                      .type = get_u16(bytes + 4),
                      .flags = get_u16(bytes + 6),
                      .stream = get_u32(bytes + 8),
                      .payload_bytes = get_u64(bytes + 16)};
    if (frame.flags & ~FLAGS_KNOWN)
        BD_FAIL(PROTOCOL, "frame flags 0x%x are not known", frame.flags);
    if (get_u32(bytes + 12) != 0)
        BD_FAIL(PROTOCOL, "the reserved field of a frame is not zero");
    if (get_u64(bytes + 24) != 0)
        BD_FAIL(PROTOCOL, "a frame carries checksums, which were not negotiated");
    if (frame.stream != 0)
        BD_FAIL(PROTOCOL, "stream %u does not exist; there is stream 0 only", frame.stream);
    *out = frame;
    return NULL;
}

size_t bd_frame_padding(const bd_frame *frame)
{
    if (!(frame->flags & BURN_FRAME_ALIGNED))
        return 0;
    size_t used = BURN_FRAME_HEADER_BYTES + (size_t)frame->message_bytes;
    return (BURN_ALIGNMENT_BYTES - used % BURN_ALIGNMENT_BYTES) % BURN_ALIGNMENT_BYTES;
}

uint64_t bd_frame_bytes(const bd_frame *frame)
{
    return BURN_FRAME_HEADER_BYTES + (uint64_t)frame->message_bytes + bd_frame_padding(frame) +
           frame->payload_bytes;
}

uint64_t bd_frame_cost(const bd_frame *frame)
{
    uint64_t bytes = bd_frame_bytes(frame);
    return bytes < BURN_FRAME_COST_MIN ? BURN_FRAME_COST_MIN : bytes;
}

void bd_frame_parser_init(bd_frame_parser *parser, uint32_t message_bytes_max,
                          uint32_t payload_bytes_max)
{
    *parser = (bd_frame_parser){.message_bytes_max = message_bytes_max,
                                .payload_bytes_max = payload_bytes_max,
                                .state = STATE_HEADER};
}

void bd_frame_parser_deinit(bd_frame_parser *parser)
{
    bd_free(parser->message_buffer);
    parser->message_buffer = NULL;
    parser->message_capacity = 0;
}

/* Copies into a part of part_bytes at target; true when the part is complete. */
static bool collect(bd_frame_parser *parser, uint8_t *target, uint32_t part_bytes,
                    const uint8_t *bytes, size_t size_bytes, size_t *taken)
{
    size_t want = part_bytes - parser->have_bytes;
    size_t available = size_bytes - *taken;
    size_t count = want < available ? want : available;
    if (count)
        memcpy(target + parser->have_bytes, bytes + *taken, count);
    *taken += count;
    parser->have_bytes += (uint32_t)count;
    return parser->have_bytes == part_bytes;
}

static bd_error *begin_message(bd_frame_parser *parser, const uint8_t *header)
{
    bd_frame frame;
    BD_TRY(bd_frame_decode(header, &frame));
    if (frame.message_bytes > parser->message_bytes_max)
        BD_FAIL(PROTOCOL, "a message of %u bytes is above the limit of %u", frame.message_bytes,
                parser->message_bytes_max);
    if (frame.payload_bytes > parser->payload_bytes_max)
        BD_FAIL(PROTOCOL, "a payload of %llu bytes is above the limit of %u",
                (unsigned long long)frame.payload_bytes, parser->payload_bytes_max);
    parser->frame = frame;
    parser->padding_bytes = (uint32_t)bd_frame_padding(&frame);
    parser->payload_left_bytes = frame.payload_bytes;
    parser->payload = NULL;
    parser->have_bytes = 0;
    parser->state = STATE_MESSAGE;
    return NULL;
}

static bd_error *feed_header(bd_frame_parser *parser, const uint8_t *bytes, size_t size_bytes,
                             size_t *taken)
{
    if (parser->have_bytes == 0 && size_bytes - *taken >= BURN_FRAME_HEADER_BYTES) {
        BD_TRY(begin_message(parser, bytes + *taken));
        *taken += BURN_FRAME_HEADER_BYTES;
        return NULL;
    }
    if (collect(parser, parser->header, BURN_FRAME_HEADER_BYTES, bytes, size_bytes, taken))
        return begin_message(parser, parser->header);
    return NULL;
}

/* True when the message is complete; it is used in place when it came in one piece. */
static bool feed_message(bd_frame_parser *parser, const uint8_t *bytes, size_t size_bytes,
                         size_t *taken)
{
    uint32_t wanted = parser->frame.message_bytes;
    if (parser->have_bytes == 0 && size_bytes - *taken >= wanted) {
        parser->message = wanted ? bytes + *taken : parser->header;
        *taken += wanted;
        return true;
    }
    if (parser->message_capacity < wanted) {
        bd_free(parser->message_buffer);
        parser->message_buffer = bd_alloc(wanted);
        parser->message_capacity = wanted;
    }
    parser->message = parser->message_buffer;
    return collect(parser, parser->message_buffer, wanted, bytes, size_bytes, taken);
}

static bd_error *feed_padding(bd_frame_parser *parser, const uint8_t *bytes, size_t size_bytes,
                              size_t *taken)
{
    while (parser->padding_bytes && *taken < size_bytes) {
        if (bytes[(*taken)++] != 0)
            BD_FAIL(PROTOCOL, "the padding of a frame is not zero");
        parser->padding_bytes--;
    }
    if (!parser->padding_bytes)
        parser->state = STATE_PAYLOAD;
    return NULL;
}

/* True when the payload is complete. */
static bool feed_payload(bd_frame_parser *parser, const uint8_t *bytes, size_t size_bytes,
                         size_t *taken)
{
    size_t available = size_bytes - *taken;
    size_t count =
        parser->payload_left_bytes < available ? (size_t)parser->payload_left_bytes : available;
    if (parser->payload && count) {
        memcpy(parser->payload, bytes + *taken, count);
        parser->payload += count;
    }
    *taken += count;
    parser->payload_left_bytes -= count;
    return parser->payload_left_bytes == 0;
}

bd_error *bd_frame_parser_feed(bd_frame_parser *parser, const uint8_t *bytes, size_t size_bytes,
                               size_t *out_taken, bd_frame_event *out_event)
{
    size_t taken = 0;
    bd_frame_event event = BD_FRAME_MORE;
    do {
        switch ((enum state)parser->state) {
        case STATE_HEADER:
            BD_TRY(feed_header(parser, bytes, size_bytes, &taken));
            break;
        case STATE_MESSAGE:
            if (feed_message(parser, bytes, size_bytes, &taken)) {
                event = BD_FRAME_MESSAGE;
                parser->state = STATE_PADDING;
            }
            break;
        case STATE_PADDING:
            BD_TRY(feed_padding(parser, bytes, size_bytes, &taken));
            break;
        case STATE_PAYLOAD:
            if (feed_payload(parser, bytes, size_bytes, &taken)) {
                event = BD_FRAME_DONE;
                parser->have_bytes = 0;
                parser->state = STATE_HEADER;
            }
            break;
        }
    } while (event == BD_FRAME_MORE &&
             (taken < size_bytes ||
              (parser->state == STATE_MESSAGE && parser->frame.message_bytes == 0) ||
              (parser->state == STATE_PADDING && parser->padding_bytes == 0) ||
              (parser->state == STATE_PAYLOAD && parser->payload_left_bytes == 0)));
    *out_taken = taken;
    *out_event = event;
    return NULL;
}

bool bd_frame_parser_is_within(const bd_frame_parser *parser)
{
    return parser->state != STATE_HEADER || parser->have_bytes > 0;
}

void bd_frame_parser_set_payload(bd_frame_parser *parser, uint8_t *payload)
{
    BD_ASSERT(parser->state == STATE_PADDING || parser->state == STATE_PAYLOAD);
    parser->payload = payload;
}

size_t bd_frame_parser_room(const bd_frame_parser *parser, uint8_t **out_place)
{
    if (parser->state != STATE_PAYLOAD || !parser->payload)
        return 0;
    *out_place = parser->payload;
    return (size_t)parser->payload_left_bytes;
}

void bd_frame_parser_filled(bd_frame_parser *parser, size_t size_bytes)
{
    BD_ASSERT(parser->state == STATE_PAYLOAD && size_bytes <= parser->payload_left_bytes);
    if (parser->payload)
        parser->payload += size_bytes;
    parser->payload_left_bytes -= size_bytes;
}

uint64_t bd_frame_parser_left(const bd_frame_parser *parser)
{
    return parser->state == STATE_PAYLOAD ? parser->payload_left_bytes : 0;
}

bool bd_frame_parser_between(const bd_frame_parser *parser)
{
    return parser->state == STATE_HEADER && parser->have_bytes == 0;
}
