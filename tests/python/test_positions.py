# SPDX-License-Identifier: Apache-2.0
"""Where the largest and the smallest element is: the first of equals, the first NaN if there is one, and an answer also
where no element is better than none at all. NumPy judges."""
import numpy as np
import pytest

import burn

SHAPES = [(7, 1), (9, 2), (300, 10), (5, 33), (3, 130), (2, 600), (1, 100_000), (4, 70, 3)]
random = np.random.default_rng(5)


def ties(shape):
    return random.integers(0, 4, shape).astype(np.float32)


def with_nan(shape):
    x = random.standard_normal(shape).astype(np.float32)
    x.reshape(-1)[random.integers(0, x.size, max(1, x.size // 50))] = np.nan
    return x


def infinite(value):
    return lambda shape: np.full(shape, value, np.float32)


def some_infinite(shape):
    return np.where(random.random(shape) < 0.5, np.float32(-np.inf), np.float32(np.inf))


def lowest(dtype):
    return lambda shape: np.full(shape, np.iinfo(dtype).min, dtype)


def integers(dtype):
    return lambda shape: random.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape, dtype, endpoint=True)


def doubles(shape):
    return random.standard_normal(shape)


MAKERS = {"ties": ties, "nan": with_nan, "-inf": infinite(-np.inf), "inf": infinite(np.inf), "all nan": infinite(np.nan),
          "infinities": some_infinite, "lowest int32": lowest(np.int32), "int64": integers(np.int64),
          "uint8": integers(np.uint8), "float64": doubles}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("maker", MAKERS)
def test_first_of_the_best(maker, shape):
    x = MAKERS[maker](shape)
    t = burn.tensor(x)
    for dim in range(len(shape)):
        assert np.array_equal(t.argmax(dim).numpy(), x.argmax(dim)), f"argmax of dim {dim}"
        assert np.array_equal(t.argmin(dim).numpy(), x.argmin(dim)), f"argmin of dim {dim}"
    assert t.argmax().item() == x.argmax()
    assert t.argmin().item() == x.argmin()
