#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compile.py SOURCE OUT: a kernel's text to a shared object for the host, with emulated_launch_NAME(void **parameters)
for each entry. What the compiler says goes to standard error; exit status 1 then. Matrix instructions of sm_90 are left
out: the emulated device has none."""
import pathlib
import re
import subprocess
import sys

ASSEMBLY = {
    "cvt.f32.f16 ": "value = emulated_from_f16(bits);",
    "cvt.rn.f16x2.f32 ": "both = (u32)emulated_to_f16(high) << 16 | emulated_to_f16(low);",
    "cvt.rn.bf16x2.f32 ": "both = emulated_bf16(high) << 16 | emulated_bf16(low);",
    "max.NaN.f32 ": "most = emulated_max(a, b);",
    "min.NaN.f32 ": "least = emulated_min(a, b);",
    "st.global.v4.b32 ": "*(uint4 *)to = words;",
    "st.global.v2.b32 ": "*(uint2 *)to = words;",
}
source, out = map(pathlib.Path, sys.argv[1:])
text = source.read_text()
for instruction, instead in ASSEMBLY.items():
    text = re.sub(r'asm( volatile)?\("' + re.escape(instruction) + r'[^"]*;"[^;]*;', instead, text)
text = re.sub(r"// ---- (attention )?instructions ----.*?// ---- end of", "//", text, flags=re.S)  # kernel.h has them
text = text.replace("extern __shared__ __align__(1024) char shared_room[]", "static __align__(1024) char shared_room[256 << 10]")
text = re.sub(r"#ifdef __CUDA_ARCH_FEAT_SM90_ALL.*?#endif", "", text, flags=re.S)
lines = [f'#include "{pathlib.Path(__file__).parent / "kernel.h"}"\n', text]
for name, parameters in re.findall(r'extern "C" __global__ void __launch_bounds__\([^)]*\) (\w+)\(([^)]*)\)', text):
    types = [re.sub(r"\w+$", "", p.replace("__grid_constant__", "").strip()).strip() for p in parameters.split(",")]
    arguments = ", ".join(f"*({t} *)parameters[{i}]" for i, t in enumerate(types))
    lines.append(f'extern "C" void emulated_launch_{name}(void **parameters) {{ {name}({arguments}); }}\n')
text, compiled = source.with_suffix(".cpp"), source.with_suffix(".o")
text.write_text("".join(lines))
# <math.h> is C's, a tenth of C++'s; apart, neither step starts another process of the compiler.
compiling = subprocess.run(["clang++-19", "-w", "-O1", "-std=c++17", "-nostdinc++", "-ffp-contract=off", "-fno-strict-aliasing", "-fPIC",
                            "-c", "-o", compiled, text])
sys.exit(compiling.returncode or subprocess.run(["cc", "-shared", "-o", out, compiled, "-lm"]).returncode)
