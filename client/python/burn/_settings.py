# SPDX-License-Identifier: Apache-2.0
"""Process-wide settings of PyTorch that programs touch, and compile()."""
from __future__ import annotations

import os
from typing import Any, Callable

_state: dict[str, Any] = {"deterministic": False, "precision": "highest", "threads": os.cpu_count() or 1}


def compile(model: Callable | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
            backend: Any = None, mode: str | None = None, options: dict | None = None, disable: bool = False) -> Any:
    """The model or function itself: the daemon compiles what repeats in every program. burn.jit registers a function of
    tensors as a program of the daemon."""
    return (lambda function: function) if model is None else model


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Kept and without effect: the same program gives the same bits anyway."""
    _state["deterministic"] = bool(mode)


def are_deterministic_algorithms_enabled() -> bool:
    """What use_deterministic_algorithms was told."""
    return _state["deterministic"]


def set_float32_matmul_precision(precision: str) -> None:
    """Kept and without effect: float32 products are float32's."""
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"the precision is highest, high or medium, not {precision!r}")
    _state["precision"] = precision


def get_float32_matmul_precision() -> str:
    """What set_float32_matmul_precision was told."""
    return _state["precision"]


def set_num_threads(int: int) -> None:
    """Kept and without effect: the daemon's threads are set by --threads (BURND_THREADS)."""
    if not int > 0:
        raise RuntimeError("set_num_threads expects a positive integer")
    _state["threads"] = int


def get_num_threads() -> int:
    """What set_num_threads was told, else the number of cores."""
    return _state["threads"]
