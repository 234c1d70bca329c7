/* SPDX-License-Identifier: Apache-2.0
 * Shapes and dtypes: limits, texts, broadcasting, regrouping. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/op_rules.h"

START_TEST(limits)
{
    size_t bytes = 7;
    burn_shape shape = {2, {1 << 24, 1 << 24}};
    ck_assert_ptr_null(burn_shape_check(&shape, BURN_F64, &bytes));
    ck_assert_uint_eq(bytes, (size_t)1 << 51);
    shape.dims[0]++;
    bd_error *error = burn_shape_check(&shape, BURN_F64, &bytes);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_LIMIT);
    bd_error_free(error);
    shape = (burn_shape){3, {0, INT64_MAX, 2}};
    error = burn_shape_check(&shape, BURN_U8, &bytes);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_LIMIT);
    bd_error_free(error);
    shape = (burn_shape){2, {3, -1}};
    error = burn_shape_check(&shape, BURN_U8, &bytes);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_INVALID);
    bd_error_free(error);
    shape.rank = BURN_RANK_MAX + 1;
    error = burn_shape_check(&shape, BURN_U8, &bytes);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_INVALID);
    bd_error_free(error);
    shape = (burn_shape){0, {0}};
    ck_assert_ptr_null(burn_shape_check(&shape, BURN_F32, &bytes));
    ck_assert_uint_eq(bytes, 4);
}
END_TEST

START_TEST(texts)
{
    char text[BURN_SHAPE_TEXT_MAX];
    ck_assert_str_eq(burn_shape_text(&(burn_shape){0}, text), "[]");
    ck_assert_str_eq(burn_shape_text(&(burn_shape){2, {3, 4}}, text), "[3, 4]");
    burn_shape longest = {.rank = BURN_RANK_MAX};
    for (int i = 0; i < BURN_RANK_MAX; i++)
        longest.dims[i] = INT64_MIN;
    burn_shape_text(&longest, text);
    ck_assert_uint_lt(strlen(text), BURN_SHAPE_TEXT_MAX);
    ck_assert_ptr_nonnull(strstr(text, "…]"));
    ck_assert_int_eq(burn_dtype_parse("bfloat16"), BURN_BF16);
    ck_assert_int_eq(burn_dtype_parse("float"), BURN_DTYPE_NONE);
    ck_assert(!burn_dtype_valid(0) && !burn_dtype_valid(14) && !burn_dtype_valid(-1) &&
              burn_dtype_valid(13));
    ck_assert_int_eq(burn_dtype_promote(BURN_U16, BURN_I16), BURN_I32);
    ck_assert_int_eq(burn_dtype_promote(BURN_U64, BURN_I8), BURN_F64);
    ck_assert_int_eq(burn_dtype_promote(BURN_U32, BURN_U64), BURN_U64);
}
END_TEST

/* In, out, pairs as digits: input dims, output dims, ... */
static const struct {
    burn_shape in, out;
    const char *pairs;
} groups[] = {
    {{2, {4, 6}}, {2, {4, 6}}, "11 11"},
    {{2, {4, 6}}, {1, {24}}, "21"},
    {{1, {24}}, {3, {4, 1, 6}}, "13"},
    {{3, {2, 3, 4}}, {2, {6, 4}}, "21 11"},
    {{3, {2, 3, 4}}, {4, {2, 3, 2, 2}}, "11 11 12"},
    {{2, {1, 3}}, {1, {3}}, "10 11"},
    {{1, {3}}, {3, {1, 3, 1}}, "01 11 01"},
    {{2, {4, 6}}, {2, {6, 4}}, "22"},
    {{2, {0, 4}}, {2, {0, 4}}, "11 11"},
    {{0, {0}}, {2, {1, 1}}, "01 01"},
    {{3, {7, 2, 3}}, {3, {7, 3, 2}}, "11 22"},
};

START_TEST(regrouping)
{
    burn_reshape_group found[2 * BURN_RANK_MAX];
    int count = burn_reshape_groups(&groups[_i].in, &groups[_i].out, found), inputs = 0,
        outputs = 0;
    char text[128] = "";
    for (int i = 0; i < count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%d%d", i ? " " : "", found[i].input_count,
                 found[i].output_count);
        inputs += found[i].input_count;
        outputs += found[i].output_count;
    }
    ck_assert_str_eq(text, groups[_i].pairs);
    ck_assert_int_eq(inputs, groups[_i].in.rank);
    ck_assert_int_eq(outputs, groups[_i].out.rank);
}
END_TEST

START_TEST(dims)
{
    int32_t dim, list[BURN_RANK_MAX], count;
    ck_assert_ptr_null(burn_normalize_dim(-3, 3, &dim));
    ck_assert_int_eq(dim, 0);
    ck_assert_ptr_null(burn_normalize_dim(-1, 0, &dim));
    ck_assert_int_eq(dim, 0);
    ck_assert_ptr_null(burn_normalize_dims(&(burn_attr){.count = 0}, 2, true, list, &count));
    ck_assert_int_eq(count, 2);
    const int64_t twice[] = {1, -1};
    bd_error *error =
        burn_normalize_dims(&(burn_attr){.values = twice, .count = 2}, 2, true, list, &count);
    ck_assert_int_eq(bd_error_code(error), BD_CODE_INVALID);
    bd_error_free(error);
    ck_assert_int_eq(burn_slice_count(0, 5, 2), 3);
    ck_assert_int_eq(burn_slice_count(5, 2, 1), 0);
    ck_assert_int_eq(burn_slice_count(2, 3, INT64_MAX), 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shape");
    TCase *cases = tcase_create("shape");
    tcase_add_test(cases, limits);
    tcase_add_test(cases, texts);
    tcase_add_loop_test(cases, regrouping, 0, (int)(sizeof groups / sizeof *groups));
    tcase_add_test(cases, dims);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
