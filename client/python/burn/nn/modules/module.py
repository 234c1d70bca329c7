# SPDX-License-Identifier: Apache-2.0
"""Module: a tree of parameters, buffers and submodules, with PyTorch's names, keys and hooks."""
from __future__ import annotations

from collections import OrderedDict
from typing import Any, Callable, Iterator, Self

from ..._core import ArgumentError, InvalidError, UnsupportedError
from ..._tensor import Tensor, no_grad
from ..parameter import Buffer, Parameter
from ._hooks import Hooks, RemovableHandle
from ._state import IncompatibleKeys, load_into, save_from


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
        set_("_hooks", Hooks())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        hooks = self._hooks
        return hooks.call(self, args, kwargs) if hooks.some else self.forward(*args, **kwargs)

    # ---- registration ----

    def _check_name(self, name: str, table: str, what: str) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call: "
                                 "call super().__init__() first")
        if not isinstance(name, str):
            raise ArgumentError(f"{what} name should be a string. Got {type(name).__name__}")
        if "." in name or not name:
            raise KeyError(f"{what} name must be a non-empty string without a dot, got {name!r}")
        if hasattr(self, name) and name not in self.__dict__[table]:
            raise KeyError(f"attribute {name!r} already exists")

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Makes param a parameter of the module; None keeps the name without a value."""
        self._check_name(name, "_parameters", "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise ArgumentError(f"cannot assign '{type(param).__name__}' object to parameter '{name}' "
                                "(burn.nn.Parameter or None required)")
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Makes a tensor part of the module's state, but not a parameter; if not persistent not of state_dict."""
        self._check_name(name, "_buffers", "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise ArgumentError(f"cannot assign '{type(tensor).__name__}' object to buffer '{name}' "
                                "(burn Tensor or None required)")
        self._buffers[name] = tensor
        (self._non_persistent.discard if persistent else self._non_persistent.add)(name)

    def add_module(self, name: str, module: "Module | None") -> None:
        """Makes a module a child under a name."""
        if module is not None and not isinstance(module, Module):
            raise ArgumentError(f"{module!r} is not a Module subclass")
        self._check_name(name, "_modules", "module")
        self._modules[name] = module

    def register_module(self, name: str, module: "Module | None") -> None:
        """As add_module."""
        self.add_module(name, module)

    def register_forward_pre_hook(self, hook: Callable, *, prepend: bool = False,
                                  with_kwargs: bool = False) -> RemovableHandle:
        """hook(module, args) before forward; what it returns, if not None, replaces args.

        with_kwargs: hook(module, args, kwargs) returns None or (args, kwargs). prepend: before the other hooks."""
        return self._hooks.add("forward_pre", hook, prepend, with_kwargs)

    def register_forward_hook(self, hook: Callable, *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:
        """hook(module, args, output) after forward; what it returns, if not None, replaces the output.

        with_kwargs: hook(module, args, kwargs, output). always_call: also when forward raises."""
        return self._hooks.add("forward", hook, prepend, with_kwargs, always_call)

    def register_full_backward_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """hook(module, grad_input, grad_output) in backward; what it returns, if not None, replaces grad_input."""
        return self._hooks.add("backward", hook, prepend)

    def register_full_backward_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """hook(module, grad_output) in backward; what it returns, if not None, replaces grad_output."""
        return self._hooks.add("backward_pre", hook, prepend)

    def register_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, prefix, keep_vars) before the module's entries are written by state_dict."""
        return self._hooks.add("state_pre", hook)

    def register_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, state_dict, prefix, local_metadata) after they are; it may change state_dict."""
        return self._hooks.add("state", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors) before loading."""
        return self._hooks.add("load_pre", hook)

    def register_load_state_dict_post_hook(self, hook: Callable) -> RemovableHandle:
        """hook(module, incompatible_keys) after loading."""
        return self._hooks.add("load", hook)

    # ---- attributes ----

    def _forget(self, name: str, *tables: str) -> None:
        for table in tables:
            self.__dict__.get(table, {}).pop(name, None)
        self._non_persistent.discard(name)

    def __setattr__(self, name: str, value: Any) -> None:
        tables = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" in tables:
                tables.pop(name, None)
                self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif isinstance(value, Buffer) and name not in tables.get("_buffers", ()):
            tables.pop(name, None)
            self._forget(name, "_parameters", "_modules")
            self.register_buffer(name, value, value.persistent)
        elif isinstance(value, Module):
            if "_modules" not in tables:
                raise AttributeError("cannot assign module before Module.__init__() call: call super().__init__() first")
            tables.pop(name, None)
            self._forget(name, "_parameters", "_buffers")
            self._modules[name] = value
        elif name in tables.get("_parameters", ()):
            if value is not None:
                raise ArgumentError(f"cannot assign '{type(value).__name__}' as parameter '{name}' "
                                    "(burn.nn.Parameter or None expected)")
            self._parameters[name] = None
        elif name in tables.get("_modules", ()):
            if value is not None:
                raise ArgumentError(f"cannot assign '{type(value).__name__}' as child module '{name}' "
                                    "(burn.nn.Module or None expected)")
            self._modules[name] = None
        elif name in tables.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise ArgumentError(f"cannot assign '{type(value).__name__}' as buffer '{name}' "
                                    "(burn.Tensor or None expected)")
            self._buffers[name] = value
        else:
            super().__setattr__(name, value)

    def __getattr__(self, name: str) -> Any:
        for table in ("_parameters", "_buffers", "_modules"):
            entries = self.__dict__.get(table)
            if entries is not None and name in entries:
                return entries[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """A copy's members; here so that a class whose __getattr__ asks a child can be copied."""
        self.__dict__.update(state)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[0].isdigit())

    # ---- walking ----

    def named_modules(self, memo: set | None = None, prefix: str = "",
                      remove_duplicate: bool = True) -> Iterator[tuple[str, "Module"]]:
        """Names and modules of the whole tree, itself first, a shared one once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator["Module"]:
        """The modules of the whole tree, itself first; one that stands in several places comes once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        """Names and direct children."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator["Module"]:
        """The direct children."""
        for _, module in self.named_children():
            yield module

    def _named_members(self, table: str, prefix: str, recurse: bool,
                       remove_duplicate: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else ((prefix, self),)
        for path, module in modules:
            for name, value in getattr(module, table).items():
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix: str = "", recurse: bool = True,
                         remove_duplicate: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Names and parameters, a shared one once (unless remove_duplicate is false)."""
        yield from self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters, a shared one once."""
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(self, prefix: str = "", recurse: bool = True,
                      remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Names and buffers, a shared one once (unless remove_duplicate is false)."""
        yield from self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers, a shared one once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target: str) -> "Module":
        """The module of a path as "encoder.layers.0"."""
        module: Any = self
        for part in filter(None, target.split(".")):
            if not hasattr(module, part):
                raise AttributeError(f"{module._get_name()} has no attribute `{part}`")
            module = getattr(module, part)
            if not isinstance(module, Module):
                raise AttributeError(f"`{part}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: "Module", strict: bool = False) -> None:
        """Puts a module in place of the one of a path."""
        path, _, name = target.rpartition(".")
        if not name:
            raise InvalidError("Cannot set the submodule without a target name!")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        setattr(parent, name, module)

    def _member(self, target: str, table: str, what: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in module.__dict__[table]:
            raise AttributeError(f"`{name}` is not {what}")
        return module.__dict__[table][name]

    def get_parameter(self, target: str) -> Parameter:
        """The parameter of a path as "encoder.layers.0.weight"."""
        return self._member(target, "_parameters", "an nn.Parameter")

    def get_buffer(self, target: str) -> Tensor:
        """The buffer of a path."""
        return self._member(target, "_buffers", "a buffer")

    def apply(self, fn: Callable[["Module"], Any]) -> Self:
        """Calls fn on every submodule and then on the module itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    # ---- mode and type ----

    def train(self, mode: bool = True) -> Self:
        """Sets training mode of the module and all below it."""
        if not isinstance(mode, bool):
            raise InvalidError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Leaves training mode."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Says of all parameters whether they are trained."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets all gradients, or fills them with zeros."""
        for parameter in self.parameters():
            if parameter.grad is not None:
                parameter.grad = None if set_to_none else parameter.grad.detach() * 0

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        seen: set[int] = set()
        with no_grad():
            for module in self.modules() if recurse else (self,):
                for parameter in module._parameters.values():
                    if parameter is not None and id(parameter) not in seen:
                        seen.add(id(parameter))
                        grad = parameter.grad
                        parameter.data = fn(parameter.detach())
                        if grad is not None:
                            parameter.grad = fn(grad)
                for name, buffer in module._buffers.items():
                    if buffer is not None:
                        module._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Parameters and buffers of floating dtype in another dtype: to(dtype), to(device), to(tensor)."""
        from ..._dtype import dtype as Dtype
        kwargs = {name: value for name, value in kwargs.items() if name not in ("memory_format", "non_blocking")}
        wanted = kwargs.get("dtype", next((item for item in args if isinstance(item, Dtype)), None))
        if isinstance(wanted, Dtype) and not wanted.is_floating_point:
            raise ArgumentError("nn.Module.to only accepts floating point or complex dtypes, but got desired "
                                f"dtype={wanted}")
        devices = [item for item in args if not isinstance(item, (Dtype, bool))]

        def convert(tensor: Tensor) -> Tensor:
            if tensor.is_floating_point():
                return tensor.to(*args, **kwargs)
            if not devices and "device" not in kwargs:
                return tensor
            return tensor.to(*(item for item in devices if not isinstance(item, Tensor)), device=kwargs.get("device"))
        return self._apply(convert)

    def type(self, dst_type: Any) -> Self:
        """All parameters and buffers in another dtype."""
        return self._apply(lambda tensor: tensor.to(dst_type))

    def _floats(self, dtype: str) -> Self:
        return self._apply(lambda tensor: getattr(tensor, dtype)() if tensor.is_floating_point() else tensor)

    def float(self) -> Self:
        """Floating parameters and buffers as float32."""
        return self._floats("float")

    def double(self) -> Self:
        """Floating parameters and buffers as float64."""
        return self._floats("double")

    def half(self) -> Self:
        """Floating parameters and buffers as float16."""
        return self._floats("half")

    def bfloat16(self) -> Self:
        """Floating parameters and buffers as bfloat16."""
        return self._floats("bfloat16")

    def cpu(self) -> Self:
        """The module itself: tensors live in the daemon."""
        return self

    def cuda(self, device: Any = None) -> Self:
        """RuntimeError: there is no CUDA device."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def share_memory(self) -> Self:
        """The module itself: the memory is the daemon's."""
        return self

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """The module itself: its tensors have a place already."""
        return self

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Nothing: the daemon fuses steps and replays them anyway."""

    # ---- state ----

    def get_extra_state(self) -> Any:
        """What state_dict holds besides tensors; modules that have such a state define this and set_extra_state."""
        raise InvalidError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        """Takes what get_extra_state gave."""
        raise InvalidError("Reached a code path in Module.set_extra_state() that should never be called.")

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "",
                   keep_vars: bool = False) -> "OrderedDict[str, Tensor]":
        """Parameters and persistent buffers by name, without gradients (unless keep_vars)."""
        if args:  # the order of former versions
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args):])
        state = OrderedDict() if destination is None else destination
        save_from(self, state, prefix, keep_vars)
        return state

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> IncompatibleKeys:
        """Copies values into parameters and buffers (assign: takes the tensors themselves).

        With strict, keys must match exactly. Errors: RuntimeError that names missing and unexpected keys and wrong
        shapes; nothing is changed then."""
        return load_into(self, state_dict, strict, assign)

    # ---- text ----

    def _get_name(self) -> str:
        return self.__class__.__name__

    def extra_repr(self) -> str:
        """What repr shows within the parentheses, besides the children."""
        return ""

    def __repr__(self) -> str:
        lines = [f"({name}): " + repr(module).replace("\n", "\n  ") for name, module in self._modules.items()]
        extra = self.extra_repr()
        extras = extra.split("\n") if extra else []
        if not lines and len(extras) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(extras + lines) + "\n)"
