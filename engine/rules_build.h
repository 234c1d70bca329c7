/* SPDX-License-Identifier: Apache-2.0
 * The vocabulary of the expressions in ops.toml beyond the ops themselves: what generated rules
 * (engine/rules_gen.c) and native ones (engine/rules_native.c) call. Each helper has the name that
 * it has in an expression, after bd_rule_. NONE in gives NONE out; lists live in the graph's
 * arena. Thread: device. */
#pragma once

#include "engine/rules.h"

/* Weak scalars, as Python's 2.5 and 2: they take the dtype of what they meet. */
bd_node bd_rule_number(bd_graph *graph, double value);
bd_node bd_rule_whole(bd_graph *graph, int64_t value);
/* What a rule found, as the gradient of an input: in the input's dtype and dims. */
bd_node bd_rule_gradient(bd_graph *graph, bd_node found, bd_node input);

int64_t bd_rule_is_float(bd_graph *graph, int64_t dtype);
/* float64 stays, all else float32: what random numbers are made in. */
int64_t bd_rule_wide(bd_graph *graph, int64_t dtype);
int64_t bd_rule_rank(bd_graph *graph, bd_node node);
/* Negative dims count from the end. */
bd_int bd_rule_size(bd_graph *graph, bd_node node, int64_t dim);
/* Whether the dim has one element, as far as the structure tells. */
int64_t bd_rule_single(bd_graph *graph, bd_node node, int64_t dim);
/* Product of dims from `first` up to `end`; both may be negative. */
bd_int bd_rule_product(bd_graph *graph, bd_node node, int64_t first, int64_t end);
/* Elements that a reduction over the dims takes together. */
bd_int bd_rule_count(bd_graph *graph, bd_node node, bd_attr_value dims);

/* Lists: dims of a node from `first` up to `end`; two lists as one; sums; ones; the inverse of a
 * permutation; the numbers of the last dims of a node, as many as `shape` has. */
/* As many of these values, copied into the arena. */
bd_attr_value bd_rule_list(bd_graph *graph, const int64_t *values, uint32_t count);
bd_attr_value bd_rule_dims(bd_graph *graph, bd_node node, int64_t first, int64_t end);
bd_attr_value bd_rule_join(bd_graph *graph, bd_attr_value a, bd_attr_value b);
bd_attr_value bd_rule_sizes_add(bd_graph *graph, bd_attr_value a, bd_attr_value b);
bd_attr_value bd_rule_ones_like(bd_graph *graph, bd_attr_value list);
bd_attr_value bd_rule_inverse(bd_graph *graph, bd_attr_value dims);
bd_attr_value bd_rule_last(bd_graph *graph, bd_node node, bd_attr_value shape);
/* Numbers of dims: all but the channels (dim 1); those from one on. */
bd_attr_value bd_rule_but_channel(bd_graph *graph, bd_node node);
bd_attr_value bd_rule_dims_from(bd_graph *graph, bd_node node, int64_t first);
/* Padding behind each place dim with which a convolution gives so many places; empty without `low`.
 * It is negative where windows do not reach the end. */
bd_attr_value bd_rule_conv_high(bd_graph *graph, bd_attr_value extents, bd_attr_value kernel,
                                bd_attr_value counts, bd_attr_value strides, bd_attr_value low,
                                bd_attr_value dilations);

bd_node bd_rule_zeros(bd_graph *graph, bd_node like);
/* The sum of two gradients of one node. What is zero outside a slice is added in its place, so that
 * those of n slices of a tensor cost as much as the tensor, not n times as much. */
bd_node bd_rule_sum_of_gradients(bd_graph *graph, bd_node a, bd_node b);
bd_node bd_rule_reshape(bd_graph *graph, bd_node node, bd_attr_value shape);
/* Broadcast to sizes. */
bd_node bd_rule_expand_to(bd_graph *graph, bd_node node, bd_attr_value sizes);
/* The sum over what broadcasting to `like` had repeated, in the dims and dtype of `like`. */
bd_node bd_rule_sum_to(bd_graph *graph, bd_node node, bd_node like);
/* What a reduction over the dims of `like` gave, broadcast back to `like`. */
bd_node bd_rule_unreduce(bd_graph *graph, bd_node node, bd_node like, bd_attr_value dims,
                         int64_t keepdim);
/* 0 as it is, 1 the mean, 2 the sum. */
bd_node bd_rule_reduced(bd_graph *graph, bd_node node, int64_t reduction);
bd_node bd_rule_squeeze(bd_graph *graph, bd_node node, int64_t dim);
/* A new dim of size 1; `dim` may be the rank. */
bd_node bd_rule_unsqueeze(bd_graph *graph, bd_node node, int64_t dim);
/* A vector laid along a dim of `like`, to be broadcast. */
bd_node bd_rule_along(bd_graph *graph, bd_node vector, bd_node like, int64_t dim);
bd_node bd_rule_swap_last(bd_graph *graph, bd_node node);
/* A dim becomes two, `outer` and the rest, which it must be divisible by; of the channels, dim
 * 1. */
bd_node bd_rule_split_dim(bd_graph *graph, bd_node node, int64_t dim, bd_int outer);
bd_node bd_rule_split_channels(bd_graph *graph, bd_node node, bd_int groups);
