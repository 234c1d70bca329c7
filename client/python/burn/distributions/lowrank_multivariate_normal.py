# SPDX-License-Identifier: Apache-2.0
"""Normal vectors whose covariance is a product of few columns and a diagonal."""
from __future__ import annotations

from typing import Any

from .._core import InvalidError
from .._creation import randn
from .._dtype import Size
from .._functions import FUNCTIONS
from .._tensor import Tensor
from ..linalg import cholesky, inv
from . import constraints
from .distribution import Distribution
from .multivariate_normal import MultivariateNormal
from .utils import lazy_property


class LowRankMultivariateNormal(MultivariateNormal):
    """Normal vectors of covariance cov_factor @ cov_factor.mT + diag(cov_diag). log_prob waits for its triangle."""

    arg_constraints = {"loc": constraints.real_vector, "cov_factor": constraints.independent(constraints.real, 2),
                       "cov_diag": constraints.independent(constraints.positive, 1)}

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise InvalidError("loc must be at least one-dimensional.")
        if cov_factor.dim() < 2:
            raise InvalidError("cov_factor must be at least two-dimensional, with optional leading batch dimensions")
        size = loc.shape[-1:]
        if cov_factor.shape[-2:-1] != size:
            raise InvalidError(f"cov_factor must be a batch of matrices with shape {size[0]} x m")
        if cov_diag.shape[-1:] != size:
            raise InvalidError(f"cov_diag must be a batch of vectors with shape {tuple(size)}")
        batch = tuple(FUNCTIONS["broadcast_shapes"](tuple(loc.shape[:-1]), tuple(cov_factor.shape[:-2]),
                                                    tuple(cov_diag.shape[:-1])))
        self.loc, self.cov_diag = loc.expand(batch + tuple(size)), cov_diag.expand(batch + tuple(size))
        self.cov_factor = cov_factor.expand(batch + tuple(cov_factor.shape[-2:]))
        Distribution.__init__(self, batch, size, validate_args)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        return self.cov_factor @ self.cov_factor.mT + self.cov_diag.diag_embed()

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower triangle L with covariance L @ L.mT."""
        return cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return inv(self.covariance_matrix)

    @property
    def variance(self) -> Tensor:
        return (self.cov_factor ** 2).sum(-1) + self.cov_diag

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        few = randn(*shape[:-1], self.cov_factor.shape[-1], 1, dtype=self.loc.dtype)
        own = randn(shape, dtype=self.loc.dtype)
        return self.loc + (self.cov_factor @ few).squeeze(-1) + self.cov_diag.sqrt() * own
