# SPDX-License-Identifier: Apache-2.0
"""Rprop; formulas and options are torch.optim.Rprop's."""
from __future__ import annotations

from typing import Any, Iterable

from .._core import InvalidError
from .. import _ops
from .._creation import full_like, zeros_like
from .._tensor import Tensor
from .optimizer import Optimizer, assign_all, capturable as with_choices, check, count_step


class Rprop(Optimizer):
    """Goes by the sign of the gradient; an element's step grows while the sign stays and shrinks when it turns."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
                 step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False,
                 foreach: bool | None = None, maximize: bool = False, differentiable: bool = False) -> None:
        check(lr >= 0, "learning rate", lr)
        if not 0 < etas[0] < 1 < etas[1]:
            raise InvalidError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = dict(lr=lr, etas=etas, step_sizes=step_sizes, maximize=maximize)
        super().__init__(params, with_choices(defaults, foreach, capturable, differentiable))

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        return {"step": 0, "prev": zeros_like(parameter), "step_size": full_like(parameter, group["lr"])}

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        count_step(state)
        kept = [state["prev"], state["step_size"]]
        new = _ops.rprop_step(parameter, gradient, *kept, *group["etas"], *group["step_sizes"], group["maximize"])
        assign_all([parameter, *kept], new)
