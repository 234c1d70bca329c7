# SPDX-License-Identifier: Apache-2.0
"""Everyday functions that are compositions of others: joining, pairing, diagonals, picking, einsum."""
from __future__ import annotations

import string
from typing import Any, Sequence

from . import _core, _ops
from ._core import InvalidError
from ._creation import arange
from ._dtype import int64
from ._pointwise import FUNCTIONS, need_tensor
from ._shape import _tensors, broadcast_shapes, cat, expand, permute, reshape, stack, transpose, unsqueeze, view_function, \
    wrap_dim
from ._tensor import Tensor


def _function(function: Any) -> Any:
    """Makes it public, as a function only."""
    FUNCTIONS[function.__name__] = function
    return function


def _at_least(rank: int, tensors: tuple, place: Any) -> Any:
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)) else tensors
    made = []
    for x in given:
        need_tensor(x, f"atleast_{rank}d")
        shape = tuple(x.shape)
        made.append(x if len(shape) >= rank else reshape(x, place(shape)))
    return made[0] if len(tensors) == 1 and given is tensors else tuple(made)


@_function
def atleast_1d(*tensors: Any) -> Any:
    """Numbers become vectors of one element."""
    return _at_least(1, tensors, lambda shape: (1,))


@_function
def atleast_2d(*tensors: Any) -> Any:
    """Vectors become matrices of one row."""
    return _at_least(2, tensors, lambda shape: (1, *(shape or (1,))))


@_function
def atleast_3d(*tensors: Any) -> Any:
    """Matrices get a last dim of 1, vectors one before as well."""
    return _at_least(3, tensors, lambda shape: (*shape, 1) if len(shape) == 2 else (1, *(shape or (1,)), 1))


@_function
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Vectors one after another, all others along dim 1."""
    parts = [atleast_1d(x) for x in _tensors(tensors, "hstack")]
    return cat(parts, 0 if parts[0].dim() == 1 else 1)


@_function
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Rows below one another."""
    return cat([atleast_2d(x) for x in _tensors(tensors, "vstack")], 0)


@_function
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """Along the third dim."""
    return cat([atleast_3d(x) for x in _tensors(tensors, "dstack")], 2)


@_function
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """Vectors as the columns of a matrix."""
    return cat([reshape(x, (x.numel(), 1)) if x.dim() < 2 else x for x in _tensors(tensors, "column_stack")], 1)


@_function
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """The coordinates of a grid: one tensor for each vector, all of one shape. "xy" exchanges the first two dims."""
    if len(tensors) == 1 and isinstance(tensors[0], (tuple, list)):
        tensors = tuple(tensors[0])
    if indexing not in ("ij", "xy"):
        raise InvalidError(f"meshgrid: indexing must be one of \"xy\" or \"ij\", but received: {indexing}")
    for x in tensors:
        if x.dim() > 1:
            raise InvalidError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got shape {list(x.shape)}")
    shape = tuple(x.numel() for x in tensors)
    grids = [expand(reshape(x, tuple(n if i == at else 1 for i, n in enumerate(shape))), shape)
             for at, x in enumerate(tensors)]
    return tuple(transpose(x, 0, 1) if indexing == "xy" and len(shape) > 1 else x for x in grids)


@view_function
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The diagonal of two dims as a last dim; offset > 0 lies above. It shares with the input where reshape does."""
    rank = input.dim()
    a, b = wrap_dim(dim1, rank), wrap_dim(dim2, rank)
    if a == b:
        raise InvalidError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rest = [d for d in range(rank) if d not in (a, b)]
    rows, columns = input.shape[a], input.shape[b]
    count = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    start = max(offset, 0) + max(-offset, 0) * columns
    stop = start + (count - 1) * (columns + 1) + 1 if count else start
    flat = reshape(permute(input, (a, b, *rest)), (rows * columns, *(input.shape[d] for d in rest)))
    return permute(flat[start:stop:columns + 1], (*range(1, rank - 1), 0))


@view_function
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or a matrix with a vector as its diagonal."""
    if input.dim() == 2:
        return FUNCTIONS["diagonal"](input, diagonal)
    if input.dim() != 1:
        raise InvalidError(f"diag(): Supports 1D or 2D tensors. Got {input.dim()}D")
    n = input.numel() + abs(diagonal)
    place = arange(input.numel())
    return _ops.put_nd(_core.full((n, n), 0, input.dtype), input, [place + max(-diagonal, 0), place + max(diagonal, 0)],
                       0, False)


@view_function
def trace(input: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    if input.dim() != 2:
        raise InvalidError(f"trace: expected a matrix, but got tensor with dim {input.dim()}")
    return diagonal(input).sum()


@view_function
def repeat_interleave(input: Tensor, repeats: Any = None, dim: int | None = None, *,
                      output_size: int | None = None) -> Tensor:
    """Each element (or place of dim) several times in a row; repeats is a number or one for each place. Of repeats alone
    it makes their places, each as often as they say."""
    if repeats is None:
        return repeat_interleave(arange(input.numel()), input)
    if dim is None:
        input, dim = reshape(input, (input.numel(),)), 0
    dim = wrap_dim(dim, input.dim())
    shape = tuple(input.shape)
    if isinstance(repeats, Tensor) and repeats.numel() > 1:
        counts = repeats.tolist()
        if len(counts) != shape[dim]:
            raise InvalidError("repeats must have the same size as input along dim")
        return _ops.take(input, _core.tensor([i for i, n in enumerate(counts) for _ in range(n)], int64), dim)
    times = int(repeats)
    if times < 0:
        raise InvalidError(f"Repeats must be non-negative, got {times}")
    if input.dim() == 0:
        input, shape = reshape(input, (1,)), (1,)
    wide = expand(unsqueeze(input, dim + 1), (*shape[:dim + 1], times, *shape[dim + 1:]))
    return reshape(wide, (*shape[:dim], shape[dim] * times, *shape[dim + 1:]))


@_function
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Sums products over pairs of dims: the last of a and first of b, or two lists of dims."""
    if isinstance(dims, int):
        left, right = list(range(a.dim() - dims, a.dim())), list(range(dims))
    else:
        left, right = [[d] if isinstance(d, int) else list(d) for d in dims]
    left, right = [wrap_dim(d, a.dim()) for d in left], [wrap_dim(d, b.dim()) for d in right]
    sizes = [a.shape[d] for d in left]
    if sizes != [b.shape[d] for d in right]:
        raise InvalidError(f"tensordot: contracted dimensions need to match, but got {list(a.shape)} over {left} and "
                           f"{list(b.shape)} over {right}")
    free_a, free_b = [d for d in range(a.dim()) if d not in left], [d for d in range(b.dim()) if d not in right]
    count = 1
    for n in sizes:
        count *= n
    shape = [a.shape[d] for d in free_a] + [b.shape[d] for d in free_b]
    rows = reshape(permute(a, (*free_a, *left)), (_size_of(a, free_a), count))
    columns = reshape(permute(b, (*right, *free_b)), (count, _size_of(b, free_b)))
    return reshape(_ops.matmul(rows, columns), tuple(shape))


def _size_of(x: Tensor, dims: Sequence[int]) -> int:
    count = 1
    for d in dims:
        count *= x.shape[d]
    return count


# ---- einsum: two operands at a time, each pair one batched product ----


def _parse(equation: str, operands: list[Tensor]) -> tuple[list[str], str]:
    """Letters for the dims of each operand and of the result; dims under "..." get letters of their own."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        raise InvalidError(f"einsum(): {len(terms)} terms in {equation!r}, but {len(operands)} operands")
    spare = [c for c in string.ascii_letters if c not in equation]
    extra = max(x.dim() - len(t.replace("...", "")) if "..." in t else 0 for t, x in zip(terms, operands))
    dots = "".join(spare[:extra])
    full = []
    for number, (term, x) in enumerate(zip(terms, operands)):
        missing = x.dim() - len(term.replace("...", ""))
        if missing < 0 or (missing and "..." not in term) or not term.replace("...", "").isalpha() and term not in ("", "..."):
            raise InvalidError(f"einsum(): the term {term!r} does not name the {x.dim()} dims of operand {number}")
        full.append(term.replace("...", dots[len(dots) - missing:] if missing else ""))
    if arrow:
        result = right.replace("...", dots)
    else:
        every = "".join(full)
        result = dots + "".join(sorted(c for c in set(every) - set(dots) if every.count(c) == 1))
    for c in result:
        if c not in "".join(full) or result.count(c) > 1:
            raise InvalidError(f"einsum(): output subscript {c} does not appear in the equation for any input operand, "
                               "or appears twice in the output")
    return full, result


def _distinct(term: str, x: Tensor) -> tuple[str, Tensor]:
    """A letter that stands twice is a diagonal."""
    for c in dict.fromkeys(term):
        while term.count(c) > 1:
            i = term.index(c)
            j = term.index(c, i + 1)
            x = diagonal(x, 0, i, j)
            term = term[:i] + term[i + 1:j] + term[j + 1:] + c
    return term, x


def _summed(term: str, x: Tensor, keep: set, dtype: Any = None) -> tuple[str, Tensor]:
    gone = [i for i, c in enumerate(term) if c not in keep]
    return "".join(c for c in term if c in keep), x.sum(gone, dtype=dtype) if gone else x


def _laid_out(term: str, x: Tensor, order: str) -> Tensor:
    """The dims in this order, 1 for those that the operand lacks."""
    x = permute(x, tuple(term.index(c) for c in order if c in term))
    sizes = iter(tuple(x.shape))
    return reshape(x, tuple(next(sizes) if c in term else 1 for c in order))


def _pair(a: tuple[str, Tensor], b: tuple[str, Tensor], later: set) -> tuple[str, Tensor]:
    """The product of two operands, summed over the letters that nothing later needs."""
    (s, x), (t, y) = _summed(*a, set(b[0]) | later, a[1].dtype), _summed(*b, set(a[0]) | later, b[1].dtype)
    sizes = dict(zip(s, x.shape)) | {c: n for c, n in zip(t, y.shape) if n != 1 or c not in s}
    both = [c for c in s if c in t]
    total = "".join(c for c in both if c not in later)
    if not total or any(x.shape[s.index(c)] != y.shape[t.index(c)] for c in both):  # sizes of 1 broadcast
        names = s + "".join(c for c in t if c not in s)
        return _summed(names, _laid_out(s, x, names) * _laid_out(t, y, names), later)
    batch = "".join(c for c in both if c in later)
    rows, columns = "".join(c for c in s if c not in t), "".join(c for c in t if c not in s)

    def grouped(term: str, z: Tensor, order: list[str]) -> Tensor:
        z = permute(z, tuple(term.index(c) for part in order for c in part))
        counts = [1, 1]
        for at, part in enumerate(order[-2:]):
            for c in part:
                counts[at] *= sizes[c]
        return reshape(z, (*(sizes[c] for c in order[0]), *counts))
    product = _ops.matmul(grouped(s, x, [batch, rows, total]), grouped(t, y, [batch, total, columns]))
    names = batch + rows + columns
    return names, reshape(product, tuple(sizes[c] for c in names))


@_function
def einsum(equation: str, *operands: Any) -> Tensor:
    """Sums of products by letters: "bij,bjk->bik" is a batched matrix product. "..." stands for leading dims."""
    given = list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else list(operands)
    given = _tensors(given, "einsum")
    terms, result = _parse(equation, given)
    parts = [_distinct(term, x) for term, x in zip(terms, given)]
    sizes: dict[str, int] = {}
    for term, x in parts:
        for c, n in zip(term, x.shape):
            if sizes.setdefault(c, n) not in (1, n) and n != 1:
                raise InvalidError(f"einsum(): the letter {c} has sizes {sizes[c]} and {n} in {equation!r}")
            sizes[c] = max(sizes[c], n) if 0 not in (sizes[c], n) else 0
    made = parts[0]
    for number, part in enumerate(parts[1:], 2):
        later = set(result).union(*(term for term, _ in parts[number:]))
        made = _pair(made, part, later)
    term, x = _summed(*made, set(result))
    return permute(x, tuple(term.index(c) for c in result))
