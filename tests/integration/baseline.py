# SPDX-License-Identifier: Apache-2.0
"""What a daemon holds, before a fault and after it: each test of a fault ends with Baseline.holds()."""

import os
import pathlib
import time

from test_server_ops import batch, floats, record
from wire import F32, eventually

MIB = 1 << 20
QUIET = 0.5  # seconds in which nothing has changed


def resident(daemon):
    """Bytes of memory that the daemon's process has in use."""
    return int(pathlib.Path(f"/proc/{daemon.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def gauges(daemon):
    """What is there, the asking session of `connect` included."""
    client = daemon.connect()
    stats = client.report("STATS")
    threads, descriptors = daemon.threads(), daemon.descriptors()
    client.close()
    quotas = [quota for quota in stats["quotas"] if any(quota[kind] for kind in ("sessions", "memory", "queue", "requests"))]
    return {"sessions": stats["sessions"]["open"], "connections": stats["connections"]["open"], "tensors": stats["stream"]["tensors"],
            "device_bytes": stats["memory"]["device_bytes"], "names": stats["names"], "queue": sum(quota["queue"] for quota in quotas),
            "requests": sum(quota["requests"] for quota in quotas), "threads": threads, "descriptors": descriptors}


def settled(daemon, seconds=20):
    """The gauges once they have not changed for a while."""
    end, since, last = time.monotonic() + seconds, time.monotonic(), gauges(daemon)
    while time.monotonic() - since < QUIET and time.monotonic() < end:
        time.sleep(0.05)
        now = gauges(daemon)
        if now != last:
            since, last = time.monotonic(), now
    return last


def use(daemon):
    """A whole short session: what a daemon keeps after its first one is there afterwards."""
    client = daemon.connect()
    client.put(1, F32, [2, 2], floats(1, 2, 3, 4))
    client.send(batch(2, record("matmul", 1, 1)))
    assert client.get(2, 1)[2] == floats(7, 10, 15, 22)
    client.close()


class Baseline:
    """Gauges, threads, descriptors and memory of a daemon in peace. Sessions that are open now must be so at the end."""

    def __init__(self, daemon, use=use):
        use(daemon)
        self.daemon, self.use, self.gauges, self.resident = daemon, use, settled(daemon), resident(daemon)

    def holds(self, growth=24 * MIB):
        """Whether all is as it was, and a session still gets what it asks for; memory may have grown by so much."""
        self.use(self.daemon)
        assert eventually(lambda: gauges(self.daemon) == self.gauges, 60), (gauges(self.daemon), self.gauges)
        assert eventually(lambda: resident(self.daemon) < self.resident + growth, 60), (resident(self.daemon), self.resident)
        return f"RSS {self.resident / MIB:.1f} -> {resident(self.daemon) / MIB:.1f} MiB, {self.gauges}"
