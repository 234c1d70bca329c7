/* SPDX-License-Identifier: Apache-2.0
 * A submission: its launches, with the arguments of each. */
#include <string.h>

#include "backends/cfamily/print.h"
#include "backends/cuda/device.h"
#include "backends/cuda/kernel.h"
#include "proto/base/alloc.h"

typedef struct batch {
    bd_device *device;
    bd_submission *submission;
    bd_fault *problem; /* where kernels report faults */
    bd_error *error;   /* the first; later launches are left out */
} batch;

static void note(batch *b, int code, const char *doing)
{
    if (code != 0 && !b->error)
        b->error = bd_cuda_check(code, doing);
}

/* The words on the GPU; what lay there before is done with. */
static uint64_t to_table(batch *b, const int64_t *words, size_t count)
{
    bd_device *device = b->device;
    const bd_cuda_symbols *cuda = device->cuda;
    size_t bytes = count * sizeof *words;
    if (device->ring_at + bytes > BD_CUDA_RING_BYTES) {
        note(b, cuda->cuStreamSynchronize(device->stream), "wait for the GPU");
        device->ring_at = 0;
    }
    size_t at = device->ring_at;
    memcpy(device->ring + at, words, bytes);
    note(b,
         cuda->cuMemcpyHtoDAsync(device->ring_device + at, device->ring + at, bytes,
                                 device->stream),
         "copy arguments to the GPU");
    device->ring_at += (bytes + 63) & ~(size_t)63;
    return device->ring_device + at;
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

static void launch_one(batch *b, void *function, unsigned blocks, unsigned threads,
                       size_t shared_bytes, void **parameters)
{
    if (b->error)
        return;
    note(b,
         b->device->cuda->cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1,
                                         (unsigned)shared_bytes, b->device->stream, parameters,
                                         NULL),
         "launch a kernel");
}

static void run_block(batch *b, const bd_launch *launch, uint32_t number, uint32_t block)
{
    const bd_kernel *kernel = launch->kernel;
    const bd_kir *program = kernel->program;
    const bd_block *arguments = &launch->blocks[block];
    if (b->error || checks_nothing(b, launch, number, block))
        return;
    bd_cuda_grid grid = bd_cuda_grid_of(kernel, arguments->ints, b->device->processors);
    if (grid.blocks == 0)
        return;
    int64_t words[BD_KIR_INTS_MAX + BD_KIR_BUFFERS_MAX + BD_KIR_SCALARS_MAX];
    memcpy(words, arguments->ints, program->int_count * sizeof *words);
    memcpy(words + program->int_count, arguments->buffers,
           program->buffer_count * sizeof *words);
    if (program->scalar_count)
        memcpy(words + program->int_count + program->buffer_count, arguments->scalars,
               program->scalar_count * sizeof *words);
    uint64_t table = 0;
    if (!kernel->by_value)
        table = to_table(b, words, (size_t)kernel->words);
    void *parameters[] = {words,       &table,     &b->problem,  &b->submission->scratch,
                          &grid.lanes, &number,    &block,       &grid.team,
                          &grid.splits, &b->device->counters};
    unsigned threads = grid.threads ? grid.threads : BD_CFAMILY_THREADS;
    launch_one(b, grid.function, grid.blocks, threads, grid.shared_bytes, parameters);
    if (grid.then)
        launch_one(b, grid.then, grid.then_blocks, BD_CFAMILY_THREADS, 0, parameters);
}

void bd_cuda_submit(bd_device *device, bd_submission *submission)
{
    (void)device->cuda->cuCtxSetCurrent(device->context);
    bd_cuda_flight *flight = bd_cuda_flight_begin(device, submission);
    batch b = {.device = device,
               .submission = submission,
               .problem = bd_cuda_flight_fault(flight)};
    for (uint32_t i = 0; b.problem && i < submission->launch_count; i++)
        for (uint32_t k = 0; k < submission->launches[i].block_count; k++)
            run_block(&b, &submission->launches[i], i, k);
    bd_cuda_flight_end(device, flight, b.error);
}
