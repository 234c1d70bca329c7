# SPDX-License-Identifier: Apache-2.0
"""Values by name: what one program publishes, others on the same daemon use, while it trains and after it has ended.

    burn.names.publish("mnist", model.state_dict())         # in one process, as often as it likes
    model.load_state_dict(burn.names.get("mnist"))          # in another one

A name is made of letters, digits, '.', '_', '-' and '/' for levels. It belongs to the user who published it; those
that begin with "public/" are everyone's. It holds its values until it is published anew, removed, or the daemon ends."""
from __future__ import annotations

import builtins
import json
from typing import Any, Callable, Mapping

from . import _core
from ._core import ArgumentError, InvalidError
from ._jit import published
from ._tensor import Tensor, no_grad

__all__ = ["get", "list", "program", "publish", "publish_program", "remove"]


def _parts(value: Mapping[str, Any], above: str, found: dict[str, Tensor]) -> dict[str, Tensor]:
    for key, item in value.items():
        if not isinstance(key, str):
            raise ArgumentError(f"the keys of what is published are text, not {type(key).__name__}")
        if isinstance(item, Tensor):
            found[above + key] = item
        elif isinstance(item, Mapping):
            _parts(item, f"{above}{key}/", found)
        else:
            raise ArgumentError(f"what is published is a tensor, or dicts of tensors; {above + key!r} is a "
                                f"{type(item).__name__}")
    return found


def publish(name: str, value: Tensor | Mapping[str, Any], *, wait: bool = True) -> None:
    """Gives the tensor, or all tensors of the dict (a state_dict, say; dicts in it are levels), a name, in one step:
    who gets the name has all of these or all of those before, never a mixture. What stood at the name and below it
    ends. The values are those of this moment: later changes of the tensors do not show. With wait=False it returns
    at once, and the next burn.sync() raises what went wrong."""
    if isinstance(value, Tensor):
        _core.publish(name, None, [value], wait)
        return
    if not isinstance(value, Mapping):
        raise ArgumentError(f"what is published is a tensor, or dicts of tensors, not a {type(value).__name__}")
    found = _parts(value, "", {})
    if not found:
        raise InvalidError(f"nothing is published under {name!r}: there is no tensor in it")
    _core.publish(name, tuple(found), builtins.list(found.values()), wait)


def get(name: str) -> Any:
    """The tensor of the name; or, where names stand below it, a dict of them, nested as they were published. A
    LookupError if there is nothing. The tensors stay as they are when the name is published anew; changing them changes no name."""
    pairs = _core.get_named(name)
    if pairs[0][0] == "":
        return pairs[0][1]
    result: dict[str, Any] = {}
    for part, tensor in pairs:
        *levels, last = part.split("/")
        place = result
        for level in levels:
            place = place.setdefault(level, {})
        place[last] = tensor
    return result


def publish_program(name: str, function: Callable[..., Any], *examples: Tensor) -> None:
    """Gives a function of tensors a name, as a program that the daemon keeps: who gets the name calls it without the
    code, and without the weights. It is traced with examples, whose shapes and dtypes are then those of its arguments;
    tensors from outside that it reads (a model's parameters) belong to it with the values of this moment. It returns a
    tensor or a tuple of tensors. Published anew, it serves new weights to whoever gets it from then on."""
    for example in examples:
        if not isinstance(example, Tensor):
            raise ArgumentError(f"the arguments of a published program are tensors, not {type(example).__name__}")
    with no_grad():
        _core.publish_program(name, published(function, builtins.list(examples), name[-60:]))


def program(name: str) -> Callable[..., Any]:
    """The program of the name, as a function of tensors. It stays as it is when the name is published anew."""
    found = _core.get_program(name)

    def call(*arguments: Tensor) -> Any:
        outputs = found(arguments)
        return outputs[0] if len(outputs) == 1 else outputs
    call.__name__ = call.__qualname__ = name
    return call


def remove(name: str) -> None:
    """Ends the name and all below it; who got the values keeps them. A LookupError if there is nothing."""
    _core.remove_name(name)


def list(prefix: str = "") -> builtins.list[dict[str, Any]]:
    """Name, dtype, shape and bytes of each value at the prefix and below it: of all of this user's and all public ones
    by default. `version` is that of the publication, which grows with each one."""
    return json.loads(_core.list_names(prefix))
