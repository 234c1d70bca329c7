/* SPDX-License-Identifier: Apache-2.0
 * Sizes to grids. */
#include "backends/cfamily/print.h"
#include "backends/cuda/kernel.h"

enum {
    TILES_AT_ONCE = 16, /* blocks a processor, of a product */
    BLOCKS_AT_ONCE = 8, /* and of a block a row */
    SCRATCH_MOST = 256 << 20,
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t extent_of(const bd_kir *program, const int64_t *ints, bd_kir_role role)
{
    int64_t extent = 1;
    for (int axis = 0; axis < program->axis_count; axis++)
        if (program->axes[axis].role == role)
            extent *= bd_kir_int_value(program->axes[axis].extent, ints);
    return extent;
}

/* So many lanes that their scratch is not too much, at least one. */
static int64_t lanes_of(int64_t wanted, int64_t most, int64_t bytes)
{
    int64_t lanes = least(wanted, most);
    if (bytes > 0)
        lanes = least(lanes, SCRATCH_MOST / bytes);
    return lanes < 1 ? 1 : lanes;
}

static bd_cuda_grid product_grid(const bd_kernel *kernel, const int64_t *ints, int processors)
{
    const bd_kir *program = kernel->program;
    bd_cuda_grid tiled;
    if (bd_cuda_product_grid(kernel, ints, processors, &tiled))
        return tiled;
    int64_t tile = BD_CFAMILY_TILE;
    int64_t tiles = extent_of(program, ints, BD_KIR_BATCH) *
                    ((extent_of(program, ints, BD_KIR_M) + tile - 1) / tile) *
                    ((extent_of(program, ints, BD_KIR_N) + tile - 1) / tile);
    int64_t lanes = least(tiles, (int64_t)processors * TILES_AT_ONCE);
    return (bd_cuda_grid){.function = kernel->product, .blocks = (unsigned)lanes, .lanes = lanes};
}

static bd_cuda_grid attention_grid(const bd_kernel *kernel, const int64_t *ints, int processors)
{
    const bd_kir *program = kernel->program;
    bd_cuda_grid tiled;
    if (bd_cuda_attention_grid(kernel, ints, &tiled))
        return tiled;
    int64_t rows =
        extent_of(program, ints, BD_KIR_BATCH) * extent_of(program, ints, BD_KIR_M);
    int64_t bytes = extent_of(program, ints, BD_KIR_N) * 8;
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
