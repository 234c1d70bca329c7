#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""JAX's (XLA's) figures on the added workloads, one JSON object a line, as peer_torch.py.

    peer_jax.py [--device cpu|cuda] [--only NAME,...] [--threads N] [--min-s 0.6]

Mode `jit` compiles a whole iteration with donated state; random_lengths pads each input to a power of two, for XLA
compiles every shape anew.
"""
import argparse
import functools
import json
import os
import statistics
import time

import numpy as np

import data

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--device", default="")
parser.add_argument("--only", default="")
parser.add_argument("--threads", type=int, default=0)
parser.add_argument("--min-s", type=float, default=0.6)
args = parser.parse_args()
if args.threads:  # XLA sizes its pool by the processors that it may use
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:args.threads])
import jax
import jax.numpy as jnp
from jax import lax

args.device = args.device or ("cpu" if jax.default_backend() == "cpu" else "cuda")
only = set(filter(None, args.only.split(",")))


def timed(step, *inputs):
    begin = time.perf_counter()
    jax.block_until_ready(step(*inputs))
    return time.perf_counter() - begin


def measure(step):
    for _ in range(3):
        jax.block_until_ready(step())
    times, start = [], time.perf_counter()
    while len(times) < 5 or (time.perf_counter() - start < args.min_s and len(times) < 2000):
        times.append(timed(step))
    return statistics.median(times)


def checksum(result):
    return float(f"{np.abs(np.asarray(result, np.float64)).mean():.5g}")


def run(name, make, unit, rate, dtype="f32", measured=None):
    """make() -> a function without arguments; its first result is the check's. Or measured(function) -> seconds, fields,
    where it takes some."""
    if only and name not in only:
        return
    try:
        step = make()
        if measured:
            seconds, fields = measured(step)
        else:
            fields = {"check": checksum(step())}
            seconds = measure(step)
        print(json.dumps({"peer": f"jax {jax.__version__}", "workload": name, "mode": "jit", "device": args.device,
                          "dtype": dtype, "ms": round(seconds * 1e3, 4), "unit": unit, "value": round(rate(seconds), 3),
                          **fields}), flush=True)
    except Exception as error:  # one workload failing must not hide the others
        print(json.dumps({"peer": "jax", "workload": name, "mode": "jit", "error": str(error)[:200]}), flush=True)


def inference(function, *arrays, cast=None):
    def make():
        compiled = jax.jit(function)
        inputs = [jnp.asarray(a) if cast is None else jnp.asarray(a).astype(cast) for a in arrays]
        return lambda: compiled(*inputs)
    return make


def products(count):
    def run(x, w):
        for _ in range(count):
            x = x @ w
        return x
    return run


for name, (*_, count, half) in data.PRODUCTS.items():
    unit, scale = data.product_rate(name)
    run(name, inference(products(count), *data.product(name), cast=jnp.bfloat16 if half else None), unit,
        lambda s, scale=scale: scale / s, "bf16" if half else "f32")


def convolve(x, w, stride=1, padding=0, groups=1):  # NHWC, HWIO
    return lax.conv_general_dilated(x, w, (stride, stride), [(padding, padding)] * 2, feature_group_count=groups,
                                    dimension_numbers=("NHWC", "HWIO", "NHWC"))


def channels_last(x, w):
    return x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)


def max_pool(x, size, stride, padding, dilation=1):  # NHWC
    pads = ((0, 0), (padding, padding), (padding, padding), (0, 0))
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, size, size, 1), (1, stride, stride, 1), pads,
                             window_dilation=(1, dilation, dilation, 1))


image, weight = channels_last(*data.convolution(data.DEPTHWISE, 3, data.DEPTHWISE["channels"]))
run("conv_depthwise", inference(lambda x, w: convolve(x, w, padding=1, groups=x.shape[-1]), image, weight), "GB/s",
    lambda s: 2 * image.nbytes / s / 1e9)
one = data.POINTWISE
one_flops = 2 * one["batch"] * one["channels"] * one["outputs"] * one["side"] ** 2
run("conv_1x1", inference(convolve, *channels_last(*data.convolution(one, 1))), "TFLOP/s", lambda s: one_flops / s / 1e12)

pooled = data.normal("pool", *data.POOL["shape"]).transpose(0, 2, 3, 1)
run("max_pool2d", inference(lambda x: max_pool(x, data.POOL["size"], data.POOL["stride"], data.POOL["padding"],
                                               data.POOL["dilation"]), pooled), "GB/s",
    lambda s: pooled.nbytes * 1.25 / s / 1e9)


def gru_cell(x, state, w):
    (ri, zi, ni), (rh, zh, nh) = (jnp.split(a @ w["weight_" + part].T + w["bias_" + part], 3, -1)
                                  for a, part in ((x, "ih"), (state, "hh")))
    update = jax.nn.sigmoid(zi + zh)
    return (1 - update) * jnp.tanh(ni + jax.nn.sigmoid(ri + rh) * nh) + update * state


def make_gru():
    x, state, weights = data.gru()
    weights = jax.tree.map(jnp.asarray, weights)
    compiled = jax.jit(gru_cell)
    x, state = jnp.asarray(x), jnp.asarray(state)
    return lambda: compiled(x, state, weights)


run("gru_step", make_gru, "steps/s", lambda s: 1 / s)

ids, table, rows = data.table()
run("embedding_gather", inference(lambda ids, table: table[ids], ids, table), "GB/s", lambda s: 2 * rows.nbytes / s / 1e9)
run("embedding_scatter_add", inference(lambda ids, rows: jnp.zeros(table.shape).at[ids].add(rows), ids, rows), "GB/s",
    lambda s: (rows.nbytes + table.nbytes) / s / 1e9)
summed = data.normal("cumsum", *data.CUMSUM)
run("cumsum", inference(lambda x: jnp.cumsum(x, -1), summed), "GB/s", lambda s: 2 * summed.nbytes / s / 1e9)


def stateful(update, state, *inputs):
    """A function without arguments that moves the donated state on; update(state, *inputs) -> state, result."""
    compiled, held = jax.jit(update, donate_argnums=0), [jax.tree.map(jnp.asarray, state)]
    inputs = jax.tree.map(jnp.asarray, inputs)

    def step():
        held[0], result = compiled(held[0], *inputs)
        return held[0] if result is None else (held[0], result)
    return step


def adamw(state, gradients):
    p, m, v, t = state
    rate, decay, t = data.ADAMW["rate"], data.ADAMW["decay"], t + 1
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, gradients)
    v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, gradients)
    p = jax.tree.map(lambda p, m, v: p * (1 - rate * decay)
                     - rate * (m / (1 - 0.9 ** t)) / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8), p, m, v)
    return (p, m, v, t), None


def make_adamw():
    parameters, gradients = ([data.normal(f"{kind}{i}", *shape) for i, shape in enumerate(data.ADAMW_SHAPES)]
                             for kind in ("parameter", "gradient"))
    zeros = [np.zeros_like(p) for p in parameters]
    return stateful(adamw, (parameters, zeros, zeros, np.float32(0)), gradients)


def measure_adamw(step):
    check = checksum(np.concatenate([np.asarray(p).ravel() for p in step()[0]]))
    return measure(step), {"check": check}


adamw_bytes = 4 * sum(int(np.prod(shape)) for shape in data.ADAMW_SHAPES)
run("adamw_200", make_adamw, "GB/s", lambda s: 7 * adamw_bytes / s / 1e9, measured=measure_adamw)


def resnet(p, x, training, moved):
    """Logits; in training the running statistics go to moved."""
    def norm(x, name):
        if training:
            mean, var, count = x.mean((0, 1, 2)), x.var((0, 1, 2)), x.size // x.shape[-1]
            for part, now in (("mean", mean), ("var", var * count / (count - 1))):
                moved[f"{name}.running_{part}"] = 0.9 * p[f"{name}.running_{part}"] + 0.1 * now
        else:
            mean, var = p[name + ".running_mean"], p[name + ".running_var"]
        return (x - mean) * (lax.rsqrt(var + 1e-5) * p[name + ".weight"]) + p[name + ".bias"]

    x = jax.nn.relu(norm(convolve(x, p["conv1.weight"], 2, 3), "bn1"))
    x = max_pool(x, 3, 2, 1)
    for name, _, _, stride in data.resnet_blocks():
        y = jax.nn.relu(norm(convolve(x, p[name + "conv1.weight"], stride, 1), name + "bn1"))
        y = norm(convolve(y, p[name + "conv2.weight"], 1, 1), name + "bn2")
        if stride > 1:
            x = norm(convolve(x, p[name + "downsample.0.weight"], stride), name + "downsample.1")
        x = jax.nn.relu(x + y)
    return x.mean((1, 2)) @ p["fc.weight"].T + p["fc.bias"]


def resnet_state():
    return {name: jnp.asarray(a.transpose(2, 3, 1, 0) if a.ndim == 4 else a) for name, a in data.resnet_parameters().items()}


def make_resnet_infer():
    p, x = resnet_state(), jnp.asarray(data.resnet_images(1)[0].transpose(0, 2, 3, 1))
    compiled = jax.jit(lambda p, x: resnet(p, x, False, {}))
    return lambda: compiled(p, x)


def cross_entropy(logits, y):
    return (jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, y[..., None], -1)[..., 0]).mean()


def resnet_update(state, x, y):
    p, running, kept = state

    def loss(p):
        moved = {}
        return cross_entropy(resnet({**p, **running}, x, True, moved), y), moved
    (value, moved), g = jax.value_and_grad(loss, has_aux=True)(p)
    kept = jax.tree.map(lambda m, g: data.RESNET["momentum"] * m + g, kept, g)
    return (jax.tree.map(lambda p, m: p - data.RESNET["rate"] * m, p, kept), moved, kept), value


def make_resnet_train():
    x, y = data.resnet_images(data.RESNET["batch"])
    state = resnet_state()
    running = {name: a for name, a in state.items() if ".running_" in name}
    p = {name: a for name, a in state.items() if name not in running}
    return stateful(resnet_update, (p, running, jax.tree.map(jnp.zeros_like, p)), x.transpose(0, 2, 3, 1), y)


def measure_training(step):
    check = checksum(step()[1])
    return measure(step), {"check": check}


run("resnet18_infer", make_resnet_infer, "images/s", lambda s: 1 / s)
run("resnet18_train", make_resnet_train, "images/s", lambda s: data.RESNET["batch"] / s, measured=measure_training)


def layer_norm(x, w, b):
    y = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
    return y * w + b


def gpt(p, ids):
    def linear(x, name):
        return x @ p[name + ".weight"].T + p[name + ".bias"]

    def norm(x, name):
        return layer_norm(x, p[name + ".weight"], p[name + ".bias"])

    (b, t), d, h = ids.shape, data.LENGTHS_GPT["d"], data.LENGTHS_GPT["h"]
    x = p["tok.weight"][ids] + p["pos.weight"][:t]
    for i in range(data.LENGTHS_GPT["layers"]):
        block = f"blocks.{i}."
        q, k, v = (z.reshape(b, t, h, d // h) for z in jnp.split(linear(norm(x, block + "ln1"), block + "qkv"), 3, -1))
        attended = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        x = x + linear(attended.reshape(b, t, d), block + "proj")
        raised = jax.nn.gelu(linear(norm(x, block + "ln2"), block + "up"), approximate=True)
        x = x + linear(raised, block + "down")
    return norm(x, "ln") @ p["head.weight"].T


lengths = data.lengths()


def make_lengths():
    p = {name: jnp.asarray(a) for name, a in data.gpt_parameters(data.LENGTHS_GPT).items()}
    return functools.partial(jax.jit(gpt), p)


def measure_lengths(step):
    inputs = [data.integers(f"ids{n}", data.LENGTHS_GPT["vocab"], 1, n) for n in lengths]

    def padded(ids):
        n = ids.shape[1]
        return step(np.pad(ids, ((0, 0), (0, (1 << (n - 1).bit_length()) - n))))
    check, passes, begin = checksum(padded(inputs[0])), [], time.perf_counter()
    while len(passes) < 3 or time.perf_counter() - begin < args.min_s:
        passes.append([timed(padded, x) for x in inputs])
    return float(np.median(passes[1:], 0).mean()), {**data.spread(passes, lengths), "check": check}


run("random_lengths", make_lengths, "tokens/s", lambda s: sum(lengths) / len(lengths) / s, measured=measure_lengths)
