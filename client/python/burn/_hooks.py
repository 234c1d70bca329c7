# SPDX-License-Identifier: Apache-2.0
"""Hooks on tensors, and differentiation that stops where Python has a say.

A hook, or a rule of autograd.Function, hangs on a value (_core.attach). Before gradients are asked for, the values
with attachments that the roots depend on are found. Then, youngest first, each one's gradient is asked for and its
Python code runs; a gradient that was replaced becomes one more root, and the value a cut, through which nothing else
flows. At last the gradients of the leaves are asked for, with all roots and cuts. Without attachments none of this
runs."""
from __future__ import annotations

import heapq
import itertools
from collections import OrderedDict
from typing import Any, Callable, Iterable

from . import _core
from ._core import ArgumentError, InvalidError
from ._tensor import Tensor


class RemovableHandle:
    """Takes a hook away again, by remove() or at the end of a `with` block."""

    _numbers = itertools.count()

    def __init__(self, hooks: dict, hook: Callable, emptied: Callable[[], None] | None = None) -> None:
        self._hooks, self._emptied, self.id = hooks, emptied, next(self._numbers)
        hooks[self.id] = hook

    def remove(self) -> None:
        if self._hooks.pop(self.id, None) is not None and not self._hooks and self._emptied:
            self._emptied()

    def __enter__(self) -> "RemovableHandle":
        return self

    def __exit__(self, *_: Any) -> None:
        self.remove()


class Node:
    """What hangs on a value: hooks, and for outputs of a Function its call and which output it is."""

    __slots__ = ("hooks", "call", "index")

    def __init__(self, call: Any = None, index: int = 0) -> None:
        self.hooks: dict = OrderedDict()
        self.call, self.index = call, index


def register_hook(tensor: Tensor, hook: Callable) -> RemovableHandle:
    """hook(gradient) runs whenever the tensor's gradient is computed; a tensor that it returns takes its place."""
    if not tensor.requires_grad:
        raise InvalidError("cannot register a hook on a tensor that doesn't require gradient")
    if tensor.is_leaf:
        return _register_on_leaf(tensor, "_backward_hooks", hook)
    node = _core.attached(tensor)
    if node is None:
        node = Node()
        _core.attach(tensor, node)
    return RemovableHandle(node.hooks, hook)


def register_post_accumulate_grad_hook(tensor: Tensor, hook: Callable) -> RemovableHandle:
    """hook(tensor) runs whenever backward has added to the .grad of the tensor, a leaf."""
    if not tensor.requires_grad:
        raise InvalidError("cannot register a hook on a tensor that doesn't require gradient")
    if not tensor.is_leaf:
        raise InvalidError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    return _register_on_leaf(tensor, "_post_accumulate_grad_hooks", hook)


def _register_on_leaf(leaf: Tensor, name: str, hook: Callable) -> RemovableHandle:
    hooks = leaf.__dict__.setdefault(name, OrderedDict())
    _core.set_hooked(leaf, True)

    def emptied() -> None:
        if not leaf.__dict__.get("_backward_hooks") and not leaf.__dict__.get("_post_accumulate_grad_hooks"):
            _core.set_hooked(leaf, False)
    return RemovableHandle(hooks, hook, emptied)


def _run(hooks: Iterable[Callable], gradient: Tensor) -> Tensor:
    for hook in hooks:
        changed = hook(gradient)
        if changed is None:
            continue
        if not isinstance(changed, Tensor):
            raise ArgumentError(f"expected Tensor, but hook returned {type(changed).__name__}")
        if tuple(changed.shape) != tuple(gradient.shape):
            raise InvalidError(f"hook has changed the size of value: {list(changed.shape)} instead of "
                               f"{list(gradient.shape)}")
        gradient = changed.to(gradient.dtype)
    return gradient


def _add(tensor: Tensor, gradient: Tensor, create_graph: bool) -> None:
    """tensor.grad += gradient."""
    before = tensor.grad
    if before is None:
        tensor.grad = gradient if create_graph else gradient.detach()
    elif create_graph:
        tensor.grad = before + gradient
    else:
        _core.assign(before, before + gradient)


class Walk:
    """One differentiation with attachments."""

    def __init__(self, roots: list, seeds: list, create_graph: bool) -> None:
        self.roots, self.seeds, self.create_graph = list(roots), list(seeds), create_graph
        self.cuts: list[Tensor] = []
        self.replaced: dict[int, Tensor] = {}  # by id of the value
        self.leaves: list[tuple[Tensor, Tensor]] = []  # hooked ones, with their gradients
        self.calls: list[Any] = []
        self._found: dict[int, tuple[Tensor, Any]] = {}
        self._queue: list[int] = []
        self._look(self.roots)

    def _look(self, tensors: list) -> None:
        for tensor, node, number in _core.reached(tensors):
            if number not in self._found:
                self._found[number] = (tensor, node)
                heapq.heappush(self._queue, -number)

    def _gradients(self, tensors: list) -> tuple:
        return _core.grad(self.roots, tensors, self.seeds, True, self.create_graph, True, self.cuts)

    def run(self) -> None:
        before = _core.set_grad_enabled(self.create_graph)
        try:
            while self._queue:
                number = -heapq.heappop(self._queue)
                tensor, node = self._found[number]
                if node is None:
                    self._visit_leaf(number, tensor)
                elif node.call is not None:
                    self._visit_call(node.call)
                elif node.hooks:
                    self._visit(number, tensor, node)
        finally:
            _core.set_grad_enabled(before)

    def _visit_leaf(self, number: int, leaf: Tensor) -> None:
        gradient, = self._gradients([leaf])
        if gradient is not None:
            gradient = _run(tuple(leaf.__dict__.get("_backward_hooks", {}).values()), gradient)
            self.leaves.append((leaf, gradient))
            self._replace(number, leaf, gradient, False)

    def _visit(self, number: int, tensor: Tensor, node: Node) -> None:
        gradient, = self._gradients([tensor])
        if gradient is None:
            return
        changed = _run(tuple(node.hooks.values()), gradient)
        if changed is not gradient:
            self._replace(number, tensor, changed, True)

    def _replace(self, number: int, tensor: Tensor, gradient: Tensor, flows: bool) -> None:
        """What arrived at the tensor was counted: it is no root any more but with the new gradient."""
        kept = [i for i, root in enumerate(self.roots) if root._id != number]
        self.roots, self.seeds = [self.roots[i] for i in kept], [self.seeds[i] for i in kept]
        self.cuts.append(tensor)
        self.replaced[number] = gradient
        if flows or not self.roots:
            self.roots.append(tensor)
            self.seeds.append(gradient)

    def _visit_call(self, call: Any) -> None:
        """All outputs at once: nothing can stand between them."""
        if call in self.calls:
            return
        self.calls.append(call)
        outputs = [(number, tensor, node) for number, (tensor, node) in self._found.items()
                   if node is not None and node.call is call]
        gradients: list = [None] * call.output_count
        tensors: list = [None] * call.output_count
        for (number, tensor, node), gradient in zip(outputs, self._gradients([tensor for _, tensor, _ in outputs])):
            if gradient is not None and node.hooks:
                gradient = _run(tuple(node.hooks.values()), gradient)
                self.replaced[number] = gradient
            gradients[node.index], tensors[node.index] = gradient, tensor
        if all(gradient is None for gradient in gradients):
            return
        fresh = []
        for tensor, gradient in call.run(gradients, tensors):
            self.roots.append(tensor)
            self.seeds.append(gradient)
            fresh.append(tensor)
        if fresh:
            self._look(fresh)

    def end(self, retain: bool) -> None:
        if not retain:
            for call in self.calls:
                call.free()


def backward(roots: list, seeds: list, retain: bool, create_graph: bool, inputs: list | None) -> None:
    walk = Walk(roots, seeds, create_graph)
    walk.run()
    _core.backward(walk.roots, walk.seeds, retain, create_graph, inputs, walk.cuts)
    walk.end(retain)
    wanted = None if inputs is None else {x._id for x in inputs}
    before = _core.set_grad_enabled(create_graph)
    try:
        for leaf, gradient in walk.leaves:
            if wanted is None or leaf._id in wanted:
                _add(leaf, gradient, create_graph)
        for number, gradient in walk.replaced.items():
            tensor, node = walk._found[number]
            if node is not None and node.call is None and (tensor.retains_grad if wanted is None
                                                           else number in wanted):
                _add(tensor, gradient, create_graph)
        for leaf, _ in walk.leaves:
            for hook in tuple(leaf.__dict__.get("_post_accumulate_grad_hooks", {}).values()):
                hook(leaf)
    finally:
        _core.set_grad_enabled(before)


def grad(roots: list, inputs: list, seeds: list, retain: bool, create_graph: bool, allow_unused: bool) -> tuple:
    walk = Walk(roots, seeds, create_graph)
    walk.run()
    found = _core.grad(walk.roots, inputs, walk.seeds, retain, create_graph, allow_unused, walk.cuts)
    walk.end(retain)
    return tuple(walk.replaced.get(x._id, gradient) for x, gradient in zip(inputs, found))
