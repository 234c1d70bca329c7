# SPDX-License-Identifier: Apache-2.0
"""Gradient modes, mixed precision, and the settings that programs touch."""
import warnings

import numpy as np
import pytest

import burn
from burn import nn
from burn.nn import functional as F


# ---- gradient modes ----

def test_modes_as_contexts_and_decorators():
    x = burn.ones(2, requires_grad=True)
    for mode in (burn.no_grad, burn.inference_mode, lambda: burn.set_grad_enabled(False)):
        with mode():
            assert not (x * 2).requires_grad
            with burn.enable_grad():
                assert (x * 2).requires_grad
            assert not burn.is_grad_enabled()
        assert mode()(lambda: x * 2)().requires_grad is False
        assert burn.is_grad_enabled()
    with burn.inference_mode(False):
        assert (x * 2).requires_grad

    @burn.no_grad
    def plain():
        return x * 2

    @burn.inference_mode
    def also():
        return x * 2
    assert not plain().requires_grad and not also().requires_grad
    before = burn.set_grad_enabled(False)
    assert not burn.is_grad_enabled()
    burn.set_grad_enabled(True)
    assert before is not None and burn.is_grad_enabled()
    shared = burn.no_grad()
    with shared:
        with shared:
            pass
        assert not burn.is_grad_enabled()
    assert burn.is_grad_enabled()


def test_a_generator_runs_in_its_mode_and_its_caller_does_not():
    x, seen = burn.ones(1, requires_grad=True), []

    @burn.no_grad()
    def numbers(n):
        try:
            for k in range(n):
                seen.append((yield (x * k).requires_grad))
        finally:
            seen.append(burn.is_grad_enabled())
        return "end"

    running = numbers(2)
    assert next(running) is False and burn.is_grad_enabled()
    assert running.send("sent") is False and burn.is_grad_enabled()
    with pytest.raises(StopIteration, match="end"):
        next(running)
    other = numbers(5)
    next(other)
    other.close()
    assert seen == ["sent", None, False, False] and burn.is_grad_enabled()


def test_detach_in_place():
    x = burn.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = y * y
    assert y.detach_() is y and y.is_leaf and not y.requires_grad and y.tolist() == [2.0, 4.0]
    z.sum().backward()
    assert x.grad.tolist() == [8.0, 16.0]
    base = x * 2
    with pytest.raises(RuntimeError, match="views"):
        base[0].detach_()


def test_generators_have_a_state():
    generator = burn.Generator().manual_seed(3)
    state = generator.get_state()
    first = burn.rand(4, generator=generator).tolist()
    second = burn.rand(4, generator=generator).tolist()
    assert generator.set_state(state) is generator
    assert burn.rand(4, generator=generator).tolist() == first != second
    assert generator.initial_seed() == 3 and generator.seed() == generator.initial_seed() != 3


# ---- mixed precision ----

@pytest.mark.parametrize("low", [burn.bfloat16, burn.float16])
def test_autocast_chooses_dtypes_as_pytorch_does_on_a_cpu(low):
    x, w = burn.randn(4, 5, requires_grad=True), burn.randn(3, 5)
    with burn.autocast("cpu", dtype=low):
        h = F.linear(x, w)
        assert burn.is_autocast_enabled() and burn.get_autocast_dtype() is low
        assert h.dtype is low and (x @ w.T).dtype is low and burn.bmm(x[None], w.T[None]).dtype is low
        assert F.relu(h).dtype is low and h.softmax(1).dtype is low and (h + x[:, :3]).dtype is burn.float32
        assert (x @ w[0]).dtype is burn.float32 and F.linear(x.double(), w.double()).dtype is burn.float64
        losses = [F.mse_loss(h, h.detach() * 2), F.cross_entropy(h, burn.tensor([0, 1, 2, 0])), F.l1_loss(h, h * 2)]
        assert all(loss.dtype is burn.float32 for loss in losses)
        with burn.autocast("cpu", enabled=False):
            assert F.linear(x, w).dtype is burn.float32
        assert F.linear(x, w).dtype is low
        losses[0].backward()
    assert x.grad.dtype is burn.float32 and F.linear(x, w).dtype is burn.float32 and not burn.is_autocast_enabled()
    assert burn.autocast("cpu", dtype=low)(lambda: x @ w.T)().dtype is low


def test_autocast_of_an_absent_device_warns_and_does_nothing():
    with pytest.warns(UserWarning, match="CUDA is not available"):
        context = burn.amp.autocast("cuda")
    with context:
        assert (burn.ones(2, 2) @ burn.ones(2, 2)).dtype is burn.float32
    with pytest.raises(RuntimeError, match="device_type"):
        burn.autocast("toaster")


def test_products_of_low_precision_sum_in_float32():
    x = burn.full((1, 4096), 0.01, dtype=burn.bfloat16)
    exact = 4096 * float(burn.tensor(0.01, dtype=burn.bfloat16)) ** 2
    assert abs(float(x @ x.T) - exact) < 0.01 * exact
    assert abs(float(x.sum()) - 4096 * float(x[0, 0])) < 0.01 * 41


def test_a_scaler_leaves_steps_out_and_adapts():
    p = nn.Parameter(burn.tensor([1.0]))
    optimizer = burn.optim.SGD([p], lr=0.5)
    scaler = burn.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    found = []
    for factor in (1.0, float("inf"), 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((p * factor).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        found.append((p.item(), scaler.get_scale()))
    assert found == [(0.5, 4.0), (0.5, 2.0), (0.0, 2.0), (-0.5, 4.0)]
    scaler.scale(p.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    other = burn.amp.GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 4.0 and burn.amp.GradScaler(enabled=False).scale(p) is p


# ---- settings ----

def test_what_programs_ask_before_they_begin():
    assert not burn.cuda.is_available() and not burn.backends.mps.is_available()
    assert not burn.accelerator.is_available() and burn.accelerator.current_accelerator() is None
    burn.backends.cudnn.benchmark = True
    burn.cuda.manual_seed_all(1)
    burn.use_deterministic_algorithms(True)
    burn.set_float32_matmul_precision("high")
    burn.set_num_threads(2)
    assert burn.are_deterministic_algorithms_enabled() and burn.get_float32_matmul_precision() == "high"
    assert burn.get_num_threads() == 2
    layer = nn.Linear(2, 2)
    assert burn.compile(layer) is layer and burn.compile(mode="max-autotune")(layer) is layer
    with burn.device(burn.get_default_device()):
        assert burn.ones(1).device == burn.get_default_device()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with burn.autograd.detect_anomaly():
            np.testing.assert_array_equal(burn.ones(2).numpy(), 1)
