# SPDX-License-Identifier: Apache-2.0
"""Failures before the first success."""
from __future__ import annotations

from typing import Any

from .. import _ops
from .._creation import rand
from .._dtype import Size, finfo
from .._tensor import Tensor, no_grad
from . import constraints
from .bernoulli import Trial


class Geometric(Trial):
    """How many trials fail before the first success of probability probs."""

    support = constraints.nonnegative_integer

    @property
    def mean(self) -> Tensor:
        return 1 / self.probs - 1

    @property
    def mode(self) -> Tensor:
        return self.probs * 0

    @property
    def variance(self) -> Tensor:
        return (1 / self.probs - 1) / self.probs

    @no_grad()
    def sample(self, sample_shape: Any = Size()) -> Tensor:
        drawn = rand(self._extended_shape(sample_shape), dtype=self.probs.dtype).clamp(min=finfo(self.probs.dtype).tiny)
        return (drawn.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        sure = (self.probs == 1) & (value == 0)
        return value * (-self.probs.masked_fill(sure, 0)).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return _ops.bce_with_logits(self.logits, self.probs, reduction=0) / self.probs
