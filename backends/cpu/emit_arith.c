/* SPDX-License-Identifier: Apache-2.0
 * Arithmetic, comparison and elementary functions on values of one shape. */
#include <math.h>

#include "backends/cpu/emit_parts.h"
#include "backends/cpu/math_calls.h"
#include "proto/base/assert.h"

static bool is_signed(burn_dtype dtype)
{
    return burn_dtype_kind_of(dtype) == BURN_KIND_SIGNED;
}

LLVMValueRef bd_part_fma(bd_emit *emit, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMBuilderRef builder = emit->builder;
    if (emit->module->target->fma) {
        LLVMValueRef arguments[] = {a, b, c};
        return bd_part_intrinsic(emit, "llvm.fma", LLVMTypeOf(a), arguments, 3);
    }
    return LLVMBuildFAdd(builder, LLVMBuildFMul(builder, a, b, ""), c, "");
}

LLVMValueRef bd_part_math_call(bd_emit *emit, int function, LLVMValueRef a, LLVMValueRef b)
{
    bd_module *module = emit->module;
    LLVMBuilderRef builder = emit->builder;
    bool vector = bd_part_is_vector(a);
    LLVMTypeRef given = LLVMTypeOf(a), type = given;
    LLVMTypeRef element = vector ? LLVMGetElementType(given) : given;
    unsigned count = vector ? LLVMGetVectorSize(given) : 1;
    if (element == module->f32)
        type = bd_part_like(a, module->f64);
    LLVMValueRef places[2] = {NULL, NULL}, inputs[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        places[i] = LLVMConstNull(module->pointer);
        if (!inputs[i])
            continue;
        places[i] = bd_emit_alloca(emit, type, 64);
        if (type != given)
            inputs[i] = LLVMBuildFPExt(builder, inputs[i], type, "");
        LLVMBuildStore(builder, inputs[i], places[i]);
    }
    LLVMTypeRef parameters[] = {module->pointer, module->pointer, module->i64};
    LLVMTypeRef shape = LLVMFunctionType(module->none, parameters, 3, 0);
    LLVMValueRef slot =
        bd_part_offset(emit, emit->math, module->pointer, bd_emit_i64(emit, function));
    LLVMValueRef target = LLVMBuildLoad2(builder, module->pointer, slot, "");
    LLVMValueRef arguments[] = {places[0], places[1], bd_emit_i64(emit, count)};
    LLVMBuildCall2(builder, shape, target, arguments, 3, "");
    LLVMValueRef result = LLVMBuildLoad2(builder, type, places[0], "");
    return type == given ? result : LLVMBuildFPTrunc(builder, result, given, "");
}

/* ---- unary ---- */

static LLVMValueRef sign_of(bd_emit *emit, burn_dtype dtype, LLVMValueRef a)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a));
    if (dtype == BURN_BOOL)
        return a;
    if (!burn_dtype_is_float(dtype)) {
        LLVMValueRef one = bd_part_integer(emit, a, 1);
        LLVMValueRef some = LLVMBuildICmp(b, LLVMIntNE, a, zero, "");
        LLVMValueRef result = LLVMBuildSelect(b, some, one, zero, "");
        if (!is_signed(dtype))
            return result;
        LLVMValueRef negative = LLVMBuildICmp(b, LLVMIntSLT, a, zero, "");
        return LLVMBuildSelect(b, negative, bd_part_integer(emit, a, -1), result, "");
    }
    LLVMValueRef above = LLVMBuildFCmp(b, LLVMRealOGT, a, zero, "");
    LLVMValueRef below = LLVMBuildFCmp(b, LLVMRealOLT, a, zero, "");
    LLVMValueRef result = LLVMBuildSelect(b, above, bd_part_float(emit, a, 1), zero, "");
    return LLVMBuildSelect(b, below, bd_part_float(emit, a, -1), result, "");
}

static LLVMValueRef round_by(bd_emit *emit, int code, LLVMValueRef a)
{
    if (!emit->module->target->sse41) {
        int function = code == BD_KIR_FLOOR   ? BD_MATH_FLOOR
                       : code == BD_KIR_CEIL  ? BD_MATH_CEIL
                       : code == BD_KIR_TRUNC ? BD_MATH_TRUNC
                                              : BD_MATH_ROUND;
        return bd_part_math_call(emit, function, a, NULL);
    }
    const char *name = code == BD_KIR_FLOOR   ? "llvm.floor"
                       : code == BD_KIR_CEIL  ? "llvm.ceil"
                       : code == BD_KIR_TRUNC ? "llvm.trunc"
                                              : "llvm.roundeven";
    return bd_part_intrinsic(emit, name, LLVMTypeOf(a), &a, 1);
}

static int unary_function(int code)
{
    switch (code) {
#define MATH1(name, expression)                                                                    \
    case BD_KIR_##name:                                                                            \
        return BD_MATH_##name;
#define MATH2(name, expression)
#define MATHI(name, expression)
#define MATHS(name)
#include "backends/cpu/math_calls.def"
    default:
        return -1;
    }
}

static LLVMValueRef unary_float(bd_emit *emit, int code, burn_dtype dtype, LLVMValueRef a)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef root;
    switch (code) {
    case BD_KIR_NEG:
        return LLVMBuildFNeg(b, a, "");
    case BD_KIR_ABS:
        return bd_part_intrinsic(emit, "llvm.fabs", LLVMTypeOf(a), &a, 1);
    case BD_KIR_SIGN:
        return sign_of(emit, dtype, a);
    case BD_KIR_FLOOR:
    case BD_KIR_CEIL:
    case BD_KIR_TRUNC:
    case BD_KIR_ROUND:
        return round_by(emit, code, a);
    case BD_KIR_SQRT:
        return bd_part_intrinsic(emit, "llvm.sqrt", LLVMTypeOf(a), &a, 1);
    case BD_KIR_RSQRT:
        root = bd_part_intrinsic(emit, "llvm.sqrt", LLVMTypeOf(a), &a, 1);
        return LLVMBuildFDiv(b, bd_part_float(emit, a, 1), root, "");
    case BD_KIR_RECIP:
        return LLVMBuildFDiv(b, bd_part_float(emit, a, 1), a, "");
    case BD_KIR_ISNAN:
        return bd_part_isnan(emit, a);
    case BD_KIR_ISINF:
        a = bd_part_intrinsic(emit, "llvm.fabs", LLVMTypeOf(a), &a, 1);
        return LLVMBuildFCmp(b, LLVMRealOEQ, a, bd_part_float(emit, a, INFINITY), "");
    default:
        break;
    }
    LLVMValueRef inlined = bd_part_math(emit, code, dtype, a);
    int function = unary_function(code);
    if (inlined)
        return inlined;
    BD_ASSERT(function >= 0);
    return bd_part_math_call(emit, function, a, NULL);
}

LLVMValueRef bd_part_unary(bd_emit *emit, int code, burn_dtype dtype, LLVMValueRef a)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(a));
    if (burn_dtype_is_float(dtype))
        return unary_float(emit, code, dtype, a);
    switch (code) {
    case BD_KIR_NEG:
        return LLVMBuildNeg(b, a, "");
    case BD_KIR_ABS:
        if (!is_signed(dtype))
            return a;
        return LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntSLT, a, zero, ""), LLVMBuildNeg(b, a, ""),
                               a, "");
    case BD_KIR_SIGN:
        return sign_of(emit, dtype, a);
    case BD_KIR_NOT:
        return LLVMBuildNot(b, a, "");
    case BD_KIR_ISNAN:
    case BD_KIR_ISINF:
        return LLVMConstNull(bd_part_like(a, emit->module->i1));
    default:
        return a; /* roundings leave an integer as it is */
    }
}

/* ---- binary ---- */

static LLVMValueRef binary_float(bd_emit *emit, int code, burn_dtype dtype, LLVMValueRef x,
                                 LLVMValueRef y)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef larger;
    switch (code) {
    case BD_KIR_ADD:
        return LLVMBuildFAdd(b, x, y, "");
    case BD_KIR_SUB:
        return LLVMBuildFSub(b, x, y, "");
    case BD_KIR_MUL:
        return LLVMBuildFMul(b, x, y, "");
    case BD_KIR_DIV:
        return LLVMBuildFDiv(b, x, y, "");
    case BD_KIR_MAX: /* the comparison is false with a NaN and takes y; then x's NaN wins */
    case BD_KIR_MIN:
        larger = LLVMBuildFCmp(b, code == BD_KIR_MAX ? LLVMRealOGT : LLVMRealOLT, x, y, "");
        larger = LLVMBuildSelect(b, larger, x, y, "");
        return LLVMBuildSelect(b, bd_part_isnan(emit, x), x, larger, "");
    case BD_KIR_FMAX:
    case BD_KIR_FMIN:
        larger = LLVMBuildFCmp(b, code == BD_KIR_FMAX ? LLVMRealOGT : LLVMRealOLT, y, x, "");
        larger = LLVMBuildSelect(b, larger, y, x, "");
        return LLVMBuildSelect(b, bd_part_isnan(emit, x), y, larger, "");
    case BD_KIR_EQ:
        return LLVMBuildFCmp(b, LLVMRealOEQ, x, y, "");
    case BD_KIR_NE:
        return LLVMBuildFCmp(b, LLVMRealUNE, x, y, "");
    case BD_KIR_LT:
        return LLVMBuildFCmp(b, LLVMRealOLT, x, y, "");
    case BD_KIR_LE:
        return LLVMBuildFCmp(b, LLVMRealOLE, x, y, "");
    case BD_KIR_GT:
        return LLVMBuildFCmp(b, LLVMRealOGT, x, y, "");
    case BD_KIR_GE:
        return LLVMBuildFCmp(b, LLVMRealOGE, x, y, "");
    case BD_KIR_POW:
        larger = bd_part_pow(emit, dtype, x, y);
        return larger ? larger : bd_part_math_call(emit, BD_MATH_POW, x, y);
    case BD_KIR_ATAN2:
        return bd_part_math_call(emit, BD_MATH_ATAN2, x, y);
    case BD_KIR_FLOORDIV:
        return bd_part_math_call(emit, BD_MATH_FLOORDIV, x, y);
    case BD_KIR_MOD:
        return bd_part_math_call(emit, BD_MATH_MOD, x, y);
    case BD_KIR_FMOD:
        return bd_part_math_call(emit, BD_MATH_FMOD, x, y);
    case BD_KIR_NEXTAFTER:
        return bd_part_math_call(emit, dtype == BURN_F64 ? BD_MATH_NEXTAFTER : BD_MATH_NEXTAFTER32,
                                 x, y);
    default:
        bd_abort(__FILE__, __LINE__, "a binary instruction of floats");
    }
}

/* Quotient or remainder that never traps: x / 0 = 0, and the lowest value / -1 wraps. */
static LLVMValueRef divide(bd_emit *emit, int code, burn_dtype dtype, LLVMValueRef x,
                           LLVMValueRef y)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x)), one = bd_part_integer(emit, x, 1);
    LLVMValueRef none = LLVMBuildICmp(b, LLVMIntEQ, y, zero, ""), unsafe = none;
    LLVMValueRef minus = LLVMConstAllOnes(LLVMTypeOf(x)), quotient, rest;
    bool sign = is_signed(dtype);
    if (sign) /* x / -1 is -x, also where the division would trap */
        unsafe = LLVMBuildOr(b, none, LLVMBuildICmp(b, LLVMIntEQ, y, minus, ""), "");
    LLVMValueRef safe = LLVMBuildSelect(b, unsafe, one, y, "");
    quotient = sign ? LLVMBuildSDiv(b, x, safe, "") : LLVMBuildUDiv(b, x, safe, "");
    if (sign)
        quotient = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntEQ, y, minus, ""),
                                   LLVMBuildNeg(b, x, ""), quotient, "");
    quotient = LLVMBuildSelect(b, none, zero, quotient, "");
    rest = LLVMBuildSub(b, x, LLVMBuildMul(b, quotient, y, ""), "");
    rest = LLVMBuildSelect(b, none, zero, rest, "");
    if (code == BD_KIR_DIV)
        return quotient;
    if (code == BD_KIR_FMOD)
        return rest;
    LLVMValueRef wrong = LLVMConstNull(LLVMTypeOf(none));
    if (sign) {
        wrong = LLVMBuildICmp(b, LLVMIntSLT, LLVMBuildXor(b, rest, y, ""), zero, "");
        wrong = LLVMBuildAnd(b, wrong, LLVMBuildICmp(b, LLVMIntNE, rest, zero, ""), "");
    }
    if (code == BD_KIR_FLOORDIV)
        return LLVMBuildSelect(b, wrong, LLVMBuildSub(b, quotient, one, ""), quotient, "");
    return LLVMBuildSelect(b, wrong, LLVMBuildAdd(b, rest, y, ""), rest, "");
}

static LLVMValueRef power(bd_emit *emit, burn_dtype dtype, LLVMValueRef x, LLVMValueRef y)
{
    LLVMBuilderRef b = emit->builder;
    LLVMTypeRef wide = bd_part_like(x, emit->module->i64);
    bool sign = is_signed(dtype);
    x = LLVMBuildIntCast2(b, x, wide, sign, "");
    LLVMValueRef exponent = LLVMBuildIntCast2(b, y, wide, sign, "");
    LLVMValueRef result = bd_part_math_call(emit, sign ? BD_MATH_IPOW : BD_MATH_UPOW, x, exponent);
    return LLVMBuildIntCast2(b, result, LLVMTypeOf(y), sign, "");
}

/* A shift by the width or more gives 0, or the sign. */
static LLVMValueRef shift(bd_emit *emit, int code, burn_dtype dtype, LLVMValueRef x, LLVMValueRef y)
{
    LLVMBuilderRef b = emit->builder;
    int64_t width = (int64_t)burn_dtype_size(dtype) * 8;
    LLVMValueRef last = bd_part_integer(emit, y, width - 1), zero = LLVMConstNull(LLVMTypeOf(x));
    LLVMValueRef fits = LLVMBuildICmp(b, LLVMIntULE, y, last, "");
    LLVMValueRef count = LLVMBuildSelect(b, fits, y, last, "");
    if (code == BD_KIR_SHR && is_signed(dtype))
        return LLVMBuildAShr(b, x, count, "");
    LLVMValueRef moved =
        code == BD_KIR_SHL ? LLVMBuildShl(b, x, count, "") : LLVMBuildLShr(b, x, count, "");
    return LLVMBuildSelect(b, fits, moved, zero, "");
}

static LLVMValueRef compare(bd_emit *emit, int code, burn_dtype dtype, LLVMValueRef x,
                            LLVMValueRef y)
{
    bool sign = is_signed(dtype);
    LLVMIntPredicate how = LLVMIntEQ;
    if (code == BD_KIR_NE)
        how = LLVMIntNE;
    else if (code == BD_KIR_LT)
        how = sign ? LLVMIntSLT : LLVMIntULT;
    else if (code == BD_KIR_LE)
        how = sign ? LLVMIntSLE : LLVMIntULE;
    else if (code == BD_KIR_GT || code == BD_KIR_MAX || code == BD_KIR_FMAX)
        how = sign ? LLVMIntSGT : LLVMIntUGT;
    else if (code == BD_KIR_GE)
        how = sign ? LLVMIntSGE : LLVMIntUGE;
    else if (code == BD_KIR_MIN || code == BD_KIR_FMIN)
        how = sign ? LLVMIntSLT : LLVMIntULT;
    return LLVMBuildICmp(emit->builder, how, x, y, "");
}

LLVMValueRef bd_part_binary(bd_emit *emit, int code, burn_dtype dtype, LLVMValueRef x,
                            LLVMValueRef y)
{
    LLVMBuilderRef b = emit->builder;
    bool is_bit = dtype == BURN_BOOL;
    if (burn_dtype_is_float(dtype))
        return binary_float(emit, code, dtype, x, y);
    switch (code) {
    case BD_KIR_ADD:
        return is_bit ? LLVMBuildOr(b, x, y, "") : LLVMBuildAdd(b, x, y, "");
    case BD_KIR_SUB:
        return is_bit ? LLVMBuildXor(b, x, y, "") : LLVMBuildSub(b, x, y, "");
    case BD_KIR_MUL:
        return is_bit ? LLVMBuildAnd(b, x, y, "") : LLVMBuildMul(b, x, y, "");
    case BD_KIR_DIV:
    case BD_KIR_FLOORDIV:
    case BD_KIR_MOD:
    case BD_KIR_FMOD:
        return divide(emit, code, dtype, x, y);
    case BD_KIR_POW:
        return power(emit, dtype, x, y);
    case BD_KIR_MAX:
    case BD_KIR_MIN:
    case BD_KIR_FMAX:
    case BD_KIR_FMIN:
        return LLVMBuildSelect(b, compare(emit, code, dtype, x, y), x, y, "");
    case BD_KIR_AND:
        return LLVMBuildAnd(b, x, y, "");
    case BD_KIR_OR:
        return LLVMBuildOr(b, x, y, "");
    case BD_KIR_XOR:
        return LLVMBuildXor(b, x, y, "");
    case BD_KIR_SHL:
    case BD_KIR_SHR:
        return shift(emit, code, dtype, x, y);
    default:
        return compare(emit, code, dtype, x, y);
    }
}
