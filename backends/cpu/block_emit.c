/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/emit_parts.h"
#include "backends/cpu/gemm_parts.h"

/* One side of a block: the axes of a role, or of none, which count together. */
typedef struct side {
    int axes[BD_KIR_AXES_MAX], count; /* outermost first */
    LLVMValueRef first, size;         /* the block's part of their points */
    /* of several: positions of `first` */
    LLVMValueRef extents[BD_KIR_AXES_MAX], digits[BD_KIR_AXES_MAX];
} side;

/* A function over a block: rows outside, vectors of columns inside (gemm_parts.h). */
typedef struct block_writer {
    bd_emit *emit;
    const bd_kir_phase *phase;
    side outer, inner;
    burn_dtype element;
    LLVMTypeRef scalar;
    LLVMValueRef memory, step;
    LLVMValueRef factors, factor; /* of all rows, of the row at hand; NULL: not scaled */
    LLVMValueRef start, count; /* of the columns that lie along the inner axis */
    bool is_short;             /* as of the spec */
} block_writer;

/* The batch point's number, taken apart into positions. */
static void set_batch(bd_emit *emit)
{
    const bd_kir *program = emit->program;
    LLVMValueRef rest = bd_emit_param(emit, BD_GEMM_BATCH);
    for (int axis = program->axis_count - 1; axis >= 0; axis--) {
        emit->positions[axis] = bd_emit_i64(emit, 0);
        if (program->axes[axis].role != BD_KIR_BATCH)
            continue;
        LLVMValueRef extent = bd_emit_int(emit, program->axes[axis].extent);
        emit->positions[axis] = LLVMBuildURem(emit->builder, rest, extent, "");
        rest = LLVMBuildUDiv(emit->builder, rest, extent, "");
    }
}

static side side_of(const bd_kir *program, int role)
{
    side made = {.count = 0};
    for (int axis = 0; axis < program->axis_count; axis++)
        if ((int)program->axes[axis].role == role)
            made.axes[made.count++] = axis;
    return made;
}

/* The axis along which columns lie; -1: none. */
static int inner_axis(const block_writer *w)
{
    return w->inner.count ? w->inner.axes[w->inner.count - 1] : -1;
}

static unsigned axes_of(const side *s)
{
    unsigned axes = 0;
    for (int i = 0; i < s->count; i++)
        axes |= 1u << s->axes[i];
    return axes;
}

/* Whether something in the phase asks for positions on these axes besides addresses. */
static bool asks_for(const bd_kir *program, const bd_kir_phase *phase, unsigned axes)
{
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        bool memory = bd_part_has_access(instr->code);
        int guard = instr->code == BD_KIR_GUARD ? instr->index : memory ? instr->guard : -1;
        if (instr->code == BD_KIR_INDEX && axes >> instr->index & 1)
            return true;
        if (guard >= 0 && (bd_kir_guard_axes(program, guard) & axes))
            return true;
    }
    return false;
}

/* Whether all axes of a side count as one in each address; NULL: never. */
static LLVMValueRef count_as_one(bd_emit *emit, const bd_kir_phase *phase, const side *s)
{
    LLVMBuilderRef b = emit->builder;
    const bd_kir *program = emit->program;
    LLVMValueRef all = NULL;
    if (s->count < 2 || asks_for(program, phase, axes_of(s)))
        return NULL;
    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        if (!bd_part_has_access(instr->code))
            continue;
        const bd_kir_int *strides = program->accesses[instr->index].strides;
        for (int k = 0; k + 1 < s->count; k++) {
            bd_kir_int outer = strides[s->axes[k]], inner = strides[s->axes[k + 1]];
            if (bd_kir_int_is(outer, 0) && bd_kir_int_is(inner, 0))
                continue;
            LLVMValueRef reach = LLVMBuildMul(b, bd_emit_int(emit, inner), s->extents[k + 1], "");
            LLVMValueRef equal = LLVMBuildICmp(b, LLVMIntEQ, bd_emit_int(emit, outer), reach, "");
            all = all ? LLVMBuildAnd(b, all, equal, "") : equal;
        }
    }
    return all;
}

static void find_extents(bd_emit *emit, side *s)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef one = bd_emit_i64(emit, 1);
    for (int i = 0; s->count > 1 && i < s->count; i++) {
        LLVMValueRef extent = bd_emit_int(emit, emit->program->axes[s->axes[i]].extent);
        LLVMValueRef some = LLVMBuildICmp(b, LLVMIntSGT, extent, one, "");
        s->extents[i] = LLVMBuildSelect(b, some, extent, one, ""); /* of 0 there are no points */
    }
}

/* Where addresses allow it, the innermost axis goes on through all others: vectors then do not end
 * with each of its rows, which may have few elements. */
static void join_axes(bd_emit *emit, const bd_kir_phase *phase, side *s)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef joined = count_as_one(emit, phase, s);
    if (!joined)
        return;
    LLVMValueRef points = s->extents[0];
    for (int i = 1; i < s->count; i++)
        points = LLVMBuildMul(b, points, s->extents[i], "");
    LLVMValueRef *innermost = &s->extents[s->count - 1];
    *innermost = LLVMBuildSelect(b, joined, points, *innermost, "");
}

/* Takes the first point's number apart, if there are several axes. */
static void find_digits(bd_emit *emit, side *s)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef rest = s->first;
    for (int i = s->count - 1; s->count > 1 && i >= 0; i--) {
        s->digits[i] = i ? LLVMBuildURem(b, rest, s->extents[i], "") : rest;
        rest = i ? LLVMBuildUDiv(b, rest, s->extents[i], "") : rest;
    }
}

/* Positions from digits that are carried round a loop. */
static void carry_digits(bd_emit *emit, bd_emit_frame *frame, const side *s, int count,
                         LLVMValueRef *digits)
{
    for (int i = 0; i < count; i++)
        emit->positions[s->axes[i]] = digits[i] = bd_emit_carry(emit, frame, s->digits[i]);
}

/* Adds 1 to the digit of axis `count` - 1 for the loop's next turn; they are carried from
 * `first` on. */
static void count_digits(bd_emit *emit, bd_emit_frame *frame, const side *s, int count,
                         unsigned first, LLVMValueRef *digits)
{
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef carry = bd_emit_i64(emit, 1);
    for (int i = count - 1; i >= 0; i--) {
        LLVMValueRef next = LLVMBuildAdd(b, digits[i], carry, "");
        if (i > 0) {
            LLVMValueRef full = LLVMBuildICmp(b, LLVMIntEQ, next, s->extents[i], "");
            next = LLVMBuildSelect(b, full, bd_emit_i64(emit, 0), next, "");
            carry = LLVMBuildZExt(b, full, emit->module->i64, "");
        }
        bd_emit_carried(frame, first + (unsigned)i, next);
    }
}

/* Columns first .. last of one row, `lanes` at a time. Returns where it stopped. */
static LLVMValueRef columns(block_writer *w, LLVMValueRef row, LLVMValueRef first, bool masked)
{
    bd_emit *emit = w->emit;
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef stop = w->count;
    if (!masked && emit->lanes > 1)
        stop = LLVMBuildAnd(b, stop, bd_emit_i64(emit, -(int64_t)emit->lanes), "");
    bd_emit_frame frame;
    LLVMValueRef index = bd_emit_for(emit, &frame, first, stop, bd_emit_i64(emit, emit->lanes));
    if (w->inner.count)
        emit->positions[inner_axis(w)] = LLVMBuildAdd(b, w->start, index, "");
    if (masked)
        bd_emit_set_tail(emit, LLVMBuildSub(b, w->count, index, ""));
    LLVMValueRef place = LLVMBuildGEP2(b, w->scalar, row, &index, 1, "");
    if (w->phase->kind == BD_KIR_EPILOGUE || w->phase->kind == BD_KIR_SCORE)
        emit->acc = bd_part_load_lanes(emit, place, w->element, emit->mask);
    if (w->factor)
        emit->acc = LLVMBuildFMul(b, emit->acc, bd_part_match(emit, w->factor, emit->acc), "");
    bd_emit_phase(emit, w->phase);
    if (bd_kir_yields(w->phase->kind)) {
        LLVMValueRef value = emit->yielded;
        if (!emit->yielded_varies && emit->lanes > 1)
            value = bd_emit_splat(emit, value);
        bd_part_store_lanes(emit, place, value, w->element, emit->mask);
    }
    bd_emit_clear_tail(emit);
    bd_emit_for_end(emit, &frame);
    return stop;
}

static void row_of_columns(block_writer *w, LLVMValueRef row)
{
    bd_emit *emit = w->emit;
    unsigned lanes = emit->lanes;
    LLVMValueRef zero = bd_emit_i64(emit, 0);
    if (lanes > 1 && emit->module->target->masked && (w->inner.count > 1 || w->is_short)) {
        columns(w, row, zero, true); /* most stretches end within a vector or two */
        return;
    }
    LLVMValueRef rest = columns(w, row, zero, false);
    if (lanes == 1)
        return;
    if (emit->module->target->masked) {
        columns(w, row, rest, true);
        return;
    }
    bd_emit_lanes(emit, inner_axis(w), 1);
    columns(w, row, rest, false);
    bd_emit_lanes(emit, inner_axis(w), lanes);
}

/* A row whose columns are several axes: stretches along the innermost one. */
static void row_of_stretches(block_writer *w, LLVMValueRef row)
{
    bd_emit *emit = w->emit;
    LLVMBuilderRef b = emit->builder;
    const side *s = &w->inner;
    int outer = s->count - 1;
    LLVMValueRef extent = s->extents[outer], zero = bd_emit_i64(emit, 0);
    LLVMValueRef past = LLVMBuildAdd(b, s->digits[outer], s->size, "");
    past = LLVMBuildSub(b, LLVMBuildAdd(b, past, extent, ""), bd_emit_i64(emit, 1), "");
    LLVMValueRef stretches = LLVMBuildUDiv(b, past, extent, ""), digits[BD_KIR_AXES_MAX];
    bd_emit_frame frame;
    bd_emit_for(emit, &frame, zero, stretches, bd_emit_i64(emit, 1));
    w->start = bd_emit_carry(emit, &frame, s->digits[outer]);
    LLVMValueRef done = bd_emit_carry(emit, &frame, zero);
    carry_digits(emit, &frame, s, outer, digits);
    LLVMValueRef left = LLVMBuildSub(b, s->size, done, "");
    w->count = LLVMBuildSub(b, extent, w->start, "");
    LLVMValueRef ends = LLVMBuildICmp(b, LLVMIntSLT, left, w->count, "");
    w->count = LLVMBuildSelect(b, ends, left, w->count, "");
    emit->positions[inner_axis(w)] = w->start;
    bd_emit_hoist(emit, w->phase, 1u << inner_axis(w));
    LLVMValueRef place = LLVMBuildGEP2(b, w->scalar, row, &done, 1, "");
    LLVMValueRef count = w->count;
    row_of_columns(w, place);
    bd_emit_carried(&frame, 0, zero);
    bd_emit_carried(&frame, 1, LLVMBuildAdd(b, done, count, ""));
    count_digits(emit, &frame, s, outer, 2, digits);
    bd_emit_for_end(emit, &frame);
}

static void rows_of_block(block_writer *w, unsigned lanes)
{
    bd_emit *emit = w->emit;
    bd_emit_frame frame;
    LLVMValueRef digits[BD_KIR_AXES_MAX];
    find_extents(emit, &w->outer);
    find_extents(emit, &w->inner);
    join_axes(emit, w->phase, &w->inner);
    find_digits(emit, &w->outer);
    find_digits(emit, &w->inner);
    LLVMValueRef index =
        bd_emit_for(emit, &frame, bd_emit_i64(emit, 0), w->outer.size, bd_emit_i64(emit, 1));
    if (w->outer.count > 1)
        carry_digits(emit, &frame, &w->outer, w->outer.count, digits);
    else if (w->outer.count == 1)
        emit->positions[w->outer.axes[0]] =
            LLVMBuildAdd(emit->builder, w->outer.first, index, "");
    LLVMValueRef offset = LLVMBuildMul(emit->builder, index, w->step, "");
    LLVMValueRef row = LLVMBuildGEP2(emit->builder, w->scalar, w->memory, &offset, 1, "");
    if (w->factors) {
        LLVMValueRef place = LLVMBuildGEP2(emit->builder, w->scalar, w->factors, &index, 1, "");
        w->factor = LLVMBuildLoad2(emit->builder, w->scalar, place, "");
    }
    bd_emit_lanes(emit, inner_axis(w), lanes);
    if (w->inner.count)
        bd_emit_hoist(emit, w->phase, axes_of(&w->inner));
    w->start = w->inner.first;
    w->count = w->inner.size;
    if (w->inner.count > 1)
        row_of_stretches(w, row);
    else
        row_of_columns(w, row);
    if (w->inner.count)
        bd_emit_unhoist(emit);
    bd_emit_lanes(emit, -1, 1);
    if (w->outer.count > 1)
        count_digits(emit, &frame, &w->outer, w->outer.count, 0, digits);
    bd_emit_for_end(emit, &frame);
}

void bd_block_emit(bd_module *module, const bd_kir *program, const char *name,
                   const bd_block_spec *spec)
{
    burn_dtype element = spec->element;
    bool wide = element == BURN_F64, turned = spec->turned;
    LLVMTypeRef numbers = wide ? module->f64 : module->f32;
    block_writer w = {.phase = bd_gemm_phase(program, spec->kind),
                      .outer = side_of(program, spec->outer_role),
                      .inner = side_of(program, spec->inner_role),
                      .element = element,
                      .is_short = spec->is_short,
                      .scalar = element == BURN_BF16 ? module->i16 : numbers};
    bd_emit *emit = w.emit = bd_emit_create(module, program, name);
    set_batch(emit);
    for (int p = 0; p < program->phase_count; p++)
        if (program->phases[p].kind == BD_KIR_UNIFORM)
            bd_emit_phase(emit, &program->phases[p]);
    w.outer.first = bd_emit_param(emit, turned ? BD_GEMM_COLUMN : BD_GEMM_ROW);
    w.outer.size = bd_emit_param(emit, turned ? BD_GEMM_COLUMNS : BD_GEMM_ROWS);
    w.inner.first = bd_emit_param(emit, turned ? BD_GEMM_ROW : BD_GEMM_COLUMN);
    w.inner.size = bd_emit_param(emit, turned ? BD_GEMM_ROWS : BD_GEMM_COLUMNS);
    w.memory =
        LLVMBuildIntToPtr(emit->builder, bd_emit_param(emit, BD_GEMM_MEMORY), module->pointer, "");
    w.step = bd_emit_param(emit, BD_GEMM_STEP);
    if (spec->scaled)
        w.factors = LLVMBuildIntToPtr(emit->builder, bd_emit_param(emit, BD_GEMM_FACTORS),
                                      module->pointer, "");
    rows_of_block(&w, w.inner.count ? module->target->vector_bytes / (wide ? 8 : 4) : 1);
    bd_emit_finish(emit);
}
