/* SPDX-License-Identifier: Apache-2.0
 * Sizes to grids. */
#include "backends/cfamily/print.h"
#include "backends/cuda/kernel.h"
#include "backends/cuda/sizes.h"

enum {
    TILES_AT_ONCE = 16, /* blocks a processor, of a product */
    BLOCKS_AT_ONCE = 8, /* and of a block a row */
    SCRATCH_MOST = 256 << 20,
};

/* So many lanes that their scratch is not too much, at least one. */
static int64_t lanes_of(int64_t wanted, int64_t most, int64_t bytes)
{
    int64_t lanes = bd_least(wanted, most);
    if (bytes > 0)
        lanes = bd_least(lanes, SCRATCH_MOST / bytes);
    return lanes < 1 ? 1 : lanes;
}

static bd_cuda_grid product_grid(const bd_kernel *kernel, const int64_t *ints, int processors)
{
    const bd_kir *program = kernel->program;
    bd_cuda_grid tiled;
    if (bd_cuda_product_grid(kernel, ints, processors, &tiled))
        return tiled;
    int64_t tile = BD_CFAMILY_TILE;
    int64_t tiles = bd_extent_of(program, ints, BD_KIR_BATCH) *
                    ((bd_extent_of(program, ints, BD_KIR_M) + tile - 1) / tile) *
                    ((bd_extent_of(program, ints, BD_KIR_N) + tile - 1) / tile);
    int64_t lanes = bd_least(tiles, (int64_t)processors * TILES_AT_ONCE);
    return (bd_cuda_grid){.function = kernel->product, .blocks = (unsigned)lanes, .lanes = lanes};
}

static bd_cuda_grid attention_grid(const bd_kernel *kernel, const int64_t *ints, int processors)
{
    const bd_kir *program = kernel->program;
    bd_cuda_grid tiled;
    if (bd_cuda_attention_grid(kernel, ints, processors, &tiled))
        return tiled;
    int64_t rows =
        bd_extent_of(program, ints, BD_KIR_BATCH) * bd_extent_of(program, ints, BD_KIR_M);
    int64_t bytes = bd_extent_of(program, ints, BD_KIR_N) * 8;
    bd_cuda_grid grid = {.function = kernel->attend};
    if (rows == 0)
        return grid;
    grid.lanes = lanes_of(rows, (int64_t)processors * BLOCKS_AT_ONCE, bytes);
    grid.blocks = (unsigned)grid.lanes;
    grid.scratch_bytes = (size_t)(grid.lanes * bytes);
    return grid;
}

bd_cuda_grid bd_cuda_grid_of(const bd_kernel *kernel, const int64_t *ints, int processors)
{
    switch (kernel->program->family) {
    case BD_KIR_CONTRACTION:
        return product_grid(kernel, ints, processors);
    case BD_KIR_ATTENTION:
        return attention_grid(kernel, ints, processors);
    case BD_KIR_LOOP:
        break;
    }
    return bd_cuda_loop_grid(kernel, ints, processors);
}
