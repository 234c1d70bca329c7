/* SPDX-License-Identifier: Apache-2.0
 * Products whose operand B is windows, that is, elements that recur: convolutions. Packing would
 * write each element as often as it recurs. Here B is copied once, so that vectors of columns lie
 * side by side in the copy and what guards leave out is 0 there; the micro-kernels then find the
 * elements of each k by a table of offsets.
 *   A dim of the copy is a coordinate that a column axis and an axis of K move together, as places
 * and elements of a window do, or one axis alone. Dims that only K moves stand outside, then those
 * of the columns in their order. Columns a stride apart are split into phases, so that they lie
 * side by side. The zeros at the end of a row are those at the begin of the next one.
 *   The innermost column axes count as one run of places in the copy, some of which are no column
 * (junk); the axes outside of them number the groups of runs. Sums of junk are dropped. Where the
 * innermost column axis is short, as that of a window in a gradient of weights, the outermost one
 * (channels) lies innermost in the copy, and sums are put in order before the epilogue; a block of
 * columns then is some channels by all others.
 *   An item is a block of rows by a block of columns of one batch point and one range of K. Sizes
 * alone decide, so results do not depend on the number of workers.
 *   An element of BF16 is a pair of numbers that follow each other along one axis of K, which moves
 * a dim of its own (channels): the copy joins them, rows are packed in the same order. Groups of
 * pairs stand outermost in K, the other axes inside; a row of the table is a group, with AMX as
 * many pairs as a tile takes, which are zero beyond the axis. Rows then are packed as tiles, those
 * of two tiles for each group. Thread: any. */
#pragma once

#include "backends/cpu/gemm_parts.h"

enum {
    BD_WINDOW_SEGMENT = 3,    /* numbers of a stretch of columns */
    BD_WINDOW_PAIR_ROWS = 16, /* packed as pairs by one item */
};

typedef struct bd_window_dim {
    int n_axis, k_axis;      /* that move it; -1: none */
    int64_t first, extent;   /* coordinate at position 0; those from 0 to extent exist */
    int64_t stride;          /* coordinates between entries: of n_axis, or of k_axis if alone */
    int64_t k_stride;        /* coordinates between positions of k_axis */
    int64_t from_step;       /* elements of memory between coordinates */
    int64_t phases;          /* of coordinates; entries of one are `stride` apart */
    int64_t count;           /* positions of n_axis, or 1 */
    int64_t numbers;         /* of k_axis, that are joined to pairs; else 0 */
    int64_t size, shared;    /* entries of a phase; more that are the next row's */
    int64_t step, phase_step; /* in the copy */
} bd_window_dim;

typedef struct bd_window_shape {
    int64_t batch, m, n, k;
    bool mirrored; /* columns and K have changed roles (window_dots.c) */
    bd_window_dim dims[BD_KIR_AXES_MAX];
    int dim_count, k_dims;  /* the first ones have no column axis */
    int part_dims;          /* the first ones number the parts that are copied */
    int64_t parts;          /* of a batch point */
    int64_t copy_elements;  /* of a batch point */
    int pair_dim;           /* whose numbers are joined, or -1; then */
    int64_t pairs, group;   /* its pairs, with zeros; those of a row of the table, or 1 */
    int64_t outer;          /* places of the other axes of K */
    int64_t tall;           /* packed rows whose groups follow each other, or 1 */
    int64_t depth;          /* elements that a packed row takes up, */
    int64_t row_apart, group_apart; /* and those between such rows, and between a row's groups */
    int64_t copies;         /* the batch points, or 1 */
    bool turned;            /* the first dim of columns lies innermost */
    int64_t inner_block;    /* turned: its positions in a block of columns, */
    int64_t turned_step;    /* and columns between them */
    int run_dim;            /* the first dim of a run */
    int64_t run, wide;      /* places of a run; rounded up to vectors */
    int64_t columns;        /* of all groups and blocks, with junk */
    bd_gemm_shape rows;     /* only what its side of rows needs */
    bool packed;            /* else rows are read where they lie */
    int64_t row_step;
    int64_t vectors;        /* of a panel of columns */
    int64_t row_block, row_blocks, column_block, column_blocks;
    bool rows_outside;      /* items of the same rows follow each other */
    int64_t splits, split_k, chunk_k;
    bool direct_store;      /* the epilogue stores sums side by side, */
    int64_t out_step;       /* rows of them so far apart */
    int64_t slack;          /* zeros behind the copies */
    const int32_t *offsets; /* mirrored: the table */
    bool local;             /* each item makes its own copy, which is no other's */
    size_t table_at, copy_at, rows_at, partial_at, shared_bytes;
    size_t worker_c, worker_turned, worker_segments, worker_bytes;
} bd_window_shape;

/* NULL if the product is none of windows with these sizes, or not the better for it. */
const bd_window_shape *bd_window_shape_of(const bd_gemm *gemm, const int64_t *ints,
                                          bd_arena *arena);
/* The passes of a kernel; their number. */
int bd_window_plan(const bd_gemm *gemm, const bd_window_shape *shape, bd_pass *out_passes);

/* The same for products that window_dots.c does: NULL if this is none, or not the better for it. */
const bd_window_shape *bd_window_dots_of(const bd_gemm *gemm, const int64_t *ints, bd_arena *arena);
int bd_window_dots_plan(const bd_gemm *gemm, const bd_window_shape *shape, bd_pass *out_passes);

/* Entries of a phase whose coordinates are below a limit, if there were no end. */
int64_t bd_window_entries_below(const bd_window_dim *dim, int64_t phase, int64_t limit);
/* Where a row of pairs begins, in elements. */
static inline int64_t bd_window_pair_row(const bd_window_shape *shape, int64_t m)
{
    return m / shape->tall * shape->tall * shape->depth + m % shape->tall * shape->row_apart;
}

/* Pairs of offsets for each k (mirrored: column): of rows (packed ones: k) and of the copy. */
void bd_window_table(const bd_gemm *gemm, const bd_window_shape *shape, const int64_t *ints,
                     int32_t *out);
/* The first elements of row m as its function yields them, in the worker's memory. */
const void *bd_window_yielded_row(const bd_gemm *gemm, const bd_window_shape *shape,
                                  const bd_call *call, int64_t batch, int64_t m, int64_t count);
/* Packs one part of the rows of a batch point as pairs (window_pairs.c). */
void bd_window_pack_pairs(const bd_gemm *gemm, const bd_window_shape *shape, const bd_call *call,
                          int64_t batch, int64_t part, char *to);
/* Rows of numbers that become pairs: those of a row lie `step` apart. */
typedef struct bd_window_numbers {
    const uint16_t *even, *odd; /* odd NULL: they are 0 */
    int64_t step, count, row_step, rows;
} bd_window_numbers;
void bd_window_join(const bd_gemm *gemm, const bd_window_numbers *from, uint32_t *to,
                    int64_t to_step);
/* Copies one part of a batch point. */
void bd_window_copy(const bd_gemm *gemm, const bd_window_shape *shape, const bd_call *call,
                    int64_t batch, int64_t part, char *to);
