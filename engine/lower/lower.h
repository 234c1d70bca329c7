/* SPDX-License-Identifier: Apache-2.0
 * From a finished region to a program of the kernel IR and the recipe of its arguments.
 * Thread: device. */
#pragma once

#include "engine/lower/region.h"
#include "engine/plan.h"

typedef struct bd_lowered {
    bd_kir *program;
    const bd_int *ints;            /* program->int_count */
    const bd_node *buffers;        /* program->buffer_count nodes whose memory is meant */
    const bd_plan_scalar *scalars; /* program->scalar_count */
    const uint32_t *fault_records; /* by tag; with BD_FAULT_WRAPS */
    uint32_t fault_count;
    bool copies_in_place; /* nothing is done if source and destination are one memory */
} bd_lowered;

/* Everything lives in the arena. INTERNAL if the program breaks a rule of the kernel IR, LIMIT if
 * it is too large for it. */
bd_error *bd_lower(bd_region *region, bd_arena *arena, bd_lowered *out) BD_MUST_USE;
