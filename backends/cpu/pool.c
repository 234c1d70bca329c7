/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/pool.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "backends/cpu/pool_parts.h"
#include "backends/shared/checks.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/base/clock.h"

enum {
    SPIN_US = 20,
    INLINE_NS = 20000, /* work below this is not worth waking anybody */
    PASS_NS = 50,      /* beside its items */
};

struct worker_start {
    bd_pool *pool;
    int number;
};

/* Who waits: the pool's own threads, the thread that lends itself. */
enum { WORKERS = 1, LENDER = 2 };

static void futex_wait(_Atomic uint32_t *word, uint32_t seen, uint32_t who)
{
    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, seen, NULL, NULL, who);
}

static void futex_wake(_Atomic uint32_t *word, int count, uint32_t who)
{
    syscall(SYS_futex, word, FUTEX_WAKE_BITSET_PRIVATE, count, NULL, NULL, who);
}

static size_t aligned(size_t size)
{
    return (size + SCRATCH_ALIGN - 1) & ~(size_t)(SCRATCH_ALIGN - 1);
}

size_t bd_pool_size(const bd_pool *pool, const bd_kernel *kernel, const int64_t *ints,
                    bd_arena *arena, const bd_sized **out)
{
    BD_UNSET bd_pass passes[BD_PASSES_MAX];
    bd_sized found = {.empty_tag = -1};
    if (!bd_checks_nothing(kernel->checks, ints, &found.empty_tag))
        found.pass_count = kernel->ops->plan(kernel, ints, arena, passes, &found.scratch);
    found.scratch.worker_bytes = aligned(found.scratch.worker_bytes);
    for (int i = 0; i < found.pass_count; i++)
        found.ns += (double)passes[i].item_count * passes[i].item_ns;
    size_t pass_bytes = (size_t)found.pass_count * sizeof *passes;
    bd_sized *sized = bd_arena_alloc(arena, sizeof *sized + pass_bytes);
    *sized = found;
    memcpy(sized->passes, passes, pass_bytes);
    *out = sized;
    return found.scratch.worker_bytes * (size_t)pool->thread_count +
           aligned(found.scratch.shared_bytes);
}

int bd_pool_threads(const bd_pool *pool)
{
    return pool->thread_count;
}

void bd_pool_call(bd_pool *pool)
{
    atomic_fetch_add(&pool->signal, 1);
    if (atomic_load(&pool->lender_sleeps))
        futex_wake(&pool->signal, 1, LENDER);
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
    if (!submission)
        bd_pool_call(pool);
    bd_free(first);
    return submission;
}

/* So many of those who sleep look for work. */
static void wake(bd_pool *pool, int count)
{
    atomic_fetch_add(&pool->signal, 1);
    if (count > 0 && atomic_load(&pool->sleepers) > 0)
        futex_wake(&pool->signal, count, WORKERS | LENDER);
}

/* ---- seats ---- */

/* The wanted seat, or another one; -1 if all are taken. */
static int take_seat(bd_pool *pool, int wanted)
{
    for (int i = 0; i < pool->thread_count; i++) {
        int seat = (wanted + i) % pool->thread_count;
        if (!atomic_exchange_explicit(&pool->seats[seat], true, memory_order_acquire))
            return seat;
    }
    return -1;
}

static void leave_seat(bd_pool *pool, int seat)
{
    atomic_store_explicit(&pool->seats[seat], false, memory_order_release);
}

/* Opens the stage; so many others are asked to take part. */
static void publish(bd_pool *pool, int others)
{
    int64_t range_count = pool->stage.range_count;
    BD_ASSERT(range_count < RANGES_MAX * 2);
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    pool->stage_number = (pool->stage_number + 1) & 0xffff;
    uint64_t word = pool->stage_number << 48 | (uint64_t)range_count << 24;
    atomic_store_explicit(&pool->claims, word, memory_order_release);
    wake(pool, range_count < others ? (int)range_count : others);
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
        pool->inline_ns = INFINITY;
        while (bd_stage_next(pool, worker)) {
            if (is_worth_sharing(pool)) {
                publish(pool, pool->thread_count - 1);
                return;
            }
            bd_stage_run_alone(pool, worker);
        }
        bd_submission *finished = pool->submission;
        finished->done(finished);
        bd_submission *next = take_waiting(pool);
        if (!next)
            return;
        bd_stage_start(pool, next);
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
    bd_stage_run_range(pool, worker, range);
    if (atomic_fetch_add_explicit(&pool->done, 1, memory_order_acq_rel) + 1 == count)
        advance(pool, worker);
    return true;
}

static bool has_ranges(const bd_pool *pool)
{
    uint64_t claims = atomic_load_explicit(&pool->claims, memory_order_acquire);
    return (claims & 0xffffff) < ((claims >> 24) & 0xffffff);
}

/* Runs ranges while there are some, or until *wanted (if not NULL); whether it ran one. */
static bool take_part(bd_pool *pool, int number, const atomic_bool *wanted)
{
    int seat = has_ranges(pool) ? take_seat(pool, number) : -1;
    bool worked = false;
    if (seat < 0)
        return false;
    while (!(wanted && atomic_load(wanted)) && work(pool, seat))
        worked = true;
    leave_seat(pool, seat);
    return worked;
}

/* Whether the signal changes soon. */
static bool spin(const bd_pool *pool, uint32_t seen)
{
    int64_t until = bd_now_us() + SPIN_US;
    bool found = false;
    while (!found && bd_now_us() < until) {
        for (int i = 0; i < 32 && !found; i++) {
            __builtin_ia32_pause();
            found = atomic_load_explicit(&pool->signal, memory_order_relaxed) != seen;
        }
    }
    return found;
}

static void *worker_main(void *argument)
{
    struct worker_start *start = argument;
    bd_pool *pool = start->pool;
    int number = start->number;
    bd_free(start);
    while (!atomic_load(&pool->stopping)) {
        uint32_t seen = atomic_load(&pool->signal);
        if (take_part(pool, number, NULL) || spin(pool, seen))
            continue;
        atomic_fetch_add(&pool->sleepers, 1);
        if (atomic_load(&pool->signal) == seen && !atomic_load(&pool->stopping))
            futex_wait(&pool->signal, seen, WORKERS);
        atomic_fetch_sub(&pool->sleepers, 1);
    }
    return NULL;
}

static void count_lent(bd_pool *pool, int64_t before_ns)
{
    atomic_fetch_add_explicit(&pool->lent_ns, bd_worked_ns() - before_ns, memory_order_relaxed);
}

uint64_t bd_pool_lent_us(const bd_pool *pool)
{
    return (uint64_t)atomic_load_explicit(&pool->lent_ns, memory_order_relaxed) / 1000;
}

void bd_pool_lend(bd_pool *pool, const atomic_bool *wanted)
{
    while (atomic_load(&pool->busy) && !atomic_load(wanted)) {
        uint32_t seen = atomic_load(&pool->signal);
        int64_t before = bd_worked_ns();
        bool worked = take_part(pool, pool->thread_count - 1, wanted);
        count_lent(pool, before);
        if (worked || spin(pool, seen))
            continue;
        atomic_store(&pool->lender_sleeps, true);
        atomic_fetch_add(&pool->sleepers, 1);
        if (atomic_load(&pool->signal) == seen && !atomic_load(wanted))
            futex_wait(&pool->signal, seen, LENDER);
        atomic_fetch_sub(&pool->sleepers, 1);
        atomic_store(&pool->lender_sleeps, false);
    }
    if (has_ranges(pool))
        wake(pool, 1); /* somebody else takes the seat */
}

/* ---- submitting ---- */

static bool is_small(const bd_submission *submission)
{
    double ns = 0;
    for (uint32_t l = 0; l < submission->launch_count; l++) {
        const bd_launch *launch = &submission->launches[l];
        for (uint32_t k = 0; k < launch->block_count; k++) {
            ns += launch->sized[k]->ns + PASS_NS * launch->sized[k]->pass_count;
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
    pool->inline_ns = INLINE_NS;
    while (bd_stage_next(pool, 0)) {
        pool->inline_ns -= pool->stage.ns;
        if (pool->inline_ns < 0)
            return false;
        bd_stage_run_alone(pool, 0);
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
    int others = pool->thread_count - submission->lends;
    if (!is_small(submission))
        wake(pool, others); /* while the first stages run here */
    bd_stage_start(pool, submission);
    int64_t before = bd_worked_ns();
    bool finished = run_small_stages(pool);
    count_lent(pool, before);
    if (!finished) {
        publish(pool, others);
        return;
    }
    submission->done(submission);
    /* `busy` was ours; anything that came in meanwhile starts on the workers. */
    bd_submission *next = take_waiting(pool);
    if (next) {
        bd_stage_start(pool, next);
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
    futex_wake(&pool->signal, INT_MAX, WORKERS);
    for (int i = 0; i < pool->started; i++)
        pthread_join(pool->threads[i], NULL);
    bd_vec_deinit(&pool->stage.parts);
    pthread_cond_destroy(&pool->idle_changed);
    pthread_mutex_destroy(&pool->lock);
    bd_free(pool);
}
