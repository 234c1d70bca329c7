# SPDX-License-Identifier: Apache-2.0
"""Windows for signals."""
from __future__ import annotations

import math
from typing import Any

from . import _core, _ops
from ._core import InvalidError
from ._creation import arange, as_shape, ones
from ._dtype import as_dtype, float64, get_default_dtype
from ._pointwise import FUNCTIONS
from ._tensor import Tensor


def _phases(length: int, periodic: bool, what: str) -> Tensor:
    """The places of a window as shares of its period, in float64; a periodic window is a symmetric one of a place more."""
    (length,) = as_shape((length,), what)
    return arange(length, dtype=float64) / max(length - (not periodic), 1)


def _made(window: Tensor, length: int, dtype: Any, requires_grad: bool) -> Tensor:
    wanted = as_dtype(dtype) or get_default_dtype()
    if not wanted.is_floating_point:
        raise InvalidError(f"windows are of floating-point dtypes, not {wanted}")
    made = ones(length, dtype=wanted) if length < 2 else window.to(wanted)
    return made.requires_grad_(True) if requires_grad else made


def _cosines(phases: Tensor, *weights: float) -> Tensor:
    """The alternating sum of weighted cosines."""
    total = _core.full(tuple(phases.shape), weights[0], float64)
    for number, weight in enumerate(weights[1:], 1):
        total = total + _ops.cos(phases * (2 * math.pi * number)) * (weight if number % 2 == 0 else -weight)
    return total


def hann_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None,
                requires_grad: bool = False, layout: Any = None) -> Tensor:
    """0.5 - 0.5 cos(2 pi n / N)."""
    return hamming_window(window_length, periodic, 0.5, 0.5, dtype=dtype, requires_grad=requires_grad)


def hamming_window(window_length: int, periodic: bool = True, alpha: float = 0.54, beta: float = 0.46, *,
                   dtype: Any = None, device: Any = None, requires_grad: bool = False, layout: Any = None) -> Tensor:
    """alpha - beta cos(2 pi n / N)."""
    window = _cosines(_phases(window_length, periodic, "hamming_window"), alpha, beta)
    return _made(window, window_length, dtype, requires_grad)


def blackman_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None,
                    requires_grad: bool = False, layout: Any = None) -> Tensor:
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)."""
    window = _cosines(_phases(window_length, periodic, "blackman_window"), 0.42, 0.5, 0.08)
    return _made(window, window_length, dtype, requires_grad)


def bartlett_window(window_length: int, periodic: bool = True, *, dtype: Any = None, device: Any = None,
                    requires_grad: bool = False, layout: Any = None) -> Tensor:
    """A triangle: 1 - |2 n / N - 1|."""
    window = 1 - _ops.abs(_phases(window_length, periodic, "bartlett_window") * 2 - 1)
    return _made(window, window_length, dtype, requires_grad)


def kaiser_window(window_length: int, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None,
                  device: Any = None, requires_grad: bool = False, layout: Any = None) -> Tensor:
    """i0(beta sqrt(1 - (2 n / N - 1)^2)) / i0(beta)."""
    from .special import i0
    places = _phases(window_length, periodic, "kaiser_window") * 2 - 1
    inside = _ops.sqrt(_ops.clamp(1 - places * places, 0, None)) * beta
    return _made(i0(inside) / i0(_core.full((), beta, float64)), window_length, dtype, requires_grad)


for _function in (hann_window, hamming_window, blackman_window, bartlett_window, kaiser_window):
    FUNCTIONS[_function.__name__] = _function
