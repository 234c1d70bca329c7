# SPDX-License-Identifier: Apache-2.0
"""Functions that make tensors."""
from __future__ import annotations

import math
import operator
import os
from typing import Any, Sequence

from . import _core, _ops
from ._core import ArgumentError, InvalidError
from ._dtype import BY_NAME, as_dtype, bool_, device as Device, float32, float64, get_default_dtype, int64
from ._tensor import Tensor


def check_device(device: Any) -> None:
    """The one device of the connection, under any of its names."""
    if device is None:
        return
    wanted = Device(device)
    have = _core.device_name()
    if wanted.type != have or (wanted.index or 0) != 0:
        raise InvalidError(f"this connection's device is {have}, not {wanted}; "
                           "connect with ?device=NAME, or call burn.set_default_device first")


def as_shape(sizes: tuple, what: str) -> tuple[int, ...]:
    """(2, 3) from f(2, 3), f((2, 3)) or f([2, 3])."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    shape = []
    for n in sizes:
        if isinstance(n, (float, str)) or n is None or isinstance(n, bool):
            raise ArgumentError(f"{what}(): a size is an int, got {type(n).__name__}")
        n = operator.index(n)
        if n < 0:
            raise InvalidError(f"{what}(): sizes must not be negative, got {n} in {list(sizes)}")
        shape.append(n)
    return tuple(shape)


def check_options(what: str, options: dict) -> None:
    """Of PyTorch's other options only those go unheard that change no value."""
    for name in options:
        if name not in ("layout", "pin_memory", "memory_format", "non_blocking"):
            raise ArgumentError(f"{what}() got an unexpected keyword argument {name!r}")


def _listed(size: Any, what: str) -> Any:
    """A size that must be a list, not one number."""
    if not isinstance(size, (tuple, list)):
        raise ArgumentError(f"{what}(): argument 'size' must be tuple of ints, not {type(size).__name__}")
    return size


def _size(size: tuple, options: dict, what: str) -> tuple[int, ...]:
    """The shape from positions or from size=, taken out of the options; what remains of them is checked."""
    if "size" in options:
        if size:
            raise ArgumentError(f"{what}() got several sizes")
        size = (options.pop("size"),)
    elif not size:
        raise ArgumentError(f"{what}() missing 1 required positional arguments: \"size\"")
    check_options(what, options)
    return as_shape(size, what)


def _finish(tensor: Tensor, requires_grad: bool) -> Tensor:
    return tensor.requires_grad_(True) if requires_grad else tensor


def full(size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
         **options: Any) -> Tensor:
    """fill_value everywhere; its type gives the dtype unless one is named."""
    check_device(device)
    check_options("full", options)
    shape = as_shape((_listed(size, "full"),), "full")
    dtype = as_dtype(dtype)
    if isinstance(fill_value, Tensor):
        return _finish(fill_value.to(dtype or fill_value.dtype).expand(shape).clone(), requires_grad)
    if dtype is None:
        dtype = bool_ if isinstance(fill_value, bool) else int64 if isinstance(fill_value, int) else get_default_dtype()
    return _finish(_core.full(shape, fill_value, dtype), requires_grad)


def _filled(value: int, what: str, size: tuple, options: dict, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    check_device(device)
    shape = _size(size, options, what)
    return _finish(_core.full(shape, value, as_dtype(dtype) or get_default_dtype()), requires_grad)


def zeros(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **options: Any) -> Tensor:
    """Zeros of the given shape: zeros(2, 3) or zeros((2, 3))."""
    return _filled(0, "zeros", size, options, dtype, device, requires_grad)


def ones(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **options: Any) -> Tensor:
    """Ones of the given shape: ones(2, 3) or ones((2, 3))."""
    return _filled(1, "ones", size, options, dtype, device, requires_grad)


def empty(*size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **options: Any) -> Tensor:
    """A tensor of unspecified values (they are zeros)."""
    return _filled(0, "empty", size, options, dtype, device, requires_grad)


def _like(x: Tensor, value: Any, what: str, options: dict, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    if not isinstance(x, Tensor):
        raise ArgumentError(f"{what}(): argument 'input' must be Tensor, not {type(x).__name__}")
    check_device(device)
    check_options(what, options)
    return _finish(_core.full(tuple(x.shape), value, as_dtype(dtype) or x.dtype), requires_grad)


def zeros_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
               **options: Any) -> Tensor:
    """Zeros of the shape and dtype of input."""
    return _like(input, 0, "zeros_like", options, dtype, device, requires_grad)


def ones_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
              **options: Any) -> Tensor:
    """Ones of the shape and dtype of input."""
    return _like(input, 1, "ones_like", options, dtype, device, requires_grad)


def empty_like(input: Tensor, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
               **options: Any) -> Tensor:
    """Unspecified values (zeros) of the shape and dtype of input."""
    return _like(input, 0, "empty_like", options, dtype, device, requires_grad)


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
              **options: Any) -> Tensor:
    """fill_value everywhere, in the shape and dtype of input."""
    return _like(input, fill_value, "full_like", options, dtype, device, requires_grad)


def tensor(data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, **options: Any) -> Tensor:
    """A copy of numbers, nested lists or an array. Floats get the default dtype, ints int64."""
    check_device(device)
    check_options("tensor", options)
    dtype = as_dtype(dtype)
    if isinstance(data, Tensor):
        made = data.detach().clone() if dtype is None else data.detach().to(dtype).clone()
        return _finish(made, requires_grad)
    made = _core.tensor(data, dtype)
    if dtype is None and made.dtype is float32 is not get_default_dtype() and not hasattr(data, "dtype"):
        made = _core.tensor(data, get_default_dtype())
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
    """obj itself if it is a fitting Tensor (and copy is not True), else tensor(obj)."""
    if isinstance(obj, Tensor):
        made = as_tensor(obj, dtype, device)
        return made.clone() if copy and made is obj else made
    return tensor(obj, dtype=dtype, device=device, requires_grad=requires_grad)


def from_numpy(ndarray: Any) -> Tensor:
    """A tensor of the array's values and dtype. They are copied: later writes to the array do not show."""
    if not hasattr(ndarray, "__array_interface__"):
        raise ArgumentError(f"from_numpy() takes an ndarray, got {type(ndarray).__name__}")
    return _core.tensor(ndarray)


def empty_host(*size: Any, dtype: Any = None) -> Any:
    """A NumPy array of the shape, its values whatever was there, in memory that the daemon shares where it can (on a
    Unix socket): burn.from_numpy() of it, or of a part of it, and burn.read_into() it need one copy less. The dtype is
    burn's, the default one if none is given. After a fork parent and child share it."""
    import numpy as np
    shape = as_shape(size, "empty_host")
    wanted = as_dtype(dtype) or get_default_dtype()
    if wanted is BY_NAME["bfloat16"]:
        raise ArgumentError("NumPy has no bfloat16")
    kind, count = np.dtype(wanted.name), math.prod(shape)
    return np.frombuffer(_core.host_memory(count * kind.itemsize), kind, count).reshape(shape)


def read_into(input: Tensor, out: Any) -> Any:
    """Copies the tensor's elements into a NumPy array of the same shape and dtype, and returns that."""
    if str(out.dtype) != input.dtype.name or tuple(out.shape) != tuple(input.shape):
        raise InvalidError(f"a {input.dtype.name} tensor of shape {tuple(input.shape)} does not go into an array of "
                           f"{out.dtype} and shape {tuple(out.shape)}")
    _core.read_into(input, out)
    return out


def from_dlpack(ext_tensor: Any) -> Tensor:
    """A tensor of the values of any object with __dlpack__. They are copied."""
    return _core.from_dlpack(ext_tensor)


def arange(start: Any = None, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None,
           requires_grad: bool = False, **options: Any) -> Tensor:
    """start, start + step, … up to but without end; arange(end) starts at 0."""
    check_device(device)
    check_options("arange", options)
    if end is None:
        start, end = None, start
    if end is None:
        raise ArgumentError("arange() missing 1 required positional arguments: \"end\"")
    start = 0 if start is None else start
    start, end, step = (x.item() if isinstance(x, Tensor) else x for x in (start, end, step))
    if not all(math.isfinite(x) for x in (start, end, step)):
        raise InvalidError(f"arange(): unsupported range: {start} -> {end}")
    if step == 0:
        raise InvalidError("arange(): step must be nonzero")
    if (end - start) * step < 0:
        raise InvalidError(f"arange(): upper bound {end} and lower bound {start} are inconsistent with step {step}")
    whole = all(isinstance(x, int) for x in (start, end, step))
    count = -((start - end) // step) if whole else math.ceil((end - start) / step)
    dtype = as_dtype(dtype) or (int64 if whole else get_default_dtype())
    return _finish(_ops.arange(start, step, count, dtype), requires_grad)


def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None, device: Any = None,
             requires_grad: bool = False, **options: Any) -> Tensor:
    """steps numbers in equal distances from start to end, both included."""
    check_device(device)
    check_options("linspace", options)
    if steps < 0:
        raise InvalidError(f"linspace(): the number of steps must be non-negative, got {steps}")
    return _finish(_ops.linspace(start, end, operator.index(steps), as_dtype(dtype) or get_default_dtype()),
                   requires_grad)


def logspace(start: float, end: float, steps: int, base: float = 10.0, *, dtype: Any = None, **options: Any) -> Tensor:
    """base to the power of what linspace gives."""
    dtype = as_dtype(dtype) or get_default_dtype()
    return (base ** linspace(start, end, steps, dtype=float64, **options)).to(dtype)


def eye(n: int, m: int | None = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
        **options: Any) -> Tensor:
    """Ones on the diagonal of an n by m matrix (m: n), zeros elsewhere."""
    check_device(device)
    check_options("eye", options)
    rows, columns = as_shape((n, n if m is None else m), "eye")
    return _finish(_ops.eye(rows, columns, as_dtype(dtype) or get_default_dtype()), requires_grad)


# ---- random numbers: Philox by seed and offset, so that the same seed gives the same numbers everywhere ----

class Generator:
    """A stream of random numbers of its own. One made without a generator uses the global stream."""

    def __init__(self, device: Any = None) -> None:
        check_device(device)
        self.device, self._seed, self._offset = Device(_core.device_name()), 67280421310721, 0

    def manual_seed(self, seed: int) -> "Generator":
        """Starts the stream anew."""
        self._seed, self._offset = int(seed), 0
        return self

    def seed(self) -> int:
        """Seeds the stream with a number that nobody can foresee, and returns it."""
        drawn = int.from_bytes(os.urandom(7), "little")
        self.manual_seed(drawn)
        return drawn

    def get_state(self) -> Tensor:
        """The seed and how many numbers were drawn, for set_state."""
        return tensor([self._seed, self._offset], dtype=int64)

    def set_state(self, new_state: Tensor) -> "Generator":
        """Puts the stream where it was when get_state gave this."""
        self._seed, self._offset = new_state.tolist()
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


def manual_seed(seed: int) -> "_Global":
    """Starts the global stream of random numbers anew; the same seed gives the same numbers."""
    return default_generator.manual_seed(seed)


def seed() -> int:
    """Seeds the global stream with a number that nobody can foresee, and returns it."""
    drawn = int.from_bytes(os.urandom(7), "little")
    _core.manual_seed(drawn)
    return drawn


initial_seed = _core.initial_seed


def get_rng_state() -> Tensor:
    """The seed of the global stream and how many numbers were drawn, for set_rng_state."""
    return tensor(list(_core.get_rng_state()), dtype=int64)


def set_rng_state(new_state: Tensor) -> None:
    """Puts the global stream where it was when get_rng_state gave this."""
    _core.set_rng_state(*new_state.tolist())


class _Global(Generator):
    """The global stream as a generator."""

    def __init__(self) -> None:
        pass

    @property
    def device(self) -> Device:  # type: ignore[override]
        return Device(_core.device_name())

    def manual_seed(self, seed: int) -> "_Global":
        _core.manual_seed(int(seed))
        return self

    def get_state(self) -> Tensor:
        return get_rng_state()

    def set_state(self, new_state: Tensor) -> "_Global":
        set_rng_state(new_state)
        return self

    def initial_seed(self) -> int:
        return _core.initial_seed()

    def next(self, count: int) -> tuple[int, int]:
        return _core.next_seed(count)


default_generator = _Global()


def host_permutation(n: int, generator: Generator | None = None) -> list[int]:
    """The integers 0 to n - 1 in random order, drawn in the client."""
    import numpy as np
    key = draw(n, generator)
    return np.random.Generator(np.random.Philox(key=key)).permutation(n).tolist()


def _count(shape: Sequence[int]) -> int:
    return math.prod(shape)


def rand(*size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
         requires_grad: bool = False, **options: Any) -> Tensor:
    """Uniform in [0, 1)."""
    check_device(device)
    shape = _size(size, options, "rand")
    return _finish(_ops.uniform(0.0, 1.0, shape, as_dtype(dtype) or get_default_dtype(),
                                *draw(_count(shape), generator)), requires_grad)


def randn(*size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
          requires_grad: bool = False, **options: Any) -> Tensor:
    """Standard normal."""
    check_device(device)
    shape = _size(size, options, "randn")
    return _finish(_ops.normal(0.0, 1.0, shape, as_dtype(dtype) or get_default_dtype(),
                               *draw(_count(shape), generator)), requires_grad)


def rand_like(input: Tensor, *, dtype: Any = None, **options: Any) -> Tensor:
    """rand in the shape and dtype of input."""
    return rand(tuple(input.shape), dtype=dtype or input.dtype, **options)


def randn_like(input: Tensor, *, dtype: Any = None, **options: Any) -> Tensor:
    """randn in the shape and dtype of input."""
    return randn(tuple(input.shape), dtype=dtype or input.dtype, **options)


def randint(low: int = 0, high: Any = None, size: Any = None, *, generator: Generator | None = None, dtype: Any = None,
            device: Any = None, requires_grad: bool = False, **options: Any) -> Tensor:
    """Integers from low (default 0) to high - 1."""
    check_device(device)
    check_options("randint", options)
    if size is None:
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    if not low < high:
        raise InvalidError(f"randint(): 'from' {low} must be less than 'to' {high}")
    shape = as_shape((_listed(size, "randint"),), "randint")
    return _finish(_ops.randint(low, high, shape, as_dtype(dtype) or int64, *draw(_count(shape), generator)),
                   requires_grad)


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None, dtype: Any = None,
           device: Any = None, requires_grad: bool = False, **options: Any) -> Tensor:
    """Normal numbers of the given mean and standard deviation, each a number or a tensor."""
    check_device(device)
    check_options("normal", options)
    if not isinstance(std, Tensor) and std < 0:
        raise InvalidError(f"normal expects std >= 0.0, but found std {std}")
    if size is None:
        like = mean if isinstance(mean, Tensor) else std
        if isinstance(mean, Tensor) and isinstance(std, Tensor):
            like = mean + std * 0
        if not isinstance(like, Tensor):
            raise ArgumentError("normal() of two numbers needs a size")
        size, dtype = tuple(like.shape), like.dtype
    return _finish(randn(size, generator=generator, dtype=dtype) * std + mean, requires_grad)


def bernoulli(input: Tensor, p: float | None = None, *, generator: Generator | None = None) -> Tensor:
    """1 with the probability that input (or p) names, else 0."""
    chance = input if p is None else full_like(input, p)
    return _ops.bernoulli(chance, *draw(input.numel(), generator))
