/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target of all messages: the first byte is the type, the second the sender, the rest the
 * message. What decodes must encode to the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "proto/message.h"

/* Any bytes as the text of a message: it is cut, never within a character, and stays within its
 * room. */
static void encode_text(const uint8_t *bytes, size_t size)
{
    enum { ROOM = 600 };
    char copy[16];
    bd_text text = {.bytes = (const char *)bytes, .size_bytes = size};
    bd_message message = {.type = BD_MESSAGE_GOAWAY, .goaway = {.text = text}};
    uint8_t encoded[ROOM];
    if (bd_message_encode(&message, 0, encoded, ROOM) > ROOM ||
        strlen(bd_text_copy(text, copy, sizeof copy)) >= sizeof copy)
        abort();
    uint8_t begun[BD_MESSAGE_BEGIN_BYTES_MAX];
    if (bd_message_begin(&message, begun) > sizeof begun ||
        memcmp(begun + BURN_PREFACE_BYTES, encoded, BURN_FRAME_HEADER_BYTES) != 0 ||
        !bd_text_equal(bd_text_of(NULL), "") ||
        bd_message_encode(&(bd_message){0}, 0, encoded, ROOM) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < 3)
        return 0;
    bd_frame frame = {.type = bytes[0],
                      .flags = bytes[1] & 4 ? BURN_FRAME_ALIGNED : 0,
                      .message_bytes = (uint32_t)(size - 3),
                      .payload_bytes = bytes[2]};
    bd_message message;
    uint8_t *exact = bd_alloc(size - 3 ? size - 3 : 1);
    memcpy(exact, bytes + 3, size - 3);
    bd_error *error = bd_message_decode(
        &frame, exact, bytes[1] & 1 ? BD_MESSAGE_FROM_CLIENT : BD_MESSAGE_FROM_DAEMON, &message);
    if (!error) {
        size_t needed = bd_message_encode(&message, frame.payload_bytes, NULL, 0);
        uint8_t *again = bd_alloc(needed);
        bd_frame back;
        if (bd_message_encode(&message, frame.payload_bytes, again, needed) != needed)
            abort();
        bd_error *wrong = bd_frame_decode(again, &back);
        if (wrong || back.type != frame.type || back.flags != frame.flags ||
            back.message_bytes != size - 3 ||
            memcmp(again + BURN_FRAME_HEADER_BYTES, exact, size - 3) != 0)
            abort();
        bd_free(again);
    }
    encode_text(exact, size - 3);
    bd_error_free(error);
    bd_free(exact);
    return 0;
}
