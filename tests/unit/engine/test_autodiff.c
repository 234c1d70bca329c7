/* SPDX-License-Identifier: Apache-2.0
 * Gradients of every differentiable op against central differences in float64, first and second
 * order. The graph is evaluated by graph_eval.c, before and after simplification. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph_eval.h"
#include "graph_trace.h"
#include "proto/base/alloc.h"

/* Inputs are written "shape low high", separated by ";": "3,4 -2 2"; "#0.5" is a weak float, "-"
 * absent,
 * ". -2 2" of rank 0, "!3 0 4" an index of that shape below 4 (no gradient), "?3" a condition.
 * Attributes: "name=1 name=2,3". */
typedef struct gradient_case {
    const char *op, *inputs, *attrs;
    unsigned no_gradient; /* bit i: input i is a tensor to which no gradient flows by definition */
    bool first_only;      /* no second order */
} gradient_case;

static const gradient_case cases[] = {
    {"add", "3,4 -2 2; 4 -2 2", "", 0, false},
    {"add", "3,1 -2 2; 2,1,5 -2 2", "", 0, false},
    {"sub", "3,4 -2 2; 3,1 -2 2", "", 0, false},
    {"mul", "3,4 -2 2; . -2 2", "", 0, false},
    {"mul", ". -2 2; . -2 2", "", 0, false},
    {"sum", ". -2 2", "", 0, false},
    {"softmax", ". -2 2", "dim=0", 0, false},
    {"gelu", ". -2 2", "", 0, false},
    {"mul", "3,4 -2 2; #2.5", "", 0, false},
    {"div", "3,4 -2 2; 4 0.5 3", "", 0, false},
    {"div", "#2.0; 5 0.5 3", "", 0, false},
    {"neg", "5 -2 2", "", 0, false},
    {"pow", "3,4 0.2 3; 4 -2 3", "", 0, false},
    {"pow", "7 0.2 3; #3.0", "", 0, false},
    {"maximum", "3,4 -2 2; 4 -2 2", "", 0, false},
    {"minimum", "3,4 -2 2; 4 -2 2", "", 0, false},
    {"remainder", "5 -3 3; 5 0.7 3", "", 0, false},
    {"fmod", "5 -3 3; 5 0.7 3", "", 0, false},
    {"abs", "7 -2 2", "", 0, false},
    {"exp", "7 -2 2", "", 0, false},
    {"log", "7 0.1 5", "", 0, false},
    {"sqrt", "7 0.1 5", "", 0, false},
    {"rsqrt", "7 0.1 5", "", 0, false},
    {"reciprocal", "7 0.3 5", "", 0, false},
    {"square", "7 -2 2", "", 0, false},
    {"sin", "7 -2 2", "", 0, false},
    {"cos", "7 -2 2", "", 0, false},
    {"tan", "7 -1.2 1.2", "", 0, false},
    {"tanh", "7 -2 2", "", 0, false},
    {"sigmoid", "7 -3 3", "", 0, false},
    {"relu", "7 -2 2", "", 0, false},
    {"gelu", "7 -2 2", "", 0, false},
    {"gelu", "7 -2 2", "tanh=1", 0, false},
    {"silu", "7 -2 2", "", 0, false},
    {"erf", "7 -2 2", "", 0, false},
    {"erfc", "7 -2 2", "", 0, false},
    {"expm1", "7 -2 2", "", 0, false},
    {"log1p", "7 -0.8 5", "", 0, false},
    {"log2", "7 0.1 5", "", 0, false},
    {"log10", "7 0.1 5", "", 0, false},
    {"exp2", "7 -2 2", "", 0, false},
    {"floor", "7 -2 2", "", 0, false},
    {"sign", "7 -2 2", "", 0, false},
    {"asin", "7 -0.9 0.9", "", 0, false},
    {"acos", "7 -0.9 0.9", "", 0, false},
    {"atan", "7 -2 2", "", 0, false},
    {"sinh", "7 -2 2", "", 0, false},
    {"cosh", "7 -2 2", "", 0, false},
    {"asinh", "7 -2 2", "", 0, false},
    {"acosh", "7 1.2 5", "", 0, false},
    {"atanh", "7 -0.9 0.9", "", 0, false},
    {"lgamma", "7 0.3 5", "", 0, false},
    {"digamma", "7 0.3 5", "", 0, true},
    {"atan2", "5 -2 2; 5 0.5 2", "", 0, false},
    {"fmax", "5 -2 2; 5 -2 2", "", 0, false},
    {"fmin", "5 -2 2; 5 -2 2", "", 0, false},
    {"where", "?3,4; 3,4 -2 2; 4 -2 2", "", 0, false},
    {"clamp", "9 -2 2; #-1.0; #1.0", "", 0, false},
    {"clamp", "9 -2 2; 9 -1 0; 9 0.1 1", "", 0, false},
    {"clamp", "9 -2 2; -; #1.0", "", 0, false},
    {"cast", "5 -2 2", "dtype=1", 0, false},
    {"leaky_relu", "9 -2 2; #0.1", "", 0, false},
    {"elu", "9 -2 2; #1.5", "", 0, false},
    {"hardtanh", "9 -2 2; #-1.0; #1.0", "", 0, false},
    {"softplus", "9 -2 2; #1.0; #20.0", "", 0, false},
    {"logsigmoid", "9 -3 3", "", 0, false},
    {"lerp", "5 -2 2; 5 -2 2; 5 0 1", "", 0, false},
    {"addcmul", "5 -2 2; 5 -2 2; 5 -2 2; #0.5", "", 0, false},
    {"addcdiv", "5 -2 2; 5 -2 2; 5 0.5 2; #0.5", "", 0, false},
    {"masked_fill", "3,4 -2 2; ?4; #0.5", "", 0, false},
    {"logaddexp", "5 -2 2; 5 -2 2", "", 0, false},
    {"logaddexp2", "5 -2 2; 5 -2 2", "", 0, false},
    {"xlogy", "5 -2 2; 5 0.5 3", "", 0, false},
    {"copysign", "5 0.5 2; 5 0.5 2", "", 0, false},
    {"ldexp", "5 -2 2; 5 -2 2", "", 0, false},
    {"zeta", "5 1.5 3; 5 0.5 2", "", 0, false},
    {"erfinv", "7 -0.9 0.9", "", 0, false},
    {"hypot", "5 0.5 2; 5 0.5 2", "", 0, false},
    {"softsign", "9 -2 2", "", 0, false},
    {"mish", "9 -2 2", "", 0, false},
    {"hardsigmoid", "9 -4 4", "", 0, false},
    {"hardswish", "9 -4 4", "", 0, false},
    {"clone", "5 -2 2", "", 0, false},
    {"reshape", "3,4 -2 2", "shape=2,6", 0, false},
    {"reshape", "1,6 -2 2", "shape=2,1,3", 0, false},
    {"permute", "2,3,4 -2 2", "dims=2,0,1", 0, false},
    {"permute", "2,3,4 -2 2", "dims=-1,0,1", 0, false},
    {"expand", "3,1 -2 2", "shape=2,3,4", 0, false},
    {"slice", "5,6 -2 2", "starts=1,0 stops=5,6 steps=2,1", 0, false},
    {"pad", "2,3 -2 2; #0.5", "low=1,0 high=2,1", 0, false},
    {"flip", "3,4 -2 2", "dims=0,1", 0, false},
    {"concat", "2,3 -2 2; 1,3 -2 2; 4,3 -2 2", "dim=0", 0, false},
    {"concat", "2,3 -2 2; 2,1 -2 2", "dim=-1", 0, false},
    {"stack", "2,3 -2 2; 2,3 -2 2", "dim=1", 0, false},
    {"stack", "2,3 -2 2; 2,3 -2 2", "dim=-1", 0, false},
    {"slice_update", "5,6 -2 2; 2,6 -2 2", "starts=1,0 stops=4,6 steps=2,1", 0, false},
    {"slice_update", "5,6 -2 2; 1 -2 2", "starts=1,0 stops=4,6 steps=2,1", 0, false},
    {"tril", "4,5 -2 2", "diagonal=0", 0, false},
    {"triu", "4,5 -2 2", "diagonal=1", 0, false},
    {"sum", "3,4,2 -2 2", "dims=0,2", 0, false},
    {"sum", "3,4 -2 2", "", 0, false},
    {"mean", "3,4,2 -2 2", "dims=-1 keepdim=1", 0, false},
    {"mean", "3,4 -2 2", "", 0, false},
    {"prod", "3,4 0.5 2", "dims=1", 0, false},
    {"max", "3,4 -2 2", "dims=1", 0, false},
    {"min", "3,4 -2 2", "dims=0 keepdim=1", 0, false},
    {"var", "3,5 -2 2; #1.0", "dims=1", 0, false},
    {"std", "3,5 -2 2; #0.0", "dims=1 keepdim=1", 0, false},
    {"logsumexp", "3,5 -2 2", "dims=1", 0, false},
    {"logsumexp", "3,5 -2 2", "dims=0 keepdim=1", 0, false},
    {"matmul", "3,4 -1 1; 4,5 -1 1", "", 0, false},
    {"matmul", "4 -1 1; 4,5 -1 1", "", 0, false},
    {"matmul", "3,4 -1 1; 4 -1 1", "", 0, false},
    {"matmul", "4 -1 1; 4 -1 1", "", 0, false},
    {"matmul", "2,1,3,4 -1 1; 5,4,2 -1 1", "", 0, false},
    {"matmul", "2,3,4 -1 1; 4,5 -1 1", "", 0, false},
    {"linear", "3,4 -1 1; 5,4 -1 1; 5 -1 1", "", 0, false},
    {"linear", "2,3,4 -1 1; 5,4 -1 1; -", "", 0, false},
    {"linear", "4 -1 1; 5,4 -1 1; 5 -1 1", "", 0, false},
    {"cumsum", "3,4 -2 2", "dim=1", 0, false},
    {"cumprod", "3,4 0.5 2", "dim=0", 0, false},
    {"cummax", "3,6 -2 2", "dim=1", 0, false},
    {"cummin", "3,6 -2 2", "dim=-1", 0, false},
    {"logcumsumexp", "3,5 -2 2", "dim=1", 0, false},
    {"sort", "3,5 -2 2", "dim=1", 0, false},
    {"sort", "4,3 -2 2", "dim=0 descending=1", 0, false},
    {"scatter_prod", "4,3 0.5 2; !2,3 0 4; 2,3 0.5 2", "dim=0", 0, false},
    {"scatter_max", "4,3 -2 2; !2,3 0 4; 2,3 -2 2", "dim=0", 0, false},
    {"scatter_min", "4,3 -2 2; !2,3 0 4; 2,3 -2 2", "dim=0", 0, false},
    {"lstm_step", "3,4 -2 2; 3,4 -2 2; 3,4 -2 2; 3,4 -2 2; 3,4 -2 2", "", 0, false},
    {"gru_step", "3,4 -2 2; 3,4 -2 2; 3,4 -2 2; 3,4 -2 2; 3,4 -2 2; 3,4 -2 2; 3,4 -2 2",
     "", 0, false},
    {"attend", "2,3,4 -2 2; 2,4,5 -1 1", "", 0, false},
    {"causal", "4,5 -2 2", "diagonal=4", 0, false},
    {"softmax", "3,5 -2 2", "dim=-1", 0, false},
    {"softmax", "3,5 -2 2", "dim=0", 0, false},
    {"log_softmax", "3,5 -2 2", "dim=1", 0, false},
    {"window", "3,9 -2 2", "dims=1 counts=3 sizes=3 strides=2 dilations=2", 0, false},
    {"window", "2,7,6 -2 2", "dims=1,2 counts=3,4 sizes=3,2 strides=2,1 dilations=1,2", 0, false},
    {"window_add", "3,9 -2 2; 3,3,3 -2 2", "dims=1 counts=3 sizes=3 strides=2 dilations=2", 0,
     false},
    {"conv", "2,3,5,4 -1 1; 2,3,3,2 -1 1; 2 -1 1", "strides=1,1 dilations=1,1 groups=1", 0, false},
    {"conv", "1,4,6,5 -1 1; 2,2,2,3 -1 1; -", "strides=2,1 low=1,0 high=1,2 dilations=1,2 groups=2",
     0, false},
    {"conv_input", "2,2,3,2 -1 1; 2,3,2,3 -1 1",
     "shape=6,5 strides=2,1 low=1,0 dilations=1,2 groups=1", 0, false},
    {"conv_input", "1,4,4 -1 1; 4,2,3 -1 1", "shape=6 strides=1 dilations=1 groups=2", 0, false},
    {"conv_weight", "2,3,5,4 -1 1; 2,2,2,3 -1 1",
     "shape=3,2 strides=2,1 low=1,0 dilations=1,1 groups=1", 0, false},
    {"conv_weight", "2,4,6 -1 1; 2,2,4 -1 1", "shape=3 strides=1 dilations=1 groups=2", 0, false},
    {"max_pool", "2,5,6 -9 9", "sizes=2,2 strides=2,2 dilations=1,1 tiled=1", 0, false},
    {"max_pool", "2,5,6 -9 9", "sizes=3,2 strides=2,1 low=1,0 high=1,1 dilations=1,2 tiled=0", 0,
     false},
    {"avg_pool", "2,5,6 -2 2", "sizes=2,3 strides=2,3 dilations=1,1 tiled=1 mode=0", 0, false},
    {"avg_pool", "2,5,6 -2 2",
     "sizes=3,2 strides=2,1 low=1,0 high=2,1 dilations=1,1 tiled=0 mode=2", 0, false},
    {"avg_pool", "2,7 -2 2", "sizes=3 strides=2 low=1 high=2 dilations=1 tiled=0 mode=1", 0, false},
    {"batch_norm", "3,2,4 -2 2; 2 -1 1; 2 -1 1; #0.001", "", 0, false},
    {"batch_norm", "5,3 -2 2; -; 3 -1 1; #0.001", "", 0, false},
    {"batch_norm_fixed", "3,2,4 -2 2; 2 -1 1; 2 0.4 2; 2 -1 1; 2 -1 1; #0.001", "", 0, false},
    {"group_norm", "2,4,3 -2 2; 4 -1 1; 4 -1 1; #0.001", "groups=2", 0, false},
    {"layer_norm", "3,5 -2 2; 5 -1 1; 5 -1 1; #0.00001", "shape=5", 0, false},
    {"layer_norm", "2,3,5 -2 2; 3,5 -1 1; -; #0.001", "shape=3,5", 0, false},
    {"rms_norm", "3,5 -2 2; 5 -1 1; #0.00001", "shape=5", 0, false},
    {"rms_norm", "3,5 -2 2; -; #0.00001", "shape=5", 0, false},
    {"embedding", "6,3 -2 2; !4 0 6", "", 0, false},
    {"embedding", "6,3 -2 2; !2,4 3 6", "padding=2", 0, false},
    {"gather", "3,5 -2 2; !3,2 0 5", "dim=1", 0, false},
    {"take", "3,5 -2 2; !2,2 0 5", "dim=1", 0, false},
    {"take", "3,5 -2 2; !4 -3 3", "dim=0 wrap=1", 0, true},
    {"scatter_add", "3,5 -2 2; !3,4 0 5; 3,4 -2 2", "dim=1", 0, false},
    {"scatter", "5,3 -2 2; !1,3 0 5; 1,3 -2 2", "dim=0", 0, false},
    {"take_nd", "3,5,2 -2 2; !4 0 3; !4 0 5", "dim=0", 0, false},
    {"put_nd", "3,5,2 -2 2; 4,2 -2 2; !4 0 3; !4 0 5", "dim=0 accumulate=1", 0, false},
    {"max_dim", "3,5 -2 2", "dim=1", 0, false},
    {"min_dim", "3,5 -2 2", "dim=0 keepdim=1", 0, false},
    {"dropout", "4,5 -2 2; #0.25", "seed=3 offset=7", 0, false},
    {"cross_entropy", "4,5 -2 2; !4 0 5; -; -", "", 0, false},
    {"cross_entropy", "4,5 -2 2; !4 0 5; -; -", "reduction=2 ignore_index=1", 0, false},
    {"cross_entropy", "4,5 -2 2; !4 0 5; 5 0.5 2; #0.2", "", 4, false},
    {"cross_entropy", "2,5,3 -2 2; !2,3 0 5; -; #0.1", "reduction=0", 0, false},
    {"cross_entropy", "5 -2 2; !. 0 5; -; -", "", 0, false},
    {"nll_loss", "4,5 -2 2; !4 0 5; 5 0.5 2", "", 4, false},
    {"cross_entropy_soft", "4,5 -2 2; 4,5 0 1; -; #0.1", "", 0, false},
    {"mse_loss", "4,5 -2 2; 4,5 -2 2", "", 0, false},
    {"l1_loss", "4,5 -2 2; 4,5 -2 2", "reduction=2", 0, false},
    {"huber_loss", "4,5 -2 2; 4,5 -2 2; #0.7", "", 0, false},
    {"smooth_l1_loss", "4,5 -2 2; 4,5 -2 2; #0.7", "reduction=0", 0, false},
    {"bce_with_logits", "4,5 -2 2; 4,5 0 1; -; 5 0.5 2", "", 0, false},
    {"bce", "4,5 0.1 0.9; 4,5 0 1; -", "", 0, false},
    {"kl_div", "4,5 -2 2; 4,5 0.1 1", "reduction=2", 0, false},
};

enum { INPUTS_MAX = 8, ELEMENTS_MAX = 512 };

typedef struct gradient_run {
    test_trace trace;
    double data[INPUTS_MAX + 3][ELEMENTS_MAX];
    int64_t counts[INPUTS_MAX + 3];
    bool differentiable[INPUTS_MAX];
    int input_count;
    uint64_t seed;
    uint32_t loss, gradients, second_loss, second; /* values */
    int wrt_count;
    int wrt[INPUTS_MAX]; /* input numbers */
} gradient_run;

static double random_between(uint64_t *seed, double low, double high)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(*seed >> 11) * 0x1p-53;
}

static int parse_shape(const char **text, int64_t dims[16])
{
    int rank = 0;
    while (**text >= '0' && **text <= '9') {
        dims[rank++] = strtoll(*text, (char **)(uintptr_t)text, 10);
        if (**text == ',')
            ++*text;
    }
    return rank;
}

static test_input parse_input(gradient_run *run, const char **text, int number)
{
    while (**text == ' ' || **text == ';')
        ++*text;
    char kind = **text;
    if (kind == '#') {
        ++*text;
        return test_float(strtod(*text, (char **)(uintptr_t)text));
    }
    if (kind == '-') {
        ++*text;
        return test_absent();
    }
    if (kind == '!' || kind == '?' || kind == '.')
        ++*text;
    int64_t dims[16];
    int rank = parse_shape(text, dims);
    if (**text == '.')
        ++*text;
    double low = 0, high = 2;
    if (kind != '?') {
        low = strtod(*text, (char **)(uintptr_t)text);
        high = strtod(*text, (char **)(uintptr_t)text);
    }
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        count *= dims[i];
    for (int64_t i = 0; i < count; i++) {
        double value = random_between(&run->seed, low, high);
        run->data[number][i] = kind == '!' || kind == '?' ? floor(value) : value;
    }
    run->counts[number] = count;
    burn_dtype dtype = kind == '!' ? BURN_I64 : kind == '?' ? BURN_BOOL : BURN_F64;
    run->differentiable[number] = dtype == BURN_F64;
    return test_external(&run->trace, dtype, rank, dims, run->data[number]);
}

static void parse_attrs(gradient_run *run, const char *op, const char *text, test_attrs *attrs)
{
    while (*text) {
        char name[32];
        int64_t values[16];
        uint32_t count = 0;
        size_t length = strcspn(text, "=");
        memcpy(name, text, length);
        name[length] = 0;
        text += length;
        while (*text == '=' || *text == ',')
            values[count++] = strtoll(text + 1, (char **)(uintptr_t)&text, 10);
        burn_attr_kind kind = burn_op_find(op)->attrs[burn_op_attr(burn_op_find(op), name)].kind;
        if (kind == BURN_ATTR_INTS || kind == BURN_ATTR_SIZES)
            test_set_list(&run->trace, op, attrs, name, (int)count, values);
        else
            test_set(&run->trace, op, attrs, name, values[0]);
        while (*text == ' ')
            text++;
    }
}

/* sum(value * w) for a fixed random w. */
static uint32_t weighted_sum(gradient_run *run, uint32_t value, int place)
{
    test_trace *trace = &run->trace;
    burn_shape shape = trace->values.items[value].type.shape;
    run->counts[place] = burn_shape_elements(&shape);
    for (int64_t i = 0; i < run->counts[place]; i++)
        run->data[place][i] = random_between(&run->seed, 0.5, 1.5);
    test_input w = test_external(trace, BURN_F64, shape.rank, shape.dims, run->data[place]);
    uint32_t product = test_op(trace, "mul", 1, 2, (test_input[]){test_value(value), w}, NULL);
    return test_op(trace, "sum", 1, 1, (test_input[]){test_value(product)}, NULL);
}

static void write_trace(gradient_run *run, const gradient_case *one)
{
    test_input inputs[INPUTS_MAX], wrt[INPUTS_MAX];
    test_attrs attrs = test_attrs_of(one->op);
    const char *text = one->inputs;
    int given = 0;
    for (; *text; given++)
        inputs[given] = parse_input(run, &text, given);
    const burn_op_info *info = burn_op_find(one->op);
    while (given < info->input_count && !(info->flags & BURN_OP_VARIADIC))
        inputs[given++] = test_absent();
    run->input_count = given;
    parse_attrs(run, one->op, one->attrs, &attrs);
    uint32_t out = test_op(&run->trace, one->op, 1, given, inputs, &attrs);
    ck_assert_msg(out != UINT32_MAX, "%s: %s", one->op, run->trace.error);
    run->loss = weighted_sum(run, out, INPUTS_MAX);
    for (int i = 0; i < given; i++)
        if (run->differentiable[i] && !(one->no_gradient >> i & 1)) {
            run->wrt[run->wrt_count] = i;
            wrt[run->wrt_count++] = inputs[i];
        }
    run->gradients =
        test_grad(&run->trace, test_value(run->loss), run->wrt_count, wrt, 1, !one->first_only);
    if (one->first_only)
        return;
    run->second_loss = weighted_sum(run, run->gradients, INPUTS_MAX + 1);
    if (run->wrt_count > 1) {
        uint32_t other = weighted_sum(run, run->gradients + 1, INPUTS_MAX + 2);
        run->second_loss =
            test_op(&run->trace, "add", 1, 2,
                    (test_input[]){test_value(run->second_loss), test_value(other)}, NULL);
    }
    run->second = test_grad(&run->trace, test_value(run->second_loss), run->wrt_count, wrt, 0, 0);
}

typedef struct built_graph {
    bd_graph *graph;
    bd_node roots[2 + 2 * INPUTS_MAX];
    const double *externals[64];
    double scalars[64];
    int64_t *ints;
    test_bindings bindings;
} built_graph;

static void build(gradient_run *run, const gradient_case *one, bool simplify, built_graph *out)
{
    bd_trace trace;
    test_trace_view(&run->trace, &trace);
    bd_error *error = bd_graph_build(&trace, &out->graph);
    ck_assert_msg(!error, "%s: %s", one->op, bd_error_text(error));
    uint32_t count = 0, root_count = 0;
    out->roots[root_count++] = bd_graph_value(out->graph, run->loss);
    for (int i = 0; i < run->wrt_count; i++)
        out->roots[root_count++] = bd_graph_value(out->graph, run->gradients + (uint32_t)i);
    if (!one->first_only) {
        out->roots[root_count++] = bd_graph_value(out->graph, run->second_loss);
        for (int i = 0; i < run->wrt_count; i++)
            out->roots[root_count++] = bd_graph_value(out->graph, run->second + (uint32_t)i);
    }
    error = bd_graph_decompose(out->graph, out->roots, root_count);
    if (!error && simplify)
        error = bd_graph_simplify(out->graph, out->roots, root_count);
    ck_assert_msg(!error, "%s: %s", one->op, bd_error_text(error));
    const bd_graph_external *externals = bd_graph_externals(out->graph, &count);
    for (uint32_t i = 0; i < count; i++)
        out->externals[i] = run->trace.data.items[externals[i].slot];
    const bd_graph_scalar *scalars = bd_graph_scalars(out->graph, &count);
    for (uint32_t i = 0; i < count; i++)
        out->scalars[i] = trace.scalars_as_double[scalars[i].slot];
    out->ints = bd_alloc(sizeof *out->ints * bd_int_count(bd_graph_ints(out->graph)));
    bd_ints_evaluate(bd_graph_ints(out->graph), &trace, NULL, NULL, out->ints);
    out->bindings = (test_bindings){out->externals, out->scalars, out->ints};
}

static double scalar_of(built_graph *built, bd_node node, const char *op)
{
    test_tensor value = {0};
    ck_assert_msg(test_evaluate(built->graph, node, &built->bindings, &value),
                  "%s: cannot evaluate", op);
    ck_assert_int_eq(value.count, 1);
    double result = value.data[0];
    free(value.data);
    return result;
}

/* The gradients behind roots[first], with respect to each wrt input, against differences of
 * roots[loss]. */
static void compare(gradient_run *run, built_graph *built, const gradient_case *one, int loss,
                    int first, const char *order)
{
    const double step = 1e-5;
    for (int i = 0; i < run->wrt_count; i++) {
        int input = run->wrt[i];
        test_tensor gradient = {0};
        bool known =
            test_evaluate(built->graph, built->roots[first + i], &built->bindings, &gradient);
        ck_assert_msg(known, "%s: cannot evaluate the %s gradient", one->op, order);
        ck_assert_msg(gradient.count == run->counts[input], "%s: %s gradient %d has %lld elements",
                      one->op, order, i, (long long)gradient.count);
        for (int64_t k = 0; k < gradient.count; k++) {
            double *x = &run->data[input][k], before = *x;
            *x = before + step;
            double above = scalar_of(built, built->roots[loss], one->op);
            *x = before - step;
            double below = scalar_of(built, built->roots[loss], one->op);
            *x = before;
            double expected = (above - below) / (2 * step);
            ck_assert_msg(
                fabs(gradient.data[k] - expected) <= 2e-5 * (1 + fabs(expected)),
                "%s (%s | %s): %s gradient of input %d at %lld is %.9g, differences give %.9g",
                one->op, one->inputs, one->attrs, order, input, (long long)k, gradient.data[k],
                expected);
        }
        free(gradient.data);
    }
}

START_TEST(gradients_equal_differences)
{
    const gradient_case *one = &cases[_i];
    gradient_run *run = bd_alloc_zeroed(sizeof *run);
    run->seed = 1234567 + (uint64_t)_i;
    test_trace_init(&run->trace);
    write_trace(run, one);
    for (int simplify = 0; simplify < 2; simplify++) {
        built_graph built = {0};
        build(run, one, simplify != 0, &built);
        compare(run, &built, one, 0, 1, "first");
        if (!one->first_only)
            compare(run, &built, one, 1 + run->wrt_count, 2 + run->wrt_count, "second");
        bd_graph_destroy(built.graph);
        bd_free(built.ints);
    }
    test_trace_deinit(&run->trace);
    bd_free(run);
}
END_TEST

/* Every op that can be differentiated stands in the table above. */
START_TEST(every_op_is_covered)
{
    static const char *const elsewhere[] = {"bernoulli", "trunc", "ceil",
                                            "round"}; /* zero, as floor */
    for (int i = 0; i < burn_op_count(); i++) {
        const burn_op_info *info = burn_op_at(i);
        bool covered =
            (info->flags & (BURN_OP_NO_GRADIENT | BURN_OP_INTERNAL | BURN_OP_CONTROL)) != 0 ||
            info->input_count == 0 || strcmp(info->name, "split") == 0;
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
            covered |= strcmp(cases[k].op, info->name) == 0;
        for (size_t k = 0; k < sizeof elsewhere / sizeof *elsewhere; k++)
            covered |= strcmp(elsewhere[k], info->name) == 0;
        ck_assert_msg(covered, "no gradient case for %s", info->name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("autodiff");
    TCase *every = tcase_create("every op");
    tcase_set_timeout(every, 60); /* second order under a sanitizer */
    tcase_add_loop_test(every, gradients_equal_differences, 0, sizeof cases / sizeof *cases);
    tcase_add_test(every, every_op_is_covered);
    suite_add_tcase(suite, every);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
