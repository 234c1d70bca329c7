# SPDX-License-Identifier: Apache-2.0
"""Generated files are fresh, and the copied parity suite is what it says it is."""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_op_tables_are_fresh():
    done = subprocess.run([sys.executable, ROOT / "proto/gen_ops.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_protocol_page_is_fresh():
    done = subprocess.run([sys.executable, ROOT / "proto/gen_protocol.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_protocol_is_what_was_frozen():
    done = subprocess.run([sys.executable, ROOT / "proto/freeze.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_machine_paths_or_hosts():
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    wrong = []
    for name in files:
        if name.startswith("tests/parity/") or name == "LICENSE":
            continue
        try:
            text = (ROOT / name).read_text()
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        for needle in ("/wo" + "rk/", "/ro" + "ot/", "deb.deb" + "ian.org", "pypi.o" + "rg", "registry.npm" + "js.org"):
            if needle in text:
                wrong.append(f"{name}: {needle}")
    assert not wrong, "\n".join(wrong)
