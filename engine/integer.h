/* SPDX-License-Identifier: Apache-2.0
 * Symbolic integers: the sizes, strides and offsets of a graph as expressions over what a trace
 * brings on each arrival. Hash-consed; dims that ops require to be equal are united (union-find),
 * and every expression is built over representatives, so equal numbers mean equal sizes.
 * Owned by a graph, later by its plan; immutable after planning. Thread: device. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/trace.h"
#include "proto/base/arena.h"

typedef uint32_t bd_int; /* number in the table */

enum { BD_INT_0 = 0, BD_INT_1 = 1 }; /* always these constants */

typedef enum bd_int_kind {
    BD_INT_CONST,        /* value */
    BD_INT_VALUE_DIM,    /* a = trace value, b = axis */
    BD_INT_EXTERNAL_DIM, /* a = external slot, b = axis */
    BD_INT_ATTR,         /* a = record, b = attr << 16 | position in its list */
    BD_INT_HISTORY,      /* a = history path (engine/graph.h), b = number in that plan's table */
    BD_INT_ADD,          /* a, b: expressions */
    BD_INT_SUB,
    BD_INT_MUL,
    BD_INT_DIV, /* floor; by zero gives 0 */
    BD_INT_MOD,
    BD_INT_MAX,
    BD_INT_MIN,
} bd_int_kind;

typedef struct bd_int_entry {
    uint8_t kind;
    int64_t value; /* CONST */
    uint32_t a, b;
} bd_int_entry;

typedef struct bd_ints bd_ints;

bd_ints *bd_ints_create(void);
void bd_ints_destroy(bd_ints *ints);
bd_int bd_int_const(bd_ints *ints, int64_t value);
/* A source kind (VALUE_DIM … HISTORY). */
bd_int bd_int_source(bd_ints *ints, bd_int_kind kind, uint32_t a, uint32_t b);
/* Folds constants and neutral elements; MUL and ADD are put in a canonical order. */
bd_int bd_int_add(bd_ints *ints, bd_int a, bd_int b);
bd_int bd_int_sub(bd_ints *ints, bd_int a, bd_int b);
bd_int bd_int_mul(bd_ints *ints, bd_int a, bd_int b);
bd_int bd_int_div(bd_ints *ints, bd_int a, bd_int b);
bd_int bd_int_mod(bd_ints *ints, bd_int a, bd_int b);
bd_int bd_int_max(bd_ints *ints, bd_int a, bd_int b);
bd_int bd_int_min(bd_ints *ints, bd_int a, bd_int b);
/* States that a and b are equal on every arrival that passes validation. */
void bd_int_unite(bd_ints *ints, bd_int a, bd_int b);
bd_int bd_int_find(const bd_ints *ints, bd_int a); /* the representative */
bool bd_int_equal(const bd_ints *ints, bd_int a, bd_int b);
/* Whether a product is known to be equal to a; then its factors. */
bool bd_int_as_product(const bd_ints *ints, bd_int a, bd_int *out_left, bd_int *out_right);
/* Whether the product was made before, of these two representatives; then what stands for it. */
bool bd_int_known_product(const bd_ints *ints, bd_int a, bd_int b, bd_int *out);
bool bd_int_is_const(const bd_ints *ints, bd_int a, int64_t *out_value);
uint32_t bd_int_count(const bd_ints *ints);
const bd_int_entry *bd_int_at(const bd_ints *ints, bd_int a);

/* Values of all entries for one arrival: out has bd_int_count places. history gives a
 * BD_INT_HISTORY entry's value. */
typedef int64_t (*bd_int_history_value)(const void *user, uint32_t path, uint32_t number);
void bd_ints_evaluate(const bd_ints *ints, const bd_trace *trace, bd_int_history_value history,
                      const void *user, int64_t *out);
