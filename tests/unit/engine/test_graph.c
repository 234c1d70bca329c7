/* SPDX-License-Identifier: Apache-2.0
 * Symbolic integers, records to nodes, simplification, what is kept for later gradients. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "engine/graph.h"
#include "graph_trace.h"
#include "proto/base/alloc.h"

/* ---- integers ---- */

START_TEST(integers_fold)
{
    bd_ints *ints = bd_ints_create();
    bd_int x = bd_int_source(ints, BD_INT_EXTERNAL_DIM, 0, 0),
           y = bd_int_source(ints, BD_INT_EXTERNAL_DIM, 0, 1);
    bd_int two = bd_int_const(ints, 2), three = bd_int_const(ints, 3);
    ck_assert_uint_eq(bd_int_source(ints, BD_INT_EXTERNAL_DIM, 0, 0), x);
    ck_assert_uint_eq(bd_int_mul(ints, two, three), bd_int_const(ints, 6));
    ck_assert_uint_eq(bd_int_mul(ints, x, BD_INT_1), x);
    ck_assert_uint_eq(bd_int_mul(ints, x, BD_INT_0), BD_INT_0);
    ck_assert_uint_eq(bd_int_add(ints, x, BD_INT_0), x);
    ck_assert_uint_eq(bd_int_mul(ints, x, y), bd_int_mul(ints, y, x));
    ck_assert_uint_eq(bd_int_mul(ints, bd_int_mul(ints, x, y), two),
                      bd_int_mul(ints, x, bd_int_mul(ints, two, y)));
    ck_assert_uint_eq(bd_int_sub(ints, bd_int_add(ints, x, y), y), x);
    ck_assert_uint_eq(bd_int_add(ints, bd_int_sub(ints, x, y), y), x);
    ck_assert_uint_eq(bd_int_sub(ints, bd_int_add(ints, x, two), two), x);
    ck_assert_uint_eq(bd_int_sub(ints, x, x), BD_INT_0);
    bd_int z = bd_int_source(ints, BD_INT_EXTERNAL_DIM, 1, 0), xy = bd_int_add(ints, x, y);
    ck_assert_uint_eq(bd_int_sub(ints, bd_int_add(ints, z, xy), xy), z);
    ck_assert_uint_eq(bd_int_sub(ints, bd_int_add(ints, xy, three), bd_int_add(ints, y, two)),
                      bd_int_add(ints, x, BD_INT_1));
    ck_assert_uint_eq(bd_int_mod(ints, x, BD_INT_1), BD_INT_0);
    ck_assert_uint_eq(bd_int_div(ints, bd_int_const(ints, -7), two), bd_int_const(ints, -4));
    ck_assert_uint_eq(bd_int_mod(ints, bd_int_const(ints, -7), two), BD_INT_1);
    ck_assert_uint_eq(bd_int_div(ints, two, BD_INT_0), BD_INT_0);
    ck_assert_uint_eq(bd_int_max(ints, two, three), three);
    ck_assert_uint_eq(bd_int_min(ints, x, x), x);
    bd_ints_destroy(ints);
}
END_TEST

/* Uniting sources unites what was built over them, also several levels up. */
START_TEST(integers_are_congruent)
{
    bd_ints *ints = bd_ints_create();
    bd_int s[6];
    for (uint32_t i = 0; i < 6; i++)
        s[i] = bd_int_source(ints, BD_INT_EXTERNAL_DIM, i, 0);
    bd_int left = bd_int_add(ints, bd_int_mul(ints, s[0], s[1]), s[4]);
    bd_int right = bd_int_add(ints, bd_int_mul(ints, s[2], s[3]), s[5]);
    ck_assert(!bd_int_equal(ints, left, right));
    bd_int_unite(ints, s[0], s[3]);
    bd_int_unite(ints, s[1], s[2]);
    ck_assert(!bd_int_equal(ints, left, right));
    bd_int_unite(ints, s[4], s[5]);
    ck_assert(bd_int_equal(ints, left, right));
    ck_assert_uint_eq(bd_int_find(ints, s[3]), s[0]);
    /* A product with a name: the name stands for it. */
    bd_int name = bd_int_source(ints, BD_INT_VALUE_DIM, 0, 0);
    bd_int_unite(ints, bd_int_mul(ints, s[0], s[1]), name);
    ck_assert_uint_eq(bd_int_find(ints, bd_int_mul(ints, s[3], s[2])), name);
    /* A constant stands for all. */
    bd_int_unite(ints, s[4], BD_INT_1);
    ck_assert_uint_eq(bd_int_find(ints, s[5]), BD_INT_1);
    ck_assert_uint_eq(bd_int_mul(ints, s[5], s[0]), s[0]);
    /* x = x * y, as an empty tensor's reshape may say, ends. */
    bd_int product = bd_int_mul(ints, s[0], name);
    bd_int_unite(ints, product, s[0]);
    ck_assert_uint_eq(bd_int_find(ints, product), s[0]);
    bd_ints_destroy(ints);
}
END_TEST

START_TEST(integers_have_values)
{
    bd_ints *ints = bd_ints_create();
    bd_trace_external externals[1] = {{.type = {.shape = {.rank = 2, .dims = {7, 3}}}}};
    bd_trace trace = {.externals = externals, .external_count = 1};
    bd_int x = bd_int_source(ints, BD_INT_EXTERNAL_DIM, 0, 0),
           y = bd_int_source(ints, BD_INT_EXTERNAL_DIM, 0, 1);
    bd_int all[] = {bd_int_add(ints, x, y), bd_int_sub(ints, y, x), bd_int_mul(ints, x, y),
                    bd_int_div(ints, x, y), bd_int_mod(ints, x, y), bd_int_max(ints, x, y),
                    bd_int_min(ints, x, y)};
    static const int64_t want[] = {10, -4, 21, 2, 1, 7, 3};
    int64_t *values = bd_alloc(sizeof *values * bd_int_count(ints));
    bd_ints_evaluate(ints, &trace, NULL, NULL, values);
    for (int i = 0; i < 7; i++)
        ck_assert_int_eq(values[all[i]], want[i]);
    bd_free(values);
    bd_ints_destroy(ints);
}
END_TEST

/* ---- records to nodes ---- */

static bd_graph *built(test_trace *trace)
{
    bd_trace view;
    bd_graph *graph = NULL;
    test_trace_view(trace, &view);
    bd_error *error = bd_graph_build(&view, &graph);
    ck_assert_msg(!error, "%s", bd_error_text(error));
    return graph;
}

/* The simplified node of a value. */
static bd_node simplified(bd_graph *graph, uint32_t value)
{
    bd_node root = bd_graph_value(graph, value);
    bd_error *error = bd_graph_decompose(graph, &root, 1);
    if (!error)
        error = bd_graph_simplify(graph, &root, 1);
    ck_assert_msg(!error, "%s", bd_error_text(error));
    return root;
}

static const char *op_name(const bd_graph *graph, bd_node node)
{
    const bd_graph_node *at = bd_graph_at(graph, node);
    static const char *const leaves[] = {"", "external", "scalar", "constant", "integer"};
    return at->kind == BD_NODE_OP ? burn_op_lookup(at->op)->name : leaves[at->kind];
}

static test_input matrix(test_trace *trace, burn_dtype dtype, int64_t rows, int64_t columns)
{
    return test_external(trace, dtype, 2, (int64_t[]){rows, columns}, NULL);
}

START_TEST(promotion_and_broadcasting_are_nodes)
{
    test_trace trace;
    test_trace_init(&trace);
    test_input a = matrix(&trace, BURN_I32, 5, 1),
               b = test_external(&trace, BURN_F32, 1, (int64_t[]){7}, NULL);
    uint32_t sum = test_op(&trace, "add", 0, 2, (test_input[]){a, b}, NULL);
    uint32_t shifted =
        test_op(&trace, "mul", 0, 2, (test_input[]){test_value(sum), test_int(2)}, NULL);
    test_survive(&trace, shifted);
    bd_graph *graph = built(&trace);
    char *text = bd_graph_print(graph);
    ck_assert_str_eq(text, "graph\n"
                           "%1 int32[x0.0 1] external 0\n"
                           "%2 float32[x1.0] external 1\n"
                           "%3 float32[x0.0 1] cast %1 dtype=float32\n"
                           "%4 float32[x0.0 x1.0] expand %3 shape=[x0.0 x1.0]\n"
                           "%5 float32[x0.0 x1.0] expand %2 shape=[x0.0 x1.0]\n"
                           "%6 float32[x0.0 x1.0] add %4 %5\n"
                           "%7 float32[] scalar 0\n"
                           "%8 float32[x0.0 x1.0] expand %7 shape=[x0.0 x1.0]\n"
                           "%9 float32[x0.0 x1.0] mul %6 %8\n"
                           "value 1 = %9\n");
    bd_free(text);
    bd_graph_destroy(graph);
    test_trace_deinit(&trace);
}
END_TEST

/* What an op requires to be equal is one size; what only happens to be equal is not. */
START_TEST(sizes_unite_by_requirement)
{
    test_trace trace;
    test_trace_init(&trace);
    test_input x = matrix(&trace, BURN_F32, 6, 6), w = matrix(&trace, BURN_F32, 6, 6);
    uint32_t product = test_op(&trace, "matmul", 0, 2, (test_input[]){x, w}, NULL);
    test_attrs attrs = test_attrs_of("reshape");
    test_set_list(&trace, "reshape", &attrs, "shape", 3, (int64_t[]){2, 3, 6});
    uint32_t split = test_op(&trace, "reshape", 0, 1, (test_input[]){test_value(product)}, &attrs);
    test_set_list(&trace, "reshape", &attrs, "shape", 1, (int64_t[]){36});
    uint32_t flat = test_op(&trace, "reshape", 0, 1, (test_input[]){test_value(split)}, &attrs);
    bd_graph *graph = built(&trace);
    bd_ints *ints = bd_graph_ints(graph);
    bd_node a = bd_graph_value(graph, product), s = bd_graph_value(graph, split),
            f = bd_graph_value(graph, flat);
    bd_int rows = bd_int_source(ints, BD_INT_EXTERNAL_DIM, 0, 0),
           inner = bd_int_source(ints, BD_INT_EXTERNAL_DIM, 0, 1);
    ck_assert(bd_int_equal(ints, inner, bd_int_source(ints, BD_INT_EXTERNAL_DIM, 1, 0)));
    ck_assert(!bd_int_equal(ints, rows, inner));
    ck_assert_uint_eq(bd_graph_dim(graph, a, 0), rows);
    ck_assert_uint_eq(bd_graph_dim(graph, s, 2), bd_graph_dim(graph, a, 1));
    bd_int outer = bd_int_mul(ints, bd_graph_dim(graph, s, 0), bd_graph_dim(graph, s, 1));
    ck_assert(bd_int_equal(ints, outer, rows));
    ck_assert(bd_int_equal(ints, bd_graph_dim(graph, f, 0),
                           bd_int_mul(ints, rows, bd_graph_dim(graph, a, 1))));
    bd_graph_destroy(graph);
    test_trace_deinit(&trace);
}
END_TEST

/* Scalars of the stream stay opaque: x * 1 is no x. Constants of rules fold. */
START_TEST(streamed_scalars_are_not_folded)
{
    test_trace trace;
    test_trace_init(&trace);
    test_input x = matrix(&trace, BURN_F32, 3, 4);
    uint32_t times_one = test_op(&trace, "mul", 0, 2, (test_input[]){x, test_float(1)}, NULL);
    uint32_t plus_zero = test_op(&trace, "add", 0, 2, (test_input[]){x, test_int(0)}, NULL);
    bd_graph *graph = built(&trace);
    ck_assert_str_eq(op_name(graph, simplified(graph, times_one)), "mul");
    ck_assert_str_eq(op_name(graph, simplified(graph, plus_zero)), "add");
    bd_graph_destroy(graph);
    test_trace_deinit(&trace);
}
END_TEST

static bd_node constant_like(bd_graph *graph, bd_node x, double value)
{
    return bd_build_expand_as(graph, bd_build_constant(graph, bd_graph_at(graph, x)->dtype, value),
                              x);
}

static bd_node reduced(bd_graph *graph, bd_node node)
{
    ck_assert(node != BD_NODE_NONE);
    bd_error *error = bd_graph_simplify(graph, &node, 1);
    ck_assert_msg(!error, "%s", bd_error_text(error));
    return node;
}

START_TEST(rewriting_keeps_every_bit)
{
    test_trace trace;
    test_trace_init(&trace);
    test_input x_input = matrix(&trace, BURN_F32, 3, 4), n_input = matrix(&trace, BURN_I32, 3, 4);
    uint32_t any = test_op(&trace, "neg", 0, 1, &x_input, NULL);
    test_op(&trace, "neg", 0, 1, &n_input, NULL);
    bd_graph *graph = built(&trace);
    bd_node x = bd_graph_at(graph, bd_graph_value(graph, any))->inputs[0];
    bd_node n = bd_graph_at(graph, bd_graph_value(graph, any + 1))->inputs[0];
    bd_node one = constant_like(graph, x, 1), zero = constant_like(graph, x, 0),
            minus = constant_like(graph, x, -0.0);
#define BINARY(OP, a, b) reduced(graph, bd_build(graph, BURN_OP_##OP, (bd_node[]){a, b}, 2, NULL))
    ck_assert_uint_eq(BINARY(MUL, x, one), x);
    ck_assert_uint_eq(BINARY(MUL, one, x), x);
    ck_assert_uint_eq(BINARY(DIV, x, one), x);
    ck_assert_uint_ne(BINARY(MUL, x, zero), zero); /* NaN * 0 */
    ck_assert_uint_ne(BINARY(ADD, x, zero), x);    /* -0.0 + 0.0 */
    ck_assert_uint_eq(BINARY(ADD, x, minus), x);
    ck_assert_uint_eq(BINARY(SUB, x, zero), x);
    ck_assert_uint_eq(BINARY(ADD, n, bd_build_whole(graph, 0)), n);
    const bd_graph_node *three = bd_graph_at(graph, BINARY(ADD, one, constant_like(graph, x, 2)));
    ck_assert_str_eq(burn_op_lookup(three->op)->name, "expand");
    ck_assert(bd_graph_at(graph, three->inputs[0])->constant_f == 3.0);
    /* 0.1f + 0.2f, as float32 adds */
    const bd_graph_node *tenths =
        bd_graph_at(graph, BINARY(ADD, constant_like(graph, x, 0.1), constant_like(graph, x, 0.2)));
    ck_assert(bd_graph_at(graph, tenths->inputs[0])->constant_f == (double)(0.1f + 0.2f));
#undef BINARY
    bd_node negated = bd_build(graph, BURN_OP_NEG, &x, 1, NULL);
    ck_assert_uint_eq(reduced(graph, bd_build(graph, BURN_OP_NEG, &negated, 1, NULL)), x);
    ck_assert_uint_eq(
        reduced(graph, bd_build_cast(graph, bd_build_cast(graph, x, BURN_F64), BURN_F32)), x);
    bd_node rounded =
        reduced(graph, bd_build_cast(graph, bd_build_cast(graph, n, BURN_F32), BURN_I32));
    ck_assert_uint_ne(rounded, n); /* float32 does not hold every int32 */
    bd_attr_value swap = {.values = (int64_t[]){1, 0}, .count = 2};
    bd_node turned = bd_build(graph, BURN_OP_PERMUTE, &x, 1, &swap);
    ck_assert_uint_eq(reduced(graph, bd_build(graph, BURN_OP_PERMUTE, &turned, 1, &swap)), x);
    bd_int flat =
        bd_int_mul(bd_graph_ints(graph), bd_graph_dim(graph, x, 0), bd_graph_dim(graph, x, 1));
    bd_node line = bd_build_reshape(graph, x, &flat, 1);
    ck_assert_uint_eq(reduced(graph, bd_build_reshape(graph, line, bd_graph_at(graph, x)->dims, 2)),
                      x);
    /* A view of something uniform is the uniform thing in other dims. */
    bd_node flat_one = reduced(graph, bd_build_reshape(graph, one, &flat, 1));
    ck_assert_str_eq(op_name(graph, bd_graph_at(graph, flat_one)->inputs[0]), "constant");
    bd_graph_destroy(graph);
    test_trace_deinit(&trace);
}
END_TEST

/* Two variables of equal values are two variables. */
START_TEST(equal_leaves_stay_apart)
{
    test_trace trace;
    test_trace_init(&trace);
    test_attrs attrs = test_attrs_of("full");
    test_set_list(&trace, "full", &attrs, "shape", 1, (int64_t[]){3});
    test_set(&trace, "full", &attrs, "dtype", BURN_F32);
    test_input zero = test_float(0);
    test_input a = test_value(test_op(&trace, "full", 0, 1, &zero, &attrs));
    test_input b = test_value(test_op(&trace, "full", 0, 1, &zero, &attrs));
    uint32_t twice = test_op(&trace, "add", 1, 2, (test_input[]){a, a}, NULL);
    uint32_t all = test_op(&trace, "add", 1, 2, (test_input[]){test_value(twice), b}, NULL);
    uint32_t loss = test_op(&trace, "sum", 1, 1, (test_input[]){test_value(all)}, NULL);
    uint32_t gradients = test_grad(&trace, test_value(loss), 2, (test_input[]){a, b}, 0, 0);
    bd_graph *graph = built(&trace);
    ck_assert_uint_ne(bd_graph_value(graph, 0), bd_graph_value(graph, 1));
    static const double want[] = {2, 1};
    for (uint32_t i = 0; i < 2; i++) {
        const bd_graph_node *node = bd_graph_at(graph, simplified(graph, gradients + i));
        ck_assert_str_eq(burn_op_lookup(node->op)->name, "expand");
        ck_assert(bd_graph_at(graph, node->inputs[0])->constant_f == want[i]);
    }
    bd_graph_destroy(graph);
    test_trace_deinit(&trace);
}
END_TEST

START_TEST(detach_stops_gradients)
{
    test_trace trace;
    test_trace_init(&trace);
    test_input x = matrix(&trace, BURN_F32, 3, 4);
    uint32_t twice = test_op(&trace, "mul", 1, 2, (test_input[]){x, test_float(2)}, NULL);
    uint32_t still = test_op(&trace, "detach", 0, 1, (test_input[]){test_value(twice)}, NULL);
    uint32_t both =
        test_op(&trace, "mul", 1, 2, (test_input[]){test_value(twice), test_value(still)}, NULL);
    uint32_t loss = test_op(&trace, "sum", 1, 1, (test_input[]){test_value(both)}, NULL);
    uint32_t none = test_op(&trace, "sum", 0, 1, (test_input[]){test_value(still)}, NULL);
    uint32_t through = test_grad(&trace, test_value(loss), 1, &x, 1, 0);
    uint32_t stopped = test_grad(&trace, test_value(none), 1, &x, 0, 0);
    test_survive(&trace, still);
    bd_graph *graph = built(&trace);
    ck_assert(!bd_graph_value_needs_history(graph, still));
    ck_assert_str_eq(op_name(graph, simplified(graph, through)), "mul");
    const bd_graph_node *zero = bd_graph_at(graph, simplified(graph, stopped));
    ck_assert(bd_graph_at(graph, zero->inputs[0])->constant_f == 0);
    bd_graph_destroy(graph);
    test_trace_deinit(&trace);
}
END_TEST

START_TEST(ops_without_a_gradient_say_so)
{
    test_trace trace;
    test_trace_init(&trace);
    test_input x = matrix(&trace, BURN_F32, 3, 4);
    uint32_t value = test_op(&trace, "scan_sum", 1, 1, &x, NULL);
    uint32_t loss = test_op(&trace, "sum", 1, 1, (test_input[]){test_value(value)}, NULL);
    test_grad(&trace, test_value(loss), 1, &x, 0, 0);
    bd_trace view;
    bd_graph *graph = NULL;
    test_trace_view(&trace, &view);
    bd_error *error = bd_graph_build(&view, &graph);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_UNSUPPORTED);
    ck_assert_str_eq(bd_error_text(error), "op scan_sum has no gradient");
    ck_assert_uint_eq(bd_error_op_index(error), 3);
    ck_assert_ptr_null(graph);
    bd_error_free(error);
    test_trace_deinit(&trace);
}
END_TEST

/* Leaves and products are kept, pointwise chains and views are not. */
START_TEST(kept_for_later_gradients)
{
    test_trace trace;
    test_trace_init(&trace);
    test_input x = matrix(&trace, BURN_F32, 3, 4), w = matrix(&trace, BURN_F32, 4, 5);
    uint32_t product = test_op(&trace, "matmul", 1, 2, (test_input[]){x, w}, NULL);
    uint32_t active = test_op(&trace, "relu", 1, 1, (test_input[]){test_value(product)}, NULL);
    uint32_t square =
        test_op(&trace, "mul", 1, 2, (test_input[]){test_value(active), test_value(active)}, NULL);
    uint32_t loss = test_op(&trace, "mean", 1, 1, (test_input[]){test_value(square)}, NULL);
    test_survive(&trace, loss);
    bd_graph *graph = built(&trace);
    uint32_t count;
    const bd_graph_saved *saved = bd_graph_choose_saved(graph, &count);
    int products = 0, leaves = 0;
    for (uint32_t i = 0; i < count; i++) {
        products += strcmp(op_name(graph, saved[i].node), "dot") == 0;
        leaves += strcmp(op_name(graph, saved[i].node), "external") == 0;
    }
    ck_assert_int_eq(products, 1);
    ck_assert_int_eq(leaves, 2);
    ck_assert_uint_eq(count, 3);
    bd_graph_destroy(graph);
    test_trace_deinit(&trace);
}
END_TEST

/* As many ops as a trace may hold, in one chain: no stage recurses or takes quadratic time. */
START_TEST(long_chains)
{
    test_trace trace;
    test_trace_init(&trace);
    test_input x = matrix(&trace, BURN_F32, 3, 4), at = x;
    for (int i = 0; i < 65000; i++)
        at = test_value(test_op(&trace, i % 2 ? "sin" : "mul", 1, i % 2 ? 1 : 2,
                                (test_input[]){at, test_float(1.5)}, NULL));
    at = test_value(test_op(&trace, "sum", 1, 1, &at, NULL));
    uint32_t gradient = test_grad(&trace, at, 1, &x, 0, 0);
    test_survive(&trace, gradient);
    bd_graph *graph = built(&trace);
    bd_node root = simplified(graph, gradient);
    ck_assert_uint_eq(bd_graph_at(graph, root)->rank, 2);
    bd_graph_destroy(graph);
    test_trace_deinit(&trace);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph");
    TCase *integers = tcase_create("integers");
    tcase_add_test(integers, integers_fold);
    tcase_add_test(integers, integers_are_congruent);
    tcase_add_test(integers, integers_have_values);
    suite_add_tcase(suite, integers);
    TCase *nodes = tcase_create("nodes");
    tcase_set_timeout(nodes, 60);
    tcase_add_test(nodes, promotion_and_broadcasting_are_nodes);
    tcase_add_test(nodes, sizes_unite_by_requirement);
    tcase_add_test(nodes, streamed_scalars_are_not_folded);
    tcase_add_test(nodes, rewriting_keeps_every_bit);
    tcase_add_test(nodes, equal_leaves_stay_apart);
    tcase_add_test(nodes, detach_stops_gradients);
    tcase_add_test(nodes, ops_without_a_gradient_say_so);
    tcase_add_test(nodes, kept_for_later_gradients);
    tcase_add_test(nodes, long_chains);
    suite_add_tcase(suite, nodes);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
