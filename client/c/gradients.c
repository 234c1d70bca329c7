/* SPDX-License-Identifier: Apache-2.0
 * Gradients and programs of the public API. */
#include "client/c/context.h"
#include "client/core/recording.h"
#include "proto/base/alloc.h"

/* ---- what requires a gradient ---------------------------------------------------------------- */

burn_status burn_set_requires_grad(burn_tensor *tensor, int flag)
{
    burn_context *context = bd_context_of(tensor);
    BD_ENTER(context, tensor);
    bd_error *error = bd_tensor_set_requires_grad(tensor, flag != 0);
    bd_leave(context);
    return bd_finish(error);
}

/* A view shows what its base has become first. */
static int ask(burn_tensor *tensor, bool (*question)(const burn_tensor *))
{
    if (bd_absent("tensor", tensor))
        return 0;
    burn_context *context = bd_context_of(tensor);
    bd_error *error = bd_enter(context);
    if (error) { /* the connection is closed or the parent's: nothing changes it any more */
        bd_error_free(error);
        return question(tensor);
    }
    bd_error_free(bd_tensor_refresh(tensor));
    bool answer = question(tensor);
    bd_leave(context);
    return answer;
}

int burn_requires_grad(burn_tensor *tensor)
{
    return ask(tensor, bd_tensor_requires_grad);
}

int burn_is_leaf(burn_tensor *tensor)
{
    return ask(tensor, bd_tensor_is_leaf);
}

burn_status burn_retain_grad(burn_tensor *tensor)
{
    burn_context *context = bd_context_of(tensor);
    BD_ENTER(context, tensor);
    bd_error *error = bd_tensor_retain_grad(tensor);
    bd_leave(context);
    return bd_finish(error);
}

int burn_retains_grad(const burn_tensor *tensor)
{
    if (bd_absent("tensor", tensor))
        return 0;
    return bd_tensor_retains_grad(tensor);
}

burn_tensor *burn_grad(burn_tensor *tensor)
{
    if (bd_absent("tensor", tensor))
        return NULL;
    return bd_tensor_grad(tensor);
}

burn_status burn_set_grad(burn_tensor *tensor, burn_tensor *grad)
{
    burn_context *context = bd_context_of(tensor);
    BD_ENTER(context, tensor);
    bd_error *error = bd_tensor_set_grad(tensor, grad);
    bd_leave(context);
    return bd_finish(error);
}

/* ---- backward -------------------------------------------------------------------------------- */

static bd_error *check(const burn_context *context, const char *name, burn_tensor *const *tensors,
                       size_t count, bool may_be_null)
{
    BD_TRY(BD_GIVEN(context));
    BD_TRY(bd_given_tensors(name, tensors, count, may_be_null));
    for (size_t i = 0; tensors && i < count; i++)
        if (tensors[i])
            BD_TRY(bd_tensor_check_session(tensors[i], context->session));
    return NULL;
}

static bd_error *check_request(const burn_context *context, burn_tensor *const *roots,
                               burn_tensor *const *seeds, size_t root_count,
                               burn_tensor *const *inputs, size_t input_count,
                               burn_tensor *const *cuts, size_t cut_count)
{
    BD_TRY(check(context, "roots", roots, root_count, false));
    BD_TRY(check(context, "seeds", seeds, root_count, true));
    BD_TRY(check(context, "inputs", inputs, input_count, false));
    BD_TRY(check(context, "cuts", cuts, cut_count, false));
    if (root_count == 0)
        BD_FAIL(INVALID, "there is no tensor to differentiate");
    return NULL;
}

burn_status burn_backward_cut(burn_context *context, burn_tensor *const *roots,
                              burn_tensor *const *seeds, size_t root_count,
                              burn_tensor *const *inputs, size_t input_count,
                              burn_tensor *const *cuts, size_t cut_count, int flags)
{
    bd_error *error = check_request(context, roots, seeds, root_count, inputs, input_count, cuts,
                                    cut_count);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    error = bd_session_backward(context->session, roots, seeds, (uint32_t)root_count, inputs,
                                (uint32_t)input_count, cuts, (uint32_t)cut_count, flags);
    if (!error)
        error = bd_after_record(context);
    bd_leave(context);
    return bd_finish(error);
}

burn_status burn_backward(burn_context *context, burn_tensor *const *roots,
                          burn_tensor *const *seeds, size_t root_count, burn_tensor *const *inputs,
                          size_t input_count, int flags)
{
    return burn_backward_cut(context, roots, seeds, root_count, inputs, input_count, NULL, 0,
                             flags);
}

burn_status burn_gradients_cut(burn_context *context, burn_tensor *const *roots,
                               burn_tensor *const *seeds, size_t root_count,
                               burn_tensor *const *inputs, size_t input_count,
                               burn_tensor *const *cuts, size_t cut_count, int flags,
                               burn_tensor **out_grads)
{
    bd_error *error = check_request(context, roots, seeds, root_count, inputs, input_count, cuts,
                                    cut_count);
    if (!error && input_count)
        error = BD_GIVEN(out_grads);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    error = bd_session_grad(context->session, roots, seeds, (uint32_t)root_count, inputs,
                            (uint32_t)input_count, cuts, (uint32_t)cut_count, flags, out_grads);
    bd_leave(context);
    return bd_finish(error);
}

burn_status burn_gradients(burn_context *context, burn_tensor *const *roots,
                           burn_tensor *const *seeds, size_t root_count, burn_tensor *const *inputs,
                           size_t input_count, int flags, burn_tensor **out_grads)
{
    return burn_gradients_cut(context, roots, seeds, root_count, inputs, input_count, NULL, 0,
                              flags, out_grads);
}

/* ---- attachments ----------------------------------------------------------------------------- */

burn_status burn_attach(burn_tensor *tensor, void *object, void (*release)(void *object))
{
    burn_context *context = bd_context_of(tensor);
    if (!release)
        return bd_finish(BD_ERROR(INVALID, "release is NULL"));
    BD_ENTER(context, tensor, object);
    bd_error *error = bd_tensor_attach(tensor, object, release);
    bd_leave(context);
    return bd_finish(error);
}

burn_status burn_attached(burn_tensor *tensor, void **out_object)
{
    burn_context *context = bd_context_of(tensor);
    BD_ENTER(context, tensor, out_object);
    bd_error *error = bd_tensor_attached(tensor, out_object);
    bd_leave(context);
    return bd_finish(error);
}

burn_status burn_set_hooked(burn_tensor *tensor, int flag)
{
    burn_context *context = bd_context_of(tensor);
    BD_ENTER(context, tensor);
    bd_tensor_set_hooked(tensor, flag != 0);
    bd_leave(context);
    return BURN_STATUS_OK;
}

burn_status burn_snapshot(burn_tensor *tensor, burn_tensor **out_tensor)
{
    burn_context *context = bd_context_of(tensor);
    BD_ENTER(context, tensor, out_tensor);
    bd_error *error = bd_tensor_snapshot(tensor, out_tensor);
    bd_leave(context);
    return bd_finish(error);
}

burn_status burn_end_history(burn_tensor *tensor)
{
    burn_context *context = bd_context_of(tensor);
    BD_ENTER(context, tensor);
    bd_error *error = bd_tensor_end_history(tensor);
    bd_leave(context);
    return bd_finish(error);
}

uint64_t burn_attachments(burn_context *context)
{
    if (bd_absent("context", context))
        return 0;
    return bd_session_attachments(context->session);
}

burn_status burn_reached(burn_context *context, burn_tensor *const *roots, size_t root_count,
                         burn_reached_value **out_values, size_t *out_count)
{
    bd_error *error = check(context, "roots", roots, root_count, false);
    if (!error)
        error = BD_GIVEN(out_values, out_count);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    bd_reached_list list = {0};
    error = bd_session_reached(context->session, roots, (uint32_t)root_count, &list);
    burn_reached_value *values = bd_alloc_zeroed((list.count + 1) * sizeof *values);
    for (size_t i = 0; i < list.count; i++)
        values[i] = (burn_reached_value){list.items[i].tensor, list.items[i].object,
                                         list.items[i].id};
    size_t count = list.count;
    bd_vec_deinit(&list);
    bd_leave(context);
    if (error) {
        burn_free_reached(values, count);
        return bd_finish(error);
    }
    *out_values = values;
    *out_count = count;
    return BURN_STATUS_OK;
}

void burn_free_reached(burn_reached_value *values, size_t count)
{
    for (size_t i = 0; values && i < count; i++)
        burn_release(values[i].tensor);
    bd_free(values);
}

/* ---- programs -------------------------------------------------------------------------------- */

burn_status burn_program_begin(burn_context *context, burn_tensor *const *arguments, size_t count,
                               burn_tensor **out_arguments)
{
    bd_error *error = check(context, "arguments", arguments, count, false);
    if (!error && count)
        error = BD_GIVEN(out_arguments);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    error = bd_recording_begin(context->session, arguments, (uint32_t)count, out_arguments);
    bd_leave(context);
    return bd_finish(error);
}

void burn_program_abort(burn_context *context)
{
    bd_error *error = bd_enter(context);
    if (!error) {
        bd_recording_abort(context->session);
        bd_leave(context);
    }
    (void)bd_finish(error);
}

burn_status burn_program_end(burn_context *context, burn_tensor *const *outputs, size_t count,
                             const char *name, burn_program **out_program)
{
    bd_error *error = check(context, "outputs", outputs, count, false);
    if (!error)
        error = BD_GIVEN(out_program);
    if (!error)
        error = bd_given_text("name", name);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    bd_pending pending = {0};
    bd_program *program = NULL;
    error = bd_recording_end(context->session, outputs, (uint32_t)count, name, &pending, &program);
    if (!error)
        error = bd_wait(context, &pending);
    if (error) {
        bd_program_destroy(program);
    } else {
        *out_program = bd_alloc_zeroed(sizeof **out_program);
        **out_program = (burn_program){.context = context, .program = program};
    }
    bd_leave(context);
    return bd_finish(error);
}

burn_status burn_program_call(burn_program *program, burn_tensor *const *arguments, size_t count,
                              burn_tensor **out_outputs, size_t output_count)
{
    burn_context *context = program ? program->context : NULL;
    bd_error *error = BD_GIVEN(program);
    if (!error)
        error = check(context, "arguments", arguments, count, false);
    if (!error && output_count)
        error = BD_GIVEN(out_outputs);
    if (!error && output_count != bd_program_output_count(program->program))
        error = BD_ERROR(INVALID, "the program has %u outputs, not %zu",
                         bd_program_output_count(program->program), output_count);
    if (!error)
        error = bd_enter(context);
    if (error)
        return bd_finish(error);
    error = bd_program_call(program->program, arguments, (uint32_t)count, out_outputs);
    if (!error)
        error = bd_after_record(context);
    bd_leave(context);
    return bd_finish(error);
}

void burn_program_destroy(burn_program *program)
{
    if (!program)
        return;
    burn_context *context = program->context;
    if (bd_forked(context))
        return;
    bd_lock(context);
    if (context->closed)
        bd_program_destroy(program->program);
    else
        bd_program_drop(program->program);
    bd_leave(context);
    bd_free(program);
}
