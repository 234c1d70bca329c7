# SPDX-License-Identifier: Apache-2.0
"""Look-up of vectors by index: embedding and embedding_bag."""
from __future__ import annotations

from .._core import InvalidError, UnsupportedError
from .. import _ops
from .._creation import arange, ones, zeros
from .._dtype import bool_, int64
from .._functions import FUNCTIONS
from .._tensor import Tensor, assign, no_grad

__all__ = [
    "embedding", "embedding_bag",
]


def _wrapped(padding_idx: int | None, rows: int) -> int | None:
    if padding_idx is None:
        return None
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"Padding_idx must be within num_embeddings: {padding_idx} is outside the {rows} rows")
    return padding_idx % rows


def _renormalise(weight: Tensor, index: Tensor, max_norm: float, norm_type: float) -> None:
    """Scales down, in place, those looked-up rows whose norm is above max_norm."""
    with no_grad():
        table, flat = weight.detach(), index.reshape(-1).to(int64)
        used = zeros(table.shape[0], dtype=int64).scatter_add(0, flat, ones(flat.shape[0], dtype=int64)) > 0
        norms = FUNCTIONS["norm"](table, norm_type, 1, True)
        scale = _ops.where(used.unsqueeze(1) & (norms > max_norm), max_norm / (norms + 1e-7), 1)
        assign(weight, table * scale)


def _counted(rows: Tensor, index: Tensor, count: int) -> Tensor:
    """rows with each one's gradient divided by how often its index occurs."""
    flat = index.reshape(-1).to(int64)
    counts = zeros(count, dtype=rows.dtype).scatter_add(0, flat, ones(flat.shape[0], dtype=rows.dtype))
    share = 1 / _ops.take(counts, flat, 0).reshape(tuple(index.shape) + (1,))
    return rows.detach() + (rows - rows.detach()) * share


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:
    """Rows of weight by index; the row padding_idx gets no gradient.

    Shapes: input [...] int64 or int32, weight [rows, width] -> [..., width]. max_norm first scales down, in weight
    itself, the looked-up rows that are longer. sparse changes nothing: gradients are dense.
    Errors: IndexError for an index out of range, RuntimeError for indices that are not integers."""
    padding = _wrapped(padding_idx, weight.shape[0])
    if max_norm is not None:
        _renormalise(weight, input, max_norm, norm_type)
    rows = _ops.embedding(weight, input, -1 if padding is None else padding)
    return _counted(rows, input, weight.shape[0]) if scale_grad_by_freq else rows


def _bag_membership(input: Tensor, offsets: Tensor, include_last: bool) -> Tensor:
    """[bags, indices]: whether an index belongs to a bag."""
    place = arange(input.shape[0])
    starts = offsets.to(int64)
    if include_last:
        return (place >= starts[:-1].unsqueeze(1)) & (place < starts[1:].unsqueeze(1))
    begun = place >= starts.unsqueeze(1)
    later = FUNCTIONS["cat"]([begun[1:], zeros(1, input.shape[0], dtype=bool_)]) if starts.shape[0] else begun
    return begun & ~later


def embedding_bag(input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None,
                  norm_type: float = 2, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Tensor:
    """The sum, mean or max of the rows of each bag; entries equal to padding_idx do not count, an empty bag is 0.

    Shapes: input [bags, n], or [n] with offsets [bags] where the bags start; weight [rows, width] -> [bags, width]."""
    if mode not in ("sum", "mean", "max"):
        raise InvalidError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None:
        if mode != "sum":
            raise UnsupportedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only "
                                   f"supported for mode='sum' (got mode='{mode}'). Please open a feature request.")
        if tuple(per_sample_weights.shape) != tuple(input.shape):
            raise InvalidError(f"embedding_bag: If per_sample_weights ({list(per_sample_weights.shape)}) is not None, "
                               f"then it must have the same shape as the input ({list(input.shape)})")
    padding = _wrapped(padding_idx, weight.shape[0])
    if input.dim() == 2:
        if offsets is not None:
            raise InvalidError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of "
                               "fixed length sequences.")
    elif input.dim() == 1:
        if offsets is None:
            raise InvalidError("offsets has to be a 1D Tensor but got None")
        if offsets.dim() != 1:
            raise InvalidError("offsets has to be a 1D Tensor")
    else:
        raise InvalidError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")
    rows = embedding(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(-1)
    member = ones(tuple(input.shape), dtype=bool_) if offsets is None else _bag_membership(
        input, offsets, include_last_offset)
    if padding is not None:
        member = member & (input != padding)
    if offsets is not None:
        rows = rows.unsqueeze(0)
    member = member.unsqueeze(-1)
    if mode == "max":
        best = _ops.max(_ops.where(member, rows, float("-inf")), (1,)) if rows.shape[1] else zeros(member.shape[0], 1)
        return _ops.where(member.any(1), best, 0)
    total = _ops.where(member, rows, 0).sum(1)
    return total if mode == "sum" else total / member.sum(1).clamp(min=1)
