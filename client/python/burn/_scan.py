# SPDX-License-Identifier: Apache-2.0
"""Running sums, products and extremes, differences and integrals along a dim, also as methods of Tensor."""
from __future__ import annotations

from typing import Any, Sequence

from ._core import InvalidError
from . import _ops
from ._dtype import as_dtype
from ._pointwise import FUNCTIONS, method, need_tensor
from ._reduce import one_axis
from ._shape import cat, narrow, wrap_dim
from ._tensor import Tensor
from .return_types import named


def _running(name: str, op: Any) -> None:
    def function(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
        need_tensor(input, name)
        return op(input, one_axis(dim, name), as_dtype(dtype))
    function.__name__, function.__doc__ = name, op.__doc__
    method(function)


_running("cumsum", _ops.cumsum)
_running("cumprod", _ops.cumprod)


def _running_extreme(name: str, op: Any) -> None:
    pair = named(name, "values", "indices")

    def function(input: Tensor, dim: int) -> Any:
        need_tensor(input, name)
        return pair(*op(input, one_axis(dim, name)))
    function.__name__, function.__doc__ = name, op.__doc__
    method(function, inplace=False)


_running_extreme("cummax", _ops.cummax)
_running_extreme("cummin", _ops.cummin)


@method
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """log(cumsum(exp(input))) along dim, without overflow."""
    need_tensor(input, "logcumsumexp")
    return _ops.logcumsumexp(input, one_axis(dim, "logcumsumexp"))


def _ends(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """All places of dim but the first, and all but the last."""
    n = input.shape[dim]
    return narrow(input, dim, min(n, 1), max(n - 1, 0)), narrow(input, dim, 0, max(n - 1, 0))


@method
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor:
    """The differences of neighbours along dim, taken n times over."""
    need_tensor(input, "diff")
    if n < 0:
        raise InvalidError(f"order must be non-negative but got {n}")
    if input.dim() == 0:
        raise InvalidError("diff expects input to be at least one-dimensional")
    dim = wrap_dim(dim, input.dim())
    parts = [part for part in (prepend, input, append) if part is not None]
    input = cat(parts, dim) if len(parts) > 1 else input
    for _ in range(n):
        if input.shape[dim] == 0:
            break
        later, earlier = _ends(input, dim)
        input = later ^ earlier if input.dtype.name == "bool" else later - earlier
    return input


def _areas(y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Tensor:
    """The area of each strip between neighbours along dim."""
    later, earlier = _ends(y, dim)
    if x is None:
        return (later + earlier) * (dx / 2 if not isinstance(dx, Tensor) else dx * 0.5)
    if x.dim() == 1:
        x = x.reshape((1,) * dim + (x.shape[0],) + (1,) * (y.dim() - dim - 1))
        steps = diff(x, dim=dim)
    else:
        steps = diff(x, dim=wrap_dim(dim - y.dim() + x.dim(), x.dim()))
    return (later + earlier) * steps * 0.5


def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = 1.0, dim: int = -1) -> Tensor:
    """The integral along dim by the trapezoidal rule: points x, or a distance dx between them."""
    dim = wrap_dim(dim, y.dim())
    return _areas(y, x, dx, dim).sum(dim)


def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: Any = 1.0, dim: int = -1) -> Tensor:
    """The running integral along dim by the trapezoidal rule."""
    dim = wrap_dim(dim, y.dim())
    return _ops.cumsum(_areas(y, x, dx, dim), dim, None)


FUNCTIONS.update(trapezoid=trapezoid, trapz=trapezoid, cumulative_trapezoid=cumulative_trapezoid)


def _slope(input: Tensor, dim: int, spacing: Any, edge_order: int) -> Tensor:
    """The derivative along dim: second-order accurate inside, of the edge order at both ends."""
    n = input.shape[dim]
    if n < edge_order + 1:
        raise InvalidError("torch.gradient expected each dimension size to be at least edge_order+1")
    later, earlier = _ends(input, dim)

    def at(x: Tensor, first: int, count: int = 1) -> Tensor:
        return narrow(x, dim, first, count)
    if isinstance(spacing, Tensor):
        steps = diff(spacing).reshape((1,) * dim + (n - 1,) + (1,) * (input.dim() - dim - 1))
    else:
        steps = None
    h = spacing if steps is None else steps
    slopes = (later - earlier) / h
    pieces = []
    if edge_order == 1 or n < 3:
        first, last = at(slopes, 0), at(slopes, n - 2)
    else:
        a, b = (1.0, 1.0) if steps is None else (at(steps, 0), at(steps, 1))
        c, d = (1.0, 1.0) if steps is None else (at(steps, n - 3), at(steps, n - 2))
        first = at(slopes, 0) * ((2 * a + b) / (a + b)) - at(slopes, 1) * (a / (a + b))
        last = at(slopes, n - 2) * ((2 * d + c) / (c + d)) - at(slopes, n - 3) * (d / (c + d))
    pieces.append(first)
    if n > 2:
        left, right = at(slopes, 0, n - 2), at(slopes, 1, n - 2)
        if steps is None:
            pieces.append((left + right) * 0.5)
        else:
            before, after = at(steps, 0, n - 2), at(steps, 1, n - 2)
            pieces.append((left * after + right * before) / (before + after))
    pieces.append(last)
    return cat(pieces, dim)


def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> list[Tensor]:
    """The derivative along each dim by finite differences; spacing is one number, or one (or points) a dim."""
    need_tensor(input, "gradient")
    if edge_order not in (1, 2):
        raise InvalidError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims: Sequence[int] = range(input.dim()) if dim is None else ([dim] if isinstance(dim, int) else list(dim))
    spacings = list(spacing) if isinstance(spacing, (tuple, list)) else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise InvalidError(f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length "
                           f"{len(dims)}, but got a list of length {len(spacings)}")
    return [_slope(input, wrap_dim(d, input.dim()), h, edge_order) for d, h in zip(dims, spacings)]


FUNCTIONS["gradient"] = gradient
