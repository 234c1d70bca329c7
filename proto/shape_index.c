/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/shape_rules.h"

static bd_error *inner_differ(const bd_shape_call *call, int64_t a, int64_t b) BD_MUST_USE;
static bd_error *check_gather(const bd_shape_call *call) BD_MUST_USE;
static bd_error *indexed(const bd_shape_call *call, uint32_t first_index,
                         burn_shape *out) BD_MUST_USE;
static bd_error *check_room(const burn_shape *x, int dim, const burn_shape *index) BD_MUST_USE;

/* torch.matmul: a vector on the left is a row, on the right a column, and that dim goes again. */
bd_error *bd_shape_matmul(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *a = bd_shape_of(call, 0), *b = bd_shape_of(call, 1);
    if (a->rank == 0 || b->rank == 0)
        BD_FAIL(INVALID, "both inputs need at least 1 dim; they have %d and %d", a->rank, b->rank);
    int64_t a_inner = a->dims[a->rank - 1], b_inner = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    if (a_inner != b_inner)
        return inner_differ(call, a_inner, b_inner);
    burn_shape a_batch = *a, b_batch = *b, shape;
    a_batch.rank = a->rank > 2 ? a->rank - 2 : 0;
    b_batch.rank = b->rank > 2 ? b->rank - 2 : 0;
    BD_TRY(burn_shape_broadcast(&a_batch, &b_batch, &shape));
    if (a->rank > 1)
        shape.dims[shape.rank++] = a->dims[a->rank - 2];
    if (b->rank > 1)
        shape.dims[shape.rank++] = b->dims[b->rank - 1];
    *out = shape;
    return NULL;
}

bd_error *bd_shape_linear(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0), *weight = bd_shape_of(call, 1);
    char x_text[BURN_SHAPE_TEXT_MAX], weight_text[BURN_SHAPE_TEXT_MAX];
    if (x->rank == 0 || weight->rank != 2)
        BD_FAIL(INVALID, "takes x [.., in] and weight [out, in], not %s and %s",
                burn_shape_text(x, x_text), burn_shape_text(weight, weight_text));
    if (x->dims[x->rank - 1] != weight->dims[1])
        BD_FAIL(INVALID, "x %s has %lld features, weight %s takes %lld", burn_shape_text(x, x_text),
                (long long)x->dims[x->rank - 1], burn_shape_text(weight, weight_text),
                (long long)weight->dims[1]);
    burn_shape bias = {1, {weight->dims[0]}};
    if (bd_input_present(call, 2))
        BD_TRY(bd_check_shape(call, 2, &bias));
    *out = *x;
    out->dims[x->rank - 1] = weight->dims[0];
    return NULL;
}

bd_error *bd_shape_dot(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *a = bd_shape_of(call, 0), *b = bd_shape_of(call, 1);
    bool fits = a->rank >= 2 && a->rank == b->rank;
    for (int axis = 0; fits && axis < a->rank - 2; axis++)
        fits = a->dims[axis] == b->dims[axis];
    if (!fits || a->dims[a->rank - 1] != b->dims[a->rank - 2])
        return inner_differ(call, fits ? a->dims[a->rank - 1] : a->rank,
                            fits ? b->dims[a->rank - 2] : b->rank);
    *out = *a;
    out->dims[a->rank - 1] = b->dims[a->rank - 1];
    return NULL;
}

bd_error *bd_shape_layer_norm(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0);
    const burn_attr *list = bd_attr(call, "shape");
    BD_TRY(bd_check_list(call, "shape", -1));
    burn_shape last = {.rank = (int32_t)list->count};
    for (int axis = 0; axis < last.rank; axis++)
        last.dims[axis] = list->values[axis];
    bool fits = last.rank >= 1 && last.rank <= x->rank;
    for (int axis = 0; fits && axis < last.rank; axis++)
        fits = x->dims[x->rank - last.rank + axis] == last.dims[axis];
    if (!fits) {
        char x_text[BURN_SHAPE_TEXT_MAX], text[BURN_SHAPE_TEXT_MAX];
        BD_FAIL(INVALID, "x %s does not end in the shape %s", burn_shape_text(x, x_text),
                burn_shape_text(&last, text));
    }
    for (uint32_t i = 1; i < call->record->input_count; i++)
        if (burn_op_input_role(call->record->info, i) == BURN_INPUT_VALUE &&
            bd_input_present(call, i))
            BD_TRY(bd_check_shape(call, i, &last));
    *out = *x;
    return NULL;
}

bd_error *bd_shape_embedding(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *weight = bd_shape_of(call, 0), *index = bd_shape_of(call, 1);
    if (weight->rank != 2)
        BD_FAIL(INVALID, "weight must have 2 dims, not %d", weight->rank);
    if (index->rank == BURN_RANK_MAX)
        BD_FAIL(INVALID, "index has %d dims, and the result would have one more", index->rank);
    BD_TRY(check_room(weight, 0, index));
    *out = *index;
    out->dims[out->rank++] = weight->dims[1];
    return NULL;
}

bd_error *bd_shape_gather(const bd_shape_call *call, burn_shape *out)
{
    BD_TRY(check_gather(call));
    *out = *bd_shape_of(call, 1);
    return NULL;
}

bd_error *bd_shape_take(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0), *index = bd_shape_of(call, 1);
    int32_t dim;
    if (x->rank == 0)
        BD_FAIL(INVALID, "x has no dim to index");
    BD_TRY(bd_rule_dim(call, x->rank, &dim));
    if (x->rank - 1 + index->rank > BURN_RANK_MAX)
        BD_FAIL(INVALID, "the result would have %d dims, more than %d", x->rank - 1 + index->rank,
                BURN_RANK_MAX);
    BD_TRY(check_room(x, dim, index));
    burn_shape shape = {0};
    for (int axis = 0; axis < dim; axis++)
        shape.dims[shape.rank++] = x->dims[axis];
    for (int axis = 0; axis < index->rank; axis++)
        shape.dims[shape.rank++] = index->dims[axis];
    for (int axis = dim + 1; axis < x->rank; axis++)
        shape.dims[shape.rank++] = x->dims[axis];
    *out = shape;
    return NULL;
}

bd_error *bd_shape_scatter(const bd_shape_call *call, burn_shape *out)
{
    BD_TRY(check_gather(call));
    BD_TRY(bd_check_shape(call, 2, bd_shape_of(call, 1)));
    *out = *bd_shape_of(call, 0);
    return NULL;
}

bd_error *bd_shape_take_nd(const bd_shape_call *call, burn_shape *out)
{
    return indexed(call, 1, out);
}

bd_error *bd_shape_put_nd(const bd_shape_call *call, burn_shape *out)
{
    burn_shape place, broadcast;
    BD_TRY(indexed(call, 2, &place));
    BD_TRY(burn_shape_broadcast(&place, bd_shape_of(call, 1), &broadcast));
    if (!burn_shape_equal(&place, &broadcast))
        BD_TRY(bd_check_shape(call, 1, &place));
    *out = *bd_shape_of(call, 0);
    return NULL;
}

bd_error *bd_shape_one_hot(const bd_shape_call *call, burn_shape *out)
{
    int64_t classes = bd_attr(call, "classes")->value;
    burn_shape shape = *bd_shape_of(call, 0);
    if (classes < 1)
        BD_FAIL(INVALID, "the number of classes must be at least 1, not %lld", (long long)classes);
    if (shape.rank == BURN_RANK_MAX)
        BD_FAIL(INVALID, "index has %d dims, and the result would have one more", shape.rank);
    shape.dims[shape.rank++] = classes;
    *out = shape;
    return NULL;
}

/* ---- local ----------------------------------------------------------------------------------- */

static bd_error *inner_differ(const bd_shape_call *call, int64_t a, int64_t b)
{
    char a_text[BURN_SHAPE_TEXT_MAX], b_text[BURN_SHAPE_TEXT_MAX];
    BD_FAIL(INVALID, "inner sizes differ: %lld and %lld, from %s and %s", (long long)a,
            (long long)b, burn_shape_text(bd_shape_of(call, 0), a_text),
            burn_shape_text(bd_shape_of(call, 1), b_text));
}

/* x and index of one rank, the index nowhere larger but in dim. A rank of 0 counts as 1. */
static bd_error *check_gather(const bd_shape_call *call)
{
    const burn_shape *x = bd_shape_of(call, 0), *index = bd_shape_of(call, 1);
    int32_t dim;
    BD_TRY(bd_rule_dim(call, x->rank, &dim));
    bool fits = x->rank == index->rank;
    for (int axis = 0; fits && axis < x->rank; axis++)
        fits = axis == dim || index->dims[axis] <= x->dims[axis];
    if (!fits) {
        char x_text[BURN_SHAPE_TEXT_MAX], index_text[BURN_SHAPE_TEXT_MAX];
        BD_FAIL(INVALID, "index %s does not fit x %s: as many dims, none larger but dim %d",
                burn_shape_text(index, index_text), burn_shape_text(x, x_text), dim);
    }
    return x->rank ? check_room(x, dim, index) : NULL;
}

/* No index is right for an empty dim: kernels may take for granted that position 0 exists. */
static bd_error *check_room(const burn_shape *x, int dim, const burn_shape *index)
{
    char text[BURN_SHAPE_TEXT_MAX];
    if (x->dims[dim] == 0 && burn_shape_elements(index) > 0)
        BD_FAIL(INVALID, "every index is out of range: dim %d of %s is empty", dim,
                burn_shape_text(x, text));
    return NULL;
}

/* The common shape of the indices in the place of as many dims of x. */
static bd_error *indexed(const bd_shape_call *call, uint32_t first_index, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0);
    uint32_t count = call->record->input_count - first_index;
    int32_t dim;
    if (count == 0)
        BD_FAIL(INVALID, "needs at least one index");
    BD_TRY(bd_rule_dim(call, x->rank, &dim));
    if (count > (uint32_t)(x->rank - dim))
        BD_FAIL(INVALID, "%u indices from dim %d on are too many for a tensor of %d dims", count,
                dim, x->rank);
    burn_shape common = {0};
    for (uint32_t i = 0; i < count; i++)
        BD_TRY(burn_shape_broadcast(&common, bd_shape_of(call, first_index + i), &common));
    if (x->rank - (int32_t)count + common.rank > BURN_RANK_MAX)
        BD_FAIL(INVALID, "the result would have more than %d dims", BURN_RANK_MAX);
    for (uint32_t i = 0; i < count; i++)
        BD_TRY(check_room(x, dim + (int)i, &common));
    burn_shape shape = {0};
    for (int axis = 0; axis < dim; axis++)
        shape.dims[shape.rank++] = x->dims[axis];
    for (int axis = 0; axis < common.rank; axis++)
        shape.dims[shape.rank++] = common.dims[axis];
    for (int axis = dim + (int)count; axis < x->rank; axis++)
        shape.dims[shape.rank++] = x->dims[axis];
    *out = shape;
    return NULL;
}
