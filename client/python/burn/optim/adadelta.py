# SPDX-License-Identifier: Apache-2.0
"""Adadelta; formulas and options are torch.optim.Adadelta's."""
from __future__ import annotations

from typing import Any, Iterable

from .. import _ops
from .._creation import zeros_like
from .._tensor import Tensor
from .optimizer import Optimizer, assign_all, capturable as with_choices, check, count_step, decay_of


class Adadelta(Optimizer):
    """Scales the gradient by the ratio of the roots of two running means: squares of updates and of gradients."""

    def __init__(self, params: Iterable[Any], lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6,
                 weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
                 maximize: bool = False, differentiable: bool = False) -> None:
        check(lr >= 0, "learning rate", lr)
        check(0 <= rho <= 1, "rho value", rho)
        check(eps >= 0, "epsilon value", eps)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        defaults = dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, with_choices(defaults, foreach, capturable, differentiable))

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        return {"step": 0, "square_avg": zeros_like(parameter), "acc_delta": zeros_like(parameter)}

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        count_step(state)
        kept = [state["square_avg"], state["acc_delta"]]
        new = _ops.adadelta_step(parameter, gradient, *kept, group["lr"], group["rho"], group["eps"], decay_of(group),
                                 group["maximize"])
        assign_all([parameter, *kept], new)
