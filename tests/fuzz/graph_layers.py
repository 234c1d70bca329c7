# SPDX-License-Identifier: Apache-2.0
"""Steps of programs: layers, scans, sorts, scatters, optimizers, and numbers of few bits.

What jumps (an order, an extreme, a rounding to few bits) is asked of inputs, made distinct where PyTorch leaves ties
open. Results of other lengths are cut or padded, so that sizes stay A, B and C."""
from graph_steps import LETTERS, size_text


def whole(p, rank):
    """A value of that rank without sizes of 1."""
    fits = [n for n, (s, k, _) in p.values.items() if k == "f" and len(s) == rank and 1 not in s]
    return p.choice(fits) if fits else None


def whole_raw(p, rank):
    """Likewise an input, or what is as exact."""
    fits = [n for n, (s, k, exact) in p.values.items() if k == "f" and exact and len(s) == rank and 1 not in s]
    return p.random.choice(fits) if fits else p.input(tuple(p.random.choice(LETTERS) for _ in range(rank)))


def apart(x, n):
    """No two of a row of inputs are equal then, which are multiples of 1/64 or 1/50."""
    return f"({x} + T.arange({n}, dtype=x0.dtype) / 4096)"


def uneven(x, n):
    """Means of equal values are nearly equal: whichever is the larger then is a matter of rounding."""
    return f"({x} * (1 + T.arange({n}, dtype=x0.dtype) / 89.37))"


def channels(x, dim):
    """Four channels of a value that has none."""
    return f"T.stack([{x}, {x}.sin(), {x} * 0.5, {x}.cos()], {dim})"


def fitted(p, made, places):
    """A tensor with other sizes of the last dims, cut or padded to these."""
    ends = ", ".join(f"0, {n} - {made}.shape[{-1 - i}]" for i, n in enumerate(reversed(places)))
    return f"F.pad({made}, ({ends}))"


# ---- convolutions and pools ----

def window(p):
    """Size, stride, dilation and a padding with which a window always fits into 2 elements."""
    size, stride, dilation = p.random.randint(1, 3), p.random.randint(1, 3), p.random.randint(1, 2)
    least = dilation * (size - 1) // 2
    return size, stride, dilation, least + p.random.randint(0, 1)


def strided_convolution(p):
    size, stride, dilation, padding = window(p)
    groups, out = p.random.choice((1, 1, 2, 4)), 4
    flat = p.random.random() < 0.6
    x = whole(p, 2)
    if not x:
        return
    shape = p.shape(x)
    weight, bias = p.weight((out, 4 // groups) + (size,) * (1 if flat else 2)), p.random.choice((p.weight((out,)), "None"))
    source, places, made = (channels(x, 1), shape[1:], (shape[0], out)) if flat else (channels(x, 0), shape, (out,))
    text = f"F.conv{1 if flat else 2}d({source}, {weight}, {bias}, {stride}, {padding}, {dilation}, {groups}) / 3"
    y = p.emit(text, (), "part", op="conv")
    p.emit(fitted(p, y, places), made + places, op="pad")


def volume_convolution(p):
    x = whole(p, 3)
    if x:
        y = p.emit(f"F.conv3d({x}.unsqueeze(0), {p.weight((2, 1, 2, 3, 2))}, None, {p.random.choice((1, 2))}, 1) / 3", (), "part",
                   op="conv")
        p.emit(f"{fitted(p, y, p.shape(x))}.mean(0)", p.shape(x), op="pad mean")


def transposed_convolution(p):
    x = whole(p, 2)
    if not x:
        return
    size, stride, dilation = p.random.randint(1, 3), p.random.randint(1, 3), p.random.randint(1, 2)
    padding = p.random.randint(0, dilation * (size - 1) // 2)
    groups, extra = p.random.choice((1, 1, 2)), p.random.randrange(max(stride, dilation)) if stride > 1 else 0
    shape, flat = p.shape(x), p.random.random() < 0.7
    weight, bias = p.weight((4, 4 // groups) + (size,) * (1 if flat else 2)), p.random.choice((p.weight((4,)), "None"))
    rest = f"{bias}, {stride}, {padding}, {min(extra, stride - 1)}, {groups}, {dilation}"
    if flat:
        p.emit(f"F.conv_transpose1d({channels(x, 1)}, {weight}, {rest})[..., :{shape[1]}] / 3", (shape[0], 4, shape[1]),
               op="conv_input slice")
    else:
        p.emit(f"F.conv_transpose2d({channels(x, 0)}, {weight}, {rest})[..., :{shape[0]}, :{shape[1]}] / 3", (4,) + shape,
               op="conv_input slice")


def convolution_weight(p):
    x = whole(p, 2)
    if not x:
        return
    size, stride, dilation, padding = window(p)
    groups, shape = p.random.choice((1, 2)), p.shape(x)
    made = (4, 4 // groups, size)
    count = f"({shape[1]} + {2 * padding - dilation * (size - 1) - 1}) // {stride} + 1"
    y = p.weight((shape[0], 4, count))
    p.emit(f"H.conv1d_weight({channels(x, 1)}, {y}, {size_text(made)}, {stride}, {padding}, {dilation}, {groups}) / "
           f"({shape[0]} * {shape[1]})", made, op="conv_weight")


def strided_pool(p):
    size, stride, dilation, padding = window(p)
    padding = min(padding, size // 2)
    x = whole(p, p.random.choice((2, 3)))
    if not x or dilation * (size - 1) > 1 + 2 * padding:
        return
    shape, ceil = p.shape(x), p.random.random() < 0.3
    if p.random.random() < 0.5:
        text, op = f"F.max_pool1d({uneven(x, shape[-1])}, {size}, {stride}, {padding}, {dilation}, {ceil})", "max_pool"
    else:
        counts = p.random.random() < 0.5
        text, op = f"F.avg_pool1d({uneven(x, shape[-1])}, {min(size, 2)}, {stride}, {padding and 1}, {ceil}, {counts})", "avg_pool"
    y = p.emit(text, (), "part", op=op)
    p.emit(fitted(p, y, shape[-1:]), shape, op="pad")


def plane_pool(p):
    x = whole(p, 3)
    if not x:
        return
    shape = p.shape(x)
    source = uneven(uneven(x, shape[2]).replace("89.37", "997.13") + ".transpose(1, 2)", shape[1]) + ".transpose(1, 2)"
    text, op = p.random.choice((
        ("F.max_pool2d({x}, 2, 1, 1)", "max_pool"), ("F.max_pool2d({x}, (3, 2), (2, 1), 1)", "max_pool"),
        ("F.max_pool2d({x}, 2, ceil_mode=True)", "max_pool"), ("F.avg_pool2d({x}, 2, ceil_mode=True)", "avg_pool"),
        ("F.avg_pool2d({x}, (2, 3), 2, 1, count_include_pad=False)", "avg_pool"), ("F.adaptive_avg_pool2d({x}, 2)", "avg_pool"),
        ("F.adaptive_avg_pool2d({x}, (1, 3))", "avg_pool"), ("F.adaptive_max_pool2d({x}, 2)", "max_pool"),
        ("F.lp_pool2d({x}.abs() + 0.5, 2.0, 2)", "avg_pool")))
    y = p.emit(text.format(x=source), (), "part", op=op)
    p.emit(fitted(p, y, shape[1:]), shape, op="pad")


def pool_places(p):
    x = whole_raw(p, 2)
    if p.second:
        return
    shape = p.shape(x)
    size, stride = p.random.randint(2, 3), p.random.randint(1, 2)
    both = p.emit(f"F.max_pool1d({apart(x, shape[1])}, {size}, {stride}, 1, return_indices=True)", (), "part",
                  op="max_pool max_pool_index")
    p.emit(f"F.pad({both}[1], (0, {shape[1]} - {both}[1].shape[-1]))", shape, "i")
    p.emit(fitted(p, f"{both}[0]", shape[1:]), shape)


def windows(p):
    x = whole(p, 2)
    if not x:
        return
    shape = p.shape(x)
    rows, columns = shape
    stride = p.random.choice((1, 2))
    text, op = p.random.choice((
        (f"F.pad({x}, (1, 1)).unfold(-1, 3, 1).mean(-1)", "window"),
        (f"F.unfold({x}[None, None], 2, padding=1, stride={stride}).mean((0, 2))[:, None, None].expand(4, {rows}, {columns}).mean(0)",
         "window"),
        (f"F.fold(F.unfold({x}[None, None], 3, padding=1, stride={stride}).tanh(), ({rows}, {columns}), 3, padding=1, stride={stride})[0, 0]",
         "window window_add"),
        (f"F.fold({x}.tanh().reshape(1, 1, -1).expand(1, 4, {rows} * {columns}), ({rows} + 1, {columns} + 1), 2)[0, 0, 1:, :-1] / 2",
         "window_add"),
        (f"F.local_response_norm({channels(x, 1)}, 2, 0.5, 0.75, 1.5).mean(1)", "window")))
    p.emit(text, shape, op=op)


def resizing(p):
    x = whole(p, 3)
    if not x or p.second:
        return
    shape = p.shape(x)
    n = p.random.choice(LETTERS)
    text = p.random.choice(("F.interpolate({x}, size={n})", "F.interpolate({x}, size={n}, mode='linear', align_corners=True)",
                            "F.interpolate({x}, size={n}, mode='linear')", "F.interpolate({x}, scale_factor=2)[..., 1:{n} + 1]",
                            "F.interpolate({x}[None], size=({b}, {n}), mode='bilinear')[0]",
                            "F.interpolate({x}[None], size=({b}, {n}), mode='bicubic')[0] / 2"))
    n = shape[2] if "scale" in text else n
    p.emit(text.format(x=x, n=n, b=shape[1]), shape[:2] + (n,), op="gather")


# ---- norms, attention, recurrence ----

def channel_norm(p):
    x = whole(p, p.random.choice((2, 3)))
    if not x:
        return
    shape = p.shape(x)
    affine = p.random.random() < 0.6
    w, b = (p.weight(shape[1:2]), p.weight(shape[1:2])) if affine else ("None", "None")
    kind = p.random.choice(("batch", "batch", "running", "fixed", "fixed", "group", "group", "instance"))
    if kind == "batch":
        p.emit(f"F.batch_norm({uneven(x, shape[-1])}, None, None, {w}, {b}, True, 0.1, 0.1)", shape, op="batch_norm")
    elif kind == "running":
        mean, var = p.name(), p.name()
        p.lines += [f"{mean} = T.zeros({shape[1]}, dtype=x0.dtype)", f"{var} = T.ones({shape[1]}, dtype=x0.dtype)"]
        p.emit(f"F.batch_norm({x}, {mean}, {var}, {w}, {b}, True, 0.3, 0.1)", shape, op="batch_norm")
        p.emit(f"{mean} + {var}", shape[1:2], op="add var mean")
    elif kind == "fixed":
        mean, var = p.weight(shape[1:2]), p.weight(shape[1:2])
        p.emit(f"F.batch_norm({x}, {mean}.detach() + 1 / 128, {var}.detach().abs() + 0.5, {w}, {b}, False, 0.1, 0.1)", shape,
               op="batch_norm_fixed")
    elif kind == "instance" and len(shape) == 3:
        p.emit(f"F.instance_norm({x} + {x}.sin(), None, None, {w}, {b}, eps=0.1)", shape, op="group_norm")
    elif len(shape) == 2:
        w, b = (p.weight((4,)), p.weight((4,))) if affine else ("None", "None")
        p.emit(f"F.group_norm({channels(x, 1)}, {p.random.choice((1, 2, 4))}, {w}, {b}, 0.1)", (shape[0], 4, shape[1]), op="group_norm")


def masked_attention(p):
    x = whole(p, 3)
    if not x or p.second:  # PyTorch has no second derivative of its kernel
        return
    batch, rows, width = p.shape(x)
    keys = p.random.choice(LETTERS)
    heads = p.random.choice((1, 4))
    groups = 2 if heads == 4 else 1
    k, v = p.weight((batch, groups, keys, width)), p.weight((batch, groups, keys, width))
    mask, kind = "None", p.random.choice(("bool", "bool", "float", "causal", "none"))
    if kind == "bool":  # a row that may attend to nothing is 0 / 0 in some of PyTorch's kernels
        mask = f"(({p.weight((rows, keys))}.detach() > 0) | (T.arange({keys}) == {p.random.choice(('0', keys + ' - 1'))}))"
    elif kind == "float":
        mask = p.weight((p.random.choice((1, batch)), 1, rows, keys))
    source = channels(x, 1) if heads == 4 else f"{x}.unsqueeze(1)"
    value = f"({v} * (1 + T.arange({keys}, dtype=x0.dtype)[:, None] / 89.37))"
    p.emit(f"F.scaled_dot_product_attention({source}, {k}, {value}, {mask}, is_causal={kind == 'causal'}, scale=0.4, "
           f"enable_gqa={heads == 4}).mean(1)", (batch, rows, width), op="attend causal mean" if kind == "causal" else "attend mean")


def recurrence(p):
    x = whole(p, 2)
    if not x:
        return
    batch, width = p.shape(x)
    hidden, steps = p.random.choice(LETTERS), p.random.randint(1, 3)
    h, c = p.name(), p.name()
    kind, count = p.random.choice((("lstm", 4), ("gru", 3)))
    w_ih, w_hh, bias = p.weight((f"{count} * {hidden}", width)), p.weight((f"{count} * {hidden}", hidden)), \
        p.random.choice((p.weight((f"{count} * {hidden}",)), "None"))
    p.lines.append(f"{h} = {c} = {p.weight((batch, hidden))}.tanh()")
    p.tag("tanh")
    p.values[h] = ((batch, hidden), "part", False)
    for _ in range(steps):
        if kind == "lstm":
            both = p.emit(f"H.lstm_cell({x}, {h}, {c}, {w_ih} / 3, {w_hh} / 3, {bias})", (), "pair", op="lstm_step linear")
            h, c = p.emit(f"{both}[0]", (batch, hidden)), p.emit(f"{both}[1]", (batch, hidden))
        else:
            h = p.emit(f"H.gru_cell({x}, {h}, {w_ih} / 3, {w_hh} / 3, {bias})", (batch, hidden), op="gru_step linear")


# ---- scans, sorts, scatters ----

def running_extreme(p):
    x = whole_raw(p, p.random.choice((1, 2, 3)))
    if p.second:
        return
    shape = p.shape(x)
    op = p.random.choice(("cummax", "cummin"))
    both = p.emit(f"T.{op}({x}, {p.random.randrange(len(shape))})", (), "pair", op=op)
    p.emit(f"{both}[0]", shape)
    p.emit(f"{both}[1]", shape, "i")


def running_of_integers(p):
    i = p.some("i", at_least=1)
    if i:
        text, op = p.random.choice((("({i} % 9).cumsum({d})", "cumsum"), ("({i} % 3 - 1).cumprod({d})", "cumprod"),
                                    ("T.cumsum({i} % 5 > 2, {d})", "cumsum"), ("T.cummax({i} % 7, {d})[0]", "cummax")))
        p.emit(text.format(i=i, d=p.random.randrange(len(p.shape(i)))), p.shape(i), "i", op=op)


def ordering(p):
    x = whole_raw(p, p.random.choice((1, 2, 2)))
    shape = p.shape(x)
    n, down = shape[-1], p.random.random() < 0.5
    kind = p.random.choice(("argsort", "argsort", "sort", "topk", "kth", "median", "quantile", "search", "search", "integers"))
    if kind == "argsort":
        p.emit(f"T.argsort({x}, dim={p.random.randrange(len(shape))}, descending={down}, stable=True)", shape, "i", op="argsort")
    elif kind == "sort":
        both = p.emit(f"T.sort({x}, dim=-1, descending={down}, stable=True)", (), "pair", op="sort")
        p.emit(f"{both}[0]", shape)
        p.emit(f"{both}[1]", shape, "i")
    elif kind == "topk":
        both = p.emit(f"T.topk({apart(x, n)}, {n} - k0, -1, {down})", (), "pair", op="sort slice")
        p.emit(fitted(p, f"{both}[0]", shape[-1:]), shape, op="pad")
        p.emit(f"{both}[1].sum(-1)", shape[:-1], "i", op="sum")
    elif kind == "kth":
        both = p.emit(f"T.kthvalue({apart(x, n)}, 1 + k0, -1)", (), "pair", op="sort")
        p.emit(f"{both}[0]", shape[:-1])
        p.emit(f"{both}[1]", shape[:-1], "i")
    elif kind == "median":
        p.emit(f"T.{p.random.choice(('median', 'nanmedian'))}({apart(x, n)}, -1)[0]", shape[:-1], op="argsort gather")
    elif kind == "quantile":
        p.emit(f"T.quantile({apart(x, n)}, 0.3, -1)", shape[:-1], op="sort gather")
    elif kind == "search" and len(shape) == 1:
        text = p.random.choice(("T.searchsorted({s}, {y}, right={r})", "T.bucketize({y}, {s}, right={r})"))
        y = whole_raw(p, 2)
        p.emit(text.format(s=f"T.sort({x}.detach())[0]", y=f"{y}.detach()", r=down), p.shape(y), "i", op="sort")
    elif kind == "search":
        p.emit(f"T.searchsorted(T.sort({x}.detach())[0], {x}.detach() + 1 / 64, right={down})", shape, "i", op="sort")
    else:
        i = p.some("i", at_least=1)
        if i:
            p.emit(f"T.sort({i}, dim=-1, descending={down}, stable=True)[p_0]".replace("p_0", str(p.random.randrange(2))), p.shape(i), "i", op="sort")


def scatter_reduction(p):
    x = whole_raw(p, 2)
    if p.second:
        return
    rows, columns = p.shape(x)
    how = p.random.choice(("sum", "prod", "prod", "amax", "amax", "amin", "amin", "mean"))
    op = {"sum": "scatter_add", "mean": "scatter_add", "prod": "scatter_prod", "amax": "scatter_max", "amin": "scatter_min"}[how]
    own = p.random.random() < 0.7
    if how.startswith("am") and not own:  # PyTorch has what is left out share the gradient where it is as large by chance
        x = f"({x} + 1 / 128)"
    if p.random.random() < 0.5:
        dim = p.random.randrange(2)
        i, src = p.input((rows, columns), "i", (rows, columns)[dim]), p.weight((rows, columns))
        text = f"T.scatter_reduce({{x}}, {dim}, {i}, {{y}}, '{how}', include_self={own})"
    else:
        i, src = p.input(("C",), "i", rows), p.weight(("C", columns))
        text = f"T.index_reduce({{x}}, 0, {i}, {{y}}, '{how if how != 'sum' else 'mean'}', include_self={own})"
    grows = how == "prod"
    wide = (lambda t: f"(0.75 + {t}.sigmoid() / 2)") if grows else (lambda t: t)
    p.emit(text.format(x=wide(x), y=wide(src)), (rows, columns), op=op)


def index_writing(p):
    x = whole(p, 2)
    if not x:
        return
    rows, columns = p.shape(x)
    kind = p.random.choice(("add", "copy", "fill", "put", "take", "along", "select", "slice", "bag", "padded"))
    i, y = p.input(("C",), "i", rows), p.weight(("C", columns))
    order, op = f"T.arange({rows}).flip(0)", "scatter"
    if kind == "add":
        text, op = f"T.index_add({x}, 0, {i}, {y}, alpha=0.5) / 2", "scatter_add"
    elif kind == "copy":
        text = f"T.index_copy({x}, 0, {order}, {p.weight((rows, columns))} + {x})"
    elif kind == "fill":
        text = f"T.index_fill({x}, 0, {i}, 0.25)"
    elif kind == "put":
        text, op = f"T.index_put({x}, ({i},), {y}, accumulate=True) / 2", "put_nd"
    elif kind == "take":
        text, op = f"T.take({x}, T.arange({rows} * {columns}).flip(0)).reshape({rows}, {columns})", "take"
    elif kind == "along":
        text, op = f"T.take_along_dim({x}, {p.input((rows, columns), 'i', columns)}, 1)", "gather"
    elif kind == "select":
        text, op = f"T.select_scatter({x}, {p.weight((columns,))}, 0, k0)", "slice_update"
    elif kind == "slice":
        text, op = f"T.slice_scatter({x}, {x}[1:] * 0.5, 0, 0, {rows} - 1)", "slice_update"
    elif kind == "bag" and not p.second:  # PyTorch lacks its second derivative
        p.emit(f"F.embedding_bag({p.input(('B', 'C'), 'i', rows)}, {x}, mode='{p.random.choice(('mean', 'sum'))}') / 2", ("B", columns),
               op="embedding")
        return
    else:
        p.emit(f"F.embedding({p.input(('B', 'C'), 'i', rows)}, {x}, padding_idx=0)", ("B", "C", columns), op="embedding")
        return
    p.emit(text, (rows, columns), op=op)


# ---- few bits ----

NARROW = ("{h} * {h} - {g}", "{h} / ({g} * {g} + 1)", "({h} + {g}) * 0.375 - {h}", "T.maximum({h} * 1.75, {g}) + {g} * {h}",
          "T.where({h} > {g}, {h} * {h}, {g} * {h})", "F.relu({h} * {g} + 0.125) * {h}", "({h} * {g}).clamp(-0.25, 0.625) + {g} / 3")


def narrow_floats(p):
    """Each op rounds to the bits of its dtype, be it fused or not; gradients likewise. Only ops that are exact but for
    that, and of inputs: elsewhere a bit of float32 decides over one of these."""
    x = whole_raw(p, p.random.choice((1, 2)))
    y = p.partner_raw(p.shape(x))
    dtype, text = p.random.choice(("T.float16", "T.bfloat16")), p.random.choice(NARROW)
    h, g, z = p.name(), p.name(), p.name()
    p.lines += [f"{h} = {x}.detach().to({dtype}).requires_grad_()", f"{g} = {y}.detach().to({dtype})",
                f"{z} = {text.format(h=h, g=g)}"]
    if p.random.random() < 0.5:
        p.emit(f"T.autograd.grad({z}, {h}, T.ones_like({z}))[0].to(x0.dtype)", p.shape(x), op="cast", exact=True)
    else:
        p.emit(f"{z}.detach().to(x0.dtype)", p.shape(x), op="cast", exact=True)


def narrow_sums(p):
    """Of small whole numbers, which few bits hold."""
    x = whole_raw(p, 2)
    rows, columns = p.shape(x)
    dtype = p.random.choice(("T.float16", "T.bfloat16"))
    whole_numbers = f"({x}.detach() * 2).round().clamp(-2, 2).to({dtype})"
    text, shape, op = p.random.choice((
        (f"{whole_numbers}.sum(-1)", (rows,), "sum"), (f"T.amax({whole_numbers}, 0)", (columns,), "max"),
        (f"({whole_numbers} @ T.eye({columns}, dtype={dtype}))", (rows, columns), "matmul eye"),
        (f"{whole_numbers}.cumsum(-1)", (rows, columns), "cumsum"),
        (f"T.cat([{whole_numbers}, {whole_numbers} * 2], 0)[{rows}:]", (rows, columns), "concat slice")))
    p.emit(f"{text}.to(x0.dtype) / 8", shape, op=op + " cast", exact=True)


def narrow_integers(p):
    """They wrap around."""
    i = p.some("i", at_least=1)
    if not i:
        i = p.input(p.some_shape(), "i", 7)
    dtype = p.random.choice(("T.int8", "T.int16", "T.int32", "T.uint8"))
    j = f"({i} % 100).to({dtype})"
    text, op = p.random.choice((("{j} * {j}", "mul"), ("{j} + {j} * 3", "add"), ("-{j}", "neg"), ("{j} // 7", "floor_divide"),
                                ("{j} % 7", "remainder"), ("~{j} ^ 5", "bitwise_xor"), ("{j} >> 1", "bitwise_right_shift"),
                                ("T.maximum({j}, {j} * 2)", "maximum"), ("{j}.cumsum(-1)", "cumsum"), ("{j}.abs().sum(-1, keepdim=True) + {j}", "sum"),
                                ("T.sort({j} * 5, dim=-1, stable=True)[0]", "sort"), ("T.where({j} > 3, {j} - 9, {j} * 11)", "where")))
    p.emit(f"({text.format(j=j)}).to(T.int64)", p.shape(i), "i", op=op + " cast")


LAYERS = ([strided_convolution] * 3 + [volume_convolution, transposed_convolution, transposed_convolution, convolution_weight]
          + [strided_pool] * 2 + [plane_pool] * 2 + [pool_places, windows, windows, resizing, channel_norm, channel_norm, channel_norm]
          + [masked_attention] * 2 + [recurrence] * 2 + [running_extreme, running_of_integers] + [ordering] * 3
          + [scatter_reduction] * 4 + [index_writing] * 3 + [narrow_floats] * 2 + [narrow_sums, narrow_integers])
