# SPDX-License-Identifier: Apache-2.0
"""Random programs over burn or torch as Python text, from a seed.

A program is a list of statements over T, F, sizes A, B, C, scalars s0 … s3 and inputs. The same text runs with
other sizes and scalars, so that the second arrival of a program replays the first one's plan. Values are kept
within a few units; functions with jumps are applied to inputs only, so that rounding cannot flip them."""
import random

LETTERS = "ABC"
UNARY = ("exp sin cos tanh sigmoid erf erfc expm1 atan asinh square neg abs").split()
POSITIVE_UNARY = "log sqrt rsqrt log2 log10 reciprocal lgamma log1p exp2".split()
INSIDE_UNARY = "asin acos atanh tan sinh cosh".split()
JUMPING = "floor ceil trunc round sign".split()
ACTIVATIONS = ("F.relu({x})", "F.gelu({x})", "F.gelu({x}, approximate='tanh')", "F.silu({x})", "F.leaky_relu({x}, 0.2)",
               "F.elu({x}, 0.8)", "F.softplus({x}, 1.3, 4.0)", "F.hardtanh({x}, -0.6, 0.9)", "F.logsigmoid({x})",
               "F.mish({x})", "F.softsign({x})", "F.hardsigmoid({x})", "F.hardswish({x})")


class Program:
    def __init__(self, seed, operations=None):
        self.random = random.Random(seed)
        self.seed = seed
        self.dtype = "float32" if self.random.random() < 0.5 else "float64"
        self.inputs, self.lines, self.used = [], [], set()
        self.values = {}  # name: (shape, kind, from_input)
        self.count = 0
        for _ in range(self.random.randint(2, 4)):
            self.input(self.some_shape())
        wanted = operations or self.random.randint(5, 60)
        tries = 0
        while len(self.lines) < wanted and tries < 10 * wanted:
            tries += 1
            self.random.choice(STEPS)(self)
        self.outputs = self.pick_outputs()

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

    def emit(self, expression, shape, kind="f", op=None, exact=False):
        name = self.name()
        self.lines.append(f"{name} = {expression}")
        self.values[name] = (tuple(shape), kind, exact)
        if op:
            self.used.add(op)
        return name

    def some(self, kind="f", rank=None, at_least=0):
        fits = [n for n, (s, k, _) in self.values.items()
                if k == kind and (rank is None or len(s) == rank) and len(s) >= at_least]
        if not fits:
            return None
        return self.random.choice(fits[-12:] if self.random.random() < 0.8 else fits)

    def shape(self, name):
        return self.values[name][0]

    def raw(self):
        fits = [n for n, (_, k, exact) in self.values.items() if k == "f" and exact]
        return self.random.choice(fits)

    def scalar(self):
        return f"s{self.random.randrange(4)}"

    def partner(self, shape):
        """A float value that broadcasts against shape, without growing it."""
        fits = [n for n, (s, k, _) in self.values.items()
                if k == "f" and len(s) <= len(shape) and all(a == b or a == 1 for a, b in zip(s[::-1], shape[::-1]))]
        if not fits or self.random.random() < 0.15:
            return self.input(shape[self.random.randrange(len(shape) + 1):])
        return self.random.choice(fits[-15:])

    def pick_outputs(self):
        floats = [n for n, (_, k, _) in self.values.items() if k == "f" and not n.startswith("x")]
        others = [n for n, (_, k, _) in self.values.items() if k != "f" and not n.startswith("x")]
        chosen = floats[-1:] + self.random.sample(floats[:-1], min(len(floats[:-1]), self.random.randint(0, 3)))
        return chosen + self.random.sample(others, min(len(others), self.random.randint(0, 2)))

    def text(self):
        return "\n".join(self.lines)


def size_text(shape):
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


# ---- steps: each may add a statement ----

def unary(p):
    x = p.some()
    op = p.random.choice(UNARY)
    inner = f"T.tanh({x})" if op in ("exp", "expm1", "square") else x
    p.emit(f"T.{op}({inner})", p.shape(x), op=op)


def positive_unary(p):
    x, op = p.some(), p.random.choice(POSITIVE_UNARY)
    p.emit(f"T.{op}(T.sigmoid({x}) + 0.25)", p.shape(x), op=op)


def inside_unary(p):
    x, op = p.some(), p.random.choice(INSIDE_UNARY)
    p.emit(f"T.{op}(T.tanh({x}) * 0.9)", p.shape(x), op=op)


def jumping(p):
    x, op = p.raw(), p.random.choice(JUMPING)
    p.emit(f"T.{op}({x} * 3)", p.shape(x), op=op)


def activation(p):
    x, text = p.some(), p.random.choice(ACTIVATIONS)
    p.emit(text.format(x=x), p.shape(x), op=text[2:text.index("(")])


def binary(p):
    x = p.some()
    y = p.partner(p.shape(x))
    op, text = p.random.choice((
        ("add", "{x} + {y}"), ("sub", "{x} - {y}"), ("mul", "T.tanh({x}) * {y}"), ("div", "{x} / ({y}.abs() + 0.5)"),
        ("maximum", "T.maximum({x}, {y})"), ("minimum", "T.minimum({x}, {y})"), ("fmax", "T.fmax({x}, {y})"),
        ("fmin", "T.fmin({x}, {y})"), ("atan2", "T.atan2({x}, {y}.abs() + 0.5)"),
        ("hypot", "T.hypot({x}, {y} * {y} + 0.5)"), ("pow", "T.pow({x}.sigmoid() + 0.5, {y}.tanh())"),
        ("logaddexp", "T.logaddexp({x}, {y})"), ("lerp", "T.lerp({x}, {y}.expand_as({x}), 0.3)"),
        ("addcmul", "T.addcmul({x}, {y}.tanh(), {y}, value=0.5)"),
        ("addcdiv", "T.addcdiv({x}, {y}, {y} * {y} + 1, value=0.5)")))
    p.emit(text.format(x=x, y=y), p.shape(x), op=op)


def with_scalar(p):
    x, s = p.some(), p.scalar()
    op, text = p.random.choice((("add", "{x} + {s}"), ("mul", "{x} * {s}"), ("sub", "{s} - {x}"), ("div", "{x} / ({s} + 3)"),
                                ("clamp", "{x}.clamp(-{s} - 2, {s} + 2)"), ("pow", "({x}.abs() + 0.5) ** ({s} / 2)")))
    p.emit(text.format(x=x, s=s), p.shape(x), op=op)


def comparison(p):
    x = p.raw()
    op = p.random.choice(("gt", "lt", "ge", "le", "eq", "ne"))
    p.emit(f"T.{op}({x}, 0.25)", p.shape(x), "b", op=op)


def logic(p):
    b = p.some("b")
    if b:
        op = p.random.choice(("logical_and", "logical_or", "logical_xor", "logical_not", "any", "all", "masked_fill", "bool_sum"))
        if op == "logical_not":
            p.emit(f"T.logical_not({b})", p.shape(b), "b", op=op)
        elif op in ("any", "all"):
            p.emit(f"{b}.{op}(-1)" if p.shape(b) else f"{b}.{op}()", p.shape(b)[:-1], "b", op=op)
        elif op == "bool_sum":
            p.emit(f"{b}.sum()", (), "i", op="sum")
        elif op == "masked_fill":
            same = [n for n, (s, k, _) in p.values.items() if k == "f" and s == p.shape(b)]
            if same:
                x = p.random.choice(same)
                p.emit(f"{x}.masked_fill({b}, 0.5)", p.shape(x), op=op)
        else:
            p.emit(f"T.{op}({b}, ~{b} if {p.random.random() < 0.5} else {b})", p.shape(b), "b", op=op)


def where(p):
    b = p.some("b")
    if b:
        x, y = p.partner(p.shape(b)), p.partner(p.shape(b))
        p.emit(f"T.where({b}, {x}, {y})", p.shape(b), op="where")


def integers(p):
    i = p.some("i")
    if not i:
        i = p.input(p.some_shape(), "i", 7)
    op, text = p.random.choice((
        ("add", "{i} + 3"), ("mul", "{i} * {i}"), ("remainder", "{i} % 5"), ("floor_divide", "{i} // 3"),
        ("bitwise_and", "{i} & 6"), ("bitwise_or", "{i} | 8"), ("bitwise_xor", "{i} ^ 5"), ("bitwise_not", "~{i}"),
        ("bitwise_left_shift", "({i} & 15) << 2"), ("bitwise_right_shift", "{i} >> 1"), ("neg", "-{i}"),
        ("abs", "{i}.abs()"), ("fmod", "T.fmod({i}, 4)"), ("maximum", "T.maximum({i}, {i} // 2)"), ("sum", "{i}.sum(-1)"),
        ("cast", "{i}.to(T.int32)"), ("cumulate", "({i} % 7).to(T.int64)")))
    shape = p.shape(i)
    if op == "sum":
        if not shape:
            return
        shape = shape[:-1]
    p.emit(text.format(i=i) if op != "mul" else f"({i} % 100) * ({i} % 100)", shape, "i", op=op)


def to_float(p):
    source = p.some(p.random.choice("ib"))
    if source:
        p.emit(f"({source} % 50).to(x0.dtype) / 50" if p.values[source][1] == "i" else f"{source}.to(x0.dtype)",
               p.shape(source), op="cast", exact=True)


def reduction(p):
    x = p.some(at_least=1)
    if not x:
        return
    shape = p.shape(x)
    axis = p.random.randrange(len(shape))
    keep = p.random.random() < 0.5
    rest = shape[:axis] + ((1,) if keep else ()) + shape[axis + 1:]
    op = p.random.choice(("sum", "mean", "amax", "amin", "var", "std", "logsumexp", "prod", "norm"))
    k = f"keepdim={keep}"
    text = {"sum": f"{x}.sum({axis}, {k}) / 4", "mean": f"{x}.mean({axis}, {k})", "amax": f"T.amax({x}, {axis}, {k})",
            "amin": f"T.amin({x}, {axis}, {k})", "var": f"{x}.var({axis}, correction=0, {k})",
            "std": f"({x}.var({axis}, correction=0, {k}) + 1).sqrt()",
            "logsumexp": f"{x}.logsumexp({axis}, {k})", "prod": f"(1 + 0.1 * {x}.tanh()).prod({axis}, {k})",
            "norm": f"({x} * {x}).sum({axis}, {k}).add(0.1).sqrt()"}[op]
    p.emit(text, rest, op=op)


def full_reduction(p):
    x = p.some()
    p.emit(f"{x}.mean()" if p.random.random() < 0.6 else f"{x}.tanh().sum() / 9", (), op="sum")


def arg_reduction(p):
    x = p.raw()
    if p.shape(x):
        op = p.random.choice(("argmax", "argmin"))
        p.emit(f"{x}.{op}(-1)", p.shape(x)[:-1], "i", op=op)


def max_pair(p):
    x = p.raw()
    if p.shape(x):
        op = p.random.choice(("max", "min"))
        p.emit(f"{x}.{op}(-1)[0]", p.shape(x)[:-1], op=op + "_dim")


def normalising(p):
    x = p.some(at_least=1)
    if not x:
        return
    shape = p.shape(x)
    op = p.random.choice(("softmax", "log_softmax", "layer_norm", "rms_norm"))
    if op == "layer_norm":
        w, b = p.partner(shape[-1:]), p.partner(shape[-1:])
        if p.shape(w) != shape[-1:] or p.shape(b) != shape[-1:]:
            w = b = "None"
        p.emit(f"F.layer_norm({x} + {x}.tanh(), ({shape[-1]},), {w}, {b}, 0.1)", shape, op=op)
    elif op == "rms_norm":
        p.emit(f"F.rms_norm({x}, ({shape[-1]},), None, 0.1)", shape, op=op)
    else:
        p.emit(f"{x}.{op}({p.random.randrange(len(shape))})", shape, op=op)


def product(p):
    x = p.some(rank=2) or p.some(rank=3)
    if not x:
        return
    shape = p.shape(x)
    if 1 in shape:
        return
    inner = shape[-1]
    others = [n for n, (s, k, _) in p.values.items() if k == "f" and len(s) == 2 and s[0] == inner and 1 not in s]
    y = p.random.choice(others) if others and p.random.random() < 0.7 else p.input((inner, p.random.choice(LETTERS)))
    if p.random.random() < 0.4:
        w = p.input((p.random.choice(LETTERS), inner))
        b = p.input((p.shape(w)[0],))
        p.emit(f"F.linear({x}, {w}, {b}) / 3", shape[:-1] + (p.shape(w)[0],), op="linear")
    else:
        p.emit(f"({x} @ {y}) / 3", shape[:-1] + (p.shape(y)[1],), op="matmul")


def transposed_product(p):
    x = p.some(rank=2)
    if x and 1 not in p.shape(x):
        same = [n for n, (s, k, _) in p.values.items() if k == "f" and len(s) == 2 and s[0] == p.shape(x)[0] and 1 not in s]
        y = p.random.choice(same)
        p.emit(f"({x}.t() @ {y}) / 3", (p.shape(x)[1], p.shape(y)[1]), op="matmul")


def view(p):
    x = p.some(at_least=1)
    if not x:
        return
    shape = p.shape(x)
    op = p.random.choice(("permute", "flip", "unsqueeze", "expand", "reshape", "slice", "pad", "concat", "stack", "split", "roll", "tril"))
    if op == "permute":
        order = list(range(len(shape)))
        p.random.shuffle(order)
        p.emit(f"{x}.permute({size_text(order)})", [shape[i] for i in order], op=op)
    elif op == "flip":
        p.emit(f"{x}.flip({p.random.randrange(len(shape))})", shape, op=op)
    elif op == "unsqueeze" and len(shape) < 4:
        at = p.random.randrange(len(shape) + 1)
        p.emit(f"{x}.unsqueeze({at})", shape[:at] + (1,) + shape[at:], op="reshape")
    elif op == "expand" and len(shape) < 4:
        p.emit(f"{x}.unsqueeze(0).expand(B, *{x}.shape)", ("B",) + shape, op=op)
    elif op == "reshape" and len(shape) > 1:
        p.emit(f"{x}.reshape(-1).reshape({x}.shape).tanh()", shape, op=op)
    elif op == "slice":
        axis = p.random.randrange(len(shape))
        text = p.random.choice(("1:", ":-1", "::2 ", "k0:"))
        if shape[axis] == 1:
            return
        padded = f"F.pad({x}.transpose({axis}, -1)[..., {text}], (0, {shape[axis]})).transpose({axis}, -1).narrow({axis}, 0, {shape[axis]})"
        p.emit(padded, shape, op=op)
        p.used.add("pad")
    elif op == "pad":
        if shape[-1] != 1:
            p.emit(f"F.pad({x}, (1, -1), value=0.5)", shape, op=op)
    elif op == "concat" and shape[0] != 1:
        p.emit(f"T.cat([{x}, {x}.tanh()], 0).narrow(0, 1, {shape[0]})", shape, op=op)
    elif op == "stack":
        p.emit(f"T.stack([{x}, {x} * 2, {x}.sin()], 0).mean(0)", shape, op=op)
    elif op == "split" and shape[-1] != 1:
        p.emit(f"T.cat([q * (j + 1) for j, q in enumerate(T.split({x}, 2, -1))], -1) / {shape[-1]}", shape, op=op)
    elif op == "roll" and shape[0] != 1:
        p.emit(f"T.roll({x}, 1, 0)", shape, op="concat")
    elif op == "tril" and len(shape) >= 2:
        p.emit(f"T.{p.random.choice(('tril', 'triu'))}({x}, {p.random.randint(-1, 1)})", shape, op=op)


def in_place(p):
    x = p.some(at_least=1)
    if not x:
        return
    shape = p.shape(x)
    y = p.emit(f"{x} * 1", shape)
    if shape[0] == 1:
        return
    p.lines.append(p.random.choice((f"{y}[1:] += {p.scalar()}", f"{y}[0] = {p.scalar()}", f"{y}.mul_(0.5)", f"{y}.tanh_()",
                                    f"{y}[..., ::2] = {y}[..., ::2] * 0.5", f"{y}.add_({x})", f"{y}[k0] *= 2")))
    p.used.add("slice_update")


def indexing(p):
    x = p.some(at_least=2)
    if not x or 1 in p.shape(x):
        return
    shape = p.shape(x)
    op = p.random.choice(("take", "gather", "take_nd", "put_nd", "scatter_add", "embedding", "one_hot", "scatter"))
    if op == "take":
        i = p.input(("C",), "i", shape[0])
        p.emit(f"{x}.index_select(0, {i})", ("C",) + shape[1:], op=op)
    elif op == "gather" and len(shape) == 2:
        i = p.input(shape, "i", shape[1])
        p.emit(f"{x}.gather(1, {i})", shape, op=op)
    elif op == "take_nd":
        i, j = p.input(("C",), "i", shape[0]), p.input(("C",), "i", shape[1])
        p.emit(f"{x}[{i}, {j}]", ("C",) + shape[2:], op=op)
    elif op == "put_nd":
        i = p.input(("C",), "i", shape[0])
        p.emit(f"{x}.index_put(({i},), {x}[{i}] * 0.5, accumulate=True)", shape, op=op)
    elif op == "scatter_add" and len(shape) == 2:
        i = p.input(shape, "i", shape[0])
        p.emit(f"{x}.scatter_add(0, {i}, {x}.tanh()) / 2", shape, op=op)
    elif op == "embedding" and len(shape) == 2:
        i = p.input(("B", "C"), "i", shape[0])
        p.emit(f"F.embedding({i}, {x})", ("B", "C", shape[1]), op=op)
    elif op == "one_hot":
        i = p.input(("B",), "i", 4)
        p.emit(f"F.one_hot({i}, 4).to(x0.dtype)", ("B", 4), op=op)
    elif op == "scatter" and len(shape) == 2:
        p.emit(f"{x}.scatter(0, T.zeros((1, {shape[1]}), dtype=T.int64), {x}[-1:] * 2)", shape, op=op)


def loss(p):
    x = p.some(rank=2)
    if not x or 1 in p.shape(x):
        return
    shape = p.shape(x)
    op = p.random.choice(("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss",
                          "bce_with_logits", "kl_div"))
    kind = p.random.choice(("mean", "sum", "none"))
    scale = " / 9" if kind == "sum" else ""
    if op in ("cross_entropy", "nll_loss"):
        t = p.input(shape[:1], "i", shape[1])
        source = x if op == "cross_entropy" else f"{x}.log_softmax(1)"
        extra = ", label_smoothing=0.1" if op == "cross_entropy" and p.random.random() < 0.5 else ""
        p.emit(f"F.{op}({source}, {t}, reduction='{kind}'{extra}){scale}", shape[:1] if kind == "none" else (), op=op)
        return
    y = p.input(shape)
    text = {"bce_with_logits": f"F.binary_cross_entropy_with_logits({x}, {y}.sigmoid().detach(), reduction='{kind}')",
            "kl_div": f"F.kl_div({x}.log_softmax(1), {y}.softmax(1).detach(), reduction='{kind}')"}.get(
                op, f"F.{op}({x}, {y}, reduction='{kind}')")
    p.emit(text + scale, shape if kind == "none" else (), op=op)


def creation(p):
    shape = p.some_shape()
    op, text = p.random.choice((
        ("arange", "T.arange({n0}, dtype=x0.dtype) / 8"), ("full", "T.full({shape}, s1, dtype=x0.dtype)"),
        ("eye", "T.eye({n0}, dtype=x0.dtype)"), ("linspace", "T.linspace(-1, 1, {n0}, dtype=x0.dtype)")))
    made = {"arange": shape[:1], "full": shape, "eye": (shape[0], shape[0]), "linspace": shape[:1]}[op]
    p.emit(text.format(n0=shape[0], shape=size_text(shape)), made, op=op, exact=op != "linspace")


def detaching(p):
    x = p.some()
    p.emit(f"{x}.detach() * 0.5 + {x}.clone()", p.shape(x), op="detach")


STEPS = ([unary] * 6 + [positive_unary] * 4 + [inside_unary] * 3 + [jumping, activation, activation, activation]
         + [binary] * 9 + [with_scalar] * 4 + [comparison, logic, logic, logic, where, where] + [integers] * 5 + [to_float]
         + [reduction] * 6 + [full_reduction, arg_reduction, max_pair] + [normalising] * 3 + [product] * 3
         + [transposed_product] + [view] * 8 + [in_place] * 2 + [indexing] * 6 + [loss] * 4 + [creation, creation, detaching])
