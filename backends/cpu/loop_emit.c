/* SPDX-License-Identifier: Apache-2.0
 * Emission of LOOP programs; the forms are described in loop_shape.h. Functions:
 *   k          all phases, item by item
 *   n          as k, in the form for short rows
 *   e0, e1 …   one EACH phase over items and chunks (split)
 *   c0, c1 …   combines its partials; the last one also runs the ROW phases with their stores */
#include <stdio.h>
#include <string.h>

#include "backends/cpu/loop.h"
#include "backends/cpu/loop_parts.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

/* Positions of an innermost loop between two flushes of partial sums. */
enum { BLOCK_STEPS = 128 };

typedef struct walk {
    bd_emit *emit;
    const bd_loop_shape *shape;
    bd_emit_loop loop;
    bd_emit_frame frame;
    bool chunked;
    int digit_count;
    LLVMValueRef extents[BD_KIR_AXES_MAX + 2], digits[BD_KIR_AXES_MAX + 2];
    LLVMValueRef item, tile, chunk;
    LLVMValueRef block; /* short rows: positions of the outer axis of two between two flushes */
    LLVMValueRef ahead[BD_LOOP_AHEAD_MAX]; /* the next row, by access of shape->ahead; NULL before
                                              the first phase that asks for some of it */
    int ahead_done, ahead_share;           /* 16ths of it asked for before, and in this phase */
} walk;

static LLVMValueRef smaller(bd_emit *emit, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef less = LLVMBuildICmp(emit->builder, LLVMIntSLT, a, b, "");
    return LLVMBuildSelect(emit->builder, less, a, b, "");
}

static LLVMValueRef outer_serial(walk *w)
{
    return w->shape->serial_count ? w->loop.extents[w->shape->serial[0]] : bd_emit_i64(w->emit, 1);
}

static walk *walk_create(bd_module *module, const bd_kir *program, const bd_loop_shape *shape,
                         const char *name)
{
    walk *w = bd_alloc_zeroed(sizeof *w);
    bd_emit *emit = w->emit = bd_emit_create(module, program, name);
    w->shape = shape;
    w->loop.shape = shape;
    emit->loop = &w->loop;
    for (int axis = 0; axis < program->axis_count; axis++)
        w->loop.extents[axis] = bd_emit_int(emit, program->axes[axis].extent);
    bd_loop_slots_begin(emit);
    for (int p = 0; p < program->phase_count; p++)
        if (program->phases[p].kind == BD_KIR_UNIFORM)
            bd_emit_phase(emit, &program->phases[p]);
    return w;
}

static void walk_finish(walk *w)
{
    bd_emit_finish(w->emit);
    bd_free(w);
}

/* The loop over items: their number is split into digits once, then counted up. */
static void items_begin(walk *w, bool chunked)
{
    bd_emit *emit = w->emit;
    const bd_loop_shape *shape = w->shape;
    LLVMBuilderRef b = emit->builder;
    w->chunked = chunked;
    bool tiled = shape->form != BD_LOOP_ROW && shape->vector_axis >= 0;
    int last = shape->outer_count, tile_at = shape->apart ? last - 1 : last;
    for (int i = 0; i <= last; i++) {
        if (tiled && i == tile_at)
            w->extents[w->digit_count++] = bd_emit_param(emit, BD_LOOP_TILES);
        if (i < last)
            w->extents[w->digit_count++] = w->loop.extents[shape->outer[i]];
    }
    if (chunked)
        w->extents[w->digit_count++] = bd_emit_param(emit, BD_LOOP_CHUNKS);
    LLVMValueRef rest = emit->begin;
    for (int i = w->digit_count - 1; i >= 0; i--) {
        w->digits[i] = i ? LLVMBuildURem(b, rest, w->extents[i], "") : rest;
        rest = i ? LLVMBuildUDiv(b, rest, w->extents[i], "") : rest;
    }
    w->item = bd_emit_for(emit, &w->frame, emit->begin, emit->end, bd_emit_i64(emit, 1));
    for (int i = 0; i < w->digit_count; i++)
        w->digits[i] = bd_emit_carry(emit, &w->frame, w->digits[i]);
    for (int i = 0; i < last; i++)
        emit->positions[shape->outer[i]] = w->digits[tiled && i >= tile_at ? i + 1 : i];
    w->tile = tiled ? w->digits[tile_at] : NULL;
    w->chunk = chunked ? w->digits[w->digit_count - 1] : NULL;
}

static void items_end(walk *w)
{
    bd_emit *emit = w->emit;
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef carry = bd_emit_i64(emit, 1);
    for (int i = w->digit_count - 1; i >= 0; i--) {
        LLVMValueRef next = LLVMBuildAdd(b, w->digits[i], carry, "");
        if (i > 0) {
            LLVMValueRef full = LLVMBuildICmp(b, LLVMIntEQ, next, w->extents[i], "");
            next = LLVMBuildSelect(b, full, bd_emit_i64(emit, 0), next, "");
            carry = LLVMBuildZExt(b, full, emit->module->i64, "");
        }
        bd_emit_carried(&w->frame, (unsigned)i, next);
    }
    bd_emit_for_end(emit, &w->frame);
}

/* While later phases work on a row that the first one brought into the cache, the next row is on
 * its way: hardware prefetches up to the end of a page only. Each phase asks for a share of it, and
 * of the memory that the last one writes, unless that bypasses the cache. */
static void look_ahead(walk *w, int phase)
{
    enum { ELEMENTS_MAX = 1 << 16 }; /* of a row that stays in the cache */
    bd_emit *emit = w->emit;
    const bd_loop_shape *shape = w->shape;
    w->ahead_done += w->ahead_share;
    w->ahead_share = shape->ahead_share[phase];
    if (w->ahead_share == 0 || w->ahead[0])
        return;
    int row = shape->outer[shape->outer_count - 1];
    LLVMValueRef short_row = LLVMBuildICmp(emit->builder, LLVMIntSLE, outer_serial(w),
                                           bd_emit_i64(emit, ELEMENTS_MAX), "");
    LLVMValueRef bypass =
        bd_emit_call_field(emit, offsetof(bd_call, nontemporal), emit->module->i64);
    LLVMValueRef kept = LLVMBuildICmp(emit->builder, LLVMIntEQ, bypass, bd_emit_i64(emit, 0), "");
    kept = LLVMBuildAnd(emit->builder, kept, short_row, "");
    for (int i = 0; i < shape->ahead_count; i++) {
        const bd_kir_access *access = &emit->program->accesses[shape->ahead[i]];
        LLVMValueRef place = bd_emit_address(emit, shape->ahead[i]);
        if (i >= shape->ahead_stores) {
            w->ahead[i] = LLVMBuildSelect(emit->builder, kept, place, w->ahead[0], "");
            continue;
        }
        LLVMValueRef next = bd_emit_int(emit, access->strides[row]);
        next = LLVMBuildSelect(emit->builder, short_row, next, bd_emit_i64(emit, 0), "");
        LLVMTypeRef type = bd_emit_storage(emit, emit->program->buffers[access->buffer].dtype);
        w->ahead[i] = bd_part_offset(emit, place, type, next);
    }
}

static void prefetch_ahead(walk *w)
{
    bd_emit *emit = w->emit;
    LLVMBuilderRef b = emit->builder;
    LLVMValueRef done = bd_emit_i64(emit, w->ahead_done), share = bd_emit_i64(emit, w->ahead_share);
    LLVMValueRef at = LLVMBuildMul(b, emit->positions[w->shape->vector_axis], share, "");
    at = LLVMBuildAdd(b, LLVMBuildMul(b, outer_serial(w), done, ""), at, "");
    at = LLVMBuildLShr(b, at, bd_emit_i64(emit, 4), "");
    for (int i = 0; i < w->shape->ahead_count; i++) {
        const bd_kir_access *access = &emit->program->accesses[w->shape->ahead[i]];
        burn_dtype dtype = (burn_dtype)emit->program->buffers[access->buffer].dtype;
        size_t bytes = emit->lanes * burn_dtype_size(dtype) * (size_t)w->ahead_share / 16;
        bd_part_prefetch(emit, w->ahead[i], dtype, at, bytes);
    }
}

/* One loop over [first, last) of the vector axis; remaining != NULL: masked by it. */
static LLVMValueRef one_vector_loop(walk *w, const bd_kir_phase *phase, LLVMValueRef first,
                                    LLVMValueRef last, bool masked)
{
    bd_emit *emit = w->emit;
    int axis = w->shape->vector_axis;
    bd_emit_frame frame;
    LLVMValueRef step = bd_emit_i64(emit, emit->lanes), stop = last;
    if (!masked && emit->lanes > 1) {
        LLVMValueRef count = LLVMBuildSub(emit->builder, last, first, "");
        count = LLVMBuildAnd(emit->builder, count, bd_emit_i64(emit, -(int64_t)emit->lanes), "");
        stop = LLVMBuildAdd(emit->builder, first, count, "");
    }
    LLVMValueRef index = bd_emit_for(emit, &frame, first, stop, step);
    bd_loop_reductions_carry(emit, &frame);
    emit->positions[axis] = index;
    if (masked)
        bd_emit_set_tail(emit, LLVMBuildSub(emit->builder, last, index, ""));
    bd_emit_phase(emit, phase);
    bd_emit_clear_tail(emit);
    if (w->ahead_share > 0 && !w->loop.rest)
        prefetch_ahead(w);
    bd_loop_reductions_carried(emit, &frame);
    bd_emit_for_end(emit, &frame);
    bd_loop_reductions_after(emit, &frame);
    return stop;
}

static void vector_loop(walk *w, const bd_kir_phase *phase, LLVMValueRef first, LLVMValueRef last)
{
    bd_emit *emit = w->emit;
    unsigned lanes = emit->lanes;
    bd_loop_reductions_clear(emit);
    if (lanes > 1 && bd_loop_is_single(w->shape, emit->program, phase)) {
        one_vector_loop(w, phase, first, last, true);
    } else if (lanes > 1) {
        LLVMValueRef rest = one_vector_loop(w, phase, first, last, false);
        if (emit->module->target->masked) {
            w->loop.rest = true;
            one_vector_loop(w, phase, rest, last, true);
            w->loop.rest = false;
        } else {
            bd_loop_reductions_flush(emit);
            bd_emit_lanes(emit, w->shape->vector_axis, 1);
            bd_loop_reductions_clear(emit);
            one_vector_loop(w, phase, rest, last, false);
            bd_loop_reductions_flush(emit);
            bd_emit_lanes(emit, w->shape->vector_axis, lanes);
            return;
        }
    } else {
        one_vector_loop(w, phase, first, last, false);
    }
    bd_loop_reductions_flush(emit);
}

static void column_steps(walk *w, const bd_kir_phase *phase, int axis, LLVMValueRef first,
                         LLVMValueRef last)
{
    bd_emit *emit = w->emit;
    bd_emit_frame frame;
    bd_loop_reductions_clear(emit);
    emit->positions[axis] = bd_emit_for(emit, &frame, first, last, bd_emit_i64(emit, 1));
    bd_loop_reductions_carry(emit, &frame);
    bd_emit_phase(emit, phase);
    bd_loop_reductions_carried(emit, &frame);
    bd_emit_for_end(emit, &frame);
    bd_loop_reductions_after(emit, &frame);
    bd_loop_reductions_flush(emit);
}

static void innermost(walk *w, const bd_kir_phase *phase, int axis, LLVMValueRef first,
                      LLVMValueRef last)
{
    bd_emit *emit = w->emit;
    bool row = w->shape->form == BD_LOOP_ROW;
    bd_emit_frame blocks;
    if (!row && (w->shape->brief || w->loop.reduction_count == 0)) {
        column_steps(w, phase, axis, first, last);
        return;
    }
    if (row && w->loop.reduction_count == 0) {
        vector_loop(w, phase, first, last);
        return;
    }
    LLVMValueRef step = bd_emit_i64(emit, BLOCK_STEPS * (row ? (int64_t)emit->lanes : 1));
    LLVMValueRef block = bd_emit_for(emit, &blocks, first, last, step);
    LLVMValueRef stop = smaller(emit, LLVMBuildAdd(emit->builder, block, step, ""), last);
    if (row)
        vector_loop(w, phase, block, stop);
    else
        column_steps(w, phase, axis, block, stop);
    bd_emit_for_end(emit, &blocks);
}

/* The last two SERIAL axes of short rows, the one that runs inside first. */
static void last_axes(const bd_loop_shape *shape, int out[2])
{
    for (int i = 0; i < 2; i++)
        out[i] = shape->serial[shape->serial_count - 1 - (shape->crossed ? 1 - i : i)];
}

static bool has_short_rows(const bd_loop_shape *shape)
{
    return shape->narrow && shape->serial_count > 1;
}

/* Blocks of about BLOCK_STEPS positions of both axes. */
static void find_block(walk *w)
{
    int axes[2];
    last_axes(w->shape, axes);
    LLVMBuilderRef b = w->emit->builder;
    LLVMValueRef one = bd_emit_i64(w->emit, 1), row = w->loop.extents[axes[0]];
    LLVMValueRef empty = LLVMBuildICmp(b, LLVMIntSLT, row, one, "");
    row = LLVMBuildSelect(b, empty, one, row, "");
    w->block = LLVMBuildUDiv(b, bd_emit_i64(w->emit, BLOCK_STEPS), row, "");
    w->block = LLVMBuildAdd(b, w->block, one, "");
}

/* The last two SERIAL axes of short rows: reductions stay in registers over blocks of both. */
static void short_rows(walk *w, const bd_kir_phase *phase)
{
    bd_emit *emit = w->emit;
    LLVMBuilderRef b = emit->builder;
    int axes[2];
    last_axes(w->shape, axes);
    int inner = axes[0], outer = axes[1];
    LLVMValueRef zero = bd_emit_i64(emit, 0), one = bd_emit_i64(emit, 1);
    LLVMValueRef rows = w->loop.extents[outer], row = w->loop.extents[inner];
    bd_emit_frame blocks, outside, inside;
    bd_emit_branch branch;
    bd_emit_if(emit, &branch, LLVMBuildICmp(b, LLVMIntSGT, row, zero, ""));
    LLVMValueRef block = bd_emit_for(emit, &blocks, zero, rows, w->block);
    LLVMValueRef stop = smaller(emit, LLVMBuildAdd(b, block, w->block, ""), rows);
    bd_loop_reductions_clear(emit);
    emit->positions[outer] = bd_emit_for(emit, &outside, block, stop, one);
    bd_loop_reductions_carry(emit, &outside);
    bd_emit_hoist(emit, phase, 1u << inner);
    emit->positions[inner] = bd_emit_for(emit, &inside, zero, row, one);
    bd_loop_reductions_carry(emit, &inside);
    bd_emit_phase(emit, phase);
    bd_loop_reductions_carried(emit, &inside);
    bd_emit_for_end(emit, &inside);
    bd_loop_reductions_after(emit, &inside);
    bd_loop_reductions_carried(emit, &outside);
    bd_emit_for_end(emit, &outside);
    bd_loop_reductions_after(emit, &outside);
    bd_loop_reductions_flush(emit);
    bd_emit_for_end(emit, &blocks);
    bd_emit_end_if(emit, &branch);
}

/* Loops over the SERIAL axes; [first, last) bounds the outermost. */
static void nest(walk *w, const bd_kir_phase *phase, LLVMValueRef first, LLVMValueRef last)
{
    bd_emit *emit = w->emit;
    const bd_loop_shape *shape = w->shape;
    bd_emit_branch branches[BD_KIR_AXES_MAX];
    bd_emit_frame frames[BD_KIR_AXES_MAX];
    int count = shape->serial_count, top = count - (has_short_rows(shape) ? 2 : 1);
    for (int level = 0; level <= top; level++) {
        int axis = shape->serial[level];
        unsigned inner = 0;
        for (int i = level; i < count; i++)
            inner |= 1u << shape->serial[i];
        if (level > 0) {
            first = bd_emit_i64(emit, 0);
            last = w->loop.extents[axis];
        }
        bd_emit_if(emit, &branches[level],
                   LLVMBuildICmp(emit->builder, LLVMIntSLT, first, last, ""));
        bd_emit_hoist(emit, phase, inner);
        if (level < top)
            emit->positions[axis] =
                bd_emit_for(emit, &frames[level], first, last, bd_emit_i64(emit, 1));
        else if (top < count - 1)
            short_rows(w, phase);
        else
            innermost(w, phase, axis, first, last);
    }
    for (int level = top; level >= 0; level--) {
        if (level < top)
            bd_emit_for_end(emit, &frames[level]);
        bd_emit_end_if(emit, &branches[level]);
    }
    bd_emit_unhoist(emit);
}

/* Most rows of windows lie inside: these test no guard that is alike for all lanes. */
static void nest_of_rows(walk *w, const bd_kir_phase *phase, LLVMValueRef first, LLVMValueRef last)
{
    bd_emit *emit = w->emit;
    LLVMValueRef inside = has_short_rows(w->shape) ? bd_loop_inside(w->emit, phase) : NULL;
    if (!inside) {
        nest(w, phase, first, last);
        return;
    }
    LLVMBasicBlockRef within = bd_part_block(emit), at_edge = bd_part_block(emit);
    LLVMBasicBlockRef after = bd_part_block(emit);
    LLVMBuildCondBr(emit->builder, inside, within, at_edge);
    for (int i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(emit->builder, i ? at_edge : within);
        emit->inside = i == 0;
        nest(w, phase, first, last);
        LLVMBuildBr(emit->builder, after);
    }
    LLVMPositionBuilderAtEnd(emit->builder, after);
}

static void each_phase(walk *w, int p, LLVMValueRef first, LLVMValueRef last)
{
    bd_emit *emit = w->emit;
    const bd_loop_shape *shape = w->shape;
    const bd_kir_phase *phase = &emit->program->phases[p];
    w->loop.cold =
        shape->form == BD_LOOP_ROW && p == shape->each[0] && shape->ahead_count == 0;
    if (shape->form == BD_LOOP_ROW)
        bd_emit_lanes(emit, shape->vector_axis, shape->lanes);
    bd_loop_reductions_begin(emit, p);
    bd_loop_scans_begin(emit, phase);
    if (shape->serial_count > 0) {
        nest_of_rows(w, phase, first, last);
    } else {
        bd_loop_reductions_clear(emit);
        bd_emit_phase(emit, phase);
        bd_loop_reductions_flush(emit);
    }
    for (int i = 0; i < shape->serial_count; i++)
        emit->positions[shape->serial[i]] = bd_emit_i64(emit, 0);
    bd_loop_reductions_end(emit);
    w->loop.reduction_count = 0;
    if (shape->form == BD_LOOP_ROW)
        bd_emit_lanes(emit, -1, 1);
}

/* All ROW phases of a map as one; they stand one behind the other. */
static bd_kir_phase map_phase(const bd_kir *program)
{
    bd_kir_phase all = {BD_KIR_ROW, 0, 0};
    bool found = false;
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        if (phase->kind != BD_KIR_ROW)
            continue;
        if (!found)
            all.first = phase->first;
        found = true;
        all.count = (uint16_t)(phase->first + phase->count - all.first);
    }
    return all;
}

static void map_item(walk *w)
{
    bd_emit *emit = w->emit;
    bd_kir_phase phase = map_phase(emit->program);
    int axis = w->shape->vector_axis;
    if (axis < 0) {
        bd_emit_phase(emit, &phase);
        return;
    }
    LLVMValueRef tile = bd_emit_param(emit, BD_LOOP_TILE);
    LLVMValueRef first = LLVMBuildMul(emit->builder, w->tile, tile, "");
    LLVMValueRef last =
        smaller(emit, LLVMBuildAdd(emit->builder, first, tile, ""), w->loop.extents[axis]);
    emit->positions[axis] = first;
    w->loop.cold = true;
    bd_emit_lanes(emit, axis, w->shape->lanes);
    bd_emit_hoist(emit, &phase, 1u << axis);
    vector_loop(w, &phase, first, last);
    bd_emit_unhoist(emit);
    bd_emit_lanes(emit, -1, 1);
}

/* Sets the lanes of a column item: the rows that exist of its `lanes`. */
static void column_begin(walk *w)
{
    bd_emit *emit = w->emit;
    int axis = w->shape->vector_axis;
    if (w->shape->form != BD_LOOP_COLUMN)
        return;
    LLVMValueRef first =
        LLVMBuildMul(emit->builder, w->tile, bd_emit_i64(emit, w->shape->lanes), "");
    emit->positions[axis] = first;
    bd_emit_lanes(emit, axis, w->shape->lanes);
    bd_emit_set_tail(emit, LLVMBuildSub(emit->builder, w->loop.extents[axis], first, ""));
}

static void column_end(walk *w)
{
    bd_emit_clear_tail(w->emit);
    bd_emit_lanes(w->emit, -1, 1);
}

static void row_phase(bd_emit *emit, const bd_kir_phase *phase, bool with_effects)
{
    for (int i = phase->first; i < phase->first + phase->count; i++)
        if (with_effects || !bd_part_is_effect(emit->program->instrs[i].code))
            bd_emit_instr(emit, i);
}

static void emit_whole(bd_module *module, const bd_kir *program, const bd_loop_shape *shape,
                       const char *name)
{
    walk *w = walk_create(module, program, shape, name);
    if (has_short_rows(shape))
        find_block(w);
    items_begin(w, false);
    if (shape->form == BD_LOOP_MAP) {
        map_item(w);
    } else {
        column_begin(w);
        for (int p = 0; p < program->phase_count; p++) {
            look_ahead(w, p);
            if (program->phases[p].kind == BD_KIR_EACH)
                each_phase(w, p, bd_emit_i64(w->emit, 0), outer_serial(w));
            else if (program->phases[p].kind == BD_KIR_ROW)
                row_phase(w->emit, &program->phases[p], true);
        }
        column_end(w);
    }
    items_end(w);
    walk_finish(w);
}

/* Slots of a split lie in shared scratch, one row an item. */
static void shared_slots(walk *w, LLVMValueRef item)
{
    bd_emit *emit = w->emit;
    if (emit->program->slot_count == 0)
        return;
    LLVMValueRef base =
        bd_emit_call_field(emit, offsetof(bd_call, shared_scratch), emit->module->pointer);
    LLVMValueRef offset = LLVMBuildMul(emit->builder, item, w->loop.slot_bytes, "");
    w->loop.slot_base = bd_part_offset(emit, base, emit->module->i8, offset);
}

static void emit_each(bd_module *module, const bd_kir *program, const bd_loop_shape *shape,
                      int number)
{
    char name[16];
    snprintf(name, sizeof name, "e%d", number);
    walk *w = walk_create(module, program, shape, name);
    bd_emit *emit = w->emit;
    LLVMBuilderRef b = emit->builder;
    items_begin(w, true);
    LLVMValueRef item = LLVMBuildUDiv(b, w->item, bd_emit_param(emit, BD_LOOP_CHUNKS), "");
    shared_slots(w, item);
    column_begin(w);
    for (int p = 0; p < shape->each[number]; p++) {
        if (program->phases[p].kind == BD_KIR_EACH)
            bd_loop_finals_load(emit, p, item);
        else if (program->phases[p].kind == BD_KIR_ROW)
            row_phase(emit, &program->phases[p], false);
    }
    LLVMValueRef size = bd_emit_param(emit, BD_LOOP_SERIAL);
    LLVMValueRef first = LLVMBuildMul(b, w->chunk, size, "");
    LLVMValueRef last = smaller(emit, LLVMBuildAdd(b, first, size, ""), outer_serial(w));
    each_phase(w, shape->each[number], first, last);
    w->loop.reduction_count = 0;
    for (int i = 0; i < shape->reduction_count; i++)
        w->loop.reduction_count += shape->reduction_phase[i] == shape->each[number];
    bd_loop_partials_store(emit, shape->each[number], w->item);
    column_end(w);
    items_end(w);
    walk_finish(w);
}

static void emit_combine(bd_module *module, const bd_kir *program, const bd_loop_shape *shape,
                         int number)
{
    char name[16];
    snprintf(name, sizeof name, "c%d", number);
    walk *w = walk_create(module, program, shape, name);
    bd_emit *emit = w->emit;
    bool last = number == shape->each_count - 1;
    items_begin(w, false);
    shared_slots(w, w->item);
    column_begin(w);
    LLVMValueRef chunks = bd_emit_param(emit, BD_LOOP_CHUNKS);
    LLVMValueRef first = LLVMBuildMul(emit->builder, w->item, chunks, "");
    for (int p = 0; p < program->phase_count; p++) {
        bool is_each = program->phases[p].kind == BD_KIR_EACH;
        if (p == shape->each[number]) {
            bd_loop_partials_combine(emit, p, first, chunks);
            bd_loop_finals_store(emit, p, w->item);
        } else if (is_each && last) {
            bd_loop_finals_load(emit, p, w->item);
        } else if (program->phases[p].kind == BD_KIR_ROW && last) {
            row_phase(emit, &program->phases[p], true);
        }
    }
    column_end(w);
    items_end(w);
    walk_finish(w);
}

bd_error *bd_loop_emit_long(bd_module *module, const bd_kir *program)
{
    bd_loop_shape shape;
    BD_TRY(bd_loop_shape_of(module->target, program, &shape));
    shape.stream_bytes = 0;
    memset(shape.ahead_share, 0, sizeof shape.ahead_share);
    emit_whole(module, program, &shape, "k");
    return NULL;
}

bd_error *bd_loop_emit(bd_module *module, const bd_kir *program)
{
    bd_loop_shape shape, narrow;
    BD_TRY(bd_loop_shape_of(module->target, program, &shape));
    emit_whole(module, program, &shape, "k");
    if (bd_loop_narrow_shape_of(program, &shape, &narrow))
        emit_whole(module, program, &narrow, "n");
    for (int i = 0; i < shape.each_count && shape.may_split; i++) {
        emit_each(module, program, &shape, i);
        emit_combine(module, program, &shape, i);
    }
    return NULL;
}

bd_error *bd_loop_emit_short(bd_module *module, const bd_kir *program)
{
    bd_loop_shape shape, wide;
    BD_TRY(bd_loop_short_shape_of(module->target, program, BD_LOOP_SHORT_UNROLL, &shape));
    BD_TRY(bd_loop_short_shape_of(module->target, program, 2 * BD_LOOP_SHORT_UNROLL, &wide));
    emit_whole(module, program, &wide, "k");
    emit_whole(module, program, &shape, "n");
    return NULL;
}
