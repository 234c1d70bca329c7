# SPDX-License-Identifier: Apache-2.0
"""Gradient clipping, by norm and by value."""
from __future__ import annotations

import warnings
from typing import Any, Iterable

from ..._core import InvalidError
from ... import _ops
from ..._creation import zeros
from ..._functions import FUNCTIONS, stack
from ..._tensor import Tensor, no_grad

Parameters = Tensor | Iterable[Tensor]


def _owners(parameters: Parameters) -> list[Tensor]:
    if isinstance(parameters, Tensor):
        parameters = [parameters]
    else:
        parameters = list(parameters)
        if not parameters:
            warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=3)
    return [parameter for parameter in parameters if parameter.grad is not None]


@no_grad
def get_total_norm(tensors: Parameters, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                   foreach: bool | None = None) -> Tensor:
    """The norm of all elements of all tensors together.

    Errors: RuntimeError if error_if_nonfinite and the norm is not finite (this reads it)."""
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return zeros(())
    if norm_type == 2:
        total = _ops.global_norm([tensor.detach() for tensor in tensors])
    else:
        norm = FUNCTIONS["norm"]
        total = norm(stack([norm(tensor, norm_type) for tensor in tensors]), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise InvalidError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
                           "cannot be clipped. To disable this error and scale the gradients by the non-finite norm "
                           "anyway, set `error_if_nonfinite=False`")
    return total


@no_grad
def clip_grads_with_norm_(parameters: Parameters, max_norm: float, total_norm: Tensor,
                          foreach: bool | None = None) -> None:
    """Scales all gradients by max_norm / total_norm where that is below 1."""
    owners = _owners(parameters)
    if not owners:
        return
    scale = _ops.clip_coefficient(total_norm, float(max_norm))
    for owner in owners:
        owner.grad.mul_(scale if owner.grad.dtype is scale.dtype else scale.to(owner.grad.dtype))


def clip_grad_norm_(parameters: Parameters, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False,
                    foreach: bool | None = None) -> Tensor:
    """Scales all gradients so that the norm of them together is at most max_norm; returns the norm before."""
    owners = _owners(parameters)
    total = get_total_norm([owner.grad for owner in owners], norm_type, error_if_nonfinite)
    if owners:
        clip_grads_with_norm_(owners, max_norm, total)
    return total


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """clip_grad_norm_ under its former name."""
    warnings.warn("`clip_grad_norm` is now deprecated in favor of `clip_grad_norm_`.", FutureWarning, stacklevel=2)
    return clip_grad_norm_(*args, **kwargs)


@no_grad
def clip_grad_value_(parameters: Parameters, clip_value: float, foreach: bool | None = None) -> None:
    """Clamps each gradient to [-clip_value, clip_value]."""
    for owner in _owners(parameters):
        owner.grad.clamp_(-float(clip_value), float(clip_value))
