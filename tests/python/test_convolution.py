# SPDX-License-Identifier: Apache-2.0
"""Convolutions, pools and resizing against NumPy, their adjoints, their errors; new sizes compile nothing."""
import numpy as np
import pytest

import burn
import burn.nn as nn
import burn.nn.functional as F

RANDOM = np.random.default_rng(7)


def normal(*shape):
    return RANDOM.standard_normal(shape)


def numpy_conv(x, w, stride, low, high, dilation, groups):
    x = np.pad(x, ((0, 0), (0, 0), (low[0], high[0]), (low[1], high[1])))
    spans = [d * (k - 1) + 1 for k, d in zip(w.shape[2:], dilation)]
    seen = np.lib.stride_tricks.sliding_window_view(x, spans, (2, 3))
    seen = seen[:, :, ::stride[0], ::stride[1], ::dilation[0], ::dilation[1]]
    parts = []
    for group in range(groups):
        each, outputs = w.shape[1], w.shape[0] // groups
        own = w[group * outputs:(group + 1) * outputs]
        parts.append(np.einsum("nchwij,ocij->nohw", seen[:, group * each:(group + 1) * each], own))
    return np.concatenate(parts, 1)


@pytest.mark.parametrize("n,c,o,size,kernel,stride,padding,dilation,groups", [
    (2, 3, 4, (8, 7), (3, 3), (1, 1), (0, 0), (1, 1), 1),
    (1, 2, 3, (9, 11), (3, 2), (2, 3), (0, 2), (1, 2), 1),
    (3, 6, 9, (7, 9), (3, 3), (1, 2), (1, 1), (1, 1), 3),
    (2, 5, 5, (6, 17), (1, 5), (1, 1), (0, 2), (1, 1), 5),
    (1, 1, 1, (1, 1), (1, 1), (1, 1), (0, 0), (1, 1), 1),
    (2, 17, 33, (5, 35), (3, 3), (1, 1), (1, 1), (2, 2), 1),
])
def test_conv2d_equals_numpy_and_its_adjoints(n, c, o, size, kernel, stride, padding, dilation, groups):
    x, w = normal(n, c, *size), normal(o, c // groups, *kernel)
    size_needed = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    if any(s + 2 * p < need for s, p, need in zip(size, padding, size_needed)):
        pytest.skip("no window fits")
    want = numpy_conv(x, w, stride, padding, padding, dilation, groups)
    bx, bw = burn.tensor(x), burn.tensor(w)
    got = F.conv2d(bx, bw, None, stride, padding, dilation, groups)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-10, atol=1e-10)
    y = normal(*want.shape)
    back = F.conv_transpose2d(burn.tensor(y), bw, None, stride, padding, 0, groups, dilation).numpy()
    inner = np.sum(want * y)  # <conv(x), y> = <x, conv_transpose(y)>; elements that no window reaches count nothing
    reach = tuple(slice(0, extent) for extent in back.shape)
    np.testing.assert_allclose(np.sum(x[reach] * back[tuple(slice(0, e) for e in x.shape)]), inner, rtol=1e-9)


def numpy_conv_gradient(y, w, extents, stride, padding, groups):
    """Of the input: each place of y adds its weights to its window."""
    whole = np.zeros((len(y), w.shape[1] * groups, *(e + 2 * p for e, p in zip(extents, padding))))
    parts, filters = (a.reshape(*before, *a.shape[axis:]) for a, before, axis in (
        (y, (len(y), groups, -1), 2), (w, (groups, -1, w.shape[1]), 2)))
    for i, j in np.ndindex(*w.shape[2:]):
        place = np.s_[:, :, i:i + stride[0] * y.shape[2]:stride[0], j:j + stride[1] * y.shape[3]:stride[1]]
        added = np.einsum("ngohw,goc->ngchw", parts, filters[..., i, j])
        whole[place] += added.reshape(whole[place].shape)
    return whole[:, :, padding[0]:padding[0] + extents[0], padding[1]:padding[1] + extents[1]]


@pytest.mark.parametrize("n,c,o,size,kernel,stride,padding,groups", [
    (2, 4, 6, (9, 9), (3, 3), (2, 2), (1, 1), 1),
    (1, 3, 8, (15, 14), (7, 7), (2, 2), (3, 3), 1),
    (2, 4, 4, (8, 9), (1, 1), (2, 2), (0, 0), 1),  # the last row is in no window
    (2, 4, 6, (10, 11), (2, 2), (2, 2), (0, 0), 2),
    (1, 4, 8, (12, 9), (3, 3), (3, 3), (2, 2), 4),
    (2, 6, 12, (13, 12), (3, 5), (4, 3), (2, 1), 3),
    (1, 2, 2, (9, 9), (3, 3), (2, 2), (4, 5), 1),  # padding wider than the stride
    (1, 2, 3, (20, 20), (2, 2), (5, 5), (1, 0), 1),  # a stride wider than the window
    (3, 8, 16, (14, 14), (3, 3), (2, 1), (1, 1), 1),
    (2, 33, 40, (17, 35), (3, 3), (2, 2), (1, 1), 1),
])
def test_gradients_of_strided_convolutions(n, c, o, size, kernel, stride, padding, groups):
    x, w = normal(n, c, *size), normal(o, c // groups, *kernel)
    want = numpy_conv(x, w, stride, padding, padding, (1, 1), groups)
    y = normal(*want.shape)
    bx = burn.tensor(x, requires_grad=True)
    F.conv2d(bx, burn.tensor(w), None, stride, padding, 1, groups).backward(burn.tensor(y))
    gradient = numpy_conv_gradient(y, w, size, stride, padding, groups)
    np.testing.assert_allclose(bx.grad.numpy(), gradient, rtol=1e-10, atol=1e-10)


def rounded(a):
    """The nearest numbers of bf16, ties to even."""
    bits = np.ascontiguousarray(a, np.float32).view(np.uint32)
    return ((bits + (0x7fff + (bits >> 16 & 1))) & np.uint32(0xffff0000)).view(np.float32)


@pytest.mark.parametrize("n,c,o,size,kernel,stride,padding,groups", [
    (2, 32, 40, (14, 14), 3, 1, 1, 1), (3, 70, 33, (9, 21), 3, 2, 1, 1), (2, 64, 16, (12, 7), 5, 1, 2, 2),
    (1, 3, 64, (20, 19), 7, 2, 3, 1), (2, 33, 17, (6, 40), 2, 1, 0, 1),
])
def test_bf16_is_summed_exactly(n, c, o, size, kernel, stride, padding, groups):
    """Whole numbers: sums are exact in f32, so results have the bits of rounded sums. Gradients too."""
    x, w = (RANDOM.integers(-2, 3, shape).astype(float) for shape in ((n, c, *size), (o, c // groups, kernel, kernel)))
    want = numpy_conv(x, w, (stride,) * 2, (padding,) * 2, (padding,) * 2, (1, 1), groups)
    g = RANDOM.integers(-1, 2, want.shape).astype(float)
    gx, gw = np.zeros((n, c, *(s + 2 * padding for s in size))), np.zeros_like(w)
    seen = np.pad(x, ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    height, width = want.shape[2:]
    gs, ws = g.reshape(n, groups, -1, height, width), w.reshape(groups, -1, c // groups, kernel, kernel)
    for i in range(kernel):
        for j in range(kernel):
            place = np.s_[:, :, i:i + stride * height:stride, j:j + stride * width:stride]
            taken = seen[place][:, :, :height, :width].reshape(n, groups, -1, height, width)
            gw[:, :, i, j] = np.einsum("ngohw,ngchw->goc", gs, taken).reshape(o, -1)
            gx[place] += np.einsum("ngohw,goc->ngchw", gs, ws[..., i, j]).reshape(n, c, height, width)
    bx, bw = (burn.tensor(a).to(burn.bfloat16).requires_grad_() for a in (x, w))
    y = F.conv2d(bx, bw, None, stride, padding, 1, groups)
    y.backward(burn.tensor(g).to(burn.bfloat16))
    np.testing.assert_array_equal(y.detach().float().numpy(), rounded(want))
    np.testing.assert_array_equal(bx.grad.float().numpy(), rounded(gx[:, :, padding:padding + size[0], padding:padding + size[1]]))
    np.testing.assert_array_equal(bw.grad.float().numpy(), rounded(gw))


def test_same_and_valid_padding():
    x, w = normal(2, 3, 9, 8), normal(4, 3, 4, 3)
    same = F.conv2d(burn.tensor(x), burn.tensor(w), padding="same").numpy()
    np.testing.assert_allclose(same, numpy_conv(x, w, (1, 1), (1, 1), (2, 1), (1, 1), 1), atol=1e-10)
    valid = F.conv2d(burn.tensor(x), burn.tensor(w), padding="valid").numpy()
    np.testing.assert_allclose(valid, numpy_conv(x, w, (1, 1), (0, 0), (0, 0), (1, 1), 1), atol=1e-10)
    with pytest.raises(RuntimeError, match="strided"):
        F.conv2d(burn.tensor(x), burn.tensor(w), padding="same", stride=2)


@pytest.mark.parametrize("kernel,stride,padding,dilation", [((3, 2), 1, 0, 1), (2, 2, 0, 1), (3, (2, 1), (1, 0), (1, 2))])
def test_fold_is_the_adjoint_of_unfold(kernel, stride, padding, dilation):
    x = normal(2, 3, 7, 8)
    columns = F.unfold(burn.tensor(x), kernel, dilation, padding, stride).numpy()
    y = normal(*columns.shape)
    back = F.fold(burn.tensor(y), (7, 8), kernel, dilation, padding, stride).numpy()
    np.testing.assert_allclose(np.sum(columns * y), np.sum(x * back), rtol=1e-10)


def test_pools_of_integers_and_infinities():
    x = burn.tensor([[[[3, -7, 2], [9, -1, 4], [0, 5, -8]]]])
    assert F.max_pool2d(x, 2, 1, 1).tolist() == [[[[3, 3, 2, 2], [9, 9, 4, 4], [9, 9, 5, 4], [0, 5, 5, -8]]]]
    low = burn.tensor([[[-float("inf"), -float("inf"), 1.0, 2.0]]])
    values, index = F.max_pool1d(low, 2, return_indices=True)
    assert values.tolist() == [[[-float("inf"), 2.0]]] and index.tolist() == [[[0, 3]]]


@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize("size, stride, dilation", [(5, 2, 2), (3, 2, 1), (2, 2, 3), (3, 3, 2)])
def test_pools_whose_places_lie_apart(kind, size, stride, dilation):
    pad = size // 2
    reach = dilation * (size - 1) + 1
    for wide in (reach, 31, 32, 33, 66, 131):
        x = RANDOM.integers(0, 200, (1, 2, reach + 4, wide)).astype(kind)
        # Each image ends its array: nothing behind it may be read, or shown.
        got = F.max_pool2d(burn.tensor(x), size, stride, pad, dilation).numpy()
        least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
        seen = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)), constant_values=least)
        seen = np.lib.stride_tricks.sliding_window_view(seen, (reach, reach), (2, 3))
        seen = seen[:, :, ::stride, ::stride, ::dilation, ::dilation]
        np.testing.assert_array_equal(got, seen.max((4, 5)))
        first = seen.reshape(*seen.shape[:4], -1).argmax(-1)  # of equal elements
        row = np.arange(seen.shape[2])[:, None] * stride - pad + first // size * dilation
        column = np.arange(seen.shape[3]) * stride - pad + first % size * dilation
        index = F.max_pool2d(burn.tensor(x), size, stride, pad, dilation, return_indices=True)[1]
        np.testing.assert_array_equal(index.numpy(), row * wide + column)
        np.testing.assert_array_equal((burn.tensor(x)[..., 1::2] + 1).numpy(), x[..., 1::2] + 1)


@pytest.mark.parametrize("size", [1, 3, (4, 5), (7, None)])
def test_adaptive_pools_cover_evenly(size):
    x = normal(2, 3, 7, 10)
    sizes = (size,) * 2 if not isinstance(size, tuple) else tuple(10 if s is None else s for s in size)
    mean, most = np.empty((2, 3, *sizes)), np.empty((2, 3, *sizes))
    for i in range(sizes[0]):
        for j in range(sizes[1]):
            part = x[:, :, i * 7 // sizes[0]:-(-(i + 1) * 7 // sizes[0]), j * 10 // sizes[1]:-(-(j + 1) * 10 // sizes[1])]
            mean[:, :, i, j], most[:, :, i, j] = part.mean((2, 3)), part.max((2, 3))
    np.testing.assert_allclose(F.adaptive_avg_pool2d(burn.tensor(x), size).numpy(), mean, atol=1e-12)
    values, index = F.adaptive_max_pool2d(burn.tensor(x), size, True)
    np.testing.assert_array_equal(values.numpy(), most)
    np.testing.assert_array_equal(np.take_along_axis(x.reshape(2, 3, -1), index.numpy().reshape(2, 3, -1), -1),
                                  most.reshape(2, 3, -1))


def test_batch_norm_moves_its_statistics():
    x = normal(6, 3, 4).astype(np.float32)
    norm = nn.BatchNorm1d(3, momentum=None)
    norm(burn.tensor(x[:3]))
    norm(burn.tensor(x[3:]))
    halves = [part.transpose(1, 0, 2).reshape(3, -1) for part in (x[:3], x[3:])]
    np.testing.assert_allclose(norm.running_mean.numpy(), np.mean([h.mean(1) for h in halves], 0), atol=1e-6)
    np.testing.assert_allclose(norm.running_var.numpy(), np.mean([h.var(1, ddof=1) for h in halves], 0), rtol=1e-5)
    assert norm.num_batches_tracked.item() == 2
    with pytest.raises(ValueError, match="more than 1 value"):
        norm(burn.tensor(x[:1, :, :1]))


def test_errors_say_both_shapes():
    x, w = burn.zeros(1, 3, 8, 8), burn.zeros(4, 2, 3, 3)
    with pytest.raises(RuntimeError, match=r"\[4, 2, 3, 3\].*\[1, 3, 8, 8\]"):
        F.conv2d(x, w)
    with pytest.raises(RuntimeError, match="size 9"):
        F.conv2d(x, burn.zeros(4, 3, 9, 9))
    with pytest.raises(RuntimeError, match="half"):
        F.max_pool2d(x, 2, padding=2)
    with pytest.raises(ValueError, match="only one"):
        F.interpolate(x, 3, 2.0)
    assert F.conv2d(x, burn.ones(1, 3, 1, 1)).sum().item() == 0


def test_new_sizes_compile_nothing():
    model = nn.Sequential(nn.Conv2d(2, 5, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))

    def step(batch, height, width):
        x = burn.ones(batch, 2, height, width)
        model.zero_grad()
        model(x).square().mean().backward()
        return model[0].weight.grad.sum().item()
    step(3, 8, 12)
    before = burn.stats()["kernels"]["compiles"]
    for sizes in ((4, 8, 12), (3, 10, 14), (7, 31, 23)):
        assert np.isfinite(step(*sizes))
    assert burn.stats()["kernels"]["compiles"] == before


def test_groups_of_channels_after_a_read():
    """The gradient of a group norm, of a mean, of a convolution's weight gradient that an earlier trace made."""
    random = np.random.default_rng(3)
    x, y = (burn.tensor(random.standard_normal(shape), requires_grad=True) for shape in ((3, 4, 4), (3, 4, 2)))
    scale, shift = (burn.tensor(random.standard_normal(4), requires_grad=True) for _ in range(2))
    weight = burn.tensor(random.standard_normal((2, 4, 4)))

    def loss(read):
        made = burn._ops.conv_weight(x, y, (2,), (3,), (1,), (1,), 1) * 1
        if read:
            x.detach().sum().item()
        mean = made.permute(2, 1, 0).mean(2)
        rows = burn.stack([mean, mean.sin(), mean * 0.5, mean.cos()], 1)
        return (F.group_norm(rows, 4, scale, shift, 0.1).tanh() * weight).sum()

    want = burn.autograd.grad(loss(False), [x, y, scale, shift])
    for have, expected in zip(burn.autograd.grad(loss(True), [x, y, scale, shift]), want):
        np.testing.assert_allclose(have.numpy(), expected.numpy(), rtol=1e-10, atol=1e-12)
