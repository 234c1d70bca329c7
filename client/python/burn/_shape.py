# SPDX-License-Identifier: Apache-2.0
"""Views, joining, splitting and indexing functions, also as methods of Tensor."""
from __future__ import annotations

import math
import operator
from typing import Any, Sequence

from . import _core, _ops
from ._core import ArgumentError, InvalidError, RangeError
from ._creation import as_shape
from ._dtype import dtype, int64
from ._indexing import index_put as _index_put
from ._pointwise import FUNCTIONS, method, need_tensor
from ._tensor import Tensor


def view_function(function: Any) -> Any:
    return method(function, inplace=False)


def wrap_dim(dim: int, rank: int) -> int:
    """dim counted from the front; IndexError outside."""
    dim = operator.index(dim)
    room = max(rank, 1)
    if not -room <= dim < room:
        raise RangeError(f"Dimension out of range (expected to be in range of [{-room}, {room - 1}], but got {dim})")
    return dim % room


def _listed(given: tuple, what: str, name: str) -> tuple:
    """Numbers given one by one or as one list."""
    if not given:
        raise ArgumentError(f"{what}() missing 1 required positional arguments: \"{name}\"")
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else given


def _need_dims(input: Tensor, what: str) -> None:
    need_tensor(input, what)
    if input.dim() == 0:
        raise InvalidError(f"{what} expects at least a 1-dimensional tensor")


def _target(input: Tensor, shape: tuple, what: str) -> tuple[int, ...]:
    """The shape with its -1 worked out."""
    shape = tuple(operator.index(n) for n in shape)
    count = input.numel()
    if shape.count(-1) > 1:
        raise InvalidError(f"{what}: only one dimension can be inferred, got {list(shape)}")
    bad = [n for n in shape if n < -1]
    known = math.prod(n for n in shape if n != -1)
    if bad or (-1 in shape and (known == 0 or count % known)) or (-1 not in shape and known != count):
        raise InvalidError(f"{what}: shape {list(shape)} is invalid for input of size {count} "
                           f"(shape {list(input.shape)})")
    return tuple(count // known if n == -1 else n for n in shape)


@view_function
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape; one size may be -1."""
    need_tensor(input, "reshape")
    return _ops.reshape(input, _target(input, _listed(shape, "reshape", "shape"), "reshape"))


@view_function
def view(input: Tensor, *shape: Any) -> Tensor:
    """As reshape, but refuses what PyTorch's strides could not express. With a dtype: the same bits, as a copy."""
    if len(shape) == 1 and isinstance(shape[0], dtype):
        return _same_bits(input, shape[0])
    target = _target(input, _listed(shape, "view", "size"), "view")
    if not input._contiguous and not input._viewable(target):
        raise InvalidError("view size is not compatible with input tensor's size and stride; use .reshape(...)")
    return _ops.reshape(input, target)


def _same_bits(input: Tensor, wanted: Any) -> Tensor:
    """The bits of the elements read as another dtype; its size divides or multiplies the last dim. Waits."""
    import numpy as np
    shape, have, size = list(input.shape), input.dtype.itemsize, wanted.itemsize
    if wanted is input.dtype:
        return input
    if have != size and (not shape or shape[-1] * have % size):
        raise InvalidError(f"self.size(-1) must be divisible by {size // have} to view {input.dtype} as {wanted} "
                           f"(different element sizes), but got {shape[-1] if shape else 'a 0-d tensor'}")
    if shape:
        shape[-1] = shape[-1] * have // size
    if "bfloat16" in (wanted.name, input.dtype.name):
        raise InvalidError("view(dtype) knows no bfloat16: NumPy, which holds the bits here, has none")
    bits = np.ascontiguousarray(input.detach().numpy()).view(np.dtype(wanted.name))
    return _core.tensor(bits.reshape(shape))


Tensor.view_as = lambda self, other: self.view(tuple(other.shape))
Tensor.reshape_as = lambda self, other: reshape(self, tuple(other.shape))


@view_function
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dims from start_dim to end_dim as one."""
    start, end = wrap_dim(start_dim, input.dim()), wrap_dim(end_dim, input.dim())
    if start > end:
        raise InvalidError("flatten() has invalid args: start_dim cannot come after end_dim")
    shape = tuple(input.shape)
    return _ops.reshape(input, shape[:start] + (math.prod(shape[start:end + 1]),) + shape[end + 1:])


@view_function
def ravel(input: Tensor) -> Tensor:
    """All elements as one dim."""
    return _ops.reshape(input, (input.numel(),))


@view_function
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """One dim as several; one size may be -1."""
    _need_dims(input, "unflatten")
    dim, sizes = wrap_dim(dim, input.dim()), tuple(sizes)
    n = input.shape[dim]
    if -1 in sizes:
        known = math.prod(s for s in sizes if s != -1)
        sizes = tuple(n // known if s == -1 and known else s for s in sizes)
    if math.prod(sizes) != n:
        raise InvalidError(f"unflatten: provided sizes {list(sizes)} don't multiply up to the size of dim {dim} ({n})")
    shape = tuple(input.shape)
    return _ops.reshape(input, shape[:dim] + sizes + shape[dim + 1:])


@view_function
def permute(input: Tensor, *dims: Any) -> Tensor:
    """The dims in another order."""
    return _ops.permute(input, _listed(dims, "permute", "dims"))


@view_function
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two dims exchanged."""
    order = list(range(input.dim()))
    a, b = wrap_dim(dim0, input.dim()), wrap_dim(dim1, input.dim())
    if not order:
        return input
    order[a], order[b] = b, a
    return _ops.permute(input, order)


FUNCTIONS["swapaxes"] = FUNCTIONS["swapdims"] = Tensor.swapaxes = Tensor.swapdims = transpose


@view_function
def t(input: Tensor) -> Tensor:
    """A matrix transposed; a vector as it is."""
    if input.dim() > 2:
        raise InvalidError(f"t() expects a tensor with <= 2 dimensions, but self is {input.dim()}D")
    return input if input.dim() < 2 else _ops.permute(input, (1, 0))


@view_function
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Dims moved to other places, the rest in order."""
    rank = input.dim()
    sources = [wrap_dim(d, rank) for d in ([source] if isinstance(source, int) else source)]
    places = [wrap_dim(d, rank) for d in ([destination] if isinstance(destination, int) else destination)]
    if len(sources) != len(places) or len(set(sources)) < len(sources) or len(set(places)) < len(places):
        raise InvalidError(f"movedim: source {source} and destination {destination} must name as many dims, none twice")
    if rank == 0:
        return input
    order: list[Any] = [None] * rank
    for place, dim in zip(places, sources):
        order[place] = dim
    rest = iter(d for d in range(rank) if d not in sources)
    return _ops.permute(input, [next(rest) if d is None else d for d in order])


FUNCTIONS["moveaxis"] = Tensor.moveaxis = movedim


@view_function
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without dims of size 1 (all of them, or the named ones)."""
    shape = tuple(input.shape)
    dims = range(len(shape)) if dim is None else [wrap_dim(d, len(shape)) for d in ((dim,) if isinstance(dim, int) else dim)]
    if len(set(dims)) < len(dims):
        raise InvalidError(f"squeeze: a dim appears multiple times in the list of dims {dim}")
    return _ops.reshape(input, tuple(n for i, n in enumerate(shape) if n != 1 or i not in dims))


@view_function
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a new dim of size 1 at dim."""
    shape, dim = list(input.shape), wrap_dim(dim, input.dim() + 1)
    shape.insert(dim, 1)
    return _ops.reshape(input, tuple(shape))


def _reshaping(name: str) -> None:
    """The in-place form of a view of all elements: the tensor becomes that view of itself."""
    function = FUNCTIONS[name]

    def write(self: Tensor, *args: Any, _function: Any = function, **kwargs: Any) -> Tensor:
        if self.requires_grad and _core.grad_enabled():
            raise InvalidError(f"{name}_() of a tensor that requires grad is not offered: use {name}(), or detach() it first")
        self.data = _function(self, *args, **kwargs)
        return self
    write.__name__, write.__doc__ = name + "_", f"In-place form of {name}()."
    setattr(Tensor, name + "_", write)


for _name in ("squeeze", "unsqueeze", "t", "transpose", "swapaxes", "swapdims"):
    _reshaping(_name)


@view_function
def expand(input: Tensor, *sizes: Any) -> Tensor:
    """Dims of size 1 repeated, without a copy; -1 keeps a size."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        sizes = tuple(sizes[0])
    extra = len(sizes) - input.dim()
    if extra < 0:
        raise InvalidError(f"expand: the number of sizes provided ({len(sizes)}) must be at least the number of "
                           f"dimensions in the tensor ({input.dim()})")
    shape = []
    for i, n in enumerate(sizes):
        n = operator.index(n)
        if n == -1:
            if i < extra:
                raise InvalidError("expand: -1 is not allowed for a new leading dimension")
            n = input.shape[i - extra]
        shape.append(n)
    return _ops.expand(input, tuple(shape))


FUNCTIONS["broadcast_to"] = Tensor.broadcast_to = expand
Tensor.expand_as = lambda self, other: expand(self, tuple(other.shape))


def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that tensors of these shapes give together."""
    from ._dtype import Size
    from ._indexing import _broadcast
    out: tuple[int, ...] = ()
    for shape in shapes:
        try:
            out = _broadcast(out, (shape,) if isinstance(shape, int) else tuple(shape))
        except ValueError:
            raise InvalidError(f"Shape mismatch: objects cannot be broadcast to a single shape: {list(shapes)}") from None
    return Size(out)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """The tensors, each expanded to the shape that they give together."""
    shape = tuple(broadcast_shapes(*(tuple(x.shape) for x in tensors)))
    return tuple(expand(x, shape) for x in tensors)


FUNCTIONS["broadcast_shapes"], FUNCTIONS["broadcast_tensors"] = broadcast_shapes, broadcast_tensors


@view_function
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """length elements of dim from start on."""
    _need_dims(input, "narrow")
    dim, start = wrap_dim(dim, input.dim()), int(start)
    n = input.shape[dim]
    if not -n <= start <= n:
        raise RangeError(f"start (got {start}) is out of range for dimension {dim} of size {n}")
    start += n if start < 0 else 0
    if length < 0 or start + length > n:
        raise InvalidError(f"start ({start}) + length ({length}) exceeds dimension size ({n})")
    return input[(slice(None),) * dim + (slice(start, start + length),)]


@view_function
def select(input: Tensor, dim: int, index: int) -> Tensor:
    """One place of dim; the dim goes."""
    if input.dim() == 0:
        raise RangeError("select() cannot be applied to a 0-dim tensor.")
    dim = wrap_dim(dim, input.dim())
    n = input.shape[dim]
    if not -n <= index < n:
        raise RangeError(f"select(): index {index} out of range for tensor of size {list(input.shape)} at dimension {dim}")
    return input[(slice(None),) * dim + (index,)]


@view_function
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """The places of dim as a tuple."""
    dim = wrap_dim(dim, input.dim())
    return tuple(select(input, dim, i) for i in range(input.shape[dim]))


@view_function
def flip(input: Tensor, *dims: Any) -> Tensor:
    """The elements of dims in reverse order."""
    return _ops.flip(input, _listed(dims, "flip", "dims"))


@view_function
def fliplr(input: Tensor) -> Tensor:
    """flip of dim 1."""
    if input.dim() < 2:
        raise InvalidError("fliplr: Input must be >= 2-d.")
    return flip(input, 1)


@view_function
def flipud(input: Tensor) -> Tensor:
    """flip of dim 0."""
    if input.dim() < 1:
        raise InvalidError("flipud: Input must be >= 1-d.")
    return flip(input, 0)


def _tensors(tensors: Any, what: str) -> list[Tensor]:
    if isinstance(tensors, Tensor) or not hasattr(tensors, "__iter__"):
        raise ArgumentError(f"{what}(): expected a list or tuple of Tensors, got {type(tensors).__name__}")
    tensors = list(tensors)
    for x in tensors:
        if not isinstance(x, Tensor):
            raise ArgumentError(f"{what}(): expected Tensor as element, got {type(x).__name__}")
    if not tensors:
        raise InvalidError(f"{what}(): expected a non-empty list of Tensors")
    return tensors


def cat(tensors: Sequence[Tensor], dim: int = 0, *, axis: Any = None) -> Tensor:
    """Tensors one after another along a dim; 1-D empty ones are left out."""
    return _ops.concat(_tensors(tensors, "cat"), dim if axis is None else axis)


def stack(tensors: Sequence[Tensor], dim: int = 0, *, axis: Any = None) -> Tensor:
    """Tensors of one shape along a new dim."""
    tensors = _tensors(tensors, "stack")
    for x in tensors[1:]:
        if tuple(x.shape) != tuple(tensors[0].shape):
            raise InvalidError(f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} and "
                               f"{list(x.shape)}")
    return _ops.stack(tensors, dim if axis is None else axis)


FUNCTIONS.update(cat=cat, concat=cat, concatenate=cat, stack=stack)


@view_function
def split(tensor: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of one size (the last may be smaller), or of given sizes."""
    _need_dims(tensor, "split")
    dim = wrap_dim(dim, tensor.dim())
    n = tensor.shape[dim]
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size < 0 or (size == 0 and n):
            raise InvalidError(f"split expects a positive split_size, got {size}")
        sizes = [min(size, n - at) for at in range(0, n, size)] if n else [0]
    else:
        sizes = [operator.index(s) for s in split_size_or_sections]
        if sum(sizes) != n or min(sizes, default=0) < 0:
            raise InvalidError(f"split_with_sizes expects split_sizes to sum exactly to {n} (input tensor's size at "
                               f"dimension {dim}), but got split_sizes={sizes}")
    pieces, at = [], 0
    for size in sizes:
        pieces.append(narrow(tensor, dim, at, size))
        at += size
    return tuple(pieces)


@view_function
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most so many pieces of equal size (the last may be smaller)."""
    if chunks < 1:
        raise InvalidError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    _need_dims(input, "chunk")
    n = input.shape[wrap_dim(dim, input.dim())]
    if n == 0:
        return split(input, [0] * chunks, dim)
    return split(input, max(-(-n // chunks), 1), dim)


@view_function
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """So many pieces of nearly equal size, or pieces that end at the given places."""
    _need_dims(input, "tensor_split")
    n = input.shape[wrap_dim(dim, input.dim())]
    if isinstance(indices_or_sections, int):
        parts = indices_or_sections
        if parts < 1:
            raise InvalidError(f"number of sections must be larger than 0, got {parts}")
        cuts = [0]
        for i in range(parts):
            cuts.append(cuts[-1] + n // parts + (i < n % parts))
    else:
        cuts = [0, *(min(max(i + n if i < 0 else i, 0), n) for i in indices_or_sections), n]
    return tuple(narrow(input, dim, a, max(b - a, 0)) for a, b in zip(cuts, cuts[1:]))


@view_function
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """Copies of the tensor along each dim."""
    repeats = _listed(repeats, "repeat", "repeats")
    if len(repeats) < input.dim():
        raise InvalidError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    shape = (1,) * (len(repeats) - input.dim()) + tuple(input.shape)
    spread = reshape(input, tuple(k for n in shape for k in (1, n)))
    spread = _ops.expand(spread, tuple(k for r, n in zip(repeats, shape) for k in (r, n)))
    return _ops.reshape(spread, tuple(r * n for r, n in zip(repeats, shape)))


@view_function
def tile(input: Tensor, *dims: Any) -> Tensor:
    """As repeat, but missing leading numbers are 1."""
    dims = _listed(dims, "tile", "dims")
    return repeat(input, (1,) * (input.dim() - len(dims)) + dims)


@view_function
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Elements moved along dims; those that fall off one end come in at the other."""
    if dims is None:
        return reshape(roll(ravel(input), shifts, 0), tuple(input.shape))
    steps, places = [shifts] if isinstance(shifts, int) else shifts, [dims] if isinstance(dims, int) else dims
    if len(steps) != len(places):
        raise InvalidError(f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(places)}")
    for shift, dim in zip(steps, places):
        if input.dim() == 0:
            raise RangeError("Dimension specified as 0 but tensor has no dimensions")
        n = input.shape[wrap_dim(dim, input.dim())]
        cut = (n - shift) % n if n else 0
        if cut:
            input = cat([narrow(input, dim, cut, n - cut), narrow(input, dim, 0, cut)], dim)
    return input


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of the last two dims, zeros elsewhere."""
    return _ops.tril(input, diagonal)


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of the last two dims, zeros elsewhere."""
    return _ops.triu(input, diagonal)


method(tril)
method(triu)


@view_function
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    """out[i, j] = input[index[i, j], j] for dim 0, and so on. Gradients are dense, whatever sparse_grad says."""
    return _ops.gather(input, index, dim)


@view_function
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """gather along dim, or from all elements in one row."""
    return _ops.gather(ravel(input), ravel(indices), 0) if dim is None else _ops.gather(input, indices, dim)


@view_function
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The places of dim that a 1-D index names."""
    if index.dim() > 1:
        raise RangeError(f"index_select(): Index is supposed to be a vector, got shape {list(index.shape)}")
    if input.dim() == 0:
        return reshape(_ops.take(reshape(input, 1), reshape(index, -1), wrap_dim(dim, 0)), ())
    return _ops.take(input, index if index.dim() else reshape(index, 1), dim)


def _cut(src: Tensor, index: Tensor) -> Tensor:
    """The corner of src that index covers."""
    if tuple(src.shape) == tuple(index.shape) or src.dim() != index.dim():
        return src
    return src[tuple(slice(0, n) for n in index.shape)]


@method
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """input with src added at the places that index names along dim; repeated places add up."""
    return _ops.scatter_add(input, index, _cut(src, index), dim)


@method
def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: Any = None) -> Tensor:
    """input with src written at the places that index names along dim."""
    src = value if src is None else src
    if not isinstance(src, Tensor):
        src = _core.full(tuple(index.shape), src, input.dtype)
    if src.dtype is not input.dtype:
        raise InvalidError(f"scatter(): Expected self.dtype to be equal to src.dtype, got {input.dtype} and {src.dtype}")
    if input.numel() == 0:
        return _ops.clone(input)
    if reduce == "add":
        return _ops.scatter_add(input, index, _cut(src, index), dim)
    if reduce == "multiply":
        return _ops.scatter_prod(input, index, _cut(src, index), dim)
    if reduce is not None:
        raise InvalidError(f"reduce argument must be either add or multiply, not {reduce!r}")
    return _ops.scatter(input, index, _cut(src, index), dim)


def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with values written at indices."""
    made = _ops.clone(input)
    _index_put(made, indices, values, accumulate)
    return made


def index_put_(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """In-place form of index_put()."""
    _index_put(input, indices, values, accumulate)
    return input


FUNCTIONS["index_put"] = Tensor.index_put = index_put
FUNCTIONS["index_put_"] = Tensor.index_put_ = index_put_


@method
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """input with source added at the places of dim that a 1-D index names."""
    dim = wrap_dim(dim, input.dim())
    if input.dim() and source.dim() and source.shape[wrap_dim(dim, source.dim())] != index.numel():
        raise InvalidError(f"index_add_(): Number of indices ({index.numel()}) should be equal to source.size(dim): "
                           f"({source.shape[dim]}), for dim: {dim}")
    shape = (1,) * dim + (index.shape[0],) + (1,) * (input.dim() - dim - 1)
    spread = expand(reshape(index.to(int64), shape), tuple(source.shape))
    return _ops.scatter_add(input, spread, source if alpha == 1 else source * alpha, dim)


def _product(name: str, input: Tensor, other: Tensor, ranks: tuple[int, int], check: str) -> Tensor:
    if (input.dim(), other.dim()) != ranks:
        raise InvalidError(f"{name}: {check}, got shapes {list(input.shape)} and {list(other.shape)}")
    return _ops.matmul(input, other)


@view_function
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
    return _product("mm", input, mat2, (2, 2), "both must be matrices")


@view_function
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices."""
    return _product("bmm", input, mat2, (3, 3), "both must be batches of matrices")


@view_function
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector."""
    return _product("mv", input, vec, (2, 1), "a matrix and a vector are needed")


@view_function
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements."""
    return _product("dot", input, tensor, (1, 1), "both must be vectors")


@view_function
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Product of vectors, matrices or batches of matrices; leading dims broadcast."""
    need_tensor(input, "matmul")
    need_tensor(other, "matmul")
    return _ops.matmul(input, other)


@method
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2)."""
    product = _ops.matmul(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    return product + (input if beta == 1 else input * beta) if beta != 0 else product


def _new(self: Tensor, make: Any, size: tuple, dtype: Any, options: dict) -> Tensor:
    return make(as_shape(size, "new"), dtype=dtype or self.dtype, **options)


def _attach_new() -> None:
    from . import _creation
    for name in ("zeros", "ones", "empty"):
        def new(self: Tensor, *size: Any, dtype: Any = None, _make: Any = getattr(_creation, name), **options: Any) -> Tensor:
            return _new(self, _make, size, dtype, options)
        setattr(Tensor, f"new_{name}", new)
    Tensor.new_full = lambda self, size, fill_value, dtype=None, **options: _creation.full(
        size, fill_value, dtype=dtype or self.dtype, **options)
    Tensor.new_tensor = lambda self, data, dtype=None, **options: _creation.tensor(
        data, dtype=dtype or self.dtype, **options)


_attach_new()
