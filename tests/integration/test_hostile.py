# SPDX-License-Identifier: Apache-2.0
"""Clients that say anything at all, in frames that are well formed: every message of messages.def in any order with numbers,
names and texts that mean something now and then, at every door at once; descriptors of every kind; keys that are not theirs.
The daemon goes on, tells each what was wrong, and keeps nothing. Built with ASan it also proves that nothing leaks."""

import array
import fcntl
import os
import random
import re
import socket
import ssl
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(__file__))

import pytest

import websocket_wire as ws
from test_regions import SEALS, memfd
from test_server_ops import record
from wire import CODES, F32, PREFACE, ROOT, Closed, Daemon, Wire, eventually, frame, hello

LONG = bool(os.environ.get("BURN_TEST_LONG"))
CLIENTS, FRAMES = (400, 200) if LONG else (60, 100)
TEXT = (ROOT / "proto/messages.def").read_text()
MESSAGES = {name: re.findall(r"FIELD\((\w+), (\w+)", body) for name, body in re.findall(r"BEGIN\((\w+),(.*?)END\(\1\)", TEXT, re.S)}
# SHUTDOWN ends the daemon; the others end clients of others, and have tests of their own.
LEFT_OUT = {"SHUTDOWN", "CANCEL_WORK", "TOKEN_REVOKE", "TOKEN_ROTATE", "CLOSE_SESSION"}
FATAL = {name for name in MESSAGES if re.search(rf"BEGIN\({name}, \d+, \w+, DAEMON", TEXT)} | {"HELLO", "RESUME", "RECEIVED", "BYE"}  # end the connection
OF_FEATURES = {"REGION_ADD": "regions", "REGION_DROP": "regions", "PUT_REGION": "regions", "GET_REGION": "regions", "REGION_TAKEN": "regions",
               "TOKEN_MINT": "mint", "TOKEN_ROTATE": "rotate", "CANCEL_WORK": "cancel_work",
               "CLOSE_SESSION": "close_session"}
FEATURES = ["regions", "cancel_work", "mint", "rotate", "resume", "names", "programs"]
NAMES = ["", "a", "a/b", "public/a", "public", "a//b", "public/\u00e4", "token", "alice", "x" * 300, "infer", "infer,compute", "admin", "*"]


def number(rng):
    return rng.choice([0, 1, 2, 3, rng.randrange(12), rng.randrange(12), 64, 4096, 1 << 20, (1 << 20) + 1, 1 << 31, 1 << 32, (1 << 53) - 1, 1 << 53,
                       (1 << 63) - 1, rng.randrange(1 << rng.randrange(1, 63))])


def field(rng, kind, name):
    if kind in ("ID", "UINT"):
        return max(1, number(rng)) if kind == "ID" else number(rng)
    if kind == "INT":
        return number(rng) - rng.choice([0, 1, 1 << 62])
    if kind == "FLAG":
        return rng.random() < 0.5
    if kind == "TEXT":
        return rng.choice(NAMES)
    if kind == "TEXTS":
        return rng.sample(NAMES, rng.randrange(4))
    if kind == "DTYPE":
        return rng.randrange(16)
    return [number(rng) % rng.choice([4, 4, 4, 1 << 40]) for _ in range(rng.randrange(5))]


def payload(rng):
    return rng.choice([b"", bytes(16), bytes(24), rng.randbytes(40), record("neg", 1), record("add", 1, 2) + record("free", 1), record("neg", 1) * 20,
                       bytes([0x92, 1, 1]) * 30, bytes(70000)])


class Talk:
    """What one client says: numbers are right as a rule, so that the daemon listens."""

    def __init__(self, rng, features):
        self.rng, self.request, self.tensor, self.op = rng, 0, 1, 1
        self.silent = {name for name, feature in OF_FEATURES.items() if feature not in features}

    def number_of(self, kind, what, name):
        rng = self.rng
        if rng.random() < 0.01:
            return field(rng, kind, what)
        if what == "request":
            self.request += 1
            return self.request
        if what in ("first_output", "first") or (what == "id" and name == "PUT_BEGIN"):
            return self.tensor
        if what == "id":
            return max(1, self.tensor - rng.randrange(1, 4))
        if what == "first_op_index":
            return self.op
        if what in ("region", "program"):
            return rng.randrange(1, 4)
        if what in ("offset", "place", "slot_bytes", "slots") or (what == "bytes" and name == "PUT_REGION"):
            return rng.choice([1, 4, 8, 16, 64, 4096])
        return field(rng, kind, what)

    def frame(self):
        rng = self.rng
        names = sorted(set(MESSAGES) - LEFT_OUT - (FATAL | self.silent if rng.random() < 0.995 else set()))
        name = rng.choice(names if rng.random() < 0.6 else ["OPS", "OPS", "PUT_BEGIN", "PUT_BEGIN", "GET", "SYNC", "EXPORT", "IMPORT", "PROGRAM_DEFINE",
                                                            "EXPORT_PROGRAM"])
        fields = [self.number_of(kind, what, name) for kind, what in MESSAGES[name]]
        data = b""
        if name == "PUT_BEGIN":
            fields[1:], data = [F32, [2, 2]], bytes(16)
            self.tensor += 1
        elif name == "OPS":
            records = [rng.choice([record("neg", max(1, self.tensor - 1)), record("add", 1, 2), record("sum", 1), record("exp", 1),
                                   record("matmul", 1, 1)]) for _ in range(rng.randrange(1, 8))]
            self.tensor += len(records)
            self.op += len(records)
            data = b"".join(records)
        elif name in ("PROGRAM_DEFINE", "EXPORT", "EXPORT_PROGRAM"):
            data = payload(rng)
        if rng.random() < 0.01:
            fields, data = fields[:-1] + [field(rng, *rng.choice(MESSAGES[name]))], payload(rng)
        return frame(name, fields, data)


def descriptors(rng):
    """What could come along: memory of several kinds, and what is none."""
    def shrinks():
        fd = memfd(4096, 0)
        os.ftruncate(fd, rng.choice([0, 1, 100]))
        return fd

    def a_file():
        with tempfile.TemporaryFile() as file:
            file.truncate(1 << 20)
            return os.dup(file.fileno())

    def a_pipe():
        a, b = os.pipe()
        os.close(b)
        return a

    def a_socket():
        a, b = socket.socketpair()
        b.close()
        return a.detach()

    makers = [lambda: memfd(4096), lambda: memfd(1 << 20), lambda: memfd(0), lambda: memfd(4096, SEALS | fcntl.F_SEAL_WRITE), shrinks, a_file, a_pipe,
              a_socket, lambda: os.open("/dev/null", os.O_RDWR), lambda: os.open("/", os.O_RDONLY), lambda: os.open("/proc/self/maps", os.O_RDONLY)]
    return [rng.choice(makers)() for _ in range(rng.choice([1, 1, 1, 2, 5]))]


def make_token(daemon, scope):
    made = subprocess.run([ROOT / "build/release/bin/burnctl", "--url", "unix://" + daemon.path, "token", "create", "t-" + scope.replace(",", "-"),
                           "--scope=" + scope], capture_output=True, text=True, check=True)
    return re.search(r"burn_[\w-]+", made.stdout)[0]


class Doors:
    def __init__(self, daemon, tokens):
        self.daemon, self.tokens = daemon, tokens
        self.context = ssl.create_default_context(cafile=daemon.certificate())
        self.context.check_hostname = False

    def unix(self):
        return self.daemon.socket()

    def tcp(self):
        return socket.create_connection(("127.0.0.1", self.daemon.tcp_port()))

    def tls(self):
        return self.context.wrap_socket(socket.create_connection(("127.0.0.1", self.daemon.tls_port())))

    def open(self, rng):
        """A socket, whether it is a WebSocket's, and a token."""
        door = rng.choice(["unix", "tcp", "tls", "ws", "wss", "ws over unix"])
        sock = self.unix() if "unix" in door else self.tls() if door in ("tls", "wss") else self.tcp()
        sock.settimeout(20)
        token = rng.choice(self.tokens) if door in ("tls", "wss") or rng.random() < 0.2 else ""
        if "ws" in door:
            ws.Link(sock)
        return sock, "ws" in door, token


def swallow(sock):
    """What has come, unread."""
    sock.settimeout(0.001)
    try:
        while sock.recv(1 << 20):
            pass
    except OSError:
        pass
    sock.settimeout(20)


def misbehave(doors, rng):
    """One client, from its first byte to its last. It never waits for an answer."""
    sock, is_websocket, token = doors.open(rng)

    def send(data, fds=()):
        if is_websocket:
            size = rng.choice([len(data), len(data), 7, 1000])
            data = b"".join(ws.frame(data[at:at + size], opcode=0 if at else ws.BINARY, final=at + size >= len(data)) for at in range(0, len(data), size))
        if fds and sock.family == socket.AF_UNIX:
            sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
        else:
            sock.sendall(data)

    try:
        if rng.random() < 0.1:
            key = rng.choice(["", "0" * 64, "f" * 64, "0" * 63, "\u00e4" * 20])
            send(PREFACE)
            send(frame("RESUME", [1, token, key, number(rng)]))
        features = rng.sample(FEATURES, rng.randrange(len(FEATURES) + 1))
        send(PREFACE)
        send(hello(token=token, features=features))
        talk = Talk(rng, features)
        for _ in range(rng.randrange(FRAMES)):
            fds = descriptors(rng) if rng.random() < 0.1 else []
            data = talk.frame()
            if fds and "regions" in features and rng.random() < 0.8:
                talk.request += 1
                data = frame("REGION_ADD", [talk.request, rng.randrange(1, 4), rng.choice([0, 1, 4096, 1 << 20, 1 << 62])])
            try:
                send(data, fds)
            finally:
                for fd in fds:
                    os.close(fd)
            if rng.random() < 0.2:
                swallow(sock)
        if rng.random() < 0.3:
            send(frame("SYNC", [1 << 20])[:rng.randrange(1, 40)])
    except (OSError, Closed):
        pass  # it was shown the door
    if rng.random() < 0.3:  # a reset
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


@pytest.mark.parametrize("seed", range(4 if LONG else 2))
def test_anything_at_every_door(seed):
    rng = random.Random(seed)
    with Daemon("--resume-grace=100ms", "--regions=64MiB", "--principal-requests=64", "--session-memory=64MiB", tcp=True, tls=True) as daemon:
        tokens = ["burn_wrong"]
        for scope in ("infer", "compute", "admin", "metrics", "compute,mint"):
            tokens.append(make_token(daemon, scope))
        doors = Doors(daemon, tokens)
        misbehave(doors, random.Random(-1))
        watcher = daemon.connect()

        def at_rest():
            return len(watcher.report("SESSIONS")) == 1

        assert eventually(at_rest, 60)
        before = daemon.descriptors()
        for client in range(CLIENTS):
            misbehave(doors, rng)
            if client % 20 == 0:
                assert watcher.sync(client + 1)[1] == CODES["OK"]
        assert eventually(at_rest, 60)
        assert eventually(lambda: daemon.descriptors() <= before, 60), (before, daemon.descriptors())
        watcher.put(1, F32, [3], struct.pack("<3f", 1, 2, 3))
        assert watcher.get(1, 5000)[2] == struct.pack("<3f", 1, 2, 3)
        watcher.close()


@pytest.mark.parametrize("door", ["unix", "tcp", "tls"])
def test_floods_of_sessions(door):
    """More than there is room for, all at once: who is beyond gets an error, who is in is served, and afterwards there is room."""
    with Daemon("--sessions=20", tcp=True, tls=True) as daemon:
        doors = Doors(daemon, [])
        token = make_token(daemon, "compute")
        for _ in range(3):
            flood = [Wire(getattr(doors, door)(), greet=False) for _ in range(100)]
            for client in flood:
                client.send(PREFACE + hello(token=token if door == "tls" else ""))
            answers = []
            for client in flood:
                client.exactly(16)
                answers.append(client.receive()[:2])
            assert [name for name, _ in answers].count("WELCOME") == 20
            assert {fields[1] for name, fields in answers if name == "ERROR"} == {CODES["UNAVAILABLE"]}
            inside = [client for client, (name, _) in zip(flood, answers) if name == "WELCOME"]
            assert all(client.sync()[1] == CODES["OK"] for client in inside)
            for client in flood:
                client.close()
            assert eventually(lambda: has_room(daemon), 30)


def has_room(daemon):
    client = Wire(daemon.socket(), greet=False)
    client.send(PREFACE + hello())
    client.exactly(16)
    name, fields, _ = client.receive()
    alone = name == "WELCOME" and len(client.report("SESSIONS")) == 1
    client.close()
    return alone
