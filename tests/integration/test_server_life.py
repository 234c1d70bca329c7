# SPDX-License-Identifier: Apache-2.0
"""How burnd starts and ends: drain, second signal, stale sockets, embedded, configuration."""

import http.client
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))

import pytest

from wire import BURND, CODES, Closed, Daemon, U8, Wire, eventually, frame

LONG = bool(os.environ.get("BURN_TEST_LONG"))


def run(*flags, **environment):
    return subprocess.run([BURND, *flags], capture_output=True, text=True, timeout=20, env=dict(os.environ, **environment))


def test_drain_says_goaway_and_answers_what_is_in_flight():
    with Daemon() as daemon:
        client = daemon.connect()
        data = bytes(range(256)) * 32768
        client.put(1, U8, [len(data)], data)
        client.send(frame("GET", [1, 1]))
        daemon.process.terminate()
        got, goaway = b"", False
        while len(got) < len(data):
            name, fields, payload = client.receive()
            goaway |= name == "GOAWAY"
            got += payload
        assert got == data
        assert goaway or client.receive()[0] == "GOAWAY"
        assert client.closed()
        client.close()
        assert daemon.process.wait(5) == 0
        assert not os.path.exists(daemon.path)


def test_what_is_said_of_plain_tcp_can_be_done():
    """Each advice leads on to a configuration that is right."""
    for listen, says, hides in (("tcp://0.0.0.0:9000", "on loopback only; write tls://", "?insecure"), ("tcp://[::]:9000?insecure", "on loopback only; write tls://", "add"),
                                ("tcp://127.0.0.1:9000?insecureX", '"?insecureX" is not ?insecure', "add"), ("tcp://127.0.0.1:9000/a?insecure", '"/a?insecure" is not', "add"),
                                ("tcp://127.0.0.1:9000", "add ?insecure to accept that", "loopback")):
        done = run("--check-config", f"--listen={listen}")
        assert done.returncode == 78 and says in done.stderr and hides not in done.stderr.replace(listen, ""), done.stderr
    for listen in ("tls://0.0.0.0:9000", "tcp://127.0.0.1:9000?insecure"):
        assert run("--check-config", f"--listen={listen}").returncode == 0


def in_flight(client, lost, begun):
    """Keeps eight requests in flight until GOAWAY, then awaits what it sent. Notes what was never answered."""
    waiting, number, goaway = set(), 0, False
    begun.set()
    try:
        while waiting or not goaway:
            while not goaway and len(waiting) < 8:
                number += 1
                kind = "SYNC" if number % 2 else "GET"
                client.send(frame(kind, [number] if number % 2 else [number, 1]))
                waiting.add(number)
            name, fields, _ = client.receive()
            goaway |= name == "GOAWAY"
            if name in ("SYNCED", "DATA"):
                waiting.remove(fields[0])
        assert client.closed()
    except (Closed, OSError):
        lost.append((goaway, sorted(waiting)))
    client.close()


@pytest.mark.parametrize("number", range(100 if LONG else 10))
def test_nothing_that_was_in_flight_is_lost(number):
    with Daemon() as daemon:
        lost, threads = [], []
        for _ in range(4):
            client, begun = daemon.connect(), threading.Event()
            client.put(1, U8, [100], bytes(100))
            threads.append(threading.Thread(target=in_flight, args=(client, lost, begun)))
            threads[-1].start()
            begun.wait()
        time.sleep(random.Random(number).uniform(0, 0.05))
        daemon.process.terminate()
        for thread in threads:
            thread.join()
        assert not lost
        assert daemon.process.wait(10) == 0


def test_idle_daemon_drains_at_once():
    for connected in (False, True):
        with Daemon() as daemon:
            client = daemon.connect() if connected else None
            start = time.monotonic()
            daemon.process.terminate()
            assert daemon.process.wait(5) == 0
            assert time.monotonic() - start < 1.0
            if client:
                client.close()


def readiness(daemon):
    link = http.client.HTTPConnection("127.0.0.1", daemon.tcp_port(), timeout=10)
    link.request("GET", "/readyz?verbose")
    answer = link.getresponse()
    text = answer.read().decode()
    link.close()
    return answer.status, text


def test_who_watches_is_told_before_the_doors_close():
    """A load balancer sees that the daemon is not ready; meanwhile all goes on, for old clients and new ones."""
    with Daemon("--drain-grace=3s", tcp=True) as daemon:
        old = daemon.connect()
        assert readiness(daemon)[0] == 200
        daemon.process.terminate()
        start = time.monotonic()
        assert eventually(lambda: "not ready any more, draining in ms=3000" in daemon.text(), 5)
        assert readiness(daemon)[0] == 503 and "[-] serving: no, the daemon drains" in readiness(daemon)[1]
        new = Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())))
        for client in (old, new):
            client.put(1, U8, [3], b"abc")
            assert client.get(1)[2] == b"abc"
        for client in (old, new):
            client.expect("GOAWAY")
            assert client.closed()
            client.close()
        assert daemon.process.wait(10) == 0
        assert time.monotonic() - start > 2.9
    for asks, signals in ((False, 1), (True, 2)):  # nobody watches: nobody is waited for; a second signal ends the grace, too
        with Daemon("--drain-grace=1h", tcp=True) as daemon:
            client = daemon.connect()
            if asks:
                assert readiness(daemon)[0] == 200
            for _ in range(signals):
                time.sleep(0.3)
                assert daemon.process.poll() is None
                daemon.process.terminate()
            assert daemon.process.wait(10) == 0
            client.close()


def test_second_signal_ends_at_once():
    with Daemon() as daemon:
        client = daemon.connect()
        data = bytes(16 << 20)
        client.put(1, U8, [len(data) // 4], data[:len(data) // 4])
        client.send(frame("GET", [1, 1]))  # never read, so that the drain has to wait
        time.sleep(0.1)
        daemon.process.send_signal(signal.SIGINT)
        time.sleep(0.4)
        assert daemon.process.poll() is None
        daemon.process.send_signal(signal.SIGINT)
        assert daemon.process.wait(2) == 0
        client.close()


def test_shutdown_message():
    with Daemon() as daemon:
        client = daemon.connect()
        client.send(frame("SHUTDOWN", [4]))
        assert client.expect("DONE")[0] == [4]
        client.expect("GOAWAY")
        assert client.closed()
        assert daemon.process.wait(5) == 0
        client.close()


def test_socket_mode_and_stale_socket():
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/run/burnd.sock"
        first = subprocess.Popen([BURND, "--listen=unix://" + path], stderr=subprocess.DEVNULL)
        assert eventually(lambda: os.path.exists(path), 10)
        assert os.stat(path).st_mode & 0o7777 == 0o660
        assert os.stat(folder + "/run").st_mode & 0o7777 == 0o750
        second = run("--listen=unix://" + path)
        assert second.returncode == 1 and "another daemon listens there" in second.stderr
        first.kill()
        first.wait()
        assert os.path.exists(path)  # stale
        third = subprocess.Popen([BURND, "--listen=unix://" + path], stderr=subprocess.DEVNULL)
        inode = os.stat(path).st_ino

        def answers():
            try:
                sock = socket.socket(socket.AF_UNIX)
                sock.connect(path)
                return Wire(sock).sync()[1] == 0
            except OSError:
                return False

        assert eventually(answers, 10), inode
        third.terminate()
        assert third.wait(5) == 0
        assert not os.path.exists(path)
        open(path, "w").close()
        fourth = run("--listen=unix://" + path)
        assert fourth.returncode == 1 and "not a socket" in fourth.stderr
        assert os.path.exists(path)


def test_embedded_ends_with_its_client():
    ours, theirs = socket.socketpair()
    process = subprocess.Popen([BURND, f"--embedded={theirs.fileno()}"], pass_fds=[theirs.fileno()],
                               stderr=subprocess.DEVNULL, start_new_session=True)
    theirs.close()
    client = Wire(ours)
    client.put(1, U8, [3], b"abc")
    assert client.get(1)[2] == b"abc"
    client.close()
    assert process.wait(3) == 0


def test_embedded_refuses_what_is_no_socket():
    with open("/dev/null") as file:
        process = subprocess.run([BURND, f"--embedded={file.fileno()}"], pass_fds=[file.fileno()], capture_output=True, text=True)
        assert process.returncode == 1 and "not a stream socket" in process.stderr


def test_exit_codes():
    assert run("--version").stdout.startswith("burnd ")
    assert run("--help").returncode == 0
    wrong = run("--thread=3")
    assert wrong.returncode == 2 and 'did you mean "threads"' in wrong.stderr
    assert run("threads").returncode == 2
    assert run("--threads").returncode == 2
    assert run("--threads=many").returncode == 2
    wrong = run(BURND_CACHE_DIRR="x")
    assert wrong.returncode == 78 and "cache_dir" in wrong.stderr
    for url in ("tcp://0.0.0.0:7070?insecure", "tcp://127.0.0.1:7070", "tls://127.0.0.1:7070?insecure", "unix://relative", "what"):
        assert run("--listen=" + url).returncode == 78, url
    assert run("--listen=unix:///nowhere/at/all/burnd.sock").returncode == 1
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/burnd.conf"
        with open(path, "w") as file:
            file.write("threads = 2\nfusoin = off\n")
        wrong = run("--check-config", path)
        assert wrong.returncode == 78 and f"{path}:2:" in wrong.stderr and 'did you mean "fusion"' in wrong.stderr
        assert run("--config", path).returncode == 78
        with open(path, "w") as file:
            file.write(run("--print-config", "--threads=3").stdout)
        assert run("--check-config", path).returncode == 0
        assert "threads = 3" in run("--print-config", "--config", path).stdout
        assert "threads = 5" in run("--print-config", "--config", path, BURND_THREADS="5").stdout


def test_many_starts_and_stops_leave_nothing():
    before = set(os.listdir("/dev/shm"))
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/burnd.sock"
        for i in range(100 if LONG else 10):
            process = subprocess.Popen([BURND, "--listen=unix://" + path, f"--cache-dir={folder}/cache"], stderr=subprocess.DEVNULL)
            sock = socket.socket(socket.AF_UNIX)
            assert eventually(lambda: sock.connect_ex(path) == 0, 10)
            if i % 2:
                assert Wire(sock).sync()[1] == 0
            process.terminate()
            assert process.wait(10) == 0
            assert not os.path.exists(path)
            sock.close()
    assert set(os.listdir("/dev/shm")) == before


def test_normal_clients_beside_slow_ones():
    with Daemon("--hello-timeout=2s") as daemon:
        slow = [daemon.socket() for _ in range(200)]
        stop = threading.Event()

        def drip():
            for byte in frame("PING", [1]):
                for sock in slow:
                    try:
                        sock.send(bytes([byte]))
                    except OSError:
                        pass
                if stop.wait(0.01):
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        client = daemon.connect()
        for i in range(1, 200):
            assert client.sync(i)[1] == CODES["OK"]
        stop.set()
        thread.join()
        for sock in slow:
            sock.close()
        client.close()
