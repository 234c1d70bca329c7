# SPDX-License-Identifier: Apache-2.0
"""The op table as Python objects, checked."""

import dataclasses
import re
import tomllib

DTYPES = {"none": 0, "float64": 1, "float32": 2, "float16": 3, "bfloat16": 4, "int64": 5, "int32": 6, "int16": 7,
          "int8": 8, "uint64": 9, "uint32": 10, "uint16": 11, "uint8": 12, "bool": 13}
ROLES = ("value", "index", "condition", "param", "number")
ATTR_KINDS = ("int", "ints", "dtype", "size", "sizes", "bytes")
FLAGS = ("pointwise", "view", "reduction", "random", "internal", "no_gradient", "control", "checks")
KEYS = {"number", "family", "since", "inputs", "attrs", "outputs", "outputs_if", "dtype", "shape", "flags", "kir",
        "decompose", "grad", "tolerance", "domain", "doc", "torch", "array_api", "onnx"}


class TableError(Exception):
    """A row of ops.toml that makes no sense; the text names it."""


@dataclasses.dataclass(frozen=True)
class Input:
    name: str
    role: str
    optional: bool
    variadic: bool


@dataclasses.dataclass(frozen=True)
class Attr:
    name: str
    kind: str
    default: int | None  # lists: 0 elements, as 0
    default_text: str | None
    since: int


@dataclasses.dataclass(frozen=True)
class Op:
    name: str
    number: int
    since: int
    inputs: tuple
    attrs: tuple
    outputs: int | str
    outputs_if: str | None
    dtype: str
    shape: str
    flags: frozenset
    kir: str | None
    decompose: str | None
    grad: dict | str | None
    tolerance: float
    domain: dict
    doc: str
    torch: str
    array_api: str | None
    onnx: str | None

    def input(self, name):
        return next((i for i in self.inputs if i.name == name), None)

    def attr(self, name):
        return next((a for a in self.attrs if a.name == name), None)

    @property
    def variadic(self):
        return bool(self.inputs) and self.inputs[-1].variadic

    @property
    def public(self):
        return not self.flags & {"internal", "control"}


def parse_input(text):
    match = re.fullmatch(r"([a-z][a-z0-9_]*)(?::([a-z]+))?([?*]?)", text)
    if not match or (match[2] or "value") not in ROLES:
        raise TableError(f"input {text!r}")
    return Input(match[1], match[2] or "value", match[3] == "?", match[3] == "*")


def parse_attr(text):
    match = re.fullmatch(r"([a-z][a-z0-9_]*):([a-z]+)(?:=([^@]+))?(?:@(\d+))?", text)
    if not match or match[2] not in ATTR_KINDS:
        raise TableError(f"attribute {text!r}")
    default = match[3]
    if default is None:
        value = None
    elif match[2] == "dtype":
        value = DTYPES[default]
    else:
        value = 0 if default == "[]" else int(default)
    return Attr(match[1], match[2], value, default, int(match[4] or 1))


def merged(family, row):
    """The family's keys under the row's; tables within them are merged."""
    result = dict(family)
    for key, value in row.items():
        if isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = {**result[key], **value}
        else:
            result[key] = value
    return result


def build(name, row):
    unknown = set(row) - KEYS
    if unknown:
        raise TableError(f"{name}: unknown keys {sorted(unknown)}")
    for key in ("number", "inputs", "dtype", "shape", "doc"):
        if key not in row:
            raise TableError(f"{name}: no {key}")
    op = Op(name=name, number=row["number"], since=row.get("since", 1),
            inputs=tuple(parse_input(text) for text in row["inputs"]),
            attrs=tuple(parse_attr(text) for text in row.get("attrs", ())),
            outputs=row.get("outputs", 1), outputs_if=row.get("outputs_if"), dtype=row["dtype"], shape=row["shape"],
            flags=frozenset(row.get("flags", ())), kir=row.get("kir"), decompose=row.get("decompose"),
            grad=row.get("grad"), tolerance=float(row.get("tolerance", 1)), domain=row.get("domain", {}),
            doc=row["doc"], torch=row.get("torch", name), array_api=row.get("array_api"), onnx=row.get("onnx"))
    check(op)
    return op


def check(op):
    def require(condition, text):
        if not condition:
            raise TableError(f"{op.name}: {text}")

    require(op.flags <= set(FLAGS), "unknown flag")
    require(len(op.inputs) <= 12 and len(op.attrs) <= 8, "too many inputs or attributes")
    require(not any(i.variadic for i in op.inputs[:-1]), "only the last input may repeat")
    names = [i.name for i in op.inputs] + [a.name for a in op.attrs]
    require(len(set(names)) == len(names), "a name occurs twice")
    defaults = [a.default is not None for a in op.attrs]
    require(defaults == sorted(defaults), "attributes with defaults come last")
    require(all(a.since <= op.since or a.default is not None for a in op.attrs), "a later attribute needs a default")
    require(not (op.kir and op.decompose), "an instruction needs no decomposition")
    require(op.kir is None or "pointwise" in op.flags, "only pointwise ops are instructions")
    require(op.outputs_if is None or op.input(op.outputs_if), "outputs_if names no input")
    differentiable = "no_gradient" not in op.flags
    require(not differentiable or op.grad or op.decompose, "no gradient, and not flagged no_gradient")
    require(not (isinstance(op.grad, dict) and op.grad.keys() - {i.name for i in op.inputs}),
            "grad names no input")
    require(not set(op.domain) - {i.name for i in op.inputs}, "domain names no input")


def load(path):
    """All ops, by number."""
    with open(path, "rb") as file:
        table = tomllib.load(file)
    if set(table) != {"family", "op"}:
        raise TableError("only [family.*] and [op.*] belong here")
    ops = []
    for name, row in table["op"].items():
        family = row.get("family")
        if family is not None and family not in table["family"]:
            raise TableError(f"{name}: unknown family {family}")
        ops.append(build(name, merged(table["family"].get(family, {}), row)))
    ops.sort(key=lambda op: op.number)
    if ops[0].number < 1 or ops[-1].number > 16383:
        raise TableError("numbers are 1 to 16383")
    taken = {op.number for op in ops}
    for a, b in zip(ops, ops[1:]):
        if a.number == b.number:
            free = next(n for n in range(b.number, 16384) if n not in taken)
            raise TableError(f"{a.name} and {b.name} both have the number {a.number}; the next free one is {free}")
    return ops
