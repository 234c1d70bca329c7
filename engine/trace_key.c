/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/trace_key.h"

#include <string.h>

#include "engine/history.h"
#include "proto/base/alloc.h"
#include "proto/base/map.h"
#include "proto/base/vec.h"
#include "proto/op_rules.h"

bool bd_trace_key_is_gradient(const burn_op_info *info)
{
    return info->output_rule == BURN_OUTPUTS_WRT;
}

/* ---- bytes ---- */

static uint8_t *put(uint8_t *out, const void *bytes, size_t size_bytes)
{
    memcpy(out, bytes, size_bytes);
    return out + size_bytes;
}
static uint8_t *put_u16(uint8_t *out, uint16_t value)
{
    return put(out, &value, sizeof value);
}
static uint8_t *put_u32(uint8_t *out, uint32_t value)
{
    return put(out, &value, sizeof value);
}

/* Bit i: dim i is 1. */
static uint16_t ones(const burn_shape *shape)
{
    unsigned mask = 0;
    for (int32_t i = 0; i < shape->rank; i++)
        mask |= (unsigned)(shape->dims[i] == 1) << i;
    return (uint16_t)mask;
}

static uint8_t *put_type(uint8_t *out, const burn_tensor_type *type)
{
    *out++ = (uint8_t)type->dtype;
    *out++ = (uint8_t)type->shape.rank;
    return put_u16(out, ones(&type->shape));
}

/* ---- records ---- */

enum {
    HEAD_BYTES = 11,
    INPUT_BYTES = 9,
    OUTPUT_BYTES = 4,
    GROUPS_BYTES = 1 + 4 * BURN_RANK_MAX,
};

size_t bd_trace_key_bound(const bd_trace_record *record)
{
    size_t bytes = HEAD_BYTES + (size_t)record->input_count * INPUT_BYTES +
                   (size_t)record->output_count * OUTPUT_BYTES + GROUPS_BYTES;
    for (uint32_t i = 0; i < record->info->attr_count; i++)
        bytes += 12 + (size_t)record->attrs[i].count * 8;
    return bytes;
}

static uint8_t *put_inputs(uint8_t *out, const bd_trace_record *record,
                           const bd_trace_external *externals, uint32_t *next_external)
{
    for (uint32_t i = 0; i < record->input_count; i++) {
        const bd_input *input = &record->inputs[i];
        *out++ = (uint8_t)(input->kind | input->scalar_kind << 4);
        if (input->kind != BD_INPUT_VALUE && input->kind != BD_INPUT_EXTERNAL)
            continue;
        out = put_u32(out, input->number);
        if (input->kind == BD_INPUT_EXTERNAL && input->number == *next_external) {
            out = put_type(out, &externals[input->number].type);
            ++*next_external;
        }
    }
    return out;
}

static uint8_t *put_attrs(uint8_t *out, const bd_trace_record *record)
{
    for (uint32_t i = 0; i < record->info->attr_count; i++) {
        const burn_attr *attr = &record->attrs[i];
        switch (record->info->attrs[i].kind) {
        case BURN_ATTR_INT:
        case BURN_ATTR_DTYPE:
            out = put(out, &attr->value, sizeof attr->value);
            break;
        case BURN_ATTR_INTS:
            out = put_u32(out, attr->count);
            if (attr->count)
                out = put(out, attr->values, attr->count * sizeof(int64_t));
            break;
        case BURN_ATTR_SIZES: /* a step or size of 1 is structural, as a dim of 1 is */
            out = put_u32(out, attr->count);
            for (uint32_t j = 0; j < attr->count; j++)
                *out++ = attr->values[j] == 1;
            break;
        case BURN_ATTR_BYTES:
            out = put_u32(out, attr->count);
            break;
        case BURN_ATTR_SIZE:
            if (bd_trace_key_has_one(&record->info->attrs[i]))
                *out++ = attr->value == 1;
            break;
        }
    }
    return out;
}

static const burn_shape *input_shape(const bd_trace_record *record, const bd_trace_value *values,
                                     const bd_trace_external *externals)
{
    const bd_input *input = &record->inputs[0];
    if (record->input_count == 0)
        return NULL;
    if (input->kind == BD_INPUT_VALUE)
        return &values[input->number].type.shape;
    return input->kind == BD_INPUT_EXTERNAL ? &externals[input->number].type.shape : NULL;
}

static uint8_t *put_groups(uint8_t *out, const burn_shape *from, const burn_shape *to)
{
    burn_reshape_group groups[2 * BURN_RANK_MAX];
    int count = burn_reshape_groups(from, to, groups);
    *out++ = (uint8_t)count;
    for (int i = 0; i < count; i++) {
        *out++ = groups[i].input_count;
        *out++ = groups[i].output_count;
    }
    return out;
}

size_t bd_trace_key_record(const bd_trace_record *record, const bd_trace_value *values,
                           const bd_trace_external *externals, uint32_t first_new_external,
                           uint8_t *out)
{
    uint8_t *begin = out;
    out = put_u16(out, record->info->number);
    *out++ = record->flags;
    out = put_u32(out, record->input_count);
    out = put_inputs(out, record, externals, &first_new_external);
    out = put_attrs(out, record);
    out = put_u32(out, record->output_count);
    for (uint32_t i = 0; i < record->output_count; i++)
        out = put_type(out, &values[record->first_value + i].type);
    if (record->info->shape_rule == BURN_SHAPE_RULE_RESHAPE) {
        const burn_shape *from = input_shape(record, values, externals);
        if (from)
            out = put_groups(out, from, &values[record->first_value].type.shape);
    }
    return (size_t)(out - begin);
}

/* ---- tail ---- */

size_t bd_trace_key_tail_bound(const bd_trace *trace)
{
    return ((size_t)trace->value_count + 7) / 8 + ((size_t)trace->external_count + 7) / 8 + 16;
}

size_t bd_trace_key_tail(const bd_trace *trace, uint8_t *out)
{
    memset(out, 0, bd_trace_key_tail_bound(trace));
    for (uint32_t i = 0; i < trace->value_count; i++)
        out[i / 8] = (uint8_t)(out[i / 8] | (unsigned)trace->values[i].survives << i % 8);
    uint8_t *dying = out + (trace->value_count + 7) / 8;
    for (uint32_t i = 0; i < trace->external_count; i++)
        dying[i / 8] = (uint8_t)(dying[i / 8] | (unsigned)trace->externals[i].dies << i % 8);
    return (size_t)(dying - out) + (trace->external_count + 7) / 8;
}

/* ---- histories ---- */

typedef BD_VEC(bd_history *) history_list;
typedef struct key_walk {
    bd_map histories; /* → number + 1, in disguise of a pointer */
    bd_map tensors;
    history_list order;
    uintptr_t next_tensor;
    uint8_t *bytes;
    size_t count, capacity;
} key_walk;

static void write(key_walk *walk, const void *bytes, size_t size_bytes)
{
    walk->bytes = bd_vec_grow(walk->bytes, walk->count + size_bytes, &walk->capacity, 1);
    memcpy(walk->bytes + walk->count, bytes, size_bytes);
    walk->count += size_bytes;
}
static void write_u64(key_walk *walk, uint64_t value)
{
    write(walk, &value, sizeof value);
}

/* Which earlier one it is, or the serial of its plan; then the node. */
static void visit_history(key_walk *walk, bd_history *history, uint32_t node)
{
    if (!history) {
        write_u64(walk, 0);
        return;
    }
    uint64_t name = (uint64_t)(uintptr_t)history;
    uintptr_t earlier = (uintptr_t)bd_map_get(&walk->histories, name);
    if (earlier) {
        write_u64(walk, 1);
        write_u64(walk, earlier);
    } else {
        write_u64(walk, 2);
        write_u64(walk, history->plan->serial);
        *bd_vec_push(&walk->order) = history;
        bd_map_put(&walk->histories, name, (void *)(uintptr_t)walk->order.count);
    }
    write_u64(walk, node);
}

static void visit_tensor(key_walk *walk, uint64_t tensor)
{
    uintptr_t earlier = (uintptr_t)bd_map_get(&walk->tensors, tensor);
    write_u64(walk, earlier);
    walk->next_tensor++;
    if (!earlier)
        bd_map_put(&walk->tensors, tensor, (void *)walk->next_tensor);
}

/* Which externals differentiation can come upon: those that a gradient record's inputs are made
 * from. A sum that a loop carries along beside, with an ever longer history, is none of them. */
static uint8_t *reached_externals(const bd_trace *trace)
{
    uint8_t *externals = bd_alloc_zeroed((size_t)trace->external_count + trace->value_count + 1);
    uint8_t *values = externals + trace->external_count;
    for (uint32_t i = trace->record_count; i-- > 0;) {
        const bd_trace_record *record = &trace->records[i];
        bool reached = bd_trace_key_is_gradient(record->info);
        for (uint32_t k = 0; k < record->output_count; k++)
            reached |= values[record->first_value + k];
        for (uint32_t k = 0; reached && k < record->input_count; k++) {
            if (record->inputs[k].kind == BD_INPUT_VALUE)
                values[record->inputs[k].number] = 1;
            else if (record->inputs[k].kind == BD_INPUT_EXTERNAL)
                externals[record->inputs[k].number] = 1;
        }
    }
    return externals;
}

void bd_trace_key_histories(const bd_trace *trace, uint8_t **bytes, size_t *count, size_t *capacity)
{
    key_walk walk = {.bytes = *bytes, .count = *count, .capacity = *capacity};
    uint8_t *reached = reached_externals(trace);
    for (uint32_t i = 0; i < trace->external_count; i++) {
        const bd_trace_external *external = &trace->externals[i];
        visit_tensor(&walk, external->tensor);
        visit_history(&walk, reached[i] ? external->history : NULL, external->history_node);
    }
    bd_free(reached);
    for (size_t i = 0; i < walk.order.count; i++) {
        const bd_history *history = walk.order.items[i];
        for (uint32_t k = 0; k < history->saved_count; k++) {
            const bd_history_saved *saved = &history->saved[k];
            write_u64(&walk, ones(&saved->type.shape));
            visit_tensor(&walk, saved->tensor);
            visit_history(&walk, saved->history, saved->history_node);
        }
    }
    bd_map_deinit(&walk.histories);
    bd_map_deinit(&walk.tensors);
    bd_vec_deinit(&walk.order);
    *bytes = walk.bytes;
    *count = walk.count;
    *capacity = walk.capacity;
}
