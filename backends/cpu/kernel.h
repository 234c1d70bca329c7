/* SPDX-License-Identifier: Apache-2.0
 * A compiled kernel as the pool runs it: passes, each over a number of items. Passes of a launch
 * run one after another with a barrier between them; items of a pass in any order, on any worker.
 * A kernel is immutable once made; thread: any. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"

enum { BD_PASSES_MAX = 24, BD_PASS_PARAMS = 8 };

/* What generated code calls: element functions over small arrays (math_calls.def), in place. */
typedef void (*bd_math_call)(void *a, const void *b, int64_t count);

struct bd_call;
typedef void (*bd_fault_call)(const struct bd_call *call, int32_t tag, int64_t position,
                              int64_t extent);

/* The argument of generated code: one worker's view of one argument block. Field order is part
 * of the ABI of cached objects (bd_call_field in emit.h); a change needs a new emitter version. */
typedef struct bd_call {
    const int64_t *ints;
    void *const *buffers;
    const bd_scalar *scalars;
    char *worker_scratch;           /* this worker's own, 64-byte aligned */
    char *shared_scratch;           /* of this block, seen by all passes and workers */
    const bd_math_call *math;       /* by bd_math_function */
    bd_fault_call report;           /* records an index that is out of range */
    int64_t nontemporal;            /* not 0: stores may bypass the cache */
    int64_t params[BD_PASS_PARAMS]; /* of the pass: tile sizes and the like */
    /* Below: not read by generated code. */
    bd_fault *faults; /* by tag; or NULL */
    uint32_t block;
    int worker;
} bd_call;

typedef void (*bd_pass_function)(const bd_call *call, int64_t begin, int64_t end);

typedef struct bd_pass {
    bd_pass_function run;
    int64_t item_count; /* of one block; 0 is fine */
    double item_ns;     /* estimated time of one item on one core */
    int64_t nontemporal;
    int64_t params[BD_PASS_PARAMS]; /* copied into bd_call */
} bd_pass;

/* Bytes of scratch: for each worker, and shared by a block. */
typedef struct bd_scratch {
    size_t worker_bytes, shared_bytes;
} bd_scratch;

/* What a kernel does for the integer arguments of a block, found once for all its launches. */
struct bd_sized {
    bd_scratch scratch; /* the worker's is a multiple of 64 bytes */
    double ns;          /* estimated time of all passes on one core */
    int32_t empty_tag;  /* of a check that no index passes, so that nothing runs; or -1 */
    int pass_count;
    bd_pass passes[];
};

typedef struct bd_kernel_ops {
    /* The passes for these integer arguments, in order, and their scratch, zeros before; their
     * number, at most BD_PASSES_MAX. What params point to is in the arena. */
    int (*plan)(const bd_kernel *kernel, const int64_t *ints, bd_arena *arena, bd_pass *out_passes,
                bd_scratch *out_scratch);
    void (*destroy)(bd_kernel *kernel); /* frees all but the code */
} bd_kernel_ops;

struct bd_loaded;
struct bd_checks;

/* The head of every kernel; a kind of kernel puts it first in its own struct. */
struct bd_kernel {
    const bd_kernel_ops *ops;
    struct bd_loaded *code;   /* owned; freed by cpu.c after destroy */
    struct bd_checks *checks; /* owned likewise; NULL: no index is checked */
};
