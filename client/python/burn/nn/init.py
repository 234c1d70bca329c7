# SPDX-License-Identifier: Apache-2.0
"""Initial values of parameters, in place and without gradients; formulas are PyTorch's."""
from __future__ import annotations

import math
import warnings
from typing import Any

from .._core import InvalidError
from .. import _ops
from .._creation import full, rand
from .._dtype import bool_, float64
from .._functions import stack
from .._tensor import Tensor, no_grad

_GAINS: dict[str, float] = {"linear": 1, "sigmoid": 1, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
_CONVOLUTIONS = [f"conv{kind}{n}d" for kind in ("", "_transpose") for n in (1, 2, 3)]


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The factor by which weights before a nonlinearity are made larger. Errors: ValueError for an unknown name."""
    if nonlinearity == "leaky_relu":
        if param is not None and (isinstance(param, bool) or not isinstance(param, (int, float))):
            raise InvalidError(f"negative_slope {param} not a valid number")
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope * slope))
    if nonlinearity in _CONVOLUTIONS:
        return 1
    if nonlinearity not in _GAINS:
        raise InvalidError(f"Unsupported nonlinearity {nonlinearity}; known: leaky_relu, {', '.join(_GAINS)}")
    return _GAINS[nonlinearity]


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.dim() < 2:
        raise InvalidError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


@no_grad
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform in [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Normal of a mean and a deviation."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad
def trunc_normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0,
                  generator: Any = None) -> Tensor:
    """Normal, but within [a, b]: made by the inverse of the distribution function from uniform numbers."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
                      "incorrect.", stacklevel=2)

    def below(x: float) -> float:
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0
    low, high = 2 * below((a - mean) / std) - 1, 2 * below((b - mean) / std) - 1
    uniform = rand(tuple(tensor.shape), dtype=float64, generator=generator) * (high - low) + low
    values = _erfinv(uniform) * (std * math.sqrt(2.0)) + mean
    return tensor.copy_(values.clamp(a, b))


def _erfinv(y: Tensor) -> Tensor:
    """The inverse of erf: a rational guess (Giles, 2010), then two steps of Newton's method."""
    limit = 1 - 2.0 ** -53
    y = y.clamp(-limit, limit)
    w = -_ops.log((1 - y) * (1 + y))
    near, far = w - 2.5, _ops.sqrt(w) - 3
    p = full(tuple(y.shape), 2.81022636e-08, dtype=y.dtype)
    for c in (3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
              0.246640727, 1.50140941):
        p = p * near + c
    q = full(tuple(y.shape), -0.000200214257, dtype=y.dtype)
    for c in (0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406,
              2.83297682):
        q = q * far + c
    x = _ops.where(w < 5, p, q) * y
    for _ in range(2):
        x = x - (_ops.erf(x) - y) * _ops.exp(x * x) * (math.sqrt(math.pi) / 2)
    return x


@no_grad
def constant_(tensor: Tensor, val: float) -> Tensor:
    """One value everywhere."""
    return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0.0)


@no_grad
def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix."""
    if tensor.dim() != 2:
        raise InvalidError("Only tensors with 2 dimensions are supported")
    return tensor.copy_(_ops.eye(tensor.shape[0], tensor.shape[1], tensor.dtype))


@no_grad
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Kernels of convolutions [out, in, ...] that give each channel as it is."""
    rank = tensor.dim()
    if rank not in (3, 4, 5):
        raise InvalidError("Only tensors with 3, 4, or 5 dimensions are supported")
    out, channels = tensor.shape[:2]
    if out % groups:
        raise InvalidError("dim 0 must be divisible by groups")
    rows = out // groups
    block = _ops.eye(rows, channels, tensor.dtype)
    plane = stack([block] * groups).reshape((out, channels) + (1,) * (rank - 2))
    low = tuple(n // 2 for n in tensor.shape[2:])
    high = tuple(n - 1 - n // 2 for n in tensor.shape[2:])
    return tensor.copy_(_ops.pad(plane, 0, (0, 0, *low), (0, 0, *high)))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform within gain * sqrt(6 / (fan_in + fan_out))."""
    bound = gain * math.sqrt(6.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal with the deviation gain * sqrt(2 / (fan_in + fan_out))."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tuple(tensor.shape):
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise InvalidError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"])


def kaiming_uniform_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Any = None) -> Tensor:
    """Uniform within gain * sqrt(3 / fan)."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def kaiming_normal_(tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Any = None) -> Tensor:
    """Normal with the deviation gain / sqrt(fan)."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


@no_grad
def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Rows (or columns, whichever are fewer) that are orthogonal and of length gain. Computed on the client."""
    import numpy as np
    if tensor.dim() < 2:
        raise InvalidError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    from .._creation import randn, tensor as make_tensor
    flat = randn(rows, columns, dtype=float64, generator=generator).numpy()
    q, r = np.linalg.qr(flat.T if rows < columns else flat)
    q = q * np.sign(np.diag(r))
    q = np.ascontiguousarray(q.T if rows < columns else q)
    return tensor.copy_(make_tensor(q * gain).reshape(tuple(tensor.shape)))


@no_grad
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal, with the share `sparsity` of each column zero."""
    import numpy as np
    if tensor.dim() != 2:
        raise InvalidError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    order = rand(rows, columns, generator=generator).numpy().argsort(0)
    mask = np.zeros((rows, columns), bool)
    np.put_along_axis(mask, order[:zeros], True, 0)
    from .._creation import tensor as make_tensor
    tensor.normal_(0, std, generator=generator)
    return tensor.masked_fill_(make_tensor(mask, dtype=bool_), 0)


def _renamed(name: str) -> Any:
    function = globals()[name + "_"]

    def former(*args: Any, **kwargs: Any) -> Tensor:
        warnings.warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)
    former.__name__, former.__doc__ = name, f"{name}_ under its former name."
    return former


for _name in ("uniform", "normal", "constant", "eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform",
              "kaiming_normal", "orthogonal", "sparse"):
    globals()[_name] = _renamed(_name)
