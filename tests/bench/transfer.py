#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast 64 MiB go to a daemon and back: over TCP, over a Unix socket, and by shared memory from an ordinary array and from
one of burn.empty_host, each beside a bare copy loop of two processes over the same kind of socket. All in one run, in turn:
only ratios of one run count. Prints one JSON object a line.

    build/venv/bin/python tests/bench/transfer.py [--rounds N] [--mib N]"""
import argparse
import json
import multiprocessing
import os
import pathlib
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from wire import Daemon  # noqa: E402

CHILD = """
import sys, time
import numpy as np
import burn
size, host = int(sys.argv[1]), sys.argv[2] == "host"
source = burn.empty_host(size // 4) if host else np.empty(size // 4, np.float32)
target = burn.empty_host(size // 4) if host else np.empty(size // 4, np.float32)
source[:] = np.arange(size // 4, dtype=np.float32)
target[:] = 0
t = None
for line in sys.stdin:
    begin = time.perf_counter()
    t = burn.from_numpy(source)
    burn.ping()
    put = time.perf_counter() - begin
    burn.sync()
    begin = time.perf_counter()
    burn.read_into(t, target)
    get = time.perf_counter() - begin
    assert (target == source).all()
    print(put, get, flush=True)
"""


class Client:
    def __init__(self, url, size, host=False):
        environment = {**os.environ, "BURN_URL": url}
        self.process = subprocess.Popen([sys.executable, "-c", CHILD, str(size), "host" if host else "plain"], env=environment,
                                        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def measure(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return [float(seconds) for seconds in self.process.stdout.readline().split()]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def receive_all(sock, size, rounds):
    room = memoryview(bytearray(size))
    for _ in range(rounds):
        at = 0
        while at < size:
            at += sock.recv_into(room[at:at + (1 << 20)])
        sock.sendall(b"!")


class Bare:
    """A process that reads the same bytes into the same place, and nothing else."""

    def __init__(self, kind, size, rounds):
        if kind == "tcp":
            with socket.create_server(("127.0.0.1", 0)) as server:
                self.near = socket.create_connection(server.getsockname())
                far, _ = server.accept()
        else:
            self.near, far = socket.socketpair()
        self.bytes = bytearray(os.urandom(4096) * (size // 4096))
        self.process = multiprocessing.Process(target=receive_all, args=(far, size, rounds), daemon=True)
        self.process.start()
        far.close()

    def measure(self):
        begin = time.perf_counter()
        self.near.sendall(self.bytes)
        assert self.near.recv(1) == b"!"
        return [time.perf_counter() - begin] * 2

    def end(self):
        self.process.join()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--mib", type=int, default=64)
    options = options.parse_args()
    size = options.mib << 20
    with Daemon(tcp=True) as daemon, Daemon("--regions=0") as socket_only:
        unix, tcp = "unix://" + daemon.path, f"tcp://127.0.0.1:{daemon.tcp_port()}"
        ways = {"bare tcp": Bare("tcp", size, options.rounds + 2), "tcp": Client(tcp, size),
                "bare unix": Bare("unix", size, options.rounds + 2),
                "unix": Client("unix://" + socket_only.path, size),
                "region, ordinary array": Client(unix, size),
                "region, empty_host": Client(unix, size, host=True)}
        times = {name: [] for name in ways}
        for k in range(options.rounds + 2):
            for name, way in ways.items():
                seconds = way.measure()
                if k > 1:
                    times[name].append(seconds)
        for way in ways.values():
            way.end()
    speed = {name: [options.mib / 1024 / statistics.median(t[i] for t in found) for i in (0, 1)] for name, found in times.items()}
    for name, (up, down) in speed.items():
        base = speed["tcp" if name.endswith("tcp") else "unix"]
        bare = speed["bare tcp" if name.endswith("tcp") else "bare unix"]
        print(json.dumps({"way": name, "upload_gib_s": round(up, 2), "download_gib_s": round(down, 2),
                          "upload_to_socket": round(up / base[0], 2), "download_to_socket": round(down / base[1], 2),
                          "upload_to_bare": round(up / bare[0], 2), "download_to_bare": round(down / bare[1], 2)}))


if __name__ == "__main__":
    main()
