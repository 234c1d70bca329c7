#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills the tables of PROTOCOL.md from messages.def, limits.h, dtypes.def and codes.def.
With --check it writes nothing and fails if the page is stale."""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent


def limits():
    names = {}
    for name, text in re.findall(r"(BURN_\w+_BYTES_MAX) = ([\d *]+)", (HERE / "limits.h").read_text()):
        product = 1
        for factor in text.split("*"):
            product *= int(factor)
        names[name] = product
    return names


def message_rows():
    """(name, number, sender, credit, payload limit, alignment, meaning, [(kind, field, meaning)])"""
    begin = re.compile(r'BEGIN\((\w+), (\d+), \w+, (\w+), (\w+), (\w+), (\w+),\s*"([^"]*)"\)(.*?)END\(\1\)', re.S)
    for *row, body in begin.findall((HERE / "messages.def").read_text()):
        yield *row, re.findall(r'FIELD\((\w+), (\w+), "([^"]*)"\)', body)


def messages():
    known, lines = limits(), []
    for name, number, sender, credit, payload, alignment, says, fields in message_rows():
        notes = [{"CLIENT": "from the client", "DAEMON": "from the daemon", "BOTH": "from either"}[sender]]
        if credit == "SPEND":
            notes.append("spends")
        if payload != "0":
            notes.append(f"payload ≤ {known[payload]:,}" + (", aligned" if alignment == "ALIGNED" else ""))
        lines.append(f"**{number} {name}** ({'; '.join(notes)}): {says}.")
        lines.append("")
        for kind, field, meaning in fields:
            lines.append(f"- `{field}` {kind.lower()}: {meaning}")
        lines.append("")
    return lines[:-1]


def dtype_rows():
    return re.findall(r'^DTYPE\(\w+, (\d+), "(\w+)", \w+, (\d+)', (HERE / "dtypes.def").read_text(), re.M)


def dtypes():
    return [f"| {name} | {number} | {size} |" for number, name, size in dtype_rows()]


def code_rows():
    return re.findall(r'^CODE\((\w+), (\d+), (\d), "([^"]*)"\)', (HERE / "base/codes.def").read_text(), re.M)


def codes():
    return [f"| {name} | {number} | {'yes' if retry == '1' else ''} | {meaning} |"
            for name, number, retry, meaning in code_rows()]


def main():
    page = HERE / "PROTOCOL.md"
    old = new = page.read_text()
    for name, make in (("dtypes", dtypes), ("codes", codes), ("messages", messages)):
        table = "\n".join(make())
        new = re.sub(rf"<!-- {name} -->\n.*?<!-- end -->", lambda _: f"<!-- {name} -->\n{table}\n<!-- end -->", new, flags=re.S)
    if "--check" in sys.argv[1:]:
        if old != new:
            sys.exit("proto/PROTOCOL.md is stale: run proto/gen_protocol.py")
    elif old != new:
        page.write_text(new)


if __name__ == "__main__":
    main()
