# SPDX-License-Identifier: Apache-2.0
"""Convolutions, transposed ones, and the windows beneath them: unfold and fold."""
from __future__ import annotations

from typing import Any, Sequence

from .._core import ArgumentError, InvalidError, RangeError
from .. import _ops
from .._creation import zeros
from .._tensor import Tensor
from ._windows import at_least, check_rank, each, padding_lists

IntOrInts = int | Sequence[int]


def _same(kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> tuple[list[int], list[int]]:
    if any(part != 1 for part in stride):
        raise InvalidError("padding='same' is not supported for strided convolutions")
    total = [d * (k - 1) for k, d in zip(kernel, dilation)]
    return [part // 2 for part in total], [part - part // 2 for part in total]


def _paddings(padding: Any, kernel: Sequence[int], stride: Sequence[int],
              dilation: Sequence[int]) -> tuple[Sequence[int], Sequence[int]]:
    if isinstance(padding, str):
        if padding == "same":
            return _same(kernel, stride, dilation)
        if padding == "valid":
            return [0] * len(kernel), [0] * len(kernel)
        raise InvalidError(f"Invalid padding string {padding!r}: it must be 'same' or 'valid'")
    parts = each(padding, len(kernel), "padding")
    at_least(parts, 0, "padding")
    return parts, parts


def _check_weight(weight: Tensor, places: int, name: str) -> None:
    if not isinstance(weight, Tensor):
        raise ArgumentError(f"{name}(): argument 'weight' must be Tensor, not {type(weight).__name__}")
    if weight.dim() != places + 2:
        raise InvalidError(f"{name} expects a weight of {places + 2} dims, but got one of size: {list(weight.shape)}")


def _conv(places: int, name: str, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any,
          dilation: Any, groups: int) -> Tensor:
    check_rank(input, places, name)
    _check_weight(weight, places, name)
    stride, dilation = each(stride, places, "stride"), each(dilation, places, "dilation")
    at_least(stride, 1, "stride")
    at_least(dilation, 1, "dilation")
    low, high = padding_lists(*_paddings(padding, weight.shape[2:], stride, dilation))
    batched = input.dim() == places + 2
    output = _ops.conv(input if batched else input.unsqueeze(0), weight, bias, stride, low, high, dilation, groups)
    return output if batched else output.squeeze(0)


def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: IntOrInts = 1,
           padding: IntOrInts | str = 0, dilation: IntOrInts = 1, groups: int = 1) -> Tensor:
    """Convolution of [batch, channels, length] (the batch may be missing) with weight [outputs, channels / groups,
    size], plus bias [outputs]. padding: zeros at both ends, or "same" or "valid". RuntimeError where shapes do not fit."""
    return _conv(1, "conv1d", input, weight, bias, stride, padding, dilation, groups)


def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: IntOrInts = 1,
           padding: IntOrInts | str = 0, dilation: IntOrInts = 1, groups: int = 1) -> Tensor:
    """Convolution of [batch, channels, height, width] (the batch may be missing) with weight [outputs, channels /
    groups, height, width], plus bias [outputs]. padding: zeros at both ends, or "same" or "valid"."""
    return _conv(2, "conv2d", input, weight, bias, stride, padding, dilation, groups)


def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: IntOrInts = 1,
           padding: IntOrInts | str = 0, dilation: IntOrInts = 1, groups: int = 1) -> Tensor:
    """As conv2d, with three place dims."""
    return _conv(3, "conv3d", input, weight, bias, stride, padding, dilation, groups)


def transposed_shape(places: int, input: Tensor, kernel: Sequence[int], stride: Sequence[int], padding: Sequence[int],
                     output_padding: Sequence[int], dilation: Sequence[int]) -> list[int]:
    """Sizes of the place dims of a transposed convolution's output."""
    extents = input.shape[-places:]
    return [(n - 1) * s - 2 * p + d * (k - 1) + extra + 1
            for n, k, s, p, extra, d in zip(extents, kernel, stride, padding, output_padding, dilation)]


def _conv_transpose(places: int, name: str, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any,
                    padding: Any, output_padding: Any, groups: int, dilation: Any) -> Tensor:
    check_rank(input, places, name)
    _check_weight(weight, places, name)
    stride, padding = each(stride, places, "stride"), each(padding, places, "padding")
    extra, dilation = each(output_padding, places, "output_padding"), each(dilation, places, "dilation")
    at_least(stride, 1, "stride")
    at_least(dilation, 1, "dilation")
    at_least(padding, 0, "padding")
    at_least(extra, 0, "output_padding")
    if any(e >= max(s, d) for e, s, d in zip(extra, stride, dilation)):
        raise InvalidError(f"output padding must be smaller than either stride or dilation, but got output_padding: "
                           f"{extra}, stride: {stride}, dilation: {dilation}")
    shape = transposed_shape(places, input, weight.shape[2:], stride, padding, extra, dilation)
    if min(shape) < 1:
        raise InvalidError(f"Given input size {list(input.shape)} and weight {list(weight.shape)}, the output size "
                           f"{shape} is too small")
    low, _ = padding_lists(padding, padding)
    batched = input.dim() == places + 2
    output = _ops.conv_input(input if batched else input.unsqueeze(0), weight, shape, stride, low, dilation, groups)
    if bias is not None:
        if tuple(bias.shape) != (output.shape[1],):
            raise InvalidError(f"Given transposed=1, weight of size {list(weight.shape)}, expected bias to be "
                               f"1-dimensional with {output.shape[1]} elements, but got bias of size {list(bias.shape)}")
        output = output + bias.reshape(-1, *[1] * places)
    return output if batched else output.squeeze(0)


def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: IntOrInts = 1,
                     padding: IntOrInts = 0, output_padding: IntOrInts = 0, groups: int = 1,
                     dilation: IntOrInts = 1) -> Tensor:
    """The adjoint of conv1d: weight [channels, outputs / groups, size]; output_padding lengthens the output."""
    return _conv_transpose(1, "conv_transpose1d", input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: IntOrInts = 1,
                     padding: IntOrInts = 0, output_padding: IntOrInts = 0, groups: int = 1,
                     dilation: IntOrInts = 1) -> Tensor:
    """The adjoint of conv2d: weight [channels, outputs / groups, height, width]; output_padding adds to the output."""
    return _conv_transpose(2, "conv_transpose2d", input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: IntOrInts = 1,
                     padding: IntOrInts = 0, output_padding: IntOrInts = 0, groups: int = 1,
                     dilation: IntOrInts = 1) -> Tensor:
    """As conv_transpose2d, with three place dims."""
    return _conv_transpose(3, "conv_transpose3d", input, weight, bias, stride, padding, output_padding, groups, dilation)


# ---- windows ----

def _window_counts(extents: Sequence[int], kernel: Sequence[int], dilation: Sequence[int], padding: Sequence[int],
                   stride: Sequence[int]) -> list[int]:
    return [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, d, p, s in zip(extents, kernel, dilation, padding, stride)]


def _window_arguments(kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> list[tuple[int, ...]]:
    parts = [each(value, 2, name) for value, name in ((kernel_size, "kernel_size"), (dilation, "dilation"),
                                                      (padding, "padding"), (stride, "stride"))]
    for values, least, name in zip(parts, (1, 1, 0, 1), ("kernel_size", "dilation", "padding", "stride")):
        if any(value < least for value in values):
            raise InvalidError(f"{name} should be {'greater than zero' if least else 'at least zero'}, got {values}")
    return parts


def unfold(input: Tensor, kernel_size: IntOrInts, dilation: IntOrInts = 1, padding: IntOrInts = 0,
           stride: IntOrInts = 1) -> Tensor:
    """The windows of [batch, channels, height, width] as columns: [batch, channels * size, places]."""
    check_rank(input, 2, "unfold")
    kernel, dilation, padding, stride = _window_arguments(kernel_size, dilation, padding, stride)
    x = input if input.dim() == 4 else input.unsqueeze(0)
    counts = _window_counts(x.shape[2:], kernel, dilation, padding, stride)
    if min(counts) < 1:
        raise InvalidError(f"Given input with spatial size {list(x.shape[2:])}, kernel_size={kernel}, dilation={dilation}, "
                           f"padding={padding}, stride={stride}, calculated shape of the array of sliding blocks as "
                           f"{counts}, but its components must be at least one")
    if any(padding):
        x = _ops.pad(x, 0, (0, 0, *padding), (0, 0, *padding))
    windows = _ops.window(x, (2, 3), counts, kernel, stride, dilation).permute(0, 1, 4, 5, 2, 3)
    columns = windows.reshape(x.shape[0], x.shape[1] * kernel[0] * kernel[1], counts[0] * counts[1])
    return columns if input.dim() == 4 else columns.squeeze(0)


def fold(input: Tensor, output_size: IntOrInts, kernel_size: IntOrInts, dilation: IntOrInts = 1,
         padding: IntOrInts = 0, stride: IntOrInts = 1) -> Tensor:
    """The adjoint of unfold: sums columns [batch, channels * size, places] into [batch, channels, *output_size]."""
    if input.dim() not in (2, 3):
        raise InvalidError(f"Expected 2D (unbatched) or 3D (batched) input to fold, but got input of size: {list(input.shape)}")
    kernel, dilation, padding, stride = _window_arguments(kernel_size, dilation, padding, stride)
    size = each(output_size, 2, "output_size")
    x = input if input.dim() == 3 else input.unsqueeze(0)
    counts = _window_counts(size, kernel, dilation, padding, stride)
    elements = kernel[0] * kernel[1]
    if x.shape[1] % elements:
        raise InvalidError(f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
                           f"input.size(1)={x.shape[1]} and kernel_size={kernel}")
    if min(counts) < 1 or x.shape[2] != counts[0] * counts[1]:
        raise InvalidError(f"Given output_size={size}, kernel_size={kernel}, dilation={dilation}, padding={padding}, "
                           f"stride={stride}, expected size of input's dimension 2 to match the calculated number of "
                           f"sliding blocks {counts[0]} * {counts[1]} = {counts[0] * counts[1]}, but got {x.shape[2]}")
    channels = x.shape[1] // elements
    windows = x.reshape(x.shape[0], channels, *kernel, *counts).permute(0, 1, 4, 5, 2, 3)
    base = zeros(x.shape[0], channels, *(n + 2 * p for n, p in zip(size, padding)), dtype=x.dtype, device=x.device)
    sums = _ops.window_add(base, windows, (2, 3), counts, kernel, stride, dilation)
    if any(padding):
        sums = sums[:, :, padding[0]:padding[0] + size[0], padding[1]:padding[1] + size[1]]
    return sums if input.dim() == 3 else sums.squeeze(0)


def unfold_dim(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows of `size` elements, `step` apart, of one dim: their number in its place, their elements in a new last dim."""
    rank = self.dim()
    if not -max(rank, 1) <= dimension < max(rank, 1):
        raise RangeError(f"Dimension out of range (expected to be in range of [{-max(rank, 1)}, {max(rank, 1) - 1}], but "
                         f"got {dimension})")
    x = self if rank else self.reshape(1)
    dimension %= max(rank, 1)
    n = x.shape[dimension]
    if size < 0 or size > n:
        raise InvalidError(f"maximum size for tensor at dimension {dimension} is {n} but size is {size}")
    if step < 1:
        raise InvalidError(f"step is {step} but must be > 0")
    if size == 0:
        return x.new_empty(*x.shape[:dimension], n // step + 1, *x.shape[dimension + 1:], 0)
    windows = _ops.window(x, (dimension,), ((n - size) // step + 1,), (size,), (step,), (1,))
    return windows if rank else windows.reshape(size)


Tensor.unfold = unfold_dim
