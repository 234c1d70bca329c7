/* SPDX-License-Identifier: Apache-2.0
 * Sessions that share an engine: turns, cancelling, vanishing at any point, kernels that are
 * missing, records that cannot be planned. */
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
    float values[4096];
    for (int64_t i = 0; i < count; i++)
        values[i] = first + (float)i;
    return put_f32(h, values, 1, &count);
}

static void expect_error(bd_error *error, bd_code code, const char *part)
{
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(bd_error_code(error) == code && strstr(bd_error_text(error), part), "%s: %s",
                  bd_code_name(bd_error_code(error)), bd_error_text(error));
    bd_error_free(error);
}

static bd_request *request(bd_request_kind kind, uint64_t session, uint64_t number, uint64_t id)
{
    bd_request *made = bd_request_create(kind, session);
    made->request = number;
    made->id = id;
    return made;
}

static bd_reply *next_reply(void)
{
    for (int64_t end = bd_now_us() + 20000000; bd_now_us() < end;) {
        bd_reply *reply = bd_engine_next_reply(harness_engine(h));
        if (reply && reply->kind != BD_REPLY_CREDIT)
            return reply;
        bd_reply_destroy(reply);
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    ck_abort_msg("no reply came");
    return NULL;
}

/* ---- turns ---- */

/* Whether session 2's GET of `id`, posted behind a SYNC of session 1's work, is answered first. An
 * engine without turns never does; one with turns does unless the work ended before the GET came,
 * as it may where this thread has to wait for a processor: then more work shows it. */
static bool overtakes(uint64_t id)
{
    bd_engine *engine = harness_engine(h);
    bd_engine_post(engine, request(BD_REQUEST_SYNC, 1, 900, 0));
    bd_engine_post(engine, request(BD_REQUEST_GET, 2, 901, id));
    bd_reply *first = next_reply(), *second = next_reply();
    bool overtook = first->request == 901;
    ck_assert_uint_eq(first->request + second->request, 900 + 901);
    ck_assert_ptr_null(first->error);
    ck_assert_ptr_null(second->error);
    bd_reply_destroy(first);
    bd_reply_destroy(second);
    return overtook;
}

START_TEST(sessions_take_turns)
{
    harness_session(h, 2);
    uint64_t small = vector(0, 4);
    small = op1(h, BURN_OP_NEG, T(small));
    flush(h);
    harness_session(h, 1);
    uint64_t x = vector(0, strcmp(driver, "ref") == 0 ? 4000 : 1000000);
    for (int plans = 300; plans <= 4800; plans *= 2) {
        for (int i = 0; i < plans; i++) {
            uint64_t y = op1(h, BURN_OP_SIN, T(x));
            free_tensor(h, x);
            x = y;
            mark(h);
        }
        flush(h);
        if (overtakes(small))
            return;
    }
    ck_abort_msg("session 2 waited for all plans of session 1");
}
END_TEST

START_TEST(others_are_served_while_kernels_compile)
{
    if (strcmp(driver, "ref") == 0)
        return; /* it has nothing to compile */
    harness_session(h, 2);
    float out[4];
    get_f32(h, op1(h, BURN_OP_NEG, T(vector(0, 4))), out, 4);
    uint64_t known = op1(h, BURN_OP_NEG, T(vector(0, 4)));
    flush(h);
    harness_session(h, 1);
    burn_op ops[] = {BURN_OP_SIN, BURN_OP_COS, BURN_OP_TAN, BURN_OP_EXP, BURN_OP_LOG, BURN_OP_SQRT};
    uint64_t x = vector(1, 9);
    for (int round = 0; round < 6; round++) { /* no two pairs are the same kernel */
        for (int i = 0; i < 6; i++) {
            x = op1(h, ops[(i + round) % 6], T(op1(h, ops[i], T(x))));
            mark(h);
        }
        flush(h);
        if (overtakes(known))
            return;
    }
    ck_abort_msg("session 2 waited until session 1's kernels were compiled");
}
END_TEST

START_TEST(cancelled_requests_get_one_answer)
{
    bd_engine *engine = harness_engine(h);
    for (uint64_t i = 1; i <= 50; i++) {
        uint64_t y = op1(h, i % 2 ? BURN_OP_EXP : BURN_OP_SIN, T(vector(0, 500)));
        flush(h);
        bd_engine_post(engine, request(i % 3 ? BD_REQUEST_GET : BD_REQUEST_SYNC, 1, 1000 + i, y));
        bd_engine_post(engine, request(BD_REQUEST_CANCEL, 1, 1000 + i, 0));
        bd_reply *reply = next_reply();
        ck_assert_uint_eq(reply->request, 1000 + i);
        ck_assert(!reply->error || bd_error_code(reply->error) == BD_CODE_CANCELLED);
        bd_reply_destroy(reply);
    }
    bd_engine_post(engine, request(BD_REQUEST_CANCEL, 1, 77, 0)); /* unknown: nothing */
    ck_assert_ptr_null(sync_now(h));
}
END_TEST

/* ---- vanishing ---- */

static void random_work(unsigned *seed)
{
    uint64_t live[8];
    for (int i = 0; i < 8; i++)
        live[i] = vector((float)i, 64);
    int count = rand_r(seed) % 60;
    for (int i = 0; i < count; i++) {
        int k = rand_r(seed) % 8;
        uint64_t y = 0;
        switch (rand_r(seed) % 6) {
        case 0:
            y = op2(h, BURN_OP_ADD, T(live[k]), T(live[rand_r(seed) % 8]));
            break;
        case 1:
            y = op_tracked(h, BURN_OP_MUL, 2, (burn_operand[]){T(live[k]), F(0.5)}, 0, NULL);
            break;
        case 2:
            mark(h);
            continue;
        case 3:
            y = op2(h, BURN_OP_ADD, T(live[k]), T(1u << 30)); /* unknown */
            break;
        case 4:
            flush(h);
            continue;
        default:
            y = op1(h, BURN_OP_NEG, T(live[k]));
        }
        free_tensor(h, live[k]);
        live[k] = y;
    }
}

START_TEST(vanished_sessions_leave_nothing)
{
    unsigned seed = 5;
    uint64_t steady = vector(1, 100);
    bd_engine_stats before = {0};
    for (uint64_t session = 10; session < 210; session++) {
        harness_session(h, session);
        random_work(&seed);
        harness_end_session(h);
        if (session % 20)
            continue;
        harness_session(h, 1);
        uint64_t y = op2(h, BURN_OP_MUL, T(steady), F(3));
        float out[100];
        get_f32(h, y, out, 100);
        for (int i = 0; i < 100; i++)
            ck_assert_float_eq(out[i], (float)(i + 1) * 3);
        free_tensor(h, y);
        ck_assert_ptr_null(sync_now(h));
        if (session == 20)
            before = harness_stats(h);
    }
    harness_session(h, 1);
    ck_assert_ptr_null(sync_now(h));
    bd_engine_stats after = harness_stats(h);
    ck_assert_uint_eq(after.device_bytes, before.device_bytes);
    ck_assert_uint_eq(after.tensors, before.tensors);
    ck_assert_uint_eq(after.sessions, 1);
}
END_TEST

START_TEST(a_session_ends_with_its_work_in_flight)
{
    for (uint64_t session = 5; session < 15; session++) {
        harness_session(h, session);
        uint64_t x = vector(0, 4000);
        for (int i = 0; i < 200; i++) {
            x = op1(h, BURN_OP_COS, T(x));
            mark(h);
        }
        int64_t begin = bd_now_us();
        harness_end_session(h);
        ck_assert_int_lt(bd_now_us() - begin, 5000000);
        ck_assert_uint_eq(harness_stats(h).device_bytes, 0);
    }
    harness_session(h, 1);
}
END_TEST

/* The engine closes with plans in flight, kernels being compiled and requests that wait. */
START_TEST(an_engine_closes_at_any_point)
{
    unsigned seed = 9;
    for (int i = 0; i < 20; i++) {
        for (uint64_t session = 1; session < 4; session++) {
            harness_session(h, session);
            random_work(&seed);
            flush(h);
        }
        harness_close(h);
        h = harness_open(driver, i % 2);
    }
}
END_TEST

/* ---- kernels and plans that cannot be had ---- */

START_TEST(missing_kernels_are_errors_when_compiling_is_off)
{
    if (strcmp(driver, "ref") == 0)
        return; /* it has nothing to compile */
    harness_close(h);
    h = harness_open_with(&(harness_options){.driver = driver, .compile_never = true});
    uint64_t x = vector(0, 5);
    float out[5];
    for (int i = 0; i < 3; i++) {
        uint64_t y = op1(h, BURN_OP_TAN, T(x));
        expect_error(get(h, y, NULL, 0, NULL), BD_CODE_UNAVAILABLE, "");
        free_tensor(h, y);
        get_f32(h, x, out, 5);
        expect_error(sync_now(h), BD_CODE_UNAVAILABLE, "");
    }
    ck_assert_uint_eq(harness_stats(h).compiles, 0);
}
END_TEST

/* What no kernel can do is told, and nothing else suffers. */
START_TEST(a_trace_that_cannot_be_planned_is_an_error)
{
    int64_t dims[13], order[13];
    float values[8192];
    for (int i = 0; i < 13; i++) {
        dims[i] = 2;
        order[i] = 12 - i;
    }
    for (int i = 0; i < 8192; i++)
        values[i] = (float)i;
    uint64_t x = put_f32(h, values, 13, dims);
    for (int round = 0; round < 2; round++) {
        uint64_t turned =
            op(h, BURN_OP_PERMUTE, 1, &T(x), 1, &(burn_attr){.values = order, .count = 13});
        bd_error *error = get(h, turned, values, sizeof values, NULL);
        if (error)
            expect_error(error, BD_CODE_UNSUPPORTED, "axes");
        else
            ck_assert_float_eq(values[1], 4096);
        bd_error_free(sync_now(h));
        free_tensor(h, turned);
        uint64_t y = op1(h, BURN_OP_NEG, T(x));
        get_f32(h, y, values, 8192);
        ck_assert_float_eq(values[8191], -8191);
        free_tensor(h, y);
        ck_assert_ptr_null(sync_now(h));
    }
}
END_TEST

/* Histories that an earlier pass has used up give no gradient and no crash. */
START_TEST(gradients_twice)
{
    uint64_t x = vector(1, 3);
    uint64_t square = op_tracked(h, BURN_OP_MUL, 2, (burn_operand[]){T(x), T(x)}, 0, NULL);
    uint64_t loss = op_tracked(h, BURN_OP_SUM, 1, &T(square), 0, NULL);
    uint64_t first = grad(h, loss, 1, &x);
    mark(h);
    uint64_t again = grad(h, square + 1, 1, &x);
    float out[3];
    get_f32(h, first, out, 3);
    ck_assert_float_eq(out[2], 6);
    bd_error_free(get(h, again, out, sizeof out, NULL));
    bd_error_free(sync_now(h));
    get_f32(h, op1(h, BURN_OP_NEG, T(first)), out, 3);
    ck_assert_float_eq(out[2], -6);
}
END_TEST

/* A fault found late spoils what was made from it meanwhile, through histories too. */
START_TEST(late_faults_reach_gradients)
{
    float rows[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint64_t weight = put_f32(h, rows, 2, (int64_t[]){4, 2});
    uint64_t index = put_i64(h, (int64_t[]){0, 7}, 1, (int64_t[]){2});
    uint64_t picked =
        op_tracked(h, BURN_OP_EMBEDDING, 2, (burn_operand[]){T(weight), T(index)}, 0, NULL);
    uint64_t loss = op_tracked(h, BURN_OP_SUM, 1, &T(picked), 0, NULL);
    free_tensor(h, picked);
    mark(h);
    uint64_t slope = grad(h, loss, 1, &weight);
    uint64_t fresh =
        op(h, BURN_OP_SGD_STEP, 3, (burn_operand[]){T(weight), T(slope), F(0.1)}, 0, NULL);
    mark(h);
    uint64_t other = op1(h, BURN_OP_NEG, T(weight));
    expect_error(get(h, fresh, NULL, 0, NULL), BD_CODE_INVALID, "index 7 is out of range");
    expect_error(get(h, loss, NULL, 0, NULL), BD_CODE_INVALID, "index 7 is out of range");
    float out[8];
    get_f32(h, other, out, 8);
    ck_assert_float_eq(out[7], -8);
    expect_error(sync_now(h), BD_CODE_INVALID, "index 7 is out of range");
    ck_assert_ptr_null(sync_now(h));
}
END_TEST

int main(int argc, char **argv)
{
    driver = harness_driver(argc, argv);
    Suite *suite = suite_create("engine");
    TCase *tests = tcase_create("engine");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, sessions_take_turns);
    tcase_add_test(tests, others_are_served_while_kernels_compile);
    tcase_add_test(tests, cancelled_requests_get_one_answer);
    tcase_add_test(tests, vanished_sessions_leave_nothing);
    tcase_add_test(tests, a_session_ends_with_its_work_in_flight);
    tcase_add_test(tests, an_engine_closes_at_any_point);
    tcase_add_test(tests, missing_kernels_are_errors_when_compiling_is_off);
    tcase_add_test(tests, a_trace_that_cannot_be_planned_is_an_error);
    tcase_add_test(tests, gradients_twice);
    tcase_add_test(tests, late_faults_reach_gradients);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
