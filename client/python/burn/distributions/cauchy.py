# SPDX-License-Identifier: Apache-2.0
"""The Cauchy distribution."""
from __future__ import annotations

import math
from typing import Any

from .._creation import rand
from .._dtype import Size
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import floats


class Cauchy(Distribution):
    """The Cauchy distribution around loc; half of it lies within scale."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = floats(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc * math.nan

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.loc * 0 + math.inf

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        drawn = rand(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + self.scale * (math.pi * (drawn - 0.5)).tan()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
