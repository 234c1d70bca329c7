# SPDX-License-Identifier: Apache-2.0
"""Outputs of more than 32 MiB, which leave the CPU past its caches: whole registers, and what is left at the ends."""
import numpy
import pytest

import burn

SHAPES = [(4_300_003,), (2101, 2053)]  # of 8 bytes; the second has rows that begin anywhere


def values(shape):
    return numpy.random.default_rng(7).standard_normal(shape)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_map(shape):
    x = values(shape)
    assert numpy.array_equal((burn.tensor(x) * 2 + 1).numpy(), x * 2 + 1)


def test_a_map_of_a_part():
    x = values((2, 2_200_001))
    assert numpy.array_equal((-burn.tensor(x)[:, 1:]).numpy(), -x[:, 1:])


def test_narrow_elements():
    x = values((17_000_003,)).astype(numpy.float32)
    assert numpy.array_equal((burn.tensor(x) > 0.5).numpy(), x > 0.5)
    halves = (burn.tensor(x) * 2).to(burn.float16)
    assert numpy.array_equal(halves.numpy(), (x * 2).astype(numpy.float16))


@pytest.mark.parametrize("shape", [(2101, 2053), (3, 1_500_001)])
def test_rows(shape):
    x = values(shape)
    powers = numpy.exp(x - x.max(-1, keepdims=True))
    judged = powers / powers.sum(-1, keepdims=True)
    numpy.testing.assert_allclose(burn.softmax(burn.tensor(x), -1).numpy(), judged, rtol=1e-12)
