/* SPDX-License-Identifier: Apache-2.0
 * Sizes to blocks. */
#include "backends/cpu/gemm_parts.h"

enum {
    BLOCK_ROWS = 128,
    BLOCK_PANELS = 8,             /* of columns */
    BLOCK_A_BYTES = 512 << 10,    /* of packed A: it stays in the second cache */
    ITEMS_WANTED = 16,            /* enough for workers of different speed */
    SPLIT_K_LEAST = 1024,
    SPLITS_MAX = 16,
    LINE_BYTES = 64,
    CACHE_SETS = 1024,            /* of the second cache; half of them, and half of its ways */
    CACHE_WAYS = 8,
    ONE_PANEL = 16,
};
/* Below this an item is too small to be worth handing to another worker. */
static const double ITEM_FLOPS_LEAST = 6e6;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t ceiling(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Tenths of a cycle for each k: two vector products, two loads a cycle, four cycles of latency. */
void bd_gemm_costs(bd_gemm *gemm)
{
    enum { VECTORS = 2, PANEL_COST = 2 };
    int best[BD_MICRO_ROWS_MAX + 1] = {0};
    for (int rows = 1; rows <= BD_MICRO_ROWS_MAX; rows++) {
        int products = rows * VECTORS * 5, loads = (rows + VECTORS) * 5;
        int cost = products > loads ? products : loads;
        cost = (cost < 40 ? 40 : cost) + PANEL_COST;
        gemm->row_costs[rows] = bd_micro_has(&gemm->target, VECTORS, rows) ? cost : 0;
        for (int piece = 1; piece <= rows; piece++) {
            int whole = gemm->row_costs[piece] + best[rows - piece];
            if (gemm->row_costs[piece] && (piece == 1 || whole < best[rows])) {
                best[rows] = whole;
                gemm->first_piece[rows] = piece;
            }
        }
    }
    for (int rows = 1; rows <= BD_MICRO_ROWS_MAX; rows++)
        if (!gemm->row_costs[rows])
            gemm->row_costs[rows] = -best[rows]; /* only as a rest, in pieces */
}

static int64_t choose_rows(const bd_gemm *gemm, int64_t m)
{
    if (m <= 4)
        return most(m, 1);
    int64_t chosen = 1, chosen_cost = INT64_MAX;
    for (int64_t rows = 4; rows <= BD_MICRO_ROWS_MAX; rows++) {
        if (gemm->row_costs[rows] <= 0)
            continue;
        int64_t rest = m % rows, cost = m / rows * gemm->row_costs[rows];
        while (rest > 0) {
            cost += gemm->row_costs[gemm->first_piece[rest]];
            rest -= gemm->first_piece[rest];
        }
        if (m >= rows && cost <= chosen_cost) {
            chosen = rows;
            chosen_cost = cost;
        }
    }
    return chosen;
}

int64_t bd_gemm_rows_at(const bd_gemm *gemm, const bd_gemm_shape *shape, int64_t m)
{
    int64_t full = shape->m / shape->panel_rows * shape->panel_rows;
    return m < full ? shape->panel_rows : gemm->first_piece[shape->m - m];
}

int64_t bd_gemm_vectors_at(const bd_gemm *gemm, const bd_gemm_shape *shape, int64_t n)
{
    int64_t left = ceiling(shape->n - n, gemm->lanes);
    return left >= shape->vectors ? shape->vectors : left == 3 ? 4 : left;
}

/* Panels of a block so that blocks of about `wanted` panels come out alike. */
static int64_t even_panels(int64_t panels, int64_t wanted)
{
    int64_t blocks = most(1, (panels + wanted / 2) / most(1, wanted));
    return most(1, ceiling(panels, blocks));
}

static void set_blocks(const bd_gemm *gemm, bd_gemm_shape *shape)
{
    int64_t columns = shape->vectors * gemm->lanes, rows = shape->panel_rows;
    int64_t a_rows = BLOCK_A_BYTES / (most(shape->k, 1) * gemm->element_bytes);
    int64_t m_panels = ceiling(shape->m, rows), n_panels = ceiling(shape->n, columns);
    int64_t m_wanted = most(1, least(BLOCK_ROWS, a_rows) / rows), n_wanted = BLOCK_PANELS;
    for (;;) {
        shape->block_m = even_panels(m_panels, m_wanted) * rows;
        shape->block_n = even_panels(n_panels, n_wanted) * columns;
        shape->blocks_m = ceiling(shape->m, shape->block_m);
        shape->blocks_n = ceiling(shape->n, shape->block_n);
        int64_t items = shape->batch * shape->blocks_m * shape->blocks_n;
        double flops = 2.0 * (double)shape->block_m * (double)shape->block_n * (double)shape->k;
        if (items >= ITEMS_WANTED || flops < 2 * ITEM_FLOPS_LEAST || (m_wanted == 1 && n_wanted == 1))
            break;
        if (n_wanted > 2 || m_wanted == 1)
            n_wanted = ceiling(n_wanted, 2);
        else
            m_wanted = ceiling(m_wanted, 2);
    }
}

static void set_splits(bd_gemm_shape *shape)
{
    int64_t items = shape->batch * shape->blocks_m * shape->blocks_n;
    shape->splits = 1;
    shape->split_k = shape->k;
    if (items > 4 || items == 0 || shape->k < 2 * SPLIT_K_LEAST)
        return;
    shape->splits = least(shape->k / SPLIT_K_LEAST, SPLITS_MAX);
    shape->split_k = ceiling(shape->k, shape->splits);
    shape->splits = ceiling(shape->k, shape->split_k);
}

static int64_t int_of(const int64_t *ints, bd_kir_int integer)
{
    return integer.argument < 0 ? integer.value : ints[integer.argument];
}

/* Whether elements a step apart, k of them, fall on so few sets of the second cache that they do
 * not stay there while other panels are worked on. */
static bool crowded(int64_t step_bytes, int64_t k)
{
    int64_t apart = step_bytes & -step_bytes; /* the power of two in it */
    return apart >= LINE_BYTES && k > CACHE_WAYS * (CACHE_SETS * LINE_BYTES / apart);
}

/* others: how many blocks of the other operand meet each block of this one. */
static void set_side(const bd_gemm *gemm, const bd_gemm_operand *operand, int rows_axis,
                     const int64_t *ints, const bd_gemm_shape *shape, int64_t others,
                     bd_gemm_side *side)
{
    bool is_a = operand == &gemm->a;
    side->batches = operand->batched ? shape->batch : 1;
    side->across = !operand->along_k;
    if (operand->plain) {
        side->step_k = int_of(ints, operand->access.strides[gemm->axis_k]);
        side->step_rows = rows_axis < 0 ? 1 : int_of(ints, operand->access.strides[rows_axis]);
        side->across = side->step_k != 1 || side->step_rows == 1;
        bool once = (is_a ? shape->n : shape->m) <= ONE_PANEL && shape->k <= BD_GEMM_K_CHUNK;
        if (side->step_rows == 1 && (once || shape->splits > 1 ||
                                     !crowded(side->step_k * gemm->element_bytes, shape->k))) {
            side->source = BD_GEMM_DIRECT;
            return;
        }
    }
    bool again = shape->batch > 1 && !operand->batched; /* the same for every batch point */
    side->source = others == 1 && !again && shape->splits == 1 && !side->across ? BD_GEMM_LOCAL
                                                                               : BD_GEMM_SHARED;
    if (shape->blocks_m * shape->blocks_n * shape->splits == 1 && !again)
        side->source = BD_GEMM_LOCAL;
    if (side->source == BD_GEMM_SHARED)
        side->parts = side->across ? ceiling(shape->k, BD_GEMM_PACK_ROWS)
                                   : (is_a ? shape->blocks_m : shape->blocks_n);
}

static size_t place(size_t *total_bytes, int64_t elements, int64_t element_bytes)
{
    size_t at = *total_bytes;
    *total_bytes += ((size_t)(elements * element_bytes) + 63) & ~(size_t)63;
    return at;
}

static void set_places(const bd_gemm *gemm, bd_gemm_shape *shape)
{
    int64_t bytes = gemm->element_bytes, columns = shape->vectors * gemm->lanes;
    shape->a.block_elements = (shape->block_m * shape->k + 2 * BD_GEMM_PAD) & -(int64_t)BD_GEMM_PAD;
    shape->a.batch_elements = shape->a.block_elements * shape->blocks_m;
    shape->b.block_elements = (shape->block_n * shape->k + 2 * BD_GEMM_PAD) & -(int64_t)BD_GEMM_PAD;
    shape->b.batch_elements = shape->b.block_elements * shape->blocks_n;
    shape->shared_bytes = shape->worker_bytes = 0;
    bool a_shared = shape->a.source == BD_GEMM_SHARED, b_shared = shape->b.source == BD_GEMM_SHARED;
    bool a_local = shape->a.source == BD_GEMM_LOCAL;
    int64_t b_local = shape->b.source == BD_GEMM_LOCAL ? shape->b.block_elements
                      : b_shared ? 0 : shape->k * columns; /* DIRECT: its last panel */
    shape->a.shared_at = place(&shape->shared_bytes,
                               a_shared ? shape->a.batches * shape->a.batch_elements : 0, bytes);
    shape->b.shared_at = place(&shape->shared_bytes,
                               b_shared ? shape->b.batches * shape->b.batch_elements : 0, bytes);
    int64_t sums = shape->batch * shape->m * shape->blocks_n * shape->block_n;
    shape->partial_at =
        place(&shape->shared_bytes, shape->splits > 1 ? shape->splits * sums : 0, bytes);
    shape->worker_a = place(&shape->worker_bytes, a_local ? shape->a.block_elements : 0, bytes);
    shape->worker_b = place(&shape->worker_bytes, b_local, bytes);
    shape->worker_c = place(&shape->worker_bytes, shape->block_m * shape->block_n, bytes);
    shape->worker_temp = place(&shape->worker_bytes,
                               BD_GEMM_PAD * BD_GEMM_TURN_COLUMNS + BD_GEMM_PAD * columns, bytes);
}

void bd_gemm_shape_of(const bd_gemm *gemm, const int64_t *ints, bd_gemm_shape *out)
{
    const bd_kir *program = gemm->program;
    int64_t sizes[BD_KIR_K + 1] = {0};
    for (int role = 0; role <= BD_KIR_K; role++)
        sizes[role] = 1;
    for (int axis = 0; axis < program->axis_count; axis++)
        sizes[program->axes[axis].role] *= most(0, int_of(ints, program->axes[axis].extent));
    *out = (bd_gemm_shape){.batch = sizes[BD_KIR_BATCH],
                           .m = sizes[BD_KIR_M],
                           .n = sizes[BD_KIR_N],
                           .k = sizes[BD_KIR_K]};
    out->vectors = out->n <= gemm->lanes ? 1 : out->m <= 4 && out->n > 2 * gemm->lanes ? 4 : 2;
    out->panel_rows = choose_rows(gemm, out->m);
    set_blocks(gemm, out);
    set_splits(out);
    set_side(gemm, &gemm->a, gemm->axis_m, ints, out, out->blocks_n, &out->a);
    set_side(gemm, &gemm->b, gemm->axis_n, ints, out, out->blocks_m, &out->b);
    if (gemm->plain_store && out->splits == 1 && out->k <= BD_GEMM_K_CHUNK) {
        int64_t across = gemm->axis_n < 0 ? 1 : int_of(ints, gemm->out.strides[gemm->axis_n]);
        out->direct_store = across == 1;
        out->out_step = gemm->axis_m < 0 ? 0 : int_of(ints, gemm->out.strides[gemm->axis_m]);
    }
    set_places(gemm, out);
}
