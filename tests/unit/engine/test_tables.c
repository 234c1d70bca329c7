/* SPDX-License-Identifier: Apache-2.0
 * The id table of a session, the trie of traces, the mailbox. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/mailbox.h"
#include "engine/tensor.h"
#include "engine/tracer.h"
#include "engine/trie.h"
#include "proto/base/alloc.h"
#include "tests/unit/expect.h"

static void add(bd_tensors *tensors, uint64_t id)
{
    bd_tensor *tensor = bd_tensors_add(tensors, id);
    tensor->state = BD_TENSOR_VALUE;
    tensor->value = (uint32_t)id;
}

START_TEST(tensors_are_found_until_freed)
{
    bd_tensors tensors;
    bd_tensors_init(&tensors);
    ck_assert_ptr_null(bd_tensors_find(&tensors, 1));
    for (uint64_t id = 1; id <= 100000; id++) {
        add(&tensors, id * 3);
        if (id > 10)
            bd_tensors_free(&tensors, (id - 10) * 3);
    }
    ck_assert_uint_eq(tensors.live, 10);
    ck_assert_uint_le(tensors.runs.count, 3); /* what holds nothing is forgotten */
    for (uint64_t id = 1; id <= 100000; id++) {
        bd_tensor *tensor = bd_tensors_find(&tensors, id * 3);
        expect((tensor != NULL) == (id > 99990), "tensor %u", (unsigned)id);
        expect(!tensor || tensor->value == id * 3, "tensor %u is another one", (unsigned)id);
        expect(!bd_tensors_find(&tensors, id * 3 + 1), "tensor %u was never made", (unsigned)id);
    }
    bd_tensors_deinit(&tensors);
}
END_TEST

START_TEST(tensors_with_chosen_ids_do_not_collide)
{
    bd_tensors tensors;
    bd_tensors_init(&tensors);
    for (uint64_t i = 1; i <= 20000; i++)
        add(&tensors, i << 20);
    for (uint64_t i = 1; i <= 20000; i++)
        ck_assert_ptr_nonnull(bd_tensors_find(&tensors, i << 20));
    bd_tensors_deinit(&tensors);
}
END_TEST

/* ---- trie ---- */

static int released;
static void count_release(bd_known *known)
{
    (void)known;
    released++;
}
static char plans[4096];
static bd_known *plan(int i)
{
    return (bd_known *)(void *)&plans[i];
}

START_TEST(traces_are_told_apart_by_all_bytes)
{
    bd_trie *trie = bd_trie_create(100, 1 << 20, count_release);
    uint32_t ends[] = {2, 4, 6};
    bd_trie_insert(trie, (const uint8_t *)"aabbcc", ends, 3, (const uint8_t *)"x", 1, plan(1), 0);
    bd_trie_insert(trie, (const uint8_t *)"aabbcc", ends, 3, (const uint8_t *)"y", 1, plan(2), 0);
    bd_trie_insert(trie, (const uint8_t *)"aabbcd", ends, 3, (const uint8_t *)"x", 1, plan(3), 0);
    bd_trie_insert(trie, (const uint8_t *)"aabb", ends, 2, (const uint8_t *)"", 0, plan(4), 0);
    bd_trie_node *node = bd_trie_walk(trie, (const uint8_t *)"aabbcc", ends, 3);
    ck_assert_ptr_nonnull(node);
    ck_assert_ptr_eq(bd_trie_find(trie, node, (const uint8_t *)"x", 1), plan(1));
    ck_assert_ptr_eq(bd_trie_find(trie, node, (const uint8_t *)"y", 1), plan(2));
    ck_assert_ptr_null(bd_trie_find(trie, node, (const uint8_t *)"z", 1));
    node = bd_trie_walk(trie, (const uint8_t *)"aabbcd", ends, 3);
    ck_assert_ptr_eq(bd_trie_find(trie, node, (const uint8_t *)"x", 1), plan(3));
    node = bd_trie_walk(trie, (const uint8_t *)"aabb", ends, 2);
    ck_assert_ptr_eq(bd_trie_find(trie, node, NULL, 0), plan(4));
    ck_assert_ptr_null(bd_trie_walk(trie, (const uint8_t *)"aabbce", ends, 3));
    uint32_t other[] = {1, 3, 6};
    ck_assert_ptr_null(bd_trie_walk(trie, (const uint8_t *)"aabbcc", other, 3));
    released = 0;
    bd_trie_destroy(trie);
    ck_assert_int_eq(released, 4);
}
END_TEST

START_TEST(the_least_recently_used_plan_goes)
{
    bd_trie *trie = bd_trie_create(3, 1 << 20, count_release);
    uint32_t end = 1;
    released = 0;
    for (int i = 0; i < 3; i++)
        bd_trie_insert(trie, &(uint8_t){(uint8_t)i}, &end, 1, NULL, 0, plan(i), 0);
    uint64_t generation = bd_trie_generation(trie);
    ck_assert_ptr_nonnull(bd_trie_find(trie, bd_trie_walk(trie, &(uint8_t){0}, &end, 1), NULL, 0));
    bd_trie_insert(trie, &(uint8_t){9}, &end, 1, NULL, 0, plan(9), 0);
    ck_assert_int_eq(released, 1);
    ck_assert_uint_ne(bd_trie_generation(trie), generation);
    ck_assert_ptr_null(bd_trie_walk(trie, &(uint8_t){1}, &end, 1));
    ck_assert_ptr_nonnull(bd_trie_walk(trie, &(uint8_t){0}, &end, 1));
    ck_assert_uint_eq(bd_trie_plan_count(trie), 3);
    bd_trie_destroy(trie);
}
END_TEST

/* ---- traces ---- */

static uint32_t append(bd_tracer *tracer, burn_op number, bd_tensor *a, bd_tensor *b, uint64_t id)
{
    burn_operand operands[2] = {{.kind = BURN_OPERAND_TENSOR}, {.kind = BURN_OPERAND_TENSOR}};
    if (!b)
        operands[1] = (burn_operand){.kind = BURN_OPERAND_FLOAT, .f = (double)id};
    burn_op_record record = {.info = burn_op_lookup((int)number),
                             .input_count = 2,
                             .inputs = operands,
                             .output_count = 1};
    bd_trace_value *room = bd_tracer_room(tracer, 1);
    room->type = (burn_tensor_type){BURN_F32, {1, {4}}};
    return bd_tracer_append(tracer, &record, (bd_tensor *[]){a, b}, &id, id);
}

static bd_tensor value_tensor(uint32_t value)
{
    return (bd_tensor){.state = BD_TENSOR_VALUE, .value = value};
}

/* A trace without a record is the trace that would have been recorded without it. */
START_TEST(records_are_left_out)
{
    bd_tracer whole, part;
    bd_tracer_init(&whole);
    bd_tracer_init(&part);
    bd_tensor first = value_tensor(append(&whole, BURN_OP_ADD, NULL, NULL, 1));
    bd_tensor bad = value_tensor(append(&whole, BURN_OP_SUB, &first, NULL, 2));
    append(&whole, BURN_OP_MUL, &bad, &first, 3);
    bd_tensor good = value_tensor(append(&whole, BURN_OP_DIV, &first, NULL, 4));
    append(&whole, BURN_OP_POW, &good, &first, 5);
    uint8_t spoiled[6] = {0};
    bd_tracer_leave_out(&whole, 1, spoiled);
    ck_assert_mem_eq(spoiled, ((uint8_t[]){0, 1, 1, 0, 0}), 5);
    bd_tracer_compact(&whole, spoiled);

    bd_tensor same = value_tensor(append(&part, BURN_OP_ADD, NULL, NULL, 1));
    bd_tensor next = value_tensor(append(&part, BURN_OP_DIV, &same, NULL, 4));
    append(&part, BURN_OP_POW, &next, &same, 5);
    bd_trace a, b;
    bd_tracer_finish(&whole, &a);
    bd_tracer_finish(&part, &b);
    ck_assert_uint_eq(a.record_count, 3);
    ck_assert_uint_eq(a.value_count, 3);
    ck_assert_uint_eq(whole.key.count, part.key.count);
    ck_assert_mem_eq(whole.key.items, part.key.items, part.key.count);
    ck_assert_uint_eq(whole.tail.count, part.tail.count);
    ck_assert_mem_eq(whole.tail.items, part.tail.items, part.tail.count);
    ck_assert_uint_eq(a.scalar_count, b.scalar_count);
    ck_assert_mem_eq(a.scalars_as_double, b.scalars_as_double, b.scalar_count * sizeof(double));
    ck_assert_mem_eq(whole.ids.items, part.ids.items, 3 * sizeof(uint64_t));
    ck_assert_uint_eq(whole.surviving, 3);
    bd_tracer_deinit(&whole);
    bd_tracer_deinit(&part);
}
END_TEST

/* ---- mailbox ---- */

typedef struct numbered {
    bd_letter letter;
    int number;
} numbered;

static void *send_many(void *user)
{
    for (int i = 0; i < 10000; i++) {
        numbered *letter = bd_alloc(sizeof *letter);
        letter->number = i;
        bd_mailbox_push(user, &letter->letter);
    }
    return NULL;
}

START_TEST(letters_arrive_in_order)
{
    bd_mailbox *box = bd_mailbox_create();
    ck_assert_ptr_null(bd_mailbox_take(box));
    ck_assert_ptr_null(bd_mailbox_take_all(box, 1000));
    pthread_t thread;
    pthread_create(&thread, NULL, send_many, box);
    int expected = 0;
    while (expected < 10000) {
        bd_letter *letter = bd_mailbox_take_all(box, -1);
        while (letter) {
            bd_letter *next = letter->next;
            ck_assert_int_eq(((numbered *)letter)->number, expected);
            expected++;
            bd_free(letter);
            letter = next;
        }
    }
    pthread_join(thread, NULL);
    bd_mailbox_close(box);
    ck_assert_ptr_null(bd_mailbox_take_all(box, -1));
    ck_assert_ptr_null(bd_mailbox_wait(box));
    bd_mailbox_destroy(box);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tables");
    TCase *tests = tcase_create("tables");
    tcase_set_timeout(tests, 60);
    tcase_add_test(tests, tensors_are_found_until_freed);
    tcase_add_test(tests, tensors_with_chosen_ids_do_not_collide);
    tcase_add_test(tests, traces_are_told_apart_by_all_bytes);
    tcase_add_test(tests, the_least_recently_used_plan_goes);
    tcase_add_test(tests, records_are_left_out);
    tcase_add_test(tests, letters_arrive_in_order);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
