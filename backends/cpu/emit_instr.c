/* SPDX-License-Identifier: Apache-2.0
 * One instruction: fetches operands in one shape, hands on to memory, arithmetic or reduction. */
#include <math.h>
#include <string.h>

#include "backends/cpu/constants.h"
#include "backends/cpu/emit_parts.h"
#include "proto/base/assert.h"

static burn_dtype operand_dtype(const bd_emit *emit, const bd_kir_instr *instr, int operand)
{
    return (burn_dtype)emit->program->instrs[instr->operands[operand] - 1].dtype;
}

static LLVMValueRef constant(bd_emit *emit, const bd_kir_instr *instr)
{
    LLVMTypeRef type = bd_emit_type(emit, (burn_dtype)instr->dtype);
    if (!burn_dtype_is_float((burn_dtype)instr->dtype))
        return LLVMConstInt(
            type, instr->dtype == BURN_BOOL ? instr->i != 0 : (unsigned long long)instr->i, 1);
    return bd_part_round(emit, bd_part_float(emit, LLVMGetPoison(type), instr->f),
                         (burn_dtype)instr->dtype);
}

static LLVMValueRef scalar(bd_emit *emit, const bd_kir_instr *instr)
{
    burn_dtype stored = (burn_dtype)emit->program->scalar_dtypes[instr->index];
    LLVMTypeRef type = stored == BURN_F64 ? emit->module->f64 : emit->module->i64;
    LLVMValueRef place =
        bd_part_offset(emit, emit->scalars, emit->module->i64, bd_emit_i64(emit, instr->index));
    LLVMValueRef value = LLVMBuildLoad2(emit->builder, type, place, "");
    bd_part_mark_invariant(emit, value);
    unsigned lanes = emit->lanes;
    emit->lanes = 1;
    value = bd_part_cast(emit, value, stored == BURN_F64 ? BURN_F64 : BURN_I64,
                         (burn_dtype)instr->dtype);
    emit->lanes = lanes;
    return value;
}

static LLVMValueRef position(bd_emit *emit, const bd_kir_instr *instr)
{
    LLVMValueRef here = emit->positions[instr->index];
    if (instr->index != emit->vector_axis)
        return here;
    return LLVMBuildAdd(emit->builder, bd_emit_splat(emit, here),
                        bd_emit_iota(emit, emit->module->i64), "");
}

static LLVMValueRef choose(bd_emit *emit, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef like = bd_part_is_vector(a) ? a : bd_part_is_vector(b) ? b : c;
    a = bd_part_match(emit, a, like);
    b = bd_part_match(emit, b, like);
    return LLVMBuildSelect(emit->builder, c, a, b, "");
}

/* Whether a value is one of a narrow float type, though it may be an f32: made of such ones. */
static bool is_of(const bd_kir *program, bd_kir_value value, burn_dtype narrow, int depth)
{
    const bd_kir_instr *instr = &program->instrs[value - 1];
    if ((burn_dtype)instr->dtype == narrow)
        return true;
    if (instr->code == BD_KIR_CONST && instr->dtype == BURN_F32)
        return instr->f == 0 || isinf(instr->f);
    if (instr->code == BD_KIR_CAST)
        return instr->dtype == BURN_F32 && depth > 0 &&
               is_of(program, instr->operands[0], narrow, depth - 1);
    return instr->code == BD_KIR_SELECT && depth > 0 &&
           is_of(program, instr->operands[1], narrow, depth - 1) &&
           is_of(program, instr->operands[2], narrow, depth - 1);
}

/* Numbers of f16 and bf16 are computed with as f32. */
static bool is_idle_cast(const bd_emit *emit, const bd_kir_instr *instr)
{
    enum { DEPTH = 4 };
    bool narrow = instr->dtype == BURN_F16 || instr->dtype == BURN_BF16;
    return narrow && operand_dtype(emit, instr, 0) == BURN_F32 &&
           is_of(emit->program, instr->operands[0], (burn_dtype)instr->dtype, DEPTH);
}

static LLVMValueRef arithmetic(bd_emit *emit, const bd_kir_instr *instr)
{
    LLVMValueRef inputs[3] = {NULL, NULL, NULL}, like = NULL;
    int count = bd_kir_operand_count((bd_kir_code)instr->code);
    for (int i = 0; i < count; i++) {
        inputs[i] = emit->values[instr->operands[i]];
        BD_ASSERT(inputs[i]);
        if (!like || bd_part_is_vector(inputs[i]))
            like = inputs[i];
    }
    if (instr->code == BD_KIR_SELECT)
        return choose(emit, inputs[0], inputs[1], inputs[2]);
    burn_dtype dtype = operand_dtype(emit, instr, 0);
    if (instr->code == BD_KIR_DIV && like == inputs[0] && !bd_part_is_vector(inputs[1])) {
        LLVMValueRef quotient = bd_part_divide_by(emit, dtype, inputs[0], inputs[1]);
        if (quotient)
            return quotient;
    }
    for (int i = 0; i < count; i++)
        inputs[i] = bd_part_match(emit, inputs[i], like);
    if (instr->code == BD_KIR_CAST && is_idle_cast(emit, instr))
        return inputs[0];
    if (instr->code == BD_KIR_CAST)
        return bd_part_cast(emit, inputs[0], dtype, (burn_dtype)instr->dtype);
    if (instr->code == BD_KIR_FMA) {
        if (burn_dtype_is_float(dtype))
            return bd_part_fma(emit, inputs[0], inputs[1], inputs[2]);
        LLVMValueRef product = bd_part_binary(emit, BD_KIR_MUL, dtype, inputs[0], inputs[1]);
        return bd_part_binary(emit, BD_KIR_ADD, dtype, product, inputs[2]);
    }
    if (count == 1)
        return bd_part_unary(emit, instr->code, dtype, inputs[0]);
    return bd_part_binary(emit, instr->code, dtype, inputs[0], inputs[1]);
}

/* Whether the result needs no rounding if the operands are rounded. */
static bool is_exact(bd_kir_code code)
{
    return code == BD_KIR_CAST || code == BD_KIR_SELECT ||
           (code >= BD_KIR_NEG && code <= BD_KIR_ROUND) ||
           (code >= BD_KIR_MAX && code <= BD_KIR_FMIN);
}

void bd_emit_instr(bd_emit *emit, int number)
{
    const bd_kir_instr *instr = &emit->program->instrs[number];
    LLVMValueRef *result = &emit->values[number + 1];
    if (bd_kir_is_reduce((bd_kir_code)instr->code)) {
        bd_part_reduce(emit, number);
        return;
    }
    if (bd_kir_is_scan((bd_kir_code)instr->code)) {
        bd_part_scan(emit, number);
        return;
    }
    switch ((int)instr->code) {
    case BD_KIR_CONST:
        *result = constant(emit, instr);
        return;
    case BD_KIR_SCALAR:
        *result = scalar(emit, instr);
        return;
    case BD_KIR_INTEGER:
        *result = bd_emit_int(emit, instr->integer);
        return;
    case BD_KIR_INDEX:
        *result = position(emit, instr);
        return;
    case BD_KIR_GUARD:
        *result = bd_part_guard(emit, instr->index);
        if (!*result)
            *result = LLVMConstInt(emit->module->i1, 1, 0);
        return;
    case BD_KIR_LOAD:
    case BD_KIR_LOAD_AT:
        *result = bd_part_load(emit, instr);
        return;
    case BD_KIR_CHECK:
        *result = bd_part_check(emit, instr);
        return;
    case BD_KIR_RANDOM_BITS:
    case BD_KIR_RANDOM_UNIFORM:
        *result = bd_part_round(emit, bd_part_random(emit, instr), (burn_dtype)instr->dtype);
        return;
    case BD_KIR_STORE:
        bd_part_store(emit, instr);
        return;
    case BD_KIR_STORE_AT:
        bd_part_store_at(emit, instr);
        return;
    case BD_KIR_SAVE:
        bd_part_save(emit, instr);
        return;
    case BD_KIR_RESTORE:
        *result = bd_part_restore(emit, instr);
        return;
    case BD_KIR_SORT:
        bd_part_sort(emit, instr);
        return;
    case BD_KIR_YIELD:
        emit->yielded = emit->values[instr->operands[0]];
        emit->yielded_varies = bd_part_is_vector(emit->yielded);
        return;
    case BD_KIR_ACC:
        *result = emit->acc;
        return;
    default:
        *result = arithmetic(emit, instr);
        if (!is_exact((bd_kir_code)instr->code))
            *result = bd_part_round(emit, *result, (burn_dtype)instr->dtype);
    }
}
