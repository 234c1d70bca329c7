/* SPDX-License-Identifier: Apache-2.0
 * Convolutions of the cpu backend and their weight gradients, also of each channel alone, against
 * the interpreter, on every target that the host has; the same bits for any number of workers. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/ref/ref.h"
#include "tests/unit/backends/machines.h"

static machines at_hand;
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

static void store_sums(bd_kir_builder *b, const bd_kir_access *out, burn_dtype dtype)
{
    bd_kir_begin_phase(b, BD_KIR_EPILOGUE);
    bd_kir_instr acc = {.code = BD_KIR_ACC, .dtype = (uint8_t)bd_kir_accumulator(dtype)};
    bd_kir_value sum = bd_kir_emit(b, &acc);
    kir_store(b, out, dtype == BURN_BF16 ? bd_kir_cast(b, sum, dtype) : sum);
}

/* The forms in which x, weights and y meet: sums over some axes for each position of the others. */
enum { CONVOLUTION, GRADIENT, ALONE, GRADIENT_ALONE, FORMS };
enum { IMAGE_AXIS, OUTPUT, CHANNEL, PLACE, PLACE_X, ELEMENT, ELEMENT_X, AXES };
typedef struct form {
    const char *name;
    bool gradient;      /* of weights; else y is what is summed */
    bool alone;         /* each channel has its own outputs */
    int batch, columns; /* the first axes; those behind the one of rows; the others are summed */
    int axes[AXES];
} form;
static const form forms[FORMS] = {
    [CONVOLUTION] = {"convolution", false, false, 1, 2,
                     {IMAGE_AXIS, OUTPUT, PLACE, PLACE_X, CHANNEL, ELEMENT, ELEMENT_X}},
    [GRADIENT] = {"gradient", true, false, 0, 3,
                  {OUTPUT, ELEMENT, ELEMENT_X, CHANNEL, IMAGE_AXIS, PLACE, PLACE_X}},
    [ALONE] = {"alone", false, true, 2, 2,
               {IMAGE_AXIS, CHANNEL, OUTPUT, PLACE, PLACE_X, ELEMENT, ELEMENT_X}},
    [GRADIENT_ALONE] = {"gradient_alone", true, true, 1, 2,
                        {CHANNEL, OUTPUT, ELEMENT, ELEMENT_X, IMAGE_AXIS, PLACE, PLACE_X}},
};

static void add_axes(bd_kir_builder *b, const form *f, int *at)
{
    static const int extents[AXES] = {IMAGES, OUTPUTS, CHANNELS, Y_HEIGHT, Y_WIDTH, ROWS, COLUMNS};
    for (int i = 0; i < AXES; i++) {
        int behind = i - f->batch;
        bd_kir_role role = behind < 0             ? BD_KIR_BATCH
                           : behind == 0          ? BD_KIR_M
                           : behind <= f->columns ? BD_KIR_N
                                                  : BD_KIR_K;
        at[f->axes[i]] = bd_kir_add_axis(b, role, bd_kir_arg(extents[f->axes[i]]));
    }
}

/* Strides of x, weights and y, by the axes that move them. */
static void walk_x(bd_kir_access *x, const int *at)
{
    x->offset = bd_kir_arg(OFFSET);
    x->strides[at[IMAGE_AXIS]] = bd_kir_arg(IMAGE);
    x->strides[at[CHANNEL]] = bd_kir_arg(PLANE);
    x->strides[at[PLACE]] = bd_kir_arg(ROW_STRIDE);
    x->strides[at[PLACE_X]] = bd_kir_arg(STRIDE);
    x->strides[at[ELEMENT]] = bd_kir_arg(ROW_DILATION);
    x->strides[at[ELEMENT_X]] = bd_kir_arg(DILATION);
}

static void walk_weights(bd_kir_access *w, const form *f, const int *at)
{
    bool channels_inside = f->gradient && !f->alone;
    w->strides[at[OUTPUT]] = bd_kir_arg(f->alone ? KERNEL : WEIGHTS);
    w->strides[at[ELEMENT]] = bd_kir_arg(channels_inside ? RUN : COLUMNS);
    w->strides[at[ELEMENT_X]] = channels_inside ? bd_kir_arg(CHANNELS) : bd_kir_const(1);
    w->strides[at[CHANNEL]] =
        channels_inside ? bd_kir_const(1) : bd_kir_arg(f->alone ? GROUP : KERNEL);
}

static void walk_y(bd_kir_access *y, const form *f, const int *at)
{
    y->strides[at[IMAGE_AXIS]] = bd_kir_arg(f->alone ? Y_GROUPS : Y_IMAGE);
    if (f->alone)
        y->strides[at[CHANNEL]] = bd_kir_arg(Y_IMAGE);
    y->strides[at[OUTPUT]] = bd_kir_arg(Y_PLANE);
    y->strides[at[PLACE]] = bd_kir_arg(Y_WIDTH);
    y->strides[at[PLACE_X]] = bd_kir_const(1);
}

/* Buffers: x, the other operand, what is summed. */
static bd_kir *program_of(const form *f, burn_dtype dtype, bool padded, bool changed)
{
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_CONTRACTION);
    for (int i = 0; i < INTS; i++)
        bd_kir_add_int(b);
    int at[AXES];
    add_axes(b, f, at);
    bd_kir_access x = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_READ));
    bd_kir_access other = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_READ));
    bd_kir_access out = kir_access(bd_kir_add_buffer(b, dtype, BD_KIR_WRITE));
    walk_x(&x, at);
    walk_weights(f->gradient ? &out : &other, f, at);
    walk_y(f->gradient ? &other : &out, f, at);
    yield(b, BD_KIR_OPERAND_A, &other, -1, changed);
    yield(b, BD_KIR_OPERAND_B, &x, padded ? inside(b, at + PLACE, at + ELEMENT) : -1, false);
    store_sums(b, &out, dtype);
    return kir_finish(b, &arena);
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

typedef struct numbers {
    burn_dtype dtype;
    bool whole, infinite;
} numbers;

/* What a machine makes of a case: the bytes of the output, of the heap. */
static char *result_of(const machine *by, const form *f, const int64_t *given, numbers of,
                       size_t *out_bytes)
{
    int64_t ints[INTS];
    set_ints(given, ints);
    int64_t y = ints[IMAGES] * ints[f->alone ? Y_GROUPS : Y_IMAGE];
    int64_t w = ints[OUTPUTS] * ints[WEIGHTS];
    int64_t counts[] = {ints[IMAGES] * ints[IMAGE], f->gradient ? y : w, f->gradient ? w : y};
    void *buffers[3];
    for (int i = 0; i < 3; i++) {
        buffers[i] = malloc((size_t)counts[i] * burn_dtype_size(of.dtype));
        fill(buffers[i], of.dtype, counts[i], (uint32_t)i + 1, of.whole);
    }
    if (of.infinite)
        for (int64_t i = 0; i < counts[0]; i += 97)
            ((float *)buffers[0])[i] = INFINITY;
    machine_run(by, &(bd_block){.ints = ints, .buffers = buffers});
    free(buffers[0]);
    free(buffers[1]);
    *out_bytes = (size_t)counts[2] * burn_dtype_size(of.dtype);
    return buffers[2];
}

/* Gradients of each channel alone take the interpreter long where there are many outputs. */
static bool is_long(int number, const form *f)
{
    bool interpreted = at_hand.all[0].driver == &bd_ref_driver;
    return interpreted && f->gradient && f->alone && cases[number][OUTPUTS] > 9;
}

static bool same_floats(const char *have, const char *want, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += sizeof(float)) {
        float a, b;
        memcpy(&a, have + at, sizeof a);
        memcpy(&b, want + at, sizeof b);
        if (isnan(b) ? !isnan(a) : a != b)
            return false;
    }
    return true;
}

/* One case on all machines. */
static void compare(const form *f, int number, numbers of)
{
    size_t bytes = 0;
    const machine *first = at_hand.all;
    char *want = result_of(first, f, cases[number], of, &bytes);
    for (const machine *m = first + 1; m < first + at_hand.count; m++) {
        char *have = result_of(m, f, cases[number], of, &bytes);
        ck_assert_msg(of.infinite ? same_floats(have, want, bytes) : memcmp(have, want, bytes) == 0,
                      "case %d, %s, machine %d, %s", number, f->name, (int)(m - first), m->name);
        free(have);
    }
    free(want);
}

static void compare_all(const form *f, bool padded, bool changed, numbers of)
{
    machines_compile(&at_hand, program_of(f, of.dtype, padded, changed));
    for (int i = 0; i < CASES; i++)
        if ((padded || cases[i][PADDING] == 0) && !is_long(i, f))
            compare(f, i, of);
}

START_TEST(every_size)
{
    static const burn_dtype dtypes[] = {BURN_F32, BURN_F64, BURN_BF16};
    const form *f = &forms[_i];
    bd_arena_init(&arena);
    machines_of_targets(&at_hand, 2);
    for (int bits = 0; bits < 6; bits++)
        compare_all(f, true, bits & 1, (numbers){.dtype = dtypes[bits / 2], .whole = true});
    compare_all(f, false, false, (numbers){.dtype = BURN_F32, .whole = true});
    compare_all(f, false, false, (numbers){.dtype = BURN_BF16, .whole = true});
    machines_close(&at_hand);
    bd_arena_deinit(&arena);
}
END_TEST

/* What a sum does not read does not count, not even as zero times infinity. */
START_TEST(infinite_elements)
{
    bd_arena_init(&arena);
    machines_of_targets(&at_hand, 2);
    numbers of = {.dtype = BURN_F32, .whole = true, .infinite = true};
    compare_all(&forms[_i], true, false, of);
    machines_close(&at_hand);
    bd_arena_deinit(&arena);
}
END_TEST

START_TEST(threads_do_not_change_bits)
{
    bd_arena_init(&arena);
    for (int target = 0; target < MACHINE_TARGETS; target++) {
        if (!machines_of_threads(&at_hand, target))
            continue;
        for (int bits = 0; bits < 4; bits++)
            compare_all(&forms[_i], true, bits & 1,
                        (numbers){.dtype = bits & 2 ? BURN_BF16 : BURN_F32});
        machines_close(&at_hand);
    }
    bd_arena_deinit(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("windows");
    TCase *tests = tcase_create("windows");
    tcase_set_timeout(tests, 300);
    tcase_add_loop_test(tests, every_size, 0, FORMS);
    tcase_add_loop_test(tests, infinite_elements, GRADIENT_ALONE, GRADIENT_ALONE + 1);
    tcase_add_loop_test(tests, threads_do_not_change_bits, 0, FORMS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
