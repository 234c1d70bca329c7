/* SPDX-License-Identifier: Apache-2.0
 * Sizes to dims, runs and blocks. */
#include "backends/cpu/window.h"

enum {
    BLOCK_ROWS = 64,
    BLOCK_PANELS = 6,
    BLOCK_CELLS = 16384, /* of few rows, which take more panels */
    ITEMS_WANTED = 16,
    CHUNK_K = 256,
    SPLIT_K_LEAST = 1024,
    SPLITS_MAX = 16,
    SPLIT_ITEMS_MOST = 4,
    PARTS_WANTED = 16,
    PAGE_BYTES = 4096,
    PADDED_MOST = 2, /* times as long as K itself it may be with zeros */
    TURNED_COLUMNS = 640,
    DOT_SUMS_MOST = 256, /* of a batch point, in few rows, */
    DOT_ROWS_MOST = 4,
    DOT_K_LEAST = 128, /* each of so many products; and so many batch points */
    DOT_BATCH_LEAST = 8,
    DOT_BYTES_MOST = 4 << 20, /* of a copy */
};
static const double ITEM_PRODUCTS_LEAST = 3e6;

static int64_t divisor_of(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static int64_t extent_of(const bd_gemm *gemm, const int64_t *ints, int axis)
{
    return axis < 0 ? 1 : bd_kir_int_value(gemm->program->axes[axis].extent, ints);
}

static bd_kir_role role_of(const bd_gemm *gemm, int axis)
{
    return gemm->program->axes[axis].role;
}

/* The dims while they are found: by axis, which one moves. */
typedef struct finder {
    const bd_gemm *gemm;
    const int64_t *ints;
    const bd_kir_access *access;
    bool mirrored;
    bd_window_dim dims[BD_KIR_AXES_MAX + 1]; /* one more is refused */
    int count, of_axis[BD_KIR_AXES_MAX];
} finder;

static bd_kir_role role_here(const finder *f, int axis)
{
    bd_kir_role role = role_of(f->gemm, axis);
    if (!f->mirrored || (role != BD_KIR_N && role != BD_KIR_K))
        return role;
    return role == BD_KIR_N ? BD_KIR_K : BD_KIR_N;
}

static bd_window_dim *new_dim(finder *f)
{
    bd_window_dim *dim = &f->dims[f->count++];
    *dim = (bd_window_dim){.n_axis = -1, .k_axis = -1, .extent = INT64_MAX, .stride = 1};
    return dim;
}

/* Lets an axis move a dim. False if another one of its role does already, or memory differs. */
static bool move_by(finder *f, bd_window_dim *dim, int axis, int64_t stride)
{
    bd_kir_role role = role_here(f, axis);
    int64_t from = bd_kir_int_value(f->access->strides[axis], f->ints);
    bool fresh = dim->n_axis < 0 && dim->k_axis < 0;
    if ((role != BD_KIR_N && role != BD_KIR_K) || stride <= 0 || f->of_axis[axis] >= 0 ||
        from % stride != 0 || (!fresh && from / stride != dim->from_step) ||
        (role == BD_KIR_N ? dim->n_axis : dim->k_axis) >= 0)
        return false;
    dim->from_step = from / stride;
    f->of_axis[axis] = (int)(dim - f->dims);
    if (role == BD_KIR_N) {
        dim->n_axis = axis;
        dim->stride = stride;
    } else {
        dim->k_axis = axis;
        dim->k_stride = stride;
    }
    return true;
}

/* A dim for each guard: the coordinate that it bounds. */
static bool find_guarded(finder *f, int number)
{
    const bd_kir *program = f->gemm->program;
    for (number++; number > 0; number = program->guards[number - 1].also) {
        const bd_kir_guard *guard = &program->guards[number - 1];
        bd_window_dim *dim = new_dim(f);
        dim->first = bd_kir_int_value(guard->offset, f->ints);
        dim->extent = bd_kir_int_value(guard->extent, f->ints);
        for (int axis = 0; axis < program->axis_count; axis++) {
            int64_t stride = bd_kir_int_value(guard->strides[axis], f->ints);
            if (stride != 0 && !move_by(f, dim, axis, stride))
                return false;
        }
        if (dim->n_axis < 0 && dim->k_axis < 0)
            return false;
    }
    return true;
}

/* Whether a column axis and an axis of K reach the same elements again. */
static bool recur(const finder *f, int n_axis, int k_axis, int64_t *out_common)
{
    int64_t n_step = bd_kir_int_value(f->access->strides[n_axis], f->ints);
    int64_t k_step = bd_kir_int_value(f->access->strides[k_axis], f->ints);
    int64_t n = extent_of(f->gemm, f->ints, n_axis), k = extent_of(f->gemm, f->ints, k_axis);
    if (n_step <= 0 || k_step <= 0)
        return false;
    *out_common = divisor_of(n_step, k_step);
    return (n - 1) * (n_step / *out_common) + (k - 1) * (k_step / *out_common) + 1 < n * k;
}

/* Dims for axes that no guard bounds: pairs, then each one alone. */
static bool find_free(finder *f)
{
    const bd_kir *program = f->gemm->program;
    for (int n = 0; n < program->axis_count; n++)
        for (int k = 0; k < program->axis_count; k++) {
            int64_t common = 1;
            if (role_here(f, n) != BD_KIR_N || role_here(f, k) != BD_KIR_K ||
                f->of_axis[n] >= 0 || f->of_axis[k] >= 0 || !recur(f, n, k, &common))
                continue;
            bd_window_dim *dim = new_dim(f);
            if (!move_by(f, dim, n, bd_kir_int_value(f->access->strides[n], f->ints) / common) ||
                !move_by(f, dim, k, bd_kir_int_value(f->access->strides[k], f->ints) / common))
                return false;
        }
    for (int axis = 0; axis < program->axis_count; axis++) {
        bd_kir_role role = role_of(f->gemm, axis);
        if ((role == BD_KIR_N || role == BD_KIR_K) && f->of_axis[axis] < 0 &&
            !move_by(f, new_dim(f), axis, 1))
            return false;
    }
    return true;
}

/* Dims that only K moves first, then those of the columns, each in the order of the axes. */
static void order_dims(const finder *f, bd_window_shape *out)
{
    const bd_kir *program = f->gemm->program;
    for (int role = 0; role < 2; role++)
        for (int axis = 0; axis < program->axis_count; axis++) {
            if (f->of_axis[axis] < 0)
                continue;
            const bd_window_dim *dim = &f->dims[f->of_axis[axis]];
            if (role == 0 ? dim->n_axis < 0 : dim->n_axis == axis)
                out->dims[out->dim_count++] = *dim;
            out->k_dims += role == 0 && dim->n_axis < 0;
        }
}

int64_t bd_window_entries_below(const bd_window_dim *dim, int64_t phase, int64_t limit)
{
    if (limit == INT64_MAX)
        return INT64_MAX;
    int64_t reach = limit - dim->first - phase;
    return reach <= 0 ? 0 : ceiling(reach, dim->stride);
}

/* Sizes and steps of the copy, from the innermost dim on. */
static void set_steps(const bd_gemm *gemm, const int64_t *ints, bd_window_shape *out)
{
    int64_t step = 1;
    for (int d = out->dim_count - 1; d >= 0; d--) {
        bd_window_dim *dim = &out->dims[d];
        int64_t reach = dim->k_stride * (extent_of(gemm, ints, dim->k_axis) - 1);
        if (dim->n_axis < 0)
            dim->stride = most(dim->k_stride, 1);
        dim->phases = least(dim->n_axis < 0 ? 1 : dim->stride, reach + 1);
        dim->count = extent_of(gemm, ints, dim->n_axis);
        int64_t size = d == out->pair_dim ? out->pairs : dim->count + reach / dim->stride;
        int64_t before = bd_window_entries_below(dim, dim->phases - 1, 0);
        int64_t after = most(0, size - bd_window_entries_below(dim, 0, dim->extent));
        dim->shared = d > out->k_dims ? least(least(before, after), size - dim->count) : 0;
        dim->size = size - dim->shared;
        dim->step = step;
        step *= dim->size;
    }
    for (int d = 0; d < out->dim_count; d++) {
        out->dims[d].phase_step = step;
        step *= out->dims[d].phases;
    }
    out->copy_elements = step;
}

static void set_parts(bd_window_shape *out)
{
    out->parts = 1;
    for (int d = 0; d < out->dim_count; d++)
        out->parts *= out->dims[d].phases;
    while (out->part_dims + 2 < out->dim_count && out->parts < PARTS_WANTED)
        out->parts *= out->dims[out->part_dims++].size;
}

/* Joins as many column axes to a run as give the fewest vectors. */
static void set_run(const bd_gemm *gemm, bd_window_shape *out)
{
    int64_t run = 1, best = INT64_MAX, groups = 1;
    for (int d = out->k_dims; d < out->dim_count; d++)
        groups *= out->dims[d].count;
    for (int d = out->dim_count - 1; d >= out->k_dims; d--) {
        run += (out->dims[d].count - 1) * out->dims[d].step;
        groups /= out->dims[d].count;
        int64_t vectors = groups * ceiling(run, gemm->lanes);
        if (vectors > best)
            continue;
        best = vectors;
        out->run_dim = d;
        out->run = run;
        out->wide = ceiling(run, gemm->lanes) * gemm->lanes;
        out->columns = groups * out->wide;
    }
}

/* Blocks along the innermost dim, by all other columns. */
static void set_turned(const bd_gemm *gemm, bd_window_shape *out)
{
    int64_t inner = out->dims[out->dim_count - 1].count, lanes = gemm->lanes;
    out->turned = true;
    out->turned_step = out->n / inner;
    out->inner_block = inner;
    if (inner >= 2 * lanes) {
        int64_t blocks = ceiling(inner, most(TURNED_COLUMNS / out->turned_step, lanes));
        out->inner_block = ceiling(ceiling(inner, blocks), lanes) * lanes;
        out->run_dim = out->dim_count - 1;
        out->run = out->wide = out->inner_block;
    }
    out->column_block = out->run_dim == out->dim_count - 1 ? out->turned_step * out->wide
                                                           : out->columns;
    out->column_blocks = ceiling(inner, out->inner_block);
    out->columns = out->column_blocks * out->column_block;
}

static void lay_out(const bd_gemm *gemm, const int64_t *ints, bd_window_shape *out)
{
    set_steps(gemm, ints, out);
    set_parts(out);
    set_run(gemm, out);
}

/* Joins numbers along the longest axis of K that moves a dim alone. False if there is none, or
 * zeros would be most of the work. */
static bool set_pairs(const bd_gemm *gemm, const int64_t *ints, bd_window_shape *out)
{
    int64_t most_numbers = 1;
    out->pair_dim = -1;
    out->group = 1;
    if (gemm->element != BURN_BF16)
        return true;
    for (int d = 0; d < out->k_dims; d++) {
        int64_t numbers = extent_of(gemm, ints, out->dims[d].k_axis);
        if (numbers <= most_numbers || out->dims[d].extent != INT64_MAX)
            continue;
        most_numbers = numbers;
        out->pair_dim = d;
    }
    if (out->pair_dim < 0)
        return false;
    out->dims[out->pair_dim].numbers = most_numbers;
    out->group = gemm->row_unit > 1 ? BD_MICRO_PAIRS : 1;
    out->pairs = ceiling(ceiling(most_numbers, 2), out->group) * out->group;
    out->outer = out->k / most_numbers;
    out->k = out->pairs * out->outer;
    out->tall = out->group > 1 ? 2 * gemm->row_unit : 1;
    out->depth = out->k + (out->tall > 1 ? 0 : BD_MICRO_PAIRS); /* no two rows on one set */
    out->row_apart = out->tall > 1 ? out->group : out->depth;
    out->group_apart = out->tall * out->group;
    return 2 * out->pairs <= PADDED_MOST * most_numbers;
}

static bool find_dims(const bd_gemm *gemm, const int64_t *ints, bd_window_shape *out)
{
    finder f = {.gemm = gemm,
                .ints = ints,
                .access = &gemm->b.access,
                .mirrored = out->mirrored};
    for (int axis = 0; axis < BD_KIR_AXES_MAX; axis++)
        f.of_axis[axis] = -1;
    if (!find_guarded(&f, gemm->window_guard) || !find_free(&f))
        return false;
    order_dims(&f, out);
    return out->k_dims < out->dim_count;
}

static bool find_window(const bd_gemm *gemm, const int64_t *ints, bd_window_shape *out)
{
    if (!find_dims(gemm, ints, out) || !set_pairs(gemm, ints, out))
        return false;
    bd_window_shape turned = *out;
    for (int d = out->k_dims; d < out->dim_count; d++)
        turned.dims[d] = out->dims[d + 1 < out->dim_count ? d + 1 : out->k_dims];
    lay_out(gemm, ints, out);
    lay_out(gemm, ints, &turned);
    set_turned(gemm, &turned);
    if (10 * turned.columns < 9 * out->columns)
        *out = turned;
    return true;
}

/* ---- rows and blocks ---- */

/* The furthest that the axes of K lead in A. */
static int64_t reach_of_rows(const bd_gemm *gemm, const int64_t *ints)
{
    int64_t reach = 0;
    for (int axis = 0; axis < gemm->program->axis_count; axis++)
        if (role_of(gemm, axis) == BD_KIR_K) {
            int64_t stride = bd_kir_int_value(gemm->a.access.strides[axis], ints);
            reach += (extent_of(gemm, ints, axis) - 1) * (stride < 0 ? -stride : stride);
        }
    return reach;
}

/* Rows a multiple of a page apart would fall on one set of the first cache. */
static void set_rows(const bd_gemm *gemm, const int64_t *ints, bd_window_shape *out)
{
    bd_gemm_shape *rows = &out->rows;
    rows->batch = out->batch;
    rows->m = out->m;
    rows->k = out->k;
    bd_gemm_describe_rows(gemm, ints, rows);
    const bd_kir_int *strides = gemm->a.access.strides;
    out->packed = out->pair_dim >= 0 || !gemm->a.plain ||
                  !bd_gemm_step_of(gemm, ints, strides, BD_KIR_M, 1, &out->row_step) ||
                  (out->m > 1 && out->row_step * gemm->element_bytes % PAGE_BYTES == 0) ||
                  reach_of_rows(gemm, ints) > INT32_MAX;
}

static void set_blocks(const bd_gemm *gemm, bd_window_shape *out)
{
    int64_t row = out->rows.panel_rows, column = out->vectors * gemm->lanes;
    int64_t row_panels = ceiling(out->m, row), column_panels = ceiling(out->columns, column);
    int64_t rows_wanted = most(1, BLOCK_ROWS / row);
    int64_t columns_wanted = most(BLOCK_PANELS, BLOCK_CELLS / (least(out->m, BLOCK_ROWS) * column));
    columns_wanted = out->turned ? 1 : columns_wanted;
    for (;;) {
        out->row_block = bd_gemm_even_panels(row_panels, rows_wanted) * row;
        out->row_blocks = ceiling(out->m, out->row_block);
        if (!out->turned) {
            out->column_block = bd_gemm_even_panels(column_panels, columns_wanted) * column;
            out->column_blocks = ceiling(out->columns, out->column_block);
        }
        double cells = (double)out->row_block * (double)out->column_block;
        int64_t items = out->batch * out->row_blocks * out->column_blocks;
        bool tall = items <= SPLIT_ITEMS_MOST && out->k >= SPLIT_K_LEAST * SPLITS_MAX / 2;
        if (items >= ITEMS_WANTED || cells * (double)out->k < ITEM_PRODUCTS_LEAST || tall ||
            (rows_wanted == 1 && columns_wanted == 1))
            break;
        if (columns_wanted > 2 || rows_wanted == 1)
            columns_wanted = ceiling(columns_wanted, 2);
        else
            rows_wanted = ceiling(rows_wanted, 2);
    }
    out->rows_outside = out->m * out->k > out->copies * out->copy_elements;
}

static void set_splits(bd_window_shape *out)
{
    int64_t items = out->batch * out->row_blocks * out->column_blocks;
    out->splits = 1;
    if (items <= SPLIT_ITEMS_MOST && out->k >= 2 * SPLIT_K_LEAST)
        out->splits = least(out->k / SPLIT_K_LEAST, SPLITS_MAX);
    out->split_k = ceiling(ceiling(out->k, out->splits), out->group) * out->group;
    out->splits = ceiling(out->k, out->split_k);
    out->chunk_k = ceiling(out->split_k, ceiling(out->split_k, CHUNK_K));
    out->chunk_k = ceiling(out->chunk_k, out->group) * out->group;
    int64_t window = out->outer * out->group; /* one group of pairs at all other places of K: */
    if (out->tall > 1 && window <= CHUNK_K)   /* these are the same few lines of the copy */
        out->chunk_k = CHUNK_K / window * window;
}

static void place_rows(const bd_gemm *gemm, bd_window_shape *out)
{
    bd_gemm_side *side = &out->rows.rows;
    side->source = BD_GEMM_SHARED;
    if (out->pair_dim >= 0) {
        side->parts = ceiling(out->m, BD_WINDOW_PAIR_ROWS);
        side->batch_elements = ceiling(out->m, out->tall) * out->tall * out->depth;
        out->rows_at = place_elements(&out->shared_bytes, side->batches * side->batch_elements,
                                      gemm->element_bytes);
        return;
    }
    side->depth = out->k;
    side->block = out->row_block;
    side->blocks = out->row_blocks;
    bd_gemm_set_parts(&out->rows, side);
    int64_t elements = side->block * side->depth + 2 * BD_GEMM_PAD;
    side->block_elements = elements & -(int64_t)BD_GEMM_PAD;
    side->batch_elements = side->block_elements * side->blocks;
    out->rows_at = place_elements(&out->shared_bytes, side->batches * side->batch_elements,
                                  gemm->element_bytes);
}

static void set_slack(const bd_gemm *gemm, bd_window_shape *out)
{
    out->slack = gemm->lanes;
    for (int d = 0; d < out->dim_count; d++)
        out->slack += out->dims[d].shared * out->dims[d].step;
}

static void set_places(const bd_gemm *gemm, bd_window_shape *out)
{
    int64_t bytes = gemm->element_bytes, cells = out->row_block * out->column_block;
    int64_t items = out->batch * out->row_blocks * out->column_blocks;
    int64_t offset_bytes = (int64_t)sizeof(int32_t);
    size_t *shared = &out->shared_bytes, *worker = &out->worker_bytes;
    set_slack(gemm, out);
    out->table_at = place_elements(shared, 2 * out->k, offset_bytes);
    out->local = out->copies == out->batch &&
                 out->row_blocks * out->column_blocks * out->splits == 1;
    size_t *copier = out->local ? worker : shared;
    int64_t copies = out->local ? 1 : out->copies;
    out->copy_at = place_elements(copier, copies * out->copy_elements + out->slack, bytes);
    out->partial_at =
        place_elements(shared, out->splits > 1 ? out->splits * items * cells : 0, bytes);
    if (out->packed)
        place_rows(gemm, out);
    out->worker_c = place_elements(worker, cells, bytes);
    int64_t turned = out->row_block * out->inner_block * out->turned_step + BD_GEMM_PAD;
    out->worker_turned = place_elements(worker, out->turned ? turned : 0, bytes);
    out->worker_segments =
        place_elements(worker, BD_WINDOW_SEGMENT * out->column_block, offset_bytes);
    int64_t temp = BD_GEMM_PAD * BD_GEMM_TURN_COLUMNS;
    if (out->pair_dim >= 0 && !gemm->a.plain) /* a row of numbers */
        temp = ceiling(out->dims[out->pair_dim].numbers * out->outer, 2);
    out->rows.worker_temp = place_elements(worker, temp, bytes);
}

/* Whether the copy is the smaller work, and junk does not eat up what it saves. */
static bool pays(const bd_gemm *gemm, const bd_window_shape *shape)
{
    int64_t vectors = ceiling(shape->n, gemm->lanes);
    return shape->n * shape->k >= 2 * shape->copy_elements &&
           2 * shape->columns <= 3 * vectors * gemm->lanes && shape->copy_elements <= INT32_MAX &&
           shape->k * most(shape->tall, 1) <= INT32_MAX;
}

static bd_window_shape *new_shape(const bd_gemm *gemm, const int64_t *ints, bd_arena *arena)
{
    int64_t sizes[BD_KIR_K + 1];
    bd_gemm_sizes(gemm, ints, sizes);
    bd_window_shape *out = bd_arena_alloc(arena, sizeof *out);
    *out = (bd_window_shape){.batch = sizes[BD_KIR_BATCH],
                             .m = sizes[BD_KIR_M],
                             .n = sizes[BD_KIR_N],
                             .k = sizes[BD_KIR_K],
                             .pair_dim = -1,
                             .group = 1};
    return out;
}

/* Places of a mirrored product: rows as they lie in memory or are made, and runs without more junk
 * than columns. */
static bool lay_out_dots(const bd_gemm *gemm, const int64_t *ints, bd_window_shape *out)
{
    set_steps(gemm, ints, out);
    set_parts(out);
    set_slack(gemm, out);
    out->run = 1;
    for (int d = out->k_dims; d < out->dim_count; d++)
        out->run += (out->dims[d].count - 1) * out->dims[d].step;
    out->rows.batch = out->batch;
    out->rows.m = out->m;
    out->rows.k = out->k;
    bd_gemm_describe_rows(gemm, ints, &out->rows);
    out->packed = true;
    return out->run <= 2 * out->k && out->copy_elements <= out->n * out->k &&
           out->copy_elements * gemm->element_bytes <= DOT_BYTES_MOST &&
           (!gemm->a.plain || bd_gemm_step_of(gemm, ints, gemm->a.access.strides, BD_KIR_M, 1,
                                              &out->row_step));
}

const bd_window_shape *bd_window_dots_of(const bd_gemm *gemm, const int64_t *ints, bd_arena *arena)
{
    if (!gemm->windows || gemm->element == BURN_BF16)
        return NULL;
    bd_window_shape *out = new_shape(gemm, ints, arena);
    out->mirrored = true;
    if (out->m == 0 || out->m > DOT_ROWS_MOST || out->n == 0 || out->m * out->n > DOT_SUMS_MOST ||
        out->k < DOT_K_LEAST || out->batch < DOT_BATCH_LEAST || !find_dims(gemm, ints, out) ||
        !lay_out_dots(gemm, ints, out))
        return NULL;
    int64_t bytes = gemm->element_bytes;
    int32_t *offsets = BD_ARENA_ARRAY(arena, int32_t, 2 * (size_t)out->n);
    bd_window_table(gemm, out, ints, offsets);
    out->offsets = offsets;
    size_t *worker = &out->worker_bytes;
    out->copy_at = place_elements(worker, out->copy_elements + out->slack, bytes);
    out->worker_turned = place_elements(worker, out->run, bytes);
    out->worker_c = place_elements(worker, out->m * out->n + BD_GEMM_PAD, bytes);
    out->rows.worker_temp =
        place_elements(worker, gemm->a.plain ? 0 : out->k + BD_GEMM_PAD, bytes);
    return out;
}

const bd_window_shape *bd_window_shape_of(const bd_gemm *gemm, const int64_t *ints,
                                          bd_arena *arena)
{
    if (!gemm->windows)
        return NULL;
    bd_window_shape *out = new_shape(gemm, ints, arena);
    if (out->batch == 0 || out->m == 0 || out->n == 0 || out->k == 0 ||
        !find_window(gemm, ints, out) || !pays(gemm, out))
        return NULL;
    out->copies = gemm->b.batched ? out->batch : 1;
    out->vectors = least(out->wide / gemm->lanes, bd_micro_vectors(&gemm->target, gemm->element));
    set_rows(gemm, ints, out);
    set_blocks(gemm, out);
    set_splits(out);
    out->direct_store = bd_gemm_stores_rows(gemm, ints, &out->out_step);
    set_places(gemm, out);
    return out;
}
