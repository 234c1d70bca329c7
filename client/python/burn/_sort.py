# SPDX-License-Identifier: Apache-2.0
"""Sorting, selecting by order and searching, also as methods of Tensor."""
from __future__ import annotations

import math
from typing import Any

from . import _core, _ops
from ._core import ArgumentError, InvalidError, RangeError
from ._dtype import bool_, float32, float64, int32, int64
from ._pointwise import FUNCTIONS, method, need_tensor
from ._shape import expand as broadcast_to, narrow, ravel, wrap_dim
from ._tensor import Tensor
from .return_types import named

_pairs = {name: named(name, "values", "indices")
          for name in ("sort", "topk", "kthvalue", "median", "nanmedian", "mode")}


def _order(function: Any) -> Any:
    return method(function, inplace=False)


@_order
def sort(input: Tensor, *args: Any, dim: int | None = None, descending: bool | None = None, stable: bool = False,
         axis: int | None = None) -> Any:
    """(values, indices) in order along dim; equal elements keep their order, NaN counts as largest."""
    need_tensor(input, "sort")
    given = list(args)
    if len(given) > 2:
        raise ArgumentError(f"sort() takes at most dim and descending by position, got {len(given)} arguments")
    place = given[0] if given else dim if dim is not None else axis
    down = given[1] if len(given) > 1 else descending
    return _pairs["sort"](*_ops.sort(input, -1 if place is None else place, bool(down)))


@_order
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """The indices that sort along dim; equal elements keep their order."""
    need_tensor(input, "argsort")
    return _ops.argsort(input, dim, descending)


@_order
def msort(input: Tensor) -> Tensor:
    """Sorted along the first dim."""
    return _ops.sort(input, 0, False)[0]


@_order
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The k largest (or smallest) along dim and their indices, in order."""
    need_tensor(input, "topk")
    dim = wrap_dim(dim, input.dim())
    k = int(k)
    if input.dtype is bool_:
        raise InvalidError("topk does not support bool")
    if not 0 <= k <= (input.shape[dim] if input.dim() else 1):
        raise InvalidError(f"selected index k out of range: {k} of {list(input.shape)} along dim {dim}")
    values, indices = _ops.sort(input, dim, largest)
    if input.dim() == 0:
        return _pairs["topk"](values, indices)
    return _pairs["topk"](narrow(values, dim, 0, k), narrow(indices, dim, 0, k))


def _at(input: Tensor, order: Tensor, place: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]:
    """The elements that stand at a place of the order, and their indices."""
    indices = _ops.gather(order, place, dim)
    values = _ops.gather(input, indices, dim)
    return (values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))


@_order
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest along dim (from 1) and its index."""
    need_tensor(input, "kthvalue")
    dim = wrap_dim(dim, input.dim())
    n = input.shape[dim] if input.dim() else 1
    if n == 0:
        raise RangeError(f"kthvalue(): Expected reduction dim {dim} to have non-zero size.")
    if not 1 <= k <= n:
        raise InvalidError(f"kthvalue(): selected number k out of range for dimension {dim}: {k} of {n}")
    values, indices = _ops.sort(input, dim, False)
    if input.dim() == 0:
        return _pairs["kthvalue"](values, indices)
    values, indices = narrow(values, dim, k - 1, 1), narrow(indices, dim, k - 1, 1)
    return _pairs["kthvalue"](*((values, indices) if keepdim else (values.squeeze(dim), indices.squeeze(dim))))


def _nan_count(input: Tensor, dim: int) -> Tensor | None:
    return _ops.isnan(input).sum(dim, keepdim=True) if input.dtype.is_floating_point else None


def _shared(input: Tensor, found: Tensor) -> Tensor:
    """The found element, with a gradient that all elements equal to it share."""
    equal = _ops.logical_or(input == found, _ops.logical_and(_ops.isnan(input), _ops.isnan(found)))
    change = _ops.where(equal, input - _ops.detach(input), 0).sum() / equal.sum()
    return _ops.detach(found) + _ops.where(_ops.isnan(change), 0, change)


def _middle(name: str, skip_nan: bool) -> None:
    pair = _pairs[name]

    def function(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
        need_tensor(input, name)
        if dim is None:
            if input.numel() == 0:
                return _core.full((), math.nan, input.dtype)
            found = function(ravel(input), 0).values
            return _shared(input, found) if found.requires_grad else found
        dim = wrap_dim(dim, input.dim())
        if input.dim() == 0:
            return pair(input, _core.full((), 0, int64))
        n = input.shape[dim]
        if n == 0:
            raise RangeError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
        order, nans = _ops.argsort(input, dim, False), _nan_count(input, dim)
        if nans is None:
            shape = list(input.shape)
            shape[dim] = 1
            place = _core.full(tuple(shape), (n - 1) // 2, int64)
        elif skip_nan:
            place = _ops.clamp((n - 1 - nans) // 2, 0, None)
        else:
            place = _ops.where(nans > 0, n - nans, (n - 1) // 2)
        return pair(*_at(input, order, place, dim, keepdim))
    function.__name__ = name
    function.__doc__ = ("The lower median of all elements, or (values, indices) along dim; NaN "
                        + ("is passed over." if skip_nan else "wins."))
    method(function, inplace=False)


_middle("median", False)
_middle("nanmedian", True)


@_order
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The commonest value along dim (the smallest of several) and the last index that has it."""
    need_tensor(input, "mode")
    dim = wrap_dim(dim, input.dim())
    if input.dim() == 0:
        return _pairs["mode"](input, _core.full((), 0, int64))
    values, order = _ops.sort(input, dim, False)
    n = input.shape[dim]
    place = _places(values, dim)
    start = _ops.cummax(_ops.where(_is_new(values, dim), place, 0), dim)[0]
    longest = _ops.argmax(place - start, (dim,), True)
    return _pairs["mode"](*_at(input, order, longest, dim, keepdim)) if n else _pairs["mode"](values, order)


def _places(input: Tensor, dim: int) -> Tensor:
    """0, 1, 2 … along dim, in the shape of the input."""
    count = _ops.arange(0, 1, input.shape[dim], int64)
    return broadcast_to(count.reshape((-1,) + (1,) * (input.dim() - dim - 1)), tuple(input.shape))


def _is_new(values: Tensor, dim: int) -> Tensor:
    """Where an element differs from the one before it along dim; the first one does."""
    n = values.shape[dim]
    if n == 0:
        return values != values
    later, earlier = narrow(values, dim, 1, n - 1), narrow(values, dim, 0, n - 1)
    first = list(values.shape)
    first[dim] = 1
    return _ops.concat([_core.full(tuple(first), True, bool_), later != earlier], dim)


# ---- quantiles ----


def _quantile(name: str, skip_nan: bool) -> None:
    def function(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *,
                 interpolation: str = "linear") -> Tensor:
        need_tensor(input, name)
        if input.dtype not in (float32, float64):
            raise InvalidError(f"{name}() input tensor must be either float or double dtype")
        if interpolation not in ("linear", "lower", "higher", "nearest", "midpoint"):
            raise InvalidError(f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
                               f"but got {interpolation}")
        if isinstance(q, Tensor):
            if q.dtype is not input.dtype:
                raise InvalidError(f"{name}() q tensor must be same dtype as the input tensor")
            if q.dim() > 1:
                raise InvalidError(f"{name}() q must be a scalar or 1D tensor")
        elif not 0 <= q <= 1:
            raise InvalidError(f"{name}() q must be in the range [0, 1] but got {q}")
        if input.numel() == 0:
            raise InvalidError(f"{name}() input tensor must be non-empty")
        rank, many = input.dim(), isinstance(q, Tensor) and q.dim() == 1
        x = ravel(input) if dim is None or rank == 0 else input.movedim(wrap_dim(dim, rank), -1)
        out = _picked(x, q.reshape(-1) if isinstance(q, Tensor) else _core.full((1,), q, input.dtype),
                      interpolation, skip_nan)
        if keepdim:
            shape = list(input.shape)
            for d in range(rank) if dim is None or rank == 0 else [wrap_dim(dim, rank)]:
                shape[d] = 1
            out = out.movedim(-1, 0).reshape((out.shape[-1], *shape))
        else:
            out = out.movedim(-1, 0)
        return out if many else out.squeeze(0)
    function.__name__ = name
    function.__doc__ = ("The q-quantiles of all elements, or along dim; several q give a first dim. NaN "
                        + ("is passed over." if skip_nan else "wins."))
    method(function, inplace=False)


def _picked(x: Tensor, q: Tensor, interpolation: str, skip_nan: bool) -> Tensor:
    """Quantiles along the last dim, which becomes one of q."""
    n = x.shape[-1]
    values, nans = _ops.sort(x, -1, False)[0], _nan_count(x, x.dim() - 1)
    if skip_nan:
        rank = q * _ops.clamp((n - 1 - nans).to(x.dtype), 0, None)
    else:
        rank = _ops.where(nans > 0, n - 1.0, q * (n - 1.0))
    if interpolation == "nearest":
        return _ops.gather(values, _ops.round(rank).to(int64), -1)
    low, high = _ops.floor(rank), _ops.ceil(rank)
    if interpolation == "lower":
        return _ops.gather(values, low.to(int64), -1)
    if interpolation == "higher":
        return _ops.gather(values, high.to(int64), -1)
    share = rank - low if interpolation == "linear" else _core.full((), 0.5, x.dtype)
    return _ops.lerp(_ops.gather(values, low.to(int64), -1), _ops.gather(values, high.to(int64), -1), share)


_quantile("quantile", False)
_quantile("nanquantile", True)


# ---- searching ----

COUNTED = 32  # sequences up to this length are searched by comparing with all of it


def searchsorted(sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False,
                 side: str | None = None, sorter: Tensor | None = None) -> Tensor:
    """Where input would have to be put into the sequence (sorted along its last dim) so that it stays sorted: before
    equal elements, or behind them with right (side "right")."""
    if side is not None:
        if side not in ("left", "right"):
            raise InvalidError(f"searchsorted(): side can only be 'left' or 'right' but got {side}")
        if right and side == "left":
            raise InvalidError("searchsorted(): side and right can't be set to opposites, got side of left while right "
                               "was True")
        right = side == "right"
    if sorter is not None:
        sorted_sequence = _ops.gather(sorted_sequence, sorter, -1)
    if not isinstance(input, Tensor):
        input = _core.tensor(input)
    if sorted_sequence.dim() == 0:
        raise InvalidError("searchsorted(): boundaries tensor should have positive dimension")
    if sorted_sequence.dim() != 1 and tuple(sorted_sequence.shape[:-1]) != tuple(input.shape[:-1]):
        raise InvalidError("searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of "
                           f"boundaries tensor and input value tensor must match, but we got boundaries tensor "
                           f"{list(sorted_sequence.shape)} and input value tensor {list(input.shape)}")
    sequence, wanted = sorted_sequence.detach(), input.detach()
    found = (_count_before if sequence.shape[-1] <= COUNTED else _bisect)(sequence, wanted, right)
    return found.to(int32) if out_int32 else found


def _stops(element: Tensor, wanted: Tensor, right: bool) -> Tensor:
    return element > wanted if right else element >= wanted


def _count_before(sequence: Tensor, wanted: Tensor, right: bool) -> Tensor:
    elements = sequence if sequence.dim() == 1 else sequence.unsqueeze(-2)
    return _ops.sum(_ops.logical_not(_stops(elements, wanted.unsqueeze(-1), right)), (-1,))


def _bisect(sequence: Tensor, wanted: Tensor, right: bool) -> Tensor:
    n = sequence.shape[-1]
    low = _core.full(tuple(wanted.shape), 0, int64)
    high = _core.full(tuple(wanted.shape), n, int64)
    for _ in range(n.bit_length()):
        middle = (low + high) // 2
        place = _ops.clamp(middle, None, n - 1)
        element = _ops.take(sequence, place, 0) if sequence.dim() == 1 else _ops.gather(sequence, place, -1)
        stop = _ops.logical_or(_stops(element, wanted, right), low >= high)
        low, high = _ops.where(stop, low, middle + 1), _ops.where(stop, middle, high)
    return low


def bucketize(input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    """The number of the interval between sorted boundaries in which each element lies."""
    if boundaries.dim() != 1:
        raise InvalidError(f"bucketize(): boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


FUNCTIONS.update(searchsorted=searchsorted, bucketize=bucketize)
