/* SPDX-License-Identifier: Apache-2.0
 * Philox4x32-10, a counter-based generator: the same bits on every backend.
 * Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011). */
#include <string.h>

#include "backends/cpu/emit_parts.h"

/* Words of 32 bits are held in the low halves of 64 bits, whatever the high ones are: that is how
 * processors multiply them. */
static LLVMValueRef low_word(bd_emit *emit, LLVMValueRef wide)
{
    return LLVMBuildTrunc(emit->builder, wide, bd_part_like(wide, emit->module->i32), "");
}

static LLVMValueRef high_half(bd_emit *emit, LLVMValueRef wide)
{
    return LLVMBuildLShr(emit->builder, wide, bd_part_integer(emit, wide, 32), "");
}

static LLVMValueRef multiply(bd_emit *emit, LLVMValueRef word, uint32_t factor)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef low = LLVMBuildAnd(b, word, bd_part_integer(emit, word, UINT32_MAX), "");
    return LLVMBuildMul(b, low, bd_part_integer(emit, low, factor), "");
}

static void one_round(bd_emit *emit, LLVMValueRef words[4], LLVMValueRef keys[2])
{
    static const uint32_t steps[2] = {0x9E3779B9u, 0xBB67AE85u};
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef first = multiply(emit, words[0], 0xD2511F53u);
    LLVMValueRef second = multiply(emit, words[2], 0xCD9E8D57u);
    LLVMValueRef a = LLVMBuildXor(b, high_half(emit, second), words[1], "");
    LLVMValueRef c = LLVMBuildXor(b, high_half(emit, first), words[3], "");
    words[0] = LLVMBuildXor(b, a, keys[0], "");
    words[1] = second;
    words[2] = LLVMBuildXor(b, c, keys[1], "");
    words[3] = first;
    for (int i = 0; i < 2; i++)
        keys[i] = LLVMBuildAdd(b, keys[i], bd_part_integer(emit, keys[i], steps[i]), "");
}

/* Ten of them: a loop of two, which is a fifth of the code. */
static void rounds(bd_emit *emit, LLVMValueRef words[4], LLVMValueRef keys[2])
{
    bd_emit_frame frame;
    bd_emit_for(emit, &frame, bd_emit_i64(emit, 0), bd_emit_i64(emit, 10), bd_emit_i64(emit, 2));
    for (int i = 0; i < 4; i++)
        words[i] = bd_emit_carry(emit, &frame, words[i]);
    for (int i = 0; i < 2; i++)
        keys[i] = bd_emit_carry(emit, &frame, keys[i]);
    one_round(emit, words, keys);
    one_round(emit, words, keys);
    for (unsigned i = 0; i < 4; i++)
        bd_emit_carried(&frame, i, words[i]);
    for (unsigned i = 0; i < 2; i++)
        bd_emit_carried(&frame, 4 + i, keys[i]);
    bd_emit_for_end(emit, &frame);
    for (int i = 0; i < 4; i++)
        words[i] = frame.phis[i];
}

/* The words for position, seed and offset. Several of one position, as of a normal number, are made
 * once. */
static void find_words(bd_emit *emit, const LLVMValueRef inputs[3], LLVMValueRef like,
                       LLVMValueRef words[4])
{
    struct bd_emit_random *last = &emit->random;
    if (last->block != LLVMGetInsertBlock(emit->builder) ||
        memcmp(last->inputs, inputs, sizeof last->inputs) != 0) {
        LLVMValueRef position = bd_part_match(emit, inputs[0], like);
        LLVMValueRef seed = bd_part_match(emit, inputs[1], like);
        LLVMValueRef offset = bd_part_match(emit, inputs[2], like);
        LLVMValueRef keys[2] = {seed, high_half(emit, seed)};
        last->words[0] = position;
        last->words[1] = high_half(emit, position);
        last->words[2] = offset;
        last->words[3] = high_half(emit, offset);
        rounds(emit, last->words, keys);
        memcpy(last->inputs, inputs, sizeof last->inputs);
        last->block = LLVMGetInsertBlock(emit->builder);
    }
    memcpy(words, last->words, sizeof last->words);
}

LLVMValueRef bd_part_random(bd_emit *emit, const bd_kir_instr *instr)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef inputs[3], words[4], like = NULL;
    for (int i = 0; i < 3; i++) {
        inputs[i] = emit->values[instr->operands[i]];
        if (!like || bd_part_is_vector(inputs[i]))
            like = inputs[i];
    }
    find_words(emit, inputs, like, words);
    LLVMValueRef low = words[2 * (instr->index & 1)], high = words[2 * (instr->index & 1) + 1];
    LLVMTypeRef f32 = bd_part_like(like, emit->module->f32);
    if (instr->code == BD_KIR_RANDOM_BITS) {
        LLVMValueRef top = LLVMBuildShl(b, high, bd_part_integer(emit, high, 32), "");
        low = LLVMBuildAnd(b, low, bd_part_integer(emit, low, UINT32_MAX), "");
        return LLVMBuildOr(b, top, low, "");
    }
    low = low_word(emit, low);
    if (instr->dtype != BURN_F64) {
        LLVMValueRef bits = LLVMBuildLShr(b, low, bd_part_integer(emit, low, 8), "");
        LLVMValueRef value = LLVMBuildSIToFP(b, bits, f32, "");
        return LLVMBuildFMul(b, value, bd_part_float(emit, value, 0x1p-24), "");
    }
    LLVMTypeRef f64 = bd_part_like(like, emit->module->f64);
    low = LLVMBuildLShr(b, low, bd_part_integer(emit, low, 5), "");
    high = low_word(emit, high);
    high = LLVMBuildLShr(b, high, bd_part_integer(emit, high, 6), "");
    LLVMValueRef value = LLVMBuildSIToFP(b, low, f64, "");
    value = LLVMBuildFMul(b, value, bd_part_float(emit, value, 0x1p26), "");
    value = LLVMBuildFAdd(b, value, LLVMBuildSIToFP(b, high, f64, ""), "");
    return LLVMBuildFMul(b, value, bd_part_float(emit, value, 0x1p-53), "");
}
