/* SPDX-License-Identifier: Apache-2.0
 * Micro-kernels of bf16 with AMX: up to 32 rows by 32 columns of sums in four tile registers, two
 * for rows and two for columns. A step takes 16 pairs: a row tile is 16 rows of 64 bytes, as rows
 * lie along K; a column tile 16 pairs of 16 columns. */
#include <stdio.h>

#include "backends/cpu/gemm_writer.h"

enum { ROW_TILE = 4, COLUMN_TILE = 6, TILE_BYTES = 64 };

const uint8_t bd_amx_tiles[64] = {
    [0] = 1,                       /* the palette, */
    [16] = 64, [18] = 64, [20] = 64, [22] = 64, [24] = 64, [26] = 64, [28] = 64, [30] = 64,
    [48] = 16, 16, 16, 16, 16, 16, 16, 16, /* bytes of a row, and rows, of each tile */
};

static void call(const writer *w, const char *name, LLVMValueRef *arguments, unsigned count)
{
    bd_module_intrinsic(w->module, w->builder, name, NULL, 0, arguments, count);
}

static LLVMValueRef number(const writer *w, int tile)
{
    return LLVMConstInt(w->module->i8, (unsigned long long)tile, 0);
}

static void load_tile(const writer *w, int tile, LLVMValueRef from, LLVMValueRef row_bytes)
{
    LLVMValueRef arguments[] = {number(w, tile), from, row_bytes};
    call(w, "llvm.x86.tileloadd64", arguments, 3);
}

/* Loads or stores the sums; tile r * 2 + v holds those of 16 rows and one vector. */
static void move_sums(const writer *w, const char *how, int rows, int vectors)
{
    LLVMValueRef row_bytes = LLVMBuildMul(w->builder, parameter(w, 6), i64(w, 4), "");
    LLVMValueRef down = LLVMBuildMul(w->builder, row_bytes, i64(w, BD_MICRO_AMX_ROWS), "");
    LLVMValueRef row = parameter(w, 5);
    for (int r = 0; r < rows; r++) {
        for (int v = 0; v < vectors; v++) {
            LLVMValueRef place = moved(w, row, i64(w, v * TILE_BYTES));
            LLVMValueRef arguments[] = {number(w, r * 2 + v), place, row_bytes};
            call(w, how, arguments, 3);
        }
        row = moved(w, row, down);
    }
}

static void step_tiles(const writer *w, LLVMValueRef a, LLVMValueRef b, LLVMValueRef down, int rows,
                       int vectors)
{
    LLVMValueRef b_bytes = LLVMBuildMul(w->builder, parameter(w, w->tabled ? 2 : 4), i64(w, 4), "");
    for (int v = 0; v < vectors; v++)
        load_tile(w, COLUMN_TILE + v, moved(w, b, i64(w, v * TILE_BYTES)), b_bytes);
    for (int r = 0; r < rows; r++) {
        load_tile(w, ROW_TILE + r, a, parameter(w, 1));
        for (int v = 0; v < vectors; v++) {
            LLVMValueRef arguments[] = {number(w, r * 2 + v), number(w, ROW_TILE + r),
                                        number(w, COLUMN_TILE + v)};
            call(w, "llvm.x86.tdpbf16ps", arguments, 3);
        }
        a = moved(w, a, down);
    }
}

/* bd_micro_tile */
static void write_tile(writer *w, int rows, int vectors)
{
    char name[32];
    snprintf(name, sizeof name, "%c%dx%d", w->tabled ? 'w' : 'm', rows, vectors);
    bd_writer_begin(w, name, w->tabled ? "piipppiii" : "piipipiii");
    LLVMBuilderRef b = w->builder;
    LLVMBasicBlockRef held = block(w, "held"), fresh = block(w, "fresh"), start = block(w, "start");
    LLVMBasicBlockRef body = block(w, "body"), after = block(w, "after");
    LLVMValueRef down = LLVMBuildMul(b, parameter(w, 1), i64(w, BD_MICRO_AMX_ROWS), "");
    LLVMValueRef across = i64(w, 2 * sizeof(int32_t));
    if (!w->tabled)
        across = LLVMBuildMul(b, parameter(w, 4), i64(w, BD_MICRO_PAIRS * 4), "");
    LLVMBuildCondBr(b, compare(w, LLVMIntEQ, parameter(w, 8), i64(w, 0)), fresh, held);
    go(w, held);
    move_sums(w, "llvm.x86.tileloadd64", rows, vectors);
    LLVMBuildBr(b, start);
    go(w, fresh);
    for (int r = 0; r < rows; r++)
        for (int v = 0; v < vectors; v++)
            call(w, "llvm.x86.tilezero", (LLVMValueRef[]){number(w, r * 2 + v)}, 1);
    LLVMBuildBr(b, start);
    go(w, start);
    LLVMBuildCondBr(b, compare(w, LLVMIntSGT, parameter(w, 7), i64(w, 0)), body, after);
    go(w, body);
    LLVMValueRef left = LLVMBuildPhi(b, w->module->i64, "");
    LLVMValueRef a = LLVMBuildPhi(b, w->module->pointer, "");
    LLVMValueRef columns = LLVMBuildPhi(b, w->module->pointer, ""); /* or a row of the table */
    LLVMValueRef places[] = {a, columns};
    if (w->tabled)
        for (int i = 0; i < 2; i++)
            places[i] = at(w, parameter(w, (unsigned)i * 3), bd_writer_offset(w, columns, i));
    step_tiles(w, places[0], places[1], down, rows, vectors);
    LLVMValueRef less = LLVMBuildSub(b, left, i64(w, BD_MICRO_PAIRS), "");
    incoming(left, parameter(w, 7), start);
    incoming(left, less, body);
    incoming(a, parameter(w, 0), start);
    incoming(a, moved(w, a, i64(w, TILE_BYTES)), body);
    incoming(columns, parameter(w, w->tabled ? 4 : 3), start);
    incoming(columns, moved(w, columns, across), body);
    LLVMBuildCondBr(b, compare(w, LLVMIntSGT, less, i64(w, 0)), body, after);
    go(w, after);
    move_sums(w, "llvm.x86.tilestored64", rows, vectors);
    LLVMBuildRetVoid(b);
}

void bd_amx_write(writer *w)
{
    for (int rows = 1; rows <= 2; rows++)
        for (int vectors = 1; vectors <= 2; vectors++)
            write_tile(w, rows, vectors);
    if (w->tabled)
        return;
    bd_writer_begin(w, "b", "p");
    call(w, "llvm.x86.ldtilecfg", (LLVMValueRef[]){parameter(w, 0)}, 1);
    LLVMBuildRetVoid(w->builder);
    bd_writer_begin(w, "e", "");
    call(w, "llvm.x86.tilerelease", NULL, 0);
    LLVMBuildRetVoid(w->builder);
}
