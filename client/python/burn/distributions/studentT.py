# SPDX-License-Identifier: Apache-2.0
"""Student's t distribution."""
from __future__ import annotations

import math
from typing import Any

from .._creation import randn
from .._dtype import Size
from .._random import standard_gamma
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import floats


class StudentT(Distribution):
    """loc + scale * t of df degrees of freedom. Sampling waits for df."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = floats(df, loc, scale)
        super().__init__(self.df.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        found = self.scale ** 2 * self.df / (self.df - 2)
        return found.masked_fill(self.df <= 2, math.inf).masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        square = 2 * standard_gamma((self.df / 2).expand(shape))
        return self.loc + self.scale * randn(shape, dtype=self.df.dtype) * (square / self.df).rsqrt()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        y = (value - self.loc) / self.scale
        share = (self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + (0.5 * self.df).lgamma()
                 - (0.5 * (self.df + 1)).lgamma())
        return -0.5 * (self.df + 1) * (y ** 2 / self.df).log1p() - share

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + beta
