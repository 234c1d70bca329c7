/* SPDX-License-Identifier: Apache-2.0
 * Random records of every op: whatever inference accepts becomes nodes whose symbolic sizes have
 * the inferred values, before and after decomposition; so do gradients. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/graph.h"
#include "graph_trace.h"
#include "proto/base/alloc.h"
#include "proto/op_rules.h"

enum { ATTEMPTS_MAX = 1000, ACCEPTED_ENOUGH = 100, INPUTS_MAX = 14 };

static uint64_t state;

static uint64_t draw(uint64_t bound)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
}

static int64_t draw_size(void)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 0, 2, 3, 4};
    return sizes[draw(8)];
}

/* Shapes that are likely to fit together: cut or thinned copies of one common shape. */
static int draw_shape(const int64_t common[4], int64_t dims[16])
{
    int rank = (int)draw(5), first = (int)draw(2) ? 4 - rank : 0;
    for (int i = 0; i < rank; i++)
        dims[i] = draw(8) == 0 ? 1 : draw(12) == 0 ? draw_size() : common[first + i];
    return rank;
}

static test_input draw_input(test_trace *trace, const burn_op_info *info, uint32_t i,
                             const int64_t common[4])
{
    static const burn_dtype dtypes[] = {BURN_F32, BURN_F64, BURN_I32, BURN_I64, BURN_U8, BURN_BOOL};
    int64_t dims[16];
    int rank = draw_shape(common, dims);
    switch (burn_op_input_role(info, i)) {
    case BURN_INPUT_PARAM:
    case BURN_INPUT_NUMBER:
        if (draw(3))
            return draw(2) ? test_float(0.5) : test_int(3);
        return test_external(trace, draw(2) ? BURN_F32 : BURN_I64, 0, NULL, NULL);
    case BURN_INPUT_INDEX:
        return test_external(trace, BURN_I64, rank, dims, NULL);
    case BURN_INPUT_CONDITION:
        return test_external(trace, BURN_BOOL, rank, dims, NULL);
    case BURN_INPUT_VALUE:
        break;
    }
    if (info->shape_rule == BURN_SHAPE_RULE_LIKE_INPUTS ||
        info->shape_rule == BURN_SHAPE_RULE_SOFT_LOSS)
        return test_external(trace, BURN_F32, 2, common, NULL);
    if (draw(8) == 0)
        return draw(2) ? test_float(0.5) : test_int(3);
    return test_external(trace, draw(3) ? BURN_F32 : dtypes[draw(6)], rank, dims, NULL);
}

static void draw_attrs(test_trace *trace, const burn_op_info *info, test_attrs *attrs,
                       const int64_t common[4])
{
    for (uint32_t i = 0; i < info->attr_count; i++) {
        int64_t values[4];
        int count = (int)draw(5);
        bool steps = strcmp(info->attrs[i].name, "steps") == 0,
             starts = strcmp(info->attrs[i].name, "starts") == 0;
        for (int j = 0; j < count; j++)
            values[j] = steps    ? 1 + (int64_t)draw(2)
                        : starts ? (int64_t)draw(2)
                                 : common[(4 - count + j) % 4];
        switch (info->attrs[i].kind) {
        case BURN_ATTR_INT:
            attrs->attrs[i].value = (int64_t)draw(6) - 3;
            break;
        case BURN_ATTR_DTYPE:
            attrs->attrs[i].value = draw(2) ? BURN_F32 : (int64_t)draw(14);
            break;
        case BURN_ATTR_SIZE:
            attrs->attrs[i].value = draw_size();
            break;
        case BURN_ATTR_INTS:
            for (int j = 0; j < count; j++)
                values[j] = (int64_t)draw(6) - 2;
            test_set_list(trace, info->name, attrs, info->attrs[i].name, count, values);
            break;
        case BURN_ATTR_SIZES:
            test_set_list(trace, info->name, attrs, info->attrs[i].name, count, values);
            break;
        case BURN_ATTR_BYTES:
            break;
        }
    }
}

/* A product of the dims in some other grouping, so that reshapes are often right. */
static void fit_reshape(test_trace *trace, test_attrs *attrs, const test_input *x)
{
    if (x->input.kind != BD_INPUT_EXTERNAL)
        return;
    const burn_shape *shape = &trace->externals.items[x->input.number].type.shape;
    int64_t dims[16];
    int count = 0;
    for (int i = 0; i < shape->rank; i++) {
        if (count && draw(3) == 0)
            dims[count - 1] *= shape->dims[i];
        else if (shape->dims[i] == 4 && draw(2))
            dims[count++] = 2, dims[count++] = 2;
        else
            dims[count++] = shape->dims[i];
        if (draw(4) == 0)
            dims[count++] = 1;
    }
    test_set_list(trace, "reshape", attrs, "shape", count, dims);
}

static void set_size(test_trace *trace, const burn_op_info *info, test_attrs *attrs,
                     const char *name, int64_t value)
{
    int index = burn_op_attr(info, name);
    if (index >= 0 && info->attrs[index].kind == BURN_ATTR_SIZES)
        test_set_list(trace, info->name, attrs, name, 1, &value);
    else if (index >= 0)
        attrs->attrs[index].value = value;
}

static test_input floats(test_trace *trace, int rank, int64_t a, int64_t b, int64_t c)
{
    int64_t dims[3] = {a, b, c};
    return test_external(trace, BURN_F32, rank, dims, NULL);
}

/* Inputs and attributes of a convolution, pool or norm of channels in one dim that fit together. */
static void fit_windows(test_trace *trace, const burn_op_info *info, test_input *inputs,
                        test_attrs *attrs)
{
    int64_t groups = 1 + (int64_t)draw(2), channels = groups * (1 + (int64_t)draw(2));
    int64_t outputs = groups * (1 + (int64_t)draw(2)), size = 1 + (int64_t)draw(3);
    int64_t stride = 1 + (int64_t)draw(2), dilation = 1 + (int64_t)draw(2);
    int64_t low = (int64_t)draw(2), high = (int64_t)draw(2), span = (size - 1) * dilation + 1;
    int64_t extent = span + (int64_t)draw(4), batch = draw_size();
    int64_t places = (low + extent + high - span) / stride + 1;
    set_size(trace, info, attrs, "sizes", size);
    set_size(trace, info, attrs, "strides", stride);
    set_size(trace, info, attrs, "dilations", dilation);
    set_size(trace, info, attrs, "low", low);
    set_size(trace, info, attrs, "high", high);
    set_size(trace, info, attrs, "groups", groups);
    set_size(trace, info, attrs, "tiled", 0);
    set_size(trace, info, attrs, "mode", (int64_t)draw(3));
    bool to_input = info->shape_rule == BURN_SHAPE_RULE_CONV_INPUT;
    set_size(trace, info, attrs, "shape", to_input ? extent : size);
    inputs[0] = floats(trace, 3, batch, channels, extent);
    if (info->shape_rule == BURN_SHAPE_RULE_CONV_INPUT)
        inputs[0] = floats(trace, 3, batch, outputs, places);
    if (info->shape_rule == BURN_SHAPE_RULE_CONV_WEIGHT)
        inputs[1] = floats(trace, 3, batch, outputs, places);
    else if (info->shape_rule != BURN_SHAPE_RULE_CHANNEL_NORM && info->input_count > 1)
        inputs[1] = floats(trace, 3, outputs, channels / groups, size);
    if (info->shape_rule == BURN_SHAPE_RULE_CONV)
        inputs[2] = draw(2) ? test_absent() : floats(trace, 1, outputs, 0, 0);
    if (info->shape_rule == BURN_SHAPE_RULE_CHANNEL_NORM)
        for (uint32_t i = 1; i < info->input_count; i++)
            if (burn_op_input_role(info, i) == BURN_INPUT_VALUE)
                inputs[i] = floats(trace, 1, channels, 0, 0);
}

static bool has_windows(const burn_op_info *info)
{
    return info->shape_rule == BURN_SHAPE_RULE_CONV || info->shape_rule == BURN_SHAPE_RULE_POOL ||
           info->shape_rule == BURN_SHAPE_RULE_CONV_INPUT ||
           info->shape_rule == BURN_SHAPE_RULE_CONV_WEIGHT ||
           info->shape_rule == BURN_SHAPE_RULE_CHANNEL_NORM;
}

static void check_sizes(const burn_op_info *info, bd_graph *graph, bd_node node,
                        const burn_tensor_type *type, const int64_t *ints, const char *when)
{
    const bd_graph_node *at = bd_graph_at(graph, node);
    ck_assert_msg(at->rank == type->shape.rank && at->dtype == type->dtype,
                  "%s %s: rank %d of %d, dtype %s of %s", info->name, when, at->rank,
                  type->shape.rank, burn_dtype_name(at->dtype), burn_dtype_name(type->dtype));
    for (int i = 0; i < type->shape.rank; i++)
        ck_assert_msg(ints[bd_graph_dim(graph, node, (uint32_t)i)] == type->shape.dims[i],
                      "%s %s: dim %d is %lld, not %lld", info->name, when, i,
                      (long long)ints[bd_graph_dim(graph, node, (uint32_t)i)],
                      (long long)type->shape.dims[i]);
}

static void check_record(const burn_op_info *info, test_trace *trace, uint32_t value)
{
    bd_trace view;
    bd_graph *graph = NULL;
    test_trace_view(trace, &view);
    bd_error *error = bd_graph_build(&view, &graph);
    ck_assert_msg(!error, "%s: %s", info->name, bd_error_text(error));
    for (uint32_t v = value; v < view.value_count; v++) {
        bd_node root = bd_graph_value(graph, v);
        for (int stage = 0; stage < 3; stage++) {
            static const char *const names[] = {"as built", "decomposed", "simplified"};
            if (stage == 1)
                error = bd_graph_decompose(graph, &root, 1);
            else if (stage == 2)
                error = bd_graph_simplify(graph, &root, 1);
            ck_assert_msg(!error, "%s: %s", info->name, bd_error_text(error));
            int64_t *ints = bd_alloc(sizeof *ints * bd_int_count(bd_graph_ints(graph)));
            bd_ints_evaluate(bd_graph_ints(graph), &view, NULL, NULL, ints);
            check_sizes(info, graph, root, &view.values[v].type, ints, names[stage]);
            bd_free(ints);
        }
    }
    bd_graph_destroy(graph);
}

/* Adds the gradients of the sum of a value with respect to all float inputs; UINT32_MAX if there
 * are none. */
static uint32_t add_gradients(test_trace *trace, const test_input *inputs, int count,
                              uint32_t value)
{
    test_input wrt[INPUTS_MAX];
    int wrt_count = 0;
    for (int i = 0; i < count; i++)
        if (inputs[i].input.kind == BD_INPUT_EXTERNAL &&
            burn_dtype_is_float(trace->externals.items[inputs[i].input.number].type.dtype))
            wrt[wrt_count++] = inputs[i];
    if (!wrt_count || !burn_dtype_is_float(trace->values.items[value].type.dtype))
        return UINT32_MAX;
    uint32_t loss = test_op(trace, "sum", 1, 1, (test_input[]){test_value(value)}, NULL);
    return test_grad(trace, test_value(loss), wrt_count, wrt, 0, 0);
}

static void try_records(const burn_op_info *info, bool gradients)
{
    int accepted = 0;
    for (int attempt = 0; attempt < ATTEMPTS_MAX && accepted < ACCEPTED_ENOUGH; attempt++) {
        test_trace trace;
        test_trace_init(&trace);
        int64_t common[4];
        for (int i = 0; i < 4; i++)
            common[i] = draw_size();
        test_input inputs[INPUTS_MAX];
        int count = 0;
        for (; count < info->input_count; count++)
            inputs[count] = info->input_optional >> count & 1 && draw(2)
                                ? test_absent()
                                : draw_input(&trace, info, (uint32_t)count, common);
        for (uint64_t more = info->flags & BURN_OP_VARIADIC ? draw(3) : 0; more > 0;
             more--, count++)
            inputs[count] = draw_input(&trace, info, (uint32_t)info->input_count - 1, common);
        test_attrs attrs = test_attrs_of(info->name);
        if (draw(6))
            draw_attrs(&trace, info, &attrs, common);
        if (info->shape_rule == BURN_SHAPE_RULE_RESHAPE && draw(2))
            fit_reshape(&trace, &attrs, &inputs[0]);
        if (has_windows(info) && draw(2))
            fit_windows(&trace, info, inputs, &attrs);
        uint32_t value = test_op(&trace, info->name, gradients, count, inputs, &attrs);
        if (value != UINT32_MAX && gradients)
            value = add_gradients(&trace, inputs, count, value);
        if (value != UINT32_MAX) {
            accepted++;
            check_record(info, &trace, value);
        }
        test_trace_deinit(&trace);
    }
    ck_assert_msg(accepted > 0, "%s: no record was accepted", info->name);
}

START_TEST(sizes_are_as_inferred)
{
    const burn_op_info *info = burn_op_at(_i);
    state = 77 + (uint64_t)_i;
    if (!(info->flags & (BURN_OP_CONTROL | BURN_OP_INTERNAL)) && info->output_count > 0)
        try_records(info, false);
}
END_TEST

START_TEST(gradients_fit_their_inputs)
{
    const burn_op_info *info = burn_op_at(_i);
    state = 770 + (uint64_t)_i;
    if (!(info->flags & (BURN_OP_CONTROL | BURN_OP_INTERNAL | BURN_OP_NO_GRADIENT)) &&
        info->output_count > 0 && info->input_count > 0)
        try_records(info, true);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shapes");
    TCase *each = tcase_create("each op");
    tcase_set_timeout(each, 120);
    tcase_add_loop_test(each, sizes_are_as_inferred, 0, burn_op_count());
    tcase_add_loop_test(each, gradients_fit_their_inputs, 0, burn_op_count());
    suite_add_tcase(suite, each);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
