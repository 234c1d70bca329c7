# SPDX-License-Identifier: Apache-2.0
"""weight_norm and spectral_norm as parametrizations."""
from __future__ import annotations

from typing import Any

from ... import _ops
from ..._creation import randn
from ..._functions import FUNCTIONS
from ..._tensor import Tensor, no_grad
from ..functional import normalize
from ..modules.module import Module
from . import parametrize


def _norm_except_dim(weight: Tensor, dim: int) -> Tensor:
    """The norm of each slice along dim, kept as a dim; -1: of the whole."""
    if dim == -1:
        return FUNCTIONS["norm"](weight)
    dims = tuple(d for d in range(weight.dim()) if d != dim % weight.dim())
    return _ops.sum(weight * weight, dims, True).sqrt() if dims else weight.abs()


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / _norm_except_dim(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return _norm_except_dim(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """weight = g * v / norm(v): original0 is g, the norms along dim, original1 is v, the directions."""
    return parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _SpectralNorm(Module):
    """Divides by an estimate of the largest singular value, made better by each use in training."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        rank = weight.dim()
        if not -rank <= dim < rank:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
        self.dim, self.eps, self.n_power_iterations = dim % rank, eps, n_power_iterations
        if rank > 1:
            matrix = self._matrix(weight.detach())
            rows, columns = matrix.shape
            self.register_buffer("_u", normalize(randn(rows, dtype=weight.dtype), dim=0, eps=eps))
            self.register_buffer("_v", normalize(randn(columns, dtype=weight.dtype), dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        order = [self.dim, *(d for d in range(weight.dim()) if d != self.dim)]
        return weight.permute(order).reshape(weight.shape[self.dim], -1)

    @no_grad
    def _iterate(self, matrix: Tensor, times: int) -> None:
        for _ in range(times):
            self._u = normalize(matrix @ self._v, dim=0, eps=self.eps)
            self._v = normalize(matrix.t() @ self._u, dim=0, eps=self.eps)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.dim() == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        return weight / (self._u * (matrix @ self._v)).sum()

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
                  dim: int | None = None) -> Module:
    """Divides the weight by its largest singular value, estimated by power iteration."""
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))
