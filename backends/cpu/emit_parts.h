/* SPDX-License-Identifier: Apache-2.0
 * What the emitter's own files share: classes of instructions, memory access, conversion, math.
 * Same rules as emit.h. */
#pragma once

#include "backends/cpu/emit.h"

static inline bool bd_part_has_access(int code)
{
    return code == BD_KIR_LOAD || code == BD_KIR_LOAD_AT || code == BD_KIR_STORE ||
           code == BD_KIR_STORE_AT;
}
static inline bool bd_part_is_effect(int code)
{
    return code == BD_KIR_STORE || code == BD_KIR_STORE_AT || code == BD_KIR_SAVE ||
           code == BD_KIR_YIELD || code == BD_KIR_SORT;
}

LLVMBasicBlockRef bd_part_block(bd_emit *emit);
LLVMValueRef bd_part_offset(bd_emit *emit, LLVMValueRef base, LLVMTypeRef type, LLVMValueRef index);
void bd_part_mark_invariant(bd_emit *emit, LLVMValueRef load);
LLVMValueRef bd_part_add_scaled(bd_emit *emit, LLVMValueRef sum, bd_kir_int stride,
                                LLVMValueRef position);
/* The address without the terms of these axes. */
LLVMValueRef bd_part_address_without(bd_emit *emit, int access, unsigned without);
bool bd_part_is_vector(LLVMValueRef value);
/* A float or integer constant of the same shape as `like` (vector or scalar). */
LLVMValueRef bd_part_float(bd_emit *emit, LLVMValueRef like, double value);
LLVMValueRef bd_part_integer(bd_emit *emit, LLVMValueRef like, int64_t value);
/* Type with the shape of `like` and this element type. */
LLVMTypeRef bd_part_like(LLVMValueRef like, LLVMTypeRef element);
/* Splats it if `like` is a vector and it is none. */
LLVMValueRef bd_part_match(bd_emit *emit, LLVMValueRef value, LLVMValueRef like);
/* `count` lanes from `first` on; one lane is a scalar. */
LLVMValueRef bd_part_lanes(bd_emit *emit, LLVMValueRef vector, unsigned first, unsigned count);
/* Two vectors of one type, one behind the other. */
LLVMValueRef bd_part_joined(bd_emit *emit, LLVMValueRef low, LLVMValueRef high);
/* An intrinsic overloaded on one type: "llvm.sqrt"; overload NULL: on none. */
LLVMValueRef bd_part_intrinsic(bd_emit *emit, const char *name, LLVMTypeRef overload,
                               LLVMValueRef *arguments, unsigned count);

/* emit_guard.c */
/* i1, or <lanes x i1> if it varies; NULL if it is known to hold. */
LLVMValueRef bd_part_guard(bd_emit *emit, int guard);
LLVMValueRef bd_part_own_guard(bd_emit *emit, int guard); /* without what must hold too */
/* The lanes that exist and for which the guard (NULL: all) with this number holds. */
LLVMValueRef bd_part_wanted(bd_emit *emit, LLVMValueRef guard, int number);
/* Both masks, of which each may be a scalar, or NULL: all. */
LLVMValueRef bd_part_both(bd_emit *emit, LLVMValueRef a, LLVMValueRef b);

/* emit_memory.c */
LLVMValueRef bd_part_load(bd_emit *emit, const bd_kir_instr *instr);
void bd_part_store(bd_emit *emit, const bd_kir_instr *instr);
void bd_part_store_at(bd_emit *emit, const bd_kir_instr *instr);
LLVMValueRef bd_part_check(bd_emit *emit, const bd_kir_instr *instr);
/* Asks for the lines of `bytes` that begin `distance` elements behind a place. */
void bd_part_prefetch(bd_emit *emit, LLVMValueRef place, burn_dtype dtype, LLVMValueRef distance,
                      size_t bytes);
/* Loads and stores of lanes that lie side by side. */
LLVMValueRef bd_part_load_lanes(bd_emit *emit, LLVMValueRef place, burn_dtype dtype,
                                LLVMValueRef mask);
void bd_part_store_lanes(bd_emit *emit, LLVMValueRef place, LLVMValueRef value, burn_dtype dtype,
                         LLVMValueRef mask);

/* emit_arith.c: unary, binary and ternary instructions; operands of one shape. */
LLVMValueRef bd_part_unary(bd_emit *emit, int code, burn_dtype dtype, LLVMValueRef a);
LLVMValueRef bd_part_binary(bd_emit *emit, int code, burn_dtype dtype, LLVMValueRef a,
                            LLVMValueRef b);
/* The nearest value of the dtype, which is computed in a wider one. */
LLVMValueRef bd_part_round(bd_emit *emit, LLVMValueRef value, burn_dtype dtype);
LLVMValueRef bd_part_cast(bd_emit *emit, LLVMValueRef value, burn_dtype from, burn_dtype to);
LLVMValueRef bd_part_fma(bd_emit *emit, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c);
LLVMValueRef bd_part_isnan(bd_emit *emit, LLVMValueRef value);

/* emit_random.c */
LLVMValueRef bd_part_random(bd_emit *emit, const bd_kir_instr *instr);

/* math.c: NULL if there is no form in code for this dtype and target. */
LLVMValueRef bd_part_math(bd_emit *emit, int code, burn_dtype dtype, LLVMValueRef a);
/* A vector by a scalar; NULL if plain division is as good. */
LLVMValueRef bd_part_divide_by(bd_emit *emit, burn_dtype dtype, LLVMValueRef x,
                               LLVMValueRef divisor);
LLVMValueRef bd_part_pow(bd_emit *emit, burn_dtype dtype, LLVMValueRef x, LLVMValueRef y);
/* Through a table of C functions over f64 or i64 arrays. */
LLVMValueRef bd_part_math_call(bd_emit *emit, int function, LLVMValueRef a, LLVMValueRef b);

/* scan.c */
void bd_part_scan(bd_emit *emit, int instr);

/* loop_reduce.c */
/* The innermost SERIAL axis of an EACH phase of columns; else -1. */
int bd_loop_column_axis(const struct bd_emit_loop *loop);
/* Whether the loop at hand is the first to read its row or tile. */
bool bd_loop_is_cold(const struct bd_emit_loop *loop);
/* Whether the rows have one EACH phase only, as those of pools: where they lie matters then. */
bool bd_loop_is_light(const struct bd_emit_loop *loop);
/* Whether a store may bypass the cache. */
bool bd_loop_may_stream(const bd_emit *emit, const bd_kir_instr *instr);
void bd_part_reduce(bd_emit *emit, int instr);
void bd_part_sort(bd_emit *emit, const bd_kir_instr *instr);
void bd_part_save(bd_emit *emit, const bd_kir_instr *instr);
LLVMValueRef bd_part_restore(bd_emit *emit, const bd_kir_instr *instr);
