/* SPDX-License-Identifier: Apache-2.0
 * A known plan: the plan of a trace, its kernels, and what binding needs that depends on structure
 * only. Counted: the trie holds one reference, each run another. Thread: device. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/cache.h"
#include "engine/plan.h"
#include "engine/trace.h"
#include "proto/base/arena.h"

typedef struct bd_known bd_known;
typedef struct bd_run bd_run; /* engine/run.h */

/* What is left of a record, to tell which values a fault spoils and to name the op. */
typedef struct bd_known_record {
    const burn_op_info *info;
    const bd_input *inputs;
    uint32_t input_count, first_value, output_count;
} bd_known_record;

/* Plan buffers that share one memory because each takes over that of the one before. */
typedef struct bd_known_group {
    uint32_t result;   /* the RESULT among them, or BD_PLAN_NONE: then the memory is in the arena */
    uint32_t external; /* whose memory the group may take over: EXTERNAL, or BD_PLAN_NONE */
    uint32_t first_launch, last_launch;
} bd_known_group;

struct bd_known {
    uint32_t count;
    bd_arena arena;
    bd_plan *plan;
    bd_cached **kernels; /* of plan->programs */
    bd_known_record *records;
    uint32_t record_count, value_count, slot_count;
    uint32_t fault_count; /* of all launches: a CHECK tag each */
    int64_t last_run_ns; /* time of the device for its last run */
    uint32_t *group_of; /* by plan buffer; BD_PLAN_NONE for EXTERNAL ones */
    bd_known_group *groups;
    uint32_t group_count;
    uint32_t *by_first, *by_last; /* groups of the arena in order of first and of last launch */
    uint32_t arena_count;
    uint32_t block_count, argument_count, pointer_count, scalar_count; /* of all launches */
    bd_run *idle; /* bound before, ready to be bound again */
    uint32_t idle_count;
};

/* Consumes the plan. */
bd_known *bd_known_create(bd_plan *own_plan, const bd_trace *trace, bd_cache *cache);
bd_known *bd_known_retain(bd_known *known);
void bd_known_release(bd_known *known);
/* Host memory that it takes. */
size_t bd_known_bytes(const bd_known *known);
/* Whether no kernel is to be compiled; then out_error (borrowed) is why one failed, or NULL. */
bool bd_known_ready(bd_known *known, bd_error **out_error);
/* What failed on an earlier arrival shall be compiled anew. */
void bd_known_retry(bd_known *known, bd_cache *cache);
/* Begins to compile what nobody has begun, as far as the quota has time for it; returns how long
 * until it has some for the rest, 0 if none is left. */
int64_t bd_known_begin(bd_known *known, bd_quota *quota);

/* Offsets of the arena's groups and of the launches' scratch for their sizes; returns the arena's
 * size. */
size_t bd_known_place(const bd_known *known, const size_t *group_bytes, size_t *out_offsets,
                      const size_t *scratch_bytes, size_t *out_scratch_offsets);
