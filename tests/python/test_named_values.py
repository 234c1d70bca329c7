# SPDX-License-Identifier: Apache-2.0
"""Values by name: processes that share weights while one of them trains, what a name holds and for how long, limits, and
that publishing at every step costs no analysis."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
from wire import Daemon, eventually  # noqa: E402

from conftest import DEVICE  # noqa: E402

PRELUDE = """
import json, os, sys
import numpy as np
import burn
names = burn.names
def say(*words):
    print(json.dumps(words), flush=True)
def fails(kind, call):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")
"""


class Process:
    """A program of its own on the daemon; each line that it says is JSON."""

    def __init__(self, daemon, code):
        environment = {**os.environ, "BURN_URL": "unix://" + daemon.path}
        self.process = subprocess.Popen([sys.executable, "-c", PRELUDE + textwrap.dedent(code)], env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(self.process.stderr.read())
        return json.loads(line)

    def tell(self):
        try:
            self.process.stdin.write("\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise AssertionError(self.process.stderr.read()) from None

    def end(self):
        out, err = self.process.communicate(timeout=300)
        assert self.process.returncode == 0, err
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def daemon(request):
    with Daemon(f"--device={DEVICE}", *getattr(request, "param", ())) as running:
        yield running


def run(daemon, code):
    return Process(daemon, code).end()


def held(daemon):
    wire = daemon.connect()
    stats = wire.report("STATS")
    wire.close()
    return stats["names"]["count"], stats["names"]["bytes"], stats["memory"]["device_bytes"]


TRAINER = """
burn.manual_seed(3)
model = burn.nn.Sequential(burn.nn.Linear(12, 20), burn.nn.Tanh(), burn.nn.Linear(20, 4), burn.nn.Linear(4, 1))
optimizer = burn.optim.Adam(model.parameters(), lr=1e-2)
x = burn.randn(16, 12)
y = x.sum(1, keepdim=True)
def step():
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss
if MODE == "program":
    step()
    step = burn.jit(step)
STEPS, WARM = 40, 12
number = burn.zeros(1)
for k in range(STEPS):
    if k == WARM:
        burn.sync()
        before = burn.stats()
    step()
    number += 1
    weights = model.state_dict()
    firsts = burn.cat([value.flatten()[:1] for value in weights.values()])
    names.publish("net", {"weights": weights, "check": {"firsts": firsts, "step": number}}, wait=k % 2 == 0)
burn.sync()
after = burn.stats()
say(after["plans"]["analyses"] - before["plans"]["analyses"], after["plans"]["replays"] - before["plans"]["replays"],
    after["kernels"]["compiles"] - before["kernels"]["compiles"], [w.tolist() for w in model.state_dict().values()])
"""

READER = """
seen, last = 0, 0
while last < 40:
    try:
        net = names.get("net")
    except LookupError:
        continue
    firsts = [value.numpy().reshape(-1)[0] for value in net["weights"].values()]
    published = dict(zip(sorted(net["weights"]), firsts))
    # the trainer's order is the module's, the reader's that of the names
    order = ["0.weight", "0.bias", "2.weight", "2.bias", "3.weight", "3.bias"]
    assert [published[name] for name in order] == net["check"]["firsts"].numpy().tolist(), "a mixture"
    step = int(net["check"]["step"].item())
    assert step >= last, "time runs backwards"
    seen, last = seen + (step != last), step
say(seen, [net["weights"][name].tolist() for name in order])
"""


@pytest.mark.parametrize("mode", ["stream", "program"])
def test_a_reader_sees_old_or_new_while_another_trains(daemon, mode):
    readers = [Process(daemon, READER) for _ in range(2)]
    trainer = Process(daemon, f"MODE = {mode!r}\n" + TRAINER)
    (analyses, replays, compiles, final), = trainer.end()
    for reader in readers:
        (seen, weights), = reader.end()
        assert seen >= 1 and weights == final
    assert analyses == 0 and compiles == 0 and replays >= 28


def test_a_name_outlives_its_session_and_holds_its_memory(daemon):
    assert held(daemon) == (0, 0, 0)
    killed = Process(daemon, """
        names.publish("left", {"a": burn.arange(1000.0), "b": burn.ones(10, dtype=burn.int64)})
        names.publish("public/all", burn.full((3,), 2.5))
        say("there")
        sys.stdin.readline()
    """)
    killed.hear()
    killed.process.send_signal(signal.SIGKILL)
    killed.process.communicate()
    assert eventually(lambda: held(daemon) == (3, 4000 + 80 + 12, 4000 + 80 + 12), 5)
    (listed, first, total, shared), = run(daemon, """
        got = names.get("left")
        say(names.list(), names.get("left/a")[7].item(), got["b"].sum().item(), names.get("public/all").tolist())
        names.remove("left")
        assert got["a"].sum().item() == 499500  # whoever got it keeps it
        fails(LookupError, lambda: names.get("left"))
        fails(LookupError, lambda: names.remove("left"))
    """)
    assert listed == [{"name": "left/a", "kind": "tensor", "dtype": "float32", "shape": [1000], "bytes": 4000, "version": 1},
                      {"name": "left/b", "kind": "tensor", "dtype": "int64", "shape": [10], "bytes": 80, "version": 1},
                      {"name": "public/all", "kind": "tensor", "dtype": "float32", "shape": [3], "bytes": 12, "version": 1}]
    assert (first, total, shared) == (7, 10, [2.5] * 3)
    assert eventually(lambda: held(daemon) == (1, 12, 12), 5)
    run(daemon, 'names.remove("public/all")')
    assert eventually(lambda: held(daemon) == (0, 0, 0), 5)


def test_a_publication_replaces_what_stood_below(daemon):
    run(daemon, """
        names.publish("m", {"a": burn.ones(2), "b": {"c": burn.zeros(3)}})
        names.publish("m-other", burn.ones(1))
        names.publish("m/b/d", burn.ones(4))
        assert sorted(names.get("m/b")) == ["c", "d"]
        assert '"m/a" is the name of a value' in fails(burn.Error, lambda: names.publish("m/a/x", burn.ones(1)))
        fails(ValueError, lambda: names.publish("m", {"q": burn.ones(1), "q/r": burn.ones(1)}))
        assert [n["name"] for n in names.list("m")] == ["m/a", "m/b/c", "m/b/d"]
        names.publish("m", {"z": burn.full((2,), 7.0)})
        assert list(names.get("m")) == ["z"] and names.get("m")["z"].tolist() == [7, 7]
        names.publish("m", burn.full((1,), 8.0))
        assert names.get("m").item() == 8 and names.get("m-other").item() == 1
        for name in ("", "a//b", "/a", "a/", "public", "a b", "\\xe4", "x" * 256):
            fails(ValueError, lambda: names.publish(name, burn.ones(1)))
        names.publish("x" * 255, burn.ones(1))
        fails(TypeError, lambda: names.publish("n", 3))
        fails(TypeError, lambda: names.publish("n", {"a": [1]}))
        fails(ValueError, lambda: names.publish("n", {}))
    """)


def test_the_name_of_a_poisoned_tensor_is_not_given(daemon):
    (awaited, later), = run(daemon, """
        names.publish("v", burn.ones(2))
        bad = burn.arange(4.0)[burn.tensor([9])] * 2
        awaited = fails(burn.Error, lambda: names.publish("v", {"good": burn.ones(1), "bad": bad}))
        fails(burn.Error, burn.sync)
        names.publish("v", bad + 1, wait=False)
        later = fails(burn.Error, burn.sync)
        assert names.get("v").tolist() == [1, 1]
        burn.sync()
        say(awaited, later)
    """)
    assert "index 9 is out of range" in awaited and '"v"' in awaited
    assert "index 9 is out of range" in later


def test_a_reader_computes_with_what_it_got(daemon):
    """Overwritten while the reader's ops are under way; a view and a changed tensor are values of their moment."""
    run(daemon, """
        w = burn.rand(300, 300)
        before = w.numpy().copy()
        names.publish("w", w)
        w.zero_()
        assert (names.get("w").numpy() == before).all()
        got = names.get("w")
        y = got
        for _ in range(20):
            y = (y @ got) / 150
        names.publish("w", burn.zeros(300, 300))
        names.publish("w", burn.ones(2, 3).t()[1:], wait=False)
        z = before.astype(np.float64)
        for _ in range(20):
            z = (z @ before) / 150
        assert np.allclose(y.numpy(), z, rtol=1e-3)
        got += 1  # a tensor like any other
        assert (got.numpy() == before + 1).all()
        assert names.get("w").shape == (2, 2)
    """)


@pytest.mark.parametrize("daemon", [("--names=3", "--session-memory=1MiB")], indirect=True)
def test_limits_of_a_principal(daemon):
    (many, large), = run(daemon, """
        names.publish("a", {"x": burn.ones(1), "y": burn.ones(1)})
        many = fails(burn.Error, lambda: names.publish("b", {"x": burn.ones(1), "y": burn.ones(1)}))
        names.publish("a", {"1": burn.ones(1), "2": burn.ones(1), "3": burn.zeros(1)})
        names.publish("a", burn.ones(150000))
        names.publish("a", burn.zeros(150000)) # more than half of the room: what it replaces does not count
        large = fails(burn.Error, lambda: names.publish("b", burn.zeros(150000)))
        assert names.get("a").shape == (150000,) and names.get("a").sum().item() == 0
        say(many, large)
    """)
    assert "uid:%d has 2 names" % os.getuid() in many
    assert "memory limit of the principal's names: 600000 bytes wanted, 600000 of 1048576" in large
    count, named, total = held(daemon)
    assert (count, named) == (1, 600000) and eventually(lambda: held(daemon)[2] == 600000, 5)


def test_order_within_a_session(daemon):
    """What was published without waiting is there for what comes after it."""
    run(daemon, """
        x = burn.zeros(1)
        for k in range(50):
            x = x + 1
            names.publish("x", x, wait=False)
            assert names.get("x").item() == k + 1
        names.publish("y", {str(k): x * k for k in range(300)}, wait=False)
        assert sum(value.item() for value in names.get("y").values()) == 50 * 299 * 150
        names.remove("y")
        names.remove("x")
        assert names.list() == []
    """)


def test_gradients_flow_to_what_was_got(daemon):
    run(daemon, """
        names.publish("w", burn.full((3,), 2.0))
        w = names.get("w").requires_grad_()
        (w * w).sum().backward()
        assert w.grad.tolist() == [4, 4, 4]
        parameter = burn.nn.Parameter(burn.ones(2))
        names.publish("p", parameter)
        assert not names.get("p").requires_grad and names.get("p").tolist() == [1, 1]
    """)


PUBLISHER = """
burn.manual_seed(5)
model = burn.nn.Sequential(burn.nn.Linear(6, 16), burn.nn.ReLU(), burn.nn.Linear(16, 3))
def classify(x, scale):
    logits = model(x) * scale
    return logits.softmax(1), logits.argmax(1)
x, scale = burn.randn(4, 6), burn.full((1,), 2.0)
names.publish_program("net/classify", classify, x, scale)
names.publish("net/weights", model.state_dict())
want = classify(x, scale)
say(x.tolist(), [w.tolist() for w in want])
sys.stdin.readline()
with burn.no_grad():
    for p in model.parameters():
        p.mul_(0.5)
names.publish_program("net/classify", classify, x, scale)
say(classify(x, scale)[0].tolist())
"""


def test_a_program_by_name(daemon):
    publisher = Process(daemon, PUBLISHER)
    x, (probabilities, winners) = publisher.hear()
    caller = Process(daemon, f"""
        x, scale = burn.tensor({x!r}), burn.full((1,), 2.0)
        classify = names.program("net/classify")
        p, w = classify(x, scale)
        first = p.tolist(), w.tolist()
        for k in range(8):
            p, w = classify(x, scale)
            p.tolist()
            if k == 3:
                before = burn.stats()["plans"]["analyses"]
        assert burn.stats()["plans"]["analyses"] == before
        say(*first)
        sys.stdin.readline()
        say(classify(x, scale)[0].tolist(), names.program("net/classify")(x, scale)[0].tolist())
        assert "argument 0" in fails(ValueError, lambda: classify(burn.zeros(4, 5), scale))
        assert "2 arguments" in fails(ValueError, lambda: classify(x))
        fails(LookupError, lambda: names.program("net/other"))
        assert "no program" in fails(ValueError, lambda: names.program("net/weights/0.weight"))
        assert "is a program" in fails(ValueError, lambda: names.get("net/classify"))
        assert sorted(names.get("net")["weights"]) == ["0.bias", "0.weight", "2.bias", "2.weight"]
        fails(burn.Error, lambda: names.publish("net/classify/x", burn.ones(1)))
        say(names.list("net/classify"))
        del classify
        names.remove("net")
        burn.sync()
    """)
    assert caller.hear() == [probabilities, winners]
    publisher.tell()
    (halved,), = publisher.end()
    caller.tell()
    (old, new), (listed,) = caller.end()
    assert old == probabilities and new == halved != old
    weights = 4 * (6 * 16 + 16 + 16 * 3 + 3)
    assert listed == [{"name": "net/classify", "kind": "program", "bytes": weights, "version": 3}]
    assert eventually(lambda: held(daemon) == (0, 0, 0), 5)


def test_what_a_published_program_may_be(daemon):
    run(daemon, """
        total = burn.zeros(1)
        def add(x):
            total.add_(x)
            return total
        assert "changes 1 tensor" in fails(ValueError, lambda: names.publish_program("add", add, burn.ones(1)))
        fails(ValueError, lambda: names.publish_program("inc", lambda x: x.add_(1), burn.ones(1)))
        fails(TypeError, lambda: names.publish_program("n", lambda x: {"a": x}, burn.ones(1)))
        fails(TypeError, lambda: names.publish_program("n", lambda x: x, 3))
        fails(ValueError, lambda: names.publish_program("a b", lambda x: x, burn.ones(1)))
        assert names.list() == []
        burn.manual_seed(7)
        names.publish_program("noise", lambda x: x + burn.rand(3), burn.zeros(3))
        noise = names.program("noise")
        burn.manual_seed(11)
        a, b = noise(burn.zeros(3)), noise(burn.zeros(3))
        burn.manual_seed(11)
        assert (burn.rand(3) == a).all().item() and (burn.rand(3) == b).all().item()
        names.publish_program("twice", lambda x: (x, x * 2), burn.ones(2, dtype=burn.int32))
        names.publish("public/x", burn.ones(2))
        one, two = names.program("twice")(burn.tensor([3, 4], dtype=burn.int32))
        assert one.tolist() == [3, 4] and two.tolist() == [6, 8]
    """)
