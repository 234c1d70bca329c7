# SPDX-License-Identifier: Apache-2.0
"""Every wrong value of every key is said with its place and its key, and the advice is a value that is right."""

import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))

import pytest

from wire import BURND, ROOT

KEYS = re.findall(r'^KEY\((\w+), \w+, (\w+), "([^"]*)"', (ROOT / "server/config.def").read_text(), re.M)
WRONG = {"COUNT": ["4XB", "many", "-1", "", "1.5", "99999999999999999999"],
         "BYTES": ["4XB", "much", "-1", "", "1kb", "1.5G", "9000000T", "99999999999999999999"],
         "MILLIS": ["4XB", "soon", "-1", "", "30", "1.5s", "99999999h", "99999999999999999999"], "CHOICE": ["what", "", "auto|never"]}
OF_A_LIST = {"listen": ["what", "unix://here", "tls://gpu.example:1", "tls://0.0.0.0:x", "tls://[::1"], "quota": ["what", "token:ci:memory=4XB", "token:ci:beer=1"],
             "allow_users": ["no-such-user"], "allow_groups": ["no-such-group"]}
OF_TEXT = {"certificate_scopes": ["compute beer"], "www": ["/nowhere/at/all"]}


def check(path, text, *flags, **environment):
    path.write_text(text)
    run = subprocess.run([BURND, *flags, "--check-config", str(path)], capture_output=True, text=True, timeout=60,
                         env=dict(os.environ, XDG_STATE_HOME=str(path.parent), **environment))
    assert run.returncode in (0, 2, 78), run
    return run.stderr


def advised(said):
    """The value that the advice shows."""
    return re.search(r"(?:^|; |, )(\S+) would be right", said)[1]


@pytest.mark.parametrize("kind,key", [(kind, key) for kind, key, _ in KEYS if kind in WRONG])
def test_values_of_every_typed_key(tmp_path, kind, key):
    path = tmp_path / "burnd.conf"
    for value in WRONG[kind]:
        said = check(path, f"# a comment\n\n{key} = {value}\nthreads = 1\n")
        assert said.startswith(f'burnd: {path}:3: {key}: "{value}" '), said
        right = advised(said)
        assert check(path, f"{key} = {right}\n") == "", (said, right)
        assert right != "0" and kind != "BYTES" or right.endswith("B"), said
    flag = "--" + key.replace("_", "-")
    said = check(path, "", f"{flag}={WRONG[kind][0]}")
    assert said.startswith(f"burnd: {flag}={WRONG[kind][0]}: {key}: "), said
    said = check(path, "", **{"BURND_" + key.upper(): WRONG[kind][0]})
    assert said.startswith(f"burnd: BURND_{key.upper()}: {key}: "), said


@pytest.mark.parametrize("key", [*OF_A_LIST, *OF_TEXT])
def test_values_that_are_looked_at_later(tmp_path, key):
    """What is wrong with them is found after the files were read; the place is known still, for each item of a list."""
    path, good = tmp_path / "burnd.conf", {"listen": "tls://127.0.0.1:1", "quota": "token:ci:memory=4GiB", "allow_users": "root", "allow_groups": "root"}
    for value in {**OF_A_LIST, **OF_TEXT}[key]:
        before = f"{key} = {good[key]}\n" if key in good else "\n"
        said = check(path, f"{before}threads = 1\n{key} = {value}\n")
        assert said.startswith(f"burnd: {path}:3: {key}"), said
        if "would be right" in said:
            right = advised(said)
            if key == "quota" and "=" not in right:  # of the part behind the last "="
                right = value[:value.rindex("=") + 1] + right
            assert check(path, f"{key} = {right}\n") == "", (said, right)
        flag = "--" + key.replace("_", "-")
        assert check(path, "", f"{flag}={value}").startswith(f"burnd: {flag}: {key}")
        variable = "BURND_" + key.upper()
        words = f"{good[key]} {value}" if key in good else value
        assert check(path, "", **{variable: words}).startswith(f"burnd: {variable}: {key}")


def test_files_that_keys_name(tmp_path):
    """The certificate and what belongs to it: missing, of no use, or alone."""
    path, listen, nothing = tmp_path / "burnd.conf", "listen = tls://127.0.0.1:1\n", tmp_path / "nothing.pem"
    nothing.write_text("nothing")
    nothing.chmod(0o600)
    pair = f"certificate = {nothing}\nprivate_key = {nothing}\n"
    for text, line, begins in ((listen + pair.replace("nothing.pem", "missing.pem", 1), 2, "certificate "), (listen + pair, 2, "certificate "),
                               (listen + f"private_key = {nothing}\n", 2, "private_key and certificate belong together"),
                               (listen + f"\n\ncertificate = {nothing}\n", 4, "certificate and private_key belong together")):
        said = check(path, text)
        assert said.startswith(f"burnd: {path}:{line}: {begins}"), said


def test_what_is_no_key_and_no_line(tmp_path):
    path = tmp_path / "burnd.conf"
    for text, line, says in (("\nmemroy = 1\n", 2, 'there is no key "memroy"; did you mean "memory"?'), ("[server]\nmemory = 1\n", 2, "section [server]"),
                             ("\n\nmemory\n", 3, 'not a "key = value" line'), ("memory = \x01\n", 1, "a control character, 0x01")):
        said = check(path, text)
        assert said.startswith(f"burnd: {path}:{line}: {says}"), said


def test_the_place_is_of_the_value_that_counts(tmp_path):
    """A stronger source replaces a value with its place; a reload reads them anew."""
    path = tmp_path / "burnd.conf"
    text = "listen = tls://gpu.example:1\nwww = /nowhere\n"
    assert check(path, text).startswith(f"burnd: {path}:1: listen: ")
    assert check(path, text, "--listen=unix:///tmp/x").startswith(f"burnd: {path}:2: www: ")
    assert check(path, text, "--listen=what").startswith("burnd: --listen: listen: what: not an address")
    assert check(path, text, "--listen=unix:///tmp/x", "--www=/tmp") == ""
    assert pathlib.Path(path).read_text() == text
