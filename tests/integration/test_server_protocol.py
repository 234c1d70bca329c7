# SPDX-License-Identifier: Apache-2.0
"""The server by its socket: handshake, uploads and downloads, requests, credit, wrong bytes."""

import os
import random
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))

import pytest

import wire
from baseline import Baseline
from wire import CODES, F32, Closed, Daemon, U8, Wire, eventually, frame


@pytest.fixture(scope="module")
def daemon():
    with Daemon("--session-memory=64MiB") as running:
        yield running


def refused(client, code, part=""):
    """The next message is an ERROR of the connection with this code; then it is closed."""
    fields, _ = client.expect("ERROR")
    assert fields[0] == 0 and fields[1] == CODES[code] and part in fields[2], fields
    assert client.closed()


def test_ping_before_anything_else(daemon):
    client = daemon.connect()
    for token in (0, -1, 2**63 - 1, -2**63):
        client.send(frame("PING", [token]))
        assert client.expect("PONG")[0] == [token]
    client.close()


def test_every_byte_alone(daemon):
    client = Wire(daemon.socket(), greet=False)
    for byte in wire.PREFACE + wire.hello() + frame("PING", [7]):
        client.send(bytes([byte]))
    assert client.exactly(16) == wire.PREFACE
    fields, _ = client.expect("WELCOME")
    assert fields[2:7] == [65536, 262144, 1 << 20, 16 << 20, 16]
    assert client.expect("PONG")[0] == [7]
    client.close()


@pytest.mark.parametrize("count", [0, 1, 7, 1024, 262144, 262145, 3 << 20])
def test_upload_and_download(daemon, count):
    data = random.Random(count).randbytes(count * 4)
    client = daemon.connect()
    client.put(1, F32, [count], data)
    assert client.get(1) == (F32, [count], data)
    # In one frame, and in odd chunks.
    if len(data) <= 1 << 20:
        client.send(frame("PUT_BEGIN", [2, F32, [1, count]], data))
        assert client.get(2, 2) == (F32, [1, count], data)
    client.put(3, U8, [count * 4], data, chunk=(1 << 20) - 13)
    assert client.get(3, 3)[2] == data
    client.close()


def test_two_downloads_under_way(daemon):
    client = daemon.connect()
    data = random.Random(1).randbytes(5 << 20)
    client.put(1, U8, [len(data)], data)
    client.send(frame("GET", [1, 1]) + frame("GET", [2, 1]) + frame("PING", [3]))
    got, pongs = {1: b"", 2: b""}, 0
    while len(got[1]) + len(got[2]) < 2 * len(data):
        name, fields, payload = client.receive()
        if name == "DATA":
            got[fields[0]] += payload
        else:
            pongs += name == "PONG"
    assert got[1] == data and got[2] == data
    client.close()


def test_unknown_tensor_and_reused_requests(daemon):
    client = daemon.connect()
    client.send(frame("GET", [5, 12345]))
    fields, _ = client.expect("ERROR")
    assert fields[0] == 5 and fields[1] == CODES["NOT_FOUND"]
    assert client.sync(6)[1] == 0
    client.close()


def test_memory_limit_of_a_session_poisons_the_tensor_only(daemon):
    client = daemon.connect()
    size = 65 << 20
    client.send(frame("PUT_BEGIN", [1, U8, [size]]))
    for at in range(0, 4 << 20, 1 << 20):
        client.send(frame("PUT_DATA", [1, at], bytes(1 << 20)))
    client.put(2, U8, [3], b"abc")
    assert client.get(2, 1)[2] == b"abc"
    client.send(frame("GET", [2, 1]))
    fields, _ = client.expect("ERROR")
    assert fields[0] == 2 and fields[1] in (CODES["LIMIT"], CODES["NO_MEMORY"]) and "upload of tensor 1" in fields[2]
    client.close()


def test_uploads_that_lie(daemon):
    client = daemon.connect()
    client.send(frame("PUT_DATA", [9, 0], b"abcd"))
    fields, _ = client.expect("ERROR")
    assert fields[:2] == [0, CODES["NOT_FOUND"]]
    client.send(frame("PUT_BEGIN", [10, U8, [8]]) + frame("PUT_DATA", [10, 4], b"abcd"))  # a gap
    client.send(frame("PUT_BEGIN", [11, U8, [8]]) + frame("PUT_DATA", [11, 0], b"123456789"))  # too long
    client.send(frame("PUT_BEGIN", [12, U8, [2]], b"123"))
    client.send(frame("PUT_BEGIN", [13, U8, [2**40, 2**40]]))
    client.send(frame("PUT_BEGIN", [14, U8, [2]]) + frame("PUT_BEGIN", [14, U8, [2]]))
    fields, _ = client.expect("ERROR")
    assert fields[:2] == [0, CODES["CONFLICT"]]
    for request, ident in enumerate((10, 11, 12, 13), 1):
        client.send(frame("GET", [request, ident]))
        fields, _ = client.expect("ERROR")
        assert fields[0] == request and fields[1] in (CODES["INVALID"], CODES["LIMIT"]), fields
    client.put(15, U8, [1], b"x")
    assert client.get(15, 9)[2] == b"x"
    client.close()


WRONG = {
    "no preface": (b"\0ET / HTTP/1.1\r\n\r\n", None),
    "version": (b"\x89BRN\r\n\x1a\n" + struct.pack("<HHI", 2, 3, 0), "UNSUPPORTED"),
    "not hello": (wire.PREFACE + frame("PING", [1]), "PROTOCOL"),
    "big hello": (wire.PREFACE + frame("HELLO", b"\x00" * 5000), "PROTOCOL"),
    "other version in hello": (wire.PREFACE + wire.hello(version=2), "UNSUPPORTED"),
    "device": (wire.PREFACE + wire.hello(device="tpu"), "NOT_FOUND"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_handshakes(daemon, case):
    data, code = WRONG[case]
    client = Wire(daemon.socket(), greet=False)
    client.send(data)
    if code is None:
        assert client.closed()
        return
    answer = client.exactly(16)
    if case == "version":
        assert struct.unpack("<HHI", answer[8:]) == (1, 1, CODES["UNSUPPORTED"])
        assert client.closed()
    else:
        refused(client, code)


VIOLATIONS = {
    "stream": frame("SYNC", [1], stream=1),
    "reserved": frame("SYNC", [1], reserved=1),
    "flags": frame("SYNC", [1], flags=0x8000),
    "type": frame("SYNC", [1], kind=777),
    "direction": frame("SYNCED", [1, 0, "", 0]),
    "arity": frame("SYNC", [1, 2]),
    "zero id": frame("SYNC", [0]),
    "kind": frame("SYNC", ["1"]),
    "float id": frame("SYNC", [1.0]),
    "not msgpack": frame("SYNC", b"\xc1"),
    "giant array": frame("SYNC", b"\xdd\x20\x00\x00\x00"),
    "long form": frame("SYNC", b"\x91\xcd\x00\x01"),
    "giant message": struct.pack("<IHHIIQII", 2**32 - 1, 21, 0, 0, 0, 0, 0, 0),
    "giant payload": frame("PUT_DATA", [1, 0], payload_bytes=2**63, flags=2),
    "big batch": frame("OPS", [1, 1], payload_bytes=262145),
    "payload of a sync": frame("SYNC", [1], payload_bytes=1),
    "not aligned": frame("PUT_DATA", [1, 0], b"1234", flags=0),
    "hello again": wire.hello(),
    "dtype": frame("PUT_BEGIN", [1, 99, [1]]),
    "rank": frame("PUT_BEGIN", [1, F32, [1] * 17]),
    "negative dim": frame("PUT_BEGIN", [1, F32, [-1]]),
}


@pytest.mark.parametrize("case", VIOLATIONS)
def test_violations_close_the_connection_and_nothing_else(daemon, case):
    other = daemon.connect()
    client = daemon.connect()
    client.send(VIOLATIONS[case])
    refused(client, "PROTOCOL")
    other.put(1, U8, [3], b"abc")
    assert other.get(1)[2] == b"abc"
    other.close()


def test_ignorable_frames_are_skipped(daemon):
    client = daemon.connect()
    client.send(frame("SYNC", b"anything", payload=b"x" * 1000, flags=1, kind=999) + frame("PING", [1]))
    assert client.expect("PONG")[0] == [1]
    client.close()


def test_credit_overrun_closes(daemon):
    client = daemon.connect()
    client.sock.setblocking(True)
    batch = frame("SYNC", [1])
    with pytest.raises((Closed, BrokenPipeError, ConnectionResetError, AssertionError)):
        # Each costs at least 512 bytes; none of the first 32,768 can have been given back unread.
        for _ in range(64):
            client.send(b"".join(frame("GET", [i + 1, 1]) for i in range(2048)))
        refused(client, "PROTOCOL", "credit")
        raise Closed()
    del batch
    assert daemon.connect().sync()[1] == 0


def test_credit_comes_back(daemon):
    client = daemon.connect()
    data = bytes(1 << 20)
    total = 0
    for i in range(40):  # two and a half times the credit
        client.send(frame("PUT_BEGIN", [i + 1, U8, [len(data)]], data))
        total += len(data)
        if i % 8 == 7:
            fields, _ = client.expect("CREDIT")
            assert fields[0] >= (4 << 20)
    client.close()


def test_in_flight_limit(daemon):
    client = daemon.connect()
    client.send(b"".join(frame("GET", [i + 1, 77]) for i in range(5000)))
    codes = [client.expect("ERROR")[0] for _ in range(5000)]
    assert {fields[1] for fields in codes} <= {CODES["LIMIT"], CODES["NOT_FOUND"]}
    assert {fields[0] for fields in codes} == set(range(1, 5001))
    client.close()


def test_reports(daemon):
    client = daemon.connect()
    stats = client.report("STATS")
    assert stats["sessions"]["open"] >= 1
    for group, key in (("kernels", "compiles"), ("kernels", "cache_hits"), ("plans", "analyses"), ("plans", "replays"),
                       ("plans", "launches"), ("plans", "fallbacks"), ("memory", "device_bytes"), ("memory", "pool_bytes")):
        assert isinstance(stats[group][key], int)
    mine = [s for s in client.report("SESSIONS") if s["session"] == client.session]
    assert mine[0]["client"] == "wire.py" and mine[0]["uid"] == os.getuid() and mine[0]["pid"] == os.getpid()
    assert any(device["in_use"] for device in client.report("DEVICES"))
    assert client.report("CONFIG")["session_memory"] == "64MiB"
    assert isinstance(client.report("KERNELS"), list)
    client.close()


def test_a_vanished_client_leaves_nothing(daemon):
    watcher = daemon.connect()
    base = watcher.report("STATS")
    for cut in (1, 50, 100, 1 << 16, (1 << 20) + 77, 3 << 20):
        client = daemon.connect()
        client.put(1, U8, [1 << 20], bytes(1 << 20))
        data = frame("PUT_BEGIN", [2, U8, [8 << 20]]) + b"".join(
            frame("PUT_DATA", [2, at << 20], bytes(1 << 20)) for at in range(8))
        client.send(data[:cut])
        client.close()

    def clean():
        stats = watcher.report("STATS")
        return stats["memory"]["device_bytes"] == base["memory"]["device_bytes"] and stats["sessions"]["open"] == 1

    assert eventually(clean)
    watcher.close()


def test_random_garbage_after_a_good_start(daemon):
    rng, baseline = random.Random(4), Baseline(daemon)
    good = frame("PUT_BEGIN", [1, F32, [64]], bytes(256)) + frame("GET", [1, 1]) + frame("OPS", [2, 1], b"\x92\x01\x01")
    for _ in range(300):
        data = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        client = daemon.connect()
        try:
            client.send(bytes(data[:rng.randint(1, len(data))]))
            client.sock.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        client.close()
    last = daemon.connect()
    last.put(1, U8, [3], b"abc")
    assert last.get(1)[2] == b"abc"
    last.close()
    baseline.holds()


def test_late_hello_is_cut():
    with Daemon("--hello-timeout=300ms") as daemon:
        silent, slow = daemon.socket(), daemon.socket()
        start = time.monotonic()
        silent.settimeout(5)
        slow.settimeout(5)
        for byte in wire.PREFACE[:8]:  # one byte now and then
            slow.send(bytes([byte]))
            time.sleep(0.05)
        assert silent.recv(100) == b""
        while slow.recv(100):
            pass
        assert time.monotonic() - start < 2
        silent.close()
        slow.close()


def test_a_client_that_does_not_read_is_cut():
    with Daemon("--write-timeout=300ms") as daemon:
        baseline = Baseline(daemon)
        client = daemon.connect()
        client.put(1, U8, [8 << 20], bytes(8 << 20))
        client.send(frame("GET", [1, 1]))
        other = daemon.connect()
        assert eventually(lambda: other.report("STATS")["connections"]["slow_closed"] == 1, 3)
        client.close()
        other.close()
        baseline.holds()


def test_silence_is_asked_and_then_cut():
    with Daemon("--idle-timeout=200ms") as daemon:
        client = daemon.connect(features=["keepalive"])
        plain = daemon.connect()
        for _ in range(2):
            client.expect("PING")
        fields, _ = client.expect("ERROR")
        assert fields[1] == CODES["DEADLINE"]
        assert plain.sync()[1] == 0  # a client that did not offer to answer is left alone
        client.close()
        plain.close()


def test_too_few_descriptors():
    with Daemon(files=80) as daemon:
        first = daemon.connect()
        more = []
        for _ in range(100):
            more.append(daemon.socket())
        assert first.sync()[1] == 0
        for sock in more[:80]:
            sock.close()
        late = [Wire(sock) for sock in more[80:]]
        assert all(client.sync()[1] == 0 for client in late)
        first.close()
        for client in late:
            client.close()


def test_tcp():
    with Daemon(tcp=True) as daemon:
        client = Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())))
        data = random.Random(2).randbytes(3 << 20)
        client.put(1, U8, [len(data)], data)
        assert client.get(1)[2] == data
        client.send(frame("SYNC", [0]))
        refused(client, "PROTOCOL")
        client.close()


def test_client_text_stays_within_its_log_line():
    with Daemon() as daemon:
        client = Wire(daemon.socket(), greet=False)
        name = "x\n2026-01-01T00:00:00.000Z error forged \x1b[31m"
        client.send(wire.PREFACE + frame("HELLO", [name, 1, wire.op_revision(), "", [], 0, ""]))
        client.exactly(16)
        client.expect("WELCOME")
        assert eventually(lambda: "forged" in daemon.text())
        assert not any(line.startswith("2026-01-01") or "\x1b" in line for line in daemon.text().split("\n"))
        client.close()


def test_session_limit():
    with Daemon("--sessions=1") as daemon:
        first = daemon.connect()
        second = Wire(daemon.socket(), greet=False)
        second.send(wire.PREFACE + wire.hello())
        second.exactly(16)
        refused(second, "UNAVAILABLE")
        first.close()
        assert eventually(lambda: Wire(daemon.socket()).sync()[1] == 0)
