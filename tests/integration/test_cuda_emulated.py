# SPDX-License-Identifier: Apache-2.0
"""The cuda backend over tests/cuda/emulator: kernels of rows in all their entries against NumPy, launches that fail."""
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    folder.chmod(0o700)
    return folder


def run(code, cache, **environment):
    """What a script prints whose daemon's device is the emulated GPU."""
    head = "import numpy as np, burn, burn.nn.functional as F\nburn.set_default_device('cuda')\n"
    done = subprocess.run([sys.executable, "-c", head + textwrap.dedent(code)], capture_output=True, text=True, timeout=600, env={
        **os.environ, "LD_LIBRARY_PATH": str(ROOT / "build/release/tests/emulator"), "BURND_DEVICE": "cuda",
        "BURND": str(ROOT / "build/release/bin/burnd"), "PYTHONPATH": str(ROOT / "build/release/python"),
        "BURND_CACHE_DIR": str(cache), **environment})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines(), done.stderr


ROWS = """
    rng = np.random.default_rng(0)
    def near(got, want, limit):
        error = np.abs(got.float().numpy() - want).max() / np.abs(want).max()
        assert got.shape == want.shape and error <= limit, (got.shape, want.shape, error)
    for columns in (7, 40, 300, 1024, 8192, 8200):
        for dtype, limit in ((burn.float32, 2e-5), (burn.bfloat16, 1e-2)):
            x = burn.tensor(rng.standard_normal((3 if columns > 2000 else 37, columns)).astype(np.float32)).to(dtype)
            w = burn.tensor(rng.standard_normal(columns).astype(np.float32)).to(dtype)
            X, W = (t.float().numpy().astype(np.float64) for t in (x, w))
            e = np.exp(X - X.max(-1, keepdims=True))
            near(F.softmax(x, -1), e / e.sum(-1, keepdims=True), limit)
            near(F.log_softmax(x, -1), X - X.max(-1, keepdims=True) - np.log(e.sum(-1, keepdims=True)), limit)
            c = X - X.mean(-1, keepdims=True)
            near(F.layer_norm(x, (columns,), w, w), c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) * W + W, limit)
            near(x.float().sum(0), X.sum(0), limit)
            near(x.amax(-1), X.max(-1), 0)
            assert (x.argmax(-1).numpy() == X.argmax(-1)).all()
            near(x * w + 1, X * W + 1, limit)
            if dtype == burn.float32:
                near(x.cumsum(-1), X.cumsum(-1), limit)
                near(x.logcumsumexp(-1), np.logaddexp.accumulate(X, -1), limit)
                assert (x.argsort(-1, descending=True, stable=True).numpy() == np.argsort(-X, -1, kind="stable")).all()
    for size in (99999, 1 << 18):
        x = burn.tensor(rng.standard_normal(size).astype(np.float32))
        X = x.numpy().astype(np.float64)
        near((x * x).sum(), (X * X).sum(), 1e-6)
        assert x.argmin().item() == X.argmin()
        y = F.relu(x) * 2
        s = y.sum()
        near(s, np.maximum(X, 0).sum() * 2, 1e-6)
        near(y, np.maximum(X, 0) * 2, 1e-6)
    x = burn.tensor(rng.standard_normal((3000, 67)).astype(np.float32))
    y = x * 3
    s = y.amax(0)
    near(s, x.numpy().max(0) * np.float32(3), 0)
    near(y, x.numpy() * np.float32(3), 0)
    X, B = rng.standard_normal((3000, 67)).astype(np.float32), rng.standard_normal(67).astype(np.float32)
    b = burn.nn.Parameter(burn.tensor(B))
    optimizer, m, v, B = burn.optim.Adam([b], 0.1), 0, 0, B.astype(np.float64)
    for step in (1, 2, 3):
        optimizer.zero_grad()
        ((burn.tensor(X) + b) ** 2).mean(0).sum().backward()
        optimizer.step()
        g = 2 * (X + B).mean(0)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        B = B - 0.1 * m / (1 - 0.9 ** step) / (np.sqrt(v / (1 - 0.999 ** step)) + 1e-8)
    near(b.detach(), B, 1e-5)
    print("ok")
"""


def test_rows_in_all_entries(cache):
    assert run(ROWS, cache)[0] == ["ok"]


FAULT = """
    for number in range(6):
        try:
            print((burn.ones(1000) * number).sum().item())
        except burn.Error as error:
            print(type(error).__name__)
    assert burn.ping() < 1
"""


@pytest.mark.parametrize("how, name", [("launch", "DeviceError"), ("memory", "OutOfMemoryError")])
def test_a_failed_launch_fails_what_needs_it_only(cache, how, name):
    plain = run(FAULT, cache)[0]
    assert plain == [str(1000.0 * number) for number in range(6)]
    lines, log = run(FAULT, cache, EMULATOR_FAIL=f"{how}:2")
    assert name in lines and "cannot launch a kernel" in log
    assert [line for line in lines if line != name] == [line for line, got in zip(plain, lines) if got != name]
    assert lines[-1] == plain[-1]


def test_a_lost_device_fails_all_that_follows_and_the_daemon_stays(cache):
    lines, log = run(FAULT, cache, EMULATOR_FAIL="lost:3")
    assert lines[-1] == "DeviceLostError" and "an illegal memory access" in log
    assert lines == sorted(lines)  # figures, then errors
