# SPDX-License-Identifier: Apache-2.0
"""The Tensor class and gradient modes. Methods that are also functions come from _functions."""
from __future__ import annotations

import copy
import functools
import inspect
import operator
import threading
from typing import Any, Callable

from . import _core
from ._core import InvalidError
from ._dtype import device as Device
from ._layouts import layout, strided
from ._text import set_printoptions, tensor_text  # noqa: F401

assign = _core.assign


class _History:
    """What grad_fn is for a tensor with a history."""

    def __repr__(self) -> str:
        return "<Backward>"


_HISTORY = _History()


class Tensor(_core.Tensor):
    """An array of numbers that lives in the daemon. Operations on it are sent, not waited for; reading values
    (numpy, item, tolist, print) waits. Names and results are PyTorch's."""

    def _as_subclass(self, cls: type) -> "Tensor":
        return _core.Tensor._make_subclass(cls, self)

    def __repr__(self) -> str:
        return tensor_text(self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.dim() == 0 else object.__format__(self, spec)

    def __deepcopy__(self, memo: dict) -> "Tensor":
        made = super().__deepcopy__(memo)
        if self.grad is not None and made.grad is None:
            made.grad = copy.deepcopy(self.grad, memo)
        return made

    def __array_ufunc__(self, ufunc: Any, how: str, *inputs: Any, **options: Any) -> Any:
        """NumPy's functions take tensors: operators stay operators of tensors, the others compute in NumPy."""
        if any(isinstance(x, Tensor) for x in options.get("out", ())):
            return NotImplemented
        operation = _OPERATORS.get(ufunc.__name__) if how == "__call__" and not options else None
        if operation is not None:
            return operation(*(x if isinstance(x, Tensor) else _core.tensor(x) if getattr(x, "ndim", 0)
                               else x.item() if hasattr(x, "item") else x for x in inputs))
        found = getattr(ufunc, how)(*(x.numpy() if isinstance(x, Tensor) else x for x in inputs), **options)
        return found if "out" in options or type(found) is tuple else _core.tensor(found)

    @property
    def grad_fn(self) -> object | None:
        """None for leaves, else an object that says no more than that there is a way back: the daemon has it."""
        return None if self.is_leaf else _HISTORY

    @property
    def is_cuda(self) -> bool:
        """Whether it lives on a CUDA device."""
        return self.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether it lives on the CPU device."""
        return self.device.type == "cpu"

    def get_device(self) -> int:
        """The number of its CUDA device; -1, for there is none."""
        return -1

    def is_nonzero(self) -> bool:
        """Whether the one element is not zero. RuntimeError for several elements, or none."""
        if self.numel() != 1:
            raise InvalidError("Boolean value of Tensor with " + ("more than one value" if self.numel() else "no values")
                               + " is ambiguous")
        return bool(self)

    def is_inference(self) -> bool:
        """False: tensors made in inference_mode are like any other."""
        return False

    @property
    def layout(self) -> layout:
        """strided: all tensors are dense."""
        return strided

    @property
    def is_sparse(self) -> bool:
        """False: all tensors are dense."""
        return False

    @property
    def is_quantized(self) -> bool:
        """False: there are no quantized tensors."""
        return False

    @property
    def is_meta(self) -> bool:
        """False: all tensors have values."""
        return False

    def element_size(self) -> int:
        """Bytes of one element."""
        return self.itemsize

    def cuda(self, device: Any = None, non_blocking: bool = False) -> "Tensor":
        """RuntimeError: there is no CUDA device."""
        raise InvalidError("no CUDA device is available: this daemon's devices are cpu and ref")

    def pin_memory(self, device: Any = None) -> "Tensor":
        """The tensor itself: the memory is the daemon's."""
        return self

    def is_pinned(self, device: Any = None) -> bool:
        """False: the memory is the daemon's."""
        return False

    def share_memory_(self) -> "Tensor":
        """The tensor itself: the memory is the daemon's."""
        return self

    def is_shared(self) -> bool:
        """False: the memory is the daemon's."""
        return False

    def detach_(self) -> "Tensor":
        """Cuts this tensor off from what it was made of. RuntimeError for a view, as in PyTorch."""
        if self._is_view:
            raise InvalidError("Can't detach views in-place. Use detach() instead.")
        if self.requires_grad:
            leaf = self.is_leaf
            self.data = self.detach()
            if leaf or self.requires_grad:
                self.requires_grad_(False)
        return self

    def register_hook(self, hook: Callable) -> Any:
        """hook(gradient) runs whenever this tensor's gradient is computed; a tensor that it returns takes its place.
        The handle's remove() takes it away. RuntimeError if the tensor requires no gradient."""
        from ._hooks import register_hook
        return register_hook(self, hook)

    def register_post_accumulate_grad_hook(self, hook: Callable) -> Any:
        """hook(tensor) runs whenever backward has added to the .grad of this leaf."""
        from ._hooks import register_post_accumulate_grad_hook
        return register_post_accumulate_grad_hook(self, hook)

    def backward(self, gradient: "Tensor | None" = None, retain_graph: bool | None = None,
                 create_graph: bool = False, inputs: Any = None) -> None:
        """Adds the gradients of this tensor to the .grad of the leaves that it was made from."""
        from .autograd import backward
        backward(self, gradient, retain_graph, create_graph, inputs=inputs)


_OPERATORS: dict[str, Callable] = {  # NumPy's names
    "add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv,
    "true_divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod,
    "power": operator.pow, "matmul": operator.matmul, "bitwise_and": operator.and_, "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor, "left_shift": operator.lshift, "right_shift": operator.rshift, "equal": operator.eq,
    "not_equal": operator.ne, "less": operator.lt, "less_equal": operator.le, "greater": operator.gt,
    "greater_equal": operator.ge}

_core.set_tensor_class(Tensor)
_core.set_device_class(Device)


class _GradMode:
    """A context manager and decorator that sets whether results require gradients. A generator function that it
    decorates runs in the mode, and its caller does not."""

    _mode: bool

    def __enter__(self) -> None:
        self._before = (getattr(self, "_before", None), _core.set_grad_enabled(self._mode))

    def __exit__(self, *_: Any) -> None:
        self._before, before = self._before
        _core.set_grad_enabled(before)

    def _again(self) -> "_GradMode":
        return type(self)()

    def __call__(self, function: Callable) -> Callable:
        if inspect.isgeneratorfunction(function):
            return _generator_in_mode(function, self._again)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)
        return wrapped


def _generator_in_mode(function: Callable, mode: Callable) -> Callable:
    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        running = function(*args, **kwargs)
        try:
            with mode():
                given = next(running)
            while True:
                try:
                    sent = yield given
                except GeneratorExit:
                    with mode():
                        running.close()
                    raise
                except BaseException as error:
                    with mode():
                        given = running.throw(error)
                else:
                    with mode():
                        given = running.send(sent)
        except StopIteration as end:
            return end.value
    return wrapped


class no_grad(_GradMode):
    """Within it no result requires a gradient."""
    _mode = False

    def __new__(cls, orig_func: Callable | None = None) -> Any:
        self = super().__new__(cls)
        return self if orig_func is None else self(orig_func)


class enable_grad(_GradMode):
    """Within it results require gradients again."""
    _mode = True

    def __new__(cls, orig_func: Callable | None = None) -> Any:
        self = super().__new__(cls)
        return self if orig_func is None else self(orig_func)


_inference = threading.local()


def _depths() -> tuple:
    return getattr(_inference, "depths", ())


def is_inference_mode_enabled() -> bool:
    """Whether this thread is within an inference_mode."""
    return bool(_depths()) and _depths()[-1]


class inference_mode(_GradMode):
    """As no_grad; with mode=False nothing changes."""

    def __new__(cls, mode: Any = True) -> Any:
        self = super().__new__(cls)
        self._wanted = True if callable(mode) else bool(mode)
        return self(mode) if callable(mode) else self

    def __enter__(self) -> None:
        self._mode = False if self._wanted else _core.grad_enabled()
        super().__enter__()
        _inference.depths = (*_depths(), self._wanted)

    def __exit__(self, *_: Any) -> None:
        _inference.depths = _depths()[:-1]
        super().__exit__()

    def _again(self) -> "_GradMode":
        return inference_mode(self._wanted)


class set_grad_enabled(_GradMode):
    """Sets the mode at once; as a context manager it puts the former one back, as a decorator it is the function's."""

    def __init__(self, mode: bool) -> None:
        self._mode = bool(mode)
        self._outer = _core.set_grad_enabled(self._mode)

    def __enter__(self) -> None:
        _core.set_grad_enabled(self._mode)

    def __exit__(self, *_: Any) -> None:
        _core.set_grad_enabled(self._outer)

    def __call__(self, function: Callable) -> Callable:
        _core.set_grad_enabled(self._outer)
        return super().__call__(function)

    def _again(self) -> "_GradMode":
        return set_grad_enabled(self._mode)


is_grad_enabled = _core.grad_enabled
