/* SPDX-License-Identifier: Apache-2.0
 * Products of windows that have few sums, each over many places: gradients of the weights of
 * convolutions of each channel alone. Here the columns are the elements of a window, and the axes
 * of K its places, so those change roles in the copy (mirrored): the places lie side by side, in
 * runs with junk between them. A row is laid out alike, with zeros for the junk; a sum is the dot
 * product of both, the copy moved by what the element of the window adds. An item is a batch point.
 * Thread: any. */
#include <math.h>
#include <string.h>

#include "backends/cpu/window.h"

/* One row of the item at hand: its elements, and how far they lie apart, by dim. */
typedef struct row {
    const char *from;
    int64_t steps[BD_KIR_AXES_MAX];
} row;

static double number_at(const char *from, int64_t at, int64_t bytes)
{
    if (bytes == 8) {
        double wide;
        memcpy(&wide, from + at * bytes, sizeof wide);
        return wide;
    }
    float narrow;
    memcpy(&narrow, from + at * bytes, sizeof narrow);
    return (double)narrow;
}

static void put_number(char *to, double value, int64_t bytes)
{
    float narrow = (float)value;
    memcpy(to, bytes == 8 ? (const void *)&value : (const void *)&narrow, (size_t)bytes);
}

/* A row in memory, or what its function yields, one element behind the other. */
static row row_of(const bd_gemm *gemm, const bd_window_shape *shape, const bd_call *call,
                  int64_t batch, int64_t m)
{
    bool plain = gemm->a.plain;
    row made = {.from = plain ? bd_gemm_element_at(gemm, call, &gemm->a.access, batch)
                              : bd_window_yielded_row(gemm, shape, call, batch, m, shape->k)};
    made.from += plain ? m * shape->row_step * gemm->element_bytes : 0;
    int64_t reach = 1;
    for (int d = shape->dim_count - 1; d >= shape->k_dims; d--) {
        int axis = shape->dims[d].n_axis;
        made.steps[d] = plain ? bd_kir_int_value(gemm->a.access.strides[axis], call->ints) : reach;
        reach *= shape->dims[d].count;
    }
    return made;
}

/* Lays a row out as the copy's runs. */
static void spread_row(const bd_gemm *gemm, const bd_window_shape *shape, const row *from, int dim,
                       int64_t at, char *to)
{
    const bd_window_dim *d = &shape->dims[dim];
    int64_t bytes = gemm->element_bytes, step = from->steps[dim];
    if (dim + 1 < shape->dim_count) {
        for (int64_t i = 0; i < d->count; i++)
            spread_row(gemm, shape, from, dim + 1, at + i * step, to + i * d->step * bytes);
        return;
    }
    const char *place = from->from + at * bytes;
    if (step == 1)
        memcpy(to, place, (size_t)(d->count * bytes));
    else
        for (int64_t i = 0; i < d->count; i++)
            memcpy(to + i * bytes, place + i * step * bytes, (size_t)bytes);
}

/* The sum without junk, which may be no number, so that zero times it is none. */
static double plain_sum(const bd_gemm *gemm, const bd_window_shape *shape, int dim,
                        const char *laid, const char *moved)
{
    const bd_window_dim *d = &shape->dims[dim];
    int64_t bytes = gemm->element_bytes;
    double sum = 0;
    for (int64_t i = 0; i < d->count; i++) {
        int64_t at = i * d->step;
        if (dim + 1 < shape->dim_count)
            sum += plain_sum(gemm, shape, dim + 1, laid + at * bytes, moved + at * bytes);
        else
            sum += number_at(laid, at, bytes) * number_at(moved, at, bytes);
    }
    return sum;
}

static void sum_row(const bd_gemm *gemm, const bd_window_shape *shape, const char *laid,
                    const char *copy, char *to)
{
    int64_t bytes = gemm->element_bytes;
    for (int64_t n = 0; n < shape->n; n++, to += bytes) {
        const char *moved = copy + (int64_t)shape->offsets[2 * n + 1] * bytes;
        gemm->micro.dots[1][1](laid, 0, moved, 0, to, 0, shape->run);
        if (!isfinite(number_at(to, 0, bytes)))
            put_number(to, plain_sum(gemm, shape, shape->k_dims, laid, moved), bytes);
    }
}

static void run_dots(const bd_call *call, int64_t begin, int64_t end)
{
    const bd_gemm *gemm = (const bd_gemm *)(intptr_t)call->params[BD_GEMM_KERNEL];
    const bd_window_shape *shape = (const bd_window_shape *)(intptr_t)call->params[BD_GEMM_SHAPE];
    int64_t bytes = gemm->element_bytes;
    char *copy = call->worker_scratch + shape->copy_at;
    char *laid = call->worker_scratch + shape->worker_turned;
    char *sums = call->worker_scratch + shape->worker_c;
    memset(laid, 0, (size_t)(shape->run * bytes));
    memset(copy + shape->copy_elements * bytes, 0, (size_t)(shape->slack * bytes));
    for (int64_t batch = begin; batch < end; batch++) {
        for (int64_t part = 0; part < shape->parts; part++)
            bd_window_copy(gemm, shape, call, batch, part, copy);
        for (int64_t m = 0; m < shape->m; m++) {
            row from = row_of(gemm, shape, call, batch, m);
            spread_row(gemm, shape, &from, shape->k_dims, 0, laid);
            sum_row(gemm, shape, laid, copy, sums + m * shape->n * bytes);
        }
        bd_call epilogue = *call;
        epilogue.params[BD_GEMM_BATCH] = batch;
        epilogue.params[BD_GEMM_ROW] = 0;
        epilogue.params[BD_GEMM_ROWS] = shape->m;
        epilogue.params[BD_GEMM_COLUMN] = 0;
        epilogue.params[BD_GEMM_COLUMNS] = shape->n;
        epilogue.params[BD_GEMM_MEMORY] = (int64_t)(intptr_t)sums;
        epilogue.params[BD_GEMM_STEP] = shape->n;
        gemm->epilogue(&epilogue, 0, 1);
    }
}

int bd_window_dots_plan(const bd_gemm *gemm, const bd_window_shape *shape, bd_pass *out_passes)
{
    double copied = (double)shape->copy_elements + 2.0 * (double)(shape->m * shape->k);
    double summed = (double)(shape->m * shape->n * shape->run) / (double)gemm->lanes;
    out_passes[0] = (bd_pass){.run = run_dots,
                              .item_count = shape->batch,
                              .item_ns = 0.4 * copied + 1.5 * summed,
                              .params = {(int64_t)(intptr_t)gemm, (int64_t)(intptr_t)shape}};
    return 1;
}
