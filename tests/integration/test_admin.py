# SPDX-License-Identifier: Apache-2.0
"""What operators do while burnd runs: tokens, invitations, reload by signal and by message, drain."""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))

from authority import Authority, openssl
from test_identities import Tokens, refusal
from test_tls import connect
from wire import BURND, CODES, ROOT, TYPES, Daemon, Wire, eventually, frame

BURNCTL = str(ROOT / "build/release/bin/burnctl")


def ctl(daemon, *words, code=0):
    done = subprocess.run([BURNCTL, "--url", "unix://" + daemon.path, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, (words, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def shell(command, **settings):
    return subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120,
                          env={**{k: v for k, v in os.environ.items() if not k.startswith("BURN_")}, **settings})


def test_an_operator_invites_a_colleague():
    with Daemon(tls=True) as daemon:
        line = ctl(daemon, "invite")
        assert re.fullmatch(r"export BURN_URL='tls://127\.0\.0\.1:\d+\?pin=sha256:[0-9a-f]{64}' BURN_TOKEN=burn_[\w-]{43}\n", line)
        program = f"{sys.executable} -c 'import burn; print(burn.ones(3).sum().item())'"
        assert shell(line + program).stdout == "3.0\n"
        other = ctl(daemon, "invite", "bob", "--host=localhost", "--scope=metrics", "--expires=never")
        assert "tls://localhost:" in other
        said = shell(other + f"{BURNCTL} stats >/dev/null && {BURNCTL} sessions && {BURNCTL} shutdown")
        assert "token:bob" in said.stdout and said.returncode == 1 and "token:bob has metrics" in said.stderr, said
        rows = json.loads(ctl(daemon, "-o", "json", "token", "list"))
        assert [row["scopes"] for row in rows] == ["infer,compute", "metrics"] and rows[1]["expires"] == "never"
        secret = line.split("BURN_TOKEN=")[1].strip()
        assert secret not in ctl(daemon, "token", "list") and secret not in daemon.text()
        state = daemon.folder.name + "/state/burnd/tokens"
        assert os.stat(state).st_mode & 0o777 == 0o600 and secret not in open(state).read()
        ctl(daemon, "token", "revoke", rows[0]["name"])
        assert shell(line + program).returncode == 1
    with Daemon() as daemon:
        assert "has no tls:// listener" in ctl(daemon, "invite", code=1)


def test_tokens_outlive_the_daemon_and_revoking_ends_sessions(tmp_path):
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        secret = json.loads(ctl(daemon, "-o", "json", "token", "create", "ci", "--scope", "compute", "--expires", "12h"))["token"]
        for words, says in ((("create", "ci"), "already"), (("create", "a/b"), "a token's name"), (("revoke", "none"), "no token"),
                            (("create", "x", "--scope=root"), "no scope"), (("create", "x", "--scope=,"), "needs a scope"), (("create", "x", "--origin=a.org"), "an origin is")):
            assert says in ctl(daemon, "token", *words, code=1), words
        for words in (("token",), ("token", "make"), ("token", "create"), ("token", "create", "x", "--expires=soon"),
                      ("token", "list", "x"), ("ping", "x"), ("invite", "a", "b")):
            ctl(daemon, *words, code=2)
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        client, other = daemon.connect(token=secret), daemon.connect()
        assert client.sync()[1] == CODES["OK"]
        ctl(daemon, "token", "revoke", "ci")
        client.expect("GOAWAY")
        fields = client.expect("ERROR")[0]
        assert fields[:2] == [0, CODES["UNAUTHENTICATED"]] and "revoked" in fields[2] and client.closed()
        assert refusal(daemon.socket(), token=secret)[0] == "UNAUTHENTICATED"
        assert other.sync()[1] == CODES["OK"]
        other.close()


def hang_up(daemon, says):
    count = daemon.text().count(says)
    daemon.process.send_signal(signal.SIGHUP)
    assert eventually(lambda: daemon.text().count(says) > count, 10), daemon.text()


def served(daemon, trusted):
    context = ssl.create_default_context(cafile=trusted)
    with socket.create_connection(("127.0.0.1", daemon.tls_port()), timeout=10) as plain:
        with context.wrap_socket(plain, server_hostname="localhost") as sock:
            return dict(pair[0] for pair in sock.getpeercert()["subject"])["commonName"]


def test_reload(tmp_path):
    authority = Authority(tmp_path)
    first, second = (authority.issue(name, f"/CN={name}", hosts="DNS:localhost") for name in ("first", "second"))
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    tokens = Tokens(state)
    good = tokens.add("good", "compute")
    config = tmp_path / "burnd.conf"

    def configure(pair, *lines):
        config.write_text("\n".join((f"certificate = {pair[0]}", f"private_key = {pair[1]}", f"state_dir = {state}", *lines)) + "\n")

    configure(first)
    with Daemon(f"--config={config}", "--threads=1", tls=True) as daemon:
        daemon.certificate = authority.path
        assert served(daemon, authority.path()) == "first"
        client = Wire(connect(daemon), token=good)
        assert client.sync()[1] == CODES["OK"]
        # a new certificate, a token more, a key changed; what lives goes on
        added = tokens.add("added", "metrics")
        configure(second, "idle_timeout = 7s", "memory = 1GiB")
        hang_up(daemon, "reloaded tokens=2")
        assert served(daemon, authority.path()) == "second"
        assert client.sync(2)[1] == CODES["OK"]
        Wire(connect(daemon), token=added).close()
        local = daemon.connect()
        now = local.report("CONFIG")
        assert now["idle_timeout"] == "7s" and now["memory"] == "0" and now["threads"] == "1"
        assert "key=memory has changed and needs a restart" in daemon.text() and "key=listen" not in daemon.text()
        assert ctl(daemon, "reload") == "reloaded; changed, but needs a restart: memory\n"
        assert json.loads(ctl(daemon, "-o", "json", "reload")) == {"reloaded": True, "needs_restart": "memory"}
        assert local.report("STATS")["needs_restart"] == "memory"
        # wrong ones change nothing
        for break_it, says in ((lambda: configure(second, "idle_timeout = soon"), "idle_timeout"),
                               (lambda: configure((second[0], first[1])), "private_key"),
                               (lambda: configure(("/nowhere", first[1])), "No such file"),
                               (lambda: (state / "tokens").write_text("what\n"), "tokens: line 1")):
            configure(second, "idle_timeout = 7s")
            tokens.write()
            break_it()
            hang_up(daemon, "reload failed, all stays as it was")
            assert says in daemon.text().splitlines()[-1]
            local.send(frame("RELOAD", [5]))
            fields = local.expect("ERROR")[0]
            assert fields[0] == 5 and says in fields[2]
            assert says in ctl(daemon, "reload", code=1)
            check = subprocess.run([daemon.process.args[0], "--check-config", str(config), "--listen=tls://127.0.0.1:0"], capture_output=True, text=True)
            assert check.returncode == 78 and says in check.stderr
            assert served(daemon, authority.path()) == "second" and local.report("CONFIG")["idle_timeout"] == "7s"
            Wire(connect(daemon), token=good).close()
        # a token less: its session ends; others have the scopes of the file
        configure(second)
        del tokens.lines["good"]
        tokens.write()
        assert ctl(daemon, "reload") == "reloaded\n"
        assert client.expect("GOAWAY") and client.expect("ERROR")[0][1] == CODES["UNAUTHENTICATED"] and client.closed()
        assert local.report("CONFIG")["idle_timeout"] == "30s"
        local.close()


def test_which_keys_a_reload_takes(tmp_path):
    """What --print-config says of a key is what a reload does with it."""
    shown = subprocess.run([BURND, "--print-config"], capture_output=True, text=True).stdout
    fixed = {key for says, key in re.findall(r"^# (.*)\n(\w+) =", shown, re.M) if says.endswith("; a new value needs a restart")}
    others = {"threads": "2", "session_memory": "1GiB", "tf32": "off", "libraries": "/nowhere", "names": "7", "quota_wait": "3s", "credit": "8MiB",
              "origins": "https://app.example", "log_level": "debug", "resume_grace": "4s", "cache_size": "2GiB", "fusion": "off"}
    config = tmp_path / "burnd.conf"
    config.write_text("")
    with Daemon(f"--config={config}") as daemon:
        before = json.loads(ctl(daemon, "-o", "json", "config"))
        config.write_text("".join(f"{key} = {value}\n" for key, value in others.items()))
        waiting = json.loads(ctl(daemon, "-o", "json", "reload"))["needs_restart"].split()
        assert set(waiting) == fixed & set(others) == {"threads", "session_memory", "tf32", "libraries", "names", "cache_size", "fusion"}
        now = json.loads(ctl(daemon, "-o", "json", "config"))
        assert {key: now[key] for key in others} == {key: before[key] if key in fixed else value for key, value in others.items()}
        config.write_text("")
        assert ctl(daemon, "reload") == "reloaded\n"


def test_a_reload_of_a_daemon_without_files_is_fine():
    with Daemon() as daemon:
        for _ in range(3):
            hang_up(daemon, "reloaded tokens=0")
        ctl(daemon, "drain")
        assert daemon.process.wait(10) == 0


def test_a_backend_mints_tokens_for_its_pages():
    with Daemon(tls=True) as daemon:
        line = ctl(daemon, "invite", "app", "--scope=infer,compute,mint")
        program = ("import burn\nburn.names.publish('weights', burn.ones(3))\n"
                   "token = burn.mint_token(['infer', 'compute'], seconds=60, name='visitor')\n"
                   "for wrong in (dict(scopes='admin'), dict(seconds=4000), dict(origins='here')):\n"
                   "    try:\n        burn.mint_token(**wrong)\n"
                   "    except (PermissionError, ValueError) as error:\n        print(type(error).__name__)\nprint(token)")
        said = shell(f"{line}{sys.executable} -c \"$PROGRAM\"", PROGRAM=program)
        *errors, token = said.stdout.split()
        assert errors == ["DeniedError", "InvalidError", "InvalidError"], said
        page = "import burn; print(burn.names.get('weights').sum().item())"
        assert shell(f"{line}export BURN_TOKEN={token}; {sys.executable} -c \"$PROGRAM\"", PROGRAM=page).stdout == "3.0\n"
        mine = json.loads(ctl(daemon, "-o", "json", "token", "mint", "--expires=5min"))
        assert mine["scopes"] == "infer" and mine["name"] == "" and re.fullmatch(r"burn_[\w-]{43}", mine["token"])
        assert json.loads(ctl(daemon, "-o", "json", "token", "mint", "me", "--scope=metrics"))["name"] == "me"
        assert "at most 3600 seconds" in ctl(daemon, "token", "mint", "--expires=2h", code=1)
        assert "create NAME" in ctl(daemon, "token", "coin", code=2)
        assert "--host is for invite" in ctl(daemon, "token", "rotate", "shop", "--host=gpu.example", code=2)
        assert ctl(daemon, "token", "rotate", "--help").startswith("usage: burnctl")
        assert ctl(daemon, "-o", "json", "token", "list").count('"name"') == 1
        ctl(daemon, "token", "revoke", "app")
        gone = shell(f"{line}export BURN_TOKEN={token}; {sys.executable} -c \"$PROGRAM\"", PROGRAM=page)
        assert gone.returncode == 1 and "not known" in gone.stderr, gone


def test_the_node_key_stays(tmp_path):
    """Made with the first certificate, for its owner alone; the same after restarts, reloads and with another certificate."""
    key = tmp_path / "node_key.pem"
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        assert json.loads(ctl(daemon, "-o", "json", "stats"))["node"] == "" and not key.exists()
    seen = []
    for _ in range(2):
        with Daemon(f"--state-dir={tmp_path}", tls=True) as daemon:
            seen.append(json.loads(ctl(daemon, "-o", "json", "stats"))["node"])
            ctl(daemon, "reload")
            seen.append(json.loads(ctl(daemon, "-o", "json", "stats"))["node"])
            assert f"node={seen[0]}" in daemon.text() and key.read_text().split("\n")[1] not in daemon.text()
        for name in ("certificate.pem", "private_key.pem"):
            (tmp_path / name).unlink()
    text = openssl("pkey", "-in", str(key), "-noout", "-text").stdout
    assert text.startswith("ED25519 Private-Key") and key.stat().st_mode & 0o777 == 0o600
    public = re.search(r"pub:\s+([0-9a-f:\s]+)", text)[1]
    assert set(seen) == {re.sub(r"[^0-9a-f]", "", public)} and len(seen[0]) == 64
    check = [BURND, "--check-config", f"--state-dir={tmp_path}"]
    key.chmod(0o644)
    assert "its mode is 0644" in subprocess.run(check, capture_output=True, text=True, timeout=20).stderr
    key.chmod(0o600)
    for wrong in ("x", openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout").stdout):
        key.write_text(wrong)
        done = subprocess.run(check, capture_output=True, text=True, timeout=20)
        assert done.returncode == 78 and "not an Ed25519 private key" in done.stderr, done.stderr


def test_numbers_of_daemons_among_themselves(tmp_path):
    tokens = Tokens(tmp_path)
    secret = tokens.add("peer", "peer,compute")
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        for number in (64, 100, 127):
            client = daemon.connect(token=secret)
            client.send(frame("PING", [1], kind=number))
            assert client.expect("ERROR")[0][1] == CODES["PROTOCOL"] and client.closed()
    assert not [name for name, number in TYPES.items() if 64 <= number < 128]
