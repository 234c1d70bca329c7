# SPDX-License-Identifier: Apache-2.0
"""The Dirichlet distribution."""
from __future__ import annotations

from typing import Any

from .._core import InvalidError
from .._dtype import Size, finfo
from .._random import standard_gamma
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution


class Dirichlet(Distribution):
    """Vectors of shares with the sum 1. Sampling waits for the concentration."""

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise InvalidError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        a = self.concentration
        left = (a - 1).clamp(min=0)
        mode = left / left.sum(-1, True)
        largest = (a == a.amax(-1, True)).to(a.dtype)
        return (largest / largest.sum(-1, True)).where((a < 1).all(-1, True), mode)

    @property
    def variance(self) -> Tensor:
        a, total = self.concentration, self.concentration.sum(-1, True)
        return a * (total - a) / (total ** 2 * (total + 1))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        drawn = standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        facts = finfo(drawn.dtype)
        return (drawn / drawn.sum(-1, True)).clamp(facts.tiny, 1 - facts.eps)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        a = self.concentration
        return (a - 1).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        a, total, count = self.concentration, self.concentration.sum(-1), self.concentration.shape[-1]
        return (a.lgamma().sum(-1) - total.lgamma() - (count - total) * total.digamma()
                - ((a - 1) * a.digamma()).sum(-1))
