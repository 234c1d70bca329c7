# SPDX-License-Identifier: Apache-2.0
"""Functions that are other functions under PyTorch's further names, and questions about tensors."""
from __future__ import annotations

import math
from typing import Any

from . import _core, _ops
from ._core import ArgumentError, InvalidError
from ._creation import bernoulli
from ._dtype import as_dtype
from ._pointwise import FUNCTIONS, method
from ._products import _as_float
from ._shape import wrap_dim
from ._tensor import Tensor
from .linalg import inv, matrix_norm, vector_norm


def _public(function: Any) -> Any:
    FUNCTIONS[function.__name__] = function
    return function


def _both(function: Any) -> Any:
    return method(function, inplace=False)


@_both
def is_distributed(input: Tensor) -> bool:
    """False."""
    return False


@_public
def is_storage(obj: Any) -> bool:
    """False: there are no storages."""
    return False


@_public
def frombuffer(buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A tensor of count elements (-1: all) of a buffer's bytes, from offset on. They are copied."""
    dtype = as_dtype(dtype)
    data = memoryview(buffer).cast("B")
    if len(data) == 0 or count == 0:
        raise InvalidError(f"both buffer length ({len(data)}) and count ({count}) must not be 0")
    if not 0 <= offset < len(data):
        raise InvalidError(f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({len(data)} "
                           "bytes) minus 1")
    left = len(data) - offset
    if count < 0:
        if left % dtype.itemsize:
            raise InvalidError(f"buffer length ({left} bytes) after offset ({offset} bytes) must be a multiple of element "
                               f"size ({dtype.itemsize})")
        count = left // dtype.itemsize
    if count * dtype.itemsize > left:
        raise InvalidError(f"requested buffer length ({count} * {dtype.itemsize} bytes) after offset ({offset} bytes) must not "
                           f"be greater than actual buffer length ({len(data)} bytes)")
    made = _core.from_buffer(bytes(data[offset:offset + count * dtype.itemsize]), dtype, (count,))
    return made.requires_grad_(True) if requires_grad else made


# ---- norms ----

@_public
def frobenius_norm(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The root of the sum of squares over dims (none: all)."""
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return vector_norm(input, 2, dims or None, keepdim)


@_public
def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of the singular values of matrices in two dims."""
    if dim is None and input.dim() != 2:
        raise InvalidError("nuclear_norm: Expected a tensor with 2 dimensions when dim is not given, but got "
                           f"{input.dim()}")
    return matrix_norm(input, "nuc", (-2, -1) if dim is None else dim, keepdim)


@_public
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm of each slice along dim, kept as a dim; -1: of the whole."""
    if dim == -1:
        return FUNCTIONS["norm"](v, pow)
    dims = tuple(d for d in range(v.dim()) if d != wrap_dim(dim, v.dim()))
    return FUNCTIONS["norm"](v, pow, dims, True) if dims else v.abs()


# ---- real numbers as complex ones ----

@_both
def real(input: Tensor) -> Tensor:
    """The tensor itself: there are no complex dtypes."""
    return input


for _name in ("conj", "conj_physical", "resolve_conj", "resolve_neg"):
    def _itself(input: Tensor) -> Tensor:
        return input
    _itself.__name__, _itself.__doc__ = _name, "The tensor itself: there are no complex dtypes."
    method(_itself, inplace=False)
for _name in ("is_conj", "is_neg"):
    def _never(input: Tensor) -> bool:
        return False
    _never.__name__, _never.__doc__ = _name, "False: there are no complex dtypes."
    method(_never, inplace=False)


@_both
def imag(input: Tensor) -> Tensor:
    """RuntimeError: there are no complex dtypes."""
    raise InvalidError("imag is not implemented for tensors with non-complex dtypes.")


@_both
def angle(input: Tensor) -> Tensor:
    """pi where it is negative, else 0."""
    x = _as_float(input)
    return _ops.where(_ops.isnan(x), x, _ops.where(x < 0, math.pi, 0.0).to(x.dtype))


def _conjugate_transposed(name: str) -> property:
    def get(self: Tensor) -> Tensor:
        if name == "H" and self.dim() not in (0, 2):
            raise InvalidError(f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor.")
        return self.mT if self.dim() else self
    get.__doc__ = "The last two dims swapped."
    return property(get)


Tensor.H, Tensor.mH = _conjugate_transposed("H"), _conjugate_transposed("mH")


# ---- functions that copy what others view, and those that PyTorch calls unsafe ----

def _copying(name: str, several: bool) -> None:
    def function(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        found = getattr(input, name)(*args, **kwargs)
        return tuple(x.clone() for x in found) if several else found.clone()
    function.__name__, function.__doc__ = f"{name}_copy", f"{name}() with copies in place of views."
    _public(function)


for _name in "detach diagonal expand permute select squeeze t transpose unfold unsqueeze view".split():
    _copying(_name, False)
for _name in ("split", "split_with_sizes", "unbind"):
    _copying(_name, True)
for _name in ("chunk", "split", "split_with_sizes"):
    method(FUNCTIONS[_name], f"unsafe_{_name}", inplace=False)


@_both
def cholesky_inverse(input: Tensor, upper: bool = False) -> Tensor:
    """The inverse of L @ L.mT (L.mT @ L with upper=True) for triangles L."""
    triangle = input.triu() if upper else input.tril()
    return inv(triangle.mT @ triangle if upper else triangle @ triangle.mT)


for _name in ("is_nonzero", "is_inference", "get_device"):
    FUNCTIONS[_name] = getattr(Tensor, _name)


# ---- methods of now and then ----

def _bernoulli(self: Tensor, p: float | None = None, *, generator: Any = None) -> Tensor:
    """1 with the probability that the elements (or p) name, else 0."""
    return bernoulli(self, p, generator=generator)


def _by_python(self: Tensor, name: str, function: Any, *others: Tensor) -> Tensor:
    import numpy as np
    if self.requires_grad:
        raise InvalidError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    if not all(isinstance(x, Tensor) for x in others):
        raise ArgumentError(f"{name}(): expected Tensors")
    flat = [x.detach().expand(tuple(self.shape)).reshape(-1).tolist() for x in (self, *others)]
    made = np.asarray([function(*values) for values in zip(*flat)]).reshape(tuple(self.shape))
    return self.copy_(_core.tensor(made))


def _apply(self: Tensor, callable: Any) -> Tensor:
    """Replaces each element by what a Python function gives for it. Slow: use functions of tensors."""
    return _by_python(self, "apply_", callable)


def _map(self: Tensor, tensor: Tensor, callable: Any) -> Tensor:
    """Replaces each element by what a Python function gives for it and the other tensor's."""
    return _by_python(self, "map_", callable, tensor)


def _map2(self: Tensor, x: Tensor, y: Tensor, callable: Any) -> Tensor:
    """Replaces each element by what a Python function gives for it and those of two others."""
    return _by_python(self, "map2_", callable, x, y)


def _as_class(self: Tensor, cls: type) -> Tensor:
    """The same tensor as an instance of a subclass."""
    return self._as_subclass(cls)


def _nothing(self: Tensor, stream: Any) -> None:
    """Nothing: there are no streams."""


def _dense(self: Tensor, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
    """The tensor itself: all tensors are dense."""
    return self if dtype is None else self.to(dtype)


for _name, _method in (("bernoulli", _bernoulli), ("apply_", _apply), ("map_", _map), ("map2_", _map2),
                       ("as_subclass", _as_class), ("record_stream", _nothing), ("to_dense", _dense)):
    setattr(Tensor, _name, _method)
for _name in "is_ipu is_mkldnn is_mps is_mtia is_nested is_sparse_csr is_vulkan is_xla is_xpu".split():
    setattr(Tensor, _name, property(lambda self: False, doc="False: there is nothing of that kind."))
Tensor.name = property(lambda self: None, doc="None.")
Tensor.output_nr = property(lambda self: 0, doc="0.")
