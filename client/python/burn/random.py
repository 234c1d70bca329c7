# SPDX-License-Identifier: Apache-2.0
"""The global stream of random numbers, under torch.random's names."""
from __future__ import annotations

import contextlib
from typing import Any, Iterator

from ._creation import get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@contextlib.contextmanager
def fork_rng(devices: Any = None, enabled: bool = True, device_type: str = "cuda") -> Iterator[None]:
    """After it the stream is where it was before; devices names CUDA devices, of which there are none."""
    state = get_rng_state()
    try:
        yield
    finally:
        if enabled:
            set_rng_state(state)
