/* SPDX-License-Identifier: Apache-2.0
 * Gradients as the client sees them: which tensors a result depends on, one record that asks the
 * daemon for their gradients, accumulation. The rules are the daemon's. */
#include <string.h>

#include "client/core/recording.h"
#include "client/core/tensor_state.h"
#include "proto/base/alloc.h"
#include "proto/base/vec.h"

typedef BD_VEC(bd_value *) value_list;

typedef struct request {
    bd_session *session;
    burn_tensor *const *roots, *const *seeds;
    uint32_t root_count;
    burn_tensor *const *cuts; /* gradients do not flow through them; the seeds of roots do */
    uint32_t cut_count;
    int flags;
    value_list visited; /* tracked values that the roots depend on; referenced */
    value_list wanted;  /* whose gradients are asked for; borrowed from tensors or visited */
} request;

/* ---- properties ------------------------------------------------------------------------------ */

static bool tracked(const burn_tensor *tensor)
{
    return tensor->flags & BD_TENSOR_LEAF || tensor->value->flags & BD_VALUE_TRACKED;
}

bool bd_tensor_requires_grad(const burn_tensor *tensor)
{
    return tracked(tensor);
}

bool bd_tensor_is_leaf(const burn_tensor *tensor)
{
    return tensor->flags & BD_TENSOR_LEAF || !(tensor->value->flags & BD_VALUE_TRACKED);
}

bool bd_tensor_retains_grad(const burn_tensor *tensor)
{
    return tensor->flags & BD_TENSOR_RETAINS;
}

static void need_accumulator(burn_tensor *tensor)
{
    if (tensor->accumulator)
        return;
    tensor->accumulator = bd_alloc_zeroed(sizeof *tensor->accumulator);
    tensor->accumulator->refs = 1;
    tensor->accumulator->tensor = tensor;
}

static bd_error *drop_requirement(burn_tensor *tensor)
{
    if (!tracked(tensor))
        return NULL;
    if (!(tensor->flags & BD_TENSOR_LEAF))
        BD_FAIL(INVALID, "you can only change requires_grad flags of leaf variables. If you want "
                         "to use a computed "
                         "variable in a subgraph that doesn't require differentiation use "
                         "var_no_grad = var.detach().");
    bd_value *value = NULL;
    BD_TRY(bd_tensor_value(tensor, &value));
    if (value->refs == value->handles) { /* no graph leads to it */
        value->flags &= ~(uint32_t)(BD_VALUE_TRACKED | BD_VALUE_LEAF);
        bd_value_set_accumulator(value, NULL);
    } else {
        BD_TRY(bd_emit_unary(tensor->session, BURN_OP_DETACH, value, NULL, false, &value));
        bd_storage *storage = tensor->storage;
        if (storage && !tensor->view) {
            bd_value_drop(storage->value);
            bd_value_hold(value);
            storage->value = value;
        }
        bd_tensor_show(tensor, value);
    }
    tensor->flags &= ~(uint32_t)BD_TENSOR_LEAF;
    return NULL;
}

bd_error *bd_tensor_set_requires_grad(burn_tensor *tensor, bool flag)
{
    bd_value *value = NULL;
    BD_TRY(bd_tensor_value(tensor, &value));
    if (!flag)
        return drop_requirement(tensor);
    if (tracked(tensor))
        return NULL;
    if (!burn_dtype_is_float(value->type.dtype))
        BD_FAIL(INVALID,
                "only Tensors of floating point dtype can require gradients, this one is %s",
                burn_dtype_name(value->type.dtype));
    need_accumulator(tensor);
    tensor->flags |= BD_TENSOR_LEAF;
    return NULL;
}

bd_error *bd_tensor_retain_grad(burn_tensor *tensor)
{
    bd_value *value = NULL;
    BD_TRY(bd_tensor_value(tensor, &value));
    if (!tracked(tensor))
        BD_FAIL(INVALID, "can't retain_grad on Tensor that has requires_grad=False");
    if (tensor->flags & BD_TENSOR_LEAF)
        return NULL;
    need_accumulator(tensor);
    bd_value_set_accumulator(value, tensor->accumulator);
    tensor->flags |= BD_TENSOR_RETAINS;
    return NULL;
}

burn_tensor *bd_tensor_grad(const burn_tensor *tensor)
{
    return tensor->grad;
}

bd_error *bd_tensor_set_grad(burn_tensor *tensor, burn_tensor *grad)
{
    bd_recording *recording = bd_recording_here(tensor->session);
    if (recording)
        BD_TRY(bd_recording_adopt(recording, tensor));
    if (grad == tensor)
        BD_FAIL(INVALID, "can't assign Variable as its own grad");
    if (grad) {
        BD_TRY(bd_tensor_check_session(grad, tensor->session));
        const burn_tensor_type *own = bd_tensor_type(tensor), *other = bd_tensor_type(grad);
        char a[BURN_SHAPE_TEXT_MAX], b[BURN_SHAPE_TEXT_MAX];
        if (!burn_shape_equal(&own->shape, &other->shape))
            BD_FAIL(INVALID, "assigned grad has data of a different size: %s instead of %s",
                    burn_shape_text(&other->shape, b), burn_shape_text(&own->shape, a));
        if (own->dtype != other->dtype)
            BD_FAIL(INVALID, "assigned grad has data of a different type: %s instead of %s",
                    burn_dtype_name(other->dtype), burn_dtype_name(own->dtype));
        bd_tensor_retain(grad);
    }
    burn_tensor *before = tensor->grad;
    tensor->grad = grad;
    if (before)
        bd_tensor_release(before);
    return NULL;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static bd_error *check_roots(const request *r)
{
    for (uint32_t i = 0; i < r->root_count; i++) {
        bd_value *root = NULL;
        BD_TRY(bd_tensor_value(r->roots[i], &root));
        if (!(root->flags & BD_VALUE_TRACKED))
            BD_FAIL(INVALID,
                    "element %u of tensors does not require grad and does not have a grad_fn", i);
        burn_tensor *seed = r->seeds ? r->seeds[i] : NULL;
        if (!seed) {
            if (burn_shape_elements(&root->type.shape) != 1)
                BD_FAIL(INVALID, "grad can be implicitly created only for scalar outputs");
            continue;
        }
        bd_value *weight = NULL;
        BD_TRY(bd_tensor_value(seed, &weight));
        char a[BURN_SHAPE_TEXT_MAX], b[BURN_SHAPE_TEXT_MAX];
        if (!burn_shape_equal(&root->type.shape, &weight->type.shape))
            BD_FAIL(INVALID,
                    "Mismatch in shape: grad_output[%u] has a shape of %s and output[%u] has a "
                    "shape of %s.",
                    i, burn_shape_text(&weight->type.shape, a), i,
                    burn_shape_text(&root->type.shape, b));
    }
    return NULL;
}

static void visit(request *r, bd_value *value)
{
    bd_value_retain(value);
    *bd_vec_push(&r->visited) = value;
}

/* All tracked values behind the roots. */
static bd_error *walk(request *r)
{
    uint64_t mark = ++r->session->mark;
    for (uint32_t i = 0; i < r->root_count; i++) {
        bd_value *root = r->roots[i]->value;
        if (root->mark == mark)
            continue;
        root->mark = mark;
        visit(r, root);
    }
    for (size_t next = 0; next < r->visited.count; next++) {
        bd_value *value = r->visited.items[next];
        if (value->flags & BD_VALUE_CONSUMED)
            BD_FAIL(INVALID, "Trying to backward through the graph a second time (or directly "
                             "access saved tensors after "
                             "they have already been freed). Saved intermediate values of the "
                             "graph are freed when you "
                             "call .backward() or autograd.grad(). Specify retain_graph=True if "
                             "you need to backward "
                             "through the graph a second time or if you need to access saved "
                             "tensors after calling "
                             "backward.");
        for (uint32_t i = 0; i < value->parent_count; i++) {
            bd_value *parent = value->parents[i];
            if (parent->mark == mark)
                continue;
            parent->mark = mark;
            visit(r, parent);
        }
    }
    return NULL;
}

static bool is_cut(const request *r, const bd_value *value)
{
    for (uint32_t i = 0; i < r->cut_count; i++)
        if (r->cuts[i]->value == value)
            return true;
    return false;
}

/* Oldest first, so that the record is the same each time. */
static void want_accumulating(request *r)
{
    for (size_t i = 0; i < r->visited.count; i++) {
        bd_value *value = r->visited.items[i];
        if (value->accumulator && value->accumulator->tensor && !is_cut(r, value))
            *bd_vec_push(&r->wanted) = value;
    }
    for (size_t i = 1; i < r->wanted.count; i++) {
        bd_value *value = r->wanted.items[i];
        size_t at = i;
        for (; at > 0 && r->wanted.items[at - 1]->id > value->id; at--)
            r->wanted.items[at] = r->wanted.items[at - 1];
        r->wanted.items[at] = value;
    }
}

/* The history of what was walked is given up. */
static void consume(request *r)
{
    for (size_t i = 0; i < r->visited.count; i++) {
        bd_value *value = r->visited.items[i];
        if (value->flags & BD_VALUE_LEAF)
            continue;
        value->flags |= BD_VALUE_CONSUMED;
        bd_value_forget_parents(value);
    }
}

/* ---- the record ------------------------------------------------------------------------------ */

/* out_values has room for the cuts behind those wanted. */
static bd_error *emit_grad(request *r, bd_value **out_values)
{
    uint32_t wanted = (uint32_t)r->wanted.count;
    uint32_t count = 2 * r->root_count + wanted + r->cut_count;
    bd_value_operand *inputs = bd_alloc_zeroed(count * sizeof *inputs);
    for (uint32_t i = 0; i < r->root_count; i++) {
        inputs[i] = (bd_value_operand){.kind = BURN_OPERAND_TENSOR, .value = r->roots[i]->value};
        burn_tensor *seed = r->seeds ? r->seeds[i] : NULL;
        inputs[r->root_count + i].kind = BURN_OPERAND_ABSENT;
        if (seed)
            inputs[r->root_count + i] =
                (bd_value_operand){.kind = BURN_OPERAND_TENSOR, .value = seed->value};
    }
    for (uint32_t i = 0; i < wanted; i++)
        inputs[2 * r->root_count + i] =
            (bd_value_operand){.kind = BURN_OPERAND_TENSOR, .value = r->wanted.items[i]};
    for (uint32_t i = 0; i < r->cut_count; i++)
        inputs[2 * r->root_count + wanted + i] =
            (bd_value_operand){.kind = BURN_OPERAND_TENSOR, .value = r->cuts[i]->value};
    bool create = r->flags & BD_BACKWARD_CREATE;
    burn_attr attrs[BURN_OP_ATTRS_MAX] = {{.value = r->root_count},
                                          {.value = create || r->flags & BD_BACKWARD_RETAIN},
                                          {.value = r->cut_count}};
    bd_emission emission = {.info = burn_op_lookup(BURN_OP_GRAD),
                            .inputs = inputs,
                            .input_count = count,
                            .output_count = wanted + r->cut_count,
                            .attrs = attrs,
                            .track = create};
    bd_error *error = bd_emit(r->session, &emission, out_values);
    for (uint32_t i = 0; !error && i < r->cut_count; i++)
        bd_value_drop(out_values[wanted + i]);
    bd_free(inputs);
    return error;
}

static void end(request *r)
{
    for (size_t i = 0; i < r->visited.count; i++)
        bd_value_release(r->visited.items[i]);
    bd_vec_deinit(&r->visited);
    bd_vec_deinit(&r->wanted);
}

/* ---- backward -------------------------------------------------------------------------------- */

static bd_error *accumulate(burn_tensor *tensor, bd_value *own_gradient, bool create)
{
    bd_session *session = tensor->session;
    if (!tensor->grad) {
        tensor->grad = bd_tensor_create(session, own_gradient);
        return NULL;
    }
    bd_value *before = NULL, *sum = NULL;
    bd_error *error = bd_tensor_value(tensor->grad, &before);
    if (!error) {
        bd_value_operand inputs[2] = {{.kind = BURN_OPERAND_TENSOR, .value = before},
                                      {.kind = BURN_OPERAND_TENSOR, .value = own_gradient}};
        bd_emission add = {.info = burn_op_lookup(BURN_OP_ADD),
                           .inputs = inputs,
                           .input_count = 2,
                           .output_count = 1,
                           .track = create};
        error = bd_emit(session, &add, &sum);
    }
    bd_value_drop(own_gradient);
    if (error)
        return error;
    if (create || tensor->grad->storage) { /* out of place, as PyTorch does where history counts */
        bd_tensor_release(tensor->grad);
        tensor->grad = bd_tensor_create(session, sum);
    } else {
        bd_tensor_show(tensor->grad, sum);
        tensor->grad->version++;
    }
    return NULL;
}

static bd_error *want_inputs(request *r, burn_tensor *const *inputs, uint32_t input_count)
{
    for (uint32_t i = 0; i < input_count; i++) {
        bd_value *value = NULL;
        BD_TRY(bd_tensor_value(inputs[i], &value));
        if (!(value->flags & BD_VALUE_TRACKED))
            BD_FAIL(INVALID, "One of the differentiated Tensors does not require grad");
    }
    BD_TRY(walk(r));
    for (uint32_t i = 0; i < input_count; i++) {
        bd_value *value = inputs[i]->value;
        if (value->mark == r->session->mark)
            *bd_vec_push(&r->wanted) = value;
        else if (!(r->flags & BD_BACKWARD_UNUSED))
            BD_FAIL(
                INVALID,
                "One of the differentiated Tensors appears to not have been used in the graph. Set "
                "allow_unused=True if this is the desired behavior.");
    }
    return NULL;
}

static bd_error *run_backward(request *r, burn_tensor *const *inputs, uint32_t input_count,
                              bd_value **gradients)
{
    bool create = r->flags & BD_BACKWARD_CREATE;
    BD_TRY(emit_grad(r, gradients));
    bd_error *error = NULL;
    for (size_t i = 0; i < r->wanted.count; i++) {
        burn_tensor *target = inputs ? NULL : r->wanted.items[i]->accumulator->tensor;
        for (uint32_t k = 0; inputs && k < input_count; k++)
            if (inputs[k]->value == r->wanted.items[i])
                target = inputs[k];
        if (!error && target)
            error = accumulate(target, gradients[i], create);
        else
            bd_value_drop(gradients[i]);
    }
    return error;
}

static bd_error *refresh(burn_tensor *const *tensors, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        BD_TRY(bd_tensor_refresh(tensors[i]));
    return NULL;
}

bd_error *bd_session_backward(bd_session *session, burn_tensor *const *roots,
                              burn_tensor *const *seeds, uint32_t root_count,
                              burn_tensor *const *inputs, uint32_t input_count,
                              burn_tensor *const *cuts, uint32_t cut_count, int flags)
{
    request r = {.session = session,
                 .roots = roots,
                 .seeds = seeds,
                 .root_count = root_count,
                 .cuts = cuts,
                 .cut_count = cut_count,
                 .flags = flags};
    bd_error *error = check_roots(&r);
    if (!error)
        error = refresh(cuts, cut_count);
    if (!error && inputs) {
        r.flags |= BD_BACKWARD_UNUSED;
        error = want_inputs(&r, inputs, input_count);
    } else if (!error) {
        error = walk(&r);
        want_accumulating(&r);
    }
    if (!error && r.wanted.count > 0) {
        bd_value **gradients = bd_alloc_zeroed((r.wanted.count + cut_count) * sizeof(bd_value *));
        error = run_backward(&r, inputs, input_count, gradients);
        bd_free(gradients);
    }
    if (!error && !(flags & (BD_BACKWARD_RETAIN | BD_BACKWARD_CREATE)))
        consume(&r);
    end(&r);
    return error;
}

bd_error *bd_session_grad(bd_session *session, burn_tensor *const *roots, burn_tensor *const *seeds,
                          uint32_t root_count, burn_tensor *const *inputs, uint32_t input_count,
                          burn_tensor *const *cuts, uint32_t cut_count, int flags,
                          burn_tensor **out_grads)
{
    request r = {.session = session,
                 .roots = roots,
                 .seeds = seeds,
                 .root_count = root_count,
                 .cuts = cuts,
                 .cut_count = cut_count,
                 .flags = flags};
    bd_error *error = check_roots(&r);
    if (!error)
        error = refresh(cuts, cut_count);
    if (!error)
        error = want_inputs(&r, inputs, input_count);
    bd_value **gradients = bd_alloc_zeroed((r.wanted.count + cut_count + 1) * sizeof(bd_value *));
    if (!error && r.wanted.count > 0)
        error = emit_grad(&r, gradients);
    if (!error) {
        size_t next = 0;
        for (uint32_t i = 0; i < input_count; i++) {
            bool reached = next < r.wanted.count && inputs[i]->value == r.wanted.items[next];
            out_grads[i] = reached ? bd_tensor_create(session, gradients[next++]) : NULL;
        }
        if (!(flags & (BD_BACKWARD_RETAIN | BD_BACKWARD_CREATE)))
            consume(&r);
    }
    bd_free(gradients);
    end(&r);
    return error;
}

/* ---- attachments ----------------------------------------------------------------------------- */

bd_error *bd_tensor_attach(burn_tensor *tensor, void *object, void (*release)(void *object))
{
    bd_value *value = NULL;
    BD_TRY(bd_tensor_value(tensor, &value));
    if (value->attachment)
        BD_FAIL(CONFLICT, "the tensor has an attachment");
    value->attachment = bd_alloc_zeroed(sizeof *value->attachment);
    *value->attachment = (bd_attachment){.object = object, .release = release};
    value->session->attachment_count++;
    return NULL;
}

bd_error *bd_tensor_attached(burn_tensor *tensor, void **out_object)
{
    bd_value *value = NULL;
    BD_TRY(bd_tensor_value(tensor, &value));
    *out_object = value->attachment ? value->attachment->object : NULL;
    return NULL;
}

void bd_tensor_set_hooked(burn_tensor *tensor, bool flag)
{
    bool before = tensor->flags & BD_TENSOR_HOOKED;
    if (before == flag)
        return;
    tensor->flags ^= BD_TENSOR_HOOKED;
    tensor->session->attachment_count += flag ? 1 : UINT64_MAX;
}

bd_error *bd_tensor_snapshot(burn_tensor *tensor, burn_tensor **out_tensor)
{
    bd_value *value = NULL;
    BD_TRY(bd_tensor_value(tensor, &value));
    bd_value_hold(value);
    *out_tensor = bd_tensor_create(tensor->session, value);
    return NULL;
}

bd_error *bd_tensor_end_history(burn_tensor *tensor)
{
    bd_value *value = NULL;
    BD_TRY(bd_tensor_value(tensor, &value));
    if (value->flags & BD_VALUE_TRACKED)
        BD_FAIL(INVALID, "the tensor has a history");
    if (!burn_dtype_is_float(value->type.dtype))
        BD_FAIL(INVALID, "only floats have gradients, not %s",
                burn_dtype_name(value->type.dtype));
    value->flags |= BD_VALUE_TRACKED | BD_VALUE_LEAF;
    return NULL;
}

bd_error *bd_session_reached(bd_session *session, burn_tensor *const *roots, uint32_t root_count,
                             bd_reached_list *out_list)
{
    request r = {.session = session, .roots = roots, .root_count = root_count};
    bd_error *error = refresh(roots, root_count);
    if (!error)
        error = walk(&r);
    for (size_t i = 0; !error && i < r.visited.count; i++) {
        bd_value *value = r.visited.items[i];
        burn_tensor *tensor = value->accumulator ? value->accumulator->tensor : NULL;
        bool hooked = tensor && tensor->flags & BD_TENSOR_HOOKED;
        if (!value->attachment && !hooked)
            continue;
        if (tensor && tensor->value == value) {
            bd_tensor_retain(tensor);
        } else {
            bd_value_hold(value);
            tensor = bd_tensor_create(session, value);
        }
        *bd_vec_push(out_list) = (bd_reached){
            tensor, value->attachment ? value->attachment->object : NULL, value->id};
    }
    end(&r);
    return error;
}
