/* SPDX-License-Identifier: Apache-2.0
 * What the files of the GEMM share. How a product is done:
 *   One operand gives the rows of a tile, element by element, the other one its columns, as
 * vectors. Rows are A's, unless it is cheaper to compute the transpose and turn it at the end
 * (swapped). The row side is cut into panels of a few rows, the column side into panels of 1, 2 or
 * 4 vectors. A panel that is packed is stored k by k, so that a micro-kernel reads it in order. An
 * operand that the micro-kernel can read where it lies is not packed (DIRECT); others are, by a
 * pass of their own (SHARED) or by each item for itself (LOCAL). An item of the compute pass is a
 * block of rows by a block of columns of one batch point, over all of K. It leaves its sums in the
 * output, if the epilogue is a plain store, or in its worker's scratch for the epilogue. Up to four
 * rows only (thin) are ruled by memory: columns that lie along K are multiplied as dot products
 * (dots; also of small matrices, where packing would take longer than the product), columns that
 * lie along N in short chunks of K over many columns, in long runs of memory where vectors are
 * short (streamed). A tall K over a small output is split into
 * fixed ranges, whose sums a last pass adds. Blocks depend on the sizes only, so results do not
 * depend on the number of workers.
 *   An element of BF16 is a pair along K. Panels of columns hold pairs; rows lie, also in panels,
 * one after the other along K, as tile registers load them. Both are zero beyond K, which counts up
 * to the next multiple of 16 pairs. A thin product reads its columns unpacked.
 */
#pragma once

#include "backends/cpu/gemm.h"
#include "backends/cpu/gemm_micro.h"
#include "proto/base/arena.h"

/* params of a bd_call that runs a pack or epilogue function: rows are M for A and the epilogue, N
 * for B; columns K, K and N. Element (r, c) stands at memory + r * step + c, or, for a pack
 * function that is not along K, at memory + c * step + r. */
enum {
    BD_GEMM_BATCH,
    BD_GEMM_ROW,
    BD_GEMM_ROWS,
    BD_GEMM_COLUMN,
    BD_GEMM_COLUMNS,
    BD_GEMM_MEMORY,
    BD_GEMM_STEP,
    BD_GEMM_FACTORS, /* if the block is scaled: of its rows, of the block's element */
};
/* Writes a function over a block: it puts what the phase yields into it; EPILOGUE and SCORE read
 * ACC from it first. Also used by attention (block_emit.c). */
enum { BD_BLOCK_NO_ROLE = -1 };
typedef struct bd_block_spec {
    bd_kir_phase_kind kind;
    burn_dtype element;         /* of the block: F32 or F64; what is packed also BF16 */
    int outer_role, inner_role; /* bd_kir_role or NO_ROLE; vectors lie along the inner one */
    bool turned;                /* rows of the block are inside, its columns outside */
    bool scaled;                /* ACC is what the block holds times its row's factor */
    bool is_short;              /* rows have few vectors: one masked loop, which is less code */
} bd_block_spec;
void bd_block_emit(bd_module *module, const bd_kir *program, const char *name,
                   const bd_block_spec *spec);
/* params of the compute and pack passes: the kernel, and its shape with these sizes. */
enum { BD_GEMM_KERNEL, BD_GEMM_SHAPE };

enum {
    BD_GEMM_TURN_COLUMNS = 512,
    BD_GEMM_PACK_ROWS = 32,  /* k that are packed at once of an operand that lies across K, */
    BD_GEMM_PACK_TURN = 128, /* and of columns that lie along K */
    BD_GEMM_THIN_ROWS = 4,
    BD_GEMM_PAD = 16, /* elements of junk that a transpose may leave behind a block */
};

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t ceiling(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Makes room for some elements behind those before; returns where, in bytes. */
static inline size_t place_elements(size_t *total_bytes, int64_t elements, int64_t element_bytes)
{
    size_t at = *total_bytes;
    *total_bytes += ((size_t)(elements * element_bytes) + 63) & ~(size_t)63;
    return at;
}

/* Whether a product may be one of groups with few elements each, as depthwise convolutions are:
 * such ones also have a form as loops, which reads operands where they lie. */
bool bd_gemm_may_loop(const bd_target *target, const bd_kir *program);

/* Which way the vectors of a pack function walk. */
typedef enum bd_gemm_walk { BD_GEMM_ACROSS_K, BD_GEMM_ALONG_K, BD_GEMM_WALKS } bd_gemm_walk;

typedef struct bd_gemm_operand {
    bd_pass_function pack[BD_GEMM_WALKS]; /* NULL: not this way, or never needed */
    bool walks[BD_GEMM_WALKS];            /* at least one; of both, sizes choose */
    bool plain;
    bool batched;         /* differs between batch points */
    bd_kir_access access; /* if plain, or of windows */
} bd_gemm_operand;

typedef struct bd_gemm {
    bd_kernel base;
    bd_arena arena;
    const bd_kir *program;
    bd_target target;
    bd_micro micro;
    bd_gemm_operand a, b;
    bool windows;     /* B may be: the elements of one buffer, maybe under a guard */
    int window_guard; /* its number or -1 */
    bd_micro_tabled tabled;
    bd_kernel *loops;           /* if bd_gemm_may_loop; else NULL */
    bd_pass_function epilogue;
    bool plain_store;           /* the epilogue stores ACC */
    bd_kir_access out;          /* then */
    burn_dtype element;
    int64_t element_bytes, lanes, turn_rows, row_unit;
    int64_t near_ways; /* of the processor's first cache */
    int row_costs[BD_MICRO_ROWS_MAX + 1]; /* of a panel, and of the best pieces of a rest */
    int first_piece[BD_MICRO_ROWS_MAX + 1];
} bd_gemm;

typedef enum bd_gemm_source { BD_GEMM_DIRECT, BD_GEMM_SHARED, BD_GEMM_LOCAL } bd_gemm_source;

/* One operand in its role of this product. */
typedef struct bd_gemm_side {
    const bd_gemm_operand *operand;
    bd_gemm_walk walk;
    bd_gemm_source source;
    bool plain; /* so are the elements, and the axes of each role count as one */
    bool chunked; /* LOCAL: packed anew for each chunk of K; SHARED: one chunk after the other */
    int64_t depth;                          /* k of a packed block */
    bool across;                            /* elements of one k lie side by side in memory */
    int64_t batches;                        /* packed copies: the batch points, or 1 */
    int64_t blocks, block;                  /* their number and size in rows or columns */
    int64_t parts;                          /* SHARED: items of the pack pass for each copy */
    int64_t part_k;                         /* of one, if it spans all blocks; 0: it is a block */
    int64_t block_elements, batch_elements; /* of packed blocks, of all blocks of a batch point */
    size_t shared_at;                       /* bytes */
    int64_t step, step_k;                   /* strides of a plain operand: its own axis and K */
} bd_gemm_side;

/* One product with sizes. */
typedef struct bd_gemm_shape {
    bool swapped; /* rows are B's: m is the extent of N, n that of M */
    bool thin, dots, streamed;
    int64_t batch, m, n, k; /* of BF16 k counts pairs, */
    int64_t single_k;       /* this single numbers; k goes beyond, for whole micro-kernels */
    int64_t sum_rows;       /* m, with those that the last panel has too many */
    int64_t panel_rows, full_rows; /* panels beyond full_rows are smaller */
    int64_t vectors;               /* of a panel of columns, but for the last one */
    int64_t splits, split_k;       /* ranges of K, each of split_k but for the last */
    int64_t chunk_k;               /* the longest sum of one micro-kernel call */
    bd_gemm_side rows, columns;
    bool direct_store;   /* full panels go straight to the output */
    bool in_place;       /* one item, nothing packed, no epilogue, no part of a vector */
    int64_t out_step;    /* its stride of M */
    int64_t turned_step; /* swapped: of the turned sums */
    size_t worker_rows, worker_columns, worker_c, worker_turned, worker_temp, worker_bytes;
    size_t partial_at, shared_bytes;
} bd_gemm_shape;

void bd_gemm_costs(bd_gemm *gemm);
/* The chunk of K that holds k, of at most chunk_k: where it ends; out_first: where it begins. */
int64_t bd_gemm_chunk_at(const bd_gemm_shape *shape, int64_t k, int64_t *out_first);
/* The product with sizes. */
const bd_gemm_shape *bd_gemm_shape_of(const bd_gemm *gemm, const int64_t *ints, bd_arena *arena);
/* The extents of all axes of each role, multiplied. */
void bd_gemm_sizes(const bd_gemm *gemm, const int64_t *ints, int64_t *out);
/* The stride of all axes of a role as one. False if they do not count as one. */
bool bd_gemm_step_of(const bd_gemm *gemm, const int64_t *ints, const bd_kir_int *strides,
                     bd_kir_role role, int64_t missing, int64_t *out_step);
/* Whether the epilogue only stores ACC, columns side by side; rows then are a step apart. */
bool bd_gemm_stores_rows(const bd_gemm *gemm, const int64_t *ints, int64_t *out_step);
/* Panels of a block so that blocks of about `wanted` panels come out alike. */
int64_t bd_gemm_even_panels(int64_t panels, int64_t wanted);
/* A's side as rows, and its panels, of a shape that has a batch, m and k. */
void bd_gemm_describe_rows(const bd_gemm *gemm, const int64_t *ints, bd_gemm_shape *shape);
/* How the pack pass of a shared side is cut. */
void bd_gemm_set_parts(const bd_gemm_shape *shape, bd_gemm_side *side);
/* Rows of the panel that begins at row m, and vectors of the panel that begins at column n. */
int64_t bd_gemm_rows_at(const bd_gemm *gemm, const bd_gemm_shape *shape, int64_t m);
int64_t bd_gemm_vectors_at(const bd_gemm *gemm, const bd_gemm_shape *shape, int64_t n);

/* The type of the sums: F32 or F64. */
burn_dtype bd_gemm_sum(const bd_kir *program);
/* That of the sums of what a phase yields, or NONE without such a phase. */
burn_dtype bd_gemm_sum_of(const bd_kir *program, bd_kir_phase_kind kind);
/* The type of packed elements of a product of what two phases yield: BF16 if both yield that and
 * the target multiplies it, else that of the sums. The one place that chooses. */
burn_dtype bd_gemm_element_of(const bd_target *target, const bd_kir *program, bd_kir_phase_kind a,
                              bd_kir_phase_kind b);
/* The phase of a kind, or NULL. */
const bd_kir_phase *bd_gemm_phase(const bd_kir *program, bd_kir_phase_kind kind);
/* Whether vectors of an operand phase may walk that way: where elements lie side by side. Windows
 * lie so both ways, or some elements apart, and sizes tell which is the better one. */
bool bd_gemm_may_walk(const bd_target *target, const bd_kir *program, bd_kir_phase_kind kind,
                      bd_gemm_walk walk);
/* The pack function's name in the object. */
const char *bd_gemm_pack_name(bd_kir_phase_kind kind, bd_gemm_walk walk);
/* Whether an operand is the elements of one buffer as they are. */
bool bd_gemm_plain(const bd_target *target, const bd_kir *program, bd_kir_phase_kind kind);
/* Whether it needs a pack function: not if plain with one axis in each role, which always merge. */
bool bd_gemm_packs(const bd_target *target, const bd_kir *program, bd_kir_phase_kind kind);
/* Whether the epilogue's vectors walk M, for want of N. */
static inline bool bd_gemm_epilogue_down(const bd_kir *program)
{
    return bd_kir_axis_of(program, BD_KIR_N) < 0;
}

/* One panel that is being packed: `rows` rows of A or columns of B from `first` on, stored k by k,
 * `step` apart; rows of BF16 one after the other, the side's depth apart. */
typedef struct bd_gemm_panel {
    const bd_gemm *gemm;
    const bd_gemm_shape *shape;
    const bd_gemm_side *side;
    const bd_call *call;
    int64_t batch, first, rows, step;
    int64_t k_first, depth; /* what stands at the panel's begin; k of a panel */
    char *to;
} bd_gemm_panel;
/* Runs the operand's pack function over the panel's rows. */
void bd_gemm_evaluate(const bd_gemm_panel *panel, int64_t k, int64_t k_count, void *memory,
                      int64_t step);
/* Elements k .. k + k_count of a panel of BF16 (gemm_pairs.c). */
void bd_gemm_pack_pairs(const bd_gemm_panel *panel, int64_t k, int64_t k_count);

/* The pass functions (gemm_run.c). */
void bd_gemm_run_pack(const bd_call *call, int64_t begin, int64_t end);
void bd_gemm_run_tiles(const bd_call *call, int64_t begin, int64_t end);
void bd_gemm_run_sums(const bd_call *call, int64_t begin, int64_t end);
/* Packs one block of a side at a batch point, k up to k_end, as a block of its own
 * (gemm_pack.c). */
void bd_gemm_pack(const bd_gemm *gemm, const bd_gemm_shape *shape, const bd_call *call,
                  const bd_gemm_side *side, int64_t batch, int64_t block, int64_t k, int64_t k_end,
                  void *to);
/* One item of the pack pass: a block, or the same few k of all blocks, in the order of memory. */
void bd_gemm_pack_part(const bd_gemm *gemm, const bd_gemm_shape *shape, const bd_call *call,
                       const bd_gemm_side *side, int64_t batch, int64_t part, void *to);
/* Adds a row of sums to another one. */
void bd_gemm_add_row(burn_dtype element, const void *from, void *to, int64_t count);
/* About a hundred products each nanosecond on AVX-512, half of that on AVX2; of pairs with AMX five
 * times as many. */
double bd_gemm_nanoseconds(const bd_gemm *gemm, double flops);
/* Address of the first element that a plain access reaches at a batch point. */
const void *bd_gemm_place_at(const bd_kir *program, const bd_call *call,
                             const bd_kir_access *access, int64_t batch);
const void *bd_gemm_element_at(const bd_gemm *gemm, const bd_call *call,
                               const bd_kir_access *access, int64_t batch);
