/* SPDX-License-Identifier: Apache-2.0
 * Reductions, their partials, and slots. */
#include <float.h>
#include <math.h>

#include "backends/cpu/loop_parts.h"
#include "backends/cpu/math_calls.h"
#include "proto/base/assert.h"

static bool is_arg(int code)
{
    return code == BD_KIR_REDUCE_ARGMAX || code == BD_KIR_REDUCE_ARGMIN;
}

static bool looks_for_most(int code)
{
    return code == BD_KIR_REDUCE_MAX || code == BD_KIR_REDUCE_ARGMAX;
}

/* Memory form of an accumulator: bool as i8. */
static LLVMTypeRef held_type(const bd_emit *emit, burn_dtype dtype)
{
    return dtype == BURN_BOOL ? emit->module->i8 : bd_emit_type(emit, dtype);
}

static LLVMValueRef to_held(bd_emit *emit, LLVMValueRef value, burn_dtype dtype)
{
    return dtype == BURN_BOOL ? bd_emit_to_storage(emit, value, dtype) : value;
}

static LLVMValueRef from_held(bd_emit *emit, LLVMValueRef value, burn_dtype dtype)
{
    return dtype == BURN_BOOL ? bd_emit_from_storage(emit, value, dtype) : value;
}

/* The value that a reduction over nothing gives, as a scalar. */
static LLVMValueRef identity(bd_emit *emit, const bd_reduction *reduction)
{
    LLVMTypeRef type = bd_emit_type(emit, reduction->dtype);
    int code = reduction->code;
    LLVMValueRef zero = LLVMConstNull(type);
    unsigned bits = (unsigned)burn_dtype_size(reduction->dtype) * 8;
    if (code == BD_KIR_REDUCE_SUM)
        return zero;
    if (burn_dtype_is_float(reduction->dtype)) {
        double value = code == BD_KIR_REDUCE_PROD ? 1 : looks_for_most(code) ? -INFINITY : INFINITY;
        return LLVMConstReal(type, value);
    }
    if (code == BD_KIR_REDUCE_PROD)
        return LLVMConstInt(type, 1, 0);
    bool is_signed = burn_dtype_kind_of(reduction->dtype) == BURN_KIND_SIGNED;
    if (!is_signed)
        return looks_for_most(code) ? zero : LLVMConstAllOnes(type);
    uint64_t lowest = (uint64_t)1 << (bits - 1);
    return LLVMConstInt(type, looks_for_most(code) ? lowest : lowest - 1, 0);
}

/* a and b are (value, position) pairs; the better one, and of equals the first, stays. */
static void better(bd_emit *emit, const bd_reduction *reduction, LLVMValueRef a[2],
                   LLVMValueRef const b[2])
{
    LLVMBuilderRef builder = emit->builder;
    int code = looks_for_most(reduction->code) ? BD_KIR_GT : BD_KIR_LT;
    burn_dtype dtype = reduction->dtype;
    LLVMValueRef wins = bd_part_binary(emit, code, dtype, b[0], a[0]);
    LLVMValueRef ties = bd_part_binary(emit, BD_KIR_EQ, dtype, b[0], a[0]);
    if (burn_dtype_is_float(dtype)) {
        LLVMValueRef odd_a = bd_part_isnan(emit, a[0]), odd_b = bd_part_isnan(emit, b[0]);
        LLVMValueRef only_b = LLVMBuildAnd(builder, odd_b, LLVMBuildNot(builder, odd_a, ""), "");
        wins = LLVMBuildOr(builder, wins, only_b, "");
        ties = LLVMBuildOr(builder, ties, LLVMBuildAnd(builder, odd_a, odd_b, ""), "");
    }
    LLVMValueRef earlier = LLVMBuildICmp(builder, LLVMIntSLT, b[1], a[1], "");
    wins = LLVMBuildOr(builder, wins, LLVMBuildAnd(builder, ties, earlier, ""), "");
    a[0] = LLVMBuildSelect(builder, wins, b[0], a[0], "");
    a[1] = LLVMBuildSelect(builder, wins, b[1], a[1], "");
}

/* As better, for a b that stands behind a in each lane: of equals a stays. Where b is all there is,
 * and no better than nothing, a has no position: set_result knows. */
static void better_behind(bd_emit *emit, const bd_reduction *reduction, LLVMValueRef a[2],
                          LLVMValueRef const b[2])
{
    LLVMBuilderRef builder = emit->builder;
    bool most = looks_for_most(reduction->code);
    LLVMValueRef wins;
    if (burn_dtype_is_float(reduction->dtype)) {
        LLVMValueRef known = LLVMBuildFCmp(builder, LLVMRealORD, a[0], a[0], "");
        wins = LLVMBuildFCmp(builder, most ? LLVMRealUGT : LLVMRealULT, b[0], a[0], "");
        wins = LLVMBuildAnd(builder, wins, known, "");
    } else {
        wins = bd_part_binary(emit, most ? BD_KIR_GT : BD_KIR_LT, reduction->dtype, b[0], a[0]);
    }
    for (int part = 0; part < 2; part++)
        a[part] = LLVMBuildSelect(builder, wins, b[part], a[part], "");
}

static void combine(bd_emit *emit, const bd_reduction *reduction, LLVMValueRef a[2],
                    LLVMValueRef const b[2])
{
    static const int codes[] = {BD_KIR_ADD, BD_KIR_MUL, BD_KIR_MAX, BD_KIR_MIN};
    if (is_arg(reduction->code)) {
        better(emit, reduction, a, b);
        return;
    }
    int code = codes[reduction->code - BD_KIR_REDUCE_SUM];
    a[0] = bd_part_binary(emit, code, reduction->dtype, a[0], b[0]);
}

int bd_loop_column_axis(const bd_emit_loop *loop)
{
    const bd_loop_shape *shape = loop->shape;
    if (shape->form != BD_LOOP_COLUMN || shape->narrow || loop->reduction_count == 0 ||
        shape->serial_count == 0)
        return -1;
    return shape->serial[shape->serial_count - 1];
}

bool bd_loop_is_cold(const bd_emit_loop *loop)
{
    return loop->cold;
}

bool bd_loop_is_light(const bd_emit_loop *loop)
{
    return loop->shape->each_count <= 1;
}

bool bd_loop_may_stream(const bd_emit *emit, const bd_kir_instr *instr)
{
    return emit->loop && !emit->loop->rest && emit->lanes > 1 &&
           emit->loop->shape->stream_bytes > 0 &&
           bd_loop_streams(emit->program, instr, emit->loop->shape->vector_axis);
}

LLVMValueRef bd_loop_linear(bd_emit *emit)
{
    const bd_loop_shape *shape = emit->loop->shape;
    LLVMValueRef linear = NULL;
    for (int i = 0; i < shape->serial_count; i++) {
        int axis = shape->serial[i];
        if (linear)
            linear = LLVMBuildMul(emit->builder, linear, emit->loop->extents[axis], "");
        linear = linear ? LLVMBuildAdd(emit->builder, linear, emit->positions[axis], "")
                        : emit->positions[axis];
    }
    return linear ? linear : bd_emit_i64(emit, 0);
}

/* Adds a product to a sum, rounded once; false if it is none. */
static bool add_product(bd_emit *emit, const bd_reduction *reduction, LLVMValueRef *sum)
{
    const bd_kir_instr *instrs = emit->program->instrs;
    const bd_kir_instr *product = &instrs[instrs[reduction->instr].operands[0] - 1];
    bool wide = reduction->dtype == BURN_F32 || reduction->dtype == BURN_F64;
    if (reduction->code != BD_KIR_REDUCE_SUM || product->code != BD_KIR_MUL || !wide ||
        !emit->module->target->fma)
        return false;
    *sum = bd_part_fma(emit, bd_emit_vector(emit, product->operands[0]),
                       bd_emit_vector(emit, product->operands[1]), *sum);
    return true;
}

void bd_part_reduce(bd_emit *emit, int instr)
{
    BD_ASSERT(emit->loop);
    bd_reduction *reduction = NULL;
    for (int i = 0; i < emit->loop->reduction_count; i++)
        if (emit->loop->reductions[i].instr == instr)
            reduction = &emit->loop->reductions[i];
    BD_ASSERT(reduction);
    LLVMValueRef operand = bd_emit_vector(emit, emit->program->instrs[instr].operands[0]);
    LLVMValueRef item[2] = {operand, NULL}, next[2];
    if (reduction->parts == 2) {
        item[1] = bd_emit_splat(emit, bd_loop_linear(emit));
        if (emit->loop->shape->form == BD_LOOP_ROW)
            item[1] =
                LLVMBuildAdd(emit->builder, item[1], bd_emit_iota(emit, emit->module->i64), "");
    }
    for (int i = 0; i < reduction->parts; i++)
        next[i] = reduction->now[i];
    if (is_arg(reduction->code) && !emit->loop->shape->crossed)
        better_behind(emit, reduction, next, item);
    else if (!add_product(emit, reduction, next))
        combine(emit, reduction, next, item);
    bool masked = emit->mask && emit->loop->shape->form == BD_LOOP_ROW;
    for (int i = 0; i < reduction->parts; i++)
        reduction->now[i] =
            masked ? LLVMBuildSelect(emit->builder, emit->mask, next[i], reduction->now[i], "")
                   : next[i];
}

static LLVMTypeRef part_type(const bd_emit *emit, const bd_reduction *reduction, int part)
{
    return part ? emit->module->i64 : held_type(emit, reduction->dtype);
}

static LLVMValueRef part_identity(bd_emit *emit, const bd_reduction *reduction, int part)
{
    return part ? bd_emit_i64(emit, INT64_MAX) : identity(emit, reduction);
}

static void set_total(bd_emit *emit, const bd_reduction *reduction, int part, LLVMValueRef place,
                      LLVMValueRef value)
{
    LLVMBuildStore(emit->builder, part ? value : to_held(emit, value, reduction->dtype), place);
}

static LLVMValueRef get_total(bd_emit *emit, const bd_reduction *reduction, int part,
                              LLVMValueRef place)
{
    LLVMTypeRef type = bd_emit_lanes_of(emit, part_type(emit, reduction, part));
    LLVMValueRef value = LLVMBuildLoad2(emit->builder, type, place, "");
    return part ? value : from_held(emit, value, reduction->dtype);
}

void bd_loop_reductions_begin(bd_emit *emit, int phase)
{
    bd_emit_loop *loop = emit->loop;
    const bd_loop_shape *shape = loop->shape;
    bool tails = shape->form == BD_LOOP_ROW && !emit->module->target->masked && emit->lanes > 1;
    loop->reduction_count = 0;
    for (int i = 0; i < shape->reduction_count; i++) {
        if (shape->reduction_phase[i] != phase)
            continue;
        int instr = shape->reductions[i];
        const bd_kir_instr *it = &emit->program->instrs[instr];
        bd_reduction *reduction = &loop->reductions[loop->reduction_count++];
        *reduction = (bd_reduction){
            .instr = instr, .code = it->code, .parts = bd_loop_reduction_parts(it->code)};
        reduction->dtype = (burn_dtype)emit->program->instrs[it->operands[0] - 1].dtype;
        for (int part = 0; part < reduction->parts; part++) {
            LLVMTypeRef type = part_type(emit, reduction, part);
            LLVMValueRef none = part_identity(emit, reduction, part);
            reduction->total[part] = bd_emit_alloca(emit, bd_emit_lanes_of(emit, type), 64);
            set_total(emit, reduction, part, reduction->total[part], bd_emit_splat(emit, none));
            if (!tails)
                continue;
            reduction->scalar_total[part] = bd_emit_alloca(emit, type, 8);
            set_total(emit, reduction, part, reduction->scalar_total[part], none);
        }
    }
}

void bd_loop_reductions_clear(bd_emit *emit)
{
    for (int i = 0; i < emit->loop->reduction_count; i++) {
        bd_reduction *reduction = &emit->loop->reductions[i];
        for (int part = 0; part < reduction->parts; part++)
            reduction->now[part] = bd_emit_splat(emit, part_identity(emit, reduction, part));
    }
}

void bd_loop_reductions_flush(bd_emit *emit)
{
    for (int i = 0; i < emit->loop->reduction_count; i++) {
        bd_reduction *reduction = &emit->loop->reductions[i];
        bool scalar = emit->lanes == 1 && reduction->scalar_total[0];
        LLVMValueRef *places = scalar ? reduction->scalar_total : reduction->total, total[2];
        for (int part = 0; part < reduction->parts; part++)
            total[part] = get_total(emit, reduction, part, places[part]);
        combine(emit, reduction, total, reduction->now);
        for (int part = 0; part < reduction->parts; part++)
            set_total(emit, reduction, part, places[part], total[part]);
    }
}

unsigned bd_loop_reductions_carry(bd_emit *emit, bd_emit_frame *frame)
{
    for (int i = 0; i < emit->loop->reduction_count; i++) {
        bd_reduction *reduction = &emit->loop->reductions[i];
        for (int part = 0; part < reduction->parts; part++)
            reduction->now[part] = bd_emit_carry(emit, frame, reduction->now[part]);
    }
    return frame->carry_count;
}

void bd_loop_reductions_carried(bd_emit *emit, bd_emit_frame *frame)
{
    unsigned number = 0;
    for (int i = 0; i < emit->loop->reduction_count; i++)
        for (int part = 0; part < emit->loop->reductions[i].parts; part++)
            bd_emit_carried(frame, number++, emit->loop->reductions[i].now[part]);
}

void bd_loop_reductions_after(bd_emit *emit, bd_emit_frame *frame)
{
    unsigned number = 0;
    for (int i = 0; i < emit->loop->reduction_count; i++)
        for (int part = 0; part < emit->loop->reductions[i].parts; part++)
            emit->loop->reductions[i].now[part] = frame->phis[number++];
}

/* The total of all lanes, folded in memory to those of one register: halves onto halves. */
static void folded(bd_emit *emit, const bd_reduction *reduction, LLVMValueRef value[2])
{
    unsigned lanes = emit->lanes, unroll = emit->loop->shape->unroll;
    LLVMValueRef pieces[8][2];
    BD_ASSERT(unroll <= 8);
    emit->lanes = lanes / unroll;
    for (unsigned i = 0; i < unroll; i++)
        for (int part = 0; part < reduction->parts; part++) {
            LLVMTypeRef type = bd_emit_lanes_of(emit, part_type(emit, reduction, part));
            LLVMValueRef place =
                bd_part_offset(emit, reduction->total[part], type, bd_emit_i64(emit, (int64_t)i));
            pieces[i][part] = get_total(emit, reduction, part, place);
        }
    for (unsigned half = unroll / 2; half >= 1; half /= 2)
        for (unsigned i = 0; i < half; i++)
            combine(emit, reduction, pieces[i], pieces[i + half]);
    value[0] = pieces[0][0];
    value[1] = reduction->parts == 2 ? pieces[0][1] : NULL;
    emit->lanes = lanes;
}

/* Lanes of one register to one value. */
static void across(bd_emit *emit, const bd_reduction *reduction, LLVMValueRef value[2])
{
    unsigned lanes = emit->lanes, width = lanes / emit->loop->shape->unroll;
    for (unsigned half = width / 2; half >= 1; half /= 2) {
        LLVMValueRef upper[2] = {NULL, NULL};
        emit->lanes = half;
        for (int part = 0; part < reduction->parts; part++) {
            upper[part] = bd_part_lanes(emit, value[part], half, half);
            value[part] = bd_part_lanes(emit, value[part], 0, half);
        }
        combine(emit, reduction, value, upper);
    }
    emit->lanes = lanes;
}

/* If no element is better than nothing, all are alike, and the first one is meant. */
static void set_result(bd_emit *emit, const bd_reduction *reduction, LLVMValueRef total)
{
    if (reduction->parts == 2) {
        LLVMValueRef none = bd_part_integer(emit, total, INT64_MAX);
        none = LLVMBuildICmp(emit->builder, LLVMIntEQ, total, none, "");
        total = LLVMBuildSelect(emit->builder, none, LLVMConstNull(LLVMTypeOf(total)), total, "");
    }
    burn_dtype dtype = (burn_dtype)emit->program->instrs[reduction->instr].dtype;
    emit->values[reduction->instr + 1] = bd_part_round(emit, total, dtype);
}

void bd_loop_reductions_end(bd_emit *emit)
{
    for (int i = 0; i < emit->loop->reduction_count; i++) {
        bd_reduction *reduction = &emit->loop->reductions[i];
        LLVMValueRef value[2] = {NULL, NULL}, scalar[2] = {NULL, NULL};
        bool row = emit->loop->shape->form == BD_LOOP_ROW && emit->lanes > 1;
        for (int part = 0; part < reduction->parts && !row; part++)
            value[part] = get_total(emit, reduction, part, reduction->total[part]);
        if (row) {
            folded(emit, reduction, value);
            across(emit, reduction, value);
            unsigned lanes = emit->lanes;
            emit->lanes = 1;
            for (int part = 0; part < reduction->parts && reduction->scalar_total[0]; part++)
                scalar[part] = get_total(emit, reduction, part, reduction->scalar_total[part]);
            if (scalar[0])
                combine(emit, reduction, value, scalar);
            emit->lanes = lanes;
        }
        reduction->now[0] = value[0];
        reduction->now[1] = value[1];
        set_result(emit, reduction, value[reduction->parts - 1]);
    }
}

/* ---- partials of a split ---- */

/* Where row `row` of part `part` of reduction `number` of the program lies; rows are the partials
 * of all items and chunks, then the finals of all items. */
static LLVMValueRef partial_place(bd_emit *emit, int number, int part, LLVMValueRef row)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef items = bd_emit_param(emit, BD_LOOP_ITEMS);
    LLVMValueRef rows = LLVMBuildMul(b, items, bd_emit_param(emit, BD_LOOP_CHUNKS), "");
    rows = LLVMBuildAdd(b, rows, items, "");
    LLVMValueRef at = LLVMBuildMul(b, rows, bd_emit_i64(emit, 2 * number + part), "");
    at = LLVMBuildAdd(b, at, row, "");
    int64_t lanes = emit->loop->shape->form == BD_LOOP_COLUMN ? emit->lanes : 1;
    at = LLVMBuildMul(b, at, bd_emit_i64(emit, 8 * lanes), "");
    at = LLVMBuildAdd(b, at, bd_emit_param(emit, BD_LOOP_PARTIALS), "");
    LLVMValueRef base =
        bd_emit_call_field(emit, offsetof(bd_call, shared_scratch), emit->module->pointer);
    return bd_part_offset(emit, base, emit->module->i8, at);
}

static int number_of(const bd_emit *emit, int instr)
{
    const bd_loop_shape *shape = emit->loop->shape;
    for (int i = 0; i < shape->reduction_count; i++)
        if (shape->reductions[i] == instr)
            return i;
    bd_abort(__FILE__, __LINE__, "a reduction of this program");
}

/* Runs with one lane in the ROW form, where results are scalars. */
static unsigned enter(bd_emit *emit)
{
    unsigned lanes = emit->lanes;
    if (emit->loop->shape->form == BD_LOOP_ROW)
        emit->lanes = 1;
    return lanes;
}

void bd_loop_partials_store(bd_emit *emit, int phase, LLVMValueRef row)
{
    (void)phase;
    unsigned lanes = enter(emit);
    for (int i = 0; i < emit->loop->reduction_count; i++) {
        bd_reduction *reduction = &emit->loop->reductions[i];
        int number = number_of(emit, reduction->instr);
        for (int part = 0; part < reduction->parts; part++)
            set_total(emit, reduction, part, partial_place(emit, number, part, row),
                      reduction->now[part]);
    }
    emit->lanes = lanes;
}

/* Sums of f32 are combined in f64. */
static bool widens(const bd_emit *emit, const bd_reduction *reduction)
{
    return reduction->code == BD_KIR_REDUCE_SUM &&
           bd_emit_type(emit, reduction->dtype) == emit->module->f32;
}

static void combine_one(bd_emit *emit, bd_reduction *reduction, LLVMValueRef first,
                        LLVMValueRef count)
{
    LLVMBuilderRef b = emit->builder;
    int number = number_of(emit, reduction->instr);
    bd_emit_frame frame;
    LLVMValueRef value[2] = {NULL, NULL}, item[2] = {NULL, NULL};
    for (int part = 0; part < reduction->parts; part++)
        value[part] = bd_emit_splat(emit, part_identity(emit, reduction, part));
    bool wide = widens(emit, reduction);
    LLVMTypeRef f64 = bd_emit_lanes_of(emit, emit->module->f64), narrow = LLVMTypeOf(value[0]);
    if (wide)
        value[0] = LLVMConstNull(f64);
    LLVMValueRef chunk =
        bd_emit_for(emit, &frame, bd_emit_i64(emit, 0), count, bd_emit_i64(emit, 1));
    LLVMValueRef row = LLVMBuildAdd(b, first, chunk, "");
    for (int part = 0; part < reduction->parts; part++) {
        value[part] = bd_emit_carry(emit, &frame, value[part]);
        item[part] = get_total(emit, reduction, part, partial_place(emit, number, part, row));
    }
    if (wide)
        value[0] = LLVMBuildFAdd(b, value[0], LLVMBuildFPExt(b, item[0], f64, ""), "");
    else
        combine(emit, reduction, value, item);
    for (int part = 0; part < reduction->parts; part++)
        bd_emit_carried(&frame, (unsigned)part, value[part]);
    bd_emit_for_end(emit, &frame);
    for (int part = 0; part < reduction->parts; part++)
        reduction->now[part] = frame.phis[part];
    if (wide)
        reduction->now[0] = LLVMBuildFPTrunc(b, reduction->now[0], narrow, "");
    set_result(emit, reduction, reduction->now[reduction->parts - 1]);
}

void bd_loop_partials_combine(bd_emit *emit, int phase, LLVMValueRef first, LLVMValueRef count)
{
    bd_loop_reductions_begin(emit, phase);
    unsigned lanes = enter(emit);
    for (int i = 0; i < emit->loop->reduction_count; i++)
        combine_one(emit, &emit->loop->reductions[i], first, count);
    emit->lanes = lanes;
}

static LLVMValueRef final_row(bd_emit *emit, LLVMValueRef item)
{
    LLVMValueRef rows = LLVMBuildMul(emit->builder, bd_emit_param(emit, BD_LOOP_ITEMS),
                                     bd_emit_param(emit, BD_LOOP_CHUNKS), "");
    return LLVMBuildAdd(emit->builder, rows, item, "");
}

void bd_loop_finals_store(bd_emit *emit, int phase, LLVMValueRef item)
{
    bd_loop_partials_store(emit, phase, final_row(emit, item));
}

void bd_loop_finals_load(bd_emit *emit, int phase, LLVMValueRef item)
{
    bd_loop_reductions_begin(emit, phase);
    unsigned lanes = enter(emit);
    LLVMValueRef row = final_row(emit, item);
    for (int i = 0; i < emit->loop->reduction_count; i++) {
        bd_reduction *reduction = &emit->loop->reductions[i];
        int last = reduction->parts - 1;
        LLVMValueRef place = partial_place(emit, number_of(emit, reduction->instr), last, row);
        set_result(emit, reduction, get_total(emit, reduction, last, place));
    }
    emit->lanes = lanes;
}

/* ---- slots ---- */

static LLVMTypeRef slot_type(const bd_emit *emit, burn_dtype dtype)
{
    return held_type(emit, dtype);
}

void bd_loop_slots_begin(bd_emit *emit)
{
    bd_emit_loop *loop = emit->loop;
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef count = bd_emit_i64(emit, 1), total = bd_emit_i64(emit, 0);
    for (int i = 0; i < loop->shape->serial_count; i++)
        count = LLVMBuildMul(b, count, loop->extents[loop->shape->serial[i]], "");
    if (loop->shape->form == BD_LOOP_COLUMN)
        count = LLVMBuildMul(b, count, bd_emit_i64(emit, loop->shape->lanes), "");
    for (int slot = 0; slot < emit->program->slot_count; slot++) {
        size_t size = bd_loop_value_bytes((burn_dtype)emit->program->slot_dtypes[slot]);
        LLVMValueRef bytes = LLVMBuildMul(b, count, bd_emit_i64(emit, (int64_t)size), "");
        bytes = LLVMBuildAdd(b, bytes, bd_emit_i64(emit, 63), "");
        bytes = LLVMBuildAnd(b, bytes, bd_emit_i64(emit, -64), "");
        loop->slot_offsets[slot] = total;
        total = LLVMBuildAdd(b, total, bytes, "");
    }
    loop->slot_bytes = total;
    loop->slot_base =
        bd_emit_call_field(emit, offsetof(bd_call, worker_scratch), emit->module->pointer);
}

static LLVMValueRef slot_place(bd_emit *emit, const bd_kir_instr *instr, LLVMTypeRef type)
{
    bd_emit_loop *loop = emit->loop;
    LLVMValueRef base =
        bd_part_offset(emit, loop->slot_base, emit->module->i8, loop->slot_offsets[instr->index]);
    LLVMValueRef linear = bd_loop_linear(emit);
    if (loop->shape->form == BD_LOOP_COLUMN)
        linear = LLVMBuildMul(emit->builder, linear, bd_emit_i64(emit, emit->lanes), "");
    return bd_part_offset(emit, base, type, linear);
}

/* The slots of a sort lie one behind the other, from the positions on in equal distances. */
void bd_part_sort(bd_emit *emit, const bd_kir_instr *instr)
{
    bd_emit_loop *loop = emit->loop;
    LLVMBuilderRef b = emit->builder;
    LLVMTypeRef pointer = emit->module->pointer, i64 = emit->module->i64;
    BD_ASSERT(loop->shape->form == BD_LOOP_ROW);
    LLVMValueRef count = bd_emit_i64(emit, 1);
    for (int i = 0; i < loop->shape->serial_count; i++)
        count = LLVMBuildMul(b, count, loop->extents[loop->shape->serial[i]], "");
    int function = bd_sort_function((burn_dtype)instr->dtype, instr->flags & 1);
    LLVMValueRef entry = bd_part_offset(emit, emit->math, pointer, bd_emit_i64(emit, function));
    LLVMTypeRef parameters[] = {pointer, pointer, i64};
    LLVMValueRef arguments[] = {
        bd_part_offset(emit, loop->slot_base, emit->module->i8, loop->slot_offsets[instr->index]),
        bd_part_offset(emit, loop->slot_base, emit->module->i8,
                       loop->slot_offsets[instr->index + 1]),
        count};
    LLVMBuildCall2(b, LLVMFunctionType(emit->module->none, parameters, 3, 0),
                   LLVMBuildLoad2(b, pointer, entry, ""), arguments, 3, "");
}

void bd_part_save(bd_emit *emit, const bd_kir_instr *instr)
{
    burn_dtype dtype = (burn_dtype)emit->program->slot_dtypes[instr->index];
    LLVMValueRef place = slot_place(emit, instr, slot_type(emit, dtype));
    LLVMValueRef value = bd_emit_vector(emit, instr->operands[0]);
    LLVMValueRef mask = emit->loop->shape->form == BD_LOOP_ROW ? emit->mask : NULL;
    burn_dtype held = dtype == BURN_F16 || dtype == BURN_BF16 ? BURN_F32 : dtype;
    bd_part_store_lanes(emit, place, value, held, mask);
}

LLVMValueRef bd_part_restore(bd_emit *emit, const bd_kir_instr *instr)
{
    burn_dtype dtype = (burn_dtype)instr->dtype;
    LLVMValueRef place = slot_place(emit, instr, slot_type(emit, dtype));
    LLVMValueRef mask = emit->loop->shape->form == BD_LOOP_ROW ? emit->mask : NULL;
    burn_dtype held = dtype == BURN_F16 || dtype == BURN_BF16 ? BURN_F32 : dtype;
    return bd_part_load_lanes(emit, place, held, mask);
}
