# SPDX-License-Identifier: Apache-2.0
"""weight_norm, spectral_norm and orthogonal as parametrizations."""
from __future__ import annotations

from typing import Any

from ..._core import InvalidError, RangeError, UnsupportedError
from ... import _ops
from ..._creation import eye, randn, zeros, zeros_like
from ..._functions import FUNCTIONS, cat
from ..._tensor import Tensor, no_grad
from ...linalg import matrix_exp, qr, solve
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
            raise RangeError(f"Dimension out of range (expected to be in range of [-{rank}, {rank - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise InvalidError(f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}")
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
        raise InvalidError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return parametrize.register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def _signed_qr(A: Tensor) -> Tensor:
    """The orthogonal factor whose triangle has a positive diagonal."""
    Q, R = qr(A)
    return Q * R.diagonal(0, -2, -1).sign().unsqueeze(-2)


def _reflections(X: Tensor) -> Tensor:
    """The product of the Householder reflections whose vectors stand below the diagonal of X, times the signs on it."""
    rows, columns = X.shape[-2:]
    below = X.tril(-1)
    share = 2.0 / (1.0 + (below * below).sum(-2))
    Q = eye(rows, columns, dtype=X.dtype)
    ones = eye(rows, columns, dtype=X.dtype)
    for k in reversed(range(columns)):
        v = (below[..., k] + ones[..., k]).unsqueeze(-1)
        Q = Q - share[..., k, None, None] * (v @ (v.mT @ Q))
    return Q * X.diagonal(0, -2, -1).trunc().unsqueeze(-2)


def _vectors_of(Q: Tensor) -> Tensor:
    """What _reflections makes Q of."""
    import numpy as np
    values = Q.detach().numpy().astype(np.float64)
    found = np.empty_like(values)
    for place in np.ndindex(values.shape[:-2]):
        raw, share = np.linalg.qr(values[place], mode="raw")
        A = raw.T.copy()
        signs = np.sign(np.diagonal(A)) * np.where(share == 0, -1, 1)
        A[np.arange(len(signs)), np.arange(len(signs))] = signs
        found[place] = A
    return Q.new_tensor(found)


class _Orthogonal(Module):
    """A matrix with orthonormal columns (rows, if it has more columns) as a function of one without constraints."""

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        self.shape, self.orthogonal_map = tuple(weight.shape), orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)
        self.trivialized = use_trivialization

    def forward(self, X: Tensor) -> Tensor:
        turned = X.shape[-2] < X.shape[-1]
        X = X.mT if turned else X
        rows, columns = X.shape[-2:]
        if self.orthogonal_map == "householder":
            Q = _reflections(X)
        else:
            X = X.tril()
            if rows != columns:
                X = cat([X, zeros(*X.shape[:-1], rows - columns, dtype=X.dtype)], -1)
            A, one = X - X.mT, eye(rows, dtype=X.dtype)
            Q = matrix_exp(A) if self.orthogonal_map == "matrix_exp" else solve(one - 0.5 * A, one + 0.5 * A)
            Q = Q[..., :columns]
        if self.trivialized and self.base is not None:
            Q = self.base @ Q
        return Q.mT if turned else Q

    @no_grad()
    def right_inverse(self, Q: Tensor) -> Tensor:
        if tuple(Q.shape) != self.shape:
            raise InvalidError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape "
                               f"{tuple(Q.shape)}.")
        start = Q
        turned = Q.shape[-2] < Q.shape[-1]
        Q = Q.mT if turned else Q
        rows, columns = Q.shape[-2:]
        if not self.trivialized:
            if self.orthogonal_map != "householder":
                raise UnsupportedError("It is not possible to assign to the matrix exponential or the Cayley "
                                       "parametrizations when use_trivialization=False.")
            A = _vectors_of(Q)
            return A.mT if turned else A
        if rows != columns:
            Q = cat([Q, randn(*Q.shape[:-1], rows - columns, dtype=Q.dtype)], -1)
        self.base = _signed_qr(Q)
        one = eye(*start.shape[-2:], dtype=start.dtype)
        return zeros_like(start) - one


def orthogonal(module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
               use_trivialization: bool = True) -> Module:
    """Keeps a matrix orthogonal, by "matrix_exp", "cayley" or "householder". Square ones go by matrix_exp unless a map is
    named, others by householder. With use_trivialization it is a base, which assigning sets, times a matrix near 1."""
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise InvalidError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise InvalidError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions.")
    if orthogonal_map is None:
        orthogonal_map = "matrix_exp" if weight.shape[-2] == weight.shape[-1] else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise InvalidError(f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}')
    made = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return parametrize.register_parametrization(module, name, made, unsafe=True)
