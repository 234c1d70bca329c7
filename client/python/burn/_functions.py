# SPDX-License-Identifier: Apache-2.0
"""All functions over tensors that the package offers, gathered from their families."""
from __future__ import annotations

import inspect
from typing import Any

from ._pointwise import FUNCTIONS
from . import _compose, _reduce, _shape  # noqa: F401  (they add to FUNCTIONS)
from . import _scan, _sort, _sets, _random, _scatter, _arrange, _products, linalg, special, _signal  # noqa: F401
from . import _plain  # noqa: F401
from . import _legacy  # noqa: F401  (the older constructors)
from ._keywords import accept_keywords, accept_names
from ._shape import cat, stack
from ._tensor import Tensor

__all__ = ["FUNCTIONS", "cat", "stack"]

_DOCS = {  # of what is written as a lambda
    "is_tensor": "Whether it is a Tensor.",
    "numel": "The number of elements.", "fill": "A copy with value everywhere.",
    "detach": "The same elements without history.", "is_floating_point": "Whether the dtype is a floating-point one.",
    "is_complex": "False: there are no complex dtypes.", "is_signed": "Whether the dtype has negative numbers.",
    "fliplr": "flip of dim 1.", "flipud": "flip of dim 0.", "view_as": "view in the shape of other.",
    "reshape_as": "reshape to the shape of other.", "expand_as": "expand to the shape of other.",
    "where": "self where condition is true, else other.", "type_as": "The tensor in the dtype of other.", "cpu": "The tensor itself: values are read with numpy().",
    "contiguous": "The tensor itself if its elements lie in order, else a copy.",
    "is_contiguous": "Whether the elements lie in order, as PyTorch's strides would say.",
    "zero_": "Writes 0 everywhere.", "new_zeros": "Zeros, in this tensor's dtype.", "new_ones": "Ones, in this tensor's dtype.",
    "new_empty": "Unspecified values, in this tensor's dtype.", "new_full": "fill_value everywhere, in this tensor's dtype.",
    "new_tensor": "A copy of the data, in this tensor's dtype.",
}


def _finish(function: Any, name: str, prefix: str) -> None:
    """Errors and help() name what the user wrote."""
    if inspect.isfunction(function) and "<" in function.__qualname__:
        function.__name__, function.__qualname__ = name, prefix + name
    if inspect.isfunction(function) and not function.__doc__:
        function.__doc__ = _DOCS.get(name)


for _name, _function in FUNCTIONS.items():
    _finish(_function, _name, "")
for _name, _function in list(vars(Tensor).items()):
    _finish(_function, _name, "Tensor.")
accept_keywords(FUNCTIONS)
accept_names(Tensor)
