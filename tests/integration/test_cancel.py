# SPDX-License-Identifier: Apache-2.0
"""CANCEL_WORK: what a session has to do is dropped, by itself or from another connection; who waits for it hears of it, and
what was there before stays."""

import os
import re
import socket
import subprocess
import sys
import textwrap
import time

sys.path.insert(0, os.path.dirname(__file__))

import pytest

from test_identities import Tokens
from test_server_ops import batch, floats, record
from test_tls import connect
from wire import BURND, CODES, F32, ROOT, Daemon, Wire, eventually, frame

BURNCTL = str(ROOT / "build/release/bin/burnctl")
MATMULS = b"".join(record("matmul", i + 1, i + 1) + record("mark") for i in range(60))


@pytest.fixture(scope="module")
def daemon():
    with Daemon(tcp=True) as running:
        yield running


def client_of(daemon):
    return daemon.connect(features=["cancel_work"])


def busy(client, records=MATMULS):
    """Work for minutes on tensor 1, most of it not begun."""
    client.put(1, F32, [2500, 2500], floats(1) * 2500 * 2500)
    client.send(batch(2, records) + frame("GET", [1, 61]) + frame("SYNC", [2]))
    time.sleep(0.3)


def cancelled(client, request):
    """Both requests of busy() are answered, and all goes on."""
    begin, seen = time.monotonic(), {}
    while len(seen) < (3 if request else 2):
        name, fields, _ = client.receive()
        if name != "CREDIT":
            seen[fields[0]] = name, fields
    assert time.monotonic() - begin < 30
    assert not request or seen[request][0] == "DONE"
    name, fields = seen[1]
    assert name == "ERROR" and fields[1] == CODES["CANCELLED"] and "the work of the session was cancelled" in fields[2]
    name, fields = seen[2]
    assert name == "SYNCED" and fields[1] == CODES["CANCELLED"]
    assert client.sync(3)[1] == CODES["OK"]
    assert client.get(1, 4)[2][:4] == floats(1)
    client.send(frame("OPS", [62, 200], record("add", 61, 1.0) + record("exp", 2)))
    assert client.get(62, 5)[2][-4:] == floats(2)  # of the upload
    client.send(frame("GET", [6, 63]))
    assert client.expect("ERROR")[0][1] == CODES["CANCELLED"]  # of what was dropped
    assert client.sync(7)[1] == CODES["OK"]


def at_rest(daemon, sessions=1):
    client = daemon.connect()
    stats = client.report("STATS")
    client.close()
    return stats["sessions"]["open"] == sessions and stats["memory"]["device_bytes"] == 0 and stats["stream"]["tensors"] == 0


def test_its_own_work(daemon):
    client = client_of(daemon)
    busy(client)
    client.send(frame("CANCEL_WORK", [9, 0]))
    cancelled(client, 9)
    client.close()
    assert eventually(lambda: at_rest(daemon), 5)


def test_work_whose_turn_on_the_device_is_to_come():
    """How long each takes is known, and so most of them wait until the device has room when they are dropped."""
    code = """
        import time, burn
        x, kept = burn.rand(600, 600), burn.arange(4.0)
        burn.sync()
        for wait in (0, 0.001, 0.005, 0.02, 0.05) * 8:
            for _ in range(40):
                y = x @ x
                burn._core.mark()
            burn._core.flush()
            time.sleep(wait)
            burn.cancel()
            try:
                burn.sync()
            except burn.CancelledError:
                pass
            assert (kept + 1).tolist() == [1, 2, 3, 4]
        """
    with Daemon() as daemon:
        subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, timeout=120,
                       env={**os.environ, "BURND": BURND, "BURN_URL": "unix://" + daemon.path})
        assert eventually(lambda: at_rest(daemon), 5)


def test_from_another_connection_and_without_work(daemon):
    client, other = client_of(daemon), client_of(daemon)
    busy(client)
    other.send(frame("CANCEL_WORK", [1, client.session]))
    assert other.expect("DONE")[0] == [1]
    cancelled(client, None)
    for number in (client.session, other.session, 0):
        other.send(frame("CANCEL_WORK", [2, number]))
        other.expect("DONE")
    assert other.sync(3)[1] == CODES["OK"] and client.sync(8)[1] == CODES["OK"]
    client.close()
    other.close()
    assert eventually(lambda: at_rest(daemon), 5)


def test_a_kernel_of_hours_and_a_long_program(daemon):
    client = client_of(daemon)
    client.send(batch(1, record("uniform", 0.0, 1.0, [1 << 20, 1 << 18]), record("sum", 1), record("free", [2])) + frame("SYNC", [1]))
    time.sleep(0.3)
    client.send(frame("CANCEL_WORK", [2, 0]))
    assert client.expect("DONE")[0] == [2]
    assert client.expect("SYNCED")[0][1] == CODES["CANCELLED"]
    # A call that makes one output of thousands of records, called again and again.
    client.put(10, F32, [300, 300], floats(0) * 90000)
    body = b"".join(record("matmul", 1, k - 1) + record("mark") + record("free", [2]) for k in range(3, 2003))
    client.send(frame("PROGRAM_DEFINE", [3, 7, "long", 1, 2], record("add", 1, 0.0) + body))
    name, fields, _ = client.receive()
    while name == "CREDIT":
        name, fields, _ = client.receive()
    assert name == "DONE", fields
    client.send(frame("OPS", [11, 10], b"".join(record("call", [1 + i], 7, 1) for i in range(50))) + frame("SYNC", [4]))
    time.sleep(0.3)
    client.send(frame("CANCEL_WORK", [5, 0]))
    assert client.expect("DONE")[0] == [5]
    assert client.expect("SYNCED")[0][1] == CODES["CANCELLED"]
    for ident in (30, 60):  # all of its outputs are there, as poison
        client.send(frame("GET", [6, ident]))
        assert client.expect("ERROR")[0][1] == CODES["CANCELLED"]
    client.send(frame("OPS", [61, 99], record("call", [51], 7, 1)))
    assert client.get(10, 7)[2][:4] == floats(0)
    client.close()
    assert eventually(lambda: at_rest(daemon), 5)


def test_while_its_kernels_compile(daemon):
    client = client_of(daemon)
    client.put(1, F32, [64, 64], floats(1) * 4096)
    names = ["sin", "cos", "tanh", "exp", "sigmoid", "sqrt", "relu"]
    records = b"".join(record(names[(i * i + i // 7) % 7], 1) for i in range(400)) + record("sum", 1, [0])
    client.send(batch(2, records) + frame("GET", [1, 402]) + frame("CANCEL_WORK", [2, 0]))
    seen = {}
    while len(seen) < 2:
        name, fields, _ = client.receive()
        seen[fields[0]] = name, fields
    assert seen[2][0] == "DONE"
    assert seen[1][0] == "DATA" or seen[1][1][1] == CODES["CANCELLED"]  # it may have been quick
    assert client.sync(3)[1] in (CODES["OK"], CODES["CANCELLED"])
    client.send(batch(403, record("exp", 402) + records))
    assert len(client.get(804, 4)[2]) == 256
    client.close()
    assert eventually(lambda: at_rest(daemon), 5)


def test_whose_work(tmp_path):
    tokens = Tokens(tmp_path)
    mine, theirs, admin = tokens.add("mine", "compute"), tokens.add("theirs", "compute"), tokens.add("admin", "admin")
    with Daemon(f"--state-dir={tmp_path}", tls=True, tcp=True) as daemon:
        daemon.certificate = lambda: f"{tmp_path}/certificate.pem"
        client = Wire(connect(daemon), token=mine, features=["cancel_work"])
        for token, answer in ((theirs, "ERROR"), (mine, "DONE"), (admin, "DONE")):
            other = Wire(connect(daemon), token=token, features=["cancel_work"])
            for number in (client.session, 12345):
                other.send(frame("CANCEL_WORK", [1, number]))
                fields = other.expect(answer if number != 12345 else "ERROR")[0]
                assert len(fields) == 1 or fields[1:3] == [CODES["NOT_FOUND"], f"session {number} is unknown"]
            other.close()
        anonymous = [Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())), features=["cancel_work"]) for _ in range(2)]
        anonymous[0].send(frame("CANCEL_WORK", [1, anonymous[1].session]))
        assert anonymous[0].expect("ERROR")[0][1] == CODES["NOT_FOUND"]
        anonymous[0].send(frame("CANCEL_WORK", [1, 0]))
        anonymous[0].expect("DONE")
        plain = daemon.connect()
        plain.send(frame("CANCEL_WORK", [1, 0]))
        assert plain.expect("ERROR")[0][1] == CODES["PROTOCOL"] and plain.closed()
        for one in (client, plain, *anonymous):
            one.close()


def test_in_python_and_by_burnctl(daemon):
    code = """
        import threading, time, burn
        kept = burn.arange(4.0)
        burn.sync()
        def heavy():
            y = x = burn.rand(2500, 2500)
            for _ in range(60):
                y = (y @ x) / 2500
            return y
        for whose in ("mine", "theirs"):
            y = heavy()
            if whose == "mine":
                threading.Timer(0.5, burn.cancel).start()
            else:
                print(burn._core.welcome()["session"], flush=True)
            start = time.monotonic()
            try:
                y.sum().item()
            except burn.Error as error:
                print(type(error).__name__, error, time.monotonic() - start < 30, flush=True)
            try:
                burn.sync()
            except burn.Error:
                pass
            print((kept + 1).tolist(), flush=True)
        try:
            burn.cancel(99999)
        except burn.Error as error:
            print(error)
        """
    program = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "BURND": BURND, "BURN_URL": "unix://" + daemon.path})
    cancelled = re.compile(r"\w+ .*the work of the session was cancelled.* True\n")
    assert cancelled.fullmatch(line := program.stdout.readline()), line
    assert program.stdout.readline() == "[1.0, 2.0, 3.0, 4.0]\n"
    session = program.stdout.readline().strip()
    for words, status in (((session,), 0), (("none",), 2), ((), 2), (("99999",), 1)):
        done = subprocess.run([BURNCTL, "--url", "unix://" + daemon.path, "cancel", *words], capture_output=True, text=True)
        assert done.returncode == status, done
    assert cancelled.fullmatch(line := program.stdout.readline()), line
    assert program.stdout.readline() == "[1.0, 2.0, 3.0, 4.0]\n"
    assert "session 99999 is unknown" in program.stdout.readline()
    assert program.wait(30) == 0
    assert eventually(lambda: at_rest(daemon), 5)
