# SPDX-License-Identifier: Apache-2.0
"""All functions over tensors that the package offers, gathered from their families."""
from ._pointwise import FUNCTIONS
from . import _reduce, _shape  # noqa: F401  (they add to FUNCTIONS)
from ._shape import cat, stack

__all__ = ["FUNCTIONS", "cat", "stack"]
