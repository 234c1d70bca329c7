/* SPDX-License-Identifier: Apache-2.0
 * Tensors over a client whose other end only listens: what is recorded, what is refused, what is
 * freed. Values are the matter of test_api.c. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "client/core/recording.h"
#include "loopback.h"
#include "proto/base/alloc.h"

static bd_session *session;
static loopback loop;

static void begin_with(uint32_t op_revision)
{
    session = bd_session_create("test 1", NULL, NULL, 0);
    loopback_init(&loop, bd_session_client(session));
    loop.op_revision = op_revision;
    loopback_open(&loop, 1 << 24);
}

static void begin(void)
{
    begin_with(burn_op_table_revision);
}

static void end(void)
{
    bd_client_fail(bd_session_client(session), BD_ERROR(UNAVAILABLE, "over"));
    loopback_deinit(&loop);
    bd_session_destroy(session);
}

/* ---- shorthand ---- */

static burn_tensor *full(int rank, int64_t a, int64_t b, burn_dtype dtype)
{
    int64_t dims[2] = {a, b};
    bd_input_operand value = {.kind = BURN_OPERAND_FLOAT, .f = 1.5};
    burn_attr attrs[BURN_OP_ATTRS_MAX] = {{.values = dims, .count = (uint32_t)rank},
                                          {.value = dtype}};
    burn_tensor *out = NULL;
    ck_assert_ptr_null(
        bd_session_apply(session, burn_op_lookup(BURN_OP_FULL), &value, 1, attrs, &out, 1));
    return out;
}

static bd_error *try_op(int op, burn_tensor *a, burn_tensor *b, burn_tensor **out)
{
    bd_input_operand inputs[2] = {{.kind = BURN_OPERAND_TENSOR, .tensor = a},
                                  {.kind = BURN_OPERAND_TENSOR, .tensor = b}};
    return bd_session_apply(session, burn_op_lookup(op), inputs, b ? 2 : 1, NULL, out, 1);
}

static burn_tensor *op(int number, burn_tensor *a, burn_tensor *b)
{
    burn_tensor *out = NULL;
    ck_assert_ptr_null(try_op(number, a, b, &out));
    return out;
}

static burn_tensor *reshape(burn_tensor *x, int rank, int64_t a, int64_t b)
{
    int64_t dims[2] = {a, b};
    bd_input_operand input = {.kind = BURN_OPERAND_TENSOR, .tensor = x};
    burn_attr attrs[BURN_OP_ATTRS_MAX] = {{.values = dims, .count = (uint32_t)rank}};
    burn_tensor *out = NULL;
    ck_assert_ptr_null(
        bd_session_apply(session, burn_op_lookup(BURN_OP_RESHAPE), &input, 1, attrs, &out, 1));
    return out;
}

static burn_tensor *transpose(burn_tensor *x)
{
    int64_t dims[2] = {1, 0};
    bd_input_operand input = {.kind = BURN_OPERAND_TENSOR, .tensor = x};
    burn_attr attrs[BURN_OP_ATTRS_MAX] = {{.values = dims, .count = 2}};
    burn_tensor *out = NULL;
    ck_assert_ptr_null(
        bd_session_apply(session, burn_op_lookup(BURN_OP_PERMUTE), &input, 1, attrs, &out, 1));
    return out;
}

static burn_tensor *rows(burn_tensor *x, int64_t start, int64_t stop)
{
    int64_t starts[2] = {start, 0}, stops[2] = {stop, bd_tensor_type(x)->shape.dims[1]},
            steps[2] = {1, 1};
    bd_input_operand input = {.kind = BURN_OPERAND_TENSOR, .tensor = x};
    burn_attr attrs[BURN_OP_ATTRS_MAX] = {{.values = starts, .count = 2},
                                          {.values = stops, .count = 2},
                                          {.values = steps, .count = 2}};
    burn_tensor *out = NULL;
    ck_assert_ptr_null(
        bd_session_apply(session, burn_op_lookup(BURN_OP_SLICE), &input, 1, attrs, &out, 1));
    return out;
}

static uint64_t id_of(burn_tensor *x)
{
    uint64_t id = 0;
    ck_assert_ptr_null(bd_tensor_id(x, &id));
    return id;
}

static bd_error *assign(burn_tensor *target, burn_tensor *source, int flags)
{
    bd_input_operand operand = {.kind = BURN_OPERAND_TENSOR, .tensor = source};
    return bd_tensor_assign(target, &operand, flags);
}

static void expect(bd_error *error, const char *words)
{
    ck_assert_ptr_nonnull(error);
    ck_assert_msg(strstr(bd_error_text(error), words) != NULL, "%s", bd_error_text(error));
    bd_error_free(error);
}

static void release(burn_tensor *a, burn_tensor *b, burn_tensor *c)
{
    burn_tensor *all[] = {a, b, c};
    for (int i = 0; i < 3; i++)
        if (all[i])
            bd_tensor_release(all[i]);
}

/* ---- ops ---- */

START_TEST(shapes_are_checked_at_once)
{
    burn_tensor *a = full(2, 2, 3, BURN_F32), *b = full(2, 3, 4, BURN_F32), *out = NULL;
    size_t before = loopback_count(&loop, "add");
    bd_error *error = try_op(BURN_OP_ADD, a, b, &out);
    ck_assert_msg(strstr(bd_error_text(error), "[2, 3]") && strstr(bd_error_text(error), "[3, 4]"),
                  "%s", bd_error_text(error));
    bd_error_free(error);
    ck_assert_ptr_null(out);
    ck_assert_uint_eq(loopback_count(&loop, "add"), before);
    release(a, b, NULL);
}
END_TEST

START_TEST(a_daemon_with_an_older_table_lacks_the_op)
{
    end();
    begin_with(0);
    bd_input_operand value = {.kind = BURN_OPERAND_FLOAT, .f = 1.5};
    burn_tensor *out = NULL;
    expect(bd_session_apply(session, burn_op_lookup(BURN_OP_NEG), &value, 1, NULL, &out, 1),
           "neg came with op table 1; the daemon has table 0");
    ck_assert_ptr_null(out);
}
END_TEST

START_TEST(ids_and_frees)
{
    burn_tensor *a = full(2, 2, 3, BURN_F32), *b = op(BURN_OP_EXP, a, NULL);
    ck_assert_uint_eq(id_of(b), id_of(a) + 1);
    uint64_t gone = id_of(a);
    release(a, NULL, NULL);
    loopback_drain_all(&loop);
    const burn_op_record *last = &loop.records.items[loop.records.count - 1];
    ck_assert_str_eq(last->info->name, "free");
    ck_assert_uint_eq(last->input_count, 1);
    ck_assert_uint_eq(last->inputs[0].id, gone);
    release(b, NULL, NULL);
}
END_TEST

START_TEST(in_place_is_a_new_value)
{
    burn_tensor *a = full(2, 2, 3, BURN_F32), *b = op(BURN_OP_EXP, a, NULL);
    ck_assert_ptr_null(assign(a, b, 0));
    ck_assert_uint_eq(id_of(a), id_of(b)); /* nothing is copied */
    ck_assert_uint_eq(bd_tensor_version(a), 1);
    burn_tensor *wrong = full(2, 3, 3, BURN_F32);
    expect(assign(a, wrong, 0), "[2, 3]");
    burn_tensor *ints = full(2, 2, 3, BURN_I64);
    expect(assign(ints, a, 0),
           "result type float32 can't be cast to the desired output type int64");
    ck_assert_ptr_null(assign(ints, a, BD_ASSIGN_CAST));
    ck_assert_int_eq(bd_tensor_type(ints)->dtype, BURN_I64);
    release(a, b, wrong);
    release(ints, NULL, NULL);
}
END_TEST

/* ---- views ---- */

START_TEST(write_through_a_slice)
{
    burn_tensor *base = full(2, 4, 3, BURN_F32), *view = rows(base, 1, 3),
                *value = full(2, 2, 3, BURN_F32);
    ck_assert(bd_tensor_is_view(view));
    uint64_t before = id_of(base);
    ck_assert_ptr_null(assign(view, value, 0));
    const burn_op_record *update = loopback_last(&loop, "slice_update");
    ck_assert_uint_eq(update->inputs[0].id, before);
    ck_assert_uint_eq(update->inputs[1].id, id_of(value));
    ck_assert_int_eq(update->attrs[0].values[0], 1);
    ck_assert_uint_eq(id_of(base), update->first_output);
    ck_assert_uint_eq(id_of(view), id_of(value));
    release(base, view, value);
}
END_TEST

START_TEST(write_through_a_chain)
{
    burn_tensor *base = full(2, 4, 3, BURN_F32), *turned = transpose(base),
                *part = rows(turned, 0, 2);
    burn_tensor *flat = reshape(base, 1, 12, 0), *value = full(2, 2, 4, BURN_F32);
    ck_assert_ptr_null(assign(part, value, 0));
    const burn_op_record *back =
        loopback_last(&loop, "permute"); /* slice_update, then the way back */
    ck_assert_uint_eq(loopback_count(&loop, "slice_update"), 1);
    ck_assert_uint_eq(id_of(base), back->first_output);
    uint64_t stale = id_of(flat); /* is read again from the new base */
    const burn_op_record *again = loopback_last(&loop, "reshape");
    ck_assert_uint_eq(again->inputs[0].id, id_of(base));
    ck_assert_uint_eq(again->first_output, stale);
    release(base, turned, part);
    release(flat, value, NULL);
}
END_TEST

START_TEST(write_to_the_base_shows_in_views)
{
    burn_tensor *base = full(2, 4, 3, BURN_F32), *view = rows(base, 0, 2),
                *value = full(2, 4, 3, BURN_F32);
    uint64_t before = id_of(view);
    ck_assert_ptr_null(assign(base, value, 0));
    ck_assert_uint_ne(id_of(view), before);
    ck_assert_uint_eq(loopback_last(&loop, "slice")->inputs[0].id, id_of(value));
    release(base, view, value);
}
END_TEST

START_TEST(expanded_memory_is_not_written)
{
    burn_tensor *base = full(2, 1, 3, BURN_F32), *value = full(2, 4, 3, BURN_F32), *wide = NULL;
    int64_t dims[2] = {4, 3};
    bd_input_operand input = {.kind = BURN_OPERAND_TENSOR, .tensor = base};
    burn_attr attrs[BURN_OP_ATTRS_MAX] = {{.values = dims, .count = 2}};
    ck_assert_ptr_null(
        bd_session_apply(session, burn_op_lookup(BURN_OP_EXPAND), &input, 1, attrs, &wide, 1));
    expect(assign(wide, value, 0),
           "more than one element of the written-to tensor refers to a single memory location");
    release(base, value, wide);
}
END_TEST

START_TEST(the_last_view_lets_its_base_go)
{
    burn_tensor *base = full(2, 4, 3, BURN_F32), *view = rows(base, 0, 2);
    uint64_t gone = id_of(base);
    release(base, NULL, NULL);
    loopback_drain_all(&loop);
    const burn_op_record *last = &loop.records.items[loop.records.count - 1];
    ck_assert_str_eq(last->info->name, "free");
    ck_assert_uint_eq(last->inputs[0].id, gone);
    ck_assert(!bd_tensor_is_view(view));
    release(view, NULL, NULL);
}
END_TEST

START_TEST(strides_decide_what_a_reshape_is)
{
    burn_tensor *base = full(2, 4, 3, BURN_F32), *turned = transpose(base);
    burn_tensor *copy = reshape(turned, 1, 12, 0), *shared = reshape(base, 2, 2, 6);
    ck_assert(bd_tensor_is_contiguous(base));
    ck_assert(!bd_tensor_is_contiguous(turned));
    ck_assert(!bd_tensor_is_view(copy));
    ck_assert(bd_tensor_is_view(shared));
    int64_t strides[BURN_RANK_MAX];
    bd_tensor_strides(turned, strides);
    ck_assert_int_eq(strides[0], 1);
    ck_assert_int_eq(strides[1], 3);
    release(base, turned, copy);
    release(shared, NULL, NULL);
}
END_TEST

/* ---- gradients ---- */

START_TEST(backward_asks_for_the_leaves)
{
    burn_tensor *x = full(2, 2, 3, BURN_F32), *w = full(2, 2, 3, BURN_F32),
                *unused = full(2, 2, 3, BURN_F32);
    ck_assert_ptr_null(bd_tensor_set_requires_grad(w, true));
    ck_assert_ptr_null(bd_tensor_set_requires_grad(unused, true));
    burn_tensor *y = op(BURN_OP_MUL, x, w), *loss = op(BURN_OP_SUM, y, NULL);
    ck_assert(bd_tensor_requires_grad(loss) && !bd_tensor_is_leaf(loss) && bd_tensor_is_leaf(w));
    ck_assert_ptr_null(bd_session_backward(session, &loss, NULL, 1, NULL, 0, NULL, 0, 0));
    const burn_op_record *grad = loopback_last(&loop, "grad");
    ck_assert_uint_eq(grad->input_count, 3);
    ck_assert_uint_eq(grad->inputs[0].id, id_of(loss));
    ck_assert_int_eq(grad->inputs[1].kind, BURN_OPERAND_ABSENT);
    ck_assert_uint_eq(grad->inputs[2].id, id_of(w));
    ck_assert_uint_eq(id_of(bd_tensor_grad(w)), grad->first_output);
    ck_assert_ptr_null(bd_tensor_grad(unused));
    ck_assert_ptr_null(bd_tensor_grad(x));
    expect(bd_session_backward(session, &loss, NULL, 1, NULL, 0, NULL, 0, 0),
           "backward through the graph a second time");
    release(x, w, unused);
    release(y, loss, NULL);
}
END_TEST

START_TEST(gradients_accumulate)
{
    burn_tensor *w = full(2, 2, 3, BURN_F32);
    ck_assert_ptr_null(bd_tensor_set_requires_grad(w, true));
    for (int i = 0; i < 2; i++) {
        burn_tensor *loss = op(BURN_OP_SUM, w, NULL);
        ck_assert_ptr_null(bd_session_backward(session, &loss, NULL, 1, NULL, 0, NULL, 0, 0));
        release(loss, NULL, NULL);
    }
    const burn_op_record *add = loopback_last(&loop, "add");
    ck_assert_uint_eq(id_of(bd_tensor_grad(w)), add->first_output);
    release(w, NULL, NULL);
}
END_TEST

START_TEST(no_grad_keeps_history_away)
{
    burn_tensor *w = full(2, 2, 3, BURN_F32);
    ck_assert_ptr_null(bd_tensor_set_requires_grad(w, true));
    burn_tensor *tracked = op(BURN_OP_EXP, w, NULL);
    ck_assert_int_eq(loopback_last(&loop, "exp")->flags & BURN_RECORD_TRACK, BURN_RECORD_TRACK);
    bd_session_set_grad(session, false);
    burn_tensor *plain = op(BURN_OP_EXP, w, NULL);
    ck_assert_int_eq(loopback_last(&loop, "exp")->flags & BURN_RECORD_TRACK, 0);
    bd_session_set_grad(session, true);
    burn_tensor *truth = op(BURN_OP_GT, tracked, w);
    ck_assert(!bd_tensor_requires_grad(plain) && !bd_tensor_requires_grad(truth));
    release(w, tracked, plain);
    release(truth, NULL, NULL);
}
END_TEST

START_TEST(leaves_are_not_written_with_gradients_on)
{
    burn_tensor *w = full(2, 2, 3, BURN_F32), *value = full(2, 2, 3, BURN_F32), *view = NULL;
    ck_assert_ptr_null(bd_tensor_set_requires_grad(w, true));
    expect(assign(w, value, 0),
           "a leaf Variable that requires grad is being used in an in-place operation");
    view = transpose(w);
    burn_tensor *turned = transpose(value);
    expect(assign(view, turned, 0), "a view of a leaf Variable that requires grad");
    bd_session_set_grad(session, false);
    ck_assert_ptr_null(assign(w, value, 0));
    bd_session_set_grad(session, true);
    ck_assert(bd_tensor_is_leaf(w) && bd_tensor_requires_grad(w));
    ck_assert_uint_ne(id_of(w), id_of(value)); /* a leaf's id is its own */
    release(w, value, view);
    release(turned, NULL, NULL);
}
END_TEST

START_TEST(long_histories_end_without_recursion)
{
    burn_tensor *x = full(2, 1, 1, BURN_F32);
    ck_assert_ptr_null(bd_tensor_set_requires_grad(x, true));
    burn_tensor *y = op(BURN_OP_EXP, x, NULL);
    for (int i = 0; i < 200000; i++) {
        burn_tensor *next = op(BURN_OP_NEG, y, NULL);
        bd_tensor_release(y);
        y = next;
        if (i % 1000 == 0)
            loopback_drain(&loop);
    }
    release(x, y, NULL);
}
END_TEST

/* ---- programs ---- */

START_TEST(recording_sends_nothing)
{
    burn_tensor *a = full(2, 2, 3, BURN_F32), *state = full(2, 2, 3, BURN_F32), *stand_in = NULL;
    loopback_drain_all(&loop);
    size_t before = loop.records.count;
    ck_assert_ptr_null(bd_recording_begin(session, &a, 1, &stand_in));
    burn_tensor *sum = op(BURN_OP_ADD, stand_in, state);
    ck_assert_ptr_null(assign(state, sum, 0));
    uint64_t id = 0;
    expect(bd_tensor_id(sum, &id), "being recorded");
    bd_pending pending = {0};
    bd_program *program = NULL;
    ck_assert_ptr_null(bd_recording_end(session, &sum, 1, "test", &pending, &program));
    const bd_message *define = loopback_message(&loop, BD_MESSAGE_PROGRAM_DEFINE);
    ck_assert_uint_eq(define->program_define.inputs, 2);
    ck_assert_uint_eq(loop.records.count, before);
    uint64_t old = id_of(state);
    burn_tensor *out = NULL;
    ck_assert_ptr_null(bd_program_call(program, &a, 1, &out));
    const burn_op_record *call = loopback_last(&loop, "call");
    ck_assert_uint_eq(call->input_count, 2);
    ck_assert_uint_eq(call->inputs[0].id, id_of(a));
    ck_assert_uint_eq(call->inputs[1].id, old);
    ck_assert_int_eq(call->attrs[1].value, 2); /* the sum, and the state's new value */
    ck_assert_uint_eq(id_of(out), call->first_output);
    ck_assert_uint_eq(id_of(state), call->first_output + 1);
    burn_tensor *wrong = full(2, 3, 3, BURN_F32), *none = NULL;
    expect(bd_program_call(program, &wrong, 1, &none), "argument 0 of the program");
    bd_client_forget(bd_session_client(session), &pending);
    bd_program_destroy(program);
    release(a, state, stand_in);
    release(sum, out, wrong);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tensors");
    TCase *cases = tcase_create("core");
    tcase_add_checked_fixture(cases, begin, end);
    tcase_set_timeout(cases, 60);
    tcase_add_test(cases, shapes_are_checked_at_once);
    tcase_add_test(cases, a_daemon_with_an_older_table_lacks_the_op);
    tcase_add_test(cases, ids_and_frees);
    tcase_add_test(cases, in_place_is_a_new_value);
    tcase_add_test(cases, write_through_a_slice);
    tcase_add_test(cases, write_through_a_chain);
    tcase_add_test(cases, write_to_the_base_shows_in_views);
    tcase_add_test(cases, expanded_memory_is_not_written);
    tcase_add_test(cases, the_last_view_lets_its_base_go);
    tcase_add_test(cases, strides_decide_what_a_reshape_is);
    tcase_add_test(cases, backward_asks_for_the_leaves);
    tcase_add_test(cases, gradients_accumulate);
    tcase_add_test(cases, no_grad_keeps_history_away);
    tcase_add_test(cases, leaves_are_not_written_with_gradients_on);
    tcase_add_test(cases, long_histories_end_without_recursion);
    tcase_add_test(cases, recording_sends_nothing);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
