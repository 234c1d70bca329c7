/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/gemm_micro.h"

#include <stdio.h>
#include <string.h>

#include "backends/cpu/gemm.h"
#include "backends/cpu/gemm_writer.h"
#include "proto/base/assert.h"

static bool by_amx(const bd_target *target, burn_dtype element)
{
    return element == BURN_BF16 && target->amx;
}

int bd_micro_row_unit(const bd_target *target, burn_dtype element)
{
    return by_amx(target, element) ? BD_MICRO_AMX_ROWS : 1;
}

int bd_micro_vectors(const bd_target *target, burn_dtype element)
{
    return target->vector_bytes == 64 && !by_amx(target, element) ? 3 : 2;
}

bool bd_micro_has(const bd_target *target, burn_dtype element, int vectors, int rows)
{
    if (by_amx(target, element))
        return rows >= 1 && rows <= 2 && vectors >= 1 && vectors <= 2;
    bool many_registers = target->vector_bytes == 64; /* 32 of them, else 16 */
    if (rows < 1 || vectors < 1)
        return false;
    if (vectors == 4)
        return many_registers && rows <= 4;
    int most = many_registers ? BD_MICRO_ROWS_MAX : target->fma ? 6 : 4;
    return vectors <= bd_micro_vectors(target, element) && rows <= most && rows != 5 && rows != 7;
}

/* Shuffles of 32 bytes are cheaper to generate and to run than those of 64. */
static unsigned turn_bytes(const bd_target *target)
{
    return target->vector_bytes > 32 ? 32 : target->vector_bytes;
}

int bd_micro_turn_rows(const bd_target *target, burn_dtype element)
{
    return (int)(turn_bytes(target) / bd_micro_bytes(element));
}

void bd_writer_begin(writer *w, const char *name, const char *parameters)
{
    LLVMTypeRef types[9];
    unsigned count = (unsigned)strlen(parameters);
    BD_ASSERT(count <= sizeof types / sizeof *types);
    for (unsigned i = 0; i < count; i++)
        types[i] = parameters[i] == 'p' ? w->module->pointer : w->module->i64;
    LLVMTypeRef type = LLVMFunctionType(w->module->none, types, count, 0);
    w->function = LLVMAddFunction(w->module->llvm, name, type);
    static const char *const marks[] = {"noalias", "nounwind"};
    unsigned noalias = LLVMGetEnumAttributeKindForName(marks[0], strlen(marks[0]));
    unsigned nounwind = LLVMGetEnumAttributeKindForName(marks[1], strlen(marks[1]));
    LLVMAddAttributeAtIndex(w->function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                            LLVMCreateEnumAttribute(w->module->context, nounwind, 0));
    for (unsigned i = 0; i < count; i++)
        if (parameters[i] == 'p')
            LLVMAddAttributeAtIndex(w->function, i + 1,
                                    LLVMCreateEnumAttribute(w->module->context, noalias, 0));
    if (w->module->target->masked)
        LLVMAddTargetDependentFunctionAttr(w->function, "prefer-vector-width", "512");
    LLVMPositionBuilderAtEnd(
        w->builder, LLVMAppendBasicBlockInContext(w->module->context, w->function, "entry"));
}

/* ---- tiles ---- */

enum {
    CELLS_MAX = BD_MICRO_ROWS_MAX * 3,
    LARGE_CELLS = 8, /* so many sums keep multiply-adds going */
    LARGE_STEPS = 4,
    PREFETCH_STEPS = 8,
    LINE_BYTES = 64,
};

static void store_tile(const writer *w, const LLVMValueRef *sums, int rows, int vectors)
{
    LLVMValueRef row = parameter(w, 5);
    for (int r = 0; r < rows; r++) {
        for (int v = 0; v < vectors; v++)
            store(w, sums[r * vectors + v], at(w, row, i64(w, v * (int)w->lanes)));
        if (r + 1 < rows)
            row = at(w, row, parameter(w, 6));
    }
    LLVMBuildRetVoid(w->builder);
}

/* The line that the loop needs some steps of k later; rows far apart defeat the hardware's own. */
static void prefetch(const writer *w, LLVMValueRef pointer, LLVMValueRef step, int64_t offset)
{
    LLVMTypeRef type = w->module->pointer;
    LLVMValueRef ahead = LLVMBuildMul(w->builder, step, i64(w, PREFETCH_STEPS), "");
    LLVMValueRef read = LLVMConstInt(w->module->i32, 0, 0);
    LLVMValueRef near = LLVMConstInt(w->module->i32, 3, 0),
                 one = LLVMConstInt(w->module->i32, 1, 0);
    LLVMValueRef arguments[] = {at(w, at(w, pointer, ahead), i64(w, offset)), read, near, one};
    bd_module_intrinsic(w->module, w->builder, "llvm.prefetch", &type, 1, arguments, 4);
}

/* Offsets of the rows of a in bytes: those of odd rows; others are one of them times 2, 4 or 8, as
 * addresses of the machine have it. So the loop moves a single pointer. */
static void row_offsets(const writer *w, int rows, LLVMValueRef *out)
{
    for (int r = 1; r < rows; r += 2)
        out[r] = LLVMBuildMul(w->builder, parameter(w, 1), i64(w, r), "");
}

static LLVMValueRef row_place(const writer *w, LLVMValueRef a, const LLVMValueRef *offsets, int row)
{
    const bd_module *module = w->module;
    LLVMTypeRef units[] = {module->i8, module->i16, module->i32, module->i64};
    if (row == 0)
        return a;
    int doubled = 0;
    while (row % 2 == 0) {
        row /= 2;
        doubled++;
    }
    LLVMValueRef offset = offsets[row];
    return LLVMBuildGEP2(w->builder, units[doubled], a, &offset, 1, "");
}

/* One step of k: loads the vectors of b, then each element of a. */
static void step_tile(const writer *w, LLVMValueRef a, const LLVMValueRef *offsets, LLVMValueRef b,
                      const LLVMValueRef *sums, LLVMValueRef *out_sums, int rows, int vectors)
{
    LLVMValueRef columns[BD_MICRO_VECTORS_MAX];
    for (int v = 0; v < vectors; v++)
        columns[v] = load(w, w->vector, at(w, b, i64(w, v * (int)w->lanes)));
    int lanes = (int)w->lanes, line = LINE_BYTES / (int)w->scalar_bytes; /* in elements */
    for (int at = 0; at < vectors * lanes && !w->tabled; at += line)
        prefetch(w, b, parameter(w, 4), at);
    for (int r = 0; r < rows; r++) {
        LLVMValueRef element = splat(w, load(w, w->scalar, row_place(w, a, offsets, r)));
        for (int v = 0; v < vectors; v++)
            out_sums[r * vectors + v] = multiply_add(w, element, columns[v], sums[r * vectors + v]);
    }
}

/* The sums to begin with: zeros, or what c holds. Leaves the builder in a new block. */
static void begin_sums(const writer *w, int rows, int vectors, LLVMValueRef *out)
{
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(w->builder);
    LLVMBasicBlockRef held = block(w, "held"), start = block(w, "start");
    LLVMValueRef zero = LLVMConstNull(w->vector), olds[CELLS_MAX], row = parameter(w, 5);
    LLVMBuildCondBr(w->builder, compare(w, LLVMIntEQ, parameter(w, 8), i64(w, 0)), start, held);
    go(w, held);
    for (int r = 0; r < rows; r++) {
        for (int v = 0; v < vectors; v++)
            olds[r * vectors + v] = load(w, w->vector, at(w, row, i64(w, v * (int)w->lanes)));
        if (r + 1 < rows)
            row = at(w, row, parameter(w, 6));
    }
    LLVMBuildBr(w->builder, start);
    go(w, start);
    for (int i = 0; i < rows * vectors; i++) {
        out[i] = LLVMBuildPhi(w->builder, w->vector, "");
        incoming(out[i], zero, entry);
        incoming(out[i], olds[i], held);
    }
}

LLVMValueRef bd_writer_offset(const writer *w, LLVMValueRef pair, int number)
{
    LLVMValueRef index = i64(w, number), place;
    place = LLVMBuildGEP2(w->builder, w->module->i32, pair, &index, 1, "");
    LLVMValueRef offset = LLVMBuildLoad2(w->builder, w->module->i32, place, "");
    return LLVMBuildSExt(w->builder, offset, w->module->i64, "");
}

/* One step of k whose places stand in the table. */
static void step_tabled(const writer *w, LLVMValueRef pair, const LLVMValueRef *offsets,
                        const LLVMValueRef *sums, LLVMValueRef *out_sums, int rows, int vectors)
{
    LLVMValueRef row = LLVMBuildMul(w->builder, bd_writer_offset(w, pair, 0), parameter(w, 2), "");
    LLVMValueRef b = at(w, parameter(w, 3), bd_writer_offset(w, pair, 1));
    step_tile(w, at(w, parameter(w, 0), row), offsets, b, sums, out_sums, rows, vectors);
}

/* What a loop over k carries: how many k are left, where they are, the sums. */
typedef struct tile_state {
    LLVMValueRef left, a, b; /* b: of a tabled tile its place in the table */
    LLVMValueRef sums[CELLS_MAX];
} tile_state;

static tile_state joined_state(const writer *w, int cells)
{
    tile_state out = {.left = LLVMBuildPhi(w->builder, w->module->i64, ""),
                      .a = LLVMBuildPhi(w->builder, w->module->pointer, ""),
                      .b = LLVMBuildPhi(w->builder, w->module->pointer, "")};
    for (int i = 0; i < cells; i++)
        out.sums[i] = LLVMBuildPhi(w->builder, w->vector, "");
    return out;
}

static void join_state(const tile_state *to, const tile_state *from, int cells,
                       LLVMBasicBlockRef block)
{
    incoming(to->left, from->left, block);
    incoming(to->a, from->a, block);
    incoming(to->b, from->b, block);
    for (int i = 0; i < cells; i++)
        incoming(to->sums[i], from->sums[i], block);
}

/* One step of k, and on to the next one. */
static void step(const writer *w, const LLVMValueRef *offsets, tile_state *at_k, int rows,
                 int vectors)
{
    LLVMValueRef next[CELLS_MAX], pair = i64(w, 8);
    if (w->tabled) {
        step_tabled(w, at_k->b, offsets, at_k->sums, next, rows, vectors);
        at_k->b = moved(w, at_k->b, pair);
    } else {
        step_tile(w, at_k->a, offsets, at_k->b, at_k->sums, next, rows, vectors);
        at_k->a = at(w, at_k->a, parameter(w, 2));
        at_k->b = at(w, at_k->b, parameter(w, 4));
    }
    memcpy(at_k->sums, next, (size_t)(rows * vectors) * sizeof *next);
}

/* A loop over `steps` k at a time, as long as that many are left. */
static void write_steps(const writer *w, const LLVMValueRef *offsets, tile_state *state, int rows,
                        int vectors, int steps)
{
    int cells = rows * vectors;
    LLVMBasicBlockRef start = LLVMGetInsertBlock(w->builder);
    LLVMBasicBlockRef body = block(w, "body"), after = block(w, "after");
    LLVMBuildCondBr(w->builder, compare(w, LLVMIntSGE, state->left, i64(w, steps)), body, after);
    go(w, body);
    tile_state first = joined_state(w, cells), next = first;
    for (int i = 0; i < steps; i++)
        step(w, offsets, &next, rows, vectors);
    next.left = LLVMBuildSub(w->builder, first.left, i64(w, steps), "");
    LLVMBuildCondBr(w->builder, compare(w, LLVMIntSGE, next.left, i64(w, steps)), body, after);
    join_state(&first, state, cells, start);
    join_state(&first, &next, cells, body);
    go(w, after);
    tile_state end = joined_state(w, cells);
    join_state(&end, state, cells, start);
    join_state(&end, &next, cells, body);
    *state = end;
}

/* Several steps at a time, where vectors are short: so the end of short loops is foreseen, and the
 * next tile begins while the last sums of this one are still on their way. */
static void write_tile(writer *w, int rows, int vectors)
{
    char name[16];
    snprintf(name, sizeof name, "%c%dx%d", w->tabled ? 'w' : 'm', rows, vectors);
    bd_writer_begin(w, name, w->tabled ? "piipppiii" : "piipipiii");
    LLVMValueRef offsets[BD_MICRO_ROWS_MAX];
    row_offsets(w, rows, offsets);
    tile_state state = {.left = parameter(w, 7),
                        .a = parameter(w, 0),
                        .b = parameter(w, w->tabled ? 4 : 3)};
    begin_sums(w, rows, vectors, state.sums);
    if (rows * vectors >= LARGE_CELLS && w->module->target->vector_bytes == 32)
        write_steps(w, offsets, &state, rows, vectors, LARGE_STEPS);
    write_steps(w, offsets, &state, rows, vectors, 1);
    store_tile(w, state.sums, rows, vectors);
}

/* ---- dots ---- */

static LLVMValueRef row_pointer(const writer *w, unsigned base, unsigned step, int row)
{
    LLVMValueRef first = LLVMBuildMul(w->builder, parameter(w, step), i64(w, row), "");
    return at(w, parameter(w, base), first);
}

/* The pointers of a function of dot products: to its rows, and to the sums of each other row. */
typedef struct dot_rows {
    int rows, others;
    LLVMValueRef s[BD_MICRO_DOT_ROWS], t[BD_MICRO_DOT_ROWS], c[BD_MICRO_DOT_ROWS];
} dot_rows;

/* Lanes of a where bit `distance` of the lane is clear, of b elsewhere, each from itself or from
 * the lane across that bit. */
static LLVMValueRef pick(const writer *w, LLVMValueRef a, LLVMValueRef b, unsigned distance,
                         bool across)
{
    LLVMValueRef from[64];
    for (unsigned i = 0; i < w->lanes; i++) {
        unsigned lane = across ? i ^ distance : i;
        from[i] = LLVMConstInt(w->module->i32, i & distance ? w->lanes + lane : lane, 0);
    }
    return LLVMBuildShuffleVector(w->builder, a, b, LLVMConstVector(from, w->lanes), "");
}

/* The upper half of a vector added to its lower half. */
static LLVMValueRef fold(const writer *w, LLVMValueRef vector, unsigned lanes)
{
    LLVMValueRef halves[2], from[64];
    for (unsigned half = 0; half < 2; half++) {
        for (unsigned i = 0; i < lanes / 2; i++)
            from[i] = LLVMConstInt(w->module->i32, half * lanes / 2 + i, 0);
        halves[half] = LLVMBuildShuffleVector(w->builder, vector, vector,
                                              LLVMConstVector(from, lanes / 2), "");
    }
    return LLVMBuildFAdd(w->builder, halves[0], halves[1], "");
}

/* The sums over the lanes of `rows` vectors, side by side in memory. Destroys the vectors. */
static void store_lane_sums(const writer *w, LLVMValueRef *vectors, unsigned rows, LLVMValueRef to)
{
    unsigned together = 1; /* rows whose sums share a vector, in turn */
    for (; together < rows && together < w->lanes; together *= 2)
        for (unsigned i = 0; i < rows / together; i += 2)
            vectors[i / 2] = LLVMBuildFAdd(
                w->builder, pick(w, vectors[i], vectors[i + 1], together, false),
                pick(w, vectors[i], vectors[i + 1], together, true), "");
    for (unsigned i = 0; i < rows / together; i++) {
        for (unsigned lanes = w->lanes; lanes > together; lanes /= 2)
            vectors[i] = fold(w, vectors[i], lanes);
        store(w, vectors[i], at(w, to, i64(w, i * together)));
    }
}

/* Adds what the vectors left: the products of single elements from k on. */
static void add_rest(const writer *w, const dot_rows *d, LLVMValueRef first)
{
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(w->builder);
    LLVMBasicBlockRef head = block(w, "rest"), body = block(w, "one"), exit = block(w, "exit");
    LLVMBuildBr(w->builder, head);
    go(w, head);
    LLVMValueRef k = LLVMBuildPhi(w->builder, w->module->i64, "");
    LLVMBuildCondBr(w->builder, compare(w, LLVMIntSLT, k, parameter(w, 6)), body, exit);
    go(w, body);
    for (int o = 0; o < d->others; o++) {
        LLVMValueRef t = load(w, w->scalar, at(w, d->t[o], k));
        for (int r = 0; r < d->rows; r++) {
            LLVMValueRef s = load(w, w->scalar, at(w, d->s[r], k));
            LLVMValueRef place = at(w, d->c[o], i64(w, r));
            store(w, multiply_add(w, s, t, load(w, w->scalar, place)), place);
        }
    }
    LLVMValueRef next = LLVMBuildAdd(w->builder, k, i64(w, 1), "");
    LLVMBuildBr(w->builder, head);
    incoming(k, first, entry);
    incoming(k, next, body);
    go(w, exit);
}

static void write_dots(writer *w, int rows, int others)
{
    char name[16];
    snprintf(name, sizeof name, "d%dx%d", rows, others);
    bd_writer_begin(w, name, "pipipii");
    dot_rows d = {.rows = rows, .others = others};
    for (int r = 0; r < rows; r++)
        d.s[r] = row_pointer(w, 0, 1, r);
    for (int o = 0; o < others; o++) {
        d.t[o] = row_pointer(w, 2, 3, o);
        d.c[o] = row_pointer(w, 4, 5, o);
    }
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(w->builder);
    LLVMBasicBlockRef head = block(w, "head"), body = block(w, "body"), after = block(w, "after");
    LLVMBuildBr(w->builder, head);
    go(w, head);
    LLVMValueRef k = LLVMBuildPhi(w->builder, w->module->i64, "");
    LLVMValueRef sums[BD_MICRO_DOT_ROWS][BD_MICRO_DOT_ROWS];
    for (int o = 0; o < others; o++)
        for (int r = 0; r < rows; r++)
            sums[o][r] = LLVMBuildPhi(w->builder, w->vector, "");
    LLVMValueRef next = LLVMBuildAdd(w->builder, k, i64(w, w->lanes), "");
    LLVMBuildCondBr(w->builder, compare(w, LLVMIntSLE, next, parameter(w, 6)), body, after);
    go(w, body);
    LLVMValueRef t[BD_MICRO_DOT_ROWS];
    for (int o = 0; o < others; o++)
        t[o] = load(w, w->vector, at(w, d.t[o], k));
    for (int r = 0; r < rows; r++) {
        LLVMValueRef s = load(w, w->vector, at(w, d.s[r], k));
        for (int o = 0; o < others; o++) {
            incoming(sums[o][r], LLVMConstNull(w->vector), entry);
            incoming(sums[o][r], multiply_add(w, s, t[o], sums[o][r]), body);
        }
    }
    LLVMBuildBr(w->builder, head);
    incoming(k, i64(w, 0), entry);
    incoming(k, next, body);
    go(w, after);
    for (int o = 0; o < others; o++)
        store_lane_sums(w, sums[o], (unsigned)rows, d.c[o]);
    add_rest(w, &d, k);
    LLVMBuildRetVoid(w->builder);
}

/* ---- transposing ---- */

/* The step of the transpose that swaps bit `bit` of row and lane between two rows. */
static void swap_bit(const writer *w, LLVMValueRef *rows, unsigned bit)
{
    unsigned distance = 1u << bit;
    LLVMValueRef low[64], high[64];
    for (unsigned i = 0; i < w->lanes; i++) {
        bool upper = i & distance;
        low[i] = LLVMConstInt(w->module->i32, upper ? w->lanes + i - distance : i, 0);
        high[i] = LLVMConstInt(w->module->i32, upper ? w->lanes + i : i + distance, 0);
    }
    LLVMValueRef low_mask = LLVMConstVector(low, w->lanes);
    LLVMValueRef high_mask = LLVMConstVector(high, w->lanes);
    for (unsigned i = 0; i < w->lanes; i++) {
        if (i & distance)
            continue;
        LLVMValueRef a = rows[i], b = rows[i + distance];
        rows[i] = LLVMBuildShuffleVector(w->builder, a, b, low_mask, "");
        rows[i + distance] = LLVMBuildShuffleVector(w->builder, a, b, high_mask, "");
    }
}

/* Pointers to the rows; those from `rows` on repeat the last one, and are junk. */
static void row_pointers(const writer *w, LLVMValueRef *out)
{
    LLVMValueRef last = LLVMBuildSub(w->builder, parameter(w, 4), i64(w, 1), "");
    for (unsigned r = 0; r < w->lanes; r++) {
        LLVMValueRef inside = compare(w, LLVMIntSLT, i64(w, r), last);
        LLVMValueRef row = LLVMBuildSelect(w->builder, inside, i64(w, r), last, "");
        LLVMValueRef offset = LLVMBuildMul(w->builder, row, parameter(w, 1), "");
        out[r] = LLVMBuildGEP2(w->builder, w->module->i8, parameter(w, 0), &offset, 1, "");
    }
}

static void write_turn(writer *w)
{
    bd_writer_begin(w, "t", "pipiii");
    LLVMValueRef pointers[64], rows[64];
    row_pointers(w, pointers);
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(w->builder);
    LLVMBasicBlockRef head = block(w, "head"), body = block(w, "body");
    LLVMBasicBlockRef tail = block(w, "tail"), single = block(w, "single"), exit = block(w, "exit");
    LLVMBuildBr(w->builder, head);
    go(w, head);
    LLVMValueRef column = LLVMBuildPhi(w->builder, w->module->i64, "");
    LLVMValueRef next = LLVMBuildAdd(w->builder, column, i64(w, w->lanes), "");
    LLVMBuildCondBr(w->builder, compare(w, LLVMIntSLE, next, parameter(w, 5)), body, tail);
    go(w, body);
    for (unsigned r = 0; r < w->lanes; r++)
        rows[r] = load(w, w->vector, at(w, pointers[r], column));
    for (unsigned bit = 0; 1u << bit < w->lanes; bit++)
        swap_bit(w, rows, bit);
    LLVMValueRef first = LLVMBuildMul(w->builder, column, parameter(w, 3), "");
    LLVMValueRef to = at(w, parameter(w, 2), first);
    for (unsigned c = 0; c < w->lanes; c++) {
        store(w, rows[c], to);
        to = at(w, to, parameter(w, 3));
    }
    LLVMBuildBr(w->builder, head);
    incoming(column, i64(w, 0), entry);
    incoming(column, next, body);
    go(w, tail);
    LLVMValueRef one = LLVMBuildPhi(w->builder, w->module->i64, "");
    LLVMBuildCondBr(w->builder, compare(w, LLVMIntSLT, one, parameter(w, 5)), single, exit);
    go(w, single);
    LLVMValueRef place = at(w, parameter(w, 2), LLVMBuildMul(w->builder, one, parameter(w, 3), ""));
    LLVMValueRef lane = LLVMGetPoison(w->vector);
    for (unsigned r = 0; r < w->lanes; r++)
        lane = LLVMBuildInsertElement(w->builder, lane, load(w, w->scalar, at(w, pointers[r], one)),
                                      LLVMConstInt(w->module->i32, r, 0), "");
    store(w, lane, place);
    LLVMValueRef after = LLVMBuildAdd(w->builder, one, i64(w, 1), "");
    LLVMBuildBr(w->builder, tail);
    incoming(one, column, head);
    incoming(one, after, single);
    go(w, exit);
    LLVMBuildRetVoid(w->builder);
}

static void set_lanes(writer *w, unsigned vector_bytes)
{
    w->lanes = vector_bytes / w->scalar_bytes;
    w->vector = LLVMVectorType(w->scalar, w->lanes);
}

static writer writer_of(bd_module *module, burn_dtype element, bool tabled)
{
    writer w = {.module = module,
                .scalar = element == BURN_F64 ? module->f64 : module->f32,
                .scalar_bytes = (unsigned)bd_micro_bytes(element),
                .pairs = element == BURN_BF16,
                .tabled = tabled};
    w.builder = LLVMCreateBuilderInContext(module->context);
    set_lanes(&w, module->target->vector_bytes);
    return w;
}

static void write_tiles(writer *w, burn_dtype element, int most_vectors)
{
    for (int vectors = 1; vectors <= most_vectors; vectors++)
        for (int rows = 1; rows <= BD_MICRO_ROWS_MAX; rows++)
            if (bd_micro_has(w->module->target, element, vectors, rows))
                write_tile(w, rows, vectors);
}

void bd_micro_emit_tabled(bd_module *module, burn_dtype element)
{
    writer w = writer_of(module, element, true);
    if (by_amx(module->target, element))
        bd_amx_write(&w);
    else
        write_tiles(&w, element, bd_micro_vectors(module->target, element));
    LLVMDisposeBuilder(w.builder);
}

void bd_micro_emit(bd_module *module, burn_dtype element)
{
    const bd_target *target = module->target;
    writer w = writer_of(module, element, false);
    if (by_amx(target, element))
        bd_amx_write(&w);
    else
        write_tiles(&w, element, BD_MICRO_VECTORS_MAX);
    if (w.pairs)
        bd_pairs_write(&w);
    for (int others = 1; others <= BD_MICRO_DOT_ROWS && !w.pairs; others *= 2) {
        write_dots(&w, 1, others);
        write_dots(&w, BD_MICRO_DOT_ROWS, others);
    }
    if (bd_micro_streams(target, element))
        bd_streams_write(&w);
    set_lanes(&w, turn_bytes(target));
    write_turn(&w);
    LLVMDisposeBuilder(w.builder);
}

/* The one place where loaded code becomes functions. kind t, p, q, r, b, e: there is one of it. */
static void *find(const bd_loaded *code, char kind, int a, int b, bd_error **err)
{
    char name[32] = {kind};
    if (a > 0)
        snprintf(name, sizeof name, "%c%dx%d", kind, a, b);
    void *address = bd_code_symbol(code, name);
    if (!address && !*err)
        *err = BD_ERROR(DEVICE, "the micro-kernels lack %s", name);
    return address;
}

bd_error *bd_micro_find_tabled(const bd_target *target, burn_dtype element, const bd_loaded *code,
                               bd_micro_tabled *out)
{
    bd_error *err = NULL;
    for (int vectors = 1; vectors <= bd_micro_vectors(target, element); vectors++)
        for (int rows = 1; rows <= BD_MICRO_ROWS_MAX; rows++)
            if (bd_micro_has(target, element, vectors, rows))
                out->tiles[vectors][rows] =
                    (bd_micro_tabled_tile)(uintptr_t)find(code, 'w', rows, vectors, &err);
    return err;
}

bd_error *bd_micro_find(const bd_target *target, burn_dtype element, const bd_loaded *code,
                        bd_micro *out)
{
    bd_error *err = NULL;
    bd_micro found = {0};
    bool pairs = element == BURN_BF16;
    for (int vectors = 1; vectors <= BD_MICRO_VECTORS_MAX; vectors++)
        for (int rows = 1; rows <= BD_MICRO_ROWS_MAX; rows++)
            if (bd_micro_has(target, element, vectors, rows))
                found.tiles[vectors][rows] =
                    (bd_micro_tile)(uintptr_t)find(code, 'm', rows, vectors, &err);
    for (int rows = 1; rows <= BD_MICRO_DOT_ROWS && !pairs; rows += BD_MICRO_DOT_ROWS - 1)
        for (int others = 1; others <= BD_MICRO_DOT_ROWS; others *= 2)
            found.dots[rows][others] =
                (bd_micro_dots)(uintptr_t)find(code, 'd', rows, others, &err);
    for (int rows = 1; rows <= BD_MICRO_THIN_ROWS && bd_micro_streams(target, element); rows++)
        for (int several = 0; several <= 1; several++) {
            int depth = several ? bd_micro_stream_depth(rows) : 1;
            found.streams[rows][several] =
                (bd_micro_stream)(uintptr_t)find(code, 's', rows, depth, &err);
        }
    found.turn = (bd_micro_turn)(uintptr_t)find(code, 't', 0, 0, &err);
    if (pairs) {
        found.pair = (bd_micro_pair)(uintptr_t)find(code, 'p', 0, 0, &err);
        found.exact = (bd_micro_pair)(uintptr_t)find(code, 'q', 0, 0, &err);
        found.apart = (bd_micro_pair)(uintptr_t)find(code, 'r', 0, 0, &err);
    }
    for (int rows = 1; rows <= BD_MICRO_THIN_ROWS && pairs; rows++)
        found.thin[rows] =
            (bd_micro_tile)(uintptr_t)find(code, 'n', rows, BD_MICRO_THIN_VECTORS, &err);
    if (by_amx(target, element)) {
        found.begin = (bd_micro_begin)(uintptr_t)find(code, 'b', 0, 0, &err);
        found.end = (bd_micro_end)(uintptr_t)find(code, 'e', 0, 0, &err);
    }
    if (!err)
        *out = found;
    return err;
}
