# SPDX-License-Identifier: Apache-2.0
"""dtype, device, Size and Generator objects."""
from __future__ import annotations

import math
from typing import Any

from . import _core
from ._core import ArgumentError, InvalidError


class dtype:
    """An element type. The attributes are PyTorch's; `number` is the wire's."""

    __slots__ = ("name", "number", "itemsize", "is_floating_point", "is_complex", "is_signed")

    def __init__(self, name: str, number: int, itemsize: int, is_floating_point: bool, is_signed: bool) -> None:
        self.name, self.number, self.itemsize = name, number, itemsize
        self.is_floating_point, self.is_complex, self.is_signed = is_floating_point, False, is_signed

    def __repr__(self) -> str:
        return f"burn.{self.name}"

    def __reduce__(self) -> tuple:
        return _dtype_by_name, (self.name,)


float64 = double = dtype("float64", 1, 8, True, True)
float32 = dtype("float32", 2, 4, True, True)
float16 = half = dtype("float16", 3, 2, True, True)
bfloat16 = dtype("bfloat16", 4, 2, True, True)
int64 = long = dtype("int64", 5, 8, False, True)
int32 = dtype("int32", 6, 4, False, True)
int16 = short = dtype("int16", 7, 2, False, True)
int8 = dtype("int8", 8, 1, False, True)
uint64 = dtype("uint64", 9, 8, False, False)
uint32 = dtype("uint32", 10, 4, False, False)
uint16 = dtype("uint16", 11, 2, False, False)
uint8 = dtype("uint8", 12, 1, False, False)
bool_ = dtype("bool", 13, 1, False, False)
ALL = [float64, float32, float16, bfloat16, int64, int32, int16, int8, uint64, uint32, uint16, uint8, bool_]
BY_NAME = {d.name: d for d in ALL}


def _dtype_by_name(name: str) -> dtype:
    return BY_NAME[name]


def as_dtype(value: Any) -> dtype | None:
    """A dtype from a dtype, None, one of Python's bool, int, float, or a NumPy dtype."""
    if value is None or isinstance(value, dtype):
        return value
    python = {bool: bool_, int: int64, float: float64}
    if isinstance(value, type) and value in python:
        return python[value]
    if isinstance(value, type) and isinstance(getattr(value, "dtype", None), dtype):  # burn.FloatTensor and its like
        return value.dtype
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    if not isinstance(value, str) and name in BY_NAME:
        return BY_NAME[name]
    raise ArgumentError(f"dtype must be a burn.dtype such as burn.float32, not {value!r}")


_default = float32


def get_default_dtype() -> dtype:
    """The dtype of tensors made from Python floats, and of zeros, rand and the like."""
    return _default


def set_default_dtype(d: dtype) -> None:
    """Chooses the dtype that get_default_dtype tells; float32 at first."""
    global _default
    if not isinstance(d, dtype) or not d.is_floating_point:
        raise ArgumentError(f"the default dtype is a floating-point burn.dtype, not {d!r}")
    _default = d


class device:
    """Where a tensor lives: a backend's name and an index. One connection serves one device."""

    __slots__ = ("type", "index")

    def __init__(self, type: Any, index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index
        if not isinstance(type, str):
            raise ArgumentError(f"a device is named by a string, got {type!r}")
        name, colon, number = type.partition(":")
        if colon:
            if not number.isdigit():
                raise InvalidError(f"invalid device string: {type!r}")
            index = int(number)
        if name not in ("cpu", "cuda", "ref"):
            raise InvalidError(f"unknown device {type!r}; the devices are cpu, cuda and ref")
        self.type, self.index = name, index

    def __repr__(self) -> str:
        return f"device(type={self.type!r}" + (f", index={self.index})" if self.index is not None else ")")

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: Any) -> bool:
        if isinstance(other, str):
            other = device(other)
        return isinstance(other, device) and self.type == other.type and (self.index or 0) == (other.index or 0)

    def __hash__(self) -> int:
        return hash((self.type, self.index or 0))

    def __reduce__(self) -> tuple:
        return device, (self.type, self.index)

    def __enter__(self) -> "device":
        """Within it tensors are made on this device: it must be the connection's, which has only one."""
        from ._creation import check_device
        check_device(self)
        return self

    def __exit__(self, *_: Any) -> None:
        pass


class Size(tuple):
    """A shape."""

    def numel(self) -> int:
        count = 1
        for n in self:
            count *= n
        return count

    def __repr__(self) -> str:
        return f"burn.Size({list(self)})"

    def __add__(self, other: Any) -> "Size":
        return Size(tuple.__add__(self, tuple(other)))

    def __getitem__(self, index: Any) -> Any:
        got = tuple.__getitem__(self, index)
        return Size(got) if isinstance(index, slice) else got


class finfo:
    """Limits of a floating-point dtype."""

    _facts = {"float64": (11, 52), "float32": (8, 23), "float16": (5, 10), "bfloat16": (8, 7)}

    def __init__(self, type: dtype | None = None) -> None:
        type = type or _default
        if type.name not in self._facts:
            raise ArgumentError(f"finfo() is of floating-point dtypes, not {type}")
        exponent, mantissa = self._facts[type.name]
        bias = 2 ** (exponent - 1) - 1
        self.dtype, self.bits = type.name, type.itemsize * 8
        self.eps = 2.0 ** -mantissa
        self.max = (2 - self.eps) * 2.0 ** bias
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0 ** (1 - bias)
        self.resolution = 10.0 ** -int(mantissa * math.log10(2))

    def __repr__(self) -> str:
        return (f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
                f"smallest_normal={self.tiny:g}, tiny={self.tiny:g}, dtype={self.dtype})")


class iinfo:
    """Limits of an integer dtype."""

    def __init__(self, type: dtype) -> None:
        if type.is_floating_point or type is bool_:
            raise ArgumentError(f"iinfo() is of integer dtypes, not {type}")
        self.dtype, self.bits = type.name, type.itemsize * 8
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (self.bits - 1) - 1 if type.is_signed else 2 ** self.bits - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


_core.set_dtypes([None, *ALL])
_core.set_size_class(Size)
