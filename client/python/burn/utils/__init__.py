# SPDX-License-Identifier: Apache-2.0
"""Data loading and checkpoints of activations."""
from . import checkpoint, data  # noqa: F401
