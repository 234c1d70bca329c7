#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the daemon serves over its transports, as one table with goals: requests and connections (serve.py), then transfers
(transfer.py), each beside its yardstick in the same minute. Ends with 1 if a goal was missed.

    build/venv/bin/python tests/bench/edge.py [--only serve|transfer] [ARGUMENTS OF serve.py]

Ratios are burnd's by the yardstick's; only they count, as absolute figures of one machine differ by a factor from run to run."""
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def rows_of(program, *arguments):
    """Its objects, as they come."""
    process = subprocess.Popen([sys.executable, str(HERE / program), *arguments], stdout=subprocess.PIPE, text=True)
    with process.stdout as lines:
        for line in lines:
            yield json.loads(line)
    if process.wait():
        raise SystemExit(f"{program} failed")


def is_met(value, goal):
    """None: there is no goal."""
    wanted = re.match(r"([≥≤]) ([\d.]+)", goal)
    if not wanted:
        return None
    return value >= float(wanted[2]) if wanted[1] == "≥" else value <= float(wanted[2])


def of_serve(row):
    """What is judged, and how the table shows it."""
    if "left_out" in row:
        return None, row["left_out"], "", ""
    if "ratio" in row:
        return row["ratio"], f"{row['per_second']:,}/s", f"{row['yardstick']} {row['yardstick_per_second']:,}/s", f"{row['ratio']:.2f}"
    if "pss_mib" in row:
        return row["pss_mib"], f"{row['pss_mib']} MiB, {row['kib_each']} KiB each", "", ""
    return row["seconds"], f"{row['connections']:,} for {row['seconds']:.0f} s: {row['per_second']:,.0f}/s, p99 {row['p99_us'] / 1000:.1f} ms", "", ""


def of_transfer(row):
    for direction in ("upload", "download"):
        ratio = row.get(f"{direction}_to_{row.get('to', 'bare')}")
        compared = {"bare": "bare loop", "socket": "plain socket"}[row.get("to", "bare")]
        yield direction, ratio, f"{row[f'{direction}_gib_s']} GiB/s", compared if ratio else "", f"{ratio:.2f}" if ratio else ""


def main():
    arguments = sys.argv[1:]
    only = None
    if arguments[:1] == ["--only"]:
        only, arguments = arguments[1], arguments[2:]
    missed = 0

    def show(figure, value, ours, yardstick, ratio, goal):
        nonlocal missed
        met = is_met(value, goal) if value is not None else None
        missed += met is False
        print(f"{figure:34} {ours:44} {yardstick:24} {ratio:>6} {goal:>10} {'' if met is None else 'yes' if met else 'MISSED'}".rstrip(), flush=True)

    print(f"{'figure':34} {'burnd':44} {'yardstick':24} {'ratio':>6} {'goal':>10} met")
    if only != "transfer":
        for row in rows_of("serve.py", *arguments):
            value, *texts = of_serve(row)
            show(row["figure"], value, *texts, row.get("goal", ""))
    if only != "serve":
        for row in rows_of("transfer.py"):
            for direction, value, *texts in of_transfer(row):
                show(f"64 MiB {direction}, {row['way']}", value, *texts, row.get("goal", ""))
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
