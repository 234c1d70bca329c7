# SPDX-License-Identifier: Apache-2.0
"""Gradients against differences; torch.autograd.gradcheck's names."""
from __future__ import annotations

from typing import Any, Callable

from .._core import InvalidError
from .._tensor import Tensor
from . import grad


class GradcheckError(InvalidError):
    """Raised where the gradient and the differences disagree."""


def _outputs(func: Callable, inputs: tuple) -> list:
    found = func(*inputs)
    return [y for y in (found if isinstance(found, (tuple, list)) else [found])
            if isinstance(y, Tensor) and y.dtype.is_floating_point]


def gradcheck(func: Callable, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
              raise_exception: bool = True, **_: Any) -> bool:
    """Whether the gradients of func equal central differences; inputs shall be float64."""
    import numpy as np
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    wanted = [x for x in inputs if isinstance(x, Tensor) and x.requires_grad]
    if not wanted:
        raise InvalidError("gradcheck expects at least one input tensor to require gradient")
    outputs = _outputs(func, inputs)
    for number, y in enumerate(outputs):
        if not y.requires_grad:
            continue
        rows = [grad(y.reshape(-1)[k], wanted, retain_graph=True, materialize_grads=True) for k in range(y.numel())]
        for place, x in enumerate(wanted):
            analytic = np.array([row[place].detach().numpy().reshape(-1) for row in rows]).reshape(y.numel(), -1)
            numeric = _differences(func, inputs, x, number, y.numel(), eps)
            if not np.allclose(analytic, numeric, rtol=rtol, atol=atol, equal_nan=True):
                if not raise_exception:
                    return False
                raise GradcheckError(f"Jacobian mismatch for output {number} with respect to input {place},\n"
                                     f"numerical:{numeric.T}\nanalytical:{analytic.T}\n")
    return True


def _differences(func: Callable, inputs: tuple, x: Tensor, number: int, count: int, eps: float) -> Any:
    import numpy as np
    start = x.detach().clone()
    columns = []
    for k in range(x.numel()):
        sides = []
        for sign in (1, -1):
            moved = start.numpy().copy()
            moved.reshape(-1)[k] += sign * eps
            x.data = start.new_tensor(moved) if hasattr(start, "new_tensor") else _like(moved)
            sides.append(_outputs(func, inputs)[number].detach().numpy().reshape(-1))
        columns.append((sides[0] - sides[1]) / (2 * eps))
    x.data = start
    return np.array(columns).T.reshape(count, -1)


def _like(values: Any) -> Tensor:
    from .._creation import tensor
    return tensor(values)


def gradgradcheck(func: Callable, inputs: Any, grad_outputs: Any = None, **options: Any) -> bool:
    """gradcheck of the gradient."""
    inputs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)

    def first(*xs: Any) -> tuple:
        wanted = [x for x in xs if isinstance(x, Tensor) and x.requires_grad]
        outputs = [y for y in _outputs(func, xs) if y.requires_grad]
        seeds = [1 + 0.1 * (y.detach() * 0 + 1) for y in outputs] if grad_outputs is None else grad_outputs
        return grad(outputs, wanted, seeds, create_graph=True, materialize_grads=True)
    return gradcheck(first, inputs, **options)
