# SPDX-License-Identifier: Apache-2.0
"""RMSprop; formulas and options are torch.optim.RMSprop's. foreach and capturable change nothing."""
from __future__ import annotations

from typing import Any, Iterable

from .._creation import zeros_like
from .._tensor import Tensor, assign
from .optimizer import Optimizer, check, count_step


class RMSprop(Optimizer):
    """Steps divided by a running root mean square of the gradient."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8,
                 weight_decay: float = 0, momentum: float = 0, centered: bool = False, *,
                 maximize: bool = False, foreach: bool | None = None, capturable: bool = False) -> None:
        check(lr >= 0, "learning rate", lr)
        check(eps >= 0, "epsilon value", eps)
        check(momentum >= 0, "momentum value", momentum)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        check(alpha >= 0, "alpha value", alpha)
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered,
                                      weight_decay=weight_decay, maximize=maximize))

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        state = {"step": 0, "square_avg": zeros_like(parameter)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = zeros_like(parameter)
        if group["centered"]:
            state["grad_avg"] = zeros_like(parameter)
        return state

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        count_step(state)
        alpha = group["alpha"]
        if group["maximize"]:
            gradient = -gradient
        if group["weight_decay"] != 0:
            gradient = gradient + parameter * group["weight_decay"]
        square = assign(state["square_avg"], state["square_avg"] * alpha + gradient * gradient * (1 - alpha))
        if group["centered"]:
            mean = assign(state["grad_avg"], state["grad_avg"] * alpha + gradient * (1 - alpha))
            square = square - mean * mean
        change = gradient / (square.sqrt() + group["eps"])
        if group["momentum"] > 0:
            change = assign(state["momentum_buffer"], state["momentum_buffer"] * group["momentum"] + change)
        assign(parameter, parameter - change * group["lr"])
