/* SPDX-License-Identifier: Apache-2.0
 * The op stream from records to replies: values, replay, errors, poison, sessions, programs. */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/clock.h"
#include "tests/unit/engine/engine_harness.h"

static const char *driver = "ref";
static harness *h;

static void setup(void)
{
    h = harness_open(driver, true);
}

static void teardown(void)
{
    harness_close(h);
}

static uint64_t vector(float first, int64_t count)
{
    float *values = malloc((size_t)(count + 1) * sizeof *values);
    for (int64_t i = 0; i < count; i++)
        values[i] = first + (float)i;
    uint64_t id = put_f32(h, values, 1, &count);
    free(values);
    return id;
}

static void expect_error(bd_error *error, bd_code code, const char *part, uint64_t op_index)
{
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(bd_error_code(error) == code && strstr(bd_error_text(error), part), "%s: %s",
                  bd_code_name(bd_error_code(error)), bd_error_text(error));
    ck_assert_uint_eq(bd_error_op_index(error), op_index);
    bd_error_free(error);
}

static void synced(void)
{
    bd_error *error = sync_now(h);
    ck_assert_msg(!error, "%s", bd_error_text(error));
}

/* ---- values ---- */

START_TEST(add_of_sizes)
{
    int64_t sizes[] = {0, 1, 2, 7, 31, 64, 257};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t count = sizes[s];
        uint64_t x = vector(1, count);
        uint64_t y = op2(h, BURN_OP_ADD, T(x), F(2.5));
        uint64_t z = op2(h, BURN_OP_MUL, T(y), T(x));
        float out[257];
        get_f32(h, z, out, (size_t)count);
        for (int64_t i = 0; i < count; i++)
            ck_assert_float_eq(out[i], ((float)(i + 1) + 2.5f) * (float)(i + 1));
    }
    synced();
}
END_TEST

START_TEST(put_and_get)
{
    int64_t values[] = {1, -2, INT64_MAX}, out[3];
    uint64_t x = put_i64(h, values, 1, (int64_t[]){3});
    get_i64(h, x, out, 3);
    ck_assert_mem_eq(values, out, sizeof out);
    uint64_t bytes_attr =
        op(h, BURN_OP_CONSTANT, 0, NULL, 3,
           (burn_attr[]){A(BURN_F32),
                         L(1, 2),
                         {.bytes = (const uint8_t *)"\0\0\x80\x3f\0\0\0\x40", .count = 8}});
    float floats[2];
    uint64_t doubled = op2(h, BURN_OP_ADD, T(bytes_attr), T(bytes_attr));
    get_f32(h, doubled, floats, 2);
    ck_assert_float_eq(floats[0], 2);
    ck_assert_float_eq(floats[1], 4);
}
END_TEST

/* ---- replay ---- */

START_TEST(replay_takes_new_sizes_and_scalars)
{
    bd_engine_stats before = {0};
    for (int step = 0; step < 20; step++) {
        int64_t count = 2 + step * 13 % 255;
        uint64_t x = vector((float)step, count);
        uint64_t y = op2(h, BURN_OP_MUL, T(x), F(step * 0.5));
        uint64_t z = op1(h, BURN_OP_EXP, T(y));
        free_tensor(h, y);
        uint64_t s = op(h, BURN_OP_SUM, 1, &T(z), 0, NULL);
        free_tensor(h, z);
        free_tensor(h, x);
        float sum;
        get_f32(h, s, &sum, 1);
        double expected = 0;
        for (int64_t i = 0; i < count; i++)
            expected += expf(((float)step + (float)i) * (float)(step * 0.5));
        if (isfinite((float)expected))
            ck_assert_float_eq_tol(sum / (float)expected, 1, 1e-4F);
        free_tensor(h, s);
        if (step == 0)
            before = harness_stats(h);
    }
    bd_engine_stats after = harness_stats(h);
    ck_assert_uint_eq(after.analyses, before.analyses);
    ck_assert_uint_eq(after.compiles, before.compiles);
    ck_assert_uint_eq(after.replays, before.replays + 19);
    synced();
    ck_assert_uint_eq(harness_stats(h).device_bytes, 0);
}
END_TEST

START_TEST(dims_of_one_are_structure)
{
    for (int64_t count = 3; count >= 1; count--) {
        uint64_t x = vector(1, count);
        uint64_t y = put_f32(h, (float[]){1, 2, 3}, 1, (int64_t[]){3});
        if (count == 2)
            continue;
        uint64_t z = op2(h, BURN_OP_ADD, T(x), T(y));
        float out[3];
        get_f32(h, z, out, 3);
        ck_assert_float_eq(out[2], count == 3 ? 6 : 4);
    }
    ck_assert_uint_eq(harness_stats(h).analyses, 2);
}
END_TEST

START_TEST(what_outlives_the_cut_is_structure)
{
    for (int keep = 0; keep < 2; keep++) {
        uint64_t x = vector(1, 4);
        uint64_t y = op1(h, BURN_OP_NEG, T(x));
        uint64_t z = op1(h, BURN_OP_EXP, T(y));
        if (!keep)
            free_tensor(h, y);
        float out[4];
        get_f32(h, z, out, 4);
        ck_assert_float_eq_tol(out[0], expf(-1), 1e-6F);
        if (keep) {
            get_f32(h, y, out, 4);
            ck_assert_float_eq(out[3], -4);
        }
    }
    ck_assert_uint_eq(harness_stats(h).analyses, 2);
}
END_TEST

START_TEST(marks_cut)
{
    for (int i = 0; i < 5; i++) {
        uint64_t x = vector(1, 4);
        uint64_t y = op1(h, BURN_OP_NEG, T(x));
        mark(h);
        uint64_t z = op1(h, BURN_OP_NEG, T(y));
        float out[4];
        get_f32(h, z, out, 4);
        ck_assert_float_eq(out[3], 4);
    }
    bd_engine_stats stats = harness_stats(h);
    ck_assert_uint_eq(stats.analyses, 1); /* the same op on a stored tensor, twice */
    ck_assert_uint_eq(stats.replays, 9);
}
END_TEST

START_TEST(long_traces_are_cut)
{
    uint64_t x = vector(0, 1);
    for (int i = 0; i < 70000; i++) {
        uint64_t y = op2(h, BURN_OP_ADD, T(x), I(1));
        free_tensor(h, x);
        x = y;
    }
    float out;
    get_f32(h, x, &out, 1);
    ck_assert_float_eq(out, 70000);
    ck_assert_uint_eq(harness_stats(h).cuts, 2);
}
END_TEST

START_TEST(dead_traces_are_not_run)
{
    uint64_t x = vector(0, 8);
    free_tensor(h, op1(h, BURN_OP_EXP, T(x)));
    synced();
    bd_engine_stats stats = harness_stats(h);
    ck_assert_uint_eq(stats.launches, 0);
    ck_assert_uint_eq(stats.analyses, 0);
}
END_TEST

/* ---- errors ---- */

START_TEST(failed_ops_poison_their_outputs_only)
{
    uint64_t x = vector(0, 3), y = vector(0, 4);
    uint64_t bad = op2(h, BURN_OP_ADD, T(x), T(y)); /* op 1 */
    uint64_t worse = op1(h, BURN_OP_EXP, T(bad));
    uint64_t good = op2(h, BURN_OP_ADD, T(y), T(y));
    float out[4];
    get_f32(h, good, out, 4);
    ck_assert_float_eq(out[3], 6);
    expect_error(get(h, worse, NULL, 0, NULL), BD_CODE_INVALID, "add", 1);
    expect_error(get(h, bad, NULL, 0, NULL), BD_CODE_INVALID, "add", 1);
    expect_error(sync_now(h), BD_CODE_INVALID, "add", 1);
    synced(); /* reported once */
    free_tensor(h, bad);
    free_tensor(h, worse);
    synced();
}
END_TEST

START_TEST(unknown_and_reused_ids)
{
    uint64_t x = vector(0, 3);
    uint64_t unknown = op1(h, BURN_OP_EXP, T(x - 0)); /* op 1, fine */
    free_tensor(h, x);
    uint64_t late = op1(h, BURN_OP_EXP, T(x)); /* op 3: freed */
    expect_error(get(h, late, NULL, 0, NULL), BD_CODE_NOT_FOUND, "unknown", 3);
    float out[3];
    get_f32(h, unknown, out, 3);
    free_tensor(h, x); /* op 4: twice */
    expect_error(sync_now(h), BD_CODE_NOT_FOUND, "unknown", 3);
    expect_error(get(h, 1000000, NULL, 0, NULL), BD_CODE_NOT_FOUND, "unknown", 0);
    /* A batch that begins at a used id. */
    uint8_t record[] = {0x92, 0x28, 0x01};
    send_bytes(h, record, sizeof record, late);
    expect_error(sync_now(h), BD_CODE_CONFLICT, "ids must increase", 5);
    /* Another session's tensor. */
    harness_session(h, 2);
    skip_ids(h, 50);
    uint64_t foreign = op1(h, BURN_OP_EXP, T(unknown));
    expect_error(get(h, foreign, NULL, 0, NULL), BD_CODE_NOT_FOUND, "unknown", 1);
    harness_session(h, 1);
    get_f32(h, unknown, out, 3);
}
END_TEST

START_TEST(garbage_is_an_error_of_the_batch)
{
    uint8_t garbage[] = {0xc1, 0xff, 0x00};
    send_bytes(h, garbage, sizeof garbage, next_id(h));
    bd_error *error = sync_now(h);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_PROTOCOL);
    bd_error_free(error);
    uint64_t x = vector(0, 3);
    float out[3];
    get_f32(h, op1(h, BURN_OP_NEG, T(x)), out, 3);
    ck_assert_float_eq(out[2], -2);
}
END_TEST

START_TEST(index_out_of_range_poisons_dependents)
{
    float rows[10];
    for (int i = 0; i < 10; i++)
        rows[i] = (float)i;
    uint64_t weight = put_f32(h, rows, 2, (int64_t[]){5, 2});
    for (int round = 0; round < 3; round++) {
        bool bad = round == 1;
        uint64_t index = put_i64(h, (int64_t[]){0, bad ? 9 : 4}, 1, (int64_t[]){2});
        uint64_t picked = op2(h, BURN_OP_EMBEDDING, T(weight), T(index));
        uint64_t after = op1(h, BURN_OP_NEG, T(picked));
        uint64_t other = op1(h, BURN_OP_NEG, T(weight));
        mark(h);
        uint64_t later = op1(h, BURN_OP_EXP, T(after)); /* of another trace */
        float out[10];
        get_f32(h, other, out, 10);
        ck_assert_float_eq(out[9], -9);
        if (!bad) {
            get_f32(h, after, out, 4);
            ck_assert_float_eq(out[3], -9);
            synced();
            continue;
        }
        bd_error *error = get(h, later, NULL, 0, NULL);
        ck_assert_ptr_nonnull(error);
        ck_assert_ptr_nonnull(strstr(bd_error_text(error), "embedding: index 9 is out of range"));
        ck_assert_ptr_nonnull(strstr(bd_error_text(error), "0 to 4"));
        uint64_t op_index = bd_error_op_index(error);
        bd_error_free(error);
        expect_error(get(h, after, NULL, 0, NULL), BD_CODE_INVALID, "index 9", op_index);
        expect_error(get(h, picked, NULL, 0, NULL), BD_CODE_INVALID, "index 9", op_index);
        expect_error(sync_now(h), BD_CODE_INVALID, "index 9", op_index);
        synced();
    }
}
END_TEST

START_TEST(memory_limit)
{
    harness_close(h);
    h = harness_open_with(&(harness_options){.driver = driver, .session_bytes_max = 1 << 20});
    uint64_t x = vector(0, 1000);
    uint64_t big = op(h, BURN_OP_FULL, 1, &F(1), 2, (burn_attr[]){L(1, 1 << 20), A(BURN_F32)});
    uint64_t sum = op2(h, BURN_OP_ADD, T(big), F(1));
    expect_error(get(h, sum, NULL, 0, NULL), BD_CODE_LIMIT,
                 "full: memory limit of the session: 4194304 bytes wanted", 1);
    float out[1000];
    get_f32(h, op1(h, BURN_OP_NEG, T(x)), out, 1000);
    ck_assert_float_eq(out[999], -999);
    expect_error(sync_now(h), BD_CODE_LIMIT, "of 1048576 in use", 1);
    /* An upload that was refused poisons its tensor. */
    float *values = calloc(1 << 19, sizeof *values);
    uint64_t refused = put_f32(h, values, 1, (int64_t[]){1 << 19});
    free(values);
    expect_error(get(h, refused, NULL, 0, NULL), BD_CODE_LIMIT, "2097152 bytes wanted", 0);
}
END_TEST

/* ---- sessions ---- */

START_TEST(closing_frees_everything)
{
    for (uint64_t session = 10; session < 30; session++) {
        harness_session(h, session);
        uint64_t x = vector(0, 10000);
        for (int i = 0; i < 10; i++)
            x = op1(h, BURN_OP_NEG, T(x));
        flush(h);
        if (session % 2)
            mark(h);
        harness_end_session(h);
    }
    harness_session(h, 1);
    synced();
    bd_engine_stats stats = harness_stats(h);
    ck_assert_uint_eq(stats.device_bytes, 0);
    ck_assert_uint_eq(stats.sessions, 1);
    ck_assert_uint_eq(stats.tensors, 0);
}
END_TEST

/* ---- programs ---- */

START_TEST(programs_are_replayed_into_the_trace)
{
    uint64_t in;
    program_begin(h, 2, &in);
    uint64_t product = op2(h, BURN_OP_MUL, T(in), T(in + 1));
    uint64_t out1 = op1(h, BURN_OP_NEG, T(product));
    op2(h, BURN_OP_ADD, T(out1), T(in));
    free_tensor(h, product);
    ck_assert_ptr_null(program_end(h, 7));
    for (int i = 0; i < 4; i++) {
        uint64_t x = vector(1, 3 + i);
        /* The second input is a tensor or a scalar. */
        uint64_t y = call(h, 7, 2, (burn_operand[]){T(x), i % 2 ? T(x) : F(10)}, 2);
        uint64_t z = op2(h, BURN_OP_ADD, T(y + 1), F(1));
        float out[8];
        get_f32(h, z, out, (size_t)(3 + i));
        ck_assert_float_eq(out[2], i % 2 ? -9 + 3 + 1 : -30 + 3 + 1);
        get_f32(h, y, out, (size_t)(3 + i));
        ck_assert_float_eq(out[2], i % 2 ? -9 : -30);
    }
    ck_assert_uint_eq(harness_stats(h).analyses, 2);
    ck_assert_uint_eq(harness_stats(h).launches, 4);
    expect_error(get(h, call(h, 8, 0, NULL, 1), NULL, 0, NULL), BD_CODE_NOT_FOUND, "program 8", 9);
    expect_error(get(h, call(h, 7, 1, &F(1), 2), NULL, 0, NULL), BD_CODE_INVALID, "2 inputs", 10);
}
END_TEST

START_TEST(programs_take_sizes_of_random_numbers)
{
    uint64_t in;
    program_begin(h, 1, &in);
    op(h, BURN_OP_UNIFORM, 2, (burn_operand[]){F(0), F(1)}, 4,
       (burn_attr[]){L(1, 16), A(BURN_F32), A(5), A(BURN_PROGRAM_SIZE(0))});
    ck_assert_ptr_null(program_end(h, 1));
    float called[2][16], direct[16];
    for (int i = 0; i < 2; i++)
        get_f32(h, call(h, 1, 1, &I(100 * i), 1), called[i], 16);
    ck_assert_mem_ne(called[0], called[1], sizeof direct);
    get_f32(h,
            op(h, BURN_OP_UNIFORM, 2, (burn_operand[]){F(0), F(1)}, 4,
               (burn_attr[]){L(1, 16), A(BURN_F32), A(5), A(100)}),
            direct, 16);
    ck_assert_mem_eq(called[1], direct, sizeof direct);
    ck_assert_uint_eq(harness_stats(h).analyses, 1);
}
END_TEST

START_TEST(bad_programs_are_refused)
{
    uint64_t in;
    program_begin(h, 1, &in);
    op1(h, BURN_OP_NEG, T(in));
    free_tensor(h, in);
    expect_error(program_end(h, 1), BD_CODE_INVALID, "belongs to the caller", 0);
    program_begin(h, 1, &in);
    call(h, 1, 0, NULL, 1);
    expect_error(program_end(h, 1), BD_CODE_INVALID, "cannot call", 0);
    program_begin(h, 1, &in);
    op(h, BURN_OP_UNIFORM, 2, (burn_operand[]){F(0), F(1)}, 4,
       (burn_attr[]){L(1, 16), A(BURN_F32), A(5), A(BURN_PROGRAM_SIZE(3))});
    expect_error(program_end(h, 1), BD_CODE_INVALID, "input 3 of 1", 0);
}
END_TEST

int main(int argc, char **argv)
{
    driver = harness_driver(argc, argv);
    Suite *suite = suite_create("stream");
    TCase *tests = tcase_create("stream");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, add_of_sizes);
    tcase_add_test(tests, put_and_get);
    tcase_add_test(tests, replay_takes_new_sizes_and_scalars);
    tcase_add_test(tests, dims_of_one_are_structure);
    tcase_add_test(tests, what_outlives_the_cut_is_structure);
    tcase_add_test(tests, marks_cut);
    tcase_add_test(tests, long_traces_are_cut);
    tcase_add_test(tests, dead_traces_are_not_run);
    tcase_add_test(tests, failed_ops_poison_their_outputs_only);
    tcase_add_test(tests, unknown_and_reused_ids);
    tcase_add_test(tests, garbage_is_an_error_of_the_batch);
    tcase_add_test(tests, index_out_of_range_poisons_dependents);
    tcase_add_test(tests, memory_limit);
    tcase_add_test(tests, closing_frees_everything);
    tcase_add_test(tests, programs_are_replayed_into_the_trace);
    tcase_add_test(tests, programs_take_sizes_of_random_numbers);
    tcase_add_test(tests, bad_programs_are_refused);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
