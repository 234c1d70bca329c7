# SPDX-License-Identifier: Apache-2.0
"""Adam and AdamW; formulas and options are torch.optim's. One op a parameter, one launch a step."""
from __future__ import annotations

from typing import Any, Iterable

from .. import _ops
from .._creation import zeros_like
from .._tensor import Tensor
from .optimizer import Optimizer, assign_all, capturable as with_choices, check, check_betas, count_step, decay_of


class Adam(Optimizer):
    """Means of gradients and of their squares; amsgrad divides by the largest of the latter so far.
    decoupled_weight_decay: weight decay is applied to the parameter (AdamW) instead of the gradient."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
                 maximize: bool = False, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None, decoupled_weight_decay: bool = False) -> None:
        check(lr >= 0, "learning rate", lr)
        check(eps >= 0, "epsilon value", eps)
        check_betas(betas)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize)
        with_choices(defaults, foreach, capturable, differentiable, fused)
        super().__init__(params, {**defaults, "decoupled_weight_decay": decoupled_weight_decay})

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        state = {"step": 0, "exp_avg": zeros_like(parameter), "exp_avg_sq": zeros_like(parameter)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = zeros_like(parameter)
        return state

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        rule = _ops.adamw_step if group.get("decoupled_weight_decay") else _ops.adam_step
        kept = [state[name] for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if name in state]
        new = rule(parameter, gradient, kept[0], kept[1], kept[2] if len(kept) > 2 else None, group["lr"],
                   group["betas"][0], group["betas"][1], group["eps"], decay_of(group), count_step(state),
                   group["maximize"])
        assign_all([parameter, *kept], new)


class AdamW(Adam):
    """Adam whose weight decay shrinks the parameters themselves."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
                 eps: float = 1e-8, weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
                 foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
                 fused: bool | None = None) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
                         capturable=capturable, differentiable=differentiable, fused=fused,
                         decoupled_weight_decay=True)
