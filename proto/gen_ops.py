#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes everything that follows from proto/ops.toml (see its head for the format).

    proto/gen_ops.py           writes the files
    proto/gen_ops.py --check   exit status 1 if a committed file differs from what it would write

Standard library only. The parts: ops_model.py reads and checks the table, gen_table.py writes the
C table, gen_rules.py compiles gradient and decomposition expressions, gen_clients.py writes the
client functions, the manual and the test recipes, gen_js.py the types of the JavaScript client.
"""

import argparse
import pathlib
import sys

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "proto" / "gen"))

import gen_clients  # noqa: E402
import gen_js  # noqa: E402
import gen_rules  # noqa: E402
import gen_table  # noqa: E402
import ops_model  # noqa: E402


def outputs():
    """Every generated file: path relative to the repository's root, text."""
    ops = ops_model.load(ROOT / "proto" / "ops.toml")
    yield "proto/ops_gen.def", gen_table.definitions(ops)
    yield "proto/op_table.h", gen_table.header(ops)
    yield "proto/ops_gen.c", gen_table.table(ops)
    yield "engine/rules_kir_gen.c", gen_table.kir(ops)
    yield from gen_rules.files(ops)
    yield from gen_clients.files(ops)
    yield from gen_js.files(ops)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is stale")
    arguments = parser.parse_args()
    stale = []
    try:
        for name, text in outputs():
            path = ROOT / name
            if path.exists() and path.read_text() == text:
                continue
            if arguments.check:
                stale.append(name)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print("wrote", name)
    except ops_model.TableError as error:
        sys.exit(f"ops.toml: {error}")
    if stale:
        sys.exit("stale, run proto/gen_ops.py: " + ", ".join(stale))


if __name__ == "__main__":
    main()
