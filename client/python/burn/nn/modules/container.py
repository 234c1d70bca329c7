# SPDX-License-Identifier: Apache-2.0
"""Containers of modules: Sequential, ModuleList, ModuleDict."""
from __future__ import annotations

import operator
from collections import OrderedDict
from typing import Any, Iterable, Iterator, Mapping, Self

from ..._core import ArgumentError, InvalidError, RangeError
from .module import Module


def _position(index: Any, length: int) -> int:
    try:
        index = operator.index(index)
    except TypeError:
        raise ArgumentError(f"an index is an integer or a slice, got {type(index).__name__}") from None
    if not -length <= index < length:
        raise RangeError(f"index {index} is out of range")
    return index % length if length else 0


class _Numbered(Module):
    """Modules under the names "0", "1", ..."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def _renumber(self, modules: Iterable[Module | None]) -> None:
        modules = list(modules)
        self._modules.clear()
        for number, module in enumerate(modules):
            self.add_module(str(number), module)

    def __setitem__(self, index: int, module: Module) -> None:
        setattr(self, list(self._modules)[_position(index, len(self))], module)

    def __delitem__(self, index: Any) -> None:
        modules = list(self)
        if not isinstance(index, slice):
            index = _position(index, len(modules))
        del modules[index]
        self._renumber(modules)

    def append(self, module: Module) -> Self:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Adds modules at the end."""
        if not hasattr(modules, "__iter__"):
            raise ArgumentError(f"{type(self).__name__}.extend should be called with an iterable, but got "
                                f"{type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Puts a module before the one at index."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise RangeError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def pop(self, key: Any) -> Module:
        """Takes the module at an index out."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Numbered):
    """Calls its modules in order, each on the output of the one before."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for number, module in enumerate(args):
                self.add_module(str(number), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index: Any) -> Any:
        items = list(self._modules.items())
        if isinstance(index, slice):
            return type(self)(OrderedDict(items[index]))
        return items[_position(index, len(items))][1]

    def __delitem__(self, index: Any) -> None:
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [names[_position(index, len(names))]]:
            delattr(self, name)
        self._renumber(list(self))

    def __add__(self, other: Any) -> "Sequential":
        if not isinstance(other, Sequential):
            raise InvalidError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other: Any) -> Self:
        if not isinstance(other, Sequential):
            raise InvalidError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return self.extend(other)

    def __mul__(self, other: int) -> "Sequential":
        if not isinstance(other, int):
            raise ArgumentError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise InvalidError(f"Non-positive multiplication factor {other} for {type(self)}")
        return Sequential(*(module for _ in range(other) for module in self))

    __rmul__ = __mul__


class ModuleList(_Numbered):
    """A list whose modules are registered under their numbers."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules if modules is not None else ())

    def __getitem__(self, index: Any) -> Any:
        items = list(self._modules.values())
        if isinstance(index, slice):
            return type(self)(items[index])
        return items[_position(index, len(items))]

    def insert(self, index: int, module: Module) -> None:
        """Puts a module before the one at index."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def __add__(self, other: Iterable[Module]) -> "ModuleList":
        return ModuleList([*self, *other])

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __repr__(self) -> str:
        texts = [repr(module) for module in self]
        if not texts:
            return f"{self._get_name()}()"
        lines, start = [], 0
        for place in range(1, len(texts) + 1):  # equal neighbours share a line
            if place < len(texts) and texts[place] == texts[start]:
                continue
            text = texts[start].replace("\n", "\n  ")
            count = place - start
            lines.append(f"({start}): {text}" if count == 1 else f"({start}-{place - 1}): {count} x {text}")
            start = place
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict whose modules are registered under their keys."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> Iterable[Module]:
        """The modules."""
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Module]]:
        """Names and modules."""
        return self._modules.items()

    def pop(self, key: str) -> Module:
        """Takes the module of a key out."""
        module = self[key]
        del self[key]
        return module

    def clear(self) -> None:
        """Takes all modules out."""
        self._modules.clear()

    def update(self, modules: Any) -> None:
        """Adds modules of a mapping or of pairs; those of known keys are replaced."""
        if not hasattr(modules, "__iter__"):
            raise ArgumentError(f"ModuleDict.update should be called with an iterable of key/value pairs, but got "
                                f"{type(modules).__name__}")
        for key, module in modules.items() if hasattr(modules, "items") else modules:
            self[key] = module
