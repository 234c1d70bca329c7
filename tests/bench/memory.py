# SPDX-License-Identifier: Apache-2.0
"""The peak of resident memory of processes, from Linux."""


def peak_kib(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/status") as file:
            total += next(int(line.split()[1]) for line in file if line.startswith("VmHWM:"))
    return total


def reset_peak(pids):
    """The peak is what is there now, which is returned."""
    for pid in pids:
        with open(f"/proc/{pid}/clear_refs", "w") as file:
            file.write("5")
    return peak_kib(pids)
