/* SPDX-License-Identifier: Apache-2.0
 * Kernel IR as text of the C family, for compilers of vendors. The text goes behind the prelude
 * (prelude.cuh). Pure functions; thread: any.
 *
 * Every entry has the parameters of bd_cfamily_parameters: the arguments of one block (integer
 * arguments, buffers, scalars: 8 bytes each, in this order), where faults go, scratch, how many
 * rows run at once (lanes), the numbers of launch and block. Entries run with 256 threads a block:
 *   rows     LOOP: a thread a row, rows `lanes` apart
 *   blocks   LOOP: a block of threads a row; only if the program has EACH phases that may share
 *   product  CONTRACTION: a block of threads a tile of 64 x 64
 *   attend   ATTENTION: a block of threads a query
 * Slots and scores lie in scratch, 8 bytes a value: for each of the lanes. */
#pragma once

#include <stdbool.h>

#include "backends/kir/kir.h"

enum { BD_CFAMILY_THREADS = 256, BD_CFAMILY_TILE = 64 };

extern const char bd_cfamily_prelude[]; /* embedded by the build */
extern const char bd_cfamily_parameters[];

/* Whether the points of a row may be divided among threads. */
bool bd_cfamily_shares_rows(const bd_kir *program);
/* The whole source, prelude included. Heap; the caller frees with bd_free. */
char *bd_cfamily_print(const bd_kir *program);
