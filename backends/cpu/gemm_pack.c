/* SPDX-License-Identifier: Apache-2.0
 * Operands to panels. */
#include <string.h>

#include "backends/cpu/gemm_parts.h"

typedef bd_gemm_panel panel;

const void *bd_gemm_place_at(const bd_kir *program, const bd_call *call,
                             const bd_kir_access *access, int64_t batch)
{
    const int64_t *ints = call->ints;
    int64_t at = bd_kir_int_value(access->offset, ints);
    for (int axis = program->axis_count - 1; axis >= 0; axis--) {
        if (program->axes[axis].role != BD_KIR_BATCH)
            continue;
        int64_t count = bd_kir_int_value(program->axes[axis].extent, ints);
        at += batch % count * bd_kir_int_value(access->strides[axis], ints);
        batch /= count;
    }
    int64_t bytes = (int64_t)burn_dtype_size(program->buffers[access->buffer].dtype);
    return (const char *)call->buffers[access->buffer] + at * bytes;
}

const void *bd_gemm_element_at(const bd_gemm *gemm, const bd_call *call,
                               const bd_kir_access *access, int64_t batch)
{
    return bd_gemm_place_at(gemm->program, call, access, batch);
}

/* Turns rows that lie along K; groups from the last to the first, so that the junk behind each is
 * written over by the group after it, and by the next k. */
static void turn(const panel *p, const char *from, int64_t from_step, int64_t k, int64_t k_count)
{
    const bd_gemm *gemm = p->gemm;
    int64_t group = (p->rows - 1) / gemm->turn_rows * gemm->turn_rows;
    for (; group >= 0; group -= gemm->turn_rows)
        gemm->micro.turn(from + group * from_step * gemm->element_bytes,
                         from_step * gemm->element_bytes,
                         p->to + ((k - p->k_first) * p->step + group) * gemm->element_bytes,
                         p->step, least(gemm->turn_rows, p->rows - group), k_count);
}

void bd_gemm_evaluate(const panel *p, int64_t k, int64_t k_count, void *memory, int64_t step)
{
    bd_call call = *p->call;
    call.params[BD_GEMM_BATCH] = p->batch;
    call.params[BD_GEMM_ROW] = p->first;
    call.params[BD_GEMM_ROWS] = p->rows;
    call.params[BD_GEMM_COLUMN] = k;
    call.params[BD_GEMM_COLUMNS] = k_count;
    call.params[BD_GEMM_MEMORY] = (int64_t)(intptr_t)memory;
    call.params[BD_GEMM_STEP] = step;
    p->side->operand->pack[p->side->walk](&call, 0, 1);
}

/* Elements of a plain operand that lies across K, or in no order at all. */
static void copy(const panel *p, const char *from, int64_t k_count, char *to)
{
    int64_t bytes = p->gemm->element_bytes, step = p->side->step, step_k = p->side->step_k;
    for (int64_t k = 0; k < k_count; k++) {
        const char *source = from + k * step_k * bytes;
        char *target = to + k * p->step * bytes;
        if (step == 1)
            memcpy(target, source, (size_t)(p->rows * bytes));
        else if (bytes == 4)
            for (int64_t r = 0; r < p->rows; r++)
                memcpy(target + r * 4, source + r * step * 4, 4);
        else
            for (int64_t r = 0; r < p->rows; r++)
                memcpy(target + r * 8, source + r * step * 8, 8);
    }
}

/* Elements k .. k + k_count of a panel. */
static void pack_panel(const panel *p, int64_t k, int64_t k_count)
{
    const bd_gemm *gemm = p->gemm;
    int64_t bytes = gemm->element_bytes;
    char *to = p->to + (k - p->k_first) * p->step * bytes;
    if (gemm->element == BURN_BF16) {
        bd_gemm_pack_pairs(p, k, k_count);
        return;
    }
    if (p->rows < p->step) /* lanes without a column: no junk, it could be slow numbers */
        memset(to, 0, (size_t)(p->step * k_count * bytes));
    if (p->side->plain) {
        const char *from = bd_gemm_element_at(gemm, p->call, &p->side->operand->access, p->batch);
        from += (p->first * p->side->step + k * p->side->step_k) * bytes;
        if (p->side->across)
            copy(p, from, k_count, to);
        else
            turn(p, from, p->side->step, k, k_count);
        return;
    }
    bool along_k = p->side->walk == BD_GEMM_ALONG_K;
    if (!along_k || p->step == 1) {
        bd_gemm_evaluate(p, k, k_count, to, along_k ? k_count : p->step);
        return;
    }
    char *temp = p->call->worker_scratch + p->shape->worker_temp;
    for (int64_t at = k; at < k + k_count; at += BD_GEMM_TURN_COLUMNS) {
        int64_t count = least(BD_GEMM_TURN_COLUMNS, k + k_count - at);
        panel part = *p;
        for (int64_t row = (p->rows - 1) / BD_GEMM_PAD * BD_GEMM_PAD; row >= 0;
             row -= BD_GEMM_PAD) {
            part.first = p->first + row;
            part.rows = least(BD_GEMM_PAD, p->rows - row);
            part.to = p->to + row * bytes;
            bd_gemm_evaluate(&part, at, count, temp, BD_GEMM_TURN_COLUMNS);
            turn(&part, temp, BD_GEMM_TURN_COLUMNS, at, count);
        }
    }
}

/* The panels of one block, for some k. */
static void pack_block(panel *p, int64_t block, int64_t k, int64_t k_count)
{
    const bd_gemm *gemm = p->gemm;
    const bd_gemm_shape *shape = p->shape;
    bool is_rows = p->side == &shape->rows;
    int64_t size = p->side->block, end = least((block + 1) * size, is_rows ? shape->m : shape->n);
    char *to = p->to;
    for (int64_t at = block * size; at < end; at += p->step) {
        p->first = at;
        p->step = is_rows ? bd_gemm_rows_at(gemm, shape, at)
                          : bd_gemm_vectors_at(gemm, shape, at) * gemm->lanes;
        p->rows = least(p->step, end - at);
        pack_panel(p, k, k_count);
        p->to += p->step * p->depth * gemm->element_bytes;
    }
    p->to = to;
}

void bd_gemm_pack(const bd_gemm *gemm, const bd_gemm_shape *shape, const bd_call *call,
                  const bd_gemm_side *side, int64_t batch, int64_t block, int64_t k, int64_t k_end,
                  void *to)
{
    panel p = {gemm, shape, side, call, batch, 0, 0, 0, k, side->depth, to};
    int64_t at_once = side->across ? BD_GEMM_PACK_ROWS : most(k_end - k, 1);
    for (; k < k_end; k += at_once)
        pack_block(&p, block, k, least(at_once, k_end - k));
}

void bd_gemm_pack_part(const bd_gemm *gemm, const bd_gemm_shape *shape, const bd_call *call,
                       const bd_gemm_side *side, int64_t batch, int64_t part, void *to)
{
    panel p = {gemm, shape, side, call, batch, 0, 0, 0, 0, side->depth, NULL};
    bool one = side->part_k == 0; /* block */
    int64_t first = one ? 0 : part * side->part_k;
    int64_t last = one ? shape->k : least(first + side->part_k, shape->k);
    for (int64_t block = one ? part : 0; block < (one ? part + 1 : side->blocks); block++) {
        int64_t end = last;
        for (int64_t k = first; k < last; k = end) {
            int64_t place = block * side->block_elements;
            if (side->chunked) {
                int64_t chunk_end = bd_gemm_chunk_at(shape, k, &p.k_first);
                p.depth = chunk_end - p.k_first;
                place += p.k_first * side->block;
                end = least(chunk_end, last);
            }
            p.to = (char *)to + place * gemm->element_bytes;
            pack_block(&p, block, k, end - k);
        }
    }
}
