/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/ref/half.h"
#include "backends/ref/interp.h"
#include "backends/ref/ref.h"
#include "tests/unit/backends/program.h"
#include "tests/unit/expect.h"

static bd_arena arena;
static bd_device *device;

static void setup(void)
{
    bd_arena_init(&arena);
    ck_assert_ptr_null(bd_ref_driver.open(&(bd_device_options){0}, &device));
}

static void teardown(void)
{
    bd_ref_driver.ops->close(device);
    bd_arena_deinit(&arena);
}

static kir_fault run(const bd_kir *program, const int64_t *ints, void *const *buffers)
{
    bd_block block = {.ints = ints, .buffers = buffers};
    return kir_run(&bd_ref_driver, device, program, &block);
}

/* out[i] = code(a[i], b[i], c[i]) */
static void apply(bd_kir_code code, burn_dtype dtype, burn_dtype out_dtype, int64_t count,
                  const void *a, const void *b, void *out)
{
    bd_kir_builder *builder = bd_kir_builder_create(BD_KIR_LOOP);
    bd_kir_add_axis(builder, BD_KIR_PARALLEL, bd_kir_arg(bd_kir_add_int(builder)));
    bd_kir_value values[2] = {0};
    const void *sources[2] = {a, b};
    bd_kir_begin_phase(builder, BD_KIR_ROW);
    for (int i = 0; i < 2; i++) {
        bd_kir_access access = kir_access(bd_kir_add_buffer(builder, dtype, BD_KIR_READ));
        access.strides[0] = bd_kir_const(1);
        if (sources[i])
            values[i] = kir_load(builder, &access, -1);
    }
    bd_kir_instr instr = {
        .code = (uint16_t)code, .dtype = (uint8_t)out_dtype, .operands = {values[0], values[1]}};
    bd_kir_value value = bd_kir_emit(builder, &instr);
    bd_kir_access to = kir_access(bd_kir_add_buffer(builder, out_dtype, BD_KIR_WRITE));
    to.strides[0] = bd_kir_const(1);
    kir_store(builder, &to, value);
    void *buffers[] = {(void *)(uintptr_t)a, (void *)(uintptr_t)b, out};
    run(kir_finish(builder, &arena), &count, buffers);
}

/* Known answers of Random123: kat_vectors, philox4x32 10. */
START_TEST(philox_known_answers)
{
    uint32_t w[4];
    bd_ref_philox(0, 0, 0, w);
    ck_assert_uint_eq(w[0], 0x6627e8d5);
    ck_assert_uint_eq(w[1], 0xe169c58d);
    ck_assert_uint_eq(w[2], 0xbc57ac4c);
    ck_assert_uint_eq(w[3], 0x9b00dbd8);
    bd_ref_philox(-1, -1, -1, w);
    ck_assert_uint_eq(w[0], 0x408f276d);
    ck_assert_uint_eq(w[3], 0x6d5451fd);
    bd_ref_philox((int64_t)0x85a308d3243f6a88, 0x299f31d0a4093822, 0x0370734413198a2e, w);
    ck_assert_uint_eq(w[0], 0xd16cfe09);
    ck_assert_uint_eq(w[1], 0x94fdcceb);
    ck_assert_uint_eq(w[2], 0x5001e420);
    ck_assert_uint_eq(w[3], 0x24126ea1);
}
END_TEST

START_TEST(half_floats_round_to_even)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float f16 = bd_f16_to_float((uint16_t)bits), bf16 = bd_bf16_to_float((uint16_t)bits);
        expect(isnan(f16) || bd_f16_from_float(f16) == bits, "f16 %x", bits);
        expect(isnan(bf16) || bd_bf16_from_float(bf16) == bits, "bf16 %x", bits);
    }
    ck_assert_uint_eq(bd_f16_from_float(1.0f), 0x3C00);
    ck_assert_uint_eq(bd_f16_from_float(65504.0f), 0x7BFF);
    ck_assert_uint_eq(bd_f16_from_float(65519.0f), 0x7BFF);
    ck_assert_uint_eq(bd_f16_from_float(65520.0f), 0x7C00);
    ck_assert_uint_eq(bd_f16_from_float(0x1p-24f), 0x0001);
    ck_assert_uint_eq(bd_f16_from_float(0x1p-25f), 0x0000);
    ck_assert_uint_eq(bd_f16_from_float(0x1.8p-25f), 0x0001);
    ck_assert_uint_eq(bd_f16_from_float(1.0f + 0x1p-11f), 0x3C00);
    ck_assert_uint_eq(bd_f16_from_float(1.0f + 0x3p-11f), 0x3C02);
    ck_assert_uint_eq(bd_bf16_from_float(1.0f + 0x1p-8f), 0x3F80);
    ck_assert_uint_eq(bd_bf16_from_float(1.0f + 0x3p-8f), 0x3F82);
    ck_assert(isnan(bd_f16_to_float(bd_f16_from_float(NAN))));
    ck_assert(isnan(bd_bf16_to_float(bd_bf16_from_float(bd_float_from_bits(0x7F800001)))));
}
END_TEST

/* Values of Python: [a // b, a % b for …]. */
START_TEST(floor_division_as_python)
{
    const double a[] = {7, -7, 7, -7, 0.5, -0.0, 1e300, 5, -5, INFINITY, 1, -1};
    const double b[] = {2, 2, -2, -2, 0.1, 3, 1e-10, 0, 0, 2, INFINITY, INFINITY};
    const double quotient[] = {3, -4, -4, 3, 4, -0.0, INFINITY, INFINITY, -INFINITY, NAN, 0, -1};
    const double rest[] = {1, 1, -1, -1, 0.5 - 4 * 0.1, 0, NAN, NAN, NAN, NAN, 1, INFINITY};
    double out[12];
    apply(BD_KIR_FLOORDIV, BURN_F64, BURN_F64, 12, a, b, out);
    for (int i = 0; i < 12; i++)
        if (i != 6)
            ck_assert_msg(out[i] == quotient[i] || (isnan(out[i]) && isnan(quotient[i])), "%d: %g",
                          i, out[i]);
    apply(BD_KIR_MOD, BURN_F64, BURN_F64, 12, a, b, out);
    for (int i = 0; i < 12; i++)
        if (i != 6)
            ck_assert_msg(fabs(out[i] - rest[i]) < 1e-15 || out[i] == rest[i] ||
                              (isnan(out[i]) && isnan(rest[i])),
                          "%d: %g", i, out[i]);
    const int32_t x[] = {7, -7, 7, -7, 5, INT32_MIN, 0}, y[] = {2, 2, -2, -2, 0, -1, 3};
    const int32_t floored[] = {3, -4, -4, 3, 0, INT32_MIN, 0}, modulo[] = {1, 1, -1, -1, 0, 0, 0};
    const int32_t truncated[] = {3, -3, -3, 3, 0, INT32_MIN, 0}, c_rest[] = {1, -1, 1, -1, 0, 0, 0};
    int32_t whole[7];
    apply(BD_KIR_FLOORDIV, BURN_I32, BURN_I32, 7, x, y, whole);
    ck_assert_mem_eq(whole, floored, sizeof whole);
    apply(BD_KIR_MOD, BURN_I32, BURN_I32, 7, x, y, whole);
    ck_assert_mem_eq(whole, modulo, sizeof whole);
    apply(BD_KIR_DIV, BURN_I32, BURN_I32, 7, x, y, whole);
    ck_assert_mem_eq(whole, truncated, sizeof whole);
    apply(BD_KIR_FMOD, BURN_I32, BURN_I32, 7, x, y, whole);
    ck_assert_mem_eq(whole, c_rest, sizeof whole);
}
END_TEST

START_TEST(integers_wrap)
{
    const uint8_t a[] = {200, 255, 0, 7, 3}, b[] = {100, 1, 1, 8, 5};
    const uint8_t sums[] = {44, 0, 1, 15, 8}, less[] = {100, 254, 255, 255, 254};
    const uint8_t powers[] = {0, 255, 0, 193,
                              243}; /* 3 ** 5 = 243; 7 ** 8 = 5764801 = 193 mod 256 */
    uint8_t out[5];
    apply(BD_KIR_ADD, BURN_U8, BURN_U8, 5, a, b, out);
    ck_assert_mem_eq(out, sums, 5);
    apply(BD_KIR_SUB, BURN_U8, BURN_U8, 5, a, b, out);
    ck_assert_mem_eq(out, less, 5);
    apply(BD_KIR_POW, BURN_U8, BURN_U8, 5, a, b, out);
    ck_assert_mem_eq(out, powers, 5);
    const int64_t base[] = {2, -1, -1, 1, 5, 3, -2}, exponent[] = {-1, -3, -2, -9, 0, 40, 63};
    const int64_t results[] = {0, -1, 1, 1, 1, -6289078614652622815, INT64_MIN};
    int64_t wide[7];
    apply(BD_KIR_POW, BURN_I64, BURN_I64, 7, base, exponent, wide);
    ck_assert_mem_eq(wide, results, sizeof wide);
    const uint64_t big[] = {UINT64_MAX, 1}, small[] = {3, UINT64_MAX};
    const uint64_t quotients[] = {UINT64_MAX / 3, 0}, largest[] = {UINT64_MAX, UINT64_MAX};
    uint64_t unsigned_out[2];
    apply(BD_KIR_FLOORDIV, BURN_U64, BURN_U64, 2, big, small, unsigned_out);
    ck_assert_mem_eq(unsigned_out, quotients, sizeof quotients);
    apply(BD_KIR_MAX, BURN_U64, BURN_U64, 2, big, small, unsigned_out);
    ck_assert_mem_eq(unsigned_out, largest, sizeof largest);
    const int8_t v[] = {-128, -1, 64, 3}, s[] = {1, 9, 1, -1};
    const int8_t left[] = {0, 0, -128, 0}, right[] = {-64, -1, 32, 0};
    int8_t bytes[4];
    apply(BD_KIR_SHL, BURN_I8, BURN_I8, 4, v, s, bytes);
    ck_assert_mem_eq(bytes, left, 4);
    apply(BD_KIR_SHR, BURN_I8, BURN_I8, 4, v, s, bytes);
    ck_assert_mem_eq(bytes, right, 4);
}
END_TEST

START_TEST(casts_truncate_and_saturate)
{
    const float a[] = {1.9f, -1.9f, 300.0f, -300.0f, NAN, INFINITY, -INFINITY, 1e20f};
    const int8_t bytes[] = {1, -1, 127, -128, 0, 127, -128, 127};
    const uint8_t unsigned_bytes[] = {1, 0, 255, 0, 0, 255, 0, 255};
    const uint8_t truths[] = {1, 1, 1, 1, 1, 1, 1, 1};
    const uint64_t wide[] = {1, 0, 300, 0, 0, UINT64_MAX, 0, UINT64_MAX};
    int8_t out[8];
    uint64_t wide_out[8];
    apply(BD_KIR_CAST, BURN_F32, BURN_I8, 8, a, NULL, out);
    ck_assert_mem_eq(out, bytes, 8);
    apply(BD_KIR_CAST, BURN_F32, BURN_U8, 8, a, NULL, out);
    ck_assert_mem_eq(out, unsigned_bytes, 8);
    apply(BD_KIR_CAST, BURN_F32, BURN_BOOL, 8, a, NULL, out);
    ck_assert_mem_eq(out, truths, 8);
    apply(BD_KIR_CAST, BURN_F32, BURN_U64, 8, a, NULL, wide_out);
    ck_assert_mem_eq(wide_out, wide, sizeof wide);
    const int32_t whole[] = {511, -1, 16777217};
    float floats[3];
    apply(BD_KIR_CAST, BURN_I32, BURN_F32, 3, whole, NULL, floats);
    ck_assert(floats[0] == 511.0f && floats[1] == -1.0f && floats[2] == 16777216.0f);
    apply(BD_KIR_CAST, BURN_I32, BURN_U8, 3, whole, NULL, out);
    ck_assert_mem_eq(out, "\xff\xff\x01", 3);
}
END_TEST

START_TEST(floats_keep_nan_and_signs)
{
    const float a[] = {NAN, 1, 3, -0.0f, 2}, b[] = {1, NAN, 2, 0.0f, 2};
    float out[5];
    apply(BD_KIR_MAX, BURN_F32, BURN_F32, 5, a, b, out);
    ck_assert(isnan(out[0]) && isnan(out[1]) && out[2] == 3);
    apply(BD_KIR_FMIN, BURN_F32, BURN_F32, 5, a, b, out);
    ck_assert(out[0] == 1 && out[1] == 1 && out[2] == 2);
    uint8_t truths[5];
    apply(BD_KIR_NE, BURN_F32, BURN_BOOL, 5, a, b, truths);
    ck_assert_mem_eq(truths, "\1\1\1\0\0", 5);
    apply(BD_KIR_LE, BURN_F32, BURN_BOOL, 5, a, b, truths);
    ck_assert_mem_eq(truths, "\0\0\0\1\1", 5);
    apply(BD_KIR_SIGN, BURN_F32, BURN_F32, 5, a, NULL, out);
    ck_assert(out[0] == 0 && out[1] == 1 && !signbit(out[3]));
    const float ties[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f};
    apply(BD_KIR_ROUND, BURN_F32, BURN_F32, 5, ties, NULL, out);
    ck_assert(out[0] == 0 && out[1] == 2 && out[2] == 2 && out[3] == 0 && out[4] == -2);
    /* scipy.special.digamma */
    const double x[] = {1.0, 0.5, -1.5, 100.25, -2.0};
    const double psi[] = {-0.5772156649015329, -1.9635100260214235, 0.7031566406452432,
                          4.602671243274712, NAN};
    double wide[5];
    apply(BD_KIR_DIGAMMA, BURN_F64, BURN_F64, 5, x, NULL, wide);
    for (int i = 0; i < 4; i++)
        ck_assert_double_eq_tol(wide[i], psi[i], 1e-12);
    ck_assert(isnan(wide[4]));
    const uint16_t h[] = {0x3C00, 0x0000, 0x7BFF}, up[] = {0x7C00, 0xBC00, 0x7C00};
    uint16_t next[3];
    apply(BD_KIR_NEXTAFTER, BURN_F16, BURN_F16, 3, h, up, next);
    ck_assert(next[0] == 0x3C01 && next[1] == 0x8001 && next[2] == 0x7C00);
}
END_TEST

static bd_kir *softmax(void)
{
    bd_kir_builder *builder = bd_kir_builder_create(BD_KIR_LOOP);
    int rows = bd_kir_add_int(builder), columns = bd_kir_add_int(builder);
    bd_kir_add_axis(builder, BD_KIR_PARALLEL, bd_kir_arg(rows));
    bd_kir_add_axis(builder, BD_KIR_SERIAL, bd_kir_arg(columns));
    bd_kir_access x = kir_access(bd_kir_add_buffer(builder, BURN_F32, BD_KIR_READ));
    bd_kir_access y = kir_access(bd_kir_add_buffer(builder, BURN_F32, BD_KIR_WRITE));
    bd_kir_access top_out = kir_access(bd_kir_add_buffer(builder, BURN_I64, BD_KIR_WRITE));
    int slot = bd_kir_add_slot(builder, BURN_F32);
    x.strides[0] = y.strides[0] = bd_kir_arg(columns);
    x.strides[1] = y.strides[1] = bd_kir_const(1);
    top_out.strides[0] = bd_kir_const(1);
    bd_kir_begin_phase(builder, BD_KIR_EACH);
    bd_kir_value loaded = kir_load(builder, &x, -1);
    bd_kir_value top = bd_kir_unary(builder, BD_KIR_REDUCE_MAX, loaded);
    bd_kir_value where = bd_kir_unary(builder, BD_KIR_REDUCE_ARGMAX, loaded);
    bd_kir_begin_phase(builder, BD_KIR_EACH);
    bd_kir_value power = bd_kir_unary(
        builder, BD_KIR_EXP, bd_kir_binary(builder, BD_KIR_SUB, kir_load(builder, &x, -1), top));
    bd_kir_instr save = {.code = BD_KIR_SAVE, .index = (uint16_t)slot, .operands = {power}};
    bd_kir_emit(builder, &save);
    bd_kir_value sum = bd_kir_unary(builder, BD_KIR_REDUCE_SUM, power);
    bd_kir_begin_phase(builder, BD_KIR_ROW);
    bd_kir_value scale = bd_kir_unary(builder, BD_KIR_RECIP, sum);
    kir_store(builder, &top_out, where);
    bd_kir_begin_phase(builder, BD_KIR_EACH);
    bd_kir_instr restore = {.code = BD_KIR_RESTORE, .index = (uint16_t)slot};
    bd_kir_value kept = bd_kir_emit(builder, &restore);
    kir_store(builder, &y, bd_kir_binary(builder, BD_KIR_MUL, kept, scale));
    return kir_finish(builder, &arena);
}

START_TEST(softmax_rows)
{
    const int64_t rows = 3, sizes[] = {1, 7, 256, 257, 613};
    bd_kir *program = softmax();
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t columns = sizes[s];
        float *x = malloc((size_t)(rows * columns) * 4), *y = malloc((size_t)(rows * columns) * 4);
        int64_t top[3];
        for (int64_t i = 0; i < rows * columns; i++)
            x[i] = (float)((i * 7919 + 13) % 97) * 0.1f;
        const int64_t ints[] = {rows, columns};
        run(program, ints, (void *[]){x, y, top});
        for (int64_t r = 0; r < rows; r++) {
            double sum = 0;
            int64_t best = 0;
            for (int64_t c = 0; c < columns; c++) {
                sum += exp((double)x[r * columns + c]);
                best = x[r * columns + c] > x[r * columns + best] ? c : best;
            }
            ck_assert_int_eq(top[r], best);
            for (int64_t c = 0; c < columns; c++)
                ck_assert_double_eq_tol((double)y[r * columns + c],
                                        exp((double)x[r * columns + c]) / sum, 1e-6);
        }
        free(x);
        free(y);
    }
    /* No columns: nothing is stored but the position, which is 0. */
    int64_t top[3] = {9, 9, 9};
    run(program, (int64_t[]){3, 0}, (void *[]){NULL, NULL, top});
    ck_assert(top[0] == 0 && top[1] == 0 && top[2] == 0);
    run(program, (int64_t[]){0, 5}, (void *[]){NULL, NULL, NULL});
}
END_TEST

static bd_kir *product(burn_dtype dtype, bool batched)
{
    bd_kir_builder *builder = bd_kir_builder_create(BD_KIR_CONTRACTION);
    int batch = bd_kir_add_int(builder), m = bd_kir_add_int(builder);
    int n = bd_kir_add_int(builder), k = bd_kir_add_int(builder);
    int a_step = bd_kir_add_int(builder), out_step = bd_kir_add_int(builder);
    int base = 0;
    if (batched)
        base = bd_kir_add_axis(builder, BD_KIR_BATCH, bd_kir_arg(batch)) + 1;
    bd_kir_add_axis(builder, BD_KIR_M, bd_kir_arg(m));
    bd_kir_add_axis(builder, BD_KIR_N, bd_kir_arg(n));
    bd_kir_add_axis(builder, BD_KIR_K, bd_kir_arg(k));
    burn_dtype sum = bd_kir_accumulator(dtype);
    bd_kir_access a = kir_access(bd_kir_add_buffer(builder, dtype, BD_KIR_READ));
    bd_kir_access b = kir_access(bd_kir_add_buffer(builder, dtype, BD_KIR_READ));
    bd_kir_access out = kir_access(bd_kir_add_buffer(builder, sum, BD_KIR_WRITE));
    if (batched) {
        a.strides[0] = bd_kir_arg(a_step);
        out.strides[0] = bd_kir_arg(out_step);
    }
    a.strides[base] = bd_kir_arg(k);
    a.strides[base + 2] = bd_kir_const(1);
    b.strides[base + 2] = bd_kir_arg(n);
    b.strides[base + 1] = bd_kir_const(1);
    out.strides[base] = bd_kir_arg(n);
    out.strides[base + 1] = bd_kir_const(1);
    bd_kir_begin_phase(builder, BD_KIR_OPERAND_A);
    bd_kir_unary(builder, BD_KIR_YIELD, kir_load(builder, &a, -1));
    bd_kir_begin_phase(builder, BD_KIR_OPERAND_B);
    bd_kir_unary(builder, BD_KIR_YIELD, kir_load(builder, &b, -1));
    bd_kir_begin_phase(builder, BD_KIR_EPILOGUE);
    bd_kir_instr acc = {.code = BD_KIR_ACC, .dtype = (uint8_t)sum};
    kir_store(builder, &out, bd_kir_emit(builder, &acc));
    return kir_finish(builder, &arena);
}

START_TEST(products)
{
    const int64_t sizes[][4] = {{1, 1, 1, 1}, {2, 3, 5, 7}, {3, 2, 300, 301},
                                {1, 4, 3, 0}, {2, 0, 3, 4}, {0, 3, 3, 3}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int64_t batch = sizes[s][0], m = sizes[s][1], n = sizes[s][2], k = sizes[s][3];
        float *a = malloc((size_t)(batch * m * k) * 4 + 4), *b = malloc((size_t)(k * n) * 4 + 4);
        float *out = malloc((size_t)(batch * m * n) * 4 + 4);
        for (int64_t i = 0; i < batch * m * k; i++)
            a[i] = (float)(i % 11 - 5);
        for (int64_t i = 0; i < k * n; i++)
            b[i] = (float)(i % 7 - 3);
        run(product(BURN_F32, true), (int64_t[]){batch, m, n, k, m * k, m * n},
            (void *[]){a, b, out});
        for (int64_t i = 0; i < batch * m * n; i++) {
            float sum = 0;
            for (int64_t j = 0; j < k; j++)
                sum += a[i / n * k + j] * b[j * n + i % n];
            ck_assert_float_eq(out[i], sum);
        }
        free(a);
        free(b);
        free(out);
    }
}
END_TEST

START_TEST(products_of_other_types)
{
    const int64_t ints[] = {1, 2, 2, 3, 0, 0};
    const int8_t a[] = {100, 2, 3, 4, 5, 6}, b[] = {1, 2, 3, 4, 5, 6};
    int8_t out[4];
    run(product(BURN_I8, false), ints, (void *[]){(void *)(uintptr_t)a, (void *)(uintptr_t)b, out});
    /* 100 + 6 + 15 = 121; 200 + 8 + 18 = 226 wraps to -30; 49; 64 */
    ck_assert_int_eq(out[0], 121);
    ck_assert_int_eq(out[1], -30);
    ck_assert_int_eq(out[2], 49);
    ck_assert_int_eq(out[3], 64);
    uint8_t p[] = {1, 0, 0, 0, 0, 0}, q[] = {0, 1, 1, 1, 0, 0}, truth[4];
    run(product(BURN_BOOL, false), ints, (void *[]){p, q, truth});
    ck_assert_mem_eq(truth, "\0\1\0\0", 4);
    /* 2048 + 1 needs more than the 11 bits of f16: the sum is f32. */
    uint16_t x[] = {0x6800, 0x3C00, 0, 0, 0, 0}, y[] = {0x3C00, 0, 0x3C00, 0, 0, 0};
    float sums[4];
    run(product(BURN_F16, false), ints, (void *[]){x, y, sums});
    ck_assert_float_eq(sums[0], 2049.0f);
}
END_TEST

/* out[index[i]] += x[i] in order, with a checked position; then a guarded load. */
START_TEST(scatters_and_reports_faults)
{
    bd_kir_builder *builder = bd_kir_builder_create(BD_KIR_LOOP);
    int count = bd_kir_add_int(builder), bins = bd_kir_add_int(builder);
    bd_kir_add_axis(builder, BD_KIR_SERIAL, bd_kir_arg(count));
    bd_kir_access x = kir_access(bd_kir_add_buffer(builder, BURN_F32, BD_KIR_READ));
    bd_kir_access index = kir_access(bd_kir_add_buffer(builder, BURN_I64, BD_KIR_READ));
    bd_kir_access out = kir_access(bd_kir_add_buffer(builder, BURN_F32, BD_KIR_READ_WRITE));
    x.strides[0] = index.strides[0] = bd_kir_const(1);
    bd_kir_begin_phase(builder, BD_KIR_EACH);
    bd_kir_instr check = {.code = BD_KIR_CHECK,
                          .index = 42,
                          .flags = 1,
                          .integer = bd_kir_arg(bins),
                          .operands = {kir_load(builder, &index, -1)}};
    bd_kir_value position = bd_kir_emit(builder, &check);
    bd_kir_instr store = {.code = BD_KIR_STORE_AT,
                          .index = (uint16_t)bd_kir_add_access(builder, &out),
                          .guard = -1,
                          .flags = BD_KIR_ACCUMULATE,
                          .integer = bd_kir_const(1),
                          .operands = {kir_load(builder, &x, -1), position}};
    bd_kir_emit(builder, &store);
    bd_kir *program = kir_finish(builder, &arena);
    float values[] = {1, 2, 4, 8, 16}, sums[3] = {100, 0, 0};
    int64_t places[] = {0, 2, -1, 1, 0};
    kir_fault fault = run(program, (int64_t[]){5, 3}, (void *[]){values, places, sums});
    ck_assert_int_eq(fault.happened, 0);
    ck_assert(sums[0] == 117 && sums[1] == 8 && sums[2] == 6);
    places[1] = 3;
    places[2] = -9;
    fault = run(program, (int64_t[]){5, 3}, (void *[]){values, places, sums});
    ck_assert_int_eq(fault.happened, 1);
    ck_assert_int_eq(fault.tag, 42);
    ck_assert_int_eq(fault.position, 3);
    ck_assert_int_eq(fault.extent, 3);
    fault = run(program, (int64_t[]){5, 0}, (void *[]){values, places, NULL});
    ck_assert_int_eq(fault.happened, 1);
    ck_assert_int_eq(fault.extent, 0);
    fault = run(program, (int64_t[]){0, 0}, (void *[]){values, places, NULL});
    ck_assert_int_eq(fault.happened, 0);
}
END_TEST

START_TEST(guards_and_views)
{
    /* out[i, j] = 0 <= j - 2 < n ? x[j - 2, i] : 0: a transposed, padded copy of x[n, m]. */
    bd_kir_builder *builder = bd_kir_builder_create(BD_KIR_LOOP);
    int m = bd_kir_add_int(builder), n = bd_kir_add_int(builder);
    int padded = bd_kir_add_int(builder), offset = bd_kir_add_int(builder);
    bd_kir_add_axis(builder, BD_KIR_PARALLEL, bd_kir_arg(m));
    bd_kir_add_axis(builder, BD_KIR_PARALLEL, bd_kir_arg(padded));
    bd_kir_access x = kir_access(bd_kir_add_buffer(builder, BURN_I16, BD_KIR_READ));
    bd_kir_access out = kir_access(bd_kir_add_buffer(builder, BURN_I16, BD_KIR_WRITE));
    x.offset = bd_kir_arg(offset);
    x.strides[0] = bd_kir_const(1);
    x.strides[1] = bd_kir_arg(m);
    out.strides[0] = bd_kir_arg(padded);
    out.strides[1] = bd_kir_const(1);
    bd_kir_guard guard = {.offset = bd_kir_const(-2), .extent = bd_kir_arg(n)};
    for (int i = 0; i < BD_KIR_AXES_MAX; i++)
        guard.strides[i] = bd_kir_const(i == 1);
    bd_kir_begin_phase(builder, BD_KIR_ROW);
    kir_store(builder, &out, kir_load(builder, &x, bd_kir_add_guard(builder, &guard)));
    int16_t from[] = {1, 2, 3, 4, 5, 6}, to[10], expected[] = {0, 0, 1, 3, 5, 0, 0, 2, 4, 6};
    run(kir_finish(builder, &arena), (int64_t[]){2, 3, 5, -4}, (void *[]){from, to});
    ck_assert_mem_eq(to, expected, sizeof expected);
}
END_TEST

START_TEST(registry_knows_the_driver)
{
    ck_assert_ptr_eq(bd_driver_find("ref"), &bd_ref_driver);
    ck_assert_ptr_null(bd_driver_find("abacus"));
    ck_assert_ptr_null(bd_driver_at(bd_driver_count()));
    ck_assert_ptr_null(bd_driver_at(-1));
    ck_assert_ptr_eq(bd_driver_at(bd_driver_count() - 1), &bd_ref_driver);
    bd_device_facts facts;
    bd_ref_driver.ops->describe(device, &facts);
    ck_assert_str_eq(facts.name, "ref");
    void *memory = NULL;
    ck_assert_ptr_null(bd_ref_driver.ops->alloc(device, 0, &memory));
    ck_assert_uint_eq((uintptr_t)memory % 64, 0);
    bd_ref_driver.ops->free(device, memory, 0);
    bd_error *err = bd_ref_driver.ops->alloc(device, SIZE_MAX, &memory);
    ck_assert_int_eq(bd_error_code(err), BD_CODE_NO_MEMORY);
    bd_error_free(err);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ref");
    TCase *tests = tcase_create("ref");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, philox_known_answers);
    tcase_add_test(tests, half_floats_round_to_even);
    tcase_add_test(tests, floor_division_as_python);
    tcase_add_test(tests, integers_wrap);
    tcase_add_test(tests, casts_truncate_and_saturate);
    tcase_add_test(tests, floats_keep_nan_and_signs);
    tcase_add_test(tests, softmax_rows);
    tcase_add_test(tests, products);
    tcase_add_test(tests, products_of_other_types);
    tcase_add_test(tests, scatters_and_reports_faults);
    tcase_add_test(tests, guards_and_views);
    tcase_add_test(tests, registry_knows_the_driver);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
