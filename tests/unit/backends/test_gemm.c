/* SPDX-License-Identifier: Apache-2.0
 * Contractions of the cpu backend against the interpreter: every way an operand can lie in memory,
 * every kind of source and block, on every target that the host has. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/backends/machines.h"

static machines at_hand;
static bd_arena arena;

typedef struct form {
    burn_dtype dtype;
    bool a_turned, b_turned; /* A lies as [k, m], B as [n, k] */
    bool prologue, epilogue, batched;
    bool without_m, without_n;
} form;

enum { BATCH, M, N, K, A_BATCH, B_BATCH, OUT_BATCH, INTS };

static bd_kir_value operand(bd_kir_builder *builder, const bd_kir_access *access, const form *f)
{
    bd_kir_value value = kir_load(builder, access, -1);
    if (f->prologue)
        value = bd_kir_unary(builder, BD_KIR_ABS, value);
    return bd_kir_unary(builder, BD_KIR_YIELD, value);
}

static bd_kir *product(const form *f)
{
    bd_kir_builder *builder = bd_kir_builder_create(BD_KIR_CONTRACTION);
    for (int i = 0; i < INTS; i++)
        bd_kir_add_int(builder);
    int batch = -1, m = -1, n = -1;
    if (f->batched)
        batch = bd_kir_add_axis(builder, BD_KIR_BATCH, bd_kir_arg(BATCH));
    if (!f->without_m)
        m = bd_kir_add_axis(builder, BD_KIR_M, bd_kir_arg(M));
    if (!f->without_n)
        n = bd_kir_add_axis(builder, BD_KIR_N, bd_kir_arg(N));
    int k = bd_kir_add_axis(builder, BD_KIR_K, bd_kir_arg(K));
    burn_dtype sum = bd_kir_accumulator(f->dtype);
    bd_kir_access a = kir_access(bd_kir_add_buffer(builder, f->dtype, BD_KIR_READ));
    bd_kir_access b = kir_access(bd_kir_add_buffer(builder, f->dtype, BD_KIR_READ));
    bd_kir_access bias = kir_access(bd_kir_add_buffer(builder, sum, BD_KIR_READ));
    bd_kir_access out = kir_access(bd_kir_add_buffer(builder, sum, BD_KIR_WRITE));
    if (batch >= 0) {
        a.strides[batch] = bd_kir_arg(A_BATCH);
        b.strides[batch] = bd_kir_arg(B_BATCH);
        out.strides[batch] = bd_kir_arg(OUT_BATCH);
    }
    a.strides[k] = f->a_turned ? bd_kir_arg(M) : bd_kir_const(1);
    b.strides[k] = f->b_turned ? bd_kir_const(1) : bd_kir_arg(N);
    if (m >= 0) {
        a.strides[m] = f->a_turned ? bd_kir_const(1) : bd_kir_arg(K);
        out.strides[m] = bd_kir_arg(N);
    }
    if (n >= 0) {
        b.strides[n] = f->b_turned ? bd_kir_arg(K) : bd_kir_const(1);
        bias.strides[n] = out.strides[n] = bd_kir_const(1);
    }
    bd_kir_begin_phase(builder, BD_KIR_OPERAND_A);
    operand(builder, &a, f);
    bd_kir_begin_phase(builder, BD_KIR_OPERAND_B);
    operand(builder, &b, f);
    bd_kir_begin_phase(builder, BD_KIR_EPILOGUE);
    bd_kir_instr acc = {.code = BD_KIR_ACC, .dtype = (uint8_t)sum};
    bd_kir_value value = bd_kir_emit(builder, &acc);
    if (f->epilogue) {
        value = bd_kir_binary(builder, BD_KIR_ADD, value, kir_load(builder, &bias, -1));
        value = bd_kir_binary(builder, BD_KIR_MAX, value, bd_kir_const_float(builder, sum, 0));
    }
    kir_store(builder, &out, value);
    return kir_finish(builder, &arena);
}

/* Small whole numbers: sums are exact in every type, in every order. */
static void fill(void *to, burn_dtype dtype, int64_t count, uint32_t seed)
{
    static const uint16_t f16[] = {0x0000, 0x3C00, 0xBC00, 0x4000, 0xC000};
    static const uint16_t bf16[] = {0x0000, 0x3F80, 0xBF80, 0x4000, 0xC000};
    static const float floats[] = {0, 1, -1, 2, -2};
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned pick = (seed >> 16) % 5;
        if (dtype == BURN_F64)
            ((double *)to)[i] = (double)floats[pick];
        else if (dtype == BURN_F32)
            ((float *)to)[i] = floats[pick];
        else
            ((uint16_t *)to)[i] = dtype == BURN_F16 ? f16[pick] : bf16[pick];
    }
}

static void compare(const form *f, const int64_t *sizes)
{
    int64_t ints[INTS] = {sizes[0], sizes[1], sizes[2], sizes[3]};
    ints[A_BATCH] = sizes[1] * sizes[3];
    ints[B_BATCH] = sizes[0] == 3 ? 0 : sizes[2] * sizes[3]; /* sometimes the same B for all */
    ints[OUT_BATCH] = sizes[1] * sizes[2];
    int64_t counts[] = {sizes[0] * ints[A_BATCH], sizes[0] * sizes[2] * sizes[3], sizes[2],
                        sizes[0] * ints[OUT_BATCH]};
    burn_dtype sum = bd_kir_accumulator(f->dtype);
    burn_dtype dtypes[] = {f->dtype, f->dtype, sum, sum};
    void *buffers[4];
    for (int i = 0; i < 4; i++) {
        buffers[i] = malloc((size_t)counts[i] * burn_dtype_size(dtypes[i]) + 8);
        fill(buffers[i], dtypes[i], counts[i], (uint32_t)i + 1);
    }
    size_t bytes = (size_t)counts[3] * burn_dtype_size(sum);
    char *expected = malloc(bytes + 8), *out = buffers[3];
    for (int i = 0; i < at_hand.count; i++) {
        buffers[3] = i ? out : expected;
        memset(buffers[3], 0x55, bytes + 8);
        machine_run(&at_hand.all[i], &(bd_block){.ints = ints, .buffers = buffers});
        ck_assert_msg(memcmp(buffers[3], expected, bytes + 8) == 0,
                      "%s type %d turned %d %d prologue %d epilogue %d sizes %d %d %d %d",
                      at_hand.all[i].name, (int)f->dtype, f->a_turned, f->b_turned, f->prologue,
                      f->epilogue, (int)sizes[0], (int)sizes[1], (int)sizes[2], (int)sizes[3]);
    }
    buffers[3] = out;
    for (int i = 0; i < 4; i++)
        free(buffers[i]);
    free(expected);
}

static const int64_t plain_sizes[][4] = {
    {1, 1, 1, 1},     {1, 3, 5, 7},      {1, 4, 130, 33},   {1, 14, 32, 16},  {1, 61, 67, 71},
    {1, 128, 10, 64}, {1, 13, 257, 300}, {1, 200, 300, 50}, {1, 1, 300, 700}, {1, 300, 1, 700},
    {1, 5, 7, 5000},  {1, 0, 3, 4},      {1, 3, 0, 4},      {1, 3, 4, 0},     {1, 31, 33, 2100},
    {1, 4, 301, 333}, {1, 3, 1100, 70},  {1, 2, 70, 1101},  {1, 301, 3, 705}, {1, 2000, 2, 65},
    {1, 1, 1, 90001}, {1, 9, 3, 30000},
};
static const int64_t batched_sizes[][4] = {{1, 7, 9, 11},     {2, 33, 40, 17}, {3, 20, 65, 30},
                                           {3, 150, 300, 40}, {0, 2, 3, 4},    {17, 1, 8, 5}};

static void compare_all(const form *f, const int64_t (*sizes)[4], size_t count)
{
    machines_compile(&at_hand, product(f));
    for (size_t i = 0; i < count; i++)
        compare(f, sizes[i]);
}

static void begin(int threads)
{
    bd_arena_init(&arena);
    machines_of_targets(&at_hand, threads);
}

static void end(void)
{
    machines_close(&at_hand);
    bd_arena_deinit(&arena);
}

START_TEST(every_layout)
{
    begin(2);
    for (int bits = 0; bits < 32; bits++) {
        form f = {.dtype = bits & 16 ? BURN_F64 : BURN_F32,
                  .a_turned = bits & 1,
                  .b_turned = bits & 2,
                  .epilogue = bits & 4,
                  .batched = bits & 8};
        if (f.batched)
            compare_all(&f, batched_sizes, sizeof batched_sizes / sizeof *batched_sizes);
        else
            compare_all(&f, plain_sizes, sizeof plain_sizes / sizeof *plain_sizes);
    }
    end();
}
END_TEST

START_TEST(prologues_and_half_floats)
{
    static const burn_dtype dtypes[] = {BURN_F32, BURN_F16, BURN_BF16};
    begin(2);
    for (int bits = 0; bits < 24; bits++) {
        form f = {.dtype = dtypes[bits / 8],
                  .a_turned = bits & 1,
                  .b_turned = bits & 2,
                  .prologue = bits & 4 || bits < 8,
                  .epilogue = true};
        compare_all(&f, plain_sizes, sizeof plain_sizes / sizeof *plain_sizes);
        f.batched = true;
        compare_all(&f, batched_sizes, sizeof batched_sizes / sizeof *batched_sizes);
    }
    end();
}
END_TEST

START_TEST(missing_axes)
{
    begin(1);
    for (int bits = 0; bits < 16; bits++) {
        form f = {.dtype = BURN_F32,
                  .without_m = bits & 1,
                  .without_n = bits & 2,
                  .epilogue = bits & 4,
                  .a_turned = bits & 8,
                  .b_turned = bits & 8};
        int64_t m = f.without_m ? 1 : 77, n = f.without_n ? 1 : 83;
        const int64_t sizes[][4] = {{1, m, n, 300}, {1, m, n, 5000}};
        compare_all(&f, sizes, 2);
    }
    end();
}
END_TEST

/* Numbers of -0.5 to 0.5, of bf16 the upper halves. */
static void *fractions(burn_dtype dtype, int64_t count, uint32_t seed)
{
    uint32_t *to = malloc((size_t)count * 4);
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        float number = (float)(seed >> 8) * 0x1p-24f - 0.5f;
        memcpy(to + i, &number, 4);
        if (dtype == BURN_BF16)
            ((uint16_t *)to)[i] = (uint16_t)(to[i] >> 16);
    }
    return to;
}

static double number(const void *from, burn_dtype dtype, int64_t at)
{
    uint32_t bits = ((const uint32_t *)from)[dtype == BURN_BF16 ? 0 : at];
    if (dtype == BURN_BF16)
        bits = (uint32_t)((const uint16_t *)from)[at] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/* Some of the first and of the last row of the product, against sums of double. */
static void judge(const form *f, const int64_t *sizes, const void *a, const void *b,
                  const float *bias, const float *out)
{
    int64_t m = sizes[1], n = sizes[2], k = sizes[3];
    for (int64_t i = 0; i < n; i += i < n / 2 ? 19 : 1) {
        int64_t r = i % 2 ? m - 1 : 0;
        double sum = (double)bias[i];
        for (int64_t j = 0; j < k; j++)
            sum += number(a, f->dtype, f->a_turned ? j * m + r : r * k + j) *
                   number(b, f->dtype, f->b_turned ? i * k + j : j * n + i);
        ck_assert_double_eq_tol((double)out[r * n + i], sum < 0 ? 0 : sum, 2e-4);
    }
}

/* The sums of every target are right, and the same bits whatever the number of workers, also where
 * K is split. */
static void compare_threads(const form *f, const int64_t *sizes)
{
    int64_t m = sizes[1], n = sizes[2], k = sizes[3];
    size_t bytes = (size_t)(m * n) * sizeof(float);
    void *a = fractions(f->dtype, m * k, 1), *b = fractions(f->dtype, k * n, 2);
    float *bias = fractions(BURN_F32, n, 3), *out = malloc(bytes), *first = malloc(bytes);
    for (int i = 0; i < at_hand.count; i++) {
        float *to = i ? out : first;
        bd_block block = {.ints = (int64_t[]){1, m, n, k, 0, 0, 0},
                          .buffers = (void *[]){a, b, bias, to}};
        machine_run(&at_hand.all[i], &block);
        judge(f, sizes, a, b, bias, to);
        ck_assert_mem_eq(to, first, bytes);
    }
    free(a);
    free(b);
    free(bias);
    free(out);
    free(first);
}

START_TEST(threads_do_not_change_bits)
{
    static const int64_t sizes[][4] = {{1, 100, 200, 300},  {1, 301, 499, 701}, {1, 10, 20, 9000},
                                       {1, 1, 2000, 3000},  {1, 7, 1111, 601},  {1, 7, 1111, 602},
                                       {1, 17, 33, 31},     {1, 63, 15, 1},     {1, 2, 16, 90000},
                                       {1, 1200, 9, 555},   {1, 3, 1090, 402},  {1, 16, 700, 810}};
    if (!machines_of_threads(&at_hand, _i))
        return;
    bd_arena_init(&arena);
    for (int bits = 0; bits < 8; bits++) {
        form f = {.dtype = bits & 4 ? BURN_BF16 : BURN_F32,
                  .a_turned = bits & 1,
                  .b_turned = bits & 2,
                  .epilogue = true};
        machines_compile(&at_hand, product(&f));
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            compare_threads(&f, sizes[i]);
    }
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gemm");
    TCase *tests = tcase_create("gemm");
    tcase_set_timeout(tests, 300);
    tcase_add_test(tests, every_layout);
    tcase_add_test(tests, prologues_and_half_floats);
    tcase_add_test(tests, missing_axes);
    tcase_add_loop_test(tests, threads_do_not_change_bits, 0, MACHINE_TARGETS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
