# SPDX-License-Identifier: Apache-2.0
"""What the machine allows a workload: a plain loop in C over the same memory, or its products at the rate of
multiply-adds in registers."""
import ctypes
import pathlib

import data
import gpt
import workloads

SECONDS = 0.3  # of a probe


def streams(reads, updates, writes, count):
    return lambda probe, threads: probe.probe_streams(reads, updates, writes, count, threads, SECONDS)


def by_number(function):
    """A loop over rows of data.TABLE by its numbers."""
    def run(probe, threads):
        ids = data.table()[0]
        pointer = ids.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))
        return getattr(probe, function)(pointer, ids.size, data.TABLE["rows"], data.TABLE["width"], threads, SECONDS)
    return run


def floats(*shape, size=4):
    """Of so many elements of a size, as many floats as have their bytes."""
    count = 1
    for extent in shape:
        count *= extent
    return count * size // 4


depthwise = floats(data.DEPTHWISE["batch"], data.DEPTHWISE["channels"], data.DEPTHWISE["side"], data.DEPTHWISE["side"])
weights = floats(*data.PRODUCTS["matmul_1x4096"][1:3])
LOOPS = {
    "pointwise_chain": streams(5, 0, 1, workloads.N),
    "softmax_rows": streams(1, 0, 1, workloads.R * workloads.C),
    "residual_layer_norm": streams(2, 0, 1, workloads.R * workloads.C),
    "square_sum": streams(1, 0, 0, workloads.N),
    "matmul_1x4096": streams(1, 0, 0, weights),
    "matmul_bf16_1x4096": streams(1, 0, 0, weights // 2),
    "conv_depthwise": streams(1, 0, 1, depthwise),
    "max_pool2d": streams(4, 0, 1, floats(*data.POOL["shape"]) // 4),  # a quarter of the places has a result
    "embedding_gather": by_number("probe_gather"),
    "embedding_scatter_add": by_number("probe_scatter"),
    "cumsum": streams(1, 0, 1, floats(*data.CUMSUM)),
    "adamw_200": streams(1, 3, 0, sum(floats(*shape) for shape in data.ADAMW_SHAPES)),
}


def mlp_flops():
    return 2 * 128 * (2 * 784 * 512 + 3 * 512 * 512 + 3 * 512 * 10)  # no gradient of the input


def cnn_flops():
    convolutions = 2 * 26 * 26 * 32 * 9 + 3 * 24 * 24 * 64 * 32 * 9
    return 2 * 128 * (convolutions + 3 * 9216 * 128 + 3 * 128 * 10)


def gpt_flops(tokens, seen, products):
    """Of tokens that attend to so many on average; products: 1 forward, 3 with gradients."""
    d, layers, vocab = (gpt.SIZES[name] for name in ("d", "layers", "vocab"))
    return 2 * tokens * products * (layers * (12 * d * d + 2 * seen * d) + d * vocab)


def resnet_flops(batch, products):
    side, total = data.RESNET["side"] // 2, 0
    stem = side * side * 64 * 3 * 49
    side //= 2
    for _, inputs, outputs, stride in data.resnet_blocks():
        side //= stride
        total += side * side * outputs * (9 * inputs + 9 * outputs + (inputs if stride > 1 else 0))
    return 2 * batch * (products * (total + 512 * data.RESNET["classes"]) + min(products, 2) * stem)


FLOPS = {
    "mlp_train_step": mlp_flops(), "cnn_train_step": cnn_flops(), "gpt2_train_step": gpt_flops(4 * 128, 64.5, 3),
    "gpt2_decode": gpt_flops(1, 65, 1), "gru_step": 2 * data.GRU["batch"] * 6 * data.GRU["width"] ** 2,
    "resnet18_infer": resnet_flops(1, 1), "resnet18_train": resnet_flops(data.RESNET["batch"], 3),
}


class Roofline:
    def __init__(self, threads):
        library = pathlib.Path(__file__).resolve().parents[2] / "build/release/lib/libprobe.so"
        self.probe, self.threads = ctypes.CDLL(str(library)), threads
        for name, arguments in (
                ("fma", (ctypes.c_int, ctypes.c_double)),
                ("streams", (ctypes.c_int,) * 3 + (ctypes.c_size_t, ctypes.c_int, ctypes.c_double)),
                *((name, (ctypes.POINTER(ctypes.c_int64), *(ctypes.c_size_t,) * 3, ctypes.c_int, ctypes.c_double))
                  for name in ("gather", "scatter"))):
            function = getattr(self.probe, "probe_" + name)
            function.restype, function.argtypes = ctypes.c_double, arguments

    def limit(self, name, work):
        """{"limit", "limit_ms"} and, of multiply-adds, their rate; empty where none is known."""
        if name in LOOPS:
            return {"limit": "loop", "limit_ms": LOOPS[name](self.probe, self.threads)}
        flops = FLOPS.get(name, work.rate(1) * 1e12 if work.unit == "TFLOP/s" else 0)
        if not flops:
            return {}
        peak = self.probe.probe_fma(self.threads, SECONDS) * 1e9
        return {"limit": "fma", "limit_ms": flops / peak * 1e3, "peak_gflops": round(peak / 1e9, 1)}


def shares(before, after, seconds, device_ms, ping):
    """Fields of a line, by the better of two limits, measured before and after the workload; ping: seconds of a bare
    round trip."""
    if not before:
        return {}
    best = min(before, after, key=lambda limit: limit["limit_ms"])
    fields = {**best, "limit_ms": round(best["limit_ms"], 4), "share": round(best["limit_ms"] / seconds / 1e3, 3),
              "ping_ms": round(ping * 1e3, 4), "share_less_ping": round(best["limit_ms"] / (seconds - ping) / 1e3, 3)}
    if device_ms:
        fields["device_share"] = round(best["limit_ms"] / device_ms, 3)
    return fields
