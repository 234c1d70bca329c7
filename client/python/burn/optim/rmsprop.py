# SPDX-License-Identifier: Apache-2.0
"""RMSprop; formulas and options are torch.optim.RMSprop's."""
from __future__ import annotations

from typing import Any, Iterable

from .. import _ops
from .._creation import zeros_like
from .._tensor import Tensor
from .optimizer import Optimizer, assign_all, capturable as with_choices, check, count_step, decay_of


class RMSprop(Optimizer):
    """Divides the gradient by the root of the running mean of its squares; centered: of its variance."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0, momentum: float = 0, centered: bool = False, capturable: bool = False,
                 foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None:
        check(lr >= 0, "learning rate", lr)
        check(eps >= 0, "epsilon value", eps)
        check(momentum >= 0, "momentum value", momentum)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        check(alpha >= 0, "alpha value", alpha)
        defaults = dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay,
                        maximize=maximize)
        super().__init__(params, with_choices(defaults, foreach, capturable, differentiable))

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        state = {"step": 0, "square_avg": zeros_like(parameter)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(parameter)
        if group["centered"]:
            state["grad_avg"] = zeros_like(parameter)
        return state

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        count_step(state)
        buffer = state["momentum_buffer"] if group["momentum"] > 0 else None
        kept = [state["square_avg"]] + ([state["grad_avg"]] if group["centered"] else [])
        rule = _ops.rmsprop_centered_step if group["centered"] else _ops.rmsprop_step
        new = rule(parameter, gradient, *kept, buffer, group["lr"], group["alpha"], group["eps"],
                   group["momentum"] if buffer is not None else None, decay_of(group), group["maximize"])
        assign_all([parameter, *kept, *([buffer] if buffer is not None else [])], new)
