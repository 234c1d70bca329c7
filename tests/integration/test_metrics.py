# SPDX-License-Identifier: Apache-2.0
"""What /metrics says: promtool accepts it, the names are those that dashboards know, the numbers are what happened."""

import calendar
import os
import re
import shutil
import socket
import subprocess
import sys
import textwrap
import time

import pytest

sys.path.insert(0, os.path.dirname(__file__))

import wire
from test_burnctl import ctl
from test_identities import Tokens
from websocket_wire import Socket, tcp
from wire import CODES, U8, Daemon, Wire, eventually, frame

NAMES = """
burnd_build_info burnd_connections burnd_connections_accepted_total burnd_connections_refused_total burnd_auth_failures_total burnd_protocol_errors_total
burnd_idle_closed_total burnd_slow_consumer_total burnd_sessions burnd_sessions_opened_total burnd_frames_total burnd_bytes_total
burnd_http_requests_total burnd_requests_total burnd_cancelled_total burnd_request_duration_seconds burnd_queue_duration_seconds
burnd_device_duration_seconds burnd_compile_seconds burnd_compile_cache_hits_total burnd_compile_cache_misses_total
burnd_code_bytes burnd_library_plans_total burnd_ops_total burnd_cuts_total burnd_plan_analyses_total burnd_plan_replays_total burnd_plan_fallbacks_total
burnd_kernel_launches_total burnd_tensors burnd_names burnd_device_memory_bytes burnd_device_info burnd_device_probe_age_seconds
burnd_draining process_cpu_seconds_total process_resident_memory_bytes process_virtual_memory_bytes process_open_fds
process_max_fds process_threads process_start_time_seconds burnd_config_reloads_total burnd_config_last_reload_successful
burnd_config_last_reload_success_timestamp_seconds burnd_config_keys_needing_restart burnd_certificate_expiry_timestamp_seconds
burnd_tokens burnd_token_next_expiry_timestamp_seconds
""".split()


def scrape(daemon, *flags):
    run = subprocess.run(["curl", "-s", "--fail-with-body", "--unix-socket", daemon.path, *flags, "http://burnd/metrics"],
                         capture_output=True, text=True, timeout=20)
    assert run.returncode == 0, run.stdout
    return run.stdout


def values(text):
    return {match[1]: float(match[2]) for match in re.finditer(r"^(\w+(?:\{.*\})?) (\S+)$", text, re.M)}


@pytest.fixture(scope="module")
def daemon():
    with Daemon(tcp=True) as running:
        yield running


def test_promtool_accepts_it(daemon):
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed")
    client = daemon.connect()
    client.sync()
    run = subprocess.run(["promtool", "check", "metrics"], input=scrape(daemon), capture_output=True, text=True, timeout=20)
    assert (run.returncode, run.stdout + run.stderr) == (0, "")
    client.close()


def test_promtool_accepts_the_readmes_configuration(tmp_path):
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed")
    block = re.search(r"^    scrape_configs:.*?(?=\n\n)", (wire.ROOT / "README.md").read_text(), re.M | re.S)[0]
    (tmp_path / "burnd.token").write_text("burn_x")
    with Daemon(tls=True) as daemon:
        shutil.copy(daemon.certificate(), tmp_path / "burnd.pem")
    (tmp_path / "prometheus.yml").write_text(textwrap.dedent(block).replace("/etc/prometheus", str(tmp_path)))
    run = subprocess.run(["promtool", "check", "config", str(tmp_path / "prometheus.yml")], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout + run.stderr


def test_names_are_a_promise(daemon):
    text = scrape(daemon)
    assert re.findall(r"^# TYPE (\w+) ", text, re.M) == re.findall(r"^# HELP (\w+) ", text, re.M)
    assert set(NAMES) <= set(re.findall(r"^# TYPE (\w+) ", text, re.M))
    assert all(re.fullmatch(r"# (HELP|TYPE) \w+ \S.*|\w+(\{[^{}]+\})? \S+", line) for line in text.splitlines())


def test_numbers_are_what_happened(daemon):
    before = values(scrape(daemon))
    client = daemon.connect()
    web = Wire(Socket(tcp(daemon)))
    data = bytes(200_000)
    for one in (client, web):
        one.put(1, U8, [len(data)], data)
        assert one.get(1)[2] == data
        one.sync(2)
        one.send(frame("GET", [3, 99]))
        assert one.expect("ERROR")[0][1] == CODES["NOT_FOUND"]
    now = values(scrape(daemon))

    def grown(name):
        return now[name] - before.get(name, 0)

    assert grown("burnd_sessions_opened_total") == now["burnd_sessions"] == 2
    assert now["burnd_tensors"] == 2
    assert now['burnd_device_memory_bytes{state="used"}'] >= 400_000
    assert now['burnd_connections{transport="unix",state="open"}'] == now['burnd_connections{transport="ws",state="open"}'] == 1
    assert now['burnd_connections{transport="unix",state="http"}'] == 1
    for way in ("in", "out"):
        assert 200_000 < grown('burnd_bytes_total{dir="%s",transport="ws"}' % way) < 210_000
        assert 200_000 < grown('burnd_bytes_total{dir="%s",transport="unix"}' % way) < 230_000
    assert grown('burnd_frames_total{dir="in",type="PUT_BEGIN"}') == grown('burnd_frames_total{dir="out",type="SYNCED"}') == 2
    assert grown('burnd_requests_total{type="GET",code="OK"}') == grown('burnd_requests_total{type="SYNC",code="OK"}') == 2
    assert grown('burnd_requests_total{type="GET",code="NOT_FOUND"}') == 2
    assert grown("burnd_request_duration_seconds_count") == 6
    assert grown('burnd_request_duration_seconds_bucket{le="+Inf"}') == 6
    assert grown("burnd_request_duration_seconds_sum") > 0
    assert grown("burnd_queue_duration_seconds_count") == 8  # and two uploads
    assert grown('burnd_http_requests_total{status="101"}') == 1
    assert grown('burnd_http_requests_total{status="200"}') == 1  # the scrape before
    client.close()
    web.close()
    assert eventually(lambda: values(scrape(daemon))["burnd_sessions"] == 0, 5)


def test_refusals_are_counted(daemon):
    before = values(scrape(daemon))
    for head in (b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n"
                 b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                 b"Origin: https://evil.example\r\n\r\n", wire.PREFACE + frame("PING", [1])):
        sock = tcp(daemon)
        sock.sendall(head)
        sock.recv(1000)
        sock.close()
    now = values(scrape(daemon))
    assert now['burnd_connections_refused_total{reason="host"}'] == before['burnd_connections_refused_total{reason="host"}'] + 1
    assert now['burnd_connections_refused_total{reason="origin"}'] == before['burnd_connections_refused_total{reason="origin"}'] + 1
    assert now["burnd_protocol_errors_total"] == before["burnd_protocol_errors_total"] + 1


def test_the_process_is_the_kernels(daemon):
    now = values(scrape(daemon))
    status = open(f"/proc/{daemon.process.pid}/status").read()
    resident = int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024
    assert abs(now["process_resident_memory_bytes"] - resident) < 0.2 * resident + (4 << 20)
    assert now["process_threads"] == daemon.threads()
    assert abs(now["process_open_fds"] - daemon.descriptors()) <= 1
    stat = open(f"/proc/{daemon.process.pid}/stat").read().rsplit(")", 1)[1].split()
    booted = int(re.search(r"btime (\d+)", open("/proc/stat").read())[1])
    assert abs(now["process_start_time_seconds"] - booted - int(stat[19]) / os.sysconf("SC_CLK_TCK")) < 3
    assert 0 < now["process_cpu_seconds_total"] < 600


def test_who_may_read_them(tmp_path):
    tokens = Tokens(tmp_path)
    watcher, worker = tokens.add("watcher", "metrics"), tokens.add("worker", "compute,infer")
    chief, old = tokens.add("chief", "admin"), tokens.add("old", "metrics", "2001-01-01T00:00:00Z")
    with Daemon(f"--state-dir={tmp_path}", tls=True, tcp=True) as daemon:
        daemon.certificate = lambda: f"{tmp_path}/certificate.pem"
        before = values(scrape(daemon))

        def status(authorization, scheme="https"):
            port = daemon.tls_port() if scheme == "https" else daemon.tcp_port()
            run = subprocess.run(["curl", "-s", "-i", "--cacert", daemon.certificate(), f"{scheme}://localhost:{port}/metrics",
                                  *(["-H", "Authorization: " + authorization] if authorization else [])],
                                 capture_output=True, text=True, timeout=20)
            assert ("burnd_build_info" in run.stdout) == run.stdout.startswith("HTTP/1.1 200 ")
            assert not any(secret in run.stdout for secret in (watcher, worker, chief, old))
            return int(run.stdout.split()[1]), run.stdout

        assert status("Bearer " + watcher)[0] == status("bearer " + chief)[0] == 200
        right = "; metrics are for a token with the scope metrics or admin: burnctl token create NAME --scope=metrics makes one\n"
        lacking, strange, strange_again = (status("Bearer " + secret)[1] for secret in (worker, watcher[:-1], "burn_" + "x" * 43))
        assert lacking.endswith("\ntoken:worker has infer,compute" + right)
        # whoever knows no token learns of none: the same answer to all that is unknown, but for the time
        assert strange.endswith("\nthe token is not known here; burnctl invite or token create makes one" + right)
        assert strange.splitlines()[-1] == strange_again.splitlines()[-1]
        assert not any(name in strange + strange_again for name in ("watcher", "worker", "chief", "old"))
        wrong = [("Bearer " + worker, 403), ("Bearer " + old, 401), ("Bearer " + watcher[:-1], 401), ("Bearer x" + watcher, 401),
                 ("Basic " + watcher, 401), ("Bearer " + "x" * 200, 401), ("", 401)]
        for authorization, code in wrong:
            assert status(authorization)[0] == code, authorization
        assert "WWW-Authenticate: Bearer\n" in status("")[1]
        assert "send the header Authorization: Bearer TOKEN" in status("")[1] and "BURN_TOKEN" not in status("")[1]
        assert 'refused peer=127.0.0.1 status=401 origin="" reason="a token is needed here' in daemon.text()
        assert status("", "http")[0] == 200  # ?insecure accepts whoever is on this host
        now = values(scrape(daemon))
        for reason, count in (("lacking_scope", 2), ("expired_token", 1), ("no_identity", 4)):
            name = 'burnd_auth_failures_total{reason="%s"}' % reason
            assert now[name] == before[name] + count, name
        assert not any(secret in daemon.text() for secret in (watcher, worker, chief, old))


def test_reloads_certificates_and_tokens_can_be_watched(tmp_path):
    """What an operator wants to be woken for: a reload that failed, a restart that is due, an expiry that comes."""
    tokens, file, begin = Tokens(tmp_path), tmp_path / "burnd.conf", int(time.time())
    for name, expiry in (("old", "2001-01-01T00:00:00Z"), ("soon", "2090-01-02T03:04:05Z"), ("later", "2091-01-01T00:00:00Z"), ("ever", "-")):
        tokens.add(name, "compute", expiry)
    file.write_text("sessions = 10\n")
    with Daemon(f"--state-dir={tmp_path}", f"--config={file}", tls=True) as daemon:
        url = "unix://" + daemon.path

        def reload():
            return ctl("--url", url, "reload").returncode, values(scrape(daemon))

        now = values(scrape(daemon))
        assert now['burnd_tokens{state="valid"}'] == 3 and now['burnd_tokens{state="expired"}'] == 1
        assert now["burnd_token_next_expiry_timestamp_seconds"] == calendar.timegm((2090, 1, 2, 3, 4, 5))
        ends = subprocess.run(["openssl", "x509", "-enddate", "-noout", "-dateopt", "iso_8601", "-in", str(tmp_path / "certificate.pem")],
                              capture_output=True, text=True, check=True).stdout.strip()
        assert now["burnd_certificate_expiry_timestamp_seconds"] == calendar.timegm(time.strptime(ends, "notAfter=%Y-%m-%d %H:%M:%SZ"))
        read = now["burnd_config_last_reload_success_timestamp_seconds"]
        assert begin <= read <= time.time() and now["burnd_config_last_reload_successful"] == 1
        assert now['burnd_config_reloads_total{result="success"}'] == now['burnd_config_reloads_total{result="failure"}'] == 0
        file.write_text("sessions = many\n")
        status, now = reload()
        assert status == 1 and now['burnd_config_reloads_total{result="failure"}'] == 1
        assert now["burnd_config_last_reload_successful"] == 0 and now["burnd_config_last_reload_success_timestamp_seconds"] == read
        file.write_text("names = 7\nfusion = off\nsessions = 11\n")
        status, now = reload()
        assert status == 0 and now['burnd_config_reloads_total{result="success"}'] == 1 == now["burnd_config_last_reload_successful"]
        assert now["burnd_config_keys_needing_restart"] == 2 and now["burnd_config_last_reload_success_timestamp_seconds"] >= read
        for name in ("soon", "later"):
            assert ctl("--url", url, "token", "revoke", name).returncode == 0
        text = scrape(daemon)
        assert values(text)['burnd_tokens{state="valid"}'] == 1 and "\nburnd_token_next_expiry_timestamp_seconds " not in text
        if shutil.which("promtool"):
            run = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=20)
            assert (run.returncode, run.stdout + run.stderr) == (0, "")


def test_plain_http_where_tls_is_spoken_is_told_so_and_counted():
    with Daemon(tls=True) as daemon:
        before = values(scrape(daemon))
        heads = [method + b" /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" for method in (b"GET", b"POST", b"OPTIONS", b"DELETE")]
        for head in heads + [heads[0] + bytes(8000)]:
            with socket.create_connection(("127.0.0.1", daemon.tls_port()), timeout=60) as sock:
                sock.sendall(head)
                answer = b"".join(iter(lambda: sock.recv(4096), b""))
            assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n") and b"https://" in answer.split(b"\r\n\r\n")[1], answer
        run = subprocess.run(["curl", "-s", "-o", "-", "-w", "%{http_code}", f"http://localhost:{daemon.tls_port()}/"],
                             capture_output=True, text=True, timeout=60)
        assert run.returncode == 0 and run.stdout.endswith("400") and "write https://" in run.stdout, run
        with socket.create_connection(("127.0.0.1", daemon.tls_port()), timeout=60) as sock:  # neither
            sock.sendall(b"\x00" * 64)
            assert b"HTTP" not in b"".join(iter(lambda: sock.recv(4096), b""))
        now = values(scrape(daemon))
        refused = 'burnd_connections_refused_total{reason="%s"}'
        assert now[refused % "plain_http"] - before[refused % "plain_http"] == 6
        assert now[refused % "handshake"] - before[refused % "handshake"] == 1
        assert now['burnd_http_requests_total{status="400"}'] == 6
        run = subprocess.run(["curl", "-s", "--cacert", daemon.certificate(), f"https://localhost:{daemon.tls_port()}/livez"],
                             capture_output=True, text=True, timeout=60)
        assert run.stdout == "alive\n"
