# SPDX-License-Identifier: Apache-2.0
"""Activations and dropout as functions, with PyTorch's names and results."""
from __future__ import annotations

from typing import Any

from .._core import InvalidError
from .. import _ops
from .._creation import draw, rand, rand_like
from .._dtype import bool_, float32
from .._functions import FUNCTIONS
from .._pointwise import need_float, need_tensor
from .._reduce import log_softmax as _log_softmax, softmax as _softmax
from .._tensor import Tensor, assign

__all__ = [
    "alpha_dropout", "celu", "celu_", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu", "elu_",
    "feature_alpha_dropout", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish",
    "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu",
    "relu6", "relu_", "rrelu", "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus",
    "softshrink", "softsign", "tanh", "tanhshrink", "threshold", "threshold_",
]

sigmoid, tanh, _relu = FUNCTIONS["sigmoid"], FUNCTIONS["tanh"], FUNCTIONS["relu"]


def _result(input: Tensor, output: Tensor, inplace: bool) -> Tensor:
    return assign(input, output) if inplace else output


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0); NaN stays."""
    return _result(input, _relu(input), inplace)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """input * Phi(input), by erf ("none") or tanh ("tanh")."""
    need_float(input, "gelu")
    if approximate not in ("none", "tanh"):
        raise InvalidError(f"approximate argument must be either none or tanh, not {approximate!r}")
    return _ops.gelu(input, approximate == "tanh")


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    need_float(input, "silu")
    return _result(input, _ops.silu(input), inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where positive, else input * negative_slope."""
    need_float(input, "leaky_relu")
    return _result(input, _ops.leaky_relu(input, negative_slope), inplace)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """input where positive, else input * weight; weight has one element, or one for each channel (dim 1)."""
    need_tensor(input, "prelu")
    if weight.dim() > 1:
        raise InvalidError(f"prelu: expected the weight to be a scalar or 1D, but got shape {list(weight.shape)}")
    if weight.numel() != 1:
        if input.dim() == 0:
            raise InvalidError("prelu: a 0-d input needs a weight of one element")
        channels = input.shape[1] if input.dim() > 1 else 1
        if weight.numel() != channels:
            raise InvalidError(f"Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                               f"{weight.numel()} and channel size = {channels}.")
        weight = weight.reshape((1, channels) + (1,) * (input.dim() - 2))
    elif weight.dim():
        weight = weight.reshape(())
    if weight.dtype is not input.dtype:
        raise InvalidError(f"prelu: Type promoting not supported. Got {input.dtype} and {weight.dtype}")
    return _ops.where(input > 0, input, weight * input)


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False,
          inplace: bool = False) -> Tensor:
    """leaky_relu with a random slope in [lower, upper] for each element; outside training with their mean."""
    need_float(input, "rrelu")
    if lower > upper:
        raise InvalidError(f"Lower bound should be less than or equal to the upper bound, got {lower} and {upper}")
    if not training:
        return _result(input, _ops.leaky_relu(input, (lower + upper) / 2), inplace)
    slope = rand_like(input) * (upper - lower) + lower
    return _result(input, _ops.where(input > 0, input, input * slope), inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where positive, else alpha * (exp(input) - 1)."""
    need_float(input, "elu")
    return _result(input, _ops.elu(input, alpha), inplace)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where positive, else alpha * (exp(input / alpha) - 1)."""
    need_float(input, "celu")
    if alpha == 0:
        raise InvalidError("ZeroDivisionError: alpha cannot be 0 for CELU")
    low = _ops.clamp(input, None, 0) / alpha
    return _result(input, _ops.where(input > 0, input, _ops.expm1(low) * alpha), inplace)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu with the constants that keep mean 0 and variance 1 through layers."""
    need_float(input, "selu")
    output = _ops.elu(input, 1.6732632423543772848170429916717) * 1.0507009873554804934193349852946
    return _result(input, output, inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """input limited to [min_val, max_val]; the gradient at the limits is 0."""
    need_tensor(input, "hardtanh")
    if min_val > max_val:
        raise InvalidError(f"min_val cannot be greater than max_val, got {min_val} and {max_val}")
    if input.dtype is bool_:
        raise InvalidError("Bool inputs not supported for hardtanh")
    if not input.dtype.is_floating_point:
        return _result(input, _ops.clamp(input, int(min_val), int(max_val)), inplace)
    return _result(input, _ops.hardtanh(input, min_val, max_val), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """input limited to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta; the input itself where beta * input is above threshold."""
    need_float(input, "softplus")
    return _ops.softplus(input, beta, threshold)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input)), without overflow."""
    need_float(input, "logsigmoid")
    return _ops.logsigmoid(input)


def softsign(input: Tensor) -> Tensor:
    """input / (1 + abs(input))."""
    need_tensor(input, "softsign")
    return _ops.softsign(input)


def tanhshrink(input: Tensor) -> Tensor:
    """input - tanh(input)."""
    need_tensor(input, "tanhshrink")
    return input - _ops.tanh(input)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 in [-lambd, lambd], the input elsewhere."""
    need_float(input, "hardshrink")
    return _ops.where((input >= -lambd) & (input <= lambd), 0, input)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """The input moved towards 0 by lambd; 0 in [-lambd, lambd]."""
    need_float(input, "softshrink")
    if lambd < 0:
        raise InvalidError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return input - _ops.clamp(input, -lambd, lambd)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """The input where it is above threshold, else value."""
    need_tensor(input, "threshold")
    return _result(input, _ops.where(input <= threshold, value, input).to(input.dtype), inplace)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input))."""
    need_float(input, "mish")
    return _result(input, _ops.mish(input), inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """input / 6 + 1/2 limited to [0, 1]."""
    need_float(input, "hardsigmoid")
    return _result(input, _ops.hardsigmoid(input), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * hardsigmoid(input)."""
    need_float(input, "hardswish")
    return _result(input, _ops.hardswish(input), inplace)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of dim times the sigmoid of the second."""
    need_float(input, "glu")
    if input.dim() == 0:
        raise InvalidError("glu does not support 0-dimensional tensors")
    if input.shape[dim] % 2:
        raise InvalidError(f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}")
    first, second = input.chunk(2, dim) if input.shape[dim] else (input, input)
    return first * _ops.sigmoid(second)


def _written(function: Any) -> Any:
    def write(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return function(input, *args, inplace=True, **kwargs)
    write.__name__ = write.__qualname__ = function.__name__ + "_"
    write.__doc__ = f"In-place form of {function.__name__}()."
    return write


relu_, leaky_relu_, elu_, celu_, selu_, hardtanh_, rrelu_, threshold_ = (
    _written(f) for f in (relu, leaky_relu, elu, celu, selu, hardtanh, rrelu, threshold))


# ---- softmax ----

def _implicit_dim(input: Tensor) -> int:
    return 0 if input.dim() in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(input) divided by its sum along dim."""
    need_tensor(input, "softmax")
    return _softmax(input, _implicit_dim(input) if dim is None else dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """softmax of the negative input."""
    need_tensor(input, "softmin")
    return _softmax(-input, _implicit_dim(input) if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """log(softmax(input)) along dim, without overflow."""
    need_tensor(input, "log_softmax")
    return _log_softmax(input, _implicit_dim(input) if dim is None else dim, dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A sample of softmax((logits + Gumbel noise) / tau); hard: one-hot, with the gradient of the soft sample."""
    tiny = 1e-20 if logits.dtype.name in ("float32", "float64") else 1e-4
    noise = -_ops.log(-_ops.log(_ops.clamp(rand_like(logits), tiny, None)) + tiny)
    soft = _ops.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    best = soft.detach().argmax(dim, keepdim=True)
    one = soft.detach() * 0
    return one.scatter(dim, best, 1.0) - soft.detach() + soft


# ---- dropout ----

def check_dropout(p: float) -> None:
    if not 0 <= p <= 1:
        raise InvalidError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training: each element 0 with probability p, the others times 1 / (1 - p)."""
    need_tensor(input, "dropout")
    check_dropout(p)
    if not training:
        return input
    return _result(input, _ops.dropout(input, p, *draw(input.numel(), None)), inplace)


def _kept(shape: tuple[int, ...], p: float, dtype: Any) -> Tensor:
    """True with probability 1 - p."""
    return rand(shape, dtype=dtype) >= p


def _feature_dropout(input: Tensor, p: float, training: bool, inplace: bool, spatial: int, name: str) -> Tensor:
    need_tensor(input, name)
    check_dropout(p)
    if not training:
        return input
    shape = tuple(input.shape)
    channels = shape[:len(shape) - spatial] + (1,) * spatial
    if p == 1:
        return _result(input, input * 0, inplace)
    mask = _kept(channels, p, float32).to(input.dtype) / (1 - p)
    return _result(input, input * mask, inplace)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels. Shapes: [N, C, L] or [C, L]."""
    if input.dim() not in (2, 3):
        raise InvalidError(f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input.")
    return _feature_dropout(input, p, training, inplace, 1, "dropout1d")


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels. Shapes: [N, C, H, W]; of a 3-D input the last dim is the channel's only one."""
    spatial = max(input.dim() - 2, 0)
    return _feature_dropout(input, p, training, inplace, spatial, "dropout2d")


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Dropout of whole channels. Shapes: [N, C, D, H, W] or [C, D, H, W]."""
    spatial = 3 if input.dim() == 4 else max(input.dim() - 2, 0)
    return _feature_dropout(input, p, training, inplace, spatial, "dropout3d")


def _alpha_dropout(input: Tensor, p: float, training: bool, inplace: bool, mask_shape: tuple[int, ...]) -> Tensor:
    check_dropout(p)
    if not training or p == 0:
        return input
    if p == 1:
        return _result(input, input * 0, inplace)
    low = -1.7580993408473766  # what selu tends to at minus infinity
    scale = (low * low * p + 1) ** -0.5 * (1 - p) ** -0.5
    kept = _kept(mask_shape, p, float32)
    output = _ops.where(kept, input, low) * scale - scale * low * p
    return _result(input, output.to(input.dtype), inplace)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance of what selu gives."""
    need_tensor(input, "alpha_dropout")
    return _alpha_dropout(input, p, training, inplace, tuple(input.shape))


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """alpha_dropout of whole channels. Shapes: [N, C, ...]."""
    need_tensor(input, "feature_alpha_dropout")
    shape = tuple(input.shape)
    return _alpha_dropout(input, p, training, inplace, shape[:2] + (1,) * (len(shape) - 2))


Tensor.prelu, Tensor.hardshrink = prelu, hardshrink
