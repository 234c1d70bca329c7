# SPDX-License-Identifier: Apache-2.0
"""Eight processes publish, read, list and end the same name at once: who reads has all of one publication or nothing,
never a mixture, and afterwards nothing is left. As a program: `test_name_races.py SOCKET SEED ROUNDS`."""

import json
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))

import wire
from baseline import Baseline
from test_names_protocol import export
from test_server_ops import record
from wire import CODES, F32, Daemon, Wire, frame, unpack

LONG = bool(os.environ.get("BURN_TEST_LONG"))
COUNTS, ELEMENTS = (2, 6), 3000  # parts of a publication


class Racer:
    def __init__(self, path, seed):
        self.path, self.seed, self.rng, self.request, self.wire = path, seed, random.Random(seed), 0, None

    def ask(self, name, *fields):
        """Any answer; the number of the request is made here."""
        self.request += 1
        self.wire.send(frame(name, [self.request, *fields]))
        while (answer := self.wire.receive())[0] == "CREDIT":
            pass
        return answer

    def free(self, count):
        """The last tensors."""
        self.wire.send(frame("OPS", [self.ident, self.op], b"".join(record("free", [k + 1]) for k in range(count))))
        self.op += count

    def publish(self):
        count = self.rng.choice(COUNTS)
        self.request += 1
        for k in range(count):
            self.wire.put(self.ident + k, F32, [ELEMENTS], struct.pack("<f", self.seed * 10000 + self.request) * ELEMENTS)
        self.wire.send(export(self.request, "race", *([f"p{k}", self.ident + k] for k in range(count))))
        self.wire.expect("DONE")
        self.ident += count
        self.free(count)

    def read(self):
        name, fields, payload = self.ask("IMPORT", "race", self.ident, max(COUNTS))
        if name == "ERROR":
            assert fields[1] == CODES["NOT_FOUND"], fields
            return
        count, at, values = 0, 0, set()
        while at < len(payload):
            count, at = count + 1, unpack(payload, at)[1]
        assert count in COUNTS, count
        for k in range(count):
            self.request += 1
            values |= set(struct.unpack(f"<{ELEMENTS}f", self.wire.get(self.ident + k, self.request)[2]))
        assert len(values) == 1, values
        self.ident += count
        self.free(count)

    def look(self):
        _, _, payload = self.ask("LIST_NAMES", "race")
        rows = json.loads(payload)
        assert len(rows) in (0, *COUNTS) and len({row["version"] for row in rows}) <= 1, rows

    def end(self):
        name, fields, _ = self.ask("UNEXPORT", "race")
        assert name == "DONE" or fields[1] == CODES["NOT_FOUND"], fields

    def run(self, rounds):
        for _ in range(rounds):
            if self.wire is None or self.rng.random() < 0.02:
                if self.wire:
                    self.wire.close()
                sock = wire.socket.socket(wire.socket.AF_UNIX)
                sock.connect(self.path)
                self.wire, self.ident, self.op = Wire(sock), 1, 1
            self.rng.choices((self.publish, self.read, self.look, self.end), (35, 50, 7, 8))[0]()


def test_eight_processes_race_for_a_name():
    with Daemon() as daemon:
        baseline = Baseline(daemon)
        racers = [subprocess.Popen([sys.executable, __file__, daemon.path, str(seed), str(3000 if LONG else 150)], stderr=subprocess.PIPE, text=True)
                  for seed in range(1, 9)]
        for racer in racers:
            problem = racer.communicate(timeout=600)[1]
            assert racer.returncode == 0, problem
        client = daemon.connect()
        client.send(frame("UNEXPORT", [1, "race"]))
        assert client.receive()[0] in ("DONE", "ERROR")
        client.close()
        print(baseline.holds())


if __name__ == "__main__":
    Racer(sys.argv[1], int(sys.argv[2])).run(int(sys.argv[3]))
