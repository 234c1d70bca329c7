/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/known.h"

#include <string.h>

#include "engine/run.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

static void keep_records(bd_known *known, const bd_trace *trace)
{
    known->record_count = trace->record_count;
    known->value_count = trace->value_count;
    known->slot_count = trace->external_count;
    known->records = BD_ARENA_ARRAY(&known->arena, bd_known_record, trace->record_count);
    for (uint32_t i = 0; i < trace->record_count; i++) {
        const bd_trace_record *record = &trace->records[i];
        known->records[i] = (bd_known_record){
            .info = record->info,
            .inputs = bd_arena_copy(&known->arena, record->inputs,
                                    record->input_count * sizeof *record->inputs),
            .input_count = record->input_count,
            .first_value = record->first_value,
            .output_count = record->output_count,
        };
    }
}

static void group_buffers(bd_known *known)
{
    const bd_plan *plan = known->plan;
    known->group_of = BD_ARENA_ARRAY(&known->arena, uint32_t, plan->buffer_count);
    known->groups = BD_ARENA_ARRAY(&known->arena, bd_known_group, plan->buffer_count);
    for (uint32_t i = 0; i < plan->buffer_count; i++)
        known->group_of[i] = BD_PLAN_NONE;
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        if (plan->buffers[i].kind == BD_BUFFER_EXTERNAL || known->group_of[i] != BD_PLAN_NONE)
            continue;
        /* Down to a buffer that has a group, or to the first of the chain. */
        uint32_t root = i;
        uint32_t below = plan->buffers[root].reuses;
        uint32_t steps = 0;
        while (below != BD_PLAN_NONE && plan->buffers[below].kind != BD_BUFFER_EXTERNAL &&
               known->group_of[root] == BD_PLAN_NONE) {
            BD_ASSERT(steps++ < plan->buffer_count);
            root = below;
            below = plan->buffers[root].reuses;
        }
        uint32_t group = known->group_of[root];
        if (group == BD_PLAN_NONE) {
            group = known->group_count++;
            known->groups[group] = (bd_known_group){BD_PLAN_NONE, below, UINT32_MAX, 0};
        }
        for (uint32_t b = i; known->group_of[b] == BD_PLAN_NONE; b = plan->buffers[b].reuses) {
            known->group_of[b] = group;
            if (b == root)
                break;
        }
    }
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        if (known->group_of[i] == BD_PLAN_NONE)
            continue;
        const bd_plan_buffer *buffer = &plan->buffers[i];
        bd_known_group *group = &known->groups[known->group_of[i]];
        if (buffer->kind == BD_BUFFER_RESULT)
            group->result = i;
        if (buffer->first_launch < group->first_launch)
            group->first_launch = buffer->first_launch;
        if (buffer->last_launch > group->last_launch)
            group->last_launch = buffer->last_launch;
    }
}

/* A plain merge sort by a key of groups: qsort cannot be given the groups. */
static void sort_groups(const bd_known *known, uint32_t *items, uint32_t *room, uint32_t count,
                        bool by_last)
{
    if (count < 2)
        return;
    uint32_t half = count / 2;
    sort_groups(known, items, room, half, by_last);
    sort_groups(known, items + half, room, count - half, by_last);
    uint32_t a = 0, b = half;
    for (uint32_t i = 0; i < count; i++) {
        bool take_a = b == count;
        if (a < half && b < count) {
            const bd_known_group *left = &known->groups[items[a]],
                                 *right = &known->groups[items[b]];
            take_a = by_last ? left->last_launch <= right->last_launch
                             : left->first_launch <= right->first_launch;
        }
        room[i] = take_a ? items[a++] : items[b++];
    }
    memcpy(items, room, count * sizeof *items);
}

static void order_arena(bd_known *known)
{
    known->by_first = BD_ARENA_ARRAY(&known->arena, uint32_t, known->group_count);
    known->by_last = BD_ARENA_ARRAY(&known->arena, uint32_t, known->group_count);
    uint32_t *room = BD_ARENA_ARRAY(&known->arena, uint32_t, known->group_count);
    for (uint32_t i = 0; i < known->group_count; i++)
        if (known->groups[i].result == BD_PLAN_NONE)
            known->by_first[known->arena_count++] = i;
    memcpy(known->by_last, known->by_first, known->arena_count * sizeof *known->by_last);
    sort_groups(known, known->by_first, room, known->arena_count, false);
    sort_groups(known, known->by_last, room, known->arena_count, true);
}

static void count_arguments(bd_known *known)
{
    const bd_plan *plan = known->plan;
    for (uint32_t i = 0; i < plan->launch_count; i++) {
        const bd_plan_launch *launch = &plan->launches[i];
        const bd_kir *program = plan->programs[launch->kernel];
        known->block_count += launch->block_count;
        known->argument_count += launch->block_count * program->int_count;
        known->pointer_count += launch->block_count * program->buffer_count;
        known->scalar_count += launch->block_count * program->scalar_count;
        known->fault_count += launch->fault_count;
    }
}

bd_known *bd_known_create(bd_plan *own_plan, const bd_trace *trace, bd_cache *cache)
{
    bd_known *known = bd_alloc_zeroed(sizeof *known);
    known->count = 1;
    bd_arena_init(&known->arena);
    known->plan = own_plan;
    keep_records(known, trace);
    group_buffers(known);
    order_arena(known);
    count_arguments(known);
    known->kernels = BD_ARENA_ARRAY(&known->arena, bd_cached *, own_plan->program_count);
    for (uint32_t i = 0; i < own_plan->program_count; i++)
        known->kernels[i] = bd_cache_get(cache, own_plan->programs[i]);
    return known;
}

bd_known *bd_known_retain(bd_known *known)
{
    known->count++;
    return known;
}

void bd_known_release(bd_known *known)
{
    if (!known || --known->count > 0)
        return;
    while (known->idle) {
        bd_run *next = known->idle->next;
        bd_run_destroy(known->idle);
        known->idle = next;
    }
    for (uint32_t i = 0; i < known->plan->program_count; i++)
        bd_cache_release(known->kernels[i]);
    bd_plan_release(known->plan);
    bd_arena_deinit(&known->arena);
    bd_free(known);
}

size_t bd_known_bytes(const bd_known *known)
{
    return sizeof *known + known->arena.total_bytes + known->plan->arena.total_bytes +
           bd_graph_arena(known->plan->graph)->total_bytes;
}

bool bd_known_ready(bd_known *known, bd_error **out_error)
{
    *out_error = NULL;
    for (uint32_t i = 0; i < known->plan->program_count; i++) {
        const bd_cached *cached = known->kernels[i];
        if (cached->state == BD_CACHED_WANTED || cached->state == BD_CACHED_COMPILING)
            return false;
        if (cached->state == BD_CACHED_FAILED && !*out_error)
            *out_error = cached->error;
        known->plan->kernels[i] = cached->kernel;
    }
    return true;
}

void bd_known_retry(bd_known *known, bd_cache *cache)
{
    for (uint32_t i = 0; i < known->plan->program_count; i++) {
        bd_cached *before = known->kernels[i];
        if (before->state != BD_CACHED_FAILED)
            continue;
        known->kernels[i] = bd_cache_get(cache, known->plan->programs[i]);
        bd_cache_release(before);
    }
}

int64_t bd_known_begin(bd_known *known, bd_quota *quota)
{
    /* What takes longest to compile is begun first, so that it does not end last. */
    static const bd_kir_family order[] = {BD_KIR_ATTENTION, BD_KIR_CONTRACTION, BD_KIR_LOOP};
    uint32_t count = known->plan->program_count;
    for (uint32_t i = 0; i < 3 * count; i++) {
        bd_cached *kernel = known->kernels[i % count];
        if (kernel->state != BD_CACHED_WANTED || kernel->family != order[i / count])
            continue;
        int64_t wait_ns = bd_quota_wait_ns(quota, BD_QUOTA_COMPILE);
        if (wait_ns)
            return wait_ns;
        bd_cache_begin(kernel, quota);
    }
    return 0;
}
