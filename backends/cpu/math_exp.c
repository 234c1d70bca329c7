/* SPDX-License-Identifier: Apache-2.0
 * exp and its family in f32: x = k ln 2 + r, a polynomial in r, and a scale by 2^k. */
#include <math.h>

#include "backends/cpu/math_parts.h"

/* 1.5 * 2^23: added to a small number it leaves the rounded integer in the low bits. */
static const double MAGIC = 12582912.0;

/* x * by to the nearest integer, as f32 and as i32. */
static value rounded(bd_emit *e, value x, double by, value *out_whole)
{
    value magic = number(e, x, MAGIC);
    value moved = by == 1 ? add(e, x, magic) : fma3(e, x, number(e, x, by), magic);
    value bits = bits_of(e, moved);
    *out_whole = LLVMBuildSub(e->builder, bits, whole(e, bits, 0x4B400000), "");
    return sub(e, moved, magic);
}

/* NaN stays. */
static value at_most(bd_emit *e, value x, double high)
{
    value bound = number(e, x, high);
    return pick(e, is(e, LLVMRealOGT, x, bound), bound, x);
}

static value clamped(bd_emit *e, value x, double low, double high)
{
    value bound = number(e, x, low);
    return at_most(e, pick(e, is(e, LLVMRealOLT, x, bound), bound, x), high);
}


static value power_of_two(bd_emit *e, value k)
{
    value biased = LLVMBuildAdd(e->builder, k, whole(e, k, 127), "");
    return from_bits(e, LLVMBuildShl(e->builder, biased, whole(e, k, 23), ""));
}

enum { SCALEF_LANES = 16 };

/* Whether one instruction scales by powers of two. */
static bool has_scalef(const bd_emit *e, value x)
{
    unsigned lanes = bd_part_is_vector(x) ? LLVMGetVectorSize(LLVMTypeOf(x)) : 1;
    bool whole_registers = lanes >= SCALEF_LANES && (lanes & (lanes - 1)) == 0;
    return e->module->target->masked && whole_registers;
}

/* x * 2^k, k whole f32, or 0 where `kept` is false: halves until a register is left. */
static value scalef(bd_emit *e, value x, value k, value kept)
{
    const bd_module *m = e->module;
    unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(x)), half = lanes / 2;
    if (lanes == SCALEF_LANES) {
        value mask = LLVMBuildBitCast(e->builder, kept, m->i16, "");
        value zeros = LLVMConstNull(LLVMTypeOf(x)), current_rounding = LLVMConstInt(m->i32, 4, 0);
        value arguments[] = {x, k, zeros, mask, current_rounding};
        return bd_part_intrinsic(e, "llvm.x86.avx512.mask.scalef.ps.512", NULL, arguments, 5);
    }
    value parts[2];
    for (unsigned i = 0; i < 2; i++)
        parts[i] = scalef(e, bd_part_lanes(e, x, i * half, half),
                          bd_part_lanes(e, k, i * half, half),
                          bd_part_lanes(e, kept, i * half, half));
    return bd_part_joined(e, parts[0], parts[1]);
}

/* x * 2^k for k of at most 250 either way, by two factors, so that subnormals round once. */
static value scaled_by_factors(bd_emit *e, value x, value k)
{
    value half = LLVMBuildAShr(e->builder, k, whole(e, k, 1), "");
    value rest = LLVMBuildSub(e->builder, k, half, "");
    return mul(e, mul(e, x, power_of_two(e, half)), power_of_two(e, rest));
}

/* The remainder r of x over ln 2, |r| <= 0.3467, and k. */
static value reduced(bd_emit *e, value x, value *out_k, value *out_whole)
{
    value k = *out_k = rounded(e, x, 1.44269504088896341, out_whole);
    value r = fma3(e, k, number(e, x, -0.693147182464599609), x);
    return fma3(e, k, number(e, x, 1.904654299957767878e-9), r);
}

/* A power of two times a polynomial: what differs between bases. */
typedef struct power {
    value k, whole_k, p; /* p * 2^k */
} power;

/* A power of x times 2^bias. Below `low`, where it is 0, nothing is scaled, which takes processors
 * very long. */
static value power_between(bd_emit *e, value x, double low, double high, int bias,
                           power (*core)(bd_emit *e, value x))
{
    value zero = LLVMConstNull(LLVMTypeOf(x)), kept = is(e, LLVMRealUGE, x, number(e, x, low));
    if (has_scalef(e, x)) {
        power it = core(e, at_most(e, x, high));
        return scalef(e, it.p, bias ? add(e, it.k, number(e, it.k, bias)) : it.k, kept);
    }
    power it = core(e, at_most(e, pick(e, kept, x, zero), high));
    value whole_k = it.whole_k;
    if (bias)
        whole_k = LLVMBuildAdd(e->builder, whole_k, whole(e, whole_k, bias), "");
    return pick(e, kept, scaled_by_factors(e, it.p, whole_k), zero);
}

static power exp_core(bd_emit *e, value x)
{
    static const double q[] = {1,           1,
                               0.49999994,  0.166665211,
                               0.0416682586, 0.00836866628,
                               0.00138211681};
    power it;
    value r = reduced(e, x, &it.k, &it.whole_k);
    it.p = POLYNOMIAL(e, r, q);
    return it;
}

static power exp2_core(bd_emit *e, value x)
{
    static const double q[] = {1,            0.693147182,  0.240226507,    0.0555041097,
                               0.00961803645, 0.0013333431, 0.000154671099, 1.53149467e-05};
    power it;
    it.k = rounded(e, x, 1, &it.whole_k);
    it.p = POLYNOMIAL(e, sub(e, x, it.k), q);
    return it;
}

/* e^x * 2^bias */
static value exp_biased(bd_emit *e, value x, int bias)
{
    return power_between(e, x, -104, 89.5, bias, exp_core);
}

value bd_math_exp(bd_emit *e, value x)
{
    return exp_biased(e, x, 0);
}

value bd_math_exp2(bd_emit *e, value x)
{
    return power_between(e, x, -150, 130, 0, exp2_core);
}

/* (e^x - 1) for x in [-20, 88.8]; half of it is scaled, as 2^128 is none. */
static value expm1_core(bd_emit *e, value x)
{
    static const double q[] = {0.5,           0.166666672,   0.041666355,
                               0.00833327416, 0.00139410642, 0.00019913631};
    value k, whole_k;
    value r = reduced(e, x, &k, &whole_k);
    value p = fma3(e, mul(e, r, r), POLYNOMIAL(e, r, q), r);
    value half = power_of_two(e, LLVMBuildSub(e->builder, whole_k, whole(e, whole_k, 1), ""));
    value rest = sub(e, half, number(e, x, 0.5));
    value sum = fma3(e, half, p, rest);
    return add(e, sum, sum);
}

value bd_math_expm1(bd_emit *e, value x)
{
    value result = expm1_core(e, clamped(e, x, -20, 88.8));
    return pick(e, is(e, LLVMRealOEQ, x, LLVMConstNull(LLVMTypeOf(x))), x, result);
}

value bd_math_tanh(bd_emit *e, value x)
{
    value a = absolute(e, x);
    value t = expm1_core(e, clamped(e, add(e, a, a), 0, 20));
    value result = divide(e, t, add(e, t, number(e, t, 2)));
    return with_sign(e, result, x);
}

value bd_math_sigmoid(bd_emit *e, value x)
{
    value minus = LLVMBuildFNeg(e->builder, absolute(e, x), "");
    value t = bd_math_exp(e, minus), one = number(e, x, 1);
    value positive = is(e, LLVMRealOGE, x, LLVMConstNull(LLVMTypeOf(x)));
    return divide(e, pick(e, positive, one, t), add(e, t, one));
}

value bd_math_sinh(bd_emit *e, value x)
{
    value a = absolute(e, x), one = number(e, x, 1);
    value t = expm1_core(e, clamped(e, a, 0, 20));
    value small = add(e, t, divide(e, t, add(e, t, one)));
    small = mul(e, small, number(e, x, 0.5));
    value large = exp_biased(e, a, -1);
    value result = pick(e, is(e, LLVMRealOGT, a, number(e, x, 15)), large, small);
    return with_sign(e, result, x);
}

value bd_math_cosh(bd_emit *e, value x)
{
    value half = exp_biased(e, absolute(e, x), -1);
    return add(e, half, divide(e, number(e, x, 0.25), half));
}

value bd_math_erf(bd_emit *e, value x)
{
    static const double near[] = {0.128379167,   -0.376126379,    0.112837829,    -0.0268654451,
                                  0.00522107491, -0.000848471129, 0.000112705442, -9.68013683e-06};
    static const double far[] = {-0.00018803183, 1.12957835,    0.633219957,     0.108418494,
                                 -0.0252082031,  0.00420454238, -0.000441332377, 2.16865101e-05};
    value a = absolute(e, x);
    value inner = fma3(e, x, POLYNOMIAL(e, mul(e, x, x), near), x);
    value g = POLYNOMIAL(e, clamped(e, a, 1, 4), far);
    value tail = bd_math_exp(e, LLVMBuildFNeg(e->builder, g, ""));
    value outer = with_sign(e, sub(e, number(e, x, 1), tail), x);
    return pick(e, is(e, LLVMRealOLT, a, number(e, x, 1)), inner, outer);
}

/* ---- pow: log2 and exp2 in f64, where a few terms are exact enough for f32 ---- */

static value to_f64(bd_emit *e, value x)
{
    return LLVMBuildFPExt(e->builder, x, bd_part_like(x, e->module->f64), "");
}

static value log2_f64(bd_emit *e, value x)
{
    static const double p[] = {2.8853900817778491,  0.96179669411448432, 0.57707794205681429,
                               0.41220928272450164, 0.31990446696331259, 0.28291763222064231};
    LLVMBuilderRef b = e->builder;
    value bits = LLVMBuildBitCast(b, x, bd_part_like(x, e->module->i64), "");
    value origin = whole(e, bits, 0x3FE6A09E667F3BCD); /* of sqrt(1/2) */
    value moved = LLVMBuildSub(b, bits, origin, "");
    value k = LLVMBuildAShr(b, moved, whole(e, bits, 52), "");
    value fraction = LLVMBuildAnd(b, moved, whole(e, bits, 0xFFFFFFFFFFFFF), "");
    value m = LLVMBuildBitCast(b, LLVMBuildAdd(b, fraction, origin, ""), LLVMTypeOf(x), "");
    value one = number(e, x, 1);
    value s = divide(e, sub(e, m, one), add(e, m, one));
    value narrow = LLVMBuildTrunc(b, k, bd_part_like(x, e->module->i32), "");
    value exponent = LLVMBuildSIToFP(b, narrow, LLVMTypeOf(x), "");
    return fma3(e, s, POLYNOMIAL(e, mul(e, s, s), p), exponent);
}

static value exp2_f64(bd_emit *e, value t)
{
    static const double p[] = {0.99999999995954969,    0.69314718053502899,   0.24022651213585122,
                               0.055504109761006962,   0.0096180256040412464, 0.0013333422652061736,
                               0.00015469731691709481, 1.5316460201143161e-05};
    LLVMBuilderRef b = e->builder;
    value magic = number(e, t, 6755399441055744.0), moved = add(e, t, magic);
    value bits = LLVMBuildBitCast(b, moved, bd_part_like(t, e->module->i64), "");
    value r = sub(e, t, sub(e, moved, magic));
    value scale = LLVMBuildAdd(b, bits, whole(e, bits, 1023), "");
    scale = LLVMBuildShl(b, scale, whole(e, bits, 52), "");
    return mul(e, POLYNOMIAL(e, r, p), LLVMBuildBitCast(b, scale, LLVMTypeOf(t), ""));
}

/* Whether y is an integer, and whether an odd one. */
static value is_whole(bd_emit *e, value y, value *out_odd)
{
    LLVMBuilderRef b = e->builder;
    value floor = bd_part_intrinsic(e, "llvm.floor", LLVMTypeOf(y), &y, 1);
    value integral = is(e, LLVMRealOEQ, floor, y);
    value small = is(e, LLVMRealOLT, absolute(e, y), number(e, y, 16777216));
    value safe = pick(e, small, y, LLVMConstNull(LLVMTypeOf(y)));
    value number_of = LLVMBuildFPToSI(b, safe, bd_part_like(y, e->module->i32), "");
    value low = LLVMBuildAnd(b, number_of, whole(e, number_of, 1), "");
    value odd = LLVMBuildICmp(b, LLVMIntNE, low, LLVMConstNull(LLVMTypeOf(low)), "");
    *out_odd = LLVMBuildAnd(b, integral, odd, "");
    return integral;
}

value bd_math_pow(bd_emit *e, value x, value y)
{
    LLVMBuilderRef b = e->builder;
    value zero = LLVMConstNull(LLVMTypeOf(x)), one = number(e, x, 1);
    value infinity = number(e, x, INFINITY), odd;
    value a = absolute(e, x), integral = is_whole(e, y, &odd);
    value logarithm = log2_f64(e, to_f64(e, a));
    value end = number(e, logarithm, INFINITY);
    logarithm = pick(e, is(e, LLVMRealOEQ, a, infinity), end, logarithm);
    end = number(e, logarithm, -INFINITY);
    logarithm = pick(e, is(e, LLVMRealOEQ, a, zero), end, logarithm);
    value t = mul(e, to_f64(e, y), logarithm);
    /* 1 to the infinite is 1, where the product is 0 * infinity. */
    value flat = LLVMBuildAnd(b, is(e, LLVMRealOEQ, a, one),
                              is(e, LLVMRealOEQ, absolute(e, y), infinity), "");
    t = pick(e, flat, LLVMConstNull(LLVMTypeOf(t)), t);
    t = clamped(e, t, -200, 200);
    value result = LLVMBuildFPTrunc(b, exp2_f64(e, t), LLVMTypeOf(x), "");
    /* NaN goes past the bit tricks of log2. */
    result = pick(e, is(e, LLVMRealUNO, x, x), x, result);
    value negative =
        LLVMBuildICmp(b, LLVMIntSLT, bits_of(e, x), LLVMConstNull(LLVMTypeOf(bits_of(e, x))), "");
    value flips = LLVMBuildAnd(b, negative, odd, "");
    result = pick(e, flips, LLVMBuildFNeg(b, result, ""), result);
    value below = LLVMBuildAnd(b, is(e, LLVMRealOLT, x, zero), is(e, LLVMRealOLT, a, infinity), "");
    value undefined = LLVMBuildAnd(b, below, LLVMBuildNot(b, integral, ""), "");
    undefined = LLVMBuildAnd(b, undefined, is(e, LLVMRealONE, absolute(e, y), infinity), "");
    result = pick(e, undefined, number(e, x, NAN), result);
    value fixed = LLVMBuildOr(b, is(e, LLVMRealOEQ, y, zero), is(e, LLVMRealOEQ, x, one), "");
    return pick(e, fixed, one, result);
}
