/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/interp.h"

#include <string.h>

/* The panel of B that a contraction keeps may take this much. */
enum { PANEL_BYTES_MAX = 64 << 20 };

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t extent_of_role(const bd_kir *program, const bd_ref_layout *layout, bd_kir_role role)
{
    int64_t extent = 1;
    for (int axis = 0; axis < program->axis_count; axis++)
        if (program->axes[axis].role == role)
            extent *= layout->extents[axis];
    return extent;
}

static size_t place(size_t *total_bytes, size_t size_bytes)
{
    size_t at = *total_bytes;
    *total_bytes += (size_bytes + 63) & ~(size_t)63;
    return at;
}

static int strip_width(int64_t extent)
{
    return extent < 1 ? 1 : (int)least(extent, BD_REF_WIDTH);
}

void bd_ref_layout_of(const bd_kir *program, const int64_t *ints, bd_ref_layout *out)
{
    *out = (bd_ref_layout){.serial_points = 1};
    for (int axis = 0; axis < program->axis_count; axis++) {
        int64_t value = bd_kir_int_value(program->axes[axis].extent, ints);
        out->extents[axis] = value < 0 ? 0 : value;
        if (program->axes[axis].role == BD_KIR_SERIAL)
            out->serial_points *= out->extents[axis];
    }
    int64_t k = 0;
    if (program->family == BD_KIR_CONTRACTION) {
        int64_t n = extent_of_role(program, out, BD_KIR_N);
        k = extent_of_role(program, out, BD_KIR_K);
        out->width = strip_width(n > k ? n : k);
        int64_t columns = least(strip_width(n), PANEL_BYTES_MAX / 8 / (k + 1) + 1);
        out->panel_width = (int)columns;
    } else if (program->family == BD_KIR_ATTENTION) {
        int64_t n = extent_of_role(program, out, BD_KIR_N);
        int64_t e = extent_of_role(program, out, BD_KIR_E);
        out->width = strip_width(n > e ? n : e);
        k = n; /* a row of scores */
    } else {
        out->width = program->axis_count ? strip_width(out->extents[program->axis_count - 1]) : 1;
    }
    size_t width = (size_t)out->width, depth = (size_t)k * 8;
    place(&out->total_bytes, program->instr_count * width * 8);
    out->sums = place(&out->total_bytes, program->instr_count * sizeof(bd_ref_sum));
    out->slots = place(&out->total_bytes, program->slot_count * (size_t)out->serial_points * 8);
    out->panel = place(&out->total_bytes, depth * (size_t)out->panel_width);
    out->row = place(&out->total_bytes, depth);
    out->acc = place(&out->total_bytes, width * 8);
    out->wide = place(&out->total_bytes, width * 8);
}

void bd_ref_go_to(bd_ref_run *run, int axis, int64_t position)
{
    if (axis >= 0)
        run->positions[axis] = position;
}

bool bd_ref_next(bd_ref_run *run, uint32_t axes)
{
    for (int axis = run->program->axis_count - 1; axis >= 0; axis--) {
        if (!(axes >> axis & 1))
            continue;
        if (++run->positions[axis] < run->extents[axis])
            return true;
        run->positions[axis] = 0;
    }
    return false;
}

static bool empty(const bd_ref_run *run, uint32_t axes)
{
    for (int axis = 0; axis < run->program->axis_count; axis++)
        if (axes >> axis & 1 && run->extents[axis] == 0)
            return true;
    return false;
}

void bd_ref_report(const bd_ref_run *run, uint16_t tag, int64_t position, int64_t extent)
{
    if (run->faults && !run->faults[tag].happened)
        run->faults[tag] = (bd_fault){.happened = 1,
                                      .block = run->block_number,
                                      .position = position,
                                      .extent = extent};
}

/* A CHECK against nothing can never pass, and there is no element 0 to go on with: the block
 * reports it and does nothing. */
static bool checks_nothing(bd_ref_run *run)
{
    const bd_kir *program = run->program;
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        if (empty(run, bd_kir_domain(program, phase->kind)))
            continue;
        for (unsigned i = phase->first; i < (unsigned)phase->first + phase->count; i++) {
            const bd_kir_instr *instr = &program->instrs[i];
            if (instr->code != BD_KIR_CHECK || bd_ref_int(run, instr->integer) > 0)
                continue;
            bd_ref_report(run, instr->index, 0, 0);
            return true;
        }
    }
    return false;
}

static bool touches(const bd_kir_instr *instr)
{
    return instr->code == BD_KIR_LOAD || instr->code == BD_KIR_LOAD_AT ||
           instr->code == BD_KIR_STORE || instr->code == BD_KIR_STORE_AT;
}

static bool stores(const bd_kir_instr *instr)
{
    return instr->code == BD_KIR_STORE || instr->code == BD_KIR_STORE_AT;
}

/* Whether points of a phase may see each other's stores; a strip must then be one point. */
static bool points_depend(const bd_kir *program, const bd_kir_phase *phase)
{
    unsigned end = (unsigned)phase->first + phase->count;
    for (unsigned i = phase->first; i < end; i++) {
        const bd_kir_instr *a = &program->instrs[i];
        if (!stores(a))
            continue;
        for (unsigned j = phase->first; j < end; j++) {
            const bd_kir_instr *b = &program->instrs[j];
            if (i == j || !touches(b) ||
                program->accesses[a->index].buffer != program->accesses[b->index].buffer)
                continue;
            bool same_place = a->code == BD_KIR_STORE && a->index == b->index &&
                              (b->code == BD_KIR_STORE || b->code == BD_KIR_LOAD);
            if (!same_place)
                return true;
        }
    }
    return false;
}

/* A phase over one axis of the strip kind, in strips of at most `longest` points. */
static void run_strips(bd_ref_run *run, const bd_kir_phase *phase, int axis, int longest)
{
    int64_t extent = axis < 0 ? 1 : run->extents[axis];
    int64_t serial = run->serial;
    run->strip_axis = axis;
    for (int64_t first = 0; first < extent; first += longest) {
        if (axis >= 0)
            run->positions[axis] = first;
        run->count = (int)least(longest, extent - first);
        run->serial = serial + first;
        bd_ref_phase(run, phase);
    }
    if (axis >= 0)
        run->positions[axis] = 0;
    run->serial = serial;
}

static void run_single(bd_ref_run *run, const bd_kir_phase *phase)
{
    run->strip_axis = -1;
    run->count = 1;
    bd_ref_phase(run, phase);
    bd_ref_spread(run, phase);
}

static void run_each(bd_ref_run *run, const bd_kir_phase *phase, uint32_t serial_axes)
{
    const bd_kir *program = run->program;
    bd_ref_reduce_begin(run, phase);
    if (!empty(run, serial_axes)) {
        int axis = serial_axes ? program->axis_count - 1 : -1;
        uint32_t outer = axis < 0 ? 0 : serial_axes & ~(1u << axis);
        int longest = points_depend(program, phase) ? 1 : run->width;
        run->serial = 0;
        do {
            run_strips(run, phase, axis, longest);
            run->serial += axis < 0 ? 1 : run->extents[axis];
        } while (bd_ref_next(run, outer));
        run->serial = 0;
    }
    bd_ref_reduce_end(run, phase);
}

/* Rows one by one, each through all phases. */
static void run_rows(bd_ref_run *run, uint32_t parallel, uint32_t serial)
{
    const bd_kir *program = run->program;
    do {
        for (int p = 0; p < program->phase_count; p++) {
            const bd_kir_phase *phase = &program->phases[p];
            if (phase->kind == BD_KIR_ROW)
                run_single(run, phase);
            else if (phase->kind == BD_KIR_EACH)
                run_each(run, phase, serial);
        }
    } while (bd_ref_next(run, parallel));
}

/* A program without EACH phases: strips of rows. */
static void run_map(bd_ref_run *run, uint32_t parallel)
{
    const bd_kir *program = run->program;
    int axis = -1;
    for (int i = 0; i < program->axis_count; i++)
        if (parallel >> i & 1)
            axis = i;
    int64_t extent = axis < 0 ? 1 : run->extents[axis];
    uint32_t outer = axis < 0 ? 0 : parallel & ~(1u << axis);
    run->strip_axis = axis;
    do {
        for (int64_t first = 0; first < extent; first += run->width) {
            if (axis >= 0)
                run->positions[axis] = first;
            run->count = (int)least(run->width, extent - first);
            for (int p = 0; p < program->phase_count; p++)
                if (program->phases[p].kind == BD_KIR_ROW)
                    bd_ref_phase(run, &program->phases[p]);
        }
        if (axis >= 0)
            run->positions[axis] = 0;
    } while (bd_ref_next(run, outer));
}

void bd_ref_run_block(bd_ref_run *run, const bd_ref_layout *layout, char *scratch)
{
    const bd_kir *program = run->program;
    memcpy(run->extents, layout->extents, sizeof run->extents);
    run->width = layout->width;
    run->cells = scratch;
    run->serial_points = layout->serial_points;
    run->sums = (bd_ref_sum *)(void *)(scratch + layout->sums);
    size_t slot_bytes = (size_t)layout->serial_points * 8;
    for (unsigned i = 0; i < program->slot_count; i++)
        run->slots[i] = scratch + layout->slots + i * slot_bytes;
    if (checks_nothing(run))
        return;
    bool each = false;
    for (int p = 0; p < program->phase_count; p++) {
        each = each || program->phases[p].kind == BD_KIR_EACH;
        if (program->phases[p].kind == BD_KIR_UNIFORM)
            run_single(run, &program->phases[p]);
    }
    if (program->family == BD_KIR_CONTRACTION) {
        bd_ref_contract(run, layout, scratch);
        return;
    }
    if (program->family == BD_KIR_ATTENTION) {
        bd_ref_attend(run, layout, scratch);
        return;
    }
    uint32_t parallel = bd_kir_domain(program, BD_KIR_ROW);
    uint32_t serial = bd_kir_domain(program, BD_KIR_EACH) & ~parallel;
    if (empty(run, parallel))
        return;
    if (each)
        run_rows(run, parallel, serial);
    else
        run_map(run, parallel);
}
