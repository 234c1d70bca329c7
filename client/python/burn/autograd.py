# SPDX-License-Identifier: Apache-2.0
"""backward and grad. Rules and saved values live in the daemon; here is only what must be asked for."""
from __future__ import annotations

from typing import Any, Sequence

from . import _core
from ._tensor import Tensor, enable_grad, inference_mode, no_grad, set_grad_enabled  # noqa: F401


def _list(value: Any) -> list:
    return [value] if isinstance(value, Tensor) or value is None else list(value)


def _check_seeds(outputs: Sequence[Tensor], seeds: Sequence[Any]) -> list:
    if len(outputs) != len(seeds):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(seeds)} gradients")
    for output, seed in zip(outputs, seeds):
        if not output.requires_grad:
            raise RuntimeError("element 0 of tensors does not require grad and does not have a grad_fn")
        if seed is None:
            if output.numel() != 1:
                raise RuntimeError(f"grad can be implicitly created only for scalar outputs, not for shape "
                                   f"{list(output.shape)}")
        elif tuple(seed.shape) != tuple(output.shape):
            raise RuntimeError(f"Mismatch in shape: grad_output has a shape of {list(seed.shape)} and output has a "
                               f"shape of {list(output.shape)}")
    return list(seeds)


def backward(tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
             inputs: Any = None) -> None:
    """Adds the gradients of tensors to the .grad of leaves (or of inputs, if given)."""
    roots = _list(tensors)
    seeds = _check_seeds(roots, _list(grad_tensors) if grad_tensors is not None else [None] * len(roots))
    keep = create_graph if retain_graph is None else retain_graph
    _core.backward(roots, seeds, keep, create_graph, None if inputs is None else _list(inputs))


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None,
         create_graph: bool = False, allow_unused: bool | None = None, is_grads_batched: bool = False,
         materialize_grads: bool = False) -> tuple:
    """Gradients of outputs with respect to inputs, as a tuple; .grad is left alone."""
    if is_grads_batched:
        raise NotImplementedError("is_grads_batched is not supported; call grad once for each gradient")
    roots, wanted = _list(outputs), _list(inputs)
    seeds = _check_seeds(roots, _list(grad_outputs) if grad_outputs is not None else [None] * len(roots))
    keep = create_graph if retain_graph is None else retain_graph
    allow = bool(allow_unused) or materialize_grads
    found = _core.grad(roots, wanted, seeds, keep, create_graph, allow)
    if materialize_grads:
        from ._creation import zeros_like
        found = tuple(zeros_like(x) if g is None else g for g, x in zip(found, wanted))
    return found
