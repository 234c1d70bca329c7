# SPDX-License-Identifier: Apache-2.0
"""assert_close: tensors, numbers and structures of them compared; make_tensor: random ones."""
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Callable

from . import _core
from ._core import InvalidError
from ._creation import as_shape, check_device, rand, randint
from ._dtype import bool_, dtype as Dtype, finfo, float32, float64
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
        raise InvalidError("rtol and atol must both be specified or both be unspecified")
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


def assert_allclose(actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True,
                    msg: str = "") -> None:
    """assert_close of old: dtypes need not be equal."""
    assert_close(actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)


def make_tensor(*shape: Any, dtype: Dtype, device: Any, low: float | None = None, high: float | None = None,
                requires_grad: bool = False, noncontiguous: bool = False, exclude_zero: bool = False,
                memory_format: Any = None) -> Tensor:
    """Random values from low up to high: -9 to 9 for floats, -9 to 10 for integers (0 for unsigned ones), and 0 or 1."""
    check_device(device)
    size = as_shape(shape, "make_tensor")
    if dtype is bool_:
        made = randint(0, 2, size, dtype=bool_)
    elif dtype.is_floating_point:
        low, high = -9.0 if low is None else low, 9.0 if high is None else high
        if low >= high:
            raise InvalidError(f"make_tensor: low must be weakly less than high, but got {low} >= {high}")
        made = (rand(size, dtype=float64 if dtype is float64 else float32) * (high - low) + low).to(dtype)
        if exclude_zero:
            made = made.masked_fill(made == 0, finfo(dtype).tiny)
    else:
        least = (-9 if dtype.is_signed else 0) if low is None else math.ceil(low)
        made = randint(least, 10 if high is None else math.ceil(high), size, dtype=dtype)
        if exclude_zero:
            made = made.masked_fill(made == 0, 1)
    if noncontiguous and made.numel() > 1:
        made = made.repeat_interleave(2, dim=-1)[..., ::2]
    if requires_grad and not dtype.is_floating_point:
        raise InvalidError(f"make_tensor: requires_grad must be False for integral dtypes, but got {dtype}")
    return made.detach().requires_grad_() if requires_grad else made
