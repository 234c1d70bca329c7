#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""burnd's figures on the reference workloads, one JSON object a line.

    burn_bench.py [--device cpu] [--mode stream,program] [--only NAME,...] [--threads N] [--url URL]

Modes: `stream` sends each op of each iteration; `program` registers the ops once and calls them by one
message. Every line: {"peer", "workload", "mode", "device", "dtype", "ms", "unit", "value", "launches",
"compiles", "fallbacks"}; ms is the median wall time of one iteration after warm-up, synchronised. Between
iterations one element of one input changes, outside the timed span; every result is alive at the sync, and
the checksum of one is compared with NumPy's. Besides the workloads: ping, sync, ops_batch_64,
bytes_per_op, first_step_cold and first_step_warm.
"""
import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import burn
import judge
import workloads

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


def counters():
    stats = burn.stats()
    return (stats["plans"]["launches"], stats["kernels"]["compiles"], stats["plans"]["fallbacks"])


def line(**fields):
    print(json.dumps({"peer": f"burn {burn.__version__}", **fields}), flush=True)


def measure(step, change):
    """Median seconds of an iteration, and launches of the last one. step leaves its result alive at the sync."""
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
    before = counters()[0]
    result = step()
    burn.sync()
    launches = counters()[0] - before
    del result
    return statistics.median(times), launches


def changing(tensor, array):
    """A function that gives the first element of both another value at each call."""
    numbers = itertools.count(1)

    def change():
        number = next(numbers) % 97
        value = number / 97 if array.dtype.kind == "f" else number
        tensor.view(-1)[0] = value
        array.reshape(-1)[0] = value
    return change


def judge_result(work, result, arrays):
    want = np.asarray(work.judge(*map(judge.as_float64, arrays)))
    got = result.numpy().astype(np.float64)
    scale = max(float(np.abs(want).max(initial=0)), 1e-30)
    error = float(np.abs(got - want).max(initial=0)) / scale
    sums = abs(float(got.sum()) - float(want.sum())) / max(float(np.abs(want).sum()), 1e-30)
    if got.shape != want.shape or not max(error, sums) <= work.tolerance:
        raise ValueError(f"wrong result: largest error {error:.3g} of the largest value, checksum off by {sums:.3g}")


def run_judged(work, mode):
    arrays = [a.copy() for a in work.inputs]
    tensors = [burn.tensor(a) for a in arrays]
    body = burn.jit(work.body) if mode == "program" else work.body
    change = changing(tensors[0], arrays[0])
    seconds, launches = measure(lambda: body(*tensors), change)
    change()
    judge_result(work, body(*tensors), arrays)
    return seconds, launches


def run_training(work, mode):
    """Forward, loss, gradients, update. The first losses are judged."""
    burn.manual_seed(0)
    model, optimizer = work.make()
    group = optimizer.param_groups[0]
    want = judge.adam_losses(judge.parameters(model), work.judge, work.inputs, work.steps, group["lr"],
                             group["weight_decay"])
    tensors = [burn.tensor(a) for a in work.inputs]

    def step(*inputs):
        optimizer.zero_grad(set_to_none=True)
        loss = work.loss(model, *inputs)
        loss.backward()
        optimizer.step()
        return loss

    body = burn.jit(step) if mode == "program" else step
    got = [body(*tensors).item() for _ in range(work.steps)]
    if not np.allclose(got, want, rtol=1e-3):
        raise ValueError(f"wrong losses: {got}, NumPy has {want}")
    return measure(lambda: body(*tensors), changing(tensors[0], work.inputs[0].copy()))


def run(make, measured):
    name = make.__name__
    if only and name not in only:
        return
    for mode in modes:
        try:
            work = make()
            before = counters()
            seconds, launches = measured(work, mode)
            after = counters()
            line(workload=name, mode=mode, device=args.device, dtype=work.dtype, ms=round(seconds * 1e3, 4),
                 unit=work.unit, value=round(work.rate(seconds), 3), launches=launches,
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
    x = burn.tensor(workloads.normal(16))
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
for make in workloads.JUDGED:
    run(make, run_judged)
for make in workloads.TRAINED:
    run(make, run_training)
if not only or only & {"ping", "sync", "ops_batch_64", "bytes_per_op"}:
    run_serving()
run_first_step()
