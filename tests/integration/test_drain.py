# SPDX-License-Identifier: Apache-2.0
"""The drain's contract: sessions hear of it and may go on for drain_timeout, new ones are refused, operators look on."""

import ctypes
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))

import pytest

from test_burnctl import BURNCTL, ctl
from wire import BURND, CODES, PREFACE, U8, Closed, Daemon, Wire, eventually, frame, hello

LIBRARY = pathlib.Path(BURND).parents[1] / "lib/libburn-client.so.1"


def held(daemon):
    """A session that does not read what it has asked for: the drain waits for it, until it is closed."""
    client = daemon.connect()
    client.put(1, U8, [4 << 20], bytes(4 << 20))
    client.send(frame("GET", [1, 1]))
    return client


def begun(daemon):
    assert eventually(lambda: "draining sessions=" in daemon.text(), 60)


def aside(daemon):
    """Where observers find it while it drains."""
    return daemon.path + ".draining"


def connect(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.connect(path)
    return sock


def summary(daemon):
    return [int(number) for number in re.search(r"drained sessions=(\d+) cut=(\d+)", daemon.text()).groups()]


def curl(daemon, page):
    run = subprocess.run(["curl", "-s", "-w", "%{http_code}", "--unix-socket", aside(daemon), "http://localhost" + page],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run
    return int(run.stdout[-3:]), run.stdout[:-3]


LOOP = """
import sys, burn
x, steps = burn.ones(3), 0
assert not burn.draining()
while not burn.draining():
    x = x + 1
    x.sum().item()
    steps += 1
    if steps == 1:
        print("begun", flush=True)
print("saved", (x.sum().item() - 3) / 3 == steps, burn.draining())
"""


@pytest.mark.parametrize("transport", ("unix", "tcp"))
def test_a_loop_hears_of_it_saves_and_stops(transport):
    with Daemon("--drain-timeout=1h", "--write-timeout=1h", tcp=True) as daemon:
        url = "unix://" + daemon.path if transport == "unix" else f"tcp://127.0.0.1:{daemon.tcp_port()}"
        with subprocess.Popen([sys.executable, "-c", LOOP], stdout=subprocess.PIPE, text=True, env=dict(os.environ, BURN_URL=url)) as loop:
            try:
                assert loop.stdout.readline() == "begun\n"
                daemon.process.terminate()
                assert loop.communicate(timeout=120)[0] == "saved True True\n"
            finally:
                loop.kill()
        assert daemon.process.wait(60) == 0
        assert summary(daemon) == [1, 0]


def test_a_loop_with_pauses_is_no_idle_session():
    with Daemon("--drain-timeout=1h", "--write-timeout=1h") as daemon:
        client = daemon.connect()
        client.put(1, U8, [3], b"abc")
        client.sync(1)
        daemon.process.terminate()
        client.expect("GOAWAY")
        for step in range(2, 6):
            time.sleep(0.3)
            assert client.sync(step)[1] == 0
        client.close()
        assert daemon.process.wait(60) == 0
        assert summary(daemon) == [1, 0]


def test_who_does_not_stop_is_cut_and_counted():
    with Daemon("--drain-timeout=1s") as daemon:
        busy, loop, done = held(daemon), daemon.connect(), []

        def go_on():
            try:
                for number in range(1, 1 << 30):
                    loop.send(frame("SYNC", [number]))
                    name, fields, _ = loop.receive()
                    if name == "ERROR":
                        done.append(fields)
            except (Closed, OSError):
                pass

        thread = threading.Thread(target=go_on)
        thread.start()
        answer = ctl("--url", "unix://" + daemon.path, "drain", "--wait")
        assert answer.stdout == ("draining; other sessions: 2, which have 1 s to end\n"
                                 "the daemon has ended; sessions cut: 2\n"), answer
        thread.join(60)
        assert daemon.process.wait(60) == 0
        assert summary(daemon) == [2, 2]
        assert [fields[1] for fields in done] == [CODES["UNAVAILABLE"]]
        for client in (busy, loop):
            client.close()


def test_a_second_signal_counts_whom_it_cuts():
    with Daemon("--drain-timeout=1h", "--write-timeout=1h") as daemon:
        client = held(daemon)
        daemon.process.terminate()
        begun(daemon)
        assert daemon.process.poll() is None
        daemon.process.terminate()
        assert daemon.process.wait(60) == 0
        assert summary(daemon) == [1, 1]
        client.close()


@pytest.mark.parametrize("number, cut", [(signal.SIGTERM, 1), (signal.SIGKILL, None)])
def test_who_waits_hears_that_the_drain_was_broken_off(number, cut):
    """The daemon goes without a word: how many sessions it cut is not known then, least of all that it was none."""
    daemon = Daemon("--drain-timeout=1h", "--write-timeout=1h")
    try:
        client = held(daemon)
        waiting = subprocess.Popen([BURNCTL, "--url", "unix://" + daemon.path, "drain", "--wait"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        assert waiting.stdout.readline() == "draining; other sessions: 1, which have 3600 s to end\n"
        daemon.process.send_signal(number)
        said, complaint = waiting.communicate(timeout=60)
        assert waiting.returncode == 1 and said == "", said
        assert complaint.startswith("burnctl: drain: the daemon went before its drain was over, killed or told twice to end: "), complaint
        assert daemon.process.wait(60) == (0 if cut else -signal.SIGKILL)
        assert cut is None or summary(daemon) == [1, cut]
        client.close()
    finally:
        daemon.process.kill()
        daemon.process.wait()
        daemon.log.close()
        daemon.folder.cleanup()


def test_operators_and_probes_look_on_while_it_drains():
    with Daemon("--drain-timeout=1h", "--write-timeout=1h", tcp=True) as daemon:
        client = held(daemon)
        url = "unix://" + aside(daemon)
        daemon.process.terminate()
        begun(daemon)
        assert curl(daemon, "/livez") == (200, "alive\n")
        assert curl(daemon, "/readyz")[0] == 503
        status, metrics = curl(daemon, "/metrics")
        assert status == 200 and "\nburnd_draining 1\n" in metrics and "\nburnd_sessions 1\n" in metrics
        stats = json.loads(ctl("--url", url, "-o", "json", "stats").stdout)
        assert stats["drain"] == {"started": True, "sessions": 1, "cut": 0, "over": False, "most_ms": 3600000}
        sessions = json.loads(ctl("--url", url, "-o", "json", "sessions").stdout)
        assert [session["client"] for session in sessions if session["session"] == client.session] == ["wire.py"]
        new = Wire(connect(aside(daemon)), greet=False)  # an ordinary client hears why and may come again
        new.send(PREFACE + hello())
        new.exactly(16)
        _, code, text, _, retryable = new.expect("ERROR")[0]
        assert code == CODES["UNAVAILABLE"] and retryable and "draining" in text
        assert new.closed()
        new.close()
        refused = subprocess.run([sys.executable, "-c", "import burn\nburn.connect()"], capture_output=True, text=True, timeout=120,
                                 env=dict(os.environ, BURN_URL=url))
        assert refused.returncode == 1 and "the daemon is draining" in refused.stderr, refused.stderr
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", daemon.tcp_port()))
        assert not os.path.exists(daemon.path) and daemon.process.poll() is None
        client.close()
        assert daemon.process.wait(60) == 0
        assert not os.path.exists(aside(daemon))


def test_who_comes_again_and_again_does_not_hold_it_up():
    with Daemon("--drain-timeout=1h", "--write-timeout=1h") as daemon:
        client, stop, answers = held(daemon), threading.Event(), []

        def come():
            while not stop.is_set():
                try:
                    new = Wire(connect(aside(daemon)), greet=False)
                    new.send(PREFACE + hello())
                    new.exactly(16)
                    answers.append(new.receive()[0])
                    new.send(b"GET")  # which nobody reads
                except (Closed, OSError):
                    pass

        threads = [threading.Thread(target=come) for _ in range(2)]
        daemon.process.terminate()
        begun(daemon)
        for thread in threads:
            thread.start()
        assert eventually(lambda: len(answers) > 20, 60)
        client.close()
        try:
            assert daemon.process.wait(60) == 0
        finally:
            stop.set()
            for thread in threads:
                thread.join(60)
        assert set(answers) == {"ERROR"} and summary(daemon) == [1, 0]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("url", ctypes.c_char_p), ("rest", ctypes.c_byte * 512)]


def test_the_c_client_hears_of_it_without_waiting():
    library = ctypes.CDLL(str(LIBRARY))
    library.burn_draining.argtypes = library.burn_sync.argtypes = library.burn_close.argtypes = [ctypes.c_void_p]
    with Daemon("--drain-timeout=1h", "--write-timeout=1h") as daemon:
        context = ctypes.c_void_p()
        options = Options(struct_size=16, url=b"unix://" + daemon.path.encode())
        assert library.burn_open(ctypes.byref(options), ctypes.byref(context)) == 0
        assert library.burn_sync(context) == 0 and library.burn_draining(context) == 0
        other = held(daemon)
        daemon.process.terminate()
        assert eventually(lambda: library.burn_draining(context) == 1, 60)
        other.close()
        library.burn_close(context)
        assert daemon.process.wait(60) == 0
        assert library.burn_draining(None) == 0
