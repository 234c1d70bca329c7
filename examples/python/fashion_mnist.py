#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Train a network on Fashion-MNIST with burn; the last line is the test accuracy.

    fashion_mnist.py [--net convnet] [--epochs 3] [--batch 128] [--data FOLDER] [--out FOLDER] [--url URL] [--json]

convnet: 3x3 convolutions of 16 and 32 channels, each with ReLU and a 2x2 max-pool, then 128 hidden units.
mlp: 784-512-512-10. The images are those of the Debian package dataset-fashion-mnist. Batches are rows of
numpy.random.default_rng(seed).permutation, epoch by epoch.
"""
import pathlib

import numpy as np

import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim
from common import FASHION, LABELS, Training, begin, fashion_mnist, finish, sheet, training_parser, write_png

MEAN, DEVIATION = 0.2860, 0.3530  # of the training images


def convnet():
    return nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(16, 32, 3), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(32 * 5 * 5, 128), nn.ReLU(), nn.Linear(128, 10))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


NETS = {"convnet": convnet, "mlp": mlp}


def arguments():
    made = training_parser(__doc__)
    made.add_argument("--net", choices=NETS, default="convnet")
    made.add_argument("--epochs", type=int, default=3)
    made.add_argument("--batch", type=int, default=128)
    made.add_argument("--data", type=pathlib.Path, default=FASHION)
    made.add_argument("--out", type=pathlib.Path, help="folder for the weights and a picture of predictions")
    return made.parse_args()


def pixels(images):
    """uint8 [n, 28, 28] to normalised float32 [n, 1, 28, 28]."""
    return (images.float() / 255 - MEAN).unsqueeze(1) / DEVIATION


def evaluate(model, images, labels, batch=1000):
    model.eval()
    right = 0
    with burn.no_grad():
        for first in range(0, len(labels), batch):
            rows = slice(first, first + batch)
            right += int((model(pixels(images[rows])).argmax(1) == labels[rows]).sum())
    return right / len(labels)


def train(model, images, labels, random, options):
    """The number of steps."""
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    count = len(labels)
    training = Training(model, options, (count + options.batch - 1) // options.batch * options.epochs, "images")
    model.train()
    while training.step < training.total:
        order = burn.tensor(random.permutation(count))
        for first in range(0, count, options.batch):
            if training.step == training.total:
                break
            rows = order[first:first + options.batch]
            loss = F.cross_entropy(model(pixels(images[rows])), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            training.done(loss, len(rows))
    return training.step


def save_results(model, options, images, pictures, labels):
    options.out.mkdir(parents=True, exist_ok=True)
    burn.save(model.state_dict(), options.out / f"{options.net}.safetensors")
    with burn.no_grad():
        guesses = model(pixels(images[:40])).argmax(1).numpy()
    tiles = []
    for picture, guess, truth in zip(pictures[:40], guesses, labels[:40]):
        tile = np.pad(picture, 4)
        tile[:2] = tile[-2:] = 255 if guess == truth else 96  # a bright bar above and below: right
        tiles.append(tile)
    write_png(options.out / "predictions.png", sheet(tiles, 10))
    names = [f"{LABELS[guess]}{'' if guess == truth else '?'}" for guess, truth in zip(guesses, labels[:40])]
    for row in range(4):
        print(" ".join(f"{name:>9}" for name in names[row * 10:row * 10 + 10]))
    print(f"weights and predictions.png are in {options.out} (a bright bar marks a right guess, ? a wrong one)")


def main():
    options = arguments()
    random, start = begin(options)
    images, labels = map(burn.tensor, fashion_mnist(options.data, "train"))
    pictures, truths = fashion_mnist(options.data, "t10k")
    test_images, test_labels = burn.tensor(pictures), burn.tensor(truths)
    model = NETS[options.net]()
    steps = train(model, images, labels, random, options)
    accuracy = evaluate(model, test_images, test_labels)
    if options.out:
        save_results(model, options, test_images, pictures, truths)
    finish(options, start, test_accuracy=round(accuracy, 4), steps=steps)


if __name__ == "__main__":
    main()
