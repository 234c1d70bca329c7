/* SPDX-License-Identifier: Apache-2.0
 * The CPU device's workers. Submissions run in order; a launch's passes run in order; the items of
 * a pass are claimed in ranges by whichever worker is free. Whoever finishes the last range of a
 * pass opens the next one. Small work that finds the pool idle runs on the submitting thread.
 * Thread: device, except where said. */
#pragma once

#include "backends/backend.h"
#include "backends/cpu/kernel.h"

typedef struct bd_pool bd_pool;

/* threads: 0 = as many as this process may use. */
bd_error *bd_pool_create(int threads, bd_pool **out) BD_MUST_USE;
/* Waits for running work. */
void bd_pool_destroy(bd_pool *pool);
int bd_pool_threads(const bd_pool *pool);
void bd_pool_submit(bd_pool *pool, bd_submission *submission);
/* backend.h: lend and call. */
void bd_pool_lend(bd_pool *pool, const atomic_bool *wanted);
void bd_pool_call(bd_pool *pool); /* thread: any */
/* Processor time for which the submitting thread ran kernels. Thread: any. */
uint64_t bd_pool_lent_us(const bd_pool *pool);
/* backend.h: size. Scratch: all workers' parts and the shared one. Thread: any. */
size_t bd_pool_size(const bd_pool *pool, const bd_kernel *kernel, const int64_t *ints,
                    bd_arena *arena, const bd_sized **out);
