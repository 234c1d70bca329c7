/* SPDX-License-Identifier: Apache-2.0
 * One open GPU. Its stream runs all copies and launches in order. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "backends/backend.h"
#include "backends/cuda/symbols.h"
#include "backends/shared/object_cache.h"

enum { BD_CUDA_RING_BYTES = 16 << 20 };

struct bd_device {
    const bd_cuda_symbols *cuda;
    int number, architecture, processors;
    uint64_t memory_bytes;
    char name[64];
    void *context, *stream;
    void *out_stream; /* downloads; of memory that no submission writes any more */
    void *uploaded;   /* event: the last upload */
    bool compile_never;
    bd_object_cache *cache; /* NULL: none */
    atomic_uint_fast64_t compiles, cache_hits, code_bytes;
    /* Arguments of submissions on their way: a ring, in both memories alike. Thread: device. */
    char *ring;
    uint64_t ring_device;
    size_t ring_at;
};

void bd_cuda_submit(bd_device *device, bd_submission *submission);
