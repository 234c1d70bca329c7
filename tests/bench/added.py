# SPDX-License-Identifier: Apache-2.0
"""More workloads, by the table of their names; their peers lie beside this file. Arrays come from data.py, so that the
checksums that all print are the same."""
import numpy as np

import burn
import burn.nn.functional as F
import burn.optim as optim
import data
import gpt
import judge
import resnet
from workloads import Training, Workload


def product(name):
    *_, count, half = data.PRODUCTS[name]
    unit, scale = data.product_rate(name)

    def products(x, w):
        for _ in range(count):
            x = x @ w
        return x
    inputs = [burn.tensor(a).to(burn.bfloat16 if half else burn.float32) for a in data.product(name)]
    return Workload(inputs, products, products, unit, lambda s: scale / s, "bf16" if half else "f32",
                    (8e-3 if count == 1 else 3e-2) if half else 1e-4)


def attention(name):
    causal, flops = data.ATTENTIONS[name][-1], data.attention_flops(name)

    def judged(q, k, v):
        if causal:
            return gpt.attention(q, k, v)[0]
        return gpt.softmax(q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])) @ v
    return Workload([burn.tensor(a).to(burn.bfloat16) for a in data.attention(name)],
                    burn.no_grad()(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal)), judged,
                    "TFLOP/s", lambda s: flops / s / 1e12, "bf16", 3e-2)


def convolution(name):
    stride, flops = data.CONVOLUTIONS[name][-1], data.convolution_flops(name)
    return Workload([burn.tensor(a).to(burn.bfloat16) for a in data.convolution_bf16(name)],
                    burn.no_grad()(lambda x, w: F.conv2d(x, w, stride=stride, padding=1)),
                    lambda x, w: np.einsum("bcyxij,ocij->boyx", resnet.windows(x, 3, stride, 1), w, optimize=True),
                    "TFLOP/s", lambda s: flops / s / 1e12, "bf16", 8e-3)


def conv_depthwise():
    sizes = data.DEPTHWISE
    inputs = data.convolution(sizes, 3, sizes["channels"])
    return Workload(inputs, lambda x, w: F.conv2d(x, w, padding=1, groups=x.shape[1]),
                    lambda x, w: np.einsum("bcyxij,cij->bcyx", resnet.windows(x, 3, 1, 1), w[:, 0], optimize=True),
                    "GB/s", lambda s: 2 * inputs[0].nbytes / s / 1e9)


def conv_1x1():
    sizes = data.POINTWISE
    flops = 2 * sizes["batch"] * sizes["channels"] * sizes["outputs"] * sizes["side"] ** 2
    return Workload(data.convolution(sizes, 1), F.conv2d,
                    lambda x, w: np.einsum("bcyx,oc->boyx", x, w[:, :, 0, 0], optimize=True),
                    "TFLOP/s", lambda s: flops / s / 1e12)


def max_pool2d():
    sizes = {name: data.POOL[name] for name in ("stride", "padding", "dilation")}
    size, x = data.POOL["size"], data.normal("pool", *data.POOL["shape"])
    return Workload([x], lambda x: F.max_pool2d(x, size, **sizes),
                    lambda x: resnet.windows(x, size, fill=-np.inf, **sizes).max((-1, -2)),
                    "GB/s", lambda s: x.nbytes * 1.25 / s / 1e9)


def gru_step():
    x, state, weights = data.gru()
    cell = burn.nn.GRUCell(data.GRU["width"], data.GRU["width"])
    cell.load_state_dict({name: burn.tensor(array) for name, array in weights.items()})
    numpy_weights = {name: judge.as_float64(array) for name, array in weights.items()}
    return Workload([x, state], burn.no_grad()(lambda x, state: cell(x, state)),
                    lambda x, state: judge.gru_cell(x, state, **numpy_weights), "steps/s", lambda s: 1 / s)


def embedding_gather():
    ids, table, _ = data.table()
    return Workload([ids, table], F.embedding, lambda ids, table: table[ids], "GB/s",
                    lambda s: 2 * 4 * ids.size * table.shape[1] / s / 1e9)


def embedding_scatter_add():
    ids, table, added = data.table()

    def add(ids, added):
        return burn.zeros(table.shape).index_add(0, ids, added)
    return Workload([ids, added], add, lambda ids, added: judge.scatter_add(table.shape, ids, added), "GB/s",
                    lambda s: (added.nbytes + table.nbytes) / s / 1e9)


def cumsum():
    x = data.normal("cumsum", *data.CUMSUM)
    return Workload([x], lambda x: x.cumsum(-1), lambda x: x.cumsum(-1), "GB/s", lambda s: 2 * x.nbytes / s / 1e9)


class Update:
    """A step of an optimizer over parameters whose gradients are given; judge: NumPy's, with the same rates."""

    dtype, unit = "f32", "GB/s"

    def __init__(self, parameters, gradients, make, judge, rate):
        self.parameters, self.gradients, self.make, self.judge, self.rate = parameters, gradients, make, judge, rate


def adamw_200():
    parameters, gradients = ([data.normal(f"{kind}{i}", *shape) for i, shape in enumerate(data.ADAMW_SHAPES)]
                             for kind in ("parameter", "gradient"))
    rate, decay = data.ADAMW["rate"], data.ADAMW["decay"]
    total = sum(a.nbytes for a in parameters)
    return Update(parameters, gradients, lambda ps: optim.AdamW(ps, rate, weight_decay=decay), judge.Adam(rate, decay),
                  lambda s: 7 * total / s / 1e9)


def resnet18_infer():
    model = resnet.ResNet18().eval()
    numpy_model = resnet.Judge(judge.state(model), training=False)
    return Workload([data.resnet_images(1)[0]], burn.no_grad()(lambda x: model(x)), lambda x: numpy_model.logits(x)[0],
                    "images/s", lambda s: 1 / s, tolerance=1e-3)


def resnet18_train():
    sizes = data.RESNET

    def make():
        model = resnet.ResNet18()
        return model, optim.SGD(model.parameters(), sizes["rate"], momentum=sizes["momentum"])

    def judged(p, x, y):
        numpy_model = resnet.Judge(p, training=True)
        logits, back = numpy_model.logits(x)
        loss, gradient = judge.cross_entropy(logits, y)
        back(gradient)
        return loss, numpy_model.gradients

    return Training(make, data.resnet_images(sizes["batch"]), lambda model, x, y: F.cross_entropy(model(x), y), judged,
                    judge.Momentum(sizes["rate"], sizes["momentum"]), 2, "images/s", lambda s: sizes["batch"] / s)


class Lengths:
    """One body over inputs of many lengths; judge as a Workload's."""

    dtype, unit = "f32", "tokens/s"

    def __init__(self, inputs, body, judge):
        self.inputs, self.body, self.judge = inputs, body, judge
        self.mean = sum(a.shape[1] for a in inputs) / len(inputs)

    def rate(self, seconds):
        return self.mean / seconds


def random_lengths():
    """A decoder over prompts of 200 lengths."""
    sizes = data.LENGTHS_GPT
    model = gpt.GPT(**sizes).eval()
    model.load_state_dict({name: burn.tensor(array) for name, array in data.gpt_parameters(sizes).items()})
    numpy_model = gpt.Judge(judge.parameters(model), sizes["h"], sizes["layers"])
    return Lengths([data.integers(f"ids{n}", sizes["vocab"], 1, n) for n in data.lengths()],
                   burn.no_grad()(lambda ids: model(ids)), lambda ids: numpy_model.logits(ids)[0])


def named(name, function, *arguments):
    def make():
        return function(name, *arguments)
    make.__name__ = name
    return make


JUDGED = (*(named(name, product) for name in data.PRODUCTS), *(named(name, attention) for name in data.ATTENTIONS),
          *(named(name, convolution) for name in data.CONVOLUTIONS), conv_depthwise, conv_1x1, max_pool2d, gru_step,
          embedding_gather, embedding_scatter_add, cumsum, resnet18_infer)
TRAINED = (resnet18_train,)
UPDATES = (adamw_200,)
LENGTHS = (random_lengths,)
