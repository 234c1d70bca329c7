# SPDX-License-Identifier: Apache-2.0
"""Clients that are killed (SIGKILL) at random points of an upload, a training step, a publication, a registration of
a program, over shared memory and over TCP, where the daemon waits for them for a while, beside one whose results are
compared with NumPy's the whole time. Afterwards nothing of them is left.

As a program, `test_kills.py SOCKET COUNT SEED` forks so many victims one after the other."""

import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(__file__))

import numpy as np

import wire
from baseline import Baseline
from wire import F32, U8, Daemon, Wire, eventually, frame

LONG = bool(os.environ.get("BURN_TEST_LONG"))
MIB = 1 << 20


# ---- victims ----

def upload(path, rng):
    """Uploads of all sizes, now and then one that is read back."""
    client = Wire(victim_socket(path))
    ident = 1
    while True:
        size = rng.choice((0, 1, 100, 1 << 16, MIB, 5 * MIB))
        client.put(ident, U8, [size], bytes(size), chunk=rng.choice((1000 if size < 1 << 17 else MIB, MIB)))
        if rng.random() < 0.3:
            client.get(ident, ident)
        client.send(frame("OPS", [ident + 1, ident], record("free", [1])))
        ident += 1


def step(path, rng):
    """Two layers, loss, gradient, streamed as raw records."""
    client = Wire(victim_socket(path))
    client.put(1, F32, [64, 256], bytes(4 * 64 * 256))
    client.put(2, F32, [256, 256], bytes(4 * 65536))
    first, op = 3, 1
    while True:
        client.send(frame("OPS", [first, op], record("matmul", first - 1, first - 2, track=1) + record("relu", 1, track=1) +
                          record("sum", 1, track=1) + record("grad", [1, None, first + 1], 1) + record("mark")))
        client.send(frame("OPS", [first + 4, op + 5], record("free", [1, 2, 3, 4])))
        if rng.random() < 0.3:
            client.sync(op)
        first, op = first + 4, op + 6


def train(path, rng):
    """The Python client: an MLP, Adam, sometimes within a program."""
    import burn
    import burn.nn.functional as F
    burn.connect("unix://" + path)
    model = burn.nn.Sequential(burn.nn.Linear(32, 64), burn.nn.ReLU(), burn.nn.Linear(64, 10))
    optimizer = burn.optim.Adam(model.parameters())

    def one(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss
    call = burn.jit(one) if rng.random() < 0.5 else one
    y = burn.zeros(16, dtype=burn.int64)
    while True:
        loss = call(burn.tensor(np.ones((16, 32), np.float32)), y)
        if rng.random() < 0.5:
            loss.item()


def share(path, rng):
    """The Python client: arrays through shared memory, both ways."""
    import burn
    burn.connect("unix://" + path)
    array = np.ones(3 * MIB, np.float32)
    while True:
        x = burn.tensor(array[:rng.choice((1000, MIB // 2, 3 * MIB))])
        if rng.random() < 0.7:
            (x + 1).numpy()


def publish(path, rng):
    """The Python client: models and programs by name, and those of others."""
    import burn
    burn.connect("unix://" + path)
    own = f"killed/{os.getpid()}"  # what the one before had asked for may come to pass only now
    model = {f"layer{k}": burn.full((1 << rng.randrange(16),), float(k)) for k in range(rng.randrange(1, 40))}
    while True:
        burn.names.publish(own + "/model", model)
        burn.names.publish_program(own + "/next", lambda x: x * 2 + model["layer0"][0], burn.ones(rng.randrange(1, 5)))
        call = burn.jit(lambda x, k=rng.random(): x * k)
        call(burn.ones(3))
        got = burn.names.get(own + "/model")
        for tensor in got.values():
            tensor + 1
        if rng.random() < 0.2:
            burn.names.remove(own)


def lose(path, rng):
    """The Python client over TCP: the daemon keeps the session for a while, also one that was resumed before."""
    import burn
    burn.connect(pathlib.Path(path + ".tcp").read_text())
    array = np.ones(MIB // 2, np.float32)
    while True:
        x = burn.tensor(array) * 3
        if rng.random() < 0.5:
            x.numpy()
        if rng.random() < 0.3:
            for link in pathlib.Path("/proc/self/fd").iterdir():  # the connection breaks
                try:
                    if os.readlink(link).startswith("socket:"):
                        with socket.socket(fileno=os.dup(int(link.name))) as sock:
                            sock.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


def record(name, *fields, track=0):
    from test_server_ops import record as made
    return made(name, *fields, track=track)


def victim_socket(path):
    sock = wire.socket.socket(wire.socket.AF_UNIX)
    sock.connect(path)
    return sock


def kill_victims(path, count, seed):
    import burn  # noqa: F401  before the fork, so that a victim begins at once
    record("free", [1])
    rng = random.Random(seed)
    kinds = (upload, step, train, share, publish, lose)
    for number in range(count):
        child = os.fork()
        if child == 0:
            try:
                kinds[number % len(kinds)](path, random.Random(seed + number))
            except (OSError, wire.Closed, burn.DeadlineError):
                time.sleep(3600)  # the daemon could not run for so long that it was given up
            finally:
                os._exit(1)  # a victim does not end by itself
        time.sleep(rng.random() * (0.06 if number % 4 else 0.2))
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        assert os.WIFSIGNALED(status), (kinds[number % len(kinds)].__name__, status)


# ---- the witness ----

class Witness(threading.Thread):
    """Computes the whole time, and compares with NumPy."""

    def __init__(self, client):
        super().__init__()
        self.client, self.stop, self.rounds, self.problem = client, threading.Event(), 0, None

    def run(self):
        random_ = np.random.default_rng(5)
        ident, op, request = 1, 1, 1
        try:
            while not self.stop.wait(0.002):
                a = random_.standard_normal((int(random_.integers(1, 50)), 64)).astype(np.float32)
                w = random_.standard_normal((64, 32)).astype(np.float32)
                product = a.astype(np.float64) @ w
                if abs(product).min() < 1e-3:
                    continue  # rounding may choose the other side of relu
                self.client.put(ident, F32, a.shape, a.tobytes())
                self.client.put(ident + 1, F32, w.shape, w.tobytes())
                self.client.send(frame("OPS", [ident + 2, op], record("matmul", 2, 1, track=1) + record("relu", 1, track=1) +
                                       record("sum", 1, track=1) + record("grad", [1, None, 4], 1)))
                got = [np.frombuffer(self.client.get(ident + 2 + k, request + k)[2], np.float32) for k in range(4)]
                self.client.send(frame("OPS", [ident + 6, op + 4], record("free", [1, 2, 3, 4, 5, 6])))
                want = [product, product.clip(0), product.clip(0).sum(), a.T.astype(np.float64) @ (product > 0)]
                for mine, right in zip(got, want):
                    np.testing.assert_allclose(mine, np.ravel(right), rtol=1e-3, atol=1e-3)
                assert self.client.sync(request + 4)[1] == 0
                ident, op, request, self.rounds = ident + 6, op + 5, request + 5, self.rounds + 1
        except BaseException as problem:
            self.problem = problem


def sessions(daemon):
    watcher = daemon.connect()
    count = watcher.report("STATS")["sessions"]["open"]
    watcher.close()
    return count


def victims(daemon, count, seed):
    before = sessions(daemon)
    done = subprocess.run([sys.executable, __file__, daemon.path, str(count), str(seed)], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-3000:]
    cleaner = daemon.connect()  # what was published outlives who did it
    cleaner.send(frame("UNEXPORT", [1, "killed"]))
    assert cleaner.receive()[0] in ("DONE", "ERROR")
    cleaner.close()
    assert eventually(lambda: sessions(daemon) <= before, 60)


def test_killed_clients_leave_nothing():
    count = int(os.environ.get("BURN_TEST_KILLS", 1000 if LONG else 45))
    with Daemon("--resume-grace=300ms", tcp=True) as daemon:
        pathlib.Path(daemon.path + ".tcp").write_text(f"tcp://127.0.0.1:{daemon.tcp_port()}")
        idle = daemon.connect()
        baseline = Baseline(daemon, lambda daemon: victims(daemon, 24, 1))  # all kernels are compiled now
        witness = Witness(daemon.connect())
        witness.start()
        victims(daemon, count, 1000)
        witness.stop.set()
        witness.join()
        assert witness.problem is None, witness.problem
        assert witness.rounds > count / 10
        witness.client.close()
        print(f"{count} killed, {witness.rounds} rounds of the witness, {baseline.holds()}")
        assert idle.sync()[1] == 0
        idle.close()


if __name__ == "__main__":
    kill_victims(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
