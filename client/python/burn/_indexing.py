# SPDX-License-Identifier: Apache-2.0
"""Indices that hold tensors, lists, arrays or bools, with PyTorch's rules.

The extension handles ints, slices, None and Ellipsis; what comes here is split into a basic index (a view)
and index tensors for some dims of that view."""
from __future__ import annotations

from typing import Any

from . import _core, _ops
from ._core import ArgumentError, InvalidError, RangeError
from ._dtype import bool_, int8, int16, int64, uint8
from ._tensor import Tensor, assign


def _is_array(item: Any) -> bool:
    return hasattr(item, "__array_interface__") or hasattr(item, "__array__")


def _as_index(item: Any) -> Any:
    """A tensor for lists, arrays and bools; other items unchanged."""
    if isinstance(item, Tensor) or item is None or item is Ellipsis or isinstance(item, slice):
        return item
    if isinstance(item, bool):
        return _core.tensor(item)
    if isinstance(item, range):
        item = list(item)
    if isinstance(item, (list, tuple)):
        if any(isinstance(part, (slice, type(Ellipsis))) or part is None for part in item):
            raise ArgumentError("a sequence inside an index holds integers or bools only")
        item = [part.item() if isinstance(part, Tensor) and part.dim() == 0 else part for part in item]
        made = _core.tensor(item) if item else _core.tensor([], int64)
        return made
    if _is_array(item) and getattr(item, "ndim", 0) > 0:
        return _core.tensor(item)
    if hasattr(item, "__index__"):
        return item.__index__()
    if _is_array(item):
        return _core.tensor(item)
    if isinstance(item, str):
        raise ArgumentError("a tensor has no names: an index is an int, a slice, `...`, None, a list or a tensor, not a str")
    raise RangeError("only integers, slices (`:`), ellipsis (`...`), None and long or bool Tensors are valid "
                     f"indices (got {type(item).__name__})")


def _check_dtype(index: Tensor) -> None:
    if index.dtype.is_floating_point or index.dtype in (int8, int16):
        raise RangeError(f"tensors used as indices must be long, int, byte or bool tensors, not {index.dtype}")


def _items(index: Any) -> list[Any]:
    """The parts of an index. A list that holds sequences, tensors, slices or the like counts as a tuple, as in PyTorch."""
    many = isinstance(index, tuple) or isinstance(index, list) and any(
        isinstance(part, (list, tuple, slice, Tensor, type(Ellipsis))) or part is None for part in index)
    return [_as_index(item) for item in (index if many else (index,))]


def split(x: Tensor, index: Any) -> tuple[Tensor, list[tuple[int, Tensor]]]:
    """The view that the basic parts give, and (dim of that view, index tensor) pairs in order."""
    from ._sets import positions
    items = _items(index)
    taken = 0
    for item in items:
        if isinstance(item, Tensor):
            _check_dtype(item)
            taken += item.dim() if item.dtype in (bool_, uint8) else 1
        elif item is not None and item is not Ellipsis:
            taken += 1
    if taken > x.dim():
        raise RangeError(f"too many indices for tensor of dimension {x.dim()}")
    if Ellipsis in [item for item in items if not isinstance(item, Tensor)]:
        at = next(i for i, item in enumerate(items) if item is Ellipsis)
        items[at:at + 1] = [slice(None)] * (x.dim() - taken)
    basic: list[Any] = []
    indices: list[tuple[int, Tensor]] = []
    dim, source = 0, 0
    for item in items:
        if isinstance(item, Tensor) and item.dtype in (bool_, uint8):
            rank = item.dim()
            want = tuple(x.shape[source:source + rank])
            for axis, (have, size) in enumerate(zip(item.shape, want)):
                if have != size:
                    raise RangeError(f"the shape of the mask {list(item.shape)} at index {axis} does not match the "
                                     f"shape of the indexed tensor {list(x.shape)} at index {source + axis}")
            if rank == 0:
                basic.append(None)
                indices.append((dim, _core.tensor([0] if bool(item) else [], int64)))
                dim += 1
                continue
            for places in positions(item):
                basic.append(slice(None))
                indices.append((dim, places))
                dim, source = dim + 1, source + 1
        elif isinstance(item, Tensor):
            basic.append(slice(None))
            indices.append((dim, item))
            dim, source = dim + 1, source + 1
        else:
            basic.append(item)
            dim += item is None or isinstance(item, slice)
            source += item is not None
    return x[tuple(basic)], indices


def _arranged(view: Tensor, indices: list[tuple[int, Tensor]]) -> tuple[Tensor, list[Tensor], int, list[int] | None]:
    """The view with the indexed dims side by side, index tensors of one shape, their first dim, and the
    permutation that was applied (None if the dims were adjacent)."""
    tensors = [tensor for _, tensor in indices]
    shape: tuple[int, ...] = ()
    for tensor in tensors:
        try:
            shape = _broadcast(shape, tuple(tensor.shape))
        except ValueError:
            raise RangeError("shape mismatch: indexing tensors could not be broadcast together with shapes "
                             + ", ".join(str(list(t.shape)) for t in tensors)) from None
    tensors = [tensor if tuple(tensor.shape) == shape else tensor.expand(shape) for tensor in tensors]
    dims = [dim for dim, _ in indices]
    if dims == list(range(dims[0], dims[0] + len(dims))):
        return view, tensors, dims[0], None
    order = dims + [dim for dim in range(view.dim()) if dim not in dims]
    return view.permute(order), tensors, 0, order


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    out = []
    for i in range(max(len(a), len(b))):
        m = a[len(a) - 1 - i] if i < len(a) else 1
        n = b[len(b) - 1 - i] if i < len(b) else 1
        if m != n and m != 1 and n != 1:
            raise InvalidError
        out.append(n if m == 1 else m)
    return tuple(reversed(out))


def getitem(x: Tensor, index: Any) -> Tensor:
    view, indices = split(x, index)
    if not indices:
        return view
    view, tensors, first, _ = _arranged(view, indices)
    return _ops.take_nd(view, tensors, first)


def _write(view: Tensor, indices: list[tuple[int, Tensor]], value: Any, accumulate: bool) -> None:
    arranged, tensors, first, order = _arranged(view, indices)
    if not isinstance(value, Tensor):
        value = _core.tensor(value, view.dtype)
    elif value.dtype is not view.dtype and all(index.dim() == 0 for _, index in indices):
        value = value.to(view.dtype)
    elif value.dtype is not view.dtype:
        raise InvalidError(f"Index put requires the source and destination dtypes match, got {view.dtype} for the "
                           f"destination and {value.dtype} for the source.")
    new = _ops.put_nd(arranged, value, tensors, first, accumulate)
    if order is not None:
        back = sorted(range(len(order)), key=order.__getitem__)
        new = new.permute(back)
    assign(view, new, cast=True)


def setitem(x: Tensor, index: Any, value: Any) -> None:
    only = index[0] if isinstance(index, tuple) and len(index) == 1 else index
    if isinstance(only, Tensor) and only.dtype in (bool_, uint8) and only.dim() <= x.dim() and only.dim() > 0 \
            and tuple(only.shape) == tuple(x.shape[:only.dim()]):
        scalar = not isinstance(value, Tensor) or value.dim() == 0
        if scalar and not _is_array(value):
            mask = only if only.dtype is bool_ else only != 0
            mask = mask.reshape(tuple(mask.shape) + (1,) * (x.dim() - mask.dim()))
            value = value.to(x.dtype) if isinstance(value, Tensor) else _core.full((), value, x.dtype)
            assign(x, _ops.where(mask, value, x), cast=True)
            return
    if isinstance(value, (list, tuple, str)):
        raise ArgumentError(f"can't assign a {type(value).__name__} to a tensor; make one of it by burn.tensor()")
    view, indices = split(x, index)
    if not indices:
        assign(view, value if isinstance(value, (Tensor, bool, int, float)) else _core.tensor(value), cast=True)
        return
    _write(view, indices, value, False)


def index_put(x: Tensor, indices: Any, values: Any, accumulate: bool) -> None:
    """x[indices] = values, or += with accumulate; duplicates add up then."""
    view, pairs = split(x, tuple(indices))
    _write(view, pairs, values, accumulate)
