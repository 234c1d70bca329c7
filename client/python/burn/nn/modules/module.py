# SPDX-License-Identifier: Apache-2.0
"""Module: a tree of parameters, buffers and submodules, with PyTorch's names and keys."""
from __future__ import annotations

import itertools
from collections import OrderedDict, namedtuple
from typing import Any, Callable, Iterator, Self

from ..._tensor import Tensor, no_grad
from ..parameter import Parameter

IncompatibleKeys = namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])


class RemovableHandle:
    """Returned by the register_*_hook methods; remove() takes the hook away."""

    _next_id = itertools.count()

    def __init__(self, hooks: dict):
        self._hooks, self.id = hooks, next(self._next_id)

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


class Module:
    """Base class of all neural network modules. Subclasses define __init__ and forward."""

    training: bool

    def __init__(self) -> None:
        set_ = super().__setattr__
        set_("training", True)
        set_("_parameters", OrderedDict())
        set_("_buffers", OrderedDict())
        set_("_non_persistent", set())
        set_("_modules", OrderedDict())
        set_("_forward_pre_hooks", OrderedDict())
        set_("_forward_hooks", OrderedDict())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward method")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self._forward_pre_hooks and not self._forward_hooks:
            return self.forward(*args, **kwargs)
        for hook in tuple(self._forward_pre_hooks.values()):
            result = hook(self, args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
        output = self.forward(*args, **kwargs)
        for hook in tuple(self._forward_hooks.values()):
            result = hook(self, args, output)
            if result is not None:
                output = result
        return output

    # ---- registration ----

    def _check_name(self, name: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError("call super().__init__() before assigning parameters, buffers or modules")
        if not isinstance(name, str) or "." in name or not name:
            raise KeyError(f"a name must be a non-empty string without a dot, got {name!r}")

    def register_parameter(self, name: str, parameter: Parameter | None) -> None:
        self._check_name(name)
        if parameter is not None and not isinstance(parameter, Parameter):
            raise TypeError(f"parameter {name!r} must be a burn.nn.Parameter or None, "
                            f"got {type(parameter).__name__}")
        self.__dict__.pop(name, None)
        self._parameters[name] = parameter

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        self._check_name(name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"buffer {name!r} must be a Tensor or None, got {type(tensor).__name__}")
        self.__dict__.pop(name, None)
        self._buffers[name] = tensor
        (self._non_persistent.discard if persistent else self._non_persistent.add)(name)

    def register_module(self, name: str, module: "Module | None") -> None:
        self.add_module(name, module)

    def add_module(self, name: str, module: "Module | None") -> None:
        self._check_name(name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{module!r} is not a Module subclass")
        self.__dict__.pop(name, None)
        self._modules[name] = module

    def register_forward_pre_hook(self, hook: Callable) -> RemovableHandle:
        handle = RemovableHandle(self._forward_pre_hooks)
        self._forward_pre_hooks[handle.id] = hook
        return handle

    def register_forward_hook(self, hook: Callable) -> RemovableHandle:
        handle = RemovableHandle(self._forward_hooks)
        self._forward_hooks[handle.id] = hook
        return handle

    def __setattr__(self, name: str, value: Any) -> None:
        tables = self.__dict__
        if isinstance(value, Parameter):
            self._check_name(name)
            self._modules.pop(name, None)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._check_name(name)
            self._parameters.pop(name, None)
            self.add_module(name, value)
        elif "_parameters" in tables and name in self._parameters:
            if value is not None:
                raise TypeError(f"cannot assign {type(value).__name__} as parameter {name!r} "
                                "(a burn.nn.Parameter or None is expected)")
            self._parameters[name] = None
        elif "_modules" in tables and name in self._modules:
            if value is not None:
                raise TypeError(f"cannot assign {type(value).__name__} as module {name!r}")
            self._modules[name] = None
        elif "_buffers" in tables and name in self._buffers:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign {type(value).__name__} as buffer {name!r}")
            self._buffers[name] = value
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        for table in ("_parameters", "_buffers", "_modules"):
            entries = self.__dict__.get(table)
            if entries is not None and name in entries:
                return entries[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    # ---- walking ----

    def named_modules(self, memo: set | None = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, "Module"]]:
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator["Module"]:
        for _, module in self.named_modules():
            yield module

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator["Module"]:
        for _, module in self.named_children():
            yield module

    def _named_members(self, table: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix=prefix) if recurse else ((prefix, self),):
            for name, value in getattr(module, table).items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        yield from self._named_members("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        yield from self._named_members("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> "Module":
        module: Any = self
        for part in filter(None, target.split(".")):
            module = getattr(module, part)
            if not isinstance(module, Module):
                raise AttributeError(f"{part!r} of {target!r} is not a Module")
        return module

    def get_parameter(self, target: str) -> Parameter:
        path, _, name = target.rpartition(".")
        parameter = getattr(self.get_submodule(path), name)
        if not isinstance(parameter, Parameter):
            raise AttributeError(f"{target!r} is not a Parameter")
        return parameter

    def apply(self, function: Callable[["Module"], Any]) -> Self:
        for module in self.children():
            module.apply(function)
        function(self)
        return self

    # ---- mode and type ----

    def train(self, mode: bool = True) -> Self:
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be a bool")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.parameters():
            if parameter.grad is not None:
                if set_to_none:
                    parameter.grad = None
                else:
                    parameter.grad = parameter.grad.detach() * 0

    def _convert(self, function: Callable[[Tensor], Tensor]) -> Self:
        seen: set[int] = set()
        with no_grad():
            for module in self.modules():
                for parameter in module._parameters.values():
                    if parameter is not None and id(parameter) not in seen:
                        seen.add(id(parameter))
                        grad = parameter.grad
                        parameter.data = function(parameter.detach())
                        if grad is not None:
                            parameter.grad = function(grad)
                for name, buffer in module._buffers.items():
                    if buffer is not None:
                        module._buffers[name] = function(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        def convert(tensor: Tensor) -> Tensor:
            return tensor.to(*args, **kwargs) if tensor.is_floating_point() else tensor
        return self._convert(convert)

    def float(self) -> Self:
        return self._convert(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        return self._convert(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        return self._convert(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        return self._convert(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def cpu(self) -> Self:
        return self

    # ---- state ----

    def state_dict(self, *, prefix: str = "", keep_vars: bool = False) -> "OrderedDict[str, Tensor]":
        state: OrderedDict[str, Tensor] = OrderedDict()
        self._save_to(state, prefix, keep_vars)
        return state

    def _save_to(self, state: "OrderedDict[str, Tensor]", prefix: str, keep_vars: bool) -> None:
        for name, parameter in self._parameters.items():
            if parameter is not None:
                state[prefix + name] = parameter if keep_vars else parameter.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent:
                state[prefix + name] = buffer if keep_vars else buffer.detach()
        for name, module in self._modules.items():
            if module is not None:
                module._save_to(state, f"{prefix}{name}.", keep_vars)

    def load_state_dict(self, state_dict: dict, strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copies values into parameters and buffers. With strict, keys must match exactly."""
        own = self.state_dict(keep_vars=True)
        missing = [key for key in own if key not in state_dict]
        unexpected = [key for key in state_dict if key not in own]
        problems = []
        if strict and unexpected:
            problems.append("Unexpected key(s) in state_dict: " + ", ".join(f'"{key}"' for key in unexpected) + ".")
        if strict and missing:
            problems.append("Missing key(s) in state_dict: " + ", ".join(f'"{key}"' for key in missing) + ".")
        for key, target in own.items():
            value = state_dict.get(key)
            if value is not None and tuple(value.shape) != tuple(target.shape):
                problems.append(f"size mismatch for {key}: the checkpoint has shape {tuple(value.shape)}, "
                                f"the module {tuple(target.shape)}.")
        if problems:
            raise RuntimeError(f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                               + "\n\t".join(problems))
        with no_grad():
            for key, target in own.items():
                if key in state_dict:
                    if assign:
                        target.data = state_dict[key].detach()
                    else:
                        target.copy_(state_dict[key].detach())
        return IncompatibleKeys(missing, unexpected)

    # ---- text ----

    def extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        lines = []
        for name, module in self._modules.items():
            lines.append(f"({name}): " + repr(module).replace("\n", "\n  "))
        extra = self.extra_repr()
        if not lines:
            return f"{type(self).__name__}({extra})"
        head = [extra] if extra else []
        return f"{type(self).__name__}(\n  " + "\n  ".join(head + lines) + "\n)"
