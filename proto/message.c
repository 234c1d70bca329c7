/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/message.h"

#include <string.h>

#include "proto/base/utf8.h"
#include "proto/pack.h"

enum { FROM_CLIENT = 1, FROM_DAEMON = 2, FROM_BOTH = 3 };
enum { CREDIT_CONTROL = 0, CREDIT_SPEND = 1 };
enum { ALIGN_PLAIN = 0, ALIGN_ALIGNED = 1 };

/* COUNT_HELLO and so on: how many fields the array has. */
#define BEGIN(NAME, number, member, direction, credit, payload, alignment, says)                   \
    enum { COUNT_##NAME = 0
#define FIELD(kind, field, says) +1
#define END(NAME) };
#include "proto/messages.def"

const bd_message_facts *bd_message_lookup(int type)
{
    static const bd_message_facts facts[] = {
#define BEGIN(NAME, number, member, direction, credit, payload, alignment, says)                   \
    [number] = {#NAME, (bd_message_direction)FROM_##direction, CREDIT_##credit, ALIGN_##alignment, \
                payload},
#define FIELD(kind, field, says)
#define END(NAME)
#include "proto/messages.def"
    };
    int count = (int)(sizeof facts / sizeof *facts);
    return type > 0 && type < count && facts[type].name ? &facts[type] : NULL;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_uint(bd_pack *pack, const uint64_t *value)
{
    bd_pack_int(pack, (int64_t)*value);
}

static void write_int(bd_pack *pack, const int64_t *value)
{
    bd_pack_int(pack, *value);
}

static void write_flag(bd_pack *pack, const bool *value)
{
    bd_pack_bool(pack, *value);
}

/* The beginning that fits, of whole characters. */
static size_t fitting(const bd_text *text, size_t bytes_max)
{
    return text->size_bytes <= bytes_max ? text->size_bytes : bd_utf8_whole(text->bytes, bytes_max);
}

static void write_text(bd_pack *pack, const bd_text *text)
{
    bd_pack_str_bytes(pack, text->bytes, fitting(text, BURN_TEXT_BYTES_MAX));
}

static void write_texts(bd_pack *pack, const bd_texts *texts)
{
    bd_pack_array(pack, texts->count);
    for (uint32_t i = 0; i < texts->count; i++)
        write_text(pack, &texts->items[i]);
}

static void write_dtype(bd_pack *pack, const burn_dtype *dtype)
{
    bd_pack_int(pack, *dtype);
}

static void write_shape(bd_pack *pack, const burn_shape *shape)
{
    bd_pack_array(pack, (uint32_t)shape->rank);
    for (int32_t i = 0; i < shape->rank; i++)
        bd_pack_int(pack, shape->dims[i]);
}

#define WRITE_ID write_uint
#define WRITE_UINT write_uint
#define WRITE_INT write_int
#define WRITE_FLAG write_flag
#define WRITE_TEXT write_text
#define WRITE_TEXTS write_texts
#define WRITE_DTYPE write_dtype
#define WRITE_SHAPE write_shape

#define BEGIN(NAME, number, member, direction, credit, payload, alignment, says)                   \
    static void write_##NAME(const struct bd_message_##member *message, bd_pack *pack)             \
    {                                                                                              \
        bd_pack_array(pack, COUNT_##NAME);
#define FIELD(kind, field, says) WRITE_##kind(pack, &message->field);
#define END(NAME) }
#include "proto/messages.def"

size_t bd_message_encode(const bd_message *message, uint64_t payload_bytes, uint8_t *bytes,
                         size_t capacity)
{
    bd_pack pack = {.bytes = bytes, .capacity = capacity};
    if (capacity > BURN_FRAME_HEADER_BYTES) {
        pack.bytes += BURN_FRAME_HEADER_BYTES;
        pack.capacity -= BURN_FRAME_HEADER_BYTES;
    } else {
        pack.capacity = 0;
    }
    bool aligned = false;
    switch (message->type) {
    case BD_MESSAGE_NONE:
        return 0;
#define BEGIN(NAME, number, member, direction, credit, payload, alignment, says)                   \
    case BD_MESSAGE_##NAME:                                                                        \
        write_##NAME(&message->member, &pack);                                                     \
        aligned = ALIGN_##alignment;                                                               \
        break;
#define FIELD(kind, field, says)
#define END(NAME)
#include "proto/messages.def"
    }
    bd_frame frame = {.type = (uint16_t)message->type,
                      .flags = aligned && payload_bytes ? BURN_FRAME_ALIGNED : 0,
                      .message_bytes = (uint32_t)pack.used,
                      .payload_bytes = payload_bytes};
    size_t padding = bd_frame_padding(&frame);
    size_t total = BURN_FRAME_HEADER_BYTES + pack.used + padding;
    if (total <= capacity) {
        bd_frame_encode(&frame, bytes);
        memset(bytes + BURN_FRAME_HEADER_BYTES + pack.used, 0, padding);
    }
    return total;
}

size_t bd_message_begin(const bd_message *message, uint8_t bytes[BD_MESSAGE_BEGIN_BYTES_MAX])
{
    bd_preface_encode(&bd_preface_own, bytes);
    return BURN_PREFACE_BYTES +
           bd_message_encode(message, 0, bytes + BURN_PREFACE_BYTES, BD_MESSAGE_FRAME_BYTES_MAX);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bd_error *read_uint(bd_unpack *unpack, uint64_t *out)
{
    int64_t value;
    BD_TRY(bd_unpack_int_in(unpack, 0, INT64_MAX, &value));
    *out = (uint64_t)value;
    return NULL;
}

static bd_error *read_id(bd_unpack *unpack, uint64_t *out)
{
    int64_t value;
    BD_TRY(bd_unpack_int_in(unpack, 1, (int64_t)BURN_ID_MAX, &value));
    *out = (uint64_t)value;
    return NULL;
}

static bd_error *read_int(bd_unpack *unpack, int64_t *out)
{
    return bd_unpack_int(unpack, out);
}

static bd_error *read_flag(bd_unpack *unpack, bool *out)
{
    return bd_unpack_bool(unpack, out);
}

static bd_error *read_text(bd_unpack *unpack, bd_text *out)
{
    bd_text text;
    BD_TRY(bd_unpack_str(unpack, &text.bytes, &text.size_bytes));
    if (text.size_bytes > BURN_TEXT_BYTES_MAX)
        BD_FAIL(PROTOCOL, "%zu bytes of text are above the limit of %d", text.size_bytes,
                BURN_TEXT_BYTES_MAX);
    *out = text;
    return NULL;
}

static bd_error *read_texts(bd_unpack *unpack, bd_texts *out)
{
    uint32_t count;
    BD_TRY(bd_unpack_array(unpack, &count));
    if (count > BURN_TEXTS_COUNT_MAX)
        BD_FAIL(PROTOCOL, "%u texts are above the limit of %d", count, BURN_TEXTS_COUNT_MAX);
    for (uint32_t i = 0; i < count; i++)
        BD_TRY(read_text(unpack, &out->items[i]));
    out->count = count;
    return NULL;
}

static bd_error *read_dtype(bd_unpack *unpack, burn_dtype *out)
{
    int64_t value;
    BD_TRY(bd_unpack_int_in(unpack, 0, UINT8_MAX, &value));
    if (!burn_dtype_valid((int)value))
        BD_FAIL(PROTOCOL, "there is no dtype %d", (int)value);
    *out = (burn_dtype)value;
    return NULL;
}

static bd_error *read_shape(bd_unpack *unpack, burn_shape *out)
{
    uint32_t rank;
    BD_TRY(bd_unpack_array(unpack, &rank));
    if (rank > BURN_RANK_MAX)
        BD_FAIL(PROTOCOL, "rank %u is above the limit of %d", rank, BURN_RANK_MAX);
    for (uint32_t i = 0; i < rank; i++)
        BD_TRY(bd_unpack_int_in(unpack, 0, INT64_MAX, &out->dims[i]));
    out->rank = (int32_t)rank;
    return NULL;
}

#define READ_ID read_id
#define READ_UINT read_uint
#define READ_INT read_int
#define READ_FLAG read_flag
#define READ_TEXT read_text
#define READ_TEXTS read_texts
#define READ_DTYPE read_dtype
#define READ_SHAPE read_shape

#define BEGIN(NAME, number, member, direction, credit, payload, alignment, says)                   \
    static bd_error *read_##NAME(bd_unpack *unpack, struct bd_message_##member *out)               \
    {                                                                                              \
        BD_TRY(bd_unpack_array_of(unpack, COUNT_##NAME));
#define FIELD(kind, field, says) BD_TRY_NOTE(READ_##kind(unpack, &out->field), #field);
#define END(NAME)                                                                                  \
        return bd_unpack_finish(unpack);                                                           \
    }
#include "proto/messages.def"

static bd_error *check_frame(const bd_frame *frame, const bd_message_facts *facts,
                             bd_message_direction from)
{
    if (!(facts->direction & from))
        BD_FAIL(PROTOCOL, "%s does not come from this side", facts->name);
    if (frame->payload_bytes > facts->payload_bytes_max)
        BD_FAIL(PROTOCOL, "%s: a payload of %llu bytes is above the limit of %u", facts->name,
                (unsigned long long)frame->payload_bytes, facts->payload_bytes_max);
    bool aligned = frame->flags & BURN_FRAME_ALIGNED;
    if (aligned != (facts->aligned && frame->payload_bytes > 0))
        BD_FAIL(PROTOCOL, "%s: the payload is %saligned", facts->name, aligned ? "" : "not ");
    return NULL;
}

bd_error *bd_message_decode(const bd_frame *frame, const uint8_t *bytes, bd_message_direction from,
                            bd_message *out)
{
    const bd_message_facts *facts = bd_message_lookup(frame->type);
    if (!facts)
        BD_FAIL(PROTOCOL, "message type %u is not known", frame->type);
    BD_TRY(check_frame(frame, facts, from));
    bd_unpack unpack = {.cursor = bytes, .end = bytes + frame->message_bytes};
    out->type = (bd_message_type)frame->type;
    switch (out->type) {
    case BD_MESSAGE_NONE:
        break;
#define BEGIN(NAME, number, member, direction, credit, payload, alignment, says)                   \
    case BD_MESSAGE_##NAME:                                                                        \
        BD_TRY_NOTE(read_##NAME(&unpack, &out->member), #NAME);                                    \
        break;
#define FIELD(kind, field, says)
#define END(NAME)
#include "proto/messages.def"
    }
    return NULL;
}

/* ---- texts ----------------------------------------------------------------------------------- */

bd_text bd_text_of(const char *text)
{
    return (bd_text){.bytes = text ? text : "", .size_bytes = text ? strlen(text) : 0};
}

bool bd_text_equal(bd_text a, const char *b)
{
    return strlen(b) == a.size_bytes && memcmp(a.bytes, b, a.size_bytes) == 0;
}

char *bd_text_copy(bd_text text, char *room, size_t room_bytes)
{
    size_t size = fitting(&text, room_bytes - 1);
    if (size)
        memcpy(room, text.bytes, size);
    room[size] = '\0';
    return room;
}
