# SPDX-License-Identifier: Apache-2.0
"""The Gumbel distribution."""
from __future__ import annotations

import math
from typing import Any

from .._dtype import Size
from .._random import standard_exponential
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import floats

EULER = 0.57721566490153286061


class Gumbel(Distribution):
    """The limit of the largest of many numbers."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = floats(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * EULER

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def stddev(self) -> Tensor:
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev ** 2

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        drawn = standard_exponential(self._extended_shape(sample_shape), self.loc.dtype, None)
        return self.loc - self.scale * drawn.log()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return (-((self.loc - value) / self.scale).exp()).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + EULER)
