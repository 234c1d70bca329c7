# SPDX-License-Identifier: Apache-2.0
"""The hooks of a module, by kind, in the order in which they are called."""
from __future__ import annotations

import itertools
from collections import OrderedDict
from typing import Any, Callable, NamedTuple

from ..._core import InvalidError, grad_enabled

CALLED = ("forward_pre", "forward", "backward", "backward_pre")  # those that a call of the module looks at


class RemovableHandle:
    """Returned by the register_*_hook methods; remove() takes the hook away."""

    _next_id = itertools.count()

    def __init__(self, hooks: "Hooks", kind: str) -> None:
        self._hooks, self._kind, self.id = hooks, kind, next(self._next_id)

    def remove(self) -> None:
        self._hooks.remove(self._kind, self.id)

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


class _Hook(NamedTuple):
    function: Callable
    with_kwargs: bool
    always: bool


class Hooks:
    """Tables of hooks; `some` says whether a call has any to run."""

    def __init__(self) -> None:
        self.tables: dict[str, OrderedDict[int, _Hook]] = {}
        self.some = False

    def add(self, kind: str, function: Callable, prepend: bool = False, with_kwargs: bool = False,
            always: bool = False) -> RemovableHandle:
        handle = RemovableHandle(self, kind)
        table = self.tables.setdefault(kind, OrderedDict())
        table[handle.id] = _Hook(function, with_kwargs, always)
        if prepend:
            table.move_to_end(handle.id, last=False)
        self._look()
        return handle

    def remove(self, kind: str, number: int) -> None:
        self.tables.get(kind, OrderedDict()).pop(number, None)
        self._look()

    def _look(self) -> None:
        self.some = any(self.tables.get(kind) for kind in CALLED)

    def of(self, kind: str) -> list[_Hook]:
        return list(self.tables.get(kind, {}).values())

    def call(self, module: Any, args: tuple, kwargs: dict) -> Any:
        """forward with the hooks around it."""
        for hook in self.of("forward_pre"):
            if hook.with_kwargs:
                changed = hook.function(module, args, kwargs)
                if changed is not None:
                    if not isinstance(changed, tuple) or len(changed) != 2:
                        raise InvalidError("forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                                           f"but got {changed}.")
                    args, kwargs = changed
            else:
                changed = hook.function(module, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        watch = None
        if (self.tables.get("backward") or self.tables.get("backward_pre")) and grad_enabled():
            from ._watch import Watch
            watch = Watch(module, self.of("backward_pre"), self.of("backward"))
            args = watch.inputs(args)
        try:
            output = module.forward(*args, **kwargs)
        except Exception:
            for hook in self.of("forward"):
                if hook.always:
                    _after(hook, module, args, kwargs, None)
            raise
        for hook in self.of("forward"):
            changed = _after(hook, module, args, kwargs, output)
            if changed is not None:
                output = changed
        return output if watch is None else watch.outputs(output)


def _after(hook: _Hook, module: Any, args: tuple, kwargs: dict, output: Any) -> Any:
    return hook.function(module, args, kwargs, output) if hook.with_kwargs else hook.function(module, args, output)
