/* SPDX-License-Identifier: Apache-2.0
 * The rules of ops.toml that are "native": those over any number of inputs, and those that depend
 * on ranks in more ways than an expression can say. Thread: device. */
#pragma once

#include "engine/rules.h"

void bd_gradient_concat(const bd_rule_call *call, bd_node *out_gradients);
uint32_t bd_decompose_stack(const bd_rule_call *call, bd_node *out);
uint32_t bd_decompose_split(const bd_rule_call *call, bd_node *out);
uint32_t bd_decompose_matmul(const bd_rule_call *call, bd_node *out);
uint32_t bd_decompose_take(const bd_rule_call *call, bd_node *out);
uint32_t bd_decompose_take_nd(const bd_rule_call *call, bd_node *out);
uint32_t bd_decompose_put_nd(const bd_rule_call *call, bd_node *out);
uint32_t bd_decompose_conv(const bd_rule_call *call, bd_node *out);
uint32_t bd_decompose_conv_input(const bd_rule_call *call, bd_node *out);
uint32_t bd_decompose_conv_weight(const bd_rule_call *call, bd_node *out);
uint32_t bd_decompose_max_pool(const bd_rule_call *call, bd_node *out);
void bd_gradient_max_pool(const bd_rule_call *call, bd_node *out_gradients);
uint32_t bd_decompose_max_pool_index(const bd_rule_call *call, bd_node *out);
uint32_t bd_decompose_avg_pool(const bd_rule_call *call, bd_node *out);
void bd_gradient_avg_pool(const bd_rule_call *call, bd_node *out_gradients);
uint32_t bd_decompose_global_norm(const bd_rule_call *call, bd_node *out);
