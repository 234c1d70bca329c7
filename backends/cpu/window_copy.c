/* SPDX-License-Identifier: Apache-2.0
 * The copy of an operand whose elements recur, the table that leads into it, and rows of the other
 * one. */
#include <string.h>

#include "backends/cpu/window.h"

/* One part being copied. */
typedef struct copier {
    const bd_gemm *gemm;
    const bd_window_shape *shape;
    int64_t bytes, from_bytes; /* of an element of the copy and of memory */
    int64_t odd;               /* pairs: elements to the second number; 0: there is none */
    int64_t phases[BD_KIR_AXES_MAX];
    int64_t begin[BD_KIR_AXES_MAX], end[BD_KIR_AXES_MAX]; /* entries of a dim that exist */
} copier;

static void entries_of(const bd_window_dim *dim, int64_t phase, int64_t *out_begin,
                       int64_t *out_end)
{
    if (dim->numbers > 0) {
        *out_begin = 0;
        *out_end = ceiling(dim->numbers, 2);
        return;
    }
    *out_begin = least(bd_window_entries_below(dim, phase, 0), dim->size);
    *out_end = most(*out_begin, least(bd_window_entries_below(dim, phase, dim->extent), dim->size));
}

static void clear(const copier *c, char *to, int64_t count)
{
    memset(to, 0, (size_t)(count * c->bytes));
}

/* Entries that lie `from_step` elements apart. */
static void copy_row(const copier *c, const char *from, int64_t from_step, char *to, int64_t count)
{
    if (from_step == 1)
        memcpy(to, from, (size_t)(count * c->bytes));
    else if (c->bytes == 4)
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * 4, from + i * from_step * 4, 4);
    else
        for (int64_t i = 0; i < count; i++)
            memcpy(to + i * 8, from + i * from_step * 8, 8);
}

static int64_t from_step_of(const bd_window_dim *dim)
{
    return (dim->numbers > 0 ? 2 : dim->stride) * dim->from_step;
}

/* Rows whose elements lie side by side in memory, but `step` apart in the copy. */
static void turn_rows(const copier *c, const char *from, char *to, int64_t columns)
{
    const bd_window_dim *inner = &c->shape->dims[c->shape->dim_count - 1];
    int64_t group = c->gemm->turn_rows, step = from_step_of(inner), bytes = c->bytes, row = 0;
    int64_t to_step = inner[-1].step;
    for (; row + group <= inner->size; row += group)
        c->gemm->micro.turn(from + row * step * bytes, step * bytes, to + row * bytes, to_step,
                            group, columns);
    for (int64_t at = 0; at < columns && row < inner->size; at++)
        copy_row(c, from + (row * step + at) * bytes, step, to + (at * to_step + row) * bytes,
                 inner->size - row);
}

/* Whether the last two dims are copied by turning. */
static bool turns(const bd_window_shape *shape)
{
    const bd_window_dim *inner = &shape->dims[shape->dim_count - 1];
    return shape->pair_dim < 0 && shape->dim_count - shape->part_dims >= 2 &&
           inner->from_step != 1 && from_step_of(&inner[-1]) == 1 && inner->extent == INT64_MAX;
}

/* The entry of a dim that is copied next: whether its pairs have second numbers. */
static void find_odd(copier *c, const bd_window_dim *dim, int64_t at)
{
    if (dim->numbers > 0)
        c->odd = 2 * at + 1 < dim->numbers ? dim->from_step : 0;
}

/* Rows of pairs, from the first one that exists on; row_step: numbers between them. */
static void join_rows(const copier *c, const char *from, int64_t row_step, char *to,
                      int64_t to_step, int64_t rows)
{
    int inner = c->shape->dim_count - 1;
    const bd_window_dim *dim = &c->shape->dims[inner];
    int64_t begin = c->begin[inner], end = c->end[inner], step = from_step_of(dim);
    const uint16_t *even = (const uint16_t *)(const void *)from;
    even += begin * step + c->phases[inner] * dim->from_step;
    uint32_t *pairs = (uint32_t *)(void *)to;
    bd_window_numbers numbers = {.even = even,
                                 .odd = c->odd ? even + c->odd : NULL,
                                 .step = step,
                                 .count = end - begin,
                                 .row_step = row_step,
                                 .rows = rows};
    bd_window_join(c->gemm, &numbers, pairs + begin, to_step);
    for (; rows > 0; rows--, pairs += to_step) {
        for (int64_t at = 0; at < begin; at++)
            pairs[at] = 0;
        for (int64_t at = end; at < dim->size; at++)
            pairs[at] = 0;
    }
}

static void copy_dim(copier *c, int number, const char *from, char *to)
{
    const bd_window_dim *dim = &c->shape->dims[number];
    int64_t begin = c->begin[number], end = c->end[number];
    int64_t step = from_step_of(dim), bytes = c->bytes;
    if (number == c->shape->dim_count - 1 && c->shape->pair_dim >= 0) {
        join_rows(c, from, 0, to, 0, 1);
        return;
    }
    from += (begin * step + c->phases[number] * dim->from_step) * c->from_bytes;
    if (number == c->shape->dim_count - 1) {
        copy_row(c, from, step, to + begin * bytes, end - begin);
    } else if (number == c->shape->dim_count - 2 && c->shape->pair_dim >= 0 && dim->numbers == 0) {
        join_rows(c, from, step, to + begin * dim->step * bytes, dim->step, end - begin);
    } else if (number == c->shape->dim_count - 2 && turns(c->shape)) {
        turn_rows(c, from, to + begin * dim->step * bytes, end - begin);
    } else {
        for (int64_t at = begin; at < end; at++) {
            find_odd(c, dim, at);
            copy_dim(c, number + 1, from + (at - begin) * step * c->from_bytes,
                     to + at * dim->step * bytes);
        }
    }
    clear(c, to, begin * dim->step);
    clear(c, to + end * dim->step * bytes, (dim->size - end) * dim->step);
}

void bd_window_copy(const bd_gemm *gemm, const bd_window_shape *shape, const bd_call *call,
                    int64_t batch, int64_t part, char *to)
{
    copier c = {.gemm = gemm, .shape = shape, .bytes = gemm->element_bytes};
    c.from_bytes = c.bytes / (shape->pair_dim < 0 ? 1 : 2);
    const char *from = bd_gemm_element_at(gemm, call, &gemm->b.access, batch);
    bool inside = true;
    int64_t size = shape->copy_elements;
    for (int d = 0; d < shape->dim_count; d++) {
        const bd_window_dim *dim = &shape->dims[d];
        c.phases[d] = part % dim->phases;
        part /= dim->phases;
        entries_of(dim, c.phases[d], &c.begin[d], &c.end[d]);
        to += c.phases[d] * dim->phase_step * c.bytes;
    }
    for (int d = 0; d < shape->part_dims; d++) {
        const bd_window_dim *dim = &shape->dims[d];
        int64_t at = part % dim->size;
        part /= dim->size;
        inside = inside && at >= c.begin[d] && at < c.end[d];
        find_odd(&c, dim, at);
        from += (at * from_step_of(dim) + c.phases[d] * dim->from_step) * c.from_bytes;
        to += at * dim->step * c.bytes;
    }
    size = shape->part_dims > 0 ? shape->dims[shape->part_dims - 1].step
                                : shape->dims[0].size * shape->dims[0].step;
    if (inside)
        copy_dim(&c, shape->part_dims, from, to);
    else
        clear(&c, to, size);
}

/* What position `at` of an axis of K adds to the offset in the copy. */
static int64_t offset_in_copy(const bd_window_dim *dim, int64_t at)
{
    int64_t moved = at * dim->k_stride;
    return moved / dim->stride * dim->step + moved % dim->stride * dim->phase_step;
}

void bd_window_table(const bd_gemm *gemm, const bd_window_shape *shape, const int64_t *ints,
                     int32_t *out)
{
    const bd_kir *program = gemm->program;
    const bd_window_dim *dims[BD_KIR_AXES_MAX], *pair = NULL;
    int64_t extents[BD_KIR_AXES_MAX], steps[BD_KIR_AXES_MAX], at[BD_KIR_AXES_MAX] = {0};
    bd_kir_role role = shape->mirrored ? BD_KIR_N : BD_KIR_K;
    int count = 0;
    if (shape->pair_dim >= 0)
        pair = &shape->dims[shape->pair_dim];
    for (int axis = 0; axis < program->axis_count; axis++) {
        if (program->axes[axis].role != role || (pair && pair->k_axis == axis))
            continue;
        for (int d = 0; d < shape->dim_count; d++)
            if (shape->dims[d].k_axis == axis)
                dims[count] = &shape->dims[d];
        extents[count] = bd_kir_int_value(program->axes[axis].extent, ints);
        steps[count++] = shape->packed ? 0 : bd_kir_int_value(gemm->a.access.strides[axis], ints);
    }
    int64_t entries = shape->mirrored ? shape->n : shape->k / shape->group;
    int64_t rows_of = pair ? shape->outer : shape->k; /* of the table, for each group of pairs */
    for (int64_t k = 0; k < entries; k++) {
        int64_t rows = shape->packed ? k * (pair ? shape->group_apart : 1) : 0;
        int64_t copy = pair ? k / rows_of * shape->group * pair->step : 0;
        for (int i = 0; i < count; i++) {
            rows += at[i] * steps[i];
            copy += offset_in_copy(dims[i], at[i]);
        }
        out[2 * k] = (int32_t)rows;
        out[2 * k + 1] = (int32_t)copy;
        for (int i = count - 1; i >= 0 && ++at[i] == extents[i]; i--)
            at[i] = 0;
    }
}

const void *bd_window_yielded_row(const bd_gemm *gemm, const bd_window_shape *shape,
                                  const bd_call *call, int64_t batch, int64_t m, int64_t count)
{
    bd_gemm_panel p = {.gemm = gemm,
                       .shape = &shape->rows,
                       .side = &shape->rows.rows,
                       .call = call,
                       .batch = batch,
                       .first = m,
                       .rows = 1};
    char *temp = call->worker_scratch + shape->rows.worker_temp;
    bd_gemm_evaluate(&p, 0, count, temp, 1);
    return temp;
}
