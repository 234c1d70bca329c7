/* SPDX-License-Identifier: Apache-2.0
 * A trace: the ops between two cuts of a session's stream, in relative form. It is what a graph is
 * built from on a miss, and what a plan is bound to on every arrival.
 * Owner: the session's stream; thread: device. Pointers live until the trace is reset.
 *
 * Structural parts (compared in the trie of known traces): op numbers, flags, input references,
 * scalar kinds, INT, INTS and DTYPE attributes, list lengths, external dtypes and ranks, which dims
 * and which items of SIZES attributes are 1, reshape groups, the survivors and the dying externals;
 * and, only if the trace holds a grad record, how its externals were made (engine/history.h).
 * Dynamic parts (arguments of the plan): dims above 1 (and 0), SIZE and SIZES attributes, scalars,
 * buffers. */
#pragma once

#include "proto/ops.h"

typedef struct bd_history bd_history;

typedef enum bd_input_kind {
    BD_INPUT_ABSENT,
    BD_INPUT_VALUE,    /* number: a value of this trace */
    BD_INPUT_EXTERNAL, /* number: an external slot, in order of first use */
    BD_INPUT_SCALAR,   /* number: a scalar slot, in order of appearance */
} bd_input_kind;

typedef struct bd_input {
    uint8_t kind;        /* bd_input_kind */
    uint8_t scalar_kind; /* burn_operand_kind for SCALAR */
    uint32_t number;
} bd_input;

/* One op. Control records (free, mark) are not kept; grad is. */
typedef struct bd_trace_record {
    const burn_op_info *info;
    uint8_t flags; /* BURN_RECORD_TRACK */
    uint32_t input_count, output_count;
    const bd_input *inputs;
    uint32_t first_value; /* outputs are values first_value, first_value + 1, … */
    burn_attr attrs[BURN_OP_ATTRS_MAX];
    uint64_t op_index; /* in the session, for errors */
} bd_trace_record;

typedef struct bd_trace_value {
    burn_tensor_type type; /* of this arrival */
    uint32_t record;
    uint8_t survives; /* a handle outlives the cut */
    uint8_t tracked;  /* made under BURN_RECORD_TRACK */
} bd_trace_value;

/* A tensor made before this trace. */
typedef struct bd_trace_external {
    burn_tensor_type type;
    /* its last handle is freed within the trace: its memory may be reused */
    uint8_t dies;
    bd_history *history;    /* NULL: a leaf or untracked; else how it was made (engine/history.h) */
    uint32_t history_node;  /* its node in the graph of history's plan */
    uint64_t tensor; /* identity within the engine: a tensor that is also saved in a history is
                        recognised by it. Never in the key itself; the pattern of equalities is */
} bd_trace_external;

typedef struct bd_trace {
    const bd_trace_record *records;
    const bd_trace_value *values;
    const bd_trace_external *externals;
    const double *scalars_as_double; /* value of scalar slots as f64 … */
    const int64_t *scalars_as_int;   /* … and as i64 (floats truncated) */
    uint32_t record_count, value_count, external_count, scalar_count;
} bd_trace;
