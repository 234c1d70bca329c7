# SPDX-License-Identifier: Apache-2.0
"""The Weibull distribution."""
from __future__ import annotations

from typing import Any

from .._dtype import Size
from .._random import standard_exponential
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .gumbel import EULER
from .utils import floats


class Weibull(Distribution):
    """scale * e ** (1 / concentration) for exponentially distributed e."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = floats(scale, concentration)
        super().__init__(self.scale.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.scale * (1 + 1 / self.concentration).lgamma().exp()

    @property
    def mode(self) -> Tensor:
        k = self.concentration
        return self.scale * (((k - 1) / k).clamp(min=0)) ** (1 / k)

    @property
    def variance(self) -> Tensor:
        second, first = (1 + 2 / self.concentration).lgamma(), (1 + 1 / self.concentration).lgamma()
        return self.scale ** 2 * (second.exp() - (2 * first).exp())

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        drawn = standard_exponential(self._extended_shape(sample_shape), self.scale.dtype, None)
        return self.scale * drawn ** (1 / self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        k, share = self.concentration, value / self.scale
        return k.log() - self.scale.log() + (k - 1) * share.log() - share ** k

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return 1 - (-((value / self.scale) ** self.concentration)).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-(-value).log1p()) ** (1 / self.concentration)

    def entropy(self) -> Tensor:
        return EULER * (1 - 1 / self.concentration) + (self.scale / self.concentration).log() + 1
