# SPDX-License-Identifier: Apache-2.0
"""Errors name what is wrong and where: at once where the client can see it, at the op's line where only the daemon can."""
import ast
import pathlib
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
    (lambda: F.conv2d(burn.ones(1, 3, 8, 8), burn.ones(4, 3, 3, 3), stride=1 << 40), RuntimeError, "strides most 1099511627776"),
    *[(lambda factor=factor: F.interpolate(burn.ones(1, 3, 8, 8), scale_factor=factor), (RuntimeError, ValueError), "scale_factor")
      for factor in (0.0, -1.0, 1e300, float("inf"), float("nan"))],
])
def test_at_once_at_the_users_line(call, kinds, words):
    with pytest.raises(kinds) as error:
        call()
    for word in words.split():
        assert re.search(rf"(?<!\d){re.escape(word)}", str(error.value)), str(error.value)
    assert any(str(entry.path) == __file__ and entry.name == "<lambda>" for entry in error.traceback)


@pytest.mark.parametrize("call, kinds", [
    (lambda: burn.ones(2, 3).view(4), (burn.InvalidError, RuntimeError)), (lambda: burn.tensor([[1], [1, 2]]), (burn.InvalidError, ValueError)),
    (lambda: burn.ones(2, 3).sum(5), (burn.RangeError, IndexError)), (lambda: burn.ones(2)[0, 0], IndexError), (lambda: burn.tensor("a"), TypeError),
    (lambda: burn.cat("a"), (burn.ArgumentError, TypeError)), (lambda: nn.Linear(2, 3)("a"), TypeError), (lambda: len(burn.tensor(1)), TypeError),
    (lambda: nn.Softmax2d()(burn.ones(2)), (burn.InvalidError, RuntimeError)), (lambda: nn.Dropout(2.0), ValueError), (lambda: burn.ones(2).cuda(), RuntimeError),
    (lambda: burn.nn.init.calculate_gain("no"), ValueError), (lambda: burn.optim.SGD([], lr=0.1), ValueError), (lambda: F.gelu(burn.ones(2, dtype=burn.int64)), NotImplementedError),
    (lambda: burn.linalg.cholesky(-burn.eye(2)), burn.linalg.LinAlgError), (lambda: burn.device("tpu"), RuntimeError), (lambda: burn.ones(2).backward(), RuntimeError)])
def test_one_class_catches_all_and_pytorchs_still_do(call, kinds):
    for kind in (burn.Error, *(kinds if isinstance(kinds, tuple) else (kinds,))):
        with pytest.raises(kind) as error:
            call()
    assert error.value.code > 0


def test_no_function_raises_what_burn_error_does_not_catch():
    plain = {"RuntimeError", "ValueError", "IndexError", "TypeError", "NotImplementedError", "Exception"}
    root = pathlib.Path(burn.__file__).parent
    found = [f"{path.relative_to(root)}:{node.lineno}" for path in root.rglob("*.py") for node in ast.walk(ast.parse(path.read_text()))
             if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name) and node.exc.func.id in plain]
    assert not found, found


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


INDEX = [[0], [9]]
FAULTY = {  # what all of it stems from has an index out of range
    "gather": lambda x, y, i: burn.gather(x, 1, i),
    "of the same, again": lambda x, y, i: burn.gather(x, 1, i) * 2,
    "of the same, in a sum": lambda x, y, i: burn.gather(x, 1, i) + x,
    "of another tensor": lambda x, y, i: burn.gather(y, 1, i),
    "from the end": lambda x, y, i: burn.gather(y, 1, 2 - i),
    "a row": lambda x, y, i: x[i.flatten()],
    "embedding": lambda x, y, i: F.embedding(i, y),
    "scatter": lambda x, y, i: x.scatter(1, i, 0.0),
    "index_add": lambda x, y, i: x.index_add(0, i.flatten(), y),
    "cross_entropy": lambda x, y, i: F.cross_entropy(x, i.flatten(), reduction="none"),
    "nll_loss": lambda x, y, i: F.nll_loss(x, i.flatten()),
}


def test_every_fault_of_a_step_is_told():
    """None of them hides another: not in one kernel, not of equal ops."""
    x = burn.arange(6.0).reshape(2, 3)
    y, i, good = x + 10, burn.tensor(INDEX), burn.tensor([[0], [2]])
    burn.sync()
    for _ in range(3):  # planned, known, known
        results = {name: make(x, y, i) for name, make in FAULTY.items()}
        right = burn.gather(x, 1, good), x + 1
        for name, result in results.items():
            with pytest.raises(burn.RangeError, match="out of range"):
                pytest.fail(f"{name} gave {result.tolist()}")
        assert right[0].tolist() == [[0.0], [5.0]] and right[1].tolist() == [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
        with pytest.raises(burn.RangeError):
            burn.sync()


@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss])
def test_a_loss_out_of_range_is_told_beside_its_gradient(loss):
    x = burn.arange(6.0).reshape(2, 3).requires_grad_()
    value = loss(x, burn.tensor([0, 9]))
    value.backward()
    for read in (value, x.grad):
        with pytest.raises(burn.RangeError, match=loss.__name__):
            pytest.fail(f"gave {read.tolist()}")


def test_what_does_not_fit_spoils_nothing_else():
    w = burn.ones(3)
    burn.sync()
    x = burn.arange(4.0) + 1
    huge = burn.sort(burn.rand(1 << 42))[0]
    w, after, z = w + 1, huge[:2] * 2, burn.ones(3).cumsum(0)
    for read in (huge[0], after):
        with pytest.raises(burn.Error, match="sort|rand"):
            pytest.fail(f"gave {read.tolist()}")
    assert [v.tolist() for v in (x, w, z)] == [[1.0, 2.0, 3.0, 4.0], [2.0, 2.0, 2.0], [1.0, 2.0, 3.0]]
    for k in range(3):  # known
        w, huge = w + 1, burn.sort(burn.rand(1 << 42))[0]
        assert w.tolist() == [3.0 + k] * 3
