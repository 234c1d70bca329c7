# SPDX-License-Identifier: Apache-2.0
"""What programs ask before they choose a device; burn.device names those that there are."""
from __future__ import annotations


def is_available() -> bool:
    """Whether the daemon's device is a CUDA one."""
    return False


def device_count() -> int:
    """How many CUDA devices there are."""
    return 0
