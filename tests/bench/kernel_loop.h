/* SPDX-License-Identifier: Apache-2.0
 * A kernel of the cpu backend in a loop on one pinned thread, reached as the engine reaches it: by
 * the driver's table, with a program of kernel IR. Time is processor time of this process, for a
 * neighbour on the same core must not count. What goes wrong ends the program.
 *
 *     loop_pin(); loop_open(&loop, program, ints, count);
 *     seconds = loop_run(&loop, buffers, calls); loop_close(&loop) */
#pragma once

#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"

enum { LOOP_INTS_MAX = 8 };

typedef struct kernel_loop {
    const bd_driver *driver;
    bd_device *device;
    bd_kernel *kernel;
    void *scratch;
    size_t scratch_bytes;
    bd_arena arena; /* of `sized` */
    const bd_sized *sized;
    int64_t ints[LOOP_INTS_MAX];
    sem_t finished;
} kernel_loop;

void loop_fail(const char *what, const char *why) __attribute__((noreturn));
/* This thread, and those that it starts, on one of the processors that it may use. */
void loop_pin(void);
void loop_open(kernel_loop *loop, const bd_kir *program, const int64_t *ints, size_t int_count);
void loop_close(kernel_loop *loop);
/* Seconds of so many launches of one submission. */
double loop_run(kernel_loop *loop, void *const *buffers, uint32_t count);

/* An access with offset 0 and all strides 0 to a new buffer of f32. */
bd_kir_access loop_access(bd_kir_builder *builder, bd_kir_use use);
bd_kir_value loop_load(bd_kir_builder *builder, const bd_kir_access *access);
void loop_store(bd_kir_builder *builder, const bd_kir_access *access, bd_kir_value value);
bd_kir *loop_finish(bd_kir_builder *own_builder, bd_arena *arena);

double loop_now(void); /* seconds */
double loop_median(double *values, int count);
/* So many calls that they take about `seconds`, at least one. */
uint32_t loop_calls(double seconds, double seconds_of_ten);
/* Touched memory, in huge pages where the system has them, of random floats of -1 to 1; the caller
 * frees it. */
float *loop_floats(int64_t count);
