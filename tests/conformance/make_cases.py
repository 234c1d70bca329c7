#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes cases/*.txt from expressions.py, in the line format of tests/parity; --golden records PyTorch's answers.

    make_cases.py            write the case files
    make_cases.py --golden   ... and record answers (needs torch)
"""
import pathlib
import subprocess
import sys

from expressions import ROWS, USUAL

HERE = pathlib.Path(__file__).resolve().parent
KINDS = {"f": ("f32", "f64"), "i": ("i32", "i64"), "u": ("u8",), "b": ("bool",)}


def shape_text(shape):
    return "[" + ",".join(map(str, shape)) + "]"


def broadcast_of(shape):
    """A smaller shape that broadcasts to it: the last dim, with 1 in front for matrices of odd rows."""
    if len(shape) < 2:
        return shape
    return shape[1:] if shape[0] % 2 else (1,) + shape[1:]


def input_text(name, spec, dtype, shape):
    key, domain = spec
    if isinstance(key, tuple):
        at = key
    elif key.startswith("x"):
        at = shape
    elif key == "one":
        at = broadcast_of(shape)
    elif key == "row":
        at = shape[-1:]
    elif key == "()":
        at = ()
    else:  # products: shape is (m, k, n)
        sizes = {"b": 3, "m": shape[0], "k": shape[1], "n": shape[2]}
        at = tuple(sizes[letter] for letter in key)
    if isinstance(key, str) and key.endswith(":bool"):
        return f"{name}:bool{shape_text(at)}"
    if domain.startswith("<"):
        return f"{name}:i64{shape_text(at)}{domain}"
    if domain.startswith("perm"):
        return f"{name}:i64{shape_text(at)}perm"
    if domain and dtype in ("i32", "i64", "u8"):
        low, high = (float(part) for part in domain[1:-1].split(","))
        domain = f"({int(low)},{max(int(high), int(low) + 1)})"
    return f"{name}:{dtype}{shape_text(at)}{'' if dtype == 'bool' else domain}"


def main():
    lines = []
    for row in ROWS:
        dtypes = [d for kind in row.dtypes for d in KINDS[kind]] if row.inputs else ["f32"]
        if all(isinstance(key, tuple) for key, _ in row.inputs.values()):
            dtypes = dtypes[:1] if not any(d == "" for _, d in row.inputs.values()) else dtypes
        for dtype in dtypes:
            for shape in row.shapes or USUAL:
                if any(key == "row" for key, _ in row.inputs.values()) and not shape:
                    continue
                inputs = " ".join(input_text(n, s, dtype, shape) for n, s in row.inputs.items()) or "-"
                if not row.shapes and shape == () and "(-1)" in row.expression.replace("dim=-1", "(-1)"):
                    continue
                if not row.shapes and len(shape) == 0 and ("(0" in row.expression or "-1" in row.expression):
                    continue
                if 0 in shape and any(word in row.expression for word in ("log_softmax(0)", ".var(", "logsumexp")):
                    continue
                size = "x".join(map(str, shape)) or "scalar"
                flags = " ".join(filter(None, [row.flags, "" if row.gradient else "nograd"]))
                lines.append(f"{row.name}.{dtype}.{size} | spine | {inputs} | {row.expression}" + (f" | {flags}" if flags else ""))
    folder = HERE / "cases"
    folder.mkdir(exist_ok=True)
    (folder / "ops.txt").write_text("# written by make_cases.py\n%kind expr\n" + "\n".join(lines) + "\n")
    print(f"{len(lines)} cases")
    if "--golden" in sys.argv:
        parity = HERE.parent / "parity/parity.py"
        sys.exit(subprocess.run([sys.executable, parity, "--make-golden", "--cases", folder]).returncode)


if __name__ == "__main__":
    main()
