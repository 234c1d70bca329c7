# SPDX-License-Identifier: Apache-2.0
"""Tensors as text, laid out as PyTorch lays them out, so that printed examples of the one hold for the other."""
from __future__ import annotations

import math
from typing import Any, Callable

from ._core import InvalidError
from ._dtype import float32, get_default_dtype

_print = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, math.inf, 3, 80)}


def set_printoptions(precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
                     linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None) -> None:
    """How tensors are printed; what is None stays. profile ("default", "short", "full") sets several at once."""
    if profile is not None:
        if profile not in _PROFILES:
            raise InvalidError(f"profile is one of {', '.join(_PROFILES)}, not {profile!r}")
        _print.update(zip(("precision", "threshold", "edgeitems", "linewidth"), _PROFILES[profile]))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _print.update({name: value for name, value in given.items() if value is not None})
    _print["sci_mode"] = sci_mode


def _shown(tensor: Any) -> Any:
    """An array of the elements that are printed; of a long tensor only its edges cross the wire, each shortened dim
    with one element more than is shown."""
    from ._functions import cat
    tensor, edge = tensor.detach(), _print["edgeitems"]
    if tensor.numel() > _print["threshold"]:
        for dim in range(tensor.dim()):
            n = tensor.shape[dim]
            if n > 2 * edge + 1:
                tensor = cat([tensor.narrow(dim, 0, edge + 1), tensor.narrow(dim, n - edge, edge)], dim)
    return (tensor.to(float32) if tensor.dtype.name in ("bfloat16", "float16") else tensor).numpy()


def _float_writer(values: list[float]) -> tuple[Callable[[float], str], int]:
    """How to write each of the values, and the width that they share."""
    counted = [v for v in values if math.isfinite(v) and v != 0]
    if not counted:
        return lambda v: f"{v:.0f}." if math.isfinite(v) else f"{v}", 1
    sizes = [abs(v) for v in counted]
    low, high, precision = min(sizes), max(sizes), _print["precision"]
    whole = all(v == math.ceil(v) for v in counted)
    science = _print["sci_mode"]
    if science is None:
        science = high / low > 1000 or high > 1e8 or (not whole and low < 1e-4)

    def write(v: float) -> str:
        if science:
            return f"{v:.{precision}e}"
        if whole:
            return f"{v:.0f}." if math.isfinite(v) else f"{v:.0f}"
        return f"{v:.{precision}f}"
    return write, max(len(write(v)) for v in counted)


def _edges(count: int, shorten: bool) -> list[int | None]:
    """The places that are printed; None stands for the dots."""
    edge = _print["edgeitems"]
    if shorten and count > 2 * edge:
        return [*range(edge), None, *range(count - edge, count)]
    return list(range(count))


def _rows(array: Any, indent: int, shorten: bool, write: Callable[[Any], str], width: int) -> str:
    places = _edges(len(array), shorten)
    if array.ndim > 1:
        parts = ["..." if i is None else _rows(array[i], indent + 1, shorten, write, width) for i in places]
        return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(parts) + "]"
    items = [" ..." if i is None else write(array[i]).rjust(width) for i in places]
    line = max(1, (_print["linewidth"] - indent) // (width + 2))
    lines = [", ".join(items[at:at + line]) for at in range(0, len(items), line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def _values_text(tensor: Any, indent: int) -> str:
    array = _shown(tensor)
    flat = array.reshape(-1).tolist()
    shorten = tensor.numel() > _print["threshold"]
    if shorten:  # the extra element of each shortened dim has no part in the width
        edge, kept = _print["edgeitems"], array
        for dim, n in enumerate(array.shape):
            if n > 2 * edge:
                kept = kept.take([*range(edge), *range(n - edge, n)], axis=dim)
        flat = kept.reshape(-1).tolist()
    if tensor.dtype.is_floating_point:
        write, width = _float_writer(flat)
    else:
        write, width = str, max(map(len, map(str, flat)))
    if array.ndim == 0:
        return write(flat[0]).rjust(width)
    return _rows(array, indent, shorten, write, width)


def tensor_text(tensor: Any) -> str:
    """What repr() shows: values (abbreviated above the threshold), dtype if not obvious, gradient."""
    indent, empty = len("tensor("), tensor.numel() == 0
    text = "tensor(" + ("[]" if empty else _values_text(tensor, indent))
    notes = []
    if empty and tensor.dim() != 1:
        notes.append(f"size={tuple(tensor.shape)}")
    usual = (get_default_dtype().name,) if empty else (get_default_dtype().name, "int64", "bool")
    if tensor.dtype.name not in usual:
        notes.append(f"dtype={tensor.dtype}")
    if tensor.requires_grad:
        notes.append("requires_grad=True" if tensor.is_leaf else f"grad_fn={tensor.grad_fn}")
    length = len(text) - text.rfind("\n") + 1
    for note in notes:
        if length + len(note) + 2 > _print["linewidth"]:
            text, length = f"{text},\n{' ' * indent}{note}", indent + len(note)
        else:
            text, length = f"{text}, {note}", length + len(note) + 2
    return text + ")"
