# SPDX-License-Identifier: Apache-2.0
"""Quotas of a principal, over all its sessions: each is reached, says what it is and what raises it, counts, leaves others
alone, and is free again when what was held is gone."""

import json
import os
import socket
import struct
import subprocess
import sys
import time

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from test_admin import ctl, hang_up
from test_identities import refusal, tokens  # noqa: F401, a fixture
from test_metrics import scrape, values
from test_server_ops import batch, record
from wire import BURND, CODES, F32, PREFACE, U8, Daemon, Wire, eventually, frame, hello

KINDS = ("sessions", "memory", "queue", "requests", "ops", "compile")


def quotas(daemon):
    watcher = daemon.connect()
    rows = {row["principal"]: row for row in watcher.report("STATS")["quotas"]}
    watcher.close()
    return rows


def refused(daemon, kind):
    return values(scrape(daemon))['burnd_quota_refused_total{quota="%s"}' % kind]


def says(text, kind, limit):
    assert f"quota {kind}: " in text and f" of {limit} " in text and f"principal_{kind} raises it" in text, text


def free_again(daemon, principal="token:one"):
    """Nothing of the principal is in use any more: it is not even known."""
    assert eventually(lambda: principal not in quotas(daemon), 10), quotas(daemon)


@pytest.fixture
def two(tokens, tmp_path):  # noqa: F811
    """A daemon with lines of the key quota for token:one, and the tokens of one and another principal."""
    secrets, running = (tokens.add("one", "compute,mint"), tokens.add("other", "compute")), []

    def start(*limits, **options):
        running.append(Daemon(f"--state-dir={tmp_path}", *(f"--quota=token:one:{limit}" for limit in limits), **options))
        return running[0], *secrets

    yield start
    for daemon in running:
        daemon.stop()


def test_sessions(two):
    daemon, one, other = two("sessions=2")
    clients = [daemon.connect(token=one) for _ in range(2)]
    code, text = refusal(daemon.socket(), token=one)
    assert code == "LIMIT"
    says(text, "sessions", 2)
    assert "2 of 2 sessions in use" in text and refused(daemon, "sessions") == 1
    assert quotas(daemon)["token:one"]["sessions"] == 2 and quotas(daemon)["token:one"]["sessions_max"] == 2
    others = [daemon.connect(token=other) for _ in range(3)]
    assert all(wire.sync()[1] == CODES["OK"] for wire in others + clients)
    clients[0].close()
    assert eventually(lambda: quotas(daemon)["token:one"]["sessions"] == 1, 5)
    again = daemon.connect(token=one)
    for wire in [again, clients[1], *others]:
        wire.close()
    free_again(daemon)


def test_a_lost_session_counts_until_its_grace_ends(two):
    daemon, one, _ = two("sessions=1", tcp=True)
    lost = Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())), token=one, features=["resume"])
    lost.close()
    watch = daemon.connect()
    assert eventually(lambda: "lost session" in daemon.text(), 5)
    assert refusal(daemon.socket(), token=one)[0] == "LIMIT"
    watch.close()


def test_memory(two):
    daemon, one, other = two("memory=1MiB")
    first, second, third = daemon.connect(token=one), daemon.connect(token=one), daemon.connect(token=other)
    first.put(1, U8, [700_000], bytes(700_000))
    assert first.sync()[1] == CODES["OK"]
    second.put(1, U8, [400_000], bytes(400_000))
    fields = second.sync()
    assert fields[1] == CODES["LIMIT"] and "700000 of 1048576" in fields[2] and "400000 more wanted" in fields[2]
    says(fields[2], "memory", 1 << 20)
    second.send(frame("GET", [2, 1]))
    assert second.expect("ERROR")[0][1] == CODES["LIMIT"]
    # what is published stays and counts, also without a session
    first.send(frame("EXPORT", [3, "kept"], b"\x92\xa0\x01"))
    first.expect("DONE")
    assert quotas(daemon)["token:one"]["memory"] == 700_000
    first.close()
    assert eventually(lambda: quotas(daemon)["token:one"]["sessions"] == 1, 5)
    assert quotas(daemon)["token:one"]["memory"] == 700_000
    second.put(2, U8, [400_000], bytes(400_000))
    assert second.sync(4)[1] == CODES["LIMIT"]
    # results of ops count as uploads do
    second.put(3, F32, [50_000], bytes(200_000))
    second.spend(batch(4, record("add", 1, 1)))
    assert second.sync(5)[1] == CODES["LIMIT"] and refused(daemon, "memory") >= 3
    third.put(1, U8, [2_000_000], bytes(2_000_000))
    assert third.sync()[1] == CODES["OK"]
    second.send(frame("UNEXPORT", [6, "kept"]))
    second.expect("DONE")
    second.put(5, U8, [700_000], bytes(700_000))
    assert second.sync(7)[1] == CODES["OK"]
    second.close()
    third.close()
    free_again(daemon)


def test_queue(two):
    daemon, one, other = two("queue=24MiB")
    socks = [daemon.socket() for _ in range(5)]
    credits = []
    for sock in socks:
        sock.sendall(PREFACE + hello(token=one))
        wire = Wire(sock, greet=False)
        wire.exactly(16)
        credits.append(wire.expect("WELCOME")[0][5])
    assert credits == [6 << 20, int(4.5 * (1 << 20)), 4 << 20, 4 << 20, 4 << 20]
    code, text = refusal(daemon.socket(), token=one)
    assert code == "LIMIT"
    says(text, "queue", 24 << 20)
    assert refused(daemon, "queue") == 1 and quotas(daemon)["token:one"]["queue"] == sum(credits)
    big = daemon.connect(token=other)
    big.put(1, U8, [9 << 20], bytes(9 << 20))
    assert big.sync()[1] == CODES["OK"]
    # all of a small window can be used again and again
    last = Wire(socks[4], greet=False)
    last.credit = credits[4]
    last.put(1, U8, [20 << 20], bytes(20 << 20))
    assert last.sync()[1] == CODES["OK"]
    for sock in socks:
        sock.close()
    big.close()
    free_again(daemon)


def test_requests(two):
    daemon, one, other = two("requests=3")
    first, second, third = daemon.connect(token=one), daemon.connect(token=one), daemon.connect(token=other)
    # syncs behind ops whose kernel must be compiled wait, while the loop goes on
    first.put(1, F32, [64, 64], bytes(64 * 64 * 4))
    first.spend(batch(2, record("matmul", 1, 1), record("exp", 1)))
    first.send(b"".join(frame("SYNC", [number]) for number in range(1, 10)))
    answers = [first.receive() for _ in range(9)]
    limits = [fields for name, fields, _ in answers if name == "ERROR"]
    assert 1 <= len(limits) <= 6 and all(fields[1] == CODES["LIMIT"] for fields in limits)
    says(limits[0][2], "requests", 3)
    assert refused(daemon, "requests") == len(limits)
    assert second.sync()[1] == third.sync()[1] == CODES["OK"]
    assert quotas(daemon)["token:one"]["requests"] == 0
    for wire in (first, second, third):
        wire.close()
    free_again(daemon)


def test_op_rate_makes_sessions_wait(two):
    daemon, one, other = two("ops=1000")
    first, second, third = daemon.connect(token=one), daemon.connect(token=one), daemon.connect(token=other)
    for wire in (first, second, third):
        wire.put(1, F32, [1], struct.pack("<f", 1))
        assert wire.sync()[1] == CODES["OK"]
    begin = time.monotonic()
    for wire in (first, second):
        wire.spend(batch(2, *[record("neg", 1) for _ in range(1500)]))
        wire.send(frame("SYNC", [2]))
    # others go on meanwhile
    third.spend(batch(2, *[record("neg", 1) for _ in range(5000)]))
    assert third.sync()[1] == CODES["OK"]
    for wire in (first, second):
        assert wire.expect("SYNCED")[0][1] == CODES["OK"]
    assert time.monotonic() - begin >= 1.5  # 3,000 ops: 1,000 are free, and a last turn may overdraw
    text = scrape(daemon)
    assert values(text)['burnd_quota_waits_total{quota="ops"}'] >= 1 and refused(daemon, "ops") == 0
    assert eventually(lambda: quotas(daemon)["token:one"]["ops"] == 0, 5)
    for wire in (first, second, third):
        wire.close()
    free_again(daemon)


def test_op_rate_refuses_who_waits_too_long(tokens, tmp_path):  # noqa: F811
    one, other = tokens.add("one", "compute"), tokens.add("other", "compute")
    with Daemon(f"--state-dir={tmp_path}", "--quota=token:one:ops=10", "--quota-wait=0") as daemon:
        client, third = daemon.connect(token=one), daemon.connect(token=other)
        client.put(1, F32, [1], struct.pack("<f", 1))
        client.spend(batch(2, *[record("neg", 1) for _ in range(1000)], record("free", [1])))
        fields = client.sync()
        assert fields[1] == CODES["LIMIT"] and "neg: quota ops: " in fields[2] and 5 <= fields[3] < 500
        says(fields[2], "ops", 10)
        # what came in time is there, what did not holds the error, and what was freed is gone
        assert client.get(2)[2] == struct.pack("<f", -1)
        client.send(frame("GET", [3, 1000]))
        assert client.expect("ERROR")[0][1] == CODES["LIMIT"]
        client.send(frame("GET", [4, 1001]))
        assert client.expect("ERROR")[0][1] == CODES["NOT_FOUND"]
        assert refused(daemon, "ops") >= 1
        assert eventually(lambda: quotas(daemon)["token:one"]["ops"] == 0, 10)
        client.spend(batch(1002, record("neg", 1000), first_op=1002))
        assert client.get(1002, 5)[2] == struct.pack("<f", 1)
        third.put(1, F32, [1], struct.pack("<f", 1))
        third.spend(batch(2, *[record("neg", 1) for _ in range(1000)]))
        assert third.sync()[1] == CODES["OK"]
        client.close()
        third.close()
        free_again(daemon)


UNARY = ("exp", "sin", "cos", "tanh", "sqrt", "log", "erf", "sigmoid", "relu", "abs")


def kernels(wire, at, op):
    """Twenty kernels that nobody has had before, each by a trace of its own."""
    ident = at
    for i, a in enumerate(UNARY):
        for b in UNARY[:2]:
            wire.spend(batch(ident, record(a, ident - 1), record(b, ident), record("neg", ident + 1), record("mark"), first_op=op))
            ident, op = ident + 3, op + 4
    return ident


def test_compile_time(tokens, tmp_path):  # noqa: F811
    one, other = tokens.add("one", "compute"), tokens.add("other", "compute")
    with Daemon(f"--state-dir={tmp_path}", "--quota=token:one:compile=20ms", "--quota-wait=300ms", "--cache-dir=none") as daemon:
        client, third = daemon.connect(token=one), daemon.connect(token=other)
        for wire in (client, third):
            wire.put(1, F32, [8], struct.pack("<8f", *range(1, 9)))
        ident = kernels(client, 2, 1)
        fields = client.sync()
        assert fields[1] == CODES["LIMIT"], fields
        says(fields[2], "compile", 20)
        assert refused(daemon, "compile") >= 1 and values(scrape(daemon))['burnd_quota_waits_total{quota="compile"}'] >= 1
        assert quotas(daemon)["token:one"]["compile"] >= 1
        # another one has the same kernels made, and then they are there for all
        last = kernels(third, 2, 1)
        assert third.sync()[1] == CODES["OK"]
        client.put(ident, F32, [8], struct.pack("<8f", *range(1, 9)))
        kernels(client, ident + 1, 1000)
        assert client.sync(2)[1] == CODES["OK"]
        assert client.get(ident + last - 2, 3)[2] == third.get(last - 1, 3)[2]
        client.close()
        third.close()


@pytest.fixture
def spent(tokens, tmp_path):  # noqa: F811
    """A daemon of two principals whose time to compile is spent for minutes, and what sets their quotas anew."""
    one, other = tokens.add("one", "compute"), tokens.add("other", "compute")
    config = tmp_path / "burnd.conf"

    def write(limits, wait):
        quota = " ".join(f"token:{name}:compile={limit}" for name, limit in limits.items())
        config.write_text(f"state_dir = {tmp_path}\ncache_dir = none\nquota_wait = {wait}\nquota = {quota}\n")

    write({"one": "1ms", "other": "2ms"}, "10min")
    with Daemon(f"--config={config}") as daemon:

        def begin(token, function):
            wire = daemon.connect(token=token)
            wire.put(1, F32, [8], struct.pack("<8f", *range(1, 9)))
            wire.spend(batch(2, record(function, 1), record("log", 1), record("free", [2])))  # more than all the time
            assert wire.sync()[1] == CODES["OK"]
            return wire

        def again(limits, wait):
            write(limits, wait)
            hang_up(daemon, "reloaded")

        wires = begin(one, "sin"), begin(other, "cos")
        yield daemon, wires, again
        for wire in wires:
            wire.close()


def want(daemon, wire, waits):
    """Asks for a kernel that nobody has had, and waits until that is held back."""
    wire.spend(batch(4, record("sqrt", 3), record("exp", 1), record("free", [2]), first_op=4))
    wire.send(frame("SYNC", [2]))
    assert eventually(lambda: waited(daemon) == waits, 30), waited(daemon)


def waited(daemon):
    return values(scrape(daemon))['burnd_quota_waits_total{quota="compile"}']


def test_who_has_time_to_compile_makes_what_another_waits_for(spent):
    daemon, (one, other), again = spent
    want(daemon, one, 1)
    third = daemon.connect()  # without a limit; the same trace
    third.put(1, F32, [8], struct.pack("<8f", *range(1, 9)))
    third.spend(batch(4, record("sqrt", 3), record("exp", 1), record("free", [2])))
    assert third.sync()[1] == CODES["OK"]
    assert one.expect("SYNCED")[0][1] == CODES["OK"]
    assert one.get(5, 3)[2] == third.get(5, 3)[2]
    assert waited(daemon) == 1 and refused(daemon, "compile") == 0
    third.close()


def test_who_gets_time_to_compile_only_later_makes_it(spent):
    daemon, (one, other), again = spent
    want(daemon, one, 1)
    want(daemon, other, 2)
    again({"one": "1ms", "other": "0"}, "10min")
    assert other.expect("SYNCED")[0][1] == one.expect("SYNCED")[0][1] == CODES["OK"]
    assert one.get(5, 3)[2] == other.get(5, 3)[2]
    assert waited(daemon) == 2 and refused(daemon, "compile") == 0


def test_each_hears_of_its_own_time_to_compile(spent):
    daemon, (one, other), again = spent
    want(daemon, one, 1)
    want(daemon, other, 2)
    again({"one": "1ms", "other": "2ms"}, "0")
    for wire, limit in ((one, 1), (other, 2)):
        fields = wire.expect("SYNCED")[0]
        assert fields[1] == CODES["LIMIT"], fields
        says(fields[2], "compile", limit)
    assert refused(daemon, "compile") == 2
    again({"one": "0", "other": "2ms"}, "10min")  # what was refused is made when it is wanted again
    one.spend(batch(6, record("sqrt", 5), record("exp", 1), record("free", [2]), first_op=7))
    assert one.sync(5)[1] == CODES["OK"]


def test_minted_tokens_count_as_their_parent(two):
    daemon, one, _ = two("sessions=2")
    parent = daemon.connect(token=one, features=["mint"])
    parent.send(frame("TOKEN_MINT", [1, "", "compute", 60, ""]))
    page = json.loads(parent.expect("REPORT")[1])["token"]
    child = daemon.connect(token=page)
    code, text = refusal(daemon.socket(), token=page)
    assert code == "LIMIT"
    says(text, "sessions", 2)
    assert quotas(daemon)["token:one"]["sessions"] == 2
    parent.close()
    child.close()
    free_again(daemon)


def test_operators_see_and_change_them(tokens, tmp_path):  # noqa: F811
    one, other = tokens.add("one", "compute"), tokens.add("other", "compute")
    config = tmp_path / "burnd.conf"
    config.write_text(f"state_dir = {tmp_path}\nquota = token:one:sessions=1\nprincipal_memory = 1GiB\n")
    with Daemon(f"--config={config}") as daemon:
        client = daemon.connect(token=one)
        rows = {row["principal"]: row for row in json.loads(ctl(daemon, "-o", "json", "quotas"))}
        row = rows["token:one"]
        assert [row[kind] for kind in KINDS] == [1, 0, 16 << 20, 0, 0, 0]
        assert [row[kind + "_max"] for kind in KINDS] == [1, 1 << 30, 16 << 30, 65536, 0, 120_000]
        assert rows[f"uid:{os.getuid()}"]["sessions_max"] == 1024
        assert "sessions_max" in ctl(daemon, "quotas").splitlines()[0]
        # who may not see the sessions sees his own
        assert [row["principal"] for row in client.report("STATS")["quotas"]] == ["token:one"]
        assert refusal(daemon.socket(), token=one)[0] == "LIMIT"
        config.write_text(f"state_dir = {tmp_path}\nquota = token:one:sessions=2 token:other:sessions=0\n")
        hang_up(daemon, "reloaded")
        second = daemon.connect(token=one)
        assert quotas(daemon)["token:one"]["sessions_max"] == 2 and quotas(daemon)["token:one"]["memory_max"] == 0
        assert refusal(daemon.socket(), token=one)[0] == "LIMIT"
        free = daemon.connect(token=other)
        assert quotas(daemon)["token:other"]["sessions_max"] == 0
        for wire in (client, second, free):
            wire.close()


@pytest.mark.parametrize("line, text", [
    ("ci:sessions=2", "is not like token:NAME:memory=4GiB"), ("token:memory=4GiB", "is not like"), ("uid:me:ops=2", "is not like"), ("anonymous:a:ops=2", "is not like"),
    ("token:ci", "is not like"), ("token:ci:sessions", "is not like"),
    ("token:ci:beer=2", 'there is no quota "beer"; there are sessions'), ("token:ci:memory=2Gb", "has no known unit"),
    ("uid:0:sessions=-1", "is not a number"), ("uid:0:queue=4194303", "4194303 bytes of credit let no session in: one has 4194304 at least"), ("cert:CN=a%20b,O=c:compile=2", "has no unit; 2min would be right")])
def test_wrong_lines(line, text):
    done = subprocess.run([BURND, "--check-config", f"--quota={line}"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 78 and text in done.stderr, done.stderr
    assert subprocess.run([BURND, "--check-config", "--quota=cert:CN=a%20b,O=c:memory=1GiB"], timeout=20).returncode == 0


@pytest.mark.parametrize("value", ["1", "4194303", "4MiB", "0"])
def test_credit_for_nobody_is_no_limit(value):
    done = subprocess.run([BURND, "--check-config", f"--principal-queue={value}"], capture_output=True, text=True, timeout=20)
    assert (done.returncode == 0) == (value in ("4MiB", "0")), done.stderr
    assert done.returncode == 0 or f"{value} bytes of credit let no session in" in done.stderr and "4MiB would be right" in done.stderr


def test_a_budget_is_not_new_for_who_comes_back():
    """Ops that were spent stay spent when the last session of the principal ends, whoever comes in between."""
    with Daemon("--principal-ops=1000", tcp=True) as daemon:
        client = daemon.connect()
        client.put(1, F32, [1], struct.pack("<f", 1))
        client.send(batch(2, *[record("add", 1, 1.0)] * 3000))
        assert client.sync(1)[1] == CODES["OK"]
        client.close()
        other = Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())))  # of another principal
        assert other.sync()[1] == CODES["OK"]
        client = daemon.connect()
        row = quotas(daemon)[f"uid:{os.getuid()}"]
        assert row["ops"] > 300, row
        for one in (client, other):
            one.close()


@pytest.mark.parametrize("limit, kind", [(limit, kind) for limit in "01" for kind in KINDS if kind != "queue"])
def test_the_smallest_limits(kind, limit):
    """0 is none. With 1 each request ends, the refused ones by an error that names the quota, and the session goes on."""
    refusals = []

    def hear(name, fields):
        code, text = fields[1:3] if name in ("ERROR", "SYNCED") else (CODES["OK"], "")
        assert code in (CODES["OK"], CODES["LIMIT"]), (name, fields)
        if code:
            refusals.append(text)

    def ask(wire, data, *answers):
        wire.send(data)
        for _ in answers:
            while (got := wire.receive()[:2])[0] == "CREDIT":
                pass
            assert got[0] in (*answers, "ERROR"), got
            hear(*got)

    with Daemon(f"--principal-{kind}={limit}{'ms' if kind == 'compile' and limit == '1' else ''}", "--quota-wait=0", "--cache-dir=none") as daemon:
        wire = Wire(daemon.socket(), greet=False)
        wire.send(PREFACE + hello())
        wire.exactly(16)
        greeting = wire.receive()[:2]
        hear(*greeting)
        if greeting[0] == "WELCOME":
            ask(wire, frame("PUT_BEGIN", [1, F32, [2]], struct.pack("<2f", 1, 2)) + frame("SYNC", [1]), "SYNCED")
            syncs = b"".join(frame("SYNC", [number]) for number in range(10, 60))
            ask(wire, batch(2, *(record(name, 1) for name in UNARY)) + frame("GET", [3, 5]) + syncs, "DATA", *["SYNCED"] * 50)
            ask(wire, batch(12, record("neg", 1), record("erf", 1), first_op=11) + frame("GET", [5, 13]) + frame("SYNC", [8]),
                "DATA", "SYNCED")
            ask(wire, frame("EXPORT", [6, "a"], b"\x92\xa0\x01"), "DONE")
            ask(wire, frame("PROGRAM_DEFINE", [7, 1, "twice", 1, 2], record("add", 1, 1)), "DONE")
            other = Wire(daemon.socket(), greet=False)
            other.send(PREFACE + hello())
            other.exactly(16)
            hear(*other.receive()[:2])
            other.close()
            assert wire.sync(90)[1] == CODES["OK"]
        wire.close()
    assert bool(refusals) == (limit == "1"), refusals
    assert all(f"quota {kind}: " in text and f" of {limit} " in text and f"principal_{kind} raises it" in text for text in refusals), refusals
