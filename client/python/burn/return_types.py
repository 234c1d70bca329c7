# SPDX-License-Identifier: Apache-2.0
"""Results with names, such as those of max and topk: tuples whose parts are also attributes."""
from __future__ import annotations

from collections import namedtuple
from typing import Any


def _text(self: Any) -> str:
    parts = ",\n".join(f"{name}={getattr(self, name)!r}" for name in self._fields)
    return f"burn.return_types.{type(self).__name__}(\n{parts})"


def named(name: str, *fields: str) -> Any:
    """The class of results of the function of this name."""
    base: Any = namedtuple(name, fields)  # type: ignore[misc]
    made = type(name, (base,), {"__slots__": (), "__repr__": _text, "__module__": __name__})
    globals()[name] = made
    return made
