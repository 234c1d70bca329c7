# SPDX-License-Identifier: Apache-2.0
"""A client written from proto/PROTOCOL.md and proto/OPS.md alone, which shares no line with the
project's own: its msgpack, frames, records, credit and WebSocket judge those pages."""
import base64
import hashlib
import os
import re
import socket
import struct
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
HELLO, WELCOME, PING, PONG, CREDIT, ERROR = 1, 2, 4, 5, 6, 7
OPS, PUT_BEGIN, PUT_DATA, GET, DATA, SYNC, SYNCED = 16, 17, 18, 19, 20, 21, 22
FLOAT32 = 2
MANUAL = (ROOT / "proto/OPS.md").read_text()
OP_REVISION = int(re.search(r"`op_revision` of HELLO: (\d+)", MANUAL)[1])
NUMBERS = {name: int(number) for number, name in re.findall(r"^### (\d+) `(\w+)\(", MANUAL, re.M)}
PREFACE = bytes.fromhex("8942524e0d0a1a0a") + struct.pack("<HHI", 1, 1, 0)


def pack(value):
    """msgpack in its shortest form; floats are always of 64 bits."""
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, int):
        if -32 <= value < 128:
            return struct.pack(">b", value)
        width = next(n for n in (1, 2, 4, 8) if -1 << 8 * n - 1 <= value < 1 << 8 * n)
        code = (0xCC if value > 0 else 0xD0) + width.bit_length() - 1
        return bytes([code]) + value.to_bytes(width, "big", signed=value < 0)
    if isinstance(value, str):
        head = sized(len(value.encode()), 0xA0, 32, {1: 0xD9, 2: 0xDA, 4: 0xDB})
        return head + value.encode()
    if isinstance(value, bytes):
        return sized(len(value), None, 0, {1: 0xC4, 2: 0xC5, 4: 0xC6}) + value
    head = sized(len(value), 0x90, 16, {2: 0xDC, 4: 0xDD})
    return head + b"".join(pack(item) for item in value)


def sized(length, short, limit, codes):
    if length < limit:
        return bytes([short + length])
    width = next(width for width in codes if length < 1 << 8 * width)
    return bytes([codes[width]]) + length.to_bytes(width, "big")


def unpack(data, at=0):
    """The value at `at`, and where the next one begins."""
    code = data[at]
    at += 1
    if code < 0x80 or code >= 0xE0:
        return code - (256 if code >= 0xE0 else 0), at
    if code in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[code], at
    if 0xCB <= code <= 0xD3:
        form = ">" + "dBHIQbhiq"[code - 0xCB]
        return struct.unpack_from(form, data, at)[0], at + struct.calcsize(form)
    if code < 0xC0:
        length = code & (0x1F if code >= 0xA0 else 0x0F)
        kind = "text" if code >= 0xA0 else "array"
    else:
        kind, width = {0xC4: ("bytes", 1), 0xC5: ("bytes", 2), 0xC6: ("bytes", 4),
                       0xD9: ("text", 1), 0xDA: ("text", 2), 0xDB: ("text", 4),
                       0xDC: ("array", 2), 0xDD: ("array", 4)}[code]
        length = int.from_bytes(data[at:at + width], "big")
        at += width
    if kind == "array":
        items = []
        for _ in range(length):
            item, at = unpack(data, at)
            items.append(item)
        return items, at
    raw = bytes(data[at:at + length])
    return (raw.decode() if kind == "text" else raw), at + length


def frame(kind, fields, payload=b"", aligned=False):
    message = pack(fields)
    zeros = bytes(-(32 + len(message)) % 64) if aligned else b""
    head = struct.pack("<IHHIIQII", len(message), kind, 2 * aligned, 0, 0, len(payload), 0, 0)
    return head + message + zeros + payload


class Stream:
    """A Unix or TCP socket: bytes."""

    def __init__(self, where):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET)
        self.socket.settimeout(120)
        self.socket.connect(where)
        self.send = self.socket.sendall

    def read(self, size):
        data = bytearray()
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise EOFError
            data += more
        return bytes(data)


class WebSocket(Stream):
    """Each call of `send` is one binary message; what is read is their contents."""

    def __init__(self, where):
        super().__init__(where)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET / HTTP/1.1\r\nHost: {where[0]}:{where[1]}\r\n"
                             f"Upgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n"
                             "Sec-WebSocket-Protocol: burnd.v1\r\n\r\n").encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += super().read(1)
        proof = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        assert head.startswith(b"HTTP/1.1 101 ") and b"burnd.v1" in head
        assert base64.b64encode(proof) in head
        self.send, self.data = self.message, b""

    def message(self, data):
        mask = os.urandom(4)
        size = len(data)
        length = (bytes([128 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size)
                  if size < 65536 else b"\xff" + struct.pack(">Q", size))
        key = np.frombuffer(mask * (size // 4 + 1), np.uint8)[:size]
        masked = (np.frombuffer(data, np.uint8) ^ key).tobytes()
        self.socket.sendall(b"\x82" + length + mask + masked)

    def read(self, size):
        while len(self.data) < size:
            first, length = super().read(2)
            if first & 15 == 8:
                raise EOFError
            if length >= 126:
                length = int.from_bytes(super().read(2 if length == 126 else 8), "big")
            self.data += super().read(length)
        data, self.data = self.data[:size], self.data[size:]
        return data


class Client:
    def __init__(self, link):
        self.link, self.next_id, self.next_op, self.requests = link, 1, 1, 0
        self.records, self.first, self.sent = b"", (1, 1), b""
        link.send(PREFACE)
        link.send(frame(HELLO, ["encoder 1", 1, OP_REVISION, "", [], 0, ""]))
        assert link.read(16) == PREFACE
        self.credit = 0
        self.credit = self.answer(WELCOME)[0][5]

    def write(self, kind, fields, payload=b"", aligned=False):
        data = frame(kind, fields, payload, aligned)
        while self.credit < max(512, len(data)):
            self.take(CREDIT)
        self.credit -= max(512, len(data))
        self.sent += data
        self.link.send(data)

    def take(self, *wanted):
        """Handles frames up to one of the wanted types: its type, fields and payload."""
        while True:
            size, kind, flags, stream, zero, length, *sums = struct.unpack(
                "<IHHIIQII", self.link.read(32))
            assert (stream, zero, sums) == (0, 0, [0, 0]) and flags in (0, 2)
            message = self.link.read(size)
            fields, end = unpack(message)
            assert end == size and pack(fields) == message, "the daemon's msgpack is canonical"
            if flags:
                assert self.link.read(-(32 + size) % 64).strip(b"\0") == b""
            payload = self.link.read(length)
            if kind == CREDIT:
                self.credit += fields[0]
            elif kind == PING:
                self.link.send(frame(PONG, fields))
            if kind in wanted:
                return kind, fields, payload
            assert kind in (CREDIT, PING), (kind, fields)

    def answer(self, wanted):
        kind, fields, payload = self.take(wanted, ERROR)
        if kind != wanted:
            raise Refused(*fields)
        return fields, payload

    def put(self, array):
        self.flush()
        tensor, self.next_id = self.next_id, self.next_id + 1
        number = {"f4": FLOAT32, "f8": 1, "i8": 5, "b1": 13}[array.dtype.str[1:]]
        raw, begun = array.tobytes(), PUT_BEGIN
        for at in range(0, max(1, len(raw)), 1 << 20):
            fields = [tensor, number, list(array.shape)] if begun == PUT_BEGIN else [tensor, at]
            self.write(begun, fields, raw[at:at + (1 << 20)], len(raw) > 0)
            begun = PUT_DATA
        return tensor

    def op(self, name, *inputs, attributes=(), outputs=1, track=0):
        """Inputs: an int is a tensor, a float or (n,) a scalar, None absent, a list repeated."""
        if not self.records:
            self.first = self.next_id, self.next_op

        def spell(value):
            if isinstance(value, list):
                return [spell(one) for one in value]
            return self.next_id - value if type(value) is int else value
        self.records += pack([2 * NUMBERS[name] + track, *map(spell, inputs), *attributes])
        self.next_op += 1
        made = range(self.next_id, self.next_id + outputs)
        self.next_id += outputs
        return made[0] if outputs == 1 else list(made)

    def flush(self):
        if self.records:
            self.write(OPS, self.first, self.records)
        self.records = b""

    def request(self, kind, *fields):
        self.flush()
        self.requests += 1
        self.write(kind, [self.requests, *fields])
        return self.requests

    def get(self, tensor):
        request = self.request(GET, tensor)
        data = b""
        while True:
            (answered, dtype, shape, offset, total), payload = self.answer(DATA)
            assert (answered, offset, dtype) == (request, len(data), FLOAT32)
            data += payload
            if len(data) == total:
                return np.frombuffer(data, np.float32).reshape(shape)

    def sync(self):
        request = self.request(SYNC)
        answer = self.answer(SYNCED)[0]
        assert answer[0] == request
        return answer[1:]


class Refused(Exception):
    """An ERROR frame: request, code, text, op_index, retryable."""
