/* SPDX-License-Identifier: Apache-2.0
 * Regions to launches: equal programs are kept once; independent regions with the same program
 * become blocks of one launch; launches run in the order of the trace as far as they can. */
#include <string.h>

#include "engine/plan_parts.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/base/hash.h"

typedef struct launch_group {
    bd_number_list regions;
    uint32_t program;
    bd_node order_key; /* the last node that it stores: groups run in this order where they may */
    uint32_t waits_for;
    uint8_t placed;
} launch_group;

typedef struct launch_state {
    bd_plan_build_state *state;
    uint32_t region_count;
    uint32_t *program_of; /* by region */
    uint32_t *group_of;   /* by region */
    launch_group *groups;
    uint32_t group_count;
    uint32_t *seen;
    uint32_t stamp;
} launch_state;

static void number_programs(launch_state *launcher)
{
    bd_plan_build_state *state = launcher->state;
    bd_plan *plan = state->plan;
    size_t count = launcher->region_count;
    plan->programs = BD_ARENA_ARRAY(&plan->arena, bd_kir *, count + 1);
    uint8_t **texts = BD_ARENA_ARRAY(&state->scratch, uint8_t *, count + 1);
    size_t *sizes = BD_ARENA_ARRAY(&state->scratch, size_t, count + 1);
    for (size_t i = 0; i < count; i++) {
        size_t size;
        uint8_t *text = bd_kir_serialize(state->lowered[i].program, &size);
        uint32_t number = 0;
        while (number < plan->program_count &&
               (sizes[number] != size || memcmp(texts[number], text, size) != 0))
            number++;
        if (number == plan->program_count) {
            texts[number] = text;
            sizes[number] = size;
            plan->programs[plan->program_count++] = state->lowered[i].program;
        } else {
            bd_free(text);
        }
        launcher->program_of[i] = number;
    }
    for (uint32_t i = 0; i < plan->program_count; i++)
        bd_free(texts[i]);
    plan->kernels = BD_ARENA_ARRAY(&plan->arena, bd_kernel *, plan->program_count + 1);
}

/* Whether group `to` runs after `from`. */
static bool reaches(launch_state *launcher, uint32_t from, uint32_t to)
{
    uint32_t stamp = ++launcher->stamp;
    bd_number_list stack = {0};
    *bd_vec_push(&stack) = from;
    launcher->seen[from] = stamp;
    bool found = false;
    while (stack.count > 0 && !found) {
        const launch_group *each = &launcher->groups[stack.items[--stack.count]];
        for (size_t r = 0; r < each->regions.count && !found; r++) {
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

static bd_node key_of(const bd_region *region)
{
    bd_node key = 0;
    for (size_t i = 0; i < region->roots.count; i++) {
        if (region->roots.items[i].target > key)
            key = region->roots.items[i].target;
    }
    return key;
}

/* Reductions and contractions read what is larger than what they write; to put one off keeps that
 * alive. Maps may be put off: what they read is as large as what they write. */
static bool may_merge(const launch_state *launcher, uint32_t a, uint32_t b)
{
    enum { DISTANCE_MAX = 400 }; /* nodes between reductions of one launch */
    const bd_region *region = launcher->state->fusion.regions.items[a];
    if (launcher->program_of[a] != launcher->program_of[b] || region->family != BD_REGION_LOOP ||
        launcher->state->lowered[a].fault_count > 0)
        return false;
    if (bd_region_axes_of_role(region, BD_KIR_SERIAL) == 0)
        return true;
    bd_node key_a = key_of(region), key_b = key_of(launcher->state->fusion.regions.items[b]);
    return (key_a > key_b ? key_a - key_b : key_b - key_a) <= DISTANCE_MAX;
}

static void merge_groups(launch_state *launcher)
{
    enum { BLOCKS_MAX = 1024 };
    for (uint32_t a = 0; a < launcher->group_count; a++) {
        launch_group *into = &launcher->groups[a];
        for (uint32_t b = a + 1; b < launcher->group_count && into->regions.count > 0; b++) {
            launch_group *from = &launcher->groups[b];
            if (from->regions.count == 0 || into->regions.count >= BLOCKS_MAX ||
                !may_merge(launcher, into->regions.items[into->regions.count - 1],
                           from->regions.items[0]) ||
                reaches(launcher, a, b) || reaches(launcher, b, a))
                continue;
            for (size_t i = 0; i < from->regions.count; i++) {
                *bd_vec_push(&into->regions) = from->regions.items[i];
                launcher->group_of[from->regions.items[i]] = a;
            }
            if (from->order_key > into->order_key)
                into->order_key = from->order_key;
            bd_vec_deinit(&from->regions);
        }
    }
}

typedef void (*visit_group)(launch_state *launcher, uint32_t group);

static void wait_one(launch_state *launcher, uint32_t group)
{
    launcher->groups[group].waits_for++;
}

static void release_one(launch_state *launcher, uint32_t group)
{
    BD_ASSERT(launcher->groups[group].waits_for > 0);
    launcher->groups[group].waits_for--;
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
    uint32_t first_region = 0;
    for (uint32_t i = 0; i < plan->launch_count; i++)
        first_region += plan->launches[i].block_count;
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
    for (;;) {
        uint32_t best = launcher->group_count;
        for (uint32_t i = 0; i < launcher->group_count; i++) {
            const launch_group *each = &launcher->groups[i];
            if (each->regions.count > 0 && !each->placed && each->waits_for == 0 &&
                (best == launcher->group_count ||
                 each->order_key < launcher->groups[best].order_key))
                best = i;
        }
        if (best == launcher->group_count)
            break;
        launcher->groups[best].placed = 1;
        add_launch(launcher, &launcher->groups[best]);
        for_successors(launcher, best, release_one);
    }
    for (uint32_t i = 0; i < launcher->group_count; i++)
        BD_ASSERT(launcher->groups[i].regions.count == 0 || launcher->groups[i].placed);
}

void bd_plan_order_launches(bd_plan_build_state *state, bool merges)
{
    uint32_t count = (uint32_t)state->fusion.regions.count;
    launch_state launcher = {
        .state = state,
        .region_count = count,
        .program_of = BD_ARENA_ARRAY(&state->scratch, uint32_t, count + 1),
        .group_of = BD_ARENA_ARRAY(&state->scratch, uint32_t, count + 1),
        .groups = BD_ARENA_ARRAY(&state->scratch, launch_group, count + 1),
        .group_count = count,
        .seen = BD_ARENA_ARRAY(&state->scratch, uint32_t, count + 1),
    };
    state->launch_regions = BD_ARENA_ARRAY(&state->scratch, uint32_t, count + 1);
    number_programs(&launcher);
    /* Groups stand in program order, which makes launches of maps early and late ones alike. */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t region = count - 1 - i; /* the walk of fusion went from the last to the first */
        launch_group *each = &launcher.groups[i];
        *bd_vec_push(&each->regions) = region;
        each->program = launcher.program_of[region];
        each->order_key = key_of(state->fusion.regions.items[region]);
        launcher.group_of[region] = i;
    }
    if (merges)
        merge_groups(&launcher);
    place_groups(&launcher);
    for (uint32_t i = 0; i < count; i++)
        bd_vec_deinit(&launcher.groups[i].regions);
}
