/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/graph_parts.h"
#include "proto/base/alloc.h"

typedef BD_VEC(char) text_vec;

static void append(text_vec *text, const char *format, ...) BD_PRINTF(2, 3);

static void append(text_vec *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length > 0) {
        bd_vec_reserve(text, text->count + (size_t)length + 1);
        vsnprintf(text->items + text->count, (size_t)length + 1, format, arguments);
        text->count += (size_t)length;
    }
    va_end(arguments);
}

/* Sources in line: v3.0 is dim 0 of value 3, x of external, r3.1.0 item 0 of attribute 1 of record
 * 3, h0.7 integer 7 of history path 0; expressions by their number, which the foot explains. */
static void append_int(text_vec *text, const bd_ints *ints, bd_int number)
{
    number = bd_int_find(ints, number);
    const bd_int_entry *e = bd_int_at(ints, number);
    switch ((bd_int_kind)e->kind) {
    case BD_INT_CONST:
        append(text, "%" PRId64, e->value);
        return;
    case BD_INT_VALUE_DIM:
        append(text, "v%u.%u", e->a, e->b);
        return;
    case BD_INT_EXTERNAL_DIM:
        append(text, "x%u.%u", e->a, e->b);
        return;
    case BD_INT_ATTR:
        append(text, "r%u.%u.%u", e->a, e->b >> 16, e->b & 0xffff);
        return;
    case BD_INT_HISTORY:
        append(text, "h%u.%u", e->a, e->b);
        return;
    case BD_INT_ADD:
    case BD_INT_SUB:
    case BD_INT_MUL:
    case BD_INT_DIV:
    case BD_INT_MOD:
    case BD_INT_MAX:
    case BD_INT_MIN:
        append(text, "i%u", number);
        return;
    }
}

static void append_attr(text_vec *text, const bd_graph *graph, const burn_attr_info *info,
                        const bd_attr_value *attr)
{
    bool list = info->kind == BURN_ATTR_INTS || info->kind == BURN_ATTR_SIZES;
    bool size = info->kind == BURN_ATTR_SIZE || info->kind == BURN_ATTR_SIZES;
    append(text, " %s=%s", info->name, list ? "[" : "");
    for (uint32_t i = 0; i < (list ? attr->count : 1); i++) {
        int64_t value = list ? attr->values[i] : attr->value;
        if (i)
            append(text, " ");
        if (size)
            append_int(text, graph->ints, (bd_int)value);
        else if (info->kind == BURN_ATTR_DTYPE)
            append(text, "%s", burn_dtype_name((burn_dtype)value));
        else
            append(text, "%" PRId64, value);
    }
    if (list)
        append(text, "]");
}

static void append_leaf(text_vec *text, const bd_graph *graph, const bd_graph_node *node)
{
    switch ((bd_node_kind)node->kind) {
    case BD_NODE_OP:
        break;
    case BD_NODE_EXTERNAL: {
        const bd_graph_external *external = &graph->externals.items[node->number];
        append(text, "external %u", external->slot);
        for (uint32_t i = 0; i < external->step_count; i++)
            append(text, "/%u", external->steps[i]);
        break;
    }
    case BD_NODE_SCALAR: {
        const bd_graph_scalar *scalar = &graph->scalars.items[node->number];
        if (scalar->path == UINT32_MAX)
            append(text, "scalar %u", scalar->slot);
        else
            append(text, "scalar %u of path %u", scalar->slot, scalar->path);
        break;
    }
    case BD_NODE_CONSTANT:
        if (burn_dtype_is_float(node->dtype))
            append(text, "constant %.17g", node->constant_f);
        else
            append(text, "constant %" PRId64, node->constant_i);
        break;
    case BD_NODE_INTEGER:
        append(text, "integer ");
        append_int(text, graph->ints, node->number);
        break;
    }
}

static void append_node(text_vec *text, const bd_graph *graph, bd_node number)
{
    const bd_graph_node *node = bd_graph_at(graph, number);
    append(text, "%%%u %s[", number, burn_dtype_name(node->dtype));
    for (uint32_t i = 0; i < node->rank; i++) {
        if (i)
            append(text, " ");
        append_int(text, graph->ints, node->dims[i]);
    }
    append(text, "] ");
    append_leaf(text, graph, node);
    if (node->kind == BD_NODE_OP) {
        const burn_op_info *info = burn_op_lookup(node->op);
        append(text, "%s", info->name);
        for (uint32_t i = 0; i < node->input_count; i++) {
            if (node->inputs[i])
                append(text, " %%%u", node->inputs[i]);
            else
                append(text, " -");
        }
        for (uint32_t i = 0; node->attrs && i < info->attr_count; i++)
            append_attr(text, graph, &info->attrs[i], &node->attrs[i]);
    }
    append(text, "%s\n", node->tracked ? " tracked" : "");
}

char *bd_graph_print(const bd_graph *graph)
{
    static const char *const signs[] = {
        [BD_INT_ADD] = "+", [BD_INT_SUB] = "-",   [BD_INT_MUL] = "*",   [BD_INT_DIV] = "/",
        [BD_INT_MOD] = "%", [BD_INT_MAX] = "max", [BD_INT_MIN] = "min",
    };
    text_vec text = {0};
    append(&text, "graph\n");
    for (uint32_t node = 1; node <= bd_graph_count(graph); node++)
        append_node(&text, graph, node);
    for (uint32_t value = 0; value < graph->value_count; value++)
        if (graph->results[value].survives)
            append(&text, "value %u = %%%u%s\n", value, graph->results[value].node,
                   bd_graph_value_needs_history(graph, value) ? " with history" : "");
    for (bd_int i = 0; i < bd_int_count(graph->ints); i++) {
        const bd_int_entry *e = bd_int_at(graph->ints, i);
        if (e->kind < BD_INT_ADD || bd_int_find(graph->ints, i) != i)
            continue;
        append(&text, "i%u = ", i);
        append_int(&text, graph->ints, e->a);
        append(&text, " %s ", signs[e->kind]);
        append_int(&text, graph->ints, e->b);
        append(&text, "\n");
    }
    return text.items;
}
