/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "backends/ref/interp.h"

/* One contraction under way. Sums are kept in double or in 64-bit integers. */
typedef struct contraction {
    bd_ref_run *run;
    const bd_kir_phase *a, *b, *epilogue;
    int m, n, k; /* axes, or -1 */
    int64_t extent_m, extent_n, extent_k;
    burn_dtype dtype; /* of the elements */
    size_t cell_bytes;
    int panel_width;
    bd_ref_cells panel, row, wide;
} contraction;

static int axis_of(const bd_kir *program, bd_kir_role role)
{
    for (int axis = 0; axis < program->axis_count; axis++)
        if (program->axes[axis].role == role)
            return axis;
    return -1;
}

static int64_t extent_of(const bd_ref_run *run, int axis)
{
    return axis < 0 ? 1 : run->extents[axis];
}

static void go_to(bd_ref_run *run, int axis, int64_t position)
{
    if (axis >= 0)
        run->positions[axis] = position;
}

/* Elements of B for columns first .. first + count and all k. */
static void fill_panel(const contraction *c, int64_t first, int count)
{
    bd_ref_run *run = c->run;
    run->strip_axis = c->n;
    run->count = count;
    go_to(run, c->n, first);
    for (int64_t k = 0; k < c->extent_k; k++) {
        go_to(run, c->k, k);
        bd_ref_phase(run, c->b);
        size_t at = (size_t)k * (size_t)count * c->cell_bytes;
        memcpy(c->panel.bytes + at, run->yielded.bytes, (size_t)count * c->cell_bytes);
    }
    go_to(run, c->k, 0);
}

static void fill_row(const contraction *c, int64_t m)
{
    bd_ref_run *run = c->run;
    run->strip_axis = c->k;
    go_to(run, c->m, m);
    for (int64_t first = 0; first < c->extent_k; first += run->width) {
        int64_t left = c->extent_k - first;
        run->count = left < run->width ? (int)left : run->width;
        go_to(run, c->k, first);
        bd_ref_phase(run, c->a);
        memcpy(c->row.bytes + (size_t)first * c->cell_bytes, run->yielded.bytes,
               (size_t)run->count * c->cell_bytes);
    }
    go_to(run, c->k, 0);
}

static void multiply_ints(const contraction *c, int count)
{
    memset(c->wide.i, 0, (size_t)count * sizeof(int64_t));
    bool logical = c->dtype == BURN_BOOL;
    for (int64_t k = 0; k < c->extent_k; k++) {
        uint64_t a = (uint64_t)c->row.i[k];
        const int64_t *b = c->panel.i + k * count;
        for (int j = 0; j < count; j++) {
            uint64_t product = a * (uint64_t)b[j], sum = (uint64_t)c->wide.i[j];
            c->wide.i[j] = (int64_t)(logical ? sum | product : sum + product);
        }
    }
    memcpy(c->run->acc.i, c->wide.i, (size_t)count * sizeof(int64_t));
    bd_ref_round(c->run->acc, c->dtype, count);
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
    for (int64_t k = 0; k < c->extent_k; k++) {
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
            c->run->acc.d[j] = c->wide.d[j];
        else
            c->run->acc.f[j] = (float)c->wide.d[j];
    }
}

static void run_matrix(const contraction *c)
{
    bd_ref_run *run = c->run;
    for (int64_t first = 0; first < c->extent_n; first += c->panel_width) {
        int64_t left = c->extent_n - first;
        int count = left < c->panel_width ? (int)left : c->panel_width;
        fill_panel(c, first, count);
        for (int64_t m = 0; m < c->extent_m; m++) {
            fill_row(c, m);
            multiply(c, count);
            run->strip_axis = c->n;
            run->count = count;
            go_to(run, c->n, first);
            bd_ref_phase(run, c->epilogue);
        }
        go_to(run, c->m, 0);
    }
    go_to(run, c->n, 0);
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
    c.m = axis_of(program, BD_KIR_M);
    c.n = axis_of(program, BD_KIR_N);
    c.k = axis_of(program, BD_KIR_K);
    c.extent_m = extent_of(run, c.m);
    c.extent_n = extent_of(run, c.n);
    c.extent_k = extent_of(run, c.k);
    c.panel.bytes = scratch + layout->panel;
    c.row.bytes = scratch + layout->row;
    c.wide.bytes = scratch + layout->wide;
    run->acc.bytes = scratch + layout->acc;
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
