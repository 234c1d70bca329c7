/* SPDX-License-Identifier: Apache-2.0
 * What the files that make a graph share (graph.c, build.c, ingest.c, history_import.c, autodiff.c,
 * decompose.c, simplify.c, saved.c); nobody else includes it.
 * Owner: the graph; thread: device. Invariant: nodes are never changed once appended. */
#pragma once

#include "engine/graph.h"
#include "engine/history.h"
#include "proto/base/map.h"
#include "proto/base/vec.h"

/* How an external was made, as far as autodiff has looked. */
typedef struct bd_graph_origin {
    const bd_history *history; /* NULL: a leaf */
    uint32_t history_node;
    bd_node producer; /* the op that made it, over imported inputs; NONE before the first look */
    bd_node leaf;     /* the external's own node; NONE before the first use */
} bd_graph_origin;

typedef struct bd_graph_result {
    bd_node node;
    uint8_t survives, tracked;
} bd_graph_result;

typedef struct bd_import bd_import; /* history_import.c */

struct bd_graph {
    bd_arena arena;
    bd_ints *ints;
    BD_VEC(bd_graph_node *) nodes; /* [0] stands for NONE */
    BD_VEC(uint8_t) consumed;      /* by node: a grad record has used its history up */
    uint32_t *slots;               /* hash table of nodes; 0 = free */
    uint32_t slot_count;
    BD_VEC(bd_graph_external) externals;
    BD_VEC(bd_graph_origin) origins; /* by external */
    BD_VEC(bd_graph_scalar) scalars;
    bd_map scalar_numbers; /* (path, slot) → number + 1 */
    BD_VEC(bd_history_path) paths;
    bd_graph_result *results; /* by trace value */
    uint32_t value_count;
    BD_VEC(bd_graph_saved) saved;
    uint32_t *slot_externals; /* by slot of the trace: external + 1, or 0 */
    bd_error *error;          /* the first one */

    /* While the trace is read: */
    const bd_trace *trace;
    bd_import *import;
    uint32_t record;  /* that new nodes stem from */
    uint8_t tracking; /* new nodes are tracked */
    uint8_t
        distinct; /* equal nodes of different records stay apart: they are different variables */
};

bd_graph *bd_graph_create(void);

/* Appends a node or finds its equal. Arrays are copied. `wanted` gives kind, op, dtype, rank,
 * number or constant, dims, inputs, attrs; record and tracked come from the graph. */
bd_node bd_graph_append(bd_graph *graph, const bd_graph_node *wanted);
bd_node bd_graph_external_node(bd_graph *graph, uint32_t external, burn_dtype dtype,
                               const bd_int *dims, uint32_t rank);
bd_node bd_graph_scalar_node(bd_graph *graph, uint32_t path, uint32_t slot, burn_dtype dtype);
/* Whether gradients end here because a grad record used the history up. */
bool bd_graph_is_consumed(const bd_graph *graph, bd_node node);

/* Nodes reachable from the roots, operands before users. The caller frees with bd_vec_deinit. */
typedef BD_VEC(bd_node) bd_node_list;
void bd_graph_order(const bd_graph *graph, const bd_node *roots, uint32_t root_count,
                    bd_node_list *out);

/* ---- build.c, build_insert.c ---- */
enum { BD_CONSTANT_WEAK = 1 }; /* `number` of a constant that is weak in promotion */

/* An input of a record: a node, a weak scalar of the stream, or absent. */
typedef struct bd_record_input {
    bd_node node;
    uint8_t scalar_kind; /* burn_operand_kind, if node is NONE */
    uint32_t slot;       /* scalar slot */
} bd_record_input;

/* As bd_build_outputs, of a record: nothing is folded away, so that each value is a node of its
 * own. */
uint32_t bd_build_record(bd_graph *graph, const burn_op_info *info, const bd_record_input *inputs,
                         uint32_t input_count, const bd_attr_value *attrs, bd_node *out,
                         uint32_t out_max);
/* An op that is arithmetic rounds once: what is of half width is computed in f32, be it the op's
 * parts or its gradient, and only the outcome has the op's dtype. */
void bd_build_widen(bd_graph *graph, const burn_op_info *info, bd_node *inputs,
                    uint32_t input_count);
/* A node of its own with the same elements. */
bd_node bd_build_identity(bd_graph *graph, bd_node node);
/* Cheaper to compute again than to keep. */
bool bd_op_is_cheap(const burn_op_info *info);

/* ---- shape_symbolic.c ---- */
/* Dims of an op over built inputs; unites what the op requires to be equal. Returns the rank, or -1
 * after an error. */
int bd_shape_symbolic(bd_graph *graph, const burn_op_info *info, const bd_node *inputs,
                      uint32_t input_count, const bd_attr_value *attrs, bd_int dims[BURN_RANK_MAX]);

/* ---- ingest.c ---- */
/* The leaf of an external slot of the trace. */
bd_node bd_graph_slot_node(bd_graph *graph, uint32_t slot);

/* ---- autodiff.c, history_import.c ---- */
/* Gradients of the roots with respect to nodes; seeds[i] may be NONE. out: one a wrt node.
 * Gradients do not flow through the last cut_count of them; the seed of one that is a root does. */
void bd_graph_differentiate(bd_graph *graph, const bd_node *roots, const bd_node *seeds,
                            uint32_t root_count, const bd_node *wrt, uint32_t wrt_count,
                            uint32_t cut_count, bool retain, bd_node *out);
bd_import *bd_import_create(void);
void bd_import_destroy(bd_import *import);
/* The producer of an external with a history, imported on the first call; NONE if it is a leaf. */
bd_node bd_import_producer(bd_graph *graph, uint32_t external);

/* ---- decompose.c ---- */
/* An op over replaced inputs; NONE for a leaf. */
bd_node bd_graph_rebuild(bd_graph *graph, const bd_graph_node *node, const bd_node *replaced);
bd_error *bd_graph_take_error(bd_graph *graph) BD_MUST_USE;
