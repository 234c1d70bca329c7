# SPDX-License-Identifier: Apache-2.0
"""The examples, in short forms; and their first losses against PyTorch's, from equal weights and batches."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import burn

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/python"
sys.path[:0] = [str(ROOT / "tests/data"), str(EXAMPLES)]
import example_losses  # noqa: E402

pytestmark = pytest.mark.skipif(os.environ.get("BURN_TEST_DEVICE", "cpu") != "cpu",
                                reason="the interpreter is too slow for whole networks")


def example(name, *arguments):
    """The results that an example prints."""
    done = subprocess.run([sys.executable, EXAMPLES / name, "--json", *map(str, arguments)], capture_output=True,
                          text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.parametrize("name,rtol", [("mlp", 1e-4), ("convnet", 1e-3), ("gpt", 1e-3), ("gru", 1e-3)])
def test_first_50_losses_are_pytorchs(name, rtol, tmp_path):
    file, arguments = example_losses.RUNS[name]
    example_losses.start_file(name, example_losses.shapes_of(file, arguments), tmp_path / "start.npz")
    example(file, *arguments, "--steps", 50, "--start", tmp_path / "start.npz", "--losses", tmp_path / "losses")
    want = json.loads((ROOT / "tests/data/example_losses.json").read_text())[name]
    np.testing.assert_allclose(np.loadtxt(tmp_path / "losses"), want, rtol=rtol)


def test_fashion_mnist_learns_and_saves(tmp_path):
    line = example("fashion_mnist.py", "--steps", 200, "--out", tmp_path)
    assert line["test_accuracy"] > 0.75 and line["steps"] == 200
    assert (tmp_path / "predictions.png").read_bytes().startswith(b"\x89PNG")
    state = burn.load(tmp_path / "convnet.safetensors")
    assert list(state) == [f"{i}.{p}" for i in (0, 3, 7, 9) for p in ("weight", "bias")]


def test_linear_regression():
    assert example("linear_regression.py")["final_loss"] < 1e-3


def test_char_gpt_learns_and_writes():
    assert example("char_gpt.py", "--steps", 30, "--batch", 8, "--context", 32)["final_loss"] < 3.6
    done = subprocess.run([sys.executable, EXAMPLES / "char_gpt.py", "--steps", "1", "--batch", "2", "--sample", "20"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and len(done.stdout) > 20, done.stderr


def test_names_gru_learns():
    assert example("names_gru.py", "--steps", 80, "anna")["test_accuracy"] > 0.7


def test_vae_draws(tmp_path):
    assert example("vae.py", "--steps", 100, "--out", tmp_path)["final_loss"] < 330
    assert (tmp_path / "samples.png").read_bytes().startswith(b"\x89PNG")


def test_transfer_learning():
    assert example("transfer_learning.py", "--steps", 120)["test_accuracy"] > 0.5
