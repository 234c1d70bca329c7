# SPDX-License-Identifier: Apache-2.0
"""Adagrad; formulas and options are torch.optim.Adagrad's."""
from __future__ import annotations

from typing import Any, Iterable

from .. import _ops
from .._creation import full_like
from .._tensor import Tensor
from .optimizer import Optimizer, assign_all, capturable, check, count_step, decay_of


class Adagrad(Optimizer):
    """Divides the gradient by the root of the sum of all its squares so far."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
                 initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
                 maximize: bool = False, differentiable: bool = False, fused: bool | None = None) -> None:
        check(lr >= 0, "learning rate", lr)
        check(lr_decay >= 0, "lr_decay value", lr_decay)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        check(initial_accumulator_value >= 0, "initial_accumulator_value value", initial_accumulator_value)
        check(eps >= 0, "epsilon value", eps)
        defaults = dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                        initial_accumulator_value=initial_accumulator_value, maximize=maximize)
        super().__init__(params, capturable(defaults, foreach, None, differentiable, fused))
        for group in self.param_groups:  # as PyTorch's, it has its state from the start
            for parameter in group["params"]:
                self._state_of(parameter, group)

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        return {"step": 0, "sum": full_like(parameter, group["initial_accumulator_value"])}

    def share_memory(self) -> None:
        """The state is the daemon's: there is nothing to do."""

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        new = _ops.adagrad_step(parameter, gradient, state["sum"], group["lr"], group["lr_decay"], group["eps"],
                                decay_of(group), count_step(state), group["maximize"])
        assign_all([parameter, state["sum"]], new)
