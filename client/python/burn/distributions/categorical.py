# SPDX-License-Identifier: Apache-2.0
"""One of several."""
from __future__ import annotations

import math
from typing import Any

from .._core import InvalidError
from .. import _ops
from .._dtype import Size, finfo, int64
from .._random import drawn_indices
from .._tensor import Tensor, no_grad
from . import constraints
from .distribution import Distribution
from .utils import lazy_property, logits_to_probs, probs_to_logits


class Categorical(Distribution):
    """Indices by the weights in the last dim of probs, or by softmax(logits)."""

    arg_constraints: Any = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise InvalidError("Either `probs` or `logits` must be specified, but not both.")
        given: Any = logits if probs is None else probs
        name = "logits" if probs is None else "probs"
        if given.dim() < 1:
            raise InvalidError(f"`{name}` parameter must be at least one-dimensional.")
        if probs is None:
            self.logits = given - given.logsumexp(-1, True)
        else:
            self.probs = given / given.sum(-1, True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:  # type: ignore[no-redef]
        """The probabilities."""
        return logits_to_probs(self.logits)

    @lazy_property
    def logits(self) -> Tensor:  # type: ignore[no-redef]
        """Their logarithms."""
        return probs_to_logits(self.probs)

    @property
    def _param(self) -> Tensor:
        return vars(self)["probs" if "probs" in vars(self) else "logits"]

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def param_shape(self) -> Any:
        """The shape of probs."""
        return self._param.shape

    @property
    def mean(self) -> Tensor:
        return self._param[..., 0] * math.nan

    @property
    def mode(self) -> Tensor:
        return self._param.argmax(-1)

    @property
    def variance(self) -> Tensor:
        return self.mean

    @no_grad()
    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = tuple(sample_shape)
        drawn = drawn_indices(self.probs.reshape(-1, self._num_events), Size(shape).numel())
        return drawn.t().reshape(self._extended_shape(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        shape = _ops.add(value.detach() * 0, self.logits.detach()[..., 0] * 0).shape
        logits = self.logits.expand(tuple(shape) + (self._num_events,))
        return logits.gather(-1, value.to(int64).expand(shape).unsqueeze(-1)).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)  # log(0) * 0 is 0
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = _ops.arange(0, 1, self._num_events, int64).reshape(-1, *[1] * len(self._batch_shape))
        return values.expand(self._num_events, *self._batch_shape) if expand else values
