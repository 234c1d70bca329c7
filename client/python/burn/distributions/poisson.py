# SPDX-License-Identifier: Apache-2.0
"""The Poisson distribution."""
from __future__ import annotations

from typing import Any

from .._dtype import Size
from .._random import poisson
from .._tensor import Tensor, no_grad
from . import constraints
from .distribution import Distribution
from .utils import floats


class Poisson(Distribution):
    """Counts of independent events of the given rate. Sampling waits for the rate."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = floats(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    @no_grad()
    def sample(self, sample_shape: Any = Size()) -> Tensor:
        return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return value.xlogy(self.rate) - self.rate - (value + 1).lgamma()
