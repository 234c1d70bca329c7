# SPDX-License-Identifier: Apache-2.0
"""Connections cut at random bytes, and reloads one after the other under load, some of them broken: afterwards nothing is
left of it, and who was there the whole time has noticed nothing."""

import os
import random
import signal
import socket
import ssl
import sys
import threading

sys.path.insert(0, os.path.dirname(__file__))

from baseline import Baseline, gauges
from test_identities import Tokens
from test_kills import LONG, Witness
from test_server_ops import batch, floats, record
from wire import CODES, F32, PREFACE, Daemon, Wire, eventually, frame, hello


def conversation():
    data = bytes(1 << 18)
    return (PREFACE + hello(features=["keepalive"]) + frame("PUT_BEGIN", [1, F32, [256, 256]], data[:1000]) +
            frame("PUT_DATA", [1, 1000], data[1000:]) + batch(2, record("matmul", 1, 1), record("sum", 1)) + frame("GET", [1, 3]) +
            frame("PUT_BEGIN", [4, F32, [2, 2]], floats(1, 2, 3, 4)) + frame("EXPORT", [2, "cut/value"], bytes([0x92, 0xA0, 4])) +
            frame("SYNC", [3]) + frame("GET", [4, 2]) + frame("UNEXPORT", [5, "cut"]) + frame("GET", [6, 1]) + frame("PING", [1]))


def cut(daemon, words, rng):
    """Says the words up to a byte, reads up to a byte of the answers, and is gone, now and then by a reset."""
    sock = daemon.socket() if rng.random() < 0.5 else socket.create_connection(("127.0.0.1", daemon.tcp_port()))
    # Half of the cuts lie in what is small: heads and short frames.
    at = rng.randrange(len(words)) if rng.random() < 0.5 else rng.choice((rng.randrange(400), len(words) - rng.randrange(400)))
    sock.settimeout(5)
    sock.sendall(words[:at])
    if rng.random() < 0.5:
        try:
            sock.recv(rng.randint(1, 5000))
        except TimeoutError:
            pass
    if sock.family == socket.AF_INET and rng.random() < 0.3:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    sock.close()


def unexport(daemon):
    """What was published outlives who did it, on each of the doors."""
    for sock in (daemon.socket(), socket.create_connection(("127.0.0.1", daemon.tcp_port()))):
        client = Wire(sock)
        client.send(frame("UNEXPORT", [1, "cut"]))
        assert client.receive()[0] in ("DONE", "ERROR")
        client.close()


def test_clients_cut_at_random_bytes_leave_nothing():
    count, rng, words = 10_000 if LONG else 300, random.Random(7), conversation()
    with Daemon(tcp=True) as daemon:
        idle, last = daemon.connect(), None
        for _ in range(100):
            cut(daemon, words, rng)
        last = daemon.connect()
        last.put(1, F32, [2], floats(1, 2))
        assert last.sync()[1] == 0
        assert eventually(lambda: gauges(daemon)["sessions"] == 3, 10), gauges(daemon)  # that which asks, too
        unexport(daemon)
        baseline = Baseline(daemon)
        witness = Witness(daemon.connect())
        witness.start()
        for _ in range(count):
            cut(daemon, words, rng)
        witness.stop.set()
        witness.join()
        assert witness.problem is None, witness.problem
        witness.client.close()
        assert eventually(lambda: gauges(daemon)["sessions"] == 3, 10), gauges(daemon)
        unexport(daemon)
        print(f"{count} cuts, {witness.rounds} rounds of the witness, {baseline.holds()}")
        assert idle.sync()[1] == 0 and last.get(1, 5)[2] == floats(1, 2)
        for client in (idle, last):
            client.close()


def test_reloads_under_load_of_right_and_wrong_files(tmp_path):
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    tokens, config = Tokens(state), tmp_path / "burnd.conf"
    keeps = tokens.add("keeps", "compute")
    config.write_text(f"state_dir = {state}\n")
    with Daemon(f"--config={config}") as daemon:
        client, first = daemon.connect(token=keeps), daemon.connect()
        baseline = Baseline(daemon)
        witness = Witness(daemon.connect())
        witness.start()
        assert eventually(lambda: witness.rounds > 5, 20)
        for k in range(100):
            wrong = k % 3 == 2
            config.write_text(f"state_dir = {state}\n" + (f"idle_timeout = {k + 1}s\n" if not wrong else "idle_timeout = soon\n"))
            name, secret = f"guest{k}", None
            if not wrong:
                secret = tokens.add(name, "compute")
            says = "reload failed" if wrong else "reloaded tokens=2"
            before = daemon.text().count(says)
            daemon.process.send_signal(signal.SIGHUP)
            assert eventually(lambda: daemon.text().count(says) > before, 20), daemon.text()[-2000:]
            if secret:
                guest = daemon.connect(token=secret)
                assert guest.sync()[1] == CODES["OK"]
                guest.close()
                del tokens.lines[name]
                tokens.write()
        assert client.sync(9)[1] == CODES["OK"] and first.report("CONFIG")["idle_timeout"] == "100s"
        witness.stop.set()
        witness.join()
        assert witness.problem is None, witness.problem
        witness.client.close()
        baseline.holds()
        for one in (client, first):
            one.close()


def replace(path, data):
    """All of a file in one step, as administrators' tools do it."""
    fresh = path.with_name(path.name + ".new")
    fresh.touch(0o600)
    fresh.write_bytes(data)
    fresh.rename(path)


def test_hups_in_quick_succession_while_everything_changes(tmp_path):
    """Configuration, certificate, key and tokens change between right and wrong while clients come over TLS and the Unix
    socket. Each of them is served, and in the end the files of the end are what holds."""
    state, count = tmp_path / "state", 600 if LONG else 100
    state.mkdir(mode=0o700)
    tokens, config, certificate, key = Tokens(state), tmp_path / "burnd.conf", tmp_path / "certificate.pem", tmp_path / "key.pem"
    keeps, pairs = tokens.add("keeps", "compute"), []
    for k in range(2):  # pairs as a daemon makes them
        with Daemon(f"--state-dir={tmp_path}/made{k}", tls=True):
            pairs.append([(tmp_path / f"made{k}" / name).read_bytes() for name in ("certificate.pem", "private_key.pem")])
    right = f"state_dir = {state}\ncertificate = {certificate}\nprivate_key = {key}\n"
    lines = (state / "tokens").read_bytes()

    def settle(number):
        replace(certificate, pairs[number][0])
        replace(key, pairs[number][1])
        replace(state / "tokens", lines)
        replace(config, right.encode())

    settle(0)
    rng, stop, problems, served = random.Random(5), threading.Event(), [], []
    with Daemon(f"--config={config}", "--hello-timeout=10min", "--handshake-timeout=10min", tls=True) as daemon:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # which of them it is, is looked at below

        def visit(number):
            try:
                while not stop.is_set():
                    if number % 2:
                        sock = socket.create_connection(("127.0.0.1", daemon.tls_port()))
                        client = Wire(context.wrap_socket(sock), token=keeps)
                    else:
                        client = daemon.connect()
                    client.put(1, F32, [2], floats(1, 2))
                    assert client.get(1, 1)[2] == floats(1, 2)
                    client.close()
                    served.append(number)
            except BaseException as problem:
                problems.append(problem)

        first = daemon.connect()
        baseline = Baseline(daemon)
        visitors = [threading.Thread(target=visit, args=(number,)) for number in range(4)]
        for visitor in visitors:
            visitor.start()
        changes = (
            lambda k: replace(config, f"{right}idle_timeout = {k + 1}s\n".encode()), lambda k: replace(config, b"idle_timeout = soon\n"),
            lambda k: replace(config, rng.randbytes(200)), lambda k: config.unlink(missing_ok=True), lambda k: settle(k % 2),
            lambda k: replace(certificate, pairs[k % 2][0]), lambda k: replace(key, pairs[k % 2][1]), lambda k: replace(certificate, b"none"),
            lambda k: replace(state / "tokens", lines + b"half a line"), lambda k: replace(state / "tokens", lines))
        for k in range(count):
            rng.choice(changes)(k)
            for _ in range(rng.choice((1, 1, 4))):
                daemon.process.send_signal(signal.SIGHUP)
            stop.wait(rng.random() * 0.01)
        settle(1)
        before = daemon.text().count("reloaded tokens=1")
        daemon.process.send_signal(signal.SIGHUP)
        assert eventually(lambda: daemon.text().count("reloaded tokens=1") > before, 60), daemon.text()[-2000:]
        with context.wrap_socket(socket.create_connection(("127.0.0.1", daemon.tls_port()))) as sock:
            assert ssl.DER_cert_to_PEM_cert(sock.getpeercert(True)).encode() == pairs[1][0]
        seen = len(served)
        assert eventually(lambda: len(served) > seen + 8 or problems, 60)
        stop.set()
        for visitor in visitors:
            visitor.join()
        assert not problems, problems
        assert "reload failed" in daemon.text() and first.sync()[1] == CODES["OK"]
        print(len(served), "served", baseline.holds())
        first.close()
