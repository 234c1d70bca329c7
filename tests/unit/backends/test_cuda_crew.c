/* SPDX-License-Identifier: Apache-2.0
 * Threads that compile and help one another: all tasks are made once, the longest first, and whose
 * work it was is told. */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "backends/cuda/crew.h"
#include "proto/base/clock.h"

enum { THREADS = 4, ROUNDS = 50, TASKS = 5, ORDERED = 6 };

static bd_cuda_crew *crew;

static void setup(void)
{
    crew = bd_cuda_crew_create();
}

static void teardown(void)
{
    bd_cuda_crew_destroy(crew);
}

static int order[ORDERED], ordered;

static void note_cost(bd_cuda_task *task)
{
    order[ordered++] = task->cost;
}

START_TEST(the_longest_is_made_first)
{
    static const int costs[ORDERED] = {3, 9, 1, 9, 20, 4}, want[ORDERED] = {20, 9, 9, 4, 3, 1};
    bd_cuda_task tasks[ORDERED], *all[ORDERED];
    for (int i = 0; i < ORDERED; i++) {
        tasks[i] = (bd_cuda_task){.make = note_cost, .cost = costs[i]};
        all[i] = &tasks[i];
    }
    bd_cuda_crew_run(crew, all, ORDERED);
    ck_assert_int_eq(ordered, ORDERED);
    ck_assert_mem_eq(order, want, sizeof want);
    ck_assert_int_eq(bd_cuda_crew_lent_ns(), 0);
}
END_TEST

typedef struct counted {
    bd_cuda_task task;
    atomic_int made;
} counted;

static void count_up(bd_cuda_task *task)
{
    atomic_fetch_add(&((counted *)task)->made, 1);
}

static _Atomic int64_t lent_ns;

static void *run_rounds(void *user)
{
    for (int round = 0; round < ROUNDS; round++) {
        counted tasks[TASKS] = {0};
        bd_cuda_task *all[TASKS];
        int count = 1 + round % TASKS;
        for (int i = 0; i < count; i++) {
            tasks[i].task = (bd_cuda_task){.make = count_up, .cost = (round + i) % 3};
            all[i] = &tasks[i].task;
        }
        bd_cuda_crew_run(crew, all, count);
        for (int i = 0; i < count; i++)
            ck_assert_int_eq(atomic_load(&tasks[i].made), 1);
    }
    atomic_fetch_add(&lent_ns, bd_cuda_crew_lent_ns());
    return user;
}

START_TEST(many_threads_make_each_task_once)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, run_rounds, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_eq(atomic_load(&lent_ns), 0); /* what one lent another was lent */
}
END_TEST

/* The owner's first task ends when the helper's own is done: the others are left to the helper. */
enum { OWNED = 8, HELPED_MOST = 4, WORK_NS = 2000000 };
typedef struct shared_task {
    bd_cuda_task task;
    bool waits, is_helpers;
} shared_task;
static atomic_bool begun, helper_done;
static atomic_int made, made_before_own;

static void make_shared(bd_cuda_task *task)
{
    const shared_task *shared = (shared_task *)task;
    int64_t until_ns = bd_worked_ns() + WORK_NS;
    while (bd_worked_ns() < until_ns)
        ;
    if (shared->is_helpers) {
        atomic_store(&made_before_own, atomic_load(&made));
        atomic_store(&helper_done, true);
        return;
    }
    atomic_fetch_add(&made, 1);
    atomic_store(&begun, true);
    while (shared->waits && !atomic_load(&helper_done))
        ;
}

static void *bring_many(void *user)
{
    shared_task tasks[OWNED];
    bd_cuda_task *all[OWNED];
    for (int i = 0; i < OWNED; i++) {
        tasks[i] = (shared_task){.task = {.make = make_shared, .cost = i ? 5 : 6}, .waits = i == 0};
        all[i] = &tasks[i].task;
    }
    bd_cuda_crew_run(crew, all, OWNED);
    *(int64_t *)user = bd_cuda_crew_lent_ns();
    return NULL;
}

START_TEST(who_waits_makes_what_others_lack_and_then_his_own)
{
    pthread_t owner;
    int64_t owner_lent_ns = 0;
    ck_assert_int_eq(pthread_create(&owner, NULL, bring_many, &owner_lent_ns), 0);
    while (!atomic_load(&begun))
        ;
    shared_task own = {.task = {.make = make_shared, .cost = 1}, .is_helpers = true};
    bd_cuda_task *all[] = {&own.task};
    bd_cuda_crew_run(crew, all, 1);
    int64_t helper_lent_ns = bd_cuda_crew_lent_ns();
    pthread_join(owner, NULL);
    ck_assert_int_eq(atomic_load(&made_before_own), 1 + HELPED_MOST); /* the owner's first, too */
    ck_assert_int_eq(atomic_load(&made), OWNED);
    ck_assert_int_ge(helper_lent_ns, HELPED_MOST * (int64_t)WORK_NS);
    ck_assert_int_eq(owner_lent_ns, -helper_lent_ns);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda crew");
    TCase *cases = tcase_create("crew");
    tcase_add_checked_fixture(cases, setup, teardown);
    tcase_set_timeout(cases, 120);
    tcase_add_test(cases, the_longest_is_made_first);
    tcase_add_test(cases, many_threads_make_each_task_once);
    tcase_add_test(cases, who_waits_makes_what_others_lack_and_then_his_own);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
