/* SPDX-License-Identifier: Apache-2.0
 * Sizes to blocks. */
#include "backends/cpu/gemm_parts.h"

enum {
    BLOCK_ROWS = 128,
    BLOCK_PANELS = 8,            /* of columns */
    ITEMS_WANTED = 16,           /* enough for workers of different speed */
    CHUNK_K = 512,               /* panels of both sides together fill the first cache */
    TILE_CHUNK_K = 256,
    THIN_CHUNK_K = 16,           /* rows that are read side by side, in the order of memory */
    THIN_PANELS = 16,
    THIN_COLUMNS_BF16 = 2048,
    THIN_ROWS_BF16 = 8,
    DOT_PANELS = 1,
    STREAM_COLUMNS = 4096, /* whose sums stay in a near cache */
    STREAM_COLUMNS_FLAT = 1024, /* of a K that is not split */
    STREAM_SPLIT_K = 128,
    THIN_BYTES_LEAST = 256 << 10,
    SPLIT_K_LEAST = 1024,
    SPLITS_MAX = 16,
    SPLIT_ITEMS_MOST = 4, /* products of more blocks have work for all without splits */
    LINE_BYTES = 64,
    PAGE_BYTES = 4096,
    NEAR_SETS = 64, /* of the first cache */
    SPARE_WAYS = 3, /* of it, beside rows that fall on one set */
    FAR_SETS = 2048, /* of the second cache */
    FAR_WAYS = 14,
    RESIDENT_BYTES = 1 << 20, /* of rows that stay in the second cache for all columns */
    RESIDENT_PANELS = 4,
    ONE_PANEL = 16,
    OFTEN = 512, /* rows that read a panel of columns */
    ROW_LINES = 64, /* of the first cache, that a panel of rows may take up */
};
/* Multiply-adds of an item that is worth cutting in two. */
static const double ITEM_PRODUCTS_LEAST = 6e6;
static const double TILE_ITEM_PRODUCTS_LEAST = 1.5e7;

static int64_t up_to_unit(int64_t a, int64_t unit)
{
    return ceiling(a, unit) * unit;
}

/* Tenths of a cycle for each k: two vector products, two loads a cycle, four cycles of latency. */
void bd_gemm_costs(bd_gemm *gemm)
{
    enum { PANEL_COST = 2 };
    const int vectors = bd_micro_vectors(&gemm->target, gemm->element);
    int best[BD_MICRO_ROWS_MAX + 1] = {0};
    for (int rows = 1; rows <= BD_MICRO_ROWS_MAX; rows++) {
        int products = rows * vectors * 5, loads = (rows + vectors) * 5;
        int cost = products > loads ? products : loads;
        cost = (cost < 40 ? 40 : cost) + PANEL_COST;
        bool has = bd_micro_has(&gemm->target, gemm->element, vectors, rows);
        gemm->row_costs[rows] = has ? cost : 0;
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

int64_t bd_gemm_chunk_at(const bd_gemm_shape *shape, int64_t k, int64_t *out_first)
{
    int64_t split = k / shape->split_k * shape->split_k;
    *out_first = split + (k - split) / shape->chunk_k * shape->chunk_k;
    return least(least(*out_first + shape->chunk_k, split + shape->split_k), shape->k);
}

/* What chunks of K are multiples of. */
static int64_t unit_of_k(const bd_gemm *gemm)
{
    return gemm->element == BURN_BF16 ? BD_MICRO_PAIRS : 1;
}

static int64_t choose_rows(const bd_gemm *gemm, int64_t m)
{
    if (gemm->row_unit > 1)
        return m > gemm->row_unit ? 2 * gemm->row_unit : gemm->row_unit;
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
    if (gemm->row_unit > 1)
        return least(up_to_unit(shape->m - m, gemm->row_unit), shape->panel_rows);
    return m < shape->full_rows ? shape->panel_rows : gemm->first_piece[shape->m - m];
}

int64_t bd_gemm_vectors_at(const bd_gemm *gemm, const bd_gemm_shape *shape, int64_t n)
{
    int64_t block = shape->columns.block, end = least((n / block + 1) * block, shape->n);
    int64_t left = ceiling(end - n, gemm->lanes);
    if (shape->vectors == 3 && left == 4)
        return 2; /* and 2 more: one alone would be slow */
    return least(left, shape->vectors);
}

int64_t bd_gemm_even_panels(int64_t panels, int64_t wanted)
{
    int64_t blocks = most(1, (panels + wanted / 2) / most(1, wanted));
    return most(1, ceiling(panels, blocks));
}

static void set_blocks(const bd_gemm *gemm, bd_gemm_shape *shape)
{
    int64_t columns = shape->vectors * gemm->lanes, rows = shape->panel_rows;
    int64_t m_panels = ceiling(shape->m, rows), n_panels = ceiling(shape->n, columns);
    int64_t m_wanted = most(1, BLOCK_ROWS / rows), n_wanted = BLOCK_PANELS;
    bool tiles = gemm->row_unit > 1;
    double least_products = tiles ? TILE_ITEM_PRODUCTS_LEAST : ITEM_PRODUCTS_LEAST;
    if (tiles && shape->m * shape->k * gemm->element_bytes <= RESIDENT_BYTES) {
        m_wanted = m_panels; /* so that each item packs its columns, and no other one them too */
        n_wanted = RESIDENT_PANELS;
    }
    bool split = shape->streamed && !shape->swapped && shape->k >= 2 * STREAM_SPLIT_K;
    int64_t stream = split ? STREAM_COLUMNS : STREAM_COLUMNS_FLAT;
    if (shape->thin) {
        m_wanted = m_panels;
        n_wanted = shape->dots                    ? DOT_PANELS
                   : shape->streamed              ? stream / columns
                   : gemm->element == BURN_BF16 ? THIN_COLUMNS_BF16 / columns
                                                  : THIN_PANELS;
    }
    for (;;) {
        shape->rows.block = bd_gemm_even_panels(m_panels, m_wanted) * rows;
        shape->columns.block = bd_gemm_even_panels(n_panels, n_wanted) * columns;
        shape->rows.blocks = ceiling(shape->m, shape->rows.block);
        shape->columns.blocks = ceiling(shape->n, shape->columns.block);
        int64_t items = shape->batch * shape->rows.blocks * shape->columns.blocks;
        double cells = (double)shape->rows.block * (double)shape->columns.block;
        bool tall = items <= SPLIT_ITEMS_MOST &&
                    (split || shape->k >= SPLIT_K_LEAST * SPLITS_MAX / 2);
        if (items >= ITEMS_WANTED || cells * (double)shape->k < least_products || tall ||
            (m_wanted == 1 && n_wanted == 1))
            break;
        if (n_wanted > 2 || m_wanted == 1)
            n_wanted = ceiling(n_wanted, 2);
        else
            m_wanted = ceiling(m_wanted, 2);
    }
}

static void set_splits(const bd_gemm *gemm, bd_gemm_shape *shape)
{
    int64_t items = shape->batch * shape->rows.blocks * shape->columns.blocks;
    int64_t least_k = shape->streamed ? STREAM_SPLIT_K : SPLIT_K_LEAST;
    shape->splits = 1;
    shape->split_k = shape->k;
    if (items > SPLIT_ITEMS_MOST || items == 0 || shape->k < 2 * least_k || shape->dots ||
        (shape->thin && shape->swapped))
        return;
    shape->splits = least(shape->k / least_k, SPLITS_MAX);
    shape->split_k = up_to_unit(ceiling(shape->k, shape->splits), unit_of_k(gemm));
    shape->splits = ceiling(shape->k, shape->split_k);
}

bool bd_gemm_step_of(const bd_gemm *gemm, const int64_t *ints, const bd_kir_int *strides,
                     bd_kir_role role, int64_t missing, int64_t *out_step)
{
    const bd_kir *program = gemm->program;
    int last = bd_kir_axis_of(program, role);
    int64_t step = last < 0 ? missing : bd_kir_int_value(strides[last], ints), reach = 1;
    for (int axis = last; axis >= 0 && program->axes[axis].role == role; axis--) {
        int64_t extent = bd_kir_int_value(program->axes[axis].extent, ints);
        int64_t stride = bd_kir_int_value(strides[axis], ints);
        if (extent == 1)
            continue;
        if (reach == 1)
            step = stride;
        else if (stride != step * reach)
            return false;
        reach *= most(extent, 0);
    }
    *out_step = step;
    return true;
}

/* What vectors along an axis are worth: how many elements are side by side, or nearly so. */
static int64_t worth_of(const bd_gemm *gemm, const bd_gemm_operand *operand, int axis,
                        const int64_t *ints)
{
    enum { SIDE_BY_SIDE = 16, SECOND = 8 }; /* against elements that are loaded one by one */
    int64_t extent = bd_kir_int_value(gemm->program->axes[axis].extent, ints);
    if (operand != &gemm->b || !gemm->windows)
        return extent;
    int64_t stride = bd_kir_int_value(operand->access.strides[axis], ints);
    return extent * (stride == 1 ? SIDE_BY_SIDE : stride == 2 ? SECOND : 1);
}

/* Both ways may be open: then the one that is worth more is walked. */
static bd_gemm_walk walk_of(const bd_gemm *gemm, const bd_gemm_operand *operand, bd_kir_role role,
                            const int64_t *ints)
{
    if (!operand->walks[BD_GEMM_ALONG_K] || !operand->walks[BD_GEMM_ACROSS_K])
        return operand->walks[BD_GEMM_ALONG_K] ? BD_GEMM_ALONG_K : BD_GEMM_ACROSS_K;
    int64_t k = worth_of(gemm, operand, bd_kir_axis_of(gemm->program, BD_KIR_K), ints);
    int64_t rows = worth_of(gemm, operand, bd_kir_axis_of(gemm->program, role), ints);
    return k > rows ? BD_GEMM_ALONG_K : BD_GEMM_ACROSS_K;
}

static void describe_side(const bd_gemm *gemm, const bd_gemm_operand *operand, bd_kir_role role,
                          const int64_t *ints, int64_t batch, bd_gemm_side *side)
{
    const bd_kir_int *strides = operand->access.strides;
    side->operand = operand;
    side->batches = operand->batched ? batch : 1;
    side->walk = walk_of(gemm, operand, role, ints);
    side->across = side->walk == BD_GEMM_ACROSS_K;
    side->plain = operand->plain &&
                  bd_gemm_step_of(gemm, ints, strides, BD_KIR_K, 0, &side->step_k) &&
                  bd_gemm_step_of(gemm, ints, strides, role, 1, &side->step);
    if (side->plain)
        side->across = side->step_k != 1 || (side->step == 1 && gemm->element != BURN_BF16);
}

/* Lines of a cache that runs of some lines, a step apart, can take up: a step with a large power of
 * two in it leads back to the same sets soon. */
static int64_t room_in(int64_t sets, int64_t ways, int64_t step_bytes, int64_t lines)
{
    int64_t apart = step_bytes & -step_bytes;
    int64_t starts = apart > LINE_BYTES ? most(sets * LINE_BYTES / apart, 1) : sets;
    return least(starts * lines, sets) * ways;
}

/* Whether a panel of columns that lie k times a step apart does not stay in the second cache while
 * other panels are worked on, or by far not in the first, though it is used often; or comes from
 * beyond the second, line by line, so often that packing it is the smaller work. */
static bool crowded(const bd_gemm *gemm, const bd_gemm_shape *shape, int64_t step)
{
    int64_t k = shape->k, bytes = step * gemm->element_bytes;
    int64_t lines = ceiling(shape->vectors * gemm->lanes * gemm->element_bytes, LINE_BYTES);
    if (bytes % LINE_BYTES == 0 && k > room_in(FAR_SETS, FAR_WAYS, bytes, 1))
        return true;
    if (shape->m < OFTEN)
        return false;
    int64_t wanted = least(least(k, CHUNK_K) * lines, NEAR_SETS * gemm->near_ways);
    return shape->n * k * gemm->element_bytes > RESIDENT_BYTES ||
           4 * room_in(NEAR_SETS, gemm->near_ways, bytes, lines) < wanted;
}

/* Whether a micro-kernel reads the side where it lies. Columns need unit stride. Rows far apart by
 * a multiple of a page fall on one set of the first cache, which must have room for them. */
static bool is_direct(const bd_gemm *gemm, const bd_gemm_shape *shape, const bd_gemm_side *side)
{
    bool is_rows = side == &shape->rows;
    int64_t others = is_rows ? shape->n : shape->m;
    if (!side->plain)
        return false;
    if (gemm->element == BURN_BF16 && !is_rows)
        return shape->thin;
    if (gemm->element == BURN_BF16) /* pairs and panels without a rest */
        return side->step_k == 1 && shape->single_k == 2 * shape->k &&
               shape->m % gemm->row_unit == 0;
    if (shape->dots)
        return side->step_k == 1;
    if (others <= ONE_PANEL && (side->step == 1 || (is_rows && side->step_k == 1)))
        return true; /* read once */
    if (is_rows && side->step == 1 && side->step_k != 1 && shape->k > ROW_LINES)
        return false;
    if (side->step == 1)
        return is_rows || !crowded(gemm, shape, side->step_k);
    return is_rows && side->step_k == 1 &&
           (side->step * gemm->element_bytes % PAGE_BYTES != 0 ||
            shape->panel_rows + SPARE_WAYS <= gemm->near_ways);
}

/* Elements that have to be packed before a product, and moved after it. */
static int64_t moving_cost(const bd_gemm *gemm, const bd_gemm_shape *shape)
{
    bool rows = is_direct(gemm, shape, &shape->rows);
    bool columns = is_direct(gemm, shape, &shape->columns);
    return (rows ? 0 : shape->rows.batches * shape->m * shape->k) +
           (columns ? 0 : shape->columns.batches * shape->n * shape->k) +
           (shape->swapped ? shape->batch * shape->m * shape->n : 0);
}

/* Turned rows leave junk behind the last k, which must not be another item's. */
void bd_gemm_set_parts(const bd_gemm_shape *shape, bd_gemm_side *side)
{
    bool by_k = side->across || side == &shape->columns;
    side->part_k = side->across ? BD_GEMM_PACK_ROWS : BD_GEMM_PACK_TURN;
    side->part_k = by_k ? side->part_k : 0;
    side->parts = by_k ? ceiling(shape->k, side->part_k) : side->blocks;
}

static void set_source(const bd_gemm *gemm, const bd_gemm_shape *shape, bd_gemm_side *side)
{
    const bd_gemm_side *other = side == &shape->rows ? &shape->columns : &shape->rows;
    side->depth = shape->k;
    /* a split side is read about once */
    bool may = side->plain && side->step == 1 && gemm->element != BURN_BF16;
    if (is_direct(gemm, shape, side) || (may && shape->splits > 1)) {
        side->source = BD_GEMM_DIRECT;
        return;
    }
    bool again = shape->batch > 1 && side->batches == 1; /* the same for every batch point */
    bool single = shape->rows.blocks * shape->columns.blocks * shape->splits == 1;
    bool once = other->blocks == 1; /* packed elements are used by one item only */
    bool anew = !side->plain || gemm->element == BURN_BF16; /* packing does more than move */
    bool local = single || (once && anew) ||
                 (once && shape->splits == 1 && !side->across);
    side->source = local && !again ? BD_GEMM_LOCAL : BD_GEMM_SHARED;
    if (side->source == BD_GEMM_LOCAL) {
        side->chunked = !shape->thin;
        side->depth = side->chunked ? shape->chunk_k : shape->k;
        return;
    }
    side->chunked = !shape->thin && gemm->element != BURN_BF16;
    bd_gemm_set_parts(shape, side);
}

static void place_side(const bd_gemm *gemm, bd_gemm_shape *shape, bd_gemm_side *side)
{
    if (gemm->element == BURN_BF16 && side == &shape->rows)
        side->depth += BD_MICRO_PAIRS; /* no two rows on one set of the first cache */
    int64_t elements = side->block * side->depth + 2 * BD_GEMM_PAD;
    side->block_elements = elements & -(int64_t)BD_GEMM_PAD;
    side->batch_elements = side->block_elements * side->blocks;
    bool shared = side->source == BD_GEMM_SHARED;
    side->shared_at =
        place_elements(&shape->shared_bytes, shared ? side->batches * side->batch_elements : 0,
                       gemm->element_bytes);
}

static void set_places(const bd_gemm *gemm, bd_gemm_shape *shape)
{
    int64_t bytes = gemm->element_bytes, width = shape->vectors * gemm->lanes;
    const bd_gemm_side *rows = &shape->rows, *columns = &shape->columns;
    size_t *worker = &shape->worker_bytes;
    place_side(gemm, shape, &shape->rows);
    place_side(gemm, shape, &shape->columns);
    int64_t sums = shape->batch * shape->sum_rows * columns->blocks * columns->block;
    shape->partial_at = place_elements(&shape->shared_bytes,
                                       shape->splits > 1 ? shape->splits * sums : 0, bytes);
    shape->worker_rows = place_elements(
        worker, rows->source == BD_GEMM_LOCAL ? rows->block_elements : 0, bytes);
    int64_t last_panel = columns->source == BD_GEMM_DIRECT ? shape->k * width : 0;
    if (last_panel > 0 && gemm->element == BURN_BF16)
        last_panel = THIN_CHUNK_K * BD_MICRO_THIN_VECTORS * gemm->lanes;
    bool local = columns->source == BD_GEMM_LOCAL;
    shape->worker_columns =
        place_elements(worker, local ? columns->block_elements : last_panel, bytes);
    shape->worker_c = place_elements(worker, rows->block * columns->block, bytes);
    shape->turned_step = ceiling(rows->block, BD_GEMM_PAD) * BD_GEMM_PAD;
    shape->worker_turned =
        place_elements(worker, shape->swapped ? shape->turned_step * columns->block : 0, bytes);
    shape->worker_temp = place_elements(worker, BD_GEMM_PAD * BD_GEMM_TURN_COLUMNS, bytes);
}

static int64_t thin_rows(const bd_gemm *gemm)
{
    int64_t rows_bf16 = most(gemm->row_unit, THIN_ROWS_BF16);
    return gemm->element == BURN_BF16 ? rows_bf16 : BD_GEMM_THIN_ROWS;
}

/* Few rows: packing the columns would take longer than the product. Columns that lie along N wait
 * for memory only if they do not stay in a cache. */
static void set_thin(const bd_gemm *gemm, bd_gemm_shape *shape)
{
    const bd_gemm_side *columns = &shape->columns;
    bool pairs = gemm->element == BURN_BF16;
    bool few = shape->m <= thin_rows(gemm) && columns->plain;
    bool large = shape->n * shape->k * gemm->element_bytes > THIN_BYTES_LEAST;
    shape->dots = few && columns->step_k == 1 && shape->k >= gemm->lanes && !pairs;
    bool whole_pairs = !pairs || (columns->step_k != 1 && shape->single_k % 2 == 0);
    shape->thin = shape->dots || (few && large && columns->step == 1 && whole_pairs);
    shape->streamed =
        shape->thin && !shape->dots && bd_micro_streams(&gemm->target, gemm->element);
}

/* The product with rows from A, or from B. */
static void set_roles(const bd_gemm *gemm, const int64_t *ints, const int64_t *sizes, bool swapped,
                      bd_gemm_shape *out)
{
    *out = (bd_gemm_shape){.swapped = swapped,
                           .batch = sizes[BD_KIR_BATCH],
                           .m = sizes[swapped ? BD_KIR_N : BD_KIR_M],
                           .n = sizes[swapped ? BD_KIR_M : BD_KIR_N],
                           .k = sizes[BD_KIR_K],
                           .single_k = sizes[BD_KIR_K]};
    if (gemm->element == BURN_BF16)
        out->k = up_to_unit(ceiling(out->single_k, 2), BD_MICRO_PAIRS);
    describe_side(gemm, &gemm->a, BD_KIR_M, ints, out->batch,
                  swapped ? &out->columns : &out->rows);
    describe_side(gemm, &gemm->b, BD_KIR_N, ints, out->batch,
                  swapped ? &out->rows : &out->columns);
    set_thin(gemm, out);
    int64_t across = ceiling(out->n, gemm->lanes);
    int most_vectors = bd_micro_vectors(&gemm->target, gemm->element);
    bool wide =
        bd_micro_has(&gemm->target, gemm->element, 4, (int)least(out->m, BD_MICRO_ROWS_MAX));
    out->vectors = across == 4 && !wide ? 2 : least(across, most_vectors);
    if (wide && across >= 4)
        out->vectors = 4;
    if (out->thin && gemm->element == BURN_BF16)
        out->vectors = BD_MICRO_THIN_VECTORS;
    out->vectors = most(1, out->vectors);
    out->sum_rows = up_to_unit(out->m, gemm->row_unit);
    out->panel_rows = out->dots ? 1 : choose_rows(gemm, out->m);
    out->full_rows = out->m / out->panel_rows * out->panel_rows;
    set_blocks(gemm, out);
    set_splits(gemm, out);
    int64_t longest = out->thin && !out->dots ? THIN_CHUNK_K : CHUNK_K;
    if (gemm->row_unit > 1 && !out->thin)
        longest = TILE_CHUNK_K;
    int64_t chunks = ceiling(most(out->split_k, 1), longest);
    out->chunk_k = up_to_unit(ceiling(most(out->split_k, 1), chunks), unit_of_k(gemm));
}

void bd_gemm_sizes(const bd_gemm *gemm, const int64_t *ints, int64_t *out)
{
    const bd_kir *program = gemm->program;
    for (int role = 0; role <= BD_KIR_K; role++)
        out[role] = 1;
    for (int axis = 0; axis < program->axis_count; axis++)
        out[program->axes[axis].role] *=
            most(0, bd_kir_int_value(program->axes[axis].extent, ints));
}

bool bd_gemm_stores_rows(const bd_gemm *gemm, const int64_t *ints, int64_t *out_step)
{
    int64_t across = 0;
    return gemm->plain_store &&
           bd_gemm_step_of(gemm, ints, gemm->out.strides, BD_KIR_N, 1, &across) && across == 1 &&
           bd_gemm_step_of(gemm, ints, gemm->out.strides, BD_KIR_M, 0, out_step);
}

void bd_gemm_describe_rows(const bd_gemm *gemm, const int64_t *ints, bd_gemm_shape *shape)
{
    describe_side(gemm, &gemm->a, BD_KIR_M, ints, shape->batch, &shape->rows);
    shape->panel_rows = choose_rows(gemm, shape->m);
    shape->full_rows = shape->m / shape->panel_rows * shape->panel_rows;
}

const bd_gemm_shape *bd_gemm_shape_of(const bd_gemm *gemm, const int64_t *ints, bd_arena *arena)
{
    bd_gemm_shape *out = BD_ARENA_ARRAY(arena, bd_gemm_shape, 1);
    int64_t sizes[BD_KIR_K + 1];
    bd_gemm_sizes(gemm, ints, sizes);
    set_roles(gemm, ints, sizes, false, out);
    if (!out->thin && out->n <= thin_rows(gemm) && out->m > thin_rows(gemm)) {
        bd_gemm_shape other;
        set_roles(gemm, ints, sizes, true, &other);
        if (other.thin)
            *out = other;
    } else if ((least(out->m, out->n) >= 2 * gemm->lanes || gemm->row_unit > 1) &&
               out->splits == 1) {
        bd_gemm_shape other;
        set_roles(gemm, ints, sizes, true, &other);
        if (other.splits == 1 && 3 * moving_cost(gemm, &other) < 2 * moving_cost(gemm, out))
            *out = other;
    }
    set_source(gemm, out, &out->rows);
    set_source(gemm, out, &out->columns);
    if (!out->swapped && out->splits == 1 && out->sum_rows == out->m &&
        !(out->thin && gemm->element == BURN_BF16))
        out->direct_store = bd_gemm_stores_rows(gemm, ints, &out->out_step);
    out->in_place = out->direct_store && out->rows.source == BD_GEMM_DIRECT &&
                    out->columns.source == BD_GEMM_DIRECT && out->n % gemm->lanes == 0 &&
                    out->k <= out->chunk_k && !out->dots && !out->streamed &&
                    out->batch * out->rows.blocks * out->columns.blocks == 1;
    set_places(gemm, out);
    return out;
}
