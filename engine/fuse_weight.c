/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/fuse_parts.h"

enum { WEIGHT_MAX = 4000 };

static void add_source(bd_fuse_weight *sum, bd_node source)
{
    for (uint32_t i = 0; i < sum->source_count && i < BD_SOURCES_MAX; i++) {
        if (sum->sources[i] == source)
            return;
    }
    if (sum->source_count < BD_SOURCES_MAX)
        sum->sources[sum->source_count] = source;
    if (sum->source_count <= BD_SOURCES_MAX)
        sum->source_count++;
}

static void add_weight(bd_fuse_weight *sum, const bd_fuse_weight *input)
{
    for (uint32_t i = 0; i < input->source_count && i < BD_SOURCES_MAX; i++)
        add_source(sum, input->sources[i]);
    if (input->source_count > BD_SOURCES_MAX)
        sum->source_count = BD_SOURCES_MAX + 1;
    uint32_t flops = (uint32_t)sum->flops + input->flops;
    sum->flops = (uint16_t)(flops < WEIGHT_MAX ? flops : WEIGHT_MAX);
    sum->anchored |= input->anchored;
    sum->contracted |= input->contracted;
    sum->rows |= input->rows;
    sum->uniform &= input->uniform;
}

/* What it takes to do a node again from the one tensor that its inputs of its size are made of. */
static void weigh_again(const bd_fuse_walk *fuser, const bd_graph_node *node, bd_fuse_weight *own)
{
    uint32_t flops = bd_lower_cost(node);
    own->base = BD_NODE_NONE;
    own->again = BD_AGAIN_FROM_MORE;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const bd_fuse_weight *input = &fuser->weights[node->inputs[i]];
        bool seen = i > 0 && node->inputs[i] == node->inputs[i - 1];
        if (input->uniform || input->source_count == 0 || seen)
            continue;
        bool again = input->again <= fuser->again_max;
        bd_node base = again ? input->base : node->inputs[i];
        if (input->again == BD_AGAIN_NEVER || (own->base != BD_NODE_NONE && own->base != base))
            return;
        own->base = base;
        flops += again ? input->again : 0;
    }
    if (own->base != BD_NODE_NONE && flops <= fuser->again_max)
        own->again = (uint8_t)flops;
}

bd_fuse_weight bd_fuse_weigh(const bd_fuse_walk *fuser, bd_node number)
{
    const bd_graph_node *node = bd_graph_at(fuser->graph, number);
    bd_op_class class = bd_class_of(node);
    bool external = node->kind == BD_NODE_EXTERNAL;
    if (class == BD_CLASS_LEAF)
        return (bd_fuse_weight){.source_count = external,
                                .uniform = !external,
                                .again = BD_AGAIN_FROM_MORE,
                                .sources = {number}};
    if (class == BD_CLASS_REDUCE || class == BD_CLASS_SCAN || class == BD_CLASS_SORT ||
        class == BD_CLASS_DOT || class == BD_CLASS_ATTEND || class == BD_CLASS_SCATTER ||
        class == BD_CLASS_UPDATE)
        return (bd_fuse_weight){.source_count = 1,
                        .anchored = 1,
                        .contracted = class == BD_CLASS_DOT || class == BD_CLASS_ATTEND,
                        .again = BD_AGAIN_FROM_MORE,
                        .sources = {number}};
    bd_fuse_weight sum = {.uniform = node->input_count > 0};
    for (uint32_t i = 0; i < node->input_count; i++)
        add_weight(&sum, &fuser->weights[node->inputs[i]]);
    sum.flops = (uint16_t)(sum.uniform ? 0 : sum.flops + bd_lower_cost(node));
    const bd_fuse_weight *first = node->input_count ? &fuser->weights[node->inputs[0]] : &sum;
    sum.again = class == BD_CLASS_VIEW     ? first->again
                : class == BD_CLASS_GATHER ? BD_AGAIN_NEVER
                                           : BD_AGAIN_FROM_MORE;
    sum.base = number; /* another order, or a part, of a tensor is another one */
    if (class == BD_CLASS_VIEW && bd_view_kind_of(node) == BD_VIEW_RESHAPE)
        sum.base = first->base;
    if (class == BD_CLASS_MAP)
        weigh_again(fuser, node, &sum);
    if (class == BD_CLASS_GATHER)
        sum.flops = (uint16_t)(sum.flops + 6);
    if (class == BD_CLASS_VIEW && bd_view_kind_of(node) == BD_VIEW_EXPAND) {
        sum.rows |= sum.anchored; /* fewer elements, which stay in cache */
        sum.source_count = sum.anchored = sum.contracted = 0;
    }
    return sum;
}
