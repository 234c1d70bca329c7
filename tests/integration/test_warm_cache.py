# SPDX-License-Identifier: Apache-2.0
"""A daemon that may not compile: with the cache of another one it runs all benchmarks and examples, with
an empty cache it says which kernel is missing, and the session lives on."""

import gzip
import json
import os
import pathlib
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))

import pytest

from test_server_ops import batch, floats, record
from wire import BURND, CODES, F32, ROOT, Daemon, frame

WORKLOADS = {"pointwise_chain", "softmax_rows", "residual_layer_norm", "square_sum", "matmul_bias_gelu", "attention_causal",
             "conv_bn_relu", "mlp_train_step", "cnn_train_step", "gpt2_train_step", "gpt2_decode", "dispatch_1000_adds"}
C_EXAMPLE = pathlib.Path(os.environ.get("BURN_EXAMPLE_C") or pathlib.Path(BURND).parents[1] / "examples/fashion_mnist")


def images(folder):
    """A small set in Fashion-MNIST's files: ten classes, each a bright row of its own."""
    rng = random.Random(1)
    for name, count in (("train", 128 * 5 + 40), ("t10k", 1000)):
        labels = bytes(rng.randrange(10) for _ in range(count))
        pixels = b"".join(bytes(28 * 2 * k) + bytes([200]) * 28 + bytes(784 - 28 * (2 * k + 1)) for k in labels)
        with gzip.open(folder / f"{name}-images-idx3-ubyte.gz", "wb", 1) as file:
            file.write(struct.pack(">4I", 2051, count, 28, 28) + pixels)
        with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz", "wb", 1) as file:
            file.write(struct.pack(">2I", 2049, count) + labels)
    return str(folder)


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-4000:])
    return done.stdout.splitlines()


def everything(daemon, data, out):
    """All workloads in both modes, and the example in both languages."""
    url = "unix://" + daemon.path
    lines = [json.loads(line) for line in run(sys.executable, ROOT / "tests/bench/burn_bench.py", "--url", url, "--min-s", 0, "--only",
                                              ",".join(sorted(WORKLOADS)))]
    assert {(line["workload"], line["mode"]) for line in lines} == {(name, mode) for name in WORKLOADS for mode in ("stream", "program")}
    assert not [line for line in lines if "error" in line], lines
    assert all(line["fallbacks"] == 0 for line in lines), lines
    python = run(sys.executable, ROOT / "examples/python/fashion_mnist.py", "--net", "mlp", "--url", url, "--data", data, "--epochs", 2, "--out", out, "--json")
    c = run(C_EXAMPLE, "--url", url, "--data", data, "--epochs", 2, "--json")
    for output in (python, c):
        assert json.loads(output[-1])["test_accuracy"] > 0.5, output[-1]
    run(sys.executable, ROOT / "examples/python/linear_regression.py", "--url", url)
    stats = daemon.connect().report("STATS")
    return lines, stats["kernels"]


@pytest.mark.skipif(not C_EXAMPLE.exists(), reason="the example in C needs zlib")
def test_a_warm_cache_is_enough_for_all(tmp_path):
    data = tmp_path / "images"
    data.mkdir()
    images(data)
    cache = f"--cache-dir={tmp_path}/cache"
    with Daemon(cache) as daemon:
        _, kernels = everything(daemon, data, tmp_path)
        assert kernels["compiles"] > 20
    files = sorted((tmp_path / "cache").glob("*/*"))
    with Daemon(cache, "--compile=never") as daemon:
        lines, kernels = everything(daemon, data, tmp_path)
        assert kernels["compiles"] == 0 and kernels["cache_hits"] > 20, kernels
        assert all(line["compiles"] == 0 for line in lines)
    assert sorted((tmp_path / "cache").glob("*/*")) == files


def test_a_cold_cache_names_the_kernel():
    with Daemon("--compile=never") as daemon:
        client = daemon.connect()
        client.put(1, F32, [2, 2], floats(1, 2, 3, 4))
        client.send(batch(2, record("exp", 1)))
        client.send(frame("GET", [1, 2]))
        fields, _ = client.expect("ERROR")
        assert fields[1] == CODES["UNAVAILABLE"], fields
        assert "compiling is off (compile=never) and this kernel is not cached: loop" in fields[2] and "exp" in fields[2], fields
        assert client.sync(2)[1] == CODES["UNAVAILABLE"]
        assert client.get(1, 3)[2] == floats(1, 2, 3, 4)
        client.send(batch(3, record("matmul", 2, 2), first_op=2))
        code, text = client.sync(4)[1:3]
        assert code == CODES["UNAVAILABLE"] and "not cached: contraction" in text
        assert client.sync(5)[1] == 0
        client.close()
