/* SPDX-License-Identifier: Apache-2.0
 * Numbers of bf16 to pairs, for products of windows. */
#include <string.h>

#include "backends/cpu/window.h"

enum { RUN_MOST = 64 }; /* places that are joined at once */

void bd_window_join(const bd_gemm *gemm, const bd_window_numbers *from, uint32_t *to,
                    int64_t to_step)
{
    int64_t step = from->step;
    bd_micro_pair join = step == 1 ? gemm->micro.exact : gemm->micro.apart;
    if (from->odd && (step == 1 || step == 2) && from->count > 0) {
        join(from->even, from->odd, from->row_step * (int64_t)sizeof *from->even, to, to_step,
             from->count, from->rows);
        return;
    }
    for (int64_t row = 0; row < from->rows; row++, to += to_step) {
        const uint16_t *even = from->even + row * from->row_step;
        const uint16_t *odd = from->odd ? from->odd + row * from->row_step : NULL;
        for (int64_t i = 0; i < from->count; i++)
            to[i] = even[i * step] | (odd ? (uint32_t)odd[i * step] << 16 : 0);
    }
}

/* How the numbers of one row lie. */
typedef struct row {
    int64_t step;                      /* along the axis that is joined */
    int64_t extents[BD_KIR_AXES_MAX], steps[BD_KIR_AXES_MAX];
    int count; /* of the other axes of K */
    int run;   /* 1 or -1: these count as one run of numbers, forwards or backwards; else 0 */
} row;

/* Those of memory, or, if a function yields them, one behind the other. */
static row row_of(const bd_gemm *gemm, const bd_window_shape *shape, const int64_t *ints)
{
    const bd_kir *program = gemm->program;
    row made = {.count = 0};
    int64_t reach = 1, run = 1;
    for (int axis = program->axis_count - 1; axis >= 0; axis--) {
        if (program->axes[axis].role != BD_KIR_K)
            continue;
        int64_t extent = bd_kir_int_value(program->axes[axis].extent, ints);
        int64_t step = gemm->a.plain ? bd_kir_int_value(gemm->a.access.strides[axis], ints) : reach;
        reach *= extent;
        if (shape->dims[shape->pair_dim].k_axis == axis) {
            made.step = step;
            continue;
        }
        if (made.count == 0)
            made.run = step == 1 || step == -1 ? (int)step : 0;
        made.run = step == made.run * run ? made.run : 0;
        run *= extent;
        made.extents[made.count] = extent;
        made.steps[made.count++] = step;
    }
    return made;
}

/* Where row m begins, from the first one. */
static int64_t row_offset(const bd_gemm *gemm, const int64_t *ints, int64_t m)
{
    const bd_kir *program = gemm->program;
    int64_t at = 0;
    for (int axis = program->axis_count - 1; axis >= 0; axis--) {
        if (program->axes[axis].role != BD_KIR_M)
            continue;
        int64_t count = bd_kir_int_value(program->axes[axis].extent, ints);
        at += m % count * bd_kir_int_value(gemm->a.access.strides[axis], ints);
        m /= count;
    }
    return at;
}

/* A group of numbers of one place of the other axes. */
static void pack_group(const uint16_t *from, int64_t step, int64_t count, uint32_t *to,
                       int64_t pairs)
{
    int64_t whole = count / 2;
    for (int64_t i = 0; i < whole; i++, from += 2 * step)
        to[i] = from[0] | (uint32_t)from[step] << 16;
    if (count % 2)
        to[whole++] = from[0];
    if (whole < pairs)
        memset(to + whole, 0, (size_t)(pairs - whole) * sizeof *to);
}

/* Full groups of a run of places: joined place by place, then turned. */
static int64_t pack_runs(const bd_gemm *gemm, const bd_window_shape *shape, const row *r,
                         const uint16_t *from, uint32_t *to)
{
    uint32_t joined[BD_MICRO_PAIRS * RUN_MOST];
    int64_t group = shape->group, outer = shape->outer, turn = gemm->turn_rows;
    int64_t whole = shape->dims[shape->pair_dim].numbers / (2 * group);
    int64_t to_step = r->run * shape->group_apart;
    if (r->run == 0 || group == 1 || outer > RUN_MOST)
        return 0;
    from += r->run < 0 ? 1 - outer : 0;
    to += r->run < 0 ? (outer - 1) * shape->group_apart : 0;
    for (int64_t i = 0; i < whole; i++) {
        gemm->micro.pair(from, from + r->step, 2 * r->step * (int64_t)sizeof *from, joined,
                         RUN_MOST, outer, group);
        for (int64_t pair = 0; pair < group; pair += turn)
            gemm->micro.turn(joined + pair * RUN_MOST, RUN_MOST * sizeof *joined, to + pair,
                             to_step, turn, outer);
        from += 2 * group * r->step;
        to += shape->group_apart * outer;
    }
    return whole;
}

static void pack_row(const bd_gemm *gemm, const bd_window_shape *shape, const row *r,
                     const uint16_t *from, uint32_t *to)
{
    int64_t numbers = shape->dims[shape->pair_dim].numbers, at[BD_KIR_AXES_MAX] = {0};
    int64_t packed = pack_runs(gemm, shape, r, from, to);
    to += packed * shape->outer * shape->group_apart;
    packed *= shape->group;
    for (int64_t first = 2 * packed; first < 2 * shape->pairs; first += 2 * shape->group) {
        const uint16_t *place = from + first * r->step;
        int64_t count = most(0, least(2 * shape->group, numbers - first));
        for (int64_t o = 0; o < shape->outer; o++) {
            pack_group(place, r->step, count, to, shape->group);
            to += shape->group_apart;
            for (int i = 0; i < r->count; i++) { /* the innermost axis stands first */
                place += r->steps[i];
                if (++at[i] < r->extents[i])
                    break;
                place -= r->extents[i] * r->steps[i];
                at[i] = 0;
            }
        }
    }
}

void bd_window_pack_pairs(const bd_gemm *gemm, const bd_window_shape *shape, const bd_call *call,
                          int64_t batch, int64_t part, char *to)
{
    int64_t first = part * BD_WINDOW_PAIR_ROWS;
    int64_t last = least(first + BD_WINDOW_PAIR_ROWS, shape->m);
    row r = row_of(gemm, shape, call->ints);
    int64_t count = shape->dims[shape->pair_dim].numbers * shape->outer;
    for (int64_t m = first; m < last; m++) {
        const uint16_t *from;
        if (gemm->a.plain) {
            from = bd_gemm_element_at(gemm, call, &gemm->a.access, batch);
            from += row_offset(gemm, call->ints, m);
        } else {
            from = bd_window_yielded_row(gemm, shape, call, batch, m, count);
        }
        pack_row(gemm, shape, &r, from, (uint32_t *)(void *)to + bd_window_pair_row(shape, m));
    }
}
