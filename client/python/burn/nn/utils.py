# SPDX-License-Identifier: Apache-2.0
"""Gradient clipping and flat views of parameters."""
from __future__ import annotations

from typing import Iterable

from .._functions import cat, stack
from .._tensor import Tensor, no_grad


def _gradients(parameters: Tensor | Iterable[Tensor]) -> list[Tensor]:
    parameters = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [parameter for parameter in parameters if parameter.grad is not None]


def clip_grad_norm_(parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False) -> Tensor:
    """Scales all gradients so that the norm of them together is at most max_norm; returns the norm before."""
    from .._creation import tensor as make_tensor
    max_norm, norm_type = float(max_norm), float(norm_type)
    owners = _gradients(parameters)
    if not owners:
        return make_tensor(0.0)
    with no_grad():
        if norm_type == float("inf"):
            total = stack([owner.grad.abs().max() for owner in owners]).max()
        else:
            powers = [(owner.grad * owner.grad if norm_type == 2 else owner.grad.abs().pow(norm_type)).sum()
                      for owner in owners]
            total = stack(powers).sum()
            total = total.sqrt() if norm_type == 2 else total.pow(1 / norm_type)
        if error_if_nonfinite and not bool(total.isfinite()):
            raise RuntimeError(f"the total norm of order {norm_type} of the gradients is not finite")
        scale = (max_norm / (total + 1e-6)).clamp(max=1.0)
        for owner in owners:
            owner.grad.mul_(scale)
    return total


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Clamps each gradient to [-clip_value, clip_value]."""
    with no_grad():
        for owner in _gradients(parameters):
            owner.grad.clamp_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    return cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vector: Tensor, parameters: Iterable[Tensor]) -> None:
    at = 0
    with no_grad():
        for parameter in parameters:
            count = parameter.numel()
            parameter.copy_(vector[at:at + count].reshape(parameter.shape))
            at += count
