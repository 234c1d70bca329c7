# SPDX-License-Identifier: Apache-2.0
"""Losses as functions, with PyTorch's names, defaults and results."""
from __future__ import annotations

import math
import warnings
from typing import Any, Callable

from .._core import ArgumentError, InvalidError
from .. import _ops
from .._creation import arange, ones_like, zeros
from .._dtype import bool_, int64, uint8
from .._shape import broadcast_tensors
from .._tensor import Tensor
from ._distances import pairwise_distance

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy",
    "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss",
    "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss", "nll_loss",
    "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduction_name(reduction: str, size_average: Any, reduce: Any) -> str:
    """What the former arguments size_average and reduce say, if they are given."""
    if size_average is None and reduce is None:
        return reduction
    name = "none" if reduce is False else "sum" if size_average is False else "mean"
    warnings.warn(f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.",
                  stacklevel=3)
    return name


def _kind(reduction: str, size_average: Any = None, reduce: Any = None) -> int:
    name = reduction_name(reduction, size_average, reduce)
    if name not in _REDUCTIONS:
        raise InvalidError(f"{name} is not a valid value for reduction; use none, mean or sum")
    return _REDUCTIONS[name]


def _reduced(loss: Tensor, kind: int) -> Tensor:
    return loss if kind == 0 else loss.mean() if kind == 1 else loss.sum()


def _need(name: str, **tensors: Any) -> None:
    for argument, value in tensors.items():
        if not isinstance(value, Tensor):
            raise ArgumentError(f"{name}(): argument '{argument}' must be Tensor, not {type(value).__name__}")


def _paired(input: Tensor, target: Tensor) -> tuple[Tensor, ...]:
    """Both in the shape that they have together, with a warning if that is not the shape of each."""
    if tuple(input.shape) == tuple(target.shape):
        return input, target
    warnings.warn(f"Using a target size ({list(target.shape)}) that is different to the input size "
                  f"({list(input.shape)}). This will likely lead to incorrect results due to broadcasting. "
                  "Please ensure they have the same size.", stacklevel=3)
    return broadcast_tensors(input, target)


# ---- of classes ----


def _need_classes(target: Tensor) -> None:
    if target.dtype not in (int64, uint8):
        raise InvalidError(f"expected target dtype to be int64 or uint8, but got {target.dtype}; cast it by .long()")


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
                  ignore_index: int = -100, reduce: Any = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:
    """-log_softmax(input)[target] over the classes of dim 1; targets are class numbers or probabilities.

    Shapes: input [N, C, ...] or [C]; target [N, ...] int64, or as input. The mean is weighted by the classes' weights.
    Errors: ValueError or RuntimeError for shapes that do not fit, IndexError for a class out of range."""
    _need("cross_entropy_loss", input=input, target=target)
    kind = _kind(reduction, size_average, reduce)
    if not 0 <= label_smoothing <= 1:
        raise InvalidError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    smoothing = label_smoothing if label_smoothing else None
    if target.dtype.is_floating_point:
        return _ops.cross_entropy_soft(input, target, weight, smoothing, kind)
    _need_classes(target)
    return _ops.cross_entropy(input, target, weight, smoothing, kind, ignore_index)


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
             ignore_index: int = -100, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """-input[target] over the classes of dim 1, for log-probabilities. Shapes as cross_entropy."""
    _need("nll_loss_nd", input=input, target=target)
    _need_classes(target)
    return _ops.nll_loss(input, target, weight, _kind(reduction, size_average, reduce), ignore_index)


def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
                      size_average: Any = None, reduce: Any = None, reduction: str = "mean") -> Tensor:
    """mean over classes j != target of max(0, margin - input[target] + input[j]) ** p.

    Shapes: input [N, C] or [C]; target [N] or []; weight [C]."""
    kind = _kind(reduction, size_average, reduce)
    if p not in (1, 2):
        raise InvalidError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise InvalidError(f"weight must be one-dimensional, got shape {list(weight.shape)}")
    single = input.dim() == 1
    if single:
        input, target = input.unsqueeze(0), target.reshape(1)
    if input.dim() != 2 or target.dim() != 1 or input.shape[0] != target.shape[0]:
        raise InvalidError(f"inconsistent target size: expected one target for each of the rows of input, got input "
                           f"{list(input.shape)} and target {list(target.shape)}")
    classes = input.shape[1]
    own = input.gather(1, target.unsqueeze(1))
    loss = _ops.clamp(margin - own + input, 0, None)
    loss = loss if p == 1 else loss * loss
    if weight is not None:
        loss = loss * _ops.take(weight, target, 0).unsqueeze(1)
    other = arange(classes) != target.unsqueeze(1)
    loss = _ops.where(other, loss, 0).sum(1) / classes
    return _reduced(loss.reshape(()) if single else loss, kind)


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
                           reduction: str = "mean") -> Tensor:
    """sum over targets t and other classes j of max(0, 1 - input[t] + input[j]), divided by the number of classes.

    Shapes: both [N, C] or [C]. A row of target holds classes; those from the first -1 on do not count."""
    kind = _kind(reduction, size_average, reduce)
    if tuple(input.shape) != tuple(target.shape) or input.dim() not in (1, 2):
        raise InvalidError(f"inconsistent target size: {list(target.shape)} for input {list(input.shape)}")
    single = input.dim() == 1
    if single:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    rows, classes = input.shape
    place = arange(classes)
    first = _ops.where(target < 0, place, classes).min(1, keepdim=True).values
    counts = place < first
    chosen = target.clamp(min=0)
    taken = zeros(rows, classes, dtype=int64).scatter_add(1, chosen, counts.to(int64)) > 0
    gap = _ops.clamp(1 - input.gather(1, chosen).unsqueeze(2) + input.unsqueeze(1), 0, None)
    pairs = counts.unsqueeze(2) & ~taken.unsqueeze(1)
    loss = _ops.where(pairs, gap, 0).sum((1, 2)) / classes
    return _reduced(loss.reshape(()) if single else loss, kind)


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
                                reduce: Any = None, reduction: str = "mean") -> Tensor:
    """binary cross-entropy with logits, averaged over the last dim. Shapes: both [N, C] or [C]."""
    kind = _kind(reduction, size_average, reduce)
    loss = -(target * _ops.logsigmoid(input) + (1 - target) * _ops.logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.sum(-1) / input.shape[-1], kind)


# ---- of numbers ----

def mse_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
             weight: Tensor | None = None) -> Tensor:
    """(input - target) ** 2."""
    _need("mse_loss", input=input, target=target)
    kind = _kind(reduction, size_average, reduce)
    input, target = _paired(input, target)
    return _ops.mse_loss(input, target, kind) if weight is None else _weighted((input - target) ** 2, weight, kind)


def l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
            weight: Tensor | None = None) -> Tensor:
    """abs(input - target)."""
    _need("l1_loss", input=input, target=target)
    kind = _kind(reduction, size_average, reduce)
    input, target = _paired(input, target)
    return _ops.l1_loss(input, target, kind) if weight is None else _weighted((input - target).abs(), weight, kind)


def _weighted(loss: Tensor, weight: Tensor, kind: int) -> Tensor:
    if tuple(weight.shape) != tuple(loss.shape):
        raise InvalidError(f"Weights and input must have the same size, got {list(weight.shape)} and {list(loss.shape)}.")
    loss = loss * weight
    return loss.sum() / weight.sum() if kind == 1 else _reduced(loss, kind)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0,
               weight: Tensor | None = None) -> Tensor:
    """d * d / 2 where d = abs(input - target) is below delta, else delta * (d - delta / 2)."""
    _need("huber_loss", input=input, target=target)
    kind = _kind(reduction)
    if delta <= 0:
        raise InvalidError(f"huber_loss does not support non-positive values for delta, got {delta}")
    input, target = _paired(input, target)
    if weight is not None:
        return _weighted(_ops.huber_loss(input, target, delta, 0), weight, kind)
    return _ops.huber_loss(input, target, delta, kind)


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """d * d / (2 * beta) where d = abs(input - target) is below beta, else d - beta / 2."""
    _need("smooth_l1_loss", input=input, target=target)
    kind = _kind(reduction, size_average, reduce)
    if beta < 0:
        raise InvalidError(f"smooth_l1_loss does not support negative values for beta, got {beta}")
    input, target = _paired(input, target)
    return _ops.l1_loss(input, target, kind) if beta == 0 else _ops.smooth_l1_loss(input, target, beta, kind)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
                     size_average: Any = None, eps: float = 1e-8, reduce: Any = None,
                     reduction: str = "mean") -> Tensor:
    """exp(input) - target * input, or input - target * log(input + eps); full adds Stirling's approximation."""
    kind = _kind(reduction, size_average, reduce)
    loss = _ops.exp(input) - target * input if log_input else input - target * _ops.log(input + eps)
    if full:
        large = target > 1
        safe = _ops.where(large, target, 1)
        loss = loss + _ops.where(large, safe * _ops.log(safe) - safe + 0.5 * _ops.log(2 * math.pi * safe), 0)
    return _reduced(loss, kind)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:
    """(log(var) + (input - target) ** 2 / var) / 2 with var at least eps.

    var: a number, or a tensor of input's shape, or of that shape with the last dim 1 or missing."""
    if isinstance(var, (int, float)):
        if var < 0:
            raise InvalidError("var has negative entry/entries")
        var = ones_like(input) * var
    shape = tuple(input.shape)
    if tuple(var.shape) != shape:
        if shape[:-1] == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif shape[:-1] != tuple(var.shape)[:-1] or var.shape[-1] != 1:
            raise InvalidError(f"var is of incorrect size: {list(var.shape)} for input {list(shape)}")
    kind = _kind(reduction)
    known = var.detach()
    var = var + (_ops.clamp(known, eps, None) - known)  # the gradient goes through as if nothing was limited
    loss = 0.5 * (_ops.log(var) + (input - target) ** 2 / var)
    return _reduced(loss + 0.5 * math.log(2 * math.pi) if full else loss, kind)


# ---- of probabilities ----

def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     size_average: Any = None, reduce: Any = None, reduction: str = "mean",
                                     pos_weight: Tensor | None = None) -> Tensor:
    """-(pos_weight * target * log(sigmoid(input)) + (1 - target) * log(1 - sigmoid(input))), without overflow."""
    _need("binary_cross_entropy_with_logits", input=input, target=target)
    kind = _kind(reduction, size_average, reduce)
    if tuple(input.shape) != tuple(target.shape):
        raise InvalidError(f"Target size ({list(target.shape)}) must be the same as input size ({list(input.shape)})")
    if target.dtype is bool_:
        raise InvalidError("binary_cross_entropy_with_logits: the target is bool; cast it to the dtype of the input")
    return _ops.bce_with_logits(input, target, weight, pos_weight, kind)


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: Any = None,
                         reduce: Any = None, reduction: str = "mean") -> Tensor:
    """-(target * log(input) + (1 - target) * log(1 - input)), logarithms at least -100."""
    _need("binary_cross_entropy", input=input, target=target)
    kind = _kind(reduction, size_average, reduce)
    if tuple(input.shape) != tuple(target.shape):
        raise InvalidError(f"Using a target size ({list(target.shape)}) that is different to the input size "
                           f"({list(input.shape)}) is deprecated. Please ensure they have the same size.")
    if target.dtype is not input.dtype:
        raise InvalidError(f"binary_cross_entropy: Found dtype {target.dtype} but expected {input.dtype}")
    return _ops.bce(input, target, weight, kind)


def kl_div(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None, reduction: str = "mean",
           log_target: bool = False) -> Tensor:
    """target * (log(target) - input); log_target: target holds logarithms too. "batchmean" divides by the rows."""
    _need("kl_div", input=input, target=target)
    name = reduction_name(reduction, size_average, reduce)
    if name == "batchmean":
        loss = _ops.kl_div(input, target, 2, log_target)
        return loss / input.shape[0] if input.dim() else loss
    if name == "mean":
        warnings.warn("reduction: 'mean' divides the total loss by both the batch size and the support size. "
                      "'batchmean' divides only by the batch size, and aligns with the KL div math definition.",
                      stacklevel=2)
    return _ops.kl_div(input, target, _kind(name), log_target)


# ---- of margins ----

def soft_margin_loss(input: Tensor, target: Tensor, size_average: Any = None, reduce: Any = None,
                     reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target * input)), targets 1 or -1."""
    return _reduced(-_ops.logsigmoid(target * input), _kind(reduction, size_average, reduce))


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: Any = None,
                         reduce: Any = None, reduction: str = "mean") -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1."""
    kind = _kind(reduction, size_average, reduce)
    apart = _ops.where(target != 1, _ops.clamp(margin - input, 0, None), 0)
    return _reduced(apart + _ops.where(target != -1, input, 0), kind)


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None,
                        reduce: Any = None, reduction: str = "mean") -> Tensor:
    """max(0, -target * (input1 - input2) + margin), targets 1 or -1."""
    kind = _kind(reduction, size_average, reduce)
    if not input1.dim() == input2.dim() == target.dim():
        raise InvalidError(f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
                           f"{tuple(input1.shape)}, input2: {tuple(input2.shape)}, target: {tuple(target.shape)} ")
    return _reduced(_ops.clamp(-target * (input1 - input2) + margin, 0, None), kind)


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: Any = None,
                          reduce: Any = None, reduction: str = "mean") -> Tensor:
    """1 - cosine where target is 1, max(0, cosine - margin) where it is -1.

    Shapes: inputs [N, D] and target [N], or [D] and []."""
    kind = _kind(reduction, size_average, reduce)
    rank = target.dim()
    if rank > 1:
        raise InvalidError(f"0D or 1D target tensor expected, multi-target not supported (shape {list(target.shape)})")
    if input1.dim() != rank + 1 or input2.dim() != rank + 1:
        raise InvalidError(f"{rank}D target tensor expects {rank + 1}D input tensors, but found inputs with sizes "
                           f"{list(input1.shape)} and {list(input2.shape)}.")
    squares = ((input1 * input1).sum(-1) + 1e-12) * ((input2 * input2).sum(-1) + 1e-12)
    cosine = (input1 * input2).sum(-1) / _ops.sqrt(squares)
    apart = _ops.where(target == -1, _ops.clamp(cosine - margin, 0, None), 0)
    return _reduced(_ops.where(target == 1, 1 - cosine, 0) + apart, kind)


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2,
                        eps: float = 1e-6, swap: bool = False, size_average: Any = None, reduce: Any = None,
                        reduction: str = "mean") -> Tensor:
    """max(0, margin + distance(anchor, positive) - distance(anchor, negative)) with p-norms along the last dim.

    swap takes the smaller of the negative's distances to anchor and positive."""
    reduction = reduction_name(reduction, size_average, reduce)
    if margin <= 0:
        raise InvalidError(f"margin must be greater than 0, got {margin}")
    if not anchor.dim() == positive.dim() == negative.dim():
        raise InvalidError(f"The anchor, positive, and negative tensors are expected to have the same number of "
                           f"dimensions, but got: anchor {anchor.dim()}D, positive {positive.dim()}D, and negative "
                           f"{negative.dim()}D inputs")
    return triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function=lambda a, b: pairwise_distance(a, b, p, eps), margin=margin,
        swap=swap, reduction=reduction)


def triplet_margin_with_distance_loss(anchor: Tensor, positive: Tensor, negative: Tensor, *,
                                      distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
                                      margin: float = 1.0, swap: bool = False, reduction: str = "mean") -> Tensor:
    """triplet_margin_loss with a distance of one's own."""
    kind = _kind(reduction)
    if margin <= 0:
        raise InvalidError(f"margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _ops.minimum(far, distance(positive, negative))
    return _reduced(_ops.clamp(margin + near - far, 0, None), kind)
