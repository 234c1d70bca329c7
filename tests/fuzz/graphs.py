#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Differential fuzzer: random programs give the same values and gradients fused, unfused, on ref, as a registered
program (burn.jit), and by PyTorch.

    graphs.py [--count 200] [--first 0] [--torch 20] [--replay SEED]

Every program runs four times with other sizes and scalars; the later runs replay the plans of the first.
--torch N also compares N programs with PyTorch (it must be importable). --replay prints one program and its
differences. Exit status 1 when anything differed.

A difference above the tolerance is looked at once more: it counts as rounding, and is printed and counted apart, only if
no answer is further from the exact one than that moves when each value on the way is off by a few half digits. The exact one
of a float32 program is that of float64, where all must agree; of a float64 program that of ref. Whatever else differs is
a failure."""
import argparse
import collections
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tomllib
import warnings

import numpy as np

from graph_source import Program
from library import names as names_of_library

RUNS = 4
AHEAD = 6  # programs that each worker has waiting
NOISES = 12
NOISE_DIGITS = 16  # half digits: a statement is many roundings, an attention hundreds
NOISE_FACTOR = 4  # an estimate of a few samples is rough
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
        at = tuple(eval(str(n), {}, sizes) for n in shape)
        if kind == "f":
            # multiples of 1/64 away from .25 and .5: comparisons and rounding cannot go two ways
            arrays[name] = (np.round(random.uniform(-2, 2, at) * 32) * 2 + 1) / 64
        else:
            arrays[name] = random.integers(0, sizes.get(bound, bound), at)
    return sizes, scalars, arrays


def gradients(T, program, total, leaves):
    """Of the leaves, or of the squares of their gradients."""
    if total is None:
        return []
    if not program.second:
        total.backward()
        return [leaf.grad for leaf in leaves]
    first = T.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
    again = [(g * g).sum() for g in first if g is not None and g.requires_grad]
    if again:
        sum(again[1:], again[0]).backward()
    return [*first, *(leaf.grad for leaf in leaves)]


def statements(program, traced, noise):
    text = program.text("N({})" if noise else "{}")
    return "\n".join(line for line in text.splitlines() if not (traced and line.startswith("read = ")))


def evaluate(library, functional, program, run, wanted=None, traced=False):
    """Output and gradient arrays of one run, as float64 or int64. wanted: a dtype, a noise and its epsilon instead of the
    program's."""
    T, H = library, names_of_library(library)
    sizes, scalars, arrays = feeds(program, run)
    dtype, noise, epsilon = wanted or (program.dtype, 0, 0)
    code = compile(statements(program, traced, noise), f"<program {program.seed}>", "exec")
    noises = np.random.default_rng([program.seed, run, 3, noise])

    def noisy(x):
        return x * T.tensor(1 + noises.uniform(-1, 1, tuple(x.shape)) * NOISE_DIGITS * epsilon, dtype=x.dtype)

    def body(floats, integers):
        names = {"T": T, "F": functional, "H": H, "N": noisy, **sizes, **scalars, **integers}
        leaves = [x.detach().requires_grad_() for x in floats.values()]
        names.update(zip(floats, leaves))
        exec(code, names)
        weights = np.random.default_rng([program.seed, run, 2])
        outputs = [names[name] for name in program.outputs]
        total = None
        for output in outputs:
            if output.requires_grad:
                weight = T.tensor(np.round(weights.uniform(-1, 1, tuple(output.shape)) * 8) / 8, dtype=output.dtype)
                term = (output * (noisy(weight) if noise else weight)).sum()
                total = term if total is None else total + term
        return [x if x is None else x.detach() for x in [*outputs, *gradients(T, program, total, leaves)]]

    floats = {n: T.tensor(a, dtype=getattr(T, dtype)) for n, a in arrays.items() if a.dtype.kind == "f"}
    integers = {n: T.tensor(a) for n, a in arrays.items() if a.dtype.kind != "f"}
    T.manual_seed(program.seed * RUNS + run)
    if traced:
        body = T.jit(body)
        body({n: x * 0.5 for n, x in floats.items()}, integers)  # the second call is the one of a program that is there
    return [None if x is None else np.asarray(x.numpy(force=True)).astype(np.float64 if x.dtype.is_floating_point else np.int64)
            for x in body(floats, integers)]


def worker(kind):
    """Reads seeds, and what else is wanted, from stdin; writes pickled results to stdout."""
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
        for _ in range(12):  # a daemon of a busy machine may come up too late
            try:
                library.sync()
                break
            except library.Error:
                pass
    for line in sys.stdin:
        seed, wanted = json.loads(line)
        program, result = Program(seed), []
        for run in range(RUNS):
            try:
                result.append(evaluate(library, functional, program, run, wanted, kind == "program"))
            except Exception as error:
                result.append(f"{type(error).__name__}: {error}"[:600])
        pickle.dump(result, out)
        out.flush()


class Worker:
    def __init__(self, kind, environment=None):
        self.kind = kind
        self.process = subprocess.Popen([sys.executable, __file__, "--worker", kind], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env={**os.environ, **(environment or {})})

    def takes(self, program):
        if self.kind == "program":
            return program.traceable and not program.draws
        return self.kind != "torch" or not program.draws

    def ask(self, seed, wanted=None):
        self.process.stdin.write(json.dumps([seed, wanted]).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self):
        try:
            return pickle.load(self.process.stdout)
        except EOFError:
            sys.exit(f"the worker {self.kind} died")

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:  # it has given all its answers
            self.process.kill()


# ---- comparing ----

def names_of(program):
    leaves = [f"gradient of {n}" for n, _, kind, _ in program.inputs if kind == "f"]
    return program.outputs + leaves + ([f"second {n}" for n in leaves] if program.second else [])


def gap_of(x, y):
    """The largest difference of two arrays that are NaN at the same places, and their scale."""
    scale = max(float(np.nanmax(np.abs(np.where(np.isinf(x), 0, x)), initial=0.0)), 1e-2)
    with np.errstate(invalid="ignore"):
        gap = np.where(x == y, 0, np.abs(x - y))
    return float(np.nanmax(gap, initial=0.0)), scale


def difference(program, a, b, dtype):
    """(None, None), or what differs between two runs' results and, if it might be rounding, the numbers of those."""
    if isinstance(a, str) or isinstance(b, str):
        return (None if isinstance(a, str) and isinstance(b, str) else f"{a if isinstance(a, str) else b}"), None
    tolerance, rounded, texts = 2e-3 if dtype == "float32" else 1e-7, [], []
    for number, (name, x, y) in enumerate(zip(names_of(program), a, b)):
        if x is None or y is None:
            if (x is None) != (y is None) and np.any(x if y is None else y):
                return f"{name}: one has no gradient", None
            continue
        if x.shape != y.shape:
            return f"{name}: shapes {x.shape} and {y.shape}", None
        if x.size == 0:
            continue
        if not np.array_equal(np.isnan(x), np.isnan(y)) if x.dtype.kind == "f" else not np.array_equal(x, y):
            return f"{name}: NaN in different places, or integers differ", None
        worst, scale = gap_of(x, y) if x.dtype.kind == "f" else (0, 1)
        if worst > tolerance * scale:
            rounded.append(number)
            texts.append(f"{name}: differ by {worst:.3g} of {scale:.3g}")
    return (texts[0], rounded) if texts else (None, None)


def compare(program, results, dtype=None):
    """(text, run, numbers) of all differences between the first worker's results and the others'."""
    (first, reference), problems = results[0], []
    for kind, result in results[1:]:
        for run in range(RUNS):
            text, numbers = difference(program, reference[run], result[run], dtype or program.dtype)
            if text:
                problems.append((f"program {program.seed} run {run}: {first} and {kind}: {text}", run, numbers))
    for run in range(RUNS):
        if all(isinstance(result[run], str) for _, result in results):
            problems.append((f"program {program.seed} run {run}: fails everywhere: {reference[run]}", run, None))
    return problems


def ask_all(workers, program, wanted):
    for each in workers:
        each.ask(program.seed, wanted)
    return [(each.kind, each.answer()) for each in workers]


def is_noise(program, exact, results, problems, judge, epsilon):
    """Whether noise of a few epsilon moves the exact values as far as these problems go."""
    if any(numbers is None for _, _, numbers in problems):
        return False
    moved = [ask_all([judge], program, ("float64", noise, epsilon))[0][1] for noise in range(1, NOISES + 1)]
    for _, run, numbers in problems:
        for number in numbers:
            want = exact[run][number]
            spread = max(gap_of(want, each[run][number])[0] for each in moved)
            if any(gap_of(want, result[run][number])[0] > NOISE_FACTOR * spread for _, result in results):
                return False
    return True


def explained(program, results, problems, workers):
    """Whether rounding explains all these differences; nothing else is waiting at the workers."""
    judge = next(each for each in workers if each.kind == "ref")
    double = results if program.dtype == "float64" else ask_all(workers, program, ("float64", 0, 0))
    exact = dict(double)["ref"]
    left = problems if double is results else compare(program, double, "float64")
    if left and not is_noise(program, exact, double, left, judge, 2.0**-53):
        return False
    return double is results or is_noise(program, exact, results, problems, judge, 2.0**-24)


# ---- all of it ----

def required_ops():
    """The ops of proto/ops.toml that a client streams; a program of the daemon is called as such, values are freed."""
    with open(pathlib.Path(__file__).resolve().parents[2] / "proto/ops.toml", "rb") as file:
        table = tomllib.load(file)
    family = {name: table["family"].get(op.get("family"), {}) for name, op in table["op"].items()}
    return {name for name, op in table["op"].items() if "internal" not in op.get("flags", family[name].get("flags", []))}


def start(with_torch, extra=None):
    extra = extra or {}
    workers = [Worker("fused", extra), Worker("unfused", {**extra, "BURND_FUSION": "off"}),
               Worker("ref", {**extra, "BURND_DEVICE": "ref"}), Worker("program", extra)]
    return workers + ([Worker("torch")] if with_torch else [])


def plan(options, workers):
    """The programs, each with the workers that it is for."""
    every = max(options.count // options.torch, 1) if options.torch else 0
    left, due = options.torch, 0
    for number in range(options.count):
        program = Program(options.first + number)
        asked = [each for each in workers if each.kind != "torch" and each.takes(program)]
        due += bool(every) and number % every == 0
        if due and left and workers[-1].takes(program):
            asked.append(workers[-1])
            due, left = due - 1, left - 1
        yield program, asked


class Tally:
    def __init__(self):
        self.used, self.problems, self.rounded, self.failed = collections.Counter(), [], [], set()
        self.judged = self.traced = 0

    def count(self, program, asked):
        kinds = {each.kind for each in asked}
        self.judged += "torch" in kinds
        self.traced += "program" in kinds
        self.used.update(program.used | {"free", "grad"} | ({"call"} if "program" in kinds else set()))

    def add(self, program, problems, rounding=False):
        texts = [text for text, _, _ in problems]
        (self.rounded if rounding else self.problems).extend(texts)
        if not rounding:
            self.failed.add(program.seed)
        for text in texts[:3]:
            print("rounded: " * rounding + text, flush=True)


def run(options, workers):
    tally, waiting, doubtful = Tally(), collections.deque(), []

    def take():
        program, asked = waiting.popleft()
        results = [(each.kind, each.answer()) for each in asked]
        problems = compare(program, results)
        if problems and all(numbers is not None for _, _, numbers in problems):
            doubtful.append((program, asked, results, problems))
        elif problems:
            tally.add(program, problems)

    for program, asked in plan(options, workers):
        tally.count(program, asked)
        for each in asked:
            each.ask(program.seed)
        waiting.append((program, asked))
        if len(waiting) > AHEAD:
            take()
    while waiting:
        take()
    for program, asked, results, problems in doubtful:
        tally.add(program, problems, explained(program, results, problems, asked))
    return tally


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
    workers = start(options.torch > 0)
    tally = run(options, workers)
    for each in workers:
        each.close()
    counts, without = dict(tally.used), sorted(required_ops() - set(tally.used))
    rare = sorted(op for op, n in counts.items() if n < 50) if options.count >= 5000 else []
    least = min(counts, key=counts.get)
    print(f"{options.count} programs, {tally.judged} of them against PyTorch, {tally.traced} also as registered programs; "
          f"{len(counts)} ops, the rarest: {least} in {counts[least]}" + (f"; too rare: {' '.join(rare)}" if rare else "")
          + (f"; in none: {' '.join(without)}" if without and options.count >= 500 else ""))
    print(f"rounded: {len({text.split()[1] for text in tally.rounded})}")
    print(f"{options.count - len(tally.failed)} passed, {len(tally.failed)} failed")
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"programs": options.count, "first": options.first, "torch": tally.judged, "traced": tally.traced,
                       "used": dict(sorted(counts.items(), key=lambda item: item[1])), "unused": without, "rounded": tally.rounded,
                       "problems": tally.problems}, file, indent=1)
    return 1 if tally.problems or rare else 0


if __name__ == "__main__":
    sys.exit(main())
