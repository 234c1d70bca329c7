# SPDX-License-Identifier: Apache-2.0
"""Backward hooks of a module: identities around its inputs and outputs, whose gradients the hooks are shown."""
from __future__ import annotations

from typing import Any

from ..._core import InvalidError
from ..._tensor import Tensor
from ...autograd import Function


class _Notice(Function):
    """The tensors as they are; their gradients, all at once, go through a function."""

    @staticmethod
    def forward(ctx: Any, tell: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.tell = tell
        ctx.set_materialize_grads(False)
        return tuple(tensor.clone() for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple:
        return (None, *ctx.tell(gradients))


def _as_tuple(value: Any) -> tuple:
    return value if isinstance(value, tuple) else (value,)


class Watch:
    """One call of a module with backward hooks."""

    def __init__(self, module: Any, before: list, after: list) -> None:
        self._module, self._before, self._after = module, before, after
        self._inputs: list[int] = []
        self._outputs: list[int] = []
        self._input_count = self._output_count = 0
        self._given: tuple = ()

    @staticmethod
    def _noticed(values: tuple, tell: Any) -> tuple[tuple, list[int]]:
        places = [i for i, x in enumerate(values) if isinstance(x, Tensor) and x.requires_grad]
        if not places:
            return values, places
        made = dict(zip(places, _as_tuple(_Notice.apply(tell, *(values[i] for i in places)))))
        return tuple(made.get(i, x) for i, x in enumerate(values)), places

    @staticmethod
    def _spread(gradients: tuple, places: list[int], count: int) -> tuple:
        found = dict(zip(places, gradients))
        return tuple(found.get(i) for i in range(count))

    def inputs(self, args: tuple) -> tuple:
        args, self._inputs = self._noticed(args, self._inputs_heard)
        self._input_count = len(args)
        return args

    def outputs(self, output: Any) -> Any:
        if not isinstance(output, (Tensor, tuple, list)):
            return output
        values = (output,) if isinstance(output, Tensor) else tuple(output)
        self._output_count = len(values)
        values, self._outputs = self._noticed(values, self._outputs_heard)
        if isinstance(output, Tensor):
            return values[0]
        return type(output)(*values) if hasattr(output, "_fields") else type(output)(values)

    def _outputs_heard(self, gradients: tuple) -> tuple:
        given = self._spread(gradients, self._outputs, self._output_count)
        for hook in self._before:
            changed = hook.function(self._module, given)
            if changed is not None:
                given = self._checked(_as_tuple(changed), given, "backward pre")
        self._given = given
        if not self._inputs:  # nothing before the module is trained
            self._tell((None,) * self._input_count)
        return tuple(given[place] for place in self._outputs)

    def _inputs_heard(self, gradients: tuple) -> tuple:
        found = self._tell(self._spread(gradients, self._inputs, self._input_count))
        return tuple(found[place] for place in self._inputs)

    def _tell(self, found: tuple) -> tuple:
        for hook in self._after:
            changed = hook.function(self._module, found, self._given)
            if changed is not None:
                found = self._checked(_as_tuple(changed), found, "backward")
        return found

    def _checked(self, changed: tuple, before: tuple, kind: str) -> tuple:
        if len(changed) != len(before):
            raise InvalidError(f"the {kind} hook of {type(self._module).__name__} returned {len(changed)} gradients "
                               f"instead of {len(before)}")
        return changed
