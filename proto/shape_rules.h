/* SPDX-License-Identifier: Apache-2.0
 * Shapes of an op's outputs by the named rule of its row; private to proto/. The rules stand in
 * four files by family: shape_rules.c (the table, pointwise, creation, reductions, losses),
 * shape_view.c (views and joins), shape_index.c (products and indices), shape_window.c (windows,
 * convolutions, pools). Thread: any. */
#pragma once

#include "proto/op_rules.h"

enum { BD_OUTPUTS_MAX = 65536 };

/* Operands have been checked for presence and role. Writes type and shape of every output. */
bd_error *burn_infer_shapes(const burn_op_record *record, const burn_tensor_type *const *inputs,
                            burn_dtype dtype, burn_tensor_type *outputs) BD_MUST_USE;

/* One inference, as the rules see it. */
typedef struct bd_shape_call {
    const burn_op_record *record;
    const burn_tensor_type *const *inputs;
    burn_dtype dtype; /* of the outputs */
} bd_shape_call;

/* A rule for ops all of whose outputs have one shape. */
typedef bd_error *(*bd_shape_rule)(const bd_shape_call *call, burn_shape *out);

/* Of input i; [] for a scalar. The input must be present. */
const burn_shape *bd_shape_of(const bd_shape_call *call, uint32_t i);
bool bd_input_present(const bd_shape_call *call, uint32_t i);
/* By name; the row has it. */
const burn_attr *bd_attr(const bd_shape_call *call, const char *name);
const char *burn_input_name(const burn_op_record *record, uint32_t i);
/* INVALID unless the list has `count` sizes, or for a negative count: at most RANK_MAX. */
bd_error *bd_check_list(const bd_shape_call *call, const char *name, int32_t count) BD_MUST_USE;
/* The attribute dim within input 0. */
bd_error *bd_rule_dim(const bd_shape_call *call, int32_t rank, int32_t *out) BD_MUST_USE;
/* INVALID, naming both inputs, unless input i has this shape. */
bd_error *bd_check_shape(const bd_shape_call *call, uint32_t i,
                         const burn_shape *wanted) BD_MUST_USE;

/* shape_view.c */
bd_error *bd_shape_reshape(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_permute(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_expand(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_slice(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_slice_update(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_slice_set(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_pad(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_flip(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_concat(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_stack(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_triangle(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shapes_split(const bd_shape_call *call, burn_tensor_type *outputs);

/* shape_window.c */
bd_error *bd_shape_window(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_window_add(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_conv(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_conv_input(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_conv_weight(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_channel_norm(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_pool(const bd_shape_call *call, burn_shape *out);

/* shape_index.c */
bd_error *bd_shape_matmul(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_linear(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_dot(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_layer_norm(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_embedding(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_gather(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_take(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_scatter(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_take_nd(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_put_nd(const bd_shape_call *call, burn_shape *out);
bd_error *bd_shape_one_hot(const bd_shape_call *call, burn_shape *out);
