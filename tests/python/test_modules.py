# SPDX-License-Identifier: Apache-2.0
"""Lazy modules, buffers, pruning, fusion, orthogonal weights, rarer optimizers; the values are those of PyTorch 2.13."""
import copy

import burn
import numpy as np
import pytest
from burn import nn
from burn.nn.utils import prune
from burn.utils.data import DistributedSampler

W = [[0.5, -1.0, 2.0], [0.1, 0.7, -0.3], [-1.5, 0.2, 0.9], [0.4, -0.6, 1.1]]
G = [[1.0, 0.2, -0.5], [0.3, -1.0, 0.4], [0.0, 0.0, 0.0], [-0.7, 0.3, 0.2]]


def close(tensor, values, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(tensor.detach().numpy(), values, rtol, atol)


def linear():
    made = nn.Linear(3, 4)
    made.weight.data, made.bias.data = burn.tensor(W), burn.tensor([1.0, -0.2, 0.3, -0.4])
    return made


# ---- lazy modules ----

def test_lazy_modules_learn_their_sizes():
    net = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2, bias=False))
    assert repr(net[0]) == "LazyLinear(in_features=0, out_features=4, bias=True)"
    weight = net[0].weight
    assert isinstance(weight, nn.UninitializedParameter) and isinstance(weight, nn.Parameter) and weight.requires_grad
    assert net[0].has_uninitialized_params()
    with pytest.raises(RuntimeError, match="uninitialized parameter"):
        weight.shape
    assert net(burn.ones(3, 5)).shape == (3, 2)
    assert type(net[0]) is nn.Linear and net[0].weight is weight and type(weight) is nn.Parameter
    assert weight.shape == (4, 5) and repr(net[2]) == "Linear(in_features=4, out_features=2, bias=False)"
    assert 0 < weight.detach().abs().max() <= 5 ** -0.5
    net(burn.ones(3, 5)).sum().backward()
    assert weight.grad.shape == (4, 5)


@pytest.mark.parametrize("lazy, shape, name, parameters", [
    (lambda: nn.LazyConv1d(4, 3), (2, 6, 5), "Conv1d", [(4, 6, 3), (4,)]),
    (lambda: nn.LazyConv2d(4, 3, padding=1, groups=2), (2, 6, 5, 5), "Conv2d", [(4, 3, 3, 3), (4,)]),
    (lambda: nn.LazyConv3d(4, 1, bias=False), (2, 6, 3, 3, 3), "Conv3d", [(4, 6, 1, 1, 1)]),
    (lambda: nn.LazyConvTranspose1d(4, 2), (2, 6, 5), "ConvTranspose1d", [(6, 4, 2), (4,)]),
    (lambda: nn.LazyConvTranspose2d(4, 2), (6, 5, 5), "ConvTranspose2d", [(6, 4, 2, 2), (4,)]),
    (lambda: nn.LazyConvTranspose3d(4, 2), (2, 6, 3, 3, 3), "ConvTranspose3d", [(6, 4, 2, 2, 2), (4,)]),
    (lambda: nn.LazyBatchNorm1d(), (4, 6), "BatchNorm1d", [(6,), (6,)]),
    (lambda: nn.LazyBatchNorm2d(momentum=0.2), (4, 6, 2, 2), "BatchNorm2d", [(6,), (6,)]),
    (lambda: nn.LazyBatchNorm3d(affine=False), (4, 6, 2, 2, 2), "BatchNorm3d", []),
    (lambda: nn.LazyInstanceNorm1d(affine=True), (4, 6, 3), "InstanceNorm1d", [(6,), (6,)]),
    (lambda: nn.LazyInstanceNorm2d(), (4, 6, 2, 2), "InstanceNorm2d", []),
    (lambda: nn.LazyInstanceNorm3d(), (4, 6, 2, 2, 2), "InstanceNorm3d", []),
])
def test_every_lazy_module(lazy, shape, name, parameters):
    module = lazy()
    assert type(module).__name__ == f"Lazy{name}"
    module(burn.randn(shape))
    assert type(module) is getattr(nn, name) and [tuple(p.shape) for p in module.parameters()] == parameters
    if "BatchNorm" in name:
        assert module.running_mean.shape == (6,) and type(module.running_mean) is burn.Tensor


def test_states_of_lazy_modules():
    lazy, full = nn.LazyLinear(4), nn.Linear(5, 4)
    assert isinstance(lazy.state_dict()["weight"], nn.UninitializedParameter)
    copied = copy.deepcopy(lazy)
    lazy.load_state_dict(full.state_dict())
    assert lazy.weight.tolist() == full.weight.tolist()
    assert lazy(burn.ones(5)).tolist() == full(burn.ones(5)).tolist() and lazy.in_features == 5
    assert copied.has_uninitialized_params()
    copied.load_state_dict(nn.LazyLinear(4).state_dict())
    assert copied.has_uninitialized_params()
    copied.double()
    assert copied(burn.ones(2, 7, dtype=burn.float64)).dtype is burn.float64


# ---- buffers and modules for several devices ----

def test_buffers():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.kept = nn.Buffer(burn.ones(2))
            self.passing = nn.Buffer(burn.zeros(3), persistent=False)
    net = Net()
    assert [name for name, _ in net.named_buffers()] == ["kept", "passing"] and list(net.state_dict()) == ["kept"]
    assert isinstance(net.kept, nn.Buffer) and not net.kept.requires_grad
    net.kept = burn.zeros(2)
    assert net.kept.tolist() == [0, 0] and "kept" in dict(net.named_buffers())


def test_data_parallel():
    net = nn.DataParallel(nn.Linear(3, 2))
    x = burn.ones(4, 3)
    assert net(x).tolist() == net.module(x).tolist() and list(net.state_dict()) == ["module.weight", "module.bias"]


def test_sync_batch_norm():
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, momentum=0.3), nn.Sequential(nn.BatchNorm2d(2))).eval()
    weight = net[1].weight
    made = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert made is net and type(net[1]) is nn.SyncBatchNorm and type(net[2][0]) is nn.SyncBatchNorm
    assert net[1].weight is weight and net[1].momentum == 0.3 and not net[1].training
    x = burn.randn(5, 4, 2, 2, 2)
    plain, sync = nn.BatchNorm3d(4), nn.SyncBatchNorm(4)
    assert sync(x).tolist() == plain(x).tolist() and sync.running_var.tolist() == plain.running_var.tolist()
    with pytest.raises(ValueError):
        sync(burn.ones(4))


def test_adaptive_softmax():
    module = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4], div_value=2.0, head_bias=True)
    assert [name for name, _ in module.named_parameters()] == [
        "head.weight", "head.bias", "tail.0.0.weight", "tail.0.1.weight", "tail.1.0.weight", "tail.1.1.weight"]
    for p in module.parameters():
        p.data = (burn.arange(p.numel()) % 5 - 2.0).reshape(p.shape) / 4
    x = burn.tensor([[0.5, -1.0, 0.25, 1.0], [1.0, 2.0, -0.5, 0.0]])
    output, loss = module(x, burn.tensor([1, 4]))
    close(output, [-0.81162405, -2.0058364])
    close(loss, 1.4087302)
    close(module.log_prob(x), [[-1.49912405, -0.81162405, -2.9538641, -2.4851143, -2.3490095, -2.2865095],
                               [-3.4298971, -2.5548971, -0.83724815, -1.5247481, -2.0058365, -2.2558365]])
    assert module.predict(x).tolist() == [1, 2] and module(x[0], burn.tensor(1)).output.shape == ()
    for wrong in ([], [3, 2], [0, 2], [2, 6]):
        with pytest.raises(ValueError, match="cutoffs"):
            nn.AdaptiveLogSoftmaxWithLoss(4, 6, wrong)
    with pytest.raises(RuntimeError):
        module(x, burn.tensor([1, 2, 3]))


# ---- pruning ----

@pytest.mark.parametrize("cut, mask", [
    (lambda m: prune.l1_unstructured(m, "weight", 0.3), [[1, 1, 1], [0, 1, 0], [1, 0, 1], [0, 1, 1]]),
    (lambda m: [prune.l1_unstructured(m, "weight", 0.3), prune.l1_unstructured(m, "weight", 4)],
     [[0, 1, 1], [0, 0, 0], [1, 0, 0], [0, 0, 1]]),
    (lambda m: prune.ln_structured(m, "weight", 0.5, 2, 0), [[1, 1, 1], [0, 0, 0], [1, 1, 1], [0, 0, 0]]),
    (lambda m: [prune.l1_unstructured(m, "weight", 2), prune.ln_structured(m, "weight", 1, 1, 1)],
     [[1, 0, 1], [0, 0, 1], [1, 0, 1], [1, 0, 1]]),
    (lambda m: prune.l1_unstructured(m, "weight", 0.25, importance_scores=burn.tensor(G)),
     [[1, 1, 1], [1, 1, 1], [0, 0, 0], [1, 1, 1]]),
    (lambda m: prune.custom_from_mask(m, "weight", burn.tensor(W) > 0), [[1, 0, 1], [1, 1, 0], [0, 1, 1], [1, 0, 1]]),
    (lambda m: prune.identity(m, "weight"), [[1, 1, 1]] * 4),
])
def test_pruning(cut, mask):
    module = linear()
    cut(module)
    assert module.weight_mask.tolist() == mask and prune.is_pruned(module)
    close(module.weight, np.array(W) * mask)
    assert [name for name, _ in module.named_parameters()] == ["bias", "weight_orig"]
    module(burn.ones(2, 3)).sum().backward()
    assert module.weight_orig.grad.tolist() == (2 * np.array(mask)).tolist()
    with burn.no_grad():
        module.weight_orig.mul_(2)
    module(burn.ones(1, 3))
    close(module.weight, 2 * np.array(W) * mask)
    prune.remove(module, "weight")
    assert not prune.is_pruned(module) and sorted(module.state_dict()) == ["bias", "weight"]
    close(module.weight, 2 * np.array(W) * mask)
    module(burn.ones(1, 3))


def test_pruning_of_several_and_at_random():
    module = linear()
    prune.global_unstructured([(module, "weight"), (module, "bias")], prune.L1Unstructured, amount=5)
    assert module.weight_mask.tolist() == [[1, 1, 1], [0, 1, 0], [1, 0, 1], [1, 1, 1]]
    assert module.bias_mask.tolist() == [1, 0, 0, 1]
    module = linear()
    prune.random_unstructured(module, "weight", 5)
    assert module.weight_mask.sum() == 7
    prune.random_structured(module, "weight", 1, 0)
    assert (module.weight_mask.sum(1) == 0).sum() >= 1

    class Every(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask
    module = linear()
    Every.apply(module, "bias")
    assert module.bias_mask.tolist() == [0, 1, 0, 1]
    Every.apply(module, "bias")
    assert module.bias_mask.tolist() == [0, 0, 0, 1]


def test_wrong_pruning():
    module = linear()
    for error, wrong in ((ValueError, lambda: prune.l1_unstructured(module, "weight", -1)),
                         (ValueError, lambda: prune.l1_unstructured(module, "weight", 1.5)),
                         (ValueError, lambda: prune.l1_unstructured(linear(), "weight", 100)),
                         (TypeError, lambda: prune.l1_unstructured(module, "weight", "a")),
                         (ValueError, lambda: prune.remove(module, "bias")),
                         (ValueError, lambda: prune.ln_structured(linear(), "bias", 1, 2, 0)),
                         (TypeError, lambda: prune.global_unstructured([(module, "weight")], prune.LnStructured, amount=1, n=1))):
        with pytest.raises(error):
            wrong()


# ---- fusion, orthogonal weights ----

def test_fusion():
    norm = nn.BatchNorm1d(4).eval()
    norm.running_mean.copy_(burn.tensor([0.1, 0.2, 0.3, 0.4]))
    norm.running_var.copy_(burn.tensor([1.0, 2.0, 0.5, 0.25]))
    made = nn.utils.fuse_linear_bn_eval(linear().eval(), norm)
    close(made.weight, [[0.499997, -0.999995, 1.99999], [0.070711, 0.494973, -0.212132], [-2.121299, 0.28284, 1.272779],
                        [0.799984, -1.199976, 2.199956]], 1e-5, 1e-5)
    close(made.bias, [0.89999545, -0.28284201, 0.0, -1.599968])
    for conv, transpose in ((nn.Conv2d(2, 4, 3, bias=False), False), (nn.ConvTranspose2d(2, 4, 3), True)):
        norm = nn.BatchNorm2d(4)
        norm(burn.randn(8, 4, 3, 3))
        conv.eval(), norm.eval()
        x = burn.randn(1, 2, 5, 5)
        close(nn.utils.fuse_conv_bn_eval(conv, norm, transpose)(x), norm(conv(x)).detach().numpy(), 1e-4, 1e-5)
    with pytest.raises(AssertionError, match="eval"):
        nn.utils.fuse_linear_bn_eval(linear(), nn.BatchNorm1d(4))
    assert nn.utils.skip_init(nn.Linear, 3, 4).weight.shape == (4, 3)
    with pytest.raises(RuntimeError):
        nn.utils.skip_init(nn.ReLU)


@pytest.mark.parametrize("how, wanted", [
    ("matrix_exp", [[-0.017409, -0.40238, 0.915307], [0.180147, 0.899202, 0.398726], [-0.983486, 0.171831, 0.056833]]),
    ("cayley", [[-0.008259, -0.416169, 0.90925], [0.174508, 0.894728, 0.411107], [-0.984621, 0.162067, 0.065235]]),
    ("householder", [[-0.360579, 0.024903, 0.932396], [0.11334, 0.993406, 0.017299], [-0.925817, 0.111916, -0.361024]]),
])
def test_orthogonal_weights(how, wanted):
    module = nn.Linear(3, 3)
    module.weight.data = burn.tensor(W[:3])
    nn.utils.parametrizations.orthogonal(module, "weight", how)
    with burn.no_grad():
        module.parametrizations.weight.original.add_(burn.tensor([[0.0, 0, 0], [0.3, 0, 0], [-0.2, 0.5, 0]]))
    close(module.weight, wanted, 1e-4, 3e-6)
    module.weight.pow(3).sum().backward()
    assert module.parametrizations.weight.original.grad.abs().sum() > 0
    for shape in ((5, 3), (3, 5)):
        for base in (True, False):
            module = nn.utils.parametrizations.orthogonal(nn.Linear(*shape), "weight", how, use_trivialization=base)
            Q = module.weight.T if shape[0] > shape[1] else module.weight
            close(Q.T @ Q, np.eye(3), 0, 1e-5)
    with pytest.raises(ValueError):
        nn.utils.parametrizations.orthogonal(nn.Linear(2, 2), "weight", "other")


# ---- optimizers, samplers ----

@pytest.mark.parametrize("name, options, wanted, bias", [
    ("Adafactor", {}, [[0.460572, -1.00932, 2.03694], [0.087984, 0.747362, -0.330021], [-1.5, 0.2, 0.9],
                       [0.43981, -0.620175, 1.07869]], [0.476357, -1.0]),
    ("Adafactor", dict(lr=0.5, weight_decay=0.1, maximize=True, d=1.5, eps=(0.001, 0.01)),
     [[2.32628, -0.408606, -0.063101], [0.664052, -1.6793, 1.18765], [-1.28606, 0.171475, 0.771637],
      [-1.57307, 0.45656, 1.96889]], [1.77255, -0.857375]),
    ("SparseAdam", dict(lr=0.1), [[0.207682, -1.29232, 2.29232], [-0.192318, 0.992318, -0.592318], [-1.5, 0.2, 0.9],
                                  [0.692318, -0.892318, 0.807682]], [0.2, -1.0]),
    ("Muon", dict(lr=0.1), [[0.147551, -1.1208, 1.93361], [-0.0222015, 0.93912, -0.518397], [-1.45545, 0.19406, 0.873269],
                            [0.468955, -0.7943, 0.766352]], None),
    ("Muon", dict(lr=0.1, nesterov=False, adjust_lr_fn="match_rms_adamw", weight_decay=0),
     [[0.383125, -1.05313, 1.99725], [0.0585156, 0.790469, -0.380781], [-1.5, 0.2, 0.9], [0.427578, -0.673906, 0.99375]], None),
])
def test_optimizers(name, options, wanted, bias):
    w, b = nn.Parameter(burn.tensor(W)), nn.Parameter(burn.tensor([0.5, -1.0]))
    optimizer = getattr(burn.optim, name)([w] if bias is None else [w, b], **options)
    for number in range(3):
        w.grad, b.grad = burn.tensor(G) * (number + 1), burn.tensor([0.3, 0.0])
        optimizer.step()
    near = dict(rtol=0, atol=0.02) if name == "Muon" else dict(rtol=1e-5, atol=1e-5)  # it computes in bfloat16
    close(w, wanted, **near)
    if bias is not None:
        close(b, bias, **near)
    again = getattr(burn.optim, name)([nn.Parameter(burn.tensor(W))] if bias is None else [w, b], **options)
    again.load_state_dict(optimizer.state_dict())
    assert again.state_dict()["param_groups"] == optimizer.state_dict()["param_groups"]


def test_wrong_options():
    p = nn.Parameter(burn.ones(2))
    for wrong in (lambda: burn.optim.Muon([p]), lambda: burn.optim.Adafactor([p], lr=-1), lambda: burn.optim.SparseAdam([p], lr=0),
                  lambda: burn.optim.Adafactor([p], d=0.5), lambda: burn.optim.Muon([nn.Parameter(burn.ones(2, 2))], lr=-1)):
        with pytest.raises(ValueError):
            wrong()


def test_distributed_sampler():
    def shares(count, ranks, **options):
        return [list(DistributedSampler(range(count), ranks, rank, **options)) for rank in range(ranks)]
    assert shares(10, 3, shuffle=False) == [[0, 3, 6, 9], [1, 4, 7, 0], [2, 5, 8, 1]]
    assert shares(10, 3, shuffle=False, drop_last=True) == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    assert list(DistributedSampler(range(2), 5, 4, shuffle=False)) == [0]
    sampler = DistributedSampler(range(20), 2, 1)
    first = list(sampler)
    assert list(sampler) == first and len(sampler) == 10
    sampler.set_epoch(1)
    assert list(sampler) != first
    assert sorted(sum(shares(20, 2), [])) == list(range(20))
    with pytest.raises(ValueError, match="Invalid rank"):
        DistributedSampler(range(4), 2, 2)
