#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a busy neighbour costs: runs a benchmark alone and beside processes that compute without a pause.

    neighbour.py [--busy N] COMMAND...      as: neighbour.py python burn_bench.py --mode stream --only softmax_rows

COMMAND prints lines as burn_bench.py does. Each of ours: {"peer", "workload", "mode", "ms", "busy_ms", "kept"}; kept is
the share of the throughput that is left. N: as many as there are processors.
"""
import argparse
import contextlib
import json
import os
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--busy", type=int, default=len(os.sched_getaffinity(0)))
parser.add_argument("command", nargs=argparse.REMAINDER)
args = parser.parse_args()


def lines():
    """By peer, workload and mode."""
    done = subprocess.run(args.command, stdout=subprocess.PIPE, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {(row["peer"], row["workload"], row["mode"]): row["ms"] for row in rows if "ms" in row}


@contextlib.contextmanager
def neighbours():
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(args.busy)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


alone = lines()
with neighbours():
    beside = lines()
for key in alone.keys() & beside.keys():
    print(json.dumps({**dict(zip(("peer", "workload", "mode"), key)), "ms": alone[key], "busy_ms": beside[key],
                      "kept": round(alone[key] / beside[key], 3)}), flush=True)
