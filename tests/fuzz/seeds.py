#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the seeds of fuzz_frame and fuzz_message: FOLDER/frame and FOLDER/message. (fuzz_stream needs none: its
mutator makes records of its own.)"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

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
VALUES = {
    "ID": [1, 2**53 - 1], "UINT": [0, 2**63 - 1], "INT": [-1, 2**63 - 1, -2**63], "FLAG": [True, False],
    "TEXT": ["", "gr\u00fc\u00df", "x" * 511, "x" * 512], "TEXTS": [[], ["cpu", "ref"], ["a"] * 32, ["a"] * 33],
    "DTYPE": [1, 13, 14], "SHAPE": [[], [3, 4], [1] * 16, [1] * 17],
}


def main(folder):
    for name in ("frame", "message"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for i, data in enumerate(FRAMES):
        (folder / "frame" / f"seed{i}").write_bytes(CUTS + data)
    text = (wire.ROOT / "proto/messages.def").read_text()
    for name, body in re.findall(r"BEGIN\((\w+),(.*?)END\(\1\)", text, re.S):
        kinds = re.findall(r"FIELD\((\w+),", body)
        for turn in range(4):
            fields = [VALUES[kind][turn % len(VALUES[kind])] for kind in kinds]
            for side in (1, 4, 5, 0):
                (folder / "message" / f"{name}{turn}{side}").write_bytes(bytes([TYPES[name], side, side & 4]) + pack(fields))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
