# SPDX-License-Identifier: Apache-2.0
"""Operators see the sessions that wait to be resumed, and end a session: burnctl sessions, burnctl close, CLOSE_SESSION."""

import json
import os
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))

import pytest

from test_admin import ctl
from test_identities import Tokens
from test_resume import resume
from test_tls import connect
from wire import CODES, F32, PREFACE, Daemon, Wire, eventually, frame, hello

FEATURES = ["resume", "close_session"]


def resuming(sock, token=""):
    client = Wire(sock, greet=False)
    client.send(PREFACE + hello(features=FEATURES, token=token))
    client.exactly(16)
    name, fields, _ = client.receive()
    assert name == "WELCOME" and set(FEATURES) <= set(fields[10])
    client.session = fields[0]
    return client, fields[11]


def rows(daemon):
    return {row["session"]: row for row in json.loads(ctl(daemon, "-o", "json", "sessions"))}


@pytest.mark.parametrize("transport", ["tcp", "tls"])
def test_an_upload_that_was_left_is_seen_and_ended(tmp_path, transport):
    token = Tokens(tmp_path).add("page", "compute")
    with Daemon(f"--state-dir={tmp_path}", "--resume-grace=1h", tcp=True, tls=True) as daemon:
        daemon.certificate = lambda: f"{tmp_path}/certificate.pem"
        sock = connect(daemon) if transport == "tls" else socket.create_connection(("127.0.0.1", daemon.tcp_port()))
        client, key = resuming(sock, token)
        client.send(frame("PUT_BEGIN", [1, F32, [1 << 20]]) + frame("PUT_DATA", [1, 0], bytes(1 << 20)))
        assert eventually(lambda: rows(daemon)[client.session].get("uploads") == 1, 60)
        before = rows(daemon)[client.session]
        assert before["state"] == "connected" and "seconds_left" not in before and before["transport"] == transport
        client.close()
        assert eventually(lambda: rows(daemon)[client.session]["state"] == "waiting", 60)
        left = rows(daemon)[client.session]
        assert 3000 < left["seconds_left"] <= 3600 and left["transport"] == transport
        assert (left["uploads"], left["device_bytes"], left["principal"]) == (1, 4 << 20, "token:page")
        table = ctl(daemon, "sessions")
        assert "state" in table and "seconds_left" in table and "waiting" in table
        assert ctl(daemon, "close", str(client.session)) == ""
        assert client.session not in rows(daemon)
        assert f"session {client.session} is unknown" in ctl(daemon, "close", str(client.session), code=1)
        late = resume(daemon, key, 0, token)
        assert late.expect("ERROR")[0][1] == CODES["NOT_FOUND"]
        late.close()
        other = daemon.connect()
        assert eventually(lambda: other.report("STATS")["memory"]["device_bytes"] == 0, 60)
        other.close()


def test_who_is_connected_hears_why():
    with Daemon(tcp=True) as daemon:
        client = daemon.connect()
        client.put(1, F32, [1], bytes(4))
        assert client.sync()[1] == 0
        assert ctl(daemon, "close", str(client.session)) == ""
        code, text = client.expect("GOAWAY")[0]
        assert code == CODES["CANCELLED"] and text == "the session was closed from another one"
        assert client.expect("ERROR")[0][:3] == [0, CODES["CANCELLED"], text] and client.closed()
        client.close()
        # A client library, which could be resumed, does not come back.
        program = "import burn, sys\nx = burn.ones(3)\nprint(x.sum().item(), flush=True)\n" \
                  "sys.stdin.readline()\ntry:\n    print((x + 1).sum().item())\nexcept burn.CancelledError as error:\n    print(error)\n"
        with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ, BURN_URL=f"tcp://127.0.0.1:{daemon.tcp_port()}?insecure")) as python:
            assert python.stdout.readline() == "3.0\n"
            number = next(number for number, row in rows(daemon).items() if row["principal"] == "anonymous")
            closer = f"import burn\nburn.close_session({number})\nfor wrong in ({number}, burn._core.welcome()['session'], -1, 1 << 60):\n" \
                     "    try:\n        burn.close_session(wrong)\n    except (burn.Error, OverflowError) as error:\n        print(type(error).__name__)\n"
            done = subprocess.run([sys.executable, "-c", closer], capture_output=True, text=True, timeout=120,
                                  env=dict(os.environ, BURN_URL="unix://" + daemon.path))
            assert done.stdout.split() == ["NotFoundError", "InvalidError", "OverflowError", "InvalidError"], done
            said = python.communicate("\n", timeout=120)[0]
            assert "the session was closed from another one" in said, said
        assert "resumed session" not in daemon.text()


def test_whose_session(tmp_path):
    tokens = Tokens(tmp_path)
    mine, theirs, admin = tokens.add("mine", "infer"), tokens.add("theirs", "compute"), tokens.add("admin", "admin")
    with Daemon(f"--state-dir={tmp_path}", tls=True, tcp=True) as daemon:
        daemon.certificate = lambda: f"{tmp_path}/certificate.pem"
        for token, may in ((theirs, False), (mine, True), (admin, True)):
            client = Wire(connect(daemon), token=mine)
            other = Wire(connect(daemon), token=token, features=["close_session"])
            for number, answer in ((12345, "NOT_FOUND"), (other.session, "INVALID"), (client.session, None if may else "NOT_FOUND")):
                other.send(frame("CLOSE_SESSION", [1, number]))
                fields = other.expect("ERROR" if answer else "DONE")[0]
                assert fields[0] == 1 and (not answer or fields[1] == CODES[answer]), fields
            if may:
                client.expect("GOAWAY")
                assert client.expect("ERROR")[0][1] == CODES["CANCELLED"]
            else:
                assert client.sync()[1] == 0
            client.close()
            other.close()
        anonymous = [Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())), features=["close_session"]) for _ in range(2)]
        anonymous[0].send(frame("CLOSE_SESSION", [1, anonymous[1].session]))
        assert anonymous[0].expect("ERROR")[0][1] == CODES["NOT_FOUND"]
        plain = daemon.connect()
        plain.send(frame("CLOSE_SESSION", [1, anonymous[1].session]))
        assert plain.expect("ERROR")[0][1] == CODES["UNSUPPORTED"] and plain.sync()[1] == 0
        for one in (*anonymous, plain):
            one.close()


@pytest.mark.parametrize("words", [("close",), ("close", ""), ("cancel", ""), ("close", "x"), ("close", "1", "2"), ("close", "-1")])
def test_what_is_no_session(words):
    with Daemon() as daemon:
        assert ctl(daemon, *words, code=2).startswith("burnctl: ")
