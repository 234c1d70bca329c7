# SPDX-License-Identifier: Apache-2.0
"""Hooks on tensors, autograd.Function, and transforms of functions. The values are exact or PyTorch's."""
import gc

import numpy as np
import pytest

import burn
from burn import autograd, nn


def leaf(*values, dtype=None):
    return burn.tensor(list(values), dtype=dtype, requires_grad=True)


class Square(autograd.Function):
    """x * x with ten times its gradient, so that it is seen who ran."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return 20 * x * g


class Exp(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


# ---- hooks ----

def test_a_hook_sees_the_gradient_and_may_replace_it():
    x, seen = leaf(1.0, 2.0, 3.0), []
    y = x * 2
    z = y * y
    y.register_hook(lambda g: seen.append(g.tolist()))  # after it was used
    handle = y.register_hook(lambda g: g * 10)
    z.sum().backward(retain_graph=True)
    assert seen == [[4.0, 8.0, 12.0]] and x.grad.tolist() == [80.0, 160.0, 240.0]
    handle.remove()
    x.grad = None
    (y * y).sum().backward()
    assert x.grad.tolist() == [8.0, 16.0, 24.0]


def test_hooks_in_a_residual_net_take_each_path_once():
    x = leaf(2.0)
    a = x * 3
    b = a * a
    c = b + a
    a.register_hook(lambda g: g + 1)
    b.register_hook(lambda g: g * 2)
    c.register_hook(lambda g: g * 5)
    (c * 2).sum().backward()  # c: 10; b: 10 -> 20; a: 20 * 12 + 10 = 250 -> 251; x: 753
    assert x.grad.tolist() == [753.0]


def test_a_hook_that_mends_infinity_leaves_no_nan():
    x = leaf(0.0, 4.0)
    y = x.sqrt()
    z = y.log()
    y.register_hook(lambda g: burn.where(g.isinf(), 0.0, g))
    z.sum().backward()
    assert x.grad[1].item() == 0.125 and x.grad[0].isnan().item()  # 0 * inf, as the rule of sqrt says
    w = leaf(0.0, 4.0)
    v = w * 3
    v.register_hook(lambda g: g.clamp(-1, 1))
    (1 / v).sum().backward()
    np.testing.assert_allclose(w.grad.numpy(), [-3.0, -3 / 144], rtol=1e-6)


def test_a_hook_on_a_leaf_runs_once_with_the_whole_gradient():
    x, seen = leaf(1.0, -1.0), []
    x.register_hook(lambda g: seen.append(g.tolist()))
    x.register_hook(lambda g: -g)
    x.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))
    (x * 3 + x * x).sum().backward()
    (x * 1.0).sum().backward()
    assert seen == [[5.0, 1.0], [-5.0, -1.0], [1.0, 1.0], [-6.0, -2.0]]


def test_the_hook_of_a_parameter_lives_through_updates():
    layer, seen = nn.Linear(2, 1, bias=False), []
    layer.weight.register_hook(lambda g: seen.append(g.tolist()))
    optimizer = burn.optim.SGD(layer.parameters(), lr=0.5)
    for k in range(3):
        optimizer.zero_grad()
        (layer(burn.tensor([[1.0, 2.0]])) * (k + 1)).sum().backward()
        optimizer.step()
    assert seen == [[[1.0, 2.0]], [[2.0, 4.0]], [[3.0, 6.0]]]


def test_the_hook_of_a_tensor_nobody_holds_runs():
    x, seen = leaf(1.0, 2.0), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()))
    z = y.sum()
    del y
    gc.collect()
    z.backward()
    assert seen == [[1.0, 1.0]]


def test_hooks_and_grad_and_retained_gradients():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 3)
    g, h = autograd.grad((y * y).sum(), [y, x], retain_graph=True)
    assert g.tolist() == [12.0, 24.0] and h.tolist() == [24.0, 48.0]
    (y * y).sum().backward()
    assert y.grad.tolist() == [12.0, 24.0] and x.grad.tolist() == [24.0, 48.0]


def test_hooks_are_differentiated_through():
    x = leaf(3.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    first, = autograd.grad((y * 2).sum(), x, create_graph=True)  # 2 x * 2 x = 4 x²
    second, = autograd.grad(first.sum(), x)
    assert first.tolist() == [36.0] and second.tolist() == [24.0]


def test_what_a_hook_must_not_do():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        burn.ones(2).register_hook(lambda g: g)
    y = x * 2
    y.register_hook(lambda g: g.sum())
    with pytest.raises(RuntimeError, match="size"):
        y.sum().backward()
    with pytest.raises(RuntimeError, match="leaf"):
        y.register_post_accumulate_grad_hook(lambda p: None)


def test_attachments_go_with_their_values():
    before = burn._core.attachments()
    for _ in range(5):
        x = leaf(1.0)
        y = Square.apply(Exp.apply(x))
        y.register_hook(lambda g: g)
        y.sum().backward()
    assert burn._core.attachments() > before
    del x, y
    gc.collect()
    assert burn._core.attachments() == before


# ---- Function ----

def test_the_rule_of_a_function_is_used():
    x = leaf(1.0, 2.0)
    y = Square.apply(x * 3)
    assert y.requires_grad and not y.is_leaf and y.tolist() == [9.0, 36.0]
    (y * 2 + x).sum().backward()
    assert x.grad.tolist() == [361.0, 721.0]  # 20 * 3x * 2 * 3 + 1


def test_functions_in_a_row_and_side_by_side():
    x = leaf(0.5)
    (Exp.apply(Exp.apply(x)) + Square.apply(x) * Square.apply(x)).sum().backward()
    expected = np.exp(0.5) * np.exp(np.exp(0.5)) + 2 * 0.25 * 10.0
    np.testing.assert_allclose(x.grad.numpy(), [expected], rtol=1e-6)


def test_the_second_derivative_goes_through_saved_inputs_and_outputs():
    for function, wanted in ((Exp, np.exp(0.3)), (Square, 20.0)):
        x = leaf(0.3, dtype=burn.float64)
        first, = autograd.grad(function.apply(x).sum(), x, create_graph=True)
        second, = autograd.grad(first.sum(), x)
        np.testing.assert_allclose(second.item(), wanted, rtol=1e-12)


def test_several_outputs_none_gradients_and_other_arguments():
    class Both(autograd.Function):
        @staticmethod
        def forward(x, factor, name):
            return x * factor, x + factor, (x * 0).long()

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx, g, h, i):
            assert i is None
            parts = ([g * ctx.factor] if g is not None else []) + ([h] if h is not None else [])
            return sum(parts), None, None

    x = leaf(1.0, 2.0)
    p, q, r = Both.apply(x, 4.0, "name")
    assert not r.requires_grad
    (p.sum() + (q * q).sum()).backward()
    assert x.grad.tolist() == [14.0, 16.0]
    x.grad = None
    Both.apply(x, 4.0, "name")[1].sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]
    with burn.no_grad():
        assert not Both.apply(x, 4.0, "name")[0].requires_grad


def test_an_identity_that_turns_the_gradient_and_one_in_place():
    class Reverse(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, g):
            return -g

    class Double(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 7

    x = leaf(1.0, 2.0)
    (Reverse.apply(x) * 3 + x).sum().backward()
    assert x.grad.tolist() == [-2.0, -2.0]
    x.grad = None
    y = x * 1
    z = Double.apply(y)
    assert z is y and y.tolist() == [2.0, 4.0]
    y.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_what_a_function_must_not_do():
    class Wrong(autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x * y

        @staticmethod
        def backward(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="incorrect number of gradients"):
        Wrong.apply(leaf(1.0), leaf(2.0)).sum().backward()
    with pytest.raises(RuntimeError, match="instantiated"):
        Square()
    y = Square.apply(leaf(1.0)).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    y = Square.apply(leaf(1.0)).sum()
    y.backward(retain_graph=True)
    y.backward()


def test_a_function_in_training_stays_flat():
    layer = nn.Linear(4, 4)
    optimizer = burn.optim.Adam(layer.parameters())
    sizes = []
    for k in range(30):
        optimizer.zero_grad()
        Square.apply(layer(burn.ones(2, 4))).sum().backward()
        optimizer.step()
        burn.sync()
        sizes.append(burn.stats()["memory"]["device_bytes"])
    assert sizes[-1] == sizes[5]


# ---- functions of functions ----

def test_jacobians_and_hessians():
    x = burn.tensor([1.0, 2.0])
    found = autograd.functional.jacobian(lambda a: burn.stack([a[0] * a[1], a[0] + a[1], a[1] ** 2]), x)
    assert found.tolist() == [[2.0, 1.0], [1.0, 1.0], [0.0, 4.0]]
    assert autograd.functional.hessian(lambda a: (a ** 3).sum() + a[0] * a[1], x).tolist() == [[6.0, 1.0], [1.0, 12.0]]
    value, change = autograd.functional.jvp(lambda a: a * a, x, burn.tensor([1.0, 10.0]))
    assert value.tolist() == [1.0, 4.0] and change.tolist() == [2.0, 40.0]
    assert autograd.functional.vjp(lambda a: a * a, x, burn.tensor([1.0, 10.0]))[1].tolist() == [2.0, 40.0]
    assert autograd.functional.hvp(lambda a: (a ** 3).sum(), x, burn.ones(2))[1].tolist() == [6.0, 12.0]
    (a, b), = [autograd.functional.jacobian(lambda p, q: p * q, (x, x + 1))]
    assert a.tolist() == [[2.0, 0.0], [0.0, 3.0]] and b.tolist() == [[1.0, 0.0], [0.0, 2.0]]


def test_func_transforms():
    f = lambda p, x: (p["w"] * x).sum() ** 2  # noqa: E731
    p = {"w": burn.tensor([1.0, 2.0])}
    x = burn.tensor([3.0, 4.0])
    gradients, value = burn.func.grad_and_value(f)(p, x)
    assert value.item() == 121.0 and gradients["w"].tolist() == [66.0, 88.0] and not gradients["w"].requires_grad
    assert burn.func.grad(f, argnums=(0, 1))(p, x)[1].tolist() == [22.0, 44.0]
    assert burn.func.value_and_grad(f)(p, x)[0].item() == 121.0
    assert burn.func.grad(burn.func.grad(lambda a: a ** 3))(burn.tensor(2.0)).item() == 12.0
    assert burn.func.hessian(lambda a: (a ** 3).sum())(x).tolist() == [[18.0, 0.0], [0.0, 24.0]]
    output, pull = burn.func.vjp(lambda a: a * a, x)
    assert output.tolist() == [9.0, 16.0] and pull(burn.ones(2))[0].tolist() == [6.0, 8.0]
    rows = burn.func.vmap(burn.func.grad(lambda a: (a * a).sum()))(burn.arange(6.0).reshape(3, 2))
    assert rows.tolist() == [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]]
    assert burn.func.vmap(burn.dot, in_dims=(0, None))(burn.ones(3, 2), x).tolist() == [7.0, 7.0, 7.0]
    with pytest.raises(RuntimeError, match="scalar"):
        burn.func.grad(lambda a: a * 2)(x)


def test_functional_call_puts_the_parameters_back():
    layer = nn.Linear(2, 1)
    weight = layer.weight
    given = {"weight": burn.tensor([[1.0, 2.0]], requires_grad=True), "bias": burn.tensor([0.5])}
    y = burn.func.functional_call(layer, given, (burn.tensor([[3.0, 4.0]]),))
    y.sum().backward()
    assert y.item() == 11.5 and given["weight"].grad.tolist() == [[3.0, 4.0]]
    assert layer.weight is weight and weight.grad is None


def test_checks_of_gradients():
    x = leaf(0.3, -0.7, dtype=burn.float64)
    assert autograd.gradcheck(lambda a: a.sin() * a, (x,)) and autograd.gradgradcheck(lambda a: a.sin() * a, (x,))
    with pytest.raises(RuntimeError, match="mismatch"):
        autograd.gradcheck(Square.apply, (x,))


def test_options_of_grad():
    x = leaf(1.0, 2.0)
    rows, = autograd.grad(x * x, x, burn.eye(2), is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    assert autograd.grad((x * 3).sum(), x, None, None, False, True)[0].tolist() == [3.0, 3.0]
    unused = leaf(1.0)
    assert autograd.grad((x * 3).sum(), [x, unused], allow_unused=True)[1] is None
    assert autograd.grad((x * 3).sum(), [x, unused], materialize_grads=True)[1].tolist() == [0.0]
    with pytest.raises(ValueError):
        autograd.grad((x * 3).sum(), x, only_inputs=False)
    with pytest.raises(ValueError):
        autograd.grad((x * 3).sum(), x, allow_unused=False, materialize_grads=True)
    with pytest.raises(RuntimeError):
        autograd.grad((x * 3).sum(), unused)


def test_checkpoint_gives_the_same_gradients():
    x = leaf(0.5, 1.5)
    burn.utils.checkpoint.checkpoint(lambda a: (a * a).tanh(), x, use_reentrant=False).sum().backward()
    y = leaf(0.5, 1.5)
    (y * y).tanh().sum().backward()
    assert x.grad.tolist() == y.grad.tolist()
