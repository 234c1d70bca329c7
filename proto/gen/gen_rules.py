# SPDX-License-Identifier: Apache-2.0
"""Compiles the expressions of ops.toml to C builders: engine/rules_gen.c.

Values of an expression have a kind: node (a graph node), literal (a number of the text), int (a structural
C integer), size (a symbolic integer), ints and sizes (lists), dtype, none, tuple. Literals, ints and sizes
become weak scalars where a node is wanted, as Python scalars do in PyTorch."""

import ast
import dataclasses
import math

from gen_table import HEAD
from ops_model import DTYPES, TableError

INCLUDES = ('#include <math.h>\n\n#include "engine/rules.h"\n#include "engine/rules_build.h"\n'
            '#include "engine/rules_native.h"\n\n')

BINARY = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floor_divide",
          ast.Mod: "remainder", ast.Pow: "pow"}
COMPARE = {ast.Eq: ("eq", "=="), ast.NotEq: ("ne", "!="), ast.Lt: ("lt", "<"), ast.LtE: ("le", "<="),
           ast.Gt: ("gt", ">"), ast.GtE: ("ge", ">=")}
SIZE_OPS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "div", ast.Mod: "mod"}

# Helpers of engine/rules_build.h: kinds of arguments, kind of the result. "?" starts optional ones.
HELPERS = {
    "rank": (("node",), "int"), "size": (("node", "int"), "size"), "product": (("node", "int", "int"), "size"),
    "count": (("node", "ints"), "size"), "zeros": (("node",), "node"),
    "unreduce": (("node", "node", "ints", "int"), "node"), "sum_to": (("node", "node"), "node"),
    "expand_to": (("node", "sizes"), "node"), "squeeze": (("node", "int"), "node"),
    "unsqueeze": (("node", "int"), "node"), "along": (("node", "node", "int"), "node"),
    "last": (("node", "sizes"), "ints"), "inverse": (("ints",), "ints"), "swap_last": (("node",), "node"),
    "sizes_add": (("sizes", "sizes"), "sizes"), "ones_like": (("sizes",), "sizes"),
    "reduced": (("node", "int"), "node"), "is_float": (("dtype",), "int"), "single": (("node", "int"), "int"),
    "wide": (("dtype",), "dtype"),
    "but_channel": (("node",), "ints"), "dims_from": (("node", "int"), "ints"),
    "split_channels": (("node", "size"), "node"),
    "conv_high": (("sizes", "sizes", "sizes", "sizes", "sizes", "sizes"), "sizes"),
}


@dataclasses.dataclass
class Value:
    kind: str
    text: object  # C text; for tuples a list of values, for literals the number


class Rule:
    """One expression of one op on its way to C."""

    def __init__(self, table, op, where):
        self.table, self.op, self.where = table, op, where
        self.lines, self.count = [], 0
        self.names = {}
        for place, one in enumerate(op.inputs):
            self.names[one.name] = Value("node", f"call->inputs[{place}]")
        for place, one in enumerate(op.attrs):
            place_text = f"call->attrs[{place}]"
            text = {"int": f"{place_text}.value", "dtype": f"{place_text}.value",
                    "size": f"(bd_int){place_text}.value"}.get(one.kind, place_text)
            self.names[one.name] = Value(one.kind, text)
        self.names["g"] = Value("node", "call->gradient")
        self.names["out"] = Value("node", "call->self")
        self.names["none"] = Value("none", "BD_NODE_NONE")

    def fail(self, text):
        raise TableError(f"{self.op.name}, {self.where}: {text}")

    def temporary(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    def emit_node(self, text):
        name = self.temporary("n")
        self.lines.append(f"bd_node {name} = {text};")
        return Value("node", name)

    def compile(self, source):
        """The value of the last statement."""
        try:
            body = ast.parse(source.replace("; ", "\n")).body
        except SyntaxError as error:
            self.fail(f"{error.msg} in {source!r}")
        for statement in body[:-1]:
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
                self.fail("only the last statement is a value")
            self.names[statement.targets[0].id] = self.value(statement.value)
        if not isinstance(body[-1], ast.Expr):
            self.fail("the last statement is no value")
        return self.value(body[-1].value)

    # ---- kinds ----

    def node(self, value):
        if value.kind == "node":
            return value.text
        if value.kind == "none":
            return "BD_NODE_NONE"
        if value.kind == "literal":
            call = "bd_rule_whole" if isinstance(value.text, int) else "bd_rule_number"
            text = str(value.text).replace("inf", "INFINITY")
            return self.emit_node(f"{call}(graph, {text})").text
        if value.kind == "int":
            return self.emit_node(f"bd_rule_whole(graph, {value.text})").text
        if value.kind == "size":
            return self.emit_node(f"bd_build_integer(graph, {value.text})").text
        return self.fail(f"{value.kind} where a node is due")

    def as_kind(self, value, kind):
        if kind == "node":
            return self.node(value)
        if value.kind == kind or (kind in ("ints", "sizes") and value.kind == "empty"):
            return value.text
        if kind == "int" and value.kind == "literal" and isinstance(value.text, int):
            return str(value.text)
        if kind == "size" and value.kind in ("literal", "int"):
            return f"bd_int_const(bd_graph_ints(graph), {value.text})"
        return self.fail(f"{value.kind} where {kind} is due")

    # ---- expressions ----

    def value(self, tree):
        method = getattr(self, "on_" + type(tree).__name__.lower(), None)
        if method is None:
            self.fail(f"{type(tree).__name__} is not understood")
        return method(tree)

    def on_constant(self, tree):
        return Value("literal", tree.value)

    def on_name(self, tree):
        if tree.id in self.names:
            return self.names[tree.id]
        if tree.id in DTYPES:
            return Value("dtype", str(DTYPES[tree.id]))
        if tree.id == "inf":
            return Value("literal", math.inf)
        return self.fail(f"unknown name {tree.id}")

    def on_attribute(self, tree):
        if tree.attr != "dtype":
            self.fail(f"unknown field {tree.attr}")
        return Value("dtype", f"bd_graph_at(graph, {self.node(self.value(tree.value))})->dtype")

    def on_tuple(self, tree):
        return Value("tuple", [Value("node", self.node(self.value(item))) for item in tree.elts])

    def on_unaryop(self, tree):
        value = self.value(tree.operand)
        if isinstance(tree.op, ast.USub):
            if value.kind == "literal":
                return Value("literal", -value.text)
            if value.kind == "int":
                return Value("int", f"-({value.text})")
            return self.op_call("neg", [value], {})
        if isinstance(tree.op, ast.Not) and value.kind == "int":
            return Value("int", f"!({value.text})")
        return self.fail("an operator that is not understood")

    def on_binop(self, tree):
        left, right = self.value(tree.left), self.value(tree.right)
        kinds = {left.kind, right.kind}
        if kinds <= {"literal", "int"} and type(tree.op) in (ast.Add, ast.Sub, ast.Mult):
            sign = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}[type(tree.op)]
            if kinds == {"literal"}:
                return Value("literal", eval(f"({left.text}) {sign} ({right.text})"))  # two numbers
            return Value("int", f"({left.text} {sign} {right.text})")
        if "size" in kinds and kinds <= {"size", "int", "literal"} and type(tree.op) in SIZE_OPS:
            return Value("size", f"bd_int_{SIZE_OPS[type(tree.op)]}(bd_graph_ints(graph), "
                                 f"{self.as_kind(left, 'size')}, {self.as_kind(right, 'size')})")
        return self.op_call(BINARY[type(tree.op)], [left, right], {})

    def on_compare(self, tree):
        left, right = self.value(tree.left), self.value(tree.comparators[0])
        name, sign = COMPARE[type(tree.ops[0])]
        if len(tree.ops) > 1:
            self.fail("one comparison at a time")
        if {left.kind, right.kind} <= {"int", "literal", "dtype"}:
            return Value("int", f"{left.text} {sign} {right.text}")
        return self.op_call(name, [left, right], {})

    def on_boolop(self, tree):
        sign = " && " if isinstance(tree.op, ast.And) else " || "
        return Value("int", sign.join(f"({self.as_kind(self.value(item), 'int')})" for item in tree.values))

    def on_list(self, tree):
        """[] fits every kind of list; else one of ints or one of sizes, runs may be spliced in with *."""
        if not tree.elts:
            return Value("empty", "(bd_attr_value){0}")
        items = [(isinstance(item, ast.Starred), self.value(item.value if isinstance(item, ast.Starred) else item))
                 for item in tree.elts]
        sizes = any(value.kind in ("size", "sizes") for _, value in items)
        text = None
        for starred, value in items:
            if starred:
                part = self.as_kind(value, "sizes" if sizes else "ints")
            else:
                part = self.temporary("l")
                self.lines.append(f"const int64_t {part}_values[] = {{{self.as_kind(value, 'size' if sizes else 'int')}}};")
                self.lines.append(f"const bd_attr_value {part} = {{.values = {part}_values, .count = 1}};")
            text = part if text is None else f"bd_rule_join(graph, {text}, {part})"
        return Value("sizes" if sizes else "ints", text)

    def on_ifexp(self, tree):
        condition = self.as_kind(self.value(tree.test), "int")
        before, names = self.lines, dict(self.names)
        branches = []
        for part in (tree.body, tree.orelse):
            self.lines, self.names = [], dict(names)
            branches.append((self.value(part), self.lines))
        self.lines, self.names = before, names
        values = [value for value, _ in branches]
        kinds = {value.kind for value in values}
        if kinds <= {"int", "literal"} and not any(lines for _, lines in branches):
            return Value("int", f"({condition} ? {values[0].text} : {values[1].text})")
        if kinds == {"dtype"}:
            return Value("dtype", f"({condition} ? {values[0].text} : {values[1].text})")
        if "tuple" in kinds:
            return self.tuple_branches(condition, branches)
        name = self.temporary("n")
        self.lines.append(f"bd_node {name};")
        self.branch(condition, branches, lambda value: [f"{name} = {self.node(value)};"])
        return Value("node", name)

    def tuple_branches(self, condition, branches):
        """The longer tuple gives the count; the shorter one leaves the rest NONE."""
        sizes = [len(value.text) for value, _ in branches]
        names = [self.temporary("n") for _ in range(max(sizes))]
        self.lines.append("".join(f"bd_node {name} = BD_NODE_NONE; " for name in names).strip())
        self.branch(condition, branches,
                    lambda value: [f"{name} = {item.text};" for name, item in zip(names, value.text)])
        return Value("tuple", [Value("node", name) for name in names])

    def branch(self, condition, branches, ends):
        outer = self.lines
        for keyword, (value, lines) in zip((f"if ({condition}) {{", "} else {"), branches):
            self.lines = lines
            lines += ends(value)
            outer.append(keyword)
            outer += ["    " + line for line in lines]
        outer.append("}")
        self.lines = outer

    def on_call(self, tree):
        name = tree.func.id
        arguments = [self.value(item) for item in tree.args]
        attrs = {item.arg: self.value(item.value) for item in tree.keywords}
        if name == "present":
            return Value("int", f"{arguments[0].text} != BD_NODE_NONE")
        if name == "dims":
            x = self.node(arguments[0])
            span = [self.as_kind(item, "int") for item in arguments[1:]] or ["0", f"bd_rule_rank(graph, {x})"]
            return Value("sizes", f"bd_rule_dims(graph, {x}, {span[0]}, {span[1]})")
        if name in HELPERS:
            kinds, result = HELPERS[name]
            if len(kinds) != len(arguments) or attrs:
                self.fail(f"{name} takes {len(kinds)} arguments")
            texts = [self.as_kind(value, kind) for value, kind in zip(arguments, kinds)]
            text = f"bd_rule_{name}(graph, {', '.join(texts)})"
            return self.emit_node(text) if result == "node" else Value(result, text)
        return self.op_call(name, arguments, attrs)

    def op_call(self, name, arguments, attrs):
        op = self.table.get(name)
        if op is None:
            self.fail(f"unknown function {name}")
        if op.outputs != 1 or op.outputs_if:
            self.fail(f"{name} has several outputs")
        if not op.variadic and len(arguments) != len(op.inputs):
            self.fail(f"{name} takes {len(op.inputs)} inputs")
        if name == "cast":
            value = Value("node", self.node(arguments[0]))
            return self.emit_node(f"bd_build_cast(graph, {value.text}, (burn_dtype)({self.as_kind(attrs['dtype'], 'dtype')}))")
        nodes = [self.node(value) for value in arguments]
        unknown = set(attrs) - {attr.name for attr in op.attrs}
        if unknown:
            self.fail(f"{name} has no attribute {unknown}")
        attr_text = self.attr_array(op, attrs) if op.attrs else "NULL"
        node_text = f"(bd_node[]){{{', '.join(nodes)}}}" if nodes else "NULL"
        return self.emit_node(f"bd_build(graph, BURN_OP_{name.upper()}, {node_text}, {len(nodes)}, {attr_text})")

    def attr_array(self, op, attrs):
        items = []
        for attr in op.attrs:
            given = attrs.get(attr.name)
            if given is None and attr.default is None:
                self.fail(f"{op.name} needs the attribute {attr.name}")
            if attr.kind in ("ints", "sizes"):
                items.append("{0}" if given is None or given.kind == "empty" else self.as_kind(given, attr.kind))
            elif given is None:
                text = f"bd_int_const(bd_graph_ints(graph), {attr.default})" if attr.kind == "size" else str(attr.default)
                items.append(f"{{.value = {text}}}")
            else:
                items.append(f"{{.value = {self.as_kind(given, attr.kind)}}}")
        name = self.temporary("a")
        self.lines.append(f"const bd_attr_value {name}[] = {{{', '.join(items)}}};")
        return name


def function(head, lines):
    body = "".join(f"    {line}\n" for line in lines)
    graph = "    bd_graph *graph = call->graph;\n" if "graph," in body or "graph)" in body else ""
    return f"{head}\n{{\n{graph}{body}}}\n\n"


def gradient(table, op):
    lines = []
    for place, one in enumerate(op.inputs):
        source = op.grad.get(one.name)
        if source is None:
            lines.append(f"out[{place}] = BD_NODE_NONE;")
            continue
        rule = Rule(table, op, f"gradient of {one.name}")
        result = rule.node(rule.compile(source))
        lines += [f"out[{place}] = BD_NODE_NONE;", f"if (call->wanted[{place}]) {{"]
        lines += ["    " + line for line in rule.lines]
        lines += [f"    out[{place}] = bd_rule_gradient(graph, {result}, call->inputs[{place}]);", "}"]
    return function(f"static void gradient_{op.name}(const bd_rule_call *call, bd_node *out)", lines)


def decomposition(table, op):
    rule = Rule(table, op, "decomposition")
    value = rule.compile(op.decompose)
    results = [item.text for item in value.text] if value.kind == "tuple" else [rule.node(value)]
    lines = rule.lines + [f"out[{place}] = {text};" for place, text in enumerate(results)]
    if op.outputs_if:
        place = [one.name for one in op.inputs].index(op.outputs_if)
        lines.append(f"return call->inputs[{place}] != BD_NODE_NONE ? {len(results)} : {len(results) - 1};")
    else:
        lines.append(f"return {len(results)};")
    return function(f"static uint32_t decompose_{op.name}(const bd_rule_call *call, bd_node *out)", lines)


def rules_c(ops):
    table = {op.name: op for op in ops}
    text = [HEAD, INCLUDES]
    gradients, decompositions = [], []
    for op in ops:
        if op.grad == "native":
            gradients.append((op.name, f"bd_gradient_{op.name}"))
        elif op.grad and "no_gradient" not in op.flags:
            text.append(gradient(table, op))
            gradients.append((op.name, f"gradient_{op.name}"))
        if op.decompose == "native":
            decompositions.append((op.name, f"bd_decompose_{op.name}"))
        elif op.decompose:
            text.append(decomposition(table, op))
            decompositions.append((op.name, f"decompose_{op.name}"))
    for kind, rows in (("gradient", gradients), ("decompose", decompositions)):
        entries = "".join(f"    [BURN_OP_{name.upper()}] = {function_name},\n" for name, function_name in rows)
        text.append(f"static const bd_{kind}_rule {kind}_rules[{ops[-1].number + 1}] = {{\n{entries}}};\n\n")
    for kind in ("gradient", "decompose"):
        text.append(f"bd_{kind}_rule bd_{kind}_rule_of(burn_op op)\n{{\n    return {kind}_rules[op];\n}}\n\n")
    return "".join(text).rstrip() + "\n"


def files(ops):
    yield "engine/rules_gen.c", rules_c(ops)
