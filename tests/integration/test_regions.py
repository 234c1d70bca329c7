# SPDX-License-Identifier: Apache-2.0
"""Memory shared over the Unix socket: what a hostile client may pass, what its later writes change, and that the Python
client uses it by itself."""

import array
import fcntl
import mmap
import os
import socket
import struct
import subprocess
import sys
import textwrap
import threading

sys.path.insert(0, os.path.dirname(__file__))

import pytest

from wire import BURND, CODES, Daemon, F32, U8, Wire, eventually, frame

SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
MIB = 1 << 20


@pytest.fixture(scope="module")
def daemon():
    with Daemon("--regions=64MiB", tcp=True) as running:
        running.at_rest = running.descriptors()
        yield running


@pytest.fixture
def client(daemon):
    opened = daemon.connect(features=["regions"])
    yield opened
    opened.close()


def memfd(size, seals=SEALS):
    fd = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    if seals:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


def pass_on(client, data, *fds):
    client.sock.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])


def add(client, region, size, request=1):
    fd = memfd(size)
    pass_on(client, frame("REGION_ADD", [request, region, size]), fd)
    assert client.expect("DONE")[0] == [request]
    shared = mmap.mmap(fd, size)
    os.close(fd)
    return shared


def fails(client, code, word):
    fields, _ = client.expect("ERROR")
    assert fields[1] == CODES[code] and word in fields[2], fields


def test_a_tensor_goes_there_and_back(client):
    shared = add(client, 1, 4 * MIB)
    data = bytes(range(256)) * 4096 * 3
    shared[:len(data)] = data
    client.send(frame("PUT_BEGIN", [1, U8, [len(data)]]))
    for at in range(0, len(data), MIB):
        client.send(frame("PUT_REGION", [1, at, 1, at, MIB, 7 if at + MIB == len(data) else 0]))
    assert client.expect("DONE")[0] == [7]
    shared[:len(data)] = bytes(len(data))  # it is copied: what the client writes now changes nothing
    assert client.get(1)[2] == data
    client.send(frame("GET_REGION", [8, 1, 1, 0, MIB, 4]))
    for at in range(0, len(data), MIB):
        assert client.expect("DATA_REGION")[0] == [8, at, at, MIB, len(data)]
    assert shared[:len(data)] == data


def test_slots_are_filled_when_they_are_taken(client):
    shared = add(client, 1, MIB)
    data = os.urandom(5 * 65536 + 100)
    client.put(1, U8, [len(data)], data)
    client.send(frame("GET_REGION", [8, 1, 1, 4096, 65536, 2]))
    got = b""
    for k in range(6):
        fields, _ = client.expect("DATA_REGION")
        size = min(65536, len(data) - 65536 * k)
        assert fields == [8, 65536 * k, 4096 + 65536 * (k % 2), size, len(data)]
        got += shared[fields[2]:fields[2] + size]
        if k == 1:  # both are full: nothing more comes
            assert client.report("STATS")
            client.send(frame("REGION_TAKEN", [8]))
        if k > 0:
            client.send(frame("REGION_TAKEN", [8]))
    assert got == data
    for _ in range(3):
        client.send(frame("REGION_TAKEN", [8]))  # of nothing
    assert client.sync()[1] == 0


@pytest.mark.parametrize("seals", [0, fcntl.F_SEAL_SHRINK, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL])
def test_a_memfd_without_seals_is_refused(client, seals):
    fd = memfd(4096, seals)
    pass_on(client, frame("REGION_ADD", [1, 1, 4096]), fd)
    fails(client, "INVALID", "seals")
    os.close(fd)


@pytest.mark.parametrize("seal", [fcntl.F_SEAL_WRITE, 0x10])  # F_SEAL_FUTURE_WRITE has no name in older Pythons
def test_a_memfd_that_is_sealed_against_writing_is_refused(client, seal):
    """No retry helps; what would be right is said."""
    fd = memfd(4096, SEALS | seal)
    pass_on(client, frame("REGION_ADD", [1, 1, 4096]), fd)
    request, code, text, _, retryable = client.expect("ERROR")[0]
    assert (request, code, retryable) == (1, CODES["INVALID"], False) and "sealed against writing" in text and "alone would be right" in text, text
    os.close(fd)
    add(client, 1, 4096, 2)


@pytest.mark.parametrize("mode", [os.O_RDONLY, os.O_WRONLY])
def test_a_descriptor_for_one_way_is_refused(client, mode):
    fd = memfd(4096)
    half = os.open(f"/proc/self/fd/{fd}", mode)
    pass_on(client, frame("REGION_ADD", [1, 1, 4096]), half)
    request, code, text, _, retryable = client.expect("ERROR")[0]
    assert (request, code, retryable) == (1, CODES["INVALID"], False) and "not open for reading and writing" in text, text
    os.close(half)
    os.close(fd)
    add(client, 1, 4096, 2)


def test_a_memfd_of_huge_pages_is_refused(client):
    try:
        fd = os.memfd_create("test", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING | os.MFD_HUGETLB)
    except OSError:
        pytest.skip("this kernel has no huge pages")
    os.ftruncate(fd, 2 * MIB)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, SEALS)
    pass_on(client, frame("REGION_ADD", [1, 1, 2 * MIB]), fd)
    fails(client, "INVALID", "huge pages")
    os.close(fd)


def test_what_is_no_region(daemon, client):
    client.send(frame("REGION_ADD", [1, 1, 4096]))
    fails(client, "INVALID", "no descriptor")
    with open("/dev/zero", "rb") as device, open(__file__, "rb") as file:
        for fd in (device.fileno(), file.fileno(), client.sock.fileno()):
            pass_on(client, frame("REGION_ADD", [1, 1, 4096]), fd)
            fails(client, "INVALID", "memfd")
    for size in (0, 4095, 8192, 2**62):
        fd = memfd(4096)
        pass_on(client, frame("REGION_ADD", [1, 1, size]), fd)
        fails(client, "INVALID", "bytes")
        os.close(fd)
    add(client, 1, 4096).close()
    fd = memfd(4096)
    pass_on(client, frame("REGION_ADD", [1, 1, 4096]), fd)
    fails(client, "CONFLICT", "exists")
    os.close(fd)
    big = memfd(65 * MIB)
    pass_on(client, frame("REGION_ADD", [1, 2, 65 * MIB]), big)
    fails(client, "LIMIT", "in use")
    os.close(big)
    client.send(frame("REGION_DROP", [5]))
    fails(client, "NOT_FOUND", "region 5")
    assert client.sync()[1] == 0
    assert eventually(lambda: daemon.descriptors() == daemon.at_rest + 1)


@pytest.mark.parametrize("place, size, offset, code, word", [
    (4096, 1, 0, "INVALID", "lie in"), (4000, 100, 0, "INVALID", "lie in"), (2**62, 4, 0, "INVALID", "lie in"),
    (0, 4, 4, "INVALID", "continue"), (0, 2048, 0, "INVALID", "continue"),
])
def test_bytes_that_are_not_there(client, place, size, offset, code, word):
    add(client, 1, 4096)
    client.send(frame("PUT_BEGIN", [1, U8, [1024]]))
    client.send(frame("PUT_REGION", [1, offset, 1, place, size, 3]))
    fails(client, code, word)
    client.send(frame("GET", [4, 1]))
    fails(client, code, word)  # it is poisoned
    client.send(frame("PUT_REGION", [77, 0, 1, 0, 4, 3]))
    fails(client, "NOT_FOUND", "77")
    client.send(frame("GET_REGION", [4, 1, 1, 0, 4097, 1]))
    fails(client, "INVALID", "lie in")
    client.send(frame("GET_REGION", [4, 1, 1, 0, MIB, 2**52]))
    fails(client, "INVALID", "")
    client.send(frame("GET_REGION", [4, 1, 9, 0, 4096, 1]))
    fails(client, "NOT_FOUND", "region 9")
    client.send(frame("GET_REGION", [4, 99, 1, 0, 4096, 1]))
    fails(client, "NOT_FOUND", "99")


def test_a_dropped_region_lives_while_it_is_used(client):
    shared = add(client, 1, MIB)
    data = os.urandom(200000)
    client.put(1, U8, [len(data)], data)
    client.send(frame("GET_REGION", [8, 1, 1, 0, 65536, 1]))
    client.send(frame("REGION_DROP", [1]))
    got = b""
    while len(got) < len(data):
        fields, _ = client.expect("DATA_REGION")
        got += shared[:fields[3]]
        client.send(frame("REGION_TAKEN", [8]))
    assert got == data
    client.send(frame("GET_REGION", [8, 1, 1, 0, 65536, 1]))
    fails(client, "NOT_FOUND", "region 1")


def test_descriptors_that_nobody_claims_are_closed(daemon):
    client = daemon.connect(features=["regions"])
    fd = memfd(4096)
    for request in range(1, 50):
        pass_on(client, frame("SYNC", [request]), fd)
        assert client.expect("SYNCED")[0][0] == request
    half = frame("SYNC", [50])
    pass_on(client, half[:10], fd)
    client.send(half[10:])
    assert client.expect("SYNCED")[0][0] == 50
    assert eventually(lambda: daemon.descriptors() == daemon.at_rest + 1)
    pass_on(client, frame("REGION_ADD", [1, 1, 4096]), fd, fd)  # two at once
    assert client.closed()
    client.close()
    client = daemon.connect(features=["regions"])
    pass_on(client, half[:10], fd)
    pass_on(client, half[10:20], fd)  # a second one while the first waits
    assert client.closed()
    client.close()
    for features in ([], ["regions"]):  # before WELCOME, and without the feature, the kernel drops them
        plain = daemon.connect(features=features) if not features else Wire(daemon.socket(), greet=False)
        pass_on(plain, frame("SYNC", [1]) if not features else b"\x89BRN", fd)
        plain.close()
    os.close(fd)
    assert eventually(lambda: daemon.descriptors() == daemon.at_rest)


def test_regions_need_the_feature(daemon):
    for wire in (daemon.connect(), Wire(socket.create_connection(("127.0.0.1", daemon.tcp_port())), features=["regions"])):
        wire.send(frame("REGION_DROP", [1]))
        fails(wire, "PROTOCOL", "negotiated")
        assert wire.closed()
        wire.close()


def test_region_bytes_cost_credit(client):
    add(client, 1, MIB)
    client.send(frame("PUT_BEGIN", [1, U8, [1 << 40]]))  # refused: there is no room; its bytes are dropped
    client.send(frame("PUT_REGION", [1, 0, 1, 0, MIB + 1, 0]))
    fails(client, "PROTOCOL", "above the limit")
    assert client.closed()


def test_all_is_freed_with_the_client(daemon):
    def maps():
        return [line for line in open(f"/proc/{daemon.process.pid}/maps") if "memfd:test" in line]
    clients = [daemon.connect(features=["regions"]) for _ in range(5)]
    for client in clients:
        add(client, 1, MIB)
        client.put(1, F32, [4], struct.pack("<4f", 1, 2, 3, 4))
        client.send(frame("GET_REGION", [8, 1, 1, 0, 4, 1]))
    assert len(maps()) >= 5
    for client in clients:
        client.close()
    assert eventually(lambda: not maps() and daemon.descriptors() == daemon.at_rest)


SCRIPT = """
import os, sys, threading
import numpy as np
import burn
def regions():
    return sum("memfd:burn-region" in line for line in open(f"/proc/{pid}/maps"))
burn.ones(1).item()
pid = int(os.environ.get("DAEMON") or open(f"/proc/self/task/{os.getpid()}/children").read().split()[0])
random = np.random.default_rng(3)
"""


def python(code, daemon=None, **more):
    environment = {**os.environ, "BURND": BURND, "BURN_URL": "private:", **more}
    if daemon:
        environment |= {"BURN_URL": "unix://" + daemon.path, "DAEMON": str(daemon.process.pid)}
    done = subprocess.run([sys.executable, "-c", SCRIPT + textwrap.dedent(code)], capture_output=True, text=True, timeout=120,
                          env=environment)
    assert done.returncode == 0, done.stderr


EXCHANGE = """
for size in (1, 65536, 65537, 2**18 // 4 - 1, 2**18 // 4, 2**20, 2**20 + 3, 5 * 2**20 + 1):
    a = random.random(size, dtype=np.float32)
    t = burn.from_numpy(a)
    before = a.copy()
    a[:] = 0
    assert (t.numpy() == before).all()
    h = burn.empty_host(size)
    assert h.dtype == np.float32 and h.shape == (size,)
    h[:] = before
    t = burn.from_numpy(h)
    h[:] = -1
    burn.read_into(t * 2, h)
    assert (h == before * 2).all() and (t.numpy() == before).all()
    h[:] = before
    part = burn.from_numpy(h[size // 3:])
    assert (part.numpy() == before[size // 3:]).all()
"""


@pytest.mark.parametrize("shared", [True, False])
def test_the_client_shares_by_itself(daemon, shared):
    check = "assert regions() > 0" if shared else "assert regions() == 0"
    python(EXCHANGE + check, daemon if shared else None, **({} if shared else {"BURND_REGIONS": "0"}))
    python(EXCHANGE + check, **({} if shared else {"BURND_REGIONS": "0"}))


def relay(source, target):
    while data := source.recv(1 << 16):
        target.sendall(data)
    target.shutdown(socket.SHUT_WR)


def test_a_client_behind_a_proxy_passes_no_descriptor(daemon):
    """The daemon's end is a Unix socket, the client's is not."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as far:
        far.connect(daemon.path)

        def serve():
            near = listener.accept()[0]
            back = threading.Thread(target=relay, args=(far, near))
            back.start()
            relay(near, far)
            back.join()
            near.close()

        server = threading.Thread(target=serve)
        server.start()
        url = f"tcp://127.0.0.1:{listener.getsockname()[1]}?insecure"
        python(EXCHANGE, BURN_URL=url, DAEMON=str(daemon.process.pid))
        server.join()


def test_the_client_over_its_quota(daemon):
    """A region that the daemon refuses is memory like any other."""
    python("""
    arrays = [burn.empty_host(5 * 2**20) for _ in range(6)]  # 20 MiB each, 64 are allowed
    for k, a in enumerate(arrays):
        a[:] = k
        t = burn.from_numpy(a)
        a[:] = -1
        assert (t.numpy() == k).all()
        burn.read_into(t, a)
        assert (a == k).all()
    assert 2 <= regions() <= 4
    del a, arrays
    for _ in range(50):  # the pool is used again
        a = burn.empty_host(5 * 2**20)
        burn.read_into(t, a)
        assert (a == 5).all()
    assert regions() <= 4
    """, daemon)


def test_threads_share_one_connection(daemon):
    python("""
    problems = []
    def work(k):
        try:
            for size in (300_000, 1_500_000, 70_000):
                a = np.full(size, k, np.float32)
                t = burn.from_numpy(a)
                for _ in range(5):
                    assert ((t + 1).numpy() == k + 1).all()
        except BaseException as error:
            problems.append(error)
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not problems, problems
    """, daemon)


def test_memory_outlives_the_connection(daemon):
    python("""
    a = burn.empty_host(10**6)
    a[:] = 7
    t = burn.from_numpy(a)
    burn.disconnect()
    assert a.sum() == 7 * 10**6
    try:
        burn.read_into(t, a)
        raise AssertionError
    except burn.Error:
        pass
    burn.from_numpy(a).sum().item()  # of another connection: ordinary memory
    child = os.fork()
    if child == 0:
        os._exit(0 if a[0] == 7 and burn.from_numpy(a).sum().item() == 7 * 10**6 else 1)
    assert os.waitpid(child, 0)[1] == 0
    """, daemon)
