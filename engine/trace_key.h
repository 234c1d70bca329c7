/* SPDX-License-Identifier: Apache-2.0
 * The canonical bytes of a trace: what must be equal for a plan to serve again. Only structure is
 * in them (engine/trace.h says what that is): sizes, scalar values and buffers are arguments.
 * Pure functions; thread: device. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/trace.h"

bool bd_trace_key_is_gradient(const burn_op_info *info);

/* Bytes of one record; externals from number first_new_external on are described where they first
 * appear. Returns how many were written, at most bd_trace_key_bound. */
size_t bd_trace_key_bound(const bd_trace_record *record);
size_t bd_trace_key_record(const bd_trace_record *record, const bd_trace_value *values,
                           const bd_trace_external *externals, uint32_t first_new_external,
                           uint8_t *out);

/* Which values survive and which externals die. */
size_t bd_trace_key_tail_bound(const bd_trace *trace);
size_t bd_trace_key_tail(const bd_trace *trace, uint8_t *out);
/* How the externals were made, as far as differentiation looks (engine/history.h). Appends to a
 * growable array of bytes. */
void bd_trace_key_histories(const bd_trace *trace, uint8_t **bytes, size_t *count,
                            size_t *capacity);
