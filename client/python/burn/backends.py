# SPDX-License-Identifier: Apache-2.0
"""Switches of PyTorch's backends that programs touch. They can be set and change nothing."""
from __future__ import annotations

from types import SimpleNamespace


def _absent() -> bool:
    return False


cuda = SimpleNamespace(is_built=_absent, matmul=SimpleNamespace(allow_tf32=False, fp32_precision="ieee"))
cudnn = SimpleNamespace(is_available=_absent, version=lambda: None, enabled=False, benchmark=False, deterministic=True,
                        allow_tf32=False)
mps = SimpleNamespace(is_available=_absent, is_built=_absent)
mkldnn = SimpleNamespace(is_available=_absent, enabled=False)
mkl = SimpleNamespace(is_available=_absent)
openmp = SimpleNamespace(is_available=_absent)
