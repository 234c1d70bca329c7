/* SPDX-License-Identifier: Apache-2.0
 * log and its family in f32: x = 2^k m with m in [sqrt(1/2), sqrt(2)), a polynomial in m - 1. */
#include <math.h>

#include "backends/cpu/math_parts.h"

/* x = 2^k (1 + f). */
typedef struct split {
    value k, f;
    value k_bits;
} split;

static split split_of(bd_emit *e, value x)
{
    LLVMBuilderRef b = e->builder;
    value bits = bits_of(e, x), origin = whole(e, bits, 0x3F3504F3);
    value moved = LLVMBuildSub(b, bits, origin, "");
    split s;
    s.k_bits = LLVMBuildAShr(b, moved, whole(e, bits, 23), "");
    value fraction = LLVMBuildAnd(b, moved, whole(e, bits, 0x7FFFFF), "");
    value m = from_bits(e, LLVMBuildAdd(b, fraction, origin, ""));
    s.f = sub(e, m, number(e, x, 1));
    s.k = LLVMBuildSIToFP(b, s.k_bits, LLVMTypeOf(x), "");
    return s;
}

/* Subnormals are brought up first. */
static split split_any(bd_emit *e, value x)
{
    value small = is(e, LLVMRealOLT, x, number(e, x, 0x1p-126));
    value zero = LLVMConstNull(LLVMTypeOf(x));
    split s = split_of(e, pick(e, small, mul(e, x, number(e, x, 0x1p23)), x));
    s.k = add(e, s.k, pick(e, small, number(e, x, -23), zero));
    return s;
}

/* log(1 + f) - f */
static value tail_of(bd_emit *e, value f)
{
    static const double p[] = {0.333333105,  -0.249999866, 0.200022265,  -0.166692495, 0.142186552,
                               -0.123843722, 0.118730202,  -0.117896847, 0.0691512525};
    value square = mul(e, f, f);
    value cube = mul(e, mul(e, f, square), POLYNOMIAL(e, f, p));
    return fma3(e, square, number(e, f, -0.5), cube);
}

/* Infinity and NaN stay; 0 gives -infinity, below it NaN. */
static value special(bd_emit *e, value x, value result)
{
    value zero = LLVMConstNull(LLVMTypeOf(x));
    result = pick(e, is(e, LLVMRealOLT, x, number(e, x, INFINITY)), result, x);
    value other = pick(e, is(e, LLVMRealOEQ, x, zero), number(e, x, -INFINITY), number(e, x, NAN));
    return pick(e, is(e, LLVMRealUGT, x, zero), result, other);
}

static value natural(bd_emit *e, split s)
{
    value low = fma3(e, s.k, number(e, s.f, -2.12194440054690583e-4), tail_of(e, s.f));
    return fma3(e, s.k, number(e, s.f, 0.693359375), add(e, s.f, low));
}

value bd_math_log(bd_emit *e, value x)
{
    return special(e, x, natural(e, split_any(e, x)));
}

value bd_math_log2(bd_emit *e, value x)
{
    split s = split_any(e, x);
    value high = number(e, x, 1.44269502162933349609),
          low = number(e, x, 1.92596299112661746887e-8);
    value sum = fma3(e, tail_of(e, s.f), high, mul(e, s.f, low));
    sum = fma3(e, s.f, high, sum);
    return special(e, x, add(e, s.k, sum));
}

value bd_math_log10(bd_emit *e, value x)
{
    split s = split_any(e, x);
    value high = number(e, x, 0.434294492006301879883), low = number(e, x, -1.010305011759e-8);
    value sum = fma3(e, s.k, number(e, x, 4.6050389811952137e-6), mul(e, s.f, low));
    sum = fma3(e, tail_of(e, s.f), high, sum);
    sum = fma3(e, s.f, high, sum);
    return special(e, x, fma3(e, s.k, number(e, x, 0.301025390625), sum));
}

value bd_math_log1p(bd_emit *e, value x)
{
    LLVMBuilderRef b = e->builder;
    value one = number(e, x, 1), zero = LLVMConstNull(LLVMTypeOf(x));
    value u = add(e, x, one);
    split s = split_of(e, u);
    /* What 1 + x lost: x - (u - 1) for small x, 1 - (u - x) for large. */
    value large = is(e, LLVMRealOGT, x, one);
    value lost = pick(e, large, sub(e, one, sub(e, u, x)), sub(e, x, sub(e, u, one)));
    value top = whole(e, s.k_bits, 127);
    value beyond = LLVMBuildICmp(b, LLVMIntSGT, s.k_bits, top, "");
    value scale = LLVMBuildSub(b, top, pick(e, beyond, top, s.k_bits), "");
    scale = from_bits(e, LLVMBuildShl(b, scale, whole(e, s.k_bits, 23), ""));
    s.f = fma3(e, lost, scale, s.f);
    value result = special(e, u, natural(e, s));
    result = pick(e, is(e, LLVMRealOLT, x, number(e, x, INFINITY)), result, x);
    result = pick(e, is(e, LLVMRealULT, x, number(e, x, -1)), number(e, x, NAN), result);
    return pick(e, is(e, LLVMRealOEQ, x, zero), x, result);
}

value bd_math_asinh(bd_emit *e, value x)
{
    value a = absolute(e, x), one = number(e, x, 1);
    value square = mul(e, a, a);
    value root = square_root(e, add(e, square, one));
    value small = bd_math_log1p(e, add(e, a, divide(e, square, add(e, root, one))));
    value large = add(e, bd_math_log(e, a), number(e, x, 0.693147180559945309));
    value result = pick(e, is(e, LLVMRealOGT, a, number(e, x, 1e8)), large, small);
    return with_sign(e, result, x);
}

value bd_math_acosh(bd_emit *e, value x)
{
    value t = sub(e, x, number(e, x, 1));
    value root = square_root(e, fma3(e, t, t, add(e, t, t)));
    value small = bd_math_log1p(e, add(e, t, root));
    value large = add(e, bd_math_log(e, x), number(e, x, 0.693147180559945309));
    value result = pick(e, is(e, LLVMRealOGT, x, number(e, x, 1e8)), large, small);
    return pick(e, is(e, LLVMRealOLT, x, number(e, x, 1)), number(e, x, NAN), result);
}

value bd_math_atanh(bd_emit *e, value x)
{
    value a = absolute(e, x);
    value quotient = divide(e, add(e, a, a), sub(e, number(e, x, 1), a));
    value result = mul(e, bd_math_log1p(e, quotient), number(e, x, 0.5));
    return with_sign(e, result, x);
}
