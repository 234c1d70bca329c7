/* SPDX-License-Identifier: Apache-2.0
 * For tests of the CPU backend: one program runs there and on the interpreter, over the same bytes.
 * The two devices are of the test's process; thread: main. */
#pragma once

#include "tests/unit/backends/program.h"

enum { TRIAL_BUFFERS_MAX = 8 };

/* One program with its arguments. Buffers are filled by kind: floats in about [-4, 4], integers
 * small. */
typedef struct trial {
    bd_kir *program;
    int64_t ints[16];
    bd_scalar scalars[8];
    int64_t sizes[TRIAL_BUFFERS_MAX]; /* elements */
    int64_t limit;                    /* i64 buffers hold positions below this; 0: small numbers */
    double tolerance;                 /* relative, with the same absolute floor */
} trial;

/* The checked fixture: opens and closes both devices. BURN_CPU_TARGET picks the code. */
void trial_begin(void);
void trial_end(void);
bd_arena *trial_arena(void); /* where programs live until the end */
/* Fails unless both give the same bytes, or floats within the tolerance, and the same fault. */
kir_fault trial_check(const trial *t);
