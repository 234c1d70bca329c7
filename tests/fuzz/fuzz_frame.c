/* SPDX-License-Identifier: Apache-2.0
 * Fuzz target of the frame parser. The first bytes choose how the rest is cut into reads; payload
 * is read in place or fed, by turns. What is parsed in pieces must equal what is parsed whole. */
#include <stdlib.h>
#include <string.h>

#include "proto/base/alloc.h"
#include "proto/frame.h"

enum { MESSAGE_MAX = 4096, PAYLOAD_MAX = 65536 };

typedef struct digest {
    uint64_t value;
    bool failed;
    size_t frames;
} digest;

static void mix(digest *digest, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < size; i++)
        digest->value = (digest->value ^ at[i]) * 0x100000001B3u;
}

typedef struct run {
    bd_frame_parser parser;
    digest digest;
    uint8_t *payload;
} run;

static void feed(run *run, const uint8_t *bytes, size_t size)
{
    for (size_t offset = 0; !run->digest.failed;) {
        size_t taken;
        bd_frame_event event;
        bd_error *error =
            bd_frame_parser_feed(&run->parser, bytes + offset, size - offset, &taken, &event);
        if (error) {
            run->digest.failed = true;
            bd_error_free(error);
            return;
        }
        offset += taken;
        const bd_frame *frame = &run->parser.frame;
        if (event == BD_FRAME_MORE)
            return;
        if (event == BD_FRAME_MESSAGE) {
            mix(&run->digest, &frame->type, sizeof frame->type);
            mix(&run->digest, &frame->flags, sizeof frame->flags);
            mix(&run->digest, &frame->payload_bytes, sizeof frame->payload_bytes);
            mix(&run->digest, run->parser.message, frame->message_bytes);
            bd_free(run->payload);
            run->payload = bd_alloc(frame->payload_bytes ? (size_t)frame->payload_bytes : 1);
            bd_frame_parser_set_payload(&run->parser, frame->type % 3 ? run->payload : NULL);
        } else {
            run->digest.frames++;
            if (frame->type % 3)
                mix(&run->digest, run->payload, (size_t)frame->payload_bytes);
        }
    }
}

static digest parse(const uint8_t *bytes, size_t size, const uint8_t *cuts, size_t cut_count)
{
    run run = {0};
    bd_frame_parser_init(&run.parser, MESSAGE_MAX, PAYLOAD_MAX);
    for (size_t offset = 0, turn = 0; offset < size && !run.digest.failed; turn++) {
        size_t part = cut_count ? (size_t)cuts[turn % cut_count] + 1 : size;
        if (part > size - offset)
            part = size - offset;
        uint8_t *place, *exact = bd_alloc(part); /* an overrun is seen by the sanitizer */
        memcpy(exact, bytes + offset, part);
        size_t room = bd_frame_parser_room(&run.parser, &place), direct = 0;
        if (room && turn % 2) {
            direct = part < room ? part : room;
            memcpy(place, exact, direct);
            bd_frame_parser_filled(&run.parser, direct);
        }
        feed(&run, exact + direct, part - direct);
        bd_free(exact);
        offset += part;
    }
    bd_frame_parser_deinit(&run.parser);
    bd_free(run.payload);
    return run.digest;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    enum { CUTS = 8 };
    if (size < CUTS)
        return 0;
    digest pieces = parse(bytes + CUTS, size - CUTS, bytes, CUTS);
    digest whole = parse(bytes + CUTS, size - CUTS, NULL, 0);
    if (pieces.failed != whole.failed || pieces.frames != whole.frames ||
        pieces.value != whole.value)
        abort();
    if (size - CUTS >= BURN_PREFACE_BYTES) {
        bd_preface preface;
        bd_error *error = bd_preface_decode(bytes + CUTS, &preface);
        if (!error) {
            uint8_t again[BURN_PREFACE_BYTES];
            bd_preface_encode(&preface, again);
            if (memcmp(again, bytes + CUTS, sizeof again) != 0 || !bd_preface_begins(again, 5))
                abort();
        }
        bd_error_free(error);
    }
    if (size - CUTS >= BURN_FRAME_HEADER_BYTES) {
        bd_frame frame;
        bd_error *error = bd_frame_decode(bytes + CUTS, &frame);
        if (!error) {
            uint8_t again[BURN_FRAME_HEADER_BYTES];
            bd_frame_encode(&frame, again);
            if (memcmp(again, bytes + CUTS, sizeof again) != 0 ||
                bd_frame_cost(&frame) < BURN_FRAME_COST_MIN)
                abort();
        }
        bd_error_free(error);
    }
    return 0;
}
