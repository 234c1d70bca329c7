#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a busy neighbour costs: steps a second of burn and of PyTorch, alone and beside processes that compute without a
pause.

    neighbour.py [--only NAME,...] [--busy N] [--rounds N] [--seconds S]

One JSON object a line: {"workload", "peer", "alone", "busy", "kept"}: steps a second, and the share of them that is left,
each the median of the rounds, in which both libraries take turns. All steps of a time count, not the median one: a
library that computes in its caller's thread runs many steps undisturbed, and then waits long. N: as many as there are
processors.
"""
import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--only", default="softmax_rows,matmul_1024,mlp_train_step,dispatch_1000_adds")
parser.add_argument("--busy", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("--rounds", type=int, default=3)
parser.add_argument("--seconds", type=float, default=1.0)
parser.add_argument("--measure", choices=("burn", "torch"), help=argparse.SUPPRESS)
args = parser.parse_args()


def step_of(name, library):
    """The same code for both, whose names are PyTorch's."""
    def part(of):
        return importlib.import_module(f"{library.__name__}.{of}")
    if name == "softmax_rows":
        x = library.randn(2048, 2048)
        return lambda: library.softmax(x, -1)
    if name == "matmul_1024":
        a, b = library.randn(1024, 1024), library.randn(1024, 1024)
        return lambda: a @ b
    if name == "dispatch_1000_adds":
        x = library.randn(16)

        def adds():
            y = x
            for _ in range(1000):
                y = y + x
            return y
        return adds
    if name != "mlp_train_step":
        sys.exit(f"neighbour.py: no workload is called {name}")
    nn, F = part("nn"), part("nn.functional")
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = part("optim").Adam(model.parameters(), 1e-6)  # a loss that vanished would compute with subnormals
    x, y = library.randn(128, 784), library.arange(128) % 10

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss
    return step


def rate(step, sync):
    """Steps a second; each is done before the next one begins."""
    for _ in range(5):
        step()
        sync()
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < args.seconds:
        result = step()
        sync()
        del result
        count += 1
    return count / (time.perf_counter() - begin)


def measure():
    library = importlib.import_module(args.measure)
    sync = getattr(library, "sync", lambda: None)  # PyTorch's steps are done when they return
    print(json.dumps({name: rate(step_of(name, library), sync) for name in args.only.split(",")}))


def rates(library):
    command = [sys.executable, *sys.argv, "--measure", library]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def beside(library):
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.busy)]
    try:
        return rates(library)
    finally:
        for process in busy:
            process.kill()
            process.wait()


def main():
    found = {(library, way): [] for library in ("burn", "torch") for way in (rates, beside)}
    for _ in range(args.rounds):
        for (library, way), rounds in found.items():
            rounds.append(way(library))
    for name in args.only.split(","):
        for library in ("burn", "torch"):
            pairs = [(a[name], b[name]) for a, b in zip(found[library, rates], found[library, beside])]
            alone, busy = (statistics.median(values) for values in zip(*pairs))
            print(json.dumps({"workload": name, "peer": library, "alone": round(alone, 1), "busy": round(busy, 1),
                              "kept": round(statistics.median(b / a for a, b in pairs), 3)}), flush=True)


if args.measure:
    measure()
else:
    main()
