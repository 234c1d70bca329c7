# SPDX-License-Identifier: Apache-2.0
"""Tokens that take another's place, tokens that have expired, and those that never do."""

import calendar
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))

from test_admin import BURNCTL, ctl
from test_identities import refusal, request_error, tokens  # noqa: F401
from wire import CODES, F32, Daemon, frame, pack


def rows(daemon, name):
    return [row for row in json.loads(ctl(daemon, "-o", "json", "token", "list")) if row["name"] == name]


def seconds_left(row):
    return calendar.timegm(time.strptime(row["expires"], "%Y-%m-%dT%H:%M:%SZ")) - time.time()


def names(client):
    client.send(frame("LIST_NAMES", [70, ""]))
    return [row["name"] for row in json.loads(client.expect("REPORT")[1])]


def test_a_token_is_rotated_without_a_gap(tmp_path):
    """Both tokens are the same identity, with its names; the old one ends when it is told to, and its session with it."""
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        def rotate(*flags):
            return json.loads(ctl(daemon, "-o", "json", "token", "rotate", "alice", *flags))

        old = json.loads(ctl(daemon, "-o", "json", "token", "create", "alice", "--scope=compute", "--expires=10d"))["token"]
        client = daemon.connect(token=old)
        client.put(1, F32, [1], b"abcd")
        client.send(frame("EXPORT", [5, "w"], pack(["", 1])))
        client.expect("DONE")
        made = rotate()
        assert made["name"] == "alice" and made["scopes"] == "compute" and 29 * 86400 < seconds_left(made) <= 30 * 86400
        first, second = rows(daemon, "alice")
        assert first["id"] != second["id"] and not first["expired"] and 86000 < seconds_left(first) <= 86400
        assert second["expires"] == made["expires"]
        new = daemon.connect(token=made["token"])
        assert names(new) == ["w"] and client.sync()[1] == CODES["OK"]
        daemon.connect(token=old).close()
        assert {row["principal"] for row in daemon.connect().report("SESSIONS")} == {"token:alice", f"uid:{os.getuid()}"}
        # one of them alone
        ctl(daemon, "token", "revoke", f"alice/{first['id']}")
        assert client.expect("GOAWAY") and client.closed() and refusal(daemon.socket(), token=old)[0] == "UNAUTHENTICATED"
        assert new.sync()[1] == CODES["OK"] and [row["id"] for row in rows(daemon, "alice")] == [second["id"]]
        assert "no token" in ctl(daemon, "token", "revoke", f"alice/{first['id']}", code=1)
        # one that ends by itself; the new one's life as it is wished
        latest = rotate("--grace=1s", "--expires=2h")
        assert 7000 < seconds_left(latest) <= 7200
        assert new.expect("GOAWAY")[0] == [CODES["UNAUTHENTICATED"], "the token has expired"] and new.closed()
        assert "expired" in refusal(daemon.socket(), token=made["token"])[1]
        last = daemon.connect(token=latest["token"])
        assert names(last) == ["w"] and [row["expired"] for row in rows(daemon, "alice")] == [True, False]
        # all of a name
        ctl(daemon, "token", "revoke", "alice")
        assert last.expect("GOAWAY") and last.closed() and rows(daemon, "alice") == []
        assert "no token" in ctl(daemon, "token", "rotate", "alice", code=1)
        for flags in (("--grace=never",), ("--grace=soon",), ("--expires=0d",)):
            ctl(daemon, "token", "rotate", "alice", *flags, code=2)


def test_what_a_rotation_prints(tmp_path):
    """The line that the token's user pastes, for a shell alone; beside it when the old one ends."""
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        old = json.loads(ctl(daemon, "-o", "json", "token", "create", "bob"))["token"]
        done = subprocess.run([BURNCTL, "--url", "unix://" + daemon.path, "token", "rotate", "bob", "--grace=1h", "--expires=2d"],
                              capture_output=True, text=True, timeout=60, check=True)
        secret = re.fullmatch(r"export BURN_TOKEN=(burn_[\w-]{43})\n", done.stdout)[1]
        before, after = rows(daemon, "bob")
        assert 3500 < seconds_left(before) <= 3600 and f"at {before['expires']};" in done.stderr and f"end: {after['expires']};" in done.stderr
        shown = subprocess.run(["bash", "-c", done.stdout + 'printf %s "$BURN_TOKEN"'], capture_output=True, text=True, timeout=60).stdout
        assert shown == secret != old and names(daemon.connect(token=shown)) == []
        told = json.loads(ctl(daemon, "-o", "json", "token", "rotate", "bob", "--grace=7d"))
        ends = [row["expires"] for row in rows(daemon, "bob")]  # the first one's end is not put off
        assert ends[0] == before["expires"] and told["others_end"] == ends[1] == after["expires"] and told["expires"] == ends[2]


def test_who_may_rotate(tokens, tmp_path):  # noqa: F811
    plain, page = tokens.add("plain", "compute"), tokens.add("page", "infer", origins="https://a.org")
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        client = daemon.connect(token=plain, features=["rotate"])
        assert request_error(client, "TOKEN_ROTATE", [5, "plain", 0, 60]) == "DENIED"
        assert request_error(daemon.connect(), "TOKEN_ROTATE", [5, "plain", 0, 60]) == "UNSUPPORTED"
        admin = daemon.connect(features=["rotate"])
        assert request_error(admin, "TOKEN_ROTATE", [5, "x" * 80, 0, 60]) == "INVALID"
        for seconds, grace in ((1 << 40, 60), (60, 1 << 40)):
            assert request_error(admin, "TOKEN_ROTATE", [5, "plain", seconds, grace]) == "INVALID"
        admin.send(frame("TOKEN_ROTATE", [6, "page", 0, 60]))
        made = json.loads(admin.expect("REPORT")[1])
        assert made["origins"] == "https://a.org" and made["scopes"] == "infer" and made["expires"] == "never"
        assert refusal(daemon.socket(), token=made["token"])[0] == "DENIED" and refusal(daemon.socket(), token=page)[0] == "DENIED"
        admin.close()
    with Daemon(f"--state-dir={tmp_path}") as daemon:  # the next daemon knows both, too
        assert [row["expires"] == "never" for row in rows(daemon, "page")] == [False, True]
        daemon.connect(token=plain).close()


def test_tokens_that_never_expire_and_those_that_have(tokens, tmp_path):  # noqa: F811
    tokens.add("gone", "compute", "2001-01-01T00:00:00Z")
    tokens.add("long-gone", "compute", "2000-01-01T00:00:00Z")
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        def create(*words):
            return subprocess.run([BURNCTL, "--url", "unix://" + daemon.path, "token", "create", *words], capture_output=True, text=True,
                                  timeout=60, check=True)

        said = create("for-ever")
        assert "this token never expires" in said.stderr and "--expires=90d" in said.stderr and "never" in said.stdout
        for life in ("never", "1h"):
            assert create(f"life-{life}", f"--expires={life}").stderr == ""
        assert "rotate" in ctl(daemon, "token", "create", "for-ever", code=1)
        assert json.loads(ctl(daemon, "-o", "json", "token", "rotate", "for-ever"))["expires"] == "never"
        shown = ctl(daemon, "token", "list").splitlines()
        column = shown[0].index("expired")
        assert [line[column:column + 3] for line in shown[1:] if "gone" in line] == ["yes", "yes"]
        pruned = ctl(daemon, "token", "prune")
        assert "gone/" in pruned and "long-gone/" in pruned and "for-ever" not in pruned
        left = [line.split()[0] for line in (tmp_path / "tokens").read_text().splitlines()[1:]]
        assert left == ["for-ever", "life-never", "life-1h", "for-ever"]
        assert ctl(daemon, "token", "prune") == "no expired tokens\n"
        ctl(daemon, "token", "prune", "x", code=2)
