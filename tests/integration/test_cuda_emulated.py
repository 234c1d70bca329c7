# SPDX-License-Identifier: Apache-2.0
"""The cuda backend over tests/cuda/emulator: kernels of rows in all their entries against NumPy, launches that fail."""
import fcntl
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import textwrap

import pytest

sys.path.insert(0, os.path.dirname(__file__))

import wire
from test_admin import ctl

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    folder.chmod(0o700)
    return folder


def run(code, cache, **environment):
    """What a script prints whose daemon's device is the emulated GPU."""
    head = "import numpy as np, burn, burn.nn.functional as F\nburn.set_default_device('cuda')\n"
    done = subprocess.run([sys.executable, "-c", head + textwrap.dedent(code)], capture_output=True, text=True, timeout=600, env={
        **os.environ, "LD_LIBRARY_PATH": str(ROOT / "build/release/tests/emulator"), "BURND_DEVICE": "cuda",
        "BURND": str(ROOT / "build/release/bin/burnd"), "PYTHONPATH": str(ROOT / "build/release/python"),
        "BURND_CACHE_DIR": str(cache), **environment})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines(), done.stderr


ROWS = """
    rng = np.random.default_rng(0)
    def near(got, want, limit):
        error = np.abs(got.float().numpy() - want).max() / np.abs(want).max()
        assert got.shape == want.shape and error <= limit, (got.shape, want.shape, error)
    for columns in (7, 40, 300, 1024, 8192, 8200):
        for dtype, limit in ((burn.float32, 2e-5), (burn.bfloat16, 1e-2)):
            x = burn.tensor(rng.standard_normal((3 if columns > 2000 else 37, columns)).astype(np.float32)).to(dtype)
            w = burn.tensor(rng.standard_normal(columns).astype(np.float32)).to(dtype)
            X, W = (t.float().numpy().astype(np.float64) for t in (x, w))
            e = np.exp(X - X.max(-1, keepdims=True))
            near(F.softmax(x, -1), e / e.sum(-1, keepdims=True), limit)
            near(F.log_softmax(x, -1), X - X.max(-1, keepdims=True) - np.log(e.sum(-1, keepdims=True)), limit)
            c = X - X.mean(-1, keepdims=True)
            near(F.layer_norm(x, (columns,), w, w), c / np.sqrt((c * c).mean(-1, keepdims=True) + 1e-5) * W + W, limit)
            near(x.float().sum(0), X.sum(0), limit)
            near(x.amax(-1), X.max(-1), 0)
            assert (x.argmax(-1).numpy() == X.argmax(-1)).all()
            near(x * w + 1, X * W + 1, limit)
            if dtype == burn.float32:
                near(x.cumsum(-1), X.cumsum(-1), limit)
                near(x.logcumsumexp(-1), np.logaddexp.accumulate(X, -1), limit)
                assert (x.argsort(-1, descending=True, stable=True).numpy() == np.argsort(-X, -1, kind="stable")).all()
    for size in (99999, 1 << 18):
        x = burn.tensor(rng.standard_normal(size).astype(np.float32))
        X = x.numpy().astype(np.float64)
        near((x * x).sum(), (X * X).sum(), 1e-6)
        assert x.argmin().item() == X.argmin()
        y = F.relu(x) * 2
        s = y.sum()
        near(s, np.maximum(X, 0).sum() * 2, 1e-6)
        near(y, np.maximum(X, 0) * 2, 1e-6)
    places, source = rng.integers(-50, 50, 700), rng.standard_normal((700, 40)).astype(np.float32)
    want = np.zeros((50, 40), np.float32)
    np.add.at(want, places, source)  # in their order: bit for bit
    near(burn.zeros(50, 40).index_put((burn.tensor(places),), burn.tensor(source), accumulate=True), want, 0)
    x = burn.tensor(rng.standard_normal((3000, 67)).astype(np.float32))
    y = x * 3
    s = y.amax(0)
    near(s, x.numpy().max(0) * np.float32(3), 0)
    near(y, x.numpy() * np.float32(3), 0)
    for dtype, columns in ((burn.float32, 132), (burn.bfloat16, 264), (burn.bfloat16, 258)):  # several columns a thread, or one
        x = burn.tensor(rng.standard_normal((3000, columns)).astype(np.float32)).to(dtype)
        z = burn.tensor(rng.standard_normal((3000, columns)).astype(np.float32))
        X, Z = x.float().numpy().astype(np.float64), z.numpy().astype(np.float64)
        for got, want, limit in ((x.float().sum(0), X.sum(0), 1e-6), ((x.float() * z).sum(0), (X * Z).sum(0), 1e-6),
                                 (x.amax(0), X.max(0), 0), (x.argmax(0).float(), X.argmax(0), 0)):
            near(got, want, limit)
        w, b = (burn.nn.Parameter(burn.ones(columns)) for _ in "wb")
        F.layer_norm(z, (columns,), w, b).mul(x.float()).sum().backward()
        n = Z - Z.mean(-1, keepdims=True)
        near(w.grad, (n / np.sqrt((n * n).mean(-1, keepdims=True) + 1e-5) * X).sum(0), 1e-5)
        near(b.grad, X.sum(0), 1e-6)
    for columns in (67, 132):  # the update stands behind the sum
        X, B = rng.standard_normal((3000, columns)).astype(np.float32), rng.standard_normal(columns).astype(np.float32)
        b = burn.nn.Parameter(burn.tensor(B))
        optimizer, m, v, B = burn.optim.Adam([b], 0.1), 0, 0, B.astype(np.float64)
        for step in (1, 2, 3):
            optimizer.zero_grad()
            ((burn.tensor(X) + b) ** 2).mean(0).sum().backward()
            optimizer.step()
            g = 2 * (X + B).mean(0)
            m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
            B = B - 0.1 * m / (1 - 0.9 ** step) / (np.sqrt(v / (1 - 0.999 ** step)) + 1e-8)
        near(b.detach(), B, 1e-5)
    X = [rng.standard_normal(size).astype(np.float32) for size in (3, 64, 1001, 4096, 1)]  # one launch updates all
    many = [burn.nn.Parameter(burn.tensor(x)) for x in X]
    optimizer = burn.optim.SGD(many, 0.1)
    for step in range(2):
        optimizer.zero_grad()
        sum((p ** 2).sum() for p in many).backward()
        optimizer.step()
    for p, x in zip(many, X):
        near(p.detach(), x * 0.8 * 0.8, 1e-6)
    print("ok")
"""


def test_rows_in_all_entries(cache):
    assert run(ROWS, cache)[0] == ["ok"]


FAULT = """
    for number in range(6):
        try:
            print((burn.ones(1000) * number).sum().item())
        except burn.Error as error:
            print(type(error).__name__)
    assert burn.ping() < 1
"""


@pytest.mark.parametrize("how, name", [("launch", "DeviceError"), ("memory", "OutOfMemoryError")])
def test_a_failed_launch_fails_what_needs_it_only(cache, how, name):
    plain = run(FAULT, cache)[0]
    assert plain == [str(1000.0 * number) for number in range(6)]
    lines, log = run(FAULT, cache, EMULATOR_FAIL=f"{how}:2")
    assert name in lines and "cannot launch a kernel" in log
    assert [line for line in lines if line != name] == [line for line, got in zip(plain, lines) if got != name]
    assert lines[-1] == plain[-1]


LOST = (ROOT / "tests/cuda/lost.py").read_text()


@pytest.mark.parametrize("how, outcome, told", [("lost", "back", "the device is open again"),
                                                ("gone", "gone", "the device cannot be opened again")])
def test_a_lost_device_begins_anew_or_says_that_it_cannot(cache, how, outcome, told):
    lines, log = run(LOST, cache, EMULATOR_FAIL=f"{how}:9")
    assert lines == [outcome] and told in log and "an illegal memory access" in log


CLIENT = """
    import sys, time
    try:
        kept = burn.tensor([1.0, 2, 3])
        burn.names.publish("kept", kept)
        print("begun", flush=True)
        for number in range(20):
            assert (burn.ones(1000) * number).sum().item() == 1000 * number
    except burn.DeviceLostError as error:
        assert "an illegal memory access" in str(error), error
    for number in range(1000):
        try:
            (kept * 2).numpy()
            raise SystemExit("there is something")
        except burn.DeviceLostError as error:
            if "cannot be opened again" in str(error):  # the end of the session
                break
            time.sleep(0.01)
    print("lost")
"""

AFTER = """
    assert (burn.tensor([1.0, 2, 3]) * 2).numpy().tolist() == [2, 4, 6]
    try:
        burn.names.get("kept")
    except burn.NotFoundError:
        print(burn._connection.stats()["device"]["restarts"])
"""


def test_a_shared_daemon_begins_anew_when_its_device_is_gone_for_the_process(cache, tmp_path):
    """EMULATOR_FAIL stays: each process loses its device at the ninth launch."""
    emulated = {"LD_LIBRARY_PATH": str(ROOT / "build/release/tests/emulator"), "BURND_DEVICE": "cuda",
                "BURND_CACHE_DIR": str(cache), "EMULATOR_FAIL": "gone:9"}
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    manager.settimeout(60)
    with wire.Daemon(tcp=True, tls=True, environment={**emulated, "NOTIFY_SOCKET": str(tmp_path / "notify")}) as daemon:
        addresses = re.findall(r'listening url="(.*)"', daemon.text())
        pid, path = daemon.process.pid, daemon.path
        assert len(addresses) == 3 and b"READY=1" in manager.recv(4096)
        for restarts, url in ((1, addresses[0]), (2, addresses[1])):
            other = daemon.connect()
            assert run(CLIENT, cache, BURN_URL=url)[0] == ["begun", "lost"]
            for name in ("GOAWAY", "ERROR"):  # also to who has nothing under way
                said, _ = other.expect(name)
                assert 8 in said and "an illegal memory access" in str(said), said
            other.closed()
            assert run(AFTER, cache, BURN_URL=url)[0] == [str(restarts)]  # waits until the next process takes it up
            assert daemon.process.poll() is None and daemon.process.pid == pid
            told = b""
            while b"READY=1" not in told:
                told = manager.recv(4096)
                assert b"RELOADING=1" in told or b"READY=1" in told, told
        log = daemon.text()
        assert re.findall(r'listening url="(.*)"', log) == addresses * 3
        assert re.findall(r"begins anew in ms=(\d+)", log) == ["0", "1000"]
        assert re.findall(r"begun anew .* restarts=(\d+)", log) == ["1", "2"]
        with daemon.socket() as page:
            page.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
            text = b""
            while more := page.recv(1 << 16):
                text += more
        assert b"\nburnd_device_restarts_total 2\n" in text
        daemon.process.terminate()
        assert daemon.process.wait(60) == 0 and not os.path.exists(path)  # the file that the first process made


STARTER = """
import os, socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.bind(sys.argv[1])
sock.listen()
os.dup2(sock.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.mark.parametrize("managed", [False, True])
def test_who_began_anew_names_addresses_that_changed(cache, tmp_path, managed):
    """Also those that the configuration names; and the service manager's never, which it does not name."""
    path, config = str(tmp_path / "burnd.sock"), tmp_path / "burnd.conf"
    same = "tcp://127.0.0.1:0?insecure" + ("" if managed else f" unix://{path}")
    config.write_text(f"state_dir = {tmp_path}\nlisten = {same}\n")
    emulated = {"LD_LIBRARY_PATH": str(ROOT / "build/release/tests/emulator"), "BURND_DEVICE": "cuda",
                "BURND_CACHE_DIR": str(cache), "EMULATOR_FAIL": "gone:9"}
    starter = (sys.executable, "-c", STARTER, path) if managed else ()
    with wire.Daemon(f"--config={config}", environment=emulated, path=path, starter=starter) as daemon:
        def reload():
            return json.loads(ctl(daemon, "-o", "json", "reload"))["needs_restart"]

        addresses = re.findall(r'listening url="(.*)"', daemon.text())
        assert reload() == "" and len(addresses) == 2
        ctl(daemon, "token", "create", "one", "--expires=1h")
        config.write_text(f"state_dir = {tmp_path}\nlisten = {same} tcp://127.0.0.1:0?insecure\n")
        for _ in range(2):  # in time to be missed by the first process
            assert run(CLIENT, cache, BURN_URL="unix://" + path)[0] == ["begun", "lost"]
            run(AFTER, cache, BURN_URL="unix://" + path)
            assert reload() == "listen"
            with (tmp_path / "lock").open() as lock, pytest.raises(BlockingIOError):  # the state was the daemon's all the time
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        config.write_text(f"state_dir = {tmp_path}\nlisten = {same}\n")
        assert reload() == ""
        assert re.findall(r'listening url="(.*)"', daemon.text()) == addresses * 3
        daemon.process.terminate()
        assert daemon.process.wait(60) == 0 and os.path.exists(path) == managed


PRODUCTS = """
    rng = np.random.default_rng(1)
    def normal(dtype, *shape):
        tensor = burn.tensor(rng.standard_normal(shape).astype(np.float32)).to(dtype)
        return tensor, tensor.float().numpy().astype(np.float64)
    def near(got, want, limit):
        got = got.float().numpy()
        assert got.shape == want.shape and np.abs(got - want).max() <= limit * np.abs(want).max(), np.abs(got - want).max()
    for dtype, limit in ((burn.float32, 1e-5), (burn.bfloat16, 1e-2), (burn.float16, 2e-3)):
        (a, A), (b, B), (c, C) = normal(dtype, 130, 264), normal(dtype, 264, 136), normal(dtype, 136)
        turned_a, turned_b = a.T.contiguous(), b.T.contiguous()
        burn.sync()
        for left in (a, turned_a.T):
            for right in (b, turned_b.T):
                near(left @ right, A @ B, limit)
        near(F.gelu(a @ b + c, approximate="tanh"), (x := A @ B + C) / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))),
             2 * limit)
        near(a[1:129, 3:261] @ b[3:261, 1:], A[1:129, 3:261] @ B[3:261, 1:], limit)  # odd addresses
        near((a @ b).T.contiguous(), (A @ B).T, limit)
        near((a @ b).float(), A @ B, limit)
        (q, Q), (k, K) = normal(dtype, 2, 96, 3, 64), normal(dtype, 2, 120, 3, 64)  # heads inside
        burn.sync()
        scores = np.einsum("bmhd,bnhd->bhmn", Q, K)
        near(q.transpose(1, 2) @ k.permute(0, 2, 3, 1), scores, limit)
        (v, V), (w, W) = normal(dtype, 2, 3, 96, 120), normal(dtype, 3, 120, 200)
        burn.sync()
        near(v.transpose(-1, -2) @ q.transpose(1, 2), np.einsum("bhmn,bmhd->bhnd", V, Q), limit)
        near(v @ w, V @ W, limit)
        (x, X), (y, Y) = normal(dtype, 2, 24, 20, 19), normal(dtype, 40, 24, 3, 3)  # no matrices: copied first
        burn.sync()
        want = sum(np.einsum("bcij,oc->boij", np.pad(X, ((0, 0), (0, 0), (1, 1), (1, 1)))[:, :, i:i + 20, j:j + 19], Y[:, :, i, j])
                   for i in range(3) for j in range(3))
        near(F.relu(F.conv2d(x, y, padding=1)), np.maximum(want, 0), 2 * limit)
        (o, O), (p, P) = normal(dtype, 2, 3, 96, 64), normal(dtype, 192, 136)
        burn.sync()
        near(o.transpose(1, 2).reshape(2, 96, 192) @ p, O.transpose(0, 2, 1, 3).reshape(2, 96, 192) @ P, limit)
        near(F.linear(q.reshape(2, 96, 192), w.view(-1)[:192 * 300].view(300, 192), w.view(-1)[:300]),
             Q.reshape(2, 96, 192) @ W.reshape(-1)[:192 * 300].reshape(300, 192).T + W.reshape(-1)[:300], limit)
        (u, U), (c, C), (r, R) = normal(dtype, 256, 192), normal(dtype, 256), normal(burn.float32, 2, 96, 256)
        burn.sync()  # rows of sums by pieces of 16 bytes, beside a sum that others read too
        h, H = F.linear(q.reshape(2, 96, 192), u, c), Q.reshape(2, 96, 192) @ U.T + C
        near(F.relu(h).float() + r, np.maximum(H, 0) + R, 2 * limit)
        near(h, H, limit)
        with burn.autocast("cuda", burn.bfloat16, enabled=dtype == burn.bfloat16):  # a bias of 32 bits beside sums of 16
            near(F.linear(q.reshape(2, 96, 192), u, c.float() if dtype == burn.bfloat16 else c), H, limit)
    print("ok")
"""


@pytest.mark.parametrize("how", ["", "refuse", "fail"])
def test_products_by_the_library_and_without(cache, how):
    lines, log = run(PRODUCTS, cache, EMULATOR_BLAS=how, EMULATOR_DNN="old")
    assert lines == ["ok"]
    assert ("cuBLASLt refuses a product" in log) == (how == "fail")


CONVOLUTIONS = """
    rng = np.random.default_rng(3)
    def normal(dtype, *shape):
        tensor = burn.tensor(rng.standard_normal(shape).astype(np.float32)).to(dtype)
        return tensor, tensor.float().numpy().astype(np.float64)
    def near(got, want, limit):
        got = got.detach().float().numpy()
        assert got.shape == want.shape and np.abs(got - want).max() <= limit * np.abs(want).max(), np.abs(got - want).max()
    def windows(X, kernel, stride, padding, dilation):  # [N, C, k.., m..]
        X = np.pad(X, [(0, 0), (0, 0), *((p, p) for p in padding)])
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation)]
        axes = tuple(range(2, X.ndim))
        W = np.lib.stride_tricks.sliding_window_view(X, reach, axes)
        W = W[(slice(None), slice(None), *(slice(None, None, s) for s in stride), *(slice(None, None, d) for d in dilation))]
        return W
    names = "ijk"
    def check(dtype, limit, x_shape, w_shape, stride, padding, dilation, apply):
        n = len(stride)
        (x, X), (w, W), (b, B) = normal(dtype, *x_shape), normal(dtype, *w_shape), normal(dtype, w_shape[0])
        places, kernel = "ijk"[:n], "pqr"[:n]
        V = windows(X, w_shape[2:], stride, padding, dilation)
        Y = np.einsum(f"nc{places}{kernel},oc{kernel}->no{places}", V, W)
        G = rng.standard_normal(Y.shape).astype(np.float32)
        g = burn.tensor(G).to(dtype)
        G = g.float().numpy().astype(np.float64)
        burn.sync()
        x.requires_grad_(), w.requires_grad_()
        y = apply(x, w, stride=stride, padding=padding, dilation=dilation)
        near(y, Y, limit)
        y.backward(g)
        near(w.grad, np.einsum(f"nc{places}{kernel},no{places}->oc{kernel}", V, G), limit)
        D = np.zeros([s + 2 * p for s, p in zip(x_shape[2:], padding)])
        D = np.zeros((*x_shape[:2], *D.shape))
        full = np.einsum(f"no{places},oc{kernel}->nc{places}{kernel}", G, W)
        for at in np.ndindex(*w_shape[2:]):
            to = tuple(slice(k * d, k * d + s * (m - 1) + 1, s) for k, d, s, m in zip(at, dilation, stride, Y.shape[2:]))
            D[(slice(None), slice(None), *to)] += full[(..., *at)]
        D = D[(slice(None), slice(None), *(slice(p, p + s) for p, s in zip(padding, x_shape[2:])))]
        near(x.grad, D, limit)
        with burn.no_grad():  # an epilogue: the sums go through scratch
            near(F.relu(apply(x, w, b, stride=stride, padding=padding, dilation=dilation)),
                 np.maximum(Y + B.reshape(1, -1, *[1] * n), 0), 2 * limit)
    check(burn.float32, SINGLE, (4, 16, 30, 27), (24, 16, 3, 3), (1, 1), (1, 1), (1, 1), F.conv2d)
    if ALL:
        dtype, limit = burn.float32, SINGLE
        check(burn.bfloat16, 1e-2, (4, 16, 30, 27), (24, 16, 3, 3), (1, 1), (1, 1), (1, 1), F.conv2d)
        check(burn.float16, 2e-3, (5, 24, 30, 27), (16, 24, 3, 2), (1, 1), (0, 0), (1, 1), F.conv2d)
        check(dtype, limit, (3, 16, 33, 36), (40, 16, 3, 5), (2, 1), (1, 2), (1, 2), F.conv2d)
        check(dtype, limit, (40, 1, 28, 28), (40, 1, 5, 5), (1, 1), (0, 0), (1, 1), F.conv2d)
        check(dtype, limit, (3, 24, 500), (32, 24, 7), (1,), (3,), (1,), F.conv1d)
        check(dtype, limit, (2, 8, 12, 13, 14), (16, 8, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), F.conv3d)
    print("ok")
"""


@pytest.mark.parametrize("how, tf32, limit", [("", "off", 1e-5), ("", "convolutions", 1e-3), ("refuse", "off", 1e-5),
                                              ("fail", "off", 1e-5), ("old", "off", 1e-5)])
def test_convolutions_by_the_library_and_without(cache, how, tf32, limit):
    lines, log = run(CONVOLUTIONS.replace("SINGLE", str(limit)).replace("ALL", str(how == "")), cache, EMULATOR_DNN=how, BURND_TF32=tf32)
    assert lines == ["ok"]
    ran = {kind: log.count(f"cuDNN runs operation {kind}") for kind in (10, 11, 12)}  # forward, gradients of w and x
    assert all(ran.values()) if how == "" else not any(ran.values())
    assert ("cuDNN refuses a convolution" in log) == (how == "fail") and "refuses the sizes" not in log


def test_convolutions_round_to_tf32_only_where_it_is_allowed(cache):
    code = """
        x = burn.full((8, 16, 30, 30), 1 + 2.0 ** -12)
        w = burn.ones(16, 16, 3, 3)
        burn.sync()
        print(F.conv2d(x, w)[0, 0, 0, 0].item() > 144)
    """
    assert run(code, cache, BURND_TF32="off")[0] == ["True"]
    assert run(code, cache)[0] == ["False"]


def test_what_is_summed_down_columns_and_stored_over_what_it_is_made_of_is_made_once(cache):
    """67 columns are no whole number of warps: the threads beyond them have no column to store."""
    code = """
        rng = np.random.default_rng(6)
        X, W, B, G = (rng.standard_normal(shape).astype(np.float32) for shape in ((65, 31), (67, 31), (67,), (65, 67)))
        x, w, b = (burn.tensor(array, requires_grad=True) for array in (X, W, B))
        y = F.relu(F.linear(x, w, b)) * 2 + x.sum()
        assert np.abs(y.detach().numpy() - (2 * np.maximum(X @ W.T + B, 0) + X.sum())).max() < 1e-4
        (y * burn.tensor(G)).sum().backward()
        gradient = np.where(X @ W.T + B > 0, 2 * G, 0).astype(np.float64)
        for got, want in ((x.grad, gradient @ W + G.sum()), (w.grad, gradient.T @ X), (b.grad, gradient.sum(0))):
            assert np.abs(got.numpy() - want).max() < 1e-4, np.abs(got.numpy() - want).max()
        print("ok")
    """
    assert run(code, cache)[0] == ["ok"]


ATTENTION = """
    rng = np.random.default_rng(4)
    def near(got, want, limit):
        got = got.detach().float().numpy()
        assert got.shape == want.shape and np.abs(got - want).max() <= limit * np.abs(want).max(), np.abs(got - want).max()
    for dtype, limit in ((burn.bfloat16, 3e-2), (burn.float16, 4e-3)):
        for m, n, d, causal in ((80, 80, 64, True), (33, 150, 128, False), (150, 150, 24, True)):
            tensors = [burn.tensor(rng.standard_normal((2, 3, rows, d)).astype(np.float32)).to(dtype) for rows in (m, n, n, m)]
            Q, K, V, G = (t.detach().float().numpy().astype(np.float64) for t in tensors)
            q, k, v = (t.requires_grad_() for t in tensors[:3])
            y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            y.backward(tensors[3])
            scores = Q @ K.swapaxes(-1, -2) / np.sqrt(d)
            if causal:
                scores[..., ~np.tri(m, n, dtype=bool)] = -np.inf
            e = np.exp(scores - scores.max(-1, keepdims=True))
            p = e / e.sum(-1, keepdims=True)
            gp = G @ V.swapaxes(-1, -2)
            gs = p * (gp - (gp * p).sum(-1, keepdims=True)) / np.sqrt(d)
            near(y, p @ V, limit)
            near(q.grad, gs @ K, limit)
            near(k.grad, gs.swapaxes(-1, -2) @ Q, limit)
            near(v.grad, p.swapaxes(-1, -2) @ G, limit)
    print("ok")
"""


def test_attention_and_its_gradient(cache):
    assert run(ATTENTION, cache)[0] == ["ok"]


AGAIN = """
    rng = np.random.default_rng(2)
    X, *W = (rng.standard_normal((32, 32)).astype(np.float32) for _ in range(6))
    x, *w = map(burn.tensor, (X, *W))
    @burn.jit
    def chain(x, *w):
        for factor in w:
            x = F.softmax(x @ factor, -1)
        return x
    for number in range(6):
        x[0, 0] = X[0, 0] = number  # the same memory with other values
        burn.sync()
        want = X.astype(np.float64)
        for factor in W:
            e = np.exp(want @ factor)
            want = e / e.sum(-1, keepdims=True)
        assert np.abs(chain(x, *w).numpy() - want).max() < 1e-6
    print("ok")
"""


@pytest.mark.parametrize("how", ["", "graph"])
def test_what_comes_again_runs_as_a_graph(cache, how):
    lines, log = run(AGAIN, cache, EMULATOR_FAIL=how)
    assert lines == ["ok"]
    assert ("a graph runs" in log) == (how == "") and ("has no graph" in log) == (how == "graph")


TRAINED = """
    import sys, burn.nn as nn
    burn.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(2304, 10))
    optimizer = burn.optim.Adam(net.parameters(), 1e-2)
    x, y = burn.randn(8, 8, 12, 12), burn.arange(8)
    q = burn.randn(1, 2, 40, 16).to(burn.bfloat16)
    try:
        for step in range(3):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            print(loss.item())
        print(F.scaled_dot_product_attention(q, q, q, is_causal=True).float().sum().item())
    except burn.Error as error:
        assert "not cached" in str(error), error
        print("refused", burn.ping() > 0)
    kernels = burn.stats()["kernels"]
    print(kernels["compiles"], kernels["cache_hits"])
"""


def test_a_second_daemon_that_may_not_compile_runs_from_the_cache(tmp_path):
    """Products and convolutions by the library, and by kernels of the cache where it refuses."""
    tmp_path.chmod(0o700)
    assert run(TRAINED, tmp_path, BURND_COMPILE="never")[0] == ["refused True", "0 0"]
    first = run(TRAINED, tmp_path)[0]
    compiles, hits = map(int, first[-1].split())
    assert len(first) == 5 and compiles > 5 and hits == 0
    for refused in ("", "refuse"):
        again = run(TRAINED, tmp_path, BURND_COMPILE="never", EMULATOR_BLAS=refused, EMULATOR_DNN=refused)[0]
        assert again[-1] == f"0 {compiles}"
        near = [abs(float(a) - float(b)) <= 1e-3 * max(1, abs(float(b))) for a, b in zip(again[:-1], first[:-1])]
        assert len(near) == 4 and all(near), (again, first)


def test_a_module_that_is_gone_from_the_cache_is_compiled_again(tmp_path):
    """A program's modules are files of their own: without one of them the kernel is none of the cache's."""
    tmp_path.chmod(0o700)
    lines = run(TRAINED, tmp_path)[0]
    compiles = int(lines[-1].split()[0])
    files = sorted(tmp_path.rglob("*.obj"))
    assert len(files) > compiles + 8  # products and attention have several
    largest = max(files, key=lambda file: file.stat().st_size)
    largest.unlink()
    assert run(TRAINED, tmp_path, BURND_COMPILE="never")[0][-1].startswith("0 ")  # and refused
    again = run(TRAINED, tmp_path)[0]
    assert again[:-1] == lines[:-1]
    assert again[-1] == f"1 {compiles - 1}"
    assert sorted(tmp_path.rglob("*.obj")) == files


def test_a_new_daemon_makes_the_compiler_ready_where_nothing_is_cached(tmp_path):
    tmp_path.chmod(0o700)
    run("burn.ping()", tmp_path, BURND_COMPILE="never")
    assert not list(tmp_path.rglob("*.obj"))
    run("import time\nburn.ping()\nbegin = time.time()\n"
        f"while not any(__import__('pathlib').Path({str(tmp_path)!r}).rglob('*.obj')): assert time.time() < begin + 120", tmp_path)
    made = {file: file.stat().st_ino for file in tmp_path.rglob("*.obj")}  # a file that is made anew is another one; using it changes its times
    assert len(made) == 1
    run("burn.sync()", tmp_path)
    assert {file: file.stat().st_ino for file in tmp_path.rglob("*.obj")} == made
