/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target of the WebSocket codec. The first bytes choose the side and how the rest is cut into
 * reads; payload is read in place or fed, by turns. What is decoded in pieces must equal what is
 * decoded whole, and a frame that is made must decode to itself. */
#include <stdlib.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "proto/websocket.h"

enum { MESSAGE_MAX = 4096, CUTS = 8 };

typedef struct digest {
    uint64_t value;
    size_t messages, controls;
    bd_ws_status violation;
    bool failed;
} digest;

static void mix(digest *digest, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        digest->value = (digest->value ^ at[i]) * 0x100000001B3u;
}

static void feed(bd_ws_decoder *decoder, uint8_t *bytes, size_t size, digest *out)
{
    for (size_t offset = 0; !out->failed;) {
        size_t taken;
        bd_ws_event event;
        bd_error *error = bd_ws_feed(decoder, bytes + offset, size - offset, &taken, &event);
        if (error) {
            out->failed = true;
            out->violation = decoder->violation;
            bd_error_free(error);
            return;
        }
        offset += taken;
        if (event == BD_WS_EVENT_MORE)
            return;
        if (event == BD_WS_EVENT_CONTROL) {
            out->controls++;
            mix(out, &decoder->opcode, sizeof decoder->opcode);
            if (decoder->opcode == BD_WS_CLOSE && decoder->data_bytes &&
                bd_ws_close_status(decoder->data, decoder->data_bytes) < BD_WS_STATUS_NORMAL)
                abort();
        }
        if (event == BD_WS_EVENT_END)
            mix(out, &out->messages, sizeof out->messages);
        out->messages += event == BD_WS_EVENT_END;
        if (event != BD_WS_EVENT_END)
            mix(out, decoder->data, decoder->data_bytes);
    }
}

static digest decode(const uint8_t *bytes, size_t size, const uint8_t *cuts, size_t cut_count,
                     bool from_client)
{
    digest out = {0};
    bd_ws_decoder decoder;
    bd_ws_decoder_init(&decoder, from_client, MESSAGE_MAX);
    for (size_t offset = 0, turn = 0; offset < size && !out.failed; turn++) {
        size_t part = cut_count ? (size_t)cuts[turn % cut_count] + 1 : size;
        if (part > size - offset)
            part = size - offset;
        uint8_t *exact = bd_alloc(part); /* an overrun is seen by the sanitizer */
        memcpy(exact, bytes + offset, part);
        size_t room = bd_ws_room(&decoder), direct = 0;
        if (room && turn % 2) {
            direct = part < room ? part : room;
            bd_ws_filled(&decoder, exact, direct);
            mix(&out, exact, direct);
        }
        feed(&decoder, exact + direct, part - direct, &out);
        bd_free(exact);
        offset += part;
    }
    return out;
}

static void make_and_decode(const uint8_t *bytes, size_t size, const uint8_t *mask)
{
    uint8_t *frame = bd_alloc(BD_WS_HEADER_BYTES_MAX + size), key[BD_WS_MASK_BYTES];
    size_t header = bd_ws_header(frame, BD_WS_BINARY, size, mask), taken;
    memcpy(frame + header, bytes, size);
    memcpy(key, mask, sizeof key);
    bd_ws_mask(key, frame + header, size);
    bd_ws_decoder decoder;
    bd_ws_event event;
    bd_ws_decoder_init(&decoder, true, MESSAGE_MAX);
    bd_error *error = bd_ws_feed(&decoder, frame, header + size, &taken, &event);
    bool right = (error != NULL) == (size > MESSAGE_MAX);
    if (!error && size)
        right = event == BD_WS_EVENT_DATA && decoder.data_bytes == size &&
                memcmp(decoder.data, bytes, size) == 0;
    if (!right)
        abort();
    bd_error_free(error);
    bd_free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < CUTS)
        return 0;
    const bool from_client = bytes[0] & 1;
    digest pieces = decode(bytes + CUTS, size - CUTS, bytes, CUTS, from_client);
    digest whole = decode(bytes + CUTS, size - CUTS, NULL, 0, from_client);
    if (pieces.failed != whole.failed || pieces.violation != whole.violation ||
        pieces.messages != whole.messages || pieces.controls != whole.controls ||
        pieces.value != whole.value)
        abort();
    make_and_decode(bytes + CUTS, size - CUTS, bytes + 1);
    return 0;
}
