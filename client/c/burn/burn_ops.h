/* SPDX-License-Identifier: Apache-2.0
 * burn_ops.h: one function an op. Made by proto/gen_ops.py from proto/ops.toml.
 *
 * Inputs first: tensors as burn_in(tensor), numbers as burn_float(2.5), burn_int(2), burn_bool(1), absent ones as
 * burn_none(). Then attributes; a list is its length and its items. A dim counts from the end if it is negative; a
 * keepdim and the like is 0 or 1; a dtype is one of BURN_DTYPE_, BURN_DTYPE_DEFAULT for the one that the op gives by
 * itself. Results go to out, which is the caller's.
 * Shapes and dtypes are checked at once; what fails in the daemon surfaces at the next burn_read or burn_sync. */
#ifndef BURN_BURN_OPS_H
#define BURN_BURN_OPS_H

#include "burn/burn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What becomes of the losses of all elements. */
enum { BURN_REDUCTION_NONE = 0, BURN_REDUCTION_MEAN = 1, BURN_REDUCTION_SUM = 2 };

/* The same values as a tensor of its own. Tensors are values on the wire, so nothing need be
 * copied. */
BURN_API burn_status burn_clone(burn_context *context, burn_input x, burn_tensor **out);
/* a + b. Integers wrap; bools: or. */
BURN_API burn_status burn_add(burn_context *context, burn_input a, burn_input b, burn_tensor **out);
/* a - b. Integers wrap; two bools are refused. */
BURN_API burn_status burn_sub(burn_context *context, burn_input a, burn_input b, burn_tensor **out);
/* a * b. Integers wrap; bools: and. */
BURN_API burn_status burn_mul(burn_context *context, burn_input a, burn_input b, burn_tensor **out);
/* a / b, true division: integers give float32. */
BURN_API burn_status burn_div(burn_context *context, burn_input a, burn_input b, burn_tensor **out);
/* -x. */
BURN_API burn_status burn_neg(burn_context *context, burn_input x, burn_tensor **out);
/* a to the power of b. Clients send square, sqrt and reciprocal for the exponents 2, 0.5 and -1,
 * as PyTorch computes them. */
BURN_API burn_status burn_pow(burn_context *context, burn_input a, burn_input b, burn_tensor **out);
/* The larger one; NaN wins. Equal elements share the gradient. */
BURN_API burn_status burn_maximum(burn_context *context, burn_input a, burn_input b,
                                  burn_tensor **out);
/* The smaller one; NaN wins. Equal elements share the gradient. */
BURN_API burn_status burn_minimum(burn_context *context, burn_input a, burn_input b,
                                  burn_tensor **out);
/* Python's a // b: rounds towards minus infinity. An integer divided by 0 gives 0. */
BURN_API burn_status burn_floor_divide(burn_context *context, burn_input a, burn_input b,
                                       burn_tensor **out);
/* Python's a % b: has the sign of b. An integer modulo 0 gives 0. */
BURN_API burn_status burn_remainder(burn_context *context, burn_input a, burn_input b,
                                    burn_tensor **out);
/* C's remainder: has the sign of a. */
BURN_API burn_status burn_fmod(burn_context *context, burn_input a, burn_input b,
                               burn_tensor **out);
/* The absolute value. */
BURN_API burn_status burn_abs(burn_context *context, burn_input x, burn_tensor **out);
/* -1, 0 or 1; 0 for NaN, as PyTorch. */
BURN_API burn_status burn_sign(burn_context *context, burn_input x, burn_tensor **out);
/* e to the power of x. */
BURN_API burn_status burn_exp(burn_context *context, burn_input x, burn_tensor **out);
/* The natural logarithm. */
BURN_API burn_status burn_log(burn_context *context, burn_input x, burn_tensor **out);
/* The square root. */
BURN_API burn_status burn_sqrt(burn_context *context, burn_input x, burn_tensor **out);
/* 1 / sqrt(x). */
BURN_API burn_status burn_rsqrt(burn_context *context, burn_input x, burn_tensor **out);
/* 1 / x. */
BURN_API burn_status burn_reciprocal(burn_context *context, burn_input x, burn_tensor **out);
/* x * x. */
BURN_API burn_status burn_square(burn_context *context, burn_input x, burn_tensor **out);
/* Sine of radians. */
BURN_API burn_status burn_sin(burn_context *context, burn_input x, burn_tensor **out);
/* Cosine of radians. */
BURN_API burn_status burn_cos(burn_context *context, burn_input x, burn_tensor **out);
/* Tangent of radians. */
BURN_API burn_status burn_tan(burn_context *context, burn_input x, burn_tensor **out);
/* Hyperbolic tangent. */
BURN_API burn_status burn_tanh(burn_context *context, burn_input x, burn_tensor **out);
/* 1 / (1 + exp(-x)). */
BURN_API burn_status burn_sigmoid(burn_context *context, burn_input x, burn_tensor **out);
/* max(x, 0); NaN stays. The gradient at 0 is 0. */
BURN_API burn_status burn_relu(burn_context *context, burn_input x, burn_tensor **out);
/* x times the normal distribution function of x; with `tanh` the usual approximation of it.
 * Usual: tanh 0. */
BURN_API burn_status burn_gelu(burn_context *context, burn_input x, int64_t tanh,
                               burn_tensor **out);
/* x * sigmoid(x), also called swish. */
BURN_API burn_status burn_silu(burn_context *context, burn_input x, burn_tensor **out);
/* The error function. */
BURN_API burn_status burn_erf(burn_context *context, burn_input x, burn_tensor **out);
/* 1 - erf(x), accurate for large x. */
BURN_API burn_status burn_erfc(burn_context *context, burn_input x, burn_tensor **out);
/* exp(x) - 1, accurate near 0. */
BURN_API burn_status burn_expm1(burn_context *context, burn_input x, burn_tensor **out);
/* log(1 + x), accurate near 0. */
BURN_API burn_status burn_log1p(burn_context *context, burn_input x, burn_tensor **out);
/* The logarithm to base 2. */
BURN_API burn_status burn_log2(burn_context *context, burn_input x, burn_tensor **out);
/* The logarithm to base 10. */
BURN_API burn_status burn_log10(burn_context *context, burn_input x, burn_tensor **out);
/* 2 to the power of x. */
BURN_API burn_status burn_exp2(burn_context *context, burn_input x, burn_tensor **out);
/* The next integer below or equal. */
BURN_API burn_status burn_floor(burn_context *context, burn_input x, burn_tensor **out);
/* The next integer above or equal. */
BURN_API burn_status burn_ceil(burn_context *context, burn_input x, burn_tensor **out);
/* The integer part. */
BURN_API burn_status burn_trunc(burn_context *context, burn_input x, burn_tensor **out);
/* The nearest integer; halves go to the even one. */
BURN_API burn_status burn_round(burn_context *context, burn_input x, burn_tensor **out);
/* Inverse sine. */
BURN_API burn_status burn_asin(burn_context *context, burn_input x, burn_tensor **out);
/* Inverse cosine. */
BURN_API burn_status burn_acos(burn_context *context, burn_input x, burn_tensor **out);
/* Inverse tangent. */
BURN_API burn_status burn_atan(burn_context *context, burn_input x, burn_tensor **out);
/* Hyperbolic sine. */
BURN_API burn_status burn_sinh(burn_context *context, burn_input x, burn_tensor **out);
/* Hyperbolic cosine. */
BURN_API burn_status burn_cosh(burn_context *context, burn_input x, burn_tensor **out);
/* Inverse hyperbolic sine. */
BURN_API burn_status burn_asinh(burn_context *context, burn_input x, burn_tensor **out);
/* Inverse hyperbolic cosine. */
BURN_API burn_status burn_acosh(burn_context *context, burn_input x, burn_tensor **out);
/* Inverse hyperbolic tangent. */
BURN_API burn_status burn_atanh(burn_context *context, burn_input x, burn_tensor **out);
/* The logarithm of the absolute value of the gamma function. */
BURN_API burn_status burn_lgamma(burn_context *context, burn_input x, burn_tensor **out);
/* The derivative of lgamma. */
BURN_API burn_status burn_digamma(burn_context *context, burn_input x, burn_tensor **out);
/* The angle of the point (b, a). */
BURN_API burn_status burn_atan2(burn_context *context, burn_input a, burn_input b,
                                burn_tensor **out);
/* The larger one; NaN loses. */
BURN_API burn_status burn_fmax(burn_context *context, burn_input a, burn_input b,
                               burn_tensor **out);
/* The smaller one; NaN loses. */
BURN_API burn_status burn_fmin(burn_context *context, burn_input a, burn_input b,
                               burn_tensor **out);
/* a where the condition holds, else b. What the other branch holds, NaN included, leaves no trace
 * in value or gradient. */
BURN_API burn_status burn_where(burn_context *context, burn_input condition, burn_input a,
                                burn_input b, burn_tensor **out);
/* x held between low and high, of which one may be absent; with low above high everything becomes
 * high. NaN stays.
 * May be burn_none(): low, high. */
BURN_API burn_status burn_clamp(burn_context *context, burn_input x, burn_input low,
                                burn_input high, burn_tensor **out);
/* x in another dtype. Floats are cut to integers towards zero, and saturate; nonzero (NaN too) is
 * True. */
BURN_API burn_status burn_cast(burn_context *context, burn_input x, int dtype, burn_tensor **out);
/* a == b. */
BURN_API burn_status burn_eq(burn_context *context, burn_input a, burn_input b, burn_tensor **out);
/* a != b. */
BURN_API burn_status burn_ne(burn_context *context, burn_input a, burn_input b, burn_tensor **out);
/* a < b. */
BURN_API burn_status burn_lt(burn_context *context, burn_input a, burn_input b, burn_tensor **out);
/* a <= b. */
BURN_API burn_status burn_le(burn_context *context, burn_input a, burn_input b, burn_tensor **out);
/* a > b. */
BURN_API burn_status burn_gt(burn_context *context, burn_input a, burn_input b, burn_tensor **out);
/* a >= b. */
BURN_API burn_status burn_ge(burn_context *context, burn_input a, burn_input b, burn_tensor **out);
/* Both are nonzero. */
BURN_API burn_status burn_logical_and(burn_context *context, burn_input a, burn_input b,
                                      burn_tensor **out);
/* Either is nonzero. */
BURN_API burn_status burn_logical_or(burn_context *context, burn_input a, burn_input b,
                                     burn_tensor **out);
/* Exactly one is nonzero. */
BURN_API burn_status burn_logical_xor(burn_context *context, burn_input a, burn_input b,
                                      burn_tensor **out);
/* x is zero. */
BURN_API burn_status burn_logical_not(burn_context *context, burn_input x, burn_tensor **out);
/* a & b of integers or bools. */
BURN_API burn_status burn_bitwise_and(burn_context *context, burn_input a, burn_input b,
                                      burn_tensor **out);
/* a | b of integers or bools. */
BURN_API burn_status burn_bitwise_or(burn_context *context, burn_input a, burn_input b,
                                     burn_tensor **out);
/* a ^ b of integers or bools. */
BURN_API burn_status burn_bitwise_xor(burn_context *context, burn_input a, burn_input b,
                                      burn_tensor **out);
/* ~x of integers or bools. */
BURN_API burn_status burn_bitwise_not(burn_context *context, burn_input x, burn_tensor **out);
/* a << b of integers. */
BURN_API burn_status burn_bitwise_left_shift(burn_context *context, burn_input a, burn_input b,
                                             burn_tensor **out);
/* a >> b of integers; keeps the sign. */
BURN_API burn_status burn_bitwise_right_shift(burn_context *context, burn_input a, burn_input b,
                                              burn_tensor **out);
/* x is NaN. */
BURN_API burn_status burn_isnan(burn_context *context, burn_input x, burn_tensor **out);
/* x is an infinity. */
BURN_API burn_status burn_isinf(burn_context *context, burn_input x, burn_tensor **out);
/* x is neither NaN nor an infinity. */
BURN_API burn_status burn_isfinite(burn_context *context, burn_input x, burn_tensor **out);
/* x where it is positive, else x * slope. */
BURN_API burn_status burn_leaky_relu(burn_context *context, burn_input x, burn_input slope,
                                     burn_tensor **out);
/* x where it is positive, else alpha * (exp(x) - 1). */
BURN_API burn_status burn_elu(burn_context *context, burn_input x, burn_input alpha,
                              burn_tensor **out);
/* clamp whose gradient is 0 at the bounds. Gradients flow to x only. */
BURN_API burn_status burn_hardtanh(burn_context *context, burn_input x, burn_input low,
                                   burn_input high, burn_tensor **out);
/* log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold. Gradients flow to
 * x only. */
BURN_API burn_status burn_softplus(burn_context *context, burn_input x, burn_input beta,
                                   burn_input threshold, burn_tensor **out);
/* log(sigmoid(x)), accurate everywhere. */
BURN_API burn_status burn_logsigmoid(burn_context *context, burn_input x, burn_tensor **out);
/* a + weight * (b - a). */
BURN_API burn_status burn_lerp(burn_context *context, burn_input a, burn_input b, burn_input weight,
                               burn_tensor **out);
/* x + value * a * b. */
BURN_API burn_status burn_addcmul(burn_context *context, burn_input x, burn_input a, burn_input b,
                                  burn_input value, burn_tensor **out);
/* x + value * (a / b). */
BURN_API burn_status burn_addcdiv(burn_context *context, burn_input x, burn_input a, burn_input b,
                                  burn_input value, burn_tensor **out);
/* The next float from a towards b. */
BURN_API burn_status burn_nextafter(burn_context *context, burn_input a, burn_input b,
                                    burn_tensor **out);
/* value where the mask holds, else x; in the dtype of x. */
BURN_API burn_status burn_masked_fill(burn_context *context, burn_input x, burn_input mask,
                                      burn_input value, burn_tensor **out);
/* log(exp(a) + exp(b)) without overflow. */
BURN_API burn_status burn_logaddexp(burn_context *context, burn_input a, burn_input b,
                                    burn_tensor **out);
/* sqrt(a * a + b * b) without overflow. */
BURN_API burn_status burn_hypot(burn_context *context, burn_input a, burn_input b,
                                burn_tensor **out);
/* x / (1 + |x|). */
BURN_API burn_status burn_softsign(burn_context *context, burn_input x, burn_tensor **out);
/* x * tanh(softplus(x)). */
BURN_API burn_status burn_mish(burn_context *context, burn_input x, burn_tensor **out);
/* min(max(x + 3, 0), 6) / 6. */
BURN_API burn_status burn_hardsigmoid(burn_context *context, burn_input x, burn_tensor **out);
/* x * hardsigmoid(x). */
BURN_API burn_status burn_hardswish(burn_context *context, burn_input x, burn_tensor **out);
/* The elements, in row-major order, in another shape of equally many. Clients resolve -1. Also
 * squeeze, unsqueeze, flatten and view. */
BURN_API burn_status burn_reshape(burn_context *context, burn_input x,
                                  int shape_count, const int64_t *shape, burn_tensor **out);
/* The dims in another order. Also transpose, t and movedim. */
BURN_API burn_status burn_permute(burn_context *context, burn_input x,
                                  int dims_count, const int64_t *dims, burn_tensor **out);
/* Dims of size 1, and new leading ones, repeated to the given shape. Clients resolve -1. */
BURN_API burn_status burn_expand(burn_context *context, burn_input x,
                                 int shape_count, const int64_t *shape, burn_tensor **out);
/* Every step-th element from start up to but without stop, for each dim. 0 <= start <= size, stop
 * likewise, step >= 1. */
BURN_API burn_status burn_slice(burn_context *context, burn_input x,
                                int starts_count, const int64_t *starts,
                                int stops_count, const int64_t *stops,
                                int steps_count, const int64_t *steps, burn_tensor **out);
/* x with `low` elements of the value before and `high` after, for each dim. Gradients flow to x
 * only. */
BURN_API burn_status burn_pad(burn_context *context, burn_input x, burn_input value,
                              int low_count, const int64_t *low,
                              int high_count, const int64_t *high, burn_tensor **out);
/* The order of elements turned round in the given dims. */
BURN_API burn_status burn_flip(burn_context *context, burn_input x,
                               int dims_count, const int64_t *dims, burn_tensor **out);
/* The tensors one after the other in a dim; the other sizes are alike. Empty tensors of shape [0]
 * are passed over, as in PyTorch.
 * Usual: dim 0. */
BURN_API burn_status burn_concat(burn_context *context, size_t xs_count, burn_tensor *const *xs,
                                 int64_t dim, burn_tensor **out);
/* The tensors, of one shape, along a new dim.
 * Usual: dim 0. */
BURN_API burn_status burn_stack(burn_context *context, size_t xs_count, burn_tensor *const *xs,
                                int64_t dim, burn_tensor **out);
/* Consecutive parts of the given sizes, which add up to the size of the dim.
 * Usual: dim 0. */
BURN_API burn_status burn_split(burn_context *context, burn_input x,
                                int sizes_count, const int64_t *sizes, int64_t dim,
                                burn_tensor **out);
/* x with the elements that slice would take replaced by the value, which is broadcast and cast. */
BURN_API burn_status burn_slice_update(burn_context *context, burn_input x, burn_input value,
                                       int starts_count, const int64_t *starts,
                                       int stops_count, const int64_t *stops,
                                       int steps_count, const int64_t *steps, burn_tensor **out);
/* The last two dims keep what lies on and below the diagonal; the rest is 0.
 * Usual: diagonal 0. */
BURN_API burn_status burn_tril(burn_context *context, burn_input x, int64_t diagonal,
                               burn_tensor **out);
/* The last two dims keep what lies on and above the diagonal; the rest is 0.
 * Usual: diagonal 0. */
BURN_API burn_status burn_triu(burn_context *context, burn_input x, int64_t diagonal,
                               burn_tensor **out);
/* The sum over the dims (none: all). Integers and bools give int64 unless a dtype is named; x is
 * cast first.
 * Usual: dims [], keepdim 0, dtype BURN_DTYPE_DEFAULT. */
BURN_API burn_status burn_sum(burn_context *context, burn_input x,
                              int dims_count, const int64_t *dims, int64_t keepdim, int dtype,
                              burn_tensor **out);
/* The mean over the dims (none: all); of nothing it is NaN.
 * Usual: dims [], keepdim 0, dtype BURN_DTYPE_DEFAULT. */
BURN_API burn_status burn_mean(burn_context *context, burn_input x,
                               int dims_count, const int64_t *dims, int64_t keepdim, int dtype,
                               burn_tensor **out);
/* The product over the dims (none: all). Dtypes as sum.
 * Usual: dims [], keepdim 0, dtype BURN_DTYPE_DEFAULT. */
BURN_API burn_status burn_prod(burn_context *context, burn_input x,
                               int dims_count, const int64_t *dims, int64_t keepdim, int dtype,
                               burn_tensor **out);
/* The largest over the dims (none: all); NaN wins. Equal elements share the gradient.
 * Usual: dims [], keepdim 0. */
BURN_API burn_status burn_max(burn_context *context, burn_input x,
                              int dims_count, const int64_t *dims, int64_t keepdim,
                              burn_tensor **out);
/* The smallest over the dims (none: all); NaN wins. Equal elements share the gradient.
 * Usual: dims [], keepdim 0. */
BURN_API burn_status burn_min(burn_context *context, burn_input x,
                              int dims_count, const int64_t *dims, int64_t keepdim,
                              burn_tensor **out);
/* The position of the largest, the first of equals; over several dims (none: all) in row-major
 * order of these. NaN counts as largest.
 * Usual: dims [], keepdim 0. */
BURN_API burn_status burn_argmax(burn_context *context, burn_input x,
                                 int dims_count, const int64_t *dims, int64_t keepdim,
                                 burn_tensor **out);
/* The position of the smallest, the first of equals; over several dims (none: all) in row-major
 * order of these. NaN counts as smallest.
 * Usual: dims [], keepdim 0. */
BURN_API burn_status burn_argmin(burn_context *context, burn_input x,
                                 int dims_count, const int64_t *dims, int64_t keepdim,
                                 burn_tensor **out);
/* Whether any element is nonzero; of nothing False. Of uint8 it is uint8, as in PyTorch, else
 * bool.
 * Usual: dims [], keepdim 0. */
BURN_API burn_status burn_any(burn_context *context, burn_input x,
                              int dims_count, const int64_t *dims, int64_t keepdim,
                              burn_tensor **out);
/* Whether all elements are nonzero; of nothing True. Of uint8 it is uint8, as in PyTorch, else
 * bool.
 * Usual: dims [], keepdim 0. */
BURN_API burn_status burn_all(burn_context *context, burn_input x,
                              int dims_count, const int64_t *dims, int64_t keepdim,
                              burn_tensor **out);
/* The variance over the dims (none: all): squared deviations divided by max(0, count -
 * correction).
 * Numbers: correction. Usual: dims [], keepdim 0. */
BURN_API burn_status burn_var(burn_context *context, burn_input x, burn_input correction,
                              int dims_count, const int64_t *dims, int64_t keepdim,
                              burn_tensor **out);
/* The square root of var.
 * Numbers: correction. Usual: dims [], keepdim 0. */
BURN_API burn_status burn_std(burn_context *context, burn_input x, burn_input correction,
                              int dims_count, const int64_t *dims, int64_t keepdim,
                              burn_tensor **out);
/* log(sum(exp(x))) over the dims (none: all) without overflow.
 * Usual: dims [], keepdim 0. */
BURN_API burn_status burn_logsumexp(burn_context *context, burn_input x,
                                    int dims_count, const int64_t *dims, int64_t keepdim,
                                    burn_tensor **out);
/* The matrix product of the last two dims; leading dims broadcast. A vector on the left is a row,
 * on the right a column, and that dim is dropped again. */
BURN_API burn_status burn_matmul(burn_context *context, burn_input a, burn_input b,
                                 burn_tensor **out);
/* x [..., in] times the transpose of weight [out, in], plus bias [out].
 * May be burn_none(): bias. */
BURN_API burn_status burn_linear(burn_context *context, burn_input x, burn_input weight,
                                 burn_input bias, burn_tensor **out);
/* exp(x) over its sum along the dim. A row of -inf gives NaN. */
BURN_API burn_status burn_softmax(burn_context *context, burn_input x, int64_t dim,
                                  burn_tensor **out);
/* The logarithm of softmax, without overflow. */
BURN_API burn_status burn_log_softmax(burn_context *context, burn_input x, int64_t dim,
                                      burn_tensor **out);
/* x less its mean, over its standard deviation, within the last dims, which have the given shape;
 * then times weight plus bias.
 * May be burn_none(): weight, bias. Numbers: eps. */
BURN_API burn_status burn_layer_norm(burn_context *context, burn_input x, burn_input weight,
                                     burn_input bias, burn_input eps,
                                     int shape_count, const int64_t *shape, burn_tensor **out);
/* x over its root mean square within the last dims, which have the given shape; then times weight.
 * May be burn_none(): weight. Numbers: eps. */
BURN_API burn_status burn_rms_norm(burn_context *context, burn_input x, burn_input weight,
                                   burn_input eps, int shape_count, const int64_t *shape,
                                   burn_tensor **out);
/* Rows of weight [rows, width] by index. The row `padding`, if it is not negative, gets no
 * gradient.
 * Usual: padding -1. */
BURN_API burn_status burn_embedding(burn_context *context, burn_input weight, burn_input index_,
                                    int64_t padding, burn_tensor **out);
/* out[i][j][k] = x[i][index[i][j][k]][k] for dim 1. The index has the rank of x and is nowhere
 * larger but in dim. */
BURN_API burn_status burn_gather(burn_context *context, burn_input x, burn_input index_,
                                 int64_t dim, burn_tensor **out);
/* Slices of x in the dim, in the order of an index of any rank, whose dims take the place of the
 * dim. With `wrap` negative indices count from the end.
 * Usual: wrap 0. */
BURN_API burn_status burn_take(burn_context *context, burn_input x, burn_input index_, int64_t dim,
                               int64_t wrap, burn_tensor **out);
/* x plus src at the places that gather would read. src has the shape of the index; clients cut a
 * larger one. Repeated places add up, in the order of src. */
BURN_API burn_status burn_scatter_add(burn_context *context, burn_input x, burn_input index_,
                                      burn_input src, int64_t dim, burn_tensor **out);
/* x with src put at the places that gather would read. Of repeated places the last one stays. */
BURN_API burn_status burn_scatter(burn_context *context, burn_input x, burn_input index_,
                                  burn_input src, int64_t dim, burn_tensor **out);
/* x indexed by several tensors, which are broadcast together, in consecutive dims from `dim` on;
 * their common shape takes the place of these dims. Negative indices count from the end.
 * Usual: dim 0. */
BURN_API burn_status burn_take_nd(burn_context *context, burn_input x,
                                  size_t indices_count, burn_tensor *const *indices, int64_t dim,
                                  burn_tensor **out);
/* x with the elements that take_nd would take replaced by, or with `accumulate` added to, the
 * value, which is broadcast and cast.
 * Usual: dim 0, accumulate 0. */
BURN_API burn_status burn_put_nd(burn_context *context, burn_input x, burn_input value,
                                 size_t indices_count, burn_tensor *const *indices, int64_t dim,
                                 int64_t accumulate, burn_tensor **out);
/* 1 at the place of the index in a new last dim of the given size, else 0. */
BURN_API burn_status burn_one_hot(burn_context *context, burn_input index_, int64_t classes,
                                  burn_tensor **out);
/* The largest along the dim and its index; the gradient goes to that element only.
 * Usual: keepdim 0. */
BURN_API burn_status burn_max_dim(burn_context *context, burn_input x, int64_t dim, int64_t keepdim,
                                  burn_tensor *out[2]);
/* The smallest along the dim and its index; the gradient goes to that element only.
 * Usual: keepdim 0. */
BURN_API burn_status burn_min_dim(burn_context *context, burn_input x, int64_t dim, int64_t keepdim,
                                  burn_tensor *out[2]);
/* Each element is 0 with the probability p, else divided by 1 - p.
 * Numbers: p. Usual: seed 0, offset 0. */
BURN_API burn_status burn_dropout(burn_context *context, burn_input x, burn_input p, int64_t seed,
                                  int64_t offset, burn_tensor **out);
/* The value everywhere. Also zeros, ones and fill.
 * Numbers: value. */
BURN_API burn_status burn_full(burn_context *context, burn_input value,
                               int shape_count, const int64_t *shape, int dtype, burn_tensor **out);
/* start + i * step for i = 0 … count - 1, computed in float64, or in int64 for integers.
 * Numbers: start, step. */
BURN_API burn_status burn_arange(burn_context *context, burn_input start, burn_input step,
                                 int64_t count, int dtype, burn_tensor **out);
/* Evenly spaced numbers from start to end, both included; from either end so that both are exact.
 * Numbers: start, end. */
BURN_API burn_status burn_linspace(burn_context *context, burn_input start, burn_input end,
                                   int64_t count, int dtype, burn_tensor **out);
/* 1 on the diagonal, else 0. */
BURN_API burn_status burn_eye(burn_context *context, int64_t rows, int64_t columns, int dtype,
                              burn_tensor **out);
/* Uniform in [low, high).
 * Numbers: low, high. Usual: dtype BURN_DTYPE_FLOAT32, seed 0, offset 0. */
BURN_API burn_status burn_uniform(burn_context *context, burn_input low, burn_input high,
                                  int shape_count, const int64_t *shape, int dtype, int64_t seed,
                                  int64_t offset, burn_tensor **out);
/* Normally distributed, by Box and Muller's transform.
 * Numbers: mean, std_. Usual: dtype BURN_DTYPE_FLOAT32, seed 0, offset 0. */
BURN_API burn_status burn_normal(burn_context *context, burn_input mean, burn_input std_,
                                 int shape_count, const int64_t *shape, int dtype, int64_t seed,
                                 int64_t offset, burn_tensor **out);
/* 1 with the probability that the element says, else 0.
 * Usual: seed 0, offset 0. */
BURN_API burn_status burn_bernoulli(burn_context *context, burn_input p, int64_t seed,
                                    int64_t offset, burn_tensor **out);
/* Integers from low to high - 1, all alike likely but for a bias below range / 2^64.
 * Numbers: low, high. Usual: dtype BURN_DTYPE_INT64, seed 0, offset 0. */
BURN_API burn_status burn_randint(burn_context *context, burn_input low, burn_input high,
                                  int shape_count, const int64_t *shape, int dtype, int64_t seed,
                                  int64_t offset, burn_tensor **out);
/* The negative log-likelihood of class indices under softmax over dim 1 (dim 0 of a vector).
 * Targets equal to ignore_index do not count; class weights scale each element's loss and the
 * mean's divisor; label smoothing mixes the target with all classes. Gradients flow to x only.
 * May be burn_none(): weight, label_smoothing. Numbers: label_smoothing. Usual: reduction
 * BURN_REDUCTION_MEAN, ignore_index -100. */
BURN_API burn_status burn_cross_entropy(burn_context *context, burn_input x, burn_input target,
                                        burn_input weight, burn_input label_smoothing,
                                        int64_t reduction, int64_t ignore_index, burn_tensor **out);
/* As cross_entropy, of logarithms of probabilities.
 * May be burn_none(): weight. Usual: reduction BURN_REDUCTION_MEAN, ignore_index -100. */
BURN_API burn_status burn_nll_loss(burn_context *context, burn_input x, burn_input target,
                                   burn_input weight, int64_t reduction, int64_t ignore_index,
                                   burn_tensor **out);
/* cross_entropy whose target holds the probability of each class.
 * May be burn_none(): weight, label_smoothing. Numbers: label_smoothing. Usual: reduction
 * BURN_REDUCTION_MEAN. */
BURN_API burn_status burn_cross_entropy_soft(burn_context *context, burn_input x, burn_input target,
                                             burn_input weight, burn_input label_smoothing,
                                             int64_t reduction, burn_tensor **out);
/* The squared difference.
 * Usual: reduction BURN_REDUCTION_MEAN. */
BURN_API burn_status burn_mse_loss(burn_context *context, burn_input x, burn_input target,
                                   int64_t reduction, burn_tensor **out);
/* The absolute difference.
 * Usual: reduction BURN_REDUCTION_MEAN. */
BURN_API burn_status burn_l1_loss(burn_context *context, burn_input x, burn_input target,
                                  int64_t reduction, burn_tensor **out);
/* Half the squared difference up to delta, beyond it delta * (difference - delta / 2).
 * Numbers: delta. Usual: reduction BURN_REDUCTION_MEAN. */
BURN_API burn_status burn_huber_loss(burn_context *context, burn_input x, burn_input target,
                                     burn_input delta, int64_t reduction, burn_tensor **out);
/* huber_loss divided by beta.
 * Numbers: beta. Usual: reduction BURN_REDUCTION_MEAN. */
BURN_API burn_status burn_smooth_l1_loss(burn_context *context, burn_input x, burn_input target,
                                         burn_input beta, int64_t reduction, burn_tensor **out);
/* The cross-entropy of a probability given as its logit x; pos_weight scales the positive part.
 * May be burn_none(): weight, pos_weight. Usual: reduction BURN_REDUCTION_MEAN. */
BURN_API burn_status burn_bce_with_logits(burn_context *context, burn_input x, burn_input target,
                                          burn_input weight, burn_input pos_weight,
                                          int64_t reduction, burn_tensor **out);
/* The cross-entropy of a probability x; logarithms are held above -100.
 * May be burn_none(): weight. Usual: reduction BURN_REDUCTION_MEAN. */
BURN_API burn_status burn_bce(burn_context *context, burn_input x, burn_input target,
                              burn_input weight, int64_t reduction, burn_tensor **out);
/* target * (log(target) - x), where x is a logarithm of probabilities, and the target too with
 * log_target.
 * Usual: reduction BURN_REDUCTION_MEAN, log_target 0. */
BURN_API burn_status burn_kl_div(burn_context *context, burn_input x, burn_input target,
                                 int64_t reduction, int64_t log_target, burn_tensor **out);
/* Plain gradient descent. Gives the new param.
 * May be burn_none(): weight_decay. Numbers: lr, weight_decay. Usual: maximize 0. */
BURN_API burn_status burn_sgd_step(burn_context *context, burn_input param, burn_input grad,
                                   burn_input lr, burn_input weight_decay, int64_t maximize,
                                   burn_tensor **out);
/* Gradient descent with momentum; the buffer is absent at the first step. Gives the new param and
 * buffer.
 * May be burn_none(): buffer, weight_decay. Numbers: lr, momentum, dampening, weight_decay. Usual:
 * nesterov 0, maximize 0. */
BURN_API burn_status burn_sgd_momentum_step(burn_context *context, burn_input param,
                                            burn_input grad, burn_input buffer, burn_input lr,
                                            burn_input momentum, burn_input dampening,
                                            burn_input weight_decay, int64_t nesterov,
                                            int64_t maximize, burn_tensor *out[2]);
/* One step of Adam (with max_v: AMSGrad); weight decay is added to the gradient. `step` counts
 * from 1; bias corrections are computed in float64. Gives the new param, m, v and max_v.
 * May be burn_none(): max_v, weight_decay. Numbers: lr, beta1, beta2, eps, weight_decay, step.
 * Usual: maximize 0. */
BURN_API burn_status burn_adam_step(burn_context *context, burn_input param, burn_input grad,
                                    burn_input m, burn_input v, burn_input max_v, burn_input lr,
                                    burn_input beta1, burn_input beta2, burn_input eps,
                                    burn_input weight_decay, burn_input step, int64_t maximize,
                                    burn_tensor *out[4]);
/* As adam_step, but weight decay shrinks the param itself.
 * May be burn_none(): max_v, weight_decay. Numbers: lr, beta1, beta2, eps, weight_decay, step.
 * Usual: maximize 0. */
BURN_API burn_status burn_adamw_step(burn_context *context, burn_input param, burn_input grad,
                                     burn_input m, burn_input v, burn_input max_v, burn_input lr,
                                     burn_input beta1, burn_input beta2, burn_input eps,
                                     burn_input weight_decay, burn_input step, int64_t maximize,
                                     burn_tensor *out[4]);
/* The square root of the sum of the squares of all elements of all tensors. */
BURN_API burn_status burn_global_norm(burn_context *context,
                                      size_t xs_count, burn_tensor *const *xs, burn_tensor **out);
/* What gradients are multiplied by so that their norm is at most max_norm: min(1, max_norm / (norm
 * + 1e-6)).
 * Numbers: max_norm. */
BURN_API burn_status burn_clip_coefficient(burn_context *context, burn_input norm,
                                           burn_input max_norm, burn_tensor **out);
/* The softmax of scores [batch…, m, n] over n, times value [batch…, n, e], with equal batch dims.
 * A row of scores that are all -inf gives zeros. The gradient's products are of 16-bit floats if
 * those are. */
BURN_API burn_status burn_attend(burn_context *context, burn_input scores, burn_input value,
                                 burn_tensor **out);
/* Scores [batch…, m, n] with -inf where n > m + diagonal: no query sees a later key.
 * Usual: diagonal 0. */
BURN_API burn_status burn_causal(burn_context *context, burn_input scores, int64_t diagonal,
                                 burn_tensor **out);
/* Windows of some dims: each becomes `count` places, and a last dim of `size` elements is added;
 * element k of place i is x's i * stride + k * dilation. All lie within x. */
BURN_API burn_status burn_window(burn_context *context, burn_input x,
                                 int dims_count, const int64_t *dims,
                                 int counts_count, const int64_t *counts,
                                 int sizes_count, const int64_t *sizes,
                                 int strides_count, const int64_t *strides,
                                 int dilations_count, const int64_t *dilations, burn_tensor **out);
/* x plus the elements of the value, which has the shape of x's windows, each at the place where
 * window would show it. Also fold. */
BURN_API burn_status burn_window_add(burn_context *context, burn_input x, burn_input value,
                                     int dims_count, const int64_t *dims,
                                     int counts_count, const int64_t *counts,
                                     int sizes_count, const int64_t *sizes,
                                     int strides_count, const int64_t *strides,
                                     int dilations_count, const int64_t *dilations,
                                     burn_tensor **out);
/* Convolution of x [batch, channels, places..] with weight [outputs, channels / groups, sizes..],
 * plus bias [outputs]. x is padded by `low` zeros before and `high` after each place dim; both
 * lists may be empty.
 * May be burn_none(): bias. Usual: groups 1. */
BURN_API burn_status burn_conv(burn_context *context, burn_input x, burn_input weight,
                               burn_input bias, int strides_count, const int64_t *strides,
                               int low_count, const int64_t *low,
                               int high_count, const int64_t *high,
                               int dilations_count, const int64_t *dilations, int64_t groups,
                               burn_tensor **out);
/* The adjoint of conv in its input, or transposed convolution: x has conv's result's shape, the
 * result conv's input's, whose place dims are `shape`.
 * Usual: groups 1. */
BURN_API burn_status burn_conv_input(burn_context *context, burn_input x, burn_input weight,
                                     int shape_count, const int64_t *shape,
                                     int strides_count, const int64_t *strides,
                                     int low_count, const int64_t *low,
                                     int dilations_count, const int64_t *dilations, int64_t groups,
                                     burn_tensor **out);
/* The adjoint of conv in its weight: x is conv's input, y has its result's shape, the result is a
 * weight whose sizes are `shape`.
 * Usual: groups 1. */
BURN_API burn_status burn_conv_weight(burn_context *context, burn_input x, burn_input y,
                                      int shape_count, const int64_t *shape,
                                      int strides_count, const int64_t *strides,
                                      int low_count, const int64_t *low,
                                      int dilations_count, const int64_t *dilations, int64_t groups,
                                      burn_tensor **out);
/* The largest element of each window of the last dims, as many as there are sizes; NaN wins.
 * Padding (both lists may be empty) is below everything. The first of equal elements has the
 * gradient. `tiled` says that strides are sizes, without padding or dilation: that is faster.
 * Usual: tiled 0. */
BURN_API burn_status burn_max_pool(burn_context *context, burn_input x,
                                   int sizes_count, const int64_t *sizes,
                                   int strides_count, const int64_t *strides,
                                   int low_count, const int64_t *low,
                                   int high_count, const int64_t *high,
                                   int dilations_count, const int64_t *dilations, int64_t tiled,
                                   burn_tensor **out);
/* Where max_pool found its elements: row-major positions within the last dims of x, as many as
 * there are sizes.
 * Usual: tiled 0. */
BURN_API burn_status burn_max_pool_index(burn_context *context, burn_input x,
                                         int sizes_count, const int64_t *sizes,
                                         int strides_count, const int64_t *strides,
                                         int low_count, const int64_t *low,
                                         int high_count, const int64_t *high,
                                         int dilations_count, const int64_t *dilations,
                                         int64_t tiled, burn_tensor **out);
/* The mean of each window of the last dims, as many as there are sizes: the sum divided by the
 * elements of a window (mode 0), by those in x and its padding, taken as `low` on both sides (1),
 * or by those in x (2).
 * Usual: tiled 0, mode 0. */
BURN_API burn_status burn_avg_pool(burn_context *context, burn_input x,
                                   int sizes_count, const int64_t *sizes,
                                   int strides_count, const int64_t *strides,
                                   int low_count, const int64_t *low,
                                   int high_count, const int64_t *high,
                                   int dilations_count, const int64_t *dilations, int64_t tiled,
                                   int64_t mode, burn_tensor **out);
/* x less its mean, over its standard deviation, within each channel (dim 1); then times weight
 * plus bias of the channel.
 * May be burn_none(): weight, bias. Numbers: eps. */
BURN_API burn_status burn_batch_norm(burn_context *context, burn_input x, burn_input weight,
                                     burn_input bias, burn_input eps, burn_tensor **out);
/* (x - mean) / sqrt(var + eps) * weight + bias, with one of each for every channel (dim 1).
 * May be burn_none(): weight, bias. Numbers: eps. */
BURN_API burn_status burn_batch_norm_fixed(burn_context *context, burn_input x, burn_input mean,
                                           burn_input var, burn_input weight, burn_input bias,
                                           burn_input eps, burn_tensor **out);
/* x less its mean, over its standard deviation, within each of the groups of channels (dim 1) of
 * an element of the batch; then times weight plus bias of the channel. groups divides the
 * channels; as many as these make an instance norm.
 * May be burn_none(): weight, bias. Numbers: eps. Usual: groups 1. */
BURN_API burn_status burn_group_norm(burn_context *context, burn_input x, burn_input weight,
                                     burn_input bias, burn_input eps, int64_t groups,
                                     burn_tensor **out);
/* At each place of the dim the sum of what stands up to it. Dtypes as sum.
 * Usual: dtype BURN_DTYPE_DEFAULT. */
BURN_API burn_status burn_cumsum(burn_context *context, burn_input x, int64_t dim, int dtype,
                                 burn_tensor **out);
/* At each place of the dim the product of what stands up to it. Dtypes as sum.
 * Usual: dtype BURN_DTYPE_DEFAULT. */
BURN_API burn_status burn_cumprod(burn_context *context, burn_input x, int64_t dim, int dtype,
                                  burn_tensor **out);
/* At each place of the dim the largest of what stands up to it, and its place, the last of equals.
 * NaN wins. */
BURN_API burn_status burn_cummax(burn_context *context, burn_input x, int64_t dim,
                                 burn_tensor *out[2]);
/* At each place of the dim the smallest of what stands up to it, and its place, the last of
 * equals. NaN wins. */
BURN_API burn_status burn_cummin(burn_context *context, burn_input x, int64_t dim,
                                 burn_tensor *out[2]);
/* At each place of the dim the logarithm of the sum of exp(x) of what stands up to it, without
 * overflow. */
BURN_API burn_status burn_logcumsumexp(burn_context *context, burn_input x, int64_t dim,
                                       burn_tensor **out);
/* The elements along the dim in order, and where each stood. Equal elements keep their order; NaN
 * is the largest.
 * Usual: descending 0. */
BURN_API burn_status burn_sort(burn_context *context, burn_input x, int64_t dim, int64_t descending,
                               burn_tensor *out[2]);
/* The places of the elements along the dim in the order that sort gives them.
 * Usual: descending 0. */
BURN_API burn_status burn_argsort(burn_context *context, burn_input x, int64_t dim,
                                  int64_t descending, burn_tensor **out);
/* x times src at the places that gather would read; repeated places multiply up, in the order of
 * src. */
BURN_API burn_status burn_scatter_prod(burn_context *context, burn_input x, burn_input index_,
                                       burn_input src, int64_t dim, burn_tensor **out);
/* The larger one of x and src at the places that gather would read; NaN wins. Equal ones share the
 * gradient. */
BURN_API burn_status burn_scatter_max(burn_context *context, burn_input x, burn_input index_,
                                      burn_input src, int64_t dim, burn_tensor **out);
/* The smaller one of x and src at the places that gather would read; NaN wins. Equal ones share
 * the gradient. */
BURN_API burn_status burn_scatter_min(burn_context *context, burn_input x, burn_input index_,
                                      burn_input src, int64_t dim, burn_tensor **out);
/* The new h and c of an LSTM, from the four gates before their activations and the former c; all
 * of one shape. */
BURN_API burn_status burn_lstm_step(burn_context *context, burn_input in_gate,
                                    burn_input forget_gate, burn_input cell_gate,
                                    burn_input out_gate, burn_input c, burn_tensor *out[2]);
/* The new h of a GRU, from the three gates of the input and of h before their activations, and the
 * former h; all of one shape. */
BURN_API burn_status burn_gru_step(burn_context *context, burn_input reset_x, burn_input update_x,
                                   burn_input new_x, burn_input reset_h, burn_input update_h,
                                   burn_input new_h, burn_input h, burn_tensor **out);
/* One step of RMSprop; v is the mean of squares. Gives the new param, v and, where one is given,
 * buffer.
 * May be burn_none(): buffer, momentum, weight_decay. Numbers: lr, alpha, eps, momentum,
 * weight_decay. Usual: maximize 0. */
BURN_API burn_status burn_rmsprop_step(burn_context *context, burn_input param, burn_input grad,
                                       burn_input v, burn_input buffer, burn_input lr,
                                       burn_input alpha, burn_input eps, burn_input momentum,
                                       burn_input weight_decay, int64_t maximize,
                                       burn_tensor *out[3]);
/* As rmsprop_step, with the variance about a running mean of gradients in place of the mean of
 * squares. Gives the new param, v, mean and buffer.
 * May be burn_none(): buffer, momentum, weight_decay. Numbers: lr, alpha, eps, momentum,
 * weight_decay. Usual: maximize 0. */
BURN_API burn_status burn_rmsprop_centered_step(burn_context *context, burn_input param,
                                                burn_input grad, burn_input v, burn_input mean,
                                                burn_input buffer, burn_input lr, burn_input alpha,
                                                burn_input eps, burn_input momentum,
                                                burn_input weight_decay, int64_t maximize,
                                                burn_tensor *out[4]);
/* One step of Adagrad; total is that of the squares of all gradients, step counts from 1. Gives
 * the new param and total.
 * May be burn_none(): weight_decay. Numbers: lr, lr_decay, eps, weight_decay, step. Usual:
 * maximize 0. */
BURN_API burn_status burn_adagrad_step(burn_context *context, burn_input param, burn_input grad,
                                       burn_input total, burn_input lr, burn_input lr_decay,
                                       burn_input eps, burn_input weight_decay, burn_input step,
                                       int64_t maximize, burn_tensor *out[2]);
/* One step of Adadelta; v and changes are means of the squares of gradients and of updates. Gives
 * the new param, v and changes.
 * May be burn_none(): weight_decay. Numbers: lr, rho, eps, weight_decay. Usual: maximize 0. */
BURN_API burn_status burn_adadelta_step(burn_context *context, burn_input param, burn_input grad,
                                        burn_input v, burn_input changes, burn_input lr,
                                        burn_input rho, burn_input eps, burn_input weight_decay,
                                        int64_t maximize, burn_tensor *out[3]);
/* One step of Adamax; largest is the decaying greatest size of a gradient. Gives the new param, m
 * and largest.
 * May be burn_none(): weight_decay. Numbers: lr, beta1, beta2, eps, weight_decay, step. Usual:
 * maximize 0. */
BURN_API burn_status burn_adamax_step(burn_context *context, burn_input param, burn_input grad,
                                      burn_input m, burn_input largest, burn_input lr,
                                      burn_input beta1, burn_input beta2, burn_input eps,
                                      burn_input weight_decay, burn_input step, int64_t maximize,
                                      burn_tensor *out[3]);
/* One step of NAdam. With mu_k the momentum of step k and M_k the product of all up to it, `share`
 * is (1 - mu_k) / (1 - M_k) and `ahead` is mu_(k+1) / (1 - M_(k+1)). Gives the new param, m and v.
 * May be burn_none(): weight_decay. Numbers: lr, beta1, beta2, eps, weight_decay, step, share,
 * ahead. Usual: decoupled 0, maximize 0. */
BURN_API burn_status burn_nadam_step(burn_context *context, burn_input param, burn_input grad,
                                     burn_input m, burn_input v, burn_input lr, burn_input beta1,
                                     burn_input beta2, burn_input eps, burn_input weight_decay,
                                     burn_input step, burn_input share, burn_input ahead,
                                     int64_t decoupled, int64_t maximize, burn_tensor *out[3]);
/* One step of RAdam: Adam that goes by m alone while too few steps were seen for v to be of use.
 * Gives the new param, m and v.
 * May be burn_none(): weight_decay. Numbers: lr, beta1, beta2, eps, weight_decay, step. Usual:
 * decoupled 0, maximize 0. */
BURN_API burn_status burn_radam_step(burn_context *context, burn_input param, burn_input grad,
                                     burn_input m, burn_input v, burn_input lr, burn_input beta1,
                                     burn_input beta2, burn_input eps, burn_input weight_decay,
                                     burn_input step, int64_t decoupled, int64_t maximize,
                                     burn_tensor *out[3]);
/* One step of resilient propagation; each element has a step size of its own. Gives the new param,
 * previous gradient and sizes.
 * Numbers: eta_minus, eta_plus, smallest, largest. Usual: maximize 0. */
BURN_API burn_status burn_rprop_step(burn_context *context, burn_input param, burn_input grad,
                                     burn_input previous, burn_input sizes, burn_input eta_minus,
                                     burn_input eta_plus, burn_input smallest, burn_input largest,
                                     int64_t maximize, burn_tensor *out[3]);
/* One step of averaged gradient descent with the rate `eta`; the average takes in a share `mu` of
 * the new param. Gives the new param and average.
 * May be burn_none(): weight_decay. Numbers: eta, lambd, mu, weight_decay. Usual: maximize 0. */
BURN_API burn_status burn_asgd_step(burn_context *context, burn_input param, burn_input grad,
                                    burn_input average, burn_input eta, burn_input lambd,
                                    burn_input mu, burn_input weight_decay, int64_t maximize,
                                    burn_tensor *out[2]);
/* The inverse of erf: a closed approximation and two of Halley's steps. */
BURN_API burn_status burn_erfinv(burn_context *context, burn_input x, burn_tensor **out);
/* a * log(b), 0 where a is 0 (unless b is NaN). */
BURN_API burn_status burn_xlogy(burn_context *context, burn_input a, burn_input b,
                                burn_tensor **out);
/* The size of a with the sign of b, also of -0. */
BURN_API burn_status burn_copysign(burn_context *context, burn_input a, burn_input b,
                                   burn_tensor **out);
/* a * 2 ** b. */
BURN_API burn_status burn_ldexp(burn_context *context, burn_input a, burn_input b,
                                burn_tensor **out);
/* log2(2 ** a + 2 ** b) without overflow. */
BURN_API burn_status burn_logaddexp2(burn_context *context, burn_input a, burn_input b,
                                     burn_tensor **out);
/* The Hurwitz zeta function, the sum of (b + k) ** -a over k from 0 on: 12 terms and the rest by
 * Euler and Maclaurin's formula. */
BURN_API burn_status burn_zeta(burn_context *context, burn_input a, burn_input b,
                               burn_tensor **out);

#ifdef __cplusplus
}
#endif
#endif
