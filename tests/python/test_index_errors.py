# SPDX-License-Identifier: Apache-2.0
"""An index out of range is an error, also where every element that it could pick is the same: the values of constants
and of repeated views do not depend on it. What is right must stay right."""
import os
import subprocess
import sys

import numpy as np
import pytest

import burn
import burn.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))


def rows(values):
    return burn.tensor(values).unsqueeze(1).expand(4, 3)


CASES = {  # name: function of an index tensor of two elements, of which 0 … 3 are right
    "getitem": lambda i: burn.ones(4)[i],
    "getitem_rows": lambda i: burn.full((4, 3), 2.0)[i],
    "getitem_inner": lambda i: burn.full((3, 4), 2.0)[:, i],
    "getitem_two": lambda i: burn.ones(4, 5)[i, burn.tensor([0, 4])],
    "getitem_scalar": lambda i: burn.ones(4)[i.max()],
    "getitem_computed": lambda i: (burn.ones(4) * 3 + 1).exp()[i * 1],
    "getitem_bool": lambda i: burn.zeros(4, dtype=burn.bool)[i],
    "arange_rows": lambda i: burn.arange(3).expand(4, 3)[i],
    "repeated_rows": lambda i: burn.tensor([1.0, 2.0, 3.0]).expand(4, 3)[i],
    "repeated_gather": lambda i: rows([1.0, 2.0, 3.0, 4.0]).t().gather(1, i.expand(3, 2)),
    "gather": lambda i: burn.ones(4, 2).gather(0, i.reshape(1, 2)),
    "gather_of_gather": lambda i: burn.arange(4)[burn.arange(4)[i]],
    "gather_of_gathered_ones": lambda i: burn.ones(4, dtype=burn.int64)[burn.arange(4)[i]],
    "index_select": lambda i: burn.full((4, 5), 2.0).index_select(0, i),
    "take_along": lambda i: burn.zeros(4, 3).index_select(0, i).t(),
    "embedding": lambda i: F.embedding(i, burn.zeros(4, 5)),
    "cross_entropy": lambda i: F.cross_entropy(burn.zeros(2, 4), i),
    "cross_entropy_none": lambda i: F.cross_entropy(burn.ones(2, 4), i, reduction="none"),
    "cross_entropy_weight": lambda i: F.cross_entropy(burn.ones(2, 4), i, weight=burn.ones(4), reduction="sum"),
    "nll_loss": lambda i: F.nll_loss(burn.zeros(2, 4), i),
    "nll_loss_none": lambda i: F.nll_loss(burn.zeros(2, 4), i, reduction="none"),
    "one_hot": lambda i: F.one_hot(i, 4),
    "scatter_add": lambda i: burn.zeros(4).scatter_add(0, i, burn.ones(2)),
    "scatter": lambda i: burn.zeros(4).scatter(0, i, burn.ones(2)),
    "scatter_back": lambda i: burn.ones(4).scatter(0, i, burn.ones(4)[i]),
    "index_put": lambda i: burn.zeros(4).index_put((i,), burn.ones(2)),
    "sum": lambda i: burn.ones(4)[i].sum(),
    "softmax": lambda i: burn.ones(4, 6)[i].softmax(-1),
    "max": lambda i: burn.ones(4, 6)[i].max(1)[0],
    "pad": lambda i: F.pad(burn.ones(4)[i], (1, 1)),
    "cat": lambda i: burn.cat([burn.ones(4)[i], burn.zeros(4)[i]]),
    "slice_set": lambda i: set_rows(burn.zeros(4), burn.ones(4)[i]),
    "matmul": lambda i: burn.ones(4, 3)[i] @ burn.tensor([[1.0], [2.0], [3.0]]),
    "bias": lambda i: burn.tensor([[1.0, 2.0], [3.0, 4.0]]) @ burn.tensor([[1.0, 2.0], [3.0, 4.0]]) + burn.ones(4)[i],
    "where": lambda i: alike(burn.ones(4)[i] > 0),
    "reduced_index": lambda i: burn.ones(4, 7)[i.reshape(2, 1).expand(2, 7).max(1)[0]].sum(1),
    "reused": lambda i: burn.ones(4)[i] + burn.arange(4)[i],
    "gradient_of_table": lambda i: gradient(burn.ones(4, 2), lambda w: F.embedding(i, w)),
    "gradient_of_getitem": lambda i: gradient(burn.ones(4), lambda w: w[i]),
    "gradient_of_gather": lambda i: gradient(burn.ones(4), lambda w: w.gather(0, i)),
    "gradient_of_source": lambda i: gradient(burn.ones(2), lambda w: burn.zeros(4).scatter_add(0, i, w)),
    "gradient_of_cross_entropy": lambda i: gradient(burn.zeros(2, 4), lambda w: F.cross_entropy(w, i)),
    "gradient_of_nll_loss": lambda i: gradient(burn.zeros(2, 4), lambda w: F.nll_loss(w, i, reduction="sum")),
    "gradient_beside": lambda i: gradient(burn.tensor([1.0, 2.0]), lambda w: w * burn.ones(4)[i]),
    "program": lambda i: burn.jit(lambda j: burn.ones(4)[j] * 2)(i),
    "program_loss": lambda i: burn.jit(lambda j: F.cross_entropy(burn.zeros(2, 4), j))(i),
}


def set_rows(x, values):
    x[1:3] = values
    return x


def alike(condition):
    x = burn.ones(2)
    return burn.where(condition, x, x)


def gradient(leaf, function):
    leaf.requires_grad_()
    function(leaf).sum().backward()  # nobody reads what the function gave
    return leaf.grad


@pytest.mark.parametrize("index", [[1, 4], [9, 0], [0, 2**40]], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_out_of_range(name, index):
    with pytest.raises((IndexError, burn.Error), match=f"index {max(index)} is out of range"):
        CASES[name](burn.tensor(index)).numpy()


@pytest.mark.parametrize("name", CASES)
def test_in_range_after_an_error(name):
    with pytest.raises((IndexError, burn.Error)):
        CASES[name](burn.tensor([0, 77])).numpy()
    assert np.isfinite(CASES[name](burn.tensor([3, 1])).numpy()).all()


@pytest.mark.parametrize("make", [lambda n: burn.zeros(n)[burn.tensor([0])], lambda n: burn.zeros(n, 2)[burn.tensor([0])],
                                  lambda n: burn.zeros(n).scatter_add(0, burn.tensor([0]), burn.ones(1)),
                                  lambda n: burn.zeros(n).index_put((burn.tensor([0]),), burn.ones(1)),
                                  lambda n: F.cross_entropy(burn.zeros(1, n), burn.tensor([0])),
                                  lambda n: F.one_hot(burn.tensor([0]), 3)[:, :n].sum() + burn.ones(n)[burn.tensor([0])]],
                         ids=["getitem", "rows", "scatter_add", "index_put", "cross_entropy", "one_hot"])
def test_no_index_is_right_in_a_dim_of_no_elements(make):
    make(1).numpy()
    with pytest.raises((IndexError, burn.Error), match="out of range"):
        make(0).numpy()
    make(2).numpy()


def test_no_index_at_all_is_right():
    nothing = burn.full((0,), 9, dtype=burn.int64)
    assert burn.ones(4)[nothing].shape == (0,)
    assert burn.ones(4)[nothing].tolist() == []
    assert F.embedding(nothing, burn.zeros(4, 3)).numpy().shape == (0, 3)
    assert burn.ones(0)[nothing].tolist() == []
    assert burn.ones(0, 3)[nothing].sum().item() == 0
    assert burn.zeros(4).scatter_add(0, nothing, burn.ones(0)).tolist() == [0, 0, 0, 0]


def test_what_depends_on_a_wrong_index_fails_and_the_rest_does_not():
    good = burn.ones(4)[burn.tensor([0, 1])]
    wrong = burn.ones(4)[burn.tensor([0, 5])]
    after = wrong + 1
    assert good.tolist() == [1, 1]
    for x in (after, wrong):
        with pytest.raises((IndexError, burn.Error), match="index 5 is out of range"):
            x.numpy()
    assert (good * 2).tolist() == [2, 2]


@pytest.mark.skipif(os.environ.get("BURND_FUSION") == "off", reason="runs within")
def test_without_fusion():
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__], cwd=HERE,
                          env={**os.environ, "BURND_FUSION": "off"}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("use, says", [
    (lambda x, i: x[i], "-3 to 2"), (lambda x, i: burn.take(x, i), "-3 to 2"), (lambda x, i: burn.index_select(x, 0, i), "0 to 2"),
    (lambda x, i: burn.gather(x, 0, i), "0 to 2"), (lambda x, i: F.embedding(i, x.float().reshape(3, 1)), "0 to 2")])
def test_the_advice_is_of_indices_that_are_right(use, says):
    x, (least, most) = burn.tensor([1, 2, 3]), map(int, says.split(" to "))
    for index in (least - 1, most + 1):
        with pytest.raises((IndexError, burn.Error), match=f"index {index} is out of range: {says} would be right"):
            use(x, burn.tensor([index])).tolist()
    for index in (least, most):
        assert use(x, burn.tensor([index])).flatten().tolist() == [x.tolist()[index]]
