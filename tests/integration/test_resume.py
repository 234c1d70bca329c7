# SPDX-License-Identifier: Apache-2.0
"""RESUME on the wire: both sides go on where the other is; what the daemon keeps meanwhile, for how long, and for whom."""

import os
import socket
import struct
import sys

sys.path.insert(0, os.path.dirname(__file__))

import pytest

from websocket_wire import CLOSE, PING, PONG, Socket
from websocket_wire import frame as message
from wire import CODES, PREFACE, Daemon, F32, U8, Wire, eventually, frame, hello


@pytest.fixture(scope="module")
def daemon():
    with Daemon("--resume-grace=600s", tcp=True) as running:
        yield running


def at_rest(daemon):
    client = daemon.connect()
    stats = client.report("STATS")
    client.close()
    return stats["sessions"]["open"] == 1 and stats["memory"]["device_bytes"] == 0


def resuming(daemon, wrap=lambda sock: sock):
    sock = socket.create_connection(("127.0.0.1", daemon.tcp_port()))
    client = Wire(wrap(sock), greet=False)
    client.send(PREFACE + hello(features=["resume"]))
    client.exactly(16)
    name, fields, _ = client.receive()
    assert name == "WELCOME" and "resume" in fields[10]
    return client, fields[11]


def resume(daemon, key, received, token="", wrap=lambda sock: sock):
    client = Wire(wrap(socket.create_connection(("127.0.0.1", daemon.tcp_port()))), greet=False)
    client.send(PREFACE + frame("RESUME", [1, token, key, received]))
    client.exactly(16)
    return client


def test_both_sides_go_on_where_the_other_is(daemon):
    """Half a frame was received, an answer was not; the old connection may still be open."""
    for closes in (True, False):
        client, key = resuming(daemon)
        assert len(key) == 64
        first = frame("PUT_BEGIN", [1, F32, [3]], struct.pack("<3f", 1, 2, 3)) + frame("GET", [1, 1])
        second = frame("PUT_BEGIN", [2, F32, [2]], struct.pack("<2f", 4, 5))
        client.send(first + second[:50])
        data = client.sock.recv(20, socket.MSG_WAITALL)  # of the answer's bytes 20 are taken
        if closes:
            client.close()
        again = resume(daemon, key, 20)
        received = again.expect("RESUMED")[0][0]
        assert len(first) <= received <= len(first) + 50
        again.buffer = data + again.buffer
        assert again.expect("DATA") == ([1, F32, [3], 0, 12], struct.pack("<3f", 1, 2, 3))
        again.send((first + second)[received:] + frame("GET", [2, 2]))
        assert again.expect("DATA")[1] == struct.pack("<2f", 4, 5)
        third = resume(daemon, key, 2**40)
        fields, _ = third.expect("ERROR")
        assert fields[1] == CODES["PROTOCOL"]
        third.close()
        again.send(frame("BYE", [0]))
        again.close()
        if not closes:
            while client.sock.recv(4096):  # it ends
                pass
            client.close()
    assert eventually(lambda: at_rest(daemon), 10)


def test_a_websocket_goes_on_with_the_rest_of_a_frame(daemon):
    """What was cut within a message, and within the answer's, comes first, as a message of its own. Pings, pongs and the
    headers of messages are not counted."""
    client, key = resuming(daemon, Socket)
    link = client.sock.link
    first = frame("PUT_BEGIN", [1, F32, [40000]], struct.pack("<f", 2) * 40000)
    asks = frame("GET", [1, 1])
    second = frame("PUT_BEGIN", [2, F32, [2]], struct.pack("<2f", 4, 5))
    link.sock.sendall(message(b"there?", PING))
    client.send(first + asks)
    link.sock.sendall(message(second)[:6 + 50])
    assert link.receive() == (PONG, b"there?")
    head = link.exactly(10)  # of the message with DATA: 160,000 bytes and more
    assert head[0] == 0x82 and head[1] == 127
    whole = struct.unpack(">Q", head[2:])[0]
    begun = link.exactly(70_000)
    client.close()
    again = resume(daemon, key, len(begun), wrap=Socket)
    received = again.expect("RESUMED")[0][0]
    assert len(first + asks) <= received <= len(first + asks) + 50
    opcode, rest = again.sock.link.receive()
    assert opcode == 2 and len(rest) == whole - len(begun)
    again.buffer = begun + rest
    assert again.expect("DATA") == ([1, F32, [40000], 0, 160000], struct.pack("<f", 2) * 40000)
    again.sock.message((first + asks + second)[received:])
    again.send(frame("GET", [2, 2]))
    assert again.expect("DATA")[1] == struct.pack("<2f", 4, 5)
    last = len(begun) + len(rest) + whole_of("DATA", [2, F32, [2], 0, 8], 8)
    third = resume(daemon, key, last, wrap=Socket)  # nothing is cut: whole frames both ways
    assert third.expect("RESUMED")[0][0] == len(first + asks + second) + len(frame("GET", [2, 2]))
    third.send(frame("SYNC", [3]))
    assert third.expect("SYNCED")[0][1] == 0
    third.send(frame("BYE", [0]))
    third.close()
    again.close()
    assert eventually(lambda: at_rest(daemon), 10)


def whole_of(name, fields, payload_bytes):
    return len(frame(name, fields, bytes(payload_bytes)))


@pytest.mark.parametrize("then, says", [
    (lambda rest: rest[:-1], CODES["PROTOCOL"]),  # less than the rest
    (lambda rest: rest + frame("SYNC", [3]), CODES["PROTOCOL"]),  # and more
])
def test_a_websocket_must_go_on_with_just_the_rest(daemon, then, says):
    client, key = resuming(daemon, Socket)
    upload = frame("PUT_BEGIN", [1, F32, [2]], struct.pack("<2f", 4, 5))
    client.send(frame("SYNC", [1]))
    client.sock.link.sock.sendall(message(upload)[:6 + 50])
    assert client.expect("SYNCED")[0][1] == 0
    again = resume(daemon, key, 0, wrap=Socket)
    received = again.expect("RESUMED")[0][0]
    again.sock.message(then((frame("SYNC", [1]) + upload)[received:]) if received > len(frame("SYNC", [1])) else b"x")
    assert again.expect("SYNCED")[0][1] == 0
    assert again.expect("ERROR")[0][1] == says
    assert again.sock.link.receive() == (CLOSE, struct.pack(">H", 1002))
    again.close()
    client.close()


def test_a_session_stays_with_its_kind_of_connection(daemon):
    for wrap, other in ((Socket, lambda sock: sock), (lambda sock: sock, Socket)):
        client, key = resuming(daemon, wrap)
        wrong = resume(daemon, key, 0, wrap=other)
        assert wrong.expect("ERROR")[0][1] == CODES["NOT_FOUND"]
        wrong.close()
        client.send(frame("BYE", [0]))
        client.close()


def test_a_websocket_that_is_closed_is_not_waited_for(daemon):
    client, _ = resuming(daemon, Socket)
    client.put(1, F32, [1], b"abcd")
    client.sock.link.sock.sendall(message(struct.pack(">H", 1001), CLOSE))  # as a page does that is left
    assert eventually(lambda: at_rest(daemon), 2)
    client.close()


def test_nobody_takes_back_what_was_received(daemon):
    client, key = resuming(daemon)
    client.put(1, U8, [1000], bytes(1000))
    client.send(frame("GET", [1, 1]))
    size = 32 + 1000
    client.expect("DATA")
    client.send(frame("RECEIVED", [size]) + frame("SYNC", [2]))
    client.expect("SYNCED")
    again = resume(daemon, key, size - 1)
    fields, _ = again.expect("ERROR")
    assert fields[1] == CODES["PROTOCOL"] and "said before" in fields[2]
    again.close()
    client.send(frame("BYE", [0]))
    client.close()


def test_answers_are_sent_again_in_order(daemon):
    client, key = resuming(daemon)
    data = os.urandom(3_000_000)
    client.put(1, U8, [len(data)], data)
    client.send(frame("GET", [5, 1]) + frame("PING", [77]) + frame("SYNC", [6]))
    while client.receive()[0] != "DATA":
        pass
    client.close()
    for _ in range(3):  # not one byte of all that is told: the whole of it comes again
        again = resume(daemon, key, 0)
        again.expect("RESUMED")
        again.exactly(1000)
        again.close()
    again = resume(daemon, key, 0)
    again.expect("RESUMED")
    got, seen = b"", set()
    while len(got) < len(data) or seen != {"PONG", "SYNCED"}:
        name, fields, payload = again.receive()
        if name == "DATA":
            assert fields[3] == len(got)
            got += payload
        elif name in ("PONG", "SYNCED"):
            assert name not in seen
            seen.add(name)
    assert got == data
    again.send(frame("BYE", [0]))
    again.close()


@pytest.mark.parametrize("key", ["", "0" * 64, "x" * 64, "0" * 63])
def test_a_wrong_key_resumes_nothing(daemon, key):
    client = resume(daemon, key, 0)
    fields, _ = client.expect("ERROR")
    assert fields[1] == CODES["NOT_FOUND"] and client.closed()
    client.close()


def test_who_did_not_ask_is_not_kept(daemon):
    client = Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())))
    client.put(1, F32, [1], b"abcd")
    client.close()
    assert eventually(lambda: at_rest(daemon), 2)
    local = daemon.connect(features=["resume"])  # not on a Unix socket
    local.put(1, F32, [1], b"abcd")
    local.send(frame("RECEIVED", [0]))
    fields, _ = local.expect("ERROR")
    assert fields[1] == CODES["PROTOCOL"] and local.closed()
    local.close()
    assert eventually(lambda: at_rest(daemon), 2)


def test_the_grace_ends():
    with Daemon("--resume-grace=300ms", tcp=True) as daemon:
        client, key = resuming(daemon)
        client.put(1, F32, [1], b"abcd")
        assert client.sync()[1] == 0
        client.close()
        assert eventually(lambda: at_rest(daemon), 10)
        late = resume(daemon, key, 0)
        assert late.expect("ERROR")[0][1] == CODES["NOT_FOUND"]
        late.close()


def test_a_drain_waits_for_no_lost_client():
    with Daemon(tcp=True) as daemon:
        client, _ = resuming(daemon)
        client.put(1, F32, [1], b"abcd")
        assert client.sync()[1] == 0
        client.close()
        assert eventually(lambda: "lost session" in daemon.text(), 5)
        daemon.process.terminate()
        assert daemon.process.wait(10) == 0
