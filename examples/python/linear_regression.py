#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fit y = 3 x0 - 2 x1 + 0.5 by gradient descent: the smallest whole training loop.

    linear_regression.py [--steps 200] [--url URL] [--json]
"""
import burn
import burn.nn as nn
import burn.nn.functional as F
import burn.optim as optim
from common import begin, finish, parser

made = parser(__doc__)
made.add_argument("--steps", type=int, default=200)
options = made.parse_args()
_, start = begin(options)

x = burn.randn(256, 2)
y = x @ burn.tensor([[3.0], [-2.0]]) + 0.5 + 0.01 * burn.randn(256, 1)

model = nn.Linear(2, 1)
optimizer = optim.SGD(model.parameters(), lr=0.1)
for step in range(options.steps):
    loss = F.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

if not options.json:
    print("weight", model.weight.tolist(), "bias", model.bias.tolist())
finish(options, start, final_loss=loss.item(), steps=options.steps)
