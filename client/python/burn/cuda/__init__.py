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


def is_current_stream_capturing() -> bool:
    """False: there is no CUDA device."""
    return False


def ipc_collect() -> None:
    """Nothing: there is no CUDA device."""


def memory_allocated(device: object = None) -> int:
    """0: there is no CUDA device. burn.stats()["memory"] tells of the connection's."""
    return 0


def max_memory_allocated(device: object = None) -> int:
    """As memory_allocated."""
    return 0


def memory_reserved(device: object = None) -> int:
    """As memory_allocated."""
    return 0


def max_memory_reserved(device: object = None) -> int:
    """As memory_allocated."""
    return 0


def reset_peak_memory_stats(device: object = None) -> None:
    """Nothing: there is no CUDA device."""


def _absent() -> RuntimeError:
    return RuntimeError("no CUDA device is available: this daemon's devices are cpu and ref")


def current_device() -> int:
    """RuntimeError: there is no CUDA device."""
    raise _absent()


def set_device(device: object) -> None:
    """RuntimeError: there is no CUDA device."""
    raise _absent()


def get_device_name(device: object = None) -> str:
    """RuntimeError: there is no CUDA device."""
    raise _absent()


def get_device_properties(device: object = None) -> object:
    """RuntimeError: there is no CUDA device."""
    raise _absent()


def get_device_capability(device: object = None) -> tuple[int, int]:
    """RuntimeError: there is no CUDA device."""
    raise _absent()


from . import amp  # noqa: E402,F401
