# SPDX-License-Identifier: Apache-2.0
"""Who or what is refused hears a typed error that says why, and counts in /metrics: without an identity, with a wrong one,
beyond its scopes, from a wrong page, after somebody else's tensor, over a quota; by every way in."""

import os
import socket
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from test_identities import refusal, request_error, tokens  # noqa: F401, a fixture
from test_metrics import scrape, values
from test_tls import connect
from websocket_wire import Socket, request
from wire import CODES, U8, Daemon, Wire, frame

GOOD, BAD = "https://good.example", "https://bad.example"
WAYS = ("unix", "tls", "ws", "wss")


def auth(reason):
    return 'burnd_auth_failures_total{reason="%s"}' % reason


class Counted:
    """Within it, exactly this metric grows by one of those that count refusals."""

    def __init__(self, daemon, metric):
        self.daemon, self.metric = daemon, metric

    def refusals(self):
        return {name: value for name, value in values(scrape(self.daemon)).items()
                if name.startswith(("burnd_auth_failures", "burnd_quota_refused", "burnd_connections_refused", "burnd_requests_total"))
                and 'code="OK"' not in name}

    def __enter__(self):
        self.before = self.refusals()

    def __exit__(self, *problem):
        if not problem[0]:
            now = self.refusals()
            assert {name: now[name] - self.before.get(name, 0) for name in now
                    if now[name] != self.before.get(name, 0)} == {self.metric: 1}


@pytest.mark.parametrize("way", WAYS)
def test_every_refusal(tokens, tmp_path, way):  # noqa: F811
    made = {name: tokens.add(name, scopes, origins=origins) for name, scopes, origins in (
        ("one", "compute", "-"), ("other", "compute", "-"), ("caller", "infer", "-"), ("page", "compute", GOOD))}
    flags = [f"--state-dir={tmp_path}", f"--origins={GOOD}", f"--origins={BAD}", "--quota=token:one:sessions=1", "--quota=token:one:memory=1KiB"]
    with Daemon(*flags, tls=True, tcp=True) as daemon:
        daemon.certificate = lambda: f"{tmp_path}/certificate.pem"

        def sock(origin=None):
            if way == "unix":
                return daemon.socket()
            plain = socket.create_connection(("127.0.0.1", daemon.tcp_port())) if way == "ws" else connect(
                daemon, protocols=("http/1.1",) if way == "wss" else ("burnd/1",))
            return plain if way == "tls" else Socket(plain, **({"Origin": origin} if origin else {}))

        def hears(metric, code, word, origin=None, **wishes):
            with Counted(daemon, metric):
                got, text = refusal(sock(origin), **wishes)
            assert got == code and word in text, (got, text)
            peer = "unix" if way == "unix" else "127.0.0.1"
            quoted = text[:40].replace('"', r'\"')
            assert f"closing session=0 peer={peer} code={code} reason=\"{quoted}" in daemon.text()

        if way in ("tls", "wss"):
            hears(auth("no_identity"), "UNAUTHENTICATED", "BURN_TOKEN")
        hears(auth("unknown_token"), "UNAUTHENTICATED", "not known", token=made["one"][:-1])
        hears(auth("wrong_origin"), "DENIED", f"is for pages of {GOOD}", token=made["page"])
        if way in ("ws", "wss"):
            hears(auth("wrong_origin"), "DENIED", f'not of "{BAD}"', origin=BAD, token=made["page"])
            Wire(sock(GOOD), token=made["page"]).close()
        one, other, caller = (Wire(sock(), token=made[name]) for name in ("one", "other", "caller"))
        assert f'peer={"unix" if way == "unix" else "127.0.0.1"} principal="token:caller"' in daemon.text()
        hears('burnd_quota_refused_total{quota="sessions"}', "LIMIT", "principal_sessions", token=made["one"])
        for client, name, fields in ((one, "SESSIONS", [5]), (one, "SHUTDOWN", [6]), (caller, "EXPORT", [7, "x"]),
                                     (caller, "PROGRAM_DEFINE", [8, 1, "p", 0, 1])):
            with Counted(daemon, auth("lacking_scope")):
                assert request_error(client, name, fields) == "DENIED"
        other.put(41, U8, [4], b"abcd")
        assert other.sync()[1] == CODES["OK"]
        for ident in (41, 42):  # another one's, and nobody's: the same answer
            with Counted(daemon, 'burnd_requests_total{type="GET",code="NOT_FOUND"}'):
                one.send(frame("GET", [9, ident]))
                answer = one.expect("ERROR")[0]
                assert answer[1] == CODES["NOT_FOUND"] and answer[2] == f"tensor {ident} is unknown or was freed"
        with Counted(daemon, 'burnd_quota_refused_total{quota="memory"}'):
            one.put(1, U8, [2000], bytes(2000))
            one.send(frame("PING", [1]))
            one.expect("PONG")
        fields = one.sync(10)
        assert fields[1] == CODES["LIMIT"] and "quota memory: 0 of 1024" in fields[2] and "principal_memory" in fields[2]
        assert other.get(41)[2] == b"abcd"  # nothing of that touched who is right
        for client in (one, other, caller):
            client.close()


@pytest.mark.parametrize("header, metric, status, logged", [
    ({"Origin": "https://stranger.example"}, 'burnd_connections_refused_total{reason="origin"}', b"403",
     'refused peer=127.0.0.1 status=403 origin="https://stranger.example" reason="pages of this origin may not connect'),
    ({"Host": "stranger.example"}, 'burnd_connections_refused_total{reason="host"}', b"403",
     "refused peer=127.0.0.1 status=403 origin=\"\" reason=\"this name is not one of the daemon's")])
def test_pages_that_nobody_listed(header, metric, status, logged):
    with Daemon(tcp=True) as daemon:
        with Counted(daemon, metric):
            sock = socket.create_connection(("127.0.0.1", daemon.tcp_port()))
            sock.sendall(request(**header))
            assert sock.recv(4096).startswith(b"HTTP/1.1 " + status)
            assert logged in daemon.text()
            sock.close()
