# SPDX-License-Identifier: Apache-2.0
"""Bernoulli trials made continuous."""
from __future__ import annotations

from typing import Any

from .. import _ops
from .._creation import rand, tensor
from .._dtype import Size
from .._tensor import Tensor
from . import constraints
from .bernoulli import Trial
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import clamp_probs


class LogitRelaxedBernoulli(Trial):
    """Logits of RelaxedBernoulli."""

    support = constraints.real
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        drawn = clamp_probs(rand(self._extended_shape(sample_shape), dtype=self._param.dtype))
        return (drawn.log() - (-drawn).log1p() + self.logits) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        apart = self.logits - value * self.temperature
        heat = self.temperature if isinstance(self.temperature, Tensor) else tensor(float(self.temperature))
        return heat.log() + apart - 2 * _ops.softplus(apart, 1.0, 20.0)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers between 0 and 1 that are nearly those of Bernoulli at a low temperature, with gradients."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(self, temperature: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits, validate_args)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """How far from 0 and 1 the samples lie."""
        return self.base_dist.temperature

    @property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return self.base_dist.probs

    @property
    def logits(self) -> Tensor:
        """log(p / (1 - p))."""
        return self.base_dist.logits
