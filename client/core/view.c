/* SPDX-License-Identifier: Apache-2.0
 * Storages and views: who shares with whom, reading a view whose base has changed, writing a base
 * through a view. */
#include <string.h>

#include "client/core/tensor_state.h"
#include "proto/base/alloc.h"
#include "proto/base/vec.h"

typedef BD_VEC(const bd_view *) view_path;

/* ---- storages -------------------------------------------------------------------------------- */

/* The ops whose inverse this file knows. Others give tensors of their own. */
bool bd_view_shares(const burn_op_info *info)
{
    switch ((int)info->number) {
    case BURN_OP_DETACH:
    case BURN_OP_RESHAPE:
    case BURN_OP_PERMUTE:
    case BURN_OP_EXPAND:
    case BURN_OP_SLICE:
        return true;
    default:
        return false;
    }
}

bd_storage *bd_storage_of(burn_tensor *tensor)
{
    if (tensor->storage)
        return tensor->storage;
    bd_storage *storage = bd_alloc_zeroed(sizeof *storage);
    storage->version = tensor->version;
    storage->value = tensor->value;
    storage->base = tensor;
    bd_value_hold(tensor->value);
    bd_storage_join(storage, tensor, NULL);
    return storage;
}

/* Takes over the reference to the view. */
void bd_storage_join(bd_storage *storage, burn_tensor *tensor, bd_view *view)
{
    storage->refs++;
    tensor->storage = storage;
    tensor->view = view;
    tensor->version = storage->version;
    tensor->previous = NULL;
    tensor->next = storage->first;
    if (storage->first)
        storage->first->previous = tensor;
    storage->first = tensor;
}

static void leave(burn_tensor *tensor)
{
    bd_storage *storage = tensor->storage;
    if (tensor->previous)
        tensor->previous->next = tensor->next;
    else
        storage->first = tensor->next;
    if (tensor->next)
        tensor->next->previous = tensor->previous;
    if (storage->base == tensor)
        storage->base = NULL;
    bd_view_release(tensor->view);
    tensor->storage = NULL;
    tensor->view = NULL;
    tensor->previous = tensor->next = NULL;
    if (--storage->refs == 0) {
        bd_value_drop(storage->value);
        bd_free(storage);
    }
}

/* The last one of a storage needs none: so the memory of a base goes when only one view is left.
 * Its layout must be that of a value, or reshape() would share where PyTorch copies. */
void bd_storage_leave(burn_tensor *tensor)
{
    bd_storage *storage = tensor->storage;
    if (!storage)
        return;
    burn_tensor *other =
        storage->refs == 2 ? (storage->first == tensor ? tensor->next : storage->first) : NULL;
    bool alone = other && other->version == storage->version && bd_tensor_is_contiguous(other);
    leave(tensor);
    if (alone)
        leave(other);
}

/* ---- views ----------------------------------------------------------------------------------- */

bd_view *bd_view_create(bd_view *previous, const burn_op_info *info, const burn_attr *attrs,
                        bool tracked)
{
    size_t count = 0, used = 0;
    for (int i = 0; attrs && i < info->attr_count; i++)
        count += attrs[i].count;
    bd_view *view = bd_alloc_zeroed(sizeof *view);
    view->refs = 1;
    view->tracked = tracked;
    view->previous = previous;
    view->info = info;
    if (previous)
        previous->refs++;
    if (count > 0)
        view->numbers = bd_alloc(count * sizeof *view->numbers);
    for (int i = 0; attrs && i < info->attr_count; i++) {
        view->attrs[i] = attrs[i];
        if (attrs[i].count == 0)
            continue;
        memcpy(view->numbers + used, attrs[i].values, attrs[i].count * sizeof(int64_t));
        view->attrs[i].values = view->numbers + used;
        used += attrs[i].count;
    }
    return view;
}

void bd_view_release(bd_view *view)
{
    while (view && --view->refs == 0) {
        bd_view *previous = view->previous;
        bd_free(view->numbers);
        bd_free(view);
        view = previous;
    }
}

/* From the base to the view. */
static view_path path_of(const bd_view *view)
{
    view_path path = {0};
    for (; view; view = view->previous)
        *bd_vec_push(&path) = view;
    for (size_t i = 0; i < path.count / 2; i++) {
        const bd_view *swap = path.items[i];
        path.items[i] = path.items[path.count - 1 - i];
        path.items[path.count - 1 - i] = swap;
    }
    return path;
}

bool bd_tensor_is_view(const burn_tensor *tensor)
{
    return tensor->view != NULL;
}

/* A write that would hit an element twice. */
bool bd_view_overlaps(const burn_tensor *tensor)
{
    int64_t strides[BURN_RANK_MAX];
    bd_tensor_strides(tensor, strides);
    const burn_shape *shape = &bd_tensor_type(tensor)->shape;
    for (int32_t d = 0; d < shape->rank; d++)
        if (strides[d] == 0 && shape->dims[d] > 1)
            return true;
    return false;
}

bool bd_view_of_leaf(const burn_tensor *tensor)
{
    const bd_storage *storage = tensor->storage;
    if (!tensor->view || !storage->base || !(storage->base->flags & BD_TENSOR_LEAF))
        return false;
    for (const bd_view *view = tensor->view; view; view = view->previous)
        if (view->info->number == BURN_OP_DETACH)
            return false;
    return true;
}

static bd_error *apply_view(const bd_view *view, bd_value *value, bd_value **out_value)
{
    if (view->info->number == BURN_OP_DETACH && !(value->flags & BD_VALUE_TRACKED)) {
        bd_value_hold(value);
        *out_value = value;
        return NULL;
    }
    return bd_emit_unary(value->session, view->info->number, value, view->attrs, view->tracked,
                         out_value);
}

bd_error *bd_view_refresh(burn_tensor *tensor)
{
    bd_storage *storage = tensor->storage;
    bd_value *value = storage->value;
    bd_value_hold(value);
    view_path path = path_of(tensor->view);
    bd_error *error = NULL;
    for (size_t i = 0; !error && i < path.count; i++) {
        bd_value *next = NULL;
        error = apply_view(path.items[i], value, &next);
        if (!error) {
            bd_value_drop(value);
            value = next;
        }
    }
    bd_vec_deinit(&path);
    if (error) {
        bd_value_drop(value);
        return error;
    }
    tensor->version = storage->version;
    bd_value_drop(tensor->value);
    tensor->value = value;
    return NULL;
}

/* What `before` becomes when the view of it shows `after`. */
static bd_error *invert(const bd_view *view, bd_value *before, bd_value *after,
                        bd_value **out_value)
{
    bd_session *session = after->session;
    burn_attr attrs[BURN_OP_ATTRS_MAX] = {0};
    switch ((int)view->info->number) {
    case BURN_OP_RESHAPE:
        attrs[0] = (burn_attr){.values = before->type.shape.dims,
                               .count = (uint32_t)before->type.shape.rank};
        return bd_emit_unary(session, BURN_OP_RESHAPE, after, attrs, session->grad_enabled,
                             out_value);
    case BURN_OP_EXPAND: { /* of nothing: bd_view_overlaps has refused the others; new dims of size
                              1 go */
        attrs[0] = (burn_attr){.values = before->type.shape.dims,
                               .count = (uint32_t)before->type.shape.rank};
        return bd_emit_unary(session, BURN_OP_RESHAPE, after, attrs, session->grad_enabled,
                             out_value);
    }
    case BURN_OP_PERMUTE: {
        int64_t inverse[BURN_RANK_MAX] = {0};
        for (uint32_t i = 0; i < view->attrs[0].count; i++)
            inverse[view->attrs[0].values[i]] = i;
        attrs[0] = (burn_attr){.values = inverse, .count = view->attrs[0].count};
        return bd_emit_unary(session, BURN_OP_PERMUTE, after, attrs, session->grad_enabled,
                             out_value);
    }
    case BURN_OP_SLICE: {
        bd_value_operand inputs[2] = {{.kind = BURN_OPERAND_TENSOR, .value = before},
                                      {.kind = BURN_OPERAND_TENSOR, .value = after}};
        bd_emission emission = {.info = burn_op_lookup(BURN_OP_SLICE_UPDATE),
                                .inputs = inputs,
                                .input_count = 2,
                                .output_count = 1,
                                .attrs = view->attrs,
                                .track = session->grad_enabled};
        return bd_emit(session, &emission, out_value);
    }
    default: /* detach */
        bd_value_hold(after);
        *out_value = after;
        return NULL;
    }
}

bd_error *bd_view_write(burn_tensor *tensor, bd_value *value, bd_value **out_base)
{
    view_path path = path_of(tensor->view);
    BD_VEC(bd_value *) values = {0}; /* what each step of the path sees */
    bd_error *error = NULL;
    *bd_vec_push(&values) = tensor->storage->value;
    bd_value_hold(tensor->storage->value);
    for (size_t i = 0; !error && i + 1 < path.count; i++) {
        bd_value *next = NULL;
        error = apply_view(path.items[i], values.items[i], &next);
        if (!error)
            *bd_vec_push(&values) = next;
    }
    bd_value *after = value;
    bd_value_hold(after);
    for (size_t i = path.count; !error && i-- > 0;) {
        bd_value *next = NULL;
        error = invert(path.items[i], values.items[i], after, &next);
        if (!error) {
            bd_value_drop(after);
            after = next;
        }
    }
    for (size_t i = 0; i < values.count; i++)
        bd_value_drop(values.items[i]);
    bd_vec_deinit(&values);
    bd_vec_deinit(&path);
    if (error)
        bd_value_drop(after);
    else
        *out_base = after;
    return error;
}
