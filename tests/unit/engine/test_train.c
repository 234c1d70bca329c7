/* SPDX-License-Identifier: Apache-2.0
 * Training steps through a whole engine: losses against a plain reference in doubles, and what the
 * counters say of steps with other batch sizes, of loops that read the loss early, late or never.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/engine/engine_harness.h"

enum { IN = 6, HIDDEN = 9, OUT = 4, BATCH_MAX = 257 };

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

/* ---- the reference ---- */

typedef struct net {
    double w1[HIDDEN][IN], b1[HIDDEN], w2[OUT][HIDDEN], b2[OUT];
} net;

static double noise(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (double)(1 << 24) - 0.5;
}

static void init_net(net *n)
{
    unsigned seed = 3;
    double *values = &n->w1[0][0];
    for (size_t i = 0; i < sizeof *n / sizeof(double); i++)
        values[i] = (double)(float)noise(&seed);
}

/* One step of gradient descent; returns the loss before it. */
static double step_reference(net *n, int batch, const float *x, const int64_t *target, double lr)
{
    net g = {0};
    double loss = 0;
    for (int b = 0; b < batch; b++) {
        double hidden[HIDDEN], out[OUT], top = -INFINITY, sum = 0, dh[HIDDEN] = {0};
        for (int i = 0; i < HIDDEN; i++) {
            hidden[i] = n->b1[i];
            for (int k = 0; k < IN; k++)
                hidden[i] += n->w1[i][k] * (double)x[b * IN + k];
            hidden[i] = fmax(hidden[i], 0);
        }
        for (int i = 0; i < OUT; i++) {
            out[i] = n->b2[i];
            for (int k = 0; k < HIDDEN; k++)
                out[i] += n->w2[i][k] * hidden[k];
            top = fmax(top, out[i]);
        }
        for (int i = 0; i < OUT; i++)
            sum += exp(out[i] - top);
        loss -= (out[target[b]] - top - log(sum)) / batch;
        for (int i = 0; i < OUT; i++) {
            double d = (exp(out[i] - top) / sum - (i == target[b])) / batch;
            g.b2[i] += d;
            for (int k = 0; k < HIDDEN; k++) {
                g.w2[i][k] += d * hidden[k];
                dh[k] += d * n->w2[i][k];
            }
        }
        for (int i = 0; i < HIDDEN; i++) {
            if (hidden[i] <= 0)
                continue;
            g.b1[i] += dh[i];
            for (int k = 0; k < IN; k++)
                g.w1[i][k] += dh[i] * (double)x[b * IN + k];
        }
    }
    double *values = &n->w1[0][0], *slopes = &g.w1[0][0];
    for (size_t i = 0; i < sizeof g / sizeof(double); i++)
        values[i] -= lr * slopes[i];
    return loss;
}

/* ---- the same through the engine ---- */

typedef enum reading { NEVER, EARLY, LATE } reading;

typedef struct model {
    uint64_t params[4];
    uint64_t first[4], second[4]; /* Adam's */
    bool adam;
} model;

static uint64_t put_doubles(const double *values, int32_t rank, const int64_t *dims)
{
    float floats[HIDDEN * HIDDEN];
    size_t count = 1;
    for (int32_t i = 0; i < rank; i++)
        count *= (size_t)dims[i];
    for (size_t i = 0; i < count; i++)
        floats[i] = (float)values[i];
    return put_f32(h, floats, rank, dims);
}

static void put_model(model *m, const net *n)
{
    m->params[0] = put_doubles(&n->w1[0][0], 2, (int64_t[]){HIDDEN, IN});
    m->params[1] = put_doubles(n->b1, 1, (int64_t[]){HIDDEN});
    m->params[2] = put_doubles(&n->w2[0][0], 2, (int64_t[]){OUT, HIDDEN});
    m->params[3] = put_doubles(n->b2, 1, (int64_t[]){OUT});
    const int64_t dims[4][2] = {{HIDDEN, IN}, {HIDDEN}, {OUT, HIDDEN}, {OUT}};
    static const double zeros[HIDDEN * HIDDEN];
    for (int i = 0; i < 4 && m->adam; i++) {
        m->first[i] = put_doubles(zeros, i % 2 ? 1 : 2, dims[i]);
        m->second[i] = put_doubles(zeros, i % 2 ? 1 : 2, dims[i]);
    }
}

static void update(model *m, int i, uint64_t gradient, double lr, int step)
{
    if (!m->adam) {
        uint64_t fresh = op(h, BURN_OP_SGD_STEP, 3,
                            (burn_operand[]){T(m->params[i]), T(gradient), F(lr)}, 0, NULL);
        free_tensor(h, m->params[i]);
        m->params[i] = fresh;
        return;
    }
    uint64_t fresh =
        op(h, BURN_OP_ADAM_STEP, 11,
           (burn_operand[]){T(m->params[i]), T(gradient), T(m->first[i]), T(m->second[i]), NONE,
                            F(lr), F(0.9), F(0.999), F(1e-8), NONE, I(step)},
           0, NULL);
    free_tensor(h, m->params[i]);
    free_tensor(h, m->first[i]);
    free_tensor(h, m->second[i]);
    m->params[i] = fresh;
    m->first[i] = fresh + 1;
    m->second[i] = fresh + 2;
}

/* Returns the loss, or NAN if it is never read. */
static double step_engine(model *m, int batch, const float *x, const int64_t *target, double lr,
                          int step, reading when)
{
    uint64_t input = put_f32(h, x, 2, (int64_t[]){batch, IN});
    uint64_t labels = put_i64(h, target, 1, (int64_t[]){batch});
    uint64_t a = op_tracked(h, BURN_OP_LINEAR, 3,
                            (burn_operand[]){T(input), T(m->params[0]), T(m->params[1])}, 0, NULL);
    uint64_t b = op_tracked(h, BURN_OP_RELU, 1, &T(a), 0, NULL);
    uint64_t c = op_tracked(h, BURN_OP_LINEAR, 3,
                            (burn_operand[]){T(b), T(m->params[2]), T(m->params[3])}, 0, NULL);
    uint64_t loss =
        op_tracked(h, BURN_OP_CROSS_ENTROPY, 2, (burn_operand[]){T(c), T(labels)}, 0, NULL);
    free_tensor(h, a);
    free_tensor(h, b);
    free_tensor(h, c);
    float value = NAN;
    if (when == EARLY)
        get_f32(h, loss, &value, 1);
    uint64_t gradients = grad(h, loss, 4, m->params);
    for (int i = 0; i < 4; i++) {
        update(m, i, gradients + (uint64_t)i, lr, step);
        free_tensor(h, gradients + (uint64_t)i);
    }
    free_tensor(h, input);
    free_tensor(h, labels);
    mark(h);
    if (when == LATE)
        get_f32(h, loss, &value, 1);
    free_tensor(h, loss);
    flush(h);
    return (double)value;
}

static void make_batch(unsigned *seed, int batch, float *x, int64_t *target)
{
    for (int i = 0; i < batch * IN; i++)
        x[i] = (float)noise(seed) * 2;
    for (int i = 0; i < batch; i++)
        target[i] = (int64_t)((noise(seed) + 0.5) * OUT) % OUT;
}

static void train(reading when, bool adam)
{
    static float x[BATCH_MAX * IN];
    static int64_t target[BATCH_MAX];
    net reference;
    init_net(&reference);
    model m = {.adam = adam};
    put_model(&m, &reference);
    unsigned seed = 11;
    bd_engine_stats warm = {0};
    for (int step = 1; step <= 40; step++) {
        int batch = step <= 3 ? 128 : 2 + (int)((noise(&seed) + 0.5) * 256);
        make_batch(&seed, batch, x, target);
        double expected = step_reference(&reference, batch, x, target, 0.1);
        double loss = step_engine(&m, batch, x, target, adam ? 1e-3 : 0.1, step, when);
        if (when != NEVER && !adam)
            ck_assert_double_eq_tol(loss / expected, 1, 1e-4);
        if (when != NEVER && adam)
            ck_assert(loss > 0 && loss < 3);
        if (step == 3) {
            bd_error *error = sync_now(h);
            ck_assert_msg(!error, "%s", bd_error_text(error));
            warm = harness_stats(h);
        }
    }
    bd_error *error = sync_now(h);
    ck_assert_msg(!error, "%s", bd_error_text(error));
    bd_engine_stats after = harness_stats(h);
    ck_assert_uint_eq(after.analyses, warm.analyses);
    ck_assert_uint_eq(after.compiles, warm.compiles);
    ck_assert_uint_eq(after.fallbacks, warm.fallbacks);
    ck_assert_uint_eq(after.replays - warm.replays, when == EARLY ? 2 * 37 : 37);
    ck_assert_uint_eq(after.known_plans, when == EARLY ? 2 : 1);
    ck_assert_uint_eq(after.tensors, adam ? 12 : 4);
    size_t params = HIDDEN * IN + HIDDEN + OUT * HIDDEN + OUT;
    ck_assert_uint_eq(after.device_bytes, params * sizeof(float) * (adam ? 3 : 1));
    float weights[HIDDEN * IN];
    get_f32(h, m.params[0], weights, HIDDEN * IN);
    for (int i = 0; i < HIDDEN * IN && !adam; i++)
        ck_assert_double_eq_tol((double)weights[i], (&reference.w1[0][0])[i], 1e-4);
}

START_TEST(sgd_read_late)
{
    train(LATE, false);
}
END_TEST
START_TEST(sgd_read_early)
{
    train(EARLY, false);
}
END_TEST
START_TEST(sgd_never_read)
{
    train(NEVER, false);
}
END_TEST
START_TEST(adam_read_late)
{
    train(LATE, true);
}
END_TEST
START_TEST(adam_read_early)
{
    train(EARLY, true);
}
END_TEST
START_TEST(adam_never_read)
{
    train(NEVER, true);
}
END_TEST

/* All parameters' updates run as few launches. */
START_TEST(launches_of_a_step_are_few)
{
    net reference;
    init_net(&reference);
    model m = {.adam = true};
    put_model(&m, &reference);
    float x[7 * IN];
    int64_t target[7];
    unsigned seed = 5;
    make_batch(&seed, 7, x, target);
    for (int step = 1; step <= 2; step++) {
        uint64_t before = harness_stats(h).launches;
        step_engine(&m, 7, x, target, 1e-3, step, NEVER);
        bd_error *error = sync_now(h);
        ck_assert_msg(!error, "%s", bd_error_text(error));
        ck_assert_uint_le(harness_stats(h).launches - before, 16);
    }
}
END_TEST

/* A sum of losses that is carried along with its history, as a forgotten detach does. */
START_TEST(a_carried_loss_adds_no_plans)
{
    float x[3] = {1, 2, 3};
    uint64_t w = put_f32(h, x, 1, (int64_t[]){3});
    uint64_t total = put_f32(h, (float[]){0}, 0, NULL);
    bd_engine_stats warm = {0};
    for (int step = 0; step < 20; step++) {
        uint64_t square = op_tracked(h, BURN_OP_MUL, 2, (burn_operand[]){T(w), T(w)}, 0, NULL);
        uint64_t loss = op_tracked(h, BURN_OP_SUM, 1, &T(square), 0, NULL);
        uint64_t sum = op_tracked(h, BURN_OP_ADD, 2, (burn_operand[]){T(total), T(loss)}, 0, NULL);
        free_tensor(h, total);
        total = sum;
        uint64_t slope = grad(h, loss, 1, &w);
        uint64_t fresh =
            op(h, BURN_OP_SGD_STEP, 3, (burn_operand[]){T(w), T(slope), F(0.1)}, 0, NULL);
        free_tensor(h, w);
        free_tensor(h, square);
        free_tensor(h, loss);
        free_tensor(h, slope);
        w = fresh;
        mark(h);
        if (step == 2) {
            ck_assert_ptr_null(sync_now(h));
            warm = harness_stats(h);
        }
    }
    float value, expected = 0, scale = 14;
    for (int step = 0; step < 20; step++, scale *= 0.64f)
        expected += scale;
    get_f32(h, total, &value, 1);
    ck_assert_float_eq_tol(value / expected, 1, 1e-5f);
    ck_assert_uint_eq(harness_stats(h).analyses, warm.analyses);
}
END_TEST

int main(int argc, char **argv)
{
    driver = harness_driver(argc, argv);
    Suite *suite = suite_create("train");
    TCase *tests = tcase_create("train");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, sgd_read_late);
    tcase_add_test(tests, sgd_read_early);
    tcase_add_test(tests, sgd_never_read);
    tcase_add_test(tests, adam_read_late);
    tcase_add_test(tests, adam_read_early);
    tcase_add_test(tests, adam_never_read);
    tcase_add_test(tests, launches_of_a_step_are_few);
    tcase_add_test(tests, a_carried_loss_adds_no_plans);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
