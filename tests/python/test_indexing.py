# SPDX-License-Identifier: Apache-2.0
"""Reading and writing by index gives NumPy's values; where the rules differ, PyTorch's are written down."""
import numpy as np
import pytest

import burn

A = np.arange(5 * 7 * 3, dtype=np.float32).reshape(5, 7, 3)
ROWS = np.array([3, 0, -1, 3])

BASIC = [0, -1, 4, np.int64(2), slice(None), slice(1, 4), slice(-3, None), slice(None, None, 2), slice(4, 1), slice(0, 99),
         slice(1, 5, 3), ..., None, (0, 1), (..., 0), (slice(None), -2), (slice(1, 3), slice(2, 6, 2), 1), (None, 2, ..., None),
         (slice(None), None, slice(0, 0)), (2, ...), (1, 2, 0), ()]
ADVANCED = [ROWS, ROWS.tolist(), (ROWS, 1), (slice(None), ROWS), (ROWS, [0, 1, 2, -7]), (ROWS, slice(1, 6, 2)),
            (slice(None), ROWS, [0, 1, 2, -1]), (..., [2, 0]), ([[0, 1], [2, 3]], [[1], [2]]), (ROWS, slice(None), [0, 1, 2, 0]),
            (None, ROWS), A > 40, (A > 40)[:, :, 0], (slice(None), (A > 40)[2]), [True, False, True, False, True],
            (np.array([True, False, False, True, False]), 2), np.zeros((5, 7), bool), np.array([], np.int64),
            (np.array([], np.int64), 0), np.uint16(3)]


def torchlike(index):
    """The same index with arrays as tensors."""
    if isinstance(index, tuple):
        return tuple(map(torchlike, index))
    return burn.tensor(index) if isinstance(index, np.ndarray) else index


@pytest.mark.parametrize("index", BASIC + ADVANCED, ids=lambda i: repr(i)[:40].replace("\n", ""))
def test_values(index):
    x = burn.tensor(A)
    np.testing.assert_array_equal(x[torchlike(index)].numpy(), A[index])
    np.testing.assert_array_equal(x[index].numpy(), A[index])  # arrays and lists as they are


@pytest.mark.parametrize("value", [7.5, "fit", "row"])
@pytest.mark.parametrize("index", BASIC + ADVANCED, ids=lambda i: repr(i)[:40].replace("\n", ""))
def test_assignment(index, value):
    want = A.copy()
    place = want[index]
    if value == "fit":  # distinct values; where an index repeats, equal ones
        value = np.broadcast_to(np.float32(-3), place.shape) if isinstance(index, (np.ndarray, list, tuple)) else -place
    elif value == "row":
        value = np.arange(place.shape[-1], dtype=np.float32) if place.ndim else np.float32(2)
    x = burn.tensor(A)
    x[torchlike(index)] = burn.tensor(value) if isinstance(value, np.ndarray) else value
    want[index] = value
    np.testing.assert_array_equal(x.numpy(), want)


def test_assignment_from_arrays_and_lists_and_other_dtypes():
    x = burn.zeros(3, 4)
    x[0] = np.arange(4, dtype=np.float64)
    x[1] = np.array([1, 2, 3, 4])
    with pytest.raises(TypeError, match="can't assign"):
        x[1] = [4, 3, 2, 1]
    x[2] = burn.tensor([1, 0, 1, 0]) > 0
    np.testing.assert_array_equal(x.numpy(), [[0, 1, 2, 3], [1, 2, 3, 4], [1, 0, 1, 0]])
    i = burn.zeros(3, dtype=burn.int64)
    i[:] = 2.75
    assert i.tolist() == [2, 2, 2]


def test_repeated_places_add_up_only_where_asked():
    x = burn.zeros(4)
    x.index_put_((burn.tensor([1, 1, 3]),), burn.tensor([1.0, 2.0, 4.0]), accumulate=True)
    assert x.tolist() == [0, 3, 0, 4]
    x[burn.tensor([1, 1])] += 10
    assert x.tolist() == [0, 13, 0, 4]


def test_augmented_assignment_through_views_and_masks():
    x, want = burn.tensor(A), A.copy()
    x[1:3, ::2] += 100
    want[1:3, ::2] += 100
    x[x > 50] *= -1
    want[want > 50] *= -1
    x[..., -1] -= x[..., 0]
    want[..., -1] -= want[..., 0]
    np.testing.assert_array_equal(x.numpy(), want)


def test_masks_as_where_never_wait():
    """x[mask] = number has no unknown size: nothing is read, so the value may still be unknown."""
    x = burn.arange(6).float()
    x[x % 2 == 0] = -1
    assert x.tolist() == [-1, 1, -1, 3, -1, 5]
    x[burn.tensor([1, 0, 0, 0, 0, 1], dtype=burn.uint8)] = 9
    assert x.tolist() == [9, 1, -1, 3, -1, 9]


def test_gradients_flow_to_the_places_read_and_from_the_places_written():
    x = burn.tensor(A, requires_grad=True)
    (x[burn.tensor([0, 0, 2])] * 2).sum().backward()
    want = np.zeros_like(A)
    want[0], want[2] = 4, 2
    np.testing.assert_array_equal(x.grad.numpy(), want)
    y, v = burn.ones(4, 3, requires_grad=True), burn.ones(3, requires_grad=True)
    z = y * 3
    z[1] = v * 5
    z[:, 0] = 0
    z.sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), [[0, 3, 3], [0, 0, 0], [0, 3, 3], [0, 3, 3]])
    np.testing.assert_array_equal(v.grad.numpy(), [0, 5, 5])


@pytest.mark.parametrize("index", [5, -6, (0, 7), (0, 0, 0, 0), (0, 0, 0, slice(None)), 1.5, "a",
                                   [0.5], (slice(None), [0, 9])])
def test_wrong_indices(index):
    x = burn.tensor(A)
    with pytest.raises((IndexError, TypeError)):
        x[index].numpy()
    assert float(x.sum()) == A.sum()


def test_wrong_masks_steps_and_values():
    x = burn.tensor(A)
    with pytest.raises(IndexError, match="mask"):
        x[burn.ones(4, dtype=burn.bool)]
    with pytest.raises(ValueError, match="step"):
        x[::-1]
    with pytest.raises(ValueError, match="step"):
        x[::0]
    with pytest.raises((RuntimeError, ValueError), match="2"):
        x[0] = burn.zeros(2)
    with pytest.raises((RuntimeError, ValueError)):
        x[burn.tensor([0, 1])] = burn.zeros(3, 7, 3)
    with pytest.raises(IndexError):
        x[burn.tensor([0]), burn.tensor([0]), burn.tensor([0]), burn.tensor([0])]
    with pytest.raises(IndexError):
        burn.tensor(3.0)[0]
    with pytest.raises(TypeError):
        del x[0]
    np.testing.assert_array_equal(x.numpy(), A)


def test_iteration_length_and_membership():
    x = burn.tensor([[1, 2], [3, 4], [5, 6]])
    assert [row.tolist() for row in x] == [[1, 2], [3, 4], [5, 6]] and len(x) == 3 and 4 in x and 9 not in x
    first, *rest = x
    assert first.tolist() == [1, 2] and len(rest) == 2
    with pytest.raises(TypeError):
        len(burn.tensor(1))
    with pytest.raises(TypeError):
        iter(burn.tensor(1))


@pytest.mark.parametrize("use", [
    lambda i: burn.rand(0, 3)[i],
    lambda i: burn.rand(0, 3).index_select(0, i),
    lambda i: burn.rand(2, 0).gather(1, i.reshape(1, 2).expand(2, 2)),
    lambda i: burn.nn.functional.embedding(i, burn.rand(0, 4)),
    lambda i: burn.rand(0, 3).scatter_add(0, i.reshape(2, 1).expand(2, 3), burn.rand(2, 3)),
    lambda i: burn.rand(0, 3).index_put((i,), burn.rand(2, 3), accumulate=True),
    lambda i: burn.nn.functional.cross_entropy(burn.rand(2, 0), i),
])
def test_no_index_is_right_for_an_empty_dim(use):
    with pytest.raises(IndexError, match="out of range"):
        use(burn.tensor([0, 0]))
    assert burn.ones(2).sum().item() == 2


def test_no_indices_into_an_empty_dim_are_fine():
    none = burn.tensor([], dtype=burn.int64)
    assert tuple(burn.rand(0, 3)[none].shape) == (0, 3)
    assert burn.rand(0, 3)[none].numpy().size == 0
