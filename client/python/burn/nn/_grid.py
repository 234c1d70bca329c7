# SPDX-License-Identifier: Apache-2.0
"""Sampling of pictures at computed places: affine_grid, grid_sample."""
from __future__ import annotations

from typing import Any, Sequence

from .._core import InvalidError
from .._creation import linspace, ones
from .._dtype import int64
from .._functions import stack
from .._tensor import Tensor


def _centres(n: int, align_corners: bool, dtype: Any) -> Tensor:
    """The places of n elements in [-1, 1], whose ends are the outer elements' centres or their outer sides."""
    if n == 1 and align_corners:
        return ones(1, dtype=dtype) * 0
    places = linspace(-1, 1, n, dtype=dtype)
    return places if align_corners else places * ((n - 1) / n)


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid for grid_sample [batch, rows, columns, 2] that the matrices theta [batch, 2, 3] map the places of a picture
    of this size [batch, channels, rows, columns] to."""
    size = tuple(size)
    if not theta.dtype.is_floating_point:
        raise InvalidError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) != 4 or tuple(theta.shape) != (size[0], 2, 3):
        raise InvalidError(f"Expected a batch of 2D affine matrices of shape Nx2x3 for size {size}. Got {tuple(theta.shape)}.")
    rows, columns = size[2:]
    x = _centres(columns, bool(align_corners), theta.dtype).expand(rows, columns)
    y = _centres(rows, bool(align_corners), theta.dtype).unsqueeze(1).expand(rows, columns)
    places = stack([x, y, ones(rows, columns, dtype=theta.dtype)], 2).reshape(rows * columns, 3)
    return (places @ theta.transpose(1, 2)).reshape(size[0], rows, columns, 2)


def _reflected(place: Tensor, low: float, span: float) -> Tensor:
    """Folded back at both ends into [low, low + span]."""
    if span == 0:
        return place * 0
    distance = (place - low).abs()
    turns = (distance / span).floor()
    rest = distance - turns.detach() * span
    return rest.where(turns % 2 == 0, span - rest) + low


def _source(place: Tensor, n: int, padding_mode: str, align_corners: bool) -> Tensor:
    """From [-1, 1] to positions of a dim of n elements."""
    source = (place + 1) / 2 * (n - 1) if align_corners else ((place + 1) * n - 1) / 2
    if padding_mode == "reflection":
        source = _reflected(source, 0.0, n - 1.0) if align_corners else _reflected(source, -0.5, float(n))
    return source if padding_mode == "zeros" else source.clamp(0, n - 1)


def _taken(input: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Elements at whole places [batch, rows, columns]; 0 outside."""
    batch, channels, height, width = input.shape
    inside = ((x >= 0) & (x < width) & (y >= 0) & (y < height)).unsqueeze(1)
    index = (y.clamp(0, height - 1) * width + x.clamp(0, width - 1)).to(int64).reshape(batch, 1, -1)
    found = input.reshape(batch, channels, -1).gather(2, index.expand(batch, channels, index.shape[2]))
    found = found.reshape(batch, channels, *x.shape[1:])
    return found.where(inside, found * 0)


def grid_sample(input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool | None = None) -> Tensor:
    """Elements of [batch, channels, height, width] at the places grid [batch, rows, columns, 2] names as (x, y) in
    [-1, 1]. mode: bilinear or nearest; padding_mode: zeros, border or reflection. ValueError for other modes."""
    if mode not in ("bilinear", "nearest"):
        raise InvalidError(f"nn.functional.grid_sample(): expected mode to be 'bilinear' or 'nearest', but got: {mode!r}")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise InvalidError(f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
                           f"but got: {padding_mode!r}")
    if input.dim() != 4 or grid.dim() != 4 or grid.shape[3] != 2 or grid.shape[0] != input.shape[0]:
        raise InvalidError(f"grid_sampler(): expected input [batch, channels, height, width] and grid [batch, rows, "
                           f"columns, 2] with equal batches, but got sizes {list(input.shape)} and {list(grid.shape)}")
    height, width = input.shape[2:]
    x = _source(grid[..., 0], width, padding_mode, bool(align_corners))
    y = _source(grid[..., 1], height, padding_mode, bool(align_corners))
    if mode == "nearest":
        return _taken(input, x.detach().round(), y.detach().round())
    left, top = x.detach().floor(), y.detach().floor()
    right, low = x - left, y - top
    output = None
    for dy, share_y in ((0, 1 - low), (1, low)):
        for dx, share_x in ((0, 1 - right), (1, right)):
            part = _taken(input, left + dx, top + dy) * (share_x * share_y).unsqueeze(1)
            output = part if output is None else output + part
    return output
