# SPDX-License-Identifier: Apache-2.0
"""The TLS listener, against peers that are not ours: Python's ssl, openssl s_client, sslscan."""

import hashlib
import os
import re
import shutil
import socket
import ssl
import stat
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from authority import Authority, openssl
from baseline import MIB, Baseline
from wire import BURND, CODES, PREFACE, Closed, Daemon, U8, Wire, eventually, frame, hello


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


def client_context(daemon, certificate=None, protocols=("burnd/1",)):
    context = ssl.create_default_context(cafile=daemon.certificate())
    if protocols:
        context.set_alpn_protocols(list(protocols))
    if certificate:
        context.load_cert_chain(*certificate)
    return context


def connect(daemon, **options):
    sock = socket.create_connection(("127.0.0.1", daemon.tls_port()), timeout=10)
    return client_context(daemon, **options).wrap_socket(sock, server_hostname="localhost")


def s_client(daemon, *arguments):
    return openssl("s_client", "-connect", f"127.0.0.1:{daemon.tls_port()}", "-CAfile", daemon.certificate(), *arguments, text="")


def connections(daemon):
    client = daemon.connect()
    counters = client.report("STATS")["connections"]
    client.close()
    return counters


def test_tls_13_only_and_our_protocols_only():
    with Daemon(tls=True) as daemon:
        for version in ("-tls1_1", "-tls1_2"):
            old = s_client(daemon, version, "-cipher", "ALL:@SECLEVEL=0")
            assert old.returncode != 0 and "alert protocol version" in old.stderr, old.stderr
        for offered in ("burnd/1", "http/1.1"):
            now = s_client(daemon, "-tls1_3", "-alpn", offered, "-verify_return_error", "-verify_hostname", "localhost")
            assert now.returncode == 0, now.stderr
            assert f"ALPN protocol: {offered}" in now.stdout and "TLSv1.3" in now.stdout
            assert "Session Ticket" not in now.stdout and "Max Early Data" not in now.stdout
        other = s_client(daemon, "-alpn", "h2")
        assert other.returncode != 0 and "no application protocol" in other.stderr
        assert "NONE" in s_client(daemon, "-legacy_renegotiation", "-comp").stdout
        assert connections(daemon)["handshakes_failed"] >= 3


@pytest.mark.skipif(not shutil.which("sslscan"), reason="sslscan is not installed")
def test_sslscan_sees_tls_13_only():
    with Daemon(tls=True) as daemon:
        said = subprocess.run(["sslscan", "--no-colour", f"127.0.0.1:{daemon.tls_port()}"], capture_output=True, text=True, timeout=60).stdout
        versions = dict(re.findall(r"^(SSLv\d|TLSv1\.\d)\s+(enabled|disabled)", said, re.M))
        assert versions == {"SSLv2": "disabled", "SSLv3": "disabled", "TLSv1.0": "disabled", "TLSv1.1": "disabled",
                            "TLSv1.2": "disabled", "TLSv1.3": "enabled"}, said
        assert "vulnerable to heartbleed" not in re.sub(r"not vulnerable", "", said)
        assert daemon.connect().sync()[1] == CODES["OK"]


def test_first_start_makes_a_certificate_and_the_next_keeps_it(tmp_path):
    pins = []
    for _ in range(2):
        with Daemon(f"--state-dir={tmp_path}/deep/state", tls=True) as daemon:
            pins.append(re.search(r"pin=sha256:(\w+)", daemon.text())[1])
    folder = tmp_path / "deep/state"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for name in ("certificate.pem", "private_key.pem"):
        assert stat.S_IMODE((folder / name).stat().st_mode) == 0o600
    der = subprocess.run(f"openssl x509 -in {folder}/certificate.pem -noout -pubkey | openssl pkey -pubin -outform der",
                         shell=True, capture_output=True, check=True).stdout
    assert pins == [hashlib.sha256(der).hexdigest()] * 2
    key = (folder / "private_key.pem").read_text().split("\n")[1]
    with Daemon("--log-level=debug", f"--state-dir={folder}", tls=True) as daemon:
        assert key not in daemon.text()


def refused(*flags):
    done = subprocess.run([BURND, "--check-config", *flags], capture_output=True, text=True, timeout=20)
    return done.returncode, done.stderr


def test_files_that_cannot_serve_are_refused(tmp_path, authority):
    certificate, key = authority.issue("server", "/CN=server", hosts="DNS:localhost")
    other, other_key = authority.issue("other", "/CN=other")
    listen = "--listen=tls://127.0.0.1:0"
    assert refused(listen, f"--certificate={certificate}", f"--private-key={key}")[0] == 0
    for flags, says in (((f"--certificate={certificate}",), "belong together"),
                        ((f"--certificate={certificate}", f"--private-key={other_key}"), "private_key"),
                        ((f"--certificate={tmp_path}/none", f"--private-key={key}"), "No such file"),
                        ((f"--certificate={key}", f"--private-key={key}"), "not a PEM certificate"),
                        ((f"--certificate={certificate}", f"--private-key={certificate}"), "its mode is 0644"),
                        ((f"--certificate={certificate}", f"--private-key={key}", f"--client-ca={key}"), "client_ca"),
                        (("--state-dir=here",), "not an absolute path")):
        code, text = refused(listen, *flags)
        assert code == 78 and says in text, (flags, text)
    os.chmod(key, 0o644)
    code, text = refused(listen, f"--certificate={certificate}", f"--private-key={key}")
    assert code == 78 and "0644" in text
    os.chmod(key, 0o600)
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o777)
    done = subprocess.run([BURND, listen, f"--state-dir={open_folder}"], capture_output=True, text=True, timeout=20)
    assert done.returncode == 1 and "other users can change" in done.stderr


def test_client_certificates(tmp_path, authority):
    alice = authority.issue("alice", "/O=Burn/CN=alice é")
    stranger = Authority(tmp_path, "stranger").issue("mallory", "/CN=mallory")
    with Daemon(f"--client-ca={authority.path()}", tls=True) as daemon:
        client = Wire(connect(daemon, certificate=alice))
        assert client.sync()[1] == CODES["OK"]
        for certificate in (None, stranger):
            try:
                sock = connect(daemon, certificate=certificate)
                sock.sendall(PREFACE + hello())
                other = Wire(sock, greet=False)
                other.exactly(16)
                name, fields, _ = other.receive()
            except (ssl.SSLError, ConnectionResetError, Closed):
                assert certificate  # the handshake itself fails
                continue
            assert not certificate and name == "ERROR" and fields[1] == CODES["UNAUTHENTICATED"], fields
            assert other.closed()
        client.close()


def test_what_travels_arrives(authority):
    alice = authority.issue("bulk", "/CN=bulk")
    data = os.urandom(24 * MIB + 12345)
    with Daemon(f"--client-ca={authority.path()}", tls=True) as daemon:
        client = Wire(connect(daemon, certificate=alice))
        client.put(1, U8, [len(data)], data)
        assert client.get(1)[2] == data
        client.sock.settimeout(30)
        client.put(2, U8, [len(data) // 2], data[:len(data) // 2], chunk=77777)
        assert client.get(2, 2)[2] == data[:len(data) // 2]
        for i in range(3, 200):  # small messages, many in flight
            client.spend(b"".join(frame("SYNC", [i * 10 + j]) for j in range(4)))
            for j in range(4):
                assert client.expect("SYNCED")[0][:2] == [i * 10 + j, CODES["OK"]]
        client.close()
        assert eventually(lambda: connections(daemon)["open"] <= 1)


def test_bytes_that_are_no_handshake():
    with Daemon(tls=True) as daemon:
        for garbage in (PREFACE + hello(), b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x40\x00" + os.urandom(16384), bytes(100)):
            sock = socket.create_connection(("127.0.0.1", daemon.tls_port()), timeout=10)
            sock.sendall(garbage)
            try:
                while sock.recv(4096):
                    pass
            except ConnectionResetError:
                pass
            sock.close()
        counters = connections(daemon)
        assert (counters["handshakes_failed"], counters["plain_http"], counters["protocol_errors"]) == (3, 1, 0)


def test_slow_handshakes_are_cut_and_capped():
    with Daemon("--handshake-timeout=300ms", "--handshakes=3", tls=True) as daemon:
        slow = [socket.create_connection(("127.0.0.1", daemon.tls_port()), timeout=10) for _ in range(3)]
        slow[0].send(b"\x16\x03\x01")
        assert eventually(lambda: connections(daemon)["accepted"] >= 3, 10)
        assert all(sock.recv(100) == b"" for sock in slow)
        assert connections(daemon)["late_handshake"] == 3
        assert s_client(daemon).returncode == 0
    with Daemon("--handshake-timeout=60s", "--handshakes=3", tls=True) as daemon:
        slow = [socket.create_connection(("127.0.0.1", daemon.tls_port()), timeout=10) for _ in range(4)]
        assert slow[0].recv(100) == b""  # the oldest makes room: silent peers keep nobody out
        assert s_client(daemon).returncode == 0
        assert slow[1].recv(100) == b""
        assert connections(daemon)["late_handshake"] == 2
        for sock in slow:
            sock.close()


def test_a_slow_reader_over_tls_is_closed(authority):
    alice = authority.issue("slow", "/CN=slow")
    with Daemon(f"--client-ca={authority.path()}", "--write-timeout=300ms", tls=True) as daemon:
        baseline = Baseline(daemon)
        client = Wire(connect(daemon, certificate=alice))
        data = bytes(12 * MIB)
        client.put(1, U8, [len(data)], data)
        for i in range(4):
            client.send(frame("GET", [i + 1, 1]))
        assert eventually(lambda: connections(daemon)["slow_closed"] == 1, 20)
        client.close()
        baseline.holds()
