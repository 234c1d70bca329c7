# SPDX-License-Identifier: Apache-2.0
"""Autograd as PyTorch defines it: when graphs end, what accumulates, which modes record, second derivatives."""
import gc
import threading
import weakref

import numpy as np
import pytest

import burn
import burn.nn.functional as F


def leaf(values, dtype=burn.float64):
    return burn.tensor(values, dtype=dtype, requires_grad=True)


def test_gradients_accumulate_and_are_the_same_object():
    x = leaf([1.0, 2.0])
    (x ** 2).sum().backward()
    grad = x.grad
    (x ** 3).sum().backward()
    assert x.grad is grad and x.grad.tolist() == [2 + 3, 4 + 12]
    x.grad = None
    assert x.grad is None
    x.grad = burn.ones(2, dtype=burn.float64)
    x.sum().backward()
    assert x.grad.tolist() == [2, 2]
    with pytest.raises((RuntimeError, ValueError, TypeError)):
        x.grad = burn.ones(3, dtype=burn.float64)


def test_backward_twice():
    x = leaf(3.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    z = x * x * x
    z.backward(retain_graph=True)
    z.backward()
    assert x.grad.item() == 6 + 27 + 27
    with pytest.raises(RuntimeError, match="second time"):
        z.backward()


def test_shared_parts_of_freed_graphs():
    x = leaf([1.0, 2.0])
    middle = x.exp()
    (middle * 2).sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        (middle * 3).sum().backward()
    a = leaf([1.0])
    b = a + 1  # needs no saved value: PyTorch allows it again
    b.sum().backward()
    assert a.grad.tolist() == [1]


def test_roots_that_have_no_gradient():
    with pytest.raises(RuntimeError, match="does not require grad"):
        burn.ones(()).backward()
    x = leaf([1.0, 2.0])
    with pytest.raises(RuntimeError, match="scalar outputs"):
        (x * 2).backward()
    (x * 2).backward(burn.tensor([1.0, 10.0], dtype=burn.float64))
    assert x.grad.tolist() == [2, 20]
    with pytest.raises(RuntimeError, match="[Mm]ismatch"):
        (x * 2).backward(burn.ones(3, dtype=burn.float64))
    with pytest.raises(RuntimeError):
        leaf([1.0]).detach().requires_grad_(False).sum().backward()
    with pytest.raises(RuntimeError):
        burn.tensor([1, 2], requires_grad=True)


def test_grad_function():
    x, y, unused = leaf([1.0, 2.0]), leaf([3.0, 4.0]), leaf([1.0])
    out = (x * y).sum()
    gx, gy = burn.autograd.grad(out, [x, y], retain_graph=True)
    assert gx.tolist() == [3, 4] and gy.tolist() == [1, 2] and x.grad is None
    with pytest.raises(RuntimeError, match="unused|not have been used"):
        burn.autograd.grad(out, [x, unused], retain_graph=True)
    g, none = burn.autograd.grad(out, [x, unused], retain_graph=True, allow_unused=True)
    assert none is None and not g.requires_grad
    g, zero = burn.autograd.grad(out, (x, unused), materialize_grads=True)
    assert zero.tolist() == [0]
    middle = x * 2
    g, = burn.autograd.grad((middle ** 2).sum(), middle)
    assert g.tolist() == [4, 8]
    g, = burn.autograd.grad(x * y, x, grad_outputs=burn.tensor([1.0, 0.5], dtype=burn.float64))
    assert g.tolist() == [3, 2]
    both, = burn.autograd.grad([(x * 2).sum(), (x * x).sum()], [x])
    assert both.tolist() == [4, 6]


def test_second_and_third_order():
    x = leaf([0.5, 1.5])
    y = (x ** 4).sum()
    g1, = burn.autograd.grad(y, x, create_graph=True)
    g2, = burn.autograd.grad(g1.sum(), x, create_graph=True)
    g3, = burn.autograd.grad(g2.sum(), x)
    np.testing.assert_allclose(g1.detach().numpy(), 4 * np.array([0.5, 1.5]) ** 3, rtol=1e-12)
    np.testing.assert_allclose(g2.detach().numpy(), 12 * np.array([0.5, 1.5]) ** 2, rtol=1e-12)
    np.testing.assert_allclose(g3.numpy(), 24 * np.array([0.5, 1.5]), rtol=1e-12)
    assert g1.requires_grad and not g3.requires_grad


def test_gradient_penalty_through_backward_with_create_graph():
    w, x = leaf([[0.5, -1.0], [2.0, 0.25]]), leaf([[1.0, 2.0]])
    loss = burn.tanh(x @ w).sum()
    g, = burn.autograd.grad(loss, x, create_graph=True)
    ((g ** 2).sum()).backward()
    h = 1e-6
    def penalty(a):
        t = 1 - np.tanh(x.detach().numpy() @ a) ** 2
        return ((t @ a.T) ** 2).sum()
    base, want = w.detach().numpy(), np.zeros((2, 2))
    for i in np.ndindex(2, 2):
        up, down = base.copy(), base.copy()
        up[i] += h
        down[i] -= h
        want[i] = (penalty(up) - penalty(down)) / (2 * h)
    np.testing.assert_allclose(w.grad.numpy(), want, rtol=1e-6, atol=1e-8)


def test_detach_and_requires_grad():
    x = leaf([1.0, 2.0])
    y = (x * 2).detach()
    assert not y.requires_grad and y.is_leaf
    (y * x).sum().backward()
    assert x.grad.tolist() == [2, 4]
    assert not (x > 1).requires_grad and not x.argmax().requires_grad
    z = x * 1
    with pytest.raises(RuntimeError):
        z.requires_grad_(False)
    z.retain_grad()
    (z * z).sum().backward()
    assert z.grad.tolist() == [2, 4] and z.retains_grad and not z.is_leaf
    hidden = x * 3
    hidden.sum().backward()
    assert hidden.grad is None


def test_modes_nest_and_decorate():
    x = leaf([1.0])

    @burn.no_grad()
    def quiet(v):
        return v * 2

    @burn.no_grad
    def bare(v):
        return v * 2

    @burn.enable_grad()
    def loud(v):
        return v * 2

    assert not quiet(x).requires_grad and not bare(x).requires_grad and quiet.__name__ == "quiet"
    with burn.no_grad():
        assert not burn.is_grad_enabled() and loud(x).requires_grad
        with burn.enable_grad():
            assert (x * 2).requires_grad
        with burn.set_grad_enabled(True):
            assert burn.is_grad_enabled()
        assert not burn.is_grad_enabled()
        made = burn.ones(2, requires_grad=True)
        assert made.requires_grad and made.is_leaf
    assert burn.is_grad_enabled()
    with pytest.raises(KeyError):
        with burn.no_grad():
            raise KeyError
    assert burn.is_grad_enabled()
    with burn.inference_mode():
        assert not (x * 2).requires_grad


def test_modes_belong_to_their_thread():
    seen = []
    with burn.no_grad():
        thread = threading.Thread(target=lambda: seen.append(burn.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_inputs_of_backward():
    x, y = leaf([1.0]), leaf([2.0])
    (x * y).sum().backward(inputs=[x])
    assert x.grad.tolist() == [2] and y.grad is None


def test_branches_and_repeats():
    x = leaf([1.0, -2.0])
    y = x
    for _ in range(20):
        y = y + x * 0.5
    (y + y * x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 11 + 22 * np.array([1.0, -2.0]), rtol=1e-12)


def test_broadcast_and_dtypes_of_gradients():
    a, b = leaf(np.ones((3, 1))), burn.ones(4, dtype=burn.float32, requires_grad=True)
    (a * b).sum().backward()
    assert a.grad.shape == (3, 1) and a.grad.dtype is burn.float64 and a.grad.tolist() == [[4]] * 3
    assert b.grad.shape == (4,) and b.grad.dtype is burn.float32 and b.grad.tolist() == [3] * 4


def test_a_deep_chain_neither_overflows_nor_leaks():
    x = leaf([0.5])
    y = x
    for _ in range(3000):
        y = y * 1.0001
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1.0001 ** 3000], rtol=1e-9)
    seen = weakref.ref(y)
    del y
    gc.collect()
    assert seen() is None


def test_losses_that_were_read_before_backward():
    x = leaf(np.linspace(-1, 1, 12).reshape(3, 4))
    target = burn.tensor([0, 3, 1])
    loss = F.cross_entropy(x, target)
    before = loss.item()
    loss.backward()
    shifted = np.exp(x.detach().numpy())
    p = shifted / shifted.sum(1, keepdims=True)
    assert abs(before + np.log(p[[0, 1, 2], [0, 3, 1]]).mean()) < 1e-12
    p[[0, 1, 2], [0, 3, 1]] -= 1
    np.testing.assert_allclose(x.grad.numpy(), p / 3, rtol=1e-10, atol=1e-14)
