# SPDX-License-Identifier: Apache-2.0
"""Choices made continuous."""
from __future__ import annotations

from typing import Any

from .._creation import tensor
from .._dtype import Size
from .._random import standard_exponential
from .._tensor import Tensor
from . import constraints
from .categorical import Categorical
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform


class ExpRelaxedCategorical(Categorical):
    """Logarithms of RelaxedOneHotCategorical."""

    support = constraints.real_vector  # type: ignore[assignment]
    has_rsample, has_enumerate_support = True, False

    def __init__(self, temperature: Any, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        self.temperature = temperature
        super().__init__(probs, logits, validate_args)
        self._event_shape = self.param_shape[-1:]

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        return self.rsample(sample_shape).detach()

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        drawn = standard_exponential(self._extended_shape(sample_shape), self._param.dtype, None)
        return ((self.logits - drawn.log()) / self.temperature).log_softmax(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        count = self._event_shape[0]
        heat = self.temperature if isinstance(self.temperature, Tensor) else tensor(float(self.temperature))
        share = self.logits.new_full((), float(count)).lgamma() + heat.log() * (count - 1)
        return (self.logits - value * self.temperature).log_softmax(-1).sum(-1) + share


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors of shares that are nearly those of OneHotCategorical at a low temperature, with gradients."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, temperature: Any, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        """How far from one-hot vectors the samples lie."""
        return self.base_dist.temperature

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self.base_dist.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self.base_dist.logits
