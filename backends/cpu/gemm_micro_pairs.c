/* SPDX-License-Identifier: Apache-2.0
 * Micro-kernels of bf16 on columns that lie across K as single numbers: one joins them to pairs,
 * the others multiply a few rows by what they join in registers. */
#include <stdio.h>

#include "backends/cpu/gemm_writer.h"

static LLVMValueRef splat_word(const writer *w, uint32_t word)
{
    LLVMValueRef words[64];
    for (unsigned i = 0; i < w->lanes; i++)
        words[i] = LLVMConstInt(w->module->i32, word, 0);
    return LLVMConstVector(words, w->lanes);
}

/* Lanes below `count`, of so many. */
static LLVMValueRef first_lanes(const writer *w, unsigned of, LLVMValueRef count)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(w->module->context, of);
    LLVMValueRef lanes = i64(w, of);
    LLVMValueRef full = compare(w, LLVMIntSGE, count, lanes);
    LLVMValueRef shift = LLVMBuildTrunc(w->builder, count, bits, "");
    LLVMValueRef one = LLVMConstInt(bits, 1, 0);
    LLVMValueRef some = LLVMBuildSub(w->builder, LLVMBuildShl(w->builder, one, shift, ""), one, "");
    LLVMValueRef mask = LLVMBuildSelect(w->builder, full, LLVMConstAllOnes(bits), some, "");
    return LLVMBuildBitCast(w->builder, mask, LLVMVectorType(w->module->i1, of), "");
}

/* Numbers 1 or 2 apart, `count` of them, in words. Reads nothing behind the last one. */
static LLVMValueRef load_numbers(const writer *w, LLVMValueRef pointer, LLVMValueRef count,
                                 unsigned apart)
{
    unsigned lanes = apart * w->lanes;
    LLVMTypeRef halves = LLVMVectorType(w->module->i16, lanes);
    LLVMTypeRef words = LLVMVectorType(w->module->i32, w->lanes);
    LLVMTypeRef types[] = {halves, w->module->pointer};
    if (apart == 2)
        count = LLVMBuildSub(w->builder, LLVMBuildMul(w->builder, count, i64(w, 2), ""), i64(w, 1),
                             "");
    LLVMValueRef arguments[] = {pointer, LLVMConstInt(w->module->i32, 2, 0),
                                first_lanes(w, lanes, count), LLVMConstNull(halves)};
    LLVMValueRef loaded =
        bd_module_intrinsic(w->module, w->builder, "llvm.masked.load", types, 2, arguments, 4);
    if (apart == 1)
        return LLVMBuildZExt(w->builder, loaded, words, "");
    return LLVMBuildAnd(w->builder, LLVMBuildBitCast(w->builder, loaded, words, ""),
                        splat_word(w, 0xffff), "");
}

static void store_masked(const writer *w, LLVMValueRef value, LLVMValueRef pointer,
                         LLVMValueRef mask)
{
    LLVMTypeRef types[] = {LLVMTypeOf(value), w->module->pointer};
    LLVMValueRef arguments[] = {value, pointer, LLVMConstInt(w->module->i32, 4, 0), mask};
    bd_module_intrinsic(w->module, w->builder, "llvm.masked.store", types, 2, arguments, 4);
}

/* bd_micro_pair; exact: nothing is stored behind the last column. */
static void write_pair(writer *w, const char *name, unsigned apart, bool exact)
{
    bd_writer_begin(w, name, "ppipiii");
    LLVMBuilderRef b = w->builder;
    LLVMTypeRef i8 = w->module->i8, i16 = w->module->i16, word = w->module->i64;
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(b), outer = block(w, "outer");
    LLVMBasicBlockRef body = block(w, "body"), latch = block(w, "latch"), exit = block(w, "exit");
    LLVMBuildCondBr(b, compare(w, LLVMIntSGT, parameter(w, 6), i64(w, 0)), outer, exit);
    go(w, outer);
    LLVMValueRef pair = LLVMBuildPhi(b, word, "");
    LLVMValueRef skipped = LLVMBuildMul(b, pair, parameter(w, 2), "");
    LLVMValueRef even = LLVMBuildGEP2(b, i8, parameter(w, 0), &skipped, 1, "");
    LLVMValueRef odd = LLVMBuildGEP2(b, i8, parameter(w, 1), &skipped, 1, "");
    LLVMValueRef to = at(w, parameter(w, 3), LLVMBuildMul(b, pair, parameter(w, 4), ""));
    LLVMBuildBr(b, body);
    go(w, body);
    LLVMValueRef column = LLVMBuildPhi(b, word, "");
    LLVMValueRef count = LLVMBuildSub(b, parameter(w, 5), column, "");
    LLVMValueRef place = LLVMBuildMul(b, column, i64(w, apart), "");
    LLVMValueRef low =
        load_numbers(w, LLVMBuildGEP2(b, i16, even, &place, 1, ""), count, apart);
    LLVMValueRef high = load_numbers(w, LLVMBuildGEP2(b, i16, odd, &place, 1, ""), count, apart);
    high = LLVMBuildShl(b, high, splat_word(w, 16), "");
    LLVMValueRef joined = LLVMBuildOr(b, low, high, "");
    if (exact)
        store_masked(w, joined, at(w, to, column), first_lanes(w, w->lanes, count));
    else
        store(w, joined, at(w, to, column));
    LLVMValueRef next = LLVMBuildAdd(b, column, i64(w, w->lanes), "");
    LLVMBuildCondBr(b, compare(w, LLVMIntSLT, next, parameter(w, 5)), body, latch);
    go(w, latch);
    LLVMValueRef after = LLVMBuildAdd(b, pair, i64(w, 1), "");
    LLVMBuildCondBr(b, compare(w, LLVMIntSLT, after, parameter(w, 6)), outer, exit);
    incoming(pair, i64(w, 0), entry);
    incoming(pair, after, latch);
    incoming(column, i64(w, 0), outer);
    incoming(column, next, body);
    go(w, exit);
    LLVMBuildRetVoid(b);
}

/* ---- few rows ---- */

enum { HALVES = BD_MICRO_THIN_VECTORS / 2, CELLS = BD_MICRO_THIN_ROWS * BD_MICRO_THIN_VECTORS };

/* Lanes of two vectors in quarters: of each pair of quarters the lower or upper four. */
static LLVMValueRef quarters(const writer *w, LLVMValueRef a, LLVMValueRef b, const unsigned *from,
                             unsigned size)
{
    LLVMValueRef lanes[64];
    unsigned count = LLVMGetVectorSize(LLVMTypeOf(a));
    for (unsigned i = 0; i < count; i++)
        lanes[i] = LLVMConstInt(w->module->i32, from[i / size] * size + i % size, 0);
    return LLVMBuildShuffleVector(w->builder, a, b, LLVMConstVector(lanes, count), "");
}

/* Two rows of 32 numbers as two vectors of pairs, in the order that is cheapest: within each 128
 * bits. Numbers 8 i .. 8 i + 3 are in the first, the other four in the second vector. */
static void join_rows(const writer *w, LLVMValueRef even, LLVMValueRef odd, LLVMValueRef *out)
{
    for (unsigned upper = 0; upper < 2; upper++) {
        LLVMValueRef lanes[32];
        for (unsigned i = 0; i < 32; i++) {
            unsigned number = i / 8 * 8 + upper * 4 + i % 8 / 2;
            lanes[i] = LLVMConstInt(w->module->i32, i % 2 * 32 + number, 0);
        }
        LLVMValueRef joined =
            LLVMBuildShuffleVector(w->builder, even, odd, LLVMConstVector(lanes, 32), "");
        out[upper] = LLVMBuildBitCast(w->builder, joined, w->vector, "");
    }
}

static LLVMValueRef load_halves(const writer *w, LLVMTypeRef type, LLVMValueRef pointer)
{
    LLVMValueRef value = LLVMBuildLoad2(w->builder, type, pointer, "");
    LLVMSetAlignment(value, 2);
    return value;
}

static void step_thin(const writer *w, LLVMValueRef a, LLVMValueRef b, const LLVMValueRef *sums,
                      LLVMValueRef *out, int rows)
{
    LLVMTypeRef singles = LLVMVectorType(w->module->i16, 32);
    LLVMValueRef columns[BD_MICRO_THIN_VECTORS];
    for (int half = 0; half < HALVES; half++) {
        LLVMValueRef even = at(w, b, i64(w, half * (int)w->lanes));
        LLVMValueRef odd = moved(w, even, parameter(w, 4));
        join_rows(w, load_halves(w, singles, even), load_halves(w, singles, odd),
                  columns + 2 * half);
    }
    for (int r = 0; r < rows; r++) {
        LLVMValueRef row = moved(w, a, LLVMBuildMul(w->builder, parameter(w, 1), i64(w, r), ""));
        LLVMValueRef pair = splat(w, load(w, w->scalar, row));
        for (int v = 0; v < BD_MICRO_THIN_VECTORS; v++) {
            int i = r * BD_MICRO_THIN_VECTORS + v;
            out[i] = multiply_add(w, pair, columns[v], sums[i]);
        }
    }
}

/* Adds the sums to c, or stores them, with the columns in order again. */
static void store_thin(const writer *w, LLVMValueRef *sums, int rows)
{
    static const unsigned orders[2][4] = {{0, 4, 1, 5}, {2, 6, 3, 7}};
    LLVMBuilderRef b = w->builder;
    LLVMValueRef fresh = compare(w, LLVMIntEQ, parameter(w, 8), i64(w, 0)), row = parameter(w, 5);
    for (int r = 0; r < rows; r++) {
        for (int v = 0; v < BD_MICRO_THIN_VECTORS; v++) {
            const LLVMValueRef *two = sums + r * BD_MICRO_THIN_VECTORS + v / 2 * 2;
            LLVMValueRef place = at(w, row, i64(w, v * (int)w->lanes));
            LLVMValueRef sum = quarters(w, two[0], two[1], orders[v % 2], 4);
            LLVMValueRef old = LLVMBuildSelect(b, fresh, LLVMConstNull(w->vector),
                                               load(w, w->vector, place), "");
            store(w, LLVMBuildFAdd(b, old, sum, ""), place);
        }
        row = at(w, row, parameter(w, 6));
    }
    LLVMBuildRetVoid(b);
}

static void write_thin(writer *w, int rows)
{
    char name[16];
    snprintf(name, sizeof name, "n%dx%d", rows, BD_MICRO_THIN_VECTORS);
    bd_writer_begin(w, name, "piipipiii");
    LLVMBuilderRef b = w->builder;
    LLVMValueRef sums[CELLS], next[CELLS];
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(b);
    LLVMBasicBlockRef head = block(w, "head"), body = block(w, "body"), after = block(w, "after");
    LLVMBuildBr(b, head);
    go(w, head);
    LLVMValueRef left = LLVMBuildPhi(b, w->module->i64, "");
    LLVMValueRef a = LLVMBuildPhi(b, w->module->pointer, "");
    LLVMValueRef columns = LLVMBuildPhi(b, w->module->pointer, "");
    int cells = rows * BD_MICRO_THIN_VECTORS;
    for (int i = 0; i < cells; i++)
        sums[i] = LLVMBuildPhi(b, w->vector, "");
    LLVMBuildCondBr(b, compare(w, LLVMIntSGT, left, i64(w, 0)), body, after);
    go(w, body);
    step_thin(w, a, columns, sums, next, rows);
    LLVMValueRef two_rows = LLVMBuildMul(b, parameter(w, 4), i64(w, 2), "");
    incoming(left, parameter(w, 7), entry);
    incoming(left, LLVMBuildSub(b, left, i64(w, 1), ""), body);
    incoming(a, parameter(w, 0), entry);
    incoming(a, at(w, a, i64(w, 1)), body);
    incoming(columns, parameter(w, 3), entry);
    incoming(columns, moved(w, columns, two_rows), body);
    for (int i = 0; i < cells; i++) {
        incoming(sums[i], LLVMConstNull(w->vector), entry);
        incoming(sums[i], next[i], body);
    }
    LLVMBuildBr(b, head);
    go(w, after);
    store_thin(w, sums, rows);
}

void bd_pairs_write(writer *w)
{
    write_pair(w, "p", 1, false);
    write_pair(w, "q", 1, true);
    write_pair(w, "r", 2, true);
    for (int rows = 1; rows <= BD_MICRO_THIN_ROWS; rows++)
        write_thin(w, rows);
}
