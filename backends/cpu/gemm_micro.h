/* SPDX-License-Identifier: Apache-2.0
 * Micro-kernels: the inner loops of contractions, written as explicit vectors, one set for each
 * target and element type (T is float or double, L the lanes of a vector). Names and types:
 *   "m<rows>x<vectors>"  bd_micro_tile: c[r, j] = sum of a[r, k * a_step] times b[j + k * b_step],
 *                        for rows r and vectors * L columns j, added to what c holds if `add` is
 *                        not 0. No masks.
 *   "w<rows>x<vectors>"  bd_micro_tabled_tile: the same of a[r, table[2 * k] * a_step] and
 *                        b[j + table[2 * k + 1]].
 *   "d<rows>x<others>"   bd_micro_dots: c[o, r] = sum of s[r, k] * t[o, k]; steps between rows.
 *   "s<rows>x<depth>"    bd_micro_stream: c[r, j] += sum of a[r, k * a_step] * b[j + k * b_step],
 *                        k < depth, 1 or bd_micro_stream_depth, for j < columns: few rows, with
 *                        long runs of b. Only if bd_micro_streams.
 *   "t"                  bd_micro_turn: to[c * to_step + r] = from[r, c] for r < rows, c < columns.
 *                        rows <= bd_micro_turn_rows; that many elements are written for each c,
 *                        junk from `rows` on, in the order of c.
 * Steps are in elements; those between rows of a and of `from` in bytes (row_bytes).
 *   With BF16 an element is a pair of bf16 that follow each other along K: the sum of both products
 * is added to a float. There are no dots. Numbers too small to be normal count as 0.
 *   "p"                  bd_micro_pair: to[j + i * to_step] = the pair even[i, j], odd[i, j] for
 *                        j < columns, i < pairs; zeros up to the next multiple of L.
 *   "q", "r"             the same, but nothing beyond the columns; even[i, 2 * j], odd[i, 2 * j].
 *   "n<rows>x<vectors>"  bd_micro_tile with single numbers for b, which lie side by side; b_step is
 *                        the bytes between those of one k and of the next.
 *   "b", "e"             with AMX: around any number of tiles, on the thread that runs them. There
 *                        a tile of `rows` has 16 times as many, k is a multiple of 16 and a_step 1.
 *                        The table of tabled ones has a pair of offsets for 16 k, which follow each
 *                        other in a and lie a_step apart in b.
 * Generated code is pure and shared; thread: any. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backends/cpu/jit.h"
#include "proto/dtype.h"

enum {
    BD_MICRO_ROWS_MAX = 9,
    BD_MICRO_VECTORS_MAX = 4,
    BD_MICRO_DOT_ROWS = 4,
    BD_MICRO_PAIRS = 16, /* that packed operands have a multiple of */
    BD_MICRO_AMX_ROWS = 16,
    BD_MICRO_THIN_ROWS = 4,
    BD_MICRO_THIN_VECTORS = 4,
    BD_MICRO_STREAM_DEPTH = 8, /* at most */
};

typedef void (*bd_micro_tile)(const void *a, int64_t a_row_bytes, int64_t a_step, const void *b,
                              int64_t b_step, void *c, int64_t c_step, int64_t k, int64_t add);
typedef void (*bd_micro_tabled_tile)(const void *a, int64_t a_row_bytes, int64_t a_step,
                                     const void *b, const int32_t *table, void *c, int64_t c_step,
                                     int64_t k, int64_t add);
typedef void (*bd_micro_dots)(const void *s, int64_t s_step, const void *t, int64_t t_step, void *c,
                              int64_t c_step, int64_t k);
typedef void (*bd_micro_stream)(const void *a, int64_t a_row_bytes, int64_t a_step, const void *b,
                                int64_t b_step, void *c, int64_t c_step, int64_t columns);
typedef void (*bd_micro_turn)(const void *from, int64_t row_bytes, void *to, int64_t to_step,
                              int64_t rows, int64_t columns);
typedef void (*bd_micro_pair)(const void *even, const void *odd, int64_t pair_bytes, void *to,
                              int64_t to_step, int64_t columns, int64_t pairs);
typedef void (*bd_micro_begin)(const void *tiles); /* bd_amx_tiles */
typedef void (*bd_micro_end)(void);

/* Bytes of an element. */
static inline int64_t bd_micro_bytes(burn_dtype element)
{
    return element == BURN_F64 ? 8 : 4;
}

/* The vectors of a full tile: few loads for each product, as many sums as registers hold. */
int bd_micro_vectors(const bd_target *target, burn_dtype element);
/* Whether a tile of this size exists for the target. 1 .. bd_micro_vectors have the same row
 * counts, among them 1 to 4, with AMX 1 and 2; 4 vectors, if at all, only these. */
bool bd_micro_has(const bd_target *target, burn_dtype element, int vectors, int rows);
int bd_micro_row_unit(const bd_target *target, burn_dtype element); /* what `rows` counts */
int bd_micro_turn_rows(const bd_target *target, burn_dtype element);
bool bd_micro_streams(const bd_target *target, burn_dtype element);
int bd_micro_stream_depth(int rows); /* k that a stream adds at once */

typedef struct bd_micro {
    bd_micro_tile tiles[BD_MICRO_VECTORS_MAX + 1][BD_MICRO_ROWS_MAX + 1]; /* [vectors][rows] */
    bd_micro_dots dots[BD_MICRO_DOT_ROWS + 1][BD_MICRO_DOT_ROWS + 1];     /* [1 or 4][1, 2 or 4] */
    bd_micro_stream streams[BD_MICRO_THIN_ROWS + 1][2]; /* [rows]: of a single k, of several */
    bd_micro_turn turn;
    bd_micro_pair pair, exact, apart; /* BF16 only, "p", "q", "r" */
    bd_micro_tile thin[BD_MICRO_THIN_ROWS + 1];
    bd_micro_begin begin; /* NULL without AMX */
    bd_micro_end end;
} bd_micro;

/* The tiles that read by a table; these are a set of their own, and none has 4 vectors. */
typedef struct bd_micro_tabled {
    bd_micro_tabled_tile tiles[BD_MICRO_VECTORS_MAX][BD_MICRO_ROWS_MAX + 1];
} bd_micro_tabled;

/* Writes all of them into a module: declared in gemm.h. Finds them in loaded code: DEVICE if one is
 * missing. */
bd_error *bd_micro_find_tabled(const bd_target *target, burn_dtype element, const bd_loaded *code,
                               bd_micro_tabled *out) BD_MUST_USE;
bd_error *bd_micro_find(const bd_target *target, burn_dtype element, const bd_loaded *code,
                        bd_micro *out) BD_MUST_USE;
/* What `begin` takes: all tiles of 16 rows by 64 bytes. */
extern const uint8_t bd_amx_tiles[64];
