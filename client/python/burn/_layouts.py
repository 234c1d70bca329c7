# SPDX-License-Identifier: Apache-2.0
"""Names of memory layouts. How elements lie in memory is the daemon's choice: they are taken and change nothing."""
from __future__ import annotations


class memory_format:
    """How PyTorch is to lay out a tensor."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"burn.{self._name}"


class layout(memory_format):
    """Dense or sparse; all tensors are dense."""


contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
strided = layout("strided")
