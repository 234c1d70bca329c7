# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions as a whole; names and results are torch.autograd.functional's."""
from __future__ import annotations

from typing import Any, Callable

from .._core import ArgumentError, InvalidError
from .._creation import zeros, zeros_like
from .._functions import stack
from .._tensor import Tensor, enable_grad
from . import grad


def _tuple(value: Any, what: str) -> tuple[bool, tuple]:
    many = isinstance(value, (tuple, list))
    items = tuple(value) if many else (value,)
    for item in items:
        if not isinstance(item, Tensor):
            raise ArgumentError(f"The {what} given must be either a Tensor or a tuple of Tensors but got "
                                f"{type(item).__name__}.")
    return many, items


def _inputs(inputs: Any, create_graph: bool) -> tuple[bool, tuple]:
    many, items = _tuple(inputs, "inputs")
    fresh = [x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in items]
    return many, tuple(fresh)


def _gradients(outputs: Any, inputs: tuple, seeds: Any, create_graph: bool, strict: bool) -> tuple:
    rooted = [(y, s) for y, s in zip(outputs, seeds) if y.requires_grad]
    if len(rooted) < len(outputs) and strict:
        raise InvalidError("The output of the user-provided function is independent of the input. This is not allowed "
                           "in strict mode.")
    if not rooted:
        return tuple(zeros_like(x) for x in inputs)
    found = grad([y for y, _ in rooted], inputs, [s for _, s in rooted], retain_graph=True, create_graph=create_graph,
                 allow_unused=True)
    if strict and any(g is None for g in found):
        raise InvalidError("Output of the user-provided function is independent of an input. This is not allowed in "
                           "strict mode.")
    return tuple(zeros_like(x) if g is None else g for g, x in zip(found, inputs))


def _unpacked(many: bool, items: tuple) -> Any:
    return items if many else items[0]


def _done(items: tuple, create_graph: bool) -> tuple:
    return items if create_graph else tuple(x.detach() for x in items)


@enable_grad()
def jacobian(func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
             strategy: str = "reverse-mode") -> Any:
    """Derivatives of each output element by each input element, of shape output.shape + input.shape; nested tuples
    where there are several outputs or inputs."""
    many_in, xs = _inputs(inputs, create_graph)
    many_out, ys = _tuple(func(*xs), "outputs")
    rows = []
    for y in ys:
        columns: list[list] = [[] for _ in xs]
        flat = y.reshape(-1)
        for number in range(y.numel()):
            found = _gradients([flat[number]], xs, [None], create_graph, strict)
            for column, gradient in zip(columns, found):
                column.append(gradient)
        blocks = tuple((stack(column) if column else zeros(0)).reshape(tuple(y.shape) + tuple(x.shape))
                       for column, x in zip(columns, xs))
        rows.append(_unpacked(many_in, _done(blocks, create_graph)))
    return _unpacked(many_out, tuple(rows))


@enable_grad()
def hessian(func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
            outer_jacobian_strategy: str = "reverse-mode") -> Any:
    """Second derivatives of a function that gives one number."""
    many, _ = _tuple(inputs, "inputs")

    def slopes(*xs: Tensor) -> tuple:
        y = _scalar(func(*xs))
        return _gradients([y], xs, [None], True, strict)
    found = jacobian(slopes, tuple(inputs) if many else (inputs,), create_graph, strict)
    return found if many else found[0][0]


def _scalar(value: Any) -> Tensor:
    many, items = _tuple(value, "outputs")
    if len(items) != 1:
        raise InvalidError("The output of the user-provided function should be a single Tensor")
    if items[0].numel() != 1:
        raise InvalidError(f"The Tensor returned by the given function should contain a single element, its shape is "
                           f"{list(items[0].shape)}")
    return items[0].reshape(())


def _vectors(v: Any, tensors: tuple, what: str) -> tuple:
    if v is None:
        if len(tensors) != 1 or tensors[0].numel() != 1:
            raise InvalidError(f"The vector v can only be None if the user-provided function's {what} is a single "
                               "Tensor with a single element.")
        return (zeros_like(tensors[0]) + 1,)
    _, items = _tuple(v, "v")
    if len(items) != len(tensors):
        raise InvalidError(f"v is a tuple of invalid length: should be {len(tensors)} but got {len(items)}.")
    for item, tensor in zip(items, tensors):
        if tuple(item.shape) != tuple(tensor.shape):
            raise InvalidError(f"v has invalid size: should be {list(tensor.shape)} but got {list(item.shape)}.")
    return items


@enable_grad()
def vjp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), v times the Jacobian)."""
    many_in, xs = _inputs(inputs, create_graph)
    many_out, ys = _tuple(func(*xs), "outputs")
    found = _gradients(ys, xs, _vectors(v, ys, "output"), create_graph, strict)
    return _unpacked(many_out, _done(ys, create_graph)), _unpacked(many_in, _done(found, create_graph))


@enable_grad()
def jvp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), the Jacobian times v), by differentiating v -> v times the Jacobian."""
    _, xs = _inputs(inputs, create_graph)
    vectors = _vectors(v, xs, "input")
    many_out, ys = _tuple(func(*xs), "outputs")
    seeds = [zeros_like(y).requires_grad_() for y in ys]
    slopes = _gradients(ys, xs, seeds, True, strict)
    found = _gradients(slopes, tuple(seeds), vectors, create_graph, False)
    return _unpacked(many_out, _done(ys, create_graph)), _unpacked(many_out, _done(found, create_graph))


@enable_grad()
def vhp(func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple:
    """(func(inputs), v times the Hessian)."""
    many, xs = _inputs(inputs, create_graph)
    y = _scalar(func(*xs))
    slopes = _gradients([y], xs, [None], True, strict)
    found = _gradients(slopes, xs, _vectors(v, xs, "input"), create_graph, strict)
    return _done((y,), create_graph)[0], _unpacked(many, _done(found, create_graph))


hvp = vhp  # the Hessian is symmetric
