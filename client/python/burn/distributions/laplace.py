# SPDX-License-Identifier: Apache-2.0
"""The Laplace distribution."""
from __future__ import annotations

import math
from typing import Any

from .._creation import rand
from .._dtype import Size, finfo
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import floats


class Laplace(Distribution):
    """Two exponential tails of the given scale at both sides of loc."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = floats(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale ** 2

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        drawn = rand(self._extended_shape(sample_shape), dtype=self.loc.dtype) * 2 - 1
        size = drawn.abs().clamp(max=1 - finfo(drawn.dtype).eps)
        return self.loc - self.scale * drawn.sign() * (-size).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        apart = value - self.loc
        return 0.5 - 0.5 * apart.sign() * (-apart.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
