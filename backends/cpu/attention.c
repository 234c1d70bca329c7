/* SPDX-License-Identifier: Apache-2.0
 * How an attention is done: a first pass packs keys and values of each batch point into panels, as
 * the micro-kernels read them. An item of the second pass is a block of queries: its products with
 * all keys, made scores, made weights, and the products of these with the values. Blocks are so
 * small that the scores stay in the second cache; they depend on the sizes only. */
#include "backends/cpu/attention.h"

#include <math.h>
#include <string.h>

#include "backends/cpu/gemm_parts.h"
#include "proto/base/alloc.h"

enum {
    SCORE_BYTES = 192 << 10, /* of a block of queries */
    QUERIES_MAX = 72,
    CHUNK_KEYS = 256, /* keys whose values stay in the first cache */
    PACK_KEYS = 256,  /* values packed by one item */
    TEMP_COLUMNS = 256,
};

typedef struct attention {
    bd_kernel base;
    bd_arena arena;
    const bd_kir *program;
    bd_micro micro;
    bd_pass_function query, key, score, value, epilogue, softmax;
    int m, n, k, e;   /* axes, or -1 */
    int later;        /* instruction that tells how far the future is hidden, or -1 */
    int vectors, tile_rows;
    int rows_of[BD_MICRO_ROWS_MAX + 1]; /* of the next tile, when so many rows are left */
    int64_t bytes, lanes, turn_rows; /* of an element; of a register; of a turn */
} attention;

typedef struct sizes {
    int64_t batch, m, n, k, e;
    int64_t columns;                   /* of a panel */
    int64_t key_panels, value_panels;  /* of a batch point */
    int64_t key_room, value_room;      /* elements of a batch point's panels */
    int64_t value_parts;               /* items that pack its values */
    int64_t block, blocks;             /* queries of an item, items of a batch point */
    int64_t score_step, sum_step;      /* elements between rows */
    size_t scores_at, queries_at, sums_at, worker_bytes; /* bytes in a worker's scratch */
} sizes;

static int64_t extent_of(const attention *own, int axis, const int64_t *ints)
{
    return axis < 0 ? 1 : most(bd_kir_int_value(own->program->axes[axis].extent, ints), 0);
}

static size_t place(size_t *total, int64_t bytes)
{
    size_t at = *total;
    *total += ((size_t)bytes + 63) & ~(size_t)63;
    return at;
}

static void find_sizes(const attention *own, const int64_t *ints, sizes *out)
{
    sizes s = {.batch = 1,
               .m = extent_of(own, own->m, ints),
               .n = extent_of(own, own->n, ints),
               .k = own->query ? extent_of(own, own->k, ints) : 0,
               .e = extent_of(own, own->e, ints),
               .columns = own->vectors * own->lanes};
    for (int axis = 0; axis < own->program->axis_count; axis++)
        if (own->program->axes[axis].role == BD_KIR_BATCH)
            s.batch *= extent_of(own, axis, ints);
    s.key_panels = own->query ? (s.n + s.columns - 1) / s.columns : 0;
    s.value_panels = (s.e + s.columns - 1) / s.columns;
    s.key_room = s.key_panels * s.columns * s.k;
    s.value_room = s.value_panels * s.columns * s.n;
    s.value_parts = (s.n + PACK_KEYS - 1) / PACK_KEYS;
    s.score_step = (s.n + s.columns - 1) / s.columns * s.columns;
    s.sum_step = s.value_panels * s.columns;
    int64_t rows = SCORE_BYTES / own->bytes / most(s.score_step, 1) / own->tile_rows;
    int64_t tiles = (s.m + own->tile_rows - 1) / own->tile_rows;
    s.block = least(least(most(rows, 1), most(tiles, 1)) * own->tile_rows, QUERIES_MAX);
    s.blocks = (s.m + s.block - 1) / s.block;
    s.scores_at = place(&s.worker_bytes, s.block * s.score_step * own->bytes);
    s.queries_at =
        place(&s.worker_bytes, most(s.block * s.k, BD_GEMM_PAD * TEMP_COLUMNS) * own->bytes);
    s.sums_at = place(&s.worker_bytes, s.block * s.sum_step * own->bytes);
    *out = s;
}

/* ---- calls of generated code ---- */

typedef struct rectangle {
    int64_t row, rows, column, columns;
    void *memory;
    int64_t step;
} rectangle;

static void evaluate(const bd_call *call, bd_pass_function function, int64_t batch,
                     const rectangle *over)
{
    bd_call own = *call;
    own.params[BD_GEMM_BATCH] = batch;
    own.params[BD_GEMM_ROW] = over->row;
    own.params[BD_GEMM_ROWS] = over->rows;
    own.params[BD_GEMM_COLUMN] = over->column;
    own.params[BD_GEMM_COLUMNS] = over->columns;
    own.params[BD_GEMM_MEMORY] = (int64_t)(intptr_t)over->memory;
    own.params[BD_GEMM_STEP] = over->step;
    function(&own, 0, 1);
}

static const attention *kernel_of(const bd_call *call)
{
    return (const attention *)(intptr_t)call->params[BD_GEMM_KERNEL];
}

/* ---- packing ---- */

/* Keys of a panel: rows of K elements, turned so that those of one k lie side by side. Groups from
 * the last to the first, so that the junk behind each is written over by the one after it. */
static void pack_keys(const attention *own, const sizes *s, const bd_call *call, int64_t batch,
                      int64_t panel)
{
    int64_t first = panel * s->columns, rows = least(s->columns, s->n - first);
    char *to = call->shared_scratch + (batch * s->key_room + first * s->k) * own->bytes;
    char *temp = call->worker_scratch + s->queries_at;
    if (rows < s->columns) /* lanes without a key: no junk, it could be slow numbers */
        memset(to, 0, (size_t)(s->columns * s->k * own->bytes));
    for (int64_t k = 0; k < s->k; k += TEMP_COLUMNS) {
        int64_t count = least(TEMP_COLUMNS, s->k - k);
        int64_t group = (rows - 1) / own->turn_rows * own->turn_rows;
        for (; group >= 0; group -= own->turn_rows) {
            rectangle over = {first + group, least(own->turn_rows, rows - group), k, count,
                              temp, TEMP_COLUMNS};
            evaluate(call, own->key, batch, &over);
            own->micro.turn(temp, TEMP_COLUMNS * own->bytes,
                            to + (k * s->columns + group) * own->bytes, s->columns, over.rows,
                            count);
        }
    }
}

static void pack_values(const attention *own, const sizes *s, const bd_call *call, int64_t batch,
                        int64_t part)
{
    int64_t keys_room = s->batch * s->key_room;
    int64_t first = part * PACK_KEYS, rows = least(PACK_KEYS, s->n - first);
    for (int64_t panel = 0; panel < s->value_panels; panel++) {
        int64_t column = panel * s->columns, columns = least(s->columns, s->e - column);
        char *to = call->shared_scratch +
                   (keys_room + batch * s->value_room + (panel * s->n + first) * s->columns) *
                       own->bytes;
        if (columns < s->columns)
            memset(to, 0, (size_t)(rows * s->columns * own->bytes));
        rectangle over = {first, rows, column, columns, to, s->columns};
        evaluate(call, own->value, batch, &over);
    }
}

static void run_pack(const bd_call *call, int64_t begin, int64_t end)
{
    const attention *own = kernel_of(call);
    sizes s;
    find_sizes(own, call->ints, &s);
    int64_t keys = s.batch * s.key_panels;
    for (int64_t i = begin; i < end; i++) {
        if (i < keys)
            pack_keys(own, &s, call, i / s.key_panels, i % s.key_panels);
        else
            pack_values(own, &s, call, (i - keys) / s.value_parts, (i - keys) % s.value_parts);
    }
}

/* ---- queries ---- */

typedef struct product {
    const char *a; /* rows of `a_step` elements */
    const char *b; /* panels of `depth` rows */
    char *c;
    int64_t a_step, c_step, rows, columns, first, last, depth; /* k from first to last */
} product;

/* c = a * b over k from first to last, added to what c holds if first > 0. */
static void multiply(const attention *own, const product *p)
{
    int64_t width = own->vectors * own->lanes;
    for (int64_t column = 0; column < p->columns; column += width) {
        const char *b = p->b + (column * p->depth + p->first * width) * own->bytes;
        int rows;
        for (int64_t row = 0; row < p->rows; row += rows) {
            rows = own->rows_of[least(p->rows - row, own->tile_rows)];
            own->micro.tiles[own->vectors][rows](
                p->a + (row * p->a_step + p->first) * own->bytes, p->a_step * own->bytes, 1, b,
                width, p->c + (row * p->c_step + column) * own->bytes, p->c_step,
                p->last - p->first, p->first > 0);
        }
    }
}

/* Keys that the last query of a block can see at most. */
static int64_t keys_seen(const attention *own, const sizes *s, const int64_t *ints,
                         int64_t last_query)
{
    if (own->later < 0)
        return s->n;
    const bd_kir_instr *limit = &own->program->instrs[own->later];
    int64_t ahead =
        limit->code == BD_KIR_INTEGER ? bd_kir_int_value(limit->integer, ints) : limit->i;
    return ahead > s->n ? s->n : most(least(last_query + ahead + 1, s->n), 0);
}

static void attend(const attention *own, const sizes *s, const bd_call *call, int64_t item)
{
    int64_t batch = item / s->blocks, first = item % s->blocks * s->block;
    int64_t rows = least(s->block, s->m - first);
    int64_t seen = keys_seen(own, s, call->ints, first + rows - 1);
    char *scores = call->worker_scratch + s->scores_at, *sums = call->worker_scratch + s->sums_at;
    if (own->query) {
        char *queries = call->worker_scratch + s->queries_at;
        rectangle over = {first, rows, 0, s->k, queries, s->k};
        evaluate(call, own->query, batch, &over);
        product p = {.a = queries,
                     .b = call->shared_scratch + batch * s->key_room * own->bytes,
                     .c = scores,
                     .a_step = s->k,
                     .c_step = s->score_step,
                     .rows = rows,
                     .columns = seen,
                     .last = s->k,
                     .depth = s->k};
        multiply(own, &p);
    }
    rectangle all = {first, rows, 0, seen, scores, s->score_step};
    evaluate(call, own->score, batch, &all);
    bd_call softmax = *call;
    const int64_t ints[BD_SOFTMAX_INTS] = {rows, seen, s->score_step};
    void *const buffers[] = {scores};
    softmax.ints = ints;
    softmax.buffers = buffers;
    own->softmax(&softmax, 0, rows);
    const char *values =
        call->shared_scratch + (s->batch * s->key_room + batch * s->value_room) * own->bytes;
    product p = {.a = scores,
                 .b = values,
                 .c = sums,
                 .a_step = s->score_step,
                 .c_step = s->sum_step,
                 .rows = rows,
                 .columns = s->e,
                 .depth = s->n};
    do { /* also for no key at all: then the sums are 0 */
        p.last = least(p.first + CHUNK_KEYS, seen);
        multiply(own, &p);
        p.first = p.last;
    } while (p.first < seen);
    rectangle result = {first, rows, 0, s->e, sums, s->sum_step};
    evaluate(call, own->epilogue, batch, &result);
}

static void run_queries(const bd_call *call, int64_t begin, int64_t end)
{
    const attention *own = kernel_of(call);
    sizes s;
    find_sizes(own, call->ints, &s);
    for (int64_t i = begin; i < end; i++)
        attend(own, &s, call, i);
}

/* ---- the kernel ---- */

static int plan(const bd_kernel *kernel, const int64_t *ints, bd_pass *out_passes)
{
    const attention *own = (const attention *)kernel;
    sizes s;
    find_sizes(own, ints, &s);
    if (s.batch == 0 || s.m == 0 || s.e == 0)
        return 0;
    int count = 0;
    bd_pass pass = {.params = {(int64_t)(intptr_t)own}};
    int64_t packs = s.batch * (s.key_panels + s.value_parts);
    if (packs > 0) {
        pass.run = run_pack;
        pass.item_count = packs;
        pass.item_ns = 0.3 * (double)(s.batch * s.n * (s.k + s.e)) / (double)packs;
        out_passes[count++] = pass;
    }
    pass.run = run_queries;
    pass.item_count = s.batch * s.blocks;
    double scores = (double)least(s.block, s.m) * (double)s.n;
    pass.item_ns = scores * (2.0 * (double)(s.k + s.e) / (6.0 * (double)own->lanes) + 0.5) + 500;
    out_passes[count++] = pass;
    return count;
}

static void scratch(const bd_kernel *kernel, const int64_t *ints, size_t *out_worker_bytes,
                    size_t *out_shared_bytes)
{
    const attention *own = (const attention *)kernel;
    sizes s;
    find_sizes(own, ints, &s);
    *out_worker_bytes = s.worker_bytes;
    *out_shared_bytes = (size_t)(s.batch * (s.key_room + s.value_room) * own->bytes + 64);
}

static void destroy(bd_kernel *kernel)
{
    attention *own = (attention *)kernel;
    bd_arena_deinit(&own->arena);
    bd_free(own);
}

static burn_dtype sum_of(const bd_kir *program, bd_kir_phase_kind kind)
{
    const bd_kir_phase *phase = bd_gemm_phase(program, kind);
    if (!phase)
        return BURN_DTYPE_NONE;
    return bd_kir_accumulator((burn_dtype)program->instrs[phase->first + phase->count - 1].dtype);
}

bd_error *bd_attention_element(const bd_kir *program, burn_dtype *out)
{
    burn_dtype scores = sum_of(program, BD_KIR_OPERAND_A);
    *out = sum_of(program, BD_KIR_OPERAND_C);
    if (scores != BURN_DTYPE_NONE && scores != *out)
        BD_FAIL(UNSUPPORTED, "an attention of %s values with %s products of queries and keys",
                burn_dtype_name(*out), burn_dtype_name(scores));
    return NULL;
}

/* Finds a score that is -inf wherever key - query > a number: the number's instruction, or -1. */
static int find_later(const bd_kir *program)
{
    const bd_kir_phase *phase = bd_gemm_phase(program, BD_KIR_SCORE);
    const bd_kir_instr *all = program->instrs - 1; /* by value */
    const bd_kir_instr *at = &all[all[phase->first + phase->count].operands[0]];
    if (at->code != BD_KIR_SELECT)
        return -1;
    const bd_kir_instr *hidden = &all[at->operands[2]], *seen = &all[at->operands[0]];
    bool lowest = hidden->code == BD_KIR_CONST && hidden->f == -(double)INFINITY;
    if (!lowest || seen->code != BD_KIR_LE)
        return -1;
    const bd_kir_instr *apart = &all[seen->operands[0]], *limit = &all[seen->operands[1]];
    bool number = limit->code == BD_KIR_INTEGER ||
                  (limit->code == BD_KIR_CONST && limit->dtype == BURN_I64);
    if (apart->code != BD_KIR_SUB || !number)
        return -1;
    const bd_kir_instr *key = &all[apart->operands[0]], *query = &all[apart->operands[1]];
    bool places = key->code == BD_KIR_INDEX && query->code == BD_KIR_INDEX &&
                  program->axes[key->index].role == BD_KIR_N &&
                  program->axes[query->index].role == BD_KIR_M;
    return places ? seen->operands[1] - 1 : -1;
}

static bd_pass_function function_of(const bd_loaded *code, const char *name)
{
    return (bd_pass_function)(uintptr_t)bd_code_symbol(code, name);
}

bd_error *bd_attention_create(const bd_target *target, const bd_kir *program, bd_loaded *own_code,
                              const bd_loaded *micro, bd_kernel **out)
{
    static const bd_kernel_ops ops = {.plan = plan, .scratch = scratch, .destroy = destroy};
    burn_dtype element;
    bd_micro found;
    BD_TRY(bd_attention_element(program, &element));
    BD_TRY(bd_micro_find(target, element, micro, &found));
    bool products = bd_gemm_phase(program, BD_KIR_OPERAND_A) != NULL;
    bd_pass_function query = function_of(own_code, "qa"), key = function_of(own_code, "kb");
    if ((products && (!query || !key)) || !function_of(own_code, "sc") ||
        !function_of(own_code, "vc") || !function_of(own_code, "ep") || !function_of(own_code, "k"))
        BD_FAIL(DEVICE, "the object of an attention lacks a function");
    attention *own = bd_alloc_zeroed(sizeof *own);
    bd_arena_init(&own->arena);
    own->base = (bd_kernel){.ops = &ops, .code = own_code};
    own->program = bd_kir_clone(program, &own->arena);
    own->micro = found;
    own->query = products ? query : NULL;
    own->key = products ? key : NULL;
    own->score = function_of(own_code, "sc");
    own->value = function_of(own_code, "vc");
    own->epilogue = function_of(own_code, "ep");
    own->softmax = function_of(own_code, "k");
    own->m = bd_kir_axis_of(program, BD_KIR_M);
    own->n = bd_kir_axis_of(program, BD_KIR_N);
    own->k = bd_kir_axis_of(program, BD_KIR_K);
    own->e = bd_kir_axis_of(program, BD_KIR_E);
    own->later = find_later(program);
    own->vectors = bd_micro_vectors(target, element);
    for (int rows = 1; rows <= BD_MICRO_ROWS_MAX; rows++) {
        bool has = bd_micro_has(target, element, own->vectors, rows);
        own->rows_of[rows] = has ? rows : own->rows_of[rows - 1];
        own->tile_rows = own->rows_of[rows];
    }
    own->bytes = (int64_t)burn_dtype_size(element);
    own->lanes = (int64_t)target->vector_bytes / own->bytes;
    own->turn_rows = bd_micro_turn_rows(target, element);
    *out = &own->base;
    return NULL;
}
