/* SPDX-License-Identifier: Apache-2.0
 * SGD, Adam and AdamW over lists of parameters: one op a parameter, which the daemon runs as one.
 */
#include <string.h>

#include "client/c/context.h"
#include "proto/base/alloc.h"
#include "proto/ops.h"

enum { SLOTS = 3 }; /* momentum buffer; or m, v and the largest v */

typedef struct parameter {
    burn_tensor *tensor; /* retained */
    burn_tensor *state[SLOTS];
    int64_t step;
} parameter;

struct burn_optimizer {
    burn_context *context;
    bool adam;
    burn_sgd_options sgd;
    burn_adam_options adam_options;
    double lr;
    size_t count;
    parameter *parameters;
};

/* ---- life ------------------------------------------------------------------------------------ */

static burn_status create(burn_context *context, burn_tensor *const *parameters, size_t count,
                          burn_optimizer **out_optimizer)
{
    bd_error *error = BD_GIVEN(context, out_optimizer);
    if (!error)
        error = bd_given_tensors("parameters", parameters, count, false);
    if (error)
        return bd_finish(error);
    for (size_t i = 0; i < count; i++)
        if (!burn_is_leaf(parameters[i]) ||
            bd_context_of(parameters[i]) != context)
            return bd_finish(
                BD_ERROR(INVALID, "parameter %zu is no leaf tensor of this connection", i));
    burn_optimizer *optimizer = bd_alloc_zeroed(sizeof *optimizer);
    optimizer->context = context;
    optimizer->count = count;
    optimizer->parameters = bd_alloc_zeroed((count + 1) * sizeof *optimizer->parameters);
    for (size_t i = 0; i < count; i++) {
        burn_retain(parameters[i]);
        optimizer->parameters[i].tensor = parameters[i];
    }
    *out_optimizer = optimizer;
    return BURN_STATUS_OK;
}

burn_status burn_sgd(burn_context *context, burn_tensor *const *parameters, size_t count,
                     const burn_sgd_options *options, burn_optimizer **out_optimizer)
{
    burn_sgd_options chosen = {0};
    bd_error *error = bd_take_options("burn_sgd_options", &chosen, sizeof chosen, options);
    if (error)
        return bd_finish(error);
    chosen.lr = chosen.lr > 0 ? chosen.lr : 1e-3;
    if (chosen.nesterov && (chosen.momentum <= 0 || chosen.dampening != 0))
        return bd_finish(
            BD_ERROR(INVALID, "Nesterov momentum requires a momentum and zero dampening"));
    burn_optimizer *optimizer = NULL;
    burn_status status = create(context, parameters, count, out_optimizer ? &optimizer : NULL);
    if (status != BURN_STATUS_OK)
        return status;
    optimizer->sgd = chosen;
    optimizer->lr = chosen.lr;
    *out_optimizer = optimizer;
    return BURN_STATUS_OK;
}

burn_status burn_adam(burn_context *context, burn_tensor *const *parameters, size_t count,
                      const burn_adam_options *options, burn_optimizer **out_optimizer)
{
    burn_adam_options chosen = {0};
    bd_error *error = bd_take_options("burn_adam_options", &chosen, sizeof chosen, options);
    if (error)
        return bd_finish(error);
    chosen.lr = chosen.lr > 0 ? chosen.lr : 1e-3;
    chosen.beta1 = chosen.beta1 > 0 ? chosen.beta1 : 0.9;
    chosen.beta2 = chosen.beta2 > 0 ? chosen.beta2 : 0.999;
    chosen.eps = chosen.eps > 0 ? chosen.eps : 1e-8;
    if (chosen.beta1 >= 1 || chosen.beta2 >= 1)
        return bd_finish(BD_ERROR(INVALID, "betas must be below 1, they are %g and %g",
                                  chosen.beta1, chosen.beta2));
    burn_optimizer *optimizer = NULL;
    burn_status status = create(context, parameters, count, out_optimizer ? &optimizer : NULL);
    if (status != BURN_STATUS_OK)
        return status;
    optimizer->adam = true;
    optimizer->adam_options = chosen;
    optimizer->lr = chosen.lr;
    *out_optimizer = optimizer;
    return BURN_STATUS_OK;
}

void burn_optimizer_destroy(burn_optimizer *optimizer)
{
    if (!optimizer)
        return;
    for (size_t i = 0; i < optimizer->count; i++) {
        burn_release(optimizer->parameters[i].tensor);
        for (int k = 0; k < SLOTS; k++)
            burn_release(optimizer->parameters[i].state[k]);
    }
    bd_free(optimizer->parameters);
    bd_free(optimizer);
}

void burn_set_learning_rate(burn_optimizer *optimizer, double lr)
{
    if (bd_absent("optimizer", optimizer))
        return;
    optimizer->lr = lr;
}

/* ---- updates --------------------------------------------------------------------------------- */

/* Results become the parameter and its state. */
static burn_status take(parameter *p, burn_tensor *results[1 + SLOTS], size_t count)
{
    burn_status status = burn_assign(p->tensor, burn_in(results[0]), 0);
    burn_release(results[0]);
    for (size_t k = 1; k < count; k++) {
        burn_release(p->state[k - 1]);
        p->state[k - 1] = results[k];
    }
    return status;
}

static burn_status step_sgd(burn_optimizer *o, parameter *p)
{
    const burn_sgd_options *with = &o->sgd;
    burn_input decay = with->weight_decay != 0 ? burn_float(with->weight_decay) : burn_none();
    burn_tensor *results[1 + SLOTS] = {NULL};
    burn_input grad = burn_in(burn_grad(p->tensor));
    if (with->momentum == 0) {
        burn_input inputs[] = {burn_in(p->tensor), grad, burn_float(o->lr), decay};
        burn_attribute attributes[] = {burn_number(with->maximize != 0)};
        burn_status status =
            burn_apply(o->context, BURN_OP_SGD_STEP, inputs, 4, attributes, 1, results, 1);
        return status != BURN_STATUS_OK ? status : take(p, results, 1);
    }
    burn_input inputs[] = {burn_in(p->tensor),
                           grad,
                           burn_in(p->state[0]),
                           burn_float(o->lr),
                           burn_float(with->momentum),
                           burn_float(with->dampening),
                           decay};
    burn_attribute attributes[] = {burn_number(with->nesterov != 0),
                                   burn_number(with->maximize != 0)};
    burn_status status =
        burn_apply(o->context, BURN_OP_SGD_MOMENTUM_STEP, inputs, 7, attributes, 2, results, 2);
    return status != BURN_STATUS_OK ? status : take(p, results, 2);
}

static burn_status begin_adam(burn_optimizer *o, parameter *p, int slots)
{
    const burn_tensor *like = p->tensor;
    burn_input zero = burn_float(0);
    burn_attribute attributes[] = {burn_list(burn_shape_of(like), (size_t)burn_rank(like)),
                                   burn_number(burn_dtype_of(like))};
    for (int k = 0; k < slots; k++) {
        if (p->state[k])
            continue;
        burn_status status =
            burn_apply(o->context, BURN_OP_FULL, &zero, 1, attributes, 2, &p->state[k], 1);
        if (status != BURN_STATUS_OK)
            return status;
    }
    return BURN_STATUS_OK;
}

static burn_status step_adam(burn_optimizer *o, parameter *p)
{
    const burn_adam_options *with = &o->adam_options;
    int slots = with->amsgrad ? 3 : 2;
    burn_status status = begin_adam(o, p, slots);
    if (status != BURN_STATUS_OK)
        return status;
    p->step++;
    burn_input inputs[] = {burn_in(p->tensor),
                           burn_in(burn_grad(p->tensor)),
                           burn_in(p->state[0]),
                           burn_in(p->state[1]),
                           burn_in(p->state[2]),
                           burn_float(o->lr),
                           burn_float(with->beta1),
                           burn_float(with->beta2),
                           burn_float(with->eps),
                           with->weight_decay != 0 ? burn_float(with->weight_decay) : burn_none(),
                           burn_int(p->step)};
    burn_attribute attributes[] = {burn_number(with->maximize != 0)};
    burn_tensor *results[1 + SLOTS] = {NULL};
    int op = with->decoupled ? BURN_OP_ADAMW_STEP : BURN_OP_ADAM_STEP;
    status = burn_apply(o->context, op, inputs, 11, attributes, 1, results, (size_t)slots + 1);
    return status != BURN_STATUS_OK ? status : take(p, results, (size_t)slots + 1);
}

burn_status burn_step(burn_optimizer *optimizer)
{
    if (bd_absent("optimizer", optimizer))
        return BURN_STATUS_INVALID;
    int grad_mode = burn_set_grad_enabled(0);
    burn_status status = BURN_STATUS_OK;
    for (size_t i = 0; status == BURN_STATUS_OK && i < optimizer->count; i++) {
        parameter *p = &optimizer->parameters[i];
        if (burn_grad(p->tensor))
            status = optimizer->adam ? step_adam(optimizer, p) : step_sgd(optimizer, p);
    }
    burn_set_grad_enabled(grad_mode);
    return status != BURN_STATUS_OK ? status : burn_mark(optimizer->context);
}

burn_status burn_zero_grad(burn_optimizer *optimizer)
{
    if (bd_absent("optimizer", optimizer))
        return BURN_STATUS_INVALID;
    for (size_t i = 0; i < optimizer->count; i++) {
        burn_status status = burn_set_grad(optimizer->parameters[i].tensor, NULL);
        if (status != BURN_STATUS_OK)
            return status;
    }
    return BURN_STATUS_OK;
}
