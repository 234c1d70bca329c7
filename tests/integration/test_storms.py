# SPDX-License-Identifier: Apache-2.0
"""Connections cut at random bytes, and reloads one after the other under load, some of them broken: afterwards nothing is
left of it, and who was there the whole time has noticed nothing."""

import os
import random
import signal
import socket
import sys

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
