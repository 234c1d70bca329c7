#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes client/js/tests/golden.json: cases of ops.txt as the op records that the Python client sends for them, with
inputs and PyTorch's recorded answers, so that a client that knows ops by their own names only is judged by these too.

Needs a release build with its daemon; standard library and NumPy."""
import json
import os
import pathlib
import socket
import struct
import sys
import threading

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "parity"), str(HERE.parent / "integration"), str(ROOT / "proto" / "gen")]
import ops_model  # noqa: E402
import parity  # noqa: E402
import wire  # noqa: E402

OPS = {op.number: op for op in ops_model.load(ROOT / "proto/ops.toml")}
FREE, MARK, CONSTANT = 1, 2, 5
ELEMENTS_MAX = 400


class Recorder:
    """Stands between this process's client and a daemon and keeps what the client says."""

    def __init__(self, path, daemon_path):
        self.sent = bytearray()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen(1)
        threading.Thread(target=self.run, args=(listener, daemon_path), daemon=True).start()

    def run(self, listener, daemon_path):
        client, _ = listener.accept()
        daemon = socket.socket(socket.AF_UNIX)
        daemon.connect(daemon_path)
        threading.Thread(target=self.pump, args=(daemon, client, None), daemon=True).start()
        self.pump(client, daemon, self.sent)

    @staticmethod
    def pump(source, target, keep):
        try:
            while data := source.recv(1 << 16):
                if keep is not None:
                    keep.extend(data)
                target.sendall(data)
        except OSError:  # the client is through
            pass


def unpack(data, at):
    """One value of the subset, byte strings too."""
    head = data[at]
    if 0xC4 <= head <= 0xC6:
        width = 1 << (head - 0xC4)
        size = int.from_bytes(data[at + 1:at + 1 + width], "big")
        at += 1 + width
        return bytes(data[at:at + size]), at + size
    if 0x90 <= head < 0xA0 or head == 0xDC:
        count, at = (head & 15, at + 1) if head != 0xDC else (struct.unpack(">H", data[at + 1:at + 3])[0], at + 3)
        items = []
        for _ in range(count):
            item, at = unpack(data, at)
            items.append(item)
        return items, at
    return wire.unpack(data, at)


def frames(data):
    at = 0
    while at < len(data):
        size, kind, flags, _, _, payload, _, _ = struct.unpack("<IHHIIQII", data[at:at + 32])
        fields, _ = unpack(data, at + 32)
        at += 32 + size
        at += -(32 + size) % 64 if flags & 2 else 0
        yield wire.NAMES[kind], fields, data[at:at + payload]
        at += payload


def operand(value, first, places):
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return {"f": number(value)}
    if isinstance(value, list):
        return {"i": value[0]}
    return {"t": places[first - value]}


def number(value):
    value = float(value)
    return value if np.isfinite(value) else str(value)


def program(data):
    """Constants, calls of ops and the tensors that were read, all by their place among what was made."""
    made, calls, reads, places = 0, [], [], {}
    for name, fields, payload in frames(data):
        if name == "GET":
            reads.append(places[fields[1]])
        if name != "OPS":
            continue
        at, first = 0, fields[0]
        while at < len(payload):
            record, at = unpack(payload, at)
            op = record[0] // 2
            if op in (FREE, MARK):
                continue
            if op == CONSTANT:
                dtype, shape, raw = record[1:]
                calls.append({"constant": [dtype, shape, raw.hex()]})
                places[first], made, first = made, made + 1, first + 1
                continue
            row, inputs = OPS[op], []
            attrs = record[1 + len(row.inputs):]
            for one, value in zip(row.inputs, record[1:]):
                if one.variadic:
                    inputs.append([operand(item, first, places) for item in value])
                else:
                    inputs.append(operand(value, first, places))
            outputs = len(attrs[0]) if row.outputs == "split" else row.outputs
            if row.outputs_if and inputs[[one.name for one in row.inputs].index(row.outputs_if)] is not None:
                outputs += 1
            calls.append({"op": row.name, "inputs": inputs, "attrs": attrs, "outputs": outputs})
            for _ in range(outputs):
                places[first], made, first = made, made + 1, first + 1
    return calls, reads


def values(array):
    if array.dtype.kind == "f":
        return [number(value) for value in array.reshape(-1)]
    return [int(value) for value in array.reshape(-1)]


def array_of(leaf):
    return {"dtype": leaf.dtype, "shape": list(leaf.value.shape), "data": values(np.asarray(leaf.value))}


def chosen(cases):
    """One case a row and kind of dtype: small, and of odd sizes where there is a choice."""
    best = {}
    for case in cases:
        row, dtype, size = (case.name.rsplit(".", 2) + ["", ""])[:3]
        kind = "f" if dtype in ("f32", "f64") else dtype
        rank = (dtype != "f32", {"3x5": 0, "2x3x4": 1, "7": 2}.get(size, 3), size.startswith("0") or size == "scalar")
        if (row, kind) not in best or rank < best[row, kind][0]:
            best[row, kind] = rank, case
    # without gradients the client sends no detach, so its effect on them would be missing
    return [case for (row, _), (_, case) in best.items() if row != "detach_clone"]


def outputs_of(lib, value):
    if lib.is_tensor(value):
        return [value]
    return [item for part in value for item in outputs_of(lib, part)] if isinstance(value, (tuple, list)) else []


def describe(lib, burn, recorder, case, golden):
    names = dict(lib.names)
    leaves = [spec.split(":")[0] for spec in case.inputs.split()]
    burn.sync()
    begin = len(recorder.sent)
    with burn.no_grad():
        for spec in case.inputs.split():
            name, dtype, array = parity.make_input(case, spec)
            names[name] = lib.tensor(array, dtype)
        outputs = outputs_of(lib, lib.run(case.first, names))
        for output in outputs:
            output.numpy()
    try:
        calls, reads = program(bytes(recorder.sent[begin:]))
    except KeyError:  # an input too large for a record
        return None
    labels = [label for label, leaf in golden.items() if leaf.kind == "tensor" and label.startswith("output")]
    if len(labels) != len(reads) or any(np.asarray(golden[label].value).size > ELEMENTS_MAX for label in labels):
        return None
    weights = [(parity.rng(case, f"weights{i}.0").randint(-12, 13, size=np.asarray(golden[label].value).shape) / 8).reshape(-1).tolist()
               for i, label in enumerate(label for label in labels if golden[label].grad)]
    gradients = {str(place): array_of(golden[f"gradient of {name}"]) for place, name in enumerate(leaves)
                 if f"gradient of {name}" in golden and golden[f"gradient of {name}"].kind == "tensor"}
    rtol, atol = parity.TOLERANCE.get(golden[labels[0]].dtype, (0, 0)) if labels else (0, 0)
    return {"name": case.name, "calls": calls, "reads": reads, "answers": [array_of(golden[label]) for label in labels],
            "differentiable": [bool(golden[label].grad) for label in labels], "weights": weights, "gradients": gradients,
            "rtol": float(case.flags.get("rtol", rtol)), "atol": float(case.flags.get("atol", atol))}


def main():
    with wire.Daemon("--device=cpu") as daemon:
        path = daemon.folder.name + "/recorder.sock"
        recorder = Recorder(path, daemon.path)
        os.environ["BURN_URL"] = "unix://" + path
        import burn
        lib = parity.Library("burn")
        golden, _ = parity.read_golden(HERE / "cases")
        cases = parity.read_cases([HERE / "cases"])
        found = []
        for case in chosen(cases):
            text = describe(lib, burn, recorder, case, golden[case.name])
            if text:
                found.append(text)
        (ROOT / "client/js/tests/golden.json").write_text("[\n" + ",\n".join(json.dumps(item, separators=(",", ":")) for item in found) + "\n]\n")
        used = {call["op"] for item in found for call in item["calls"] if "op" in call}
        print(f"{len(found)} cases; not in any: {sorted(op.name for op in OPS.values() if op.public and op.name not in used)}")
        burn.disconnect()


if __name__ == "__main__":
    main()
