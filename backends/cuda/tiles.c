/* SPDX-License-Identifier: Apache-2.0
 * How products and attention by tiles are launched: which tiles, in how many pieces of k, read
 * how. */
#include <stdlib.h>

#include "backends/cfamily/print.h"
#include "backends/cuda/kernel.h"
#include "backends/cuda/sizes.h"

enum {
    PIECE_DEPTH = 64,  /* a piece of k is at least so long */
    EDGE_DEPTH = 192,  /* what a tile costs beside its k, as if that were so much longer */
    PIECES_BYTES_MOST = 256 << 20,
    BLOCKS_MOST = INT32_MAX,
    JOIN_DEPTH = 64,   /* the launch that joins pieces, likewise */
    JOIN_BLOCKS = 8, /* a processor */
    JOIN_ELEMENTS = 1 << 16, /* sums of one piece that are joined in the time of JOIN_DEPTH */
    COLUMNS_AT_ONCE = 8,
};
static const int64_t ADDRESS_MOST = INT32_MAX;

typedef struct sizes {
    int64_t batch, m, n, k, e;
} sizes;

static int64_t extent_at(const bd_kir *program, const int64_t *ints, int axis)
{
    return bd_kir_int_value(program->axes[axis].extent, ints);
}

/* Whether all that a line of strides reaches fits into 32 bits. */
static bool fits(const bd_kir *program, const int64_t *ints, bd_kir_int offset,
                 const bd_kir_int *strides)
{
    int64_t reach = llabs(bd_kir_int_value(offset, ints));
    for (int axis = 0; axis < program->axis_count; axis++) {
        int64_t stride = llabs(bd_kir_int_value(strides[axis], ints));
        int64_t steps = extent_at(program, ints, axis) - 1;
        if (steps > 0 && stride > ADDRESS_MOST / steps)
            return false;
        reach += steps > 0 ? stride * steps : 0;
    }
    return reach <= ADDRESS_MOST;
}

static bool all_fits(const bd_kir *program, const int64_t *ints, const sizes *z)
{
    const int64_t each[] = {z->batch, z->m, z->n, z->k, z->e};
    for (int i = 0; i < 5; i++)
        if (each[i] < 1 || each[i] > ADDRESS_MOST)
            return false;
    for (int i = 0; i < program->access_count; i++)
        if (!fits(program, ints, program->accesses[i].offset, program->accesses[i].strides))
            return false;
    for (int i = 0; i < program->guard_count; i++)
        if (!fits(program, ints, program->guards[i].offset, program->guards[i].strides))
            return false;
    return true;
}

/* What a plain operand reads. */
static const bd_kir_access *access_of(const bd_kir *program, bd_kir_phase_kind kind)
{
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        for (int i = phase->first; phase->kind == kind && i < phase->first + phase->count; i++)
            if (program->instrs[i].code == BD_KIR_LOAD)
                return &program->accesses[program->instrs[i].index];
    }
    return NULL;
}

/* Whether runs of `step` elements along a role begin at whole multiples of it. */
static bool runs(const bd_kir *program, const int64_t *ints, const bd_kir_access *access,
                 bd_kir_role role, int64_t step)
{
    int64_t run = 1;
    bool inside = true;
    for (int axis = program->axis_count - 1; axis >= 0; axis--) {
        int64_t extent = extent_at(program, ints, axis);
        int64_t stride = bd_kir_int_value(access->strides[axis], ints);
        if (extent == 1)
            continue;
        bool of_role = program->axes[axis].role == role;
        if (of_role && inside && stride == run)
            run *= extent;
        else if (stride % step != 0)
            return false;
        else
            inside = inside && !of_role;
    }
    return run % step == 0 && bd_kir_int_value(access->offset, ints) % step == 0;
}

/* The stride of a role's innermost axis that is no single point, and how long it is. */
static int64_t innermost(const bd_kir *program, const int64_t *ints, const bd_kir_access *access,
                         bd_kir_role role, int64_t *out_extent)
{
    *out_extent = 1;
    for (int axis = program->axis_count - 1; axis >= 0; axis--)
        if (program->axes[axis].role == role && extent_at(program, ints, axis) != 1) {
            *out_extent = extent_at(program, ints, axis);
            return llabs(bd_kir_int_value(access->strides[axis], ints));
        }
    return INT64_MAX;
}

/* Whether neighbouring threads should read neighbouring k. */
static bool by_depth(const bd_kir *program, const int64_t *ints, const bd_kir_access *access,
                     const bd_cfamily_side *side)
{
    int64_t rows_extent = 1, k_extent = 1;
    if (!access)
        return false;
    int64_t k = innermost(program, ints, access, side->depth, &k_extent);
    int64_t row = innermost(program, ints, access, side->rows, &rows_extent);
    return k != row ? k != 0 && (k < row || row == 0) : k_extent > rows_extent;
}

/* Flags of a plan. */
static int64_t ways_to_read(const bd_kernel *kernel, const int64_t *ints)
{
    const bd_kir *program = kernel->program;
    const struct {
        const bd_cfamily_side *side;
        bd_kir_phase_kind kind;
        int64_t wide, by_depth;
    } sides[] = {{&kernel->a, BD_KIR_OPERAND_A, BD_CFAMILY_A_WIDE, BD_CFAMILY_A_BY_DEPTH},
                 {&kernel->b, BD_KIR_OPERAND_B, BD_CFAMILY_B_WIDE, BD_CFAMILY_B_BY_DEPTH},
                 {&kernel->c, BD_KIR_OPERAND_C, BD_CFAMILY_C_WIDE, BD_CFAMILY_C_BY_DEPTH}};
    int64_t step = kernel->tiles == BD_CFAMILY_FLOAT_TILES ? 4 : 8, ways = 0;
    for (int i = 0; i < 3; i++) {
        const bd_cfamily_side *side = sides[i].side;
        const bd_kir_access *access = access_of(program, sides[i].kind);
        if (side->plain &&
            runs(program, ints, access, side->along ? side->depth : side->rows, step))
            ways |= sides[i].wide;
        if (by_depth(program, ints, access, side))
            ways |= sides[i].by_depth;
    }
    return ways;
}

/* Kinds of tiles, with what one costs for each k. */
typedef enum tile_kind { SMALL, LARGE, HUGE, KINDS } tile_kind;
static const struct {
    int64_t rows, columns, cost;
    double together; /* what each of several on one processor costs */
} kinds[KINDS] = {[SMALL] = {BD_CFAMILY_SMALL, BD_CFAMILY_SMALL, 5, 0.55},
                  [LARGE] = {BD_CFAMILY_LARGE, BD_CFAMILY_LARGE, 12, 0.75},
                  [HUGE] = {BD_CFAMILY_LARGE, 2 * BD_CFAMILY_LARGE, 14, 1}};

/* Bytes of shared memory beside the tables: the ring of slices, then the tile of sums. */
static size_t room_of(bd_cfamily_tiles tiles, tile_kind kind)
{
    size_t rows = (size_t)kinds[kind].rows, columns = (size_t)kinds[kind].columns;
    size_t sums = rows * (columns + 8) * 4, ring = 4 * (rows + columns) * 32 * 2;
    if (kind == HUGE)
        ring = 4 * (rows + columns) * 64 * 2;
    else if (tiles == BD_CFAMILY_FLOAT_TILES)
        ring = 2 * (rows + columns + 8) * 16 * 4;
    return ring > sums ? ring : sums;
}

size_t bd_cuda_product_room(bd_cfamily_tiles tiles, bool huge)
{
    return room_of(tiles, huge ? HUGE : LARGE);
}

typedef struct cut {
    tile_kind kind;
    int64_t tiles, pieces;
    double time;
} cut;

/* Rounds of all processors, times what each takes. */
static double time_of(const sizes *z, const cut *c, int processors)
{
    double rounds = (double)bd_ceiling(c->tiles * c->pieces, processors);
    rounds = rounds > 1 ? rounds * kinds[c->kind].together : rounds;
    double depth = (double)bd_ceiling(z->k, c->pieces) + EDGE_DEPTH;
    double time = rounds * depth * (double)kinds[c->kind].cost;
    if (c->pieces > 1)
        time += (double)kinds[LARGE].cost * JOIN_DEPTH *
                (1 + (double)(z->batch * z->m * z->n * c->pieces) / JOIN_ELEMENTS / processors);
    return time;
}

/* The best way to cut a product into tiles of a kind and pieces of k. */
static void consider(const sizes *z, tile_kind kind, int processors, cut *best)
{
    cut c = {.kind = kind};
    c.tiles = z->batch * bd_ceiling(z->m, kinds[kind].rows) * bd_ceiling(z->n, kinds[kind].columns);
    int64_t most = z->k / PIECE_DEPTH, room = PIECES_BYTES_MOST / 4 / z->batch / z->m / z->n;
    int64_t useful = 2 * processors / c.tiles + 1;
    most = most < room ? most : room;
    most = most < useful ? most : useful;
    for (c.pieces = 1; c.pieces == 1 || c.pieces <= most; c.pieces += 1 + c.pieces / 4) {
        c.time = time_of(z, &c, processors);
        if (best->tiles == 0 || c.time < best->time)
            *best = c;
    }
}

static bool columns_fit(const bd_kernel *kernel, const sizes *z, int64_t plan)
{
    const int64_t wide = BD_CFAMILY_A_WIDE | BD_CFAMILY_B_WIDE;
    return z->m <= BD_CFAMILY_FEW_ROWS && kernel->columns && (plan & wide) == wide &&
           bd_ceiling(z->batch * z->n, COLUMNS_AT_ONCE) <= BLOCKS_MOST;
}

static sizes sizes_of(const bd_kir *program, const int64_t *ints)
{
    sizes z = {1, 1, 1, 1, 1};
    int64_t *const by_role[] = {[BD_KIR_BATCH] = &z.batch,
                                [BD_KIR_M] = &z.m,
                                [BD_KIR_N] = &z.n,
                                [BD_KIR_K] = &z.k,
                                [BD_KIR_E] = &z.e};
    for (int axis = 0; axis < program->axis_count; axis++)
        *by_role[program->axes[axis].role] *= extent_at(program, ints, axis);
    return z;
}

/* A block joins some rows of up to 256 columns at once. */
static int64_t blocks_to_join(const sizes *z, int processors)
{
    int64_t width = BD_CFAMILY_THREADS;
    while (width / 2 >= z->n)
        width /= 2;
    int64_t rows = BD_CFAMILY_JOIN_ROWS * BD_CFAMILY_THREADS / width;
    int64_t blocks = z->batch * bd_ceiling(z->m, rows) * bd_ceiling(z->n, width);
    return bd_least(blocks, (int64_t)processors * JOIN_BLOCKS);
}

/* 0: sums do not lie as `joins` would take them. */
static int64_t blocks_of_joins(const bd_kernel *kernel, const int64_t *ints, const sizes *z)
{
    if (!kernel->joins || !bd_cuda_may_be_wide(kernel, ints))
        return 0;
    int64_t each = (int64_t)BD_CFAMILY_THREADS * kernel->loop.wide * BD_CFAMILY_JOINS_RUNS;
    return bd_least(bd_ceiling(z->batch * z->m * z->n, each), BLOCKS_MOST);
}

bool bd_cuda_product_grid(const bd_kernel *kernel, const int64_t *ints, int processors,
                          bd_cuda_grid *out)
{
    const bd_kir *program = kernel->program;
    sizes z = sizes_of(program, ints);
    if (kernel->tiles == BD_CFAMILY_NO_TILES || !all_fits(program, ints, &z))
        return false;
    int64_t plan = ways_to_read(kernel, ints);
    if (columns_fit(kernel, &z, plan)) {
        int64_t blocks = bd_ceiling(z.batch * z.n, COLUMNS_AT_ONCE);
        *out = (bd_cuda_grid){
            .function = kernel->columns, .blocks = (unsigned)blocks, .lanes = plan};
        return true;
    }
    const int64_t wide = BD_CFAMILY_A_WIDE | BD_CFAMILY_B_WIDE;
    void *const functions[] = {
        [SMALL] = kernel->small, [LARGE] = kernel->large, [HUGE] = kernel->huge};
    cut best = {0};
    for (tile_kind kind = SMALL; kind < KINDS; kind++)
        if (functions[kind] && (kind != HUGE || (plan & wide) == wide))
            consider(&z, kind, processors, &best);
    if (best.tiles * best.pieces > BLOCKS_MOST)
        return false;
    int64_t join_blocks = blocks_to_join(&z, processors);
    *out = (bd_cuda_grid){.function = functions[best.kind],
                          .blocks = (unsigned)(best.tiles * best.pieces),
                          .lanes = plan | best.pieces,
                          .shared_bytes = room_of(kernel->tiles, best.kind)};
    out->joins_blocks = (unsigned)blocks_of_joins(kernel, ints, &z);
    if (best.pieces > 1) {
        out->then = out->joins_blocks ? kernel->joins : kernel->join;
        out->then_blocks = out->joins_blocks ? out->joins_blocks : (unsigned)join_blocks;
        out->scratch_bytes = (size_t)(best.pieces * z.batch * z.m * z.n) * 4;
    }
    double work = (double)z.batch * (double)z.m * (double)z.n * (double)z.k;
    out->join_blocks = (unsigned)join_blocks;
    out->convolves = bd_cuda_dnn_form_of(kernel, ints, work, &out->dnn);
    out->by_library = bd_cuda_blas_form_of(kernel, ints, plan, work, &out->blas);
    if (out->by_library) {
        int64_t deep = z.batch * bd_ceiling(z.k, BD_CFAMILY_COPY_DEPTH);
        out->copy_blocks[0] = (unsigned)(deep * bd_ceiling(z.m, BD_CFAMILY_COPY_ROWS));
        out->copy_blocks[1] = (unsigned)(deep * bd_ceiling(z.n, BD_CFAMILY_COPY_ROWS));
        if (out->blas.scratch_bytes > out->scratch_bytes)
            out->scratch_bytes = out->blas.scratch_bytes;
    }
    return true;
}

/* Queries, and two blocks each of keys and values; then the tile of sums. */
size_t bd_cuda_attention_room(const bd_kir *program, int64_t width)
{
    size_t row = (size_t)width * 2, block = BD_CFAMILY_KEYS * row;
    size_t sums = (size_t)BD_CFAMILY_QUERIES * ((size_t)width + 8) * 4;
    bool product = bd_cfamily_has_product(program);
    size_t blocks = product ? BD_CFAMILY_QUERIES * row + 4 * block : 2 * block;
    return blocks > sums ? blocks : sums;
}

/* Queries, and the ring of keys and values, whose last slot has room for the sums if it is large
 * enough. */
size_t bd_cuda_groups_room(int64_t width)
{
    size_t block = (size_t)BD_CFAMILY_QUERIES * (size_t)width * 2;
    size_t sums = width < BD_CFAMILY_WIDTH_MOST ? (size_t)BD_CFAMILY_QUERIES * 64 * 4 : 0;
    return block * (1 + 2 * BD_CFAMILY_GROUPS_RING) + sums;
}

bool bd_cuda_attention_grid(const bd_kernel *kernel, const int64_t *ints, int processors,
                            bd_cuda_grid *out)
{
    const bd_kir *program = kernel->program;
    sizes z = sizes_of(program, ints);
    const int64_t most = BD_CFAMILY_WIDTH_MOST;
    int64_t width = (z.k > z.e ? z.k : z.e) > most / 2 ? most : most / 2;
    void *function = width == most ? kernel->attend_128 : kernel->attend_64;
    int64_t blocks = z.batch * bd_ceiling(z.m, BD_CFAMILY_QUERIES);
    if (!function || z.k > most || z.e > most || !all_fits(program, ints, &z))
        return false;
    if (blocks > BLOCKS_MOST || z.m + z.n > BLOCKS_MOST / 2)
        return false;
    *out = (bd_cuda_grid){.function = function,
                          .blocks = (unsigned)blocks,
                          .threads = BD_CFAMILY_ATTEND_THREADS,
                          .lanes = ways_to_read(kernel, ints),
                          .shared_bytes = bd_cuda_attention_room(program, width)};
    const int64_t wide = BD_CFAMILY_B_WIDE | BD_CFAMILY_C_WIDE;
    function = width == most ? kernel->groups_128 : kernel->groups_64;
    if (function && (out->lanes & wide) == wide) {
        out->function = function;
        out->blocks = (unsigned)bd_least(blocks, processors);
        out->threads = BD_CFAMILY_GROUPS_THREADS;
        out->shared_bytes = bd_cuda_groups_room(width);
        const bd_kir_access *store = bd_cfamily_plain_store(program);
        if (store && runs(program, ints, store, BD_KIR_E, 8))
            out->lanes |= BD_CFAMILY_OUT_WIDE;
        if (kernel->a.single &&
            runs(program, ints, access_of(program, BD_KIR_OPERAND_A), BD_KIR_K, 8))
            out->lanes |= BD_CFAMILY_QUERIES_WIDE;
    }
    return true;
}
