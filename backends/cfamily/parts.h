/* SPDX-License-Identifier: Apache-2.0
 * What the printer's files share. A printer is one program on its way to text; one thread. */
#pragma once

#include "backends/cfamily/print.h"
#include "backends/cfamily/text.h"

typedef struct bd_printer {
    bd_text text;
    const bd_kir *program;
    bool by_block;     /* a row belongs to a block of threads */
    const char *yield; /* the variable that YIELD sets */
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
void bd_print_exit(bd_printer *printer);
/* `i64 NAME = product of the extents of a role` */
void bd_print_extent(bd_printer *printer, const char *name, bd_kir_role role);
/* Positions on the axes of a role from a number `from`, which the text may use up. */
void bd_print_positions(bd_printer *printer, bd_kir_role role, const char *from);
/* All statements of a phase. */
void bd_print_phase(bd_printer *printer, const bd_kir_phase *phase);
const bd_kir_phase *bd_print_find(const bd_kir *program, bd_kir_phase_kind kind);

void bd_print_loop(bd_printer *printer);
void bd_print_contraction(bd_printer *printer);
void bd_print_attention(bd_printer *printer);
