#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records infer_cases.txt: what PyTorch says of the dtype and shape of ops' results (needs torch 2.13).

A line: op | inputs | attributes | results. Inputs are float32[2,3], 2.5, 3, True or - (absent); results are
tensors or "error"."""
import itertools
import pathlib

import torch as T
import torch.nn.functional as F

DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()
LINES = []


def tensor(dtype, *shape):
    return T.zeros(shape, dtype=getattr(T, dtype))


def text(value):
    if value is None:
        return "-"
    if isinstance(value, T.Tensor):
        return f"{str(value.dtype)[6:]}[{','.join(map(str, value.shape))}]"
    return repr(value)


def attr_text(value):
    if isinstance(value, T.dtype):
        return str(value)[6:]
    if isinstance(value, bool):
        return str(int(value))
    return "[" + ",".join(map(str, value)) + "]" if isinstance(value, (tuple, list)) else str(value)


def case(op, inputs, function, **attrs):
    try:
        results = function(*[x for x in inputs])
        results = results if isinstance(results, (tuple, list)) else (results,)
        found = " ".join(text(x) for x in results)
    except (RuntimeError, IndexError, ValueError, NotImplementedError):
        found = "error"
    names = " ".join(f"{name}={attr_text(value)}" for name, value in attrs.items())
    LINES.append(f"{op} | {' '.join(text(x) for x in inputs)} | {names} | {found}")


def promotion():
    for a, b in itertools.product(DTYPES, DTYPES):
        for one, other in (((2, 3), (3,)), ((3,), ()), ((), ())):
            case("add", (tensor(a, *one), tensor(b, *other)), T.add)
    for a in DTYPES:
        for scalar in (True, 2, 2.5):
            for shape in ((3,), ()):
                x = tensor(a, *shape)
                case("add", (x, scalar), T.add)
                case("div", (scalar, x), lambda s, t: T.true_divide(s, t) if False else s / t)
                case("eq", (x, scalar), T.eq)
                case("sub", (x, scalar), T.sub)
                case("where", (tensor("bool", 3), x, scalar), T.where)
        for name in "exp sqrt sigmoid isnan isfinite logical_not neg sum prod argmax any bitwise_not".split():
            case(name, (tensor(a, 2, 3),), getattr(T, name))
        case("mean", (tensor(a, 2, 3),), T.mean)
        case("softmax", (tensor(a, 2, 3),), lambda x: T.softmax(x, 1), dim=1)
        case("masked_fill", (tensor(a, 2), tensor("bool", 2), 1), T.masked_fill)
        for b in ("float32", "int64", "bool"):
            case("sub", (tensor(a, 2), tensor(b, 2)), T.sub)
            case("div", (tensor(a, 2), tensor(b, 2)), T.div)
            case("lt", (tensor(a, 2), tensor(b, 2)), T.lt)
            case("logical_and", (tensor(a, 2), tensor(b, 2)), T.logical_and)
            case("bitwise_and", (tensor(a, 2), tensor(b, 2)), T.bitwise_and)
            case("concat", (tensor(a, 2), tensor(b, 2)), lambda x, y: T.cat([x, y]))
            case("matmul", (tensor(a, 2, 2), tensor(b, 2, 2)), T.matmul)
    for low, high in ((-1.5, 2.5), (None, 3), (0, None)):
        for dtype in ("int64", "float16", "uint8"):
            case("clamp", (tensor(dtype, 4), low, high), lambda x, l, h: T.clamp(x, l, h))


def shapes():
    f = lambda *shape: tensor("float32", *shape)  # noqa: E731
    for a, b in (((3, 4), (4, 5)), ((3, 4), (5, 6)), ((4,), (4,)), ((4,), (7,)), ((2, 3), (3,)), ((3,), (3, 2)), ((), (3, 3)),
                 ((2, 1, 3, 5), (4, 5, 2)), ((4, 5), (3, 5, 2)), ((3, 5, 2), (2, 7)), ((5,), (3, 5, 2)), ((3, 0), (0, 4)),
                 ((2, 3, 4), (3, 4, 5)), ((1, 3, 4), (7, 4, 5))):
        case("matmul", (f(*a), f(*b)), T.matmul)
    for x, w, b in (((4, 5), (3, 5), (3,)), ((5,), (3, 5), None), ((2, 4, 5), (3, 5), (3,)), ((4, 5), (3, 6), None),
                    ((4, 5), (3, 5), (4,)), ((0, 5), (3, 5), (3,))):
        case("linear", (f(*x), f(*w), None if b is None else f(*b)), F.linear)
    for dims in ((), (0,), (-1,), (0, 2), (2, 0), (5,), (1, 1), (1, -2), (-4,)):
        for keepdim in (0, 1):
            case("sum", (f(3, 4, 5),), lambda x: x.sum(dims, keepdim=bool(keepdim)), dims=dims, keepdim=keepdim)
            case("max", (f(3, 4, 5),), lambda x: x.amax(dims, keepdim=bool(keepdim)), dims=dims, keepdim=keepdim)
    for shape, dim in (((3, 0), 1), ((3, 0), 0), ((0, 3), 1), ((), 0), ((), -1), ((), 1), ((4,), 0)):
        case("argmax", (f(*shape),), lambda x: x.argmax(dim), dims=(dim,))
        case("max_dim", (f(*shape),), lambda x: x.max(dim), dim=dim)
        case("softmax", (f(*shape),), lambda x: x.softmax(dim), dim=dim)
        case("sum", (f(*shape),), lambda x: x.sum(dim), dims=(dim,))
    for shape, to in (((3, 4), (2, 6)), ((3, 4), (5, 2)), ((0, 4), (2, 0, 3)), ((), (1, 1)), ((1,), ()), ((2, 3), (6,)), ((3,), (-3,))):
        case("reshape", (f(*shape),), lambda x: x.reshape(to), shape=to)
    for shape, to in (((3, 1), (3, 5)), ((3, 4), (3, 5)), ((3,), (2, 3)), ((2, 3), (3,)), ((1,), (0,)), ((), (2, 2)), ((2, 1), (2, 0))):
        case("expand", (f(*shape),), lambda x: x.expand(to), shape=to)
    for dims in ((0, 1, 2), (2, 0, 1), (-1, 0, 1), (0, 0, 1), (0, 1), (0, 1, 3)):
        case("permute", (f(2, 3, 4),), lambda x: x.permute(dims), dims=dims)
    for shapes_, dim in ((((2, 3), (2, 1)), 1), (((2, 3), (2, 4)), 0), (((0,), (2, 3)), 0), (((2, 3), (0,)), 1), (((2,), ()), 0),
                         (((2, 3),), -1), (((0,), (3,)), 0), (((2, 3), (2, 3)), 2)):
        case("concat", tuple(f(*s) for s in shapes_), lambda *x: T.cat(x, dim), dim=dim)
    for shapes_, dim in ((((2, 3), (2, 3)), 0), (((2, 3), (2, 3)), -1), (((2, 3), (2, 3)), 2), (((2, 3), (2, 4)), 0), (((), (), ()), 0),
                         (((2, 3), (2, 3)), 3), (((2, 3), (2, 3)), -4)):
        case("stack", tuple(f(*s) for s in shapes_), lambda *x: T.stack(x, dim), dim=dim)
    for sizes, dim in (((1, 5, 2), 1), ((3,), 0), ((3, 3), 1), ((4, 4), -1), ((0, 8), 1)):
        case("split", (f(3, 8),), lambda x: x.split(list(sizes), dim), sizes=sizes, dim=dim)
    for a, b in (((0, 4), (4,)), ((3, 1), (4,)), ((3,), (4,)), ((2, 1, 3), (5, 1)), ((0,), (1,)), ((0,), (2,))):
        case("mul", (f(*a), f(*b)), T.mul)
    for t in ((2, 0), (3, 0, 1), (1,)):
        case("flip", (f(2, 3, 4),), lambda x: x.flip(t), dims=t)


def indices():
    f = lambda *shape: tensor("float32", *shape)  # noqa: E731
    i = lambda *shape: tensor("int64", *shape)  # noqa: E731
    for x, index, dim in (((4, 6), (4, 3), 1), ((5, 4), (3, 2), 0), ((3, 4), (3,), 1), ((3, 4), (4, 4), 1), ((2, 5, 3), (2, 9, 3), -2),
                          ((), (), 0), ((3, 4), (3, 1), 2)):
        case("gather", (f(*x), i(*index)), lambda a, b: a.gather(dim, b), dim=dim)
    case("gather", (f(3, 4), f(3, 1)), lambda a, b: a.gather(1, b), dim=1)
    for x, index, dim in (((4, 3), (5, 3), 0), ((3, 4), (3, 6), 1), ((3, 4), (2, 3), 1), ((3, 4), (4, 4), 1)):
        case("scatter_add", (f(*x), i(*index), f(*index)), lambda a, b, c: a.scatter_add(dim, b, c), dim=dim)
    for index in ((3, 4), (), (0,)):
        case("embedding", (f(7, 5), i(*index)), lambda w, b: F.embedding(b, w))
    case("embedding", (f(7, 5), f(2)), lambda w, b: F.embedding(b, w))
    case("one_hot", (i(2, 3),), lambda t: F.one_hot(t, 6), classes=6)
    for x, dim, index in (((5, 6), 0, ((4,), (4,))), ((5, 6), 0, ((3, 1), (2,))), ((5, 6, 4), 1, ((3,),)), ((5, 5), 0, ((3,), (2,))),
                          ((5, 6, 7), 1, ((2, 2), (1,)))):
        full = (slice(None),) * dim
        case("take_nd", (f(*x), *(i(*s) for s in index)), lambda a, *b: a[full + tuple(b)], dim=dim)
    for x, value, index in (((5,), (2,), ((2,),)), ((4, 3), (3,), ((2,),)), ((4, 3), (3, 3), ((2,),)), ((4, 4), (), ((3,), (3,)))):
        case("put_nd", (f(*x), f(*value), *(i(*s) for s in index)), lambda a, v, *b: a.index_put(tuple(b), v), dim=0)


def losses():
    f = lambda *shape: tensor("float32", *shape)  # noqa: E731
    i = lambda *shape: tensor("int64", *shape)  # noqa: E731
    names = ("none", "mean", "sum")
    for reduction, name in enumerate(names):
        for x, t, w in (((6, 5), (6,), None), ((4, 5), (3,), None), ((5,), (), None), ((2, 3, 4, 2), (2, 4, 2), (3,)), ((4, 5), (4,), (3,))):
            weight = None if w is None else f(*w)
            case("nll_loss", (f(*x), i(*t), weight), lambda a, b, c: F.nll_loss(a, b, c, reduction=name), reduction=reduction)
            case("cross_entropy", (f(*x), i(*t), weight, 0.1),
                 lambda a, b, c, e: F.cross_entropy(a, b, c, label_smoothing=e, reduction=name), reduction=reduction)
        for op in ("mse_loss", "l1_loss"):
            case(op, (f(4, 5), f(4, 5)), lambda a, b: getattr(F, op)(a, b, reduction=name), reduction=reduction)
        case("mse_loss", (f(4, 5), f(3, 5)), lambda a, b: F.mse_loss(a, b, reduction=name), reduction=reduction)
        case("bce_with_logits", (f(4, 5), f(4, 5), f(4, 1), f(5)),
             lambda a, b, w, p: F.binary_cross_entropy_with_logits(a, b, w, reduction=name, pos_weight=p), reduction=reduction)
        case("bce_with_logits", (f(4), f(5), None, None),
             lambda a, b, w, p: F.binary_cross_entropy_with_logits(a, b, reduction=name), reduction=reduction)
    for x, shape, w in (((4, 5, 16), (16,), (16,)), ((4, 5), (6,), None), ((3, 4, 5), (4, 5), (4, 5)), ((3, 4), (3, 4), None), ((3, 4), (4,), (3,))):
        weight = None if w is None else f(*w)
        case("layer_norm", (f(*x), weight, None, 1e-5), lambda a, b, c, e: F.layer_norm(a, shape, b, c, e), shape=shape)
        case("rms_norm", (f(*x), weight, 1e-5), lambda a, b, e: F.rms_norm(a, shape, b, e), shape=shape)


def main():
    promotion()
    shapes()
    indices()
    losses()
    head = "# Made by make_infer_cases.py with PyTorch " + T.__version__.split("+")[0] + ".\n"
    path = pathlib.Path(__file__).with_name("infer_cases.txt")
    path.write_text(head + "\n".join(dict.fromkeys(LINES)) + "\n")
    print(f"{len(set(LINES))} cases")


if __name__ == "__main__":
    main()
