# SPDX-License-Identifier: Apache-2.0
"""NAdam; formulas and options are torch.optim.NAdam's."""
from __future__ import annotations

from typing import Any, Iterable

from .. import _ops
from .._creation import zeros_like
from .._tensor import Tensor
from .optimizer import (Optimizer, advance, assign_all, capturable as with_choices, check, check_betas, count_step,
                        decay_of)


class NAdam(Optimizer):
    """Adam with Nesterov's momentum, whose strength grows by a schedule."""

    host_numbers = ("step", "mu_product")

    def __init__(self, params: Iterable[Any], lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
                 decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
                 capturable: bool = False, differentiable: bool = False) -> None:
        check(lr >= 0, "learning rate", lr)
        check(eps >= 0, "epsilon value", eps)
        check_betas(betas)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        check(momentum_decay >= 0, "momentum_decay value", momentum_decay)
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
                        decoupled_weight_decay=decoupled_weight_decay, maximize=maximize)
        super().__init__(params, with_choices(defaults, foreach, capturable, differentiable))

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        return {"step": 0, "mu_product": 1.0, "exp_avg": zeros_like(parameter),
                "exp_avg_sq": zeros_like(parameter)}

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        step, kept = count_step(state), [state["exp_avg"], state["exp_avg_sq"]]

        def momentum(at: Any) -> Any:
            return group["betas"][0] * (1 - 0.5 * 0.96 ** (at * group["momentum_decay"]))
        mu, ahead = momentum(step), momentum(step + 1)
        product = advance(state, "mu_product", lambda before: before * mu)
        new = _ops.nadam_step(parameter, gradient, *kept, group["lr"], *group["betas"], group["eps"], decay_of(group),
                              step, (1 - mu) / (1 - product), ahead / (1 - product * ahead),
                              group["decoupled_weight_decay"], group["maximize"])
        assign_all([parameter, *kept], new)
