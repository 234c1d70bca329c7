/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "backends/ref/interp.h"

/* One attention under way. Sums are kept in double. */
typedef struct attention {
    bd_ref_run *run;
    const bd_kir_phase *a, *b, *score, *c, *epilogue; /* a, b: NULL if the scores are no product */
    int m, n, k, e;                                   /* axes, or -1 */
    double *row;                                      /* scores of a query, then its weights */
    double *wide;
    burn_dtype sum; /* type of the scores and of ACC */
} attention;

static int64_t extent_of(const attention *at, int axis)
{
    return axis < 0 ? 1 : at->run->extents[axis];
}

static double yielded(const bd_ref_run *run, const bd_kir_phase *phase, int i)
{
    const bd_kir_instr *last = &run->program->instrs[phase->first + phase->count - 1];
    bool is_double = bd_ref_class_of((burn_dtype)last->dtype) == BD_REF_DOUBLE;
    return is_double ? run->yielded.d[i] : (double)run->yielded.f[i];
}

static void strip(bd_ref_run *run, int axis, int64_t first, int count)
{
    run->strip_axis = axis;
    run->count = count;
    bd_ref_go_to(run, axis, first);
}

/* The sums of a strip, in the type of ACC. */
static void set_acc(const attention *at, burn_dtype dtype, int count)
{
    for (int i = 0; i < count; i++) {
        if (bd_ref_class_of(dtype) == BD_REF_DOUBLE)
            at->run->acc.d[i] = at->wide[i];
        else
            at->run->acc.f[i] = (float)at->wide[i];
    }
}

/* The products of the query at hand with keys first .. first + count. */
static void multiply(const attention *at, int64_t first, int count)
{
    bd_ref_run *run = at->run;
    memset(at->wide, 0, (size_t)count * sizeof *at->wide);
    for (int64_t k = 0; k < extent_of(at, at->k); k++) {
        bd_ref_go_to(run, at->k, k);
        strip(run, -1, 0, 1);
        bd_ref_phase(run, at->a);
        double a = yielded(run, at->a, 0);
        strip(run, at->n, first, count);
        bd_ref_phase(run, at->b);
        for (int i = 0; i < count; i++)
            at->wide[i] += a * yielded(run, at->b, i);
    }
    bd_ref_go_to(run, at->k, 0);
    const bd_kir_instr *last = &run->program->instrs[at->a->first + at->a->count - 1];
    set_acc(at, bd_kir_accumulator((burn_dtype)last->dtype), count);
}

static void fill_scores(const attention *at)
{
    bd_ref_run *run = at->run;
    int64_t n = extent_of(at, at->n);
    for (int64_t first = 0; first < n; first += run->width) {
        int count = n - first < run->width ? (int)(n - first) : run->width;
        if (at->a)
            multiply(at, first, count);
        strip(run, at->n, first, count);
        bd_ref_phase(run, at->score);
        for (int i = 0; i < count; i++)
            at->row[first + i] = yielded(run, at->score, i);
    }
    bd_ref_go_to(run, at->n, 0);
}

/* Scores to weights. NaN stays in all of the row. */
static void softmax(const attention *at)
{
    int64_t n = extent_of(at, at->n);
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++)
        most = at->row[i] > most || isnan(at->row[i]) ? at->row[i] : most;
    if (most == -INFINITY) {
        memset(at->row, 0, (size_t)n * sizeof *at->row);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        sum += at->row[i] = exp(at->row[i] - most);
    for (int64_t i = 0; i < n; i++)
        at->row[i] /= sum;
}

static void store_sums(const attention *at)
{
    bd_ref_run *run = at->run;
    int64_t extent = extent_of(at, at->e);
    for (int64_t first = 0; first < extent; first += run->width) {
        int count = extent - first < run->width ? (int)(extent - first) : run->width;
        memset(at->wide, 0, (size_t)count * sizeof *at->wide);
        for (int64_t n = 0; n < extent_of(at, at->n); n++) {
            bd_ref_go_to(run, at->n, n);
            strip(run, at->e, first, count);
            bd_ref_phase(run, at->c);
            for (int i = 0; i < count; i++)
                at->wide[i] += at->row[n] * yielded(run, at->c, i);
        }
        bd_ref_go_to(run, at->n, 0);
        set_acc(at, at->sum, count);
        strip(run, at->e, first, count);
        bd_ref_phase(run, at->epilogue);
    }
    bd_ref_go_to(run, at->e, 0);
}

void bd_ref_attend(bd_ref_run *run, const bd_ref_layout *layout, char *scratch)
{
    const bd_kir *program = run->program;
    const bd_kir_phase *phases[BD_KIR_EPILOGUE + 1] = {NULL};
    for (int p = 0; p < program->phase_count; p++)
        phases[program->phases[p].kind] = &program->phases[p];
    attention at = {.run = run,
                    .a = phases[BD_KIR_OPERAND_A],
                    .b = phases[BD_KIR_OPERAND_B],
                    .score = phases[BD_KIR_SCORE],
                    .c = phases[BD_KIR_OPERAND_C],
                    .epilogue = phases[BD_KIR_EPILOGUE],
                    .m = bd_kir_axis_of(program, BD_KIR_M),
                    .n = bd_kir_axis_of(program, BD_KIR_N),
                    .k = bd_kir_axis_of(program, BD_KIR_K),
                    .e = bd_kir_axis_of(program, BD_KIR_E),
                    .row = (double *)(void *)(scratch + layout->row),
                    .wide = (double *)(void *)(scratch + layout->wide)};
    at.sum = (burn_dtype)program->instrs[at.score->first + at.score->count - 1].dtype;
    run->acc.bytes = scratch + layout->acc;
    uint32_t queries = 0;
    for (int axis = 0; axis < program->axis_count; axis++) {
        if (program->axes[axis].role != BD_KIR_BATCH && axis != at.m)
            continue;
        queries |= 1u << axis;
        if (run->extents[axis] == 0)
            return;
    }
    do {
        fill_scores(&at);
        softmax(&at);
        store_sums(&at);
    } while (bd_ref_next(run, queries));
}
