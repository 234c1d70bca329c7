# SPDX-License-Identifier: Apache-2.0
"""float16 and bfloat16: an op computes in float32 and rounds once, fused or not."""
import numpy as np
import pytest

import burn
import burn.nn.functional as F


def halves(*shape, scale=2.0, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float16)


CHAINS = {
    "square and difference": lambda x, y: x * x - y,
    "sum of products": lambda x, y: (x + y) * 0.375 - x * y,
    "quotient": lambda x, y: x / (y * y + 1) - y / (x * x + 1),
    "three products": lambda x, y: x * y * x * y * x,
}


@pytest.mark.parametrize("name", CHAINS)
def test_each_op_rounds(name):
    """NumPy's float16 does, after each operator: bit for bit, be the result stored or read in float64."""
    x, y = halves(7, 33), halves(7, 33, seed=1)
    want = CHAINS[name](x, y)
    made = CHAINS[name](burn.tensor(x), burn.tensor(y))
    np.testing.assert_array_equal(made.numpy(), want)
    wide = CHAINS[name](burn.tensor(x), burn.tensor(y)).to(burn.float64)
    np.testing.assert_array_equal(wide.numpy(), want.astype(np.float64))


@pytest.mark.parametrize("name", CHAINS)
def test_each_op_rounds_to_bfloat16(name):
    x, y = (burn.tensor(halves(7, 33, seed=seed)).to(burn.bfloat16) for seed in (0, 1))

    def rounded(values):
        bits = np.asarray(values).astype(np.float32).view(np.uint32)
        return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)

    class Rounding:  # of float32 values, to the nearest of 8 digits after each operator
        def __init__(self, values):
            self.values = rounded(values)

        def __add__(self, other):
            return Rounding(self.values + getattr(other, "values", other))

        def __sub__(self, other):
            return Rounding(self.values - other.values)

        def __mul__(self, other):
            return Rounding(self.values * getattr(other, "values", other))

        def __truediv__(self, other):
            return Rounding(self.values / other.values)

    want = CHAINS[name](Rounding(x.float().numpy()), Rounding(y.float().numpy())).values
    np.testing.assert_array_equal(CHAINS[name](x, y).float().numpy(), want)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normed(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


WHOLE = {  # op, NumPy's in float64, standard deviation of the elements
    "mean": (lambda x: x.mean(-1), lambda x: x.mean(-1), 100),
    "mean of many": (lambda x: (x.abs() + 10).mean(), lambda x: (np.abs(x) + 10).astype(np.float16).astype(float).mean(), 4),
    "var": (lambda x: x.var(-1), lambda x: x.var(-1, ddof=1), 100),
    "layer_norm": (lambda x: F.layer_norm(x, x.shape[-1:]), normed, 100),
    "rms_norm": (lambda x: F.rms_norm(x, x.shape[-1:], eps=1e-5),
                 lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5), 100),
    "softmax": (lambda x: x.softmax(-1), softmax, 3),
    "log_softmax": (lambda x: x.log_softmax(-1), lambda x: np.log(softmax(x)), 3),
    "silu": (F.silu, lambda x: x / (1 + np.exp(-x)), 3),
    "softplus": (F.softplus, lambda x: np.log1p(np.exp(x)), 3),
    "mse_loss": (lambda x: F.mse_loss(x, x * 0), lambda x: (x * x).mean(), 100),
    "norm": (lambda x: x.norm(), lambda x: np.sqrt((x * x).sum()), 40),
}


@pytest.mark.parametrize("name", WHOLE)
def test_an_op_of_many_steps_rounds_once(name):
    ours, judge, scale = WHOLE[name]
    x = halves(40, 900, scale=scale)
    want = judge(x.astype(np.float64))
    got = ours(burn.tensor(x)).numpy()
    assert got.dtype == np.float16
    np.testing.assert_allclose(got.astype(np.float64), want, rtol=2**-10, atol=2**-24)


def test_gradients_have_room():
    """Those of layer_norm hold sums of squares, which float16 does not."""
    x, w = halves(6, 900, scale=200), halves(6, 900, seed=1)
    made = burn.tensor(x, requires_grad=True)
    (F.layer_norm(made, (900,)) * burn.tensor(w)).sum().backward()
    wide = burn.tensor(x.astype(np.float64), requires_grad=True)
    (F.layer_norm(wide, (900,)) * burn.tensor(w.astype(np.float64))).sum().backward()
    np.testing.assert_allclose(made.grad.numpy(), wide.grad.numpy(), rtol=0.02, atol=2e-4)
