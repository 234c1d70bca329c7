/* SPDX-License-Identifier: Apache-2.0
 * The codec of WebSocket frames: the examples of RFC 6455 section 5.7, every split, every
 * violation, masks of every length and place. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "proto/websocket.h"

enum { MESSAGE_MAX = 100000 };

typedef struct events {
    uint8_t data[1 << 17];
    size_t data_bytes, messages, controls;
    bd_ws_opcode last_control;
    char control[BD_WS_CONTROL_BYTES_MAX + 1];
    bd_code code;
    bd_ws_status violation;
} events;

/* Feeds bytes in pieces of the given size. */
static void decode(bool masked, const void *bytes, size_t size, size_t piece, events *out)
{
    bd_ws_decoder decoder;
    memset(out, 0, sizeof *out);
    bd_ws_decoder_init(&decoder, masked, MESSAGE_MAX);
    for (size_t at = 0; at < size; at += piece) {
        size_t part = size - at < piece ? size - at : piece;
        uint8_t *copy = malloc(part);
        memcpy(copy, (const uint8_t *)bytes + at, part);
        for (size_t offset = 0;;) {
            size_t taken = 0;
            bd_ws_event event = BD_WS_EVENT_MORE;
            bd_error *error = bd_ws_feed(&decoder, copy + offset, part - offset, &taken, &event);
            if (error) {
                out->code = bd_error_code(error);
                out->violation = decoder.violation;
                bd_error_free(error);
                free(copy);
                return;
            }
            offset += taken;
            if (event == BD_WS_EVENT_MORE) {
                ck_assert_uint_eq(offset, part);
                break;
            }
            if (event == BD_WS_EVENT_DATA) {
                memcpy(out->data + out->data_bytes, decoder.data, decoder.data_bytes);
                out->data_bytes += decoder.data_bytes;
            } else if (event == BD_WS_EVENT_END) {
                out->messages++;
            } else {
                out->controls++;
                out->last_control = decoder.opcode;
                memcpy(out->control, decoder.data, decoder.data_bytes);
                out->control[decoder.data_bytes] = '\0';
            }
        }
        free(copy);
    }
}

static events seen;

START_TEST(examples_of_the_rfc)
{
    /* "Hello" in a text message, as the RFC has it, is refused; as binary it is taken. */
    decode(false, "\x81\x05Hello", 7, 7, &seen);
    ck_assert_int_eq(seen.code, BD_CODE_UNSUPPORTED);
    ck_assert_int_eq(seen.violation, 1003);
    for (size_t piece = 1; piece < 12; piece++) {
        decode(false, "\x82\x05Hello", 7, piece, &seen);
        ck_assert(seen.messages == 1 && seen.data_bytes == 5 && !memcmp(seen.data, "Hello", 5));
        decode(true, "\x82\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11, piece, &seen);
        ck_assert(seen.messages == 1 && seen.data_bytes == 5 && !memcmp(seen.data, "Hello", 5));
        /* in two fragments, a ping between them */
        decode(false, "\x02\x03Hel\x89\x05Hello\x80\x02lo", 16, piece, &seen);
        ck_assert(seen.messages == 1 && seen.data_bytes == 5 && !memcmp(seen.data, "Hello", 5));
        ck_assert(seen.controls == 1 && seen.last_control == BD_WS_PING);
        ck_assert_str_eq(seen.control, "Hello");
        decode(true, "\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11, piece, &seen);
        ck_assert(seen.controls == 1 && seen.last_control == BD_WS_PONG);
        ck_assert_str_eq(seen.control, "Hello");
    }
    static uint8_t large[10 + 65536] = {0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0};
    for (size_t i = 0; i < 65536; i++)
        large[10 + i] = (uint8_t)(i * 7);
    decode(false, large, sizeof large, 1000, &seen);
    ck_assert(seen.messages == 1 && seen.data_bytes == 65536);
    ck_assert(!memcmp(seen.data, large + 10, 65536));
    uint8_t middle[4 + 256] = {0x82, 0x7E, 0x01, 0x00};
    decode(false, middle, sizeof middle, sizeof middle, &seen);
    ck_assert(seen.messages == 1 && seen.data_bytes == 256);
}
END_TEST

START_TEST(headers_are_the_shortest)
{
    static const struct {
        uint64_t size;
        uint8_t bytes[10];
        size_t count;
    } cases[] = {
        {5, {0x82, 5}, 2},
        {125, {0x82, 125}, 2},
        {126, {0x82, 126, 0, 126}, 4},
        {256, {0x82, 0x7E, 1, 0}, 4},
        {65535, {0x82, 126, 0xFF, 0xFF}, 4},
        {65536, {0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0}, 10},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t header[BD_WS_HEADER_BYTES_MAX];
        ck_assert_uint_eq(bd_ws_header(header, BD_WS_BINARY, cases[i].size, NULL), cases[i].count);
        ck_assert_mem_eq(header, cases[i].bytes, cases[i].count);
        size_t masked = bd_ws_header(header, BD_WS_BINARY, cases[i].size, (const uint8_t *)"abcd");
        ck_assert_uint_eq(masked, cases[i].count + 4);
        ck_assert_uint_eq(header[1], cases[i].bytes[1] | 0x80);
        ck_assert_mem_eq(header + cases[i].count, "abcd", 4);
    }
}
END_TEST

START_TEST(masks_of_every_length_and_place)
{
    static const uint8_t key[4] = {0x37, 0xfa, 0x21, 0x3d};
    uint8_t bytes[64], mask[4];
    for (size_t size = 0; size <= sizeof bytes; size++) {
        for (size_t cut = 0; cut <= size; cut++) {
            for (size_t i = 0; i < size; i++)
                bytes[i] = (uint8_t)(i * 31 + 1);
            memcpy(mask, key, 4);
            bd_ws_mask(mask, bytes, cut);
            bd_ws_mask(mask, bytes + cut, size - cut);
            for (size_t i = 0; i < size; i++)
                ck_assert_uint_eq(bytes[i], (uint8_t)(i * 31 + 1) ^ key[i % 4]);
            for (size_t i = 0; i < 4; i++)
                ck_assert_uint_eq(mask[i], key[(size + i) % 4]);
        }
    }
}
END_TEST

START_TEST(violations)
{
    static const struct {
        const char *bytes;
        size_t size;
        bool masked;
        int status;
    } cases[] = {
        {"\xc2\x00", 2, false, 1002},                  /* RSV1, as permessage-deflate has it */
        {"\xa2\x00", 2, false, 1002},                  /* RSV2 */
        {"\x92\x00", 2, false, 1002},                  /* RSV3 */
        {"\x83\x00", 2, false, 1002},                  /* opcodes that mean nothing */
        {"\x87\x00", 2, false, 1002},
        {"\x8b\x00", 2, false, 1002},
        {"\x8f\x00", 2, false, 1002},
        {"\x82\x05Hello", 7, true, 1002},              /* not masked */
        {"\x82\x85\x37\xfa\x21\x3d", 6, false, 1002},  /* masked by a server */
        {"\x80\x00", 2, false, 1002},                  /* continues nothing */
        {"\x02\x01x\x82\x01y", 6, false, 1002},        /* a message within a message */
        {"\x02\x01x\x01\x01y", 6, false, 1002},
        {"\x09\x00", 2, false, 1002},                  /* a ping in fragments */
        {"\x89\x7e\x00\x7e", 4, false, 1002},          /* a ping of 126 bytes */
        {"\x82\x7e\x00\x7d", 4, false, 1002},          /* 125 in two bytes */
        {"\x82\x7f\0\0\0\0\0\0\xff\xff", 10, false, 1002},
        {"\x82\x7f\x80\0\0\0\0\0\0\0", 10, false, 1002},
        {"\x82\x7f\0\0\0\0\0\1\x86\xa1", 10, false, 1009}, /* 100,001 bytes */
        {"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", 10, false, 1009},
        {"\x81\x00", 2, false, 1003},
        {"\x01\x00", 2, false, 1003},
        {"\x88\x01\x03", 3, false, 1002},              /* half a status */
        {"\x88\x02\x03\xe7", 4, false, 1002},          /* 999 */
        {"\x88\x02\x03\xec", 4, false, 1002},          /* 1004 */
        {"\x88\x02\x03\xed", 4, false, 1002},          /* 1005 is never sent */
        {"\x88\x02\x03\xf7", 4, false, 1002},          /* 1015 */
        {"\x88\x02\x13\x88", 4, false, 1002},          /* 5000 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (size_t piece = 1; piece <= cases[i].size; piece++) {
            decode(cases[i].masked, cases[i].bytes, cases[i].size, piece, &seen);
            ck_assert_msg(seen.code != BD_CODE_OK, "case %zu is taken", i);
            ck_assert_int_eq(seen.violation, cases[i].status);
        }
    }
    decode(false, "\x88\x00", 2, 1, &seen);
    ck_assert(seen.code == BD_CODE_OK && seen.controls == 1 && seen.last_control == BD_WS_CLOSE);
    decode(false, "\x88\x06\x03\xe8" "done", 8, 3, &seen);
    ck_assert(seen.code == BD_CODE_OK && seen.controls == 1);
    ck_assert_int_eq(bd_ws_close_status((const uint8_t *)seen.control, 6), 1000);
}
END_TEST

START_TEST(fragments_count_together)
{
    static uint8_t bytes[3 * (4 + 40000)];
    for (size_t i = 0; i < 3; i++)
        memcpy(bytes + i * 40004, i ? "\x00\x7e\x9c\x40" : "\x02\x7e\x9c\x40", 4);
    decode(false, bytes, 2 * 40004, 5000, &seen);
    ck_assert(seen.code == BD_CODE_OK && seen.messages == 0 && seen.data_bytes == 80000);
    decode(false, bytes, sizeof bytes, 5000, &seen);
    ck_assert_int_eq(seen.violation, 1009);
}
END_TEST

START_TEST(bytes_read_to_their_place)
{
    /* Header and two bytes are fed, the rest is put where it belongs. */
    uint8_t bytes[] = "\x82\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58\x89\x80\x01\x02\x03\x04";
    bd_ws_decoder decoder;
    bd_ws_event event;
    size_t taken;
    bd_ws_decoder_init(&decoder, true, MESSAGE_MAX);
    ck_assert_uint_eq(bd_ws_room(&decoder), 0);
    ck_assert_ptr_null(bd_ws_feed(&decoder, bytes, 8, &taken, &event));
    ck_assert(event == BD_WS_EVENT_DATA && decoder.data_bytes == 2 && taken == 8);
    ck_assert_mem_eq(decoder.data, "He", 2);
    ck_assert_uint_eq(bd_ws_room(&decoder), 3);
    bd_ws_filled(&decoder, bytes + 8, 3);
    ck_assert_mem_eq(bytes + 8, "llo", 3);
    ck_assert_uint_eq(bd_ws_room(&decoder), 0);
    ck_assert_ptr_null(bd_ws_feed(&decoder, bytes, 0, &taken, &event));
    ck_assert(event == BD_WS_EVENT_END && taken == 0);
    ck_assert_ptr_null(bd_ws_feed(&decoder, bytes + 11, 6, &taken, &event));
    ck_assert(event == BD_WS_EVENT_CONTROL && decoder.opcode == BD_WS_PING);
    ck_assert(decoder.data_bytes == 0 && taken == 6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("websocket");
    TCase *group = tcase_create("codec");
    tcase_add_test(group, examples_of_the_rfc);
    tcase_add_test(group, headers_are_the_shortest);
    tcase_add_test(group, masks_of_every_length_and_place);
    tcase_add_test(group, violations);
    tcase_add_test(group, fragments_count_together);
    tcase_add_test(group, bytes_read_to_their_place);
    suite_add_tcase(suite, group);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
