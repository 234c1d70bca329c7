/* SPDX-License-Identifier: Apache-2.0
 * Kernel IR as text of the C family, for compilers of vendors. The text goes behind the prelude
 * (prelude.cuh). Pure functions; thread: any.
 *
 * Every entry has the parameters of bd_cfamily_parameters: the arguments of one block (integer
 * arguments, buffers, scalars: 8 bytes each, in this order), where faults go, scratch, how many
 * rows run at once (lanes), the numbers of launch and block. Entries run with 256 threads a block:
 *   rows     LOOP: a thread a row, rows `lanes` apart
 *   blocks   LOOP: a block of threads a row; only if the program has EACH phases that may share
 *   product  CONTRACTION, of any kind and size: a block of threads a tile of 64 x 64
 *   huge, large, small, join, columns  CONTRACTION of floats (product.cuh); `lanes` is the plan
 *   attend   ATTENTION: a block of threads a query
 *   attend_64, attend_128  ATTENTION of 16-bit floats (attention.cuh): 128 threads a block, and 128
 *            queries; K and E at most 64, 128; `lanes` is the plan
 * Slots and scores lie in scratch, 8 bytes a value: for each of the lanes. */
#pragma once

#include <stdbool.h>

#include "backends/kir/kir.h"

enum { BD_CFAMILY_THREADS = 256, BD_CFAMILY_TILE = 64 };

extern const char bd_cfamily_prelude[], bd_cfamily_product[],
    bd_cfamily_product_sm90[], bd_cfamily_attention[]; /* embedded by the build */
extern const char bd_cfamily_parameters[];

/* Whether the points of a row may be divided among threads. */
bool bd_cfamily_shares_rows(const bd_kir *program);
/* Makes BATCH axes that an operand does not depend on rows of the other one: a product of many
 * small ones becomes a large one. Every function here takes programs folded or not, and prints
 * them folded. */
void bd_cfamily_fold(bd_kir *program);

/* Whether there is `huge` on sm_90: 16-bit floats, both operands plain. */
bool bd_cfamily_has_huge_tiles(const bd_kir *program);
/* Whether there is `columns`: both operands lie in the order of k. */
bool bd_cfamily_has_columns(const bd_kir *program);
/* What an operand's phase yields. */
burn_dtype bd_cfamily_element(const bd_kir *program, bd_kir_phase_kind kind);

/* ---- products and attention by tiles (product.cuh, attention.cuh) ---- */
typedef enum bd_cfamily_tiles {
    BD_CFAMILY_NO_TILES, /* `product` only */
    BD_CFAMILY_FLOAT_TILES,
    BD_CFAMILY_HALF_TILES,
} bd_cfamily_tiles;
bd_cfamily_tiles bd_cfamily_tiles_of(const bd_kir *program);
/* Whether there are attend_64 and attend_128, and whether their scores are made of a product. */
bool bd_cfamily_attends_by_tiles(const bd_kir *program);
bool bd_cfamily_has_product(const bd_kir *program);
/* An operand of a product or an attention. plain: its phase is a load without a guard, and nothing
 * else; along: and it lies in the order of its depth. */
typedef struct bd_cfamily_side {
    bd_kir_role rows, depth;
    bool plain, along;
} bd_cfamily_side;
bd_cfamily_side bd_cfamily_side_of(const bd_kir *program, bd_kir_phase_kind kind);
/* Plans: the number of pieces of k, and these. A_WIDE, B_WIDE: aligned runs of 16 bytes. */
enum {
    BD_CFAMILY_A_WIDE = 1 << 16,
    BD_CFAMILY_B_WIDE = 1 << 17,
    BD_CFAMILY_A_BY_DEPTH = 1 << 18,
    BD_CFAMILY_B_BY_DEPTH = 1 << 19,
    BD_CFAMILY_C_WIDE = 1 << 20,
    BD_CFAMILY_C_BY_DEPTH = 1 << 21,
    BD_CFAMILY_PIECES_MOST = 0xffff,
    BD_CFAMILY_LARGE = 128, /* rows and columns of a tile; of a huge one 128 and 256 */
    BD_CFAMILY_SMALL = 64,
    BD_CFAMILY_FEW_ROWS = 4, /* `columns` has at most so many, and 8 columns a block; A, B wide */
    BD_CFAMILY_QUERIES = 128,
    BD_CFAMILY_KEYS = 64,
    BD_CFAMILY_ATTEND_THREADS = 128,
    BD_CFAMILY_WIDTH_MOST = 128,
};

/* The whole source, prelude included. Heap; the caller frees with bd_free. */
char *bd_cfamily_print(const bd_kir *program);
