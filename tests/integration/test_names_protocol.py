# SPDX-License-Identifier: Apache-2.0
"""Messages about names from a hostile client: a typed error each, nothing left behind, and the session goes on."""

import os
import struct
import sys
import tomllib

sys.path.insert(0, os.path.dirname(__file__))

import pytest

import wire
from test_server_ops import batch, record
from wire import CODES, Daemon, F32, U8, eventually, frame, pack, unpack


@pytest.fixture(scope="module")
def daemon():
    with Daemon() as running:
        yield running


@pytest.fixture
def client(daemon):
    opened = daemon.connect()
    opened.put(1, F32, [2], struct.pack("<2f", 1, 2))
    yield opened
    opened.close()


def fails(client, message, code, word):
    client.send(message)
    fields, _ = client.expect("ERROR")
    assert fields[1] == CODES[code] and word in fields[2], fields


def export(request, name, *parts):
    return frame("EXPORT", [request, name], b"".join(pack(list(part)) for part in parts))


def imported(client, request, name, first, count=16):
    client.send(frame("IMPORT", [request, name, first, count]))
    fields, payload = client.expect("IMPORTED")
    assert fields == [request]
    parts, at = [], 0
    while at < len(payload):
        part, at = unpack(payload, at)
        parts.append(part)
    return parts


def test_names_over_the_wire(daemon, client):
    client.send(export(7, "model", ["b", 1], ["a", 1]))
    assert client.expect("DONE")[0] == [7]
    other = daemon.connect()
    assert imported(other, 3, "model", 5) == [["a", F32, [2]], ["b", F32, [2]]]
    assert other.get(6) == (F32, [2], struct.pack("<2f", 1, 2))
    assert imported(other, 3, "model/b", 7) == [["", F32, [2]]]
    fails(other, frame("IMPORT", [4, "model", 7, 16]), "CONFLICT", "must increase")
    fails(other, frame("IMPORT", [4, "model", 9, 1]), "LIMIT", "2 names")
    fails(other, frame("IMPORT", [4, "modem", 9, 1]), "NOT_FOUND", "modem")
    fails(other, frame("IMPORT", [4, "model", 2**53 - 1, 16]), "INVALID", "ids end")
    fails(other, frame("IMPORT", [4, "model", 9, 2**53 - 1]), "INVALID", "ids end")
    assert imported(other, 5, "model/a", 9) == [["", F32, [2]]]  # nothing was taken meanwhile
    other.close()
    client.send(frame("LIST_NAMES", [8, ""]))
    fields, payload = client.expect("REPORT")
    assert b"model/a" in payload
    client.send(frame("UNEXPORT", [9, "model"]))
    assert client.expect("DONE")[0] == [9]


@pytest.mark.parametrize("name", ["", "a//b", "public", "a b", "n" * 256, "\u00e4"])
def test_what_is_no_name(client, name):
    fails(client, export(2, name, ["", 1]), "INVALID", "name")
    fails(client, frame("IMPORT", [2, name, 10, 1]), "INVALID", "name")
    fails(client, frame("UNEXPORT", [2, name]), "INVALID", "name")
    assert client.sync() == [1, 0, "", 0]
    for message in (export(0, name, ["", 1]), frame("EXPORT_PROGRAM", [0, name, 9], b"")):
        client.send(message)  # nobody waits: the next SYNC tells
        _, code, text, _ = client.sync()
        assert code == CODES["INVALID"] and "name" in text
    assert client.sync() == [1, 0, "", 0]


@pytest.mark.parametrize("payload, code, word", [
    (b"", "INVALID", "nothing is published"),
    (b"\x01", "PROTOCOL", ""),
    (pack(["a", 1])[:-1], "PROTOCOL", ""),
    (pack(["a", 1]) + b"\xc1", "PROTOCOL", ""),
    (pack(["a", 1, 2]), "PROTOCOL", ""),
    (pack(["a", 0]), "PROTOCOL", ""),
    (pack(["a", 9]), "NOT_FOUND", "tensor 9"),
    (pack(["a/", 1]), "INVALID", "empty segment"),
    (pack(["../a b", 1]), "INVALID", "character"),
    (pack(["n" * 252, 1]), "INVALID", "255"),
    (pack(["n" * 300, 1]), "INVALID", "255"),
    (pack(["a", 1]) + pack(["a", 1]), "INVALID", "beside"),
    (pack(["", 1]) + pack(["a", 1]), "INVALID", "beside"),
    (pack(["a/b", 1]) + pack(["a", 1]), "INVALID", "beside"),
])
def test_hostile_parts(client, payload, code, word):
    fails(client, frame("EXPORT", [2, "good"], payload), code, word)
    client.send(frame("EXPORT", [0, "good"], payload))  # nobody waits: the next SYNC tells
    _, found, text, _ = client.sync()
    assert found == CODES[code] and word in text
    assert client.sync()[1] == 0
    fails(client, frame("IMPORT", [3, "good", 10, 4]), "NOT_FOUND", "good")


def signature(*inputs, outputs=([F32, [2]],), head=None):
    head = head or [len(inputs), len(outputs), 0]
    return b"".join(pack(item) for item in [head, *inputs, *outputs])


@pytest.fixture
def program(client):
    """Number 1: argument + what is bound."""
    add = 2 * tomllib.loads((wire.ROOT / "proto/ops.toml").read_text())["op"]["add"]["number"]
    client.send(frame("PROGRAM_DEFINE", [1, 1, "add", 2, 3], pack([add, 2, 1])))
    assert client.expect("DONE")[0] == [1]
    return client


def test_programs_over_the_wire(daemon, program):
    client = program
    client.send(frame("EXPORT_PROGRAM", [2, "add", 1], signature([0, F32, [2]], [1, 1])))
    assert client.expect("DONE")[0] == [2]
    other = daemon.connect()
    other.send(frame("IMPORT_PROGRAM", [3, "add", 9]))
    assert other.expect("IMPORTED") == ([3], signature([0, F32, [2]]))
    other.put(1, F32, [2], struct.pack("<2f", 10, 20))
    call = 2 * tomllib.loads((wire.ROOT / "proto/ops.toml").read_text())["op"]["call"]["number"]
    other.send(frame("OPS", [2, 1], pack([call, [1], 9, 1])))
    assert other.get(2) == (F32, [2], struct.pack("<2f", 11, 22))
    fails(other, frame("IMPORT_PROGRAM", [4, "add", 9]), "CONFLICT", "exists")
    fails(other, frame("EXPORT_PROGRAM", [4, "again", 9], signature([0, F32, [2]])), "INVALID", "imported")
    other.send(frame("PROGRAM_DROP", [5, 9]))
    assert other.expect("DONE")[0] == [5]
    assert other.sync()[1] == 0
    assert other.get(2)[2] == struct.pack("<2f", 11, 22)
    other.close()
    client.send(frame("UNEXPORT", [9, "add"]))
    client.expect("DONE")


@pytest.mark.parametrize("payload, code, word", [
    (b"", "PROTOCOL", ""),
    (signature([0, F32, [2]], [1, 1])[:-1], "PROTOCOL", ""),
    (signature([0, F32, [2]], [1, 1]) + b"\x00", "PROTOCOL", ""),
    (signature([0, F32, [2]], [4, 1]), "PROTOCOL", ""),
    (signature([0, F32, [2]], [2, 1]), "PROTOCOL", ""),
    (signature([0, 99, [2]], [1, 1]), "PROTOCOL", "dtype"),
    (signature([0, F32, [2] * 17], [1, 1]), "PROTOCOL", "rank"),
    (signature([0, F32, [2]], [1, 77]), "NOT_FOUND", "77"),
    (signature([0, F32, [2]]), "INVALID", "2 inputs"),
    (signature([0, F32, [2]], [1, 1], outputs=()), "INVALID", "1 outputs"),
    (signature([0, F32, [2]], [1, 1], head=[2, 1, -1]), "PROTOCOL", ""),
])
def test_hostile_signatures(program, payload, code, word):
    fails(program, frame("EXPORT_PROGRAM", [2, "bad", 1], payload), code, word)
    fails(program, frame("EXPORT_PROGRAM", [2, "bad", 5], payload), "NOT_FOUND", "program 5")
    fails(program, frame("IMPORT_PROGRAM", [2, "bad", 7]), "NOT_FOUND", "bad")
    assert program.sync()[1] == 0


def test_requests_in_any_number(daemon, client):
    """Publishing again and again holds nothing but the last; what a client leaves unfinished is freed."""
    for k in range(2, 600):
        client.put(k, F32, [100], bytes(400))
        client.send(export(0, "public/again", ["x", k]))
    assert client.sync()[1] == 0
    stats = client.report("STATS")
    assert stats["names"] == {"count": 1, "bytes": 400}
    broken = daemon.connect()
    broken.send(frame("EXPORT", [1, "half"], bytes(100000))[:5000])
    broken.close()
    client.send(frame("UNEXPORT", [5, "public/again"]))
    client.expect("DONE")
    client.close()
    check = daemon.connect()
    assert eventually(lambda: check.report("STATS")["memory"]["device_bytes"] == 0)
    assert check.report("STATS")["names"] == {"count": 0, "bytes": 0}
    check.close()


def test_a_value_of_several_names_is_the_sessions_again_after_the_last(daemon, client):
    """Also one that was published anew under its own name, or twice at once."""
    def own():
        return {row["session"]: row["device_bytes"] for row in client.report("SESSIONS")}[client.session]

    assert own() == 8
    for publications, ends in (
            ([("one", ["", 1]), ("two", ["", 1])], ["one", "two"]), ([("one", ["", 1]), ("two", ["", 1])], ["two", "one"]),
            ([("one", ["", 1])] * 3, ["one"]), ([("one", ["a", 1], ["b", 1])], ["one"]),
            ([("one", ["a", 1], ["b", 1]), ("one/a", ["", 1]), ("public/one", ["", 1])], ["one/b", "public/one", "one"])):
        for name, *parts in publications:
            client.send(export(2, name, *parts))
            client.expect("DONE")
        assert own() == 0
        for name in ends:
            client.send(frame("UNEXPORT", [3, name]))
            client.expect("DONE")
        assert own() == 8, publications
    assert client.report("STATS")["names"] == {"count": 0, "bytes": 0}


def test_names_at_the_limit_of_memory():
    """What does not fit is refused and changes nothing, what ends counts as its session's whatever that has by now."""
    mib = 1 << 20
    with Daemon("--session-memory=4MiB") as small:
        client, reader = small.connect(), small.connect()

        def owned():
            rows = {row["session"]: row["device_bytes"] for row in reader.report("SESSIONS")}
            return rows[client.session] // mib, reader.report("STATS")["names"]["bytes"] // mib

        for ident in range(1, 4):
            client.put(ident, U8, [mib], bytes([ident]) * mib)
        client.send(export(1, "model", ["a", 1], ["b", 2], ["c", 3]))
        client.expect("DONE")
        assert owned() == (0, 3)
        for ident in range(4, 7):
            client.put(ident, U8, [mib], bytes([ident]) * mib)
        for parts in (["a", 4], ["b", 5], ["c", 6]), (["a", 4], ["b", 4], ["c", 5]):
            fails(client, export(2, "other", *parts), "LIMIT", "the principal's names: 1048576 bytes wanted, 4194304 of 4194304 in use")
            assert owned() == (3, 3)
        assert [part[0] for part in imported(reader, 3, "model", 1)] == ["a", "b", "c"]
        assert reader.get(1, 4) == (U8, [mib], bytes([1]) * mib) and client.get(5, 5)[2] == bytes([5]) * mib
        client.send(export(6, "more", ["a", 4], ["b", 4]))
        client.expect("DONE")
        assert owned() == (2, 4)
        for name, after in (("more", (3, 3)), ("model", (6, 0))):
            client.send(frame("UNEXPORT", [7, name]))
            client.expect("DONE")
            assert owned() == after
        client.put(7, U8, [1], b"x")
        assert client.sync(8)[1] == CODES["LIMIT"]
        for one in (client, reader):
            one.close()
        check = small.connect()
        assert eventually(lambda: check.report("STATS")["memory"]["device_bytes"] == 0, 60)
        check.close()


def test_a_model_of_more_than_half_the_memory_is_published_anew():
    """What ends with a publication does not stand in its way; what stays does, and then nothing changes."""
    mib = 1 << 20
    with Daemon("--session-memory=4MiB") as small:
        client, next_id = small.connect(), [1]

        def owned():
            assert client.sync(9)[1] == 0
            rows = {row["session"]: row["device_bytes"] for row in client.report("SESSIONS")}
            return rows[client.session] // mib, client.report("STATS")["names"]["bytes"] // mib

        def put(first, count):
            for ident in range(first, first + count):
                client.put(ident, U8, [mib], bytes([ident]) * mib)
            next_id[0] = first + count

        def free(first, count):
            client.spend(batch(next_id[0], record("free", [next_id[0] - first - i for i in range(count)])))

        def publish(name, first, count):
            client.send(export(1, name, *([f"p{i}", first + i] for i in range(count))))

        put(1, 3)
        for first in (1, 4, 7):  # the old values end; one is kept by its handle, and then is the session's again
            publish("model", first, 3)
            client.expect("DONE")
            kept = int(first == 7)
            assert owned() == (kept, 3)
            put(first + 3, 3)
            free(first + (first == 4), 3 - (first == 4))
            assert owned() == (3 + kept, 3)
        assert client.get(4)[2] == bytes([4]) * mib
        free(4, 1)
        publish("other", 10, 1)
        client.expect("DONE")
        assert owned() == (2, 4)
        put(13, 2)
        client.send(export(1, "model", *([f"p{i}", 11 + i] for i in range(4))))
        fields, _ = client.expect("ERROR")
        assert fields[1] == CODES["LIMIT"] and "1048576 bytes wanted, 4194304 of 4194304 in use" in fields[2], fields
        assert owned() == (4, 4)
        reader = small.connect()
        assert [part[0] for part in imported(reader, 3, "model", 1)] == ["p0", "p1", "p2"] and reader.get(1, 4)[2] == bytes([7]) * mib
        for one in (client, reader):
            one.close()
        check = small.connect()
        for name in ("model", "other"):
            check.send(frame("UNEXPORT", [1, name]))
            check.expect("DONE")
        assert eventually(lambda: check.report("STATS")["memory"]["device_bytes"] == 0, 60)
        check.close()
