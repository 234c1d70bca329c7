# SPDX-License-Identifier: Apache-2.0
"""Every op that its row alone says how to call: fused, unfused and interpreted (ref) agree, values and gradients.

Inputs come from the domains in ops.toml, allowed differences from its tolerances (through conformance/ops_gen.json)."""
import json
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

TABLE = json.loads((pathlib.Path(__file__).resolve().parents[1] / "conformance" / "ops_gen.json").read_text())
SIZES = (0, 1, 7, 131)
ALL = ("broadcast", "same", "same_dim", "triangle", "flip", "reduce", "reduce_some", "reduce_one", "point_loss",
       "like_inputs", "scalar", "shape", "count")
LISTS = {"dims": (1,), "shape": None}
NUMBERS = {"dim": 1, "dtype": 2, "count": None, "seed": 7, "offset": 3, "reduction": 1}


def callable_by_row(op):
    return op["shape"] in ALL and op["name"] not in ("cast", "full") and isinstance(op["outputs"], int)


def inputs_of(op, size, random):
    """One array or number an input; a smaller shape for later inputs of ops that broadcast."""
    values = []
    for place, one in enumerate(op["inputs"]):
        low, high = one["domain"]
        shape = (3, size)
        if op["shape"] == "broadcast" and place:
            shape = (size,) if place == 1 else (3, 1)
        if one["role"] in ("param", "number"):
            values.append(float(random.uniform(low, high)) if one["name"] != "step" else 3)
        elif one["role"] == "condition":
            values.append(random.integers(0, 2, shape).astype(bool))
        elif one["role"] == "index" or op["dtype"] == "promote_integer":
            values.append(random.integers(max(low, 0), max(high, 1), shape))
        else:
            values.append(random.uniform(low, high, shape).astype(np.float32))
    return values


def attrs_of(op, size):
    values = []
    for attr in op["attrs"]:
        if attr["name"] in LISTS:
            values.append(LISTS[attr["name"]] or (3, size))
        elif attr["name"] == "dtype" and op["dtype"] in ("sum", "mean"):
            values.append(None)
        else:
            values.append({"count": size}.get(attr["name"], NUMBERS.get(attr["name"])))
    return tuple(values)


def results():
    """Arrays by (op, size): outputs, then gradients."""
    import burn
    from burn import _core
    found = {}
    for op in filter(callable_by_row, TABLE):
        for size in SIZES:
            if size == 0 and op["shape"] in ("reduce_some", "reduce_one"):
                continue
            random = np.random.default_rng([op["number"], size])
            leaves, inputs = [], []
            for one, value in zip(op["inputs"], inputs_of(op, size, random)):
                if isinstance(value, np.ndarray):
                    value = burn.tensor(value, requires_grad=value.dtype == np.float32 and op["differentiable"])
                    leaves += [value] if value.requires_grad else []
                inputs.append(value)
            count = op["outputs"] + (op["name"] in ADDS_AN_OUTPUT)
            outputs = _core.apply(op["number"], tuple(inputs), attrs_of(op, size), outputs=count)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            rooted = [x for x in outputs if x.requires_grad]
            gradients = burn.autograd.grad([(x * x).sum() for x in rooted], leaves, allow_unused=True) if rooted else ()
            found[op["name"], size] = [None if x is None else x.detach().numpy() for x in (*outputs, *gradients)]
    return found


ADDS_AN_OUTPUT = ("adam_step", "adamw_step", "rmsprop_step", "rmsprop_centered_step")  # for an optional input


def close(a, b, factor):
    finite = np.abs(b[np.isfinite(b)], dtype=float) if b.dtype.kind == "f" else np.zeros(0)
    scale = max(1.0, finite.max(initial=0.0))
    return np.allclose(a, b, rtol=1e-5 * factor, atol=1e-6 * factor * scale, equal_nan=True)


def in_a_process(**environment):
    done = subprocess.run([sys.executable, __file__], env={**os.environ, **environment}, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    return pickle.loads(done.stdout)


@pytest.fixture(scope="module")
def here():
    return in_a_process()


def test_most_ops_are_here():
    assert sum(map(callable_by_row, TABLE)) > 110


@pytest.mark.parametrize("environment", [{"BURND_FUSION": "off"}, {"BURND_DEVICE": "ref"}], ids=["unfused", "ref"])
def test_agrees(here, environment):
    there = in_a_process(**environment)
    tolerance = {op["name"]: op["tolerance"] for op in TABLE}
    wrong = []
    assert here.keys() == there.keys()
    for key, mine in here.items():
        for place, (a, b) in enumerate(zip(mine, there[key], strict=True)):
            if (a is None) != (b is None):
                wrong.append(f"{key} {place}: one is missing")
            elif a is not None and (a.shape != b.shape or a.dtype != b.dtype or not close(a, b, tolerance[key[0]])):
                wrong.append(f"{key} {place}: {a.ravel()[:4]} and {b.ravel()[:4]}")
    assert not wrong, "\n".join(wrong)


if __name__ == "__main__":
    sys.stdout.buffer.write(pickle.dumps(results()))
