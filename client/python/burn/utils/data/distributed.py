# SPDX-License-Identifier: Apache-2.0
"""The share of a dataset that one of several processes takes."""
from __future__ import annotations

import math
from typing import Iterator, Sized

from ..._core import InvalidError
from ..._creation import Generator, host_permutation
from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every num_replicas-th index from rank on, of an order that all ranks share: shuffled anew for each set_epoch. What does
    not divide evenly is filled up from the start, or left out with drop_last. Without numbers there is one process."""

    def __init__(self, dataset: Sized, num_replicas: int | None = None, rank: int | None = None, shuffle: bool = True,
                 seed: int = 0, drop_last: bool = False) -> None:
        self.dataset, self.shuffle, self.seed, self.drop_last, self.epoch = dataset, shuffle, seed, drop_last, 0
        self.num_replicas, self.rank = 1 if num_replicas is None else num_replicas, 0 if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise InvalidError(f"Invalid rank {self.rank}, rank should be in the interval [0, {self.num_replicas - 1}]")
        count = len(dataset)
        self.num_samples = count // self.num_replicas if drop_last and count >= self.num_replicas \
            else math.ceil(count / self.num_replicas)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            order = host_permutation(count, Generator().manual_seed(self.seed + self.epoch))
        else:
            order = list(range(count))
        if not self.drop_last and order:
            order = (order * math.ceil(self.total_size / len(order)))
        return iter(order[:self.total_size][self.rank::self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """The epoch whose order comes next."""
        self.epoch = epoch
