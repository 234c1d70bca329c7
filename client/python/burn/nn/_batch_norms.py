# SPDX-License-Identifier: Apache-2.0
"""Norms over batches, groups, instances and neighbouring channels."""
from __future__ import annotations

import math
from typing import Any

from .._core import InvalidError
from .. import _ops
from .._dtype import bfloat16, float16, float32
from .._tensor import Tensor
from ..autograd import no_grad


def is_mixed(input: Tensor, *parameters: Tensor | None) -> bool:
    """Whether the input is float16 or bfloat16 and a parameter is float32: the norm is then one of float32."""
    return input.dtype in (float16, bfloat16) and any(p is not None and p.dtype is float32 for p in parameters)


def _update(running: Tensor | None, found: Tensor, momentum: float) -> None:
    if running is not None:
        running.mul_(1.0 - momentum).add_(found.to(running.dtype) * momentum)


def _check_values(input: Tensor) -> None:
    if input.dim() >= 2 and input.numel() // max(input.shape[1], 1) == 1:
        raise InvalidError(f"Expected more than 1 value per channel when training, got input size {list(input.shape)}")


def batch_norm(input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, weight: Tensor | None = None,
               bias: Tensor | None = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """(input - mean) / sqrt(var + eps) * weight + bias for each channel (dim 1). In training with the statistics of the
    batch, which move the running ones by `momentum` (of the variance the unbiased one); else with the running ones."""
    if is_mixed(input, running_mean, running_var, weight, bias):
        return batch_norm(input.to(float32), running_mean, running_var, weight, bias, training, momentum,
                          eps).to(input.dtype)
    if not training:
        if running_mean is None or running_var is None:
            raise InvalidError("Expected running_mean and running_var to be defined when training=False")
        return _ops.batch_norm_fixed(input, running_mean, running_var, weight, bias, eps)
    _check_values(input)
    output = _ops.batch_norm(input, weight, bias, eps)
    if running_mean is not None or running_var is not None:
        dims = [dim for dim in range(input.dim()) if dim != 1]
        with no_grad():
            x = input.detach()
            _update(running_mean, x.mean(dims), momentum)
            _update(running_var, x.var(dims), momentum)
    return output


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """(input - mean) / sqrt(var + eps) within each of the groups of channels (dim 1), times weight plus bias of the
    channel. RuntimeError unless the groups divide the channels."""
    if is_mixed(input, weight, bias):
        return group_norm(input.to(float32), num_groups, weight, bias, eps).to(input.dtype)
    if input.dim() < 2:
        raise InvalidError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    if num_groups < 1 or input.shape[1] % num_groups:
        raise InvalidError(f"Expected number of channels in input to be divisible by num_groups, but got input of shape "
                           f"{list(input.shape)} and num_groups={num_groups}")
    return _ops.group_norm(input, weight, bias, eps, num_groups)


def instance_norm(input: Tensor, running_mean: Tensor | None = None, running_var: Tensor | None = None,
                  weight: Tensor | None = None, bias: Tensor | None = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Tensor:
    """(input - mean) / sqrt(var + eps) within each channel of each element of the batch, times weight plus bias."""
    if is_mixed(input, running_mean, running_var, weight, bias):
        return instance_norm(input.to(float32), running_mean, running_var, weight, bias, use_input_stats, momentum,
                             eps).to(input.dtype)
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise InvalidError("Expected running_mean and running_var to be defined when use_input_stats=False")
        return _ops.batch_norm_fixed(input, running_mean, running_var, weight, bias, eps)
    if input.dim() < 3:
        raise InvalidError(f"instance_norm takes inputs of at least 3 dims, got size {list(input.shape)}")
    if math.prod(input.shape[2:]) == 1:
        raise InvalidError(f"Expected more than 1 spatial element when training, got input size {list(input.shape)}")
    output = _ops.group_norm(input, weight, bias, eps, max(input.shape[1], 1))
    if running_mean is not None or running_var is not None:
        dims = list(range(2, input.dim()))
        with no_grad():
            x = input.detach()
            _update(running_mean, x.mean(dims).mean(0), momentum)
            _update(running_var, x.var(dims).mean(0), momentum)
    return output


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """input / (k + alpha * the mean square of `size` neighbouring channels) ** beta."""
    if input.dim() < 3:
        raise InvalidError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    low, high = [0] * input.dim(), [0] * input.dim()
    low[1], high[1] = size // 2, (size - 1) // 2
    squares = _ops.pad(input * input, 0, low, high)
    mean = _ops.window(squares, (1,), (input.shape[1],), (size,), (1,), (1,)).sum(-1) / size
    return input / (mean * alpha + k).pow(beta)
