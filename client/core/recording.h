/* SPDX-License-Identifier: Apache-2.0
 * Programs: ops recorded once and called by one record.
 * While a recording is open, ops of the thread that opened it go into it and nowhere else. Tensors
 * from outside that are used become inputs of the program; those that are changed (assigned, given
 * a gradient) become outputs, which every call assigns to them again. Afterwards all tensors show
 * what they showed before: recording runs nothing.
 * The program's own numbering: inputs 1 … n, then the outputs of its records, of which all are
 * freed by its last record but the program's outputs. Seed and offsets of random ops are inputs, so
 * that each call draws other numbers. Owned by the session's thread. */
#pragma once

#include "client/core/tensor.h"

typedef struct bd_recording bd_recording;
typedef struct bd_program bd_program;

/* out_arguments stand for the arguments, whose types they take. */
bd_error *bd_recording_begin(bd_session *session, burn_tensor *const *arguments, uint32_t count,
                             burn_tensor **out_arguments) BD_MUST_USE;
void bd_recording_abort(bd_session *session);
/* Registers the program; `pending` ends when the daemon has it. */
bd_error *bd_recording_end(bd_session *session, burn_tensor *const *outputs, uint32_t count,
                           const char *name, bd_pending *pending,
                           bd_program **out_program) BD_MUST_USE;

/* Publishes the program with the present values of the tensors from outside that it uses. INVALID
 * if it changes such tensors. */
bd_error *bd_program_export(bd_program *program, const char *name,
                            bd_pending *pending) BD_MUST_USE;
/* Asks for a published program under the number that is given; when `pending` has ended well, its
 * report is the signature. */
uint64_t bd_program_import(bd_session *session, const char *name, bd_pending *pending);
bd_error *bd_program_of(bd_session *session, uint64_t number, const uint8_t *signature,
                        size_t signature_bytes, bd_program **out) BD_MUST_USE;

uint32_t bd_program_argument_count(const bd_program *program);
uint32_t bd_program_output_count(const bd_program *program);
bd_error *bd_program_call(bd_program *program, burn_tensor *const *arguments, uint32_t count,
                          burn_tensor **out_outputs) BD_MUST_USE;
void bd_program_destroy(bd_program *program);
/* Tells the daemon, too, that the program is called no more. The session is open. */
void bd_program_drop(bd_program *program);

/* ---- for the other files of client/core ---- */
/* The recording that this thread opened, or NULL: other threads' ops run as ever. */
bd_recording *bd_recording_here(const bd_session *session);
bd_error *bd_recording_append(bd_recording *recording, burn_op_record *record) BD_MUST_USE;
/* Makes a tensor from outside one of the program's inputs, if it is not one already. */
bd_error *bd_recording_adopt(bd_recording *recording, burn_tensor *tensor) BD_MUST_USE;
