# SPDX-License-Identifier: Apache-2.0
"""What a reader may count on in every C file that is written by hand: its size, its head, one home for each thing."""
import collections
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRODUCT = ("proto/", "engine/", "backends/", "server/", "client/")
GENERATED = re.compile(r"_gen\.[ch]$|/burn_ops\.h$|^client/python/core/ops\.h$")
FUNCTION = re.compile(r"^(?!typedef|enum|struct|static const|#)([\w][\w \*]*?)\b(\w+)\(([^;{}]*?)\)\s*\{\n(.*?)^\}", re.M | re.S)

PUBLIC_HEADER = "client/c/burn/burn.h"  # for any compiler of C or C++: its guard is a macro

# Functions whose only callers are tests, and why they stand in the product all the same.
FOR_TESTS = {
    "bd_graph_print": "the text of a graph, read in a debugger and by tests",
    "bd_plan_print": "likewise of a plan",
    "bd_int_min": "completes the arithmetic of sizes",
    "bd_buffer_size": "what an engine promises of a buffer",
    "bd_unpack_skip": "checks all that the subset of msgpack demands, for tests and fuzzers",
}
# Calls of libc that have one door, and what to use elsewhere.
DOORS = {
    r"(?:malloc|calloc|realloc|free|strdup|strndup)": ("proto/base/alloc.c", "bd_alloc and bd_free"),
    r"(?:strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca|setjmp|system)": ("", "something that has a bound"),
}
# Memory that others free with free(): DLPack's consumers. And who is malloc where there is no libc.
OWN_MALLOC = ("client/python/core/dlpack.c", "client/js/wasm/memory.c", "client/js/wasm/include/stdlib.h")


def hand_written(folders=("",)):
    names = subprocess.run(["git", "ls-files", "*.c", "*.h"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.split():
        if not GENERATED.search(name) and name.startswith(folders) and (ROOT / name).exists():
            yield name, (ROOT / name).read_text()


def code_of(text):
    """The text without comments, line for line."""
    return re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.S)


def test_lines_are_at_most_100_columns():
    wrong = [f"{name}:{number}: {len(line)} columns" for name, text in hand_written()
             for number, line in enumerate(text.splitlines(), 1) if len(line) > 100]
    assert not wrong, "\n".join(wrong)


def test_files_are_at_most_600_lines():
    wrong = [f"{name}: {text.count(chr(10))} lines" for name, text in hand_written() if text.count("\n") > 600]
    assert not wrong, "\n".join(wrong)


def test_functions_are_at_most_70_lines():
    wrong = [f"{name}: {found[2]}" for name, text in hand_written(PRODUCT) for found in FUNCTION.finditer(text)
             if found[0].count("\n") + 1 > 70]
    assert not wrong, "\n".join(wrong)


def test_headers_say_what_they_are_for():
    wrong = []
    for name, text in hand_written():
        head = re.match(r"/\* SPDX-License-Identifier: Apache-2\.0(.*?)\*/\n", text, re.S)
        if not head:
            wrong.append(f"{name}: no licence line")
        elif name.endswith(".h") and len(head[1].strip(" *\n")) < 20:
            wrong.append(f"{name}: the head says nothing")
        elif name.endswith(".h") and "#pragma once" not in text and name != PUBLIC_HEADER:
            wrong.append(f"{name}: no #pragma once")
    assert not wrong, "\n".join(wrong)


def test_nothing_is_left_to_do():
    marks = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
    wrong = [f"{name}: {line.strip()}" for name, text in hand_written() for line in text.splitlines() if marks.search(line)]
    assert not wrong, "\n".join(wrong)


def test_libc_is_called_at_its_doors():
    wrong = []
    for name, text in hand_written(PRODUCT):
        for pattern, (door, instead) in DOORS.items():
            if name != door and not (name in OWN_MALLOC and "malloc" in pattern):
                wrong += [f"{name}: {found[0]}) where {instead} is meant"
                          for found in re.finditer(r"(?<![\w>.])" + pattern + r"\(", code_of(text))]
    assert not wrong, "\n".join(wrong)


def test_no_helper_is_written_twice():
    """The same static function in two files of a folder belongs into a header of theirs."""
    seen = collections.defaultdict(set)
    for name, text in hand_written(PRODUCT):
        for found in FUNCTION.finditer(code_of(text)):
            if found[1].startswith("static"):
                seen[name.rsplit("/", 1)[0], found[2], " ".join(found[3].split()), " ".join(found[4].split())].add(name)
    wrong = [f"{function}: {', '.join(sorted(names))}" for (_, function, _, _), names in seen.items()
             if len(names) > 1]
    assert not wrong, "\n".join(wrong)


def test_no_function_is_without_a_caller():
    uses = collections.defaultdict(set)
    for name, text in hand_written(PRODUCT):
        for word, count in collections.Counter(re.findall(r"\bbd_\w+", code_of(text))).items():
            uses[word].add((name, count))
    for path in list(ROOT.glob("*/*_gen.c")) + list(ROOT.glob("client/*/*_gen.c")):
        for word in re.findall(r"\bbd_\w+", path.read_text()):
            uses[word].add((path.name, 1))
    wrong = []
    for name, text in hand_written(PRODUCT):
        for found in FUNCTION.finditer(code_of(text)) if name.endswith(".c") else ():
            function = found[2]
            if found[1].startswith("static") or not re.fullmatch(r"bd_[a-z0-9_]+", function):  # bd_SORT_F32: a macro names it
                continue
            called = any(place != name and (not place.endswith(".h") or count > 1) or place == name and count > 1
                         for place, count in uses[function])
            if called and function in FOR_TESTS:
                wrong.append(f"{name}: {function} has a caller: take it from the list")
            if not called and function not in FOR_TESTS:
                wrong.append(f"{name}: nothing calls {function}")
    assert not wrong, "\n".join(wrong)
