/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/ops.h"

#include <string.h>

#include "proto/pack.h"

static size_t encode(const burn_op_record *record, bd_pack *pack);
static void encode_input(const burn_op_record *record, const burn_operand *operand, bd_pack *pack);
static void encode_attr(burn_attr_kind kind, const burn_attr *attr, bd_pack *pack);
static bool attr_is_default(const burn_attr_info *info, const burn_attr *attr);
static uint32_t attrs_sent(const burn_op_record *record);
static bd_error *decode(bd_unpack *unpack, uint64_t first_output, bd_arena *arena,
                        burn_op_record *record) BD_MUST_USE;
static bd_error *decode_head(bd_unpack *unpack, burn_op_record *record) BD_MUST_USE;
static bd_error *decode_inputs(bd_unpack *unpack, uint64_t first_output, bd_arena *arena,
                               burn_op_record *record) BD_MUST_USE;
static bd_error *decode_input(bd_unpack *unpack, uint64_t first_output,
                              burn_operand *out) BD_MUST_USE;
static bd_error *decode_attr(bd_unpack *unpack, burn_attr_kind kind, bd_arena *arena,
                             burn_attr *out) BD_MUST_USE;

size_t burn_record_bound(const burn_op_record *record)
{
    bd_pack measure = {0};
    return encode(record, &measure);
}

size_t burn_record_encode(const burn_op_record *record, uint8_t *buffer)
{
    bd_pack pack = {buffer, SIZE_MAX, 0};
    return encode(record, &pack);
}

bd_error *burn_record_decode(const uint8_t **cursor, const uint8_t *end, uint64_t first_output,
                             bd_arena *arena, burn_op_record *out)
{
    bd_unpack unpack = {*cursor, end};
    out->info = NULL;
    bd_error *error = decode(&unpack, first_output, arena, out);
    if (error)
        return bd_error_note(error, "op record%s%s", out->info ? " of " : "",
                             out->info ? out->info->name : "");
    *cursor = unpack.cursor;
    return NULL;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static size_t encode(const burn_op_record *record, bd_pack *pack)
{
    const burn_op_info *info = record->info;
    bool variadic = info->flags & BURN_OP_VARIADIC;
    uint32_t single = variadic ? info->input_count - 1u : info->input_count;
    uint32_t attr_count = attrs_sent(record);
    bd_pack_array(pack, 1 + single + (variadic ? 1 : 0) + attr_count);
    bd_pack_int(pack, 2 * (int64_t)info->number + (record->flags & BURN_RECORD_TRACK));
    for (uint32_t i = 0; i < single; i++)
        encode_input(record, &record->inputs[i], pack);
    if (variadic) {
        bd_pack_array(pack, record->input_count - single);
        for (uint32_t i = single; i < record->input_count; i++)
            encode_input(record, &record->inputs[i], pack);
    }
    for (uint32_t i = 0; i < attr_count; i++)
        encode_attr(info->attrs[i].kind, &record->attrs[i], pack);
    return pack->used;
}

static void encode_input(const burn_op_record *record, const burn_operand *operand, bd_pack *pack)
{
    switch (operand->kind) {
    case BURN_OPERAND_ABSENT:
        bd_pack_nil(pack);
        break;
    case BURN_OPERAND_TENSOR:
        bd_pack_int(pack, (int64_t)(record->first_output - operand->id));
        break;
    case BURN_OPERAND_BOOL:
        bd_pack_bool(pack, operand->i != 0);
        break;
    case BURN_OPERAND_INT:
        bd_pack_array(pack, 1);
        bd_pack_int(pack, operand->i);
        break;
    case BURN_OPERAND_FLOAT:
        bd_pack_float(pack, operand->f);
        break;
    }
}

static void encode_attr(burn_attr_kind kind, const burn_attr *attr, bd_pack *pack)
{
    switch (kind) {
    case BURN_ATTR_INT:
    case BURN_ATTR_DTYPE:
    case BURN_ATTR_SIZE:
        bd_pack_int(pack, attr->value);
        break;
    case BURN_ATTR_INTS:
    case BURN_ATTR_SIZES:
        bd_pack_array(pack, attr->count);
        for (uint32_t i = 0; i < attr->count; i++)
            bd_pack_int(pack, attr->values[i]);
        break;
    case BURN_ATTR_BYTES:
        bd_pack_bin(pack, attr->bytes, attr->count);
        break;
    }
}

static bool attr_is_default(const burn_attr_info *info, const burn_attr *attr)
{
    bool list = info->kind == BURN_ATTR_INTS || info->kind == BURN_ATTR_SIZES ||
                info->kind == BURN_ATTR_BYTES;
    return info->has_default && (list ? attr->count == 0 : attr->value == info->default_value);
}

static uint32_t attrs_sent(const burn_op_record *record)
{
    uint32_t count = record->info->attr_count;
    while (count > 0 && attr_is_default(&record->info->attrs[count - 1], &record->attrs[count - 1]))
        count--;
    return count;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static bd_error *decode(bd_unpack *unpack, uint64_t first_output, bd_arena *arena,
                        burn_op_record *record)
{
    uint32_t elements, attr_count;
    BD_TRY(bd_unpack_array(unpack, &elements));
    BD_TRY(decode_head(unpack, record));
    const burn_op_info *info = record->info;
    if (elements < 1u + info->input_count || elements > 1u + info->input_count + info->attr_count)
        BD_FAIL(PROTOCOL, "%u elements, where %u to %u are due", elements, 1u + info->input_count,
                1u + info->input_count + info->attr_count);
    attr_count = elements - 1 - info->input_count;
    record->first_output = first_output;
    BD_TRY(decode_inputs(unpack, first_output, arena, record));
    for (uint32_t i = 0; i < info->attr_count; i++) {
        record->attrs[i] = (burn_attr){.value = info->attrs[i].default_value};
        if (i < attr_count)
            BD_TRY(decode_attr(unpack, info->attrs[i].kind, arena, &record->attrs[i]));
        else if (!info->attrs[i].has_default)
            BD_FAIL(PROTOCOL, "the attribute %s is missing", info->attrs[i].name);
    }
    if (attrs_sent(record) != attr_count)
        BD_FAIL(PROTOCOL, "a trailing attribute is sent though it has its default");
    record->output_count = burn_op_output_count(record);
    if (record->output_count > BD_PACK_ARRAY_MAX)
        BD_FAIL(INVALID, "%u outputs where %d are the most", record->output_count,
                BD_PACK_ARRAY_MAX);
    return NULL;
}

static bd_error *decode_head(bd_unpack *unpack, burn_op_record *record)
{
    int64_t head;
    BD_TRY(bd_unpack_int_in(unpack, 0, 2 * (int64_t)UINT16_MAX + 1, &head));
    const burn_op_info *info = burn_op_lookup((int)(head >> 1));
    if (!info)
        BD_FAIL(INVALID, "there is no op number %d in op table %u; a later daemon may have it",
                (int)(head >> 1), (unsigned)burn_op_table_revision);
    record->info = info;
    record->flags = (uint8_t)(head & BURN_RECORD_TRACK);
    if (info->flags & BURN_OP_INTERNAL)
        BD_FAIL(INVALID, "the op is made by the engine only");
    return NULL;
}

static bd_error *decode_inputs(bd_unpack *unpack, uint64_t first_output, bd_arena *arena,
                               burn_op_record *record)
{
    const burn_op_info *info = record->info;
    bool variadic = info->flags & BURN_OP_VARIADIC;
    uint32_t single = variadic ? info->input_count - 1u : info->input_count, repeated = 0;
    burn_operand *inputs = bd_arena_alloc(arena, (single + 1) * sizeof *inputs);
    for (uint32_t i = 0; i < single; i++)
        BD_TRY(decode_input(unpack, first_output, &inputs[i]));
    if (variadic) {
        BD_TRY(bd_unpack_array(unpack, &repeated));
        burn_operand *all = bd_arena_alloc(arena, (single + repeated + 1) * sizeof *inputs);
        memcpy(all, inputs, single * sizeof *inputs);
        inputs = all;
    }
    for (uint32_t i = 0; i < repeated; i++)
        BD_TRY(decode_input(unpack, first_output, &inputs[single + i]));
    record->inputs = inputs;
    record->input_count = single + repeated;
    return NULL;
}

static bd_error *decode_input(bd_unpack *unpack, uint64_t first_output, burn_operand *out)
{
    int64_t distance;
    bool value;
    bd_pack_kind kind = bd_unpack_peek(unpack);
    switch (kind) {
    case BD_PACK_INT:
        BD_TRY(bd_unpack_int(unpack, &distance));
        if (distance < 1 || (uint64_t)distance > first_output)
            BD_FAIL(INVALID, "an input lies %lld ids back from id %llu", (long long)distance,
                    (unsigned long long)first_output);
        out->kind = BURN_OPERAND_TENSOR;
        out->id = first_output - (uint64_t)distance;
        return NULL;
    case BD_PACK_NIL:
        *out = (burn_operand){.kind = BURN_OPERAND_ABSENT};
        return bd_unpack_nil(unpack);
    case BD_PACK_BOOL:
        BD_TRY(bd_unpack_bool(unpack, &value));
        *out = (burn_operand){.kind = BURN_OPERAND_BOOL, .i = value};
        return NULL;
    case BD_PACK_FLOAT:
        *out = (burn_operand){.kind = BURN_OPERAND_FLOAT};
        return bd_unpack_float(unpack, &out->f);
    case BD_PACK_ARRAY:
        *out = (burn_operand){.kind = BURN_OPERAND_INT};
        BD_TRY(bd_unpack_array_of(unpack, 1));
        return bd_unpack_int(unpack, &out->i);
    case BD_PACK_STR:
    case BD_PACK_BIN:
    case BD_PACK_END:
    case BD_PACK_OTHER:
        break;
    }
    BD_FAIL(PROTOCOL, "an input is %s", bd_pack_kind_text(kind));
}

static bd_error *decode_attr(bd_unpack *unpack, burn_attr_kind kind, bd_arena *arena,
                             burn_attr *out)
{
    const uint8_t *bytes;
    size_t size;
    uint32_t count;
    switch (kind) {
    case BURN_ATTR_INT:
    case BURN_ATTR_DTYPE:
    case BURN_ATTR_SIZE:
        return bd_unpack_int(unpack, &out->value);
    case BURN_ATTR_INTS:
    case BURN_ATTR_SIZES:
        BD_TRY(bd_unpack_array(unpack, &count));
        int64_t *values = BD_ARENA_ARRAY(arena, int64_t, count + 1);
        for (uint32_t i = 0; i < count; i++)
            BD_TRY(bd_unpack_int(unpack, &values[i]));
        out->values = values;
        out->count = count;
        return NULL;
    case BURN_ATTR_BYTES:
        BD_TRY(bd_unpack_bin(unpack, &bytes, &size));
        if (size > BURN_CONSTANT_BYTES_MAX)
            BD_FAIL(INVALID, "%zu bytes where %d are the most", size, BURN_CONSTANT_BYTES_MAX);
        out->bytes = bd_arena_copy(arena, bytes, size);
        out->count = (uint32_t)size;
        return NULL;
    }
    return NULL;
}
