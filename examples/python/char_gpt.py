#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A character GPT learns Shakespeare and then writes some of its own.

    char_gpt.py [--batch 32] [--context 64] [--sample 300] [--temperature 0.8] [--url URL] [--json]

Decoder-only transformer: 4 blocks of width 128 with 4 heads, causal attention, GELU, learned positions; AdamW with
warm-up and cosine decay. The text stands in tests/data.
"""
import lzma
import math

import numpy as np

import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim
from common import ROOT, Training, begin, finish, training_parser


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, -1))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class GPT(nn.Module):
    def __init__(self, vocabulary, context, width=128, heads=4, blocks=4):
        super().__init__()
        self.context = context
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        for parameter in self.parameters():
            if parameter.dim() == 2:
                nn.init.normal_(parameter, std=0.02)

    def forward(self, ids):
        x = self.tokens(ids) + self.positions(burn.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


STEPS, WARMUP = 400, 40


def rate(step, peak=1e-3):
    """Linear warm-up, then half a cosine down to a tenth."""
    if step < WARMUP:
        return peak * (step + 1) / WARMUP
    return peak * (0.55 + 0.45 * math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP)))


def batch_of(text, random, options):
    starts = random.integers(0, len(text) - options.context - 1, options.batch)
    rows = np.stack([text[start:start + options.context + 1] for start in starts])
    return burn.tensor(rows[:, :-1]), burn.tensor(rows[:, 1:])


def write(model, first, count, temperature):
    """Sampled ids [count]; the window is padded on the right, where a causal net does not look."""
    ids = list(first)
    with burn.no_grad():
        for _ in range(count):
            window = ids[-model.context:]
            padded = burn.tensor([window + [0] * (model.context - len(window))])
            logits = model(padded)[0, len(window) - 1] / temperature
            ids.append(int(burn.multinomial(logits.softmax(-1), 1)))
    return ids


def main():
    made = training_parser(__doc__)
    made.add_argument("--batch", type=int, default=32)
    made.add_argument("--context", type=int, default=64)
    made.add_argument("--sample", type=int, default=300, help="characters to write at the end")
    made.add_argument("--temperature", type=float, default=0.8)
    options = made.parse_args()
    random, start = begin(options)

    text = lzma.open(ROOT / "tests/data/tinyshakespeare.txt.xz", "rt").read()
    letters = sorted(set(text))
    number = {letter: i for i, letter in enumerate(letters)}
    ids = np.array([number[letter] for letter in text], np.int64)
    train, held_out = ids[:-50_000], ids[-50_000:]

    model = GPT(len(letters), options.context)
    optimizer = optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    training = Training(model, options, STEPS, "characters")
    while training.step < training.total:
        for group in optimizer.param_groups:
            group["lr"] = rate(training.step)
        inputs, targets = batch_of(train, random, options)
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        training.done(loss, targets.numel(), every=20)

    with burn.no_grad():
        inputs, targets = batch_of(held_out, random, options)
        final = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()).item()
    if options.sample and not options.json:
        print("".join(letters[i] for i in write(model, [number["\n"]], options.sample, options.temperature)))
    finish(options, start, final_loss=final, steps=training.step)


if __name__ == "__main__":
    main()
