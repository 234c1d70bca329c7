# SPDX-License-Identifier: Apache-2.0
"""Two principals on one daemon: one fills memory of all sizes with a pattern and gives it back, all the time; the other
runs the conformance cases, where fresh memory that an op let through would be a wrong result, and looks at what it reads."""

import contextlib
import os
import pickle
import socket
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from test_identities import tokens  # noqa: F401, a fixture
from test_regions import add
from test_server_ops import batch, record
from wire import CODES, PREFACE, ROOT, U8, Daemon, Wire, eventually, frame, hello

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


@contextlib.contextmanager
def filled_by(daemon, token):
    """Meanwhile that principal fills memory and gives it back."""
    stop, errors = threading.Event(), []
    other = threading.Thread(target=fill, args=(daemon, token, stop, errors))
    other.start()
    try:
        yield
    finally:
        stop.set()
        other.join()
    assert not errors


def every_op(daemon, token):
    """What the ops of the table give, with their gradients, by tests/python/test_every_op.py."""
    environment = dict(os.environ, BURN_URL="unix://" + daemon.path, BURN_TOKEN=token)
    done = subprocess.run([sys.executable, str(ROOT / "tests/python/test_every_op.py")], env=environment, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return pickle.loads(done.stdout)


@pytest.mark.parametrize("device", ["cpu", "ref"])
def test_every_op_gives_the_same_bits_beside_another_principal(tokens, tmp_path, device):  # noqa: F811
    """An op that let a byte of fresh memory through, or computed with it, would differ from what it gives alone."""
    mine, theirs = tokens.add("mine", "compute"), tokens.add("theirs", "compute")
    with Daemon(f"--state-dir={tmp_path}", f"--device={device}", "--threads=1") as daemon:
        alone = every_op(daemon, mine)
    with Daemon(f"--state-dir={tmp_path}", f"--device={device}", "--threads=1") as daemon:
        with filled_by(daemon, theirs):
            beside = every_op(daemon, mine)
        client = daemon.connect()
        assert client.report("STATS")["memory"]["cleared_bytes"] > 1 << 16
        client.close()
    assert len(alone) > 110 and alone.keys() == beside.keys()
    for key, arrays in alone.items():
        for a, b in zip(arrays, beside[key], strict=True):
            assert (a is None) == (b is None) and (a is None or a.tobytes() == b.tobytes()), key
            assert b is None or PATTERN not in b.tobytes(), key


class Looking(Wire):
    """Nothing that comes has the other's bytes."""

    def receive(self):
        name, fields, payload = super().receive()
        assert PATTERN not in payload and "SECRET" not in str(fields), (name, fields)
        return name, fields, payload

    def code(self, name, fields, payload=b""):
        self.send(frame(name, fields, payload))
        answer = self.expect("ERROR")[0]
        return next(name for name, code in CODES.items() if code == answer[1])


SECRET_BYTES = 3 << 20


def leave(daemon, token):
    """The other principal uses memory of that size, by an upload and a result, and is gone."""
    client = daemon.connect(token=token)
    client.put(1, U8, [SECRET_BYTES], PATTERN * (SECRET_BYTES // 8))
    client.spend(batch(2, record("clone", 1), record("clone", 1)))
    assert client.get(2)[2][:8] == PATTERN
    client.close()
    assert eventually(lambda: sessions(daemon) == 0, 10)


def sessions(daemon):
    watcher = daemon.connect()
    rows = [row for row in watcher.report("SESSIONS") if row["principal"] == "token:theirs"]
    watcher.close()
    return len(rows)


@pytest.mark.parametrize("device", ["cpu", "ref"])
def test_unfinished_uploads_show_nothing(tokens, tmp_path, device):  # noqa: F811
    """Where the other's bytes were: half an upload, a refused one, one that its connection took with it, and the slots of
    regions, of which only what belongs to the answer is written."""
    mine, theirs = tokens.add("mine", "compute"), tokens.add("theirs", "compute")
    half = SECRET_BYTES // 2
    with Daemon(f"--state-dir={tmp_path}", f"--device={device}") as daemon:
        leave(daemon, theirs)
        client = Looking(daemon.socket(), token=mine, features=["regions"])
        # half of it came: there is no tensor yet, for any message or op
        client.spend(frame("PUT_BEGIN", [1, U8, [SECRET_BYTES]]))
        for at in range(0, half, 1 << 19):
            client.spend(frame("PUT_DATA", [1, at], bytes(1 << 19)))
        assert client.code("GET", [1, 1]) == "NOT_FOUND"
        assert client.code("EXPORT", [2, "half"], b"\x92\xa0\x01") == "NOT_FOUND"
        client.spend(batch(2, record("clone", 1), record("clone", 1)))
        assert client.sync(3)[1] == CODES["NOT_FOUND"]
        assert client.code("GET", [4, 2]) == client.code("GET", [4, 3]) == "NOT_FOUND"
        # the next bytes do not continue it: it is refused, and stays so
        client.spend(frame("PUT_DATA", [1, half + 1], bytes(8)))
        assert client.sync(5)[1] == CODES["CONFLICT"]  # ids went on: it is no tensor any more
        assert client.code("GET", [6, 1]) == "NOT_FOUND"
        # one byte, and what lies around it in the block
        leave(daemon, theirs)
        client.put(10, U8, [1], b"x")
        client.put(11, U8, [0], b"")
        assert client.get(10, 7)[2] == b"x"
        client.send(frame("GET", [8, 11]))
        assert client.expect("DATA")[1] == b""
        # a region: what the answer does not need stays as the client left it
        shared = add(client, 1, 4 << 20, 9)
        shared[:] = b"\x11" * (4 << 20)
        client.put(12, U8, [1000], bytes(1000))
        client.send(frame("GET_REGION", [10, 12, 1, 4096, 1 << 20, 2]))
        assert client.expect("DATA_REGION")[0] == [10, 0, 4096, 1000, 1000]
        assert shared[:4096] == b"\x11" * 4096 and shared[4096:5096] == bytes(1000) and set(shared[5096:]) == {0x11}
        client.spend(frame("PUT_BEGIN", [13, U8, [SECRET_BYTES]]))
        client.send(frame("PUT_REGION", [13, 0, 1, 0, 4096, 11]))
        assert client.expect("DONE")[0] == [11]
        assert client.code("GET_REGION", [12, 13, 1, 0, 1 << 20, 1]) == "NOT_FOUND"
        assert shared[:4096] == b"\x11" * 4096
        client.close()  # in the midst of the upload
        # what it had is reused by both
        leave(daemon, theirs)
        client = Looking(daemon.socket(), token=mine)
        client.put(1, U8, [SECRET_BYTES], bytes(SECRET_BYTES))
        assert client.get(1)[2] == bytes(SECRET_BYTES)
        client.close()


def test_resumed_and_foreign_things_show_nothing(tokens, tmp_path):  # noqa: F811
    """Keys, ids and names of one principal are nothing for another, also where a session was lost in an upload."""
    mine, theirs = tokens.add("mine", "compute"), tokens.add("theirs", "compute")

    def lost(token):
        client = Looking(socket.create_connection(("127.0.0.1", daemon.tcp_port())), greet=False)
        client.send(PREFACE + hello(token=token, features=["resume"]))
        client.exactly(16)
        key = client.expect("WELCOME")[0][11]
        return client, key

    with Daemon(f"--state-dir={tmp_path}", tcp=True) as daemon:
        leave(daemon, theirs)
        first, key = lost(mine)
        begin = frame("PUT_BEGIN", [1, U8, [16]]) + frame("PUT_DATA", [1, 0], b"12345678")
        first.send(begin)
        first.close()
        other = Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())), greet=False)
        other.send(PREFACE + frame("RESUME", [1, theirs, key, 0]))
        other.exactly(16)
        assert other.expect("ERROR")[0][1] == CODES["NOT_FOUND"] and other.closed()
        again = Looking(socket.create_connection(("127.0.0.1", daemon.tcp_port())), greet=False)
        again.send(PREFACE + frame("RESUME", [1, mine, key, 0]))
        again.exactly(16)
        received = again.expect("RESUMED")[0][0]
        again.send(begin[received:] + frame("PUT_DATA", [1, 8], b"90123456"))
        assert again.get(1)[2] == b"1234567890123456"
        # ids and names of the other's session
        holder = daemon.connect(token=theirs)
        holder.put(77, U8, [len(PATTERN)], PATTERN)
        holder.send(frame("EXPORT", [1, "SECRET"], b"\x92\xa0\x4d"))
        holder.expect("DONE")
        for name, fields in (("GET", [2, 77]), ("IMPORT", [2, "SECRET", 90, 1]), ("UNEXPORT", [2, "SECRET"]),
                             ("IMPORT_PROGRAM", [2, "SECRET", 1])):
            again.send(frame(name, fields))
            got, answer, _ = Wire.receive(again)
            while got == "CREDIT":
                got, answer, _ = Wire.receive(again)
            assert got == "ERROR" and answer[1] == CODES["NOT_FOUND"], (name, answer)
        again.spend(batch(78, record("clone", 1)))
        assert again.sync(3)[1] == CODES["NOT_FOUND"]
        again.send(frame("LIST_NAMES", [4, ""]))
        assert again.expect("REPORT")[1] == b"[]"
        for client in (again, holder):
            client.close()


def test_nothing_of_another_principal_shows(tokens, tmp_path):  # noqa: F811
    mine, theirs = tokens.add("mine", "compute"), tokens.add("theirs", "compute")
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        with filled_by(daemon, theirs):
            environment = dict(os.environ, BURN_URL="unix://" + daemon.path, BURN_TOKEN=mine)
            for command in (["-c", PEEK], [str(ROOT / "tests/parity/parity.py"), "--cases", str(ROOT / "tests/conformance/cases"),
                                           "--device", "cpu", *([] if LONG else ["--only", "s*"])]):
                done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True)
                assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        client = daemon.connect()
        assert client.report("STATS")["memory"]["cleared_bytes"] > 1 << 20
        client.close()
