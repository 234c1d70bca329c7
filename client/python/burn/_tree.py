# SPDX-License-Identifier: Apache-2.0
"""Nested Python values as JSON, with tensors left to the caller: what save() writes beside them.

A value is itself where JSON has it (None, bool, int, float, str), else [kind, content]. Reading makes only the types
named here: no code comes from a file."""
from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any, Callable

from ._core import ArgumentError, InvalidError
from ._dtype import BY_NAME, Size, device, dtype
from ._tensor import Tensor

_DICTS: dict[str, type] = {"dict": dict, "OrderedDict": OrderedDict, "Counter": Counter}
_LISTS: dict[str, type] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "deque": deque,
                           "Size": Size}
_DEPTH_MAX = 200


def write(value: Any, keep: Callable[[Any], str], depth: int = 0) -> Any:
    """The JSON of a value; keep(tensor) gives the name under which a tensor is stored."""
    if depth > _DEPTH_MAX:
        raise InvalidError(f"save(): the value is nested more than {_DEPTH_MAX} deep, or holds itself")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Tensor):
        return ["tensor", keep(value), type(value).__name__ == "Parameter", value.requires_grad and value.is_leaf]
    if type(value).__module__ == "numpy" and hasattr(value, "__array_interface__"):
        from ._creation import tensor
        return ["array" if getattr(value, "ndim", 0) else "number", keep(tensor(value))]
    if isinstance(value, defaultdict):
        return ["dict", [[write(k, keep, depth + 1), write(v, keep, depth + 1)] for k, v in value.items()]]
    for kind, made in _DICTS.items():
        if type(value) is made:
            return [kind, [[write(k, keep, depth + 1), write(v, keep, depth + 1)] for k, v in value.items()]]
    for kind, made in _LISTS.items():
        if type(value) is made:
            return [kind, [write(item, keep, depth + 1) for item in value]]
    if isinstance(value, dtype):
        return ["dtype", value.name]
    if isinstance(value, device):
        return ["device", str(value)]
    if isinstance(value, (bytes, bytearray)):
        return ["bytes", bytes(value).hex()]
    if isinstance(value, complex):
        return ["complex", [value.real, value.imag]]
    if isinstance(value, slice):
        return ["slice", [write(part, keep, depth + 1) for part in (value.start, value.stop, value.step)]]
    if isinstance(value, (bool, int, float, str)):  # their subclasses, enums of ints
        return next(base(value) for base in (bool, int, float, str) if isinstance(value, base))
    if hasattr(value, "state_dict"):
        raise ArgumentError(f"save() stores values, not objects with code: of a {type(value).__name__} save its "
                            "state_dict()")
    raise ArgumentError(f"save() stores tensors, arrays, numbers, texts, None, dtypes, devices, and dicts, lists, tuples "
                        f"and sets of such, not {type(value).__name__}")


def read(value: Any, tensor_of: Callable[..., Tensor]) -> Any:
    """What write() was given. tensor_of(name, is_parameter=False, requires_grad=False) gives the tensors. ValueError
    says what is malformed."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if not isinstance(value, list) or len(value) < 2 or not isinstance(value[0], str):
        raise InvalidError(f"malformed value {value!r}"[:200])
    kind, content = value[0], value[1]
    try:
        return _read(kind, content, value, tensor_of)
    except InvalidError:
        raise
    except (TypeError, KeyError, IndexError, AttributeError, RuntimeError) as error:
        raise InvalidError(f"malformed {kind}: {error}"[:200]) from None


def _read(kind: str, content: Any, value: list, tensor_of: Callable[..., Tensor]) -> Any:
    if kind == "tensor":
        return tensor_of(content, bool(value[2]), bool(value[3]))
    if kind == "array":
        return tensor_of(content).numpy()
    if kind == "number":
        return tensor_of(content).numpy()[()]
    if kind in _DICTS:
        return _DICTS[kind]({read(k, tensor_of): read(v, tensor_of) for k, v in content})
    if kind == "Size" and not all(type(item) is int and item >= 0 for item in content):
        raise InvalidError(f"a size of {content!r}"[:200])
    if kind in _LISTS:
        return _LISTS[kind](read(item, tensor_of) for item in content)
    if kind == "dtype":
        return BY_NAME[content]
    if kind == "device":
        return device(content)
    if kind == "bytes":
        return bytes.fromhex(content)
    if kind == "complex":
        return complex(*content)
    if kind == "slice":
        return slice(*(read(part, tensor_of) for part in content))
    raise InvalidError(f"unknown kind {kind!r}")
