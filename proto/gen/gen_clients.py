# SPDX-License-Identifier: Apache-2.0
"""What clients and readers see of the ops: client/python/burn/_ops.py and .pyi, client/c/burn/burn_ops.h,
client/c/ops_gen.c, proto/OPS.md, tests/conformance/ops_gen.json (domains and tolerances for tests)."""

import json
import textwrap

from gen_table import HEAD, revision
from ops_model import DTYPES

NOTE = "Made by proto/gen_ops.py from proto/ops.toml."
DTYPE_NAMES = {number: name for name, number in DTYPES.items()}
IN_BURN_H = {"detach"}  # burn.h has a function of its own


# ---- Python ---------------------------------------------------------------------------------------------

def python_default(attr):
    if attr.kind in ("ints", "sizes"):
        return "()"
    if attr.kind == "dtype":
        return "None" if attr.default == 0 else str(attr.default)
    return str(attr.default)


def python_parameters(op):
    """Inputs in order, then attributes; defaults from the first parameter on after which all have one."""
    pairs = [(one.name, "None" if one.optional else None) for one in op.inputs]
    pairs += [(attr.name, python_default(attr) if attr.default is not None else None) for attr in op.attrs]
    first = len(pairs)
    while first and pairs[first - 1][1] is not None:
        first -= 1
    return ", ".join(name if place < first else f"{name}={default}" for place, (name, default) in enumerate(pairs))


def python_function(op):
    singles = [one.name for one in op.inputs if not one.variadic]
    items = singles + ([f"*{op.inputs[-1].name}"] if op.variadic else [])
    inputs = "(" + ", ".join(items) + (",)" if len(items) == 1 else ")")
    outputs = op.outputs
    if outputs == "split":
        outputs = f"len({op.attrs[0].name})"
    elif op.outputs_if:
        outputs = f"{outputs} if {op.outputs_if} is None else {outputs + 1}"
    arguments = [str(op.number), inputs]
    if op.attrs:
        arguments.append("(" + ", ".join(attr.name for attr in op.attrs) + ("," if len(op.attrs) == 1 else "") + ")")
    if outputs != 1:
        arguments.append(f"outputs={outputs}")
    doc = "\n    ".join(textwrap.wrap(op.doc, 110))
    return (f'def {op.name}({python_parameters(op)}):\n    """{doc}"""\n'
            f"    return _apply({', '.join(arguments)})\n")


def is_plain(op):
    """Whether burn has a function and Tensor a method of this name with no more said: a pointwise op of one or two
    tensors that PyTorch has under torch, not only under torch.nn.functional."""
    return (op.public and "pointwise" in op.flags and not op.attrs and len(op.inputs) in (1, 2)
            and all(one.role == "value" and not one.optional for one in op.inputs) and "." not in op.torch)


def python_module(ops):
    functions = "\n\n".join(python_function(op) for op in ops if op.public)
    numbers = "".join(f"{op.name.upper()} = {op.number}\n" for op in ops if "internal" not in op.flags)
    plain = "".join(f'    "{op.name}": {len(op.inputs)},\n' for op in ops if is_plain(op))
    return f'''# SPDX-License-Identifier: Apache-2.0
"""One function an op, by the op's own name and arguments: inputs, then attributes. {NOTE}"""

from . import _core

_apply = _core.apply

{numbers}
# pointwise ops of one or two tensors, with their number: functions of burn, methods of Tensor
PLAIN = {{
{plain}}}


{functions}'''


def python_types(op):
    """The parameters of python_parameters with their types."""
    kinds = {"ints": "Sequence[int]", "sizes": "Sequence[int]", "dtype": "Dtype"}
    types = {one.name: "Sequence[Tensor]" if one.variadic else
             "Number" if one.role in ("param", "number") else
             "Tensor" if one.role == "index" else "Operand" for one in op.inputs}
    types.update({one.name: types[one.name] + " | None" for one in op.inputs if one.optional})
    types.update({attr.name: kinds.get(attr.kind, "int") for attr in op.attrs})
    parts = []
    for part in python_parameters(op).split(", "):
        name, equals, _ = part.partition("=")
        parts.append(f"{name}: {types[name]}" + (" = ..." if equals else "") if part else "")
    return ", ".join(parts)


def python_stubs(ops):
    def result(op):
        if op.outputs == 1:
            return "Tensor"
        if isinstance(op.outputs, int) and not op.outputs_if:
            return f"tuple[{', '.join(['Tensor'] * op.outputs)}]"
        return "tuple[Tensor, ...]"

    functions = "".join(f"def {op.name}({python_types(op)}) -> {result(op)}: ...\n" for op in ops if op.public)
    numbers = "".join(f"{op.name.upper()}: int\n" for op in ops if "internal" not in op.flags)
    return f"""# SPDX-License-Identifier: Apache-2.0
# {NOTE}
from collections.abc import Sequence
from typing import TypeAlias

from ._core import Tensor
from ._dtype import dtype as _dtype

Number: TypeAlias = Tensor | bool | int | float
Operand: TypeAlias = Tensor | bool | int | float
Dtype: TypeAlias = _dtype | int | None

{numbers}
PLAIN: dict[str, int]
{functions}"""


# ---- C ----------------------------------------------------------------------------------------------------

C_ATTR = {"int": "int64_t {}", "size": "int64_t {}", "dtype": "int {}",
          "ints": "int {}_count, const int64_t *{}", "sizes": "int {}_count, const int64_t *{}"}


def c_name(name):
    return name + "_" if name in ("index", "std") else name


def c_parameters(op):
    parts = ["burn_context *context"]
    for one in op.inputs:
        if one.variadic:
            parts.append(f"size_t {one.name}_count, burn_tensor *const *{one.name}")
        else:
            parts.append(f"burn_input {c_name(one.name)}")
    parts += [C_ATTR[attr.kind].format(attr.name, attr.name) for attr in op.attrs]
    single = op.outputs == 1
    most = op.outputs if isinstance(op.outputs, int) else None
    most = most + 1 if op.outputs_if else most
    parts.append("burn_tensor **out" if single or most is None else f"burn_tensor *out[{most}]")
    return parts


def c_wrapped(head, parts, end):
    """Parameters after the opening bracket, wrapped at 100 columns."""
    lines, line = [], head + "("
    indent = " " * len(line)
    for place, part in enumerate(parts):
        text = part + (", " if place + 1 < len(parts) else ")" + end)
        if len(line) + len(text.rstrip()) > 100 and line.strip() != head + "(":
            lines.append(line.rstrip())
            line = indent
        line += text
    return "\n".join(lines + [line.rstrip()])


# Values of the attribute `reduction`.
REDUCTIONS = ["none", "mean", "sum"]


def c_usual(attr):
    """The default as one writes it in C."""
    if attr.name == "reduction":
        return f"BURN_REDUCTION_{REDUCTIONS[attr.default].upper()}"
    if attr.kind == "dtype":
        return f"BURN_DTYPE_{DTYPE_NAMES[attr.default].upper() if attr.default else 'DEFAULT'}"
    return attr.default_text


def c_doc(op):
    """The comment of a function: what it does, then what its parameters may be."""
    notes = []
    optional = [c_name(one.name) for one in op.inputs if one.optional]
    if optional:
        notes.append(f"May be burn_none(): {', '.join(optional)}.")
    numbers = [c_name(one.name) for one in op.inputs if one.role in ("param", "number")]
    if numbers:
        notes.append(f"Numbers: {', '.join(numbers)}.")
    usual = [f"{attr.name} {c_usual(attr)}" for attr in op.attrs if attr.default is not None]
    if usual:
        notes.append(f"Usual: {', '.join(usual)}.")
    lines = textwrap.wrap(op.doc, 96) + textwrap.wrap(" ".join(notes), 96)
    return "/* " + "\n * ".join(lines) + " */"


def c_header(ops):
    reductions = ", ".join(f"BURN_REDUCTION_{name.upper()} = {number}" for number, name in enumerate(REDUCTIONS))
    functions = "\n".join(f"{c_doc(op)}\n{c_wrapped('BURN_API burn_status burn_' + op.name, c_parameters(op), ';')}"
                          for op in ops if op.public and op.name not in IN_BURN_H)
    return f"""/* SPDX-License-Identifier: Apache-2.0
 * burn_ops.h: one function an op. {NOTE}
 *
 * Inputs first: tensors as burn_in(tensor), numbers as burn_float(2.5), burn_int(2), burn_bool(1), absent ones as
 * burn_none(). Then attributes; a list is its length and its items. A dim counts from the end if it is negative; a
 * keepdim and the like is 0 or 1; a dtype is one of BURN_DTYPE_, BURN_DTYPE_DEFAULT for the one that the op gives by
 * itself. Results go to out, which is the caller's.
 * Shapes and dtypes are checked at once; what fails in the daemon surfaces at the next burn_read or burn_sync. */
#ifndef BURN_BURN_OPS_H
#define BURN_BURN_OPS_H

#include "burn/burn.h"

#ifdef __cplusplus
extern "C" {{
#endif

/* What becomes of the losses of all elements. */
enum {{ {reductions} }};

{functions}

#ifdef __cplusplus
}}
#endif
#endif
"""


def c_function(op):
    lines = []
    singles = [c_name(one.name) for one in op.inputs if not one.variadic]
    if op.variadic:
        name = op.inputs[-1].name
        before = ", ".join(singles)
        lines.append(f"const burn_input first[] = {{{before or 'burn_none()'}}};")
        call = f"burn_apply_list(context, {op.number}, first, {len(singles)}, {name}, {name}_count"
    elif singles:
        lines.append(f"const burn_input inputs[] = {{{', '.join(singles)}}};")
        call = f"burn_apply(context, {op.number}, inputs, {len(singles)}"
    else:
        call = f"burn_apply(context, {op.number}, NULL, 0"
    if op.attrs:
        items = [f"burn_list({attr.name}, (size_t){attr.name}_count)" if attr.kind in ("ints", "sizes")
                 else f"burn_number({attr.name})" for attr in op.attrs]
        lines.append(f"const burn_attribute attributes[] = {{{', '.join(items)}}};")
        call += f", attributes, {len(op.attrs)}"
    else:
        call += ", NULL, 0"
    if op.outputs == "split":
        count = f"(size_t){op.attrs[0].name}_count"
    elif op.outputs_if:
        count = f"{op.outputs_if}.kind ? {op.outputs + 1} : {op.outputs}"
    else:
        count = str(op.outputs)
    lines.append(f"return {call}, out, {count});")
    body = "".join(f"    {line}\n" for line in lines)
    return f"{c_wrapped('burn_status burn_' + op.name, c_parameters(op), '')}\n{{\n{body}}}\n"


def c_source(ops):
    functions = "\n".join(c_function(op) for op in ops if op.public and op.name not in IN_BURN_H)
    return f"""{HEAD}#include "burn/burn_ops.h"

#include <stdlib.h>

/* Named inputs, then tensors without a fixed number. */
static burn_status burn_apply_list(burn_context *context, int op, const burn_input *first, size_t first_count,
                                   burn_tensor *const *rest, size_t rest_count,
                                   const burn_attribute *attributes, size_t attribute_count,
                                   burn_tensor **out, size_t out_count)
{{
    burn_input few[64] = {{0}}, *inputs = few;
    if (rest_count > sizeof few / sizeof *few - first_count) {{
        inputs = rest_count < SIZE_MAX / sizeof *inputs - first_count
                     ? malloc((first_count + rest_count) * sizeof *inputs)
                     : NULL;
        if (!inputs)
            return BURN_STATUS_NO_MEMORY;
    }}
    for (size_t i = 0; i < first_count; i++)
        inputs[i] = first[i];
    for (size_t i = 0; i < rest_count; i++)
        inputs[first_count + i] = (burn_input){{.kind = 1, .as.tensor = rest ? rest[i] : NULL}};
    burn_status status = burn_apply(context, op, inputs, first_count + rest_count, attributes,
                                    attribute_count, out, out_count);
    if (inputs != few)
        free(inputs);
    return status;
}}

{functions}"""


# ---- manual and recipes -------------------------------------------------------------------------------------

def signature(op):
    marks = {True: "?", False: ""}
    inputs = [one.name + ("*" if one.variadic else marks[one.optional]) for one in op.inputs]
    attrs = [f"{attr.name}: {attr.kind}" + ("" if attr.default is None else f" = {attr.default_text}")
             for attr in op.attrs]
    return f"{op.name}({', '.join(inputs)}" + (f"; {', '.join(attrs)}" if attrs else "") + ")"


def manual_row(op):
    facts = []
    if isinstance(op.outputs, str):
        facts.append({"split": "as many outputs as sizes", "wrt": "an output for each of the last tensors",
                      "attr": "as many outputs as it says"}[op.outputs])
    elif op.outputs != 1:
        facts.append(f"{op.outputs} outputs" + (f", one more with {op.outputs_if}" if op.outputs_if else ""))
    facts.append(f"dtype: {op.dtype}, shape: {op.shape}")
    if "control" not in op.flags:
        facts.append("no gradient" if "no_gradient" in op.flags else
                     "gradient of " + ", ".join(op.grad) if isinstance(op.grad, dict) else
                     "gradient" if op.grad else "gradient through its decomposition")
        facts.append(f"instruction {op.kir}" if op.kir else "composite" if op.decompose else "core")
    names = [f"PyTorch {op.torch}"] if op.torch != op.name else []
    names += [f"Array API {op.array_api}"] if op.array_api else []
    names += [f"ONNX {op.onnx}"] if op.onnx else []
    if names:
        facts.append(", ".join(names))
    since = f" Since {op.since}." if op.since > 1 else ""
    return f"### {op.number} `{signature(op)}`\n{op.doc}{since}\n\n*{'; '.join(facts)}*\n"


def manual(ops):
    sections = (("Control records", lambda op: "control" in op.flags),
                ("Ops", lambda op: op.public),
                ("Made by the engine only", lambda op: "internal" in op.flags))
    reductions = ", ".join(f"{number} {name}" for number, name in enumerate(REDUCTIONS))
    text = f"""<!-- SPDX-License-Identifier: Apache-2.0. {NOTE} -->
# The ops

Number, inputs (`?` may be absent, `*` repeats), then attributes with kinds and defaults. Inputs are tensors or numbers; numbers are
*weak* in promotion, as Python's are in PyTorch. `dtype` and `shape` name the rules of `proto/op_rules.h`. Attributes of the kinds
int, ints and dtype are part of what a plan is made for; sizes are arguments of it. How a record travels: PROTOCOL.md.
A `dim`, and each of `dims`, counts from the end if it is negative. A `reduction` is {reductions}.

The revision of this table, `op_revision` of HELLO: {revision(ops)}. Later tables have more ops, and more attributes with defaults; what this one says stays.
"""
    for title, belongs in sections:
        text += f"\n## {title}\n\n" + "\n".join(manual_row(op) for op in ops if belongs(op))
    return text


def recipes(ops):
    rows = [{"name": op.name, "number": op.number,
             "inputs": [{"name": one.name, "role": one.role, "optional": one.optional, "variadic": one.variadic,
                         "domain": op.domain.get(one.name, [-3, 3])} for one in op.inputs],
             "attrs": [{"name": attr.name, "kind": attr.kind, "default": attr.default} for attr in op.attrs],
             "outputs": op.outputs, "dtype": op.dtype, "shape": op.shape, "flags": sorted(op.flags),
             "differentiable": "no_gradient" not in op.flags, "tolerance": op.tolerance, "torch": op.torch}
            for op in ops if op.public]
    return "[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n"


def files(ops):
    yield "client/python/burn/_ops.py", python_module(ops)
    yield "client/python/burn/_ops.pyi", python_stubs(ops)
    yield "client/c/burn/burn_ops.h", c_header(ops)
    yield "client/c/ops_gen.c", c_source(ops)
    yield "proto/OPS.md", manual(ops)
    yield "tests/conformance/ops_gen.json", recipes(ops)
