/* SPDX-License-Identifier: Apache-2.0
 * What the files that lower a region share (lower.c, schedule.c, emit_value.c); nobody else
 * includes it. Owner: bd_lower; thread: device. */
#pragma once

#include "engine/lower/lower.h"

typedef enum bd_level {
    BD_LEVEL_UNIFORM, /* scalars only */
    BD_LEVEL_ROW,
    BD_LEVEL_EACH,
} bd_level;

enum { BD_SWEEPS_MAX = 5 };

/* When a value is computed. */
typedef struct bd_stage {
    uint8_t level;
    uint8_t sweep;      /* EACH: the earliest sweep over the row; ROW: before that sweep */
    uint8_t reached;    /* from the roots */
    int8_t first;       /* EACH: the sweep that computes it first; -1: none yet */
    int16_t slot;       /* EACH: kept for later sweeps; -1: computed again */
    uint32_t again;     /* cost of computing it again */
} bd_stage;

typedef struct bd_emitter {
    bd_region *region;
    bd_arena *arena;
    bd_kir_builder *builder;
    uint8_t axis_of[BD_AXES_MAX]; /* program's axis of a region's */
    uint32_t serial;              /* region axes, bits */
    uint32_t order_count;
    uint32_t *order; /* reached values, operands first */
    bd_stage *stages;
    uint8_t *needed[BD_SWEEPS_MAX];
    uint32_t sweep_count;
    bd_kir_value *memo;      /* by value */
    int8_t *memo_sweep;      /* EACH: of which sweep */
    int16_t *sort_slots;     /* SORT: where its keys are */
    bd_kir_value virtual_memo[BD_REGION_VIRTUALS_MAX];
    int8_t virtual_sweep[BD_REGION_VIRTUALS_MAX];
    uint32_t lone_checks; /* virtuals, bits: no address that is emitted has them */
    int8_t sweep; /* being emitted; -1 outside EACH phases */
    BD_VEC(bd_int) ints;
    BD_VEC(bd_node) buffers;
    BD_VEC(bd_plan_scalar) scalars;
    BD_VEC(uint32_t) faults;
} bd_emitter;

/* schedule.c */
bd_error *bd_schedule(bd_emitter *emitter) BD_MUST_USE;
/* Calls visit for each value that one needs directly. */
typedef void (*bd_visit_value)(bd_emitter *emitter, uint32_t value, void *user);
void bd_visit_needs(bd_emitter *emitter, uint32_t value, bd_visit_value visit, void *user);
void bd_visit_affine(bd_emitter *emitter, const bd_affine *index, bd_visit_value visit, void *user);
bool bd_computes_reduce(const bd_emitter *emitter, uint32_t value);
/* The level of an index: its axes and computed places. */
bd_stage bd_stage_of_affine(const bd_emitter *emitter, const bd_affine *index);
/* The level and sweep of a virtual's check. */
bd_stage bd_stage_of_root(const bd_emitter *emitter, const bd_region_root *root);
bd_stage bd_stage_of_check(const bd_emitter *emitter, uint32_t number);

bool bd_is_sort(const bd_emitter *emitter, uint32_t value);

/* emit_value.c */
void bd_emit_value(bd_emitter *emitter, uint32_t value);
bd_kir_value bd_emitted(const bd_emitter *emitter, uint32_t value);
void bd_emit_store(bd_emitter *emitter, const bd_region_root *root);
void bd_emit_check(bd_emitter *emitter, uint32_t number);
void bd_emit_reduce(bd_emitter *emitter, uint32_t value);
/* At the end of the sweep before it: keeps the keys. */
void bd_emit_sort_keys(bd_emitter *emitter, uint32_t value);
void bd_emit_sort(bd_emitter *emitter, uint32_t value);
bd_kir_value bd_emit_cast(bd_emitter *emitter, bd_kir_value value, burn_dtype dtype);
bd_kir_int bd_emit_integer(bd_emitter *emitter, bd_int integer);
