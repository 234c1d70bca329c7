# SPDX-License-Identifier: Apache-2.0
"""Reductions, also as methods of Tensor."""
from __future__ import annotations

import operator
from typing import Any

from ._core import ArgumentError, InvalidError
from . import _ops
from ._dtype import as_dtype, bfloat16, float16, float32, get_default_dtype
from ._pointwise import FUNCTIONS, method, need_tensor
from ._tensor import Tensor
from .return_types import named

def reduction(function: Any) -> Any:
    return method(function, inplace=False)


values_indices = {name: named(name, "values", "indices") for name in ("max", "min")}


def axes(dim: Any) -> tuple[int, ...]:
    """dim as a tuple of ints; () means all dims."""
    if dim is None:
        return ()
    if isinstance(dim, int) or isinstance(dim, Tensor) and dim.dim() == 0:
        return (operator.index(dim),)
    return tuple(dim)


def one_axis(dim: Any, name: str) -> int:
    """dim, which must be one int."""
    if not hasattr(dim, "__index__"):
        raise ArgumentError(f"{name}(): argument 'dim' must be int, not {type(dim).__name__}")
    return operator.index(dim)


def _pick(dim: Any, axis: Any) -> Any:
    """dim, under NumPy's name too."""
    if axis is not None:
        if dim is not None:
            raise ArgumentError("dim and axis are the same argument; give one")
        return axis
    return dim


def _sum_like(name: str, op: Any) -> None:
    def function(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, axis: Any = None) -> Tensor:
        need_tensor(input, name)
        return op(input, axes(_pick(dim, axis)), keepdim, as_dtype(dtype))
    function.__name__, function.__doc__ = name, op.__doc__
    method(function, inplace=False)


_sum_like("sum", _ops.sum)
_sum_like("mean", _ops.mean)


@reduction
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None, axis: Any = None) -> Tensor:
    """The product of all elements or along dim."""
    need_tensor(input, "prod")
    dim = _pick(dim, axis)
    return _ops.prod(input, () if dim is None else (one_axis(dim, "prod"),), keepdim, as_dtype(dtype))


def _extreme(name: str) -> None:
    whole, one = getattr(_ops, name), getattr(_ops, f"{name}_dim")
    pair, between = values_indices[name], _ops.maximum if name == "max" else _ops.minimum

    def function(input: Tensor, dim: Any = None, keepdim: bool = False, *, axis: Any = None, other: Any = None) -> Any:
        need_tensor(input, name)
        dim = _pick(dim, axis) if other is None else other
        if isinstance(dim, Tensor):
            return between(input, dim)
        if dim is not None:
            return pair(*one(input, one_axis(dim, name), keepdim))
        if input.numel() == 0:
            raise InvalidError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                               "reduction dim with the 'dim' argument.")
        return whole(input, (), keepdim)
    function.__name__ = name
    function.__doc__ = f"The {name}imum of all elements, or (values, indices) along dim, or of two tensors."
    method(function, inplace=False)

    def over(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
        return whole(input, axes(dim), keepdim)
    over.__name__, over.__doc__ = f"a{name}", f"The {name}imum over dims; equal elements share the gradient."
    method(over, inplace=False)

    where = getattr(_ops, f"arg{name}")

    def arg(input: Tensor, dim: Any = None, keepdim: bool = False, *, axis: Any = None) -> Tensor:
        need_tensor(input, f"arg{name}")
        dim = _pick(dim, axis)
        return where(input, () if dim is None else (one_axis(dim, f"arg{name}"),), keepdim)
    arg.__name__, arg.__doc__ = f"arg{name}", where.__doc__
    method(arg, inplace=False)


_extreme("max")
_extreme("min")


def _truth(name: str, op: Any) -> None:
    def function(input: Tensor, dim: Any = None, keepdim: bool = False, *, axis: Any = None) -> Tensor:
        need_tensor(input, name)
        dim = _pick(dim, axis)
        if dim == ():
            return input != 0
        return op(input, axes(dim), keepdim)
    function.__name__, function.__doc__ = name, op.__doc__
    method(function, inplace=False)


_truth("any", _ops.any)
_truth("all", _ops.all)


def _spread(name: str, op: Any) -> None:
    def function(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
                 correction: Any = None, axis: Any = None) -> Tensor:
        need_tensor(input, name)
        dim = _pick(dim, axis)
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased is None else int(unbiased)
        return op(input, correction, axes(dim), keepdim)
    function.__name__, function.__doc__ = name, op.__doc__
    method(function, inplace=False)

    def with_mean(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *,
                  correction: Any = None) -> tuple[Tensor, Tensor]:
        """The spread and the mean over dims."""
        both = FUNCTIONS[name](input, dim, unbiased, keepdim, correction=correction)
        return both, FUNCTIONS["mean"](input, None if isinstance(dim, bool) else dim, keepdim)
    FUNCTIONS[f"{name}_mean"] = with_mean


_spread("var", _ops.var)
_spread("std", _ops.std)


@reduction
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """log(sum(exp(input))) over dim, without overflow."""
    return _ops.logsumexp(input if input.is_floating_point() else input.to(get_default_dtype()), axes(dim), keepdim)


@reduction
def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """exp(input) divided by its sum along dim."""
    need_tensor(input, "softmax")
    return _ops.softmax(input if dtype is None else input.to(dtype), one_axis(dim, "softmax"))


@reduction
def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """log(softmax(input)) along dim, without overflow."""
    need_tensor(input, "log_softmax")
    return _ops.log_softmax(input if dtype is None else input.to(dtype), one_axis(dim, "log_softmax"))


@reduction
def norm(input: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The p-norm over dims: p a number, inf, or "fro" or "nuc" (of matrices)."""
    if isinstance(p, str) and p != "fro":
        from .linalg import matrix_norm
        return matrix_norm(input, p, (-2, -1) if dim is None else axes(dim), keepdim)
    if not input.dtype.is_floating_point:
        raise InvalidError(f"norm(): input dtype should be a floating point one. Got {input.dtype} instead.")
    if input.dtype in (float16, bfloat16):  # sums of powers have no room there, though their roots may
        return norm(input.to(float32), p, dim, keepdim).to(input.dtype)
    if p in ("fro", 2, None):
        total = _ops.sum(_ops.square(input), axes(dim), keepdim)
        none = total == 0  # there the root has no slope: the gradient is 0, as PyTorch's
        return _ops.where(none, total, _ops.sqrt(_ops.where(none, 1, total)))
    if p == float("inf"):
        return _ops.max(_ops.abs(input), axes(dim), keepdim)
    if p == float("-inf"):
        return _ops.min(_ops.abs(input), axes(dim), keepdim)
    if p == 0:
        return _ops.sum(_ops.where(input != 0, 1, _ops.sign(input)), axes(dim), keepdim)  # the gradient is 0
    return _ops.sum(_ops.abs(input) ** p, axes(dim), keepdim) ** (1.0 / p)


@reduction
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many elements are not 0."""
    return _ops.sum(input != 0, axes(dim))
