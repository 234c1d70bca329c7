#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast 64 MiB go to a daemon and back: over TCP, TLS, WebSocket, a Unix socket, and by shared memory from an ordinary array and
from one of burn.empty_host, each beside a bare copy loop of two processes over the same kind of socket (of TLS: with the same
cipher; of WebSocket: TCP). All in one run, in turn: only ratios of one run count. A ratio is the median over rounds of the ratio
of that round. Prints one JSON object a line.

    build/venv/bin/python tests/bench/transfer.py [--rounds N] [--mib N]"""
import argparse
import json
import multiprocessing
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from wire import ROOT, Daemon  # noqa: E402

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
    def __init__(self, url, size, host=False, **environment):
        environment = {**os.environ, "BURN_URL": url, **environment}
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


class BareTls:
    def __init__(self, daemon, size):
        key = daemon.certificate().replace("certificate", "private_key")
        self.process = subprocess.Popen([ROOT / "build/release/bin/tls_copy", daemon.certificate(), key, str(size)],
                                        text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def measure(self):
        return Client.measure(self) * 2

    def end(self):
        Client.end(self)


def open_ways(daemon, socket_only, size, rounds):
    """Each way with the bare loop and the socket that it is compared with."""
    unix, tcp = "unix://" + daemon.path, f"127.0.0.1:{daemon.tcp_port()}"
    token = subprocess.run([ROOT / "build/release/bin/burnctl", "--url", unix, "token", "create", "transfer", "--scope=compute"],
                           capture_output=True, text=True, check=True).stdout
    token = re.search(r"burn_[\w-]+", token)[0]
    tls = f"tls://127.0.0.1:{daemon.tls_port()}?pin={re.search(r'pin=(sha256:[0-9a-f]+)', daemon.text())[1]}"
    return {"bare tcp": (Bare("tcp", size, rounds), None, None), "tcp": (Client("tcp://" + tcp, size), "bare tcp", "tcp"),
            "websocket": (Client("ws://" + tcp, size), "bare tcp", "tcp"),
            "bare tls": (BareTls(daemon, size), None, None), "tls": (Client(tls, size, BURN_TOKEN=token), "bare tls", "tcp"),
            "bare unix": (Bare("unix", size, rounds), None, None),
            "unix": (Client("unix://" + socket_only.path, size), "bare unix", "unix"),
            "region, ordinary array": (Client(unix, size), "bare unix", "unix"),
            "region, empty_host": (Client(unix, size, host=True), "bare unix", "unix")}


GOALS = {"tcp": ("bare", 0.8), "tls": ("bare", 0.8), "unix": ("bare", 0.8), "websocket": ("socket", 0.4), "region, empty_host": ("socket", 1.6)}


def ratio(times, name, other, direction):
    """Of speeds, so of times the other way round."""
    return round(statistics.median(theirs[direction] / ours[direction] for ours, theirs in zip(times[name], times[other])), 2)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rounds", type=int, default=9)
    options.add_argument("--mib", type=int, default=64)
    options = options.parse_args()
    size = options.mib << 20
    with Daemon(tcp=True, tls=True) as daemon, Daemon("--regions=0") as socket_only:
        ways = open_ways(daemon, socket_only, size, options.rounds + 2)
        times = {name: [] for name in ways}
        for k in range(options.rounds + 2):
            for name, (way, _, _) in ways.items():
                seconds = way.measure()
                if k > 1:
                    times[name].append(seconds)
        for way, _, _ in ways.values():
            way.end()
    for name, (_, bare, base) in ways.items():
        row = {"way": name}
        for i, direction in enumerate(("upload", "download")):
            row[f"{direction}_gib_s"] = round(options.mib / 1024 / statistics.median(t[i] for t in times[name]), 2)
            if bare:
                row[f"{direction}_to_socket"], row[f"{direction}_to_bare"] = ratio(times, name, base, i), ratio(times, name, bare, i)
        if name in GOALS:
            row["to"], least = GOALS[name]
            row["goal"] = f"≥ {least}"
        print(json.dumps(row, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
