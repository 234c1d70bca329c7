# SPDX-License-Identifier: Apache-2.0
"""jit: a function of tensors as a program that the daemon keeps and runs at one message."""
from __future__ import annotations

import functools
import sys
from typing import Any, Callable, Final, ParamSpec, TypeVar, overload

from . import _core
from ._core import ArgumentError, InvalidError
from ._tensor import Tensor


def _flatten(value: Any, found: list[Tensor]) -> Any:
    """The structure of value, with tensors replaced by their numbers in found."""
    if isinstance(value, Tensor):
        found.append(value)
        return _Leaf(len(found) - 1)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_flatten(item, found) for item in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_flatten(item, found) for item in value)
    if isinstance(value, dict):
        return {key: _flatten(item, found) for key, item in value.items()}
    return value


class _Leaf:
    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Leaf) and other.number == self.number

    def __hash__(self) -> int:
        return self.number

    def __repr__(self) -> str:
        return f"tensor {self.number}"


def _restore(structure: Any, tensors: Any) -> Any:
    if isinstance(structure, _Leaf):
        return tensors[structure.number]
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(_restore(item, tensors) for item in structure))
    if isinstance(structure, (tuple, list)):
        return type(structure)(_restore(item, tensors) for item in structure)
    if isinstance(structure, dict):
        return {key: _restore(item, tensors) for key, item in structure.items()}
    return structure


def _signature(value: Any) -> Any:
    """What a value of a call is known by: itself where that says all, its bytes, or the object."""
    if isinstance(value, (tuple, list)):
        return type(value), tuple(_signature(item) for item in value)
    if isinstance(value, dict):
        return dict, tuple((key, _signature(item)) for key, item in value.items())
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, _Leaf)):
        return type(value), repr(value)  # -0.0 and nan, too
    if hasattr(value, "tobytes") and hasattr(value, "dtype"):
        return "array", str(value.dtype), tuple(value.shape), value.tobytes()
    try:
        hash(value)
    except TypeError:
        raise ArgumentError(f"a jit function's argument of type {type(value).__name__} can be told from no other: pass tensors, "
                            "numbers, text, or containers of these") from None
    return value


def _traced(function: Callable, structure: Any, inputs: list[Tensor],
            label: str) -> tuple[Any, Any, bool, list[int]]:
    """The program, the structure of what it returns, whether it ends a step, and which arguments it changes in place."""
    from .optim.optimizer import marks, prepared_for_tracing
    before = marks()
    with prepared_for_tracing():
        stand_ins = _core.trace_begin(inputs)
        try:
            args, kwargs = _restore(structure, stand_ins)
            outputs: list[Tensor] = []
            result = _flatten(function(*args, **kwargs), outputs)
            changed = [number for number, stand_in in enumerate(stand_ins) if stand_in._version]
            outputs += [stand_ins[number].detach() for number in changed]
            return _core.trace_end(outputs, label), result, marks() > before, changed
        except BaseException:
            _core.trace_abort()
            raise


def published(function: Callable, inputs: list[Tensor], label: str) -> Any:
    """The program of a function of tensors, for others to call."""
    structure = (tuple(_Leaf(number) for number in range(len(inputs))), {})
    program, result, ends_step, changed = _traced(function, structure, inputs, label)
    if changed or ends_step:
        raise InvalidError("a function that changes its arguments or ends a step cannot be published: only what it returns "
                           "leaves it")
    if not isinstance(result, _Leaf) and not (type(result) in (tuple, list) and all(isinstance(x, _Leaf) for x in result)):
        raise ArgumentError("a function that is published returns a tensor, or a tuple of tensors")
    return program


P = ParamSpec("P")
R = TypeVar("R")


class Jit:
    """burn.jit(f): f as a program of the daemon. torch.jit's names are here too: what they take comes back as it is, for
    every function runs as Python records it."""

    ScriptModule: Any = None  # nn.Module, once there is one
    Final = Final

    @overload
    def __call__(self, function: Callable[P, R], *, name: str | None = None) -> Callable[P, R]: ...
    @overload
    def __call__(self, *, name: str | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]: ...
    def __call__(self, function: Callable | None = None, *, name: str | None = None) -> Callable:
        """Traces the function at its first call for each signature, then calls the daemon's copy.

        The signature is the arguments' structure, their other values (objects by identity, which they are kept for), the
        tensors' shapes and dtypes, and whether gradients and autocast are on. Inside,
        tensors from outside may be read and assigned (parameters, optimizer state); values cannot be read. Python
        code of the function runs while tracing only."""
        return (lambda f: _registered(f, name)) if function is None else _registered(function, name)

    def script(self, obj: R, optimize: Any = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> R:
        """The function, class or module itself."""
        return obj

    def trace(self, func: R, example_inputs: Any = None, *args: Any, **kwargs: Any) -> R:
        """The function or module itself: it is called anew each time, with whatever it is given."""
        return func

    def trace_module(self, mod: R, inputs: Any, *args: Any, **kwargs: Any) -> R:
        """The module itself."""
        return mod

    def freeze(self, mod: R, preserved_attrs: Any = None, optimize_numerics: bool = True) -> R:
        """The module itself."""
        return mod

    def optimize_for_inference(self, mod: R, other_methods: Any = None) -> R:
        """The module itself."""
        return mod

    def ignore(self, drop: Any = False, **kwargs: Any) -> Any:
        """The function itself; also as a decorator with arguments."""
        return drop if callable(drop) else lambda function: function

    def unused(self, fn: R) -> R:
        """The function itself."""
        return fn

    def export(self, fn: R) -> R:
        """The function itself."""
        return fn

    def script_method(self, fn: R) -> R:
        """The method itself."""
        return fn

    def script_if_tracing(self, fn: R) -> R:
        """The function itself."""
        return fn

    def interface(self, obj: R) -> R:
        """The class itself."""
        return obj

    def annotate(self, the_type: Any, the_value: R) -> R:
        """The value."""
        return the_value

    def is_scripting(self) -> bool:
        """False."""
        return False

    def is_tracing(self) -> bool:
        """False."""
        return False

    def fork(self, func: Callable[..., R], *args: Any, **kwargs: Any) -> R:
        """The function's result: ops are not waited for anyway."""
        return func(*args, **kwargs)

    def wait(self, future: R) -> R:
        """What fork gave."""
        return future

    def save(self, m: Any, f: Any, _extra_files: Any = None) -> None:
        """RuntimeError: programs have no files."""
        raise InvalidError("there is no TorchScript: save the state_dict() with burn.save, and the module's code as Python")

    def load(self, f: Any, map_location: Any = None, **kwargs: Any) -> None:
        """RuntimeError: programs have no files."""
        raise InvalidError("there is no TorchScript: make the module in Python and load its state_dict")


def _registered(function: Callable, name: str | None) -> Callable:
    programs: dict[Any, tuple[Any, Any, bool, list[int]]] = {}
    label = name or getattr(function, "__name__", "program")

    from .amp.autocast_mode import get_autocast_state

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        inputs: list[Tensor] = []
        if kwargs or not all(isinstance(x, Tensor) for x in args):
            structure = _flatten((args, kwargs), inputs)
            form = _signature(structure)
        else:  # tensors alone need no more than their number
            structure, inputs, form = None, list(args), len(args)
        key = (form, _core.grad_enabled(), get_autocast_state(), tuple([(x.shape, x.dtype) for x in inputs]))
        known = programs.get(key)
        if known is None:
            if structure is None:
                structure = _flatten((args, kwargs), [])
            known = programs[key] = _traced(function, structure, inputs, label)
        program, result, ends_step, changed = known
        outputs = program(inputs)
        for number, value in zip(changed, outputs[len(outputs) - len(changed):]):
            inputs[number].data = value
        if ends_step:
            from .optim.optimizer import mark
            mark()
        return _restore(result, outputs)
    called.programs = programs
    return called


jit = Jit()
sys.modules[f"{__package__}.jit"] = jit  # type: ignore[assignment]  # for `from burn.jit import script`
