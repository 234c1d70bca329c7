#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the page's network on Fashion-MNIST and publishes its weights every few steps: pages follow while it trains.

    train.py [--steps 1500] [--every 25] [--name public/garments] [--data FOLDER] [--seed 0]

Half of each batch is shown as drawings would be: silhouettes in one shade. The daemon is that of BURN_URL.
The last line is the test accuracy.
"""
import argparse
import gzip
import pathlib

import numpy as np

import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim

MEAN, DEVIATION = 0.2860, 0.3530  # of the training images
BATCH = 128


def idx(folder, kind, what, skip):
    return np.frombuffer(gzip.open(folder / f"{kind}-{what}.gz").read(), np.uint8, offset=skip)


def load(folder, kind):
    return idx(folder, kind, "images-idx3-ubyte", 16).reshape(-1, 28, 28), idx(folder, kind, "labels-idx1-ubyte", 8).astype(np.int64)


def network():
    return nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(32 * 5 * 5, 128), nn.ReLU(), nn.Linear(128, 10))


def pixels(images, drawn):
    """Normalised [n, 1, 28, 28]; those of `drawn` as silhouettes of a shade from 0.7 to 1."""
    shown = images.astype(np.float32) / 255
    shade = (images[drawn] > 12).astype(np.float32)
    shown[drawn] = shade * np.linspace(0.7, 1, len(drawn), dtype=np.float32)[:, None, None]
    return burn.tensor((shown[:, None] - MEAN) / DEVIATION)


def accuracy(model, images, labels):
    right = 0
    with burn.no_grad():
        for first in range(0, len(labels), 1000):
            rows = slice(first, first + 1000)
            right += int((model(pixels(images[rows], [])).argmax(1) == burn.tensor(labels[rows])).sum())
    return right / len(labels)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--every", type=int, default=25)
    parser.add_argument("--name", default="public/garments")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    burn.manual_seed(options.seed)
    random = np.random.default_rng(options.seed)
    images, labels = load(options.data, "train")
    model = network()
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    for step in range(1, options.steps + 1):
        rows = random.integers(0, len(labels), BATCH)
        loss = F.cross_entropy(model(pixels(images[rows], np.arange(BATCH // 2))), burn.tensor(labels[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % options.every == 0 or step == options.steps:
            burn.names.publish(options.name, model.state_dict())
            print(f"step {step}: loss {loss.item():.3f}, published", flush=True)
    print(f"test accuracy: {accuracy(model, *load(options.data, 't10k')):.4f}")


if __name__ == "__main__":
    main()
