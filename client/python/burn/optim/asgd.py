# SPDX-License-Identifier: Apache-2.0
"""Averaged gradient descent; formulas and options are torch.optim.ASGD's."""
from __future__ import annotations

from typing import Any, Iterable

from .. import _ops
from .._creation import zeros_like
from .._tensor import Tensor
from .optimizer import (HostNumber, Optimizer, advance, assign_all, capturable as with_choices, check, count_step,
                        decay_of)


class ASGD(Optimizer):
    """Gradient descent with a falling rate; state "ax" is the average of the parameter from step t0 on."""

    host_numbers = ("step", "eta", "mu")

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, lambd: float = 1e-4, alpha: float = 0.75,
                 t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
                 differentiable: bool = False, capturable: bool = False) -> None:
        check(lr >= 0, "learning rate", lr)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        defaults = dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, with_choices(defaults, foreach, capturable, differentiable))

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        return {"step": 0, "eta": float(group["lr"]), "mu": 1.0, "ax": zeros_like(parameter)}

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        def held(number: Any) -> Any:
            return number.value if isinstance(number, HostNumber) else number.clone()
        eta, mu = held(state["eta"]), held(state["mu"])
        new = _ops.asgd_step(parameter, gradient, state["ax"], eta, group["lambd"], mu, decay_of(group),
                             group["maximize"])
        assign_all([parameter, state["ax"]], new)
        step = count_step(state)
        late = step - group["t0"]
        late = late.clamp(min=1.0) if isinstance(late, Tensor) else max(1, late)
        advance(state, "eta", lambda _: group["lr"] / (1 + group["lambd"] * group["lr"] * step) ** group["alpha"])
        advance(state, "mu", lambda _: 1 / late)
