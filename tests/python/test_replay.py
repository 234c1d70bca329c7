# SPDX-License-Identifier: Apache-2.0
"""After three steps, steps of any batch size and sequence length compile and analyse nothing."""
import math
import time

import numpy as np
import pytest

import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim

WORDS, WIDTH, MOST = 23, 16, 40  # words, features, the longest sequence


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.layer = getattr(nn, kind)(WIDTH, 12, batch_first=True)
        self.head = nn.Linear(12, WORDS)

    def forward(self, ids):
        return self.head(self.layer(self.embedding(ids))[0])


class Convnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=2), nn.GroupNorm(2, 8), nn.GELU(), nn.Dropout2d(0.1),
            nn.ConvTranspose2d(8, 4, 3, stride=2), nn.AvgPool2d(2), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        return self.head(self.body(x))


class Causal(nn.Module):
    """A small GPT."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(WORDS, WIDTH), nn.Embedding(MOST, WIDTH)
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(3))
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH), nn.Dropout(0.1))
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, ids):
        batch, length = ids.shape
        x = self.words(ids) + self.places(burn.arange(length))
        q, k, v = (each.view(batch, length, 4, WIDTH // 4).transpose(1, 2) for each in self.qkv(self.norms[0](x)).chunk(3, -1))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))
        return self.head(self.norms[2](x + self.mlp(self.norms[1](x))))


class Encoder(nn.Module):
    """A Transformer encoder over sequences that are padded with word 0."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH, padding_idx=0)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 32, batch_first=True)
        self.layers, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(WIDTH, WORDS)

    def forward(self, ids):
        return self.head(self.layers(self.embedding(ids) * math.sqrt(WIDTH), src_key_padding_mask=ids == 0))


class Steps:
    """Steps of training on random data; `read` says when the loss is looked at."""

    def __init__(self, model, optimizer, read):
        self.model, self.read = model, read
        self.optimizer = optimizer(model.parameters())
        self.random = np.random.default_rng(0)

    def batch(self, batch, length):
        if isinstance(self.model, Convnet):
            x = self.random.standard_normal((batch, 3, length, length)).astype(np.float32)
            return burn.tensor(x), burn.tensor(self.random.integers(0, 10, batch))
        ids = self.random.integers(1, WORDS, (batch, length))
        if isinstance(self.model, Encoder):
            ids[np.arange(length) >= self.random.integers(1, length + 1, (batch, 1))] = 0
        return burn.tensor(ids), burn.tensor(self.random.integers(0, WORDS, batch * length))

    def __call__(self, batch, length):
        x, y = self.batch(batch, length)
        loss = F.cross_entropy(self.model(x).flatten(0, -2), y)
        if self.read == "before":
            assert np.isfinite(loss.item())
        self.optimizer.zero_grad()
        loss.backward()
        if self.read == "between":
            assert np.isfinite(loss.item())
        self.optimizer.step()


def counts():
    burn.sync()
    stats = burn.stats()
    return {"compiles": stats["kernels"]["compiles"], **{k: stats["plans"][k] for k in ("analyses", "fallbacks")}}


def check(step, warm, later):
    for shape in warm:
        step(*shape)
    before = counts()
    for shape in later:
        step(*shape)
    assert counts() == before
    assert before["fallbacks"] == 0


@pytest.fixture(params=["never", "before", "between"])
def read(request):
    return request.param


def adam(parameters):
    return optim.AdamW(parameters, lr=1e-3)


@pytest.mark.parametrize("kind", [Convnet, Causal, Encoder])
def test_any_batch_size_and_length(kind, read):
    random = np.random.default_rng(1)
    later = [(int(random.integers(2, 18)), int(random.integers(8, MOST))) for _ in range(100)]
    check(Steps(kind(), adam, read), [(6, 20), (6, 20), (6, 20)], later)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_any_batch_size_of_an_unrolled_layer(kind, read):
    """Each length is a program of its own: one that was seen three times costs no more at any batch size."""
    random = np.random.default_rng(1)
    lengths = (5, 9, 16, 23)
    later = [(int(random.integers(2, 40)), int(random.choice(lengths))) for _ in range(100)]
    check(Steps(Recurrent(kind), adam, read), [(6, length) for length in lengths for _ in range(3)], later)


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_a_new_length_of_an_unrolled_layer_compiles_little(kind):
    """A step of a longer sequence is made of the kernels of the shorter one's."""
    step = Steps(Recurrent(kind), adam, "never")
    for length in (9, 9, 16, 16):
        step(6, length)
    before = counts()
    lengths = (17, 24, 29, 31, 38)
    for length in lengths:
        step(6, length)
    assert counts()["compiles"] - before["compiles"] <= 3 * len(lengths)  # sums of other numbers of gradients


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_a_long_sequence_is_analysed_in_seconds(kind):
    """Gradients of the sequence included: those of 300 of its slices are one tensor, not 300."""
    layer = getattr(nn, kind)(128, 16, batch_first=True)
    x = burn.randn(16, 300, 128, requires_grad=True)
    start = time.monotonic()
    layer(x)[0].square().mean().backward()
    assert np.isfinite(x.grad.sum().item())
    assert time.monotonic() - start < 30  # about one, of a machine that does nothing else
