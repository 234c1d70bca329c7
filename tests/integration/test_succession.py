# SPDX-License-Identifier: Apache-2.0
"""A daemon that drains leaves its addresses to the next one at once, and loses nobody: sessions under way end as they like, who
connects hears an answer, and a folder of state passes on when its owner has ended."""

import contextlib
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(__file__))

from test_drain import aside, begun, connect, held, summary
from test_identities import Tokens
from test_tls import connect as connect_tls
from wire import BURND, CODES, PREFACE, U8, Closed, Daemon, Wire, eventually, frame, hello

HOUR = ("--drain-timeout=1h", "--write-timeout=1h")


class Next:
    """A second daemon on the addresses of the first."""

    def __init__(self, first, *flags):
        self.path, self.log = first.path, open(first.folder.name + "/next.log", "w+")
        ports = [flag for kind in ("tcp", "tls") if re.search(kind + "://", first.text())
                 for flag in [f"--listen={kind}://127.0.0.1:{getattr(first, kind + '_port')()}" + ("?insecure" if kind == "tcp" else "")]]
        self.process = subprocess.Popen([BURND, "--listen=unix://" + first.path, *ports, f"--cache-dir={first.folder.name}/cache",
                                         "--drain-grace=0", *flags], stderr=self.log)

    def text(self):
        with open(self.log.name) as file:
            return file.read()

    def is_open(self):
        return "engine open" in self.text()

    def end(self):
        self.process.terminate()
        assert self.process.wait(60) == 0, self.text()[-4000:]
        assert "Sanitizer" not in self.text() and "runtime error" not in self.text(), self.text()[-4000:]


@contextlib.contextmanager
def following(first, *flags):
    after = Next(first, *flags)
    try:
        yield after
    finally:
        after.process.kill()
        after.process.wait()
        after.log.close()


def pid_of(sock):
    return struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]


def step_until_it_ends(client, errors):
    """A loop that goes on for a while after GOAWAY, then closes."""
    left = None
    try:
        for number in range(1, 1 << 30):
            client.send(frame("SYNC", [number]))
            name, fields, _ = client.receive()
            while name in ("CREDIT", "GOAWAY"):
                left = 50 if name == "GOAWAY" else left
                name, fields, _ = client.receive()
            if name != "SYNCED" or fields[1]:
                errors.append((name, fields))
            if left is not None:
                left -= 1
                if not left:
                    break
    except (Closed, OSError) as problem:
        errors.append(problem)
    client.close()


def come(path, stop, seen):
    """Connects again and again; what each one finds: the pid that served it, or how it was refused."""
    while not stop.is_set():
        try:
            sock = connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            seen.append("nobody")
            continue
        try:
            pid, client = pid_of(sock), Wire(sock, greet=False)
            client.send(PREFACE + hello())
            client.exactly(16)
            name, fields, _ = client.receive()
            if name == "WELCOME":
                client.send(frame("SYNC", [1]))
                name = client.receive()[0]
                while name in ("CREDIT", "GOAWAY"):
                    name = client.receive()[0]
                seen.append(pid if name == "SYNCED" else name)
            else:
                seen.append("draining" if name == "ERROR" and fields[1] == CODES["UNAVAILABLE"] else (name, fields))
        except (Closed, OSError) as problem:
            seen.append(problem)
        sock.close()


def test_the_next_daemon_serves_while_the_one_before_drains_under_load():
    with Daemon(*HOUR, tcp=True) as daemon:
        client, errors, seen, stop = held(daemon), [], [], threading.Event()
        loops = [threading.Thread(target=step_until_it_ends, args=(daemon.connect(), errors)) for _ in range(3)]
        comers = [threading.Thread(target=come, args=(daemon.path, stop, seen)) for _ in range(2)]
        for thread in loops + comers:
            thread.start()
        assert eventually(lambda: len(seen) > 20, 60)
        daemon.process.terminate()
        begun(daemon)
        with following(daemon) as after:
            try:
                assert eventually(after.is_open, 60), after.text()
                count = len(seen)
                assert eventually(lambda: after.process.pid in seen[count:], 60)
            finally:
                stop.set()
                for thread in loops + comers:
                    thread.join(120)
            assert not errors, errors
            assert set(seen) <= {daemon.process.pid, after.process.pid, "nobody", "draining"}, set(seen)
            assert daemon.process.poll() is None  # whom nobody reads
            new = [Wire(connect(daemon.path)), Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())))]
            assert pid_of(new[0].sock) == after.process.pid
            client.close()
            assert daemon.process.wait(60) == 0
            assert summary(daemon)[1] == 0
            assert not os.path.exists(aside(daemon)) and os.path.exists(daemon.path)
            for one in (*new, Wire(connect(daemon.path))):
                assert one.sync()[1] == 0
                one.close()
            after.end()
            assert not os.path.exists(daemon.path)


def test_who_stands_in_the_queue_is_answered():
    """Connections that nobody has accepted when the drain begins are not cut."""
    with Daemon(*HOUR, tcp=True) as daemon:
        client = held(daemon)
        os.kill(daemon.process.pid, signal.SIGSTOP)
        waiting = []
        for kind in range(80):
            sock = connect(daemon.path) if kind % 2 else socket.create_connection(("127.0.0.1", daemon.tcp_port()))
            waiting.append(Wire(sock, greet=False))
            waiting[-1].send(PREFACE + hello())
        daemon.process.terminate()
        os.kill(daemon.process.pid, signal.SIGCONT)
        for one in waiting:
            one.exactly(16)
            name, fields, _ = one.receive()
            assert name == "WELCOME" or (name == "ERROR" and fields[1] == CODES["UNAVAILABLE"]), (name, fields)
            one.close()
        client.close()
        assert daemon.process.wait(60) == 0


def test_the_state_passes_on_when_its_owner_has_ended(tmp_path):
    """The next daemon waits for it, and who connects meanwhile for that one."""
    secret = Tokens(tmp_path).add("alice", "compute")
    with Daemon(*HOUR, f"--state-dir={tmp_path}", tls=True) as daemon:
        daemon.certificate = lambda: f"{tmp_path}/certificate.pem"
        client = held(daemon)
        daemon.process.terminate()
        begun(daemon)
        with following(daemon, f"--state-dir={tmp_path}") as after:
            assert eventually(lambda: after.text().count("listening url=") == 2, 60), after.text()
            said = f"waiting for the burnd with the pid {daemon.process.pid} "
            assert said in after.text() and "it drains, and ends within ms=3600000\n" in after.text(), after.text()
            got = []
            thread = threading.Thread(target=lambda: got.append(Wire(connect_tls(daemon), token=secret)))
            thread.start()
            local = connect(daemon.path)
            assert pid_of(local) == after.process.pid and not after.is_open()
            client.close()
            assert daemon.process.wait(60) == 0
            thread.join(120)
            for one in (got[0], Wire(local)):
                one.put(1, U8, [3], b"abc")
                assert one.get(1)[2] == b"abc"
                one.close()
            pins = [re.search(r"certificate pin=(\S+)", text)[1] for text in (daemon.text(), after.text())]
            assert pins[0] == pins[1] and (tmp_path / "lock").read_text().split()[0] == str(after.process.pid)
            after.end()


def test_who_waits_for_the_state_can_be_ended(tmp_path):
    Tokens(tmp_path).add("alice", "compute")
    with Daemon(*HOUR, f"--state-dir={tmp_path}", tls=True) as daemon:
        client = held(daemon)
        daemon.process.terminate()
        begun(daemon)
        for number in (signal.SIGTERM, signal.SIGINT):
            with following(daemon, f"--state-dir={tmp_path}") as after:  # the second one replaces the socket that the first one left
                assert eventually(lambda: after.text().count("listening url=") == 2, 60), after.text()
                after.process.send_signal(number)
                assert after.process.wait(60) == -number
        assert daemon.process.poll() is None
        client.close()
        assert daemon.process.wait(60) == 0
