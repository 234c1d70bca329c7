# SPDX-License-Identifier: Apache-2.0
"""Stochastic gradient descent; formulas and options are torch.optim.SGD's."""
from __future__ import annotations

from typing import Any, Iterable

from .._tensor import Tensor, assign
from .optimizer import Optimizer, check


class SGD(Optimizer):
    def __init__(self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float = 0, nesterov: bool = False, *, maximize: bool = False) -> None:
        check(lr >= 0, "learning rate", lr)
        check(momentum >= 0, "momentum value", momentum)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                                      nesterov=nesterov, maximize=maximize))

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        if group["maximize"]:
            gradient = -gradient
        if group["weight_decay"] != 0:
            gradient = gradient + parameter * group["weight_decay"]
        if group["momentum"] != 0:
            before = state.get("momentum_buffer")
            if before is None:
                buffer = gradient.clone()
            else:
                buffer = before * group["momentum"] + gradient * (1 - group["dampening"])
            state["momentum_buffer"] = buffer
            gradient = gradient + buffer * group["momentum"] if group["nesterov"] else buffer
        assign(parameter, parameter - gradient * group["lr"])
