# SPDX-License-Identifier: Apache-2.0
"""Parameter: a tensor that a Module registers and an optimizer trains."""
from __future__ import annotations

from typing import Any

from .._tensor import Tensor


class Parameter(Tensor):
    """A leaf tensor that shares the data of another one and requires a gradient by default."""

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> "Parameter":
        from .. import empty
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter() takes a Tensor, got {type(data).__name__}")
        parameter = data.detach()._as_subclass(cls)
        if requires_grad:
            parameter.requires_grad_(True)
        return parameter

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        pass

    def __repr__(self) -> str:
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo: dict) -> "Parameter":
        if id(self) not in memo:
            memo[id(self)] = Parameter(self.detach().clone(), self.requires_grad)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return _rebuild_parameter, (self.detach(), self.requires_grad)


def _rebuild_parameter(data: Tensor, requires_grad: bool) -> Parameter:
    return Parameter(data if type(data) is Tensor else data._as_subclass(Tensor), requires_grad)
