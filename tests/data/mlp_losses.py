#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The first 50 losses of the Fashion-MNIST MLP as PyTorch computes them, from weights and an order that NumPy makes.

    mlp_losses.py            (needs torch) writes mlp_losses.txt, one loss a line
    start_file(path)         writes the weights and the order for examples/python/fashion_mnist.py --start
"""
import gzip
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")
STEPS, BATCH = 50, 128


def start():
    random = np.random.RandomState(20)
    made = {"order": random.permutation(60000)}
    for number, (fan_in, fan_out) in enumerate(((784, 512), (512, 512), (512, 10))):
        bound = 1 / np.sqrt(fan_in)
        made[f"w{number}"] = random.uniform(-bound, bound, (fan_out, fan_in)).astype(np.float32)
        made[f"b{number}"] = random.uniform(-bound, bound, fan_out).astype(np.float32)
    return made


def start_file(path):
    np.savez(path, **start())


def main():
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    with gzip.open(DATA / "train-images-idx3-ubyte.gz") as file:
        images = np.frombuffer(file.read(), np.uint8, offset=16).reshape(60000, 784)
    with gzip.open(DATA / "train-labels-idx1-ubyte.gz") as file:
        labels = np.frombuffer(file.read(), np.uint8, offset=8).astype(np.int64)
    given = start()
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    with torch.no_grad():
        for number, layer in enumerate(model[::2]):
            layer.weight.copy_(torch.tensor(given[f"w{number}"]))
            layer.bias.copy_(torch.tensor(given[f"b{number}"]))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses = []
    for step in range(STEPS):
        rows = given["order"][step * BATCH:(step + 1) * BATCH]
        loss = F.cross_entropy(model(torch.tensor(images[rows]).float() / 255), torch.tensor(labels[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    (HERE / "mlp_losses.txt").write_text("".join(f"{loss:.9g}\n" for loss in losses))


if __name__ == "__main__":
    main()
