# SPDX-License-Identifier: Apache-2.0
"""The C table: proto/ops_gen.def, proto/op_table.h, proto/ops_gen.c, engine/rules_kir_gen.c."""

HEAD = "/* SPDX-License-Identifier: Apache-2.0\n * Made by proto/gen_ops.py from proto/ops.toml. */\n"


def definitions(ops):
    rows = "".join(f'OP({op.name.upper()}, {op.number}, "{op.name}")\n' for op in ops)
    return HEAD.replace(" */\n", "\n * Columns: NAME, wire number, text. */\n") + rows


def flags(op):
    names = sorted(flag.upper() for flag in op.flags)
    if op.decompose:
        names.append("COMPOSITE")
    elif "control" not in op.flags:
        names.append("CORE")
    if op.variadic:
        names.append("VARIADIC")
    return " | ".join(f"BURN_OP_{name}" for name in names)


def row(op):
    rule = {"split": "SPLIT", "wrt": "WRT", "attr": "ATTR"}.get(op.outputs, "FIXED")
    count = op.outputs if isinstance(op.outputs, int) else 0
    output_if = [i.name for i in op.inputs].index(op.outputs_if) if op.outputs_if else -1
    optional = sum(1 << k for k, i in enumerate(op.inputs) if i.optional)
    lines = [f'    {{.name = "{op.name}", .number = {op.number}, .since = {op.since},',
             f"     .flags = {flags(op)},",
             f"     .input_count = {len(op.inputs)}, .output_rule = BURN_OUTPUTS_{rule}, .output_count = {count}, "
             f".output_if = {output_if},",
             f"     .input_optional = 0x{optional:x}, .attr_count = {len(op.attrs)},",
             f"     .dtype_rule = BURN_DTYPE_RULE_{op.dtype.upper()}, .shape_rule = BURN_SHAPE_RULE_{op.shape.upper()},"]
    if op.inputs:
        lines.append("     .inputs = {" + ", ".join(f'"{i.name}"' for i in op.inputs) + "},")
        lines.append("     .input_roles = {" + ", ".join(f"BURN_INPUT_{i.role.upper()}" for i in op.inputs) + "},")
    if op.attrs:
        attrs = (f'{{"{a.name}", BURN_ATTR_{a.kind.upper()}, {str(a.default is not None).lower()}, {a.default or 0}}}'
                 for a in op.attrs)
        lines.append("     .attrs = {" + ",\n               ".join(attrs) + "},")
    return "\n".join(lines)[:-1] + "},\n"


def revision(ops):
    """The table version that brought the latest op or attribute."""
    return max(part.since for op in ops for part in (op, *op.attrs))


def table(ops):
    places = "".join(f"    [{op.number}] = {k + 1},\n" for k, op in enumerate(ops))
    by_name = "".join(f"    {k},\n" for k in sorted(range(len(ops)), key=lambda k: ops[k].name))
    return f"""{HEAD}#include "proto/op_table.h"

const uint32_t burn_op_table_revision = {revision(ops)};

const burn_op_info burn_op_rows[BURN_OP_ROW_COUNT] = {{
{"".join(row(op) for op in ops)}}};

/* By op number: place in the rows + 1. */
const uint16_t burn_op_places[BURN_OP_PLACE_COUNT] = {{
{places}}};

/* Places in the rows in the order of names. */
const uint16_t burn_op_names[BURN_OP_ROW_COUNT] = {{
{by_name}}};
"""


def header(ops):
    return f"""{HEAD.replace(" */", " Sizes of the op table.")} * Private to proto/. */
#pragma once

#include "proto/op_rules.h"

enum {{ BURN_OP_ROW_COUNT = {len(ops)}, BURN_OP_PLACE_COUNT = {ops[-1].number + 1} }};

extern const burn_op_info burn_op_rows[BURN_OP_ROW_COUNT];
extern const uint16_t burn_op_places[BURN_OP_PLACE_COUNT];
extern const uint16_t burn_op_names[BURN_OP_ROW_COUNT];
"""


def kir(ops):
    cases = "".join(f"    case BURN_OP_{op.name.upper()}:\n        return BD_KIR_{op.kir};\n" for op in ops if op.kir)
    others = "".join(f"    case BURN_OP_{op.name.upper()}:\n" for op in ops if not op.kir)
    return f"""{HEAD}#include "engine/op_kir.h"

int bd_op_kir(burn_op op)
{{
    switch (op) {{
{cases}    case BURN_OP_NONE:
{others}        break;
    }}
    return -1;
}}
"""
