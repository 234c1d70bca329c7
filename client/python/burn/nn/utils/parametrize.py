# SPDX-License-Identifier: Apache-2.0
"""Parametrizations: a parameter that is computed from others whenever it is used.

The module gets a subclass of its own with a property in place of the parameter; what the value is computed from
stands in module.parametrizations.<name>, as original, or original0, original1 and so on."""
from __future__ import annotations

import contextlib
import copy
from contextlib import contextmanager
from typing import Any, Iterator, Sequence

from ..._core import InvalidError
from ..._tensor import Tensor, no_grad
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter


class _Cache:
    """Values of parametrized tensors while a cached() block is open."""

    def __init__(self) -> None:
        self.depth = 0
        self.values: dict[tuple[int, str], Tensor] = {}


_cache = _Cache()


@contextmanager
def cached() -> Iterator[None]:
    """Within the block every parametrized tensor is computed once."""
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.values.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, applied in order, and what they start from."""

    def __init__(self, modules: Sequence[Module], original: Tensor | Parameter, unsafe: bool = False) -> None:
        if not modules:
            raise InvalidError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        new: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):  # then the original starts as the tensor itself
                        new = module.right_inverse(new)
        self.is_tensor = isinstance(new, Tensor)
        trained = original.requires_grad
        if self.is_tensor:
            self._keep("original", original, new, trained)
        else:
            self.ntensors = len(new)
            for number, tensor in enumerate(new):
                self._keep(f"original{number}", original, tensor, trained)
        if not unsafe:
            with no_grad():
                made = self()
            if tuple(made.shape) != tuple(original.shape) or made.dtype is not original.dtype:
                raise InvalidError("Registering a parametrization may not change shape or dtype of the tensor, unless the "
                                   f"`unsafe` flag is enabled: {list(original.shape)} {original.dtype} became "
                                   f"{list(made.shape)} {made.dtype}")

    def _keep(self, name: str, original: Tensor, value: Tensor, trained: bool) -> None:
        if not isinstance(original, Parameter):
            self.register_buffer(name, value)
        elif value is original:
            self.register_parameter(name, original)
        else:
            floats = value.is_floating_point()
            self.register_parameter(name, Parameter(value.detach(), requires_grad=trained and floats))

    def _originals(self) -> list[Tensor]:
        return [self.original] if self.is_tensor else [getattr(self, f"original{n}") for n in range(self.ntensors)]

    def right_inverse(self, value: Tensor) -> None:
        """Sets the originals so that the computed tensor is value."""
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise InvalidError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            for target, new in zip(self._originals(), [value] if self.is_tensor else value):
                target.data = new.detach()

    def forward(self) -> Tensor:
        modules = list(self)
        x = modules[0](*self._originals())
        for module in modules[1:]:
            x = module(x)
        return x


def _subclass(module: Module) -> None:
    cls = type(module)

    def copied(self: Module, memo: dict) -> Module:
        made = self.__new__(type(self))
        memo[id(self)] = made
        made.__dict__ = copy.deepcopy(self.__dict__, memo)
        return made

    def refused(self: Module) -> Any:
        raise InvalidError("Serialization of parametrized modules is only supported through state_dict().")
    members = {"__deepcopy__": copied, "__getstate__": refused, "__module__": cls.__module__}
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, name: str) -> None:
    def get(self: Module) -> Tensor:
        if not _cache.depth:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache.values:
            _cache.values[key] = self.parametrizations[name]()
        return _cache.values[key]

    def set_(self: Module, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)
    setattr(type(module), name, property(get, set_))


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether the module, or one tensor of it, is parametrized."""
    lists = module.__dict__["_modules"].get("parametrizations")
    if lists is None or not isinstance(lists, ModuleDict):
        return False
    return len(lists) > 0 if tensor_name is None else tensor_name in lists


def register_parametrization(module: Module, tensor_name: str, parametrization: Module, *,
                             unsafe: bool = False) -> Module:
    """Makes the parameter or buffer a function of others; several are applied in the order of registration."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        module.parametrizations[tensor_name].append(parametrization)
    elif tensor_name in module._parameters or tensor_name in module._buffers:
        table = module._parameters if tensor_name in module._parameters else module._buffers
        made = ParametrizationList([parametrization], table[tensor_name], unsafe)
        del table[tensor_name]
        if not is_parametrized(module):
            _subclass(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = made
    else:
        raise InvalidError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
                           f"'{tensor_name}'")
    return module


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Makes the tensor a plain one again, with its present value (or, if not leave_parametrized, the original)."""
    if not is_parametrized(module, tensor_name):
        raise InvalidError(f"Module {module} does not have a parametrization on {tensor_name}")
    made = module.parametrizations[tensor_name]
    originals = made._originals()
    if not leave_parametrized and not made.is_tensor:
        raise InvalidError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in "
                           "terms of a sequence of tensors.")
    with no_grad():
        value = made() if leave_parametrized else made.original
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(originals[0], Parameter):
        kept = originals[0] if made.is_tensor else Parameter(value, requires_grad=originals[0].requires_grad)
        if made.is_tensor and leave_parametrized:
            kept.data = value.detach()
        module.register_parameter(tensor_name, kept)
    else:
        module.register_buffer(tensor_name, value)
    if not len(module.parametrizations):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The module's own class."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)
