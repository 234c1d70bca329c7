/* SPDX-License-Identifier: Apache-2.0
 * How LOOP programs are launched: which entry, by how many threads a row, in how many pieces. */
#include "backends/cfamily/print.h"
#include "backends/cuda/kernel.h"
#include "backends/cuda/sizes.h"

enum {
    BLOCKS_AT_ONCE = 16, /* a processor */
    SHORT_ROW = 16,      /* up to this a thread does a row alone */
    WARP_ROW = 512,      /* and up to this a warp, in steps */
    FEW_BLOCKS = 4,      /* a processor; fewer: rows are split */
    PIECE = 8192,        /* points that a block of a split row has, at least */
    COLUMN_PIECE = 128,
    COLUMN_BLOCKS = 8,      /* a processor */
    WIDE_COLUMN_BLOCKS = 3, /* which have several columns a thread */
    SCRATCH_MOST = 256 << 20,
    PARTS_MOST = 64, /* threads a row that divide the places of its stores */
    PARTS_ROW = 64,  /* points of such a row, at least */
};
static const int64_t BLOCKS_MOST = 1 << 20; /* of maps: most often a thread has one thing to do */

/* Whether all wide pieces of an access are aligned; buffers are. */
static bool is_aligned(const bd_kir *program, const int64_t *ints, const bd_kir_access *access,
                       int wide, int along)
{
    int64_t size = (int64_t)burn_dtype_size((burn_dtype)program->buffers[access->buffer].dtype);
    int64_t elements = bd_least(16 / size, wide);
    if (bd_kir_int_value(access->offset, ints) % elements != 0)
        return false;
    for (int axis = 0; axis < program->axis_count; axis++)
        if (axis != along && bd_kir_int_value(access->strides[axis], ints) % elements != 0 &&
            bd_kir_int_value(program->axes[axis].extent, ints) > 1)
            return false;
    return true;
}

bool bd_cuda_may_be_wide(const bd_kernel *kernel, const int64_t *ints)
{
    const bd_kir *program = kernel->program;
    int wide = kernel->loop.wide, along = kernel->loop.along;
    if (!wide)
        return false;
    if (bd_kir_int_value(program->axes[along].extent, ints) % wide != 0)
        return false;
    for (int i = 0; i < kernel->wide_count; i++)
        if (!is_aligned(program, ints, &program->accesses[kernel->wide_accesses[i]], wide,
                        along))
            return false;
    return true;
}

/* A thread a row, or some neighbouring ones. */
static bd_cuda_grid by_threads(const bd_kernel *kernel, const int64_t *ints, int64_t rows,
                               int64_t slot_bytes)
{
    bool wide = !kernel->loop.teams && bd_cuda_may_be_wide(kernel, ints);
    bd_cuda_grid grid = {.function = wide ? kernel->vectors : kernel->rows, .team = 1, .splits = 1};
    int64_t most = BLOCKS_MOST * BD_CFAMILY_THREADS;
    int64_t lanes = bd_least(bd_ceiling(rows, wide ? kernel->loop.wide : 1), most);
    if (slot_bytes > 0)
        lanes = bd_least(lanes, SCRATCH_MOST / slot_bytes);
    lanes = lanes < 1 ? 1 : lanes;
    grid.blocks = (unsigned)bd_ceiling(lanes, BD_CFAMILY_THREADS);
    grid.lanes = wide ? (int64_t)grid.blocks * BD_CFAMILY_THREADS : lanes;
    grid.scratch_bytes = (size_t)(lanes * slot_bytes);
    return grid;
}

/* Few rows in so many pieces that all processors have work. */
static void split(bd_cuda_grid *grid, const bd_kernel *kernel, int64_t rows, int64_t groups,
                  int64_t pieces_most, int64_t blocks_wanted)
{
    int64_t splits = bd_least(blocks_wanted / (groups > 0 ? groups : 1), pieces_most);
    if (kernel->loop.reductions == 0 || groups > BD_CFAMILY_COUNTERS || splits < 2)
        return;
    grid->splits = (unsigned)splits;
    grid->blocks = (unsigned)(groups * splits);
    grid->scratch_bytes =
        (size_t)(rows * splits * kernel->loop.reductions * BD_CFAMILY_PARTIAL_BYTES);
}

/* Few rows of many points, each point looked at by several threads, and stored by one. */
static bd_cuda_grid by_parts(const bd_kernel *kernel, int processors, int64_t rows)
{
    int64_t groups = bd_ceiling(rows, BD_CFAMILY_THREADS);
    int64_t parts = bd_least(2 * (int64_t)processors / groups, PARTS_MOST);
    int64_t power = 1; /* which divides places quickly */
    while (power * 2 <= parts)
        power *= 2;
    return (bd_cuda_grid){.function = kernel->parts,
                          .blocks = (unsigned)(groups * power),
                          .lanes = rows,
                          .team = 1,
                          .splits = (unsigned)power};
}

static bd_cuda_grid by_columns(const bd_kernel *kernel, const int64_t *ints, int processors,
                               int64_t rows, int64_t serial)
{
    int64_t wide = (int64_t)BD_CFAMILY_WARP * kernel->loop.wide;
    bool wides = rows >= wide && bd_cuda_may_be_wide(kernel, ints);
    int64_t groups = bd_ceiling(rows, wides ? wide : BD_CFAMILY_WARP);
    bd_cuda_grid grid = {.function = wides ? kernel->downs : kernel->down,
                         .blocks = (unsigned)groups,
                         .lanes = rows,
                         .team = BD_CFAMILY_WARP,
                         .splits = 1};
    split(&grid, kernel, rows, groups, serial / COLUMN_PIECE,
          (int64_t)processors * (wides ? WIDE_COLUMN_BLOCKS : COLUMN_BLOCKS));
    return grid;
}

static bd_cuda_grid by_teams(const bd_kernel *kernel, const int64_t *ints, int processors,
                             int64_t rows, int64_t serial)
{
    int64_t slot_bytes = kernel->program->slot_count * serial * 8;
    bool wide = kernel->wides && bd_cuda_may_be_wide(kernel, ints);
    bool held = wide && serial <= (int64_t)kernel->loop.held * BD_CFAMILY_THREADS;
    int64_t warp_row = held ? (int64_t)kernel->loop.held * BD_CFAMILY_WARP : WARP_ROW;
    bool few = rows < (int64_t)processors * FEW_BLOCKS && serial > BD_CFAMILY_WARP * 4;
    bd_cuda_grid grid = {.function = held   ? kernel->held
                                     : wide ? kernel->wides
                                            : kernel->teams,
                         .team = serial <= warp_row && !few ? BD_CFAMILY_WARP
                                                            : BD_CFAMILY_THREADS,
                         .splits = 1};
    if (held)
        slot_bytes = 0;
    int64_t in_block = BD_CFAMILY_THREADS / (int64_t)grid.team;
    int64_t blocks = bd_least(bd_ceiling(rows, in_block), (int64_t)processors * BLOCKS_AT_ONCE);
    if (slot_bytes > 0)
        blocks = bd_least(blocks, SCRATCH_MOST / (slot_bytes * in_block));
    grid.blocks = (unsigned)(blocks < 1 ? 1 : blocks);
    grid.lanes = grid.blocks * in_block;
    grid.scratch_bytes = (size_t)(grid.lanes * slot_bytes);
    if (!held && grid.team == BD_CFAMILY_THREADS && grid.blocks == rows)
        split(&grid, kernel, rows, rows, serial / PIECE, (int64_t)processors * FEW_BLOCKS);
    return grid;
}

bd_cuda_grid bd_cuda_loop_grid(const bd_kernel *kernel, const int64_t *ints, int processors)
{
    const bd_kir *program = kernel->program;
    int64_t rows = bd_extent_of(program, ints, BD_KIR_PARALLEL);
    int64_t serial = bd_extent_of(program, ints, BD_KIR_SERIAL);
    if (rows == 0)
        return (bd_cuda_grid){.function = kernel->rows};
    if (kernel->loop.down && serial > SHORT_ROW && rows >= BD_CFAMILY_WARP)
        return by_columns(kernel, ints, processors, rows, serial);
    if (kernel->loop.teams && serial > SHORT_ROW)
        return by_teams(kernel, ints, processors, rows, serial);
    if (kernel->loop.parts && serial >= PARTS_ROW &&
        rows <= (int64_t)processors * BD_CFAMILY_THREADS / 2)
        return by_parts(kernel, processors, rows);
    return by_threads(kernel, ints, rows, program->slot_count * serial * 8);
}
