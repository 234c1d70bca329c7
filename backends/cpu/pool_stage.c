/* SPDX-License-Identifier: Apache-2.0
 * What the workers run next: submissions to stages, stages to ranges. */
#include <string.h>

#include "backends/shared/checks.h"
#include "backends/cpu/math_calls.h"
#include "backends/cpu/pool_parts.h"
#include "proto/base/clock.h"

enum {
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

static void run_items(const bd_pool *pool, const struct part *part, int worker, int64_t begin,
                      int64_t end)
{
    const struct stage *stage = &pool->stage;
    const bd_block *block = &stage->launch->blocks[part->block];
    char *scratch = stage->launch->scratch;
    bd_call call = {
        .ints = block->ints,
        .buffers = block->buffers,
        .scalars = block->scalars,
        .worker_scratch = scratch + (size_t)worker * part->worker_bytes,
        .shared_scratch = scratch + part->shared_offset,
        .math = bd_math_calls,
        .report = report,
        .nontemporal = part->pass.nontemporal,
        .faults = faults_of(pool, stage->launch),
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
    run_items(pool, part, worker, begin, end < part->pass.item_count ? end : part->pass.item_count);
}

void bd_stage_run_alone(const bd_pool *pool, int worker)
{
    for (size_t i = 0; i < pool->stage.parts.count; i++) {
        const struct part *part = &pool->stage.parts.items[i];
        run_items(pool, part, worker, 0, part->pass.item_count);
    }
}

/* The passes of a block; none if it cannot run. */
static int passes_of(const bd_pool *pool, const bd_launch *launch, uint32_t block, bd_pass *out)
{
    const bd_kernel *kernel = launch->kernel;
    const int64_t *ints = launch->blocks[block].ints;
    int32_t tag;
    if (!bd_checks_nothing(kernel->checks, ints, &tag))
        return kernel->ops->plan(kernel, ints, out);
    bd_call call = {.faults = faults_of(pool, launch), .block = block};
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
    *part = (struct part){.pass = *pass, .block = number, .worker_bytes = bd_pool_aligned(worker)};
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

bool bd_stage_next(bd_pool *pool)
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
