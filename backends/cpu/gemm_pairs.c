/* SPDX-License-Identifier: Apache-2.0
 * Operands of bf16 to panels of pairs along K. Columns are stored pair by pair, rows one after the
 * other. What a panel has beyond K is zero. */
#include <string.h>

#include "backends/cpu/gemm_parts.h"

enum {
    SINGLES = BD_GEMM_TURN_COLUMNS, /* of a row that a pack function yields at once */
    WIDTH = 64,                     /* of a panel at most */
    GROUP = 16,                     /* rows that are turned at once */
    JOINED_AT = GROUP * SINGLES * 2, /* bytes of the worker's temp before joined pairs */
};

/* Single numbers of a panel: (row, k) stands at row * row_step + k * k_step. */
typedef struct source {
    const uint16_t *from;
    int64_t row_step, k_step;
    int64_t rows, count; /* count: along K */
} source;

static char *temp_of(const bd_gemm_panel *p)
{
    return p->call->worker_scratch + p->shape->worker_temp;
}

static uint32_t pair_at(const source *s, int64_t row, int64_t pair)
{
    const uint16_t *even = s->from + row * s->row_step + 2 * pair * s->k_step;
    return 2 * pair + 1 < s->count ? *even | (uint32_t)even[s->k_step] << 16 : *even;
}

/* Pairs of rows that lie side by side. Zeros up to 16 rows. */
static void join(const bd_gemm *gemm, const source *s, uint32_t *to, int64_t to_step)
{
    static const uint16_t zeros[WIDTH];
    int64_t pairs = s->count / 2;
    gemm->micro.pair(s->from, s->from + s->k_step, 4 * s->k_step, to, to_step, s->rows, pairs);
    if (s->count % 2)
        gemm->micro.pair(s->from + 2 * pairs * s->k_step, zeros, 0, to + pairs * to_step, to_step,
                         s->rows, 1);
}

/* Pairs of rows that lie along K. The junk behind each group is written over by the next one. */
static void turn(const bd_gemm *gemm, const source *s, uint32_t *to, int64_t to_step)
{
    int64_t pairs = s->count / 2, unit = gemm->turn_rows;
    for (int64_t group = (s->rows - 1) / unit * unit; group >= 0; group -= unit)
        gemm->micro.turn(s->from + group * s->row_step, 2 * s->row_step, to + group, to_step,
                         least(unit, s->rows - group), pairs);
    for (int64_t row = 0; row < s->rows && s->count % 2; row++)
        to[pairs * to_step + row] = pair_at(s, row, pairs);
}

/* Zeros where a panel of columns has no numbers; all over if there are columns too few. */
static void clear(const bd_gemm_panel *p, uint32_t *to, int64_t pairs, int64_t count)
{
    int64_t filled = p->rows < p->step ? 0 : (count + 1) / 2;
    memset(to + filled * p->step, 0, (size_t)((pairs - filled) * p->step) * sizeof *to);
}

static void pack_columns(const bd_gemm_panel *p, const source *s, uint32_t *to, int64_t pairs)
{
    int64_t filled = (s->count + 1) / 2;
    clear(p, to, pairs, s->count);
    if (s->k_step != 1 && s->row_step == 1)
        join(p->gemm, s, to, p->step);
    else if (s->k_step == 1)
        turn(p->gemm, s, to, p->step);
    else
        for (int64_t pair = 0; pair < filled; pair++)
            for (int64_t row = 0; row < s->rows; row++)
                to[pair * p->step + row] = pair_at(s, row, pair);
}

/* Rows that lie across K: joined, and turned in squares. */
static void turn_rows(const bd_gemm_panel *p, const source *s, uint32_t *to, int64_t pairs)
{
    const bd_gemm *gemm = p->gemm;
    uint32_t *joined = (uint32_t *)(void *)(temp_of(p) + JOINED_AT);
    int64_t depth = p->side->depth, filled = (s->count + 1) / 2;
    memset(joined + filled * GROUP, 0, (size_t)(pairs - filled) * GROUP * sizeof *joined);
    for (int64_t row = 0; row < s->rows; row += GROUP) {
        source part = *s;
        part.from += row;
        part.rows = least(GROUP, s->rows - row);
        join(gemm, &part, joined, GROUP);
        for (int64_t pair = 0; pair < pairs; pair += gemm->turn_rows)
            gemm->micro.turn(joined + pair * GROUP, GROUP * sizeof *joined, to + row * depth + pair,
                             depth, gemm->turn_rows, part.rows);
    }
}

static void pack_rows(const bd_gemm_panel *p, const source *s, uint32_t *to, int64_t pairs)
{
    int64_t depth = p->side->depth, filled = (s->count + 1) / 2;
    if (s->k_step != 1 && s->row_step == 1) {
        turn_rows(p, s, to, pairs);
        return;
    }
    for (int64_t row = 0; row < s->rows; row++) {
        uint32_t *line = to + row * depth;
        if (s->k_step == 1)
            memcpy(line, s->from + row * s->row_step, (size_t)s->count / 2 * sizeof *line);
        for (int64_t pair = s->k_step == 1 ? s->count / 2 : 0; pair < filled; pair++)
            line[pair] = pair_at(s, row, pair);
        memset(line + filled, 0, (size_t)(pairs - filled) * sizeof *line);
    }
}

static void pack_plain(const bd_gemm_panel *p, int64_t k, int64_t pairs, int64_t count,
                       uint32_t *to)
{
    const bd_gemm_side *side = p->side;
    const uint16_t *from = bd_gemm_element_at(p->gemm, p->call, &side->operand->access, p->batch);
    from += p->first * side->step + 2 * k * side->step_k;
    source s = {from, side->step, side->step_k, p->rows, count};
    if (side == &p->shape->rows)
        pack_rows(p, &s, to, pairs);
    else
        pack_columns(p, &s, to, pairs);
}

/* The pack function yields rows along K: to their places at once, */
static void evaluate_rows(const bd_gemm_panel *p, int64_t k, int64_t pairs, int64_t count,
                          uint32_t *to)
{
    int64_t depth = p->side->depth;
    if (count > 0)
        bd_gemm_evaluate(p, 2 * k, count, to, 2 * depth);
    for (int64_t row = 0; row < p->rows; row++)
        memset((uint16_t *)(to + row * depth) + count, 0, (size_t)(2 * pairs - count) * 2);
}

/* and columns, to be turned. */
static void evaluate_columns(const bd_gemm_panel *p, int64_t k, int64_t pairs, int64_t count,
                             uint32_t *to)
{
    uint16_t *yielded = (uint16_t *)(void *)temp_of(p);
    clear(p, to, pairs, count);
    for (int64_t at = 0; at < count; at += SINGLES) {
        for (int64_t row = (p->rows - 1) / GROUP * GROUP; row >= 0; row -= GROUP) {
            bd_gemm_panel part = *p;
            part.first += row;
            part.rows = least(GROUP, p->rows - row);
            source s = {yielded, SINGLES, 1, part.rows, least(SINGLES, count - at)};
            bd_gemm_evaluate(&part, 2 * k + at, s.count, yielded, SINGLES);
            turn(p->gemm, &s, to + at / 2 * p->step + row, p->step);
        }
    }
}

void bd_gemm_pack_pairs(const bd_gemm_panel *p, int64_t k, int64_t pairs)
{
    bool is_rows = p->side == &p->shape->rows;
    uint32_t *to = (uint32_t *)(void *)p->to + (k - p->k_first) * (is_rows ? 1 : p->step);
    int64_t count = most(0, least(2 * pairs, p->shape->single_k - 2 * k));
    if (p->side->plain) {
        pack_plain(p, k, pairs, count, to);
        return;
    }
    if (p->side->walk == BD_GEMM_ALONG_K) {
        if (is_rows)
            evaluate_rows(p, k, pairs, count, to);
        else
            evaluate_columns(p, k, pairs, count, to);
        return;
    }
    uint16_t *yielded = (uint16_t *)(void *)temp_of(p);
    if (count > 0)
        bd_gemm_evaluate(p, 2 * k, count, yielded, WIDTH);
    source s = {yielded, 1, WIDTH, p->rows, count};
    if (is_rows)
        pack_rows(p, &s, to, pairs);
    else
        pack_columns(p, &s, to, pairs);
}
