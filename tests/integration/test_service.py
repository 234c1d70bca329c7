# SPDX-License-Identifier: Apache-2.0
"""burnd under a service manager: what it says to it, sockets that it inherits, and the units in deploy/systemd, under
whose filter of system calls it must still make code and run it."""

import ctypes
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import pytest

sys.path.insert(0, os.path.dirname(__file__))

import wire
from wire import BURND, Wire, eventually, frame

UNITS = wire.ROOT / "deploy/systemd"


class Manager:
    """Receives what a service says."""

    def __init__(self, folder, abstract=False):
        self.name = f"\0burnd-test-{os.getpid()}" if abstract else folder + "/notify"
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.sock.bind(self.name)
        self.sock.settimeout(20)
        self.environment = {"NOTIFY_SOCKET": self.name.replace("\0", "@"), "XDG_CACHE_HOME": folder + "/cache"}

    def next(self):
        return dict(line.split("=", 1) for line in self.sock.recv(4096).decode().split("\n"))

    def until(self, key):
        while key not in (said := self.next()):
            pass
        return said


@pytest.mark.parametrize("abstract", [False, True])
def test_what_it_says(abstract):
    with tempfile.TemporaryDirectory(prefix="burnd-service-") as folder:
        manager = Manager(folder, abstract)
        path = folder + "/burnd.sock"
        process = subprocess.Popen([BURND, "--listen=unix://" + path], stderr=subprocess.DEVNULL,
                                   env=dict(os.environ, **manager.environment, WATCHDOG_USEC="200000"))
        said = manager.next()
        assert said["READY"] == "1" and said["STATUS"] == f"serving on unix://{path}"
        assert os.path.exists(path)
        for _ in range(3):
            assert manager.until("WATCHDOG")["WATCHDOG"] == "1"
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path)
        client = Wire(sock)
        while "1 sessions" not in manager.until("WATCHDOG")["STATUS"]:
            pass
        client.close()
        process.terminate()
        assert "draining" in manager.until("STOPPING")["STATUS"]
        assert process.wait(20) == 0


def test_reloads_are_told():
    with tempfile.TemporaryDirectory(prefix="burnd-service-") as folder:
        manager = Manager(folder)
        config = pathlib.Path(folder) / "burnd.conf"
        config.write_text("idle_timeout = 7s\n")
        process = subprocess.Popen([BURND, f"--listen=unix://{folder}/s", f"--config={config}"], stderr=subprocess.DEVNULL,
                                   env=dict(os.environ, **manager.environment))
        assert "READY" in manager.next()
        for text, says in (("idle_timeout = 8s\n", "reloaded"), ("idle_timeout = soon\n", "reload failed"), ("", "reloaded")):
            config.write_text(text)
            before = time.monotonic_ns() // 1000
            process.send_signal(signal.SIGHUP)
            said = manager.next()
            assert said["RELOADING"] == "1" and before <= int(said["MONOTONIC_USEC"]) <= time.monotonic_ns() // 1000
            said = manager.next()
            assert said["READY"] == "1" and said["STATUS"].startswith(says), said
        process.terminate()
        assert "STOPPING" in manager.next()
        assert process.wait(20) == 0


def test_no_watchdog_of_another_process():
    with tempfile.TemporaryDirectory(prefix="burnd-service-") as folder:
        manager = Manager(folder)
        process = subprocess.Popen([BURND, f"--listen=unix://{folder}/s"], stderr=subprocess.DEVNULL,
                                   env=dict(os.environ, **manager.environment, WATCHDOG_USEC="10000", WATCHDOG_PID="1"))
        assert "READY" in manager.next()
        time.sleep(0.2)
        process.terminate()
        assert "STOPPING" in manager.next()
        process.wait(20)


def test_inherited_sockets():
    if not shutil.which("systemd-socket-activate"):
        pytest.skip("systemd-socket-activate is not installed")
    with tempfile.TemporaryDirectory(prefix="burnd-service-") as folder:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        path = folder + "/burnd.sock"
        process = subprocess.Popen(
            ["systemd-socket-activate", "-l", path, "-l", f"127.0.0.1:{port}", "-E", f"XDG_CACHE_HOME={folder}/cache",
             "-E", f"XDG_STATE_HOME={folder}/state", "-E", "HOME=" + folder, BURND], stderr=subprocess.PIPE, text=True)
        assert eventually(lambda: os.path.exists(path), 20)
        os.chmod(path, 0o600)
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(path)  # starts burnd
        client = Wire(sock)
        assert client.sync()[:2] == [1, 0]
        tcp = socket.create_connection(("127.0.0.1", port))
        tcp.sendall(b"GET /livez HTTP/1.1\r\n\r\n")  # TCP speaks TLS
        tcp.settimeout(60)
        assert b"TLS is spoken here" in b"".join(iter(lambda: tcp.recv(1000), b""))
        tcp.close()
        if shutil.which("openssl"):
            run = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_3", "-brief"], input="",
                                 capture_output=True, text=True, timeout=20)
            assert "TLSv1.3" in run.stderr
        process.terminate()
        log = process.communicate(timeout=20)[1]
        assert f"listening url=\"unix://{path}\"" in log and f"listening url=\"tls://127.0.0.1:{port}\"" in log
        assert process.returncode == 0
        assert os.path.exists(path), "the socket is the service manager's"
        client.close()


def test_wrong_inherited_sockets():
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
        with tempfile.TemporaryDirectory(prefix="burnd-service-") as folder, socket.socket(socket.AF_UNIX, kind) as sock:
            sock.bind(folder + "/wrong")  # and does not listen
            code = (f"import os; os.dup2({sock.fileno()}, 3); os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()));"
                    f"os.execv({BURND!r}, ['burnd'])")
            run = subprocess.run([sys.executable, "-c", code], pass_fds=[sock.fileno()], capture_output=True, text=True, timeout=20)
            assert run.returncode == 78 and "LISTEN_FDS: descriptor 3 is no Unix or TCP socket that listens" in run.stderr


# ---- the units ----


def analyze(*arguments):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, timeout=60)


def test_exposure():
    run = analyze("security", "--offline=true", "--threshold=25", str(UNITS / "burnd.service"))
    assert run.returncode == 0, run.stdout
    assert float(re.search(r"exposure level for burnd.service: ([\d.]+)", run.stdout)[1]) <= 2.5


def test_units_are_well_formed(tmp_path):
    for unit in ("burnd.service", "burnd.socket"):
        text = (UNITS / unit).read_text().replace("/usr/bin/burnd", BURND)
        (tmp_path / unit).write_text(text)
    (tmp_path / "burnd.service.d").mkdir()
    shutil.copy(UNITS / "gpu.conf", tmp_path / "burnd.service.d")
    run = analyze("verify", str(tmp_path / "burnd.service"), str(tmp_path / "burnd.socket"))
    ours = [line for line in run.stderr.splitlines() if "burnd" in line or "gpu.conf" in line]
    assert run.returncode == 0 and not ours, run.stderr


def test_a_reload_is_checked_before(tmp_path):
    """systemctl reload runs one line of the unit after the other, and fails with the first that does."""
    lines = re.findall(r"^ExecReload=(.*)$", (UNITS / "burnd.service").read_text(), re.M)
    state = {"BURND_STATE_DIR": str(tmp_path)}
    (tmp_path / "tokens").touch(0o600)
    with wire.Daemon(environment=state) as daemon:
        def reload():
            for line in lines:
                done = subprocess.run(line.replace("/usr/bin/burnd", BURND).replace("$MAINPID", str(daemon.process.pid)).split(),
                                      env=dict(os.environ, **state), capture_output=True, text=True, timeout=60)
                if done.returncode:
                    return done.stderr
            return "done"

        (tmp_path / "tokens").chmod(0o640)
        assert "its mode is 0640" in reload() and "reload" not in daemon.text()
        (tmp_path / "tokens").chmod(0o600)
        assert reload() == "done" and eventually(lambda: "reloaded tokens=0" in daemon.text(), 20)


def calls_of(groups):
    names, todo = set(), list(groups)
    listing = analyze("syscall-filter").stdout
    members = {}
    for block in re.split(r"\n(?=@)", listing):
        lines = [line.strip() for line in block.splitlines()]
        members[lines[0]] = [line for line in lines[1:] if line and not line.startswith("#")]
    while todo:
        name = todo.pop()
        if name.startswith("@"):
            todo += members[name]
        else:
            names.add(name)
    return names


def test_code_is_made_and_run_under_the_units_filter(tmp_path):
    """The filter that systemd would set up for SystemCallFilter and MemoryDenyWriteExecute, made here from the unit."""
    header = pathlib.Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if os.uname().machine != "x86_64" or not header.exists():
        pytest.skip("needs x86-64 and the kernel's headers")
    numbers = {m[1]: int(m[2]) for m in re.finditer(r"#define __NR_(\w+) (\d+)", header.read_text())}
    rows = re.findall(r"^SystemCallFilter=(~?)(.*)$", (UNITS / "burnd.service").read_text(), re.M)
    allowed = set()
    for deny, groups in rows:
        allowed = allowed - calls_of(groups.split()) if deny else allowed | calls_of(groups.split())
    allowed |= calls_of(["@default"]) | {"execve"}  # systemd lets both through
    launcher = tmp_path / "launcher.py"
    launcher.write_text(LAUNCHER.format(numbers=sorted(numbers[name] for name in allowed if name in numbers),
                                        mmap=numbers["mmap"], mprotect=numbers["mprotect"], burnd=BURND))
    run = subprocess.run([sys.executable, str(launcher), "--self-test"], capture_output=True, text=True, timeout=60)
    assert run.stdout == "held\n", run.stdout + run.stderr
    path = str(tmp_path / "s")
    log = open(tmp_path / "log", "w")
    # Built with ASan, a daemon looks for leaks at its end by ptrace, which the filter refuses; all its other checks are made.
    no_ptrace = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    process = subprocess.Popen([sys.executable, str(launcher), f"--listen=unix://{path}", f"--cache-dir={tmp_path}/cache"], stderr=log,
                               env=os.environ | no_ptrace)
    assert eventually(lambda: os.path.exists(path), 20), open(tmp_path / "log").read()
    program = """
import burn
x = burn.linspace(0, 1, 4096).reshape(64, 64).requires_grad_()
y = (burn.softmax(x @ x, 1) * x.exp()).sum()
y.backward()
print(float(y), float(x.grad.sum()), int(burn.arange(1000).cumsum(0)[-1]), float(burn.nn.functional.gelu(x).mean()))
"""
    results = []
    for url in (f"unix://{path}", "private:"):
        run = subprocess.run([str(wire.ROOT / "build/venv/bin/python"), "-c", program], capture_output=True, text=True, timeout=120,
                             env=dict(os.environ, BURN_URL=url, BURND=BURND))
        assert run.returncode == 0, run.stderr + open(tmp_path / "log").read()
        results.append(run.stdout)
    assert results[0] == results[1] and "499500" in results[0]
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


LAUNCHER = """
import ctypes, errno, mmap, os, struct, sys
ALLOWED = {numbers}
libc = ctypes.CDLL(None, use_errno=True)
LD, JEQ, JSET, RET = 0x20, 0x15, 0x45, 0x06
DENY, ALLOW = 0x00050000 | errno.EPERM, 0x7FFF0000
def op(code, k, yes=0, no=0):
    return struct.pack('HBBI', code, yes, no, k)
program = [op(LD, 0),
           # mmap: not writable and executable at once; mprotect: never executable
           op(JEQ, {mmap}, 0, 3), op(LD, 32), op(JSET, 4, 0, 5), op(JSET, 2, 3, 4),
           op(JEQ, {mprotect}, 0, 4), op(LD, 32), op(JSET, 4, 0, 1), op(RET, DENY), op(RET, ALLOW)]
for number in ALLOWED:
    program += [op(JEQ, number, 0, 1), op(RET, ALLOW)]
program.append(op(RET, DENY))
code = ctypes.create_string_buffer(b''.join(program))
class Filter(ctypes.Structure):
    _fields_ = [('count', ctypes.c_ushort), ('code', ctypes.c_void_p)]
libc.prctl(38, 1, 0, 0, 0)
if libc.prctl(22, 2, ctypes.byref(Filter(len(program), ctypes.addressof(code))), 0, 0) != 0:
    sys.exit('no filter: ' + os.strerror(ctypes.get_errno()))
if sys.argv[1:] == ['--self-test']:
    def refused(what):
        try:
            what()
        except PermissionError:
            return True
    both = refused(lambda: mmap.mmap(-1, 4096, prot=7))
    page = mmap.mmap(-1, 4096, prot=3)
    later = libc.mprotect(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page))), 4096, 5) == -1
    mount = libc.mount(b'a', b'b', b'c', 0, None) == -1 and ctypes.get_errno() == errno.EPERM
    mmap.mmap(-1, 4096, prot=5)
    print('held' if both and later and mount else (both, later, mount))
    sys.exit()
os.execv('{burnd}', ['burnd', *sys.argv[1:]])
"""
