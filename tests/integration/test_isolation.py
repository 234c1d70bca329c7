# SPDX-License-Identifier: Apache-2.0
"""Two principals on one daemon: one fills memory of all sizes with a pattern and gives it back, all the time; the other
runs the conformance cases, where fresh memory that an op let through would be a wrong result, and looks at what it reads."""

import os
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(__file__))

from test_identities import tokens  # noqa: F401, a fixture
from test_server_ops import batch, record
from wire import ROOT, U8, Daemon, frame

LONG = bool(os.environ.get("BURN_TEST_LONG"))
PATTERN = b"\xa5SECRET\x5a"
SIZES = (64, 1000, 30_000, 300_000, 2 << 20, 12 << 20)

# What makes tensors without naming their values, and what leaves places out.
PEEK = r"""
import burn, numpy as np
pattern = bytes.fromhex("a55345435245545a")
def look(tensor):
    assert pattern not in tensor.numpy().tobytes(), tensor.shape
for size in (16, 250, 7500, 75_000, 1 << 19, 3 << 20):
    x = burn.ones(size)
    for made in (burn.empty(size), burn.empty_like(x), burn.empty_strided((size,), (1,)), burn.empty(size, dtype=burn.uint8),
                 burn.nn.functional.pad(x, (3, 5)), x.new_empty(size), burn.zeros(size).scatter(0, burn.tensor([1]), x),
                 burn.cat([x, x])[3:], x.repeat(2), burn.masked_select(x, x > 2), burn.nonzero(x - 1), burn.unique(x),
                 burn.topk(x, 3).values, x.expand(2, size)[1], burn.full((size,), 2.0).clone(), burn.tril(x.reshape(2, -1))):
        look(made)
"""


def fill(daemon, token, stop, errors):
    try:
        client = daemon.connect(token=token)
        ident, op = 1, 1
        while not stop.is_set():
            for size in SIZES:
                client.put(ident, U8, [size], (PATTERN * (size // 8 + 1))[:size])
                client.spend(batch(ident + 1, record("clone", 1), record("free", [1, 2]), first_op=op))
                ident, op = ident + 2, op + 2
            assert client.sync(op)[1] == 0
        client.close()
    except Exception as error:  # of a thread: the test tells it
        errors.append(error)


def test_nothing_of_another_principal_shows(tokens, tmp_path):  # noqa: F811
    mine, theirs = tokens.add("mine", "compute"), tokens.add("theirs", "compute")
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        stop, errors = threading.Event(), []
        other = threading.Thread(target=fill, args=(daemon, theirs, stop, errors))
        other.start()
        try:
            environment = dict(os.environ, BURN_URL="unix://" + daemon.path, BURN_TOKEN=mine)
            for command in (["-c", PEEK], [str(ROOT / "tests/parity/parity.py"), "--cases", str(ROOT / "tests/conformance/cases"),
                                           "--device", "cpu", *([] if LONG else ["--only", "s*"])]):
                done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True)
                assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        finally:
            stop.set()
            other.join()
        assert not errors
        client = daemon.connect()
        assert client.report("STATS")["memory"]["cleared_bytes"] > 1 << 20
        client.close()
