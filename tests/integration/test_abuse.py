# SPDX-License-Identifier: Apache-2.0
"""Clients that keep to the letter of the protocol and ask for too much: what they cost stays bounded,
the others have their turn, and each gets a typed error."""

import os
import random
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))

import pytest

import wire
from baseline import MIB, resident
from test_server_ops import floats, record
from wire import CODES, F32, U8, Daemon, eventually, frame


class Peak:
    """The largest memory of a daemon within a block."""

    def __init__(self, daemon):
        self.daemon, self.bytes, self.stop = daemon, resident(daemon), threading.Event()
        self.thread = threading.Thread(target=self.watch)

    def watch(self):
        while not self.stop.wait(0.002):
            self.bytes = max(self.bytes, resident(self.daemon))

    def __enter__(self):
        self.base = self.bytes
        self.thread.start()
        return self

    def __exit__(self, *problem):
        self.stop.set()
        self.thread.join()

    def growth(self):
        return self.bytes - self.base


def send_until_closed(client, data, count=1):
    try:
        for _ in range(count):
            client.send(data)
    except OSError:
        pass


def test_reports_that_nobody_reads():
    with Daemon("--outbound=8MiB") as daemon:
        others = [daemon.connect() for _ in range(200)]
        client = daemon.connect()
        with Peak(daemon) as peak:
            send_until_closed(client, b"".join(frame("SESSIONS", [i + 1]) for i in range(60000)))
            assert eventually(lambda: "bytes wait for it" in daemon.text(), 5)
        assert peak.growth() < 40 * MIB, peak.growth()
        assert others[0].sync()[1] == 0


def test_frames_that_cost_nothing():
    with Daemon("--outbound=1GiB") as daemon:
        client, other = daemon.connect(), daemon.connect()
        flood = frame("PING", [1]) * 10000
        reader = threading.Thread(target=lambda: send_until_closed(client, flood, 40))
        reader.start()
        got = 0
        last = b""
        while data := client.sock.recv(1 << 20):
            got, last = got + len(data), (last + data)[-1000:]
        assert got > 100000 * len(frame("PONG", [1]))
        assert b"100000 frames that cost no credit" in last and "code=PROTOCOL" in daemon.text()
        reader.join()
        for i in range(1, 20000):  # one after the other there is no limit
            other.send(frame("PING", [i]))
            assert other.receive()[1] == [i]
        other.close()


def test_short_programs_of_many_records_take_turns():
    with Daemon() as daemon:
        client, other = daemon.connect(), daemon.connect()
        client.send(frame("PROGRAM_DEFINE", [1, 1, "frees", 0, 1], record("free", []) * 60000))
        client.expect("DONE")
        client.send(frame("OPS", [1, 1], record("call", [], 1, 0) * 50000))  # three thousand million records
        other.put(1, F32, [2], floats(1, 2))
        start = time.monotonic()
        for i in range(1, 20):
            assert other.get(1, i)[2] == floats(1, 2)
        assert time.monotonic() - start < 2
        client.close()
        assert eventually(lambda: other.report("STATS")["sessions"]["open"] == 1)
        other.close()


def test_uploads_that_are_refused_wait_within_the_credit():
    with Daemon("--credit=4MiB") as daemon:
        client, other = daemon.connect(), daemon.connect()
        client.put(1, F32, [1024, 1024], bytes(4 * MIB))
        slow = b"".join(record("matmul", i + 1, i + 1) + record("mark") for i in range(20))
        flood = b"".join(frame("PUT_BEGIN", [i + 1000, U8, [2**40, 2**40]]) for i in range(100000))
        client.send(frame("OPS", [2, 1], slow))
        with Peak(daemon) as peak:
            send_until_closed(client, flood)
            name, fields, _ = client.receive()
            while name == "CREDIT":
                name, fields, _ = client.receive()
        assert name == "ERROR" and fields[1] == CODES["PROTOCOL"] and "credit overrun" in fields[2]
        assert peak.growth() < 160 * MIB, peak.growth()  # most of it are the products
        assert other.sync()[1] == 0
        client.close()
        other.close()


@pytest.mark.parametrize("kind", ["value", "poison"])
def test_tensors_without_end(kind):
    one = record("full", 1.0, [], F32) if kind == "value" else record("full", 1.0, [-3], F32)
    with Daemon() as daemon:
        client, other = daemon.connect(), daemon.connect()
        base, count, each = resident(daemon), 0, 15000
        codes = []
        while count < 1100000:
            client.send(frame("OPS", [count + 1, count + 1], one * each))
            count += each
            codes.append(client.sync(count)[1:3])
        assert codes[-1][0] == CODES["LIMIT"] and "1048576 are the limit" in codes[-1][1], codes[-1]
        assert codes[1][0] == (CODES["OK"] if kind == "value" else CODES["INVALID"])
        assert other.report("STATS")["stream"]["tensors"] == 1 << 20
        client.put(count + 1, F32, [1], floats(1))
        code, text = client.sync(count + 1)[1:3]
        assert code == CODES["LIMIT"] and f"upload of tensor {count + 1}" in text
        # What is freed makes room.
        client.send(frame("OPS", [count + 2, count + 1], record("free", [count + 2 - i for i in range(1, 101)])))
        client.put(count + 2, F32, [1], floats(7))
        assert client.get(count + 2, 1)[2] == floats(7)
        assert resident(daemon) - base < 1100 * MIB
        client.close()
        most = (512 if kind == "value" else 32) * MIB  # plans are kept
        assert eventually(lambda: resident(daemon) - base < most, 10), resident(daemon) - base
        assert other.sync()[1] == 0
        other.close()


def test_a_late_hello_that_has_come_is_not_late():
    """A daemon that could not run for a while reads before it judges."""
    with Daemon("--hello-timeout=300ms") as daemon:
        client = wire.Wire(daemon.socket(), greet=False)
        client.send(wire.PREFACE)
        assert client.exactly(16)
        daemon.process.send_signal(signal.SIGSTOP)
        client.send(wire.hello())
        time.sleep(0.8)
        daemon.process.send_signal(signal.SIGCONT)
        assert client.receive()[0] == "WELCOME"
        assert client.sync()[1] == 0
        client.close()


@pytest.mark.parametrize("count", [3, 200])
def test_ops_that_cannot_be_planned(count):
    """A few are left out and the rest runs; if there are many, the trace is given up, in bounded time."""
    rng = random.Random(1)
    with Daemon() as daemon:
        client, other = daemon.connect(), daemon.connect()
        client.sock.settimeout(60)
        other.sock.settimeout(60)
        client.put(1, F32, [2] * 16, bytes(4 << 16))
        client.put(2, F32, [2], floats(1, 2))
        ident, records = 3, [record("add", 1, 1.0)]
        for _ in range(count):
            ident += 2
            records += [record("permute", ident - 2, rng.sample(range(16), 16)), record("add", 1, ident - 2)]
        client.send(frame("OPS", [3, 1], b"".join(records)) + frame("SYNC", [1]))
        time.sleep(0.05)
        start = time.monotonic()
        assert other.sync()[1] == 0
        assert time.monotonic() - start < 30
        code, text = client.expect("SYNCED")[0][1:3]
        assert code == CODES["UNSUPPORTED"] and "needs more axes than a kernel has" in text, text
        assert ("none of them is run" in text) == (count > 4)
        client.send(frame("GET", [2, 3]))
        if count > 4:
            assert client.expect("ERROR")[0][1] == CODES["UNSUPPORTED"]
        else:
            assert client.expect("DATA")[1] == floats(2, 3)
        client.send(frame("OPS", [ident + 1, 90000], record("add", ident - 1, 2.0)))
        assert client.get(ident + 1, 3)[2] == floats(3, 4)
        client.close()
        other.close()
