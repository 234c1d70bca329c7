# SPDX-License-Identifier: Apache-2.0
"""Functions of networks, with PyTorch's names and results. Groups of them stand in modules of their own."""
from __future__ import annotations

from typing import Sequence

from .._core import InvalidError
from .. import _ops
from .._dtype import finfo, float32, int64
from .._tensor import Tensor
from ._activations import *  # noqa: F401,F403
from ._attention import *  # noqa: F401,F403
from ._batch_norms import (
    batch_norm as batch_norm, group_norm as group_norm, instance_norm as instance_norm, is_mixed as _is_mixed,
    local_response_norm as local_response_norm,
)
from ._convolution import (
    conv1d as conv1d, conv2d as conv2d, conv3d as conv3d, conv_transpose1d as conv_transpose1d, conv_transpose2d
    as conv_transpose2d, conv_transpose3d as conv_transpose3d, fold as fold, unfold as unfold,
)
from ._ctc import *  # noqa: F401,F403
from ._distances import *  # noqa: F401,F403
from ._embedding import *  # noqa: F401,F403
from ._grid import affine_grid as affine_grid, grid_sample as grid_sample
from ._losses import *  # noqa: F401,F403
from ._padding import *  # noqa: F401,F403
from ._pooling import (
    adaptive_avg_pool1d as adaptive_avg_pool1d, adaptive_avg_pool2d as adaptive_avg_pool2d, adaptive_avg_pool3d
    as adaptive_avg_pool3d, adaptive_max_pool1d as adaptive_max_pool1d, adaptive_max_pool2d as
    adaptive_max_pool2d, adaptive_max_pool3d as adaptive_max_pool3d, avg_pool1d as avg_pool1d, avg_pool2d as
    avg_pool2d, avg_pool3d as avg_pool3d, lp_pool1d as lp_pool1d, lp_pool2d as lp_pool2d, lp_pool3d as lp_pool3d, max_pool1d as
    max_pool1d, max_pool2d as max_pool2d, max_pool3d as max_pool3d, max_unpool1d as max_unpool1d, max_unpool2d as
    max_unpool2d, max_unpool3d as max_unpool3d,
)
from ._resize import (
    interpolate as interpolate, upsample as upsample, upsample_bilinear as upsample_bilinear, upsample_nearest as upsample_nearest,
)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias. Shapes: input [..., in], weight [out, in] or [in], bias [out] -> [..., out]."""
    if weight.dim() == 1:
        product = _ops.matmul(input, weight)
        return product if bias is None else product + bias
    return _ops.linear(input, weight, bias)


def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """(input - mean) / sqrt(var + eps) * weight + bias over the last dims."""
    if _is_mixed(input, weight, bias):
        return layer_norm(input.to(float32), normalized_shape, weight, bias, eps).to(input.dtype)
    return _ops.layer_norm(input, weight, bias, eps, tuple(normalized_shape))


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:
    """input / sqrt(mean(input * input) + eps) * weight over the last dims."""
    if _is_mixed(input, weight):
        eps = finfo(input.dtype).eps if eps is None else eps
        return rms_norm(input.to(float32), normalized_shape, weight, eps).to(input.dtype)
    return _ops.rms_norm(input, weight, finfo(input.dtype).eps if eps is None else eps, tuple(normalized_shape))


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the class of each element, in a new last dim; -1 classes: as many as the largest needs."""
    if tensor.dtype is not int64:
        raise InvalidError(f"one_hot is only applicable to index tensor of type int64, not {tensor.dtype}")
    if num_classes == -1:
        if tensor.numel() == 0:
            raise InvalidError("Can not infer total number of classes from empty tensor.")
        if int(tensor.min()) < 0:
            raise InvalidError("Class values must be non-negative.")
        num_classes = int(tensor.max()) + 1
    if num_classes < 1:
        raise InvalidError(f"num_classes should be positive, got {num_classes}")
    return _ops.one_hot(tensor, num_classes)
