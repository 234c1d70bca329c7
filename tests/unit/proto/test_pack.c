/* SPDX-License-Identifier: Apache-2.0
 * The msgpack subset: equal bytes to msgpack-c's packer; each value has one encoding; lies and
 * cuts. */
#include <check.h>
#include <float.h>
#include <math.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "proto/pack.h"

static const int64_t edges[] = {
    0,         1,          127,        128,         255,        256,         65535,     65536,
    INT32_MAX, 4294967295, 4294967296, INT64_MAX,   -1,         -32,         -33,       -128,
    -129,      -32768,     -32769,     INT32_MIN,   -2147483649, INT64_MIN,
};

START_TEST(ints_as_msgpack_c)
{
    int64_t value = edges[_i], got = 0;
    uint8_t bytes[16];
    bd_pack pack = {bytes, sizeof bytes, 0};
    bd_pack_int(&pack, value);
    msgpack_sbuffer oracle;
    msgpack_packer packer;
    msgpack_sbuffer_init(&oracle);
    msgpack_packer_init(&packer, &oracle, msgpack_sbuffer_write);
    msgpack_pack_int64(&packer, value);
    ck_assert_uint_eq(pack.used, oracle.size);
    ck_assert_mem_eq(bytes, oracle.data, oracle.size);
    msgpack_sbuffer_destroy(&oracle);
    bd_unpack unpack = {bytes, bytes + pack.used};
    ck_assert_ptr_null(bd_unpack_int(&unpack, &got));
    ck_assert_int_eq(got, value);
    ck_assert_ptr_null(bd_unpack_finish(&unpack));
    for (size_t cut = 0; cut < pack.used; cut++) {
        bd_unpack part = {bytes, bytes + cut};
        bd_error *error = bd_unpack_int(&part, &got);
        ck_assert_int_eq(bd_error_code(error), BD_CODE_PROTOCOL);
        ck_assert_ptr_eq(part.cursor, bytes);
        bd_error_free(error);
    }
}
END_TEST

/* Longer forms than needed, in all widths. */
static const struct {
    uint8_t bytes[10];
    size_t size;
} long_forms[] = {
    {{0xcc, 0x7f}, 2},
    {{0xcd, 0x00, 0xff}, 3},
    {{0xce, 0, 0, 0xff, 0xff}, 5},
    {{0xcf, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}, 9},
    {{0xd0, 0xe0}, 2},
    {{0xd0, 0x01}, 2},
    {{0xd1, 0xff, 0x80}, 3},
    {{0xd2, 0xff, 0xff, 0x80, 0x00}, 5},
    {{0xd3, 0xff, 0xff, 0xff, 0xff, 0x80, 0, 0, 0}, 9},
    {{0xcf, 0x80, 0, 0, 0, 0, 0, 0, 0}, 9},
    {{0xd9, 0x01, 'a'}, 3},
    {{0xda, 0x00, 0x20}, 3},
    {{0xc5, 0x00, 0x01, 0}, 4},
    {{0xc6, 0, 0, 0, 1, 0}, 6},
    {{0xdc, 0x00, 0x01, 0xc0}, 4},
    {{0xdd, 0, 0, 0, 1, 0xc0}, 6},
    {{0xca, 0, 0, 0, 0}, 5},
    {{0x80}, 1},
    {{0xde, 0, 0}, 3},
    {{0xc1}, 1},
    {{0xc7, 0, 1}, 3},
    {{0xd4, 1, 1}, 3},
    {{0xa1, 0xff}, 2},
    {{0xa2, 0xc0, 0x80}, 3},
    {{0xa3, 0xed, 0xa0, 0x80}, 4},
    {{0xa1, 0}, 2},
    {{0xa4, 0xf4, 0x90, 0x80, 0x80}, 5},
    {{0xa1, 0xc3}, 2},
    {{0xa3, 0xe0, 0x80, 0x80}, 4},
    {{0x91}, 1},
    {{0x92, 0xc0}, 2},
    {{0xdd, 0x00, 0x01, 0x00, 0x01}, 5},
    {{0xdd, 0xff, 0xff, 0xff, 0xff}, 5},
    {{0xcb, 0, 0, 0}, 4},
    {{0xc4, 5, 1, 2}, 4},
    {{0xc6, 0xff, 0xff, 0xff, 0xff}, 5},
    {{0xdb, 0xff, 0xff, 0xff, 0xff}, 5},
    {{0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0x91, 0xc0}, 10},
};

START_TEST(outside_the_subset)
{
    bd_unpack unpack = {long_forms[_i].bytes, long_forms[_i].bytes + long_forms[_i].size};
    bd_error *error = bd_unpack_skip(&unpack);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_PROTOCOL);
    ck_assert_ptr_eq(unpack.cursor, long_forms[_i].bytes);
    bd_error_free(error);
}
END_TEST

START_TEST(everything_round_trips)
{
    static uint8_t bytes[200000];
    static char text[70000];
    static const size_t sizes[] = {0, 1, 31, 32, 255, 256, 65535, 65536};
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        bd_pack pack = {bytes, sizeof bytes, 0};
        bd_pack_array(&pack, 6);
        bd_pack_nil(&pack);
        bd_pack_bool(&pack, true);
        bd_pack_float(&pack, -DBL_MAX);
        bd_pack_str_bytes(&pack, text, sizes[i]);
        bd_pack_bin(&pack, text, sizes[i]);
        bd_pack_array(&pack, 0);
        ck_assert(bd_pack_fits(&pack));
        bd_unpack unpack = {bytes, bytes + pack.used}, whole = unpack;
        ck_assert_ptr_null(bd_unpack_skip(&whole));
        ck_assert_ptr_null(bd_unpack_finish(&whole));
        bool flag;
        double real;
        const char *str;
        const uint8_t *bin;
        size_t size;
        ck_assert_ptr_null(bd_unpack_array_of(&unpack, 6));
        ck_assert_ptr_null(bd_unpack_nil(&unpack));
        ck_assert_ptr_null(bd_unpack_bool(&unpack, &flag));
        ck_assert_ptr_null(bd_unpack_float(&unpack, &real));
        ck_assert(flag && real == -DBL_MAX);
        ck_assert_ptr_null(bd_unpack_str(&unpack, &str, &size));
        ck_assert_uint_eq(size, sizes[i]);
        ck_assert_mem_eq(str, text, size);
        ck_assert_ptr_null(bd_unpack_bin(&unpack, &bin, &size));
        ck_assert_uint_eq(size, sizes[i]);
        ck_assert_ptr_null(bd_unpack_array_of(&unpack, 0));
        ck_assert_ptr_null(bd_unpack_finish(&unpack));
    }
}
END_TEST

/* Random values by both packers, byte for byte, and every truncation is refused. */
START_TEST(random_values_as_msgpack_c)
{
    uint64_t state = 88172645463325252u + (uint64_t)_i;
    uint8_t bytes[4096];
    bd_pack pack = {bytes, sizeof bytes, 0};
    msgpack_sbuffer oracle;
    msgpack_packer packer;
    msgpack_sbuffer_init(&oracle);
    msgpack_packer_init(&packer, &oracle, msgpack_sbuffer_write);
    bd_pack_array(&pack, 40);
    msgpack_pack_array(&packer, 40);
    for (int i = 0; i < 40; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        int64_t value = (int64_t)state >> (state & 63);
        switch (state >> 60 & 3) {
        case 0:
            bd_pack_float(&pack, (double)value / 3);
            msgpack_pack_double(&packer, (double)value / 3);
            break;
        case 1:
            bd_pack_bool(&pack, value & 1);
            (value & 1) ? msgpack_pack_true(&packer) : msgpack_pack_false(&packer);
            break;
        default:
            bd_pack_int(&pack, value);
            msgpack_pack_int64(&packer, value);
        }
    }
    ck_assert_uint_eq(pack.used, oracle.size);
    ck_assert_mem_eq(bytes, oracle.data, oracle.size);
    msgpack_sbuffer_destroy(&oracle);
    for (size_t cut = 0; cut < pack.used; cut++) {
        bd_unpack part = {bytes, bytes + cut};
        bd_error *error = bd_unpack_skip(&part);
        ck_assert_ptr_nonnull(error);
        bd_error_free(error);
    }
    bd_unpack whole = {bytes, bytes + pack.used};
    ck_assert_ptr_null(bd_unpack_skip(&whole));
}
END_TEST

START_TEST(writer_measures)
{
    uint8_t bytes[3] = {0};
    bd_pack pack = {bytes, 2, 0};
    bd_pack_int(&pack, 5);
    bd_pack_int(&pack, 70000);
    ck_assert_uint_eq(pack.used, 6);
    ck_assert(!bd_pack_fits(&pack));
    ck_assert_int_eq(bytes[0], 5);
    ck_assert_int_eq(bytes[2], 0);
}
END_TEST

START_TEST(ranges)
{
    uint8_t bytes[] = {0x07};
    int64_t value = -1;
    bd_unpack unpack = {bytes, bytes + 1};
    bd_error *error = bd_unpack_int_in(&unpack, 0, 6, &value);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_PROTOCOL);
    ck_assert_int_eq(value, -1);
    bd_error_free(error);
    ck_assert_ptr_null(bd_unpack_int_in(&unpack, 0, 7, &value));
    ck_assert_int_eq(value, 7);
    static const uint8_t one[] = {0x91, 0xc0};
    bd_unpack array = {one, one + sizeof one};
    error = bd_unpack_array_of(&array, 0);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_PROTOCOL);
    ck_assert_ptr_eq(array.cursor, one);
    bd_error_free(error);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pack");
    TCase *cases = tcase_create("pack");
    tcase_add_loop_test(cases, ints_as_msgpack_c, 0, (int)(sizeof edges / sizeof *edges));
    tcase_add_loop_test(cases, outside_the_subset, 0,
                        (int)(sizeof long_forms / sizeof *long_forms));
    tcase_add_test(cases, everything_round_trips);
    tcase_add_loop_test(cases, random_values_as_msgpack_c, 0, 20);
    tcase_add_test(cases, writer_measures);
    tcase_add_test(cases, ranges);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
