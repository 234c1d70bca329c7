# SPDX-License-Identifier: Apache-2.0
"""Datasets, samplers, loaders: what comes, in which order, and that nothing stays behind."""
import collections
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import burn
from burn.utils import data


class Squares(data.Dataset):
    def __init__(self, count):
        self.count = count

    def __getitem__(self, index):
        if index >= self.count:
            raise IndexError(index)
        return np.float32(index), index * index

    def __len__(self):
        return self.count


class Stream(data.IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        return iter(range(first, self.count, step))


def workers_alive():
    return [t for t in threading.enumerate() if t.name.startswith("DataLoader")]


# ---- datasets ----

def test_datasets_and_their_compositions():
    x = burn.arange(12.0).reshape(6, 2)
    pairs = data.TensorDataset(x, burn.arange(6))
    assert len(pairs) == 6 and pairs[2][0].tolist() == [4.0, 5.0] and pairs[-1][1].item() == 5
    both = pairs + data.TensorDataset(x + 100, burn.arange(6))
    assert len(both) == 12 and both[7][0].tolist() == [102.0, 103.0] and both[-1][1].item() == 5
    assert data.Subset(pairs, [4, 1])[1][1].item() == 1
    assert list(data.ChainDataset([Stream(2), Stream(3)])) == [0, 1, 0, 1, 2]
    stacked = data.StackDataset(a=Squares(3), b=Squares(3))
    assert stacked[2] == {"a": (2.0, 4), "b": (2.0, 4)}
    with pytest.raises(AssertionError, match="Size mismatch"):
        data.TensorDataset(x, burn.arange(5))


def test_random_split():
    parts = data.random_split(range(10), [7, 3], generator=burn.Generator().manual_seed(3))
    again = data.random_split(range(10), [0.7, 0.3], generator=burn.Generator().manual_seed(3))
    assert [len(part) for part in parts] == [7, 3]
    assert sorted([*parts[0], *parts[1]]) == list(range(10)) and list(parts[1]) == list(again[1])
    assert [len(part) for part in data.random_split(range(10), [1 / 3, 1 / 3, 1 / 3])] == [4, 3, 3]
    with pytest.raises(ValueError, match="Sum of input lengths"):
        data.random_split(range(10), [7, 4])


# ---- samplers ----

def test_samplers():
    assert list(data.SequentialSampler(range(3))) == [0, 1, 2]
    generator = burn.Generator().manual_seed(1)
    one, two = list(data.RandomSampler(range(20), generator=generator)), list(data.RandomSampler(range(20),
                                                                                                 generator=generator))
    assert sorted(one) == sorted(two) == list(range(20)) and one != two
    assert len(list(data.RandomSampler(range(3), replacement=True, num_samples=8))) == 8
    assert len(list(data.RandomSampler(range(3), num_samples=8))) == 8
    assert sorted(data.SubsetRandomSampler([5, 7, 9])) == [5, 7, 9]
    drawn = collections.Counter(data.WeightedRandomSampler([0.0, 1.0, 3.0], 4000))
    assert drawn[0] == 0 and 0.2 < drawn[1] / 4000 < 0.3
    assert list(data.BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert len(data.BatchSampler(range(5), 2, True)) == 2
    with pytest.raises(ValueError):
        data.BatchSampler(range(5), 0, False)


# ---- loaders ----

@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_come_in_their_order(workers):
    loader = data.DataLoader(Squares(11), batch_size=4, num_workers=workers)
    assert len(loader) == 3
    for _ in range(2):
        batches = list(loader)
        assert [b[0].tolist() for b in batches] == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0]]
        assert batches[1][1].dtype == burn.int64 and batches[0][0].dtype == burn.float32
    assert len(list(data.DataLoader(Squares(11), 4, drop_last=True, num_workers=workers))) == 2


@pytest.mark.parametrize("workers", [0, 2])
def test_a_tensor_dataset_shuffled(workers):
    burn.manual_seed(5)
    x = burn.arange(30.0).reshape(10, 3)
    pairs = data.TensorDataset(x, burn.arange(10))
    loader = data.DataLoader(data.Subset(pairs, list(range(2, 10))), 3, shuffle=True, num_workers=workers)
    seen = []
    for rows, numbers in loader:
        assert (rows[:, 0] / 3).long().tolist() == numbers.tolist()
        seen += numbers.tolist()
    assert sorted(seen) == list(range(2, 10)) and seen != sorted(seen)


@pytest.mark.parametrize("workers", [0, 2])
def test_streams(workers):
    loader = data.DataLoader(Stream(7), batch_size=2, num_workers=workers)
    for _ in range(2):
        batches = [b.tolist() for b in loader]
        assert sorted(sum(batches, [])) == list(range(7))
        assert batches[0] == ([0, 1] if workers == 0 else [0, 2])
    assert [x for x in data.DataLoader(Stream(3), batch_size=None)] == [0, 1, 2]


def test_collate():
    Point = collections.namedtuple("Point", "x y")
    batch = data.default_collate([{"p": Point(1, 2.5), "name": "a", "m": np.ones((2, 2))},
                                  {"p": Point(3, 4.5), "name": "b", "m": np.zeros((2, 2))}])
    assert batch["p"].x.tolist() == [1, 3] and batch["p"].y.dtype == burn.float64 and batch["name"] == ["a", "b"]
    assert batch["m"].shape == (2, 2, 2) and batch["m"].dtype == burn.float64
    with pytest.raises(RuntimeError, match="equal size"):
        data.default_collate([[1, 2], [1]])
    with pytest.raises(TypeError, match="found"):
        data.default_collate([object()])
    loader = data.DataLoader(Squares(4), 2, collate_fn=lambda samples: [n for _, n in samples])
    assert list(loader) == [[0, 1], [4, 9]]


def test_workers_are_told_who_they_are_and_end():
    started = []
    loader = data.DataLoader(Squares(8), 2, num_workers=2, worker_init_fn=started.append, prefetch_factor=1)
    batches = iter(loader)
    next(batches)
    assert sorted(started) == [0, 1] and len(workers_alive()) == 2
    del batches
    gc.collect()
    assert not workers_alive()
    kept = data.DataLoader(Squares(8), 2, num_workers=2, persistent_workers=True)
    list(kept)
    threads = workers_alive()
    list(kept)
    assert len(threads) == 2 and workers_alive() == threads
    del kept
    gc.collect()
    assert not workers_alive()


@pytest.mark.parametrize("workers", [0, 2])
def test_an_error_in_a_sample_arrives_and_ends_the_workers(workers):
    class Bad(Squares):
        def __getitem__(self, index):
            if index == 5:
                raise KeyError("sample 5")
            return super().__getitem__(index)

    seen = []
    with pytest.raises(KeyError, match="sample 5"):
        for batch in data.DataLoader(Bad(8), 2, num_workers=workers):
            seen.append(batch)
    assert len(seen) == 2
    gc.collect()
    assert not workers_alive()


def test_a_worker_that_ends_is_an_error_of_the_loop():
    """A thread's sys.exit() must not end the program that reads its batches."""
    class Leaves(Squares):
        def __getitem__(self, index):
            if index == 2:
                sys.exit(3)
            return super().__getitem__(index)

    with pytest.raises(RuntimeError, match=r"worker 1 exited unexpectedly with SystemExit\(3\)"):
        list(data.DataLoader(Leaves(8), 2, num_workers=2))
    gc.collect()
    assert not workers_alive()


@pytest.mark.parametrize("persistent", [False, True])
def test_a_loop_that_is_left_with_a_full_queue(persistent):
    made = []

    class Noted(Squares):
        def __getitem__(self, index):
            made.append(index)
            return super().__getitem__(index)

    loader = data.DataLoader(Noted(100), 2, num_workers=2, prefetch_factor=3, persistent_workers=persistent)
    for _ in loader:
        break
    time.sleep(0.1)
    assert len(made) <= 2 * (2 * 3 + 1)  # prefetch_factor batches a worker, and one for the batch that was taken
    assert sum((rows[1].tolist() for rows in loader), []) == [i * i for i in range(100)]
    del loader
    gc.collect()
    assert not workers_alive()


@pytest.mark.parametrize("place", ["sample", "body"])
def test_ctrl_c_in_a_loop_leaves_no_process(place):
    """The program ends at once by KeyboardInterrupt, whether it waits for a batch or is at work, and so does its
    daemon, whatever the workers are doing."""
    text = textwrap.dedent("""
        import os, signal, sys, threading, time
        import burn
        from burn.utils.data import DataLoader, Dataset
        signal.signal(signal.SIGINT, signal.default_int_handler)
        def tell():  # in one piece: both workers may be here
            children = open(f"/proc/self/task/{threading.main_thread().native_id}/children").read()
            os.write(1, f"now {children}\\n".encode())
        class Slow(Dataset):
            def __len__(self):
                return 100
            def __getitem__(self, index):
                if index >= 8 and sys.argv[1] == "sample":
                    tell()
                    time.sleep(60)
                return burn.ones(3) * index
        for number, batch in enumerate(DataLoader(Slow(), 4, num_workers=2)):
            batch.sum().item()
            if number == 1 and sys.argv[1] == "body":
                tell()
                time.sleep(60)
    """)
    program = subprocess.Popen([sys.executable, "-c", text, place], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env={**os.environ, "BURN_URL": "private:"})
    daemons = [int(word) for word in program.stdout.readline().split()[1:]]
    time.sleep(0.2)
    program.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, errors = program.communicate(timeout=30)
    assert program.returncode in (-signal.SIGINT, 1, 130) and "KeyboardInterrupt" in errors and "Fatal" not in errors, errors
    assert time.monotonic() - began < 10 and len(daemons) == 1
    while os.path.exists(f"/proc/{daemons[0]}"):
        if open(f"/proc/{daemons[0]}/stat").read().rpartition(")")[2].split()[0] == "Z":
            break
        assert time.monotonic() - began < 20
        time.sleep(0.02)


def test_a_worker_that_takes_too_long():
    class Slow(Squares):
        def __getitem__(self, index):
            time.sleep(0.5)
            return index

    with pytest.raises(RuntimeError, match="timed out after 0.05"):
        next(iter(data.DataLoader(Slow(2), num_workers=1, timeout=0.05)))


def test_options_that_do_not_go_together():
    for options in (dict(shuffle=True, sampler=range(3)), dict(batch_sampler=[[0]], batch_size=2),
                    dict(num_workers=-1), dict(prefetch_factor=2), dict(persistent_workers=True), dict(timeout=-1),
                    dict(batch_size=None, drop_last=True)):
        with pytest.raises(ValueError):
            data.DataLoader(Squares(3), **options)
    with pytest.raises(ValueError, match="IterableDataset"):
        data.DataLoader(Stream(3), shuffle=True)


def test_two_iterations_over_persistent_workers():
    """The later one has the workers; the earlier one says so instead of waiting for ever."""
    loader = data.DataLoader(Squares(64), batch_size=2, num_workers=2, persistent_workers=True)
    with pytest.raises(RuntimeError, match="another iteration over this DataLoader"):
        for _ in zip(loader, loader):
            pass
    assert len(list(loader)) == 32
