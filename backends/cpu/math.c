/* SPDX-License-Identifier: Apache-2.0
 * Which elementary functions of f32 have a form in code. Their polynomials were fitted by weighted
 * least squares against 40-digit values; bounds are held by tests/unit/backends/test_cpu_math.c. */
#include "backends/cpu/math_parts.h"

typedef value (*form)(bd_emit *e, value x);

static form form_of(int code)
{
    switch (code) {
    case BD_KIR_EXP:
        return bd_math_exp;
    case BD_KIR_EXP2:
        return bd_math_exp2;
    case BD_KIR_EXPM1:
        return bd_math_expm1;
    case BD_KIR_TANH:
        return bd_math_tanh;
    case BD_KIR_SIGMOID:
        return bd_math_sigmoid;
    case BD_KIR_SINH:
        return bd_math_sinh;
    case BD_KIR_COSH:
        return bd_math_cosh;
    case BD_KIR_ERF:
        return bd_math_erf;
    case BD_KIR_LOG:
        return bd_math_log;
    case BD_KIR_LOG2:
        return bd_math_log2;
    case BD_KIR_LOG10:
        return bd_math_log10;
    case BD_KIR_LOG1P:
        return bd_math_log1p;
    case BD_KIR_ASINH:
        return bd_math_asinh;
    case BD_KIR_ACOSH:
        return bd_math_acosh;
    case BD_KIR_ATANH:
        return bd_math_atanh;
    case BD_KIR_SIN:
        return bd_math_sin;
    case BD_KIR_COS:
        return bd_math_cos;
    case BD_KIR_TAN:
        return bd_math_tan;
    case BD_KIR_ASIN:
        return bd_math_asin;
    case BD_KIR_ACOS:
        return bd_math_acos;
    case BD_KIR_ATAN:
        return bd_math_atan;
    default:
        return NULL;
    }
}

LLVMValueRef bd_part_math(bd_emit *emit, int code, burn_dtype dtype, LLVMValueRef a)
{
    /* The forms count on fused multiply-add for their last bits. */
    form function = form_of(code);
    if (dtype == BURN_F64 || !emit->module->target->fma || !function)
        return NULL;
    return function(emit, a);
}

LLVMValueRef bd_part_divide_by(bd_emit *emit, burn_dtype dtype, LLVMValueRef x,
                               LLVMValueRef divisor)
{
    bool narrow = burn_dtype_is_float(dtype) && dtype != BURN_F64;
    if (!narrow || !emit->module->target->masked || !bd_part_is_vector(x))
        return NULL;
    return bd_math_divide_by(emit, x, divisor);
}

LLVMValueRef bd_part_pow(bd_emit *emit, burn_dtype dtype, LLVMValueRef x, LLVMValueRef y)
{
    if (dtype == BURN_F64 || !emit->module->target->fma)
        return NULL;
    return bd_math_pow(emit, x, y);
}
