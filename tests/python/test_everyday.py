# SPDX-License-Identifier: Apache-2.0
"""What programs written for PyTorch do every day; the values are those of PyTorch 2.13."""
import inspect

import burn
import burn.nn.functional as F
import numpy as np
import pytest
from burn import nn


def same(tensor, values, dtype=None):
    want = np.array(values)
    assert tuple(tensor.shape) == want.shape and tensor.tolist() == want.tolist(), tensor
    assert dtype is None or tensor.dtype is dtype


# ---- text ----

@pytest.mark.parametrize("made, text", [
    (lambda: burn.arange(2000.0), "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n"
                                  "        1.9990e+03])"),
    (lambda: burn.arange(30), "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
                              "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29])"),
    (lambda: burn.arange(8.0).reshape(2, 2, 2), "tensor([[[0., 1.],\n         [2., 3.]],\n\n        [[4., 5.],\n         [6., 7.]]])"),
    (lambda: burn.full((7, 200), 1.5), "\n".join(["tensor([[1.5000, 1.5000, 1.5000,  ..., 1.5000, 1.5000, 1.5000],"]
                                                 + ["        [1.5000, 1.5000, 1.5000,  ..., 1.5000, 1.5000, 1.5000],"] * 2
                                                 + ["        ...,"]
                                                 + ["        [1.5000, 1.5000, 1.5000,  ..., 1.5000, 1.5000, 1.5000],"] * 2
                                                 + ["        [1.5000, 1.5000, 1.5000,  ..., 1.5000, 1.5000, 1.5000]])"])),
    (lambda: burn.tensor([1000.0, 1.0]), "tensor([1000.,    1.])"),
    (lambda: burn.tensor([1001.0, 1.0]), "tensor([1.0010e+03, 1.0000e+00])"),
    (lambda: burn.tensor([0.0, float("-inf")]), "tensor([0., -inf])"),
    (lambda: burn.tensor([], dtype=burn.int64), "tensor([], dtype=burn.int64)"),
    (lambda: burn.ones(2, requires_grad=True) * 2, "tensor([2., 2.], grad_fn=<Backward>)"),
    (lambda: burn.ones(15, dtype=burn.float64, requires_grad=True),
     "tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.],\n       dtype=burn.float64, requires_grad=True)"),
])
def test_text(made, text):
    assert repr(made()) == text


def test_print_options():
    try:
        burn.set_printoptions(precision=2, sci_mode=False)
        assert repr(burn.tensor([1.23456, 1e-5])) == "tensor([1.23, 0.00])"
        burn.set_printoptions(linewidth=40, edgeitems=2, threshold=10)
        assert repr(burn.arange(20.0)) == "tensor([ 0.,  1.,  ..., 18., 19.])"
        with pytest.raises(ValueError):
            burn.set_printoptions(profile="loud")
    finally:
        burn.set_printoptions(profile="default")
    assert repr(burn.tensor([1e-5, 1.0])) == "tensor([1.0000e-05, 1.0000e+00])"


# ---- wrong calls ----

def test_unknown_options_are_refused():
    for wrong in (lambda: burn.zeros(2, dtpye=burn.int64), lambda: burn.tensor([1], foo=1), lambda: burn.rand(2, sise=3),
                  lambda: burn.full((2,), 1.0, outt=None), lambda: burn.ones_like(burn.ones(2), shape=3),
                  lambda: burn.arange(3, stop=4), lambda: burn.eye(2, k=1), lambda: burn.randint(0, 2, (3,), foo=1)):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            wrong()
    assert burn.zeros(2, pin_memory=False).shape == (2,)
    assert burn.zeros(size=(2, 3)).shape == (2, 3) and burn.rand(size=(4,)).shape == (4,)
    with pytest.raises(TypeError, match="several sizes"):
        burn.zeros(2, size=(3,))


def test_integers_have_no_negative_powers():
    for wrong in (lambda: burn.tensor([2]) ** -1, lambda: burn.tensor([2]).pow(-3), lambda: pow(burn.tensor([2]), -(2**70))):
        with pytest.raises(RuntimeError, match="Integers to negative integer powers"):
            wrong()
    x = burn.tensor([2])
    with pytest.raises(RuntimeError):
        x **= -1
    same(burn.tensor([2]) ** -1.0, [0.5], burn.float32)
    same(burn.tensor([2.0]) ** -2, [0.25])
    same(burn.tensor([3]) ** 2, [9], burn.int64)


def test_errors_and_help_name_the_function():
    with pytest.raises(TypeError, match=r"^exp\(\) missing"):
        burn.exp()
    with pytest.raises(TypeError, match=r"^sum\(\) got an unexpected keyword argument 'foo'"):
        burn.ones(2).sum(foo=1)
    public = [getattr(burn, name) for name in dir(burn) if not name.startswith("_")]
    methods = [value for name, value in vars(burn.Tensor).items() if not name.startswith("_")]
    for function in [f for f in public + methods if inspect.isfunction(f)]:
        assert function.__doc__ and "<" not in function.__qualname__, function
    for name in dir(nn):
        if inspect.isclass(getattr(nn, name)):
            assert getattr(nn, name).__doc__, name


# ---- NumPy ----

def test_functions_of_numpy_take_tensors():
    same(np.add(burn.ones(2), 1), [2.0, 2.0], burn.float32)
    same(np.sqrt(burn.tensor([4.0, 9.0])), [2.0, 3.0], burn.float32)
    same(np.maximum(burn.tensor([1.0, 3.0]), 2), [2.0, 3.0])
    same(np.float64(2) * burn.ones(2), [2.0, 2.0], burn.float32)
    same(np.int64(3) - burn.tensor([1, 2]), [2, 1], burn.int64)
    same(np.ones(2) * burn.ones(2), [1.0, 1.0], burn.float64)
    same(np.float64(2) > burn.tensor([1.0, 3.0]), [True, False], burn.bool)
    array = np.ones(2)
    array += burn.tensor([1.0, 2.0])
    assert type(array) is np.ndarray and array.tolist() == [2.0, 3.0]
    with pytest.raises(RuntimeError, match="requires grad"):
        np.sqrt(burn.ones(2, requires_grad=True))
    with pytest.raises(TypeError):
        np.add(np.ones(2), 1, out=burn.ones(2))
    x = burn.ones(2, requires_grad=True)
    (np.float32(3) * x).sum().backward()
    same(x.grad, [3.0, 3.0])


# ---- facts about tensors ----

def test_facts():
    x = burn.ones(2, requires_grad=True)
    assert x.grad_fn is None and (x * 2).grad_fn is not None and (x * 2).detach().grad_fn is None
    assert burn.ones(2, dtype=burn.float64).element_size() == 8 and not x.is_cuda
    assert burn.get_default_device().type == x.device.type and not burn.cuda.is_available()
    assert burn.promote_types(burn.int32, burn.float16) is burn.float16
    assert burn.promote_types(burn.uint8, burn.int8) is burn.int16
    assert burn.can_cast(burn.int32, burn.float32) and burn.can_cast(burn.bool, burn.uint8)
    assert not burn.can_cast(burn.float32, burn.int64) and not burn.can_cast(burn.int64, burn.bool)
    assert repr(burn.iinfo(burn.int8)) == "iinfo(min=-128, max=127, dtype=int8)"
    assert repr(burn.finfo(burn.float32)) == ("finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
                                              "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)")


def test_random_state():
    burn.manual_seed(7)
    assert burn.initial_seed() == 7
    state = burn.get_rng_state()
    first = burn.rand(5).tolist()
    burn.set_rng_state(state)
    assert burn.rand(5).tolist() == first
    assert burn.seed() == burn.initial_seed()
    burn.manual_seed(1)
    order = burn.randperm(20)
    burn.manual_seed(1)
    assert burn.randperm(20).tolist() == order.tolist() != list(range(20))
    assert sorted(order.tolist()) == list(range(20)) and order.dtype is burn.int64 and burn.randperm(0).shape == (0,)
    one, two = burn.Generator().manual_seed(3), burn.Generator().manual_seed(3)
    assert burn.randperm(9, generator=one).tolist() == burn.randperm(9, generator=two).tolist()


def test_optimizers_take_options_that_choose_among_pytorchs_implementations():
    parameter = nn.Parameter(burn.ones(2))
    burn.optim.Adam([parameter], fused=True, foreach=False, capturable=False)
    burn.optim.AdamW([parameter], fused=True)
    burn.optim.SGD([parameter], 0.1, fused=True)
    burn.optim.RMSprop([parameter], foreach=True)
    with pytest.raises(TypeError):
        burn.optim.Adam([parameter], momentum=0.9)


# ---- compositions ----

def test_joining():
    one, matrix = burn.ones(2), burn.ones(2, 3)
    same(burn.hstack([one, burn.zeros(1)]), [1.0, 1.0, 0.0])
    same(burn.hstack([burn.zeros(2, 1), matrix]), [[0.0, 1, 1, 1]] * 2)
    same(burn.vstack([one, burn.zeros(2)]), [[1.0, 1.0], [0.0, 0.0]])
    same(burn.column_stack([burn.zeros(2), matrix]), [[0.0, 1, 1, 1]] * 2)
    same(burn.dstack([one, burn.zeros(2)]), [[[1.0, 0.0], [1.0, 0.0]]])
    assert burn.atleast_1d(burn.tensor(1)).shape == (1,) and burn.atleast_2d(one).shape == (1, 2)
    assert burn.atleast_3d(matrix).shape == (2, 3, 1) and [x.shape for x in burn.atleast_2d(one, matrix)] == [(1, 2), (2, 3)]
    down, across = burn.meshgrid(burn.arange(2), burn.arange(3), indexing="ij")
    same(down, [[0, 0, 0], [1, 1, 1]])
    same(across, [[0, 1, 2], [0, 1, 2]])
    same(burn.meshgrid(burn.arange(2), burn.arange(3), indexing="xy")[0], [[0, 1], [0, 1], [0, 1]])


def test_diagonals():
    same(burn.diag(burn.tensor([1.0, 2.0])), [[1.0, 0.0], [0.0, 2.0]])
    same(burn.diag(burn.tensor([float("inf"), 1.0])), [[float("inf"), 0.0], [0.0, 1.0]])
    same(burn.diag(burn.tensor([1, 2]), -1), [[0, 0, 0], [1, 0, 0], [0, 2, 0]])
    square = burn.arange(6).reshape(2, 3)
    same(square.diag(), [0, 4])
    same(square.diag(1), [1, 5])
    same(square.diagonal(-1), [3])
    same(square.diagonal(5), [])
    same(burn.arange(24).reshape(2, 3, 4).diagonal(1, 1, 2), [[1, 6, 11], [13, 18, 23]])
    same(burn.arange(24).reshape(2, 3, 4).diagonal(), [[0, 16], [1, 17], [2, 18], [3, 19]])
    assert burn.trace(burn.tensor([[1.0, 2.0], [3.0, 4.0]])).item() == 5.0
    x = burn.zeros(3, 3)
    x.diagonal().fill_(2)
    same(x, [[2.0, 0, 0], [0, 2, 0], [0, 0, 2]])
    same(burn.zeros(2, 3).fill_diagonal_(3), [[3.0, 0, 0], [0, 3, 0]])
    x = burn.ones(2, 3, requires_grad=True)
    (x.diagonal() * burn.tensor([2.0, 3.0])).sum().backward()
    same(x.grad, [[2.0, 0, 0], [0, 3, 0]])


def test_picking():
    same(burn.tensor([0, 1, 2]).nonzero(), [[1], [2]], burn.int64)
    same(burn.nonzero(burn.tensor([[0, 1], [1, 1]])), [[0, 1], [1, 0], [1, 1]])
    same(burn.nonzero(burn.tensor([0, 1]), as_tuple=True)[0], [1])
    assert burn.tensor(3).nonzero().shape == (1, 0) and burn.tensor(0).nonzero().shape == (0, 0)
    assert burn.zeros(2, 2).nonzero().shape == (0, 2)
    x = burn.arange(6).reshape(2, 3)
    same(x.masked_select(x > 2), [3, 4, 5])
    same(burn.masked_select(x, burn.tensor([True, False, True])), [0, 2, 3, 5])
    with pytest.raises(RuntimeError, match="expected BoolTensor"):
        x.masked_select(x)
    same(burn.arange(3).repeat_interleave(2), [0, 0, 1, 1, 2, 2])
    same(x.repeat_interleave(2, 1), [[0, 0, 1, 1, 2, 2], [3, 3, 4, 4, 5, 5]])
    same(burn.repeat_interleave(x, burn.tensor([1, 2]), 0), [[0, 1, 2], [3, 4, 5], [3, 4, 5]])


@pytest.mark.parametrize("equation, shapes", [
    ("ij,jk->ik", [(2, 3), (3, 4)]), ("bij->bji", [(1, 2, 3)]), ("i,i->", [(3,), (3,)]), ("ii->i", [(2, 2)]), ("ii", [(3, 3)]),
    ("iji->j", [(2, 3, 2)]), ("bhid,bhjd->bhij", [(2, 2, 3, 4), (2, 2, 5, 4)]), ("...i,ij->...j", [(2, 3, 4), (4, 5)]),
    ("ij,j", [(2, 3), (3,)]), ("ba,c", [(2, 3), (4,)]), ("i,j->ij", [(3,), (2,)]), ("ij->", [(2, 3)]), ("bi,bi->b", [(2, 3), (2, 3)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]), ("bn,anm,bm->ba", [(2, 2), (3, 2, 4), (2, 4)]), ("ij,jk->ik", [(2, 0), (0, 3)]),
    ("...ij,...jk->...ik", [(1, 2, 2, 3), (3, 1, 3, 2)]), ("ij,ij->ij", [(1, 3), (2, 3)]), (" i j , j k -> i k", [(1, 2), (2, 1)])])
def test_einsum(equation, shapes):
    random = np.random.RandomState(0)
    arrays = [random.randint(-4, 5, shape).astype(np.float32) for shape in shapes]
    want = np.einsum(equation.replace(" ", ""), *arrays)
    found = burn.einsum(equation, *(burn.tensor(a) for a in arrays))
    assert tuple(found.shape) == want.shape and np.array_equal(found.numpy(), want)
    assert np.array_equal(burn.einsum(equation, [burn.tensor(a) for a in arrays]).numpy(), want)


def test_einsum_gradient_and_errors():
    x, y = burn.arange(6.0).reshape(2, 3).requires_grad_(), burn.ones(3, 2, requires_grad=True)
    (burn.einsum("ij,jk->ik", x, y) ** 2).sum().backward()
    same(x.grad, [[12.0] * 3, [48.0] * 3])
    same(y.grad, [[72.0] * 2, [102.0] * 2, [132.0] * 2])
    for equation, shapes in (("ij,jk->ik", [(2, 3), (4, 4)]), ("ij->z", [(2, 3)]), ("ijk->i", [(2, 3)]), ("ij->ii", [(2, 3)]),
                             ("ij,jk", [(2, 3)]), ("i1->i", [(2, 3)])):
        with pytest.raises((RuntimeError, ValueError), match="einsum"):
            burn.einsum(equation, *(burn.ones(shape) for shape in shapes))


def test_products():
    a, b = burn.arange(6.0).reshape(2, 3), burn.arange(6.0).reshape(3, 2)
    same(burn.tensordot(a, b, 1), [[10.0, 13.0], [28.0, 40.0]])
    assert burn.tensordot(a, a, 2).item() == 55.0
    same(burn.tensordot(burn.ones(2, 3, 4), burn.ones(4, 3), dims=([1, 2], [1, 0])), [12.0, 12.0])
    same(burn.tensordot(burn.ones(2), burn.ones(3), 0), [[1.0] * 3] * 2)
    with pytest.raises(RuntimeError, match="contracted dimensions"):
        burn.tensordot(a, b, 2)
    same(burn.baddbmm(burn.ones(1, 2, 2), a[None], b[None], alpha=2), [[[21.0, 27.0], [57.0, 81.0]]])


def test_every_plain_op_is_a_function_and_a_method():
    from burn import _ops
    for name in _ops.PLAIN:
        assert callable(getattr(burn, name)) and callable(getattr(burn.Tensor, name)), name
    assert "relu" in _ops.PLAIN and not {"silu", "softsign", "gelu", "clamp"} & set(_ops.PLAIN)
    assert F.silu(burn.zeros(1)).item() == 0.0
