# SPDX-License-Identifier: Apache-2.0
"""The normal distribution folded at 0."""
from __future__ import annotations

import math
from typing import Any

from .._creation import randn
from .._dtype import Size
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import floats


class HalfNormal(Distribution):
    """Sizes of normal numbers of mean 0 and standard deviation scale."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = floats(scale)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return self.scale * 0

    @property
    def variance(self) -> Tensor:
        return self.scale ** 2 * (1 - 2 / math.pi)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return (randn(self._extended_shape(sample_shape), dtype=self.scale.dtype) * self.scale).abs()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        found = -(value ** 2) / (2 * self.scale ** 2) - self.scale.log() + 0.5 * math.log(2 / math.pi)
        return found.masked_fill(value < 0, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return (value / (self.scale * math.sqrt(2))).erf()

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * value.erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 * math.log(math.pi / 2) + 0.5 + self.scale.log()
