/* SPDX-License-Identifier: Apache-2.0
 * How tensors that outlived a trace were made: the plan that made them and what it kept, so that a
 * later `grad` can differentiate across the cut. Counted: each tensor with a history holds one
 * reference, and so does each history for those it was made from. Thread: device.
 *
 * Graph building imports histories when a grad record reaches an external that has one. So the key
 * of a trace with a grad record must fix, for every history reached by the walk external.history →
 * saved[k].history (each history once, in order of first visit): which earlier history it is, or
 * the serial of its plan; external.history_node and saved[k].history_node; which dims of a saved
 * type are 1; and for each saved tensor, which external slot or earlier saved tensor has the same
 * `tensor` identity, or none. Nothing else of a history is looked at. */
#pragma once

#include <stdint.h>

#include "backends/backend.h"
#include "engine/plan.h"

typedef struct bd_buffer bd_buffer; /* engine/memory.h */

typedef struct bd_history_saved {
    bd_buffer *buffer; /* retained */
    burn_tensor_type type;
    uint64_t tensor; /* identity (bd_trace_external.tensor), fresh for values without a handle */
    bd_history *history; /* of a saved leaf that itself has one; retained; or NULL */
    uint32_t history_node;
} bd_history_saved;

struct bd_history {
    uint32_t count;      /* references */
    bd_plan *plan;       /* retained; its graph says what the nodes are */
    const int64_t *ints; /* values of the plan's integer table on that arrival */
    const double
        *scalars_as_double; /* by number of bd_graph_scalars of the plan's graph, those that */
    const int64_t *scalars_as_int; /* stem from older histories included: values of that arrival */
    uint32_t saved_count;
    bd_history_saved *saved; /* in the order of plan->saved */
    bd_history *next_dead;   /* while it is released */
};

bd_history *bd_history_retain(bd_history *history);
void bd_history_release(bd_history *history);
