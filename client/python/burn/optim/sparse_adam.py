# SPDX-License-Identifier: Apache-2.0
"""Adam for gradients of which most rows are zeros; formulas and options are torch.optim's."""
from __future__ import annotations

from typing import Any, Iterable

from .. import _ops
from .._creation import zeros_like
from .._tensor import Tensor
from .optimizer import Optimizer, assign_all, check, check_betas, count_step


class SparseAdam(Optimizer):
    """Adam that leaves rows alone, and their running means, whose gradient is zeros: gradients are dense tensors here, and
    such rows stand for those that a sparse one has not."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
                 maximize: bool = False) -> None:
        check(lr > 0, "learning rate", lr)
        check(eps > 0, "epsilon value", eps)
        check_betas(betas)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        return {"step": 0, "exp_avg": zeros_like(parameter), "exp_avg_sq": zeros_like(parameter)}

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        step, (beta1, beta2) = count_step(state), group["betas"]
        gradient = -gradient if group["maximize"] else gradient
        m, v = state["exp_avg"], state["exp_avg_sq"]
        dims = tuple(range(1, gradient.dim()))
        used = _ops.any(gradient != 0, dims, True) if dims else gradient != 0
        new_m, new_v = m + (gradient - m) * (1 - beta1), v + (gradient * gradient - v) * (1 - beta2)
        rate = group["lr"] * (1 - beta2 ** step) ** 0.5 / (1 - beta1 ** step)
        change = new_m / (new_v.sqrt() + group["eps"]) * rate
        assign_all([parameter, m, v], [_ops.where(used, parameter - change, parameter), _ops.where(used, new_m, m),
                                       _ops.where(used, new_v, v)])
