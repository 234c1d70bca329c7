/* SPDX-License-Identifier: Apache-2.0
 * burn.h over a private daemon (BURND names it): values, gradients, optimizers, programs, large
 * transfers, threads, fork. Reads like a manual of the C client. */
#include <check.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "burn/burn.h"
#include "burn/burn_ops.h"

static burn_context *context;

#define OK(call) ck_assert_msg((call) == BURN_STATUS_OK, "%s: %s", #call, burn_last_error()->text)

static void begin(void)
{
    burn_options options = {.struct_size = sizeof options, .private_daemon = 1};
    OK(burn_open(&options, &context));
}

static void end(void)
{
    burn_close(context);
}

static burn_tensor *upload(int rank, int64_t a, int64_t b, const float *values)
{
    int64_t dims[2] = {a, b};
    burn_tensor *tensor = NULL;
    OK(burn_upload(context, BURN_DTYPE_FLOAT32, rank, dims, values, &tensor));
    return tensor;
}

static void expect(burn_tensor *tensor, size_t count, const float *values)
{
    float got[64];
    ck_assert_uint_le(count, 64);
    OK(burn_read(tensor, got, count * sizeof *got));
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(fabsf(got[i] - values[i]) <= 1e-5f * (1 + fabsf(values[i])),
                      "element %zu: %g, want %g", i, (double)got[i], (double)values[i]);
}

START_TEST(values_go_there_and_back)
{
    burn_tensor *a = upload(2, 2, 3, (float[]){1, 2, 3, 4, 5, 6}), *b = NULL, *c = NULL;
    OK(burn_mul(context, burn_in(a), burn_float(2.5), &b));
    OK(burn_add(context, burn_in(b), burn_in(a), &c));
    expect(c, 6, (float[]){3.5f, 7, 10.5f, 14, 17.5f, 21});
    double item = 0;
    ck_assert_int_eq(burn_item(c, &item), BURN_STATUS_INVALID);
    burn_tensor *sum = NULL;
    OK(burn_sum(context, burn_in(c), 0, NULL, 0, 0, &sum));
    OK(burn_item(sum, &item));
    ck_assert_double_eq_tol(item, 73.5, 1e-9);
    burn_release(a), burn_release(b), burn_release(c), burn_release(sum);
}
END_TEST

START_TEST(errors_tell_what_is_wrong)
{
    burn_tensor *a = upload(2, 2, 3, (float[]){1, 2, 3, 4, 5, 6}),
                *b = upload(2, 3, 2, (float[]){1, 2, 3, 4, 5, 6}), *c = NULL;
    ck_assert_int_eq(burn_add(context, burn_in(a), burn_in(b), &c), BURN_STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(burn_last_error()->text, "[2, 3]"));
    ck_assert_ptr_null(c);
    float few[2];
    ck_assert_int_eq(burn_read(a, few, sizeof few), BURN_STATUS_INVALID);
    int64_t negative[1] = {-1};
    ck_assert_int_eq(burn_upload(context, BURN_DTYPE_FLOAT32, 1, negative, few, &c),
                     BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_upload(context, 99, 0, NULL, few, &c), BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_apply(context, 9999, NULL, 0, NULL, 0, &c, 1), BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_apply(context, 1, NULL, 0, NULL, 0, &c, 1),
                     BURN_STATUS_INVALID);     /* free is no op */
    expect(a, 6, (float[]){1, 2, 3, 4, 5, 6}); /* nothing is disturbed */
    burn_release(a), burn_release(b);
}
END_TEST

START_TEST(an_index_out_of_range_surfaces_at_the_read)
{
    int64_t one[1] = {2}, indices[2] = {0, 7};
    burn_tensor *table = upload(2, 3, 2, (float[]){1, 2, 3, 4, 5, 6}), *index = NULL, *taken = NULL;
    OK(burn_upload(context, BURN_DTYPE_INT64, 1, one, indices, &index));
    OK(burn_take(context, burn_in(table), burn_in(index), 0, 0, &taken));
    uint64_t op = burn_ops_recorded(context);
    float out[4];
    ck_assert_int_ne(burn_read(taken, out, sizeof out), BURN_STATUS_OK);
    ck_assert_uint_eq(burn_last_error()->op_number, op);
    burn_release(table), burn_release(index), burn_release(taken);
}
END_TEST

START_TEST(large_transfers)
{
    enum { COUNT = 5 * 1024 * 1024 + 3 };
    float *values = malloc(COUNT * sizeof *values), *back = malloc(COUNT * sizeof *back);
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)(i % 1000);
    burn_tensor *a = upload(1, COUNT, 0, values), *b = NULL;
    OK(burn_add(context, burn_in(a), burn_int(1), &b));
    OK(burn_read(b, back, COUNT * sizeof *back));
    int wrong = 0;
    for (int i = 0; i < COUNT; i++)
        wrong += back[i] != values[i] + 1;
    ck_assert_int_eq(wrong, 0);
    burn_release(a), burn_release(b);
    free(values);
    free(back);
}
END_TEST

START_TEST(empty_and_scalar_tensors)
{
    burn_tensor *none = upload(2, 0, 3, NULL), *sum = NULL, *scalar = upload(0, 0, 0, (float[]){4});
    OK(burn_sum(context, burn_in(none), 0, NULL, 0, 0, &sum));
    expect(sum, 1, (float[]){0});
    OK(burn_read(none, NULL, 0));
    expect(scalar, 1, (float[]){4});
    burn_release(none), burn_release(sum), burn_release(scalar);
}
END_TEST

START_TEST(writes_and_views)
{
    burn_tensor *base = upload(2, 2, 3, (float[]){1, 2, 3, 4, 5, 6}), *row = NULL, *turned = NULL;
    int64_t starts[2] = {1, 0}, stops[2] = {2, 3}, steps[2] = {1, 1}, dims[2] = {1, 0};
    OK(burn_slice(context, burn_in(base), 2, starts, 2, stops, 2, steps, &row));
    OK(burn_permute(context, burn_in(base), 2, dims, &turned));
    OK(burn_assign(row, burn_float(0), BURN_ASSIGN_CAST));
    expect(base, 6, (float[]){1, 2, 3, 0, 0, 0});
    expect(turned, 6, (float[]){1, 0, 2, 0, 3, 0});
    OK(burn_assign(base, burn_int(7), 0));
    expect(row, 3, (float[]){7, 7, 7});
    burn_release(base), burn_release(row), burn_release(turned);
}
END_TEST

static burn_tensor *parameter(const float *values, int64_t rows, int64_t columns)
{
    burn_tensor *tensor = upload(2, rows, columns, values);
    OK(burn_set_requires_grad(tensor, 1));
    return tensor;
}

START_TEST(gradients)
{
    burn_tensor *w = parameter((float[]){1, 2, 3}, 1, 3), *y = NULL, *loss = NULL;
    OK(burn_mul(context, burn_in(w), burn_in(w), &y));
    OK(burn_sum(context, burn_in(y), 0, NULL, 0, 0, &loss));
    OK(burn_backward(context, &loss, NULL, 1, NULL, 0, BURN_BACKWARD_RETAIN));
    expect(burn_grad(w), 3, (float[]){2, 4, 6});
    OK(burn_backward(context, &loss, NULL, 1, NULL, 0, 0));
    expect(burn_grad(w), 3, (float[]){4, 8, 12});
    ck_assert_int_eq(burn_backward(context, &loss, NULL, 1, NULL, 0, 0), BURN_STATUS_INVALID);
    burn_release(w), burn_release(y), burn_release(loss);
}
END_TEST

/* One step of y = sum(w²) by each rule; the numbers are torch.optim's. */
START_TEST(optimizers)
{
    burn_sgd_options sgd = {.struct_size = sizeof sgd, .lr = 0.1, .momentum = 0.9};
    burn_adam_options adam = {.struct_size = sizeof adam, .lr = 0.1};
    for (int kind = 0; kind < 2; kind++) {
        burn_tensor *w = parameter((float[]){1, -2, 3}, 1, 3);
        burn_optimizer *optimizer = NULL;
        if (kind == 0)
            OK(burn_sgd(context, &w, 1, &sgd, &optimizer));
        else
            OK(burn_adam(context, &w, 1, &adam, &optimizer));
        for (int step = 0; step < 2; step++) {
            burn_tensor *y = NULL, *loss = NULL;
            OK(burn_zero_grad(optimizer));
            OK(burn_square(context, burn_in(w), &y));
            OK(burn_sum(context, burn_in(y), 0, NULL, 0, 0, &loss));
            OK(burn_backward(context, &loss, NULL, 1, NULL, 0, 0));
            OK(burn_step(optimizer));
            burn_release(y), burn_release(loss);
        }
        if (kind == 0) /* 1 → 0.8 → 0.8 - 0.1 (1.6 + 0.9 · 2) */
            expect(w, 3, (float[]){0.46f, -0.92f, 1.38f});
        else
            expect(w, 3, (float[]){0.8004122f, -1.8001665f, 2.8001027f});
        burn_optimizer_destroy(optimizer);
        burn_release(w);
    }
}
END_TEST

START_TEST(options_without_a_size)
{
    burn_options options = {.url = "unix:///nope"};
    burn_context *none = NULL;
    ck_assert_int_eq(burn_open(&options, &none), BURN_STATUS_INVALID);
    ck_assert_ptr_null(none);
    ck_assert_int_eq(burn_open(NULL, NULL), BURN_STATUS_INVALID);
    burn_tensor *w = parameter((float[]){1, -2, 3}, 1, 3);
    burn_optimizer *optimizer = NULL;
    burn_sgd_options sgd = {.lr = 0.1};
    burn_adam_options adam = {.lr = 0.1};
    ck_assert_int_eq(burn_sgd(context, &w, 1, &sgd, &optimizer), BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_adam(context, &w, 1, &adam, &optimizer), BURN_STATUS_INVALID);
    ck_assert_ptr_null(optimizer);
    burn_release(w);
}
END_TEST

START_TEST(null_arguments)
{
    float one = 1;
    const int f32 = BURN_DTYPE_FLOAT32;
    double item = 0;
    burn_tensor *x = upload(1, 1, 0, &one), *out = NULL, *none = NULL;
    burn_input a = burn_in(x);
    ck_assert_int_eq(burn_upload(NULL, f32, 0, NULL, &one, &out), BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_upload(context, f32, 0, NULL, NULL, &out), BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_upload(context, f32, 0, NULL, &one, NULL), BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_add(context, a, a, NULL), BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_add(NULL, a, a, &out), BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_item(NULL, &item), BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_backward(context, &none, NULL, 1, NULL, 0, 0), BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_backward(context, NULL, NULL, 1, NULL, 0, 0), BURN_STATUS_INVALID);
    ck_assert_ptr_null(out);
    burn_release(x);
}
END_TEST

START_TEST(programs)
{
    burn_tensor *x = upload(1, 3, 0, (float[]){1, 2, 3}),
                *total = upload(1, 3, 0, (float[]){0, 0, 0}), *in = NULL, *sum = NULL;
    burn_program *program = NULL;
    OK(burn_program_begin(context, &x, 1, &in));
    OK(burn_add(context, burn_in(total), burn_in(in), &sum));
    OK(burn_assign(total, burn_in(sum), 0));
    float out[3];
    ck_assert_int_eq(burn_read(sum, out, sizeof out), BURN_STATUS_INVALID);
    OK(burn_program_end(context, &sum, 1, "running sum", &program));
    burn_release(in), burn_release(sum);
    expect(total, 3, (float[]){0, 0, 0}); /* recording ran nothing */
    for (int i = 1; i <= 3; i++) {
        burn_tensor *result = NULL;
        OK(burn_program_call(program, &x, 1, &result, 1));
        expect(result, 3, (float[]){(float)i, (float)(2 * i), (float)(3 * i)});
        burn_release(result);
    }
    expect(total, 3, (float[]){3, 6, 9});
    burn_program_destroy(program);
    burn_release(x), burn_release(total);
}
END_TEST

static void *work(void *argument)
{
    float start = *(float *)argument;
    for (int i = 0; i < 20; i++) {
        burn_tensor *a = upload(1, 3, 0, (float[]){start, start, start}), *b = NULL;
        OK(burn_add(context, burn_in(a), burn_int(i), &b));
        expect(b, 3, (float[]){start + (float)i, start + (float)i, start + (float)i});
        burn_release(a), burn_release(b);
    }
    return NULL;
}

START_TEST(threads_share_a_context)
{
    pthread_t threads[4];
    float starts[4] = {0, 100, 200, 300};
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &starts[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}
END_TEST

START_TEST(a_child_opens_its_own)
{
    burn_tensor *a = upload(1, 3, 0, (float[]){1, 2, 3});
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        float out[3];
        burn_status status = burn_read(a, out, sizeof out);
        burn_release(a);
        burn_close(context);
        burn_options options = {.struct_size = sizeof options, .private_daemon = 1};
        burn_context *own = NULL;
        burn_status opened = burn_open(&options, &own);
        burn_close(own);
        _exit(status == BURN_STATUS_UNAVAILABLE && opened == BURN_STATUS_OK ? 0 : 1);
    }
    int result = -1;
    waitpid(child, &result, 0);
    ck_assert_int_eq(result, 0);
    expect(a, 3, (float[]){1, 2, 3});
    burn_release(a);
}
END_TEST

static pid_t private_daemon(void)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    fclose(file);
    return (pid_t)strtol(text, NULL, 10);
}

START_TEST(a_lost_daemon_is_an_error)
{
    burn_tensor *a = upload(1, 3, 0, (float[]){1, 2, 3}), *b = NULL;
    OK(burn_sync(context));
    ck_assert_int_eq(kill(private_daemon(), SIGKILL), 0);
    float out[3];
    ck_assert_int_eq(burn_read(a, out, sizeof out), BURN_STATUS_UNAVAILABLE);
    ck_assert(!burn_alive(context));
    ck_assert_int_eq(burn_exp(context, burn_in(a), &b),
                     BURN_STATUS_UNAVAILABLE); /* and so do all calls */
    burn_release(a);
}
END_TEST

START_TEST(tensors_outlive_the_context)
{
    burn_options options = {.struct_size = sizeof options, .private_daemon = 1};
    burn_context *other = NULL;
    burn_tensor *a = NULL, *b = NULL;
    int64_t dims[1] = {2};
    OK(burn_open(&options, &other));
    OK(burn_upload(other, BURN_DTYPE_FLOAT32, 1, dims, (float[]){1, 2}, &a));
    ck_assert_int_eq(burn_exp(context, burn_in(a), &b),
                     BURN_STATUS_INVALID); /* of another connection */
    burn_close(other);
    float out[2];
    ck_assert_int_eq(burn_read(a, out, sizeof out), BURN_STATUS_UNAVAILABLE);
    ck_assert_int_eq(burn_exp(context, burn_in(a), &b), BURN_STATUS_UNAVAILABLE);
    ck_assert_str_eq(burn_last_error()->text,
                     "the connection that the tensor belongs to was closed");
    burn_release(a);
}
END_TEST

START_TEST(values_by_name)
{
    burn_tensor *a = upload(1, 2, 0, (float[]){1, 2}), *b = upload(1, 3, 0, (float[]){3, 4, 5});
    const char *const parts[2] = {"layer/b", "layer/a"};
    OK(burn_export(context, "set", parts, (burn_tensor *[]){b, a}, 2, 1));
    OK(burn_export(context, "one", NULL, &a, 1, 0));
    burn_named *items = NULL;
    size_t count = 0;
    OK(burn_import(context, "set", &items, &count));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(items[0].part, "layer/a");
    ck_assert_str_eq(items[1].part, "layer/b");
    expect(items[1].tensor, 3, (float[]){3, 4, 5});
    burn_free_named(items, count);
    OK(burn_import(context, "one", &items, &count));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(items[0].part, "");
    burn_tensor *sum = NULL;
    OK(burn_add(context, burn_in(items[0].tensor), burn_in(a), &sum));
    expect(sum, 2, (float[]){2, 4});
    burn_free_named(items, count);
    char *json = NULL;
    OK(burn_list_names(context, "set/layer", &json));
    ck_assert_ptr_nonnull(strstr(json, "\"set/layer/b\""));
    ck_assert_ptr_null(strstr(json, "\"one\""));
    burn_free(json);
    OK(burn_unexport(context, "set"));
    ck_assert_int_eq(burn_unexport(context, "set"), BURN_STATUS_NOT_FOUND);
    ck_assert_int_eq(burn_import(context, "a b", &items, &count), BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_export(context, "x", NULL, &a, 2, 1), BURN_STATUS_INVALID);
    burn_release(a);
    burn_release(b);
    burn_release(sum);
}
END_TEST

START_TEST(programs_by_name)
{
    burn_tensor *x = upload(1, 2, 0, (float[]){1, 2}), *w = upload(1, 2, 0, (float[]){10, 20});
    burn_tensor *stand_in = NULL, *product = NULL, *result = NULL;
    burn_program *made = NULL, *got = NULL;
    OK(burn_program_begin(context, &x, 1, &stand_in));
    OK(burn_mul(context, burn_in(stand_in), burn_in(w), &product));
    OK(burn_program_end(context, &product, 1, "times", &made));
    OK(burn_export_program(context, "times", made));
    burn_program_destroy(made);
    burn_release(w); /* it belongs to the program */
    OK(burn_import_program(context, "times", &got));
    ck_assert_uint_eq(burn_program_arguments(got), 1);
    ck_assert_uint_eq(burn_program_outputs(got), 1);
    OK(burn_program_call(got, &x, 1, &result, 1));
    expect(result, 2, (float[]){10, 40});
    burn_program_destroy(got);
    ck_assert_int_eq(burn_import_program(context, "other", &got), BURN_STATUS_NOT_FOUND);
    OK(burn_unexport(context, "times"));
    OK(burn_sync(context));
    burn_release(x);
    burn_release(stand_in);
    burn_release(product);
    burn_release(result);
}
END_TEST

/* What the daemon would take for a violation, which ends the connection, is never sent. */
START_TEST(what_no_message_can_say)
{
    char longest[600], *json = NULL;
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    const char *wrong[] = {"\xff\xfe", "\xc3", "\xed\xa0\x80", longest};
    burn_tensor *a = upload(1, 2, 0, (float[]){1, 2});
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *says = i < 3 ? "is not UTF-8" : "has 599 bytes; at most 511", *text = wrong[i];
        burn_status got[] = {burn_create_token(context, text, "", 0, "", &json),
                             burn_create_token(context, "a", text, 0, "", &json),
                             burn_mint_token(context, "a", "", 0, text, &json),
                             burn_revoke_token(context, text),
                             burn_rotate_token(context, text, 0, 0, &json),
                             burn_list_names(context, text, &json)};
        for (size_t k = 0; k < sizeof got / sizeof *got; k++)
            ck_assert_int_eq(got[k], BURN_STATUS_INVALID);
        ck_assert_msg(strstr(burn_last_error()->text, says) != NULL, "%s",
                      burn_last_error()->text);
        burn_program *program = NULL;
        burn_tensor *x = NULL, *y = NULL;
        OK(burn_program_begin(context, &a, 1, &x));
        OK(burn_exp(context, burn_in(x), &y));
        ck_assert_int_eq(burn_program_end(context, &y, 1, text, &program), BURN_STATUS_INVALID);
        burn_program_abort(context);
        burn_release(x), burn_release(y);
        ck_assert_int_eq(burn_export(context, text, NULL, &a, 1, 1), BURN_STATUS_INVALID);
        ck_assert_int_ne(burn_export(context, "a", &text, &a, 1, 1), BURN_STATUS_OK);
    }
    ck_assert_int_eq(burn_cancel(context, UINT64_MAX), BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_close_session(context, UINT64_MAX), BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_create_token(context, "a", "", UINT64_MAX, "", &json),
                     BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_mint_token(context, "a", "", UINT64_MAX, "", &json),
                     BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_rotate_token(context, "a", UINT64_MAX, 0, &json), BURN_STATUS_INVALID);
    ck_assert_int_eq(burn_rotate_token(context, "a", 0, UINT64_MAX, &json), BURN_STATUS_INVALID);
    expect(a, 2, (float[]){1, 2});
    burn_release(a);
}
END_TEST

START_TEST(a_gradient_of_another_connection)
{
    burn_context *mine = context, *other = NULL;
    burn_tensor *a = upload(1, 2, 0, (float[]){1, 2});
    burn_options options = {.struct_size = sizeof options, .private_daemon = 1};
    OK(burn_open(&options, &other));
    context = other;
    burn_tensor *grad = upload(1, 2, 0, (float[]){3, 4});
    context = mine;
    ck_assert_int_eq(burn_set_grad(a, grad), BURN_STATUS_INVALID);
    ck_assert_ptr_nonnull(strstr(burn_last_error()->text, "different connections"));
    ck_assert_ptr_null(burn_grad(a));
    burn_close(other);
    ck_assert_int_eq(burn_set_grad(a, grad), BURN_STATUS_UNAVAILABLE);
    burn_release(grad), burn_release(a);
}
END_TEST

START_TEST(reports)
{
    char *json = NULL;
    OK(burn_report(context, "stats", &json));
    ck_assert_ptr_nonnull(strstr(json, "\"plans\""));
    burn_free(json);
    ck_assert_int_eq(burn_report(context, "weather", &json), BURN_STATUS_INVALID);
    double seconds = -1;
    OK(burn_ping(context, &seconds));
    ck_assert_double_gt(seconds, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("burn.h");
    TCase *cases = tcase_create("api");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, values_go_there_and_back);
    tcase_add_test(cases, errors_tell_what_is_wrong);
    tcase_add_test(cases, an_index_out_of_range_surfaces_at_the_read);
    tcase_add_test(cases, large_transfers);
    tcase_add_test(cases, empty_and_scalar_tensors);
    tcase_add_test(cases, writes_and_views);
    tcase_add_test(cases, gradients);
    tcase_add_test(cases, optimizers);
    tcase_add_test(cases, programs);
    tcase_add_test(cases, threads_share_a_context);
    tcase_add_test(cases, a_child_opens_its_own);
    tcase_add_test(cases, options_without_a_size);
    tcase_add_test(cases, null_arguments);
    tcase_add_test(cases, a_lost_daemon_is_an_error);
    tcase_add_test(cases, tensors_outlive_the_context);
    tcase_add_test(cases, values_by_name);
    tcase_add_test(cases, programs_by_name);
    tcase_add_test(cases, what_no_message_can_say);
    tcase_add_test(cases, a_gradient_of_another_connection);
    tcase_add_test(cases, reports);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
