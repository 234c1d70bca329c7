/* SPDX-License-Identifier: Apache-2.0
 * Index arithmetic of lowering: where an element of a node lies, as an affine function of the axes
 * of a region. A position groups the dims of a node in runs; each run has one affine index, the
 * row-major number within its dims, so that dims which nobody tells apart stay one axis. Cutting a
 * run in two may need an axis to be split; the region does that (engine/lower/region.h).
 * Plain data in the planning arena; pure functions. Thread: device. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/integer.h"
#include "proto/base/arena.h"
#include "proto/shape.h"

enum {
    BD_AXES_MAX = 12,
    BD_TERMS_MAX = 16,
    BD_VIRTUAL_AXIS = 64, /* axis numbers from here on are values that the region computes */
    BD_FACTORS_MAX = 48,
};

typedef struct bd_term {
    uint8_t axis;
    bd_int factor;
} bd_term;

typedef struct bd_affine {
    bd_int offset;
    uint32_t count;
    bd_term terms[BD_TERMS_MAX];
} bd_affine;

typedef struct bd_run {
    uint32_t dim_count;
    bd_affine index;
} bd_run;

/* The dims of all runs together are the node's; rank 0 has no run. */
typedef struct bd_position {
    uint32_t run_count;
    bd_run *runs;
} bd_position;

/* ---- products of symbolic integers ---- */
bd_int bd_dims_product(bd_ints *ints, const bd_int *dims, uint32_t count);
/* Whether the products are equal on every arrival, as far as their factors show. */
bool bd_product_equal(bd_ints *ints, bd_int a, bd_int b);
/* a / b where the factors of b are among those of a. */
bool bd_product_divide(bd_ints *ints, bd_int a, bd_int b, bd_int *out_quotient);

/* ---- affine functions ---- */
bd_affine bd_affine_const(bd_int offset);
bd_affine bd_affine_axis(uint8_t axis);
bd_affine bd_affine_scale(bd_ints *ints, const bd_affine *a, bd_int factor);
/* False if there would be more than BD_TERMS_MAX terms. */
bool bd_affine_add(bd_ints *ints, bd_affine *a, const bd_affine *b);
bool bd_affine_equal(const bd_ints *ints, const bd_affine *a, const bd_affine *b);
uint32_t bd_affine_axes(const bd_affine *a); /* bits of the real axes that it depends on */
bool bd_affine_has_virtual(const bd_affine *a);
/* Axis becomes outer * inner_extent + inner. False as for bd_affine_add. */
bool bd_affine_split(bd_ints *ints, bd_affine *a, uint8_t axis, bd_int inner_extent, uint8_t outer,
                     uint8_t inner);

/* ---- positions ---- */
uint32_t bd_position_axes(const bd_position *position);
bool bd_position_has_virtual(const bd_position *position);
/* The row-major number of the element in a contiguous buffer of these dims. */
bool bd_position_linear(bd_ints *ints, const bd_position *position, const bd_int *dims,
                        bd_affine *out);

/* Cuts one run's index so that it is outer * inner_product + inner with inner < inner_product.
 * extents[axis] are the region's. */
typedef enum bd_cut {
    BD_CUT_DONE,
    BD_CUT_SPLIT_AXIS, /* *out_axis must be split, with *out_extent as the inner part; then again */
    BD_CUT_IMPOSSIBLE,
} bd_cut;

typedef struct bd_cut_request {
    const bd_affine *index;
    bd_int inner_product, outer_product;
    const bd_int *extents;         /* of the axes */
    const bd_int *virtual_extents; /* of BD_VIRTUAL_AXIS + i */
} bd_cut_request;

bd_cut bd_affine_cut(bd_ints *ints, const bd_cut_request *request, bd_affine *out_outer,
                     bd_affine *out_inner, uint8_t *out_axis, bd_int *out_extent);
