# SPDX-License-Identifier: Apache-2.0
"""The steps that graph_source.Program is made of: each may add a statement or a few to it."""
LETTERS = "ABC"
UNARY = ("exp sin cos tanh sigmoid erf erfc expm1 atan asinh square neg abs").split()
POSITIVE_UNARY = "log sqrt rsqrt log2 log10 reciprocal lgamma log1p exp2 pow pow".split()
INSIDE_UNARY = "asin acos atanh tan sinh cosh acosh erfinv".split()
JUMPING = "floor ceil trunc round sign".split()
ACTIVATIONS = ("F.relu({x})", "F.gelu({x})", "F.gelu({x}, approximate='tanh')", "F.silu({x})", "F.leaky_relu({x}, 0.2)",
               "F.elu({x}, 0.8)", "F.softplus({x}, 1.3, 4.0)", "F.hardtanh({x}, -0.6, 0.9)", "F.logsigmoid({x})",
               "F.mish({x})", "F.softsign({x})", "F.hardsigmoid({x})", "F.hardswish({x})")


def size_text(shape):
    return "(" + ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "") + ")"


def unary(p):
    x = p.some()
    op = p.random.choice(UNARY)
    inner = f"T.tanh({x})" if op in ("exp", "expm1", "square") else x
    p.emit(f"T.{op}({inner})", p.shape(x), op=op)


def positive_unary(p):
    x, op = p.some(), p.random.choice(POSITIVE_UNARY)
    if op == "pow":
        return p.emit(f"(T.sigmoid({x}) + 0.25) ** {p.random.choice((-2, -0.5, 0, 0.5, 1, 2, 3, 1.7))}", p.shape(x), op=op)
    if op == "lgamma" and p.second:  # its second derivative is no op
        return None
    return p.emit(f"T.{op}(T.sigmoid({x}) + 0.25)", p.shape(x), op=op)


def inside_unary(p):
    x, op = p.some(), p.random.choice(INSIDE_UNARY)
    p.emit(f"T.{op}(T.tanh({x}) * 0.9{' + 2' if op == 'acosh' else ''})", p.shape(x), op=op)


def jumping(p):
    x, op = p.raw(), p.random.choice(JUMPING)
    p.emit(f"T.{op}({x} * 3)", p.shape(x), op=op)


def jumping_division(p):
    x = p.raw()
    op, text = p.random.choice((("floor_divide", "T.floor_divide({x}.detach(), 0.75)"), ("remainder", "T.remainder({x}, 0.75)"),
                                ("fmod", "T.fmod({x}, 0.75)"), ("cast", "({x} * 3).to(T.int64).to(x0.dtype)")))
    p.emit(text.format(x=x), p.shape(x), op=op)


def predicate(p):
    x, op = p.raw(), p.random.choice(("isnan", "isinf", "isfinite"))
    p.emit(f"T.{op}(T.log({x}{'.clamp(min=0)' if op == 'isinf' else ''}))", p.shape(x), "b", op=op)


def without_gradient(p):
    x, op = p.some(), p.random.choice(("nextafter", "digamma", "zeta", "ldexp"))
    text = {"zeta": "T.special.zeta({x}.detach().sigmoid() + 1.5, {x}.detach().abs() + 0.5) / 3",
            "ldexp": "T.ldexp({x}.detach(), T.tensor([-1]))", "nextafter": "T.nextafter({x}.detach(), {x}.detach() + 1)", "digamma": "T.digamma({x}.detach().sigmoid() + 0.5)"}[op]
    p.emit(text.format(x=x), p.shape(x), op=op)


def activation(p):
    x, text = p.some(), p.random.choice(ACTIVATIONS)
    if (p.second or p.dtype == "float64") and "hardsigmoid" in text:  # PyTorch: no second derivative, a float32 sixth
        return
    p.emit(text.format(x=x), p.shape(x), op=text[2:text.index("(")])


def binary(p):
    x = p.some()
    y = p.partner(p.shape(x))
    op, text = p.random.choice((
        ("add", "{x} + {y}"), ("sub", "{x} - {y}"), ("mul", "T.tanh({x}) * {y}"), ("div", "{x} / ({y}.abs() + 0.5)"),
        ("maximum", "T.maximum({x}, {y})"), ("minimum", "T.minimum({x}, {y})"), ("fmax", "T.fmax({x}, {y})"),
        ("fmin", "T.fmin({x}, {y})"), ("atan2", "T.atan2({x}, {y}.abs() + 0.5)"),
        ("hypot", "T.hypot({x}, {y} * {y} + 0.5)"), ("pow", "T.pow({x}.sigmoid() + 0.5, {y}.tanh())"),
        ("logaddexp", "T.logaddexp({x}, {y})"), ("logaddexp2", "T.logaddexp2({x}, {y})"),
        ("xlogy", "T.xlogy({x}, {y}.abs() + 0.5)"), ("copysign", "T.copysign({x}.abs() + 0.5, {y} * {y} + 0.5) * 0.5"),
        ("copysign", "T.copysign({x} * {x} + 0.5, -0.5 - {y}.abs()) * 0.3"), ("lerp", "T.lerp({x}, {y}.expand_as({x}), 0.3)"),
        ("addcmul", "T.addcmul({x}, {y}.tanh(), {y}, value=0.5)"),
        ("addcdiv", "T.addcdiv({x}, {y}, {y} * {y} + 1, value=0.5)"), ("sub", "{y} - {x}")))
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
        op = p.random.choice(("logical_and", "logical_or", "logical_xor", "logical_not", "any", "all", "masked_fill", "bool_sum",
                              "bitwise", "reduced"))
        if op == "logical_not":
            p.emit(f"T.logical_not({b})", p.shape(b), "b", op=op)
        elif op in ("any", "all"):
            p.emit(f"{b}.{op}(-1)" if p.shape(b) else f"{b}.{op}()", p.shape(b)[:-1], "b", op=op)
        elif op == "bitwise":
            op, sign = p.random.choice((("bitwise_and", "&"), ("bitwise_or", "|"), ("bitwise_xor", "^")))
            p.emit(f"{b} {sign} {p.partner(p.shape(b), 'b')}", p.shape(b), "b", op=op)
        elif op == "reduced":
            p.emit(f"{b}.{p.random.choice(('any', 'all'))}()", (), "b")
        elif op == "bool_sum":
            p.emit(f"{b}.sum()", (), "i", op="sum")
        elif op == "masked_fill":
            same = [n for n, (s, k, _) in p.values.items() if k == "f" and s == p.shape(b)]
            if same:
                x = p.random.choice(same)
                p.emit(f"{x}.masked_fill({b}, 0.5)", p.shape(x), op=op)
        else:
            other = p.partner(p.shape(b), "b") if p.random.random() < 0.7 else f"~{b}"
            p.emit(f"T.{op}({b}, {other})", p.shape(b), "b", op=op)


def where(p):
    b = p.some("b")
    if b:
        x, y = p.partner(p.shape(b)), p.partner(p.shape(b)) if p.random.random() < 0.8 else p.scalar()
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
        ("cast", "{i}.to(T.int32)"), ("cast", "({i} % 7).to(T.int64)"), ("cast", "({i} % 200).to(T.uint8)"),
        ("minimum", "T.minimum({i}, {i} // 2 + 1)"), ("clamp", "{i}.clamp(-2, 5)"), ("sign", "T.sign({i})"),
        ("prod", "({i} % 3).prod(-1)"), ("max", "T.amax({i}, -1)"), ("where", "T.where({i} > 2, {i}, 1)")))
    shape = p.shape(i)
    if op in ("sum", "prod", "max"):
        if not shape:
            return
        shape = shape[:-1]
    p.emit(text.format(i=i) if op != "mul" else f"({i} % 100) * ({i} % 100)", shape, "i", op=op)


def to_float(p):
    source = p.some(p.random.choice("ib"))
    if source:
        p.emit(f"({source} % 50).to(x0.dtype) / 50" if p.values[source][1] == "i" else f"{source}.to(x0.dtype)",
               p.shape(source), op="cast", exact=True)


def mixed(p):
    """An integer with a float."""
    i = p.some("i")
    x = i and p.partner(p.shape(i))
    if x:
        p.emit(p.random.choice(("({i} % 10) * {x} / 8", "{x} + {i} % 3", "T.where({i} > 2, {x}, {i} % 3)")).format(i=i, x=x),
               p.shape(i), op="mul")


def reduction(p):
    x = p.some(at_least=1)
    if not x:
        return
    shape = p.shape(x)
    axis = p.random.randrange(len(shape))
    keep = p.random.random() < 0.5
    rest = shape[:axis] + ((1,) if keep else ()) + shape[axis + 1:]
    op = p.random.choice(("sum", "mean", "max", "min", "var", "std", "logsumexp", "prod", "norm"))
    if op == "std" and shape[axis] == 1:  # of one element its gradient is none
        op = "var"
    k = f"keepdim={keep}"
    text = {"sum": f"{x}.sum({axis}, {k}) / 4", "mean": f"{x}.mean({axis}, {k})", "max": f"T.amax({x}, {axis}, {k})",
            "min": f"T.amin({x}, {axis}, {k})", "var": f"{x}.var({axis}, correction=0, {k})",
            "std": f"({x}.tanh().transpose({axis}, -1) + T.arange({shape[axis]}, dtype=x0.dtype) * 3)"
                   f".transpose({axis}, -1).std({axis}, {k}) / {shape[axis]}",
            "logsumexp": f"{x}.logsumexp({axis}, {k})", "prod": f"(1 + 0.1 * {x}.tanh()).prod({axis}, {k})",
            "norm": f"({x} * {x}).sum({axis}, {k}).add(0.1).sqrt()"}[op]
    p.emit(text, rest, op="sum" if op == "norm" else op)


def reduction_of_several(p):
    x = p.some(at_least=2)
    if not x:
        return
    shape = p.shape(x)
    axes = sorted(p.random.sample(range(len(shape)), 2))
    keep = p.random.random() < 0.5
    rest = [1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes]
    op, text = p.random.choice((("sum", "{x}.sum({a}, {k}) / 16"), ("mean", "{x}.mean({a}, {k})"), ("max", "T.amax({x}, {a}, {k})"),
                                ("var", "{x}.var({a}, correction=0, {k})"), ("logsumexp", "{x}.logsumexp({a}, {k})"),
                                ("min", "T.amin({x}, {a}, {k})")))
    p.emit(text.format(x=x, a=size_text(axes), k=f"keepdim={keep}"), rest, op=op)


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
        both = p.emit(f"{x}.{op}(-1)", p.shape(x)[:-1], "pair", op=op + "_dim")
        p.emit(f"{both}[0]", p.shape(x)[:-1])
        p.emit(f"{both}[1]", p.shape(x)[:-1], "i")


def pieces(p):
    """Several outputs that are used apart."""
    x = p.some(at_least=1)
    if not x or 1 in p.shape(x)[-1:]:
        return
    shape = p.shape(x)
    op = p.random.choice(("split", "unbind", "var_mean"))
    if op == "split":
        both = p.emit(f"T.split(T.cat([{x}, {x} * {x}.tanh()], -1), [{shape[-1]}, {shape[-1]}], -1)", shape, "pair", op="split")
        for k in range(2):
            p.emit(f"{both}[{k}]", shape)
    elif op == "unbind":
        both = p.emit(f"T.stack([{x}, {x}.sin()], -1).unbind(-1)", shape, "pair", op="stack slice")
        for k in range(2):
            p.emit(f"{both}[{k}]", shape)
    else:
        both = p.emit(f"T.var_mean({x}, -1, correction=0)", shape[:-1], "pair", op="var mean")
        for k in range(2):
            p.emit(f"{both}[{k}]", shape[:-1])


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
        else:  # of equal elements nothing but the bias is left, which then must equal no other input
            b = f"{b} + 0.01"
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
    op = p.random.choice(("permute", "flip", "unsqueeze", "expand", "reshape", "slice", "pad", "concat", "stack", "split", "roll", "tril",
                          "diagonal", "repeat"))
    if op == "permute" and len(shape) == 2 and p.random.random() < 0.6:  # one that is not its own inverse
        at, order = p.random.randrange(3), p.random.choice(((1, 2, 0), (2, 0, 1)))
        made = shape[:at] + (2,) + shape[at:]
        p.emit(f"T.stack([{x}, {x}.sin()], {at}).permute({order})", [made[i] for i in order], op="permute stack")
    elif op == "permute":
        order = list(range(len(shape)))
        p.random.shuffle(order)
        p.emit(f"{x}.permute({size_text(order)})", [shape[i] for i in order], op=op)
    elif op == "flip":
        axes = p.random.sample(range(len(shape)), p.random.randint(1, len(shape)))
        p.emit(f"{x}.flip({axes})", shape, op=op)
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
        p.tag("pad")
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
        op = p.random.choice(("tril", "triu"))
        p.emit(f"T.{op}({x}, {p.random.randint(-1, 1)})", shape, op=op)
    elif op == "diagonal" and len(shape) >= 2 and shape[-1] == shape[-2]:
        p.emit(f"({x} * T.eye({shape[-1]}, dtype=x0.dtype)).sum(-1)", shape[:-1], op="eye")
    elif op == "repeat" and len(shape) == 1:
        p.emit(f"{x}.repeat(2).narrow(0, 1, {shape[0]})", shape, op="expand")


def in_place(p):
    x = p.some(at_least=1)
    if not x:
        return
    shape = p.shape(x)
    y = p.emit(f"{x} * 1", shape)
    if shape[0] == 1:
        return
    p.lines.append(p.random.choice((
        f"{y}[1:] += {p.scalar()}", f"{y}[0] = {p.scalar()}", f"{y}.mul_(0.5)", f"{y}.tanh_()", f"{y}.add_({x})", f"{y}[k0] *= 2",
        f"{y}[..., ::2] = {y}[..., ::2] * 0.5", f"{y}[1:].copy_({x}[:-1])", f"{y}[:1] = {x}[-1:]", f"{y}[::2].zero_()",
        f"{y}.transpose(0, -1)[k0:].mul_(0.5)", f"{y}.unsqueeze(0)[:, 1:] -= {p.scalar()}", f"{y}.clamp_(-1.5, 1.5)",
        f"{y}[-1].fill_({p.scalar()})", f"{y}.sub_({p.partner(shape)}).div_(2)", f"{y}[1:][..., 0].add_(0.25)")))
    p.tag("slice_update")


def aliased(p):
    """A view that is taken before its base, or that itself, changes."""
    x = p.some(at_least=1)
    if not x or p.shape(x)[0] == 1:
        return
    shape = p.shape(x)
    y = p.emit(f"{x} * 1", shape)
    text, seen = p.random.choice(((f"{y}[k0]", shape[1:]), (f"{y}.transpose(0, -1)", shape[-1:] + shape[1:-1] + shape[:1]),
                                  (f"{y}.reshape({size_text(shape)})", shape), (f"{y}.unsqueeze(-1)", shape + (1,)),
                                  (f"{y}[:, None]" if len(shape) == 1 else f"{y}[:, 0]", shape[:1] + ((1,) if len(shape) == 1 else shape[2:]))))
    if len(shape) == 1 and "transpose" in text:
        seen = shape
    z = p.name()
    p.lines.append(f"{z} = {text}")
    p.lines.append(p.random.choice((f"{y}.mul_(0.5)", f"{y}[0] = {p.scalar()}", f"{z}.add_({p.scalar()})", f"{z}.mul_(0.5)",
                                    f"{y}[1:] += {p.scalar()}", f"{z}[...] = {z} * 0.5", f"{y}[-1] -= 0.5")))
    p.values[z] = (tuple(seen), "f", False)
    p.tag("slice_update")


def masked(p):
    b = p.some("b")
    same = [n for n, (s, k, _) in p.values.items() if b and k == "f" and s == p.shape(b) and s]
    if same:
        x = p.random.choice(same)
        y = p.emit(f"{x} * 1", p.shape(x))
        if p.random.random() < 0.8:
            p.lines.append(f"{y}.masked_fill_({b}, {p.scalar()})")
            p.tag("masked_fill")
        else:
            p.lines.append(f"{y}[{b}] = {p.scalar()}")
            p.traceable = False


def indexing(p):
    x = p.some(at_least=2)
    if not x or 1 in p.shape(x):
        return
    shape = p.shape(x)
    op = p.random.choice(("take", "gather", "take_nd", "put_nd", "scatter_add", "embedding", "one_hot", "scatter", "set",
                          "constant"))
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
    elif op == "set":
        i = p.input(("C",), "i", shape[0])
        y = p.emit(f"{x} * 1", shape)
        p.lines.append(p.random.choice((f"{y}[{i}] = {p.scalar()}", f"{y}[:, 0][{i}] = 0.5", f"{y}[{i}, 0] = {p.scalar()}")))
        p.tag("put_nd")
    elif op == "constant":  # every element is the same: the index still has to be right
        i = p.input(("C",), "i", 3)
        p.emit(p.random.choice((f"T.ones((3, 2), dtype=x0.dtype)[{i}]", f"T.full((3, 2), s2, dtype=x0.dtype).index_select(0, {i})",
                                f"F.embedding({i}, {x}.reshape(-1)[:1].expand(3, 2))")), ("C", 2), op="take full")
    elif op == "scatter" and len(shape) == 2:
        p.emit(f"{x}.scatter(0, T.zeros((1, {shape[1]}), dtype=T.int64), {x}[-1:] * 2)", shape, op=op)


def loss(p):
    x = p.some(rank=2)
    if not x or 1 in p.shape(x):
        return
    shape = p.shape(x)
    op = p.random.choice(("cross_entropy", "nll_loss", "mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss",
                          "bce_with_logits", "kl_div", "bce", "cross_entropy_soft"))
    kind = p.random.choice(("mean", "sum", "none"))
    scale = " / 9" if kind == "sum" else ""
    if op in ("cross_entropy", "nll_loss"):
        t = p.input(shape[:1], "i", shape[1])
        source = x if op == "cross_entropy" else f"{x}.log_softmax(1)"
        extra = ", label_smoothing=0.1" if op == "cross_entropy" and p.random.random() < 0.5 else ""
        if p.random.random() < 0.3:
            extra += f", weight={p.input(shape[1:])}.abs().detach() + 0.25"
        if kind != "mean" and p.random.random() < 0.3:
            extra += ", ignore_index=1"
        p.emit(f"F.{op}({source}, {t}, reduction='{kind}'{extra}){scale}", shape[:1] if kind == "none" else (), op=op)
        return
    y = p.input(shape)
    text = {"bce": f"F.binary_cross_entropy({x}.sigmoid() * 0.9 + 0.05, {y}.sigmoid().detach(), reduction='{kind}')",
            "cross_entropy_soft": f"F.cross_entropy({x}, {y}.softmax(1).detach(), reduction='{kind}')",
            "bce_with_logits": f"F.binary_cross_entropy_with_logits({x}, {y}.sigmoid().detach(), reduction='{kind}')",
            "kl_div": f"F.kl_div({x}.log_softmax(1), {y}.softmax(1).detach(), reduction='{kind}')"}.get(
                op, f"F.{op}({x}, {y}, reduction='{kind}')")
    if kind == "none" and op == "cross_entropy_soft":
        shape = shape[:1]
    p.emit(text + scale, shape if kind == "none" else (), op=op)


def creation(p):
    shape = p.some_shape()
    op, text = p.random.choice((
        ("arange", "T.arange({n0}, dtype=x0.dtype) / 8"), ("full", "T.full({shape}, s1, dtype=x0.dtype)"),
        ("eye", "T.eye({n0}, dtype=x0.dtype)"), ("linspace", "T.linspace(-1, 1, {n0}, dtype=x0.dtype)")))
    made = {"arange": shape[:1], "full": shape, "eye": (shape[0], shape[0]), "linspace": shape[:1]}[op]
    p.emit(text.format(n0=shape[0], shape=size_text(shape)), made, op=op, exact=op != "linspace")


def literal(p):
    n = p.random.randint(1, 3)
    row = [p.random.randint(-9, 9) / 4 for _ in range(n)]
    p.emit(f"T.tensor({row}, dtype=x0.dtype)", (n,) if n > 1 else (1,), op="constant")


def detaching(p):
    x = p.some()
    p.emit(f"{x}.detach() * 0.5 + {x}.clone()", p.shape(x), op="detach clone")


def product_of_many(p):
    """Batched and broadcast products, and products with vectors."""
    x = p.some(rank=3)
    if x and 1 not in p.shape(x) and p.random.random() < 0.7:
        batch, rows, inner = p.shape(x)
        y = p.input(p.random.choice(((batch, inner, "B"), (inner, "B"), (batch, inner, "C"))))
        return p.emit(p.random.choice((f"({x} @ {y}) / 3", f"T.matmul({x}, {y}) / 3")), (batch, rows, p.shape(y)[-1]), op="matmul")
    x = p.some(rank=2)
    if not x or 1 in p.shape(x):
        return None
    rows, inner = p.shape(x)
    vector = p.input((inner,))
    text, shape = p.random.choice(((f"({x} @ {vector}) / 3", (rows,)), (f"({x}[0] @ {vector}) / 3", ()),
                                   (f"({vector} @ {x}.t()) / 3", (rows,)),
                                   (f"({x}.unsqueeze(0) @ {x}.t().expand(2, {inner}, {rows})) / 9", (2, rows, rows))))
    return p.emit(text, shape, op="matmul")


def attention(p):
    x = p.some(rank=3)
    if not x or 1 in p.shape(x) or p.second:  # PyTorch has no second derivative of its kernel
        return
    batch, rows, width = p.shape(x)
    keys = p.random.choice(LETTERS)
    wide = p.random.choice(LETTERS)
    k, v = p.input((batch, keys, width)), p.input((batch, keys, wide))
    causal = p.random.random() < 0.5
    v = f"({v} * (1 + T.arange({keys}, dtype=x0.dtype)[:, None] / 89.37))"  # means of equal values are nearly equal
    p.emit(f"F.scaled_dot_product_attention({x}, {k}, {v}, is_causal={causal}, scale=0.3)", (batch, rows, wide),
           op="attend causal" if causal else "attend")


def scan(p):
    x = p.some(at_least=1)
    if not x:
        return
    dim = p.random.randrange(len(p.shape(x)))
    op, text = p.random.choice((("cumsum", "{x}.cumsum({d}) / 3"), ("cumprod", "(0.8 + 0.2 * {x}.tanh()).cumprod({d})"),
                                ("logcumsumexp", "{x}.logcumsumexp({d})")))
    if op == "logcumsumexp" and p.second:  # PyTorch's is wrong where a gradient is negative: differences say so
        return
    p.emit(text.format(x=x, d=dim), p.shape(x), op=op)


def sorting(p):
    x = p.some(at_least=1)
    if not x:
        return
    dim = p.random.randrange(len(p.shape(x)))
    p.emit(f"T.sort({x}, dim={dim}, descending={p.random.random() < 0.5}, stable=True)[0]", p.shape(x), op="sort")


def convolution(p):
    x = p.some(rank=3)
    if not x or 1 in p.shape(x):
        return
    batch, channels, length = p.shape(x)
    out = p.random.choice(LETTERS)
    w, b = p.input((out, channels, 3)), p.input((out,))
    p.emit(f"F.conv1d({x}, {w}, {p.random.choice((b, 'None'))}, padding=1) / 3", (batch, out, length), op="conv")


def pooling(p):
    x = p.some(rank=3)
    if not x or 1 in p.shape(x):
        return
    length = p.shape(x)[2]
    text, op = p.random.choice(((f"F.max_pool1d({x} * (1 + T.arange({length}, dtype=x0.dtype) / 89), 3, 1, 1)", "max_pool"), (f"F.avg_pool1d({x} * (1 + T.arange({length}, dtype=x0.dtype) / 89.37), 3, 1, 1)", "avg_pool")))
    p.emit(text, p.shape(x), op=op)


OPTIMIZERS = (("SGD", "lr=0.1", "sgd_step"), ("SGD", "lr=0.1, momentum=0.5, weight_decay=0.1", "sgd_momentum_step"),
              ("SGD", "lr=abs(s3), momentum=0.9, nesterov=True", "sgd_momentum_step"),
              ("Adam", "lr=0.1, eps=0.1", "adam_step"), ("Adam", "lr=0.05, eps=0.1, weight_decay=0.1, amsgrad=True", "adam_step"),
              ("AdamW", "lr=0.1, eps=0.1, weight_decay=0.1", "adamw_step"), ("Adadelta", "lr=0.5, eps=0.01", "adadelta_step"),
              ("Adagrad", "lr=0.1, lr_decay=0.1, eps=0.1", "adagrad_step"), ("Adamax", "lr=0.1, eps=0.1", "adamax_step"),
              ("ASGD", "lr=0.1, weight_decay=0.1, t0=1.0", "asgd_step"), ("NAdam", "lr=0.1, eps=0.1", "nadam_step"),
              ("RAdam", "lr=0.1, eps=0.1, weight_decay=0.1", "radam_step"), ("RMSprop", "lr=0.1, eps=0.1", "rmsprop_step"),
              ("RMSprop", "lr=0.1, eps=0.1, momentum=0.5", "rmsprop_step"),
              ("RMSprop", "lr=0.1, eps=0.1, centered=True", "rmsprop_centered_step"), ("Rprop", "lr=0.1", "rprop_step"))


def training(p):
    """A few steps of an optimizer; what it trains becomes a value."""
    x, y = p.some(at_least=1), None
    if not x or p.count_of_trainings >= 3 or p.second:
        return
    p.count_of_trainings += 1
    y = p.partner(p.shape(x))
    name, arguments, op = p.random.choice(OPTIMIZERS)
    if name == "ASGD" and p.dtype == "float64":  # PyTorch keeps its step size in float32
        return
    clips = p.random.random() < 0.5
    w, o, n = p.name(), p.name(), p.name()
    loss = f"{w} * {y}.detach() + {w} * {w}"
    if name == "Rprop":  # the sign of a gradient decides, so that none may be nearly 0
        loss = f"({w} * ({y}.detach().abs() + 3) + {w} * {w}) * (1 - 1.5 * {n})"
    p.lines += [f"{w} = {x}.detach().tanh().requires_grad_()", f"{o} = T.optim.{name}([{w}], {arguments})",
                f"for {n} in range({p.random.randint(1, 3)}):", f"    {o}.zero_grad()",
                f"    ({loss}).sum().backward()"]
    if clips:
        p.lines.append(f"    T.nn.utils.clip_grad_norm_([{w}], 0.7)")
    p.lines.append(f"    {o}.step()")
    p.traceable &= op != "sgd_momentum_step"  # whose first step is none that a program could repeat
    p.emit(f"{w}.detach() * 1", p.shape(x), op=f"{op} mark{' global_norm clip_coefficient' if clips else ''}")


def random_numbers(p):
    shape = p.some_shape()
    op, text = p.random.choice((("uniform", "T.rand({shape}, dtype=x0.dtype)"), ("normal", "T.randn({shape}, dtype=x0.dtype)"),
                                ("bernoulli", "T.bernoulli(T.full({shape}, 0.3, dtype=x0.dtype))"),
                                ("randint", "T.randint(0, 5, {shape}).to(x0.dtype) / 4"), ("dropout", None), ("dropout", None)))
    if text:
        p.emit(text.format(shape=size_text(shape)), shape, op=op)
    else:
        x = p.some()
        p.emit(f"F.dropout({x}, 0.25)", p.shape(x), op=op)


DRAWS = [random_numbers] * 8
STEPS = ([unary] * 6 + [positive_unary] * 4 + [inside_unary] * 3 + [jumping, activation, activation, activation]
         + [jumping_division, predicate, without_gradient, mixed, literal] + [binary] * 9 + [with_scalar] * 4 + [comparison] * 2
         + [logic] * 8 + [where, where] + [integers] * 5 + [to_float] + [reduction] * 6 + [reduction_of_several, full_reduction]
         + [training] * 4 + [arg_reduction, max_pair] + [normalising] * 3 + [product] * 3 + [transposed_product, product_of_many, pieces]
         + [view] * 8 + [in_place] * 2 + [aliased, masked] + [indexing] * 6 + [loss] * 4 + [creation, creation, detaching, training]
         + [attention, attention, scan, scan, sorting, convolution, convolution, pooling, pooling])
