/* SPDX-License-Identifier: Apache-2.0
 * Turns: shares of principals and of sessions, newcomers, who pauses, who leaves. */
#include <check.h>
#include <stdlib.h>

#include "engine/turns.h"

enum { MEMBERS = 40 };

typedef struct member {
    bd_turn turn;
    int64_t cost_ns, had_ns, device_ns;
    bool waits;
} member;

static bd_turns *turns;

static void setup(void)
{
    turns = bd_turns_create();
}

static void teardown(void)
{
    bd_turns_destroy(turns);
}

static member join(const char *principal, int64_t cost_ns)
{
    member joined = {.cost_ns = cost_ns, .waits = true};
    bd_turns_join(turns, &joined.turn, principal);
    return joined;
}

/* So many turns; each who had one waits for the next at once. */
static void run(member *members, int count, int rounds)
{
    for (int i = 0; i < count; i++)
        if (members[i].waits)
            bd_turns_wait(turns, &members[i].turn, BD_TURN_THREAD);
    for (int round = 0; round < rounds; round++) {
        bd_turn *turn = bd_turns_next(turns, BD_TURN_THREAD);
        ck_assert_ptr_nonnull(turn);
        member *of = (member *)turn;
        of->had_ns += of->cost_ns;
        bd_turns_charge(turn, BD_TURN_THREAD, of->cost_ns);
        bd_turns_charge(turn, BD_TURN_DEVICE, of->device_ns);
        if (of->waits)
            bd_turns_wait(turns, turn, BD_TURN_THREAD);
        else
            bd_turns_rest(turn);
    }
}

static void leave(member *members, int count)
{
    for (int i = 0; i < count; i++)
        bd_turns_leave(turns, &members[i].turn);
    ck_assert(!bd_turns_any(turns, BD_TURN_THREAD));
    ck_assert_ptr_null(bd_turns_next(turns, BD_TURN_THREAD));
}

START_TEST(principals_share_by_time_not_by_sessions)
{
    member members[MEMBERS];
    int64_t of_many = 0;
    members[0] = join("uid:1", 5000000);
    for (int i = 1; i < MEMBERS; i++)
        members[i] = join("token:many", 100000 * (1 + i % 3));
    run(members, MEMBERS, 100000);
    int64_t each = 0;
    for (int i = 1; i < MEMBERS; i++) {
        of_many += members[i].had_ns;
        each = i == 1 ? members[i].had_ns : each;
        ck_assert_int_lt(llabs(members[i].had_ns - each), 1000000); /* sessions, too, by time */
    }
    ck_assert_int_lt(llabs(of_many - members[0].had_ns), 10000000);
    leave(members, MEMBERS);
}
END_TEST

START_TEST(a_pause_is_not_saved_up)
{
    member members[] = {join("uid:1", 1000000), join("uid:2", 1000000)};
    members[1].waits = false;
    run(members, 2, 1000); /* a second for the first alone */
    members[1].waits = true;
    members[0].had_ns = 0;
    run(members, 2, 200);
    ck_assert_int_ge(members[0].had_ns, 48000000); /* of 200 ms: 100 ms at most were owed */
    ck_assert_int_ge(members[1].had_ns, 145000000);
    leave(members, 2);
}
END_TEST

START_TEST(a_newcomer_owes_nothing_and_is_owed_nothing)
{
    member members[3] = {join("uid:1", 1000000), join("uid:1", 1000000)};
    run(members, 2, 2000);
    members[2] = join("uid:1", 1000000);
    for (int i = 0; i < 3; i++)
        members[i].had_ns = 0;
    run(members, 3, 300);
    for (int i = 0; i < 3; i++)
        ck_assert_int_lt(llabs(members[i].had_ns - 100000000), 3000000);
    leave(members, 3);
}
END_TEST

START_TEST(what_was_charged_too_much_comes_back)
{
    member members[] = {join("uid:1", 0), join("uid:1", 0)};
    for (int i = 0; i < 2; i++)
        bd_turns_wait(turns, &members[i].turn, BD_TURN_THREAD);
    bd_turns_charge(&members[0].turn, BD_TURN_THREAD, 500);
    ck_assert_ptr_eq(bd_turns_next(turns, BD_TURN_THREAD), &members[1].turn);
    bd_turns_charge(&members[1].turn, BD_TURN_THREAD, 300);
    bd_turns_wait(turns, &members[1].turn, BD_TURN_THREAD);
    bd_turns_charge(&members[0].turn, BD_TURN_THREAD, -400); /* while it waits */
    ck_assert_ptr_eq(bd_turns_next(turns, BD_TURN_THREAD), &members[0].turn);
    leave(members, 2);
}
END_TEST

/* Steps of 5 and of 0.2 ms of the device, which cost its thread little and half as much. */
START_TEST(thread_and_device_go_on_side_by_side)
{
    for (int principals = 1; principals <= 2; principals++) {
        const char *other = principals == 1 ? "uid:1" : "uid:2";
        member members[] = {join("uid:1", 50000), join(other, 100000)};
        members[0].device_ns = 5000000;
        members[1].device_ns = 200000;
        run(members, 2, 20000);
        int64_t longs = members[0].had_ns / 50000 * 5000000;
        int64_t shorts = members[1].had_ns / 100000 * 200000;
        ck_assert_int_lt(llabs(longs - shorts), 5400000); /* one step of each */
        leave(members, 2);
    }
}
END_TEST

START_TEST(more_of_the_thread_than_of_the_device_counts)
{
    member members[] = {join("uid:1", 100000), join("uid:2", 1000000)};
    members[0].device_ns = 1000000; /* as much as the other one has of the thread */
    members[1].device_ns = 10000;
    run(members, 2, 2000);
    ck_assert_int_eq(members[0].had_ns / 100000, 1000);
    ck_assert_int_eq(members[1].had_ns / 1000000, 1000);
    leave(members, 2);
}
END_TEST

START_TEST(leaving_out_of_the_middle_keeps_the_order)
{
    member members[MEMBERS];
    for (int i = 0; i < MEMBERS; i++) {
        members[i] = join("uid:1", 0);
        bd_turns_charge(&members[i].turn, BD_TURN_THREAD, (i * 17) % MEMBERS * 1000);
        bd_turns_wait(turns, &members[i].turn, BD_TURN_THREAD);
        bd_turns_wait(turns, &members[i].turn, BD_TURN_THREAD); /* once is enough */
    }
    for (int i = 0; i < MEMBERS; i += 3)
        bd_turns_leave(turns, &members[i].turn);
    int64_t before = -1;
    for (bd_turn *turn; (turn = bd_turns_next(turns, BD_TURN_THREAD));) {
        ck_assert_int_gt(turn->used.ns, before);
        before = turn->used.ns;
        bd_turns_leave(turns, turn);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("turns");
    TCase *tests = tcase_create("turns");
    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, principals_share_by_time_not_by_sessions);
    tcase_add_test(tests, a_pause_is_not_saved_up);
    tcase_add_test(tests, a_newcomer_owes_nothing_and_is_owed_nothing);
    tcase_add_test(tests, what_was_charged_too_much_comes_back);
    tcase_add_test(tests, thread_and_device_go_on_side_by_side);
    tcase_add_test(tests, more_of_the_thread_than_of_the_device_counts);
    tcase_add_test(tests, leaving_out_of_the_middle_keeps_the_order);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
