/* SPDX-License-Identifier: Apache-2.0
 * Places within an arena: nothing that lives at the same time overlaps, and little is wasted. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "engine/known.h"
#include "tests/unit/expect.h"

enum { GROUPS_MAX = 400, LAUNCHES_MAX = 200 };

typedef struct demand {
    bd_plan plan;
    bd_known known;
    bd_known_group groups[GROUPS_MAX];
    uint32_t by_first[GROUPS_MAX], by_last[GROUPS_MAX];
    size_t bytes[GROUPS_MAX], offsets[GROUPS_MAX];
    size_t scratch[LAUNCHES_MAX], scratch_offsets[LAUNCHES_MAX];
} demand;

static demand wanted;

static int by_first(const void *a, const void *b)
{
    const bd_known_group *left = &wanted.groups[*(const uint32_t *)a];
    const bd_known_group *right = &wanted.groups[*(const uint32_t *)b];
    return (left->first_launch > right->first_launch) - (left->first_launch < right->first_launch);
}

static int by_last(const void *a, const void *b)
{
    const bd_known_group *left = &wanted.groups[*(const uint32_t *)a];
    const bd_known_group *right = &wanted.groups[*(const uint32_t *)b];
    return (left->last_launch > right->last_launch) - (left->last_launch < right->last_launch);
}

static void begin(uint32_t launches)
{
    memset(&wanted, 0, sizeof wanted);
    wanted.plan.launch_count = launches;
    wanted.known.plan = &wanted.plan;
    wanted.known.groups = wanted.groups;
    wanted.known.by_first = wanted.by_first;
    wanted.known.by_last = wanted.by_last;
}

static void add(uint32_t first, uint32_t last, size_t bytes)
{
    uint32_t number = wanted.known.group_count++;
    wanted.known.arena_count++;
    wanted.groups[number] = (bd_known_group){BD_PLAN_NONE, BD_PLAN_NONE, first, last};
    wanted.bytes[number] = bytes;
    wanted.by_first[number] = wanted.by_last[number] = number;
}

static size_t place(void)
{
    qsort(wanted.by_first, wanted.known.arena_count, sizeof *wanted.by_first, by_first);
    qsort(wanted.by_last, wanted.known.arena_count, sizeof *wanted.by_last, by_last);
    return bd_known_place(&wanted.known, wanted.bytes, wanted.offsets, wanted.scratch,
                          wanted.scratch_offsets);
}

static bool apart(size_t a, size_t a_bytes, size_t b, size_t b_bytes)
{
    return a + a_bytes <= b || b + b_bytes <= a || !a_bytes || !b_bytes;
}

/* Returns the most bytes that live at a time. */
static size_t check(size_t end)
{
    size_t most = 0;
    for (uint32_t launch = 0; launch < wanted.plan.launch_count; launch++) {
        size_t live = wanted.scratch[launch], at = wanted.scratch_offsets[launch];
        ck_assert_uint_eq(at % 64, 0);
        ck_assert(!live || at + live <= end);
        for (uint32_t i = 0; i < wanted.known.group_count; i++) {
            const bd_known_group *group = &wanted.groups[i];
            if (group->first_launch > launch || group->last_launch < launch)
                continue;
            live += wanted.bytes[i];
            expect(wanted.offsets[i] % 64 == 0, "group %u at %zu", i, wanted.offsets[i]);
            expect(wanted.offsets[i] + wanted.bytes[i] <= end, "group %u ends too late", i);
            expect(apart(at, wanted.scratch[launch], wanted.offsets[i], wanted.bytes[i]),
                   "group %u and scratch of launch %u", i, launch);
            for (uint32_t k = 0; k < i; k++)
                if (wanted.groups[k].first_launch <= launch &&
                    wanted.groups[k].last_launch >= launch)
                    expect(apart(wanted.offsets[k], wanted.bytes[k], wanted.offsets[i],
                                 wanted.bytes[i]),
                           "groups %u and %u at launch %u", k, i, launch);
        }
        most = live > most ? live : most;
    }
    return most;
}

START_TEST(random_demands)
{
    srand((unsigned)_i);
    begin(1 + (uint32_t)rand() % LAUNCHES_MAX);
    uint32_t launches = wanted.plan.launch_count, count = (uint32_t)rand() % GROUPS_MAX;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = (uint32_t)rand() % launches;
        uint32_t last = first + (uint32_t)rand() % (launches - first);
        add(first, last, (size_t)(rand() % 8 ? rand() % 5000000 : 0));
    }
    for (uint32_t launch = 0; launch < launches; launch++)
        wanted.scratch[launch] = (size_t)(rand() % 2 ? rand() % 3000000 : 0);
    size_t end = place(), most = check(end);
    ck_assert_uint_ge(end, most);
    ck_assert_uint_le(end, most + most / 4 + (1 << 20));
}
END_TEST

/* Where what is short-lived came between, a walk over the launches would leave holes that the
 * larger ones do not fit. */
START_TEST(large_ones_first)
{
    const size_t mib = 1 << 20;
    begin(8);
    for (uint32_t i = 0; i < 6; i++) {
        add(i, i + 1, mib + i * mib);
        add(i, 7, 64);
    }
    size_t end = place();
    ck_assert_uint_le(end, check(end) + mib + 64);
}
END_TEST

/* Scratch of a launch lies where nothing lives at that time. */
START_TEST(scratch_needs_no_room_of_its_own)
{
    begin(4);
    add(0, 1, 4096);
    add(1, 2, 8192);
    add(3, 3, 64);
    wanted.scratch[0] = 8192;
    wanted.scratch[3] = 12000;
    size_t end = place();
    (void)check(end);
    ck_assert_uint_eq(end, 12288);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("place");
    TCase *all = tcase_create("cases");
    tcase_set_timeout(all, 120);
    tcase_add_loop_test(all, random_demands, 0, 40);
    tcase_add_test(all, large_ones_first);
    tcase_add_test(all, scratch_needs_no_room_of_its_own);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
