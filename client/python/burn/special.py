# SPDX-License-Identifier: Apache-2.0
"""Special functions with PyTorch's names.

What has no op of its own is a sum over a new last dim that the daemon fuses into one kernel: the Bessel functions are
their integrals by the trapezoidal rule, which for periodic integrands is as good as exact, and Hankel's series far out."""
from __future__ import annotations

import math
from typing import Any, Callable

from . import _core, _ops
from ._core import InvalidError
from ._creation import arange
from ._dtype import bfloat16, float16, float32, get_default_dtype
from ._pointwise import FUNCTIONS, method, need_float, need_tensor
from ._products import logit, sinc  # noqa: F401
from ._reduce import log_softmax, logsumexp, softmax  # noqa: F401
from ._tensor import Tensor

digamma = psi = FUNCTIONS["digamma"]
erf, erfc, erfinv, exp2, expm1 = (FUNCTIONS[_name] for _name in ("erf", "erfc", "erfinv", "exp2", "expm1"))
expit, gammaln, log1p, round = FUNCTIONS["sigmoid"], FUNCTIONS["lgamma"], FUNCTIONS["log1p"], FUNCTIONS["round"]
xlogy = FUNCTIONS["xlogy"]


def _as_float(x: Any, name: str) -> Tensor:
    need_tensor(x, name)
    return x if x.dtype.is_floating_point else x.to(get_default_dtype())


def _wide(function: Callable) -> Callable:
    """Computed in float32 at least."""
    name = function.__name__

    def made(input: Tensor) -> Tensor:
        x = _as_float(input, name)
        return function(x.to(float32)).to(x.dtype) if x.dtype in (float16, bfloat16) else function(x)
    made.__name__, made.__doc__ = name, function.__doc__
    return made


def entr(input: Tensor) -> Tensor:
    """-x log(x); 0 at 0, -inf below."""
    x = _as_float(input, "entr")
    return _ops.where(x < 0, -math.inf, -_ops.xlogy(x, _ops.where(x < 0, 1, x)))


def xlog1py(input: Any, other: Any) -> Tensor:
    """input * log1p(other), 0 where the input is 0 (unless other is NaN)."""
    a, b = (x if isinstance(x, Tensor) else _core.tensor(x) for x in (input, other))
    odd = _ops.logical_and(a == 0, _ops.logical_or(b <= -1, b == math.inf))
    return a * _ops.log1p(_ops.where(odd, 0, b))


def ndtr(input: Tensor) -> Tensor:
    """The area under the standard normal density to the left of x."""
    return _ops.erfc(_as_float(input, "ndtr") * -math.sqrt(0.5)) * 0.5


@_wide
def log_ndtr(input: Tensor) -> Tensor:
    """log(ndtr(x)), also where that is too small for its dtype."""
    near = _ops.log(_ops.erfc(_ops.clamp(input, -5, None) * -math.sqrt(0.5)) * 0.5)
    x = _ops.clamp(input, None, -5)
    f = x
    for k in range(48, 0, -1):  # the continued fraction of Mills' ratio
        f = x + k / f
    far = x * x * -0.5 - 0.5 * math.log(2 * math.pi) - _ops.log(-f)
    return _ops.where(input > -5, near, far)


@_wide
def ndtri(input: Tensor) -> Tensor:
    """The x to the left of which the area p lies under the standard normal density."""
    q = _ops.minimum(input, 1 - input)
    x = _ops.erfinv(1 - 2 * q) * math.sqrt(2)  # -x belongs to q; where q is small, one of Halley's steps mends it
    fixed = _ops.detach(x)
    error = (_ops.erfc(fixed * math.sqrt(0.5)) * 0.5 - q) * math.sqrt(2 * math.pi) * _ops.exp(fixed * fixed * 0.5)
    mended = fixed + error / (1 - error * fixed * 0.5)
    x = _ops.where(_ops.logical_and(q > 0, q < 0.25), mended, x)
    return _ops.where(input < 0.5, -x, x)


def erfcx(input: Tensor) -> Tensor:
    """exp(x * x) * erfc(x), also where erfc(x) is too small for its dtype."""
    x = _as_float(input, "erfcx")
    low = _ops.clamp(x, None, 5)
    near = _ops.exp(low * low) * _ops.erfc(low)
    high = _ops.clamp(x, 5, None)
    f = high
    for k in range(40, 0, -1):
        f = high + (k / 2) / f
    return _ops.where(x < 5, near, 1 / (f * math.sqrt(math.pi)))


# ---- of the gamma family ----


def zeta(input: Any, other: Any) -> Tensor:
    """The Hurwitz zeta function: the sum of (other + k) ** -input over k = 0, 1, ..."""
    return _ops.zeta(input, other)


def polygamma(n: int, input: Tensor) -> Tensor:
    """The n-th derivative of digamma."""
    if n < 0:
        raise InvalidError("polygamma(n, x) does not support negative n.")
    if n == 0:
        return _ops.digamma(input)
    return _ops.zeta(n + 1, _as_float(input, "polygamma")) * float((-1) ** (n + 1) * math.factorial(n))


def multigammaln(input: Tensor, p: int) -> Tensor:
    """The logarithm of the multivariate gamma function of dimension p."""
    x = _as_float(input, "multigammaln")
    if p < 1:
        raise InvalidError("p has to be greater than or equal to 1")
    places = arange(p, dtype=x.dtype) * -0.5
    return _ops.sum(_ops.lgamma(x.unsqueeze(-1) + places), (-1,)) + p * (p - 1) / 4 * math.log(math.pi)


TERMS = 240


def _lower_series(a: Tensor, x: Tensor) -> Tensor:
    """x ** a exp(-x) / gamma(a + 1) times 1 + x / (a + 1) + x * x / ((a + 1) (a + 2)) + ..."""
    steps = x.unsqueeze(-1) / (a.unsqueeze(-1) + arange(1, TERMS, dtype=x.dtype))
    total = _ops.sum(_ops.cumprod(steps, -1), (-1,)) + 1
    return total * _ops.exp(_ops.xlogy(a, x) - x - _ops.lgamma(a + 1))


def _upper_fraction(a: Tensor, x: Tensor) -> Tensor:
    """x ** a exp(-x) / gamma(a) times Legendre's continued fraction, for x > a + 1."""
    f = x + (2 * 64 + 1) - a
    for k in range(64, 0, -1):
        f = x + (2 * k - 1) - a - (a - k) * -k / f
    return _ops.exp(_ops.xlogy(a, x) - x - _ops.lgamma(a)) / f


def _gammas(input: Tensor, other: Tensor, name: str) -> tuple[Tensor, Tensor]:
    need_float(input, name)
    need_float(other, name)
    a, x = input + other * 0, other + input * 0
    large = x > a + 1
    series = _lower_series(a, _ops.where(large, 0.5, x))
    fraction = _upper_fraction(_ops.where(large, a, 1), _ops.where(large, x, 4))
    return _ops.where(large, 1 - fraction, series), _ops.where(large, fraction, 1 - series)


def gammainc(input: Tensor, other: Tensor) -> Tensor:
    """The share of the gamma function of `input` that the integral up to `other` has."""
    return _gammas(input, other, "gammainc")[0]


def gammaincc(input: Tensor, other: Tensor) -> Tensor:
    """The share of the gamma function of `input` that the integral from `other` on has."""
    return _gammas(input, other, "gammaincc")[1]


# ---- Bessel functions ----

POINTS = 64
FAR = 30.0


def _mean(values: Tensor) -> Tensor:
    return _ops.sum(values, (-1,)) * (1 / POINTS)


def _angles(x: Tensor) -> Tensor:
    """Middles of equal parts of (0, pi), along a new last dim."""
    return (arange(POINTS, dtype=x.dtype) + 0.5) * (math.pi / POINTS)


def _hankel(order: int, z: Tensor, sign: int) -> tuple[Tensor, Tensor]:
    """The even and the odd terms of Hankel's series in 1 / z; with sign -1 both alternate."""
    even, odd = _core.full((), 1.0, z.dtype), _core.full((), 0.0, z.dtype)
    term = 1.0
    for k in range(1, 15):
        term *= (4 * order * order - (2 * k - 1) ** 2) / (8 * k)
        part = z ** -k * (term * (sign ** (k // 2)))
        even, odd = (even + part, odd) if k % 2 == 0 else (even, odd + part)
    return even, odd


def _scaled_i(x: Tensor, order: int) -> Tensor:
    """exp(-|x|) times the modified Bessel function of the first kind."""
    size = _ops.abs(x)
    cosine = _ops.cos(_angles(x))
    near = _ops.exp(_ops.clamp(size, None, FAR).unsqueeze(-1) * (cosine - 1))
    near = _mean(near * cosine if order else near)
    z = _ops.clamp(size, FAR, None)
    even, odd = _hankel(order, z, 1)
    far = (even - odd) / _ops.sqrt(z * (2 * math.pi))
    made = _ops.where(size < FAR, near, far)
    return _ops.where(x < 0, -made, made) if order else made


@_wide
def i0e(input: Tensor) -> Tensor:
    """exp(-|x|) * i0(x)."""
    return _scaled_i(input, 0)


@_wide
def i1e(input: Tensor) -> Tensor:
    """exp(-|x|) * i1(x)."""
    return _scaled_i(input, 1)


@_wide
def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""
    return _scaled_i(input, 0) * _ops.exp(_ops.abs(input))


@_wide
def i1(input: Tensor) -> Tensor:
    """The modified Bessel function of the first kind, of order 1."""
    return _scaled_i(input, 1) * _ops.exp(_ops.abs(input))


def _bessel_j(x: Tensor, order: int) -> Tensor:
    size = _ops.abs(x)
    angles = _angles(x)
    near = _mean(_ops.cos(order * angles - _ops.clamp(size, None, FAR).unsqueeze(-1) * _ops.sin(angles)))
    z = _ops.clamp(size, FAR, None)
    even, odd = _hankel(order, z, -1)
    phase = z - (order * math.pi / 2 + math.pi / 4)
    far = _ops.sqrt(2 / (math.pi * z)) * (even * _ops.cos(phase) - odd * _ops.sin(phase))
    made = _ops.where(size < FAR, near, far)
    return _ops.where(x < 0, -made, made) if order else made


@_wide
def bessel_j0(input: Tensor) -> Tensor:
    """The Bessel function of the first kind, of order 0."""
    return _bessel_j(input, 0)


@_wide
def bessel_j1(input: Tensor) -> Tensor:
    """The Bessel function of the first kind, of order 1."""
    return _bessel_j(input, 1)


modified_bessel_i0, modified_bessel_i1 = i0, i1


def _polygamma_method(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma."""
    return polygamma(n, self)


FUNCTIONS.update(polygamma=polygamma, i0=i0, mvlgamma=multigammaln)
Tensor.polygamma, Tensor.i0, Tensor.mvlgamma = _polygamma_method, i0, multigammaln
for _name, _function in (("igamma", gammainc), ("igammac", gammaincc), ("i0", i0)):
    method(_function, _name)
