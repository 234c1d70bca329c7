# SPDX-License-Identifier: Apache-2.0
"""The base class of schedules of learning rates."""
from __future__ import annotations

import warnings
from typing import Any

from .._core import ArgumentError, InvalidError, UnsupportedError
from .._tensor import Tensor
from .optimizer import Optimizer


def set_rate(group: dict, lr: Any) -> None:
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(lr)
    else:
        group["lr"] = lr


def copy_rate(value: Any) -> Any:
    return value.clone() if isinstance(value, Tensor) else value


class LRScheduler:
    """Base class. A subclass gives get_lr(), the rates for self.last_epoch as a list, one a group."""

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copy_rate(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler "
                               f"with last_epoch >= 0")
        self.base_lrs = [copy_rate(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        self._get_lr_called_within_step = False  # a key of PyTorch's state
        self._advance(None)
        self._is_initial = False

    def state_dict(self) -> dict:
        """All attributes but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict) -> None:
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list:
        """The rates that the last step set."""
        return self._last_lr

    def get_lr(self) -> list:
        raise UnsupportedError(f"{type(self).__name__} gives no get_lr()")

    def _rates(self) -> list:
        return [group["lr"] for group in self.optimizer.param_groups]

    def step(self, epoch: int | None = None) -> None:
        """Sets the rates of the next epoch (or of the one given)."""
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", True):
            warnings.warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`: the first value of the "
                          "schedule is skipped. Call them in the opposite order.", UserWarning, stacklevel=2)
        self._advance(epoch)

    def _advance(self, epoch: int | None) -> None:
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            values = self.get_lr()
        else:
            self.last_epoch = epoch
            closed = getattr(self, "_get_closed_form_lr", None)
            values = closed() if closed else self.get_lr()
        for group, lr in zip(self.optimizer.param_groups, values):
            set_rate(group, lr)
        self._last_lr = [copy_rate(group["lr"]) for group in self.optimizer.param_groups]


def for_groups(optimizer: Optimizer, value: Any, name: str) -> list:
    count = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * count
    if len(value) != count:
        raise InvalidError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
                           f"param_groups has {count}.")
    return list(value)
