# SPDX-License-Identifier: Apache-2.0
"""A softmax over many classes of which few are frequent."""
from __future__ import annotations

from collections import namedtuple
from typing import Any, Sequence

from ..._core import InvalidError
from ..._functions import cat
from ..._tensor import Tensor
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

ASMoutput = namedtuple("ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """log_softmax over n_classes, sorted by frequency. Those below cutoffs[0] are in the head, beside one entry for each
    cluster of the others; cluster i has in_features / div_value ** (i + 1) features.

    Shapes: input [N, in_features] and target [N], or [in_features] and []. Gives (output, loss): the log-probability of each
    target, and minus their mean."""

    def __init__(self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
                 head_bias: bool = False, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise InvalidError("cutoffs should be a sequence of length larger than 0")
        if cutoffs != sorted(set(cutoffs)) or min(cutoffs) <= 0 or max(cutoffs) > n_classes - 1 or any(
                int(c) != c for c in cutoffs):
            raise InvalidError("cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where "
                               "each value is between 1 and n_classes-1")
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*cutoffs, n_classes]
        self.shortlist_size, self.n_clusters = cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            width = int(in_features // div_value ** (i + 1))
            self.tail.append(Sequential(Linear(in_features, width, False, device, dtype),
                                        Linear(width, high - low, False, device, dtype)))

    def reset_parameters(self) -> None:
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes: [N, n_classes]."""
        head = F.log_softmax(self.head(input), dim=-1)
        parts = [head[..., :self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            own = head[..., self.shortlist_size + i].unsqueeze(-1)
            parts.append(F.log_softmax(cluster(input), dim=-1) + own)
        return cat(parts, -1)

    def forward(self, input: Tensor, target: Tensor) -> Any:
        single = target.dim() == 0
        if target.dim() > 1:
            raise InvalidError("0D or 1D target tensor expected, multi-target not supported")
        if input.dim() != (1 if single else 2):
            raise InvalidError(f"{'0D' if single else '1D'} target tensor expects {'1D' if single else '2D'} input tensors, "
                               f"but found inputs with sizes {tuple(input.shape)}.")
        if not single and input.shape[0] != target.shape[0]:
            raise InvalidError("Input and target should have the same size in the batch dimension.")
        found = self.log_prob(input).gather(-1, target.unsqueeze(-1)).squeeze(-1)
        return ASMoutput(found, -found.mean())

    def predict(self, input: Tensor) -> Tensor:
        """The most likely class of each row."""
        return self.log_prob(input).argmax(-1)
