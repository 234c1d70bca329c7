# SPDX-License-Identifier: Apache-2.0
"""The Pareto distribution."""
from __future__ import annotations

from typing import Any

from .._dtype import Size
from .._random import standard_exponential
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import floats


class Pareto(Distribution):
    """scale * exp(e / alpha) for exponentially distributed e."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    has_rsample = True

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = floats(scale, alpha)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale ** 2 * a / ((a - 1) ** 2 * (a - 2))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        drawn = standard_exponential(self._extended_shape(sample_shape), self.scale.dtype, None)
        return self.scale * (drawn / self.alpha).exp()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return self.alpha.log() + self.alpha * (self.scale / value).log() - value.log()

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return (1 - (self.scale / value) ** self.alpha).clamp(min=0)

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (1 - value) ** (-1 / self.alpha)

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + 1 / self.alpha)
