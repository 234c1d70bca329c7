# SPDX-License-Identifier: Apache-2.0
"""Scans, order statistics, searches, sets, samples and factorisations against NumPy."""
import numpy as np
import pytest

import burn

SIZES = (1, 7, 67, 131, 1031)


def close(got, want, tolerance=1e-6):
    got = got.numpy() if isinstance(got, burn.Tensor) else np.asarray(got)
    want = np.asarray(want)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("n", SIZES)
def test_scans(n):
    x = np.random.default_rng(n).standard_normal((3, n))
    t = burn.tensor(x)
    for dim in (0, 1):
        close(t.cumsum(dim), x.cumsum(dim))
        close(t.cumprod(dim), x.cumprod(dim))
        close(t.cummax(dim).values, np.maximum.accumulate(x, dim))
        close(t.cummin(dim).values, np.minimum.accumulate(x, dim))
        close(t.logcumsumexp(dim), np.logaddexp.accumulate(x, dim))
        close(t.diff(dim=dim), np.diff(x, axis=dim))
    ties = burn.tensor([1, 3, 3, 2, 3])
    assert ties.cummax(0).indices.tolist() == [0, 1, 2, 2, 4]
    assert burn.tensor([True, False, True]).cumsum(0).tolist() == [1, 1, 2]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "uint8"])
def test_sort_is_stable(n, dtype):
    x = np.random.default_rng(n).integers(0, 9, (2, n)).astype(dtype)
    values, indices = burn.sort(burn.tensor(x))
    assert np.array_equal(values.numpy(), np.sort(x, axis=1))
    assert np.array_equal(indices.numpy(), np.argsort(x, axis=1, kind="stable"))
    down = burn.argsort(burn.tensor(x), descending=True).numpy()
    assert np.array_equal(down, np.argsort(-x.astype(np.int64), axis=1, kind="stable"))


@pytest.mark.parametrize("n", SIZES)
def test_order_statistics(n):
    x = np.random.default_rng(n).standard_normal((4, n))
    t = burn.tensor(x)
    ordered = np.sort(x, axis=1)
    close(t.median(1).values, ordered[:, (n - 1) // 2])
    close(t.quantile(0.3, dim=1), np.quantile(x, 0.3, axis=1))
    close(t.kthvalue(1, 1).values, ordered[:, 0])
    k = min(n, 3)
    close(t.topk(k, 1).values, ordered[:, ::-1][:, :k])
    x[1, 0] = np.nan
    t = burn.tensor(x)
    close(t.nanquantile(0.5, dim=1)[2:], np.quantile(x[2:], 0.5, axis=1))
    assert np.isnan(t.median(1).values.numpy()).tolist() == [False, True, False, False]
    assert burn.tensor([2, 1, 2, 1, 3]).mode().values.item() == 1
    with pytest.raises(RuntimeError, match="out of range"):
        t.topk(n + 1)


@pytest.mark.parametrize("n", (1, 32, 33, 1000))
def test_searches(n):
    random = np.random.default_rng(n)
    edges, x = np.sort(random.integers(0, 50, n)), random.integers(-5, 60, (3, 11))
    for side in ("left", "right"):
        found = burn.searchsorted(burn.tensor(edges), burn.tensor(x), side=side)
        assert np.array_equal(found.numpy(), np.searchsorted(edges, x, side))
    assert np.array_equal(burn.isin(burn.tensor(x), burn.tensor(edges)).numpy(), np.isin(x, edges))


@pytest.mark.parametrize("n", (0, 1, 7, 131))
def test_sets_and_counts(n):
    x = np.random.default_rng(n).integers(0, 5, n)
    t = burn.tensor(x)
    for got, want in zip(t.unique(return_inverse=True, return_counts=True),
                         np.unique(x, return_inverse=True, return_counts=True)):
        assert np.array_equal(got.numpy(), want)
    assert np.array_equal(burn.bincount(t, minlength=3).numpy(), np.bincount(x, minlength=3))
    assert np.array_equal(t.nonzero().numpy(), np.argwhere(x))
    assert np.array_equal(t.masked_select(t > 2).numpy(), x[x > 2])
    edges = np.linspace(0, 4, 5)
    assert np.array_equal(burn.histc(t.to(burn.float32), 4, 0, 4).numpy(), np.histogram(x, edges)[0])
    rows = x[: n // 2 * 2].reshape(-1, 2)
    if len(rows):
        assert np.array_equal(burn.unique(burn.tensor(rows), dim=0).numpy(), np.unique(rows, axis=0))


def test_samples():
    assert np.array_equal(np.sort(burn.randperm(131).numpy()), np.arange(131))
    weights = burn.tensor([[0.0, 1.0, 3.0, 0.0], [1.0, 1.0, 0.0, 2.0]])
    drawn = burn.multinomial(weights, 4000, replacement=True).numpy()
    assert set(drawn[0]) == {1, 2} and abs((drawn[0] == 2).mean() - 0.75) < 0.05
    assert sorted(burn.multinomial(weights[1], 3).tolist()) == [0, 1, 3]
    with pytest.raises(RuntimeError):
        burn.multinomial(burn.tensor([-1.0, 2.0]), 1)
    waits = burn.empty(4000).exponential_(2.0)
    assert float(waits.min()) >= 0 and abs(float(waits.mean()) - 0.5) < 0.05


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("include_self", [True, False])
def test_scatter_reduce(reduce, include_self):
    random = np.random.default_rng(3)
    x, index, source = random.standard_normal((5, 3)), random.integers(0, 5, (8, 3)), random.standard_normal((8, 3))
    fold = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "amax": np.max, "amin": np.min}[reduce]
    want = x.copy()
    for column in range(3):
        for place in range(5):
            here = source[index[:, column] == place, column]
            if len(here):
                want[place, column] = fold(np.append(here, x[place, column]) if include_self else here)
    t = burn.tensor(x).scatter_reduce(0, burn.tensor(index), burn.tensor(source), reduce, include_self=include_self)
    close(t, want)


@pytest.mark.parametrize("n", (1, 3, 17))
def test_factorisations(n):
    random = np.random.default_rng(n)
    a, b = random.standard_normal((2, n, n)) + 3 * np.eye(n), random.standard_normal((2, n, 2))
    A, B = burn.tensor(a), burn.tensor(b)
    close(burn.linalg.solve(A, B), np.linalg.solve(a, b), 1e-9)
    close(burn.linalg.inv(A), np.linalg.inv(a), 1e-9)
    close(burn.linalg.det(A), np.linalg.det(a), 1e-9)
    s = a @ a.transpose(0, 2, 1)
    close(burn.linalg.cholesky(burn.tensor(s)), np.linalg.cholesky(s), 1e-9)
    close(burn.linalg.svdvals(A), np.linalg.svd(a, compute_uv=False), 1e-9)
    close(burn.linalg.eigvalsh(burn.tensor(s)), np.linalg.eigvalsh(s), 1e-9)
    with pytest.raises(RuntimeError, match="ingular"):
        burn.linalg.inv(burn.zeros(n, n))


@pytest.mark.parametrize("name", ["inv", "det", "cholesky", "svdvals", "matrix_exp", "eigh"])
def test_gradients_of_factorisations_to_the_second_order(name):
    random = np.random.default_rng(5)
    start, one, two = random.standard_normal((3, 4, 4))
    weights = None

    def value(x):
        nonlocal weights
        A = x @ x.mT + burn.eye(4, dtype=burn.float64) if name == "cholesky" else x
        out = getattr(burn.linalg, name)(A + A.mT if name == "eigh" else A)
        if name == "eigh":
            out = (out[1] * out[0].sin().unsqueeze(-2)) @ out[1].mT
        weights = burn.tensor(random.standard_normal(tuple(out.shape))) if weights is None else weights
        return (out * weights).sum()

    def slope(at):
        x = burn.tensor(at, requires_grad=True)
        first, = burn.autograd.grad(value(x), [x], create_graph=True)
        second, = burn.autograd.grad((first * burn.tensor(two)).sum(), [x])
        return first.detach().numpy(), second.numpy()
    base = start + 3 * np.eye(4) if name != "matrix_exp" else start * 0.3
    first, second = slope(base)
    step = 1e-6
    up, down = (float(value(burn.tensor(base + sign * step * one))) for sign in (1, -1))
    assert abs((up - down) / (2 * step) - (first * one).sum()) < 1e-5 * (1 + abs(first).max() * 4)
    up, down = (slope(base + sign * step * one)[0] for sign in (1, -1))
    assert abs((((up - down) / (2 * step)) * two).sum() - (second * one).sum()) < 1e-4 * (1 + abs(second).max() * 4)


@pytest.mark.parametrize("shape,dim", [((5, 1), 1), ((1, 5), 0), ((1,), 0), ((3, 1, 4), -2)])
def test_along_one_element(shape, dim):
    """Where the structure says that there is but one element, nothing is scanned or sorted."""
    a = np.random.default_rng(5).uniform(0.5, 2, shape)
    x = burn.tensor(a, requires_grad=True)
    y = x.exp().cumsum(dim) / 3 + (x * 2).cumprod(dim) + x.sin().logcumsumexp(dim) + (x * x).sort(dim)[0] + x.cummax(dim)[0]
    np.testing.assert_allclose(y.detach().numpy(), np.exp(a) / 3 + 2 * a + np.sin(a) + a * a + a, rtol=1e-12)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp(a) / 3 + 2 + np.cos(a) + 2 * a + 1, rtol=1e-12)
    assert (x.argsort(dim).numpy() == 0).all() and (x.sort(dim, descending=True)[1].numpy() == 0).all()
