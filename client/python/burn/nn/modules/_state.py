# SPDX-License-Identifier: Apache-2.0
"""Writing a module's state_dict and loading one."""
from __future__ import annotations

import difflib
from collections import OrderedDict, namedtuple
from typing import Any

from ..._core import ArgumentError, InvalidError
from ..._creation import as_tensor
from ..._tensor import Tensor, no_grad
from ..parameter import Parameter, is_lazy

EXTRA = "_extra_state"


class IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict found missing and unexpected."""

    def __repr__(self) -> str:
        return "<All keys matched successfully>" if not any(self) else "_" + super().__repr__()

    __str__ = __repr__


def _has_extra_state(module: Any) -> bool:
    from .module import Module
    return type(module).get_extra_state is not Module.get_extra_state


def _own_entries(module: Any) -> "OrderedDict[str, Tensor]":
    own = OrderedDict((name, value) for name, value in module._parameters.items() if value is not None)
    own.update((name, value) for name, value in module._buffers.items()
               if value is not None and name not in module._non_persistent)
    return own


def save_from(module: Any, state: Any, prefix: str, keep_vars: bool) -> None:
    """Writes the entries of the module and of all below it."""
    for hook in module._hooks.of("state_pre"):
        hook.function(module, prefix, keep_vars)
    for name, value in _own_entries(module).items():
        state[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
    if _has_extra_state(module):
        state[prefix + EXTRA] = module.get_extra_state()
    for name, child in module._modules.items():
        if child is not None:
            child.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
    for hook in module._hooks.of("state"):
        hook.function(module, state, prefix, {})


def _modules_by_prefix(module: Any, prefix: str = "") -> list[tuple[str, Any]]:
    found = [(prefix, module)]
    for name, child in module._modules.items():
        if child is not None:
            found += _modules_by_prefix(child, f"{prefix}{name}.")
    return found


def _listed(keys: list[str], others: list[str]) -> str:
    """The keys, each with the key that it may have been meant for."""
    texts = []
    for key in keys:
        near = difflib.get_close_matches(key, others, 1, 0.7)
        texts.append(f'"{key}"' + (f' (nearest: "{near[0]}")' if near else ""))
    return ", ".join(texts)


def _like_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "__array__") or hasattr(value, "__dlpack__")


def load_into(module: Any, state_dict: Any, strict: bool, assign: bool) -> IncompatibleKeys:
    """Checks everything first, then changes the module."""
    if not hasattr(state_dict, "keys") or not hasattr(state_dict, "__getitem__"):
        raise ArgumentError(f"Expected state_dict to be dict-like, got {type(state_dict).__name__}.")
    state = OrderedDict(state_dict)
    missing: list[str] = []
    unexpected: list[str] = []
    problems: list[str] = []
    modules = _modules_by_prefix(module)
    for prefix, owner in modules:
        for hook in owner._hooks.of("load_pre"):
            hook.function(owner, state, prefix, {}, strict, missing, unexpected, problems)
    targets: dict[str, tuple[Any, str, Tensor]] = {}
    extras: dict[str, Any] = {}
    for prefix, owner in modules:
        for name, value in _own_entries(owner).items():
            targets[prefix + name] = (owner, name, value)
        if _has_extra_state(owner):
            extras[prefix + EXTRA] = owner
    missing += [key for key in (*targets, *extras) if key not in state]
    unexpected += [key for key in state if key not in targets and key not in extras]
    for key, (_, _, target) in targets.items():
        value = state.get(key)
        if value is None:
            continue
        if not _like_tensor(value):
            problems.append(f'While copying the parameter named "{key}", expected a Tensor or Tensor-like object from '
                            f"checkpoint but received {type(value).__name__}")
        elif is_lazy(target):  # learns its shape here, unless the value has none either
            if not is_lazy(value):
                target.materialize(value.shape)
        elif tuple(value.shape) != tuple(target.shape):
            problems.append(f"size mismatch for {key}: copying a param with shape {tuple(value.shape)} from checkpoint, "
                            f"the shape in current model is {tuple(target.shape)}.")
    if strict and unexpected:
        problems.insert(0, f"Unexpected key(s) in state_dict: {_listed(unexpected, missing)}. ")
    if strict and missing:
        problems.insert(0, f"Missing key(s) in state_dict: {_listed(missing, unexpected)}. ")
    if problems:
        raise InvalidError(f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join(problems))
    with no_grad():
        for key, target in targets.items():
            if key in state:
                _put(*target, state[key], assign)
    for key, owner in extras.items():
        if key in state:
            owner.set_extra_state(state[key])
    result = IncompatibleKeys(missing, unexpected)
    for _, owner in reversed(modules):
        for hook in owner._hooks.of("load"):
            hook.function(owner, result)
    return result


def _put(owner: Any, name: str, target: Tensor, value: Any, assign: bool) -> None:
    value = value if isinstance(value, Tensor) else as_tensor(value)
    if is_lazy(value):
        return
    if not assign:
        target.copy_(value.detach())
    elif isinstance(target, Parameter):
        kept = value if isinstance(value, Parameter) else Parameter(value, target.requires_grad)
        owner._parameters[name] = kept.requires_grad_(target.requires_grad)
    else:
        owner._buffers[name] = value
