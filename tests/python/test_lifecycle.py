# SPDX-License-Identifier: Apache-2.0
"""Processes, threads, signals and memory: what a long-lived user of burn relies on."""
import gc
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import burn
import burn.nn as nn
import burn.optim as optim


def script(text, *arguments, timeout=120):
    """Runs a program of its own and returns what it printed."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text), *arguments], capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.split()


def device_bytes():
    gc.collect()
    burn.sync()
    return burn.stats()["memory"]["device_bytes"]


# ---- memory ----

def test_ten_thousand_tensors_leave_nothing():
    base = device_bytes()
    for i in range(10_000):
        burn.full((100,), i) + 1
    assert device_bytes() == base
    kept = [burn.tensor(np.full(1000, i, np.float32)) for i in range(100)]
    assert device_bytes() >= base + 100 * 4000
    del kept
    assert device_bytes() == base


def test_graphs_and_training_leave_nothing():
    base = device_bytes()

    def train():
        net = nn.Sequential(nn.Linear(20, 30), nn.Tanh(), nn.Linear(30, 1))
        optimizer = optim.Adam(net.parameters())
        for _ in range(20):
            loss = (net(burn.randn(16, 20)) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            (net(burn.randn(4, 20)) ** 2).mean()  # a graph whose backward is never asked for
        return loss.item()
    train()
    first = device_bytes()
    for _ in range(3):
        train()
    assert device_bytes() == first == base


def test_failed_ops_leave_nothing():
    base = device_bytes()
    for _ in range(50):
        try:
            burn.rand(100)[burn.tensor([1000])].numpy()
        except IndexError:
            pass
    with pytest.raises(IndexError):  # a sync tells of the first one, whoever has heard of it
        burn.sync()
    assert device_bytes() == base


def test_programs_leave_nothing():
    base = device_bytes()
    for _ in range(3):
        f = burn.jit(lambda x: (x * 2).sum())
        for _ in range(5):
            f(burn.ones(1000)).item()
        del f
    assert device_bytes() - base < 64


# ---- threads ----

def test_threads_use_burn_at_once():
    failures = []

    def work(number):
        try:
            random = np.random.default_rng(number)
            for _ in range(25):
                a = random.standard_normal((17, 13)).astype(np.float32)
                x = burn.tensor(a, requires_grad=True)
                y = (x @ x.T).tanh().sum()
                y.backward()
                t = np.tanh(a @ a.T)
                want = ((1 - t * t) + (1 - t * t).T) @ a
                np.testing.assert_allclose(y.item(), t.sum(), rtol=1e-3, atol=1e-3)
                np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-3, atol=1e-3)
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_waiting_lets_other_threads_run():
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)
    thread = threading.Thread(target=tick)
    thread.start()
    n = 700 if os.environ["BURND_DEVICE"] == "cpu" else 70
    x = burn.rand(n, n)
    for _ in range(30):
        x = (x @ x) / n
    began = time.monotonic()
    x.numpy()
    waited = time.monotonic() - began
    stop.set()
    thread.join()
    assert waited < 0.02 or sum(began < t < began + waited for t in ticks) >= 2


# ---- signals, processes ----

def test_an_interrupt_ends_the_wait_and_not_the_daemon():
    words = script("""
        import os, signal, threading, time
        import burn
        burn.ones(1).item()
        children = open(f"/proc/self/task/{os.getpid()}/children").read()
        n = 300 if os.environ["BURND_DEVICE"] == "cpu" else 40
        x = burn.rand(n, n)
        caught = 0
        for attempt in range(8):
            y = x
            for _ in range(400 << attempt):
                y = (y @ x) / n
            threading.Timer(0.15, os.kill, (os.getpid(), signal.SIGINT)).start()
            try:
                y.sum().item()
                time.sleep(0.3)
            except KeyboardInterrupt:
                caught = 1
                break
        assert caught
        del y
        print((burn.ones(3) * 2).sum().item(), open(f"/proc/self/task/{os.getpid()}/children").read() == children)
    """)
    assert words == ["6.0", "True"]


def test_a_forked_child_has_a_session_of_its_own():
    words = script("""
        import os, sys
        import burn
        x = burn.ones(3)
        assert x.sum().item() == 3
        mine = burn.stats()["sessions"]["open"]
        out, inp = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                x + 1
                (x + 1).numpy()
                text = "inherited handles work;"
            except RuntimeError:
                text = "refused "
            text += str((burn.ones(4) * 2).sum().item())
            os.write(inp, text.encode())
            del x
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        print(os.read(out, 100).decode(), (x + 1).sum().item())
    """)
    assert words == ["refused", "8.0", "6.0"]


def test_a_forked_child_is_told_whose_tensors_the_parents_are():
    words = script("""
        import os
        import burn
        x = burn.ones(3)
        assert x.sum().item() == 3
        if os.fork() == 0:
            y, told = burn.ones(3), 0
            for use in (lambda: x + y, lambda: y + x, lambda: burn.cat([y, x]), lambda: y.copy_(x), lambda: x.tolist(),
                        lambda: burn.names.publish("x", x), lambda: burn.autograd.grad((burn.ones(3, requires_grad=True) * 2).sum(), x)):
                try:
                    use()
                    y.tolist()
                except burn.Error as error:
                    told += isinstance(error, ConnectionError) and "parent process" in str(error)
            print(told, flush=True)
            os._exit(0)
        os.wait()
    """)
    assert words == ["7"]


def test_a_private_daemon_ends_with_its_program():
    for ending in ("", "os._exit(0)", "os.kill(os.getpid(), signal.SIGKILL)"):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent("""
            import os, signal, sys
            import burn
            burn.ones(1).item()
            print(open(f"/proc/self/task/{os.getpid()}/children").read(), flush=True)
        """) + ending], capture_output=True, text=True, timeout=60, env={**os.environ, "BURN_URL": "private:"})
        daemon = int(done.stdout.split()[0])
        until = time.monotonic() + 10
        while os.path.exists(f"/proc/{daemon}") and time.monotonic() < until:
            if open(f"/proc/{daemon}/stat").read().rpartition(")")[2].split()[0] == "Z":
                break
            time.sleep(0.02)
        else:
            assert not os.path.exists(f"/proc/{daemon}"), ending


def test_a_lost_daemon_is_a_clear_error_and_a_new_connection_works():
    words = script("""
        import os, signal, time
        import burn
        x = burn.ones(3)
        x.numpy()
        daemon = int(open(f"/proc/self/task/{os.getpid()}/children").read().split()[0])
        os.kill(daemon, signal.SIGKILL)
        try:
            (x + 1).numpy()
            print("no error")
        except (burn.Error, ConnectionError) as error:
            print(isinstance(error, ConnectionError))
        del x
        burn.disconnect()
        print(burn.ones(2).sum().item())
    """)
    assert words == ["True", "2.0"]


def test_programs_outlive_their_connection():
    words = script("""
        import burn
        for _ in range(2):
            program = burn.jit(lambda a: a * 2)
            print(program(burn.ones(3)).sum().item())
            burn.disconnect()
            del program
        last = burn.jit(lambda a: a * 3)
        print(last(burn.ones(3)).sum().item())
    """)
    assert words == ["6.0", "6.0", "9.0"]


def test_addresses_that_are_none_say_what_would_be():
    for url, words in (("unix://relative/burnd.sock", "absolute: unix:///folder/name.sock"), ("http://127.0.0.1", "tcp:// and ws://host:port")):
        done = subprocess.run([sys.executable, "-c", "import sys, burn; burn.connect(sys.argv[1])", url],
                              capture_output=True, text=True)
        assert done.returncode == 1 and words in done.stderr, done.stderr


def test_signals_and_handlers_are_left_alone():
    words = script("""
        import signal
        before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD)]
        import burn
        burn.ones(1).item()
        print(before == [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM, signal.SIGCHLD)])
    """)
    assert words == ["True"]


def test_import_alone_starts_nothing():
    words = script("""
        import os, sys
        import burn
        print(burn.connected(), open(f"/proc/self/task/{os.getpid()}/children").read() == "", "numpy" in sys.modules)
    """)
    assert words == ["False", "True", "False"]


def test_another_interpreter_of_the_process_is_told_and_harms_nobody():
    assert script("""
        import burn
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        x = burn.ones(2)
        try:
            told = interpreters.run_string(interpreters.create(), "import burn")
        except Exception as error:
            told = error
        print("interpreter" in str(told), *(x + burn.ones(2)).tolist())
    """) == ["True", "2.0", "2.0"]
