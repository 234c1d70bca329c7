/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/pool.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/shared/checks.h"
#include "backends/cpu/math_calls.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/base/clock.h"
#include "proto/base/vec.h"

enum {
    THREADS_MAX = 256,
    SPIN_US = 20,
    INLINE_NS = 20000, /* work below this is not worth waking anybody */
    SHARE_NS = 6000,   /* and below this not worth sharing with one who is awake */
    RANGE_NS_MIN = 4000,
    RANGE_NS_MAX = 10000000, /* of a cancelled submission the ranges that are under way still run */
    RANGES_MAX = 1 << 22,
    SCRATCH_ALIGN = 64,
};

/* One block of a stage: ranges [first, first + count) are its items, `grain` a range. */
struct part {
    bd_pass pass;
    uint32_t block;
    int64_t first, count, grain;
    size_t worker_bytes, shared_offset;
};

/* A pass of a launch as it is open for claiming. Written by whoever opens it, while all ranges
 * of the one before are done; read by those who hold a range. */
struct stage {
    const bd_launch *launch;
    uint32_t launch_number;
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
    /* Claims: 16 bits stage number, 24 bits range count, 24 bits next range. */
    char apart_a[64];
    _Atomic uint64_t claims;
    char apart_b[64];
    _Atomic int64_t done;
    char apart_c[64];
    _Atomic uint32_t signal; /* futex word: grows when there is work */
    _Atomic int sleepers;
    _Atomic bool stopping;
    /* The place in the submission at hand: owned by whoever opens stages. */
    bd_submission *submission;
    uint32_t launch_number, block_number;
    int64_t launch_began_ns;
    int pass_number, pass_count;
    bool flat; /* all blocks of this launch at once */
    struct stage stage;
    uint64_t stage_number;
    /* Submissions behind it. */
    pthread_mutex_t lock;
    pthread_cond_t idle_changed;
    struct waiting *first_waiting, **last_waiting;
    bool busy;
};

struct worker_start {
    bd_pool *pool;
    int number;
};

static void futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static size_t aligned(size_t size)
{
    return (size + SCRATCH_ALIGN - 1) & ~(size_t)(SCRATCH_ALIGN - 1);
}

size_t bd_pool_scratch_bytes(const bd_pool *pool, const bd_kernel *kernel, const int64_t *ints)
{
    size_t worker = 0, shared = 0;
    kernel->ops->scratch(kernel, ints, &worker, &shared);
    return aligned(worker) * (size_t)pool->thread_count + aligned(shared);
}

int bd_pool_threads(const bd_pool *pool)
{
    return pool->thread_count;
}

/* ---- running ranges ---- */

/* The first fault of a submission stays; `happened` is read only after completion. */
static void report(const bd_call *call, int32_t tag, int64_t position, int64_t extent)
{
    bd_fault *fault = call->fault;
    int32_t none = 0;
    if (!fault || !__atomic_compare_exchange_n(&fault->happened, &none, -1, false, __ATOMIC_ACQ_REL,
                                               __ATOMIC_RELAXED))
        return;
    fault->tag = tag;
    fault->position = position;
    fault->extent = extent;
    fault->launch = call->launch;
    fault->block = call->block;
    __atomic_store_n(&fault->happened, 1, __ATOMIC_RELEASE);
}

static void run_items(const bd_pool *pool, const struct part *part, int worker, int64_t begin,
                      int64_t end)
{
    const struct stage *stage = &pool->stage;
    const bd_block *block = &stage->launch->blocks[part->block];
    char *scratch = pool->submission->scratch;
    bd_call call = {
        .ints = block->ints,
        .buffers = block->buffers,
        .scalars = block->scalars,
        .worker_scratch = scratch + (size_t)worker * part->worker_bytes,
        .shared_scratch = scratch + part->shared_offset,
        .math = bd_math_calls,
        .report = report,
        .nontemporal = part->pass.nontemporal,
        .fault = pool->submission->fault,
        .launch = stage->launch_number,
        .block = part->block,
        .worker = worker,
    };
    memcpy(call.params, part->pass.params, sizeof call.params);
    part->pass.run(&call, begin, end);
}

static bool is_cancelled(const bd_pool *pool)
{
    return atomic_load_explicit(&pool->submission->cancelled, memory_order_relaxed);
}

static void run_range(const bd_pool *pool, int worker, int64_t range)
{
    const struct stage *stage = &pool->stage;
    if (is_cancelled(pool))
        return;
    size_t low = 0, high = stage->parts.count;
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (stage->parts.items[middle].first <= range)
            low = middle;
        else
            high = middle;
    }
    const struct part *part = &stage->parts.items[low];
    int64_t begin = (range - part->first) * part->grain, end = begin + part->grain;
    run_items(pool, part, worker, begin, end < part->pass.item_count ? end : part->pass.item_count);
}

static void run_stage_alone(const bd_pool *pool, int worker)
{
    for (size_t i = 0; i < pool->stage.parts.count; i++) {
        const struct part *part = &pool->stage.parts.items[i];
        run_items(pool, part, worker, 0, part->pass.item_count);
    }
}

/* ---- stages ---- */

/* The passes of a block; none if it cannot run. */
static int passes_of(const bd_pool *pool, const bd_launch *launch, uint32_t block, bd_pass *out)
{
    const bd_kernel *kernel = launch->kernel;
    const int64_t *ints = launch->blocks[block].ints;
    int32_t tag;
    if (!bd_checks_nothing(kernel->checks, ints, &tag))
        return kernel->ops->plan(kernel, ints, out);
    bd_call call = {
        .fault = pool->submission->fault, .launch = pool->launch_number, .block = block};
    report(&call, tag, 0, 0);
    return 0;
}

static void add_part(bd_pool *pool, const bd_launch *launch, uint32_t number, const bd_pass *pass)
{
    size_t worker = 0, shared = 0;
    if (pass->item_count <= 0)
        return;
    launch->kernel->ops->scratch(launch->kernel, launch->blocks[number].ints, &worker, &shared);
    struct part *part = bd_vec_push(&pool->stage.parts);
    *part = (struct part){.pass = *pass, .block = number, .worker_bytes = aligned(worker)};
    part->shared_offset = part->worker_bytes * (size_t)pool->thread_count;
    pool->stage.ns += (double)pass->item_count * pass->item_ns;
}

/* Cuts the parts into ranges of about equal time. */
static void cut_ranges(bd_pool *pool)
{
    struct stage *stage = &pool->stage;
    double range_ns = stage->ns / (pool->thread_count * 8.0);
    range_ns = range_ns < RANGE_NS_MIN ? RANGE_NS_MIN : range_ns;
    range_ns = range_ns > RANGE_NS_MAX ? RANGE_NS_MAX : range_ns;
    size_t worker_bytes = 0;
    for (size_t i = 0; i < stage->parts.count; i++)
        if (stage->parts.items[i].worker_bytes > worker_bytes)
            worker_bytes = stage->parts.items[i].worker_bytes;
    stage->range_count = 0;
    for (size_t i = 0; i < stage->parts.count; i++) {
        struct part *part = &stage->parts.items[i];
        if (pool->flat)
            part->worker_bytes = worker_bytes;
        double items = range_ns / (part->pass.item_ns > 0.01 ? part->pass.item_ns : 0.01);
        int64_t least = part->pass.item_count / (RANGES_MAX / 4) + 1;
        part->grain = items > (double)least ? (int64_t)items : least;
        part->first = stage->range_count;
        part->count = (part->pass.item_count + part->grain - 1) / part->grain;
        stage->range_count += part->count;
    }
}

/* Fills the stage with the next pass of the submission; false at its end. */
static bool next_stage(bd_pool *pool)
{
    bd_submission *submission = pool->submission;
    struct stage *stage = &pool->stage;
    bd_pass passes[BD_PASSES_MAX];
    for (;;) {
        bd_vec_clear(&stage->parts);
        stage->ns = 0;
        if (pool->launch_number >= submission->launch_count || is_cancelled(pool))
            return false;
        bd_launch *launch = &submission->launches[pool->launch_number];
        const bd_kernel_ops *ops = launch->kernel->ops;
        stage->launch = launch;
        stage->launch_number = pool->launch_number;
        if (pool->block_number >= launch->block_count) {
            int64_t now = bd_now_ns();
            launch->run_ns = now - pool->launch_began_ns;
            pool->launch_began_ns = now;
            pool->launch_number++;
            pool->block_number = 0;
            pool->pass_number = 0;
            continue;
        }
        int count = passes_of(pool, launch, pool->block_number, passes);
        if (pool->pass_number < count) /* an empty product has no pass */
            add_part(pool, launch, pool->block_number, &passes[pool->pass_number]);
        pool->flat = count == 1 && pool->pass_number == 0;
        if (++pool->pass_number >= count) {
            pool->pass_number = 0;
            pool->block_number++;
        }
        /* Blocks of a single pass without shared scratch run side by side. */
        while (pool->flat && pool->block_number < launch->block_count) {
            size_t worker = 0, shared = 0;
            ops->scratch(launch->kernel, launch->blocks[pool->block_number].ints, &worker, &shared);
            if (shared > 0 || passes_of(pool, launch, pool->block_number, passes) != 1)
                break;
            add_part(pool, launch, pool->block_number, &passes[0]);
            pool->block_number++;
        }
        if (stage->parts.count > 0) {
            cut_ranges(pool);
            return true;
        }
    }
}

static bd_submission *take_waiting(bd_pool *pool)
{
    bd_submission *submission = NULL;
    pthread_mutex_lock(&pool->lock);
    struct waiting *first = pool->first_waiting;
    if (first) {
        submission = first->submission;
        pool->first_waiting = first->next;
        if (!first->next)
            pool->last_waiting = &pool->first_waiting;
    } else {
        pool->busy = false;
        pthread_cond_broadcast(&pool->idle_changed);
    }
    pthread_mutex_unlock(&pool->lock);
    bd_free(first);
    return submission;
}

static void start_submission(bd_pool *pool, bd_submission *submission)
{
    pool->submission = submission;
    pool->launch_number = pool->block_number = 0;
    pool->launch_began_ns = bd_now_ns();
    pool->pass_number = 0;
}

/* Workers that sleep look for work. */
static void wake(bd_pool *pool, int count)
{
    atomic_fetch_add(&pool->signal, 1);
    if (atomic_load(&pool->sleepers) > 0)
        futex_wake(&pool->signal, count);
}

static void publish(bd_pool *pool)
{
    int64_t range_count = pool->stage.range_count;
    BD_ASSERT(range_count < RANGES_MAX * 2);
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    pool->stage_number = (pool->stage_number + 1) & 0xffff;
    uint64_t word = pool->stage_number << 48 | (uint64_t)range_count << 24;
    atomic_store_explicit(&pool->claims, word, memory_order_release);
    wake(pool, range_count == 1 ? 1 : INT_MAX);
}

/* Whether others should have a part in the stage that is filled. */
static bool is_worth_sharing(const bd_pool *pool)
{
    int asleep = atomic_load_explicit(&pool->sleepers, memory_order_relaxed);
    double least_ns = asleep < pool->thread_count - 1 ? SHARE_NS : INLINE_NS;
    return pool->stage.ns > least_ns && pool->thread_count > 1 && pool->stage.range_count > 1;
}

/* Called by whoever finished the last range: runs small stages itself, opens a large one, ends the
 * submission and goes on with the next. */
static void advance(bd_pool *pool, int worker)
{
    for (;;) {
        while (next_stage(pool)) {
            if (is_worth_sharing(pool)) {
                publish(pool);
                return;
            }
            run_stage_alone(pool, worker);
        }
        bd_submission *finished = pool->submission;
        finished->done(finished);
        bd_submission *next = take_waiting(pool);
        if (!next)
            return;
        start_submission(pool, next);
    }
}

/* Claims and runs one range; false if there is none. */
static bool work(bd_pool *pool, int worker)
{
    uint64_t seen = atomic_load_explicit(&pool->claims, memory_order_acquire);
    if ((seen & 0xffffff) >= ((seen >> 24) & 0xffffff))
        return false;
    uint64_t claim = atomic_fetch_add_explicit(&pool->claims, 1, memory_order_acq_rel);
    int64_t range = (int64_t)(claim & 0xffffff), count = (int64_t)((claim >> 24) & 0xffffff);
    if (range >= count)
        return false;
    run_range(pool, worker, range);
    if (atomic_fetch_add_explicit(&pool->done, 1, memory_order_acq_rel) + 1 == count)
        advance(pool, worker);
    return true;
}

static void *worker_main(void *argument)
{
    struct worker_start *start = argument;
    bd_pool *pool = start->pool;
    int number = start->number;
    bd_free(start);
    while (!atomic_load(&pool->stopping)) {
        uint32_t seen = atomic_load(&pool->signal);
        if (work(pool, number))
            continue;
        int64_t until = bd_now_us() + SPIN_US;
        bool found = false;
        while (!found && bd_now_us() < until) {
            for (int i = 0; i < 32 && !found; i++) {
                __builtin_ia32_pause();
                found = atomic_load_explicit(&pool->signal, memory_order_relaxed) != seen;
            }
        }
        if (found)
            continue;
        atomic_fetch_add(&pool->sleepers, 1);
        if (atomic_load(&pool->signal) == seen && !atomic_load(&pool->stopping))
            futex_wait(&pool->signal, seen);
        atomic_fetch_sub(&pool->sleepers, 1);
    }
    return NULL;
}

/* ---- submitting ---- */

static bool is_small(const bd_submission *submission)
{
    double ns = 0;
    bd_pass passes[BD_PASSES_MAX];
    for (uint32_t l = 0; l < submission->launch_count; l++) {
        const bd_launch *launch = &submission->launches[l];
        for (uint32_t k = 0; k < launch->block_count; k++) {
            int count = launch->kernel->ops->plan(launch->kernel, launch->blocks[k].ints, passes);
            for (int p = 0; p < count; p++)
                ns += 100 + (double)passes[p].item_count * passes[p].item_ns;
            if (ns > INLINE_NS)
                return false;
        }
    }
    return true;
}

/* Runs stages from the first on, as long as they are small; false if there are more, of which one
 * is filled. */
static bool run_small_stages(bd_pool *pool)
{
    double ns = 0;
    while (next_stage(pool)) {
        ns += pool->stage.ns;
        if (ns > INLINE_NS)
            return false;
        run_stage_alone(pool, 0);
    }
    return true;
}

void bd_pool_submit(bd_pool *pool, bd_submission *submission)
{
    pthread_mutex_lock(&pool->lock);
    bool was_busy = pool->busy;
    pool->busy = true;
    if (was_busy) {
        struct waiting *waiting = bd_alloc(sizeof *waiting);
        *waiting = (struct waiting){submission, NULL};
        *pool->last_waiting = waiting;
        pool->last_waiting = &waiting->next;
    }
    pthread_mutex_unlock(&pool->lock);
    if (was_busy)
        return;
    if (!is_small(submission))
        wake(pool, INT_MAX); /* while the first stages run here */
    start_submission(pool, submission);
    if (!run_small_stages(pool)) {
        publish(pool);
        return;
    }
    submission->done(submission);
    /* `busy` was ours; anything that came in meanwhile starts on the workers. */
    bd_submission *next = take_waiting(pool);
    if (next) {
        start_submission(pool, next);
        advance(pool, 0);
    }
}

static int usable_cores(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > THREADS_MAX ? THREADS_MAX : count;
}

bd_error *bd_pool_create(int threads, bd_pool **out)
{
    if (threads < 0 || threads > THREADS_MAX)
        BD_FAIL(INVALID, "%d cpu threads: 0 to %d are possible", threads, THREADS_MAX);
    bd_pool *pool = bd_alloc_zeroed(sizeof *pool);
    pool->thread_count = threads ? threads : usable_cores();
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->idle_changed, NULL);
    pool->last_waiting = &pool->first_waiting;
    for (int i = 0; i < pool->thread_count; i++) {
        struct worker_start *start = bd_alloc(sizeof *start);
        *start = (struct worker_start){pool, i};
        int failed = pthread_create(&pool->threads[i], NULL, worker_main, start);
        if (failed) {
            bd_free(start);
            bd_pool_destroy(pool);
            BD_FAIL(UNAVAILABLE, "cannot start cpu worker %d: %s", i, strerror(failed));
        }
        pool->started++;
    }
    *out = pool;
    return NULL;
}

void bd_pool_destroy(bd_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    while (pool->busy)
        pthread_cond_wait(&pool->idle_changed, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    atomic_store(&pool->stopping, true);
    atomic_fetch_add(&pool->signal, 1);
    futex_wake(&pool->signal, INT_MAX);
    for (int i = 0; i < pool->started; i++)
        pthread_join(pool->threads[i], NULL);
    bd_vec_deinit(&pool->stage.parts);
    pthread_cond_destroy(&pool->idle_changed);
    pthread_mutex_destroy(&pool->lock);
    bd_free(pool);
}
