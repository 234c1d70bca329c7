# SPDX-License-Identifier: Apache-2.0
"""Adamax; formulas and options are torch.optim.Adamax's."""
from __future__ import annotations

from typing import Any, Iterable

from .. import _ops
from .._creation import zeros_like
from .._tensor import Tensor
from .optimizer import Optimizer, assign_all, capturable as with_choices, check, check_betas, count_step, decay_of


class Adamax(Optimizer):
    """Adam with the decaying largest size of a gradient in place of the mean of squares."""

    def __init__(self, params: Iterable[Any], lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check(lr >= 0, "learning rate", lr)
        check(eps >= 0, "epsilon value", eps)
        check_betas(betas)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, with_choices(defaults, foreach, capturable, differentiable))

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        return {"step": 0, "exp_avg": zeros_like(parameter), "exp_inf": zeros_like(parameter)}

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        kept = [state["exp_avg"], state["exp_inf"]]
        new = _ops.adamax_step(parameter, gradient, *kept, group["lr"], *group["betas"], group["eps"], decay_of(group),
                               count_step(state), group["maximize"])
        assign_all([parameter, *kept], new)
