/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/kir/kir.h"
#include "proto/base/alloc.h"
#include "proto/base/error.h"

static bd_arena arena;

static void setup(void)
{
    bd_arena_init(&arena);
}

static void teardown(void)
{
    bd_arena_deinit(&arena);
}

static bd_kir_access plain(int buffer)
{
    bd_kir_access access = {.buffer = (uint16_t)buffer, .offset = bd_kir_const(0)};
    for (int i = 0; i < BD_KIR_AXES_MAX; i++)
        access.strides[i] = bd_kir_const(0);
    return access;
}

static bd_kir_value load(bd_kir_builder *builder, const bd_kir_access *access)
{
    int number = bd_kir_add_access(builder, access);
    return bd_kir_emit(
        builder, &(bd_kir_instr){.code = BD_KIR_LOAD, .index = (uint16_t)number, .guard = -1});
}

static void store(bd_kir_builder *builder, const bd_kir_access *access, bd_kir_value value)
{
    int number = bd_kir_add_access(builder, access);
    bd_kir_emit(builder, &(bd_kir_instr){.code = BD_KIR_STORE,
                                         .index = (uint16_t)number,
                                         .guard = -1,
                                         .operands = {value}});
}

static bd_kir_builder *softmax_builder(void)
{
    bd_kir_builder *builder = bd_kir_builder_create(BD_KIR_LOOP);
    int rows = bd_kir_add_int(builder);
    int columns = bd_kir_add_int(builder);
    bd_kir_add_axis(builder, BD_KIR_PARALLEL, bd_kir_arg(rows));
    bd_kir_add_axis(builder, BD_KIR_SERIAL, bd_kir_arg(columns));
    int x = bd_kir_add_buffer(builder, BURN_F32, BD_KIR_READ);
    int y = bd_kir_add_buffer(builder, BURN_F32, BD_KIR_WRITE);
    int slot = bd_kir_add_slot(builder, BURN_F32);
    bd_kir_access in = plain(x), out = plain(y);
    in.strides[0] = out.strides[0] = bd_kir_arg(columns);
    in.strides[1] = out.strides[1] = bd_kir_const(1);

    bd_kir_begin_phase(builder, BD_KIR_EACH);
    bd_kir_value top = bd_kir_unary(builder, BD_KIR_REDUCE_MAX, load(builder, &in));
    bd_kir_begin_phase(builder, BD_KIR_EACH);
    bd_kir_value shifted = bd_kir_binary(builder, BD_KIR_SUB, load(builder, &in), top);
    bd_kir_value power = bd_kir_unary(builder, BD_KIR_EXP, shifted);
    bd_kir_emit(builder,
                &(bd_kir_instr){.code = BD_KIR_SAVE, .index = (uint16_t)slot, .operands = {power}});
    bd_kir_value sum = bd_kir_unary(builder, BD_KIR_REDUCE_SUM, power);
    bd_kir_begin_phase(builder, BD_KIR_ROW);
    bd_kir_value scale = bd_kir_unary(builder, BD_KIR_RECIP, sum);
    bd_kir_begin_phase(builder, BD_KIR_EACH);
    bd_kir_value kept =
        bd_kir_emit(builder, &(bd_kir_instr){.code = BD_KIR_RESTORE, .index = (uint16_t)slot});
    store(builder, &out, bd_kir_binary(builder, BD_KIR_MUL, kept, scale));
    return builder;
}

static bd_kir_builder *linear_builder(burn_dtype b_dtype)
{
    bd_kir_builder *builder = bd_kir_builder_create(BD_KIR_CONTRACTION);
    int m = bd_kir_add_int(builder), n = bd_kir_add_int(builder), k = bd_kir_add_int(builder);
    bd_kir_add_axis(builder, BD_KIR_M, bd_kir_arg(m));
    bd_kir_add_axis(builder, BD_KIR_N, bd_kir_arg(n));
    bd_kir_add_axis(builder, BD_KIR_K, bd_kir_arg(k));
    bd_kir_access a = plain(bd_kir_add_buffer(builder, BURN_F32, BD_KIR_READ));
    bd_kir_access b = plain(bd_kir_add_buffer(builder, b_dtype, BD_KIR_READ));
    bd_kir_access bias = plain(bd_kir_add_buffer(builder, BURN_F32, BD_KIR_READ));
    bd_kir_access out = plain(bd_kir_add_buffer(builder, BURN_F32, BD_KIR_WRITE));
    a.strides[0] = bd_kir_arg(k);
    a.strides[2] = bd_kir_const(1);
    b.strides[1] = bd_kir_arg(k);
    b.strides[2] = bd_kir_const(1);
    bias.strides[1] = bd_kir_const(1);
    out.strides[0] = bd_kir_arg(n);
    out.strides[1] = bd_kir_const(1);
    bd_kir_begin_phase(builder, BD_KIR_UNIFORM);
    bd_kir_value zero = bd_kir_const_float(builder, BURN_F32, 0);
    bd_kir_begin_phase(builder, BD_KIR_OPERAND_A);
    bd_kir_unary(builder, BD_KIR_YIELD, load(builder, &a));
    bd_kir_begin_phase(builder, BD_KIR_OPERAND_B);
    bd_kir_unary(builder, BD_KIR_YIELD, load(builder, &b));
    bd_kir_begin_phase(builder, BD_KIR_EPILOGUE);
    bd_kir_value acc = bd_kir_emit(builder, &(bd_kir_instr){.code = BD_KIR_ACC, .dtype = BURN_F32});
    bd_kir_value moved = bd_kir_binary(builder, BD_KIR_ADD, acc, load(builder, &bias));
    store(builder, &out, bd_kir_binary(builder, BD_KIR_MAX, moved, zero));
    return builder;
}

static bd_kir *finish(bd_kir_builder *builder)
{
    bd_kir *program = NULL;
    bd_error *err = bd_kir_finish(builder, &arena, &program);
    ck_assert_msg(err == NULL, "%s", bd_error_text(err));
    bd_kir_builder_destroy(builder);
    return program;
}

static void refuse(bd_kir_builder *builder, const char *reason)
{
    bd_kir *program = NULL;
    bd_error *err = bd_kir_finish(builder, &arena, &program);
    ck_assert_ptr_nonnull(err);
    ck_assert_int_eq(bd_error_code(err), BD_CODE_INTERNAL);
    ck_assert_msg(strstr(bd_error_text(err), reason) != NULL, "%s", bd_error_text(err));
    ck_assert_ptr_null(program);
    bd_error_free(err);
    bd_kir_builder_destroy(builder);
}

START_TEST(prints_a_program)
{
    char *text = bd_kir_print(finish(softmax_builder()));
    ck_assert_str_eq(text, "loop ints 2\n"
                           "axis i0 parallel n0\n"
                           "axis i1 serial n1\n"
                           "buffer b0 float32 read\n"
                           "buffer b1 float32 write\n"
                           "phase each\n"
                           "  %1 = load float32 b0[i0*n1 + i1]\n"
                           "  %2 = reduce_max float32 %1\n"
                           "phase each\n"
                           "  %3 = load float32 b0[i0*n1 + i1]\n"
                           "  %4 = sub float32 %3 %2\n"
                           "  %5 = exp float32 %4\n"
                           "  save float32 %5 slot 0\n"
                           "  %7 = reduce_sum float32 %5\n"
                           "phase row\n"
                           "  %8 = recip float32 %7\n"
                           "phase each\n"
                           "  %9 = restore float32 slot 0\n"
                           "  %10 = mul float32 %9 %8\n"
                           "  store float32 %10 b1[i0*n1 + i1]\n");
    bd_free(text);
}
END_TEST

START_TEST(serializes_canonically)
{
    size_t bytes = 0, other_bytes = 0;
    uint8_t *first = bd_kir_serialize(finish(linear_builder(BURN_F32)), &bytes);
    uint8_t *second = bd_kir_serialize(finish(linear_builder(BURN_F32)), &other_bytes);
    ck_assert_uint_eq(bytes, other_bytes);
    ck_assert_mem_eq(first, second, bytes);
    bd_kir *back = NULL;
    ck_assert_ptr_null(bd_kir_deserialize(first, bytes, &arena, &back));
    bd_free(second);
    second = bd_kir_serialize(back, &other_bytes);
    ck_assert_uint_eq(bytes, other_bytes);
    ck_assert_mem_eq(first, second, bytes);
    char *text = bd_kir_print(back), *direct = bd_kir_print(finish(linear_builder(BURN_F32)));
    ck_assert_str_eq(text, direct);
    bd_free(text);
    bd_free(direct);
    bd_free(first);
    bd_free(second);
}
END_TEST

START_TEST(refuses_damaged_bytes)
{
    size_t bytes = 0;
    uint8_t *good = bd_kir_serialize(finish(softmax_builder()), &bytes);
    bd_kir *program = NULL;
    for (size_t cut = 0; cut < bytes; cut++) {
        bd_error *err = bd_kir_deserialize(good, cut, &arena, &program);
        ck_assert_ptr_nonnull(err);
        bd_error_free(err);
    }
    /* A changed byte is refused or gives another program that keeps the rules. */
    for (size_t i = 0; i < bytes; i++) {
        for (int bit = 0; bit < 8; bit++) {
            good[i] ^= (uint8_t)(1 << bit);
            bd_error *err = bd_kir_deserialize(good, bytes, &arena, &program);
            if (!err)
                bd_free(bd_kir_print(program));
            bd_error_free(err);
            good[i] ^= (uint8_t)(1 << bit);
        }
        bd_arena_reset(&arena);
    }
    bd_free(good);
}
END_TEST

START_TEST(keeps_equal_things_once)
{
    bd_kir_builder *builder = bd_kir_builder_create(BD_KIR_LOOP);
    bd_kir_add_axis(builder, BD_KIR_PARALLEL, bd_kir_const(7));
    bd_kir_access access = plain(bd_kir_add_buffer(builder, BURN_F32, BD_KIR_READ_WRITE));
    access.strides[0] = bd_kir_const(1);
    int first = bd_kir_add_access(builder, &access);
    access.strides[5] = bd_kir_arg(3); /* no such axis: not read */
    ck_assert_int_eq(bd_kir_add_access(builder, &access), first);
    access.strides[0] = bd_kir_const(2);
    ck_assert_int_ne(bd_kir_add_access(builder, &access), first);
    bd_kir_begin_phase(builder, BD_KIR_ROW);
    bd_kir_value half = bd_kir_const_float(builder, BURN_F32, 0.5);
    ck_assert_uint_eq(bd_kir_const_float(builder, BURN_F32, 0.5), half);
    ck_assert_uint_ne(bd_kir_const_float(builder, BURN_F64, 0.5), half);
    ck_assert_uint_ne(bd_kir_const_float(builder, BURN_F32, -0.5), half);
    ck_assert_int_eq(bd_kir_dtype_of(builder, half), BURN_F32);
    ck_assert_int_eq(bd_kir_dtype_of(builder, bd_kir_cast(builder, half, BURN_I8)), BURN_I8);
    ck_assert_uint_eq(bd_kir_cast(builder, half, BURN_F32), half);
    ck_assert_int_eq(bd_kir_dtype_of(builder, 999), BURN_DTYPE_NONE);
    bd_kir_builder_destroy(builder);
}
END_TEST

START_TEST(refuses_what_breaks_the_rules)
{
    bd_kir_builder *builder = softmax_builder();
    bd_kir_unary(builder, BD_KIR_NEG, 4); /* a value of an earlier EACH phase */
    refuse(builder, "%12 neg: an operand is not visible here");

    builder = softmax_builder();
    bd_kir_value again = bd_kir_unary(builder, BD_KIR_REDUCE_SUM, 9);
    bd_kir_unary(builder, BD_KIR_NEG, again); /* its own phase has not ended */
    refuse(builder, "an operand is not visible here");

    builder = softmax_builder();
    bd_kir_unary(builder, BD_KIR_NEG, 11);
    refuse(builder, "an operand has no value");

    builder = softmax_builder();
    bd_kir_unary(builder, BD_KIR_NEG, 40);
    refuse(builder, "not yet defined");

    builder = softmax_builder();
    bd_kir_begin_phase(builder, BD_KIR_ROW);
    bd_kir_access wide = plain(0);
    wide.strides[1] = bd_kir_const(1); /* a row has no place on the SERIAL axis */
    load(builder, &wide);
    refuse(builder, "a stride on an axis that this phase does not run over");

    builder = softmax_builder();
    bd_kir_binary(builder, BD_KIR_ADD, 9, bd_kir_const_float(builder, BURN_F64, 1));
    refuse(builder, "operands of different types");

    builder = softmax_builder();
    bd_kir_unary(builder, BD_KIR_EXP, bd_kir_const_int(builder, BURN_I32, 1));
    refuse(builder, "exp: not for this type");

    builder = softmax_builder();
    bd_kir_access in = plain(0);
    store(builder, &in, 9);
    refuse(builder, "the buffer is not for writing");

    builder = softmax_builder();
    in.strides[0] = bd_kir_arg(2);
    load(builder, &in);
    refuse(builder, "access: integer argument 2 of 2");

    builder = softmax_builder();
    bd_kir_begin_phase(builder, BD_KIR_UNIFORM);
    refuse(builder, "out of order");

    builder = linear_builder(BURN_F64);
    refuse(builder, "operands have different types");

    builder = linear_builder(BURN_F32);
    bd_kir_begin_phase(builder, BD_KIR_EPILOGUE);
    refuse(builder, "one phase of each kind");

    refuse(bd_kir_builder_create(BD_KIR_CONTRACTION), "an axis K");
}
END_TEST

START_TEST(tells_of_limits)
{
    bd_kir_builder *builder = softmax_builder();
    for (int i = 0; i < 2000; i++)
        bd_kir_unary(builder, BD_KIR_NEG, 9);
    refuse(builder, "too many instructions");

    builder = bd_kir_builder_create(BD_KIR_LOOP);
    for (int i = 0; i < 100; i++)
        bd_kir_add_axis(builder, BD_KIR_PARALLEL, bd_kir_const(1));
    refuse(builder, "too many axes");

    builder = bd_kir_builder_create(BD_KIR_LOOP);
    for (int i = 0; i < 100; i++)
        bd_kir_add_buffer(builder, BURN_F32, BD_KIR_READ);
    refuse(builder, "too many buffers");

    builder = bd_kir_builder_create(BD_KIR_LOOP);
    bd_kir_const_int(builder, BURN_I64, 1);
    refuse(builder, "before the first phase");
}
END_TEST

/* Random fields in every instruction: the verifier answers, it does not crash. */
START_TEST(survives_random_programs)
{
    srand(20261);
    for (int round = 0; round < 20000; round++) {
        bd_kir *program = finish(round % 2 ? softmax_builder() : linear_builder(BURN_F32));
        uint8_t *bytes = (uint8_t *)&program->instrs[rand() % program->instr_count];
        for (int i = 0; i < 3; i++)
            bytes[(unsigned)rand() % sizeof(bd_kir_instr)] = (uint8_t)rand();
        if (round % 3 == 0)
            ((uint8_t *)program->accesses)[(unsigned)rand() % sizeof(bd_kir_access)] =
                (uint8_t)rand();
        if (round % 5 == 0)
            program->axes[rand() % 2].role = (bd_kir_role)(rand() % 9);
        bd_error *err = bd_kir_verify(program);
        bd_error_free(err);
        bd_arena_reset(&arena);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kir");
    TCase *tests = tcase_create("kir");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, prints_a_program);
    tcase_add_test(tests, serializes_canonically);
    tcase_add_test(tests, refuses_damaged_bytes);
    tcase_add_test(tests, keeps_equal_things_once);
    tcase_add_test(tests, refuses_what_breaks_the_rules);
    tcase_add_test(tests, tells_of_limits);
    tcase_add_test(tests, survives_random_programs);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
