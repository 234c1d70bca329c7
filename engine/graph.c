/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/graph.h"

#include <string.h>

#include "engine/graph_parts.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"
#include "proto/base/hash.h"

enum { SLOTS_MIN = 256 };

bd_graph *bd_graph_create(void)
{
    bd_graph *graph = bd_alloc_zeroed(sizeof *graph);
    bd_arena_init(&graph->arena);
    graph->ints = bd_ints_create();
    graph->slot_count = SLOTS_MIN;
    graph->slots = bd_alloc_zeroed(sizeof *graph->slots * SLOTS_MIN);
    graph->record = BD_NO_RECORD;
    /* NONE reads as a scalar, so that rules may go on after an error. */
    *bd_vec_push(&graph->nodes) = BD_ARENA_ARRAY(&graph->arena, bd_graph_node, 1);
    graph->nodes.items[0]->kind = BD_NODE_CONSTANT;
    graph->nodes.items[0]->dtype = BURN_F32;
    *bd_vec_push(&graph->consumed) = 0;
    return graph;
}

void bd_graph_destroy(bd_graph *graph)
{
    if (!graph)
        return;
    bd_import_destroy(graph->import);
    bd_ints_destroy(graph->ints);
    bd_free(graph->slots);
    bd_free(graph->results);
    bd_free(graph->slot_externals);
    bd_vec_deinit(&graph->nodes);
    bd_vec_deinit(&graph->consumed);
    bd_vec_deinit(&graph->externals);
    bd_vec_deinit(&graph->origins);
    bd_vec_deinit(&graph->scalars);
    bd_map_deinit(&graph->scalar_numbers);
    bd_vec_deinit(&graph->paths);
    bd_vec_deinit(&graph->saved);
    bd_error_free(graph->error);
    bd_arena_deinit(&graph->arena);
    bd_free(graph);
}

/* ---- reading ---- */

const bd_graph_node *bd_graph_at(const bd_graph *graph, bd_node node)
{
    BD_ASSERT(node < graph->nodes.count);
    return graph->nodes.items[node];
}

uint32_t bd_graph_count(const bd_graph *graph)
{
    return (uint32_t)graph->nodes.count - 1;
}

bd_ints *bd_graph_ints(bd_graph *graph)
{
    return graph->ints;
}

bd_arena *bd_graph_arena(bd_graph *graph)
{
    return &graph->arena;
}

const bd_graph_external *bd_graph_externals(const bd_graph *graph, uint32_t *out_count)
{
    *out_count = (uint32_t)graph->externals.count;
    return graph->externals.items;
}

const bd_graph_scalar *bd_graph_scalars(const bd_graph *graph, uint32_t *out_count)
{
    *out_count = (uint32_t)graph->scalars.count;
    return graph->scalars.items;
}

const bd_history_path *bd_graph_paths(const bd_graph *graph, uint32_t *out_count)
{
    *out_count = (uint32_t)graph->paths.count;
    return graph->paths.items;
}

bd_node bd_graph_value(const bd_graph *graph, uint32_t value)
{
    BD_ASSERT(value < graph->value_count);
    return graph->results[value].node;
}

bool bd_graph_value_needs_history(const bd_graph *graph, uint32_t value)
{
    bd_node node = bd_graph_value(graph, value);
    const bd_graph_result *result = &graph->results[value];
    return node != BD_NODE_NONE && result->survives && result->tracked &&
           !graph->consumed.items[node];
}

bd_int bd_graph_dim(const bd_graph *graph, bd_node node, uint32_t axis)
{
    const bd_graph_node *at = bd_graph_at(graph, node);
    BD_ASSERT(axis < at->rank);
    return bd_int_find(graph->ints, at->dims[axis]);
}

bool bd_graph_is_consumed(const bd_graph *graph, bd_node node)
{
    return graph->consumed.items[node] != 0;
}

void bd_graph_fail(bd_graph *graph, bd_error *own_error)
{
    if (graph->error) {
        bd_error_free(own_error);
        return;
    }
    if (graph->trace && graph->record != BD_NO_RECORD && own_error)
        bd_error_set_op_index(own_error, graph->trace->records[graph->record].op_index);
    graph->error = own_error;
}

/* ---- appending ---- */

typedef struct attr_class {
    bool list, size;
} attr_class;

static attr_class class_of(const bd_graph_node *node, uint32_t attr)
{
    burn_attr_kind kind = burn_op_lookup(node->op)->attrs[attr].kind;
    return (attr_class){.list = kind == BURN_ATTR_INTS || kind == BURN_ATTR_SIZES,
                        .size = kind == BURN_ATTR_SIZE || kind == BURN_ATTR_SIZES};
}

static uint32_t attr_count(const bd_graph_node *node)
{
    return node->kind == BD_NODE_OP && node->attrs ? burn_op_lookup(node->op)->attr_count : 0;
}

static uint64_t attr_item(const bd_graph *graph, bool size, int64_t value)
{
    return size ? bd_int_find(graph->ints, (bd_int)value) : (uint64_t)value;
}

/* Each record that meets an index out of range has a fault of its own, and spoils what is its. */
static bool blames_its_record(const bd_graph_node *node)
{
    return node->kind == BD_NODE_OP && burn_op_lookup(node->op)->flags & BURN_OP_CHECKS;
}

static uint64_t node_hash(const bd_graph *graph, const bd_graph_node *node)
{
    uint64_t hash = bd_hash_mix(node->kind, (uint64_t)node->op << 16 | node->dtype);
    hash = bd_hash_mix(hash, (uint64_t)node->number << 8 | node->rank);
    hash = bd_hash_mix(hash, (uint64_t)node->constant_i);
    /* Equal ones of different records stay apart, also in the table. */
    if (node->tracked || blames_its_record(node))
        hash = bd_hash_mix(hash, node->record);
    for (uint32_t i = 0; i < node->input_count; i++)
        hash = bd_hash_mix(hash, node->inputs[i]);
    for (uint32_t i = 0; i < attr_count(node); i++) {
        attr_class class = class_of(node, i);
        const bd_attr_value *attr = &node->attrs[i];
        if (!class.list)
            hash = bd_hash_mix(hash, attr_item(graph, class.size, attr->value));
        for (uint32_t j = 0; class.list && j < attr->count; j++)
            hash = bd_hash_mix(hash, attr_item(graph, class.size, attr->values[j]));
    }
    return hash;
}

static bool same_attr(const bd_graph *graph, attr_class class, const bd_attr_value *a,
                      const bd_attr_value *b)
{
    if (!class.list)
        return attr_item(graph, class.size, a->value) == attr_item(graph, class.size, b->value);
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (attr_item(graph, class.size, a->values[i]) !=
            attr_item(graph, class.size, b->values[i]))
            return false;
    return true;
}

static bool same_node(const bd_graph *graph, const bd_graph_node *have, const bd_graph_node *wanted)
{
    if (have->kind != wanted->kind || have->op != wanted->op || have->dtype != wanted->dtype ||
        have->rank != wanted->rank || have->input_count != wanted->input_count ||
        have->number != wanted->number || have->constant_i != wanted->constant_i ||
        (have->attrs == NULL) != (wanted->attrs == NULL))
        return false;
    if (have->kind == BD_NODE_OP && have->tracked != wanted->tracked)
        return false;
    if (have->kind == BD_NODE_OP && have->record != wanted->record &&
        (graph->distinct || blames_its_record(have)))
        return false;
    for (uint32_t i = 0; i < have->rank; i++)
        if (!bd_int_equal(graph->ints, have->dims[i], wanted->dims[i]))
            return false;
    for (uint32_t i = 0; i < have->input_count; i++)
        if (have->inputs[i] != wanted->inputs[i])
            return false;
    for (uint32_t i = 0; i < attr_count(have); i++)
        if (!same_attr(graph, class_of(have, i), &have->attrs[i], &wanted->attrs[i]))
            return false;
    return true;
}

static void grow_slots(bd_graph *graph)
{
    uint32_t count = graph->slot_count * 2;
    uint32_t *slots = bd_alloc_zeroed(sizeof *slots * count);
    for (uint32_t node = 1; node < graph->nodes.count; node++) {
        uint64_t at = node_hash(graph, graph->nodes.items[node]) & (count - 1);
        while (slots[at])
            at = (at + 1) & (count - 1);
        slots[at] = node;
    }
    bd_free(graph->slots);
    graph->slots = slots;
    graph->slot_count = count;
}

static const bd_int *copy_dims(bd_graph *graph, const bd_int *dims, uint32_t rank)
{
    bd_int *copy = bd_arena_alloc(&graph->arena, sizeof *copy * (rank + 1));
    for (uint32_t i = 0; i < rank; i++)
        copy[i] = bd_int_find(graph->ints, dims[i]);
    return copy;
}

static const bd_attr_value *copy_attrs(bd_graph *graph, const bd_attr_value *attrs, uint32_t count)
{
    bd_attr_value *copy = bd_arena_copy(&graph->arena, attrs, sizeof *copy * count);
    for (uint32_t i = 0; i < count; i++) {
        if (!attrs[i].values)
            continue;
        int64_t *values = bd_arena_alloc(&graph->arena, sizeof *values * (attrs[i].count + 1));
        memcpy(values, attrs[i].values, sizeof *values * attrs[i].count);
        copy[i].values = values;
    }
    return copy;
}

bd_node bd_graph_append(bd_graph *graph, const bd_graph_node *wanted_node)
{
    bd_graph_node wanted = *wanted_node;
    wanted.record = graph->record;
    wanted.tracked =
        wanted.kind == BD_NODE_OP && graph->tracking && burn_dtype_is_float(wanted.dtype);
    if (graph->nodes.count * 2 >= graph->slot_count)
        grow_slots(graph);
    uint64_t at = node_hash(graph, &wanted) & (graph->slot_count - 1);
    for (; graph->slots[at]; at = (at + 1) & (graph->slot_count - 1))
        if (same_node(graph, graph->nodes.items[graph->slots[at]], &wanted))
            return graph->slots[at];

    bd_graph_node *node = bd_arena_copy(&graph->arena, &wanted, sizeof wanted);
    node->dims = copy_dims(graph, wanted.dims, wanted.rank);
    if (wanted.input_count)
        node->inputs =
            bd_arena_copy(&graph->arena, wanted.inputs, sizeof(bd_node) * wanted.input_count);
    if (attr_count(&wanted))
        node->attrs = copy_attrs(graph, wanted.attrs, attr_count(&wanted));
    graph->slots[at] = (uint32_t)graph->nodes.count;
    *bd_vec_push(&graph->nodes) = node;
    *bd_vec_push(&graph->consumed) = 0;
    return graph->slots[at];
}

bd_node bd_graph_external_node(bd_graph *graph, uint32_t external, burn_dtype dtype,
                               const bd_int *dims, uint32_t rank)
{
    bd_graph_origin *origin = &graph->origins.items[external];
    if (origin->leaf == BD_NODE_NONE) {
        bd_node leaf = bd_graph_append(graph, &(bd_graph_node){.kind = BD_NODE_EXTERNAL,
                                                               .dtype = (uint8_t)dtype,
                                                               .rank = (uint8_t)rank,
                                                               .number = external,
                                                               .dims = dims});
        graph->origins.items[external].leaf = leaf;
    }
    return graph->origins.items[external].leaf;
}

bd_node bd_graph_scalar_node(bd_graph *graph, uint32_t path, uint32_t slot, burn_dtype dtype)
{
    uint64_t key = ((uint64_t)(path + 1) << 32) + slot; /* path + 1: 0 for this trace */
    uint32_t number = (uint32_t)(uintptr_t)bd_map_get(&graph->scalar_numbers, key);
    if (!number) {
        *bd_vec_push(&graph->scalars) = (bd_graph_scalar){.path = path, .slot = slot};
        number = (uint32_t)graph->scalars.count;
        bd_map_put(&graph->scalar_numbers, key, (void *)(uintptr_t)number);
    }
    number--;
    return bd_graph_append(
        graph, &(bd_graph_node){.kind = BD_NODE_SCALAR, .dtype = (uint8_t)dtype, .number = number});
}

/* ---- order ---- */

typedef struct frame {
    bd_node node;
    uint32_t next_input;
} frame;

void bd_graph_order(const bd_graph *graph, const bd_node *roots, uint32_t root_count,
                    bd_node_list *out)
{
    uint8_t *seen = bd_alloc_zeroed(graph->nodes.count);
    BD_VEC(frame) stack = {0};
    for (uint32_t i = 0; i < root_count; i++) {
        if (roots[i] == BD_NODE_NONE || seen[roots[i]])
            continue;
        seen[roots[i]] = 1;
        *bd_vec_push(&stack) = (frame){roots[i], 0};
        while (stack.count) {
            frame *top = &stack.items[stack.count - 1];
            const bd_graph_node *node = graph->nodes.items[top->node];
            if (top->next_input == node->input_count) {
                *bd_vec_push(out) = top->node;
                stack.count--;
                continue;
            }
            bd_node input = node->inputs[top->next_input++];
            if (input == BD_NODE_NONE || seen[input])
                continue;
            seen[input] = 1;
            *bd_vec_push(&stack) = (frame){input, 0};
        }
    }
    bd_vec_deinit(&stack);
    bd_free(seen);
}
