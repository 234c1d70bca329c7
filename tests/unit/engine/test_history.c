/* SPDX-License-Identifier: Apache-2.0
 * Gradients across cuts: the same network as one trace, and as a chain of traces whose values
 * survive, must have the same gradients. Plans are played by graphs that graph_eval.c evaluates. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/history.h"
#include "graph_eval.h"
#include "graph_trace.h"
#include "proto/base/alloc.h"

enum { ROWS = 3, IN = 4, OUT = 5, STEPS_MAX = 8 };

typedef struct stage {
    test_trace trace;
    bd_graph *graph;
    bd_plan plan;
    bd_history history;
    const double *externals[32];
    const double *saved_data[32];
    double scalars[32];
    bd_node roots[64];
    uint32_t root_count;
    test_tensor tensors[64]; /* of the roots */
} stage;

typedef struct stage_chain {
    stage stages[STEPS_MAX];
    int count;
} stage_chain;

static const bd_history *walk(const bd_trace *trace, uint32_t slot, const uint32_t *steps,
                              uint32_t count)
{
    const bd_history *history = trace->externals[slot].history;
    for (uint32_t i = 0; i < count; i++)
        history = history->saved[steps[i]].history;
    return history;
}

static stage *stage_of(stage_chain *chain, const bd_history *history)
{
    for (int i = 0; i < chain->count; i++)
        if (&chain->stages[i].history == history)
            return &chain->stages[i];
    return NULL;
}

typedef struct int_finder {
    const bd_trace *trace;
    const bd_graph *graph;
} int_finder;

static int64_t history_int(const void *user, uint32_t path, uint32_t number)
{
    const int_finder *finder = user;
    uint32_t count;
    const bd_history_path *at = &bd_graph_paths(finder->graph, &count)[path];
    return walk(finder->trace, at->slot, at->steps, at->step_count)->ints[number];
}

/* Builds and evaluates the next stage: the survivors first, then what is kept. */
static stage *run_stage(stage_chain *chain)
{
    stage *now = &chain->stages[chain->count];
    bd_trace trace;
    test_trace_view(&now->trace, &trace);
    bd_error *error = bd_graph_build(&trace, &now->graph);
    ck_assert_msg(!error, "%s", bd_error_text(error));
    bd_graph *graph = now->graph;
    uint32_t count, saved_count;
    bd_node roots[64];
    for (uint32_t i = 0; i < trace.value_count; i++)
        if (trace.values[i].survives)
            roots[now->root_count++] = bd_graph_value(graph, i);
    uint32_t survivors = now->root_count;
    const bd_graph_saved *saved = bd_graph_choose_saved(graph, &saved_count);
    bd_plan_output *outputs = bd_alloc_zeroed(sizeof *outputs * (saved_count + 1));
    for (uint32_t i = 0; i < saved_count; i++) {
        outputs[i].node = saved[i].node;
        roots[now->root_count++] = saved[i].node;
    }
    memcpy(now->roots, roots, sizeof roots);
    error = bd_graph_decompose(graph, roots, now->root_count);
    if (!error)
        error = bd_graph_simplify(graph, roots, now->root_count);
    ck_assert_msg(!error, "%s", bd_error_text(error));

    const bd_graph_external *externals = bd_graph_externals(graph, &count);
    for (uint32_t i = 0; i < count; i++) {
        const bd_graph_external *at = &externals[i];
        if (at->step_count == 0) {
            now->externals[i] = now->trace.data.items[at->slot];
            continue;
        }
        const bd_history *history = walk(&trace, at->slot, at->steps, at->step_count - 1);
        now->externals[i] = stage_of(chain, history)->saved_data[at->steps[at->step_count - 1]];
    }
    const bd_graph_scalar *scalars = bd_graph_scalars(graph, &count);
    const bd_history_path *paths = bd_graph_paths(graph, &(uint32_t){0});
    for (uint32_t i = 0; i < count; i++) {
        if (scalars[i].path == UINT32_MAX) {
            now->scalars[i] = trace.scalars_as_double[scalars[i].slot];
            continue;
        }
        const bd_history_path *at = &paths[scalars[i].path];
        now->scalars[i] =
            walk(&trace, at->slot, at->steps, at->step_count)->scalars_as_double[scalars[i].slot];
    }
    int64_t *ints = bd_alloc(sizeof *ints * bd_int_count(bd_graph_ints(graph)));
    bd_ints_evaluate(bd_graph_ints(graph), &trace, history_int, &(int_finder){&trace, graph}, ints);
    test_bindings bindings = {now->externals, now->scalars, ints};
    for (uint32_t i = 0; i < now->root_count; i++)
        ck_assert(test_evaluate(graph, roots[i], &bindings, &now->tensors[i]));

    bd_history_saved *kept = bd_alloc_zeroed(sizeof *kept * (saved_count + 1));
    for (uint32_t i = 0; i < saved_count; i++) {
        const bd_graph_node *node = bd_graph_at(graph, saved[i].node);
        now->saved_data[i] = now->tensors[survivors + i].data;
        kept[i].tensor = 1000 + (uint64_t)chain->count * 100 + i;
        if (node->kind != BD_NODE_EXTERNAL)
            continue;
        const bd_graph_external *at = &externals[node->number];
        ck_assert_uint_eq(at->step_count, 0);
        kept[i].tensor = trace.externals[at->slot].tensor;
        kept[i].history = trace.externals[at->slot].history;
        kept[i].history_node = trace.externals[at->slot].history_node;
    }
    now->plan = (bd_plan){.graph = graph, .saved = outputs, .saved_count = saved_count};
    now->history = (bd_history){.plan = &now->plan,
                                .ints = ints,
                                .scalars_as_double = now->scalars,
                                .saved_count = saved_count,
                                .saved = kept};
    chain->count++;
    return now;
}

static void free_chain(stage_chain *chain)
{
    for (int i = 0; i < chain->count; i++) {
        stage *at = &chain->stages[i];
        for (uint32_t j = 0; j < at->root_count; j++)
            free(at->tensors[j].data);
        bd_free(at->plan.saved);
        bd_free(at->history.saved);
        bd_free((void *)(uintptr_t)at->history.ints);
        bd_graph_destroy(at->graph);
        test_trace_deinit(&at->trace);
    }
    free(chain);
}

static double x_data[ROWS * IN], w_data[IN * IN], v_data[IN * OUT];

static void fill(double *data, int count, uint64_t seed)
{
    for (int i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        data[i] = (double)(seed >> 11) * 0x1p-53 * 2 - 1;
    }
}

static uint32_t op2(test_trace *trace, const char *op, test_input a, test_input b)
{
    return test_op(trace, op, 1, 2, (test_input[]){a, b}, NULL);
}

static uint32_t op1(test_trace *trace, const char *op, test_input a)
{
    return test_op(trace, op, 1, 1, &a, NULL);
}

/* One layer: gelu(h @ w) * scale + h. */
static uint32_t layer(test_trace *trace, test_input h, test_input w, double scale)
{
    uint32_t product = op2(trace, "matmul", h, w);
    uint32_t active = op1(trace, "gelu", test_value(product));
    uint32_t scaled = op2(trace, "mul", test_value(active), test_float(scale));
    return op2(trace, "add", test_value(scaled), h);
}

static uint32_t loss_of(test_trace *trace, test_input h, test_input v)
{
    uint32_t out = op2(trace, "matmul", h, v);
    uint32_t soft = test_value(out).input.number;
    test_attrs attrs = test_attrs_of("softmax");
    test_set(trace, "softmax", &attrs, "dim", -1);
    soft = test_op(trace, "softmax", 1, 1, (test_input[]){test_value(out)}, &attrs);
    uint32_t square = op2(trace, "mul", test_value(soft), test_value(soft));
    return op1(trace, "sum", test_value(square));
}

static test_input external_x(test_trace *trace)
{
    return test_external(trace, BURN_F64, 2, (int64_t[]){ROWS, IN}, x_data);
}

static test_input external_w(test_trace *trace)
{
    test_input w = test_external(trace, BURN_F64, 2, (int64_t[]){IN, IN}, w_data);
    trace->externals.items[w.input.number].tensor = 501;
    return w;
}

static test_input external_v(test_trace *trace)
{
    test_input v = test_external(trace, BURN_F64, 2, (int64_t[]){IN, OUT}, v_data);
    trace->externals.items[v.input.number].tensor = 502;
    return v;
}

/* A survivor of an earlier stage as an external of a later one. */
static test_input carry(test_trace *trace, stage *from, uint32_t root, uint64_t tensor)
{
    const test_tensor *value = &from->tensors[root];
    test_input input = test_external(trace, BURN_F64, value->rank, value->dims, value->data);
    bd_trace_external *external = &trace->externals.items[input.input.number];
    external->history = &from->history;
    external->history_node = from->roots[root];
    external->tensor = tensor;
    return input;
}

/* Everything in one trace: gradients of the loss with respect to w and v. */
static void whole(int layers, double *w_gradient, double *v_gradient)
{
    stage_chain *one = calloc(1, sizeof *one);
    test_trace *trace = &one->stages[0].trace;
    test_trace_init(trace);
    test_input h = external_x(trace), w = external_w(trace), v = external_v(trace);
    for (int i = 0; i < layers; i++)
        h = test_value(layer(trace, h, w, 0.5 + i));
    uint32_t loss = loss_of(trace, h, v);
    uint32_t gradients = test_grad(trace, test_value(loss), 2, (test_input[]){w, v}, 0, 0);
    test_survive(trace, gradients);
    test_survive(trace, gradients + 1);
    stage *done = run_stage(one);
    memcpy(w_gradient, done->tensors[0].data, sizeof w_data);
    memcpy(v_gradient, done->tensors[1].data, sizeof v_data);
    free_chain(one);
}

static void expect(const test_tensor *have, const double *want, int count)
{
    ck_assert_int_eq(have->count, count);
    for (int i = 0; i < count; i++)
        ck_assert_msg(fabs(have->data[i] - want[i]) < 1e-12, "element %d: %.17g, not %.17g", i,
                      have->data[i], want[i]);
}

static void fill_inputs(void)
{
    fill(x_data, ROWS * IN, 1);
    fill(w_data, IN * IN, 2);
    fill(v_data, IN * OUT, 3);
}

/* The loss is read before backward. */
START_TEST(loss_is_read_first)
{
    double w_gradient[IN * IN], v_gradient[IN * OUT];
    fill_inputs();
    whole(2, w_gradient, v_gradient);
    stage_chain *cut = calloc(1, sizeof *cut);
    test_trace *trace = &cut->stages[0].trace;
    test_trace_init(trace);
    test_input h = external_x(trace), w = external_w(trace), v = external_v(trace);
    for (int i = 0; i < 2; i++)
        h = test_value(layer(trace, h, w, 0.5 + i));
    test_survive(trace, loss_of(trace, h, v));
    stage *first = run_stage(cut);
    trace = &cut->stages[1].trace;
    test_trace_init(trace);
    w = external_w(trace);
    test_input loss = carry(trace, first, 0, 601);
    v = external_v(trace);
    uint32_t gradients = test_grad(trace, loss, 2, (test_input[]){w, v}, 0, 0);
    test_survive(trace, gradients);
    test_survive(trace, gradients + 1);
    stage *second = run_stage(cut);
    expect(&second->tensors[0], w_gradient, IN * IN);
    expect(&second->tensors[1], v_gradient, IN * OUT);
    free_chain(cut);
}
END_TEST

/* Every layer is a trace of its own. */
START_TEST(chain_of_histories)
{
    double w_gradient[IN * IN], v_gradient[IN * OUT];
    fill_inputs();
    whole(3, w_gradient, v_gradient);
    stage_chain *cut = calloc(1, sizeof *cut);
    test_input h;
    for (int i = 0; i < 3; i++) {
        test_trace *trace = &cut->stages[i].trace;
        test_trace_init(trace);
        h = i ? carry(trace, &cut->stages[i - 1], 0, 700 + (uint64_t)i) : external_x(trace);
        test_survive(trace, layer(trace, h, external_w(trace), 0.5 + i));
        run_stage(cut);
    }
    test_trace *trace = &cut->stages[3].trace;
    test_trace_init(trace);
    h = carry(trace, &cut->stages[2], 0, 703);
    test_input v = external_v(trace), w = external_w(trace);
    uint32_t loss = loss_of(trace, h, v);
    uint32_t gradients = test_grad(trace, test_value(loss), 2, (test_input[]){w, v}, 0, 0);
    test_survive(trace, gradients);
    test_survive(trace, gradients + 1);
    stage *last = run_stage(cut);
    expect(&last->tensors[0], w_gradient, IN * IN);
    expect(&last->tensors[1], v_gradient, IN * OUT);
    free_chain(cut);
}
END_TEST

/* A middle value and the loss both come from one trace; the gradient flows through both, and stops
 * at the middle value where that is asked for. */
START_TEST(middle_value_survives_too)
{
    fill_inputs();
    stage_chain *one = calloc(1, sizeof *one), *cut = calloc(1, sizeof *cut);
    test_trace *trace = &one->stages[0].trace;
    test_trace_init(trace);
    test_input w = external_w(trace), v = external_v(trace);
    uint32_t h = layer(trace, external_x(trace), w, 2);
    uint32_t sum = op2(trace, "add", test_value(loss_of(trace, test_value(h), v)),
                       test_value(op1(trace, "sum", test_value(h))));
    uint32_t gradients =
        test_grad(trace, test_value(sum), 2, (test_input[]){w, test_value(h)}, 0, 0);
    test_survive(trace, gradients);
    test_survive(trace, gradients + 1);
    stage *whole_stage = run_stage(one);

    trace = &cut->stages[0].trace;
    test_trace_init(trace);
    h = layer(trace, external_x(trace), external_w(trace), 2);
    test_survive(trace, h);
    test_survive(trace, loss_of(trace, test_value(h), external_v(trace)));
    stage *first = run_stage(cut);
    trace = &cut->stages[1].trace;
    test_trace_init(trace);
    test_input loss = carry(trace, first, 1, 601), middle = carry(trace, first, 0, 602);
    w = external_w(trace);
    sum = op2(trace, "add", loss, test_value(op1(trace, "sum", middle)));
    gradients = test_grad(trace, test_value(sum), 2, (test_input[]){w, middle}, 0, 0);
    test_survive(trace, gradients);
    test_survive(trace, gradients + 1);
    stage *second = run_stage(cut);
    expect(&second->tensors[0], whole_stage->tensors[0].data, IN * IN);
    expect(&second->tensors[1], whole_stage->tensors[1].data, ROWS * IN);
    free_chain(one);
    free_chain(cut);
}
END_TEST

/* What a grad record has used up keeps nothing, and going through it again is an error. */
START_TEST(consumed_history_ends)
{
    fill_inputs();
    stage_chain *cut = calloc(1, sizeof *cut);
    test_trace *trace = &cut->stages[0].trace;
    test_trace_init(trace);
    test_input w = external_w(trace), v = external_v(trace);
    uint32_t loss = loss_of(trace, test_value(layer(trace, external_x(trace), w, 1)), v);
    uint32_t doubled = op2(trace, "add", test_value(loss), test_value(loss));
    uint32_t gradients = test_grad(trace, test_value(loss), 1, &w, 0, 0);
    test_survive(trace, loss);
    test_survive(trace, doubled);
    test_survive(trace, gradients);
    stage *first = run_stage(cut);
    ck_assert(!bd_graph_value_needs_history(first->graph, loss));
    ck_assert(bd_graph_value_needs_history(first->graph, doubled));
    ck_assert_uint_eq(first->plan.saved_count, 1); /* the loss, for `doubled` */

    trace = &cut->stages[1].trace;
    test_trace_init(trace);
    test_input again = carry(trace, first, 1, 601);
    w = external_w(trace);
    test_grad(trace, again, 1, &w, 0, 0);
    bd_trace view;
    bd_graph *graph = NULL;
    test_trace_view(trace, &view);
    bd_error *error = bd_graph_build(&view, &graph);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_INVALID);
    ck_assert(strstr(bd_error_text(error), "retain") != NULL);
    bd_error_free(error);
    test_trace_deinit(trace);
    free_chain(cut);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("history");
    TCase *all = tcase_create("across cuts");
    tcase_add_test(all, loss_is_read_first);
    tcase_add_test(all, chain_of_histories);
    tcase_add_test(all, middle_value_survives_too);
    tcase_add_test(all, consumed_history_ends);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
