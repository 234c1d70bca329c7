/* SPDX-License-Identifier: Apache-2.0
 * Kernel IR as text of the C family, for compilers of vendors. The text goes behind the prelude
 * (prelude.cuh). Pure functions; thread: any.
 *
 * Every entry has the parameters of bd_cfamily_parameters: the arguments of one block (integer
 * arguments, buffers, scalars: 8 bytes each, in this order) by value or in a table, where faults
 * go, scratch, how many rows run at once (lanes), the numbers of launch and block, how LOOP
 * programs are spread (below), counters that are 0 and stay so. Entries run with 256 threads a
 * block:
 *   rows     LOOP: a thread a row, rows `lanes` apart
 *   parts    LOOP that only stores to computed places, in order: `splits` threads (a power of 2)
 *            a row, which divide these places among them
 *   vectors  LOOP that is a map: a thread does `wide` neighbours, by loads and stores of 16 bytes
 *   rows_many, vectors_many  the same of a map for `splits` blocks of arguments at once: the table
 *            has the number of the first of each one's blocks of threads, and the number of all;
 *            then for each its number and its arguments. `lanes` and `block` are not read
 *   teams    LOOP: `team` threads (32 or 256) a row, or `splits` blocks a row
 *   wides    the same, `wide` neighbours at once
 *   held     the same for rows of at most `held` points a thread, which stay in registers
 *   down     LOOP: 32 rows a block, `splits` blocks for these; of sums down columns
 *   downs    the same, `wide` neighbouring rows a thread
 *   product  CONTRACTION, of any kind and size: a block of threads a tile of 64 x 64
 *   huge, large, small, join, columns  CONTRACTION of floats (product.cuh); `lanes` is the plan
 *   joins    join of sums that lie row by row, by pieces of 16 bytes
 *   copy_a, copy_b  CONTRACTION of floats: a dense copy of an operand at `scratch`, by batch, then
 *            k and rows, or rows and k if `lanes` says BY_DEPTH; 256 x 32 elements a block
 *   attend   ATTENTION: a block of threads a query
 *   attend_64, attend_128  ATTENTION of 16-bit floats (attention.cuh): 128 threads a block, and 128
 *            queries; K and E at most 64, 128; `lanes` is the plan
 *   groups_64, groups_128  the same by the matrix instructions of sm_90 (attention_sm90.cuh): 384
 *            threads a block, as many blocks as can run at once; keys and values are WIDE
 * Slots and scores lie in scratch, 8 bytes a value: for each of the lanes. */
#pragma once

#include <stdbool.h>

#include "backends/kir/kir.h"

enum { BD_CFAMILY_THREADS = 256, BD_CFAMILY_TILE = 64 };
enum {
    BD_CFAMILY_WARP = 32,
    BD_CFAMILY_COUNTERS = 1 << 16,
    BD_CFAMILY_PARTIAL_BYTES = 16, /* of a reduction, for each row and split */
    BD_CFAMILY_WORDS_MOST = 480,   /* arguments of a block that fit into a kernel's parameters */
};

extern const char bd_cfamily_prelude[], bd_cfamily_product[],
    bd_cfamily_product_sm90[], bd_cfamily_attention[],
    bd_cfamily_attention_sm90[]; /* embedded by the build */
extern const char bd_cfamily_parameters[];

/* Makes BATCH axes that an operand does not depend on rows of the other one: a product of many
 * small ones becomes a large one. Every function here takes programs folded or not, and prints
 * them folded. */
void bd_cfamily_fold(bd_kir *program);

/* Whether there is `huge` on sm_90: 16-bit floats, both operands plain. */
bool bd_cfamily_has_huge_tiles(const bd_kir *program);
/* Whether there is `columns`: both operands lie in the order of k. */
bool bd_cfamily_has_columns(const bd_kir *program);
/* Whether there is `copy_a` or `copy_b`: an operand that may be no matrix in memory. */
bool bd_cfamily_copies(const bd_kir *program, bd_kir_phase_kind kind);
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
/* Whether there are groups_64 and groups_128 on sm_90. */
bool bd_cfamily_attends_by_groups(const bd_kir *program);
/* Where an epilogue that does nothing else stores the sums, in the order of E; or NULL. */
const bd_kir_access *bd_cfamily_plain_store(const bd_kir *program);
/* An operand of a product or an attention. plain: its phase is a load without a guard, and nothing
 * else; along: and it lies in the order of its depth. */
typedef enum bd_cfamily_order {
    BD_CFAMILY_ANY_ORDER, /* the plan says */
    BD_CFAMILY_BY_DEPTH,
    BD_CFAMILY_BY_ROWS,
} bd_cfamily_order;
typedef struct bd_cfamily_side {
    bd_kir_role rows, depth;
    bool plain, along, single;
    bd_cfamily_order order; /* in which neighbouring threads take elements */
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
    BD_CFAMILY_SUMS_HALF = 1 << 22, /* of `join`: the one piece has 16-bit sums */
    BD_CFAMILY_OUT_WIDE = 1 << 23,  /* of `groups`: the plain store goes to aligned runs */
    BD_CFAMILY_QUERIES_WIDE = 1 << 24, /* likewise: queries are made of such runs */
    BD_CFAMILY_PLACES_SHIFT = 32, /* of `join`: above are the places of an image, if sums
                                   * lie image by image */
    BD_CFAMILY_PIECES_MOST = 0xffff,
    BD_CFAMILY_COPY_ROWS = 256,
    BD_CFAMILY_COPY_DEPTH = 32,
    BD_CFAMILY_JOINS_RUNS = 2, /* of neighbours: a thread of `joins` has so many at a time */
    BD_CFAMILY_JOIN_ROWS = 8, /* a thread of `join` has so many at a time */
    BD_CFAMILY_LARGE = 128, /* rows and columns of a tile; of a huge one 128 and 256 */
    BD_CFAMILY_SMALL = 64,
    BD_CFAMILY_FEW_ROWS = 4, /* `columns` has at most so many, and 8 columns a block; A, B wide */
    BD_CFAMILY_QUERIES = 128,
    BD_CFAMILY_KEYS = 64,
    BD_CFAMILY_ATTEND_THREADS = 128,
    BD_CFAMILY_GROUPS_THREADS = 384,
    BD_CFAMILY_GROUPS_RING = 3, /* keys and values of so many tiles of 128 */
    BD_CFAMILY_WIDTH_MOST = 128,
};

/* Arguments passed by value; 0: they lie in the GPU's memory, at `table`. */
int bd_cfamily_words(const bd_kir *program);
/* The entries of a LOOP program, and what it may be split by; of a CONTRACTION `wide`, `along`. */
typedef struct bd_cfamily_loop {
    bool teams;     /* the points of a row may be divided among threads */
    int wide;       /* neighbours at once, of a CONTRACTION in `joins`; 0: no entry for that */
    int along;      /* the axis on which they lie */
    int held;       /* points a thread; 0: no such entry */
    int reductions; /* > 0: rows may be split; scratch: 16 bytes for each, row and split */
    bool down;      /* sums run down columns */
    bool map;       /* a phase a row, and no more */
    bool parts;     /* places of stores may be divided among threads */
} bd_cfamily_loop;
bd_cfamily_loop bd_cfamily_loop_of(const bd_kir *program);
/* Whether wide entries reach this access by aligned pieces of `wide` elements, at most 16 bytes
 * each, along an axis. */
bool bd_cfamily_is_wide(const bd_kir *program, int along, const bd_kir_instr *instr);
/* A program's entries come in modules, compiled apart, and side by side: some take a second. */
enum { BD_CFAMILY_MODULES_MOST = 5 };
/* How many there are; sm_90: with those of its matrix instructions. */
int bd_cfamily_modules(const bd_kir *program, bool sm_90);
/* Which one has the entry. */
int bd_cfamily_module_of(const char *entry);
/* What it takes to compile a module, beside others. */
int bd_cfamily_cost(const bd_kir *program, int module);
/* The whole source of one, prelude included. Heap; the caller frees with bd_free. */
char *bd_cfamily_print(const bd_kir *program, int module);
