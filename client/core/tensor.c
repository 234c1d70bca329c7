/* SPDX-License-Identifier: Apache-2.0
 * Tensors: handles on values, ops over them, assignment. */
#include <string.h>

#include "client/core/recording.h"
#include "client/core/strides.h"
#include "client/core/tensor_state.h"
#include "proto/base/alloc.h"
#include "proto/base/assert.h"

enum { OPERANDS_INLINE = 16, OUTPUTS_INLINE = 4 };

/* ---- life ------------------------------------------------------------------------------------ */

burn_tensor *bd_tensor_create(bd_session *session, bd_value *own_value)
{
    burn_tensor *tensor = session->spare_tensors;
    if (tensor)
        session->spare_tensors = tensor->next;
    else
        tensor = bd_alloc(sizeof *tensor);
    *tensor = (burn_tensor){.session = session, .refs = 1, .value = own_value};
    session->tensor_count++;
    return tensor;
}

void bd_tensor_retain(burn_tensor *tensor)
{
    tensor->refs++;
}

void bd_tensor_release(burn_tensor *tensor)
{
    /* A gradient may have a gradient, and so on: no recursion. */
    while (tensor && --tensor->refs == 0) {
        burn_tensor *grad = tensor->grad;
        bd_session *session = tensor->session;
        if (tensor->storage)
            bd_storage_leave(tensor);
        bd_value_drop(tensor->value);
        bd_tensor_set_hooked(tensor, false);
        if (tensor->accumulator) {
            tensor->accumulator->tensor = NULL;
            bd_accumulator_release(tensor->accumulator);
        }
        tensor->next = session->spare_tensors;
        session->spare_tensors = tensor;
        session->tensor_count--;
        if (!session->client)
            bd_session_collect(session);
        tensor = grad;
    }
}

bd_session *bd_tensor_session(const burn_tensor *tensor)
{
    return tensor->session;
}

const burn_tensor_type *bd_tensor_type(const burn_tensor *tensor)
{
    return &tensor->value->type;
}

void *bd_tensor_user(const burn_tensor *tensor)
{
    return tensor->user;
}

void bd_tensor_set_user(burn_tensor *tensor, void *user)
{
    tensor->user = user;
}

uint64_t bd_tensor_version(const burn_tensor *tensor)
{
    return tensor->storage ? tensor->storage->version : tensor->version;
}

bd_error *bd_tensor_id(burn_tensor *tensor, uint64_t *out_id)
{
    bd_value *value = NULL;
    BD_TRY(bd_tensor_value(tensor, &value));
    if (value->flags & BD_VALUE_RECORDED)
        BD_FAIL(INVALID, "a tensor of a program that is being recorded has no elements yet: "
                         "read results after the call");
    *out_id = value->id;
    return NULL;
}

burn_tensor *bd_session_tensor(bd_session *session, const burn_tensor_type *type, uint64_t id)
{
    bd_value *value = bd_value_create(session);
    value->type = *type;
    value->id = id;
    return bd_tensor_create(session, value);
}

bd_error *bd_session_upload(bd_session *session, const burn_tensor_type *type,
                            burn_tensor **out_tensor, uint64_t *out_id)
{
    BD_TRY(bd_client_failure(session->client));
    *out_id = bd_client_mint(session->client);
    *out_tensor = bd_session_tensor(session, type, *out_id);
    return NULL;
}

/* ---- what a tensor shows --------------------------------------------------------------------- */

void bd_tensor_show(burn_tensor *tensor, bd_value *own_value)
{
    bd_value_drop(tensor->value);
    tensor->value = own_value;
}

/* A leaf's value is its own: the gradient asked for an id must be that of one tensor. */
static bd_error *settle(burn_tensor *tensor)
{
    bd_value *value = tensor->value;
    bd_storage *storage = tensor->storage;
    bool stored = storage && storage->value == value;
    uint32_t own = stored && !tensor->view ? 2 : 1;
    if (value->handles != own || value->refs != own || value->flags & BD_VALUE_TRACKED) {
        BD_TRY(bd_emit_unary(tensor->session, BURN_OP_DETACH, tensor->value, NULL, false, &value));
        if (stored && !tensor->view) {
            bd_value_drop(storage->value);
            bd_value_hold(value);
            storage->value = value;
        }
        bd_tensor_show(tensor, value);
    }
    value->flags |= BD_VALUE_TRACKED | BD_VALUE_LEAF;
    bd_value_set_accumulator(value, tensor->accumulator);
    return NULL;
}

bd_error *bd_tensor_value(burn_tensor *tensor, bd_value **out_value)
{
    bd_recording *recording = bd_recording_here(tensor->session);
    if (recording)
        BD_TRY(bd_recording_adopt(recording, tensor));
    if (tensor->storage && tensor->version != tensor->storage->version)
        BD_TRY(bd_view_refresh(tensor));
    if (tensor->flags & BD_TENSOR_LEAF && tensor->value->accumulator != tensor->accumulator)
        BD_TRY(settle(tensor));
    *out_value = tensor->value;
    return NULL;
}

bd_error *bd_tensor_refresh(burn_tensor *tensor)
{
    bd_value *value = NULL;
    return bd_tensor_value(tensor, &value);
}

static bool is_foreign(const bd_session *session)
{
    return session->is_foreign && session->is_foreign(session->user);
}

bd_error *bd_tensor_check_session(const burn_tensor *tensor, const bd_session *session)
{
    if (tensor->session == session)
        return NULL;
    if (!tensor->session->client || !session->client)
        BD_FAIL(UNAVAILABLE, "the connection that the tensor belongs to was closed");
    if (is_foreign(tensor->session) || is_foreign(session))
        BD_FAIL(UNAVAILABLE, "the tensor belongs to a connection that the parent process opened; "
                             "make it anew in this one");
    BD_FAIL(INVALID, "the tensors belong to different connections");
}

/* ---- ops ------------------------------------------------------------------------------------- */

static bd_error *operands_of(bd_session *session, const bd_input_operand *inputs, uint32_t count,
                             bd_value_operand *operands)
{
    for (uint32_t i = 0; i < count; i++) {
        operands[i].kind = inputs[i].kind;
        if (inputs[i].kind != BURN_OPERAND_TENSOR) {
            operands[i].i = inputs[i].i; /* the union's 64 bits */
            continue;
        }
        BD_TRY(bd_tensor_check_session(inputs[i].tensor, session));
        BD_TRY(bd_tensor_value(inputs[i].tensor, &operands[i].value));
    }
    return NULL;
}

static burn_tensor *wrap(bd_session *session, const burn_op_info *info,
                         const bd_input_operand *inputs, const burn_attr *attrs,
                         bd_value *own_value)
{
    burn_tensor *tensor = bd_tensor_create(session, own_value);
    if (!(info->flags & BURN_OP_VIEW) || !bd_view_shares(info) ||
        inputs[0].kind != BURN_OPERAND_TENSOR)
        return tensor;
    burn_tensor *input = inputs[0].tensor;
    if (info->number == BURN_OP_RESHAPE && !bd_tensor_can_view(input, &attrs[0]))
        return tensor;
    bd_storage *storage = bd_storage_of(input);
    bd_storage_join(storage, tensor,
                    bd_view_create(input->view, info, attrs, session->grad_enabled));
    return tensor;
}

bd_error *bd_session_apply(bd_session *session, const burn_op_info *info,
                           const bd_input_operand *inputs, uint32_t input_count,
                           const burn_attr *attrs, burn_tensor **out_tensors, uint32_t output_count)
{
    bool variadic = info->flags & BURN_OP_VARIADIC;
    uint32_t operand_count =
        !variadic && input_count < info->input_count ? info->input_count : input_count;
    BD_UNSET bd_value_operand operands_inline[OPERANDS_INLINE];
    bd_value_operand *operands = operands_inline;
    bd_value *values_inline[OUTPUTS_INLINE], **values = values_inline;
    if (operand_count > OPERANDS_INLINE)
        operands = bd_alloc(operand_count * sizeof *operands);
    if (output_count > OUTPUTS_INLINE)
        values = bd_alloc(output_count * sizeof(bd_value *));
    for (uint32_t i = input_count; i < operand_count; i++)
        operands[i].kind = BURN_OPERAND_ABSENT;
    bd_emission emission = {.info = info,
                            .inputs = operands,
                            .input_count = operand_count,
                            .output_count = output_count,
                            .attrs = attrs,
                            .track = session->grad_enabled};
    bd_error *error = operands_of(session, inputs, input_count, operands);
    if (!error)
        error = bd_emit(session, &emission, values);
    for (uint32_t i = 0; !error && i < output_count; i++)
        out_tensors[i] = wrap(session, info, inputs, attrs, values[i]);
    if (operands != operands_inline)
        bd_free(operands);
    if (values != values_inline)
        bd_free(values);
    return error;
}

/* ---- sharing --------------------------------------------------------------------------------- */

bd_error *bd_tensor_detach(burn_tensor *tensor, burn_tensor **out_tensor)
{
    bd_value *value = NULL;
    BD_TRY(bd_tensor_value(tensor, &value));
    if (value->flags & BD_VALUE_TRACKED)
        BD_TRY(bd_emit_unary(tensor->session, BURN_OP_DETACH, value, NULL, false, &value));
    else
        bd_value_hold(value);
    bd_storage *storage = bd_storage_of(tensor);
    burn_tensor *detached = bd_tensor_create(tensor->session, value);
    const burn_op_info *info = burn_op_lookup(BURN_OP_DETACH);
    bd_storage_join(storage, detached, bd_view_create(tensor->view, info, NULL, false));
    *out_tensor = detached;
    return NULL;
}

bd_error *bd_tensor_alias(burn_tensor *tensor, burn_tensor **out_tensor)
{
    bd_value *value = NULL;
    BD_TRY(bd_tensor_value(tensor, &value));
    bd_value_hold(value);
    burn_tensor *alias = bd_tensor_create(tensor->session, value);
    bd_storage *storage = bd_storage_of(tensor);
    if (tensor->view)
        tensor->view->refs++;
    bd_storage_join(storage, alias, tensor->view);
    *out_tensor = alias;
    return NULL;
}

/* ---- assignment ------------------------------------------------------------------------------ */

static bd_error *check_write(const burn_tensor *target)
{
    bool grad = target->session->grad_enabled;
    if (grad && target->flags & BD_TENSOR_LEAF)
        BD_FAIL(INVALID,
                "a leaf Variable that requires grad is being used in an in-place operation.");
    if (grad && bd_view_of_leaf(target))
        BD_FAIL(
            INVALID,
            "a view of a leaf Variable that requires grad is being used in an in-place operation.");
    if (target->view && bd_view_overlaps(target))
        BD_FAIL(
            INVALID,
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation.");
    return NULL;
}

static bd_error *check_cast(burn_dtype from, burn_dtype to)
{
    bool lossy =
        burn_dtype_is_float(from) ? !burn_dtype_is_float(to) : from != BURN_BOOL && to == BURN_BOOL;
    if (lossy)
        BD_FAIL(INVALID, "result type %s can't be cast to the desired output type %s",
                burn_dtype_name(from), burn_dtype_name(to));
    return NULL;
}

static burn_dtype scalar_dtype(burn_operand_kind kind)
{
    return kind == BURN_OPERAND_BOOL ? BURN_BOOL : kind == BURN_OPERAND_INT ? BURN_I64 : BURN_F32;
}

static bd_error *fill(bd_session *session, const burn_tensor_type *type,
                      const bd_input_operand *source, bd_value **out_value)
{
    bd_value_operand input = {.kind = source->kind, .i = source->i};
    burn_attr attrs[BURN_OP_ATTRS_MAX] = {
        {.values = type->shape.dims, .count = (uint32_t)type->shape.rank}, {.value = type->dtype}};
    bd_emission emission = {.info = burn_op_lookup(BURN_OP_FULL),
                            .inputs = &input,
                            .input_count = 1,
                            .output_count = 1,
                            .attrs = attrs};
    return bd_emit(session, &emission, out_value);
}

/* The source in the target's shape and dtype, one handle reference. */
static bd_error *conform(bd_session *session, const burn_tensor_type *type, bd_value *source,
                         bd_value **out_value)
{
    bool track = session->grad_enabled;
    bd_value *value = source;
    bd_value_hold(value);
    if (!track && value->flags & BD_VALUE_TRACKED) {
        bd_value *next = NULL;
        bd_error *error = bd_emit_unary(session, BURN_OP_DETACH, value, NULL, false, &next);
        bd_value_drop(value);
        if (error)
            return error;
        value = next;
    }
    if (value->type.dtype != type->dtype) {
        bd_value *next = NULL;
        burn_attr attrs[BURN_OP_ATTRS_MAX] = {{.value = type->dtype}};
        bd_error *error = bd_emit_unary(session, BURN_OP_CAST, value, attrs, track, &next);
        bd_value_drop(value);
        if (error)
            return error;
        value = next;
    }
    if (!burn_shape_equal(&value->type.shape, &type->shape)) {
        bd_value *next = NULL;
        burn_attr attrs[BURN_OP_ATTRS_MAX] = {
            {.values = type->shape.dims, .count = (uint32_t)type->shape.rank}};
        bd_error *error = bd_emit_unary(session, BURN_OP_EXPAND, value, attrs, track, &next);
        bd_value_drop(value);
        if (error)
            return error;
        value = next;
    }
    *out_value = value;
    return NULL;
}

static bd_error *check_shapes(const burn_shape *target, const burn_shape *source)
{
    burn_shape both;
    char a[BURN_SHAPE_TEXT_MAX], b[BURN_SHAPE_TEXT_MAX];
    BD_TRY(burn_shape_broadcast(target, source, &both));
    if (!burn_shape_equal(&both, target))
        BD_FAIL(INVALID, "output with shape %s doesn't match the broadcast shape %s",
                burn_shape_text(target, a), burn_shape_text(&both, b));
    return NULL;
}

/* Puts a conforming value into the target and what shares with it. Takes the reference. */
static bd_error *store(burn_tensor *target, bd_value *own_value)
{
    bd_storage *storage = target->storage;
    if (!storage) {
        bd_tensor_show(target, own_value);
        target->version++;
        return NULL;
    }
    bd_value *base = own_value;
    if (target->view) {
        bd_error *error = bd_view_write(target, own_value, &base);
        if (error) {
            bd_value_drop(own_value);
            return error;
        }
    } else {
        bd_value_hold(base);
    }
    bd_value_drop(storage->value);
    storage->value = base;
    target->version = ++storage->version;
    bd_tensor_show(target, own_value);
    if (target->view && storage->base) { /* at once: what it showed would keep its memory */
        bd_value_hold(base);
        bd_tensor_show(storage->base, base);
        storage->base->version = storage->version;
    }
    return NULL;
}

/* Whatever was there before a copy still counts as a source, whose gradient is zero: so it is no
 * longer None, and the tensor still requires one. */
static bd_error *keep_source(bd_session *session, bd_value *before, bd_value **value)
{
    if (!session->grad_enabled || !(before->flags & BD_VALUE_TRACKED) || before == *value)
        return NULL;
    for (uint32_t i = 0; i < (*value)->parent_count; i++)
        if ((*value)->parents[i] == before)
            return NULL;
    if ((*value)->refs > 1) {
        bd_value *own = NULL;
        BD_TRY(bd_emit_unary(session, BURN_OP_CLONE, *value, NULL, true, &own));
        bd_value_drop(*value);
        *value = own;
    }
    bd_value_add_parent(*value, before);
    return NULL;
}

/* `x.data = y`: x joins y's storage behind a detach. */
static bd_error *replace(burn_tensor *target, burn_tensor *source)
{
    burn_tensor *other = NULL;
    BD_TRY(bd_tensor_detach(source, &other));
    bd_storage *storage = other->storage;
    bd_view *view = other->view;
    bd_value *value = other->value;
    view->refs++;
    bd_value_hold(value);
    if (target->storage)
        bd_storage_leave(target);
    bd_tensor_show(target, value);
    bd_storage_join(storage, target, view);
    bd_tensor_release(other);
    return NULL;
}

bd_error *bd_tensor_assign(burn_tensor *target, const bd_input_operand *source, int flags)
{
    bd_session *session = target->session;
    bool tensor = source->kind == BURN_OPERAND_TENSOR;
    if (tensor)
        BD_TRY(bd_tensor_check_session(source->tensor, session));
    bd_value *shown = NULL, *value = NULL;
    BD_TRY(bd_tensor_value(target, &shown));
    if (flags & BD_ASSIGN_REPLACE && tensor)
        return source->tensor == target ? NULL : replace(target, source->tensor);
    BD_TRY(check_write(target));
    if (tensor)
        BD_TRY(bd_tensor_value(source->tensor, &value));
    if (!(flags & BD_ASSIGN_CAST))
        BD_TRY(
            check_cast(tensor ? value->type.dtype : scalar_dtype(source->kind), shown->type.dtype));
    if (tensor) {
        BD_TRY(check_shapes(&shown->type.shape, &value->type.shape));
        BD_TRY(conform(session, &shown->type, value, &value));
    } else {
        BD_TRY(fill(session, &shown->type, source, &value));
    }
    if (flags & BD_ASSIGN_CAST) {
        bd_error *error = keep_source(session, shown, &value);
        if (error) {
            bd_value_drop(value);
            return error;
        }
    }
    return store(target, value);
}
