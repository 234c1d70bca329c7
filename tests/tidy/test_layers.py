# SPDX-License-Identifier: Apache-2.0
"""What lies where: the folders at the top, who may include whom, and who may name ops."""
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]

TOP = {"CMakeLists.txt", "server", "client", "proto", "engine", "backends", "deploy", "tests", "examples", "LICENSE", "README.md",
       "ARCHITECTURE.md", "CMakePresets.json"}

# folder: the folders (or files) that it may include besides itself
MAY_INCLUDE = {
    "proto/base": (),
    "proto": ("proto/base",),
    "client/core": ("proto", "proto/base"),
    "client/c": ("client/core", "proto", "proto/base"),
    "client/ctl": ("client/c/burn", "proto/base"),
    "client/js": ("client/core", "proto", "proto/base"),
    "client/python": ("client/c/burn", "client/core", "proto", "proto/base"),
    "backends/kir": ("proto", "proto/base"),
    "backends/ref": ("backends/backend.h", "backends/kir", "proto", "proto/base"),
    "backends/shared": ("backends/kir", "proto", "proto/base"),
    "backends/cfamily": ("backends/kir", "proto", "proto/base"),
    "backends/cpu": ("backends/backend.h", "backends/kir", "backends/shared", "proto", "proto/base"),
    "backends/cuda": ("backends/backend.h", "backends/kir", "backends/shared", "backends/cfamily", "proto", "proto/base"),
    "backends": ("backends/kir", "proto", "proto/base"),
    "engine/lower": ("engine", "backends/backend.h", "backends/kir", "proto", "proto/base"),
    "engine": ("engine/lower", "backends/backend.h", "backends/kir", "proto", "proto/base"),
    "server": ("engine/engine.h", "backends/backend.h", "backends/kir", "proto", "proto/base"),
}
# third-party headers and the only folders that may open them
DOORS = {
    r"msgpack\.h": ("proto",),
    r"uv\.h": ("server",),
    r"ini\.h": ("server",),
    r"jansson\.h": ("server", "client/ctl"),
    r"llvm-c/": ("backends/cpu",),
    r"Python\.h": ("client/python",),
    r"llhttp\.h": ("server",),
    r"openssl/": ("server", "client/c"),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)


def sources():
    for folder in ("proto", "engine", "backends", "server", "client"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".def") and "node_modules" not in path.parts:
                yield path


def folder_of(relative):
    fits = [folder for folder in MAY_INCLUDE if relative == folder or relative.startswith(folder + "/")]
    return max(fits, key=len, default=None)


def test_every_include_keeps_to_the_layers():
    wrong = []
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        home = folder_of(name)
        assert home, f"{name} lies in no folder of the table"
        for quote, target in INCLUDE.findall(path.read_text()):
            if quote == '"':
                if target.startswith("burn/"):
                    target = "client/c/" + target
                if not (ROOT / target).exists():
                    wrong.append(f"{name} includes {target}, which is not there from the root")
                    continue
                there = folder_of(target)
                allowed = there == home or any(
                    target == entry or there == entry or target.startswith(entry + "/") for entry in MAY_INCLUDE[home])
                if not allowed:
                    wrong.append(f"{name} includes {target}")
            else:
                for pattern, homes in DOORS.items():
                    if re.match(pattern, target) and not any(home.startswith(h) for h in homes):
                        wrong.append(f"{name} opens <{target}>")
    assert not wrong, "\n".join(wrong)


def may_name_all(name):
    """The op rules (tables, inference, gradients, decompositions) and the lowering know every op."""
    return name.startswith(("proto/", "engine/lower/", "engine/rules")) or "ops_gen" in name or name.endswith("burn_ops.h")


# Records that no op computes: they say what a session does, and stream, programs and clients handle them.
CONTROL = {"FREE", "MARK", "GRAD", "CALL", "CONSTANT"}
# All others that name ops, exactly which, and why. No entry may be a list of what an op means: that is its row.
NAMES = {
    # what a record means without saying so: promotion, broadcasting, and the sums that undo broadcasting
    "engine/build_insert.c": "CAST EXPAND RESHAPE SUM",
    # algebra of the graph; a rule here is about the few ops that it rewrites
    "engine/simplify.c": "ADD CAST CHECK_INDEX CONCAT DIV DOT EXPAND FULL GATHER MAX MIN MUL NEG PAD PERMUTE PROD RESHAPE SCATTER SCATTER_ADD SLICE SUB SUM WHERE",
    # tensors over immutable values: a view is the recipe of its ops, writing through it is their inverse
    "client/core/strides.c": "EXPAND PERMUTE RESHAPE SLICE",
    "client/core/view.c": "DETACH EXPAND PERMUTE RESHAPE SLICE SLICE_UPDATE",
    "client/core/tensor.c": "CAST CLONE DETACH EXPAND FULL RESHAPE",
    "client/core/recording.c": "CLONE",
    # gradients that meet add up
    "client/core/autograd.c": "ADD DETACH",
    # functions of the C client that are more than the op of their name: item() of any dtype, update rules
    "client/c/tensors.c": "CAST",
    "client/c/optimizers.c": "ADAMW_STEP ADAM_STEP FULL SGD_MOMENTUM_STEP SGD_STEP",
}


def test_only_op_rules_and_lowering_name_ops():
    ops = set(re.findall(r"OP\((\w+),", (ROOT / "proto/ops_gen.def").read_text())) - {"NONE"}
    assert len(ops) > 100
    wrong = []
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        if may_name_all(name):
            continue
        named = ops & set(re.findall(r"\bBURN_OP_(\w+)", path.read_text()))
        if named & CONTROL and not name.startswith(("engine/", "client/")):
            wrong.append(f"{name} handles control records")
        named -= CONTROL
        allowed = set(NAMES.get(name, "").split())
        wrong += [f"{name} names {op}" for op in sorted(named - allowed)]
        wrong += [f"{name} no longer names {op}: take it from the list" for op in sorted(allowed - named)]
    wrong += [f"{name} of the list is not there" for name in NAMES if not (ROOT / name).exists()]
    assert not wrong, "\n".join(wrong)


def test_backends_know_no_ops():
    wrong = [path.relative_to(ROOT).as_posix() for path in sources()
             if path.relative_to(ROOT).as_posix().startswith("backends/")
             and re.search(r'BURN_OP_|"proto/ops\.h"', path.read_text())]
    assert not wrong, "\n".join(wrong)


def test_the_top_holds_its_folders_alone():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    tops = {name.split("/")[0] for name in listed}
    assert {name for name in tops if not name.startswith(".")} == TOP
