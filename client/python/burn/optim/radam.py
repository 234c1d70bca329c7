# SPDX-License-Identifier: Apache-2.0
"""RAdam; formulas and options are torch.optim.RAdam's."""
from __future__ import annotations

from typing import Any, Iterable

from .. import _ops
from .._creation import zeros_like
from .._tensor import Tensor
from .optimizer import Optimizer, assign_all, capturable as with_choices, check, check_betas, count_step, decay_of


class RAdam(Optimizer):
    """Adam that goes by the mean of gradients alone until enough steps were seen."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
                 foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
                 differentiable: bool = False) -> None:
        check(lr >= 0, "learning rate", lr)
        check(eps >= 0, "epsilon value", eps)
        check_betas(betas)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize,
                        decoupled_weight_decay=decoupled_weight_decay)
        super().__init__(params, with_choices(defaults, foreach, capturable, differentiable))

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        return {"step": 0, "exp_avg": zeros_like(parameter), "exp_avg_sq": zeros_like(parameter)}

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        kept = [state["exp_avg"], state["exp_avg_sq"]]
        new = _ops.radam_step(parameter, gradient, *kept, group["lr"], *group["betas"], group["eps"], decay_of(group),
                              count_step(state), group["decoupled_weight_decay"], group["maximize"])
        assign_all([parameter, *kept], new)
