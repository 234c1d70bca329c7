# SPDX-License-Identifier: Apache-2.0
"""A vector over one number: IEEE quotients, as NumPy's, also where a reciprocal would go astray."""
import numpy as np
import pytest

import burn

TINY = np.float32(2.0) ** -149
EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, TINY, -TINY, 2.0**-127, 2.0**-126, 1e-30, 1e30, 3.4028235e38,
                  -3.4028235e38, 1.0, 3.0, 49.0, 1 / 3, 7e-5], np.float32)


@pytest.mark.parametrize("divisor", EDGES)
def test_quotients_by_a_number(divisor):
    random = np.random.default_rng(7)
    ordinary = random.standard_normal(997).astype(np.float32) * np.float32(10) ** random.integers(-20, 20, 997).astype(np.float32)
    x = np.concatenate([EDGES, ordinary, np.arange(300, dtype=np.float32)])
    with np.errstate(all="ignore"):
        want = x / divisor
        got = (burn.tensor(x) / float(divisor)).numpy()
        rows = (burn.tensor(x).reshape(1, -1) / burn.tensor([divisor]).sum(0, keepdim=True)).numpy()[0]
    for each in (got, rows):
        subnormal = np.abs(want) < 2.0**-100  # the last step rounds twice there
        np.testing.assert_array_equal(each[~subnormal], want[~subnormal])
        assert np.all(np.abs(each[subnormal].astype(np.float64) - want[subnormal]) <= np.maximum(np.abs(want[subnormal]) * 2.0**-23, TINY))


def test_a_row_over_its_largest_is_one():
    x = np.random.default_rng(3).uniform(0.1, 100, (57, 211)).astype(np.float32)
    t = burn.tensor(x)
    assert np.all((t / t.amax(1, keepdim=True)).numpy().max(1) == 1)
