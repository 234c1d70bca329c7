# SPDX-License-Identifier: Apache-2.0
"""A WebSocket client in plain Python, for tests that must send wrong bytes: the upgrade, frames of any kind, and a
socket for wire.Wire whose bytes travel in messages."""

import base64
import hashlib
import os
import socket
import struct

from wire import Closed

BINARY, TEXT, CLOSE, PING, PONG = 2, 1, 8, 9, 10


def request(path="/", **headers):
    """An upgrade; a header of None is left out, names are written with underscores."""
    fields = {"Host": "127.0.0.1", "Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Version": "13",
              "Sec_WebSocket_Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec_WebSocket_Protocol": "burnd.v1", **headers}
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in fields.items() if value is not None]
    return "\r\n".join([f"GET {path} HTTP/1.1", *lines, "", ""]).encode()


def frame(data, opcode=BINARY, final=True, mask=b"\x37\xfa\x21\x3d", reserved=0, form=None):
    """One frame; mask None leaves it unmasked, form 126 or 127 writes the length longer than it needs."""
    size = len(data)
    form = form or (size if size < 126 else 126 if size < 65536 else 127)
    head = bytes([(0x80 if final else 0) | reserved | opcode, (0x80 if mask else 0) | form])
    head += struct.pack(">H", size) if form == 126 else struct.pack(">Q", size) if form == 127 else b""
    if not mask:
        return head + data
    key = (mask * (size // 4 + 1))[:size]
    return head + mask + (int.from_bytes(data, "little") ^ int.from_bytes(key, "little")).to_bytes(size, "little")


def accept_of(key):
    return base64.b64encode(hashlib.sha1(key.encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest()).decode()


class Link:
    """A connection after its upgrade: raw frames out, (opcode, data) in."""

    def __init__(self, sock, **headers):
        self.sock = sock
        sock.settimeout(10)
        sock.sendall(request(**headers))
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            got = sock.recv(65536)
            assert got, self.buffer
            self.buffer += got
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        self.head = head.decode()
        assert self.head.startswith("HTTP/1.1 101 "), self.head

    def exactly(self, count):
        while len(self.buffer) < count:
            try:
                got = self.sock.recv(1 << 20)
            except ConnectionResetError:
                got = b""
            if not got:
                raise Closed()
            self.buffer += got
        data, self.buffer = self.buffer[:count], self.buffer[count:]
        return data

    def receive(self):
        first, second = self.exactly(2)
        assert first & 0x70 == 0 and second < 0x80 and first & 0x80, "a daemon's frames are whole, plain and unmasked"
        size = second
        if second == 126:
            size = struct.unpack(">H", self.exactly(2))[0]
            assert size > 125
        elif second == 127:
            size = struct.unpack(">Q", self.exactly(8))[0]
            assert size > 65535
        return first & 15, self.exactly(size)

    def closed_with(self):
        """The status of the daemon's close frame, which is its last word; None if it hung up without."""
        status = None
        try:
            while True:
                opcode, data = self.receive()
                assert status is None, "something follows the close frame"
                if opcode == CLOSE:
                    status = struct.unpack(">H", data)[0]
        except Closed:
            return status

    def close(self):
        self.sock.close()


class Socket:
    """What wire.Wire wants of a socket: bytes out go as one message a frame, in the fragments that cut says."""

    def __init__(self, sock, cut=None, **headers):
        self.link = Link(sock, **headers)
        self.cut = cut
        self.greeted = False
        self.rest = b""

    def settimeout(self, seconds):
        self.link.sock.settimeout(seconds)

    def sendall(self, data):
        while data:
            if self.greeted:
                size, _, flags, _, _, payload = struct.unpack("<IHHIIQ", data[:24])
                size = 32 + size + payload + (-(32 + size) % 64 if flags & 2 else 0)
            else:
                size, self.greeted = 16, True
            self.message(data[:size])
            data = data[size:]

    def message(self, data):
        parts = [data[at:at + self.cut] for at in range(0, len(data), self.cut)] if self.cut else [data]
        for i, part in enumerate(parts):
            mask = os.urandom(4)
            self.link.sock.sendall(frame(part, BINARY if i == 0 else 0, i + 1 == len(parts), mask))

    def recv(self, size):
        try:
            while not self.rest:
                opcode, self.rest = self.link.receive()
                if opcode == CLOSE:
                    return b""
        except Closed:
            return b""
        data, self.rest = self.rest[:size], self.rest[size:]
        return data

    def close(self):
        self.link.close()


def tcp(daemon):
    return socket.create_connection(("127.0.0.1", daemon.tcp_port()))
