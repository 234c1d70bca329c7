# SPDX-License-Identifier: Apache-2.0
"""Writing and reading at computed places, with reductions, also as methods of Tensor."""
from __future__ import annotations

import math
from typing import Any

from . import _core, _ops
from ._core import InvalidError, RangeError
from ._dtype import bool_, int64
from ._pointwise import FUNCTIONS, method, need_tensor
from ._shape import _cut, expand, ravel, reshape, wrap_dim
from ._tensor import Tensor, assign

_REDUCTIONS = {"sum": _ops.scatter_add, "prod": _ops.scatter_prod, "amax": _ops.scatter_max, "amin": _ops.scatter_min,
               "mean": _ops.scatter_add}


def _lowest(dtype: Any) -> Any:
    """What a maximum over nothing is."""
    if dtype is bool_:
        return False
    if dtype.is_floating_point:
        return -math.inf
    return -(2 ** (8 * dtype.itemsize - 1)) if dtype.is_signed else 0


def _highest(dtype: Any) -> Any:
    if dtype is bool_:
        return True
    if dtype.is_floating_point:
        return math.inf
    return 2 ** (8 * dtype.itemsize - dtype.is_signed) - 1


def _nothing(reduce: str, dtype: Any) -> Any:
    return {"sum": 0, "mean": 0, "prod": 1}.get(reduce, _lowest(dtype) if reduce == "amax" else _highest(dtype))


def _reduced(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool) -> Tensor:
    if reduce not in _REDUCTIONS:
        raise InvalidError(f"reduce argument must be one of sum, prod, mean, amax, amin; got {reduce!r}")
    if src.dtype is not input.dtype:
        raise InvalidError(f"scatter(): Expected self.dtype to be equal to src.dtype, got {input.dtype} and {src.dtype}")
    scalar = input.dim() == 0
    if scalar:
        input, index, src = input.reshape(1), index.reshape(-1), src.reshape(-1)
    base = input
    if not include_self:
        base = _ops.scatter(input, index, _core.full(tuple(index.shape), _nothing(reduce, input.dtype), input.dtype), dim)
    out = _REDUCTIONS[reduce](base, index, src, dim)
    if reduce == "mean":
        ones = _core.full(tuple(index.shape), 1, input.dtype)
        counts = _ops.scatter_add(_core.full(tuple(input.shape), int(include_self), input.dtype), index, ones, dim)
        counts = _ops.clamp(counts, 1, None)
        out = out / counts if input.dtype.is_floating_point else _ops.floor_divide(out, counts)
    return out.reshape(()) if scalar else out


@method
def scatter_reduce(input: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *,
                   include_self: bool = True) -> Tensor:
    """input with src reduced into the places that index names along dim ("sum", "prod", "mean", "amax", "amin"); without
    include_self what stood at these places does not count."""
    need_tensor(input, "scatter_reduce")
    return _reduced(input, dim, index, _cut(src, index), reduce, include_self)


def _spread(input: Tensor, dim: int, index: Tensor, what: str) -> tuple[int, Tensor]:
    """The dim, and a 1-D index as gather and scatter take it, but not yet expanded."""
    dim = wrap_dim(dim, input.dim())
    if index.dim() > 1:
        raise RangeError(f"{what}(): Index should have dimension 1 or 0 (got {index.dim()})")
    if index.dtype.is_floating_point or index.dtype is bool_:
        raise InvalidError(f"{what}(): Expected dtype int64 for index")
    rest = max(input.dim() - dim - 1, 0)
    return dim, reshape(index.to(int64), (1,) * dim + (index.numel(),) + (1,) * rest)


def _along(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The index expanded over the other dims of the input; negative ones count from the end."""
    shape = list(input.shape)
    n = shape[dim]
    shape[dim] = index.shape[dim]
    return expand(_ops.where(index < 0, index + n, index), tuple(shape))


@method
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """input with the slices of source put at the places of dim that a 1-D index names."""
    if source.dtype is not input.dtype:
        raise InvalidError(f"index_copy_(): self and source expected to have the same dtype, but got (self) "
                           f"{input.dtype} and (source) {source.dtype}")
    if input.dim() == 0:
        return index_copy(input.reshape(1), 0, index, source.reshape(1)).reshape(())
    dim, spread = _spread(input, dim, index, "index_copy_")
    return _ops.scatter(input, _along(input, dim, spread), source, dim)


@method
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """input with a number at the places of dim that a 1-D index names."""
    if input.dim() == 0:
        return index_fill(input.reshape(1), 0, index, value).reshape(())
    dim, spread = _spread(input, dim, index, "index_fill_")
    index = _along(input, dim, spread)
    if isinstance(value, Tensor):
        if value.dim() != 0:
            raise InvalidError("index_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                               f"{value.dim()} dimension(s).")
        fill = expand(value.to(input.dtype), tuple(index.shape))
    else:
        fill = _core.full(tuple(index.shape), value, input.dtype)
    return _ops.scatter(input, index, fill, dim)


@method
def index_reduce(input: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *,
                 include_self: bool = True) -> Tensor:
    """input with the slices of source reduced ("prod", "mean", "amax", "amin") into the places that index names."""
    dim, spread = _spread(input, dim, index, "index_reduce_")
    return _reduced(input, dim, _along(input, dim, spread), source, reduce, include_self)


def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements at row-major numbers, in the shape of the index; negative ones count from the end."""
    if index.dtype is not int64:
        raise InvalidError(f"take(): Expected a long tensor for index, but got {index.dtype}")
    return _ops.take(ravel(input), index, 0, True)


FUNCTIONS["take"] = Tensor.take = take


@method
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """input with the elements of source written (or added) at row-major numbers."""
    if source.numel() != index.numel():
        raise InvalidError(f"put_(): Expected source and index to have the same number of elements, but got "
                           f"source.numel() = {source.numel()}, index.numel() = {index.numel()}")
    flat, places = ravel(input), ravel(index)
    places = _ops.where(places < 0, places + input.numel(), places)
    write = _ops.scatter_add if accumulate else _ops.scatter
    return reshape(write(flat, places, ravel(source), 0), tuple(input.shape))


# ---- one part of a tensor replaced ----


def _with(input: Tensor, view: Any, src: Tensor) -> Tensor:
    """A copy of the input whose view is src."""
    made = _ops.clone(input)
    part = view(made)
    if tuple(part.shape) != tuple(src.shape):
        raise InvalidError(f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, "
                           f"slice size = {list(part.shape)}")
    assign(part, src, cast=True)
    return made


def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of the input with src at one place of dim."""
    return _with(input, lambda x: x.select(dim, index), src)


def slice_scatter(input: Tensor, src: Tensor, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Tensor:
    """A copy of the input with src in the place of a slice of dim."""
    place = (slice(None),) * wrap_dim(dim, input.dim()) + (slice(start, end, step),)
    return _with(input, lambda x: x[place], src)


for _function in (select_scatter, slice_scatter):
    FUNCTIONS[_function.__name__] = _function
    setattr(Tensor, _function.__name__, _function)
