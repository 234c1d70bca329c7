# SPDX-License-Identifier: Apache-2.0
"""What an invitation says and checks, the certificate that others fetch and pin, and addresses that no page could have."""

import base64
import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from test_admin import BURNCTL, ctl, shell
from test_identities import tokens  # noqa: F401
from wire import BURND, Daemon


def invite(daemon, *words):
    return subprocess.run([BURNCTL, "--url", "unix://" + daemon.path, "invite", *words], capture_output=True, text=True, timeout=120, check=True)


def test_the_host_of_an_invitation():
    with Daemon(tls=True) as daemon:
        for wrong in ("", "gpu.example:7867", "https://gpu.example", "a b", "gpu.example/", "::g", "[::1", "-x", "x" * 254):
            assert "name or an address alone" in ctl(daemon, "invite", "a", f"--host={wrong}", code=2), wrong
        assert ctl(daemon, "token", "list") == "no tokens\n"
        for host in ("localhost", "127.0.0.1"):
            done = invite(daemon, "--host=" + host, host)
            assert f"tls://{host}:" in done.stdout and done.stderr == ""
        for host, shown in (("127.0.0.2", "127.0.0.2"), ("::1", "[::1]"), ("[::1]", "[::1]")):  # where nothing listens
            done = invite(daemon, "--host=" + host, f"nowhere-{len(host)}")
            assert f"tls://{shown}:{daemon.tls_port()}?" in done.stdout and "leads to no daemon" in done.stderr
        page = invite(daemon, "page", "--origin=https://a.org")  # whose token no program may show
        assert page.stderr == ""


def test_the_certificate_is_fetched_and_pinned_as_the_manual_says():
    with Daemon(tls=True) as daemon:
        address, pin = f"localhost:{daemon.tls_port()}", ctl(daemon, "invite").split("pin=sha256:")[1][:64]
        fetched = daemon.folder.name + "/fetched.pem"
        done = shell(f"openssl s_client -connect {address} </dev/null 2>/dev/null | openssl x509 >{fetched};"
                     f"openssl x509 -in {fetched} -noout -pubkey | openssl pkey -pubin -outform der | sha256sum;"
                     f"curl -s --cacert {fetched} https://{address}/livez")
        assert done.stdout.split() == [pin, "-", "alive"], done
        right, wrong = (base64.b64encode(bytes.fromhex(text)).decode() for text in (pin, "00" * 32))
        assert shell(f'curl -sk --pinnedpubkey "sha256//{right}" https://127.0.0.1:{daemon.tls_port()}/livez').stdout == "alive\n"
        assert shell(f'curl -sk --pinnedpubkey "sha256//{wrong}" https://127.0.0.1:{daemon.tls_port()}/livez').returncode == 90


@pytest.mark.parametrize("key, value, right", [
    ("hosts", "https://x:1", "x"), ("hosts", "gpu.example:1", "gpu.example"), ("hosts", "[::1]", "::1"), ("hosts", "gpu.example.", "gpu.example"),
    ("hosts", "*", "gpu.example"), ("hosts", "gpu.example/", "gpu.example"), ("origins", "app.example", "https://app.example"),
    ("origins", "https://App.example/page", "https://app.example"), ("origins", "https://a.org:443", "https://a.org"),
    ("origins", "http://a.org:80", "http://a.org"), ("origins", "*", "https://app.example"), ("origins", "https://*.a.org", "https://app.example"),
    ("origins", "https://bücher.example", "https://app.example"), ("hosts", "gpu..example", "gpu.example"), ("hosts", ".", "gpu.example"),
    ("hosts", "-", "gpu.example"), ("hosts", "01.2.3.4", "gpu.example"), ("hosts", "10.0.0", "gpu.example"), ("origins", "://a.org", "https://app.example"),
    ("origins", "https://:8443", "https://app.example"), ("origins", "https://a.org:", "https://app.example"),
    ("origins", "https://a.org:99999", "https://app.example"), ("origins", "https://a.org:0443", "https://app.example"),
    ("origins", "https://a.org:443:443", "https://app.example"), ("origins", "h_t://a.org", "https://app.example"),
    ("origins", "https://[::1", "https://app.example"), ("origins", "https://[0::1]", "https://app.example"),
    ("origins", "https://a|b", "https://app.example"), ("origins", "https://a..b", "https://app.example")])
def test_what_no_page_could_match_is_refused(tmp_path, key, value, right):
    path = tmp_path / "burnd.conf"

    def check(text):
        path.write_text(f"\n{key} = {text}\n")
        return subprocess.run([BURND, "--check-config", str(path)], capture_output=True, text=True, timeout=60).stderr

    said = check(value)
    assert said.startswith(f"burnd: {path}:2: {key}: ") and said.endswith(f"; {right} would be right\n"), said
    assert value[:64] in said and check(right) == ""


@pytest.mark.parametrize("value", ["http://localhost:5173", "https://10.0.0.1:65535", "http://[::1]:1", "https://[2001:db8::1]", "https://a_b.x-1.org",
                                   "https://xn--bcher-kva.example", "moz-extension://0c1d2e3f-0000-4000-8000-000000000000", "null"])
def test_what_browsers_write_is_taken(value):
    assert subprocess.run([BURND, "--check-config", "--origins=" + value], capture_output=True, text=True, timeout=60).stderr == ""


def test_a_long_origin_is_shown():
    value = "https://" + "a" * 300
    said = subprocess.run([BURND, "--check-config", "--origins=" + value], capture_output=True, text=True, timeout=60).stderr
    assert f'"{value[:64]}" is the origin of no page' in said


def test_who_sees_which_counters(tokens, tmp_path):  # noqa: F811
    made = {scope: tokens.add(scope, scope) for scope in ("compute", "metrics", "admin")}
    of_others = {"sessions", "connections", "refusals", "traffic", "names", "drain", "needs_restart", "quota_refused"}
    with Daemon(f"--state-dir={tmp_path}") as daemon:
        seen = {scope: set(daemon.connect(token=token).report("STATS")) for scope, token in made.items()}
        assert not seen["compute"] & of_others and {"plans", "kernels", "memory", "quotas"} <= seen["compute"]
        assert seen["metrics"] == seen["admin"] == seen["compute"] | of_others
