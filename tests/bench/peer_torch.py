#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's figures on the added workloads, one JSON object a line, as burn_bench.py.

    peer_torch.py [--device cpu|cuda] [--mode eager,compile] [--only NAME,...] [--threads N] [--min-s 0.6]

Every line: {"peer", "workload", "mode", "device", "dtype", "ms", "unit", "value", "check"}; ms is the median wall time
of one iteration after warm-up, the device synchronised. check is the mean absolute value of the first result (of
training the first loss): equal to burn's, for the arrays are the same. peak_growth_mib is the growth of the peak of
resident memory since just before the first step; gpt2_train_step is here for it.
"""
import argparse
import json
import os
import statistics
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

import data
from memory import peak_kib, reset_peak

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
parser.add_argument("--mode", default="eager,compile")
parser.add_argument("--only", default="")
parser.add_argument("--threads", type=int, default=0)
parser.add_argument("--min-s", type=float, default=0.6)
args = parser.parse_args()
device = torch.device(args.device)
only = set(filter(None, args.only.split(",")))
if args.threads:
    torch.set_num_threads(args.threads)


def sync():
    if device.type == "cuda":
        torch.cuda.synchronize()


def tensor(array):
    return torch.tensor(array, device=device)


def timed(step, *inputs):
    begin = time.perf_counter()
    step(*inputs)
    sync()
    return time.perf_counter() - begin


def measure(step):
    for _ in range(3):
        step()
    sync()
    times, start = [], time.perf_counter()
    while len(times) < 5 or (time.perf_counter() - start < args.min_s and len(times) < 2000):
        times.append(timed(step))
    return statistics.median(times)


def checksum(result):
    return float(f"{result.detach().double().abs().mean().item():.5g}")


def run(name, make, unit, rate, dtype="f32", measured=None, dynamic=None):
    """make() -> a function without arguments; its first result is the check's. Or measured(function) -> seconds, fields,
    where it takes some."""
    if only and name not in only:
        return
    for mode in args.mode.split(","):
        try:
            made = make()
            step = torch.compile(made, dynamic=dynamic) if mode == "compile" else made
            before = reset_peak([os.getpid()])
            if measured:
                seconds, fields = measured(step)
            else:
                fields = {"check": checksum(step())}
                seconds = measure(step)
            fields["peak_growth_mib"] = round((peak_kib([os.getpid()]) - before) / 1024, 2)
            print(json.dumps({"peer": f"torch {torch.__version__}", "workload": name, "mode": mode, "device": args.device,
                              "dtype": dtype, "ms": round(seconds * 1e3, 4), "unit": unit, "value": round(rate(seconds), 3),
                              **fields}), flush=True)
        except Exception as error:  # one workload failing must not hide the others
            print(json.dumps({"peer": "torch", "workload": name, "mode": mode, "error": str(error)[:200]}), flush=True)


def inference(function, *arrays, cast=None):
    """make() of a function of arrays, without gradients."""
    def make():
        inputs = [tensor(a) if cast is None else tensor(a).to(cast) for a in arrays]

        def step():
            with torch.no_grad():
                return function(*inputs)
        return step
    return make


def products(count):
    def run(x, w):
        for _ in range(count):
            x = x @ w
        return x
    return run


for name, (*_, count, half) in data.PRODUCTS.items():
    unit, scale = data.product_rate(name)
    run(name, inference(products(count), *data.product(name), cast=torch.bfloat16 if half else None), unit,
        lambda s, scale=scale: scale / s, "bf16" if half else "f32")

for name, (*_, causal) in data.ATTENTIONS.items():
    run(name, inference(lambda q, k, v, causal=causal: F.scaled_dot_product_attention(q, k, v, is_causal=causal),
                        *data.attention(name), cast=torch.bfloat16), "TFLOP/s",
        lambda s, flops=data.attention_flops(name): flops / s / 1e12, "bf16")

for name, (*_, stride) in data.CONVOLUTIONS.items():
    run(name, inference(lambda x, w, stride=stride: F.conv2d(x, w, stride=stride, padding=1), *data.convolution_bf16(name),
                        cast=torch.bfloat16), "TFLOP/s",
        lambda s, flops=data.convolution_flops(name): flops / s / 1e12, "bf16")

sizes = data.DEPTHWISE
image, weight = data.convolution(sizes, 3, sizes["channels"])
run("conv_depthwise", inference(lambda x, w: F.conv2d(x, w, padding=1, groups=x.shape[1]), image, weight), "GB/s",
    lambda s: 2 * image.nbytes / s / 1e9)
one = data.POINTWISE
one_flops = 2 * one["batch"] * one["channels"] * one["outputs"] * one["side"] ** 2
run("conv_1x1", inference(F.conv2d, *data.convolution(one, 1)), "TFLOP/s", lambda s: one_flops / s / 1e12)

pooled = data.normal("pool", *data.POOL["shape"])
run("max_pool2d", inference(lambda x: F.max_pool2d(x, data.POOL["size"], data.POOL["stride"], data.POOL["padding"],
                                                   data.POOL["dilation"]), pooled), "GB/s",
    lambda s: pooled.nbytes * 1.25 / s / 1e9)


def make_gru():
    x, state, weights = data.gru()
    cell = nn.GRUCell(data.GRU["width"], data.GRU["width"], device=device)
    cell.load_state_dict({name: tensor(a) for name, a in weights.items()})
    return inference(cell, x, state)()


run("gru_step", make_gru, "steps/s", lambda s: 1 / s)

ids, table, rows = data.table()
run("embedding_gather", inference(F.embedding, ids, table), "GB/s", lambda s: 2 * rows.nbytes / s / 1e9)
run("embedding_scatter_add", inference(lambda ids, rows: torch.zeros(table.shape, device=device).index_add_(0, ids, rows),
                                       ids, rows), "GB/s", lambda s: (rows.nbytes + table.nbytes) / s / 1e9)
summed = data.normal("cumsum", *data.CUMSUM)
run("cumsum", inference(lambda x: x.cumsum(-1), summed), "GB/s", lambda s: 2 * summed.nbytes / s / 1e9)


def make_adamw():
    parameters = [nn.Parameter(tensor(data.normal(f"parameter{i}", *shape))) for i, shape in enumerate(data.ADAMW_SHAPES)]
    for i, parameter in enumerate(parameters):
        parameter.grad = tensor(data.normal(f"gradient{i}", *parameter.shape))
    optimizer = torch.optim.AdamW(parameters, data.ADAMW["rate"], weight_decay=data.ADAMW["decay"], fused=True)

    def step():
        optimizer.step()
        return parameters
    return step


def measure_adamw(step):
    check = checksum(torch.cat([p.flatten() for p in step()]))
    return measure(step), {"check": check}


adamw_bytes = 4 * sum(int(np.prod(shape)) for shape in data.ADAMW_SHAPES)
run("adamw_200", make_adamw, "GB/s", lambda s: 7 * adamw_bytes / s / 1e9, measured=measure_adamw)


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs)
        self.conv2, self.bn2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs)
        self.downsample = None
        if stride > 1:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        kept = x if self.downsample is None else self.downsample(x)
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + kept)


class ResNet18(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        blocks = [Block(inputs, outputs, stride) for _, inputs, outputs, stride in data.resnet_blocks()]
        for layer in range(4):
            setattr(self, f"layer{layer + 1}", nn.Sequential(*blocks[2 * layer:2 * layer + 2]))
        self.fc = nn.Linear(512, data.RESNET["classes"])
        wanted = {name: torch.tensor(a) for name, a in data.resnet_parameters().items()}
        self.load_state_dict({**self.state_dict(), **wanted})

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


def make_resnet_infer():
    return inference(ResNet18().to(device).eval(), data.resnet_images(1)[0])()


def make_resnet_train():
    model = ResNet18().to(device)
    optimizer = torch.optim.SGD(model.parameters(), data.RESNET["rate"], momentum=data.RESNET["momentum"])
    x, y = map(tensor, data.resnet_images(data.RESNET["batch"]))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss
    return step


run("resnet18_infer", make_resnet_infer, "images/s", lambda s: 1 / s)
run("resnet18_train", make_resnet_train, "images/s", lambda s: data.RESNET["batch"] / s)


class Layer(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h, self.ln1, self.ln2 = h, nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.h, d // self.h).transpose(1, 2) for z in self.qkv(self.ln1(x)).chunk(3, -1))
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.ln2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, vocab, d, h, layers, ctx):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.blocks = nn.ModuleList(Layer(d, h) for _ in range(layers))
        self.ln, self.head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln(x))


def make_gpt2_train():
    model = GPT(**data.GPT2).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4)
    ids = tensor(data.integers("gpt2.ids", data.GPT2["vocab"], 4, 129))

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        return loss
    return step


if device.type == "cpu":
    run("gpt2_train_step", make_gpt2_train, "tokens/s", lambda s: 512 / s)

lengths = data.lengths()


def make_lengths():
    model = GPT(**data.LENGTHS_GPT).to(device).eval()
    model.load_state_dict({name: tensor(a) for name, a in data.gpt_parameters(data.LENGTHS_GPT).items()})

    def step(ids):
        with torch.no_grad():
            return model(ids)
    return step


def measure_lengths(step):
    inputs = [tensor(data.integers(f"ids{n}", data.LENGTHS_GPT["vocab"], 1, n)) for n in lengths]
    check, passes, begin = checksum(step(inputs[0])), [], time.perf_counter()
    while len(passes) < 3 or time.perf_counter() - begin < args.min_s:
        passes.append([timed(step, x) for x in inputs])
    return float(np.median(passes[1:], 0).mean()), {**data.spread(passes, lengths), "check": check}


run("random_lengths", make_lengths, "tokens/s", lambda s: sum(lengths) / len(lengths) / s, measured=measure_lengths,
    dynamic=True)
