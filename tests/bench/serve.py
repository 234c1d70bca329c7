#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How many requests burnd serves, each figure beside a yardstick in the same minute: Redis for a ping, a bare echo of the same
bytes for ops. One JSON object a line. Load, daemon and yardstick share the machine; loopback only.

    serve.py [--rounds 5] [--seconds 1] [--connections 50] [--idle 10000] [--sessions 1000] [--sessions-s 60]

ratio: the median over rounds of burnd's rate by the yardstick's. Redis is Debian's redis-server; without it its rows say so.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--seconds", type=float, default=1)
parser.add_argument("--connections", type=int, default=50)
parser.add_argument("--idle", type=int, default=10000, help="connections that say HELLO and nothing more; 0: none")
parser.add_argument("--sessions", type=int, default=1000, help="that sync all the time; 0: none")
parser.add_argument("--sessions-s", type=float, default=60)
args = parser.parse_args()

binaries = pathlib.Path(__file__).resolve().parents[2] / "build/release/bin"
load = str(binaries / "load")
burnd = os.environ.get("BURND", str(binaries / "burnd"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Servers:
    """What is measured, each on a socket file and a port; ended by their ids."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(30)

    def _start(self, command, address):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.processes.append(process)
        for _ in range(600):
            try:
                with socket.socket(socket.AF_UNIX if address[0] == "/" else socket.AF_INET) as probe:
                    probe.connect(address if address[0] == "/" else ("127.0.0.1", int(address)))
                return process
            except OSError:
                time.sleep(0.05)
        raise SystemExit(f"{command[0]} does not listen")

    def burnd(self):
        path, port, tls = f"{self.folder}/burnd.sock", str(free_port()), str(free_port())
        process = self._start([burnd, f"--listen=unix://{path}", f"--listen=tcp://127.0.0.1:{port}?insecure", f"--listen=tls://127.0.0.1:{tls}",
                               f"--state-dir={self.folder}/state", "--idle-timeout=10min", "--sessions=20000", "--principal-sessions=0", "--principal-queue=0",
                               f"--cache-dir={self.folder}/cache", "--log-level=error"], path)
        return {"unix": path, "tcp": port, "tls": tls}, process

    def redis(self):
        path, port = f"{self.folder}/redis.sock", str(free_port())
        self._start(["redis-server", "--port", port, "--bind", "127.0.0.1", "--unixsocket", path, "--save", "",
                     "--appendonly", "no", "--dir", self.folder], path)
        return {"unix": path, "tcp": port}

    def echo(self):
        addresses = {"unix": f"{self.folder}/echo.sock", "tcp": str(free_port())}
        for address in addresses.values():
            self._start([load, "echo", address], address)
        return addresses


def run(kind, address, connections=args.connections, seconds=args.seconds):
    done = subprocess.run([load, "run", kind, address, str(connections), str(seconds)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def pss_mib(process):
    rollup = pathlib.Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) / 1024


def report(**row):
    print(json.dumps(row, ensure_ascii=False), flush=True)


def compare(figure, goal, ours, yardstick, operations=1):
    """Both in turns; ours and yardstick: (kind, address)."""
    mine, theirs = [], []
    for _ in range(args.rounds):
        theirs.append(run(*yardstick))
        mine.append(run(*ours))
    rate = [row["per_second"] for row in mine]
    report(figure=figure, per_second=round(statistics.median(rate) * operations), yardstick=yardstick[0],
           yardstick_per_second=round(statistics.median(row["per_second"] for row in theirs) * operations),
           ratio=round(statistics.median(a["per_second"] / b["per_second"] for a, b in zip(mine, theirs)), 3), goal=goal,
           p50_us=statistics.median(row["p50_us"] for row in mine), p99_us=statistics.median(row["p99_us"] for row in mine))


def make_token(path):
    """Of a client that is there for the measurement."""
    made = subprocess.run([str(binaries / "burnctl"), "--url", f"unix://{path}", "token", "create", "load", "--scope=compute"],
                          capture_output=True, text=True, check=True).stdout
    return re.search(r"burn_[\w-]+", made)[0]


def measure_idle(transport, address, process, goal, **environment):
    before = pss_mib(process)
    held = subprocess.Popen([load, "idle", address, str(args.idle)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            env={**os.environ, **environment})
    try:
        if held.stdout.readline() != "open\n":
            raise SystemExit("the connections could not be opened")
        added = pss_mib(process) - before
    finally:
        held.stdin.close()
        held.wait(60)
    report(figure=f"idle connections, {transport}", connections=args.idle, pss_mib=round(added, 1), kib_each=round(added * 1024 / args.idle, 2), goal=goal)


with tempfile.TemporaryDirectory() as scratch, Servers(scratch) as servers:
    ours, daemon = servers.burnd()
    echoes = servers.echo()
    redis = servers.redis() if shutil.which("redis-server") else None
    for transport in ("tcp", "unix"):
        if redis:
            compare(f"ping, {transport}", "≥ 0.9", ("ping", ours[transport]), ("redis", redis[transport]))
            compare(f"sync, {transport}", "≥ 0.4", ("sync", ours[transport]), ("redis", redis[transport]))
        else:
            report(figure=f"ping and sync, {transport}", left_out="redis-server is not installed")
        compare(f"ping by echo, {transport}", "", ("ping", ours[transport]), ("echo", echoes[transport]))
        compare(f"ops in batches of 64, {transport}", "≥ 0.4", ("ops", ours[transport]), ("echo_ops", echoes[transport]), 64)
    if args.idle:
        measure_idle("tcp", ours["tcp"], daemon, "≤ 120 MiB")
        measure_idle("unix", ours["unix"], daemon, "≤ 120 MiB")
        measure_idle("tls", ours["tls"], daemon, "", BURN_TOKEN=make_token(ours["unix"]))
    if args.sessions:
        report(figure="active sessions, no error", **run("sync", ours["unix"], args.sessions, args.sessions_s), goal="≥ 60 s")
