/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/plan.h"

#include <string.h>

#include "engine/fuse.h"
#include "engine/lower/lower.h"
#include "engine/plan_parts.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

/* What survives the trace: node before decomposition, and after it. */
static bd_error *collect_outputs(bd_plan_build_state *state)
{
    const bd_trace *trace = state->trace;
    bd_plan *plan = state->plan;
    for (uint32_t i = 0; i < trace->value_count; i++)
        plan->output_count += trace->values[i].survives != 0;
    plan->outputs = BD_ARENA_ARRAY(&plan->arena, bd_plan_output, plan->output_count + 1);
    uint32_t count = 0;
    for (uint32_t i = 0; i < trace->value_count; i++) {
        if (!trace->values[i].survives)
            continue;
        bd_node node = bd_graph_value(plan->graph, i);
        const bd_graph_node *found = bd_graph_at(plan->graph, node);
        plan->outputs[count++] = (bd_plan_output){
            .value = i,
            .node = node,
            .tracked = bd_graph_value_needs_history(plan->graph, i),
            .dims = found->dims,
            .rank = found->rank,
            .dtype = found->dtype,
        };
    }
    const bd_graph_saved *saved = bd_graph_choose_saved(plan->graph, &plan->saved_count);
    plan->saved = BD_ARENA_ARRAY(&plan->arena, bd_plan_output, plan->saved_count + 1);
    for (uint32_t i = 0; i < plan->saved_count; i++) {
        const bd_graph_node *found = bd_graph_at(plan->graph, saved[i].node);
        plan->saved[i] = (bd_plan_output){
            .value = BD_PLAN_NONE,
            .node = saved[i].node,
            .dims = found->dims,
            .rank = found->rank,
            .dtype = found->dtype,
        };
    }
    state->root_count = plan->output_count + plan->saved_count;
    state->roots = BD_ARENA_ARRAY(&state->scratch, bd_node, state->root_count + 1);
    for (uint32_t i = 0; i < plan->output_count; i++)
        state->roots[i] = plan->outputs[i].node;
    for (uint32_t i = 0; i < plan->saved_count; i++)
        state->roots[plan->output_count + i] = plan->saved[i].node;
    return NULL;
}

/* Names the record that a node stems from, so that the trace can be run without it. */
static bd_error *blame(const bd_plan_build_state *state, bd_node node, bd_error *own_error)
{
    if (node == BD_NODE_NONE || bd_error_op_index(own_error) != 0)
        return own_error;
    uint32_t record = bd_graph_at(state->plan->graph, node)->record;
    if (record < state->trace->record_count)
        bd_error_set_op_index(own_error, state->trace->records[record].op_index);
    return own_error;
}

static bd_error *fuse(bd_plan_build_state *state, const bd_plan_options *options)
{
    bd_fuse_options fuse_options = {.fusion = options->fusion,
                                    .spares_reads = options->spares_reads};
    bd_error *err = bd_fuse(state->plan->graph, state->roots, state->root_count, &fuse_options,
                            &state->scratch, &state->fusion);
    return err ? blame(state, state->fusion.refused, err) : NULL;
}

static bd_error *lower_regions(bd_plan_build_state *state)
{
    size_t count = state->fusion.regions.count;
    state->lowered = BD_ARENA_ARRAY(&state->scratch, bd_lowered, count + 1);
    for (size_t i = 0; i < count; i++) {
        bd_region *region = state->fusion.regions.items[i];
        bd_error *err = bd_lower(region, &state->plan->arena, &state->lowered[i]);
        if (err)
            return blame(state, region->roots.items[0].target, err);
    }
    return NULL;
}

/* Graph, outputs, core ops, regions, kernel IR, launches, buffers: one line a pass. */
static bd_error *run_passes(bd_plan_build_state *state, const bd_plan_options *options)
{
    bd_plan *plan = state->plan;
    BD_TRY(bd_graph_build(state->trace, &plan->graph));
    BD_TRY(collect_outputs(state));
    BD_TRY(bd_graph_decompose(plan->graph, state->roots, state->root_count));
    BD_TRY(bd_graph_simplify(plan->graph, state->roots, state->root_count));
    BD_TRY(fuse(state, options));
    BD_TRY(lower_regions(state));
    bd_plan_order_launches(state, options->fusion);
    bd_plan_assign_buffers(state);
    return NULL;
}

static bd_error *build(const bd_trace *trace, const bd_plan_options *options, bd_plan **out)
{
    bd_plan_build_state state = {.trace = trace};
    state.plan = bd_alloc_zeroed(sizeof *state.plan);
    state.plan->count = 1;
    bd_arena_init(&state.plan->arena);
    bd_arena_init(&state.scratch);
    bd_error *err = run_passes(&state, options);
    bd_fusion_deinit(&state.fusion);
    bd_arena_deinit(&state.scratch);
    if (err)
        bd_plan_release(state.plan);
    else
        *out = state.plan;
    return err;
}

bd_error *bd_plan_build(const bd_trace *trace, const bd_plan_options *options, bd_plan **out)
{
    bd_error *err = build(trace, options, out);
    if (!err || !options->fusion)
        return err;
    /* Whatever a trace holds, each of its ops alone is within the limits of a kernel. */
    bd_plan_options alone = {.fusion = false};
    bd_error *second = build(trace, &alone, out);
    bd_error_free(err);
    if (second)
        return second; /* it names the one record that is to blame */
    (*out)->unfused = true;
    return NULL;
}

bd_plan *bd_plan_retain(bd_plan *plan)
{
    plan->count++;
    return plan;
}

void bd_plan_release(bd_plan *plan)
{
    if (!plan || --plan->count > 0)
        return;
    if (plan->graph)
        bd_graph_destroy(plan->graph);
    bd_arena_deinit(&plan->arena);
    bd_free(plan);
}
