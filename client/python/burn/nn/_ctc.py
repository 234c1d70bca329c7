# SPDX-License-Identifier: Apache-2.0
"""Connectionist temporal classification: the likelihood of label sequences under all alignments."""
from __future__ import annotations

from typing import Any

from .._core import InvalidError
from .. import _ops
from .._creation import arange, full, tensor as make_tensor
from .._functions import cat, stack
from .._tensor import Tensor

__all__ = [
    "ctc_loss",
]

_NONE = -1e30  # the logarithm of no probability: finite, so that gradients stay numbers


def _numbers(lengths: Any) -> list[int]:
    if isinstance(lengths, Tensor):
        lengths = lengths.reshape(-1).tolist()
    return [int(n) for n in ((lengths,) if isinstance(lengths, int) else lengths)]


def _rows(targets: Tensor, lengths: list[int]) -> Tensor:
    """Targets as [N, longest], from that form or from all of them one after another."""
    longest = max(lengths, default=0)
    if targets.dim() == 2:
        if targets.shape[0] != len(lengths) or targets.shape[1] < longest:
            raise InvalidError(f"Expected tensor of at least {longest} targets for each of {len(lengths)} rows, got "
                               f"shape {list(targets.shape)}")
        return targets[:, :longest]
    if targets.dim() != 1 or targets.shape[0] < sum(lengths):
        raise InvalidError(f"Expected at least {sum(lengths)} targets, the sum of target_lengths, got shape "
                           f"{list(targets.shape)}")
    places, start = [], 0
    for length in lengths:
        places += [start + min(k, max(length - 1, 0)) for k in range(longest)]
        start += length
    return targets.index_select(0, make_tensor(places)).reshape(len(lengths), longest) if places else targets.reshape(
        len(lengths), 0)


def _shifted(alpha: Tensor, by: int) -> Tensor:
    return _ops.pad(alpha[:, :alpha.shape[1] - by], _NONE, (0, by), (0, 0))


def _log_sum(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    top = _ops.maximum(_ops.maximum(a, b), c).detach()
    return _ops.log(_ops.exp(a - top) + _ops.exp(b - top) + _ops.exp(c - top)) + top


def _negative_log_likelihood(log_probs: Tensor, labels: Tensor, inputs: list[int], lengths: list[int],
                             blank: int) -> Tensor:
    """One number a row. log_probs [T, N, C], labels [N, S]."""
    steps, batch, _ = log_probs.shape
    count = labels.shape[1]
    blanks = full((batch, 1), blank, dtype=labels.dtype)
    between = stack([blanks.expand(batch, count), labels], 2).reshape(batch, 2 * count)
    path = cat([between, blanks], 1)  # blank, label, blank, ..., label, blank
    width = 2 * count + 1
    skips = path != blank
    if width > 2:
        skips = skips & cat([full((batch, 2), True), path[:, 2:] != path[:, :-2]], 1)
    seen = _ops.clamp(log_probs.gather(2, path.unsqueeze(0).expand(steps, batch, width)), _NONE, None).unbind(0)
    place = arange(width)
    alive = place <= 2 * make_tensor(lengths).unsqueeze(1)
    alpha = _ops.where((place < 2) & alive, seen[0], _NONE)
    ends = make_tensor(inputs).unsqueeze(1)
    for step in range(1, steps):
        both = _shifted(alpha, 2) if width > 2 else full((batch, width), _NONE, dtype=alpha.dtype)
        after = _log_sum(alpha, _shifted(alpha, 1), _ops.where(skips, both, _NONE)) + seen[step]
        alpha = _ops.where(ends > step, after, alpha)
    last = make_tensor([[2 * n, max(2 * n - 1, 0)] for n in lengths])
    final = alpha.gather(1, last)
    second = _ops.where(make_tensor([n > 0 for n in lengths]), final[:, 1], _NONE)
    return -_log_sum(final[:, 0], second, second + _NONE)


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0,
             reduction: str = "mean", zero_infinity: bool = False) -> Tensor:
    """-log of the probability of targets, summed over all alignments with blanks.

    Shapes: log_probs [T, N, C] (or [T, C]), of log_softmax; targets [N, S], or all one after another; lengths [N].
    The mean divides each row by its target's length first. zero_infinity gives 0 where no alignment is possible.
    Errors: RuntimeError for lengths that do not fit, ValueError for an unknown reduction."""
    if reduction not in ("none", "mean", "sum"):
        raise InvalidError(f"{reduction} is not a valid value for reduction")
    single = log_probs.dim() == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.reshape(1, -1)
    steps, batch, classes = log_probs.shape
    inputs, lengths = _numbers(input_lengths), _numbers(target_lengths)
    if len(inputs) != batch or len(lengths) != batch:
        raise InvalidError(f"input_lengths and target_lengths must be of size batch_size {batch}, got {len(inputs)} and "
                           f"{len(lengths)}")
    if not 0 <= blank < classes:
        raise InvalidError(f"blank must be in label range 0 to {classes - 1}, got {blank}")
    if max(inputs, default=0) > steps:
        raise InvalidError(f"Expected input_lengths to have value at most {steps}, but got value {max(inputs)}")
    if min(inputs + lengths, default=0) < 0:
        raise InvalidError("input_lengths and target_lengths must not be negative")
    loss = _negative_log_likelihood(log_probs, _rows(targets, lengths), inputs, lengths, blank)
    valid = (arange(steps).unsqueeze(1) < make_tensor(inputs)).unsqueeze(2)
    mass = _ops.where(valid, _ops.exp(log_probs), 0).sum((0, 2))
    loss = loss + (mass - mass.detach())  # as PyTorch, the gradient is that of what log_softmax was taken of
    impossible = loss > -_NONE / 10
    loss = _ops.where(impossible, 0.0 if zero_infinity else float("inf"), loss)
    if reduction == "mean":
        return (loss / make_tensor(lengths).clamp(min=1)).mean()
    return loss.sum() if reduction == "sum" else loss.reshape(()) if single else loss
