# SPDX-License-Identifier: Apache-2.0
"""Which kernel computes attention: the daemon chooses, so the choice here has no effect."""
from __future__ import annotations

import contextlib
import enum
from typing import Any, Iterator


class SDPBackend(enum.IntEnum):
    """PyTorch's kernels."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """A context without effect: scaled_dot_product_attention gives the same within."""
    for backend in backends if isinstance(backends, (list, tuple)) else [backends]:
        if not isinstance(backend, SDPBackend):
            raise AssertionError(f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {backend!r}")
    yield
