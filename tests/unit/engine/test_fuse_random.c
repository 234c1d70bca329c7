/* SPDX-License-Identifier: Apache-2.0
 * Random graphs, seeded: fused plans give what unfused ones give, and what graph_eval.c
 * computes. */
#include <check.h>
#include <math.h>
#include <stdarg.h>
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

enum { GRAPHS = 100, VALUES_MAX = 64, TEXT_MAX = 8192 };

/* Shapes are letters of sizes, so that one text serves several sizes. */
typedef struct shape_text {
    int rank;
    char dims[8]; /* 'A' … 'E', or '1' */
} shape_text;

typedef struct text_maker {
    uint64_t random;
    char text[TEXT_MAX];
    size_t length;
    int count;
    shape_text shapes[VALUES_MAX];
    uint8_t used[VALUES_MAX];
} text_maker;

static uint32_t below(text_maker *maker, uint32_t limit)
{
    maker->random = maker->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((maker->random >> 33) % limit);
}

static void say(text_maker *maker, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(text_maker *maker, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    maker->length +=
        (size_t)vsnprintf(maker->text + maker->length, TEXT_MAX - maker->length, format, arguments);
    va_end(arguments);
    ck_assert(maker->length < TEXT_MAX);
}

static void say_shape(text_maker *maker, shape_text shape)
{
    if (shape.rank == 0)
        say(maker, ".");
    for (int d = 0; d < shape.rank; d++)
        say(maker, "%s%c", d ? "," : "", shape.dims[d]);
}

static int add(text_maker *maker, shape_text shape)
{
    maker->shapes[maker->count] = shape;
    return maker->count++;
}

static int add_external(text_maker *maker, shape_text shape)
{
    say(maker, "v%d = f32 ", maker->count);
    say_shape(maker, shape);
    say(maker, "; ");
    return add(maker, shape);
}

static int pick(text_maker *maker)
{
    int chosen = (int)below(maker, (uint32_t)maker->count);
    if (below(maker, 2)) /* recent ones make deeper graphs */
        chosen =
            maker->count - 1 - (int)below(maker, maker->count < 5 ? (uint32_t)maker->count : 5);
    maker->used[chosen] = 1;
    return chosen;
}

/* A value that broadcasts against the shape: one that exists, or a new external. */
static int partner(text_maker *maker, shape_text shape)
{
    for (int tries = 0; tries < 6; tries++) {
        int other = pick(maker);
        shape_text found = maker->shapes[other];
        bool fits = found.rank <= shape.rank;
        for (int d = 0; d < found.rank && fits; d++)
            fits = found.dims[d] == '1' || found.dims[d] == shape.dims[shape.rank - found.rank + d];
        if (fits)
            return other;
    }
    shape_text reduced = shape;
    int drop = shape.rank ? (int)below(maker, (uint32_t)shape.rank + 1) : 0;
    reduced.rank = shape.rank - drop;
    memmove(reduced.dims, shape.dims + drop, (size_t)reduced.rank);
    for (int d = 0; d < reduced.rank && d < (int)sizeof reduced.dims; d++) {
        if (below(maker, 4) == 0)
            reduced.dims[d] = '1';
    }
    return add_external(maker, reduced);
}

/* The sizes of all its dims have letters. */
static bool usable(const text_maker *maker, int value)
{
    for (int d = 0; d < maker->shapes[value].rank; d++) {
        if (maker->shapes[value].dims[d] == '?')
            return false;
    }
    return true;
}

static void add_unary(text_maker *maker, int x)
{
    static const char *const ops[] = {"tanh", "sigmoid", "abs", "neg",
                                      "relu", "sin",     "erf", "gelu"};
    shape_text shape = maker->shapes[x];
    say(maker, "v%d = %s v%d; ", maker->count, ops[below(maker, 8)], x);
    add(maker, shape);
}

static void add_binary(text_maker *maker, int x)
{
    static const char *const ops[] = {"add", "sub", "mul", "maximum", "minimum"};
    shape_text shape = maker->shapes[x];
    int y = partner(maker, shape);
    const char *op = ops[below(maker, 5)];
    if (below(maker, 4) == 0)
        say(maker, "v%d = %s v%d 0.75; ", maker->count, op, x);
    else
        say(maker, "v%d = %s v%d v%d; ", maker->count, op, x, y);
    add(maker, shape);
}

static void add_reduction(text_maker *maker, int x)
{
    static const char *const ops[] = {"sum", "mean", "max", "min"};
    shape_text shape = maker->shapes[x], out = {0};
    if (shape.rank == 0)
        return;
    uint32_t mask = 1 + below(maker, (1u << shape.rank) - 1);
    bool keeps = below(maker, 2);
    say(maker, "v%d = %s v%d dims=", maker->count, ops[below(maker, 4)], x);
    bool first = true;
    for (int d = 0; d < shape.rank; d++) {
        if (mask >> d & 1) {
            say(maker, "%s%d", first ? "" : ",", d);
            first = false;
            if (keeps)
                out.dims[out.rank++] = '1';
        } else {
            out.dims[out.rank++] = shape.dims[d];
        }
    }
    say(maker, " keepdim=%d; ", keeps);
    add(maker, out);
}

static void add_permute(text_maker *maker, int x)
{
    shape_text shape = maker->shapes[x], out = shape;
    int order[8];
    if (shape.rank < 2)
        return;
    for (int d = 0; d < shape.rank; d++)
        order[d] = d;
    for (int d = shape.rank - 1; d > 0; d--) {
        int other = (int)below(maker, (uint32_t)d + 1), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    say(maker, "v%d = permute v%d dims=", maker->count, x);
    for (int d = 0; d < shape.rank; d++) {
        say(maker, "%s%d", d ? "," : "", order[d]);
        out.dims[d] = shape.dims[order[d]];
    }
    say(maker, "; ");
    add(maker, out);
}

static void add_flip(text_maker *maker, int x)
{
    shape_text shape = maker->shapes[x];
    if (shape.rank == 0)
        return;
    say(maker, "v%d = flip v%d dims=%u; ", maker->count, x, below(maker, (uint32_t)shape.rank));
    add(maker, shape);
}

static void add_softmax(text_maker *maker, int x)
{
    shape_text shape = maker->shapes[x];
    if (shape.rank == 0)
        return;
    say(maker, "v%d = %s v%d dim=%u; ", maker->count, below(maker, 2) ? "softmax" : "log_softmax",
        x, below(maker, (uint32_t)shape.rank));
    add(maker, shape);
}

static void add_product(text_maker *maker, int x)
{
    shape_text shape = maker->shapes[x];
    if (shape.rank == 0)
        return;
    shape_text weights = {2, {shape.dims[shape.rank - 1], (char)('A' + below(maker, 5))}};
    int w = add_external(maker, weights);
    say(maker, "v%d = matmul v%d v%d; v%d = mul v%d 0.25; ", maker->count, x, w, maker->count + 1,
        maker->count);
    shape.dims[shape.rank - 1] = weights.dims[1];
    add(maker, shape);
    add(maker, shape);
}

static void add_concat(text_maker *maker, int x)
{
    shape_text shape = maker->shapes[x];
    if (shape.rank == 0)
        return;
    int y = add_external(maker, shape);
    uint32_t dim = below(maker, (uint32_t)shape.rank);
    /* Cut back at once, as there is no letter for the sum. */
    say(maker, "v%d = concat v%d v%d dim=%u; v%d = max v%d dims=%u; ", maker->count, x, y, dim,
        maker->count + 1, maker->count, dim);
    shape_text whole = shape;
    whole.dims[dim] = '?';
    add(maker, whole);
    for (int d = (int)dim; d + 1 < shape.rank; d++)
        shape.dims[d] = shape.dims[d + 1];
    shape.rank--;
    add(maker, shape);
}

static void add_gather(text_maker *maker, int x)
{
    shape_text shape = maker->shapes[x];
    if (shape.rank == 0 || shape.dims[0] == '1')
        return;
    say(maker, "v%d = i64 ", maker->count);
    say_shape(maker, shape);
    say(maker, " 0 %c; v%d = gather v%d v%d dim=0; ", shape.dims[0], maker->count + 1, x,
        maker->count);
    shape_text index = {1, {'?'}};
    add(maker, index);
    add(maker, shape);
}

static void add_reshape(text_maker *maker, int x)
{
    shape_text shape = maker->shapes[x];
    if (shape.rank < 2)
        return;
    uint32_t at = below(maker, (uint32_t)shape.rank - 1);
    say(maker, "v%d = reshape v%d shape=", maker->count, x);
    for (int d = 0; d < shape.rank; d++)
        say(maker, "%s%c", d == 0 ? "" : d == (int)at + 1 ? "*" : ",", shape.dims[d]);
    shape_text flat = shape;
    flat.rank--;
    flat.dims[0] = '?';
    add(maker, flat);
    int from = maker->count - 1;
    if (below(maker, 2)) {
        say(maker, "; v%d = %s v%d dim=%u", maker->count,
            below(maker, 2) ? "softmax" : "log_softmax", from, below(maker, (uint32_t)flat.rank));
        from = add(maker, flat);
    }
    if (below(maker, 2)) {
        char kept = shape.dims[at];
        shape.dims[at] = shape.dims[at + 1];
        shape.dims[at + 1] = kept;
    }
    say(maker, "; v%d = reshape v%d shape=", maker->count, from);
    say_shape(maker, shape);
    say(maker, "; ");
    add(maker, shape);
}

static void add_window(text_maker *maker, int x)
{
    shape_text shape = maker->shapes[x], padded = shape;
    if (shape.rank == 0)
        return;
    uint32_t dim = below(maker, (uint32_t)shape.rank), start = below(maker, 4);
    bool both = below(maker, 2);
    padded.dims[0] = '?';
    say(maker, "v%d = pad v%d 0.5 low=", maker->count, x);
    for (int d = 0; d < shape.rank; d++)
        say(maker, "%s%d", d ? "," : "", both || d == (int)dim ? 1 : 0);
    say(maker, " high=");
    for (int d = 0; d < shape.rank; d++)
        say(maker, "%s%d", d ? "," : "", both || d == (int)dim ? 2 : 0);
    add(maker, padded);
    say(maker, "; v%d = slice v%d starts=", maker->count, maker->count - 1);
    for (int d = 0; d < shape.rank; d++)
        say(maker, "%s%u", d ? "," : "", both || d == (int)dim ? start : 0);
    say(maker, " stops=");
    for (int d = 0; d < shape.rank; d++)
        say(maker, "%s%c+%u", d ? "," : "", shape.dims[d], both || d == (int)dim ? start : 0);
    say(maker, " steps=");
    for (int d = 0; d < shape.rank; d++)
        say(maker, "%s1", d ? "," : "");
    say(maker, "; ");
    add(maker, shape);
}

static void add_scatter(text_maker *maker, int x)
{
    shape_text shape = maker->shapes[x];
    if (shape.rank == 0 || shape.dims[0] == '1')
        return;
    int source = add_external(maker, shape);
    say(maker, "v%d = i64 ", maker->count);
    say_shape(maker, shape);
    say(maker, " 0 %c; v%d = %s v%d v%d v%d dim=0; ", shape.dims[0], maker->count + 1,
        below(maker, 2) ? "scatter_add" : "scatter", x, maker->count, source);
    shape_text index = {1, {'?'}};
    add(maker, index);
    add(maker, shape);
}

static void add_expand(text_maker *maker, int x)
{
    shape_text shape = maker->shapes[x], out = shape;
    if (shape.rank > 3)
        return;
    out.rank++;
    memmove(out.dims + 1, shape.dims, (size_t)shape.rank);
    out.dims[0] = (char)('A' + below(maker, 5));
    for (int d = 1; d < out.rank; d++) {
        if (out.dims[d] == '1')
            out.dims[d] = (char)('A' + below(maker, 5));
    }
    say(maker, "v%d = expand v%d shape=", maker->count, x);
    say_shape(maker, out);
    say(maker, "; ");
    add(maker, out);
}

/* Gradients of the sum of one value with respect to the first external. */
static void say_gradient(text_maker *maker)
{
    int from = maker->count - 1;
    while (!usable(maker, from))
        from--;
    maker->used[from] = 1;
    shape_text scalar = {0};
    say(maker, "v%d = sum v%d; ", maker->count, from);
    int total = add(maker, scalar);
    maker->used[total] = 1;
    say(maker, "v%d = grad v%d v0; ", maker->count, total);
    add(maker, maker->shapes[0]);
}

static void make_text(text_maker *maker, uint64_t seed)
{
    *maker = (text_maker){.random = seed * 2654435761u + 1};
    for (int i = 0; i < 3; i++)
        (void)below(maker, 2);
    shape_text shape = {1 + (int)below(maker, 3), {0}};
    for (int d = 0; d < shape.rank; d++)
        shape.dims[d] = (char)('A' + below(maker, 4));
    add_external(maker, shape);
    int wanted = 5 + (int)below(maker, 30);
    for (int i = 0; i < 200 && maker->count < wanted; i++) {
        static void (*const adders[])(text_maker *, int) = {
            add_unary,  add_unary,     add_binary,  add_binary,    add_binary,
            add_binary, add_reduction, add_permute, add_softmax,   add_product,
            add_concat, add_gather,    add_flip,    add_reduction, add_reshape,
            add_window, add_reshape,   add_scatter, add_expand,
        };
        int x = pick(maker);
        if (usable(maker, x))
            adders[below(maker, sizeof adders / sizeof adders[0])](maker, x);
    }
    if (below(maker, 2))
        say_gradient(maker);
}

/* All results that nothing uses survive, and some others. */
static void say_outputs(text_maker *maker, const char *text)
{
    say(maker, "out");
    int said = 0;
    for (int i = 0; i < maker->count; i++) {
        char pattern[32];
        snprintf(pattern, sizeof pattern, "v%d = f32", i);
        bool external = strstr(text, pattern) != NULL;
        snprintf(pattern, sizeof pattern, "v%d = i64", i);
        external |= strstr(text, pattern) != NULL;
        if (!external && (!maker->used[i] || below(maker, 5) == 0) && said < 20) {
            say(maker, " v%d", i);
            said++;
        }
    }
}

static const bd_plan_options UNFUSED = {.fusion = false}, FUSED = {.fusion = true},
                             SPARING = {.fusion = true, .spares_reads = true};

static bd_plan *plan_of(const char *what, const plan_case *arrival, bd_plan_options options)
{
    bd_trace trace;
    test_trace_view((test_trace *)(uintptr_t)&arrival->trace, &trace);
    bd_plan *plan;
    bd_error *err = bd_plan_build(&trace, &options, &plan);
    ck_assert_msg(!err, "%s: %s", what, bd_error_text(err));
    ck_assert_msg(!plan->unfused, "%s: fusion passed a limit", what);
    return plan;
}

static void compare_all(const char *what, const plan_case *arrival, const bd_plan *replayed)
{
    plan_values fused, sparing, unfused, again, expected;
    bd_plan *plan = plan_of(what, arrival, FUSED);
    plan_run(plan, arrival, driver(), &fused);
    bd_plan_release(plan);
    plan = plan_of(what, arrival, SPARING);
    plan_run(plan, arrival, driver(), &sparing);
    bd_plan_release(plan);
    plan = plan_of(what, arrival, UNFUSED);
    plan_run(plan, arrival, driver(), &unfused);
    bd_plan_release(plan);
    plan_evaluate(arrival, &expected);
    plan_compare(what, &fused, &unfused, 1e-4);
    plan_compare(what, &fused, &expected, 1e-3);
    plan_compare(what, &sparing, &expected, 1e-3);
    if (replayed) { /* a plan made for other sizes */
        plan_run(replayed, arrival, driver(), &again);
        plan_compare(what, &again, &fused, 0);
        plan_values_deinit(&again);
    }
    plan_values_deinit(&fused);
    plan_values_deinit(&sparing);
    plan_values_deinit(&unfused);
    plan_values_deinit(&expected);
}

START_TEST(fused_is_unfused)
{
    /* The first two have the same structure: the same dims are 1, and no sizes are equal by
     * chance. */
    static const int64_t sizes[][5] = {
        {3, 5, 2, 7, 4}, {17, 3, 11, 2, 5}, {1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}};
    const char *only = getenv("PLAN_SEED");
    int seed = only ? atoi(only) : _i;
    if (only && _i > 0)
        return;
    text_maker maker;
    make_text(&maker, (uint64_t)seed + 1);
    char before[TEXT_MAX];
    strcpy(before, maker.text);
    say_outputs(&maker, before);
    if (only)
        printf("%s\n", maker.text);
    bd_plan *first = NULL;
    plan_case first_arrival;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        char what[64];
        snprintf(what, sizeof what, "seed %d, sizes %zu", seed, s);
        plan_case arrival;
        plan_case_init(&arrival, maker.text, sizes[s]);
        compare_all(what, &arrival, s == 1 ? first : NULL);
        if (s == 0) {
            first_arrival = arrival;
            first = plan_of(what, &arrival, FUSED);
        } else {
            plan_case_deinit(&arrival);
        }
    }
    bd_plan_release(first);
    plan_case_deinit(&first_arrival);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fusion of random graphs");
    TCase *all = tcase_create("graphs");
    tcase_set_timeout(all, 120);
    /* PLAN_SEED runs one graph and shows it; PLAN_GRAPHS says how many in all. */
    const char *more = getenv("PLAN_GRAPHS");
    tcase_add_loop_test(all, fused_is_unfused, 0, more ? atoi(more) : GRAPHS);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
