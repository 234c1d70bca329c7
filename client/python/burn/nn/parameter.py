# SPDX-License-Identifier: Apache-2.0
"""Parameter: a tensor that a Module registers and an optimizer trains. Buffer: one that it registers as a buffer."""
from __future__ import annotations

from typing import Any

from .._core import ArgumentError, InvalidError
from .._tensor import Tensor


class Parameter(Tensor):
    """A leaf tensor that shares the data of another one and requires a gradient by default."""

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> "Parameter":
        from .. import empty
        if data is None:
            data = empty(0)
        if not isinstance(data, Tensor):
            raise ArgumentError(f"Parameter() takes a Tensor, got {type(data).__name__}")
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


class Buffer(Tensor):
    """A tensor that becomes a buffer of the module that it is assigned to; if not persistent not of state_dict."""

    persistent = True

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> "Buffer":
        from .. import empty
        buffer = (empty(0) if data is None else data.detach())._as_subclass(cls)
        buffer.persistent = persistent
        return buffer

    def __init__(self, data: Tensor | None = None, *, persistent: bool = True) -> None:
        pass


class _Uninitialized(Tensor):
    """A tensor that has no shape yet."""

    cls_to_become: type = Tensor

    @property
    def shape(self) -> Any:
        """RuntimeError: there is none yet."""
        raise InvalidError("Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
                           "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
                           "`forward` to initialize the parameters before accessing their attributes.")

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Gives it a shape, and unspecified values."""
        from .. import empty
        made = empty(tuple(shape), dtype=dtype or self.dtype, device=device)
        self.__class__ = self.cls_to_become
        self.data = made

    def share_memory_(self) -> Tensor:
        raise InvalidError("Can't share memory on an uninitialized parameter or buffer")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose shape is still to be learnt; materialize() makes it a Parameter."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        from .. import empty
        return Parameter.__new__(cls, empty(0, dtype=dtype, device=device), requires_grad)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None:
        pass

    def __deepcopy__(self, memo: dict) -> Any:
        if id(self) not in memo:
            memo[id(self)] = UninitializedParameter(self.requires_grad, dtype=self.dtype)
        return memo[id(self)]


class UninitializedBuffer(_Uninitialized):
    """A buffer whose shape is still to be learnt; materialize() makes it a Tensor."""

    def __new__(cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> Any:
        from .. import empty
        return empty(0, dtype=dtype, device=device)._as_subclass(cls)

    def __init__(self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True) -> None:
        pass

    def __deepcopy__(self, memo: dict) -> Any:
        return memo.setdefault(id(self), UninitializedBuffer(dtype=self.dtype))


def is_lazy(param: Any) -> bool:
    """Whether its shape is still to be learnt."""
    return isinstance(param, _Uninitialized)
