# SPDX-License-Identifier: Apache-2.0
"""Padding of one, two or three last dims, and the shuffling of pixels and channels."""
from __future__ import annotations

from typing import Any

from ..._core import InvalidError
from ..._tensor import Tensor
from .. import functional as F
from .module import Module


def _sizes(padding: Any, dims: int) -> tuple[int, ...]:
    if isinstance(padding, int):
        return (padding,) * (2 * dims)
    if len(padding) != 2 * dims:
        raise InvalidError(f"padding is an int or {2 * dims} ints, got {padding}")
    return tuple(padding)


class _Pad(Module):
    dims = 0
    mode = ""

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _sizes(padding, self.dims)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return str(self.padding)


class _ConstantPad(_Pad):
    mode = "constant"

    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    """A value at both ends of the last dim."""
    dims = 1


class ConstantPad2d(_ConstantPad):
    """A value at both ends of the last two dims."""
    dims = 2


class ConstantPad3d(_ConstantPad):
    """A value at both ends of the last three dims."""
    dims = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return str(self.padding)


class ZeroPad1d(_ZeroPad):
    """Zeros at both ends of the last dim."""
    dims = 1


class ZeroPad2d(_ZeroPad):
    """Zeros at both ends of the last two dims."""
    dims = 2


class ZeroPad3d(_ZeroPad):
    """Zeros at both ends of the last three dims."""
    dims = 3


class ReflectionPad1d(_Pad):
    """The last dim mirrored at its ends."""
    dims, mode = 1, "reflect"


class ReflectionPad2d(_Pad):
    """The last two dims mirrored at their ends."""
    dims, mode = 2, "reflect"


class ReflectionPad3d(_Pad):
    """The last three dims mirrored at their ends."""
    dims, mode = 3, "reflect"


class ReplicationPad1d(_Pad):
    """The ends of the last dim repeated."""
    dims, mode = 1, "replicate"


class ReplicationPad2d(_Pad):
    """The ends of the last two dims repeated."""
    dims, mode = 2, "replicate"


class ReplicationPad3d(_Pad):
    """The ends of the last three dims repeated."""
    dims, mode = 3, "replicate"


class CircularPad1d(_Pad):
    """The last dim continued from its other end."""
    dims, mode = 1, "circular"


class CircularPad2d(_Pad):
    """The last two dims continued from their other ends."""
    dims, mode = 2, "circular"


class CircularPad3d(_Pad):
    """The last three dims continued from their other ends."""
    dims, mode = 3, "circular"


class PixelShuffle(Module):
    """[..., C * r * r, H, W] as [..., C, H * r, W * r]."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """[..., C, H * r, W * r] as [..., C * r * r, H, W]."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """The channels (dim 1) of the groups taken in turn."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
