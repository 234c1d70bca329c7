#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A GRU tells first names from the same letters in another order.

    names_gru.py [--epochs 2] [--batch 256] [--url URL] [--json] [NAME ...]

Sequences of different lengths run packed. The names stand in tests/data; every NAME given is judged at the end.
"""
import numpy as np

import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim
from burn.nn.utils.rnn import pack_padded_sequence, pad_sequence
from common import ROOT, Training, begin, finish, training_parser


class NameNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.letters = nn.Embedding(27, 16, padding_idx=0)
        self.gru = nn.GRU(16, width, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, 1)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.letters(words), lengths, batch_first=True, enforce_sorted=False)
        _, last = self.gru(packed)
        return self.head(burn.cat([last[0], last[1]], -1)).squeeze(-1)


def encode(words):
    """Words of a-z as numbers 1 to 26, padded with 0 at the end, and their lengths."""
    rows = [burn.tensor([ord(letter) - 96 for letter in word]) for word in words]
    return pad_sequence(rows, batch_first=True), burn.tensor([len(word) for word in words])


def shuffled(word, random):
    return "".join(random.permutation(list(word)))


def main():
    made = training_parser(__doc__)
    made.add_argument("names", nargs="*", metavar="NAME", help="words of a-z to be judged")
    made.add_argument("--epochs", type=int, default=2)
    made.add_argument("--batch", type=int, default=256)
    options = made.parse_args()
    random, start = begin(options)

    names = (ROOT / "tests/data/names.txt").read_text().split()
    random.shuffle(names)
    words = names + [shuffled(name, random) for name in names]
    truth = np.repeat([1, 0], len(names)).astype(np.float32)
    order = random.permutation(len(words))
    test, train = order[:4000], order[4000:]

    model = NameNet()
    optimizer = optim.Adam(model.parameters(), lr=3e-3)
    batches = len(train) // options.batch
    training = Training(model, options, batches * options.epochs, "words")
    while training.step < training.total:
        if training.step % batches == 0:
            random.shuffle(train)
        rows = train[training.step % batches * options.batch:][:options.batch]
        loss = F.binary_cross_entropy_with_logits(model(*encode([words[i] for i in rows])), burn.tensor(truth[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        training.done(loss, options.batch, every=10)

    with burn.no_grad():
        guesses = np.concatenate([(model(*encode([words[i] for i in rows])) > 0).numpy()
                                  for rows in np.split(test, 8)])
        for name in options.names:
            chance = model(*encode([name.lower()])).sigmoid().item()
            print(f"{name}: {'a name' if chance > 0.5 else 'no name'} ({chance:.2f})")
    finish(options, start, test_accuracy=round(float((guesses == truth[test]).mean()), 4), steps=training.step)


if __name__ == "__main__":
    main()
