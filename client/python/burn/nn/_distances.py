# SPDX-License-Identifier: Apache-2.0
"""Distances and similarities of vectors."""
from __future__ import annotations

from typing import Any

from .._core import InvalidError
from .._functions import FUNCTIONS
from .._tensor import Tensor

__all__ = [
    "bilinear", "cosine_similarity", "normalize", "pairwise_distance", "pdist",
]

_norm = FUNCTIONS["norm"]


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """input divided by its p-norm along dim, at least eps."""
    return input / _norm(input, p, dim, True).clamp(min=eps)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The dot product along dim divided by both norms, each at least eps; x1 and x2 broadcast."""
    return (x1 / _length(x1, dim, eps) * (x2 / _length(x2, dim, eps))).sum(dim)


def _length(x: Tensor, dim: int, eps: float) -> Tensor:
    """The norm along dim, at least eps; its gradient is the norm's even there, as in PyTorch."""
    length = _norm(x, 2, dim, True)
    fixed = length.detach()
    return length + (fixed.clamp(min=eps) - fixed)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dim."""
    return _norm(x1 - x2 + eps, p, -1, keepdim)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The p-norms of the differences of all pairs of rows, (0, 1), (0, 2), ... Shapes: [N, M] -> [N * (N - 1) / 2]."""
    if input.dim() != 2:
        raise InvalidError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if input.shape[0] < 2:
        return input.new_zeros(0)
    first, second = FUNCTIONS["triu_indices"](input.shape[0], input.shape[0], 1)
    return _norm(input.index_select(0, first) - input.index_select(0, second), p, -1)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input1 @ weight[k] @ input2 for each k, plus bias.

    Shapes: input1 [..., in1], input2 [..., in2], weight [out, in1, in2] -> [..., out]."""
    out, in1, in2 = weight.shape
    if tuple(input1.shape[:-1]) != tuple(input2.shape[:-1]):
        raise InvalidError(f"bilinear(): input batch dimensions do not match: got {list(input1.shape)} and "
                           f"{list(input2.shape)}")
    if input1.shape[-1] != in1 or input2.shape[-1] != in2:
        raise InvalidError(f"bilinear(): input sizes {input1.shape[-1]} and {input2.shape[-1]} do not match the "
                           f"weight's {in1} and {in2}")
    between = input1 @ weight.permute(1, 0, 2).reshape(in1, out * in2)
    result = (between.reshape(tuple(input1.shape[:-1]) + (out, in2)) * input2.unsqueeze(-2)).sum(-1)
    return result if bias is None else result + bias
