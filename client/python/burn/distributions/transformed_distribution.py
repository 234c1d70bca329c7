# SPDX-License-Identifier: Apache-2.0
"""Distributions of transformed samples."""
from __future__ import annotations

from typing import Any, Sequence

from .._core import InvalidError
from .._dtype import Size
from .._tensor import Tensor, no_grad
from . import constraints
from .distribution import Distribution
from .independent import Independent
from .transforms import ComposeTransform, Transform
from .utils import sum_rightmost


class TransformedDistribution(Distribution):
    """What the samples of base_distribution are after the transforms, the first one first."""

    def __init__(self, base_distribution: Distribution, transforms: Transform | Sequence[Transform],
                 validate_args: bool | None = None) -> None:
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(t, Transform) for t in self.transforms):
            raise InvalidError("transforms must be a Transform or a list of Transforms")
        shape = base_distribution.batch_shape + base_distribution.event_shape
        base_dims = len(base_distribution.event_shape)
        whole = ComposeTransform(self.transforms)
        if len(shape) < whole.domain.event_dim:
            raise InvalidError(f"base_distribution needs to have shape with size at least {whole.domain.event_dim}, but got "
                               f"{tuple(shape)}.")
        made = tuple(whole.forward_shape(tuple(shape)))
        base = base_distribution.expand(tuple(whole.inverse_shape(made))[:len(shape) - base_dims])
        more = whole.domain.event_dim - base_dims
        self.base_dist: Any = Independent(base, more) if more > 0 else base
        dims = whole.codomain.event_dim + max(base_dims - whole.domain.event_dim, 0)
        cut = len(made) - dims
        super().__init__(made[:cut], made[cut:], validate_args)

    def _expanded(self, source: Any) -> None:
        whole = ComposeTransform(self.transforms)
        shape = tuple(whole.inverse_shape(tuple(self._batch_shape + self._event_shape)))
        self.base_dist = source.base_dist.expand(shape[:len(shape) - len(source.base_dist.event_shape)])

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        return self.base_dist.has_rsample

    @constraints.dependent_property
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        own = self.transforms[-1].codomain
        more = len(self._event_shape) - own.event_dim
        return constraints.independent(own, more) if more > 0 else own

    @no_grad()
    def sample(self, sample_shape: Any = Size()) -> Tensor:
        x = self.base_dist.sample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        dims, total, y = len(self._event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform._back(y)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            total = total - sum_rightmost(transform.log_abs_det_jacobian(x, y), dims - transform.domain.event_dim)
            y = x
        return total + sum_rightmost(self.base_dist.log_prob(y), dims - len(self.base_dist.event_shape))

    def _monotone(self, value: Tensor) -> Tensor:
        """1 - value where the transforms turn the order around."""
        sign: Any = 1
        for transform in self.transforms:
            sign = sign * transform.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        for transform in reversed(self.transforms):
            value = transform._back(value)
        return self._monotone(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        value = self.base_dist.icdf(self._monotone(value))
        for transform in self.transforms:
            value = transform(value)
        return value
