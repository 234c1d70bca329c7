# SPDX-License-Identifier: Apache-2.0
"""The C library and Python over TLS: trust, pins, tokens, certificates; errors that say what to do."""

import json
import os
import re
import socket
import subprocess
import sys
import threading

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from authority import Authority
from test_identities import Tokens
from wire import ROOT, Daemon

BURNCTL = str(ROOT / "build/release/bin/burnctl")


@pytest.fixture
def place(tmp_path):
    return tmp_path


def python(program, url, **environment):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
                          env=dict(os.environ, BURN_URL=url, **environment))
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def ping(url, **environment):
    done = subprocess.run([BURNCTL, "--url", url, "ping"], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, **environment))
    return done.returncode, done.stderr


def pin_of(daemon):
    return re.search(r"pin=(sha256:\w+)", daemon.text())[1]


TRAINS = """
import burn
burn.manual_seed(1)
model = burn.nn.Linear(4, 3)
sgd = burn.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    sgd.zero_grad()
    loss = (model(burn.ones(8, 4)) ** 2).mean()
    loss.backward()
    sgd.step()
big = burn.arange(6_000_000, dtype=burn.float32).reshape(2000, 3000)
array = big.numpy()
again = burn.tensor(array)
print(repr(loss.item()), float((again - big).abs().max()), array[-1, -1])
"""


def test_python_trains_over_tls_as_over_a_unix_socket(place):
    token = Tokens(place).add("me", "compute")
    with Daemon(f"--state-dir={place}", tls=True) as daemon:
        url = f"tls://127.0.0.1:{daemon.tls_port()}?pin={pin_of(daemon)}"
        remote = python(TRAINS, url, BURN_TOKEN=token)
        assert re.fullmatch(r"[\d.e-]+ 0\.0 5\.999999e\+06", remote), remote
        assert remote == python(TRAINS, "unix://" + daemon.path)


def test_many_threads_share_a_connection_over_tls(place):
    token = Tokens(place).add("me", "compute")
    program = """
import threading, burn
def work(k):
    for i in range(20):
        x = burn.full((300, 700), float(k + i))
        y = burn.tensor(x.numpy())
        assert (y + 1).sum().item() == 210000.0 * (k + i + 1)
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
print("done")
"""
    with Daemon(f"--state-dir={place}", tls=True) as daemon:
        assert python(program, f"tls://127.0.0.1:{daemon.tls_port()}?pin={pin_of(daemon)}", BURN_TOKEN=token) == "done"


def test_trust(place):
    authority = Authority(place)
    certificate, key = authority.issue("server", "/CN=server", hosts="DNS:localhost")
    token_file = place / "token"
    token_file.touch(0o600)
    token_file.write_text(Tokens(place).add("me", "compute") + "\n")
    known = {"BURN_CA_FILE": authority.path(), "BURN_TOKEN_FILE": str(token_file)}
    with Daemon(f"--state-dir={place}", f"--certificate={certificate}", f"--private-key={key}", tls=True) as daemon:
        port, pin = daemon.tls_port(), pin_of(daemon)
        assert ping(f"tls://localhost:{port}", **known) == (0, "")
        assert ping(f"tls://127.0.0.1:{port}?pin={pin}", BURN_TOKEN_FILE=str(token_file)) == (0, "")
        assert ping(f"tls://127.0.0.1:{port}?pin={pin.upper().replace('SHA256', 'sha256')}", BURN_TOKEN_FILE=str(token_file))[0] == 0
        for url, settings, says in (
                (f"tls://127.0.0.1:{port}", known, 'the certificate is not for "127.0.0.1"'),
                (f"tls://localhost:{port}", {}, "the certificate is not trusted"),
                (f"tls://localhost:{port}?pin=sha256:{'0' * 64}", known, f"has the pin {pin}"),
                (f"tls://localhost:{port}?pin=sha256:00", known, "64 hex digits"),
                (f"tls://localhost:{port}", {"BURN_CA_FILE": str(token_file)}, "holds no PEM certificates"),
                (f"tls://localhost:{port}", {"BURN_CERT_FILE": certificate}, "belong together"),
                (f"tls://localhost:{port}?pin={pin}", {}, "a token is needed here"),
                (f"tls://localhost:{port}?pin={pin}", {"BURN_TOKEN": "burn_wrong"}, "the token is not known here"),
                (f"tls://localhost:{port}?pin={pin}", {"BURN_TOKEN": "two words"}, "BURN_TOKEN holds no token"),
                (f"tls://localhost:{port}?pin={pin}", {"BURN_TOKEN_FILE": "/nowhere"}, "BURN_TOKEN_FILE names /nowhere"),
                (f"tcp://localhost:{port}", known, "write tls://")):
            code, text = ping(url, **settings)
            assert code == 69 and says in text, (url, text)
            assert text.startswith("burnctl: no daemon answers: " if url.startswith("tcp:") else "burnctl: cannot connect: "), text
            assert token_file.read_text().strip() not in text


@pytest.mark.parametrize("url, says", [
    ("tls://127.0.0.1:99999", 'the port is a number from 1 to 65535, not "99999"'), ("tcp://127.0.0.1:0", "the port is"),
    ("tcp://[::1", "stands within brackets"), ("wss://[::1]x:1", "stands within brackets"), ("tls://[]:1", "stands within brackets"),
    ("wss://127.0.0.1:-1", "the port is"), ("ws://[::1]:http", "the port is"), ("tls://127.0.0.1:18446744073709551617", "expected a host and a port"),
    ("tls://127.0.0.1:1?foo=abc", '"foo=abc" is none of device=NAME, pin=sha256:HEX and resume=SECONDS'), ("tls://127.0.0.1:1?pin", '"pin" is none of'),
    ("unix:///nowhere/s?devices=ref", '"devices=ref" is none of'), ("tcp://127.0.0.1:1?resume=1&", '"" is none of'),
    ("tcp://127.0.0.1:1?insecureX", '"insecureX" is none of'), ("tcp://127.0.0.1:1?insecure=0", '"insecure=0" is none of'),
    ("private:?Device=ref", '"Device=ref" is none of'), ("tls://127.0.0.1:1?device=" + "x" * 64, "the name of a device is shorter"),
    ("unix:///" + "x" * 300, "a URL has at most 255 bytes")])
def test_a_wrong_url_is_refused_before_anybody_is_asked(url, says):
    code, text = ping(url)
    assert code == 69 and text.startswith("burnctl: cannot connect: ") and says in text, text


def test_another_certificate_for_the_same_key_keeps_pinned_urls(place):
    token = Tokens(place).add("me", "compute")
    with Daemon(f"--state-dir={place}", tls=True) as daemon:
        pin = pin_of(daemon)
    subprocess.run(["openssl", "req", "-new", "-x509", "-key", f"{place}/private_key.pem", "-subj", "/CN=other", "-out", f"{place}/other.pem"],
                   check=True, capture_output=True)
    with Daemon(f"--state-dir={place}", f"--certificate={place}/other.pem", f"--private-key={place}/private_key.pem", tls=True) as daemon:
        assert ping(f"tls://127.0.0.1:{daemon.tls_port()}?pin={pin}", BURN_TOKEN=token) == (0, "")


def test_files_with_secrets_that_others_can_read(place):
    """Refused as ssh and PostgreSQL's clients refuse such keys: more than 0600, or 0640 where root owns the file."""
    authority = Authority(place)
    token_file = place / "token"
    token_file.write_text(Tokens(place).add("me", "compute") + "\n")
    certificate, key = authority.issue("client", "/CN=client")
    with Daemon(f"--state-dir={place}", f"--client-ca={authority.path()}", "--certificate-scopes=compute", tls=True) as daemon:
        url = f"tls://127.0.0.1:{daemon.tls_port()}?pin={pin_of(daemon)}"
        for variable, path, others in (("BURN_TOKEN_FILE", str(token_file), {}), ("BURN_KEY_FILE", key, {"BURN_CERT_FILE": certificate})):
            def says(mode, owner=os.geteuid()):
                os.chmod(path, mode)
                os.chown(path, owner, -1)
                return ping(url, **{variable: path}, **others)

            for mode in (0o644, 0o620, 0o604, 0o660, 0o602):
                assert says(mode) == (69, f"burnctl: cannot connect: {variable} names {path}, and others could read or change it, as its "
                                          f"mode is {mode:04o}: chmod 600 {path}\n"), oct(mode)
            assert says(0o600) == says(0o400) == (0, "")
            if os.geteuid() == 0:
                assert says(0o640) == (0, "") and "chmod 600" in says(0o640, 12345)[1] and says(0o600, 12345) == (0, "")
        (place / "tokens").chmod(0o604)  # the daemon's own
        done = subprocess.run([BURNCTL, "--url", "unix://" + daemon.path, "reload"], capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and f"chmod 600 {place}/tokens" in done.stderr, done.stderr
        assert f"all stays as it was: {place}/tokens: its mode is 0604" in daemon.text()
        token_file.chmod(0o600)
        assert ping(url, BURN_TOKEN_FILE=str(token_file)) == (0, "")
        token_file.chmod(0o604)
        program = f"import burn\ntry:\n    burn.ones(1)\nexcept PermissionError as error:\n    print(type(error).__name__, 'chmod 600 {token_file}' in str(error))"
        assert python(program, url, BURN_TOKEN_FILE=str(token_file)) == "DeniedError True"


def test_names_are_the_identitys_not_the_tokens(place):
    """A token of the same name later has what the first one published."""
    def ctl(*words):
        return subprocess.run([BURNCTL, "--url", "unix://" + daemon.path, "-o", "json", *words], capture_output=True, text=True, check=True).stdout

    with Daemon(f"--state-dir={place}", tls=True) as daemon:
        url = f"tls://127.0.0.1:{daemon.tls_port()}?pin={pin_of(daemon)}"
        first = json.loads(ctl("invite", "alice"))["token"]
        assert python("import burn; burn.names.publish('w', burn.ones(3))", url, BURN_TOKEN=first) == ""
        second = json.loads(ctl("invite", "alice-2"))["token"]  # both at once, without a gap
        assert "[]" == python("import burn; print(burn.names.list())", url, BURN_TOKEN=second)
        ctl("token", "revoke", "alice")
        again = json.loads(ctl("invite", "alice"))["token"]
        assert python("import burn; print(burn.names.get('w').tolist())", url, BURN_TOKEN=again) == "[1.0, 1.0, 1.0]"
        assert "not known" in python("import burn; burn.names.list()", url, BURN_TOKEN=first)


def test_an_expired_certificate(place):
    authority = Authority(place)
    certificate, key = authority.issue("server", "/CN=server", hosts="DNS:localhost", days=-1)
    with Daemon(f"--state-dir={place}", f"--certificate={certificate}", f"--private-key={key}", tls=True) as daemon:
        code, text = ping(f"tls://localhost:{daemon.tls_port()}", BURN_CA_FILE=authority.path())
        assert code == 69 and "has expired" in text, text


def test_client_certificates(place):
    authority = Authority(place)
    certificate, key = authority.issue("client", "/O=Burn/CN=client")
    with Daemon(f"--client-ca={authority.path()}", "--certificate-scopes=compute admin", tls=True) as daemon:
        url = f"tls://127.0.0.1:{daemon.tls_port()}?pin={pin_of(daemon)}"
        done = subprocess.run([BURNCTL, "--url", url, "-o", "json", "sessions"], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, BURN_CERT_FILE=certificate, BURN_KEY_FILE=key))
        assert done.returncode == 0 and '"principal": "cert:CN=client,O=Burn"' in done.stdout, done.stderr
        stranger = Authority(place, "stranger").issue("mallory", "/CN=mallory")
        code, text = ping(url, BURN_CERT_FILE=stranger[0], BURN_KEY_FILE=stranger[1])
        assert code == 69 and "unknown ca" in text, text


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"\x89BRN\r\n\x1a\n" + bytes(8), os.urandom(200)])
def test_what_does_not_speak_tls(answer):
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        peer, _ = listener.accept()
        peer.recv(4096)
        peer.sendall(answer)
        peer.close()

    thread = threading.Thread(target=serve)
    thread.start()
    code, text = ping(f"tls://127.0.0.1:{listener.getsockname()[1]}")
    thread.join()
    listener.close()
    assert code == 69 and ("TLS" in text or "within the TLS handshake" in text), text


def test_a_daemon_that_dies_is_noticed_over_tls(place):
    token = Tokens(place).add("me", "compute")
    program = """
import os, signal, burn
x = burn.ones(1000)
x.sum().item()
os.kill(int(os.environ["DAEMON"]), signal.SIGKILL)
try:
    while True:
        x.sum().item()
except ConnectionError as error:
    print("lost:", error)
"""
    daemon = Daemon(f"--state-dir={place}", tls=True)
    said = python(program, f"tls://127.0.0.1:{daemon.tls_port()}?pin={pin_of(daemon)}", BURN_TOKEN=token,
                  DAEMON=str(daemon.process.pid))
    daemon.process.wait()
    daemon.log.close()
    daemon.folder.cleanup()
    assert said.startswith("lost: "), said


def test_what_ended_a_connection_is_told_from_what_a_call_needs(place):
    token = Tokens(place).add("boss", "admin")
    program = """
import burn
def says(f):
    try:
        f()
    except burn.DeniedError as error:
        print(str(error).split(";")[0])
says(burn.mint_token)
says(lambda: (burn.ones(3) + 1).sum().item())
says(burn.mint_token)
burn.connect()
says(burn.mint_token)
"""
    with Daemon(f"--state-dir={place}", tls=True) as daemon:
        said = python(program, f"tls://127.0.0.1:{daemon.tls_port()}?pin={pin_of(daemon)}", BURN_TOKEN=token).splitlines()
    ops = "the daemon ended the connection: OPS needs a scope of infer,compute"
    assert said == ["TOKEN_MINT needs a scope of mint", ops, ops, "TOKEN_MINT needs a scope of mint"]


LEFT = """
import sys, burn
x = burn.ones(3)
assert x.sum().item() == 3
print("ready", flush=True)
sys.stdin.readline()
try:
    (x + 1).sum().item()
    print("answered")
except burn.Error as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("scheme", ("unix", "tcp", "tls", "ws", "wss"))
def test_a_drained_daemon_is_not_waited_for(place, scheme):
    """A client that was idle while the daemon ended finds its last words."""
    token = Tokens(place).add("me", "compute")
    with Daemon(f"--state-dir={place}", "--resume-grace=1h", tls=True, tcp=True) as daemon:
        secure = scheme in ("tls", "wss")
        port = daemon.tls_port() if secure else daemon.tcp_port()
        url = f"{scheme}://127.0.0.1:{port}" + f"?pin={pin_of(daemon)}" * secure if scheme != "unix" else "unix://" + daemon.path
        with subprocess.Popen([sys.executable, "-c", LEFT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env=dict(os.environ, BURN_URL=url, **{"BURN_TOKEN": token} if secure else {})) as client:
            try:
                assert client.stdout.readline() == "ready\n"
                daemon.process.terminate()
                daemon.process.wait(60)
                said = client.communicate("\n", timeout=120)[0]
            finally:
                client.kill()
    assert said.startswith(f"ConnectionError the daemon at {url} closed the connection: it was shut down; burn.connect()"), said


def test_large_downloads_are_no_slow_reader():
    """What is kept for a resumption counts, but ends no connection that reads."""
    program = """
import numpy, burn
big = numpy.arange(16 << 20, dtype=numpy.float32)
x = burn.tensor(big)
print(all((x.numpy() == big).all() for _ in range(4)))
"""
    with Daemon("--outbound=4MiB", tcp=True) as daemon:
        assert python(program, f"tcp://127.0.0.1:{daemon.tcp_port()}") == "True"
        assert "bytes wait for it" not in daemon.text()
