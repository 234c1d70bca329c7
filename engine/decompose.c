/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/graph_parts.h"
#include "engine/rules.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

bd_node bd_graph_rebuild(bd_graph *graph, const bd_graph_node *node, const bd_node *replaced)
{
    if (node->kind != BD_NODE_OP)
        return BD_NODE_NONE;
    bd_graph_node wanted = *node;
    bd_node *inputs = bd_alloc(sizeof *inputs * (node->input_count + 1));
    for (uint32_t i = 0; i < node->input_count; i++)
        inputs[i] = node->inputs[i] == BD_NODE_NONE ? BD_NODE_NONE : replaced[node->inputs[i]];
    wanted.inputs = inputs;
    bd_node made = bd_graph_append(graph, &wanted);
    bd_free(inputs);
    return made;
}

/* One level: composites reachable from the roots are replaced by what their rules give. */
static bool decompose_once(bd_graph *graph, bd_node *roots, uint32_t root_count)
{
    bd_node_list order = {0};
    bool found = false;
    bd_node *replaced = bd_alloc_zeroed(sizeof *replaced * graph->nodes.count);
    bd_graph_order(graph, roots, root_count, &order);
    for (size_t i = 0; i < order.count && !graph->error; i++) {
        bd_node at = order.items[i];
        const bd_graph_node *node = bd_graph_at(graph, at);
        replaced[at] = at;
        if (node->kind != BD_NODE_OP)
            continue;
        graph->record = node->record;
        bd_decompose_rule rule = bd_decompose_rule_of(node->op);
        if (!rule) {
            replaced[at] = bd_graph_rebuild(graph, node, replaced);
            continue;
        }
        found = true;
        bd_node *inputs = bd_alloc(sizeof *inputs * (node->input_count + 1));
        for (uint32_t j = 0; j < node->input_count; j++)
            inputs[j] = node->inputs[j] == BD_NODE_NONE ? BD_NODE_NONE : replaced[node->inputs[j]];
        bd_node out[BURN_OP_OUTPUTS_MAX] = {BD_NODE_NONE};
        bd_build_widen(graph, burn_op_lookup(node->op), inputs, node->input_count);
        uint32_t count = rule(&(bd_rule_call){.graph = graph,
                                              .inputs = inputs,
                                              .input_count = node->input_count,
                                              .attrs = node->attrs},
                              out);
        BD_ASSERT(graph->error || count == 1);
        replaced[at] = bd_build_cast(graph, out[0], node->dtype);
        bd_free(inputs);
    }
    for (uint32_t i = 0; i < root_count && !graph->error; i++)
        if (roots[i] != BD_NODE_NONE)
            roots[i] = replaced[roots[i]];
    bd_free(replaced);
    bd_vec_deinit(&order);
    return found && !graph->error;
}

bd_error *bd_graph_take_error(bd_graph *graph)
{
    bd_error *error = graph->error;
    graph->error = NULL;
    graph->record = BD_NO_RECORD;
    return error;
}

bd_error *bd_graph_decompose(bd_graph *graph, bd_node *roots, uint32_t root_count)
{
    /* A rule may use other composites, or itself in a simpler form, so the levels end. */
    for (int level = 0; level < 16 && decompose_once(graph, roots, root_count); level++)
        continue;
    return bd_graph_take_error(graph);
}
