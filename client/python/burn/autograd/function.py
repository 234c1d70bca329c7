# SPDX-License-Identifier: Apache-2.0
"""autograd.Function: ops whose forward and backward are written in Python."""
from __future__ import annotations

import functools
from typing import Any, Callable, Iterable

from .. import _core, _hooks, _ops
from .._core import ArgumentError, InvalidError, UnsupportedError
from .._tensor import Tensor, no_grad, set_grad_enabled

_FREED = ("Trying to backward through the graph a second time (or directly access saved tensors after they have "
          "already been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
          "Specify retain_graph=True if you need to backward through the graph a second time.")


class FunctionCtx:
    """What forward leaves for backward. Other attributes may be set at will."""

    needs_input_grad: tuple = ()

    def __init__(self) -> None:
        self._to_save: tuple = ()
        self._saved: list = []
        self._outputs: list = []  # while backward runs
        self._dirty: tuple = ()
        self._not_differentiable: tuple = ()
        self._materialize, self._freed = True, False

    def save_for_backward(self, *tensors: Any) -> None:
        """Tensors (inputs, outputs or others, or None) that backward finds in saved_tensors."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise ArgumentError(f"save_for_backward can only save variables, but got {type(tensor).__name__}")
        self._to_save = tensors

    save_for_forward = save_for_backward

    @property
    def saved_tensors(self) -> tuple:
        if self._freed:
            raise InvalidError(_FREED)
        if not self._saved and self._to_save:  # still within forward
            return tuple(self._to_save)
        return tuple(self._outputs[place] if isinstance(place, int) and self._outputs and
                     self._outputs[place] is not None else kept for place, kept in self._saved)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Inputs that forward changed in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Outputs that shall not require a gradient."""
        self._not_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether outputs without a gradient give backward zeros (else None)."""
        self._materialize = value


class _Call:
    """One call of a Function that gradients may flow through."""

    def __init__(self, function: type, ctx: FunctionCtx, args: tuple) -> None:
        self.function, self.ctx, self.arg_count = function, ctx, len(args)
        self.inputs = [_core.snapshot(x) if isinstance(x, Tensor) and x.requires_grad else None for x in args]
        self.output_count = 0
        self.shapes: list = []

    def free(self) -> None:
        if self.ctx._saved:
            self.ctx._freed = True
            self.ctx._saved = []

    def run(self, gradients: list, tensors: list) -> list:
        """The inputs that get a gradient, with it."""
        from .._creation import zeros
        ctx, name = self.ctx, f"{self.function.__name__}Backward"
        if ctx._freed:
            raise InvalidError(_FREED)
        if ctx._materialize:
            gradients = [zeros(*shape, dtype=dtype) if g is None and shape is not None else g
                         for g, (shape, dtype) in zip(gradients, self.shapes)]
        ctx._outputs = tensors
        try:
            found = self.function._rule()(ctx, *gradients)
        finally:
            ctx._outputs = []
        found = tuple(found) if isinstance(found, (tuple, list)) else (found,)
        if len(found) < self.arg_count or any(g is not None for g in found[self.arg_count:]):
            raise InvalidError(f"function {name} returned an incorrect number of gradients (expected {self.arg_count}, "
                               f"got {len(found)})")
        pairs = []
        for number, (tensor, gradient) in enumerate(zip(self.inputs, found)):
            if tensor is not None and gradient is not None:
                pairs.append((tensor, _fitted(gradient, tensor, name, number)))
        return pairs


def _fitted(gradient: Any, tensor: Tensor, name: str, number: int) -> Tensor:
    if not isinstance(gradient, Tensor):
        raise ArgumentError(f"{name}: expected Tensor or tuple of Tensors (got {type(gradient).__name__})")
    wanted, have = tuple(tensor.shape), tuple(gradient.shape)
    if have != wanted:
        lead = len(have) - len(wanted)
        if lead < 0 or any(w not in (1, h) for w, h in zip(wanted, have[lead:])):
            raise InvalidError(f"Function {name} returned an invalid gradient at index {number} - got {list(have)} but "
                               f"expected shape compatible with {list(wanted)}")
        dims = [*range(lead), *(lead + i for i, w in enumerate(wanted) if w == 1 and have[lead + i] != 1)]
        gradient = gradient.sum(dims).reshape(wanted)
    return gradient.to(tensor.dtype)


class Function:
    """Subclass it with the static methods forward(ctx, *args) and backward(ctx, *gradients), or forward(*args),
    setup_context(ctx, inputs, output) and backward; call it by apply(*args)."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise InvalidError(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so "
                           "you should invoke them on the class itself: use apply().")

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        raise UnsupportedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        raise UnsupportedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise UnsupportedError("You must implement either the backward or vjp method for your custom "
                               "autograd.Function to use it with backward mode AD.")

    vjp = backward

    @classmethod
    def _rule(cls) -> Callable:
        return cls.vjp if cls.backward is Function.backward else cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        ctx = FunctionCtx()
        ctx.needs_input_grad = tuple(isinstance(x, Tensor) and x.requires_grad for x in args)
        tracked = _core.grad_enabled() and any(ctx.needs_input_grad)
        call = _Call(cls, ctx, args) if tracked else None
        with no_grad():
            if cls.setup_context is not Function.setup_context:
                result = cls.forward(*args, **kwargs)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args, **kwargs)
        if call is None:
            return result
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        made = _outputs(call, outputs)
        _save(ctx, outputs)
        return type(result)(made) if isinstance(result, (tuple, list)) else made[0]


def _among(tensor: Any, tensors: Iterable[Any]) -> bool:
    return any(tensor is other for other in tensors)


def _outputs(call: _Call, outputs: list) -> list:
    """What apply gives: tensors that end the history here, with the call attached."""
    ctx, made = call.ctx, []
    call.output_count = len(outputs)
    for number, output in enumerate(outputs):
        differentiable = isinstance(output, Tensor) and output.dtype.is_floating_point
        call.shapes.append((tuple(output.shape), output.dtype) if differentiable else (None, None))
        if not differentiable or _among(output, ctx._not_differentiable):
            made.append(output.detach() if isinstance(output, Tensor) and output.requires_grad else output)
            continue
        fresh = _core.apply(_ops.DETACH, (output,))
        fresh = _core.snapshot(fresh)
        _core.end_history(fresh)
        _core.attach(fresh, _hooks.Node(call, number))
        if _among(output, ctx._dirty):
            with set_grad_enabled(True):
                fresh = _core.assign(output, fresh)
        made.append(fresh)
    return made


def _save(ctx: FunctionCtx, outputs: list) -> None:
    """Outputs are kept without history and with their place, so that nothing holds itself."""
    for tensor in ctx._to_save:
        place = next((i for i, output in enumerate(outputs) if output is tensor), None)
        if tensor is None:
            ctx._saved.append((None, None))
        elif place is not None:
            ctx._saved.append((place, tensor.detach()))
        else:
            ctx._saved.append((None, _core.snapshot(tensor)))
    ctx._to_save = ()


def once_differentiable(backward: Callable) -> Callable:
    """A decorator of backward: its results have no history of their own."""
    @functools.wraps(backward)
    def wrapped(ctx: Any, *gradients: Any) -> Any:
        with no_grad():
            return backward(ctx, *gradients)
    return wrapped
