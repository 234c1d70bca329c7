/* SPDX-License-Identifier: Apache-2.0
 * Names of published values: what is one, their order, and the parts of EXPORT and IMPORTED. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "proto/name.h"

static bool is_name(const char *text)
{
    bd_error *error = bd_name_check(text, strlen(text));
    bool good = !error;
    bd_error_free(error);
    return good;
}

START_TEST(what_is_a_name)
{
    char text[BURN_NAME_BYTES_MAX + 2];
    ck_assert(is_name("a") && is_name("a/b") && is_name("0.weight") && is_name("A-_.9/..") &&
              is_name("public/a") && is_name("publication"));
    ck_assert(!is_name("") && !is_name("/") && !is_name("/a") && !is_name("a/") &&
              !is_name("a//b") && !is_name("a b") && !is_name("a\\b") && !is_name("\xc3\xa4") &&
              !is_name("a\n") && !is_name("public") && !is_name("a:b"));
    memset(text, 'n', sizeof text);
    text[BURN_NAME_BYTES_MAX] = '\0';
    ck_assert(is_name(text));
    text[BURN_NAME_BYTES_MAX] = 'n';
    text[BURN_NAME_BYTES_MAX + 1] = '\0';
    ck_assert(!is_name(text));
}
END_TEST

START_TEST(what_stands_below_follows_at_once)
{
    const char *const order[] = {"a", "a/b", "a/b/c", "a/z", "a-b", "a.b", "a0", "aa", "b"};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
            int sign = bd_name_compare(order[i], order[k]);
            ck_assert_int_eq((sign > 0) - (sign < 0), (i > k) - (i < k));
        }
    const char *part = NULL;
    ck_assert(bd_name_is_within("a/b/c", "a", &part));
    ck_assert_str_eq(part, "b/c");
    ck_assert(bd_name_is_within("a", "a", &part));
    ck_assert_str_eq(part, "");
    ck_assert(!bd_name_is_within("ab", "a", &part) && !bd_name_is_within("a", "a/b", &part));
    ck_assert(bd_name_is_public("public/a") && !bd_name_is_public("publics/a"));
}
END_TEST

START_TEST(parts)
{
    uint8_t bytes[128];
    bd_pack pack = {.bytes = bytes, .capacity = sizeof bytes};
    burn_tensor_type type = {BURN_F16, {2, {3, 4}}}, got;
    bd_name_pack_export(&pack, "w/x", BURN_ID_MAX);
    bd_name_pack_import(&pack, "", &type);
    bd_unpack unpack = {.cursor = bytes, .end = bytes + pack.used};
    bd_text part;
    uint64_t id = 0;
    ck_assert_ptr_null(bd_name_unpack_export(&unpack, &part, &id));
    ck_assert(bd_text_equal(part, "w/x") && id == BURN_ID_MAX);
    ck_assert_ptr_null(bd_name_unpack_import(&unpack, &part, &got));
    ck_assert(bd_text_equal(part, "") && got.dtype == BURN_F16 &&
              burn_shape_equal(&got.shape, &type.shape));
    /* no prefix of it is anything */
    for (size_t size = 0; size < pack.used; size++) {
        unpack = (bd_unpack){.cursor = bytes, .end = bytes + size};
        bd_error *error = bd_name_unpack_export(&unpack, &part, &id);
        if (!error)
            error = bd_name_unpack_import(&unpack, &part, &got);
        ck_assert_int_eq(bd_error_code(error), BD_CODE_PROTOCOL);
        bd_error_free(error);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("name");
    TCase *cases = tcase_create("name");
    tcase_add_test(cases, what_is_a_name);
    tcase_add_test(cases, what_stands_below_follows_at_once);
    tcase_add_test(cases, parts);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
