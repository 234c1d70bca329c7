# SPDX-License-Identifier: Apache-2.0
"""Keywords that many functions share: out=, a tensor that takes the result, NumPy's axis= and keepdims=,
and lists by name."""
from __future__ import annotations

import functools
import inspect
from typing import Any, Callable

from . import _core
from ._core import ArgumentError, InvalidError
from ._tensor import Tensor

NAMES = frozenset("""
abs acos acosh add addbmm addcdiv addcmul addmm addmv addr all amax amin aminmax any arange argwhere asin asinh atan
atan2 atanh baddbmm bernoulli bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor
bmm bucketize cat ceil chain_matmul cholesky cholesky_solve clamp clip column_stack concat concatenate copysign cos
cosh cross cummax cummin cumprod cumsum deg2rad diag diff digamma div divide dot dstack empty eq erf erfc erfinv exp exp2
expm1 eye fix float_power floor floor_divide fmax fmin fmod frac full gather gcd ge ger greater greater_equal gt
heaviside histc hstack hypot index_select inner inverse isneginf isposinf kron kthvalue lcm ldexp le lerp less
less_equal lgamma linspace log log10 log1p log2 logaddexp logaddexp2 logcumsumexp logical_and logical_not logical_or
logical_xor logit logspace logsumexp lt masked_select matmul matrix_power max maximum mean min minimum mm mode msort
mul multinomial multiply mv nan_to_num nanmean nanquantile ne neg negative nextafter nonzero norm normal not_equal
ones outer pow prod qr quantile rad2deg rand randint randn randperm reciprocal remainder renorm round row_stack rsqrt
searchsorted sgn sigmoid sign signbit sin sinc sinh sort sqrt square stack std sub subtract sum take_along_dim tan
tanh tensordot topk tril triu true_divide trunc var vdot vstack where xlogy zeros
""".split())


def _kind(dtype: Any) -> int:
    return 2 if dtype.is_floating_point else 0 if dtype.name == "bool" else 1


def _put(out: Any, result: Tensor) -> Tensor:
    if not isinstance(out, Tensor):
        raise ArgumentError(f"out must be a Tensor, not {type(out).__name__}")
    if out.requires_grad and _core.grad_enabled():
        raise InvalidError("functions with out=... arguments don't support automatic differentiation, but one of the "
                           "arguments requires grad.")
    if _kind(result.dtype) > _kind(out.dtype):
        raise InvalidError(f"result type {result.dtype} can't be cast to the desired output type {out.dtype}")
    if tuple(out.shape) != tuple(result.shape):  # PyTorch gives it the result's shape
        out.data = result.to(out.dtype).clone()
        return out
    return _core.assign(out, result, cast=True)


def _written(out: Any, result: Any) -> Any:
    """The result, with its tensors in out."""
    parts = result if isinstance(result, tuple) else (result,)
    if _core.grad_enabled() and any(part.requires_grad for part in parts):
        raise InvalidError("functions with out=... arguments don't support automatic differentiation, but one of the "
                           "arguments requires grad.")
    if not isinstance(result, tuple):
        return _put(out, result)
    if not isinstance(out, (tuple, list)) or len(out) != len(result):
        raise ArgumentError(f"out must be a tuple of {len(result)} Tensors")
    made = [_put(*pair) for pair in zip(out, result)]
    return type(result)(*made) if hasattr(result, "_fields") else tuple(made)


_OTHERS = (("axis", "dim"), ("keepdims", "keepdim"), ("axis0", "dim0"), ("axis1", "dim1"))
_LISTS = {"shape": ("shape", "size"), "dims": ("dims",), "sizes": ("size",), "repeats": ("repeats",)}


def _renamed(function: Callable) -> dict[str, str]:
    """Other names of parameters of the function: NumPy's, and the one of a list that may be given piece by piece, as
    dims of permute(x, 1, 0); the latter stand for "*"."""
    given = inspect.signature(function).parameters
    names = {other: name for other, name in _OTHERS if name in given and other not in given}
    for parameter in given.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names |= dict.fromkeys(_LISTS.get(parameter.name, ()), "*")
    return names


def _own(args: tuple, kwargs: dict[str, Any], names: dict[str, str]) -> tuple[tuple, dict[str, Any]]:
    """The arguments under the function's own names."""
    given = {names.get(name, name): value for name, value in kwargs.items()}
    if "*" in given:
        first = (given.pop("input"),) if "input" in given else ()
        args = (*first, *args, given.pop("*"))
    return args, given


def _with_names(function: Callable, names: dict[str, str]) -> Callable:
    """The function, which also takes the other names."""
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs:
            return function(*args)
        args, kwargs = _own(args, kwargs, names)
        return function(*args, **kwargs)
    return call


def _with_out(function: Callable, names: dict[str, str]) -> Callable:
    """The function, which also takes the other names, and out=: a tensor (or one for each result) that is written to."""
    @functools.wraps(function)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if kwargs and names:
            args, kwargs = _own(args, kwargs, names)
        return function(*args, **kwargs) if out is None else _written(out, function(*args, **kwargs))
    given = inspect.signature(function)
    place = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Any")
    parameters = list(given.parameters.values())
    last = [p for p in parameters if p.kind is p.VAR_KEYWORD]
    parameters = [p for p in parameters if p not in last] + [place] + last
    setattr(call, "__signature__", given.replace(parameters=parameters))
    return call


def accept_keywords(functions: dict[str, Any]) -> None:
    """Makes the functions take what they take in PyTorch; one that has several names stays one."""
    made: dict[Any, Callable] = {}
    writing = [functions[name] for name in NAMES if name in functions]
    for name, function in functions.items():
        if not inspect.isfunction(function):
            continue
        if function not in made:
            names = _renamed(function)
            made[function] = (_with_out(function, names) if function in writing else
                              _with_names(function, names) if names else function)
        functions[name] = made[function]


def accept_names(kind: type) -> None:
    """Makes the methods of a class take the other names too."""
    for name, function in list(vars(kind).items()):
        if inspect.isfunction(function) and (names := _renamed(function)):
            setattr(kind, name, _with_names(function, names))
