/* SPDX-License-Identifier: Apache-2.0
 * Convolutions of the cpu backend and their weight gradients, also of each channel alone, against
 * the interpreter, on every target that the host has; the same bits for any number of workers. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/cpu.h"
#include "backends/ref/ref.h"
#include "tests/unit/backends/program.h"

static const char *const targets[] = {"generic", "avx2", "avx512", "avx512_bf16", "amx"};
enum { TARGETS = sizeof targets / sizeof *targets };
static bd_arena arena;

/* x [images, channels, height, width], weights [outputs, channels, rows, columns] or, of
 * gradients, y [images, outputs, places]; of each channel alone
 * [channels, outputs, rows, columns]. */
enum {
    IMAGES,
    OUTPUTS,
    CHANNELS,
    HEIGHT,
    WIDTH,
    ROWS,
    COLUMNS,
    STRIDE,
    DILATION,
    PADDING,
    GIVEN,
    Y_HEIGHT = GIVEN,
    Y_WIDTH,
    PLANE,      /* of x */
    IMAGE,      /* of x */
    ROW_STRIDE, /* between windows, of memory */
    ROW_DILATION,
    OFFSET, /* of the first window */
    LOW,
    KERNEL, /* elements of a window */
    WEIGHTS, /* of an output */
    Y_PLANE,
    Y_IMAGE,
    RUN, /* columns * channels */
    GROUP, /* of weights, each channel alone */
    Y_GROUPS, /* an image of y then */
    INTS
};

static const int64_t cases[][GIVEN] = {
    {1, 1, 1, 5, 5, 3, 3, 1, 1, 1},     {2, 8, 3, 9, 11, 3, 3, 1, 1, 1},
    {1, 17, 16, 7, 7, 3, 3, 1, 1, 1},   {2, 9, 5, 20, 23, 3, 2, 2, 1, 1},
    {1, 33, 4, 31, 30, 5, 3, 1, 2, 2},  {3, 5, 8, 17, 16, 7, 7, 2, 1, 3},
    {2, 64, 24, 14, 14, 3, 3, 1, 1, 1}, {1, 3, 2, 40, 100, 3, 3, 3, 2, 0},
    {1, 130, 19, 12, 50, 3, 3, 1, 1, 4}, {5, 12, 64, 8, 9, 4, 4, 1, 1, 2},
    {2, 70, 3, 33, 70, 3, 3, 1, 1, 1},  {1, 2, 113, 60, 6, 3, 1, 1, 1, 2},
    {1, 3, 16, 40, 7, 3, 1, 1, 1, 2},   {2, 1, 24, 14, 14, 3, 3, 1, 1, 1},
    {1, 1, 5, 56, 56, 3, 3, 1, 1, 1},   {2, 1, 3, 57, 112, 5, 5, 2, 1, 2},
    {1, 1, 4, 30, 41, 3, 3, 2, 2, 2},   {1, 1, 3, 20, 70, 3, 2, 3, 1, 1},
    {1, 1, 2, 3, 130, 12, 11, 1, 1, 6}, {3, 1, 9, 21, 18, 3, 3, 2, 1, 1},
    {2, 2, 8, 23, 30, 5, 4, 2, 2, 3},   {2, 4, 11, 19, 40, 3, 2, 3, 1, 1},
};
enum { CASES = sizeof cases / sizeof *cases };

static void set_ints(const int64_t *given, int64_t *out)
{
    memcpy(out, given, GIVEN * sizeof *given);
    int64_t reach_y = given[DILATION] * (given[ROWS] - 1) + 1;
    int64_t reach_x = given[DILATION] * (given[COLUMNS] - 1) + 1;
    out[Y_HEIGHT] = (given[HEIGHT] + 2 * given[PADDING] - reach_y) / given[STRIDE] + 1;
    out[Y_WIDTH] = (given[WIDTH] + 2 * given[PADDING] - reach_x) / given[STRIDE] + 1;
    out[PLANE] = given[HEIGHT] * given[WIDTH];
    out[IMAGE] = out[PLANE] * given[CHANNELS];
    out[ROW_STRIDE] = given[STRIDE] * given[WIDTH];
    out[ROW_DILATION] = given[DILATION] * given[WIDTH];
    out[OFFSET] = -given[PADDING] * (given[WIDTH] + 1);
    out[LOW] = -given[PADDING];
    out[KERNEL] = given[ROWS] * given[COLUMNS];
    out[WEIGHTS] = out[KERNEL] * given[CHANNELS];
    out[Y_PLANE] = out[Y_HEIGHT] * out[Y_WIDTH];
    out[Y_IMAGE] = out[Y_PLANE] * given[OUTPUTS];
    out[RUN] = given[COLUMNS] * given[CHANNELS];
    out[GROUP] = out[KERNEL] * given[OUTPUTS];
    out[Y_GROUPS] = out[Y_IMAGE] * given[CHANNELS];
}

/* The guard that a row and a column of a window lie in x. */
static int inside(bd_kir_builder *b, const int *place, const int *element)
{
    int number = -1;
    for (int d = 0; d < 2; d++) {
        bd_kir_guard guard = {.offset = bd_kir_arg(LOW),
                              .extent = bd_kir_arg(d ? WIDTH : HEIGHT),
                              .also = (uint16_t)(number + 1)};
        for (int axis = 0; axis < BD_KIR_AXES_MAX; axis++)
            guard.strides[axis] = bd_kir_const(0);
        guard.strides[place[d]] = bd_kir_arg(STRIDE);
        guard.strides[element[d]] = bd_kir_arg(DILATION);
        number = bd_kir_add_guard(b, &guard);
    }
    return number;
}

static void yield(bd_kir_builder *b, bd_kir_phase_kind phase, const bd_kir_access *access,
                  int guard, bool changed)
{
    bd_kir_begin_phase(b, phase);
    bd_kir_value value = kir_load(b, access, guard);
    bd_kir_unary(b, BD_KIR_YIELD, changed ? bd_kir_unary(b, BD_KIR_NEG, value) : value);
}

static bd_kir *store_sums(bd_kir_builder *b, const bd_kir_access *out, burn_dtype dtype)
{
    bd_kir_begin_phase(b, BD_KIR_EPILOGUE);
    bd_kir_instr acc = {.code = BD_KIR_ACC, .dtype = (uint8_t)bd_kir_accumulator(dtype)};
    bd_kir_value sum = bd_kir_emit(b, &acc);
    kir_store(b, out, dtype == BURN_BF16 ? bd_kir_cast(b, sum, dtype) : sum);
    return kir_finish(b, &arena);
}

/* Strides of what a convolution reads and writes, by the axes that move it. */
static void walk_input(bd_kir_access *x, int image, int channel, const int *place,
                       const int *element)
{
    x->offset = bd_kir_arg(OFFSET);
    x->strides[image] = bd_kir_arg(IMAGE);
    x->strides[channel] = bd_kir_arg(PLANE);
    x->strides[place[0]] = bd_kir_arg(ROW_STRIDE);
    x->strides[place[1]] = bd_kir_arg(STRIDE);
    x->strides[element[0]] = bd_kir_arg(ROW_DILATION);
    x->strides[element[1]] = bd_kir_arg(DILATION);
}

static void walk_output(bd_kir_access *y, int image, int output, const int *place)
{
    y->strides[image] = bd_kir_arg(Y_IMAGE);
    y->strides[output] = bd_kir_arg(Y_PLANE);
    y->strides[place[0]] = bd_kir_arg(Y_WIDTH);
    y->strides[place[1]] = bd_kir_const(1);
}

static bd_kir *convolution(burn_dtype dtype, bool padded, bool changed)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_CONTRACTION);
    for (int i = 0; i < INTS; i++)
        bd_kir_add_int(b);
    int image = bd_kir_add_axis(b, BD_KIR_BATCH, bd_kir_arg(IMAGES));
    int output = bd_kir_add_axis(b, BD_KIR_M, bd_kir_arg(OUTPUTS));
    int place[] = {bd_kir_add_axis(b, BD_KIR_N, bd_kir_arg(Y_HEIGHT)),
                   bd_kir_add_axis(b, BD_KIR_N, bd_kir_arg(Y_WIDTH))};
    int channel = bd_kir_add_axis(b, BD_KIR_K, bd_kir_arg(CHANNELS));
    int element[] = {bd_kir_add_axis(b, BD_KIR_K, bd_kir_arg(ROWS)),
                     bd_kir_add_axis(b, BD_KIR_K, bd_kir_arg(COLUMNS))};
    bd_kir_access x = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_READ));
    bd_kir_access w = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_READ));
    bd_kir_access y = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_WRITE));
    walk_input(&x, image, channel, place, element);
    w.strides[output] = bd_kir_arg(WEIGHTS);
    w.strides[channel] = bd_kir_arg(KERNEL);
    w.strides[element[0]] = bd_kir_arg(COLUMNS);
    w.strides[element[1]] = bd_kir_const(1);
    walk_output(&y, image, output, place);
    yield(b, BD_KIR_OPERAND_A, &w, -1, changed);
    yield(b, BD_KIR_OPERAND_B, &x, padded ? inside(b, place, element) : -1, false);
    return store_sums(b, &y, dtype);
}

/* out [outputs, rows, columns, channels] = sum over images and places of y * x. */
static bd_kir *weight_gradient(burn_dtype dtype, bool padded, bool changed)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_CONTRACTION);
    for (int i = 0; i < INTS; i++)
        bd_kir_add_int(b);
    int output = bd_kir_add_axis(b, BD_KIR_M, bd_kir_arg(OUTPUTS));
    int element[] = {bd_kir_add_axis(b, BD_KIR_N, bd_kir_arg(ROWS)),
                     bd_kir_add_axis(b, BD_KIR_N, bd_kir_arg(COLUMNS))};
    int channel = bd_kir_add_axis(b, BD_KIR_N, bd_kir_arg(CHANNELS));
    int image = bd_kir_add_axis(b, BD_KIR_K, bd_kir_arg(IMAGES));
    int place[] = {bd_kir_add_axis(b, BD_KIR_K, bd_kir_arg(Y_HEIGHT)),
                   bd_kir_add_axis(b, BD_KIR_K, bd_kir_arg(Y_WIDTH))};
    bd_kir_access x = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_READ));
    bd_kir_access y = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_READ));
    bd_kir_access w = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_WRITE));
    walk_input(&x, image, channel, place, element);
    walk_output(&y, image, output, place);
    w.strides[output] = bd_kir_arg(WEIGHTS);
    w.strides[element[0]] = bd_kir_arg(RUN);
    w.strides[element[1]] = bd_kir_arg(CHANNELS);
    w.strides[channel] = bd_kir_const(1);
    yield(b, BD_KIR_OPERAND_A, &y, -1, changed);
    yield(b, BD_KIR_OPERAND_B, &x, padded ? inside(b, place, element) : -1, false);
    return store_sums(b, &w, dtype);
}

/* Each channel has its own outputs: [images, channels, outputs, places]. */
static bd_kir *alone(burn_dtype dtype, bool padded, bool changed)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_CONTRACTION);
    for (int i = 0; i < INTS; i++)
        bd_kir_add_int(b);
    int image = bd_kir_add_axis(b, BD_KIR_BATCH, bd_kir_arg(IMAGES));
    int channel = bd_kir_add_axis(b, BD_KIR_BATCH, bd_kir_arg(CHANNELS));
    int output = bd_kir_add_axis(b, BD_KIR_M, bd_kir_arg(OUTPUTS));
    int place[] = {bd_kir_add_axis(b, BD_KIR_N, bd_kir_arg(Y_HEIGHT)),
                   bd_kir_add_axis(b, BD_KIR_N, bd_kir_arg(Y_WIDTH))};
    int element[] = {bd_kir_add_axis(b, BD_KIR_K, bd_kir_arg(ROWS)),
                     bd_kir_add_axis(b, BD_KIR_K, bd_kir_arg(COLUMNS))};
    bd_kir_access x = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_READ));
    bd_kir_access w = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_READ));
    bd_kir_access y = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_WRITE));
    walk_input(&x, image, channel, place, element);
    w.strides[channel] = bd_kir_arg(GROUP);
    w.strides[output] = bd_kir_arg(KERNEL);
    w.strides[element[0]] = bd_kir_arg(COLUMNS);
    w.strides[element[1]] = bd_kir_const(1);
    walk_output(&y, image, output, place);
    y.strides[image] = bd_kir_arg(Y_GROUPS);
    y.strides[channel] = bd_kir_arg(Y_IMAGE);
    yield(b, BD_KIR_OPERAND_A, &w, -1, changed);
    yield(b, BD_KIR_OPERAND_B, &x, padded ? inside(b, place, element) : -1, false);
    return store_sums(b, &y, dtype);
}

/* out [channels, outputs, rows, columns] = sum over images and places of y * x. */
static bd_kir *gradient_alone(burn_dtype dtype, bool padded, bool changed)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_CONTRACTION);
    for (int i = 0; i < INTS; i++)
        bd_kir_add_int(b);
    int channel = bd_kir_add_axis(b, BD_KIR_BATCH, bd_kir_arg(CHANNELS));
    int output = bd_kir_add_axis(b, BD_KIR_M, bd_kir_arg(OUTPUTS));
    int element[] = {bd_kir_add_axis(b, BD_KIR_N, bd_kir_arg(ROWS)),
                     bd_kir_add_axis(b, BD_KIR_N, bd_kir_arg(COLUMNS))};
    int image = bd_kir_add_axis(b, BD_KIR_K, bd_kir_arg(IMAGES));
    int place[] = {bd_kir_add_axis(b, BD_KIR_K, bd_kir_arg(Y_HEIGHT)),
                   bd_kir_add_axis(b, BD_KIR_K, bd_kir_arg(Y_WIDTH))};
    bd_kir_access x = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_READ));
    bd_kir_access y = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_READ));
    bd_kir_access w = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_WRITE));
    walk_input(&x, image, channel, place, element);
    walk_output(&y, image, output, place);
    y.strides[image] = bd_kir_arg(Y_GROUPS);
    y.strides[channel] = bd_kir_arg(Y_IMAGE);
    w.strides[channel] = bd_kir_arg(GROUP);
    w.strides[output] = bd_kir_arg(KERNEL);
    w.strides[element[0]] = bd_kir_arg(COLUMNS);
    w.strides[element[1]] = bd_kir_const(1);
    yield(b, BD_KIR_OPERAND_A, &y, -1, changed);
    yield(b, BD_KIR_OPERAND_B, &x, padded ? inside(b, place, element) : -1, false);
    return store_sums(b, &w, dtype);
}

/* Whole numbers of few bits, whose sums are exact, or fractions. */
static void fill(void *to, burn_dtype dtype, int64_t count, uint32_t seed, bool whole)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        double value = whole ? (double)(seed >> 16) / 13107 : (double)(seed >> 8) * 0x1p-24;
        value = whole ? (double)(int)value - 2 : value - 0.5;
        float narrow = (float)value;
        uint32_t word;
        memcpy(&word, &narrow, sizeof word);
        if (dtype == BURN_F64)
            ((double *)to)[i] = value;
        else if (dtype == BURN_BF16)
            ((uint16_t *)to)[i] = (uint16_t)(word >> 16);
        else
            ((float *)to)[i] = narrow;
    }
}

typedef bd_kir *maker(burn_dtype dtype, bool padded, bool changed);
enum { CONVOLUTION, GRADIENT, ALONE, GRADIENT_ALONE, FORMS };
static const burn_dtype dtypes[] = {BURN_F32, BURN_F64, BURN_BF16};
static maker *const makers[FORMS] = {convolution, weight_gradient, alone, gradient_alone};

/* What a device makes of a case: the bytes of the output, of the heap. */
static char *result_of(const bd_driver *driver, bd_device *device, const bd_kir *program,
                       const int64_t *given, int form, bool whole, bool infinite,
                       size_t *out_bytes)
{
    int64_t ints[INTS];
    set_ints(given, ints);
    burn_dtype dtype = program->buffers[0].dtype;
    bool gradient = form == GRADIENT || form == GRADIENT_ALONE;
    int64_t y = ints[IMAGES] * ints[form == ALONE || form == GRADIENT_ALONE ? Y_GROUPS : Y_IMAGE];
    int64_t w = ints[OUTPUTS] * ints[WEIGHTS];
    int64_t counts[] = {ints[IMAGES] * ints[IMAGE], gradient ? y : w, gradient ? w : y};
    void *buffers[3];
    for (int i = 0; i < 3; i++) {
        buffers[i] = malloc((size_t)counts[i] * burn_dtype_size(dtype));
        fill(buffers[i], dtype, counts[i], (uint32_t)i + 1, whole);
    }
    if (infinite)
        for (int64_t i = 0; i < counts[0]; i += 97)
            ((float *)buffers[0])[i] = INFINITY;
    kir_run(driver, device, program, &(bd_block){.ints = ints, .buffers = buffers});
    free(buffers[0]);
    free(buffers[1]);
    *out_bytes = (size_t)counts[2] * burn_dtype_size(dtype);
    return buffers[2];
}

static bool open_cpu(int target, int threads, bd_device **out)
{
    bd_device_options options = {.threads = threads, .target = targets[target]};
    bd_error *err = bd_cpu_driver.open(&options, out);
    if (err) {
        ck_assert_int_eq(bd_error_code(err), BD_CODE_UNSUPPORTED);
        bd_error_free(err);
    }
    return !err;
}

/* Gradients of each channel alone take the interpreter long where there are many outputs. */
static bool is_long(int number, int form)
{
    return form == GRADIENT_ALONE && cases[number][OUTPUTS] > 9;
}

static void compare(bd_device *cpu, bd_device *ref, const bd_kir *program, int number,
                    int form)
{
    size_t bytes = 0;
    if (is_long(number, form))
        return;
    char *want = result_of(&bd_ref_driver, ref, program, cases[number], form, true, false, &bytes);
    char *have = result_of(&bd_cpu_driver, cpu, program, cases[number], form, true, false, &bytes);
    ck_assert_msg(memcmp(want, have, bytes) == 0, "case %d, form %d", number, form);
    free(want);
    free(have);
}

START_TEST(every_size)
{
    bd_device *cpu, *ref;
    if (!open_cpu(_i, 2, &cpu))
        return;
    ck_assert_ptr_null(bd_ref_driver.open(&(bd_device_options){0}, &ref));
    bd_arena_init(&arena);
    for (int form = 0; form < FORMS; form++) {
        for (int bits = 0; bits < 6; bits++) {
            const bd_kir *program = makers[form](dtypes[bits / 2], true, bits & 1);
            for (int i = 0; i < CASES; i++)
                compare(cpu, ref, program, i, form);
        }
        for (int half = 0; half < 2; half++) {
            const bd_kir *program = makers[form](half ? BURN_BF16 : BURN_F32, false, false);
            for (int i = 0; i < CASES; i++)
                if (cases[i][PADDING] == 0)
                    compare(cpu, ref, program, i, form);
        }
    }
    bd_arena_deinit(&arena);
    bd_cpu_driver.ops->close(cpu);
    bd_ref_driver.ops->close(ref);
}
END_TEST

START_TEST(threads_do_not_change_bits)
{
    bd_arena_init(&arena);
    for (int bits = 0; bits < 4 * FORMS; bits++) {
        char *first[CASES] = {0};
        int form = bits / 4;
        const bd_kir *program =
            makers[form](bits & 2 ? BURN_BF16 : BURN_F32, true, bits & 1);
        for (int threads = 1; threads <= 3; threads++) {
            bd_device *cpu;
            if (!open_cpu(_i, threads, &cpu))
                continue;
            for (int c = 0; c < CASES; c++) {
                size_t bytes = 0;
                char *have =
                    result_of(&bd_cpu_driver, cpu, program, cases[c], form, false, false, &bytes);
                if (!first[c]) {
                    first[c] = have;
                    continue;
                }
                ck_assert_msg(memcmp(have, first[c], bytes) == 0, "case %d, %d threads", c,
                              threads);
                free(have);
            }
            bd_cpu_driver.ops->close(cpu);
        }
        for (int c = 0; c < CASES; c++)
            free(first[c]);
    }
    bd_arena_deinit(&arena);
}
END_TEST

/* What a sum does not read does not count, not even as zero times infinity. */
START_TEST(infinite_elements)
{
    bd_device *cpu, *ref;
    if (!open_cpu(_i, 2, &cpu))
        return;
    ck_assert_ptr_null(bd_ref_driver.open(&(bd_device_options){0}, &ref));
    bd_arena_init(&arena);
    const bd_kir *program = gradient_alone(BURN_F32, true, false);
    for (int c = 0; c < CASES; c++) {
        size_t bytes = 0;
        if (is_long(c, GRADIENT_ALONE))
            continue;
        float *want = (float *)(void *)result_of(&bd_ref_driver, ref, program, cases[c],
                                                 GRADIENT_ALONE, true, true, &bytes);
        float *have = (float *)(void *)result_of(&bd_cpu_driver, cpu, program, cases[c],
                                                 GRADIENT_ALONE, true, true, &bytes);
        for (size_t i = 0; i < bytes / sizeof *want; i++)
            ck_assert_msg(isnan(want[i]) ? isnan(have[i]) : have[i] == want[i],
                          "case %d, sum %zu: %g, not %g", c, i, (double)have[i], (double)want[i]);
        free(want);
        free(have);
    }
    bd_arena_deinit(&arena);
    bd_cpu_driver.ops->close(cpu);
    bd_ref_driver.ops->close(ref);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("windows");
    TCase *tests = tcase_create("windows");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, every_size, 0, TARGETS);
    tcase_add_loop_test(tests, infinite_elements, 0, TARGETS);
    tcase_add_loop_test(tests, threads_do_not_change_bits, 0, TARGETS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
