# SPDX-License-Identifier: Apache-2.0
"""The state folder: one daemon at a time has it, also over a restart, and what is edited there by hand is kept."""

import json
import os
import signal
import socket
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from test_admin import ctl
from test_identities import Tokens, refusal, tokens  # noqa: F401
from wire import BURND, Daemon, Wire, eventually


def second(folder, *flags):
    """What a second daemon on the folder says; it ends by itself."""
    done = subprocess.run([BURND, f"--state-dir={folder}", f"--cache-dir={folder}/cache", *flags], capture_output=True,
                          text=True, timeout=300)
    return done.returncode, done.stderr


@pytest.mark.parametrize("tls", [True, False])
def test_two_daemons_do_not_share_a_folder(tokens, tmp_path, tls):  # noqa: F811
    """Of which the first one speaks TLS, or only has tokens."""
    secret = tokens.add("alice", "compute")
    with Daemon(f"--state-dir={tmp_path}", tls=tls) as daemon:
        said = f"the state folder {tmp_path} is in use by the burnd with the pid {daemon.process.pid} (host {socket.gethostname()[:64]})"
        code, text = second(tmp_path, f"--listen=unix://{tmp_path}/other.sock" if tls else "--listen=tls://127.0.0.1:0")
        assert code == 1 and said in text and "state_dir" in text and not (tmp_path / "other.sock").exists(), text
        # it was not disturbed, and looking is allowed
        daemon.connect(token=secret).close()
        ctl(daemon, "token", "revoke", "alice")
        ctl(daemon, "reload")
        assert refusal(daemon.socket(), token=secret)[0] == "UNAUTHENTICATED"
        assert "alice" not in (tmp_path / "tokens").read_text()
        assert subprocess.run([BURND, "--check-config", f"--state-dir={tmp_path}"], capture_output=True, timeout=60).returncode == 0


def test_a_daemon_that_uses_no_state_shares_it_with_none(tmp_path):
    """Daemons on Unix sockets alone need no folder, until one of them makes a token: then it is that one's."""
    with Daemon(f"--state-dir={tmp_path}/state") as other:
        with Daemon(f"--state-dir={tmp_path}/state") as one:
            assert not (tmp_path / "state").exists()
            secret = json.loads(ctl(one, "-o", "json", "token", "create", "a", "--expires=1h"))["token"]
            said = ctl(other, "token", "create", "b", "--expires=1h", code=1)
            assert f"in use by the burnd with the pid {one.process.pid}" in said
            assert refusal(other.socket(), token=secret)[0] == "UNAUTHENTICATED"
            assert "in use" in ctl(other, "reload", code=1)
            one.connect(token=secret).close()
        ctl(other, "reload")  # now it can have it
        other.connect(token=secret).close()


def test_a_restart_waits_for_the_daemon_before(tokens, tmp_path):  # noqa: F811
    secret = tokens.add("alice", "compute")
    first = Daemon(f"--state-dir={tmp_path}", tls=True)
    try:
        listen, log = tmp_path / "next.sock", open(tmp_path / "log", "w")
        after = subprocess.Popen([BURND, f"--state-dir={tmp_path}", f"--cache-dir={tmp_path}/cache", f"--listen=unix://{listen}"], stderr=log)
        try:
            assert eventually(lambda: "waiting for the burnd with the pid" in (tmp_path / "log").read_text(), 60)
            first.process.send_signal(signal.SIGKILL)  # also a daemon that is killed leaves it free
            first.process.wait()
            assert eventually(lambda: "engine open" in (tmp_path / "log").read_text() or after.poll() is not None, 60)
            sock = socket.socket(socket.AF_UNIX)
            sock.connect(str(listen))
            Wire(sock, token=secret).close()
            assert (tmp_path / "lock").read_text().split()[0] == str(after.pid)
        finally:
            after.terminate()
            assert after.wait(60) == 0
            log.close()
    finally:
        first.log.close()
        first.folder.cleanup()


def test_what_is_edited_by_hand_is_kept(tokens, tmp_path):  # noqa: F811
    """Also when the daemon writes the file before it was told to read it."""
    old = tokens.add("old", "compute")
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        client = daemon.connect(token=old)
        del tokens.lines["old"]
        by_hand = tokens.add("by-hand", "compute")
        made = json.loads(ctl(daemon, "-o", "json", "token", "create", "made", "--expires=1h"))["token"]
        assert [line.split()[0] for line in (tmp_path / "tokens").read_text().splitlines()[1:]] == ["by-hand", "made"]
        for secret in (by_hand, made):
            daemon.connect(token=secret).close()
        assert client.expect("GOAWAY") and client.closed()
        # a file that is wrong is said, never overwritten; whom it names is out in any case
        (tmp_path / "tokens").write_text("what\n")
        assert "tokens: line 1" in ctl(daemon, "token", "create", "more", "--expires=1h", code=1)
        client = daemon.connect(token=made)
        said = ctl(daemon, "token", "revoke", "made", code=1)
        assert "it is ended, but its line still stands" in said and "tokens: line 1" in said
        assert client.expect("GOAWAY") and client.closed() and refusal(daemon.socket(), token=made)[0] == "UNAUTHENTICATED"
        assert (tmp_path / "tokens").read_text() == "what\n"


def test_a_folder_that_was_removed_is_locked_anew(tmp_path):
    state = tmp_path / "state"
    with Daemon(f"--state-dir={state}", tls=True) as daemon:
        for path in state.iterdir():
            path.unlink()
        state.rmdir()
        ctl(daemon, "token", "create", "a", "--expires=1h")
        assert (state / "lock").read_text().split()[0] == str(daemon.process.pid)
        assert second(state, f"--listen=unix://{tmp_path}/x.sock")[0] == 1
