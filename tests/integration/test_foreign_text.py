# SPDX-License-Identifier: Apache-2.0
"""Text that a client chose, where an operator reads it: in tables, in JSON, in the log; and errors that quote it are UTF-8."""

import json
import os
import re
import subprocess
import sys
import unicodedata

sys.path.insert(0, os.path.dirname(__file__))

import pytest

from test_admin import BURNCTL, ctl
from wire import CODES, PREFACE, Daemon, Wire, frame, hello, pack

# what moves the cursor, ends a line or turns its order, by Unicode's own tables (Bidi_Control has no other members)
HIDDEN = [c for c in map(chr, range(1, 0x110000))
          if unicodedata.category(c) in ("Cc", "Zl", "Zp")
          or unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI") or c in "\u200e\u200f\u061c"]


@pytest.fixture(scope="module")
def daemon():
    with Daemon(tcp=True) as running:
        running.text = lambda: open(running.log.name, encoding="utf-8").read()  # all of it is UTF-8
        yield running


def session(daemon, name):
    client = Wire(daemon.socket(), greet=False)
    client.send(PREFACE + hello(client=name))
    client.exactly(16)
    assert client.receive()[0] == "WELCOME"
    return client


@pytest.mark.parametrize("name", ["x" * pad + c * 63 for c in ("é", "€", "🔥") for pad in range(4)] + ['"},{"x":"', "\\", "é" * 31])
def test_a_name_is_cut_between_characters(daemon, name):
    client = session(daemon, name)
    kept = name.encode()[:63].decode(errors="ignore")
    assert kept in [row["client"] for row in json.loads(ctl(daemon, "-o", "json", "sessions"))]
    assert kept in ctl(daemon, "sessions")
    client.close()


@pytest.mark.parametrize("first", range(0, len(HIDDEN), 15))
def test_nothing_hidden_reaches_a_terminal(daemon, first):
    some = HIDDEN[first:first + 15]
    name = "n" + "".join(some) + "é"
    client = session(daemon, name)
    shown = "n" + "?" * len(some) + "é"
    table = subprocess.run([BURNCTL, "--url", "unix://" + daemon.path, "sessions"], capture_output=True, check=True).stdout.decode()
    assert shown in table and not set(HIDDEN) & set(table) - {"\n"}
    raw = subprocess.run([BURNCTL, "--url", "unix://" + daemon.path, "-o", "json", "sessions"], capture_output=True, check=True).stdout
    assert raw.isascii() and name in [row["client"] for row in json.loads(raw)]
    assert f'client="{shown}"\n' in daemon.text()
    assert not set(HIDDEN) & set(daemon.text()) - {"\n"}
    client.close()


def test_a_value_of_the_log_does_not_end_early(daemon):
    client = session(daemon, 'me" principal="root\\')
    assert r'client="me\" principal=\"root\\"' + "\n" in daemon.text()
    client.close()
    wrong = Wire(daemon.socket(), greet=False)
    wrong.send(PREFACE + hello(device='x" code=OK "'))
    wrong.exactly(16)
    assert wrong.expect("ERROR")[0][1] == CODES["NOT_FOUND"]
    line = next(line for line in daemon.text().splitlines() if "there is no device" in line)
    value = re.search(r'reason="((?:[^"\\]|\\.)*)"$', line)[1]
    assert re.sub(r"\\(.)", r"\1", value).startswith('there is no device "x" code=OK ""; this daemon has ')


@pytest.mark.parametrize("character", ["é", "€", "🔥"])
def test_errors_quote_whole_characters(daemon, character):
    """Wire.receive decodes strictly."""
    client = daemon.connect()
    client.put(1, 1, [1], bytes(4))
    for pad in range(4):
        text = ("x" * pad + character * 255).encode()[:255].decode(errors="ignore")
        for number, message in enumerate((frame("EXPORT", [7, text], pack(["", 1])), frame("IMPORT", [7, text, 100, 9]),
                                          frame("TOKEN_REVOKE", [7, text]), frame("TOKEN_CREATE", [7, "a", text, 0, ""]))):
            client.send(message)
            while (got := client.receive())[0] == "CREDIT":
                pass
            assert got[0] == "ERROR" and character in got[1][2], (number, got)
    client.close()
