/* SPDX-License-Identifier: Apache-2.0
 * Elementary functions of f32 on the CPU against libm in f64, over bit patterns spread evenly over
 * all floats: subnormals, infinities and NaN included. Bounds in units of the last place. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "proto/base/alloc.h"
#include "tests/unit/backends/program.h"

/* A prime step through all bit patterns: 2,097,133 numbers; BURN_MATH_STEP=1 tests every float. */
static const uint32_t STEP = 2053;
enum { BATCH = 1 << 16 };

static bd_arena arena;
static bd_device *device;

static void setup(void)
{
    bd_arena_init(&arena);
    ck_assert_ptr_null(bd_cpu_driver.open(&(bd_device_options){.threads = 1}, &device));
}

static void teardown(void)
{
    bd_cpu_driver.ops->close(device);
    bd_arena_deinit(&arena);
}

static double sigmoid(double x)
{
    return x >= 0 ? 1 / (1 + exp(-x)) : exp(x) / (1 + exp(x));
}

static double reciprocal_root(double x)
{
    return 1 / sqrt(x);
}

static const struct function {
    bd_kir_code code;
    double (*exact)(double x);
    double bound;
} functions[] = {
    {BD_KIR_EXP, exp, 2},
    {BD_KIR_EXP2, exp2, 2},
    {BD_KIR_EXPM1, expm1, 2},
    {BD_KIR_LOG, log, 2},
    {BD_KIR_LOG2, log2, 2},
    {BD_KIR_LOG10, log10, 2},
    {BD_KIR_LOG1P, log1p, 2},
    {BD_KIR_SIN, sin, 2},
    {BD_KIR_COS, cos, 2},
    {BD_KIR_TAN, tan, 3.5},
    {BD_KIR_ASIN, asin, 3},
    {BD_KIR_ACOS, acos, 3},
    {BD_KIR_ATAN, atan, 3},
    {BD_KIR_SINH, sinh, 3},
    {BD_KIR_COSH, cosh, 3},
    {BD_KIR_TANH, tanh, 2.5},
    {BD_KIR_ASINH, asinh, 4},
    {BD_KIR_ACOSH, acosh, 4},
    {BD_KIR_ATANH, atanh, 4},
    {BD_KIR_ERF, erf, 2},
    {BD_KIR_ERFC, erfc, 2},
    {BD_KIR_SIGMOID, sigmoid, 2.5},
    {BD_KIR_RSQRT, reciprocal_root, 2},
    {BD_KIR_SQRT, sqrt, 0.5001},
};
enum { FUNCTION_COUNT = sizeof functions / sizeof *functions };

static bd_kir *map_of(bd_kir_code code, int operands)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_LOOP);
    bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(bd_kir_add_int(b)));
    bd_kir_access access[3];
    for (int i = 0; i < 3; i++) {
        access[i] = kir_access(bd_kir_add_buffer(b, BURN_F32, i == 2 ? BD_KIR_WRITE : BD_KIR_READ));
        access[i].strides[0] = bd_kir_const(1);
    }
    bd_kir_begin_phase(b, BD_KIR_ROW);
    bd_kir_value x = kir_load(b, &access[0], -1);
    if (operands == 2)
        x = bd_kir_binary(b, code, x, kir_load(b, &access[1], -1));
    else
        x = bd_kir_unary(b, code, x);
    kir_store(b, &access[2], x);
    return kir_finish(b, &arena);
}

/* Distance in units of the last place of the exact result; huge if one is special and the other
 * not. */
static double distance(float got, double exact)
{
    float nearest = (float)exact;
    if (isnan(exact) || isnan(got))
        return isnan(exact) && isnan(got) ? 0 : 1e9;
    if (got == nearest)
        return signbit(got) == signbit(nearest) ? 0 : 1e9;
    if (isinf(nearest) && !isinf(got))
        nearest = copysignf(0x1.fffffep127f, nearest), exact = (double)nearest;
    if (isinf(got))
        return fabs(exact) > 0x1.fffffcp127 ? 1 : 1e9;
    int exponent;
    frexp(exact, &exponent);
    double ulp = ldexp(1, exponent - 24 < -149 ? -149 : exponent - 24);
    return fabs((double)got - exact) / ulp;
}

static float pattern(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

struct worst {
    double error;
    float x, y, got;
};

static void note(struct worst *worst, double error, float x, float y, float got)
{
    if (error > worst->error)
        *worst = (struct worst){error, x, y, got};
}

static uint32_t step(void)
{
    const char *wanted = getenv("BURN_MATH_STEP");
    return wanted ? (uint32_t)strtoul(wanted, NULL, 10) : STEP;
}

START_TEST(unary_functions)
{
    const struct function *f = &functions[_i];
    bd_kir *program = map_of(f->code, 1);
    float *x = bd_alloc(BATCH * sizeof *x), *y = bd_alloc(BATCH * sizeof *y);
    struct worst worst = {0};
    uint64_t at = 0, by = step();
    while (at <= UINT32_MAX) {
        int64_t count = 0;
        for (; count < BATCH && at <= UINT32_MAX; at += by)
            x[count++] = pattern((uint32_t)at);
        void *buffers[] = {x, x, y};
        bd_block block = {&count, buffers, NULL};
        kir_run(&bd_cpu_driver, device, program, &block);
        for (int64_t i = 0; i < count; i++)
            note(&worst, distance(y[i], f->exact((double)x[i])), x[i], 0, y[i]);
    }
    if (getenv("BURN_MATH_PRINT"))
        printf("%-8s %.3f ulp at %a\n", bd_kir_code_text(f->code), worst.error, (double)worst.x);
    ck_assert_msg(worst.error <= f->bound, "%s(%a) = %a: %g ulp", bd_kir_code_text(f->code),
                  (double)worst.x, (double)worst.got, worst.error);
    bd_free(x);
    bd_free(y);
}
END_TEST

static uint64_t state = 99;

static uint32_t next_random(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 32);
}

START_TEST(powers)
{
    static const float odd[] = {0.0f,        -0.0f,       1.0f,   -1.0f,      2.0f,      -2.0f,
                                0.5f,        -0.5f,       3.0f,   -3.0f,      0x1p-149f, -0x1p-149f,
                                16777215.0f, 16777216.0f, 1e30f,  -1e30f,     INFINITY,  -INFINITY,
                                NAN,         33.0f,       -33.0f, 1.0000001f, 0.9999999f};
    enum { ODD = sizeof odd / sizeof *odd };
    bd_kir *program = map_of(BD_KIR_POW, 2);
    float *x = bd_alloc(BATCH * sizeof *x), *y = bd_alloc(BATCH * sizeof *y),
          *z = bd_alloc(BATCH * sizeof *z);
    struct worst worst = {0};
    for (int round = 0; round < 24; round++) {
        for (int i = 0; i < BATCH; i++) {
            x[i] = round % 2 ? pattern(next_random()) : (float)next_random() / 4294967296.0f * 4;
            y[i] = round % 3 ? ((float)next_random() / 4294967296.0f - 0.5f) * 60
                             : pattern(next_random());
            if (round == 0 && i < ODD * ODD) {
                x[i] = odd[i / ODD];
                y[i] = odd[i % ODD];
            }
        }
        int64_t count = BATCH;
        void *buffers[] = {x, y, z};
        bd_block block = {&count, buffers, NULL};
        kir_run(&bd_cpu_driver, device, program, &block);
        for (int i = 0; i < BATCH; i++)
            note(&worst, distance(z[i], pow((double)x[i], (double)y[i])), x[i], y[i], z[i]);
    }
    ck_assert_msg(worst.error <= 2, "pow(%a, %a) = %a: %g ulp", (double)worst.x, (double)worst.y,
                  (double)worst.got, worst.error);
    bd_free(x);
    bd_free(y);
    bd_free(z);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cpu math");
    TCase *all = tcase_create("functions");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_set_timeout(all, 100000);
    tcase_add_loop_test(all, unary_functions, 0, FUNCTION_COUNT);
    tcase_add_test(all, powers);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
