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
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim

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
random = np.random.default_rng(0)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def attention(q, k, v):
    """Causal attention by its definition."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    scores[..., ~np.tri(q.shape[-2], k.shape[-2], dtype=bool)] = -np.inf
    power = np.exp(scores - scores.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True) @ v


class Workload:
    """inputs: NumPy arrays; body(tensors) -> result; judge(arrays) -> the right result in float64."""

    def __init__(self, name, inputs, body, judge, unit, rate, dtype="f32", tolerance=1e-4):
        self.name, self.inputs, self.body, self.judge = name, inputs, body, judge
        self.unit, self.rate, self.dtype, self.tolerance = unit, rate, dtype, tolerance


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


def checked(work, result, arrays):
    want = np.asarray(work.judge(*[a.astype(np.float64) if a.dtype == np.float32 else a for a in arrays]))
    got = result.numpy().astype(np.float64)
    scale = max(float(np.abs(want).max(initial=0)), 1e-30)
    error = float(np.abs(got - want).max(initial=0)) / scale
    sums = abs(float(got.sum()) - float(want.sum())) / max(float(np.abs(want).sum()), 1e-30)
    if got.shape != want.shape or not max(error, sums) <= work.tolerance:
        raise ValueError(f"wrong result: largest error {error:.3g} of the largest value, checksum off by {sums:.3g}")


def run(work):
    if only and work.name not in only:
        return
    for mode in modes:
        try:
            arrays = [a.copy() for a in work.inputs]
            tensors = [burn.tensor(a) for a in arrays]
            body = burn.jit(work.body) if mode == "program" else work.body
            count = [0]

            def change():
                count[0] += 1
                value = float(count[0] % 97) / 97
                tensors[0].view(-1)[0] = value
                arrays[0].reshape(-1)[0] = value

            before = counters()
            seconds, launches = measure(lambda: body(*tensors), change)
            change()
            checked(work, body(*tensors), arrays)
            after = counters()
            line(workload=work.name, mode=mode, device=args.device, dtype=work.dtype, ms=round(seconds * 1e3, 4),
                 unit=work.unit, value=round(work.rate(seconds), 3), launches=launches,
                 compiles=after[1] - before[1], fallbacks=after[2] - before[2])
        except Exception as error:  # one workload failing must not hide the others
            line(workload=work.name, mode=mode, error=f"{type(error).__name__}: {error}"[:300])


def windows(x, size, padding):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    return np.lib.stride_tricks.sliding_window_view(x, (size, size), (2, 3))


def convolve(x, w, padding=0):
    """Convolution of stride 1 by one matrix product."""
    seen = windows(x, w.shape[2], padding)  # [batch, channels, height, width, size, size]
    return np.tensordot(seen, w, ((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


N, R, M = 8 << 20, 2048, 1024


def workloads():
    wanted = lambda name: not only or name in only
    if wanted("pointwise_chain"):
        yield Workload("pointwise_chain", [normal(N) for _ in range(5)],
                       lambda a, b, c, d, e: F.gelu(a * b + c, approximate="tanh") * d - e,
                       lambda a, b, c, d, e: gelu_tanh(a * b + c) * d - e, "GB/s", lambda s: 6 * 4 * N / s / 1e9)
    if wanted("softmax_rows"):
        def softmax(x):
            e = np.exp(x - x.max(-1, keepdims=True))
            return e / e.sum(-1, keepdims=True)
        yield Workload("softmax_rows", [normal(R, R)], lambda x: burn.softmax(x, -1), softmax, "GB/s",
                       lambda s: 2 * 4 * R * R / s / 1e9)
    if wanted("residual_layer_norm"):
        def norm(x, r, w, b):
            y = x + r
            centred = y - y.mean(-1, keepdims=True)
            return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + 1e-5) * w + b
        yield Workload("residual_layer_norm", [normal(R, R), normal(R, R), normal(R), normal(R)],
                       lambda x, r, w, b: F.layer_norm(x + r, (R,), w, b), norm, "GB/s",
                       lambda s: 3 * 4 * R * R / s / 1e9)
    if wanted("square_sum"):
        yield Workload("square_sum", [normal(N)], lambda x: (x * x).sum(), lambda x: (x * x).sum(), "GB/s",
                       lambda s: 4 * N / s / 1e9)
    if wanted("matmul_bias_gelu"):
        yield Workload("matmul_bias_gelu", [normal(M, M), normal(M, M), normal(M)],
                       lambda x, w, b: F.gelu(x @ w + b, approximate="tanh"),
                       lambda x, w, b: gelu_tanh(x @ w + b), "TFLOP/s", lambda s: 2 * M ** 3 / s / 1e12)
    if wanted("conv_bn_relu"):
        batch, channels, places = 4, 64, 56
        def conv_bn_relu(x, w, mean, var, gamma, beta):
            return F.relu(F.batch_norm(F.conv2d(x, w, padding=1), mean, var, gamma, beta))

        def judge(x, w, mean, var, gamma, beta):
            scale = (gamma / np.sqrt(var + 1e-5)).reshape(-1, 1, 1)
            return np.maximum((convolve(x, w, 1) - mean.reshape(-1, 1, 1)) * scale + beta.reshape(-1, 1, 1), 0)
        yield Workload("conv_bn_relu",
                       [normal(batch, channels, places, places), normal(channels, channels, 3, 3) / 24, normal(channels),
                        np.abs(normal(channels)) + 0.5, normal(channels), normal(channels)], conv_bn_relu, judge,
                       "TFLOP/s", lambda s: 2 * batch * channels * channels * 9 * places * places / s / 1e12)
    if wanted("attention_causal"):
        heads, length, width = 8, 512, 64
        yield Workload("attention_causal", [normal(1, heads, length, width) for _ in range(3)],
                       lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), attention, "TFLOP/s",
                       lambda s: 2 * heads * length * length * width / s / 1e12)
    if wanted("dispatch_1000_adds"):
        def adds(x):
            y = x
            for _ in range(1000):
                y = y + x
            return y
        yield Workload("dispatch_1000_adds", [normal(16)], adds, lambda x: x * 1001, "us/op",
                       lambda s: s * 1e6 / 1000)


def mlp():
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return model, optim.Adam(model.parameters(), 1e-3)


def numpy_losses(model, x, y, steps):
    """The losses of so many Adam steps, in float64 by NumPy: the judge of the training step."""
    p = [parameter.detach().numpy().astype(np.float64) for parameter in model.parameters()]
    m, v, losses = [np.zeros_like(a) for a in p], [np.zeros_like(a) for a in p], []
    x = x.astype(np.float64)
    rows = np.arange(len(y))
    for t in range(1, steps + 1):
        a1 = np.maximum(x @ p[0].T + p[1], 0)
        a2 = np.maximum(a1 @ p[2].T + p[3], 0)
        z = a2 @ p[4].T + p[5]
        z = z - z.max(1, keepdims=True)
        q = np.exp(z)
        total = q.sum(1, keepdims=True)
        losses.append(float((np.log(total[:, 0]) - z[rows, y]).mean()))
        d = q / total
        d[rows, y] -= 1
        d /= len(y)
        d2 = (d @ p[4]) * (a2 > 0)
        d1 = (d2 @ p[2]) * (a1 > 0)
        for i, g in enumerate((d1.T @ x, d1.sum(0), d2.T @ a1, d2.sum(0), d.T @ a2, d.sum(0))):
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.999 * v[i] + 0.001 * g * g
            p[i] -= 1e-3 / (1 - 0.9 ** t) * m[i] / (np.sqrt(v[i] / (1 - 0.999 ** t)) + 1e-8)
    return losses


def cnn():
    model = nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
                          nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10))
    return model, optim.Adam(model.parameters(), 1e-3)


def numpy_cnn_losses(model, x, y, steps):
    """As numpy_losses, of the convnet."""
    p = [parameter.detach().numpy().astype(np.float64) for parameter in model.parameters()]
    m, v, losses = [np.zeros_like(a) for a in p], [np.zeros_like(a) for a in p], []
    x, rows = x.astype(np.float64), np.arange(len(y))
    for t in range(1, steps + 1):
        a1 = np.maximum(convolve(x, p[0]) + p[1].reshape(-1, 1, 1), 0)
        a2 = np.maximum(convolve(a1, p[2]) + p[3].reshape(-1, 1, 1), 0)
        tiles = a2.reshape(*a2.shape[:2], 12, 2, 12, 2).transpose(0, 1, 2, 4, 3, 5).reshape(*a2.shape[:2], 12, 12, 4)
        best = tiles.argmax(-1)[..., None]
        flat = np.take_along_axis(tiles, best, -1).reshape(len(y), -1)
        a3 = np.maximum(flat @ p[4].T + p[5], 0)
        z = a3 @ p[6].T + p[7]
        z = z - z.max(1, keepdims=True)
        q = np.exp(z)
        total = q.sum(1, keepdims=True)
        losses.append(float((np.log(total[:, 0]) - z[rows, y]).mean()))
        d = q / total
        d[rows, y] -= 1
        d /= len(y)
        d3 = (d @ p[6]) * (a3 > 0)
        d2 = np.zeros_like(tiles)
        np.put_along_axis(d2, best, (d3 @ p[4]).reshape(best.shape), -1)
        d2 = d2.reshape(*a2.shape[:2], 12, 12, 2, 2).transpose(0, 1, 2, 4, 3, 5).reshape(a2.shape) * (a2 > 0)
        d1 = convolve(d2, p[2][:, :, ::-1, ::-1].transpose(1, 0, 2, 3), 2) * (a1 > 0)
        w2 = np.tensordot(d2, windows(a1, 3, 0), ((0, 2, 3), (0, 2, 3)))
        w1 = np.tensordot(d1, windows(x, 3, 0), ((0, 2, 3), (0, 2, 3)))
        found = (w1, d1.sum((0, 2, 3)), w2, d2.sum((0, 2, 3)), d3.T @ flat, d3.sum(0), d.T @ a3, d.sum(0))
        for i, g in enumerate(found):
            m[i] = 0.9 * m[i] + 0.1 * g
            v[i] = 0.999 * v[i] + 0.001 * g * g
            p[i] -= 1e-3 / (1 - 0.9 ** t) * m[i] / (np.sqrt(v[i] / (1 - 0.999 ** t)) + 1e-8)
    return losses


def run_training(name, make, shape, judge, steps, unit, rate):
    """A training step: forward, cross-entropy, gradients, Adam. Its first losses are judged."""
    if only and name not in only:
        return
    for mode in modes:
        try:
            x, y = normal(*shape), random.integers(0, 10, shape[0])
            burn.manual_seed(0)
            model, optimizer = make()
            want = judge(model, x, y, steps)
            tx, ty = burn.tensor(x), burn.tensor(y)

            def step(inputs, labels):
                optimizer.zero_grad(set_to_none=True)
                loss = F.cross_entropy(model(inputs), labels)
                loss.backward()
                optimizer.step()
                return loss

            body = burn.jit(step) if mode == "program" else step
            got = [body(tx, ty).item() for _ in range(steps)]
            if not np.allclose(got, want, rtol=1e-3):
                raise ValueError(f"wrong losses: {got}, NumPy has {want}")
            count = [0]

            def change():
                count[0] += 1
                tx.view(-1)[0] = float(count[0] % 97) / 97

            before = counters()
            seconds, launches = measure(lambda: body(tx, ty), change)
            after = counters()
            line(workload=name, mode=mode, device=args.device, dtype="f32", ms=round(seconds * 1e3, 4), unit=unit,
                 value=round(rate(seconds), 3), launches=launches, compiles=after[1] - before[1],
                 fallbacks=after[2] - before[2])
        except Exception as error:
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
    x = burn.tensor(normal(16))
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
for workload in workloads():
    run(workload)
run_training("mlp_train_step", mlp, (128, 784), numpy_losses, 5, "steps/s", lambda s: 1 / s)
run_training("cnn_train_step", cnn, (128, 1, 28, 28), numpy_cnn_losses, 3, "images/s", lambda s: 128 / s)
if not only or only & {"ping", "sync", "ops_batch_64", "bytes_per_op"}:
    run_serving()
run_first_step()
