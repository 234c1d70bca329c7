# SPDX-License-Identifier: Apache-2.0
"""Optimizer: parameter groups, state, zero_grad, state_dict; the update rules are ops of the daemon."""
from __future__ import annotations

import contextlib
import functools
import itertools
import warnings
import weakref
from collections import OrderedDict, defaultdict
from typing import Any, Callable, Iterable, Iterator

from .. import _core
from .._core import ArgumentError, InvalidError, UnsupportedError
from .._tensor import Tensor, assign, enable_grad, no_grad


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def check(ok: bool, text: str, value: Any) -> None:
    if not ok:
        raise InvalidError(f"Invalid {text}: {value}")


_alive: "weakref.WeakSet[Optimizer]" = weakref.WeakSet()


_traces = _marks = 0


def mark() -> None:
    """Ends a step: what was recorded so far runs. In a program being traced it is counted: each call ends a step."""
    global _marks
    _marks += 1
    if not _traces:
        _core.mark()


def marks() -> int:
    """How many steps have ended."""
    return _marks


@contextlib.contextmanager
def prepared_for_tracing() -> Iterator[None]:
    """Gives all optimizers their state now, with step counts as tensors, so that a traced program updates them."""
    global _traces
    _complete_states()
    _traces += 1
    try:
        yield
    finally:
        _traces -= 1


def tracing() -> bool:
    """Whether a program is being traced."""
    return _traces > 0


def _complete_states() -> None:
    with no_grad():
        for optimizer in tuple(_alive):
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.requires_grad:
                        state = optimizer._state_of(parameter, group)
                        optimizer.complete_state(parameter, state, group)
                        for name, value in state.items():
                            if isinstance(value, HostNumber):
                                state[name] = _core.tensor(value.value)


def _marked(step: Callable) -> Callable:
    """A step of a subclass's own, which ends the step for the daemon too and runs the hooks."""
    @functools.wraps(step)
    def wrapped(self: "Optimizer", *args: Any, **kwargs: Any) -> Any:
        for hook in tuple(self._step_pre_hooks.values()):
            changed = hook(self, args, kwargs)
            if changed is not None:
                args, kwargs = changed
        result = step(self, *args, **kwargs)
        self._opt_called = True
        mark()
        for hook in tuple(self._step_post_hooks.values()):
            hook(self, args, kwargs)
        return result
    return wrapped


class _Handle:
    """What registering a hook gives; remove() takes it away, and so does leaving a `with` block."""

    _numbers = itertools.count()

    def __init__(self, hooks: dict, hook: Callable) -> None:
        self._hooks, self.id = hooks, next(self._numbers)
        hooks[self.id] = hook

    def remove(self) -> None:
        self._hooks.pop(self.id, None)

    def __enter__(self) -> "_Handle":
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


class Optimizer:
    """Base class. A subclass gives defaults and either a step() of its own, or init_state(parameter, group), the
    state of a parameter before its first update, and update(parameter, gradient, state, group), which assigns to the
    state's tensors."""

    host_numbers: tuple = ("step",)  # numbers among the state: no tensors, but for programs

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _marked(cls.__dict__["step"])

    def __init__(self, params: Iterable[Any], defaults: dict) -> None:
        if isinstance(params, Tensor):
            raise ArgumentError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                                "a single Tensor; use [tensor]")
        groups = list(params)
        if not groups:
            raise InvalidError("optimizer got an empty parameter list")
        self.defaults, self.state, self.param_groups = defaults, defaultdict(dict), []
        self._opt_called = False  # schedulers warn if they come first
        self._step_pre_hooks: dict = OrderedDict()
        self._step_post_hooks: dict = OrderedDict()
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        _alive.add(self)

    def add_param_group(self, param_group: dict) -> None:
        if not isinstance(param_group, dict):
            raise ArgumentError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise ArgumentError("optimizer parameters need to be organized in ordered collections, but the ordering of "
                                "tensors in sets will change between runs. Please use a list instead.")
        params = [params] if isinstance(params, Tensor) else list(params)
        named = [p for p in params if isinstance(p, tuple)]
        group = {"params": [p[1] if isinstance(p, tuple) else p for p in params],
                 **{k: v for k, v in param_group.items() if k != "params"}}
        if named:
            group["param_names"] = [p[0] for p in named]
        self._check_parameters(group["params"])
        for name, value in self.defaults.items():
            if value is required and name not in group:
                raise InvalidError(f"parameter group didn't specify a value of required optimization parameter {name}")
            group.setdefault(name, value)
        self.param_groups.append(group)

    def _check_parameters(self, params: list) -> None:
        for parameter in params:
            if not isinstance(parameter, Tensor):
                raise ArgumentError(f"optimizer can only optimize Tensors, but one of the params is {type(parameter)}")
            if not (parameter.is_leaf or parameter.retains_grad):
                raise InvalidError("can't optimize a non-leaf Tensor")
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if known & {id(p) for p in params}:
            raise InvalidError("some parameters appear in more than one parameter group")
        if len({id(p) for p in params}) != len(params):
            warnings.warn("optimizer contains a parameter group with duplicate parameters; in future, this will cause "
                          "an error", stacklevel=4)

    def register_step_pre_hook(self, hook: Callable) -> _Handle:
        """hook(optimizer, args, kwargs) runs before each step and may give new (args, kwargs)."""
        return _Handle(self._step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> _Handle:
        """hook(optimizer, args, kwargs) runs after each step."""
        return _Handle(self._step_post_hooks, hook)

    def zero_grad(self, set_to_none: bool = True) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad = None if set_to_none else parameter.grad.detach() * 0

    @_marked
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates all parameters that have a gradient; with a closure, which computes them, gives its result."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    gradient = parameter.grad
                    if gradient is not None:
                        self.update(parameter, gradient, self._state_of(parameter, group), group)
        return loss

    def _state_of(self, parameter: Tensor, group: dict) -> dict:
        state = self.state[parameter]
        if not state:
            state.update(self.init_state(parameter, group))
            for name in self.host_numbers:
                if name in state:
                    state[name] = HostNumber(state[name])
        return state

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        return {}

    def complete_state(self, parameter: Tensor, state: dict, group: dict) -> None:
        """Adds what update() would make at the first step; a traced program cannot, it runs at every step."""

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        raise UnsupportedError(f"{type(self).__name__} has no update rule")

    # ---- state ----

    def state_dict(self) -> dict:
        """The state by number of the parameter, and the groups with numbers in place of parameters. Its tensors are
        the optimizer's own."""
        numbers, groups = {}, []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
            groups.append({**{k: v for k, v in group.items() if k != "params"},
                           "params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(p)]: {k: _shown(v) for k, v in state.items()}
                 for p, state in self.state.items() if id(p) in numbers}
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict) -> None:
        """Takes the groups' options and the state, whose tensors are shared (copy.deepcopy the dict to have them
        apart); float state gets the parameters' dtypes."""
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise InvalidError("loaded state dict has a different number of parameter groups: "
                               f"{len(groups)}, the optimizer has {len(self.param_groups)}")
        by_number = {}
        for own, loaded in zip(self.param_groups, groups):
            if len(own["params"]) != len(loaded["params"]):
                raise InvalidError("loaded state dict contains a parameter group that doesn't match the size of "
                                   f"optimizer's group: {len(loaded['params'])} parameters, the optimizer's has "
                                   f"{len(own['params'])}")
            by_number.update(zip(loaded["params"], own["params"]))
        for own, loaded in zip(self.param_groups, groups):
            own.update({k: v for k, v in loaded.items() if k != "params"})
        self.state = defaultdict(dict)
        for number, state in state_dict["state"].items():
            parameter = by_number.get(int(number))
            if parameter is not None:
                self.state[parameter] = {k: _number_taken(k, v) if k in self.host_numbers else _taken(v, parameter)
                                         for k, v in state.items()}

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"


@functools.total_ordering
class HostNumber:
    """A number of the state, such as how many updates a parameter had. Optimizers that share state share it."""

    def __init__(self, value: int | float = 0) -> None:
        self.value = value

    def item(self) -> float:
        return float(self.value)

    __float__ = item

    def __int__(self) -> int:
        return int(self.value)

    def __eq__(self, other: Any) -> bool:
        return self.value == (other.value if isinstance(other, HostNumber) else other)

    def __lt__(self, other: Any) -> bool:
        return self.value < (other.value if isinstance(other, HostNumber) else other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"tensor({round(float(self.value), 4)})"


def advance(state: dict, name: str, change: Callable[[Any], Any]) -> Any:
    """Replaces a number of the state by change(number); gives it as a number, or as a tensor in programs."""
    kept = state[name]
    if isinstance(kept, HostNumber):
        kept.value = change(kept.value)
        return kept.value
    return assign(kept, change(kept))


def count_step(state: dict) -> Any:
    """Counts one more step; the number is what update rules take."""
    return advance(state, "step", lambda step: step + 1)


def _shown(value: Any) -> Any:
    """Numbers are tensors for others, as PyTorch's are; one remembers the number that it shows."""
    if not isinstance(value, HostNumber):
        return value
    shown = _core.tensor(float(value))
    shown._number = value
    return shown


def _number_taken(name: str, value: Any) -> HostNumber:
    known = value if isinstance(value, HostNumber) else getattr(value, "_number", None)
    if known is not None:
        return known
    value = value.item() if isinstance(value, Tensor) else value
    return HostNumber(int(value) if name == "step" else value)


def _taken(value: Any, parameter: Tensor) -> Any:
    """State of another optimizer, shared as PyTorch does where the dtype fits."""
    if isinstance(value, Tensor):
        return value.to(parameter.dtype) if value.dtype.is_floating_point else value
    if isinstance(value, (list, tuple)):
        return type(value)(_taken(item, parameter) for item in value)
    return value


def check_betas(betas: tuple[float, float]) -> None:
    for index in (0, 1):
        check(0 <= betas[index] < 1, f"beta parameter at index {index}", betas[index])


def decay_of(group: dict) -> Any:
    """The weight decay for an update rule: None leaves its term out."""
    decay = group["weight_decay"]
    return decay if isinstance(decay, Tensor) or decay != 0 else None


def assign_all(targets: Iterable[Tensor], values: Iterable[Tensor]) -> None:
    for target, value in zip(targets, values):
        assign(target, value)


def capturable(defaults: dict, foreach: Any = None, capturable: bool | None = False, differentiable: bool = False,
               fused: Any = False) -> dict:
    """Adds options that choose among PyTorch's implementations: they are kept, all updates are one launch anyway."""
    if differentiable:
        raise InvalidError("differentiable=True is not offered: write the update with autograd.grad(create_graph=True)")
    defaults["foreach"] = foreach
    if capturable is not None:
        defaults["capturable"] = capturable
    defaults["differentiable"] = differentiable
    if fused is not False:
        defaults["fused"] = fused
    return defaults
