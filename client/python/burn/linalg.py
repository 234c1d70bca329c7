# SPDX-License-Identifier: Apache-2.0
"""Linear algebra with PyTorch's names: norms, products, and factorisations by LAPACK.

Factorisations read the matrix from the daemon and factor it with NumPy's LAPACK; a few Newton steps on the device then
make the result a function of the matrix, right to its second derivative (of svd: the first). So these functions wait, and
gradients flow as through any other op."""
from __future__ import annotations

import math
from typing import Any, Callable

from . import _core, _ops
from ._core import InvalidError
from ._creation import eye
from ._dtype import bfloat16, bool_, float16, float32, float64, int32, int64
from ._pointwise import FUNCTIONS, method
from ._products import cross as _cross, multi_dot  # noqa: F401
from ._reduce import axes
from ._shape import matmul, transpose, wrap_dim
from ._tensor import Tensor, no_grad
from .return_types import named

_signed = named("linalg_slogdet", "sign", "logabsdet")
_factors = named("linalg_qr", "Q", "R")
_eigen = named("linalg_eigh", "eigenvalues", "eigenvectors")


class LinAlgError(InvalidError):
    """A matrix that has no inverse or factorisation of the wanted kind."""


def cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The vector product along a dim of size 3."""
    return _cross(input, other, dim)


# ---- norms ----


def vector_norm(x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of the elements over dims (all by default) as of one vector."""
    x = x if dtype is None else x.to(dtype)
    if not x.dtype.is_floating_point:
        raise InvalidError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {x.dtype}")
    if x.dtype in (float16, bfloat16):  # sums of powers have no room there, though their roots may
        return vector_norm(x.to(float32), ord, dim, keepdim).to(x.dtype)
    dims, size = axes(dim), _ops.abs(x)
    if ord == 0:
        return _ops.sum(_ops.where(x != 0, 1, _ops.sign(x)), dims, keepdim)  # the gradient is 0
    if ord == math.inf:
        return _ops.max(size, dims, keepdim)
    if ord == -math.inf:
        return _ops.min(size, dims, keepdim)
    if ord == 1:
        return _ops.sum(size, dims, keepdim)
    total = _ops.sum(_ops.square(x) if ord == 2 else size ** ord, dims, keepdim)
    some = total != 0
    safe = _ops.where(some, total, 1)
    return _ops.where(some, _ops.sqrt(safe) if ord == 2 else safe ** (1.0 / ord), _ops.detach(total) ** (1.0 / ord))


def matrix_norm(A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The norm of matrices in two dims: "fro"; "nuc", 2, -2 of singular values; 1, -1, inf, -inf of sums of columns or rows."""
    A = A if dtype is None else A.to(dtype)
    if A.dim() < 2:
        raise InvalidError(f"linalg.matrix_norm: The input tensor A must have at least 2 dimensions. Got {A.dim()}")
    if len(dim) != 2:
        raise InvalidError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {list(dim)}")
    rows, columns = (wrap_dim(d, A.dim()) for d in dim)
    if rows == columns:
        raise InvalidError("linalg.matrix_norm: dims must be different")
    if ord == "fro":
        return vector_norm(A, 2, (rows, columns), keepdim)
    if ord in (2, -2, "nuc"):
        values = svdvals(FUNCTIONS["movedim"](A, (rows, columns), (-2, -1)))
        out = _ops.sum(values, (-1,)) if ord == "nuc" else values[..., 0 if ord > 0 else -1]
        return out if not keepdim else out.unsqueeze(min(rows, columns)).unsqueeze(max(rows, columns))
    if ord not in (1, -1, math.inf, -math.inf):
        raise InvalidError(f"linalg.matrix_norm: Order {ord} not supported; one of 'fro', 'nuc', 2, -2, 1, -1, inf, -inf is")
    summed, over = (rows, columns) if abs(ord) == 1 else (columns, rows)
    totals = _ops.sum(_ops.abs(A), (summed,), True)
    out = (_ops.max if ord > 0 else _ops.min)(totals, (over,), True)
    return out if keepdim else out.squeeze((rows, columns))


def norm(A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """vector_norm, or matrix_norm where an order is given for two dims."""
    if ord is not None and (dim is not None and not isinstance(dim, int) and len(dim) == 2
                            or dim is None and A.dim() == 2):
        return matrix_norm(A, ord, (-2, -1) if dim is None else dim, keepdim, dtype=dtype)
    if isinstance(ord, str):
        raise InvalidError(f"linalg.norm: order {ord!r} is for matrices")
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The sum of products along dim."""
    return _ops.sum(x * y, (dim,))


def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices as a last dim."""
    return FUNCTIONS["diagonal"](A, offset, dim1, dim2)


# ---- factorisations ----


def _check(A: Tensor, what: str, square: bool = True) -> None:
    if A.dim() < 2:
        raise InvalidError(f"linalg.{what}: The input tensor A must have at least 2 dimensions.")
    if square and A.shape[-1] != A.shape[-2]:
        raise InvalidError(f"linalg.{what}: A must be batches of square matrices, but they are {A.shape[-2]} by "
                           f"{A.shape[-1]} matrices")
    if A.dtype not in (float32, float64):
        raise InvalidError(f"linalg.{what}: Expected a floating point tensor as input, float32 or float64. Got {A.dtype}")


def _factored(A: Tensor, what: str, factor: Callable) -> Any:
    """What LAPACK makes of the values of A in float64, as tensors of its dtype."""
    import numpy as np
    with no_grad():
        values = A.detach().numpy().astype(np.float64)
        try:
            made = factor(np.linalg, values)
        except np.linalg.LinAlgError as error:
            raise LinAlgError(f"linalg.{what}: {error}") from None
        parts = made if isinstance(made, tuple) else (made,)
        tensors = [_core.tensor(np.asarray(part)).to(A.dtype) for part in parts]
    return tensors if isinstance(made, tuple) else tensors[0]


def _minus_one(A: Tensor) -> Tensor:
    """A - 1 on the diagonal."""
    return A - eye(A.shape[-1], dtype=A.dtype)


def _improved(inverse: Tensor, A: Tensor) -> Tensor:
    """A Newton step: an inverse good to twice as many digits, and a function of A to one more derivative."""
    return inverse - matmul(inverse, _minus_one(matmul(A, inverse)))


def inv(A: Tensor) -> Tensor:
    """The inverse of square matrices."""
    _check(A, "inv")
    if A.numel() == 0:
        return A.clone()
    start = _factored(A, "inv", lambda lapack, values: lapack.inv(values))
    return _improved(_improved(start, A), A) if A.requires_grad else start


def solve(A: Tensor, B: Tensor, *, left: bool = True) -> Tensor:
    """X with A @ X = B (X @ A = B with left=False) for square matrices; a B of one dim less holds vectors."""
    _check(A, "solve")
    if B.dtype is not A.dtype:
        raise InvalidError(f"linalg.solve: Expected A and B to have the same dtype, but found A of type {A.dtype} and B "
                           f"of type {B.dtype} instead")
    if not left:
        return transpose(solve(transpose(A, -2, -1), transpose(B, -2, -1)), -2, -1)
    vectors = B.dim() == 1 or (B.dim() == A.dim() - 1 and tuple(B.shape) == tuple(A.shape[:-1]))
    if B.shape[-1 if vectors else -2] != A.shape[-1]:
        raise InvalidError(f"linalg.solve: Incompatible shapes of A and B for the equation AX = B "
                           f"({A.shape[-2]}x{A.shape[-1]} and {list(B.shape)})")
    right = B.unsqueeze(-1) if vectors else B
    if A.numel() == 0:
        return B.clone()
    start = _factored(A, "solve", lambda lapack, values: lapack.inv(values))
    inverse = _improved(start, A) if A.requires_grad else start
    X = matmul(inverse, right)
    X = X + matmul(inverse, right - matmul(A, X))
    return X.squeeze(-1) if vectors else X


def solve_triangular(A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Tensor:
    """solve with a triangle of A; the rest of A does not count."""
    _check(A, "solve_triangular")
    part = _ops.triu(A, 0) if upper else _ops.tril(A, 0)
    if unitriangular:
        strict = _ops.triu(A, 1) if upper else _ops.tril(A, -1)
        part = strict + eye(A.shape[-1], dtype=A.dtype)
    return solve(part, B, left=left)


def slogdet(A: Tensor) -> Any:
    """(sign, logarithm of the size) of determinants."""
    _check(A, "slogdet")
    sign, size = _factored(A, "slogdet", lambda lapack, values: tuple(lapack.slogdet(values)))
    if A.requires_grad and A.numel():
        start = _factored(A, "slogdet", lambda lapack, values: lapack.inv(values))
        off = _minus_one(matmul(start, A))
        off = off - _ops.detach(off)  # zeros that know how they change
        sign = sign + _ops.sum(off * 0, (-2, -1))  # it does not change, but belongs to the matrix
        size = size + (diagonal(off) - diagonal(matmul(off, off)) * 0.5).sum(-1)
    return _signed(sign, size)


def det(A: Tensor) -> Tensor:
    """Determinants."""
    _check(A, "det")
    if not A.requires_grad or A.numel() == 0:
        return _factored(A, "det", lambda lapack, values: lapack.det(values))
    sign, size = slogdet(A)
    return sign * _ops.exp(size)


def _lower(D: Tensor) -> Tensor:
    """The lower triangle with half of the diagonal."""
    return _ops.tril(D, 0) - FUNCTIONS["diag_embed"](diagonal(D) * 0.5)


def cholesky(A: Tensor, *, upper: bool = False) -> Tensor:
    """Lower triangles L with A = L @ L.mT (upper ones with upper=True) of symmetric positive definite matrices."""
    _check(A, "cholesky")
    if A.numel() == 0:
        return A.clone()
    L, back = _factored(A, "cholesky", lambda lapack, values: (lapack.cholesky(values),
                                                               lapack.inv(lapack.cholesky(values))))
    if A.requires_grad:
        S = (A + transpose(A, -2, -1)) * 0.5
        off = matmul(matmul(back, S), transpose(back, -2, -1))
        P = _lower(off - _ops.detach(off))
        L = L + matmul(L, P - _lower(matmul(P, transpose(P, -2, -1))))
    return transpose(L, -2, -1) if upper else L


def qr(A: Tensor, mode: str = "reduced") -> Any:
    """(Q, R): orthogonal columns and an upper triangle with A = Q @ R, for matrices of full rank."""
    _check(A, "qr", square=False)
    if mode not in ("reduced", "complete", "r"):
        raise InvalidError(f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or "
                           "'complete'")
    if A.requires_grad and (mode == "complete" and A.shape[-2] > A.shape[-1] or A.shape[-2] < A.shape[-1]):
        raise InvalidError("linalg.qr: gradients need mode='reduced' and at least as many rows as columns")
    Q, R = _factored(A, "qr", lambda lapack, values: tuple(lapack.qr(values, "complete" if mode == "complete" else "reduced")))
    if A.requires_grad and A.numel():
        back = _factored(R, "qr", lambda lapack, values: lapack.inv(values))
        Y = matmul(A, back)
        Y = Q + (Y - _ops.detach(Y))
        off = matmul(transpose(Y, -2, -1), Y)
        P = _lower(off - _ops.detach(off))
        U = transpose(P - _lower(matmul(P, transpose(P, -2, -1))), -2, -1)
        R = R + matmul(U, R)
        Q = Y - matmul(Y, U - matmul(U, U))
    return _factors(Q[..., :0] if mode == "r" else Q, R)


# ---- triangles of any square matrix ----


def _eliminated(A: Any) -> tuple[Any, Any]:
    """(LU in one matrix, the order of rows) of matrices, by elimination with the largest pivot of each column."""
    import numpy as np
    A = A.copy()
    rows, columns = A.shape[-2:]
    flat = A.reshape((-1, rows, columns))
    order = np.tile(np.arange(rows), (len(flat), 1))
    every = np.arange(len(flat))
    for k in range(min(rows, columns)):
        best = k + np.argmax(np.abs(flat[:, k:, k]), axis=1)
        for part in (flat, order):
            part[every, k], part[every, best] = part[every, best].copy(), part[every, k].copy()
        pivot = flat[:, k, k]
        flat[:, k + 1:, k] /= np.where(pivot == 0, 1, pivot)[:, None]
        flat[:, k + 1:, k + 1:] -= flat[:, k + 1:, k, None] * flat[:, None, k, k + 1:]
    return flat.reshape(A.shape), order.reshape(A.shape[:-1])


def _swaps(order: Any) -> Any:
    """The exchanges, counted from 1, that bring rows into an order: LAPACK's pivots."""
    import numpy as np
    flat = order.reshape((-1, order.shape[-1]))
    pivots = np.empty_like(flat)
    for at, wanted in enumerate(flat):
        now = list(range(len(wanted)))
        for k, row in enumerate(wanted):
            place = now.index(row)
            now[k], now[place] = now[place], now[k]
            pivots[at, k] = place + 1
    return pivots.reshape(order.shape)


_lu = named("linalg_lu", "P", "L", "U")
_lu_factor = named("linalg_lu_factor", "LU", "pivots")


def lu(A: Tensor, *, pivot: bool = True) -> Any:
    """(P, L, U): a permutation, a lower triangle of unit diagonal and an upper one with A = P @ L @ U."""
    import numpy as np
    _check(A, "lu", square=False)
    if not pivot:
        raise InvalidError("linalg.lu: only pivot=True is offered")
    rows, columns = A.shape[-2:]
    least = min(rows, columns)
    if A.requires_grad and rows != columns:
        raise InvalidError("linalg.lu: gradients need square matrices")

    def factor(lapack: Any, values: Any) -> tuple:
        both, order = _eliminated(values)
        L = np.tril(both[..., :least], -1) + np.eye(rows, least)
        return np.swapaxes(np.eye(rows)[order], -1, -2), L, np.triu(both[..., :least, :])
    P, L, U = _factored(A, "lu", factor)
    if A.requires_grad and A.numel():
        back = [_factored(part, "lu", lambda lapack, values: lapack.inv(values)) for part in (L, U)]
        off = matmul(matmul(back[0], matmul(transpose(P, -2, -1), A)), back[1])
        off = off - _ops.detach(off)  # zeros that know how they change
        rest = off - matmul(_ops.tril(off, -1), _ops.triu(off, 0))
        L, U = L + matmul(L, _ops.tril(rest, -1)), U + matmul(_ops.triu(rest, 0), U)
    return _lu(P, L, U)


def lu_factor(A: Tensor, *, pivot: bool = True) -> Any:
    """(LU, pivots): both triangles of lu() in one matrix, and the exchanges of rows, counted from 1."""
    P, L, U = lu(A, pivot=pivot)
    n = U.shape[-1]
    lower = _ops.tril(L, -1)
    if L.shape[-1] < n:
        lower = _ops.pad(lower, _core.full((), 0, A.dtype), (0,) * A.dim(), (0,) * (A.dim() - 1) + (n - L.shape[-1],))
    elif U.shape[-2] < L.shape[-2]:
        U = _ops.pad(U, _core.full((), 0, A.dtype), (0,) * A.dim(), (0,) * (A.dim() - 2) + (L.shape[-2] - n, 0))
    with no_grad():
        order = P.detach().numpy().argmax(-2)
        pivots = _core.tensor(_swaps(order)[..., :min(A.shape[-2:])]).to(int32)
    return _lu_factor(lower + U, pivots)


def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with A @ X = B (or A.mT @ X = B with adjoint) by what lu_factor made of A."""
    import numpy as np
    n = LU.shape[-1]
    swaps = pivots.numpy().reshape((-1, n))
    order = np.tile(np.arange(n), (len(swaps), 1))
    for at, exchanges in enumerate(swaps):
        for k, place in enumerate(exchanges):
            order[at, [k, place - 1]] = order[at, [place - 1, k]]
    P = _core.tensor(np.ascontiguousarray(np.swapaxes(np.eye(n)[order], -1, -2))).to(LU.dtype)
    P = P.reshape((*pivots.shape[:-1], n, n))
    A = matmul(P, matmul(_ops.tril(LU, -1) + eye(n, dtype=LU.dtype), _ops.triu(LU, 0)))
    return solve(transpose(A, -2, -1) if adjoint else A, B, left=left)


_old_svd = named("svd", "U", "S", "V")
_svd = named("linalg_svd", "U", "S", "Vh")


def svd(A: Tensor, full_matrices: bool = True) -> Any:
    """(U, S, Vh) with A = U @ diag(S) @ Vh: orthogonal columns and rows, S descending. First gradients flow, with
    full_matrices=False, where the singular values differ and are not 0."""
    _check(A, "svd", square=False)
    rows, columns = A.shape[-2:]
    if A.requires_grad and full_matrices and rows != columns:
        raise InvalidError("linalg.svd: gradients need full_matrices=False")
    U, S, Vh = _factored(A, "svd", lambda lapack, values: tuple(lapack.svd(values, full_matrices=full_matrices)))
    if not A.requires_grad or A.numel() == 0:
        return _svd(U, S, Vh)
    V, off = transpose(Vh, -2, -1), A - _ops.detach(A)  # zeros that know how they change
    inner = matmul(matmul(transpose(U, -2, -1), off), V)
    apart = _ops.square(S.unsqueeze(-2)) - _ops.square(S.unsqueeze(-1))
    inverse = _ops.where(apart == 0, 0.0, 1 / _ops.where(apart == 0, 1.0, apart))
    across, turned = inner * S.unsqueeze(-2), transpose(inner, -2, -1) * S.unsqueeze(-2)
    du = matmul(U, inverse * (across + transpose(across, -2, -1)))
    dv = matmul(V, inverse * (turned + transpose(turned, -2, -1)))
    if rows > columns:
        rest = matmul(off, V) / S.unsqueeze(-2)
        du = du + rest - matmul(U, matmul(transpose(U, -2, -1), rest))
    if columns > rows:
        rest = matmul(transpose(off, -2, -1), U) / S.unsqueeze(-2)
        dv = dv + rest - matmul(V, matmul(Vh, rest))
    return _svd(U + du, S + diagonal(inner), transpose(V + dv, -2, -1))


_inv_ex = named("linalg_inv_ex", "inverse", "info")
_cholesky_ex = named("linalg_cholesky_ex", "L", "info")


def _with_info(kind: Any, function: Callable, A: Tensor, check_errors: bool, **options: Any) -> Any:
    """A result and 0, or zeros and 1 if there is none."""
    batch = tuple(A.shape[:-2])
    try:
        return kind(function(A, **options), _core.full(batch, 0, int32))
    except LinAlgError:
        if check_errors:
            raise
        return kind(_core.full(tuple(A.shape), 0, A.dtype), _core.full(batch, 1, int32))


def inv_ex(A: Tensor, *, check_errors: bool = False) -> Any:
    """(inverse, info): info is not 0 where there is no inverse."""
    return _with_info(_inv_ex, inv, A, check_errors)


def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """(L, info): info is not 0 where A is not positive definite."""
    return _with_info(_cholesky_ex, cholesky, A, check_errors, upper=upper)


_lstsq = named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")


def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """(solution, residuals, rank, singular values) of the least squares of A @ X - B, for A of full rank."""
    _check(A, "lstsq", square=False)
    X = matmul(pinv(A), B)
    rows, columns = A.shape[-2:]
    empty = _core.full((0,), 0, A.dtype)
    rest = _ops.sum(_ops.square(matmul(A, X) - B), (-2,)) if rows > columns and B.dim() == A.dim() else empty
    return _lstsq(X, rest, _core.full(tuple(A.shape[:-2]), min(rows, columns), int64), empty)


def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """Powers of the elements along a new last dim, from 0 up."""
    return x.unsqueeze(-1) ** _ops.arange(0, 1, x.shape[-1] if N is None else N, int64)


def matrix_power(A: Tensor, n: int) -> Tensor:
    """The product of n copies of square matrices; of inverses for a negative n."""
    _check_square(A, "matrix_power")
    if n < 0:
        return matrix_power(inv(A), -n)
    if n == 0:
        return _ops.where(_core.full((), True, bool_), eye(A.shape[-1], dtype=A.dtype), A)
    result, square = None, A
    while n:
        if n & 1:
            result = square if result is None else matmul(result, square)
        n >>= 1
        square = matmul(square, square) if n else square
    return result


def _check_square(A: Tensor, what: str) -> None:
    if A.dim() < 2 or A.shape[-1] != A.shape[-2]:
        raise InvalidError(f"linalg.{what}: A must be batches of square matrices, but got shape {list(A.shape)}")


def pinv(A: Tensor) -> Tensor:
    """The pseudo-inverse of matrices of full rank."""
    _check(A, "pinv", square=False)
    turned = transpose(A, -2, -1)
    if A.shape[-2] >= A.shape[-1]:
        return matmul(inv(matmul(turned, A)), turned)
    return matmul(turned, inv(matmul(A, turned)))


def _symmetric(A: Tensor, what: str, UPLO: str) -> Tensor:
    """The matrix whose one triangle counts."""
    _check(A, what)
    if UPLO not in ("L", "U"):
        raise InvalidError(f"linalg.{what}: Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    lower = _ops.tril(A, 0) if UPLO == "L" else transpose(_ops.triu(A, 0), -2, -1)
    return lower + transpose(_ops.tril(lower, -1), -2, -1)


def _perturbed(S: Tensor, values: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """By the basis of eigenvectors: zeros that know how S changes; 1 / (column's - row's eigenvalue), 0 where equal."""
    S = (S + transpose(S, -2, -1)) * 0.5
    off = matmul(matmul(transpose(vectors, -2, -1), S - _ops.detach(S)), vectors)
    apart = values.unsqueeze(-2) - values.unsqueeze(-1)
    inverse = _ops.where(apart == 0, 0.0, 1 / _ops.where(apart == 0, 1.0, apart))
    return off, inverse, off * inverse


def eigvalsh(A: Tensor, UPLO: str = "L") -> Tensor:
    """Eigenvalues of symmetric matrices in ascending order; one triangle of A counts. Their gradients are those of
    eigenvalues that differ."""
    S = _symmetric(A, "eigvalsh", UPLO)
    if not A.requires_grad or A.numel() == 0:
        return _factored(S, "eigvalsh", lambda lapack, values: lapack.eigvalsh(values))
    return eigh(A, UPLO).eigenvalues


def eigh(A: Tensor, UPLO: str = "L") -> Any:
    """(eigenvalues, eigenvectors) of symmetric matrices, in ascending order; the vectors are columns. One triangle of A
    counts. Gradients are those of eigenvalues that differ."""
    S = _symmetric(A, "eigh", UPLO)
    values, vectors = _factored(S, "eigh", lambda lapack, values: tuple(lapack.eigh(values)))
    if not A.requires_grad or A.numel() == 0:
        return _eigen(values, vectors)
    off, inverse, first = _perturbed(S, values, vectors)
    own = diagonal(off)
    second = inverse * (matmul(off, first) - first * own.unsqueeze(-2))
    length = FUNCTIONS["diag_embed"](_ops.sum(_ops.square(first), (-2,)) * 0.5)
    return _eigen(values + own + _ops.sum(off * first, (-2,)),
                  vectors + matmul(vectors, first + second - length))


def svdvals(A: Tensor) -> Tensor:
    """Singular values in descending order; gradients flow where they differ and are not 0."""
    _check(A, "svdvals", square=False)
    values = _factored(A, "svdvals", lambda lapack, values: lapack.svd(values, compute_uv=False))
    if not A.requires_grad or A.numel() == 0:
        return values
    turned = transpose(A, -2, -1)
    squares = eigvalsh(matmul(turned, A) if A.shape[-2] >= A.shape[-1] else matmul(A, turned))
    roots = _ops.sqrt(_ops.clamp(FUNCTIONS["flip"](squares, -1), 0, None))
    return values + (roots - _ops.detach(roots))


def cond(A: Tensor, p: Any = None) -> Tensor:
    """The condition number: by singular values, or norm(A, p) * norm(inv(A), p)."""
    if p in (None, 2, -2):
        values = svdvals(A)
        ratio = values[..., 0] / values[..., -1]
        return ratio if p != -2 else 1 / ratio
    return matrix_norm(A, p) * matrix_norm(inv(A), p)


def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices, by a series of A / 2^s that is squared s times. Waits for the size of A."""
    _check(A, "matrix_exp")
    if A.numel() == 0:
        return A.clone()
    size = float(_ops.max(matrix_norm(A.detach(), 1), (), False).item())
    halvings = max(0, math.frexp(size)[1] + 1) if math.isfinite(size) else 0
    part = A * 0.5 ** halvings
    total = eye(A.shape[-1], dtype=A.dtype) + part
    term = part
    for k in range(2, 16):
        term = matmul(term, part) / k
        total = total + term
    for _ in range(halvings):
        total = matmul(total, total)
    return total


def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False) -> Tensor:
    """X with A @ X = B, where A = L @ L.mT (L.mT @ L with upper=True)."""
    first, second = (transpose(L, -2, -1), L) if upper else (L, transpose(L, -2, -1))
    return solve_triangular(second, solve_triangular(first, B, upper=False), upper=True)


def matrix_rank(A: Tensor, *, tol: float | None = None) -> Tensor:
    """How many singular values count as more than 0."""
    values = svdvals(A.detach())
    from ._dtype import finfo
    bound: Any = tol
    if tol is None:
        bound = _ops.max(values, (-1,), True) * (max(A.shape[-2:]) * finfo(A.dtype).eps)
    return _ops.sum(values > bound, (-1,))


def logdet(A: Tensor) -> Tensor:
    """The logarithm of the determinant; NaN where that is negative."""
    pair = slogdet(A)
    return _ops.where(pair.sign < 0, math.nan, pair.logabsdet)


def _attach() -> None:
    for function in (det, slogdet, matrix_power, cholesky, qr):
        method(function, inplace=False)
    for function in (matrix_exp, cholesky_solve):
        method(function, inplace=False)
    method(inv, "inverse", inplace=False)
    method(pinv, "pinverse", inplace=False)
    method(logdet, inplace=False)
    FUNCTIONS["matrix_rank"] = matrix_rank

    def halves(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
        """(U, S, V) with input = U @ diag(S) @ V.mT. linalg.svd gives V transposed."""
        U, S, Vh = svd(input, full_matrices=not some)
        return _old_svd(U, S, transpose(Vh, -2, -1))
    method(halves, "svd", inplace=False)

    def solved(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
        """X with A @ X = b by what linalg.lu_factor made of A."""
        return lu_solve(LU_data, LU_pivots, b)
    method(solved, "lu_solve", inplace=False)


_attach()
