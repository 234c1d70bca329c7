# SPDX-License-Identifier: Apache-2.0
"""One function an op, by the op's own name and arguments: inputs, then attributes. Made by proto/gen_ops.py from proto/ops.toml."""

from . import _core

_apply = _core.apply

FREE = 1
MARK = 2
GRAD = 3
CALL = 4
CONSTANT = 5
DETACH = 6
CLONE = 7
ADD = 10
SUB = 11
MUL = 12
DIV = 13
NEG = 14
POW = 15
MAXIMUM = 16
MINIMUM = 17
FLOOR_DIVIDE = 18
REMAINDER = 19
FMOD = 20
ABS = 21
SIGN = 22
EXP = 23
LOG = 24
SQRT = 25
RSQRT = 26
RECIPROCAL = 27
SQUARE = 28
SIN = 29
COS = 30
TAN = 31
TANH = 32
SIGMOID = 33
RELU = 34
GELU = 35
SILU = 36
ERF = 37
ERFC = 38
EXPM1 = 39
LOG1P = 40
LOG2 = 41
LOG10 = 42
EXP2 = 43
FLOOR = 44
CEIL = 45
TRUNC = 46
ROUND = 47
ASIN = 48
ACOS = 49
ATAN = 50
SINH = 51
COSH = 52
ASINH = 53
ACOSH = 54
ATANH = 55
LGAMMA = 56
DIGAMMA = 57
ATAN2 = 58
FMAX = 59
FMIN = 60
WHERE = 61
CLAMP = 62
CAST = 63
EQ = 64
NE = 65
LT = 66
LE = 67
GT = 68
GE = 69
LOGICAL_AND = 70
LOGICAL_OR = 71
LOGICAL_XOR = 72
LOGICAL_NOT = 73
BITWISE_AND = 74
BITWISE_OR = 75
BITWISE_XOR = 76
BITWISE_NOT = 77
BITWISE_LEFT_SHIFT = 78
BITWISE_RIGHT_SHIFT = 79
ISNAN = 80
ISINF = 81
ISFINITE = 82
LEAKY_RELU = 83
ELU = 84
HARDTANH = 85
SOFTPLUS = 86
LOGSIGMOID = 87
LERP = 88
ADDCMUL = 89
ADDCDIV = 90
NEXTAFTER = 91
MASKED_FILL = 92
LOGADDEXP = 93
HYPOT = 94
SOFTSIGN = 95
MISH = 96
HARDSIGMOID = 97
HARDSWISH = 98
RESHAPE = 100
PERMUTE = 101
EXPAND = 102
SLICE = 103
PAD = 104
FLIP = 105
CONCAT = 106
STACK = 107
SPLIT = 108
SLICE_UPDATE = 109
TRIL = 110
TRIU = 111
SUM = 112
MEAN = 113
PROD = 114
MAX = 115
MIN = 116
ARGMAX = 117
ARGMIN = 118
ANY = 119
ALL = 120
VAR = 121
STD = 122
LOGSUMEXP = 123
MATMUL = 124
LINEAR = 125
SOFTMAX = 126
LOG_SOFTMAX = 127
LAYER_NORM = 128
RMS_NORM = 129
EMBEDDING = 130
GATHER = 131
TAKE = 132
SCATTER_ADD = 133
SCATTER = 134
TAKE_ND = 135
PUT_ND = 136
ONE_HOT = 137
MAX_DIM = 138
MIN_DIM = 139
DROPOUT = 140
FULL = 150
ARANGE = 152
LINSPACE = 153
EYE = 154
UNIFORM = 157
NORMAL = 158
BERNOULLI = 159
RANDINT = 160
CROSS_ENTROPY = 170
NLL_LOSS = 171
CROSS_ENTROPY_SOFT = 172
MSE_LOSS = 173
L1_LOSS = 174
HUBER_LOSS = 175
SMOOTH_L1_LOSS = 176
BCE_WITH_LOGITS = 177
BCE = 178
KL_DIV = 179
SGD_STEP = 190
SGD_MOMENTUM_STEP = 191
ADAM_STEP = 192
ADAMW_STEP = 193
GLOBAL_NORM = 194
CLIP_COEFFICIENT = 195
ATTEND = 290
CAUSAL = 292
WINDOW = 300
WINDOW_ADD = 301
CONV = 302
CONV_INPUT = 303
CONV_WEIGHT = 304
MAX_POOL = 305
MAX_POOL_INDEX = 306
AVG_POOL = 307
BATCH_NORM = 308
BATCH_NORM_FIXED = 309
GROUP_NORM = 310
CUMSUM = 330
CUMPROD = 331
CUMMAX = 333
CUMMIN = 334
LOGCUMSUMEXP = 336
SORT = 337
ARGSORT = 338
SCATTER_PROD = 339
SCATTER_MAX = 340
SCATTER_MIN = 341
LSTM_STEP = 370
GRU_STEP = 371
RMSPROP_STEP = 390
RMSPROP_CENTERED_STEP = 391
ADAGRAD_STEP = 392
ADADELTA_STEP = 393
ADAMAX_STEP = 394
NADAM_STEP = 395
RADAM_STEP = 396
RPROP_STEP = 397
ASGD_STEP = 398
ERFINV = 399
XLOGY = 400
COPYSIGN = 401
LDEXP = 402
LOGADDEXP2 = 403
ZETA = 404

# pointwise ops of one or two tensors, with their number: functions of burn, methods of Tensor
PLAIN = {
    "add": 2,
    "sub": 2,
    "mul": 2,
    "div": 2,
    "neg": 1,
    "pow": 2,
    "maximum": 2,
    "minimum": 2,
    "floor_divide": 2,
    "remainder": 2,
    "fmod": 2,
    "abs": 1,
    "sign": 1,
    "exp": 1,
    "log": 1,
    "sqrt": 1,
    "rsqrt": 1,
    "reciprocal": 1,
    "square": 1,
    "sin": 1,
    "cos": 1,
    "tan": 1,
    "tanh": 1,
    "sigmoid": 1,
    "relu": 1,
    "erf": 1,
    "erfc": 1,
    "expm1": 1,
    "log1p": 1,
    "log2": 1,
    "log10": 1,
    "exp2": 1,
    "floor": 1,
    "ceil": 1,
    "trunc": 1,
    "round": 1,
    "asin": 1,
    "acos": 1,
    "atan": 1,
    "sinh": 1,
    "cosh": 1,
    "asinh": 1,
    "acosh": 1,
    "atanh": 1,
    "lgamma": 1,
    "digamma": 1,
    "atan2": 2,
    "fmax": 2,
    "fmin": 2,
    "eq": 2,
    "ne": 2,
    "lt": 2,
    "le": 2,
    "gt": 2,
    "ge": 2,
    "logical_and": 2,
    "logical_or": 2,
    "logical_xor": 2,
    "logical_not": 1,
    "bitwise_and": 2,
    "bitwise_or": 2,
    "bitwise_xor": 2,
    "bitwise_not": 1,
    "bitwise_left_shift": 2,
    "bitwise_right_shift": 2,
    "isnan": 1,
    "isinf": 1,
    "isfinite": 1,
    "nextafter": 2,
    "logaddexp": 2,
    "hypot": 2,
    "erfinv": 1,
    "xlogy": 2,
    "copysign": 2,
    "ldexp": 2,
    "logaddexp2": 2,
}


def detach(x):
    """The same values; no gradient flows back."""
    return _apply(6, (x,))


def clone(x):
    """The same values as a tensor of its own. Tensors are values on the wire, so nothing need be copied."""
    return _apply(7, (x,))


def add(a, b):
    """a + b. Integers wrap; bools: or."""
    return _apply(10, (a, b))


def sub(a, b):
    """a - b. Integers wrap; two bools are refused."""
    return _apply(11, (a, b))


def mul(a, b):
    """a * b. Integers wrap; bools: and."""
    return _apply(12, (a, b))


def div(a, b):
    """a / b, true division: integers give float32."""
    return _apply(13, (a, b))


def neg(x):
    """-x."""
    return _apply(14, (x,))


def pow(a, b):
    """a to the power of b. Clients send square, sqrt and reciprocal for the exponents 2, 0.5 and -1, as PyTorch
    computes them."""
    return _apply(15, (a, b))


def maximum(a, b):
    """The larger one; NaN wins. Equal elements share the gradient."""
    return _apply(16, (a, b))


def minimum(a, b):
    """The smaller one; NaN wins. Equal elements share the gradient."""
    return _apply(17, (a, b))


def floor_divide(a, b):
    """Python's a // b: rounds towards minus infinity. An integer divided by 0 gives 0."""
    return _apply(18, (a, b))


def remainder(a, b):
    """Python's a % b: has the sign of b. An integer modulo 0 gives 0."""
    return _apply(19, (a, b))


def fmod(a, b):
    """C's remainder: has the sign of a."""
    return _apply(20, (a, b))


def abs(x):
    """The absolute value."""
    return _apply(21, (x,))


def sign(x):
    """-1, 0 or 1; 0 for NaN, as PyTorch."""
    return _apply(22, (x,))


def exp(x):
    """e to the power of x."""
    return _apply(23, (x,))


def log(x):
    """The natural logarithm."""
    return _apply(24, (x,))


def sqrt(x):
    """The square root."""
    return _apply(25, (x,))


def rsqrt(x):
    """1 / sqrt(x)."""
    return _apply(26, (x,))


def reciprocal(x):
    """1 / x."""
    return _apply(27, (x,))


def square(x):
    """x * x."""
    return _apply(28, (x,))


def sin(x):
    """Sine of radians."""
    return _apply(29, (x,))


def cos(x):
    """Cosine of radians."""
    return _apply(30, (x,))


def tan(x):
    """Tangent of radians."""
    return _apply(31, (x,))


def tanh(x):
    """Hyperbolic tangent."""
    return _apply(32, (x,))


def sigmoid(x):
    """1 / (1 + exp(-x))."""
    return _apply(33, (x,))


def relu(x):
    """max(x, 0); NaN stays. The gradient at 0 is 0."""
    return _apply(34, (x,))


def gelu(x, tanh=0):
    """x times the normal distribution function of x; with `tanh` the usual approximation of it."""
    return _apply(35, (x,), (tanh,))


def silu(x):
    """x * sigmoid(x), also called swish."""
    return _apply(36, (x,))


def erf(x):
    """The error function."""
    return _apply(37, (x,))


def erfc(x):
    """1 - erf(x), accurate for large x."""
    return _apply(38, (x,))


def expm1(x):
    """exp(x) - 1, accurate near 0."""
    return _apply(39, (x,))


def log1p(x):
    """log(1 + x), accurate near 0."""
    return _apply(40, (x,))


def log2(x):
    """The logarithm to base 2."""
    return _apply(41, (x,))


def log10(x):
    """The logarithm to base 10."""
    return _apply(42, (x,))


def exp2(x):
    """2 to the power of x."""
    return _apply(43, (x,))


def floor(x):
    """The next integer below or equal."""
    return _apply(44, (x,))


def ceil(x):
    """The next integer above or equal."""
    return _apply(45, (x,))


def trunc(x):
    """The integer part."""
    return _apply(46, (x,))


def round(x):
    """The nearest integer; halves go to the even one."""
    return _apply(47, (x,))


def asin(x):
    """Inverse sine."""
    return _apply(48, (x,))


def acos(x):
    """Inverse cosine."""
    return _apply(49, (x,))


def atan(x):
    """Inverse tangent."""
    return _apply(50, (x,))


def sinh(x):
    """Hyperbolic sine."""
    return _apply(51, (x,))


def cosh(x):
    """Hyperbolic cosine."""
    return _apply(52, (x,))


def asinh(x):
    """Inverse hyperbolic sine."""
    return _apply(53, (x,))


def acosh(x):
    """Inverse hyperbolic cosine."""
    return _apply(54, (x,))


def atanh(x):
    """Inverse hyperbolic tangent."""
    return _apply(55, (x,))


def lgamma(x):
    """The logarithm of the absolute value of the gamma function."""
    return _apply(56, (x,))


def digamma(x):
    """The derivative of lgamma."""
    return _apply(57, (x,))


def atan2(a, b):
    """The angle of the point (b, a)."""
    return _apply(58, (a, b))


def fmax(a, b):
    """The larger one; NaN loses."""
    return _apply(59, (a, b))


def fmin(a, b):
    """The smaller one; NaN loses."""
    return _apply(60, (a, b))


def where(condition, a, b):
    """a where the condition holds, else b. What the other branch holds, NaN included, leaves no trace in value or
    gradient."""
    return _apply(61, (condition, a, b))


def clamp(x, low=None, high=None):
    """x held between low and high, of which one may be absent; with low above high everything becomes high. NaN
    stays."""
    return _apply(62, (x, low, high))


def cast(x, dtype):
    """x in another dtype. Floats are cut to integers towards zero, and saturate; nonzero (NaN too) is True."""
    return _apply(63, (x,), (dtype,))


def eq(a, b):
    """a == b."""
    return _apply(64, (a, b))


def ne(a, b):
    """a != b."""
    return _apply(65, (a, b))


def lt(a, b):
    """a < b."""
    return _apply(66, (a, b))


def le(a, b):
    """a <= b."""
    return _apply(67, (a, b))


def gt(a, b):
    """a > b."""
    return _apply(68, (a, b))


def ge(a, b):
    """a >= b."""
    return _apply(69, (a, b))


def logical_and(a, b):
    """Both are nonzero."""
    return _apply(70, (a, b))


def logical_or(a, b):
    """Either is nonzero."""
    return _apply(71, (a, b))


def logical_xor(a, b):
    """Exactly one is nonzero."""
    return _apply(72, (a, b))


def logical_not(x):
    """x is zero."""
    return _apply(73, (x,))


def bitwise_and(a, b):
    """a & b of integers or bools."""
    return _apply(74, (a, b))


def bitwise_or(a, b):
    """a | b of integers or bools."""
    return _apply(75, (a, b))


def bitwise_xor(a, b):
    """a ^ b of integers or bools."""
    return _apply(76, (a, b))


def bitwise_not(x):
    """~x of integers or bools."""
    return _apply(77, (x,))


def bitwise_left_shift(a, b):
    """a << b of integers."""
    return _apply(78, (a, b))


def bitwise_right_shift(a, b):
    """a >> b of integers; keeps the sign."""
    return _apply(79, (a, b))


def isnan(x):
    """x is NaN."""
    return _apply(80, (x,))


def isinf(x):
    """x is an infinity."""
    return _apply(81, (x,))


def isfinite(x):
    """x is neither NaN nor an infinity."""
    return _apply(82, (x,))


def leaky_relu(x, slope):
    """x where it is positive, else x * slope."""
    return _apply(83, (x, slope))


def elu(x, alpha):
    """x where it is positive, else alpha * (exp(x) - 1)."""
    return _apply(84, (x, alpha))


def hardtanh(x, low, high):
    """clamp whose gradient is 0 at the bounds. Gradients flow to x only."""
    return _apply(85, (x, low, high))


def softplus(x, beta, threshold):
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold. Gradients flow to x only."""
    return _apply(86, (x, beta, threshold))


def logsigmoid(x):
    """log(sigmoid(x)), accurate everywhere."""
    return _apply(87, (x,))


def lerp(a, b, weight):
    """a + weight * (b - a)."""
    return _apply(88, (a, b, weight))


def addcmul(x, a, b, value):
    """x + value * a * b."""
    return _apply(89, (x, a, b, value))


def addcdiv(x, a, b, value):
    """x + value * (a / b)."""
    return _apply(90, (x, a, b, value))


def nextafter(a, b):
    """The next float from a towards b."""
    return _apply(91, (a, b))


def masked_fill(x, mask, value):
    """value where the mask holds, else x; in the dtype of x."""
    return _apply(92, (x, mask, value))


def logaddexp(a, b):
    """log(exp(a) + exp(b)) without overflow."""
    return _apply(93, (a, b))


def hypot(a, b):
    """sqrt(a * a + b * b) without overflow."""
    return _apply(94, (a, b))


def softsign(x):
    """x / (1 + |x|)."""
    return _apply(95, (x,))


def mish(x):
    """x * tanh(softplus(x))."""
    return _apply(96, (x,))


def hardsigmoid(x):
    """min(max(x + 3, 0), 6) / 6."""
    return _apply(97, (x,))


def hardswish(x):
    """x * hardsigmoid(x)."""
    return _apply(98, (x,))


def reshape(x, shape):
    """The elements, in row-major order, in another shape of equally many. Clients resolve -1. Also squeeze,
    unsqueeze, flatten and view."""
    return _apply(100, (x,), (shape,))


def permute(x, dims):
    """The dims in another order. Also transpose, t and movedim."""
    return _apply(101, (x,), (dims,))


def expand(x, shape):
    """Dims of size 1, and new leading ones, repeated to the given shape. Clients resolve -1."""
    return _apply(102, (x,), (shape,))


def slice(x, starts, stops, steps):
    """Every step-th element from start up to but without stop, for each dim. 0 <= start <= size, stop likewise, step
    >= 1."""
    return _apply(103, (x,), (starts, stops, steps))


def pad(x, value, low, high):
    """x with `low` elements of the value before and `high` after, for each dim. Gradients flow to x only."""
    return _apply(104, (x, value), (low, high))


def flip(x, dims):
    """The order of elements turned round in the given dims."""
    return _apply(105, (x,), (dims,))


def concat(xs, dim=0):
    """The tensors one after the other in a dim; the other sizes are alike. Empty tensors of shape [0] are passed
    over, as in PyTorch."""
    return _apply(106, (*xs,), (dim,))


def stack(xs, dim=0):
    """The tensors, of one shape, along a new dim."""
    return _apply(107, (*xs,), (dim,))


def split(x, sizes, dim=0):
    """Consecutive parts of the given sizes, which add up to the size of the dim."""
    return _apply(108, (x,), (sizes, dim), outputs=len(sizes))


def slice_update(x, value, starts, stops, steps):
    """x with the elements that slice would take replaced by the value, which is broadcast and cast."""
    return _apply(109, (x, value), (starts, stops, steps))


def tril(x, diagonal=0):
    """The last two dims keep what lies on and below the diagonal; the rest is 0."""
    return _apply(110, (x,), (diagonal,))


def triu(x, diagonal=0):
    """The last two dims keep what lies on and above the diagonal; the rest is 0."""
    return _apply(111, (x,), (diagonal,))


def sum(x, dims=(), keepdim=0, dtype=None):
    """The sum over the dims (none: all). Integers and bools give int64 unless a dtype is named; x is cast first."""
    return _apply(112, (x,), (dims, keepdim, dtype))


def mean(x, dims=(), keepdim=0, dtype=None):
    """The mean over the dims (none: all); of nothing it is NaN."""
    return _apply(113, (x,), (dims, keepdim, dtype))


def prod(x, dims=(), keepdim=0, dtype=None):
    """The product over the dims (none: all). Dtypes as sum."""
    return _apply(114, (x,), (dims, keepdim, dtype))


def max(x, dims=(), keepdim=0):
    """The largest over the dims (none: all); NaN wins. Equal elements share the gradient."""
    return _apply(115, (x,), (dims, keepdim))


def min(x, dims=(), keepdim=0):
    """The smallest over the dims (none: all); NaN wins. Equal elements share the gradient."""
    return _apply(116, (x,), (dims, keepdim))


def argmax(x, dims=(), keepdim=0):
    """The position of the largest, the first of equals; over several dims (none: all) in row-major order of these.
    NaN counts as largest."""
    return _apply(117, (x,), (dims, keepdim))


def argmin(x, dims=(), keepdim=0):
    """The position of the smallest, the first of equals; over several dims (none: all) in row-major order of these.
    NaN counts as smallest."""
    return _apply(118, (x,), (dims, keepdim))


def any(x, dims=(), keepdim=0):
    """Whether any element is nonzero; of nothing False. Of uint8 it is uint8, as in PyTorch, else bool."""
    return _apply(119, (x,), (dims, keepdim))


def all(x, dims=(), keepdim=0):
    """Whether all elements are nonzero; of nothing True. Of uint8 it is uint8, as in PyTorch, else bool."""
    return _apply(120, (x,), (dims, keepdim))


def var(x, correction, dims=(), keepdim=0):
    """The variance over the dims (none: all): squared deviations divided by max(0, count - correction)."""
    return _apply(121, (x, correction), (dims, keepdim))


def std(x, correction, dims=(), keepdim=0):
    """The square root of var."""
    return _apply(122, (x, correction), (dims, keepdim))


def logsumexp(x, dims=(), keepdim=0):
    """log(sum(exp(x))) over the dims (none: all) without overflow."""
    return _apply(123, (x,), (dims, keepdim))


def matmul(a, b):
    """The matrix product of the last two dims; leading dims broadcast. A vector on the left is a row, on the right a
    column, and that dim is dropped again."""
    return _apply(124, (a, b))


def linear(x, weight, bias=None):
    """x [..., in] times the transpose of weight [out, in], plus bias [out]."""
    return _apply(125, (x, weight, bias))


def softmax(x, dim):
    """exp(x) over its sum along the dim. A row of -inf gives NaN."""
    return _apply(126, (x,), (dim,))


def log_softmax(x, dim):
    """The logarithm of softmax, without overflow."""
    return _apply(127, (x,), (dim,))


def layer_norm(x, weight, bias, eps, shape):
    """x less its mean, over its standard deviation, within the last dims, which have the given shape; then times
    weight plus bias."""
    return _apply(128, (x, weight, bias, eps), (shape,))


def rms_norm(x, weight, eps, shape):
    """x over its root mean square within the last dims, which have the given shape; then times weight."""
    return _apply(129, (x, weight, eps), (shape,))


def embedding(weight, index, padding=-1):
    """Rows of weight [rows, width] by index. The row `padding`, if it is not negative, gets no gradient."""
    return _apply(130, (weight, index), (padding,))


def gather(x, index, dim):
    """out[i][j][k] = x[i][index[i][j][k]][k] for dim 1. The index has the rank of x and is nowhere larger but in
    dim."""
    return _apply(131, (x, index), (dim,))


def take(x, index, dim, wrap=0):
    """Slices of x in the dim, in the order of an index of any rank, whose dims take the place of the dim. With
    `wrap` negative indices count from the end."""
    return _apply(132, (x, index), (dim, wrap))


def scatter_add(x, index, src, dim):
    """x plus src at the places that gather would read. src has the shape of the index; clients cut a larger one.
    Repeated places add up, in the order of src."""
    return _apply(133, (x, index, src), (dim,))


def scatter(x, index, src, dim):
    """x with src put at the places that gather would read. Of repeated places the last one stays."""
    return _apply(134, (x, index, src), (dim,))


def take_nd(x, indices, dim=0):
    """x indexed by several tensors, which are broadcast together, in consecutive dims from `dim` on; their common
    shape takes the place of these dims. Negative indices count from the end."""
    return _apply(135, (x, *indices), (dim,))


def put_nd(x, value, indices, dim=0, accumulate=0):
    """x with the elements that take_nd would take replaced by, or with `accumulate` added to, the value, which is
    broadcast and cast."""
    return _apply(136, (x, value, *indices), (dim, accumulate))


def one_hot(index, classes):
    """1 at the place of the index in a new last dim of the given size, else 0."""
    return _apply(137, (index,), (classes,))


def max_dim(x, dim, keepdim=0):
    """The largest along the dim and its index; the gradient goes to that element only."""
    return _apply(138, (x,), (dim, keepdim), outputs=2)


def min_dim(x, dim, keepdim=0):
    """The smallest along the dim and its index; the gradient goes to that element only."""
    return _apply(139, (x,), (dim, keepdim), outputs=2)


def dropout(x, p, seed=0, offset=0):
    """Each element is 0 with the probability p, else divided by 1 - p."""
    return _apply(140, (x, p), (seed, offset))


def full(value, shape, dtype):
    """The value everywhere. Also zeros, ones and fill."""
    return _apply(150, (value,), (shape, dtype))


def arange(start, step, count, dtype):
    """start + i * step for i = 0 … count - 1, computed in float64, or in int64 for integers."""
    return _apply(152, (start, step), (count, dtype))


def linspace(start, end, count, dtype):
    """Evenly spaced numbers from start to end, both included; from either end so that both are exact."""
    return _apply(153, (start, end), (count, dtype))


def eye(rows, columns, dtype):
    """1 on the diagonal, else 0."""
    return _apply(154, (), (rows, columns, dtype))


def uniform(low, high, shape, dtype=2, seed=0, offset=0):
    """Uniform in [low, high)."""
    return _apply(157, (low, high), (shape, dtype, seed, offset))


def normal(mean, std, shape, dtype=2, seed=0, offset=0):
    """Normally distributed, by Box and Muller's transform."""
    return _apply(158, (mean, std), (shape, dtype, seed, offset))


def bernoulli(p, seed=0, offset=0):
    """1 with the probability that the element says, else 0."""
    return _apply(159, (p,), (seed, offset))


def randint(low, high, shape, dtype=5, seed=0, offset=0):
    """Integers from low to high - 1, all alike likely but for a bias below range / 2^64."""
    return _apply(160, (low, high), (shape, dtype, seed, offset))


def cross_entropy(x, target, weight=None, label_smoothing=None, reduction=1, ignore_index=-100):
    """The negative log-likelihood of class indices under softmax over dim 1 (dim 0 of a vector). Targets equal to
    ignore_index do not count; class weights scale each element's loss and the mean's divisor; label smoothing
    mixes the target with all classes. Gradients flow to x only."""
    return _apply(170, (x, target, weight, label_smoothing), (reduction, ignore_index))


def nll_loss(x, target, weight=None, reduction=1, ignore_index=-100):
    """As cross_entropy, of logarithms of probabilities."""
    return _apply(171, (x, target, weight), (reduction, ignore_index))


def cross_entropy_soft(x, target, weight=None, label_smoothing=None, reduction=1):
    """cross_entropy whose target holds the probability of each class."""
    return _apply(172, (x, target, weight, label_smoothing), (reduction,))


def mse_loss(x, target, reduction=1):
    """The squared difference."""
    return _apply(173, (x, target), (reduction,))


def l1_loss(x, target, reduction=1):
    """The absolute difference."""
    return _apply(174, (x, target), (reduction,))


def huber_loss(x, target, delta, reduction=1):
    """Half the squared difference up to delta, beyond it delta * (difference - delta / 2)."""
    return _apply(175, (x, target, delta), (reduction,))


def smooth_l1_loss(x, target, beta, reduction=1):
    """huber_loss divided by beta."""
    return _apply(176, (x, target, beta), (reduction,))


def bce_with_logits(x, target, weight=None, pos_weight=None, reduction=1):
    """The cross-entropy of a probability given as its logit x; pos_weight scales the positive part."""
    return _apply(177, (x, target, weight, pos_weight), (reduction,))


def bce(x, target, weight=None, reduction=1):
    """The cross-entropy of a probability x; logarithms are held above -100."""
    return _apply(178, (x, target, weight), (reduction,))


def kl_div(x, target, reduction=1, log_target=0):
    """target * (log(target) - x), where x is a logarithm of probabilities, and the target too with log_target."""
    return _apply(179, (x, target), (reduction, log_target))


def sgd_step(param, grad, lr, weight_decay=None, maximize=0):
    """Plain gradient descent. Gives the new param."""
    return _apply(190, (param, grad, lr, weight_decay), (maximize,))


def sgd_momentum_step(param, grad, buffer, lr, momentum, dampening, weight_decay=None, nesterov=0, maximize=0):
    """Gradient descent with momentum; the buffer is absent at the first step. Gives the new param and buffer."""
    return _apply(191, (param, grad, buffer, lr, momentum, dampening, weight_decay), (nesterov, maximize), outputs=2)


def adam_step(param, grad, m, v, max_v, lr, beta1, beta2, eps, weight_decay, step, maximize=0):
    """One step of Adam (with max_v: AMSGrad); weight decay is added to the gradient. `step` counts from 1; bias
    corrections are computed in float64. Gives the new param, m, v and max_v."""
    return _apply(192, (param, grad, m, v, max_v, lr, beta1, beta2, eps, weight_decay, step), (maximize,), outputs=3 if max_v is None else 4)


def adamw_step(param, grad, m, v, max_v, lr, beta1, beta2, eps, weight_decay, step, maximize=0):
    """As adam_step, but weight decay shrinks the param itself."""
    return _apply(193, (param, grad, m, v, max_v, lr, beta1, beta2, eps, weight_decay, step), (maximize,), outputs=3 if max_v is None else 4)


def global_norm(xs):
    """The square root of the sum of the squares of all elements of all tensors."""
    return _apply(194, (*xs,))


def clip_coefficient(norm, max_norm):
    """What gradients are multiplied by so that their norm is at most max_norm: min(1, max_norm / (norm + 1e-6))."""
    return _apply(195, (norm, max_norm))


def attend(scores, value):
    """The softmax of scores [batch…, m, n] over n, times value [batch…, n, e], with equal batch dims. A row of
    scores that are all -inf gives zeros. The gradient's products are of 16-bit floats if those are."""
    return _apply(290, (scores, value))


def causal(scores, diagonal=0):
    """Scores [batch…, m, n] with -inf where n > m + diagonal: no query sees a later key."""
    return _apply(292, (scores,), (diagonal,))


def window(x, dims, counts, sizes, strides, dilations):
    """Windows of some dims: each becomes `count` places, and a last dim of `size` elements is added; element k of
    place i is x's i * stride + k * dilation. All lie within x."""
    return _apply(300, (x,), (dims, counts, sizes, strides, dilations))


def window_add(x, value, dims, counts, sizes, strides, dilations):
    """x plus the elements of the value, which has the shape of x's windows, each at the place where window would
    show it. Also fold."""
    return _apply(301, (x, value), (dims, counts, sizes, strides, dilations))


def conv(x, weight, bias, strides, low, high, dilations, groups=1):
    """Convolution of x [batch, channels, places..] with weight [outputs, channels / groups, sizes..], plus bias
    [outputs]. x is padded by `low` zeros before and `high` after each place dim; both lists may be empty."""
    return _apply(302, (x, weight, bias), (strides, low, high, dilations, groups))


def conv_input(x, weight, shape, strides, low, dilations, groups=1):
    """The adjoint of conv in its input, or transposed convolution: x has conv's result's shape, the result conv's
    input's, whose place dims are `shape`."""
    return _apply(303, (x, weight), (shape, strides, low, dilations, groups))


def conv_weight(x, y, shape, strides, low, dilations, groups=1):
    """The adjoint of conv in its weight: x is conv's input, y has its result's shape, the result is a weight whose
    sizes are `shape`."""
    return _apply(304, (x, y), (shape, strides, low, dilations, groups))


def max_pool(x, sizes, strides, low, high, dilations, tiled=0):
    """The largest element of each window of the last dims, as many as there are sizes; NaN wins. Padding (both lists
    may be empty) is below everything. The first of equal elements has the gradient. `tiled` says that strides are
    sizes, without padding or dilation: that is faster."""
    return _apply(305, (x,), (sizes, strides, low, high, dilations, tiled))


def max_pool_index(x, sizes, strides, low, high, dilations, tiled=0):
    """Where max_pool found its elements: row-major positions within the last dims of x, as many as there are sizes."""
    return _apply(306, (x,), (sizes, strides, low, high, dilations, tiled))


def avg_pool(x, sizes, strides, low, high, dilations, tiled=0, mode=0):
    """The mean of each window of the last dims, as many as there are sizes: the sum divided by the elements of a
    window (mode 0), by those in x and its padding, taken as `low` on both sides (1), or by those in x (2)."""
    return _apply(307, (x,), (sizes, strides, low, high, dilations, tiled, mode))


def batch_norm(x, weight, bias, eps):
    """x less its mean, over its standard deviation, within each channel (dim 1); then times weight plus bias of the
    channel."""
    return _apply(308, (x, weight, bias, eps))


def batch_norm_fixed(x, mean, var, weight, bias, eps):
    """(x - mean) / sqrt(var + eps) * weight + bias, with one of each for every channel (dim 1)."""
    return _apply(309, (x, mean, var, weight, bias, eps))


def group_norm(x, weight, bias, eps, groups=1):
    """x less its mean, over its standard deviation, within each of the groups of channels (dim 1) of an element of
    the batch; then times weight plus bias of the channel. groups divides the channels; as many as these make an
    instance norm."""
    return _apply(310, (x, weight, bias, eps), (groups,))


def cumsum(x, dim, dtype=None):
    """At each place of the dim the sum of what stands up to it. Dtypes as sum."""
    return _apply(330, (x,), (dim, dtype))


def cumprod(x, dim, dtype=None):
    """At each place of the dim the product of what stands up to it. Dtypes as sum."""
    return _apply(331, (x,), (dim, dtype))


def cummax(x, dim):
    """At each place of the dim the largest of what stands up to it, and its place, the last of equals. NaN wins."""
    return _apply(333, (x,), (dim,), outputs=2)


def cummin(x, dim):
    """At each place of the dim the smallest of what stands up to it, and its place, the last of equals. NaN wins."""
    return _apply(334, (x,), (dim,), outputs=2)


def logcumsumexp(x, dim):
    """At each place of the dim the logarithm of the sum of exp(x) of what stands up to it, without overflow."""
    return _apply(336, (x,), (dim,))


def sort(x, dim, descending=0):
    """The elements along the dim in order, and where each stood. Equal elements keep their order; NaN is the
    largest."""
    return _apply(337, (x,), (dim, descending), outputs=2)


def argsort(x, dim, descending=0):
    """The places of the elements along the dim in the order that sort gives them."""
    return _apply(338, (x,), (dim, descending))


def scatter_prod(x, index, src, dim):
    """x times src at the places that gather would read; repeated places multiply up, in the order of src."""
    return _apply(339, (x, index, src), (dim,))


def scatter_max(x, index, src, dim):
    """The larger one of x and src at the places that gather would read; NaN wins. Equal ones share the gradient."""
    return _apply(340, (x, index, src), (dim,))


def scatter_min(x, index, src, dim):
    """The smaller one of x and src at the places that gather would read; NaN wins. Equal ones share the gradient."""
    return _apply(341, (x, index, src), (dim,))


def lstm_step(in_gate, forget_gate, cell_gate, out_gate, c):
    """The new h and c of an LSTM, from the four gates before their activations and the former c; all of one shape."""
    return _apply(370, (in_gate, forget_gate, cell_gate, out_gate, c), outputs=2)


def gru_step(reset_x, update_x, new_x, reset_h, update_h, new_h, h):
    """The new h of a GRU, from the three gates of the input and of h before their activations, and the former h; all
    of one shape."""
    return _apply(371, (reset_x, update_x, new_x, reset_h, update_h, new_h, h))


def rmsprop_step(param, grad, v, buffer, lr, alpha, eps, momentum=None, weight_decay=None, maximize=0):
    """One step of RMSprop; v is the mean of squares. Gives the new param, v and, where one is given, buffer."""
    return _apply(390, (param, grad, v, buffer, lr, alpha, eps, momentum, weight_decay), (maximize,), outputs=2 if buffer is None else 3)


def rmsprop_centered_step(param, grad, v, mean, buffer, lr, alpha, eps, momentum=None, weight_decay=None, maximize=0):
    """As rmsprop_step, with the variance about a running mean of gradients in place of the mean of squares. Gives
    the new param, v, mean and buffer."""
    return _apply(391, (param, grad, v, mean, buffer, lr, alpha, eps, momentum, weight_decay), (maximize,), outputs=3 if buffer is None else 4)


def adagrad_step(param, grad, total, lr, lr_decay, eps, weight_decay, step, maximize=0):
    """One step of Adagrad; total is that of the squares of all gradients, step counts from 1. Gives the new param
    and total."""
    return _apply(392, (param, grad, total, lr, lr_decay, eps, weight_decay, step), (maximize,), outputs=2)


def adadelta_step(param, grad, v, changes, lr, rho, eps, weight_decay=None, maximize=0):
    """One step of Adadelta; v and changes are means of the squares of gradients and of updates. Gives the new param,
    v and changes."""
    return _apply(393, (param, grad, v, changes, lr, rho, eps, weight_decay), (maximize,), outputs=3)


def adamax_step(param, grad, m, largest, lr, beta1, beta2, eps, weight_decay, step, maximize=0):
    """One step of Adamax; largest is the decaying greatest size of a gradient. Gives the new param, m and largest."""
    return _apply(394, (param, grad, m, largest, lr, beta1, beta2, eps, weight_decay, step), (maximize,), outputs=3)


def nadam_step(param, grad, m, v, lr, beta1, beta2, eps, weight_decay, step, share, ahead, decoupled=0, maximize=0):
    """One step of NAdam. With mu_k the momentum of step k and M_k the product of all up to it, `share` is (1 - mu_k)
    / (1 - M_k) and `ahead` is mu_(k+1) / (1 - M_(k+1)). Gives the new param, m and v."""
    return _apply(395, (param, grad, m, v, lr, beta1, beta2, eps, weight_decay, step, share, ahead), (decoupled, maximize), outputs=3)


def radam_step(param, grad, m, v, lr, beta1, beta2, eps, weight_decay, step, decoupled=0, maximize=0):
    """One step of RAdam: Adam that goes by m alone while too few steps were seen for v to be of use. Gives the new
    param, m and v."""
    return _apply(396, (param, grad, m, v, lr, beta1, beta2, eps, weight_decay, step), (decoupled, maximize), outputs=3)


def rprop_step(param, grad, previous, sizes, eta_minus, eta_plus, smallest, largest, maximize=0):
    """One step of resilient propagation; each element has a step size of its own. Gives the new param, previous
    gradient and sizes."""
    return _apply(397, (param, grad, previous, sizes, eta_minus, eta_plus, smallest, largest), (maximize,), outputs=3)


def asgd_step(param, grad, average, eta, lambd, mu, weight_decay=None, maximize=0):
    """One step of averaged gradient descent with the rate `eta`; the average takes in a share `mu` of the new param.
    Gives the new param and average."""
    return _apply(398, (param, grad, average, eta, lambd, mu, weight_decay), (maximize,), outputs=2)


def erfinv(x):
    """The inverse of erf: a closed approximation and two of Halley's steps."""
    return _apply(399, (x,))


def xlogy(a, b):
    """a * log(b), 0 where a is 0 (unless b is NaN)."""
    return _apply(400, (a, b))


def copysign(a, b):
    """The size of a with the sign of b, also of -0."""
    return _apply(401, (a, b))


def ldexp(a, b):
    """a * 2 ** b."""
    return _apply(402, (a, b))


def logaddexp2(a, b):
    """log2(2 ** a + 2 ** b) without overflow."""
    return _apply(403, (a, b))


def zeta(a, b):
    """The Hurwitz zeta function, the sum of (b + k) ** -a over k from 0 on: 12 terms and the rest by Euler and
    Maclaurin's formula."""
    return _apply(404, (a, b))
