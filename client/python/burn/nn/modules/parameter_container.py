# SPDX-License-Identifier: Apache-2.0
"""Containers of parameters: ParameterList and ParameterDict. Tensors become parameters, other values stay as they are."""
from __future__ import annotations

import operator
from typing import Any, Iterable, Iterator, Mapping, Self

from ..._core import ArgumentError, InvalidError, RangeError, UnsupportedError
from ..._legacy import typename
from ..._tensor import Tensor
from ..parameter import Parameter
from .module import Module


class _Values(Module):
    """Values as attributes, under the keys that a subclass keeps."""

    def _keys(self) -> list[str]:
        raise UnsupportedError

    def _put(self, key: str, value: Any) -> None:
        setattr(self, key, Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value)

    def _kind(self, tensor: Tensor) -> str:
        return str(tensor.dtype)

    def _text(self, value: Any) -> str:
        if not isinstance(value, Tensor):
            return f"Object of type: {type(value).__name__}"
        size = "x".join(str(n) for n in value.shape)
        name = "Parameter" if isinstance(value, Parameter) else "Tensor"
        return f"{name} containing: [{self._kind(value)} of size {size}]"

    def extra_repr(self) -> str:
        return "\n".join(f"  ({key}): {self._text(getattr(self, key))}" for key in self._keys())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise InvalidError(f"{self._get_name()} should not be called.")


class ParameterList(_Values):
    """A list whose parameters are registered under their numbers."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _keys(self) -> list[str]:
        return [str(number) for number in range(self._size)]

    def _at(self, index: Any) -> str:
        index = operator.index(index)
        if not -self._size <= index < self._size:
            raise RangeError(f"index {index} is out of range")
        return str(index % self._size)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[number] for number in range(self._size)])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)([self[number] for number in range(*index.indices(self._size))])
        return getattr(self, self._at(index))

    def __setitem__(self, index: int, value: Any) -> None:
        self._put(self._at(index), value)

    def append(self, value: Any) -> Self:
        """Adds a value at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values: Iterable[Any]) -> Self:
        """Adds values at the end."""
        if isinstance(values, Tensor) or not hasattr(values, "__iter__"):
            raise ArgumentError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Self:
        return self.extend(values)


class ParameterDict(_Values):
    """A dict whose parameters are registered under their keys."""

    def _kind(self, tensor: Tensor) -> str:
        return typename(tensor)

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._names: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def _keys(self) -> list[str]:
        return list(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __contains__(self, key: str) -> bool:
        return key in self._names

    def __getitem__(self, key: str) -> Any:
        if key not in self._names:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise ArgumentError(f"Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                                f"'{type(key).__name__}').")
        self._names[key] = None
        self._put(key, value)

    def __delitem__(self, key: str) -> None:
        del self._names[key]
        delattr(self, key)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._names.keys()

    def values(self) -> Iterable[Any]:
        """The values."""
        return [self[key] for key in self._names]

    def items(self) -> Iterable[tuple[str, Any]]:
        """Names and values."""
        return [(key, self[key]) for key in self._names]

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or the default."""
        return self[key] if key in self._names else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a key, which is first set to the default if it is not there."""
        if key not in self._names:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Takes the value of a key out."""
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Takes the last key and its value out."""
        key = next(reversed(self._names))
        return key, self.pop(key)

    def clear(self) -> None:
        """Takes all values out."""
        for key in self._keys():
            del self[key]

    def copy(self) -> "ParameterDict":
        """Another dict of the same values."""
        return ParameterDict(dict(self.items()))

    def update(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Adds values of a mapping or of pairs."""
        pairs = parameters.items() if hasattr(parameters, "items") else parameters
        for key, value in pairs:
            self[key] = value
