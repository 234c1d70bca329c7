# SPDX-License-Identifier: Apache-2.0
"""Modules for several devices; there is one."""
from __future__ import annotations

from typing import Any

from .._core import InvalidError
from .modules.module import Module
from .modules.parallel import DataParallel as DataParallel


class DistributedDataParallel(Module):
    """RuntimeError: there is no distributed training."""

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        raise InvalidError("there is no distributed training: use the module itself; one daemon uses all cores of its device")
