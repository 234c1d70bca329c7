/* SPDX-License-Identifier: Apache-2.0
 * Types of values and of memory, and conversions between dtypes. f16 and bf16 are computed in f32,
 * and each result is rounded; without F16C, and always for bf16, the bits are converted by integer
 * arithmetic. */
#include <math.h>
#include <string.h>

#include "backends/cpu/constants.h"
#include "backends/cpu/emit_parts.h"
#include "proto/base/assert.h"

LLVMTypeRef bd_emit_type(const bd_emit *emit, burn_dtype dtype)
{
    switch (dtype) {
    case BURN_F64:
        return emit->module->f64;
    case BURN_F32:
    case BURN_F16:
    case BURN_BF16:
        return emit->module->f32;
    case BURN_I64:
    case BURN_U64:
        return emit->module->i64;
    case BURN_I32:
    case BURN_U32:
        return emit->module->i32;
    case BURN_I16:
    case BURN_U16:
        return emit->module->i16;
    case BURN_I8:
    case BURN_U8:
        return emit->module->i8;
    case BURN_BOOL:
        return emit->module->i1;
    case BURN_DTYPE_NONE:
    case BURN_DTYPE_END:
        break;
    }
    bd_abort(__FILE__, __LINE__, "a dtype");
}

LLVMTypeRef bd_emit_storage(const bd_emit *emit, burn_dtype dtype)
{
    if (dtype == BURN_F16 || dtype == BURN_BF16)
        return emit->module->i16;
    return dtype == BURN_BOOL ? emit->module->i8 : bd_emit_type(emit, dtype);
}

LLVMTypeRef bd_emit_lanes_of(const bd_emit *emit, LLVMTypeRef scalar)
{
    return emit->lanes == 1 ? scalar : LLVMVectorType(scalar, emit->lanes);
}

bool bd_part_is_vector(LLVMValueRef value)
{
    return LLVMGetTypeKind(LLVMTypeOf(value)) == LLVMVectorTypeKind;
}

LLVMTypeRef bd_part_like(LLVMValueRef like, LLVMTypeRef element)
{
    return bd_part_is_vector(like) ? LLVMVectorType(element, LLVMGetVectorSize(LLVMTypeOf(like)))
                                   : element;
}

LLVMValueRef bd_part_match(bd_emit *emit, LLVMValueRef value, LLVMValueRef like)
{
    return bd_part_is_vector(like) && !bd_part_is_vector(value) ? bd_emit_splat(emit, value)
                                                                : value;
}

static LLVMTypeRef element_type(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return bd_part_is_vector(value) ? LLVMGetElementType(type) : type;
}

LLVMValueRef bd_part_float(bd_emit *emit, LLVMValueRef like, double value)
{
    LLVMTypeRef type = element_type(like);
    if (value == 0 && !signbit(value))
        return LLVMConstNull(LLVMTypeOf(like));
    uint64_t bits = 0;
    if (type == emit->module->f32) {
        float narrow = (float)value;
        uint32_t word;
        memcpy(&word, &narrow, sizeof word);
        bits = word;
    } else {
        memcpy(&bits, &value, sizeof bits);
    }
    LLVMValueRef scalar = bd_constant_load(emit->module, emit->builder, type, bits);
    return bd_part_match(emit, scalar, like);
}

LLVMValueRef bd_part_integer(bd_emit *emit, LLVMValueRef like, int64_t value)
{
    (void)emit;
    LLVMTypeRef type = element_type(like);
    LLVMValueRef scalar = LLVMConstInt(type, (unsigned long long)value, 1);
    if (value == 0)
        return LLVMConstNull(LLVMTypeOf(like));
    if (!bd_part_is_vector(like))
        return scalar;
    LLVMValueRef items[256];
    unsigned count = LLVMGetVectorSize(LLVMTypeOf(like));
    for (unsigned i = 0; i < count; i++)
        items[i] = scalar;
    return LLVMConstVector(items, count);
}

LLVMValueRef bd_part_intrinsic(bd_emit *emit, const char *name, LLVMTypeRef overload,
                               LLVMValueRef *arguments, unsigned count)
{
    return bd_module_intrinsic(emit->module, emit->builder, name, &overload, overload ? 1 : 0,
                               arguments, count);
}

/* One shuffle of a and b, whose lanes count on: lanes first to first + count. */
static LLVMValueRef shuffled(bd_emit *emit, LLVMValueRef a, LLVMValueRef b, unsigned first,
                             unsigned count)
{
    LLVMValueRef numbers[256];
    BD_ASSERT(count <= 256);
    for (unsigned i = 0; i < count; i++)
        numbers[i] = LLVMConstInt(emit->module->i32, first + i, 0);
    return LLVMBuildShuffleVector(emit->builder, a, b, LLVMConstVector(numbers, count), "");
}

LLVMValueRef bd_part_lanes(bd_emit *emit, LLVMValueRef vector, unsigned first, unsigned count)
{
    if (count == 1)
        return LLVMBuildExtractElement(emit->builder, vector,
                                       LLVMConstInt(emit->module->i32, first, 0), "");
    return shuffled(emit, vector, LLVMGetPoison(LLVMTypeOf(vector)), first, count);
}

LLVMValueRef bd_part_joined(bd_emit *emit, LLVMValueRef low, LLVMValueRef high)
{
    return shuffled(emit, low, high, 0, 2 * LLVMGetVectorSize(LLVMTypeOf(low)));
}

LLVMValueRef bd_part_isnan(bd_emit *emit, LLVMValueRef value)
{
    return LLVMBuildFCmp(emit->builder, LLVMRealUNO, value, value, "");
}

static LLVMValueRef bits_to_f32(bd_emit *emit, LLVMValueRef bits)
{
    return LLVMBuildBitCast(emit->builder, bits, bd_part_like(bits, emit->module->f32), "");
}

static LLVMValueRef f32_to_bits(bd_emit *emit, LLVMValueRef value)
{
    return LLVMBuildBitCast(emit->builder, value, bd_part_like(value, emit->module->i32), "");
}

static LLVMValueRef f32_from_bf16(bd_emit *emit, LLVMValueRef stored)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef wide = LLVMBuildZExt(b, stored, bd_part_like(stored, emit->module->i32), "");
    return bits_to_f32(emit, LLVMBuildShl(b, wide, bd_part_integer(emit, wide, 16), ""));
}

static bool is_made_by(LLVMValueRef value, LLVMOpcode code)
{
    return LLVMIsAInstruction(value) && LLVMGetInstructionOpcode(value) == code;
}

/* What f32_from_bf16 made this value of; NULL if it did not. */
static LLVMValueRef bf16_behind(LLVMValueRef value)
{
    if (!is_made_by(value, LLVMBitCast) || !is_made_by(LLVMGetOperand(value, 0), LLVMShl))
        return NULL;
    LLVMValueRef wide = LLVMGetOperand(LLVMGetOperand(value, 0), 0);
    return is_made_by(wide, LLVMZExt) ? LLVMGetOperand(wide, 0) : NULL;
}

static LLVMValueRef bf16_from_f32(bd_emit *emit, LLVMValueRef value)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef stored = bf16_behind(value);
    if (stored)
        return stored;
    LLVMValueRef bits = f32_to_bits(emit, value), sixteen = bd_part_integer(emit, bits, 16);
    LLVMValueRef top = LLVMBuildLShr(b, bits, sixteen, "");
    LLVMValueRef odd = LLVMBuildAnd(b, top, bd_part_integer(emit, bits, 1), "");
    LLVMValueRef bias = LLVMBuildAdd(b, odd, bd_part_integer(emit, bits, 0x7fff), "");
    LLVMValueRef rounded = LLVMBuildLShr(b, LLVMBuildAdd(b, bits, bias, ""), sixteen, "");
    LLVMValueRef quiet = LLVMBuildOr(b, top, bd_part_integer(emit, bits, 0x40), "");
    rounded = LLVMBuildSelect(b, bd_part_isnan(emit, value), quiet, rounded, "");
    return LLVMBuildTrunc(b, rounded, bd_part_like(value, emit->module->i16), "");
}

/* Exponent and fraction move up by 13 bits; a product with 2^112 corrects the bias, also of
 * subnormal numbers; infinity and NaN get the full exponent. */
static LLVMValueRef f32_from_f16(bd_emit *emit, LLVMValueRef stored)
{
    LLVMBuilderRef b = emit->builder;
    if (emit->module->target->f16c) {
        LLVMValueRef half =
            LLVMBuildBitCast(b, stored, bd_part_like(stored, emit->module->f16), "");
        return LLVMBuildFPExt(b, half, bd_part_like(stored, emit->module->f32), "");
    }
    LLVMValueRef wide = LLVMBuildZExt(b, stored, bd_part_like(stored, emit->module->i32), "");
    LLVMValueRef size = LLVMBuildAnd(b, wide, bd_part_integer(emit, wide, 0x7fff), "");
    LLVMValueRef sign = LLVMBuildAnd(b, wide, bd_part_integer(emit, wide, 0x8000), "");
    LLVMValueRef moved = LLVMBuildShl(b, size, bd_part_integer(emit, wide, 13), "");
    LLVMValueRef value = bits_to_f32(emit, moved);
    value = LLVMBuildFMul(b, value, bd_part_float(emit, value, 0x1p112), "");
    LLVMValueRef special = LLVMBuildOr(b, moved, bd_part_integer(emit, wide, 0x7f800000), "");
    LLVMValueRef is_special =
        LLVMBuildICmp(b, LLVMIntUGE, size, bd_part_integer(emit, wide, 0x7c00), "");
    LLVMValueRef bits = LLVMBuildSelect(b, is_special, special, f32_to_bits(emit, value), "");
    sign = LLVMBuildShl(b, sign, bd_part_integer(emit, wide, 16), "");
    return bits_to_f32(emit, LLVMBuildOr(b, bits, sign, ""));
}

static LLVMValueRef f16_from_f32(bd_emit *emit, LLVMValueRef value)
{
    LLVMBuilderRef b = emit->builder;
    LLVMTypeRef i16 = bd_part_like(value, emit->module->i16);
    if (emit->module->target->f16c) {
        LLVMValueRef half = LLVMBuildFPTrunc(b, value, bd_part_like(value, emit->module->f16), "");
        return LLVMBuildBitCast(b, half, i16, "");
    }
    LLVMValueRef bits = f32_to_bits(emit, value);
    LLVMValueRef size = LLVMBuildAnd(b, bits, bd_part_integer(emit, bits, 0x7fffffff), "");
    LLVMValueRef sign =
        LLVMBuildLShr(b, LLVMBuildXor(b, bits, size, ""), bd_part_integer(emit, bits, 16), "");
    /* Normal results: round to even at bit 13, then move the bias from 127 to 15. */
    LLVMValueRef thirteen = bd_part_integer(emit, bits, 13);
    LLVMValueRef odd =
        LLVMBuildAnd(b, LLVMBuildLShr(b, size, thirteen, ""), bd_part_integer(emit, bits, 1), "");
    LLVMValueRef up = LLVMBuildAdd(b, size, bd_part_integer(emit, bits, 0xfff), "");
    up = LLVMBuildAdd(b, up, odd, "");
    LLVMValueRef normal = LLVMBuildLShr(
        b, LLVMBuildSub(b, up, bd_part_integer(emit, bits, 112 << 23), ""), thirteen, "");
    /* Subnormal results: adding 0.5 lets the float unit round at 2^-24. */
    LLVMValueRef shifted =
        LLVMBuildFAdd(b, bits_to_f32(emit, size), bd_part_float(emit, value, 0.5), "");
    LLVMValueRef subnormal =
        LLVMBuildSub(b, f32_to_bits(emit, shifted), bd_part_integer(emit, bits, 0x3f000000), "");
    LLVMValueRef is_small =
        LLVMBuildICmp(b, LLVMIntULT, size, bd_part_integer(emit, bits, 113 << 23), "");
    LLVMValueRef is_large =
        LLVMBuildICmp(b, LLVMIntUGE, size, bd_part_integer(emit, bits, 0x477ff000), "");
    LLVMValueRef result = LLVMBuildSelect(b, is_small, subnormal, normal, "");
    result = LLVMBuildSelect(b, is_large, bd_part_integer(emit, bits, 0x7c00), result, "");
    result = LLVMBuildSelect(b, bd_part_isnan(emit, value), bd_part_integer(emit, bits, 0x7e00),
                             result, "");
    return LLVMBuildTrunc(b, LLVMBuildOr(b, result, sign, ""), i16, "");
}

LLVMValueRef bd_emit_from_storage(bd_emit *emit, LLVMValueRef stored, burn_dtype dtype)
{
    if (dtype == BURN_F16)
        return f32_from_f16(emit, stored);
    if (dtype == BURN_BF16)
        return f32_from_bf16(emit, stored);
    if (dtype == BURN_BOOL)
        return LLVMBuildICmp(emit->builder, LLVMIntNE, stored, LLVMConstNull(LLVMTypeOf(stored)),
                             "");
    return stored;
}

LLVMValueRef bd_emit_to_storage(bd_emit *emit, LLVMValueRef value, burn_dtype dtype)
{
    if (dtype == BURN_F16)
        return f16_from_f32(emit, value);
    if (dtype == BURN_BF16)
        return bf16_from_f32(emit, value);
    if (dtype == BURN_BOOL)
        return LLVMBuildZExt(emit->builder, value, bd_part_like(value, emit->module->i8), "");
    return value;
}

LLVMValueRef bd_part_round(bd_emit *emit, LLVMValueRef value, burn_dtype dtype)
{
    if (dtype != BURN_F16 && dtype != BURN_BF16)
        return value;
    return bd_emit_from_storage(emit, bd_emit_to_storage(emit, value, dtype), dtype);
}

static LLVMValueRef saturate(bd_emit *emit, LLVMValueRef value, LLVMTypeRef type, bool is_signed)
{
    const char *name = is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    LLVMTypeRef overloads[] = {type, LLVMTypeOf(value)};
    return bd_module_intrinsic(emit->module, emit->builder, name, overloads, 2, &value, 1);
}

static LLVMValueRef cast_float(bd_emit *emit, LLVMValueRef value, burn_dtype to)
{
    LLVMBuilderRef b = emit->builder;
    LLVMTypeRef type = bd_part_like(value, bd_emit_type(emit, to));
    switch (burn_dtype_kind_of(to)) {
    case BURN_KIND_BOOL:
        return LLVMBuildFCmp(b, LLVMRealUNE, value, LLVMConstNull(LLVMTypeOf(value)), "");
    case BURN_KIND_UNSIGNED:
        return saturate(emit, value, type, false);
    case BURN_KIND_SIGNED:
        return saturate(emit, value, type, true);
    case BURN_KIND_FLOAT:
        break;
    }
    return bd_part_round(emit, LLVMBuildFPCast(b, value, type, ""), to);
}

LLVMValueRef bd_part_cast(bd_emit *emit, LLVMValueRef value, burn_dtype from, burn_dtype to)
{
    LLVMBuilderRef b = emit->builder;
    if (from == to)
        return value;
    if (burn_dtype_is_float(from))
        return cast_float(emit, value, to);
    LLVMTypeRef type = bd_part_like(value, bd_emit_type(emit, to));
    bool is_signed = burn_dtype_kind_of(from) == BURN_KIND_SIGNED;
    if (to == BURN_BOOL)
        return LLVMBuildICmp(b, LLVMIntNE, value, LLVMConstNull(LLVMTypeOf(value)), "");
    if (!burn_dtype_is_float(to))
        return LLVMBuildIntCast2(b, value, type, is_signed, "");
    LLVMValueRef result =
        is_signed ? LLVMBuildSIToFP(b, value, type, "") : LLVMBuildUIToFP(b, value, type, "");
    return bd_part_round(emit, result, to);
}
