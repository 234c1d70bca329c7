# SPDX-License-Identifier: Apache-2.0
"""Parameters of one shape, probabilities and their logits."""
from __future__ import annotations

import functools
from typing import Any

from .._core import InvalidError
from .. import _ops
from .._creation import tensor
from .._dtype import finfo, get_default_dtype
from .._functions import FUNCTIONS
from .._tensor import Tensor, enable_grad


class lazy_property(functools.cached_property):
    """Computed when it is first asked for, with gradients, and kept."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            return super().__get__(instance, owner)


def broadcast_all(*values: Any) -> list[Tensor]:
    """All as tensors of one shape; numbers get the dtype of the tensors, or the default one."""
    for value in values:
        if not isinstance(value, (Tensor, int, float)):
            raise InvalidError("Input arguments must all be instances of numbers.Number, burn.Tensor or objects "
                               f"implementing __torch_function__, got {type(value).__name__}")
    first = next((value for value in values if isinstance(value, Tensor)), None)
    dtype = get_default_dtype() if first is None or not first.is_floating_point() else first.dtype
    return list(FUNCTIONS["broadcast_tensors"](*(v if isinstance(v, Tensor) else tensor(v, dtype=dtype) for v in values)))


def floats(*values: Any) -> list[Tensor]:
    """broadcast_all in a floating dtype."""
    return [v if v.is_floating_point() else v.to(get_default_dtype()) for v in broadcast_all(*values)]


def clamp_probs(probs: Tensor) -> Tensor:
    """Away from 0 and 1, so that logarithms are finite."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(eps, 1 - eps)


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """Probabilities of logits: sigmoid, or softmax over the last dim."""
    return _ops.sigmoid(logits) if is_binary else _ops.softmax(logits, -1)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """The inverse of logits_to_probs, with probabilities held away from 0 and 1."""
    safe = clamp_probs(probs)
    return safe.log() - (-safe).log1p() if is_binary else safe.log()


def sum_rightmost(value: Any, count: int) -> Any:
    """The sum over the last dims."""
    return value if count == 0 else value.sum(tuple(range(-count, 0)))
