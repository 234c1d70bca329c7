# SPDX-License-Identifier: Apache-2.0
"""Modules for several devices; there is one, which a daemon uses with all its cores."""
from __future__ import annotations

from typing import Any

from ..._core import InvalidError
from ..._tensor import Tensor
from .batchnorm import BatchNorm1d
from .module import Module


class DataParallel(Module):
    """The module itself, as .module: one device takes the whole batch."""

    def __init__(self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids: list = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


class SyncBatchNorm(BatchNorm1d):
    """Batch norm of inputs of any rank from 2 on: the one process has the whole batch."""

    def __init__(self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
                 track_running_stats: bool = True, process_group: Any = None, device: Any = None, dtype: Any = None) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise InvalidError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """The module with SyncBatchNorm in place of every batch norm, sharing their parameters and buffers."""
        from .batchnorm import _BatchNorm
        made: Any = module
        if isinstance(module, _BatchNorm) and not isinstance(module, SyncBatchNorm):
            made = cls(module.num_features, module.eps, module.momentum, module.affine, module.track_running_stats,
                       process_group)
            for table in ("_parameters", "_buffers"):
                getattr(made, table).update(getattr(module, table))
            made.training = module.training
        for name, child in module.named_children():
            setattr(made, name, cls.convert_sync_batchnorm(child, process_group))
        return made
