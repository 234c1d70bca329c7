# SPDX-License-Identifier: Apache-2.0
"""What a step takes: time, processor time, launches, compiling, memory; of this process and its private daemon."""
import contextlib
import json
import os
import statistics
import time

import burn
import burn._core
from memory import peak_kib, reset_peak


def counters():
    stats = burn.stats()
    return {"launches": stats["plans"]["launches"], "compiles": stats["kernels"]["compiles"],
            "fallbacks": stats["plans"]["fallbacks"], "run_us": stats["plans"]["run_us"],
            "lent_us": stats["plans"]["lent_us"]}


def kernels():
    """By name: {"family", "launches", "run_us", "compile_us"}."""
    return {row["name"]: row for row in json.loads(burn._core.report("kernels"))}


def processes():
    """This process and its children named burnd."""
    found = [os.getpid()]
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                _, rest = file.read().split(" (", 1)
        except OSError:  # it ended meanwhile
            continue
        comm, fields = rest.rsplit(") ", 1)
        if comm == "burnd" and int(fields.split()[1]) == os.getpid():
            found.append(int(name))
    return found


def cpu_ms(pids):
    return sum(time.clock_gettime_ns((~pid << 3) | 2) for pid in pids) / 1e6  # clock_getcpuclockid of each


def workers_cpu_ms(daemons):
    """Of the daemons' kernel workers: threads without a name of their own."""
    total = 0
    for pid in daemons:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/comm") as file:
                is_worker = file.read() == "burnd\n" and thread != str(pid)
            if is_worker:
                with open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                    total += int(file.read().split()[0])
    return total / 1e6


class Meter:
    """Made just before the first step. result = first(step); then loop(step, change); then fields()."""

    def __init__(self):
        burn.sync()
        self.pids = processes()
        self.high = self.memory = reset_peak(self.pids)
        self.counters, self.kernels = counters(), kernels()
        self.made = {}

    @contextlib.contextmanager
    def aside(self):
        """What is done within does not count as memory of a step."""
        self.high = max(self.high, peak_kib(self.pids))
        yield
        reset_peak(self.pids)

    def first(self, step):
        begin = time.perf_counter()
        result = step()
        burn.sync()
        self.made["first_step_ms"] = round((time.perf_counter() - begin) * 1e3, 2)
        compiled = [row["compile_us"] for name, row in kernels().items() if name not in self.kernels]
        self.made["first_step_kernels"] = len(compiled)
        if compiled:
            self.made["compile_ms_per_kernel"] = round(statistics.mean(compiled) / 1e3, 2)
        return result

    def loop(self, step, change, min_s):
        """Median seconds of a step. Its result is alive at the sync; change runs outside the timed span."""
        for _ in range(4):
            change()
            step()
            burn.sync()
        times, start = [], time.perf_counter()
        while len(times) < 5 or (time.perf_counter() - start < min_s and len(times) < 2000):
            change()
            burn.sync()
            begin = time.perf_counter()
            result = step()
            burn.sync()
            times.append(time.perf_counter() - begin)
            del result
        self.account(step, max(3, len(times) // 4))
        return statistics.median(times)

    def account(self, step, count):
        """What one of so many steps takes besides time."""
        before, cpu, workers = counters(), cpu_ms(self.pids), workers_cpu_ms(self.pids[1:])
        for _ in range(count):
            result = step()
            burn.sync()
            del result
        cpu, workers, after = cpu_ms(self.pids) - cpu, workers_cpu_ms(self.pids[1:]) - workers, counters()
        self.made["launches"] = (after["launches"] - before["launches"]) // count
        self.made["device_ms"] = round((after["run_us"] - before["run_us"]) / 1e3 / count, 4)
        self.made["cpu_ms"] = round(cpu / count, 4)
        lent = (after["lent_us"] - before["lent_us"]) / 1e3
        self.made["other_cpu_ms"] = round((cpu - workers - lent) / count, 4)

    def fields(self):
        now = counters()
        return {**self.made, "compiles": now["compiles"] - self.counters["compiles"],
                "fallbacks": now["fallbacks"] - self.counters["fallbacks"],
                "peak_growth_mib": round((max(self.high, peak_kib(self.pids)) - self.memory) / 1024, 2)}
