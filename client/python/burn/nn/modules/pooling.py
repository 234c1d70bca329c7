# SPDX-License-Identifier: Apache-2.0
"""Pools."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor
from .. import functional as F
from .._convolution import IntOrInts
from .module import Module


class _MaxPool(Module):
    def __init__(self, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
                 dilation: IntOrInts = 1, return_indices: bool = False, ceil_mode: bool = False) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input: Tensor) -> Any:
        function = getattr(F, f"max_pool{type(self).__name__[-2:]}")
        return function(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode,
                        self.return_indices)

    def extra_repr(self) -> str:
        return (f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
                f"dilation={self.dilation}, ceil_mode={self.ceil_mode}")


class MaxPool1d(_MaxPool):
    """functional.max_pool1d with fixed windows."""


class MaxPool2d(_MaxPool):
    """functional.max_pool2d with fixed windows."""


class MaxPool3d(_MaxPool):
    """functional.max_pool3d with fixed windows."""


class _AvgPool(Module):
    def __init__(self, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None) -> None:
        super().__init__()
        self.kernel_size, self.stride = kernel_size, kernel_size if stride is None else stride
        self.padding, self.ceil_mode, self.count_include_pad = padding, ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        function = getattr(F, f"avg_pool{type(self).__name__[-2:]}")
        extra = () if self.divisor_override is None else (self.divisor_override,)
        return function(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad, *extra)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """functional.avg_pool1d with fixed windows."""

    def __init__(self, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)


class AvgPool2d(_AvgPool):
    """functional.avg_pool2d with fixed windows."""


class AvgPool3d(_AvgPool):
    """functional.avg_pool3d with fixed windows."""


class _LPPool(Module):
    def __init__(self, norm_type: float, kernel_size: IntOrInts, stride: IntOrInts | None = None,
                 ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type, self.kernel_size, self.stride, self.ceil_mode = norm_type, kernel_size, stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        function = getattr(F, f"lp_pool{type(self).__name__[-2:]}")
        return function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
                f"ceil_mode={self.ceil_mode}")


class LPPool1d(_LPPool):
    """functional.lp_pool1d with fixed windows."""


class LPPool2d(_LPPool):
    """functional.lp_pool2d with fixed windows."""


class LPPool3d(_LPPool):
    """functional.lp_pool3d with fixed windows."""


class _MaxUnpool(Module):
    def __init__(self, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0) -> None:
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, kernel_size if stride is None else stride, padding

    def forward(self, input: Tensor, indices: Tensor, output_size: Any = None) -> Tensor:
        function = getattr(F, f"max_unpool{type(self).__name__[-2:]}")
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """functional.max_unpool1d with fixed windows."""


class MaxUnpool2d(_MaxUnpool):
    """functional.max_unpool2d with fixed windows."""


class MaxUnpool3d(_MaxUnpool):
    """functional.max_unpool3d with fixed windows."""


class _AdaptiveAvgPool(Module):
    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, f"adaptive_avg_pool{type(self).__name__[-2:]}")(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """functional.adaptive_avg_pool1d to a fixed size."""


class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """functional.adaptive_avg_pool2d to a fixed size."""


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """functional.adaptive_avg_pool3d to a fixed size."""


class _AdaptiveMaxPool(Module):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def forward(self, input: Tensor) -> Any:
        function = getattr(F, f"adaptive_max_pool{type(self).__name__[-2:]}")
        return function(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """functional.adaptive_max_pool1d to a fixed size."""


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """functional.adaptive_max_pool2d to a fixed size."""


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """functional.adaptive_max_pool3d to a fixed size."""
