#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""burnd's figures on the reference workloads, one JSON object a line.

    burn_bench.py [--device cpu] [--mode stream,program] [--only NAME,...] [--threads N] [--url URL]

Modes: `stream` sends each op of each iteration; `program` registers the ops once and calls them by one
message. Every line: {"peer", "workload", "mode", "device", "dtype", "ms", "unit", "value", "launches",
"device_ms", "compiles", "fallbacks"}; ms is the median wall time of one iteration after warm-up, synchronised;
device_ms what the device itself was busy for one (0: it does not say). Between
iterations one element of one input changes, outside the timed span; every result is alive at the sync, and
the checksum of one is compared with NumPy's. Besides the workloads: ping, sync, ops_batch_64,
bytes_per_op, first_step_cold and first_step_warm.
"""
import argparse
import functools
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--device", default="cpu")
parser.add_argument("--mode", default="stream,program")
parser.add_argument("--only", default="")
parser.add_argument("--threads", type=int, default=0)
parser.add_argument("--url", default="")
parser.add_argument("--min-s", type=float, default=0.6)
args = parser.parse_args()
only = set(filter(None, args.only.split(",")))
modes = args.mode.split(",")
os.environ["BURND_DEVICE"] = args.device  # of the private daemon; the workloads' sizes follow it

import burn  # noqa: E402
import judge  # noqa: E402
import workloads  # noqa: E402


def counters():
    stats = burn.stats()
    return (stats["plans"]["launches"], stats["kernels"]["compiles"], stats["plans"]["fallbacks"],
            stats["plans"]["run_us"])


def line(**fields):
    print(json.dumps({"peer": f"burn {burn.__version__}", **fields}), flush=True)


def measure(step, change):
    """Median seconds of an iteration, launches of the last one, and its milliseconds on the device. step leaves its
    result alive at the sync."""
    for _ in range(5):
        change()
        step()
        burn.sync()
    times, start, launches = [], time.perf_counter(), 0
    while len(times) < 5 or (time.perf_counter() - start < args.min_s and len(times) < 2000):
        change()
        burn.sync()
        begin = time.perf_counter()
        result = step()
        burn.sync()
        times.append(time.perf_counter() - begin)
        del result
    change()
    burn.sync()
    before = counters()
    for _ in range(3):
        result = step()
        burn.sync()
        del result
    after = counters()
    return statistics.median(times), (after[0] - before[0]) // 3, round((after[3] - before[3]) / 3e3, 4)


def changing(tensor):
    """A function that gives the first element another value at each call."""
    numbers = itertools.count(1)

    def change():
        number = next(numbers) % 97
        tensor.view(-1)[0] = number / 128 if tensor.is_floating_point() else number
    return change


def as_numpy(tensor):
    return (tensor.float() if tensor.is_floating_point() else tensor).numpy()


def judge_result(work, result, tensors):
    seen = [x[:n] if n else x for x, n in itertools.zip_longest(tensors, work.part, fillvalue=0)]
    want = np.asarray(work.judge(*(judge.as_float64(as_numpy(x)) for x in seen)))
    got = as_numpy(result[tuple(map(slice, want.shape))]).astype(np.float64)
    scale = max(float(np.abs(want).max(initial=0)), 1e-30)
    error = float(np.abs(got - want).max(initial=0)) / scale
    sums = abs(float(got.sum()) - float(want.sum())) / max(float(np.abs(want).sum()), 1e-30)
    if got.shape != want.shape or not max(error, sums) <= work.tolerance:
        raise ValueError(f"wrong result: largest error {error:.3g} of the largest value, checksum off by {sums:.3g}")


def run_judged(work, mode):
    tensors = [burn.tensor(x) if isinstance(x, np.ndarray) else x for x in work.inputs]
    body = burn.jit(work.body) if mode == "program" else work.body
    change = changing(tensors[0])
    measured = measure(lambda: body(*tensors), change)
    change()
    judge_result(work, body(*tensors), tensors)
    return measured


@functools.lru_cache(1)
def losses_of(work):
    """What NumPy says; all modes start from the same parameters."""
    burn.manual_seed(0)
    model, optimizer = work.make()
    group = optimizer.param_groups[0]
    return judge.adam_losses(judge.parameters(model), work.judge, work.judged, work.steps, group["lr"],
                             group["weight_decay"])


def run_training(work, mode):
    """Forward, loss, gradients, update. The first losses are judged."""
    want = losses_of(work)
    burn.manual_seed(0)
    model, optimizer = work.make()
    tensors, judged = ([burn.tensor(x) for x in inputs] for inputs in (work.inputs, work.judged))

    def step(*inputs):
        optimizer.zero_grad(set_to_none=True)
        loss = work.loss(model, *inputs)
        loss.backward()
        optimizer.step()
        return loss

    body = burn.jit(step) if mode == "program" else step
    got = [body(*judged).item() for _ in range(work.steps)]
    if not np.allclose(got, want, rtol=work.tolerance):
        raise ValueError(f"wrong losses: {got}, NumPy has {want}")
    return measure(lambda: body(*tensors), changing(tensors[0]))


def run(make, measured):
    name = make.__name__
    if only and name not in only:
        return
    work = None
    for mode in modes:
        try:
            work = work or make()
            before = counters()
            seconds, launches, device_ms = measured(work, mode)
            after = counters()
            line(workload=name, mode=mode, device=args.device, dtype=work.dtype, ms=round(seconds * 1e3, 4),
                 unit=work.unit, value=round(work.rate(seconds), 3), launches=launches, device_ms=device_ms,
                 compiles=after[1] - before[1], fallbacks=after[2] - before[2])
        except Exception as error:  # one workload failing must not hide the others
            line(workload=name, mode=mode, error=f"{type(error).__name__}: {error}"[:300])


def run_serving():
    """Latency of a ping and of a sync through the device thread, rate and size of tiny ops."""
    def median_us(call, count=2000):
        times = []
        for _ in range(count):
            begin = time.perf_counter()
            call()
            times.append(time.perf_counter() - begin)
        return statistics.median(times) * 1e6

    def report(name, unit, value, milliseconds):
        line(workload=name, mode="stream", device=args.device, dtype="f32", ms=round(milliseconds, 5), unit=unit,
             value=round(value, 3))

    burn.sync()
    if not only or "ping" in only:
        us = median_us(burn.ping)
        report("ping", "us", us, us / 1e3)
    if not only or "sync" in only:
        us = median_us(burn.sync)
        report("sync", "us", us, us / 1e3)
    x = burn.rand(16)
    if not only or "ops_batch_64" in only:
        def batch():
            y = x
            for _ in range(64):
                y = y + x
            burn.sync()
        batch()
        us = median_us(batch, 500)
        report("ops_batch_64", "ops/s", 64e6 / us, us / 1e3)
    if not only or "bytes_per_op" in only:
        before = burn.bytes_sent()
        y = x
        for _ in range(1000):
            y = y + x
        burn.sync()
        sent = burn.bytes_sent() - before
        report("bytes_per_op", "bytes", sent / 1000, 0.0)


FIRST_STEP = """
import burn, burn.nn as nn, burn.nn.functional as F, burn.optim as optim
model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
optimizer = optim.Adam(model.parameters(), 1e-3)
loss = F.cross_entropy(model(burn.rand(128, 784)), burn.zeros(128, dtype=burn.int64))
loss.backward()
optimizer.step()
assert 2.0 < loss.item() < 2.7
burn.sync()
"""


def run_first_step():
    """From the start of the process, private daemon included: median of 5."""
    for name in ("first_step_cold", "first_step_warm"):
        if only and name not in only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            times = []
            for number in range(6):
                cache = os.path.join(folder, str(number) if name == "first_step_cold" else "warm")
                environment = {**os.environ, "BURND_CACHE_DIR": cache}
                environment.pop("BURN_URL", None)
                begin = time.perf_counter()
                done = subprocess.run([sys.executable, "-c", FIRST_STEP], env=environment, capture_output=True, text=True)
                times.append(time.perf_counter() - begin)
                if done.returncode:
                    line(workload=name, mode="stream", error=done.stderr.strip().splitlines()[-1][:300])
                    break
            else:
                seconds = statistics.median(times[1:])
                line(workload=name, mode="stream", device=args.device, dtype="f32", ms=round(seconds * 1e3, 2),
                     unit="s", value=round(seconds, 4))


if args.threads:
    os.environ["BURND_THREADS"] = str(args.threads)
if args.url:
    burn.connect(args.url)
burn.set_default_device(args.device)
for make in workloads.JUDGED:
    run(make, run_judged)
for make in workloads.TRAINED:
    run(make, run_training)
if not only or only & {"ping", "sync", "ops_batch_64", "bytes_per_op"}:
    run_serving()
run_first_step()
