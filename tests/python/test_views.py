# SPDX-License-Identifier: Apache-2.0
"""Views share with their base as in PyTorch, although values in the daemon are immutable; versions guard gradients."""
import numpy as np
import pytest

import burn

VIEWS = {
    "row": lambda x: x[1], "part": lambda x: x[1:3, ::2], "transposed": lambda x: x.T, "permuted": lambda x: x.permute(1, 0),
    "reshaped": lambda x: x.reshape(3, 8), "flat": lambda x: x.view(-1), "unsqueezed": lambda x: x.unsqueeze(1),
    "detached": lambda x: x.detach(), "narrowed": lambda x: x.narrow(1, 2, 3), "selected": lambda x: x.select(1, -1),
    "of views": lambda x: x.T[1:5].unsqueeze(0)[..., 2], "split": lambda x: x.split(2)[1], "chunk": lambda x: x.chunk(3, 1)[2],
    "unbound": lambda x: x.unbind(1)[3], "swapped": lambda x: x.unflatten(1, (2, 3)).transpose(0, 2),
}


def base_array():
    return np.arange(24, dtype=np.float32).reshape(4, 6)


def numpy_view(name, a):
    return {"row": lambda: a[1], "part": lambda: a[1:3, ::2], "transposed": lambda: a.T, "permuted": lambda: a.T,
            "reshaped": lambda: a.reshape(3, 8), "flat": lambda: a.reshape(-1), "unsqueezed": lambda: a[:, None],
            "detached": lambda: a[:], "narrowed": lambda: a[:, 2:5], "selected": lambda: a[:, -1],
            "of views": lambda: a.T[1:5][None][..., 2], "split": lambda: a[2:4], "chunk": lambda: a[:, 4:],
            "unbound": lambda: a[:, 3], "swapped": lambda: a.reshape(4, 2, 3).transpose(2, 1, 0)}[name]()


@pytest.mark.parametrize("name", VIEWS)
def test_writes_show_both_ways(name):
    a = base_array()
    x = burn.tensor(a)
    view, av = VIEWS[name](x), numpy_view(name, a)
    np.testing.assert_array_equal(view.numpy(), av)
    view.mul_(10)
    av *= 10
    np.testing.assert_array_equal(x.numpy(), a)
    x[1:3] = -1
    a[1:3] = -1
    np.testing.assert_array_equal(view.numpy(), av)
    x.add_(0.5)
    a += 0.5
    view[...] = view * 2
    av[...] = av * 2
    np.testing.assert_array_equal(x.numpy(), a)
    np.testing.assert_array_equal(view.numpy(), av)
    assert view._is_view and view._version == x._version


def test_two_views_of_one_base():
    x = burn.zeros(4, 4)
    rows, columns = x[1], x[:, 1]
    rows += 1
    columns += 10
    assert rows.tolist() == [1, 11, 1, 1] and columns.tolist() == [10, 11, 10, 10]
    diagonalish = x.view(-1)[::5]
    diagonalish.fill_(7)
    assert rows.tolist() == [1, 7, 1, 1] and float(x.sum()) == 7 * 4 + 10 * 3 + 1 * 3


def test_a_view_outlives_its_base_and_copies_do_not_share():
    x = burn.arange(6).reshape(2, 3)
    view, copy = x[0], x.clone()
    del x
    view += 10
    assert view.tolist() == [10, 11, 12] and copy.tolist() == [[0, 1, 2], [3, 4, 5]]
    y = burn.arange(3)
    z = y.reshape(3)
    z += 1
    assert y.tolist() == [1, 2, 3]
    t = burn.arange(6).reshape(2, 3).T
    flat = t.reshape(6)  # cannot be a view
    flat += 1
    assert t.tolist() == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        t.view(6)


def test_numpy_results_never_alias():
    x = burn.zeros(3)
    a = x.numpy()
    a += 1
    assert x.tolist() == [0, 0, 0]
    x += 2
    assert a.tolist() == [1, 1, 1]


def test_versions_count_writes():
    x = burn.ones(3)
    v = x._version
    x.add_(1).mul_(2)
    x[0] = 5
    assert x._version == v + 3
    y = x.detach()
    y.zero_()
    assert x._version == v + 4 and x.tolist() == [0, 0, 0]


def test_gradients_are_of_the_values_that_were_used():
    """PyTorch refuses (its saved tensor was overwritten); here a saved value stays what it was."""
    x = burn.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    z = (y * y).sum()
    y.add_(1)
    z.backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([2.0, 4.0]), rtol=1e-6)
    a = burn.tensor([1.0, 2.0], requires_grad=True)
    b = a + 1
    c = b.sum()
    b.mul_(3)
    (c + b.sum()).backward()
    assert a.grad.tolist() == [4, 4]


def test_gradients_of_written_tensors():
    x = burn.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 2
    y[1:].mul_(10)
    y.sqrt_()
    y.sum().backward()
    want = [2 / (2 * np.sqrt(2)), 20 / (2 * np.sqrt(40)), 20 / (2 * np.sqrt(60))]
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-6)


def test_leaves_and_expanded_memory_refuse_writes():
    x = burn.ones(3, requires_grad=True)
    for write in (lambda: x.add_(1), lambda: x[0:1].zero_(), lambda: x.__setitem__(0, 1.0), lambda: x.relu_()):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad|view of a leaf"):
            write()
    with burn.no_grad():
        x.add_(1)
    assert x.tolist() == [2, 2, 2] and x.requires_grad and x.is_leaf
    with pytest.raises(RuntimeError, match="single memory location|expanded"):
        burn.zeros(1).expand(3).add_(1)
    i = burn.ones(2, dtype=burn.int64)
    with pytest.raises(RuntimeError, match="cast|can't be"):
        i.add_(0.5)
    with pytest.raises((RuntimeError, ValueError)):
        burn.ones(2).add_(burn.ones(2, 2))


def test_self_overlapping_sources():
    a = np.arange(8.0)
    x = burn.tensor(a)
    x[1:] = x[:-1]
    a[1:] = a[:-1].copy()
    assert x.tolist() == a.tolist()
    m = burn.arange(9).reshape(3, 3)
    m += m.T
    assert m.tolist() == [[0, 4, 8], [4, 8, 12], [8, 12, 16]]
    m.copy_(m.T.clone())
    x.data = burn.ones(2)
    assert x.shape == (2,) and x.tolist() == [1, 1]


def test_a_write_through_a_view_moves_nothing():
    """The base's memory is written where it lies: one launch stores the slice, none copies the base."""
    want = np.arange(12, dtype=np.float32).reshape(3, 4)
    x = burn.tensor(want)
    for step in range(3):
        burn.sync()
        before = burn.stats()["plans"]["launches"]
        x.view(-1)[5] = float(step)
        burn.sync()
        assert burn.stats()["plans"]["launches"] - before == 1
        want[1, 1] = step
        np.testing.assert_array_equal(x.numpy(), want)
