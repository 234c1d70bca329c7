# SPDX-License-Identifier: Apache-2.0
"""The Python client when things go wrong around it: its private daemon is killed or stops answering, the
user presses Ctrl-C, the process forks, a thread closes the connection. No wait hangs, and each error stands
at the user's line."""

import os
import subprocess
import sys
import textwrap

sys.path.insert(0, os.path.dirname(__file__))

import pytest

from wire import BURND

PRELUDE = """
import os, signal, threading, time, sys, numpy as np
import burn
burn.ones(1).item()
DAEMON = int(open(f"/proc/self/task/{os.getpid()}/children").read().split()[0])
def later(seconds, *arguments):
    timer = threading.Timer(seconds, os.kill, arguments)
    timer.daemon = True
    timer.start()
def heavy():
    x = burn.rand(1200, 1200)
    y = x
    for _ in range(60):
        y = (y @ x) / 1200
    return y
big = np.zeros(300_000_000, np.uint8)
"""


def run(code, timeout=90):
    environment = {**os.environ, "BURND": BURND, "BURN_URL": "private:", "PYTHONUNBUFFERED": "1"}
    return subprocess.run([sys.executable, "-c", PRELUDE + textwrap.dedent(code)], capture_output=True, text=True, timeout=timeout,
                          env=environment)


def works(code, **options):
    done = run(code, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def test_a_daemon_killed_in_a_wait_is_an_error_at_the_users_line():
    done = run("""
        later(0.3, DAEMON, signal.SIGKILL)
        y = heavy()
        y.sum().item()  # the user's line
    """)
    line = PRELUDE.count("\n") + 4
    assert done.returncode == 1 and f'File "<string>", line {line}, in <module>' in done.stderr, done.stderr
    assert "burn.ConnectionError: the daemon at private: closed the connection" in done.stderr


def test_a_daemon_killed_in_an_upload():
    lines = works("""
        later(0.1, DAEMON, signal.SIGKILL)
        try:
            for _ in range(40):
                burn.tensor(big)
        except ConnectionError as error:
            print(error)
        burn.disconnect()
        print(burn.ones(3).sum().item())
    """)
    assert "private:" in lines[0] and lines[1] == "3.0", lines


def test_a_daemon_killed_while_threads_wait():
    lines = works("""
        y, told = heavy(), []
        def wait():
            try:
                y.sum().item()
            except ConnectionError as error:
                told.append(str(error))
        threads = [threading.Thread(target=wait) for _ in range(3)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        os.kill(DAEMON, signal.SIGKILL)
        for thread in threads:
            thread.join(20)
        print(len(told), sum(thread.is_alive() for thread in threads))
        burn.disconnect()
        print(burn.ones(3).sum().item())
    """)
    assert lines == ["3 0", "3.0"]


def test_an_interrupt_in_an_upload():
    lines = works("""
        later(0.2, os.getpid(), signal.SIGINT)
        try:
            for _ in range(100):
                burn.tensor(big)
        except KeyboardInterrupt:
            print("interrupted")
        print(burn.ones(3).sum().item())
    """)
    assert lines == ["interrupted", "3.0"]


def test_an_interrupt_ends_an_upload_that_is_stuck():
    lines = works("""
        os.kill(DAEMON, signal.SIGSTOP)
        later(0.5, os.getpid(), signal.SIGINT)
        start = time.monotonic()
        try:
            burn.tensor(big)
        except KeyboardInterrupt:
            print("interrupted", time.monotonic() - start < 15)
        os.kill(DAEMON, signal.SIGCONT)
        try:
            burn.ones(3).sum().item()
        except ConnectionError as error:
            print(error)
        burn.disconnect()
        print(burn.ones(3).sum().item())
    """)
    assert lines[0] == "interrupted True" and "did not take; the connection is lost" in lines[1] and lines[2] == "3.0", lines


def test_other_threads_run_while_an_upload_is_stuck():
    lines = works("""
        os.kill(DAEMON, signal.SIGSTOP)
        ticks = [0]
        def tick():
            while True:
                ticks[0] += 1
                time.sleep(0.01)
        threading.Thread(target=tick, daemon=True).start()
        later(1.5, DAEMON, signal.SIGCONT)
        x = burn.tensor(big)
        print(ticks[0] > 20, x.shape == (300_000_000,), int(x[:10].sum().item()))
    """)
    assert lines == ["True True 0"]


def test_an_interrupt_ends_the_wait_for_a_stopped_daemon():
    lines = works("""
        os.kill(DAEMON, signal.SIGSTOP)
        later(0.5, os.getpid(), signal.SIGINT)
        try:
            burn.ones(3).sum().item()
        except KeyboardInterrupt:
            print("interrupted")
        os.kill(DAEMON, signal.SIGCONT)
        print((burn.ones(3) * 2).sum().item())
    """)
    assert lines == ["interrupted", "6.0"]


def test_a_fork_while_another_thread_waits():
    lines = works("""
        y = heavy()
        thread = threading.Thread(target=lambda: y.sum().item())
        thread.start()
        time.sleep(0.1)
        child = os.fork()
        if child == 0:
            try:
                y.sum().item()
                text = "inherited handles work"
            except RuntimeError as error:
                text = "refused"
            os.write(1, f"{text} {burn.ones(2).sum().item()}\\n".encode())
            os._exit(0)
        print(os.waitpid(child, 0)[1])
        thread.join()
        print(burn.ones(2).sum().item())
    """)
    assert lines == ["refused 2.0", "0", "2.0"]


def test_a_close_ends_the_waits_of_other_threads():
    for waits in ("heavy().sum().item()", "burn.tensor(big)"):
        lines = works(f"""
            told = []
            def wait():
                try:
                    {waits}
                except Exception as error:
                    told.append(str(error))
            if "tensor" in {waits!r}:
                os.kill(DAEMON, signal.SIGSTOP)
            thread = threading.Thread(target=wait)
            thread.start()
            time.sleep(0.3)
            burn.disconnect()
            thread.join(20)
            print(told, thread.is_alive())
            if "tensor" in {waits!r}:
                os.kill(DAEMON, signal.SIGKILL)
            print(burn.ones(2).sum().item())
        """)
        assert lines == ["['the connection was closed'] False", "2.0"], (waits, lines)


def test_a_tensor_of_a_connection_that_is_gone():
    lines = works("""
        x, w = burn.ones(3), burn.ones(3, requires_grad=True)
        y = (w * 2).sum()
        def says(*tries):
            for each in tries:
                try:
                    print("answered", each())
                except burn.ConnectionError as error:
                    print(error)
        os.kill(DAEMON, signal.SIGKILL)
        says(lambda: x.tolist(), lambda: (x + 1).tolist())
        burn.disconnect()
        burn.connect("private:")
        says(lambda: x + 1, lambda: x + burn.ones(3), lambda: burn.ones(3) + x, lambda: burn.ones(3).copy_(x), lambda: burn.stack([x]))
        says(lambda: burn.names.publish("x", x))
        says(lambda: x.tolist(), y.backward, lambda: burn.autograd.grad(y, w))
        print(w.requires_grad, burn.ones(2).sum().item())
    """)
    advice = "; burn.connect() makes a new connection, without the tensors of this one"
    assert lines[0].endswith(advice) and lines[1].endswith(advice)
    assert set(lines[2:8]) == {"the connection that the tensor belongs to was closed"}
    assert all(line.endswith("was closed") for line in lines[8:11]) and lines[11:] == ["True 2.0"]


@pytest.mark.parametrize("settings, says", [
    ({"BURND_DRAIN_GRACE": "soon"}, 'burn.InvalidError: BURND_DRAIN_GRACE: drain_grace: "soon" is not a number'),
    ({"BURND_WWW": "/nowhere/at/all"}, "/nowhere/at/all"), ({"BURND_LISTEN": "tcp://0.0.0.0:1"}, "burn.DeniedError: BURND_LISTEN: listen: tcp://0.0.0.0:1: plain TCP"),
    ({"BURND_TARGET": "amx", "BURND_DEVICE": "vax"}, 'device: "vax" is not one of')])
def test_why_a_private_daemon_does_not_start(settings, says):
    done = subprocess.run([sys.executable, "-c", "import burn; burn.ones(2)"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "BURN_URL": "private:", **settings})
    assert done.returncode == 1 and "burn." in done.stderr.splitlines()[-1] and says in done.stderr.splitlines()[-1], done.stderr


def test_the_device_that_the_daemon_has_is_known_before_the_first_tensor():
    code = ("import burn; device = burn.get_default_device(); assert burn.ones(1, device='ref').device == device; print(device)",
            "import burn; print(burn.ones(1, device='ref').device)",
            "import burn; burn.set_default_device('cpu'); print(burn.get_default_device())")
    for program, device in zip(code, ("ref", "ref", "cpu")):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                              env={**os.environ, "BURND": BURND, "BURN_URL": "private:", "BURND_DEVICE": "ref"})
        assert (done.stdout, done.stderr) == (device + "\n", "")


def test_a_private_daemon_that_is_slow_to_start(tmp_path):
    """It has as long as the machine needs; one that ends instead is noticed at once."""
    slow = tmp_path / "burnd"
    slow.write_text(f'#!/bin/sh\nsleep 7\nexec "{BURND}" "$@"\n')
    slow.chmod(0o700)
    code = "import burn; print(burn.ones(2).sum().item())"
    environment = {**os.environ, "BURND": str(slow), "BURN_URL": "private:"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert done.stdout.split() == ["2.0"], done.stderr
    slow.write_text("#!/bin/sh\nexit 3\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=10, env=environment)
    assert done.returncode == 1 and "ConnectionError" in done.stderr and "private:" in done.stderr, done.stderr
