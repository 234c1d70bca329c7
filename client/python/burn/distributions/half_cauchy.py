# SPDX-License-Identifier: Apache-2.0
"""The Cauchy distribution folded at 0."""
from __future__ import annotations

import math
from typing import Any

from .._creation import rand
from .._dtype import Size
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import floats


class HalfCauchy(Distribution):
    """Sizes of Cauchy-distributed numbers around 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = floats(scale)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.inf

    @property
    def mode(self) -> Tensor:
        return self.scale * 0

    @property
    def variance(self) -> Tensor:
        return self.scale * math.inf

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self.scale.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        found = math.log(2 / math.pi) - self.scale.log() - ((value / self.scale) ** 2).log1p()
        return found.masked_fill(value < 0, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return (value / self.scale).atan() * (2 / math.pi)

    def icdf(self, value: Tensor) -> Tensor:
        return (value * (math.pi / 2)).tan() * self.scale

    def entropy(self) -> Tensor:
        return math.log(2 * math.pi) + self.scale.log()
