# SPDX-License-Identifier: Apache-2.0
"""A client of the burnd protocol in plain Python, for tests that must send wrong bytes: raw frames,
the msgpack subset, and a daemon of one's own to send them to."""

import os
import pathlib
import re
import socket
import struct
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFACE = b"\x89BRN\r\n\x1a\n" + struct.pack("<HHI", 1, 1, 0)
CREDIT = 16 << 20
CODES = {m[1]: int(m[2]) for m in re.finditer(r"^CODE\((\w+), (\d+)", (ROOT / "proto/base/codes.def").read_text(), re.M)}
TYPES = {m[1]: int(m[2]) for m in re.finditer(r"^BEGIN\((\w+), (\d+)", (ROOT / "proto/messages.def").read_text(), re.M)}
NAMES = {number: name for name, number in TYPES.items()}
ALIGNED = {"PUT_BEGIN", "PUT_DATA", "DATA"}
F32, I64, U8 = 2, 5, 12
BURND = os.environ.get("BURND") or str(ROOT / "build/release/bin/burnd")


def op_revision():
    text = (ROOT / "proto/ops_gen.c").read_text()
    return int(re.search(r"burn_op_table_revision = (\d+)", text)[1])


def pack(value):
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        if 0 <= value < 128:
            return bytes([value])
        if -32 <= value < 0:
            return struct.pack("b", value)
        for head, form in ((0xCC, ">B"), (0xCD, ">H"), (0xCE, ">I"), (0xCF, ">Q")) if value >= 0 else (
                (0xD0, ">b"), (0xD1, ">h"), (0xD2, ">i"), (0xD3, ">q")):
            try:
                return bytes([head]) + struct.pack(form, value)
            except struct.error:
                continue
        raise ValueError(value)
    if isinstance(value, float):
        return b"\xcb" + struct.pack(">d", value)
    if isinstance(value, str):
        raw = value.encode()
        if len(raw) < 32:
            return bytes([0xA0 | len(raw)]) + raw
        return (b"\xd9" + struct.pack(">B", len(raw)) if len(raw) < 256 else b"\xda" + struct.pack(">H", len(raw))) + raw
    raw = b"".join(pack(item) for item in value)
    count = len(value)
    return (bytes([0x90 | count]) if count < 16 else b"\xdc" + struct.pack(">H", count)) + raw


def unpack(data, at=0):
    head = data[at]
    at += 1
    if head < 0x80:
        return head, at
    if head >= 0xE0:
        return head - 256, at
    if head in (0xC0, 0xC2, 0xC3):
        return {0xC0: None, 0xC2: False, 0xC3: True}[head], at
    numbers = {0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q", 0xCB: ">d"}
    if head in numbers:
        size = struct.calcsize(numbers[head])
        return struct.unpack(numbers[head], data[at:at + size])[0], at + size
    if 0xA0 <= head < 0xC0 or head in (0xD9, 0xDA):
        size = head & 0x1F
        if head == 0xD9:
            size, at = data[at], at + 1
        elif head == 0xDA:
            size, at = struct.unpack(">H", data[at:at + 2])[0], at + 2
        return data[at:at + size].decode(), at + size
    count = head & 0x0F
    if head == 0xDC:
        count, at = struct.unpack(">H", data[at:at + 2])[0], at + 2
    items = []
    for _ in range(count):
        item, at = unpack(data, at)
        items.append(item)
    return items, at


def frame(name, fields, payload=b"", flags=None, kind=None, stream=0, reserved=0, payload_bytes=None):
    message = fields if isinstance(fields, bytes) else pack(fields)
    aligned = name in ALIGNED and len(payload) > 0
    flags = (2 if aligned else 0) if flags is None else flags
    header = struct.pack("<IHHIIQII", len(message), TYPES[name] if kind is None else kind, flags, stream, reserved,
                         len(payload) if payload_bytes is None else payload_bytes, 0, 0)
    padding = -(32 + len(message)) % 64 if flags & 2 else 0
    return header + message + bytes(padding) + payload


def hello(device="", version=1, features=(), token="", client="wire.py"):
    return frame("HELLO", [client, version, op_revision(), device, list(features), 0, token])


class Closed(Exception):
    pass


class Wire:
    """One connection. send() takes raw bytes; receive() gives (name, fields, payload)."""

    def __init__(self, sock, greet=True, **wishes):
        self.sock = sock
        self.sock.settimeout(60)  # a machine may stop for a while
        self.buffer = b""
        self.credit = CREDIT
        if greet:
            self.send(PREFACE + hello(**wishes))
            assert self.exactly(16)[:8] == PREFACE[:8]
            name, fields, _ = self.receive()
            assert name == "WELCOME", (name, fields)
            self.session = fields[0]

    def send(self, data):
        self.sock.sendall(data)

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
        size, kind, flags, _, _, payload, _, _ = struct.unpack("<IHHIIQII", self.exactly(32))
        message = self.exactly(size)
        if flags & 2:
            assert not any(self.exactly(-(32 + size) % 64))
        fields, end = unpack(message)
        assert end == size
        if NAMES[kind] == "CREDIT":
            self.credit += fields[0]
        return NAMES[kind], fields, self.exactly(payload)

    def expect(self, name):
        while True:
            got, fields, payload = self.receive()
            if got == "CREDIT" and name != "CREDIT":
                continue
            assert got == name, (got, fields)
            return fields, payload

    def sync(self, request=1):
        self.send(frame("SYNC", [request]))
        return self.expect("SYNCED")[0]

    def spend(self, data):
        """Sends a frame when there is credit for it."""
        cost = max(len(data), 512)
        while self.credit < cost:
            self.expect("CREDIT")
        self.credit -= cost
        self.send(data)

    def put(self, ident, dtype, shape, data, chunk=1 << 20):
        self.spend(frame("PUT_BEGIN", [ident, dtype, list(shape)]))
        for at in range(0, len(data), chunk):
            self.spend(frame("PUT_DATA", [ident, at], data[at:at + chunk]))

    def get(self, ident, request=1):
        self.send(frame("GET", [request, ident]))
        data = b""
        while True:
            fields, payload = self.expect("DATA")
            assert fields[0] == request and fields[3] == len(data)
            data += payload
            if len(data) == fields[4]:
                return fields[1], fields[2], data

    def report(self, name, request=99):
        import json
        self.send(frame(name, [request]))
        return json.loads(self.expect("REPORT")[1])

    def closed(self):
        """True once the daemon has hung up."""
        try:
            while True:
                self.receive()
        except Closed:
            return True

    def close(self):
        self.sock.close()


class Daemon:
    """burnd ($BURND) with a socket in a folder of its own; use it as a context manager."""

    def __init__(self, *flags, environment=None, tcp=False, tls=False, files=None, path=None, starter=()):
        """path: where it listens by its configuration, not by flags; starter: the command that becomes burnd."""
        self.folder = tempfile.TemporaryDirectory(prefix="burnd-test-")
        self.path = path or self.folder.name + "/burnd.sock"
        listen = ([] if path else ["--listen=unix://" + self.path]) + (["--listen=tcp://127.0.0.1:0?insecure"] if tcp else []) + (
            ["--listen=tls://127.0.0.1:0"] if tls else [])
        settings = os.environ | {"XDG_CACHE_HOME": self.folder.name + "/cache",
                                 "XDG_STATE_HOME": self.folder.name + "/state"} | (environment or {})
        command = [*starter, BURND, *listen, "--drain-grace=0", *flags]
        if files:
            command = ["prlimit", f"--nofile={files}", *command]
        self.log = open(self.folder.name + "/log", "w+")
        self.process = subprocess.Popen(command, env=settings, stderr=self.log)
        end = time.monotonic() + 20
        while "engine open" not in self.text():
            assert self.process.poll() is None, self.text()
            assert time.monotonic() < end, "burnd did not start"
            time.sleep(0.01)

    def text(self):
        return pathlib.Path(self.log.name).read_text()

    def tcp_port(self):
        return int(re.search(r"tcp://127.0.0.1:(\d+)", self.text())[1])

    def tls_port(self):
        return int(re.search(r"tls://127.0.0.1:(\d+)", self.text())[1])

    def certificate(self):
        return self.folder.name + "/state/burnd/certificate.pem"

    def socket(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.path)
        return sock

    def connect(self, **options):
        return Wire(self.socket(), **options)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        status = self.process.wait(20)
        text = self.text()
        self.log.close()
        self.folder.cleanup()
        assert status == 0, (status, text[-4000:])
        assert "Sanitizer" not in text and "runtime error" not in text, text[-4000:]

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        if problem[0]:
            self.process.kill()
            self.process.wait()
            print(self.text()[-4000:])
            self.log.close()
            self.folder.cleanup()
        else:
            self.stop()


def eventually(condition, seconds=1.0):
    """True as soon as condition() holds, False if it does not within the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return bool(condition())
