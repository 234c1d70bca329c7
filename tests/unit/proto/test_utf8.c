/* SPDX-License-Identifier: Apache-2.0
 * What is UTF-8 (the C library's iconv is the judge), where it is cut, what is left out and what
 * is shown. */
#include <check.h>
#include <iconv.h>
#include <stdlib.h>
#include <string.h>

#include "proto/base/error.h"
#include "proto/base/utf8.h"

static iconv_t judge;

static bool judged_valid(const char *text, size_t size_bytes)
{
    char out[4096];
    char *from = (char *)text, *to = out;
    size_t left = size_bytes, room = sizeof out;
    iconv(judge, NULL, NULL, NULL, NULL);
    return iconv(judge, &from, &left, &to, &room) != (size_t)-1;
}

START_TEST(what_is_text)
{
    /* the first and the last byte of each kind that RFC 3629 tells apart */
    static const unsigned char kinds[] = {0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf,
                                          0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee,
                                          0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf7, 0xf8, 0xff};
    enum { KINDS = sizeof kinds };
    char text[4];
    int valid = 0, differ = 0;
    for (int i = 0; i < KINDS * KINDS * KINDS * KINDS; i++) {
        for (int k = 0, rest = i; k < 4; k++, rest /= KINDS)
            text[k] = (char)kinds[rest % KINDS];
        for (size_t size = 0; size <= 4; size++) {
            differ += bd_utf8_valid(text, size) != judged_valid(text, size);
            valid += bd_utf8_valid(text, size);
        }
    }
    for (int i = 0; i < 1 << 16; i++) {
        text[0] = (char)(i >> 8), text[1] = (char)i;
        differ += bd_utf8_valid(text, 2) != judged_valid(text, 2);
    }
    ck_assert_int_gt(valid, 1000);
    ck_assert_int_eq(differ, 0);
}
END_TEST

static const char mixed[] = "a\xc3\xa9z\xe2\x82\xac\xf0\x9f\x94\xa5\xf0\x9f\x94\xa5\xe2\x82\xac!";

START_TEST(where_it_is_cut)
{
    for (size_t size = 0; size < sizeof mixed; size++) {
        size_t whole = size;
        while (!judged_valid(mixed, whole))
            whole--;
        ck_assert_uint_eq(bd_utf8_whole(mixed, size), whole);
        char text[sizeof mixed];
        memcpy(text, mixed, size);
        text[size] = '\0';
        bd_utf8_mend(text);
        ck_assert_uint_eq(strlen(text), whole);
        ck_assert_mem_eq(text, mixed, whole);
    }
}
END_TEST

START_TEST(what_is_left_out)
{
    char text[] = "\x80"
                  "a\xff\xc3(\xc3\xa9\xed\xa0\x80\xe2\x82";
    bd_utf8_mend(text);
    ck_assert_str_eq(text, "a(\xc3\xa9");
    for (size_t width = 0; width < sizeof mixed; width++) { /* errors cut what they are given */
        bd_error *error = BD_ERROR(INVALID, "\"%.*s\" is wrong", (int)width, mixed);
        ck_assert(judged_valid(bd_error_text(error), strlen(bd_error_text(error))));
        ck_assert_ptr_nonnull(strstr(bd_error_text(error), "\" is wrong"));
        bd_error_free(error);
    }
    char many[600];
    for (size_t i = 0; i + 4 < sizeof many; i += 4)
        memcpy(many + i, "\xf0\x9f\x94\xa5", 5);
    for (size_t start = 0; start < 4; start++) {
        bd_error *error = bd_error_note(BD_ERROR(INVALID, "%s", many), "%.*s", (int)start, "xyz");
        ck_assert(judged_valid(bd_error_text(error), strlen(bd_error_text(error))));
        ck_assert_uint_ge(strlen(bd_error_text(error)), BD_ERROR_TEXT_MAX - 4);
        bd_error_free(error);
    }
}
END_TEST

START_TEST(what_is_shown)
{
    char text[] = "a\tb\n\x1b[2J\x7f \xc2\x9b\xc2\xa0"
                  "\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6 \xc3\xa9\xff";
    bd_utf8_show(text);
    ck_assert_str_eq(text, "a?b??[2J? ?\xc2\xa0??? \xc3\xa9");
}
END_TEST

START_TEST(values_within_quotes)
{
    ck_assert_str_eq(BD_QUOTED(""), "\"\"");
    ck_assert_str_eq(BD_QUOTED("a \"b\" \\ c"), "\"a \\\"b\\\" \\\\ c\"");
    char text[2 * BD_QUOTED_BYTES];
    for (size_t pad = 0; pad < 2; pad++) { /* the cut does not part an escape */
        memset(text, '"', sizeof text - 1);
        text[sizeof text - 1] = '\0';
        if (pad)
            text[0] = 'x';
        const char *quoted = BD_QUOTED(text);
        size_t size = strlen(quoted);
        ck_assert_uint_lt(size, BD_QUOTED_BYTES);
        ck_assert_uint_gt(size, BD_QUOTED_BYTES - 8);
        ck_assert_uint_eq(size % 2, pad);
        ck_assert_str_eq(quoted + size - 3, "\\\"\"");
    }
}
END_TEST

int main(void)
{
    judge = iconv_open("UTF-32LE", "UTF-8");
    Suite *suite = suite_create("utf8");
    TCase *cases = tcase_create("utf8");
    tcase_add_test(cases, what_is_text);
    tcase_add_test(cases, where_it_is_cut);
    tcase_add_test(cases, what_is_left_out);
    tcase_add_test(cases, what_is_shown);
    tcase_add_test(cases, values_within_quotes);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    iconv_close(judge);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
