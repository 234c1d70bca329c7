# SPDX-License-Identifier: Apache-2.0
"""Adam and AdamW; formulas and options are torch.optim's. One op a parameter, one launch a step.

foreach, fused and capturable are taken and change nothing: they choose among implementations that PyTorch has."""
from __future__ import annotations

from typing import Any, Iterable

from .. import _ops
from .._creation import zeros_like
from .._tensor import Tensor, assign
from .optimizer import Optimizer, check, count_step


class Adam(Optimizer):
    """decoupled: weight decay is applied to the parameter (AdamW) instead of the gradient."""

    _decoupled = False

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, fused: bool | None = None, capturable: bool = False) -> None:
        check(lr >= 0, "learning rate", lr)
        check(eps >= 0, "epsilon value", eps)
        check(0 <= betas[0] < 1, "beta parameter at index 0", betas[0])
        check(0 <= betas[1] < 1, "beta parameter at index 1", betas[1])
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad,
                                      maximize=maximize))

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        state = {"step": 0, "exp_avg": zeros_like(parameter), "exp_avg_sq": zeros_like(parameter)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(parameter)
        return state

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        rule = _ops.adamw_step if self._decoupled else _ops.adam_step
        kept = [state[name] for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if name in state]
        new = rule(parameter, gradient, kept[0], kept[1], kept[2] if len(kept) > 2 else None, group["lr"],
                   group["betas"][0], group["betas"][1], group["eps"], group["weight_decay"], count_step(state),
                   group["maximize"])
        for target, value in zip([parameter, *kept], new):
            assign(target, value)


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameter itself."""
    _decoupled = True

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *,
                 maximize: bool = False, foreach: bool | None = None, fused: bool | None = None,
                 capturable: bool = False) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)
