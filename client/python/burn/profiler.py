# SPDX-License-Identifier: Apache-2.0
"""torch.profiler's names: they measure nothing. Run times of the kernels are told by `burnctl kernels`, counters by
burn.stats()."""
from __future__ import annotations

import enum
import functools
from typing import Any, Callable, Iterable

from ._core import InvalidError

_ADVICE = "burn.profiler measures nothing: `burnctl kernels` tells the run times of kernels, burn.stats() the counters\n"


class ProfilerActivity(enum.Enum):
    """What could be measured."""

    CPU = 0
    CUDA = 1
    XPU = 2


class ProfilerAction(enum.Enum):
    """What a schedule says of a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(*, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0) -> Callable:
    """What to do at each step: skip_first of nothing, then cycles of waiting, warming up and recording."""
    def action(step: int) -> ProfilerAction:
        step -= skip_first
        length = wait + warmup + active
        if step < 0 or (repeat > 0 and step // length >= repeat):
            return ProfilerAction.NONE
        place = step % length
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE
    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Callable:
    """A handler that writes nothing."""
    return lambda prof: None


class _Events(list):
    """No events."""

    def table(self, *args: Any, **kwargs: Any) -> str:
        """Where to look instead."""
        return _ADVICE


class profile:
    """A context manager that measures nothing; its tables say where to look instead."""

    def __init__(self, *, activities: Iterable[ProfilerActivity] | None = None, schedule: Callable | None = None,
                 on_trace_ready: Callable | None = None, **options: Any) -> None:
        self.step_num = 0

    def __enter__(self) -> "profile":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def start(self) -> None:
        """Nothing."""

    def stop(self) -> None:
        """Nothing."""

    def step(self) -> None:
        """Counts a step."""
        self.step_num += 1

    def key_averages(self, *args: Any, **kwargs: Any) -> _Events:
        """No events; its table() says where to look instead."""
        return _Events()

    def events(self) -> _Events:
        """No events."""
        return _Events()

    def export_chrome_trace(self, path: str) -> None:
        """RuntimeError: there is nothing to export."""
        raise InvalidError(_ADVICE.strip())

    export_stacks = export_memory_timeline = export_chrome_trace


class record_function:
    """A context manager and decorator that names a part of a program, for nobody."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name

    def __enter__(self) -> "record_function":
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)
        return wrapped
