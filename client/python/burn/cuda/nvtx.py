# SPDX-License-Identifier: Apache-2.0
"""Marks for NVIDIA's tools: nothing, there is no CUDA device."""
from __future__ import annotations

import contextlib
from typing import Any, Iterator


def range_push(msg: str) -> int:
    """Nothing."""
    return 0


def range_pop() -> int:
    """Nothing."""
    return 0


def mark(msg: str) -> None:
    """Nothing."""


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """A context manager that does nothing."""
    yield
