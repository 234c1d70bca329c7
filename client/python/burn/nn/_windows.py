# SPDX-License-Identifier: Apache-2.0
"""Arguments of functions over windows: sizes, strides, paddings and dilations, one a place dim."""
from __future__ import annotations

from typing import Any, Sequence

from .._core import ArgumentError, InvalidError
from .._tensor import Tensor


def each(value: Any, count: int, name: str) -> tuple[int, ...]:
    """One int a place dim, from an int or a sequence of one or of all."""
    if isinstance(value, int) and not isinstance(value, bool):
        return (value,) * count
    parts = tuple(int(part) for part in value)
    if len(parts) == 1:
        return parts * count
    if len(parts) != count:
        raise InvalidError(f"{name} must be an int or {count} of them, got {parts}")
    return parts


def at_least(parts: Sequence[int], least: int, name: str) -> None:
    if any(part < least for part in parts):
        text = "negative" if least == 0 else "non-positive"
        raise InvalidError(f"{text} {name} is not supported, got {tuple(parts)}")


def check_rank(input: Tensor, places: int, name: str) -> None:
    """A batch dim may be missing."""
    if not isinstance(input, Tensor):
        raise ArgumentError(f"{name}(): argument 'input' must be Tensor, not {type(input).__name__}")
    if input.dim() not in (places + 1, places + 2):
        raise InvalidError(f"Expected {places + 1}D (unbatched) or {places + 2}D (batched) input to {name}, but got "
                           f"input of size: {list(input.shape)}")


def padding_lists(low: Sequence[int], high: Sequence[int]) -> tuple[list[int], list[int]]:
    """Both empty where nothing is padded."""
    return (list(low), list(high)) if any(low) or any(high) else ([], [])
