# SPDX-License-Identifier: Apache-2.0
"""Programs whose connection is lost: a proxy cuts it at random points of a training loop, which ends with the same bits;
waits for a lost connection can be interrupted, refused, and told how long they may last."""

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import time

sys.path.insert(0, os.path.dirname(__file__))

import pytest

from proxy import Proxy
from test_admin import ctl
from test_identities import Tokens
from test_resume import at_rest
from test_tls_clients import pin_of
from wire import BURND, CODES, PREFACE, Daemon, Wire, eventually, frame


TRAINING = """
import sys
import numpy as np
import burn
burn.manual_seed(1)
model = burn.nn.Sequential(burn.nn.Linear(32, 48), burn.nn.Tanh(), burn.nn.Linear(48, 1))
optimizer = burn.optim.Adam(model.parameters(), lr=1e-2)
random = np.random.default_rng(2)
losses = []
for k in range(60):
    x = burn.from_numpy(random.random((64, 32), dtype=np.float32))
    big = burn.from_numpy(random.random(200_000, dtype=np.float32))
    optimizer.zero_grad()
    loss = ((model(x) - x.sum(1, keepdim=True)) ** 2).mean() + big.mean() * 0
    loss.backward()
    optimizer.step()
    if k % 3 == 0:
        losses.append(loss.item())
    if k % 5 == 0:
        losses.append(float(big.numpy().sum()))
sys.stdout.buffer.write(b"".join(p.detach().numpy().tobytes() for p in model.parameters()) + np.array(losses).tobytes())
"""


def run(code, url, **more):
    environment = {**os.environ, "BURND": BURND, "BURN_URL": url, **more}
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, timeout=240, env=environment)


@pytest.fixture(scope="module")
def daemon():
    with Daemon("--resume-grace=600s", tcp=True) as running:
        yield running


@pytest.fixture(scope="module")
def expected(daemon):
    done = run(TRAINING, "unix://" + daemon.path)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.mark.parametrize("scheme", ["tcp", "ws"])
@pytest.mark.parametrize("closes", [True, False])
@pytest.mark.parametrize("seed, least, most", [(1, 2_000, 200_000), (2, 400, 60_000), (3, 100_000, 3_000_000)])
def test_training_ends_with_the_same_bits(daemon, expected, scheme, seed, least, most, closes):
    proxy = Proxy(daemon.tcp_port(), seed, least, most, closes=closes)
    done = run(TRAINING, proxy.url(scheme))
    proxy.close()
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == expected
    assert proxy.connections > 5
    if not proxy.whole:  # its BYE may have been cut off: the daemon waits for it
        end_lost(daemon)
    assert eventually(lambda: at_rest(daemon), 30)


def end_lost(daemon):
    for row in json.loads(ctl(daemon, "-o", "json", "sessions")):
        if row["state"] == "waiting":
            ctl(daemon, "close", str(row["session"]))


def test_a_program_that_ends_is_not_waited_for():
    """It holds tensors and says nothing of its own; the daemon would keep its session for an hour."""
    with Daemon("--resume-grace=1h", tcp=True) as running:
        done = run("import burn; x = burn.ones(1000); print(x.sum().item())",
                   f"tcp://127.0.0.1:{running.tcp_port()}?insecure")
        assert done.returncode == 0 and done.stdout == b"1000.0\n", done.stderr.decode()
        assert eventually(lambda: at_rest(running), 30)
        assert "session lost" not in running.text()


@pytest.mark.parametrize("scheme", ["tls", "wss"])
def test_training_over_tls_ends_with_the_same_bits(tmp_path, expected, scheme):
    token = Tokens(tmp_path).add("me", "compute")
    with Daemon(f"--state-dir={tmp_path}", tls=True) as daemon:
        proxy = Proxy(daemon.tls_port(), 4, 20_000, 400_000)
        done = run(TRAINING, f"{proxy.url(scheme)}?pin={pin_of(daemon)}", BURN_TOKEN=token)
        proxy.close()
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == expected and proxy.connections > 5


def test_a_daemon_that_waits_for_nobody():
    with Daemon("--resume-grace=0", tcp=True) as daemon:
        client = Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())), features=["resume"])
        client.close()
        done = run("import burn; print(burn.ones(3).sum().item())", f"tcp://127.0.0.1:{daemon.tcp_port()}")
        assert done.stdout == b"3.0\n"


def test_a_daemon_that_is_gone_is_an_error(daemon):
    with Daemon("--resume-grace=1s", tcp=True) as other:
        proxy = Proxy(other.tcp_port(), 1, cuts=0)
        code = f"""
        import os, signal, burn
        x = burn.ones(3)
        x.sum().item()
        os.kill({other.process.pid}, signal.SIGKILL)
        try:
            (x + 1).sum().item()
        except burn.Error as error:
            print("lost", error)
        """
        done = run(code, proxy.url())
        proxy.close()
        assert done.stdout.startswith(b"lost"), (done.stdout, done.stderr)
        other.process.wait()
        other.stop = lambda: None


class Program(subprocess.Popen):
    """A Python program that is told by a line when to go on."""

    def __init__(self, code, url, **more):
        super().__init__([sys.executable, "-uc", textwrap.dedent(code)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "BURND": BURND, "BURN_URL": url, **more})

    def says(self):
        return self.stdout.readline().strip()

    def go_on(self):
        self.stdin.write("\n")
        self.stdin.flush()


@pytest.mark.parametrize("mood", ["refuses", "mute"])
@pytest.mark.parametrize("doing", ["y.sum().item()", "burn.sync()", "for _ in range(10**6): y = y * 1.0 + big"])
def test_an_interrupt_ends_the_wait_for_a_lost_connection(mood, doing):
    """And what was there is there when the connection is."""
    with Daemon("--resume-grace=1h", tcp=True) as running:
        proxy = Proxy(running.tcp_port(), 1, cuts=0)
        program = Program(f"""
            import time, burn
            x = burn.arange(1000.0)
            y, big = x + 1, x * 0
            print(x.sum().item())
            input()
            try:
                {doing}
                print("done")
            except KeyboardInterrupt:
                print("interrupted")
            input()
            print((x * 2).sum().item(), y[:3].tolist())
            """, proxy.url())
        assert program.says() == "499500.0"
        proxy.become(mood)
        program.go_on()
        time.sleep(1.5)
        assert program.poll() is None
        begin = time.monotonic()
        program.send_signal(signal.SIGINT)
        assert program.says() == "interrupted"
        print(f"{mood}, {doing}: seen after {time.monotonic() - begin:.2f} s")
        proxy.become("passes")
        program.go_on()
        assert program.says() == "999000.0 [1.0, 2.0, 3.0]"
        assert program.wait(30) == 0 and running.text().count("session resumed") >= 1
        proxy.close()


def test_other_threads_run_while_a_connection_is_lost():
    with Daemon("--resume-grace=1h", tcp=True) as running:
        proxy = Proxy(running.tcp_port(), 1, cuts=0)
        program = Program("""
            import threading, time, burn
            x = burn.arange(1000.0)
            print(x.sum().item())
            input()
            got = []
            threads = [threading.Thread(target=lambda k=k: got.append((x + k).sum().item())) for k in range(4)]
            for thread in threads:
                thread.start()
            for _ in range(50):
                time.sleep(0.01)
            print("here")
            for thread in threads:
                thread.join()
            print(sorted(got))
            input()
            threads[0] = threading.Thread(target=lambda: x.sum().item() and None)
            def fails():
                try:
                    x.sum().item()
                except ConnectionError as error:
                    print(error)
            waiting = threading.Thread(target=fails)
            waiting.start()
            time.sleep(0.5)
            burn.disconnect()
            waiting.join()
            """, proxy.url())
        assert program.says() == "499500.0"
        proxy.become("mute")
        program.go_on()
        assert program.says() == "here"
        proxy.become("passes")
        assert program.says() == "[499500.0, 500500.0, 501500.0, 502500.0]"
        proxy.become("refuses")
        program.go_on()
        assert program.says() == "the connection was closed"
        assert program.wait(30) == 0
        proxy.close()


def test_a_refusal_is_tried_again_where_that_makes_sense():
    """And else its reason is told."""
    def refusal(code, text):
        return PREFACE + frame("ERROR", [0, CODES[code], text, 0, code == "UNAVAILABLE"])

    cases = [(refusal("DENIED", "not you"), "not you"), (refusal("NOT_FOUND", "no such key"), "no such key"),
             (PREFACE[:8] + struct.pack("<HHI", 7, 9, CODES["UNSUPPORTED"]), "versions 7 to 9, this client 1"),
             (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak the burnd protocol")]
    with Daemon("--resume-grace=1h", tcp=True) as running:
        for answer, says in cases:
            proxy = Proxy(running.tcp_port(), 1, cuts=0)
            program = Program("""
                import burn
                x = burn.arange(1000.0)
                print(x.sum().item())
                for _ in range(2):
                    input()
                    try:
                        print((x + 1).sum().item())
                    except ConnectionError as error:
                        print(error)
                """, proxy.url())
            assert program.says() == "499500.0"
            proxy.become(refusal("UNAVAILABLE", "no room just now"))
            before = proxy.connections
            program.go_on()
            assert eventually(lambda: proxy.connections >= before + 3, 30)
            proxy.become("passes")
            assert program.says() == "500500.0"
            proxy.become(answer)
            program.go_on()
            said = program.says()
            assert " and could not be resumed: " in said and says in said, said
            assert program.wait(30) == 0
            proxy.close()


def test_a_client_chooses_whether_it_is_waited_for():
    with Daemon("--resume-grace=1h", tcp=True) as running:
        for query, expected in (("?resume=0", "gone"), ("?resume=1", "lost"), ("", "lost")):
            proxy = Proxy(running.tcp_port(), 1, cuts=0)
            program = Program("""
                import burn
                x = burn.arange(1000.0)
                print(x.sum().item())
                input()
                try:
                    (x + 1).sum().item()
                except ConnectionError as error:
                    print(error)
                """, proxy.url() + query)
            assert program.says() == "499500.0"
            lost = running.text().count("session lost")
            proxy.become("refuses")
            program.go_on()
            if query:  # it does not try for an hour
                assert "closed the connection" in (said := program.says()) or "failed while" in said, said
                assert program.wait(30) == 0
            else:
                program.kill()
                program.wait()
            if expected == "gone":  # and the daemon does not wait
                assert eventually(lambda: at_rest(running), 10)
            assert (running.text().count("session lost") > lost) == (expected == "lost")
            proxy.close()
    for wrong in ("?resume=", "?resume=no", "?resume=-1", "?resume=12345678"):
        done = run("import burn; burn.ones(1)", f"tcp://127.0.0.1:1{wrong}")
        assert b"resume is a number of seconds, 0 for not at all" in done.stderr, done.stderr


@pytest.mark.parametrize("scheme", ["tcp", "tls", "ws"])
def test_an_interrupt_ends_the_wait_for_a_first_answer(scheme):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        program = Program("""
            import burn
            print("begins")
            try:
                burn.ones(1)
            except KeyboardInterrupt:
                print("interrupted")
            """, f"{scheme}://127.0.0.1:{silent.getsockname()[1]}")
        assert program.says() == "begins"
        time.sleep(0.5)
        program.send_signal(signal.SIGINT)
        assert program.says() == "interrupted"
        assert program.wait(30) == 0
