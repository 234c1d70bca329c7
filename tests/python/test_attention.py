# SPDX-License-Identifier: Apache-2.0
"""Softmax of scores times values as one kernel, against NumPy in float64."""
import numpy as np
import pytest

import burn
from burn import _ops

SHAPES = [((2,), 5, 7, 3, 4), ((), 9, 9, 8, 8), ((2, 3), 33, 33, 16, 20), ((1,), 1, 300, 16, 17), ((2,), 3, 1, 4, 5),
          ((2,), 70, 131, 1, 33), ((3,), 97, 97, 24, 1), ((2,), 0, 5, 3, 4), ((0,), 4, 5, 3, 4), ((2,), 4, 5, 3, 0),
          ((2,), 4, 0, 3, 5), ((1,), 150, 600, 40, 100)]


def inputs(batch, m, n, k, e, dtype=np.float32):
    random = np.random.default_rng(m * 1000 + n)
    return tuple(random.standard_normal(shape).astype(dtype) for shape in ((*batch, m, k), (*batch, n, k), (*batch, n, e)))


def weights(scores):
    """The softmax over the last axis; rows of -inf are 0."""
    most = scores.max(-1, keepdims=True, initial=-np.inf)
    power = np.exp(scores - np.where(most == -np.inf, 0, most))
    total = power.sum(-1, keepdims=True)
    return power / np.where(total == 0, 1, total)


def hidden(m, n, diagonal=0):
    return np.where(np.arange(n) - np.arange(m)[:, None] <= diagonal, 0, -np.inf)


def launches(body):
    """What a body gives, and the launches of its replay."""
    for _ in range(2):
        burn.sync()
        before = burn.stats()["plans"]["launches"]
        result = body()
        burn.sync()
        count = burn.stats()["plans"]["launches"] - before
    return result.numpy(), count


@pytest.mark.parametrize("batch,m,n,k,e", SHAPES)
@pytest.mark.parametrize("causal", [False, True])
def test_products_scores_and_values_are_one_launch(batch, m, n, k, e, causal):
    q, key, v = inputs(batch, m, n, k, e)
    tq, tk, tv = map(burn.tensor, (q, key, v))

    def body():
        scores = (tq @ tk.mT) * 0.3
        return _ops.attend(_ops.causal(scores) if causal else scores, tv)
    got, count = launches(body)
    scores = q.astype(float) @ np.swapaxes(key, -1, -2) * 0.3 + (hidden(m, n) if causal else 0)
    np.testing.assert_allclose(got, weights(scores) @ v.astype(float), rtol=2e-5, atol=2e-6)
    assert count <= 1


def rounded(a):
    """The nearest numbers of bf16, ties to even."""
    bits = np.ascontiguousarray(a, np.float32).view(np.uint32)
    return ((bits + (0x7fff + (bits >> 16 & 1))) & np.uint32(0xffff0000)).view(np.float32)


@pytest.mark.parametrize("batch,m,n,k,e", SHAPES)
@pytest.mark.parametrize("causal", [False, True])
def test_bf16_is_summed_in_f32(batch, m, n, k, e, causal):
    q, key, v = map(rounded, inputs(batch, m, n, k, e))
    tq, tk, tv = (burn.tensor(a).to(burn.bfloat16) for a in (q, key, v))

    def body():
        scores = tq @ tk.mT
        return _ops.attend(_ops.causal(scores) if causal else scores, tv).float()
    got, _ = launches(body)
    scores = rounded(q.astype(float) @ np.swapaxes(key, -1, -2)) + (hidden(m, n) if causal else 0)
    want = rounded(weights(scores)).astype(float) @ v
    scale = np.abs(want).max(initial=1)
    np.testing.assert_allclose(got, want, rtol=2**-7, atol=2**-8 * scale)
    if want.size:
        assert np.abs(got - want).mean() < 2**-9 * scale


@pytest.mark.parametrize("diagonal", [-100, -3, -1, 0, 2, 40, 1000])
def test_diagonals(diagonal):
    q, key, v = inputs((2,), 83, 61, 8, 9)
    scores = burn.tensor(q) @ burn.tensor(key).mT
    want = weights(q.astype(float) @ np.swapaxes(key, -1, -2) + hidden(83, 61, diagonal)) @ v.astype(float)
    np.testing.assert_allclose(_ops.attend(_ops.causal(scores, diagonal), burn.tensor(v)).numpy(), want, rtol=2e-5, atol=2e-6)


def test_scores_may_be_anything():
    """Biases, masks that broadcast, a function of the scores, scores from memory, f64."""
    q, key, v = inputs((2, 3), 21, 37, 8, 9, np.float64)
    random = np.random.default_rng(1)
    bias, mask = random.standard_normal((3, 1, 37)), random.integers(0, 2, (2, 1, 21, 37)).astype(bool)
    tq, tk, tv, tb, tm = map(burn.tensor, (q, key, v, bias, mask))
    product = q @ np.swapaxes(key, -1, -2)
    for got, scores in (
            (_ops.attend(tq @ tk.mT + tb, tv), product + bias),
            (_ops.attend((tq @ tk.mT).masked_fill(~tm, float("-inf")), tv), np.where(mask, product, -np.inf)),
            (_ops.attend((tq @ tk.mT).tanh() * 30, tv), np.tanh(product) * 30),
            (_ops.attend(burn.tensor(product), tv), product),
            (_ops.attend(tq @ tk.mT, tv.exp()).relu() - 1, None)):
        want = weights(scores) @ v if scores is not None else np.maximum(weights(product) @ np.exp(v), 0) - 1
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-12, atol=1e-13)


def test_rows_without_a_key_and_nan():
    scores = np.random.default_rng(2).standard_normal((4, 50)).astype(np.float32)
    scores[1] = -np.inf
    scores[2, 7] = np.nan
    v = np.ones((50, 3), np.float32)
    got = _ops.attend(burn.tensor(scores), burn.tensor(v)).numpy()
    np.testing.assert_allclose(got[[0, 3]], 1, rtol=1e-6)
    np.testing.assert_array_equal(got[1], 0)
    assert np.isnan(got[2]).all()


def test_gradients():
    q, key, v = inputs((2,), 11, 13, 4, 5, np.float64)
    tq, tk, tv = (burn.tensor(a, requires_grad=True) for a in (q, key, v))
    g = np.random.default_rng(3).standard_normal((2, 11, 5))
    (_ops.attend(_ops.causal(tq @ tk.mT, 1), tv) * burn.tensor(g)).sum().backward()
    p = weights(q @ np.swapaxes(key, -1, -2) + hidden(11, 13, 1))
    gp = g @ np.swapaxes(v, -1, -2)
    gs = p * (gp - (gp * p).sum(-1, keepdims=True))
    np.testing.assert_allclose(tv.grad.numpy(), np.swapaxes(p, -1, -2) @ g, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(tq.grad.numpy(), gs @ key, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(tk.grad.numpy(), np.swapaxes(gs, -1, -2) @ q, rtol=1e-11, atol=1e-13)


def test_wrong_shapes():
    with pytest.raises(RuntimeError, match=r"\[2, 3, 4\].*\[2, 5, 6\]"):
        _ops.attend(burn.zeros(2, 3, 4), burn.zeros(2, 5, 6))
    with pytest.raises(RuntimeError):
        _ops.attend(burn.zeros(3, 4, dtype=burn.int64), burn.zeros(4, 6, dtype=burn.int64))
