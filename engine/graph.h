/* SPDX-License-Identifier: Apache-2.0
 * The tensor graph: single-output nodes in an append-only array, hash-consed, operands before
 * users. Built from a trace on a miss; then autodiff, decomposition and simplification append to
 * it; planning reads it. Kept by its plan, because later traces may differentiate through it.
 * Thread: device.
 *
 * Invariants: inputs of a pointwise node have the node's dims and the dtype that the op computes
 * in (CAST and EXPAND nodes were inserted). Dims are symbolic (engine/integer.h); the constant 1 is
 * structural and nothing else may be assumed constant unless it is a CONST entry.
 * Scalars of the stream are SCALAR leaves of rank 0: opaque, also when they are 0 or 1. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/integer.h"
#include "engine/trace.h"
#include "proto/base/arena.h"
#include "proto/base/error.h"
#include "proto/ops.h"

typedef uint32_t bd_node; /* 0 = none */
enum { BD_NODE_NONE = 0 };
#define BD_NO_RECORD UINT32_MAX

typedef enum bd_node_kind {
    BD_NODE_OP,
    BD_NODE_EXTERNAL, /* number: bd_graph_external */
    BD_NODE_SCALAR,   /* number: bd_graph_scalar; rank 0; dtype as resolved */
    BD_NODE_CONSTANT, /* rank 0; constant_f or constant_i: written in a rule, so it may be folded */
    BD_NODE_INTEGER,  /* rank 0, i64: the value of the bd_int `number` (a mean's count, a size) */
} bd_node_kind;

/* Dims below 0 count from the end. */
static inline int64_t bd_dim_number(int64_t dim, int64_t rank)
{
    return dim < 0 ? dim + rank : dim;
}

typedef struct bd_attr_value {
    int64_t value;         /* INT, DTYPE: the value; SIZE: a bd_int */
    const int64_t *values; /* INTS: values; SIZES: bd_ints */
    uint32_t count;
} bd_attr_value;

typedef struct bd_graph_node {
    uint8_t kind; /* bd_node_kind */
    uint8_t dtype;
    uint8_t rank;
    uint8_t tracked; /* gradients flow through it */
    uint16_t op;     /* burn_op of OP nodes */
    uint16_t input_count;
    uint32_t number; /* leaves */
    uint32_t record; /* trace record that it stems from, for errors; or BD_NO_RECORD */
    const bd_int *dims;
    const bd_node *inputs;
    const bd_attr_value
        *attrs; /* as many as the op's row names, negative dims normalised; NULL for leaves */
    union {
        double constant_f;
        int64_t constant_i;
    };
} bd_graph_node;

/* Where a leaf's bytes come from: a slot of the trace, or something that a producing plan kept.
 * steps walks histories: externals[slot].history, then saved[steps[0]].history, …; the last step
 * names the saved value itself. step_count 0 is the slot's own buffer. */
typedef struct bd_graph_external {
    uint32_t slot;
    uint32_t step_count;
    const uint32_t *steps;
    uint8_t dtype;
} bd_graph_external;

typedef struct bd_graph_scalar {
    uint32_t path; /* UINT32_MAX: scalar slot of this trace; else number of a bd_history_path … */
    uint32_t slot; /* … and then a number of the history's scalars */
} bd_graph_scalar;

/* A history reached from this trace, for BD_INT_HISTORY and scalars: externals[slot].history, then
 * saved[steps[i]].history for each step. */
typedef struct bd_history_path {
    uint32_t slot;
    uint32_t step_count;
    const uint32_t *steps;
} bd_history_path;

/* What a plan keeps so that a later trace can differentiate through it. */
typedef struct bd_graph_saved {
    bd_node node;
} bd_graph_saved;

typedef struct bd_graph bd_graph;

/* ---- reading ---- */
const bd_graph_node *bd_graph_at(const bd_graph *graph, bd_node node);
uint32_t bd_graph_count(const bd_graph *graph); /* nodes are 1 … count */
bd_ints *bd_graph_ints(bd_graph *graph);
bd_arena *bd_graph_arena(bd_graph *graph);
const bd_graph_external *bd_graph_externals(const bd_graph *graph, uint32_t *out_count);
const bd_graph_scalar *bd_graph_scalars(const bd_graph *graph, uint32_t *out_count);
const bd_history_path *bd_graph_paths(const bd_graph *graph, uint32_t *out_count);
/* Node of a value of the trace. After bd_graph_build it is never NONE but for values of control
 * records. */
bd_node bd_graph_value(const bd_graph *graph, uint32_t value);
/* The value survives, and its handle needs a history: tracked and not consumed by a grad record. */
bool bd_graph_value_needs_history(const bd_graph *graph, uint32_t value);
/* The representative of a node's dim. */
bd_int bd_graph_dim(const bd_graph *graph, bd_node node, uint32_t axis);
/* Text form, for logs and golden tests. Heap; caller frees with bd_free. */
char *bd_graph_print(const bd_graph *graph);

/* ---- the stages, in order (engine/graph.c, autodiff.c, decompose.c, simplify.c) ---- */

/* Records to nodes, gradients included; histories of externals are imported where grad needs them.
 */
bd_error *bd_graph_build(const bd_trace *trace, bd_graph **out) BD_MUST_USE;
void bd_graph_destroy(bd_graph *graph);
/* Values whose handles survive with a gradient history: what must be kept besides them, so that
 * everything on their history can be recomputed cheaply (contractions, reductions, gathers, random
 * state and the leaves are kept; pointwise chains and views are recomputed). Call before
 * decomposing. */
const bd_graph_saved *bd_graph_choose_saved(bd_graph *graph, uint32_t *out_count);
/* Composite nodes reachable from the roots become core ops; then folding and common
 * subexpressions. roots[] are replaced by their new nodes. Composite originals stay for histories.
 */
bd_error *bd_graph_decompose(bd_graph *graph, bd_node *roots, uint32_t root_count) BD_MUST_USE;
bd_error *bd_graph_simplify(bd_graph *graph, bd_node *roots, uint32_t root_count) BD_MUST_USE;

/* ---- building (rules, autodiff, decomposition) ---- */

/* One op over nodes: promotes and broadcasts the inputs of pointwise ops, infers dtype and dims,
 * folds, hash-conses. Composite ops without a gradient rule and ops with several outputs are
 * decomposed here (then use bd_build_outputs). attrs as in the row; SIZE attrs hold bd_ints; NULL
 * if none. Numbers (bd_build_number, _whole) and INTEGER leaves are weak in promotion, as Python's
 * numbers: a float one makes integers float, otherwise the tensors decide. Constants and SCALAR
 * leaves count as 0-d tensors. An absent optional input is NONE. Returns NONE after an error, which
 * the graph keeps (first one wins) and the stage returns. */
bd_node bd_build(bd_graph *graph, burn_op op, const bd_node *inputs, uint32_t input_count,
                 const bd_attr_value *attrs);
uint32_t bd_build_outputs(bd_graph *graph, burn_op op, const bd_node *inputs, uint32_t input_count,
                          const bd_attr_value *attrs, bd_node *out, uint32_t out_max);
bd_node bd_build_constant(bd_graph *graph, burn_dtype dtype, double value);
/* A number as written in a rule: a constant of rank 0, float64 or int64, weak in promotion. */
bd_node bd_build_number(bd_graph *graph, double value);
bd_node bd_build_whole(bd_graph *graph, int64_t value);
bd_node bd_build_integer(bd_graph *graph, bd_int value); /* rank 0, i64 */
bd_node bd_build_cast(bd_graph *graph, bd_node node, burn_dtype dtype);
/* Broadcast to the dims of another node, or to given dims. */
bd_node bd_build_expand_as(bd_graph *graph, bd_node node, bd_node like);
bd_node bd_build_expand(bd_graph *graph, bd_node node, const bd_int *dims, uint32_t rank);
bd_node bd_build_reshape(bd_graph *graph, bd_node node, const bd_int *dims, uint32_t rank);
/* The reverse of a broadcast: sums over the axes in which `like` has 1 or nothing. */
bd_node bd_build_sum_to(bd_graph *graph, bd_node node, bd_node like);
void bd_graph_fail(bd_graph *graph, bd_error *own_error);
