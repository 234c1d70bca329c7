# SPDX-License-Identifier: Apache-2.0
"""The Tensor class, gradient modes and text form. Methods that are also functions come from _functions."""
from __future__ import annotations

import copy
import functools
from typing import Any, Callable

from . import _core
from ._dtype import device as Device

assign = _core.assign


class Tensor(_core.Tensor):
    """An array of numbers that lives in the daemon. Operations on it are sent, not waited for; reading values
    (numpy, item, tolist, print) waits. Names and results are PyTorch's."""

    def _as_subclass(self, cls: type) -> "Tensor":
        return _core.Tensor._make_subclass(cls, self)

    def __repr__(self) -> str:
        return tensor_text(self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.dim() == 0 else object.__format__(self, spec)

    def __deepcopy__(self, memo: dict) -> "Tensor":
        made = super().__deepcopy__(memo)
        if self.grad is not None and made.grad is None:
            made.grad = copy.deepcopy(self.grad, memo)
        return made

    def backward(self, gradient: "Tensor | None" = None, retain_graph: bool | None = None,
                 create_graph: bool = False, inputs: Any = None) -> None:
        """Adds the gradients of this tensor to the .grad of the leaves that it was made from."""
        from .autograd import backward
        backward(self, gradient, retain_graph, create_graph, inputs)


_core.set_tensor_class(Tensor)
_core.set_device_object(Device("cpu"))


class _GradMode:
    """A context manager and decorator that sets whether results require gradients."""

    _mode: bool

    def __enter__(self) -> None:
        self._before = _core.set_grad_enabled(self._mode)

    def __exit__(self, *_: Any) -> None:
        _core.set_grad_enabled(self._before)

    def __call__(self, function: Callable) -> Callable:
        mode = type(self)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with mode():
                return function(*args, **kwargs)
        return wrapped


class no_grad(_GradMode):
    """Within it no result requires a gradient."""
    _mode = False

    def __new__(cls, function: Callable | None = None) -> Any:
        self = super().__new__(cls)
        return self if function is None else self(function)


class inference_mode(no_grad):
    """As no_grad."""


class enable_grad(_GradMode):
    """Within it results require gradients again."""
    _mode = True

    def __new__(cls, function: Callable | None = None) -> Any:
        self = super().__new__(cls)
        return self if function is None else self(function)


class set_grad_enabled:
    """Sets the mode at once; as a context manager it puts the former one back."""

    def __init__(self, mode: bool) -> None:
        self._before = _core.set_grad_enabled(bool(mode))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        _core.set_grad_enabled(self._before)


is_grad_enabled = _core.grad_enabled

# ---- text ----

_print = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80}


def set_printoptions(precision: int | None = None, threshold: int | None = None, edgeitems: int | None = None,
                     linewidth: int | None = None) -> None:
    """How tensors are printed; what is None stays."""
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    _print.update({name: value for name, value in given.items() if value is not None})


def _values_text(tensor: Tensor, indent: int) -> str:
    import numpy as np
    shown, cut = tensor.detach(), tensor.numel() > _print["threshold"]
    array = _printable(_edges(shown) if cut else shown)  # only what is printed crosses the wire
    return np.array2string(array, separator=", ", prefix=" " * indent, precision=_print["precision"],
                           max_line_width=_print["linewidth"], threshold=0 if cut else array.size + 1,
                           edgeitems=_print["edgeitems"],
                           floatmode="fixed" if _needs_decimals(array) else "maxprec")


def _printable(tensor: Tensor) -> Any:
    from ._dtype import float32
    return (tensor.to(float32) if tensor.dtype.name in ("bfloat16", "float16") else tensor).numpy()


def _needs_decimals(array: Any) -> bool:
    import numpy as np
    if array.dtype.kind != "f":
        return False
    finite = array[np.isfinite(array)]
    return bool((finite != np.trunc(finite)).any())


def _edges(tensor: Tensor) -> Tensor:
    from ._functions import cat
    edge = _print["edgeitems"]
    for dim in range(tensor.dim()):
        n = tensor.shape[dim]
        if n > 2 * edge + 1:  # one more than is shown, so that NumPy puts the dots
            tensor = cat([tensor.narrow(dim, 0, edge + 1), tensor.narrow(dim, n - edge, edge)], dim)
    return tensor


def tensor_text(tensor: Tensor) -> str:
    """What repr() shows: values (abbreviated above the threshold), dtype if not obvious, gradient."""
    if tensor.numel() == 0:
        values = "[]"
    elif tensor.dim() == 0:
        values = _values_text(tensor.detach().reshape(1), len("tensor("))[1:-1].strip()
    else:
        values = _values_text(tensor, len("tensor("))
    notes = []
    if tensor.numel() > _print["threshold"] or (tensor.numel() == 0 and tensor.dim() != 1):
        notes.append(f"size={tuple(tensor.shape)}")
    if tensor.dtype.name not in ("float32", "int64", "bool"):
        notes.append(f"dtype={tensor.dtype}")
    if tensor.requires_grad:
        notes.append("requires_grad=True" if tensor.is_leaf else "grad_fn=True")
    return "tensor(" + ", ".join([values, *notes]) + ")"
