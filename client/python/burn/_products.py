# SPDX-License-Identifier: Apache-2.0
"""Products of vectors and matrices, distances, statistics of rows and further pointwise functions; also methods."""
from __future__ import annotations

import math
from typing import Any, Sequence

from . import _core, _ops
from ._core import InvalidError, UnsupportedError
from ._dtype import bool_, float64, get_default_dtype, int32
from ._pointwise import FUNCTIONS, method, need_float, need_tensor
from ._reduce import axes, norm
from ._shape import expand, matmul, ravel, reshape, transpose, wrap_dim
from ._tensor import Tensor
from .return_types import named

_extremes = named("aminmax", "min", "max")


def _product(function: Any) -> Any:
    return method(function, inplace=False)


def _public(function: Any) -> Any:
    FUNCTIONS[function.__name__] = function
    return function


def _scaled(input: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """beta * input + alpha * product; an input with beta 0 does not count, whatever it holds."""
    product = product if alpha == 1 else product * alpha
    return product if beta == 0 else product + (input if beta == 1 else input * beta)


# ---- products ----


@method
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
    if mat.dim() != 2 or vec.dim() != 1:
        raise InvalidError(f"vector + matrix @ vector expected, got {input.dim()}, {mat.dim()}, {vec.dim()}")
    return _scaled(input, _ops.matmul(mat, vec), beta, alpha)


@method
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2)."""
    return _scaled(input, outer(vec1, vec2), beta, alpha)


@method
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * the sum over the batch of batch1 @ batch2."""
    return _scaled(input, FUNCTIONS["bmm"](batch1, batch2).sum(0), beta, alpha)


@method
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (batch1 @ batch2), for batches of matrices."""
    return _scaled(input, FUNCTIONS["bmm"](batch1, batch2), beta, alpha)


@_product
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of an element of one vector and one of the other."""
    if input.dim() != 1 or vec2.dim() != 1:
        raise InvalidError(f"outer: Expected 1-D arguments, but got {input.dim()}-D and {vec2.dim()}-D")
    return input.unsqueeze(1) * vec2


method(outer, "ger", inplace=False)


@_product
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products over the last dims; a scalar multiplies."""
    if input.dim() == 0 or other.dim() == 0:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise InvalidError(f"inner() the last dimension must match on both input tensors but got shapes "
                           f"{list(input.shape)} and {list(other.shape)}")
    return FUNCTIONS["tensordot"](input, other, ([-1], [-1]))


@_product
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The sum of products of two vectors."""
    return FUNCTIONS["dot"](input, other)


@_product
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Every element of the input times the whole of other, as blocks."""
    rank = max(input.dim(), other.dim())
    a, b = ((1,) * (rank - x.dim()) + tuple(x.shape) for x in (input, other))
    left = reshape(input, tuple(k for n in a for k in (n, 1)))
    right = reshape(other, tuple(k for n in b for k in (1, n)))
    return reshape(left * right, tuple(m * n for m, n in zip(a, b)))


def _best_order(sizes: Sequence[int]) -> dict:
    """Where to part each span of a chain of matrices with the fewest multiplications."""
    cost, part, count = {}, {}, len(sizes) - 1
    for i in range(count):
        cost[i, i] = 0
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            part[i, j] = min(range(i, j), key=lambda k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1])
            k = part[i, j]
            cost[i, j] = cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
    return part


def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of a chain of matrices in the cheapest order; the first and the last may be vectors."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise InvalidError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    row, column = tensors[0].dim() == 1, tensors[-1].dim() == 1
    tensors[0] = tensors[0].unsqueeze(0) if row else tensors[0]
    tensors[-1] = tensors[-1].unsqueeze(1) if column else tensors[-1]
    for x in tensors:
        if x.dim() != 2:
            raise InvalidError(f"multi_dot(): every tensor between the ends must be a matrix, got {list(x.shape)}")
    part = _best_order([tensors[0].shape[0], *(x.shape[1] for x in tensors)])

    def span(i: int, j: int) -> Tensor:
        return tensors[i] if i == j else matmul(span(i, part[i, j]), span(part[i, j] + 1, j))
    out = span(0, len(tensors) - 1)
    out = out.squeeze(0) if row else out
    return out.squeeze(-1) if column else out


@_public
def chain_matmul(*matrices: Any) -> Tensor:
    """The product of several matrices in the cheapest order."""
    given = list(matrices[0]) if len(matrices) == 1 and isinstance(matrices[0], (tuple, list)) else list(matrices)
    return given[0] if len(given) == 1 else multi_dot(given)


@_product
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along a dim of size 3 (by default the first such)."""
    shape = tuple(FUNCTIONS["broadcast_shapes"](tuple(input.shape), tuple(other.shape)))
    input, other = expand(input, shape), expand(other, shape)
    if dim is None:
        if 3 not in shape:
            raise InvalidError("no dimension of size 3 in input")
        dim = shape.index(3)
    dim = wrap_dim(dim, len(shape))
    if shape[dim] != 3:
        raise InvalidError(f"linalg.cross: inputs dimension {dim} must have length 3. Got {shape[dim]} and {shape[dim]}")

    def turned(x: Tensor, by: int) -> Tensor:
        return FUNCTIONS["roll"](x, -by, dim)
    return turned(input, 1) * turned(other, 2) - turned(input, 2) * turned(other, 1)


# ---- distances ----


def _length(apart: Tensor, p: float, dims: tuple[int, ...]) -> Tensor:
    """The p-norm over dims; its gradient where the norm is 0 is 0."""
    size = _ops.abs(apart)
    if p == 0:
        return _ops.sum((apart != 0).to(apart.dtype), dims)
    if p == 1:
        return _ops.sum(size, dims)
    if math.isinf(p):
        return _ops.max(size, dims) if p > 0 else _ops.min(size, dims)
    total = _ops.sum(_ops.square(apart) if p == 2 else size ** p, dims)
    some = total != 0
    safe = _ops.where(some, total, 1)
    return _ops.where(some, _ops.sqrt(safe) if p == 2 else safe ** (1.0 / p), 0)


@_public
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: Any = None) -> Tensor:
    """The p-norm distance of each row of x1 to each row of x2."""
    if x1.dim() < 2 or x2.dim() < 2:
        raise InvalidError(f"cdist only supports at least 2D tensors, X1 got: {x1.dim()}D, X2 got: {x2.dim()}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise InvalidError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    if p < 0:
        raise InvalidError("cdist only supports non-negative p values")
    if x1.shape[-1] == 0:
        shape = FUNCTIONS["broadcast_shapes"](tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
        return _core.full((*shape, x1.shape[-2], x2.shape[-2]), 0, x1.dtype)
    return _length(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, (-1,))


@_product
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of input - other."""
    return _length(ravel(input - other), p, (0,))


@method
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The slices along dim whose p-norm is above maxnorm scaled down to it."""
    dim = wrap_dim(dim, input.dim())
    lengths = norm(input, p, [d for d in range(input.dim()) if d != dim], True)
    return input * _ops.where(lengths > maxnorm, maxnorm / (lengths + 1e-7), 1.0)


# ---- statistics ----


@_product
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """(min, max) of all elements or along dim."""
    need_tensor(input, "aminmax")
    return _extremes(_ops.min(input, axes(dim), keepdim), _ops.max(input, axes(dim), keepdim))


@_product
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum over dims, NaN counting as 0."""
    kept = _ops.where(_ops.isnan(input), 0, input) if input.dtype.is_floating_point else input
    return FUNCTIONS["sum"](kept, dim, keepdim, dtype=dtype)


@_product
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean over dims of what is not NaN."""
    count = FUNCTIONS["sum"](_ops.logical_not(_ops.isnan(input)), dim, keepdim)
    return nansum(input, dim, keepdim, dtype=dtype) / count


@_product
def cov(input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None) -> Tensor:
    """The covariances of the rows; each column is one observation."""
    if input.dim() > 2:
        raise InvalidError(f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} "
                           "dimensions")
    x = reshape(input, (1, input.numel())) if input.dim() < 2 else input
    x = x if x.dtype.is_floating_point else x.to(get_default_dtype())
    weights = None
    for part in (fweights, aweights):
        if part is not None:
            weights = part if weights is None else weights * part
    if weights is None:
        weight_sum: Any = x.shape[1]
        mean = x.mean(1, keepdim=True)
        scale = max(x.shape[1] - correction, 0)
    else:
        weight_sum = weights.sum()
        mean = (x * weights).sum(1, keepdim=True) / weight_sum
        scale = weight_sum - correction if aweights is None else \
            weight_sum - correction * (weights * aweights).sum() / weight_sum
        scale = _ops.clamp(scale, 0, None)
    away = x - mean
    made = _ops.matmul(away if weights is None else away * weights, transpose(away, 0, 1)) / scale
    return made.squeeze() if input.dim() < 2 else made


@_product
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of the rows."""
    c = cov(input)
    if c.dim() == 0:
        return c / c
    deviation = _ops.sqrt(FUNCTIONS["diagonal"](c))
    return _ops.clamp(c / deviation.unsqueeze(1) / deviation, -1, 1)


# ---- pointwise ----


def _as_float(x: Any) -> Any:
    return x.to(get_default_dtype()) if isinstance(x, Tensor) and not x.dtype.is_floating_point else x


@method
def nan_to_num(input: Tensor, nan: float | None = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """NaN and infinities replaced: by 0 and the dtype's largest and lowest numbers if nothing else is said."""
    need_tensor(input, "nan_to_num")
    if not input.dtype.is_floating_point:
        return input.clone()
    from ._dtype import finfo
    limits = finfo(input.dtype)
    out = _ops.where(_ops.isnan(input), 0.0 if nan is None else nan, input)
    out = _ops.where(input == math.inf, limits.max if posinf is None else posinf, out)
    return _ops.where(input == -math.inf, limits.min if neginf is None else neginf, out)


@_product
def signbit(input: Tensor) -> Tensor:
    """Whether the sign is negative, also that of -0."""
    need_tensor(input, "signbit")
    if not input.dtype.is_floating_point:
        return input < 0 if input.dtype.is_signed else _core.full(tuple(input.shape), False, bool_)
    return _ops.logical_or(input < 0, _ops.logical_and(input == 0, _ops.reciprocal(input) < 0))


@method
def heaviside(input: Tensor, values: Tensor) -> Tensor:
    """0 below 0, 1 above it, and values at it."""
    need_tensor(input, "heaviside")
    need_tensor(values, "heaviside")
    if input.dtype is not values.dtype:
        raise InvalidError("heaviside is not yet implemented for tensors with different dtypes.")
    return _ops.where(input == 0, values, (input > 0).to(input.dtype))


@method
def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """log(x / (1 - x)); with eps, x is first held within [eps, 1 - eps]."""
    need_tensor(input, "logit")
    x = _as_float(input)
    x = x if eps is None else _ops.clamp(x, eps, 1 - eps)
    return _ops.log(x / (1 - x))


@method
def sinc(input: Tensor) -> Tensor:
    """sin(pi x) / (pi x), 1 at 0."""
    need_tensor(input, "sinc")
    x = _as_float(input) * math.pi
    zero = x == 0
    safe = _ops.where(zero, 1, x)
    return _ops.where(zero, 1.0, _ops.sin(safe) / safe)


@method
def deg2rad(input: Tensor) -> Tensor:
    """Degrees in radians."""
    need_tensor(input, "deg2rad")
    return _as_float(input) * (math.pi / 180)


@method
def rad2deg(input: Tensor) -> Tensor:
    """Radians in degrees."""
    need_tensor(input, "rad2deg")
    return _as_float(input) * (180 / math.pi)


@_product
def isposinf(input: Tensor) -> Tensor:
    """x is +infinity."""
    need_tensor(input, "isposinf")
    return input == math.inf


@_product
def isneginf(input: Tensor) -> Tensor:
    """x is -infinity."""
    need_tensor(input, "isneginf")
    return input == -math.inf


@_product
def isreal(input: Tensor) -> Tensor:
    """True everywhere: there are no complex dtypes."""
    return _core.full(tuple(input.shape), True, bool_)


_frexp = named("frexp", "mantissa", "exponent")


@_product
def frexp(input: Tensor) -> Any:
    """(mantissa, exponent) with input = mantissa * 2 ** exponent and a mantissa in [0.5, 1)."""
    need_float(input, "frexp")
    size = _ops.abs(_ops.detach(input))
    plain = _ops.logical_and(size > 0, size < math.inf)
    exponent = _ops.floor(_ops.log2(_ops.where(plain, size, 0.5))) + 1
    half = _ops.trunc(exponent * 0.5)  # 2 ** exponent itself may overflow
    mantissa = input * _ops.exp2(-half) * _ops.exp2(half - exponent)
    far = _ops.abs(_ops.detach(mantissa))
    more, less = _ops.logical_and(plain, far >= 1), _ops.logical_and(plain, far < 0.5)  # log2 was rounded
    mantissa = _ops.where(more, mantissa * 0.5, _ops.where(less, mantissa * 2, mantissa))
    exponent = exponent + more.to(input.dtype) - less.to(input.dtype)
    return _frexp(_ops.where(plain, mantissa, input), exponent.to(int32))


@_product
def positive(input: Tensor) -> Tensor:
    """The input itself."""
    need_tensor(input, "positive")
    if input.dtype is bool_:
        raise InvalidError("The `+` operator, on a bool tensor is not supported.")
    return input


@method
def float_power(input: Any, exponent: Any) -> Tensor:
    """input to the power of exponent, in float64."""
    a, b = (x.to(float64) if isinstance(x, Tensor) else x for x in (input, exponent))
    return a ** b


def _common_divisor(a: Tensor, b: Tensor) -> Tensor:
    """Euclid's steps, a dozen between two looks at whether all are done."""
    a, b = _ops.abs(a), _ops.abs(b)
    while True:
        for _ in range(12):
            going = b != 0
            a, b = _ops.where(going, b, a), _ops.where(going, _ops.remainder(a, _ops.where(going, b, 1)), 0)
        if not bool(_ops.any(b != 0, (), False)):
            return a


def _integers(name: str, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both in the dtype that they have together."""
    need_tensor(a, name)
    need_tensor(b, name)
    dtype = _ops.add(a, b).dtype
    if dtype.is_floating_point or dtype is bool_:
        raise UnsupportedError(f"{name}: not implemented for {dtype}, only for integers")
    return a.to(dtype), b.to(dtype)


@method
def gcd(input: Tensor, other: Tensor) -> Tensor:
    """The greatest common divisor of integers. Waits for the values."""
    input, other = _integers("gcd", input, other)
    zero = (input + other) * 0
    return _common_divisor(input + zero, other + zero)


@method
def lcm(input: Tensor, other: Tensor) -> Tensor:
    """The least common multiple of integers. Waits for the values."""
    input, other = _integers("lcm", input, other)
    divisor = gcd(input, other)
    return _ops.abs(_ops.floor_divide(input, _ops.where(divisor == 0, 1, divisor)) * other)
