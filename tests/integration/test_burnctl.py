# SPDX-License-Identifier: Apache-2.0
"""burnctl against a running daemon: tables, JSON, exit codes."""

import json
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))

import pytest

from wire import BURND, Daemon, U8

BURNCTL = os.environ.get("BURNCTL") or str(pathlib.Path(BURND).parent / "burnctl")


@pytest.fixture(scope="module")
def daemon():
    with Daemon() as running:
        yield running


def ctl(*arguments, **environment):
    settings = {key: value for key, value in os.environ.items() if key != "BURN_URL"}
    return subprocess.run([BURNCTL, *arguments], capture_output=True, text=True, timeout=20, env=dict(settings, **environment))


def test_json(daemon):
    url = "unix://" + daemon.path
    client = daemon.connect()
    client.put(1, U8, [1000], bytes(1000))
    client.sync()
    ping = json.loads(ctl("--url", url, "-o", "json", "ping", "--count=5").stdout)
    assert ping["count"] == 5 and 0 < ping["least_seconds"] <= ping["seconds"] <= ping["most_seconds"]
    stats = json.loads(ctl("--url=" + url, "-o", "json", "stats").stdout)
    assert stats["sessions"]["open"] == 2 and stats["memory"]["device_bytes"] >= 1000
    for group, keys in {"kernels": ("compiles", "cache_hits"), "plans": ("analyses", "replays", "launches", "fallbacks"),
                        "memory": ("device_bytes", "pool_bytes"), "sessions": ("open",)}.items():
        assert all(isinstance(stats[group][key], int) for key in keys)
    sessions = json.loads(ctl("-o", "json", "sessions", BURN_URL=url).stdout)
    assert {session["client"].split()[0] for session in sessions} == {"wire.py", "burn-client"}
    assert json.loads(ctl("-o", "json", "config", BURN_URL=url).stdout)["listen"] == url
    assert json.loads(ctl("-o", "json", "devices", BURN_URL=url).stdout)[0]["device"]
    assert isinstance(json.loads(ctl("-o", "json", "kernels", BURN_URL=url).stdout), list)
    client.close()


def test_kernels_tell_how_long_they_ran(daemon):
    url = "unix://" + daemon.path
    script = "import burn; x = burn.ones(700, 700); assert [(x @ x).sum().item() for i in range(3)] == [700.0 ** 3] * 3"
    begin = time.monotonic()
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, env=dict(os.environ, BURN_URL=url))
    seconds = time.monotonic() - begin
    kernels = json.loads(ctl("--url", url, "-o", "json", "kernels").stdout)
    products = [kernel for kernel in kernels if kernel["family"] == "contraction"]
    assert sum(kernel["launches"] for kernel in products) == 3
    run_us = sum(kernel["run_us"] for kernel in products)
    assert 3 * 2 * 700 ** 3 / 1e7 < run_us < seconds * 1e6  # no processor does 10 TFLOP/s


def test_tables(daemon):
    url = "unix://" + daemon.path
    lines = ctl("--url", url, "sessions").stdout.splitlines()
    assert lines[0].split()[:2] == ["session", "client"] and len(lines) == 2
    assert any(line.split() == ["plans.fallbacks", "0"] for line in ctl("--url", url, "stats").stdout.splitlines())
    assert ctl("--url", url, "ping").returncode == 0


def test_exit_codes(tmp_path):
    assert ctl("--version").stdout.startswith("burnctl ")
    assert ctl("--help").returncode == 0
    for wrong in ([], ["nothing"], ["stats", "stats"], ["-o", "xml", "stats"], ["--count", "0", "ping"], ["--url"]):
        assert ctl(*wrong).returncode == 2, wrong
    assert "one session at a time, without 2" in ctl("close", "1", "2").stderr
    gone = ctl("ping", BURN_URL=f"unix://{tmp_path}/nobody.sock")
    assert gone.returncode == 69 and "no daemon answers" in gone.stderr
    nowhere = ctl("ping", XDG_RUNTIME_DIR=str(tmp_path))  # it must not start one of its own
    assert nowhere.returncode in (0, 69)


def test_a_number_that_no_session_has(daemon):
    for number in (1 << 53, 10 ** 20):
        done = ctl("--url", "unix://" + daemon.path, "cancel", str(number))
        assert done.returncode == 1 and "there is no session" in done.stderr, done.stderr


def test_shutdown():
    with Daemon() as daemon:
        assert ctl("--url", "unix://" + daemon.path, "shutdown").stdout.startswith("draining; other sessions: 0,")
        assert daemon.process.wait(60) == 0


def test_only_a_drain_is_waited_for(daemon):
    assert ctl("--url", "unix://" + daemon.path, "stats", "--wait").returncode == 2
    assert ctl("--url", "unix://" + daemon.path, "ping").returncode == 0


def test_a_drain_says_who_is_there():
    with Daemon() as daemon:
        clients = [daemon.connect(), daemon.connect()]
        done = ctl("--url", "unix://" + daemon.path, "-o", "json", "drain")
        assert json.loads(done.stdout) == {"draining": True, "sessions": 2, "most_seconds": 30}
        for client in clients:
            client.close()
        assert daemon.process.wait(60) == 0


def test_names_as_a_table():
    """Columns do not depend on which row is first, shapes are shown, and nothing is said to be nothing."""
    with Daemon() as daemon:
        url = "unix://" + daemon.path

        def table():
            return ctl("--url", url, "names").stdout.splitlines()

        def run(code):
            subprocess.run([sys.executable, "-c", "import burn\n" + code], env={**os.environ, "BURN_URL": url}, check=True, timeout=60)

        assert table() == ["no names"] and ctl("--url", url, "-o", "json", "names").stdout == "[]\n"
        run("burn.names.publish('m', {'a': burn.ones(2, 3), 'b': burn.tensor(1)})")
        head = "name  kind    dtype    shape   bytes  version"
        assert table() == [head, "m/a   tensor  float32  [2, 3]     24        1", "m/b   tensor  int64    []          8        1"]
        run("burn.names.publish_program('a', lambda x: x + 1, burn.ones(3))")
        assert [line.split()[:2] for line in table()[1:]] == [["a", "program"], ["m/a", "tensor"], ["m/b", "tensor"]]
        assert table()[0].split() == head.split() and "[2, 3]" in table()[2]
