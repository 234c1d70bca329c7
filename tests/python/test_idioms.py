# SPDX-License-Identifier: Apache-2.0
"""What scripts written for PyTorch do by habit: older constructors, out=, NumPy's keywords, helpers of training."""
import copy
import pickle

import numpy as np
import pytest

import burn
import burn.nn as nn
import burn.nn.functional as F
from burn.testing import assert_close


# ---- older constructors and types ----

def test_constructors_of_a_type():
    assert burn.Tensor(2, 3).shape == (2, 3) and burn.Tensor(burn.Size([2, 3])).shape == (2, 3)
    assert burn.Tensor([1, 2]).tolist() == [1.0, 2.0] and burn.Tensor((2, 3)).tolist() == [2.0, 3.0]
    assert burn.Tensor(np.ones((2, 2))).dtype == burn.float32 and burn.Tensor().shape == (0,)
    assert burn.LongTensor([[1, 2]]).dtype == burn.int64 and burn.LongTensor(3).shape == (3,)
    assert burn.BoolTensor([True, False]).tolist() == [True, False]
    x = burn.ones(2)
    burn.Tensor(x).add_(1)
    assert x.tolist() == [2.0, 2.0]  # it shares
    with pytest.raises(TypeError, match="int64"):
        burn.FloatTensor(burn.arange(3))
    with pytest.raises(RuntimeError, match="negative"):
        burn.Tensor(-1)
    burn.set_default_dtype(burn.float64)
    try:
        assert burn.Tensor([1]).dtype == burn.float64
    finally:
        burn.set_default_tensor_type("torch.FloatTensor")
    assert burn.get_default_dtype() == burn.float32


def test_types_by_class_and_by_name():
    x = burn.ones(2)
    assert x.type() == burn.typename(x) == "torch.FloatTensor" and burn.arange(2).type() == "torch.LongTensor"
    assert isinstance(x, burn.FloatTensor) and not isinstance(x, burn.LongTensor) and isinstance(x, burn.Tensor)
    assert x.type(burn.LongTensor).dtype == x.type("torch.LongTensor").dtype == x.type(burn.int64).dtype == burn.int64
    assert burn.arange(2).new([1.7, 2]).dtype == burn.int64 and x.new(2, 2).shape == (2, 2)
    with pytest.raises(ValueError, match="FloatTensor"):
        x.type("torch.NoTensor")


class Named(burn.Tensor):
    pass


def test_a_class_of_ones_own():
    x = Named([1, 2])
    assert type(x) is Named and x.tolist() == [1.0, 2.0] and type(Named(x)) is Named


# ---- out= and NumPy's names ----

def test_out():
    a, b = burn.ones(2, 2), burn.full((2, 2), 2.0)
    into = burn.zeros(2, 2)
    view = into[0]
    assert burn.add(a, b, out=into) is into and view.tolist() == [3.0, 3.0]
    burn.matmul(a, b, out=into)
    assert into.tolist() == [[4.0, 4.0]] * 2
    grown = burn.empty(0)
    burn.mul(a, 3, out=grown)
    assert grown.tolist() == [[3.0, 3.0]] * 2
    values, places = burn.empty(0), burn.empty(0, dtype=burn.int64)
    found = burn.topk(burn.tensor([1.0, 3.0, 2.0]), 2, out=(values, places))
    assert values.tolist() == [3.0, 2.0] and places.tolist() == [1, 2] and found.values is values
    whole = burn.zeros(2, dtype=burn.float64)
    assert burn.arange(2, out=whole) is whole and whole.tolist() == [0.0, 1.0]
    with pytest.raises(RuntimeError, match="can't be cast"):
        burn.div(a, b, out=burn.zeros(2, 2, dtype=burn.int64))
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        burn.exp(a.requires_grad_(), out=into)
    with burn.no_grad():
        assert burn.exp(a, out=into).requires_grad is False
    with pytest.raises(TypeError):
        burn.reshape(a, (4,), out=into)


def test_axis_and_keepdims():
    x = burn.arange(6.0).reshape(2, 3)
    assert burn.cumsum(x, axis=0).tolist() == x.cumsum(axis=0).tolist() == [[0, 1, 2], [3, 5, 7]]
    assert x.sum(axis=1, keepdims=True).tolist() == [[3.0], [12.0]]
    assert burn.stack([x, x], axis=2).shape == (2, 3, 2) and burn.softmax(x, axis=1).sum().item() == pytest.approx(2)
    assert x.max(axis=1).values.tolist() == [2.0, 5.0] and x.unsqueeze(axis=0).shape == (1, 2, 3)
    with pytest.raises(TypeError):
        burn.cumsum(x, axes=0)


def test_lists_by_name():
    x = burn.arange(6.0).reshape(2, 3)
    assert burn.flip(x, dims=[1]).tolist() == x.flip(dims=(1,)).tolist() == [[2, 1, 0], [5, 4, 3]]
    assert burn.permute(x, dims=(1, 0)).shape == x.permute(dims=(1, 0)).shape == (3, 2)
    assert burn.reshape(input=x, shape=(3, 2)).shape == x.reshape(shape=(3, 2)).shape == x.view(size=(3, 2)).shape == (3, 2)
    assert burn.tile(x, dims=(2,)).shape == (2, 6) and x.repeat(repeats=(2, 1)).shape == (4, 3)
    assert x[:1].expand(size=(4, 3)).shape == burn.broadcast_to(x[:1], size=(4, 3)).shape == (4, 3)
    assert x.swapaxes(axis0=0, axis1=1).shape == (3, 2) and burn.swapdims(x, dim0=0, dim1=1).shape == (3, 2)
    assert burn.mm(x, mat2=x.t()).shape == (2, 2) and burn.bmm(x[None], mat2=x.t()[None]).shape == (1, 2, 2)
    assert burn.mv(x, vec=x[0]).tolist() == [5.0, 14.0] and burn.dot(x[0], tensor=x[0]).item() == 5.0
    with pytest.raises(TypeError):
        burn.flip(x, dimensions=[0])


def test_named_results():
    found = burn.tensor([3.0, 1.0]).sort()
    assert repr(found) == "burn.return_types.sort(\nvalues=tensor([1., 3.]),\nindices=tensor([1, 0]))"
    values, places = found
    assert found.indices is places and found[0] is values
    assert pickle.loads(pickle.dumps(burn.return_types.max(1, 2))).values == 1


# ---- in place ----

def test_shapes_changed_in_place():
    x = burn.arange(6.0).reshape(2, 3)
    row = x[0]
    assert x.t_() is x and x.shape == (3, 2) and x.unsqueeze_(0).shape == (1, 3, 2) and x.squeeze_().shape == (3, 2)
    assert x.transpose_(0, 1).swapaxes_(0, 1).tolist() == [[0, 3], [1, 4], [2, 5]]
    x[0, 0] = 9
    assert row.tolist() == [9.0, 1.0, 2.0]
    with pytest.raises(RuntimeError, match="unsqueeze"):
        burn.ones(2, requires_grad=True).unsqueeze_(0)


def test_functions_of_methods():
    x = burn.ones(2)
    assert burn.fill(x, 3).tolist() == [3.0, 3.0] and burn.detach(x).tolist() == [1.0, 1.0]
    assert burn.zero_(x) is x and burn.fill_(x, 2).tolist() == [2.0, 2.0]
    assert burn.tensor([2]).is_nonzero() and x.get_device() == -1 and not x.is_sparse and x.layout is burn.strided
    assert burn.is_same_size(x, burn.zeros(2)) and burn.is_signed(x)
    with pytest.raises(RuntimeError, match="ambiguous"):
        x.is_nonzero()
    assert x.to(memory_format=burn.channels_last) is x and burn.empty(2, memory_format=burn.contiguous_format).shape == (2,)
    assert burn.vmap(lambda v: v * 2)(x).tolist() == [4.0, 4.0]
    assert burn.conv1d(burn.ones(1, 1, 3), burn.ones(1, 1, 2)).tolist() == [[[2.0, 2.0]]]


def test_a_mask_that_is_all_false_or_of_several_dims():
    x = burn.arange(12.0).reshape(2, 3, 2)
    mask = x[:, :, 0] > 3
    want = x.numpy()[mask.numpy()]
    np.testing.assert_array_equal(x[mask].numpy(), want)
    np.testing.assert_array_equal(x[1, x[1, :, 1] > 8, 0].numpy(), [8.0, 10.0])
    assert x[x < 0].shape == (0,) and x[mask & False].shape == (0, 2)
    x[mask] = burn.zeros(4, 2)
    assert x.sum().item() == 6.0 and [p.tolist() for p in burn.where(mask)] == [[0, 1, 1, 1], [2, 0, 1, 2]]


# ---- networks ----

@pytest.mark.parametrize("make", [lambda **k: nn.BatchNorm1d(4, **k), lambda **k: nn.GroupNorm(2, 4, **k),
                                  lambda **k: nn.InstanceNorm1d(4, affine=True, **k)])
def test_norms_without_bias(make):
    norm = make(bias=False)
    assert norm.bias is None and [name for name, _ in norm.named_parameters()] == ["weight"] and "bias=False" in repr(norm)
    x = burn.randn(3, 4, 5)
    assert_close(norm(x), make()(x))


@pytest.mark.parametrize("norm", [
    lambda x, w, b: F.layer_norm(x, (3,), w[:3], b[:3]), lambda x, w, b: F.rms_norm(x, (3,), w[:3], 1e-5),
    lambda x, w, b: F.batch_norm(x, None, None, w, b, True), lambda x, w, b: F.batch_norm(x, b, w, w, b),
    lambda x, w, b: F.group_norm(x, 2, w, b), lambda x, w, b: F.instance_norm(x, None, None, w, b)])
def test_norms_of_half_precision_with_float_parameters(norm):
    """As PyTorch on a CPU: computed in float32, given in the input's dtype."""
    x, w, b = burn.randn(5, 4, 3).bfloat16(), burn.rand(4) + 0.5, burn.rand(4)
    found = norm(x, w, b)
    assert found.dtype == burn.bfloat16
    assert_close(found, norm(x.float(), w, b).bfloat16())


def test_autocast_through_norms():
    net = nn.Sequential(nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.Flatten(), nn.Linear(12, 6), nn.LayerNorm(6))
    with burn.autocast("cpu"):
        loss = net(burn.randn(8, 2, 5)).float().pow(2).mean()
    loss.backward()
    assert net[1].running_mean.dtype == burn.float32
    assert all(p.grad.dtype == burn.float32 and p.grad.isfinite().all() for p in net.parameters())


def test_the_older_weight_norm():
    layer = nn.Linear(3, 2)
    before = layer.weight.detach().numpy().copy()
    assert nn.utils.weight_norm(layer) is layer
    assert sorted(layer.state_dict()) == ["bias", "weight_g", "weight_v"] and layer.weight_g.shape == (2, 1)
    x = burn.randn(4, 3)
    np.testing.assert_allclose(layer(x).detach().numpy(), x.numpy() @ before.T + layer.bias.detach().numpy(), rtol=1e-4,
                               atol=1e-5)
    layer(x).sum().backward()
    assert layer.weight_g.grad is not None and layer.weight_v.grad.abs().sum() > 0
    layer.weight_g.data.mul_(2)
    layer(x)
    np.testing.assert_allclose(layer.weight.detach().numpy(), 2 * before, rtol=1e-5)
    with pytest.raises(RuntimeError, match="two weight_norm hooks"):
        nn.utils.weight_norm(layer)
    nn.utils.remove_weight_norm(layer)
    assert sorted(layer.state_dict()) == ["bias", "weight"] and isinstance(layer.weight, nn.Parameter)
    np.testing.assert_allclose(layer.weight.detach().numpy(), 2 * before, rtol=1e-5)
    with pytest.raises(ValueError, match="not found"):
        nn.utils.remove_weight_norm(layer)


def test_the_older_spectral_norm():
    layer = nn.utils.spectral_norm(nn.Linear(6, 4), n_power_iterations=20)
    assert sorted(layer.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    assert [name for name, _ in layer.named_parameters()] == ["bias", "weight_orig"]
    x = burn.randn(2, 6)
    for _ in range(5):
        layer(x)
    original = layer.weight_orig.detach().numpy()
    want = original / np.linalg.svd(original, compute_uv=False)[0]
    np.testing.assert_allclose(layer.weight.detach().numpy(), want, rtol=1e-3, atol=1e-4)
    layer(x).sum().backward()
    assert layer.weight_orig.grad.abs().sum() > 0
    twin = nn.utils.spectral_norm(nn.Linear(6, 4)).eval()
    twin.load_state_dict(layer.state_dict())
    assert_close(twin(x), layer.eval()(x))
    nn.utils.remove_spectral_norm(layer)
    np.testing.assert_allclose(layer.weight.detach().numpy(), want, rtol=1e-3, atol=1e-4)


def test_affine_grid():
    """PyTorch's numbers."""
    theta = burn.tensor([[[0.5, 0.1, 0.2], [-0.3, 1.0, 0.0]]], requires_grad=True)
    grid = F.affine_grid(theta, (1, 1, 2, 3), align_corners=False)
    want = [[[-0.183333, -0.3], [0.15, -0.5], [0.483333, -0.7]], [[-0.083333, 0.7], [0.25, 0.5], [0.583333, 0.3]]]
    np.testing.assert_allclose(grid[0].detach().numpy(), want, rtol=1e-4, atol=1e-6)
    grid.sum().backward()
    np.testing.assert_allclose(theta.grad.numpy(), [[[0, 0, 6], [0, 0, 6]]], atol=1e-6)
    corners = F.affine_grid(theta.detach(), (1, 1, 2, 3), align_corners=True)
    np.testing.assert_allclose(corners[0, 0, 0].numpy(), [-0.4, -0.7], rtol=1e-5)
    with pytest.raises(ValueError, match="Nx2x3"):
        F.affine_grid(theta, (2, 1, 2, 3))


def test_a_norm_of_what_was_normalised_in_another_shape():
    """The sizes of the two shapes are equal only as products; every reduction must still find its axes."""
    random = np.random.default_rng(0)
    a, w = random.standard_normal((2, 4, 2, 3)), random.random(4) + 0.5

    def loss(a, w):
        spread = a.reshape(2, 2, 2, 6).softmax(2).reshape(2, 4, 2, 3)
        return F.group_norm(spread, 1, w, w).mean(1, keepdim=True).pow(2).sum()
    x, y = burn.tensor(a, requires_grad=True), burn.tensor(w, requires_grad=True)
    loss(x, y).backward()
    for tensor, array, at in ((x, a, (1, 2, 0, 1)), (x, a, (0, 0, 1, 2)), (y, w, (3,))):
        moved = []
        for step in (1e-5, -1e-5):
            array[at] += step
            moved.append(loss(burn.tensor(a), burn.tensor(w)).item())
            array[at] -= step
        assert tensor.grad.numpy()[at] == pytest.approx((moved[0] - moved[1]) / 2e-5, rel=1e-4, abs=1e-7)


def test_containers_of_parameters_as_text():
    """PyTorch's."""
    assert repr(nn.ParameterList([burn.ones(2)])) == "ParameterList(  (0): Parameter containing: [burn.float32 of size 2])"
    assert repr(nn.ParameterDict({"a": burn.ones(2, 3), "b": 3.0})) == (
        "ParameterDict(\n    (a): Parameter containing: [torch.FloatTensor of size 2x3]\n    (b): Object of type: float\n)")
    found = nn.Linear(1, 1).load_state_dict({"weight": burn.ones(1, 1)}, strict=False)
    assert repr(found) == "_IncompatibleKeys(missing_keys=['bias'], unexpected_keys=[])"


class Wrapper(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)


def test_copies_of_a_module_that_asks_its_child():
    wrapper = Wrapper(nn.Linear(3, 2))
    for twin in (copy.deepcopy(wrapper), pickle.loads(pickle.dumps(wrapper))):
        assert twin.in_features == 3 and twin.inner is not wrapper.inner
        assert_close(twin.weight, wrapper.weight)


# ---- helpers ----

def test_switches_for_devices_that_there_are_not():
    assert burn.cuda.memory_allocated() == 0 and burn.cuda.max_memory_allocated() == 0
    burn.cuda.reset_peak_memory_stats()
    with pytest.raises(RuntimeError, match="no CUDA device"):
        burn.cuda.get_device_name(0)
    with pytest.raises(RuntimeError, match="no CUDA device"):
        nn.Linear(2, 2).cuda()
    with pytest.warns(UserWarning, match="CUDA is not available"):
        scaler = burn.cuda.amp.GradScaler()
    assert not scaler.is_enabled() and not burn.cuda.amp.GradScaler(enabled=False).is_enabled()
    with pytest.warns(UserWarning, match="not available"):
        with burn.cuda.amp.autocast():
            assert not burn.is_autocast_enabled()
    assert burn.GradScaler("cpu").is_enabled()


def test_random_streams_put_back():
    burn.manual_seed(3)
    first = burn.rand(4).tolist()
    burn.manual_seed(3)
    with burn.random.fork_rng():
        burn.rand(100)
    assert burn.rand(4).tolist() == first


def test_assert_close():
    x = burn.tensor([1.0, 2.0])
    assert_close({"a": [x, 1.0]}, {"a": [x + 1e-7, 1.0]})
    for other, text in ((burn.tensor([1.0, 2.1]), "1 / 2"), (burn.tensor([1, 2]), "dtype"), (burn.ones(3), "shape"),
                        (burn.tensor([1.0, float("nan")]), "not close")):
        with pytest.raises(AssertionError, match=text):
            assert_close(x, other)
    with pytest.raises(AssertionError, match=r"item \['a'\]"):
        assert_close({"a": x}, {"a": x + 1})
    assert_close(burn.tensor(float("nan")), burn.tensor(float("nan")), equal_nan=True)
