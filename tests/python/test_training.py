# SPDX-License-Identifier: Apache-2.0
"""Training as users do it: what a repeated step must not cost."""
import os
import subprocess
import sys

import numpy as np
import pytest

import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim

DEVICE = os.environ.get("BURN_TEST_DEVICE", "cpu")


class Steps:
    """A small MLP whose batch size may change from step to step."""

    def __init__(self):
        self.model = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 10))
        self.optimizer = optim.Adam(self.model.parameters(), 1e-3)
        self.random = np.random.default_rng(0)

    def __call__(self, batch, read="never"):
        x = burn.tensor(self.random.standard_normal((batch, 12)).astype(np.float32))
        y = burn.tensor(self.random.integers(0, 10, batch))
        loss = F.cross_entropy(self.model(x), y)
        if read == "before":
            assert np.isfinite(loss.item())
        self.optimizer.zero_grad()
        loss.backward()
        if read == "between":
            assert np.isfinite(loss.item())
        self.optimizer.step()
        if read == "after":
            assert np.isfinite(loss.item())


@pytest.mark.parametrize("read", ["never", "before", "between", "after"])
def test_more_steps_of_any_batch_size_analyse_and_compile_nothing(read):
    step = Steps()
    for _ in range(3):
        step(32, read)
    burn.sync()
    before = burn.stats()
    sizes = [32] * 50 + [int(n) for n in np.random.default_rng(1).integers(2, 258, 46)] + [10, 12, 16, 2]
    for batch in sizes:
        step(batch, read)
    burn.sync()
    after = burn.stats()
    assert after["kernels"]["compiles"] == before["kernels"]["compiles"]
    assert after["plans"]["analyses"] == before["plans"]["analyses"]
    assert after["plans"]["fallbacks"] == 0
    assert after["plans"]["replays"] - before["plans"]["replays"] >= 100


def test_optimizer_updates_are_one_launch():
    parameters = [nn.Parameter(burn.ones(n, 3)) for n in (2, 5, 7, 11, 13)]
    optimizer = optim.Adam(parameters, lr=0.1)
    for _ in range(3):
        for parameter in parameters:
            parameter.grad = burn.ones_like(parameter)
        burn.sync()
        before = burn.stats()["plans"]["launches"]
        optimizer.step()
        burn.sync()
        launches = burn.stats()["plans"]["launches"] - before
    assert launches == 1
    np.testing.assert_allclose(parameters[3].detach().numpy(), 0.7, rtol=1e-5)


@pytest.mark.skipif(DEVICE != "cpu", reason="the interpreter has no objects to keep")
def test_a_warm_cache_needs_no_compiler(tmp_path):
    script = ("import burn, burn.nn as nn, burn.nn.functional as F\n"
              "m = nn.Sequential(nn.Linear(7, 9), nn.GELU(), nn.LayerNorm(9), nn.Linear(9, 4))\n"
              "F.cross_entropy(m(burn.ones(5, 7)), burn.zeros(5, dtype=burn.int64)).backward()\n"
              "print(float(m[0].weight.grad.abs().sum()), burn.stats()['kernels'])\n")
    environment = {**os.environ, "BURND_CACHE_DIR": str(tmp_path)}
    environment.pop("BURN_URL", None)
    for extra in ({}, {"BURND_COMPILE": "never"}):
        done = subprocess.run([sys.executable, "-c", "import burn; burn.manual_seed(1)\n" + script],
                              env={**environment, **extra}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        if extra:
            assert done.stdout.split()[0] == first.split()[0] and "'compiles': 0" in done.stdout
        first = done.stdout
