# SPDX-License-Identifier: Apache-2.0
"""The documents of the protocol are enough: the client of independent_encoder.py, written from
them, trains a linear layer over each transport, gets the errors that they promise, and writes the
bytes that the C client writes."""
import os
import socket
import struct
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from conversation import PROGRAM, hold
from independent_encoder import (ERROR, OPS, PUT_BEGIN, ROOT, SYNC, Client, Refused,
                                 Stream, WebSocket, frame, pack)

BURND = os.environ.get("BURND", str(ROOT / "build/release/bin/burnd"))
INVALID, NOT_FOUND, PROTOCOL = 1, 2, 14


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    folder = tmp_path_factory.mktemp("encoder")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = str(folder / "s")
    flags = [f"--listen=unix://{path}", f"--listen=tcp://127.0.0.1:{port}?insecure",
             "--resume-grace=0", "--idle-timeout=1h"]  # no frames whose places depend on time
    process = subprocess.Popen([BURND, *flags], env={**os.environ, "HOME": str(folder)})
    for link in (path, ("127.0.0.1", port)):
        while True:
            assert process.poll() is None
            try:
                Stream(link).socket.close()
                break
            except OSError:
                time.sleep(0.01)
    yield path, ("127.0.0.1", port)
    process.terminate()
    assert process.wait(120) == 0


def connect(daemon, transport):
    return Client(WebSocket(daemon[1]) if transport == "websocket" else
                  Stream(daemon[0] if transport == "unix" else daemon[1]))


@pytest.mark.parametrize("transport", ["unix", "tcp", "websocket"])
def test_linear_regression(daemon, transport):
    random = np.random.default_rng(7)
    xs = random.standard_normal((64, 5)).astype(np.float32)
    ys = (xs @ random.standard_normal((5, 3)) + 0.5).astype(np.float32)
    start = random.standard_normal((5, 3)).astype(np.float32), np.zeros(3, np.float32)
    c = connect(daemon, transport)
    x, y, w, b = (c.put(value) for value in (xs, ys, *start))
    for step in range(100):
        product = c.op("matmul", x, w, track=1)
        output = c.op("add", product, b, track=1)
        error = c.op("sub", output, y, track=1)
        squares = c.op("square", error, track=1)
        loss = c.op("mean", squares, track=1)
        dw, db = c.op("grad", [loss, None, w, b], attributes=[1], outputs=2)
        new_w = c.op("sgd_step", w, dw, 0.1, None)
        scaled = c.op("mul", db, 0.1)
        new_b = c.op("sub", b, scaled)
        c.op("free", [product, output, error, squares, loss, dw, db, w, b, scaled], outputs=0)
        c.op("mark", outputs=0)
        w, b = new_w, new_b
        if step % 10 == 9:
            c.flush()
    wide_w, wide_b = (value.astype(np.float64) for value in start)
    for _ in range(100):
        slope = 2 * (xs @ wide_w + wide_b - ys) / ys.size
        wide_w, wide_b = wide_w - 0.1 * xs.T.astype(np.float64) @ slope, wide_b - 0.1 * slope.sum(0)
    np.testing.assert_allclose(c.get(w), wide_w, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(c.get(b), wide_b, rtol=1e-5, atol=1e-6)
    assert c.sync() == [0, "", 0]


def test_errors(daemon):
    c = connect(daemon, "unix")
    x, row = c.put(np.ones((2, 3), np.float32)), c.put(np.ones(4, np.float32))
    c.op("mark", outputs=0)
    good = c.op("add", x, 1.0)
    bad = c.op("matmul", row, x)
    after = c.op("exp", bad)
    also = c.op("mul", good, (3,))
    for poisoned in (bad, after, bad):
        with pytest.raises(Refused) as refused:
            c.get(poisoned)
        request, code, text, op_index, retryable = refused.value.args
        assert (request, code, op_index, retryable) == (c.requests, INVALID, 3, False)
        assert "matmul" in text and "[4]" in text and "[2, 3]" in text
    assert (c.get(also) == 6).all()
    assert c.sync() == [INVALID, text, 3]
    assert c.sync() == [0, "", 0]
    with pytest.raises(Refused) as refused:
        c.get(c.next_id + 7)
    assert refused.value.args[:2] == (c.requests, NOT_FOUND) and refused.value.args[3] == 0


def test_a_malformed_record_ends_its_batch_and_no_more(daemon):
    c = connect(daemon, "tcp")
    x = c.put(np.ones(2, np.float32))
    before = c.op("add", x, 1.0)
    malformed = c.op("sgd_step", x, x, 0.1)  # the nil for weight_decay is missing
    behind = c.op("add", x, 2.0)
    c.flush()
    later = c.op("add", x, 3.0)
    assert (c.get(before) == 2).all() and (c.get(later) == 4).all()
    for tensor in (malformed, behind):
        with pytest.raises(Refused) as refused:
            c.get(tensor)
        assert refused.value.args[1] == NOT_FOUND
    code, _, op_index = c.sync()
    assert (code, op_index) == (PROTOCOL, 2)


@pytest.mark.parametrize("data", [
    frame(SYNC, [1]).replace(bytes([SYNC, 0, 0, 0]), bytes([SYNC, 0, 0x80, 0]), 1),  # a flag
    frame(OPS, [1, 1], pack([20, 1.0, 1.0]), aligned=True),    # zeros before what is no tensor
    frame(PUT_BEGIN, [1, 2, [1]], aligned=True),               # zeros before nothing
    frame(SYNC, [])[:32] + b"\x90",                            # a field is missing
    b"\x04" + frame(SYNC, [])[1:32] + b"\x91\xd1\x01\x2c",     # 300 in a signed form
], ids=["flag", "aligned ops", "aligned nothing", "fields", "signed"])
def test_a_violation_closes(daemon, data):
    c = connect(daemon, "unix")
    c.link.send(data)
    request, code, _, op_index, _ = c.take(ERROR)[1]
    assert (request, code, op_index) == (0, PROTOCOL, 0)
    with pytest.raises(EOFError):
        c.link.read(1)


def recorded(daemon, program):
    """What a program's client sends behind its HELLO."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        environment = {**os.environ, "BURN_URL": f"tcp://127.0.0.1:{server.getsockname()[1]}"}
        process = subprocess.Popen([sys.executable, "-c", program], env=environment)
        server.settimeout(120)
        client, _ = server.accept()
    sent, upstream = bytearray(), socket.create_connection(daemon[1])

    def answers():
        while data := upstream.recv(65536):
            client.sendall(data)
        client.close()

    back = threading.Thread(target=answers)
    back.start()
    while data := client.recv(65536):
        sent += data
        upstream.sendall(data)
    upstream.shutdown(socket.SHUT_WR)
    back.join()
    upstream.close()
    assert process.wait(120) == 0
    return bytes(sent[16 + 32 + int.from_bytes(sent[16:20], "little"):])


def test_the_c_client_writes_the_same_bytes(daemon):
    """client/js/tests/wire.test.ts holds the same conversation in C and in JavaScript."""
    c = connect(daemon, "tcp")
    gradient, limited = hold(c)
    assert gradient.tolist() == [[12.5], [17.5], [22.5]]
    assert limited.tolist() == [300.25]  # of 300.5
    theirs = recorded(daemon, PROGRAM)
    assert len(theirs) > 2_400_000 and theirs == c.sent
