/* SPDX-License-Identifier: Apache-2.0
 * Made by proto/gen_ops.py from proto/ops.toml. */
#include "burn/burn_ops.h"

#include <stdlib.h>

/* Named inputs, then tensors without a fixed number. */
static burn_status burn_apply_list(burn_context *context, int op, const burn_input *first, size_t first_count,
                                   burn_tensor *const *rest, size_t rest_count,
                                   const burn_attribute *attributes, size_t attribute_count,
                                   burn_tensor **out, size_t out_count)
{
    burn_input few[64] = {0}, *inputs = few;
    if (rest_count > sizeof few / sizeof *few - first_count) {
        inputs = rest_count < SIZE_MAX / sizeof *inputs - first_count
                     ? malloc((first_count + rest_count) * sizeof *inputs)
                     : NULL;
        if (!inputs)
            return BURN_STATUS_NO_MEMORY;
    }
    for (size_t i = 0; i < first_count; i++)
        inputs[i] = first[i];
    for (size_t i = 0; i < rest_count; i++)
        inputs[first_count + i] = (burn_input){.kind = 1, .as.tensor = rest ? rest[i] : NULL};
    burn_status status = burn_apply(context, op, inputs, first_count + rest_count, attributes,
                                    attribute_count, out, out_count);
    if (inputs != few)
        free(inputs);
    return status;
}

burn_status burn_clone(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 7, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_add(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 10, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_sub(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 11, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_mul(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 12, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_div(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 13, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_neg(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 14, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_pow(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 15, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_maximum(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 16, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_minimum(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 17, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_floor_divide(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 18, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_remainder(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 19, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_fmod(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 20, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_abs(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 21, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_sign(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 22, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_exp(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 23, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_log(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 24, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_sqrt(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 25, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_rsqrt(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 26, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_reciprocal(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 27, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_square(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 28, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_sin(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 29, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_cos(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 30, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_tan(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 31, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_tanh(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 32, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_sigmoid(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 33, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_relu(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 34, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_gelu(burn_context *context, burn_input x, int64_t tanh, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(tanh)};
    return burn_apply(context, 35, inputs, 1, attributes, 1, out, 1);
}

burn_status burn_silu(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 36, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_erf(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 37, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_erfc(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 38, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_expm1(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 39, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_log1p(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 40, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_log2(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 41, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_log10(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 42, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_exp2(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 43, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_floor(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 44, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_ceil(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 45, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_trunc(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 46, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_round(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 47, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_asin(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 48, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_acos(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 49, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_atan(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 50, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_sinh(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 51, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_cosh(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 52, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_asinh(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 53, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_acosh(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 54, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_atanh(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 55, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_lgamma(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 56, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_digamma(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 57, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_atan2(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 58, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_fmax(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 59, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_fmin(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 60, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_where(burn_context *context, burn_input condition, burn_input a, burn_input b,
                       burn_tensor **out)
{
    const burn_input inputs[] = {condition, a, b};
    return burn_apply(context, 61, inputs, 3, NULL, 0, out, 1);
}

burn_status burn_clamp(burn_context *context, burn_input x, burn_input low, burn_input high,
                       burn_tensor **out)
{
    const burn_input inputs[] = {x, low, high};
    return burn_apply(context, 62, inputs, 3, NULL, 0, out, 1);
}

burn_status burn_cast(burn_context *context, burn_input x, int dtype, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(dtype)};
    return burn_apply(context, 63, inputs, 1, attributes, 1, out, 1);
}

burn_status burn_eq(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 64, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_ne(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 65, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_lt(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 66, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_le(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 67, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_gt(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 68, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_ge(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 69, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_logical_and(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 70, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_logical_or(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 71, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_logical_xor(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 72, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_logical_not(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 73, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_bitwise_and(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 74, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_bitwise_or(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 75, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_bitwise_xor(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 76, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_bitwise_not(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 77, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_bitwise_left_shift(burn_context *context, burn_input a, burn_input b,
                                    burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 78, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_bitwise_right_shift(burn_context *context, burn_input a, burn_input b,
                                     burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 79, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_isnan(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 80, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_isinf(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 81, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_isfinite(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 82, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_leaky_relu(burn_context *context, burn_input x, burn_input slope,
                            burn_tensor **out)
{
    const burn_input inputs[] = {x, slope};
    return burn_apply(context, 83, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_elu(burn_context *context, burn_input x, burn_input alpha, burn_tensor **out)
{
    const burn_input inputs[] = {x, alpha};
    return burn_apply(context, 84, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_hardtanh(burn_context *context, burn_input x, burn_input low, burn_input high,
                          burn_tensor **out)
{
    const burn_input inputs[] = {x, low, high};
    return burn_apply(context, 85, inputs, 3, NULL, 0, out, 1);
}

burn_status burn_softplus(burn_context *context, burn_input x, burn_input beta,
                          burn_input threshold, burn_tensor **out)
{
    const burn_input inputs[] = {x, beta, threshold};
    return burn_apply(context, 86, inputs, 3, NULL, 0, out, 1);
}

burn_status burn_logsigmoid(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 87, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_lerp(burn_context *context, burn_input a, burn_input b, burn_input weight,
                      burn_tensor **out)
{
    const burn_input inputs[] = {a, b, weight};
    return burn_apply(context, 88, inputs, 3, NULL, 0, out, 1);
}

burn_status burn_addcmul(burn_context *context, burn_input x, burn_input a, burn_input b,
                         burn_input value, burn_tensor **out)
{
    const burn_input inputs[] = {x, a, b, value};
    return burn_apply(context, 89, inputs, 4, NULL, 0, out, 1);
}

burn_status burn_addcdiv(burn_context *context, burn_input x, burn_input a, burn_input b,
                         burn_input value, burn_tensor **out)
{
    const burn_input inputs[] = {x, a, b, value};
    return burn_apply(context, 90, inputs, 4, NULL, 0, out, 1);
}

burn_status burn_nextafter(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 91, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_masked_fill(burn_context *context, burn_input x, burn_input mask, burn_input value,
                             burn_tensor **out)
{
    const burn_input inputs[] = {x, mask, value};
    return burn_apply(context, 92, inputs, 3, NULL, 0, out, 1);
}

burn_status burn_logaddexp(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 93, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_hypot(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 94, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_softsign(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 95, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_mish(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 96, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_hardsigmoid(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 97, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_hardswish(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 98, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_reshape(burn_context *context, burn_input x, int shape_count, const int64_t *shape,
                         burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(shape, (size_t)shape_count)};
    return burn_apply(context, 100, inputs, 1, attributes, 1, out, 1);
}

burn_status burn_permute(burn_context *context, burn_input x, int dims_count, const int64_t *dims,
                         burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count)};
    return burn_apply(context, 101, inputs, 1, attributes, 1, out, 1);
}

burn_status burn_expand(burn_context *context, burn_input x, int shape_count, const int64_t *shape,
                        burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(shape, (size_t)shape_count)};
    return burn_apply(context, 102, inputs, 1, attributes, 1, out, 1);
}

burn_status burn_slice(burn_context *context, burn_input x, int starts_count, const int64_t *starts,
                       int stops_count, const int64_t *stops, int steps_count, const int64_t *steps,
                       burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(starts, (size_t)starts_count), burn_list(stops, (size_t)stops_count), burn_list(steps, (size_t)steps_count)};
    return burn_apply(context, 103, inputs, 1, attributes, 3, out, 1);
}

burn_status burn_pad(burn_context *context, burn_input x, burn_input value,
                     int low_count, const int64_t *low, int high_count, const int64_t *high,
                     burn_tensor **out)
{
    const burn_input inputs[] = {x, value};
    const burn_attribute attributes[] = {burn_list(low, (size_t)low_count), burn_list(high, (size_t)high_count)};
    return burn_apply(context, 104, inputs, 2, attributes, 2, out, 1);
}

burn_status burn_flip(burn_context *context, burn_input x, int dims_count, const int64_t *dims,
                      burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count)};
    return burn_apply(context, 105, inputs, 1, attributes, 1, out, 1);
}

burn_status burn_concat(burn_context *context, size_t xs_count, burn_tensor *const *xs, int64_t dim,
                        burn_tensor **out)
{
    const burn_input first[] = {burn_none()};
    const burn_attribute attributes[] = {burn_number(dim)};
    return burn_apply_list(context, 106, first, 0, xs, xs_count, attributes, 1, out, 1);
}

burn_status burn_stack(burn_context *context, size_t xs_count, burn_tensor *const *xs, int64_t dim,
                       burn_tensor **out)
{
    const burn_input first[] = {burn_none()};
    const burn_attribute attributes[] = {burn_number(dim)};
    return burn_apply_list(context, 107, first, 0, xs, xs_count, attributes, 1, out, 1);
}

burn_status burn_split(burn_context *context, burn_input x, int sizes_count, const int64_t *sizes,
                       int64_t dim, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(sizes, (size_t)sizes_count), burn_number(dim)};
    return burn_apply(context, 108, inputs, 1, attributes, 2, out, (size_t)sizes_count);
}

burn_status burn_slice_update(burn_context *context, burn_input x, burn_input value,
                              int starts_count, const int64_t *starts,
                              int stops_count, const int64_t *stops,
                              int steps_count, const int64_t *steps, burn_tensor **out)
{
    const burn_input inputs[] = {x, value};
    const burn_attribute attributes[] = {burn_list(starts, (size_t)starts_count), burn_list(stops, (size_t)stops_count), burn_list(steps, (size_t)steps_count)};
    return burn_apply(context, 109, inputs, 2, attributes, 3, out, 1);
}

burn_status burn_tril(burn_context *context, burn_input x, int64_t diagonal, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(diagonal)};
    return burn_apply(context, 110, inputs, 1, attributes, 1, out, 1);
}

burn_status burn_triu(burn_context *context, burn_input x, int64_t diagonal, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(diagonal)};
    return burn_apply(context, 111, inputs, 1, attributes, 1, out, 1);
}

burn_status burn_sum(burn_context *context, burn_input x, int dims_count, const int64_t *dims,
                     int64_t keepdim, int dtype, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count), burn_number(keepdim), burn_number(dtype)};
    return burn_apply(context, 112, inputs, 1, attributes, 3, out, 1);
}

burn_status burn_mean(burn_context *context, burn_input x, int dims_count, const int64_t *dims,
                      int64_t keepdim, int dtype, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count), burn_number(keepdim), burn_number(dtype)};
    return burn_apply(context, 113, inputs, 1, attributes, 3, out, 1);
}

burn_status burn_prod(burn_context *context, burn_input x, int dims_count, const int64_t *dims,
                      int64_t keepdim, int dtype, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count), burn_number(keepdim), burn_number(dtype)};
    return burn_apply(context, 114, inputs, 1, attributes, 3, out, 1);
}

burn_status burn_max(burn_context *context, burn_input x, int dims_count, const int64_t *dims,
                     int64_t keepdim, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count), burn_number(keepdim)};
    return burn_apply(context, 115, inputs, 1, attributes, 2, out, 1);
}

burn_status burn_min(burn_context *context, burn_input x, int dims_count, const int64_t *dims,
                     int64_t keepdim, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count), burn_number(keepdim)};
    return burn_apply(context, 116, inputs, 1, attributes, 2, out, 1);
}

burn_status burn_argmax(burn_context *context, burn_input x, int dims_count, const int64_t *dims,
                        int64_t keepdim, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count), burn_number(keepdim)};
    return burn_apply(context, 117, inputs, 1, attributes, 2, out, 1);
}

burn_status burn_argmin(burn_context *context, burn_input x, int dims_count, const int64_t *dims,
                        int64_t keepdim, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count), burn_number(keepdim)};
    return burn_apply(context, 118, inputs, 1, attributes, 2, out, 1);
}

burn_status burn_any(burn_context *context, burn_input x, int dims_count, const int64_t *dims,
                     int64_t keepdim, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count), burn_number(keepdim)};
    return burn_apply(context, 119, inputs, 1, attributes, 2, out, 1);
}

burn_status burn_all(burn_context *context, burn_input x, int dims_count, const int64_t *dims,
                     int64_t keepdim, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count), burn_number(keepdim)};
    return burn_apply(context, 120, inputs, 1, attributes, 2, out, 1);
}

burn_status burn_var(burn_context *context, burn_input x, burn_input correction,
                     int dims_count, const int64_t *dims, int64_t keepdim, burn_tensor **out)
{
    const burn_input inputs[] = {x, correction};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count), burn_number(keepdim)};
    return burn_apply(context, 121, inputs, 2, attributes, 2, out, 1);
}

burn_status burn_std(burn_context *context, burn_input x, burn_input correction,
                     int dims_count, const int64_t *dims, int64_t keepdim, burn_tensor **out)
{
    const burn_input inputs[] = {x, correction};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count), burn_number(keepdim)};
    return burn_apply(context, 122, inputs, 2, attributes, 2, out, 1);
}

burn_status burn_logsumexp(burn_context *context, burn_input x, int dims_count, const int64_t *dims,
                           int64_t keepdim, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count), burn_number(keepdim)};
    return burn_apply(context, 123, inputs, 1, attributes, 2, out, 1);
}

burn_status burn_matmul(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 124, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_linear(burn_context *context, burn_input x, burn_input weight, burn_input bias,
                        burn_tensor **out)
{
    const burn_input inputs[] = {x, weight, bias};
    return burn_apply(context, 125, inputs, 3, NULL, 0, out, 1);
}

burn_status burn_softmax(burn_context *context, burn_input x, int64_t dim, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(dim)};
    return burn_apply(context, 126, inputs, 1, attributes, 1, out, 1);
}

burn_status burn_log_softmax(burn_context *context, burn_input x, int64_t dim, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(dim)};
    return burn_apply(context, 127, inputs, 1, attributes, 1, out, 1);
}

burn_status burn_layer_norm(burn_context *context, burn_input x, burn_input weight, burn_input bias,
                            burn_input eps, int shape_count, const int64_t *shape,
                            burn_tensor **out)
{
    const burn_input inputs[] = {x, weight, bias, eps};
    const burn_attribute attributes[] = {burn_list(shape, (size_t)shape_count)};
    return burn_apply(context, 128, inputs, 4, attributes, 1, out, 1);
}

burn_status burn_rms_norm(burn_context *context, burn_input x, burn_input weight, burn_input eps,
                          int shape_count, const int64_t *shape, burn_tensor **out)
{
    const burn_input inputs[] = {x, weight, eps};
    const burn_attribute attributes[] = {burn_list(shape, (size_t)shape_count)};
    return burn_apply(context, 129, inputs, 3, attributes, 1, out, 1);
}

burn_status burn_embedding(burn_context *context, burn_input weight, burn_input index_,
                           int64_t padding, burn_tensor **out)
{
    const burn_input inputs[] = {weight, index_};
    const burn_attribute attributes[] = {burn_number(padding)};
    return burn_apply(context, 130, inputs, 2, attributes, 1, out, 1);
}

burn_status burn_gather(burn_context *context, burn_input x, burn_input index_, int64_t dim,
                        burn_tensor **out)
{
    const burn_input inputs[] = {x, index_};
    const burn_attribute attributes[] = {burn_number(dim)};
    return burn_apply(context, 131, inputs, 2, attributes, 1, out, 1);
}

burn_status burn_take(burn_context *context, burn_input x, burn_input index_, int64_t dim,
                      int64_t wrap, burn_tensor **out)
{
    const burn_input inputs[] = {x, index_};
    const burn_attribute attributes[] = {burn_number(dim), burn_number(wrap)};
    return burn_apply(context, 132, inputs, 2, attributes, 2, out, 1);
}

burn_status burn_scatter_add(burn_context *context, burn_input x, burn_input index_, burn_input src,
                             int64_t dim, burn_tensor **out)
{
    const burn_input inputs[] = {x, index_, src};
    const burn_attribute attributes[] = {burn_number(dim)};
    return burn_apply(context, 133, inputs, 3, attributes, 1, out, 1);
}

burn_status burn_scatter(burn_context *context, burn_input x, burn_input index_, burn_input src,
                         int64_t dim, burn_tensor **out)
{
    const burn_input inputs[] = {x, index_, src};
    const burn_attribute attributes[] = {burn_number(dim)};
    return burn_apply(context, 134, inputs, 3, attributes, 1, out, 1);
}

burn_status burn_take_nd(burn_context *context, burn_input x,
                         size_t indices_count, burn_tensor *const *indices, int64_t dim,
                         burn_tensor **out)
{
    const burn_input first[] = {x};
    const burn_attribute attributes[] = {burn_number(dim)};
    return burn_apply_list(context, 135, first, 1, indices, indices_count, attributes, 1, out, 1);
}

burn_status burn_put_nd(burn_context *context, burn_input x, burn_input value,
                        size_t indices_count, burn_tensor *const *indices, int64_t dim,
                        int64_t accumulate, burn_tensor **out)
{
    const burn_input first[] = {x, value};
    const burn_attribute attributes[] = {burn_number(dim), burn_number(accumulate)};
    return burn_apply_list(context, 136, first, 2, indices, indices_count, attributes, 2, out, 1);
}

burn_status burn_one_hot(burn_context *context, burn_input index_, int64_t classes,
                         burn_tensor **out)
{
    const burn_input inputs[] = {index_};
    const burn_attribute attributes[] = {burn_number(classes)};
    return burn_apply(context, 137, inputs, 1, attributes, 1, out, 1);
}

burn_status burn_max_dim(burn_context *context, burn_input x, int64_t dim, int64_t keepdim,
                         burn_tensor *out[2])
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(dim), burn_number(keepdim)};
    return burn_apply(context, 138, inputs, 1, attributes, 2, out, 2);
}

burn_status burn_min_dim(burn_context *context, burn_input x, int64_t dim, int64_t keepdim,
                         burn_tensor *out[2])
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(dim), burn_number(keepdim)};
    return burn_apply(context, 139, inputs, 1, attributes, 2, out, 2);
}

burn_status burn_dropout(burn_context *context, burn_input x, burn_input p, int64_t seed,
                         int64_t offset, burn_tensor **out)
{
    const burn_input inputs[] = {x, p};
    const burn_attribute attributes[] = {burn_number(seed), burn_number(offset)};
    return burn_apply(context, 140, inputs, 2, attributes, 2, out, 1);
}

burn_status burn_full(burn_context *context, burn_input value,
                      int shape_count, const int64_t *shape, int dtype, burn_tensor **out)
{
    const burn_input inputs[] = {value};
    const burn_attribute attributes[] = {burn_list(shape, (size_t)shape_count), burn_number(dtype)};
    return burn_apply(context, 150, inputs, 1, attributes, 2, out, 1);
}

burn_status burn_arange(burn_context *context, burn_input start, burn_input step, int64_t count,
                        int dtype, burn_tensor **out)
{
    const burn_input inputs[] = {start, step};
    const burn_attribute attributes[] = {burn_number(count), burn_number(dtype)};
    return burn_apply(context, 152, inputs, 2, attributes, 2, out, 1);
}

burn_status burn_linspace(burn_context *context, burn_input start, burn_input end, int64_t count,
                          int dtype, burn_tensor **out)
{
    const burn_input inputs[] = {start, end};
    const burn_attribute attributes[] = {burn_number(count), burn_number(dtype)};
    return burn_apply(context, 153, inputs, 2, attributes, 2, out, 1);
}

burn_status burn_eye(burn_context *context, int64_t rows, int64_t columns, int dtype,
                     burn_tensor **out)
{
    const burn_attribute attributes[] = {burn_number(rows), burn_number(columns), burn_number(dtype)};
    return burn_apply(context, 154, NULL, 0, attributes, 3, out, 1);
}

burn_status burn_uniform(burn_context *context, burn_input low, burn_input high,
                         int shape_count, const int64_t *shape, int dtype, int64_t seed,
                         int64_t offset, burn_tensor **out)
{
    const burn_input inputs[] = {low, high};
    const burn_attribute attributes[] = {burn_list(shape, (size_t)shape_count), burn_number(dtype), burn_number(seed), burn_number(offset)};
    return burn_apply(context, 157, inputs, 2, attributes, 4, out, 1);
}

burn_status burn_normal(burn_context *context, burn_input mean, burn_input std_,
                        int shape_count, const int64_t *shape, int dtype, int64_t seed,
                        int64_t offset, burn_tensor **out)
{
    const burn_input inputs[] = {mean, std_};
    const burn_attribute attributes[] = {burn_list(shape, (size_t)shape_count), burn_number(dtype), burn_number(seed), burn_number(offset)};
    return burn_apply(context, 158, inputs, 2, attributes, 4, out, 1);
}

burn_status burn_bernoulli(burn_context *context, burn_input p, int64_t seed, int64_t offset,
                           burn_tensor **out)
{
    const burn_input inputs[] = {p};
    const burn_attribute attributes[] = {burn_number(seed), burn_number(offset)};
    return burn_apply(context, 159, inputs, 1, attributes, 2, out, 1);
}

burn_status burn_randint(burn_context *context, burn_input low, burn_input high,
                         int shape_count, const int64_t *shape, int dtype, int64_t seed,
                         int64_t offset, burn_tensor **out)
{
    const burn_input inputs[] = {low, high};
    const burn_attribute attributes[] = {burn_list(shape, (size_t)shape_count), burn_number(dtype), burn_number(seed), burn_number(offset)};
    return burn_apply(context, 160, inputs, 2, attributes, 4, out, 1);
}

burn_status burn_cross_entropy(burn_context *context, burn_input x, burn_input target,
                               burn_input weight, burn_input label_smoothing, int64_t reduction,
                               int64_t ignore_index, burn_tensor **out)
{
    const burn_input inputs[] = {x, target, weight, label_smoothing};
    const burn_attribute attributes[] = {burn_number(reduction), burn_number(ignore_index)};
    return burn_apply(context, 170, inputs, 4, attributes, 2, out, 1);
}

burn_status burn_nll_loss(burn_context *context, burn_input x, burn_input target, burn_input weight,
                          int64_t reduction, int64_t ignore_index, burn_tensor **out)
{
    const burn_input inputs[] = {x, target, weight};
    const burn_attribute attributes[] = {burn_number(reduction), burn_number(ignore_index)};
    return burn_apply(context, 171, inputs, 3, attributes, 2, out, 1);
}

burn_status burn_cross_entropy_soft(burn_context *context, burn_input x, burn_input target,
                                    burn_input weight, burn_input label_smoothing,
                                    int64_t reduction, burn_tensor **out)
{
    const burn_input inputs[] = {x, target, weight, label_smoothing};
    const burn_attribute attributes[] = {burn_number(reduction)};
    return burn_apply(context, 172, inputs, 4, attributes, 1, out, 1);
}

burn_status burn_mse_loss(burn_context *context, burn_input x, burn_input target, int64_t reduction,
                          burn_tensor **out)
{
    const burn_input inputs[] = {x, target};
    const burn_attribute attributes[] = {burn_number(reduction)};
    return burn_apply(context, 173, inputs, 2, attributes, 1, out, 1);
}

burn_status burn_l1_loss(burn_context *context, burn_input x, burn_input target, int64_t reduction,
                         burn_tensor **out)
{
    const burn_input inputs[] = {x, target};
    const burn_attribute attributes[] = {burn_number(reduction)};
    return burn_apply(context, 174, inputs, 2, attributes, 1, out, 1);
}

burn_status burn_huber_loss(burn_context *context, burn_input x, burn_input target,
                            burn_input delta, int64_t reduction, burn_tensor **out)
{
    const burn_input inputs[] = {x, target, delta};
    const burn_attribute attributes[] = {burn_number(reduction)};
    return burn_apply(context, 175, inputs, 3, attributes, 1, out, 1);
}

burn_status burn_smooth_l1_loss(burn_context *context, burn_input x, burn_input target,
                                burn_input beta, int64_t reduction, burn_tensor **out)
{
    const burn_input inputs[] = {x, target, beta};
    const burn_attribute attributes[] = {burn_number(reduction)};
    return burn_apply(context, 176, inputs, 3, attributes, 1, out, 1);
}

burn_status burn_bce_with_logits(burn_context *context, burn_input x, burn_input target,
                                 burn_input weight, burn_input pos_weight, int64_t reduction,
                                 burn_tensor **out)
{
    const burn_input inputs[] = {x, target, weight, pos_weight};
    const burn_attribute attributes[] = {burn_number(reduction)};
    return burn_apply(context, 177, inputs, 4, attributes, 1, out, 1);
}

burn_status burn_bce(burn_context *context, burn_input x, burn_input target, burn_input weight,
                     int64_t reduction, burn_tensor **out)
{
    const burn_input inputs[] = {x, target, weight};
    const burn_attribute attributes[] = {burn_number(reduction)};
    return burn_apply(context, 178, inputs, 3, attributes, 1, out, 1);
}

burn_status burn_kl_div(burn_context *context, burn_input x, burn_input target, int64_t reduction,
                        int64_t log_target, burn_tensor **out)
{
    const burn_input inputs[] = {x, target};
    const burn_attribute attributes[] = {burn_number(reduction), burn_number(log_target)};
    return burn_apply(context, 179, inputs, 2, attributes, 2, out, 1);
}

burn_status burn_sgd_step(burn_context *context, burn_input param, burn_input grad, burn_input lr,
                          burn_input weight_decay, int64_t maximize, burn_tensor **out)
{
    const burn_input inputs[] = {param, grad, lr, weight_decay};
    const burn_attribute attributes[] = {burn_number(maximize)};
    return burn_apply(context, 190, inputs, 4, attributes, 1, out, 1);
}

burn_status burn_sgd_momentum_step(burn_context *context, burn_input param, burn_input grad,
                                   burn_input buffer, burn_input lr, burn_input momentum,
                                   burn_input dampening, burn_input weight_decay, int64_t nesterov,
                                   int64_t maximize, burn_tensor *out[2])
{
    const burn_input inputs[] = {param, grad, buffer, lr, momentum, dampening, weight_decay};
    const burn_attribute attributes[] = {burn_number(nesterov), burn_number(maximize)};
    return burn_apply(context, 191, inputs, 7, attributes, 2, out, 2);
}

burn_status burn_adam_step(burn_context *context, burn_input param, burn_input grad, burn_input m,
                           burn_input v, burn_input max_v, burn_input lr, burn_input beta1,
                           burn_input beta2, burn_input eps, burn_input weight_decay,
                           burn_input step, int64_t maximize, burn_tensor *out[4])
{
    const burn_input inputs[] = {param, grad, m, v, max_v, lr, beta1, beta2, eps, weight_decay, step};
    const burn_attribute attributes[] = {burn_number(maximize)};
    return burn_apply(context, 192, inputs, 11, attributes, 1, out, max_v.kind ? 4 : 3);
}

burn_status burn_adamw_step(burn_context *context, burn_input param, burn_input grad, burn_input m,
                            burn_input v, burn_input max_v, burn_input lr, burn_input beta1,
                            burn_input beta2, burn_input eps, burn_input weight_decay,
                            burn_input step, int64_t maximize, burn_tensor *out[4])
{
    const burn_input inputs[] = {param, grad, m, v, max_v, lr, beta1, beta2, eps, weight_decay, step};
    const burn_attribute attributes[] = {burn_number(maximize)};
    return burn_apply(context, 193, inputs, 11, attributes, 1, out, max_v.kind ? 4 : 3);
}

burn_status burn_global_norm(burn_context *context, size_t xs_count, burn_tensor *const *xs,
                             burn_tensor **out)
{
    const burn_input first[] = {burn_none()};
    return burn_apply_list(context, 194, first, 0, xs, xs_count, NULL, 0, out, 1);
}

burn_status burn_clip_coefficient(burn_context *context, burn_input norm, burn_input max_norm,
                                  burn_tensor **out)
{
    const burn_input inputs[] = {norm, max_norm};
    return burn_apply(context, 195, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_attend(burn_context *context, burn_input scores, burn_input value,
                        burn_tensor **out)
{
    const burn_input inputs[] = {scores, value};
    return burn_apply(context, 290, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_causal(burn_context *context, burn_input scores, int64_t diagonal,
                        burn_tensor **out)
{
    const burn_input inputs[] = {scores};
    const burn_attribute attributes[] = {burn_number(diagonal)};
    return burn_apply(context, 292, inputs, 1, attributes, 1, out, 1);
}

burn_status burn_window(burn_context *context, burn_input x, int dims_count, const int64_t *dims,
                        int counts_count, const int64_t *counts,
                        int sizes_count, const int64_t *sizes,
                        int strides_count, const int64_t *strides,
                        int dilations_count, const int64_t *dilations, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count), burn_list(counts, (size_t)counts_count), burn_list(sizes, (size_t)sizes_count), burn_list(strides, (size_t)strides_count), burn_list(dilations, (size_t)dilations_count)};
    return burn_apply(context, 300, inputs, 1, attributes, 5, out, 1);
}

burn_status burn_window_add(burn_context *context, burn_input x, burn_input value,
                            int dims_count, const int64_t *dims,
                            int counts_count, const int64_t *counts,
                            int sizes_count, const int64_t *sizes,
                            int strides_count, const int64_t *strides,
                            int dilations_count, const int64_t *dilations, burn_tensor **out)
{
    const burn_input inputs[] = {x, value};
    const burn_attribute attributes[] = {burn_list(dims, (size_t)dims_count), burn_list(counts, (size_t)counts_count), burn_list(sizes, (size_t)sizes_count), burn_list(strides, (size_t)strides_count), burn_list(dilations, (size_t)dilations_count)};
    return burn_apply(context, 301, inputs, 2, attributes, 5, out, 1);
}

burn_status burn_conv(burn_context *context, burn_input x, burn_input weight, burn_input bias,
                      int strides_count, const int64_t *strides, int low_count, const int64_t *low,
                      int high_count, const int64_t *high,
                      int dilations_count, const int64_t *dilations, int64_t groups,
                      burn_tensor **out)
{
    const burn_input inputs[] = {x, weight, bias};
    const burn_attribute attributes[] = {burn_list(strides, (size_t)strides_count), burn_list(low, (size_t)low_count), burn_list(high, (size_t)high_count), burn_list(dilations, (size_t)dilations_count), burn_number(groups)};
    return burn_apply(context, 302, inputs, 3, attributes, 5, out, 1);
}

burn_status burn_conv_input(burn_context *context, burn_input x, burn_input weight,
                            int shape_count, const int64_t *shape,
                            int strides_count, const int64_t *strides,
                            int low_count, const int64_t *low,
                            int dilations_count, const int64_t *dilations, int64_t groups,
                            burn_tensor **out)
{
    const burn_input inputs[] = {x, weight};
    const burn_attribute attributes[] = {burn_list(shape, (size_t)shape_count), burn_list(strides, (size_t)strides_count), burn_list(low, (size_t)low_count), burn_list(dilations, (size_t)dilations_count), burn_number(groups)};
    return burn_apply(context, 303, inputs, 2, attributes, 5, out, 1);
}

burn_status burn_conv_weight(burn_context *context, burn_input x, burn_input y,
                             int shape_count, const int64_t *shape,
                             int strides_count, const int64_t *strides,
                             int low_count, const int64_t *low,
                             int dilations_count, const int64_t *dilations, int64_t groups,
                             burn_tensor **out)
{
    const burn_input inputs[] = {x, y};
    const burn_attribute attributes[] = {burn_list(shape, (size_t)shape_count), burn_list(strides, (size_t)strides_count), burn_list(low, (size_t)low_count), burn_list(dilations, (size_t)dilations_count), burn_number(groups)};
    return burn_apply(context, 304, inputs, 2, attributes, 5, out, 1);
}

burn_status burn_max_pool(burn_context *context, burn_input x,
                          int sizes_count, const int64_t *sizes,
                          int strides_count, const int64_t *strides,
                          int low_count, const int64_t *low, int high_count, const int64_t *high,
                          int dilations_count, const int64_t *dilations, int64_t tiled,
                          burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(sizes, (size_t)sizes_count), burn_list(strides, (size_t)strides_count), burn_list(low, (size_t)low_count), burn_list(high, (size_t)high_count), burn_list(dilations, (size_t)dilations_count), burn_number(tiled)};
    return burn_apply(context, 305, inputs, 1, attributes, 6, out, 1);
}

burn_status burn_max_pool_index(burn_context *context, burn_input x,
                                int sizes_count, const int64_t *sizes,
                                int strides_count, const int64_t *strides,
                                int low_count, const int64_t *low,
                                int high_count, const int64_t *high,
                                int dilations_count, const int64_t *dilations, int64_t tiled,
                                burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(sizes, (size_t)sizes_count), burn_list(strides, (size_t)strides_count), burn_list(low, (size_t)low_count), burn_list(high, (size_t)high_count), burn_list(dilations, (size_t)dilations_count), burn_number(tiled)};
    return burn_apply(context, 306, inputs, 1, attributes, 6, out, 1);
}

burn_status burn_avg_pool(burn_context *context, burn_input x,
                          int sizes_count, const int64_t *sizes,
                          int strides_count, const int64_t *strides,
                          int low_count, const int64_t *low, int high_count, const int64_t *high,
                          int dilations_count, const int64_t *dilations, int64_t tiled,
                          int64_t mode, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_list(sizes, (size_t)sizes_count), burn_list(strides, (size_t)strides_count), burn_list(low, (size_t)low_count), burn_list(high, (size_t)high_count), burn_list(dilations, (size_t)dilations_count), burn_number(tiled), burn_number(mode)};
    return burn_apply(context, 307, inputs, 1, attributes, 7, out, 1);
}

burn_status burn_batch_norm(burn_context *context, burn_input x, burn_input weight, burn_input bias,
                            burn_input eps, burn_tensor **out)
{
    const burn_input inputs[] = {x, weight, bias, eps};
    return burn_apply(context, 308, inputs, 4, NULL, 0, out, 1);
}

burn_status burn_batch_norm_fixed(burn_context *context, burn_input x, burn_input mean,
                                  burn_input var, burn_input weight, burn_input bias,
                                  burn_input eps, burn_tensor **out)
{
    const burn_input inputs[] = {x, mean, var, weight, bias, eps};
    return burn_apply(context, 309, inputs, 6, NULL, 0, out, 1);
}

burn_status burn_group_norm(burn_context *context, burn_input x, burn_input weight, burn_input bias,
                            burn_input eps, int64_t groups, burn_tensor **out)
{
    const burn_input inputs[] = {x, weight, bias, eps};
    const burn_attribute attributes[] = {burn_number(groups)};
    return burn_apply(context, 310, inputs, 4, attributes, 1, out, 1);
}

burn_status burn_cumsum(burn_context *context, burn_input x, int64_t dim, int dtype,
                        burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(dim), burn_number(dtype)};
    return burn_apply(context, 330, inputs, 1, attributes, 2, out, 1);
}

burn_status burn_cumprod(burn_context *context, burn_input x, int64_t dim, int dtype,
                         burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(dim), burn_number(dtype)};
    return burn_apply(context, 331, inputs, 1, attributes, 2, out, 1);
}

burn_status burn_cummax(burn_context *context, burn_input x, int64_t dim, burn_tensor *out[2])
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(dim)};
    return burn_apply(context, 333, inputs, 1, attributes, 1, out, 2);
}

burn_status burn_cummin(burn_context *context, burn_input x, int64_t dim, burn_tensor *out[2])
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(dim)};
    return burn_apply(context, 334, inputs, 1, attributes, 1, out, 2);
}

burn_status burn_logcumsumexp(burn_context *context, burn_input x, int64_t dim, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(dim)};
    return burn_apply(context, 336, inputs, 1, attributes, 1, out, 1);
}

burn_status burn_sort(burn_context *context, burn_input x, int64_t dim, int64_t descending,
                      burn_tensor *out[2])
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(dim), burn_number(descending)};
    return burn_apply(context, 337, inputs, 1, attributes, 2, out, 2);
}

burn_status burn_argsort(burn_context *context, burn_input x, int64_t dim, int64_t descending,
                         burn_tensor **out)
{
    const burn_input inputs[] = {x};
    const burn_attribute attributes[] = {burn_number(dim), burn_number(descending)};
    return burn_apply(context, 338, inputs, 1, attributes, 2, out, 1);
}

burn_status burn_scatter_prod(burn_context *context, burn_input x, burn_input index_,
                              burn_input src, int64_t dim, burn_tensor **out)
{
    const burn_input inputs[] = {x, index_, src};
    const burn_attribute attributes[] = {burn_number(dim)};
    return burn_apply(context, 339, inputs, 3, attributes, 1, out, 1);
}

burn_status burn_scatter_max(burn_context *context, burn_input x, burn_input index_, burn_input src,
                             int64_t dim, burn_tensor **out)
{
    const burn_input inputs[] = {x, index_, src};
    const burn_attribute attributes[] = {burn_number(dim)};
    return burn_apply(context, 340, inputs, 3, attributes, 1, out, 1);
}

burn_status burn_scatter_min(burn_context *context, burn_input x, burn_input index_, burn_input src,
                             int64_t dim, burn_tensor **out)
{
    const burn_input inputs[] = {x, index_, src};
    const burn_attribute attributes[] = {burn_number(dim)};
    return burn_apply(context, 341, inputs, 3, attributes, 1, out, 1);
}

burn_status burn_lstm_step(burn_context *context, burn_input in_gate, burn_input forget_gate,
                           burn_input cell_gate, burn_input out_gate, burn_input c,
                           burn_tensor *out[2])
{
    const burn_input inputs[] = {in_gate, forget_gate, cell_gate, out_gate, c};
    return burn_apply(context, 370, inputs, 5, NULL, 0, out, 2);
}

burn_status burn_gru_step(burn_context *context, burn_input reset_x, burn_input update_x,
                          burn_input new_x, burn_input reset_h, burn_input update_h,
                          burn_input new_h, burn_input h, burn_tensor **out)
{
    const burn_input inputs[] = {reset_x, update_x, new_x, reset_h, update_h, new_h, h};
    return burn_apply(context, 371, inputs, 7, NULL, 0, out, 1);
}

burn_status burn_rmsprop_step(burn_context *context, burn_input param, burn_input grad,
                              burn_input v, burn_input buffer, burn_input lr, burn_input alpha,
                              burn_input eps, burn_input momentum, burn_input weight_decay,
                              int64_t maximize, burn_tensor *out[3])
{
    const burn_input inputs[] = {param, grad, v, buffer, lr, alpha, eps, momentum, weight_decay};
    const burn_attribute attributes[] = {burn_number(maximize)};
    return burn_apply(context, 390, inputs, 9, attributes, 1, out, buffer.kind ? 3 : 2);
}

burn_status burn_rmsprop_centered_step(burn_context *context, burn_input param, burn_input grad,
                                       burn_input v, burn_input mean, burn_input buffer,
                                       burn_input lr, burn_input alpha, burn_input eps,
                                       burn_input momentum, burn_input weight_decay,
                                       int64_t maximize, burn_tensor *out[4])
{
    const burn_input inputs[] = {param, grad, v, mean, buffer, lr, alpha, eps, momentum, weight_decay};
    const burn_attribute attributes[] = {burn_number(maximize)};
    return burn_apply(context, 391, inputs, 10, attributes, 1, out, buffer.kind ? 4 : 3);
}

burn_status burn_adagrad_step(burn_context *context, burn_input param, burn_input grad,
                              burn_input total, burn_input lr, burn_input lr_decay, burn_input eps,
                              burn_input weight_decay, burn_input step, int64_t maximize,
                              burn_tensor *out[2])
{
    const burn_input inputs[] = {param, grad, total, lr, lr_decay, eps, weight_decay, step};
    const burn_attribute attributes[] = {burn_number(maximize)};
    return burn_apply(context, 392, inputs, 8, attributes, 1, out, 2);
}

burn_status burn_adadelta_step(burn_context *context, burn_input param, burn_input grad,
                               burn_input v, burn_input changes, burn_input lr, burn_input rho,
                               burn_input eps, burn_input weight_decay, int64_t maximize,
                               burn_tensor *out[3])
{
    const burn_input inputs[] = {param, grad, v, changes, lr, rho, eps, weight_decay};
    const burn_attribute attributes[] = {burn_number(maximize)};
    return burn_apply(context, 393, inputs, 8, attributes, 1, out, 3);
}

burn_status burn_adamax_step(burn_context *context, burn_input param, burn_input grad, burn_input m,
                             burn_input largest, burn_input lr, burn_input beta1, burn_input beta2,
                             burn_input eps, burn_input weight_decay, burn_input step,
                             int64_t maximize, burn_tensor *out[3])
{
    const burn_input inputs[] = {param, grad, m, largest, lr, beta1, beta2, eps, weight_decay, step};
    const burn_attribute attributes[] = {burn_number(maximize)};
    return burn_apply(context, 394, inputs, 10, attributes, 1, out, 3);
}

burn_status burn_nadam_step(burn_context *context, burn_input param, burn_input grad, burn_input m,
                            burn_input v, burn_input lr, burn_input beta1, burn_input beta2,
                            burn_input eps, burn_input weight_decay, burn_input step,
                            burn_input share, burn_input ahead, int64_t decoupled, int64_t maximize,
                            burn_tensor *out[3])
{
    const burn_input inputs[] = {param, grad, m, v, lr, beta1, beta2, eps, weight_decay, step, share, ahead};
    const burn_attribute attributes[] = {burn_number(decoupled), burn_number(maximize)};
    return burn_apply(context, 395, inputs, 12, attributes, 2, out, 3);
}

burn_status burn_radam_step(burn_context *context, burn_input param, burn_input grad, burn_input m,
                            burn_input v, burn_input lr, burn_input beta1, burn_input beta2,
                            burn_input eps, burn_input weight_decay, burn_input step,
                            int64_t decoupled, int64_t maximize, burn_tensor *out[3])
{
    const burn_input inputs[] = {param, grad, m, v, lr, beta1, beta2, eps, weight_decay, step};
    const burn_attribute attributes[] = {burn_number(decoupled), burn_number(maximize)};
    return burn_apply(context, 396, inputs, 10, attributes, 2, out, 3);
}

burn_status burn_rprop_step(burn_context *context, burn_input param, burn_input grad,
                            burn_input previous, burn_input sizes, burn_input eta_minus,
                            burn_input eta_plus, burn_input smallest, burn_input largest,
                            int64_t maximize, burn_tensor *out[3])
{
    const burn_input inputs[] = {param, grad, previous, sizes, eta_minus, eta_plus, smallest, largest};
    const burn_attribute attributes[] = {burn_number(maximize)};
    return burn_apply(context, 397, inputs, 8, attributes, 1, out, 3);
}

burn_status burn_asgd_step(burn_context *context, burn_input param, burn_input grad,
                           burn_input average, burn_input eta, burn_input lambd, burn_input mu,
                           burn_input weight_decay, int64_t maximize, burn_tensor *out[2])
{
    const burn_input inputs[] = {param, grad, average, eta, lambd, mu, weight_decay};
    const burn_attribute attributes[] = {burn_number(maximize)};
    return burn_apply(context, 398, inputs, 7, attributes, 1, out, 2);
}

burn_status burn_erfinv(burn_context *context, burn_input x, burn_tensor **out)
{
    const burn_input inputs[] = {x};
    return burn_apply(context, 399, inputs, 1, NULL, 0, out, 1);
}

burn_status burn_xlogy(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 400, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_copysign(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 401, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_ldexp(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 402, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_logaddexp2(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 403, inputs, 2, NULL, 0, out, 1);
}

burn_status burn_zeta(burn_context *context, burn_input a, burn_input b, burn_tensor **out)
{
    const burn_input inputs[] = {a, b};
    return burn_apply(context, 404, inputs, 2, NULL, 0, out, 1);
}
