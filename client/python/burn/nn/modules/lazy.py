# SPDX-License-Identifier: Apache-2.0
"""Modules that learn a size from their first input."""
from __future__ import annotations

from typing import Any

from ..._tensor import Tensor, no_grad
from ..parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear

__all__ = ["LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
           "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d",
           "LazyInstanceNorm2d", "LazyInstanceNorm3d", "LazyLinear"]


class LazyModuleMixin:
    """A subclass names cls_to_become, which attribute of it is the size, and which dim of an input has it. It takes the
    arguments of that class without the first one; the first call makes it one of that class."""

    cls_to_become: type
    size_name: str
    place: int

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._given: tuple[tuple, dict] = (args, kwargs)
        self.cls_to_become.__init__(self, 0, *args, **kwargs)  # type: ignore[misc]
        self._given = (args, kwargs)
        tables: Any = self
        for name, value in tables._parameters.items():
            if value is not None:
                tables._parameters[name] = UninitializedParameter(dtype=value.dtype)
        for name, value in tables._buffers.items():
            if value is not None and value.dim():
                tables._buffers[name] = UninitializedBuffer(dtype=value.dtype)

    def _tensors(self) -> dict[str, Tensor]:
        tables: Any = self
        return {name: value for table in (tables._parameters, tables._buffers) for name, value in table.items()
                if value is not None}

    def has_uninitialized_params(self) -> bool:
        """Whether a size is still to be learnt."""
        return any(map(is_lazy, self._tensors().values()))

    def reset_parameters(self) -> None:
        """As that of the class to become; nothing as long as a size is still to be learnt."""
        if getattr(self, self.size_name) and not self.has_uninitialized_params():
            self.cls_to_become.reset_parameters(self)  # type: ignore[attr-defined]

    def initialize_parameters(self, input: Tensor) -> None:
        """Gives parameters and buffers their shapes and first values."""
        if getattr(self, self.size_name) == 0:
            setattr(self, self.size_name, input.shape[self.place])
        if not self.has_uninitialized_params():
            return
        args, kwargs = self._given
        made: Any = self.cls_to_become(getattr(self, self.size_name), *args, **kwargs)
        with no_grad():
            for name, tensor in self._tensors().items():
                if is_lazy(tensor):
                    value = getattr(made, name)
                    tensor.materialize(value.shape, dtype=tensor.dtype)  # type: ignore[attr-defined]
                    tensor.copy_(value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.initialize_parameters(*args, **kwargs)
        del self._given
        self.__class__ = self.cls_to_become
        return self(*args, **kwargs)


def _lazy(cls: type, size_name: str, place: int) -> Any:
    name = f"Lazy{cls.__name__}"
    return type(name, (LazyModuleMixin, cls), {
        "cls_to_become": cls, "size_name": size_name, "place": place, "__module__": __name__,
        "__doc__": f"{cls.__name__} whose {size_name} is that of its first input."})


LazyLinear = _lazy(Linear, "in_features", -1)
LazyConv1d, LazyConv2d, LazyConv3d = (_lazy(cls, "in_channels", -2 - n) for n, cls in enumerate((Conv1d, Conv2d, Conv3d)))
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = (
    _lazy(cls, "in_channels", -2 - n) for n, cls in enumerate((ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)))
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = (
    _lazy(cls, "num_features", 1) for cls in (BatchNorm1d, BatchNorm2d, BatchNorm3d))
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    _lazy(cls, "num_features", 1) for cls in (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d))
