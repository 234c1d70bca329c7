# SPDX-License-Identifier: Apache-2.0
"""What programs ask to choose a device; there is none beside that of the connection."""
from __future__ import annotations


def is_available() -> bool:
    """Whether there is a device that PyTorch calls an accelerator."""
    return False


def device_count() -> int:
    """How many there are."""
    return 0


def current_accelerator(check_available: bool = False) -> None:
    """None, as there is none."""
    return None
