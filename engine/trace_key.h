/* SPDX-License-Identifier: Apache-2.0
 * The canonical bytes of a trace: what must be equal for a plan to serve again. Only structure is
 * in them (engine/trace.h says what that is): sizes, scalar values and buffers are arguments.
 * Pure functions; thread: device. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/trace.h"

/* Whether the key tells a size of 1 from others, as it does for dims: sizes that are 1 unless said
 * (groups). Others, as seeds and offsets, are arguments whatever they are. */
static inline bool bd_trace_key_has_one(const burn_attr_info *attr)
{
    return attr->kind == BURN_ATTR_SIZE && attr->has_default && attr->default_value == 1;
}
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
