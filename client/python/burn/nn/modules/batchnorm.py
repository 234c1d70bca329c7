# SPDX-License-Identifier: Apache-2.0
"""Norms over batches, instances, groups and neighbouring channels."""
from __future__ import annotations

from typing import Any

from ..._core import InvalidError, UnsupportedError
from ..._creation import empty, ones, tensor, zeros
from ..._dtype import float32, int64
from ..._tensor import Tensor
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module


class _Norm(Module):
    """Parameters and running statistics of one number a channel."""

    def __init__(self, num_features: int, eps: float, momentum: float | None, affine: bool, track_running_stats: bool,
                 device: Any, dtype: Any, bias: bool) -> None:
        super().__init__()
        self.num_features, self.eps, self.momentum = num_features, eps, momentum
        self.affine, self.track_running_stats = affine, track_running_stats
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(empty(num_features, dtype=dtype, device=device)) if wanted else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features, dtype=dtype, device=device) if tracked else None)
        self.register_buffer("running_var", ones(num_features, dtype=dtype, device=device) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=int64, device=device) if tracked else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise UnsupportedError(f"{type(self).__name__} does not say which inputs it takes")

    def _need_dims(self, input: Tensor, *dims: int) -> None:
        if input.dim() not in dims:
            raise InvalidError(f"expected {' or '.join(f'{dim}D' for dim in dims)} input (got {input.dim()}D input)")

    def extra_repr(self) -> str:
        return (f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
                f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}")


class _BatchNorm(_Norm):
    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        factor: Any = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the plain mean of all batches
                factor = 1.0 / self.num_batches_tracked.to(float32)
        by_batch = self.training or self.running_mean is None
        tracks = not self.training or self.track_running_stats
        return F.batch_norm(input, self.running_mean if tracks else None, self.running_var if tracks else None,
                            self.weight, self.bias, by_batch, factor, self.eps)


class BatchNorm1d(_BatchNorm):
    """functional.batch_norm of [batch, channels] or [batch, channels, length]; momentum None is a plain mean."""

    def _check_input_dim(self, input: Tensor) -> None:
        self._need_dims(input, 2, 3)


class BatchNorm2d(_BatchNorm):
    """functional.batch_norm of [batch, channels, height, width]; momentum None is a plain mean."""

    def _check_input_dim(self, input: Tensor) -> None:
        self._need_dims(input, 4)


class BatchNorm3d(_BatchNorm):
    """functional.batch_norm of [batch, channels, depth, height, width]."""

    def _check_input_dim(self, input: Tensor) -> None:
        self._need_dims(input, 5)


class _InstanceNorm(_Norm):
    places = 0

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = False,
                 track_running_stats: bool = False, device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def _check_input_dim(self, input: Tensor) -> None:
        self._need_dims(input, self.places + 1, self.places + 2)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        batched = input.dim() == self.places + 2
        channels = input.shape[1 if batched else 0]
        if self.affine and channels != self.num_features:
            raise InvalidError(f"expected input's size at dim={1 if batched else 0} to match num_features "
                               f"({self.num_features}), but got: {channels}.")
        output = F.instance_norm(input if batched else input.unsqueeze(0), self.running_mean, self.running_var,
                                 self.weight, self.bias, self.training or not self.track_running_stats, self.momentum,
                                 self.eps)
        return output if batched else output.squeeze(0)


class InstanceNorm1d(_InstanceNorm):
    """functional.instance_norm of [batch, channels, length]; the batch may be missing."""

    places = 1


class InstanceNorm2d(_InstanceNorm):
    """functional.instance_norm of [batch, channels, height, width]; the batch may be missing."""

    places = 2


class InstanceNorm3d(_InstanceNorm):
    """functional.instance_norm of [batch, channels, depth, height, width]; the batch may be missing."""

    places = 3


class GroupNorm(Module):
    """functional.group_norm with one weight and bias a channel."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, device: Any = None,
                 dtype: Any = None, *, bias: bool = True) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise InvalidError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        for name, wanted in (("weight", affine), ("bias", affine and bias)):
            self.register_parameter(name, Parameter(empty(num_channels, dtype=dtype, device=device)) if wanted else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        if self.affine:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
                f"bias={self.bias is not None}")


class LocalResponseNorm(Module):
    """functional.local_response_norm with fixed constants."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
