# SPDX-License-Identifier: Apache-2.0
"""Adafactor; formulas and options are torch.optim's."""
from __future__ import annotations

import math
from typing import Any, Iterable

from .. import _ops
from .._creation import zeros, zeros_like
from .._dtype import finfo
from .._tensor import Tensor, assign
from .optimizer import Optimizer, capturable as with_choices, check, count_step


class Adafactor(Optimizer):
    """Scales updates by running means of squared gradients, which matrices keep as one number a row and a column, and by the
    size of the parameter."""

    def __init__(self, params: Iterable[Any], lr: float = 1e-2, beta2_decay: float = -0.8,
                 eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
                 foreach: bool | None = None, maximize: bool = False) -> None:
        check(lr >= 0, "learning rate", lr)
        check(beta2_decay <= 0, "beta2_decay", beta2_decay)
        check(eps[0] is None or eps[0] >= 0, "epsilon1", eps[0])
        check(eps[1] >= 0, "epsilon2", eps[1])
        check(d >= 1, "clipping threshold d", d)
        check(weight_decay >= 0, "weight_decay value", weight_decay)
        defaults = dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, maximize=maximize)
        super().__init__(params, with_choices(defaults, foreach, None))

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        if parameter.dim() < 2:
            return {"step": 0, "variance": zeros_like(parameter)}
        shape = tuple(parameter.shape)
        return {"step": 0, "row_var": zeros((*shape[:-1], 1), dtype=parameter.dtype),
                "col_var": zeros((*shape[:-2], 1, shape[-1]), dtype=parameter.dtype)}

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        step, lr, (eps1, eps2) = count_step(state), group["lr"], group["eps"]
        eps1 = finfo(parameter.dtype).eps if eps1 is None else eps1
        gradient = -gradient if group["maximize"] else gradient
        share = step ** group["beta2_decay"]
        rate = _least(lr, step ** -0.5)
        count = math.sqrt(parameter.numel())
        rate = (parameter.norm() / count).clamp(min=eps2) * rate
        squares = gradient * gradient
        if parameter.dim() > 1:
            rows, columns = state["row_var"], state["col_var"]
            rows = assign(rows, rows + (squares.mean(-1, True) - rows) * share)
            columns = assign(columns, columns + (squares.mean(-2, True) - columns) * share)
            variance = (rows @ columns) / rows.mean(-2, True).clamp(min=eps1)
        else:
            variance = assign(state["variance"], state["variance"] + (squares - state["variance"]) * share)
        change = variance.clamp(min=eps1 * eps1).rsqrt() * gradient
        rate = rate / (change.norm() / (count * group["d"])).clamp(min=1.0)
        kept = parameter * (1 - lr * group["weight_decay"]) if group["weight_decay"] else parameter
        assign(parameter, kept - change * rate)


def _least(a: Any, b: Any) -> Any:
    """The lesser of two numbers, each of which may be a tensor."""
    return _ops.minimum(a, b) if isinstance(a, Tensor) or isinstance(b, Tensor) else min(a, b)
