# SPDX-License-Identifier: Apache-2.0
"""Op records from a hostile client, through the socket to the engine: a typed error each, with the op's
number, and nothing else disturbed."""

import os
import random
import struct
import sys
import tomllib

sys.path.insert(0, os.path.dirname(__file__))

import pytest

import wire
from wire import CODES, Daemon, F32, I64, frame, pack

LONG = bool(os.environ.get("BURN_TEST_LONG"))
OPS = tomllib.loads((wire.ROOT / "proto/ops.toml").read_text())["op"]


def record(name, *fields, track=0):
    return pack([2 * OPS[name]["number"] + track, *fields])


def batch(first_output, *records, first_op=1):
    return frame("OPS", [first_output, first_op], b"".join(records))


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


@pytest.fixture(scope="module")
def daemon():
    with Daemon("--session-memory=256MiB") as running:
        yield running


@pytest.fixture
def client(daemon):
    opened = daemon.connect()
    opened.put(1, F32, [2, 2], floats(1, 2, 3, 4))
    opened.put(2, I64, [3], struct.pack("<3q", 0, 1, 7))
    yield opened
    opened.close()


def check_alive(client, ident=900):
    """The session still computes: x + x."""
    client.send(batch(ident, record("add", ident - 1, ident - 1), first_op=900))
    assert client.get(ident, 9000)[2] == floats(2, 4, 6, 8)
    assert client.sync(9001)[1] == 0


def test_an_op_and_its_gradient(client):
    client.send(batch(3, record("matmul", 2, 2, track=1), record("sum", 1, track=1),
                      record("grad", [1 + 0, None, 4], 1)))
    assert client.get(3)[2] == floats(7, 10, 15, 22)
    assert client.get(4, 2) == (F32, [], floats(54))
    assert client.get(5, 3)[2] == floats(7, 11, 9, 13)
    assert client.sync(4)[1] == 0


WRONG = {
    # name: (records, code, op index, part of the text); ids 1 (f32 [2, 2]) and 2 (i64 [3]) are there, outputs begin at 3
    "unknown op": (pack([2 * 4000, 1]), "INVALID", 1, "op number 4000"),
    "unknown id": (record("exp", 2) + record("relu", 1) + record("add", 2, 500), "INVALID", None, ""),
    "freed id": (record("free", [1]) + record("exp", 1), "NOT_FOUND", 2, "tensor 2"),
    "freed twice": (record("free", [1]) + record("free", [1]), "NOT_FOUND", 2, ""),
    "future id": (record("exp", 0), "INVALID", 1, ""),
    "shapes": (record("matmul", 2, 1), "INVALID", 1, "matmul"),
    "too many elements": (record("full", 1.0, [2**31, 2**31], F32), "LIMIT", 1, ""),
    "rank": (record("full", 1.0, [1] * 17, F32), None, 1, ""),
    "negative size": (record("full", 1.0, [-3], F32), "INVALID", 1, ""),
    "too much memory": (record("full", 1.0, [1 << 28], F32), None, None, ""),
    "index": (record("take", 2, 1, 0), "INVALID", None, ""),
    "dtype": (record("full", 1.0, [2], 99), "INVALID", 1, ""),
    "optimizer of bools": (record("cast", 2, 13) + record("asgd_step", 1, 1, 1, .5, .5, .5, None, 1), "INVALID", 2, "takes floats, not bool"),
    "attribute missing": (record("full", 1.0), "PROTOCOL", 1, ""),
    "not an array": (b"\x01", "PROTOCOL", 1, ""),
    "cut off": (record("exp", 2)[:-1], "PROTOCOL", 1, ""),
    "giant array": (b"\xdd\xff\xff\xff\xff", "PROTOCOL", 1, ""),
    "nested": (b"\x91" * 200 + b"\x01", "PROTOCOL", 1, ""),
    "program unknown": (record("call", [2], 77, 1), "NOT_FOUND", 1, ""),
    "roots beyond": (record("grad", [1, None], 5), None, 1, ""),
    "engine's own op": (pack([2 * next(op["number"] for op in OPS.values() if "internal" in op.get("flags", ())), 2]), "INVALID", 1, ""),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_records(daemon, client, case):
    records, code, op_index, part = WRONG[case]
    other = daemon.connect()
    other.put(1, F32, [2, 2], floats(1, 2, 3, 4))
    client.send(frame("OPS", [3, 1], records))
    client.send(frame("GET", [1, 3]))  # a read brings lazy failures to light
    while client.receive()[0] == "CREDIT":
        pass
    client.send(frame("SYNC", [2]))
    name, fields, _ = client.receive()
    while name == "CREDIT":
        name, fields, _ = client.receive()
    if name == "ERROR":  # what breaks the subset closes the connection
        assert fields[1] == CODES["PROTOCOL"] and client.closed()
    else:
        assert name == "SYNCED" and fields[1] != 0, fields
        assert code is None or fields[1] == CODES[code], fields
        assert op_index is None or fields[3] == op_index, fields
        assert part in fields[2], fields
        check_alive(client)
    check_alive(other)
    other.close()


def test_a_scalar_has_one_element_along_dim_0(client):
    client.put(3, F32, [], floats(5))
    client.put(4, I64, [], struct.pack("<q", 0))
    client.send(batch(5, record("max_dim", 2, 0), record("gather", 4, 3, 0), record("gather", 5, 4, -1), record("scatter_add", 6, 5, 6, 0)))
    assert [client.get(ident, ident)[1:] for ident in (5, 6, 7, 8, 9)] == \
        [([], floats(5)), ([], struct.pack("<q", 0)), ([], floats(5)), ([], floats(5)), ([], floats(10))]
    assert client.sync(99)[1] == 0


def test_poison_spreads_and_is_told_once(client):
    client.send(batch(3, record("matmul", 2, 1), record("exp", 1), record("add", 1, 2), record("exp", 5)))
    client.send(frame("GET", [1, 5]))
    fields, _ = client.expect("ERROR")
    assert fields[0] == 1 and fields[1] == CODES["INVALID"] and "matmul" in fields[2] and fields[3] == 1
    assert len(client.get(6, 2)[2]) == 16
    assert client.sync(3)[1] == CODES["INVALID"]
    assert client.sync(4)[1] == 0
    check_alive(client)


def test_reused_ids(client):
    client.send(batch(3, record("exp", 2)) + batch(3, record("exp", 2), first_op=2))
    assert client.sync(1)[1] in (CODES["CONFLICT"], CODES["INVALID"])
    client.put(2, F32, [1], floats(1))
    assert client.sync(2)[1] == CODES["CONFLICT"]
    check_alive(client)


def test_programs(client):
    client.send(frame("PROGRAM_DEFINE", [1, 1, "twice", 1, 2], record("add", 1, 1) + record("exp", 1) + record("free", [1])))
    assert client.expect("DONE")[0] == [1]
    client.send(batch(3, record("call", [2], 1, 1)))
    assert client.get(3, 2)[2] == floats(2, 4, 6, 8)
    client.send(frame("PROGRAM_DEFINE", [3, 1, "again", 1, 2], record("add", 1, 1)))
    assert client.expect("ERROR")[0][:2] == [3, CODES["CONFLICT"]]
    client.send(frame("PROGRAM_DEFINE", [4, 2, "wrong", 1, 2], b"\xc1"))
    assert client.expect("ERROR")[0][0] == 4
    client.send(frame("PROGRAM_DEFINE", [5, 2, "wrong", 7, 2], record("add", 1, 1)))
    assert client.expect("ERROR")[0][:2] == [5, CODES["INVALID"]]
    client.send(frame("PROGRAM_DROP", [6, 1]))
    assert client.expect("DONE")[0] == [6]
    client.send(frame("PROGRAM_DROP", [7, 1]))
    assert client.expect("ERROR")[0][:2] == [7, CODES["NOT_FOUND"]]
    check_alive(client)


def test_damaged_batches_do_not_harm_others(daemon):
    rng = random.Random(11)
    good = record("matmul", 2, 2, track=1) + record("sum", 1, track=1) + record("grad", [1, None, 4], 1) + \
        record("full", 2.5, [4, 4], F32) + record("exp", 1) + record("free", [2]) + record("mark")
    other = daemon.connect()
    other.put(1, F32, [2, 2], floats(1, 2, 3, 4))
    for round in range(2000 if LONG else 200):
        client = daemon.connect()
        client.put(1, F32, [2, 2], floats(1, 2, 3, 4))
        client.put(2, F32, [2, 2], floats(1, 2, 3, 4))
        data = bytearray(good)
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            client.send(frame("OPS", [3, 1], bytes(data)) + frame("GET", [1, 4]) + frame("SYNC", [2]))
            while client.receive()[0] != "SYNCED":
                pass
        except (wire.Closed, OSError):
            pass
        client.close()
    check_alive(other)
    other.close()
