/* SPDX-License-Identifier: Apache-2.0
 * Plans: what they compute, fused and unfused, for several sizes, and how many launches they
 * take. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan_case.h"
#include "proto/base/alloc.h"

/* PLAN_DRIVER names another backend. */
static const char *driver(void)
{
    const char *name = getenv("PLAN_DRIVER");
    return name ? name : "ref";
}

typedef struct text_case {
    const char *name, *text;
    uint32_t launches_max; /* of the fused plan */
} text_case;

static const text_case cases[] = {
    {"add", "x = f32 A,B; y = f32 A,B; z = add x y; out z", 1},
    {"broadcast", "x = f32 A,B; y = f32 B; z = f32 A,1; a = add x y; b = mul a z; out b", 1},
    {"scalars", "x = f32 A; y = mul x 2.5; z = add y 3; out z", 1},
    {"two outputs", "x = f32 A,B; y = exp x; z = add y 1; out y z", 1},
    {"gelu chain",
     "a = f32 A,B; b = f32 A,B; c = f32 A,B; d = f32 A,B; e = f32 A,B; "
     "p = mul a b; q = add p c; r = gelu q tanh=1; s = mul r d; t = sub s e; out t",
     1},
    {"transpose", "x = f32 A,B; y = permute x dims=1,0; z = add y 1; out z", 1},
    {"permuted view alone", "x = f32 A,B,C; y = permute x dims=2,0,1; out y", 1},
    {"reshape of a result", "x = f32 A,B; y = exp x; z = reshape y shape=B,A; out z", 1},
    {"reshape and transpose",
     "x = f32 A,B; y = exp x; z = reshape y shape=B,A; w = permute z dims=1,0; out w", 2},
    {"sum of all", "x = f32 A,B; y = mul x x; z = sum y; out z", 1},
    {"sum of rows", "x = f32 A,B; y = sum x dims=1; out y", 1},
    {"sum of columns", "x = f32 A,B; y = sum x dims=0; out y", 1},
    {"sum of the middle", "x = f32 A,B,C; y = sum x dims=1 keepdim=1; out y", 1},
    {"sum of outer dims", "x = f32 A,B,C; y = sum x dims=0,2; out y", 1},
    {"mean", "x = f32 A,B; y = mean x dims=1; out y", 1},
    {"var", "x = f32 A,B; y = var x 1 dims=1; out y", 1},
    {"max and argmax", "x = f32 A,B; y = max x dims=1; z = argmax x dims=1; out y z", 2},
    {"softmax", "x = f32 A,B; y = softmax x dim=1; out y", 1},
    {"softmax of dim 0", "x = f32 A,B; y = softmax x dim=0; out y", 1},
    {"softmax of one row", "x = f32 1,B; y = softmax x dim=1; out y", 1},
    {"softmax of all", "x = f32 B; y = softmax x dim=0; out y", 4},
    {"log_softmax", "x = f32 A,B; y = log_softmax x dim=1; out y", 1},
    {"layer norm",
     "x = f32 A,B; r = f32 A,B; w = f32 B; b = f32 B; s = add x r; "
     "y = layer_norm s w b 0.00001 shape=B; out y",
     1},
    {"layer norm of one row",
     "x = f32 1,1,B; r = f32 1,1,B; w = f32 B; b = f32 B; s = add x r; "
     "y = layer_norm s w b 0.00001 shape=B; out y",
     1},
    {"matmul", "x = f32 A,B; w = f32 B,C; y = matmul x w; out y", 1},
    {"matmul bias gelu",
     "x = f32 A,B; w = f32 B,C; b = f32 C; y = matmul x w; z = add y b; g = gelu z; out g", 1},
    {"matmul of uniform matrices",
     "v = full 1.5 shape=A,B dtype=float32; t = permute v dims=1,0; "
     "y = matmul t v; z = mul y 0.5; out z",
     1},
    {"softmax in a loss with gradient",
     "x = f64 A,A; t = i64 A 0 A; v = softmax x dim=1; "
     "l = cross_entropy v t - 0.1 reduction=2; g = grad l x; out g",
     3},
    {"linear", "x = f32 A,B,C; w = f32 D,C; b = f32 D; y = linear x w b; out y", 1},
    {"batched matmul", "x = f32 A,B,C; w = f32 A,C,D; y = matmul x w; out y", 1},
    {"broadcast matmul", "x = f32 A,B,C; w = f32 C,D; y = matmul x w; out y", 1},
    {"matrix by vector", "x = f32 A,B; w = f32 B; y = matmul x w; out y", 1},
    {"slice", "x = f32 9,7; y = slice x starts=1,2 stops=8,7 steps=2,1; z = exp y; out z", 1},
    {"flip", "x = f32 A,B; y = flip x dims=1; z = add y x; out z", 1},
    {"pad", "x = f32 A,B; y = pad x 1.5 low=0,2 high=0,1; out y", 1},
    {"pad two dims", "x = f32 A,B; y = pad x 1.5 low=1,2 high=3,1; z = exp y; out z", 1},
    {"concat", "x = f32 A,B; y = f32 C,B; z = concat x y dim=0; out z", 2},
    {"concat used",
     "x = f32 A,B; y = f32 A,C; e = exp x; z = concat e y dim=1; w = mul z 2.0; out w", 1},
    {"gather", "x = f32 7,B; i = i64 5,B 0 7; y = gather x i dim=0; out y", 1},
    {"embedding", "w = f32 11,B; i = i64 A,C 0 11; y = embedding w i; out y", 1},
    {"scatter_add", "x = f32 7,B; i = i64 9,B 0 7; s = f32 9,B; y = scatter_add x i s dim=0; out y",
     2},
    {"one_hot", "i = i64 A 0 5; y = one_hot i classes=5; out y", 1},
    {"arange", "y = arange 1.5 0.25 count=A dtype=float32; out y", 1},
    {"eye", "y = eye rows=A columns=B dtype=float32; out y", 1},
    {"cross entropy", "x = f32 A,B; t = i64 A 0 B; l = cross_entropy x t - -; out l", 2},
    {"cross entropy with gradient",
     "x = f32 A,B; t = i64 A 0 B; l = cross_entropy x t - -; g = grad l x; out l g", 4},
    {"mlp",
     "x = f32 A,B; w1 = f32 C,B; b1 = f32 C; w2 = f32 D,C; b2 = f32 D; t = i64 A 0 D; "
     "h = linear x w1 b1; r = relu h; o = linear r w2 b2; l = cross_entropy o t - -; "
     "gw1, gb1, gw2, gb2 = grad l w1 b1 w2 b2; out l gw1 gb1 gw2 gb2",
     10},
    {"sgd", "p = f32 A,B; g = f32 A,B; q = sgd_step p g 0.1 -; die p; out q", 1},
    {"adam",
     "p = f32 A,B; g = f32 A,B; m = f32 A,B; v = f32 A,B 0.1 1; "
     "q, n, u = adam_step p g m v - 0.01 0.9 0.999 0.00000001 - 3; die p m v; out q n u",
     1},
    {"mlp train step",
     "x = f32 A,B; t = i64 A 0 4; w1 = f32 C,B; b1 = f32 C; w2 = f32 C,C; b2 = f32 C; w3 = f32 "
     "4,C; b3 = f32 4; "
     "mw1 = f32 C,B; mb1 = f32 C; mw2 = f32 C,C; mb2 = f32 C; mw3 = f32 4,C; mb3 = f32 4; "
     "vw1 = f32 C,B 0.1 1; vb1 = f32 C 0.1 1; vw2 = f32 C,C 0.1 1; vb2 = f32 C 0.1 1; vw3 = f32 "
     "4,C 0.1 1; "
     "vb3 = f32 4 0.1 1; h1 = linear x w1 b1; r1 = relu h1; h2 = linear r1 w2 b2; r2 = relu h2; o "
     "= linear r2 w3 b3; "
     "l = cross_entropy o t - -; gw1, gb1, gw2, gb2, gw3, gb3 = grad l w1 b1 w2 b2 w3 b3; "
     "p1, n1, u1 = adam_step w1 gw1 mw1 vw1 - 0.01 0.9 0.999 0.00000001 - 3; "
     "p2, n2, u2 = adam_step b1 gb1 mb1 vb1 - 0.01 0.9 0.999 0.00000001 - 3; "
     "p3, n3, u3 = adam_step w2 gw2 mw2 vw2 - 0.01 0.9 0.999 0.00000001 - 3; "
     "p4, n4, u4 = adam_step b2 gb2 mb2 vb2 - 0.01 0.9 0.999 0.00000001 - 3; "
     "p5, n5, u5 = adam_step w3 gw3 mw3 vw3 - 0.01 0.9 0.999 0.00000001 - 3; "
     "p6, n6, u6 = adam_step b3 gb3 mb3 vb3 - 0.01 0.9 0.999 0.00000001 - 3; "
     "die w1 b1 w2 b2 w3 b3 mw1 mb1 mw2 mb2 mw3 mb3 vw1 vb1 vw2 vb2 vw3 vb3; "
     "out l p1 n1 u1 p2 n2 u2 p3 n3 u3 p4 n4 u4 p5 n5 u5 p6 n6 u6",
     16},
    {"layer norm gradient",
     "x = f32 A,B; w = f32 B; b = f32 B; y = layer_norm x w b 0.00001 shape=B; z = mul y y; "
     "l = sum z; gx, gw, gb = grad l x w b; out l gx gw gb",
     4},
    {"transformer block",
     "x = f32 A,B,C*2; wq = f32 C*2,C*2 -0.4 0.4; wk = f32 C*2,C*2 -0.4 0.4; wv = f32 C*2,C*2 -0.4 "
     "0.4; "
     "wo = f32 C*2,C*2 -0.4 0.4; "
     "g1 = f32 C*2; h1 = f32 C*2; w1 = f32 D*4,C*2 -0.4 0.4; b1 = f32 D*4; w2 = f32 C*2,D*4 -0.4 "
     "0.4; b2 = f32 C*2; "
     "n1 = layer_norm x g1 h1 0.00001 shape=C*2; q = linear n1 wq -; k = linear n1 wk -; v = "
     "linear n1 wv -; "
     "q1 = reshape q shape=A,B,2,C; k1 = reshape k shape=A,B,2,C; v1 = reshape v shape=A,B,2,C; "
     "q2 = permute q1 dims=0,2,1,3; k2 = permute k1 dims=0,2,3,1; v2 = permute v1 dims=0,2,1,3; "
     "s = matmul q2 k2; t = mul s 0.3; p = softmax t dim=3; o = matmul p v2; o1 = permute o "
     "dims=0,2,1,3; "
     "o2 = reshape o1 shape=A,B,C*2; y = linear o2 wo -; x1 = add x y; n2 = layer_norm x1 g1 h1 "
     "0.00001 shape=C*2; "
     "u = linear n2 w1 b1; a = gelu u; z = linear a w2 b2; x2 = add x1 z; l = mean x2; l2 = mul l "
     "0.1; "
     "e = mul x2 x2; m = mean e; f = add m l2; "
     "dx, dwq, dwk, dwv, dwo, dg1, dh1, dw1, db1, dw2, db2 = grad f x wq wk wv wo g1 h1 w1 b1 w2 "
     "b2; "
     "out x2 f dx dwq dwk dwv dwo dg1 dh1 dw1 db1 dw2 db2",
     60},
    {"rms norm", "x = f32 A,B; w = f32 B; y = rms_norm x w 0.00001 shape=B; out y", 1},
    {"logsumexp", "x = f32 A,B; y = logsumexp x dims=1; out y", 1},
    {"std", "x = f32 A,B; y = std x 1 dims=1; out y", 1},
    {"clipped gradients",
     "a = f32 A,B; b = f32 C; c = f32 B,C; n = global_norm a b c; k = clip_coefficient n 1.0; "
     "x = mul a k; y = mul b k; z = mul c k; out n x y z",
     5},
    {"masked softmax",
     "s = f32 A,B,C; m = bool B,C -1 1; t = where m s -100.0; p = softmax t dim=2; out p", 1},
    {"sum and max", "x = f32 A,B; y = sum x dims=1; z = max x dims=1; w = add y z; out w", 1},
    {"product of sums",
     "x = f32 A,B; y = f32 A,B; p = sum x dims=1; q = sum y dims=1; r = mul p q; out r", 2},
    {"normalised columns",
     "x = f32 A,B; m = mean x dims=0 keepdim=1; d = sub x m; e = mul d d; "
     "v = mean e dims=0 keepdim=1; s = rsqrt v; y = mul d s; out y",
     1},
    {"swiglu",
     "x = f32 A,B; w = f32 C,B; v = f32 C,B; o = f32 B,C; g = linear x w -; u = linear x v -; s = "
     "silu g; "
     "h = mul s u; y = linear h o -; out y",
     3},
    {"gather then product",
     "w = f32 9,B; i = i64 A 0 9; v = f32 C,B; e = embedding w i; y = linear e v -; out y", 2},
    {"embedding gradient",
     "w = f32 9,B; i = i64 A,C 0 9; e = embedding w i; f = mul e e; l = sum f; g = grad l w; out l "
     "g",
     4},
    {"slice assignment",
     "x = f32 9,B; v = f32 3,B; y = slice_set x v starts=1,0 stops=7,B steps=2,1; die x; out y", 2},
    {"whole dot epilogue",
     "x = f32 A,B; w = f32 B,C; r = f32 A,C; y = matmul x w; z = add y r; "
     "e = relu z; out z e",
     1},
};

static const int64_t sizes[][4] = {
    {3, 5, 7, 4}, {1, 1, 1, 1}, {17, 33, 19, 23}, {2, 64, 3, 5}, {0, 3, 2, 5}};

static void run_case_with(const text_case *chosen, const int64_t *dims,
                          const bd_plan_options *options)
{
    char what[256];
    plan_case arrival;
    plan_case_init(&arrival, chosen->text, dims);
    bd_trace trace;
    test_trace_view(&arrival.trace, &trace);
    bd_plan *plan;
    bd_error *err = bd_plan_build(&trace, options, &plan);
    ck_assert_msg(!err, "%s: %s", chosen->name, bd_error_text(err));
    const char *how = !options->fusion ? " unfused" : options->spares_reads ? " sparing reads" : "";
    snprintf(what, sizeof what, "%s%s (%d, %d, %d, %d)", chosen->name, how, (int)dims[0],
             (int)dims[1], (int)dims[2], (int)dims[3]);
    if (getenv("PRINT_PLANS")) {
        char *text = bd_plan_print(plan);
        printf("==== %s: %u launches\n%s\n", what, plan->launch_count, text);
        fflush(stdout);
        bd_free(text);
    }
    plan_values expected, got;
    plan_evaluate(&arrival, &expected);
    plan_run(plan, &arrival, driver(), &got);
    plan_compare(what, &got, &expected, 1e-4);
    ck_assert(!plan->unfused);
    if (options->fusion && !options->spares_reads && dims == sizes[0])
        ck_assert_msg(plan->launch_count <= chosen->launches_max, "%s: %u launches", what,
                      plan->launch_count);
    plan_values_deinit(&expected);
    plan_values_deinit(&got);
    bd_plan_release(plan);
    plan_case_deinit(&arrival);
}

static void run_case(const text_case *chosen, const int64_t *dims, bool fusion)
{
    run_case_with(chosen, dims, &(bd_plan_options){.fusion = fusion});
    if (fusion)
        run_case_with(chosen, dims, &(bd_plan_options){.fusion = true, .spares_reads = true});
}

START_TEST(each_case)
{
    const char *only = getenv("PLAN_CASE");
    if (only && strcmp(only, cases[_i].name) != 0)
        return;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        run_case(&cases[_i], sizes[s], true);
        run_case(&cases[_i], sizes[s], false);
    }
}
END_TEST

/* The plan of a text that is also read into *arrival; both are the caller's. */
static bd_plan *fused_plan(plan_case *arrival, const char *text, const int64_t *dims)
{
    plan_case_init(arrival, text, dims);
    bd_trace trace;
    test_trace_view(&arrival->trace, &trace);
    bd_plan *plan = NULL;
    ck_assert_ptr_null(bd_plan_build(&trace, &(bd_plan_options){.fusion = true}, &plan));
    return plan;
}

/* What two kernels make from one tensor with little work is not kept for the second, that tensor
 * is. */
START_TEST(cheap_values_are_made_again)
{
    text_case twice = {"two kernels",
                       "x = f32 A,B; w = f32 B,C; v = f32 C,C; y = matmul x w; a = mul y y; "
                       "b = mul y 0.5; c = add a b; t = tanh c; p = matmul t v; q = mul p a; "
                       "r = mul q b; out t r",
                       2};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        run_case(&twice, sizes[s], true);
    plan_case arrival;
    bd_plan *plan = fused_plan(&arrival, twice.text, sizes[0]);
    ck_assert_int_eq(plan->programs[plan->launches[0].kernel]->buffer_count, 4); /* x w y t */
    bd_plan_release(plan);
    plan_case_deinit(&arrival);
}
END_TEST

/* Of as many elements as the first output: tensors that the plan makes. */
static int count_made(const char *text, const bd_plan_options *options)
{
    plan_case arrival;
    plan_case_init(&arrival, text, sizes[0]);
    bd_trace trace;
    test_trace_view(&arrival.trace, &trace);
    bd_plan *plan = NULL;
    ck_assert_ptr_null(bd_plan_build(&trace, options, &plan));
    bd_int elements = plan->buffers[plan->outputs[0].buffer].elements;
    int count = 0;
    for (uint32_t i = 0; i < plan->buffer_count; i++)
        count += plan->buffers[i].kind != BD_BUFFER_EXTERNAL &&
                 plan->buffers[i].elements == elements;
    bd_plan_release(plan);
    plan_case_deinit(&arrival);
    return count;
}

/* Where reads are dear, a gradient makes again what a function or a few numbers of each row make of
 * one tensor: the tanh of gelu, a layer norm's normal rows, the logarithms of probabilities. */
START_TEST(what_is_made_of_one_tensor_is_not_kept)
{
    static const struct {
        const char *text;
        int sparing, plain; /* tensors */
    } each[] = {
        {"x = f32 A,B; w = f32 B,C; v = f32 C,D; y = matmul x w; g = gelu y tanh=1; "
         "z = matmul g v; q = mul z z; l = sum q; d = grad l w; out y d", 3, 4},
        {"x = f32 A,B; w = f32 B,C; t = i64 A 0 C; y = matmul x w; l = cross_entropy y t - -; "
         "d = grad l w; out y l d", 2, 3},
        {"x = f32 A,B; w = f32 B,C; s = f32 C; b = f32 C; y = matmul x w; "
         "n = layer_norm y s b 0.00001 shape=C; q = mul n n; l = sum q; "
         "d, e = grad l w s; out y d e l", 2, 5},
    };
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        const bd_plan_options plain = {.fusion = true}, sparing = {true, .spares_reads = true};
        ck_assert_int_eq(count_made(each[i].text, &sparing), each[i].sparing);
        ck_assert_int_eq(count_made(each[i].text, &plain), each[i].plain);
        run_case(&(text_case){"made again", each[i].text, 12}, sizes[2], true);
    }
}
END_TEST

/* "; c1 = add c0 1.5; …": nodes between what the test asks about. */
static size_t add_chain(char *text, size_t room, char name, int count)
{
    size_t at = 0;
    for (int i = 1; i <= count; i++)
        at += (size_t)snprintf(text + at, room - at, "; %c%d = add %c%d 1.5", name, i, name, i - 1);
    return at;
}

/* A sum that the trace asks for long after runs where its input was made, which then can go. */
START_TEST(a_late_reduction_runs_early)
{
    char program[4096] = "x = f32 A,B; w = f32 B,C; v = f32 C,C; y = matmul x w; z = matmul y v; "
                         "c0 = f32 A";
    size_t at = strlen(program);
    at += add_chain(program + at, sizeof program - at, 'c', 120);
    snprintf(program + at, sizeof program - at, "; s = sum y dims=1; out z c120 s");
    plan_case arrival;
    bd_plan *plan = fused_plan(&arrival, program, sizes[0]);
    uint32_t product = 0;
    while (plan->programs[plan->launches[product].kernel]->family != BD_KIR_CONTRACTION)
        product++;
    const bd_plan_buffer *made = &plan->buffers[plan->launches[product].blocks[0].buffers[2]];
    ck_assert_uint_eq(made->first_launch, product);
    ck_assert_uint_eq(made->last_launch, product + 2); /* the sum, the other product */
    bd_plan_release(plan);
    plan_case_deinit(&arrival);
}
END_TEST

/* Whether an output may lie where an external did. */
static bool takes_over(const bd_plan *plan, uint32_t output)
{
    uint32_t over = plan->buffers[plan->outputs[output].buffer].reuses;
    return over != BD_PLAN_NONE && plan->buffers[over].kind == BD_BUFFER_EXTERNAL;
}

static bool writes_over(const char *text, const int64_t *dims)
{
    plan_case arrival;
    bd_plan *plan = fused_plan(&arrival, text, dims);
    ck_assert_uint_eq(plan->launch_count, 1);
    bool result = takes_over(plan, 0);
    bd_plan_release(plan);
    plan_case_deinit(&arrival);
    return result;
}

/* An update that a product makes could run as soon as its operands are there. It runs behind the
 * last one of the others that read the old parameter, and then writes over it; where the parameter
 * lives on, it does not wait. */
START_TEST(an_update_waits_for_readers)
{
    for (int dies = 0; dies < 2; dies++) {
        char program[8192];
        size_t room = sizeof program;
        size_t at = (size_t)snprintf(program, room,
                                     "x = f32 A,B; p = f32 A,C; s = f32 B,A; h = f32 B,D; "
                                     "k = f32 D,C; c0 = f32 A; e0 = f32 B; d = matmul h k");
        at += add_chain(program + at, room - at, 'c', 60);
        at += (size_t)snprintf(program + at, room - at,
                               "; t = permute p dims=1,0; u = matmul d t; o = sgd_step s u 0.1 -");
        at += add_chain(program + at, room - at, 'e', 60);
        snprintf(program + at, room - at,
                 "; y = matmul x d; q = sgd_step p y 0.1 -; out c60 o e60 q%s",
                 dies ? "; die p" : "");
        plan_case arrival;
        bd_plan *plan = fused_plan(&arrival, program, sizes[0]);
        ck_assert_uint_eq(plan->output_count, 4);
        uint32_t reader = plan->buffers[plan->outputs[1].buffer].first_launch;
        uint32_t update = plan->buffers[plan->outputs[3].buffer].first_launch;
        ck_assert_int_eq(update > reader, dies);
        ck_assert_int_eq(takes_over(plan, 3), dies);
        bd_plan_release(plan);
        plan_case_deinit(&arrival);
        text_case same = {"an update behind readers", program, 5};
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
            run_case(&same, sizes[s], true);
    }
}
END_TEST

/* A product's epilogue may write over what it alone reads, at the same element. */
START_TEST(products_update_in_place)
{
    text_case update = {"product in place",
                        "p = f32 A,C; x = f32 A,B; w = f32 B,C; y = matmul x w; "
                        "q = sgd_step p y 0.1 -; die p; out q",
                        1};
    text_case operand = {"product over its operand",
                         "p = f32 A,A; w = f32 A,A; y = matmul p w; "
                         "q = sgd_step p y 0.1 -; die p; out q",
                         1};
    text_case turned = {"product over a transposed tensor",
                        "p = f32 A,A; x = f32 A,B; w = f32 B,A; y = matmul x w; "
                        "t = permute p dims=1,0; q = sgd_step t y 0.1 -; die p; out q",
                        1};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        run_case(&update, sizes[s], true);
        run_case(&operand, sizes[s], true);
        run_case(&turned, sizes[s], true);
    }
    ck_assert(writes_over(update.text, sizes[0]));
    ck_assert(!writes_over(operand.text, sizes[0]));
    ck_assert(!writes_over(turned.text, sizes[0]));
}
END_TEST

/* More axes than a kernel has: refused, naming the record, and only where they cannot be joined. */
START_TEST(too_many_axes)
{
    plan_case arrival;
    plan_case_init(&arrival,
                   "x = f32 2,3,2,3,2,3,2,3,2,3,2,2,2,2; y = exp x; "
                   "z = permute y dims=13,12,11,10,9,8,7,6,5,4,3,2,1,0; out y z",
                   NULL);
    bd_trace trace;
    test_trace_view(&arrival.trace, &trace);
    bd_plan_options options = {.fusion = true};
    bd_plan *plan = NULL;
    bd_error *err = bd_plan_build(&trace, &options, &plan);
    ck_assert_int_eq(bd_error_code(err), BD_CODE_UNSUPPORTED);
    ck_assert_uint_eq(bd_error_op_index(err), trace.records[1].op_index);
    bd_error_free(err);
    plan_case_deinit(&arrival);
    text_case many = {"14 dims",
                      "x = f32 2,3,2,3,2,3,2,3,2,3,2,2,2,2; y = f32 2,3,2,3,2,3,2,3,2,3,2,2,2,2; "
                      "z = add x y; s = sum z dims=13; out z s",
                      2};
    run_case(&many, sizes[0], true);
    run_case(&many, sizes[0], false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan");
    TCase *all = tcase_create("cases");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, each_case, 0, (int)(sizeof cases / sizeof cases[0]));
    tcase_add_test(all, cheap_values_are_made_again);
    tcase_add_test(all, what_is_made_of_one_tensor_is_not_kept);
    tcase_add_test(all, a_late_reduction_runs_early);
    tcase_add_test(all, an_update_waits_for_readers);
    tcase_add_test(all, products_update_in_place);
    tcase_add_test(all, too_many_axes);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
