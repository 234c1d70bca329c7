/* SPDX-License-Identifier: Apache-2.0
 * The strides that PyTorch's tensor would have: they decide whether a reshape shares or copies, and
 * what `is_contiguous` says. The daemon knows none. */
#include "client/core/strides.h"

#include "client/core/tensor_state.h"

typedef struct layout {
    burn_shape shape;
    int64_t strides[BURN_RANK_MAX];
} layout;

static void row_major(layout *at)
{
    int64_t step = 1;
    for (int32_t d = at->shape.rank; d-- > 0;) {
        at->strides[d] = step;
        step *= at->shape.dims[d] > 1 ? at->shape.dims[d] : 1;
    }
}

/* Regroups the dims without a copy; false if that is not possible. The rule is torch's
 * computeStride: runs of dims that lie densely in memory may be cut anew. */
static bool regroup(layout *at, const burn_shape *shape)
{
    layout next = {.shape = *shape};
    if (burn_shape_elements(&at->shape) == 0) {
        row_major(&next);
        *at = next;
        return true;
    }
    int32_t out = shape->rank - 1;
    int64_t in_count = 1, out_count = 1;
    int64_t base = at->shape.rank > 0 ? at->strides[at->shape.rank - 1] : 1;
    for (int32_t in = at->shape.rank - 1; in >= 0; in--) {
        in_count *= at->shape.dims[in];
        bool ends =
            in == 0 || (at->shape.dims[in - 1] != 1 && at->strides[in - 1] != in_count * base);
        if (!ends)
            continue;
        while (out >= 0 && (out_count < in_count || shape->dims[out] == 1)) {
            next.strides[out] = out_count * base;
            out_count *= shape->dims[out];
            out--;
        }
        if (out_count != in_count)
            return false;
        if (in > 0) {
            base = at->strides[in - 1];
            in_count = out_count = 1;
        }
    }
    for (; out >= 0; out--)
        next.strides[out] = out_count * base;
    *at = next;
    return true;
}

static void permute(layout *at, const burn_attr *dims)
{
    layout next = *at;
    for (uint32_t i = 0; i < dims->count; i++) {
        next.shape.dims[i] = at->shape.dims[dims->values[i]];
        next.strides[i] = at->strides[dims->values[i]];
    }
    *at = next;
}

static void expand(layout *at, const burn_attr *dims)
{
    layout next = {.shape = {.rank = (int32_t)dims->count}};
    int32_t added = next.shape.rank - at->shape.rank;
    for (int32_t i = 0; i < next.shape.rank; i++) {
        next.shape.dims[i] = dims->values[i];
        bool same = i >= added && at->shape.dims[i - added] == dims->values[i];
        next.strides[i] = same ? at->strides[i - added] : 0;
    }
    *at = next;
}

static void slice(layout *at, const burn_attr *attrs)
{
    for (int32_t d = 0; d < at->shape.rank; d++) {
        int64_t start = attrs[0].values[d], stop = attrs[1].values[d], step = attrs[2].values[d];
        at->shape.dims[d] = stop > start ? (stop - start + step - 1) / step : 0;
        at->strides[d] *= step;
    }
}

static void step(layout *at, const bd_view *view)
{
    switch ((int)view->info->number) {
    case BURN_OP_PERMUTE:
        permute(at, &view->attrs[0]);
        break;
    case BURN_OP_EXPAND:
        expand(at, &view->attrs[0]);
        break;
    case BURN_OP_SLICE:
        slice(at, view->attrs);
        break;
    case BURN_OP_RESHAPE: {
        burn_shape shape = {.rank = (int32_t)view->attrs[0].count};
        for (int32_t d = 0; d < shape.rank; d++)
            shape.dims[d] = view->attrs[0].values[d];
        if (!regroup(at, &shape)) { /* such a reshape made no view */
            at->shape = shape;
            row_major(at);
        }
        break;
    }
    default:
        break;
    }
}

static layout layout_of(const burn_tensor *tensor)
{
    enum { PATH_MAX_STEPS = 64 }; /* longer ones pass for copies, which only costs sharing */
    const bd_view *path[PATH_MAX_STEPS];
    int count = 0;
    const bd_view *view = tensor->view;
    for (; view && count < PATH_MAX_STEPS; view = view->previous)
        path[count++] = view;
    layout at = {.shape = view || count == 0 ? tensor->value->type.shape
                                             : tensor->storage->value->type.shape};
    row_major(&at);
    if (view)
        return at;
    while (count > 0)
        step(&at, path[--count]);
    return at;
}

void bd_tensor_strides(const burn_tensor *tensor, int64_t strides[BURN_RANK_MAX])
{
    layout at = layout_of(tensor);
    for (int32_t d = 0; d < at.shape.rank; d++)
        strides[d] = at.strides[d];
}

bool bd_tensor_is_contiguous(const burn_tensor *tensor)
{
    layout at = layout_of(tensor);
    int64_t expected = 1;
    for (int32_t d = at.shape.rank; d-- > 0;) {
        if (at.shape.dims[d] == 0)
            return true;
        if (at.shape.dims[d] != 1 && at.strides[d] != expected)
            return false;
        expected *= at.shape.dims[d];
    }
    return true;
}

bool bd_tensor_can_view(const burn_tensor *tensor, const burn_attr *sizes)
{
    layout at = layout_of(tensor);
    burn_shape shape = {.rank = (int32_t)sizes->count};
    for (int32_t d = 0; d < shape.rank; d++)
        shape.dims[d] = sizes->values[d];
    return regroup(&at, &shape);
}
