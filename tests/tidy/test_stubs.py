# SPDX-License-Identifier: Apache-2.0
"""Type stubs are fresh, name what is there, and let a checker see users' mistakes."""
import ast
import pathlib
import subprocess
import sys

import burn._core

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "client/python/burn"


def test_made_stubs_are_fresh():
    done = subprocess.run([sys.executable, ROOT / "client/python/make_stubs.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def names_in(body):
    return {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))} | {
        node.target.id for node in body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}


def test_the_stub_of_the_extension_names_all_and_no_more():
    tree = ast.parse((PACKAGE / "_core.pyi").read_text())
    there = {name for name in dir(burn._core) if not name.startswith("__")}
    assert names_in(tree.body) == there
    tensor = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Tensor")
    implicit = {"__new__", "__doc__", "__module__", "__array_ufunc__", "__delitem__"}
    assert names_in(tensor.body) == set(vars(burn._core.Tensor)) - implicit


def check(path):
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", "/dev/null", path],
                          capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_a_users_program_is_clean_and_mistakes_are_found(tmp_path):
    code, text = check(ROOT / "tests/tidy/typed_user.py")
    assert code == 0, text
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import burn\nx = burn.ones(2)\nx.exq()\nburn.ones(2).backward(gradint=x)\n"
                     "burn.no_such\ny: int = burn.exp(x)\nburn.nn.Linear('a', 2)\n")
    code, text = check(wrong)
    found = {int(line.split(":")[1]) for line in text.splitlines() if ": error:" in line}
    assert code == 1 and found == {3, 4, 5, 6, 7}, text
