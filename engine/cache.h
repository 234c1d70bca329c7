/* SPDX-License-Identifier: Apache-2.0
 * Compiled kernels in memory, by the canonical bytes of their program, and the threads that compile
 * what is missing. A compile job is bytes in, kernel or error out; nothing waits for it but the
 * sessions whose plans need it. Kernels that no plan uses are kept up to a limit.
 * Thread: device, but for bd_cache_json (any) and the pool. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/backend.h"
#include "engine/mailbox.h"
#include "proto/base/error.h"
#include "proto/base/quota.h"

typedef struct bd_cache bd_cache;
typedef struct bd_cached bd_cached;

typedef enum bd_cached_state {
    BD_CACHED_WANTED, /* nobody has begun its job */
    BD_CACHED_COMPILING,
    BD_CACHED_READY,
    BD_CACHED_FAILED, /* forgotten when its last user lets go, so that a retry compiles anew */
} bd_cached_state;

struct bd_cached {
    bd_letter letter;         /* of the compile job, then of its answer */
    int kind;                 /* bd_letter_kind, engine/letters.h */
    bd_cached *next;          /* same hash */
    bd_cached *newer, *older; /* unused ones by age */
    bd_quota *quota;          /* who pays for the job; NULL: nobody */
    bd_cache *cache;
    uint64_t hash;
    uint8_t *bytes;
    size_t size_bytes;
    bd_cached_state state;
    uint32_t users;
    bd_kernel *kernel;
    bd_error *error;       /* FAILED */
    bd_kernel *job_kernel; /* the job's answer, until the device thread takes it */
    bd_error *job_error;
    int64_t compile_us; /* of a processor: waiting for what others compile is not in it */
    bool stale; /* what the job makes is for a device that was lost meanwhile */
    uint8_t family;
    atomic_uint_fast64_t launches, run_ns;
};

/* answers: where finished jobs are posted, as letters of BD_LETTER_COMPILED. */
bd_cache *bd_cache_create(const bd_device_ops *ops, bd_device *device, int threads,
                          bd_mailbox *answers);
/* Waits for running jobs and drops the others; their answers may still lie in the mailbox. */
void bd_cache_stop(bd_cache *cache);
/* No plan may use a kernel any more, and no answer may lie in the mailbox. */
void bd_cache_destroy(bd_cache *cache);
/* The entry of a program, one user more; a new one is WANTED. */
bd_cached *bd_cache_get(bd_cache *cache, const bd_kir *program);
/* Starts the compile job of a WANTED entry, at the cost of the quota (NULL: nobody's). */
void bd_cache_begin(bd_cached *cached, bd_quota *quota);
void bd_cache_release(bd_cached *cached);
/* Takes up the answer of a job; the entry may be gone afterwards. */
void bd_cache_finish(bd_cached *cached);
/* The device is lost: all kernels are freed, and those that plans use shall be compiled anew.
 * Between these two no job runs. */
void bd_cache_lose(bd_cache *cache);
void bd_cache_renew(bd_cache *cache);
char *bd_cache_json(bd_cache *cache);
