/* SPDX-License-Identifier: Apache-2.0
 * A compiled kernel and how it is launched for given sizes. Immutable once made; thread: any. */
#pragma once

#include "backends/backend.h"
#include "backends/cfamily/print.h"
#include "backends/cuda/dnn.h"
#include "backends/shared/checks.h"
#include "proto/base/arena.h"

struct bd_kernel {
    bd_arena arena;
    const bd_kir *program; /* its own copy, folded */
    bd_checks *checks;     /* NULL: no index is checked */
    int words;             /* 8-byte arguments of a block */
    bool by_value;         /* they are passed by value */
    void *modules[BD_CFAMILY_MODULES_MOST]; /* the driver's */
    int module_count;
    /* Functions; NULL: not of this program. */
    void *rows, *rows_many, *parts, *vectors, *vectors_many, *teams, *wides, *held, *down,
        *downs;
    void *product, *attend;
    void *copy_a, *copy_b, *huge, *large, *small, *join, *joins, *columns, *attend_64, *attend_128;
    void *groups_64, *groups_128;
    bd_cfamily_loop loop;
    const uint16_t *wide_accesses; /* those that wide entries reach by wide pieces */
    int wide_count;
    bd_cfamily_tiles tiles;
    bd_cfamily_side a, b, c; /* of tiles; nothing where there is no such operand */
    bd_cuda_blas_end blas;
};

/* One launch of a function. */
typedef struct bd_cuda_grid {
    void *function;
    unsigned blocks;  /* 0: nothing to do */
    unsigned threads; /* of a block; 0: BD_CFAMILY_THREADS */
    int64_t lanes;
    unsigned team, splits; /* of LOOP entries */
    size_t scratch_bytes, shared_bytes;
    void *then; /* NULL, or a second function, with the same arguments */
    unsigned then_blocks;
    bool by_library; /* if it can: `blas`, then `join` if that is not direct */
    bd_cuda_blas_form blas;
    unsigned copy_blocks[2], join_blocks;
    unsigned joins_blocks; /* of `joins`, where it may do what `join` does; or 0 */
    bool convolves; /* by the library, if it can: `dnn`, then likewise */
    bd_cuda_dnn_form dnn;
} bd_cuda_grid;
bd_cuda_grid bd_cuda_grid_of(const bd_kernel *kernel, const int64_t *ints, int processors);
/* Whether the sizes let wide entries reach what they do by whole pieces. */
bool bd_cuda_may_be_wide(const bd_kernel *kernel, const int64_t *ints);
bd_cuda_grid bd_cuda_loop_grid(const bd_kernel *kernel, const int64_t *ints, int processors);
/* False if this product is for the function `product`. */
bool bd_cuda_product_grid(const bd_kernel *kernel, const int64_t *ints, int processors,
                          bd_cuda_grid *out);
/* False if this attention is for the function `attend`. */
bool bd_cuda_attention_grid(const bd_kernel *kernel, const int64_t *ints, int processors,
                            bd_cuda_grid *out);
/* The most shared memory that tiles take. */
size_t bd_cuda_product_room(bd_cfamily_tiles tiles, bool huge);
size_t bd_cuda_attention_room(const bd_kir *program, int64_t width);
size_t bd_cuda_groups_room(int64_t width);
