#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Transfer learning: a convnet that knows five kinds of clothes learns the other five from few pictures.

    transfer_learning.py [--steps 300] [--examples 100] [--data FOLDER] [--url URL] [--json]

The net is trained on the first five classes of Fashion-MNIST. Then its features are frozen, it gets a new last layer, and
that alone is trained on --examples pictures of each of the other classes.
"""
import pathlib

import numpy as np

import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim
from common import FASHION, Progress, begin, fashion_mnist, finish, parser
from fashion_mnist import convnet, pixels


def fit(model, parameters, images, labels, steps, random, quiet):
    optimizer = optim.Adam(parameters, lr=1e-3)
    progress = Progress(steps, "images", quiet)
    for step in range(steps):
        rows = burn.tensor(random.integers(0, len(labels), 128))
        loss = F.cross_entropy(model(pixels(images[rows])), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 50 == 0 or step + 1 == steps:
            progress.show(step + 1, (step + 1) * 128, loss=loss.item())


def accuracy(model, images, labels):
    with burn.no_grad():
        return (model(pixels(images)).argmax(1) == labels).float().mean().item()


def part(arrays, classes, each=None):
    """Images and labels, counted from 0, of some classes; the first `each` of every one."""
    images, labels = arrays
    rows = np.concatenate([np.flatnonzero(labels == one)[:each] for one in classes])
    return burn.tensor(images[rows]), burn.tensor(labels[rows] - classes[0])


def main():
    made = parser(__doc__)
    made.add_argument("--steps", type=int, default=300)
    made.add_argument("--examples", type=int, default=100)
    made.add_argument("--data", type=pathlib.Path, default=FASHION)
    options = made.parse_args()
    random, start = begin(options)
    train, test = fashion_mnist(options.data, "train"), fashion_mnist(options.data, "t10k")

    model = convnet()
    fit(model, model.parameters(), *part(train, range(5)), options.steps, random, options.json)
    if not options.json:
        print(f"on the first five classes: {accuracy(model, *part(test, range(5), 400)):.4f}")
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    model[-1] = nn.Linear(128, 5)
    fit(model, model[-1].parameters(), *part(train, range(5, 10), options.examples), options.steps, random, options.json)
    finish(options, start, test_accuracy=round(accuracy(model, *part(test, range(5, 10), 400)), 4), steps=2 * options.steps)


if __name__ == "__main__":
    main()
