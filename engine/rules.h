/* SPDX-License-Identifier: Apache-2.0
 * Gradient and decomposition rules: one C function each, made from the expressions in ops.toml by
 * gen_ops.py (engine/rules_gen.c). Pure builders over engine/graph.h. Thread: device. */
#pragma once

#include "engine/graph.h"

typedef struct bd_rule_call {
    bd_graph *graph;
    bd_node self;            /* the node itself, `out` in expressions; NONE in decompositions */
    const bd_node *inputs;   /* as built: promoted and broadcast; NONE for absent ones */
    uint32_t input_count;
    const bd_attr_value *attrs;
    bd_node gradient;        /* of the output, `g` in expressions; NONE in decompositions */
    const bool *wanted;      /* by input; NULL in decompositions */
} bd_rule_call;

/* Writes one gradient an input; NONE where none flows or it is not wanted. */
typedef void (*bd_gradient_rule)(const bd_rule_call *call, bd_node *out_gradients);
/* Writes the outputs; returns how many. */
typedef uint32_t (*bd_decompose_rule)(const bd_rule_call *call, bd_node *out);

bd_gradient_rule bd_gradient_rule_of(burn_op op);   /* NULL: not differentiable */
bd_decompose_rule bd_decompose_rule_of(burn_op op); /* NULL: a core op */
