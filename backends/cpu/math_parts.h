/* SPDX-License-Identifier: Apache-2.0
 * Short names for writing formulas in LLVM IR: every operand has one shape, vector or scalar. */
#pragma once

#include "backends/cpu/emit_parts.h"

typedef LLVMValueRef value;

static inline value add(bd_emit *e, value a, value b)
{
    return LLVMBuildFAdd(e->builder, a, b, "");
}
static inline value sub(bd_emit *e, value a, value b)
{
    return LLVMBuildFSub(e->builder, a, b, "");
}
static inline value mul(bd_emit *e, value a, value b)
{
    return LLVMBuildFMul(e->builder, a, b, "");
}
static inline value divide(bd_emit *e, value a, value b)
{
    return LLVMBuildFDiv(e->builder, a, b, "");
}
static inline value fma3(bd_emit *e, value a, value b, value c)
{
    return bd_part_fma(e, a, b, c);
}
static inline value number(bd_emit *e, value like, double x)
{
    return bd_part_float(e, like, x);
}
static inline value pick(bd_emit *e, value condition, value a, value b)
{
    return LLVMBuildSelect(e->builder, condition, a, b, "");
}
static inline value is(bd_emit *e, LLVMRealPredicate how, value a, value b)
{
    return LLVMBuildFCmp(e->builder, how, a, b, "");
}
static inline value absolute(bd_emit *e, value a)
{
    return bd_part_intrinsic(e, "llvm.fabs", LLVMTypeOf(a), &a, 1);
}
static inline value square_root(bd_emit *e, value a)
{
    return bd_part_intrinsic(e, "llvm.sqrt", LLVMTypeOf(a), &a, 1);
}
static inline value with_sign(bd_emit *e, value size, value sign)
{
    value arguments[] = {size, sign};
    return bd_part_intrinsic(e, "llvm.copysign", LLVMTypeOf(size), arguments, 2);
}
/* Bits of an f32 as i32 and back. */
static inline value bits_of(bd_emit *e, value a)
{
    return LLVMBuildBitCast(e->builder, a, bd_part_like(a, e->module->i32), "");
}
static inline value from_bits(bd_emit *e, value a)
{
    return LLVMBuildBitCast(e->builder, a, bd_part_like(a, e->module->f32), "");
}
static inline value whole(bd_emit *e, value like, int64_t x)
{
    return bd_part_integer(e, like, x);
}
/* c[0] + x * (c[1] + x * …) */
static inline value polynomial(bd_emit *e, value x, const double *c, int count)
{
    value sum = number(e, x, c[count - 1]);
    for (int i = count - 2; i >= 0; i--)
        sum = fma3(e, sum, x, number(e, x, c[i]));
    return sum;
}
#define POLYNOMIAL(e, x, table)                                                                    \
    polynomial((e), (x), (table), (int)(sizeof(table) / sizeof *(table)))

/* math_divide.c: f32; x a vector, the divisor a scalar. For targets with masks. */
value bd_math_divide_by(bd_emit *e, value x, value divisor);
/* math_exp.c */
value bd_math_exp(bd_emit *e, value x);
value bd_math_exp2(bd_emit *e, value x);
value bd_math_expm1(bd_emit *e, value x);
value bd_math_tanh(bd_emit *e, value x);
value bd_math_sigmoid(bd_emit *e, value x);
value bd_math_sinh(bd_emit *e, value x);
value bd_math_cosh(bd_emit *e, value x);
value bd_math_erf(bd_emit *e, value x);
value bd_math_pow(bd_emit *e, value x, value y);
/* math_log.c */
value bd_math_log(bd_emit *e, value x);
value bd_math_log2(bd_emit *e, value x);
value bd_math_log10(bd_emit *e, value x);
value bd_math_log1p(bd_emit *e, value x);
value bd_math_asinh(bd_emit *e, value x);
value bd_math_acosh(bd_emit *e, value x);
value bd_math_atanh(bd_emit *e, value x);
/* math_trig.c */
value bd_math_sin(bd_emit *e, value x);
value bd_math_cos(bd_emit *e, value x);
value bd_math_tan(bd_emit *e, value x);
value bd_math_asin(bd_emit *e, value x);
value bd_math_acos(bd_emit *e, value x);
value bd_math_atan(bd_emit *e, value x);
