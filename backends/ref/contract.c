/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "backends/ref/interp.h"

/* The axes of a role together. */
typedef struct merged {
    int axes[BD_KIR_AXES_MAX], count; /* outermost first */
    int64_t extent;
} merged;

/* One contraction under way. Sums are kept in double or in 64-bit integers. */
typedef struct contraction {
    bd_ref_run *run;
    const bd_kir_phase *a, *b, *epilogue;
    merged m, n, k;
    burn_dtype dtype; /* of the elements */
    size_t cell_bytes;
    int panel_width;
    bd_ref_cells panel, row, wide, acc;
} contraction;

static merged merged_of(const bd_ref_run *run, bd_kir_role role)
{
    merged found = {.extent = 1};
    for (int axis = 0; axis < run->program->axis_count; axis++) {
        if (run->program->axes[axis].role != role)
            continue;
        found.axes[found.count++] = axis;
        found.extent *= run->extents[axis];
    }
    return found;
}

static void go_to(bd_ref_run *run, const merged *role, int64_t position)
{
    for (int i = role->count - 1; i >= 0; i--) {
        int64_t extent = run->extents[role->axes[i]];
        run->positions[role->axes[i]] = extent ? position % extent : 0;
        position = extent ? position / extent : 0;
    }
}

/* Runs a phase over points first .. first + count of a role, as a strip along its last axis.
 * Returns how many points that axis let it have. */
static int run_strip(const contraction *c, const bd_kir_phase *phase, const merged *role,
                     int64_t first, int count)
{
    bd_ref_run *run = c->run;
    run->strip_axis = -1;
    go_to(run, role, first);
    if (role->count > 0) {
        run->strip_axis = role->axes[role->count - 1];
        int64_t left = run->extents[run->strip_axis] - run->positions[run->strip_axis];
        count = left < count ? (int)left : count;
    }
    run->count = count;
    bd_ref_phase(run, phase);
    return count;
}

/* Elements of B for columns first .. first + count and all k. */
static void fill_panel(const contraction *c, int64_t first, int count)
{
    bd_ref_run *run = c->run;
    for (int64_t k = 0; k < c->k.extent; k++) {
        go_to(run, &c->k, k);
        char *to = c->panel.bytes + (size_t)k * (size_t)count * c->cell_bytes;
        for (int done = 0, some; done < count; done += some) {
            some = run_strip(c, c->b, &c->n, first + done, count - done);
            memcpy(to + (size_t)done * c->cell_bytes, run->yielded.bytes,
                   (size_t)some * c->cell_bytes);
        }
    }
    go_to(run, &c->k, 0);
}

static void fill_row(const contraction *c, int64_t m)
{
    bd_ref_run *run = c->run;
    go_to(run, &c->m, m);
    for (int64_t first = 0, some; first < c->k.extent; first += some) {
        int64_t left = c->k.extent - first;
        some = run_strip(c, c->a, &c->k, first, left < run->width ? (int)left : run->width);
        memcpy(c->row.bytes + (size_t)first * c->cell_bytes, run->yielded.bytes,
               (size_t)some * c->cell_bytes);
    }
    go_to(run, &c->k, 0);
}

static void multiply_ints(const contraction *c, int count)
{
    memset(c->wide.i, 0, (size_t)count * sizeof(int64_t));
    bool logical = c->dtype == BURN_BOOL;
    for (int64_t k = 0; k < c->k.extent; k++) {
        uint64_t a = (uint64_t)c->row.i[k];
        const int64_t *b = c->panel.i + k * count;
        for (int j = 0; j < count; j++) {
            uint64_t product = a * (uint64_t)b[j], sum = (uint64_t)c->wide.i[j];
            c->wide.i[j] = (int64_t)(logical ? sum | product : sum + product);
        }
    }
    memcpy(c->acc.i, c->wide.i, (size_t)count * sizeof(int64_t));
    bd_ref_round(c->acc, c->dtype, count);
}

static void multiply(const contraction *c, int count)
{
    bd_ref_class kind = bd_ref_class_of(c->dtype);
    if (kind == BD_REF_INT) {
        multiply_ints(c, count);
        return;
    }
    for (int j = 0; j < count; j++)
        c->wide.d[j] = 0.0;
    for (int64_t k = 0; k < c->k.extent; k++) {
        if (kind == BD_REF_DOUBLE) {
            const double *b = c->panel.d + k * count;
            for (int j = 0; j < count; j++)
                c->wide.d[j] += c->row.d[k] * b[j];
        } else {
            const float *b = c->panel.f + k * count;
            double a = (double)c->row.f[k];
            for (int j = 0; j < count; j++)
                c->wide.d[j] += a * (double)b[j];
        }
    }
    for (int j = 0; j < count; j++) {
        if (kind == BD_REF_DOUBLE)
            c->acc.d[j] = c->wide.d[j];
        else
            c->acc.f[j] = (float)c->wide.d[j];
    }
}

static void run_matrix(const contraction *c)
{
    bd_ref_run *run = c->run;
    for (int64_t first = 0; first < c->n.extent; first += c->panel_width) {
        int64_t left = c->n.extent - first;
        int count = left < c->panel_width ? (int)left : c->panel_width;
        fill_panel(c, first, count);
        for (int64_t m = 0; m < c->m.extent; m++) {
            fill_row(c, m);
            multiply(c, count);
            for (int done = 0, some; done < count; done += some) {
                run->acc.bytes = c->acc.bytes + (size_t)done * c->cell_bytes;
                some = run_strip(c, c->epilogue, &c->n, first + done, count - done);
            }
        }
        go_to(run, &c->m, 0);
    }
    go_to(run, &c->n, 0);
}

void bd_ref_contract(bd_ref_run *run, const bd_ref_layout *layout, char *scratch)
{
    const bd_kir *program = run->program;
    contraction c = {.run = run, .panel_width = layout->panel_width};
    for (int p = 0; p < program->phase_count; p++) {
        const bd_kir_phase *phase = &program->phases[p];
        if (phase->kind == BD_KIR_OPERAND_A)
            c.a = phase;
        else if (phase->kind == BD_KIR_OPERAND_B)
            c.b = phase;
        else if (phase->kind == BD_KIR_EPILOGUE)
            c.epilogue = phase;
    }
    c.dtype = (burn_dtype)program->instrs[c.a->first + c.a->count - 1].dtype;
    c.cell_bytes = bd_ref_class_of(c.dtype) == BD_REF_FLOAT ? 4 : 8;
    c.m = merged_of(run, BD_KIR_M);
    c.n = merged_of(run, BD_KIR_N);
    c.k = merged_of(run, BD_KIR_K);
    c.panel.bytes = scratch + layout->panel;
    c.row.bytes = scratch + layout->row;
    c.wide.bytes = scratch + layout->wide;
    c.acc.bytes = scratch + layout->acc;
    uint32_t batch = 0;
    for (int axis = 0; axis < program->axis_count; axis++) {
        if (program->axes[axis].role != BD_KIR_BATCH)
            continue;
        batch |= 1u << axis;
        if (run->extents[axis] == 0)
            return;
    }
    do {
        run_matrix(&c);
    } while (bd_ref_next(run, batch));
}
