# SPDX-License-Identifier: Apache-2.0
"""Batches out of samples."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..._core import ArgumentError, InvalidError
from ..._creation import from_numpy, tensor
from ..._dtype import float64
from ..._functions import stack
from ..._tensor import Tensor


def _is_array(value: Any) -> bool:
    return type(value).__module__ == "numpy" and hasattr(value, "__array_interface__")


def default_convert(data: Any) -> Any:
    """Arrays of NumPy, at any depth, as tensors."""
    if isinstance(data, Tensor) or isinstance(data, (str, bytes)):
        return data
    if _is_array(data):
        return data if data.dtype.kind in "SUO" else from_numpy(data) if data.ndim else tensor(data)
    if isinstance(data, Mapping):
        return type(data)({key: default_convert(value) for key, value in data.items()})  # type: ignore[call-arg]
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(default_convert(item) for item in data))
    if isinstance(data, (tuple, list)):
        return [default_convert(item) for item in data]
    return data


def default_collate(batch: Any) -> Any:
    """One batch of a list of samples: tensors and arrays are stacked, numbers become a tensor, tuples, lists and dicts
    are gone through, texts stay a list."""
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch), 0)
    if _is_array(first):
        import numpy as np
        if first.dtype.kind in "SUO":
            raise ArgumentError("default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; "
                                f"found {first.dtype}")
        return from_numpy(np.stack(batch)) if first.ndim else tensor(np.array(batch))
    if isinstance(first, float):
        return tensor(batch, dtype=float64)
    if isinstance(first, int):
        return tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        made = {key: default_collate([sample[key] for sample in batch]) for key in first}
        try:
            return type(first)(made)  # type: ignore[call-arg]
        except TypeError:
            return made
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise InvalidError("each element in list of batch should be of equal size")
        columns = [default_collate(list(column)) for column in zip(*batch)]
        return type(first)(*columns) if hasattr(first, "_fields") else columns
    raise ArgumentError(f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
                        f"{type(first)}")
