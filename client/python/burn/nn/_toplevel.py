# SPDX-License-Identifier: Apache-2.0
"""Functions of networks as torch itself has them: other orders of arguments; reductions are numbers, 0 (none) unless named."""
from __future__ import annotations

from typing import Any, Sequence

from .._core import InvalidError
from .._tensor import Tensor, assign
from . import functional as F
from ._grid import grid_sample
from ._recurrent import gru_step, lstm_step, rnn_step

_REDUCTIONS = ("none", "mean", "sum")


def _reduction(number: Any) -> str:
    if isinstance(number, str):
        return number
    if number not in (0, 1, 2):
        raise InvalidError(f"reduction is 0 (none), 1 (mean) or 2 (sum), not {number!r}")
    return _REDUCTIONS[number]


def dropout(input: Tensor, p: float = 0.5, train: bool = True) -> Tensor:
    """functional.dropout."""
    return F.dropout(input, p, train)


def embedding(weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False,
              sparse: bool = False) -> Tensor:
    """functional.embedding with the weight first; padding_idx -1 is none."""
    return F.embedding(indices, weight, None if padding_idx == -1 else padding_idx, scale_grad_by_freq=scale_grad_by_freq)


def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
               running_var: Tensor | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool = False) -> Tensor:
    """functional.batch_norm with weight and bias before the statistics."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                  running_var: Tensor | None, use_input_stats: bool, momentum: float, eps: float,
                  cudnn_enabled: bool = False) -> Tensor:
    """functional.instance_norm with weight and bias before the statistics."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
               cudnn_enabled: bool = False) -> Tensor:
    """functional.group_norm."""
    return F.group_norm(input, num_groups, weight, bias, eps)


def layer_norm(input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5, cudnn_enable: bool = False) -> Tensor:
    """functional.layer_norm."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def kl_div(input: Tensor, target: Tensor, reduction: Any = 0, *, log_target: bool = False) -> Tensor:
    """functional.kl_div with the reduction as a number: 0 none, 1 mean, 2 sum."""
    return F.kl_div(input, target, reduction=_reduction(reduction), log_target=log_target)


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None,
                                     pos_weight: Tensor | None = None, reduction: Any = 0) -> Tensor:
    """functional.binary_cross_entropy_with_logits with the reduction as a number."""
    return F.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=_reduction(reduction))


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: Any) -> Tensor:
    """functional.poisson_nll_loss with the reduction as a number."""
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_reduction(reduction))


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: Any = 0) -> Tensor:
    """functional.hinge_embedding_loss with the reduction as a number."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: Any = 0) -> Tensor:
    """functional.margin_ranking_loss with the reduction as a number."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: Any = 0) -> Tensor:
    """functional.cosine_embedding_loss with the reduction as a number."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0,
                        eps: float = 1e-6, swap: bool = False, reduction: Any = 0) -> Tensor:
    """functional.triplet_margin_loss with the reduction as a number."""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction))


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: Any = 0,
             zero_infinity: bool = False) -> Tensor:
    """functional.ctc_loss with the reduction as a number."""
    return F.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity)


def constant_pad_nd(input: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """functional.pad with a constant."""
    return F.pad(input, list(pad), "constant", value)


def lstm_cell(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
              b_hh: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """The next (h, c) of an LSTM."""
    return lstm_step(input, hx[0], hx[1], w_ih, w_hh, b_ih, b_hh)


def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
             b_hh: Tensor | None = None) -> Tensor:
    """The next h of a GRU."""
    return gru_step(input, hx, w_ih, w_hh, b_ih, b_hh)


def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
                  b_hh: Tensor | None = None) -> Tensor:
    """The next h of a plain recurrent net with tanh."""
    return rnn_step(input, hx, w_ih, w_hh, b_ih, b_hh, False)


def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None,
                  b_hh: Tensor | None = None) -> Tensor:
    """The next h of a plain recurrent net with relu."""
    return rnn_step(input, hx, w_ih, w_hh, b_ih, b_hh, True)


def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Tensor:
    """functional.grid_sample with the modes as numbers: 0 bilinear, 1 nearest; 0 zeros, 1 border, 2 reflection."""
    return grid_sample(input, grid, ("bilinear", "nearest")[interpolation_mode], ("zeros", "border", "reflection")[padding_mode],
                       align_corners)


grid_sampler_2d = grid_sampler


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """functional.affine_grid."""
    return F.affine_grid(theta, size, align_corners)


def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1,
                            ceil_mode: bool = False) -> tuple[Tensor, Tensor]:
    """functional.max_pool1d with its indices."""
    return F.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """functional.adaptive_max_pool1d with its indices."""
    return F.adaptive_max_pool1d(input, output_size, True)


def feature_dropout(input: Tensor, p: float = 0.5, train: bool = True) -> Tensor:
    """Sets whole channels to 0."""
    return F.dropout2d(input, p, train)


def alpha_dropout(input: Tensor, p: float = 0.5, train: bool = False) -> Tensor:
    """functional.alpha_dropout."""
    return F.alpha_dropout(input, p, train)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, train: bool = False) -> Tensor:
    """functional.feature_alpha_dropout."""
    return F.feature_alpha_dropout(input, p, train)


def dropout_(input: Tensor, p: float = 0.5, train: bool = True) -> Tensor:
    """dropout in place."""
    return assign(input, F.dropout(input, p, train))


def feature_dropout_(input: Tensor, p: float = 0.5, train: bool = True) -> Tensor:
    """feature_dropout in place."""
    return assign(input, F.dropout2d(input, p, train))


def alpha_dropout_(input: Tensor, p: float = 0.5, train: bool = False) -> Tensor:
    """alpha_dropout in place."""
    return assign(input, F.alpha_dropout(input, p, train))


def feature_alpha_dropout_(input: Tensor, p: float = 0.5, train: bool = False) -> Tensor:
    """feature_alpha_dropout in place."""
    return assign(input, F.feature_alpha_dropout(input, p, train))
