# SPDX-License-Identifier: Apache-2.0
"""Successes before several failures."""
from __future__ import annotations

from typing import Any

from .._core import InvalidError
from .. import _ops
from .._dtype import Size
from .._random import poisson, standard_gamma
from .._tensor import Tensor, no_grad
from . import constraints
from .bernoulli import Trial
from .distribution import Distribution
from .utils import floats


class NegativeBinomial(Trial):
    """How many trials succeed, with probability probs, before total_count fail. Sampling waits for the parameters."""

    arg_constraints = {"total_count": constraints.greater_than_eq(0),
                       "probs": constraints.half_open_interval(0.0, 1.0), "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise InvalidError("Either `probs` or `logits` must be specified, but not both.")
        name, value = ("probs", probs) if logits is None else ("logits", logits)
        value, count = floats(value, total_count)
        vars(self)[name], self.total_count = value, count.to(value.dtype)
        Distribution.__init__(self, value.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / _ops.sigmoid(-self.logits)

    @no_grad()
    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return poisson(standard_gamma(self.total_count.expand(shape)) * self.logits.exp())

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        n = self.total_count
        shares = (n + value).lgamma() - (1 + value).lgamma() - n.lgamma()
        shares = shares.masked_fill(n + value == 0, 0)
        return n * _ops.logsigmoid(-self.logits) + value * _ops.logsigmoid(self.logits) + shares
