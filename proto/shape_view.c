/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/shape_rules.h"

static bd_error *slice_shape(const bd_shape_call *call, burn_shape *out) BD_MUST_USE;

bd_error *bd_shape_reshape(const bd_shape_call *call, burn_shape *out)
{
    const burn_attr *list = bd_attr(call, "shape");
    const burn_shape *x = bd_shape_of(call, 0);
    char x_text[BURN_SHAPE_TEXT_MAX], text[BURN_SHAPE_TEXT_MAX];
    burn_shape shape;
    BD_TRY(bd_check_list(call, "shape", -1));
    shape.rank = (int32_t)list->count;
    for (int axis = 0; axis < shape.rank; axis++)
        shape.dims[axis] = list->values[axis];
    BD_TRY(burn_shape_check(&shape, call->dtype, NULL));
    if (burn_shape_elements(&shape) != burn_shape_elements(x))
        BD_FAIL(INVALID, "%s has %lld elements, %s has %lld", burn_shape_text(x, x_text),
                (long long)burn_shape_elements(x), burn_shape_text(&shape, text),
                (long long)burn_shape_elements(&shape));
    *out = shape;
    return NULL;
}

bd_error *bd_shape_permute(const bd_shape_call *call, burn_shape *out)
{
    const burn_attr *dims = bd_attr(call, "dims");
    const burn_shape *x = bd_shape_of(call, 0);
    int32_t list[BURN_RANK_MAX], count;
    if (dims->count != (uint32_t)x->rank)
        BD_FAIL(INVALID, "%u dims are named for a tensor of %d", dims->count, x->rank);
    BD_TRY(burn_normalize_dims(dims, x->rank, false, list, &count));
    out->rank = count;
    for (int axis = 0; axis < count; axis++)
        out->dims[axis] = x->dims[list[axis]];
    return NULL;
}

bd_error *bd_shape_expand(const bd_shape_call *call, burn_shape *out)
{
    const burn_attr *list = bd_attr(call, "shape");
    const burn_shape *x = bd_shape_of(call, 0);
    char x_text[BURN_SHAPE_TEXT_MAX], text[BURN_SHAPE_TEXT_MAX];
    burn_shape shape;
    BD_TRY(bd_check_list(call, "shape", -1));
    shape.rank = (int32_t)list->count;
    for (int axis = 0; axis < shape.rank; axis++)
        shape.dims[axis] = list->values[axis];
    if (shape.rank < x->rank)
        BD_FAIL(INVALID, "%s has more dims than %s", burn_shape_text(x, x_text),
                burn_shape_text(&shape, text));
    for (int axis = 0; axis < x->rank; axis++) {
        int64_t wanted = shape.dims[axis + shape.rank - x->rank];
        if (x->dims[axis] != wanted && x->dims[axis] != 1)
            BD_FAIL(INVALID, "%s does not expand to %s: size %lld cannot become %lld",
                    burn_shape_text(x, x_text), burn_shape_text(&shape, text),
                    (long long)x->dims[axis], (long long)wanted);
    }
    *out = shape;
    return NULL;
}

bd_error *bd_shape_slice(const bd_shape_call *call, burn_shape *out)
{
    return slice_shape(call, out);
}

bd_error *bd_shape_slice_update(const bd_shape_call *call, burn_shape *out)
{
    burn_shape slice, broadcast;
    BD_TRY(slice_shape(call, &slice));
    BD_TRY(burn_shape_broadcast(&slice, bd_shape_of(call, 1), &broadcast));
    if (!burn_shape_equal(&slice, &broadcast))
        BD_TRY(bd_check_shape(call, 1, &slice));
    *out = *bd_shape_of(call, 0);
    return NULL;
}

bd_error *bd_shape_slice_set(const bd_shape_call *call, burn_shape *out)
{
    burn_shape slice;
    BD_TRY(slice_shape(call, &slice));
    BD_TRY(bd_check_shape(call, 1, &slice));
    *out = *bd_shape_of(call, 0);
    return NULL;
}

bd_error *bd_shape_pad(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0);
    BD_TRY(bd_check_list(call, "low", x->rank));
    BD_TRY(bd_check_list(call, "high", x->rank));
    if (bd_shape_of(call, 1)->rank != 0)
        BD_FAIL(INVALID, "value must be a scalar or of shape []");
    burn_shape shape = *x;
    for (int axis = 0; axis < x->rank; axis++) {
        int64_t low = bd_attr(call, "low")->values[axis],
                high = bd_attr(call, "high")->values[axis];
        if (low < 0 || high < 0 || low > BURN_ELEMENTS_MAX || high > BURN_ELEMENTS_MAX)
            BD_FAIL(INVALID,
                    "dim %d is padded by %lld and %lld; both must be at least 0 (slice to crop)",
                    axis, (long long)low, (long long)high);
        shape.dims[axis] += low + high;
    }
    *out = shape;
    return NULL;
}

bd_error *bd_shape_flip(const bd_shape_call *call, burn_shape *out)
{
    int32_t list[BURN_RANK_MAX], count;
    BD_TRY(burn_normalize_dims(bd_attr(call, "dims"), bd_shape_of(call, 0)->rank, false, list,
                               &count));
    *out = *bd_shape_of(call, 0);
    return NULL;
}

bd_error *bd_shape_concat(const bd_shape_call *call, burn_shape *out)
{
    uint32_t count = call->record->input_count;
    int32_t rank = 1, dim;
    if (count == 0)
        BD_FAIL(INVALID, "needs at least one tensor");
    for (uint32_t i = 0; i < count; i++) {
        if (!call->inputs[i] || call->inputs[i]->shape.rank == 0)
            BD_FAIL(INVALID, "input %u has no dims; use stack", i);
        if (rank == 1)
            rank = call->inputs[i]->shape.rank;
    }
    BD_TRY(bd_rule_dim(call, rank, &dim));
    burn_shape shape = {0};
    bool started = false;
    for (uint32_t i = 0; i < count; i++) {
        const burn_shape *x = bd_shape_of(call, i);
        if (burn_concat_skips(x, rank))
            continue;
        bool fits = x->rank == rank;
        for (int axis = 0; started && fits && axis < rank; axis++)
            fits = axis == dim || x->dims[axis] == shape.dims[axis];
        if (!fits) {
            char first[BURN_SHAPE_TEXT_MAX], text[BURN_SHAPE_TEXT_MAX];
            BD_FAIL(INVALID, "input %u has shape %s, which does not fit %s but for dim %d", i,
                    burn_shape_text(x, text), burn_shape_text(&shape, first), dim);
        }
        int64_t before = started ? shape.dims[dim] : 0;
        if (!started)
            shape = *x;
        shape.dims[dim] = before + x->dims[dim];
        BD_TRY(burn_shape_check(&shape, call->dtype, NULL));
        started = true;
    }
    *out = shape;
    return NULL;
}

bd_error *bd_shape_stack(const bd_shape_call *call, burn_shape *out)
{
    uint32_t count = call->record->input_count;
    if (count == 0)
        BD_FAIL(INVALID, "needs at least one tensor");
    const burn_shape *first = bd_shape_of(call, 0);
    int32_t dim;
    if (first->rank == BURN_RANK_MAX)
        BD_FAIL(INVALID, "the tensors have %d dims already", BURN_RANK_MAX);
    BD_TRY(bd_rule_dim(call, first->rank + 1, &dim));
    for (uint32_t i = 1; i < count; i++)
        if (!burn_shape_equal(first, bd_shape_of(call, i))) {
            char a[BURN_SHAPE_TEXT_MAX], b[BURN_SHAPE_TEXT_MAX];
            BD_FAIL(INVALID, "input %u has shape %s, the first one %s; they must be alike", i,
                    burn_shape_text(bd_shape_of(call, i), a), burn_shape_text(first, b));
        }
    burn_shape shape = {.rank = first->rank + 1};
    for (int axis = 0; axis < shape.rank; axis++)
        shape.dims[axis] = axis == dim ? (int64_t)count : first->dims[axis - (axis > dim)];
    *out = shape;
    return NULL;
}

bd_error *bd_shape_triangle(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0);
    if (x->rank < 2)
        BD_FAIL(INVALID, "takes tensors of at least 2 dims, not %d", x->rank);
    *out = *x;
    return NULL;
}

bd_error *bd_shapes_split(const bd_shape_call *call, burn_tensor_type *outputs)
{
    const burn_shape *x = bd_shape_of(call, 0);
    const burn_attr *sizes = bd_attr(call, "sizes");
    int32_t dim;
    if (x->rank == 0)
        BD_FAIL(INVALID, "the tensor has no dim to split");
    BD_TRY(bd_rule_dim(call, x->rank, &dim));
    int64_t left = x->dims[dim];
    for (uint32_t i = 0; i < sizes->count; i++) {
        if (sizes->values[i] < 0 || sizes->values[i] > left)
            left = -1;
        if (left < 0)
            break;
        left -= sizes->values[i];
    }
    if (left != 0 || sizes->count == 0)
        BD_FAIL(INVALID, "the %u sizes do not add up to the %lld of dim %d", sizes->count,
                (long long)x->dims[dim], dim);
    for (uint32_t i = 0; i < sizes->count; i++) {
        outputs[i] = (burn_tensor_type){call->dtype, *x};
        outputs[i].shape.dims[dim] = sizes->values[i];
    }
    return NULL;
}

static bd_error *slice_shape(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0);
    BD_TRY(bd_check_list(call, "starts", x->rank));
    BD_TRY(bd_check_list(call, "stops", x->rank));
    BD_TRY(bd_check_list(call, "steps", x->rank));
    burn_shape shape = {.rank = x->rank};
    for (int axis = 0; axis < x->rank; axis++) {
        int64_t start = bd_attr(call, "starts")->values[axis];
        int64_t stop = bd_attr(call, "stops")->values[axis];
        int64_t step = bd_attr(call, "steps")->values[axis];
        if (step < 1)
            BD_FAIL(INVALID, "step %lld of dim %d must be at least 1; use flip to turn it round",
                    (long long)step, axis);
        if (start < 0 || start > x->dims[axis] || stop < 0 || stop > x->dims[axis])
            BD_FAIL(INVALID, "%lld to %lld is outside dim %d of size %lld", (long long)start,
                    (long long)stop, axis, (long long)x->dims[axis]);
        shape.dims[axis] = burn_slice_count(start, stop, step);
    }
    *out = shape;
    return NULL;
}
