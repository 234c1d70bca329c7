# SPDX-License-Identifier: Apache-2.0
"""NumPy both ways (arrays, scalars, operators, DLPack), Python numbers, and the text of tensors."""
import ctypes

import numpy as np
import pytest

import burn

NUMPY = [np.float64, np.float32, np.float16, np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8,
         np.bool_]


@pytest.mark.parametrize("dtype", NUMPY, ids=lambda d: d.__name__)
def test_arrays_go_both_ways(dtype):
    for array in (np.arange(12).reshape(3, 4).astype(dtype), np.zeros((0, 2), dtype), np.array(1, dtype),
                  np.arange(24).astype(dtype).reshape(2, 3, 4).transpose(2, 0, 1), np.arange(10).astype(dtype)[::-2],
                  np.broadcast_to(np.array([0, 1], dtype), (3, 2)), np.asfortranarray(np.arange(6).reshape(2, 3).astype(dtype))):
        for make in (burn.tensor, burn.from_numpy, burn.asarray, burn.as_tensor, burn.from_dlpack):
            if make is burn.from_dlpack and (dtype is np.bool_ or not array.flags.writeable):
                continue
            x = make(array)
            back = x.numpy()
            assert back.dtype == dtype and back.shape == array.shape and x.dtype.name == np.dtype(dtype).name
            np.testing.assert_array_equal(back, array)
        np.testing.assert_array_equal(np.asarray(x), array)
        np.testing.assert_array_equal(np.from_dlpack(x), array)


def test_foreign_byte_order_and_dtypes_that_are_not_offered():
    for wrong in (np.arange(3, dtype=">f4"), np.zeros(2, np.complex64), np.array(["a"]), np.array([object()]), np.zeros(2, "datetime64[s]")):
        with pytest.raises((TypeError, ValueError)):
            burn.tensor(wrong)


def test_array_protocol():
    x = burn.tensor([1.5, 2.5])
    assert np.asarray(x, dtype=np.int32).tolist() == [1, 2] and np.array(x, copy=True).dtype == np.float32
    assert float(np.sum(x.numpy())) == 4 and np.stack([x, x]).shape == (2, 2)
    g = burn.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="requires? grad"):
        g.numpy()
    assert g.numpy(force=True).tolist() == [1, 1] and g.detach().numpy().tolist() == [1, 1]
    with pytest.raises(TypeError):
        burn.ones(2, dtype=burn.bfloat16).numpy()


def test_operators_with_arrays_and_numpy_scalars():
    a, x = np.array([1.0, 2.0], np.float32), burn.tensor([10.0, 20.0])
    for got in (x + a, a + x):
        assert isinstance(got, burn.Tensor) and got.tolist() == [11, 22]
    assert (a * x).tolist() == [10, 40] and (a < x).tolist() == [True, True] and (a - x).tolist() == [-9, -18]
    assert (np.float32(2) * x).tolist() == [20, 40] and (x ** np.int64(2)).tolist() == [100, 400]
    assert (np.float64(0.5) + x).dtype is burn.float32
    i = burn.tensor([1, 2])
    assert (i + np.int64(3)).dtype is burn.int64 and (i * 2.5).dtype is burn.float32


def test_dlpack_does_not_alias_and_frees():
    x = burn.arange(6, dtype=burn.float32).reshape(2, 3)
    a = np.from_dlpack(x)
    x += 100
    assert a.tolist() == [[0, 1, 2], [3, 4, 5]]
    source = np.arange(3, dtype=np.float64)
    y = burn.from_dlpack(source)
    source += 10
    assert y.tolist() == [0, 1, 2]
    assert x.__dlpack_device__() == (1, 0)
    for _ in range(200):
        np.from_dlpack(burn.from_dlpack(np.ones(5000, np.float32)))
    capsule = x.__dlpack__()
    z = burn.from_dlpack(capsule)
    assert z.tolist() == x.tolist()
    with pytest.raises((ValueError, TypeError, RuntimeError, BufferError)):
        burn.from_dlpack(capsule)  # used up
    del capsule, z
    x.__dlpack__()  # never taken: freed by its capsule
    with pytest.raises((RuntimeError, BufferError)):
        burn.ones(2, requires_grad=True).__dlpack__()
    with pytest.raises((TypeError, AttributeError, ValueError)):
        burn.from_dlpack(3)


def test_buffers_and_lists():
    assert burn.tensor(memoryview(b"\x01\x02")).tolist() == [1, 2]
    assert burn.tensor([[1, 2], [3, 4]]).dtype is burn.int64 and burn.tensor([1, 2.5]).dtype is burn.float32
    assert burn.tensor([True, False]).dtype is burn.bool and burn.tensor([True, 2]).dtype is burn.int64
    assert burn.tensor([]).dtype is burn.float32 and burn.tensor([[], []]).shape == (2, 0)
    assert burn.tensor([np.float64(1), 2]).dtype in (burn.float64, burn.float32)
    assert burn.tensor([burn.tensor(1.0), burn.tensor(2.0)]).tolist() == [1, 2]
    assert burn.tensor(range(4)).tolist() == [0, 1, 2, 3]
    assert burn.tensor(2 ** 62).item() == 2 ** 62
    for ragged in ([[1, 2], [3]], [1, [2]], [[1], 2]):
        with pytest.raises((ValueError, TypeError)):
            burn.tensor(ragged)
    with pytest.raises((OverflowError, ValueError, RuntimeError)):
        burn.tensor(2 ** 70)
    with pytest.raises((TypeError, ValueError)):
        burn.tensor(["a"])
    loop = []
    loop.append(loop)
    with pytest.raises((ValueError, RecursionError, TypeError)):
        burn.tensor(loop)


def test_python_numbers():
    assert int(burn.tensor([[7]])) == 7 and float(burn.tensor(2)) == 2.0 and bool(burn.tensor([0.0])) is False
    assert [10, 20, 30][burn.tensor(1)] == 20 and list(range(5))[burn.tensor(1):burn.tensor(3)] == [1, 2]
    assert burn.tensor(3.0).item() == 3.0 and isinstance(burn.tensor(3).item(), int) and burn.tensor(True).item() is True
    assert f"{burn.tensor(3.14159):.2f}" == "3.14"
    for wrong in (lambda: int(burn.ones(2)), lambda: bool(burn.ones(2)), lambda: float(burn.ones(0)), lambda: burn.ones(2).item()):
        with pytest.raises((RuntimeError, ValueError, TypeError)):
            wrong()
    with pytest.raises(TypeError):
        [1, 2][burn.tensor(1.0)]

    x = burn.ones(1)
    assert {x: 1}[x] == 1 and x in [x]
    assert ctypes.sizeof(ctypes.c_float) == x.itemsize and x.nbytes == 4


@pytest.mark.parametrize("made, text", [
    (lambda: burn.tensor([1.0, 2.5]), "tensor([1.0000, 2.5000])"), (lambda: burn.tensor([1, -2]), "tensor([ 1, -2])"),
    (lambda: burn.tensor(3), "tensor(3)"), (lambda: burn.tensor(3.5), "tensor(3.5000)"), (lambda: burn.tensor([]), "tensor([])"),
    (lambda: burn.tensor([True, False]), "tensor([ True, False])"),
    (lambda: burn.zeros(2, 2), "tensor([[0., 0.],\n        [0., 0.]])"),
    (lambda: burn.ones(2, dtype=burn.float64), "tensor([1., 1.], dtype=burn.float64)"),
    (lambda: burn.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
    (lambda: burn.zeros(0, 3), "tensor([], size=(0, 3))"), (lambda: burn.tensor(float("nan")), "tensor(nan)"),
    (lambda: burn.tensor([float("inf"), 1.0]), "tensor([inf, 1.])"), (lambda: burn.tensor([True]), "tensor([True])"),
    (lambda: burn.tensor(1e-5), "tensor(1.0000e-05)"), (lambda: burn.tensor(2.0), "tensor(2.)"),
    (lambda: burn.tensor([1e10, 1.5]), "tensor([1.0000e+10, 1.5000e+00])"), (lambda: burn.tensor(True), "tensor(True)"),
    (lambda: burn.ones(2, dtype=burn.bfloat16), "tensor([1., 1.], dtype=burn.bfloat16)"),
])
def test_text(made, text):
    assert repr(made()) == text


def test_long_tensors_are_abbreviated_and_read_in_part_only():
    x = burn.zeros(3000, 1000)
    text = repr(x)
    assert "..." in text and len(text) < 2000
    assert repr(burn.nn.Parameter(burn.ones(1))).startswith("Parameter containing:\ntensor([1.]")
    with pytest.raises(TypeError):
        f"{burn.ones(2):.3f}"


def test_dtype_device_and_size_objects():
    assert repr(burn.float32) == "burn.float32" and burn.float32.itemsize == 4 and burn.float32.is_floating_point
    assert burn.ones(2, 3).shape == (2, 3) and burn.ones(2, 3).shape.numel() == 6 and burn.ones(2, 3).size(-1) == 3
    assert burn.device("cpu:0") == burn.device("cpu") and str(burn.device("cpu", 0)) == "cpu:0"
    assert burn.finfo(burn.float32).eps == np.finfo(np.float32).eps and burn.finfo(burn.float16).max == 65504
    assert burn.iinfo(burn.int8).min == -128 and burn.iinfo(burn.uint8).max == 255
    with pytest.raises(RuntimeError):
        burn.device("no such thing")
    with pytest.raises(TypeError):
        burn.ones(2, dtype="float32")
    before = burn.get_default_dtype()
    try:
        burn.set_default_dtype(burn.float64)
        assert burn.ones(1).dtype is burn.float64 and burn.tensor(1.5).dtype is burn.float64
    finally:
        burn.set_default_dtype(before)
