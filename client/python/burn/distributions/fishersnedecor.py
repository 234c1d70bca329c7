# SPDX-License-Identifier: Apache-2.0
"""The F distribution."""
from __future__ import annotations

import math
from typing import Any

from .._dtype import Size, finfo
from .._random import standard_gamma
from .._tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import floats


class FisherSnedecor(Distribution):
    """Ratios of two chi-squared numbers by their degrees of freedom. Sampling waits for these."""

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = floats(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return (self.df2 / (self.df2 - 2)).masked_fill(self.df2 <= 2, math.nan)

    @property
    def mode(self) -> Tensor:
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return found.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        a, b = self.df1, self.df2
        found = 2 * b ** 2 * (a + b - 2) / (a * (b - 2) ** 2 * (b - 4))
        return found.masked_fill(b <= 4, math.nan)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape, tiny = self._extended_shape(sample_shape), finfo(self.df1.dtype).tiny
        above, below = (standard_gamma((df / 2).expand(shape)) / (df / 2) for df in (self.df1, self.df2))
        return (above / below.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        a, b, ratio = self.df1 / 2, self.df2 / 2, self.df1 / self.df2
        share = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return share + a * ratio.log() + (a - 1) * value.log() - (a + b) * (ratio * value).log1p()
