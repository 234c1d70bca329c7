# SPDX-License-Identifier: Apache-2.0
"""A connection that is lost comes back: a proxy cuts it at random points of a training loop, which ends with the same bits;
what the daemon keeps meanwhile, for how long, and for whom."""

import os
import random
import signal
import socket
import struct
import subprocess
import sys
import textwrap
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))

import pytest

from test_identities import Tokens
from test_tls_clients import pin_of
from websocket_wire import CLOSE, PING, PONG, Socket
from websocket_wire import frame as message
from wire import BURND, CODES, PREFACE, Daemon, F32, U8, Wire, eventually, frame, hello


class Proxy:
    """Passes bytes on and cuts each connection after a random number of them, on any byte of either way."""

    def __init__(self, port, seed, least=2_000, most=200_000, cuts=1000, closes=True):
        self.port, self.random, self.range, self.cuts, self.closes = port, random.Random(seed), (least, most), cuts, closes
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.connections, self.mood, self.socks = 0, "passes", []
        threading.Thread(target=self.accept, daemon=True).start()

    def url(self, scheme="tcp"):
        return f"{scheme}://127.0.0.1:{self.listener.getsockname()[1]}"

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            if self.mood != "passes":
                self.socks.append(near)
                if isinstance(self.mood, bytes):
                    near.recv(16384)
                    near.sendall(self.mood)
                if self.mood != "mute":
                    near.close()
                continue
            try:
                far = socket.create_connection(("127.0.0.1", self.port))
            except OSError:
                near.close()
                continue
            self.socks += (near, far)
            for sock in (near, far):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            left = [self.random.randint(*self.range) if self.cuts > 0 else 1 << 60]
            self.cuts -= 1
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self.pass_on, args=(source, target, left), daemon=True).start()

    def pass_on(self, source, target, left):
        try:
            while left[0] > 0:
                data = source.recv(16384)
                if not data:
                    break
                data = data[:left[0]]
                left[0] -= len(data)
                target.sendall(data)
        except OSError:
            pass
        for sock in (source, target):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            if self.closes and sock in self.socks:  # else it says that it has ended, and reads no more
                self.socks.remove(sock)

    def become(self, mood):
        """Cuts all connections; later ones are passed on, refused, kept without a word ("mute"), or told these bytes."""
        self.mood = mood
        for sock in list(self.socks):
            try:
                sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()


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


def at_rest(daemon):
    client = daemon.connect()
    stats = client.report("STATS")
    client.close()
    return stats["sessions"]["open"] == 1 and stats["memory"]["device_bytes"] == 0


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
    assert eventually(lambda: at_rest(daemon), 30)  # it said BYE, unless that was cut off


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


def resuming(daemon, wrap=lambda sock: sock):
    sock = socket.create_connection(("127.0.0.1", daemon.tcp_port()))
    client = Wire(wrap(sock), greet=False)
    client.send(PREFACE + hello(features=["resume"]))
    client.exactly(16)
    name, fields, _ = client.receive()
    assert name == "WELCOME" and "resume" in fields[10]
    return client, fields[11]


def resume(daemon, key, received, token="", wrap=lambda sock: sock):
    client = Wire(wrap(socket.create_connection(("127.0.0.1", daemon.tcp_port()))), greet=False)
    client.send(PREFACE + frame("RESUME", [1, token, key, received]))
    client.exactly(16)
    return client


def test_both_sides_go_on_where_the_other_is(daemon):
    """Half a frame was received, an answer was not; the old connection may still be open."""
    for closes in (True, False):
        client, key = resuming(daemon)
        assert len(key) == 64
        first = frame("PUT_BEGIN", [1, F32, [3]], struct.pack("<3f", 1, 2, 3)) + frame("GET", [1, 1])
        second = frame("PUT_BEGIN", [2, F32, [2]], struct.pack("<2f", 4, 5))
        client.send(first + second[:50])
        data = client.sock.recv(20, socket.MSG_WAITALL)  # of the answer's bytes 20 are taken
        if closes:
            client.close()
        again = resume(daemon, key, 20)
        received = again.expect("RESUMED")[0][0]
        assert len(first) <= received <= len(first) + 50
        again.buffer = data + again.buffer
        assert again.expect("DATA") == ([1, F32, [3], 0, 12], struct.pack("<3f", 1, 2, 3))
        again.send((first + second)[received:] + frame("GET", [2, 2]))
        assert again.expect("DATA")[1] == struct.pack("<2f", 4, 5)
        third = resume(daemon, key, 2**40)
        fields, _ = third.expect("ERROR")
        assert fields[1] == CODES["PROTOCOL"]
        third.close()
        again.send(frame("BYE", [0]))
        again.close()
        if not closes:
            while client.sock.recv(4096):  # it ends
                pass
            client.close()
    assert eventually(lambda: at_rest(daemon), 10)


def test_a_websocket_goes_on_with_the_rest_of_a_frame(daemon):
    """What was cut within a message, and within the answer's, comes first, as a message of its own. Pings, pongs and the
    headers of messages are not counted."""
    client, key = resuming(daemon, Socket)
    link = client.sock.link
    first = frame("PUT_BEGIN", [1, F32, [40000]], struct.pack("<f", 2) * 40000)
    asks = frame("GET", [1, 1])
    second = frame("PUT_BEGIN", [2, F32, [2]], struct.pack("<2f", 4, 5))
    link.sock.sendall(message(b"there?", PING))
    client.send(first + asks)
    link.sock.sendall(message(second)[:6 + 50])
    assert link.receive() == (PONG, b"there?")
    head = link.exactly(10)  # of the message with DATA: 160,000 bytes and more
    assert head[0] == 0x82 and head[1] == 127
    whole = struct.unpack(">Q", head[2:])[0]
    begun = link.exactly(70_000)
    client.close()
    again = resume(daemon, key, len(begun), wrap=Socket)
    received = again.expect("RESUMED")[0][0]
    assert len(first + asks) <= received <= len(first + asks) + 50
    opcode, rest = again.sock.link.receive()
    assert opcode == 2 and len(rest) == whole - len(begun)
    again.buffer = begun + rest
    assert again.expect("DATA") == ([1, F32, [40000], 0, 160000], struct.pack("<f", 2) * 40000)
    again.sock.message((first + asks + second)[received:])
    again.send(frame("GET", [2, 2]))
    assert again.expect("DATA")[1] == struct.pack("<2f", 4, 5)
    last = len(begun) + len(rest) + whole_of("DATA", [2, F32, [2], 0, 8], 8)
    third = resume(daemon, key, last, wrap=Socket)  # nothing is cut: whole frames both ways
    assert third.expect("RESUMED")[0][0] == len(first + asks + second) + len(frame("GET", [2, 2]))
    third.send(frame("SYNC", [3]))
    assert third.expect("SYNCED")[0][1] == 0
    third.send(frame("BYE", [0]))
    third.close()
    again.close()
    assert eventually(lambda: at_rest(daemon), 10)


def whole_of(name, fields, payload_bytes):
    return len(frame(name, fields, bytes(payload_bytes)))


@pytest.mark.parametrize("then, says", [
    (lambda rest: rest[:-1], CODES["PROTOCOL"]),  # less than the rest
    (lambda rest: rest + frame("SYNC", [3]), CODES["PROTOCOL"]),  # and more
])
def test_a_websocket_must_go_on_with_just_the_rest(daemon, then, says):
    client, key = resuming(daemon, Socket)
    upload = frame("PUT_BEGIN", [1, F32, [2]], struct.pack("<2f", 4, 5))
    client.send(frame("SYNC", [1]))
    client.sock.link.sock.sendall(message(upload)[:6 + 50])
    assert client.expect("SYNCED")[0][1] == 0
    again = resume(daemon, key, 0, wrap=Socket)
    received = again.expect("RESUMED")[0][0]
    again.sock.message(then((frame("SYNC", [1]) + upload)[received:]) if received > len(frame("SYNC", [1])) else b"x")
    assert again.expect("SYNCED")[0][1] == 0
    assert again.expect("ERROR")[0][1] == says
    assert again.sock.link.receive() == (CLOSE, struct.pack(">H", 1002))
    again.close()
    client.close()


def test_a_session_stays_with_its_kind_of_connection(daemon):
    for wrap, other in ((Socket, lambda sock: sock), (lambda sock: sock, Socket)):
        client, key = resuming(daemon, wrap)
        wrong = resume(daemon, key, 0, wrap=other)
        assert wrong.expect("ERROR")[0][1] == CODES["NOT_FOUND"]
        wrong.close()
        client.send(frame("BYE", [0]))
        client.close()


def test_a_websocket_that_is_closed_is_not_waited_for(daemon):
    client, _ = resuming(daemon, Socket)
    client.put(1, F32, [1], b"abcd")
    client.sock.link.sock.sendall(message(struct.pack(">H", 1001), CLOSE))  # as a page does that is left
    assert eventually(lambda: at_rest(daemon), 2)
    client.close()


def test_nobody_takes_back_what_was_received(daemon):
    client, key = resuming(daemon)
    client.put(1, U8, [1000], bytes(1000))
    client.send(frame("GET", [1, 1]))
    size = 32 + 1000
    client.expect("DATA")
    client.send(frame("RECEIVED", [size]) + frame("SYNC", [2]))
    client.expect("SYNCED")
    again = resume(daemon, key, size - 1)
    fields, _ = again.expect("ERROR")
    assert fields[1] == CODES["PROTOCOL"] and "said before" in fields[2]
    again.close()
    client.send(frame("BYE", [0]))
    client.close()


def test_answers_are_sent_again_in_order(daemon):
    client, key = resuming(daemon)
    data = os.urandom(3_000_000)
    client.put(1, U8, [len(data)], data)
    client.send(frame("GET", [5, 1]) + frame("PING", [77]) + frame("SYNC", [6]))
    while client.receive()[0] != "DATA":
        pass
    client.close()
    for _ in range(3):  # not one byte of all that is told: the whole of it comes again
        again = resume(daemon, key, 0)
        again.expect("RESUMED")
        again.exactly(1000)
        again.close()
    again = resume(daemon, key, 0)
    again.expect("RESUMED")
    got, seen = b"", set()
    while len(got) < len(data) or seen != {"PONG", "SYNCED"}:
        name, fields, payload = again.receive()
        if name == "DATA":
            assert fields[3] == len(got)
            got += payload
        elif name in ("PONG", "SYNCED"):
            assert name not in seen
            seen.add(name)
    assert got == data
    again.send(frame("BYE", [0]))
    again.close()


@pytest.mark.parametrize("key", ["", "0" * 64, "x" * 64, "0" * 63])
def test_a_wrong_key_resumes_nothing(daemon, key):
    client = resume(daemon, key, 0)
    fields, _ = client.expect("ERROR")
    assert fields[1] == CODES["NOT_FOUND"] and client.closed()
    client.close()


def test_who_did_not_ask_is_not_kept(daemon):
    client = Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())))
    client.put(1, F32, [1], b"abcd")
    client.close()
    assert eventually(lambda: at_rest(daemon), 2)
    local = daemon.connect(features=["resume"])  # not on a Unix socket
    local.put(1, F32, [1], b"abcd")
    local.send(frame("RECEIVED", [0]))
    fields, _ = local.expect("ERROR")
    assert fields[1] == CODES["PROTOCOL"] and local.closed()
    local.close()
    assert eventually(lambda: at_rest(daemon), 2)


def test_the_grace_ends():
    with Daemon("--resume-grace=300ms", tcp=True) as daemon:
        client, key = resuming(daemon)
        client.put(1, F32, [1], b"abcd")
        assert client.sync()[1] == 0
        client.close()
        assert eventually(lambda: at_rest(daemon), 10)
        late = resume(daemon, key, 0)
        assert late.expect("ERROR")[0][1] == CODES["NOT_FOUND"]
        late.close()
    with Daemon("--resume-grace=0", tcp=True) as daemon:
        client = Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())), features=["resume"])
        client.close()
        done = run("import burn; print(burn.ones(3).sum().item())", f"tcp://127.0.0.1:{daemon.tcp_port()}")
        assert done.stdout == b"3.0\n"


def test_a_drain_waits_for_no_lost_client():
    with Daemon(tcp=True) as daemon:
        client, _ = resuming(daemon)
        client.put(1, F32, [1], b"abcd")
        assert client.sync()[1] == 0
        client.close()
        assert eventually(lambda: "lost session" in daemon.text(), 5)
        daemon.process.terminate()
        assert daemon.process.wait(10) == 0


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
