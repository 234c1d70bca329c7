# SPDX-License-Identifier: Apache-2.0
"""Normal vectors."""
from __future__ import annotations

import math
from typing import Any

from .._core import InvalidError
from .._creation import randn
from .._dtype import Size
from .._functions import FUNCTIONS
from .._tensor import Tensor
from ..linalg import cholesky, inv, solve_triangular
from . import constraints
from .distribution import Distribution
from .utils import lazy_property


class MultivariateNormal(Distribution):
    """Normal vectors of mean loc; one of covariance_matrix, its inverse precision_matrix, or scale_tril, a lower
    triangle L with covariance L @ L.mT. log_prob waits for the triangle."""

    arg_constraints: Any = {"loc": constraints.real_vector, "covariance_matrix": constraints.positive_definite,
                            "precision_matrix": constraints.positive_definite, "scale_tril": constraints.lower_cholesky}
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc: Tensor, covariance_matrix: Tensor | None = None, precision_matrix: Tensor | None = None,
                 scale_tril: Tensor | None = None, validate_args: bool | None = None) -> None:
        given = [(name, matrix) for name, matrix in (("covariance_matrix", covariance_matrix),
                                                     ("precision_matrix", precision_matrix),
                                                     ("scale_tril", scale_tril)) if matrix is not None]
        if loc.dim() < 1:
            raise InvalidError("loc must be at least one-dimensional.")
        if len(given) != 1:
            raise InvalidError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        name, matrix = given[0]
        if matrix.dim() < 2:
            raise InvalidError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")
        batch = FUNCTIONS["broadcast_shapes"](tuple(matrix.shape[:-2]), tuple(loc.shape[:-1]))
        vars(self)[name] = matrix.expand(tuple(batch) + tuple(matrix.shape[-2:]))
        self.loc = loc.expand(tuple(batch) + tuple(loc.shape[-1:]))
        super().__init__(batch, loc.shape[-1:], validate_args)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower triangle L with covariance L @ L.mT."""
        return cholesky(self.covariance_matrix)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance."""
        if "scale_tril" in vars(self):
            return self.scale_tril @ self.scale_tril.mT
        return inv(self.precision_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance."""
        return inv(self.covariance_matrix)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return (self.scale_tril ** 2).sum(-1)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        drawn = randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + (self.scale_tril @ drawn.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self) -> Tensor:
        return self.scale_tril.diagonal(0, -2, -1).log().sum(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        apart = (value - self.loc).unsqueeze(-1)
        square = (solve_triangular(self.scale_tril, apart, upper=False) ** 2).sum((-2, -1))
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + square) - self._half_log_det()

    def entropy(self) -> Tensor:
        return 0.5 * self._event_shape[0] * (1 + math.log(2 * math.pi)) + self._half_log_det()
