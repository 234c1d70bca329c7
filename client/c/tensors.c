/* SPDX-License-Identifier: Apache-2.0
 * Tensors, ops and gradients of the public API: the lock, and plain calls into client/core. */
#include <inttypes.h>
#include <string.h>

#include "client/c/context.h"
#include "client/core/strides.h"
#include "proto/base/alloc.h"
#include "proto/ops.h"

enum { INPUTS_INLINE = 16 };

/* ---- making and reading ---------------------------------------------------------------------- */

static bd_error *type_of(int dtype, int rank, const int64_t *dims, burn_tensor_type *out,
                         size_t *out_bytes)
{
    if (!burn_dtype_valid(dtype))
        BD_FAIL(INVALID, "there is no dtype number %d", dtype);
    if (rank < 0 || rank > BURN_RANK_MAX)
        BD_FAIL(INVALID, "a tensor of rank %d; ranks go from 0 to %d", rank, BURN_RANK_MAX);
    if (rank > 0 && !dims)
        BD_FAIL(INVALID, "dims is NULL, of a tensor of rank %d", rank);
    *out = (burn_tensor_type){.dtype = (burn_dtype)dtype, .shape = {.rank = rank}};
    for (int i = 0; i < rank; i++)
        out->shape.dims[i] = dims[i];
    return burn_shape_check(&out->shape, out->dtype, out_bytes);
}

/* The elements of a small tensor travel within its op record. */
static bd_error *make_constant(burn_context *context, const burn_tensor_type *type,
                               const void *elements, size_t bytes, burn_tensor **out_tensor)
{
    burn_attr attrs[BURN_OP_ATTRS_MAX] = {
        {.value = type->dtype},
        {.values = type->shape.dims, .count = (uint32_t)type->shape.rank},
        {.bytes = elements, .count = (uint32_t)bytes}};
    BD_TRY(bd_session_apply(context->session, burn_op_lookup(BURN_OP_CONSTANT), NULL, 0, attrs,
                            out_tensor, 1));
    return bd_after_record(context);
}

/* Other threads wait until it is through: an upload's frames come before whatever has a later id.
 */
static bd_error *make_upload(burn_context *context, const burn_tensor_type *type,
                             const void *elements, size_t bytes, burn_tensor **out_tensor)
{
    BD_TRY(bd_client_failure(context->client));
    uint64_t id = 0;
    burn_tensor *tensor = NULL;
    BD_TRY(bd_session_upload(context->session, type, &tensor, &id));
    context->uploading = true;
    bd_error *error = bd_put(context, id, type, elements, bytes);
    context->uploading = false;
    pthread_cond_broadcast(&context->fed);
    if (error)
        bd_tensor_release(tensor);
    else
        *out_tensor = tensor;
    return error;
}

burn_status burn_upload(burn_context *context, int dtype, int rank, const int64_t *dims,
                        const void *elements, burn_tensor **out_tensor)
{
    burn_tensor_type type;
    size_t bytes = 0;
    bd_error *error = type_of(dtype, rank, dims, &type, &bytes);
    if (!error && (!out_tensor || (bytes && !elements)))
        error = BD_GIVEN(out_tensor, elements);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    error = bytes <= BURN_CONSTANT_BYTES_MAX
                ? make_constant(context, &type, elements, bytes, out_tensor)
                : make_upload(context, &type, elements, bytes, out_tensor);
    bd_leave(context);
    return bd_finish(error);
}

static bd_error *read_elements(burn_context *context, burn_tensor *tensor, void *elements,
                               size_t size_bytes)
{
    size_t bytes = burn_size_bytes(tensor);
    if (size_bytes != bytes)
        BD_FAIL(INVALID, "the tensor has %zu bytes, the buffer %zu", bytes, size_bytes);
    uint64_t id = 0;
    BD_TRY(bd_tensor_id(tensor, &id));
    bool done = false;
    BD_TRY(bd_region_get(context, id, elements, bytes, &done));
    if (done)
        return NULL;
    bd_pending pending = {0};
    bd_client_get(context->client, id, elements, bytes, &pending);
    return bd_wait(context, &pending);
}

burn_status burn_read(burn_tensor *tensor, void *elements, size_t size_bytes)
{
    burn_context *context = bd_context_of(tensor);
    bd_error *error = BD_GIVEN(tensor);
    if (!error && size_bytes)
        error = BD_GIVEN(elements);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    error = read_elements(context, tensor, elements, size_bytes);
    bd_leave(context);
    return bd_finish(error);
}

static bd_error *read_item(burn_context *context, burn_tensor *tensor, double *out_value)
{
    if (burn_elements(tensor) != 1)
        BD_FAIL(INVALID, "a Tensor with %" PRId64 " elements cannot be converted to Scalar",
                burn_elements(tensor));
    bd_input_operand input = {.kind = BURN_OPERAND_TENSOR, .tensor = tensor};
    burn_attr attrs[BURN_OP_ATTRS_MAX] = {{.value = BURN_F64}};
    burn_tensor *wide = NULL;
    BD_TRY(bd_session_apply(context->session, burn_op_lookup(BURN_OP_CAST), &input, 1, attrs, &wide,
                            1));
    double value = 0;
    bd_error *error = read_elements(context, wide, &value, sizeof value);
    bd_tensor_release(wide);
    if (!error)
        *out_value = value;
    return error;
}

burn_status burn_item(burn_tensor *tensor, double *out_value)
{
    burn_context *context = bd_context_of(tensor);
    BD_ENTER(context, tensor, out_value);
    bd_error *error = read_item(context, tensor, out_value);
    bd_leave(context);
    return bd_finish(error);
}

/* ---- handles --------------------------------------------------------------------------------- */

void burn_retain(burn_tensor *tensor)
{
    if (bd_absent("tensor", tensor))
        return;
    burn_context *context = bd_context_of(tensor);
    bd_lock(context);
    bd_tensor_retain(tensor);
    bd_leave(context);
}

/* In a forked child the lock may be held for ever by a thread that is not there: the handle is
 * left. */
void burn_release(burn_tensor *tensor)
{
    if (!tensor)
        return;
    burn_context *context = bd_context_of(tensor);
    if (bd_forked(context))
        return;
    bd_lock(context);
    bd_tensor_release(tensor);
    bd_leave(context);
}

burn_context *burn_context_of(const burn_tensor *tensor)
{
    if (bd_absent("tensor", tensor))
        return NULL;
    return bd_context_of(tensor);
}

int burn_dtype_of(const burn_tensor *tensor)
{
    if (bd_absent("tensor", tensor))
        return 0;
    return (int)bd_tensor_type(tensor)->dtype;
}

int burn_rank(const burn_tensor *tensor)
{
    if (bd_absent("tensor", tensor))
        return 0;
    return bd_tensor_type(tensor)->shape.rank;
}

const int64_t *burn_shape_of(const burn_tensor *tensor)
{
    if (bd_absent("tensor", tensor))
        return NULL;
    return bd_tensor_type(tensor)->shape.dims;
}

int64_t burn_elements(const burn_tensor *tensor)
{
    if (bd_absent("tensor", tensor))
        return 0;
    return burn_shape_elements(&bd_tensor_type(tensor)->shape);
}

size_t burn_size_bytes(const burn_tensor *tensor)
{
    if (bd_absent("tensor", tensor))
        return 0;
    return (size_t)burn_elements(tensor) * burn_dtype_size(bd_tensor_type(tensor)->dtype);
}

size_t burn_dtype_bytes(int dtype)
{
    return burn_dtype_valid(dtype) ? burn_dtype_size((burn_dtype)dtype) : 0;
}

const char *burn_dtype_text(int dtype)
{
    return burn_dtype_valid(dtype) ? burn_dtype_name((burn_dtype)dtype) : NULL;
}

uint64_t burn_version_of(const burn_tensor *tensor)
{
    if (bd_absent("tensor", tensor))
        return 0;
    return bd_tensor_version(tensor);
}

int burn_is_view(const burn_tensor *tensor)
{
    if (bd_absent("tensor", tensor))
        return 0;
    return bd_tensor_is_view(tensor);
}

int burn_is_contiguous(const burn_tensor *tensor)
{
    if (bd_absent("tensor", tensor))
        return 0;
    burn_context *context = bd_context_of(tensor);
    bd_lock(context);
    bool contiguous = bd_tensor_is_contiguous(tensor);
    bd_leave(context);
    return contiguous;
}

void burn_strides_of(const burn_tensor *tensor, int64_t *strides)
{
    if (bd_absent("tensor", tensor) || (burn_rank(tensor) > 0 && bd_absent("strides", strides)))
        return;
    burn_context *context = bd_context_of(tensor);
    int64_t all[BURN_RANK_MAX];
    bd_lock(context);
    bd_tensor_strides(tensor, all);
    bd_leave(context);
    for (int d = 0; d < burn_rank(tensor); d++)
        strides[d] = all[d];
}

int burn_can_view(const burn_tensor *tensor, int rank, const int64_t *dims)
{
    if (bd_absent("tensor", tensor) || (rank > 0 && bd_absent("dims", dims)))
        return 0;
    int64_t elements = 1;
    if (rank < 0 || rank > BURN_RANK_MAX)
        return 0;
    for (int i = 0; i < rank; i++)
        if (dims[i] < 0 || __builtin_mul_overflow(elements, dims[i], &elements))
            return 0;
    if (elements != burn_elements(tensor))
        return 0;
    burn_context *context = bd_context_of(tensor);
    burn_attr sizes = {.values = dims, .count = (uint32_t)rank};
    bd_lock(context);
    bool can = bd_tensor_can_view(tensor, &sizes);
    bd_leave(context);
    return can;
}

uint64_t burn_id_of(burn_tensor *tensor)
{
    if (bd_absent("tensor", tensor))
        return 0;
    burn_context *context = bd_context_of(tensor);
    bd_error *error = bd_enter(context);
    uint64_t id = 0;
    if (!error) {
        error = bd_tensor_id(tensor, &id);
        bd_leave(context);
    }
    (void)bd_finish(error);
    return id;
}

void *burn_user(const burn_tensor *tensor)
{
    if (bd_absent("tensor", tensor))
        return NULL;
    return bd_tensor_user(tensor);
}

void burn_set_user(burn_tensor *tensor, void *user)
{
    if (bd_absent("tensor", tensor))
        return;
    bd_tensor_set_user(tensor, user);
}

/* ---- ops ------------------------------------------------------------------------------------- */

static bd_error *operand_of(const burn_input *input, bd_input_operand *out)
{
    switch (input->kind) {
    case BURN_OPERAND_ABSENT:
        out->kind = BURN_OPERAND_ABSENT;
        return NULL;
    case BURN_OPERAND_TENSOR:
        out->kind = BURN_OPERAND_TENSOR;
        out->tensor = (burn_tensor *)(uintptr_t)input->as.tensor; /* reading may refresh a view */
        if (out->tensor)
            return NULL;
        break;
    case BURN_OPERAND_BOOL:
    case BURN_OPERAND_INT:
        out->kind = (burn_operand_kind)input->kind;
        out->i = input->as.integer;
        return NULL;
    case BURN_OPERAND_FLOAT:
        out->kind = BURN_OPERAND_FLOAT;
        out->f = input->as.real;
        return NULL;
    }
    if (input->kind == BURN_OPERAND_TENSOR)
        BD_FAIL(INVALID, "the tensor is NULL");
    BD_FAIL(INVALID, "it is of kind %d; kinds go from 0 to 4", input->kind);
}

static bd_error *attrs_of(const burn_op_info *info, const burn_attribute *attributes, size_t count,
                          burn_attr attrs[BURN_OP_ATTRS_MAX])
{
    if (count > info->attr_count)
        BD_FAIL(INVALID, "%s: has %u attributes, not %zu", info->name, info->attr_count, count);
    for (int i = 0; i < info->attr_count; i++) {
        const burn_attr_info *row = &info->attrs[i];
        attrs[i] = (burn_attr){.value = row->default_value};
        if ((size_t)i >= count || !attributes[i].is_set) {
            if (!row->has_default && row->kind != BURN_ATTR_INTS && row->kind != BURN_ATTR_SIZES)
                BD_FAIL(INVALID, "%s: the attribute %s is missing", info->name, row->name);
            continue;
        }
        const burn_attribute *given = &attributes[i];
        if (given->count > BURN_CONSTANT_BYTES_MAX)
            BD_FAIL(LIMIT, "%s: %zu items of %s", info->name, given->count, row->name);
        if (given->count && !given->items)
            BD_FAIL(INVALID, "%s: %s is NULL, of %zu items", info->name, row->name, given->count);
        attrs[i].value = given->number;
        attrs[i].count = (uint32_t)given->count;
        if (row->kind == BURN_ATTR_BYTES)
            attrs[i].bytes = given->items;
        else
            attrs[i].values = given->items;
    }
    return NULL;
}

static bd_error *note_input(const burn_op_info *info, size_t i, bd_error *own_error)
{
    size_t last = info->input_count ? info->input_count - 1U : 0;
    const char *name = info->inputs[i < last ? i : last];
    return bd_error_note(own_error, "%s: %s (input %zu)", info->name, name ? name : "no name", i);
}

static bd_error *apply(burn_context *context, const burn_op_info *info, const burn_input *inputs,
                       size_t input_count, const burn_attribute *attributes, size_t attribute_count,
                       burn_tensor **out_tensors, size_t output_count)
{
    BD_UNSET burn_attr attrs[BURN_OP_ATTRS_MAX];
    BD_UNSET bd_input_operand operands_inline[INPUTS_INLINE];
    bd_input_operand *operands = operands_inline;
    bd_error *error = attrs_of(info, attributes, attribute_count, attrs);
    if (input_count > INPUTS_INLINE)
        operands = bd_alloc(input_count * sizeof *operands);
    for (size_t i = 0; !error && i < input_count; i++) {
        error = operand_of(&inputs[i], &operands[i]);
        if (error)
            error = note_input(info, i, error);
    }
    if (!error)
        error = bd_session_apply(context->session, info, operands, (uint32_t)input_count, attrs,
                                 out_tensors, (uint32_t)output_count);
    if (operands != operands_inline)
        bd_free(operands);
    return error ? error : bd_after_record(context);
}

/* Control records have functions of their own. */
static bool may_apply(const burn_op_info *info)
{
    return !(info->flags & (BURN_OP_INTERNAL | BURN_OP_CONTROL)) ||
           info->number == BURN_OP_CONSTANT;
}

burn_status burn_apply(burn_context *context, int op, const burn_input *inputs, size_t input_count,
                       const burn_attribute *attributes, size_t attribute_count,
                       burn_tensor **out_tensors, size_t output_count)
{
    const burn_op_info *info = burn_op_lookup(op);
    if (!info || !may_apply(info))
        return bd_finish(BD_ERROR(INVALID, "there is no op number %d", op));
    if (input_count > UINT16_MAX || output_count > UINT16_MAX)
        return bd_finish(
            BD_ERROR(LIMIT, "%s: %zu inputs, %zu outputs", info->name, input_count, output_count));
    const char *missing = !out_tensors && output_count      ? "out"
                          : !inputs && input_count          ? "inputs"
                          : !attributes && attribute_count ? "attributes"
                                                           : NULL;
    if (missing)
        return bd_finish(BD_ERROR(INVALID, "%s: %s is NULL", info->name, missing));
    bd_error *error = bd_enter(context);
    if (error)
        return bd_finish(error);
    error = apply(context, info, inputs, input_count, attributes, attribute_count, out_tensors,
                  output_count);
    bd_leave(context);
    return bd_finish(error);
}

int burn_find_op(const char *name)
{
    if (bd_absent("name", name))
        return 0;
    const burn_op_info *info = burn_op_find(name);
    return info ? info->number : 0;
}

burn_status burn_assign(burn_tensor *target, burn_input source, int flags)
{
    burn_context *context = bd_context_of(target);
    bd_input_operand operand = {0};
    bd_error *error = BD_GIVEN(target);
    if (!error && (error = operand_of(&source, &operand)))
        error = bd_error_note(error, "source");
    if (!error && operand.kind == BURN_OPERAND_ABSENT)
        error = BD_ERROR(INVALID, "source is none: nothing to assign");
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    error = bd_tensor_assign(target, &operand, flags & BURN_ASSIGN_CAST ? BD_ASSIGN_CAST : 0);
    if (!error)
        error = bd_after_record(context);
    bd_leave(context);
    return bd_finish(error);
}

burn_status burn_set_data(burn_tensor *target, burn_tensor *source)
{
    burn_context *context = bd_context_of(target);
    BD_ENTER(context, target, source);
    bd_input_operand operand = {.kind = BURN_OPERAND_TENSOR, .tensor = source};
    bd_error *error = bd_tensor_assign(target, &operand, BD_ASSIGN_REPLACE);
    bd_leave(context);
    return bd_finish(error);
}

burn_status burn_detach(burn_tensor *tensor, burn_tensor **out_tensor)
{
    burn_context *context = bd_context_of(tensor);
    BD_ENTER(context, tensor, out_tensor);
    bd_error *error = bd_tensor_detach(tensor, out_tensor);
    bd_leave(context);
    return bd_finish(error);
}

burn_status burn_alias(burn_tensor *tensor, burn_tensor **out_tensor)
{
    burn_context *context = bd_context_of(tensor);
    BD_ENTER(context, tensor, out_tensor);
    bd_error *error = bd_tensor_alias(tensor, out_tensor);
    bd_leave(context);
    return bd_finish(error);
}
