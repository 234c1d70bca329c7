# SPDX-License-Identifier: Apache-2.0
"""What the JavaScript client sees of the ops: client/js/src/ops_gen.ts, types and documentation only. The functions
themselves are made at run time from the table within the WebAssembly module."""

import textwrap

from gen_clients import NOTE, is_plain

ATTR_TYPES = {"int": "number", "size": "number", "dtype": "DType", "ints": "readonly number[]",
              "sizes": "readonly number[]"}
ROLE_TYPES = {"value": "Operand", "index": "Tensor", "condition": "Operand", "param": "Operand", "number": "Operand"}


def attr_type(attr):
    flag = attr.kind == "int" and attr.default == 0 and attr.name != "dim"
    return "number | boolean" if flag else ATTR_TYPES[attr.kind]


def camel(name):
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def parameter_name(name):
    return name + "_" if name == "var" else camel(name)


def comment(text, indent):
    lines = textwrap.wrap(text, 110)
    if len(lines) == 1:
        return f"{indent}/** {lines[0]} */\n"
    return f"{indent}/** " + f"\n{indent} * ".join(lines) + " */\n"


def parameters(op):
    """Inputs in order, those that may be absent as null, then the attributes as one object."""
    needs_attrs = any(attr.default is None for attr in op.attrs)
    singles = [one for one in op.inputs if not one.variadic]
    last_needed = max([i for i, one in enumerate(singles) if not one.optional], default=-1)
    if op.variadic or needs_attrs:
        last_needed = len(singles) - 1
    parts = []
    for i, one in enumerate(singles):
        kind = ROLE_TYPES[one.role] + (" | null" if one.optional else "")
        parts.append(f"{parameter_name(one.name)}{'?' if i > last_needed else ''}: {kind}")
    if op.variadic:
        parts.append(f"{camel(op.inputs[-1].name)}: readonly Tensor[]")
    if op.attrs:
        fields = "; ".join(f"{camel(attr.name)}{'' if attr.default is None else '?'}: {attr_type(attr)}"
                           for attr in op.attrs)
        parts.append(f"attrs{'' if needs_attrs else '?'}: {{ {fields} }}")
    return ", ".join(parts)


def result(op):
    if op.outputs == 1 and not op.outputs_if:
        return "Tensor"
    if isinstance(op.outputs, int) and not op.outputs_if:
        return "[" + ", ".join(["Tensor"] * op.outputs) + "]"
    return "Tensor[]"


def declaration(op):
    return f"{comment(op.doc, '  ')}  {camel(op.name)}({parameters(op)}): {result(op)};\n"


def plain_function(op):
    names = ["input"] if len(op.inputs) == 1 else ["input", "other"]
    return f"{comment(op.doc, '  ')}  {camel(op.name)}({', '.join(name + ': Operand' for name in names)}): Tensor;\n"


def plain_method(op):
    return f"{comment(op.doc, '  ')}  {camel(op.name)}({'other: Operand' if len(op.inputs) == 2 else ''}): Tensor;\n"


def module(ops):
    plain = [op for op in ops if is_plain(op)]
    names = "\n".join(textwrap.wrap(" ".join(op.name for op in plain), 110))
    return f"""// SPDX-License-Identifier: Apache-2.0
// {NOTE} The functions are made at run time from the table of the core; here
// stand their types, and the names of those that are also functions of Burn and methods of Tensor.
import type {{ DType }} from "./dtypes.js";
import type {{ Operand, Tensor }} from "./tensor.js";

/** Every op by its own name: inputs in order (null where an optional one is absent), then its attributes as an object.
 * Friendlier forms of the usual ones are methods of Tensor and functions of `nn`. */
export interface Ops {{
{"".join(declaration(op) for op in ops if op.public)}}}

/** Pointwise ops of one or two tensors, as functions of Burn. */
export interface PlainFunctions {{
{"".join(plain_function(op) for op in plain)}}}

/** Pointwise ops of one or two tensors, as methods of Tensor. */
export interface PlainMethods {{
{"".join(plain_method(op) for op in plain)}}}

export const PLAIN = `
{names}`;
"""


def files(ops):
    yield "client/js/src/ops_gen.ts", module(ops)
