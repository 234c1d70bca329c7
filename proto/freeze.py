#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What protocol version 1 promises: proto/frozen.txt, a line for each message, dtype, code, op and
attribute.

    proto/freeze.py           adds the lines that are missing; those that stand there never change
    proto/freeze.py --check   exit status 1 if one of them is no longer true, or one is missing

An op or an attribute that comes later says so (`since`, see ops.toml); an attribute then has a
default and stands behind those that the op had. A message that comes later is for those who named
its feature in HELLO and WELCOME, or is flagged IGNORABLE."""

import pathlib
import sys

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "gen")]

import gen_protocol  # noqa: E402
import ops_model  # noqa: E402

FILE = HERE / "frozen.txt"


def wire():
    limits = gen_protocol.limits()
    for name, number, sender, credit, payload, alignment, _, fields in gen_protocol.message_rows():
        members = ", ".join(f"{field}: {kind.lower()}" for kind, field, _ in fields)
        most = limits.get(payload, 0)
        yield f"message {number} {name}({members}) {sender.lower()} {credit.lower()} {most} {alignment.lower()}"
    for number, name, size in gen_protocol.dtype_rows():
        yield f"dtype {number} {name} {size}"
    for name, number, retry, _ in gen_protocol.code_rows():
        yield f"code {number} {name} {retry}"


def ops():
    for op in ops_model.load(HERE / "ops.toml"):
        if "internal" in op.flags:
            continue
        inputs = ", ".join(f"{i.name}: {i.role}" + "?" * i.optional + "*" * i.variadic for i in op.inputs)
        outputs = f"{op.outputs}" + (f" + {op.outputs_if}" if op.outputs_if else "")
        yield f"op {op.number} {op.name}({inputs}) -> {outputs}; {op.dtype}; {op.shape}; since {op.since}"
        for place, attr in enumerate(op.attrs):
            default = "" if attr.default is None else f" = {attr.default_text}"
            since = max(op.since, attr.since)
            yield f"attribute {place} of {op.name}, {attr.name}: {attr.kind}{default}; since {since}"


def main():
    now = [*wire(), *ops()]
    frozen = FILE.read_text().splitlines() if FILE.exists() else []
    gone = [line for line in frozen if line not in now]
    new = [line for line in now if line not in frozen]
    if gone:
        sys.exit("version 1 of the protocol is frozen; this no longer holds:\n" + "\n".join(gone))
    if frozen and (late := [line for line in new if line.endswith("; since 1")]):
        sys.exit("table version 1 is frozen; these need a later `since`:\n" + "\n".join(late))
    if new and "--check" in sys.argv[1:]:
        sys.exit("run proto/freeze.py, which adds:\n" + "\n".join(new))
    FILE.write_text("".join(line + "\n" for line in frozen + new))


if __name__ == "__main__":
    main()
