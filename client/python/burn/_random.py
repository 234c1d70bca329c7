# SPDX-License-Identifier: Apache-2.0
"""Samples by order and by weight, and fills with further distributions."""
from __future__ import annotations

import math
from typing import Any

from . import _core, _ops
from ._core import InvalidError
from ._creation import Generator, as_shape, check_device, check_options, draw
from ._dtype import as_dtype, finfo, float32, float64, int64
from ._pointwise import FUNCTIONS, method
from ._sort import searchsorted, topk
from ._tensor import Tensor, assign, no_grad


def _drawing(function: Any) -> Any:
    FUNCTIONS[function.__name__] = function
    return function


def _need_floats(input: Tensor, name: str) -> None:
    if not input.dtype.is_floating_point:
        raise InvalidError(f"{name}: expected a floating-point tensor, got {input.dtype}")


def randperm(n: int, *, generator: Generator | None = None, dtype: Any = None, device: Any = None,
             requires_grad: bool = False, **options: Any) -> Tensor:
    """The integers 0 to n - 1 in random order."""
    check_device(device)
    check_options("randperm", options)
    (n,) = as_shape((n,), "randperm")
    keys = _ops.uniform(0.0, 1.0, (n,), float64, *draw(n, generator))
    made = _ops.argsort(keys, 0, False).to(as_dtype(dtype) or int64)
    return made.requires_grad_(True) if requires_grad else made


def randint_like(input: Tensor, low: int, high: int | None = None, *, dtype: Any = None, device: Any = None,
                 requires_grad: bool = False, **_: Any) -> Tensor:
    """Integers from low (0 if one number is given) to high - 1 in the shape and dtype of the input."""
    check_device(device)
    low, high = (0, low) if high is None else (low, high)
    if not low < high:
        raise InvalidError(f"randint_like(): 'from' {low} must be less than 'to' {high}")
    made = _ops.randint(low, high, tuple(input.shape), as_dtype(dtype) or input.dtype, *draw(input.numel(), None))
    return made.requires_grad_(True) if requires_grad else made


FUNCTIONS.update(randperm=randperm, randint_like=randint_like)


def standard_exponential(shape: tuple[int, ...], dtype: Any, generator: Generator | None) -> Tensor:
    """Exponentially distributed with rate 1, never 0."""
    uniform = _ops.uniform(0.0, 1.0, shape, dtype, *draw(math.prod(shape), generator))
    tiny = 2.0 ** -54 if dtype is float64 else 2.0 ** -26
    return _ops.neg(_ops.log1p(_ops.neg(uniform))) + tiny


def multinomial(input: Tensor, num_samples: int, replacement: bool = False, *,
                generator: Generator | None = None) -> Tensor:
    """Indices drawn by the weights in each row, with or without putting them back."""
    if not input.dtype.is_floating_point:
        raise InvalidError(f"multinomial only supports floating-point dtypes for input, got: {input.dtype}")
    if input.dim() not in (1, 2):
        raise InvalidError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise InvalidError("cannot sample n_sample <= 0 samples")
    count = input.shape[-1]
    if not replacement and num_samples > count:
        raise InvalidError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    weights = input.detach() if input.dtype in (float32, float64) else input.detach().to(float32)
    total = _ops.sum(weights, (-1,), True)
    wrong = _ops.logical_or(_ops.min(weights, (-1,), True) < 0, _ops.logical_not(_ops.isfinite(total)))
    if bool(_ops.any(_ops.logical_or(wrong, total <= 0), (), False)):
        raise InvalidError("probability tensor contains either `inf`, `nan` or element < 0, or sums to 0")
    if replacement:
        return drawn_indices(weights, num_samples, generator)
    keys = weights / standard_exponential(tuple(weights.shape), weights.dtype, generator)
    return topk(keys, num_samples, -1).indices if num_samples > 1 else _ops.argmax(keys, (-1,), True)


def drawn_indices(weights: Tensor, num_samples: int, generator: Generator | None = None) -> Tensor:
    """Indices drawn by the weights in each row, putting them back; the weights go unchecked."""
    shape = tuple(weights.shape[:-1]) + (num_samples,)
    drawn = _ops.uniform(0.0, 1.0, shape, float64, *draw(math.prod(shape), generator))
    reached = _ops.cumsum(weights, -1, float64)
    drawn = drawn * reached[..., -1:]
    last = _ops.max(_ops.where(weights > 0, _ops.arange(0, 1, weights.shape[-1], int64), -1), (-1,), True)
    return _ops.minimum(searchsorted(reached, drawn, right=True), last)


method(multinomial, inplace=False)


# ---- drawn by NumPy on the client, which waits for the parameters ----

def host_random(count: int, generator: Generator | None) -> Any:
    """NumPy's generator at the place of the stream from where it may draw so many numbers."""
    import numpy as np
    return np.random.Generator(np.random.Philox(key=draw(max(count, 1), generator)))


def _drawn(how: str, generator: Generator | None, *inputs: Tensor) -> Tensor:
    with no_grad():
        values = [(x.to(float64) if x.dtype.is_floating_point else x).detach().numpy() for x in inputs]
        made = getattr(host_random(max(x.size for x in values), generator), how)(*values)
        return _core.tensor(made).to(inputs[-1].dtype)


@_drawing
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Counts of independent events, for the rate that each element names."""
    _need_floats(input, "poisson")
    if bool(_ops.any(input.detach() < 0, (), False)):
        raise InvalidError("invalid Poisson rate, expected rate to be non-negative")
    return _drawn("poisson", generator, input)


@_drawing
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of count trials succeed with probability prob."""
    _need_floats(prob, "binomial")
    count, prob = FUNCTIONS["broadcast_tensors"](count, prob)
    return _drawn("binomial", generator, count.to(int64), prob)


def standard_gamma(concentration: Tensor, generator: Generator | None = None) -> Tensor:
    """Gamma-distributed numbers of scale 1; gradients flow to the concentration."""
    tiny = finfo(concentration.dtype).tiny
    drawn = _ops.clamp(_drawn("standard_gamma", generator, concentration), tiny, None)
    if not (concentration.requires_grad and _core.grad_enabled()):
        return drawn
    slope = _gamma_slope(concentration.detach(), drawn)
    return drawn + (concentration - concentration.detach()) * slope


def _gamma_slope(concentration: Tensor, drawn: Tensor) -> Tensor:
    """How a drawn number changes with the concentration a at an equal cumulated probability P(a, x): -dP/da / p(a, x), by
    P = the sum over n of x ** (a + n) * exp(-x) / gamma(a + n + 1)."""
    import numpy as np
    a, x = (value.detach().to(float64).numpy() for value in (concentration, drawn))
    psi = _ops.digamma(concentration.to(float64)).numpy() + 1 / a
    term, log_x = x / a, np.log(x)
    total, n = term * (psi - log_x), 0
    while np.any(term * (1 + np.abs(psi - log_x)) > 1e-17 * np.abs(total)) and n < 1_000_000:
        n += 1
        term = term * (x / (a + n))
        psi = psi + 1 / (a + n)
        total = total + term * (psi - log_x)
    return _core.tensor(np.asarray(total)).to(drawn.dtype)


def _filled(function: Any) -> None:
    setattr(Tensor, function.__name__, function)


@_filled
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fills it with exponentially distributed numbers of this rate."""
    _need_floats(self, "exponential_")
    if lambd <= 0:
        raise InvalidError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    return assign(self, standard_exponential(tuple(self.shape), float64, generator) / lambd, cast=True)


@_filled
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fills it with numbers of trials up to the first success of probability p."""
    if not 0 < p < 1:
        raise InvalidError(f"geometric_ expects p to be in (0, 1), but got p={p}")
    waits = standard_exponential(tuple(self.shape), float64, generator)
    return assign(self, _ops.maximum(_ops.ceil(waits / -math.log1p(-p)), 1), cast=True)


@_filled
def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fills it with Cauchy-distributed numbers."""
    _need_floats(self, "cauchy_")
    if sigma <= 0:
        raise InvalidError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma}")
    uniform = _ops.uniform(0.0, 1.0, tuple(self.shape), float64, *draw(self.numel(), generator))
    return assign(self, median + sigma * _ops.tan(math.pi * (uniform - 0.5)), cast=True)


@_filled
def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """Fills it with numbers whose logarithms are normally distributed."""
    _need_floats(self, "log_normal_")
    if std <= 0:
        raise InvalidError(f"log_normal_ expects std > 0.0, but found std={std}")
    drawn = _ops.normal(mean, std, tuple(self.shape), float64, *draw(self.numel(), generator))
    return assign(self, _ops.exp(drawn), cast=True)


def von_mises(loc: Tensor, concentration: Tensor) -> Tensor:
    """Angles of the von Mises distribution, in [-pi, pi)."""
    return _drawn("vonmises", None, loc, concentration)
