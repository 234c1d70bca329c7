# SPDX-License-Identifier: Apache-2.0
"""Maps over axes in another order than they lie in memory, around and beyond a tile of 64: NumPy judges."""
import itertools

import numpy as np
import pytest

import burn

random = np.random.default_rng(11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, np.bool_])
@pytest.mark.parametrize("shape", [(1, 65), (63, 64), (64, 129), (200, 3), (0, 5), (257, 66)], ids=str)
def test_matrices(shape, dtype):
    x = random.integers(0, 2 if dtype is np.bool_ else 100, shape).astype(dtype)
    t = burn.tensor(x)
    assert np.array_equal(t.t().contiguous().numpy(), x.T)
    if dtype is not np.bool_:
        assert np.array_equal((t.t() + burn.tensor(x.T.copy())).numpy(), (x.T + x.T).astype(dtype))


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_four_axes(order):
    x = random.standard_normal((5, 67, 3, 70)).astype(np.float32)
    y = random.standard_normal(np.transpose(x, order).shape).astype(np.float32)
    got = (burn.tensor(x).permute(*order) * burn.tensor(y) + burn.tensor(y[..., :1])).numpy()
    np.testing.assert_allclose(got, np.transpose(x, order) * y + y[..., :1], rtol=1e-6, atol=1e-6)


def test_two_orders_in_one_map():
    a, b = (random.standard_normal(shape).astype(np.float32) for shape in ((70, 90, 66), (66, 70, 90)))
    got = (burn.tensor(a).permute(1, 0, 2) + burn.tensor(b).permute(2, 1, 0)).numpy()
    assert np.array_equal(got, a.transpose(1, 0, 2) + b.transpose(2, 1, 0))


def test_parts_of_a_transposed_matrix():
    x = random.standard_normal((300, 200)).astype(np.float32)
    t = burn.tensor(x)
    assert np.array_equal((t.t()[3:180:2, 5:299] + 1).numpy(), x.T[3:180:2, 5:299] + 1)
    assert np.array_equal((t.flip(0).t() * 2).numpy(), x[::-1].T * 2)
