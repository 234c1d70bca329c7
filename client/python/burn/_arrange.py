# SPDX-License-Identifier: Apache-2.0
"""Rows and grids made of vectors, diagonals, blocks, rotations and cuts, also as methods of Tensor."""
from __future__ import annotations

import math
from typing import Any, Sequence

from . import _core, _ops
from ._core import ArgumentError, InvalidError
from ._creation import arange, as_shape, check_device
from ._dtype import as_dtype, float64, get_default_dtype, int64
from ._pointwise import FUNCTIONS, method, need_tensor
from ._shape import (broadcast_shapes, cat, expand, flip, narrow, ravel, reshape, stack, tensor_split,
                     transpose, wrap_dim)
from ._tensor import Tensor, assign


def _view(function: Any) -> Any:
    return method(function, inplace=False)


def _public(function: Any) -> Any:
    FUNCTIONS[function.__name__] = function
    return function


# ---- combinations of vectors ----


def _grids(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The vectors along dims of their own."""
    shape = tuple(x.numel() for x in tensors)
    return [expand(reshape(x, tuple(n if d == at else 1 for d, n in enumerate(shape))), shape)
            for at, x in enumerate(tensors)]


@_public
def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All tuples of elements of the vectors, one row each, the last one varying fastest."""
    for x in tensors:
        if x.dim() != 1:
            raise InvalidError(f"Expect a 1D vector, but got shape {list(x.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return stack([ravel(x) for x in _grids(tensors)], 1)


@_public
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements of a vector in the order of their places, one row each."""
    if input.dim() != 1:
        raise InvalidError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise InvalidError(f"Expect a non-negative number, but got {r}")
    import itertools
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = list(choose(range(input.shape[0]), r))
    if r == 0 or not places:
        return _core.full((0,) if r == 0 else (0, r), 0, input.dtype)
    return _ops.take(input, _core.tensor([list(place) for place in places], int64), 0)


# ---- diagonals and triangles ----


@_view
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices (in dims dim1 and dim2 of the result) with the last dim as their diagonal, zeros elsewhere."""
    need_tensor(input, "diag_embed")
    rank = input.dim() + 1
    first, second = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    if first == second:
        raise InvalidError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if first > second:
        first, second, offset = second, first, -offset
    n = input.shape[-1] + abs(offset)
    row, column = _ops.arange(0, 1, n, int64).unsqueeze(1), _ops.arange(0, 1, n, int64)
    wide = _ops.pad(input, _core.full((), 0, input.dtype), (0,) * (rank - 2) + (max(-offset, 0),),
                    (0,) * (rank - 2) + (max(offset, 0),))
    made = _ops.where(column - row == offset, wide.unsqueeze(-1), _core.full((), 0, input.dtype))
    return made.movedim((-2, -1), (first, second))


@_view
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements as its diagonal, zeros elsewhere."""
    return diag_embed(ravel(input), offset)


@_view
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of the input with src as a diagonal."""
    n = FUNCTIONS["diagonal"](input, offset, dim1, dim2).shape
    if tuple(n) != tuple(src.shape):
        raise InvalidError(f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, "
                           f"slice size = {list(n)}")
    moved = input.movedim((dim1, dim2), (-2, -1))
    rows, columns = moved.shape[-2:]
    row, column = _ops.arange(0, 1, rows, int64).unsqueeze(1), _ops.arange(0, 1, columns, int64)
    at = _ops.clamp(row - max(-offset, 0), 0, max(src.shape[-1] - 1, 0))
    spread = _ops.take(src, reshape(at, (rows,)), src.dim() - 1).unsqueeze(-1)
    return _ops.where(column - row == offset, spread, moved).movedim((-2, -1), (dim1, dim2))


def _indices(row: int, col: int, offset: int, dtype: Any, device: Any, lower: bool) -> Tensor:
    check_device(device)
    row, col = as_shape((row, col), "tril_indices" if lower else "triu_indices")
    places = [(i, j) for i in range(row) for j in range(col) if (j - i <= offset if lower else j - i >= offset)]
    if not places:
        return _core.full((2, 0), 0, as_dtype(dtype) or int64)
    return _core.tensor([list(part) for part in zip(*places)], int64).to(as_dtype(dtype) or int64)


@_public
def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """Rows and columns of the lower triangle of a matrix, row by row."""
    return _indices(row, col, offset, dtype, device, True)


@_public
def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, layout: Any = None) -> Tensor:
    """Rows and columns of the upper triangle of a matrix, row by row."""
    return _indices(row, col, offset, dtype, device, False)


@_public
def block_diag(*tensors: Tensor) -> Tensor:
    """The matrices along the diagonal of one, zeros elsewhere; vectors are rows."""
    blocks = [reshape(x, (1, x.numel())) if x.dim() < 2 else x for x in tensors]
    for at, x in enumerate(blocks):
        if x.dim() > 2:
            raise InvalidError(f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {at} has "
                               f"{x.dim()} dimensions")
    if not blocks:
        return _core.full((1, 0), 0, get_default_dtype())
    width, before, rows = sum(x.shape[1] for x in blocks), 0, []
    for x in blocks:
        after = width - before - x.shape[1]
        rows.append(_ops.pad(x, _core.full((), 0, x.dtype), (0, before), (0, after)))
        before += x.shape[1]
    return cat(rows, 0)


@_public
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Powers of the elements, one row each: from the highest down, or increasing."""
    if x.dim() != 1:
        raise InvalidError("x must be a one-dimensional tensor.")
    n = x.shape[-1] if N is None else N
    powers = _ops.arange(0, 1, n, int64)
    made = x.unsqueeze(-1) ** powers
    return made if increasing else flip(made, -1)


# ---- turning, cutting ----


@_view
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned k times by 90 degrees, from the first of two dims towards the second."""
    if len(dims) != 2:
        raise InvalidError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.dim() < 2:
        raise InvalidError(f"expected total dims >= 2, but got total dims = {input.dim()}")
    a, b = (wrap_dim(d, input.dim()) for d in dims)
    if a == b:
        raise InvalidError("expected rotation dims to be different")
    if k % 4 == 1:
        return transpose(flip(input, b), a, b)
    if k % 4 == 2:
        return flip(input, a, b)
    return transpose(flip(input, a), a, b) if k % 4 == 3 else input.clone()


def _splits(name: str, dim_of: Any, least: int) -> None:
    def function(input: Tensor, indices_or_sections: Any) -> tuple[Tensor, ...]:
        if input.dim() < least:
            raise InvalidError(f"torch.{name} requires a tensor with at least {least} dimension but got a tensor with "
                               f"{input.dim()} dimensions!")
        dim = dim_of(input)
        if isinstance(indices_or_sections, int) and (indices_or_sections < 1 or input.shape[dim] % indices_or_sections):
            raise InvalidError(f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
                               f"{input.shape[dim]} is not divisible by the split_size {indices_or_sections}!")
        return tensor_split(input, indices_or_sections, dim)
    function.__name__, function.__doc__ = name, "Cut into equal parts, or at the given places."
    method(function, inplace=False)


_splits("hsplit", lambda x: 0 if x.dim() == 1 else 1, 1)
_splits("vsplit", lambda x: 0, 2)
_splits("dsplit", lambda x: 2, 3)


@_view
def narrow_copy(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """narrow, as a tensor of its own."""
    return narrow(input, dim, start, length).clone()


@_view
def split_with_sizes(input: Tensor, split_sizes: Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of given sizes."""
    return FUNCTIONS["split"](input, list(split_sizes), dim)


@_view
def adjoint(input: Tensor) -> Tensor:
    """The last two dims exchanged."""
    return transpose(input, -2, -1)


@_public
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Row-major numbers as one index for each dim of the shape."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    found = []
    for n in reversed(sizes):
        found.append(_ops.remainder(indices, n))
        indices = _ops.floor_divide(indices, n)
    return tuple(reversed(found))


def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """Summed over the dims along which the size would have been broadcast."""
    size = as_shape(size, "sum_to_size")
    if tuple(broadcast_shapes(tuple(self.shape), size)) != tuple(self.shape):
        raise InvalidError(f"size {{{list(size)}}} is not expandable to size {{{list(self.shape)}}}.")
    extra = self.dim() - len(size)
    dims = [d for d in range(self.dim()) if d < extra or (size[d - extra] == 1 and self.shape[d] != 1)]
    return reshape(self.sum(dims), size) if dims else self


def is_same_size(self: Tensor, other: Tensor) -> bool:
    """Whether both have the same shape."""
    return tuple(self.shape) == tuple(other.shape)


def element_size(self: Tensor) -> int:
    """Bytes of an element."""
    return self.dtype.itemsize


def row_stack(tensors: Any) -> Tensor:
    """The same as vstack."""
    return FUNCTIONS["vstack"](tensors)


Tensor.sum_to_size = sum_to_size
Tensor.is_same_size = FUNCTIONS["is_same_size"] = is_same_size
Tensor.element_size = element_size
FUNCTIONS["row_stack"] = row_stack


def scalar_tensor(s: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A 0-d tensor of a number, in the default dtype if none is given."""
    check_device(device)
    made = _core.full((), s, as_dtype(dtype) or get_default_dtype())
    return made.requires_grad_(True) if requires_grad else made


FUNCTIONS["scalar_tensor"] = scalar_tensor


@_public
def empty_strided(size: Any, stride: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
                  **_: Any) -> Tensor:
    """A tensor of unspecified values (zeros); strides only say in which order the dims lie."""
    size, stride = as_shape((size,), "empty_strided"), tuple(stride)
    if len(size) != len(stride):
        raise InvalidError(f"dimensionality of sizes ({len(size)}) must match dimensionality of strides ({len(stride)})")
    check_device(device)
    made = _core.full(size, 0, as_dtype(dtype) or get_default_dtype())
    return made.requires_grad_(True) if requires_grad else made


def _fill_diagonal(self: Tensor, fill_value: Any, wrap: bool = False) -> Tensor:
    """Writes a number where all indices are equal; with wrap the diagonal goes on below a tall matrix."""
    if self.dim() < 2:
        raise InvalidError("dimensions must larger than 1")
    if self.dim() > 2 and len(set(self.shape)) > 1:
        raise InvalidError("all dimensions of input must be of equal length")
    step = sum(math.prod(self.shape[d + 1:]) for d in range(self.dim()))
    count = self.numel() if wrap or self.dim() > 2 else min(self.shape[0], self.shape[1]) * step
    number = _ops.arange(0, 1, self.numel(), int64)
    on = _ops.logical_and(_ops.remainder(number, step) == 0, number < count)
    return assign(self, _ops.masked_fill(self, reshape(on, tuple(self.shape)), fill_value))


Tensor.fill_diagonal_ = _fill_diagonal


def _stride(self: Tensor, dim: int | None = None) -> Any:
    """The strides, in elements, that PyTorch's tensor would have; or that of one dim."""
    return self._strides if dim is None else self._strides[wrap_dim(dim, self.dim())]


Tensor.stride = _stride


@_view
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """The elements of a contiguous tensor at the places that sizes and strides name, as a copy."""
    need_tensor(input, "as_strided")
    size, start = as_shape((tuple(size),), "as_strided"), storage_offset or 0
    if len(size) != len(stride):
        raise InvalidError(f"mismatch in length of strides and shape: {list(stride)} and {list(size)}")
    if not input.is_contiguous():
        raise InvalidError("as_strided takes contiguous tensors; call .contiguous() first")
    if start < 0 or min(stride, default=0) < 0:
        raise InvalidError(f"as_strided: negative strides or offsets are not supported, got {list(stride)} and {start}")
    last = start + sum((n - 1) * step for n, step in zip(size, stride))
    if math.prod(size) and last >= input.numel():
        raise InvalidError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {start} reach element "
                           f"{last}: out of bounds for storage of {input.numel()} elements")
    places = _core.full((), start, int64)
    for n, step in zip(size, stride):
        places = places.unsqueeze(-1) + _ops.arange(0, step, n, int64)
    return _ops.take(ravel(input), places, 0)


def _resized(self: Tensor, *sizes: int) -> Tensor:
    size = as_shape(sizes, "resize")
    flat, count = ravel(self), math.prod(size)
    if count > flat.numel():
        flat = cat([flat, _core.full((count - flat.numel(),), 0, self.dtype)], 0)
    return reshape(narrow(flat, 0, 0, count), size)


def resize_(self: Tensor, *sizes: int) -> Tensor:
    """Gives this tensor another shape: its first elements, and zeros where there are not enough."""
    if self.requires_grad:
        raise InvalidError("cannot resize variables that require grad")
    self.data = _resized(self, *sizes)
    return self


Tensor.resize_ = resize_


def range_(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None, **options: Any) -> Tensor:
    """As arange, but the end is included and floats come out unless a dtype is named."""
    if end is None:
        raise ArgumentError("range() missing 1 required positional arguments: \"end\"")
    if step == 0 or (end - start) * step < 0:
        raise InvalidError(f"range(): upper bound {end} and lower bound {start} are inconsistent with step {step}")
    count = math.floor((end - start) / step) + 1
    return arange(count, dtype=float64, **options).mul(step).add(start).to(as_dtype(dtype) or get_default_dtype())


FUNCTIONS["range"] = range_
