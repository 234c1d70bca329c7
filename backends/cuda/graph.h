/* SPDX-License-Identifier: Apache-2.0
 * Submissions as CUDA graphs. Thread: device, with its context. */
#pragma once

#include "backends/backend.h"

typedef struct bd_cuda_graphs bd_cuda_graphs;

typedef enum bd_cuda_graph_step {
    BD_CUDA_GRAPH_NONE,     /* launch it */
    BD_CUDA_GRAPH_RUNS,     /* its graph was launched */
    BD_CUDA_GRAPH_CAPTURES, /* launch it, then end */
} bd_cuda_graph_step;
/* lasted_ns: how long one like it ran last time; 0: not known. */
bd_cuda_graph_step bd_cuda_graph_begin(bd_device *device, const bd_submission *submission,
                                       const bd_fault *faults, int64_t lasted_ns);
/* whole: all was launched. False if nothing of it runs. */
bool bd_cuda_graph_end(bd_device *device, bool whole);
void bd_cuda_graphs_close(bd_device *device);
