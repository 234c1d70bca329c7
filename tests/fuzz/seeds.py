#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of the fuzz targets frame, message, websocket, http, tokens and config: FOLDER/frame and so on; with them what long runs
have found, minimised: corpus/TARGET.tar.xz. (fuzz_stream needs none: its mutator makes records of its own.)

To keep what another long run found: fuzz_TARGET -merge=1 TARGET build/fuzz/corpus/TARGET, then tar that folder."""

import pathlib
import re
import sys
import tarfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

import websocket_wire as ws
import wire
from wire import PREFACE, TYPES, frame, pack

CUTS = bytes([31, 7, 255, 0, 3, 90, 255, 16])
FRAMES = [
    PREFACE,
    frame("PUT_BEGIN", [1, 2, [3, 4]], bytes(48)) + frame("GET", [1, 1]),
    frame("OPS", [2, 1], b"\x92\x01\x01" * 20),
    frame("PING", [1]) * 3 + frame("SYNC", [1], payload=bytes(300), flags=2),
    frame("SYNC", b"x" * 4097),
    frame("SYNC", [1], stream=1),
]
WEBSOCKET = [ # for both sides: an odd first byte is the daemon's
    b"".join(ws.frame(data, *how, mask=mask) for data, how in (
        (b"Hello", ()), (b"He", (2, False)), (b"tick", (9,)), (b"l", (0, False)), (b"lo", (0,)), (bytes(200), ()), (b"", (10,)),
        (b"\x03\xe8done", (8,))))
    for mask in (b"\x37\xfa\x21\x3d", None)
] + [ws.frame(bytes(70000)), ws.frame(b"x", 1), ws.frame(b"x", reserved=64), ws.frame(b"x", form=127), b"\x82\xff" + bytes(12)]
HTTP = [
    ws.request(), ws.request(Origin="https://gpu.example", Sec_WebSocket_Protocol="burnd.v1, burnd.token.YQ"),
    b"HEAD /x?y HTTP/1.0\r\nHost: [::1]:7\r\nConnection: keep-alive\r\n\r\n", b"GET / HTTP/1.1\r\n" + b"A: b,\r\n" * 65 + b"\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nHost: gpu.example.\r\n\r\n",
    b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n: x\r\n\r\n", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nnext",
]
TOKENS = [
    b"# comment\n\nalice " + b"3a" * 32 + b" infer,compute 2027-01-31T12:00:00Z -\n",
    b" b.o-b_2\t" + b"0f" * 32 + b"  admin,kernel,metrics,peer - https://a.org,https://b.org:8443\n",
    b"a " + b"00" * 32 + b" infer 2028-02-29T23:59:59Z -\na " + b"00" * 32 + b" infer - -", b"a b c\n", b"a b c d e f\n", b"x" * 3000,
    b"a " + b"0f" * 32 + b" , - -\n",
]
CONFIG = [  # parts: F burnd.conf, D a drop-in, E a variable of the environment, A an argument
    ["F# comment\nthreads = 2\nlisten = unix:///a  tls://[::1]:7\n", "Dthreads=4 ; four\n\nlisten = tcp://127.0.0.1:1?insecure\n"],
    ["ETHREADS=3", "ELISTEN=tcp://localhost?insecure wss://a", "A--cache-dir=none", "A--sessions", "A12", "Alisten"],
    ["A--check-config", "Afile"], ["Fquota = token:ci:memory=4GiB\nquota = uid:7:sessions=3\n"], ["Fquota = nobody:memory=1"], ["A--listen=tcp://x:99999"],
    ["A-h"], ["A--embedded=3"], ["A--config=x", "A--print-config", "A--version"], ["A--" + "x" * 80],
    ["Fthread = 1\n"], ["F[section]\nthreads = 1\n"], ["Fthreads\n"], ["Fwww = " + "x" * 300], ["F#" + "y" * 400 + "\n  threads = 1"],
    ["Flisten = unix:///" + "z" * 120 + "\n"], ["Flisten = unix://a http://b tls://c:x tls://300.0.0.1:1 tcp://10.0.0.1?insecure tcp://1.2.3.4\n"],
]
SIZES = {"COUNT": "7", "BYTES": "16MiB", "MILLIS": "1500ms", "TEXT": "/a/b", "LIST": "a b"}
VALUES = {
    "ID": [1, 2**53 - 1], "UINT": [0, 2**63 - 1], "INT": [-1, 2**63 - 1, -2**63], "FLAG": [True, False],
    "TEXT": ["", "gr\u00fc\u00df", "x" * 511, "x" * 512], "TEXTS": [[], ["cpu", "ref"], ["a"] * 32, ["a"] * 33],
    "DTYPE": [1, 13, 14], "SHAPE": [[], [3, 4], [1] * 16, [1] * 17],
}


def settings():
    """Each key with a value that suits it."""
    for kind, key, choices in re.findall(r'^KEY\((\w+), \w+, (\w+), "[^"]*", [^"]*"([^"]*)"', (wire.ROOT / "server/config.def").read_text(), re.M):
        yield key, SIZES.get(kind) or choices.split("|")[-1]


def main(folder):
    for name in ("frame", "message", "websocket", "http", "tokens", "config"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        with tarfile.open(pathlib.Path(__file__).parent / "corpus" / f"{name}.tar.xz") as found:
            for entry in found.getmembers():
                if entry.isfile():
                    (folder / name / pathlib.Path(entry.name).name).write_bytes(found.extractfile(entry).read())
    for i, data in enumerate(FRAMES):
        (folder / "frame" / f"seed{i}").write_bytes(CUTS + data)
    for name, seeds in (("websocket", WEBSOCKET), ("http", HTTP)):
        for i, data in enumerate(seeds):
            for cuts in (CUTS, b"\0" + CUTS[1:]):
                (folder / name / f"seed{i}-{cuts[0]}").write_bytes(cuts + data)
    for i, data in enumerate(TOKENS):
        (folder / "tokens" / f"seed{i}").write_bytes(data)
    for i, parts in enumerate([*CONFIG, *([f"F{key} = {value}\n"] for key, value in settings())]):
        (folder / "config" / f"seed{i}").write_text("\1".join(parts))
    text = (wire.ROOT / "proto/messages.def").read_text()
    for name, body in re.findall(r"BEGIN\((\w+),(.*?)END\(\1\)", text, re.S):
        kinds = re.findall(r"FIELD\((\w+),", body)
        for turn in range(4):
            fields = [VALUES[kind][turn % len(VALUES[kind])] for kind in kinds]
            for side in (1, 4, 5, 0):
                (folder / "message" / f"{name}{turn}{side}").write_bytes(bytes([TYPES[name], side, side & 4]) + pack(fields))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
