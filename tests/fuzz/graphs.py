#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Differential fuzzer: random programs give the same values and gradients fused, unfused, on ref, and by PyTorch.

    graphs.py [--count 200] [--first 0] [--torch 20] [--replay SEED]

Every program runs four times with other sizes and scalars; the later runs replay the plans of the first.
--torch N also compares every (count / N)th program with PyTorch (it must be importable). --replay prints one
program and its differences. Exit status 1 when anything differed."""
import argparse
import collections
import json
import os
import pickle
import subprocess
import sys
import warnings

import numpy as np

from graph_source import Program

RUNS = 4
warnings.simplefilter("ignore")


def sizes_of(seed, run):
    random = np.random.default_rng([seed, run])
    return {letter: int(random.choice([2, 3, 4, 5, 7, 8, 11, 16, 17, 19, 33])) for letter in "ABC"}


def feeds(program, run):
    """Sizes, scalars and input arrays of one run."""
    random = np.random.default_rng([program.seed, run, 1])
    sizes = sizes_of(program.seed, run)
    scalars = {f"s{i}": round(float(random.uniform(-1.5, 1.5)), 3) for i in range(4)}
    scalars["k0"] = int(random.integers(0, 2))
    arrays = {}
    for name, shape, kind, bound in program.inputs:
        at = tuple(sizes.get(n, n) for n in shape)
        if kind == "f":
            # multiples of 1/64 away from .25 and .5: comparisons and rounding cannot go two ways
            arrays[name] = (np.round(random.uniform(-2, 2, at) * 32) * 2 + 1) / 64
        else:
            arrays[name] = random.integers(0, sizes.get(bound, bound), at)
    return sizes, scalars, arrays


def evaluate(library, functional, program, run):
    """Output and gradient arrays of one run, as float64 or int64."""
    T = library
    sizes, scalars, arrays = feeds(program, run)
    dtype = getattr(T, program.dtype)
    names = {"T": T, "F": functional, **sizes, **scalars}
    leaves = []
    for name, array in arrays.items():
        if array.dtype.kind == "f":
            names[name] = T.tensor(array, dtype=dtype, requires_grad=True)
            leaves.append(names[name])
        else:
            names[name] = T.tensor(array)
    exec(compile(program.text(), f"<program {program.seed}>", "exec"), names)
    outputs = [names[name] for name in program.outputs]
    weights = np.random.default_rng([program.seed, run, 2])
    total = None
    for output in outputs:
        if output.requires_grad:
            weight = T.tensor(np.round(weights.uniform(-1, 1, tuple(output.shape)) * 8) / 8, dtype=output.dtype)
            term = (output * weight).sum()
            total = term if total is None else total + term
    found = []
    if total is not None:
        total.backward()
        found = [leaf.grad for leaf in leaves]
    return [None if x is None else np.asarray(x.detach().numpy()).astype(np.int64 if x.dtype.is_floating_point is False
            else np.float64) for x in [*outputs, *found]]


def worker(kind):
    """Reads seeds from stdin, writes pickled results to stdout."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if kind == "torch":
        import torch as library
        import torch.nn.functional as functional
        library.set_num_threads(1)
    else:
        import burn as library
        import burn.nn.functional as functional
        if kind == "ref":
            library.set_default_device("ref")
    for line in sys.stdin:
        program = Program(int(line))
        result = []
        for run in range(RUNS):
            try:
                result.append(evaluate(library, functional, program, run))
            except Exception as error:
                result.append(f"{type(error).__name__}: {error}"[:600])
        pickle.dump(result, out)
        out.flush()


class Worker:
    def __init__(self, kind, environment=None):
        self.kind = kind
        self.process = subprocess.Popen([sys.executable, __file__, "--worker", kind], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env={**os.environ, **(environment or {})})

    def ask(self, seed):
        self.process.stdin.write(f"{seed}\n".encode())
        self.process.stdin.flush()

    def answer(self):
        try:
            return pickle.load(self.process.stdout)
        except EOFError:
            sys.exit(f"the worker {self.kind} died")

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


def difference(program, a, b):
    """None, or what differs between two runs' results."""
    if isinstance(a, str) or isinstance(b, str):
        return None if isinstance(a, str) and isinstance(b, str) else f"{a if isinstance(a, str) else b}"
    names = program.outputs + [f"gradient of {n}" for n, _, kind, _ in program.inputs if kind == "f"]
    tolerance = 2e-3 if program.dtype == "float32" else 1e-7
    for name, x, y in zip(names, a, b):
        if x is None or y is None:
            if (x is None) != (y is None) and np.any(x if y is None else y):
                return f"{name}: one has no gradient"
            continue
        if x.shape != y.shape:
            return f"{name}: shapes {x.shape} and {y.shape}"
        if x.size == 0:
            continue
        if not np.array_equal(np.isnan(x), np.isnan(y)) if x.dtype.kind == "f" else not np.array_equal(x, y):
            return f"{name}: NaN in different places, or integers differ"
        if x.dtype.kind == "f":
            scale = max(float(np.nanmax(np.abs(np.where(np.isinf(x), 0, x)), initial=0.0)), 1e-2)
            with np.errstate(invalid="ignore"):
                gap = np.where(x == y, 0, np.abs(x - y))
            worst = float(np.nanmax(gap, initial=0.0))
            if worst > tolerance * scale:
                return f"{name}: differ by {worst:.3g} of {scale:.3g}"
    return None


def compare(program, results):
    """Texts of all differences between the first worker's results and the others'."""
    (first, reference), problems = results[0], []
    for kind, result in results[1:]:
        for run in range(RUNS):
            text = difference(program, reference[run], result[run])
            if text:
                problems.append(f"program {program.seed} run {run}: {first} and {kind}: {text}")
    for run in range(RUNS):
        if all(isinstance(result[run], str) for _, result in results):
            problems.append(f"program {program.seed} run {run}: fails everywhere: {reference[run]}")
    return problems


def start(with_torch, extra=None):
    workers = [Worker("fused", extra), Worker("unfused", {**(extra or {}), "BURND_FUSION": "off"}), Worker("ref", {**(extra or {}), "BURND_DEVICE": "ref"})]
    return workers, Worker("torch") if with_torch else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--torch", type=int, default=0, metavar="N")
    parser.add_argument("--replay", type=int)
    parser.add_argument("--worker")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    if options.worker:
        return worker(options.worker)
    if options.replay is not None:
        program = Program(options.replay)
        print(f"# {program.dtype}, inputs {program.inputs}\n{program.text()}\n# outputs {program.outputs}")
        options.first, options.count = options.replay, 1
    workers, judge = start(options.torch > 0)
    every = max(options.count // options.torch, 1) if options.torch else 0
    problems, used, judged = [], collections.Counter(), 0
    for number in range(options.count):
        seed = options.first + number
        program = Program(seed)
        used.update(program.used)
        asked = workers + ([judge] if judge and number % every == 0 else [])
        for each in asked:
            each.ask(seed)
        found = compare(program, [(each.kind, each.answer()) for each in asked])
        judged += len(asked) > 3
        problems += found
        for text in found[:3]:
            print(text, flush=True)
    for each in workers + ([judge] if judge else []):
        each.close()
    rare = [op for op, n in used.items() if n < 50]
    print(f"{options.count} programs, {judged} of them against PyTorch, {len(used)} kinds of op"
          + (f", rare: {' '.join(sorted(rare))}" if options.count >= 5000 and rare else ""))
    bad = len({text.split()[1] for text in problems})
    print(f"{options.count - bad} passed, {bad} failed")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"used": used, "problems": problems}, file, indent=1)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
