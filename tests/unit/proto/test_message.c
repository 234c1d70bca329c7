/* SPDX-License-Identifier: Apache-2.0
 * Messages: decode(encode(m)) = m for every type, with msgpack-c as the judge of the bytes, and
 * every truncation and every changed byte gives a message or a PROTOCOL error. */
#include <check.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "proto/message.h"

/* Fills every field with values that grow with seed. */
static void fill_uint(uint64_t *value, uint64_t seed)
{
    static const uint64_t values[] = {1,     127,   128,         255,        256,
                                      65535, 65536, 4294967296u, BURN_ID_MAX};
    *value = values[seed % 9];
}

static void fill_int(int64_t *value, uint64_t seed)
{
    static const int64_t values[] = {0, -1, -32, -33, -128, -129, INT32_MIN, INT64_MIN, INT64_MAX};
    *value = values[seed % 9];
}

static void fill_flag(bool *value, uint64_t seed)
{
    *value = seed % 2;
}

static void fill_text(bd_text *value, uint64_t seed)
{
    static const char *const texts[] = {
        "", "a", "cpu", "gr\xC3\xBC\xC3\x9F dich", "exactly thirty-one bytes long..",
        "exactly thirty-two bytes of text", "[3, 4] and [5, 6] do not broadcast"};
    *value = bd_text_of(texts[seed % 7]);
}

static void fill_texts(bd_texts *value, uint64_t seed)
{
    value->count = seed % 2 ? 0 : 3;
    for (uint32_t i = 0; i < value->count; i++)
        fill_text(&value->items[i], seed + i);
}

static void fill_dtype(burn_dtype *value, uint64_t seed)
{
    *value = (burn_dtype)(1 + seed % 13);
}

static void fill_shape(burn_shape *value, uint64_t seed)
{
    value->rank = (int32_t)(seed % (BURN_RANK_MAX + 1));
    for (int32_t i = 0; i < value->rank; i++)
        value->dims[i] = (int64_t)(seed * 1000 + (uint64_t)i);
}

#define FILL_ID fill_uint
#define FILL_UINT fill_uint
#define FILL_INT fill_int
#define FILL_FLAG fill_flag
#define FILL_TEXT fill_text
#define FILL_TEXTS fill_texts
#define FILL_DTYPE fill_dtype
#define FILL_SHAPE fill_shape

static void fill(bd_message *message, uint64_t seed)
{
    switch (message->type) {
    case BD_MESSAGE_NONE:
        break;
#define BEGIN(NAME, number, member, direction, credit, payload, alignment, says)                   \
    case BD_MESSAGE_##NAME: {                                                                      \
        struct bd_message_##member *fields = &message->member;
#define FIELD(kind, field, says) FILL_##kind(&fields->field, seed++);
#define END(NAME)                                                                                  \
        break;                                                                                     \
    }
#include "proto/messages.def"
    }
}

static void same_text(const bd_text *a, const bd_text *b)
{
    ck_assert_uint_eq(a->size_bytes, b->size_bytes);
    ck_assert_int_eq(memcmp(a->bytes, b->bytes, a->size_bytes), 0);
}

static void same_texts(const bd_texts *a, const bd_texts *b)
{
    ck_assert_uint_eq(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++)
        same_text(&a->items[i], &b->items[i]);
}

#define SAME_ID(a, b) ck_assert_uint_eq(*(a), *(b))
#define SAME_UINT(a, b) ck_assert_uint_eq(*(a), *(b))
#define SAME_INT(a, b) ck_assert_int_eq(*(a), *(b))
#define SAME_FLAG(a, b) ck_assert_int_eq(*(a), *(b))
#define SAME_TEXT(a, b) same_text(a, b)
#define SAME_TEXTS(a, b) same_texts(a, b)
#define SAME_DTYPE(a, b) ck_assert_int_eq(*(a), *(b))
#define SAME_SHAPE(a, b) ck_assert(burn_shape_equal(a, b))

static void check_same(const bd_message *a, const bd_message *b)
{
    ck_assert_int_eq(a->type, b->type);
    switch (a->type) {
    case BD_MESSAGE_NONE:
        break;
#define BEGIN(NAME, number, member, direction, credit, payload, alignment, says)                   \
    case BD_MESSAGE_##NAME: {                                                                      \
        const struct bd_message_##member *left = &a->member, *right = &b->member;
#define FIELD(kind, field, says) SAME_##kind(&left->field, &right->field);
#define END(NAME)                                                                                  \
        break;                                                                                     \
    }
#include "proto/messages.def"
    }
}

/* msgpack-c reads the same bytes as one array and packs them to the same bytes again. */
static void check_oracle(const uint8_t *bytes, size_t size)
{
    msgpack_zone zone;
    msgpack_object object;
    size_t offset = 0;
    ck_assert(msgpack_zone_init(&zone, 2048));
    ck_assert_int_eq(msgpack_unpack((const char *)bytes, size, &offset, &zone, &object),
                     MSGPACK_UNPACK_SUCCESS);
    ck_assert_uint_eq(offset, size);
    ck_assert_int_eq(object.type, MSGPACK_OBJECT_ARRAY);
    msgpack_sbuffer again;
    msgpack_packer packer;
    msgpack_sbuffer_init(&again);
    msgpack_packer_init(&packer, &again, msgpack_sbuffer_write);
    ck_assert_int_eq(msgpack_pack_object(&packer, object), 0);
    ck_assert_uint_eq(again.size, size);
    ck_assert_int_eq(memcmp(again.data, bytes, size), 0);
    msgpack_sbuffer_destroy(&again);
    msgpack_zone_destroy(&zone);
}

static bd_message_direction sender_of(int type)
{
    return bd_message_lookup(type)->direction == BD_MESSAGE_FROM_DAEMON ? BD_MESSAGE_FROM_DAEMON
                                                                       : BD_MESSAGE_FROM_CLIENT;
}

START_TEST(round_trip)
{
    int types = 0;
    for (int type = 1; type < 64; type++) {
        const bd_message_facts *facts = bd_message_lookup(type);
        if (!facts)
            continue;
        types++;
        for (uint64_t seed = 0; seed < 63; seed++) {
            bd_message message = {.type = (bd_message_type)type}, back;
            fill(&message, seed);
            uint8_t bytes[2048];
            uint64_t payload = facts->payload_bytes_max ? seed * 1000 : 0;
            size_t size = bd_message_encode(&message, payload, bytes, sizeof bytes);
            ck_assert_uint_le(size, BD_MESSAGE_FRAME_BYTES_MAX);
            ck_assert_uint_eq(size, bd_message_encode(&message, payload, NULL, 0));
            bd_frame frame;
            ck_assert_ptr_null(bd_frame_decode(bytes, &frame));
            ck_assert_uint_eq(frame.payload_bytes, payload);
            ck_assert_uint_eq(bd_frame_bytes(&frame), size + payload);
            if (facts->aligned && payload)
                ck_assert_uint_eq(size % BURN_ALIGNMENT_BYTES, 0);
            check_oracle(bytes + BURN_FRAME_HEADER_BYTES, frame.message_bytes);
            bd_error *error =
                bd_message_decode(&frame, bytes + BURN_FRAME_HEADER_BYTES, sender_of(type), &back);
            ck_assert_msg(!error, "%s: %s", facts->name, bd_error_text(error));
            check_same(&message, &back);
        }
    }
    ck_assert_int_eq(types, 51);
}
END_TEST

START_TEST(damaged_bytes_are_an_error_or_a_message)
{
    for (int type = 1; type < 64; type++) {
        if (!bd_message_lookup(type))
            continue;
        bd_message message = {.type = (bd_message_type)type}, back;
        fill(&message, (uint64_t)type);
        uint8_t bytes[2048], *body = bytes + BURN_FRAME_HEADER_BYTES;
        bd_message_encode(&message, 0, bytes, sizeof bytes);
        bd_frame frame;
        ck_assert_ptr_null(bd_frame_decode(bytes, &frame));
        uint32_t whole = frame.message_bytes;
        for (uint32_t size = 0; size < whole; size++) {
            uint8_t *exact = malloc(size + 1); /* an overrun is seen by a sanitizer */
            memcpy(exact, body, size);
            frame.message_bytes = size;
            bd_error *error = bd_message_decode(&frame, exact, sender_of(type), &back);
            ck_assert_int_eq(bd_error_code(error), BD_CODE_PROTOCOL);
            bd_error_free(error);
            free(exact);
        }
        frame.message_bytes = whole;
        for (uint32_t at = 0; at < whole; at++) {
            for (int bit = 0; bit < 8; bit++) {
                body[at] ^= (uint8_t)(1 << bit);
                bd_error *error = bd_message_decode(&frame, body, sender_of(type), &back);
                ck_assert(!error || bd_error_code(error) == BD_CODE_PROTOCOL);
                bd_error_free(error);
                body[at] ^= (uint8_t)(1 << bit);
            }
        }
    }
}
END_TEST

static void expect_refused(bd_frame frame, const char *bytes, size_t size,
                           bd_message_direction from, const char *part)
{
    bd_message out;
    frame.message_bytes = (uint32_t)size;
    bd_error *error = bd_message_decode(&frame, (const uint8_t *)bytes, from, &out);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_PROTOCOL);
    ck_assert_msg(strstr(bd_error_text(error), part), "%s", bd_error_text(error));
    bd_error_free(error);
}

START_TEST(refusals_name_message_and_field)
{
    bd_frame get = {.type = BD_MESSAGE_GET}, put = {.type = BD_MESSAGE_PUT_BEGIN};
    expect_refused(get, "\x92\x01\x00", 3, BD_MESSAGE_FROM_CLIENT, "GET: id");
    expect_refused(get, "\x92\x01\xcf\x00\x20\x00\x00\x00\x00\x00\x00", 11, BD_MESSAGE_FROM_CLIENT,
                   "GET: id");
    expect_refused(get, "\x91\x01", 2, BD_MESSAGE_FROM_CLIENT, "GET");
    expect_refused(get, "\x92\x01\x01\xc0", 4, BD_MESSAGE_FROM_CLIENT, "GET");
    expect_refused(get, "\x92\x01\x01", 3, BD_MESSAGE_FROM_DAEMON,
                   "GET does not come from this side");
    expect_refused((bd_frame){.type = 999}, "\x90", 1, BD_MESSAGE_FROM_CLIENT, "type 999");
    expect_refused((bd_frame){.type = BD_MESSAGE_GET, .payload_bytes = 1}, "\x92\x01\x01", 3,
                   BD_MESSAGE_FROM_CLIENT, "GET: a payload of 1 bytes");
    expect_refused((bd_frame){.type = BD_MESSAGE_PUT_DATA, .payload_bytes = 1}, "\x92\x01\x01", 3,
                   BD_MESSAGE_FROM_CLIENT, "not aligned");
    expect_refused(put, "\x93\x01\x0e\x90", 4, BD_MESSAGE_FROM_CLIENT,
                   "PUT_BEGIN: dtype: there is no dtype 14");
    expect_refused(put, "\x93\x01\x02\xdc\x00\x11", 6, BD_MESSAGE_FROM_CLIENT, "PUT_BEGIN: shape");
    expect_refused(put, "\x93\x01\x02\x91\xff", 5, BD_MESSAGE_FROM_CLIENT, "PUT_BEGIN: shape");
}
END_TEST

START_TEST(long_texts_are_cut_between_characters)
{
    char text[602];
    memset(text, 'x', sizeof text);
    for (size_t start = 505; start < 512; start++) {
        memset(text, 'x', sizeof text);
        memcpy(text + start, "\xF0\x9F\x94\xA5", 4); /* four bytes of UTF-8 */
        text[600] = '\0';
        bd_message message = {.type = BD_MESSAGE_GOAWAY, .goaway.text = bd_text_of(text)}, back;
        uint8_t bytes[2048];
        bd_message_encode(&message, 0, bytes, sizeof bytes);
        bd_frame frame;
        ck_assert_ptr_null(bd_frame_decode(bytes, &frame));
        bd_error *error = bd_message_decode(&frame, bytes + BURN_FRAME_HEADER_BYTES,
                                            BD_MESSAGE_FROM_DAEMON, &back);
        ck_assert_msg(!error, "%s", bd_error_text(error));
        size_t wanted = start + 4 <= 511 || start >= 511 ? 511 : start;
        ck_assert_uint_eq(back.goaway.text.size_bytes, wanted);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("message");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, round_trip);
    tcase_add_test(tests, damaged_bytes_are_an_error_or_a_message);
    tcase_add_test(tests, refusals_name_message_and_field);
    tcase_add_test(tests, long_texts_are_cut_between_characters);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
