# SPDX-License-Identifier: Apache-2.0
"""HTTP on burnd's listeners: what is there, what is not, and heads that are wrong, slow or too long."""

import http.client
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import pytest

sys.path.insert(0, os.path.dirname(__file__))

import wire
from websocket_wire import request, tcp
from wire import Daemon, eventually

WASM = b"\0asm\1\0\0\0"


@pytest.fixture(scope="module")
def site():
    with tempfile.TemporaryDirectory(prefix="burnd-www-") as name:
        folder = pathlib.Path(name, "site")
        (folder / "sub").mkdir(parents=True)
        (folder / "index.html").write_text("<h1>burnd</h1>\n")
        (folder / "sub/index.html").write_text("<h1>sub</h1>\n")
        (folder / "app.wasm").write_bytes(WASM)
        (folder / "module.mjs").write_text("export {};\n")
        (folder / "gr\u00fc\u00df e.txt").write_text("hello\n")
        (folder / "big.bin").write_bytes(os.urandom(9_000_000))
        (folder / "empty.css").write_bytes(b"")
        (folder / ".hidden").write_text("no")
        pathlib.Path(name, "outside").write_text("no")
        (folder / "link").symlink_to("index.html")
        (folder / "away").symlink_to("../outside")
        (folder / "up").symlink_to("..")
        os.mkfifo(folder / "pipe")
        yield folder


@pytest.fixture(scope="module")
def daemon(site):
    with Daemon(f"--www={site}", tcp=True) as running:
        yield running


def raw(daemon, data, pieces=1):
    """All that is answered to these bytes, until the daemon hangs up."""
    sock = tcp(daemon)
    sock.settimeout(10)
    step = max(1, len(data) // pieces)
    try:
        for at in range(0, len(data), step):
            sock.sendall(data[at:at + step])
    except OSError:
        pass
    got = b""
    try:
        while part := sock.recv(65536):
            got += part
    except ConnectionResetError:
        pass
    sock.close()
    return got


def ask(daemon, path, method="GET", **headers):
    link = http.client.HTTPConnection("127.0.0.1", daemon.tcp_port(), timeout=10)
    link.request(method, path, headers=headers)
    answer = link.getresponse()
    body = answer.read()
    link.close()
    return answer.status, answer.headers, body


def test_health_and_version(daemon):
    assert ask(daemon, "/livez")[::2] == (200, b"alive\n")
    assert ask(daemon, "/readyz")[::2] == (200, b"ready\n")
    status, headers, body = ask(daemon, "/readyz?verbose")
    assert status == 200 and b"[+] serving: yes\n" in body and b"[+] device cpu: answers" in body
    status, headers, body = ask(daemon, "/version")
    assert headers["Content-Type"] == "application/json" and headers["Cache-Control"] == "no-store"
    import json
    assert json.loads(body)["version"] == subprocess.run([wire.BURND, "--version"], capture_output=True,
                                                         text=True).stdout.split()[1]
    for path in ("/livez/", "/live", "/LIVEZ", "/metrics/x"):
        assert ask(daemon, path)[0] == 404


def test_on_a_unix_socket_too(daemon):
    run = subprocess.run(["curl", "-s", "--unix-socket", daemon.path, "http://any.name/livez"], capture_output=True, timeout=20)
    assert run.stdout == b"alive\n"


@pytest.mark.skipif(not os.environ.get("BURN_TEST_LONG"), reason="takes 12 s; BURN_TEST_LONG=1 runs it")
def test_not_ready_while_the_device_hangs(monkeypatch):
    monkeypatch.setattr(wire, "BURND", str(wire.ROOT / "build/release/tests/burnd_fake"))
    with Daemon(tcp=True, environment={"FAKE_SLOW_MS": "13000"}) as daemon:
        client = daemon.connect()
        client.sock.settimeout(30)
        client.send(wire.frame("SYNC", [1]))
        time.sleep(0.5)
        assert ask(daemon, "/readyz")[0] == 200  # busy is not dead
        time.sleep(11)
        status, _, body = ask(daemon, "/readyz?verbose")
        assert status == 503 and b"[-] device cpu: does not answer" in body
        assert ask(daemon, "/livez")[0] == 200
        client.expect("SYNCED")
        assert eventually(lambda: ask(daemon, "/readyz")[0] == 200, 5)
        client.close()


def test_files(daemon, site):
    for path, content, kind in (("/", b"<h1>burnd</h1>\n", "text/html; charset=utf-8"),
                                ("/index.html?x=1", b"<h1>burnd</h1>\n", "text/html; charset=utf-8"),
                                ("/sub/", b"<h1>sub</h1>\n", "text/html; charset=utf-8"),
                                ("/app.wasm", WASM, "application/wasm"),
                                ("/module.mjs", b"export {};\n", "text/javascript; charset=utf-8"),
                                ("/gr%C3%BC%c3%9f%20e.txt", b"hello\n", "text/plain; charset=utf-8"),
                                ("/empty.css", b"", "text/css; charset=utf-8"),
                                ("/big.bin", (site / "big.bin").read_bytes(), "application/octet-stream")):
        status, headers, body = ask(daemon, path)
        assert (status, body, headers["Content-Type"]) == (200, content, kind)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "script-src 'self' 'wasm-unsafe-eval';" in headers["Content-Security-Policy"]
        status, headers, body = ask(daemon, path, "HEAD")
        assert (status, headers["Content-Length"], body) == (200, str(len(content)), b"")


def test_what_is_no_file(daemon):
    for path in ("/nothing", "/.hidden", "/sub", "/sub/.", "/sub/..", "/..", "/../outside", "/%2e%2e/outside", "/sub/%2e%2e/%2e%2e/outside",
                 "/..%2foutside", "/link", "/away", "/up/outside", "/pipe", "//etc/passwd", "/%00", "/index.html%00.txt", "/%zz",
                 "/%", "/%4", "/" + "a" * 2000, "/sub//../../outside", "/\\..\\outside", "/index.html/"):
        assert ask(daemon, path)[0] == 404, path
    assert ask(daemon, "/index.html")[0] == 200


def test_without_a_folder_there_is_nothing():
    with Daemon(tcp=True) as daemon:
        assert ask(daemon, "/")[0] == ask(daemon, "/index.html")[0] == 404
    run = subprocess.run([wire.BURND, "--www=/no/such/folder", "--listen=unix:///tmp/never.sock"], capture_output=True, text=True,
                         timeout=20)
    assert run.returncode == 1 and "/no/such/folder: No such file" in run.stderr


@pytest.mark.parametrize("name, status", [
    ("127.0.0.1", 200), ("127.0.0.1:80", 200), ("localhost", 200), ("LOCALHOST.:7", 200), ("[::1]:7", 200), ("127.9.9.9", 200),
    ("evil.example", 403), ("localhost.evil.example", 403), ("127.0.0.1.evil.example", 403), ("0.0.0.0", 403), ("", 403),
    ("[::1", 403), ("10.0.0.1", 403), ("2130706433", 403),
])
def test_host_names(daemon, name, status):
    assert raw(daemon, f"GET /livez HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())[9:12] == b"%d" % status


@pytest.mark.parametrize("status, head", [
    (400, "GET /livez HTTP/1.1\nHost: localhost\n\n"),
    (400, "GET /livez HTTP/1.1\r\nHost : localhost\r\n\r\n"),
    (400, "GET /livez HTTP/2.0\r\nHost: localhost\r\n\r\n"),
    (400, "GET /livez HTTP/0.9\r\nHost: localhost\r\n\r\n"),
    (400, "GET /livez\r\n\r\n"),
    (400, "GET http://localhost/livez HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (400, "GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"),
    (400, "GET /livez HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    (400, "GET /livez HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: identity\r\n\r\n"),
    (400, "GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
    (400, "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: a\0b\r\n\r\n"),
    (400, "GET /livez HTTP/1.1\r\nHost: localhost\r\n: empty\r\n\r\n"),
    (400, "GET /li\x01vez HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (403, "GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n"),
    (403, "GET /livez HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n"),
    (405, "POST /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc"),
    (405, "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (405, "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (400, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    (405, "BREW /pot HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (431, "GET /livez HTTP/1.1\r\nHost: localhost\r\n" + "".join(f"X{i}: 1\r\n" for i in range(64)) + "\r\n"),
    (431, "GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + "a" * 8192 + "\r\n\r\n"),
    (431, "GET /" + "a" * 100000 + " HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    (431, "GET / HTTP/1.1\r\n" + "a: \r\n" * 20000),
])
def test_wrong_heads(daemon, status, head):
    head = head.encode("latin-1")
    for pieces in (1, min(len(head), 500)):
        got = raw(daemon, head, pieces)
        assert got[:13] == b"HTTP/1.1 %d " % status, got[:200]
        assert got.count(b"HTTP/1.1 4") == 1
        assert got.split(b"\r\n\r\n", 1)[1].strip(), "it says why"


def test_headers_up_to_the_limits(daemon):
    head = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + b"".join(b"X%d: 1\r\n" % i for i in range(62))
    assert raw(daemon, head + b"\r\n")[:12] == b"HTTP/1.1 200"
    head = b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: "
    assert raw(daemon, head + b"a" * (8192 - len(head) - 4) + b"\r\n\r\n")[:12] == b"HTTP/1.1 200"


def test_not_http_and_not_burnd(daemon):
    for data in (b"\x16\x03\x01\x02\x00\x01", b"hello\r\n", b"\0\0\0\0", b"\x89GET / HTTP/1.1\r\n"):
        assert raw(daemon, data) == b""


def test_one_connection_many_requests(daemon):
    link = http.client.HTTPConnection("127.0.0.1", daemon.tcp_port(), timeout=10)
    for path, status in (("/livez", 200), ("/nothing", 404), ("/big.bin", 200), ("/version", 200)):
        link.request("GET", path)
        answer = link.getresponse()
        assert answer.status == status and answer.read()
    sock = link.sock
    sock.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)  # at once
    got = b""
    while got.count(b"alive\n") < 20:
        got += sock.recv(65536)
    link.close()
    old = raw(daemon, b"GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\nGET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n")
    assert old.count(b"alive\n") == 1 and b"Connection: close\r\n" in old
    cut = raw(daemon, b"GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 1000)
    assert cut.endswith(b"alive\n")


def test_slow_heads_are_cut_and_others_served():
    with Daemon("--hello-timeout=400ms", "--idle-timeout=1s", tcp=True) as daemon:
        slow = [tcp(daemon) for _ in range(100)]
        for sock in slow:
            sock.settimeout(10)
            sock.sendall(b"GET /livez HTTP/1.1\r\n")
        assert ask(daemon, "/livez")[0] == 200
        for _ in range(6):
            time.sleep(0.1)
            for sock in slow:
                try:
                    sock.sendall(b"X: y\r\n")
                except OSError:
                    pass
        for sock in slow:
            assert sock.recv(65536)[:13] == b"HTTP/1.1 408 "
            sock.close()
        idle = http.client.HTTPConnection("127.0.0.1", daemon.tcp_port(), timeout=10)
        idle.request("GET", "/livez")
        idle.getresponse().read()
        assert idle.sock.recv(1) == b""  # silent for idle_timeout
        client = daemon.connect()
        assert eventually(lambda: client.report("STATS")["connections"]["open"] == 1, 5)
        client.close()


def test_a_reader_that_stops_holds_no_memory(site):
    with Daemon(f"--www={site}", "--write-timeout=500ms", tcp=True) as daemon:
        sock = tcp(daemon)
        sock.sendall(b"GET /big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client = daemon.connect()
        assert eventually(lambda: client.report("STATS")["connections"]["slow_closed"] == 1, 20)
        sock.close()
        client.close()


def test_pipelined_answers_that_nobody_reads_hold_no_memory():
    """Each request is short and its answer long: what is asked for beyond half a MiB is dropped with the connection."""
    with Daemon(tcp=True, environment={"BURND_OUTBOUND": "16MiB"}) as daemon:
        data = raw(daemon, b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 20000)
        one = len(data) / data.count(b"HTTP/1.1 200 OK")
        assert 512 << 10 < len(data) < (512 << 10) + 20 * one, (len(data), one)
        assert ask(daemon, "/livez")[0] == 200
        assert "wait for it" not in daemon.text()


@pytest.mark.parametrize("header", ["Upgrade", "Sec-WebSocket-Protocol"])
def test_headers_of_thousands_of_words_cost_little(daemon, header):
    """The time of a head grows with its bytes, not with their square: measured in the daemon's own seconds."""
    def seconds():
        return sum(int(n) for n in pathlib.Path(f"/proc/{daemon.process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]) / 100
    head = request(**{header.replace("-", "_"): ",".join(["a"] * 3700)})
    before = seconds()
    for _ in range(40):
        raw(daemon, head.replace(b"Connection: Upgrade", b"Connection: close, Upgrade"))
    assert seconds() - before < 1


def test_a_file_that_shrinks_ends_the_connection():
    with tempfile.TemporaryDirectory() as name, Daemon(f"--www={name}", tcp=True) as daemon:
        path = pathlib.Path(name, "f.bin")
        path.write_bytes(bytes(30_000_000))
        sock = tcp(daemon)
        sock.settimeout(10)
        sock.sendall(b"GET /f.bin HTTP/1.1\r\nHost: localhost\r\n\r\n")
        got = len(sock.recv(1000))
        os.truncate(path, 1000)
        while part := sock.recv(1 << 20):
            got += len(part)
        assert got < 30_000_000
        sock.close()


def test_metadata_of_a_connection_is_freed(daemon):
    before = daemon.descriptors()
    for _ in range(50):
        sock = tcp(daemon)
        sock.sendall(b"GET /big.bin HTTP/1.1\r\nHost: localhost\r\n\r\n"[:20 + 3 * (_ % 10)])
        sock.close()
    assert eventually(lambda: daemon.descriptors() <= before, 5)


def test_drain_is_not_ready():
    with Daemon(tcp=True) as daemon:
        client = daemon.connect()
        client.send(wire.frame("PUT_BEGIN", [1, wire.U8, [100]]))
        link = http.client.HTTPConnection("127.0.0.1", daemon.tcp_port(), timeout=10)
        link.request("GET", "/readyz")
        assert link.getresponse().read() == b"ready\n"
        daemon.process.terminate()
        assert eventually(lambda: "draining" in daemon.text(), 5)
        try:
            link.request("GET", "/readyz?verbose")
            answer = link.getresponse()
            assert answer.status == 503 and b"[-] serving: no, the daemon drains\n" in answer.read()
        except (ConnectionError, http.client.HTTPException):
            pass  # the daemon was faster
        client.close()
        assert daemon.process.wait(10) == 0


def test_h1_clients_agree(daemon, site):
    """curl keeps the connection, resumes nothing, and reads what is there."""
    base = f"http://127.0.0.1:{daemon.tcp_port()}"
    run = subprocess.run(["curl", "-sv", "-o", "/dev/null", "-o", "/dev/null", "-w", "%{http_code} ", base + "/livez", base + "/big.bin"],
                         capture_output=True, text=True, timeout=20)
    assert run.stdout == "200 200 " and "Re-using existing connection" in run.stderr
    run = subprocess.run(["curl", "-s", base + "/big.bin"], capture_output=True, timeout=20)
    assert run.stdout == (site / "big.bin").read_bytes()
