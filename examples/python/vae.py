#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A variational autoencoder draws clothes: trained on Fashion-MNIST, then sampled.

    vae.py [--epochs 2] [--batch 128] [--latent 16] [--data FOLDER] [--out FOLDER] [--url URL] [--json]

--out FOLDER gets samples.png: forty pictures decoded from random latents.
"""
import pathlib

import numpy as np

import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim
from common import FASHION, Training, begin, fashion_mnist, finish, sheet, training_parser, write_png


class VAE(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, 400), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(400, latent), nn.Linear(400, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, 400), nn.ReLU(), nn.Linear(400, 784))

    def forward(self, x):
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        latent = mean + burn.randn_like(mean) * (log_variance / 2).exp()
        return self.decoder(latent), mean, log_variance


def loss_of(model, x):
    """The negative evidence lower bound of a picture, in nats: reconstruction and divergence from a normal."""
    logits, mean, log_variance = model(x)
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = -0.5 * (1 + log_variance - mean ** 2 - log_variance.exp()).sum()
    return (reconstruction + divergence) / len(x)


def main():
    made = training_parser(__doc__)
    made.add_argument("--epochs", type=int, default=2)
    made.add_argument("--batch", type=int, default=128)
    made.add_argument("--latent", type=int, default=16)
    made.add_argument("--data", type=pathlib.Path, default=FASHION)
    made.add_argument("--out", type=pathlib.Path)
    options = made.parse_args()
    random, start = begin(options)
    images = burn.tensor(fashion_mnist(options.data, "train")[0]).reshape(-1, 784)

    model = VAE(options.latent)
    optimizer = optim.Adam(model.parameters(), lr=1e-3)
    batches = len(images) // options.batch
    training = Training(model, options, batches * options.epochs, "images")
    while training.step < training.total:
        if training.step % batches == 0:
            order = burn.tensor(random.permutation(len(images)))
        rows = order[training.step % batches * options.batch:][:options.batch]
        loss = loss_of(model, images[rows].float() / 255)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        training.done(loss, options.batch)

    with burn.no_grad():
        final = loss_of(model, burn.tensor(fashion_mnist(options.data, "t10k")[0][:2000]).reshape(-1, 784).float() / 255)
        if options.out:
            options.out.mkdir(parents=True, exist_ok=True)
            drawn = model.decoder(burn.randn(40, options.latent)).sigmoid().reshape(40, 28, 28)
            write_png(options.out / "samples.png", sheet(np.pad((drawn * 255).numpy().astype(np.uint8), ((0, 0), (2, 2), (2, 2))), 10))
    finish(options, start, final_loss=final.item(), steps=training.step)


if __name__ == "__main__":
    main()
