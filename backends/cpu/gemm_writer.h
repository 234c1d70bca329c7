/* SPDX-License-Identifier: Apache-2.0
 * What the writers of micro-kernels share. */
#pragma once

#include "backends/cpu/gemm_micro.h"

/* One function being written. */
typedef struct writer {
    bd_module *module;
    LLVMBuilderRef builder;
    LLVMValueRef function;
    LLVMTypeRef scalar, vector;
    unsigned lanes, scalar_bytes;
    bool tabled;
    bool pairs; /* elements are pairs of bf16; as types they are f32 */
} writer;

/* A function; parameters: one letter each, p = pointer, i = i64; pointers do not alias. */
void bd_writer_begin(writer *w, const char *name, const char *parameters);
/* An offset of a row of the table, in elements. */
LLVMValueRef bd_writer_offset(const writer *w, LLVMValueRef pair, int number);
/* The tiles of BF16 with AMX, and, but for tabled ones, what sets them up (gemm_amx.c). */
void bd_amx_write(writer *w);
/* The streams (gemm_micro_stream.c). */
void bd_streams_write(writer *w);
/* What joins pairs, and the tiles of few rows (gemm_micro_pairs.c). */
void bd_pairs_write(writer *w);

static inline LLVMValueRef i64(const writer *w, int64_t value)
{
    return LLVMConstInt(w->module->i64, (unsigned long long)value, 1);
}

static inline LLVMValueRef parameter(const writer *w, unsigned number)
{
    return LLVMGetParam(w->function, number);
}

/* base + index elements */
static inline LLVMValueRef at(const writer *w, LLVMValueRef base, LLVMValueRef index)
{
    return LLVMBuildGEP2(w->builder, w->scalar, base, &index, 1, "");
}

static inline LLVMValueRef moved(const writer *w, LLVMValueRef pointer, LLVMValueRef bytes)
{
    return LLVMBuildGEP2(w->builder, w->module->i8, pointer, &bytes, 1, "");
}

static inline LLVMValueRef load(const writer *w, LLVMTypeRef type, LLVMValueRef pointer)
{
    LLVMValueRef value = LLVMBuildLoad2(w->builder, type, pointer, "");
    LLVMSetAlignment(value, w->scalar_bytes);
    return value;
}

static inline void store(const writer *w, LLVMValueRef value, LLVMValueRef pointer)
{
    LLVMSetAlignment(LLVMBuildStore(w->builder, value, pointer), w->scalar_bytes);
}

static inline LLVMBasicBlockRef block(const writer *w, const char *name)
{
    return LLVMAppendBasicBlockInContext(w->module->context, w->function, name);
}

static inline void go(const writer *w, LLVMBasicBlockRef to)
{
    LLVMPositionBuilderAtEnd(w->builder, to);
}

static inline void incoming(LLVMValueRef phi, LLVMValueRef value, LLVMBasicBlockRef from)
{
    LLVMAddIncoming(phi, &value, &from, 1);
}

static inline LLVMValueRef compare(const writer *w, LLVMIntPredicate how, LLVMValueRef a,
                                   LLVMValueRef b)
{
    return LLVMBuildICmp(w->builder, how, a, b, "");
}

static inline LLVMValueRef multiply_add(const writer *w, LLVMValueRef a, LLVMValueRef b,
                                        LLVMValueRef c)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    if (w->pairs) {
        LLVMTypeRef pairs = LLVMVectorType(LLVMBFloatTypeInContext(w->module->context),
                                           2 * LLVMGetVectorSize(type));
        LLVMValueRef arguments[] = {c, LLVMBuildBitCast(w->builder, a, pairs, ""),
                                    LLVMBuildBitCast(w->builder, b, pairs, "")};
        return bd_module_intrinsic(w->module, w->builder, "llvm.x86.avx512bf16.dpbf16ps.512", NULL,
                                   0, arguments, 3);
    }
    LLVMValueRef arguments[] = {a, b, c};
    return bd_module_intrinsic(w->module, w->builder, "llvm.fmuladd", &type, 1, arguments, 3);
}

static inline LLVMValueRef splat(const writer *w, LLVMValueRef scalar)
{
    LLVMValueRef lane = LLVMConstInt(w->module->i32, 0, 0);
    LLVMValueRef one =
        LLVMBuildInsertElement(w->builder, LLVMGetPoison(w->vector), scalar, lane, "");
    LLVMValueRef zeros = LLVMConstNull(LLVMVectorType(w->module->i32, w->lanes));
    return LLVMBuildShuffleVector(w->builder, one, LLVMGetPoison(w->vector), zeros, "");
}
