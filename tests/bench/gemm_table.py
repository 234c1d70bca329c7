#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cpu backend's f32 product beside OpenBLAS (NumPy's) and MKL (PyTorch's), by build/release/bin/gemm: one pinned
thread, all in one process in turns, from C.

    gemm_table.py [--sizes 16,64,...,1x4096x4096] [--library PATH:SYMBOL ...]

GFLOP/s of processor time, medians of rounds. share, of each: of multiply-adds in registers, median of the rounds'; a ratio: their
time over burn's (above 1 burn is faster); a product of one row also as GB/s of the matrix, and its share of a loop that reads it.
"""
import argparse
import json
import pathlib
import subprocess

import numpy
import torch

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--sizes", default="16,32,64,128,256,512,1024,2048,1x4096x4096")
parser.add_argument("--library", action="append", default=[], help="another one, SYMBOL sgemm_ or dnnl_sgemm")
args = parser.parse_args()
program = pathlib.Path(__file__).resolve().parents[2] / "build/release/bin/gemm"


def found(folder, pattern, symbol):
    return [f"{path}:{symbol}" for path in sorted(pathlib.Path(folder).glob(pattern))[:1]]


libraries = [*found(pathlib.Path(numpy.__file__).parents[1] / "numpy.libs", "libscipy_openblas64_*", "scipy_sgemm_64_"),
             *found(pathlib.Path(torch.__file__).parent / "lib", "libtorch_cpu.so", "sgemm_"), *args.library]
names = {"scipy_sgemm_64_": "OpenBLAS", "sgemm_": "MKL", "dnnl_sgemm": "oneDNN"}
symbols = [library.rsplit(":", 1)[1] for library in libraries]
labels = [names.get(symbol, symbol) for symbol in symbols]
print(f"{'m x n x k':>16s} {'peak':>7s} {'burn':>7s} {'share':>6s}",
      *(f"{label:>9s} {'share':>6s} {'ratio':>6s}" for label in labels), "  ratio to the better", flush=True)
for size in args.sizes.split(","):
    m, n, k = size.split("x") if "x" in size else (size,) * 3
    done = subprocess.run([program, m, n, k, *libraries], capture_output=True, text=True)
    if done.returncode:
        print(f"{size:>16s} {done.stderr.strip()}", flush=True)
        continue
    row = json.loads(done.stdout)
    ratios = [row[f"{symbol}_ratio"] for symbol in symbols]
    print(f"{f'{m}x{n}x{k}':>16s} {row['peak_gflops']:7.1f} {row['burn_gflops']:7.1f} {row['share']:6.2f}",
          *(f"{row[f'{symbol}_gflops']:9.1f} {row[f'{symbol}_share']:6.2f} {ratio:6.2f}"
            for symbol, ratio in zip(symbols, ratios)),
          f"  {min(ratios, default=0):.2f}", f"  {row['burn_gb_s']} GB/s, {row['loop_share']:.2f} of a loop's"
          if "burn_gb_s" in row else "", flush=True)
