/* SPDX-License-Identifier: Apache-2.0
 * What emulated kernels (kernel.h) and the emulated driver share. One thread at a time. */
#pragma once

struct place {
    unsigned x, y, z;
};
extern struct place emulated_thread, emulated_block, emulated_threads, emulated_grid;
void emulated_wait(int of_warp);
/* A word for the others of the warp: written, then, after a wait for the warp, read by them. */
unsigned long long *emulated_own_word(void);
const unsigned long long *emulated_word_of(unsigned thread);

/* Runs all blocks of an entry, of at most 256 threads each, one after another. */
void emulated_run(void (*function)(void **parameters), void **parameters, unsigned blocks,
                  unsigned threads);
