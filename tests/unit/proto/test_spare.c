/* SPDX-License-Identifier: Apache-2.0
 * Nobody stays awake where processors are few or busy. */
#include <check.h>
#include <sched.h>
#include <stdlib.h>

#include "proto/base/spare.h"

START_TEST(few_processors_have_none_to_spare)
{
    cpu_set_t set, two;
    int left = 2;
    ck_assert_int_eq(sched_getaffinity(0, sizeof set, &set), 0);
    CPU_ZERO(&two);
    for (size_t i = 0; i < CPU_SETSIZE && left > 0; i++)
        if (CPU_ISSET(i, &set)) {
            CPU_SET(i, &two);
            left--;
        }
    ck_assert_int_eq(sched_setaffinity(0, sizeof two, &two), 0);
    ck_assert_int_eq(bd_spare_ns(), 0);
}
END_TEST

START_TEST(busy_processors_have_none_to_spare)
{
    ck_assert(bd_spare_of(16, 1));
    ck_assert(bd_spare_of(16, 12));
    ck_assert(!bd_spare_of(16, 13));
    ck_assert(!bd_spare_of(16, 300));
    ck_assert(!bd_spare_of(4, 0));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("spare");
    TCase *tests = tcase_create("spare");
    tcase_add_test(tests, few_processors_have_none_to_spare);
    tcase_add_test(tests, busy_processors_have_none_to_spare);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
