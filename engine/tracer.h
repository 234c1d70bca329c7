/* SPDX-License-Identifier: Apache-2.0
 * Records the trace of one session: arrays that grow once and are reused, and the canonical bytes
 * of every record, by which known traces are found (engine/trie.h). Thread: device. Invariant:
 * equal canonical bytes of all records and an equal tail mean that the same plan serves. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/memory.h"
#include "engine/tensor.h"
#include "engine/trace.h"
#include "proto/base/arena.h"
#include "proto/base/vec.h"

enum {
    BD_TRACE_RECORDS_MAX = 65536,
    BD_TRACE_BYTES_MAX = 16 << 20, /* canonical bytes: only records with huge lists come so far */
    BD_TRACE_VALUES_MAX = 1 << 20,
};

typedef struct bd_tracer {
    BD_VEC(bd_trace_record) records;
    BD_VEC(bd_trace_value) values;
    BD_VEC(bd_trace_external) externals;
    BD_VEC(double) floats;
    BD_VEC(int64_t) integers;
    BD_VEC(uint64_t) ids;        /* of values */
    BD_VEC(bd_buffer *) buffers; /* of externals; retained */
    BD_VEC(uint8_t) key;         /* canonical bytes of all records */
    BD_VEC(uint32_t) ends;       /* where each record's bytes end in key */
    BD_VEC(uint8_t) tail;        /* by bd_tracer_finish */
    bd_arena arena;              /* inputs and lists of records */
    uint64_t epoch;              /* numbers the trace within the session, from 1 */
    uint32_t surviving;          /* values that still have a handle */
    bool has_gradient;           /* a record differentiates: histories are part of the key */
} bd_tracer;

void bd_tracer_init(bd_tracer *tracer);
void bd_tracer_deinit(bd_tracer *tracer);
/* Forgets the trace and releases its externals. */
void bd_tracer_reset(bd_tracer *tracer);

/* Room for the types of the next record's outputs; valid until the next call of this kind. Pointers
 * to types of earlier values stay valid from here to bd_tracer_append. */
bd_trace_value *bd_tracer_room(bd_tracer *tracer, uint32_t output_count);
/* Appends a validated op: inputs[i] is the tensor of a tensor operand, else NULL. The types of the
 * outputs stand in the places that bd_tracer_room gave. Returns the number of the first value. */
uint32_t bd_tracer_append(bd_tracer *tracer, const burn_op_record *record, bd_tensor *const *inputs,
                          const uint64_t *output_ids, uint64_t op_index);
/* The canonical bytes of the last record. */
static inline const uint8_t *bd_tracer_last(const bd_tracer *tracer, size_t *out_bytes)
{
    size_t count = tracer->ends.count;
    size_t begin = count > 1 ? tracer->ends.items[count - 2] : 0;
    *out_bytes = tracer->ends.items[count - 1] - begin;
    return tracer->key.items + begin;
}

/* The trace has reached a limit and must be cut. A matter of what was recorded only, so that it is
 * cut at the same place each time. */
static inline bool bd_tracer_is_full(const bd_tracer *tracer)
{
    return tracer->records.count >= BD_TRACE_RECORDS_MAX ||
           tracer->key.count >= BD_TRACE_BYTES_MAX ||
           tracer->values.count >= BD_TRACE_VALUES_MAX / 2;
}

/* The last handle of a value, or of an external, was freed. */
void bd_tracer_drop_value(bd_tracer *tracer, uint32_t value);
void bd_tracer_drop_external(bd_tracer *tracer, uint32_t slot);

/* Completes the key with what outlives the trace, and gives the trace as others see it. */
void bd_tracer_finish(bd_tracer *tracer, bd_trace *out);

/* Marks the outputs of a record and all that is made from them; spoiled has a byte a value, zeroed.
 */
void bd_tracer_leave_out(const bd_tracer *tracer, uint32_t record, uint8_t *spoiled);
/* Removes the records whose outputs are marked; values and externals are numbered anew. */
void bd_tracer_compact(bd_tracer *tracer, const uint8_t *spoiled);
