/* SPDX-License-Identifier: Apache-2.0
 * Shapes: rank and dims, row-major. Pure functions; thread: any. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/base/attr.h"
#include "proto/base/error.h"
#include "proto/dtype.h"

enum { BURN_RANK_MAX = 16 };
#define BURN_ELEMENTS_MAX ((int64_t)1 << 48)

typedef struct burn_shape {
    int32_t rank;
    int64_t dims[BURN_RANK_MAX]; /* only the first rank are meaningful; each >= 0 */
} burn_shape;

bool burn_shape_equal(const burn_shape *a, const burn_shape *b);
/* Product of the dims; the shape must have been checked. */
int64_t burn_shape_elements(const burn_shape *shape);
/* LIMIT if elements or bytes overflow the maxima, INVALID if a dim is negative or the rank too
 * high. */
bd_error *burn_shape_check(const burn_shape *shape, burn_dtype dtype,
                           size_t *out_bytes) BD_MUST_USE;
/* "[3, 4]" into text; always terminated. Returns text. */
enum { BURN_SHAPE_TEXT_MAX = 128 };
const char *burn_shape_text(const burn_shape *shape, char text[BURN_SHAPE_TEXT_MAX]);
/* Broadcast of a and b (NumPy's rule). INVALID names both shapes. */
bd_error *burn_shape_broadcast(const burn_shape *a, const burn_shape *b,
                               burn_shape *out) BD_MUST_USE;

/* How a reshape regroups dims: the shortest runs of input dims and output dims with equal
 * products, from the left, dims of size 1 left out of runs where possible. Part of a trace's key,
 * so that dims in 1:1 groups are known to be equal whatever their size. Groups that take dims of
 * both have equal products on both sides; what cannot be paired (of empty tensors) is taken one
 * side after the other. Fills pairs (input dims taken, output dims taken) and returns the count, at
 * most 2 * RANK_MAX. */
typedef struct burn_reshape_group {
    uint8_t input_count, output_count;
} burn_reshape_group;
int burn_reshape_groups(const burn_shape *input, const burn_shape *output,
                        burn_reshape_group groups[2 * BURN_RANK_MAX]);
