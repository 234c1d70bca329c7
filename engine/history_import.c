/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/graph_parts.h"
#include "engine/plan.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/base/map.h"

/* One history that was reached: what its graph's nodes have become here. */
typedef struct history_source {
    const bd_history *history;
    uint32_t path;
    bd_node *nodes;        /* by node of the history's graph; NONE = not imported */
    uint32_t *saved_index; /* by node of the history's graph: place in plan->saved + 1, or 0 */
} history_source;

struct bd_import {
    BD_VEC(history_source) sources;
    bd_map by_history; /* history → source number + 1 */
    bd_map by_tensor;  /* tensor identity → external number + 1 */
    bool slots_known;
};

bd_import *bd_import_create(void)
{
    return bd_alloc_zeroed(sizeof(bd_import));
}

void bd_import_destroy(bd_import *import)
{
    if (!import)
        return;
    for (size_t i = 0; i < import->sources.count; i++) {
        bd_free(import->sources.items[i].nodes);
        bd_free(import->sources.items[i].saved_index);
    }
    bd_vec_deinit(&import->sources);
    bd_map_deinit(&import->by_history);
    bd_map_deinit(&import->by_tensor);
    bd_free(import);
}

static void *as_value(size_t number)
{
    return (void *)(uintptr_t)(number + 1);
}

/* A saved tensor that the trace also holds is the same variable: every slot is known by its tensor.
 */
static void learn_slots(bd_graph *graph)
{
    bd_import *import = graph->import;
    if (import->slots_known)
        return;
    import->slots_known = true;
    for (uint32_t slot = 0; slot < graph->trace->external_count; slot++) {
        bd_node leaf = bd_graph_slot_node(graph, slot);
        bd_map_put(&import->by_tensor, graph->trace->externals[slot].tensor,
                   as_value(bd_graph_at(graph, leaf)->number));
    }
}

static const bd_graph *graph_of(const history_source *source)
{
    return source->history->plan->graph;
}

/* An integer of the history's graph as one of this graph. */
static bd_int import_int(bd_graph *graph, const history_source *source, bd_int number)
{
    const bd_ints *theirs = graph_of(source)->ints;
    int64_t value;
    if (bd_int_is_const(theirs, number, &value))
        return bd_int_const(graph->ints, value);
    return bd_int_source(graph->ints, BD_INT_HISTORY, source->path, bd_int_find(theirs, number));
}

static void unite_dims(bd_graph *graph, const history_source *source, bd_node here,
                       const bd_graph_node *there)
{
    const bd_graph_node *node = bd_graph_at(graph, here);
    for (uint32_t i = 0; i < node->rank && i < there->rank; i++)
        bd_int_unite(graph->ints, node->dims[i], import_int(graph, source, there->dims[i]));
}

/* Externals of the trace that this history made stand for their nodes. */
static void place_slots(bd_graph *graph, history_source *source)
{
    for (uint32_t slot = 0; slot < graph->trace->external_count; slot++) {
        const bd_trace_external *external = &graph->trace->externals[slot];
        if (external->history != source->history ||
            source->nodes[external->history_node] != BD_NODE_NONE)
            continue;
        bd_node leaf = bd_graph_slot_node(graph, slot);
        source->nodes[external->history_node] = leaf;
        unite_dims(graph, source, leaf, bd_graph_at(graph_of(source), external->history_node));
    }
}

/* Number of the source of an external's history. */
static uint32_t source_of(bd_graph *graph, uint32_t external)
{
    bd_import *import = graph->import;
    const bd_history *history = graph->origins.items[external].history;
    uint64_t key = (uint64_t)(uintptr_t)history;
    uint32_t number = (uint32_t)(uintptr_t)bd_map_get(&import->by_history, key);
    if (number)
        return number - 1;
    number = (uint32_t)import->sources.count;
    bd_map_put(&import->by_history, key, as_value(number));

    history_source made = {.history = history, .path = (uint32_t)graph->paths.count};
    const bd_graph_external *at = &graph->externals.items[external];
    *bd_vec_push(&graph->paths) =
        (bd_history_path){.slot = at->slot, .step_count = at->step_count, .steps = at->steps};
    const bd_plan *plan = history->plan;
    size_t count = plan->graph->nodes.count;
    made.nodes = bd_alloc_zeroed(sizeof *made.nodes * count);
    made.saved_index = bd_alloc_zeroed(sizeof *made.saved_index * count);
    for (uint32_t i = 0; i < plan->saved_count; i++)
        made.saved_index[plan->saved[i].node] = i + 1;
    place_slots(graph, &made);
    *bd_vec_push(&import->sources) = made;
    return number;
}

/* The leaf of a saved value: an external that exists already, or a new one a step further. */
static bd_node import_saved(bd_graph *graph, const history_source *source, uint32_t index,
                            bd_node node)
{
    const bd_history_saved *saved = &source->history->saved[index];
    const bd_graph_node *there = bd_graph_at(graph_of(source), node);
    uint32_t external = (uint32_t)(uintptr_t)bd_map_get(&graph->import->by_tensor, saved->tensor);
    if (external) {
        bd_node leaf = graph->origins.items[external - 1].leaf;
        unite_dims(graph, source, leaf, there);
        return leaf;
    }
    external = (uint32_t)graph->externals.count;
    bd_map_put(&graph->import->by_tensor, saved->tensor, as_value(external));
    const bd_history_path *path = &graph->paths.items[source->path];
    uint32_t *steps = bd_arena_alloc(&graph->arena, sizeof *steps * (path->step_count + 1));
    for (uint32_t i = 0; i < path->step_count; i++)
        steps[i] = path->steps[i];
    steps[path->step_count] = index;
    *bd_vec_push(&graph->externals) = (bd_graph_external){.slot = path->slot,
                                                          .step_count = path->step_count + 1,
                                                          .steps = steps,
                                                          .dtype = there->dtype};

    /* A kept inner node continues within the same history, a kept leaf within its own. */
    bool inner = there->kind == BD_NODE_OP && there->tracked;
    *bd_vec_push(&graph->origins) =
        (bd_graph_origin){.history = inner ? source->history : saved->history,
                          .history_node = inner ? node : saved->history_node};
    bd_int dims[BURN_RANK_MAX];
    for (uint32_t i = 0; i < there->rank; i++)
        dims[i] = import_int(graph, source, there->dims[i]);
    return bd_graph_external_node(graph, external, there->dtype, dims, there->rank);
}

static const bd_attr_value *import_attrs(bd_graph *graph, const history_source *source,
                                         const bd_graph_node *node)
{
    const burn_op_info *info = burn_op_lookup(node->op);
    if (!node->attrs || !info->attr_count)
        return NULL;
    bd_attr_value *attrs =
        bd_arena_copy(&graph->arena, node->attrs, sizeof *attrs * info->attr_count);
    for (uint32_t i = 0; i < info->attr_count; i++) {
        if (info->attrs[i].kind == BURN_ATTR_SIZE)
            attrs[i].value = import_int(graph, source, (bd_int)attrs[i].value);
        if (info->attrs[i].kind != BURN_ATTR_SIZES || !attrs[i].count)
            continue;
        int64_t *values = bd_arena_alloc(&graph->arena, sizeof *values * attrs[i].count);
        for (uint32_t j = 0; j < attrs[i].count; j++)
            values[j] = import_int(graph, source, (bd_int)attrs[i].values[j]);
        attrs[i].values = values;
    }
    return attrs;
}

/* The op again, over inputs that were imported before. */
static bd_node import_op(bd_graph *graph, const history_source *source, const bd_graph_node *there)
{
    bd_graph_node wanted = *there;
    bd_int dims[BURN_RANK_MAX];
    for (uint32_t i = 0; i < there->rank; i++)
        dims[i] = import_int(graph, source, there->dims[i]);
    bd_node *inputs = bd_alloc(sizeof *inputs * (there->input_count + 1));
    for (uint32_t i = 0; i < there->input_count; i++)
        inputs[i] =
            there->inputs[i] == BD_NODE_NONE ? BD_NODE_NONE : source->nodes[there->inputs[i]];
    wanted.dims = dims;
    wanted.inputs = inputs;
    wanted.attrs = import_attrs(graph, source, there);
    uint8_t tracking = graph->tracking;
    graph->tracking = there->tracked;
    bd_node node = bd_graph_append(graph, &wanted);
    graph->tracking = tracking;
    bd_free(inputs);
    return node;
}

static bd_node import_leaf(bd_graph *graph, const history_source *source,
                           const bd_graph_node *there)
{
    switch ((bd_node_kind)there->kind) {
    case BD_NODE_SCALAR:
        return bd_graph_scalar_node(graph, source->path, there->number, there->dtype);
    case BD_NODE_CONSTANT:
        return bd_graph_append(graph, there);
    case BD_NODE_INTEGER:
        return bd_build_integer(graph, import_int(graph, source, there->number));
    case BD_NODE_EXTERNAL:
        bd_graph_fail(graph,
                      BD_ERROR(INTERNAL, "history: external %u was not kept", there->number));
        return BD_NODE_NONE;
    case BD_NODE_OP:
        break;
    }
    return BD_NODE_NONE;
}

/* Nodes that were kept become leaves; all others are built again from them, and so recomputed. */
static void import_value(bd_graph *graph, const history_source *source, bd_node root)
{
    bd_node_list stack = {0};
    *bd_vec_push(&stack) = root;
    while (stack.count && !graph->error) {
        bd_node node = stack.items[stack.count - 1];
        if (source->nodes[node] != BD_NODE_NONE) {
            stack.count--;
            continue;
        }
        const bd_graph_node *there = bd_graph_at(graph_of(source), node);
        if (source->saved_index[node]) {
            source->nodes[node] = import_saved(graph, source, source->saved_index[node] - 1, node);
            continue;
        }
        if (there->kind != BD_NODE_OP) {
            source->nodes[node] = import_leaf(graph, source, there);
            continue;
        }
        bool ready = true;
        for (uint32_t i = 0; i < there->input_count; i++) {
            if (there->inputs[i] == BD_NODE_NONE || source->nodes[there->inputs[i]] != BD_NODE_NONE)
                continue;
            *bd_vec_push(&stack) = there->inputs[i];
            ready = false;
        }
        if (ready)
            source->nodes[node] = import_op(graph, source, there);
    }
    bd_vec_deinit(&stack);
}

bd_node bd_import_producer(bd_graph *graph, uint32_t external)
{
    if (!graph->origins.items[external].history)
        return BD_NODE_NONE;
    if (graph->origins.items[external].producer != BD_NODE_NONE)
        return graph->origins.items[external].producer;
    learn_slots(graph);
    const bd_graph_origin origin = graph->origins.items[external];
    uint32_t number = source_of(graph, external);
    const history_source source = graph->import->sources.items[number];
    const bd_graph_node *there = bd_graph_at(graph_of(&source), origin.history_node);
    if (bd_graph_is_consumed(graph_of(&source), origin.history_node)) {
        bd_graph_fail(graph, BD_ERROR(INVALID,
                                      "grad: the history was used up by an earlier backward pass; "
                                      "retain it there to go through it again"));
        return BD_NODE_NONE;
    }
    bd_node producer = BD_NODE_NONE;
    if (there->kind == BD_NODE_OP) {
        for (uint32_t i = 0; i < there->input_count && !graph->error; i++)
            if (there->inputs[i] != BD_NODE_NONE)
                import_value(graph, &source, there->inputs[i]);
        if (!graph->error)
            producer = import_op(graph, &source, there);
    } else if (there->kind == BD_NODE_EXTERNAL && source.saved_index[origin.history_node]) {
        /* The tensor was a tensor of that trace under another handle. */
        bd_node leaf = import_saved(graph, &source, source.saved_index[origin.history_node] - 1,
                                    origin.history_node);
        if (leaf != graph->origins.items[external].leaf)
            producer = bd_build_identity(graph, leaf);
    }
    graph->origins.items[external].producer = producer;
    return producer;
}
