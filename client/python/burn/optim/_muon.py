# SPDX-License-Identifier: Apache-2.0
"""Muon; formulas and options are torch.optim's."""
from __future__ import annotations

import math
from typing import Any, Iterable

from .._core import InvalidError
from .._creation import zeros_like
from .._dtype import bfloat16
from .._shape import addmm
from .._tensor import Tensor, assign
from .optimizer import Optimizer, check


def _orthogonalized(matrix: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Nearly the orthogonal factor of a matrix, by an odd polynomial of degree 5 applied several times in bfloat16."""
    if steps >= 100:
        raise InvalidError("Number of steps must be less than 100 for computational efficiency")
    a, b, c = coefficients
    x = matrix.to(bfloat16)
    tall = x.shape[0] > x.shape[1]
    x = x.mT if tall else x
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.mT
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


class Muon(Optimizer):
    """Momentum whose updates are made nearly orthogonal matrices; for parameters of two dims."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
                 nesterov: bool = True, ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
                 eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str | None = None) -> None:
        if not lr >= 0:
            raise InvalidError(f"Learning rate should be >= 0 but is: {lr}")
        if not momentum >= 0:
            raise InvalidError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0:
            raise InvalidError(f"weight decay should be >= 0 but is: {weight_decay}")
        check(adjust_lr_fn in (None, "original", "match_rms_adamw"), "adjust_lr_fn", adjust_lr_fn)
        super().__init__(params, dict(lr=lr, weight_decay=weight_decay, momentum=momentum, nesterov=nesterov,
                                      ns_coefficients=ns_coefficients, eps=eps, ns_steps=ns_steps, adjust_lr_fn=adjust_lr_fn))
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.dim() != 2:
                    raise InvalidError(f"Muon only supports 2D parameters whereas we found a parameter with size: "
                                       f"{parameter.shape}")

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        return {"momentum_buffer": zeros_like(parameter)}

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        momentum, lr = group["momentum"], group["lr"]
        kept = assign(state["momentum_buffer"], state["momentum_buffer"].lerp(gradient, 1 - momentum))
        change = gradient.lerp(kept, momentum) if group["nesterov"] else kept
        change = _orthogonalized(change, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rows, columns = parameter.shape
        if group["adjust_lr_fn"] == "match_rms_adamw":
            ratio = 0.2 * math.sqrt(max(rows, columns))
        else:
            ratio = math.sqrt(max(1, rows / columns))
        assign(parameter, parameter * (1 - lr * group["weight_decay"]) - change.to(parameter.dtype) * (lr * ratio))
