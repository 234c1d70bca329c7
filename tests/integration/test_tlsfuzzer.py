# SPDX-License-Identifier: Apache-2.0
"""tlsfuzzer's TLS 1.3 scripts against the tls listener, each on a connection that speaks HTTP inside. deploy/setup puts
tlsfuzzer into build/tlsfuzzer; TLSFUZZER names another folder."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))

from authority import Authority
from wire import CODES, ROOT, Daemon

FOLDER = pathlib.Path(os.environ.get("TLSFUZZER") or ROOT / "build/tlsfuzzer")
SCRIPTS = ["ccs", "conversation", "count-tickets", "empty-alert", "finished-plaintext", "hrr", "invalid-ciphers",
           "keyshare-omitted", "nociphers", "pkcs-signature", "record-padding", "signature-algorithms", "unencrypted-alert",
           "zero-content-type", "zero-length-data"]

pytestmark = pytest.mark.skipif(not (FOLDER / "scripts").is_dir(), reason=f"tlsfuzzer is not in {FOLDER}; deploy/setup puts it there")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rsa")  # the scripts know RSA best
    Authority.run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext",
                  "subjectAltName=DNS:localhost", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/certificate.pem")
    with Daemon(f"--certificate={folder}/certificate.pem", f"--private-key={folder}/key.pem", "--handshake-timeout=120s",
                "--hello-timeout=120s", tls=True) as daemon:
        yield daemon


@pytest.mark.parametrize("script", SCRIPTS)
def test_script(daemon, script):
    command = [sys.executable, FOLDER / f"scripts/test-tls13-{script}.py", "-h", "127.0.0.1", "-p", str(daemon.tls_port())]
    for _ in range(3):
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True)
        if "Timeout when waiting" not in done.stdout:  # of 5 s, which a busy machine can exceed
            break
    counts = {name: int(number) for name, number in re.findall(r"^([A-Z]+): (\d+)$", done.stdout, re.M)}
    print(script, counts)
    assert done.returncode == 0 and counts["PASS"] == counts["TOTAL"] > 0, done.stdout[-3000:] + done.stderr[-2000:]
    client = daemon.connect()
    assert client.sync()[1] == CODES["OK"]
    client.close()
