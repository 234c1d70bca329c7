/* SPDX-License-Identifier: Apache-2.0
 * What fusion needs to know of core ops: their class, their instruction and what they cost. The
 * only door between op names and the planner. Constant tables and pure functions; thread: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backends/kir/kir.h"
#include "engine/graph.h"

typedef enum bd_op_class {
    BD_CLASS_NONE,    /* not a core op */
    BD_CLASS_LEAF,    /* external, scalar, constant, integer */
    BD_CLASS_MAP,     /* one instruction an element */
    BD_CLASS_SOURCE,  /* computed from the element's place: full, iota, random */
    BD_CLASS_VIEW,    /* an element of the input at another place */
    BD_CLASS_GATHER,  /* likewise, the place being computed from another input */
    BD_CLASS_PAD,
    BD_CLASS_CONCAT,
    BD_CLASS_REDUCE,
    BD_CLASS_SCAN,    /* of the elements before it in a dim: a running reduction */
    BD_CLASS_SORT,    /* positions in the order of the elements of a dim */
    BD_CLASS_DOT,
    BD_CLASS_ATTEND, /* softmax of the first input times the second */
    BD_CLASS_SCATTER, /* a copy of the first input, then stores at computed places */
    BD_CLASS_UPDATE,  /* a copy of the first input, then stores at affine places */
} bd_op_class;

typedef enum bd_view_kind {
    BD_VIEW_RESHAPE,
    BD_VIEW_PERMUTE,
    BD_VIEW_EXPAND,
    BD_VIEW_SLICE,
    BD_VIEW_FLIP,
    BD_VIEW_WINDOW,
} bd_view_kind;

typedef enum bd_source_kind {
    BD_SOURCE_FULL,
    BD_SOURCE_IOTA,
    BD_SOURCE_RANDOM_UNIFORM,
    BD_SOURCE_RANDOM_BITS,
} bd_source_kind;

bd_op_class bd_class_of(const bd_graph_node *node);
/* Of MAP, REDUCE, SCAN, SCATTER and UPDATE nodes (these two: bd_kir_store; an update that
 * accumulates is one of windows, which overlap). */
bd_kir_code bd_lower_code(const bd_graph_node *node);
bd_view_kind bd_view_kind_of(const bd_graph_node *node);
bd_source_kind bd_source_kind_of(const bd_graph_node *node);
/* Work of one element in units of a multiplication; 0 for what only moves. */
uint32_t bd_lower_cost(const bd_graph_node *node);

/* REDUCE: bit d is set for each reduced dim of the input. */
uint32_t bd_reduced_dims(const bd_graph *graph, const bd_graph_node *node);
bool bd_reduce_keeps_dims(const bd_graph_node *node);
