# SPDX-License-Identifier: Apache-2.0
"""One trial: 1 or 0."""
from __future__ import annotations

import math
from typing import Any

from .._core import InvalidError
from .. import _ops
from .._creation import bernoulli
from .._dtype import Size
from .._functions import FUNCTIONS
from .._tensor import Tensor, no_grad
from . import constraints
from .distribution import Distribution
from .utils import floats, lazy_property, logits_to_probs, probs_to_logits


class Trial(Distribution):
    """What has one probability of success, given as probs or as logits."""

    arg_constraints: Any = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise InvalidError("Either `probs` or `logits` must be specified, but not both.")
        name, value = ("probs", probs) if logits is None else ("logits", logits)
        (value,) = floats(value)
        vars(self)[name] = value
        super().__init__(value.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """The probability of 1."""
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self) -> Tensor:
        """log(p / (1 - p))."""
        return probs_to_logits(self.probs, is_binary=True)

    @property
    def _param(self) -> Tensor:
        return vars(self)["probs" if "probs" in vars(self) else "logits"]

    @property
    def param_shape(self) -> Any:
        """The shape of probs."""
        return self._param.shape


class Bernoulli(Trial):
    """1 with probability probs (or sigmoid(logits)), else 0."""

    support = constraints.boolean
    has_enumerate_support = True

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        found = (self.probs >= 0.5).to(self.probs.dtype)
        return found.masked_fill(self.probs == 0.5, math.nan)

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    @no_grad()
    def sample(self, sample_shape: Any = Size()) -> Tensor:
        return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = FUNCTIONS["broadcast_tensors"](self.logits, value)
        return -_ops.bce_with_logits(logits, value.to(logits.dtype), reduction=0)

    def entropy(self) -> Tensor:
        return _ops.bce_with_logits(self.logits, self.probs, reduction=0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = _ops.arange(0, 1, 2, self._param.dtype).reshape(-1, *[1] * len(self._batch_shape))
        return values.expand(2, *self._batch_shape) if expand else values
