# SPDX-License-Identifier: Apache-2.0
"""Mixtures of distributions of one kind."""
from __future__ import annotations

from typing import Any

from .._core import InvalidError
from .._dtype import Size
from .._tensor import Tensor, no_grad
from . import constraints
from .categorical import Categorical
from .distribution import Distribution


class MixtureSameFamily(Distribution):
    """A component of component_distribution, whose last batch dim counts them, chosen by mixture_distribution."""

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution,
                 validate_args: bool | None = None) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise InvalidError(" The Mixture distribution needs to be an instance of burn.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise InvalidError("The Component distribution need to be an instance of burn.distributions.Distribution")
        own, batch = tuple(mixture_distribution.batch_shape), tuple(component_distribution.batch_shape)
        for n, m in zip(reversed(own), reversed(batch[:-1])):
            if n != 1 and m != 1 and n != m:
                raise InvalidError(f"`mixture_distribution.batch_shape` ({own}) is not compatible with "
                                   f"`component_distribution.batch_shape` ({batch})")
        if mixture_distribution.param_shape[-1] != batch[-1]:
            raise InvalidError(f"`mixture_distribution component` ({mixture_distribution.param_shape[-1]}) does not equal "
                               f"`component_distribution.batch_shape[-1]` ({batch[-1]})")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        self._num_component = batch[-1]
        super().__init__(batch[:-1], component_distribution.event_shape, validate_args)

    def _expanded(self, source: Any) -> None:
        self._mixture_distribution = source._mixture_distribution.expand(self._batch_shape)
        self._component_distribution = source._component_distribution.expand(self._batch_shape + (self._num_component,))

    @property
    def mixture_distribution(self) -> Categorical:
        """What chooses a component."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components."""
        return self._component_distribution

    @constraints.dependent_property
    def support(self) -> Any:
        return self._component_distribution.support

    def _weights(self) -> Tensor:
        probs = self._mixture_distribution.probs
        return probs.reshape(*probs.shape, *[1] * len(self._event_shape))

    @property
    def mean(self) -> Tensor:
        return (self._weights() * self._component_distribution.mean).sum(-1 - len(self._event_shape))

    @property
    def variance(self) -> Tensor:
        dim, parts, weights = -1 - len(self._event_shape), self._component_distribution, self._weights()
        apart = parts.mean - self.mean.unsqueeze(dim)
        return (weights * (parts.variance + apart ** 2)).sum(dim)

    @no_grad()
    def sample(self, sample_shape: Any = Size()) -> Tensor:
        count = len(self._event_shape)
        chosen = self._mixture_distribution.expand(self._batch_shape).sample(sample_shape)
        drawn = self._component_distribution.sample(sample_shape)
        index = chosen.reshape(*chosen.shape, *[1] * (count + 1)).expand(*chosen.shape, 1, *self._event_shape)
        return drawn.gather(-1 - count, index).squeeze(-1 - count)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        parts = self._component_distribution.log_prob(value.unsqueeze(-1 - len(self._event_shape)))
        return (parts + self._mixture_distribution.logits.log_softmax(-1)).logsumexp(-1)

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return (self._component_distribution.cdf(value.unsqueeze(-1)) * self._mixture_distribution.probs).sum(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self._mixture_distribution},\n  {self._component_distribution})"
