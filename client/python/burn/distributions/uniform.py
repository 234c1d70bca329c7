# SPDX-License-Identifier: Apache-2.0
"""The uniform distribution."""
from __future__ import annotations

from typing import Any

from .._core import InvalidError
from .._creation import rand
from .._dtype import Size
from .._tensor import Tensor, no_grad
from ..optim.optimizer import tracing
from . import constraints
from .distribution import Distribution
from .utils import floats


class Uniform(Distribution):
    """Numbers from low up to, but without, high."""

    arg_constraints = {"low": constraints.dependent, "high": constraints.dependent}
    has_rsample = True

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = floats(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args and not tracing():
            with no_grad():
                if not bool((self.low < self.high).all()):
                    raise InvalidError("Uniform is not defined when low>= high")

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return self.high * float("nan")

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low) ** 2 / 12

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / 12 ** 0.5

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self.low + rand(self._extended_shape(sample_shape), dtype=self.low.dtype) * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        inside = (self.low <= value) & (self.high > value)
        return inside.to(self.low.dtype).log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return ((value - self.low) / (self.high - self.low)).clamp(0, 1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()
