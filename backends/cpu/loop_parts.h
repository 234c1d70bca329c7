/* SPDX-License-Identifier: Apache-2.0
 * State of one LOOP function while it is emitted, shared by loop_emit.c and loop_reduce.c. */
#pragma once

#include "backends/cpu/emit_parts.h"
#include "backends/cpu/loop_shape.h"

/* A reduction of the EACH phase at hand. Its value is built in two levels: `now` in registers over
 * a block, `total` in memory over all blocks; so long sums stay accurate. */
typedef struct bd_reduction {
    int instr, code, parts;
    burn_dtype dtype; /* of the operand */
    LLVMValueRef now[2];
    LLVMValueRef total[2];        /* allocas of `lanes` elements */
    LLVMValueRef scalar_total[2]; /* for tails of one lane; NULL where tails are masked */
} bd_reduction;

/* A scan of the EACH phase at hand. */
typedef struct bd_scan {
    int instr, code;
    burn_dtype dtype;
    LLVMValueRef carried; /* an alloca: what was seen of the row; of each row in columns */
} bd_scan;

typedef struct bd_emit_loop {
    const bd_loop_shape *shape;
    bool cold; /* the first loop to read its row or tile */
    bool rest; /* in the masked loop behind one of full lanes */
    bd_scan scans[BD_LOOP_SCANS_MAX];
    int scan_count;
    bd_reduction reductions[BD_LOOP_REDUCTIONS_MAX];
    int reduction_count;
    LLVMValueRef extents[BD_KIR_AXES_MAX];
    LLVMValueRef slot_base;                      /* of the row at hand */
    LLVMValueRef slot_offsets[BD_KIR_SLOTS_MAX]; /* bytes */
    LLVMValueRef slot_bytes;                     /* of one row, all slots */
} bd_emit_loop;

/* Row-major position over the SERIAL axes, of lane 0. */
LLVMValueRef bd_loop_linear(bd_emit *emit);
void bd_loop_slots_begin(bd_emit *emit);

/* Whether all guards of a phase that are alike for all lanes hold everywhere on the SERIAL axes;
 * NULL if it has none (loop_inside.c). */
LLVMValueRef bd_loop_inside(bd_emit *emit, const bd_kir_phase *phase);

/* Sets the scans of an EACH phase to having seen nothing (scan.c). */
void bd_loop_scans_begin(bd_emit *emit, const bd_kir_phase *phase);

/* Prepares the reductions of an EACH phase: totals at the identity. */
void bd_loop_reductions_begin(bd_emit *emit, int phase);
/* Sets `now` of all reductions to the identity, in the current number of lanes. */
void bd_loop_reductions_clear(bd_emit *emit);
/* Adds `now` to the totals. */
void bd_loop_reductions_flush(bd_emit *emit);
/* The results become the values of the REDUCE instructions. */
void bd_loop_reductions_end(bd_emit *emit);
unsigned bd_loop_reductions_carry(bd_emit *emit, bd_emit_frame *frame);
void bd_loop_reductions_carried(bd_emit *emit, bd_emit_frame *frame);
/* After the loop: `now` is what the frame carried. */
void bd_loop_reductions_after(bd_emit *emit, bd_emit_frame *frame);

/* Results of an EACH phase to and from partials: of item and chunk, number r in shared scratch. */
void bd_loop_partials_store(bd_emit *emit, int phase, LLVMValueRef row);
/* Combines `count` partials from row `first` on in order; the results become the values. */
void bd_loop_partials_combine(bd_emit *emit, int phase, LLVMValueRef first, LLVMValueRef count);
void bd_loop_finals_store(bd_emit *emit, int phase, LLVMValueRef item);
void bd_loop_finals_load(bd_emit *emit, int phase, LLVMValueRef item);
