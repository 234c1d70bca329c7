/* SPDX-License-Identifier: Apache-2.0
 * Micro-kernels of few rows: some k of many columns, in the order of memory. */
#include <stdio.h>

#include "backends/cpu/gemm_writer.h"

bool bd_micro_streams(const bd_target *target, burn_dtype element)
{
    return target->vector_bytes < 64 && element != BURN_BF16;
}

int bd_micro_stream_depth(int rows)
{
    static const int depths[] = {0, BD_MICRO_STREAM_DEPTH, 4, 3, 2};
    return depths[rows]; /* so registers hold each element of a, in all lanes */
}

typedef struct stream {
    int rows, depth;
    LLVMValueRef c[BD_MICRO_THIN_ROWS], b[BD_MICRO_STREAM_DEPTH]; /* pointers to rows */
    LLVMValueRef a[BD_MICRO_THIN_ROWS][BD_MICRO_STREAM_DEPTH]; /* in all lanes */
} stream;

/* c[r, j] += the sum of a[r, k] * b[k, j], for the columns of a vector, or for a single one. */
static void add_products(const writer *w, const stream *s, LLVMTypeRef type, LLVMValueRef column)
{
    LLVMValueRef sums[BD_MICRO_THIN_ROWS], lane = LLVMConstInt(w->module->i32, 0, 0);
    for (int r = 0; r < s->rows; r++)
        sums[r] = load(w, type, at(w, s->c[r], column));
    for (int k = 0; k < s->depth; k++) {
        LLVMValueRef b = load(w, type, at(w, s->b[k], column));
        for (int r = 0; r < s->rows; r++) {
            LLVMValueRef a = s->a[r][k];
            if (type == w->scalar)
                a = LLVMBuildExtractElement(w->builder, a, lane, "");
            sums[r] = multiply_add(w, a, b, sums[r]);
        }
    }
    for (int r = 0; r < s->rows; r++)
        store(w, sums[r], at(w, s->c[r], column));
}

/* Columns from `first` on, as long as there are `step` of them; returns the next one. */
static LLVMValueRef add_columns(const writer *w, const stream *s, LLVMTypeRef type, int step,
                                LLVMValueRef first)
{
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(w->builder);
    LLVMBasicBlockRef head = block(w, "head"), body = block(w, "body"), after = block(w, "after");
    LLVMBuildBr(w->builder, head);
    go(w, head);
    LLVMValueRef column = LLVMBuildPhi(w->builder, w->module->i64, "");
    LLVMValueRef next = LLVMBuildAdd(w->builder, column, i64(w, step), "");
    LLVMBuildCondBr(w->builder, compare(w, LLVMIntSLE, next, parameter(w, 7)), body, after);
    go(w, body);
    add_products(w, s, type, column);
    LLVMBuildBr(w->builder, head);
    incoming(column, first, entry);
    incoming(column, next, body);
    go(w, after);
    return column;
}

static void write_stream(writer *w, int rows, int depth)
{
    char name[16];
    snprintf(name, sizeof name, "s%dx%d", rows, depth);
    bd_writer_begin(w, name, "piipipii");
    stream s = {.rows = rows, .depth = depth};
    LLVMValueRef a = parameter(w, 0), b = parameter(w, 3), c = parameter(w, 5);
    for (int k = 0; k < depth; k++) {
        s.b[k] = b;
        b = at(w, b, parameter(w, 4));
    }
    for (int r = 0; r < rows; r++) {
        LLVMValueRef element = a;
        for (int k = 0; k < depth; k++) {
            s.a[r][k] = splat(w, load(w, w->scalar, element));
            element = at(w, element, parameter(w, 2));
        }
        s.c[r] = c;
        a = moved(w, a, parameter(w, 1));
        c = at(w, c, parameter(w, 6));
    }
    LLVMValueRef rest = add_columns(w, &s, w->vector, (int)w->lanes, i64(w, 0));
    add_columns(w, &s, w->scalar, 1, rest);
    LLVMBuildRetVoid(w->builder);
}

void bd_streams_write(writer *w)
{
    for (int rows = 1; rows <= BD_MICRO_THIN_ROWS; rows++) {
        write_stream(w, rows, 1);
        write_stream(w, rows, bd_micro_stream_depth(rows));
    }
}
