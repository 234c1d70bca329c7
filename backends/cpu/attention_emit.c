/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "backends/cpu/attention.h"
#include "backends/cpu/gemm_parts.h"
#include "backends/cpu/loop.h"

enum { ROWS, KEYS }; /* axes of the softmax */

/* The access to rows of a buffer, a step apart. */
static uint16_t add_rows(bd_kir_builder *b, burn_dtype dtype, bd_kir_use use, bd_kir_int row_step,
                         int key_step)
{
    bd_kir_access access = {.buffer = (uint16_t)bd_kir_add_buffer(b, dtype, use)};
    for (int axis = 0; axis < BD_KIR_AXES_MAX; axis++)
        access.strides[axis] = bd_kir_const(0);
    access.offset = bd_kir_const(0);
    access.strides[ROWS] = row_step;
    access.strides[KEYS] = bd_kir_const(key_step);
    return (uint16_t)bd_kir_add_access(b, &access);
}

/* Rows [n0] of [n1] scores, n2 apart: the largest, exponentials of the others without it; these in
 * place, or as BF16, n3 apart; one over their sum. The largest of a row that is all -inf counts as
 * 0, and a sum of 0 as 1. */
static bd_error *softmax_program(burn_dtype element, bd_arena *arena, bd_kir **out)
{
    burn_dtype dtype = element == BURN_BF16 ? BURN_F32 : element;
    bd_kir_builder *b = bd_kir_builder_create(BD_KIR_LOOP);
    for (int i = 0; i < BD_SOFTMAX_INTS; i++)
        bd_kir_add_int(b);
    bd_kir_add_axis(b, BD_KIR_PARALLEL, bd_kir_arg(BD_SOFTMAX_ROWS));
    bd_kir_add_axis(b, BD_KIR_SERIAL, bd_kir_arg(BD_SOFTMAX_COLUMNS));
    uint16_t place = add_rows(b, dtype, BD_KIR_READ_WRITE, bd_kir_arg(BD_SOFTMAX_STEP), 1);
    uint16_t factors = add_rows(b, dtype, BD_KIR_WRITE, bd_kir_const(1), 0), weights = place;
    if (element == BURN_BF16)
        weights = add_rows(b, BURN_BF16, BD_KIR_WRITE, bd_kir_arg(BD_SOFTMAX_WEIGHT_STEP), 1);
    bd_kir_instr load = {.code = BD_KIR_LOAD, .index = place, .guard = -1};
    bd_kir_begin_phase(b, BD_KIR_EACH);
    bd_kir_value most = bd_kir_unary(b, BD_KIR_REDUCE_MAX, bd_kir_emit(b, &load));
    bd_kir_begin_phase(b, BD_KIR_ROW);
    bd_kir_value lowest = bd_kir_const_float(b, dtype, -INFINITY);
    bd_kir_value zero = bd_kir_const_float(b, dtype, 0), one = bd_kir_const_float(b, dtype, 1);
    most = bd_kir_select(b, bd_kir_binary(b, BD_KIR_EQ, most, lowest), zero, most);
    bd_kir_begin_phase(b, BD_KIR_EACH);
    bd_kir_value power = bd_kir_binary(b, BD_KIR_SUB, bd_kir_emit(b, &load), most);
    power = bd_kir_unary(b, BD_KIR_EXP, power);
    bd_kir_value sum = bd_kir_unary(b, BD_KIR_REDUCE_SUM, power);
    if (element == BURN_BF16)
        power = bd_kir_cast(b, power, BURN_BF16);
    bd_kir_instr keep = {.code = BD_KIR_STORE, .operands = {power}, .index = weights, .guard = -1};
    bd_kir_emit(b, &keep);
    bd_kir_begin_phase(b, BD_KIR_ROW);
    sum = bd_kir_select(b, bd_kir_binary(b, BD_KIR_EQ, sum, zero), one, sum);
    bd_kir_value factor = bd_kir_binary(b, BD_KIR_DIV, one, sum);
    bd_kir_instr tell = {.code = BD_KIR_STORE, .operands = {factor}, .index = factors, .guard = -1};
    bd_kir_emit(b, &tell);
    bd_error *err = bd_kir_finish(b, arena, out);
    bd_kir_builder_destroy(b);
    return err;
}

bd_error *bd_attention_emit(bd_module *module, const bd_kir *program)
{
    burn_dtype element;
    BD_TRY(bd_attention_element(module->target, program, &element));
    burn_dtype sums = bd_gemm_sum_of(program, BD_KIR_OPERAND_C);
    const struct {
        const char *name;
        bd_kir_phase_kind kind;
        bd_kir_role rows, columns;
        burn_dtype element;
    } functions[] = {
        {"qa", BD_KIR_OPERAND_A, BD_KIR_M, BD_KIR_K, element},
        {"kb", BD_KIR_OPERAND_B, BD_KIR_N, BD_KIR_K, element},
        {"sc", BD_KIR_SCORE, BD_KIR_M, BD_KIR_N, sums},
        {"vc", BD_KIR_OPERAND_C, BD_KIR_N, BD_KIR_E, element},
        {"ep", BD_KIR_EPILOGUE, BD_KIR_M, BD_KIR_E, sums},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        bd_block_spec spec = {.kind = functions[i].kind,
                              .element = functions[i].element,
                              .outer_role = functions[i].rows,
                              .inner_role = functions[i].columns,
                              .scaled = functions[i].kind == BD_KIR_EPILOGUE,
                              .is_short = functions[i].columns != BD_KIR_N};
        if (bd_gemm_phase(program, functions[i].kind))
            bd_block_emit(module, program, functions[i].name, &spec);
    }
    bd_arena arena;
    bd_arena_init(&arena);
    bd_kir *softmax = NULL;
    bd_error *err = softmax_program(element, &arena, &softmax);
    if (!err)
        err = bd_loop_emit_long(module, softmax);
    bd_arena_deinit(&arena);
    return err;
}
