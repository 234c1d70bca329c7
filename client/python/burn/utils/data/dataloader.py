# SPDX-License-Identifier: Apache-2.0
"""DataLoader. Workers are threads: they share the connection, end with the loader, and leave no process behind."""
from __future__ import annotations

import copy
import itertools
import queue
import threading
import traceback
import weakref
from dataclasses import dataclass
from typing import Any, Callable, Iterable, Iterator

from ..._core import ArgumentError, InvalidError, RangeError
from ..._creation import Generator, draw, tensor
from .collate import default_collate, default_convert
from .dataset import Dataset, IterableDataset, Subset, TensorDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler

_local = threading.local()


@dataclass
class WorkerInfo:
    """What get_worker_info() gives within a worker; dataset is the worker's own shallow copy."""
    id: int
    num_workers: int
    seed: int
    dataset: Any


def get_worker_info() -> WorkerInfo | None:
    """Which worker this is, or None in the main thread."""
    return getattr(_local, "info", None)


class _Endless:
    """The sampler of streams: it never ends, the stream does."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class _End:
    """A worker's stream is at its end."""


class _Failure:
    def __init__(self, error: BaseException, worker: int) -> None:
        self.error, self.worker = error, worker
        self.text = traceback.format_exc()

    def raise_again(self) -> None:
        if not isinstance(self.error, Exception):  # SystemExit and the like are the worker's end, not the program's
            raise InvalidError(f"DataLoader worker {self.worker} exited unexpectedly with "
                               f"{type(self.error).__name__}({self.error}).\nOriginal {self.text}") from self.error
        text = f"Caught {type(self.error).__name__} in DataLoader worker {self.worker}.\nOriginal {self.text}"
        try:
            again = type(self.error)(text)
        except Exception:  # its constructor wants something else
            again = RuntimeError(text)
        raise again from self.error


def _rows(dataset: Any, indices: list) -> list | None:
    """A batch of a TensorDataset (or a Subset of one) by one gather, or None."""
    while isinstance(dataset, Subset) and type(dataset).__getitem__ is Subset.__getitem__:
        indices = [dataset.indices[i] for i in indices]
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or not indices or not all(type(i) is int for i in indices):
        return None
    count = len(dataset)
    for i in indices:
        if not -count <= i < count:
            raise RangeError(f"index {i} is out of bounds for dimension 0 with size {count}")
    chosen = tensor([i % count for i in indices])
    return [part.index_select(0, chosen) for part in dataset.tensors]


def _fetch(dataset: Any, index: Any, batched: bool, collate: Callable) -> Any:
    if not batched:
        return collate(dataset[index])
    if collate is default_collate:
        rows = _rows(dataset, index)
        if rows is not None:
            return rows
    many = getattr(dataset, "__getitems__", None)
    return collate(many(index) if many else [dataset[i] for i in index])


def _next_of(stream: Iterator, index: Any, batched: bool, collate: Callable, drop_last: bool) -> Any:
    if not batched:
        found = next(stream, _End)
        return found if found is _End else collate(found)
    samples = list(itertools.islice(stream, len(index)))
    if not samples or (drop_last and len(samples) < len(index)):
        return _End
    return collate(samples)


def _work(tasks: queue.SimpleQueue, results: queue.SimpleQueue, info: WorkerInfo, batched: bool, collate: Callable,
          drop_last: bool, init: Callable | None) -> None:
    """A worker's life. Each task is (epoch, number of the batch, indices)."""
    _local.info = info
    failure, stream, epoch_of_stream = None, None, -1
    try:
        if init is not None:
            init(info.id)
    except BaseException as error:
        failure = _Failure(error, info.id)
    while (task := tasks.get()) is not None:
        epoch, number, index = task
        try:
            if failure is not None:
                found: Any = failure
            elif isinstance(info.dataset, IterableDataset):
                if epoch != epoch_of_stream:
                    stream, epoch_of_stream = iter(info.dataset), epoch
                found = _next_of(stream, index, batched, collate, drop_last)
            else:
                found = _fetch(info.dataset, index, batched, collate)
        except BaseException as error:
            found = _Failure(error, info.id)
        results.put((epoch, number, found))
        del found


def _end_workers(queues: list, threads: list) -> None:
    for tasks in queues:
        tasks.put(None)
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(0.2)  # one within a long sample ends after it


class _Workers:
    def __init__(self, loader: "DataLoader") -> None:
        self.results: queue.SimpleQueue = queue.SimpleQueue()
        self.queues: list[queue.SimpleQueue] = []
        self.threads: list[threading.Thread] = []
        self.epoch = 0
        seed = sum(draw(1, loader.generator)) % (1 << 62)
        for number in range(loader.num_workers):
            tasks: queue.SimpleQueue = queue.SimpleQueue()
            info = WorkerInfo(number, loader.num_workers, seed + number, copy.copy(loader.dataset))
            thread = threading.Thread(target=_work, daemon=True, name=f"DataLoader worker {number}", args=(
                tasks, self.results, info, loader._batched, loader.collate_fn, loader.drop_last,
                loader.worker_init_fn))
            thread.start()
            self.queues.append(tasks)
            self.threads.append(thread)
        self.end = weakref.finalize(self, _end_workers, self.queues, self.threads)


def _through_workers(loader: "DataLoader", workers: _Workers) -> Iterator[Any]:
    """Batches in their order; each worker has prefetch_factor of them to do."""
    workers.epoch += 1
    epoch, indices = workers.epoch, iter(loader._index_sampler)
    live, turn = list(range(loader.num_workers)), itertools.count()
    owner: dict[int, int] = {}
    done: dict[int, Any] = {}
    sent = wanted = 0

    def send(worker: int | None = None) -> None:
        nonlocal sent
        if not live:
            return
        index = next(indices, _End)
        if index is _End:
            return
        worker = worker if worker in live else live[next(turn) % len(live)]
        owner[sent] = worker
        workers.queues[worker].put((epoch, sent, index))
        sent += 1

    for _ in range(loader.prefetch_factor or 2):
        for worker in tuple(live):
            send(worker)
    while wanted < sent:
        while wanted not in done:
            if workers.epoch != epoch:
                raise InvalidError("another iteration over this DataLoader has taken its persistent workers: finish one "
                                   "before the next, or leave persistent_workers off")
            try:
                got, number, found = workers.results.get(timeout=loader.timeout or None)
            except queue.Empty:
                raise InvalidError(f"DataLoader timed out after {loader.timeout} seconds") from None
            if got == epoch:
                done[number] = found
        found = done.pop(wanted)
        worker = owner.pop(wanted)
        wanted += 1
        if found is _End:
            if worker in live:
                live.remove(worker)
            continue
        if isinstance(found, _Failure):
            found.raise_again()
        send(worker)
        yield found


def _here(loader: "DataLoader") -> Iterator[Any]:
    if not isinstance(loader.dataset, IterableDataset):
        for index in loader._index_sampler:
            yield _fetch(loader.dataset, index, loader._batched, loader.collate_fn)
        return
    stream = iter(loader.dataset)
    for index in loader._index_sampler:
        found = _next_of(stream, index, loader._batched, loader.collate_fn, loader.drop_last)
        if found is _End:
            return
        yield found


class _Batches:
    """One epoch; `for` and next() go over it."""

    def __init__(self, loader: "DataLoader") -> None:
        self._workers = loader._take_workers()
        self._batches = _through_workers(loader, self._workers) if self._workers else _here(loader)
        self._own = self._workers is not None and not loader.persistent_workers
        self._length = len(loader) if not isinstance(loader.dataset, IterableDataset) else None

    def __iter__(self) -> "_Batches":
        return self

    def __len__(self) -> int:
        if self._length is None:
            raise ArgumentError("the length of a stream is not known")
        return self._length

    def __next__(self) -> Any:
        try:
            return next(self._batches)
        except BaseException:
            self._close()
            raise

    def _close(self) -> None:
        if self._own and self._workers is not None:
            self._workers.end()
            self._own = False

    def __del__(self) -> None:
        if getattr(self, "_own", False):
            self._close()


class DataLoader:
    """Batches of a dataset, loaded here or by num_workers threads that stay prefetch_factor batches ahead.

    Options are torch.utils.data.DataLoader's; pin_memory and multiprocessing_context change nothing."""

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None,
                 sampler: Iterable | None = None, batch_sampler: Iterable | None = None, num_workers: int = 0,
                 collate_fn: Callable | None = None, pin_memory: bool = False, drop_last: bool = False,
                 timeout: float = 0, worker_init_fn: Callable | None = None, multiprocessing_context: Any = None,
                 generator: Generator | None = None, *, prefetch_factor: int | None = None,
                 persistent_workers: bool = False, pin_memory_device: str = "", in_order: bool = True) -> None:
        if num_workers < 0:
            raise InvalidError("num_workers option should be non-negative; use num_workers=0 to disable workers.")
        if timeout < 0:
            raise InvalidError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise InvalidError("prefetch_factor option could only be specified when num_workers > 0")
        if prefetch_factor is not None and prefetch_factor < 1:
            raise InvalidError("prefetch_factor option should be positive")
        if persistent_workers and num_workers == 0:
            raise InvalidError("persistent_workers option needs num_workers > 0")
        self.dataset, self.num_workers, self.timeout = dataset, num_workers, timeout
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory, self.pin_memory_device, self.in_order = pin_memory, pin_memory_device, in_order
        self.worker_init_fn, self.generator = worker_init_fn, generator
        self.multiprocessing_context, self.persistent_workers = multiprocessing_context, persistent_workers
        self._choose_samplers(batch_size, shuffle, sampler, batch_sampler, drop_last)
        self._batched = self.batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if self._batched else default_convert)
        self._workers: _Workers | None = None

    def _choose_samplers(self, batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any,
                         drop_last: bool) -> None:
        stream = isinstance(self.dataset, IterableDataset)
        for name, given in (("shuffle", shuffle), ("sampler", sampler), ("batch_sampler", batch_sampler)):
            if stream and given not in (None, False):
                raise InvalidError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                                   f"{name}={given}")
        if sampler is not None and shuffle:
            raise InvalidError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise InvalidError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and "
                                   "drop_last")
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise InvalidError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if stream:
                sampler = _Endless()
            elif shuffle:
                sampler = RandomSampler(self.dataset, generator=self.generator)
            else:
                sampler = SequentialSampler(self.dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler, self.batch_sampler = sampler, batch_sampler

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _take_workers(self) -> _Workers | None:
        if self.num_workers == 0:
            return None
        if not self.persistent_workers:
            return _Workers(self)
        if self._workers is None:
            self._workers = _Workers(self)
        return self._workers

    def __iter__(self) -> _Batches:
        return _Batches(self)

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        count = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
