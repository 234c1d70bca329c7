/* SPDX-License-Identifier: Apache-2.0
 * One open GPU. Its stream runs all copies and launches in order. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "backends/backend.h"
#include "backends/cuda/symbols.h"
#include "backends/shared/object_cache.h"

enum { BD_CUDA_RING_BYTES = 4 << 20 };

/* A submission on its way: from its first launch until it is told. */
typedef struct bd_cuda_flight bd_cuda_flight;

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
    struct bd_cuda_crew *crew;
    atomic_int prepared; /* parts that have been begun */
    atomic_uint_fast64_t compiles, cache_hits, code_bytes, library_plans;
    uint64_t counters; /* BD_CFAMILY_COUNTERS of 4 bytes, 0 between launches */
    struct bd_cuda_blas *blas; /* NULL: not begun, or refused. Thread: device */
    bool blas_refused;
    struct bd_cuda_dnn *dnn;
    bool tf32_convolutions, tf32_products;
    struct bd_cuda_graphs *graphs; /* NULL: none yet. Thread: device */
    atomic_bool graphs_stale; /* a kernel is gone, its address may be another's */
    /* Tables of arguments of the submission that becomes a graph; host: NULL if none does. */
    struct {
        char *host;
        uint64_t device;
        size_t at;
    } tables;
    struct bd_cuda_flights *flights;
    /* Arguments that are too many to be passed by value: a ring, in both memories alike.
     * Thread: device. */
    char *ring;
    uint64_t ring_device;
    size_t ring_at;
    struct bd_cuda_host *hosts; /* pinned pieces; under the lock */
    pthread_mutex_t hosts_lock;
};

/* Pinned memory of the host, which outlives the GPU's context. Thread: any. */
bd_error *bd_cuda_host_alloc(bd_device *device, size_t size_bytes, void **out) BD_MUST_USE;
void bd_cuda_host_free(bd_device *device, void *memory, size_t size_bytes);
/* All of it, in a new context. Thread: device. */
bd_error *bd_cuda_host_pin_all(bd_device *device) BD_MUST_USE;

/* A thread of its own waits for submissions, in order, and tells that they are done. */
bd_error *bd_cuda_flights_open(bd_device *device) BD_MUST_USE;
void bd_cuda_flights_close(bd_device *device); /* waits for those on their way */
/* Thread: device. Before the first launch. */
bd_cuda_flight *bd_cuda_flight_begin(bd_device *device, bd_submission *submission);
/* Where its kernels report faults; NULL: it has failed already, and nothing shall be launched. */
bd_fault *bd_cuda_flight_faults(bd_cuda_flight *flight);
/* How long one of the same kernels ran last time; 0: not known. */
int64_t bd_cuda_flight_lasted_ns(const bd_cuda_flight *flight);
/* After the last launch. own_error: why not all were launched, or NULL. */
void bd_cuda_flight_end(bd_device *device, bd_cuda_flight *flight, bd_error *own_error);

void bd_cuda_submit(bd_device *device, bd_submission *submission);
