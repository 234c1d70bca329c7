# SPDX-License-Identifier: Apache-2.0
"""Reading a value cuts the trace but not the history: the same program gives the same gradients whatever is read, and when."""
import numpy as np
import pytest

import burn
import burn.nn.functional as F


def tensors(count, shape, seed=0):
    random = np.random.default_rng(seed)
    return [burn.tensor(random.standard_normal(shape) * 0.5, requires_grad=True) for _ in range(count)]


class Reader:
    """Reads every value whose turn it is: 0 never, 1 always, 2 every other."""

    def __init__(self, period):
        self.period, self.turn = period, 0

    def __call__(self, value):
        self.turn += 1
        if self.period and self.turn % self.period == 0:
            value.detach().numpy()
        return value


def mlp(read):
    x, w, v = tensors(3, (4, 4))
    h = read(F.gelu(read(x @ w)))
    h = read(F.layer_norm(h, (4,)))
    loss = read(F.cross_entropy(read(h @ v), burn.tensor([0, 3, 1, 2])))
    loss.backward()
    return [t.grad for t in (x, w, v)]


def middle(read):
    x, w = tensors(2, (3, 3))
    h = read(burn.tanh(x @ w))
    a, b = read((h * h).sum()), read(h.exp().mean())
    g = burn.autograd.grad(a + b, [h, w])
    return list(g)


def twice(read):
    """Two backward passes through the same history."""
    x, w = tensors(2, (3, 3))
    h = read(burn.sigmoid(x @ w))
    loss = read((h * h * h).sum())
    loss.backward(retain_graph=True)
    read(w.grad)
    (read(h.sum()) + loss).backward()
    return [x.grad, w.grad]


def second_order(read):
    x, w = tensors(2, (3, 3))
    h = read(burn.tanh(x @ w))
    loss = read((h * h).sum())
    g, = burn.autograd.grad(loss, [w], create_graph=True)
    penalty = read((read(g) * g).sum())
    (loss + penalty).backward()
    return [x.grad, w.grad]


def recurrent(read):
    x, w, u = tensors(3, (2, 2))
    h, losses = x, []
    for _ in range(5):
        h = read(burn.tanh(h @ w + x @ u))
        losses.append(read((h * h).mean()))
    total = losses[0]
    for one in losses[1:]:
        total = total + one
    total.backward()
    return [x.grad, w.grad, u.grad]


def truncated(read):
    w, = tensors(1, (2, 2))
    x, = tensors(1, (3, 2), 5)
    h = x.detach()
    for _ in range(4):
        h = read(burn.tanh(h.detach() @ w))
        read((h * h).sum()).backward()
    return [w.grad]


def dropped(read):
    """Random masks are made again from their counters, not kept."""
    burn.manual_seed(7)
    x, w = tensors(2, (6, 6))
    h = read(F.dropout(burn.relu(x @ w), 0.4))
    read((h * h).sum()).backward()
    return [x.grad, w.grad]


def indexed(read):
    w, = tensors(1, (7, 3))
    i = burn.tensor([1, 1, 4, 6])
    h = read(F.embedding(i, w))
    g = read(burn.cat([h[1:], h[:1] * 2]))
    read((g.gather(1, burn.tensor([[0], [2], [1], [0]])) ** 2).sum()).backward()
    return [w.grad]


def trained(read):
    """Steps of an optimizer between the cuts."""
    w, = tensors(1, (3, 3))
    optimizer = burn.optim.Adam([w], lr=0.1)
    x, = tensors(1, (5, 3), 3)
    for _ in range(4):
        optimizer.zero_grad()
        loss = read((read(x.detach() @ w) ** 2).mean())
        loss.backward()
        optimizer.step()
    return [w]


def made(read):
    """Leaves that are results of ops themselves."""
    burn.manual_seed(3)
    w = burn.randn(3, 3, dtype=burn.float64, requires_grad=True)
    b = burn.full((3,), 0.25, dtype=burn.float64, requires_grad=True)
    c = burn.full((3,), 0.25, dtype=burn.float64, requires_grad=True)
    h = read(burn.sin(w @ w + b))
    read(((h + c) * b).sum()).backward()
    return [w.grad, b.grad, c.grad]


def scaled(read):
    """Scalars and sizes of an earlier trace."""
    x, w = tensors(2, (5, 5))
    total = 0
    for i, rows in enumerate((2, 3, 5)):
        h = read(burn.tanh(x[:rows] @ w) * (i + 0.5))
        total = total + read(h.mean() ** 2)
    total.backward()
    return [x.grad, w.grad]


PROGRAMS = [made, scaled, mlp, middle, twice, second_order, recurrent, truncated, dropped, indexed, trained]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_reading_changes_no_gradient(program):
    expected = [g.detach().numpy() for g in program(Reader(0))]
    assert all(np.abs(g).max() > 0 for g in expected)
    for period in (1, 2, 3, 1):
        for have, want in zip(program(Reader(period)), expected):
            np.testing.assert_allclose(have.detach().numpy(), want, rtol=1e-11, atol=1e-13, err_msg=f"period {period}")


@pytest.mark.parametrize("value", [lambda x: x / 7 + x.sin() * x.cos(), lambda x: x / 3 - x.tanh() * x,
                                   lambda x: burn.addcmul(x / 7, x.tanh(), x, value=0.5)])
def test_what_backward_computes_again_has_the_same_bits(value):
    """The largest elements are found by equality: a value computed again must not round another way."""
    x = burn.tensor(np.random.default_rng(0).standard_normal((16, 7)), dtype=burn.float32, requires_grad=True)
    kept = x / 7
    most = burn.amax(value(x), 1)
    float((x * 3).detach().sum())  # cuts the trace
    (most.sum() + kept.sum()).backward()
    hits = np.asarray(value(x.detach()).numpy())
    rows = hits.argmax(1)
    y = x.detach().clone().requires_grad_()
    (value(y)[burn.arange(16), burn.tensor(rows)].sum() + (y / 7).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=1e-5, atol=1e-6)
