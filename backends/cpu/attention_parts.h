/* SPDX-License-Identifier: Apache-2.0
 * What the files of the attention share; attention.c says how one is done. Thread: any. */
#pragma once

#include "backends/cpu/attention.h"
#include "backends/cpu/gemm_parts.h"

enum {
    BD_ATTENTION_PACK_KEYS = 256, /* values packed by one item; even */
    BD_ATTENTION_TEMP_COLUMNS = 256,
};

typedef struct bd_attention {
    bd_kernel base;
    bd_arena arena;
    const bd_kir *program;
    bd_micro micro;
    bd_pass_function query, key, score, value, epilogue, softmax;
    int m, n, k, e;   /* axes, or -1 */
    int later;        /* instruction that tells how far the future is hidden, or -1 */
    bool plain;       /* scores that are not hidden are the products as they are */
    int vectors, tile_units;
    int units_of[BD_MICRO_ROWS_MAX + 1]; /* of the next tile, when so many are left */
    int64_t row_unit;                    /* rows of a unit */
    const bd_kir_access *keys, *values;  /* NULL: not the elements of a buffer as they are */
    bool pairs;
    int64_t bytes, numbers; /* of an element */
    int64_t lanes, turn_rows; /* of a register; of a turn */
} bd_attention;

typedef struct bd_attention_sizes {
    int64_t batch, m, n, k, e;
    int64_t columns;                   /* of a panel of keys */
    int64_t value_columns;             /* of one of values, but the last one may be narrower */
    int64_t key_depth, value_depth;    /* elements along K */
    int64_t key_panels, value_panels;  /* of a batch point */
    int64_t key_room, value_room;      /* elements of a batch point's panels */
    int64_t key_step, value_step;      /* elements between rows that lie side by side; 0: they do
                                        * not, or are not to be read there */
    int64_t value_parts;               /* items that pack its values */
    int64_t block, blocks;             /* queries of an item, items of a batch point */
    int64_t score_step, weight_step, sum_step; /* numbers between rows */
    /* bytes in a worker's scratch */
    size_t scores_at, weights_at, temp_at, sums_at, factors_at, worker_bytes;
} bd_attention_sizes;

/* Elements of some numbers along K. */
static inline int64_t bd_attention_depth(const bd_attention *own, int64_t numbers)
{
    return own->pairs ? ceiling(ceiling(numbers, 2), BD_MICRO_PAIRS) * BD_MICRO_PAIRS : numbers;
}

static inline int64_t bd_attention_number_bytes(const bd_attention *own)
{
    return own->bytes / own->numbers;
}

/* Elements that generated code gives or takes. */
typedef struct bd_rectangle {
    int64_t row, rows, column, columns;
    void *memory;
    int64_t step;
    const void *factors; /* of its rows; for the epilogue only */
} bd_rectangle;

void bd_attention_evaluate(const bd_call *call, bd_pass_function function, int64_t batch,
                           const bd_rectangle *over);
void bd_attention_find_sizes(const bd_attention *attention, const int64_t *ints,
                             bd_attention_sizes *out);
/* The pass that packs keys and values (attention_pack.c). */
void bd_attention_run_pack(const bd_call *call, int64_t begin, int64_t end);

static inline const bd_attention *bd_attention_of(const bd_call *call)
{
    return (const bd_attention *)(intptr_t)call->params[BD_GEMM_KERNEL];
}

