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


FILES = ("tokens", "node_key.pem", "certificate.pem", "private_key.pem")


def link_to(kind, path, tmp_path):
    """Puts a link that leads to no file where a file was."""
    path.unlink(missing_ok=True)
    path.symlink_to(path if kind == "loop" else tmp_path / "nowhere")


def restore(path, content):
    path.unlink()
    path.touch(0o600)
    path.write_bytes(content)


@pytest.mark.parametrize("kind, says", [("dangling", "a symbolic link to what is not there"), ("loop", "Too many levels of symbolic links")])
def test_a_link_to_nothing_is_no_missing_file(tokens, tmp_path, kind, says):  # noqa: F811
    """As a backup or a disk that is not mounted leaves them. A reload keeps what was, a start ends; nothing is written over the link."""
    secret = tokens.add("alice", "compute")
    with Daemon(f"--state-dir={tmp_path}", tls=True) as daemon:
        client = daemon.connect(token=secret)
        for name in FILES:
            path = tmp_path / name
            before = path.read_bytes()
            link_to(kind, path, tmp_path)
            said = ctl(daemon, "reload", code=1)
            assert f"{path}: " in said and (says in said or name == "private_key.pem"), said
            if name == "tokens":
                assert str(path) in ctl(daemon, "token", "create", "more", "--expires=1h", code=1)
            assert path.is_symlink()
            restore(path, before)
        daemon.connect(token=secret).close()  # nobody was thrown out
        assert client.sync()[1] == 0
        ctl(daemon, "reload")
        # a link to a file is that file, and a missing file is none
        (tmp_path / "tokens").rename(tmp_path / "elsewhere")
        (tmp_path / "tokens").symlink_to(tmp_path / "elsewhere")
        ctl(daemon, "reload")
        daemon.connect(token=secret).close()
        (tmp_path / "tokens").unlink()
        ctl(daemon, "reload")
        assert client.expect("GOAWAY") and refusal(daemon.socket(), token=secret)[0] == "UNAUTHENTICATED"
    for name in FILES:
        path = tmp_path / name
        before = path.read_bytes()
        link_to(kind, path, tmp_path)
        code, text = second(tmp_path, "--listen=tls://127.0.0.1:0")
        assert code == 1 and f"{path}: " in text and path.is_symlink(), text
        restore(path, before)


def test_a_state_folder_that_is_a_link_to_nothing(tokens, tmp_path):  # noqa: F811
    """A disk that is not mounted any more ends no token; nor does a folder that cannot be looked into."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    tokens.folder = real
    secret = tokens.add("alice", "compute")
    link.symlink_to(real)
    with Daemon(f"--state-dir={link}") as daemon:
        client = daemon.connect(token=secret)
        real.rename(tmp_path / "unmounted")
        said = ctl(daemon, "reload", code=1)
        assert f"{link}: a symbolic link to what is not there" in said, said
        assert client.sync()[1] == 0
        daemon.connect(token=secret).close()
        (tmp_path / "unmounted").rename(real)
        ctl(daemon, "reload")
        daemon.connect(token=secret).close()


@pytest.mark.parametrize("kind", ["dangling", "loop"])
def test_a_configuration_that_is_a_link_to_nothing(tmp_path, kind):
    """The files of --config and of keys; what a folder holds, tests/unit/server/test_config.c tries."""
    path, www = tmp_path / "burnd.conf", tmp_path / "www"
    path.write_text("threads = 1\n")
    with Daemon(f"--config={path}") as daemon:
        link_to(kind, path, tmp_path)
        assert f"{path}: " in ctl(daemon, "reload", code=1)
        path.unlink()
        path.write_text("threads = 1\nmax = 1\n")
        assert f"{path}:2: " in ctl(daemon, "reload", code=1)
    link_to(kind, www, tmp_path)
    assert second(tmp_path, f"--www={www}", f"--listen=unix://{tmp_path}/x.sock")[0] == 1


@pytest.mark.parametrize("kind", ["folder", "socket", "pipe"])
def test_what_is_no_file_is_called_what_it_is(tmp_path, kind):
    for name in ("tokens", "burnd.conf"):
        path = tmp_path / kind / name
        path.parent.mkdir(exist_ok=True)
        if kind == "folder":
            path.mkdir()
        elif kind == "pipe":
            os.mkfifo(path)
        else:
            sock = socket.socket(socket.AF_UNIX)
            sock.bind(str(path))
            sock.close()
        flag = f"--state-dir={path.parent}" if name == "tokens" else f"--config={path}"
        done = subprocess.run([BURND, "--check-config", flag], capture_output=True, text=True, timeout=60)
        assert done.returncode == 78 and done.stderr == f"burnd: {path}: a {kind}, not a file\n", done.stderr
