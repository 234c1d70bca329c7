# SPDX-License-Identifier: Apache-2.0
"""PyTorch's older ways to make a tensor and to name its type: Tensor(2, 3), LongTensor([1, 2]), x.type()."""
from __future__ import annotations

from typing import Any

from . import _core
from ._core import ArgumentError, InvalidError
from ._creation import as_shape, check_device
from ._dtype import (Size, as_dtype, bfloat16, bool_, float16, float32, float64, get_default_dtype, int8, int16,
                     int32, int64, set_default_dtype, uint8)
from ._tensor import Tensor


def made_of(cls: type, dtype: Any, name: str, data: tuple, device: Any) -> Tensor:
    """name(2, 3): zeros of that shape; name(tensor): it; name([1, 2]): a tensor of the numbers."""
    check_device(device)
    first = data[0] if len(data) == 1 else None
    if isinstance(first, Size):
        data, first = tuple(first), None
    if isinstance(first, Tensor):
        if first.dtype is not dtype:
            raise ArgumentError(f"{name}() takes a tensor of {dtype}, got {first.dtype}; tensor.to({dtype}) converts one")
        made = first.detach() if cls is Tensor else first
    elif first is not None and (getattr(first, "ndim", 0) or not hasattr(first, "__index__")):
        made = _core.tensor(first, dtype)
    else:
        made = _core.full(as_shape(data, name) if data else (0,), 0, dtype)
    return made if cls is Tensor else made._as_subclass(cls)


def _new(cls: type, *data: Any, device: Any = None) -> Tensor:
    return made_of(cls, get_default_dtype(), cls.__name__, data, device)


Tensor.__new__ = _new  # type: ignore[method-assign,assignment]
Tensor.__init__ = lambda self, *data, **options: None  # type: ignore[method-assign,misc]


class _TypedTensor(type):
    """Of the classes below: their instances are the tensors of one dtype."""
    dtype: Any

    def __call__(cls, *data: Any, device: Any = None) -> Tensor:
        return made_of(Tensor, cls.dtype, cls.__name__, data, device)

    def __instancecheck__(cls, object: Any) -> bool:
        return isinstance(object, Tensor) and object.dtype is cls.dtype


TYPED: dict[str, type] = {
    name: _TypedTensor(name, (), {"dtype": dtype, "__doc__": f"The tensors of {dtype}; called, makes one: of a shape "
                                                             "or of numbers.", "__module__": "burn"})
    for name, dtype in (("FloatTensor", float32), ("DoubleTensor", float64), ("HalfTensor", float16),
                        ("BFloat16Tensor", bfloat16), ("LongTensor", int64), ("IntTensor", int32),
                        ("ShortTensor", int16), ("CharTensor", int8), ("ByteTensor", uint8), ("BoolTensor", bool_))}
_NAMES = {made.dtype: name for name, made in TYPED.items()}  # type: ignore[attr-defined]


def _dtype_of(given: Any) -> Any:
    """The dtype that a dtype, a class as LongTensor or a name as "torch.LongTensor" means."""
    if isinstance(given, str):
        name = given.rpartition(".")[2]
        if name not in TYPED:
            raise InvalidError(f"invalid type: {given!r}; the types are {', '.join(TYPED)}")
        given = TYPED[name]
    return given.dtype if isinstance(given, _TypedTensor) else as_dtype(given)


def type(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """Without a dtype, the name of the tensor's type, as "torch.FloatTensor"; else the tensor in another dtype, given as
    one, as a class such as LongTensor or by that name."""
    if dtype is None:
        return f"torch.{_NAMES[self.dtype]}" if self.dtype in _NAMES else f"torch.{self.dtype.name}"
    return self.to(_dtype_of(dtype))


def new(self: Tensor, *data: Any, device: Any = None) -> Tensor:
    """A tensor in this one's dtype: of a shape, new(2, 3), or of numbers, new([1, 2])."""
    return made_of(Tensor, self.dtype, "new", data, device)


Tensor.type, Tensor.new = type, new  # type: ignore[method-assign,attr-defined]


def set_default_tensor_type(t: Any) -> None:
    """set_default_dtype of a class such as DoubleTensor, or of its name."""
    set_default_dtype(_dtype_of(t))


def typename(obj: Any) -> str:
    """The type's name: as Tensor.type() for tensors, else with its module."""
    if isinstance(obj, Tensor):
        return obj.type()
    kind = obj.__class__
    module = "" if kind.__module__ in ("builtins", "__builtin__") else kind.__module__ + "."
    return module + kind.__qualname__
