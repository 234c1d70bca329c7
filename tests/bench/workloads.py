# SPDX-License-Identifier: Apache-2.0
"""The reference workloads, each a function of its own name that makes one; JUDGED and TRAINED list them."""
import numpy as np

import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim
import gpt
import judge

random = np.random.default_rng(0)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


class Workload:
    """inputs: NumPy arrays; body(tensors) -> result; judge(arrays) -> the right result in float64."""

    def __init__(self, inputs, body, judge, unit, rate, dtype="f32", tolerance=1e-4):
        self.inputs, self.body, self.judge = inputs, body, judge
        self.unit, self.rate, self.dtype, self.tolerance = unit, rate, dtype, tolerance


class Training:
    """make() -> model, optimizer; loss(model, *tensors); judge(parameters, *arrays) -> loss, gradients.
    The first losses of so many steps are judged."""

    dtype = "f32"

    def __init__(self, make, inputs, loss, judge, steps, unit, rate):
        self.make, self.inputs, self.loss, self.judge = make, inputs, loss, judge
        self.steps, self.unit, self.rate = steps, unit, rate


N, R, M = 8 << 20, 2048, 1024


def pointwise_chain():
    return Workload([normal(N) for _ in range(5)],
                    lambda a, b, c, d, e: F.gelu(a * b + c, approximate="tanh") * d - e,
                    lambda a, b, c, d, e: gpt.gelu(a * b + c)[0] * d - e, "GB/s", lambda s: 6 * 4 * N / s / 1e9)


def softmax_rows():
    return Workload([normal(R, R)], lambda x: burn.softmax(x, -1), gpt.softmax, "GB/s",
                    lambda s: 2 * 4 * R * R / s / 1e9)


def residual_layer_norm():
    return Workload([normal(R, R), normal(R, R), normal(R), normal(R)],
                    lambda x, r, w, b: F.layer_norm(x + r, (R,), w, b),
                    lambda x, r, w, b: judge.layer_norm(x + r, w, b), "GB/s", lambda s: 3 * 4 * R * R / s / 1e9)


def square_sum():
    return Workload([normal(N)], lambda x: (x * x).sum(), lambda x: (x * x).sum(), "GB/s",
                    lambda s: 4 * N / s / 1e9)


def matmul_bias_gelu():
    return Workload([normal(M, M), normal(M, M), normal(M)],
                    lambda x, w, b: F.gelu(x @ w + b, approximate="tanh"),
                    lambda x, w, b: gpt.gelu(x @ w + b)[0], "TFLOP/s", lambda s: 2 * M ** 3 / s / 1e12)


def conv_bn_relu():
    batch, channels, places = 4, 64, 56
    return Workload([normal(batch, channels, places, places), normal(channels, channels, 3, 3) / 24, normal(channels),
                     np.abs(normal(channels)) + 0.5, normal(channels), normal(channels)],
                    lambda x, w, mean, var, gamma, beta:
                    F.relu(F.batch_norm(F.conv2d(x, w, padding=1), mean, var, gamma, beta)),
                    judge.conv_bn_relu, "TFLOP/s",
                    lambda s: 2 * batch * channels * channels * 9 * places * places / s / 1e12)


def attention_causal():
    heads, length, width = 8, 512, 64
    return Workload([normal(1, heads, length, width) for _ in range(3)],
                    lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
                    lambda q, k, v: gpt.attention(q, k, v)[0], "TFLOP/s",
                    lambda s: 2 * heads * length * length * width / s / 1e12)


def gpt2_decode():
    """The logits of one token after 64 others, whose keys and values lie in caches."""
    sizes, pos = gpt.SIZES, 64
    burn.manual_seed(0)
    model = gpt.GPT(**sizes).eval()
    shape = (1, sizes["h"], sizes["ctx"], sizes["d"] // sizes["h"])
    arrays = [(normal(*shape), normal(*shape)) for _ in range(sizes["layers"])]
    caches = [tuple(burn.tensor(a) for a in pair) for pair in arrays]
    pasts = [tuple(judge.as_float64(a[:, :, :pos]) for a in pair) for pair in arrays]
    numpy_model = gpt.Judge(judge.parameters(model), sizes["h"], sizes["layers"])

    @burn.no_grad()
    def body(ids):
        return model(ids, caches, pos)

    return Workload([random.integers(0, sizes["vocab"], (1, 1))], body,
                    lambda ids: numpy_model.logits(ids, pasts, pos)[0], "tokens/s", lambda s: 1 / s)


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
                    [normal(128, 784), random.integers(0, 10, 128)], classify, judge.mlp, 5, "steps/s",
                    lambda s: 1 / s)


def cnn_train_step():
    return Training(lambda: with_adam(nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(),
                                                    nn.MaxPool2d(2), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(),
                                                    nn.Linear(128, 10))),
                    [normal(128, 1, 28, 28), random.integers(0, 10, 128)], classify, judge.cnn, 3, "images/s",
                    lambda s: 128 / s)


def gpt2_train_step():
    batch, length, vocab = 4, 128, gpt.SIZES["vocab"]

    def make():
        model = gpt.GPT(**gpt.SIZES)
        return model, optim.AdamW(model.parameters(), 3e-4)

    def loss(model, ids):
        return F.cross_entropy(model(ids[:, :-1]).reshape(-1, vocab).float(), ids[:, 1:].reshape(-1))

    return Training(make, [random.integers(0, vocab, (batch, length + 1))], loss, judge.gpt2, 3, "tokens/s",
                    lambda s: batch * length / s)


JUDGED = (pointwise_chain, softmax_rows, residual_layer_norm, square_sum, matmul_bias_gelu, conv_bn_relu,
          attention_causal, gpt2_decode, dispatch_1000_adds)
TRAINED = (mlp_train_step, cnn_train_step, gpt2_train_step)
