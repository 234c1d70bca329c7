# SPDX-License-Identifier: Apache-2.0
"""Stochastic gradient descent; formulas and options are torch.optim.SGD's."""
from __future__ import annotations

from typing import Any, Iterable

from .._core import InvalidError
from .. import _ops
from .._creation import zeros_like
from .._tensor import Tensor, assign
from .optimizer import Optimizer, capturable, check, decay_of, tracing


class SGD(Optimizer):
    """p -= lr * (g + weight_decay * p), with a buffer of momentum if that is not 0."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, momentum: float = 0, dampening: float = 0,
                 weight_decay: float = 0, nesterov: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None) -> None:
        check(lr >= 0, "learning rate", lr)
        check(momentum >= 0, "momentum value", momentum)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise InvalidError("Nesterov momentum requires a momentum and zero dampening")
        defaults = dict(lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov,
                        maximize=maximize)
        super().__init__(params, capturable(defaults, foreach, None, differentiable, fused))

    def complete_state(self, parameter: Tensor, state: dict, group: dict) -> None:
        if group["momentum"] and not group["dampening"]:  # then momentum of zeros is what a first step does
            if state.get("momentum_buffer") is None:
                state["momentum_buffer"] = zeros_like(parameter)

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        decay = decay_of(group)
        if group["momentum"] == 0:
            assign(parameter, _ops.sgd_step(parameter, gradient, group["lr"], decay, group["maximize"]))
            return
        before = state.get("momentum_buffer")
        if before is None and tracing():
            raise InvalidError("a first step of SGD with dampening cannot be traced: take one step before burn.jit")
        new, buffer = _ops.sgd_momentum_step(parameter, gradient, before, group["lr"], group["momentum"],
                                             group["dampening"], decay, group["nesterov"], group["maximize"])
        assign(parameter, new)
        if before is None:
            state["momentum_buffer"] = buffer
        else:
            assign(before, buffer)
