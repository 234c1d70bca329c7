/* SPDX-License-Identifier: Apache-2.0
 * The contract between engine and backends: two const tables. A backend sees kernel IR only,
 * never ops. Memory pooling, caching in memory, fusion and planning live above it, once. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/kir/kir.h"
#include "proto/base/attr.h"
#include "proto/base/error.h"

typedef struct bd_device bd_device; /* a backend's open device */
typedef struct bd_kernel bd_kernel; /* compiled code; counted by its maker */
typedef struct bd_sized bd_sized;   /* what a backend keeps of a kernel with certain sizes */

typedef union bd_scalar {
    double f;
    int64_t i;
} bd_scalar;

/* Where kernels report an index out of range: one for each launch and tag of BD_KIR_CHECK; the
 * first index that one of them meets stays. */
typedef struct bd_fault {
    int32_t happened; /* written last; read after completion */
    uint32_t block;   /* the number of the argument block */
    int64_t position, extent;
} bd_fault;

/* The arguments of one run of a kernel; borrowed until the submission completes. */
typedef struct bd_block {
    const int64_t *ints;
    void *const *buffers;
    const bd_scalar *scalars;
} bd_block;

/* One launch: the same kernel over one or more independent argument blocks (horizontal fusion). */
typedef struct bd_launch {
    bd_kernel *kernel;
    const bd_block *blocks;
    const bd_sized *const *sized; /* by block, from bd_device_ops.size */
    uint32_t block_count;
    /* as bd_device_ops.size asked for the largest block; 64-byte aligned. Other launches may have
     * the same. */
    void *scratch;
    uint32_t first_fault; /* of the submission's faults, that of its tag 0 */
    /* Out: how long it ran; 0 where the device tells of whole submissions only. Short ones that
     * follow one another may share their time by estimate. */
    int64_t run_ns;
} bd_launch;

/* A list of launches that run in order; a launch sees the writes of those before it.
 * done is called once, on any thread, after the last launch; it must only post. */
typedef struct bd_submission {
    bd_launch *launches;
    uint32_t launch_count;
    bd_fault *faults; /* zeros before; NULL if nobody asks */
    uint32_t fault_count;
    /* Both are out, and 0 before. How long the launches ran on a device that tells no more; why
     * they did not all run: DEVICE_LOST, NO_MEMORY or DEVICE, for the engine to free. */
    int64_t run_ns;
    bd_error *error;
    void (*done)(struct bd_submission *submission);
    /* May be called before, on any thread but the submitter's, when that is near: who waits for it
     * may wake. */
    void (*soon)(struct bd_submission *submission);
    void *user;
    atomic_bool cancelled; /* nobody waits for it: what has not begun may be left out */
    bool lends;            /* the submitter calls lend until it is done */
} bd_submission;

/* Which sums of f32 may be made of rounded factors (TF32). */
typedef enum bd_tf32 { BD_TF32_OFF, BD_TF32_CONVOLUTIONS, BD_TF32_ALL } bd_tf32;

typedef struct bd_device_options {
    int threads;            /* CPU workers; 0 = all cores this process may use */
    const char *cache_path; /* folder for compiled objects; NULL = none */
    uint64_t cache_bytes_max;
    bool compile_never;     /* a kernel that is not cached is an UNAVAILABLE error */
    bd_tf32 tf32;           /* by a vendor's library */
    const char *libraries;  /* folders where a vendor's libraries lie, "a:b"; NULL: the usual */
    const char *target;     /* cpu: "generic", "avx2" … (cpu/jit.h) or NULL = the host's best */
} bd_device_options;

typedef struct bd_device_facts {
    char name[64];        /* "cpu" or a product name */
    char detail[128];     /* target, features, cores */
    uint64_t memory_bytes; /* total, for limits */
    int threads;
} bd_device_facts;

/* Counters that only the backend knows. */
typedef struct bd_device_counters {
    uint64_t compiles;      /* programs turned into code */
    uint64_t cache_hits;    /* objects taken from disk */
    uint64_t code_bytes;    /* resident machine code */
    uint64_t lent_us;       /* processor time for which the device thread ran kernels */
    uint64_t library_plans; /* made by a vendor's library, one for each form and size */
    uint64_t fallbacks;     /* programs that ran by other means than the backend's own code */
} bd_device_counters;

typedef struct bd_device_ops {
    /* Thread: device. Waits for running work. */
    void (*close)(bd_device *device);
    void (*describe)(bd_device *device, bd_device_facts *out);
    void (*counters)(bd_device *device, bd_device_counters *out); /* thread: any */
    /* Memory of the device, aligned to 64 bytes at least, large ones to 2 MiB; zeros, unless there
     * is `clear`. NO_MEMORY if there is none. Thread: any. */
    bd_error *(*alloc)(bd_device *device, size_t size_bytes, void **out) BD_MUST_USE;
    void (*free)(bd_device *device, void *memory, size_t size_bytes);
    /* NULL where `alloc` gives memory that the host can touch. Else: memory of the host that the
     * device copies fast. Thread: any. */
    bd_error *(*host_alloc)(bd_device *device, size_t size_bytes, void **out) BD_MUST_USE;
    void (*host_free)(bd_device *device, void *memory, size_t size_bytes);
    /* Host to device, in order with submissions; `from` stays as it is until the next submission
     * is done. Thread: device. */
    bd_error *(*copy_in)(bd_device *device, void *to, const void *from,
                         size_t size_bytes) BD_MUST_USE;
    /* Device to host, of what no submission in flight writes; returns when it is there.
     * Thread: device. */
    bd_error *(*copy_out)(bd_device *device, void *to, const void *from,
                          size_t size_bytes) BD_MUST_USE;
    /* NULL where the host can touch the memory. Else: zeros, in order with submissions.
     * Thread: device. */
    bd_error *(*clear)(bd_device *device, void *memory, size_t size_bytes) BD_MUST_USE;
    /* NULL, or: the device begins anew after DEVICE_LOST. Before, nothing is in flight, and all its
     * memory (but the host's, which stays) and all kernels were freed. Thread: device, while no
     * other is in here. */
    bd_error *(*reopen)(bd_device *device) BD_MUST_USE;
    /* NULL, or: makes ahead of time a part of what most programs need, while nobody waits for it.
     * False: there is no further one. Thread: any, several at once. */
    bool (*prepare)(bd_device *device);
    /* Program to kernel. Pure but for the object cache; thread: any, several at once.
     * DEVICE if code generation fails; UNAVAILABLE under compile_never. Owns: the caller, by
     * kernel_free. */
    bd_error *(*compile)(bd_device *device, const bd_kir *program, bd_kernel **out) BD_MUST_USE;
    void (*kernel_free)(bd_device *device, bd_kernel *kernel);
    /* NULL, or: processor time that the calling thread, in compile, has given to other programs so
     * far, less what other threads have given to its own. Thread: any. */
    int64_t (*lent_ns)(void);
    /* Arithmetic is so cheap beside memory that fusion makes more again, to read less. */
    bool spares_reads;
    /* Scratch that a block needs with these integer arguments. out: what else the device would
     * have to find out of them at each launch, in the arena, or NULL. Thread: any. */
    size_t (*size)(bd_device *device, const bd_kernel *kernel, const int64_t *ints,
                   bd_arena *arena, const bd_sized **out);
    /* Asynchronous: submissions run in order, one after another. Borrowed until done is called.
     * A small one may run at once, so done may be called before this returns. Thread: device. */
    void (*submit)(bd_device *device, bd_submission *submission);
    /* NULL where the device has processors of its own. Else: runs submitted work on the calling
     * thread, which has nothing else to do, until there is none or *wanted is set. Whoever sets it
     * then uses call, from any thread. Thread of lend: device. */
    void (*lend)(bd_device *device, const atomic_bool *wanted);
    void (*call)(bd_device *device);
} bd_device_ops;

typedef struct bd_driver {
    const char *name; /* "cpu", "ref" */
    /* Whether a device is there; reason (may be NULL) says why not. Thread: main, before others
     * start. */
    bool (*probe)(char *reason, size_t reason_bytes);
    bd_error *(*open)(const bd_device_options *options, bd_device **out) BD_MUST_USE;
    const bd_device_ops *ops;
} bd_driver;

/* The registry, backends/registry.c over backends/backends.def. */
int bd_driver_count(void);
const bd_driver *bd_driver_at(int index);
const bd_driver *bd_driver_find(const char *name); /* NULL if unknown */
