# SPDX-License-Identifier: Apache-2.0
"""One conversation in two of the ways in which it is held: by the independent encoder, and by a
program in Python. client/js/tests/wire.test.ts holds it in C and JavaScript, too, and compares.

    python conversation.py FILE    holds it as the encoder, with the daemon at BURN_URL, tcp://…; what
                                   was sent after HELLO goes to FILE, the results to the output
    python conversation.py         holds it as the Python client"""
import os
import struct
import sys
from urllib.parse import urlsplit

import numpy as np

from independent_encoder import FLOAT32, Client, Stream

LARGE = np.arange(600_000, dtype=np.float32)

PROGRAM = """
import burn, numpy as np
x = burn.tensor(np.array([[1, 2, 3], [4, 5, 6]], np.float32))
w = burn.tensor(np.array([[0.5], [-1], [2]], np.float32), requires_grad=True)
y = x @ w
z = y * 2.5
s = z.sum()
s.backward()
burn._core.flush()
del y, z
results = w.grad.numpy().tobytes().hex()
large = burn.tensor(np.arange(600_000, dtype=np.float32))
d = w.detach()
p = d + 300
t = p.mean(dim=0)
u = t.clamp(max=300.25)
burn._core.mark()
del d, p, t
burn.sync()
results += " " + u.numpy().tobytes().hex()
assert (large.numpy() == np.arange(600_000)).all()
del large
burn._core.flush()
print(results)
"""


def hold(c):
    """Its results. The clients send what is at most 4096 bytes as a constant, and a batch behind
    each mark."""
    rows, column = struct.pack("<6f", 1, 2, 3, 4, 5, 6), struct.pack("<3f", 0.5, -1, 2)
    x = c.op("constant", attributes=[FLOAT32, [2, 3], rows])
    w = c.op("constant", attributes=[FLOAT32, [3, 1], column])
    y = c.op("matmul", x, w, track=1)
    z = c.op("mul", y, 2.5, track=1)
    s = c.op("sum", z, track=1)
    slope = c.op("grad", [s, None, w], attributes=[1])
    c.flush()
    c.op("free", [y, z], outputs=0)
    gradient = c.get(slope)
    large = c.put(LARGE)
    d = c.op("detach", w)
    p = c.op("add", d, (300,))
    t = c.op("mean", p, attributes=[[0]])
    u = c.op("clamp", t, None, 300.25)
    c.op("mark", outputs=0)
    c.flush()
    c.op("free", [d, p, t], outputs=0)
    assert c.sync() == [0, "", 0]
    limited = c.get(u)
    assert (c.get(large) == LARGE).all()
    c.op("free", [large], outputs=0)
    c.flush()
    return gradient, limited


if __name__ == "__main__" and len(sys.argv) > 1:
    url = urlsplit(os.environ["BURN_URL"])
    client = Client(Stream((url.hostname, url.port)))
    print(*(value.tobytes().hex() for value in hold(client)))
    with open(sys.argv[1], "wb") as file:
        file.write(client.sent)
elif __name__ == "__main__":
    exec(PROGRAM)
