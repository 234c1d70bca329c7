# SPDX-License-Identifier: Apache-2.0
"""Functions of networks: activations, losses, norms, dropout, with PyTorch's names and results."""
from __future__ import annotations

from typing import Any, Sequence

from .. import _ops
from .._creation import draw
from .._dtype import finfo, int64
from .._functions import FUNCTIONS
from .._pointwise import need_tensor
from .._reduce import log_softmax as _log_softmax, softmax as _softmax
from .._tensor import Tensor, assign
from ._batch_norms import batch_norm, group_norm, instance_norm, local_response_norm  # noqa: F401
from ._convolution import (conv1d, conv2d, conv3d, conv_transpose1d, conv_transpose2d, conv_transpose3d,  # noqa: F401
                           fold, unfold)
from ._pooling import (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d,  # noqa: F401
                       adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d, avg_pool1d, avg_pool2d,
                       avg_pool3d, lp_pool1d, lp_pool2d, max_pool1d, max_pool2d, max_pool3d)

sigmoid, tanh = FUNCTIONS["sigmoid"], FUNCTIONS["tanh"]


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias."""
    return _ops.linear(input, weight, bias)


def _result(input: Tensor, output: Tensor, inplace: bool) -> Tensor:
    return assign(input, output) if inplace else output


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(input, 0); NaN stays."""
    need_tensor(input, "relu")
    return _result(input, _ops.relu(input), inplace)


def relu_(input: Tensor) -> Tensor:
    return relu(input, True)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """input * Phi(input), by erf ("none") or tanh ("tanh")."""
    if approximate not in ("none", "tanh"):
        raise RuntimeError(f"approximate argument must be either none or tanh, not {approximate!r}")
    return _ops.gelu(input, approximate == "tanh")


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input)."""
    return _result(input, _ops.silu(input), inplace)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """input where it is positive, else negative_slope * input."""
    return _result(input, _ops.leaky_relu(input, negative_slope), inplace)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """input where it is positive, else alpha * (exp(input) - 1)."""
    return _result(input, _ops.elu(input, alpha), inplace)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """input limited to [min_val, max_val]."""
    return _result(input, _ops.hardtanh(input, min_val, max_val), inplace)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """input limited to [0, 6]."""
    return hardtanh(input, 0.0, 6.0, inplace)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta * input)) / beta; input itself above threshold / beta."""
    return _ops.softplus(input, beta, threshold)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input)), without overflow."""
    return _ops.logsigmoid(input)


def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|)."""
    return _ops.softsign(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input))."""
    return _result(input, _ops.mish(input), inplace)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """input / 6 + 1 / 2, limited to [0, 1]."""
    return _result(input, _ops.hardsigmoid(input), inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * hardsigmoid(input)."""
    return _result(input, _ops.hardswish(input), inplace)


def _implicit_dim(input: Tensor) -> int:
    return 0 if input.dim() in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(input) divided by its sum along dim."""
    return _softmax(input, _implicit_dim(input) if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """log(softmax(input)) along dim, without overflow."""
    return _log_softmax(input, _implicit_dim(input) if dim is None else dim, dtype)


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training: each element 0 with probability p, the others times 1 / (1 - p)."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training:
        return input
    return _result(input, _ops.dropout(input, p, *draw(input.numel(), None)), inplace)


def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
               bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """(input - mean) / sqrt(var + eps) * weight + bias over the last dims."""
    return _ops.layer_norm(input, weight, bias, eps, tuple(normalized_shape))


def rms_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None,
             eps: float | None = None) -> Tensor:
    """input / sqrt(mean(input * input) + eps) * weight over the last dims."""
    return _ops.rms_norm(input, weight, finfo(input.dtype).eps if eps is None else eps, tuple(normalized_shape))


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Tensor:
    """input divided by its p-norm along dim, at least eps."""
    return input / FUNCTIONS["norm"](input, p, dim, True).clamp(min=eps)


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None) -> Tensor:
    """Rows of weight by index; the row padding_idx gets no gradient."""
    rows = weight.shape[0]
    if padding_idx is not None:
        if not -rows <= padding_idx < rows:
            raise AssertionError(f"padding_idx {padding_idx} is outside the {rows} rows")
        padding_idx %= rows
    return _ops.embedding(weight, input, -1 if padding_idx is None else padding_idx)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 at the class of each element, in a new last dim; -1 classes: as many as the largest needs."""
    if tensor.dtype is not int64:
        raise RuntimeError(f"one_hot is only applicable to index tensor of type int64, not {tensor.dtype}")
    if num_classes == -1:
        if tensor.numel() == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        if int(tensor.min()) < 0:
            raise RuntimeError("Class values must be non-negative.")
        num_classes = int(tensor.max()) + 1
    if num_classes < 1:
        raise RuntimeError(f"num_classes should be positive, got {num_classes}")
    return _ops.one_hot(tensor, num_classes)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Any = None) -> Tensor:
    """Adds (or, where negative, crops) elements at both ends of the last dims, the last dim first."""
    pad = tuple(pad)
    rank = input.dim()
    if len(pad) % 2 or len(pad) > 2 * rank:
        raise RuntimeError(f"Padding length should be even and at most twice the number of dimensions of the input, "
                           f"{2 * rank}, got {len(pad)}")
    if mode != "constant":
        raise NotImplementedError(f"padding mode {mode!r} is not supported; constant is")
    low, high, crop = [0] * rank, [0] * rank, [slice(None)] * rank
    for i in range(len(pad) // 2):
        dim, (a, b) = rank - 1 - i, pad[2 * i:2 * i + 2]
        n = input.shape[dim]
        if n + a + b < 0:
            raise RuntimeError(f"The input size {n}, plus negative padding {a} and {b}, resulted in a negative output "
                               f"size, which is invalid for dimension {dim}")
        low[dim], high[dim] = max(a, 0), max(b, 0)
        crop[dim] = slice(max(-a, 0), n - max(-b, 0))
    if any(part < 0 for part in pad):
        input = input[tuple(crop)]
    if not any(low) and not any(high):
        return _ops.clone(input)
    return _ops.pad(input, 0 if value is None else value, low, high)


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value; a bool mask says what may be attended to."""
    if query.shape[-1] != key.shape[-1]:
        raise RuntimeError(f"scaled_dot_product_attention: query and key have widths {query.shape[-1]} and "
                           f"{key.shape[-1]}, which must be equal")
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = (query * scale) @ key.mT
    if is_causal:
        if attn_mask is not None:
            raise RuntimeError("explicit attn_mask should not be set when is_causal=True")
        rows, columns = query.shape[-2], key.shape[-2]
        from .._creation import ones
        attn_mask = ones(rows, columns, dtype=bool).tril()
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, float("-inf")) if attn_mask.dtype.name == "bool" else scores + attn_mask
    weights = _ops.softmax(scores, -1)
    if attn_mask is not None and attn_mask.dtype.name == "bool":
        weights = weights.masked_fill((~attn_mask).all(-1, keepdim=True), 0.0)
    return dropout(weights, dropout_p) @ value


# ---- losses ----

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _reduction(name: str) -> int:
    if name not in _REDUCTIONS:
        raise ValueError(f"{name} is not a valid value for reduction; use none, mean or sum")
    return _REDUCTIONS[name]


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
                  ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """-log_softmax(input)[target] over the classes of dim 1; targets are class numbers or probabilities."""
    kind = _reduction(reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    smoothing = label_smoothing if label_smoothing else None
    if target.dtype.is_floating_point:
        return _ops.cross_entropy_soft(input, target, weight, smoothing, kind)
    return _ops.cross_entropy(input, target, weight, smoothing, kind, ignore_index)


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
             ignore_index: int = -100, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """-input[target] over the classes of dim 1, for log-probabilities."""
    return _ops.nll_loss(input, target, weight, _reduction(reduction), ignore_index)


def mse_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
             weight: Tensor | None = None) -> Tensor:
    """Mean (or sum, or each) of the squared differences."""
    kind = _reduction(reduction)
    if weight is None:
        return _ops.mse_loss(input, target, kind)
    loss = (input - target) ** 2 * weight
    return loss if kind == 0 else loss.sum() / weight.expand(loss.shape).sum() if kind == 1 else loss.sum()


def l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """Mean (or sum, or each) of the absolute differences."""
    return _ops.l1_loss(input, target, _reduction(reduction))


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Squared for differences below delta, linear above."""
    if delta <= 0:
        raise RuntimeError(f"huber_loss does not support non-positive values for delta, got {delta}")
    return _ops.huber_loss(input, target, delta, _reduction(reduction))


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """huber_loss with delta = beta, divided by beta."""
    if beta < 0:
        raise RuntimeError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    return _ops.smooth_l1_loss(input, target, beta, _reduction(reduction))


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     size_average: Any = None, reduce: Any = None, reduction: str = "mean",
                                     pos_weight: Tensor | None = None) -> Tensor:
    """binary_cross_entropy of sigmoid(input), without overflow."""
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"Target size ({list(target.shape)}) must be the same as input size ({list(input.shape)})")
    return _ops.bce_with_logits(input, target, weight, pos_weight, _reduction(reduction))


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
                         reduce: Any = None, reduction: str = "mean") -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)); logarithms end at -100."""
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"Using a target size ({list(target.shape)}) that is different to the input size "
                         f"({list(input.shape)}) is deprecated. Please ensure they have the same size.")
    return _ops.bce(input, target, weight, _reduction(reduction))


def kl_div(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
           log_target: bool = False) -> Tensor:
    """target * (log(target) - input), for input in logarithms."""
    if reduction == "batchmean":
        return _ops.kl_div(input, target, 2, log_target) / input.shape[0]
    return _ops.kl_div(input, target, _reduction(reduction), log_target)


