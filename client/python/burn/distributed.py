# SPDX-License-Identifier: Apache-2.0
"""What programs ask of torch.distributed before they use it: it is not there, one process trains."""
from __future__ import annotations

from typing import Any

from ._core import InvalidError


def is_available() -> bool:
    """False."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_torchelastic_launched() -> bool:
    """False."""
    return False


def is_nccl_available() -> bool:
    """False."""
    return False


is_gloo_available = is_mpi_available = is_nccl_available


def init_process_group(*args: Any, **kwargs: Any) -> None:
    """RuntimeError: there is no distributed training."""
    raise InvalidError("there is no distributed training: one process and one daemon, which uses all cores of its device")


def destroy_process_group(group: Any = None) -> None:
    """Nothing: there is no group."""


def get_rank(group: Any = None) -> int:
    """ValueError: there is no group."""
    raise InvalidError("Default process group has not been initialized, please make sure to call init_process_group.")


def get_world_size(group: Any = None) -> int:
    """ValueError: there is no group."""
    raise InvalidError("Default process group has not been initialized, please make sure to call init_process_group.")
