# SPDX-License-Identifier: Apache-2.0
"""Layers, losses, hooks and containers of burn.nn against PyTorch's recorded answers (tests/parity/nn)."""
import copy
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import burn
import burn.nn as nn
import burn.nn.functional as F

PARITY = pathlib.Path(__file__).resolve().parents[1] / "parity"


@pytest.mark.parametrize("group", ["layers", "modules"])
def test_agrees_with_pytorch(group):
    call = [sys.executable, str(PARITY / "parity.py"), "--cases", str(PARITY / "nn"), "--only", f"{group}/*"]
    done = subprocess.run([*call, "--device", os.environ.get("BURN_TEST_DEVICE", "cpu")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_wrong_keys_name_the_nearest():
    net = nn.Sequential(nn.Linear(2, 3), nn.LayerNorm(3))
    state = net.state_dict()
    state["0.weigth"] = state.pop("0.weight")
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    assert 'Missing key(s) in state_dict: "0.weight" (nearest: "0.weigth")' in str(error.value)
    assert 'Unexpected key(s) in state_dict: "0.weigth" (nearest: "0.weight")' in str(error.value)


def test_a_state_of_arrays_loads():
    net = nn.Linear(2, 2)
    net.load_state_dict({"weight": np.arange(4, dtype=np.float32).reshape(2, 2), "bias": np.ones(2, np.float32)})
    np.testing.assert_array_equal(net.weight.detach().numpy(), [[0, 1], [2, 3]])
    with pytest.raises(RuntimeError, match="weight"):
        net.load_state_dict({"weight": [[0, 1], [2, 3]], "bias": np.ones(2, np.float32)})


def test_copies_and_pickles_are_by_value():
    net = nn.LSTM(3, 4, num_layers=2)
    net.register_buffer("shift", burn.ones(2), persistent=False)
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        x = burn.randn(5, 2, 3)
        np.testing.assert_array_equal(net(x)[0].detach().numpy(), other(x)[0].detach().numpy())
        with burn.no_grad():
            other.weight_ih_l0.zero_()
        assert float(net.weight_ih_l0.abs().sum()) > 0
        assert "shift" not in other.state_dict() and dict(other.named_buffers())["shift"].shape == (2,)


def test_a_shared_module_stays_shared_in_a_copy():
    inner = nn.Linear(2, 2)
    net = copy.deepcopy(nn.ModuleDict({"a": inner, "b": inner}))
    assert net["a"] is net["b"] and len(list(net.parameters())) == 2 and len(net.state_dict()) == 4


def test_a_hook_runs_also_when_forward_fails():
    heard = []
    net = nn.Linear(2, 2)
    net.register_forward_hook(lambda m, a, o: heard.append(o), always_call=True)
    with pytest.raises(RuntimeError):
        net(burn.ones(3, 3))
    assert heard == [None]


def test_backward_hooks_hear_each_module_once_from_the_end():
    heard = []
    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1))
    for name, module in net.named_children():
        module.register_full_backward_hook(lambda m, i, o, name=name: heard.append((name, tuple(o[0].shape))))
    net(burn.ones(4, 3)).sum().backward()
    assert heard == [("2", (4, 1)), ("1", (4, 2)), ("0", (4, 2))]
    with burn.no_grad():
        net(burn.ones(4, 3))
    net(burn.ones(4, 3)).sum().backward()
    assert len(heard) == 6


def test_backward_hooks_replace_gradients():
    net = nn.Linear(2, 1, bias=False)
    with burn.no_grad():
        net.weight.fill_(3.0)
    net.register_full_backward_pre_hook(lambda m, o: (o[0] * 10,))
    handle = net.register_full_backward_hook(lambda m, i, o: (i[0] + o[0],))
    x = burn.tensor([[1.0, 2.0]], requires_grad=True)
    net(x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[40.0, 40.0]])
    np.testing.assert_array_equal(net.weight.grad.numpy(), [[10.0, 20.0]])
    handle.remove()
    net.register_full_backward_hook(lambda m, i, o: (i[0], i[0]))
    with pytest.raises(RuntimeError, match="2 gradients instead of 1"):
        net(x).sum().backward()


def test_a_state_hook_may_change_keys():
    net = nn.Linear(1, 1)
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.pop(prefix + "bias"))
    assert list(nn.Sequential(net).state_dict()) == ["0.weight"]

    def rename(module, state, prefix, *rest):
        state[prefix + "bias"] = state.pop(prefix + "shift")
    net = nn.Linear(1, 1)
    net.register_load_state_dict_pre_hook(rename)
    net.load_state_dict({"weight": burn.ones(1, 1), "shift": burn.zeros(1)})
    assert float(net.bias) == 0


def test_an_unknown_attribute_is_named():
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'wieght'"):
        nn.Linear(1, 1).wieght


def test_dtype_methods_leave_integers_alone():
    net = nn.Linear(2, 2)
    net.register_buffer("count", burn.tensor(3))
    assert net.double().weight.dtype is burn.float64 and net.count.dtype is burn.int64
    assert net.half().weight.dtype is burn.float16 and net.to(burn.float32).weight.dtype is burn.float32
    assert net.to("cpu" if os.environ.get("BURN_TEST_DEVICE", "cpu") == "cpu" else "ref") is net


def test_alpha_dropout_keeps_mean_and_deviation():
    y = F.alpha_dropout(burn.randn(400, 400), 0.3, training=True).numpy()
    assert abs(y.mean()) < 0.02 and abs(y.std() - 1) < 0.02


def test_dropout_between_recurrent_layers_is_off_in_eval():
    net = nn.GRU(3, 4, num_layers=2, dropout=0.9)
    x = burn.randn(5, 2, 3)
    net.eval()
    np.testing.assert_array_equal(net(x)[0].detach().numpy(), net(x)[0].detach().numpy())
    net.train()
    assert not np.array_equal(net(x)[0].detach().numpy(), net(x)[0].detach().numpy())


def test_a_packed_sequence_goes_like_each_sequence_alone():
    net = nn.LSTM(2, 3, num_layers=2, bidirectional=True)
    rows = [burn.randn(n, 2) for n in (1, 5, 3)]
    packed, (h, c) = net(nn.utils.rnn.pack_sequence(rows, enforce_sorted=False))
    for row, output, place in zip(rows, nn.utils.rnn.unpack_sequence(packed), range(3)):
        alone, (h1, c1) = net(row)
        np.testing.assert_allclose(output.detach().numpy(), alone.detach().numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(h[:, place].detach().numpy(), h1.detach().numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(c[:, place].detach().numpy(), c1.detach().numpy(), rtol=1e-5, atol=1e-6)


def test_packed_lengths_of_one_longest_make_no_new_plan():
    net = nn.GRU(3, 8)
    x = burn.randn(6, 4, 3)

    def step(lengths):
        y, h = net(nn.utils.rnn.pack_padded_sequence(x, lengths))
        (y.data ** 2).sum().backward()
        return float(net.weight_hh_l0.grad.sum())
    step([6, 5, 2, 1])
    step([6, 5, 2, 2])
    before = burn.stats()["plans"]["analyses"]
    step([6, 4, 4, 2])
    step([6, 6, 3, 3])
    assert burn.stats()["plans"]["analyses"] == before
