/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/shape_rules.h"

#include "proto/base/assert.h"

static bd_error *rule_broadcast(const bd_shape_call *call, burn_shape *out);
static bd_error *rule_same(const bd_shape_call *call, burn_shape *out);
static bd_error *rule_same_dim(const bd_shape_call *call, burn_shape *out);
static bd_error *rule_scalar(const bd_shape_call *call, burn_shape *out);
static bd_error *rule_shape(const bd_shape_call *call, burn_shape *out);
static bd_error *rule_constant(const bd_shape_call *call, burn_shape *out);
static bd_error *rule_count(const bd_shape_call *call, burn_shape *out);
static bd_error *rule_eye(const bd_shape_call *call, burn_shape *out);
static bd_error *rule_reduce(const bd_shape_call *call, burn_shape *out);
static bd_error *rule_reduce_some(const bd_shape_call *call, burn_shape *out);
static bd_error *rule_reduce_one(const bd_shape_call *call, burn_shape *out);
static bd_error *rule_class_loss(const bd_shape_call *call, burn_shape *out);
static bd_error *rule_soft_loss(const bd_shape_call *call, burn_shape *out);
static bd_error *rule_point_loss(const bd_shape_call *call, burn_shape *out);
static bd_error *rule_like_inputs(const bd_shape_call *call, burn_shape *out);
static bd_error *shapes_grad(const bd_shape_call *call, burn_tensor_type *outputs) BD_MUST_USE;
static bd_error *reduced(const bd_shape_call *call, const burn_attr *dims, bool some,
                         burn_shape *out) BD_MUST_USE;
static bd_error *check_reduction(const bd_shape_call *call, int64_t *out) BD_MUST_USE;

/* NULL: the outputs differ, or there are none. */
static const bd_shape_rule rules[] = {
    [BURN_SHAPE_RULE_NONE] = NULL,
    [BURN_SHAPE_RULE_BROADCAST] = rule_broadcast,
    [BURN_SHAPE_RULE_SAME] = rule_same,
    [BURN_SHAPE_RULE_SAME_DIM] = rule_same_dim,
    [BURN_SHAPE_RULE_SCALAR] = rule_scalar,
    [BURN_SHAPE_RULE_GRAD] = NULL,
    [BURN_SHAPE_RULE_CONSTANT] = rule_constant,
    [BURN_SHAPE_RULE_SHAPE] = rule_shape,
    [BURN_SHAPE_RULE_COUNT] = rule_count,
    [BURN_SHAPE_RULE_EYE] = rule_eye,
    [BURN_SHAPE_RULE_RESHAPE] = bd_shape_reshape,
    [BURN_SHAPE_RULE_PERMUTE] = bd_shape_permute,
    [BURN_SHAPE_RULE_EXPAND] = bd_shape_expand,
    [BURN_SHAPE_RULE_SLICE] = bd_shape_slice,
    [BURN_SHAPE_RULE_PAD] = bd_shape_pad,
    [BURN_SHAPE_RULE_FLIP] = bd_shape_flip,
    [BURN_SHAPE_RULE_CONCAT] = bd_shape_concat,
    [BURN_SHAPE_RULE_STACK] = bd_shape_stack,
    [BURN_SHAPE_RULE_SPLIT] = NULL,
    [BURN_SHAPE_RULE_SLICE_UPDATE] = bd_shape_slice_update,
    [BURN_SHAPE_RULE_SLICE_SET] = bd_shape_slice_set,
    [BURN_SHAPE_RULE_TRIANGLE] = bd_shape_triangle,
    [BURN_SHAPE_RULE_REDUCE] = rule_reduce,
    [BURN_SHAPE_RULE_REDUCE_SOME] = rule_reduce_some,
    [BURN_SHAPE_RULE_REDUCE_ONE] = rule_reduce_one,
    [BURN_SHAPE_RULE_MATMUL] = bd_shape_matmul,
    [BURN_SHAPE_RULE_LINEAR] = bd_shape_linear,
    [BURN_SHAPE_RULE_DOT] = bd_shape_dot,
    [BURN_SHAPE_RULE_LAYER_NORM] = bd_shape_layer_norm,
    [BURN_SHAPE_RULE_EMBEDDING] = bd_shape_embedding,
    [BURN_SHAPE_RULE_GATHER] = bd_shape_gather,
    [BURN_SHAPE_RULE_TAKE] = bd_shape_take,
    [BURN_SHAPE_RULE_SCATTER] = bd_shape_scatter,
    [BURN_SHAPE_RULE_TAKE_ND] = bd_shape_take_nd,
    [BURN_SHAPE_RULE_PUT_ND] = bd_shape_put_nd,
    [BURN_SHAPE_RULE_ONE_HOT] = bd_shape_one_hot,
    [BURN_SHAPE_RULE_CLASS_LOSS] = rule_class_loss,
    [BURN_SHAPE_RULE_SOFT_LOSS] = rule_soft_loss,
    [BURN_SHAPE_RULE_POINT_LOSS] = rule_point_loss,
    [BURN_SHAPE_RULE_LIKE_INPUTS] = rule_like_inputs,
    [BURN_SHAPE_RULE_WINDOW] = bd_shape_window,
    [BURN_SHAPE_RULE_WINDOW_ADD] = bd_shape_window_add,
    [BURN_SHAPE_RULE_CONV] = bd_shape_conv,
    [BURN_SHAPE_RULE_CONV_INPUT] = bd_shape_conv_input,
    [BURN_SHAPE_RULE_CONV_WEIGHT] = bd_shape_conv_weight,
    [BURN_SHAPE_RULE_CHANNEL_NORM] = bd_shape_channel_norm,
    [BURN_SHAPE_RULE_POOL] = bd_shape_pool,
};

static const burn_shape scalar_shape = {0};

bd_error *burn_infer_shapes(const burn_op_record *record, const burn_tensor_type *const *inputs,
                            burn_dtype dtype, burn_tensor_type *outputs)
{
    bd_shape_call call = {record, inputs, dtype};
    burn_shape shape;
    burn_shape_rule number = (burn_shape_rule)record->info->shape_rule;
    if (number == BURN_SHAPE_RULE_GRAD)
        return shapes_grad(&call, outputs);
    if (number == BURN_SHAPE_RULE_SPLIT)
        return bd_shapes_split(&call, outputs);
    if (!rules[number])
        return NULL;
    BD_TRY(rules[number](&call, &shape));
    BD_TRY(burn_shape_check(&shape, dtype, NULL));
    for (uint32_t i = 0; i < record->output_count; i++)
        outputs[i] = (burn_tensor_type){dtype, shape};
    if (record->info->dtype_rule == BURN_DTYPE_RULE_SAME_INDEX)
        outputs[1].dtype = BURN_I64;
    return NULL;
}

bd_error *burn_normalize_dim(int64_t dim, int32_t rank, int32_t *out)
{
    int64_t counted = rank > 0 ? rank : 1;
    if (dim < -counted || dim >= counted)
        BD_FAIL(INVALID, "dim %lld is out of range %lld..%lld, for a tensor of %d dims",
                (long long)dim, (long long)-counted, (long long)counted - 1, rank);
    *out = (int32_t)(dim < 0 ? dim + counted : dim);
    return NULL;
}

bd_error *burn_normalize_dims(const burn_attr *dims, int32_t rank, bool all,
                              int32_t out[BURN_RANK_MAX], int32_t *out_count)
{
    bool seen[BURN_RANK_MAX] = {false};
    if (dims->count == 0) {
        for (int32_t i = 0; all && i < rank; i++)
            out[i] = i;
        *out_count = all ? rank : 0;
        return NULL;
    }
    for (uint32_t i = 0; i < dims->count; i++) {
        int32_t dim = 0;
        BD_TRY(burn_normalize_dim(dims->values[i], rank, &dim));
        if (seen[dim])
            BD_FAIL(INVALID, "dim %d occurs twice", dim);
        seen[dim] = true;
        out[i] = dim;
    }
    *out_count = (int32_t)dims->count;
    return NULL;
}

int64_t burn_slice_count(int64_t start, int64_t stop, int64_t step)
{
    return stop > start ? (stop - start - 1) / step + 1 : 0;
}

bool burn_concat_skips(const burn_shape *shape, int32_t rank)
{
    return shape->rank == 1 && shape->dims[0] == 0 && rank != 1;
}

/* ---- what the rules share -------------------------------------------------------------------- */

const burn_shape *bd_shape_of(const bd_shape_call *call, uint32_t i)
{
    return call->inputs[i] ? &call->inputs[i]->shape : &scalar_shape;
}

bool bd_input_present(const bd_shape_call *call, uint32_t i)
{
    return i < call->record->input_count &&
           call->record->inputs[i].kind != BURN_OPERAND_ABSENT;
}

const burn_attr *bd_attr(const bd_shape_call *call, const char *name)
{
    int place = burn_op_attr(call->record->info, name);
    BD_ASSERT(place >= 0);
    return &call->record->attrs[place];
}

const char *burn_input_name(const burn_op_record *record, uint32_t i)
{
    const burn_op_info *info = record->info;
    return info->inputs[i < info->input_count ? i : info->input_count - 1u];
}

bd_error *bd_check_list(const bd_shape_call *call, const char *name, int32_t count)
{
    const burn_attr *list = bd_attr(call, name);
    if (count >= 0 && list->count != (uint32_t)count)
        BD_FAIL(INVALID, "%s has %u sizes for a tensor of %d dims", name, list->count, count);
    if (list->count > BURN_RANK_MAX)
        BD_FAIL(INVALID, "%s has %u sizes, more than the %d dims that a tensor may have", name,
                list->count, BURN_RANK_MAX);
    return NULL;
}

bd_error *bd_rule_dim(const bd_shape_call *call, int32_t rank, int32_t *out)
{
    return burn_normalize_dim(bd_attr(call, "dim")->value, rank, out);
}

bd_error *bd_check_shape(const bd_shape_call *call, uint32_t i, const burn_shape *wanted)
{
    if (!burn_shape_equal(bd_shape_of(call, i), wanted)) {
        char text[BURN_SHAPE_TEXT_MAX], wanted_text[BURN_SHAPE_TEXT_MAX];
        BD_FAIL(INVALID, "%s has shape %s; it must be %s", burn_input_name(call->record, i),
                burn_shape_text(bd_shape_of(call, i), text), burn_shape_text(wanted, wanted_text));
    }
    return NULL;
}

/* ---- pointwise, creation --------------------------------------------------------------------- */

static bd_error *rule_broadcast(const bd_shape_call *call, burn_shape *out)
{
    burn_shape shape = scalar_shape;
    for (uint32_t i = 0; i < call->record->input_count; i++)
        if (bd_input_present(call, i))
            BD_TRY(burn_shape_broadcast(&shape, bd_shape_of(call, i), &shape));
    *out = shape;
    return NULL;
}

static bd_error *rule_same(const bd_shape_call *call, burn_shape *out)
{
    *out = *bd_shape_of(call, 0);
    return NULL;
}

static bd_error *rule_same_dim(const bd_shape_call *call, burn_shape *out)
{
    int32_t dim;
    BD_TRY(bd_rule_dim(call, bd_shape_of(call, 0)->rank, &dim));
    return rule_same(call, out);
}

static bd_error *rule_scalar(const bd_shape_call *call, burn_shape *out)
{
    (void)call;
    *out = scalar_shape;
    return NULL;
}

static bd_error *rule_shape(const bd_shape_call *call, burn_shape *out)
{
    const burn_attr *list = bd_attr(call, "shape");
    BD_TRY(bd_check_list(call, "shape", -1));
    out->rank = (int32_t)list->count;
    for (int axis = 0; axis < out->rank; axis++)
        out->dims[axis] = list->values[axis];
    int place = burn_op_attr(call->record->info, "dim"); /* iota */
    if (place >= 0) {
        int32_t dim = 0;
        BD_TRY(burn_normalize_dim(call->record->attrs[place].value, out->rank, &dim));
    }
    return NULL;
}

static bd_error *rule_constant(const bd_shape_call *call, burn_shape *out)
{
    size_t due;
    burn_shape shape;
    uint32_t given = bd_attr(call, "bytes")->count;
    BD_TRY(rule_shape(call, &shape));
    BD_TRY(burn_shape_check(&shape, call->dtype, &due));
    if (due != given || given > BURN_CONSTANT_BYTES_MAX)
        BD_FAIL(INVALID, "%u bytes for a tensor of %zu, of which at most %d may travel in a record",
                given, due, BURN_CONSTANT_BYTES_MAX);
    *out = shape;
    return NULL;
}

static bd_error *rule_count(const bd_shape_call *call, burn_shape *out)
{
    int64_t count = bd_attr(call, "count")->value;
    if (count < 0)
        BD_FAIL(INVALID, "the number of elements is negative: %lld", (long long)count);
    *out = (burn_shape){1, {count}};
    return NULL;
}

static bd_error *rule_eye(const bd_shape_call *call, burn_shape *out)
{
    *out = (burn_shape){2, {bd_attr(call, "rows")->value, bd_attr(call, "columns")->value}};
    return NULL;
}

/* ---- reductions ------------------------------------------------------------------------------ */

static bd_error *rule_reduce(const bd_shape_call *call, burn_shape *out)
{
    return reduced(call, bd_attr(call, "dims"), false, out);
}

static bd_error *rule_reduce_some(const bd_shape_call *call, burn_shape *out)
{
    return reduced(call, bd_attr(call, "dims"), true, out);
}

static bd_error *rule_reduce_one(const bd_shape_call *call, burn_shape *out)
{
    burn_attr dims = {.values = &bd_attr(call, "dim")->value, .count = 1};
    return reduced(call, &dims, true, out);
}

static bd_error *reduced(const bd_shape_call *call, const burn_attr *dims, bool some,
                         burn_shape *out)
{
    const burn_shape *shape = bd_shape_of(call, 0);
    int32_t list[BURN_RANK_MAX], count;
    bool gone[BURN_RANK_MAX] = {false}, keepdim = bd_attr(call, "keepdim")->value != 0;
    BD_TRY(burn_normalize_dims(dims, shape->rank, true, list, &count));
    for (int32_t i = 0; i < count && shape->rank; i++) {
        gone[list[i]] = true;
        if (some && shape->dims[list[i]] == 0) {
            char text[BURN_SHAPE_TEXT_MAX];
            BD_FAIL(INVALID, "every index is out of range: dim %d of %s is empty", list[i],
                    burn_shape_text(shape, text));
        }
    }
    burn_shape result = {0};
    for (int axis = 0; axis < shape->rank; axis++)
        if (!gone[axis] || keepdim)
            result.dims[result.rank++] = gone[axis] ? 1 : shape->dims[axis];
    *out = result;
    return NULL;
}

/* ---- losses and optimizers ------------------------------------------------------------------- */

static bd_error *check_reduction(const bd_shape_call *call, int64_t *out)
{
    *out = bd_attr(call, "reduction")->value;
    if (*out < 0 || *out > 2)
        BD_FAIL(INVALID, "there is no reduction number %lld", (long long)*out);
    return NULL;
}

/* x [C] with target [], or x [N, C, d..] with target [N, d..]. */
static bd_error *rule_class_loss(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0), *target = bd_shape_of(call, 1);
    char x_text[BURN_SHAPE_TEXT_MAX], target_text[BURN_SHAPE_TEXT_MAX];
    int64_t reduction;
    BD_TRY(check_reduction(call, &reduction));
    if (x->rank == 0)
        BD_FAIL(INVALID, "x must have a dim of classes");
    int class_dim = x->rank > 1;
    burn_shape due = {0};
    for (int axis = 0; axis < x->rank; axis++)
        if (axis != class_dim)
            due.dims[due.rank++] = x->dims[axis];
    if (!burn_shape_equal(target, &due))
        BD_FAIL(INVALID, "the target of x %s has shape %s; it must be %s",
                burn_shape_text(x, x_text), burn_shape_text(target, target_text),
                burn_shape_text(&due, (char[BURN_SHAPE_TEXT_MAX]){0}));
    if (x->dims[class_dim] == 0 && burn_shape_elements(target) > 0)
        BD_FAIL(INVALID, "every target is out of range: x %s has no classes",
                burn_shape_text(x, x_text));
    burn_shape weight = {1, {x->dims[class_dim]}};
    if (bd_input_present(call, 2))
        BD_TRY(bd_check_shape(call, 2, &weight));
    *out = reduction == 0 ? due : scalar_shape;
    return NULL;
}

static bd_error *rule_soft_loss(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0);
    int64_t reduction;
    BD_TRY(check_reduction(call, &reduction));
    BD_TRY(bd_check_shape(call, 1, x));
    if (x->rank == 0)
        BD_FAIL(INVALID, "x must have a dim of classes");
    int class_dim = x->rank > 1;
    burn_shape weight = {1, {x->dims[class_dim]}}, rest = {0};
    if (bd_input_present(call, 2))
        BD_TRY(bd_check_shape(call, 2, &weight));
    for (int axis = 0; axis < x->rank; axis++)
        if (axis != class_dim)
            rest.dims[rest.rank++] = x->dims[axis];
    *out = reduction == 0 ? rest : scalar_shape;
    return NULL;
}

static bd_error *rule_point_loss(const bd_shape_call *call, burn_shape *out)
{
    const burn_shape *x = bd_shape_of(call, 0), *target = bd_shape_of(call, 1);
    char x_text[BURN_SHAPE_TEXT_MAX], target_text[BURN_SHAPE_TEXT_MAX];
    int64_t reduction;
    BD_TRY(check_reduction(call, &reduction));
    if (!burn_shape_equal(x, target))
        BD_FAIL(INVALID, "x has shape %s and the target %s; they must be alike",
                burn_shape_text(x, x_text), burn_shape_text(target, target_text));
    for (uint32_t i = 2; i < call->record->input_count; i++) {
        burn_shape broadcast;
        if (!bd_input_present(call, i))
            continue;
        BD_TRY(burn_shape_broadcast(x, bd_shape_of(call, i), &broadcast));
        if (!burn_shape_equal(&broadcast, x))
            BD_TRY(bd_check_shape(call, i, x));
    }
    *out = reduction == 0 ? *x : scalar_shape;
    return NULL;
}

static bd_error *rule_like_inputs(const bd_shape_call *call, burn_shape *out)
{
    for (uint32_t i = 1; i < call->record->input_count; i++)
        if (burn_op_input_role(call->record->info, i) == BURN_INPUT_VALUE &&
            bd_input_present(call, i))
            BD_TRY(bd_check_shape(call, i, bd_shape_of(call, 0)));
    return rule_same(call, out);
}

/* Roots, then a seed for each, then the tensors whose gradients come out. */
static bd_error *shapes_grad(const bd_shape_call *call, burn_tensor_type *outputs)
{
    const burn_op_record *record = call->record;
    int64_t roots = bd_attr(call, "roots")->value;
    if (roots < 1 || roots > (int64_t)record->input_count / 2)
        BD_FAIL(INVALID, "%lld roots with as many seeds do not fit %u tensors", (long long)roots,
                record->input_count);
    uint32_t first_wrt = 2 * (uint32_t)roots;
    int64_t cuts = bd_attr(call, "cuts")->value;
    if (cuts < 0 || cuts > (int64_t)(record->input_count - first_wrt))
        BD_FAIL(INVALID, "%lld cuts among %u tensors whose gradients come out", (long long)cuts,
                record->input_count - first_wrt);
    for (uint32_t i = 0; i < record->input_count; i++) {
        const burn_tensor_type *type = call->inputs[i];
        bool seed = i >= roots && i < first_wrt;
        if (!type && !(seed && record->inputs[i].kind == BURN_OPERAND_ABSENT))
            BD_FAIL(INVALID, "input %u must be a tensor", i);
        if (type && !burn_dtype_is_float(type->dtype))
            BD_FAIL(INVALID, "gradients are of floats, not %s", burn_dtype_name(type->dtype));
        if (!seed)
            continue;
        char root_text[BURN_SHAPE_TEXT_MAX], text[BURN_SHAPE_TEXT_MAX];
        const burn_shape *root = &call->inputs[i - (uint32_t)roots]->shape;
        if (!type && burn_shape_elements(root) != 1)
            BD_FAIL(INVALID, "a root of shape %s has more than one element and needs a gradient",
                    burn_shape_text(root, root_text));
        if (type && !burn_shape_equal(&type->shape, root))
            BD_FAIL(INVALID, "a gradient of shape %s for a root of shape %s",
                    burn_shape_text(&type->shape, text), burn_shape_text(root, root_text));
    }
    for (uint32_t i = 0; i < record->output_count; i++)
        outputs[i] = *call->inputs[first_wrt + i];
    return NULL;
}
