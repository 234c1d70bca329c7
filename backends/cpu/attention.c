/* SPDX-License-Identifier: Apache-2.0
 * How an attention is done: a first pass packs keys and values of each batch point into panels, as
 * the micro-kernels read them. An item of the second pass is a block of queries: its products with
 * all keys, made scores, made powers of e as weights, and the products of these with the values,
 * which the epilogue divides by the weights' sums. Blocks are so small that the scores stay in the
 * second cache. They are cut into tiles, the rows of a micro-kernel, and where the future is hidden
 * each tile works on the keys only that its last query sees. All depends on the sizes only.
 * Keys and values that are the elements of one buffer as they are, of the packed type, are read
 * where they lie: keys are only turned, and values, if their rows are near each other, not even
 * packed.
 *   An element of BF16 is a pair of numbers along K, of queries and keys or of weights and values,
 * as in gemm_parts.h: what is packed is zero beyond the last number, up to whole micro-kernels. */
#include <math.h>
#include <string.h>

#include "backends/cpu/attention_parts.h"
#include "proto/base/alloc.h"

enum {
    SCORE_BYTES = 192 << 10, /* of a block of queries */
    QUERIES_MAX = 72,
    CHUNK_KEYS = 256, /* keys whose values stay in the first cache; even */
    NEAR_KEYS = 128,  /* CHUNK_KEYS of values where they lie, */
    NEAR_BYTES = 512, /* so far apart at most */
    APART = 64, /* bytes, so that no two rows of scores lie on one set of the first cache */
};

static int64_t extent_of(const bd_attention *own, int axis, const int64_t *ints)
{
    return axis < 0 ? 1 : most(bd_kir_int_value(own->program->axes[axis].extent, ints), 0);
}

/* Vectors of a panel of values: as many as a tile has, or somewhat fewer if then all are full. */
static int64_t value_vectors(const bd_attention *own, int64_t e)
{
    int64_t vectors = own->vectors;
    while (vectors > 1 && ceiling(e, own->lanes) % vectors != 0)
        vectors--;
    return vectors > 1 ? vectors : own->vectors;
}

/* Elements between the rows of keys or values whose columns lie side by side; else 0. */
static int64_t step_of(const bd_attention *own, const bd_kir_access *access, int column,
                       const int64_t *ints)
{
    if (!access || column < 0 || bd_kir_int_value(access->strides[column], ints) != 1)
        return 0;
    return own->n < 0 ? 1 : bd_kir_int_value(access->strides[own->n], ints);
}

void bd_attention_find_sizes(const bd_attention *own, const int64_t *ints, bd_attention_sizes *out)
{
    bd_attention_sizes s = {.batch = 1,
               .m = extent_of(own, own->m, ints),
               .n = extent_of(own, own->n, ints),
               .k = own->query ? extent_of(own, own->k, ints) : 0,
               .e = extent_of(own, own->e, ints),
               .columns = own->vectors * own->lanes};
    for (int axis = 0; axis < own->program->axis_count; axis++)
        if (own->program->axes[axis].role == BD_KIR_BATCH)
            s.batch *= extent_of(own, axis, ints);
    s.key_depth = bd_attention_depth(own, s.k);
    s.value_depth = bd_attention_depth(own, s.n);
    s.key_panels = own->query ? ceiling(s.n, s.columns) : 0;
    s.value_columns = value_vectors(own, s.e) * own->lanes;
    s.value_panels = ceiling(s.e, s.value_columns);
    s.key_room = s.key_panels * s.columns * s.key_depth;
    s.value_room = s.value_panels * s.value_columns * s.value_depth;
    s.value_parts = ceiling(s.n, BD_ATTENTION_PACK_KEYS);
    s.key_step = step_of(own, own->keys, own->k, ints);
    s.value_step = step_of(own, own->values, own->e, ints);
    if (s.value_step * own->bytes > NEAR_BYTES || s.value_step < 0 || s.e % own->lanes != 0)
        s.value_step = 0;
    if (s.value_step > 0)
        s.value_room = s.value_parts = 0;
    s.score_step = ceiling(s.n, s.columns) * s.columns + (own->pairs ? APART / own->bytes : 0);
    s.weight_step = own->pairs ? 2 * s.value_depth + APART / 2 : s.score_step;
    s.sum_step = s.value_panels * s.value_columns;
    int64_t tile = own->tile_units * own->row_unit;
    int64_t tiles = SCORE_BYTES / own->bytes / most(s.score_step, 1) / tile;
    tiles = least(least(most(tiles, 1), most(ceiling(s.m, tile), 1)), QUERIES_MAX / tile);
    s.block = tiles * tile;
    s.blocks = ceiling(s.m, s.block);
    int64_t temp = own->pairs ? BD_ATTENTION_PACK_KEYS * s.value_columns / 2 : 0;
    temp = most(BD_GEMM_PAD * BD_ATTENTION_TEMP_COLUMNS, temp);
    s.scores_at = place_elements(&s.worker_bytes, s.block * s.score_step, own->bytes);
    s.weights_at = s.scores_at;
    if (own->pairs)
        s.weights_at = place_elements(&s.worker_bytes, s.block * s.weight_step, 2);
    s.temp_at = place_elements(&s.worker_bytes, most(s.block * s.key_depth, temp), own->bytes);
    s.sums_at = place_elements(&s.worker_bytes, s.block * s.sum_step, own->bytes);
    s.factors_at = place_elements(&s.worker_bytes, s.block, own->bytes);
    *out = s;
}

void bd_attention_evaluate(const bd_call *call, bd_pass_function function, int64_t batch,
                     const bd_rectangle *over)
{
    bd_call own = *call;
    own.params[BD_GEMM_BATCH] = batch;
    own.params[BD_GEMM_ROW] = over->row;
    own.params[BD_GEMM_ROWS] = over->rows;
    own.params[BD_GEMM_COLUMN] = over->column;
    own.params[BD_GEMM_COLUMNS] = over->columns;
    own.params[BD_GEMM_MEMORY] = (int64_t)(intptr_t)over->memory;
    own.params[BD_GEMM_STEP] = over->step;
    own.params[BD_GEMM_FACTORS] = (int64_t)(intptr_t)over->factors;
    function(&own, 0, 1);
}

/* ---- queries ---- */

/* Queries that a micro-kernel takes at once. */
typedef struct tile {
    int64_t row, rows, units;
    int64_t open, seen; /* keys that all of them see, and that at least the last one sees */
} tile;

/* A block of queries at work. */
typedef struct block {
    const bd_attention *own;
    const bd_attention_sizes *s;
    const bd_call *call;
    int64_t batch, first, rows;
    tile tiles[QUERIES_MAX];
    int tile_count;
    char *scores, *weights, *sums, *factors;
} block;

/* Keys that a query can see at most. */
static int64_t keys_seen(const bd_attention *own, const bd_attention_sizes *s, const int64_t *ints,
                         int64_t query)
{
    if (own->later < 0)
        return s->n;
    const bd_kir_instr *limit = &own->program->instrs[own->later];
    int64_t ahead =
        limit->code == BD_KIR_INTEGER ? bd_kir_int_value(limit->integer, ints) : limit->i;
    return ahead > s->n ? s->n : most(least(query + ahead + 1, s->n), 0);
}

static void cut_tiles(block *b)
{
    const bd_attention *own = b->own;
    for (int64_t row = 0; row < b->rows; b->tile_count++) {
        int64_t left = b->rows - row;
        int64_t units = own->units_of[least(ceiling(left, own->row_unit), own->tile_units)];
        int64_t rows = least(units * own->row_unit, left), query = b->first + row;
        b->tiles[b->tile_count] = (tile){
            .row = row,
            .rows = rows,
            .units = units,
            .open = keys_seen(own, b->s, b->call->ints, query),
            .seen = keys_seen(own, b->s, b->call->ints, query + rows - 1)};
        row += rows;
    }
}

/* Zeros behind the numbers of some rows, up to whole elements. */
static void fill_up(const bd_attention *own, char *rows, int64_t count, int64_t row_bytes,
                    int64_t numbers)
{
    int64_t filled = numbers * bd_attention_number_bytes(own);
    int64_t all = bd_attention_depth(own, numbers) * own->bytes;
    for (int64_t row = 0; row < count && filled < all; row++)
        memset(rows + row * row_bytes + filled, 0, (size_t)(all - filled));
}

/* Products of queries and keys: panel by panel, which stays in the first cache for all tiles. */
static void multiply_keys(const block *b)
{
    const bd_attention *own = b->own;
    const bd_attention_sizes *s = b->s;
    int64_t row_bytes = s->key_depth * own->bytes, seen = b->tiles[b->tile_count - 1].seen;
    char *queries = b->call->worker_scratch + s->temp_at;
    const char *keys = b->call->shared_scratch + b->batch * s->key_room * own->bytes;
    bd_rectangle over = {b->first, b->rows, 0, s->k, queries, s->key_depth * own->numbers, NULL};
    bd_attention_evaluate(b->call, own->query, b->batch, &over);
    fill_up(own, queries, b->rows, row_bytes, s->k);
    for (int64_t key = 0; key < seen; key += s->columns) {
        for (int i = 0; i < b->tile_count; i++) {
            const tile *t = &b->tiles[i];
            int64_t vectors = least(ceiling(t->seen - key, own->lanes), own->vectors);
            if (t->seen > key)
                own->micro.tiles[vectors][t->units](
                    queries + t->row * row_bytes, row_bytes, 1, keys + key * row_bytes, s->columns,
                    b->scores + (t->row * s->score_step + key) * own->bytes, s->score_step,
                    s->key_depth, 0);
        }
    }
}

/* Products to scores, where they differ; these to weights and factors. */
static void weigh(const block *b)
{
    const bd_attention *own = b->own;
    const bd_attention_sizes *s = b->s;
    int64_t weight_bytes = s->weight_step * bd_attention_number_bytes(own);
    bd_call softmax = *b->call;
    for (int i = 0; i < b->tile_count; i++) {
        const tile *t = &b->tiles[i];
        int64_t column = own->plain ? t->open : 0;
        char *scores = b->scores + t->row * s->score_step * own->bytes;
        char *weights = b->weights + t->row * weight_bytes;
        bd_rectangle over = {b->first + t->row, t->rows, column, t->seen - column,
                          scores + column * own->bytes, s->score_step, NULL};
        if (t->seen > column)
            bd_attention_evaluate(b->call, own->score, b->batch, &over);
        const int64_t ints[BD_SOFTMAX_INTS] = {t->rows, t->seen, s->score_step, s->weight_step};
        void *const buffers[] = {scores, b->factors + t->row * own->bytes, weights};
        softmax.ints = ints;
        softmax.buffers = buffers;
        own->softmax(&softmax, 0, t->rows);
        fill_up(own, weights, t->rows, weight_bytes, t->seen);
    }
}

/* Sums of values: by chunks of keys, whose values stay in the first cache for all tiles. */
static void multiply_values(const block *b)
{
    const bd_attention *own = b->own;
    const bd_attention_sizes *s = b->s;
    bool near = s->value_step > 0;
    int64_t width = s->value_columns, step = near ? s->value_step : width;
    int64_t weight_bytes = s->weight_step * bd_attention_number_bytes(own);
    int64_t depth = bd_attention_depth(own, b->tiles[b->tile_count - 1].seen), first = 0;
    int64_t most_depth = near ? NEAR_KEYS : CHUNK_KEYS / own->numbers;
    const char *values =
        b->call->shared_scratch + (s->batch * s->key_room + b->batch * s->value_room) * own->bytes;
    if (near)
        values = bd_gemm_place_at(own->program, b->call, own->values, b->batch);
    do { /* also for no key at all: then the sums are 0 */
        for (int64_t column = 0; column < s->e; column += width) {
            int64_t vectors = least(ceiling(s->e - column, own->lanes), width / own->lanes);
            int64_t at = near ? column + first * step : column * s->value_depth + first * width;
            for (int i = 0; i < b->tile_count; i++) {
                const tile *t = &b->tiles[i];
                int64_t k = least(bd_attention_depth(own, t->seen) - first, most_depth);
                if (k > 0 || first == 0)
                    own->micro.tiles[vectors][t->units](
                        b->weights + t->row * weight_bytes + first * own->bytes, weight_bytes, 1,
                        values + at * own->bytes, step,
                        b->sums + (t->row * s->sum_step + column) * own->bytes, s->sum_step, k,
                        first > 0);
            }
        }
        first += most_depth;
    } while (first < depth);
}

static void attend(const bd_attention *own, const bd_attention_sizes *s, const bd_call *call,
                   int64_t item)
{
    int64_t first = item % s->blocks * s->block;
    block b = {.own = own,
               .s = s,
               .call = call,
               .batch = item / s->blocks,
               .first = first,
               .rows = least(s->block, s->m - first),
               .scores = call->worker_scratch + s->scores_at,
               .weights = call->worker_scratch + s->weights_at,
               .sums = call->worker_scratch + s->sums_at,
               .factors = call->worker_scratch + s->factors_at};
    cut_tiles(&b);
    if (own->query)
        multiply_keys(&b);
    weigh(&b);
    multiply_values(&b);
    bd_rectangle result = {first, b.rows, 0, s->e, b.sums, s->sum_step, b.factors};
    bd_attention_evaluate(call, own->epilogue, b.batch, &result);
}

static void run_queries(const bd_call *call, int64_t begin, int64_t end)
{
    const bd_attention *own = bd_attention_of(call);
    bd_attention_sizes s;
    bd_attention_find_sizes(own, call->ints, &s);
    if (own->micro.begin)
        own->micro.begin(bd_amx_tiles);
    for (int64_t i = begin; i < end; i++)
        attend(own, &s, call, i);
    if (own->micro.end)
        own->micro.end();
}

/* ---- the kernel ---- */

static int plan(const bd_kernel *kernel, const int64_t *ints, bd_arena *arena, bd_pass *out_passes,
                bd_scratch *out_scratch)
{
    (void)arena;
    const bd_attention *own = (const bd_attention *)kernel;
    bd_attention_sizes s;
    bd_attention_find_sizes(own, ints, &s);
    size_t shared = (size_t)(s.batch * (s.key_room + s.value_room) * own->bytes + 64);
    *out_scratch = (bd_scratch){s.worker_bytes, shared};
    if (s.batch == 0 || s.m == 0 || s.e == 0)
        return 0;
    int count = 0;
    bd_pass pass = {.params = {(int64_t)(intptr_t)own}};
    int64_t packs = s.batch * (s.key_panels + s.value_parts);
    if (packs > 0) {
        pass.run = bd_attention_run_pack;
        pass.item_count = packs;
        pass.item_ns = 0.3 * (double)(s.batch * s.n * (s.k + s.e)) / (double)packs;
        out_passes[count++] = pass;
    }
    pass.run = run_queries;
    pass.item_count = s.batch * s.blocks;
    double scores = (double)least(s.block, s.m) * (double)s.n;
    double rate = (own->row_unit > 1 ? 32.0 : 6.0) * (double)own->lanes;
    pass.item_ns = scores * (2.0 * (double)(s.k + s.e) / rate + 0.5) + 500;
    out_passes[count++] = pass;
    return count;
}

static void destroy(bd_kernel *kernel)
{
    bd_attention *own = (bd_attention *)kernel;
    bd_arena_deinit(&own->arena);
    bd_free(own);
}

bd_error *bd_attention_element(const bd_target *target, const bd_kir *program, burn_dtype *out)
{
    burn_dtype scores = bd_gemm_sum_of(program, BD_KIR_OPERAND_A);
    burn_dtype sums = bd_gemm_sum_of(program, BD_KIR_OPERAND_C);
    *out = bd_gemm_element_of(target, program, BD_KIR_OPERAND_C, BD_KIR_OPERAND_C);
    if (scores == BURN_DTYPE_NONE)
        return NULL;
    if (scores != sums)
        BD_FAIL(UNSUPPORTED, "an attention of %s values with %s products of queries and keys",
                burn_dtype_name(sums), burn_dtype_name(scores));
    if (bd_gemm_element(target, program) != *out)
        *out = sums;
    return NULL;
}

/* What the phase of scores yields, before it was cast. */
static const bd_kir_instr *score_of(const bd_kir *program)
{
    const bd_kir_phase *phase = bd_gemm_phase(program, BD_KIR_SCORE);
    const bd_kir_instr *all = program->instrs - 1; /* by value */
    const bd_kir_instr *at = &all[all[phase->first + phase->count].operands[0]];
    while (at->code == BD_KIR_CAST && burn_dtype_is_float((burn_dtype)at->dtype))
        at = &all[at->operands[0]];
    return at;
}

/* Finds a score that is -inf wherever key - query > a number: the number's instruction, or -1. */
static int find_later(const bd_kir *program)
{
    const bd_kir_instr *all = program->instrs - 1; /* by value */
    const bd_kir_instr *at = score_of(program);
    if (at->code != BD_KIR_SELECT)
        return -1;
    const bd_kir_instr *hidden = &all[at->operands[2]], *seen = &all[at->operands[0]];
    bool lowest = hidden->code == BD_KIR_CONST && burn_dtype_is_float((burn_dtype)hidden->dtype) &&
                  hidden->f == -(double)INFINITY;
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

/* Whether scores that are seen are the products as they are. */
static bool scores_are_products(const bd_kir *program, int later)
{
    const bd_kir_phase *phase = bd_gemm_phase(program, BD_KIR_SCORE);
    const bd_kir_instr *all = program->instrs - 1; /* by value */
    const bd_kir_instr *at = &all[all[phase->first + phase->count].operands[0]];
    if (later >= 0 && at->code == BD_KIR_SELECT)
        at = &all[at->operands[1]];
    return at->code == BD_KIR_ACC;
}

/* Where the elements of a phase lie, if it is that of one buffer's elements as they are. */
static const bd_kir_access *place_of(const bd_kir *program, bd_kir_phase_kind kind,
                                     burn_dtype element)
{
    const bd_kir_phase *phase = bd_gemm_phase(program, kind);
    const bd_kir_instr *load = phase ? &program->instrs[phase->first] : NULL;
    bool plain = load && phase->count == 2 && load->code == BD_KIR_LOAD && load->guard < 0 &&
                 (burn_dtype)load->dtype == element && element != BURN_BF16;
    return plain ? &program->accesses[load->index] : NULL;
}

static bd_pass_function function_of(const bd_loaded *code, const char *name)
{
    return (bd_pass_function)(uintptr_t)bd_code_symbol(code, name);
}

bd_error *bd_attention_create(const bd_target *target, const bd_kir *program, bd_loaded *own_code,
                              const bd_loaded *micro, bd_kernel **out)
{
    static const bd_kernel_ops ops = {.plan = plan, .destroy = destroy};
    burn_dtype element;
    bd_micro found;
    BD_TRY(bd_attention_element(target, program, &element));
    BD_TRY(bd_micro_find(target, element, micro, &found));
    bool products = bd_gemm_phase(program, BD_KIR_OPERAND_A) != NULL;
    bd_pass_function query = function_of(own_code, "qa"), key = function_of(own_code, "kb");
    if ((products && (!query || !key)) || !function_of(own_code, "sc") ||
        !function_of(own_code, "vc") || !function_of(own_code, "ep") || !function_of(own_code, "k"))
        BD_FAIL(DEVICE, "the object of an attention lacks a function");
    bd_attention *own = bd_alloc_zeroed(sizeof *own);
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
    own->plain = scores_are_products(program, own->later);
    own->keys = place_of(own->program, BD_KIR_OPERAND_B, element);
    own->values = place_of(own->program, BD_KIR_OPERAND_C, element);
    own->vectors = bd_micro_vectors(target, element);
    for (int units = 1; units <= BD_MICRO_ROWS_MAX; units++) {
        bool has = bd_micro_has(target, element, own->vectors, units);
        own->units_of[units] = has ? units : own->units_of[units - 1];
        own->tile_units = own->units_of[units];
    }
    own->row_unit = bd_micro_row_unit(target, element);
    own->pairs = element == BURN_BF16;
    own->bytes = bd_micro_bytes(element);
    own->numbers = own->pairs ? 2 : 1;
    own->lanes = (int64_t)target->vector_bytes / own->bytes;
    own->turn_rows = bd_micro_turn_rows(target, element);
    *out = &own->base;
    return NULL;
}
