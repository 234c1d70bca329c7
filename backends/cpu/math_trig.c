/* SPDX-License-Identifier: Apache-2.0
 * Circular functions in f32. Arguments are reduced by multiples of pi / 2 in three parts; where any
 * lane is too large for that, all lanes go through the f64 functions of libm. */
#include <math.h>

#include "backends/cpu/math_calls.h"
#include "backends/cpu/math_parts.h"

static const double REDUCTION_MAX = 30000;

typedef struct turn {
    value quadrant, sine, cosine; /* of the remainder; the quadrant as i32 */
} turn;

static turn reduced(bd_emit *e, value x)
{
    static const double s[] = {-0.166666672, 0.00833332911, -0.000198393274, 2.71823728e-06};
    static const double c[] = {0.0416666679, -0.00138888834, 2.47995122e-05, -2.72095463e-07};
    LLVMBuilderRef b = e->builder;
    value magic = number(e, x, 12582912.0);
    value moved = fma3(e, x, number(e, x, 0.636619772367581343), magic);
    value k = sub(e, moved, magic);
    value r = fma3(e, k, number(e, x, -1.57079637050628662109375), x);
    r = fma3(e, k, number(e, x, 4.37113900018624283e-8), r);
    r = fma3(e, k, number(e, x, 1.71512489e-15), r);
    value z = mul(e, r, r);
    turn t;
    value bits = bits_of(e, moved);
    t.quadrant = LLVMBuildSub(b, bits, whole(e, bits, 0x4B400000), "");
    t.sine = fma3(e, mul(e, r, z), POLYNOMIAL(e, z, s), r);
    value rest = fma3(e, mul(e, z, z), POLYNOMIAL(e, z, c), mul(e, z, number(e, x, -0.5)));
    t.cosine = add(e, rest, number(e, x, 1));
    return t;
}

static value is_odd(bd_emit *e, value quadrant)
{
    value low = LLVMBuildAnd(e->builder, quadrant, whole(e, quadrant, 1), "");
    return LLVMBuildICmp(e->builder, LLVMIntNE, low, LLVMConstNull(LLVMTypeOf(low)), "");
}

/* Minus x in the second half of the turn. */
static value turned(bd_emit *e, value x, value quadrant)
{
    LLVMBuilderRef b = e->builder;
    value flag = LLVMBuildAnd(b, quadrant, whole(e, quadrant, 2), "");
    value sign = LLVMBuildShl(b, flag, whole(e, quadrant, 30), "");
    return from_bits(e, LLVMBuildXor(b, bits_of(e, x), sign, ""));
}

/* The result for all lanes, by libm if any argument is large; `quick` was computed for all. */
static value or_by_libm(bd_emit *e, value x, value quick, int function)
{
    LLVMBuilderRef b = e->builder;
    value large = is(e, LLVMRealOGT, absolute(e, x), number(e, x, REDUCTION_MAX)), any = large;
    if (bd_part_is_vector(large)) {
        unsigned lanes = LLVMGetVectorSize(LLVMTypeOf(large));
        LLVMTypeRef bits = LLVMIntTypeInContext(e->module->context, lanes);
        value word = LLVMBuildBitCast(b, large, bits, "");
        any = LLVMBuildICmp(b, LLVMIntNE, word, LLVMConstInt(bits, 0, 0), "");
    }
    LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
    bd_emit_branch branch;
    bd_emit_if(e, &branch, any);
    value slow = pick(e, large, bd_part_math_call(e, function, x, NULL), quick);
    LLVMBasicBlockRef inside = LLVMGetInsertBlock(b);
    bd_emit_end_if(e, &branch);
    value result = LLVMBuildPhi(b, LLVMTypeOf(x), "");
    LLVMAddIncoming(result, &quick, &before, 1);
    LLVMAddIncoming(result, &slow, &inside, 1);
    return result;
}

value bd_math_sin(bd_emit *e, value x)
{
    turn t = reduced(e, x);
    value quick = pick(e, is_odd(e, t.quadrant), t.cosine, t.sine);
    return or_by_libm(e, x, turned(e, quick, t.quadrant), BD_MATH_SIN);
}

value bd_math_cos(bd_emit *e, value x)
{
    turn t = reduced(e, x);
    value quick = pick(e, is_odd(e, t.quadrant), t.sine, t.cosine);
    value next = LLVMBuildAdd(e->builder, t.quadrant, whole(e, t.quadrant, 1), "");
    return or_by_libm(e, x, turned(e, quick, next), BD_MATH_COS);
}

value bd_math_tan(bd_emit *e, value x)
{
    turn t = reduced(e, x);
    value odd = is_odd(e, t.quadrant);
    value minus = LLVMBuildFNeg(e->builder, t.cosine, "");
    value quick = divide(e, pick(e, odd, minus, t.sine), pick(e, odd, t.sine, t.cosine));
    return or_by_libm(e, x, quick, BD_MATH_TAN);
}

/* For |x| <= 1/2 asin |x|; above it the half of acos |x|, by the half angle. */
static value arc(bd_emit *e, value a, value big)
{
    static const double p[] = {0.166666597,  0.0750051066, 0.0445157215,
                               0.0318176076, 0.0144026149, 0.0375651866};
    value half = number(e, a, 0.5);
    value z = pick(e, big, mul(e, sub(e, number(e, a, 1), a), half), mul(e, a, a));
    value s = pick(e, big, square_root(e, z), a);
    return fma3(e, mul(e, s, z), POLYNOMIAL(e, z, p), s);
}

/* pi / 2 - x, with the part of pi / 2 that f32 lacks. */
static value from_quarter(bd_emit *e, value x)
{
    value rest = add(e, x, number(e, x, 4.37113900018624283e-8));
    return sub(e, number(e, x, 1.57079637050628662109375), rest);
}

value bd_math_asin(bd_emit *e, value x)
{
    value a = absolute(e, x), big = is(e, LLVMRealOGT, a, number(e, x, 0.5));
    value p = arc(e, a, big);
    return with_sign(e, pick(e, big, from_quarter(e, add(e, p, p)), p), x);
}

value bd_math_acos(bd_emit *e, value x)
{
    value a = absolute(e, x), big = is(e, LLVMRealOGT, a, number(e, x, 0.5));
    value p = arc(e, a, big), twice = add(e, p, p);
    value rest = add(e, twice, number(e, x, 8.74227800037248566e-8));
    value far = sub(e, number(e, x, 3.1415927410125732421875), rest);
    value negative = is(e, LLVMRealOLT, x, LLVMConstNull(LLVMTypeOf(x)));
    value near = from_quarter(e, with_sign(e, p, x));
    return pick(e, big, pick(e, negative, far, twice), near);
}

value bd_math_atan(bd_emit *e, value x)
{
    static const double p[] = {-0.333333284,   0.199996933,  -0.142801315, 0.110602446,
                               -0.0881884843,  0.0675957203, -0.044946447, 0.0227603409,
                               -0.00742263766, 0.00113487826};
    value a = absolute(e, x), one = number(e, x, 1);
    value big = is(e, LLVMRealOGT, a, one);
    value t = pick(e, big, divide(e, one, a), a), z = mul(e, t, t);
    value angle = fma3(e, mul(e, t, z), POLYNOMIAL(e, z, p), t);
    return with_sign(e, pick(e, big, from_quarter(e, angle), angle), x);
}
