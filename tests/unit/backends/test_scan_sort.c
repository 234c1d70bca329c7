/* SPDX-License-Identifier: Apache-2.0
 * Scans and sorts on each backend against plain C: rows side by side and rows end to end, that is
 * the forms with lanes along rows and across them. */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "backends/cpu/cpu.h"
#include "backends/ref/ref.h"
#include "tests/unit/backends/program.h"
#include "tests/unit/expect.h"

enum { ROWS = 5, MOST = 700 };

static bd_arena arena;
static const bd_driver *driver;
static bd_device *device;

static void open_device(const bd_driver *wanted)
{
    driver = wanted;
    bd_arena_init(&arena);
    bd_error *err = driver->open(&(bd_device_options){.threads = 2}, &device);
    if (bd_error_code(err) == BD_CODE_UNSUPPORTED) {
        /* BURN_CPU_TARGET asks too much of this host */
        bd_error_free(err);
        err = driver->open(&(bd_device_options){.threads = 2, .target = "generic"}, &device);
    }
    ck_assert_ptr_null(err);
}

static void setup_ref(void)
{
    open_device(&bd_ref_driver);
}

static void setup_cpu(void)
{
    open_device(&bd_cpu_driver);
}

static void teardown(void)
{
    driver->ops->close(device);
    bd_arena_deinit(&arena);
}

/* PARALLEL rows and a SERIAL axis; across: elements of a row lie `ROWS` apart. */
static bd_kir_access row_access(int buffer, bool across)
{
    bd_kir_access access = kir_access(buffer);
    access.strides[0] = across ? bd_kir_const(1) : bd_kir_arg(1);
    access.strides[1] = across ? bd_kir_arg(0) : bd_kir_const(1);
    return access;
}

static bd_kir_builder *begin(void)
{
    bd_kir_builder *builder = bd_kir_builder_create(BD_KIR_LOOP);
    bd_kir_int rows = bd_kir_arg(bd_kir_add_int(builder));
    bd_kir_int count = bd_kir_arg(bd_kir_add_int(builder));
    bd_kir_add_axis(builder, BD_KIR_PARALLEL, rows);
    bd_kir_add_axis(builder, BD_KIR_SERIAL, count);
    return builder;
}

static bd_kir *scan_program(bd_kir_code code, burn_dtype dtype, bool across)
{
    bd_kir_builder *builder = begin();
    bd_kir_access from = row_access(bd_kir_add_buffer(builder, dtype, BD_KIR_READ), across);
    bd_kir_access to = row_access(bd_kir_add_buffer(builder, dtype, BD_KIR_WRITE), across);
    bd_kir_begin_phase(builder, BD_KIR_EACH);
    kir_store(builder, &to, bd_kir_unary(builder, code, kir_load(builder, &from, -1)));
    return kir_finish(builder, &arena);
}

static void run(const bd_kir *program, int64_t count, void *in, void *out)
{
    const int64_t ints[] = {ROWS, count};
    void *buffers[] = {in, out};
    bd_block block = {.ints = ints, .buffers = buffers};
    (void)kir_run(driver, device, program, &block);
}

static double next_of(bd_kir_code code, double seen, double value)
{
    switch ((int)code) {
    case BD_KIR_SCAN_SUM:
        return seen + value;
    case BD_KIR_SCAN_PROD:
        return seen * value;
    case BD_KIR_SCAN_MAX:
        return isnan(seen) || isnan(value) ? NAN : fmax(seen, value);
    case BD_KIR_SCAN_MIN:
        return isnan(seen) || isnan(value) ? NAN : fmin(seen, value);
    }
    return log(exp(seen) + exp(value));
}

static const int64_t counts[] = {0, 1, 2, 7, 16, 17, 131, 512, 697};

START_TEST(scans_are_running_reductions)
{
    static const double nothing[] = {0, 1, -INFINITY, INFINITY, -INFINITY};
    static float in[ROWS * MOST], out[ROWS * MOST];
    bd_kir_code code = (bd_kir_code)(BD_KIR_SCAN_SUM + _i);
    for (int across = 0; across < 2; across++) {
        const bd_kir *program = scan_program(code, BURN_F32, across);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            int64_t count = counts[c];
            for (int64_t i = 0; i < ROWS * count; i++)
                in[i] = (float)(i * 7919 % 101) / 50.0f + (code == BD_KIR_SCAN_PROD ? 0.1f : -1.0f);
            if (count > 100 && code != BD_KIR_SCAN_LOGSUM)
                in[ROWS * count - ROWS - 1] = NAN;
            run(program, count, in, out);
            for (int64_t row = 0; row < ROWS; row++) {
                double seen = nothing[_i];
                for (int64_t i = 0; i < count; i++) {
                    int64_t at = across ? i * ROWS + row : row * count + i;
                    seen = next_of(code, seen, (double)in[at]);
                    double made = (double)out[at];
                    bool alike = isnan(seen) ? isnan(made)
                                             : fabs(made - seen) < 1e-5 * (1 + fabs(seen));
                    expect(alike, "element %lld: %g, not %g", (long long)at, made, seen);
                }
            }
        }
    }
}
END_TEST

START_TEST(integer_scans_wrap)
{
    static int32_t in[ROWS * MOST], out[ROWS * MOST];
    bd_kir_code code = (bd_kir_code)(BD_KIR_SCAN_SUM + _i);
    for (int across = 0; across < 2; across++) {
        const bd_kir *program = scan_program(code, BURN_I32, across);
        for (int64_t i = 0; i < ROWS * 131; i++)
            in[i] = (int32_t)(uint32_t)(i * 2654435761);
        run(program, 131, in, out);
        for (int64_t row = 0; row < ROWS; row++) {
            int32_t seen = 0;
            for (int64_t i = 0; i < 131; i++) {
                int64_t at = across ? i * ROWS + row : row * 131 + i;
                int32_t next = in[at];
                if (i > 0 && code == BD_KIR_SCAN_SUM)
                    next = (int32_t)((uint32_t)seen + (uint32_t)next);
                else if (i > 0 && code == BD_KIR_SCAN_PROD)
                    next = (int32_t)((uint32_t)seen * (uint32_t)next);
                else if (i > 0 && code == BD_KIR_SCAN_MAX)
                    next = seen > next ? seen : next;
                else if (i > 0)
                    next = seen < next ? seen : next;
                seen = next;
                expect(out[at] == seen, "element %lld: %d, not %d", (long long)at, out[at], seen);
            }
        }
    }
}
END_TEST

static bd_kir *sort_program(burn_dtype dtype, bool descending, bool across)
{
    bd_kir_builder *builder = begin();
    bd_kir_access from = row_access(bd_kir_add_buffer(builder, dtype, BD_KIR_READ), across);
    bd_kir_access to = row_access(bd_kir_add_buffer(builder, BURN_I64, BD_KIR_WRITE), across);
    int keys = bd_kir_add_slot(builder, dtype);
    for (int i = 0; i < 3; i++)
        (void)bd_kir_add_slot(builder, BURN_I64);
    bd_kir_begin_phase(builder, BD_KIR_EACH);
    bd_kir_instr save = {.code = BD_KIR_SAVE,
                         .operands = {kir_load(builder, &from, -1)},
                         .index = (uint16_t)keys,
                         .guard = -1};
    bd_kir_emit(builder, &save);
    bd_kir_begin_phase(builder, BD_KIR_ROW);
    bd_kir_instr sort = {
        .code = BD_KIR_SORT, .index = (uint16_t)keys, .flags = descending, .guard = -1};
    bd_kir_emit(builder, &sort);
    bd_kir_begin_phase(builder, BD_KIR_EACH);
    bd_kir_instr restore = {.code = BD_KIR_RESTORE, .index = (uint16_t)(keys + 1), .guard = -1};
    kir_store(builder, &to, bd_kir_emit(builder, &restore));
    return kir_finish(builder, &arena);
}

/* Key number i of a row, as a double that keeps its order: many equal ones, both zeros, NaN. */
static double key_of(int64_t i, int spread)
{
    int64_t mixed = i * 48271 % 2147483647 % spread;
    if (mixed == 3)
        return i % 2 ? -0.0 : 0.0;
    return mixed == 5 ? NAN : mixed == 6 ? -INFINITY : (double)(mixed - spread / 2);
}

/* Whether b has to stand before a. */
static bool before(double b, double a, bool descending)
{
    if (descending)
        return isnan(b) ? !isnan(a) : b > a;
    return isnan(a) ? !isnan(b) : b < a;
}

static void check_order(const double *keys, const int64_t *order, int64_t step, int64_t count,
                        bool descending)
{
    for (int64_t i = 0; i < count; i++) {
        expect(order[i * step] >= 0 && order[i * step] < count, "place %lld: %lld", (long long)i,
               (long long)order[i * step]);
        if (i == 0)
            continue;
        int64_t a = order[(i - 1) * step], b = order[i * step];
        expect(!before(keys[b], keys[a], descending), "places %lld, %lld", (long long)a,
               (long long)b);
        expect(before(keys[a], keys[b], descending) || a < b, /* stable, so a permutation */
               "equal keys at %lld, %lld", (long long)a, (long long)b);
    }
}

static void sort_rows(burn_dtype dtype, int spread)
{
    static double wide[ROWS * MOST];
    static float narrow[ROWS * MOST];
    static int64_t whole[ROWS * MOST], order[ROWS * MOST];
    bool is_float = burn_dtype_is_float(dtype);
    for (int form = 0; form < 4; form++) {
        bool across = form & 1, descending = form & 2;
        const bd_kir *program = sort_program(dtype, descending, across);
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            int64_t count = counts[c];
            for (int64_t i = 0; i < ROWS * count; i++) {
                wide[i] = key_of(i + 1, spread);
                if (!is_float && !isfinite(wide[i]))
                    wide[i] = (double)(dtype == BURN_U64 ? 77 : -((int64_t)1 << 40));
                if (dtype == BURN_U64)
                    wide[i] = fabs(wide[i]);
                narrow[i] = (float)wide[i];
                whole[i] = is_float ? 0 : (int64_t)wide[i];
            }
            void *in = dtype == BURN_F64 ? (void *)wide : is_float ? (void *)narrow : (void *)whole;
            run(program, count, in, order);
            for (int64_t row = 0; row < ROWS; row++) {
                double keys[MOST];
                for (int64_t i = 0; i < count; i++)
                    keys[i] = wide[across ? i * ROWS + row : row * count + i];
                check_order(keys, across ? order + row : order + row * count, across ? ROWS : 1,
                            count, descending);
            }
        }
    }
}

START_TEST(sorts_are_stable)
{
    static const burn_dtype dtypes[] = {BURN_F32, BURN_F64, BURN_I64, BURN_U64};
    sort_rows(dtypes[_i], 13);
    sort_rows(dtypes[_i], 100003);
}
END_TEST

START_TEST(malformed_ones_are_refused)
{
    bd_kir_builder *builder = begin();
    bd_kir_access from = row_access(bd_kir_add_buffer(builder, BURN_F32, BD_KIR_READ), false);
    for (int i = 0; i < 4; i++)
        (void)bd_kir_add_slot(builder, i ? BURN_I64 : BURN_F32);
    bd_kir_begin_phase(builder, BD_KIR_ROW);
    bd_kir_instr sort = {.code = BD_KIR_SORT, .guard = -1}; /* nothing was saved */
    bd_kir_emit(builder, &sort);
    bd_kir *program = NULL;
    bd_error *err = bd_kir_finish(builder, &arena, &program);
    ck_assert_int_eq(bd_error_code(err), BD_CODE_INTERNAL);
    bd_error_free(err);
    bd_kir_builder_destroy(builder);

    builder = begin();
    from = row_access(bd_kir_add_buffer(builder, BURN_F32, BD_KIR_READ), false);
    from.strides[1] = bd_kir_const(0);
    bd_kir_begin_phase(builder, BD_KIR_ROW); /* a scan has no order there */
    (void)bd_kir_unary(builder, BD_KIR_SCAN_SUM, kir_load(builder, &from, -1));
    err = bd_kir_finish(builder, &arena, &program);
    ck_assert_int_eq(bd_error_code(err), BD_CODE_INTERNAL);
    bd_error_free(err);
    bd_kir_builder_destroy(builder);
}
END_TEST

static TCase *cases(const char *name, void (*setup)(void))
{
    TCase *made = tcase_create(name);
    tcase_set_timeout(made, 120);
    tcase_add_checked_fixture(made, setup, teardown);
    tcase_add_loop_test(made, scans_are_running_reductions, 0, 5);
    tcase_add_loop_test(made, integer_scans_wrap, 0, 4);
    tcase_add_loop_test(made, sorts_are_stable, 0, 4);
    tcase_add_test(made, malformed_ones_are_refused);
    return made;
}

int main(void)
{
    Suite *suite = suite_create("scan_sort");
    suite_add_tcase(suite, cases("ref", setup_ref));
    suite_add_tcase(suite, cases("cpu", setup_cpu));
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
