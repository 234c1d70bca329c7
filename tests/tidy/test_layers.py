# SPDX-License-Identifier: Apache-2.0
"""Who may include whom, transitively, and that only the op rules and engine/lower name ops."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

# folder: the folders (or files) that it may include besides itself
MAY_INCLUDE = {
    "proto/base": (),
    "proto": ("proto/base",),
    "client/core": ("proto", "proto/base"),
    "client/c": ("client/core", "proto", "proto/base"),
    "client/ctl": ("client/c/include",),
    "client/python": ("client/c/include", "client/core", "proto", "proto/base"),
    "backends/kir": ("proto", "proto/base"),
    "backends/ref": ("backends/backend.h", "backends/kir", "proto", "proto/base"),
    "backends/cpu": ("backends/backend.h", "backends/kir", "proto", "proto/base"),
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
    r"openssl/": ("server", "client/c"),
}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]', re.M)


def sources():
    for folder in ("proto", "engine", "backends", "server", "client"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".def"):
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
                    target = "client/c/include/" + target
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


def test_only_op_rules_and_lowering_name_ops():
    numbers = set(re.findall(r"OP\((\w+),", (ROOT / "proto/ops_gen.def").read_text()))
    neutral = {"NONE"}
    wrong = []
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        if name.startswith(("engine/lower/", "proto/", "client/c/ops_gen")) or "rules" in path.name:
            continue
        for op in re.findall(r"\bBURN_OP_(\w+)", path.read_text()):
            if op in numbers - neutral:
                wrong.append(f"{name} names {op}")
    assert not wrong, "\n".join(sorted(set(wrong)))


def test_limits_of_files():
    long = []
    for path in sources():
        name = path.name
        if "gen" in name or path.suffix == ".def":
            continue
        lines = len(path.read_text().splitlines())
        if lines > 600:
            long.append(f"{path.relative_to(ROOT)}: {lines} lines")
    assert not long, "\n".join(long)
