# SPDX-License-Identifier: Apache-2.0
"""What burnd survives. FAULTS names each fault with its tests, here and beside this file; each of them ends with
baseline.Baseline.holds(): sessions, tensors, bytes, credit, threads, descriptors and memory are what they were."""

import ast
import ctypes
import os
import pathlib
import random
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import textwrap
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))

import pytest

import websocket_wire
from baseline import MIB, Baseline
from test_cuda_emulated import ROOT
from test_identities import Tokens, refusal
from test_kills import LONG, Witness
from test_server_ops import batch, floats, record
from test_tls import client_context
from wire import CODES, F32, NAMES, PREFACE, Closed, Daemon, Wire, eventually, frame, hello, unpack

HERE = pathlib.Path(__file__).parent
FAULTS = {
    "a client that dies in the middle of a frame": ["test_storms.test_clients_cut_at_random_bytes_leave_nothing"],
    "a client that is killed in an upload, a step or a publication": ["test_kills.test_killed_clients_leave_nothing"],
    "a connection that is half open": ["test_survival.test_half_open_connections"],
    "a slow reader": ["test_server_protocol.test_a_client_that_does_not_read_is_cut", "test_tls.test_a_slow_reader_over_tls_is_closed"],
    "slow writers (slowloris)": ["test_survival.test_normal_clients_beside_a_thousand_slow_ones"],
    "garbage": ["test_server_protocol.test_random_garbage_after_a_good_start"],
    "glitches": ["test_survival.test_a_byte_that_is_another"],
    "no descriptors left": ["test_faults.test_thousands_of_connections"],
    "no memory for an allocation": ["test_failing_alloc.test_every_allocation_fails_once"],
    "a device without memory": ["test_faults.test_the_device_is_full_and_has_room_again"],
    "a compiler that fails": ["test_survival.test_a_compiler_that_fails", "test_faults.test_a_limit_of_file_sizes"],
    "a cache on a full disk": ["test_faults.test_a_full_disk"],
    "a clock that jumps": ["test_survival.test_a_clock_that_jumps"],
    "a wrong configuration at a reload": ["test_storms.test_reloads_under_load_of_right_and_wrong_files",
                                          "test_storms.test_hups_in_quick_succession_while_everything_changes"],
    "processes that race for a name": ["test_name_races.test_eight_processes_race_for_a_name"],
}
ENDS = {"SIGTERM under load": ["test_server_life.test_nothing_that_was_in_flight_is_lost"]}  # nothing is left to look at


def test_the_table_is_true():
    for fault, tests in (FAULTS | ENDS).items():
        for name in tests:
            file, function = name.split(".")
            found = [node for node in ast.parse((HERE / f"{file}.py").read_text()).body if getattr(node, "name", "") == function]
            assert found, name
            assert fault in ENDS or ".holds()" in ast.unparse(found[0]), name


# ---- half-open connections ----

def alone(body):
    """Runs body in a thread whose network is of its own: one loopback, which `link` switches on and off."""
    libc, problems = ctypes.CDLL(None, use_errno=True), []

    def link(is_on):
        with socket.socket() as sock:
            import fcntl
            fcntl.ioctl(sock, 0x8914, struct.pack("16sh14x", b"lo", int(is_on)))  # SIOCSIFFLAGS, IFF_UP

    def run():
        try:
            if libc.unshare(0x40000000) != 0:  # CLONE_NEWNET
                problems.append(None)
                return
            link(True)
            body(link)
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if None in problems:
        pytest.skip("a network of one's own is not allowed here")
    if problems:
        raise problems[0]


def test_a_client_notices_a_host_that_vanished():
    """The kernel asks for it: its timer runs on the connection. That it is right, the long form waits for."""
    def body(link):
        import burn
        with Daemon("--resume-grace=1h", tcp=True) as daemon:
            port = daemon.tcp_port()
            burn.connect(f"tcp://127.0.0.1:{port}?resume=0")
            x = burn.arange(1000.0)
            assert x.sum().item() == 499500
            timers = [line.split()[5] for line in pathlib.Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]
                      if line.split()[2].endswith(f":{port:04X}") and line.split()[3] == "01"]
            assert [timer[:2] for timer in timers] == ["02"], timers  # 02: keepalive
            if LONG:
                link(False)
                begin = time.monotonic()
                with pytest.raises(burn.ConnectionError, match="timed out|failed"):
                    (x + 1).sum().item()
                assert time.monotonic() - begin < 75
                link(True)
            burn.disconnect()

    alone(body)


def test_half_open_connections():
    """Both ends are there, and nothing gets through. Who answers pings is missed soon, others after a minute."""
    def body(link):
        with Daemon("--idle-timeout=1s", tcp=True) as daemon:
            baseline = Baseline(daemon)
            clients = [Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())), features=["keepalive"] if k < 5 or not LONG else [])
                       for k in range(10)]
            for client in clients:
                client.put(1, F32, [1000], bytes(4000))
                assert client.sync()[1] == 0
            link(False)
            local = daemon.connect()
            answers = 5 if LONG else 10
            assert eventually(lambda: local.report("STATS")["connections"]["idle_closed"] == answers, 20)
            assert eventually(lambda: local.report("STATS")["sessions"]["open"] == 1, 75), local.report("STATS")["sessions"]
            local.close()
            baseline.holds()
            for client in clients:
                client.close()
    alone(body)


# ---- slow writers ----

def drip(unix, tcp, tls, count):
    """A process that keeps so many connections which say a byte a second each: the first words of all protocols,
    and uploads. A connection that is cut is made anew. Ends with its parent."""
    upload = PREFACE + hello() + frame("PUT_BEGIN", [1, F32, [1000]], bytes(4000))
    http = b"GET /readyz HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X-Slow: yes\r\n" * 100
    kinds = (("unix", upload, 0), ("tcp", http, 0), ("tcp", upload, len(PREFACE + hello()) + 100), ("tls", b"\x16\x03\x01\x02\x00" * 99, 0))
    slow = []

    def connect(k):
        where, words, at = kinds[k % len(kinds)]
        sock = socket.socket(socket.AF_UNIX if where == "unix" else socket.AF_INET)
        sock.settimeout(10)
        sock.connect(unix if where == "unix" else ("127.0.0.1", tcp if where == "tcp" else tls))
        sock.setblocking(False)
        sock.send(words[:at])
        return [sock, words, at]

    print("begun", flush=True)
    while os.getppid() != 1:
        second = time.monotonic() + 1
        for k in range(count):
            try:
                if k == len(slow):
                    slow.append(connect(k))
                sock, words, at = slow[k]
                sock.send(words[at:at + 1])
                slow[k][2] = min(at + 1, len(words) - 2)
            except BlockingIOError:
                pass
            except OSError:
                slow[k][0].close()
                slow[k] = connect(k)
        time.sleep(max(0.0, second - time.monotonic()))


def round_trips(clients, seconds):
    """Sorted seconds of a SYNC of a short batch, one client after the other; all answers are right."""
    taken, number, end = [], 0, time.monotonic() + seconds
    while time.monotonic() < end or number < len(clients):
        client = clients[number % len(clients)]
        begin = time.monotonic()
        client.send(batch(client.at, record("add", client.at - 1, 1.0), record("free", [1]), first_op=client.op) + frame("SYNC", [number + 1]))
        assert client.expect("SYNCED")[0][:2] == [number + 1, CODES["OK"]]
        taken.append(time.monotonic() - begin)
        client.at, client.op, number = client.at + 1, client.op + 2, number + 1
    return sorted(taken)


def test_normal_clients_beside_a_thousand_slow_ones():
    slow_count, count, rounds, seconds = (1000, 50, 3, 5) if LONG else (120, 5, 1, 0.5)
    with Daemon("--hello-timeout=2s", "--handshake-timeout=2s", tcp=True, tls=True) as daemon:
        baseline = Baseline(daemon)
        clients = [daemon.connect() for _ in range(count)]
        for client in clients:
            client.put(1, F32, [4], floats(1, 2, 3, 4))
            client.at, client.op = 2, 1
            assert client.sync()[1] == 0
        ratios = []
        for _ in range(rounds):
            without = round_trips(clients, seconds)
            process = subprocess.Popen([sys.executable, __file__, daemon.path, str(daemon.tcp_port()), str(daemon.tls_port()), str(slow_count)],
                                       stdout=subprocess.PIPE)
            try:
                assert process.stdout.readline() == b"begun\n"
                assert eventually(lambda: clients[0].report("STATS")["connections"]["open"] > slow_count / 2, 30)
                beside = round_trips(clients, seconds)
            finally:
                process.kill()
                process.wait()
            p99 = [taken[int(len(taken) * 0.99)] * 1e6 for taken in (without, beside)]
            ratios.append(p99[1] / p99[0])
            print(f"SYNC beside {slow_count} slow clients: p99 {p99[1]:.0f} us, without {p99[0]:.0f} us, ratio {ratios[-1]:.2f}")
        for client in clients:
            client.close()
        print(baseline.holds())


# ---- glitches ----

def words():
    data = bytes(range(256)) * 16
    return [PREFACE, hello(features=["keepalive"]), frame("PUT_BEGIN", [1, F32, [32, 32]], data[:1000]), frame("PUT_DATA", [1, 1000], data[1000:]),
            batch(2, record("matmul", 1, 1), record("sum", 1, [0]), record("exp", 1)), frame("GET", [1, 3]), frame("SYNC", [2]),
            frame("PROGRAM_DEFINE", [3, 1, "twice", 1, 2], record("add", 1, 1)), batch(5, record("call", [4], 1, 1), first_op=4),
            frame("GET", [4, 5]), frame("CANCEL", [4]), frame("PING", [1]), frame("STATS", [5]), frame("GET", [6, 1])]


class Plain:
    def __init__(self, daemon, token):
        self.sock = socket.create_connection(("127.0.0.1", daemon.tcp_port()), timeout=20)

    def seal(self, part):
        return part

    def unseal(self, data):
        return data


class Tls:
    """The records of TLS, so that they can be damaged on their way."""

    def __init__(self, daemon, token):
        self.sock = socket.create_connection(("127.0.0.1", daemon.tls_port()), timeout=20)
        self.come, self.go = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.ends = client_context(daemon).wrap_bio(self.come, self.go, server_hostname="localhost")
        while True:
            try:
                self.ends.do_handshake()
                break
            except ssl.SSLWantReadError:
                self.sock.sendall(self.go.read())
                self.come.write(self.sock.recv(1 << 16))
        self.sock.sendall(self.go.read())

    def seal(self, part):
        self.ends.write(part)
        return self.go.read()

    def unseal(self, data):
        self.come.write(data)
        plain = b""
        try:
            while more := self.ends.read(1 << 16):
                plain += more
        except ssl.SSLError:
            pass  # the end, or the daemon's alert
        return plain


class WebSocket:
    def __init__(self, daemon, token):
        self.link = websocket_wire.Link(websocket_wire.tcp(daemon))
        self.sock = self.link.sock

    def seal(self, part):
        return websocket_wire.frame(part, mask=os.urandom(4))

    def unseal(self, data):
        self.link.buffer += data
        plain = b""
        try:
            while True:
                opcode, part = self.link.receive()
                assert opcode in (websocket_wire.BINARY, websocket_wire.CLOSE, websocket_wire.PONG)
                plain += part if opcode == websocket_wire.BINARY else b""
        except Closed:
            pass
        return plain


def check_answers(data):
    """Whole frames of the daemon, with errors of known codes; the last one may be cut."""
    data = data[16:]
    while len(data) >= 32:
        size, kind, flags, _, _, payload = struct.unpack("<IHHIIQ", data[:24])
        end = 32 + size + payload + (-(32 + size) % 64 if flags & 2 else 0)
        if len(data) < end:
            return
        fields, at = unpack(data[32:32 + size])
        assert at == size and kind in NAMES
        if NAMES[kind] == "ERROR":
            assert fields[1] in CODES.values() and fields[1] not in (CODES["OK"], CODES["INTERNAL"]) and fields[2], fields
        data = data[end:]


def flip(data, rng):
    data = bytearray(data)
    data[rng.randrange(len(data))] ^= rng.randint(1, 255)
    return bytes(data)


def glitch(daemon, transport, token, rng):
    """A conversation in which one byte is wrong: in a frame before it is sealed, or on its way."""
    link = transport(daemon, token)
    parts = words()
    if token:
        parts[1] = hello(features=["keepalive"], token=token)
    wrong, early = rng.randrange(len(parts)), rng.random() < 0.6
    sent = []
    for k, part in enumerate(parts):
        part = link.seal(flip(part, rng) if k == wrong and early else part)
        sent.append(flip(part, rng) if k == wrong and not early else part)
    answers = b""
    try:
        link.sock.sendall(b"".join(sent))
        link.sock.shutdown(socket.SHUT_WR)
        while got := link.sock.recv(1 << 16):
            answers += got
    except (ConnectionResetError, BrokenPipeError):
        pass
    check_answers(link.unseal(answers))
    link.sock.close()


@pytest.mark.parametrize("transport", [Plain, Tls, WebSocket])
def test_a_byte_that_is_another(transport, tmp_path):
    count, rng = 5000 if LONG else 250, random.Random(transport.__name__)
    token = Tokens(tmp_path).add("glitchy", "compute")
    with Daemon(f"--state-dir={tmp_path}", "--session-memory=64MiB", tcp=True, tls=True) as daemon:
        daemon.certificate = lambda: f"{tmp_path}/certificate.pem"
        for _ in range(50):
            glitch(daemon, transport, token if transport is Tls else "", rng)
        baseline = Baseline(daemon)
        witness = Witness(daemon.connect())
        witness.start()
        for _ in range(count):
            glitch(daemon, transport, token if transport is Tls else "", rng)
        witness.stop.set()
        witness.join()
        assert witness.problem is None, witness.problem
        witness.client.close()
        print(f"{count} glitches, {baseline.holds()}")


# ---- compilers ----

def test_a_compiler_that_fails(tmp_path):
    """A stub in the compiler's place, which fails, dies or takes its time: the op's result is an error, everything else goes
    on, and the kernel is made once the compiler works again in another trace."""
    mood, real = tmp_path / "mood", shutil.which("clang++-19")
    (tmp_path / "cache").mkdir(mode=0o700)
    stub = tmp_path / "clang++-19"  # which emulator/compile.py calls
    stub.write_text(textwrap.dedent(f"""\
        #!/bin/sh
        case "$(cat {mood})" in
        fails) echo "kernel.cu(1): error: the compiler is not in the mood"; exit 1 ;;
        dies) kill -SEGV $$ ;;
        sleeps) sleep 1 ;;
        esac
        exec {real} "$@"
        """))
    stub.chmod(0o700)
    mood.write_text("works")
    with Daemon("--device=cuda", f"--cache-dir={tmp_path}/cache",
                environment={"PATH": f"{tmp_path}:{os.environ['PATH']}", "LD_LIBRARY_PATH": str(ROOT / "build/release/tests/emulator")}) as daemon:
        baseline = Baseline(daemon)
        client, other = daemon.connect(), daemon.connect()
        client.sock.settimeout(60)
        for each in (client, other):
            each.put(1, F32, [2], floats(1, 4))
        other.send(batch(2, record("sqrt", 1)))
        assert other.get(2, 1)[2] == floats(1, 2)
        for k, (how, name) in enumerate((("fails", "exp"), ("dies", "sin"), ("sleeps", "neg"))):
            mood.write_text(how)
            client.send(batch(2 + k, record(name, 1 + k), first_op=1 + k) + frame("GET", [1, 2 + k]))
            # others do not wait for it: what is compiled already runs
            other.send(batch(3 + k, record("sqrt", 2 + k), first_op=2 + k))
            assert len(other.get(3 + k, 1)[2]) == 8
            if how == "sleeps":
                assert client.expect("DATA")[1] == floats(-1, -4)
                continue
            fields = client.expect("ERROR")[0]
            assert fields[1] == CODES["DEVICE"] and (how != "fails" or "not in the mood" in fields[2]), fields
            assert client.sync(2)[1] == CODES["DEVICE"] and client.get(1, 3)[2] == floats(1, 4)
        for each in (client, other):
            each.close()
        baseline.holds()


# ---- clocks ----

FAKETIME = next(iter(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")), None)


@pytest.mark.skipif(not FAKETIME, reason="libfaketime is not there")
@pytest.mark.parametrize("jump", ["+1h", "-1h", "+1000d", "-1000d"])
def test_a_clock_that_jumps(jump, tmp_path):
    """The wall clock is stepped while the daemon runs. Deadlines do not care; tokens end by it, and live again."""
    clock = tmp_path / "clock"
    clock.write_text("+0\n")
    tokens = Tokens(tmp_path)
    tomorrow = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86400))
    forever, short = tokens.add("forever", "compute"), tokens.add("short", "compute", tomorrow)
    with Daemon(f"--state-dir={tmp_path}", "--hello-timeout=2s", "--idle-timeout=1s", environment={
            "LD_PRELOAD": str(FAKETIME), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}) as daemon:
        baseline = Baseline(daemon)
        clients = [daemon.connect(token=token) for token in (forever, short)]
        for client in clients:
            client.put(1, F32, [2, 2], floats(1, 2, 3, 4))
            assert client.sync()[1] == 0
        early = Wire(daemon.socket(), greet=False)
        lively = daemon.connect(features=["keepalive"])
        stopped = threading.Event()

        def answer():
            while not stopped.is_set():
                name, fields, _ = lively.receive()
                if name == "PING":
                    lively.send(frame("PONG", fields))
                elif name == "SYNCED":
                    stopped.set()

        answers = threading.Thread(target=answer)
        answers.start()
        clock.write_text(jump + "\n")
        # who has not said HELLO has the time that he had, no more and no less
        early.send(PREFACE + hello())
        assert early.exactly(16) and early.receive()[0] == "WELCOME"
        late, begin = daemon.socket(), time.monotonic()
        late.settimeout(30)
        while late.recv(1000):
            pass
        assert time.monotonic() - begin > 1.5
        clients[0].send(batch(2, record("matmul", 1, 1)))
        assert clients[0].get(2, 2)[2] == floats(7, 10, 15, 22)
        if jump == "+1000d":
            assert clients[1].expect("GOAWAY") and clients[1].expect("ERROR")[0][1] == CODES["UNAUTHENTICATED"]
            assert refusal(daemon.socket(), token=short)[0] == "UNAUTHENTICATED"
            clock.write_text("+0\n")
            clients[1] = daemon.connect(token=short)
        assert clients[1].sync(3)[1] == 0
        lively.send(frame("SYNC", [1]))
        answers.join(20)
        assert not answers.is_alive()
        days = {line[:10] for line in daemon.text().splitlines() if line.startswith("20")}
        assert len(days) > 1 or "d" not in jump, days  # the log has the clock's time
        for client in (*clients, early, lively):
            client.close()
        late.close()
        baseline.holds()


if __name__ == "__main__":
    drip(sys.argv[1], *map(int, sys.argv[2:]))
