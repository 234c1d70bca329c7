/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/loop_shape.h"

#include <string.h>

#include "backends/cpu/emit_parts.h"

size_t bd_loop_value_bytes(burn_dtype dtype)
{
    return dtype == BURN_F16 || dtype == BURN_BF16 ? 4 : burn_dtype_size(dtype);
}

int bd_loop_reduction_parts(int code)
{
    return code == BD_KIR_REDUCE_ARGMAX || code == BD_KIR_REDUCE_ARGMIN ? 2 : 1;
}

/* Rough cost of an instruction in vector operations. */
static int weight_of(const bd_kir_instr *instr)
{
    bool wide = instr->dtype == BURN_F64;
    switch ((int)instr->code) {
    case BD_KIR_CONST:
    case BD_KIR_SCALAR:
    case BD_KIR_INTEGER:
        return 0;
    case BD_KIR_EXP:
    case BD_KIR_EXP2:
    case BD_KIR_SIGMOID:
    case BD_KIR_TANH:
    case BD_KIR_LOG:
    case BD_KIR_LOG2:
    case BD_KIR_LOG10:
        return wide ? 80 : 14;
    case BD_KIR_ERF:
    case BD_KIR_ERFC:
    case BD_KIR_SIN:
    case BD_KIR_COS:
    case BD_KIR_TAN:
    case BD_KIR_RANDOM_BITS:
    case BD_KIR_RANDOM_UNIFORM:
        return wide ? 80 : 40;
    case BD_KIR_EXPM1:
    case BD_KIR_LOG1P:
    case BD_KIR_ASIN:
    case BD_KIR_ACOS:
    case BD_KIR_ATAN:
    case BD_KIR_SINH:
    case BD_KIR_COSH:
    case BD_KIR_ASINH:
    case BD_KIR_ACOSH:
    case BD_KIR_ATANH:
    case BD_KIR_POW:
    case BD_KIR_ATAN2:
        return wide ? 80 : 40;
    case BD_KIR_SORT:
    case BD_KIR_SCAN_LOGSUM:
    case BD_KIR_LGAMMA:
    case BD_KIR_DIGAMMA:
    case BD_KIR_FLOORDIV:
    case BD_KIR_MOD:
    case BD_KIR_FMOD:
    case BD_KIR_NEXTAFTER:
        return 80;
    case BD_KIR_DIV:
    case BD_KIR_RECIP:
    case BD_KIR_SQRT:
    case BD_KIR_RSQRT:
        return burn_dtype_is_float((burn_dtype)instr->dtype) ? 5 : 40;
    default:
        return wide ? 2 : 1;
    }
}

static int phase_weight(const bd_kir *program, const bd_kir_phase *phase)
{
    int weight = 0;
    for (int i = phase->first; i < phase->first + phase->count; i++)
        weight += weight_of(&program->instrs[i]);
    return weight;
}

bool bd_loop_is_single(const bd_loop_shape *shape, const bd_kir *program, const bd_kir_phase *phase)
{
    /* Maps wait for memory anyway; phases of rows find their operands in the cache. */
    int most = shape->form == BD_LOOP_MAP ? 4 : 24;
    return shape->masked && phase_weight(program, phase) > most;
}

/* Whether vectors of f64 occur: UNIFORM phases have scalars only. */
static bool has_f64_vectors(const bd_kir *program)
{
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        for (int i = phase->first; i < phase->first + phase->count; i++)
            if (phase->kind != BD_KIR_UNIFORM && program->instrs[i].dtype == BURN_F64)
                return true;
    }
    return false;
}

/* How well accesses run with the lanes along an axis: unit strides are best, gathers poor. */
static int score(const bd_kir *program, int axis, bool each_only)
{
    int total = 0;
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        if (phase->kind == BD_KIR_UNIFORM || (each_only && phase->kind != BD_KIR_EACH))
            continue;
        for (int i = phase->first; i < phase->first + phase->count; i++) {
            const bd_kir_instr *instr = &program->instrs[i];
            if (!bd_part_has_access(instr->code))
                continue;
            bd_kir_int stride = program->accesses[instr->index].strides[axis];
            bool store = instr->code == BD_KIR_STORE || instr->code == BD_KIR_STORE_AT;
            if (bd_kir_int_is(stride, 1))
                total += store ? 6 : 4;
            else if (bd_kir_int_is(stride, 0))
                total += store ? -8 : 1;
            else
                total -= store ? 8 : 4;
        }
    }
    return total;
}

static bool guard_varies(const bd_kir *program, int guard, int axis)
{
    for (; guard >= 0; guard = program->guards[guard].also - 1)
        if (!bd_kir_int_is(program->guards[guard].strides[axis], 0))
            return true;
    return false;
}

/* Whether a value may differ from lane to lane along an axis, if those before it do as `varying`
 * says. */
static bool varies(const bd_kir *program, const bd_kir_instr *instr, int axis, const bool *varying)
{
    for (int k = 0; k < 3; k++)
        if (instr->operands[k] > 0 && varying[instr->operands[k] - 1])
            return true;
    switch ((int)instr->code) {
    case BD_KIR_CONST:
    case BD_KIR_SCALAR:
    case BD_KIR_INTEGER:
        return false;
    case BD_KIR_INDEX:
        return instr->index == axis;
    case BD_KIR_GUARD:
        return guard_varies(program, instr->index, axis);
    case BD_KIR_LOAD:
    case BD_KIR_LOAD_AT:
        return !bd_kir_int_is(program->accesses[instr->index].strides[axis], 0) ||
               guard_varies(program, instr->guard, axis);
    default:
        return bd_kir_operand_count((bd_kir_code)instr->code) == 0;
    }
}

/* Whether lanes along the axis touch elements that do not lie side by side. */
static bool has_gather(const bd_kir *program, int axis)
{
    bd_arena arena;
    bd_arena_init(&arena);
    bool *varying = BD_ARENA_ARRAY(&arena, bool, program->instr_count + 1), found = false;
    for (int i = 0; i < program->instr_count && !found; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        varying[i] = axis < 0 || varies(program, instr, axis, varying);
        if (!bd_part_has_access(instr->code))
            continue;
        if (instr->code == BD_KIR_LOAD_AT || instr->code == BD_KIR_STORE_AT)
            found |= varying[instr->operands[instr->code == BD_KIR_STORE_AT] - 1];
        if (axis < 0)
            continue;
        bd_kir_int stride = program->accesses[instr->index].strides[axis];
        found |= !bd_kir_int_is(stride, 0) && !bd_kir_int_is(stride, 1);
    }
    bd_arena_deinit(&arena);
    return found;
}

/* The PARALLEL axis along which lanes run best; -1 if there is none. */
static int best_parallel(const bd_kir *program, bool each_only, int *out_score)
{
    int best = -1;
    for (int axis = 0; axis < program->axis_count; axis++) {
        if (program->axes[axis].role == BD_KIR_SERIAL)
            continue;
        int value = score(program, axis, each_only);
        if (best < 0 || value >= *out_score) {
            best = axis;
            *out_score = value;
        }
    }
    return best;
}

static void choose_axis(const bd_kir *program, bd_loop_shape *shape)
{
    int best_score = 0, last_serial = -1;
    int best = best_parallel(program, shape->each_count > 0, &best_score);
    for (int axis = 0; axis < program->axis_count; axis++)
        if (program->axes[axis].role == BD_KIR_SERIAL)
            last_serial = axis;
    shape->form = shape->each_count == 0 ? BD_LOOP_MAP : BD_LOOP_COLUMN;
    shape->vector_axis = best;
    if (shape->each_count == 0)
        return;
    if (last_serial >= 0 &&
        (best < 0 || shape->sorts || score(program, last_serial, true) >= best_score)) {
        shape->form = BD_LOOP_ROW;
        shape->vector_axis = last_serial;
    } else if (best < 0 || shape->sorts) {
        shape->form = BD_LOOP_ROW;
        shape->vector_axis = -1;
    }
}

/* Positions are twice as wide as most values: so many registers of them are few enough. */
static unsigned with_positions(const bd_kir *program, const bd_loop_shape *shape)
{
    enum { MOST = 2 };
    bool found = false;
    for (int i = 0; i < shape->reduction_count; i++)
        found |= bd_loop_reduction_parts(program->instrs[shape->reductions[i]].code) == 2;
    return found && shape->unroll > MOST ? MOST : shape->unroll;
}

static void choose_lanes(const bd_target *target, const bd_kir *program, bd_loop_shape *shape,
                         int weight)
{
    unsigned lanes = target->vector_bytes / (has_f64_vectors(program) ? 8 : 4);
    shape->unroll = 1;
    bool lanes_depend = shape->scan_count > 0 && shape->form == BD_LOOP_ROW;
    if (!has_gather(program, shape->vector_axis) && !lanes_depend) {
        if (shape->form == BD_LOOP_MAP)
            shape->unroll = weight <= 6 ? 2 : 1;
        else
            shape->unroll = weight <= 16 && shape->reduction_count <= 4    ? 4
                            : weight <= 40 && shape->reduction_count <= 10 ? 2
                                                                           : 1;
    }
    shape->unroll = with_positions(program, shape);
    shape->lanes = shape->vector_axis < 0 ? 1 : lanes * shape->unroll;
    shape->masked = target->masked;
    size_t widest = 1;
    for (int i = 0; i < program->buffer_count; i++)
        if (burn_dtype_size(program->buffers[i].dtype) > widest)
            widest = burn_dtype_size(program->buffers[i].dtype);
    shape->tile = (int)(BD_LOOP_TILE_BYTES / widest);
}

static void sort_axes(const bd_kir *program, bd_loop_shape *shape)
{
    shape->serial_count = shape->outer_count = 0;
    for (int axis = 0; axis < program->axis_count; axis++) {
        if (program->axes[axis].role == BD_KIR_SERIAL)
            shape->serial[shape->serial_count++] = axis;
        else if (axis != shape->vector_axis)
            shape->outer[shape->outer_count++] = axis;
    }
}

/* The number of the outer axis along which an access goes on whose lanes lie apart; -1: none. */
static int goes_on_along(const bd_kir *program, const bd_loop_shape *shape, int access)
{
    const bd_kir_int *strides = program->accesses[access].strides;
    bd_kir_int lanes = strides[shape->vector_axis];
    int found = -1;
    for (int i = 0; i < shape->outer_count; i++)
        if (bd_kir_int_is(strides[shape->outer[i]], 1))
            found = i;
    return bd_kir_int_is(lanes, 0) || bd_kir_int_is(lanes, 1) ? -1 : found;
}

/* Lanes that lie apart have a cache line each, which is used up before it goes. */
static void choose_tile(const bd_kir *program, bd_loop_shape *shape)
{
    if (shape->form != BD_LOOP_MAP || shape->vector_axis < 0)
        return;
    for (int i = 0; i < program->access_count && !shape->apart; i++) {
        int number = goes_on_along(program, shape, i);
        if (number < 0)
            continue;
        int axis = shape->outer[number];
        for (int k = number; k + 1 < shape->outer_count; k++)
            shape->outer[k] = shape->outer[k + 1];
        shape->outer[shape->outer_count - 1] = axis;
        shape->apart = true;
        shape->tile = BD_LOOP_APART_TILE;
    }
}

/* Vector operations of an access beside its instruction. */
static int access_weight(const bd_kir *program, const bd_loop_shape *shape,
                         const bd_kir_instr *instr)
{
    enum { APART = 16, FROM_HALF = 2, TO_HALF = 8 };
    const bd_kir_access *access = &program->accesses[instr->index];
    bool loads = instr->code == BD_KIR_LOAD || instr->code == BD_KIR_LOAD_AT;
    int weight = 0;
    if (burn_dtype_size((burn_dtype)program->buffers[access->buffer].dtype) == 2)
        weight += loads ? FROM_HALF : TO_HALF;
    if (shape->vector_axis < 0)
        return weight;
    bd_kir_int stride = access->strides[shape->vector_axis];
    bool beside = bd_kir_int_is(stride, 0) || bd_kir_int_is(stride, 1);
    return weight + (beside ? 0 : APART);
}

/* Whether most elements of an access are touched once. */
static bool is_spread(const bd_loop_shape *shape, const bd_kir_access *access)
{
    int row = shape->outer_count ? shape->outer[shape->outer_count - 1] : -1;
    bool along = shape->vector_axis < 0 || !bd_kir_int_is(access->strides[shape->vector_axis], 0);
    return along && (row < 0 || !bd_kir_int_is(access->strides[row], 0));
}

/* What an element takes, of those phases that look at each. */
static void estimate(const bd_kir *program, bd_loop_shape *shape)
{
    bool seen[BD_KIR_BUFFERS_MAX] = {false};
    double weight = 0, lanes = (double)shape->lanes / shape->unroll;
    shape->cached_bytes = shape->memory_bytes = 0;
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        if (phase->kind != (shape->form == BD_LOOP_MAP ? BD_KIR_ROW : BD_KIR_EACH))
            continue;
        weight += phase_weight(program, phase);
        for (int i = phase->first; i < phase->first + phase->count; i++) {
            const bd_kir_instr *instr = &program->instrs[i];
            if (!bd_part_has_access(instr->code))
                continue;
            const bd_kir_access *access = &program->accesses[instr->index];
            int bytes = (int)burn_dtype_size((burn_dtype)program->buffers[access->buffer].dtype);
            weight += access_weight(program, shape, instr);
            shape->cached_bytes += bytes;
            if (!seen[access->buffer] && is_spread(shape, access))
                shape->memory_bytes += bytes;
            seen[access->buffer] = true;
        }
    }
    shape->work_ns = 0.25 * weight / lanes;
}

/* What a phase reads, or writes, of a row side by side. */
static void add_ahead(const bd_kir *program, bd_loop_shape *shape, int phase, bd_kir_code code)
{
    const bd_kir_phase *at = &program->phases[phase];
    int row = shape->outer[shape->outer_count - 1];
    for (int i = at->first; i < at->first + at->count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        if (instr->code != code || instr->guard >= 0)
            continue;
        const bd_kir_int *strides = program->accesses[instr->index].strides;
        if (bd_kir_int_is(strides[shape->vector_axis], 1) && !bd_kir_int_is(strides[row], 0) &&
            shape->ahead_count < BD_LOOP_AHEAD_MAX)
            shape->ahead[shape->ahead_count++] = instr->index;
    }
}

/* What the first EACH phase reads, and the last one writes; those behind the first take turns of
 * their weight. */
static void choose_ahead(const bd_kir *program, bd_loop_shape *shape)
{
    if (shape->form != BD_LOOP_ROW || shape->vector_axis < 0 || shape->outer_count == 0 ||
        shape->each_count < 2 || shape->serial_count != 1)
        return;
    int total = 0, done = 0;
    add_ahead(program, shape, shape->each[0], BD_KIR_LOAD);
    shape->ahead_stores = shape->ahead_count;
    if (shape->ahead_count > 0)
        add_ahead(program, shape, shape->each[shape->each_count - 1], BD_KIR_STORE);
    for (int i = 1; i < shape->each_count && shape->ahead_count > 0; i++)
        total += phase_weight(program, &program->phases[shape->each[i]]);
    for (int i = 1, weight = 0; i < shape->each_count && total > 0; i++) {
        weight += phase_weight(program, &program->phases[shape->each[i]]);
        shape->ahead_share[shape->each[i]] = 16 * weight / total - done;
        done = 16 * weight / total;
    }
}

static bool is_read(const bd_kir *program, int buffer)
{
    for (int i = 0; i < program->instr_count; i++) {
        const bd_kir_instr *instr = &program->instrs[i];
        bool loads = instr->code == BD_KIR_LOAD || instr->code == BD_KIR_LOAD_AT;
        if (loads && program->accesses[instr->index].buffer == buffer)
            return true;
    }
    return false;
}

/* Outputs that are written once, side by side, at every position of all axes. */
static void choose_streams(const bd_kir *program, bd_loop_shape *shape)
{
    enum { STREAMS_MAX = 2 };
    int count = 0;
    size_t widest = 0;
    bool row = shape->form == BD_LOOP_ROW;
    if (shape->form == BD_LOOP_COLUMN || shape->vector_axis < 0)
        return;
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        if (phase->kind != (row ? BD_KIR_EACH : BD_KIR_ROW))
            continue;
        for (int i = phase->first; i < phase->first + phase->count; i++) {
            const bd_kir_instr *instr = &program->instrs[i];
            if (!bd_loop_streams(program, instr, shape->vector_axis))
                continue;
            int buffer = program->accesses[instr->index].buffer;
            size_t bytes = burn_dtype_size((burn_dtype)program->buffers[buffer].dtype);
            widest = bytes > widest ? bytes : widest;
            count += is_read(program, buffer) ? STREAMS_MAX + 1 : 1;
        }
    }
    shape->stream_bytes = count <= STREAMS_MAX ? widest : 0;
}

bool bd_loop_streams(const bd_kir *program, const bd_kir_instr *instr, int vector_axis)
{
    return instr->code == BD_KIR_STORE && instr->flags == BD_KIR_SET && instr->guard < 0 &&
           bd_kir_int_is(program->accesses[instr->index].strides[vector_axis], 1);
}

/* Whether a guard that differs from lane to lane moves with the last SERIAL axis and not with the
 * one before, as that of a window's columns does: it is then found once for all its rows. */
static bool crosses(const bd_kir *program, const bd_loop_shape *shape)
{
    if (shape->serial_count < 2 || shape->each_count > 1 || shape->scan_count > 0)
        return false;
    for (int i = 0; i < program->instr_count; i++)
        if (program->instrs[i].code == BD_KIR_STORE_AT)
            return false;
    int last = shape->serial[shape->serial_count - 1];
    int before = shape->serial[shape->serial_count - 2];
    for (int i = 0; i < program->guard_count; i++) {
        const bd_kir_int *strides = program->guards[i].strides;
        if (!bd_kir_int_is(strides[shape->vector_axis], 0) && !bd_kir_int_is(strides[last], 0) &&
            bd_kir_int_is(strides[before], 0))
            return true;
    }
    return false;
}

/* False if no PARALLEL axis can have the lanes. */
static bool narrow_down(const bd_kir *program, const bd_loop_shape *wide, unsigned unroll,
                        bd_loop_shape *out)
{
    int unused = 0, axis = best_parallel(program, true, &unused);
    if (wide->vector_axis < 0 || wide->sorts || axis < 0)
        return false;
    bd_loop_shape shape = *wide;
    bool is_light = wide->each_count == 1 && wide->reduction_count <= 4 && wide->scan_count == 0;
    shape.form = BD_LOOP_COLUMN;
    shape.narrow = true;
    shape.vector_axis = axis;
    shape.unroll = is_light ? unroll : 1;
    shape.lanes = wide->lanes / wide->unroll * shape.unroll;
    shape.may_split = false;
    shape.stream_bytes = 0;
    memset(shape.ahead_share, 0, sizeof shape.ahead_share);
    sort_axes(program, &shape);
    shape.crossed = crosses(program, &shape);
    estimate(program, &shape);
    *out = shape;
    return true;
}

bool bd_loop_narrow_shape_of(const bd_kir *program, const bd_loop_shape *wide, bd_loop_shape *out)
{
    if (wide->form != BD_LOOP_ROW || !narrow_down(program, wide, BD_LOOP_SHORT_UNROLL, out))
        return false;
    out->brief = out->serial_count == 1;
    return true;
}

bd_error *bd_loop_short_shape_of(const bd_target *target, const bd_kir *program, unsigned unroll,
                                 bd_loop_shape *out)
{
    bd_loop_shape wide;
    BD_TRY(bd_loop_shape_of(target, program, &wide));
    if (wide.form == BD_LOOP_MAP || !narrow_down(program, &wide, unroll, out))
        BD_FAIL(UNSUPPORTED, "a kernel has no form for short rows");
    return NULL;
}

bd_error *bd_loop_shape_of(const bd_target *target, const bd_kir *program, bd_loop_shape *out)
{
    bd_loop_shape shape = {.vector_axis = -1};
    int weight = 0;
    bool ordered = false;
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        if (phase->kind == BD_KIR_EACH)
            shape.each[shape.each_count++] = p;
        weight += phase->kind == BD_KIR_UNIFORM ? 0 : phase_weight(program, phase);
        int scans = 0;
        for (int i = phase->first; i < phase->first + phase->count; i++) {
            const bd_kir_instr *instr = &program->instrs[i];
            shape.sorts |= instr->code == BD_KIR_SORT;
            scans += bd_kir_is_scan((bd_kir_code)instr->code);
            if (scans > BD_LOOP_SCANS_MAX)
                BD_FAIL(UNSUPPORTED, "a kernel has more than %d scans", BD_LOOP_SCANS_MAX);
            if (phase->kind != BD_KIR_EACH)
                continue;
            ordered |= instr->code == BD_KIR_STORE_AT;
            shape.split_slots |= instr->code == BD_KIR_SAVE;
            shape.scan_count += bd_kir_is_scan((bd_kir_code)instr->code);
            if (!bd_kir_is_reduce((bd_kir_code)instr->code))
                continue;
            if (shape.reduction_count == BD_LOOP_REDUCTIONS_MAX)
                BD_FAIL(UNSUPPORTED, "a kernel has more than %d reductions",
                        BD_LOOP_REDUCTIONS_MAX);
            shape.reduction_phase[shape.reduction_count] = p;
            shape.reductions[shape.reduction_count++] = i;
        }
    }
    choose_axis(program, &shape);
    choose_lanes(target, program, &shape, weight);
    sort_axes(program, &shape);
    choose_tile(program, &shape);
    choose_streams(program, &shape);
    choose_ahead(program, &shape);
    estimate(program, &shape);
    /* Rows of several phases, as of a softmax, are many or short, unless all is one row. */
    bool one_row = shape.outer_count == 0 && shape.form == BD_LOOP_ROW;
    shape.may_split = (shape.each_count == 1 || (one_row && shape.each_count <= 10)) &&
                      shape.serial_count > 0 && !ordered && shape.reduction_count > 0 &&
                      shape.scan_count == 0 && !shape.sorts;
    *out = shape;
    return NULL;
}
