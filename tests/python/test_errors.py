# SPDX-License-Identifier: Apache-2.0
"""Errors name what is wrong and where: at once where the client can see it, at the op's line where only the daemon can."""
import re
import sys

import numpy as np
import pytest

import burn
import burn.nn as nn
import burn.nn.functional as F


def line_here():
    return sys._getframe(1).f_lineno


@pytest.mark.parametrize("call, kinds, words", [
    (lambda: burn.ones(3, 4) @ burn.ones(5, 6), RuntimeError, "3 4 5 6"),
    (lambda: burn.ones(3) + burn.ones(4), RuntimeError, "3 4"),
    (lambda: burn.cat([burn.ones(2, 3), burn.ones(2, 4)]), RuntimeError, "3 4"),
    (lambda: burn.ones(2, 3).reshape(4), RuntimeError, "4 2 3"),
    (lambda: burn.ones(2, 3).sum(2), IndexError, "2"),
    (lambda: burn.ones(2).gather(0, burn.ones(2)), (RuntimeError, IndexError, TypeError), "gather integers float32"),
    (lambda: F.linear(burn.ones(2, 3), burn.ones(4, 5)), RuntimeError, "2 3 4 5"),
    (lambda: F.cross_entropy(burn.ones(2, 3), burn.ones(5, dtype=burn.int64)), (RuntimeError, ValueError), "2 5"),
    (lambda: burn.ones(2) & burn.ones(2), (RuntimeError, TypeError), "float"),
    (lambda: burn.ones(2) + "a", TypeError, ""), (lambda: burn.zeros(-1), RuntimeError, "-1"),
    (lambda: nn.Linear(2, 3)(burn.ones(5)), RuntimeError, "5"),
])
def test_at_once_at_the_users_line(call, kinds, words):
    with pytest.raises(kinds) as error:
        call()
    for word in words.split():
        assert re.search(rf"(?<!\d){re.escape(word)}", str(error.value)), str(error.value)
    assert any(str(entry.path) == __file__ and entry.name == "<lambda>" for entry in error.traceback)


def test_at_the_read_with_file_and_line_of_the_op():
    table, wrong = burn.arange(8.0).reshape(4, 2), burn.tensor([0, 9])
    rows, line = F.embedding(wrong, table), line_here()
    later = rows * 2 + 1
    with pytest.raises(burn.Error) as error:
        later.numpy()
    text = str(error.value)
    assert f"{__file__}:{line}" in text and "9" in text and isinstance(error.value, IndexError), text
    assert error.value.op > 0
    assert table.sum().item() == 28  # the session goes on
    assert (burn.ones(2) + 1).tolist() == [2, 2]


@pytest.mark.parametrize("make", [
    lambda bad: burn.rand(4)[bad], lambda bad: burn.rand(4).index_select(0, bad), lambda bad: burn.rand(4).gather(0, bad),
    lambda bad: burn.zeros(4).scatter_add(0, bad, burn.ones(2)), lambda bad: F.one_hot(bad, 4),
    lambda bad: F.cross_entropy(burn.rand(2, 4), bad), lambda bad: F.nll_loss(burn.rand(2, 4), bad),
])
@pytest.mark.parametrize("value", [4, 1 << 40, -99])
def test_indices_out_of_range_inside_kernels(make, value):
    with pytest.raises((burn.Error, IndexError)) as error:
        make(burn.tensor([1, value])).numpy()
    assert isinstance(error.value, (IndexError, RuntimeError))
    assert make(burn.tensor([1, 3])).numpy() is not None


def test_sync_reports_once():
    bad = burn.rand(3)[burn.tensor([7])] + 1
    with pytest.raises(IndexError):
        burn.sync()
    burn.sync()
    with pytest.raises(IndexError):
        bad.item()


def test_gradients_of_what_failed_fail_alike_and_others_live():
    w = burn.ones(3, 2, requires_grad=True)
    good = (w * 2).sum()
    bad = F.embedding(burn.tensor([5]), w).sum()
    bad.backward()
    with pytest.raises(IndexError):
        w.grad.numpy()
    w.grad = None
    good.backward()
    assert w.grad.tolist() == [[2, 2]] * 3


def test_giant_requests_are_refused_and_the_session_lives():
    for make in (lambda: burn.zeros(1 << 40).numpy(), lambda: burn.zeros(1 << 31, 1 << 31, 1 << 31),
                 lambda: burn.ones(1).expand(1 << 62, 4), lambda: burn.arange(1 << 62).sum().item(),
                 lambda: burn.ones([1] * 40)):
        with pytest.raises((RuntimeError, MemoryError, ValueError, OverflowError)):
            make()
        assert (burn.ones(2) * 3).tolist() == [3, 3]


def test_integer_division_by_zero_and_special_values_are_no_errors():
    assert (burn.tensor([1.0, -1.0, 0.0]) / 0).tolist()[:2] == [float("inf"), float("-inf")]
    assert np.isnan((burn.tensor(0.0) / 0).item())
    (burn.tensor([5, -5]) // burn.tensor([0, 0])).numpy()  # some value; the daemon lives
    assert burn.ones(1).item() == 1


def test_locations_can_be_turned_off():
    from burn import _core
    _core.set_locations(False)
    try:
        with pytest.raises(IndexError) as error:
            burn.rand(3)[burn.tensor([7])].numpy()
        assert __file__ not in str(error.value)
    finally:
        _core.set_locations(True)
