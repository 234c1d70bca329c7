# SPDX-License-Identifier: Apache-2.0
"""What programs ask before they choose a device; burn.device names those that there are."""
from __future__ import annotations


def is_available() -> bool:
    """Whether the daemon's device is a CUDA one."""
    return False


def device_count() -> int:
    """How many CUDA devices there are."""
    return 0


def is_initialized() -> bool:
    """Whether a CUDA device is in use."""
    return False


def is_bf16_supported() -> bool:
    """Whether the CUDA device computes in bfloat16."""
    return False


def manual_seed(seed: int) -> None:
    """Nothing: there is no CUDA device. burn.manual_seed seeds the connection's."""


def manual_seed_all(seed: int) -> None:
    """As manual_seed."""


def empty_cache() -> None:
    """Nothing: there is no CUDA device."""


def synchronize(device: object = None) -> None:
    """RuntimeError: there is no CUDA device to wait for; burn.sync() waits for the connection's."""
    raise RuntimeError("no CUDA device is available; burn.sync() waits for the connection's device")
