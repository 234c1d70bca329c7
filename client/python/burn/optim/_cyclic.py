# SPDX-License-Identifier: Apache-2.0
"""Schedules that move momentum against the learning rate; torch.optim.lr_scheduler's."""
from __future__ import annotations

import math
import types
from typing import Any, Callable

from .._core import ArgumentError, InvalidError
from ._scheduler import LRScheduler, for_groups, set_rate
from .optimizer import Optimizer


def _momentum_key(optimizer: Optimizer) -> str:
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise InvalidError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" if "betas" in optimizer.defaults else "momentum"


def _set_momentum(group: dict, value: float, key: str) -> None:
    group[key] = (value, *group["betas"][1:]) if key == "betas" else value


class CyclicLR(LRScheduler):
    """Up from base_lr to max_lr in step_size_up steps and down again, over and over; momentum goes the other way."""

    def __init__(self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: int = 2000,
                 step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
                 scale_fn: Callable | None = None, scale_mode: str = "cycle", cycle_momentum: bool = True,
                 base_momentum: Any = 0.8, max_momentum: Any = 0.9, last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"{type(optimizer).__name__} is not an Optimizer")
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise InvalidError("mode is invalid and scale_fn is None")
        bases = for_groups(optimizer, base_lr, "base_lr")
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, bases):
                set_rate(group, lr)
        self.max_lrs = for_groups(optimizer, max_lr, "max_lr")
        self.total_size = float(step_size_up) + float(step_size_up if step_size_down is None else step_size_down)
        self.step_ratio = float(step_size_up) / self.total_size
        self.mode, self.gamma, self.cycle_momentum = mode, gamma, cycle_momentum
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        if cycle_momentum:
            key = _momentum_key(optimizer)
            self.base_momentums = for_groups(optimizer, base_momentum, "base_momentum")
            self.max_momentums = for_groups(optimizer, max_momentum, "max_momentum")
            if last_epoch == -1:
                for group, low, high in zip(optimizer.param_groups, self.base_momentums, self.max_momentums):
                    _set_momentum(group, high, key)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)
        self.base_lrs = bases

    def scale_fn(self, x: float) -> float:
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / (2.0 ** (x - 1)) if self.mode == "triangular2" else self.gamma ** x

    def get_lr(self) -> list:
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            key = _momentum_key(self.optimizer)
            for group, low, high in zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums):
                _set_momentum(group, high - (high - low) * height, key)
        return [base + (top - base) * height for base, top in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict:
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        state["_scale_fn_custom"] = None if function is None or isinstance(function, types.FunctionType) \
            else dict(function.__dict__)
        return state

    def load_state_dict(self, state_dict: dict) -> None:
        attributes = state_dict.get("_scale_fn_custom")
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if attributes is not None:
            self._scale_fn_custom.__dict__.update(attributes)


class OneCycleLR(LRScheduler):
    """From max_lr / div_factor up to max_lr, then down far below; momentum goes the other way. A step a batch."""

    def __init__(self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None, epochs: int | None = None,
                 steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos",
                 cycle_momentum: bool = True, base_momentum: Any = 0.85, max_momentum: Any = 0.95,
                 div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
                 last_epoch: int = -1) -> None:
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"{type(optimizer).__name__} is not an Optimizer")
        self.total_steps = self._total(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise InvalidError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise InvalidError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        rise, last = float(pct_start * self.total_steps) - 1, self.total_steps - 1
        phases = [(rise, "initial_lr", "max_lr", "max_momentum", "base_momentum")]
        if three_phase:
            phases += [(2 * pct_start * self.total_steps - 2, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                       (last, "initial_lr", "min_lr", "max_momentum", "max_momentum")]
        else:
            phases += [(last, "max_lr", "min_lr", "base_momentum", "max_momentum")]
        keys = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        self._schedule_phases = [dict(zip(keys, phase)) for phase in phases]
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, for_groups(optimizer, max_lr, "max_lr")):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            key = _momentum_key(optimizer)
            self.use_beta1 = key == "betas"
            if last_epoch == -1:
                lows = for_groups(optimizer, base_momentum, "base_momentum")
                highs = for_groups(optimizer, max_momentum, "max_momentum")
                for group, low, high in zip(optimizer.param_groups, lows, highs):
                    _set_momentum(group, high, key)
                    group["max_momentum"], group["base_momentum"] = high, low
        super().__init__(optimizer, last_epoch)

    @staticmethod
    def _total(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
        if total_steps is None and (epochs is None or steps_per_epoch is None):
            raise InvalidError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        given = {"total_steps": total_steps} if total_steps is not None else \
            {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
        for name, value in given.items():
            if not isinstance(value, int) or value <= 0:
                raise InvalidError(f"Expected positive integer {name}, but got {value}")
        return math.prod(given.values())

    def _anneal(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)
        return (end - start) * share + start

    def get_lr(self) -> list:
        at = self.last_epoch
        if at > self.total_steps:
            raise InvalidError(f"Tried to step {at} times. The specified number of total steps is {self.total_steps}")
        begin, phase = 0.0, self._schedule_phases[0]
        for number, phase in enumerate(self._schedule_phases):
            if at <= phase["end_step"] or number == len(self._schedule_phases) - 1:
                break
            begin = phase["end_step"]
        share = (at - begin) / (phase["end_step"] - begin)
        key = _momentum_key(self.optimizer) if self.cycle_momentum else ""
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                _set_momentum(group, self._anneal(group[phase["start_momentum"]], group[phase["end_momentum"]], share),
                              key)
        return rates
