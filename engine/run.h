/* SPDX-License-Identifier: Apache-2.0
 * One run of a known plan: the plan bound to an arrival's sizes, scalars and buffers, handed to the
 * backend, and looked after until it is done. A run is kept by its plan and bound again.
 * Thread: device; the backend's `done` only posts.
 * Invariant: the memory that a submission uses is given back no earlier than the submission was
 * numbered; the pool orders reuse by that number. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/history.h"
#include "engine/known.h"
#include "engine/letters.h"
#include "engine/memory.h"

/* Where a run finds what it binds. */
typedef struct bd_binding {
    const bd_device_ops *ops;
    bd_device *device;
    bd_memory *memory;
    bd_account *account;
    const bd_trace *trace;
    bd_buffer *const *buffers; /* of the trace's externals */
    uint64_t *next_tensor;     /* gives identities */
    const bd_graph *graph;     /* filled in by bd_run_bind */
} bd_binding;

struct bd_run {
    bd_letter letter;
    int kind;        /* BD_LETTER_RUN */
    bd_run *next;    /* in flight, or idle */
    bd_arena memory; /* of the arrays below */
    bd_known *known;
    void *session;  /* whose run it is; NULL once that is closed */
    uint64_t order; /* number of the submission */
    int64_t charged_ns; /* to the session, for the time that it will take */
    bool done;
    bool dropped; /* its results are not wanted any more, by those whose they are */
    bd_submission submission;
    bd_fault *faults; /* of all launches of the plan */

    /* Bound values; those above the line stay as long as the integers stay the same. */
    bool sized;
    int64_t *ints;     /* of the plan's table */
    int64_t *new_ints; /* while binding */
    size_t *group_bytes, *group_offsets;
    size_t *scratch_bytes, *scratch_offsets; /* by launch of the plan */
    size_t arena_bytes;
    int64_t *arguments;
    bd_block *blocks;
    bd_arena size_memory; /* of what the device keeps of each block's sizes: */
    const bd_sized **sizes;
    /* ---- */
    bd_launch *launches;
    uint32_t *launch_numbers; /* of the plan; launches may be left out */
    void **pointers;
    bd_scalar *scalars;
    bd_buffer **externals;     /* by graph external; borrowed while binding */
    void **places;             /* by plan buffer */
    bd_buffer **group_buffers; /* results and stolen memory, owned while binding */
    bd_buffer *arena;          /* owned until submitted */
    bd_buffer **outputs;       /* by plan output; owned by whoever takes them */
    bd_history *history;       /* for tracked outputs; owned likewise, or NULL */

    /* For faults (engine/fault.h). */
    bool slot_spoiled; /* some slot_errors are there */
    bd_error *
        *slot_errors; /* by external slot: what is read through it was spoiled before; retained */
    uint64_t *external_serials; /* by graph external */
    uint64_t *slot_serials, *output_serials, *saved_serials;
    uint64_t *op_indices; /* by record; only if the plan may fault */
    void *engine;         /* for `done` */
};

/* Binds the plan; all its kernels must be there. After an error nothing is held.
 * LIMIT and NO_MEMORY say that memory is short. */
bd_error *bd_run_bind(bd_known *known, const bd_binding *binding, bd_run **out) BD_MUST_USE;
/* The run becomes idle: its plan keeps it for the next time, or frees it. */
void bd_run_retire(bd_run *run);
void bd_run_destroy(bd_run *run);
