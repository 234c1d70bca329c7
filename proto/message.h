/* SPDX-License-Identifier: Apache-2.0
 * Messages: the msgpack header of a frame as a plain struct, generated from messages.def, with
 * encoder and decoder. No allocation: texts of a decoded message point into the received bytes.
 * Pure functions; thread: any. Invariant: decode(encode(m)) = m. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/error.h"
#include "proto/dtype.h"
#include "proto/frame.h"
#include "proto/limits.h"
#include "proto/shape.h"

/* Not terminated, borrowed. */
typedef struct bd_text {
    const char *bytes;
    size_t size_bytes;
} bd_text;

typedef struct bd_texts {
    uint32_t count;
    bd_text items[BURN_TEXTS_COUNT_MAX];
} bd_texts;

typedef enum bd_message_type {
    BD_MESSAGE_NONE = 0,
#define BEGIN(NAME, number, member, direction, credit, payload, alignment, says)                   \
    BD_MESSAGE_##NAME = number,
#define FIELD(kind, field, says)
#define END(NAME)
#include "proto/messages.def"
} bd_message_type;

/* The C type of each kind of field. */
#define BD_FIELD_ID uint64_t
#define BD_FIELD_UINT uint64_t
#define BD_FIELD_INT int64_t
#define BD_FIELD_FLAG bool
#define BD_FIELD_TEXT bd_text
#define BD_FIELD_TEXTS bd_texts
#define BD_FIELD_DTYPE burn_dtype
#define BD_FIELD_SHAPE burn_shape

/* struct bd_message_hello and so on. */
#define BEGIN(NAME, number, member, direction, credit, payload, alignment, says)                   \
    struct bd_message_##member {
#define FIELD(kind, field, says) BD_FIELD_##kind field;
#define END(NAME) };
#include "proto/messages.def"

typedef struct bd_message {
    bd_message_type type;
    union {
#define BEGIN(NAME, number, member, direction, credit, payload, alignment, says)                   \
    struct bd_message_##member member;
#define FIELD(kind, field, says)
#define END(NAME)
#include "proto/messages.def"
    };
} bd_message;

typedef enum bd_message_direction {
    BD_MESSAGE_FROM_CLIENT = 1,
    BD_MESSAGE_FROM_DAEMON = 2,
    BD_MESSAGE_FROM_BOTH = 3,
} bd_message_direction;

typedef struct bd_message_facts {
    const char *name; /* "PUT_DATA" */
    bd_message_direction direction;
    bool spends_credit;
    bool aligned;
    uint32_t payload_bytes_max;
} bd_message_facts;

/* NULL if the number is unknown. */
const bd_message_facts *bd_message_lookup(int type);

/* Bytes that frame header, message and padding of any message fit into, but for WELCOME and HELLO
 * with long lists of texts. */
enum { BD_MESSAGE_FRAME_BYTES_MAX = 1024 };

/* Writes frame header, message and the padding before the payload; the payload follows from
 * elsewhere. Texts longer than their limit are cut. Returns the bytes needed; the result is whole
 * only if they are not above the capacity. */
size_t bd_message_encode(const bd_message *message, uint64_t payload_bytes, uint8_t *bytes,
                         size_t capacity);

/* The first that one side says: preface and message. Its size; the result is whole only if that is
 * not above the room. */
enum { BD_MESSAGE_BEGIN_BYTES_MAX = BURN_PREFACE_BYTES + BD_MESSAGE_FRAME_BYTES_MAX };
size_t bd_message_begin(const bd_message *message, uint8_t bytes[BD_MESSAGE_BEGIN_BYTES_MAX]);

/* Reads the message of a frame. The caller has skipped unknown types that are IGNORABLE.
 * Errors: PROTOCOL, with the message's and the field's name: unknown type, wrong direction, wrong
 * arity or kind, value out of range, payload above the type's limit, alignment that is not the
 * type's; *out is then undefined. */
bd_error *bd_message_decode(const bd_frame *frame, const uint8_t *bytes, bd_message_direction from,
                            bd_message *out) BD_MUST_USE;

bd_text bd_text_of(const char *text); /* NULL gives an empty one */
bool bd_text_equal(bd_text a, const char *b);
/* Terminated, cut to the whole characters that fit. Returns room. */
char *bd_text_copy(bd_text text, char *room, size_t room_bytes);
