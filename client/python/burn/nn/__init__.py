# SPDX-License-Identifier: Apache-2.0
"""Neural network modules, functions and initial values."""
from . import functional, init, modules, parallel, utils
from .modules import *  # noqa: F401,F403
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "functional", "init", "modules", "parallel",
           "utils"]
__all__ += modules.__all__
