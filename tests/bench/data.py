# SPDX-License-Identifier: Apache-2.0
"""Sizes and arrays of the added workloads, the same for burn and its peers: an array is known by its name."""
import zlib

import numpy as np

# x @ w: rows, columns, inner size, how many in one step, each of the last one's result; of bf16 or f32
PRODUCTS = {"matmul_16": (16, 16, 16, 1000, False), "matmul_64": (64, 64, 64, 500, False),
            "matmul_256": (256, 256, 256, 20, False), "matmul_1024": (1024, 1024, 1024, 1, False),
            "matmul_2048": (2048, 2048, 2048, 1, False), "matmul_1x4096": (1, 4096, 4096, 1, False),
            "matmul_bf16_256": (256, 256, 256, 50, True), "matmul_bf16_1024": (1024, 1024, 1024, 1, True),
            "matmul_bf16_1x4096": (1, 4096, 4096, 1, True)}
DEPTHWISE = {"batch": 8, "channels": 128, "side": 56}  # windows of 3 x 3, padding 1
POINTWISE = {"batch": 8, "channels": 256, "outputs": 256, "side": 28}  # windows of 1 x 1
# in bf16: heads, length and width of queries, keys and values, causal
ATTENTIONS = {"attention_bf16_1024": (8, 1024, 64, False), "attention_bf16_causal": (8, 1024, 64, True),
              "attention_bf16_512": (12, 512, 64, False)}
# in bf16, of 8 images: channels, outputs, side, stride of windows of 3 x 3, padding 1
CONVOLUTIONS = {"conv_bf16_56": (64, 128, 56, 1), "conv_bf16_14": (256, 256, 14, 1), "conv_bf16_stride_2": (64, 128, 56, 2)}
POOL = {"shape": (2, 32, 512, 512), "size": 5, "stride": 2, "padding": 2, "dilation": 2}
GRU = {"batch": 32, "width": 256}
TABLE = {"rows": 16384, "width": 256, "ids": 16384}
CUMSUM = (2048, 2048)
ADAMW = {"rate": 1e-3, "decay": 1e-2}
ADAMW_SHAPES = [shape for _ in range(50) for shape in ((256, 256), (256,), (64, 256), (64,))]
RESNET = {"classes": 1000, "side": 224, "batch": 2, "rate": 1e-3, "momentum": 0.9}
GPT2 = {"vocab": 1024, "d": 128, "h": 4, "layers": 4, "ctx": 256}
LENGTHS_GPT = {"vocab": 1024, "d": 128, "h": 4, "layers": 2, "ctx": 512}


def lengths():
    """200 distinct lengths of 2 to 512, in no order; the first two are the ends."""
    inner = generator("lengths").permutation(np.arange(3, 512))[:198]
    return [512, 2, *(int(n) for n in inner)]


def generator(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def normal(name, *shape):
    return generator(name).standard_normal(shape, dtype=np.float32)


def integers(name, high, *shape):
    return generator(name).integers(0, high, shape)


def product(name):
    """The two operands. Of a chain the second is orthogonal, so that products keep the size of what is multiplied."""
    m, n, k, count, _ = PRODUCTS[name]
    x, w = normal(name + ".x", m, k), normal(name + ".w", k, n)
    return x, np.ascontiguousarray(np.linalg.qr(w)[0]) if count > 1 else w / np.float32(k ** 0.5)


def product_rate(name):
    """The unit, and how many of it a step is."""
    m, n, k, count, half = PRODUCTS[name]
    return ("TFLOP/s", 2 * m * n * k * count / 1e12) if m > 1 else ("GB/s", (2 if half else 4) * n * k / 1e9)


def convolution(sizes, window, groups=1):
    """An image and weights."""
    channels = sizes["channels"]
    fan_in = channels // groups * window * window
    return (normal("convolution.x", sizes["batch"], channels, sizes["side"], sizes["side"]),
            normal("convolution.w", sizes.get("outputs", channels), channels // groups, window, window)
            / np.float32(fan_in ** 0.5))


def attention(name):
    """Queries, keys and values."""
    heads, length, width, _ = ATTENTIONS[name]
    return [normal(f"{name}.{which}", 1, heads, length, width) for which in "qkv"]


def attention_flops(name):
    heads, length, width, causal = ATTENTIONS[name]
    return (2 if causal else 4) * heads * length * length * width


def convolution_bf16(name):
    """Images and weights."""
    channels, outputs, side, _ = CONVOLUTIONS[name]
    return normal(name + ".x", 8, channels, side, side), normal(name + ".w", outputs, channels, 3, 3) / np.float32(channels ** 0.5 * 3)


def convolution_flops(name):
    channels, outputs, side, stride = CONVOLUTIONS[name]
    return 2 * 8 * channels * outputs * 9 * (side // stride) ** 2


def gru():
    """Input, state, and a GRU cell's weights and biases: of the input, of the state; gates r, z, n below one another."""
    width = GRU["width"]
    x, state = (normal(f"gru.{name}", GRU["batch"], width) for name in ("x", "state"))
    weights = {f"weight_{name}": normal(f"gru.w{name}", 3 * width, width) / np.float32(width ** 0.5) for name in ("ih", "hh")}
    return x, state, {**weights, **{f"bias_{name}": normal(f"gru.b{name}", 3 * width) for name in ("ih", "hh")}}


def table():
    """Row numbers (some more than once), a table, and rows to add to it."""
    rows, width, ids = TABLE["rows"], TABLE["width"], TABLE["ids"]
    return integers("table.ids", rows, ids), normal("table", rows, width), normal("table.added", ids, width)


def resnet_blocks():
    """Name, input channels, output channels and stride of each block of ResNet-18."""
    inputs = 64
    for layer, outputs in enumerate((64, 128, 256, 512), 1):
        for number in range(2):
            yield f"layer{layer}.{number}.", inputs, outputs, 2 if layer > 1 and number == 0 else 1
            inputs = outputs


def resnet_parameters():
    """Parameters and running statistics of ResNet-18 by torchvision's names, in the order of the forward pass."""
    made = {}

    def conv(name, outputs, inputs, size):
        made[name + ".weight"] = normal(name, outputs, inputs, size, size) * np.float32((2 / (inputs * size * size)) ** 0.5)

    def norm(name, channels):
        made[name + ".weight"] = 1 + normal(name + ".weight", channels) / 8
        made[name + ".bias"] = normal(name + ".bias", channels) / 8
        made[name + ".running_mean"] = normal(name + ".mean", channels) / 8
        made[name + ".running_var"] = np.abs(normal(name + ".var", channels)) + np.float32(0.5)

    conv("conv1", 64, 3, 7)
    norm("bn1", 64)
    for name, inputs, outputs, stride in resnet_blocks():
        conv(name + "conv1", outputs, inputs, 3)
        norm(name + "bn1", outputs)
        conv(name + "conv2", outputs, outputs, 3)
        norm(name + "bn2", outputs)
        if stride > 1:
            conv(name + "downsample.0", outputs, inputs, 1)
            norm(name + "downsample.1", outputs)
    made["fc.weight"] = normal("fc.weight", RESNET["classes"], 512) / np.float32(512 ** 0.5)
    made["fc.bias"] = np.zeros(RESNET["classes"], np.float32)
    return made


def resnet_images(batch):
    return normal("images", batch, 3, RESNET["side"], RESNET["side"]), integers("labels", RESNET["classes"], batch)


def gpt_parameters(sizes):
    """Parameters of gpt.GPT by name."""
    d, made = sizes["d"], {}

    def linear(name, outputs, inputs, bias=True):
        made[name + ".weight"] = normal(name + ".weight", outputs, inputs) / np.float32(inputs ** 0.5)
        if bias:
            made[name + ".bias"] = normal(name + ".bias", outputs) / 8

    def norm(name):
        made[name + ".weight"] = 1 + normal(name + ".weight", d) / 8
        made[name + ".bias"] = normal(name + ".bias", d) / 8

    for name, rows in (("tok", sizes["vocab"]), ("pos", sizes["ctx"])):
        made[name + ".weight"] = normal(name, rows, d)
    for i in range(sizes["layers"]):
        block = f"blocks.{i}."
        for part, outputs, inputs in (("qkv", 3 * d, d), ("proj", d, d), ("up", 4 * d, d), ("down", d, 4 * d)):
            linear(block + part, outputs, inputs)
        norm(block + "ln1")
        norm(block + "ln2")
    norm("ln")
    linear("head", sizes["vocab"], d, bias=False)
    return made


def spread(passes, lengths):
    """p50 and p99 of the first pass, in which each length is new, and of the others; p99 of a step's time in the median
    of those whose lengths have as many bits."""
    first, later = np.array(passes[0]), np.array(passes[1:])
    bits = np.array([n.bit_length() for n in lengths])
    middle = {b: np.median(first[bits == b]) for b in set(bits)}
    of_class = first / np.array([middle[b] for b in bits])
    return {"first_p50_ms": round(np.median(first) * 1e3, 4), "first_p99_ms": round(np.quantile(first, 0.99) * 1e3, 4),
            "first_p99_of_class": round(np.quantile(of_class, 0.99), 3), "p50_ms": round(np.median(later) * 1e3, 4),
            "p99_ms": round(np.quantile(later, 0.99) * 1e3, 4)}
