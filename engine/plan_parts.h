/* SPDX-License-Identifier: Apache-2.0
 * What the files that build a plan share (plan.c, plan_launch.c, plan_buffer.c); nobody else
 * includes it. Owner: bd_plan_build; thread: device. */
#pragma once

#include "engine/fuse.h"
#include "engine/lower/lower.h"
#include "engine/plan.h"

typedef struct bd_plan_build_state {
    const bd_trace *trace;
    bd_plan *plan;
    bd_arena scratch;
    bd_node *roots; /* of outputs, then of saved values; after decomposition */
    uint32_t root_count;
    bd_fusion fusion;
    bd_lowered *lowered;       /* by region */
    uint32_t *launch_regions; /* in launch order; launch i has the next block_count of them */
    uint32_t *buffer_of;       /* by node, + 1 */
} bd_plan_build_state;

/* plan_launch.c: distinct programs, horizontal merging, order. */
void bd_plan_order_launches(bd_plan_build_state *state, bool merges);
/* plan_buffer.c: buffers, lifetimes, in-place; fills the blocks' buffers and the outputs. */
void bd_plan_assign_buffers(bd_plan_build_state *state);
