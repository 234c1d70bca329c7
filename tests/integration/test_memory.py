# SPDX-License-Identifier: Apache-2.0
"""Training keeps memory.device_bytes flat: a loop over each example's network, its loss read at every step or never,
and steps that an exception ends in the middle. 1,000 steps each with BURN_TEST_LONG, else 60."""
import gc
import itertools
import os
import pathlib
import signal
import sys
import threading
import time

import numpy as np
import pytest

import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim
from burn.utils import data

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/python"))
import char_gpt  # noqa: E402
import fashion_mnist  # noqa: E402
import names_gru  # noqa: E402
import vae  # noqa: E402

STEPS = 1000 if os.environ.get("BURN_TEST_LONG") else 60
WARM = 12  # after so many steps all state is there


def device_bytes():
    gc.collect()
    burn.sync()
    return burn.stats()["memory"]["device_bytes"]


# ---- the examples' networks, each with a function that gives a new loss ----

class Case:
    """A network, its optimizer, and how a step of the example goes."""

    def __init__(self, model, optimizer, loss, clip=None, parameters=None):
        self.model, self.loss, self.clip = model, loss, clip
        self.parameters = list(model.parameters() if parameters is None else parameters)
        self.optimizer = optimizer(self.parameters)

    def step(self):
        loss = self.loss()
        self.optimizer.zero_grad()
        loss.backward()
        if self.clip:
            nn.utils.clip_grad_norm_(self.parameters, self.clip)
        self.optimizer.step()
        return loss


def linear(random):
    model = nn.Linear(2, 1)
    x = burn.randn(256, 2)
    y = x @ burn.tensor([[3.0], [-2.0]]) + 0.5
    return Case(model, lambda p: optim.SGD(p, lr=0.1), lambda: F.mse_loss(model(x), y))


def pictures(random, net, parameters=None, batch=16):
    images = burn.tensor(random.integers(0, 256, (200, 28, 28)).astype(np.uint8))
    labels = burn.tensor(random.integers(0, 5, 200))
    order = burn.tensor(random.permutation(200))
    starts = itertools.cycle(range(0, 200, batch))  # the last batch is shorter

    def loss():
        rows = order[(first := next(starts)):first + batch]
        return F.cross_entropy(net(fashion_mnist.pixels(images[rows])), labels[rows])
    return Case(net, lambda p: optim.Adam(p, lr=1e-3), loss, parameters=parameters)


def transfer(random):
    net = fashion_mnist.convnet()
    for parameter in net.parameters():
        parameter.requires_grad_(False)
    net[-1] = nn.Linear(128, 5)
    return pictures(random, net, net[-1].parameters())


def gpt(random):
    text = random.integers(0, 30, 1000)
    model = char_gpt.GPT(30, 16, width=32, heads=2, blocks=2)
    options = type("Options", (), {"context": 16, "batch": 4})

    def loss():
        inputs, targets = char_gpt.batch_of(text, random, options)
        return F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
    return Case(model, lambda p: optim.AdamW(p, lr=1e-3, weight_decay=0.1), loss, clip=1.0)


def gru(random):
    model = names_gru.NameNet(16)
    words = ["".join(random.choice(list("abcdefgh"), random.integers(2, 9))) for _ in range(100)]

    def loss():
        rows = random.integers(0, 100, 8)
        return F.binary_cross_entropy_with_logits(model(*names_gru.encode([words[i] for i in rows])),
                                                  burn.tensor((rows % 2).astype(np.float32)))
    return Case(model, lambda p: optim.Adam(p, lr=3e-3), loss)


def autoencoder(random):
    model = vae.VAE(8)
    images = burn.tensor(random.integers(0, 256, (64, 784)).astype(np.uint8))
    return Case(model, lambda p: optim.Adam(p, lr=1e-3),
                lambda: vae.loss_of(model, images[burn.tensor(random.integers(0, 64, 16))].float() / 255))


CASES = {"linear_regression": linear, "convnet": lambda random: pictures(random, fashion_mnist.convnet()),
         "mlp": lambda random: pictures(random, fashion_mnist.mlp()), "transfer_learning": transfer, "char_gpt": gpt,
         "names_gru": gru, "vae": autoencoder}


@pytest.fixture(params=CASES)
def case(request):
    burn.manual_seed(0)
    made = CASES[request.param](np.random.default_rng(0))
    yield made
    made.optimizer.zero_grad()


# ---- whole steps ----

@pytest.mark.parametrize("read", [True, False], ids=["read", "unread"])
def test_a_loop_leaves_memory_flat(case, read):
    most = 0
    for step in range(STEPS):
        loss = case.step()
        if read:
            assert np.isfinite(loss.item())
        if step + 1 == WARM:
            del loss
            base = device_bytes()
        elif step > WARM and step % 10 == 0:
            burn.sync()  # steps that are under way have memory of their own
            most = max(most, burn.stats()["memory"]["device_bytes"])
    del loss
    end = device_bytes()
    print(f"{STEPS} steps, {'read' if read else 'unread'}: {base} -> {end} bytes, at most {most}")
    assert end == base and most < base + (1 << 20)


# ---- steps that end in the middle ----

class Fails(burn.autograd.Function):
    """Its backward cannot."""

    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, gradient):
        raise ValueError("backward fails")


class Interrupts(Fails):
    """Ctrl-C while its backward runs."""

    @staticmethod
    def backward(ctx, gradient):
        signal.raise_signal(signal.SIGINT)
        return gradient


class Samples(data.Dataset):
    def __getitem__(self, index):
        if index == 37:
            raise KeyError("sample 37")
        return burn.ones(100) * index

    def __len__(self):
        return 64


def of_a_wrong_shape(case):
    loss = case.loss()
    burn.ones(3, 4) @ (burn.ones(5, 6) * loss)


def of_an_index_that_only_the_daemon_sees(case):
    loss = case.loss()
    with pytest.raises(IndexError):
        (burn.ones(5)[burn.tensor([7])] * loss).sum().item()
    burn.sync()  # tells of it too


def in_backward(case):
    Fails.apply(case.loss()).backward()


def in_a_hook(case):
    loss = case.loss() * 2

    def hook(gradient):
        raise ValueError("a hook fails")
    handle = next(p for p in case.parameters if p.requires_grad).register_hook(hook)
    try:
        loss.backward()
    finally:
        handle.remove()


def in_a_worker(case):
    for batch in data.DataLoader(Samples(), 8, num_workers=2):
        (case.loss() * batch.mean()).backward()


def by_ctrl_c(case):
    Interrupts.apply(case.loss()).backward()


def by_ctrl_c_while_it_waits(case):
    ring = threading.Timer(0.02, signal.raise_signal, (signal.SIGINT,))
    ring.start()
    until = time.monotonic() + 10
    while time.monotonic() < until:
        case.loss().item()
    ring.join()


ENDINGS = {of_a_wrong_shape: RuntimeError, of_an_index_that_only_the_daemon_sees: IndexError, in_backward: ValueError,
           in_a_hook: ValueError, in_a_worker: KeyError, by_ctrl_c: KeyboardInterrupt,
           by_ctrl_c_while_it_waits: KeyboardInterrupt}


@pytest.fixture
def interrupts():
    """Ctrl-C raises KeyboardInterrupt, also where the tests were started with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_exceptions_in_the_middle_of_a_step_leave_nothing(case, interrupts):
    for _ in range(WARM):
        case.step()
    base = device_bytes()
    for turn in range(max(1, STEPS // 100)):
        for ending, kind in ENDINGS.items():
            with pytest.raises(kind):
                ending(case)
            case.step()
            assert device_bytes() == base, ending.__name__
    assert not [t for t in threading.enumerate() if t.name.startswith("DataLoader")]
    assert np.isfinite(case.step().item())
