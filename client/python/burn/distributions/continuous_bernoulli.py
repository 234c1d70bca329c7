# SPDX-License-Identifier: Apache-2.0
"""The continuous Bernoulli distribution."""
from __future__ import annotations

import math
from typing import Any

from .. import _ops
from .._creation import rand
from .._dtype import Size
from .._functions import FUNCTIONS
from .._tensor import Tensor
from . import constraints
from .bernoulli import Trial
from .utils import clamp_probs


class ContinuousBernoulli(Trial):
    """Numbers x between 0 and 1 whose density goes with p ** x * (1 - p) ** (1 - x). Within lims of 1/2, where the usual
    formulas divide 0 by 0, the first terms of a series are taken."""

    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, probs: Any = None, logits: Any = None, lims: tuple[float, float] = (0.499, 0.501),
                 validate_args: bool | None = None) -> None:
        self._lims = lims
        super().__init__(probs, logits, validate_args)
        if probs is not None:
            self.probs = clamp_probs(self.probs)

    def _parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """Where p is far from 1/2; p, or the lower limit where it is not; (p - 1/2) ** 2."""
        p = self.probs
        far = (p <= self._lims[0]) | (p > self._lims[1])
        return far, _ops.where(far, p, self._lims[0]), (p - 0.5) ** 2

    def _log_share(self) -> Tensor:
        """The logarithm of what makes the integral 1."""
        far, p, x = self._parts()
        found = ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log()
        return _ops.where(far, found, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self) -> Tensor:
        far, p, x = self._parts()
        found = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        return _ops.where(far, found, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x) * (self.probs - 0.5))

    @property
    def variance(self) -> Tensor:
        far, p, x = self._parts()
        found = p * (p - 1) / (1 - 2 * p) ** 2 + 1 / ((-p).log1p() - p.log()) ** 2
        return _ops.where(far, found, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self.icdf(rand(self._extended_shape(sample_shape), dtype=self._param.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = FUNCTIONS["broadcast_tensors"](self.logits, value)
        return self._log_share() - _ops.bce_with_logits(logits, value, reduction=0)

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        far, p, _ = self._parts()
        found = (p ** value * (1 - p) ** (1 - value) + p - 1) / (2 * p - 1)
        return _ops.where(far, found, value).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        far, p, _ = self._parts()
        found = ((-p + value * (2 * p - 1)).log1p() - (-p).log1p()) / (p.log() - (-p).log1p())
        return _ops.where(far, found, value)

    def entropy(self) -> Tensor:
        low, high = (-self.probs).log1p(), self.probs.log()
        return self.mean * (low - high) - self._log_share() - low
