# SPDX-License-Identifier: Apache-2.0
"""torch.compiler's names. Everything is compiled by the daemon as it runs, so functions come back as they are."""
from __future__ import annotations

from typing import Any, Callable

from ._settings import compile as compile


def disable(fn: Callable | None = None, recursive: bool = True, *, reason: str | None = None) -> Callable:
    """The function itself; also as a decorator with arguments."""
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn: Any) -> Any:
    """The function itself."""
    return fn


def assume_constant_result(fn: Callable) -> Callable:
    """The function itself."""
    return fn


class set_stance:
    """A context manager and decorator without effect."""

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        pass

    def __call__(self, function: Callable) -> Callable:
        return function


def is_compiling() -> bool:
    """False: Python always runs itself."""
    return False


is_dynamo_compiling = is_compiling
is_exporting = is_compiling


def reset() -> None:
    """Nothing: there is no cache in the client."""


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no CUDA graphs."""


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """None to choose from."""
    return []
