# SPDX-License-Identifier: Apache-2.0
"""What the examples share: options, Fashion-MNIST, a progress line, grey pictures as PNG."""
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

ROOT = pathlib.Path(__file__).resolve().parents[2]
FASHION = pathlib.Path("/usr/share/datasets/fashion-mnist")
LABELS = "T-shirt Trouser Pullover Dress Coat Sandal Shirt Sneaker Bag Boot".split()


def parser(doc):
    """A parser with the options that every example has."""
    made = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--url", help="the daemon, such as unix:///run/burnd/burnd.sock; default: the usual look-up")
    made.add_argument("--seed", type=int, default=0)
    made.add_argument("--json", action="store_true", help="the last line is one JSON object")
    return made


def training_parser(doc):
    """A parser that also has the options for comparing a training with another one, loss by loss."""
    made = parser(doc)
    made.add_argument("--steps", type=int, default=0, help="stop after so many steps (0: the whole training)")
    made.add_argument("--start", type=pathlib.Path, help="an .npz with the first parameters, by their names")
    made.add_argument("--losses", type=pathlib.Path, help="writes the loss of every step to this file, a line each")
    return made


def begin(options):
    """Connects and seeds; gives the random generator that orders the data, and the time."""
    if options.url:
        burn.connect(options.url)
    burn.manual_seed(options.seed)
    return np.random.default_rng(options.seed), time.perf_counter()


class Training:
    """Counts steps and writes down losses; says when to stop."""

    def __init__(self, model, options, steps, unit):
        self.options, self.total = options, min(options.steps or steps, steps)
        self.step, self.items, self.losses = 0, 0, []
        self.progress = Progress(self.total, unit, options.json)
        if options.start:
            given = np.load(options.start)
            model.load_state_dict({name: burn.tensor(given[name]) for name in model.state_dict()})

    def done(self, loss, items, every=50):
        """After a step over so many items. A loss is read when it is shown or written, not at every step."""
        self.step, self.items = self.step + 1, self.items + items
        if self.options.losses:
            self.losses.append(loss.item())
            self.options.losses.write_text("".join(f"{each:.9g}\n" for each in self.losses))
        if self.step % every == 0 or self.step == self.total:
            self.progress.show(self.step, self.items, loss=loss.item())


def finish(options, start, **results):
    """The last line: of the results, the first, or all of them as JSON."""
    seconds = round(time.perf_counter() - start, 3)
    if options.json:
        print(json.dumps({**results, "seconds": seconds}))
        return
    print(f"{results['steps']} steps in {seconds:.1f} s")
    name, value = next(iter(results.items()))
    print(f"{name.replace('_', ' ')}: {value:.4f}")


def read_idx(path):
    """An array from a gzipped IDX file: magic, dims, bytes."""
    with gzip.open(path) as file:
        raw = file.read()
    rank = raw[3]
    dims = struct.unpack(f">{rank}I", raw[4:4 + 4 * rank])
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * rank).reshape(dims)


def fashion_mnist(folder, part):
    """Images uint8 [n, 28, 28] and labels int64 [n] of "train" or "t10k", as NumPy arrays."""
    try:
        return (read_idx(folder / f"{part}-images-idx3-ubyte.gz"),
                read_idx(folder / f"{part}-labels-idx1-ubyte.gz").astype(np.int64))
    except FileNotFoundError as error:
        sys.exit(f"{error.filename} is missing: install the Debian package dataset-fashion-mnist, or name another --data")


class Progress:
    """One line, redrawn: where we are, figures, items a second, time left."""

    def __init__(self, total, unit, quiet):
        self.total, self.unit, self.quiet, self.start = total, unit, quiet, time.perf_counter()

    def show(self, step, items, **figures):
        if self.quiet:
            return
        spent = time.perf_counter() - self.start
        left = spent / step * (self.total - step)
        filled = 24 * step // self.total
        shown = " ".join(f"{name} {value:.4f}" for name, value in figures.items())
        print(f"[{'#' * filled}{'.' * (24 - filled)}] {step}/{self.total} {shown} {items / spent:,.0f} {self.unit}/s "
              f"{left:4.0f} s left", end="\n" if step == self.total else "\r", file=sys.stderr, flush=True)


def write_png(path, gray):
    """A grey picture uint8 [height, width] as PNG (ISO/IEC 15948): signature, IHDR, IDAT, IEND."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    height, width = gray.shape
    rows = b"".join(b"\0" + gray[y].tobytes() for y in range(height))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
                     + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def sheet(pictures, columns):
    """Pictures [n, h, w] side by side, twice as large; n is a multiple of columns."""
    rows = [np.hstack(pictures[first:first + columns]) for first in range(0, len(pictures), columns)]
    return np.ascontiguousarray(np.kron(np.vstack(rows), np.ones((2, 2), np.uint8)))
