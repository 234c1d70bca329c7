# SPDX-License-Identifier: Apache-2.0
"""Functions that make tensors."""
from __future__ import annotations

import math
import operator
from typing import Any, Sequence

from . import _core, _ops
from ._dtype import as_dtype, bool_, device as Device, float64, get_default_dtype, int64
from ._tensor import Tensor


def check_device(device: Any) -> None:
    """The one device of the connection, under any of its names."""
    if device is None:
        return
    wanted = Device(device)
    have = _core.device_name()
    if wanted.type != have or (wanted.index or 0) != 0:
        raise RuntimeError(f"this connection's device is {have}, not {wanted}; "
                           "connect with ?device=NAME, or call burn.set_default_device first")


def as_shape(sizes: tuple, what: str) -> tuple[int, ...]:
    """(2, 3) from f(2, 3), f((2, 3)) or f([2, 3])."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    shape = []
    for n in sizes:
        if isinstance(n, (float, str)) or n is None or isinstance(n, bool):
            raise TypeError(f"{what}(): a size is an int, got {type(n).__name__}")
        n = operator.index(n)
        if n < 0:
            raise RuntimeError(f"{what}(): sizes must not be negative, got {n} in {list(sizes)}")
        shape.append(n)
    return tuple(shape)


def _finish(tensor: Tensor, requires_grad: bool) -> Tensor:
    return tensor.requires_grad_(True) if requires_grad else tensor


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
         **_: Any) -> Tensor:
    check_device(device)
    shape = as_shape((size,), "full")
    dtype = as_dtype(dtype)
    if isinstance(fill_value, Tensor):
        return _finish(fill_value.to(dtype or fill_value.dtype).expand(shape).clone(), requires_grad)
    if dtype is None:
        dtype = bool_ if isinstance(fill_value, bool) else int64 if isinstance(fill_value, int) else get_default_dtype()
    return _finish(_core.full(shape, fill_value, dtype), requires_grad)


def _filled(value: int, what: str, size: tuple, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    check_device(device)
    return _finish(_core.full(as_shape(size, what), value, as_dtype(dtype) or get_default_dtype()), requires_grad)


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any) -> Tensor:
    return _filled(0, "zeros", size, dtype, device, requires_grad)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any) -> Tensor:
    return _filled(1, "ones", size, dtype, device, requires_grad)


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any) -> Tensor:
    """A tensor of unspecified values (they are zeros)."""
    return _filled(0, "empty", size, dtype, device, requires_grad)


def _like(x: Tensor, value: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    check_device(device)
    return _finish(_core.full(tuple(x.shape), value, as_dtype(dtype) or x.dtype), requires_grad)


def zeros_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any) -> Tensor:
    return _like(input, 0, dtype, device, requires_grad)


def ones_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any) -> Tensor:
    return _like(input, 1, dtype, device, requires_grad)


def empty_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any) -> Tensor:
    return _like(input, 0, dtype, device, requires_grad)


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
              **_: Any) -> Tensor:
    return _like(input, fill_value, dtype, device, requires_grad)


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **_: Any) -> Tensor:
    """A copy of numbers, nested lists or an array. Floats get the default dtype, ints int64."""
    check_device(device)
    dtype = as_dtype(dtype)
    if isinstance(data, Tensor):
        made = data.detach().clone() if dtype is None else data.detach().to(dtype).clone()
        return _finish(made, requires_grad)
    made = _core.tensor(data, dtype)
    if dtype is None and made.dtype.is_floating_point and not hasattr(data, "dtype"):
        made = made.to(get_default_dtype())
    return _finish(made, requires_grad)


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """data itself if it is a fitting Tensor, else tensor(data)."""
    dtype = as_dtype(dtype)
    if isinstance(data, Tensor):
        check_device(device)
        return data if dtype is None else data.to(dtype)
    return tensor(data, dtype=dtype, device=device)


def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None,
            requires_grad: bool = False) -> Tensor:
    if isinstance(obj, Tensor):
        made = as_tensor(obj, dtype, device)
        return made.clone() if copy and made is obj else made
    return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor of the array's values and dtype. They are copied: later writes to the array do not show."""
    if not hasattr(ndarray, "__array_interface__"):
        raise TypeError(f"from_numpy() takes an ndarray, got {type(ndarray).__name__}")
    return _core.tensor(ndarray)


def from_dlpack(ext_tensor: Any) -> Tensor:
    return _core.from_dlpack(ext_tensor)


def arange(start: Any, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None,
           requires_grad: bool = False, **_: Any) -> Tensor:
    check_device(device)
    if end is None:
        start, end = 0, start
    start, end, step = (x.item() if isinstance(x, Tensor) else x for x in (start, end, step))
    if step == 0:
        raise RuntimeError("arange(): step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError(f"arange(): upper bound {end} and lower bound {start} are inconsistent with step {step}")
    whole = all(isinstance(x, int) for x in (start, end, step))
    count = -((start - end) // step) if whole else math.ceil((end - start) / step)
    dtype = as_dtype(dtype) or (int64 if whole else get_default_dtype())
    return _finish(_ops.arange(start, step, count, dtype), requires_grad)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None,
             requires_grad: bool = False, **_: Any) -> Tensor:
    check_device(device)
    if steps < 0:
        raise RuntimeError(f"linspace(): the number of steps must be non-negative, got {steps}")
    return _finish(_ops.linspace(start, end, operator.index(steps), as_dtype(dtype) or get_default_dtype()),
                   requires_grad)


def logspace(start: float, end: float, steps: int, base: float = 10.0, *, dtype: Any = None, **options: Any) -> Tensor:
    dtype = as_dtype(dtype) or get_default_dtype()
    return (base ** linspace(start, end, steps, dtype=float64, **options)).to(dtype)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
        **_: Any) -> Tensor:
    check_device(device)
    rows, columns = as_shape((n, n if m is None else m), "eye")
    return _finish(_ops.eye(rows, columns, as_dtype(dtype) or get_default_dtype()), requires_grad)


# ---- random numbers: Philox by seed and offset, so that the same seed gives the same numbers everywhere ----

class Generator:
    """A stream of random numbers of its own. One made without a generator uses the global stream."""

    def __init__(self, device: Any = "cpu") -> None:
        check_device(device)
        self.device, self._seed, self._offset = Device("cpu"), 67280421310721, 0

    def manual_seed(self, seed: int) -> "Generator":
        self._seed, self._offset = int(seed), 0
        return self

    def initial_seed(self) -> int:
        return self._seed

    def next(self, count: int) -> tuple[int, int]:
        offset = self._offset
        self._offset += count
        return self._seed, offset


def draw(count: int, generator: Generator | None) -> tuple[int, int]:
    """Seed and offset for so many random elements."""
    return generator.next(count) if generator is not None else _core.next_seed(count)


def manual_seed(seed: int) -> None:
    _core.manual_seed(int(seed))


def _count(shape: Sequence[int]) -> int:
    return math.prod(shape)


def rand(*size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
         requires_grad: bool = False, **_: Any) -> Tensor:
    """Uniform in [0, 1)."""
    check_device(device)
    shape = as_shape(size, "rand")
    return _finish(_ops.uniform(0.0, 1.0, shape, as_dtype(dtype) or get_default_dtype(),
                                *draw(_count(shape), generator)), requires_grad)


def randn(*size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
          requires_grad: bool = False, **_: Any) -> Tensor:
    """Standard normal."""
    check_device(device)
    shape = as_shape(size, "randn")
    return _finish(_ops.normal(0.0, 1.0, shape, as_dtype(dtype) or get_default_dtype(),
                               *draw(_count(shape), generator)), requires_grad)


def rand_like(input: Tensor, *, dtype: Any = None, **options: Any) -> Tensor:
    return rand(tuple(input.shape), dtype=dtype or input.dtype, **options)


def randn_like(input: Tensor, *, dtype: Any = None, **options: Any) -> Tensor:
    return randn(tuple(input.shape), dtype=dtype or input.dtype, **options)


def randint(low: int, high: Any = None, size: Any = None, *, generator: Generator | None = None, dtype: Any = None,
            device: Any = None, requires_grad: bool = False, **_: Any) -> Tensor:
    """Integers from low (default 0) to high - 1."""
    check_device(device)
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if not low < high:
        raise RuntimeError(f"randint(): 'from' {low} must be less than 'to' {high}")
    shape = as_shape((size,), "randint")
    return _finish(_ops.randint(low, high, shape, as_dtype(dtype) or int64, *draw(_count(shape), generator)),
                   requires_grad)


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, dtype: Any = None,
           **_: Any) -> Tensor:
    if size is None:
        like = mean if isinstance(mean, Tensor) else std
        if isinstance(mean, Tensor) and isinstance(std, Tensor):
            like = mean + std * 0
        if not isinstance(like, Tensor):
            raise TypeError("normal() of two numbers needs a size")
        return randn(tuple(like.shape), generator=generator, dtype=like.dtype) * std + mean
    return randn(size, generator=generator, dtype=dtype) * std + mean


def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that input (or p) names, else 0."""
    chance = input if p is None else full_like(input, p)
    return _ops.bernoulli(chance, *draw(input.numel(), generator))
