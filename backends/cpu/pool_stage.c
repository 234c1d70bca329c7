/* SPDX-License-Identifier: Apache-2.0
 * What the workers run next: submissions to stages, stages to ranges. */
#include <string.h>

#include "backends/cpu/math_calls.h"
#include "backends/cpu/pool_parts.h"
#include "proto/base/clock.h"

enum {
    TIMED_NS = 2000, /* launches below this are timed several at once */
    LAUNCH_NS = 50,  /* estimated time of a launch beside its items */
    RANGE_NS_MIN = 4000,
    RANGE_NS_MAX = 3000000, /* a lender looks up, and a cancelled submission ends, between ranges */
};

/* The first fault of a tag stays; `happened` is read only after completion. */
static void report(const bd_call *call, int32_t tag, int64_t position, int64_t extent)
{
    bd_fault *fault = call->faults ? &call->faults[tag] : NULL;
    int32_t none = 0;
    if (!fault || !__atomic_compare_exchange_n(&fault->happened, &none, -1, false, __ATOMIC_ACQ_REL,
                                               __ATOMIC_RELAXED))
        return;
    fault->position = position;
    fault->extent = extent;
    fault->block = call->block;
    __atomic_store_n(&fault->happened, 1, __ATOMIC_RELEASE);
}

static bd_fault *faults_of(const bd_pool *pool, const bd_launch *launch)
{
    bd_fault *faults = pool->submission->faults;
    return faults ? faults + launch->first_fault : NULL;
}

/* How one worker sees a block of a launch. */
static bd_call call_of(const bd_pool *pool, const bd_launch *launch, uint32_t number,
                       size_t worker_bytes, size_t shared_offset, int worker)
{
    const bd_block *block = &launch->blocks[number];
    char *scratch = launch->scratch;
    return (bd_call){
        .ints = block->ints,
        .buffers = block->buffers,
        .scalars = block->scalars,
        .worker_scratch = scratch + (size_t)worker * worker_bytes,
        .shared_scratch = scratch + shared_offset,
        .math = bd_math_calls,
        .report = report,
        .faults = faults_of(pool, launch),
        .block = number,
        .worker = worker,
    };
}

static void run_pass(bd_call *call, const bd_pass *pass, int64_t begin, int64_t end)
{
    call->nontemporal = pass->nontemporal;
    memcpy(call->params, pass->params, sizeof call->params);
    pass->run(call, begin, end);
}

static void run_items(const bd_pool *pool, const struct part *part, int worker, int64_t begin,
                      int64_t end)
{
    bd_call call = call_of(pool, pool->stage.launch, part->block, part->worker_bytes,
                           part->shared_offset, worker);
    run_pass(&call, part->pass, begin, end);
}

static bool is_cancelled(const bd_pool *pool)
{
    return atomic_load_explicit(&pool->submission->cancelled, memory_order_relaxed);
}

void bd_stage_run_range(const bd_pool *pool, int worker, int64_t range)
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
    int64_t last = part->pass->item_count;
    run_items(pool, part, worker, begin, end < last ? end : last);
}

void bd_stage_run_alone(const bd_pool *pool, int worker)
{
    for (size_t i = 0; i < pool->stage.parts.count; i++) {
        const struct part *part = &pool->stage.parts.items[i];
        run_items(pool, part, worker, 0, part->pass->item_count);
    }
}

static void report_empty(const bd_pool *pool, const bd_launch *launch, uint32_t block)
{
    bd_call call = {.faults = faults_of(pool, launch), .block = block};
    if (launch->sized[block]->empty_tag >= 0)
        report(&call, launch->sized[block]->empty_tag, 0, 0);
}

static void add_part(bd_pool *pool, const bd_launch *launch, uint32_t number, const bd_pass *pass)
{
    size_t worker_bytes = launch->sized[number]->scratch.worker_bytes;
    if (pass->item_count <= 0)
        return;
    struct part *part = bd_vec_push(&pool->stage.parts);
    *part = (struct part){.pass = pass, .block = number, .worker_bytes = worker_bytes};
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
        double items = range_ns / (part->pass->item_ns > 0.01 ? part->pass->item_ns : 0.01);
        int64_t least = part->pass->item_count / (RANGES_MAX / 4) + 1;
        part->grain = items > (double)least ? (int64_t)items : least;
        part->first = stage->range_count;
        part->count = (part->pass->item_count + part->grain - 1) / part->grain;
        stage->range_count += part->count;
    }
}

/* ---- times ---- */

/* The launches since the last look at the clock share the time since then by their estimates. */
static void tell_times(bd_pool *pool)
{
    int64_t now = bd_now_ns();
    double share = (double)(now - pool->timed_at_ns) / pool->untimed_ns;
    for (; pool->untimed < pool->launch_number; pool->untimed++) {
        bd_launch *launch = &pool->submission->launches[pool->untimed];
        launch->run_ns = (int64_t)((double)launch->run_ns * share);
    }
    pool->untimed_ns = 0;
    pool->timed_at_ns = now;
}

static void end_launch(bd_pool *pool, double ns)
{
    bd_launch *launch = &pool->submission->launches[pool->launch_number++];
    launch->run_ns = (int64_t)ns + LAUNCH_NS;
    pool->untimed_ns += (double)launch->run_ns;
    pool->block_number = 0;
    if (pool->untimed_ns > TIMED_NS)
        tell_times(pool);
}

/* ---- what is next ---- */

/* Above SHARE_NS it may be any such number. */
static double launch_ns(const bd_launch *launch)
{
    double ns = 0;
    for (uint32_t i = 0; i < launch->block_count && ns <= SHARE_NS; i++)
        ns += launch->sized[i]->ns;
    return ns;
}

static void run_launch(const bd_pool *pool, const bd_launch *launch, int worker)
{
    for (uint32_t number = 0; number < launch->block_count; number++) {
        const bd_sized *sized = launch->sized[number];
        size_t worker_bytes = sized->scratch.worker_bytes;
        bd_call call = call_of(pool, launch, number, worker_bytes,
                               worker_bytes * (size_t)pool->thread_count, worker);
        if (sized->empty_tag >= 0)
            report(&call, sized->empty_tag, 0, 0);
        for (int i = 0; i < sized->pass_count; i++)
            if (sized->passes[i].item_count > 0)
                run_pass(&call, &sized->passes[i], 0, sized->passes[i].item_count);
    }
}

/* Fills the stage with the next pass of a launch that has one. */
static void fill(bd_pool *pool, const bd_launch *launch)
{
    const bd_sized *sized = launch->sized[pool->block_number];
    pool->stage.launch = launch;
    if (pool->pass_number == 0)
        report_empty(pool, launch, pool->block_number);
    if (pool->pass_number < sized->pass_count) /* an empty product has no pass */
        add_part(pool, launch, pool->block_number, &sized->passes[pool->pass_number]);
    pool->flat = sized->pass_count == 1 && sized->scratch.shared_bytes == 0;
    if (++pool->pass_number >= sized->pass_count) {
        pool->pass_number = 0;
        pool->block_number++;
    }
    /* Blocks of a single pass without shared scratch run side by side. */
    while (pool->flat && pool->block_number < launch->block_count) {
        sized = launch->sized[pool->block_number];
        if (sized->scratch.shared_bytes > 0 || sized->pass_count != 1)
            break;
        add_part(pool, launch, pool->block_number, &sized->passes[0]);
        pool->block_number++;
    }
}

void bd_stage_start(bd_pool *pool, bd_submission *submission)
{
    pool->submission = submission;
    pool->launch_number = pool->block_number = pool->untimed = 0;
    pool->pass_number = 0;
    pool->untimed_ns = 0;
    pool->timed_at_ns = bd_now_ns();
}

bool bd_stage_next(bd_pool *pool, int worker)
{
    bd_submission *submission = pool->submission;
    bd_vec_clear(&pool->stage.parts);
    pool->stage.ns = 0;
    while (pool->launch_number < submission->launch_count && !is_cancelled(pool)) {
        const bd_launch *launch = &submission->launches[pool->launch_number];
        bool begins = pool->block_number == 0 && pool->pass_number == 0;
        double ns = begins ? launch_ns(launch) : 0;
        if (begins && ns <= SHARE_NS && ns <= pool->inline_ns) {
            run_launch(pool, launch, worker);
            pool->inline_ns -= ns;
            end_launch(pool, ns);
        } else if (pool->block_number >= launch->block_count) {
            end_launch(pool, TIMED_NS);
        } else {
            if (begins && pool->untimed < pool->launch_number)
                tell_times(pool);
            fill(pool, launch);
            if (pool->stage.parts.count > 0) {
                cut_ranges(pool);
                return true;
            }
        }
    }
    if (pool->untimed < pool->launch_number)
        tell_times(pool);
    return false;
}
