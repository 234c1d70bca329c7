/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "backends/ref/interp.h"

int64_t bd_ref_int(const bd_ref_run *run, bd_kir_int integer)
{
    return bd_kir_int_value(integer, run->block->ints);
}

bd_ref_cells bd_ref_value(const bd_ref_run *run, bd_kir_value value)
{
    size_t cell = (size_t)(value - 1) * (size_t)run->width;
    return (bd_ref_cells){.bytes = run->cells + cell * 8};
}

/* An affine expression over the strip: first + step * point. */
typedef struct line {
    int64_t first, step;
} line;

static line line_of(const bd_ref_run *run, bd_kir_int offset, const bd_kir_int *strides)
{
    line made = {bd_ref_int(run, offset), 0};
    for (int axis = 0; axis < run->program->axis_count; axis++) {
        int64_t stride = bd_ref_int(run, strides[axis]);
        made.first += stride * run->positions[axis];
        if (axis == run->strip_axis)
            made.step = stride;
    }
    return made;
}

/* The points of the strip where a guard holds; without a guard all. */
static void holding(const bd_ref_run *run, int guard_number, bool *out)
{
    if (guard_number < 0) {
        memset(out, 1, (size_t)run->count);
        return;
    }
    const bd_kir_guard *guard = &run->program->guards[guard_number];
    line at = line_of(run, guard->offset, guard->strides);
    int64_t extent = bd_ref_int(run, guard->extent);
    holding(run, guard->also - 1, out);
    for (int i = 0; i < run->count; i++) {
        int64_t place = at.first + at.step * i;
        out[i] = out[i] && place >= 0 && place < extent;
    }
}

static void load(const bd_ref_run *run, const bd_kir_instr *instr, bd_ref_cells out)
{
    const bd_kir_access *access = &run->program->accesses[instr->index];
    burn_dtype dtype = (burn_dtype)instr->dtype;
    const void *buffer = run->block->buffers[access->buffer];
    line at = line_of(run, access->offset, access->strides);
    bool held[BD_REF_WIDTH];
    holding(run, instr->guard, held);
    bool indirect = instr->code == BD_KIR_LOAD_AT;
    bd_ref_cells moved = indirect ? bd_ref_value(run, instr->operands[0]) : (bd_ref_cells){0};
    int64_t stride = indirect ? bd_ref_int(run, instr->integer) : 0;
    bool narrow = bd_ref_class_of(dtype) == BD_REF_FLOAT;
    if (dtype == BURN_F32 && !indirect && instr->guard < 0) { /* most loads are of this kind */
        for (int i = 0; i < run->count; i++)
            out.f[i] = ((const float *)buffer)[at.first + at.step * i];
        return;
    }
    for (int i = 0; i < run->count; i++) {
        int64_t place = at.first + at.step * i + (indirect ? moved.i[i] * stride : 0);
        if (held[i])
            bd_ref_load(buffer, dtype, place, out, i);
        else if (narrow)
            out.f[i] = 0.0f;
        else
            out.i[i] = 0; /* of f64 too */
    }
}

/* What a store in an accumulating mode combines with. */
static bd_kir_code mode_code(unsigned mode)
{
    switch ((int)mode) {
    case BD_KIR_ACCUMULATE_MAX:
        return BD_KIR_MAX;
    case BD_KIR_ACCUMULATE_MIN:
        return BD_KIR_MIN;
    case BD_KIR_ACCUMULATE_PROD:
        return BD_KIR_MUL;
    }
    return BD_KIR_ADD;
}

/* One element: memory = memory (mode) value, by the interpreter's own arithmetic. */
static void combine(const bd_kir_instr *instr, void *buffer, int64_t place, bd_ref_cells value,
                    int cell)
{
    burn_dtype dtype = (burn_dtype)instr->dtype;
    int64_t room[3] = {0};
    bd_kir_instr instrs[3] = {{.dtype = instr->dtype}, {.dtype = instr->dtype}};
    instrs[2] = (bd_kir_instr){
        .code = (uint16_t)mode_code(instr->flags), .dtype = instr->dtype, .operands = {1, 2}};
    bd_kir program = {.instrs = instrs, .instr_count = 3};
    bd_ref_run run = {.program = &program, .count = 1, .width = 1, .cells = (char *)room};
    bd_ref_load(buffer, dtype, place, bd_ref_value(&run, 1), 0);
    if (bd_ref_class_of(dtype) == BD_REF_FLOAT)
        bd_ref_value(&run, 2).f[0] = value.f[cell];
    else
        room[1] = value.i[cell];
    bd_ref_arith(&run, &instrs[2], bd_ref_value(&run, 3));
    bd_ref_store(buffer, dtype, place, bd_ref_value(&run, 3), 0);
}

static void store(const bd_ref_run *run, const bd_kir_instr *instr)
{
    const bd_kir_access *access = &run->program->accesses[instr->index];
    void *buffer = run->block->buffers[access->buffer];
    line at = line_of(run, access->offset, access->strides);
    bool held[BD_REF_WIDTH];
    holding(run, instr->guard, held);
    bd_ref_cells value = bd_ref_value(run, instr->operands[0]);
    bool indirect = instr->code == BD_KIR_STORE_AT;
    bd_ref_cells moved = indirect ? bd_ref_value(run, instr->operands[1]) : (bd_ref_cells){0};
    int64_t stride = indirect ? bd_ref_int(run, instr->integer) : 0;
    for (int i = 0; i < run->count; i++) {
        int64_t place = at.first + at.step * i + (indirect ? moved.i[i] * stride : 0);
        if (!held[i])
            continue;
        if (instr->flags == BD_KIR_SET)
            bd_ref_store(buffer, (burn_dtype)instr->dtype, place, value, i);
        else
            combine(instr, buffer, place, value, i);
    }
}

static void check(const bd_ref_run *run, const bd_kir_instr *instr, bd_ref_cells out)
{
    bd_ref_cells from = bd_ref_value(run, instr->operands[0]);
    int64_t extent = bd_ref_int(run, instr->integer);
    for (int i = 0; i < run->count; i++) {
        int64_t position = from.i[i];
        if (position < 0 && instr->flags & 1)
            position += extent;
        out.i[i] = position;
        if (position >= 0 && position < extent)
            continue;
        out.i[i] = 0;
        bd_ref_report(run, instr->index, from.i[i], extent);
    }
}

static void constant(const bd_ref_run *run, const bd_kir_instr *instr, bd_ref_cells out)
{
    int64_t cell = 0;
    bd_ref_cells stored = {.i = &cell};
    burn_dtype dtype = (burn_dtype)instr->dtype, stored_dtype = BURN_I64;
    if (instr->code == BD_KIR_SCALAR) {
        cell = run->block->scalars[instr->index].i;
        stored_dtype = (burn_dtype)run->program->scalar_dtypes[instr->index];
    } else {
        cell = instr->i;
        if (burn_dtype_is_float(dtype))
            stored_dtype = BURN_F64;
        else if (dtype != BURN_BOOL)
            stored_dtype = dtype; /* u64 bits stay as they are; others wrap */
    }
    for (int i = 0; i < run->count; i++) {
        bool narrow = bd_ref_class_of(dtype) == BD_REF_FLOAT;
        bd_ref_cells to = {.bytes = out.bytes + (narrow ? 4 : 8) * i};
        bd_ref_cast(stored, stored_dtype, to, dtype, 1);
    }
}

static void positions(const bd_ref_run *run, const bd_kir_instr *instr, bd_ref_cells out)
{
    bool held[BD_REF_WIDTH];
    if (instr->code == BD_KIR_GUARD)
        holding(run, instr->index, held);
    for (int i = 0; i < run->count; i++) {
        if (instr->code == BD_KIR_INTEGER)
            out.i[i] = bd_ref_int(run, instr->integer);
        else if (instr->code == BD_KIR_GUARD)
            out.i[i] = held[i];
        else
            out.i[i] = run->positions[instr->index] + (instr->index == run->strip_axis ? i : 0);
    }
}

static void random_words(const bd_ref_run *run, const bd_kir_instr *instr, bd_ref_cells out)
{
    bd_ref_cells element = bd_ref_value(run, instr->operands[0]);
    bd_ref_cells seed = bd_ref_value(run, instr->operands[1]);
    bd_ref_cells offset = bd_ref_value(run, instr->operands[2]);
    for (int i = 0; i < run->count; i++) {
        uint32_t words[4];
        bd_ref_philox(element.i[i], seed.i[i], offset.i[i], words);
        uint32_t low = words[2 * instr->index], high = words[2 * instr->index + 1];
        if (instr->code == BD_KIR_RANDOM_BITS)
            out.i[i] = (int64_t)((uint64_t)high << 32 | low);
        else if (instr->dtype == BURN_F64)
            out.d[i] = ((double)(low >> 5) * 0x1p26 + (double)(high >> 6)) * 0x1p-53;
        else
            out.f[i] = (float)(low >> 8) * 0x1p-24f;
    }
}

static void copy_cells(burn_dtype dtype, bd_ref_cells from, bd_ref_cells to, int count)
{
    size_t cell = bd_ref_class_of(dtype) == BD_REF_FLOAT ? 4 : 8;
    memcpy(to.bytes, from.bytes, cell * (size_t)count);
}

static bd_ref_cells slot_cells(const bd_ref_run *run, const bd_kir_instr *instr)
{
    size_t cell = bd_ref_class_of((burn_dtype)instr->dtype) == BD_REF_FLOAT ? 4 : 8;
    return (bd_ref_cells){.bytes = run->slots[instr->index] + cell * (size_t)run->serial};
}

static void step(bd_ref_run *run, unsigned number)
{
    const bd_kir_instr *instr = &run->program->instrs[number];
    bd_ref_cells out = bd_ref_value(run, (bd_kir_value)(number + 1));
    burn_dtype dtype = (burn_dtype)instr->dtype;
    switch ((int)instr->code) {
    case BD_KIR_CONST:
    case BD_KIR_SCALAR:
        constant(run, instr, out);
        return;
    case BD_KIR_INTEGER:
    case BD_KIR_INDEX:
    case BD_KIR_GUARD:
        positions(run, instr, out);
        return;
    case BD_KIR_LOAD:
    case BD_KIR_LOAD_AT:
        load(run, instr, out);
        return;
    case BD_KIR_CHECK:
        check(run, instr, out);
        return;
    case BD_KIR_RANDOM_BITS:
    case BD_KIR_RANDOM_UNIFORM:
        random_words(run, instr, out);
        return;
    case BD_KIR_STORE:
    case BD_KIR_STORE_AT:
        store(run, instr);
        return;
    case BD_KIR_SAVE:
        copy_cells(dtype, bd_ref_value(run, instr->operands[0]), slot_cells(run, instr),
                   run->count);
        return;
    case BD_KIR_RESTORE:
        copy_cells(dtype, slot_cells(run, instr), out, run->count);
        return;
    case BD_KIR_SORT:
        bd_ref_sort(run, instr);
        return;
    case BD_KIR_YIELD:
        run->yielded = bd_ref_value(run, instr->operands[0]);
        return;
    case BD_KIR_ACC:
        copy_cells(dtype, run->acc, out, run->count);
        return;
    }
    if (bd_kir_is_reduce((bd_kir_code)instr->code))
        bd_ref_reduce_step(run, instr, &run->sums[number]);
    else if (bd_kir_is_scan((bd_kir_code)instr->code))
        bd_ref_scan_step(run, instr, &run->sums[number], out);
    else
        bd_ref_arith(run, instr, out);
}

void bd_ref_phase(bd_ref_run *run, const bd_kir_phase *phase)
{
    for (unsigned i = phase->first; i < (unsigned)phase->first + phase->count; i++)
        step(run, i);
}

void bd_ref_spread(bd_ref_run *run, const bd_kir_phase *phase)
{
    for (unsigned i = phase->first; i < (unsigned)phase->first + phase->count; i++) {
        bd_kir_code code = (bd_kir_code)run->program->instrs[i].code;
        if (bd_kir_result_of(code) == BD_KIR_RESULT_NONE || bd_kir_is_reduce(code))
            continue;
        bd_ref_cells cells = bd_ref_value(run, (bd_kir_value)(i + 1));
        bool narrow = bd_ref_class_of((burn_dtype)run->program->instrs[i].dtype) == BD_REF_FLOAT;
        for (int cell = 1; cell < run->width; cell++) {
            if (narrow)
                cells.f[cell] = cells.f[0];
            else
                cells.i[cell] = cells.i[0];
        }
    }
}
