/* SPDX-License-Identifier: Apache-2.0
 * The interpreter of kernel IR: the definition of right, written to be plain.
 * It evaluates one instruction at a time over a strip: up to BD_REF_WIDTH points along one axis.
 * A value of a strip is an array of cells: float for f16, bf16 and f32, double for f64, int64_t for
 * the integers (u64 as its bits) and bool; always a value of its declared dtype. Arithmetic on
 * float cells is done in double and rounded to float, then to the dtype.
 * A bd_ref_run is one run of one argument block; one thread. */
#pragma once

#include <stdint.h>

#include "backends/backend.h"

enum { BD_REF_WIDTH = 256 };

typedef union bd_ref_cells {
    float *f;
    double *d;
    int64_t *i;
    char *bytes;
} bd_ref_cells;

/* What a REDUCE_* or SCAN_* instruction has seen of the row so far. */
typedef struct bd_ref_sum {
    double f;
    int64_t i, position;
    bool any;
} bd_ref_sum;

typedef struct bd_ref_run {
    const bd_kir *program;
    const bd_block *block;
    bd_fault *faults; /* by tag; or NULL */
    uint32_t block_number;
    int64_t extents[BD_KIR_AXES_MAX], positions[BD_KIR_AXES_MAX]; /* the strip's first point */
    int strip_axis;                                               /* -1: the strip is one point */
    int count;                                                    /* points of this strip */
    int width;                     /* cells kept for each value, at least every count */
    char *cells;                   /* width * 8 bytes for each instruction */
    bd_ref_sum *sums;              /* one for each instruction */
    char *slots[BD_KIR_SLOTS_MAX]; /* 8 bytes for each point of the SERIAL axes */
    int64_t serial_points; /* of the SERIAL axes together */
    int64_t serial; /* row-major position of the strip's first point over the SERIAL axes */
    bd_ref_cells acc, yielded;
} bd_ref_run;

/* Where a run keeps its things in the scratch of its launch; byte offsets. */
typedef struct bd_ref_layout {
    int64_t extents[BD_KIR_AXES_MAX]; /* never negative */
    int64_t serial_points;            /* of the SERIAL axes together; 1 without any */
    int width, panel_width;
    size_t sums, slots, panel, row, acc, wide, total_bytes; /* cells stand at 0 */
} bd_ref_layout;
void bd_ref_layout_of(const bd_kir *program, const int64_t *ints, bd_ref_layout *out);

/* Runs a block. The caller filled in program, block, faults and block_number.
 * scratch: as many bytes as the layout says, 64-byte aligned (run.c). */
void bd_ref_run_block(bd_ref_run *run, const bd_ref_layout *layout, char *scratch);
/* A CHECK's index is out of range. */
void bd_ref_report(const bd_ref_run *run, uint16_t tag, int64_t position, int64_t extent);
/* The CONTRACTION family (contract.c). */
void bd_ref_contract(bd_ref_run *run, const bd_ref_layout *layout, char *scratch);
/* The ATTENTION family (attend.c). */
void bd_ref_attend(bd_ref_run *run, const bd_ref_layout *layout, char *scratch);
/* Moves along an axis; -1 is an axis that the program does not have (run.c). */
void bd_ref_go_to(bd_ref_run *run, int axis, int64_t position);
/* The next point over some axes (bits), the last one fastest; false after the last (run.c). */
bool bd_ref_next(bd_ref_run *run, uint32_t axes);

/* ---- pieces, each in its own file ---- */
typedef enum bd_ref_class { BD_REF_FLOAT, BD_REF_DOUBLE, BD_REF_INT } bd_ref_class;
bd_ref_class bd_ref_class_of(burn_dtype dtype);
int64_t bd_ref_int(const bd_ref_run *run, bd_kir_int integer);
bd_ref_cells bd_ref_value(const bd_ref_run *run, bd_kir_value value);
/* All instructions of a phase over the current strip (strip.c). */
void bd_ref_phase(bd_ref_run *run, const bd_kir_phase *phase);
/* Copies cell 0 of every value of the phase over the whole width (strip.c). */
void bd_ref_spread(bd_ref_run *run, const bd_kir_phase *phase);
/* Reductions: forgets the row, and turns what was seen into values, spread (reduce.c). */
void bd_ref_reduce_begin(bd_ref_run *run, const bd_kir_phase *phase);
void bd_ref_reduce_step(bd_ref_run *run, const bd_kir_instr *instr, bd_ref_sum *sum);
void bd_ref_reduce_end(bd_ref_run *run, const bd_kir_phase *phase);
void bd_ref_scan_step(bd_ref_run *run, const bd_kir_instr *instr, bd_ref_sum *sum,
                      bd_ref_cells out);
/* Orders the keys of a slot (sort.c). */
void bd_ref_sort(const bd_ref_run *run, const bd_kir_instr *instr);
/* Unary, binary and ternary arithmetic (arith.c); the result is rounded to the dtype. */
void bd_ref_arith(const bd_ref_run *run, const bd_kir_instr *instr, bd_ref_cells out);
void bd_ref_cast(bd_ref_cells from, burn_dtype from_dtype, bd_ref_cells to, burn_dtype to_dtype,
                 int count);
/* Makes cells that hold results of wider arithmetic values of the dtype (cells.c). */
void bd_ref_round(bd_ref_cells cells, burn_dtype dtype, int count);
/* Element `at` of a buffer to or from cell `cell` (cells.c). */
void bd_ref_load(const void *buffer, burn_dtype dtype, int64_t at, bd_ref_cells cells, int cell);
void bd_ref_store(void *buffer, burn_dtype dtype, int64_t at, bd_ref_cells cells, int cell);
/* Functions of one double (math.c); NULL if the code is none. */
typedef double (*bd_ref_unary)(double x);
bd_ref_unary bd_ref_unary_of(bd_kir_code code);
typedef double (*bd_ref_binary)(double a, double b);
bd_ref_binary bd_ref_binary_of(bd_kir_code code);
/* Philox4x32-10 of (element, seed, offset). */
void bd_ref_philox(int64_t element, int64_t seed, int64_t offset, uint32_t out_words[4]);
