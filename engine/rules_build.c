/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rules_build.h"

#include <string.h>

#include "proto/base/assert.h"

static int64_t *new_values(bd_graph *graph, uint32_t count);

bd_node bd_rule_number(bd_graph *graph, double value)
{
    return bd_build_number(graph, value);
}

bd_node bd_rule_whole(bd_graph *graph, int64_t value)
{
    return bd_build_whole(graph, value);
}

bd_node bd_rule_gradient(bd_graph *graph, bd_node found, bd_node input)
{
    if (found == BD_NODE_NONE || input == BD_NODE_NONE)
        return BD_NODE_NONE;
    found = bd_build_expand_as(graph, found, input);
    return bd_build_cast(graph, found, (burn_dtype)bd_graph_at(graph, input)->dtype);
}

int64_t bd_rule_is_float(bd_graph *graph, int64_t dtype)
{
    (void)graph;
    return burn_dtype_is_float((burn_dtype)dtype);
}

int64_t bd_rule_wide(bd_graph *graph, int64_t dtype)
{
    (void)graph;
    return dtype == BURN_F64 ? BURN_F64 : BURN_F32;
}

int64_t bd_rule_rank(bd_graph *graph, bd_node node)
{
    return node == BD_NODE_NONE ? 0 : bd_graph_at(graph, node)->rank;
}

bd_int bd_rule_size(bd_graph *graph, bd_node node, int64_t dim)
{
    int64_t rank = bd_rule_rank(graph, node);
    if (rank == 0)
        return BD_INT_1;
    return bd_graph_dim(graph, node, (uint32_t)bd_dim_number(dim, rank));
}

int64_t bd_rule_single(bd_graph *graph, bd_node node, int64_t dim)
{
    return bd_int_find(bd_graph_ints(graph), bd_rule_size(graph, node, dim)) == BD_INT_1;
}

bd_int bd_rule_product(bd_graph *graph, bd_node node, int64_t first, int64_t end)
{
    int64_t rank = bd_rule_rank(graph, node);
    bd_int product = BD_INT_1;
    for (int64_t axis = bd_dim_number(first, rank); axis < bd_dim_number(end, rank); axis++)
        product =
            bd_int_mul(bd_graph_ints(graph), product, bd_graph_dim(graph, node, (uint32_t)axis));
    return product;
}

bd_int bd_rule_count(bd_graph *graph, bd_node node, bd_attr_value dims)
{
    bd_int product = BD_INT_1;
    for (uint32_t i = 0; i < dims.count; i++)
        product =
            bd_int_mul(bd_graph_ints(graph), product, bd_rule_size(graph, node, dims.values[i]));
    return product;
}

/* ---- lists ----------------------------------------------------------------------------------- */

bd_attr_value bd_rule_dims(bd_graph *graph, bd_node node, int64_t first, int64_t end)
{
    int64_t rank = bd_rule_rank(graph, node);
    int64_t *values = new_values(graph, (uint32_t)rank);
    uint32_t count = 0;
    for (int64_t axis = bd_dim_number(first, rank); axis < bd_dim_number(end, rank); axis++)
        values[count++] = bd_graph_dim(graph, node, (uint32_t)axis);
    return (bd_attr_value){.values = values, .count = count};
}

bd_attr_value bd_rule_join(bd_graph *graph, bd_attr_value a, bd_attr_value b)
{
    int64_t *values = new_values(graph, a.count + b.count);
    memcpy(values, a.values, a.count * sizeof *values);
    memcpy(values + a.count, b.values, b.count * sizeof *values);
    return (bd_attr_value){.values = values, .count = a.count + b.count};
}

bd_attr_value bd_rule_sizes_add(bd_graph *graph, bd_attr_value a, bd_attr_value b)
{
    BD_ASSERT(a.count == b.count);
    int64_t *values = new_values(graph, a.count);
    for (uint32_t i = 0; i < a.count; i++)
        values[i] = bd_int_add(bd_graph_ints(graph), (bd_int)a.values[i], (bd_int)b.values[i]);
    return (bd_attr_value){.values = values, .count = a.count};
}

bd_attr_value bd_rule_ones_like(bd_graph *graph, bd_attr_value list)
{
    int64_t *values = new_values(graph, list.count);
    for (uint32_t i = 0; i < list.count; i++)
        values[i] = BD_INT_1;
    return (bd_attr_value){.values = values, .count = list.count};
}

bd_attr_value bd_rule_inverse(bd_graph *graph, bd_attr_value dims)
{
    int64_t *values = new_values(graph, dims.count);
    for (uint32_t i = 0; i < dims.count; i++)
        values[dims.values[i]] = i;
    return (bd_attr_value){.values = values, .count = dims.count};
}

bd_attr_value bd_rule_last(bd_graph *graph, bd_node node, bd_attr_value shape)
{
    int64_t values[BURN_RANK_MAX], rank = bd_rule_rank(graph, node);
    for (uint32_t i = 0; i < shape.count; i++)
        values[i] = rank - shape.count + i;
    return bd_rule_list(graph, values, shape.count);
}

bd_attr_value bd_rule_but_channel(bd_graph *graph, bd_node node)
{
    int64_t values[BURN_RANK_MAX], rank = bd_rule_rank(graph, node);
    uint32_t count = 0;
    for (int64_t dim = 0; dim < rank; dim++)
        if (dim != 1)
            values[count++] = dim;
    return bd_rule_list(graph, values, count);
}

bd_attr_value bd_rule_dims_from(bd_graph *graph, bd_node node, int64_t first)
{
    int64_t values[BURN_RANK_MAX], rank = bd_rule_rank(graph, node);
    uint32_t count = 0;
    for (int64_t dim = first; dim < rank; dim++)
        values[count++] = dim;
    return bd_rule_list(graph, values, count);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

bd_node bd_rule_zeros(bd_graph *graph, bd_node like)
{
    if (like == BD_NODE_NONE)
        return BD_NODE_NONE;
    bd_node zero = bd_rule_whole(graph, 0);
    bd_attr_value attrs[] = {bd_rule_dims(graph, like, 0, bd_rule_rank(graph, like)),
                             {.value = bd_graph_at(graph, like)->dtype}};
    return bd_build(graph, BURN_OP_FULL, &zero, 1, attrs);
}

static bool is_slice_of_zeros(bd_graph *graph, bd_node node)
{
    const bd_graph_node *at = bd_graph_at(graph, node);
    return at->kind == BD_NODE_OP && at->op == BURN_OP_SLICE_SET &&
           at->inputs[0] == bd_rule_zeros(graph, node);
}

bd_node bd_rule_sum_of_gradients(bd_graph *graph, bd_node a, bd_node b)
{
    bool swaps = !is_slice_of_zeros(graph, b);
    bd_node slice = swaps ? a : b, rest = swaps ? b : a;
    if (!is_slice_of_zeros(graph, slice))
        return bd_build(graph, BURN_OP_ADD, (bd_node[]){a, b}, 2, NULL);
    const bd_graph_node *part = bd_graph_at(graph, slice);
    return bd_build(graph, BURN_OP_SLICE_ADD, (bd_node[]){rest, part->inputs[1]}, 2, part->attrs);
}

bd_node bd_rule_reshape(bd_graph *graph, bd_node node, bd_attr_value shape)
{
    bd_int dims[BURN_RANK_MAX];
    BD_ASSERT(shape.count <= BURN_RANK_MAX);
    for (uint32_t i = 0; i < shape.count; i++)
        dims[i] = (bd_int)shape.values[i];
    return bd_build_reshape(graph, node, dims, shape.count);
}

bd_node bd_rule_expand_to(bd_graph *graph, bd_node node, bd_attr_value sizes)
{
    bd_int dims[BURN_RANK_MAX];
    BD_ASSERT(sizes.count <= BURN_RANK_MAX);
    for (uint32_t i = 0; i < sizes.count; i++)
        dims[i] = (bd_int)sizes.values[i];
    return bd_build_expand(graph, node, dims, sizes.count);
}

bd_node bd_rule_sum_to(bd_graph *graph, bd_node node, bd_node like)
{
    if (node == BD_NODE_NONE || like == BD_NODE_NONE)
        return BD_NODE_NONE;
    node = bd_build_cast(graph, node, (burn_dtype)bd_graph_at(graph, like)->dtype);
    return bd_build_sum_to(graph, node, like);
}

bd_node bd_rule_unreduce(bd_graph *graph, bd_node node, bd_node like, bd_attr_value dims,
                         int64_t keepdim)
{
    if (node == BD_NODE_NONE || like == BD_NODE_NONE)
        return BD_NODE_NONE;
    if (!keepdim) {
        bd_attr_value shape = bd_rule_dims(graph, like, 0, bd_rule_rank(graph, like));
        int64_t *values = new_values(graph, shape.count);
        memcpy(values, shape.values, shape.count * sizeof *values);
        for (uint32_t i = 0; i < dims.count; i++)
            values[dims.values[i]] = BD_INT_1;
        node =
            bd_rule_reshape(graph, node, (bd_attr_value){.values = values, .count = shape.count});
    }
    return bd_build_expand_as(graph, node, like);
}

bd_node bd_rule_reduced(bd_graph *graph, bd_node node, int64_t reduction)
{
    const bd_attr_value all[] = {{0}, {0}, {0}}; /* dims, keepdim, dtype */
    if (reduction == 0 || node == BD_NODE_NONE)
        return node;
    return bd_build(graph, reduction == 1 ? BURN_OP_MEAN : BURN_OP_SUM, &node, 1, all);
}

bd_node bd_rule_squeeze(bd_graph *graph, bd_node node, int64_t dim)
{
    int64_t rank = bd_rule_rank(graph, node);
    if (rank == 0)
        return node;
    int64_t at = bd_dim_number(dim, rank);
    bd_attr_value before = bd_rule_dims(graph, node, 0, at);
    return bd_rule_reshape(graph, node,
                           bd_rule_join(graph, before, bd_rule_dims(graph, node, at + 1, rank)));
}

bd_node bd_rule_unsqueeze(bd_graph *graph, bd_node node, int64_t dim)
{
    int64_t rank = bd_rule_rank(graph, node), one_value[] = {BD_INT_1};
    bd_attr_value one = {.values = one_value, .count = 1};
    if (node == BD_NODE_NONE)
        return BD_NODE_NONE;
    bd_attr_value shape = bd_rule_join(graph, bd_rule_dims(graph, node, 0, dim), one);
    return bd_rule_reshape(graph, node,
                           bd_rule_join(graph, shape, bd_rule_dims(graph, node, dim, rank)));
}

bd_node bd_rule_along(bd_graph *graph, bd_node vector, bd_node like, int64_t dim)
{
    if (vector == BD_NODE_NONE || like == BD_NODE_NONE)
        return BD_NODE_NONE;
    uint32_t rank = (uint32_t)bd_rule_rank(graph, like);
    int64_t *values = new_values(graph, rank);
    for (uint32_t axis = 0; axis < rank; axis++)
        values[axis] = axis == dim ? (int64_t)bd_rule_size(graph, vector, 0) : (int64_t)BD_INT_1;
    return bd_rule_reshape(graph, vector, (bd_attr_value){.values = values, .count = rank});
}

bd_node bd_rule_swap_last(bd_graph *graph, bd_node node)
{
    uint32_t rank = (uint32_t)bd_rule_rank(graph, node);
    int64_t values[BURN_RANK_MAX];
    if (node == BD_NODE_NONE)
        return BD_NODE_NONE;
    for (uint32_t axis = 0; axis < rank; axis++)
        values[axis] = axis + 2 < rank ? axis : axis + 1 == rank ? rank - 2 : rank - 1;
    const bd_attr_value dims = {.values = values, .count = rank};
    return bd_build(graph, BURN_OP_PERMUTE, &node, 1, &dims);
}

bd_node bd_rule_split_dim(bd_graph *graph, bd_node node, int64_t dim, bd_int outer)
{
    bd_ints *ints = bd_graph_ints(graph);
    if (node == BD_NODE_NONE)
        return BD_NODE_NONE;
    bd_int size = bd_rule_size(graph, node, dim), rest = size;
    if (bd_int_find(ints, outer) != BD_INT_1) {
        rest = bd_int_div(ints, size, outer);
        bd_int_unite(ints, size, bd_int_mul(ints, outer, rest));
    }
    int64_t parts[] = {outer, rest}, rank = bd_rule_rank(graph, node);
    bd_attr_value shape = bd_rule_join(graph, bd_rule_dims(graph, node, 0, dim),
                                       (bd_attr_value){.values = parts, .count = 2});
    return bd_rule_reshape(graph, node,
                           bd_rule_join(graph, shape, bd_rule_dims(graph, node, dim + 1, rank)));
}

bd_node bd_rule_split_channels(bd_graph *graph, bd_node node, bd_int groups)
{
    return bd_rule_split_dim(graph, node, 1, groups);
}

/* ---- local ----------------------------------------------------------------------------------- */

/* Room for one more, so that no list has a NULL pointer. */
static int64_t *new_values(bd_graph *graph, uint32_t count)
{
    return BD_ARENA_ARRAY(bd_graph_arena(graph), int64_t, count + 1);
}

bd_attr_value bd_rule_list(bd_graph *graph, const int64_t *values, uint32_t count)
{
    int64_t *copy = new_values(graph, count);
    memcpy(copy, values, count * sizeof *copy);
    return (bd_attr_value){.values = copy, .count = count};
}
