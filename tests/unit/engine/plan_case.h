/* SPDX-License-Identifier: Apache-2.0
 * For tests: traces written as text, planned, run on a backend and compared with graph_eval.c.
 *
 *     x = f32 3,4 -2 2         an external with random elements between -2 and 2
 *     y = sum x dims=1         an op; numbers are weak scalars, "-" is absent; "a, b = op …" if it
 *                              has several outputs
 *     g, h = grad y x w        gradients of y with respect to x and w
 *     die x; out y g           externals whose handles are freed; values that survive
 *
 * Statements are separated by ";". "." is the shape of rank 0. Letters A, B, C … stand for sizes
 * that the case brings; sizes may be written as "A*B" or "A+1". */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/plan.h"
#include "graph_trace.h"

typedef struct plan_name {
    char text[16];
    test_input input;
} plan_name;

typedef struct plan_case {
    test_trace trace;
    BD_VEC(plan_name) names;
    BD_VEC(uint32_t) outputs;
    BD_VEC(double *) owned;
    uint64_t random;
    const int64_t *sizes; /* what the letters A, B, C … in shapes stand for; NULL: none */
} plan_case;

/* Fails the test if the text is wrong. */
void plan_case_init(plan_case *made, const char *text, const int64_t *sizes);
void plan_case_deinit(plan_case *made);
double plan_random(plan_case *made);

typedef struct plan_values {
    uint32_t count;      /* outputs, in the order of the trace's values */
    double **elements;
    int64_t *element_counts;
} plan_values;

/* Binds the plan to the trace's data and runs it; the test fails if that fails. */
void plan_run(const bd_plan *plan, const plan_case *arrival, const char *driver, plan_values *out);
void plan_values_deinit(plan_values *values);
/* Values of the outputs as graph_eval.c computes them. */
void plan_evaluate(const plan_case *arrival, plan_values *out);
/* Fails with `what` if any element differs by more than tolerance * max(1, |expected|). */
void plan_compare(const char *what, const plan_values *got, const plan_values *expected,
                  double tolerance);
