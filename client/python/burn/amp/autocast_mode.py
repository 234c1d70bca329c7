# SPDX-License-Identifier: Apache-2.0
"""autocast: products compute in bfloat16 or float16 (with float32 sums within), losses in float32.

While any autocast is entered, the generated ops go through _apply below; the thread's own state says what it does.
Which op belongs to which list follows torch.autocast("cpu")."""
from __future__ import annotations

import functools
import threading
import warnings
from typing import Any, Callable

from .. import _core, _ops
from .._core import InvalidError
from .._dtype import bfloat16, dtype as Dtype, float16, float32
from .._tensor import Tensor

_LOW = {"LINEAR", "MATMUL", "ATTENTION", "SCALED_DOT_PRODUCT_ATTENTION", "ADDMM", "BADDBMM", "DOT"}
_HIGH = {"CROSS_ENTROPY", "NLL_LOSS", "MSE_LOSS", "L1_LOSS", "HUBER_LOSS", "SMOOTH_L1_LOSS", "KL_DIV", "PROD",
         "BCE", "BCE_WITH_LOGITS", "CROSS_ENTROPY_SOFT", "COSINE_EMBEDDING_LOSS",
         "HINGE_EMBEDDING_LOSS", "MARGIN_RANKING_LOSS", "TRIPLET_MARGIN_LOSS", "SOFT_MARGIN_LOSS"}
_local = threading.local()
_lock = threading.Lock()
_entered = 0


def _numbers(wanted: Callable[[str], bool]) -> frozenset:
    return frozenset(number for name, number in vars(_ops).items()
                     if name.isupper() and isinstance(number, int) and wanted(name))


@functools.cache
def _lists() -> tuple[frozenset, frozenset]:
    low = _numbers(lambda name: name in _LOW or (name.startswith("CONV") and not name.endswith("_GRAD")))
    return low, _numbers(lambda name: name in _HIGH)


def get_autocast_state() -> Any:
    """What autocast does in this thread: the dtype of products, or None."""
    return getattr(_local, "dtype", None)


def _cast(inputs: Any, to: Dtype, also: tuple) -> tuple:
    return tuple(x.to(to) if isinstance(x, Tensor) and x.dtype in also and x.dtype is not to else x for x in inputs)


def _apply(number: int, inputs: Any, *rest: Any, **named: Any) -> Any:
    to = getattr(_local, "dtype", None)
    if to is not None:
        low, high = _lists()
        if number in low:
            vectors = number == _ops.MATMUL and any(isinstance(x, Tensor) and x.dim() < 2 for x in inputs)
            inputs = _cast(inputs, float32 if vectors else to, (float32, float16, bfloat16))
        elif number in high:
            inputs = _cast(inputs, float32, (float16, bfloat16))
    return _core.apply(number, inputs, *rest, **named)


def _enter(to: Dtype | None) -> Dtype | None:
    """Sets this thread's dtype; the former one comes back."""
    global _entered
    before = getattr(_local, "dtype", None)
    _local.dtype = to
    with _lock:
        if _entered == 0:
            _ops._apply = _apply
            _core.set_hook("matmul", lambda a, b: _ops.matmul(a, b))
        _entered += 1
    return before


def _leave(before: Dtype | None) -> None:
    global _entered
    _local.dtype = before
    with _lock:
        _entered -= 1
        if _entered == 0:
            _ops._apply = _core.apply


class autocast:
    """A context and decorator. device_type names a device of this daemon; "cuda" without one warns and does nothing.
    dtype is bfloat16 (the default) or float16; with enabled=False an outer autocast is off within."""

    def __init__(self, device_type: str = "cpu", dtype: Dtype | None = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        if not isinstance(device_type, str):
            raise InvalidError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device, self.fast_dtype = device_type, dtype or bfloat16
        if not is_autocast_available(device_type):
            if device_type not in ("cuda", "mps", "xpu", "hip"):
                raise InvalidError(f"User specified an unsupported autocast device_type '{device_type}'")
            if enabled:
                warnings.warn(f"User provided device_type of '{device_type}', but {device_type.upper()} is not "
                              "available. Disabling", stacklevel=2)
            enabled = False
        if enabled and self.fast_dtype not in (bfloat16, float16):
            warnings.warn(f"In CPU autocast, but the target dtype is not supported: {self.fast_dtype}. Disabling "
                          "autocast. CPU Autocast only supports dtype of bfloat16, float16 currently.", stacklevel=2)
            enabled = False
        self._enabled = enabled

    def __enter__(self) -> "autocast":
        self._before = (getattr(self, "_before", None), _enter(self.fast_dtype if self._enabled else None))
        return self

    def __exit__(self, *_: Any) -> None:
        self._before, before = self._before
        _leave(before)

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)
        return wrapped


def is_autocast_enabled(device_type: str = "cpu") -> bool:
    """Whether this thread is within an autocast that does something."""
    return getattr(_local, "dtype", None) is not None


def get_autocast_dtype(device_type: str = "cpu") -> Dtype:
    """The dtype that products compute in, or would."""
    return getattr(_local, "dtype", None) or bfloat16


def get_autocast_cpu_dtype() -> Dtype:
    """As get_autocast_dtype."""
    return get_autocast_dtype()


def get_autocast_gpu_dtype() -> Dtype:
    """float16: what a CUDA device would compute in."""
    return float16


def is_autocast_cpu_enabled() -> bool:
    """As is_autocast_enabled."""
    return is_autocast_enabled()


def clear_autocast_cache() -> None:
    """Nothing: casts are not kept by the client."""


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast knows the device."""
    return device_type in ("cpu", "ref") or (device_type == "cuda" and _core.device_name() == "cuda")


def custom_fwd(fwd: Callable | None = None, *, device_type: str = "cpu", cast_inputs: Dtype | None = None) -> Callable:
    """For the forward of an autograd.Function: with cast_inputs, float inputs get that dtype and autocast is off."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if cast_inputs is None or not is_autocast_enabled():
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, cast_inputs, (float32, float16, bfloat16)), **kwargs)
    return wrapped


def custom_bwd(bwd: Callable | None = None, *, device_type: str = "cpu") -> Callable:
    """For the backward of an autograd.Function; gradients have the dtypes of what they belong to anyway."""
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd
