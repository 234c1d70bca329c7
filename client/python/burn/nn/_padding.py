# SPDX-License-Identifier: Apache-2.0
"""Padding, and moving elements between channels and pixels."""
from __future__ import annotations

import math
from typing import Any, Sequence

from .._core import InvalidError, UnsupportedError
from .. import _ops
from .._functions import cat
from .._tensor import Tensor

__all__ = ["channel_shuffle", "pad", "pixel_shuffle", "pixel_unshuffle"]


def _ends(input: Tensor, dim: int, low: int, high: int, mode: str) -> Tensor:
    """input with elements of its own at both ends of one dim; a negative number crops."""
    n = input.shape[dim]
    if low < 0 or high < 0:
        input = input.narrow(dim, max(-low, 0), n - max(-low, 0) - max(-high, 0))
        low, high, n = max(low, 0), max(high, 0), input.shape[dim]
    if not low and not high:
        return input
    parts = [input]
    if mode == "replicate":
        def repeated(place: int, count: int) -> list[Tensor]:
            shape = tuple(input.shape)
            end = input.narrow(dim, place, 1)
            return [end.expand(shape[:dim] + (count,) + shape[dim + 1:])] if count else []
        parts = repeated(0, low) + parts + repeated(n - 1, high)
    elif mode == "reflect":
        if low:
            parts.insert(0, input.narrow(dim, 1, low).flip(dim))
        if high:
            parts.append(input.narrow(dim, n - 1 - high, high).flip(dim))
    else:
        if low:
            parts.insert(0, input.narrow(dim, n - low, low))
        if high:
            parts.append(input.narrow(dim, 0, high))
    return cat(parts, dim)


def _check_ends(input: Tensor, dim: int, low: int, high: int, mode: str) -> None:
    n = input.shape[dim]
    if mode == "reflect" and max(low, high) >= n:
        raise InvalidError(f"Argument #4: Padding size should be less than the corresponding input dimension, but got: "
                           f"padding ({low}, {high}) at dimension {dim} of input {list(input.shape)}")
    if mode == "circular" and max(low, high) > n:
        raise InvalidError(f"Padding value causes wrapping around more than once: ({low}, {high}) at dimension {dim} of "
                           f"input {list(input.shape)}")
    if n + low + high <= 0:
        raise InvalidError(f"the input size {n}, plus padding {low} and {high}, is not positive at dimension {dim}")
    if n == 0:
        raise InvalidError(f"padding {mode!r} needs elements to copy, dimension {dim} of {list(input.shape)} has none")


def _constant(input: Tensor, pad: tuple[int, ...], value: Any) -> Tensor:
    rank = input.dim()
    low, high, crop = [0] * rank, [0] * rank, [slice(None)] * rank
    for i in range(len(pad) // 2):
        dim, (a, b) = rank - 1 - i, pad[2 * i:2 * i + 2]
        n = input.shape[dim]
        if n + a + b < 0:
            raise InvalidError(f"The input size {n}, plus negative padding {a} and {b}, resulted in a negative output "
                               f"size, which is invalid for dimension {dim}")
        low[dim], high[dim] = max(a, 0), max(b, 0)
        crop[dim] = slice(max(-a, 0), n - max(-b, 0))
    if any(part < 0 for part in pad):
        input = input[tuple(crop)]
    if not any(low) and not any(high):
        return _ops.clone(input)
    return _ops.pad(input, 0 if value is None else value, low, high)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Tensor:
    """Adds (or, where negative, crops) elements at both ends of the last dims, the last dim first.

    mode: "constant" (value, 0 by default), "reflect", "replicate" or "circular"; the last three take one to three
    dims of an input with one or two more. Errors: RuntimeError for sizes that do not fit, NotImplementedError for
    another mode or rank."""
    sizes = tuple(pad)
    rank = input.dim()
    if len(sizes) % 2 or len(sizes) > 2 * rank:
        raise InvalidError(f"Padding length should be even and at most twice the number of dimensions of the input, "
                           f"{2 * rank}, got {len(sizes)}")
    if mode == "constant":
        return _constant(input, sizes, value)
    if mode not in ("reflect", "replicate", "circular"):
        raise UnsupportedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise InvalidError(f"Padding mode {mode!r} doesn't take in value argument")
    dims = len(sizes) // 2
    if dims not in (1, 2, 3) or rank not in (dims + 1, dims + 2):
        raise UnsupportedError("Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now; got "
                               f"{len(sizes)} paddings for a {rank}D input")
    pairs = [(rank - 1 - i, sizes[2 * i], sizes[2 * i + 1]) for i in range(dims)]
    for dim, low, high in pairs:
        _check_ends(input, dim, low, high, mode)
    for dim, low, high in reversed(pairs):
        input = _ends(input, dim, low, high, mode)
    return input


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """[..., C * r * r, H, W] as [..., C, H * r, W * r]."""
    if input.dim() < 3:
        raise InvalidError(f"pixel_shuffle expects input to have at least 3 dimensions, but got input with "
                           f"{input.dim()} dimension(s)")
    r = upscale_factor
    if r <= 0:
        raise InvalidError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, channels, height, width = input.shape
    if channels % (r * r):
        raise InvalidError("pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                           f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}")
    batch, out = math.prod(lead), channels // (r * r)
    x = input.reshape(batch, out, r, r, height, width).permute(0, 1, 4, 2, 5, 3)
    return x.reshape(*lead, out, height * r, width * r)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """[..., C, H * r, W * r] as [..., C * r * r, H, W]."""
    if input.dim() < 3:
        raise InvalidError(f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with "
                           f"{input.dim()} dimension(s)")
    r = downscale_factor
    *lead, channels, height, width = input.shape
    if r <= 0 or height % r or width % r:
        raise InvalidError(f"pixel_unshuffle expects height and width to be divisible by downscale_factor, but "
                           f"{height} x {width} is not divisible by {r}")
    x = input.reshape(math.prod(lead), channels, height // r, r, width // r, r).permute(0, 1, 3, 5, 2, 4)
    return x.reshape(*lead, channels * r * r, height // r, width // r)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels (dim 1) of the groups taken in turn."""
    if input.dim() < 3:
        raise InvalidError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    channels = input.shape[1]
    if groups <= 0 or channels % groups:
        raise InvalidError(f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups.")
    shape = tuple(input.shape)
    return input.reshape(shape[0], groups, channels // groups, *shape[2:]).transpose(1, 2).reshape(shape)
