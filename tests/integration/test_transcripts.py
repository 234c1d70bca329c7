# SPDX-License-Identifier: Apache-2.0
"""What clients of protocol version 1 sent and were answered stands in transcripts/: the daemon must
answer the same for ever. A line is `> frame` from the client or `< frame` from the daemon, in hex;
CREDIT frames, which come when they come, are left out. Of errors the text may change, of WELCOME
the session, the daemon's name and what its configuration says.

    python tests/integration/test_transcripts.py    records those of CONVERSATIONS not there yet"""
import pathlib
import struct

import pytest

import wire
from independent_encoder import NUMBERS as OPS, pack
from wire import CODES, TYPES, Daemon, U8, Wire, frame

FOLDER = pathlib.Path(__file__).resolve().parent / "transcripts"
FREE, MARK, GRAD, CALL, CONSTANT = 1, 2, 3, 4, 5
F32 = 2
MASKED = {"WELCOME": (0, 1, 5, 7, 8, 9, 11, 12, 13), "ERROR": (2,), "SYNCED": (2,)}


def floats(*values):
    return struct.pack(f"<{len(values)}f", *values)


def records(*rows):
    return b"".join(pack([2 * op + track, *rest]) for op, track, *rest in rows)


# ---- recorded once: (name, [frame that gets no answer or (frame, how many answers)]) ---------------

CONVERSATIONS = {
    # x @ w, its mean, the gradient: all values are exact.
    "ops": [
        frame("PUT_BEGIN", [1, F32, [2, 3]], floats(1, 2, 3, 4, 5, 6)),
        frame("OPS", [2, 1], records((CONSTANT, 0, F32, [3, 1], floats(0.5, -1, 2)), (OPS["matmul"], 1, 2, 1),
                                     (OPS["mul"], 1, 1, 2.5), (OPS["sum"], 1, 1),
                                     (GRAD, 0, [1, None, 4], 1), (MARK, 0))),
        (frame("GET", [1, 3]), 1), (frame("GET", [2, 5]), 1), (frame("GET", [3, 6]), 1),
        frame("OPS", [7, 7], records((OPS["add"], 0, 4, [7]), (OPS["lt"], 0, 1, 100.0), (FREE, 0, [5, 4]))),
        (frame("GET", [4, 7]), 1), (frame("GET", [5, 8]), 1), (frame("SYNC", [6]), 1),
        (frame("PING", [-3]), 1),
    ],
    "uploads": [
        frame("PUT_BEGIN", [1, U8, [5]], b"ab"), frame("PUT_DATA", [1, 2], b"cde"), (frame("GET", [1, 1]), 1),
        frame("PUT_BEGIN", [2, F32, [0, 4]]), (frame("GET", [2, 2]), 1),
        frame("PUT_BEGIN", [3, F32, []], floats(-0.0)), (frame("GET", [3, 3]), 1),
        frame("PUT_BEGIN", [4, U8, [4]], b"12"), (frame("SYNC", [4]), 1),
        (frame("PUT_DATA", [9, 0], b"abcd"), 1),
        frame("PUT_DATA", [4, 2], b"34"), (frame("GET", [5, 4]), 1),
    ],
    # A poisoned value, a malformed record, a reused id, unknown numbers; the session lives on.
    "errors": [
        frame("PUT_BEGIN", [1, F32, [2]], floats(1, 2)), frame("PUT_BEGIN", [2, F32, [3]], floats(1, 2, 3)),
        frame("OPS", [3, 1], records((OPS["add"], 0, 2, 1), (OPS["exp"], 0, 1), (OPS["add"], 0, 4, 1.0))),
        (frame("GET", [1, 4]), 1), (frame("GET", [2, 5]), 1), (frame("SYNC", [3]), 1), (frame("SYNC", [4]), 1),
        frame("OPS", [6, 4], records((OPS["add"], 0, 5, 1.0), (20000, 0, 1), (OPS["add"], 0, 5, 1.0))),
        (frame("GET", [5, 6]), 1), (frame("GET", [6, 7]), 1), (frame("SYNC", [7]), 1),
        frame("OPS", [2, 7], records((OPS["exp"], 0, 1))), (frame("SYNC", [8]), 1),
        (frame("GET", [9, 999]), 1), (frame("PROGRAM_DROP", [10, 77]), 1), (frame("CANCEL", [55]), 0),
        (frame("SYNC", [11]), 1),
    ],
    "programs": [
        (frame("PROGRAM_DEFINE", [1, 1, "twice", 1, 2], records((OPS["add"], 0, 1, 1))), 1),
        frame("PUT_BEGIN", [1, F32, [2]], floats(1, 2)),
        frame("OPS", [2, 1], records((CALL, 0, [1], 1, 1), (CALL, 0, [1], 1, 1))),
        (frame("GET", [2, 3]), 1), (frame("PROGRAM_DROP", [3, 1]), 1),
        frame("OPS", [4, 3], records((CALL, 0, [1], 1, 1))), (frame("GET", [4, 4]), 1),
    ],
    "names": [
        frame("PUT_BEGIN", [1, F32, [2]], floats(1, 2)), frame("PUT_BEGIN", [2, U8, [1]], b"x"),
        (frame("EXPORT", [1, "model/v1"], wire.pack(["weight", 1]) + wire.pack(["bias", 2])), 1),
        (frame("IMPORT", [2, "model/v1", 3, 10]), 1), (frame("GET", [3, 3]), 1), (frame("GET", [4, 4]), 1),
        (frame("IMPORT", [5, "model/v2", 20, 1]), 1), (frame("EXPORT", [6, "model//v1"], wire.pack(["", 1])), 1),
        (frame("UNEXPORT", [7, "model"]), 1), (frame("UNEXPORT", [8, "model"]), 1),
    ],
    "violation": [(frame("SYNC", [1]), 1), (frame("SYNC", [2], stream=1), 1)],
}


class Speaker(Wire):
    """Whole frames from the daemon, as bytes."""

    def answer(self):
        while True:
            head = self.exactly(32)
            size, kind, flags, _, _, length = struct.unpack("<IHHIIQ", head[:24])
            zeros = -(32 + size) % 64 if flags & 2 else 0
            data = head + self.exactly(size + zeros + length)
            if kind not in (TYPES["CREDIT"], TYPES["PING"]):
                return data


def begin(daemon):
    """The preface is as in all versions."""
    client = Speaker(daemon.socket(), greet=False)
    client.send(wire.PREFACE)
    assert client.exactly(16) == bytes.fromhex("8942524e0d0a1a0a01000100") + bytes(4)
    return client


@pytest.fixture(scope="module")
def daemon():
    with Daemon() as running:
        yield running


def seen(data):
    """What must stay of an answer."""
    size, kind = struct.unpack("<IH", data[:6])
    name = next(name for name, number in TYPES.items() if number == kind)
    if name not in MASKED:
        return name, data
    fields, _ = wire.unpack(data[32:32 + size])
    return name, [None if i in MASKED[name] else field for i, field in enumerate(fields)], data[32 + size:]


def transcripts():
    return sorted(path.stem for path in FOLDER.glob("*.txt"))


@pytest.mark.parametrize("name", transcripts())
def test_the_same_answers(daemon, name):
    client = begin(daemon)
    for line in (FOLDER / f"{name}.txt").read_text().splitlines():
        data = bytes.fromhex(line[2:])
        if line[0] == ">":
            client.send(data)
        else:
            assert seen(client.answer()) == seen(data), line
    client.close()


def test_all_conversations_are_recorded():
    assert transcripts() == sorted(CONVERSATIONS)
    for name in CONVERSATIONS:
        text = (FOLDER / f"{name}.txt").read_text()
        assert text.count("\n< ") >= 2
    codes = {seen(bytes.fromhex(line[2:]))[1][1] for line in (FOLDER / "errors.txt").read_text().splitlines()
             if line[0] == "<" and seen(bytes.fromhex(line[2:]))[0] == "ERROR"}
    assert codes >= {CODES["INVALID"], CODES["NOT_FOUND"]}


def record():
    FOLDER.mkdir(exist_ok=True)
    hello = frame("HELLO", ["transcript", 1, 1, "", [], 0, ""])
    with Daemon() as daemon:
        for name, steps in CONVERSATIONS.items():
            path, lines = FOLDER / f"{name}.txt", []
            if path.exists():
                continue
            client = begin(daemon)
            for step in [(hello, 1), *steps]:
                data, answers = step if isinstance(step, tuple) else (step, 0)
                client.send(data)
                lines.append("> " + data.hex())
                lines += ["< " + client.answer().hex() for _ in range(answers)]
            path.write_text("".join(line + "\n" for line in lines))
            client.close()


if __name__ == "__main__":
    record()
