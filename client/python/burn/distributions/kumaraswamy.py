# SPDX-License-Identifier: Apache-2.0
"""The Kumaraswamy distribution."""
from __future__ import annotations

from typing import Any

from .._creation import rand
from .._dtype import Size, finfo
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .gumbel import EULER
from .utils import floats


class Kumaraswamy(Distribution):
    """Numbers x between 0 and 1 with (1 - x ** concentration1) ** concentration0 uniform."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        self.concentration1, self.concentration0 = floats(concentration1, concentration0)
        super().__init__(self.concentration1.shape, validate_args=validate_args)

    def _moment(self, n: int) -> Tensor:
        a, b = 1 + n / self.concentration1, self.concentration0
        return (a.lgamma() + b.lgamma() - (a + b).lgamma()).exp() * b

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        found = ((a - 1) / (a * b - 1)) ** (1 / a)
        return found.masked_fill((a < 1) | (b < 1), float("nan"))

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self._moment(1) ** 2

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        facts = finfo(self.concentration1.dtype)
        drawn = rand(self._extended_shape(sample_shape), dtype=self.concentration1.dtype).clamp(facts.tiny, 1 - facts.eps)
        return self.icdf(drawn)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        a, b = self.concentration1, self.concentration0
        return a.log() + b.log() + (a - 1) * value.log() + (b - 1) * (-(value ** a)).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return 1 - (1 - value ** self.concentration1) ** self.concentration0

    def icdf(self, value: Tensor) -> Tensor:
        return (1 - (1 - value) ** (1 / self.concentration0)) ** (1 / self.concentration1)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return (1 - 1 / b) + (1 - 1 / a) * ((b + 1).digamma() + EULER) - a.log() - b.log()
