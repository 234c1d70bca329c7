/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/ref/ref.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/ref/interp.h"
#include "proto/base/alloc.h"
#include "proto/base/clock.h"
#include "proto/base/arena.h"
#include "proto/base/assert.h"

enum { ALIGNMENT = 64 };

struct bd_device {
    atomic_uint_least64_t compiles;
};

struct bd_kernel {
    bd_arena arena;
    const bd_kir *program;
};

static bool probe(char *reason, size_t reason_bytes)
{
    if (reason && reason_bytes)
        reason[0] = '\0';
    return true;
}

static bd_error *open_device(const bd_device_options *options, bd_device **out)
{
    (void)options;
    bd_device *device = bd_alloc_zeroed(sizeof *device);
    atomic_init(&device->compiles, 0);
    *out = device;
    return NULL;
}

static void close_device(bd_device *device)
{
    bd_free(device);
}

static void describe(bd_device *device, bd_device_facts *out)
{
    (void)device;
    *out = (bd_device_facts){.threads = 1};
    snprintf(out->name, sizeof out->name, "ref");
    snprintf(out->detail, sizeof out->detail, "interpreter of kernel IR");
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (pages > 0 && page_bytes > 0)
        out->memory_bytes = (uint64_t)pages * (uint64_t)page_bytes;
}

static void read_counters(bd_device *device, bd_device_counters *out)
{
    *out = (bd_device_counters){.compiles = atomic_load(&device->compiles)};
}

/* The block's own address stands in the 8 bytes in front of the aligned memory. */
static bd_error *alloc_memory(bd_device *device, size_t size_bytes, void **out)
{
    (void)device;
    size_t with_head = 0;
    if (!bd_size_add(size_bytes, 2 * ALIGNMENT, &with_head))
        BD_FAIL(NO_MEMORY, "%zu bytes are more than an address space", size_bytes);
    char *block = bd_try_alloc_zeroed(with_head);
    if (!block)
        BD_FAIL(NO_MEMORY, "the host has no %zu bytes", size_bytes);
    char *memory = block + ALIGNMENT - (uintptr_t)block % ALIGNMENT;
    BD_ASSERT(memory - block >= (ptrdiff_t)sizeof block);
    memcpy(memory - sizeof block, &block, sizeof block);
    *out = memory;
    return NULL;
}

static void free_memory(bd_device *device, void *memory, size_t size_bytes)
{
    (void)device;
    (void)size_bytes;
    if (!memory)
        return;
    char *block = NULL;
    memcpy(&block, (char *)memory - sizeof block, sizeof block);
    bd_free(block);
}

static bd_error *compile(bd_device *device, const bd_kir *program, bd_kernel **out)
{
    BD_TRY(bd_kir_verify(program));
    bd_kernel *kernel = bd_alloc_zeroed(sizeof *kernel);
    bd_arena_init(&kernel->arena);
    kernel->program = bd_kir_clone(program, &kernel->arena);
    atomic_fetch_add(&device->compiles, 1);
    *out = kernel;
    return NULL;
}

static void kernel_free(bd_device *device, bd_kernel *kernel)
{
    (void)device;
    if (!kernel)
        return;
    bd_arena_deinit(&kernel->arena);
    bd_free(kernel);
}

static size_t size(bd_device *device, const bd_kernel *kernel, const int64_t *ints,
                   bd_arena *arena, const bd_sized **out)
{
    (void)device;
    (void)arena;
    *out = NULL;
    bd_ref_layout layout;
    bd_ref_layout_of(kernel->program, ints, &layout);
    return layout.total_bytes;
}

static void submit(bd_device *device, bd_submission *submission)
{
    (void)device;
    for (uint32_t i = 0; i < submission->launch_count; i++) {
        bd_launch *launch = &submission->launches[i];
        int64_t began = bd_now_ns();
        for (uint32_t j = 0; j < launch->block_count; j++) {
            bd_ref_run run = {.program = launch->kernel->program,
                              .block = &launch->blocks[j],
                              .faults = submission->faults
                                            ? submission->faults + launch->first_fault
                                            : NULL,
                              .block_number = j};
            bd_ref_layout layout;
            bd_ref_layout_of(run.program, run.block->ints, &layout);
            bd_ref_run_block(&run, &layout, launch->scratch);
        }
        launch->run_ns = bd_now_ns() - began;
    }
    if (submission->done)
        submission->done(submission);
}

static const bd_device_ops ops = {
    .close = close_device,
    .describe = describe,
    .counters = read_counters,
    .alloc = alloc_memory,
    .free = free_memory,
    .compile = compile,
    .kernel_free = kernel_free,
    .size = size,
    .submit = submit,
};

const bd_driver bd_ref_driver = {
    .name = "ref",
    .probe = probe,
    .open = open_device,
    .ops = &ops,
};
