/* SPDX-License-Identifier: Apache-2.0
 * The pool's state and its two halves: who runs (pool.c), and what is run next (pool_stage.c). */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "backends/cpu/pool.h"
#include "proto/base/vec.h"

enum {
    THREADS_MAX = 256,
    RANGES_MAX = 1 << 22,
    SCRATCH_ALIGN = 64,
    SHARE_NS = 6000, /* work below this is not worth sharing with one who is awake */
};

/* One block of a stage: ranges [first, first + count) are its items, `grain` a range. */
struct part {
    const bd_pass *pass;
    uint32_t block;
    int64_t first, count, grain;
    size_t worker_bytes, shared_offset;
};

/* A pass of a launch as it is open for claiming. Written by whoever opens it, while all ranges
 * of the one before are done; read by those who hold a range. */
struct stage {
    const bd_launch *launch;
    BD_VEC(struct part) parts;
    int64_t range_count;
    double ns;
};

struct waiting {
    bd_submission *submission;
    struct waiting *next;
};

struct bd_pool {
    int thread_count;
    pthread_t threads[THREADS_MAX];
    int started;
    /* Whoever runs ranges has one of thread_count seats, and with it the scratch of its number. */
    atomic_bool seats[THREADS_MAX];
    /* Claims: 16 bits stage number, 24 bits range count, 24 bits next range. */
    char apart_a[64];
    _Atomic uint64_t claims;
    char apart_b[64];
    _Atomic int64_t done;
    char apart_c[64];
    _Atomic uint32_t signal; /* futex word: grows when there is work */
    _Atomic int sleepers;
    atomic_bool lender_sleeps;
    _Atomic int64_t lent_ns; /* processor time that the submitting thread worked */
    _Atomic bool stopping;
    /* The place in the submission at hand: owned by whoever opens stages. */
    bd_submission *submission;
    uint32_t launch_number, block_number;
    int pass_number;
    bool flat; /* all blocks of this launch at once */
    double inline_ns; /* what whoever opens stages may still run by himself, by estimate */
    /* Launches before launch_number from here on have their estimates for their time so far, the
     * sum of which is untimed_ns; the clock was looked at before them. */
    uint32_t untimed;
    double untimed_ns;
    int64_t timed_at_ns;
    struct stage stage;
    uint64_t stage_number;
    /* Submissions behind it. */
    pthread_mutex_t lock;
    pthread_cond_t idle_changed;
    struct waiting *first_waiting, **last_waiting;
    atomic_bool busy; /* written under the lock */
};

/* Begins a submission. */
void bd_stage_start(bd_pool *pool, bd_submission *submission);
/* Fills the stage with the next pass of the submission at hand; false at its end. Launches that are
 * tiny, and within inline_ns, it runs at once. */
bool bd_stage_next(bd_pool *pool, int worker);
/* Runs one range of the stage, or all of it, as the worker of that number. */
void bd_stage_run_range(const bd_pool *pool, int worker, int64_t range);
void bd_stage_run_alone(const bd_pool *pool, int worker);
