/* SPDX-License-Identifier: Apache-2.0
 * A compiled kernel and how it is launched for given sizes. Immutable once made; thread: any. */
#pragma once

#include "backends/backend.h"
#include "backends/shared/checks.h"
#include "proto/base/arena.h"

struct bd_kernel {
    bd_arena arena;
    const bd_kir *program; /* its own copy */
    bd_checks *checks;     /* NULL: no index is checked */
    bool shares_rows;
    int words;    /* 8-byte arguments of a block */
    void *module; /* the driver's */
    void *rows, *blocks, *product, *attend; /* functions; NULL: not of this program */
};

/* One launch of a function. */
typedef struct bd_cuda_grid {
    void *function;
    unsigned blocks; /* 0: nothing to do */
    int64_t lanes;
    size_t scratch_bytes;
} bd_cuda_grid;
bd_cuda_grid bd_cuda_grid_of(const bd_kernel *kernel, const int64_t *ints, int processors);
