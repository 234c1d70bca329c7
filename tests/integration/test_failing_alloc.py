# SPDX-License-Identifier: Apache-2.0
"""Every allocation of a handshake, a batch, an upload, a read, a publication and a program's life fails once, in turn.
The client gets its answer or a typed error; the daemon lives on, serves others and holds nothing afterwards."""

import mmap
import os
import pathlib
import struct
import sys

sys.path.insert(0, os.path.dirname(__file__))

import pytest

from baseline import Baseline
from test_server_ops import batch, floats, record
from test_names_protocol import export, signature
from wire import BURND, CODES, F32, U8, Closed, Daemon, frame

LIBRARY = pathlib.Path(BURND).parents[1] / "tests/failing_alloc.so"
MOST = 2000 if os.environ.get("BURN_TEST_LONG") else 120  # failures of one phase, spread over its allocations
REFUSALS = {CODES[name] for name in ("NO_MEMORY", "UNAVAILABLE")}


class Failing(Daemon):
    """A daemon whose allocator takes orders. It compiles nothing: LLVM ends a process that has no memory for it."""

    def __init__(self, folder):
        path = folder / "orders"
        path.write_bytes(bytes(16))
        with open(path, "r+b") as file:
            self.orders = mmap.mmap(file.fileno(), 16)
        cache = {"XDG_CACHE_HOME": str(folder / "cache")}
        with Daemon("--threads=1", environment=cache) as first:
            ready(first).close()
        super().__init__("--threads=1", "--compile=never",
                         environment=cache | {"LD_PRELOAD": str(LIBRARY), "BURN_FAILING_ALLOC": str(path)})

    def calls(self):
        return struct.unpack_from("<Q", self.orders, 0)[0]

    def fail(self, number):
        struct.pack_into("<q", self.orders, 8, number)

    def pending(self):
        return struct.unpack_from("<q", self.orders, 8)[0] > 0


class Refused(Exception):
    """The daemon said why."""


def answer(client, wanted):
    """Fields and payload of the answer. An error must be a refusal."""
    while True:
        name, fields, payload = client.receive()
        if name == "ERROR":
            assert fields[1] in REFUSALS, fields
            raise Refused(fields)
        if name == "SYNCED" and fields[1] != 0:
            assert fields[1] in REFUSALS, fields
            raise Refused(fields)
        if name == wanted:
            return fields, payload


def handshake(daemon, client):
    daemon.connect().close()


def run_batch(daemon, client):
    client.send(batch(client.next, record("matmul", client.next - 1, client.next - 1), record("free", [1])))
    client.next += 1
    client.send(frame("SYNC", [client.next]))
    answer(client, "SYNCED")


def upload(daemon, client):
    client.put(client.next, U8, [100000], bytes(100000), chunk=30000)
    client.next += 1
    client.send(batch(client.next, record("free", [1])))
    client.send(frame("SYNC", [client.next]))
    answer(client, "SYNCED")


def read(daemon, client):
    client.send(frame("GET", [client.next + 1000, 1]))
    client.next += 1
    assert answer(client, "DATA")[1] == floats(1, 2, 3, 4)


def publish(daemon, client):
    """A name of two values, which is read, listed and ended."""
    client.put(client.next, F32, [2, 2], floats(1, 2, 3, 4))
    name, request = f"left/n{client.session}", 2000 + client.next
    client.send(export(request, name, ["a", client.next], ["b/c", client.next]))
    answer(client, "DONE")
    client.send(frame("IMPORT", [request, name, client.next + 1, 9]))
    answer(client, "IMPORTED")
    assert client.get(client.next + 2, request)[2] == floats(1, 2, 3, 4)
    client.send(batch(client.next + 3, record("free", [1]), record("free", [2]), record("free", [3])))
    client.next += 3
    client.send(frame("LIST_NAMES", [request, ""]))
    answer(client, "REPORT")
    client.send(frame("UNEXPORT", [request, name]))
    answer(client, "DONE")


def programs(daemon, client):
    """A program that is registered, called, published, used by its name and dropped."""
    name, request = f"left/p{client.session}", 4000 + client.next
    client.send(frame("PROGRAM_DEFINE", [request, request, "square", 1, 2], record("matmul", 1, 1)))
    answer(client, "DONE")
    client.send(frame("EXPORT_PROGRAM", [request, name, request], signature([0, F32, [2, 2]], outputs=([F32, [2, 2]],))))
    answer(client, "DONE")
    client.send(frame("IMPORT_PROGRAM", [request, name, request + 1]))
    answer(client, "IMPORTED")
    for number in (request, request + 1):
        client.send(batch(client.next, record("call", [client.next - 1], number, 1), record("free", [1])))
        client.next += 1
        client.send(frame("SYNC", [request]))
        answer(client, "SYNCED")
        client.send(frame("PROGRAM_DROP", [request, number]))
        answer(client, "DONE")
    client.send(frame("UNEXPORT", [request, name]))
    answer(client, "DONE")


def ready(daemon):
    """A session with one tensor, that has used all the ways once."""
    client = daemon.connect()
    client.put(1, F32, [2, 2], floats(1, 2, 3, 4))
    client.next = 2
    for phase in (run_batch, upload, read, publish, programs):
        phase(daemon, client)
    return client


@pytest.mark.parametrize("phase", [handshake, run_batch, upload, read, publish, programs])
def test_every_allocation_fails_once(phase, tmp_path):
    with Failing(tmp_path) as daemon:
        baseline = Baseline(daemon, lambda daemon: ready(daemon).close())
        other = ready(daemon)
        client = ready(daemon)
        before = daemon.calls()
        phase(daemon, client)
        count = daemon.calls() - before
        assert count > 0
        refused = failed = 0
        for number in range(1, count + 3, max(1, count // MOST)):
            daemon.fail(number)
            try:
                phase(daemon, client)
            except (Refused, Closed):
                refused += 1
            failed += not daemon.pending()
            daemon.fail(0)
            if refused:
                client.close()
                client = ready(daemon)
            assert daemon.process.poll() is None, daemon.text()
            read(daemon, other)
        assert failed >= min(count, MOST) // 2, (failed, count)
        client.close()
        other.close()
        cleaner = daemon.connect()  # what those have published who were refused afterwards
        cleaner.send(frame("UNEXPORT", [1, "left"]))
        assert cleaner.receive()[0] in ("DONE", "ERROR")
        cleaner.close()
        baseline.holds()
