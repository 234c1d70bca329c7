/* SPDX-License-Identifier: Apache-2.0
 * Submissions: arguments to the GPU in one copy, launches behind it, and a call back at the end. */
#include <string.h>

#include "backends/cfamily/print.h"
#include "backends/cuda/device.h"
#include "backends/cuda/kernel.h"
#include "proto/base/alloc.h"
#include "proto/base/log.h"

enum { FAULT_BYTES = 64, LAUNCHES_AT_ONCE = 256 };

/* A submission on its way. */
typedef struct flight {
    bd_submission *submission;
    const bd_fault *seen; /* pinned: what the kernels left; NULL: no kernel checks */
} flight;

/* One block of a launch whose arguments lie in the ring. */
typedef struct ready {
    bd_cuda_grid grid;
    uint64_t arguments;
    uint32_t launch, block;
} ready;

typedef struct batch {
    bd_device *device;
    bd_submission *submission;
    uint64_t problem; /* where kernels report faults */
    size_t begin;     /* of the ring's part that is not copied yet */
    ready each[LAUNCHES_AT_ONCE];
    int count;
    bd_error *error; /* the first; later launches are left out */
} batch;

static void note(batch *b, int code, const char *doing)
{
    if (code == 0 || b->error)
        return;
    b->error = bd_cuda_check(code, doing);
    bd_log(BD_LOG_ERROR, "cuda", "%s", bd_error_text(b->error));
}

/* Copies the arguments and launches what stands ready. */
static void flush(batch *b)
{
    bd_device *device = b->device;
    if (device->ring_at > b->begin)
        note(b,
             device->cuda->cuMemcpyHtoDAsync(device->ring_device + b->begin,
                                             device->ring + b->begin, device->ring_at - b->begin,
                                             device->stream),
             "copy arguments to the GPU");
    b->begin = device->ring_at;
    for (int i = 0; i < b->count && !b->error; i++) {
        ready *it = &b->each[i];
        uint64_t scratch = (uint64_t)(uintptr_t)b->submission->scratch;
        unsigned threads = it->grid.threads ? it->grid.threads : BD_CFAMILY_THREADS;
        void *parameters[] = {&it->arguments,  &b->problem,  &scratch,
                              &it->grid.lanes, &it->launch, &it->block};
        note(b,
             device->cuda->cuLaunchKernel(it->grid.function, it->grid.blocks, 1, 1,
                                          threads, 1, 1, (unsigned)it->grid.shared_bytes,
                                          device->stream, parameters, NULL),
             "launch a kernel");
        if (it->grid.then && !b->error)
            note(b,
                 device->cuda->cuLaunchKernel(it->grid.then, it->grid.then_blocks, 1, 1,
                                              BD_CFAMILY_THREADS, 1, 1, 0, device->stream,
                                              parameters, NULL),
                 "launch a kernel");
    }
    b->count = 0;
}

/* Room in the ring; what lay there before is done with. */
static char *reserve(batch *b, size_t bytes, uint64_t *out_device)
{
    bd_device *device = b->device;
    bytes = (bytes + 63) & ~(size_t)63;
    if (device->ring_at + bytes > BD_CUDA_RING_BYTES) {
        flush(b);
        note(b, device->cuda->cuStreamSynchronize(device->stream), "wait for the GPU");
        device->ring_at = b->begin = 0;
    }
    char *room = device->ring + device->ring_at;
    *out_device = device->ring_device + device->ring_at;
    device->ring_at += bytes;
    return room;
}

/* An index into a dim of no elements: told here, and the block runs nothing. */
static bool checks_nothing(const batch *b, const bd_launch *launch, uint32_t number,
                           uint32_t block)
{
    int32_t tag = 0;
    if (!bd_checks_nothing(launch->kernel->checks, launch->blocks[block].ints, &tag))
        return false;
    bd_fault *fault = b->submission->fault;
    if (fault && !fault->happened)
        *fault = (bd_fault){.happened = 1, .tag = tag, .launch = number, .block = block};
    return true;
}

static void add_block(batch *b, const bd_launch *launch, uint32_t number, uint32_t block)
{
    const bd_kernel *kernel = launch->kernel;
    const bd_kir *program = kernel->program;
    const bd_block *arguments = &launch->blocks[block];
    if (checks_nothing(b, launch, number, block))
        return;
    bd_cuda_grid grid = bd_cuda_grid_of(kernel, arguments->ints, b->device->processors);
    if (grid.blocks == 0)
        return;
    if (b->count == LAUNCHES_AT_ONCE)
        flush(b);
    uint64_t address = 0;
    char *room = reserve(b, (size_t)kernel->words * 8, &address);
    size_t ints = program->int_count * 8u, buffers = program->buffer_count * 8u;
    memcpy(room, arguments->ints, ints);
    memcpy(room + ints, arguments->buffers, buffers);
    if (program->scalar_count)
        memcpy(room + ints + buffers, arguments->scalars, program->scalar_count * 8u);
    b->each[b->count++] = (ready){grid, address, number, block};
}

/* Thread: the driver's; it must not call the driver. */
static void finished(void *user)
{
    flight *done = user;
    bd_submission *submission = done->submission;
    if (done->seen && done->seen->happened && submission->fault && !submission->fault->happened)
        *submission->fault = *done->seen;
    bd_free(done);
    submission->done(submission);
}

static bool any_checks(const bd_submission *submission)
{
    for (uint32_t i = 0; i < submission->launch_count; i++)
        if (submission->launches[i].kernel->checks)
            return true;
    return false;
}

void bd_cuda_submit(bd_device *device, bd_submission *submission)
{
    (void)device->cuda->cuCtxSetCurrent(device->context);
    batch b = {.device = device, .submission = submission, .begin = device->ring_at};
    bool checks = any_checks(submission);
    char *seen = NULL;
    if (checks) {
        seen = reserve(&b, FAULT_BYTES, &b.problem);
        memset(seen, 0, FAULT_BYTES);
    }
    for (uint32_t i = 0; i < submission->launch_count; i++)
        for (uint32_t k = 0; k < submission->launches[i].block_count; k++)
            add_block(&b, &submission->launches[i], i, k);
    flush(&b);
    flight *done = bd_alloc_zeroed(sizeof *done);
    done->submission = submission;
    if (checks && !b.error) {
        done->seen = (const bd_fault *)(void *)seen;
        note(&b,
             device->cuda->cuMemcpyDtoHAsync(seen, b.problem, FAULT_BYTES, device->stream),
             "copy faults from the GPU");
    }
    int code = device->cuda->cuLaunchHostFunc(device->stream, finished, done);
    note(&b, code, "end a submission");
    bd_error_free(b.error);
    if (code != 0)
        finished(done);
}
