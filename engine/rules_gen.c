/* SPDX-License-Identifier: Apache-2.0
 * Made by proto/gen_ops.py from proto/ops.toml. */
#include <math.h>

#include "engine/rules.h"
#include "engine/rules_build.h"
#include "engine/rules_native.h"

static uint32_t decompose_detach(const bd_rule_call *call, bd_node *out)
{
    out[0] = call->inputs[0];
    return 1;
}

static uint32_t decompose_clone(const bd_rule_call *call, bd_node *out)
{
    out[0] = call->inputs[0];
    return 1;
}

static void gradient_add(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        out[0] = bd_rule_gradient(graph, call->gradient, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        out[1] = bd_rule_gradient(graph, call->gradient, call->inputs[1]);
    }
}

static void gradient_sub(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        out[0] = bd_rule_gradient(graph, call->gradient, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->gradient}, 1, NULL);
        out[1] = bd_rule_gradient(graph, n1, call->inputs[1]);
    }
}

static void gradient_mul(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, call->inputs[1]}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, call->inputs[0]}, 2, NULL);
        out[1] = bd_rule_gradient(graph, n1, call->inputs[1]);
    }
}

static void gradient_div(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, call->inputs[1]}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->gradient}, 1, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->self, call->inputs[1]}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, n2}, 2, NULL);
        out[1] = bd_rule_gradient(graph, n3, call->inputs[1]);
    }
}

static void gradient_neg(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->gradient}, 1, NULL);
        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);
    }
}

static void gradient_pow(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[1], n1}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 1);
        bd_node n4 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[1], n3}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_POW, (bd_node[]){call->inputs[0], n4}, 2, NULL);
        bd_node n6 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[1], n5}, 2, NULL);
        bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n6}, 2, NULL);
        bd_node n8 = bd_rule_whole(graph, 0);
        bd_node n9 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n8, n7}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n9, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 0);
        bd_node n4 = bd_build(graph, BURN_OP_GE, (bd_node[]){call->inputs[1], n3}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_LOGICAL_AND, (bd_node[]){n2, n4}, 2, NULL);
        bd_node n6 = bd_build(graph, BURN_OP_LOG, (bd_node[]){call->inputs[0]}, 1, NULL);
        bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->self, n6}, 2, NULL);
        bd_node n8 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n7}, 2, NULL);
        bd_node n9 = bd_rule_whole(graph, 0);
        bd_node n10 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n5, n9, n8}, 3, NULL);
        out[1] = bd_rule_gradient(graph, n10, call->inputs[1]);
    }
}

static void gradient_maximum(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_LT, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 2);
        bd_node n4 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n3}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n4, call->gradient}, 3, NULL);
        bd_node n6 = bd_rule_whole(graph, 0);
        bd_node n7 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n1, n6, n5}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n7, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_LT, (bd_node[]){call->inputs[1], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 2);
        bd_node n4 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n3}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n4, call->gradient}, 3, NULL);
        bd_node n6 = bd_rule_whole(graph, 0);
        bd_node n7 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n1, n6, n5}, 3, NULL);
        out[1] = bd_rule_gradient(graph, n7, call->inputs[1]);
    }
}

static void gradient_minimum(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_GT, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 2);
        bd_node n4 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n3}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n4, call->gradient}, 3, NULL);
        bd_node n6 = bd_rule_whole(graph, 0);
        bd_node n7 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n1, n6, n5}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n7, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_GT, (bd_node[]){call->inputs[1], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 2);
        bd_node n4 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n3}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n4, call->gradient}, 3, NULL);
        bd_node n6 = bd_rule_whole(graph, 0);
        bd_node n7 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n1, n6, n5}, 3, NULL);
        out[1] = bd_rule_gradient(graph, n7, call->inputs[1]);
    }
}

static void gradient_remainder(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        out[0] = bd_rule_gradient(graph, call->gradient, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->gradient}, 1, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_FLOOR, (bd_node[]){n2}, 1, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, n3}, 2, NULL);
        out[1] = bd_rule_gradient(graph, n4, call->inputs[1]);
    }
}

static void gradient_fmod(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        out[0] = bd_rule_gradient(graph, call->gradient, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->gradient}, 1, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_TRUNC, (bd_node[]){n2}, 1, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, n3}, 2, NULL);
        out[1] = bd_rule_gradient(graph, n4, call->inputs[1]);
    }
}

static void gradient_abs(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_SIGN, (bd_node[]){call->inputs[0]}, 1, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n1}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
}

static void gradient_sign(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[0]);
        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);
    }
}

static void gradient_exp(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, call->self}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);
    }
}

static void gradient_log(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, call->inputs[0]}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);
    }
}

static void gradient_sqrt(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 2);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->self, n1}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n2}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static void gradient_rsqrt(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_number(graph, -0.5);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n1}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->self, call->self}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, call->self}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n2, n4}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n5, call->inputs[0]);
    }
}

static void gradient_reciprocal(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->gradient}, 1, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->self, call->self}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, n2}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static void gradient_square(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 2);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n2}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static uint32_t decompose_square(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
    out[0] = n1;
    return 1;
}

static void gradient_sin(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_COS, (bd_node[]){call->inputs[0]}, 1, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n1}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
}

static void gradient_cos(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->gradient}, 1, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_SIN, (bd_node[]){call->inputs[0]}, 1, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, n2}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static void gradient_tan(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->self, call->self}, 2, NULL);
        bd_node n2 = bd_rule_whole(graph, 1);
        bd_node n3 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n1, n2}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n3}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n4, call->inputs[0]);
    }
}

static void gradient_tanh(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->self, call->self}, 2, NULL);
        bd_node n2 = bd_rule_whole(graph, 1);
        bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n2, n1}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n3}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n4, call->inputs[0]);
    }
}

static void gradient_sigmoid(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 1);
        bd_node n2 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n1, call->self}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->self, n2}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n3}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n4, call->inputs[0]);
    }
}

static void gradient_relu(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_LE, (bd_node[]){call->self, n1}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 0);
        bd_node n4 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n3, call->gradient}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n4, call->inputs[0]);
    }
}

static uint32_t decompose_relu(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_whole(graph, 0);
    bd_node n2 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){call->inputs[0], n1}, 2, NULL);
    out[0] = n2;
    return 1;
}

static void gradient_gelu(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, call->inputs[0]}, 2, NULL);
        bd_node n3 = bd_rule_number(graph, 0.044715);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n2}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n4}, 2, NULL);
        bd_node n6 = bd_rule_number(graph, 0.7978845608028654);
        bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n6, n5}, 2, NULL);
        bd_node n8 = bd_build(graph, BURN_OP_TANH, (bd_node[]){n7}, 1, NULL);
        bd_node n44;
        if (call->attrs[0].value) {
            bd_node n9 = bd_rule_whole(graph, 1);
            bd_node n10 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n9, n8}, 2, NULL);
            bd_node n11 = bd_rule_number(graph, 0.5);
            bd_node n12 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n11, n10}, 2, NULL);
            bd_node n13 = bd_rule_number(graph, 0.5);
            bd_node n14 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n13, call->inputs[0]}, 2, NULL);
            bd_node n15 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n8, n8}, 2, NULL);
            bd_node n16 = bd_rule_whole(graph, 1);
            bd_node n17 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n16, n15}, 2, NULL);
            bd_node n18 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n14, n17}, 2, NULL);
            bd_node n19 = bd_rule_number(graph, 0.134145);
            bd_node n20 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n19, n1}, 2, NULL);
            bd_node n21 = bd_rule_whole(graph, 1);
            bd_node n22 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n21, n20}, 2, NULL);
            bd_node n23 = bd_rule_number(graph, 0.7978845608028654);
            bd_node n24 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n23, n22}, 2, NULL);
            bd_node n25 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n18, n24}, 2, NULL);
            bd_node n26 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n12, n25}, 2, NULL);
            bd_node n27 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n26}, 2, NULL);
            n44 = n27;
        } else {
            bd_node n28 = bd_rule_number(graph, 0.7071067811865476);
            bd_node n29 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n28}, 2, NULL);
            bd_node n30 = bd_build(graph, BURN_OP_ERF, (bd_node[]){n29}, 1, NULL);
            bd_node n31 = bd_rule_whole(graph, 1);
            bd_node n32 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n31, n30}, 2, NULL);
            bd_node n33 = bd_rule_number(graph, 0.5);
            bd_node n34 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n33, n32}, 2, NULL);
            bd_node n35 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
            bd_node n36 = bd_rule_number(graph, -0.5);
            bd_node n37 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n35, n36}, 2, NULL);
            bd_node n38 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n37}, 1, NULL);
            bd_node n39 = bd_rule_number(graph, 0.3989422804014327);
            bd_node n40 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n39, n38}, 2, NULL);
            bd_node n41 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n40}, 2, NULL);
            bd_node n42 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n34, n41}, 2, NULL);
            bd_node n43 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n42}, 2, NULL);
            n44 = n43;
        }
        out[0] = bd_rule_gradient(graph, n44, call->inputs[0]);
    }
}

static uint32_t decompose_gelu(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n22;
    if (call->attrs[0].value) {
        bd_node n1 = bd_rule_number(graph, 0.5);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, call->inputs[0]}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, call->inputs[0]}, 2, NULL);
        bd_node n5 = bd_rule_number(graph, 0.044715);
        bd_node n6 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n5, n4}, 2, NULL);
        bd_node n7 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n6}, 2, NULL);
        bd_node n8 = bd_rule_number(graph, 0.7978845608028654);
        bd_node n9 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n8, n7}, 2, NULL);
        bd_node n10 = bd_build(graph, BURN_OP_TANH, (bd_node[]){n9}, 1, NULL);
        bd_node n11 = bd_rule_whole(graph, 1);
        bd_node n12 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n11, n10}, 2, NULL);
        bd_node n13 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n2, n12}, 2, NULL);
        n22 = n13;
    } else {
        bd_node n14 = bd_rule_number(graph, 0.5);
        bd_node n15 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n14}, 2, NULL);
        bd_node n16 = bd_rule_number(graph, 0.7071067811865476);
        bd_node n17 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n16}, 2, NULL);
        bd_node n18 = bd_build(graph, BURN_OP_ERF, (bd_node[]){n17}, 1, NULL);
        bd_node n19 = bd_rule_whole(graph, 1);
        bd_node n20 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n19, n18}, 2, NULL);
        bd_node n21 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n15, n20}, 2, NULL);
        n22 = n21;
    }
    out[0] = n22;
    return 1;
}

static void gradient_silu(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_SIGMOID, (bd_node[]){call->inputs[0]}, 1, NULL);
        bd_node n2 = bd_rule_whole(graph, 1);
        bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n2, n1}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n3}, 2, NULL);
        bd_node n5 = bd_rule_whole(graph, 1);
        bd_node n6 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n5, n4}, 2, NULL);
        bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, n6}, 2, NULL);
        bd_node n8 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n7}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n8, call->inputs[0]);
    }
}

static uint32_t decompose_silu(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_SIGMOID, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n1}, 2, NULL);
    out[0] = n2;
    return 1;
}

static void gradient_erf(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_NEG, (bd_node[]){n1}, 1, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n2}, 1, NULL);
        bd_node n4 = bd_rule_number(graph, 1.1283791670955126);
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, n3}, 2, NULL);
        bd_node n6 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n5}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n6, call->inputs[0]);
    }
}

static void gradient_erfc(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_NEG, (bd_node[]){n1}, 1, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n2}, 1, NULL);
        bd_node n4 = bd_rule_number(graph, -1.1283791670955126);
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, n3}, 2, NULL);
        bd_node n6 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n5}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n6, call->inputs[0]);
    }
}

static void gradient_expm1(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 1);
        bd_node n2 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->self, n1}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n2}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static void gradient_log1p(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 1);
        bd_node n2 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n2}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static void gradient_log2(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_number(graph, 0.6931471805599453);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n2}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static void gradient_log10(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_number(graph, 2.302585092994046);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n2}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static void gradient_exp2(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_number(graph, 0.6931471805599453);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->self, n1}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n2}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static void gradient_floor(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[0]);
        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);
    }
}

static void gradient_ceil(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[0]);
        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);
    }
}

static void gradient_trunc(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[0]);
        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);
    }
}

static void gradient_round(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[0]);
        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);
    }
}

static void gradient_asin(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_rule_whole(graph, 1);
        bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n2, n1}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n3}, 1, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n4}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n5, call->inputs[0]);
    }
}

static void gradient_acos(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->gradient}, 1, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 1);
        bd_node n4 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n3, n2}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n4}, 1, NULL);
        bd_node n6 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, n5}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n6, call->inputs[0]);
    }
}

static void gradient_atan(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_rule_whole(graph, 1);
        bd_node n3 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n1, n2}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n3}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n4, call->inputs[0]);
    }
}

static void gradient_sinh(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_COSH, (bd_node[]){call->inputs[0]}, 1, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n1}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
}

static void gradient_cosh(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_SINH, (bd_node[]){call->inputs[0]}, 1, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n1}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
}

static void gradient_asinh(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_rule_whole(graph, 1);
        bd_node n3 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n1, n2}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n3}, 1, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n4}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n5, call->inputs[0]);
    }
}

static void gradient_acosh(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_rule_whole(graph, 1);
        bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n1, n2}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n3}, 1, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n4}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n5, call->inputs[0]);
    }
}

static void gradient_atanh(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_rule_whole(graph, 1);
        bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n2, n1}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n3}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n4, call->inputs[0]);
    }
}

static void gradient_lgamma(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_DIGAMMA, (bd_node[]){call->inputs[0]}, 1, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n1}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
}

static void gradient_digamma(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 2);
        bd_node n2 = bd_build(graph, BURN_OP_ZETA, (bd_node[]){n1, call->inputs[0]}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n2}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static void gradient_atan2(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[1], call->inputs[1]}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n1, n2}, 2, NULL);
        bd_node n4 = bd_rule_whole(graph, 0);
        bd_node n5 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n3, n4}, 2, NULL);
        bd_node n6 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[1], n3}, 2, NULL);
        bd_node n7 = bd_rule_whole(graph, 0);
        bd_node n8 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n5, n7, n6}, 3, NULL);
        bd_node n9 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n8}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n9, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[1], call->inputs[1]}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n1, n2}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->gradient}, 1, NULL);
        bd_node n5 = bd_rule_whole(graph, 0);
        bd_node n6 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n3, n5}, 2, NULL);
        bd_node n7 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[0], n3}, 2, NULL);
        bd_node n8 = bd_rule_whole(graph, 0);
        bd_node n9 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n6, n8, n7}, 3, NULL);
        bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, n9}, 2, NULL);
        out[1] = bd_rule_gradient(graph, n10, call->inputs[1]);
    }
}

static void gradient_fmax(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_GE, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_ISNAN, (bd_node[]){call->inputs[1]}, 1, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_LOGICAL_OR, (bd_node[]){n1, n2}, 2, NULL);
        bd_node n4 = bd_rule_whole(graph, 0);
        bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n3, call->gradient, n4}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n5, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_GE, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_ISNAN, (bd_node[]){call->inputs[1]}, 1, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_LOGICAL_OR, (bd_node[]){n1, n2}, 2, NULL);
        bd_node n4 = bd_rule_whole(graph, 0);
        bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n3, n4, call->gradient}, 3, NULL);
        out[1] = bd_rule_gradient(graph, n5, call->inputs[1]);
    }
}

static void gradient_fmin(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_LE, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_ISNAN, (bd_node[]){call->inputs[1]}, 1, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_LOGICAL_OR, (bd_node[]){n1, n2}, 2, NULL);
        bd_node n4 = bd_rule_whole(graph, 0);
        bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n3, call->gradient, n4}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n5, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_LE, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_ISNAN, (bd_node[]){call->inputs[1]}, 1, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_LOGICAL_OR, (bd_node[]){n1, n2}, 2, NULL);
        bd_node n4 = bd_rule_whole(graph, 0);
        bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n3, n4, call->gradient}, 3, NULL);
        out[1] = bd_rule_gradient(graph, n5, call->inputs[1]);
    }
}

static void gradient_where(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){call->inputs[0], call->gradient, n1}, 3, NULL);
        out[1] = bd_rule_gradient(graph, n2, call->inputs[1]);
    }
    out[2] = BD_NODE_NONE;
    if (call->wanted[2]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){call->inputs[0], n1, call->gradient}, 3, NULL);
        out[2] = bd_rule_gradient(graph, n2, call->inputs[2]);
    }
}

static void gradient_clamp(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n9;
        if (call->inputs[1] != BD_NODE_NONE) {
            bd_node n5;
            if (call->inputs[2] != BD_NODE_NONE) {
                bd_node n1 = bd_build(graph, BURN_OP_GE, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
                bd_node n2 = bd_build(graph, BURN_OP_LE, (bd_node[]){call->inputs[0], call->inputs[2]}, 2, NULL);
                bd_node n3 = bd_build(graph, BURN_OP_LOGICAL_AND, (bd_node[]){n1, n2}, 2, NULL);
                n5 = n3;
            } else {
                bd_node n4 = bd_build(graph, BURN_OP_GE, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
                n5 = n4;
            }
            n9 = n5;
        } else {
            bd_node n8;
            if (call->inputs[2] != BD_NODE_NONE) {
                bd_node n6 = bd_build(graph, BURN_OP_LE, (bd_node[]){call->inputs[0], call->inputs[2]}, 2, NULL);
                n8 = n6;
            } else {
                bd_node n7 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
                n8 = n7;
            }
            n9 = n8;
        }
        bd_node n10 = bd_rule_whole(graph, 0);
        bd_node n11 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n9, call->gradient, n10}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n11, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n5;
        if (call->inputs[2] != BD_NODE_NONE) {
            bd_node n1 = bd_build(graph, BURN_OP_LT, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
            bd_node n2 = bd_build(graph, BURN_OP_LT, (bd_node[]){call->inputs[1], call->inputs[2]}, 2, NULL);
            bd_node n3 = bd_build(graph, BURN_OP_LOGICAL_AND, (bd_node[]){n1, n2}, 2, NULL);
            n5 = n3;
        } else {
            bd_node n4 = bd_build(graph, BURN_OP_LT, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
            n5 = n4;
        }
        bd_node n6 = bd_rule_whole(graph, 0);
        bd_node n7 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n5, call->gradient, n6}, 3, NULL);
        out[1] = bd_rule_gradient(graph, n7, call->inputs[1]);
    }
    out[2] = BD_NODE_NONE;
    if (call->wanted[2]) {
        bd_node n5;
        if (call->inputs[1] != BD_NODE_NONE) {
            bd_node n1 = bd_build(graph, BURN_OP_GT, (bd_node[]){call->inputs[0], call->inputs[2]}, 2, NULL);
            bd_node n2 = bd_build(graph, BURN_OP_LT, (bd_node[]){call->inputs[2], call->inputs[1]}, 2, NULL);
            bd_node n3 = bd_build(graph, BURN_OP_LOGICAL_OR, (bd_node[]){n1, n2}, 2, NULL);
            n5 = n3;
        } else {
            bd_node n4 = bd_build(graph, BURN_OP_GT, (bd_node[]){call->inputs[0], call->inputs[2]}, 2, NULL);
            n5 = n4;
        }
        bd_node n6 = bd_rule_whole(graph, 0);
        bd_node n7 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n5, call->gradient, n6}, 3, NULL);
        out[2] = bd_rule_gradient(graph, n7, call->inputs[2]);
    }
}

static uint32_t decompose_clamp(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n2;
    if (call->inputs[1] != BD_NODE_NONE) {
        bd_node n1 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        n2 = n1;
    } else {
        n2 = call->inputs[0];
    }
    bd_node n4;
    if (call->inputs[2] != BD_NODE_NONE) {
        bd_node n3 = bd_build(graph, BURN_OP_MINIMUM, (bd_node[]){n2, call->inputs[2]}, 2, NULL);
        n4 = n3;
    } else {
        n4 = n2;
    }
    out[0] = n4;
    return 1;
}

static void gradient_cast(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build_cast(graph, call->gradient, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);
    }
}

static uint32_t decompose_isfinite(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_ISNAN, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_ISINF, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_LOGICAL_OR, (bd_node[]){n1, n2}, 2, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_LOGICAL_NOT, (bd_node[]){n3}, 1, NULL);
    out[0] = n4;
    return 1;
}

static void gradient_leaky_relu(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_GT, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, call->inputs[1]}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, call->gradient, n3}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n4, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_GT, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, call->inputs[0]}, 2, NULL);
        bd_node n4 = bd_rule_whole(graph, 0);
        bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n4, n3}, 3, NULL);
        out[1] = bd_rule_gradient(graph, n5, call->inputs[1]);
    }
}

static uint32_t decompose_leaky_relu(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_whole(graph, 0);
    bd_node n2 = bd_build(graph, BURN_OP_GT, (bd_node[]){call->inputs[0], n1}, 2, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, call->inputs[0], n3}, 3, NULL);
    out[0] = n4;
    return 1;
}

static void gradient_elu(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_GT, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 0);
        bd_node n4 = bd_build(graph, BURN_OP_MINIMUM, (bd_node[]){call->inputs[0], n3}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n4}, 1, NULL);
        bd_node n6 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[1], n5}, 2, NULL);
        bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n6}, 2, NULL);
        bd_node n8 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, call->gradient, n7}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n8, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_GT, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 0);
        bd_node n4 = bd_build(graph, BURN_OP_MINIMUM, (bd_node[]){call->inputs[0], n3}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_EXPM1, (bd_node[]){n4}, 1, NULL);
        bd_node n6 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n5}, 2, NULL);
        bd_node n7 = bd_rule_whole(graph, 0);
        bd_node n8 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n7, n6}, 3, NULL);
        out[1] = bd_rule_gradient(graph, n8, call->inputs[1]);
    }
}

static uint32_t decompose_elu(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_whole(graph, 0);
    bd_node n2 = bd_build(graph, BURN_OP_GT, (bd_node[]){call->inputs[0], n1}, 2, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_EXPM1, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[1], n3}, 2, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, call->inputs[0], n4}, 3, NULL);
    out[0] = n5;
    return 1;
}

static void gradient_hardtanh(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_GT, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_LT, (bd_node[]){call->inputs[0], call->inputs[2]}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_LOGICAL_AND, (bd_node[]){n1, n2}, 2, NULL);
        bd_node n4 = bd_rule_whole(graph, 0);
        bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n3, call->gradient, n4}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n5, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    out[2] = BD_NODE_NONE;
}

static uint32_t decompose_hardtanh(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_MINIMUM, (bd_node[]){n1, call->inputs[2]}, 2, NULL);
    out[0] = n2;
    return 1;
}

static void gradient_softplus(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_GT, (bd_node[]){n1, call->inputs[2]}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_SIGMOID, (bd_node[]){n1}, 1, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n3}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, call->gradient, n4}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n5, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    out[2] = BD_NODE_NONE;
}

static uint32_t decompose_softplus(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_GT, (bd_node[]){n1, call->inputs[2]}, 2, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n1}, 1, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_LOG1P, (bd_node[]){n3}, 1, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n4, call->inputs[1]}, 2, NULL);
    bd_node n6 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, call->inputs[0], n5}, 3, NULL);
    out[0] = n6;
    return 1;
}

static void gradient_logsigmoid(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[0]}, 1, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_SIGMOID, (bd_node[]){n1}, 1, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n2}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static uint32_t decompose_logsigmoid(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_whole(graph, 0);
    bd_node n2 = bd_build(graph, BURN_OP_MINIMUM, (bd_node[]){call->inputs[0], n1}, 2, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_ABS, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_NEG, (bd_node[]){n3}, 1, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n4}, 1, NULL);
    bd_node n6 = bd_build(graph, BURN_OP_LOG1P, (bd_node[]){n5}, 1, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n2, n6}, 2, NULL);
    out[0] = n7;
    return 1;
}

static void gradient_lerp(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 1);
        bd_node n2 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n1, call->inputs[2]}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n2}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, call->inputs[2]}, 2, NULL);
        out[1] = bd_rule_gradient(graph, n1, call->inputs[1]);
    }
    out[2] = BD_NODE_NONE;
    if (call->wanted[2]) {
        bd_node n1 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[1], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n1}, 2, NULL);
        out[2] = bd_rule_gradient(graph, n2, call->inputs[2]);
    }
}

static uint32_t decompose_lerp(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_number(graph, 0.5);
    bd_node n2 = bd_build(graph, BURN_OP_LT, (bd_node[]){call->inputs[2], n1}, 2, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[1], call->inputs[0]}, 2, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[2], n3}, 2, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n4}, 2, NULL);
    bd_node n6 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[1], call->inputs[0]}, 2, NULL);
    bd_node n7 = bd_rule_whole(graph, 1);
    bd_node n8 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n7, call->inputs[2]}, 2, NULL);
    bd_node n9 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n6, n8}, 2, NULL);
    bd_node n10 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[1], n9}, 2, NULL);
    bd_node n11 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n5, n10}, 3, NULL);
    out[0] = n11;
    return 1;
}

static uint32_t decompose_addcmul(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[3], call->inputs[1]}, 2, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, call->inputs[2]}, 2, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n2}, 2, NULL);
    out[0] = n3;
    return 1;
}

static uint32_t decompose_addcdiv(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[1], call->inputs[2]}, 2, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[3], n1}, 2, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n2}, 2, NULL);
    out[0] = n3;
    return 1;
}

static void gradient_masked_fill(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){call->inputs[1], n1, call->gradient}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    out[2] = BD_NODE_NONE;
    if (call->wanted[2]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){call->inputs[1], call->gradient, n1}, 3, NULL);
        out[2] = bd_rule_gradient(graph, n2, call->inputs[2]);
    }
}

static uint32_t decompose_masked_fill(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){call->inputs[1], call->inputs[2], call->inputs[0]}, 3, NULL);
    out[0] = n1;
    return 1;
}

static void gradient_logaddexp(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_SIGMOID, (bd_node[]){n1}, 1, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n2}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[1], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_SIGMOID, (bd_node[]){n1}, 1, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n2}, 2, NULL);
        out[1] = bd_rule_gradient(graph, n3, call->inputs[1]);
    }
}

static uint32_t decompose_logaddexp(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_ISINF, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_LOGICAL_AND, (bd_node[]){n1, n2}, 2, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
    bd_node n6 = bd_build(graph, BURN_OP_ABS, (bd_node[]){n5}, 1, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_NEG, (bd_node[]){n6}, 1, NULL);
    bd_node n8 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n7}, 1, NULL);
    bd_node n9 = bd_build(graph, BURN_OP_LOG1P, (bd_node[]){n8}, 1, NULL);
    bd_node n10 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n4, n9}, 2, NULL);
    bd_node n11 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n3, call->inputs[0], n10}, 3, NULL);
    out[0] = n11;
    return 1;
}

static void gradient_hypot(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[0], call->self}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n1}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[1], call->self}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n1}, 2, NULL);
        out[1] = bd_rule_gradient(graph, n2, call->inputs[1]);
    }
}

static uint32_t decompose_hypot(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_ABS, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_ABS, (bd_node[]){call->inputs[1]}, 1, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_FMAX, (bd_node[]){n1, n2}, 2, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_ABS, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_ABS, (bd_node[]){call->inputs[1]}, 1, NULL);
    bd_node n6 = bd_build(graph, BURN_OP_MINIMUM, (bd_node[]){n4, n5}, 2, NULL);
    bd_node n7 = bd_rule_whole(graph, 0);
    bd_node n8 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n3, n7}, 2, NULL);
    bd_node n9 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n6, n3}, 2, NULL);
    bd_node n10 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n8, n6, n9}, 3, NULL);
    bd_node n11 = bd_build(graph, BURN_OP_ISINF, (bd_node[]){n3}, 1, NULL);
    bd_node n12 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n10, n10}, 2, NULL);
    bd_node n13 = bd_rule_whole(graph, 1);
    bd_node n14 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n13, n12}, 2, NULL);
    bd_node n15 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n14}, 1, NULL);
    bd_node n16 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n15}, 2, NULL);
    bd_node n17 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n11, n3, n16}, 3, NULL);
    out[0] = n17;
    return 1;
}

static uint32_t decompose_softsign(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_ABS, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n2 = bd_rule_whole(graph, 1);
    bd_node n3 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n2, n1}, 2, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[0], n3}, 2, NULL);
    out[0] = n4;
    return 1;
}

static uint32_t decompose_mish(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_whole(graph, 1);
    bd_node n2 = bd_rule_whole(graph, 20);
    bd_node n3 = bd_build(graph, BURN_OP_SOFTPLUS, (bd_node[]){call->inputs[0], n1, n2}, 3, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_TANH, (bd_node[]){n3}, 1, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n4}, 2, NULL);
    out[0] = n5;
    return 1;
}

static void gradient_hardsigmoid(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, -3);
        bd_node n2 = bd_build(graph, BURN_OP_GT, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 3);
        bd_node n4 = bd_build(graph, BURN_OP_LT, (bd_node[]){call->inputs[0], n3}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_LOGICAL_AND, (bd_node[]){n2, n4}, 2, NULL);
        bd_node n6 = bd_rule_whole(graph, 6);
        bd_node n7 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n6}, 2, NULL);
        bd_node n8 = bd_rule_whole(graph, 0);
        bd_node n9 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n5, n7, n8}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n9, call->inputs[0]);
    }
}

static uint32_t decompose_hardsigmoid(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_whole(graph, 3);
    bd_node n2 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n1}, 2, NULL);
    bd_node n3 = bd_rule_whole(graph, 0);
    bd_node n4 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){n2, n3}, 2, NULL);
    bd_node n5 = bd_rule_whole(graph, 6);
    bd_node n6 = bd_build(graph, BURN_OP_MINIMUM, (bd_node[]){n4, n5}, 2, NULL);
    bd_node n7 = bd_rule_whole(graph, 6);
    bd_node n8 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n6, n7}, 2, NULL);
    out[0] = n8;
    return 1;
}

static void gradient_hardswish(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, -3);
        bd_node n2 = bd_build(graph, BURN_OP_LE, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 3);
        bd_node n4 = bd_build(graph, BURN_OP_LT, (bd_node[]){call->inputs[0], n3}, 2, NULL);
        bd_node n5 = bd_rule_whole(graph, 3);
        bd_node n6 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[0], n5}, 2, NULL);
        bd_node n7 = bd_rule_number(graph, 0.5);
        bd_node n8 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n6, n7}, 2, NULL);
        bd_node n9 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n8}, 2, NULL);
        bd_node n10 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n4, n9, call->gradient}, 3, NULL);
        bd_node n11 = bd_rule_whole(graph, 0);
        bd_node n12 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n11, n10}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n12, call->inputs[0]);
    }
}

static uint32_t decompose_hardswish(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_HARDSIGMOID, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n1}, 2, NULL);
    out[0] = n2;
    return 1;
}

static void gradient_reshape(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0]))};
        bd_node n2 = bd_build(graph, BURN_OP_RESHAPE, (bd_node[]){call->gradient}, 1, a1);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
}

static void gradient_permute(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {bd_rule_inverse(graph, call->attrs[0])};
        bd_node n2 = bd_build(graph, BURN_OP_PERMUTE, (bd_node[]){call->gradient}, 1, a1);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
}

static void gradient_expand(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_sum_to(graph, call->gradient, call->inputs[0]);
        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);
    }
}

static void gradient_slice(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[0]);
        const bd_attr_value a2[] = {call->attrs[0], call->attrs[1], call->attrs[2]};
        bd_node n3 = bd_build(graph, BURN_OP_SLICE_SET, (bd_node[]){n1, call->gradient}, 2, a2);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static void gradient_pad(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {call->attrs[0], bd_rule_sizes_add(graph, call->attrs[0], bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0]))), bd_rule_ones_like(graph, call->attrs[0])};
        bd_node n2 = bd_build(graph, BURN_OP_SLICE, (bd_node[]){call->gradient}, 1, a1);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
}

static void gradient_flip(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {call->attrs[0]};
        bd_node n2 = bd_build(graph, BURN_OP_FLIP, (bd_node[]){call->gradient}, 1, a1);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
}

static uint32_t decompose_slice_update(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {call->attrs[0], call->attrs[1], call->attrs[2]};
    bd_node n2 = bd_build(graph, BURN_OP_SLICE, (bd_node[]){call->inputs[0]}, 1, a1);
    bd_node n3 = bd_rule_expand_to(graph, call->inputs[1], bd_rule_dims(graph, n2, 0, bd_rule_rank(graph, n2)));
    const bd_attr_value a4[] = {call->attrs[0], call->attrs[1], call->attrs[2]};
    bd_node n5 = bd_build(graph, BURN_OP_SLICE_SET, (bd_node[]){call->inputs[0], n3}, 2, a4);
    out[0] = n5;
    return 1;
}

static void gradient_tril(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {{.value = (bd_int)call->attrs[0].value}};
        bd_node n2 = bd_build(graph, BURN_OP_TRIL, (bd_node[]){call->gradient}, 1, a1);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
}

static uint32_t decompose_tril(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0])), {.value = (bd_rule_rank(graph, call->inputs[0]) - 1)}};
    bd_node n2 = bd_build(graph, BURN_OP_IOTA, NULL, 0, a1);
    const bd_attr_value a3[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0])), {.value = (bd_rule_rank(graph, call->inputs[0]) - 2)}};
    bd_node n4 = bd_build(graph, BURN_OP_IOTA, NULL, 0, a3);
    bd_node n5 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n2, n4}, 2, NULL);
    bd_node n6 = bd_build_integer(graph, (bd_int)call->attrs[0].value);
    bd_node n7 = bd_build(graph, BURN_OP_LE, (bd_node[]){n5, n6}, 2, NULL);
    bd_node n8 = bd_rule_whole(graph, 0);
    bd_node n9 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n7, call->inputs[0], n8}, 3, NULL);
    out[0] = n9;
    return 1;
}

static void gradient_triu(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {{.value = (bd_int)call->attrs[0].value}};
        bd_node n2 = bd_build(graph, BURN_OP_TRIU, (bd_node[]){call->gradient}, 1, a1);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
}

static uint32_t decompose_triu(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0])), {.value = (bd_rule_rank(graph, call->inputs[0]) - 1)}};
    bd_node n2 = bd_build(graph, BURN_OP_IOTA, NULL, 0, a1);
    const bd_attr_value a3[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0])), {.value = (bd_rule_rank(graph, call->inputs[0]) - 2)}};
    bd_node n4 = bd_build(graph, BURN_OP_IOTA, NULL, 0, a3);
    bd_node n5 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n2, n4}, 2, NULL);
    bd_node n6 = bd_build_integer(graph, (bd_int)call->attrs[0].value);
    bd_node n7 = bd_build(graph, BURN_OP_GE, (bd_node[]){n5, n6}, 2, NULL);
    bd_node n8 = bd_rule_whole(graph, 0);
    bd_node n9 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n7, call->inputs[0], n8}, 3, NULL);
    out[0] = n9;
    return 1;
}

static void gradient_sum(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_unreduce(graph, call->gradient, call->inputs[0], call->attrs[0], call->attrs[1].value);
        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);
    }
}

static void gradient_mean(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build_integer(graph, bd_rule_count(graph, call->inputs[0], call->attrs[0]));
        bd_node n2 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n1}, 2, NULL);
        bd_node n3 = bd_rule_unreduce(graph, n2, call->inputs[0], call->attrs[0], call->attrs[1].value);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static uint32_t decompose_mean(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {call->attrs[0], {.value = call->attrs[1].value}, {.value = call->attrs[2].value}};
    bd_node n2 = bd_build(graph, BURN_OP_SUM, (bd_node[]){call->inputs[0]}, 1, a1);
    bd_node n3 = bd_build_integer(graph, bd_rule_count(graph, call->inputs[0], call->attrs[0]));
    bd_node n4 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n2, n3}, 2, NULL);
    out[0] = n4;
    return 1;
}

static void gradient_prod(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 1);
        bd_node n4 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n3, call->inputs[0]}, 3, NULL);
        const bd_attr_value a5[] = {call->attrs[0], {.value = 1}, {.value = 0}};
        bd_node n6 = bd_build(graph, BURN_OP_PROD, (bd_node[]){n4}, 1, a5);
        const bd_attr_value a7[] = {call->attrs[0], {.value = 1}, {.value = 0}};
        bd_node n8 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n2}, 1, a7);
        bd_node n9 = bd_rule_unreduce(graph, call->gradient, call->inputs[0], call->attrs[0], call->attrs[1].value);
        bd_node n10 = bd_rule_whole(graph, 1);
        bd_node n11 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n8, n10}, 2, NULL);
        bd_node n12 = bd_rule_whole(graph, 0);
        bd_node n13 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n11, n6, n12}, 3, NULL);
        bd_node n14 = bd_rule_whole(graph, 0);
        bd_node n15 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n8, n14}, 2, NULL);
        bd_node n16 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n6, call->inputs[0]}, 2, NULL);
        bd_node n17 = bd_rule_whole(graph, 0);
        bd_node n18 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n15, n16, n17}, 3, NULL);
        bd_node n19 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n13, n18}, 3, NULL);
        bd_node n20 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n19}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n20, call->inputs[0]);
    }
}

static void gradient_max(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_unreduce(graph, call->self, call->inputs[0], call->attrs[0], call->attrs[1].value);
        bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_build_cast(graph, n2, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        const bd_attr_value a4[] = {call->attrs[0], {.value = call->attrs[1].value}, {.value = 0}};
        bd_node n5 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n3}, 1, a4);
        bd_node n6 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n5}, 2, NULL);
        bd_node n7 = bd_rule_unreduce(graph, n6, call->inputs[0], call->attrs[0], call->attrs[1].value);
        bd_node n8 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n7}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n8, call->inputs[0]);
    }
}

static void gradient_min(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_unreduce(graph, call->self, call->inputs[0], call->attrs[0], call->attrs[1].value);
        bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_build_cast(graph, n2, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        const bd_attr_value a4[] = {call->attrs[0], {.value = call->attrs[1].value}, {.value = 0}};
        bd_node n5 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n3}, 1, a4);
        bd_node n6 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n5}, 2, NULL);
        bd_node n7 = bd_rule_unreduce(graph, n6, call->inputs[0], call->attrs[0], call->attrs[1].value);
        bd_node n8 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n7}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n8, call->inputs[0]);
    }
}

static uint32_t decompose_any(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build_cast(graph, call->inputs[0], (burn_dtype)(13));
    const bd_attr_value a2[] = {call->attrs[0], {.value = call->attrs[1].value}};
    bd_node n3 = bd_build(graph, BURN_OP_MAX, (bd_node[]){n1}, 1, a2);
    bd_node n4 = bd_build_cast(graph, n3, (burn_dtype)((bd_graph_at(graph, call->inputs[0])->dtype == 12 ? 12 : 13)));
    out[0] = n4;
    return 1;
}

static uint32_t decompose_all(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build_cast(graph, call->inputs[0], (burn_dtype)(13));
    const bd_attr_value a2[] = {call->attrs[0], {.value = call->attrs[1].value}};
    bd_node n3 = bd_build(graph, BURN_OP_MIN, (bd_node[]){n1}, 1, a2);
    bd_node n4 = bd_build_cast(graph, n3, (burn_dtype)((bd_graph_at(graph, call->inputs[0])->dtype == 12 ? 12 : 13)));
    out[0] = n4;
    return 1;
}

static void gradient_var(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build_integer(graph, bd_rule_count(graph, call->inputs[0], call->attrs[0]));
        bd_node n2 = bd_build_cast(graph, n1, (burn_dtype)(1));
        bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n2, call->inputs[1]}, 2, NULL);
        bd_node n4 = bd_rule_whole(graph, 0);
        bd_node n5 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){n3, n4}, 2, NULL);
        bd_node n6 = bd_build_cast(graph, n5, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n7 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n6}, 2, NULL);
        bd_node n8 = bd_rule_unreduce(graph, n7, call->inputs[0], call->attrs[0], call->attrs[1].value);
        const bd_attr_value a9[] = {call->attrs[0], {.value = 1}, {.value = 0}};
        bd_node n10 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){call->inputs[0]}, 1, a9);
        bd_node n11 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n10}, 2, NULL);
        bd_node n12 = bd_rule_whole(graph, 2);
        bd_node n13 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n12, n11}, 2, NULL);
        bd_node n14 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n8, n13}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n14, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
}

static uint32_t decompose_var(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {call->attrs[0], {.value = 1}, {.value = 0}};
    bd_node n2 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){call->inputs[0]}, 1, a1);
    bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n2}, 2, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n3}, 2, NULL);
    const bd_attr_value a5[] = {call->attrs[0], {.value = call->attrs[1].value}, {.value = 0}};
    bd_node n6 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n4}, 1, a5);
    bd_node n7 = bd_build_integer(graph, bd_rule_count(graph, call->inputs[0], call->attrs[0]));
    bd_node n8 = bd_build_cast(graph, n7, (burn_dtype)(1));
    bd_node n9 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n8, call->inputs[1]}, 2, NULL);
    bd_node n10 = bd_rule_whole(graph, 0);
    bd_node n11 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){n9, n10}, 2, NULL);
    bd_node n12 = bd_build_cast(graph, n11, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n13 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n6, n12}, 2, NULL);
    out[0] = n13;
    return 1;
}

static void gradient_std(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->self, n1}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, call->self}, 2, NULL);
        bd_node n4 = bd_rule_whole(graph, 0);
        bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n4, n3}, 3, NULL);
        bd_node n6 = bd_build_integer(graph, bd_rule_count(graph, call->inputs[0], call->attrs[0]));
        bd_node n7 = bd_build_cast(graph, n6, (burn_dtype)(1));
        bd_node n8 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n7, call->inputs[1]}, 2, NULL);
        bd_node n9 = bd_rule_whole(graph, 0);
        bd_node n10 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){n8, n9}, 2, NULL);
        bd_node n11 = bd_build_cast(graph, n10, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n12 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n5, n11}, 2, NULL);
        bd_node n13 = bd_rule_unreduce(graph, n12, call->inputs[0], call->attrs[0], call->attrs[1].value);
        const bd_attr_value a14[] = {call->attrs[0], {.value = 1}, {.value = 0}};
        bd_node n15 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){call->inputs[0]}, 1, a14);
        bd_node n16 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n15}, 2, NULL);
        bd_node n17 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n13, n16}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n17, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
}

static uint32_t decompose_std(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {call->attrs[0], {.value = call->attrs[1].value}};
    bd_node n2 = bd_build(graph, BURN_OP_VAR, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, a1);
    bd_node n3 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n2}, 1, NULL);
    out[0] = n3;
    return 1;
}

static void gradient_logsumexp(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_unreduce(graph, call->gradient, call->inputs[0], call->attrs[0], call->attrs[1].value);
        bd_node n2 = bd_rule_unreduce(graph, call->self, call->inputs[0], call->attrs[0], call->attrs[1].value);
        bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n2}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n3}, 1, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, n4}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n5, call->inputs[0]);
    }
}

static uint32_t decompose_logsumexp(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {call->attrs[0], {.value = 1}};
    bd_node n2 = bd_build(graph, BURN_OP_MAX, (bd_node[]){call->inputs[0]}, 1, a1);
    bd_node n3 = bd_build(graph, BURN_OP_ISINF, (bd_node[]){n2}, 1, NULL);
    bd_node n4 = bd_rule_whole(graph, 0);
    bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n3, n4, n2}, 3, NULL);
    bd_node n6 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n5}, 2, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n6}, 1, NULL);
    const bd_attr_value a8[] = {call->attrs[0], {.value = call->attrs[1].value}, {.value = 0}};
    bd_node n9 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n7}, 1, a8);
    bd_node n10 = bd_build(graph, BURN_OP_LOG, (bd_node[]){n9}, 1, NULL);
    bd_node n13;
    if (call->attrs[1].value) {
        n13 = n5;
    } else {
        const bd_attr_value a11[] = {bd_rule_dims(graph, n10, 0, bd_rule_rank(graph, n10))};
        bd_node n12 = bd_build(graph, BURN_OP_RESHAPE, (bd_node[]){n5}, 1, a11);
        n13 = n12;
    }
    bd_node n14 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n10, n13}, 2, NULL);
    out[0] = n14;
    return 1;
}

static uint32_t decompose_linear(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const int64_t l1_values[] = {bd_rule_product(graph, call->inputs[0], 0, -1)};
    const bd_attr_value l1 = {.values = l1_values, .count = 1};
    const int64_t l2_values[] = {bd_rule_size(graph, call->inputs[0], -1)};
    const bd_attr_value l2 = {.values = l2_values, .count = 1};
    const bd_attr_value a3[] = {bd_rule_join(graph, l1, l2)};
    bd_node n4 = bd_build(graph, BURN_OP_RESHAPE, (bd_node[]){call->inputs[0]}, 1, a3);
    const int64_t l5_values[] = {1};
    const bd_attr_value l5 = {.values = l5_values, .count = 1};
    const int64_t l6_values[] = {0};
    const bd_attr_value l6 = {.values = l6_values, .count = 1};
    const bd_attr_value a7[] = {bd_rule_join(graph, l5, l6)};
    bd_node n8 = bd_build(graph, BURN_OP_PERMUTE, (bd_node[]){call->inputs[1]}, 1, a7);
    bd_node n9 = bd_build(graph, BURN_OP_DOT, (bd_node[]){n4, n8}, 2, NULL);
    bd_node n11;
    if (call->inputs[2] != BD_NODE_NONE) {
        bd_node n10 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n9, call->inputs[2]}, 2, NULL);
        n11 = n10;
    } else {
        n11 = n9;
    }
    const int64_t l12_values[] = {bd_rule_size(graph, call->inputs[1], 0)};
    const bd_attr_value l12 = {.values = l12_values, .count = 1};
    const bd_attr_value a13[] = {bd_rule_join(graph, bd_rule_dims(graph, call->inputs[0], 0, -1), l12)};
    bd_node n14 = bd_build(graph, BURN_OP_RESHAPE, (bd_node[]){n11}, 1, a13);
    out[0] = n14;
    return 1;
}

static void gradient_softmax(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, call->self}, 2, NULL);
        const int64_t l2_values[] = {call->attrs[0].value};
        const bd_attr_value l2 = {.values = l2_values, .count = 1};
        const bd_attr_value a3[] = {l2, {.value = 1}, {.value = 0}};
        bd_node n4 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n1}, 1, a3);
        bd_node n5 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->gradient, n4}, 2, NULL);
        bd_node n6 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->self, n5}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n6, call->inputs[0]);
    }
}

static uint32_t decompose_softmax(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const int64_t l1_values[] = {call->attrs[0].value};
    const bd_attr_value l1 = {.values = l1_values, .count = 1};
    const bd_attr_value a2[] = {l1, {.value = 1}};
    bd_node n3 = bd_build(graph, BURN_OP_MAX, (bd_node[]){call->inputs[0]}, 1, a2);
    bd_node n4 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n3}, 2, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n4}, 1, NULL);
    const int64_t l6_values[] = {call->attrs[0].value};
    const bd_attr_value l6 = {.values = l6_values, .count = 1};
    const bd_attr_value a7[] = {l6, {.value = 1}, {.value = 0}};
    bd_node n8 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n5}, 1, a7);
    bd_node n9 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n5, n8}, 2, NULL);
    out[0] = n9;
    return 1;
}

static void gradient_log_softmax(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_EXP, (bd_node[]){call->self}, 1, NULL);
        const int64_t l2_values[] = {call->attrs[0].value};
        const bd_attr_value l2 = {.values = l2_values, .count = 1};
        const bd_attr_value a3[] = {l2, {.value = 1}, {.value = 0}};
        bd_node n4 = bd_build(graph, BURN_OP_SUM, (bd_node[]){call->gradient}, 1, a3);
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, n4}, 2, NULL);
        bd_node n6 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->gradient, n5}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n6, call->inputs[0]);
    }
}

static uint32_t decompose_log_softmax(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const int64_t l1_values[] = {call->attrs[0].value};
    const bd_attr_value l1 = {.values = l1_values, .count = 1};
    const bd_attr_value a2[] = {l1, {.value = 1}};
    bd_node n3 = bd_build(graph, BURN_OP_MAX, (bd_node[]){call->inputs[0]}, 1, a2);
    bd_node n4 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n3}, 2, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n4}, 1, NULL);
    const int64_t l6_values[] = {call->attrs[0].value};
    const bd_attr_value l6 = {.values = l6_values, .count = 1};
    const bd_attr_value a7[] = {l6, {.value = 1}, {.value = 0}};
    bd_node n8 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n5}, 1, a7);
    bd_node n9 = bd_build(graph, BURN_OP_LOG, (bd_node[]){n8}, 1, NULL);
    bd_node n10 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n4, n9}, 2, NULL);
    out[0] = n10;
    return 1;
}

static void gradient_layer_norm(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {bd_rule_last(graph, call->inputs[0], call->attrs[0]), {.value = 1}, {.value = 0}};
        bd_node n2 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){call->inputs[0]}, 1, a1);
        bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n2}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n3}, 2, NULL);
        const bd_attr_value a5[] = {bd_rule_last(graph, call->inputs[0], call->attrs[0]), {.value = 1}, {.value = 0}};
        bd_node n6 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n4}, 1, a5);
        bd_node n7 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n8 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n6, n7}, 2, NULL);
        bd_node n9 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n8}, 1, NULL);
        bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n9}, 2, NULL);
        bd_node n12;
        if (call->inputs[1] != BD_NODE_NONE) {
            bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, call->inputs[1]}, 2, NULL);
            n12 = n11;
        } else {
            n12 = call->gradient;
        }
        const bd_attr_value a13[] = {bd_rule_last(graph, call->inputs[0], call->attrs[0]), {.value = 1}, {.value = 0}};
        bd_node n14 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n12}, 1, a13);
        bd_node n15 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n12, n14}, 2, NULL);
        bd_node n16 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n12, n10}, 2, NULL);
        const bd_attr_value a17[] = {bd_rule_last(graph, call->inputs[0], call->attrs[0]), {.value = 1}, {.value = 0}};
        bd_node n18 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n16}, 1, a17);
        bd_node n19 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n10, n18}, 2, NULL);
        bd_node n20 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n15, n19}, 2, NULL);
        bd_node n21 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n20}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n21, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        const bd_attr_value a1[] = {bd_rule_last(graph, call->inputs[0], call->attrs[0]), {.value = 1}, {.value = 0}};
        bd_node n2 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){call->inputs[0]}, 1, a1);
        bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n2}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n3}, 2, NULL);
        const bd_attr_value a5[] = {bd_rule_last(graph, call->inputs[0], call->attrs[0]), {.value = 1}, {.value = 0}};
        bd_node n6 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n4}, 1, a5);
        bd_node n7 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n8 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n6, n7}, 2, NULL);
        bd_node n9 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n8}, 1, NULL);
        bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n9}, 2, NULL);
        bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n10}, 2, NULL);
        bd_node n12 = bd_rule_sum_to(graph, n11, call->inputs[1]);
        out[1] = bd_rule_gradient(graph, n12, call->inputs[1]);
    }
    out[2] = BD_NODE_NONE;
    if (call->wanted[2]) {
        bd_node n1 = bd_rule_sum_to(graph, call->gradient, call->inputs[2]);
        out[2] = bd_rule_gradient(graph, n1, call->inputs[2]);
    }
    out[3] = BD_NODE_NONE;
}

static uint32_t decompose_layer_norm(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {bd_rule_last(graph, call->inputs[0], call->attrs[0]), {.value = 1}, {.value = 0}};
    bd_node n2 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){call->inputs[0]}, 1, a1);
    bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n2}, 2, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n3}, 2, NULL);
    const bd_attr_value a5[] = {bd_rule_last(graph, call->inputs[0], call->attrs[0]), {.value = 1}, {.value = 0}};
    bd_node n6 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n4}, 1, a5);
    bd_node n7 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n8 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n6, n7}, 2, NULL);
    bd_node n9 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n8}, 1, NULL);
    bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n9}, 2, NULL);
    bd_node n12;
    if (call->inputs[1] != BD_NODE_NONE) {
        bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n10, call->inputs[1]}, 2, NULL);
        n12 = n11;
    } else {
        n12 = n10;
    }
    bd_node n14;
    if (call->inputs[2] != BD_NODE_NONE) {
        bd_node n13 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n12, call->inputs[2]}, 2, NULL);
        n14 = n13;
    } else {
        n14 = n12;
    }
    out[0] = n14;
    return 1;
}

static void gradient_rms_norm(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
        const bd_attr_value a2[] = {bd_rule_last(graph, call->inputs[0], call->attrs[0]), {.value = 1}, {.value = 0}};
        bd_node n3 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n1}, 1, a2);
        bd_node n4 = bd_build_cast(graph, call->inputs[2], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n5 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n3, n4}, 2, NULL);
        bd_node n6 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n5}, 1, NULL);
        bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n6}, 2, NULL);
        bd_node n9;
        if (call->inputs[1] != BD_NODE_NONE) {
            bd_node n8 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, call->inputs[1]}, 2, NULL);
            n9 = n8;
        } else {
            n9 = call->gradient;
        }
        bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n7}, 2, NULL);
        const bd_attr_value a11[] = {bd_rule_last(graph, call->inputs[0], call->attrs[0]), {.value = 1}, {.value = 0}};
        bd_node n12 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n10}, 1, a11);
        bd_node n13 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n7, n12}, 2, NULL);
        bd_node n14 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n9, n13}, 2, NULL);
        bd_node n15 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n6, n14}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n15, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
        const bd_attr_value a2[] = {bd_rule_last(graph, call->inputs[0], call->attrs[0]), {.value = 1}, {.value = 0}};
        bd_node n3 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n1}, 1, a2);
        bd_node n4 = bd_build_cast(graph, call->inputs[2], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n5 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n3, n4}, 2, NULL);
        bd_node n6 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n5}, 1, NULL);
        bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n6}, 2, NULL);
        bd_node n8 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n7}, 2, NULL);
        bd_node n9 = bd_rule_sum_to(graph, n8, call->inputs[1]);
        out[1] = bd_rule_gradient(graph, n9, call->inputs[1]);
    }
    out[2] = BD_NODE_NONE;
}

static uint32_t decompose_rms_norm(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
    const bd_attr_value a2[] = {bd_rule_last(graph, call->inputs[0], call->attrs[0]), {.value = 1}, {.value = 0}};
    bd_node n3 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n1}, 1, a2);
    bd_node n4 = bd_build_cast(graph, call->inputs[2], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n5 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n3, n4}, 2, NULL);
    bd_node n6 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n5}, 1, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n6}, 2, NULL);
    bd_node n9;
    if (call->inputs[1] != BD_NODE_NONE) {
        bd_node n8 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n7, call->inputs[1]}, 2, NULL);
        n9 = n8;
    } else {
        n9 = n7;
    }
    out[0] = n9;
    return 1;
}

static void gradient_embedding(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n6;
        if (call->attrs[0].value >= 0) {
            bd_node n1 = bd_rule_whole(graph, call->attrs[0].value);
            bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[1], n1}, 2, NULL);
            bd_node n3 = bd_rule_unsqueeze(graph, n2, bd_rule_rank(graph, call->inputs[1]));
            bd_node n4 = bd_rule_whole(graph, 0);
            bd_node n5 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n3, n4, call->gradient}, 3, NULL);
            n6 = n5;
        } else {
            n6 = call->gradient;
        }
        bd_node n7 = bd_rule_zeros(graph, call->inputs[0]);
        const bd_attr_value a8[] = {{.value = 0}, {.value = 1}};
        bd_node n9 = bd_build(graph, BURN_OP_PUT_ND, (bd_node[]){n7, n6, call->inputs[1]}, 3, a8);
        out[0] = bd_rule_gradient(graph, n9, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
}

static uint32_t decompose_embedding(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {{.value = 0}, {.value = 0}};
    bd_node n2 = bd_build(graph, BURN_OP_TAKE, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, a1);
    out[0] = n2;
    return 1;
}

static void gradient_gather(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[0]);
        const bd_attr_value a2[] = {{.value = call->attrs[0].value}};
        bd_node n3 = bd_build(graph, BURN_OP_SCATTER_ADD, (bd_node[]){n1, call->inputs[1], call->gradient}, 3, a2);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
}

static void gradient_scatter_add(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        out[0] = bd_rule_gradient(graph, call->gradient, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    out[2] = BD_NODE_NONE;
    if (call->wanted[2]) {
        const bd_attr_value a1[] = {{.value = call->attrs[0].value}};
        bd_node n2 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){call->gradient, call->inputs[1]}, 2, a1);
        out[2] = bd_rule_gradient(graph, n2, call->inputs[2]);
    }
}

static void gradient_scatter(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[2]);
        const bd_attr_value a2[] = {{.value = call->attrs[0].value}};
        bd_node n3 = bd_build(graph, BURN_OP_SCATTER, (bd_node[]){call->gradient, call->inputs[1], n1}, 3, a2);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    out[2] = BD_NODE_NONE;
    if (call->wanted[2]) {
        const bd_attr_value a1[] = {{.value = call->attrs[0].value}};
        bd_node n2 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){call->gradient, call->inputs[1]}, 2, a1);
        out[2] = bd_rule_gradient(graph, n2, call->inputs[2]);
    }
}

static uint32_t decompose_one_hot(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {{.value = (bd_int)call->attrs[0].value}, {.value = 0}};
    bd_node n2 = bd_build(graph, BURN_OP_CHECK_INDEX, (bd_node[]){call->inputs[0]}, 1, a1);
    bd_node n3 = bd_rule_unsqueeze(graph, n2, bd_rule_rank(graph, n2));
    const int64_t l4_values[] = {(bd_int)call->attrs[0].value};
    const bd_attr_value l4 = {.values = l4_values, .count = 1};
    const bd_attr_value a5[] = {l4, {.value = 0}};
    bd_node n6 = bd_build(graph, BURN_OP_IOTA, NULL, 0, a5);
    bd_node n7 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n3, n6}, 2, NULL);
    bd_node n8 = bd_build_cast(graph, n7, (burn_dtype)(5));
    out[0] = n8;
    return 1;
}

static uint32_t decompose_max_dim(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const int64_t l1_values[] = {call->attrs[0].value};
    const bd_attr_value l1 = {.values = l1_values, .count = 1};
    const bd_attr_value a2[] = {l1, {.value = 1}};
    bd_node n3 = bd_build(graph, BURN_OP_ARGMAX, (bd_node[]){call->inputs[0]}, 1, a2);
    const bd_attr_value a4[] = {{.value = call->attrs[0].value}};
    bd_node n5 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){call->inputs[0], n3}, 2, a4);
    bd_node n8 = BD_NODE_NONE; bd_node n9 = BD_NODE_NONE;
    if (call->attrs[1].value) {
        n8 = n5;
        n9 = n3;
    } else {
        bd_node n6 = bd_rule_squeeze(graph, n5, call->attrs[0].value);
        bd_node n7 = bd_rule_squeeze(graph, n3, call->attrs[0].value);
        n8 = n6;
        n9 = n7;
    }
    out[0] = n8;
    out[1] = n9;
    return 2;
}

static uint32_t decompose_min_dim(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const int64_t l1_values[] = {call->attrs[0].value};
    const bd_attr_value l1 = {.values = l1_values, .count = 1};
    const bd_attr_value a2[] = {l1, {.value = 1}};
    bd_node n3 = bd_build(graph, BURN_OP_ARGMIN, (bd_node[]){call->inputs[0]}, 1, a2);
    const bd_attr_value a4[] = {{.value = call->attrs[0].value}};
    bd_node n5 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){call->inputs[0], n3}, 2, a4);
    bd_node n8 = BD_NODE_NONE; bd_node n9 = BD_NODE_NONE;
    if (call->attrs[1].value) {
        n8 = n5;
        n9 = n3;
    } else {
        bd_node n6 = bd_rule_squeeze(graph, n5, call->attrs[0].value);
        bd_node n7 = bd_rule_squeeze(graph, n3, call->attrs[0].value);
        n8 = n6;
        n9 = n7;
    }
    out[0] = n8;
    out[1] = n9;
    return 2;
}

static void gradient_dropout(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {{.value = (bd_int)call->attrs[0].value}, {.value = (bd_int)call->attrs[1].value}};
        bd_node n2 = bd_build(graph, BURN_OP_DROPOUT, (bd_node[]){call->gradient, call->inputs[1]}, 2, a1);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
}

static uint32_t decompose_dropout(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0])), {.value = bd_rule_wide(graph, bd_graph_at(graph, call->inputs[0])->dtype)}, {.value = (bd_int)call->attrs[0].value}, {.value = (bd_int)call->attrs[1].value}, {.value = 0}};
    bd_node n2 = bd_build(graph, BURN_OP_RANDOM_UNIFORM, NULL, 0, a1);
    bd_node n3 = bd_build_cast(graph, call->inputs[1], (burn_dtype)(bd_rule_wide(graph, bd_graph_at(graph, call->inputs[0])->dtype)));
    bd_node n4 = bd_build(graph, BURN_OP_GE, (bd_node[]){n2, n3}, 2, NULL);
    bd_node n5 = bd_rule_whole(graph, 1);
    bd_node n6 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n5, call->inputs[1]}, 2, NULL);
    bd_node n7 = bd_rule_whole(graph, 1);
    bd_node n8 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n7, n6}, 2, NULL);
    bd_node n9 = bd_build_cast(graph, n8, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n9}, 2, NULL);
    bd_node n11 = bd_rule_whole(graph, 0);
    bd_node n12 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n4, n10, n11}, 3, NULL);
    out[0] = n12;
    return 1;
}

static uint32_t decompose_arange(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const int64_t l1_values[] = {(bd_int)call->attrs[0].value};
    const bd_attr_value l1 = {.values = l1_values, .count = 1};
    const bd_attr_value a2[] = {l1, {.value = 0}};
    bd_node n3 = bd_build(graph, BURN_OP_IOTA, NULL, 0, a2);
    bd_node n13;
    if (bd_rule_is_float(graph, call->attrs[1].value)) {
        bd_node n4 = bd_build_cast(graph, call->inputs[0], (burn_dtype)(1));
        bd_node n5 = bd_build_cast(graph, n3, (burn_dtype)(1));
        bd_node n6 = bd_build_cast(graph, call->inputs[1], (burn_dtype)(1));
        bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n5, n6}, 2, NULL);
        bd_node n8 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n4, n7}, 2, NULL);
        n13 = n8;
    } else {
        bd_node n9 = bd_build_cast(graph, call->inputs[0], (burn_dtype)(5));
        bd_node n10 = bd_build_cast(graph, call->inputs[1], (burn_dtype)(5));
        bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n10}, 2, NULL);
        bd_node n12 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n9, n11}, 2, NULL);
        n13 = n12;
    }
    bd_node n14 = bd_build_cast(graph, n13, (burn_dtype)(call->attrs[1].value));
    out[0] = n14;
    return 1;
}

static uint32_t decompose_linspace(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const int64_t l1_values[] = {(bd_int)call->attrs[0].value};
    const bd_attr_value l1 = {.values = l1_values, .count = 1};
    const bd_attr_value a2[] = {l1, {.value = 0}};
    bd_node n3 = bd_build(graph, BURN_OP_IOTA, NULL, 0, a2);
    bd_node n4 = bd_build_cast(graph, n3, (burn_dtype)(1));
    bd_node n5 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[1], call->inputs[0]}, 2, NULL);
    bd_node n6 = bd_build_integer(graph, bd_int_sub(bd_graph_ints(graph), (bd_int)call->attrs[0].value, bd_int_const(bd_graph_ints(graph), 1)));
    bd_node n7 = bd_rule_whole(graph, 1);
    bd_node n8 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){n6, n7}, 2, NULL);
    bd_node n9 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n5, n8}, 2, NULL);
    bd_node n10 = bd_build_integer(graph, bd_int_div(bd_graph_ints(graph), bd_int_add(bd_graph_ints(graph), (bd_int)call->attrs[0].value, bd_int_const(bd_graph_ints(graph), 1)), bd_int_const(bd_graph_ints(graph), 2)));
    bd_node n11 = bd_build(graph, BURN_OP_LT, (bd_node[]){n4, n10}, 2, NULL);
    bd_node n12 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n4}, 2, NULL);
    bd_node n13 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n12}, 2, NULL);
    bd_node n14 = bd_build_integer(graph, bd_int_sub(bd_graph_ints(graph), (bd_int)call->attrs[0].value, bd_int_const(bd_graph_ints(graph), 1)));
    bd_node n15 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n14, n4}, 2, NULL);
    bd_node n16 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n15}, 2, NULL);
    bd_node n17 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[1], n16}, 2, NULL);
    bd_node n18 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n11, n13, n17}, 3, NULL);
    bd_node n19 = bd_build_cast(graph, n18, (burn_dtype)(call->attrs[1].value));
    out[0] = n19;
    return 1;
}

static uint32_t decompose_eye(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const int64_t l1_values[] = {(bd_int)call->attrs[0].value};
    const bd_attr_value l1 = {.values = l1_values, .count = 1};
    const int64_t l2_values[] = {(bd_int)call->attrs[1].value};
    const bd_attr_value l2 = {.values = l2_values, .count = 1};
    const bd_attr_value a3[] = {bd_rule_join(graph, l1, l2), {.value = 0}};
    bd_node n4 = bd_build(graph, BURN_OP_IOTA, NULL, 0, a3);
    const int64_t l5_values[] = {(bd_int)call->attrs[0].value};
    const bd_attr_value l5 = {.values = l5_values, .count = 1};
    const int64_t l6_values[] = {(bd_int)call->attrs[1].value};
    const bd_attr_value l6 = {.values = l6_values, .count = 1};
    const bd_attr_value a7[] = {bd_rule_join(graph, l5, l6), {.value = 1}};
    bd_node n8 = bd_build(graph, BURN_OP_IOTA, NULL, 0, a7);
    bd_node n9 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n4, n8}, 2, NULL);
    bd_node n10 = bd_build_cast(graph, n9, (burn_dtype)(call->attrs[2].value));
    out[0] = n10;
    return 1;
}

static uint32_t decompose_uniform(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {call->attrs[0], {.value = bd_rule_wide(graph, call->attrs[1].value)}, {.value = (bd_int)call->attrs[2].value}, {.value = (bd_int)call->attrs[3].value}, {.value = 0}};
    bd_node n2 = bd_build(graph, BURN_OP_RANDOM_UNIFORM, NULL, 0, a1);
    bd_node n3 = bd_build_cast(graph, call->inputs[0], (burn_dtype)(bd_rule_wide(graph, call->attrs[1].value)));
    bd_node n4 = bd_build_cast(graph, call->inputs[1], (burn_dtype)(bd_rule_wide(graph, call->attrs[1].value)));
    bd_node n5 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n4, n3}, 2, NULL);
    bd_node n6 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n2, n5}, 2, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n3, n6}, 2, NULL);
    bd_node n8 = bd_build_cast(graph, n7, (burn_dtype)(call->attrs[1].value));
    out[0] = n8;
    return 1;
}

static uint32_t decompose_normal(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {call->attrs[0], {.value = bd_rule_wide(graph, call->attrs[1].value)}, {.value = (bd_int)call->attrs[2].value}, {.value = (bd_int)call->attrs[3].value}, {.value = 0}};
    bd_node n2 = bd_build(graph, BURN_OP_RANDOM_UNIFORM, NULL, 0, a1);
    const bd_attr_value a3[] = {call->attrs[0], {.value = bd_rule_wide(graph, call->attrs[1].value)}, {.value = (bd_int)call->attrs[2].value}, {.value = (bd_int)call->attrs[3].value}, {.value = 1}};
    bd_node n4 = bd_build(graph, BURN_OP_RANDOM_UNIFORM, NULL, 0, a3);
    bd_node n5 = bd_rule_whole(graph, 1);
    bd_node n6 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n5, n2}, 2, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_LOG, (bd_node[]){n6}, 1, NULL);
    bd_node n8 = bd_rule_whole(graph, -2);
    bd_node n9 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n8, n7}, 2, NULL);
    bd_node n10 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n9}, 1, NULL);
    bd_node n11 = bd_rule_number(graph, 6.283185307179586);
    bd_node n12 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n11, n4}, 2, NULL);
    bd_node n13 = bd_build(graph, BURN_OP_COS, (bd_node[]){n12}, 1, NULL);
    bd_node n14 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n10, n13}, 2, NULL);
    bd_node n15 = bd_build_cast(graph, call->inputs[1], (burn_dtype)(bd_rule_wide(graph, call->attrs[1].value)));
    bd_node n16 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n14, n15}, 2, NULL);
    bd_node n17 = bd_build_cast(graph, call->inputs[0], (burn_dtype)(bd_rule_wide(graph, call->attrs[1].value)));
    bd_node n18 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n16, n17}, 2, NULL);
    bd_node n19 = bd_build_cast(graph, n18, (burn_dtype)(call->attrs[1].value));
    out[0] = n19;
    return 1;
}

static void gradient_bernoulli(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[0]);
        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);
    }
}

static uint32_t decompose_bernoulli(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0])), {.value = bd_rule_wide(graph, bd_graph_at(graph, call->inputs[0])->dtype)}, {.value = (bd_int)call->attrs[0].value}, {.value = (bd_int)call->attrs[1].value}, {.value = 0}};
    bd_node n2 = bd_build(graph, BURN_OP_RANDOM_UNIFORM, NULL, 0, a1);
    bd_node n3 = bd_build_cast(graph, call->inputs[0], (burn_dtype)(bd_rule_wide(graph, bd_graph_at(graph, call->inputs[0])->dtype)));
    bd_node n4 = bd_build(graph, BURN_OP_LT, (bd_node[]){n2, n3}, 2, NULL);
    bd_node n5 = bd_build_cast(graph, n4, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    out[0] = n5;
    return 1;
}

static uint32_t decompose_randint(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {call->attrs[0], {.value = (bd_int)call->attrs[2].value}, {.value = (bd_int)call->attrs[3].value}, {.value = 0}};
    bd_node n2 = bd_build(graph, BURN_OP_RANDOM_BITS, NULL, 0, a1);
    bd_node n3 = bd_build_cast(graph, call->inputs[0], (burn_dtype)(5));
    bd_node n4 = bd_build_cast(graph, call->inputs[1], (burn_dtype)(5));
    bd_node n5 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n4, n3}, 2, NULL);
    bd_node n6 = bd_build(graph, BURN_OP_REMAINDER, (bd_node[]){n2, n5}, 2, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n6, n3}, 2, NULL);
    bd_node n8 = bd_build_cast(graph, n7, (burn_dtype)(call->attrs[1].value));
    out[0] = n8;
    return 1;
}

static void gradient_cross_entropy(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, call->attrs[1].value);
        bd_node n2 = bd_build(graph, BURN_OP_NE, (bd_node[]){call->inputs[1], n1}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 0);
        bd_node n4 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, call->inputs[1], n3}, 3, NULL);
        const bd_attr_value a5[] = {{.value = bd_rule_size(graph, call->inputs[0], (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0))}, {.value = 0}};
        bd_node n6 = bd_build(graph, BURN_OP_CHECK_INDEX, (bd_node[]){n4}, 1, a5);
        const bd_attr_value a7[] = {{.value = (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0)}};
        bd_node n8 = bd_build(graph, BURN_OP_LOG_SOFTMAX, (bd_node[]){call->inputs[0]}, 1, a7);
        bd_node n9 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n8}, 1, NULL);
        bd_node n15;
        if (call->inputs[2] != BD_NODE_NONE) {
            const bd_attr_value a10[] = {{.value = 0}, {.value = 0}};
            bd_node n11 = bd_build(graph, BURN_OP_TAKE, (bd_node[]){call->inputs[2], n6}, 2, a10);
            bd_node n12 = bd_rule_whole(graph, 0);
            bd_node n13 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n11, n12}, 3, NULL);
            n15 = n13;
        } else {
            bd_node n14 = bd_build_cast(graph, n2, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
            n15 = n14;
        }
        bd_node n19;
        if (call->attrs[0].value == 1) {
            const bd_attr_value a16[] = {{0}, {.value = 0}, {.value = 0}};
            bd_node n17 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n15}, 1, a16);
            bd_node n18 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n17}, 2, NULL);
            n19 = n18;
        } else {
            n19 = call->gradient;
        }
        const bd_attr_value a20[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0])), {.value = (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0)}};
        bd_node n21 = bd_build(graph, BURN_OP_IOTA, NULL, 0, a20);
        bd_node n22 = bd_rule_unsqueeze(graph, n6, (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0));
        bd_node n23 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n21, n22}, 2, NULL);
        bd_node n25;
        if (call->inputs[3] != BD_NODE_NONE) {
            bd_node n24 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
            n25 = n24;
        } else {
            n25 = BD_NODE_NONE;
        }
        bd_node n28;
        if (call->inputs[3] != BD_NODE_NONE) {
            bd_node n26 = bd_build_integer(graph, bd_rule_size(graph, call->inputs[0], (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0)));
            bd_node n27 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n25, n26}, 2, NULL);
            n28 = n27;
        } else {
            n28 = BD_NODE_NONE;
        }
        bd_node n34;
        if (call->inputs[3] != BD_NODE_NONE) {
            bd_node n29 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n19, n15}, 2, NULL);
            bd_node n30 = bd_rule_whole(graph, 1);
            bd_node n31 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n30, n25}, 2, NULL);
            bd_node n32 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n29, n31}, 2, NULL);
            n34 = n32;
        } else {
            bd_node n33 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n19, n15}, 2, NULL);
            n34 = n33;
        }
        bd_node n35 = bd_rule_unsqueeze(graph, n34, (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0));
        bd_node n36 = bd_build_cast(graph, n23, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n37 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n9, n36}, 2, NULL);
        bd_node n38 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n35, n37}, 2, NULL);
        bd_node n43;
        if (call->inputs[3] != BD_NODE_NONE) {
            bd_node n39 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n19, n28}, 2, NULL);
            bd_node n40 = bd_rule_whole(graph, 0);
            bd_node n41 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n39, n40}, 3, NULL);
            bd_node n42 = bd_rule_unsqueeze(graph, n41, (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0));
            n43 = n42;
        } else {
            n43 = BD_NODE_NONE;
        }
        bd_node n56;
        if (call->inputs[3] != BD_NODE_NONE) {
            bd_node n53;
            if (call->inputs[2] != BD_NODE_NONE) {
                const bd_attr_value a44[] = {{0}, {.value = 0}, {.value = 0}};
                bd_node n45 = bd_build(graph, BURN_OP_SUM, (bd_node[]){call->inputs[2]}, 1, a44);
                bd_node n46 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n45}, 2, NULL);
                bd_node n47 = bd_rule_along(graph, call->inputs[2], n9, (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0));
                bd_node n48 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n46, n47}, 2, NULL);
                n53 = n48;
            } else {
                bd_node n49 = bd_build_integer(graph, bd_rule_size(graph, call->inputs[0], (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0)));
                bd_node n50 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n49}, 2, NULL);
                bd_node n51 = bd_rule_whole(graph, 1);
                bd_node n52 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n50, n51}, 2, NULL);
                n53 = n52;
            }
            bd_node n54 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n43, n53}, 2, NULL);
            bd_node n55 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n38, n54}, 2, NULL);
            n56 = n55;
        } else {
            n56 = n38;
        }
        out[0] = bd_rule_gradient(graph, n56, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    out[2] = BD_NODE_NONE;
    out[3] = BD_NODE_NONE;
}

static uint32_t decompose_cross_entropy(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_whole(graph, call->attrs[1].value);
    bd_node n2 = bd_build(graph, BURN_OP_NE, (bd_node[]){call->inputs[1], n1}, 2, NULL);
    bd_node n3 = bd_rule_whole(graph, 0);
    bd_node n4 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, call->inputs[1], n3}, 3, NULL);
    const bd_attr_value a5[] = {{.value = (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0)}};
    bd_node n6 = bd_build(graph, BURN_OP_LOG_SOFTMAX, (bd_node[]){call->inputs[0]}, 1, a5);
    bd_node n12;
    if (call->inputs[2] != BD_NODE_NONE) {
        const bd_attr_value a7[] = {{.value = 0}, {.value = 0}};
        bd_node n8 = bd_build(graph, BURN_OP_TAKE, (bd_node[]){call->inputs[2], n4}, 2, a7);
        bd_node n9 = bd_rule_whole(graph, 0);
        bd_node n10 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n8, n9}, 3, NULL);
        n12 = n10;
    } else {
        bd_node n11 = bd_build_cast(graph, n2, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        n12 = n11;
    }
    bd_node n13 = bd_build(graph, BURN_OP_NEG, (bd_node[]){n12}, 1, NULL);
    bd_node n14 = bd_rule_unsqueeze(graph, n4, (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0));
    const bd_attr_value a15[] = {{.value = (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0)}};
    bd_node n16 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){n6, n14}, 2, a15);
    bd_node n17 = bd_rule_squeeze(graph, n16, (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0));
    bd_node n18 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n13, n17}, 2, NULL);
    bd_node n20;
    if (call->inputs[3] != BD_NODE_NONE) {
        bd_node n19 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        n20 = n19;
    } else {
        n20 = BD_NODE_NONE;
    }
    bd_node n36;
    if (call->inputs[3] != BD_NODE_NONE) {
        bd_node n21 = bd_rule_whole(graph, 1);
        bd_node n22 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n21, n20}, 2, NULL);
        bd_node n23 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n22, n18}, 2, NULL);
        bd_node n24 = bd_build_integer(graph, bd_rule_size(graph, call->inputs[0], (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0)));
        bd_node n25 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n20, n24}, 2, NULL);
        bd_node n28;
        if (call->inputs[2] != BD_NODE_NONE) {
            bd_node n26 = bd_rule_along(graph, call->inputs[2], n6, (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0));
            bd_node n27 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n6, n26}, 2, NULL);
            n28 = n27;
        } else {
            n28 = n6;
        }
        const int64_t l29_values[] = {(bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0)};
        const bd_attr_value l29 = {.values = l29_values, .count = 1};
        const bd_attr_value a30[] = {l29, {.value = 0}, {.value = 0}};
        bd_node n31 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n28}, 1, a30);
        bd_node n32 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n25, n31}, 2, NULL);
        bd_node n33 = bd_rule_whole(graph, 0);
        bd_node n34 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n32, n33}, 3, NULL);
        bd_node n35 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n23, n34}, 2, NULL);
        n36 = n35;
    } else {
        n36 = n18;
    }
    bd_node n45;
    if (call->attrs[0].value == 0) {
        n45 = n36;
    } else {
        bd_node n44;
        if (call->attrs[0].value == 1) {
            const bd_attr_value a37[] = {{0}, {.value = 0}, {.value = 0}};
            bd_node n38 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n36}, 1, a37);
            const bd_attr_value a39[] = {{0}, {.value = 0}, {.value = 0}};
            bd_node n40 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n12}, 1, a39);
            bd_node n41 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n38, n40}, 2, NULL);
            n44 = n41;
        } else {
            const bd_attr_value a42[] = {{0}, {.value = 0}, {.value = 0}};
            bd_node n43 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n36}, 1, a42);
            n44 = n43;
        }
        n45 = n44;
    }
    out[0] = n45;
    return 1;
}

static void gradient_nll_loss(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, call->attrs[1].value);
        bd_node n2 = bd_build(graph, BURN_OP_NE, (bd_node[]){call->inputs[1], n1}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 0);
        bd_node n4 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, call->inputs[1], n3}, 3, NULL);
        const bd_attr_value a5[] = {{.value = bd_rule_size(graph, call->inputs[0], (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0))}, {.value = 0}};
        bd_node n6 = bd_build(graph, BURN_OP_CHECK_INDEX, (bd_node[]){n4}, 1, a5);
        bd_node n12;
        if (call->inputs[2] != BD_NODE_NONE) {
            const bd_attr_value a7[] = {{.value = 0}, {.value = 0}};
            bd_node n8 = bd_build(graph, BURN_OP_TAKE, (bd_node[]){call->inputs[2], n6}, 2, a7);
            bd_node n9 = bd_rule_whole(graph, 0);
            bd_node n10 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n8, n9}, 3, NULL);
            n12 = n10;
        } else {
            bd_node n11 = bd_build_cast(graph, n2, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
            n12 = n11;
        }
        bd_node n16;
        if (call->attrs[0].value == 1) {
            const bd_attr_value a13[] = {{0}, {.value = 0}, {.value = 0}};
            bd_node n14 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n12}, 1, a13);
            bd_node n15 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->gradient, n14}, 2, NULL);
            n16 = n15;
        } else {
            n16 = call->gradient;
        }
        const bd_attr_value a17[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0])), {.value = (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0)}};
        bd_node n18 = bd_build(graph, BURN_OP_IOTA, NULL, 0, a17);
        bd_node n19 = bd_rule_unsqueeze(graph, n6, (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0));
        bd_node n20 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n18, n19}, 2, NULL);
        bd_node n21 = bd_build(graph, BURN_OP_NEG, (bd_node[]){n16}, 1, NULL);
        bd_node n22 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n21, n12}, 2, NULL);
        bd_node n23 = bd_rule_unsqueeze(graph, n22, (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0));
        bd_node n24 = bd_rule_whole(graph, 0);
        bd_node n25 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n20, n23, n24}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n25, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    out[2] = BD_NODE_NONE;
}

static uint32_t decompose_nll_loss(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_whole(graph, call->attrs[1].value);
    bd_node n2 = bd_build(graph, BURN_OP_NE, (bd_node[]){call->inputs[1], n1}, 2, NULL);
    bd_node n3 = bd_rule_whole(graph, 0);
    bd_node n4 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, call->inputs[1], n3}, 3, NULL);
    bd_node n10;
    if (call->inputs[2] != BD_NODE_NONE) {
        const bd_attr_value a5[] = {{.value = 0}, {.value = 0}};
        bd_node n6 = bd_build(graph, BURN_OP_TAKE, (bd_node[]){call->inputs[2], n4}, 2, a5);
        bd_node n7 = bd_rule_whole(graph, 0);
        bd_node n8 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n6, n7}, 3, NULL);
        n10 = n8;
    } else {
        bd_node n9 = bd_build_cast(graph, n2, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        n10 = n9;
    }
    bd_node n11 = bd_build(graph, BURN_OP_NEG, (bd_node[]){n10}, 1, NULL);
    bd_node n12 = bd_rule_unsqueeze(graph, n4, (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0));
    const bd_attr_value a13[] = {{.value = (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0)}};
    bd_node n14 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){call->inputs[0], n12}, 2, a13);
    bd_node n15 = bd_rule_squeeze(graph, n14, (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0));
    bd_node n16 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n11, n15}, 2, NULL);
    bd_node n25;
    if (call->attrs[0].value == 0) {
        n25 = n16;
    } else {
        bd_node n24;
        if (call->attrs[0].value == 1) {
            const bd_attr_value a17[] = {{0}, {.value = 0}, {.value = 0}};
            bd_node n18 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n16}, 1, a17);
            const bd_attr_value a19[] = {{0}, {.value = 0}, {.value = 0}};
            bd_node n20 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n10}, 1, a19);
            bd_node n21 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n18, n20}, 2, NULL);
            n24 = n21;
        } else {
            const bd_attr_value a22[] = {{0}, {.value = 0}, {.value = 0}};
            bd_node n23 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n16}, 1, a22);
            n24 = n23;
        }
        n25 = n24;
    }
    out[0] = n25;
    return 1;
}

static uint32_t decompose_cross_entropy_soft(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n2;
    if (call->inputs[3] != BD_NODE_NONE) {
        bd_node n1 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        n2 = n1;
    } else {
        n2 = BD_NODE_NONE;
    }
    bd_node n9;
    if (call->inputs[3] != BD_NODE_NONE) {
        bd_node n3 = bd_rule_whole(graph, 1);
        bd_node n4 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n3, n2}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[1], n4}, 2, NULL);
        bd_node n6 = bd_build_integer(graph, bd_rule_size(graph, call->inputs[0], (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0)));
        bd_node n7 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n2, n6}, 2, NULL);
        bd_node n8 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n5, n7}, 2, NULL);
        n9 = n8;
    } else {
        n9 = call->inputs[1];
    }
    const bd_attr_value a10[] = {{.value = (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0)}};
    bd_node n11 = bd_build(graph, BURN_OP_LOG_SOFTMAX, (bd_node[]){call->inputs[0]}, 1, a10);
    bd_node n14;
    if (call->inputs[2] != BD_NODE_NONE) {
        bd_node n12 = bd_rule_along(graph, call->inputs[2], n11, (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0));
        bd_node n13 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n11, n12}, 2, NULL);
        n14 = n13;
    } else {
        n14 = n11;
    }
    bd_node n15 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n14}, 2, NULL);
    const int64_t l16_values[] = {(bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0)};
    const bd_attr_value l16 = {.values = l16_values, .count = 1};
    const bd_attr_value a17[] = {l16, {.value = 0}, {.value = 0}};
    bd_node n18 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n15}, 1, a17);
    bd_node n19 = bd_build(graph, BURN_OP_NEG, (bd_node[]){n18}, 1, NULL);
    bd_node n27;
    if (call->attrs[0].value == 0) {
        n27 = n19;
    } else {
        bd_node n26;
        if (call->attrs[0].value == 1) {
            const bd_attr_value a20[] = {{0}, {.value = 0}, {.value = 0}};
            bd_node n21 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n19}, 1, a20);
            bd_node n22 = bd_build_integer(graph, bd_int_div(bd_graph_ints(graph), bd_rule_product(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0])), bd_rule_size(graph, call->inputs[0], (bd_rule_rank(graph, call->inputs[0]) > 1 ? 1 : 0))));
            bd_node n23 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n21, n22}, 2, NULL);
            n26 = n23;
        } else {
            const bd_attr_value a24[] = {{0}, {.value = 0}, {.value = 0}};
            bd_node n25 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n19}, 1, a24);
            n26 = n25;
        }
        n27 = n26;
    }
    out[0] = n27;
    return 1;
}

static uint32_t decompose_mse_loss(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, n1}, 2, NULL);
    bd_node n3 = bd_rule_reduced(graph, n2, call->attrs[0].value);
    out[0] = n3;
    return 1;
}

static uint32_t decompose_l1_loss(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_ABS, (bd_node[]){n1}, 1, NULL);
    bd_node n3 = bd_rule_reduced(graph, n2, call->attrs[0].value);
    out[0] = n3;
    return 1;
}

static uint32_t decompose_huber_loss(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_ABS, (bd_node[]){n1}, 1, NULL);
    bd_node n3 = bd_build_cast(graph, call->inputs[2], (burn_dtype)(bd_graph_at(graph, n1)->dtype));
    bd_node n4 = bd_build(graph, BURN_OP_LT, (bd_node[]){n2, n3}, 2, NULL);
    bd_node n5 = bd_rule_number(graph, 0.5);
    bd_node n6 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n5, n1}, 2, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n6, n1}, 2, NULL);
    bd_node n8 = bd_rule_number(graph, 0.5);
    bd_node n9 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n8, n3}, 2, NULL);
    bd_node n10 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n2, n9}, 2, NULL);
    bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n10}, 2, NULL);
    bd_node n12 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n4, n7, n11}, 3, NULL);
    bd_node n13 = bd_rule_reduced(graph, n12, call->attrs[0].value);
    out[0] = n13;
    return 1;
}

static uint32_t decompose_smooth_l1_loss(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_ABS, (bd_node[]){n1}, 1, NULL);
    bd_node n3 = bd_build_cast(graph, call->inputs[2], (burn_dtype)(bd_graph_at(graph, n1)->dtype));
    bd_node n4 = bd_build(graph, BURN_OP_LT, (bd_node[]){n2, n3}, 2, NULL);
    bd_node n5 = bd_rule_number(graph, 0.5);
    bd_node n6 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n5, n1}, 2, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n6, n1}, 2, NULL);
    bd_node n8 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n7, n3}, 2, NULL);
    bd_node n9 = bd_rule_number(graph, 0.5);
    bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n3}, 2, NULL);
    bd_node n11 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n2, n10}, 2, NULL);
    bd_node n12 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n4, n8, n11}, 3, NULL);
    bd_node n13 = bd_rule_reduced(graph, n12, call->attrs[0].value);
    out[0] = n13;
    return 1;
}

static uint32_t decompose_bce_with_logits(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_LOGSIGMOID, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n16;
    if (call->inputs[3] != BD_NODE_NONE) {
        bd_node n2 = bd_rule_whole(graph, 1);
        bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n2, call->inputs[1]}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, call->inputs[0]}, 2, NULL);
        bd_node n5 = bd_rule_whole(graph, 1);
        bd_node n6 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[3], n5}, 2, NULL);
        bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n6, call->inputs[1]}, 2, NULL);
        bd_node n8 = bd_rule_whole(graph, 1);
        bd_node n9 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n7, n8}, 2, NULL);
        bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n1}, 2, NULL);
        bd_node n11 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n4, n10}, 2, NULL);
        n16 = n11;
    } else {
        bd_node n12 = bd_rule_whole(graph, 1);
        bd_node n13 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n12, call->inputs[1]}, 2, NULL);
        bd_node n14 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n13, call->inputs[0]}, 2, NULL);
        bd_node n15 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n14, n1}, 2, NULL);
        n16 = n15;
    }
    bd_node n18;
    if (call->inputs[2] != BD_NODE_NONE) {
        bd_node n17 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n16, call->inputs[2]}, 2, NULL);
        n18 = n17;
    } else {
        n18 = n16;
    }
    bd_node n19 = bd_rule_reduced(graph, n18, call->attrs[0].value);
    out[0] = n19;
    return 1;
}

static uint32_t decompose_bce(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_whole(graph, 1);
    bd_node n2 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[1], n1}, 2, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_LOG1P, (bd_node[]){n3}, 1, NULL);
    bd_node n5 = bd_rule_whole(graph, -100);
    bd_node n6 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){n4, n5}, 2, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n2, n6}, 2, NULL);
    bd_node n8 = bd_build(graph, BURN_OP_LOG, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n9 = bd_rule_whole(graph, -100);
    bd_node n10 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){n8, n9}, 2, NULL);
    bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[1], n10}, 2, NULL);
    bd_node n12 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n7, n11}, 2, NULL);
    bd_node n14;
    if (call->inputs[2] != BD_NODE_NONE) {
        bd_node n13 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n12, call->inputs[2]}, 2, NULL);
        n14 = n13;
    } else {
        n14 = n12;
    }
    bd_node n15 = bd_rule_reduced(graph, n14, call->attrs[0].value);
    out[0] = n15;
    return 1;
}

static uint32_t decompose_kl_div(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n12;
    if (call->attrs[1].value) {
        bd_node n1 = bd_build(graph, BURN_OP_EXP, (bd_node[]){call->inputs[1]}, 1, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[1], call->inputs[0]}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, n2}, 2, NULL);
        n12 = n3;
    } else {
        bd_node n4 = bd_rule_whole(graph, 0);
        bd_node n5 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[1], n4}, 2, NULL);
        bd_node n6 = bd_rule_whole(graph, 1);
        bd_node n7 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n5, n6, call->inputs[1]}, 3, NULL);
        bd_node n8 = bd_build(graph, BURN_OP_LOG, (bd_node[]){n7}, 1, NULL);
        bd_node n9 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[1], n8}, 2, NULL);
        bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[1], call->inputs[0]}, 2, NULL);
        bd_node n11 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n9, n10}, 2, NULL);
        n12 = n11;
    }
    bd_node n13 = bd_rule_reduced(graph, n12, call->attrs[0].value);
    out[0] = n13;
    return 1;
}

static uint32_t decompose_sgd_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n2;
    if (call->attrs[0].value) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[1]}, 1, NULL);
        n2 = n1;
    } else {
        n2 = call->inputs[1];
    }
    bd_node n6;
    if (call->inputs[3] != BD_NODE_NONE) {
        bd_node n3 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, call->inputs[0]}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n2, n4}, 2, NULL);
        n6 = n5;
    } else {
        n6 = n2;
    }
    bd_node n7 = bd_build_cast(graph, call->inputs[2], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n8 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n7, n6}, 2, NULL);
    bd_node n9 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n8}, 2, NULL);
    out[0] = n9;
    return 1;
}

static uint32_t decompose_sgd_momentum_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build_cast(graph, call->inputs[4], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n3;
    if (call->attrs[1].value) {
        bd_node n2 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[1]}, 1, NULL);
        n3 = n2;
    } else {
        n3 = call->inputs[1];
    }
    bd_node n7;
    if (call->inputs[6] != BD_NODE_NONE) {
        bd_node n4 = bd_build_cast(graph, call->inputs[6], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, call->inputs[0]}, 2, NULL);
        bd_node n6 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n3, n5}, 2, NULL);
        n7 = n6;
    } else {
        n7 = n3;
    }
    bd_node n14;
    if (call->inputs[2] != BD_NODE_NONE) {
        bd_node n8 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, call->inputs[2]}, 2, NULL);
        bd_node n9 = bd_rule_whole(graph, 1);
        bd_node n10 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n9, call->inputs[5]}, 2, NULL);
        bd_node n11 = bd_build_cast(graph, n10, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n12 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n11, n7}, 2, NULL);
        bd_node n13 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n8, n12}, 2, NULL);
        n14 = n13;
    } else {
        n14 = n7;
    }
    bd_node n17;
    if (call->attrs[0].value) {
        bd_node n15 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, n14}, 2, NULL);
        bd_node n16 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n7, n15}, 2, NULL);
        n17 = n16;
    } else {
        n17 = n14;
    }
    bd_node n18 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n19 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n18, n17}, 2, NULL);
    bd_node n20 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n19}, 2, NULL);
    out[0] = n20;
    out[1] = n14;
    return 2;
}

static uint32_t decompose_adam_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n2;
    if (call->attrs[0].value) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[1]}, 1, NULL);
        n2 = n1;
    } else {
        n2 = call->inputs[1];
    }
    bd_node n6;
    if (call->inputs[9] != BD_NODE_NONE) {
        bd_node n3 = bd_build_cast(graph, call->inputs[9], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, call->inputs[0]}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n2, n4}, 2, NULL);
        n6 = n5;
    } else {
        n6 = n2;
    }
    bd_node n7 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n6, call->inputs[2]}, 2, NULL);
    bd_node n8 = bd_rule_whole(graph, 1);
    bd_node n9 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n8, call->inputs[6]}, 2, NULL);
    bd_node n10 = bd_build_cast(graph, n9, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n7, n10}, 2, NULL);
    bd_node n12 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[2], n11}, 2, NULL);
    bd_node n13 = bd_build_cast(graph, call->inputs[7], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n14 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[3], n13}, 2, NULL);
    bd_node n15 = bd_rule_whole(graph, 1);
    bd_node n16 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n15, call->inputs[7]}, 2, NULL);
    bd_node n17 = bd_build_cast(graph, n16, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n18 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n6, n6}, 2, NULL);
    bd_node n19 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n17, n18}, 2, NULL);
    bd_node n20 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n14, n19}, 2, NULL);
    bd_node n22;
    if (call->inputs[4] != BD_NODE_NONE) {
        bd_node n21 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){call->inputs[4], n20}, 2, NULL);
        n22 = n21;
    } else {
        n22 = n20;
    }
    bd_node n23 = bd_build(graph, BURN_OP_POW, (bd_node[]){call->inputs[6], call->inputs[10]}, 2, NULL);
    bd_node n24 = bd_rule_whole(graph, 1);
    bd_node n25 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n24, n23}, 2, NULL);
    bd_node n26 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[5], n25}, 2, NULL);
    bd_node n27 = bd_build_cast(graph, n26, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n28 = bd_build(graph, BURN_OP_POW, (bd_node[]){call->inputs[7], call->inputs[10]}, 2, NULL);
    bd_node n29 = bd_rule_whole(graph, 1);
    bd_node n30 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n29, n28}, 2, NULL);
    bd_node n31 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n30}, 1, NULL);
    bd_node n32 = bd_build_cast(graph, n31, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n33 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n22}, 1, NULL);
    bd_node n34 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n33, n32}, 2, NULL);
    bd_node n35 = bd_build_cast(graph, call->inputs[8], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n36 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n34, n35}, 2, NULL);
    bd_node n37 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n12, n36}, 2, NULL);
    bd_node n38 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n27, n37}, 2, NULL);
    bd_node n39 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n38}, 2, NULL);
    bd_node n40 = BD_NODE_NONE; bd_node n41 = BD_NODE_NONE; bd_node n42 = BD_NODE_NONE; bd_node n43 = BD_NODE_NONE;
    if (call->inputs[4] != BD_NODE_NONE) {
        n40 = n39;
        n41 = n12;
        n42 = n20;
        n43 = n22;
    } else {
        n40 = n39;
        n41 = n12;
        n42 = n20;
    }
    out[0] = n40;
    out[1] = n41;
    out[2] = n42;
    out[3] = n43;
    return call->inputs[4] != BD_NODE_NONE ? 4 : 3;
}

static uint32_t decompose_adamw_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n2;
    if (call->attrs[0].value) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[1]}, 1, NULL);
        n2 = n1;
    } else {
        n2 = call->inputs[1];
    }
    bd_node n8;
    if (call->inputs[9] != BD_NODE_NONE) {
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[5], call->inputs[9]}, 2, NULL);
        bd_node n4 = bd_rule_whole(graph, 1);
        bd_node n5 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n4, n3}, 2, NULL);
        bd_node n6 = bd_build_cast(graph, n5, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n6}, 2, NULL);
        n8 = n7;
    } else {
        n8 = call->inputs[0];
    }
    bd_node n9 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n2, call->inputs[2]}, 2, NULL);
    bd_node n10 = bd_rule_whole(graph, 1);
    bd_node n11 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n10, call->inputs[6]}, 2, NULL);
    bd_node n12 = bd_build_cast(graph, n11, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n13 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n12}, 2, NULL);
    bd_node n14 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[2], n13}, 2, NULL);
    bd_node n15 = bd_build_cast(graph, call->inputs[7], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n16 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[3], n15}, 2, NULL);
    bd_node n17 = bd_rule_whole(graph, 1);
    bd_node n18 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n17, call->inputs[7]}, 2, NULL);
    bd_node n19 = bd_build_cast(graph, n18, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n20 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n2, n2}, 2, NULL);
    bd_node n21 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n19, n20}, 2, NULL);
    bd_node n22 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n16, n21}, 2, NULL);
    bd_node n24;
    if (call->inputs[4] != BD_NODE_NONE) {
        bd_node n23 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){call->inputs[4], n22}, 2, NULL);
        n24 = n23;
    } else {
        n24 = n22;
    }
    bd_node n25 = bd_build(graph, BURN_OP_POW, (bd_node[]){call->inputs[6], call->inputs[10]}, 2, NULL);
    bd_node n26 = bd_rule_whole(graph, 1);
    bd_node n27 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n26, n25}, 2, NULL);
    bd_node n28 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[5], n27}, 2, NULL);
    bd_node n29 = bd_build_cast(graph, n28, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n30 = bd_build(graph, BURN_OP_POW, (bd_node[]){call->inputs[7], call->inputs[10]}, 2, NULL);
    bd_node n31 = bd_rule_whole(graph, 1);
    bd_node n32 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n31, n30}, 2, NULL);
    bd_node n33 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n32}, 1, NULL);
    bd_node n34 = bd_build_cast(graph, n33, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n35 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n24}, 1, NULL);
    bd_node n36 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n35, n34}, 2, NULL);
    bd_node n37 = bd_build_cast(graph, call->inputs[8], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n38 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n36, n37}, 2, NULL);
    bd_node n39 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n14, n38}, 2, NULL);
    bd_node n40 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n29, n39}, 2, NULL);
    bd_node n41 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n8, n40}, 2, NULL);
    bd_node n42 = BD_NODE_NONE; bd_node n43 = BD_NODE_NONE; bd_node n44 = BD_NODE_NONE; bd_node n45 = BD_NODE_NONE;
    if (call->inputs[4] != BD_NODE_NONE) {
        n42 = n41;
        n43 = n14;
        n44 = n22;
        n45 = n24;
    } else {
        n42 = n41;
        n43 = n14;
        n44 = n22;
    }
    out[0] = n42;
    out[1] = n43;
    out[2] = n44;
    out[3] = n45;
    return call->inputs[4] != BD_NODE_NONE ? 4 : 3;
}

static uint32_t decompose_clip_coefficient(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build_cast(graph, call->inputs[1], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n2 = bd_rule_number(graph, 1e-06);
    bd_node n3 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n2}, 2, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n1, n3}, 2, NULL);
    bd_node n5 = bd_rule_whole(graph, 1);
    bd_node n6 = bd_build(graph, BURN_OP_MINIMUM, (bd_node[]){n4, n5}, 2, NULL);
    out[0] = n6;
    return 1;
}

static void gradient_dot(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_swap_last(graph, call->inputs[1]);
        bd_node n2 = bd_build(graph, BURN_OP_DOT, (bd_node[]){call->gradient, n1}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_rule_swap_last(graph, call->inputs[0]);
        bd_node n2 = bd_build(graph, BURN_OP_DOT, (bd_node[]){n1, call->gradient}, 2, NULL);
        out[1] = bd_rule_gradient(graph, n2, call->inputs[1]);
    }
}

static void gradient_slice_set(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[1]);
        const bd_attr_value a2[] = {call->attrs[0], call->attrs[1], call->attrs[2]};
        bd_node n3 = bd_build(graph, BURN_OP_SLICE_SET, (bd_node[]){call->gradient, n1}, 2, a2);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        const bd_attr_value a1[] = {call->attrs[0], call->attrs[1], call->attrs[2]};
        bd_node n2 = bd_build(graph, BURN_OP_SLICE, (bd_node[]){call->gradient}, 1, a1);
        out[1] = bd_rule_gradient(graph, n2, call->inputs[1]);
    }
}

static void gradient_slice_add(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        out[0] = bd_rule_gradient(graph, call->gradient, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        const bd_attr_value a1[] = {call->attrs[0], call->attrs[1], call->attrs[2]};
        bd_node n2 = bd_build(graph, BURN_OP_SLICE, (bd_node[]){call->gradient}, 1, a1);
        out[1] = bd_rule_gradient(graph, n2, call->inputs[1]);
    }
}

static void gradient_attend(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_ATTEND_WEIGHTS, (bd_node[]){call->inputs[0]}, 1, NULL);
        bd_node n2 = bd_build_cast(graph, n1, (burn_dtype)(bd_rule_wide(graph, bd_graph_at(graph, call->inputs[0])->dtype)));
        bd_node n3 = bd_rule_swap_last(graph, call->inputs[1]);
        bd_node n4 = bd_build(graph, BURN_OP_DOT, (bd_node[]){call->gradient, n3}, 2, NULL);
        bd_node n5 = bd_build_cast(graph, n4, (burn_dtype)(bd_rule_wide(graph, bd_graph_at(graph, call->inputs[0])->dtype)));
        bd_node n6 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n5, n2}, 2, NULL);
        const int64_t l7_values[] = {(bd_rule_rank(graph, n2) - 1)};
        const bd_attr_value l7 = {.values = l7_values, .count = 1};
        const bd_attr_value a8[] = {l7, {.value = 1}, {.value = 0}};
        bd_node n9 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n6}, 1, a8);
        bd_node n10 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n5, n9}, 2, NULL);
        bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n2, n10}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n11, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_ATTEND_WEIGHTS, (bd_node[]){call->inputs[0]}, 1, NULL);
        bd_node n2 = bd_rule_swap_last(graph, n1);
        bd_node n3 = bd_build(graph, BURN_OP_DOT, (bd_node[]){n2, call->gradient}, 2, NULL);
        out[1] = bd_rule_gradient(graph, n3, call->inputs[1]);
    }
}

static void gradient_attend_weights(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, call->self}, 2, NULL);
        const int64_t l2_values[] = {(bd_rule_rank(graph, call->self) - 1)};
        const bd_attr_value l2 = {.values = l2_values, .count = 1};
        const bd_attr_value a3[] = {l2, {.value = 1}, {.value = 0}};
        bd_node n4 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n1}, 1, a3);
        bd_node n5 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->gradient, n4}, 2, NULL);
        bd_node n6 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->self, n5}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n6, call->inputs[0]);
    }
}

static uint32_t decompose_attend_weights(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const int64_t l1_values[] = {(bd_rule_rank(graph, call->inputs[0]) - 1)};
    const bd_attr_value l1 = {.values = l1_values, .count = 1};
    const bd_attr_value a2[] = {l1, {.value = 1}};
    bd_node n3 = bd_build(graph, BURN_OP_MAX, (bd_node[]){call->inputs[0]}, 1, a2);
    bd_node n4 = bd_rule_number(graph, -INFINITY);
    bd_node n5 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n3, n4}, 2, NULL);
    bd_node n6 = bd_rule_whole(graph, 0);
    bd_node n7 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n5, n6, n3}, 3, NULL);
    bd_node n8 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n7}, 2, NULL);
    bd_node n9 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n8}, 1, NULL);
    const int64_t l10_values[] = {(bd_rule_rank(graph, call->inputs[0]) - 1)};
    const bd_attr_value l10 = {.values = l10_values, .count = 1};
    const bd_attr_value a11[] = {l10, {.value = 1}, {.value = 0}};
    bd_node n12 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n9}, 1, a11);
    bd_node n13 = bd_rule_whole(graph, 0);
    bd_node n14 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n12, n13}, 2, NULL);
    bd_node n15 = bd_rule_whole(graph, 1);
    bd_node n16 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n14, n15, n12}, 3, NULL);
    bd_node n17 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n9, n16}, 2, NULL);
    out[0] = n17;
    return 1;
}

static void gradient_causal(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {{.value = (bd_int)call->attrs[0].value}};
        bd_node n2 = bd_build(graph, BURN_OP_TRIL, (bd_node[]){call->gradient}, 1, a1);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
}

static uint32_t decompose_causal(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0])), {.value = (bd_rule_rank(graph, call->inputs[0]) - 1)}};
    bd_node n2 = bd_build(graph, BURN_OP_IOTA, NULL, 0, a1);
    const bd_attr_value a3[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0])), {.value = (bd_rule_rank(graph, call->inputs[0]) - 2)}};
    bd_node n4 = bd_build(graph, BURN_OP_IOTA, NULL, 0, a3);
    bd_node n5 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n2, n4}, 2, NULL);
    bd_node n6 = bd_build_integer(graph, (bd_int)call->attrs[0].value);
    bd_node n7 = bd_build(graph, BURN_OP_LE, (bd_node[]){n5, n6}, 2, NULL);
    bd_node n8 = bd_rule_number(graph, -INFINITY);
    bd_node n9 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n7, call->inputs[0], n8}, 3, NULL);
    out[0] = n9;
    return 1;
}

static void gradient_window(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[0]);
        const bd_attr_value a2[] = {call->attrs[0], call->attrs[1], call->attrs[2], call->attrs[3], call->attrs[4]};
        bd_node n3 = bd_build(graph, BURN_OP_WINDOW_ADD, (bd_node[]){n1, call->gradient}, 2, a2);
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static void gradient_window_add(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        out[0] = bd_rule_gradient(graph, call->gradient, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        const bd_attr_value a1[] = {call->attrs[0], call->attrs[1], call->attrs[2], call->attrs[3], call->attrs[4]};
        bd_node n2 = bd_build(graph, BURN_OP_WINDOW, (bd_node[]){call->gradient}, 1, a1);
        out[1] = bd_rule_gradient(graph, n2, call->inputs[1]);
    }
}

static void gradient_conv(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {bd_rule_dims(graph, call->inputs[0], 2, bd_rule_rank(graph, call->inputs[0])), call->attrs[0], call->attrs[1], call->attrs[3], {.value = (bd_int)call->attrs[4].value}};
        bd_node n2 = bd_build(graph, BURN_OP_CONV_INPUT, (bd_node[]){call->gradient, call->inputs[1]}, 2, a1);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        const bd_attr_value a1[] = {bd_rule_dims(graph, call->inputs[1], 2, bd_rule_rank(graph, call->inputs[1])), call->attrs[0], call->attrs[1], call->attrs[3], {.value = (bd_int)call->attrs[4].value}};
        bd_node n2 = bd_build(graph, BURN_OP_CONV_WEIGHT, (bd_node[]){call->inputs[0], call->gradient}, 2, a1);
        out[1] = bd_rule_gradient(graph, n2, call->inputs[1]);
    }
    out[2] = BD_NODE_NONE;
    if (call->wanted[2]) {
        const bd_attr_value a1[] = {bd_rule_but_channel(graph, call->gradient), {.value = 0}, {.value = 0}};
        bd_node n2 = bd_build(graph, BURN_OP_SUM, (bd_node[]){call->gradient}, 1, a1);
        out[2] = bd_rule_gradient(graph, n2, call->inputs[2]);
    }
}

static void gradient_conv_input(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {call->attrs[1], call->attrs[2], bd_rule_conv_high(graph, bd_rule_dims(graph, call->gradient, 2, bd_rule_rank(graph, call->gradient)), bd_rule_dims(graph, call->inputs[1], 2, bd_rule_rank(graph, call->inputs[1])), bd_rule_dims(graph, call->inputs[0], 2, bd_rule_rank(graph, call->inputs[0])), call->attrs[1], call->attrs[2], call->attrs[3]), call->attrs[3], {.value = (bd_int)call->attrs[4].value}};
        bd_node n2 = bd_build(graph, BURN_OP_CONV, (bd_node[]){call->gradient, call->inputs[1], BD_NODE_NONE}, 3, a1);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        const bd_attr_value a1[] = {bd_rule_dims(graph, call->inputs[1], 2, bd_rule_rank(graph, call->inputs[1])), call->attrs[1], call->attrs[2], call->attrs[3], {.value = (bd_int)call->attrs[4].value}};
        bd_node n2 = bd_build(graph, BURN_OP_CONV_WEIGHT, (bd_node[]){call->gradient, call->inputs[0]}, 2, a1);
        out[1] = bd_rule_gradient(graph, n2, call->inputs[1]);
    }
}

static void gradient_conv_weight(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {bd_rule_dims(graph, call->inputs[0], 2, bd_rule_rank(graph, call->inputs[0])), call->attrs[1], call->attrs[2], call->attrs[3], {.value = (bd_int)call->attrs[4].value}};
        bd_node n2 = bd_build(graph, BURN_OP_CONV_INPUT, (bd_node[]){call->inputs[1], call->gradient}, 2, a1);
        out[0] = bd_rule_gradient(graph, n2, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        const bd_attr_value a1[] = {call->attrs[1], call->attrs[2], bd_rule_conv_high(graph, bd_rule_dims(graph, call->inputs[0], 2, bd_rule_rank(graph, call->inputs[0])), bd_rule_dims(graph, call->gradient, 2, bd_rule_rank(graph, call->gradient)), bd_rule_dims(graph, call->inputs[1], 2, bd_rule_rank(graph, call->inputs[1])), call->attrs[1], call->attrs[2], call->attrs[3]), call->attrs[3], {.value = (bd_int)call->attrs[4].value}};
        bd_node n2 = bd_build(graph, BURN_OP_CONV, (bd_node[]){call->inputs[0], call->gradient, BD_NODE_NONE}, 3, a1);
        out[1] = bd_rule_gradient(graph, n2, call->inputs[1]);
    }
}

static void gradient_batch_norm(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {bd_rule_but_channel(graph, call->inputs[0]), {.value = 1}, {.value = 0}};
        bd_node n2 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){call->inputs[0]}, 1, a1);
        bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n2}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n3}, 2, NULL);
        const bd_attr_value a5[] = {bd_rule_but_channel(graph, call->inputs[0]), {.value = 1}, {.value = 0}};
        bd_node n6 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n4}, 1, a5);
        bd_node n7 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n8 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n6, n7}, 2, NULL);
        bd_node n9 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n8}, 1, NULL);
        bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n9}, 2, NULL);
        bd_node n13;
        if (call->inputs[1] != BD_NODE_NONE) {
            bd_node n11 = bd_rule_along(graph, call->inputs[1], call->gradient, 1);
            bd_node n12 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n11}, 2, NULL);
            n13 = n12;
        } else {
            n13 = call->gradient;
        }
        const bd_attr_value a14[] = {bd_rule_but_channel(graph, call->inputs[0]), {.value = 1}, {.value = 0}};
        bd_node n15 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n13}, 1, a14);
        bd_node n16 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n13, n15}, 2, NULL);
        bd_node n17 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n13, n10}, 2, NULL);
        const bd_attr_value a18[] = {bd_rule_but_channel(graph, call->inputs[0]), {.value = 1}, {.value = 0}};
        bd_node n19 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n17}, 1, a18);
        bd_node n20 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n10, n19}, 2, NULL);
        bd_node n21 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n16, n20}, 2, NULL);
        bd_node n22 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n21}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n22, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        const bd_attr_value a1[] = {bd_rule_but_channel(graph, call->inputs[0]), {.value = 1}, {.value = 0}};
        bd_node n2 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){call->inputs[0]}, 1, a1);
        bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n2}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n3}, 2, NULL);
        const bd_attr_value a5[] = {bd_rule_but_channel(graph, call->inputs[0]), {.value = 1}, {.value = 0}};
        bd_node n6 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n4}, 1, a5);
        bd_node n7 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n8 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n6, n7}, 2, NULL);
        bd_node n9 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n8}, 1, NULL);
        bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n9}, 2, NULL);
        bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n10}, 2, NULL);
        const bd_attr_value a12[] = {bd_rule_but_channel(graph, call->inputs[0]), {.value = 0}, {.value = 0}};
        bd_node n13 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n11}, 1, a12);
        out[1] = bd_rule_gradient(graph, n13, call->inputs[1]);
    }
    out[2] = BD_NODE_NONE;
    if (call->wanted[2]) {
        const bd_attr_value a1[] = {bd_rule_but_channel(graph, call->gradient), {.value = 0}, {.value = 0}};
        bd_node n2 = bd_build(graph, BURN_OP_SUM, (bd_node[]){call->gradient}, 1, a1);
        out[2] = bd_rule_gradient(graph, n2, call->inputs[2]);
    }
    out[3] = BD_NODE_NONE;
}

static uint32_t decompose_batch_norm(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    const bd_attr_value a1[] = {bd_rule_but_channel(graph, call->inputs[0]), {.value = 1}, {.value = 0}};
    bd_node n2 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){call->inputs[0]}, 1, a1);
    bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n2}, 2, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n3}, 2, NULL);
    const bd_attr_value a5[] = {bd_rule_but_channel(graph, call->inputs[0]), {.value = 1}, {.value = 0}};
    bd_node n6 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n4}, 1, a5);
    bd_node n7 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n8 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n6, n7}, 2, NULL);
    bd_node n9 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n8}, 1, NULL);
    bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n9}, 2, NULL);
    bd_node n13;
    if (call->inputs[1] != BD_NODE_NONE) {
        bd_node n11 = bd_rule_along(graph, call->inputs[1], n10, 1);
        bd_node n12 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n10, n11}, 2, NULL);
        n13 = n12;
    } else {
        n13 = n10;
    }
    bd_node n16;
    if (call->inputs[2] != BD_NODE_NONE) {
        bd_node n14 = bd_rule_along(graph, call->inputs[2], n13, 1);
        bd_node n15 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n13, n14}, 2, NULL);
        n16 = n15;
    } else {
        n16 = n13;
    }
    out[0] = n16;
    return 1;
}

static uint32_t decompose_batch_norm_fixed(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build_cast(graph, call->inputs[5], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n2 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[2], n1}, 2, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n2}, 1, NULL);
    bd_node n5;
    if (call->inputs[3] != BD_NODE_NONE) {
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, call->inputs[3]}, 2, NULL);
        n5 = n4;
    } else {
        n5 = n3;
    }
    bd_node n6 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[1], n5}, 2, NULL);
    bd_node n7 = bd_rule_along(graph, n5, call->inputs[0], 1);
    bd_node n8 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n7}, 2, NULL);
    bd_node n14;
    if (call->inputs[4] != BD_NODE_NONE) {
        bd_node n9 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[4], n6}, 2, NULL);
        bd_node n10 = bd_rule_along(graph, n9, call->inputs[0], 1);
        bd_node n11 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n8, n10}, 2, NULL);
        n14 = n11;
    } else {
        bd_node n12 = bd_rule_along(graph, n6, call->inputs[0], 1);
        bd_node n13 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n8, n12}, 2, NULL);
        n14 = n13;
    }
    out[0] = n14;
    return 1;
}

static void gradient_group_norm(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_split_channels(graph, call->inputs[0], (bd_int)call->attrs[0].value);
        const bd_attr_value a2[] = {bd_rule_dims_from(graph, n1, 2), {.value = 1}, {.value = 0}};
        bd_node n3 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n1}, 1, a2);
        bd_node n4 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n1, n3}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, n4}, 2, NULL);
        const bd_attr_value a6[] = {bd_rule_dims_from(graph, n1, 2), {.value = 1}, {.value = 0}};
        bd_node n7 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n5}, 1, a6);
        bd_node n8 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n9 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n7, n8}, 2, NULL);
        bd_node n10 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n9}, 1, NULL);
        bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, n10}, 2, NULL);
        bd_node n14;
        if (call->inputs[1] != BD_NODE_NONE) {
            bd_node n12 = bd_rule_along(graph, call->inputs[1], call->gradient, 1);
            bd_node n13 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n12}, 2, NULL);
            n14 = n13;
        } else {
            n14 = call->gradient;
        }
        bd_node n15 = bd_rule_split_channels(graph, n14, (bd_int)call->attrs[0].value);
        const bd_attr_value a16[] = {bd_rule_dims_from(graph, n1, 2), {.value = 1}, {.value = 0}};
        bd_node n17 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n15}, 1, a16);
        bd_node n18 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n15, n17}, 2, NULL);
        bd_node n19 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n15, n11}, 2, NULL);
        const bd_attr_value a20[] = {bd_rule_dims_from(graph, n1, 2), {.value = 1}, {.value = 0}};
        bd_node n21 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n19}, 1, a20);
        bd_node n22 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n11, n21}, 2, NULL);
        bd_node n23 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n18, n22}, 2, NULL);
        bd_node n24 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n10, n23}, 2, NULL);
        const bd_attr_value a25[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0]))};
        bd_node n26 = bd_build(graph, BURN_OP_RESHAPE, (bd_node[]){n24}, 1, a25);
        out[0] = bd_rule_gradient(graph, n26, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_rule_split_channels(graph, call->inputs[0], (bd_int)call->attrs[0].value);
        const bd_attr_value a2[] = {bd_rule_dims_from(graph, n1, 2), {.value = 1}, {.value = 0}};
        bd_node n3 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n1}, 1, a2);
        bd_node n4 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n1, n3}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, n4}, 2, NULL);
        const bd_attr_value a6[] = {bd_rule_dims_from(graph, n1, 2), {.value = 1}, {.value = 0}};
        bd_node n7 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n5}, 1, a6);
        bd_node n8 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n9 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n7, n8}, 2, NULL);
        bd_node n10 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n9}, 1, NULL);
        bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, n10}, 2, NULL);
        const bd_attr_value a12[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0]))};
        bd_node n13 = bd_build(graph, BURN_OP_RESHAPE, (bd_node[]){n11}, 1, a12);
        bd_node n14 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n13}, 2, NULL);
        const bd_attr_value a15[] = {bd_rule_but_channel(graph, call->inputs[0]), {.value = 0}, {.value = 0}};
        bd_node n16 = bd_build(graph, BURN_OP_SUM, (bd_node[]){n14}, 1, a15);
        out[1] = bd_rule_gradient(graph, n16, call->inputs[1]);
    }
    out[2] = BD_NODE_NONE;
    if (call->wanted[2]) {
        const bd_attr_value a1[] = {bd_rule_but_channel(graph, call->gradient), {.value = 0}, {.value = 0}};
        bd_node n2 = bd_build(graph, BURN_OP_SUM, (bd_node[]){call->gradient}, 1, a1);
        out[2] = bd_rule_gradient(graph, n2, call->inputs[2]);
    }
    out[3] = BD_NODE_NONE;
}

static uint32_t decompose_group_norm(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_split_channels(graph, call->inputs[0], (bd_int)call->attrs[0].value);
    const bd_attr_value a2[] = {bd_rule_dims_from(graph, n1, 2), {.value = 1}, {.value = 0}};
    bd_node n3 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n1}, 1, a2);
    bd_node n4 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n1, n3}, 2, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, n4}, 2, NULL);
    const bd_attr_value a6[] = {bd_rule_dims_from(graph, n1, 2), {.value = 1}, {.value = 0}};
    bd_node n7 = bd_build(graph, BURN_OP_MEAN, (bd_node[]){n5}, 1, a6);
    bd_node n8 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n9 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n7, n8}, 2, NULL);
    bd_node n10 = bd_build(graph, BURN_OP_RSQRT, (bd_node[]){n9}, 1, NULL);
    bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, n10}, 2, NULL);
    const bd_attr_value a12[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0]))};
    bd_node n13 = bd_build(graph, BURN_OP_RESHAPE, (bd_node[]){n11}, 1, a12);
    bd_node n16;
    if (call->inputs[1] != BD_NODE_NONE) {
        bd_node n14 = bd_rule_along(graph, call->inputs[1], n13, 1);
        bd_node n15 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n13, n14}, 2, NULL);
        n16 = n15;
    } else {
        n16 = n13;
    }
    bd_node n19;
    if (call->inputs[2] != BD_NODE_NONE) {
        bd_node n17 = bd_rule_along(graph, call->inputs[2], n16, 1);
        bd_node n18 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n16, n17}, 2, NULL);
        n19 = n18;
    } else {
        n19 = n16;
    }
    out[0] = n19;
    return 1;
}

static void gradient_cumsum(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n9;
        if (bd_rule_single(graph, call->inputs[0], call->attrs[0].value)) {
            n9 = call->gradient;
        } else {
            const int64_t l1_values[] = {call->attrs[0].value};
            const bd_attr_value l1 = {.values = l1_values, .count = 1};
            const bd_attr_value a2[] = {l1};
            bd_node n3 = bd_build(graph, BURN_OP_FLIP, (bd_node[]){call->gradient}, 1, a2);
            const bd_attr_value a4[] = {{.value = call->attrs[0].value}, {.value = 0}};
            bd_node n5 = bd_build(graph, BURN_OP_CUMSUM, (bd_node[]){n3}, 1, a4);
            const int64_t l6_values[] = {call->attrs[0].value};
            const bd_attr_value l6 = {.values = l6_values, .count = 1};
            const bd_attr_value a7[] = {l6};
            bd_node n8 = bd_build(graph, BURN_OP_FLIP, (bd_node[]){n5}, 1, a7);
            n9 = n8;
        }
        out[0] = bd_rule_gradient(graph, n9, call->inputs[0]);
    }
}

static uint32_t decompose_cumsum(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n3;
    if (bd_rule_single(graph, call->inputs[0], call->attrs[0].value)) {
        n3 = call->inputs[0];
    } else {
        const bd_attr_value a1[] = {{.value = call->attrs[0].value}};
        bd_node n2 = bd_build(graph, BURN_OP_SCAN_SUM, (bd_node[]){call->inputs[0]}, 1, a1);
        n3 = n2;
    }
    out[0] = n3;
    return 1;
}

static void gradient_cumprod(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n3;
        if (bd_rule_single(graph, call->inputs[0], call->attrs[0].value)) {
            n3 = call->gradient;
        } else {
            const bd_attr_value a1[] = {{.value = call->attrs[0].value}};
            bd_node n2 = bd_build(graph, BURN_OP_CUMPROD_GRADIENT, (bd_node[]){call->inputs[0], call->gradient}, 2, a1);
            n3 = n2;
        }
        out[0] = bd_rule_gradient(graph, n3, call->inputs[0]);
    }
}

static uint32_t decompose_cumprod(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n3;
    if (bd_rule_single(graph, call->inputs[0], call->attrs[0].value)) {
        n3 = call->inputs[0];
    } else {
        const bd_attr_value a1[] = {{.value = call->attrs[0].value}};
        bd_node n2 = bd_build(graph, BURN_OP_SCAN_PROD, (bd_node[]){call->inputs[0]}, 1, a1);
        n3 = n2;
    }
    out[0] = n3;
    return 1;
}

static uint32_t decompose_cumprod_gradient(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_whole(graph, 0);
    bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], n1}, 2, NULL);
    const bd_attr_value a3[] = {{.value = call->attrs[0].value}, {.value = 0}};
    bd_node n4 = bd_build(graph, BURN_OP_CUMSUM, (bd_node[]){n2}, 1, a3);
    bd_node n5 = bd_rule_whole(graph, 1);
    bd_node n6 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n4, n5}, 2, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_LOGICAL_AND, (bd_node[]){n2, n6}, 2, NULL);
    const bd_attr_value a8[] = {{.value = call->attrs[0].value}, {.value = 0}};
    bd_node n9 = bd_build(graph, BURN_OP_CUMPROD, (bd_node[]){call->inputs[0]}, 1, a8);
    bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[1], n9}, 2, NULL);
    const int64_t l11_values[] = {call->attrs[0].value};
    const bd_attr_value l11 = {.values = l11_values, .count = 1};
    const bd_attr_value a12[] = {l11};
    bd_node n13 = bd_build(graph, BURN_OP_FLIP, (bd_node[]){n10}, 1, a12);
    const bd_attr_value a14[] = {{.value = call->attrs[0].value}, {.value = 0}};
    bd_node n15 = bd_build(graph, BURN_OP_CUMSUM, (bd_node[]){n13}, 1, a14);
    const int64_t l16_values[] = {call->attrs[0].value};
    const bd_attr_value l16 = {.values = l16_values, .count = 1};
    const bd_attr_value a17[] = {l16};
    bd_node n18 = bd_build(graph, BURN_OP_FLIP, (bd_node[]){n15}, 1, a17);
    bd_node n19 = bd_rule_whole(graph, 1);
    bd_node n20 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n19, call->inputs[0]}, 3, NULL);
    bd_node n21 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n18, n20}, 2, NULL);
    bd_node n22 = bd_rule_whole(graph, 1);
    bd_node n23 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n7, n22, call->inputs[0]}, 3, NULL);
    const bd_attr_value a24[] = {{.value = call->attrs[0].value}, {.value = 0}};
    bd_node n25 = bd_build(graph, BURN_OP_CUMPROD, (bd_node[]){n23}, 1, a24);
    bd_node n26 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[1], n25}, 2, NULL);
    const int64_t l27_values[] = {call->attrs[0].value};
    const bd_attr_value l27 = {.values = l27_values, .count = 1};
    const bd_attr_value a28[] = {l27};
    bd_node n29 = bd_build(graph, BURN_OP_FLIP, (bd_node[]){n26}, 1, a28);
    const bd_attr_value a30[] = {{.value = call->attrs[0].value}, {.value = 0}};
    bd_node n31 = bd_build(graph, BURN_OP_CUMSUM, (bd_node[]){n29}, 1, a30);
    const int64_t l32_values[] = {call->attrs[0].value};
    const bd_attr_value l32 = {.values = l32_values, .count = 1};
    const bd_attr_value a33[] = {l32};
    bd_node n34 = bd_build(graph, BURN_OP_FLIP, (bd_node[]){n31}, 1, a33);
    bd_node n35 = bd_rule_whole(graph, 0);
    bd_node n36 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n4, n35}, 2, NULL);
    bd_node n37 = bd_rule_whole(graph, 0);
    bd_node n38 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n7, n34, n37}, 3, NULL);
    bd_node n39 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n36, n21, n38}, 3, NULL);
    out[0] = n39;
    return 1;
}

static uint32_t decompose_cummax(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n7;
    if (bd_rule_single(graph, call->inputs[0], call->attrs[0].value)) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[0]);
        bd_node n2 = bd_build_cast(graph, n1, (burn_dtype)(5));
        n7 = n2;
    } else {
        const bd_attr_value a3[] = {{.value = call->attrs[0].value}};
        bd_node n4 = bd_build(graph, BURN_OP_SCAN_MAX, (bd_node[]){call->inputs[0]}, 1, a3);
        const bd_attr_value a5[] = {{.value = call->attrs[0].value}};
        bd_node n6 = bd_build(graph, BURN_OP_SCAN_PLACES, (bd_node[]){call->inputs[0], n4}, 2, a5);
        n7 = n6;
    }
    bd_node n10;
    if (bd_rule_single(graph, call->inputs[0], call->attrs[0].value)) {
        n10 = call->inputs[0];
    } else {
        const bd_attr_value a8[] = {{.value = call->attrs[0].value}};
        bd_node n9 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){call->inputs[0], n7}, 2, a8);
        n10 = n9;
    }
    out[0] = n10;
    out[1] = n7;
    return 2;
}

static uint32_t decompose_cummin(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n7;
    if (bd_rule_single(graph, call->inputs[0], call->attrs[0].value)) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[0]);
        bd_node n2 = bd_build_cast(graph, n1, (burn_dtype)(5));
        n7 = n2;
    } else {
        const bd_attr_value a3[] = {{.value = call->attrs[0].value}};
        bd_node n4 = bd_build(graph, BURN_OP_SCAN_MIN, (bd_node[]){call->inputs[0]}, 1, a3);
        const bd_attr_value a5[] = {{.value = call->attrs[0].value}};
        bd_node n6 = bd_build(graph, BURN_OP_SCAN_PLACES, (bd_node[]){call->inputs[0], n4}, 2, a5);
        n7 = n6;
    }
    bd_node n10;
    if (bd_rule_single(graph, call->inputs[0], call->attrs[0].value)) {
        n10 = call->inputs[0];
    } else {
        const bd_attr_value a8[] = {{.value = call->attrs[0].value}};
        bd_node n9 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){call->inputs[0], n7}, 2, a8);
        n10 = n9;
    }
    out[0] = n10;
    out[1] = n7;
    return 2;
}

static uint32_t decompose_scan_places(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_NE, (bd_node[]){call->inputs[0], call->inputs[0]}, 2, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_LOGICAL_OR, (bd_node[]){n1, n2}, 2, NULL);
    const bd_attr_value a4[] = {bd_rule_dims(graph, call->inputs[0], 0, bd_rule_rank(graph, call->inputs[0])), {.value = call->attrs[0].value}};
    bd_node n5 = bd_build(graph, BURN_OP_IOTA, NULL, 0, a4);
    bd_node n6 = bd_rule_whole(graph, 0);
    bd_node n7 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n3, n5, n6}, 3, NULL);
    const bd_attr_value a8[] = {{.value = call->attrs[0].value}};
    bd_node n9 = bd_build(graph, BURN_OP_SCAN_MAX, (bd_node[]){n7}, 1, a8);
    out[0] = n9;
    return 1;
}

static void gradient_logcumsumexp(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_GT, (bd_node[]){call->gradient, n1}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 0);
        bd_node n4 = bd_build(graph, BURN_OP_GT, (bd_node[]){call->gradient, n3}, 2, NULL);
        bd_node n5 = bd_rule_whole(graph, 1);
        bd_node n6 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n4, call->gradient, n5}, 3, NULL);
        bd_node n7 = bd_build(graph, BURN_OP_LOG, (bd_node[]){n6}, 1, NULL);
        bd_node n8 = bd_rule_number(graph, -1e+30);
        bd_node n9 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n7, n8}, 3, NULL);
        bd_node n10 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n9, call->self}, 2, NULL);
        bd_node n11 = bd_rule_whole(graph, 0);
        bd_node n12 = bd_build(graph, BURN_OP_LT, (bd_node[]){call->gradient, n11}, 2, NULL);
        bd_node n13 = bd_rule_whole(graph, 0);
        bd_node n14 = bd_build(graph, BURN_OP_LT, (bd_node[]){call->gradient, n13}, 2, NULL);
        bd_node n15 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->gradient}, 1, NULL);
        bd_node n16 = bd_rule_whole(graph, 1);
        bd_node n17 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n14, n15, n16}, 3, NULL);
        bd_node n18 = bd_build(graph, BURN_OP_LOG, (bd_node[]){n17}, 1, NULL);
        bd_node n19 = bd_rule_number(graph, -1e+30);
        bd_node n20 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n12, n18, n19}, 3, NULL);
        bd_node n21 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n20, call->self}, 2, NULL);
        bd_node n43;
        if (bd_rule_single(graph, call->inputs[0], call->attrs[0].value)) {
            n43 = call->gradient;
        } else {
            const int64_t l22_values[] = {call->attrs[0].value};
            const bd_attr_value l22 = {.values = l22_values, .count = 1};
            const bd_attr_value a23[] = {l22};
            bd_node n24 = bd_build(graph, BURN_OP_FLIP, (bd_node[]){n10}, 1, a23);
            const bd_attr_value a25[] = {{.value = call->attrs[0].value}};
            bd_node n26 = bd_build(graph, BURN_OP_LOGCUMSUMEXP, (bd_node[]){n24}, 1, a25);
            const int64_t l27_values[] = {call->attrs[0].value};
            const bd_attr_value l27 = {.values = l27_values, .count = 1};
            const bd_attr_value a28[] = {l27};
            bd_node n29 = bd_build(graph, BURN_OP_FLIP, (bd_node[]){n26}, 1, a28);
            bd_node n30 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n29}, 2, NULL);
            bd_node n31 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n30}, 1, NULL);
            const int64_t l32_values[] = {call->attrs[0].value};
            const bd_attr_value l32 = {.values = l32_values, .count = 1};
            const bd_attr_value a33[] = {l32};
            bd_node n34 = bd_build(graph, BURN_OP_FLIP, (bd_node[]){n21}, 1, a33);
            const bd_attr_value a35[] = {{.value = call->attrs[0].value}};
            bd_node n36 = bd_build(graph, BURN_OP_LOGCUMSUMEXP, (bd_node[]){n34}, 1, a35);
            const int64_t l37_values[] = {call->attrs[0].value};
            const bd_attr_value l37 = {.values = l37_values, .count = 1};
            const bd_attr_value a38[] = {l37};
            bd_node n39 = bd_build(graph, BURN_OP_FLIP, (bd_node[]){n36}, 1, a38);
            bd_node n40 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n39}, 2, NULL);
            bd_node n41 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n40}, 1, NULL);
            bd_node n42 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n31, n41}, 2, NULL);
            n43 = n42;
        }
        out[0] = bd_rule_gradient(graph, n43, call->inputs[0]);
    }
}

static uint32_t decompose_logcumsumexp(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n3;
    if (bd_rule_single(graph, call->inputs[0], call->attrs[0].value)) {
        n3 = call->inputs[0];
    } else {
        const bd_attr_value a1[] = {{.value = call->attrs[0].value}};
        bd_node n2 = bd_build(graph, BURN_OP_SCAN_LOGSUM, (bd_node[]){call->inputs[0]}, 1, a1);
        n3 = n2;
    }
    out[0] = n3;
    return 1;
}

static uint32_t decompose_sort(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n5;
    if (bd_rule_single(graph, call->inputs[0], call->attrs[0].value)) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[0]);
        bd_node n2 = bd_build_cast(graph, n1, (burn_dtype)(5));
        n5 = n2;
    } else {
        const bd_attr_value a3[] = {{.value = call->attrs[0].value}, {.value = call->attrs[1].value}};
        bd_node n4 = bd_build(graph, BURN_OP_SORT_ORDER, (bd_node[]){call->inputs[0]}, 1, a3);
        n5 = n4;
    }
    bd_node n8;
    if (bd_rule_single(graph, call->inputs[0], call->attrs[0].value)) {
        n8 = call->inputs[0];
    } else {
        const bd_attr_value a6[] = {{.value = call->attrs[0].value}};
        bd_node n7 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){call->inputs[0], n5}, 2, a6);
        n8 = n7;
    }
    out[0] = n8;
    out[1] = n5;
    return 2;
}

static uint32_t decompose_argsort(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n5;
    if (bd_rule_single(graph, call->inputs[0], call->attrs[0].value)) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[0]);
        bd_node n2 = bd_build_cast(graph, n1, (burn_dtype)(5));
        n5 = n2;
    } else {
        const bd_attr_value a3[] = {{.value = call->attrs[0].value}, {.value = call->attrs[1].value}};
        bd_node n4 = bd_build(graph, BURN_OP_SORT_ORDER, (bd_node[]){call->inputs[0]}, 1, a3);
        n5 = n4;
    }
    out[0] = n5;
    return 1;
}

static void gradient_scatter_prod(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 0);
        bd_node n4 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[2], n3}, 2, NULL);
        bd_node n5 = bd_rule_whole(graph, 1);
        bd_node n6 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n5, call->inputs[0]}, 3, NULL);
        bd_node n7 = bd_rule_whole(graph, 1);
        bd_node n8 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n4, n7, call->inputs[2]}, 3, NULL);
        const bd_attr_value a9[] = {{.value = call->attrs[0].value}};
        bd_node n10 = bd_build(graph, BURN_OP_SCATTER_PROD, (bd_node[]){n6, call->inputs[1], n8}, 3, a9);
        bd_node n11 = bd_build_cast(graph, n2, (burn_dtype)(5));
        bd_node n12 = bd_build_cast(graph, n4, (burn_dtype)(5));
        const bd_attr_value a13[] = {{.value = call->attrs[0].value}};
        bd_node n14 = bd_build(graph, BURN_OP_SCATTER_ADD, (bd_node[]){n11, call->inputs[1], n12}, 3, a13);
        bd_node n15 = bd_rule_whole(graph, 1);
        bd_node n16 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n14, n15}, 2, NULL);
        bd_node n17 = bd_rule_whole(graph, 0);
        bd_node n18 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n16, n10, n17}, 3, NULL);
        bd_node n19 = bd_rule_whole(graph, 0);
        bd_node n20 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n14, n19}, 2, NULL);
        bd_node n21 = bd_rule_whole(graph, 1);
        bd_node n22 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n21, call->inputs[0]}, 3, NULL);
        bd_node n23 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n10, n22}, 2, NULL);
        bd_node n24 = bd_rule_whole(graph, 0);
        bd_node n25 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n20, n23, n24}, 3, NULL);
        bd_node n26 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n18, n25}, 3, NULL);
        bd_node n27 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n26}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n27, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    out[2] = BD_NODE_NONE;
    if (call->wanted[2]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_rule_whole(graph, 0);
        bd_node n4 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[2], n3}, 2, NULL);
        bd_node n5 = bd_rule_whole(graph, 1);
        bd_node n6 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n5, call->inputs[0]}, 3, NULL);
        bd_node n7 = bd_rule_whole(graph, 1);
        bd_node n8 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n4, n7, call->inputs[2]}, 3, NULL);
        const bd_attr_value a9[] = {{.value = call->attrs[0].value}};
        bd_node n10 = bd_build(graph, BURN_OP_SCATTER_PROD, (bd_node[]){n6, call->inputs[1], n8}, 3, a9);
        const bd_attr_value a11[] = {{.value = call->attrs[0].value}};
        bd_node n12 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){n10, call->inputs[1]}, 2, a11);
        bd_node n13 = bd_build_cast(graph, n2, (burn_dtype)(5));
        bd_node n14 = bd_build_cast(graph, n4, (burn_dtype)(5));
        const bd_attr_value a15[] = {{.value = call->attrs[0].value}};
        bd_node n16 = bd_build(graph, BURN_OP_SCATTER_ADD, (bd_node[]){n13, call->inputs[1], n14}, 3, a15);
        const bd_attr_value a17[] = {{.value = call->attrs[0].value}};
        bd_node n18 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){n16, call->inputs[1]}, 2, a17);
        const bd_attr_value a19[] = {{.value = call->attrs[0].value}};
        bd_node n20 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){call->gradient, call->inputs[1]}, 2, a19);
        bd_node n21 = bd_rule_whole(graph, 1);
        bd_node n22 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n18, n21}, 2, NULL);
        bd_node n23 = bd_rule_whole(graph, 0);
        bd_node n24 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n22, n12, n23}, 3, NULL);
        bd_node n25 = bd_rule_whole(graph, 0);
        bd_node n26 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n18, n25}, 2, NULL);
        bd_node n27 = bd_rule_whole(graph, 1);
        bd_node n28 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n4, n27, call->inputs[2]}, 3, NULL);
        bd_node n29 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n12, n28}, 2, NULL);
        bd_node n30 = bd_rule_whole(graph, 0);
        bd_node n31 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n26, n29, n30}, 3, NULL);
        bd_node n32 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n4, n24, n31}, 3, NULL);
        bd_node n33 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n20, n32}, 2, NULL);
        out[2] = bd_rule_gradient(graph, n33, call->inputs[2]);
    }
}

static void gradient_scatter_max(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {{.value = call->attrs[0].value}};
        bd_node n2 = bd_build(graph, BURN_OP_SCATTER_EXTREME_GRADIENT, (bd_node[]){call->inputs[0], call->inputs[1], call->inputs[2], call->self, call->gradient}, 5, a1);
        bd_node n3 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], call->self}, 2, NULL);
        bd_node n4 = bd_build_cast(graph, n3, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n2, n4}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n5, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    out[2] = BD_NODE_NONE;
    if (call->wanted[2]) {
        const bd_attr_value a1[] = {{.value = call->attrs[0].value}};
        bd_node n2 = bd_build(graph, BURN_OP_SCATTER_EXTREME_GRADIENT, (bd_node[]){call->inputs[0], call->inputs[1], call->inputs[2], call->self, call->gradient}, 5, a1);
        const bd_attr_value a3[] = {{.value = call->attrs[0].value}};
        bd_node n4 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){n2, call->inputs[1]}, 2, a3);
        const bd_attr_value a5[] = {{.value = call->attrs[0].value}};
        bd_node n6 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){call->self, call->inputs[1]}, 2, a5);
        bd_node n7 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[2], n6}, 2, NULL);
        bd_node n8 = bd_build_cast(graph, n7, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n9 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, n8}, 2, NULL);
        out[2] = bd_rule_gradient(graph, n9, call->inputs[2]);
    }
}

static void gradient_scatter_min(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        const bd_attr_value a1[] = {{.value = call->attrs[0].value}};
        bd_node n2 = bd_build(graph, BURN_OP_SCATTER_EXTREME_GRADIENT, (bd_node[]){call->inputs[0], call->inputs[1], call->inputs[2], call->self, call->gradient}, 5, a1);
        bd_node n3 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], call->self}, 2, NULL);
        bd_node n4 = bd_build_cast(graph, n3, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n2, n4}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n5, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    out[2] = BD_NODE_NONE;
    if (call->wanted[2]) {
        const bd_attr_value a1[] = {{.value = call->attrs[0].value}};
        bd_node n2 = bd_build(graph, BURN_OP_SCATTER_EXTREME_GRADIENT, (bd_node[]){call->inputs[0], call->inputs[1], call->inputs[2], call->self, call->gradient}, 5, a1);
        const bd_attr_value a3[] = {{.value = call->attrs[0].value}};
        bd_node n4 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){n2, call->inputs[1]}, 2, a3);
        const bd_attr_value a5[] = {{.value = call->attrs[0].value}};
        bd_node n6 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){call->self, call->inputs[1]}, 2, a5);
        bd_node n7 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[2], n6}, 2, NULL);
        bd_node n8 = bd_build_cast(graph, n7, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n9 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, n8}, 2, NULL);
        out[2] = bd_rule_gradient(graph, n9, call->inputs[2]);
    }
}

static uint32_t decompose_scatter_extreme_gradient(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], call->inputs[3]}, 2, NULL);
    bd_node n2 = bd_build_cast(graph, n1, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    const bd_attr_value a3[] = {{.value = call->attrs[0].value}};
    bd_node n4 = bd_build(graph, BURN_OP_GATHER, (bd_node[]){call->inputs[3], call->inputs[1]}, 2, a3);
    bd_node n5 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[2], n4}, 2, NULL);
    bd_node n6 = bd_build_cast(graph, n5, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    const bd_attr_value a7[] = {{.value = call->attrs[0].value}};
    bd_node n8 = bd_build(graph, BURN_OP_SCATTER_ADD, (bd_node[]){n2, call->inputs[1], n6}, 3, a7);
    bd_node n9 = bd_rule_whole(graph, 1);
    bd_node n10 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){n8, n9}, 2, NULL);
    bd_node n11 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[4], n10}, 2, NULL);
    out[0] = n11;
    return 1;
}

static uint32_t decompose_lstm_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_SIGMOID, (bd_node[]){call->inputs[1]}, 1, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, call->inputs[4]}, 2, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_SIGMOID, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_TANH, (bd_node[]){call->inputs[2]}, 1, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n4}, 2, NULL);
    bd_node n6 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n2, n5}, 2, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_SIGMOID, (bd_node[]){call->inputs[3]}, 1, NULL);
    bd_node n8 = bd_build(graph, BURN_OP_TANH, (bd_node[]){n6}, 1, NULL);
    bd_node n9 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n7, n8}, 2, NULL);
    out[0] = n9;
    out[1] = n6;
    return 2;
}

static uint32_t decompose_gru_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], call->inputs[3]}, 2, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_SIGMOID, (bd_node[]){n1}, 1, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[1], call->inputs[4]}, 2, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_SIGMOID, (bd_node[]){n3}, 1, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n2, call->inputs[5]}, 2, NULL);
    bd_node n6 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[2], n5}, 2, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_TANH, (bd_node[]){n6}, 1, NULL);
    bd_node n8 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[6], n7}, 2, NULL);
    bd_node n9 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n8, n4}, 2, NULL);
    bd_node n10 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n9, n7}, 2, NULL);
    out[0] = n10;
    return 1;
}

static uint32_t decompose_rmsprop_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n2;
    if (call->attrs[0].value) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[1]}, 1, NULL);
        n2 = n1;
    } else {
        n2 = call->inputs[1];
    }
    bd_node n6;
    if (call->inputs[8] != BD_NODE_NONE) {
        bd_node n3 = bd_build_cast(graph, call->inputs[8], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, call->inputs[0]}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n2, n4}, 2, NULL);
        n6 = n5;
    } else {
        n6 = n2;
    }
    bd_node n7 = bd_build_cast(graph, call->inputs[5], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n8 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[2], n7}, 2, NULL);
    bd_node n9 = bd_rule_whole(graph, 1);
    bd_node n10 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n9, call->inputs[5]}, 2, NULL);
    bd_node n11 = bd_build_cast(graph, n10, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n12 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n6, n6}, 2, NULL);
    bd_node n13 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n11, n12}, 2, NULL);
    bd_node n14 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n8, n13}, 2, NULL);
    bd_node n15 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n14}, 1, NULL);
    bd_node n16 = bd_build_cast(graph, call->inputs[6], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n17 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n15, n16}, 2, NULL);
    bd_node n18 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n6, n17}, 2, NULL);
    bd_node n23;
    if (call->inputs[3] != BD_NODE_NONE) {
        bd_node n22;
        if (call->inputs[7] != BD_NODE_NONE) {
            bd_node n19 = bd_build_cast(graph, call->inputs[7], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
            bd_node n20 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n19, call->inputs[3]}, 2, NULL);
            bd_node n21 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n20, n18}, 2, NULL);
            n22 = n21;
        } else {
            n22 = n18;
        }
        n23 = n22;
    } else {
        n23 = n18;
    }
    bd_node n24 = bd_build_cast(graph, call->inputs[4], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n25 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n24, n23}, 2, NULL);
    bd_node n26 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n25}, 2, NULL);
    bd_node n27 = BD_NODE_NONE; bd_node n28 = BD_NODE_NONE; bd_node n29 = BD_NODE_NONE;
    if (call->inputs[3] != BD_NODE_NONE) {
        n27 = n26;
        n28 = n14;
        n29 = n23;
    } else {
        n27 = n26;
        n28 = n14;
    }
    out[0] = n27;
    out[1] = n28;
    out[2] = n29;
    return call->inputs[3] != BD_NODE_NONE ? 3 : 2;
}

static uint32_t decompose_rmsprop_centered_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n2;
    if (call->attrs[0].value) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[1]}, 1, NULL);
        n2 = n1;
    } else {
        n2 = call->inputs[1];
    }
    bd_node n6;
    if (call->inputs[9] != BD_NODE_NONE) {
        bd_node n3 = bd_build_cast(graph, call->inputs[9], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, call->inputs[0]}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n2, n4}, 2, NULL);
        n6 = n5;
    } else {
        n6 = n2;
    }
    bd_node n7 = bd_build_cast(graph, call->inputs[6], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n8 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[2], n7}, 2, NULL);
    bd_node n9 = bd_rule_whole(graph, 1);
    bd_node n10 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n9, call->inputs[6]}, 2, NULL);
    bd_node n11 = bd_build_cast(graph, n10, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n12 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n6, n6}, 2, NULL);
    bd_node n13 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n11, n12}, 2, NULL);
    bd_node n14 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n8, n13}, 2, NULL);
    bd_node n15 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n6, call->inputs[3]}, 2, NULL);
    bd_node n16 = bd_rule_whole(graph, 1);
    bd_node n17 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n16, call->inputs[6]}, 2, NULL);
    bd_node n18 = bd_build_cast(graph, n17, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n19 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n15, n18}, 2, NULL);
    bd_node n20 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[3], n19}, 2, NULL);
    bd_node n21 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n20, n20}, 2, NULL);
    bd_node n22 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n14, n21}, 2, NULL);
    bd_node n23 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n22}, 1, NULL);
    bd_node n24 = bd_build_cast(graph, call->inputs[7], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n25 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n23, n24}, 2, NULL);
    bd_node n26 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n6, n25}, 2, NULL);
    bd_node n31;
    if (call->inputs[4] != BD_NODE_NONE) {
        bd_node n30;
        if (call->inputs[8] != BD_NODE_NONE) {
            bd_node n27 = bd_build_cast(graph, call->inputs[8], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
            bd_node n28 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n27, call->inputs[4]}, 2, NULL);
            bd_node n29 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n28, n26}, 2, NULL);
            n30 = n29;
        } else {
            n30 = n26;
        }
        n31 = n30;
    } else {
        n31 = n26;
    }
    bd_node n32 = bd_build_cast(graph, call->inputs[5], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n33 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n32, n31}, 2, NULL);
    bd_node n34 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n33}, 2, NULL);
    bd_node n35 = BD_NODE_NONE; bd_node n36 = BD_NODE_NONE; bd_node n37 = BD_NODE_NONE; bd_node n38 = BD_NODE_NONE;
    if (call->inputs[4] != BD_NODE_NONE) {
        n35 = n34;
        n36 = n14;
        n37 = n20;
        n38 = n31;
    } else {
        n35 = n34;
        n36 = n14;
        n37 = n20;
    }
    out[0] = n35;
    out[1] = n36;
    out[2] = n37;
    out[3] = n38;
    return call->inputs[4] != BD_NODE_NONE ? 4 : 3;
}

static uint32_t decompose_adagrad_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n2;
    if (call->attrs[0].value) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[1]}, 1, NULL);
        n2 = n1;
    } else {
        n2 = call->inputs[1];
    }
    bd_node n6;
    if (call->inputs[6] != BD_NODE_NONE) {
        bd_node n3 = bd_build_cast(graph, call->inputs[6], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, call->inputs[0]}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n2, n4}, 2, NULL);
        n6 = n5;
    } else {
        n6 = n2;
    }
    bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n6, n6}, 2, NULL);
    bd_node n8 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[2], n7}, 2, NULL);
    bd_node n9 = bd_rule_whole(graph, 1);
    bd_node n10 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[7], n9}, 2, NULL);
    bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n10, call->inputs[4]}, 2, NULL);
    bd_node n12 = bd_rule_whole(graph, 1);
    bd_node n13 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n12, n11}, 2, NULL);
    bd_node n14 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[3], n13}, 2, NULL);
    bd_node n15 = bd_build_cast(graph, n14, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n16 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n8}, 1, NULL);
    bd_node n17 = bd_build_cast(graph, call->inputs[5], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n18 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n16, n17}, 2, NULL);
    bd_node n19 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n6, n18}, 2, NULL);
    bd_node n20 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n15, n19}, 2, NULL);
    bd_node n21 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n20}, 2, NULL);
    out[0] = n21;
    out[1] = n8;
    return 2;
}

static uint32_t decompose_adadelta_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build_cast(graph, call->inputs[5], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n2 = bd_rule_whole(graph, 1);
    bd_node n3 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n2, call->inputs[5]}, 2, NULL);
    bd_node n4 = bd_build_cast(graph, n3, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n5 = bd_build_cast(graph, call->inputs[6], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n7;
    if (call->attrs[0].value) {
        bd_node n6 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[1]}, 1, NULL);
        n7 = n6;
    } else {
        n7 = call->inputs[1];
    }
    bd_node n11;
    if (call->inputs[7] != BD_NODE_NONE) {
        bd_node n8 = bd_build_cast(graph, call->inputs[7], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n9 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n8, call->inputs[0]}, 2, NULL);
        bd_node n10 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n7, n9}, 2, NULL);
        n11 = n10;
    } else {
        n11 = n7;
    }
    bd_node n12 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[2], n1}, 2, NULL);
    bd_node n13 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n11, n11}, 2, NULL);
    bd_node n14 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, n13}, 2, NULL);
    bd_node n15 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n12, n14}, 2, NULL);
    bd_node n16 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[3], n5}, 2, NULL);
    bd_node n17 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n15, n5}, 2, NULL);
    bd_node n18 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n16, n17}, 2, NULL);
    bd_node n19 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n18}, 1, NULL);
    bd_node n20 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n19, n11}, 2, NULL);
    bd_node n21 = bd_build_cast(graph, call->inputs[4], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n22 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n21, n20}, 2, NULL);
    bd_node n23 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n22}, 2, NULL);
    bd_node n24 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[3], n1}, 2, NULL);
    bd_node n25 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n20, n20}, 2, NULL);
    bd_node n26 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, n25}, 2, NULL);
    bd_node n27 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n24, n26}, 2, NULL);
    out[0] = n23;
    out[1] = n15;
    out[2] = n27;
    return 3;
}

static uint32_t decompose_adamax_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n2;
    if (call->attrs[0].value) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[1]}, 1, NULL);
        n2 = n1;
    } else {
        n2 = call->inputs[1];
    }
    bd_node n6;
    if (call->inputs[8] != BD_NODE_NONE) {
        bd_node n3 = bd_build_cast(graph, call->inputs[8], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, call->inputs[0]}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n2, n4}, 2, NULL);
        n6 = n5;
    } else {
        n6 = n2;
    }
    bd_node n7 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n6, call->inputs[2]}, 2, NULL);
    bd_node n8 = bd_rule_whole(graph, 1);
    bd_node n9 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n8, call->inputs[5]}, 2, NULL);
    bd_node n10 = bd_build_cast(graph, n9, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n7, n10}, 2, NULL);
    bd_node n12 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[2], n11}, 2, NULL);
    bd_node n13 = bd_build_cast(graph, call->inputs[6], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n14 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[3], n13}, 2, NULL);
    bd_node n15 = bd_build(graph, BURN_OP_ABS, (bd_node[]){n6}, 1, NULL);
    bd_node n16 = bd_build_cast(graph, call->inputs[7], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n17 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n15, n16}, 2, NULL);
    bd_node n18 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){n14, n17}, 2, NULL);
    bd_node n19 = bd_build(graph, BURN_OP_POW, (bd_node[]){call->inputs[5], call->inputs[9]}, 2, NULL);
    bd_node n20 = bd_rule_whole(graph, 1);
    bd_node n21 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n20, n19}, 2, NULL);
    bd_node n22 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[4], n21}, 2, NULL);
    bd_node n23 = bd_build_cast(graph, n22, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n24 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n12, n18}, 2, NULL);
    bd_node n25 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n23, n24}, 2, NULL);
    bd_node n26 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n25}, 2, NULL);
    out[0] = n26;
    out[1] = n12;
    out[2] = n18;
    return 3;
}

static uint32_t decompose_nadam_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n2;
    if (call->attrs[1].value) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[1]}, 1, NULL);
        n2 = n1;
    } else {
        n2 = call->inputs[1];
    }
    bd_node n8;
    if ((call->inputs[8] != BD_NODE_NONE) && (call->attrs[0].value)) {
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[4], call->inputs[8]}, 2, NULL);
        bd_node n4 = bd_rule_whole(graph, 1);
        bd_node n5 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n4, n3}, 2, NULL);
        bd_node n6 = bd_build_cast(graph, n5, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n6}, 2, NULL);
        n8 = n7;
    } else {
        n8 = call->inputs[0];
    }
    bd_node n12;
    if ((call->inputs[8] != BD_NODE_NONE) && (!(call->attrs[0].value))) {
        bd_node n9 = bd_build_cast(graph, call->inputs[8], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, call->inputs[0]}, 2, NULL);
        bd_node n11 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n2, n10}, 2, NULL);
        n12 = n11;
    } else {
        n12 = n2;
    }
    bd_node n13 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n12, call->inputs[2]}, 2, NULL);
    bd_node n14 = bd_rule_whole(graph, 1);
    bd_node n15 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n14, call->inputs[5]}, 2, NULL);
    bd_node n16 = bd_build_cast(graph, n15, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n17 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n13, n16}, 2, NULL);
    bd_node n18 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[2], n17}, 2, NULL);
    bd_node n19 = bd_build_cast(graph, call->inputs[6], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n20 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[3], n19}, 2, NULL);
    bd_node n21 = bd_rule_whole(graph, 1);
    bd_node n22 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n21, call->inputs[6]}, 2, NULL);
    bd_node n23 = bd_build_cast(graph, n22, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n24 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n12, n12}, 2, NULL);
    bd_node n25 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n23, n24}, 2, NULL);
    bd_node n26 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n20, n25}, 2, NULL);
    bd_node n27 = bd_build(graph, BURN_OP_POW, (bd_node[]){call->inputs[6], call->inputs[9]}, 2, NULL);
    bd_node n28 = bd_rule_whole(graph, 1);
    bd_node n29 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n28, n27}, 2, NULL);
    bd_node n30 = bd_build_cast(graph, n29, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n31 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n26, n30}, 2, NULL);
    bd_node n32 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n31}, 1, NULL);
    bd_node n33 = bd_build_cast(graph, call->inputs[7], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n34 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n32, n33}, 2, NULL);
    bd_node n35 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[4], call->inputs[10]}, 2, NULL);
    bd_node n36 = bd_build_cast(graph, n35, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n37 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n36, n12}, 2, NULL);
    bd_node n38 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[4], call->inputs[11]}, 2, NULL);
    bd_node n39 = bd_build_cast(graph, n38, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n40 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n39, n18}, 2, NULL);
    bd_node n41 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n37, n40}, 2, NULL);
    bd_node n42 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n41, n34}, 2, NULL);
    bd_node n43 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n8, n42}, 2, NULL);
    out[0] = n43;
    out[1] = n18;
    out[2] = n26;
    return 3;
}

static uint32_t decompose_radam_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n2;
    if (call->attrs[1].value) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[1]}, 1, NULL);
        n2 = n1;
    } else {
        n2 = call->inputs[1];
    }
    bd_node n8;
    if ((call->inputs[8] != BD_NODE_NONE) && (call->attrs[0].value)) {
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[4], call->inputs[8]}, 2, NULL);
        bd_node n4 = bd_rule_whole(graph, 1);
        bd_node n5 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n4, n3}, 2, NULL);
        bd_node n6 = bd_build_cast(graph, n5, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n6}, 2, NULL);
        n8 = n7;
    } else {
        n8 = call->inputs[0];
    }
    bd_node n12;
    if ((call->inputs[8] != BD_NODE_NONE) && (!(call->attrs[0].value))) {
        bd_node n9 = bd_build_cast(graph, call->inputs[8], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n10 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, call->inputs[0]}, 2, NULL);
        bd_node n11 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n2, n10}, 2, NULL);
        n12 = n11;
    } else {
        n12 = n2;
    }
    bd_node n13 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n12, call->inputs[2]}, 2, NULL);
    bd_node n14 = bd_rule_whole(graph, 1);
    bd_node n15 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n14, call->inputs[5]}, 2, NULL);
    bd_node n16 = bd_build_cast(graph, n15, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n17 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n13, n16}, 2, NULL);
    bd_node n18 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[2], n17}, 2, NULL);
    bd_node n19 = bd_build_cast(graph, call->inputs[6], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n20 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[3], n19}, 2, NULL);
    bd_node n21 = bd_rule_whole(graph, 1);
    bd_node n22 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n21, call->inputs[6]}, 2, NULL);
    bd_node n23 = bd_build_cast(graph, n22, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n24 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n12, n12}, 2, NULL);
    bd_node n25 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n23, n24}, 2, NULL);
    bd_node n26 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n20, n25}, 2, NULL);
    bd_node n27 = bd_build(graph, BURN_OP_POW, (bd_node[]){call->inputs[6], call->inputs[9]}, 2, NULL);
    bd_node n28 = bd_rule_whole(graph, 1);
    bd_node n29 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n28, n27}, 2, NULL);
    bd_node n30 = bd_rule_whole(graph, 1);
    bd_node n31 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n30, call->inputs[6]}, 2, NULL);
    bd_node n32 = bd_rule_whole(graph, 2);
    bd_node n33 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n32, n31}, 2, NULL);
    bd_node n34 = bd_rule_whole(graph, 1);
    bd_node n35 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n33, n34}, 2, NULL);
    bd_node n36 = bd_rule_whole(graph, 2);
    bd_node n37 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n36, call->inputs[9]}, 2, NULL);
    bd_node n38 = bd_build(graph, BURN_OP_POW, (bd_node[]){call->inputs[6], call->inputs[9]}, 2, NULL);
    bd_node n39 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n37, n38}, 2, NULL);
    bd_node n40 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n39, n29}, 2, NULL);
    bd_node n41 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n35, n40}, 2, NULL);
    bd_node n42 = bd_rule_whole(graph, 4);
    bd_node n43 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n41, n42}, 2, NULL);
    bd_node n44 = bd_rule_whole(graph, 2);
    bd_node n45 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n41, n44}, 2, NULL);
    bd_node n46 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n43, n45}, 2, NULL);
    bd_node n47 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n46, n35}, 2, NULL);
    bd_node n48 = bd_rule_whole(graph, 4);
    bd_node n49 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n35, n48}, 2, NULL);
    bd_node n50 = bd_rule_whole(graph, 2);
    bd_node n51 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n35, n50}, 2, NULL);
    bd_node n52 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n49, n51}, 2, NULL);
    bd_node n53 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n52, n41}, 2, NULL);
    bd_node n54 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n47, n53}, 2, NULL);
    bd_node n55 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n54}, 1, NULL);
    bd_node n56 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n29}, 1, NULL);
    bd_node n57 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n55, n56}, 2, NULL);
    bd_node n58 = bd_build(graph, BURN_OP_POW, (bd_node[]){call->inputs[5], call->inputs[9]}, 2, NULL);
    bd_node n59 = bd_rule_whole(graph, 1);
    bd_node n60 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n59, n58}, 2, NULL);
    bd_node n61 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->inputs[4], n60}, 2, NULL);
    bd_node n62 = bd_build_cast(graph, n61, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n63 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n18, n62}, 2, NULL);
    bd_node n64 = bd_build_cast(graph, n57, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n65 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n63, n64}, 2, NULL);
    bd_node n66 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n26}, 1, NULL);
    bd_node n67 = bd_build_cast(graph, call->inputs[7], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n68 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n66, n67}, 2, NULL);
    bd_node n69 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n65, n68}, 2, NULL);
    bd_node n70 = bd_rule_whole(graph, 5);
    bd_node n71 = bd_build(graph, BURN_OP_GT, (bd_node[]){n41, n70}, 2, NULL);
    bd_node n72 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n71, n69, n63}, 3, NULL);
    bd_node n73 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n8, n72}, 2, NULL);
    out[0] = n73;
    out[1] = n18;
    out[2] = n26;
    return 3;
}

static uint32_t decompose_rprop_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n2;
    if (call->attrs[0].value) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[1]}, 1, NULL);
        n2 = n1;
    } else {
        n2 = call->inputs[1];
    }
    bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n2, call->inputs[2]}, 2, NULL);
    bd_node n4 = bd_rule_whole(graph, 0);
    bd_node n5 = bd_build(graph, BURN_OP_GT, (bd_node[]){n3, n4}, 2, NULL);
    bd_node n6 = bd_build_cast(graph, call->inputs[5], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[3], n6}, 2, NULL);
    bd_node n8 = bd_rule_whole(graph, 0);
    bd_node n9 = bd_build(graph, BURN_OP_LT, (bd_node[]){n3, n8}, 2, NULL);
    bd_node n10 = bd_build_cast(graph, call->inputs[4], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[3], n10}, 2, NULL);
    bd_node n12 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n9, n11, call->inputs[3]}, 3, NULL);
    bd_node n13 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n5, n7, n12}, 3, NULL);
    bd_node n14 = bd_build_cast(graph, call->inputs[6], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n15 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){n13, n14}, 2, NULL);
    bd_node n16 = bd_build_cast(graph, call->inputs[7], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n17 = bd_build(graph, BURN_OP_MINIMUM, (bd_node[]){n15, n16}, 2, NULL);
    bd_node n18 = bd_rule_whole(graph, 0);
    bd_node n19 = bd_build(graph, BURN_OP_LT, (bd_node[]){n3, n18}, 2, NULL);
    bd_node n20 = bd_rule_whole(graph, 0);
    bd_node n21 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n19, n20, n2}, 3, NULL);
    bd_node n22 = bd_build(graph, BURN_OP_SIGN, (bd_node[]){n21}, 1, NULL);
    bd_node n23 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n22, n17}, 2, NULL);
    bd_node n24 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n23}, 2, NULL);
    out[0] = n24;
    out[1] = n21;
    out[2] = n17;
    return 3;
}

static uint32_t decompose_asgd_step(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n2;
    if (call->attrs[0].value) {
        bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[1]}, 1, NULL);
        n2 = n1;
    } else {
        n2 = call->inputs[1];
    }
    bd_node n6;
    if (call->inputs[6] != BD_NODE_NONE) {
        bd_node n3 = bd_build_cast(graph, call->inputs[6], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, call->inputs[0]}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n2, n4}, 2, NULL);
        n6 = n5;
    } else {
        n6 = n2;
    }
    bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[4], call->inputs[3]}, 2, NULL);
    bd_node n8 = bd_rule_whole(graph, 1);
    bd_node n9 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n8, n7}, 2, NULL);
    bd_node n10 = bd_build_cast(graph, n9, (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n10}, 2, NULL);
    bd_node n12 = bd_build_cast(graph, call->inputs[3], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n13 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n12, n6}, 2, NULL);
    bd_node n14 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n11, n13}, 2, NULL);
    bd_node n15 = bd_rule_whole(graph, 1);
    bd_node n16 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[5], n15}, 2, NULL);
    bd_node n17 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n14, call->inputs[2]}, 2, NULL);
    bd_node n18 = bd_build_cast(graph, call->inputs[5], (burn_dtype)(bd_graph_at(graph, call->inputs[0])->dtype));
    bd_node n19 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n17, n18}, 2, NULL);
    bd_node n20 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[2], n19}, 2, NULL);
    bd_node n21 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n16, n14, n20}, 3, NULL);
    out[0] = n14;
    out[1] = n21;
    return 2;
}

static void gradient_erfinv(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->self, call->self}, 2, NULL);
        bd_node n2 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n1}, 1, NULL);
        bd_node n3 = bd_rule_number(graph, 0.886226925452758);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n3, n2}, 2, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n4}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n5, call->inputs[0]);
    }
}

static uint32_t decompose_erfinv(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_whole(graph, 1);
    bd_node n2 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n1, call->inputs[0]}, 2, NULL);
    bd_node n3 = bd_rule_whole(graph, 1);
    bd_node n4 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n3, call->inputs[0]}, 2, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n2, n4}, 2, NULL);
    bd_node n6 = bd_build(graph, BURN_OP_LOG, (bd_node[]){n5}, 1, NULL);
    bd_node n7 = bd_rule_number(graph, 0.5);
    bd_node n8 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n7, n6}, 2, NULL);
    bd_node n9 = bd_rule_number(graph, 4.330746750799873);
    bd_node n10 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n9, n8}, 2, NULL);
    bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n10, n10}, 2, NULL);
    bd_node n12 = bd_rule_number(graph, 6.802721088435375);
    bd_node n13 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n6, n12}, 2, NULL);
    bd_node n14 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n11, n13}, 2, NULL);
    bd_node n15 = bd_rule_whole(graph, 0);
    bd_node n16 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){n14, n15}, 2, NULL);
    bd_node n17 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n16}, 1, NULL);
    bd_node n18 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n17, n10}, 2, NULL);
    bd_node n19 = bd_rule_whole(graph, 0);
    bd_node n20 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){n18, n19}, 2, NULL);
    bd_node n21 = bd_build(graph, BURN_OP_SQRT, (bd_node[]){n20}, 1, NULL);
    bd_node n22 = bd_build(graph, BURN_OP_ABS, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n23 = bd_rule_number(graph, 0.5);
    bd_node n24 = bd_build(graph, BURN_OP_LT, (bd_node[]){n22, n23}, 2, NULL);
    bd_node n25 = bd_build(graph, BURN_OP_ERF, (bd_node[]){n21}, 1, NULL);
    bd_node n26 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n25, n22}, 2, NULL);
    bd_node n27 = bd_rule_whole(graph, 1);
    bd_node n28 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n27, n22}, 2, NULL);
    bd_node n29 = bd_build(graph, BURN_OP_ERFC, (bd_node[]){n21}, 1, NULL);
    bd_node n30 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n28, n29}, 2, NULL);
    bd_node n31 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n24, n26, n30}, 3, NULL);
    bd_node n32 = bd_rule_number(graph, 0.886226925452758);
    bd_node n33 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n31, n32}, 2, NULL);
    bd_node n34 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n21, n21}, 2, NULL);
    bd_node n35 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n34}, 1, NULL);
    bd_node n36 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n33, n35}, 2, NULL);
    bd_node n37 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n21, n36}, 2, NULL);
    bd_node n38 = bd_rule_whole(graph, 1);
    bd_node n39 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n38, n37}, 2, NULL);
    bd_node n40 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n36, n39}, 2, NULL);
    bd_node n41 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n21, n40}, 2, NULL);
    bd_node n42 = bd_rule_number(graph, 0.5);
    bd_node n43 = bd_build(graph, BURN_OP_LT, (bd_node[]){n22, n42}, 2, NULL);
    bd_node n44 = bd_build(graph, BURN_OP_ERF, (bd_node[]){n41}, 1, NULL);
    bd_node n45 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n44, n22}, 2, NULL);
    bd_node n46 = bd_rule_whole(graph, 1);
    bd_node n47 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n46, n22}, 2, NULL);
    bd_node n48 = bd_build(graph, BURN_OP_ERFC, (bd_node[]){n41}, 1, NULL);
    bd_node n49 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n47, n48}, 2, NULL);
    bd_node n50 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n43, n45, n49}, 3, NULL);
    bd_node n51 = bd_rule_number(graph, 0.886226925452758);
    bd_node n52 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n50, n51}, 2, NULL);
    bd_node n53 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n41, n41}, 2, NULL);
    bd_node n54 = bd_build(graph, BURN_OP_EXP, (bd_node[]){n53}, 1, NULL);
    bd_node n55 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n52, n54}, 2, NULL);
    bd_node n56 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n41, n55}, 2, NULL);
    bd_node n57 = bd_rule_whole(graph, 1);
    bd_node n58 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n57, n56}, 2, NULL);
    bd_node n59 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n55, n58}, 2, NULL);
    bd_node n60 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n41, n59}, 2, NULL);
    bd_node n61 = bd_rule_whole(graph, 1);
    bd_node n62 = bd_build(graph, BURN_OP_EQ, (bd_node[]){n22, n61}, 2, NULL);
    bd_node n63 = bd_rule_whole(graph, 1);
    bd_node n64 = bd_build(graph, BURN_OP_SUB, (bd_node[]){n63, n22}, 2, NULL);
    bd_node n65 = bd_rule_whole(graph, 1);
    bd_node n66 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n65, n64}, 2, NULL);
    bd_node n67 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n62, n66, n60}, 3, NULL);
    bd_node n68 = bd_build(graph, BURN_OP_SIGN, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n69 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n67, n68}, 2, NULL);
    out[0] = n69;
    return 1;
}

static uint32_t decompose_xlogy(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_whole(graph, 0);
    bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], n1}, 2, NULL);
    bd_node n3 = bd_rule_whole(graph, 0);
    bd_node n4 = bd_build(graph, BURN_OP_LE, (bd_node[]){call->inputs[1], n3}, 2, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_ISINF, (bd_node[]){call->inputs[1]}, 1, NULL);
    bd_node n6 = bd_build(graph, BURN_OP_LOGICAL_OR, (bd_node[]){n4, n5}, 2, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_LOGICAL_AND, (bd_node[]){n2, n6}, 2, NULL);
    bd_node n8 = bd_rule_whole(graph, 1);
    bd_node n9 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n7, n8, call->inputs[1]}, 3, NULL);
    bd_node n10 = bd_build(graph, BURN_OP_LOG, (bd_node[]){n9}, 1, NULL);
    bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n10}, 2, NULL);
    out[0] = n11;
    return 1;
}

static void gradient_copysign(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_rule_whole(graph, 0);
        bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], n1}, 2, NULL);
        bd_node n3 = bd_build(graph, BURN_OP_DIV, (bd_node[]){call->self, call->inputs[0]}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n3}, 2, NULL);
        bd_node n5 = bd_rule_whole(graph, 0);
        bd_node n6 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n2, n5, n4}, 3, NULL);
        out[0] = bd_rule_gradient(graph, n6, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_rule_zeros(graph, call->inputs[1]);
        out[1] = bd_rule_gradient(graph, n1, call->inputs[1]);
    }
}

static uint32_t decompose_copysign(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_rule_whole(graph, 0);
    bd_node n2 = bd_build(graph, BURN_OP_LT, (bd_node[]){call->inputs[1], n1}, 2, NULL);
    bd_node n3 = bd_rule_whole(graph, 0);
    bd_node n4 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[1], n3}, 2, NULL);
    bd_node n5 = bd_rule_whole(graph, 1);
    bd_node n6 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n5, call->inputs[1]}, 2, NULL);
    bd_node n7 = bd_rule_whole(graph, 0);
    bd_node n8 = bd_build(graph, BURN_OP_LT, (bd_node[]){n6, n7}, 2, NULL);
    bd_node n9 = bd_build(graph, BURN_OP_LOGICAL_AND, (bd_node[]){n4, n8}, 2, NULL);
    bd_node n10 = bd_build(graph, BURN_OP_LOGICAL_OR, (bd_node[]){n2, n9}, 2, NULL);
    bd_node n11 = bd_build(graph, BURN_OP_ABS, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n12 = bd_build(graph, BURN_OP_NEG, (bd_node[]){n11}, 1, NULL);
    bd_node n13 = bd_build(graph, BURN_OP_ABS, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n14 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n10, n12, n13}, 3, NULL);
    out[0] = n14;
    return 1;
}

static uint32_t decompose_ldexp(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_EXP2, (bd_node[]){call->inputs[1]}, 1, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n1}, 2, NULL);
    out[0] = n2;
    return 1;
}

static void gradient_logaddexp2(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    out[0] = BD_NODE_NONE;
    if (call->wanted[0]) {
        bd_node n1 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
        bd_node n2 = bd_rule_number(graph, 0.6931471805599453);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, n2}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_SIGMOID, (bd_node[]){n3}, 1, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n4}, 2, NULL);
        out[0] = bd_rule_gradient(graph, n5, call->inputs[0]);
    }
    out[1] = BD_NODE_NONE;
    if (call->wanted[1]) {
        bd_node n1 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[1], call->inputs[0]}, 2, NULL);
        bd_node n2 = bd_rule_number(graph, 0.6931471805599453);
        bd_node n3 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n1, n2}, 2, NULL);
        bd_node n4 = bd_build(graph, BURN_OP_SIGMOID, (bd_node[]){n3}, 1, NULL);
        bd_node n5 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->gradient, n4}, 2, NULL);
        out[1] = bd_rule_gradient(graph, n5, call->inputs[1]);
    }
}

static uint32_t decompose_logaddexp2(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_ISINF, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n2 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
    bd_node n3 = bd_build(graph, BURN_OP_LOGICAL_AND, (bd_node[]){n1, n2}, 2, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_MAXIMUM, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
    bd_node n5 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], call->inputs[1]}, 2, NULL);
    bd_node n6 = bd_build(graph, BURN_OP_ABS, (bd_node[]){n5}, 1, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_NEG, (bd_node[]){n6}, 1, NULL);
    bd_node n8 = bd_build(graph, BURN_OP_EXP2, (bd_node[]){n7}, 1, NULL);
    bd_node n9 = bd_build(graph, BURN_OP_LOG1P, (bd_node[]){n8}, 1, NULL);
    bd_node n10 = bd_rule_number(graph, 1.4426950408889634);
    bd_node n11 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n10}, 2, NULL);
    bd_node n12 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n4, n11}, 2, NULL);
    bd_node n13 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n3, call->inputs[0], n12}, 3, NULL);
    out[0] = n13;
    return 1;
}

static uint32_t decompose_zeta(const bd_rule_call *call, bd_node *out)
{
    bd_graph *graph = call->graph;
    bd_node n1 = bd_build(graph, BURN_OP_NEG, (bd_node[]){call->inputs[0]}, 1, NULL);
    bd_node n2 = bd_rule_whole(graph, 12);
    bd_node n3 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[1], n2}, 2, NULL);
    bd_node n4 = bd_build(graph, BURN_OP_POW, (bd_node[]){n3, n1}, 2, NULL);
    bd_node n5 = bd_rule_whole(graph, 1);
    bd_node n6 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n5, n3}, 2, NULL);
    bd_node n7 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n6, n6}, 2, NULL);
    bd_node n8 = bd_build(graph, BURN_OP_MUL, (bd_node[]){call->inputs[0], n6}, 2, NULL);
    bd_node n9 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n8, n4}, 2, NULL);
    bd_node n10 = bd_rule_whole(graph, 1);
    bd_node n11 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n10}, 2, NULL);
    bd_node n12 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n11}, 2, NULL);
    bd_node n13 = bd_rule_whole(graph, 2);
    bd_node n14 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n13}, 2, NULL);
    bd_node n15 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n12, n14}, 2, NULL);
    bd_node n16 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n15, n7}, 2, NULL);
    bd_node n17 = bd_rule_whole(graph, 3);
    bd_node n18 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n17}, 2, NULL);
    bd_node n19 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n16, n18}, 2, NULL);
    bd_node n20 = bd_rule_whole(graph, 4);
    bd_node n21 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n20}, 2, NULL);
    bd_node n22 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n19, n21}, 2, NULL);
    bd_node n23 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n22, n7}, 2, NULL);
    bd_node n24 = bd_rule_whole(graph, 5);
    bd_node n25 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n24}, 2, NULL);
    bd_node n26 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n23, n25}, 2, NULL);
    bd_node n27 = bd_rule_whole(graph, 6);
    bd_node n28 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n27}, 2, NULL);
    bd_node n29 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n26, n28}, 2, NULL);
    bd_node n30 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n29, n7}, 2, NULL);
    bd_node n31 = bd_rule_whole(graph, 7);
    bd_node n32 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n31}, 2, NULL);
    bd_node n33 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n30, n32}, 2, NULL);
    bd_node n34 = bd_rule_whole(graph, 8);
    bd_node n35 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n34}, 2, NULL);
    bd_node n36 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n33, n35}, 2, NULL);
    bd_node n37 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n36, n7}, 2, NULL);
    bd_node n38 = bd_rule_whole(graph, 9);
    bd_node n39 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n38}, 2, NULL);
    bd_node n40 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n37, n39}, 2, NULL);
    bd_node n41 = bd_rule_whole(graph, 10);
    bd_node n42 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n41}, 2, NULL);
    bd_node n43 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n40, n42}, 2, NULL);
    bd_node n44 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n43, n7}, 2, NULL);
    bd_node n45 = bd_rule_whole(graph, 11);
    bd_node n46 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n45}, 2, NULL);
    bd_node n47 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n44, n46}, 2, NULL);
    bd_node n48 = bd_rule_whole(graph, 12);
    bd_node n49 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n48}, 2, NULL);
    bd_node n50 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n47, n49}, 2, NULL);
    bd_node n51 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n50, n7}, 2, NULL);
    bd_node n52 = bd_rule_whole(graph, 13);
    bd_node n53 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n52}, 2, NULL);
    bd_node n54 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n51, n53}, 2, NULL);
    bd_node n55 = bd_rule_whole(graph, 14);
    bd_node n56 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[0], n55}, 2, NULL);
    bd_node n57 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n54, n56}, 2, NULL);
    bd_node n58 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n57, n7}, 2, NULL);
    bd_node n59 = bd_build(graph, BURN_OP_POW, (bd_node[]){call->inputs[1], n1}, 2, NULL);
    bd_node n60 = bd_rule_whole(graph, 1);
    bd_node n61 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[1], n60}, 2, NULL);
    bd_node n62 = bd_build(graph, BURN_OP_POW, (bd_node[]){n61, n1}, 2, NULL);
    bd_node n63 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n59, n62}, 2, NULL);
    bd_node n64 = bd_rule_whole(graph, 2);
    bd_node n65 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[1], n64}, 2, NULL);
    bd_node n66 = bd_build(graph, BURN_OP_POW, (bd_node[]){n65, n1}, 2, NULL);
    bd_node n67 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n63, n66}, 2, NULL);
    bd_node n68 = bd_rule_whole(graph, 3);
    bd_node n69 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[1], n68}, 2, NULL);
    bd_node n70 = bd_build(graph, BURN_OP_POW, (bd_node[]){n69, n1}, 2, NULL);
    bd_node n71 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n67, n70}, 2, NULL);
    bd_node n72 = bd_rule_whole(graph, 4);
    bd_node n73 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[1], n72}, 2, NULL);
    bd_node n74 = bd_build(graph, BURN_OP_POW, (bd_node[]){n73, n1}, 2, NULL);
    bd_node n75 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n71, n74}, 2, NULL);
    bd_node n76 = bd_rule_whole(graph, 5);
    bd_node n77 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[1], n76}, 2, NULL);
    bd_node n78 = bd_build(graph, BURN_OP_POW, (bd_node[]){n77, n1}, 2, NULL);
    bd_node n79 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n75, n78}, 2, NULL);
    bd_node n80 = bd_rule_whole(graph, 6);
    bd_node n81 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[1], n80}, 2, NULL);
    bd_node n82 = bd_build(graph, BURN_OP_POW, (bd_node[]){n81, n1}, 2, NULL);
    bd_node n83 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n79, n82}, 2, NULL);
    bd_node n84 = bd_rule_whole(graph, 7);
    bd_node n85 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[1], n84}, 2, NULL);
    bd_node n86 = bd_build(graph, BURN_OP_POW, (bd_node[]){n85, n1}, 2, NULL);
    bd_node n87 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n83, n86}, 2, NULL);
    bd_node n88 = bd_rule_whole(graph, 8);
    bd_node n89 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[1], n88}, 2, NULL);
    bd_node n90 = bd_build(graph, BURN_OP_POW, (bd_node[]){n89, n1}, 2, NULL);
    bd_node n91 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n87, n90}, 2, NULL);
    bd_node n92 = bd_rule_whole(graph, 9);
    bd_node n93 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[1], n92}, 2, NULL);
    bd_node n94 = bd_build(graph, BURN_OP_POW, (bd_node[]){n93, n1}, 2, NULL);
    bd_node n95 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n91, n94}, 2, NULL);
    bd_node n96 = bd_rule_whole(graph, 10);
    bd_node n97 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[1], n96}, 2, NULL);
    bd_node n98 = bd_build(graph, BURN_OP_POW, (bd_node[]){n97, n1}, 2, NULL);
    bd_node n99 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n95, n98}, 2, NULL);
    bd_node n100 = bd_rule_whole(graph, 11);
    bd_node n101 = bd_build(graph, BURN_OP_ADD, (bd_node[]){call->inputs[1], n100}, 2, NULL);
    bd_node n102 = bd_build(graph, BURN_OP_POW, (bd_node[]){n101, n1}, 2, NULL);
    bd_node n103 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n99, n102}, 2, NULL);
    bd_node n104 = bd_rule_number(graph, -3.3896802963225827e-13);
    bd_node n105 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n58, n104}, 2, NULL);
    bd_node n106 = bd_rule_number(graph, 1.3382536530684679e-11);
    bd_node n107 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n51, n106}, 2, NULL);
    bd_node n108 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n105, n107}, 2, NULL);
    bd_node n109 = bd_rule_number(graph, -5.284190138687493e-10);
    bd_node n110 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n44, n109}, 2, NULL);
    bd_node n111 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n108, n110}, 2, NULL);
    bd_node n112 = bd_rule_number(graph, 2.08767569878681e-08);
    bd_node n113 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n37, n112}, 2, NULL);
    bd_node n114 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n111, n113}, 2, NULL);
    bd_node n115 = bd_rule_number(graph, -8.267195767195768e-07);
    bd_node n116 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n30, n115}, 2, NULL);
    bd_node n117 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n114, n116}, 2, NULL);
    bd_node n118 = bd_rule_number(graph, 3.306878306878307e-05);
    bd_node n119 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n23, n118}, 2, NULL);
    bd_node n120 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n117, n119}, 2, NULL);
    bd_node n121 = bd_rule_number(graph, -0.001388888888888889);
    bd_node n122 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n16, n121}, 2, NULL);
    bd_node n123 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n120, n122}, 2, NULL);
    bd_node n124 = bd_rule_number(graph, 0.08333333333333333);
    bd_node n125 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n9, n124}, 2, NULL);
    bd_node n126 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n123, n125}, 2, NULL);
    bd_node n127 = bd_rule_whole(graph, 1);
    bd_node n128 = bd_build(graph, BURN_OP_SUB, (bd_node[]){call->inputs[0], n127}, 2, NULL);
    bd_node n129 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n3, n128}, 2, NULL);
    bd_node n130 = bd_rule_number(graph, 0.5);
    bd_node n131 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n129, n130}, 2, NULL);
    bd_node n132 = bd_build(graph, BURN_OP_MUL, (bd_node[]){n4, n131}, 2, NULL);
    bd_node n133 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n132, n126}, 2, NULL);
    bd_node n134 = bd_build(graph, BURN_OP_ADD, (bd_node[]){n103, n133}, 2, NULL);
    bd_node n135 = bd_rule_whole(graph, 1);
    bd_node n136 = bd_build(graph, BURN_OP_LE, (bd_node[]){call->inputs[0], n135}, 2, NULL);
    bd_node n137 = bd_rule_whole(graph, 1);
    bd_node n138 = bd_build(graph, BURN_OP_EQ, (bd_node[]){call->inputs[0], n137}, 2, NULL);
    bd_node n139 = bd_rule_zeros(graph, call->inputs[0]);
    bd_node n140 = bd_rule_whole(graph, 1);
    bd_node n141 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n140, n139}, 2, NULL);
    bd_node n142 = bd_rule_zeros(graph, call->inputs[0]);
    bd_node n143 = bd_rule_zeros(graph, call->inputs[0]);
    bd_node n144 = bd_build(graph, BURN_OP_DIV, (bd_node[]){n142, n143}, 2, NULL);
    bd_node n145 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n138, n141, n144}, 3, NULL);
    bd_node n146 = bd_build(graph, BURN_OP_WHERE, (bd_node[]){n136, n145, n134}, 3, NULL);
    out[0] = n146;
    return 1;
}

static const bd_gradient_rule gradient_rules[405] = {
    [BURN_OP_ADD] = gradient_add,
    [BURN_OP_SUB] = gradient_sub,
    [BURN_OP_MUL] = gradient_mul,
    [BURN_OP_DIV] = gradient_div,
    [BURN_OP_NEG] = gradient_neg,
    [BURN_OP_POW] = gradient_pow,
    [BURN_OP_MAXIMUM] = gradient_maximum,
    [BURN_OP_MINIMUM] = gradient_minimum,
    [BURN_OP_REMAINDER] = gradient_remainder,
    [BURN_OP_FMOD] = gradient_fmod,
    [BURN_OP_ABS] = gradient_abs,
    [BURN_OP_SIGN] = gradient_sign,
    [BURN_OP_EXP] = gradient_exp,
    [BURN_OP_LOG] = gradient_log,
    [BURN_OP_SQRT] = gradient_sqrt,
    [BURN_OP_RSQRT] = gradient_rsqrt,
    [BURN_OP_RECIPROCAL] = gradient_reciprocal,
    [BURN_OP_SQUARE] = gradient_square,
    [BURN_OP_SIN] = gradient_sin,
    [BURN_OP_COS] = gradient_cos,
    [BURN_OP_TAN] = gradient_tan,
    [BURN_OP_TANH] = gradient_tanh,
    [BURN_OP_SIGMOID] = gradient_sigmoid,
    [BURN_OP_RELU] = gradient_relu,
    [BURN_OP_GELU] = gradient_gelu,
    [BURN_OP_SILU] = gradient_silu,
    [BURN_OP_ERF] = gradient_erf,
    [BURN_OP_ERFC] = gradient_erfc,
    [BURN_OP_EXPM1] = gradient_expm1,
    [BURN_OP_LOG1P] = gradient_log1p,
    [BURN_OP_LOG2] = gradient_log2,
    [BURN_OP_LOG10] = gradient_log10,
    [BURN_OP_EXP2] = gradient_exp2,
    [BURN_OP_FLOOR] = gradient_floor,
    [BURN_OP_CEIL] = gradient_ceil,
    [BURN_OP_TRUNC] = gradient_trunc,
    [BURN_OP_ROUND] = gradient_round,
    [BURN_OP_ASIN] = gradient_asin,
    [BURN_OP_ACOS] = gradient_acos,
    [BURN_OP_ATAN] = gradient_atan,
    [BURN_OP_SINH] = gradient_sinh,
    [BURN_OP_COSH] = gradient_cosh,
    [BURN_OP_ASINH] = gradient_asinh,
    [BURN_OP_ACOSH] = gradient_acosh,
    [BURN_OP_ATANH] = gradient_atanh,
    [BURN_OP_LGAMMA] = gradient_lgamma,
    [BURN_OP_DIGAMMA] = gradient_digamma,
    [BURN_OP_ATAN2] = gradient_atan2,
    [BURN_OP_FMAX] = gradient_fmax,
    [BURN_OP_FMIN] = gradient_fmin,
    [BURN_OP_WHERE] = gradient_where,
    [BURN_OP_CLAMP] = gradient_clamp,
    [BURN_OP_CAST] = gradient_cast,
    [BURN_OP_LEAKY_RELU] = gradient_leaky_relu,
    [BURN_OP_ELU] = gradient_elu,
    [BURN_OP_HARDTANH] = gradient_hardtanh,
    [BURN_OP_SOFTPLUS] = gradient_softplus,
    [BURN_OP_LOGSIGMOID] = gradient_logsigmoid,
    [BURN_OP_LERP] = gradient_lerp,
    [BURN_OP_MASKED_FILL] = gradient_masked_fill,
    [BURN_OP_LOGADDEXP] = gradient_logaddexp,
    [BURN_OP_HYPOT] = gradient_hypot,
    [BURN_OP_HARDSIGMOID] = gradient_hardsigmoid,
    [BURN_OP_HARDSWISH] = gradient_hardswish,
    [BURN_OP_RESHAPE] = gradient_reshape,
    [BURN_OP_PERMUTE] = gradient_permute,
    [BURN_OP_EXPAND] = gradient_expand,
    [BURN_OP_SLICE] = gradient_slice,
    [BURN_OP_PAD] = gradient_pad,
    [BURN_OP_FLIP] = gradient_flip,
    [BURN_OP_CONCAT] = bd_gradient_concat,
    [BURN_OP_TRIL] = gradient_tril,
    [BURN_OP_TRIU] = gradient_triu,
    [BURN_OP_SUM] = gradient_sum,
    [BURN_OP_MEAN] = gradient_mean,
    [BURN_OP_PROD] = gradient_prod,
    [BURN_OP_MAX] = gradient_max,
    [BURN_OP_MIN] = gradient_min,
    [BURN_OP_VAR] = gradient_var,
    [BURN_OP_STD] = gradient_std,
    [BURN_OP_LOGSUMEXP] = gradient_logsumexp,
    [BURN_OP_SOFTMAX] = gradient_softmax,
    [BURN_OP_LOG_SOFTMAX] = gradient_log_softmax,
    [BURN_OP_LAYER_NORM] = gradient_layer_norm,
    [BURN_OP_RMS_NORM] = gradient_rms_norm,
    [BURN_OP_EMBEDDING] = gradient_embedding,
    [BURN_OP_GATHER] = gradient_gather,
    [BURN_OP_SCATTER_ADD] = gradient_scatter_add,
    [BURN_OP_SCATTER] = gradient_scatter,
    [BURN_OP_DROPOUT] = gradient_dropout,
    [BURN_OP_BERNOULLI] = gradient_bernoulli,
    [BURN_OP_CROSS_ENTROPY] = gradient_cross_entropy,
    [BURN_OP_NLL_LOSS] = gradient_nll_loss,
    [BURN_OP_DOT] = gradient_dot,
    [BURN_OP_SLICE_SET] = gradient_slice_set,
    [BURN_OP_SLICE_ADD] = gradient_slice_add,
    [BURN_OP_ATTEND] = gradient_attend,
    [BURN_OP_ATTEND_WEIGHTS] = gradient_attend_weights,
    [BURN_OP_CAUSAL] = gradient_causal,
    [BURN_OP_WINDOW] = gradient_window,
    [BURN_OP_WINDOW_ADD] = gradient_window_add,
    [BURN_OP_CONV] = gradient_conv,
    [BURN_OP_CONV_INPUT] = gradient_conv_input,
    [BURN_OP_CONV_WEIGHT] = gradient_conv_weight,
    [BURN_OP_MAX_POOL] = bd_gradient_max_pool,
    [BURN_OP_AVG_POOL] = bd_gradient_avg_pool,
    [BURN_OP_BATCH_NORM] = gradient_batch_norm,
    [BURN_OP_GROUP_NORM] = gradient_group_norm,
    [BURN_OP_CUMSUM] = gradient_cumsum,
    [BURN_OP_CUMPROD] = gradient_cumprod,
    [BURN_OP_LOGCUMSUMEXP] = gradient_logcumsumexp,
    [BURN_OP_SCATTER_PROD] = gradient_scatter_prod,
    [BURN_OP_SCATTER_MAX] = gradient_scatter_max,
    [BURN_OP_SCATTER_MIN] = gradient_scatter_min,
    [BURN_OP_ERFINV] = gradient_erfinv,
    [BURN_OP_COPYSIGN] = gradient_copysign,
    [BURN_OP_LOGADDEXP2] = gradient_logaddexp2,
};

static const bd_decompose_rule decompose_rules[405] = {
    [BURN_OP_DETACH] = decompose_detach,
    [BURN_OP_CLONE] = decompose_clone,
    [BURN_OP_SQUARE] = decompose_square,
    [BURN_OP_RELU] = decompose_relu,
    [BURN_OP_GELU] = decompose_gelu,
    [BURN_OP_SILU] = decompose_silu,
    [BURN_OP_CLAMP] = decompose_clamp,
    [BURN_OP_ISFINITE] = decompose_isfinite,
    [BURN_OP_LEAKY_RELU] = decompose_leaky_relu,
    [BURN_OP_ELU] = decompose_elu,
    [BURN_OP_HARDTANH] = decompose_hardtanh,
    [BURN_OP_SOFTPLUS] = decompose_softplus,
    [BURN_OP_LOGSIGMOID] = decompose_logsigmoid,
    [BURN_OP_LERP] = decompose_lerp,
    [BURN_OP_ADDCMUL] = decompose_addcmul,
    [BURN_OP_ADDCDIV] = decompose_addcdiv,
    [BURN_OP_MASKED_FILL] = decompose_masked_fill,
    [BURN_OP_LOGADDEXP] = decompose_logaddexp,
    [BURN_OP_HYPOT] = decompose_hypot,
    [BURN_OP_SOFTSIGN] = decompose_softsign,
    [BURN_OP_MISH] = decompose_mish,
    [BURN_OP_HARDSIGMOID] = decompose_hardsigmoid,
    [BURN_OP_HARDSWISH] = decompose_hardswish,
    [BURN_OP_STACK] = bd_decompose_stack,
    [BURN_OP_SPLIT] = bd_decompose_split,
    [BURN_OP_SLICE_UPDATE] = decompose_slice_update,
    [BURN_OP_TRIL] = decompose_tril,
    [BURN_OP_TRIU] = decompose_triu,
    [BURN_OP_MEAN] = decompose_mean,
    [BURN_OP_ANY] = decompose_any,
    [BURN_OP_ALL] = decompose_all,
    [BURN_OP_VAR] = decompose_var,
    [BURN_OP_STD] = decompose_std,
    [BURN_OP_LOGSUMEXP] = decompose_logsumexp,
    [BURN_OP_MATMUL] = bd_decompose_matmul,
    [BURN_OP_LINEAR] = decompose_linear,
    [BURN_OP_SOFTMAX] = decompose_softmax,
    [BURN_OP_LOG_SOFTMAX] = decompose_log_softmax,
    [BURN_OP_LAYER_NORM] = decompose_layer_norm,
    [BURN_OP_RMS_NORM] = decompose_rms_norm,
    [BURN_OP_EMBEDDING] = decompose_embedding,
    [BURN_OP_TAKE] = bd_decompose_take,
    [BURN_OP_TAKE_ND] = bd_decompose_take_nd,
    [BURN_OP_PUT_ND] = bd_decompose_put_nd,
    [BURN_OP_ONE_HOT] = decompose_one_hot,
    [BURN_OP_MAX_DIM] = decompose_max_dim,
    [BURN_OP_MIN_DIM] = decompose_min_dim,
    [BURN_OP_DROPOUT] = decompose_dropout,
    [BURN_OP_ARANGE] = decompose_arange,
    [BURN_OP_LINSPACE] = decompose_linspace,
    [BURN_OP_EYE] = decompose_eye,
    [BURN_OP_UNIFORM] = decompose_uniform,
    [BURN_OP_NORMAL] = decompose_normal,
    [BURN_OP_BERNOULLI] = decompose_bernoulli,
    [BURN_OP_RANDINT] = decompose_randint,
    [BURN_OP_CROSS_ENTROPY] = decompose_cross_entropy,
    [BURN_OP_NLL_LOSS] = decompose_nll_loss,
    [BURN_OP_CROSS_ENTROPY_SOFT] = decompose_cross_entropy_soft,
    [BURN_OP_MSE_LOSS] = decompose_mse_loss,
    [BURN_OP_L1_LOSS] = decompose_l1_loss,
    [BURN_OP_HUBER_LOSS] = decompose_huber_loss,
    [BURN_OP_SMOOTH_L1_LOSS] = decompose_smooth_l1_loss,
    [BURN_OP_BCE_WITH_LOGITS] = decompose_bce_with_logits,
    [BURN_OP_BCE] = decompose_bce,
    [BURN_OP_KL_DIV] = decompose_kl_div,
    [BURN_OP_SGD_STEP] = decompose_sgd_step,
    [BURN_OP_SGD_MOMENTUM_STEP] = decompose_sgd_momentum_step,
    [BURN_OP_ADAM_STEP] = decompose_adam_step,
    [BURN_OP_ADAMW_STEP] = decompose_adamw_step,
    [BURN_OP_GLOBAL_NORM] = bd_decompose_global_norm,
    [BURN_OP_CLIP_COEFFICIENT] = decompose_clip_coefficient,
    [BURN_OP_ATTEND_WEIGHTS] = decompose_attend_weights,
    [BURN_OP_CAUSAL] = decompose_causal,
    [BURN_OP_CONV] = bd_decompose_conv,
    [BURN_OP_CONV_INPUT] = bd_decompose_conv_input,
    [BURN_OP_CONV_WEIGHT] = bd_decompose_conv_weight,
    [BURN_OP_MAX_POOL] = bd_decompose_max_pool,
    [BURN_OP_MAX_POOL_INDEX] = bd_decompose_max_pool_index,
    [BURN_OP_AVG_POOL] = bd_decompose_avg_pool,
    [BURN_OP_BATCH_NORM] = decompose_batch_norm,
    [BURN_OP_BATCH_NORM_FIXED] = decompose_batch_norm_fixed,
    [BURN_OP_GROUP_NORM] = decompose_group_norm,
    [BURN_OP_CUMSUM] = decompose_cumsum,
    [BURN_OP_CUMPROD] = decompose_cumprod,
    [BURN_OP_CUMPROD_GRADIENT] = decompose_cumprod_gradient,
    [BURN_OP_CUMMAX] = decompose_cummax,
    [BURN_OP_CUMMIN] = decompose_cummin,
    [BURN_OP_SCAN_PLACES] = decompose_scan_places,
    [BURN_OP_LOGCUMSUMEXP] = decompose_logcumsumexp,
    [BURN_OP_SORT] = decompose_sort,
    [BURN_OP_ARGSORT] = decompose_argsort,
    [BURN_OP_SCATTER_EXTREME_GRADIENT] = decompose_scatter_extreme_gradient,
    [BURN_OP_LSTM_STEP] = decompose_lstm_step,
    [BURN_OP_GRU_STEP] = decompose_gru_step,
    [BURN_OP_RMSPROP_STEP] = decompose_rmsprop_step,
    [BURN_OP_RMSPROP_CENTERED_STEP] = decompose_rmsprop_centered_step,
    [BURN_OP_ADAGRAD_STEP] = decompose_adagrad_step,
    [BURN_OP_ADADELTA_STEP] = decompose_adadelta_step,
    [BURN_OP_ADAMAX_STEP] = decompose_adamax_step,
    [BURN_OP_NADAM_STEP] = decompose_nadam_step,
    [BURN_OP_RADAM_STEP] = decompose_radam_step,
    [BURN_OP_RPROP_STEP] = decompose_rprop_step,
    [BURN_OP_ASGD_STEP] = decompose_asgd_step,
    [BURN_OP_ERFINV] = decompose_erfinv,
    [BURN_OP_XLOGY] = decompose_xlogy,
    [BURN_OP_COPYSIGN] = decompose_copysign,
    [BURN_OP_LDEXP] = decompose_ldexp,
    [BURN_OP_LOGADDEXP2] = decompose_logaddexp2,
    [BURN_OP_ZETA] = decompose_zeta,
};

bd_gradient_rule bd_gradient_rule_of(burn_op op)
{
    return gradient_rules[op];
}

bd_decompose_rule bd_decompose_rule_of(burn_op op)
{
    return decompose_rules[op];
}
