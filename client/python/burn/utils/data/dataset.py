# SPDX-License-Identifier: Apache-2.0
"""What can be loaded: by index, or as a stream."""
from __future__ import annotations

import bisect
import itertools
import math
import warnings
from typing import Any, Generic, Iterable, Iterator, Sequence, TypeVar

from ..._core import InvalidError, RangeError, UnsupportedError
from ..._creation import Generator, host_permutation
from ..._tensor import Tensor

T = TypeVar("T")


class Dataset(Generic[T]):
    """Base class: __getitem__(index), and __len__ for most uses."""

    def __getitem__(self, index: Any) -> T:
        raise UnsupportedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: "Dataset") -> "ConcatDataset":
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T]):
    """Base class of streams: __iter__(). With workers each has a stream of its own (see get_worker_info)."""

    def __iter__(self) -> Iterator[T]:
        raise UnsupportedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Dataset) -> "ChainDataset":  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset):
    """Tensors of the same first size; item i is the tuple of their rows i."""

    def __init__(self, *tensors: Tensor) -> None:
        if not all(tensors[0].size(0) == tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return self.tensors[0].size(0)


class StackDataset(Dataset):
    """Datasets side by side: items are tuples, or dicts for datasets given by name."""

    def __init__(self, *args: Dataset, **kwargs: Dataset) -> None:
        if args and kwargs:
            raise InvalidError("Supported either `tuple`- (via `args`) or `dict`- (via `kwargs`) like input/output, but "
                               "both types are given.")
        if not args and not kwargs:
            raise InvalidError("At least one dataset should be passed")
        self.datasets: Any = args or kwargs
        parts = args or tuple(kwargs.values())
        self._length = len(parts[0])  # type: ignore[arg-type]
        if any(len(part) != self._length for part in parts):  # type: ignore[arg-type]
            raise InvalidError("Size mismatch between datasets")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset):
    """Datasets one after the other."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(map(len, self.datasets)))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise InvalidError("absolute value of index should not exceed dataset length")
            index += len(self)
        place = bisect.bisect_right(self.cumulative_sizes, index)
        if place == len(self.datasets):
            raise RangeError(f"index {index} is out of range for {len(self)} items")
        return self.datasets[place][index - (self.cumulative_sizes[place - 1] if place else 0)]


class ChainDataset(IterableDataset):
    """Streams one after the other."""

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)  # type: ignore[arg-type]


class Subset(Dataset):
    """Those items of a dataset that the indices name."""

    def __init__(self, dataset: Dataset, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def _lengths(count: int, shares: Sequence[float]) -> list[int]:
    """Whole lengths from shares that sum to 1; what rounding leaves goes to the first ones, one each."""
    for number, share in enumerate(shares):
        if not 0 <= share <= 1:
            raise InvalidError(f"Fraction at index {number} is not between 0 and 1")
    lengths = [math.floor(count * share) for share in shares]
    for number in range(count - sum(lengths)):
        lengths[number % len(lengths)] += 1
    for number, length in enumerate(lengths):
        if length == 0:
            warnings.warn(f"Length of split at index {number} is 0. This might result in an empty dataset.",
                          stacklevel=3)
    return lengths


def random_split(dataset: Dataset, lengths: Sequence[float], generator: Generator | None = None) -> list[Subset]:
    """Subsets of the given lengths (or shares that sum to 1), drawn without repetition."""
    count = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _lengths(count, lengths)
    if sum(lengths) != count:
        raise InvalidError("Sum of input lengths does not equal the length of the input dataset!")
    order = host_permutation(count, generator)
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[int(end - length):int(end)]) for end, length in zip(ends, lengths)]
