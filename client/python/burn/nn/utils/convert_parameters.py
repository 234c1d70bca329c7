# SPDX-License-Identifier: Apache-2.0
"""Parameters as one flat vector, and back."""
from __future__ import annotations

from typing import Iterable

from ..._core import ArgumentError
from ..._functions import cat
from ..._tensor import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All elements of all parameters, one after another."""
    return cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Writes the elements of a vector over the parameters, in order."""
    if not isinstance(vec, Tensor):
        raise ArgumentError(f"expected burn.Tensor, but got: {type(vec).__name__}")
    at = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.data = vec[at:at + count].detach().reshape(tuple(parameter.shape)).to(parameter.dtype)
        at += count
