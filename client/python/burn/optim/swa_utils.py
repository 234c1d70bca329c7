# SPDX-License-Identifier: Apache-2.0
"""Averages of models; names and results are torch.optim.swa_utils'."""
from __future__ import annotations

import math
from copy import deepcopy
from typing import Any, Callable, Iterable

from .._core import InvalidError
from .._tensor import Tensor, no_grad
from ..nn import Module
from ._scheduler import LRScheduler, for_groups
from .optimizer import Optimizer

__all__ = ["AveragedModel", "SWALR", "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn", "get_swa_multi_avg_fn",
           "update_bn"]


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise InvalidError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """average * decay + value * (1 - decay), for AveragedModel's avg_fn."""
    _check_decay(decay)

    @no_grad()
    def average(averaged: Tensor, value: Tensor, num_averaged: Any) -> Tensor:
        return averaged * decay + value * (1 - decay)
    return average


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """The same in place, over lists."""
    _check_decay(decay)

    @no_grad()
    def average(averaged: list, values: list, num_averaged: Any) -> None:
        for kept, value in zip(averaged, values):
            kept.lerp_(value, 1 - decay)
    return average


def get_swa_avg_fn() -> Callable:
    """The mean of all models so far."""
    @no_grad()
    def average(averaged: Tensor, value: Tensor, num_averaged: Any) -> Tensor:
        return averaged + (value - averaged) / (num_averaged + 1)
    return average


def get_swa_multi_avg_fn() -> Callable:
    """The same in place, over lists."""
    @no_grad()
    def average(averaged: list, values: list, num_averaged: Any) -> None:
        for kept, value in zip(averaged, values):
            kept.add_((value - kept) / (num_averaged + 1))
    return average


class AveragedModel(Module):
    """A copy of a model whose parameters are the average of those seen by update_parameters()."""

    def __init__(self, model: Module, device: Any = None, avg_fn: Callable | None = None,
                 multi_avg_fn: Callable | None = None, use_buffers: bool = False) -> None:
        from .. import int64, tensor
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        self.register_buffer("n_averaged", tensor(0, dtype=int64))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _averaged(self, model: Module) -> list:
        return [*model.parameters(), *(model.buffers() if self.use_buffers else ())]

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Takes the model's parameters into the average."""
        kept, values = self._averaged(self.module), [value.detach() for value in self._averaged(model)]
        if int(self.n_averaged) == 0:
            for old, value in zip(kept, values):
                old.copy_(value)
        elif self.avg_fn is not None:
            for old, value in zip(kept, values):
                old.copy_(self.avg_fn(old.detach(), value, self.n_averaged))
        else:
            floats = [(old, value) for old, value in zip(kept, values) if old.dtype.is_floating_point]
            (self.multi_avg_fn or get_swa_multi_avg_fn())([old for old, _ in floats], [value for _, value in floats],
                                                          self.n_averaged)
            for old, value in zip(kept, values):
                if not old.dtype.is_floating_point:
                    old.copy_(value)
        if not self.use_buffers:
            for old, value in zip(self.module.buffers(), model.buffers()):
                old.copy_(value)
        self.n_averaged += 1


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Computes the running statistics of the model's batch norms anew, over one pass of the loader."""
    norms = {m: m.momentum for m in model.modules() if hasattr(m, "running_mean") and hasattr(m, "momentum")}
    if not norms:
        return
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None
    for batch in loader:
        model(batch[0] if isinstance(batch, (list, tuple)) else batch)
    for norm, momentum in norms.items():
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Goes to swa_lr in anneal_epochs epochs and stays there."""

    def __init__(self, optimizer: Optimizer, swa_lr: Any, anneal_epochs: int = 10, anneal_strategy: str = "cos",
                 last_epoch: int = -1) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise InvalidError(f"anneal_strategy must by one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise InvalidError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for group, lr in zip(optimizer.param_groups, for_groups(optimizer, swa_lr, "swa_lr")):
            group["swa_lr"] = lr
        self.anneal_epochs, self._anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list:
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)

        def start(swa_lr: float, lr: float) -> float:
            return swa_lr if before == 1 else (lr - before * swa_lr) / (1 - before)
        return [group["swa_lr"] * now + start(group["swa_lr"], group["lr"]) * (1 - now)
                for group in self.optimizer.param_groups]
