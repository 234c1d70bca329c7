# SPDX-License-Identifier: Apache-2.0
"""Optimizers, with PyTorch's names and formulas."""
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .rmsprop import RMSprop
from .sgd import SGD

__all__ = ["Adam", "AdamW", "Optimizer", "RMSprop", "SGD"]
