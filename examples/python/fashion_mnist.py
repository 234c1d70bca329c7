#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Train an MLP 784-512-512-10 on Fashion-MNIST with burn; the last line is the test accuracy.

    fashion_mnist.py [--url URL] [--epochs 3] [--batch 128] [--data FOLDER] [--out FOLDER] [--json]

The images are those of the Debian package dataset-fashion-mnist. With --start FILE (an .npz with
w0, b0, w1, b1, w2, b2 and order, the rows of each batch in turn) training starts from given weights and
follows a given order; --losses FILE writes the loss of every step as one number a line.
"""
import argparse
import gzip
import json
import pathlib
import struct
import sys
import time
import zlib

import numpy as np

import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim

LABELS = "T-shirt Trouser Pullover Dress Coat Sandal Shirt Sneaker Bag Boot".split()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="the daemon, such as unix:///run/burnd/burnd.sock; default: the usual look-up")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps (0: no limit)")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--out", type=pathlib.Path, help="folder for the weights and a picture of predictions")
    parser.add_argument("--start", type=pathlib.Path)
    parser.add_argument("--losses", type=pathlib.Path)
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    return parser.parse_args()


def read_idx(path):
    """An array from a gzipped IDX file: magic, dims, bytes."""
    with gzip.open(path) as file:
        raw = file.read()
    rank = raw[3]
    dims = struct.unpack(f">{rank}I", raw[4:4 + 4 * rank])
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(dims)


def load(folder, part):
    try:
        images = read_idx(folder / f"{part}-images-idx3-ubyte.gz")
        labels = read_idx(folder / f"{part}-labels-idx1-ubyte.gz")
    except FileNotFoundError as error:
        sys.exit(f"{error.filename} is missing: install the Debian package dataset-fashion-mnist, or name another --data")
    return burn.tensor(images.reshape(len(images), -1)), burn.tensor(labels.astype(np.int64)), images


def pixels(images, rows):
    return images[rows].float() / 255


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))

    def forward(self, x):
        return self.layers(x)


def set_weights(model, start):
    linears = [layer for layer in model.layers if isinstance(layer, nn.Linear)]
    with burn.no_grad():
        for number, layer in enumerate(linears):
            layer.weight.copy_(burn.tensor(start[f"w{number}"]))
            layer.bias.copy_(burn.tensor(start[f"b{number}"]))


def evaluate(model, images, labels, batch=1000):
    right = 0
    with burn.no_grad():
        for first in range(0, len(labels), batch):
            rows = slice(first, first + batch)
            guesses = model(images[rows].float() / 255).argmax(1)
            right += int((guesses == labels[rows]).sum())
    return right / len(labels)


class Progress:
    """One line, redrawn: where we are, loss, accuracy on the batch, images a second, time left."""

    def __init__(self, total, quiet):
        self.total, self.quiet, self.start = total, quiet, time.perf_counter()

    def show(self, epoch, step, images, loss, accuracy):
        if self.quiet:
            return
        spent = time.perf_counter() - self.start
        left = spent / step * (self.total - step)
        filled = 24 * step // self.total
        text = (f"epoch {epoch + 1} [{'#' * filled}{'.' * (24 - filled)}] {step}/{self.total} loss {loss:.4f} "
                f"accuracy {accuracy:.3f} {images / spent:,.0f} images/s {left:4.0f} s left")
        end = "\n" if step == self.total else "\r"
        print(text, end=end, file=sys.stderr, flush=True)


def train(model, images, labels, options):
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    random = np.random.default_rng(options.seed)
    count = len(labels)
    batches = (count + options.batch - 1) // options.batch
    total = min(options.steps or batches * options.epochs, batches * options.epochs)
    fixed = np.load(options.start)["order"] if options.start else None
    progress, losses, step, seen, loss = Progress(total, options.json), [], 0, 0, None
    for epoch in range(options.epochs):
        order = burn.tensor(random.permutation(count) if fixed is None else fixed)
        for first in range(0, count, options.batch):
            if step == total:
                return losses, step
            rows = order[first:first + options.batch]
            logits, target = model(pixels(images, rows)), labels[rows]
            loss = F.cross_entropy(logits, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step, seen = step + 1, seen + len(rows)
            if options.losses:
                losses.append(loss.item())
            if step % 50 == 0 or step == total:
                progress.show(epoch, step, seen, loss.item(), (logits.argmax(1) == target).float().mean().item())
    return losses, step


def write_png(path, gray):
    """A grey picture as PNG (ISO/IEC 15948): signature, IHDR, IDAT, IEND."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    height, width = gray.shape
    rows = b"".join(b"\0" + gray[y].tobytes() for y in range(height))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def save_results(model, images, pictures, labels, folder):
    folder.mkdir(parents=True, exist_ok=True)
    burn.save(model.state_dict(), folder / "mlp.safetensors")
    with burn.no_grad():
        guesses = model(images[:40].float() / 255).argmax(1).numpy()
    tiles = []
    for picture, guess, truth in zip(pictures[:40], guesses, labels[:40].numpy()):
        tile = np.pad(picture, 4)
        tile[:2] = tile[-2:] = 255 if guess == truth else 96  # a bright bar above and below: right
        tiles.append(tile)
    sheet = np.vstack([np.hstack(tiles[row * 10:row * 10 + 10]) for row in range(4)])
    write_png(folder / "predictions.png", np.ascontiguousarray(np.kron(sheet, np.ones((2, 2), np.uint8))))
    names = [f"{LABELS[guess]}{'' if guess == truth else '?'}" for guess, truth in zip(guesses, labels[:40].numpy())]
    for row in range(4):
        print(" ".join(f"{name:>9}" for name in names[row * 10:row * 10 + 10]))
    print(f"weights and predictions.png are in {folder} (a bright bar marks a right guess, ? a wrong one)")


def main():
    options = arguments()
    if options.url:
        burn.connect(options.url)
    burn.manual_seed(options.seed)
    begin = time.perf_counter()
    images, labels, _ = load(options.data, "train")
    test_images, test_labels, test_pictures = load(options.data, "t10k")
    model = Net()
    if options.start:
        set_weights(model, np.load(options.start))
    losses, steps = train(model, images, labels, options)
    if options.losses:
        options.losses.write_text("".join(f"{loss:.9g}\n" for loss in losses))
    accuracy = evaluate(model, test_images, test_labels)
    seconds = time.perf_counter() - begin
    if options.out:
        save_results(model, test_images, test_pictures, test_labels, options.out)
    if options.json:
        print(json.dumps({"test_accuracy": round(accuracy, 4), "seconds": round(seconds, 3), "steps": steps}))
    else:
        print(f"{steps} steps in {seconds:.1f} s")
        print(f"test accuracy: {accuracy:.4f}")


if __name__ == "__main__":
    main()
