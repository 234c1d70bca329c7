# SPDX-License-Identifier: Apache-2.0
"""Products and attention of each float type, in sizes that each way of cutting them into tiles takes, against NumPy in
float64 on the rounded inputs."""
import math
import os

import numpy as np
import pytest

import burn
import burn.nn.functional as F

RANDOM = np.random.default_rng(5)
TYPES = [(burn.float32, 1e-5), (burn.bfloat16, 1e-2), (burn.float16, 2e-3)]
HALVES = TYPES[1:]
# m, k, n. A GPU of many processors takes the last ones by its largest tiles, and cuts the long ones along k; the
# interpreter has no tiles.
SIZES = [(130, 96, 70), (64, 64, 64), (33, 17, 9), (3, 64, 40), (200, 264, 136), (1, 256, 24), (16, 700, 16)]
LONG = [(64, 4096, 72), (9, 5001, 33), (256, 16384, 256)]
LARGE = [(2048, 72, 2048), (2056, 65, 1992), (1100, 200, 1300)]
if os.environ["BURND_DEVICE"] != "ref":
    SIZES += LONG + LARGE


def normal(dtype, *shape):
    tensor = burn.tensor(RANDOM.standard_normal(shape).astype(np.float32)).to(dtype)
    return tensor, tensor.to(burn.float32).numpy().astype(np.float64)


def gelu(x):
    return x * 0.5 * (1 + np.vectorize(math.erf)(x / 2 ** 0.5))


def near(got, right, tolerance):
    got = got.to(burn.float32).numpy().astype(np.float64)
    assert got.shape == right.shape and np.isfinite(got).all()
    assert np.abs(got - right).max() <= tolerance * np.abs(right).max()


@pytest.mark.parametrize("dtype,tolerance", TYPES, ids=lambda value: str(value))
@pytest.mark.parametrize("m,k,n", SIZES)
def test_products_in_all_orders_of_memory(m, k, n, dtype, tolerance):
    (a, right_a), (b, right_b) = normal(dtype, m, k), normal(dtype, k, n)
    right = right_a @ right_b
    turned_a, turned_b = a.T.contiguous(), b.T.contiguous()
    burn.sync()
    for left in (a, turned_a.T):
        for other in (b, turned_b.T):
            near(left @ other, right, tolerance)


ODD = [1, 2, 15, 16, 17, 31, 33, 63, 100]
DEPTHS = [1, 16, 33, 100, 2, 31, 63, 64, 17, 127, 15]


@pytest.mark.parametrize("dtype,tolerance", TYPES, ids=lambda value: str(value))
@pytest.mark.parametrize("m", ODD)
def test_products_of_odd_sizes_with_gradients(m, dtype, tolerance):
    """The gradients are products whose operands lie the other way; each size of n in two orders of memory."""
    for i, n in enumerate(ODD):
        k = DEPTHS[(ODD.index(m) + i) % len(DEPTHS)]
        (a, right_a), (b, right_b), (seed, right_seed) = (normal(dtype, *s) for s in ((m, k), (k, n), (m, n)))
        left, other = (a.T.contiguous().T, b) if i % 2 else (a, b.T.contiguous().T)
        left, other = left.detach().requires_grad_(), other.detach().requires_grad_()
        made = F.relu(left) @ other
        made.backward(seed)
        positive = np.maximum(right_a, 0)
        near(made.detach(), positive @ right_b, tolerance)
        near(other.grad, positive.T @ right_seed, tolerance)
        near(left.grad, np.where(right_a > 0, right_seed @ right_b.T, 0), tolerance)


@pytest.mark.parametrize("dtype,tolerance", TYPES, ids=lambda value: str(value))
def test_a_fused_product_equals_its_parts(dtype, tolerance):
    (x, right_x), (w, right_w), (b, right_b) = normal(dtype, 96, 3000), normal(dtype, 40, 3000), normal(dtype, 40)
    burn.sync()
    near(F.relu(F.linear(x, w, b) * 0.5), np.maximum((right_x @ right_w.T + right_b) * 0.5, 0), 2 * tolerance)


@pytest.mark.parametrize("dtype,tolerance", TYPES, ids=lambda value: str(value))
def test_batches_that_one_side_shares(dtype, tolerance):
    (a, right_a), (b, right_b), (c, right_c) = normal(dtype, 3, 40, 24), normal(dtype, 3, 24, 72), normal(dtype, 24, 72)
    (d, right_d) = normal(dtype, 40, 24)
    burn.sync()
    near(a @ b, right_a @ right_b, tolerance)
    near(a @ c, right_a @ right_c, tolerance)
    near(d @ b, right_d @ right_b, tolerance)
    near(b.swapaxes(-1, -2) @ a.swapaxes(-1, -2), (right_a @ right_b).swapaxes(-1, -2), tolerance)
    near(F.gelu(a[:, :33, :23] @ b[:, :23, :17] + c[0, :17]), gelu(right_a[:, :33, :23] @ right_b[:, :23, :17] +
                                                                   right_c[0, :17]), 3 * tolerance)


def attention(q, k, v, reach):
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    m, n = scores.shape[-2:]
    scores = np.where(np.arange(n) - np.arange(m)[:, None] <= reach, scores, -np.inf)
    power = np.exp(scores - scores.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("dtype,tolerance", HALVES, ids=lambda value: str(value))
@pytest.mark.parametrize("m,n,k,e,causal", [
    (200, 200, 64, 64, True), (130, 130, 128, 128, True), (70, 150, 40, 72, False), (1, 65, 64, 64, False),
    (300, 64, 32, 32, False), (150, 150, 33, 17, True), (129, 129, 130, 8, True)])
def test_attention_of_halves(m, n, k, e, causal, dtype, tolerance):
    (q, right_q), (keys, right_k), (v, right_v) = (normal(dtype, 1, 2, *shape) for shape in ((m, k), (n, k), (n, e)))
    burn.sync()
    near(F.scaled_dot_product_attention(q, keys, v, is_causal=causal),
         attention(right_q, right_k, right_v, 0 if causal else n), 2 * tolerance)


def test_attention_of_views_and_of_nan():
    (x, right) = normal(burn.bfloat16, 2, 100, 3 * 2 * 64)
    burn.sync()

    def split(z, turn):
        return (turn(part) for part in (z[..., i * 128:(i + 1) * 128].reshape(2, 100, 2, 64) for i in range(3)))

    near(F.scaled_dot_product_attention(*split(x, lambda z: z.transpose(1, 2)), is_causal=True),
         attention(*split(right, lambda z: z.swapaxes(1, 2)), 0), 2e-2)
    q, k, v = (burn.ones(1, 70, 16, dtype=burn.bfloat16) for _ in range(3))
    k[0, 69] = float("nan")
    got = F.scaled_dot_product_attention(q, k, v, is_causal=True).to(burn.float32).numpy()
    assert np.isfinite(got[0, :69]).all() and np.isnan(got[0, 69]).all()
