/* SPDX-License-Identifier: Apache-2.0
 * What the printer's files share. A printer is one program on its way to text; one thread. */
#pragma once

#include "backends/cfamily/print.h"
#include "backends/cfamily/text.h"

/* An element's address, what a guard compares, and an index are sums of a row's and a depth's
 * part. */
typedef enum bd_part_kind { BD_PART_ACCESS, BD_PART_GUARD, BD_PART_AXIS } bd_part_kind;
typedef struct bd_part {
    bd_part_kind kind;
    int number;
} bd_part;
enum { BD_PARTS_MAX = 16 };
typedef struct bd_parts {
    int count; /* may be above the limit: too many */
    bd_part each[BD_PARTS_MAX];
} bd_parts;

/* By instruction: the value that it computes again (0: none), whether it is taken from there, and
 * whether the value is kept for that. */
typedef struct bd_again {
    bd_kir_value same[BD_KIR_INSTRS_MAX];
    bool taken[BD_KIR_INSTRS_MAX], kept[BD_KIR_INSTRS_MAX];
} bd_again;
void bd_again_of(const bd_kir *program, bd_again *out);

typedef struct bd_printer {
    bd_text text;
    const bd_kir *program;
    int module; /* that is printed */
    bool by_team;      /* a row belongs to several threads */
    int wide;          /* points at once; 0: one */
    int along;         /* the axis on which these lie */
    int columns;       /* what so many columns have seen stands in arrays, by `j`; 0: no arrays */
    const bd_again *held; /* a row's wide loads, slots and these values are in registers; or NULL */
    bool masked; /* effects are for points where the variable `here` holds */
    const bd_kir_phase *phase; /* that is printed */
    const char *yield; /* the variable that YIELD sets */
    const bd_parts *parts; /* of the operand that is printed; NULL: positions are variables */
    int spared; /* number of the comparison of n - m with `spans.reach`; it holds if `whole` does;
                 * 0: none */
    bool many;  /* an entry that runs several blocks of arguments */
    bool ahead; /* loads were done before, into the fields of `seen` */
    bool exact; /* 16-bit floats between a phase's instructions keep the bits of 32 */
    int threads;           /* of a block; 0: as usual */
    int at_once;           /* blocks that a processor must be able to hold; 0: any number */
} bd_printer;

/* The C type of a value in registers, and of an element in memory. */
const char *bd_print_type(burn_dtype dtype);
const char *bd_print_memory_type(burn_dtype dtype);
/* An integer's name or digits; a static buffer of several, good for one call of bd_text_add. */
const char *bd_print_int(bd_kir_int integer);
/* The function that rounds a float to a value of the type; "" where none is needed. */
const char *bd_print_round(burn_dtype dtype);

/* "extern "C" ... name(...) {" with the arguments as variables, and the UNIFORM phases. */
void bd_print_entry(bd_printer *printer, const char *name);
/* The arguments as variables, once more where they would else be kept in registers for long. */
void bd_print_arguments(bd_printer *printer);
void bd_print_exit(bd_printer *printer);
/* Whether the entry is of the module that is printed. */
bool bd_print_wants(const bd_printer *printer, const char *entry);
/* `i64 NAME = product of the extents of a role` */
void bd_print_extent(bd_printer *printer, const char *name, bd_kir_role role);
/* Positions on the axes of a role from a number `from`, which the text may use up. */
void bd_print_positions(bd_printer *printer, bd_kir_role role, const char *from);
/* "bN[...]", as it stands at the positions. */
void bd_print_place(bd_printer *printer, const bd_kir_access *access);
bool bd_print_scans(const bd_kir *program, const bd_kir_phase *phase);
/* Whether an instruction divides floats by what an earlier phase knows: the variable `dN` then. */
bool bd_print_divides_by_known(const bd_printer *printer, const bd_kir_phase *phase,
                               const bd_kir_instr *instr);
/* Whether a wide entry sums an instruction's neighbours in float first. */
bool bd_print_sums_neighbours(const bd_printer *printer, const bd_kir_instr *instr);
/* What reductions and scans of a phase have seen: nothing yet; and their results. */
void bd_print_nothing(bd_printer *printer, const bd_kir_phase *phase);
void bd_print_results(bd_printer *printer, const bd_kir_phase *phase);
/* The fields of what a phase loads, or the loads into those of `to`. */
void bd_print_seen(bd_printer *printer, const bd_kir_phase *phase, bool fields);
/* All statements of a phase, or those up to the one that makes a value. */
void bd_print_until(bd_printer *printer, const bd_kir_phase *phase, bd_kir_value last);
void bd_print_phase(bd_printer *printer, const bd_kir_phase *phase);
const bd_kir_phase *bd_print_find(const bd_kir *program, bd_kir_phase_kind kind);

/* What an operand phase needs of a row and a depth. */
void bd_parts_of(const bd_kir *program, const bd_kir_phase *phase, bd_parts *out);
void bd_print_part(bd_printer *printer, bd_part_kind kind, int number);
/* As bd_print_positions, in 32 bits. */
void bd_print_places(bd_printer *printer, bd_kir_role role, const char *from);
/* The operand of product.cuh that an operand phase is, and its functions. */
void bd_print_operand(bd_printer *printer, const char *name, bd_kir_phase_kind kind);

/* The counts of all points of BATCH, M, N and K. */
void bd_print_extents(bd_printer *printer);
/* `with_epilogue`, a function of product.cuh, over the axes of two roles beside BATCH. */
void bd_print_epilogue(bd_printer *printer, bd_kir_role rows, bd_kir_role columns);

/* For each access that a phase loads (or stores) wide, once: text with its buffer's type and its
 * number. */
typedef enum bd_wide_job { BD_DECLARE_LOADS, BD_LOAD, BD_DECLARE_STORES, BD_STORE } bd_wide_job;
void bd_print_wide(bd_printer *printer, const bd_kir_phase *phase, int chunks, bd_wide_job job);
void bd_print_loop(bd_printer *printer);
void bd_print_teams(bd_printer *printer, const bd_cfamily_loop *loop);
void bd_print_vectors(bd_printer *printer, const char *name, int wide);
/* wide: columns that a thread has; 0: one. */
void bd_print_down(bd_printer *printer, const char *name, int wide);
void bd_print_contraction(bd_printer *printer);
void bd_print_attention(bd_printer *printer);
