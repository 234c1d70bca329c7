# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C at any moment of a wait: the program goes on, and the daemon keeps nothing that the program cannot reach."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(__file__))

from wire import Daemon

PROGRAM = """
import gc, random, signal, sys, threading, time
import burn

burn.connect(sys.argv[1])
burn.names.publish("model", {f"p{i}": burn.ones(100) for i in range(100)})
burn.names.publish_program("next", lambda x: x + 1, burn.ones(2))
rng, main, stop, interrupts = random.Random(1), threading.get_ident(), threading.Event(), 0
waits = [lambda: burn.names.get("model"), lambda: burn.names.program("next"), lambda: burn.names.list(),
         lambda: burn.ones(10).tolist(), burn.sync]

def interrupt():
    while not stop.wait(rng.random() * 0.003):
        signal.pthread_kill(main, signal.SIGINT)

def heard(signum, frame):
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt

armed = False
signal.signal(signal.SIGINT, heard)
thread = threading.Thread(target=interrupt)
thread.start()
end = time.monotonic() + 200
while interrupts < 200 and time.monotonic() < end:
    try:
        armed = True
        waits[rng.randrange(len(waits))]()
        armed = False
    except KeyboardInterrupt:
        interrupts += 1
stop.set()
thread.join()
for _ in range(3):
    gc.collect()
    burn.sync()
print(interrupts)
sys.stdin.read()
"""


def test_what_an_interrupted_import_made_is_freed():
    with Daemon() as daemon:
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, "unix://" + daemon.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "200\n"
        watcher = daemon.connect()
        stats = watcher.report("STATS")
        assert stats["stream"]["tensors"] == 0 and stats["memory"]["device_bytes"] == 100 * 400 == stats["names"]["bytes"]
        process.stdin.close()
        assert process.wait(60) == 0
        watcher.close()
