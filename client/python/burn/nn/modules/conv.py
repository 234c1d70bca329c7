# SPDX-License-Identifier: Apache-2.0
"""Convolutions, transposed convolutions, Unfold and Fold."""
from __future__ import annotations

import math
from typing import Any, Sequence

from ..._core import InvalidError
from ..._creation import empty
from ..._tensor import Tensor
from .. import functional as F
from .. import init
from .._convolution import IntOrInts
from .._windows import each
from ..parameter import Parameter
from .module import Module

_MODES = ("zeros", "reflect", "replicate", "circular")


class _Conv(Module):
    """What all convolutions share. weight [outputs, channels / groups, sizes..], or [channels, outputs / groups, sizes..]
    if transposed. Initial values: uniform in +-1/sqrt(channels / groups * product of sizes), as PyTorch's."""

    places = 0
    transposed = False

    def __init__(self, in_channels: int, out_channels: int, kernel_size: IntOrInts, stride: IntOrInts = 1,
                 padding: IntOrInts | str = 0, dilation: IntOrInts = 1, groups: int = 1, bias: bool = True,
                 padding_mode: str = "zeros", device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        if groups <= 0:
            raise InvalidError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise InvalidError(f"in_channels must be divisible by groups, got {in_channels} and {groups}")
        if out_channels % groups != 0:
            raise InvalidError(f"out_channels must be divisible by groups, got {out_channels} and {groups}")
        if padding_mode not in _MODES:
            raise InvalidError(f"padding_mode must be one of {set(_MODES)}, but got padding_mode={padding_mode!r}")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = each(kernel_size, self.places, "kernel_size")
        self.stride = each(stride, self.places, "stride")
        self.dilation = each(dilation, self.places, "dilation")
        self.padding_mode = padding_mode
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise InvalidError(f"Invalid padding string {padding!r}, should be one of 'valid', 'same'")
            if padding == "same" and any(part != 1 for part in self.stride):
                raise InvalidError("padding='same' is not supported for strided convolutions")
            self.padding: Any = padding
        else:
            self.padding = each(padding, self.places, "padding")
        shape = (in_channels, out_channels // groups) if self.transposed else (out_channels, in_channels // groups)
        self.weight = Parameter(empty(*shape, *self.kernel_size, dtype=dtype, device=device))
        if bias:
            self.bias = Parameter(empty(out_channels, dtype=dtype, device=device))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        fan_in = self.weight.shape[1] * math.prod(self.kernel_size)
        if self.bias is not None and fan_in > 0:
            init.uniform_(self.bias, -1 / math.sqrt(fan_in), 1 / math.sqrt(fan_in))

    def _sides(self) -> list[int]:
        """Padding as functional.pad takes it."""
        if self.padding == "valid":
            return [0] * (2 * self.places)
        sides = []
        for i in reversed(range(self.places)):
            total = self.dilation[i] * (self.kernel_size[i] - 1)
            sides += [total // 2, total - total // 2] if self.padding == "same" else [self.padding[i]] * 2
        return sides

    def forward(self, input: Tensor) -> Tensor:
        function = (F.conv1d, F.conv2d, F.conv3d)[self.places - 1]
        padding = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._sides(), mode=self.padding_mode), 0
        return function(input, self.weight, self.bias, self.stride, padding, self.dilation, self.groups)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * self.places:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * self.places:
            text += f", dilation={self.dilation}"
        if getattr(self, "output_padding", (0,) * self.places) != (0,) * self.places:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text if self.padding_mode == "zeros" else f"{text}, padding_mode={self.padding_mode}"


class Conv1d(_Conv):
    """functional.conv1d with own weight and bias. [batch, channels, length] -> [batch, outputs, places]."""

    places = 1


class Conv2d(_Conv):
    """functional.conv2d with own weight and bias. [batch, channels, height, width] -> [batch, outputs, places..]."""

    places = 2


class Conv3d(_Conv):
    """functional.conv3d with own weight and bias."""

    places = 3


class _ConvTranspose(_Conv):
    transposed = True

    def __init__(self, in_channels: int, out_channels: int, kernel_size: IntOrInts, stride: IntOrInts = 1,
                 padding: IntOrInts = 0, output_padding: IntOrInts = 0, groups: int = 1, bias: bool = True,
                 dilation: IntOrInts = 1, padding_mode: str = "zeros", device: Any = None, dtype: Any = None) -> None:
        if padding_mode != "zeros":
            raise InvalidError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self.output_padding: Any = ()
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode,
                         device, dtype)
        self.output_padding = each(output_padding, self.places, "output_padding")

    def _extra(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        if output_size is None:
            return self.output_padding
        wanted = tuple(output_size)[-self.places:]
        extra = []
        for i, n in enumerate(input.shape[-self.places:]):
            least = (n - 1) * self.stride[i] - 2 * self.padding[i] + self.dilation[i] * (self.kernel_size[i] - 1) + 1
            if not least <= wanted[i] < least + self.stride[i]:
                raise InvalidError(f"requested an output size of {wanted}, but place dim {i} takes {least} to "
                                   f"{least + self.stride[i] - 1} (for an input of {tuple(input.shape[-self.places:])})")
            extra.append(wanted[i] - least)
        return tuple(extra)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        function = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[self.places - 1]
        return function(input, self.weight, self.bias, self.stride, self.padding, self._extra(input, output_size),
                        self.groups, self.dilation)


class ConvTranspose1d(_ConvTranspose):
    """functional.conv_transpose1d with own weight and bias."""

    places = 1


class ConvTranspose2d(_ConvTranspose):
    """functional.conv_transpose2d with own weight and bias."""

    places = 2


class ConvTranspose3d(_ConvTranspose):
    """functional.conv_transpose3d with own weight and bias."""

    places = 3


class Unfold(Module):
    """functional.unfold with fixed windows."""

    def __init__(self, kernel_size: IntOrInts, dilation: IntOrInts = 1, padding: IntOrInts = 0,
                 stride: IntOrInts = 1) -> None:
        super().__init__()
        self.kernel_size, self.dilation, self.padding, self.stride = kernel_size, dilation, padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
                f"stride={self.stride}")


class Fold(Module):
    """functional.fold with fixed windows."""

    def __init__(self, output_size: IntOrInts, kernel_size: IntOrInts, dilation: IntOrInts = 1,
                 padding: IntOrInts = 0, stride: IntOrInts = 1) -> None:
        super().__init__()
        self.output_size, self.kernel_size, self.dilation = output_size, kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
                f"padding={self.padding}, stride={self.stride}")
