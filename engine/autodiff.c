/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "engine/graph_parts.h"
#include "engine/rules_build.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

enum { SEEN = 1, WRT = 2, REACHES = 4, CUT = 8 };

typedef struct visit {
    bd_node node;
    uint32_t next_input;
} visit;

/* Reverse mode over the nodes that are reachable from the roots and reach a wrt node. */
typedef struct gradient_sweep {
    bd_graph *graph;
    BD_VEC(uint8_t) marks;     /* by node */
    BD_VEC(bd_node) gradients; /* by node: so far */
    BD_VEC(bd_node) carried;   /* by node: what flows on from one that is cut */
    bd_node_list order;        /* inputs before users */
    BD_VEC(visit) stack;
} gradient_sweep;

/* Imports append nodes while the sweep runs. */
static void cover(gradient_sweep *sweep)
{
    while (sweep->marks.count < sweep->graph->nodes.count)
        *bd_vec_push(&sweep->marks) = 0;
    while (sweep->gradients.count < sweep->graph->nodes.count)
        *bd_vec_push(&sweep->gradients) = BD_NODE_NONE;
    while (sweep->carried.count < sweep->graph->nodes.count)
        *bd_vec_push(&sweep->carried) = BD_NODE_NONE;
}

/* The op whose gradient rule carries a gradient of `node` on, or NULL where gradients end. */
static const bd_graph_node *producer_of(gradient_sweep *sweep, bd_node node)
{
    bd_graph *graph = sweep->graph;
    const bd_graph_node *at = bd_graph_at(graph, node);
    if (at->kind == BD_NODE_OP)
        return at->tracked ? at : NULL;
    if (at->kind != BD_NODE_EXTERNAL)
        return NULL;
    bd_node producer = bd_import_producer(graph, at->number);
    cover(sweep);
    return producer == BD_NODE_NONE ? NULL : bd_graph_at(graph, producer);
}

static void visit_from(gradient_sweep *sweep, bd_node root)
{
    if (sweep->marks.items[root] & SEEN)
        return;
    sweep->marks.items[root] |= SEEN;
    *bd_vec_push(&sweep->stack) = (visit){root, 0};
    while (sweep->stack.count && !sweep->graph->error) {
        visit *top = &sweep->stack.items[sweep->stack.count - 1];
        bd_node node = top->node;
        uint32_t next = top->next_input++;
        const bd_graph_node *producer = producer_of(sweep, node);
        if (producer && next < producer->input_count) {
            bd_node input = producer->inputs[next];
            if (input != BD_NODE_NONE && !(sweep->marks.items[input] & SEEN)) {
                sweep->marks.items[input] |= SEEN;
                *bd_vec_push(&sweep->stack) = (visit){input, 0};
            }
            continue;
        }
        bool reaches = sweep->marks.items[node] & WRT;
        for (uint32_t i = 0; producer && i < producer->input_count; i++)
            if (producer->inputs[i] != BD_NODE_NONE &&
                sweep->marks.items[producer->inputs[i]] & REACHES)
                reaches = true;
        if (reaches)
            sweep->marks.items[node] |= REACHES;
        *bd_vec_push(&sweep->order) = node;
        sweep->stack.count--;
    }
    bd_vec_clear(&sweep->stack);
}

/* A gradient has the dtype and the dims of what it is the gradient of. */
static bd_node fit(bd_graph *graph, const char *name, bd_node gradient, bd_node of)
{
    gradient = bd_build_cast(graph, gradient, bd_graph_at(graph, of)->dtype);
    if (graph->error)
        return BD_NODE_NONE;
    const bd_graph_node *have = bd_graph_at(graph, gradient), *want = bd_graph_at(graph, of);
    bool fits = have->rank == want->rank;
    for (uint32_t i = 0; fits && i < have->rank; i++) {
        int64_t a, b;
        bd_int_unite(graph->ints, have->dims[i], want->dims[i]);
        fits = !bd_int_is_const(graph->ints, have->dims[i], &a) ||
               !bd_int_is_const(graph->ints, want->dims[i], &b) || a == b;
    }
    if (fits)
        return gradient;
    bd_graph_fail(
        graph, BD_ERROR(INTERNAL,
                        "gradient of %s: rank %u or dims differ from those of its input (rank %u)",
                        name, have->rank, want->rank));
    return BD_NODE_NONE;
}

static void accumulate(gradient_sweep *sweep, const char *name, bd_node node, bd_node gradient,
                       bool carried)
{
    bd_graph *graph = sweep->graph;
    gradient = fit(graph, name, gradient, node);
    if (gradient == BD_NODE_NONE)
        return;
    bd_node before = carried ? sweep->carried.items[node] : sweep->gradients.items[node];
    if (before != BD_NODE_NONE)
        gradient = bd_rule_sum_of_gradients(graph, before, gradient);
    if (carried)
        sweep->carried.items[node] = gradient;
    else
        sweep->gradients.items[node] = gradient;
}

static void propagate(gradient_sweep *sweep, bd_node node)
{
    bd_graph *graph = sweep->graph;
    bool cut = sweep->marks.items[node] & CUT;
    bd_node gradient = cut ? sweep->carried.items[node] : sweep->gradients.items[node];
    if (gradient == BD_NODE_NONE || !(sweep->marks.items[node] & REACHES))
        return;
    const bd_graph_node *producer = producer_of(sweep, node);
    if (!producer)
        return;
    bool *wanted = bd_alloc_zeroed(sizeof *wanted * (producer->input_count + 1));
    bd_node *out = bd_alloc_zeroed(sizeof *out * (producer->input_count + 1));
    bool any = false;
    for (uint32_t i = 0; i < producer->input_count; i++) {
        bd_node input = producer->inputs[i];
        wanted[i] = input != BD_NODE_NONE && sweep->marks.items[input] & REACHES &&
                    burn_dtype_is_float(bd_graph_at(graph, input)->dtype);
        any |= wanted[i];
    }
    const char *name = burn_op_lookup(producer->op)->name;
    bd_gradient_rule rule = bd_gradient_rule_of(producer->op);
    if (any && !rule) {
        bd_graph_fail(graph, BD_ERROR(UNSUPPORTED, "op %s has no gradient", name));
    } else if (any) {
        const burn_op_info *info = burn_op_lookup(producer->op);
        bd_node *inputs = bd_arena_copy(&graph->arena, producer->inputs,
                                        sizeof *inputs * producer->input_count);
        bd_node ends[2] = {node, gradient};
        bd_build_widen(graph, info, inputs, producer->input_count);
        bd_build_widen(graph, info, ends, 2);
        rule(&(bd_rule_call){.graph = graph,
                             .self = ends[0],
                             .inputs = inputs,
                             .input_count = producer->input_count,
                             .attrs = producer->attrs,
                             .gradient = ends[1],
                             .wanted = wanted},
             out);
        for (uint32_t i = 0; i < producer->input_count && !graph->error; i++)
            if (wanted[i] && out[i] != BD_NODE_NONE)
                accumulate(sweep, name, producer->inputs[i], out[i], false);
    }
    bd_free(wanted);
    bd_free(out);
}

/* Nodes whose history a grad record without `retain` has used up. */
static void consume(gradient_sweep *sweep)
{
    for (size_t i = 0; i < sweep->order.count; i++) {
        bd_node node = sweep->order.items[i];
        if (sweep->marks.items[node] & REACHES && bd_graph_at(sweep->graph, node)->tracked)
            sweep->graph->consumed.items[node] = 1;
    }
}

static void run(gradient_sweep *sweep, const bd_node *roots, const bd_node *seeds,
                uint32_t root_count)
{
    bd_graph *graph = sweep->graph;
    for (uint32_t i = 0; i < root_count && !graph->error; i++)
        visit_from(sweep, roots[i]);
    for (uint32_t i = 0; i < root_count && !graph->error; i++) {
        bd_node seed = seeds[i];
        if (seed == BD_NODE_NONE)
            seed = bd_build_expand_as(
                graph, bd_build_constant(graph, bd_graph_at(graph, roots[i])->dtype, 1.0),
                roots[i]);
        if (!graph->error && sweep->marks.items[roots[i]] & REACHES)
            accumulate(sweep, "grad's seed", roots[i], seed,
                       sweep->marks.items[roots[i]] & CUT);
    }
    for (size_t i = sweep->order.count; i-- > 0 && !graph->error;)
        propagate(sweep, sweep->order.items[i]);
}

void bd_graph_differentiate(bd_graph *graph, const bd_node *roots, const bd_node *seeds,
                            uint32_t root_count, const bd_node *wrt, uint32_t wrt_count,
                            uint32_t cut_count, bool retain, bd_node *out)
{
    gradient_sweep sweep = {.graph = graph};
    cover(&sweep);
    for (uint32_t i = 0; i < wrt_count; i++)
        sweep.marks.items[wrt[i]] |= i < wrt_count - cut_count ? WRT : WRT | CUT;
    run(&sweep, roots, seeds, root_count);
    cover(&sweep);
    for (uint32_t i = 0; i < wrt_count; i++) {
        out[i] = BD_NODE_NONE;
        if (graph->error)
            continue;
        out[i] = sweep.gradients.items[wrt[i]];
        if (out[i] == BD_NODE_NONE)
            out[i] = bd_build_expand_as(
                graph, bd_build_constant(graph, bd_graph_at(graph, wrt[i])->dtype, 0.0), wrt[i]);
    }
    if (!retain)
        consume(&sweep);
    bd_vec_deinit(&sweep.marks);
    bd_vec_deinit(&sweep.gradients);
    bd_vec_deinit(&sweep.carried);
    bd_vec_deinit(&sweep.order);
    bd_vec_deinit(&sweep.stack);
}
