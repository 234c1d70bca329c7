/* SPDX-License-Identifier: Apache-2.0
 * Programs: named streams of op records that a client stored, and their calls. A call replays the
 * records into the caller's trace, so it is fused with what stands around it and replayed with it.
 * Thread: device.
 *
 * A program numbers its tensors: inputs first, then the outputs of its records. Its outputs are
 * the tensors that its records never free, inputs left out, in order of their numbers. Inputs may
 * be tensors or weak scalars at each call. Where the value of a size attribute of a record must
 * come from the call (the offset of random numbers), the record holds BURN_PROGRAM_SIZE(k): the
 * call passes an int for input k. */
#pragma once

#include <stdint.h>

#include "engine/engine.h"
#include "proto/base/arena.h"
#include "proto/ops.h"

typedef struct bd_program {
    uint32_t count; /* references: the session's map and calls in progress */
    uint64_t number;
    char name[64];
    bd_arena arena;
    uint64_t first_id; /* of input 0; tensor n of the program is id first_id + n in its records */
    burn_op_record *records;
    uint32_t record_count;
    uint32_t input_count, tensor_count, output_count;
    uint32_t *output_of; /* by tensor: which output it is, or UINT32_MAX */
    /* Of one that was imported: */
    struct bd_program *source; /* whose records these are; retained */
    burn_operand *bound;       /* by input: the session's tensor that it always is, or ABSENT */
    uint32_t bound_count;
} bd_program;

/* From a PROGRAM_DEFINE request. INVALID names the record that is wrong. */
bd_error *bd_program_create(const bd_request *request, bd_program **out) BD_MUST_USE;
/* The same records with some inputs bound to tensors of the session that calls it. */
bd_program *bd_program_bind(bd_program *source, const burn_operand *bound);
bd_program *bd_program_retain(bd_program *program);
void bd_program_release(bd_program *program);

/* A call in progress; a cut may stand between two of its records. */
typedef struct bd_call {
    bd_program *program; /* retained */
    bd_arena arena;
    burn_operand *operands; /* by tensor of the program: what it is in the caller's stream */
    uint64_t first_output;  /* id of the call's first output */
    uint64_t op_index;
    uint32_t at; /* the next record */
} bd_call;

/* INVALID if the counts of inputs and outputs are not the program's. */
bd_error *bd_call_begin(bd_program *program, const burn_op_record *record, uint64_t op_index,
                        bd_call **out) BD_MUST_USE;
void bd_call_end(bd_call *call);
/* The next record in the caller's terms, and the ids of its outputs: those that are no outputs of
 * the program take hidden ids from *next_hidden. False after the last one. Valid until the next
 * call. */
bool bd_call_next(bd_call *call, bd_arena *scratch, uint64_t *next_hidden, burn_op_record *out,
                  uint64_t **out_ids);
