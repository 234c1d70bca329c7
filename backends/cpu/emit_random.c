/* SPDX-License-Identifier: Apache-2.0
 * Philox4x32-10, a counter-based generator: the same bits on every backend.
 * Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011). */
#include "backends/cpu/emit_parts.h"

static LLVMValueRef low_word(bd_emit *emit, LLVMValueRef wide)
{
    return LLVMBuildTrunc(emit->builder, wide, bd_part_like(wide, emit->module->i32), "");
}

static LLVMValueRef high_word(bd_emit *emit, LLVMValueRef wide)
{
    LLVMValueRef moved = LLVMBuildLShr(emit->builder, wide, bd_part_integer(emit, wide, 32), "");
    return low_word(emit, moved);
}

static LLVMValueRef multiply(bd_emit *emit, LLVMValueRef word, uint32_t factor)
{
    LLVMValueRef wide =
        LLVMBuildZExt(emit->builder, word, bd_part_like(word, emit->module->i64), "");
    return LLVMBuildMul(emit->builder, wide, bd_part_integer(emit, wide, factor), "");
}

static void rounds(bd_emit *emit, LLVMValueRef words[4], LLVMValueRef keys[2])
{
    static const uint32_t steps[2] = {0x9E3779B9u, 0xBB67AE85u};
    LLVMBuilderRef b = emit->builder;
    for (int round = 0; round < 10; round++) {
        LLVMValueRef first = multiply(emit, words[0], 0xD2511F53u);
        LLVMValueRef second = multiply(emit, words[2], 0xCD9E8D57u);
        LLVMValueRef a = LLVMBuildXor(b, high_word(emit, second), words[1], "");
        LLVMValueRef c = LLVMBuildXor(b, high_word(emit, first), words[3], "");
        words[0] = LLVMBuildXor(b, a, keys[0], "");
        words[1] = low_word(emit, second);
        words[2] = LLVMBuildXor(b, c, keys[1], "");
        words[3] = low_word(emit, first);
        for (int i = 0; i < 2; i++)
            keys[i] =
                LLVMBuildAdd(b, keys[i], bd_part_integer(emit, keys[i], (int64_t)steps[i]), "");
    }
}

LLVMValueRef bd_part_random(bd_emit *emit, const bd_kir_instr *instr)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef inputs[3], words[4], keys[2], like = NULL;
    for (int i = 0; i < 3; i++) {
        inputs[i] = emit->values[instr->operands[i]];
        if (!like || bd_part_is_vector(inputs[i]))
            like = inputs[i];
    }
    for (int i = 0; i < 3; i++)
        inputs[i] = bd_part_match(emit, inputs[i], like);
    words[0] = low_word(emit, inputs[0]);
    words[1] = high_word(emit, inputs[0]);
    words[2] = low_word(emit, inputs[2]);
    words[3] = high_word(emit, inputs[2]);
    keys[0] = low_word(emit, inputs[1]);
    keys[1] = high_word(emit, inputs[1]);
    rounds(emit, words, keys);
    LLVMValueRef low = words[2 * (instr->index & 1)], high = words[2 * (instr->index & 1) + 1];
    LLVMTypeRef i64 = LLVMTypeOf(like), f32 = bd_part_like(like, emit->module->f32);
    if (instr->code == BD_KIR_RANDOM_BITS) {
        LLVMValueRef top = LLVMBuildZExt(b, high, i64, "");
        top = LLVMBuildShl(b, top, bd_part_integer(emit, top, 32), "");
        return LLVMBuildOr(b, top, LLVMBuildZExt(b, low, i64, ""), "");
    }
    if (instr->dtype != BURN_F64) {
        LLVMValueRef bits = LLVMBuildLShr(b, low, bd_part_integer(emit, low, 8), "");
        LLVMValueRef value = LLVMBuildSIToFP(b, bits, f32, "");
        return LLVMBuildFMul(b, value, bd_part_float(emit, value, 0x1p-24), "");
    }
    LLVMTypeRef f64 = bd_part_like(like, emit->module->f64);
    low = LLVMBuildLShr(b, low, bd_part_integer(emit, low, 5), "");
    high = LLVMBuildLShr(b, high, bd_part_integer(emit, high, 6), "");
    LLVMValueRef value = LLVMBuildSIToFP(b, low, f64, "");
    value = LLVMBuildFMul(b, value, bd_part_float(emit, value, 0x1p26), "");
    value = LLVMBuildFAdd(b, value, LLVMBuildSIToFP(b, high, f64, ""), "");
    return LLVMBuildFMul(b, value, bd_part_float(emit, value, 0x1p-53), "");
}
