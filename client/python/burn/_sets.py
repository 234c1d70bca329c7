# SPDX-License-Identifier: Apache-2.0
"""Functions whose results have a size that the elements decide, and counts; also as methods of Tensor.

Where a size is not known beforehand it is read from the daemon: these functions wait."""
from __future__ import annotations

from typing import Any

from . import _core, _ops
from ._core import ArgumentError, InvalidError
from ._dtype import bool_, float32, float64, int64
from ._pointwise import FUNCTIONS, method, need_tensor
from ._shape import broadcast_tensors, narrow, ravel, wrap_dim
from ._sort import COUNTED, _is_new, searchsorted
from ._tensor import Tensor
from .return_types import named

_histogram = named("histogram", "hist", "bin_edges")


def _set(function: Any) -> Any:
    return method(function, inplace=False)


def places(mask: Tensor) -> Tensor:
    """The row-major numbers of the true elements, in order."""
    flat = ravel(mask if mask.dtype is bool_ else mask != 0)
    n = flat.shape[0]
    if n == 0:
        return _ops.arange(0, 1, 0, int64)
    counted = _ops.cumsum(flat, 0, None)
    count = int(narrow(counted, 0, n - 1, 1).item())
    into = _ops.where(flat, counted - 1, count)  # what is false is written behind the end
    found = _ops.scatter(_core.full((count + 1,), 0, int64), into, _ops.arange(0, 1, n, int64), 0)
    return narrow(found, 0, 0, count)


def positions(mask: Tensor) -> list[Tensor]:
    """The index of each true element in every dim."""
    rest, found = places(mask), []
    for n in reversed(tuple(mask.shape)[1:]):
        found.append(_ops.remainder(rest, max(n, 1)))
        rest = _ops.floor_divide(rest, max(n, 1))
    return [rest, *reversed(found)]


@_set
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero: one row each, or a tensor a dim with as_tuple."""
    need_tensor(input, "nonzero")
    if as_tuple:
        return tuple(positions(input.reshape(1) if input.dim() == 0 else input))
    if input.dim() == 0:
        return _core.full((len(places(input)), 0), 0, int64)
    return _ops.stack(positions(input), 1)


@_set
def argwhere(input: Tensor) -> Tensor:
    """The indices of the elements that are not zero, one row each."""
    return nonzero(input)


@_set
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask is true, in order, as a vector."""
    if mask.dtype is not bool_:
        raise InvalidError("masked_select: expected BoolTensor for mask")
    input, mask = broadcast_tensors(input, mask)
    return _ops.take(ravel(input), places(mask), 0)


@method
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """input with the elements where the mask is true replaced by those of source, in order."""
    if mask.dtype is not bool_:
        raise InvalidError(f"masked_scatter_ only supports boolean masks, but got mask with dtype {mask.dtype}")
    if source.dtype is not input.dtype:
        raise InvalidError("masked_scatter: expected self and source to have same dtypes but got "
                           f"{input.dtype} and {source.dtype}")
    input, mask = broadcast_tensors(input, mask)
    if input.numel() == 0:
        return input.clone()
    order = _ops.cumsum(ravel(mask), 0, None) - 1
    taken = _ops.take(ravel(source), _ops.where(ravel(mask), order, 0), 0)
    return _ops.where(mask, taken.reshape(tuple(input.shape)), input)


# ---- unique ----


def _runs(values: Tensor, new: Tensor, inverse_of: Any, shape: tuple[int, ...], want: tuple[bool, bool]) -> Any:
    """Of rows where `new` starts each run: the first ones, the number of each row's run, the lengths of runs."""
    first = places(new)
    result: list[Tensor] = [_ops.take(values, first, 0)]
    if want[0]:
        number = _ops.cumsum(new, 0, None) - 1
        result.append(inverse_of(number).reshape(shape))
    if want[1]:
        n = _core.full((1,), new.shape[0], int64)
        ends = _ops.concat([narrow(first, 0, 1, max(first.shape[0] - 1, 0)), n], 0) if first.shape[0] else first
        result.append(ends - first)
    return result[0] if len(result) == 1 else tuple(result)


def _rows(input: Tensor, dim: int) -> tuple[Tensor, tuple[int, ...]]:
    """Slices along dim as rows, and the shape of one."""
    moved = input.movedim(dim, 0)
    return moved.reshape((moved.shape[0], -1) if moved.numel() else (moved.shape[0], 0)), tuple(moved.shape[1:])


def _new_rows(rows: Tensor) -> Tensor:
    new = _is_new(rows, 0)
    return _ops.any(new, (1,), False) if rows.shape[1] else _ops.arange(0, 1, rows.shape[0], int64) == 0


def _shaped(result: Any, shape: tuple[int, ...], dim: int) -> Any:
    parts = result if isinstance(result, tuple) else (result,)
    values = parts[0].reshape((parts[0].shape[0], *shape)).movedim(0, dim)
    return (values, *parts[1:]) if isinstance(result, tuple) else values


@_set
def unique(input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any:
    """The different elements (or slices along dim) in ascending order; then the number of each element's value among
    them, and how often each occurs."""
    need_tensor(input, "unique")
    want, input = (return_inverse, return_counts), input.detach()
    if dim is None:
        values, order = _ops.sort(ravel(input), 0, False)
        new, shape = _is_new(values, 0), tuple(input.shape)
    else:
        dim = wrap_dim(dim, input.dim())
        rows, slice_shape = _rows(input, dim)
        order = _ops.arange(0, 1, rows.shape[0], int64)
        for column in reversed(range(rows.shape[1])):
            key = _ops.take(rows[:, column], order, 0)
            order = _ops.take(order, _ops.argsort(key, 0, False), 0)
        values = _ops.take(rows, order, 0)
        new, shape = _new_rows(values), (rows.shape[0],)

    def back(number: Tensor) -> Tensor:
        return _ops.scatter(_core.full(tuple(number.shape), 0, int64), order, number, 0)
    result = _runs(values, new, back, shape, want)
    return result if dim is None else _shaped(result, slice_shape, dim)


@_set
def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False,
                       dim: int | None = None) -> Any:
    """The first of each run of equal elements (or slices along dim); then each element's run, and its length."""
    need_tensor(input, "unique_consecutive")
    want, input = (return_inverse, return_counts), input.detach()
    if dim is None:
        flat = ravel(input)
        return _runs(flat, _is_new(flat, 0), lambda number: number, tuple(input.shape), want)
    dim = wrap_dim(dim, input.dim())
    rows, slice_shape = _rows(input, dim)
    return _shaped(_runs(rows, _new_rows(rows), lambda number: number, (rows.shape[0],), want), slice_shape, dim)


def isin(elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is one of the test elements."""
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise ArgumentError("isin(): at least one argument must be a Tensor")
    elements = elements if isinstance(elements, Tensor) else _core.tensor(elements)
    tests = ravel(test_elements) if isinstance(test_elements, Tensor) else _core.tensor(test_elements).reshape(1)
    if tests.shape[0] <= COUNTED:
        found = _ops.any(elements.unsqueeze(-1) == tests, (-1,), False)
    else:
        ordered = _ops.sort(tests, 0, False)[0]
        at = _ops.clamp(searchsorted(ordered, elements), None, tests.shape[0] - 1)
        found = _ops.take(ordered, at, 0) == elements
    return _ops.logical_not(found) if invert else found


FUNCTIONS["isin"] = isin

# ---- counts ----


@_set
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, 2 … occurs, or the sum of the weights of its elements."""
    need_tensor(input, "bincount")
    if input.dim() != 1 or input.dtype.is_floating_point or input.dtype is bool_:
        raise InvalidError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise InvalidError("minlength should be >= 0")
    if weights is not None and tuple(weights.shape) != tuple(input.shape):
        raise InvalidError("weights should be 1-d and have the same length as input")
    dtype = int64 if weights is None else float32 if weights.dtype is float32 else float64
    if input.shape[0] == 0:
        return _core.full((minlength,), 0, dtype)
    low, high = _ops.stack([_ops.min(input, (), False), _ops.max(input, (), False)], 0).tolist()
    if low < 0:
        raise InvalidError("bincount only supports 1-d non-negative integral inputs.")
    add = _core.full(tuple(input.shape), 1, int64) if weights is None else weights.to(dtype)
    return _ops.scatter_add(_core.full((max(high + 1, minlength),), 0, dtype), input.to(int64), add, 0)


def _limits(input: Tensor, low: float, high: float) -> tuple[float, float]:
    """The range of a histogram; that of the elements if it is empty."""
    if low == high and input.numel():
        low, high = _ops.stack([_ops.min(input, (), False), _ops.max(input, (), False)], 0).tolist()
    if not (low - low == 0 and high - high == 0):
        raise InvalidError(f"range of [{low}, {high}] is not finite")
    if low > high:
        raise InvalidError("max must be larger than min")
    return (low - 1, high + 1) if low == high else (low, high)


def _counted(flat: Tensor, edges: Tensor, add: Tensor) -> Tensor:
    """Sums of what is added for elements between neighbouring edges; the last edge belongs to the last bin."""
    bins = edges.shape[0] - 1
    number = searchsorted(edges, flat, right=True) - 1
    number = _ops.where(flat == edges[-1], bins - 1, number)
    outside = _ops.logical_or(number < 0, number >= bins)
    number = _ops.where(_ops.logical_or(outside, flat != flat), bins, number)
    return narrow(_ops.scatter_add(_core.full((bins + 1,), 0, add.dtype), number, add, 0), 0, 0, bins)


@_set
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """How many elements lie in each of equal bins between min and max (both 0: those of the elements)."""
    need_tensor(input, "histc")
    if bins < 1:
        raise InvalidError("bins must be > 0")
    flat = ravel(input.detach())
    low, high = _limits(flat, min, max)
    edges = _ops.linspace(low, high, bins + 1, input.dtype if input.dtype.is_floating_point else float32)
    return _counted(flat, edges, _core.full(tuple(flat.shape), 1, input.dtype))


@_set
def histogram(input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None,
              density: bool = False) -> Any:
    """(hist, bin_edges): counts, or sums of weights, of elements in bins, equal ones or between given edges."""
    need_tensor(input, "histogram")
    flat = ravel(input.detach())
    if isinstance(bins, Tensor):
        edges = bins
    else:
        low, high = _limits(flat, *(range or (0.0, 0.0)))
        edges = _ops.linspace(low, high, int(bins) + 1, input.dtype)
    add = _core.full(tuple(flat.shape), 1, input.dtype) if weight is None else ravel(weight)
    hist = _counted(flat, edges, add)
    if density:
        hist = hist / (hist.sum() * (edges[1:] - edges[:-1]))
    return _histogram(hist, edges)
