/* SPDX-License-Identifier: Apache-2.0
 * Index arithmetic: products of symbolic sizes, and cuts of an index in outer and inner part. */
#include <check.h>

#include "engine/lower/affine.h"

static bd_ints *ints;
static bd_int a, b, c;

static void setup(void)
{
    ints = bd_ints_create();
    a = bd_int_source(ints, BD_INT_EXTERNAL_DIM, 0, 0);
    b = bd_int_source(ints, BD_INT_EXTERNAL_DIM, 0, 1);
    c = bd_int_source(ints, BD_INT_EXTERNAL_DIM, 0, 2);
}

static void teardown(void)
{
    bd_ints_destroy(ints);
}

static bd_int times(bd_int x, bd_int y)
{
    bd_int both[2] = {x, y};
    return bd_dims_product(ints, both, 2);
}

START_TEST(products)
{
    bd_int quotient;
    ck_assert(bd_product_equal(ints, times(times(a, b), c), times(c, times(b, a))));
    ck_assert(!bd_product_equal(ints, times(a, b), times(a, c)));
    ck_assert(bd_product_divide(ints, times(times(a, b), c), times(c, a), &quotient));
    ck_assert(bd_product_equal(ints, quotient, b));
    ck_assert(!bd_product_divide(ints, times(a, b), c, &quotient));
    ck_assert(bd_product_divide(ints, times(bd_int_const(ints, 12), a), bd_int_const(ints, 4),
                                &quotient));
    ck_assert(bd_product_equal(ints, quotient, times(bd_int_const(ints, 3), a)));
    ck_assert(!bd_product_divide(ints, bd_int_const(ints, 12), bd_int_const(ints, 5), &quotient));
    ck_assert(bd_product_divide(ints, BD_INT_0, a, &quotient) && quotient == BD_INT_0);
    ck_assert_uint_eq(bd_dims_product(ints, NULL, 0), BD_INT_1);
}
END_TEST

/* A size that a reshape names is known to be a product. */
START_TEST(united_products)
{
    bd_int n = bd_int_source(ints, BD_INT_ATTR, 7, 0), quotient;
    ck_assert(!bd_product_divide(ints, n, b, &quotient));
    bd_int_unite(ints, n, bd_int_mul(ints, a, b));
    ck_assert(bd_product_divide(ints, n, b, &quotient));
    ck_assert(bd_product_equal(ints, quotient, a));
    ck_assert(bd_product_equal(ints, times(n, c), times(a, times(b, c))));
}
END_TEST

/* A number of channels, known when the plan is made, in groups whose number is not. */
START_TEST(constant_products)
{
    bd_int channels = bd_int_const(ints, 12), quotient;
    bd_int_unite(ints, channels, bd_int_mul(ints, b, c));
    ck_assert(bd_product_divide(ints, times(channels, a), times(c, a), &quotient));
    ck_assert(bd_product_equal(ints, quotient, b));
    ck_assert(bd_product_divide(ints, times(channels, a), bd_int_const(ints, 4), &quotient));
    ck_assert(bd_product_equal(ints, quotient, times(a, bd_int_const(ints, 3))));
    ck_assert(!bd_product_divide(ints, times(channels, b), times(a, c), &quotient));
}
END_TEST

/* Two pairs of sizes with one product, as when a reshape makes the one of the other. */
START_TEST(equal_products)
{
    bd_int d = bd_int_source(ints, BD_INT_ATTR, 7, 0), e = bd_int_source(ints, BD_INT_ATTR, 7, 1);
    bd_int more[3] = {a, b, c}, quotient;
    bd_int_unite(ints, bd_int_mul(ints, b, c), bd_int_mul(ints, d, e));
    bd_int all = bd_dims_product(ints, more, 3);
    ck_assert(bd_product_divide(ints, all, times(b, c), &quotient));
    ck_assert(bd_product_equal(ints, quotient, a));
    ck_assert(bd_product_divide(ints, all, times(e, d), &quotient));
    ck_assert(bd_product_equal(ints, quotient, a));
    ck_assert(bd_product_equal(ints, all, times(d, times(a, e))));
    ck_assert(bd_product_divide(ints, all, times(a, d), &quotient));
    ck_assert(bd_product_equal(ints, quotient, e));
    ck_assert(!bd_product_divide(ints, all, times(b, d), &quotient));
    ck_assert(!bd_product_equal(ints, times(a, b), times(a, d)));
}
END_TEST

START_TEST(sums)
{
    bd_affine x = bd_affine_axis(0), y = bd_affine_axis(3), minus;
    ck_assert(bd_affine_add(ints, &x, &y));
    ck_assert_uint_eq(x.count, 2);
    ck_assert_uint_eq(bd_affine_axes(&x), 1u | 8u);
    minus = bd_affine_scale(ints, &y, bd_int_const(ints, -1));
    ck_assert(bd_affine_add(ints, &x, &minus)); /* terms that cancel are gone */
    bd_affine first = bd_affine_axis(0);
    ck_assert(bd_affine_equal(ints, &x, &first));
    ck_assert(bd_affine_split(ints, &x, 0, b, 5, 0));
    ck_assert_uint_eq(x.count, 2);
    ck_assert(bd_int_equal(ints, x.terms[1].factor, b));
}
END_TEST

/* One axis over a * b elements must be split before its two dims can be told apart. */
START_TEST(cuts)
{
    bd_int extents[2] = {times(a, b), a};
    bd_affine index = bd_affine_axis(0), outer, inner;
    bd_cut_request request = {&index, b, a, extents, NULL};
    uint8_t axis = 9;
    bd_int extent = 0;
    ck_assert_int_eq(bd_affine_cut(ints, &request, &outer, &inner, &axis, &extent),
                     BD_CUT_SPLIT_AXIS);
    ck_assert_uint_eq(axis, 0);
    ck_assert(bd_int_equal(ints, extent, b));
    ck_assert(bd_affine_split(ints, &index, 0, b, 1, 0));
    extents[0] = b;
    ck_assert_int_eq(bd_affine_cut(ints, &request, &outer, &inner, &axis, &extent), BD_CUT_DONE);
    bd_affine axis_1 = bd_affine_axis(1), axis_0 = bd_affine_axis(0);
    ck_assert(bd_affine_equal(ints, &outer, &axis_1));
    ck_assert(bd_affine_equal(ints, &inner, &axis_0));
    /* With an offset the inner part could pass its end. */
    index.offset = BD_INT_1;
    ck_assert_int_eq(bd_affine_cut(ints, &request, &outer, &inner, &axis, &extent),
                     BD_CUT_IMPOSSIBLE);
    /* Dims that do not divide the axis cannot be told apart. */
    index.offset = BD_INT_0;
    request.inner_product = c;
    ck_assert_int_eq(bd_affine_cut(ints, &request, &outer, &inner, &axis, &extent),
                     BD_CUT_IMPOSSIBLE);
    /* Where the inner dims have one element there is nothing to tell. */
    request.inner_product = BD_INT_1;
    ck_assert_int_eq(bd_affine_cut(ints, &request, &outer, &inner, &axis, &extent), BD_CUT_DONE);
    ck_assert(bd_affine_equal(ints, &outer, &index));
}
END_TEST

START_TEST(positions)
{
    bd_int dims[3] = {a, b, c};
    bd_run runs[2] = {{1, bd_affine_axis(0)}, {2, bd_affine_axis(1)}};
    bd_position position = {2, runs};
    bd_affine linear;
    ck_assert(bd_position_linear(ints, &position, dims, &linear));
    ck_assert_uint_eq(linear.count, 2);
    ck_assert(bd_int_equal(ints, linear.terms[0].factor, times(b, c)));
    ck_assert_uint_eq(linear.terms[1].factor, BD_INT_1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("index arithmetic");
    TCase *all = tcase_create("affine");
    tcase_add_checked_fixture(all, setup, teardown);
    tcase_add_test(all, products);
    tcase_add_test(all, united_products);
    tcase_add_test(all, constant_products);
    tcase_add_test(all, equal_products);
    tcase_add_test(all, sums);
    tcase_add_test(all, cuts);
    tcase_add_test(all, positions);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
