# SPDX-License-Identifier: Apache-2.0
"""assert_close: tensors, numbers and structures of them compared."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Callable

from . import _core
from ._pointwise import isclose
from ._tensor import Tensor

_TOLERANCES = {"float64": (1e-7, 1e-7), "float32": (1.3e-6, 1e-5), "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5)}


def _fail(text: str, where: str, msg: Any) -> None:
    text += f"\n\nThe failure occurred for item {where}" if where else ""
    raise AssertionError(msg(text) if callable(msg) else msg or text)


def _compare(actual: Tensor, expected: Tensor, where: str, rtol: float | None, atol: float | None, equal_nan: bool,
             check_dtype: bool, msg: Any) -> None:
    if actual.shape != expected.shape:
        _fail(f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}.", where, msg)
    if check_dtype and actual.dtype is not expected.dtype:
        _fail(f"The values for attribute 'dtype' do not match: {actual.dtype} != {expected.dtype}.", where, msg)
    actual, expected = actual.detach(), expected.detach()
    if actual.dtype is not expected.dtype:
        actual, expected = actual.double(), expected.double()
    if rtol is None or atol is None:
        rtol, atol = _TOLERANCES.get(actual.dtype.name, (0.0, 0.0))
    if not actual.dtype.is_floating_point:
        actual, expected = actual.double(), expected.double()
    wrong = ~isclose(actual, expected, rtol, atol, equal_nan)
    count = int(wrong.sum())
    if count:
        apart = (actual - expected).abs()
        far = float(apart.nan_to_num(float("inf")).max())
        near = float((apart / expected.abs()).nan_to_num(float("inf")).max())
        _fail(f"Tensor-likes are not close!\n\nMismatched elements: {count} / {actual.numel()} "
              f"({100 * count / actual.numel():.1f}%)\nGreatest absolute difference: {far:g} (up to {atol:g} allowed)\n"
              f"Greatest relative difference: {near:g} (up to {rtol:g} allowed)", where, msg)


def _as_tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else _core.tensor(value)


def assert_close(actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
                 atol: float | None = None, equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True,
                 check_layout: bool = True, check_stride: bool = False,
                 msg: str | Callable[[str], str] | None = None) -> None:
    """AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere, with equal shapes and dtypes.
    Lists, tuples and dicts are gone through. The tolerances, if none are named, are the dtype's."""
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be specified or both be unspecified")
    _walk(actual, expected, "", rtol, atol, equal_nan, check_dtype, msg)


def _walk(actual: Any, expected: Any, where: str, *options: Any) -> None:
    msg = options[-1]
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        if set(actual) != set(expected):
            _fail(f"The keys of the mappings do not match: {sorted(actual)} != {sorted(expected)}.", where, msg)
        pairs: Any = ((key, actual[key], expected[key]) for key in actual)
    elif isinstance(actual, Sequence) and isinstance(expected, Sequence) and not isinstance(actual, str):
        if len(actual) != len(expected):
            _fail(f"The length of the sequences do not match: {len(actual)} != {len(expected)}", where, msg)
        pairs = zip(range(len(actual)), actual, expected)
    else:
        numbers = not isinstance(actual, Tensor) and not isinstance(expected, Tensor)
        rtol, atol, equal_nan, check_dtype = options[:4]
        _compare(_as_tensor(actual), _as_tensor(expected), where, rtol, atol, equal_nan, check_dtype and not numbers, msg)
        return
    for key, one, other in pairs:
        _walk(one, other, f"{where}[{key!r}]", *options)
