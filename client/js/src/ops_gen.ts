// SPDX-License-Identifier: Apache-2.0
// Made by proto/gen_ops.py from proto/ops.toml. The functions are made at run time from the table of the core; here
// stand their types, and the names of those that are also functions of Burn and methods of Tensor.
import type { DType } from "./dtypes.js";
import type { Operand, Tensor } from "./tensor.js";

/** Every op by its own name: inputs in order (null where an optional one is absent), then its attributes as an object.
 * Friendlier forms of the usual ones are methods of Tensor and functions of `nn`. */
export interface Ops {
  /** The same values; no gradient flows back. */
  detach(x: Operand): Tensor;
  /** The same values as a tensor of its own. Tensors are values on the wire, so nothing need be copied. */
  clone(x: Operand): Tensor;
  /** a + b. Integers wrap; bools: or. */
  add(a: Operand, b: Operand): Tensor;
  /** a - b. Integers wrap; two bools are refused. */
  sub(a: Operand, b: Operand): Tensor;
  /** a * b. Integers wrap; bools: and. */
  mul(a: Operand, b: Operand): Tensor;
  /** a / b, true division: integers give float32. */
  div(a: Operand, b: Operand): Tensor;
  /** -x. */
  neg(x: Operand): Tensor;
  /** a to the power of b. Clients send square, sqrt and reciprocal for the exponents 2, 0.5 and -1, as PyTorch
   * computes them. */
  pow(a: Operand, b: Operand): Tensor;
  /** The larger one; NaN wins. Equal elements share the gradient. */
  maximum(a: Operand, b: Operand): Tensor;
  /** The smaller one; NaN wins. Equal elements share the gradient. */
  minimum(a: Operand, b: Operand): Tensor;
  /** Python's a // b: rounds towards minus infinity. An integer divided by 0 gives 0. */
  floorDivide(a: Operand, b: Operand): Tensor;
  /** Python's a % b: has the sign of b. An integer modulo 0 gives 0. */
  remainder(a: Operand, b: Operand): Tensor;
  /** C's remainder: has the sign of a. */
  fmod(a: Operand, b: Operand): Tensor;
  /** The absolute value. */
  abs(x: Operand): Tensor;
  /** -1, 0 or 1; 0 for NaN, as PyTorch. */
  sign(x: Operand): Tensor;
  /** e to the power of x. */
  exp(x: Operand): Tensor;
  /** The natural logarithm. */
  log(x: Operand): Tensor;
  /** The square root. */
  sqrt(x: Operand): Tensor;
  /** 1 / sqrt(x). */
  rsqrt(x: Operand): Tensor;
  /** 1 / x. */
  reciprocal(x: Operand): Tensor;
  /** x * x. */
  square(x: Operand): Tensor;
  /** Sine of radians. */
  sin(x: Operand): Tensor;
  /** Cosine of radians. */
  cos(x: Operand): Tensor;
  /** Tangent of radians. */
  tan(x: Operand): Tensor;
  /** Hyperbolic tangent. */
  tanh(x: Operand): Tensor;
  /** 1 / (1 + exp(-x)). */
  sigmoid(x: Operand): Tensor;
  /** max(x, 0); NaN stays. The gradient at 0 is 0. */
  relu(x: Operand): Tensor;
  /** x times the normal distribution function of x; with `tanh` the usual approximation of it. */
  gelu(x: Operand, attrs?: { tanh?: number | boolean }): Tensor;
  /** x * sigmoid(x), also called swish. */
  silu(x: Operand): Tensor;
  /** The error function. */
  erf(x: Operand): Tensor;
  /** 1 - erf(x), accurate for large x. */
  erfc(x: Operand): Tensor;
  /** exp(x) - 1, accurate near 0. */
  expm1(x: Operand): Tensor;
  /** log(1 + x), accurate near 0. */
  log1p(x: Operand): Tensor;
  /** The logarithm to base 2. */
  log2(x: Operand): Tensor;
  /** The logarithm to base 10. */
  log10(x: Operand): Tensor;
  /** 2 to the power of x. */
  exp2(x: Operand): Tensor;
  /** The next integer below or equal. */
  floor(x: Operand): Tensor;
  /** The next integer above or equal. */
  ceil(x: Operand): Tensor;
  /** The integer part. */
  trunc(x: Operand): Tensor;
  /** The nearest integer; halves go to the even one. */
  round(x: Operand): Tensor;
  /** Inverse sine. */
  asin(x: Operand): Tensor;
  /** Inverse cosine. */
  acos(x: Operand): Tensor;
  /** Inverse tangent. */
  atan(x: Operand): Tensor;
  /** Hyperbolic sine. */
  sinh(x: Operand): Tensor;
  /** Hyperbolic cosine. */
  cosh(x: Operand): Tensor;
  /** Inverse hyperbolic sine. */
  asinh(x: Operand): Tensor;
  /** Inverse hyperbolic cosine. */
  acosh(x: Operand): Tensor;
  /** Inverse hyperbolic tangent. */
  atanh(x: Operand): Tensor;
  /** The logarithm of the absolute value of the gamma function. */
  lgamma(x: Operand): Tensor;
  /** The derivative of lgamma. */
  digamma(x: Operand): Tensor;
  /** The angle of the point (b, a). */
  atan2(a: Operand, b: Operand): Tensor;
  /** The larger one; NaN loses. */
  fmax(a: Operand, b: Operand): Tensor;
  /** The smaller one; NaN loses. */
  fmin(a: Operand, b: Operand): Tensor;
  /** a where the condition holds, else b. What the other branch holds, NaN included, leaves no trace in value or
   * gradient. */
  where(condition: Operand, a: Operand, b: Operand): Tensor;
  /** x held between low and high, of which one may be absent; with low above high everything becomes high. NaN
   * stays. */
  clamp(x: Operand, low?: Operand | null, high?: Operand | null): Tensor;
  /** x in another dtype. Floats are cut to integers towards zero, and saturate; nonzero (NaN too) is True. */
  cast(x: Operand, attrs: { dtype: DType }): Tensor;
  /** a == b. */
  eq(a: Operand, b: Operand): Tensor;
  /** a != b. */
  ne(a: Operand, b: Operand): Tensor;
  /** a < b. */
  lt(a: Operand, b: Operand): Tensor;
  /** a <= b. */
  le(a: Operand, b: Operand): Tensor;
  /** a > b. */
  gt(a: Operand, b: Operand): Tensor;
  /** a >= b. */
  ge(a: Operand, b: Operand): Tensor;
  /** Both are nonzero. */
  logicalAnd(a: Operand, b: Operand): Tensor;
  /** Either is nonzero. */
  logicalOr(a: Operand, b: Operand): Tensor;
  /** Exactly one is nonzero. */
  logicalXor(a: Operand, b: Operand): Tensor;
  /** x is zero. */
  logicalNot(x: Operand): Tensor;
  /** a & b of integers or bools. */
  bitwiseAnd(a: Operand, b: Operand): Tensor;
  /** a | b of integers or bools. */
  bitwiseOr(a: Operand, b: Operand): Tensor;
  /** a ^ b of integers or bools. */
  bitwiseXor(a: Operand, b: Operand): Tensor;
  /** ~x of integers or bools. */
  bitwiseNot(x: Operand): Tensor;
  /** a << b of integers. */
  bitwiseLeftShift(a: Operand, b: Operand): Tensor;
  /** a >> b of integers; keeps the sign. */
  bitwiseRightShift(a: Operand, b: Operand): Tensor;
  /** x is NaN. */
  isnan(x: Operand): Tensor;
  /** x is an infinity. */
  isinf(x: Operand): Tensor;
  /** x is neither NaN nor an infinity. */
  isfinite(x: Operand): Tensor;
  /** x where it is positive, else x * slope. */
  leakyRelu(x: Operand, slope: Operand): Tensor;
  /** x where it is positive, else alpha * (exp(x) - 1). */
  elu(x: Operand, alpha: Operand): Tensor;
  /** clamp whose gradient is 0 at the bounds. Gradients flow to x only. */
  hardtanh(x: Operand, low: Operand, high: Operand): Tensor;
  /** log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold. Gradients flow to x only. */
  softplus(x: Operand, beta: Operand, threshold: Operand): Tensor;
  /** log(sigmoid(x)), accurate everywhere. */
  logsigmoid(x: Operand): Tensor;
  /** a + weight * (b - a). */
  lerp(a: Operand, b: Operand, weight: Operand): Tensor;
  /** x + value * a * b. */
  addcmul(x: Operand, a: Operand, b: Operand, value: Operand): Tensor;
  /** x + value * (a / b). */
  addcdiv(x: Operand, a: Operand, b: Operand, value: Operand): Tensor;
  /** The next float from a towards b. */
  nextafter(a: Operand, b: Operand): Tensor;
  /** value where the mask holds, else x; in the dtype of x. */
  maskedFill(x: Operand, mask: Operand, value: Operand): Tensor;
  /** log(exp(a) + exp(b)) without overflow. */
  logaddexp(a: Operand, b: Operand): Tensor;
  /** sqrt(a * a + b * b) without overflow. */
  hypot(a: Operand, b: Operand): Tensor;
  /** x / (1 + |x|). */
  softsign(x: Operand): Tensor;
  /** x * tanh(softplus(x)). */
  mish(x: Operand): Tensor;
  /** min(max(x + 3, 0), 6) / 6. */
  hardsigmoid(x: Operand): Tensor;
  /** x * hardsigmoid(x). */
  hardswish(x: Operand): Tensor;
  /** The elements, in row-major order, in another shape of equally many. Clients resolve -1. Also squeeze,
   * unsqueeze, flatten and view. */
  reshape(x: Operand, attrs: { shape: readonly number[] }): Tensor;
  /** The dims in another order. Also transpose, t and movedim. */
  permute(x: Operand, attrs: { dims: readonly number[] }): Tensor;
  /** Dims of size 1, and new leading ones, repeated to the given shape. Clients resolve -1. */
  expand(x: Operand, attrs: { shape: readonly number[] }): Tensor;
  /** Every step-th element from start up to but without stop, for each dim. 0 <= start <= size, stop likewise, step
   * >= 1. */
  slice(x: Operand, attrs: { starts: readonly number[]; stops: readonly number[]; steps: readonly number[] }): Tensor;
  /** x with `low` elements of the value before and `high` after, for each dim. Gradients flow to x only. */
  pad(x: Operand, value: Operand, attrs: { low: readonly number[]; high: readonly number[] }): Tensor;
  /** The order of elements turned round in the given dims. */
  flip(x: Operand, attrs: { dims: readonly number[] }): Tensor;
  /** The tensors one after the other in a dim; the other sizes are alike. Empty tensors of shape [0] are passed
   * over, as in PyTorch. */
  concat(xs: readonly Tensor[], attrs?: { dim?: number }): Tensor;
  /** The tensors, of one shape, along a new dim. */
  stack(xs: readonly Tensor[], attrs?: { dim?: number }): Tensor;
  /** Consecutive parts of the given sizes, which add up to the size of the dim. */
  split(x: Operand, attrs: { sizes: readonly number[]; dim?: number }): Tensor[];
  /** x with the elements that slice would take replaced by the value, which is broadcast and cast. */
  sliceUpdate(x: Operand, value: Operand, attrs: { starts: readonly number[]; stops: readonly number[]; steps: readonly number[] }): Tensor;
  /** The last two dims keep what lies on and below the diagonal; the rest is 0. */
  tril(x: Operand, attrs?: { diagonal?: number }): Tensor;
  /** The last two dims keep what lies on and above the diagonal; the rest is 0. */
  triu(x: Operand, attrs?: { diagonal?: number }): Tensor;
  /** The sum over the dims (none: all). Integers and bools give int64 unless a dtype is named; x is cast first. */
  sum(x: Operand, attrs?: { dims?: readonly number[]; keepdim?: number | boolean; dtype?: DType }): Tensor;
  /** The mean over the dims (none: all); of nothing it is NaN. */
  mean(x: Operand, attrs?: { dims?: readonly number[]; keepdim?: number | boolean; dtype?: DType }): Tensor;
  /** The product over the dims (none: all). Dtypes as sum. */
  prod(x: Operand, attrs?: { dims?: readonly number[]; keepdim?: number | boolean; dtype?: DType }): Tensor;
  /** The largest over the dims (none: all); NaN wins. Equal elements share the gradient. */
  max(x: Operand, attrs?: { dims?: readonly number[]; keepdim?: number | boolean }): Tensor;
  /** The smallest over the dims (none: all); NaN wins. Equal elements share the gradient. */
  min(x: Operand, attrs?: { dims?: readonly number[]; keepdim?: number | boolean }): Tensor;
  /** The position of the largest, the first of equals; over several dims (none: all) in row-major order of these.
   * NaN counts as largest. */
  argmax(x: Operand, attrs?: { dims?: readonly number[]; keepdim?: number | boolean }): Tensor;
  /** The position of the smallest, the first of equals; over several dims (none: all) in row-major order of these.
   * NaN counts as smallest. */
  argmin(x: Operand, attrs?: { dims?: readonly number[]; keepdim?: number | boolean }): Tensor;
  /** Whether any element is nonzero; of nothing False. Of uint8 it is uint8, as in PyTorch, else bool. */
  any(x: Operand, attrs?: { dims?: readonly number[]; keepdim?: number | boolean }): Tensor;
  /** Whether all elements are nonzero; of nothing True. Of uint8 it is uint8, as in PyTorch, else bool. */
  all(x: Operand, attrs?: { dims?: readonly number[]; keepdim?: number | boolean }): Tensor;
  /** The variance over the dims (none: all): squared deviations divided by max(0, count - correction). */
  var(x: Operand, correction: Operand, attrs?: { dims?: readonly number[]; keepdim?: number | boolean }): Tensor;
  /** The square root of var. */
  std(x: Operand, correction: Operand, attrs?: { dims?: readonly number[]; keepdim?: number | boolean }): Tensor;
  /** log(sum(exp(x))) over the dims (none: all) without overflow. */
  logsumexp(x: Operand, attrs?: { dims?: readonly number[]; keepdim?: number | boolean }): Tensor;
  /** The matrix product of the last two dims; leading dims broadcast. A vector on the left is a row, on the right a
   * column, and that dim is dropped again. */
  matmul(a: Operand, b: Operand): Tensor;
  /** x [..., in] times the transpose of weight [out, in], plus bias [out]. */
  linear(x: Operand, weight: Operand, bias?: Operand | null): Tensor;
  /** exp(x) over its sum along the dim. A row of -inf gives NaN. */
  softmax(x: Operand, attrs: { dim: number }): Tensor;
  /** The logarithm of softmax, without overflow. */
  logSoftmax(x: Operand, attrs: { dim: number }): Tensor;
  /** x less its mean, over its standard deviation, within the last dims, which have the given shape; then times
   * weight plus bias. */
  layerNorm(x: Operand, weight: Operand | null, bias: Operand | null, eps: Operand, attrs: { shape: readonly number[] }): Tensor;
  /** x over its root mean square within the last dims, which have the given shape; then times weight. */
  rmsNorm(x: Operand, weight: Operand | null, eps: Operand, attrs: { shape: readonly number[] }): Tensor;
  /** Rows of weight [rows, width] by index. The row `padding`, if it is not negative, gets no gradient. */
  embedding(weight: Operand, index: Tensor, attrs?: { padding?: number }): Tensor;
  /** out[i][j][k] = x[i][index[i][j][k]][k] for dim 1. The index has the rank of x and is nowhere larger but in
   * dim. */
  gather(x: Operand, index: Tensor, attrs: { dim: number }): Tensor;
  /** Slices of x in the dim, in the order of an index of any rank, whose dims take the place of the dim. With
   * `wrap` negative indices count from the end. */
  take(x: Operand, index: Tensor, attrs: { dim: number; wrap?: number | boolean }): Tensor;
  /** x plus src at the places that gather would read. src has the shape of the index; clients cut a larger one.
   * Repeated places add up, in the order of src. */
  scatterAdd(x: Operand, index: Tensor, src: Operand, attrs: { dim: number }): Tensor;
  /** x with src put at the places that gather would read. Of repeated places the last one stays. */
  scatter(x: Operand, index: Tensor, src: Operand, attrs: { dim: number }): Tensor;
  /** x indexed by several tensors, which are broadcast together, in consecutive dims from `dim` on; their common
   * shape takes the place of these dims. Negative indices count from the end. */
  takeNd(x: Operand, indices: readonly Tensor[], attrs?: { dim?: number }): Tensor;
  /** x with the elements that take_nd would take replaced by, or with `accumulate` added to, the value, which is
   * broadcast and cast. */
  putNd(x: Operand, value: Operand, indices: readonly Tensor[], attrs?: { dim?: number; accumulate?: number | boolean }): Tensor;
  /** 1 at the place of the index in a new last dim of the given size, else 0. */
  oneHot(index: Tensor, attrs: { classes: number }): Tensor;
  /** The largest along the dim and its index; the gradient goes to that element only. */
  maxDim(x: Operand, attrs: { dim: number; keepdim?: number | boolean }): [Tensor, Tensor];
  /** The smallest along the dim and its index; the gradient goes to that element only. */
  minDim(x: Operand, attrs: { dim: number; keepdim?: number | boolean }): [Tensor, Tensor];
  /** Each element is 0 with the probability p, else divided by 1 - p. */
  dropout(x: Operand, p: Operand, attrs?: { seed?: number; offset?: number }): Tensor;
  /** The value everywhere. Also zeros, ones and fill. */
  full(value: Operand, attrs: { shape: readonly number[]; dtype: DType }): Tensor;
  /** start + i * step for i = 0 … count - 1, computed in float64, or in int64 for integers. */
  arange(start: Operand, step: Operand, attrs: { count: number; dtype: DType }): Tensor;
  /** Evenly spaced numbers from start to end, both included; from either end so that both are exact. */
  linspace(start: Operand, end: Operand, attrs: { count: number; dtype: DType }): Tensor;
  /** 1 on the diagonal, else 0. */
  eye(attrs: { rows: number; columns: number; dtype: DType }): Tensor;
  /** Uniform in [low, high). */
  uniform(low: Operand, high: Operand, attrs: { shape: readonly number[]; dtype?: DType; seed?: number; offset?: number }): Tensor;
  /** Normally distributed, by Box and Muller's transform. */
  normal(mean: Operand, std: Operand, attrs: { shape: readonly number[]; dtype?: DType; seed?: number; offset?: number }): Tensor;
  /** 1 with the probability that the element says, else 0. */
  bernoulli(p: Operand, attrs?: { seed?: number; offset?: number }): Tensor;
  /** Integers from low to high - 1, all alike likely but for a bias below range / 2^64. */
  randint(low: Operand, high: Operand, attrs: { shape: readonly number[]; dtype?: DType; seed?: number; offset?: number }): Tensor;
  /** The negative log-likelihood of class indices under softmax over dim 1 (dim 0 of a vector). Targets equal to
   * ignore_index do not count; class weights scale each element's loss and the mean's divisor; label smoothing
   * mixes the target with all classes. Gradients flow to x only. */
  crossEntropy(x: Operand, target: Tensor, weight?: Operand | null, labelSmoothing?: Operand | null, attrs?: { reduction?: number; ignoreIndex?: number }): Tensor;
  /** As cross_entropy, of logarithms of probabilities. */
  nllLoss(x: Operand, target: Tensor, weight?: Operand | null, attrs?: { reduction?: number; ignoreIndex?: number }): Tensor;
  /** cross_entropy whose target holds the probability of each class. */
  crossEntropySoft(x: Operand, target: Operand, weight?: Operand | null, labelSmoothing?: Operand | null, attrs?: { reduction?: number }): Tensor;
  /** The squared difference. */
  mseLoss(x: Operand, target: Operand, attrs?: { reduction?: number }): Tensor;
  /** The absolute difference. */
  l1Loss(x: Operand, target: Operand, attrs?: { reduction?: number }): Tensor;
  /** Half the squared difference up to delta, beyond it delta * (difference - delta / 2). */
  huberLoss(x: Operand, target: Operand, delta: Operand, attrs?: { reduction?: number }): Tensor;
  /** huber_loss divided by beta. */
  smoothL1Loss(x: Operand, target: Operand, beta: Operand, attrs?: { reduction?: number }): Tensor;
  /** The cross-entropy of a probability given as its logit x; pos_weight scales the positive part. */
  bceWithLogits(x: Operand, target: Operand, weight?: Operand | null, posWeight?: Operand | null, attrs?: { reduction?: number }): Tensor;
  /** The cross-entropy of a probability x; logarithms are held above -100. */
  bce(x: Operand, target: Operand, weight?: Operand | null, attrs?: { reduction?: number }): Tensor;
  /** target * (log(target) - x), where x is a logarithm of probabilities, and the target too with log_target. */
  klDiv(x: Operand, target: Operand, attrs?: { reduction?: number; logTarget?: number | boolean }): Tensor;
  /** Plain gradient descent. Gives the new param. */
  sgdStep(param: Operand, grad: Operand, lr: Operand, weightDecay?: Operand | null, attrs?: { maximize?: number | boolean }): Tensor;
  /** Gradient descent with momentum; the buffer is absent at the first step. Gives the new param and buffer. */
  sgdMomentumStep(param: Operand, grad: Operand, buffer: Operand | null, lr: Operand, momentum: Operand, dampening: Operand, weightDecay?: Operand | null, attrs?: { nesterov?: number | boolean; maximize?: number | boolean }): [Tensor, Tensor];
  /** One step of Adam (with max_v: AMSGrad); weight decay is added to the gradient. `step` counts from 1; bias
   * corrections are computed in float64. Gives the new param, m, v and max_v. */
  adamStep(param: Operand, grad: Operand, m: Operand, v: Operand, maxV: Operand | null, lr: Operand, beta1: Operand, beta2: Operand, eps: Operand, weightDecay: Operand | null, step: Operand, attrs?: { maximize?: number | boolean }): Tensor[];
  /** As adam_step, but weight decay shrinks the param itself. */
  adamwStep(param: Operand, grad: Operand, m: Operand, v: Operand, maxV: Operand | null, lr: Operand, beta1: Operand, beta2: Operand, eps: Operand, weightDecay: Operand | null, step: Operand, attrs?: { maximize?: number | boolean }): Tensor[];
  /** The square root of the sum of the squares of all elements of all tensors. */
  globalNorm(xs: readonly Tensor[]): Tensor;
  /** What gradients are multiplied by so that their norm is at most max_norm: min(1, max_norm / (norm + 1e-6)). */
  clipCoefficient(norm: Operand, maxNorm: Operand): Tensor;
  /** The softmax of scores [batch…, m, n] over n, times value [batch…, n, e], with equal batch dims. A row of
   * scores that are all -inf gives zeros. The gradient's products are of 16-bit floats if those are. */
  attend(scores: Operand, value: Operand): Tensor;
  /** Scores [batch…, m, n] with -inf where n > m + diagonal: no query sees a later key. */
  causal(scores: Operand, attrs?: { diagonal?: number }): Tensor;
  /** Windows of some dims: each becomes `count` places, and a last dim of `size` elements is added; element k of
   * place i is x's i * stride + k * dilation. All lie within x. */
  window(x: Operand, attrs: { dims: readonly number[]; counts: readonly number[]; sizes: readonly number[]; strides: readonly number[]; dilations: readonly number[] }): Tensor;
  /** x plus the elements of the value, which has the shape of x's windows, each at the place where window would
   * show it. Also fold. */
  windowAdd(x: Operand, value: Operand, attrs: { dims: readonly number[]; counts: readonly number[]; sizes: readonly number[]; strides: readonly number[]; dilations: readonly number[] }): Tensor;
  /** Convolution of x [batch, channels, places..] with weight [outputs, channels / groups, sizes..], plus bias
   * [outputs]. x is padded by `low` zeros before and `high` after each place dim; both lists may be empty. */
  conv(x: Operand, weight: Operand, bias: Operand | null, attrs: { strides: readonly number[]; low: readonly number[]; high: readonly number[]; dilations: readonly number[]; groups?: number }): Tensor;
  /** The adjoint of conv in its input, or transposed convolution: x has conv's result's shape, the result conv's
   * input's, whose place dims are `shape`. */
  convInput(x: Operand, weight: Operand, attrs: { shape: readonly number[]; strides: readonly number[]; low: readonly number[]; dilations: readonly number[]; groups?: number }): Tensor;
  /** The adjoint of conv in its weight: x is conv's input, y has its result's shape, the result is a weight whose
   * sizes are `shape`. */
  convWeight(x: Operand, y: Operand, attrs: { shape: readonly number[]; strides: readonly number[]; low: readonly number[]; dilations: readonly number[]; groups?: number }): Tensor;
  /** The largest element of each window of the last dims, as many as there are sizes; NaN wins. Padding (both lists
   * may be empty) is below everything. The first of equal elements has the gradient. `tiled` says that strides are
   * sizes, without padding or dilation: that is faster. */
  maxPool(x: Operand, attrs: { sizes: readonly number[]; strides: readonly number[]; low: readonly number[]; high: readonly number[]; dilations: readonly number[]; tiled?: number | boolean }): Tensor;
  /** Where max_pool found its elements: row-major positions within the last dims of x, as many as there are sizes. */
  maxPoolIndex(x: Operand, attrs: { sizes: readonly number[]; strides: readonly number[]; low: readonly number[]; high: readonly number[]; dilations: readonly number[]; tiled?: number | boolean }): Tensor;
  /** The mean of each window of the last dims, as many as there are sizes: the sum divided by the elements of a
   * window (mode 0), by those in x and its padding, taken as `low` on both sides (1), or by those in x (2). */
  avgPool(x: Operand, attrs: { sizes: readonly number[]; strides: readonly number[]; low: readonly number[]; high: readonly number[]; dilations: readonly number[]; tiled?: number | boolean; mode?: number | boolean }): Tensor;
  /** x less its mean, over its standard deviation, within each channel (dim 1); then times weight plus bias of the
   * channel. */
  batchNorm(x: Operand, weight: Operand | null, bias: Operand | null, eps: Operand): Tensor;
  /** (x - mean) / sqrt(var + eps) * weight + bias, with one of each for every channel (dim 1). */
  batchNormFixed(x: Operand, mean: Operand, var_: Operand, weight: Operand | null, bias: Operand | null, eps: Operand): Tensor;
  /** x less its mean, over its standard deviation, within each of the groups of channels (dim 1) of an element of
   * the batch; then times weight plus bias of the channel. groups divides the channels; as many as these make an
   * instance norm. */
  groupNorm(x: Operand, weight: Operand | null, bias: Operand | null, eps: Operand, attrs?: { groups?: number }): Tensor;
  /** At each place of the dim the sum of what stands up to it. Dtypes as sum. */
  cumsum(x: Operand, attrs: { dim: number; dtype?: DType }): Tensor;
  /** At each place of the dim the product of what stands up to it. Dtypes as sum. */
  cumprod(x: Operand, attrs: { dim: number; dtype?: DType }): Tensor;
  /** At each place of the dim the largest of what stands up to it, and its place, the last of equals. NaN wins. */
  cummax(x: Operand, attrs: { dim: number }): [Tensor, Tensor];
  /** At each place of the dim the smallest of what stands up to it, and its place, the last of equals. NaN wins. */
  cummin(x: Operand, attrs: { dim: number }): [Tensor, Tensor];
  /** At each place of the dim the logarithm of the sum of exp(x) of what stands up to it, without overflow. */
  logcumsumexp(x: Operand, attrs: { dim: number }): Tensor;
  /** The elements along the dim in order, and where each stood. Equal elements keep their order; NaN is the
   * largest. */
  sort(x: Operand, attrs: { dim: number; descending?: number | boolean }): [Tensor, Tensor];
  /** The places of the elements along the dim in the order that sort gives them. */
  argsort(x: Operand, attrs: { dim: number; descending?: number | boolean }): Tensor;
  /** x times src at the places that gather would read; repeated places multiply up, in the order of src. */
  scatterProd(x: Operand, index: Tensor, src: Operand, attrs: { dim: number }): Tensor;
  /** The larger one of x and src at the places that gather would read; NaN wins. Equal ones share the gradient. */
  scatterMax(x: Operand, index: Tensor, src: Operand, attrs: { dim: number }): Tensor;
  /** The smaller one of x and src at the places that gather would read; NaN wins. Equal ones share the gradient. */
  scatterMin(x: Operand, index: Tensor, src: Operand, attrs: { dim: number }): Tensor;
  /** The new h and c of an LSTM, from the four gates before their activations and the former c; all of one shape. */
  lstmStep(inGate: Operand, forgetGate: Operand, cellGate: Operand, outGate: Operand, c: Operand): [Tensor, Tensor];
  /** The new h of a GRU, from the three gates of the input and of h before their activations, and the former h; all
   * of one shape. */
  gruStep(resetX: Operand, updateX: Operand, newX: Operand, resetH: Operand, updateH: Operand, newH: Operand, h: Operand): Tensor;
  /** One step of RMSprop; v is the mean of squares. Gives the new param, v and, where one is given, buffer. */
  rmspropStep(param: Operand, grad: Operand, v: Operand, buffer: Operand | null, lr: Operand, alpha: Operand, eps: Operand, momentum?: Operand | null, weightDecay?: Operand | null, attrs?: { maximize?: number | boolean }): Tensor[];
  /** As rmsprop_step, with the variance about a running mean of gradients in place of the mean of squares. Gives
   * the new param, v, mean and buffer. */
  rmspropCenteredStep(param: Operand, grad: Operand, v: Operand, mean: Operand, buffer: Operand | null, lr: Operand, alpha: Operand, eps: Operand, momentum?: Operand | null, weightDecay?: Operand | null, attrs?: { maximize?: number | boolean }): Tensor[];
  /** One step of Adagrad; total is that of the squares of all gradients, step counts from 1. Gives the new param
   * and total. */
  adagradStep(param: Operand, grad: Operand, total: Operand, lr: Operand, lrDecay: Operand, eps: Operand, weightDecay: Operand | null, step: Operand, attrs?: { maximize?: number | boolean }): [Tensor, Tensor];
  /** One step of Adadelta; v and changes are means of the squares of gradients and of updates. Gives the new param,
   * v and changes. */
  adadeltaStep(param: Operand, grad: Operand, v: Operand, changes: Operand, lr: Operand, rho: Operand, eps: Operand, weightDecay?: Operand | null, attrs?: { maximize?: number | boolean }): [Tensor, Tensor, Tensor];
  /** One step of Adamax; largest is the decaying greatest size of a gradient. Gives the new param, m and largest. */
  adamaxStep(param: Operand, grad: Operand, m: Operand, largest: Operand, lr: Operand, beta1: Operand, beta2: Operand, eps: Operand, weightDecay: Operand | null, step: Operand, attrs?: { maximize?: number | boolean }): [Tensor, Tensor, Tensor];
  /** One step of NAdam. With mu_k the momentum of step k and M_k the product of all up to it, `share` is (1 - mu_k)
   * / (1 - M_k) and `ahead` is mu_(k+1) / (1 - M_(k+1)). Gives the new param, m and v. */
  nadamStep(param: Operand, grad: Operand, m: Operand, v: Operand, lr: Operand, beta1: Operand, beta2: Operand, eps: Operand, weightDecay: Operand | null, step: Operand, share: Operand, ahead: Operand, attrs?: { decoupled?: number | boolean; maximize?: number | boolean }): [Tensor, Tensor, Tensor];
  /** One step of RAdam: Adam that goes by m alone while too few steps were seen for v to be of use. Gives the new
   * param, m and v. */
  radamStep(param: Operand, grad: Operand, m: Operand, v: Operand, lr: Operand, beta1: Operand, beta2: Operand, eps: Operand, weightDecay: Operand | null, step: Operand, attrs?: { decoupled?: number | boolean; maximize?: number | boolean }): [Tensor, Tensor, Tensor];
  /** One step of resilient propagation; each element has a step size of its own. Gives the new param, previous
   * gradient and sizes. */
  rpropStep(param: Operand, grad: Operand, previous: Operand, sizes: Operand, etaMinus: Operand, etaPlus: Operand, smallest: Operand, largest: Operand, attrs?: { maximize?: number | boolean }): [Tensor, Tensor, Tensor];
  /** One step of averaged gradient descent with the rate `eta`; the average takes in a share `mu` of the new param.
   * Gives the new param and average. */
  asgdStep(param: Operand, grad: Operand, average: Operand, eta: Operand, lambd: Operand, mu: Operand, weightDecay?: Operand | null, attrs?: { maximize?: number | boolean }): [Tensor, Tensor];
  /** The inverse of erf: a closed approximation and two of Halley's steps. */
  erfinv(x: Operand): Tensor;
  /** a * log(b), 0 where a is 0 (unless b is NaN). */
  xlogy(a: Operand, b: Operand): Tensor;
  /** The size of a with the sign of b, also of -0. */
  copysign(a: Operand, b: Operand): Tensor;
  /** a * 2 ** b. */
  ldexp(a: Operand, b: Operand): Tensor;
  /** log2(2 ** a + 2 ** b) without overflow. */
  logaddexp2(a: Operand, b: Operand): Tensor;
  /** The Hurwitz zeta function, the sum of (b + k) ** -a over k from 0 on: 12 terms and the rest by Euler and
   * Maclaurin's formula. */
  zeta(a: Operand, b: Operand): Tensor;
}

/** Pointwise ops of one or two tensors, as functions of Burn. */
export interface PlainFunctions {
  /** a + b. Integers wrap; bools: or. */
  add(input: Operand, other: Operand): Tensor;
  /** a - b. Integers wrap; two bools are refused. */
  sub(input: Operand, other: Operand): Tensor;
  /** a * b. Integers wrap; bools: and. */
  mul(input: Operand, other: Operand): Tensor;
  /** a / b, true division: integers give float32. */
  div(input: Operand, other: Operand): Tensor;
  /** -x. */
  neg(input: Operand): Tensor;
  /** a to the power of b. Clients send square, sqrt and reciprocal for the exponents 2, 0.5 and -1, as PyTorch
   * computes them. */
  pow(input: Operand, other: Operand): Tensor;
  /** The larger one; NaN wins. Equal elements share the gradient. */
  maximum(input: Operand, other: Operand): Tensor;
  /** The smaller one; NaN wins. Equal elements share the gradient. */
  minimum(input: Operand, other: Operand): Tensor;
  /** Python's a // b: rounds towards minus infinity. An integer divided by 0 gives 0. */
  floorDivide(input: Operand, other: Operand): Tensor;
  /** Python's a % b: has the sign of b. An integer modulo 0 gives 0. */
  remainder(input: Operand, other: Operand): Tensor;
  /** C's remainder: has the sign of a. */
  fmod(input: Operand, other: Operand): Tensor;
  /** The absolute value. */
  abs(input: Operand): Tensor;
  /** -1, 0 or 1; 0 for NaN, as PyTorch. */
  sign(input: Operand): Tensor;
  /** e to the power of x. */
  exp(input: Operand): Tensor;
  /** The natural logarithm. */
  log(input: Operand): Tensor;
  /** The square root. */
  sqrt(input: Operand): Tensor;
  /** 1 / sqrt(x). */
  rsqrt(input: Operand): Tensor;
  /** 1 / x. */
  reciprocal(input: Operand): Tensor;
  /** x * x. */
  square(input: Operand): Tensor;
  /** Sine of radians. */
  sin(input: Operand): Tensor;
  /** Cosine of radians. */
  cos(input: Operand): Tensor;
  /** Tangent of radians. */
  tan(input: Operand): Tensor;
  /** Hyperbolic tangent. */
  tanh(input: Operand): Tensor;
  /** 1 / (1 + exp(-x)). */
  sigmoid(input: Operand): Tensor;
  /** max(x, 0); NaN stays. The gradient at 0 is 0. */
  relu(input: Operand): Tensor;
  /** The error function. */
  erf(input: Operand): Tensor;
  /** 1 - erf(x), accurate for large x. */
  erfc(input: Operand): Tensor;
  /** exp(x) - 1, accurate near 0. */
  expm1(input: Operand): Tensor;
  /** log(1 + x), accurate near 0. */
  log1p(input: Operand): Tensor;
  /** The logarithm to base 2. */
  log2(input: Operand): Tensor;
  /** The logarithm to base 10. */
  log10(input: Operand): Tensor;
  /** 2 to the power of x. */
  exp2(input: Operand): Tensor;
  /** The next integer below or equal. */
  floor(input: Operand): Tensor;
  /** The next integer above or equal. */
  ceil(input: Operand): Tensor;
  /** The integer part. */
  trunc(input: Operand): Tensor;
  /** The nearest integer; halves go to the even one. */
  round(input: Operand): Tensor;
  /** Inverse sine. */
  asin(input: Operand): Tensor;
  /** Inverse cosine. */
  acos(input: Operand): Tensor;
  /** Inverse tangent. */
  atan(input: Operand): Tensor;
  /** Hyperbolic sine. */
  sinh(input: Operand): Tensor;
  /** Hyperbolic cosine. */
  cosh(input: Operand): Tensor;
  /** Inverse hyperbolic sine. */
  asinh(input: Operand): Tensor;
  /** Inverse hyperbolic cosine. */
  acosh(input: Operand): Tensor;
  /** Inverse hyperbolic tangent. */
  atanh(input: Operand): Tensor;
  /** The logarithm of the absolute value of the gamma function. */
  lgamma(input: Operand): Tensor;
  /** The derivative of lgamma. */
  digamma(input: Operand): Tensor;
  /** The angle of the point (b, a). */
  atan2(input: Operand, other: Operand): Tensor;
  /** The larger one; NaN loses. */
  fmax(input: Operand, other: Operand): Tensor;
  /** The smaller one; NaN loses. */
  fmin(input: Operand, other: Operand): Tensor;
  /** a == b. */
  eq(input: Operand, other: Operand): Tensor;
  /** a != b. */
  ne(input: Operand, other: Operand): Tensor;
  /** a < b. */
  lt(input: Operand, other: Operand): Tensor;
  /** a <= b. */
  le(input: Operand, other: Operand): Tensor;
  /** a > b. */
  gt(input: Operand, other: Operand): Tensor;
  /** a >= b. */
  ge(input: Operand, other: Operand): Tensor;
  /** Both are nonzero. */
  logicalAnd(input: Operand, other: Operand): Tensor;
  /** Either is nonzero. */
  logicalOr(input: Operand, other: Operand): Tensor;
  /** Exactly one is nonzero. */
  logicalXor(input: Operand, other: Operand): Tensor;
  /** x is zero. */
  logicalNot(input: Operand): Tensor;
  /** a & b of integers or bools. */
  bitwiseAnd(input: Operand, other: Operand): Tensor;
  /** a | b of integers or bools. */
  bitwiseOr(input: Operand, other: Operand): Tensor;
  /** a ^ b of integers or bools. */
  bitwiseXor(input: Operand, other: Operand): Tensor;
  /** ~x of integers or bools. */
  bitwiseNot(input: Operand): Tensor;
  /** a << b of integers. */
  bitwiseLeftShift(input: Operand, other: Operand): Tensor;
  /** a >> b of integers; keeps the sign. */
  bitwiseRightShift(input: Operand, other: Operand): Tensor;
  /** x is NaN. */
  isnan(input: Operand): Tensor;
  /** x is an infinity. */
  isinf(input: Operand): Tensor;
  /** x is neither NaN nor an infinity. */
  isfinite(input: Operand): Tensor;
  /** The next float from a towards b. */
  nextafter(input: Operand, other: Operand): Tensor;
  /** log(exp(a) + exp(b)) without overflow. */
  logaddexp(input: Operand, other: Operand): Tensor;
  /** sqrt(a * a + b * b) without overflow. */
  hypot(input: Operand, other: Operand): Tensor;
  /** The inverse of erf: a closed approximation and two of Halley's steps. */
  erfinv(input: Operand): Tensor;
  /** a * log(b), 0 where a is 0 (unless b is NaN). */
  xlogy(input: Operand, other: Operand): Tensor;
  /** The size of a with the sign of b, also of -0. */
  copysign(input: Operand, other: Operand): Tensor;
  /** a * 2 ** b. */
  ldexp(input: Operand, other: Operand): Tensor;
  /** log2(2 ** a + 2 ** b) without overflow. */
  logaddexp2(input: Operand, other: Operand): Tensor;
}

/** Pointwise ops of one or two tensors, as methods of Tensor. */
export interface PlainMethods {
  /** a + b. Integers wrap; bools: or. */
  add(other: Operand): Tensor;
  /** a - b. Integers wrap; two bools are refused. */
  sub(other: Operand): Tensor;
  /** a * b. Integers wrap; bools: and. */
  mul(other: Operand): Tensor;
  /** a / b, true division: integers give float32. */
  div(other: Operand): Tensor;
  /** -x. */
  neg(): Tensor;
  /** a to the power of b. Clients send square, sqrt and reciprocal for the exponents 2, 0.5 and -1, as PyTorch
   * computes them. */
  pow(other: Operand): Tensor;
  /** The larger one; NaN wins. Equal elements share the gradient. */
  maximum(other: Operand): Tensor;
  /** The smaller one; NaN wins. Equal elements share the gradient. */
  minimum(other: Operand): Tensor;
  /** Python's a // b: rounds towards minus infinity. An integer divided by 0 gives 0. */
  floorDivide(other: Operand): Tensor;
  /** Python's a % b: has the sign of b. An integer modulo 0 gives 0. */
  remainder(other: Operand): Tensor;
  /** C's remainder: has the sign of a. */
  fmod(other: Operand): Tensor;
  /** The absolute value. */
  abs(): Tensor;
  /** -1, 0 or 1; 0 for NaN, as PyTorch. */
  sign(): Tensor;
  /** e to the power of x. */
  exp(): Tensor;
  /** The natural logarithm. */
  log(): Tensor;
  /** The square root. */
  sqrt(): Tensor;
  /** 1 / sqrt(x). */
  rsqrt(): Tensor;
  /** 1 / x. */
  reciprocal(): Tensor;
  /** x * x. */
  square(): Tensor;
  /** Sine of radians. */
  sin(): Tensor;
  /** Cosine of radians. */
  cos(): Tensor;
  /** Tangent of radians. */
  tan(): Tensor;
  /** Hyperbolic tangent. */
  tanh(): Tensor;
  /** 1 / (1 + exp(-x)). */
  sigmoid(): Tensor;
  /** max(x, 0); NaN stays. The gradient at 0 is 0. */
  relu(): Tensor;
  /** The error function. */
  erf(): Tensor;
  /** 1 - erf(x), accurate for large x. */
  erfc(): Tensor;
  /** exp(x) - 1, accurate near 0. */
  expm1(): Tensor;
  /** log(1 + x), accurate near 0. */
  log1p(): Tensor;
  /** The logarithm to base 2. */
  log2(): Tensor;
  /** The logarithm to base 10. */
  log10(): Tensor;
  /** 2 to the power of x. */
  exp2(): Tensor;
  /** The next integer below or equal. */
  floor(): Tensor;
  /** The next integer above or equal. */
  ceil(): Tensor;
  /** The integer part. */
  trunc(): Tensor;
  /** The nearest integer; halves go to the even one. */
  round(): Tensor;
  /** Inverse sine. */
  asin(): Tensor;
  /** Inverse cosine. */
  acos(): Tensor;
  /** Inverse tangent. */
  atan(): Tensor;
  /** Hyperbolic sine. */
  sinh(): Tensor;
  /** Hyperbolic cosine. */
  cosh(): Tensor;
  /** Inverse hyperbolic sine. */
  asinh(): Tensor;
  /** Inverse hyperbolic cosine. */
  acosh(): Tensor;
  /** Inverse hyperbolic tangent. */
  atanh(): Tensor;
  /** The logarithm of the absolute value of the gamma function. */
  lgamma(): Tensor;
  /** The derivative of lgamma. */
  digamma(): Tensor;
  /** The angle of the point (b, a). */
  atan2(other: Operand): Tensor;
  /** The larger one; NaN loses. */
  fmax(other: Operand): Tensor;
  /** The smaller one; NaN loses. */
  fmin(other: Operand): Tensor;
  /** a == b. */
  eq(other: Operand): Tensor;
  /** a != b. */
  ne(other: Operand): Tensor;
  /** a < b. */
  lt(other: Operand): Tensor;
  /** a <= b. */
  le(other: Operand): Tensor;
  /** a > b. */
  gt(other: Operand): Tensor;
  /** a >= b. */
  ge(other: Operand): Tensor;
  /** Both are nonzero. */
  logicalAnd(other: Operand): Tensor;
  /** Either is nonzero. */
  logicalOr(other: Operand): Tensor;
  /** Exactly one is nonzero. */
  logicalXor(other: Operand): Tensor;
  /** x is zero. */
  logicalNot(): Tensor;
  /** a & b of integers or bools. */
  bitwiseAnd(other: Operand): Tensor;
  /** a | b of integers or bools. */
  bitwiseOr(other: Operand): Tensor;
  /** a ^ b of integers or bools. */
  bitwiseXor(other: Operand): Tensor;
  /** ~x of integers or bools. */
  bitwiseNot(): Tensor;
  /** a << b of integers. */
  bitwiseLeftShift(other: Operand): Tensor;
  /** a >> b of integers; keeps the sign. */
  bitwiseRightShift(other: Operand): Tensor;
  /** x is NaN. */
  isnan(): Tensor;
  /** x is an infinity. */
  isinf(): Tensor;
  /** x is neither NaN nor an infinity. */
  isfinite(): Tensor;
  /** The next float from a towards b. */
  nextafter(other: Operand): Tensor;
  /** log(exp(a) + exp(b)) without overflow. */
  logaddexp(other: Operand): Tensor;
  /** sqrt(a * a + b * b) without overflow. */
  hypot(other: Operand): Tensor;
  /** The inverse of erf: a closed approximation and two of Halley's steps. */
  erfinv(): Tensor;
  /** a * log(b), 0 where a is 0 (unless b is NaN). */
  xlogy(other: Operand): Tensor;
  /** The size of a with the sign of b, also of -0. */
  copysign(other: Operand): Tensor;
  /** a * 2 ** b. */
  ldexp(other: Operand): Tensor;
  /** log2(2 ** a + 2 ** b) without overflow. */
  logaddexp2(other: Operand): Tensor;
}

export const PLAIN = `
add sub mul div neg pow maximum minimum floor_divide remainder fmod abs sign exp log sqrt rsqrt reciprocal
square sin cos tan tanh sigmoid relu erf erfc expm1 log1p log2 log10 exp2 floor ceil trunc round asin acos
atan sinh cosh asinh acosh atanh lgamma digamma atan2 fmax fmin eq ne lt le gt ge logical_and logical_or
logical_xor logical_not bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_left_shift bitwise_right_shift
isnan isinf isfinite nextafter logaddexp hypot erfinv xlogy copysign ldexp logaddexp2`;
