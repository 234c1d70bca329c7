/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/ops.h"

#include "proto/op_rules.h"
#include "proto/shape_rules.h"

static bd_error *check_arity(const burn_op_record *record) BD_MUST_USE;
static bd_error *check_operands(const burn_op_record *record,
                                const burn_tensor_type *const *inputs) BD_MUST_USE;
static bd_error *check_operand(const burn_op_record *record, uint32_t i,
                               const burn_tensor_type *type) BD_MUST_USE;
static bd_error *check_dtype_attrs(const burn_op_record *record) BD_MUST_USE;
static bd_error *infer(const burn_op_record *record, const burn_tensor_type *const *inputs,
                       burn_tensor_type *outputs) BD_MUST_USE;
static bd_error *output_dtype(const burn_op_record *record, const burn_tensor_type *const *inputs,
                              burn_dtype *out) BD_MUST_USE;
static bd_error *check_alike(const burn_op_record *record, const burn_tensor_type *const *inputs,
                             burn_dtype dtype) BD_MUST_USE;
static bool any_bool(const burn_op_record *record, const burn_tensor_type *const *inputs);
static burn_dtype scalar_dtype(burn_operand_kind kind);
static burn_dtype first_dtype(const burn_op_record *record, const burn_tensor_type *const *inputs);
static burn_dtype promoted_dtype(const burn_op_record *record,
                                 const burn_tensor_type *const *inputs);
static burn_dtype attr_dtype(const burn_op_record *record);

/* The commonest case by far: a pointwise op over tensors of one float type and weak scalars. True
 * if it is that; everything else, all errors included, is for the rules. */
static bool infer_alike(const burn_op_record *record, const burn_tensor_type *const *inputs,
                        burn_tensor_type *outputs)
{
    const burn_op_info *info = record->info;
    const burn_tensor_type *first = NULL;
    bool rule = info->dtype_rule == BURN_DTYPE_RULE_PROMOTE ||
                info->dtype_rule == BURN_DTYPE_RULE_PROMOTE_NUMBER ||
                info->dtype_rule == BURN_DTYPE_RULE_PROMOTE_WIDE ||
                info->dtype_rule == BURN_DTYPE_RULE_PROMOTE_FLOAT;
    if (!rule || info->shape_rule != BURN_SHAPE_RULE_BROADCAST || info->attr_count > 0 ||
        info->flags & BURN_OP_VARIADIC || record->input_count != info->input_count ||
        record->output_count != 1)
        return false;
    for (uint32_t i = 0; i < record->input_count; i++) {
        if (info->input_roles[i] != BURN_INPUT_VALUE ||
            record->inputs[i].kind == BURN_OPERAND_ABSENT)
            return false;
        if (!inputs[i] && record->inputs[i].kind != BURN_OPERAND_BOOL)
            continue;
        if (!inputs[i])
            return false;
        if (!first)
            first = inputs[i];
        else if (inputs[i]->dtype != first->dtype ||
                 !burn_shape_equal(&inputs[i]->shape, &first->shape))
            return false;
    }
    if (!first || !burn_dtype_is_float(first->dtype))
        return false;
    outputs->dtype = first->dtype;
    outputs->shape.rank = first->shape.rank;
    for (int32_t i = 0; i < first->shape.rank; i++)
        outputs->shape.dims[i] = first->shape.dims[i];
    return true;
}

bd_error *burn_op_infer(const burn_op_record *record, const burn_tensor_type *const *inputs,
                        burn_tensor_type *outputs)
{
    if (infer_alike(record, inputs, outputs))
        return NULL;
    bd_error *error = infer(record, inputs, outputs);
    return error ? bd_error_note(error, "%s", record->info->name) : NULL;
}

burn_dtype burn_op_compute_dtype(const burn_op_record *record,
                                 const burn_tensor_type *const *inputs)
{
    burn_dtype named;
    switch ((burn_dtype_rule)record->info->dtype_rule) {
    case BURN_DTYPE_RULE_NONE:
        return BURN_DTYPE_NONE;
    case BURN_DTYPE_RULE_SAME:
    case BURN_DTYPE_RULE_SAME_FLOAT:
    case BURN_DTYPE_RULE_SAME_INDEX:
    case BURN_DTYPE_RULE_TRUTH:
    case BURN_DTYPE_RULE_FLOAT:
    case BURN_DTYPE_RULE_ALIKE:
    case BURN_DTYPE_RULE_I64:
    case BURN_DTYPE_RULE_ATTR:
    case BURN_DTYPE_RULE_ATTR_FLOAT:
        return first_dtype(record, inputs);
    case BURN_DTYPE_RULE_PROMOTE:
    case BURN_DTYPE_RULE_PROMOTE_NUMBER:
    case BURN_DTYPE_RULE_PROMOTE_WIDE:
    case BURN_DTYPE_RULE_PROMOTE_INTEGER:
    case BURN_DTYPE_RULE_BOOL:
        return promoted_dtype(record, inputs);
    case BURN_DTYPE_RULE_PROMOTE_FLOAT:
    case BURN_DTYPE_RULE_BOOL_FLOAT:
        named = promoted_dtype(record, inputs);
        return burn_dtype_is_float(named) ? named : BURN_F32;
    case BURN_DTYPE_RULE_LOGICAL:
        return BURN_BOOL;
    case BURN_DTYPE_RULE_SUM:
        named = attr_dtype(record);
        if (named != BURN_DTYPE_NONE)
            return named;
        named = first_dtype(record, inputs);
        return burn_dtype_is_float(named) ? named : BURN_I64;
    case BURN_DTYPE_RULE_MEAN:
        named = attr_dtype(record);
        return named != BURN_DTYPE_NONE ? named : first_dtype(record, inputs);
    }
    return BURN_DTYPE_NONE;
}

/* ---- local ----------------------------------------------------------------------------------- */

static bd_error *infer(const burn_op_record *record, const burn_tensor_type *const *inputs,
                       burn_tensor_type *outputs)
{
    burn_dtype dtype = BURN_DTYPE_NONE;
    BD_TRY(check_arity(record));
    BD_TRY(check_operands(record, inputs));
    BD_TRY(check_dtype_attrs(record));
    BD_TRY(output_dtype(record, inputs, &dtype));
    return burn_infer_shapes(record, inputs, dtype, outputs);
}

static bd_error *check_arity(const burn_op_record *record)
{
    const burn_op_info *info = record->info;
    uint32_t named = info->input_count;
    bool variadic = info->flags & BURN_OP_VARIADIC;
    if (variadic ? record->input_count + 1 < named : record->input_count != named)
        BD_FAIL(INVALID, "takes %u inputs, not %u", named, record->input_count);
    if (info->output_rule == BURN_OUTPUTS_WRT || info->output_rule == BURN_OUTPUTS_ATTR) {
        uint32_t due = burn_op_output_count(record);
        if (record->output_count != due || due > BD_OUTPUTS_MAX)
            BD_FAIL(INVALID, "gives %u outputs, not %u", due, record->output_count);
    } else if (record->output_count != burn_op_output_count(record)) {
        BD_FAIL(INVALID, "gives %u outputs, not %u", burn_op_output_count(record),
                record->output_count);
    }
    return NULL;
}

static bd_error *check_operands(const burn_op_record *record, const burn_tensor_type *const *inputs)
{
    const burn_op_info *info = record->info;
    if (info->number == BURN_OP_GRAD || info->flags & BURN_OP_CONTROL)
        return NULL; /* the shape rule or the stream looks at them */
    for (uint32_t i = 0; i < record->input_count; i++) {
        bool optional = i < info->input_count && (info->input_optional >> i & 1u);
        if (record->inputs[i].kind != BURN_OPERAND_ABSENT)
            BD_TRY(check_operand(record, i, inputs[i]));
        else if (!optional)
            BD_FAIL(INVALID, "the input %s is missing", burn_input_name(record, i));
    }
    return NULL;
}

static bd_error *check_operand(const burn_op_record *record, uint32_t i,
                               const burn_tensor_type *type)
{
    const char *name = burn_input_name(record, i);
    switch (burn_op_input_role(record->info, i)) {
    case BURN_INPUT_VALUE:
        if (!type && i == 0 && !(record->info->flags & BURN_OP_POINTWISE))
            BD_FAIL(INVALID, "%s must be a tensor, not a scalar", name);
        return NULL;
    case BURN_INPUT_INDEX:
        if (!type || !burn_dtype_is_integer(type->dtype))
            BD_FAIL(INVALID, "%s must be a tensor of integers, not %s", name,
                    type ? burn_dtype_name(type->dtype) : "a scalar");
        return NULL;
    case BURN_INPUT_CONDITION:
        if (type ? type->dtype != BURN_BOOL : record->inputs[i].kind != BURN_OPERAND_BOOL)
            BD_FAIL(INVALID, "%s must be bool, not %s", name,
                    type ? burn_dtype_name(type->dtype) : "a number");
        return NULL;
    case BURN_INPUT_PARAM:
    case BURN_INPUT_NUMBER:
        if (type && type->shape.rank != 0) {
            char text[BURN_SHAPE_TEXT_MAX];
            BD_FAIL(INVALID, "%s must be a scalar or of shape [], not %s", name,
                    burn_shape_text(&type->shape, text));
        }
        return NULL;
    }
    return NULL;
}

static bd_error *check_dtype_attrs(const burn_op_record *record)
{
    const burn_op_info *info = record->info;
    for (int i = 0; i < info->attr_count; i++) {
        if (info->attrs[i].kind != BURN_ATTR_DTYPE)
            continue;
        int64_t number = record->attrs[i].value;
        bool may_be_none = info->attrs[i].has_default && info->attrs[i].default_value == 0;
        if (number < 0 || number >= BURN_DTYPE_END || (number == 0 && !may_be_none))
            BD_FAIL(INVALID, "there is no dtype number %lld", (long long)number);
    }
    return NULL;
}

static bd_error *output_dtype(const burn_op_record *record, const burn_tensor_type *const *inputs,
                              burn_dtype *out)
{
    burn_dtype compute = burn_op_compute_dtype(record, inputs);
    bool is_float = burn_dtype_is_float(compute);
    const char *text = burn_dtype_name(compute);
    switch ((burn_dtype_rule)record->info->dtype_rule) {
    case BURN_DTYPE_RULE_PROMOTE_NUMBER:
        if (any_bool(record, inputs))
            BD_FAIL(INVALID, "is not defined for bool; use logical_xor or logical_not, or cast");
        break;
    case BURN_DTYPE_RULE_PROMOTE_WIDE:
        if (compute == BURN_BOOL)
            BD_FAIL(INVALID, "is not implemented for bool; cast first");
        break;
    case BURN_DTYPE_RULE_PROMOTE_INTEGER:
        if (is_float)
            BD_FAIL(INVALID, "takes integers or bools, not %s", text);
        break;
    case BURN_DTYPE_RULE_FLOAT:
    case BURN_DTYPE_RULE_SAME_FLOAT:
    case BURN_DTYPE_RULE_MEAN:
        if (!is_float)
            BD_FAIL(INVALID, "takes floats, not %s; cast first", text);
        if (record->info->dtype_rule == BURN_DTYPE_RULE_FLOAT)
            BD_TRY(check_alike(record, inputs, compute));
        break;
    case BURN_DTYPE_RULE_ALIKE:
        if (compute == BURN_BOOL)
            BD_FAIL(INVALID, "takes numbers, not bool; cast first");
        BD_TRY(check_alike(record, inputs, compute));
        break;
    case BURN_DTYPE_RULE_BOOL:
    case BURN_DTYPE_RULE_BOOL_FLOAT:
        compute = BURN_BOOL;
        break;
    case BURN_DTYPE_RULE_TRUTH:
        compute = compute == BURN_U8 ? BURN_U8 : BURN_BOOL;
        break;
    case BURN_DTYPE_RULE_I64:
        compute = BURN_I64;
        break;
    case BURN_DTYPE_RULE_ATTR_FLOAT:
        if (!burn_dtype_is_float(attr_dtype(record)))
            BD_FAIL(INVALID, "gives floats, not %s", burn_dtype_name(attr_dtype(record)));
        compute = attr_dtype(record);
        break;
    case BURN_DTYPE_RULE_ATTR:
        compute = attr_dtype(record);
        break;
    case BURN_DTYPE_RULE_NONE:
    case BURN_DTYPE_RULE_SAME:
    case BURN_DTYPE_RULE_SAME_INDEX:
    case BURN_DTYPE_RULE_PROMOTE:
    case BURN_DTYPE_RULE_PROMOTE_FLOAT:
    case BURN_DTYPE_RULE_LOGICAL:
    case BURN_DTYPE_RULE_SUM:
        break;
    }
    *out = compute;
    return NULL;
}

/* Weak scalars adapt; tensors must have the dtype already. */
static bd_error *check_alike(const burn_op_record *record, const burn_tensor_type *const *inputs,
                             burn_dtype dtype)
{
    for (uint32_t i = 0; i < record->input_count; i++) {
        if (burn_op_input_role(record->info, i) != BURN_INPUT_VALUE || !inputs[i] ||
            inputs[i]->dtype == dtype)
            continue;
        BD_FAIL(INVALID, "%s is %s and %s is %s; they must be alike", burn_input_name(record, 0),
                burn_dtype_name(dtype), burn_input_name(record, i),
                burn_dtype_name(inputs[i]->dtype));
    }
    return NULL;
}

static bool any_bool(const burn_op_record *record, const burn_tensor_type *const *inputs)
{
    for (uint32_t i = 0; i < record->input_count; i++)
        if (inputs[i] ? inputs[i]->dtype == BURN_BOOL : record->inputs[i].kind == BURN_OPERAND_BOOL)
            return true;
    return false;
}

/* What a Python scalar is when nothing else decides. */
static burn_dtype scalar_dtype(burn_operand_kind kind)
{
    switch (kind) {
    case BURN_OPERAND_BOOL:
        return BURN_BOOL;
    case BURN_OPERAND_INT:
        return BURN_I64;
    case BURN_OPERAND_FLOAT:
        return BURN_F32;
    case BURN_OPERAND_ABSENT:
    case BURN_OPERAND_TENSOR:
        break;
    }
    return BURN_DTYPE_NONE;
}

static burn_dtype first_dtype(const burn_op_record *record, const burn_tensor_type *const *inputs)
{
    for (uint32_t i = 0; i < record->input_count; i++)
        if (burn_op_input_role(record->info, i) == BURN_INPUT_VALUE &&
            record->inputs[i].kind != BURN_OPERAND_ABSENT)
            return inputs[i] ? inputs[i]->dtype : scalar_dtype(record->inputs[i].kind);
    return BURN_DTYPE_NONE;
}

static burn_dtype promoted_dtype(const burn_op_record *record,
                                 const burn_tensor_type *const *inputs)
{
    burn_promotion promotion = {0};
    for (uint32_t i = 0; i < record->input_count; i++) {
        if (burn_op_input_role(record->info, i) != BURN_INPUT_VALUE ||
            record->inputs[i].kind == BURN_OPERAND_ABSENT)
            continue;
        if (inputs[i])
            burn_promotion_add(&promotion, inputs[i]->dtype, inputs[i]->shape.rank, false);
        else
            burn_promotion_add(&promotion, scalar_dtype(record->inputs[i].kind), 0, true);
    }
    return burn_promotion_result(&promotion);
}

static burn_dtype attr_dtype(const burn_op_record *record)
{
    int place = burn_op_attr(record->info, "dtype");
    return place < 0 ? BURN_DTYPE_NONE : (burn_dtype)record->attrs[place].value;
}
