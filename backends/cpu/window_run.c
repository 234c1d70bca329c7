/* SPDX-License-Identifier: Apache-2.0
 * The passes of a product of windows. */
#include <string.h>

#include "backends/cpu/window.h"

/* One item of the compute pass. */
typedef struct item {
    const bd_gemm *gemm;
    const bd_window_shape *shape;
    const bd_call *call;
    int64_t batch, row_block;
    int64_t m, m_end, n, n_end; /* columns with junk; of the block if turned */
    int64_t inner, inner_count; /* positions of the innermost dim, those that exist */
    const char *rows, *copy;    /* of this batch point */
    const int32_t *table;
    char *c;
    int32_t *segments; /* of the block that found_n and found_inner name */
    int64_t found, found_n, found_inner;
    int64_t first, count; /* real columns */
} item;

static const bd_gemm *gemm_of(const bd_call *call)
{
    return (const bd_gemm *)(intptr_t)call->params[BD_GEMM_KERNEL];
}

static const bd_window_shape *shape_of(const bd_call *call)
{
    return (const bd_window_shape *)(intptr_t)call->params[BD_GEMM_SHAPE];
}

static void run_parts(const bd_call *call, int64_t begin, int64_t end)
{
    const bd_gemm *gemm = gemm_of(call);
    const bd_window_shape *shape = shape_of(call);
    int64_t bytes = gemm->element_bytes, copies = shape->local ? 0 : shape->copies * shape->parts;
    char *copy = call->shared_scratch + shape->copy_at;
    for (int64_t i = begin; i < end; i++) {
        if (i == 0) {
            bd_window_table(gemm, shape, call->ints,
                            (int32_t *)(void *)(call->shared_scratch + shape->table_at));
            if (copies > 0)
                memset(copy + shape->copies * shape->copy_elements * bytes, 0,
                       (size_t)(shape->slack * bytes));
        } else if (i <= copies) {
            int64_t batch = (i - 1) / shape->parts;
            bd_window_copy(gemm, shape, call, batch, (i - 1) % shape->parts,
                           copy + batch * shape->copy_elements * bytes);
        } else {
            const bd_gemm_side *side = &shape->rows.rows;
            int64_t number = i - 1 - copies, batch = number / side->parts;
            char *to =
                call->shared_scratch + shape->rows_at + batch * side->batch_elements * bytes;
            if (shape->pair_dim >= 0)
                bd_window_pack_pairs(gemm, shape, call, batch, number % side->parts, to);
            else
                bd_gemm_pack_part(gemm, &shape->rows, call, side, batch, number % side->parts, to);
        }
    }
}

/* The copy of the item's batch point; made now if it is the item's own. */
static const char *copy_of(const item *it)
{
    const bd_window_shape *shape = it->shape;
    int64_t bytes = it->gemm->element_bytes, batch = shape->copies > 1 ? it->batch : 0;
    if (!shape->local)
        return it->call->shared_scratch + shape->copy_at + batch * shape->copy_elements * bytes;
    char *copy = it->call->worker_scratch + shape->copy_at;
    for (int64_t part = 0; part < shape->parts; part++)
        bd_window_copy(it->gemm, shape, it->call, it->batch, part, copy);
    memset(copy + shape->copy_elements * bytes, 0, (size_t)(shape->slack * bytes));
    return copy;
}

static void find_item(item *it, int64_t number)
{
    const bd_window_shape *shape = it->shape;
    int64_t column_block, bytes = it->gemm->element_bytes;
    if (shape->rows_outside) {
        column_block = number % shape->column_blocks;
        number /= shape->column_blocks;
        it->batch = number % shape->batch;
        it->row_block = number / shape->batch;
    } else {
        it->row_block = number % shape->row_blocks;
        number /= shape->row_blocks;
        column_block = number % shape->column_blocks;
        it->batch = number / shape->column_blocks;
    }
    it->m = it->row_block * shape->row_block;
    it->m_end = least(it->m + shape->row_block, shape->m);
    it->n = shape->turned ? 0 : column_block * shape->column_block;
    it->n_end = least(it->n + shape->column_block, shape->columns);
    it->inner = shape->turned ? column_block * shape->inner_block : 0;
    it->inner_count = shape->dims[shape->dim_count - 1].count - it->inner;
    if (shape->turned)
        it->inner_count = least(it->inner_count, shape->inner_block);
    const bd_gemm_side *side = &shape->rows.rows;
    const char *shared = it->call->shared_scratch;
    it->table = (const int32_t *)(const void *)(shared + shape->table_at);
    it->copy = copy_of(it);
    int64_t block = shape->pair_dim >= 0 ? bd_window_pair_row(shape, it->m)
                                         : it->row_block * side->block_elements;
    if (shape->packed)
        it->rows = shared + shape->rows_at +
                   ((side->batches > 1 ? it->batch : 0) * side->batch_elements + block) * bytes;
    else
        it->rows = bd_gemm_element_at(it->gemm, it->call, &it->gemm->a.access, it->batch);
}

/* Vectors of the panel of columns that begins at n. */
static int64_t vectors_at(const item *it, int64_t n)
{
    const bd_window_shape *shape = it->shape;
    int64_t end = least(it->n_end, (n / shape->wide + 1) * shape->wide);
    int64_t left = ceiling(end - n, it->gemm->lanes);
    if (shape->vectors == 3 && left == 4)
        return 2;
    return least(left, shape->vectors);
}

/* Positions of a group of runs in the dims outside of them. */
static void find_group(const bd_window_shape *shape, int64_t group, int64_t *out)
{
    for (int d = shape->run_dim - 1; d >= shape->k_dims; d--) {
        out[d] = group % shape->dims[d].count;
        group /= shape->dims[d].count;
    }
}

/* Positions of a place of a run; whether it is a column. */
static bool find_place(const item *it, int64_t place, int64_t *out)
{
    const bd_window_shape *shape = it->shape;
    bool real = true;
    for (int d = shape->run_dim; d < shape->dim_count; d++) {
        out[d] = place / shape->dims[d].step;
        place %= shape->dims[d].step;
        bool inner = d + 1 == shape->dim_count;
        real = real && out[d] < (inner ? it->inner_count : shape->dims[d].count);
    }
    return real;
}

static const char *columns_at(const item *it, int64_t n)
{
    const bd_window_shape *shape = it->shape;
    int64_t at[BD_KIR_AXES_MAX], offset = n % shape->wide + it->inner;
    find_group(shape, n / shape->wide, at);
    for (int d = shape->k_dims; d < shape->run_dim; d++)
        offset += at[d] * shape->dims[d].step;
    return it->copy + offset * it->gemm->element_bytes;
}

/* ---- the columns that are real ---- */

/* The number of a column among those of all dims but the innermost one. */
static int64_t outer_number(const bd_window_shape *shape, const int64_t *at)
{
    int64_t number = 0;
    for (int d = shape->k_dims; d < shape->dim_count - 1; d++)
        number = number * shape->dims[d].count + at[d];
    return number;
}

/* Finds the stretches of real columns of the block: where they begin, how many, where they belong.
 * Items that follow each other often are of the same block. */
static void find_segments(item *it)
{
    const bd_window_shape *shape = it->shape;
    int last = shape->dim_count - 1;
    int64_t pitch = shape->run_dim == last ? shape->wide : shape->dims[last - 1].step;
    if (it->found > 0 && it->found_n == it->n && it->found_inner == it->inner)
        return;
    it->found = it->count = 0;
    it->found_n = it->n;
    it->found_inner = it->inner;
    for (int64_t n = it->n, next = n; n < it->n_end; n = next) {
        int64_t at[BD_KIR_AXES_MAX], place = n % shape->wide;
        find_group(shape, n / shape->wide, at);
        bool real = find_place(it, place, at);
        next = n - place + least((place / pitch + 1) * pitch, shape->wide);
        if (!real)
            continue;
        int64_t outer = outer_number(shape, at), count = it->inner_count - at[last];
        if (it->found == 0)
            it->first = shape->turned ? it->inner * shape->turned_step
                                      : outer * shape->dims[last].count + at[last];
        int32_t *segment = it->segments + BD_WINDOW_SEGMENT * it->found++;
        segment[0] = (int32_t)(n - it->n);
        segment[1] = (int32_t)least(count, it->n_end - n);
        segment[2] = (int32_t)(shape->turned ? outer + at[last] * shape->turned_step : it->count);
        it->count += segment[1];
    }
}

/* Elements side by side to such that lie some elements apart. */
static void spread(const char *from, char *to, int64_t step, int64_t count, int64_t bytes)
{
    if (step == 1)
        memmove(to, from, (size_t)(count * bytes));
    else if (bytes == 4)
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * step * 4, from + i * 4, 4);
    else
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * step * 8, from + i * 8, 8);
}

/* A row whose runs are of the innermost dim alone; groups from the last to the first, so that the
 * junk behind each is written over by the group after it, the next column, or the next row. */
static void turn_row(const item *it, const char *row, char *to)
{
    const bd_window_shape *shape = it->shape;
    int64_t bytes = it->gemm->element_bytes, rows = it->gemm->turn_rows;
    for (int64_t at = (shape->turned_step - 1) / rows * rows; at >= 0; at -= rows)
        it->gemm->micro.turn(row + at * shape->wide * bytes, shape->wide * bytes, to + at * bytes,
                             shape->turned_step, least(rows, shape->turned_step - at),
                             it->inner_count);
}

/* Puts the real columns of each row side by side, in order; rows to_step apart. */
static void put_in_order(const item *it, char *place, int64_t to_step)
{
    const bd_window_shape *shape = it->shape;
    int64_t bytes = it->gemm->element_bytes, step = shape->turned ? shape->turned_step : 1;
    bool alone = shape->turned && shape->run_dim == shape->dim_count - 1;
    for (int64_t m = 0; m < it->m_end - it->m; m++) {
        const char *row = it->c + m * shape->column_block * bytes;
        if (alone)
            turn_row(it, row, place + m * to_step * bytes);
        for (int64_t i = 0; i < it->found && !alone; i++) {
            const int32_t *segment = it->segments + BD_WINDOW_SEGMENT * i;
            spread(row + segment[0] * bytes, place + (m * to_step + segment[2]) * bytes, step,
                   segment[1], bytes);
        }
    }
}

/* Where the rows of the block stand in the output, if the epilogue does no more than store. */
static char *output_of(const item *it, int64_t column)
{
    const bd_gemm *gemm = it->gemm;
    const char *out = bd_gemm_element_at(gemm, it->call, &gemm->out, it->batch);
    return (char *)(intptr_t)out + (it->m * it->shape->out_step + column) * gemm->element_bytes;
}

static void run_epilogue(item *it)
{
    const bd_window_shape *shape = it->shape;
    char *scratch = it->call->worker_scratch, *sums = it->c;
    int64_t bytes = it->gemm->element_bytes, step = shape->column_block;
    it->segments = (int32_t *)(void *)(scratch + shape->worker_segments);
    find_segments(it);
    if (it->found == 0)
        return;
    if (shape->direct_store && !shape->turned) {
        put_in_order(it, output_of(it, it->first), shape->out_step);
        return;
    }
    if (shape->turned) {
        sums = scratch + shape->worker_turned;
        step = shape->inner_block * shape->turned_step;
    }
    put_in_order(it, sums, step);
    if (shape->direct_store) {
        char *out = output_of(it, it->first);
        for (int64_t m = 0; m < it->m_end - it->m; m++)
            memcpy(out + m * shape->out_step * bytes, sums + m * step * bytes,
                   (size_t)(it->count * bytes));
        return;
    }
    bd_call call = *it->call;
    call.params[BD_GEMM_BATCH] = it->batch;
    call.params[BD_GEMM_ROW] = it->m;
    call.params[BD_GEMM_ROWS] = it->m_end - it->m;
    call.params[BD_GEMM_COLUMN] = it->first;
    call.params[BD_GEMM_COLUMNS] = it->count;
    call.params[BD_GEMM_MEMORY] = (int64_t)(intptr_t)sums;
    call.params[BD_GEMM_STEP] = step;
    it->gemm->epilogue(&call, 0, 1);
}

/* ---- tiles ---- */

/* One micro-kernel call: rows from m on, where their elements lie. */
typedef struct tile_rows {
    const char *a;
    int64_t row_bytes, step, count;
} tile_rows;

static tile_rows rows_at(const item *it, int64_t m)
{
    const bd_gemm *gemm = it->gemm;
    const bd_window_shape *shape = it->shape;
    int64_t bytes = gemm->element_bytes, count = bd_gemm_rows_at(gemm, &shape->rows, m);
    if (shape->pair_dim >= 0) {
        int64_t step = gemm->row_unit > 1 ? shape->dims[shape->pair_dim].step : 1;
        return (tile_rows){it->rows + bd_window_pair_row(shape, m - it->m) * bytes,
                           shape->row_apart * bytes, step, count};
    }
    if (shape->packed)
        return (tile_rows){it->rows + (m - it->m) * shape->k * bytes, bytes, count, count};
    return (tile_rows){it->rows + m * shape->row_step * bytes, shape->row_step * bytes, 1, count};
}

/* All tiles of some rows and columns of the block for k .. k_end. A panel of columns stays in the
 * first cache. */
static void run_panels(const item *it, int64_t m_first, int64_t m_end, int64_t k, int64_t k_end,
                       bool add)
{
    const bd_gemm *gemm = it->gemm;
    const bd_window_shape *shape = it->shape;
    int64_t bytes = gemm->element_bytes, vectors = 0;
    const int32_t *table = it->table + 2 * (k / shape->group);
    BD_UNSET tile_rows rows;
    for (int64_t n = it->n; n < it->n_end; n += vectors * gemm->lanes) {
        vectors = vectors_at(it, n);
        const char *columns = columns_at(it, n);
        for (int64_t m = m_first; m < m_end; m += rows.count) {
            rows = rows_at(it, m);
            char *c = it->c + ((m - it->m) * shape->column_block + n - it->n) * bytes;
            gemm->tabled.tiles[vectors][rows.count / gemm->row_unit](
                rows.a, rows.row_bytes, rows.step, columns, table, c, shape->column_block,
                k_end - k, add);
        }
    }
}

/* All tiles of the block for k .. k_end. What tile registers multiply in the time that one of them
 * is loaded from beyond the first cache is so much that a panel of rows had better stay there;
 * elements of columns recur, so few of them come anew with the next panel. */
static void run_chunk(const item *it, int64_t k, int64_t k_end, bool add)
{
    int64_t tall = it->shape->tall > 1 ? it->shape->tall : it->m_end - it->m;
    for (int64_t m = it->m; m < it->m_end; m += tall)
        run_panels(it, m, least(m + tall, it->m_end), k, k_end, add);
}

static char *partial_of(const item *it, int64_t split, int64_t number)
{
    const bd_window_shape *shape = it->shape;
    int64_t items = shape->batch * shape->row_blocks * shape->column_blocks;
    int64_t cells = shape->row_block * shape->column_block;
    return it->call->shared_scratch + shape->partial_at +
           (split * items + number) * cells * it->gemm->element_bytes;
}

static void run_tiles(const bd_call *call, int64_t begin, int64_t end)
{
    const bd_window_shape *shape = shape_of(call);
    item it = {.gemm = gemm_of(call), .shape = shape, .call = call};
    const bd_micro *micro = &it.gemm->micro;
    if (micro->begin)
        micro->begin(bd_amx_tiles);
    for (int64_t i = begin; i < end; i++) {
        int64_t blocks = shape->batch * shape->row_blocks * shape->column_blocks;
        find_item(&it, i % blocks);
        it.c = call->worker_scratch + shape->worker_c;
        if (shape->splits > 1)
            it.c = partial_of(&it, i / blocks, i % blocks);
        int64_t first = i / blocks * shape->split_k, last = least(first + shape->split_k, shape->k);
        for (int64_t k = first; k < last; k += shape->chunk_k)
            run_chunk(&it, k, least(k + shape->chunk_k, last), k > first);
        if (shape->splits == 1)
            run_epilogue(&it);
    }
    if (micro->end)
        micro->end();
}

/* Adds the partial sums of each block in the order of K. */
static void run_sums(const bd_call *call, int64_t begin, int64_t end)
{
    const bd_window_shape *shape = shape_of(call);
    item it = {.gemm = gemm_of(call), .shape = shape, .call = call};
    for (int64_t i = begin; i < end; i++) {
        find_item(&it, i);
        it.c = partial_of(&it, 0, i);
        for (int64_t split = 1; split < shape->splits; split++)
            bd_gemm_add_row(it.gemm->element, partial_of(&it, split, i), it.c,
                            (it.m_end - it.m) * shape->column_block);
        run_epilogue(&it);
    }
}

int bd_window_plan(const bd_gemm *gemm, const bd_window_shape *shape, bd_pass *out_passes)
{
    const bd_gemm_side *side = &shape->rows.rows;
    int64_t packs = shape->packed ? side->batches * side->parts : 0;
    int64_t copies = shape->local ? 0 : shape->copies;
    int64_t parts = 1 + copies * shape->parts + packs;
    double moved = (double)(copies * shape->copy_elements) +
                   (shape->packed ? (double)(side->batches * shape->m * shape->k) : 0.0);
    int64_t blocks = shape->batch * shape->row_blocks * shape->column_blocks;
    double cells = (double)shape->row_block * (double)shape->column_block;
    int count = 0;
    bd_pass pass = {.run = run_parts,
                    .item_count = parts,
                    .item_ns = 0.25 * moved / (double)parts,
                    .params = {(int64_t)(intptr_t)gemm, (int64_t)(intptr_t)shape}};
    out_passes[count++] = pass;
    pass.run = run_tiles;
    pass.item_count = blocks * shape->splits;
    pass.item_ns = bd_gemm_nanoseconds(gemm, 2.0 * cells * (double)shape->split_k) + cells;
    out_passes[count++] = pass;
    if (shape->splits > 1) {
        pass.run = run_sums;
        pass.item_count = blocks;
        pass.item_ns = 0.2 * cells * (double)shape->splits + 50.0;
        out_passes[count++] = pass;
    }
    return count;
}
