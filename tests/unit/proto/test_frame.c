/* SPDX-License-Identifier: Apache-2.0
 * The frame parser: every split, truncation, lengths that lie, reserved bits. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "proto/frame.h"

/* Three frames: a message alone, one with an aligned payload, an empty one. */
static size_t make_stream(uint8_t *bytes)
{
    static const bd_frame frames[3] = {
        {.type = 4, .message_bytes = 5},
        {.type = 18, .flags = BURN_FRAME_ALIGNED, .message_bytes = 11, .payload_bytes = 131},
        {.type = 5},
    };
    size_t used = 0;
    for (int i = 0; i < 3; i++) {
        bd_frame_encode(&frames[i], bytes + used);
        used += BURN_FRAME_HEADER_BYTES;
        for (uint32_t j = 0; j < frames[i].message_bytes; j++)
            bytes[used++] = (uint8_t)(i * 16 + (int)j);
        size_t padding = bd_frame_padding(&frames[i]);
        memset(bytes + used, 0, padding);
        used += padding;
        for (uint64_t j = 0; j < frames[i].payload_bytes; j++)
            bytes[used++] = (uint8_t)(j * 7);
    }
    return used;
}

/* Assertions are slow: what is seen a million times is counted and asserted once. */
typedef struct frames_seen {
    int messages, done, wrong;
    uint8_t payload[256];
} frames_seen;

/* Feeds one piece; payload goes to seen->payload. */
static void feed(bd_frame_parser *parser, const uint8_t *bytes, size_t size, frames_seen *seen)
{
    static const uint32_t message_bytes[3] = {5, 11, 0};
    size_t offset = 0;
    for (;;) {
        size_t taken = 0;
        bd_frame_event event = BD_FRAME_MORE;
        bd_error *error =
            bd_frame_parser_feed(parser, bytes + offset, size - offset, &taken, &event);
        seen->wrong += error != NULL;
        bd_error_free(error);
        offset += taken;
        if (event == BD_FRAME_MESSAGE && seen->messages < 3) {
            seen->wrong += parser->frame.message_bytes != message_bytes[seen->messages];
            for (uint32_t j = 0; j < parser->frame.message_bytes; j++)
                seen->wrong += parser->message[j] != (uint8_t)(seen->messages * 16 + (int)j);
            seen->messages++;
            bd_frame_parser_set_payload(parser, seen->payload);
        } else if (event == BD_FRAME_DONE) {
            seen->done++;
        } else {
            seen->wrong += offset != size;
            return;
        }
    }
}

static bool all_seen(const frames_seen *seen)
{
    int wrong = seen->wrong + (seen->messages != 3) + (seen->done != 3);
    for (int j = 0; j < 131; j++)
        wrong += seen->payload[j] != (uint8_t)(j * 7);
    return wrong == 0;
}

START_TEST(splits_at_every_pair_of_bytes)
{
    uint8_t bytes[512];
    size_t size = make_stream(bytes);
    ck_assert_uint_eq(size, 32 + 5 + 64 + 131 + 32);
    int wrong = 0;
    for (size_t a = 0; a <= size; a++) {
        for (size_t b = a; b <= size; b += 3) {
            bd_frame_parser parser;
            frames_seen seen = {0};
            bd_frame_parser_init(&parser, 4096, 1024);
            feed(&parser, bytes, a, &seen);
            feed(&parser, bytes + a, b - a, &seen);
            feed(&parser, bytes + b, size - b, &seen);
            wrong += !all_seen(&seen);
            bd_frame_parser_deinit(&parser);
        }
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

START_TEST(one_byte_at_a_time)
{
    uint8_t bytes[512];
    size_t size = make_stream(bytes);
    bd_frame_parser parser;
    frames_seen seen = {0};
    bd_frame_parser_init(&parser, 4096, 1024);
    for (size_t i = 0; i < size; i++)
        feed(&parser, bytes + i, 1, &seen);
    ck_assert(all_seen(&seen));
    bd_frame_parser_deinit(&parser);
}
END_TEST

START_TEST(payload_is_read_in_place)
{
    uint8_t bytes[512], *place = NULL;
    size_t size = make_stream(bytes), first = 32 + 5 + 64, taken;
    bd_frame_parser parser;
    frames_seen seen = {0};
    bd_frame_event event;
    bd_frame_parser_init(&parser, 4096, 1024);
    feed(&parser, bytes, first - 1, &seen);
    ck_assert_uint_eq(bd_frame_parser_room(&parser, &place), 0); /* still in the padding */
    feed(&parser, bytes + first - 1, 2, &seen);
    ck_assert_uint_eq(bd_frame_parser_room(&parser, &place), 130);
    ck_assert_ptr_eq(place, seen.payload + 1);
    memcpy(place, bytes + first + 1, 130);
    bd_frame_parser_filled(&parser, 130);
    ck_assert_ptr_null(bd_frame_parser_feed(&parser, NULL, 0, &taken, &event));
    ck_assert_int_eq(event, BD_FRAME_DONE);
    seen.done++;
    feed(&parser, bytes + first + 131, size - first - 131, &seen);
    ck_assert(all_seen(&seen));
    bd_frame_parser_deinit(&parser);
}
END_TEST

START_TEST(dropped_payload)
{
    uint8_t bytes[512], *place;
    size_t size = make_stream(bytes), offset = 0, taken;
    bd_frame_parser parser;
    bd_frame_event event = BD_FRAME_DONE;
    bd_frame_parser_init(&parser, 4096, 1024);
    int done = 0;
    while (event != BD_FRAME_MORE) {
        ck_assert_ptr_null(
            bd_frame_parser_feed(&parser, bytes + offset, size - offset, &taken, &event));
        offset += taken;
        ck_assert_uint_eq(bd_frame_parser_room(&parser, &place), 0);
        done += event == BD_FRAME_DONE;
    }
    ck_assert_int_eq(done, 3);
    bd_frame_parser_deinit(&parser);
}
END_TEST

static void expect_refused(const uint8_t *bytes, size_t size, const char *part)
{
    bd_frame_parser parser;
    bd_frame_parser_init(&parser, 4096, 1024);
    size_t offset = 0, taken = 0;
    bd_frame_event event = BD_FRAME_DONE;
    bd_error *error = NULL;
    while (!error && event != BD_FRAME_MORE) {
        error = bd_frame_parser_feed(&parser, bytes + offset, size - offset, &taken, &event);
        offset += error ? 0 : taken;
    }
    ck_assert_ptr_nonnull(error);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_PROTOCOL);
    ck_assert_msg(strstr(bd_error_text(error), part), "%s", bd_error_text(error));
    bd_error_free(error);
    bd_frame_parser_deinit(&parser);
}

START_TEST(lies_are_refused)
{
    static const struct {
        int at;
        uint8_t value;
        const char *part;
    } cases[] = {
        {2, 1, "above the limit of 4096"}, /* message of 65,541 bytes */
        {3, 0xFF, "above the limit"},      /* 4 GiB */
        {6, 4, "flags 0x4"},
        {7, 0x80, "flags 0x8000"},
        {8, 1, "stream 1"},
        {12, 1, "reserved"},
        {15, 1, "reserved"},
        {18, 0x10, "above the limit of 1024"},
        {23, 0xFF, "above the limit"}, /* 2^63 and more */
        {24, 1, "checksums"},
        {31, 1, "checksums"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t bytes[512];
        size_t size = make_stream(bytes);
        bytes[cases[i].at] = cases[i].value;
        expect_refused(bytes, size, cases[i].part);
        expect_refused(bytes, BURN_FRAME_HEADER_BYTES, cases[i].part);
    }
    uint8_t bytes[512];
    size_t size = make_stream(bytes);
    bytes[32 + 5 + 32 + 11 + 3] = 1;
    expect_refused(bytes, size, "padding");
}
END_TEST

START_TEST(header_round_trip)
{
    bd_frame frame = {.type = 0xABCD,
                      .flags = 3,
                      .message_bytes = 0x01020304,
                      .payload_bytes = 0x1122334455667788};
    uint8_t bytes[BURN_FRAME_HEADER_BYTES];
    bd_frame_encode(&frame, bytes);
    ck_assert_int_eq(bytes[0], 4);
    ck_assert_int_eq(bytes[5], 0xAB);
    ck_assert_int_eq(bytes[16], 0x88);
    bd_frame back;
    ck_assert_ptr_null(bd_frame_decode(bytes, &back));
    ck_assert_uint_eq(back.type, frame.type);
    ck_assert_uint_eq(back.flags, frame.flags);
    ck_assert_uint_eq(back.message_bytes, frame.message_bytes);
    ck_assert_uint_eq(back.payload_bytes, frame.payload_bytes);
    bd_frame small = {.flags = BURN_FRAME_ALIGNED, .message_bytes = 32, .payload_bytes = 10};
    ck_assert_uint_eq(bd_frame_padding(&small), 0);
    ck_assert_uint_eq(bd_frame_bytes(&small), 74);
    ck_assert_uint_eq(bd_frame_cost(&small), 512);
    ck_assert_uint_eq(bd_frame_cost(&(bd_frame){.payload_bytes = 481}), 513);
    small.message_bytes = 33;
    ck_assert_uint_eq(bd_frame_padding(&small), 63);
    small.flags = 0;
    ck_assert_uint_eq(bd_frame_padding(&small), 0);
}
END_TEST

START_TEST(preface)
{
    uint8_t bytes[BURN_PREFACE_BYTES];
    bd_preface_encode(&(bd_preface){.version_min = 1, .version_max = 0x203, .status = 6}, bytes);
    ck_assert_mem_eq(bytes, "\x89"
                            "BRN\r\n\x1a\n\x01\x00\x03\x02\x06\x00\x00\x00",
                     16);
    bd_preface back;
    ck_assert_ptr_null(bd_preface_decode(bytes, &back));
    ck_assert_uint_eq(back.version_max, 0x203);
    ck_assert_uint_eq(back.status, 6);
    for (size_t i = 0; i <= 16; i++)
        ck_assert(bd_preface_begins(bytes, i));
    ck_assert(!bd_preface_begins((const uint8_t *)"GET / HTTP/1.1\r\n", 3));
    for (size_t i = 0; i < 8; i++) {
        uint8_t wrong[BURN_PREFACE_BYTES];
        memcpy(wrong, bytes, sizeof wrong);
        wrong[i] ^= 0x20;
        bd_error *error = bd_preface_decode(wrong, &back);
        ck_assert_int_eq(bd_error_code(error), BD_CODE_PROTOCOL);
        bd_error_free(error);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frame");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, splits_at_every_pair_of_bytes);
    tcase_add_test(tests, one_byte_at_a_time);
    tcase_add_test(tests, payload_is_read_in_place);
    tcase_add_test(tests, dropped_payload);
    tcase_add_test(tests, lies_are_refused);
    tcase_add_test(tests, header_round_trip);
    tcase_add_test(tests, preface);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
