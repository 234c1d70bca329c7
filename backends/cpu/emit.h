/* SPDX-License-Identifier: Apache-2.0
 * Kernel IR to LLVM IR: straight-line phases over one vector axis.
 * A bd_emit is the state of one function while it is written; one thread. Each KIR value is either
 * uniform (one LLVM scalar) or varying (a vector of `lanes` elements along vector_axis; with one
 * lane a plain scalar too). f16 and bf16 values live as f32, bool as i1, all others as themselves.
 *
 * Use by a family (loop.c, the GEMM):
 *     bd_emit *e = bd_emit_create(module, program, "k0");   function void k0(call, begin, end)
 *     bd_emit_lanes(e, axis, lanes); e->positions[...] = ...; e->mask = NULL or <lanes x i1>;
 *     bd_emit_phase(e, &program->phases[i]);
 *     bd_emit_finish(e);                                     ret void, frees the state
 * The builder may stand in another basic block after a phase than before. */
#pragma once

#include "backends/cpu/jit.h"
#include "backends/cpu/kernel.h"

typedef struct bd_emit {
    bd_module *module;
    const bd_kir *program;
    LLVMBuilderRef builder;
    LLVMValueRef function, call; /* call: const bd_call * */
    LLVMBasicBlockRef entry;     /* allocas go here */
    LLVMValueRef begin, end;     /* the pass's items, i64 */
    unsigned lanes;
    int vector_axis; /* lanes walk this axis; -1: nothing varies */
    /* i64 scalar position of each axis; of lane 0 for the vector axis. */
    LLVMValueRef positions[BD_KIR_AXES_MAX];
    LLVMValueRef mask;    /* <lanes x i1>: lanes that exist; NULL = all. Never with 1 lane. */
    LLVMValueRef active;  /* i64 count of the lanes that exist; NULL with mask NULL */
    LLVMValueRef acc;     /* what ACC reads: vector of the accumulation type (f32 for f16/bf16) */
    LLVMValueRef yielded; /* what the last YIELD gave: scalar if uniform, else a vector */
    bool yielded_varies;
    bool streamed; /* stores that bypass the cache were emitted: they end with a fence */
    /* By value number (instruction number + 1). */
    LLVMValueRef *values;
    bool *varies;
    /* By value number: the axes it depends on, and whether it was emitted before the loop. */
    uint16_t *axes;
    bool *hoisted;
    /* By access: an address without some axes, computed before the loop (hoisted). */
    struct bd_emit_base {
        LLVMValueRef pointer;
        uint16_t missing; /* the axes to add */
    } *bases;
    LLVMValueRef *guards;      /* by guard, without what must hold too: hoisted; else NULL */
    LLVMValueRef guards_mask;  /* those that vary hold for lanes of this mask only */
    bool inside;               /* guards that are alike for all lanes hold here */
    struct bd_emit_loop *loop; /* of the LOOP family: reductions, slots; NULL else */
    /* What the last random instruction was made of and its words, good in this block. */
    struct bd_emit_random {
        LLVMValueRef inputs[3], words[4];
        LLVMBasicBlockRef block;
    } random;
    LLVMValueRef ints, buffers, scalars, math;
} bd_emit;

bd_emit *bd_emit_create(bd_module *module, const bd_kir *program, const char *name);
void bd_emit_finish(bd_emit *emit);
/* Sets the vector axis and its lanes and finds out anew which values vary. Values of earlier phases
 * stay valid if they are uniform, or if the lanes are the same. */
void bd_emit_lanes(bd_emit *emit, int vector_axis, unsigned lanes);
/* All instructions of a phase, in order. REDUCE_*, SAVE, RESTORE need emit->loop. */
void bd_emit_phase(bd_emit *emit, const bd_kir_phase *phase);
void bd_emit_instr(bd_emit *emit, int instr);
/* In front of a loop over `axes` that runs at least once: emits what does not depend on them, and
 * the parts of addresses. bd_emit_phase then leaves those out, until bd_emit_unhoist. */
void bd_emit_hoist(bd_emit *emit, const bd_kir_phase *phase, unsigned axes);
void bd_emit_unhoist(bd_emit *emit);

/* ---- pieces ---- */
LLVMValueRef bd_emit_int(bd_emit *emit, bd_kir_int integer);                     /* i64 */
LLVMValueRef bd_emit_i64(const bd_emit *emit, int64_t value);                    /* constant */
LLVMValueRef bd_emit_call_field(bd_emit *emit, size_t offset, LLVMTypeRef type); /* loads it */
LLVMValueRef bd_emit_param(bd_emit *emit, int number); /* params[number] of the call, i64 */
LLVMValueRef bd_emit_buffer(bd_emit *emit, int buffer);                          /* base pointer */
/* Pointer to the element of an access, lane 0. */
LLVMValueRef bd_emit_address(bd_emit *emit, int access);
LLVMValueRef bd_emit_splat(bd_emit *emit, LLVMValueRef scalar); /* to `lanes` */
LLVMValueRef bd_emit_vector(bd_emit *emit, bd_kir_value value); /* a value, splat if uniform */
LLVMValueRef bd_emit_iota(bd_emit *emit, LLVMTypeRef type);     /* <0, 1, 2 …> */
LLVMTypeRef bd_emit_type(const bd_emit *emit,
                         burn_dtype dtype); /* of a scalar value (f16 → f32, bool → i1) */
LLVMTypeRef bd_emit_storage(const bd_emit *emit,
                            burn_dtype dtype); /* in memory (f16, bf16 → i16, bool → i8) */
LLVMTypeRef bd_emit_lanes_of(const bd_emit *emit,
                             LLVMTypeRef scalar); /* vector, or the scalar with 1 lane */
/* Memory form from and to value form, either scalars or vectors. */
LLVMValueRef bd_emit_from_storage(bd_emit *emit, LLVMValueRef stored, burn_dtype dtype);
LLVMValueRef bd_emit_to_storage(bd_emit *emit, LLVMValueRef value, burn_dtype dtype);
/* For the tail of the vector axis: sets active and mask for `remaining` (i64 ≥ 1) elements. */
void bd_emit_set_tail(bd_emit *emit, LLVMValueRef remaining);
void bd_emit_clear_tail(bd_emit *emit);
LLVMValueRef bd_emit_alloca(bd_emit *emit, LLVMTypeRef type,
                            unsigned align); /* in the entry block */

/* A counted loop: for (i = first; i < last; i += step), first < last not needed.
 *     bd_emit_loop_frame f; LLVMValueRef i = bd_emit_for(e, &f, first, last, step);
 *     … body …; bd_emit_for_end(e, &f);
 * Loop-carried values: bd_emit_carry before the body, bd_emit_carried to set the next one. */
enum { BD_EMIT_CARRY_MAX = 256 };
typedef struct bd_emit_frame {
    LLVMBasicBlockRef head, body, exit, before;
    LLVMValueRef index, step, last;
    LLVMValueRef phis[BD_EMIT_CARRY_MAX], nexts[BD_EMIT_CARRY_MAX];
    unsigned carry_count;
} bd_emit_frame;
LLVMValueRef bd_emit_for(bd_emit *emit, bd_emit_frame *frame, LLVMValueRef first, LLVMValueRef last,
                         LLVMValueRef step);
LLVMValueRef bd_emit_carry(bd_emit *emit, bd_emit_frame *frame, LLVMValueRef initial); /* → phi */
void bd_emit_carried(bd_emit_frame *frame, unsigned number, LLVMValueRef next);
/* After it the builder stands behind the loop; the phis hold the final values. */
void bd_emit_for_end(bd_emit *emit, bd_emit_frame *frame);

/* if (condition) { … } without values. */
typedef struct bd_emit_branch {
    LLVMBasicBlockRef then, after;
} bd_emit_branch;
void bd_emit_if(bd_emit *emit, bd_emit_branch *branch, LLVMValueRef condition);
void bd_emit_end_if(bd_emit *emit, bd_emit_branch *branch);
