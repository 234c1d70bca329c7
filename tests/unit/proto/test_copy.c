/* SPDX-License-Identifier: Apache-2.0
 * A copy past the cache writes the same bytes as memcpy and none beside them, however aligned. */
#include <check.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/copy.h"

enum { ROOM_BYTES = 80000, AROUND_BYTES = 128, UNTOUCHED = 0xA5 };

static uint8_t from[ROOM_BYTES], to[ROOM_BYTES], wanted[ROOM_BYTES];

START_TEST(equals_memcpy)
{
    static const size_t sizes[] = {0, 1, 63, 64, 4095, 16383, 16384, 16385, 16447, 32768, 70001};
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 2654435761u >> 24);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t shift = 0; shift < AROUND_BYTES; shift += 1 + shift / 4) {
            size_t other = (shift * 7 + s) % AROUND_BYTES;
            memset(to, UNTOUCHED, sizeof to);
            memset(wanted, UNTOUCHED, sizeof wanted);
            memcpy(wanted + AROUND_BYTES + shift, from + other, sizes[s]);
            bd_copy_past_cache(to + AROUND_BYTES + shift, from + other, sizes[s]);
            ck_assert_mem_eq(to, wanted, sizeof to);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy");
    TCase *tests = tcase_create("copy");
    tcase_add_test(tests, equals_memcpy);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
