# SPDX-License-Identifier: Apache-2.0
"""Pools over windows of fixed sizes, and adaptive ones over windows that cover the input evenly."""
from __future__ import annotations

import math
from typing import Any, Sequence

from .._core import InvalidError
from .. import _ops
from .._creation import arange
from .._tensor import Tensor
from ._convolution import IntOrInts
from ._windows import at_least, check_rank, each, padding_lists


def _count(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    room = n + 2 * p - d * (k - 1) - 1
    count = (-(-room // s) if ceil_mode else room // s) + 1
    return count - 1 if ceil_mode and (count - 1) * s >= n + p else count


def _windows(places: int, name: str, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
             ceil_mode: bool) -> tuple[list[Any], bool]:
    """Sizes, strides, low, high, dilations and `tiled`, as the ops take them; whether windows reach beyond the padding."""
    check_rank(input, places, name)
    kernel = each(kernel_size, places, "kernel_size")
    strides = kernel if stride is None or stride == () or stride == [] else each(stride, places, "stride")
    pads, dilations = each(padding, places, "padding"), each(dilation, places, "dilation")
    at_least(kernel, 1, "kernel_size")
    at_least(strides, 1, "stride")
    at_least(pads, 0, "padding")
    at_least(dilations, 1, "dilation")
    if any(p > (d * (k - 1) + 1) // 2 for p, k, d in zip(pads, kernel, dilations)):
        raise InvalidError(f"pad should be at most half of effective kernel size, but got pad={pads}, kernel_size={kernel} "
                           f"and dilation={dilations}")
    extents = input.shape[-places:]
    counts = [_count(*parts, ceil_mode) for parts in zip(extents, kernel, strides, pads, dilations)]
    if min(counts) < 1:
        raise InvalidError(f"Given input size: {list(input.shape)}. Calculated output size: {counts}. Output size is too small")
    reach = [(c - 1) * s + d * (k - 1) + 1 - n - p
             for c, s, d, k, n, p in zip(counts, strides, dilations, kernel, extents, pads)]
    high = [max(r, 0) if ceil_mode else p for r, p in zip(reach, pads)]
    low, high = padding_lists(pads, high)
    tiled = not low and kernel == strides and all(d == 1 for d in dilations)
    return [kernel, strides, low, high, dilations, int(tiled)], any(r > p for r, p in zip(reach, pads))


def _max_pool(places: int, name: str, input: Tensor, kernel_size: Any, stride: Any, padding: Any, dilation: Any,
              ceil_mode: bool, return_indices: bool) -> Any:
    windows, _ = _windows(places, name, input, kernel_size, stride, padding, dilation, ceil_mode)
    output = _ops.max_pool(input, *windows)
    return (output, _ops.max_pool_index(input, *windows)) if return_indices else output


def max_pool1d(input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
               dilation: IntOrInts = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The largest element of each window of the last dim; stride None is the window's size. With return_indices also
    its position."""
    return _max_pool(1, "max_pool1d", input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
               dilation: IntOrInts = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """The largest element of each window of the last two dims; with return_indices also its position in their plane."""
    return _max_pool(2, "max_pool2d", input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
               dilation: IntOrInts = 1, ceil_mode: bool = False, return_indices: bool = False) -> Any:
    """As max_pool2d, over the last three dims."""
    return _max_pool(3, "max_pool3d", input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def _avg_pool(places: int, name: str, input: Tensor, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool,
              count_include_pad: bool, divisor_override: int | None) -> Tensor:
    windows, beyond = _windows(places, name, input, kernel_size, stride, padding, 1, ceil_mode)
    if divisor_override is not None:
        if divisor_override == 0:
            raise InvalidError("divisor must be not zero")
        return _ops.avg_pool(input, *windows, 0) * (math.prod(windows[0]) / divisor_override)
    padded = bool(windows[2])
    mode = 0 if not padded or (count_include_pad and not beyond) else 1 if count_include_pad else 2
    return _ops.avg_pool(input, *windows, mode)


def avg_pool1d(input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
               ceil_mode: bool = False, count_include_pad: bool = True) -> Tensor:
    """The mean of each window of the last dim."""
    return _avg_pool(1, "avg_pool1d", input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
               ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """The mean of each window of the last two dims; padding counts as elements unless count_include_pad is False."""
    return _avg_pool(2, "avg_pool2d", input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(input: Tensor, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
               ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> Tensor:
    """As avg_pool2d, over the last three dims."""
    return _avg_pool(3, "avg_pool3d", input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def _lp_pool(places: int, input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:
    mean = _avg_pool(places, f"lp_pool{places}d", input.pow(norm_type), kernel_size, stride, 0, ceil_mode, True, None)
    count = math.prod(each(kernel_size, places, "kernel_size"))
    return (mean.sign() * _ops.relu(mean.abs()) * count).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: IntOrInts, stride: IntOrInts | None = None,
              ceil_mode: bool = False) -> Tensor:
    """The norm of each window of the last dim: (sum of x ** norm_type) ** (1 / norm_type)."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: IntOrInts, stride: IntOrInts | None = None,
              ceil_mode: bool = False) -> Tensor:
    """The norm of each window of the last two dims."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: IntOrInts, stride: IntOrInts | None = None,
              ceil_mode: bool = False) -> Tensor:
    """The norm of each window of the last three dims."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


# ---- adaptive ----

def _output_sizes(places: int, name: str, input: Tensor, output_size: Any) -> list[int]:
    check_rank(input, places, name)
    parts = (output_size,) * places if output_size is None or isinstance(output_size, int) else tuple(output_size)
    if len(parts) == 1:
        parts *= places
    if len(parts) != places:
        raise InvalidError(f"{name}: output_size must have {places} elements, got {parts}")
    extents = input.shape[-places:]
    sizes = [n if part is None else int(part) for n, part in zip(extents, parts)]
    if min(sizes) < 0:
        raise InvalidError(f"{name}: elements of output_size must be greater than or equal to 0, got {sizes}")
    if min(extents) < 1:
        raise InvalidError(f"{name}: expected input to have non-zero size for non-batch dimensions, but got input of "
                           f"size: {list(input.shape)}")
    return sizes


def _is_even(input: Tensor, sizes: Sequence[int]) -> bool:
    return all(size > 0 and n % size == 0 for n, size in zip(input.shape[-len(sizes):], sizes))


def _even_windows(input: Tensor, sizes: Sequence[int]) -> list[Any]:
    kernel = [n // size for n, size in zip(input.shape[-len(sizes):], sizes)]
    return [kernel, kernel, [], [], [1] * len(sizes), 1]


def _bounds(n: int, size: int, device: Any) -> tuple[Tensor, Tensor]:
    """First element, and the one behind the last, of each window."""
    place = arange(size, device=device)
    return place * n // size, ((place + 1) * n + (size - 1)) // size


def _adaptive_avg_pool(places: int, name: str, input: Tensor, output_size: Any) -> Tensor:
    sizes = _output_sizes(places, name, input, output_size)
    if _is_even(input, sizes):
        return _ops.avg_pool(input, *_even_windows(input, sizes), 0)
    output = input
    for i, size in enumerate(sizes):
        dim, n = input.dim() - places + i, input.shape[input.dim() - places + i]
        if size == n:
            continue
        first, end = _bounds(n, size, input.device)
        place = arange(n, device=input.device).unsqueeze(1)
        shares = ((place >= first) & (place < end)).to(input.dtype) / (end - first).to(input.dtype)
        output = (output.transpose(dim, -1) @ shares).transpose(dim, -1)
    return output


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of output_size windows that cover the last dim evenly; None keeps a size."""
    return _adaptive_avg_pool(1, "adaptive_avg_pool1d", input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The mean of output_size windows that cover the last two dims evenly; None keeps a size."""
    return _adaptive_avg_pool(2, "adaptive_avg_pool2d", input, output_size)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """As adaptive_avg_pool2d, over the last three dims."""
    return _adaptive_avg_pool(3, "adaptive_avg_pool3d", input, output_size)


def _spread_windows(input: Tensor, sizes: Sequence[int]) -> tuple[Tensor, list[Tensor], list[int]]:
    """[.., places.., elements] with all windows made as long as the longest by repeating last elements; positions of the
    elements of each dim [size, longest]."""
    places, rank = len(sizes), input.dim()
    output, positions, longest = input, [], []
    for i, size in enumerate(sizes):
        n = input.shape[rank - places + i]
        first, end = _bounds(n, size, input.device)
        width = max(((j + 1) * n + size - 1) // size - j * n // size for j in range(size))
        position = (first.unsqueeze(1) + arange(width, device=input.device)).minimum(end.unsqueeze(1) - 1)
        positions.append(position)
        longest.append(width)
        dim = rank - places + 2 * i
        output = output.index_select(dim, position.reshape(-1))
        output = output.reshape(*output.shape[:dim], size, width, *output.shape[dim + 1:])
    lead = rank - places
    order = [*range(lead), *(lead + 2 * i for i in range(places)), *(lead + 2 * i + 1 for i in range(places))]
    output = output.permute(order)
    return output.reshape(*output.shape[:rank], math.prod(longest)), positions, longest


def _adaptive_max_pool(places: int, name: str, input: Tensor, output_size: Any, return_indices: bool) -> Any:
    sizes = _output_sizes(places, name, input, output_size)
    if _is_even(input, sizes):
        windows = _even_windows(input, sizes)
        output = _ops.max_pool(input, *windows)
        return (output, _ops.max_pool_index(input, *windows)) if return_indices else output
    spread, positions, longest = _spread_windows(input, sizes)
    best = spread.argmax(-1, keepdim=True)
    output = spread.gather(-1, best).squeeze(-1)
    if not return_indices:
        return output
    rest, index, plane = best.squeeze(-1), None, 1
    for i in reversed(range(places)):
        element, rest = rest % longest[i], rest // longest[i]
        shape = [1] * (input.dim() - places + i) + [sizes[i]] + [1] * (places - 1 - i)
        table = positions[i].reshape(*shape, longest[i]).expand(*output.shape, longest[i])
        part = table.gather(-1, element.unsqueeze(-1)).squeeze(-1) * plane
        index = part if index is None else index + part
        plane *= input.shape[input.dim() - places + i]
    return output, index


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of output_size windows that cover the last dim evenly."""
    return _adaptive_max_pool(1, "adaptive_max_pool1d", input, output_size, return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest element of output_size windows that cover the last two dims evenly."""
    return _adaptive_max_pool(2, "adaptive_max_pool2d", input, output_size, return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """As adaptive_max_pool2d, over the last three dims."""
    return _adaptive_max_pool(3, "adaptive_max_pool3d", input, output_size, return_indices)


def _max_unpool(spatial: int, input: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any,
                output_size: Any) -> Tensor:
    if tuple(indices.shape) != tuple(input.shape):
        raise InvalidError(f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got "
                           f"indices tensor with shape: {list(indices.shape)}")
    kernel, edge = each(kernel_size, spatial, "kernel_size"), each(padding, spatial, "padding")
    step = kernel if stride is None else each(stride, spatial, "stride")
    head, own = tuple(input.shape[:-spatial]), tuple(input.shape[-spatial:])
    if output_size is None:
        size = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(own, step, edge, kernel))
    else:
        size = tuple(output_size)[-spatial:]
        usual = tuple((n - 1) * s - 2 * p + k for n, s, p, k in zip(own, step, edge, kernel))
        if len(size) != spatial or any(not u - s < n < u + s for n, u, s in zip(size, usual, step)):
            raise InvalidError(f"invalid output_size {size!r}: each of the {spatial} sizes must be within a stride of {usual}")
    places = math.prod(size)
    flat = input.new_zeros((*head, places)).scatter(-1, indices.flatten(-spatial), input.flatten(-spatial))
    return flat.reshape((*head, *size))


def max_unpool1d(input: Tensor, indices: Tensor, kernel_size: IntOrInts, stride: Any = None, padding: IntOrInts = 0,
                 output_size: Any = None) -> Tensor:
    """Elements put back where max_pool1d found them, zeros elsewhere."""
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input: Tensor, indices: Tensor, kernel_size: IntOrInts, stride: Any = None, padding: IntOrInts = 0,
                 output_size: Any = None) -> Tensor:
    """Elements put back where max_pool2d found them, zeros elsewhere."""
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input: Tensor, indices: Tensor, kernel_size: IntOrInts, stride: Any = None, padding: IntOrInts = 0,
                 output_size: Any = None) -> Tensor:
    """Elements put back where max_pool3d found them, zeros elsewhere."""
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)
