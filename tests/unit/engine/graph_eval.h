/* SPDX-License-Identifier: Apache-2.0
 * For tests: what the nodes of a graph of core ops are worth, all in double. Written apart from the
 * kernel IR and its interpreter, so that rules are judged by something else than the code that runs
 * them. */
#pragma once

#include "engine/graph.h"

/* Element arrays by external (bd_graph_external) and scalar (bd_graph_scalar) number; ints are
 * evaluated. */
typedef struct test_bindings {
    const double *const *externals;
    const double *scalars;
    const int64_t *ints;
} test_bindings;

typedef struct test_tensor {
    int rank;
    int64_t dims[16], count;
    double *data;
} test_tensor;

/* Evaluates what the root needs. The caller frees data with free(). False: an op that it does not
 * know. */
bool test_evaluate(bd_graph *graph, bd_node root, const test_bindings *bindings, test_tensor *out);
