#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fit y = 3 x0 - 2 x1 + 0.5 by gradient descent: the smallest whole training loop.

    linear_regression.py [--url URL] [--json]
"""
import argparse
import json
import time

import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--url", help="the daemon, such as unix:///run/burnd/burnd.sock; default: the usual look-up")
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
options = parser.parse_args()
if options.url:
    burn.connect(options.url)

begin = time.perf_counter()
burn.manual_seed(0)
x = burn.randn(256, 2)
y = x @ burn.tensor([[3.0], [-2.0]]) + 0.5 + 0.01 * burn.randn(256, 1)

model = nn.Linear(2, 1)
optimizer = optim.SGD(model.parameters(), lr=0.1)
for step in range(options.steps):
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

seconds = time.perf_counter() - begin
if options.json:
    print(json.dumps({"final_loss": loss.item(), "seconds": round(seconds, 3), "steps": options.steps}))
else:
    print("weight", model.weight.tolist(), "bias", model.bias.tolist())
    print(f"final loss: {loss.item():.6f}")
