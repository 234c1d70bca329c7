/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/graph_parts.h"
#include "proto/base/alloc.h"

/* Pointwise chains, views, casts and counter-based random numbers are cheaper to compute again than
 * to keep; products, reductions, gathers and scatters are not. A walk from the survivors down their
 * history. As an input, a node is either kept or rebuilt from its own inputs; a kept tracked node
 * is still walked through, because gradients flow on to what made it. A value without a history
 * that survives may be asked for by a later grad, so it is kept as a leaf of its own. */
const bd_graph_saved *bd_graph_choose_saved(bd_graph *graph, uint32_t *out_count)
{
    enum { WALKED = 1, TAKEN = 2, LEAF = 4 };
    uint8_t *marks = bd_alloc_zeroed(graph->nodes.count);
    bd_node_list stack = {0};
    bd_vec_clear(&graph->saved);
    for (uint32_t value = 0; value < graph->value_count; value++) {
        bd_node node = graph->results[value].node;
        if (bd_graph_value_needs_history(graph, value) && !(marks[node] & WALKED)) {
            marks[node] |= WALKED;
            *bd_vec_push(&stack) = node;
        } else if (node != BD_NODE_NONE && graph->results[value].survives &&
                   !bd_graph_at(graph, node)->tracked) {
            marks[node] |= LEAF;
        }
    }
    while (stack.count) {
        const bd_graph_node *user = bd_graph_at(graph, stack.items[--stack.count]);
        for (uint32_t i = 0; i < user->input_count; i++) {
            bd_node input = user->inputs[i];
            if (input == BD_NODE_NONE || marks[input] & TAKEN)
                continue;
            marks[input] |= TAKEN;
            const bd_graph_node *node = bd_graph_at(graph, input);
            bool ends = graph->consumed.items[input];
            bool leaf = marks[input] & LEAF;
            bool kept =
                leaf || node->kind == BD_NODE_EXTERNAL ||
                (node->kind == BD_NODE_OP && (ends || !bd_op_is_cheap(burn_op_lookup(node->op))));
            if (kept)
                *bd_vec_push(&graph->saved) = (bd_graph_saved){input};
            if (node->kind == BD_NODE_OP && !leaf && !ends && (!kept || node->tracked) &&
                !(marks[input] & WALKED)) {
                marks[input] |= WALKED;
                *bd_vec_push(&stack) = input;
            }
        }
    }
    bd_free(marks);
    bd_vec_deinit(&stack);
    *out_count = (uint32_t)graph->saved.count;
    return graph->saved.items;
}
