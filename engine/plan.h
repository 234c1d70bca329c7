/* SPDX-License-Identifier: Apache-2.0
 * A plan: what a trace becomes. Data only: kernels, launches, recipes of their arguments, buffers
 * with lifetimes. Built once (engine/plan.c from regions of engine/fuse.c, lowered by
 * engine/lower/); bound and submitted on every arrival (engine/run.c). Immutable after it is built,
 * but for the kernels that compilation fills in. Counted: the trie holds one reference, histories
 * the others. Thread: device. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backends/backend.h"
#include "engine/graph.h"
#include "engine/integer.h"

typedef enum bd_plan_buffer_kind {
    BD_BUFFER_EXTERNAL, /* number: graph external */
    BD_BUFFER_RESULT,   /* outlives the plan: an allocation of its own */
    BD_BUFFER_TEMP,     /* within the plan's arena, alive from first_launch to last_launch */
} bd_plan_buffer_kind;

#define BD_PLAN_NONE UINT32_MAX

typedef struct bd_plan_buffer {
    uint8_t kind;
    uint8_t dtype;
    uint32_t number;       /* EXTERNAL */
    bd_int elements;       /* size */
    uint32_t first_launch, last_launch;
    /* RESULT, TEMP: the buffer whose memory this one may take over (in-place), or NONE. For an
     * EXTERNAL source the runner does so only if the tensor dies and nobody else holds its memory.
     * Every launch that reads the source after this buffer is written reads it at the same element
     * only. */
    uint32_t reuses;
} bd_plan_buffer;

typedef struct bd_plan_scalar {
    uint32_t number;   /* graph scalar */
    uint8_t stored_as; /* BURN_F64 or BURN_I64 */
} bd_plan_scalar;

typedef struct bd_plan_block {
    const bd_int *ints;            /* program->int_count */
    const uint32_t *buffers;       /* program->buffer_count numbers of plan buffers */
    const bd_plan_scalar *scalars; /* program->scalar_count */
} bd_plan_block;

/* In a fault record: negative indices count from the end. */
#define BD_FAULT_WRAPS 0x80000000u

typedef struct bd_plan_launch {
    uint32_t kernel; /* number in plan->programs */
    const bd_plan_block *blocks;
    uint32_t block_count;
    uint8_t skip_if_same; /* a copy whose source and destination may be one memory: then skipped */
    const uint32_t *fault_records; /* by CHECK tag: the record to blame, with BD_FAULT_WRAPS */
    uint32_t fault_count;
} bd_plan_launch;

/* Where a surviving or saved value lies when the plan has run. */
typedef struct bd_plan_output {
    uint32_t value;  /* trace value of a survivor; BD_PLAN_NONE for saved ones */
    bd_node node;    /* in the graph, before decomposition: for histories */
    uint32_t buffer; /* an EXTERNAL buffer: the output is (a reshape of) that tensor, shared */
    uint8_t tracked; /* it needs a history */
    const bd_int *dims; /* of saved nodes, for their type */
    uint8_t rank, dtype;
} bd_plan_output;

typedef struct bd_plan {
    uint32_t count; /* references */
    uint64_t serial; /* identifies the plan within keys of later traces */
    bd_arena arena;
    bd_graph *graph; /* owned */
    bd_kir **programs;   /* distinct ones */
    bd_kernel **kernels; /* filled by compilation; borrowed from the kernel cache */
    uint32_t program_count;
    bd_plan_launch *launches;
    uint32_t launch_count;
    bd_plan_buffer *buffers;
    uint32_t buffer_count;
    bd_plan_output *outputs; /* one a surviving value */
    uint32_t output_count;
    bd_plan_output *saved;   /* kept for histories */
    uint32_t saved_count;
    /* fusion was asked for, but a kernel would have passed a limit: a region a node */
    bool unfused;
} bd_plan;

typedef struct bd_plan_options {
    bool fusion; /* false: one region a node */
    bool spares_reads; /* bd_device_ops.spares_reads */
} bd_plan_options;

/* The whole analysis of a trace: graph, saved values, decomposition, simplification, regions,
 * kernel IR, buffers. Kernels are not compiled yet. */
bd_error *bd_plan_build(const bd_trace *trace, const bd_plan_options *options,
                        bd_plan **out) BD_MUST_USE;
bd_plan *bd_plan_retain(bd_plan *plan);
void bd_plan_release(bd_plan *plan); /* kernels belong to the cache */
char *bd_plan_print(const bd_plan *plan); /* heap; bd_free */
