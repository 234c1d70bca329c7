/* SPDX-License-Identifier: Apache-2.0
 * Regions to launches: equal programs are kept once; independent regions with the same program
 * become blocks of one launch; launches run in the order of the trace as far as they can. */
#include <string.h>

#include "engine/plan_parts.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/base/hash.h"
#include "proto/base/map.h"

enum { DISTANCE_MAX = 50 }; /* nodes that stand near each other */

typedef struct launch_group {
    bd_number_list regions;
    uint32_t program;
    bd_node order_key; /* of its last region: groups run in this order where they may */
    uint32_t waits_for;
} launch_group;

typedef struct launch_state {
    bd_plan_build_state *state;
    uint32_t region_count;
    uint32_t *program_of; /* by region */
    uint32_t *group_of;   /* by region */
    bd_node *key_of;      /* by region */
    launch_group *groups;
    uint32_t group_count;
    uint32_t *seen;
    uint32_t stamp;
    uint32_t steps_left;  /* of searches through the order of groups */
    uint32_t *heap;       /* groups that wait for nothing, the least key first */
    uint32_t heap_count;
    uint32_t placed_regions;
} launch_state;

/* A program's canonical bytes, and the next one with the same hash. */
typedef struct program_text {
    uint8_t *bytes;
    size_t size_bytes;
    struct program_text *next;
    uint32_t number;
} program_text;

static program_text *find_text(program_text *text, const uint8_t *bytes, size_t size_bytes)
{
    while (text && (text->size_bytes != size_bytes || memcmp(text->bytes, bytes, size_bytes) != 0))
        text = text->next;
    return text;
}

static void number_programs(launch_state *launcher)
{
    bd_plan_build_state *state = launcher->state;
    bd_plan *plan = state->plan;
    size_t count = launcher->region_count;
    plan->programs = BD_ARENA_ARRAY(&plan->arena, bd_kir *, count + 1);
    bd_map texts = {0}; /* by hash */
    for (size_t i = 0; i < count; i++) {
        size_t size_bytes;
        uint8_t *bytes = bd_kir_serialize(state->lowered[i].program, &size_bytes);
        uint64_t hash = bd_hash_bytes(bytes, size_bytes, 0);
        program_text *first = bd_map_get(&texts, hash);
        program_text *found = find_text(first, bytes, size_bytes);
        if (!found) {
            found = bd_arena_alloc(&state->scratch, sizeof *found);
            *found = (program_text){bd_arena_copy(&state->scratch, bytes, size_bytes), size_bytes,
                                    first, plan->program_count};
            (void)bd_map_put(&texts, hash, found);
            plan->programs[plan->program_count++] = state->lowered[i].program;
        }
        launcher->program_of[i] = found->number;
        bd_free(bytes);
    }
    bd_map_deinit(&texts);
    plan->kernels = BD_ARENA_ARRAY(&plan->arena, bd_kernel *, plan->program_count + 1);
}

/* Whether group `to` runs after `from`; also true when the search has become too long. */
static bool reaches(launch_state *launcher, uint32_t from, uint32_t to)
{
    uint32_t stamp = ++launcher->stamp;
    bd_number_list stack = {0};
    *bd_vec_push(&stack) = from;
    launcher->seen[from] = stamp;
    bool found = launcher->steps_left == 0;
    while (stack.count > 0 && !found) {
        const launch_group *each = &launcher->groups[stack.items[--stack.count]];
        for (size_t r = 0; r < each->regions.count && !found; r++) {
            found = launcher->steps_left == 0;
            launcher->steps_left -= launcher->steps_left > 0;
            const bd_number_list *next =
                &launcher->state->fusion.successors.items[each->regions.items[r]];
            for (size_t i = 0; i < next->count && !found; i++) {
                uint32_t other = launcher->group_of[next->items[i]];
                found = other == to;
                if (launcher->seen[other] == stamp)
                    continue;
                launcher->seen[other] = stamp;
                *bd_vec_push(&stack) = other;
            }
        }
    }
    bd_vec_deinit(&stack);
    return found;
}

/* The last node that it stores. */
static bd_node last_of(const bd_region *region)
{
    bd_node last = 0;
    for (size_t i = 0; i < region->roots.count; i++) {
        if (region->roots.items[i].target > last)
            last = region->roots.items[i].target;
    }
    return last;
}

static bool reduces(const bd_region *region)
{
    return region->family != BD_REGION_LOOP || bd_region_axes_of_role(region, BD_KIR_SERIAL) > 0;
}

/* The last regions, by their last nodes, that read an external whose memory may be taken over. */
typedef struct last_readers {
    bd_node last, before; /* of the last region, and of the last one before it */
} last_readers;

/* NULL: it is none of those. */
static last_readers *readers_of(const bd_plan_build_state *state, last_readers *readers,
                                bd_node node)
{
    uint32_t count;
    const bd_graph_external *externals = bd_graph_externals(state->plan->graph, &count);
    const bd_graph_node *stored = bd_graph_at(state->plan->graph, node);
    if (stored->kind != BD_NODE_EXTERNAL ||
        !state->trace->externals[externals[stored->number].slot].dies)
        return NULL;
    return &readers[stored->number];
}

static last_readers *find_readers(const launch_state *launcher)
{
    bd_plan_build_state *state = launcher->state;
    uint32_t count;
    (void)bd_graph_externals(state->plan->graph, &count);
    last_readers *readers = BD_ARENA_ARRAY(&state->scratch, last_readers, count + 1);
    for (uint32_t i = 0; i < launcher->region_count; i++) {
        bd_node key = last_of(state->fusion.regions.items[i]);
        for (uint32_t k = 0; k < state->lowered[i].program->buffer_count; k++) {
            last_readers *own = readers_of(state, readers, state->lowered[i].buffers[k]);
            if (!own || key == own->last)
                continue;
            own->before = key > own->last ? own->last : key > own->before ? key : own->before;
            own->last = key > own->last ? key : own->last;
        }
    }
    return readers;
}

/* The last node of the other regions that read what this one reads last and may write over, as an
 * updated parameter over the old one: behind them it needs no memory of its own. */
static bd_node key_of_others(const launch_state *launcher, last_readers *readers, uint32_t region)
{
    const bd_lowered *lowered = &launcher->state->lowered[region];
    bd_node own = last_of(launcher->state->fusion.regions.items[region]), latest = 0;
    for (uint32_t k = 0; k < lowered->program->buffer_count; k++) {
        const last_readers *of = readers_of(launcher->state, readers, lowered->buffers[k]);
        if (of && of->last == own && of->before > latest)
            latest = of->before;
    }
    return latest;
}

/* A region stands where its last node does. A reduction reads what is larger than what it writes,
 * so it stands behind the last region that it reads from: nothing is kept alive for it. */
static void find_keys(launch_state *launcher)
{
    bd_fusion *fusion = &launcher->state->fusion;
    last_readers *readers = find_readers(launcher);
    for (uint32_t i = launcher->region_count; i-- > 0;) { /* in program order */
        bd_node ready = launcher->key_of[i], key = last_of(fusion->regions.items[i]);
        if (ready > 0 && key > ready + DISTANCE_MAX && reduces(fusion->regions.items[i])) {
            bd_node others = key_of_others(launcher, readers, i);
            key = others > ready ? others : ready;
        }
        launcher->key_of[i] = key;
        const bd_number_list *next = &fusion->successors.items[i];
        for (size_t k = 0; k < next->count; k++) {
            bd_node *later = &launcher->key_of[next->items[k]];
            *later = key > *later ? key : *later;
        }
    }
}

static bool reads(const bd_kir *program)
{
    bool found = false;
    for (uint32_t i = 0; i < program->buffer_count; i++)
        found |= program->buffers[i].use != BD_KIR_WRITE;
    return found;
}

/* To put off a reduction keeps alive what it reads; to fill memory early, what is not needed yet.
 * Other maps may be put off: what they read is as large as what they write. */
static bool may_merge(const launch_state *launcher, uint32_t a, uint32_t b)
{
    const bd_region *region = launcher->state->fusion.regions.items[a];
    if (launcher->program_of[a] != launcher->program_of[b] || region->family != BD_REGION_LOOP ||
        launcher->state->lowered[a].fault_count > 0)
        return false;
    if (!reduces(region) && reads(launcher->state->lowered[a].program))
        return true;
    bd_node key_a = launcher->key_of[a], key_b = launcher->key_of[b];
    return (key_a > key_b ? key_a - key_b : key_b - key_a) <= DISTANCE_MAX;
}

static void merge(launch_state *launcher, uint32_t a, uint32_t b)
{
    launch_group *into = &launcher->groups[a], *from = &launcher->groups[b];
    for (size_t i = 0; i < from->regions.count; i++) {
        *bd_vec_push(&into->regions) = from->regions.items[i];
        launcher->group_of[from->regions.items[i]] = a;
    }
    if (from->order_key > into->order_key)
        into->order_key = from->order_key;
    bd_vec_deinit(&from->regions);
}

/* Each group is tried against the latest ones with the same program. */
static void merge_groups(launch_state *launcher)
{
    enum { BLOCKS_MAX = 1024, TRIED_MAX = 4, STEPS_MAX = 20000000 };
    uint32_t program_count = launcher->state->plan->program_count;
    bd_number_list *open =
        BD_ARENA_ARRAY(&launcher->state->scratch, bd_number_list, program_count + 1);
    launcher->steps_left = STEPS_MAX;
    for (uint32_t b = 0; b < launcher->group_count; b++) {
        bd_number_list *groups = &open[launcher->groups[b].program];
        bool merged = false;
        for (size_t i = groups->count; i-- > 0 && groups->count - i <= TRIED_MAX && !merged;) {
            uint32_t a = groups->items[i];
            const launch_group *into = &launcher->groups[a];
            merged = into->regions.count < BLOCKS_MAX &&
                     may_merge(launcher, into->regions.items[0],
                               launcher->groups[b].regions.items[0]) &&
                     !reaches(launcher, a, b) && !reaches(launcher, b, a);
            if (merged)
                merge(launcher, a, b);
        }
        if (!merged)
            *bd_vec_push(groups) = b;
    }
    for (uint32_t i = 0; i < program_count; i++)
        bd_vec_deinit(&open[i]);
}

/* ---- order ---- */

static bool stands_before(const launch_state *launcher, uint32_t a, uint32_t b)
{
    bd_node key_a = launcher->groups[a].order_key, key_b = launcher->groups[b].order_key;
    return key_a != key_b ? key_a < key_b : a < b;
}

static void push_ready(launch_state *launcher, uint32_t group)
{
    uint32_t at = launcher->heap_count++;
    while (at > 0 && stands_before(launcher, group, launcher->heap[(at - 1) / 2])) {
        launcher->heap[at] = launcher->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    launcher->heap[at] = group;
}

static uint32_t pop_ready(launch_state *launcher)
{
    uint32_t first = launcher->heap[0], last = launcher->heap[--launcher->heap_count], at = 0;
    for (;;) {
        uint32_t child = 2 * at + 1;
        if (child + 1 < launcher->heap_count &&
            stands_before(launcher, launcher->heap[child + 1], launcher->heap[child]))
            child++;
        if (child >= launcher->heap_count || stands_before(launcher, last, launcher->heap[child]))
            break;
        launcher->heap[at] = launcher->heap[child];
        at = child;
    }
    launcher->heap[at] = last;
    return first;
}

typedef void (*visit_group)(launch_state *launcher, uint32_t group);

static void wait_one(launch_state *launcher, uint32_t group)
{
    launcher->groups[group].waits_for++;
}

static void release_one(launch_state *launcher, uint32_t group)
{
    BD_ASSERT(launcher->groups[group].waits_for > 0);
    if (--launcher->groups[group].waits_for == 0)
        push_ready(launcher, group);
}

static void for_successors(launch_state *launcher, uint32_t number, visit_group visit)
{
    const launch_group *each = &launcher->groups[number];
    for (size_t r = 0; r < each->regions.count; r++) {
        const bd_number_list *next =
            &launcher->state->fusion.successors.items[each->regions.items[r]];
        for (size_t i = 0; i < next->count; i++)
            visit(launcher, launcher->group_of[next->items[i]]);
    }
}

static void add_launch(launch_state *launcher, const launch_group *from)
{
    bd_plan_build_state *state = launcher->state;
    bd_plan *plan = state->plan;
    bd_plan_launch *launch = &plan->launches[plan->launch_count];
    uint32_t count = (uint32_t)from->regions.count;
    bd_plan_block *blocks = BD_ARENA_ARRAY(&plan->arena, bd_plan_block, count);
    uint32_t first_region = launcher->placed_regions;
    launcher->placed_regions += count;
    const bd_lowered *first = &state->lowered[from->regions.items[0]];
    *launch = (bd_plan_launch){
        .kernel = from->program,
        .blocks = blocks,
        .block_count = count,
        .skip_if_same = first->copies_in_place,
        .fault_records = first->fault_records,
        .fault_count = first->fault_count,
    };
    for (uint32_t i = 0; i < count; i++) {
        uint32_t region = from->regions.items[i];
        state->launch_regions[first_region + i] = region;
        blocks[i].ints = state->lowered[region].ints;
        blocks[i].scalars = state->lowered[region].scalars;
        launch->skip_if_same &= state->lowered[region].copies_in_place;
    }
    plan->launch_count++;
}

static void place_groups(launch_state *launcher)
{
    bd_plan *plan = launcher->state->plan;
    plan->launches = BD_ARENA_ARRAY(&plan->arena, bd_plan_launch, launcher->group_count + 1);
    for (uint32_t i = 0; i < launcher->group_count; i++)
        for_successors(launcher, i, wait_one);
    uint32_t group_count = 0;
    for (uint32_t i = 0; i < launcher->group_count; i++) {
        bool empty = launcher->groups[i].regions.count == 0;
        group_count += !empty;
        if (!empty && launcher->groups[i].waits_for == 0)
            push_ready(launcher, i);
    }
    while (launcher->heap_count > 0) {
        uint32_t next = pop_ready(launcher);
        add_launch(launcher, &launcher->groups[next]);
        for_successors(launcher, next, release_one);
    }
    BD_ASSERT(plan->launch_count == group_count); /* the order has no circle */
}

void bd_plan_order_launches(bd_plan_build_state *state, bool merges)
{
    uint32_t count = (uint32_t)state->fusion.regions.count;
    launch_state launcher = {
        .state = state,
        .region_count = count,
        .program_of = BD_ARENA_ARRAY(&state->scratch, uint32_t, count + 1),
        .group_of = BD_ARENA_ARRAY(&state->scratch, uint32_t, count + 1),
        .key_of = BD_ARENA_ARRAY(&state->scratch, bd_node, count + 1),
        .groups = BD_ARENA_ARRAY(&state->scratch, launch_group, count + 1),
        .group_count = count,
        .seen = BD_ARENA_ARRAY(&state->scratch, uint32_t, count + 1),
        .heap = BD_ARENA_ARRAY(&state->scratch, uint32_t, count + 1),
    };
    state->launch_regions = BD_ARENA_ARRAY(&state->scratch, uint32_t, count + 1);
    number_programs(&launcher);
    find_keys(&launcher);
    /* Groups stand in program order, which makes launches of maps early and late ones alike. */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t region = count - 1 - i; /* the walk of fusion went from the last to the first */
        launch_group *each = &launcher.groups[i];
        *bd_vec_push(&each->regions) = region;
        each->program = launcher.program_of[region];
        each->order_key = launcher.key_of[region];
        launcher.group_of[region] = i;
    }
    if (merges)
        merge_groups(&launcher);
    place_groups(&launcher);
    for (uint32_t i = 0; i < count; i++)
        bd_vec_deinit(&launcher.groups[i].regions);
}
