#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twenty faults, each put into a copy of the sources: the differential fuzzer must find every one.

    faults.py [--only NAME ...] [--programs 200] [--build FOLDER]

A fault is a piece of text that stands once in a file and what it becomes. Text that is no longer there fails
the run: the fault must then be written anew. Exit status 1 when a fault went unseen."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]

FAULTS = {  # name: (file, what stands there, what the fault makes of it)
    "wrong_stride": ("engine/lower/view.c", "*index = bd_affine_scale(ints, index, step);",
                     "*index = bd_affine_scale(ints, index, step == BD_INT_1 ? step : BD_INT_1);"),
    "wrong_offset": ("engine/lower/view.c", "index->offset = bd_int_find(ints, bd_int_add(ints, index->offset, start));",
                     "index->offset = bd_int_find(ints, bd_int_add(ints, index->offset, bd_int_mul(ints, start, BD_INT_0)));"),
    "dropped_tail": ("backends/cpu/loop_emit.c", "            one_vector_loop(w, phase, rest, last, true);",
                     "            one_vector_loop(w, phase, (rest, last), last, true);"),
    "swapped_gradient": ("engine/rules_gen.c",
                         "    if (call->wanted[0]) {\n        bd_node n1 = bd_build(graph, BURN_OP_MUL, "
                         "(bd_node[]){call->gradient, call->inputs[1]}, 2, NULL);\n"
                         "        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);\n    }\n"
                         "    out[1] = BD_NODE_NONE;\n    if (call->wanted[1]) {\n        bd_node n1 = bd_build(graph, BURN_OP_MUL,",
                         "    if (call->wanted[0]) {\n        bd_node n1 = bd_build(graph, BURN_OP_MUL, "
                         "(bd_node[]){call->gradient, call->inputs[0]}, 2, NULL);\n"
                         "        out[0] = bd_rule_gradient(graph, n1, call->inputs[0]);\n    }\n"
                         "    out[1] = BD_NODE_NONE;\n    if (call->wanted[1]) {\n        bd_node n1 = bd_build(graph, BURN_OP_MUL,"),
    "lost_gradient": ("engine/autodiff.c", "gradient = bd_rule_sum_of_gradients(graph, before, gradient);",
                      "gradient = (bd_rule_sum_of_gradients(graph, before, gradient), before);"),
    "stale_scalar": ("engine/run.c", "scalar[k] = scalar_value(binding, &recipe->scalars[k]);",
                     "scalar[k] = scalar[k].i ? scalar[k] : scalar_value(binding, &recipe->scalars[k]);"),
    "stale_size": ("engine/run.c", "if (!run->sized || memcmp(run->new_ints, run->ints, int_bytes) != 0) {",
                   "if (!run->sized) {"),
    "unsafe_in_place": ("engine/plan_buffer.c", "           reads_same_element(program, read, written);",
                        "           (reads_same_element(program, read, written), true);"),
    "scatter_overwrites": ("engine/lower/ops.c", "{BURN_OP_SCATTER_ADD, BD_CLASS_SCATTER, BD_KIR_ACCUMULATE, CHEAP},",
                           "{BURN_OP_SCATTER_ADD, BD_CLASS_SCATTER, BD_KIR_SET, CHEAP},"),
    "wrong_permutation": ("engine/rules_gen.c", "const bd_attr_value a1[] = {bd_rule_inverse(graph, call->attrs[0])};",
                          "const bd_attr_value a1[] = {call->attrs[0]};"),
    "padding_off_by_one": ("engine/lower/operands.c", "add_guard(region, &from->position.runs[run].index, input_dims[dim]);",
                           "add_guard(region, &from->position.runs[run].index,\n"
                           "                                        bd_int_sub(region->ints, input_dims[dim], BD_INT_1));"),
    "unstrided_weight_gradient": ("engine/rules_conv.c",
                                  "bd_node windows = windows_of(&c, x, bd_rule_dims(graph, y, 2, 2 + s), kernel);",
                                  "c.strides = bd_rule_ones_like(graph, c.strides);\n"
                                  "    bd_node windows = windows_of(&c, x, bd_rule_dims(graph, y, 2, 2 + s), kernel);"),
    "lost_carry": ("backends/cpu/scan.c", "    LLVMBuildStore(b, after, scan->carried);",
                   "    if (!row || emit->lanes == 1)\n        LLVMBuildStore(b, after, scan->carried);"),
    "unstable_sort": ("backends/cpu/sort.c", "for (; at > 0 && words[at - 1] > word; at--)",
                      "for (; at > 0 && words[at - 1] >> 32 >= word >> 32; at--)"),
    "causal_off_by_one": ("engine/rules_gen.c",
                          "    bd_node n7 = bd_build(graph, BURN_OP_LE, (bd_node[]){n5, n6}, 2, NULL);\n"
                          "    bd_node n8 = bd_rule_number(graph, -INFINITY);",
                          "    bd_node n7 = bd_build(graph, BURN_OP_LT, (bd_node[]){n5, n6}, 2, NULL);\n"
                          "    bd_node n8 = bd_rule_number(graph, -INFINITY);"),
    "wrong_pool_gradient": ("engine/rules_pool.c",
                            "(bd_node[]){repeat_places(&p, hits(&p, x)), element_numbers(&p)}, 2, NULL);",
                            "(bd_node[]){repeat_places(&p, reduce_windows(&p, BURN_OP_ARGMIN, windows(&p, padded(&p, x, 0)))),\n"
                            "                              element_numbers(&p)}, 2, NULL);"),
    "wrong_norm_axes": ("engine/rules_build.c", "        if (dim != 1)\n", "        if (dim != 0)\n"),
    "dropped_products": ("backends/cpu/gemm_micro.c", "    add_rest(w, &d, k);",
                         "    if (w->lanes == 1)\n        add_rest(w, &d, k);"),
    "half_not_rounded": ("backends/cpu/emit_instr.c", "        if (!is_exact((bd_kir_code)instr->code))",
                         "        if (!is_exact((bd_kir_code)instr->code) && emit->lanes == 0)"),
    "wrong_reduction": ("engine/lower/ops.c", "{BURN_OP_SCATTER_MIN, BD_CLASS_SCATTER, BD_KIR_ACCUMULATE_MIN, CHEAP},",
                        "{BURN_OP_SCATTER_MIN, BD_CLASS_SCATTER, BD_KIR_ACCUMULATE_MAX, CHEAP},"),
}


def run(command, **options):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)


def build(source, folder, targets=("burnd",)):
    done = run(["ninja", "-C", folder, *targets])
    if done.returncode:
        sys.exit(done.stdout[-3000:])


def seen(folder, programs, cache):
    environment = {**os.environ, "BURND": str(folder / "bin/burnd"), "BURND_CACHE_DIR": str(cache)}
    for first in range(0, programs, 20):
        done = run([sys.executable, HERE / "graphs.py", "--first", first, "--count", 20, "--torch", 20 if torch() else 0],
                   env=environment, timeout=900)
        if done.returncode:
            lines = [*done.stdout.strip().splitlines(), *done.stderr.strip().splitlines()[-1:], "the fuzzer stopped"]
            return lines[0][:150]
    return None


def torch():
    """Whether PyTorch judges too: a fault in a rule is the same on every backend."""
    return run([sys.executable, "-c", "import torch"]).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--build", type=pathlib.Path, help="keep the copy and its build here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        base = options.build or pathlib.Path(scratch)
        source, folder = base / "source", base / "build"
        shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns("build", ".git", "cases"), dirs_exist_ok=True)
        for path, _, _ in FAULTS.values():  # a fault of a run that was stopped is not to stay in its object
            (source / path).touch()
        run(["cmake", "-S", source, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBURN_BUILD_TESTS=OFF"])
        build(source, folder)
        if wrong := seen(folder, options.programs, base / "cache"):
            sys.exit(f"the fuzzer fails without a fault: {wrong}")
        missed = 0
        for name, (path, before, after) in FAULTS.items():
            if name not in options.only:
                continue
            text = (source / path).read_text()
            if text.count(before) != 1:
                sys.exit(f"{name}: the text stands {text.count(before)} times in {path}")
            (source / path).write_text(text.replace(before, after))
            build(source, folder)
            found = seen(folder, options.programs, base / f"cache_{name}")
            (source / path).write_text(text)
            missed += not found
            print(f"{name:20} {'caught: ' + found if found else 'NOT CAUGHT'}", flush=True)
    print(f"{len(options.only) - missed} passed, {missed} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
