# SPDX-License-Identifier: Apache-2.0
"""A machine that does not give what burnd asks for: memory, files, descriptors, a cache folder. Each is a
typed error or a warning in the log, and the daemon goes on."""

import os
import random
import shutil
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))

import pytest

import wire
from baseline import MIB, Baseline
from test_server_ops import batch, floats, record
from wire import CODES, F32, U8, Daemon, Wire, eventually, frame

class Limited(Daemon):
    """A daemon under a limit of the system: Limited("--as=900000000", flags…)."""

    def __init__(self, limit, *flags, **options):
        name, value = limit.split("=")
        before = wire.BURND
        with open(f"/tmp/burnd-limited-{os.getpid()}", "w") as file:
            file.write(f'#!/bin/sh\nexec prlimit {name}={value} "{before}" "$@"\n')
        os.chmod(file.name, 0o700)
        wire.BURND = file.name
        try:
            super().__init__(*flags, **options)
        finally:
            wire.BURND = before
            os.unlink(file.name)


def compute(client, base=1, request=50):
    client.put(base, F32, [2, 2], floats(1, 2, 3, 4))
    client.send(batch(base + 1, record("matmul", 1, 1)))
    return client.get(base + 1, request)[2] == floats(7, 10, 15, 22)


def warnings(daemon):
    return [line for line in daemon.text().splitlines() if " warn " in line]


def test_the_address_space_ends():
    with Limited(f"--as={900 * MIB}") as daemon:
        client, other = daemon.connect(), daemon.connect()
        assert compute(client)
        for i in range(40):
            client.send(frame("PUT_BEGIN", [10 + i, U8, [256 * MIB]]))
        code, text = client.sync(1)[1:3]
        assert code == CODES["NO_MEMORY"] and "upload of tensor 10: 268435456 bytes wanted" in text, text
        client.send(batch(60, record("full", 1.0, [1 << 28], F32), record("add", 1, 1.0), record("full", 3.0, [2], F32)))
        assert client.sync(2)[1] == CODES["NO_MEMORY"]
        client.send(frame("GET", [3, 61]))
        fields, _ = client.expect("ERROR")
        assert fields[1] == CODES["NO_MEMORY"] and fields[4], fields  # a retry can help
        client.close()
        assert compute(other)
        other.close()


def test_a_limit_of_file_sizes():
    with Limited("--fsize=1000") as daemon:
        baseline = Baseline(daemon, lambda daemon: daemon.connect().close())
        client = daemon.connect()
        client.put(1, F32, [2], floats(1, 2))
        client.send(batch(2, record("exp", 1)))
        client.send(frame("GET", [1, 2]))
        fields, _ = client.expect("ERROR")
        assert fields[1] == CODES["DEVICE"] and "File too large" in fields[2]
        assert client.get(1, 2)[2] == floats(1, 2)
        client.close()
        baseline.holds()


def test_hardly_any_descriptors():
    with Limited("--nofile=40") as daemon:
        clients = [daemon.connect() for _ in range(4)]
        assert all(compute(client) for client in clients)
        for client in clients:
            client.close()
    done = subprocess.run(["prlimit", "--nofile=9", wire.BURND, "--listen=unix:///tmp/burnd-few/s"], capture_output=True, text=True,
                          timeout=20)
    assert done.returncode == 1 and "too many open files" in done.stderr.lower(), done
    shutil.rmtree("/tmp/burnd-few", ignore_errors=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_full_disk(tmp_path):
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", tmp_path]).returncode != 0:
        pytest.skip("mounts are not allowed here")
    try:
        with Daemon(f"--cache-dir={tmp_path}/cache") as daemon:
            baseline = Baseline(daemon)
            client = daemon.connect()
            assert compute(client)
            client.send(batch(10, record("exp", 9), record("sin", 1)))
            assert client.sync(9)[1] == 0
            assert len(warnings(daemon)) == 1 and "No space left on device; compiled code stays in memory only" in warnings(daemon)[0]
            assert not list((tmp_path / "cache").glob("*/new-*"))
            client.close()
            baseline.holds()
    finally:
        subprocess.run(["umount", tmp_path])


@pytest.mark.parametrize("path, problem", [("/proc/nowhere/cache", "No such file"), ("/etc/hostname", "Not a directory"),
                                           ("/dev/full", "Not a directory")])
def test_a_cache_folder_that_cannot_be(path, problem):
    with Daemon(f"--cache-dir={path}") as daemon:
        client = daemon.connect()
        assert compute(client)
        assert any(f"object cache {path}" in line and problem in line for line in warnings(daemon))
        client.close()


def test_a_cache_folder_that_others_can_write(tmp_path):
    (tmp_path / "open").mkdir()
    os.chmod(tmp_path / "open", 0o777)
    os.mkdir(tmp_path / "mine", 0o700)
    os.symlink(tmp_path / "mine", tmp_path / "link")
    for name in ("open", "link"):
        with Daemon(f"--cache-dir={tmp_path}/{name}") as daemon:
            client = daemon.connect()
            assert compute(client)
            assert any("object cache" in line for line in warnings(daemon)), name
            client.close()
        assert os.listdir(tmp_path / name) == []


def test_a_cache_folder_that_vanishes(tmp_path):
    with Daemon(f"--cache-dir={tmp_path}/cache") as daemon:
        client = daemon.connect()
        assert compute(client)
        shutil.rmtree(tmp_path / "cache")
        client.send(batch(10, record("sin", 9)))
        assert client.sync(3)[1] == 0
        assert len(warnings(daemon)) == 1 and "compiled code stays in memory only" in warnings(daemon)[0]
        client.close()


def damage(path, how, rng):
    data = bytearray(path.read_bytes())
    if how == "bit":
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == "cut":
        data = data[:rng.randrange(len(data))]
    elif how == "longer":
        data += b"x"
    elif how == "empty":
        data = b""
    elif how == "noise":
        data = rng.randbytes(len(data))
    elif how == "lengths":
        at = 8 * rng.randint(1, 3)
        data[at:at + 8] = struct.pack("<Q", rng.choice((2**63, 2**64 - 1, 0, len(data))))
    if how in ("folder", "link", "fifo"):
        path.unlink()
        {"folder": os.mkdir, "fifo": os.mkfifo, "link": lambda at: os.symlink("/etc/passwd", at)}[how](path)
    else:
        path.write_bytes(data)


@pytest.mark.parametrize("how", ["bit", "cut", "longer", "empty", "noise", "lengths", "folder", "link", "fifo"])
def test_a_tampered_cache(tmp_path, how):
    rng = random.Random(how)
    with Daemon(f"--cache-dir={tmp_path}/cache") as daemon:
        client = daemon.connect()
        assert compute(client)
        client.close()
    for _ in range(5 if how == "bit" else 1):
        files = list((tmp_path / "cache").glob("*/*.obj"))
        assert files
        for path in files:
            damage(path, how, rng)
        with Daemon(f"--cache-dir={tmp_path}/cache") as daemon:
            client = daemon.connect()
            assert compute(client)
            assert client.report("STATS")["kernels"]["compiles"] > 0
            client.close()


def test_a_session_reaches_its_limit_in_a_step_and_recovers():
    with Daemon(f"--session-memory={64 * MIB}") as daemon:
        client, other = daemon.connect(), daemon.connect()
        client.put(1, F32, [1024, 1024], bytes(4 * MIB))
        adds = [part for i in range(40) for part in (record("add", i + 1, float(i + 1)), record("mark"))]
        client.send(batch(2, *adds))
        code, text, op = client.sync(1)[1:4]
        assert code == CODES["LIMIT"] and "memory limit of the session: 4194304 bytes wanted, 67108864 of 67108864 in use" in text
        assert op > 20
        assert client.get(2, 2)[2][:4] == floats(1)  # what had room is there
        client.send(frame("GET", [3, 41]))
        assert client.expect("ERROR")[0][1] == CODES["LIMIT"]
        assert compute(other)
        client.send(frame("OPS", [42, 99], record("free", list(range(1, 41)))))
        client.send(batch(42, record("add", 41, 5.0)))
        assert client.get(42, 4)[2][:4] == floats(5)
        client.sync(5)
        client.send(batch(43, record("add", 1, 1.0), first_op=200))
        assert client.sync(6)[1] == 0 and client.get(43, 7)[2][:4] == floats(6)
        client.close()
        assert eventually(lambda: other.report("STATS")["memory"]["device_bytes"] < MIB)
        other.close()


def test_the_device_is_full_and_has_room_again():
    with Daemon(f"--memory={64 * MIB}") as daemon:
        baseline = Baseline(daemon)
        greedy, other = daemon.connect(), daemon.connect()
        greedy.put(1, F32, [1024, 1024], bytes(4 * MIB))
        other.put(1, F32, [1024, 1024], bytes(4 * MIB))
        greedy.send(batch(2, *[part for i in range(40) for part in (record("add", i + 1, float(i + 1)), record("mark"))]))
        assert greedy.sync(1)[1] == CODES["NO_MEMORY"]
        other.send(batch(2, record("add", 1, 1.0)))
        code, text = other.sync(1)[1:3]
        assert code == CODES["NO_MEMORY"] and "memory limit of the device" in text
        greedy.close()
        assert eventually(lambda: other.report("STATS")["sessions"]["open"] == 1)
        other.send(batch(3, record("add", 2, 2.0), first_op=2))
        assert other.get(3, 2)[2][:4] == floats(2)
        other.close()
        baseline.holds()


def busy(daemon):
    """A client whose work takes long, most of it not begun."""
    client = daemon.connect()
    client.put(1, F32, [2500, 2500], bytes(4 * 2500 * 2500))
    client.send(batch(2, *[part for i in range(60) for part in (record("matmul", i + 1, i + 1), record("mark"))]))
    client.send(frame("SYNC", [1]))
    time.sleep(0.3)
    return client


def test_the_work_of_a_vanished_client_is_dropped():
    with Daemon() as daemon:
        other = daemon.connect()
        busy(daemon).close()
        assert eventually(lambda: other.report("STATS")["memory"]["device_bytes"] == 0)
        assert other.report("STATS")["sessions"]["open"] == 1
        other.close()


def test_a_kernel_of_hours_ends_with_its_client():
    with Daemon() as daemon:
        client, other = daemon.connect(), daemon.connect()
        client.send(batch(1, record("uniform", 0.0, 1.0, [1 << 20, 1 << 18]), record("sum", 1), record("free", [2])))
        client.send(frame("SYNC", [1]))
        client.sock.settimeout(0.5)
        with pytest.raises(TimeoutError):
            client.receive()
        client.close()
        assert compute(other)
        assert other.report("STATS")["sessions"]["open"] == 1
        other.close()


@pytest.mark.parametrize("signals, most", [(1, 8), (2, 3)])
def test_a_busy_daemon_ends_in_time(signals, most):
    with Daemon("--drain-timeout=500ms") as daemon:
        client = busy(daemon)
        start = time.monotonic()
        for _ in range(signals):
            daemon.process.terminate()
            time.sleep(0.2)
        assert daemon.process.wait(20) == 0
        assert time.monotonic() - start < most
        seen = []
        with pytest.raises((wire.Closed, OSError)):
            while True:
                seen.append(client.receive())
        if signals == 1:
            errors = [fields for name, fields, _ in seen if name == "ERROR"]
            assert errors and errors[0][1] == CODES["UNAVAILABLE"] and "shut down before it could answer" in errors[0][2]
        assert not os.path.exists(daemon.path)
        client.close()


def test_sixty_four_sessions_at_once():
    with Daemon() as daemon:
        clients = [daemon.connect() for _ in range(64)]
        for k, client in enumerate(clients):
            client.put(1, F32, [64, 64], floats(*[float(k)] * 4096))
            client.send(batch(2, record("matmul", 1, 1), record("sum", 1)))
        for k, client in enumerate(clients):
            assert client.get(3, 1)[2] == floats(k * k * 64 * 4096)
        for client in clients:
            client.close()


def test_pings_are_answered_while_kernels_compile():
    with Daemon() as daemon:
        client = daemon.connect()
        client.put(1, F32, [64, 64], bytes(4 * 4096))
        rng = random.Random(3)
        for k in range(10):
            names = [rng.choice(("exp", "sin", "cos", "tanh", "relu", "sqrt", "sigmoid")) for _ in range(30)]
            client.send(batch(2 + 31 * k, *[record(name, 1) for name in names], record("sum", 1, [k % 2]), record("mark"), first_op=1 + 32 * k))
        client.send(frame("SYNC", [1]))
        synced, slowest, token = False, 0.0, 0
        while not synced:
            token, start = token + 1, time.monotonic()
            client.send(frame("PING", [token]))
            name, fields, _ = client.receive()
            while name != "PONG":
                synced |= name == "SYNCED"
                name, fields, _ = client.receive()
            slowest = max(slowest, time.monotonic() - start)
        assert token > 3 and slowest < 1
        client.close()


def test_programs_are_replaced_while_they_are_called():
    with Daemon() as daemon:
        client = daemon.connect()
        client.put(1, F32, [2], floats(1, 2))
        for k in range(100):
            client.send(frame("PROGRAM_DEFINE", [1, 5, "p", 1, 2], record("add" if k % 2 else "mul", 1, 1)))
            client.send(batch(k + 2, record("call", [k + 1], 5, 1), first_op=k + 1) + frame("PROGRAM_DROP", [2, 5]) + frame("GET", [3, k + 2]))
            client.expect("DONE")
            client.expect("DONE")
            assert client.expect("DATA")[1] == (floats(2, 4) if k % 2 else floats(1, 4))
        client.send(batch(102, record("call", [101], 5, 1), first_op=101))
        code, text = client.sync(9)[1:3]
        assert code == CODES["NOT_FOUND"] and "program 5 is unknown" in text
        client.close()


def test_uploads_and_results_without_a_byte():
    with Daemon() as daemon:
        client = daemon.connect()
        client.put(1, F32, [0], b"")
        client.put(2, F32, [3, 0, 5], b"")
        client.send(batch(3, record("exp", 2), record("sum", 2), record("matmul", 3, 3)))
        assert client.get(1, 1) == (F32, [0], b"") and client.get(2, 2) == (F32, [3, 0, 5], b"")
        assert client.get(3, 3) == (F32, [0], b"") and client.get(4, 4) == (F32, [], floats(0))
        code, text, op = client.sync(5)[1:4]
        assert code == CODES["INVALID"] and "matmul: inner sizes differ" in text and op == 3
        client.close()


def test_a_large_download_does_not_take_more_memory():
    with Daemon() as daemon:
        client = daemon.connect()
        count = 1 << 27
        client.send(batch(1, record("full", 1.5, [count], F32)))
        client.send(frame("GET", [1, 1]))
        got = 0
        while got < 4 * count:
            payload = client.expect("DATA")[1]
            assert payload[:4] == payload[-4:] == floats(1.5)
            got += len(payload)
        with open(f"/proc/{daemon.process.pid}/statm") as file:
            assert int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") < 4 * count + 200 * MIB
        client.close()


def test_a_reader_as_fast_as_the_writer():
    """Each write finds the socket empty; the daemon turns to others in between, and comes back."""
    with Daemon() as daemon:
        client = daemon.connect()
        count = 1 << 24
        client.send(batch(1, record("full", 1.5, [count], F32)))
        room = bytearray(8 * MIB)
        for request in range(1, 41):
            client.send(frame("GET", [request, 1]))
            left = 4 * count
            while left:
                message, kind, flags, _, _, payload, _, _ = struct.unpack("<IHHIIQII", client.exactly(32))
                assert wire.NAMES[kind] == "DATA" and flags & 2
                client.exactly(message + -(32 + message) % 64)
                head = min(len(client.buffer), payload)
                client.exactly(head)
                rest = payload - head
                while rest:
                    rest -= client.sock.recv_into(room, min(rest, len(room)))
                left -= payload
            assert client.sync(1000 + request)[1] == 0
        client.close()


def test_thousands_of_connections():
    with Daemon(files=300) as daemon:
        baseline = Baseline(daemon)
        first = daemon.connect()
        waiting = []
        for _ in range(2000):
            sock = wire.socket.socket(wire.socket.AF_UNIX)
            sock.setblocking(False)
            sock.connect_ex(daemon.path)
            waiting.append(sock)
        assert first.sync()[1] == 0
        assert compute(first)  # compiling needs descriptors, too
        assert daemon.descriptors() <= 300
        for sock in waiting:
            sock.close()
        assert eventually(lambda: Wire(daemon.socket()).sync()[1] == 0, 10)
        first.close()
        baseline.holds()
