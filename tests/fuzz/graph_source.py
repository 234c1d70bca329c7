# SPDX-License-Identifier: Apache-2.0
"""Random programs over burn or torch as Python text, from a seed.

A program is a list of statements over T, F, sizes A, B, C, scalars s0 … s3 and inputs. The same text runs with
other sizes and scalars, so that the second arrival of a program replays the first one's plan. Values are kept
within a few units; functions with jumps are applied to inputs only, so that rounding cannot flip them.
Tags of statements are names of ops in proto/ops.toml; those count on which an output depends."""
import random
import re

from graph_layers import LAYERS
from graph_steps import DRAWS, LETTERS, STEPS

NAME = re.compile(r"\b[vx]\d+\b")
OUTPUTS_MAX = 12


class Program:
    def __init__(self, seed, operations=None):
        self.random = random.Random(seed)
        self.seed = seed
        self.dtype = "float32" if self.random.random() < 0.5 else "float64"
        self.draws = self.random.random() < 0.12  # random numbers, which PyTorch draws otherwise
        self.second = not self.draws and self.random.random() < 0.12  # gradients of gradients
        self.reads = self.random.random() < 0.3  # values on the way
        self.inputs, self.lines = [], []
        self.tags, self.wanted = {}, set()  # ops by line; values that a statement reads
        self.floats = {}  # line: the float that it makes, if rounded
        self.values = {}  # name: (shape, kind, from_input)
        self.count = self.count_of_trainings = 0
        self.traceable = True  # burn.jit can: it needs no values
        for _ in range(self.random.randint(2, 4)):
            self.input(self.some_shape())
        wanted = operations or self.random.randint(5, 20 if self.second else 60)
        tries = 0
        while len(self.lines) < wanted and tries < 10 * wanted:
            tries += 1
            self.random.choice(STEPS + LAYERS + DRAWS if self.draws else STEPS + LAYERS)(self)
            if self.reads and self.random.random() < 0.05:
                self.lines.append(f"read = {self.some()}.detach().sum().item()")
        self.outputs = self.pick_outputs()
        self.used = self.live_ops()

    # ---- names and shapes ----

    def some_shape(self):
        return tuple(self.random.choice(LETTERS) for _ in range(self.random.choice((1, 2, 2, 2, 3))))

    def name(self):
        self.count += 1
        return f"v{self.count}"

    def input(self, shape, kind="f", bound=None):
        name = f"x{len(self.inputs)}"
        self.inputs.append((name, shape, kind, bound))
        self.values[name] = (shape, kind, True)
        return name

    def weight(self, shape):
        """An input that only its own statement reads."""
        name = self.input(shape)
        del self.values[name]
        return name

    def emit(self, expression, shape, kind="f", op=None, exact=False):
        name = self.name()
        if kind == "f" and not exact:
            self.floats[len(self.lines)] = name
        self.lines.append(f"{name} = {expression}")
        self.values[name] = (tuple(shape), kind, exact)
        self.wanted.update(NAME.findall(expression))
        self.tag(*(op.split() if op else ()))
        return name

    def tag(self, *ops):
        """Ops of the last statement."""
        self.tags.setdefault(len(self.lines) - 1, set()).update(ops)

    def choice(self, fits):
        """Mostly of what is new, and of that what nothing has read: then few values are computed for nothing."""
        new = [n for n in fits if n not in self.wanted and n.startswith("v")]
        if new and self.random.random() < 0.6:
            return self.random.choice(new)
        return self.random.choice(fits[-12:] if self.random.random() < 0.8 else fits)

    def some(self, kind="f", rank=None, at_least=0):
        fits = [n for n, (s, k, _) in self.values.items()
                if k == kind and (rank is None or len(s) == rank) and len(s) >= at_least]
        if not fits:
            return None
        return self.choice(fits)

    def shape(self, name):
        return self.values[name][0]

    def raw(self):
        fits = [n for n, (_, k, exact) in self.values.items() if k == "f" and exact]
        return self.random.choice(fits)

    def scalar(self):
        return f"s{self.random.randrange(4)}"

    def partner(self, shape, kind="f"):
        """A value that broadcasts against shape, without growing it."""
        fits = [n for n, (s, k, _) in self.values.items()
                if k == kind and len(s) <= len(shape) and all(a == b or a == 1 for a, b in zip(s[::-1], shape[::-1]))]
        if not fits or (kind == "f" and self.random.random() < 0.15):
            return self.input(shape[self.random.randrange(len(shape) + 1):])
        return self.choice(fits)

    def partner_raw(self, shape):
        """Likewise an input, or what is as exact."""
        fits = [n for n, (s, k, exact) in self.values.items()
                if k == "f" and exact and len(s) <= len(shape) and all(a == b or a == 1 for a, b in zip(s[::-1], shape[::-1]))]
        return self.random.choice(fits) if fits else self.input(shape)

    def pick_outputs(self):
        """All that nothing reads, and a few of the others."""
        made = [n for n, (_, k, _) in self.values.items() if k in ("f", "i", "b") and n.startswith("v")]
        ends = [n for n in made if n not in self.wanted]
        rest = [n for n in made if n in self.wanted]
        return (ends[:OUTPUTS_MAX] or made[-1:]) + self.random.sample(rest, min(len(rest), self.random.randint(0, 2)))

    def live_ops(self):
        needed, live = set(self.outputs), set()
        for number, line in reversed(list(enumerate(self.lines))):
            name = NAME.search(line)
            if name and name.group() in needed:
                needed.update(NAME.findall(line))
                live |= self.tags.get(number, set())
        return live

    def text(self, after="{}"):
        """The statements; `after` is applied to each rounded float they make."""
        return "\n".join(line if i not in self.floats or after == "{}"
                         else f"{line}\n{self.floats[i]} = {after.format(self.floats[i])}"
                         for i, line in enumerate(self.lines))
