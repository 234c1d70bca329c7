# SPDX-License-Identifier: Apache-2.0
"""Every op as an expression over burn or torch, with inputs: the source of conformance cases and of gradient checks.

A row: ops that it covers, expression, inputs by name (shape key, domain), dtype kinds, and whether it is
differentiable. Shape keys: "x" the case's shape, "row" its last dim, "one" a shape that broadcasts, "()" 0-d,
or an explicit tuple. Domains: "" standard normal, "(a,b)" uniform, "<n" integers."""
from dataclasses import dataclass, field


@dataclass
class Row:
    name: str
    expression: str
    inputs: dict
    dtypes: str = "f"        # f: f32 f64; i: i32 i64; u: u8; b: bool
    gradient: bool = True
    shapes: tuple = ()       # instead of the usual ones
    flags: str = ""
    ops: tuple = field(default=())


ROWS: list[Row] = []


def row(name, expression, inputs=None, dtypes="f", gradient=True, shapes=(), flags="", ops=()):
    ROWS.append(Row(name, expression, inputs or {"x": ("x", "")}, dtypes, gradient, shapes, flags, ops or (name,)))


def unary(names, domain="", dtypes="f", gradient=True):
    for name in names.split():
        row(name, f"T.{name}(x)", {"x": ("x", domain)}, dtypes, gradient)


unary("exp sin cos tanh sigmoid erf erfc expm1 exp2 sinh cosh asinh atan")
unary("log sqrt rsqrt log2 log10 reciprocal lgamma", "(0.2,5)")
unary("digamma", "(0.2,5)")
unary("erfinv", "(-0.95,0.95)")
unary("log1p", "(-0.6,3)")
unary("tan", "(-1.3,1.3)")
unary("asin acos atanh", "(-0.9,0.9)")
unary("acosh", "(1.1,6)")
unary("floor ceil trunc round", "(-4,4)", gradient=False)
unary("square", "", "fi")
unary("neg abs", "", "fi")
unary("sign", "", "fi", gradient=False)
unary("isnan isinf isfinite", "", "fi", gradient=False)
unary("logical_not", "", "fiub", gradient=False)
unary("bitwise_not", "", "iub", gradient=False)
row("relu", "F.relu(x)", dtypes="fi")
for name, expression in {
    "gelu": "F.gelu(x)", "gelu_tanh": "F.gelu(x, approximate='tanh')", "silu": "F.silu(x)",
    "leaky_relu": "F.leaky_relu(x, 0.1)", "elu": "F.elu(x, 0.7)", "softplus": "F.softplus(x, 1.5, 4.0)",
    "hardtanh": "F.hardtanh(x, -0.5, 0.7)", "logsigmoid": "F.logsigmoid(x)", "softsign": "F.softsign(x)",
    "mish": "F.mish(x)", "hardsigmoid": "F.hardsigmoid(x)", "hardswish": "F.hardswish(x)",
}.items():
    # PyTorch's own gradient of hardsigmoid multiplies by 1/6 rounded to float32
    row(name, expression, ops=("gelu",) if name == "gelu_tanh" else (), flags="rtol=1e-7" if name == "hardsigmoid" else "")

row("zeta", "T.special.zeta(x.detach(), y)", {"x": ("x", "(1.5,4)"), "y": ("x", "(0.5,4)")})
TWO = {"x": ("x", ""), "y": ("x", "")}
BROAD = {"x": ("x", ""), "y": ("one", "")}
POSITIVE = {"x": ("x", "(0.3,3)"), "y": ("x", "(0.3,3)")}
NONZERO = {"x": ("x", "(-9,10)"), "y": ("x", "(1,5)")}
for name, sign in {"add": "+", "mul": "*"}.items():
    row(name, f"x {sign} y", BROAD, "fiub")
row("sub", "x - y", BROAD, "fiu")
row("div", "x / y", {"x": ("x", ""), "y": ("one", "(1,4)")}, "fi")
row("pow", "T.pow(x, y)", POSITIVE)
row("pow_int", "T.pow(x, y)", {"x": ("x", "(-4,5)"), "y": ("x", "(0,6)")}, "i", ops=("pow",))
for name in ("maximum", "minimum", "fmax", "fmin"):
    row(name, f"T.{name}(x, y)", BROAD, "fi" if name[0] == "m" else "f")
for name in ("floor_divide", "remainder", "fmod"):
    row(name, f"T.{name}(x, y)", NONZERO, "fi", gradient=name != "floor_divide")
row("atan2", "T.atan2(x, y)", TWO)
row("hypot", "T.hypot(x, y)", POSITIVE)
row("logaddexp", "T.logaddexp(x, y)", TWO)
row("logaddexp2", "T.logaddexp2(x, y)", TWO)
row("copysign", "T.copysign(x, y)", TWO)
row("ldexp", "T.ldexp(x, y)", TWO)
row("xlogy", "T.xlogy(x, y)", POSITIVE)
row("nextafter", "T.nextafter(x, y)", TWO, gradient=False)
for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    row(name, f"T.{name}(x, y)", BROAD, "fiub", gradient=False)
for name in ("logical_and", "logical_or", "logical_xor"):
    row(name, f"T.{name}(x, y)", BROAD, "fib", gradient=False)
for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    row(name, f"T.{name}(x, y)", BROAD, "iub", gradient=False)
for name in ("bitwise_left_shift", "bitwise_right_shift"):
    row(name, f"T.{name}(x, y)", {"x": ("x", ""), "y": ("x", "(0,5)")}, "i", gradient=False)
row("where", "T.where(c, x, y)", {"c": ("x:bool", ""), "x": ("x", ""), "y": ("one", "")}, "fi")
row("clamp", "x.clamp(-0.4, 0.8)", dtypes="f")
row("clamp_int", "x.clamp(-3, 5)", dtypes="i", ops=("clamp",))
row("clamp_tensor", "x.clamp(y, y + 1)", BROAD, ops=("clamp",))
row("lerp", "T.lerp(x, y, 0.3)", TWO)
row("addcmul", "T.addcmul(x, y, y, value=0.5)", BROAD)
row("addcdiv", "T.addcdiv(x, y, y * y + 1, value=0.5)", BROAD)
row("masked_fill", "x.masked_fill(c, 2.5)", {"c": ("x:bool", ""), "x": ("x", "")})
row("cast", "(x.to(T.float64), x.to(T.float32), x.to(T.int64), x.to(T.int32), x.to(T.bool))",
    {"x": ("x", "(0,100)")}, "fiub", gradient=False)
row("cast_gradient", "x.to(T.float32).to(T.float64) * 2", ops=("cast",))
row("scalars", "(x + 2, 3 - x, x * 0.5, x / 4, 2 / (x * x + 1), x ** 3)", dtypes="f", ops=("add", "sub", "mul", "div"))

# views
for name, expression in {
    "reshape": "x.reshape(-1)", "permute": "x.permute(tuple(reversed(range(x.dim())))) * 1", "flip": "x.flip(-1)",
    "unsqueeze_expand": "x.unsqueeze(0).expand(3, *x.shape) * 2", "slice_step": "x[..., 1::2]",
    "slice_then_transpose": "x[..., 2:].transpose(-1, -2).contiguous() if x.dim() > 1 else x[2:]",
    "pad": "F.pad(x, (1, 2), value=0.5)", "pad_crop": "F.pad(x, (-1, 3))", "concat": "T.cat([x, x * 2, x], -1)",
    "stack": "T.stack([x, x + 1], 0)", "split": "[p * (i + 1) for i, p in enumerate(T.split(x, 3, -1))]",
}.items():
    row(name, expression, dtypes="fib" if name in ("reshape", "flip") else "fi" if name == "concat" else "f",
        shapes=((7,), (3, 5), (1, 9), (2, 3, 11), (4, 67)),
        ops={"unsqueeze_expand": ("expand",), "slice_step": ("slice",), "slice_then_transpose": ("slice", "permute"),
             "pad_crop": ("pad",)}.get(name, ()))
row("tril", "T.tril(x, 1)", shapes=((3, 4), (2, 5, 5)))
row("triu", "T.triu(x, -1)", shapes=((3, 4), (2, 5, 5)))
row("slice_update", "y = x * 1; y[..., 1:3] = 0.5; y[..., ::2] *= 3; y", shapes=((7,), (3, 5), (2, 3, 9)))
row("detach_clone", "x.detach() * 2 + x.clone()", ops=("detach", "clone"))

# reductions
for name in ("sum", "mean", "prod"):
    row(f"{name}_all", f"x.{name}()", dtypes="f" if name != "sum" else "fiub", ops=(name,))
    row(f"{name}_last", f"x.{name}(-1)", dtypes="f" if name == "mean" else "fi", ops=(name,))
    row(f"{name}_first_keep", f"x.{name}(0, keepdim=True)", ops=(name,))
NOT_EMPTY = ((1,), (7,), (3, 5), (257,), (5, 67), (2, 3, 4), (33, 19), (1, 1031))
for name in ("max", "min"):
    row(f"a{name}_all", f"x.{name}()", dtypes="fi", gradient=False, shapes=NOT_EMPTY, ops=(name,))
    row(f"a{name}_last", f"T.a{name}(x, -1)", shapes=NOT_EMPTY, ops=(name,))
    row(f"{name}_dim", f"x.{name}(0)", shapes=NOT_EMPTY)
    row(f"arg{name}", f"(x.arg{name}(), x.arg{name}(-1), x.arg{name}(0, keepdim=True))", dtypes="f", gradient=False,
        shapes=NOT_EMPTY)
row("any", "(x.any(), x.any(-1), x.any(0, keepdim=True))", dtypes="b", gradient=False)
row("all", "(x.all(), x.all(-1), x.all(0, keepdim=True))", dtypes="b", gradient=False)
WIDE = ((7,), (3, 5), (257,), (5, 67), (2, 3, 4), (33, 19))
row("var", "(x.var(), x.var(-1, correction=0))", shapes=WIDE)
row("std", "(x.std(-1), x.std(-1, unbiased=False))", shapes=((3, 5), (5, 67), (2, 3, 4), (33, 19)))
row("logsumexp", "(x.logsumexp(-1), x.logsumexp(0, keepdim=True))", shapes=WIDE)
for name in ("softmax", "log_softmax"):
    row(name, f"(x.{name}(-1), x.{name}(0))")
row("layer_norm", "F.layer_norm(x, (x.shape[-1],), w, b)", {"x": ("x", ""), "w": ("row", ""), "b": ("row", "")},
    shapes=((3, 5), (5, 67), (2, 3, 16), (7, 257), (1, 33)))
row("rms_norm", "F.rms_norm(x, (x.shape[-1],), w, 1e-5)", {"x": ("x", ""), "w": ("row", "")},
    shapes=((3, 5), (5, 67), (2, 3, 16), (7, 257)))
row("norm", "(x.norm(), x.norm(dim=-1), T.nn.functional.normalize(x, dim=-1))", shapes=((3, 5), (5, 67)), ops=("sum", "sqrt"))

# products
MATRIX = ((1, 1, 1), (2, 3, 4), (5, 7, 3), (17, 33, 9), (16, 16, 16), (65, 31, 67), (1, 129, 64), (128, 10, 1), (13, 1, 5),
          (0, 3, 4), (3, 0, 4), (33, 70, 130))
row("matmul", "x @ y", {"x": ("mk", ""), "y": ("kn", "")}, "fi", shapes=MATRIX, ops=("matmul", "dot"))
row("matmul_transposed", "(x.t() @ z, x @ y.t())", {"x": ("mk", ""), "z": ("mn", ""), "y": ("nk", "")}, shapes=MATRIX[:8],
    ops=("matmul",))
row("matmul_batched", "x @ y", {"x": ("bmk", ""), "y": ("kn", "")}, shapes=MATRIX[:6], ops=("matmul",))
row("linear", "F.linear(x, w, b)", {"x": ("mk", ""), "w": ("nk", ""), "b": ("n", "")}, shapes=MATRIX[:9])
row("linear_relu", "F.relu(F.linear(x, w, b)) * 2 + x.sum()", {"x": ("mk", ""), "w": ("nk", ""), "b": ("n", "")},
    shapes=MATRIX[:8], ops=("linear",))

# windows
PLACES = {"x": ((2, 4, 9, 7), ""), "w": ((6, 4, 3, 2), ""), "b": ((6,), "")}
row("conv", "F.conv2d(x, w, b, padding=1)", PLACES, shapes=((1,),))
row("conv_strided", "F.conv2d(x, w, stride=(2, 3), padding=(0, 1), dilation=(1, 2))", PLACES, shapes=((1,),), ops=("conv",))
row("conv_groups", "F.conv1d(x, w, b, padding='same', groups=3)", {"x": ((3, 6, 33), ""), "w": ((9, 2, 5), ""), "b": ((9,), "")},
    shapes=((1,),), ops=("conv",))
row("conv_relu_pool", "F.max_pool2d(F.relu(F.conv2d(x, w, b)), 2)",
    {"x": ((3, 5, 19, 21), ""), "w": ((17, 5, 3, 3), ""), "b": ((17,), "")}, shapes=((1,),), ops=("conv", "max_pool"))
row("conv_input", "F.conv_transpose2d(x, w, b, stride=2, padding=1, output_padding=1)",
    {"x": ((2, 4, 5, 4), ""), "w": ((4, 3, 3, 3), ""), "b": ((3,), "")}, shapes=((1,),))
row("conv_weight", "F.conv1d(x, w, stride=2, padding=2)", {"x": ((5, 3, 41), ""), "w": ((4, 3, 5), "")}, shapes=((1,),))
row("window", "(x.unfold(1, 3, 2), x.unfold(-1, 4, 1).sum(-1))", shapes=((5, 9), (3, 33), (2, 5, 17)))
row("window_add", "F.fold(x, (6, 5), (3, 2), stride=(1, 2), padding=(1, 0))", {"x": ((2, 12, 12), "")}, shapes=((1,),))
row("max_pool", "F.max_pool2d(x, (3, 2), stride=2, padding=1)", {"x": ((2, 3, 9, 8), "")}, shapes=((1,),))
row("max_pool_index", "F.max_pool2d(x, 3, stride=2, dilation=2, ceil_mode=True, return_indices=True)[1]",
    {"x": ((2, 3, 12, 11), "")}, gradient=False, shapes=((1,),))
row("avg_pool", "(F.avg_pool2d(x, 2), F.avg_pool2d(x, 3, 2, 1, True, False), F.avg_pool2d(x, 3, 2, 1, True))",
    {"x": ((2, 3, 9, 8), "")}, shapes=((1,),))
CHANNELS = {"x": ((4, 6, 5, 7), ""), "w": ((6,), ""), "b": ((6,), "")}
row("batch_norm", "F.batch_norm(x, None, None, w, b, True)", CHANNELS, shapes=((1,),))
row("batch_norm_fixed", "F.batch_norm(x, m.detach(), v.detach(), w, b)",
    {**CHANNELS, "m": ((6,), ""), "v": ((6,), "(0.5,2)")}, shapes=((1,),))
row("group_norm", "F.group_norm(x, 3, w, b)", CHANNELS, shapes=((1,),))

# indexing; r is the number of rows that indices may name
row("embedding", "F.embedding(i, w)", {"i": ((3, 4), "<7"), "w": ((7, 5), "")}, shapes=((1,),))
row("gather", "x.gather(1, i)", {"x": ((5, 6), ""), "i": ((5, 3), "<6")}, "fi", shapes=((1,),))
row("index_select", "x.index_select(0, i)", {"x": ((5, 6), ""), "i": ((9,), "<5")}, shapes=((1,),), ops=("take",))
row("take_nd", "x[i, j]", {"x": ((5, 6, 3), ""), "i": ((4,), "<5"), "j": ((4,), "<6")}, shapes=((1,),))
row("put_nd", "z = x * 1; z[i] = y; z", {"x": ((7, 3), ""), "i": ((4,), "perm4"), "y": ((4, 3), "")}, shapes=((1,),))
row("put_nd_accumulate", "x.index_put((i,), y, accumulate=True)",
    {"x": ((7, 3), ""), "i": ((9,), "<7"), "y": ((9, 3), "")}, shapes=((1,),), ops=("put_nd",))
row("scatter_add", "x.scatter_add(0, i, y)", {"x": ((5, 3), ""), "i": ((8, 3), "<5"), "y": ((8, 3), "")}, shapes=((1,),))
row("scatter", "x.scatter(1, i, y)", {"x": ((3, 9), ""), "i": ((3, 4), "perm4"), "y": ((3, 4), "")}, shapes=((1,),))
row("one_hot", "F.one_hot(i, 6)", {"i": ((3, 4), "<6")}, gradient=False, shapes=((1,),))

# scans, sorting, scatters with reductions
for dim in (0, 1):
    row(f"cumsum_{dim}", f"x.cumsum({dim})", shapes=((3, 5), (5, 67), (0, 3), (2, 3, 4)), dtypes="fi", ops=("cumsum",))
    row(f"cumprod_{dim}", f"x.cumprod({dim})", {"x": ("x", "(0.4,1.6)")}, shapes=((3, 5), (5, 67), (2, 3, 4)), ops=("cumprod",))
    row(f"logcumsumexp_{dim}", f"x.logcumsumexp({dim})", shapes=((3, 5), (5, 67), (2, 3, 4)), ops=("logcumsumexp",))
    row(f"cummax_{dim}", f"x.cummax({dim})[0]", shapes=((3, 5), (5, 67), (2, 3, 4)), ops=("cummax",))
    row(f"cummin_{dim}", f"(*x.cummin({dim}),)", shapes=((3, 5), (5, 67)), dtypes="fi", gradient=False, ops=("cummin",))
    row(f"sort_{dim}", f"T.sort(x, dim={dim}).values",
        shapes=((3, 5), (5, 67), (2, 3, 4)), ops=("sort",))
    row(f"argsort_{dim}", f"T.argsort(x, dim={dim}, descending=True, stable=True)", shapes=((3, 5), (5, 67)), dtypes="fiu",
        gradient=False, ops=("argsort",))
row("cumprod_zero", "x.cumprod(1)", {"x": ((3, 6), "<3")}, "i", gradient=False, shapes=((1,),), ops=("cumprod",))
row("sort_pairs", "(*T.sort(x, dim=1, stable=True), *T.sort(x, dim=0, descending=True, stable=True))", {"x": ((9, 67), "<5")}, "iu",
    gradient=False, shapes=((1,),), ops=("sort",))
for name, word in (("prod", "prod"), ("max", "amax"), ("min", "amin")):
    row(f"scatter_{name}", f"x.scatter_reduce(0, i, y, '{word}', include_self=True)",
        {"x": ((5, 3), "(0.5,2)"), "i": ((8, 3), "<5"), "y": ((8, 3), "(0.5,2)")}, shapes=((1,),), ops=(f"scatter_{name}",))

# creation
row("arange", "(T.arange(7), T.arange(2, 11, 3), T.arange(0.0, 2.0, 0.25))", {}, gradient=False, shapes=((1,),))
row("linspace", "T.linspace(-1, 2, 23)", {}, gradient=False, shapes=((1,),))
row("eye", "(T.eye(5), T.eye(3, 7))", {}, gradient=False, shapes=((1,),))
row("full", "(T.full((3, 5), 2.5), T.full((2,), 7), T.zeros(0, 3))", {}, gradient=False, shapes=((1,),))

# losses and updates
CLASSES = {"x": ((9, 5), ""), "t": ((9,), "<5"), "w": ((5,), "(0.3,2)")}
for reduction in ("mean", "sum", "none"):
    row(f"cross_entropy_{reduction}",
        f"F.cross_entropy(x, t, w.detach(), ignore_index=1, label_smoothing=0.1, reduction='{reduction}')", CLASSES,
        shapes=((1,),), ops=("cross_entropy",))
    row(f"nll_loss_{reduction}", f"F.nll_loss(x.log_softmax(1), t, w.detach(), reduction='{reduction}')", CLASSES,
        shapes=((1,),), ops=("nll_loss",))
    for name in ("mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss"):
        row(f"{name}_{reduction}", f"F.{name}(x, y, reduction='{reduction}')", TWO, shapes=((7,), (3, 5), (5, 67)),
            ops=(name,))
    row(f"bce_with_logits_{reduction}",
        f"F.binary_cross_entropy_with_logits(x, t.detach(), p.detach(), pos_weight=p.detach(), reduction='{reduction}')",
        {"x": ("x", ""), "t": ("x", "(0,1)"), "p": ("row", "(0.5,2)")}, shapes=((3, 5), (5, 67)), ops=("bce_with_logits",))
row("cross_entropy_plain", "F.cross_entropy(x, t)", {"x": ((37, 11), ""), "t": ((37,), "<11")}, shapes=((1,),),
    ops=("cross_entropy",))
row("cross_entropy_soft", "F.cross_entropy(x, y.softmax(1))", {"x": ((9, 5), ""), "y": ((9, 5), "")}, shapes=((1,),))
row("bce", "F.binary_cross_entropy(x.sigmoid(), t.detach())", {"x": ("x", ""), "t": ("x", "(0,1)")}, shapes=((7,), (3, 5)))
row("kl_div", "F.kl_div(x.log_softmax(-1), y.softmax(-1), reduction='sum')", TWO, shapes=((3, 5), (5, 67)))

USUAL = ((), (0,), (1,), (7,), (3, 5), (257,), (0, 3), (5, 67), (2, 3, 4))
