# SPDX-License-Identifier: Apache-2.0
"""Counts of several trials with several results."""
from __future__ import annotations

from typing import Any

from .._core import UnsupportedError
from .. import _ops
from .._creation import full, ones_like, zeros
from .._dtype import Size
from .._tensor import Tensor, no_grad
from . import constraints
from .categorical import Categorical
from .distribution import Distribution


class Multinomial(Distribution):
    """How often each of several results comes in total_count trials."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, total_count: int = 1, probs: Tensor | None = None, logits: Tensor | None = None,
                 validate_args: bool | None = None) -> None:
        if not isinstance(total_count, int):
            raise UnsupportedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args)

    def _expanded(self, source: Any) -> None:
        self._categorical = source._categorical.expand(self._batch_shape)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """Their logarithms."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Any:
        """The shape of probs."""
        return self._categorical.param_shape

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    @no_grad()
    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = Size(tuple(sample_shape))
        drawn = self._categorical.sample(Size((self.total_count,)) + shape)
        drawn = drawn.permute(*range(1, drawn.dim()), 0)
        counts = zeros(self._extended_shape(shape), dtype=self.probs.dtype)
        return counts.scatter_add(-1, drawn, ones_like(drawn, dtype=self.probs.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits = self.logits.masked_fill((value == 0) & self.logits.isinf(), 0)
        return (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1) + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        from .binomial import Binomial
        n = full((), float(self.total_count), dtype=self.probs.dtype)
        cross = self._categorical.entropy() * self.total_count - (n + 1).lgamma()
        each = Binomial(self.total_count, probs=self.probs, validate_args=False)
        values = _ops.arange(1, 1, self.total_count, self.probs.dtype).reshape(-1, *[1] * self.probs.dim())
        weights = each.log_prob(values).exp()
        return cross + (weights * (values + 1).lgamma()).sum((0, -1))

    def __repr__(self) -> str:
        return f"Multinomial(total_count: {self.total_count}, probs: {tuple(self.param_shape)})"
