# SPDX-License-Identifier: Apache-2.0
"""The reference workloads, each a function of its own name that makes one; JUDGED and TRAINED list them.

On a GPU (BURND_DEVICE=cuda) they have the sizes and the 16-bit floats of a GPU's user; there the inputs are made on the
device, and NumPy judges the leading part of a result.
"""
import os

import numpy as np

import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim
import gpt
import judge

random = None  # NumPy's generator
GPU = os.environ.get("BURND_DEVICE", "cpu") == "cuda"
HALF, HALF_NAME, HALF_BYTES = (burn.bfloat16, "bf16", 2) if GPU else (burn.float32, "f32", 4)
ROUGH = 2e-2 if GPU else 1e-4  # of results in HALF


def reseed():
    """Before a workload is made: its inputs are always the same."""
    global random
    random = np.random.default_rng(0)
    burn.manual_seed(0)


def normal(*shape, dtype=burn.float32):
    return burn.randn(*shape).to(dtype) if GPU else random.standard_normal(shape).astype(np.float32)


class Workload:
    """inputs: NumPy arrays or tensors; body(tensors) -> result; judge(arrays) -> the right result in float64, or its
    leading part. The judge sees `part` entries of each input (0: all)."""

    def __init__(self, inputs, body, judge, unit, rate, dtype="f32", tolerance=1e-4, part=()):
        self.inputs, self.body, self.judge = inputs, body, judge
        self.unit, self.rate, self.dtype, self.tolerance = unit, rate, dtype, tolerance
        self.part = part if GPU else ()


class Training:
    """make() -> model, optimizer; loss(model, *tensors); judge(parameters, *arrays) -> loss, gradients; update: the
    optimizer in NumPy. The first losses of so many steps over the inputs (over `judged` where these are too many) are
    judged."""

    def __init__(self, make, inputs, loss, judge, update, steps, unit, rate, dtype="f32", tolerance=1e-3, judged=None):
        self.make, self.inputs, self.loss, self.judge, self.update = make, inputs, loss, judge, update
        self.steps, self.unit, self.rate = steps, unit, rate
        self.dtype, self.tolerance, self.judged = dtype, tolerance, judged or inputs


N, R, C, M = (64 << 20, 16384, 8192, 8192) if GPU else (8 << 20, 2048, 2048, 1024)


def pointwise_chain():
    return Workload([normal(N) for _ in range(5)],
                    lambda a, b, c, d, e: F.gelu(a * b + c, approximate="tanh") * d - e,
                    lambda a, b, c, d, e: gpt.gelu(a * b + c)[0] * d - e, "GB/s", lambda s: 6 * 4 * N / s / 1e9,
                    part=[1 << 20] * 5)


def softmax_rows():
    return Workload([normal(R, C, dtype=HALF)], lambda x: burn.softmax(x, -1), gpt.softmax, "GB/s",
                    lambda s: 2 * HALF_BYTES * R * C / s / 1e9, HALF_NAME, ROUGH, part=[64])


def residual_layer_norm():
    return Workload([normal(*shape, dtype=HALF) for shape in ((R, C), (R, C), (C,), (C,))],
                    lambda x, r, w, b: F.layer_norm(x + r, (C,), w, b),
                    lambda x, r, w, b: judge.layer_norm(x + r, w, b), "GB/s",
                    lambda s: 3 * HALF_BYTES * R * C / s / 1e9, HALF_NAME, ROUGH, part=[64, 64, 0, 0])


def square_sum():
    return Workload([normal(N)], lambda x: (x * x).sum(), lambda x: (x * x).sum(), "GB/s",
                    lambda s: 4 * N / s / 1e9)


def matmul_bias_gelu():
    return Workload([normal(*shape, dtype=HALF) for shape in ((M, M), (M, M), (M,))],
                    lambda x, w, b: F.gelu(x @ w + b, approximate="tanh"),
                    lambda x, w, b: gpt.gelu(x @ w + b)[0], "TFLOP/s", lambda s: 2 * M ** 3 / s / 1e12,
                    HALF_NAME, ROUGH, part=[64, 0, 0])


def conv_bn_relu():
    batch, channels, places = (64, 128, 56) if GPU else (4, 64, 56)
    spread = normal(channels, dtype=HALF)
    return Workload([normal(batch, channels, places, places, dtype=HALF),
                     normal(channels, channels, 3, 3, dtype=HALF) / 24, normal(channels, dtype=HALF), abs(spread) + 0.5,
                     normal(channels, dtype=HALF), normal(channels, dtype=HALF)],
                    lambda x, w, mean, var, gamma, beta:
                    F.relu(F.batch_norm(F.conv2d(x, w, padding=1), mean, var, gamma, beta)),
                    judge.conv_bn_relu, "TFLOP/s",
                    lambda s: 2 * batch * channels * channels * 9 * places * places / s / 1e12,
                    HALF_NAME, ROUGH, part=[2, 0, 0, 0, 0, 0])


def attention_causal():
    batch, heads, length, width = (8, 16, 4096, 128) if GPU else (1, 8, 512, 64)
    return Workload([normal(batch, heads, length, width, dtype=HALF) for _ in range(3)],
                    lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                    lambda q, k, v: gpt.attention(q[:, :2], k[:, :2], v[:, :2])[0], "TFLOP/s",
                    lambda s: 2 * batch * heads * length * length * width / s / 1e12, HALF_NAME, ROUGH, part=[1] * 3)


def gpt2_decode():
    """The logits of one token after 64 others, whose keys and values lie in caches."""
    sizes, pos = gpt.SIZES, 64
    burn.manual_seed(0)
    model = gpt.GPT(**sizes).to(HALF).eval()
    shape = (1, sizes["h"], sizes["ctx"], sizes["d"] // sizes["h"])
    arrays = [(normal(*shape), normal(*shape)) for _ in range(sizes["layers"])]
    caches = [tuple(burn.tensor(a).to(HALF) for a in pair) for pair in arrays]
    pasts = [tuple(judge.as_float64(c[:, :, :pos].float().numpy()) for c in pair) for pair in caches]
    numpy_model = gpt.Judge(judge.parameters(model), sizes["h"], sizes["layers"])

    @burn.no_grad()
    def body(ids):
        return model(ids, caches, pos)

    return Workload([random.integers(0, sizes["vocab"], (1, 1))], body,
                    lambda ids: numpy_model.logits(ids, pasts, pos)[0], "tokens/s", lambda s: 1 / s, HALF_NAME, ROUGH)


def dispatch_1000_adds():
    def adds(x):
        y = x
        for _ in range(1000):
            y = y + x
        return y
    return Workload([normal(16)], adds, lambda x: x * 1001, "us/op", lambda s: s * 1e6 / 1000)


def with_adam(model):
    return model, optim.Adam(model.parameters(), 1e-3)


def classify(model, x, y):
    return F.cross_entropy(model(x), y)


def mlp_train_step():
    return Training(lambda: with_adam(nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                                                    nn.Linear(512, 10))),
                    [normal(128, 784), random.integers(0, 10, 128)], classify, judge.mlp, judge.Adam(1e-3), 5, "steps/s",
                    lambda s: 1 / s)


def cnn_train_step():
    return Training(lambda: with_adam(nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(),
                                                    nn.MaxPool2d(2), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(),
                                                    nn.Linear(128, 10))),
                    [normal(128, 1, 28, 28), random.integers(0, 10, 128)], classify, judge.cnn, judge.Adam(1e-3), 3, "images/s",
                    lambda s: 128 / s)


def gpt2_train_step():
    batch, length = (16, 1024) if GPU else (4, 128)
    vocab = gpt.SIZES["vocab"]

    def make():
        model = gpt.GPT(**gpt.SIZES)
        return model, optim.AdamW(model.parameters(), 3e-4)

    def loss(model, ids):
        with burn.autocast(burn.get_default_device().type, burn.bfloat16, enabled=GPU):
            logits = model(ids[:, :-1])
            return F.cross_entropy(logits.reshape(-1, vocab).float(), ids[:, 1:].reshape(-1))

    ids = random.integers(0, vocab, (batch, length + 1))
    return Training(make, [ids], loss, judge.gpt2, judge.Adam(3e-4, 1e-2), 2 if GPU else 3, "tokens/s",
                    lambda s: batch * length / s, HALF_NAME, 1e-2 if GPU else 1e-3, [ids[:1, :65]] if GPU else None)


JUDGED = (pointwise_chain, softmax_rows, residual_layer_norm, square_sum, matmul_bias_gelu, conv_bn_relu,
          attention_causal, gpt2_decode, dispatch_1000_adds)
TRAINED = (mlp_train_step, cnn_train_step, gpt2_train_step)
