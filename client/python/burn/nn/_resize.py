# SPDX-License-Identifier: Apache-2.0
"""Resizing of place dims: interpolate."""
from __future__ import annotations

import math
from typing import Any, Sequence

from .._core import InvalidError, UnsupportedError
from .._creation import arange
from .._dtype import float32, float64, int64
from .._tensor import Tensor
from ._pooling import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d

_PLACES = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
_MODES = ("nearest", "nearest-exact", "area", *_PLACES)


def _sizes(input: Tensor, places: int, size: Any, scale_factor: Any) -> tuple[list[int], list[float | None]]:
    """Output sizes, and the given factors (None where sizes were given)."""
    if size is not None and scale_factor is not None:
        raise InvalidError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise InvalidError("either size or scale_factor should be defined")
    given = size if size is not None else scale_factor
    parts = list(given) if isinstance(given, (tuple, list)) else [given] * places
    if len(parts) != places:
        raise InvalidError(f"Input and output must have the same number of spatial dimensions, but got input with spatial "
                           f"dimensions of {list(input.shape[2:])} and output size or factors of {parts}")
    if size is not None:
        sizes, factors = [int(part) for part in parts], [None] * places
    else:
        factors = [float(part) for part in parts]
        if not all(0 < factor < 2**31 for factor in factors):
            raise InvalidError(f"scale_factor must lie between 0 and 2**31, but got {factors}")
        sizes = [math.floor(n * factor) for n, factor in zip(input.shape[2:], factors)]
    if min(sizes) < 1 or min(input.shape[2:]) < 1:
        raise InvalidError(f"Input and output sizes should be greater than 0, but got input {list(input.shape[2:])} and "
                           f"output {sizes}")
    return sizes, factors


def _places_of(input: Tensor, size: int) -> Tensor:
    return arange(size, dtype=float64 if input.dtype is float64 else float32, device=input.device)


def _nearest(input: Tensor, dim: int, size: int, scale: float, offset: float) -> Tensor:
    place = ((_places_of(input, size) + offset) * scale).floor().to(int64)
    return input.index_select(dim, place.clamp(max=input.shape[dim] - 1))


def _sources(input: Tensor, n: int, size: int, scale: float, align_corners: bool) -> Tensor:
    """Where the elements of a resized dim lie in the input's, as fractions."""
    place = _places_of(input, size)
    return place * ((n - 1) / (size - 1) if size > 1 else 0.0) if align_corners else (place + 0.5) * scale - 0.5


def _along(weight: Tensor, input: Tensor, dim: int) -> Tensor:
    return weight.to(input.dtype).reshape(-1, *[1] * (input.dim() - 1 - dim))


def _linear(input: Tensor, dim: int, size: int, scale: float, align_corners: bool) -> Tensor:
    n = input.shape[dim]
    source = _sources(input, n, size, scale, align_corners).clamp(min=0.0)
    first = source.floor().clamp(max=n - 1)
    share, low = _along(source - first, input, dim), first.to(int64)
    high = (low + 1).clamp(max=n - 1)
    return input.index_select(dim, low) * (1 - share) + input.index_select(dim, high) * share


def _cubic(input: Tensor, dim: int, size: int, scale: float, align_corners: bool) -> Tensor:
    n, a = input.shape[dim], -0.75
    source = _sources(input, n, size, scale, align_corners)
    first = source.floor()
    t, low, output = source - first, first.to(int64), None
    for tap in range(-1, 3):
        x = (t - tap).abs()
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        part = input.index_select(dim, (low + tap).clamp(0, n - 1)) * _along(near if tap in (0, 1) else far, input, dim)
        output = part if output is None else output + part
    return output


def _antialiased(input: Tensor, dim: int, size: int, scale: float, cubic: bool, align_corners: bool) -> Tensor:
    """Each output is a weighted mean of all inputs under a filter that is widened by the scale."""
    n, wide = input.shape[dim], max(scale, 1.0)
    if align_corners:
        scale = (n - 1) / (size - 1) if size > 1 else 0.0
    support = (2.0 if cubic else 1.0) * wide
    centre = ((_places_of(input, size) + 0.5) * scale).unsqueeze(1)
    place = _places_of(input, n)
    inside = (place >= (centre - support + 0.5).trunc().clamp(min=0)) & (place < (centre + support + 0.5).trunc())
    x = ((place - centre + 0.5) / wide).abs()
    if cubic:
        a = -0.5
        near, far = ((a + 2) * x - (a + 3)) * x * x + 1, ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        weight = near.where(x < 1, far.where(x < 2, x * 0))
    else:
        weight = (1 - x).clamp(min=0)
    weight = weight.where(inside, weight * 0)
    weight = (weight / weight.sum(1, keepdim=True)).to(input.dtype)
    return (input.transpose(dim, -1) @ weight.mT).transpose(dim, -1)


def interpolate(input: Tensor, size: int | Sequence[int] | None = None,
                scale_factor: float | Sequence[float] | None = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None,
                antialias: bool = False) -> Tensor:
    """[batch, channels, places..] resized to `size` or by `scale_factor`. mode: nearest, nearest-exact, linear (1 place
    dim), bilinear and bicubic (2), trilinear (3), area. ValueError for arguments that contradict each other."""
    places = input.dim() - 2
    if mode not in _MODES or places not in (1, 2, 3) or _PLACES.get(mode, places) != places:
        raise UnsupportedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.dim()}D) for the "
                               f"modes: {' | '.join(_MODES)} (got {mode})")
    if align_corners is not None and mode not in _PLACES:
        raise InvalidError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic "
                           "| trilinear")
    if antialias and mode not in ("bilinear", "bicubic"):
        raise InvalidError("Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input")
    if recompute_scale_factor and size is not None:
        raise InvalidError("recompute_scale_factor is not meaningful with an explicit size.")
    sizes, factors = _sizes(input, places, size, scale_factor)
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[places - 1](input, sizes)
    output = input
    for i, (wanted, factor) in enumerate(zip(sizes, factors)):
        dim, n = 2 + i, input.shape[2 + i]
        scale = n / wanted if factor is None or recompute_scale_factor else 1.0 / factor
        if mode.startswith("nearest"):
            output = _nearest(output, dim, wanted, scale, 0.5 if mode == "nearest-exact" else 0.0)
        elif antialias:
            output = _antialiased(output, dim, wanted, scale, mode == "bicubic", bool(align_corners))
        else:
            resize = _cubic if mode == "bicubic" else _linear
            output = resize(output, dim, wanted, scale, bool(align_corners))
    return output


def upsample(input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
             align_corners: bool | None = None) -> Tensor:
    """interpolate() under its older name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate with mode "nearest"."""
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """interpolate with mode "bilinear" and aligned corners."""
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
