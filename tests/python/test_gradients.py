# SPDX-License-Identifier: Apache-2.0
"""Gradients of every differentiable op against central finite differences, in float64."""
import pathlib
import sys

import numpy as np
import pytest

import burn
import burn.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
from expressions import ROWS  # noqa: E402

SMALL = {3: (2, 3, 4), 2: (3, 4), 1: (5,)}


def shapes_of(row):
    shape = next((s for s in row.shapes if s and 0 not in s and len(s) in (2, 3)), (3, 4))
    return (2, 3, 4) if any(isinstance(k, str) and set(k) <= set("bmkn") for k, _ in row.inputs.values()) else \
        SMALL.get(len(shape), (3, 4))


def make(key, domain, shape, random):
    if isinstance(key, tuple):
        at = key
    elif key.startswith("x"):
        at = shape
    elif key == "one":
        at = shape[1:] if shape[0] % 2 else (1,) + shape[1:]
    elif key == "row":
        at = shape[-1:]
    else:
        sizes = {"b": 3, "m": shape[0], "k": shape[1], "n": shape[2]}
        at = tuple(sizes[letter] for letter in key)
    if isinstance(key, str) and key.endswith(":bool"):
        return random.integers(0, 2, at).astype(bool)
    if domain.startswith("<"):
        return random.integers(0, int(domain[1:]), at)
    if domain.startswith("perm"):
        return np.stack([random.permutation(at[-1]) for _ in range(int(np.prod(at[:-1])))]).reshape(at)
    if domain:
        low, high = (float(part) for part in domain[1:-1].split(","))
        return random.uniform(low, high, at)
    return random.standard_normal(at)


def flat(value):
    return [part for item in value for part in flat(item)] if isinstance(value, (tuple, list)) else [value]


def run(body, names):
    import ast
    tree = ast.parse("\n".join(part.strip() for part in body.split(";")))
    last = tree.body.pop()
    names = {"T": burn, "F": F, **names}
    exec(compile(tree, "<row>", "exec"), names)
    return [x for x in flat(eval(compile(ast.Expression(last.value), "<row>", "eval"), names))
            if isinstance(x, burn.Tensor) and x.dtype.is_floating_point and x.requires_grad]


def loss_of(outputs, weights):
    total = None
    for output, weight in zip(outputs, weights):
        term = (output.to(burn.float64) * burn.tensor(weight)).sum()
        total = term if total is None else total + term
    return total


# a slope sees through detach, a gradient does not: that is its meaning
ROWS_WITH_GRADIENT = [row for row in ROWS if row.gradient and "f" in row.dtypes and row.inputs and "detach()" not in
                      row.expression.replace("t.detach()", "").replace("w.detach()", "").replace("p.detach()", "")]


@pytest.mark.parametrize("row", ROWS_WITH_GRADIENT, ids=lambda row: row.name)
def test_gradient_is_the_slope(row):
    random = np.random.default_rng(len(row.name))
    shape = shapes_of(row)
    arrays = {name: make(key, domain, shape, random) for name, (key, domain) in row.inputs.items()}
    leaves = {n: burn.tensor(a, requires_grad=a.dtype.kind == "f") for n, a in arrays.items()}
    outputs = run(row.expression, leaves)
    weights = [random.standard_normal(tuple(o.shape)) for o in outputs]
    loss_of(outputs, weights).backward()

    def value_at(name, index, shift):
        moved = {n: a.copy() for n, a in arrays.items()}
        moved[name].reshape(-1)[index] += shift
        again = run(row.expression, {n: burn.tensor(a, requires_grad=a.dtype.kind == "f") for n, a in moved.items()})
        return loss_of(again, weights).item()

    for name, array in arrays.items():
        if array.dtype.kind != "f" or leaves[name].grad is None:
            continue
        gradient = leaves[name].grad.numpy().reshape(-1)
        step = 1e-3 if "float32" in row.expression else 1e-6
        for index in random.permutation(array.size)[:6]:
            slope = (value_at(name, index, step) - value_at(name, index, -step)) / (2 * step)
            tolerance = 1e-2 if "float32" in row.expression else 2e-5
            assert abs(slope - gradient[index]) <= tolerance * max(1.0, abs(slope), abs(gradient[index])), \
                f"{name}[{index}]: slope {slope}, gradient {gradient[index]}"


def test_gradients_of_slices_add_up():
    """Slices that lie apart, overlap, have steps, and are all of it, in any order."""
    x = burn.randn(7, 9, dtype=burn.float64, requires_grad=True)
    weights = np.random.default_rng(0).standard_normal((9, 7, 9))
    w = [burn.tensor(each) for each in weights]
    total = (x[:, 2] * w[0][:, 2]).sum() + (x[1:5, ::2] * w[1][1:5, ::2]).sum() + (x * w[2]).sum()
    total = total + (x[3:] * w[3][3:]).sum() + (x[3:] * w[4][3:]).sum() + (x[0] * w[5][0]).sum()
    total = total + (x[-2:, 4:] * w[6][-2:, 4:]).sum() + (x.t()[8] * w[7].t()[8]).sum() + (x.flip(0)[0] * w[8][0]).sum()
    want = weights[2].copy()
    want[:, 2] += weights[0][:, 2]
    want[1:5, ::2] += weights[1][1:5, ::2]
    want[3:] += weights[3][3:] + weights[4][3:]
    want[0] += weights[5][0]
    want[-2:, 4:] += weights[6][-2:, 4:]
    want[:, 8] += weights[7][:, 8]
    want[-1] += weights[8][0]
    total.backward()
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-12, atol=1e-12)


def test_gradients_of_many_slices_take_the_room_of_one():
    x = burn.randn(64, 1 << 16, requires_grad=True)  # 16 MiB
    before = burn.stats()["memory"]["pool_bytes"]
    sum(((row * row).sum() * k for k, row in enumerate(x)), burn.zeros(())).backward()
    scale = 2 * np.arange(64, dtype=np.float32)[:, None]
    np.testing.assert_allclose(x.grad.numpy(), scale * x.detach().numpy(), rtol=1e-5)
    assert burn.stats()["memory"]["pool_bytes"] - before < 256 << 20


def test_gradients_of_gradients_of_slices():
    x = burn.randn(5, 6, dtype=burn.float64, requires_grad=True)
    y = (x[:, 1] ** 3).sum() + (x[1:4] ** 3).sum() + (x[::2, 3:] ** 3).sum()
    first, = burn.autograd.grad(y, x, create_graph=True)
    (first * first).sum().backward()
    value = x.detach().numpy()
    times = np.zeros((5, 6))
    times[:, 1] += 1
    times[1:4] += 1
    times[::2, 3:] += 1
    np.testing.assert_allclose(first.detach().numpy(), 3 * times * value**2, rtol=1e-12)
    np.testing.assert_allclose(x.grad.numpy(), 36 * times**2 * value**3, rtol=1e-12)


@pytest.mark.parametrize("groups", [1, 2])
def test_sums_over_sizes_that_are_quotients(groups):
    """The weight's gradient of a group norm of what has the shape of a grouped convolution's weight."""
    x, y = burn.randn(5, 4, 8, dtype=burn.float64), burn.randn(5, 4, 3, dtype=burn.float64)
    stacked = burn.stack([x[:, 0], x[:, 1].sin(), x[:, 2], x[:, 3]], 1)
    weight, bias = (burn.randn(4, dtype=burn.float64, requires_grad=True) for _ in range(2))

    def normed(factor):
        kernel = burn._ops.conv_weight(stacked, y, (2,), (3,), (1,), (1,), groups) * factor
        rows = kernel.reshape(4, 4 // groups, 2).mean(2)
        columns = burn.stack([rows, rows.sin(), rows * 0.5, rows.cos()], 1)
        return columns, F.group_norm(columns, 4, weight, bias, 0.1)

    normed(1.0)[1].square().sum().backward()
    columns = normed(1.0)[0].detach().numpy()
    hat = (columns - columns.mean(2, keepdims=True)) / np.sqrt(columns.var(2, keepdims=True) + 0.1)
    out = hat * weight.detach().numpy()[:, None] + bias.detach().numpy()[:, None]
    np.testing.assert_allclose(weight.grad.numpy(), (2 * out * hat).sum((0, 2)), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(bias.grad.numpy(), (2 * out).sum((0, 2)), rtol=1e-9, atol=1e-9)
