/* SPDX-License-Identifier: Apache-2.0
 * The id table of a session, the trie of traces, the mailbox. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/mailbox.h"
#include "engine/tensor.h"
#include "engine/trie.h"
#include "proto/base/alloc.h"

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
        ck_assert_int_eq(tensor != NULL, id > 99990);
        if (tensor)
            ck_assert_uint_eq(tensor->value, id * 3);
        ck_assert_ptr_null(bd_tensors_find(&tensors, id * 3 + 1));
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
    bd_trie_insert(trie, (const uint8_t *)"aabbcc", ends, 3, (const uint8_t *)"x", 1, plan(1));
    bd_trie_insert(trie, (const uint8_t *)"aabbcc", ends, 3, (const uint8_t *)"y", 1, plan(2));
    bd_trie_insert(trie, (const uint8_t *)"aabbcd", ends, 3, (const uint8_t *)"x", 1, plan(3));
    bd_trie_insert(trie, (const uint8_t *)"aabb", ends, 2, (const uint8_t *)"", 0, plan(4));
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
        bd_trie_insert(trie, &(uint8_t){(uint8_t)i}, &end, 1, NULL, 0, plan(i));
    uint64_t generation = bd_trie_generation(trie);
    ck_assert_ptr_nonnull(bd_trie_find(trie, bd_trie_walk(trie, &(uint8_t){0}, &end, 1), NULL, 0));
    bd_trie_insert(trie, &(uint8_t){9}, &end, 1, NULL, 0, plan(9));
    ck_assert_int_eq(released, 1);
    ck_assert_uint_ne(bd_trie_generation(trie), generation);
    ck_assert_ptr_null(bd_trie_walk(trie, &(uint8_t){1}, &end, 1));
    ck_assert_ptr_nonnull(bd_trie_walk(trie, &(uint8_t){0}, &end, 1));
    ck_assert_uint_eq(bd_trie_plan_count(trie), 3);
    bd_trie_destroy(trie);
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
    tcase_add_test(tests, letters_arrive_in_order);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
