# SPDX-License-Identifier: Apache-2.0
"""Successes of several trials."""
from __future__ import annotations

from typing import Any

from .._core import InvalidError, UnsupportedError
from .. import _ops
from .._dtype import Size
from .._functions import FUNCTIONS
from .._random import binomial
from .._tensor import Tensor, no_grad
from . import constraints
from .bernoulli import Trial
from .distribution import Distribution
from .utils import floats


class Binomial(Trial):
    """How many of total_count trials succeed with probability probs. Sampling waits for the probabilities."""

    arg_constraints = {"total_count": constraints.nonnegative_integer, "probs": constraints.unit_interval,
                       "logits": constraints.real}
    has_enumerate_support = True

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise InvalidError("Either `probs` or `logits` must be specified, but not both.")
        name, value = ("probs", probs) if logits is None else ("logits", logits)
        value, count = floats(value, total_count)
        vars(self)[name], self.total_count = value, count.to(value.dtype)
        Distribution.__init__(self, value.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().minimum(self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    @no_grad()
    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        n, logits = self.total_count, self.logits
        share = n * logits.clamp(min=0) + n * (-logits.abs()).exp().log1p() - (n + 1).lgamma()
        return value * logits - (value + 1).lgamma() - (n - value + 1).lgamma() - share

    def _counts(self) -> int:
        count = int(self.total_count.max())
        if bool((self.total_count != count).any()):
            raise UnsupportedError("Inhomogeneous total count not supported by `enumerate_support`.")
        return count

    def entropy(self) -> Tensor:
        self._counts()
        found = self.log_prob(self.enumerate_support(False))
        return -(found.exp() * found).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._counts() + 1
        values = _ops.arange(0, 1, count, self._param.dtype).reshape(-1, *[1] * len(self._batch_shape))
        return values.expand(count, *self._batch_shape) if expand else values
