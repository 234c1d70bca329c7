# SPDX-License-Identifier: Apache-2.0
"""The older names of burn.amp, for a device "cuda": autocast and GradScaler are off where there is none."""
from __future__ import annotations

from typing import Any

from ..amp import GradScaler as _GradScaler, autocast as _autocast, custom_bwd, custom_fwd  # noqa: F401
from .._dtype import float16


class autocast(_autocast):
    """amp.autocast("cuda")."""

    def __init__(self, enabled: bool = True, dtype: Any = float16, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """amp.GradScaler("cuda")."""

    def __init__(self, init_scale: float = 65536.0, growth_factor: float = 2.0, backoff_factor: float = 0.5,
                 growth_interval: int = 2000, enabled: bool = True) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
