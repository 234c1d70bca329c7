# SPDX-License-Identifier: Apache-2.0
"""The von Mises distribution."""
from __future__ import annotations

import math
from typing import Any

from .._dtype import Size
from .._random import von_mises
from .._tensor import Tensor, no_grad
from ..special import i0e, i1e
from . import constraints
from .distribution import Distribution
from .utils import floats


class VonMises(Distribution):
    """Angles around loc, the nearer the greater the concentration is. Sampling waits for the parameters."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = floats(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance."""
        return 1 - i1e(self.concentration) / i0e(self.concentration)

    @no_grad()
    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return von_mises(self.loc.expand(shape), self.concentration.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        k = self.concentration
        return k * ((value - self.loc).cos() - 1) - math.log(2 * math.pi) - i0e(k).log()
