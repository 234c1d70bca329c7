# SPDX-License-Identifier: Apache-2.0
"""Process-wide settings of PyTorch that programs touch, and compile()."""
from __future__ import annotations

import os
from typing import Any, Callable

from ._core import InvalidError

_state: dict[str, Any] = {"deterministic": False, "warn_only": False, "precision": "highest", "threads": os.cpu_count() or 1,
                          "interop": os.cpu_count() or 1, "warn_always": False}


def compile(model: Callable | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
            backend: Any = None, mode: str | None = None, options: dict | None = None, disable: bool = False) -> Any:
    """The model or function itself: the daemon compiles what repeats in every program. burn.jit registers a function of
    tensors as a program of the daemon."""
    return (lambda function: function) if model is None else model


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Kept and without effect: the same program gives the same bits anyway."""
    _state["deterministic"], _state["warn_only"] = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """What use_deterministic_algorithms was told."""
    return _state["deterministic"]


def set_float32_matmul_precision(precision: str) -> None:
    """Kept and without effect: float32 products are float32's."""
    if precision not in ("highest", "high", "medium"):
        raise InvalidError(f"the precision is highest, high or medium, not {precision!r}")
    _state["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What set_float32_matmul_precision was told."""
    return _state["precision"]


def set_num_threads(int: int) -> None:
    """Kept and without effect: the daemon's threads are set by --threads (BURND_THREADS)."""
    if not int > 0:
        raise InvalidError("set_num_threads expects a positive integer")
    _state["threads"] = int


def get_num_threads() -> int:
    """What set_num_threads was told, else the number of cores."""
    return _state["threads"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """What use_deterministic_algorithms was told of warn_only."""
    return _state["warn_only"]


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """use_deterministic_algorithms by 0 or "default", 1 or "warn", 2 or "error"."""
    names = ("default", "warn", "error")
    if debug_mode not in names and debug_mode not in (0, 1, 2):
        raise InvalidError(f"invalid value of debug_mode, expected 0, 1, 2 or one of {', '.join(names)}, but got {debug_mode!r}")
    level = names.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2, as set_deterministic_debug_mode was told."""
    return 0 if not _state["deterministic"] else 1 if _state["warn_only"] else 2


def set_num_interop_threads(int: int) -> None:
    """Kept and without effect."""
    if not int > 0:
        raise InvalidError("set_num_interop_threads expects a positive integer")
    _state["interop"] = int


def get_num_interop_threads() -> int:
    """What set_num_interop_threads was told, else the number of cores."""
    return _state["interop"]


def set_flush_denormal(mode: bool) -> bool:
    """False: denormal numbers are never flushed to 0."""
    return False


def set_warn_always(b: bool) -> None:
    """Kept and without effect."""
    _state["warn_always"] = bool(b)


def is_warn_always_enabled() -> bool:
    """What set_warn_always was told."""
    return _state["warn_always"]
