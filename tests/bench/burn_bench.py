#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""burnd's figures on the reference workloads, one JSON object a line.

    burn_bench.py [--device cpu] [--mode stream,program] [--only NAME,...] [--threads N] [--url URL] [--warm]
                  [--roofline]

Modes: `stream` sends each op of each iteration; `program` registers the ops once and calls them by one
message. Every line: {"peer", "workload", "mode", "device", "dtype", "ms", "unit", "value", …}; ms is the
median wall time of one iteration after warm-up, synchronised; README.md explains the other keys. Between
iterations one element of one input changes, outside the timed span; every result is alive at the sync, and
one is compared with NumPy's. Each mode of each workload has a private daemon of its own that has compiled
nothing yet, but with --warm or --url. Besides the workloads: ping, sync, ops_batch_64, bytes_per_op,
first_step_cold and first_step_warm.
"""
import argparse
import contextlib
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
parser.add_argument("--warm", action="store_true")
parser.add_argument("--roofline", action="store_true")
parser.add_argument("--min-s", type=float, default=0.6)
args = parser.parse_args()
only = set(filter(None, args.only.split(",")))
modes = args.mode.split(",")
os.environ["BURND_DEVICE"] = args.device  # of the private daemon; the workloads' sizes follow it

import added  # noqa: E402
import burn  # noqa: E402
import data  # noqa: E402
import judge  # noqa: E402
import roofline  # noqa: E402
import workloads  # noqa: E402
from meter import Meter, counters  # noqa: E402


def line(**fields):
    print(json.dumps({"peer": f"burn {burn.__version__}", **fields}), flush=True)


def changing(tensor):
    """A function that gives the first element another value at each call."""
    numbers = itertools.count(1)

    def change():
        number = next(numbers) % 97
        tensor.view(-1)[0] = number / 128 if tensor.is_floating_point() else number
    return change


def judge_result(result, want, tolerance):
    """want: what the result is, or its leading part."""
    want = np.asarray(want)
    got = judge.seen(result[tuple(map(slice, want.shape))])
    scale = max(float(np.abs(want).max(initial=0)), 1e-30)
    error = float(np.abs(got - want).max(initial=0)) / scale
    sums = abs(float(got.sum()) - float(want.sum())) / max(float(np.abs(want).sum()), 1e-30)
    if got.shape != want.shape or not max(error, sums) <= tolerance:
        raise ValueError(f"wrong result: largest error {error:.3g} of the largest value, checksum off by {sums:.3g}")


def checksum(result):
    """What the lines of all peers can be compared by; of a GPU's large results the device makes it."""
    mean = result.float().abs().mean().item() if workloads.GPU else np.abs(judge.seen(result)).mean()
    return float(f"{mean:.5g}")


def as_tensor(x):
    return burn.tensor(x) if isinstance(x, np.ndarray) else x


def run_judged(work, mode):
    tensors = [as_tensor(x) for x in work.inputs]
    body = burn.jit(work.body) if mode == "program" else work.body
    change = changing(tensors[0])
    meter = Meter()
    result = meter.first(lambda: body(*tensors))
    with meter.aside():
        check = checksum(result)
        del result
    seconds = meter.loop(lambda: body(*tensors), change, args.min_s)
    fields = meter.fields()
    change()
    parts = [x[:n] if n else x for x, n in itertools.zip_longest(tensors, work.part, fillvalue=0)]
    judge_result(body(*tensors), work.judge(*map(judge.seen, parts)), work.tolerance)
    return seconds, {**fields, "check": check}


def made(work):
    burn.manual_seed(0)
    return work.make()


known_losses = {}  # by workload: all modes start from the same parameters


def run_training(work, mode):
    """Forward, loss, gradients, update. The first losses are judged."""
    if work.name not in known_losses:
        parameters = judge.parameters(made(work)[0])
        judged = [x if isinstance(x, np.ndarray) else judge.seen(x) for x in work.judged]
        known_losses[work.name] = judge.losses(parameters, work.judge, judged, work.steps, work.update)
    want = known_losses[work.name]
    model, optimizer = made(work)
    tensors, judged = ([as_tensor(x) for x in inputs] for inputs in (work.inputs, work.judged))

    def step(*inputs):
        optimizer.zero_grad(set_to_none=True)
        loss = work.loss(model, *inputs)
        loss.backward()
        optimizer.step()
        return loss

    body = burn.jit(step) if mode == "program" else step
    meter = Meter()
    got = [meter.first(lambda: body(*judged)).item(), *(body(*judged).item() for _ in range(work.steps - 1))]
    if not np.allclose(got, want, rtol=work.tolerance):
        raise ValueError(f"wrong losses: {got}, NumPy has {want}")
    seconds = meter.loop(lambda: body(*tensors), changing(tensors[0]), args.min_s)
    return seconds, {**meter.fields(), "check": float(f"{got[0]:.5g}")}


def run_update(work, mode):
    """Steps of an optimizer; all parameters are judged after three, with a changed gradient in between."""
    parameters = [burn.nn.Parameter(burn.tensor(a)) for a in work.parameters]
    for parameter, gradient in zip(parameters, work.gradients):
        parameter.grad = burn.tensor(gradient)
    gradients = [parameter.grad for parameter in parameters]
    optimizer = work.make(parameters)
    arrays = dict(enumerate(map(judge.as_float64, work.parameters)))

    def step():
        optimizer.step()

    body = burn.jit(step) if mode == "program" else step
    change = changing(gradients[0])
    meter = Meter()
    meter.first(body)
    with meter.aside():
        check = checksum(burn.cat([p.detach().view(-1) for p in parameters]))
        work.judge.step(arrays, dict(enumerate(map(judge.seen, gradients))))
        for _ in range(2):
            change()
            body()
            work.judge.step(arrays, dict(enumerate(map(judge.seen, gradients))))
        for number, parameter in enumerate(parameters):
            judge_result(parameter.detach(), arrays[number], 1e-5)
    seconds = meter.loop(body, change, args.min_s)
    return seconds, {**meter.fields(), "check": check}


def run_lengths(work, mode):
    """One pass over all lengths after a step of the first, then more. The milliseconds are a length's mean."""
    tensors = [burn.tensor(a) for a in work.inputs]
    body = burn.jit(work.body) if mode == "program" else work.body
    meter = Meter()
    result = meter.first(lambda: body(tensors[0]))
    with meter.aside():
        check = checksum(result)
        del result
    before, begin, passes = counters()["compiles"], time.perf_counter(), []
    while len(passes) < 3 or time.perf_counter() - begin < args.min_s:
        passes.append([timed(body, tensor) for tensor in tensors])
    fields = {**meter.fields(), **data.spread(passes, [a.shape[1] for a in work.inputs]),
              "compiles_after_first": counters()["compiles"] - before}
    for tensor, array in list(zip(tensors, work.inputs))[:3]:
        judge_result(body(tensor), work.judge(array), 1e-4)
    return float(np.median(passes[1:], 0).mean()), {**fields, "check": check}


def timed(body, tensor):
    begin = time.perf_counter()
    result = body(tensor)
    burn.sync()
    seconds = time.perf_counter() - begin
    del result
    return seconds


def run(make, measured):
    name = make.__name__
    if only and name not in only:
        return
    for mode in modes:
        try:
            with new_daemon():
                workloads.reseed()
                work = make()
                work.name = name
                before = machine.limit(name, work) if machine else {}
                seconds, fields = measured(work, mode)
                if machine:
                    ping = median_us(burn.ping, 200, busy=min(seconds, 0.002)) / 1e6
                    fields |= roofline.shares(before, machine.limit(name, work), seconds, fields.get("device_ms"), ping)
                line(workload=name, mode=mode, device=args.device, dtype=work.dtype, ms=round(seconds * 1e3, 4),
                     unit=work.unit, value=round(work.rate(seconds), 3), **fields)
        except Exception as error:  # one workload failing must not hide the others
            line(workload=name, mode=mode, error=f"{type(error).__name__}: {error}"[:300])


@contextlib.contextmanager
def new_daemon():
    if args.url or args.warm:
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BURND_CACHE_DIR"] = folder
        burn.disconnect()
        try:
            yield
        finally:
            burn.disconnect()
            del os.environ["BURND_CACHE_DIR"]


def median_us(call, count=2000, busy=0):
    """Of a call; before each, this process computes for so many seconds, in which the other processors fall asleep."""
    times = []
    for _ in range(count):
        until = time.perf_counter() + busy
        while (begin := time.perf_counter()) < until:
            pass
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e6


def run_serving():
    """Latency of a ping and of a sync through the device thread, rate and size of tiny ops."""
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


machine = None
if args.roofline:
    machine = roofline.Roofline(args.threads or len(os.sched_getaffinity(0)))
if args.threads:
    os.environ["BURND_THREADS"] = str(args.threads)
if args.url:
    burn.connect(args.url)
burn.set_default_device(args.device)
for module in (workloads, added):
    for make in module.JUDGED:
        run(make, run_judged)
    for make in module.TRAINED:
        run(make, run_training)
for make in added.UPDATES:
    run(make, run_update)
for make in added.LENGTHS:
    run(make, run_lengths)
if not only or only & {"ping", "sync", "ops_batch_64", "bytes_per_op"}:
    run_serving()
run_first_step()
