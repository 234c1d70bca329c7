# SPDX-License-Identifier: Apache-2.0
"""What outlives a program: state_dicts, safetensors files (whole, torn, hostile), pickles and copies."""
import copy
import io
import json
import pickle
import struct

import numpy as np
import pytest

import burn
import burn.nn as nn
import burn.optim as optim

DTYPES = [burn.float64, burn.float32, burn.float16, burn.bfloat16, burn.int64, burn.int32, burn.int16, burn.int8, burn.uint64,
          burn.uint32, burn.uint16, burn.uint8, burn.bool]


def small_net():
    return nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.ReLU(), nn.Linear(4, 2, bias=False))


def step(net, optimizer, x):
    optimizer.zero_grad()
    (net(x) ** 2).sum().backward()
    optimizer.step()


# ---- modules and optimizers ----

def test_module_state_goes_round():
    a, b = small_net(), small_net()
    x = burn.randn(5, 3)
    assert not np.allclose(a(x).detach().numpy(), b(x).detach().numpy())
    assert list(a.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias", "3.weight"]
    result = b.load_state_dict(a.state_dict())
    assert result.missing_keys == [] and result.unexpected_keys == []
    np.testing.assert_array_equal(a(x).detach().numpy(), b(x).detach().numpy())
    with burn.no_grad():
        a[3].weight.add_(1)  # copied, not shared
    assert not np.allclose(a(x).detach().numpy(), b(x).detach().numpy())


def test_wrong_module_state_says_what_is_wrong_and_changes_nothing():
    net = small_net()
    before = {k: v.numpy() for k, v in net.state_dict().items()}
    state = dict(net.state_dict())
    state["0.weight"] = burn.zeros(4, 5)
    state["extra"] = state.pop("1.bias")
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    for word in ("0.weight", "(4, 5)", "(4, 3)", "extra", "1.bias", "Sequential"):
        assert word in str(error.value)
    for key, value in net.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[key])
    state["0.weight"] = burn.zeros(4, 3)
    assert net.load_state_dict(state, strict=False) == (["1.bias"], ["extra"])


MAKERS = {
    "sgd": lambda p: optim.SGD(p, lr=0.1), "momentum": lambda p: optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: optim.Adam(p, lr=0.02, weight_decay=0.1), "amsgrad": lambda p: optim.Adam(p, lr=0.02, amsgrad=True),
    "adamw": lambda p: optim.AdamW(p, lr=0.02), "rmsprop": lambda p: optim.RMSprop(p, lr=0.01, momentum=0.5),
}


@pytest.mark.parametrize("name", MAKERS)
def test_a_resumed_optimizer_goes_on_as_if_it_had_not_stopped(name):
    x = burn.randn(6, 3)
    net = small_net()
    optimizer = MAKERS[name](net.parameters())
    for _ in range(3):
        step(net, optimizer, x)
    saved = pickle.loads(pickle.dumps((net.state_dict(), optimizer.state_dict())))
    other = small_net()
    other.load_state_dict(saved[0])
    resumed = MAKERS[name](other.parameters())
    resumed.param_groups[0]["lr"] = 5.0
    resumed.load_state_dict(saved[1])
    assert resumed.param_groups[0]["lr"] == optimizer.param_groups[0]["lr"]
    for _ in range(3):
        step(net, optimizer, x)
        step(other, resumed, x)
    for one, two in zip(net.parameters(), other.parameters()):
        np.testing.assert_array_equal(one.detach().numpy(), two.detach().numpy())


def test_optimizer_state_is_a_copy_and_wrong_state_is_refused():
    net = small_net()
    optimizer = optim.Adam(net.parameters())
    step(net, optimizer, burn.ones(2, 3))
    state = optimizer.state_dict()
    assert set(state) == {"state", "param_groups"} and state["param_groups"][0]["params"] == [0, 1, 2, 3, 4]
    assert set(state["state"][0]) == {"step", "exp_avg", "exp_avg_sq"}
    two = optim.Adam([{"params": [net[0].weight]}, {"params": [net[3].weight], "lr": 1.0}])
    with pytest.raises(ValueError, match="groups"):
        two.load_state_dict(state)
    with pytest.raises(ValueError, match="parameters"):
        optim.Adam([net[0].weight]).load_state_dict(state)
    assert "lr: 0.001" in repr(optimizer)


# ---- files ----

@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_files_keep_every_dtype_and_shape(tmp_path, dtype):
    values = {"a": burn.arange(12).reshape(3, 4).to(dtype), "scalar": burn.tensor(1).to(dtype),
              "empty": burn.zeros(0, 3).to(dtype), "turned": burn.arange(6).to(dtype).reshape(2, 3).T}
    burn.save(values, tmp_path / "x.safetensors", metadata={"who": "test"})
    loaded = burn.load(tmp_path / "x.safetensors")
    assert list(loaded) == list(values)
    for name, want in values.items():
        assert loaded[name].dtype is dtype and loaded[name].shape == want.shape
        assert loaded[name].tobytes() == want.tobytes()
    assert [p.name for p in tmp_path.iterdir()] == ["x.safetensors"]


def test_files_are_safetensors(tmp_path):
    burn.save({"w": burn.tensor([[1.0, 2.0]])}, tmp_path / "f")
    raw = (tmp_path / "f").read_bytes()
    length, = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8:8 + length])
    assert header == {"w": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}} and length % 8 == 0
    assert raw[8 + length:] == struct.pack("<2f", 1, 2)


def written(path, header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + data)
    return path


ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


def entry(**changes):
    return {"w": {**ENTRY, **changes}}


@pytest.mark.parametrize("header, data, length", [
    (entry(), b"1234567", None), (entry(), b"", None), (entry(), b"12345678", 2 ** 63), (entry(), b"12345678", 1 << 20),
    (b"{", b"", None), (b"\xff\xfe", b"", None), (b"[]", b"", None), (b"null", b"", None), (b"", b"", None),
    (b"[" * 100000, b"", None), ({"w": None}, b"", None), ({"w": []}, b"", None), ({"w": {}}, b"", None),
    (entry(dtype="F31"), b"12345678", None), (entry(dtype=None), b"12345678", None), (entry(dtype=["F32"]), b"12345678", None),
    (entry(shape=[3]), b"12345678", None), (entry(shape=[-2]), b"12345678", None), (entry(shape=[2.0]), b"12345678", None),
    (entry(shape=[True, 2]), b"12345678", None), (entry(shape="22"), b"12345678", None), (entry(shape=None), b"12345678", None),
    (entry(shape=[2 ** 62, 2 ** 62, 2]), b"12345678", None), (entry(shape=[1] * 60 + [2]), b"12345678", None),
    (entry(data_offsets=[8, 0]), b"12345678", None), (entry(data_offsets=[-8, 0]), b"12345678", None),
    (entry(data_offsets=[0, 8, 9]), b"12345678", None), (entry(data_offsets=[0]), b"12345678", None),
    (entry(data_offsets=[0, 2 ** 70]), b"12345678", None), (entry(data_offsets=["0", "8"]), b"12345678", None),
    (entry(shape=[0, 2 ** 63], data_offsets=[0, 0]), b"", None),
    ({"__metadata__": {"burn.tree": '["tensor", "w"]'}, **entry()}, b"12345678", None),
    ({"__metadata__": {"burn.tree": '["tensor", "w", 1]'}, **entry()}, b"12345678", None),
    ({"__metadata__": {"burn.tree": '["Size", ["a", -1]]'}}, b"", None),
])
def test_hostile_files(tmp_path, header, data, length):
    with pytest.raises(ValueError, match="bad"):
        burn.load(written(tmp_path / "bad", header, data, length))


@pytest.mark.parametrize("keep", [0, 1, 7, 8, 9, 40, -1])
def test_torn_files(tmp_path, keep):
    burn.save({"a": burn.ones(3), "b": burn.zeros(2)}, tmp_path / "whole")
    raw = (tmp_path / "whole").read_bytes()
    (tmp_path / "torn").write_bytes(raw[:keep])
    with pytest.raises(ValueError, match="torn"):
        burn.load(tmp_path / "torn")


def test_saving_fails_whole(tmp_path):
    burn.save({"a": burn.ones(3)}, tmp_path / "f")
    for unsaved in (nn.Linear(1, 1), {"a": [lambda: 0]}, object()):
        with pytest.raises(TypeError):
            burn.save(unsaved, tmp_path / "f")
    circle = []
    circle.append(circle)
    with pytest.raises(ValueError, match="nested"):
        burn.save(circle, tmp_path / "f")
    with pytest.raises(OSError):
        burn.save({"a": burn.ones(3)}, tmp_path / "no folder" / "f")
    with pytest.raises(FileNotFoundError):
        burn.load(tmp_path / "nothing")
    assert burn.load(tmp_path / "f")["a"].tolist() == [1, 1, 1] and len(list(tmp_path.iterdir())) == 1


def test_nested_values_come_back(tmp_path):
    net = small_net()
    optimizer = optim.Adam(net.parameters(), lr=0.02)
    schedule = optim.lr_scheduler.MultiStepLR(optimizer, [2, 3])
    step(net, optimizer, burn.ones(2, 3))
    weight = net[0].weight
    value = {"model": net.state_dict(), "optimizer": optimizer.state_dict(), "schedule": schedule.state_dict(),
             "epoch": 3, "best": float("inf"), 7: (1, [2.5, None, True], {"d": burn.float16}), "bytes": b"\x00\xff",
             "array": np.arange(3), "number": np.float64(2.5), "tied": [weight, weight], "where": burn.device("cpu"),
             "set": {1, 2}, "size": burn.Size([2, 3]), "grad": burn.ones(2, requires_grad=True)}
    burn.save(value, tmp_path / "f")
    back = burn.load(tmp_path / "f", map_location="cpu" if burn.get_default_device().type == "cpu" else None)
    assert list(back) == list(value) and back["best"] == float("inf") and back[7] == value[7]
    assert back["array"].tolist() == [0, 1, 2] and type(back["number"]) is np.float64 and back["bytes"] == b"\x00\xff"
    assert back["tied"][0] is back["tied"][1] and isinstance(back["tied"][0], nn.Parameter)
    assert back["set"] == {1, 2} and type(back["size"]) is burn.Size and back["grad"].requires_grad
    assert back["schedule"]["milestones"] == schedule.milestones
    other = small_net()
    other.load_state_dict(back["model"])
    resumed = optim.Adam(other.parameters())
    resumed.load_state_dict(back["optimizer"])
    step(net, optimizer, burn.ones(2, 3))
    step(other, resumed, burn.ones(2, 3))
    for one, two in zip(net.parameters(), other.parameters()):
        np.testing.assert_array_equal(one.detach().numpy(), two.detach().numpy())


def test_files_that_are_open_and_files_of_others():
    file = io.BytesIO()
    burn.save([burn.arange(3), "text"], file)
    file.seek(0)
    tensor, text = burn.load(file)
    assert tensor.tolist() == [0, 1, 2] and text == "text"
    plain = io.BytesIO()
    burn.save({"a": burn.ones(2)}, plain)
    assert b"burn.tree" not in plain.getvalue()
    with pytest.raises(ValueError, match="pickle"):
        burn.load(io.BytesIO(b"PK\x03\x04" + bytes(60)))
    for bad in ('["nothing",1]', '["tensor","x",false,false]', '["dict",3]', '[3]', '["dtype","y"]', "{"):
        header = json.dumps({"__metadata__": {"burn.tree": bad}}).encode()
        with pytest.raises(ValueError):
            burn.load(io.BytesIO(len(header).to_bytes(8, "little") + header))


# ---- pickles and copies ----

def test_pickles_are_by_value():
    for dtype in DTYPES:
        x = burn.arange(6).reshape(2, 3).to(dtype).T
        y = pickle.loads(pickle.dumps(x))
        assert y.dtype is dtype and y.shape == (3, 2) and y.tobytes() == x.tobytes()
    x = burn.ones(2, requires_grad=True)
    y = pickle.loads(pickle.dumps(x))
    assert y.requires_grad and y.is_leaf and y.tolist() == [1, 1]
    net = pickle.loads(pickle.dumps(small_net()))
    assert isinstance(net[0].weight, nn.Parameter) and net[0].weight.requires_grad
    assert pickle.loads(pickle.dumps(burn.float16)) is burn.float16
    out = io.BytesIO()
    pickle.dump({"x": x, "size": x.shape, "device": x.device}, out)
    again = pickle.loads(out.getvalue())
    assert again["size"] == (2,) and again["device"] == x.device


def test_copies():
    x = burn.tensor([1.0, 2.0], requires_grad=True)
    (x * 3).sum().backward()
    y = copy.deepcopy(x)
    assert y.requires_grad and y.grad.tolist() == [3, 3] and y.grad is not x.grad
    with burn.no_grad():
        y.add_(1)
    assert x.tolist() == [1, 2]
    with pytest.raises(RuntimeError, match="graph leaves|deepcopy"):
        copy.deepcopy(x * 2)
    z = copy.copy(x.detach())
    z.add_(5)  # a shallow copy shares
    assert x.tolist() == [6, 7]
    net = small_net()
    tied = nn.ModuleList([net, net])
    twin = copy.deepcopy(tied)
    assert twin[0] is twin[1] and twin[0][0].weight is not net[0].weight
    np.testing.assert_array_equal(twin[0][0].weight.detach().numpy(), net[0].weight.detach().numpy())
