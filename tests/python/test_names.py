# SPDX-License-Identifier: Apache-2.0
"""Names of torch that scripts use now and then; the values are those of PyTorch 2.13."""
import importlib
import math

import burn
import burn.nn.functional as F
import numpy as np
import pytest
from burn import nn


def close(tensor, values, rtol=1e-5):
    np.testing.assert_allclose(tensor.detach().numpy(), values, rtol, 1e-6)


X = [[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]]


# ---- functions of networks as torch itself has them ----

def test_orders_of_arguments():
    x, weight = burn.tensor(X), burn.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert burn.embedding(weight, burn.tensor([2, 0])).tolist() == [[5, 6], [1, 2]]
    gain, shift = burn.tensor([1.0, 2.0, 3.0]), burn.tensor([0.5, 0.0, -0.5])
    mean, var = burn.tensor([0.1, 0.2, 0.3]), burn.tensor([1.0, 2.0, 0.5])
    close(burn.batch_norm(x, gain, shift, mean, var, False, 0.1, 1e-5, False),
          [[0.899998, -1.697052, 6.712417], [1.899993, 0.070711, -4.954728]])
    close(burn.layer_norm(x, (3,)), [[0.0, -1.2247407, 1.2247407], [1.2674931, -0.0905352, -1.1769577]])
    close(burn.group_norm(x.reshape(1, 2, 3), 2), [[[0.0, -1.2247407, 1.2247407], [1.2674931, -0.0905352, -1.1769577]]])
    close(burn.instance_norm(x.reshape(1, 2, 3), None, None, None, None, True, 0.1, 1e-5, False),
          [[[0.0, -1.2247407, 1.2247407], [1.2674931, -0.0905352, -1.1769577]]])
    assert burn.dropout(x, 0.5, False).tolist() == X and burn.dropout(x, 1.0, True).tolist() == [[0, 0, 0]] * 2
    y = burn.ones(4)
    assert burn.dropout_(y, 1.0, True) is y and y.tolist() == [0] * 4
    assert burn.constant_pad_nd(burn.ones(2), [1, 0], 7).tolist() == [7, 1, 1]


@pytest.mark.parametrize("made, wanted", [
    (lambda x, y: burn.kl_div(x, y.abs(), 2), -1.6311742),
    (lambda x, y: burn.kl_div(x, y.abs())[0], [-0.28025851, 0.80517548, -0.96119189]),
    (lambda x, y: burn.binary_cross_entropy_with_logits(x, y.abs(), reduction=2), 6.3784904),
    (lambda x, y: burn.hinge_embedding_loss(x, y.sign(), 1.0, 1), 1),
    (lambda x, y: burn.margin_ranking_loss(x, y, y.sign(), 0.5, 2), 3.3000002),
    (lambda x, y: burn.cosine_embedding_loss(x, y, burn.tensor([1.0, -1.0])), [0.29086107, 0.078811027]),
    (lambda x, y: burn.triplet_margin_loss(x, y, -x, 1.0, reduction=2), 0),
    (lambda x, y: burn.poisson_nll_loss(x, y, True, False, 1e-8, 1), 2.3322897),
])
def test_losses_with_numbers_for_reductions(made, wanted):
    x, y = burn.tensor(X), burn.tensor([[0.1, -0.9, 0.3], [0.4, -0.2, 0.6]])
    close(made(x, y), wanted)


def test_an_unknown_reduction():
    with pytest.raises(ValueError, match="reduction is 0"):
        burn.kl_div(burn.ones(2), burn.ones(2), 3)


def test_cells():
    x, h = burn.tensor([[0.5, -1.0]]), burn.tensor([[0.25, 0.75]])

    def weights(n):
        return [(burn.arange(2.0 * n) / 10 - 0.3).reshape(n, 2)] * 2 + [burn.arange(1.0 * n) / 20] * 2
    a, b = burn.lstm_cell(x, (h, h * 2), *weights(8))
    close(a, [[0.35783520, 0.65570581]])
    close(b, [[0.53110480, 1.25014567]])
    close(burn.gru_cell(x, h, *weights(6)), [[0.22820446, 0.57547271]])
    close(burn.rnn_tanh_cell(x, h, *weights(2)), [[-0.17323515, 0.02499479]])
    close(burn.rnn_relu_cell(x, h, *weights(2)), [[0.0, 0.02499999]])


# ---- plain functions ----

def test_buffers():
    data = np.arange(6, dtype=np.float32).tobytes()
    assert burn.frombuffer(data, dtype=burn.float32).tolist() == [0, 1, 2, 3, 4, 5]
    assert burn.frombuffer(bytearray(data), dtype=burn.float32, count=2, offset=8).tolist() == [2, 3]
    for wrong in (lambda: burn.frombuffer(b"", dtype=burn.uint8), lambda: burn.frombuffer(data, dtype=burn.float32, offset=99),
                  lambda: burn.frombuffer(data, dtype=burn.float32, offset=1),
                  lambda: burn.frombuffer(data, dtype=burn.float32, count=7)):
        with pytest.raises(ValueError):
            wrong()


def test_norms():
    x = burn.tensor(X)
    close(burn.frobenius_norm(x), 2.85043859)
    close(burn.frobenius_norm(x, 1, keepdim=True), [[2.2912877], [1.69558251]])
    close(burn.nuclear_norm(x), 3.95390058)
    close(burn.norm_except_dim(x, 2, 0), [[2.2912877], [1.69558251]])
    close(burn.norm_except_dim(x, 2, -1), 2.85043859)
    with pytest.raises(RuntimeError, match="2 dimensions"):
        burn.nuclear_norm(burn.ones(2, 2, 2))


def test_real_numbers_as_complex_ones():
    x = burn.tensor([-1.0, 0.0, 2.0, math.nan])
    close(burn.angle(x), [math.pi, 0, 0, math.nan])
    assert burn.angle(burn.tensor([-3, 3])).dtype is burn.float32
    for name in ("conj", "conj_physical", "resolve_conj", "resolve_neg", "real"):
        assert getattr(burn, name)(x) is x and getattr(x, name)() is x
    assert not burn.is_conj(x) and not x.is_neg()
    with pytest.raises(RuntimeError, match="imag is not implemented"):
        burn.imag(x)
    m = burn.tensor(X)
    assert m.H.tolist() == m.mH.tolist() == m.T.tolist()
    with pytest.raises(RuntimeError):
        burn.ones(2, 2, 2).H


def test_copies():
    x = burn.tensor(X)
    for made in (burn.t_copy(x), burn.view_copy(x, 3, 2), burn.transpose_copy(x, 0, 1), burn.permute_copy(x, (1, 0)),
                 burn.expand_copy(x, 2, 2, 3), burn.select_copy(x, 0, 0), burn.squeeze_copy(x), burn.unsqueeze_copy(x, 0),
                 burn.detach_copy(x), burn.diagonal_copy(x), burn.unfold_copy(x, 1, 2, 1), *burn.split_copy(x, 1),
                 *burn.unbind_copy(x)):
        made.zero_()
    assert x.tolist() == X
    assert [part.tolist() for part in burn.unsafe_chunk(x, 2)] == [[X[0]], [X[1]]]
    assert [part.shape for part in x.unsafe_split([1, 2], 1)] == [(2, 1), (2, 2)]


# ---- namespaces ----

def test_jit_gives_back_what_it_takes():
    from burn.jit import ignore, script
    module, function = nn.Linear(2, 2), (lambda x: x + 1)
    assert script(module) is module and burn.jit.trace(function, burn.ones(2)) is function
    assert burn.jit.freeze(module) is module and burn.jit.ignore(function) is function
    assert ignore(drop=True)(function) is function and burn.jit.unused(function) is function
    assert burn.jit.annotate(int, 3) == 3 and not burn.jit.is_scripting()
    assert isinstance(script(module), burn.jit.ScriptModule)
    assert burn.jit.wait(burn.jit.fork(function, burn.ones(1))).item() == 2
    program = burn.jit(function)
    assert program(burn.ones(2)).tolist() == [2, 2] and burn.jit(name="two")(function)(burn.ones(1)).item() == 2
    for wrong in (lambda: burn.jit.save(module, "x"), lambda: burn.jit.load("x")):
        with pytest.raises(RuntimeError, match="TorchScript"):
            wrong()


def test_compiler():
    def function(x):
        return x
    assert burn.compiler.disable(function) is function and burn.compiler.disable(recursive=False)(function) is function
    assert burn.compiler.compile(function) is function and not burn.compiler.is_compiling()
    burn.compiler.reset()
    with burn.compiler.set_stance("force_eager"):
        burn.compiler.cudagraph_mark_step_begin()


def test_profiler_measures_nothing_and_says_so():
    from burn.profiler import ProfilerAction, ProfilerActivity, profile, record_function, schedule
    plan = schedule(wait=1, warmup=1, active=2, repeat=1, skip_first=1)
    assert [plan(n).name for n in range(7)] == ["NONE", "NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE"]
    assert plan(2) is ProfilerAction.WARMUP
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, record_shapes=True) as prof:
        with record_function("part"):
            prof.step()
    assert "burnctl kernels" in prof.key_averages().table(sort_by="cpu_time_total", row_limit=10)
    with pytest.raises(RuntimeError):
        prof.export_chrome_trace("x.json")


def test_choice_of_attention():
    from burn.nn.attention import SDPBackend, sdpa_kernel
    q = burn.randn(1, 2, 3, 4)
    plain = F.scaled_dot_product_attention(q, q, q)
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        assert F.scaled_dot_product_attention(q, q, q).tolist() == plain.tolist()
    with pytest.raises(AssertionError):
        with sdpa_kernel("math"):
            pass


def test_modules_can_be_imported():
    for name in ("compiler", "distributions.kl", "distributions.normal", "jit", "nn.attention", "profiler", "version"):
        importlib.import_module(f"burn.{name}")
    assert burn.version.__version__ == burn.__version__ and burn.version.cuda is None


def test_modes_and_settings():
    assert not burn.is_inference_mode_enabled()
    with burn.inference_mode():
        assert burn.is_inference_mode_enabled()
        with burn.inference_mode(False):
            assert not burn.is_inference_mode_enabled()
        assert burn.is_inference_mode_enabled()
    assert not burn.is_inference_mode_enabled()
    burn.set_deterministic_debug_mode("warn")
    assert burn.get_deterministic_debug_mode() == 1 and burn.is_deterministic_algorithms_warn_only_enabled()
    burn.set_deterministic_debug_mode(0)
    assert not burn.are_deterministic_algorithms_enabled()
    with pytest.raises(RuntimeError):
        burn.set_deterministic_debug_mode("loud")
    burn.set_num_interop_threads(3)
    assert burn.get_num_interop_threads() == 3 and burn.set_flush_denormal(True) is False
    burn.clear_autocast_cache()
    with burn.autocast("cpu"):
        assert burn.is_autocast_cpu_enabled() and burn.get_autocast_cpu_dtype() is burn.bfloat16


def test_questions_about_a_cuda_device():
    from burn.cuda import amp, nvtx
    assert burn.cuda.memory_stats() == {} and burn.cuda.max_memory_cached() == 0 and burn.cuda.get_arch_list() == []
    assert burn.cuda.get_rng_state_all() == [] and "no CUDA device" in burn.cuda.memory_summary()
    burn.cuda.reset_max_memory_allocated()
    with burn.cuda.device(-1), burn.cuda.stream(None), nvtx.range("part"):
        assert amp.autocast is burn.cuda.amp.autocast
    for wrong in (burn.cuda.get_device_name, burn.cuda.current_device, lambda: burn.cuda.set_device(0), burn.cuda.Stream,
                  lambda: burn.cuda.Event(enable_timing=True), lambda: burn.cuda.get_device_properties(0), burn.cuda.mem_get_info,
                  burn.cuda.synchronize, lambda: burn.cuda.device(0).__enter__()):
        with pytest.raises(RuntimeError, match="no CUDA device"):
            wrong()
    assert issubclass(burn.cuda.OutOfMemoryError, RuntimeError) and burn.OutOfMemoryError is burn.cuda.OutOfMemoryError


def test_random_tensors_for_tests():
    from burn.testing import assert_allclose, make_tensor
    x = make_tensor(3, 4, dtype=burn.float32, device="cpu" if burn.get_default_device().type == "cpu" else "ref")
    assert x.shape == (3, 4) and (x >= -9).all() and (x < 9).all()
    device = burn.get_default_device()
    assert make_tensor((2,), dtype=burn.int32, device=device, low=3, high=4).tolist() == [3, 3]
    assert make_tensor(50, dtype=burn.uint8, device=device, high=2, exclude_zero=True).tolist() == [1] * 50
    assert make_tensor(2, dtype=burn.bool, device=device).dtype is burn.bool
    assert make_tensor(2, dtype=burn.float64, device=device, requires_grad=True).requires_grad
    strided = make_tensor(3, 4, dtype=burn.float32, device=device, noncontiguous=True)
    assert strided.shape == (3, 4) and not strided.is_contiguous()
    with pytest.raises(ValueError):
        make_tensor(2, dtype=burn.float32, device=device, low=3, high=2)
    assert_allclose(burn.ones(2), burn.ones(2, dtype=burn.float64))
    with pytest.raises(AssertionError):
        assert_allclose(burn.ones(2), burn.zeros(2))


def test_methods_of_now_and_then():
    x = burn.tensor([1.0, -2.0, 3.0])
    assert x.apply_(lambda v: v * 2) is x and x.tolist() == [2, -4, 6]
    assert x.map_(burn.tensor(1.0), lambda a, b: a + b).tolist() == [3, -3, 7]
    assert x.map2_(x, burn.tensor([1.0, 2.0, 3.0]), lambda a, b, c: a + b * c).tolist() == [6, -9, 28]
    with pytest.raises(RuntimeError, match="requires grad"):
        burn.ones(2, requires_grad=True).apply_(abs)
    assert burn.tensor([0.0, 1.0]).bernoulli().tolist() == [0, 1] and burn.zeros(3).bernoulli(1.0).tolist() == [1, 1, 1]
    assert burn.ones(2, dtype=burn.int64).new([3, 4]).dtype is burn.int64 and x.new(2, 3).shape == (2, 3)
    assert x.name is None and not x.is_mps and not x.is_sparse_csr and x.to_dense() is x and x.output_nr == 0
    x.record_stream(None)

    class Mine(burn.Tensor):
        pass
    assert type(x.as_subclass(Mine)) is Mine


def test_pools_undone():
    x = burn.tensor([[[1.0, 4.0, 2.0, 3.0, 5.0]]])
    y, places = F.max_pool1d(x, 2, return_indices=True)
    assert nn.MaxUnpool1d(2)(y, places).tolist() == [[[0, 4, 0, 3]]]
    assert nn.MaxUnpool1d(2)(y, places, output_size=x.shape).tolist() == [[[0, 4, 0, 3, 0]]]
    with pytest.raises(ValueError, match="output_size"):
        nn.MaxUnpool1d(2)(y, places, output_size=(1, 1, 9))
    x = burn.arange(16.0).reshape(1, 1, 4, 4)
    assert nn.MaxUnpool2d(2)(*F.max_pool2d(x, 2, return_indices=True)).tolist() == [[
        [[0, 0, 0, 0], [0, 5, 0, 7], [0, 0, 0, 0], [0, 13, 0, 15]]]]
    x = burn.arange(8.0).reshape(1, 2, 2, 2)
    assert nn.MaxUnpool3d(2)(*F.max_pool3d(x, 2, return_indices=True)).reshape(-1).tolist() == [0] * 7 + [7]
    close(nn.LPPool3d(2, 2)(x), [[[[math.sqrt(140)]]]])


def test_what_is_not_distributed():
    from burn.nn.parallel import DataParallel, DistributedDataParallel
    assert not burn.distributed.is_available() and not burn.distributed.is_initialized() and DataParallel is nn.DataParallel
    for error, wrong in ((RuntimeError, lambda: burn.distributed.init_process_group("gloo")), (ValueError, burn.distributed.get_rank),
                         (RuntimeError, lambda: DistributedDataParallel(nn.Linear(1, 1)))):
        with pytest.raises(error):
            wrong()


def test_functions_that_are_methods():
    assert burn.is_nonzero(burn.tensor(2.0)) and not burn.is_inference(burn.ones(1)) and burn.get_device(burn.ones(1)) == -1
    L = burn.tensor([[2.0, 0.0], [1.0, 3.0]])
    close(burn.cholesky_inverse(L), [[0.2777778, -0.0555556], [-0.0555556, 0.1111111]])
    close(L.T.cholesky_inverse(upper=True), [[0.2777778, -0.0555556], [-0.0555556, 0.1111111]])
    close(burn.igamma(burn.tensor(3.0), burn.tensor(4.0)), 0.7618967)
    close(burn.tensor(3.0).igammac(burn.tensor(4.0)), 0.2381033)
