# SPDX-License-Identifier: Apache-2.0
"""Who is let in, as whom, and with which rights: tokens, certificates, users; what is counted."""

import calendar
import hashlib
import json
import os
import random
import secrets
import socket
import statistics
import struct
import subprocess
import sys
import time
import tomllib

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from authority import Authority
from test_tls import connect
from wire import BURND, CODES, PREFACE, ROOT, Daemon, F32, Wire, eventually, frame, hello, pack


LONG = bool(os.environ.get("BURN_TEST_LONG"))
ADD, CALL = (tomllib.loads((ROOT / "proto/ops.toml").read_text())["op"][name]["number"] for name in ("add", "call"))


class Tokens:
    """A token file as the manual of its format says, in a state folder of its own."""

    def __init__(self, folder):
        self.folder = folder
        self.lines = {}

    def add(self, name, scopes, expiry="-", origins="-"):
        secret = "burn_" + secrets.token_urlsafe(32)
        self.lines[name] = f"{name} {hashlib.sha256(secret.encode()).hexdigest()} {scopes} {expiry} {origins}"
        self.write()
        return secret

    def write(self):
        path = self.folder / "tokens"
        path.touch(0o600)
        path.write_text("".join(line + "\n" for line in self.lines.values()))


@pytest.fixture
def tokens(tmp_path):
    return Tokens(tmp_path)


def refusal(sock, **wishes):
    """Code and text of the error that answers HELLO."""
    sock.sendall(PREFACE + hello(**wishes))
    client = Wire(sock, greet=False)
    client.exactly(16)
    name, fields, _ = client.receive()
    assert name == "ERROR" and fields[0] == 0, (name, fields)
    assert client.closed()
    client.close()
    return next(name for name, code in CODES.items() if code == fields[1]), fields[2]


def refusals(daemon):
    client = daemon.connect()
    counters = client.report("STATS")["refusals"]
    client.close()
    return counters


def request_error(client, name, fields, payload=b""):
    client.send(frame(name, fields, payload))
    answer = client.expect("ERROR")[0]
    assert answer[0] == fields[0]
    return next(name for name, code in CODES.items() if code == answer[1])


def test_tokens_over_tls(tokens, tmp_path):
    good, old = tokens.add("good", "compute,infer"), tokens.add("old", "compute", "2001-01-01T00:00:00Z")
    page = tokens.add("page", "compute", "2100-01-01T00:00:00Z", "https://a.org")
    with Daemon(f"--state-dir={tmp_path}", tls=True) as daemon:
        daemon.certificate = lambda: f"{tmp_path}/certificate.pem"
        client = Wire(connect(daemon), token=good)
        assert client.sync()[1] == CODES["OK"]
        flipped = [good[:5] + ("A" if good[5] != "A" else "B") + good[6:], good[:-1] + ("A" if good[-1] != "A" else "B")]
        for wrong in [*flipped, good[:-1], good + "A", "x", "é" * 64]:
            code, text = refusal(connect(daemon), token=wrong)
            assert code == "UNAUTHENTICATED" and "not known" in text and wrong not in text
        code, text = refusal(connect(daemon))
        assert code == "UNAUTHENTICATED" and "BURN_TOKEN" in text
        code, text = refusal(connect(daemon), token=old)
        assert code == "UNAUTHENTICATED" and "expired at 2001-01-01T00:00:00Z" in text
        assert refusal(connect(daemon), token=page)[0] == "DENIED"
        assert refusal(connect(daemon), token="x" * 129)[0] == "PROTOCOL"
        assert refusals(daemon) == {"no_identity": 1, "unknown_token": 6, "expired_token": 1, "wrong_origin": 1,
                                    "foreign_user": 0, "lacking_scope": 0, "ended_token": 0}
        local = daemon.connect()
        principals = {row["principal"]: row["transport"] for row in local.report("SESSIONS")}
        assert principals == {"token:good": "tls", f"uid:{os.getuid()}": "unix"}
        local.close()
        client.close()
        for secret in (good, old, page):
            assert secret[5:] not in daemon.text()
            assert secret[5:] not in subprocess.run([BURND, f"--state-dir={tmp_path}", "--print-config"], capture_output=True,
                                                    text=True, check=True).stdout


def test_scopes(tokens, tmp_path):
    names = ("infer", "compute", "metrics", "admin", "kernel,peer")
    made = {name: tokens.add(name.replace(",", "-"), name) for name in names}
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        def session(name):
            return daemon.connect(token=made[name])

        client = session("infer")
        for message in ("STATS", "SESSIONS", "CONFIG", "KERNELS", "SHUTDOWN"):
            assert request_error(client, message, [5]) == "DENIED"
        assert request_error(client, "PROGRAM_DEFINE", [6, 1, "p", 0, 1], b"\x92\x02\x01" * 20000) == "DENIED"
        assert client.sync(7)[1] == CODES["OK"]
        assert client.report("DEVICES")
        client.put(1, F32, [1], b"abcd")
        client.send(frame("OPS", [2, 1], pack([2 * ADD, 1, 1])))
        assert request_error(client, "GET", [8, 2]) == "DENIED" and client.sync(9)[1] == CODES["DENIED"]
        client.close()
        client = session("compute")
        client.put(1, F32, [1], b"abcd")
        assert client.get(1)[2] == b"abcd" and client.report("STATS")
        assert request_error(client, "EXPORT", [5, "public/weights"], b"") == "DENIED"
        assert request_error(client, "UNEXPORT", [5, "public/weights"]) == "DENIED"
        client.send(frame("EXPORT", [0, "public/weights"], b"\x92\xa0\x01"))
        assert client.sync(6)[1] == CODES["DENIED"]
        for message in ("SESSIONS", "CONFIG", "SHUTDOWN"):
            assert request_error(client, message, [5]) == "DENIED"
        client.close()
        client = session("metrics")
        assert client.report("STATS") and client.report("SESSIONS")
        assert request_error(client, "GET", [9, 1]) == "DENIED"
        client.close()
        client = session("kernel,peer")
        for message in ("STATS", "SYNC", "DEVICES"):
            assert request_error(client, message, [5]) == "DENIED"
        client.send(frame("PING", [3]))
        assert client.expect("PONG")[0] == [3]
        client.close()
        assert refusals(daemon)["lacking_scope"] == 13
        client = session("admin")
        client.send(frame("SHUTDOWN", [4]))
        assert client.expect("DONE")[0] == [4]
        client.close()
        assert daemon.process.wait(10) == 0


def test_certificates_have_the_scopes_of_the_configuration(tmp_path):
    authority = Authority(tmp_path)
    alice = authority.issue("alice", "/O=Burn/CN=alice")
    with Daemon(f"--client-ca={authority.path()}", "--certificate-scopes=metrics", tls=True) as daemon:
        client = Wire(connect(daemon, certificate=alice))
        assert [row["principal"] for row in client.report("SESSIONS")] == ["cert:CN=alice,O=Burn"]
        assert request_error(client, "SYNC", [5]) == "DENIED"
        client.close()
        longest = authority.issue("long", "/CN=" + "/OU=".join("x" * 60 for _ in range(5)))
        assert refusal(connect(daemon, certificate=longest))[0] == "UNAUTHENTICATED"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_other_users_of_the_unix_socket():
    def as_user(daemon, user, group, more=()):
        """What a process of that user hears after HELLO."""
        program = (f"import os, socket, sys; sys.path.insert(0, {os.path.dirname(__file__)!r}); import wire; hello = wire.hello();"
                   f"os.setgroups({list(more)!r}); os.setgid({group}); os.setuid({user});"
                   f"s = socket.socket(socket.AF_UNIX); s.connect({daemon.path!r}); w = wire.Wire(s, greet=False);"
                   "w.send(wire.PREFACE + hello); w.exactly(16); print(*w.receive()[:2]);"
                   "w.send(wire.frame('SHUTDOWN', [8])); print(*w.receive()[:2])")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
        return done.stdout + done.stderr

    with Daemon("--allow-users=4711", "--allow-users=nobody", "--allow-groups=4712") as daemon:
        os.chmod(daemon.folder.name, 0o755)
        assert os.stat(daemon.path).st_mode & 0o777 == 0o666
        for user, group, more in ((4711, 1, ()), (65534, 65534, ()), (4800, 4712, ()), (4801, 1, (3, 4712))):
            said = as_user(daemon, user, group, more)
            assert said.startswith("WELCOME") and f"ERROR [8, {CODES['DENIED']}" in said, said
        said = as_user(daemon, 4802, 1, (3,))
        assert said.startswith(f"ERROR [0, {CODES['DENIED']}") and "uid 4802 is not let in" in said, said
        assert refusals(daemon)["foreign_user"] == 1
    with Daemon() as daemon:
        assert os.stat(daemon.path).st_mode & 0o777 == 0o660
        os.chmod(daemon.folder.name, 0o755)
        os.chmod(daemon.path, 0o666)
        assert "is not let in" in as_user(daemon, 4711, 1)
    done = subprocess.run([BURND, "--check-config", "--allow-users=no-such-user"], capture_output=True, text=True)
    assert done.returncode == 78 and 'no user "no-such-user"' in done.stderr


def test_plain_tcp_may_compute_and_not_rule():
    with Daemon(tcp=True) as daemon:
        client = Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())))
        assert client.sync()[1] == CODES["OK"] and client.report("SESSIONS")[0]["principal"] == "anonymous"
        assert request_error(client, "SHUTDOWN", [5]) == "DENIED"
        client.close()
        assert refusal(socket.create_connection(("127.0.0.1", daemon.tcp_port())), token="wrong")[0] == "UNAUTHENTICATED"


def test_hostile_token_files(tokens, tmp_path):
    tokens.add("a", "compute")
    check = [BURND, "--check-config", f"--state-dir={tmp_path}"]
    assert subprocess.run(check, capture_output=True).returncode == 0
    path = tmp_path / "tokens"
    for text, says in (("a b\n", "tokens: line 1: the line lacks"), ("\0" * 100, "line 1"), ("x" * (2 << 20), "more than 1048576")):
        path.write_text(text)
        done = subprocess.run(check, capture_output=True, text=True)
        assert done.returncode == 78 and says in done.stderr, done.stderr
    tokens.write()
    path.chmod(0o640)
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 78 and "its mode is 0640" in done.stderr and done.stderr.endswith(f"chmod 600 {path}\n")
    assert subprocess.run([BURND, "--listen=tls://127.0.0.1:0", f"--state-dir={tmp_path}"], capture_output=True, timeout=60).returncode == 1


def test_who_fails_often_waits(tokens, tmp_path):
    good = tokens.add("good", "compute")
    with Daemon(f"--state-dir={tmp_path}", tls=True) as daemon:
        daemon.certificate = lambda: f"{tmp_path}/certificate.pem"
        for _ in range(5):
            refusal(connect(daemon), token="wrong")
        begin = time.monotonic()
        for _ in range(3):
            refusal(connect(daemon), token="wrong")
        assert time.monotonic() - begin >= 0.25 + 0.5 + 1.0
        client = Wire(connect(daemon), token=good)  # others of that address are let in at once
        client.close()
        sock = connect(daemon)
        sock.sendall(PREFACE + hello(token="wrong"))
        assert eventually(lambda: refusals(daemon)["unknown_token"] == 9)
        sock.close()  # while it waits
        assert eventually(lambda: daemon.connect().report("STATS")["connections"]["open"] <= 2, 5)


def scrape_with(daemon, token):
    """Asks for the metrics over TLS; the socket, of which the answer is to be read."""
    sock = connect(daemon)
    sock.sendall(f"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
    return sock


def answer_of(sock):
    text = b""
    while got := sock.recv(1 << 16):
        text += got
    sock.close()
    return text


def ask_once(daemon):
    """A wrong token while none has to wait yet: the connection stays."""
    sock = scrape_with(daemon, "wrong")
    assert sock.recv(13) == b"HTTP/1.1 401 "
    sock.close()


def test_wrong_tokens_wait_at_every_door(tokens, tmp_path):
    """HELLO, RESUME and the header Authorization share one count of each address."""
    good = tokens.add("good", "compute,metrics")
    with Daemon(f"--state-dir={tmp_path}", tls=True) as daemon:
        daemon.certificate = lambda: f"{tmp_path}/certificate.pem"

        def by_resume():
            sock = connect(daemon)
            sock.sendall(PREFACE + frame("RESUME", [1, "wrong", "0" * 64, 0]))
            client = Wire(sock, greet=False)
            client.exactly(16)
            assert client.receive()[1][1] == CODES["UNAUTHENTICATED"] and client.closed()

        def by_http():
            sock = scrape_with(daemon, "wrong")
            sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")  # not a second try on this connection
            text = answer_of(sock)
            assert text.startswith(b"HTTP/1.1 401 ") and text.count(b"HTTP/1.1") == 1

        for one in (by_resume, lambda: ask_once(daemon), by_resume, lambda: refusal(connect(daemon), token="wrong"), by_resume):
            one()
        waits = []
        for one in (by_http, by_resume, by_http):
            begin = time.monotonic()
            one()
            waits.append(time.monotonic() - begin)
        assert waits[0] >= 0.25 and waits[1] >= 0.5 and waits[2] >= 1.0, waits
        sock = scrape_with(daemon, good)  # right ones of that address are answered at once, and often
        assert sock.recv(15) == b"HTTP/1.1 200 OK"
        sock.close()
        assert refusals(daemon)["unknown_token"] == 8
        sock = scrape_with(daemon, "wrong")
        assert eventually(lambda: refusals(daemon)["unknown_token"] == 9, 5)
        sock.close()  # while it waits
        assert eventually(lambda: daemon.connect().report("STATS")["connections"]["open"] <= 2, 5)


def mann_whitney(first, second):
    """How many standard deviations the rank sum of the first is away from what two equal distributions would give."""
    both = sorted((value, side) for side, values in enumerate((first, second)) for value in values)
    n, m, total, ties, at = len(first), len(second), 0.0, 0.0, 0
    while at < len(both):
        end = at
        while end < len(both) and both[end][0] == both[at][0]:
            end += 1
        rank = (at + 1 + end) / 2
        total += rank * sum(side == 0 for _, side in both[at:end])
        ties += (end - at) ** 3 - (end - at)
        at = end
    mean = n * (n + m + 1) / 2
    variance = n * m / 12 * ((n + m + 1) - ties / ((n + m) * (n + m - 1)))
    return (total - mean) / variance ** 0.5


def test_mann_whitney_is_the_textbooks():
    """Mann and Whitney 1947: U = 0 of two by two has z = -1.549; what is shifted shows, what is not does not."""
    assert mann_whitney([1, 2], [3, 4]) == pytest.approx((3 - 5) / (2 * 2 * 5 / 12) ** 0.5)
    draw = random.Random(1)
    plain = [draw.gauss(0, 1) for _ in range(4000)]
    assert abs(mann_whitney(plain[::2], plain[1::2])) < 3 < mann_whitney([x + 0.15 for x in plain[::2]], plain[1::2])


def test_a_wrong_first_byte_costs_as_long_as_a_wrong_last_one(tokens, tmp_path):
    """In an order drawn by lot. The long form, on a calm machine, compares the times; a short one proves nothing about them."""
    good = tokens.add("good", "compute")
    for number in range(20):
        tokens.add(f"more{number}", "compute")
    wrong = [good[:5] + ("A" if good[5] != "A" else "B") + good[6:], good[:-1] + ("A" if good[-1] != "A" else "B")]
    tries = 10_000 if LONG else 200
    order = [0, 1] * (tries // 2)
    random.Random(20).shuffle(order)
    with Daemon(f"--state-dir={tmp_path}") as daemon:  # a Unix socket has no address that could be delayed
        took = ([], [])
        opening = [PREFACE + hello(token=each) for each in wrong]
        for which in order:
            sock = daemon.socket()
            begin = time.perf_counter_ns()
            sock.sendall(opening[which])
            while sock.recv(4096):
                pass
            took[which].append(time.perf_counter_ns() - begin)
            sock.close()
        assert refusals(daemon)["unknown_token"] == tries
    first, last = (statistics.median(each) / 1000 for each in took)
    z = mann_whitney(*took)
    print(f"{tries} tries: median {first:.2f} us wrong in the first byte, {last:.2f} us in the last; Mann-Whitney z = {z:.2f}")
    assert not LONG or abs(z) < 3.9, (first, last, z)  # beyond it lies one run of ten thousand without any difference


def test_what_infer_may_do(tokens, tmp_path):
    """It calls programs by name, puts inputs and reads results, and nothing else; names of others are not there; what is
    public, only admin changes."""
    add, call = 2 * ADD, 2 * CALL
    signature = b"".join(pack(item) for item in ([2, 1, 0], [0, F32, [1]], [1, 1], [F32, [1]]))
    secret = tokens.add("caller", "infer"), tokens.add("worker", "compute,infer"), tokens.add("boss", "compute,admin")
    with Daemon(f"--state-dir={tmp_path}", tls=True) as daemon:
        daemon.certificate = lambda: f"{tmp_path}/certificate.pem"
        caller, worker, boss = (Wire(connect(daemon), token=each) for each in secret)
        for wire in (worker, boss):
            wire.put(1, F32, [1], struct.pack("<f", 40))
            wire.send(frame("PROGRAM_DEFINE", [1, 1, "add", 2, 3], pack([add, 2, 1])))
            wire.expect("DONE")
            wire.send(frame("EXPORT_PROGRAM", [2, "own", 1], signature))
            wire.expect("DONE")
        assert request_error(worker, "EXPORT_PROGRAM", [3, "public/add", 1], signature) == "DENIED"
        assert request_error(worker, "EXPORT", [3, "public/x"], pack(["", 1])) == "DENIED"
        boss.send(frame("EXPORT_PROGRAM", [3, "public/add", 1], signature))
        boss.expect("DONE")
        boss.send(frame("EXPORT", [3, "public/x"], pack(["", 1])))
        boss.expect("DONE")
        assert request_error(worker, "UNEXPORT", [4, "public/x"]) == "DENIED"
        worker.send(frame("IMPORT", [4, "public/x", 2, 1]))
        worker.expect("IMPORTED")
        caller.send(frame("IMPORT_PROGRAM", [1, "public/add", 1]))
        caller.expect("IMPORTED")
        caller.put(1, F32, [1], struct.pack("<f", 2))
        caller.send(frame("OPS", [2, 1], pack([call, [1], 1, 1])))
        assert caller.get(2)[2] == struct.pack("<f", 42)
        assert request_error(caller, "IMPORT_PROGRAM", [3, "own", 2]) == "NOT_FOUND"
        for name, where in (("own", " of token:caller; names of others are seen below public/ only"), ("public/own", "")):
            caller.send(frame("IMPORT_PROGRAM", [3, name, 2]))
            assert caller.expect("ERROR")[0][2] == f'there is no name "{name}"{where}'
        for name, fields, payload in (("IMPORT", [3, "public/x", 9, 1], b""), ("EXPORT", [3, "a"], pack(["", 1])),
                                      ("PROGRAM_DEFINE", [3, 2, "add", 2, 3], pack([add, 2, 1])),
                                      ("EXPORT_PROGRAM", [3, "a", 1], signature), ("UNEXPORT", [3, "public/x"], b"")):
            assert request_error(caller, name, fields, payload) == "DENIED"
        caller.send(frame("OPS", [3, 2], pack([add, 2, 1])))
        assert request_error(caller, "GET", [4, 3]) == "DENIED"
        denied = caller.sync()
        assert denied[1] == CODES["DENIED"] and "add: " in denied[2] and "need the scope compute" in denied[2]
        caller.send(frame("OPS", [4, 3], pack([call, [3], 1, 1])))
        assert caller.get(4)[2] == struct.pack("<f", 42)
        for wire in (caller, worker, boss):
            wire.close()


def minted(client, name="", scopes="", seconds=0, origins="", request=50):
    """The answer to TOKEN_MINT: the report, or the name of a code with its text."""
    client.send(frame("TOKEN_MINT", [request, name, scopes, seconds, origins]))
    answer, fields, payload = client.receive()
    while answer == "CREDIT":
        answer, fields, payload = client.receive()
    if answer == "ERROR":
        assert fields[0] == request
        return next(name for name, code in CODES.items() if code == fields[1]), fields[2]
    return json.loads(payload)


def test_minted_tokens(tokens, tmp_path):
    """They act for who minted them, with some of its rights, without a file write, and end with its token."""
    app = tokens.add("app", "infer,compute,mint")
    plain = tokens.add("plain", "infer,compute")
    soon = tokens.add("soon", "infer,compute,mint", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 100)))
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        before = (tmp_path / "tokens").read_bytes()
        backend = daemon.connect(token=app, features=["mint"])
        made = minted(backend, "visitor-1", "infer,compute", 60, "")
        assert made["scopes"] == "infer,compute" and made["name"] == "visitor-1" and made["token"].startswith("burn_")
        lives = calendar.timegm(time.strptime(made["expires"], "%Y-%m-%dT%H:%M:%SZ")) - time.time()
        assert 50 < lives <= 60
        page = daemon.connect(token=made["token"])
        backend.put(1, F32, [1], b"abcd")
        backend.send(frame("EXPORT", [2, "shared"], pack(["", 1])))
        backend.expect("DONE")
        page.send(frame("IMPORT", [3, "shared", 1, 1]))  # the same names
        page.expect("IMPORTED")
        assert page.get(1)[2] == b"abcd"
        rows = {row.get("minted"): row["principal"] for row in daemon.connect().report("SESSIONS")}
        assert rows["visitor-1"] == "token:app" and rows[None] is not None
        narrow = daemon.connect(token=minted(backend)["token"], features=["mint"])  # infer alone
        assert request_error(narrow, "EXPORT", [4, "x"], pack(["", 1])) == "DENIED"
        assert minted(narrow)[0] == "DENIED"
        assert minted(daemon.connect(token=plain, features=["mint"]))[0] == "DENIED"
        for scopes in ("admin", "mint", "peer", "metrics", "infer,kernel"):
            code, text = minted(backend, scopes=scopes)
            assert code == "DENIED" and "infer,compute" in text, (scopes, text)
        assert minted(backend, scopes="all")[0] == "INVALID"
        assert minted(backend, seconds=3601) == ("INVALID", "a minted token lives at most 3600 seconds")
        assert minted(backend, name="a b")[0] == "INVALID" and minted(backend, origins="nowhere")[0] == "INVALID"
        bound = minted(backend, origins="https://a.org")["token"]
        assert refusal(daemon.socket(), token=bound)[0] == "DENIED"
        short = minted(daemon.connect(token=soon, features=["mint"]), seconds=3600)  # no longer than its parent
        assert short["expires"] == tokens.lines["soon"].split()[3]
        old = daemon.connect(token=app)  # without the feature the message is none
        assert minted(old)[0] == "UNSUPPORTED"
        assert (tmp_path / "tokens").read_bytes() == before
        assert made["token"][5:] not in daemon.text()
        boss = daemon.connect()
        boss.send(frame("TOKEN_REVOKE", [6, "app"]))
        boss.expect("DONE")
        for ended in (backend, page, narrow):
            assert ended.expect("GOAWAY")[0][0] == CODES["UNAUTHENTICATED"]
            assert ended.expect("ERROR")[0][1:3] == [CODES["UNAUTHENTICATED"], "the token was revoked"] and ended.closed()
        for gone in (app, made["token"], bound):
            assert refusal(daemon.socket(), token=gone)[0] == "UNAUTHENTICATED"
        assert daemon.connect(token=short["token"]).report("DEVICES")
        assert refusals(daemon)["ended_token"] == 4


def test_a_reload_ends_and_narrows_minted_tokens(tokens, tmp_path):
    app = tokens.add("app", "infer,compute,metrics,mint")
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        backend = daemon.connect(token=app, features=["mint"])
        watcher = daemon.connect(token=minted(backend, scopes="metrics")["token"])
        worker = daemon.connect(token=minted(backend, scopes="infer,compute")["token"])
        tokens.lines["app"] = tokens.lines["app"].replace("infer,compute,metrics", "infer,compute")
        tokens.write()
        boss = daemon.connect()
        boss.send(frame("RELOAD", [1]))
        boss.expect("DONE")
        assert request_error(watcher, "SESSIONS", [7]) == "DENIED" and worker.sync()[1] == CODES["OK"]
        assert request_error(backend, "SESSIONS", [7]) == "DENIED"
        tokens.add("app", "infer,compute,mint")  # another secret: the old one and its tokens are gone
        boss.send(frame("RELOAD", [2]))
        boss.expect("DONE")
        for ended in (backend, watcher, worker):
            assert ended.expect("GOAWAY") and ended.expect("ERROR")[0][1] == CODES["UNAUTHENTICATED"] and ended.closed()


def test_sessions_end_when_their_token_expires(tokens, tmp_path):
    """Also while they say nothing, and while they wait to be resumed."""
    app = tokens.add("app", "infer,compute,mint")
    with Daemon(f"--state-dir={tmp_path}", "--resume-grace=1h", tls=True) as daemon:
        daemon.certificate = lambda: f"{tmp_path}/certificate.pem"
        backend = daemon.connect(token=app, features=["mint"])
        secret = minted(backend, scopes="compute", seconds=3)["token"]
        idle = daemon.connect(token=secret)
        lost = Wire(connect(daemon), greet=False)
        lost.send(PREFACE + hello(token=secret, features=["resume"]))
        lost.exactly(16)
        key = lost.expect("WELCOME")[0][11]
        assert len(key) == 64
        lost.close()
        assert idle.expect("GOAWAY")[0] == [CODES["UNAUTHENTICATED"], "the token has expired"]
        assert idle.expect("ERROR")[0][1] == CODES["UNAUTHENTICATED"] and idle.closed()
        watcher = daemon.connect()
        assert eventually(lambda: watcher.report("STATS")["sessions"]["open"] == 2, 20)
        assert watcher.report("STATS")["refusals"]["ended_token"] == 2
        again = connect(daemon)
        again.sendall(PREFACE + frame("RESUME", [1, secret, key, 0]))
        client = Wire(again, greet=False)
        client.exactly(16)
        assert client.receive()[1][1] == CODES["UNAUTHENTICATED"]
        assert backend.sync()[1] == CODES["OK"]
