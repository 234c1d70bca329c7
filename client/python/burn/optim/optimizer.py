# SPDX-License-Identifier: Apache-2.0
"""Optimizer: parameter groups, state, zero_grad, state_dict; the update rules are ops of the daemon."""
from __future__ import annotations

import contextlib
import weakref
from typing import Any, Callable, Iterable, Iterator

from .. import _core
from .._tensor import Tensor, assign, enable_grad, no_grad


class _Required:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def check(ok: bool, text: str, value: Any) -> None:
    if not ok:
        raise ValueError(f"Invalid {text}: {value}")


_alive: "weakref.WeakSet[Optimizer]" = weakref.WeakSet()


_traces = _marks = 0


def mark() -> None:
    """Ends a step: what was recorded so far runs. In a program being traced it is counted, and each call ends a step."""
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
                        if isinstance(state.get("step"), int):
                            state["step"] = _core.tensor(state["step"])


class Optimizer:
    """Base class. A subclass gives defaults, init_state(parameter, group), the state of a parameter before its
    first update, and update(parameter, gradient, state, group), which assigns to the state's tensors."""

    def __init__(self, params: Iterable[Any], defaults: dict) -> None:
        if isinstance(params, Tensor):
            raise TypeError("params is an iterable of tensors or dicts, got a single Tensor; use [tensor]")
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        self.defaults, self.state, self.param_groups = defaults, {}, []
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        _alive.add(self)

    def add_param_group(self, param_group: dict) -> None:
        if not isinstance(param_group, dict):
            raise TypeError(f"a parameter group is a dict, got {type(param_group).__name__}")
        params = param_group["params"]
        params = [params] if isinstance(params, Tensor) else list(params)
        params = [p[1] if isinstance(p, tuple) else p for p in params]
        known = {id(p) for group in self.param_groups for p in group["params"]}
        for parameter in params:
            if not isinstance(parameter, Tensor):
                raise TypeError(f"optimizers take Tensors, got {type(parameter).__name__}")
            if not parameter.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
            if id(parameter) in known:
                raise ValueError("some parameters appear in more than one parameter group")
            known.add(id(parameter))
        group = {"params": params, **{k: v for k, v in param_group.items() if k != "params"}}
        for name, value in self.defaults.items():
            if value is required and name not in group:
                raise ValueError(f"the parameter group lacks the required option {name!r}")
            group.setdefault(name, value)
        self.param_groups.append(group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad = None if set_to_none else parameter.grad.detach() * 0

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
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
        mark()
        return loss

    def _state_of(self, parameter: Tensor, group: dict) -> dict:
        state = self.state.get(parameter)
        if state is None:
            state = self.state[parameter] = self.init_state(parameter, group)
        return state

    def init_state(self, parameter: Tensor, group: dict) -> dict:
        return {}

    def complete_state(self, parameter: Tensor, state: dict, group: dict) -> None:
        """Adds what update() would make at the first step; a traced program cannot, it runs at every step."""

    def update(self, parameter: Tensor, gradient: Tensor, state: dict, group: dict) -> None:
        raise NotImplementedError(f"{type(self).__name__} has no update rule")

    # ---- state ----

    def state_dict(self) -> dict:
        numbers, groups = {}, []
        for group in self.param_groups:
            for parameter in group["params"]:
                numbers.setdefault(id(parameter), len(numbers))
            groups.append({**{k: v for k, v in group.items() if k != "params"},
                           "params": [numbers[id(p)] for p in group["params"]]})
        return {"state": {numbers[id(p)]: dict(state) for p, state in self.state.items() if id(p) in numbers},
                "param_groups": groups}

    def load_state_dict(self, state_dict: dict) -> None:
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError(f"loaded state dict has {len(groups)} parameter groups, the optimizer "
                             f"{len(self.param_groups)}")
        by_number = {}
        for own, loaded in zip(self.param_groups, groups):
            if len(own["params"]) != len(loaded["params"]):
                raise ValueError(f"a loaded group has {len(loaded['params'])} parameters, the optimizer's "
                                 f"{len(own['params'])}")
            by_number.update(zip(loaded["params"], own["params"]))
            own.update({k: v for k, v in loaded.items() if k != "params"})
        self.state = {by_number[int(number)]: {k: v.clone() if isinstance(v, Tensor) else v for k, v in state.items()}
                      for number, state in state_dict["state"].items()}

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def count_step(state: dict) -> Any:
    """Counts one more step; the number (an int, or a tensor in programs) is what update rules take."""
    if isinstance(state["step"], Tensor):
        assign(state["step"], state["step"] + 1)
    else:
        state["step"] += 1
    return state["step"]
