# SPDX-License-Identifier: Apache-2.0
"""Pruning: a parameter <name> becomes <name>_orig times the buffer <name>_mask, anew before each forward."""
from __future__ import annotations

import numbers
from typing import Any, Iterable

from ..._core import ArgumentError, InvalidError, RangeError, UnsupportedError
from ..._creation import ones_like, rand_like
from ..._functions import FUNCTIONS, cat
from ..._tensor import Tensor, no_grad
from ..modules.module import Module

Amount = int | float


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise ArgumentError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, numbers.Integral) and float(amount) > 1.0):
        raise InvalidError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _how_many(amount: Amount, size: int) -> int:
    """The amount as a number of things."""
    if not isinstance(amount, numbers.Integral):
        return round(float(amount) * size)
    if amount > size:
        raise InvalidError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return int(amount)


class BasePruningMethod:
    """Base class: a subclass has compute_mask(t, default_mask), and PRUNING_TYPE: "unstructured", "structured" or "global"."""

    PRUNING_TYPE = "unstructured"
    _tensor_name = ""
    _handle: Any = None

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for importances t, of what default_mask has left."""
        raise UnsupportedError(f"{type(self).__name__} has no compute_mask")

    def apply_mask(self, module: Module) -> Tensor:
        """The original times the mask."""
        if not self._tensor_name:
            raise AssertionError(f"Module {module} has to be pruned")
        original = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(original.dtype) * original

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any) -> Any:
        """Prunes a parameter of the module, further if it is pruned already."""
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        before = _method_of(module, name)
        current = getattr(module, name)
        if importance_scores is not None and tuple(importance_scores.shape) != tuple(current.shape):
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        with no_grad():
            scores = current.detach() if importance_scores is None else importance_scores.detach()
            if before is None:
                original = module._parameters.pop(name)
                module.register_parameter(f"{name}_orig", original)
                default, container = ones_like(scores), method
                mask = method.compute_mask(scores, default)
                module.register_buffer(f"{name}_mask", mask)
            else:
                container = before if isinstance(before, PruningContainer) else PruningContainer(before)
                container.add_pruning_method(method)
                mask = container.compute_mask(scores, getattr(module, f"{name}_mask"))
                setattr(module, f"{name}_mask", mask)
                before._handle.remove()
        container._handle = module.register_forward_pre_hook(container)
        container(module, ())
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """A pruned copy of a tensor."""
        scores = t if importance_scores is None else importance_scores
        if tuple(scores.shape) != tuple(t.shape):
            raise AssertionError("importance_scores should have the same shape as tensor t")
        return t * self.compute_mask(scores.detach(), ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Makes the pruned values a parameter as it was before; what is pruned stays 0."""
        name = self._tensor_name
        with no_grad():
            original: Any = module._parameters.pop(f"{name}_orig")
            original.data = (module._buffers.pop(f"{name}_mask").to(original.dtype) * original).detach()
        object.__delattr__(module, name)
        module.register_parameter(name, original)
        self._handle.remove()


def _method_of(module: Module, name: str) -> Any:
    for hook in module._hooks.of("forward_pre"):
        if isinstance(hook.function, BasePruningMethod) and hook.function._tensor_name == name:
            return hook.function
    return None


class PruningContainer(BasePruningMethod):
    """Several methods, each of which prunes what those before it have left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: list[BasePruningMethod] = []
        for method in args:
            self._tensor_name = self._tensor_name or method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Adds one at the end."""
        if not isinstance(method, BasePruningMethod):
            raise ArgumentError(f"{type(method)} is not a BasePruningMethod subclass")
        if method._tensor_name != self._tensor_name:
            raise InvalidError(f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                               f"PruningContainer {self}. Found '{method._tensor_name}'")
        self._pruning_methods.append(method)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Any:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method: Any = self._pruning_methods[-1]
        mask = default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left = mask == 1
            made = mask.clone()
            made[left] = method.compute_mask(t[left], mask[left])
            return made
        if method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            others = tuple(d for d in range(t.dim()) if d != dim)
            left = (mask.sum(others) != 0).nonzero().reshape(-1)
            part = method.compute_mask(t.index_select(dim, left), mask.index_select(dim, left))
            return mask.index_copy(dim, left, part)
        if method.PRUNING_TYPE == "global":
            return method.compute_mask(t, mask)
        raise InvalidError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")


class Identity(BasePruningMethod):
    """Prunes nothing."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


def _without_lowest(scores: Tensor, mask: Tensor, count: int) -> Tensor:
    """The mask without the entries of the lowest scores."""
    if count == 0:
        return mask.clone()
    lowest = scores.reshape(-1).topk(count, largest=False).indices
    return mask.reshape(-1).index_fill(0, lowest, 0).reshape(tuple(mask.shape))


class _Unstructured(BasePruningMethod):
    def __init__(self, amount: Amount) -> None:
        _check_amount(amount)
        self.amount = amount

    def _scores(self, t: Tensor) -> Tensor:
        raise UnsupportedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return _without_lowest(self._scores(t), default_mask, _how_many(self.amount, t.numel()))


class RandomUnstructured(_Unstructured):
    """Prunes entries at random."""

    def _scores(self, t: Tensor) -> Tensor:
        return rand_like(t)


class L1Unstructured(_Unstructured):
    """Prunes the entries of the smallest size."""

    def _scores(self, t: Tensor) -> Tensor:
        return t.abs()


class _Structured(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: Amount, dim: int = -1) -> None:
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def _scores(self, t: Tensor, others: tuple[int, ...]) -> Tensor:
        raise UnsupportedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise InvalidError("Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                               f"{t.shape} with {t.dim()} dims")
        if not -t.dim() <= self.dim < t.dim():
            raise RangeError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        dim = self.dim % t.dim()
        others = tuple(d for d in range(t.dim()) if d != dim)
        scores = self._scores(t, others)
        kept = _without_lowest(scores, ones_like(scores), _how_many(self.amount, t.shape[dim]))
        return default_mask * kept.reshape([-1 if d == dim else 1 for d in range(t.dim())])


class RandomStructured(_Structured):
    """Prunes slices along dim at random."""

    def _scores(self, t: Tensor, others: tuple[int, ...]) -> Tensor:
        return rand_like(t.sum(others))


class LnStructured(_Structured):
    """Prunes the slices along dim of the smallest n-norm."""

    def __init__(self, amount: Amount, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t: Tensor, others: tuple[int, ...]) -> Tensor:
        return FUNCTIONS["norm"](t, self.n, others)


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if tuple(default_mask.shape) != tuple(self.mask.shape):
            raise AssertionError("default_mask and mask should have the same shape")
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Gives the parameter a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Amount) -> Module:
    """Prunes a number, or a share, of the entries at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Amount, importance_scores: Tensor | None = None) -> Module:
    """Prunes a number, or a share, of the entries: those of the smallest size."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Amount, dim: int) -> Module:
    """Prunes a number, or a share, of the slices along dim at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Module, name: str, amount: Amount, n: Any, dim: int,
                  importance_scores: Tensor | None = None) -> Module:
    """Prunes a number, or a share, of the slices along dim: those of the smallest n-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prunes by a mask of ones and zeros."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Iterable[tuple[Module, str]], pruning_method: Any, importance_scores: Any = None,
                        **kwargs: Any) -> None:
    """Prunes several parameters, (module, name) each, as if they were one."""
    if not isinstance(parameters, Iterable):
        raise ArgumentError("global_unstructured(): parameters is not an Iterable")
    pairs, given = list(parameters), importance_scores or {}
    if not isinstance(given, dict):
        raise ArgumentError("global_unstructured(): importance_scores must be of type dict")
    if not pairs:
        return
    method: Any = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise ArgumentError(f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} '
                            f"of type {method.PRUNING_TYPE}")
    tensors = [getattr(module, name).detach() for module, name in pairs]
    scores = cat([given.get(pair, tensor).detach().reshape(-1) for pair, tensor in zip(pairs, tensors)])
    masks = cat([getattr(module, f"{name}_mask", ones_like(tensor)).reshape(-1)
                 for (module, name), tensor in zip(pairs, tensors)])
    with no_grad():
        found = PruningContainer(method).compute_mask(scores, masks)
    at = 0
    for (module, name), tensor in zip(pairs, tensors):
        custom_from_mask(module, name, found[at:at + tensor.numel()].reshape(tuple(tensor.shape)))
        at += tensor.numel()


def remove(module: Module, name: str) -> Module:
    """Makes pruning permanent: <name> is a parameter again."""
    method = _method_of(module, name)
    if method is None:
        raise InvalidError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    method.remove(module)
    return module


def is_pruned(module: Module) -> bool:
    """Whether something in the module is pruned."""
    return any(isinstance(hook.function, BasePruningMethod) for part in module.modules() for hook in part._hooks.of("forward_pre"))
