/* SPDX-License-Identifier: Apache-2.0
 * A submission: its launches, with the arguments of each. */
#include <string.h>

#include "backends/cfamily/print.h"
#include "backends/cuda/blas.h"
#include "backends/cuda/device.h"
#include "backends/cuda/dnn.h"
#include "backends/cuda/graph.h"
#include "backends/cuda/kernel.h"
#include "proto/base/alloc.h"

enum { SCRATCH = 3, LANES = 4 }; /* among the parameters of bd_cfamily_parameters */
enum { MANY_MOST = 1024 }; /* blocks of arguments of one launch */

typedef struct batch {
    bd_device *device;
    bd_submission *submission;
    bd_fault *faults;  /* where kernels report them */
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
    size_t bytes = count * sizeof *words, taken = (bytes + 63) & ~(size_t)63;
    if (device->tables.host) {
        memcpy(device->tables.host + device->tables.at, words, bytes);
        device->tables.at += taken;
        return device->tables.device + device->tables.at - taken;
    }
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
    device->ring_at += taken;
    return device->ring_device + at;
}

/* An index into a dim of no elements: told here, and the block runs nothing. */
static bool checks_nothing(const batch *b, const bd_launch *launch, uint32_t block)
{
    int32_t tag = 0;
    if (!bd_checks_nothing(launch->kernel->checks, launch->blocks[block].ints, &tag))
        return false;
    bd_fault *faults = b->submission->faults;
    if (faults)
        faults[launch->first_fault + (uint32_t)tag] = (bd_fault){.happened = 1, .block = block};
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

/* False if the library does not do it. */
static bool by_library(batch *b, const bd_cuda_grid *grid, const bd_kernel *kernel,
                       const bd_block *arguments, void **parameters)
{
    const bd_cuda_blas_form *form = &grid->blas;
    char *scratch = *(char **)parameters[SCRATCH];
    int64_t plan = form->copy_plan;
    void *const own[] = {parameters[SCRATCH], parameters[LANES]};
    parameters[LANES] = &plan;
    for (int side = 0; side < 2; side++) {
        char *to = scratch + form->copied[side].at;
        parameters[SCRATCH] = &to;
        if (form->copies >> side & 1)
            launch_one(b, side ? kernel->copy_b : kernel->copy_a, grid->copy_blocks[side],
                       BD_CFAMILY_THREADS, 0, parameters);
    }
    char *sums = scratch + form->result.at;
    parameters[SCRATCH] = &sums;
    plan = (form->halves ? BD_CFAMILY_SUMS_HALF : 0) | 1;
    bool done = !b->error && bd_cuda_blas_run(b->device, form, arguments->buffers, scratch);
    if (done && !form->direct && grid->joins_blocks)
        launch_one(b, kernel->joins, grid->joins_blocks, BD_CFAMILY_THREADS, 0, parameters);
    else if (done && !form->direct)
        launch_one(b, kernel->join, grid->join_blocks, BD_CFAMILY_THREADS, 0, parameters);
    parameters[SCRATCH] = own[0];
    parameters[LANES] = own[1];
    return done;
}

static bool by_convolution(batch *b, const bd_cuda_grid *grid, const bd_kernel *kernel,
                           const bd_block *arguments, void **parameters)
{
    const bd_cuda_dnn_form *form = &grid->dnn;
    int64_t plan = form->join_places << BD_CFAMILY_PLACES_SHIFT | 1;
    plan |= form->halves ? BD_CFAMILY_SUMS_HALF : 0;
    if (!bd_cuda_dnn_run(b->device, form, arguments->buffers, *(void **)parameters[SCRATCH]))
        return false;
    void *own = parameters[LANES];
    parameters[LANES] = &plan;
    if (!form->direct)
        launch_one(b, kernel->join, grid->join_blocks, BD_CFAMILY_THREADS, 0, parameters);
    parameters[LANES] = own;
    return true;
}

/* The arguments of a block, 8 bytes each. */
static void write_words(int64_t *to, const bd_kir *program, const bd_block *arguments)
{
    memcpy(to, arguments->ints, program->int_count * sizeof *to);
    memcpy(to + program->int_count, arguments->buffers, program->buffer_count * sizeof *to);
    if (program->scalar_count)
        memcpy(to + program->int_count + program->buffer_count, arguments->scalars,
               program->scalar_count * sizeof *to);
}

static void run_block(batch *b, const bd_launch *launch, uint32_t block)
{
    const bd_kernel *kernel = launch->kernel;
    const bd_block *arguments = &launch->blocks[block];
    if (b->error || checks_nothing(b, launch, block))
        return;
    bd_cuda_grid grid = bd_cuda_grid_of(kernel, arguments->ints, b->device->processors);
    if (grid.blocks == 0)
        return;
    int64_t words[BD_KIR_INTS_MAX + BD_KIR_BUFFERS_MAX + BD_KIR_SCALARS_MAX];
    write_words(words, kernel->program, arguments);
    uint64_t table = 0;
    void *scratch = launch->scratch;
    if (!kernel->by_value)
        table = to_table(b, words, (size_t)kernel->words);
    bd_fault *faults = b->faults + launch->first_fault;
    void *parameters[] = {words,       &table, &faults,    &scratch,
                          &grid.lanes, &block, &grid.team, &grid.splits,
                          &b->device->counters};
    if (grid.convolves && by_convolution(b, &grid, kernel, arguments, parameters))
        return;
    if (grid.by_library && by_library(b, &grid, kernel, arguments, parameters))
        return;
    unsigned threads = grid.threads ? grid.threads : BD_CFAMILY_THREADS;
    launch_one(b, grid.function, grid.blocks, threads, grid.shared_bytes, parameters);
    if (grid.then)
        launch_one(b, grid.then, grid.then_blocks, BD_CFAMILY_THREADS, 0, parameters);
}

/* Those blocks of arguments that one function is for, by one launch of its twin for many. */
static void run_many(batch *b, const bd_launch *launch, const void *function, void *twin)
{
    const bd_kernel *kernel = launch->kernel;
    size_t each = (size_t)kernel->words + 1, count = 0, room = launch->block_count;
    int64_t *words = bd_alloc((room * (each + 1) + 1) * sizeof *words);
    int64_t *arguments = words + room + 1, blocks = 0;
    for (uint32_t block = 0; block < launch->block_count; block++) {
        const bd_block *of = &launch->blocks[block];
        bd_cuda_grid grid = bd_cuda_grid_of(kernel, of->ints, b->device->processors);
        if (grid.function != function || grid.blocks == 0 ||
            checks_nothing(b, launch, block))
            continue;
        words[count] = blocks;
        arguments[count * each] = block;
        write_words(&arguments[count * each + 1], kernel->program, of);
        blocks += grid.blocks;
        count++;
    }
    words[count] = blocks;
    memmove(&words[count + 1], arguments, count * each * sizeof *words);
    if (count > 0) {
        uint64_t table = to_table(b, words, count * (each + 1) + 1);
        uint32_t splits = (uint32_t)count, none = 0;
        int64_t passed[BD_CFAMILY_WORDS_MOST + 1] = {0}, lanes = 0;
        void *scratch = launch->scratch;
        bd_fault *faults = b->faults + launch->first_fault;
        void *parameters[] = {passed, &table, &faults, &scratch,
                              &lanes, &none,  &none,   &splits,
                              &b->device->counters};
        launch_one(b, twin, (unsigned)blocks, BD_CFAMILY_THREADS, 0, parameters);
    }
    bd_free(words);
}

static void run_launch(batch *b, const bd_launch *launch)
{
    const bd_kernel *kernel = launch->kernel;
    size_t bytes = launch->block_count * ((size_t)kernel->words + 2) * sizeof(int64_t);
    if (launch->block_count > 1 && launch->block_count <= MANY_MOST && kernel->rows_many &&
        bytes < BD_CUDA_RING_BYTES / 2) {
        run_many(b, launch, kernel->rows, kernel->rows_many);
        if (kernel->vectors_many)
            run_many(b, launch, kernel->vectors, kernel->vectors_many);
        return;
    }
    for (uint32_t block = 0; block < launch->block_count; block++)
        run_block(b, launch, block);
}

static void run_launches(batch *b)
{
    for (uint32_t i = 0; i < b->submission->launch_count; i++)
        run_launch(b, &b->submission->launches[i]);
}

void bd_cuda_submit(bd_device *device, bd_submission *submission)
{
    if (!device->flights) {
        submission->error = BD_ERROR(DEVICE_LOST, "the GPU is lost and could not be opened again");
        submission->done(submission);
        return;
    }
    (void)device->cuda->cuCtxSetCurrent(device->context);
    bd_cuda_flight *flight = bd_cuda_flight_begin(device, submission);
    batch b = {.device = device,
               .submission = submission,
               .faults = bd_cuda_flight_faults(flight)};
    bd_cuda_graph_step step = b.faults
                                  ? bd_cuda_graph_begin(device, submission, b.faults,
                                                        bd_cuda_flight_lasted_ns(flight))
                                  : BD_CUDA_GRAPH_RUNS;
    if (step != BD_CUDA_GRAPH_RUNS)
        run_launches(&b);
    if (step == BD_CUDA_GRAPH_CAPTURES && !bd_cuda_graph_end(device, b.error == NULL) && !b.error)
        run_launches(&b);
    bd_cuda_flight_end(device, flight, b.error);
}
