/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/bench/kernel_loop.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { PAGE_BYTES = 1 << 21 };

void loop_fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void check(bd_error *error)
{
    if (error)
        loop_fail("cpu", bd_error_text(error));
}

double loop_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double loop_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, by_value);
    return values[count / 2];
}

void loop_pin(void)
{
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all))
        return;
    for (unsigned i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &all))
            CPU_SET(i, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* ---- programs ---- */

bd_kir_access loop_access(bd_kir_builder *builder, bd_kir_use use)
{
    bd_kir_access access = {.buffer = (uint16_t)bd_kir_add_buffer(builder, BURN_F32, use),
                            .offset = bd_kir_const(0)};
    for (int i = 0; i < BD_KIR_AXES_MAX; i++)
        access.strides[i] = bd_kir_const(0);
    return access;
}

bd_kir_value loop_load(bd_kir_builder *builder, const bd_kir_access *access)
{
    uint16_t index = (uint16_t)bd_kir_add_access(builder, access);
    return bd_kir_emit(builder,
                       &(bd_kir_instr){.code = BD_KIR_LOAD, .index = index, .guard = -1});
}

void loop_store(bd_kir_builder *builder, const bd_kir_access *access, bd_kir_value value)
{
    bd_kir_emit(builder, &(bd_kir_instr){.code = BD_KIR_STORE,
                                         .index = (uint16_t)bd_kir_add_access(builder, access),
                                         .guard = -1,
                                         .operands = {value}});
}

bd_kir *loop_finish(bd_kir_builder *own_builder, bd_arena *arena)
{
    bd_kir *program = NULL;
    check(bd_kir_finish(own_builder, arena, &program));
    bd_kir_builder_destroy(own_builder);
    return program;
}

/* ---- runs ---- */

uint32_t loop_calls(double seconds, double seconds_of_ten)
{
    double calls = seconds / (seconds_of_ten / 10);
    return calls < 1 ? 1 : calls > 1e6 ? 1000000 : (uint32_t)calls;
}

float *loop_floats(int64_t count)
{
    size_t bytes = ((size_t)count * sizeof(float) + PAGE_BYTES) & -(size_t)PAGE_BYTES;
    float *floats = aligned_alloc(PAGE_BYTES, bytes);
    if (!floats)
        loop_fail("floats", "no memory");
    madvise(floats, bytes, MADV_HUGEPAGE);
    for (size_t i = 0; i < bytes / sizeof(float); i++)
        floats[i] = (float)(rand() % 2001 - 1000) / 1000;
    return floats;
}

void loop_open(kernel_loop *loop, const bd_kir *program, const int64_t *ints, size_t int_count)
{
    *loop = (kernel_loop){0};
    loop->driver = bd_driver_find("cpu");
    if (!loop->driver)
        loop_fail("cpu", "this build has no such backend");
    check(loop->driver->open(&(bd_device_options){.threads = 1}, &loop->device));
    const bd_device_ops *ops = loop->driver->ops;
    check(ops->compile(loop->device, program, &loop->kernel));
    memcpy(loop->ints, ints, int_count * sizeof *ints);
    bd_arena_init(&loop->arena);
    loop->scratch_bytes =
        ops->size(loop->device, loop->kernel, loop->ints, &loop->arena, &loop->sized);
    if (loop->scratch_bytes > 0)
        check(ops->alloc(loop->device, loop->scratch_bytes, &loop->scratch));
    sem_init(&loop->finished, 0, 0);
}

void loop_close(kernel_loop *loop)
{
    const bd_device_ops *ops = loop->driver->ops;
    ops->kernel_free(loop->device, loop->kernel);
    if (loop->scratch)
        ops->free(loop->device, loop->scratch, loop->scratch_bytes);
    ops->close(loop->device);
    bd_arena_deinit(&loop->arena);
    sem_destroy(&loop->finished);
}

static void finished(bd_submission *submission)
{
    sem_post(&((kernel_loop *)submission->user)->finished);
}

double loop_run(kernel_loop *loop, void *const *buffers, uint32_t count)
{
    bd_block block = {.ints = loop->ints, .buffers = buffers};
    bd_launch *launches = calloc(count, sizeof *launches);
    if (!launches)
        loop_fail("launches", "no memory");
    for (uint32_t i = 0; i < count; i++)
        launches[i] = (bd_launch){.kernel = loop->kernel,
                                  .blocks = &block,
                                  .sized = &loop->sized,
                                  .block_count = 1,
                                  .scratch = loop->scratch};
    bd_submission submission = {.launches = launches,
                                .launch_count = count,
                                .done = finished,
                                .user = loop};
    double begin = loop_now();
    loop->driver->ops->submit(loop->device, &submission);
    sem_wait(&loop->finished);
    double taken = loop_now() - begin;
    free(launches);
    return taken;
}
