# SPDX-License-Identifier: Apache-2.0
"""What programs ask before they choose a device; burn.device names those that there are.

Questions about memory are answered as if nothing was there; what needs a CUDA device raises RuntimeError."""
from __future__ import annotations

from typing import Any

from .. import _core
from .._core import InvalidError, UnsupportedError
from .._legacy import TYPED
from . import amp as amp, nvtx as nvtx

OutOfMemoryError = _core.OutOfMemoryError
globals().update(TYPED)


def _absent() -> UnsupportedError:
    return UnsupportedError("no CUDA device is available: this daemon's devices are cpu and ref")


def is_available() -> bool:
    """Whether the daemon's device is a CUDA one."""
    return False


def device_count() -> int:
    """How many CUDA devices there are."""
    return 0


def is_initialized() -> bool:
    """Whether a CUDA device is in use."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether the CUDA device computes in bfloat16."""
    return False


def is_tf32_supported() -> bool:
    """Whether the CUDA device computes in TF32."""
    return False


def is_current_stream_capturing() -> bool:
    """Whether a CUDA graph is being captured."""
    return False


def manual_seed(seed: int) -> None:
    """Nothing: there is no CUDA device. burn.manual_seed seeds the connection's."""


def manual_seed_all(seed: int) -> None:
    """As manual_seed."""


def seed() -> None:
    """As manual_seed."""


def seed_all() -> None:
    """As manual_seed."""


def empty_cache() -> None:
    """Nothing: there is no CUDA device."""


def ipc_collect() -> None:
    """Nothing: there is no CUDA device."""


def synchronize(device: Any = None) -> None:
    """RuntimeError: there is no CUDA device to wait for; burn.sync() waits for the connection's."""
    raise InvalidError("no CUDA device is available; burn.sync() waits for the connection's device")


# ---- memory ----

def memory_allocated(device: Any = None) -> int:
    """0: there is no CUDA device."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_cached = max_memory_cached = memory_allocated


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Nothing: there is no CUDA device."""
    return {}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    """Says that there is no CUDA device."""
    return "no CUDA device is available; `burnctl stats` tells the daemon's memory"


def memory_snapshot(*args: Any, **kwargs: Any) -> list:
    """Nothing: there is no CUDA device."""
    return []


def reset_peak_memory_stats(device: Any = None) -> None:
    """Nothing: there is no CUDA device."""


reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = reset_peak_memory_stats


# ---- what needs a device ----

def _needs_device(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        raise _absent()
    function.__name__ = function.__qualname__ = name
    function.__doc__ = "RuntimeError: there is no CUDA device."
    return function


for _name in ("current_device", "current_stream", "default_stream", "get_device_capability", "get_device_name",
              "get_device_properties", "get_rng_state", "init", "initial_seed", "list_gpu_processes",
              "make_graphed_callables", "mem_get_info", "set_rng_state", "utilization", "temperature", "power_draw",
              "clock_rate", "memory_usage", "graph", "set_per_process_memory_fraction"):
    globals()[_name] = _needs_device(_name)


def get_rng_state_all() -> list:
    """One state a device: none."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """RuntimeError if there are states, as there is no device."""
    if list(new_states):
        raise _absent()


def get_arch_list() -> list[str]:
    """None."""
    return []


def can_device_access_peer(device: Any, peer_device: Any) -> bool:
    """RuntimeError: there is no CUDA device."""
    raise _absent()


class _Absent:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise _absent()


class Stream(_Absent):
    """RuntimeError: there is no CUDA device."""


class Event(_Absent):
    """RuntimeError: there is no CUDA device."""


class CUDAGraph(_Absent):
    """RuntimeError: there is no CUDA device."""


def set_device(device: Any) -> None:
    """RuntimeError for a device that is not there; nothing for a negative number."""
    if not (isinstance(device, int) and device < 0):
        raise _absent()


class device:
    """A context manager that chooses a CUDA device; none for a negative number or None."""

    def __init__(self, device: Any) -> None:
        self.idx = -1 if device is None else device

    def __enter__(self) -> None:
        if not (isinstance(self.idx, int) and self.idx < 0):
            raise _absent()

    def __exit__(self, *_: Any) -> None:
        pass


def set_stream(stream: Any) -> None:
    """Nothing for None; there are no streams."""


class stream:
    """A context manager: None does nothing, and there are no streams."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        pass
