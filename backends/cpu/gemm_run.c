/* SPDX-License-Identifier: Apache-2.0
 * The passes of a product. */
#include <string.h>

#include "backends/cpu/gemm_parts.h"

/* One item of the compute pass. */
typedef struct item {
    const bd_gemm *gemm;
    const bd_gemm_shape *shape;
    const bd_call *call;
    int64_t batch, split;
    int64_t m, m_end, n, n_end, k, k_end;
    int64_t chunk, chunk_end; /* of K, at the moment */
    const char *a, *b; /* rows and columns: blocks, or their first element of this batch point */
    char *c;           /* sums of the block */
    int64_t c_step;
    char *out; /* of this batch point, if full panels go there */
} item;

/* The operands of one micro-kernel call. */
typedef struct tile {
    const char *a, *b;
    int64_t a_row_bytes, a_step, b_step, rows, vectors;
} tile;

static const bd_gemm *gemm_of(const bd_call *call)
{
    return (const bd_gemm *)(intptr_t)call->params[BD_GEMM_KERNEL];
}

static const bd_gemm_shape *shape_of(const bd_call *call)
{
    return (const bd_gemm_shape *)(intptr_t)call->params[BD_GEMM_SHAPE];
}

void bd_gemm_run_pack(const bd_call *call, int64_t begin, int64_t end)
{
    const bd_gemm *gemm = gemm_of(call);
    const bd_gemm_shape *shape = shape_of(call);
    int64_t row_items = shape->rows.batches * shape->rows.parts;
    for (int64_t i = begin; i < end; i++) {
        const bd_gemm_side *side = i < row_items ? &shape->rows : &shape->columns;
        int64_t number = i < row_items ? i : i - row_items;
        int64_t batch = number / side->parts, part = number % side->parts;
        char *to = call->shared_scratch + side->shared_at +
                   batch * side->batch_elements * gemm->element_bytes;
        bd_gemm_pack_part(gemm, shape, call, side, batch, part, to);
    }
}

/* Finds the block of a side, packing it if that is left to the item. */
static const char *source_of(const item *it, const bd_gemm_side *side, int64_t block,
                             size_t local_at)
{
    const bd_gemm *gemm = it->gemm;
    char *local = it->call->worker_scratch + local_at;
    if (side->source == BD_GEMM_DIRECT)
        return bd_gemm_element_at(gemm, it->call, &side->operand->access, it->batch);
    if (side->source == BD_GEMM_SHARED) {
        int64_t batch = side->batches > 1 ? it->batch : 0;
        int64_t at = batch * side->batch_elements + block * side->block_elements;
        return it->call->shared_scratch + side->shared_at + at * gemm->element_bytes;
    }
    if (!side->chunked)
        bd_gemm_pack(gemm, it->shape, it->call, side, it->batch, block, 0, it->shape->k, local);
    return local;
}

static void find_item(item *it, int64_t number)
{
    const bd_gemm *gemm = it->gemm;
    const bd_gemm_shape *shape = it->shape;
    const bd_gemm_side *rows = &shape->rows, *columns = &shape->columns;
    int64_t row_block = number % rows->blocks, column_block = number / rows->blocks;
    number = column_block / columns->blocks;
    column_block %= columns->blocks;
    it->split = number % shape->splits;
    it->batch = number / shape->splits;
    it->m = row_block * rows->block;
    it->m_end = least(it->m + rows->block, shape->m);
    it->n = column_block * columns->block;
    it->n_end = least(it->n + columns->block, shape->n);
    it->k = it->split * shape->split_k;
    it->k_end = least(it->k + shape->split_k, shape->k);
    it->a = source_of(it, rows, row_block, shape->worker_rows);
    it->b = source_of(it, columns, column_block, shape->worker_columns);
    it->c = it->call->worker_scratch + shape->worker_c;
    it->c_step = columns->block;
    if (shape->splits > 1) {
        int64_t row = (it->split * shape->batch + it->batch) * shape->sum_rows + it->m;
        int64_t whole = columns->blocks * columns->block;
        it->c = it->call->shared_scratch + shape->partial_at +
                (row * whole + it->n) * gemm->element_bytes;
        it->c_step = whole;
    }
    it->out = NULL;
    if (shape->direct_store)
        it->out = (char *)(intptr_t)bd_gemm_element_at(gemm, it->call, &gemm->out, it->batch);
}

static void run_tile(const item *it, const tile *t, char *c, int64_t c_step)
{
    int64_t bytes = it->gemm->element_bytes;
    int64_t a_at = it->shape->rows.chunked ? 0 : it->chunk * t->a_step * bytes;
    int64_t b_at = it->shape->columns.chunked ? 0 : it->chunk * t->b_step * bytes;
    it->gemm->micro.tiles[t->vectors][t->rows / it->gemm->row_unit](
        t->a + a_at, t->a_row_bytes, t->a_step, t->b + b_at, t->b_step, c, c_step,
        it->chunk_end - it->chunk, it->chunk > it->k);
}

/* Packs the chunk of a side that is not packed yet. */
static void pack_chunk(const item *it, const bd_gemm_side *side, int64_t block, const char *to)
{
    if (side->chunked && side->source == BD_GEMM_LOCAL)
        bd_gemm_pack(it->gemm, it->shape, it->call, side, it->batch, block, it->chunk,
                     it->chunk_end, it->call->worker_scratch + (to - it->call->worker_scratch));
}

/* Columns n .. n_end of the block go through the epilogue. */
static void run_epilogue(const item *it, int64_t n, int64_t n_end, char *sums, int64_t step)
{
    bd_call call = *it->call;
    const bd_gemm *gemm = it->gemm;
    int64_t bytes = gemm->element_bytes, rows = it->m_end - it->m;
    bool down = bd_gemm_epilogue_down(gemm->program);
    if (down && !it->shape->swapped) /* its vectors need the one column packed */
        for (int64_t r = 1; r < rows; r++)
            memmove(sums + r * bytes, sums + r * step * bytes, (size_t)bytes);
    bool swapped = it->shape->swapped;
    if (swapped && !down) {
        char *turned = it->call->worker_scratch + it->shape->worker_turned;
        for (int64_t r = 0; r < rows; r += gemm->turn_rows)
            gemm->micro.turn(sums + r * step * bytes, step * bytes, turned + r * bytes,
                             it->shape->turned_step, least(gemm->turn_rows, rows - r), n_end - n);
        sums = turned;
        step = it->shape->turned_step;
    }
    call.params[BD_GEMM_BATCH] = it->batch;
    call.params[swapped ? BD_GEMM_COLUMN : BD_GEMM_ROW] = it->m;
    call.params[swapped ? BD_GEMM_COLUMNS : BD_GEMM_ROWS] = rows;
    call.params[swapped ? BD_GEMM_ROW : BD_GEMM_COLUMN] = n;
    call.params[swapped ? BD_GEMM_ROWS : BD_GEMM_COLUMNS] = n_end - n;
    call.params[BD_GEMM_MEMORY] = (int64_t)(intptr_t)sums;
    call.params[BD_GEMM_STEP] = step;
    gemm->epilogue(&call, 0, 1);
}

/* The panel of a packed block that has some rows or columns before it. */
static const char *panel_of(const item *it, const bd_gemm_side *side, const char *block,
                            int64_t before)
{
    int64_t at = before * side->depth;
    if (side->chunked && side->source == BD_GEMM_SHARED)
        at = it->chunk * side->block + before * (it->chunk_end - it->chunk);
    return block + at * it->gemm->element_bytes;
}

/* The panel of columns that begins at n. */
static void find_columns(const item *it, int64_t n, tile *t)
{
    const bd_gemm *gemm = it->gemm;
    int64_t bytes = gemm->element_bytes, columns = t->vectors * gemm->lanes;
    int64_t real = least(columns, it->n_end - n);
    t->b_step = columns;
    if (it->shape->columns.source != BD_GEMM_DIRECT) {
        t->b = panel_of(it, &it->shape->columns, it->b, n - it->n);
        return;
    }
    t->b_step = it->shape->columns.step_k;
    t->b = it->b + n * bytes;
    if (real == columns)
        return;
    char *padded = it->call->worker_scratch + it->shape->worker_columns;
    for (int64_t k = it->chunk; k < it->chunk_end; k++) {
        char *row = padded + k * columns * bytes;
        memcpy(row, t->b + k * t->b_step * bytes, (size_t)(real * bytes));
        memset(row + real * bytes, 0, (size_t)((columns - real) * bytes));
    }
    t->b = padded;
    t->b_step = columns;
}

static void find_rows(const item *it, int64_t m, tile *t)
{
    const bd_gemm_side *rows = &it->shape->rows;
    bool pairs = it->gemm->element == BURN_BF16;
    int64_t bytes = it->gemm->element_bytes;
    t->rows = bd_gemm_rows_at(it->gemm, it->shape, m);
    if (rows->source == BD_GEMM_DIRECT) {
        int64_t own = pairs ? 2 : bytes;
        t->a = it->a + m * rows->step * own;
        t->a_row_bytes = rows->step * own;
        t->a_step = rows->step_k;
    } else {
        t->a = panel_of(it, rows, it->a, m - it->m);
        t->a_row_bytes = pairs ? rows->depth * bytes : bytes;
        t->a_step = pairs ? 1 : t->rows;
    }
}

/* The tile at row m and column n; direct_end: where columns end that go straight to the output. */
static void run_tile_at(const item *it, const tile *t, int64_t m, int64_t n, int64_t direct_end)
{
    int64_t bytes = it->gemm->element_bytes, step = it->shape->out_step;
    if (n < direct_end)
        run_tile(it, t, it->out + (m * step + n) * bytes, step);
    else
        run_tile(it, t, it->c + ((m - it->m) * it->c_step + n - it->n) * bytes, it->c_step);
}

/* All tiles of the block, for one chunk of K: the panels of columns outside, so that one stays in
 * a near cache though it lies in memory with gaps. */
static void run_down(const item *it, int64_t direct_end)
{
    int64_t columns = 0;
    tile t;
    for (int64_t n = it->n; n < it->n_end; n += columns) {
        t.vectors = bd_gemm_vectors_at(it->gemm, it->shape, n);
        columns = t.vectors * it->gemm->lanes;
        find_columns(it, n, &t);
        for (int64_t m = it->m; m < it->m_end; m += t.rows) {
            find_rows(it, m, &t);
            run_tile_at(it, &t, m, n, direct_end);
        }
    }
}

/* The same with the panels of rows outside: one stays in the first cache, and packed columns come
 * from the second one in the order of memory. */
static void run_across(const item *it, int64_t direct_end)
{
    int64_t columns = 0;
    tile t;
    for (int64_t m = it->m; m < it->m_end; m += t.rows) {
        find_rows(it, m, &t);
        for (int64_t n = it->n; n < it->n_end; n += columns) {
            t.vectors = bd_gemm_vectors_at(it->gemm, it->shape, n);
            columns = t.vectors * it->gemm->lanes;
            find_columns(it, n, &t);
            run_tile_at(it, &t, m, n, direct_end);
        }
    }
}

static void run_dots(const item *it)
{
    const bd_gemm *gemm = it->gemm;
    const bd_gemm_shape *shape = it->shape;
    int64_t bytes = gemm->element_bytes, s_step = shape->columns.step, count = 0, others = 0;
    bool direct = shape->rows.source == BD_GEMM_DIRECT;
    int64_t t_step = direct ? shape->rows.step : shape->k, t_first = direct ? 0 : it->m;
    for (int64_t n = it->n; n < it->n_end; n += count) {
        count = it->n_end - n >= BD_MICRO_DOT_ROWS ? BD_MICRO_DOT_ROWS : 1;
        for (int64_t m = it->m; m < it->m_end; m += others) {
            others = it->m_end - m >= 4 ? 4 : it->m_end - m >= 2 ? 2 : 1;
            gemm->micro.dots[count][others](it->b + n * s_step * bytes, s_step,
                                            it->a + (m - t_first) * t_step * bytes, t_step,
                                            it->c + ((m - it->m) * it->c_step + n - it->n) * bytes,
                                            it->c_step, shape->k);
        }
    }
    run_epilogue(it, it->n, it->n_end, it->c, it->c_step);
}

/* The columns of a chunk as below, joined for tile registers. */
static void run_joined_group(const item *it, const tile *rows, const char *from, int64_t step,
                             int64_t pairs, int64_t n, int64_t columns)
{
    const bd_gemm *gemm = it->gemm;
    int64_t width = BD_MICRO_THIN_VECTORS * gemm->lanes;
    char *joined = it->call->worker_scratch + it->shape->worker_columns;
    memset(joined + pairs * width * 4, 0, (size_t)((BD_MICRO_PAIRS - pairs) * width) * 4);
    gemm->micro.pair(from, from + step, 2 * step, joined, width, columns, pairs);
    for (int64_t at = 0; at < columns; at += 2 * gemm->lanes)
        gemm->micro.tiles[2][1](rows->a + it->chunk * 4, rows->a_row_bytes, 1, joined + at * 4,
                                width, it->c + (n - it->n + at) * 4, it->c_step, BD_MICRO_PAIRS,
                                it->chunk > it->k);
}

/* Columns n .. n_end of bf16 as single numbers, at most one group of them, for one chunk. */
static void run_thin_group(const item *it, const tile *rows, int64_t n, int64_t n_end)
{
    enum { JOINED_ROWS_LEAST = 4 };
    const bd_gemm *gemm = it->gemm;
    const bd_gemm_side *columns = &it->shape->columns;
    int64_t width = BD_MICRO_THIN_VECTORS * gemm->lanes, step = columns->step_k * 2;
    int64_t pairs = least(it->chunk_end, it->shape->single_k / 2) - it->chunk;
    const char *from = it->b + n * 2 + it->chunk * 2 * step;
    if (gemm->row_unit > 1 && it->m_end - it->m >= JOINED_ROWS_LEAST) {
        run_joined_group(it, rows, from, step, pairs, n, n_end - n);
        return;
    }
    if (n_end - n < width) {
        char *padded = it->call->worker_scratch + it->shape->worker_columns;
        for (int64_t k = 0; k < 2 * pairs; k++) {
            memcpy(padded + k * width * 2, from + k * step, (size_t)(n_end - n) * 2);
            memset(padded + (k * width + n_end - n) * 2, 0, (size_t)(width - n_end + n) * 2);
        }
        from = padded;
        step = width * 2;
    }
    int64_t count = 0;
    for (int64_t m = it->m; m < it->m_end; m += count) {
        count = least(BD_MICRO_THIN_ROWS, it->m_end - m);
        gemm->micro.thin[count](rows->a + (m - it->m) * rows->a_row_bytes + it->chunk * 4,
                                rows->a_row_bytes, 1, from, step,
                                it->c + ((m - it->m) * it->c_step + n - it->n) * 4, it->c_step,
                                pairs, it->chunk > it->k);
    }
}

static void run_thin_pairs(item *it)
{
    int64_t width = BD_MICRO_THIN_VECTORS * it->gemm->lanes;
    tile rows;
    find_rows(it, it->m, &rows);
    for (it->chunk = it->k; it->chunk < it->k_end; it->chunk = it->chunk_end) {
        it->chunk_end = least(it->chunk + it->shape->chunk_k, it->k_end);
        for (int64_t n = it->n; n < it->n_end; n += width)
            run_thin_group(it, &rows, n, least(n + width, it->n_end));
    }
    if (it->shape->splits == 1)
        run_epilogue(it, it->n, it->n_end, it->c, it->c_step);
}

/* Few rows: some k at once, in runs as long as the block. */
static void run_streams(const item *it)
{
    const bd_gemm *gemm = it->gemm;
    const bd_gemm_shape *shape = it->shape;
    int64_t bytes = gemm->element_bytes, step = shape->columns.step_k, count = 0;
    char *c = it->c;
    int64_t c_step = it->c_step, cleared = shape->columns.block;
    tile t;
    find_rows(it, it->m, &t);
    if (it->out) {
        c = it->out + (it->m * shape->out_step + it->n) * bytes;
        c_step = shape->out_step;
        cleared = it->n_end - it->n;
    }
    for (int64_t r = 0; r < t.rows; r++)
        memset(c + r * c_step * bytes, 0, (size_t)(cleared * bytes));
    int64_t depth = bd_micro_stream_depth((int)t.rows);
    for (int64_t k = it->k; k < it->k_end; k += count) {
        count = it->k_end - k >= depth ? depth : 1;
        gemm->micro.streams[t.rows][count > 1](t.a + k * t.a_step * bytes, t.a_row_bytes, t.a_step,
                                               it->b + (k * step + it->n) * bytes, step, c, c_step,
                                               it->n_end - it->n);
    }
    if (shape->splits == 1 && !it->out)
        run_epilogue(it, it->n, it->n_end, c, c_step);
}

static void run_item(item *it)
{
    const bd_gemm_shape *shape = it->shape;
    int64_t direct_end = it->n; /* full panels go to the output */
    if (shape->dots) {
        run_dots(it);
        return;
    }
    if (shape->thin && it->gemm->element == BURN_BF16) {
        run_thin_pairs(it);
        return;
    }
    if (shape->streamed) {
        run_streams(it);
        return;
    }
    int64_t next = it->n;
    while (it->out && next < it->n_end) {
        next += bd_gemm_vectors_at(it->gemm, shape, next) * it->gemm->lanes;
        direct_end = next <= it->n_end ? next : direct_end;
    }
    it->chunk = it->k;
    do {
        it->chunk_end = least(it->chunk + shape->chunk_k, it->k_end);
        pack_chunk(it, &shape->rows, it->m / shape->rows.block, it->a);
        pack_chunk(it, &shape->columns, it->n / shape->columns.block, it->b);
        if (shape->columns.source == BD_GEMM_DIRECT || it->gemm->element == BURN_BF16)
            run_down(it, direct_end);
        else
            run_across(it, direct_end);
        it->chunk = it->chunk_end;
    } while (it->chunk < it->k_end);
    if (shape->splits == 1 && direct_end < it->n_end)
        run_epilogue(it, direct_end, it->n_end,
                     it->c + (direct_end - it->n) * it->gemm->element_bytes, it->c_step);
}

/* A product whose sizes say that it is in place: nothing but its tiles. */
static void run_in_place(const bd_call *call)
{
    const bd_gemm *gemm = gemm_of(call);
    const bd_gemm_shape *shape = shape_of(call);
    const bd_gemm_side *rows = &shape->rows, *columns = &shape->columns;
    int64_t bytes = gemm->element_bytes, vectors = 0, count = 0;
    const char *a = bd_gemm_element_at(gemm, call, &gemm->a.access, 0);
    const char *b = bd_gemm_element_at(gemm, call, &gemm->b.access, 0);
    char *out = (char *)(intptr_t)bd_gemm_element_at(gemm, call, &gemm->out, 0);
    for (int64_t n = 0; n < shape->n; n += vectors * gemm->lanes) {
        vectors = bd_gemm_vectors_at(gemm, shape, n);
        for (int64_t m = 0; m < shape->m; m += count) {
            count = bd_gemm_rows_at(gemm, shape, m);
            gemm->micro.tiles[vectors][count](
                a + m * rows->step * bytes, rows->step * bytes, rows->step_k, b + n * bytes,
                columns->step_k, out + (m * shape->out_step + n) * bytes, shape->out_step, shape->k,
                0);
        }
    }
}

void bd_gemm_run_tiles(const bd_call *call, int64_t begin, int64_t end)
{
    if (shape_of(call)->in_place) {
        run_in_place(call);
        return;
    }
    item it = {.gemm = gemm_of(call), .call = call};
    it.shape = shape_of(call);
    const bd_micro *micro = &it.gemm->micro;
    if (micro->begin)
        micro->begin(bd_amx_tiles);
    for (int64_t i = begin; i < end; i++) {
        find_item(&it, i);
        run_item(&it);
    }
    if (micro->end)
        micro->end();
}

void bd_gemm_add_row(burn_dtype element, const void *from, void *to, int64_t count)
{
    if (element != BURN_F64)
        for (int64_t i = 0; i < count; i++)
            ((float *)to)[i] += ((const float *)from)[i];
    else
        for (int64_t i = 0; i < count; i++)
            ((double *)to)[i] += ((const double *)from)[i];
}

/* Adds the partial sums of each row in the order of K, in place of the first. */
void bd_gemm_run_sums(const bd_call *call, int64_t begin, int64_t end)
{
    item it = {.gemm = gemm_of(call), .call = call};
    const bd_gemm_shape *shape = shape_of(call);
    it.shape = shape;
    int64_t bytes = it.gemm->element_bytes, whole = shape->columns.blocks * shape->columns.block;
    int64_t stride = shape->batch * shape->sum_rows * whole;
    for (int64_t row = begin; row < end; row++) { /* of batch * m */
        it.batch = row / shape->m;
        it.m = row % shape->m;
        char *sums = call->shared_scratch + shape->partial_at +
                     (it.batch * shape->sum_rows + it.m) * whole * bytes;
        for (int64_t s = 1; s < shape->splits; s++)
            bd_gemm_add_row(it.gemm->element, sums + s * stride * bytes, sums, whole);
        it.m_end = it.m + 1;
        run_epilogue(&it, 0, shape->n, sums, whole);
    }
}
