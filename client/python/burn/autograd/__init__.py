# SPDX-License-Identifier: Apache-2.0
"""backward and grad. Rules and saved values live in the daemon; here is only what must be asked for."""
from __future__ import annotations

from typing import Any, Sequence

from .. import _core
from .._core import ArgumentError, InvalidError
from .._tensor import (Tensor, enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled)
from . import function
from .function import Function

__all__ = ["Function", "Variable", "backward", "detect_anomaly", "enable_grad", "function", "functional", "grad",
           "gradcheck", "gradgradcheck", "inference_mode", "is_grad_enabled", "no_grad", "set_detect_anomaly",
           "set_grad_enabled"]


class _Variables(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, Tensor)


class Variable(metaclass=_Variables):
    """Of old: gives the tensor itself."""

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Any:
        return data.detach().requires_grad_() if requires_grad and not data.requires_grad else data


def _list(value: Any) -> list:
    return [value] if isinstance(value, Tensor) or value is None else list(value)


def _check_seeds(outputs: Sequence[Tensor], seeds: Sequence[Any]) -> list:
    if len(outputs) != len(seeds):
        raise InvalidError(f"got {len(outputs)} tensors and {len(seeds)} gradients")
    for number, (output, seed) in enumerate(zip(outputs, seeds)):
        if not isinstance(output, Tensor):
            raise ArgumentError(f"element {number} of tensors is a {type(output).__name__}, not a Tensor")
        if not output.requires_grad:
            raise InvalidError(f"element {number} of tensors does not require grad and does not have a grad_fn")
        if seed is None:
            if output.numel() != 1:
                raise InvalidError(f"grad can be implicitly created only for scalar outputs, not for shape "
                                   f"{list(output.shape)}")
        elif not isinstance(seed, Tensor):
            raise ArgumentError(f"gradients can be either Tensors or None, but got {type(seed).__name__}")
        elif tuple(seed.shape) != tuple(output.shape):
            raise InvalidError(f"Mismatch in shape: grad_output[{number}] has a shape of {list(seed.shape)} and "
                               f"output[{number}] has a shape of {list(output.shape)}.")
    return list(seeds)


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             grad_variables: Any = None, inputs: Any = None) -> None:
    """Adds the gradients of tensors to the .grad of leaves (or of inputs, if given)."""
    if grad_variables is not None:
        if grad_tensors is not None:
            raise InvalidError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                               "Please only use `grad_tensors`.")
        grad_tensors = grad_variables
    roots = _list(tensors)
    seeds = _check_seeds(roots, _list(grad_tensors) if grad_tensors is not None else [None] * len(roots))
    keep = create_graph if retain_graph is None else retain_graph
    wanted = None if inputs is None else _list(inputs)
    if wanted is not None and not wanted:
        raise InvalidError("`inputs` argument to `backward()` cannot be empty.")
    if _core.attachments():
        from .. import _hooks
        _hooks.backward(roots, seeds, keep, create_graph, wanted)
    else:
        _core.backward(roots, seeds, keep, create_graph, wanted)


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, only_inputs: bool = True, allow_unused: bool | None = None,
         is_grads_batched: bool = False, materialize_grads: bool = False) -> tuple:
    """Gradients of outputs with respect to inputs, as a tuple; .grad is left alone. Each of outputs, inputs and
    grad_outputs is a tensor or a sequence of tensors. RuntimeError if an input does not matter, unless allow_unused
    (then its gradient is None) or materialize_grads (then it is zeros)."""
    if not only_inputs:
        raise InvalidError("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate "
                           "gradient for other parts of the graph, please use torch.autograd.backward.")
    if materialize_grads and allow_unused is False:
        raise InvalidError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
                           "allow_unused=False.")
    roots, wanted = _list(outputs), _list(inputs)
    keep = create_graph if retain_graph is None else retain_graph
    allow = bool(allow_unused) or materialize_grads
    if is_grads_batched:
        return _batched(roots, wanted, _list(grad_outputs), keep, create_graph, allow, materialize_grads)
    seeds = _check_seeds(roots, _list(grad_outputs) if grad_outputs is not None else [None] * len(roots))
    if _core.attachments():
        from .. import _hooks
        found = _hooks.grad(roots, wanted, seeds, keep, create_graph, allow)
    else:
        found = _core.grad(roots, wanted, seeds, keep, create_graph, allow)
    if materialize_grads:
        from .._creation import zeros_like
        found = tuple(zeros_like(x) if g is None else g for g, x in zip(found, wanted))
    return found


def _batched(roots: list, wanted: list, seeds: list, keep: bool, create_graph: bool, allow: bool,
             materialize: bool) -> tuple:
    """One gradient for each row of the seeds."""
    from .._functions import stack
    count = next(seed for seed in seeds if seed is not None).shape[0]
    rows = [grad(roots, wanted, [None if seed is None else seed[i] for seed in seeds],
                 retain_graph=keep or i + 1 < count, create_graph=create_graph, allow_unused=allow,
                 materialize_grads=materialize) for i in range(count)]
    return tuple(None if column[0] is None else stack(column) for column in zip(*rows))


class set_detect_anomaly:
    """Taken for PyTorch's sake: the daemon names the op and line of what goes wrong anyway."""

    def __init__(self, mode: bool = True, check_nan: bool = True) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        pass


class detect_anomaly(set_detect_anomaly):
    """As set_detect_anomaly."""

    def __init__(self, check_nan: bool = True) -> None:
        super().__init__(True, check_nan)


def __getattr__(name: str) -> Any:
    import importlib
    if name == "functional":
        return importlib.import_module(".functional", __name__)
    if name in ("gradcheck", "gradgradcheck"):
        return getattr(importlib.import_module("._gradcheck", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
